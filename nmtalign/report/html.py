"""A report as one self-contained HTML file that loads nothing from elsewhere.

The words of the corpus are compressed JSON in the file and text nodes in the page. The script is compressed,
too. The page's security policy allows this script, the one that unpacks it, and the one style sheet inside
the file, by their hashes, pictures that the script draws, and nothing else. In a notebook, a page is in a
frame of its own, which runs the script, but cannot reach the notebook.
"""

from __future__ import annotations

import base64
import collections
import datetime
import functools
import hashlib
import html
import json
import posixpath
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtalign.aligner.aligner import Aligner
from nmtalign.checks.findings import KINDS, Finding
from nmtalign.display import are_opposite, short_repr, visible, with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path
from nmtalign.links.alignments import AlignedBatch, AlignedPair
from nmtalign.links.evaluation import Evaluation
from nmtalign.links.formats import format_gold
from nmtalign.links.gold import Correction, TextFingerprint, pair_fingerprint, read_corrections
from nmtalign.links.inputs import GoldInput, as_gold_sequence, check_gold_inside
from nmtalign.report.page_content import (
    OWN_LINKS,
    SamplePair,
    Statistic,
    as_sample_pairs,
    comparison_data,
    error_of,
    evaluate_systems,
    expected_error,
    headline,
    summarize,
)
from nmtalign.report.page_data import compress_levels, data_and_levels, pairs_in_columns
from nmtalign.report.tables import as_pair
from nmtalign.text.bitext import ColumnName, Pairs, Sentences
from nmtalign.text.containers import as_table
from nmtalign.validation import check_same_pairs, check_type

if TYPE_CHECKING:
    import pandas as pd

# A page begins with one of these modules.
REPORT_MODULE, TYPING_MODULE, CARDS_MODULE = "report.js", "tools/typing.js", "cards.js"
UNPACKING_MODULE = "unpack.js"
_IMPORT_LINE = re.compile(r'^import (?:\{[^}]*\} from )?"([^"]+)";\n', re.MULTILINE)


def report_page(
    pairs: Sequence[SamplePair],
    *,
    title: str = "Word alignment",
    corpus: Sequence[Statistic] = (),
    gold: Sequence[str] | None = None,
    corrections: Mapping[int, Correction] | None = None,
    systems: Mapping[str, Evaluation] | None = None,
    text: str | None = None,
    findings: pd.DataFrame | Sequence[Finding] | None = None,
    about: str = "",
    date: str = "",
) -> str:
    """Return the page of :func:`write_report`; the same pairs give the same text.

    `gold` has a Pharaoh line for each pair of the corpus, which is empty for a pair without gold links. When
    the page saves corrected links, it adds the gold links of the pairs that it does not show. The head of the
    page, and its pictures, say `about` and `date`.
    """
    check_type(title, str, "a `title` as text")
    check_type(about, (str, type(None)), "text `about` the pairs")
    _check_all(corpus, Statistic, "statistics of a `corpus`")
    check_type(systems, (Mapping, type(None)), "`systems` as evaluations by name")
    _check_all(() if systems is None else list(systems.values()), Evaluation, "evaluations of `systems`")
    if isinstance(findings, Sequence):
        _check_all(findings, Finding, "`findings` as nmtalign.check returns them")
    data, levels = data_and_levels(pairs)
    evaluated = evaluate_systems(pairs)
    lines = gold
    if lines is None:
        last = max((pair.line for pair in pairs), default=0)
        lines = [""] * last
    shown = {pair.line for pair in pairs}
    not_shown = {n: line for n, line in enumerate(lines, 1) if line and n not in shown}
    statistics = [*corpus, *summarize(pairs, evaluated.get(OWN_LINKS))]
    shown_of_all = f"{len(pairs):,} of " if len(pairs) < len(lines) else ""
    sides = " → ".join(data["names"]) if all(data["languages"]) else ""
    quality = error_of(statistics) or ("" if corpus else expected_error(pairs))
    told = (sides, about, f"{shown_of_all}{with_plural(len(lines), 'pair')}", quality, date)
    data |= {
        "about": [visible(text) for text in told if text],
        "headline": headline(statistics),
        "summary": [statistic[:3] for statistic in statistics],
        "lines": len(lines),
        "text": _fingerprint_of_text(pairs, len(lines)) if text is None else text,
        "rest": not_shown,
        "corrections": _correction_data(pairs, corrections or {}, len(lines)),
        "systems": comparison_data(evaluated if systems is None else systems),
    }
    parts = {"findings": findings_panel(findings), "summary": text_summary(pairs, statistics, data)}
    parts["about"] = html.escape(" · ".join(data["about"]))
    return _fill_template(data, levels, title, parts=parts)


def _check_all(values: Any, kind: type, what: str) -> None:
    check_type(values, Sequence, what)
    for value in values:
        check_type(value, kind, what)


def _fingerprint_of_text(pairs: Sequence[SamplePair], lines: int) -> str | None:
    """Return the fingerprint of a text if the page shows all of its pairs, else None."""
    if sorted(pair.line for pair in pairs) != list(range(1, lines + 1)):
        return None
    key = TextFingerprint()
    for pair in sorted(pairs, key=lambda pair: pair.line):
        key.add(*pair.aligned.tokens)
    return str(key)


def _correction_data(
    pairs: Sequence[SamplePair], corrections: Mapping[int, Correction], lines: int
) -> list[dict[str, Any]]:
    """Return corrections as the page reads and writes them; raise DataError if they are of another text."""
    for pair in pairs:
        correction = corrections.get(pair.line)
        if correction is not None and correction.text != pair_fingerprint(*pair.aligned.tokens):
            problem = f"pair {pair.line}: the correction was made for other words"
            raise DataError(f"{problem}; pass the text of the report that saved it")
    data: list[dict[str, Any]] = []
    for correction in corrections.values():
        if correction.pairs != lines:
            found = f"found {correction.pairs:,}"
            raise DataError(f"expected corrections of a text of {lines:,} pairs, {found}")
        gold = correction.gold
        data.append(
            {
                "pair": correction.pair,
                "pairs": correction.pairs,
                "text": correction.text,
                "by": correction.by,
                "at": correction.at,
                "note": correction.note,
                "links": sorted(gold.sure),
                "possible": sorted(gold.possible - gold.sure),
            }
        )
    return data


def cards_page(pairs: Sequence[SamplePair]) -> str:
    """Return the cards of some pairs alone as one small HTML file.

    A notebook contains such a page for each result, so its style sheet is compressed, too.
    """
    data, levels = data_and_levels(pairs)
    for name in ("summary", "plots", "lexicon"):
        data[name] = []
    return _fill_template(
        data, levels, "Word alignment", kind="cards", module=CARDS_MODULE, style_is_packed=True
    )


def typing_page(models: Sequence[str], example: tuple[str, str]) -> str:
    """Return a page that shows the cards of pairs that are typed into it.

    It sends ``{"models": [...], "source": ..., "target": ...}`` to ``pairs`` at the server it comes from, and
    is answered with `page_data.report_data`, or ``{"error": ...}``. Two models are shown side by side.
    """
    data, levels = data_and_levels([])
    data |= {"models": list(models), "example": example}
    return _fill_template(
        data, levels, "Word alignment", kind="cards", module=TYPING_MODULE, connect="'self'"
    )


def _fill_template(
    data: dict[str, Any],
    levels: bytes,
    title: str,
    *,
    kind: str = "report",
    module: str = REPORT_MODULE,
    connect: str = "'none'",
    style_is_packed: bool = False,
    parts: Mapping[str, str] | None = None,
) -> str:
    """Return the page; `parts` are those of a report that need no script: head, findings and a summary."""
    script = _bundle_script(module)
    style = _bundle_style(("card.css",) if style_is_packed else ("card.css", "report.css"))
    packed = {"style": style, "script": script} if style_is_packed else {"script": script}
    unpacking = _bundle_script(UNPACKING_MODULE)
    columns, levels = pairs_in_columns(data["pairs"], levels)
    text = json.dumps(data | {"pairs": columns}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    identity = hashlib.sha256(text.encode() + levels).hexdigest()[:16]
    return _read_asset("report.html").format(
        title=html.escape(visible(title)),
        kind=kind,
        script=unpacking,
        style="" if style_is_packed else f"<style>{style}</style>\n",
        script_hashes=" ".join(f"'sha256-{_policy_hash(text)}'" for text in (script, unpacking)),
        style_hash=_policy_hash(style),
        packed=_compress_text(json.dumps(packed, ensure_ascii=False)),
        **({"about": "", "findings": "", "summary": ""} if parts is None else parts),
        connect=connect,
        data=compress_to_base64(f'{{"id":"{identity}",{text[1:]}'.encode()),
        weights=compress_levels(levels),
    )


def write_report(
    path: str | Path,
    pairs: Iterable[AlignedPair] | Sequence[SamplePair] | Pairs,
    targets: Sentences | None = None,
    *,
    aligner: Aligner | None = None,
    source: ColumnName = None,
    target: ColumnName = None,
    gold: GoldInput | None = None,
    title: str = "Word alignment",
    corpus: Sequence[Statistic] = (),
    corrections: str | Path | None = None,
    systems: Mapping[str, Evaluation] | None = None,
    text: str | None = None,
    findings: pd.DataFrame | Sequence[Finding] | None = None,
    about: str = "",
) -> None:
    """Write a report of aligned pairs as one HTML file.

    An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    path : str or Path
    pairs : AlignedBatch, iterable of AlignedPair or of SamplePair, or pairs of text
        All are shown, with their attention; a slice such as ``batch[:200]`` chooses some. On the page, pairs
        count from 1, like lines. Pairs of text are those that :meth:`Aligner.align_batch` takes: a Bitext,
        pairs (source, target), tables, or records. They need an `aligner`.
    targets : sequence, optional
        The target sentences, if `pairs` are the source sentences.
    aligner : Aligner, optional
        Aligns pairs of text; aligned pairs do not need it.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.
    gold : path or iterable, optional
        Gold links of each pair, in any form that :func:`nmtalign.evaluate` takes. For pairs of
        :class:`SamplePair`, which have their own, one Pharaoh line for each pair of the whole corpus.
    title : str
        Heading of the page.
    corpus : sequence of Statistic
        Statistics of the whole corpus, shown before those of the pairs.
    corrections : path, optional
        Links that were corrected in another report of this text, which are shown.
    systems : dict of str to Evaluation, optional
        Scores of the links and of other systems on the whole corpus, which are compared. Default: scores on
        the pairs shown.
    text : str, optional
        Any name or number that identifies the bitext; needed if only some of its pairs are shown, so that the
        report finds corrections stored in the browser.
    findings : DataFrame, optional
        What :func:`nmtalign.check` found in the text, or a list of its findings; a panel lists it.
    about : str, optional
        What the head of the page, and each picture of a pair, say of the text and of the model. Languages,
        number of pairs, error rate and date are said in any case.

    Raises
    ------
    UsageError
        If an item is not an aligned pair and there is no aligner, or all together are too large for a page.
    DataError
        If there is not gold for each pair, or a link lies outside of its pair.

    Examples
    --------
    >>> import nmtalign, tempfile
    >>> aligner = nmtalign.load()
    >>> pairs = [("the cat", "le chat"), ("a dog", "un chien")]
    >>> batch = aligner.align_batch(pairs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nmtalign.write_report(f"{folder}/report.html", batch, gold=["0-0 1-1", "0-0"])
    ...     nmtalign.write_report(f"{folder}/same.html", pairs, aligner=aligner, gold=["0-0 1-1", "0-0"])
    """
    path, golds = as_path(path), None if gold is None else as_gold_sequence(gold)
    if golds is not None and not isinstance(golds, Sequence):
        golds = list(golds)
    if path.suffix in (".pdf", ".png", ".svg"):
        raise UsageError(f"{path}: a report is an HTML page; pass a name like {path.stem}.html")
    aligned_pairs: Any = pairs
    if aligner is not None:
        aligned_pairs = _align_text(aligner, pairs, targets, source, target)
    elif targets is not None or source is not None or target is not None or as_table(pairs) is not None:
        needed = "pairs of text need an aligner, as in write_report(path, pairs, aligner=aligner)"
        raise UsageError(f"expected aligned pairs, found {short_repr(pairs)} without `aligner`; {needed}")
    check_same_pairs(aligned_pairs, gold, "pairs and `gold`")
    if golds is not None and isinstance(aligned_pairs, Collection):
        # A file may claim any number of pairs: check only as many as there are; the total is checked below.
        golds_of_pairs = islice(golds, len(aligned_pairs))
        collections.deque(check_gold_inside(golds_of_pairs, aligned_pairs), maxlen=0)
    listed = as_sample_pairs(aligned_pairs, golds)
    lines = None if golds is None else list(map(format_gold, golds))
    known = {} if corrections is None else read_corrections(corrections)
    page = report_page(
        listed,
        title=title,
        corpus=corpus,
        gold=lines,
        corrections=known,
        systems=systems,
        text=text,
        findings=findings,
        about=about,
        date=datetime.date.today().isoformat(),
    )
    with AtomicFiles() as files:
        files.text(path).write(page)


def _align_text(
    aligner: Aligner, pairs: Pairs, targets: Sentences | None, source: ColumnName, target: ColumnName
) -> AlignedBatch:
    """Return pairs of text as a batch; raise UsageError for pairs that are aligned already."""
    check_type(aligner, Aligner, "an aligner, as in write_report(path, pairs, aligner=aligner)")
    first = next(iter(pairs), None) if isinstance(pairs, Collection) else None
    if hasattr(first, "alignment") or hasattr(first, "aligned"):
        raise UsageError("expected pairs of text for `aligner`, found aligned pairs; omit `aligner`")
    return aligner.align_batch(pairs, targets, source=source, target=target)


@functools.cache
def _read_asset(name: str) -> str:
    return resources.files("nmtalign.report").joinpath("assets", name).read_text(encoding="utf-8")


@functools.cache
def module_order(name: str) -> tuple[str, ...]:
    """Return the names of all JavaScript modules that a module needs, each after those that it imports."""
    folder = posixpath.dirname(name)
    needed: dict[str, None] = {}  # an ordered set
    for path in _IMPORT_LINE.findall(_read_asset(name)):
        imported = posixpath.normpath(posixpath.join(folder, path))
        needed.update(dict.fromkeys(module_order(imported)))
    return (*needed, name)


@functools.cache
def _bundle_script(name: str) -> str:
    """Return a module and all that it needs as one script in one scope, without imports and exports."""
    lines = ['"use strict";', "(async () => {"]
    for module in module_order(name):
        text = _IMPORT_LINE.sub("", _read_asset(module))
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        # comments are for readers of the source
        text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
        lines.append(_without_indentation(text))
    lines.append("})();")
    script = "\n".join(lines)
    return re.sub(r"^((?!.*//).*[;{,])\n", r"\1", script, flags=re.MULTILINE)  # lines without a comment


@functools.cache
def _bundle_style(names: tuple[str, ...]) -> str:
    """Return style sheets as one, without comments, most ends of lines and most spaces."""
    text = "".join(_read_asset(name) for name in names)
    text = _without_indentation(re.sub(r"/\*.*?\*/\n?", "", text, flags=re.DOTALL))
    text = re.sub(r"(?<=[{};,])\n|\n(?=})", "", text)
    return re.sub(r"(?<=[:,]) | (?={)", "", text)  # spaces that the language does not need


def _without_indentation(text: str) -> str:
    """Return `text` without indentation, which would be a fifteenth of a page of few pairs."""
    return re.sub(r"^ +", "", text, flags=re.MULTILINE)


def _policy_hash(text: str) -> str:
    """Return the hash by which the page's security policy allows a script or a style sheet."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def compress_to_base64(data: bytes, level: int = zlib.Z_DEFAULT_COMPRESSION) -> str:
    """Return bytes compressed by zlib and encoded as base64, which the page decodes."""
    return base64.b64encode(zlib.compress(data, level)).decode()


@functools.cache
def _compress_text(text: str) -> str:
    return compress_to_base64(text.encode(), zlib.Z_BEST_COMPRESSION)


# --- without scripts: a summary as text, and what is wrong with the text -------------------------

MAX_SHOWN_LINES_PER_KIND = 10
MAX_PAIRS_AS_TEXT = 3
MAX_WORDS_AS_TEXT = 40  # of a sentence, and links of a pair
_PANEL = """<details id="text-findings" open>
<summary><h2>What is wrong with this text</h2> <span>{headline}</span></summary>
<ul>
{items}
</ul>
</details>
"""


def text_summary(
    pairs: Sequence[SamplePair], statistics: Sequence[Statistic], data: Mapping[str, Any]
) -> str:
    """Return what a mail preview, or a browser without scripts, shows of a report; the script removes it.

    It has the statistics, the settings, and the first pairs with their links in words.
    """
    told = [
        f"{statistic.name}: {statistic.value}" + (f" ({statistic.note})" if statistic.note else "")
        for statistic in statistics
    ]
    first = sorted(pairs, key=lambda pair: pair.line != data["example"])[:MAX_PAIRS_AS_TEXT]
    parts = [
        f"<ul>{''.join(f'<li>{_escaped(text)}</li>' for text in told)}</ul>",
        f"<p>Settings: {_escaped(data['settings'] or 'not recorded')}</p>",
        *map(_pair_as_text, first),
    ]
    return "\n".join(parts)


def _pair_as_text(pair: SamplePair) -> str:
    """Return the two sentences of a pair and its links, in words."""
    sides = pair.aligned.tokens
    sentences = [f'<p dir="auto">{_escaped(" ".join(_first_words_of_pair(words)))}</p>' for words in sides]
    links = [f"{sides[0][s]} – {sides[1][t]}" for s, t in sorted(pair.aligned.links)]
    linked = _escaped(", ".join(_first_words_of_pair(links)) or "no links")
    return f"<h3>Pair {pair.line}</h3>{''.join(sentences)}<p>{linked}</p>"


def _first_words_of_pair(words: Sequence[str]) -> list[str]:
    return [*words[:MAX_WORDS_AS_TEXT], *(["…"] if len(words) > MAX_WORDS_AS_TEXT else [])]


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def findings_panel(findings: pd.DataFrame | Sequence[Finding] | None) -> str:
    """Return the panel of the findings of :func:`nmtalign.check`, or of single checks; empty without any."""
    lines_of_kinds: dict[str, list[int]] = {}
    for kind, line in _kinds_and_lines(findings):
        lines_of_kinds.setdefault(kind, []).append(line)
    known = [kind for kind in KINDS if kind in lines_of_kinds]
    if not known:
        return ""
    known.sort(key=lambda kind: KINDS[kind].severity)  # errors before hints
    counts = {"error": 0, "hint": 0}
    for kind in known:
        counts[KINDS[kind].severity] += len(lines_of_kinds[kind])
    headline = f"{with_plural(counts['error'], 'error')} and {with_plural(counts['hint'], 'hint')}"
    items = "\n".join(_item(kind, lines_of_kinds[kind]) for kind in known)
    return _PANEL.format(headline=headline, items=items)


def _kinds_and_lines(findings: pd.DataFrame | Sequence[Finding] | None) -> Iterable[tuple[str, int]]:
    """Return the kind and the line, from 1, of each finding."""
    if findings is None:
        return []
    if isinstance(findings, Sequence):
        return [(finding.kind, finding.line + 1) for finding in findings]
    if not {"kind", "line"} <= set(findings.columns):
        columns = ", ".join(map(str, findings.columns))
        raise UsageError(f"expected `findings` as nmtalign.check returns them, found the columns {columns}")
    return zip(findings["kind"], findings["line"], strict=True)


def _item(kind: str, lines: Sequence[int]) -> str:
    """Return the item of a kind: the number of findings, their first lines, and what to do."""
    shown = ", ".join(f"{line:,}" for line in lines[:MAX_SHOWN_LINES_PER_KIND])
    if len(lines) > MAX_SHOWN_LINES_PER_KIND:
        shown += ", ..."
    what = KINDS[kind]
    place = f"line {shown}" if len(lines) == 1 else f"lines {shown}"
    text = f"{what.severity}: {what.plural}: {len(lines):,} ({place}); {what.advice.replace('`', '')}"
    return f"<li>{_escaped(text)}</li>"


# --- in a notebook -------------------------------------------------------------------------------

PAGE_HEIGHT_PIXELS = 720
MAX_CARD_PIXELS = 1800

# A frame has the color scheme of its element, which follows the theme of Jupyter, Visual Studio Code or
# Colab. In a page without a theme, the card has the colors that the reader prefers.
_LIGHT_NOTEBOOKS = "[data-jp-theme-light=true],.vscode-light,.vscode-high-contrast-light,[theme=light]"
_DARK_NOTEBOOKS = (
    "[data-jp-theme-light=false],.vscode-dark,.vscode-high-contrast:not(.vscode-high-contrast-light),"
    "[theme=dark]"
)
_THEME_OF_FRAME = (
    f":is({_LIGHT_NOTEBOOKS}) .nmtalign{{color-scheme:light}}"
    f":is({_DARK_NOTEBOOKS}) .nmtalign{{color-scheme:dark}}"
)


# A frame becomes as high as the card in it, which answers with its height.
_FIT = (
    "window.addEventListener('message',(e)=>{"
    "if(e.source===this.contentWindow&&e.data.height>0)this.style.height=e.data.height+'px'});"
    "this.contentWindow.postMessage('height','*')"
)


@dataclass(frozen=True, repr=False)
class Page:
    """An HTML page that a notebook shows in a frame."""

    html: str
    height: int = PAGE_HEIGHT_PIXELS  # height of the frame

    def __repr__(self) -> str:
        return f"Page of {len(self.html):,} characters, which a notebook shows"

    def _repr_html_(self) -> str:
        """Return the frame; it gets the height that the card in it tells, where a notebook runs scripts."""
        style = f"width:100%;height:{self.height}px;border:0;resize:vertical"
        # an attribute in double quotes needs no more, and the notebook stays small
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        may = 'class="nmtalign" sandbox="allow-scripts allow-downloads"'
        frame = f'<iframe {may} title="Alignment" style="{style}" onload="{_FIT}" srcdoc="{page}"></iframe>'
        return f"<style>{_THEME_OF_FRAME}</style>{frame}"


def show(pairs: Iterable[AlignedPair], *, title: str = "Word alignment") -> Page:
    """Return the report of some aligned pairs for a notebook.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        All are shown; a slice of a batch, such as ``batch[:20]``, chooses some.
    title : str
        Heading of the page.

    Examples
    --------
    >>> import nmtalign
    >>> aligner = nmtalign.load()
    >>> page = nmtalign.show([aligner.align("the cat", "le chat"), aligner.align("a dog", "un chien")])
    >>> "<title>Word alignment</title>" in page.html
    True
    """
    return Page(report_page(as_sample_pairs(pairs), title=title))


def to_card(result: Any) -> Page:
    """Return the card of a result, with the tools of the report."""
    pair = as_pair(result)
    return Page(cards_page([SamplePair(1, pair)]), _card_height(pair))


def _card_height(pair: AlignedPair) -> int:
    """Return about how many pixels high the card of a pair is in a notebook that is 1,000 pixels wide.

    The numbers were measured in a browser. The frame keeps this height only where no script tells it a better
    one.
    """
    longest = max(1, *map(len, pair.tokens))
    # the words of many are in rows, and the matrix is below the text instead of beside it
    height = min(max(700 + 13 * longest, 300 + 31 * longest), MAX_CARD_PIXELS)
    return height + 20 * longest if are_opposite(*pair.tokens) else height  # words in columns
