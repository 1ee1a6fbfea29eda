"""Translation memories (TMX) and localization files (XLIFF): their pairs, and the texts of these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nmtalign.errors import DataError, warn_caller
from nmtalign.text.containers import PairOrError, ReaderNotes, Select, check_no_select
from nmtalign.text.languages import is_variant, known_language, language_tag
from nmtalign.text.tokenization import Languages

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from nmtalign.files.xml_files import XmlLimits

_INLINE_CODES = {"bpt", "ept", "ph", "it", "ut", "sub"}  # codes of another format, inside a sentence
_PLACEHOLDERS = {"x", "ph", "it", "ut"}  # elements that stand for something without an end
_LINE_BREAK_TYPES = {"lb", "xlf:lb", "x-lb", "x-br", "linebreak", "x-linebreak"}
_LINE_BREAK_CODE = re.compile(r"\s*(?:<br\b|\\n|\\line\b|\n)", re.IGNORECASE)
_ANNOTATIONS = {"note", "prop"}  # elements whose text does not belong to the sentence
_MAX_XML_DEPTH = 100  # the depth of the elements in a unit
MAX_UNIT_CHARS = 1 << 22  # counts all languages of a unit; an element counts as 100 characters


Unit: TypeAlias = "tuple[int, Element | DataError]"  # with the number of its line
ElementPair: TypeAlias = "tuple[Element, Element | None]"  # what contains the text of both sides
UNITS: dict[str, tuple[set[str], str | None]] = {
    "tmx": ({"tu"}, "header"),
    "xliff": ({"trans-unit", "segment", "ignorable"}, None),
}


def _iter_units(path: str | Path, format: str) -> Iterator[Unit]:
    """Yield the units of a file and the empty header of a TMX; errors for damage.

    DataError is raised if there is none and another root.
    """
    from nmtalign.files.xml_files import iter_elements  # not for text of other formats: it reads XML

    names, head = UNITS[format]
    return iter_elements(path, names, unit_limits(), root=format, head=head)


def unit_limits() -> XmlLimits:
    from nmtalign.files.xml_files import XmlLimits

    return XmlLimits("a unit", max_chars=MAX_UNIT_CHARS, max_depth=_MAX_XML_DEPTH)


def _texts_of(pairs: Iterable[ElementPair | DataError]) -> Iterator[PairOrError]:
    for pair in pairs:
        yield pair if isinstance(pair, DataError) else texts_of_pair(pair)


def texts_of_pair(pair: ElementPair) -> tuple[str, str]:
    """Return the sentences of both sides."""
    source, target = map(_text_of_side, pair)
    return source, target


def _text_of_side(element: Element | None) -> str:
    text = _text_of_element(element)
    return text.strip() if element is not None and element.tag == "tuv" else text  # without a seg


def _text_of_element(element: Element | None) -> str:
    """Return the words of a sentence without the codes inside it; line ends, also as codes, become spaces.

    Words on both sides of a line break, or of the edge of a marked segment, do not become one word.
    """
    if element is None:
        return ""
    pieces = [element.text or ""]  # only the first one may be empty
    for child in element:
        is_segment = child.tag == "mrk" and child.get("mtype") == "seg"
        text = "" if child.tag in _INLINE_CODES | _ANNOTATIONS else _text_of_element(child)
        following = child.tail or ""
        for part, is_apart in ((text, is_segment), (following, is_segment or _is_line_break(child))):
            has_space = not part or not pieces[-1] or pieces[-1][-1].isspace() or part[0].isspace()
            if is_apart and not has_space:
                pieces.append(" ")
            if part:
                pieces.append(part)
    return "".join(pieces).replace("\n", " ")


_TEXT_IN_CODES = "with text inside of codes (sub), which is not read"


def _has_text_in_codes(unit: Element) -> bool:
    """Return whether codes have text that is translated as well, such as a footnote, in a ``sub``."""
    return any(text.strip() for sub in unit.iter("sub") for text in sub.itertext())


def _is_line_break(element: Element) -> bool:
    """Return whether a placeholder stands for a line break, by its type or by its code.

    The words around it would become one word without it.
    """
    if element.tag not in _PLACEHOLDERS:
        return False
    types = {element.get(name, "").lower() for name in ("ctype", "type", "subType")}
    code = element.text or element.get("equiv-text") or element.get("equiv") or element.get("disp") or ""
    return not types.isdisjoint(_LINE_BREAK_TYPES) or _LINE_BREAK_CODE.match(code) is not None


class _Variant(NamedTuple):
    """The text of a unit in one language; `language` is in the form of `language_tag`."""

    language: str
    element: Element


_MAX_LANGUAGES_SHOWN = 20


def read_tmx(path: str | Path, select: Select) -> Iterator[PairOrError]:
    """Yield the records of a translation memory; see :func:`pairs_of_memory`."""
    return _texts_of(pairs_of_memory(_iter_units(path, "tmx"), path, select))


def pairs_of_memory(
    units: Iterable[Unit], path: str | Path, select: Select
) -> Iterator[ElementPair | DataError]:
    """Yield a pair for each unit of a TMX file that has a text in both languages.

    `select` names the languages; ``en`` also finds ``en-CA``, ``EN_us`` and ``eng``. By default they are the
    first two languages of the first unit that has two, the header's source language first. Units that lack
    one of the languages are omitted, and a warning counts them. Raises DataError if no unit has both.
    """
    languages: tuple[str, str] | None = None
    if select is not None:
        languages = language_tag(select[0]), language_tag(select[1])
    source_language = ""  # the one that the header names
    languages_of_units: dict[str, None] = {}  # in the order of their occurrence
    notes = ReaderNotes("unit")
    pairs = 0
    for line, unit in units:
        notes.total += isinstance(unit, DataError) or unit.tag != "header"
        if isinstance(unit, DataError):
            pairs += 1
            yield unit
            continue
        if unit.tag == "header":
            source_language = language_tag(unit.get("srclang", ""))
            continue
        variants, has_more = _variants_of_unit(unit)
        if len(languages_of_units) < _MAX_LANGUAGES_SHOWN:
            languages_of_units |= dict.fromkeys(variant.language for variant in variants)
        if languages is None:
            languages = _first_languages(variants, source_language)
        wanted_source, wanted_target = languages or ("", "")
        source = _variants_in_language(variants, wanted_source)
        target = _variants_in_language(variants, wanted_target)
        place = f"line {line:,}"
        # one text may be a variant of both languages: en-CA if en and en-CA are wanted
        is_pair = bool(source and target) and source[0] is not target[0]
        has_more |= len(source) > 1 or len(target) > 1
        notes.add("skipped without a text in {languages}", not is_pair, place)
        notes.add("with several texts in a language, of which the first is read", is_pair and has_more, place)
        notes.add(_TEXT_IN_CODES, is_pair and _has_text_in_codes(unit), place)
        if is_pair:
            pairs += 1
            yield source[0].element, target[0].element
    if notes.total and not pairs:
        raise _no_units_in_languages(languages, languages_of_units).at(path)
    if select is None and languages:
        _warn_about_other_languages(path, languages, languages_of_units)
    notes.warn(path, languages=" and ".join(languages or ()))


def languages_of_memory(
    path: str | Path, select: Select = None, *, preferred: tuple[str, str] | None = None
) -> Languages:
    """Return the languages of a TMX file that are read; (None, None) without a unit of two languages.

    The first unit of two languages decides. They are those `preferred`, if it has both.
    """
    if select is not None:
        return language_tag(select[0]), language_tag(select[1])
    source_language = ""
    for _, unit in _iter_units(path, "tmx"):
        if isinstance(unit, DataError):
            continue
        if unit.tag == "header":
            source_language = language_tag(unit.get("srclang", ""))
            continue
        variants, _ = _variants_of_unit(unit)
        if preferred is not None and all(_variants_in_language(variants, name) for name in preferred):
            return preferred
        if found := _first_languages(variants, source_language):
            return found
    return None, None


def _no_units_in_languages(languages: tuple[str, str] | None, languages_of_units: Iterable[str]) -> DataError:
    """Return the error for a file of which no unit has a text in both languages."""
    found = ", ".join(filter(None, languages_of_units)) or "none"
    wanted = f"{languages[0]} and {languages[1]}" if languages else "two languages"
    reason = f"expected units in {wanted}, found the languages {found[:200]}"
    return DataError(f"{reason}; choose two that the units have: `select=A,B`")


def _warn_about_other_languages(
    path: str | Path, languages: tuple[str, str], languages_of_units: Iterable[str]
) -> None:
    """Warn if units have texts in languages that nobody has chosen or rejected."""
    others = []
    for name in languages_of_units:
        is_read = any(is_variant(name, language) for language in languages)
        if name and not is_read:
            others.append(name)
    if others:
        names = ", ".join(others)[:200]
        warn_caller(
            f"{path}: {languages[0]} and {languages[1]} are read, not {names}; `select=A,B` chooses others"
        )


def _variants_of_unit(unit: Element) -> tuple[list[_Variant], bool]:
    """Return the texts of a unit, and whether one of its languages has more than one of them.

    A text is in a seg, or directly in the tuv. A tuv without both has none.
    """
    variants = []
    has_more = False
    for element in unit.findall("tuv"):
        name = element.get("xml:lang") or element.get("lang") or ""
        segments = element.findall("seg")
        has_more |= len(segments) > 1
        if segments or _text_of_element(element).strip():
            variants.append(_Variant(language_tag(name), segments[0] if segments else element))
    return variants, has_more


def _first_languages(variants: list[_Variant], source_language: str) -> tuple[str, str] | None:
    """Return the two languages of the first unit that has two, without their regions if they differ."""
    names = list(dict.fromkeys(variant.language for variant in variants if variant.language))
    if len(names) < 2:
        return None
    primary = source_language.partition("-")[0]
    source = next((name for name in names if name.partition("-")[0] == primary), names[0])
    source = source_language if source_language in names else source
    others = [name for name in names if name != source]
    primary = source.partition("-")[0]
    target = next((name for name in others if name.partition("-")[0] != primary), others[0])
    if target.partition("-")[0] == primary:
        return source, target
    return primary, target.partition("-")[0]


def _variants_in_language(variants: list[_Variant], language: str) -> list[_Variant]:
    """Return the variants in a language, or else in its regional variants; in the order of the unit."""
    exact = [variant for variant in variants if variant.language == language]
    return exact or [variant for variant in variants if is_variant(variant.language, language)]


def read_xliff(path: str | Path, select: Select) -> Iterator[PairOrError]:
    """Yield the records of a localization file; see :func:`pairs_of_segments`."""
    return _texts_of(pairs_of_segments(_iter_units(path, "xliff"), path, select))


def languages_of_localization(path: str | Path) -> Languages:
    """Return the languages that an XLIFF file states at its root (2.0), or of the first file in it (1.2)."""
    from nmtalign.files.xml_files import iter_elements

    names, _ = UNITS["xliff"]
    languages = {"xliff": ("srcLang", "trgLang"), "file": ("source-language", "target-language")}
    for head, attributes in languages.items():
        _, element = next(iter_elements(path, names, unit_limits(), root="xliff", head=head), (0, None))
        if element is not None and not isinstance(element, DataError) and element.tag == head:
            source, target = (known_language(element.get(name, "")) for name in attributes)
            if source is not None and target is not None and source != target:
                return source, target
    return None, None


def pairs_of_segments(
    units: Iterable[Unit], path: str | Path, select: Select
) -> Iterator[ElementPair | DataError]:
    """Yield a pair for each segment, without proposals (``alt-trans``).

    Segments are the elements of that name in XLIFF 2.0. In 1.2 they are marked (``mrk``) inside a unit, or
    the unit is one. The target is empty where there is none; a warning counts these segments, and texts that
    belong to no segment.
    """
    check_no_select(select, "an XLIFF file")
    notes = ReaderNotes("segment")
    for line, unit in units:
        if isinstance(unit, DataError):
            notes.total += 1
            yield unit
            continue
        name = f"{unit.tag} {unit.get('id')!r}, " if unit.get("id") else ""
        place = f"{name}line {line:,}"
        source = unit.find("source")
        targets = unit.findall("target")
        if unit.tag == "ignorable":
            texts = map(_text_of_element, (source, *targets))
            notes.add(_OUTSIDE_OF_SEGMENTS, any(text.strip() for text in texts), place)
            continue
        if source is None:
            notes.total += 1
            yield DataError("expected a unit with a source, found none").at(path, line=line)
            continue
        notes.add("with several targets, of which the first is read", len(targets) > 1, place)
        notes.add(_TEXT_IN_CODES, _has_text_in_codes(unit), place)
        for pair in _marked_pairs(unit, source, targets[0] if targets else None, notes, place):
            notes.total += 1
            is_empty = not _text_of_element(pair[1]).strip()
            notes.add("without a translation, whose target is empty", is_empty, place)
            yield pair
    notes.warn(path)


_OUTSIDE_OF_SEGMENTS = "with text outside of segments, which is not read"


def _marked_pairs(
    unit: Element, source: Element, target: Element | None, notes: ReaderNotes, place: str
) -> list[ElementPair]:
    """Return the pairs of a unit, by the ``mid`` of its marked segments; note what belongs to none.

    The unit is one pair if its source has one segment, or only its source has any.
    """
    marked = unit.find("seg-source")
    sources = _MarkedSegments(source if marked is None else marked)
    targets = _MarkedSegments(target)
    if len(sources.by_mid) < 2 or (_text_of_element(target).strip() and not targets.by_mid):
        return [(source, target)]
    lone = targets.by_mid.keys() - sources.by_mid.keys()
    without_source = "of a target that have no source segment with their mid, and are not read"
    notes.add(without_source, len(lone), place)
    notes.add(_OUTSIDE_OF_SEGMENTS, sources.has_more or targets.has_more, place)
    return [(segment, targets.by_mid.get(mid)) for mid, segment in sources.by_mid.items()]


class _MarkedSegments:
    """The marked segments (``mrk``) of a side in their order, and whether there is text outside of them.

    A segment is known by its ``mid`` and by how many others before it have the same one.
    """

    def __init__(self, side: Element | None) -> None:
        self.by_mid: dict[tuple[str | None, int], Element] = {}
        self.has_more = False
        self._counts: Counter[str | None] = Counter()
        if side is not None:
            self._add_parts(side)

    def _add_parts(self, element: Element) -> None:
        texts = [element.text]
        for child in element:
            if child.tag == "mrk" and child.get("mtype") == "seg":
                mid = child.get("mid")
                self.by_mid[mid, self._counts[mid]] = child
                self._counts[mid] += 1
            elif child.tag not in _INLINE_CODES | _ANNOTATIONS:
                self._add_parts(child)
            texts.append(child.tail)
        self.has_more |= any(text and text.strip() for text in texts)
