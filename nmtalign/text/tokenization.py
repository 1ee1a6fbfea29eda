"""Tokenizers with the positions of their tokens in the line.

``space``   words between ASCII spaces: text that is already tokenized.
``simple``  any language, one compiled pattern: French elision and clitic pronouns, English contractions,
            numbers, web addresses, Chinese and Japanese character by character; clitics that are split off
            already are not changed. Emoji of several characters, and letters with their marks, stay whole.
``moses``   the Moses tokenizer (package sacremoses, extra ``[moses]``).
``icu``     words by the dictionaries and rules of ICU, for scripts without spaces (package icu4py, extra
            ``[icu]``).
``sentencepiece:FILE[,FILE]``  sub-words of a sentencepiece model (extra ``[sentencepiece]``), of one for each
            side if there are two.
"""

from __future__ import annotations

import re
import shutil
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError, require_extra
from nmtalign.files.paths import FileVersion, expand_home, file_version
from nmtalign.names import TOKENIZERS, UNICODE_FORMS, UnicodeForm
from nmtalign.settings import WordSettings
from nmtalign.validation import check_choice

Span = tuple[int, int]
Languages = tuple[str | None, str | None]


def check_languages(languages: object) -> None:
    """Raise UsageError unless `languages` is a pair (source, target) of texts or None."""
    sides = languages if isinstance(languages, tuple | list) else ()
    if len(sides) != 2 or not all(isinstance(name, str | None) for name in sides):
        raise UsageError(
            f"expected a source and a target language, like ('en', 'fr'), found {short_repr(languages)}"
        )


class Token(NamedTuple):
    """A token and its position in the line: ``line[start:end] == text``."""

    text: str
    start: int
    end: int


class Tokenizer(Protocol):
    """Splits a line; both methods find the same tokens."""

    def spans(self, text: str) -> list[Span]:
        """Return where each token begins and ends, in characters."""
        ...

    def split(self, text: str) -> list[str]:
        """Return the tokens."""
        return [text[start:end] for start, end in self.spans(text)]


# --- space ---------------------------------------------------------------------------------------


class _SpaceTokenizer:
    def split(self, text: str) -> list[str]:
        words = text.split(" ")
        return [word for word in words if word] if "" in words else words

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in re.finditer("[^ ]+", text)]


# --- normal forms --------------------------------------------------------------------------------

_MAX_COMBINING_MARKS = 1_000  # combining marks on one letter; no language has more than a few
# All marks and all CJK; inverted, because a class is compiled character by character
_find_high_character = re.compile("[^\0-\u02ff\u2000-\u20cf]").search


@lru_cache(maxsize=1)
def mark_class() -> str:
    """Return the combining marks as the inside of a character class; ``\\w`` does not include them."""
    ranges = range(0x300, 0x1FA00), range(0xE0100, 0xE01F0)  # the second range has variants of Han characters
    codes = [code for code in chain(*ranges) if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")]
    parts = []
    # In a run of consecutive codes, the difference of code and index is constant.
    for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        run = [code for _, code in group]
        parts.append(f"\\U{run[0]:08x}-\\U{run[-1]:08x}")
    return "".join(parts)


def normal_form(form: str, text: str) -> str:
    """Return `text` in the form ``NFC``, ``NFD``, ``NFKC`` or ``NFKD``.

    Runs of `_MAX_COMBINING_MARKS` or more combining marks are left unchanged, because the time to sort the
    marks of a run grows with the square of their number.
    """
    if len(text) <= _MAX_COMBINING_MARKS:
        return unicodedata.normalize(form, text)  # type: ignore[arg-type]
    parts = [text]
    # Each pile has a mark at a multiple of its length
    if _find_high_character(text[::_MAX_COMBINING_MARKS]):
        mark = f"[{mark_class()}\uff9e\uff9f]"  # two letters become marks in NFKC
        if re.search(mark, text[::_MAX_COMBINING_MARKS]):
            parts = re.split(f"((?<!{mark}){mark}{{{_MAX_COMBINING_MARKS},}})", text)
    parts[::2] = [unicodedata.normalize(form, part) for part in parts[::2]]  # type: ignore[arg-type]
    return "".join(parts)


# --- simple --------------------------------------------------------------------------------------

# Han, kana and their marks; Hangul is written with spaces and stays in words.
_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u3099-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# White space, controls and invisible marks separate words and belong to none.
_GAP_CHARS = r"\s\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2060\ufeff"
_APOSTROPHE = "['\u2019\u02bc]"
_HYPHEN = "[-\u2010\u2011]"
_ELIDED = "[LlDdJjMmTtSsNnCcÇç]|[Qq][Uu]|(?i:jusqu|lorsqu|puisqu|quoiqu|aujourd)"
_ITALIAN = (
    "[cdglmnstv]|un|d?all|[bdn]ell|quell|[cs]ull|coll|quest|(?:ness|alc|ciasc)un|anch|com|cos|dov|dev|sant|po"
    "|(?:[adn]e|su|da)?gl|sott|mezz|tutt|null|trent|quarant|cinquant|vent|bell|buon|quand"
)
_PRONOUN = "t-on|ils?|elles?|je|tu|nous|vous|moi|toi|lui|leur|ce|ci|l(?:à|a\u0300)"
_PRONOUN_FRENCH = _PRONOUN + "|on|les?|la|en|y"  # not "add-on", "x-y" where the language is open
_ALONE = rf"(?<=\w ){_HYPHEN}(?:t-)?(?![A-ZÀ])(?i:{_PRONOUN})(?!\S)"
# But not the end of "no 2 -la suite-"
_ALONE_FRENCH = rf"{_ALONE}|(?<=\w ){_HYPHEN}(?:(?:t-)?(?:on|y)(?!\S)|(?:les?|la|en)(?=\s+[^\w\s]|$))"
_NEGATED = "do|does|did|is|was|are|were|have|has|had|wo|ca|could|should|would|must|need|might|sha|ai|ought"
_CONTRACTED = "s|re|ve|ll|d|m"
_TITLE = r"[Mm]rs?|Ms|[Dd]r|Prof|[Ss]t|MM?|Mgr|(?<!\d\s)ms?"  # 5 m. and 10 ms. are measures
_ABBREVIATION = rf"(?:[A-Za-z]\.){{2,}}|(?:{_TITLE})\.(?=\s+\S)"
_NUMERAL = r"\d{1,3}(?:[\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\w)|\d+(?:[.,:/]\d+)+(?!\w)"
# At most 64 characters before the @ (RFC 5321): to look for one behind each letter would take quadratic time
_ADDRESS = (
    r"(?:https?://|ftp://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)\]}'\u2019\u00bb]"
    r"|[\w.+-]{1,64}+@\w[\w-]*(?:\.\w[\w-]*)+"
)
_WHOLE = "aujourd['\u2019\u02bc]hui|rendez-vous"
_RUN = r"\.{2,}|[!?]{2,}|-{2,}"
# As Moses writes symbols and clitics, and others unknown words
_ESCAPED_WORD = (
    r"(?<!\S)\w*&apos;\w*(?!\S)|&(?:amp|lt|gt|quot|apos|nbsp|#\d+);|(?<!\S)<(?:unk|/?s|pad|mask)>(?!\S)|@-@"
)


# Emoji of several characters are one token each (Unicode Technical Standard 51): keycaps, flags, and pictures
# with a skin color or tags, which zero-width joiners join.
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_PICTURE = (
    "[\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff]"
)
_PICTURE_MODIFIERS = "\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"  # variation, skin colors, tags


def _full_pattern(language: str | None, marks: str, cjk: str, quoted: bool) -> str:
    """Return the pattern of words in every line; `language` decides what an apostrophe or a hyphen joins.

    `marks` and `cjk` are the combining marks and the letters of CJK that lines may have. In tokenized text,
    clitics stand alone. Where a line is `quoted` by apostrophes, one after a letter may end the quotation.
    """
    letter = rf"[^\W{cjk}]"
    end = rf"(?!{letter}|[{marks}])"  # decomposed, a letter goes on with its mark
    behind = rf"[\w{marks}]"  # to look behind after the next character is found takes less time
    word = rf"{letter}+(?:[{marks}\u00ad\u200c\u200d]{letter}*)*"
    any_word = rf"[^\W\d_{cjk}]+(?:[{marks}][^\W\d_{cjk}]*)*"
    elided = any_word if language in ("it", "ca") else _ELIDED
    pronoun = _PRONOUN_FRENCH if language == "fr" else _PRONOUN
    clitic = rf"(?:[tT]-)?(?i:{pronoun})(?=(?:-(?:[tT]-)?(?i:{pronoun})){{,4}}{end}(?!{_HYPHEN}{letter}))"
    contracted = rf"(?i:{_CONTRACTED}){end}"
    number = f"(?:{_NUMERAL})[{marks}]*"
    french = [
        rf"(?<!{letter})(?:{elided}){_APOSTROPHE}(?=[^\W\u02bc])",
        rf"{_HYPHEN}(?<={behind}{_HYPHEN}){clitic}",
    ]
    if not quoted:
        alone = f"(?i:{_ITALIAN})" if language in ("it", "ca") else _ELIDED
        french.append(rf"(?<!\S)(?:{alone}){_APOSTROPHE}(?=\s+\w)")
    if language in (None, "fr"):
        french.append(_ALONE_FRENCH if language else _ALONE)
    english = [
        rf"(?i:{_NEGATED})(?=[nN]{_APOSTROPHE}[tT]{end})",
        rf"[nN](?<={behind}[nN]){_APOSTROPHE}[tT]{end}|(?<!\S)[nN]{_APOSTROPHE}[tT](?!\S)",
        rf"{_APOSTROPHE}(?<={behind}{_APOSTROPHE}){contracted}|(?<!\S){_APOSTROPHE}(?i:{_CONTRACTED}|t)(?!\S)",
    ]
    inside = [rf"{_HYPHEN}(?!{clitic})" if language != "en" else _HYPHEN]
    inside += [rf"{_APOSTROPHE}(?!{contracted})" if language != "fr" else _APOSTROPHE]
    return "|".join(
        [
            _ADDRESS,
            _ESCAPED_WORD,
            *([rf"[{cjk}][{marks}]*"] if cjk else []),
            _ABBREVIATION,
            number,
            rf"(?i:{_WHOLE})(?!{letter})",
        ]
        + (english if language != "fr" else [])
        + (french if language != "en" else [])
        + [rf"{word}(?:(?:{'|'.join(inside)}){word})*"]
    )


@lru_cache(maxsize=64)
def _pattern(language: str | None, special: bool, marked: bool, quoted: bool, emoji: bool) -> re.Pattern[str]:
    """Return the pattern for a kind of lines; the classes of combining marks and CJK take long to compile.

    Most lines are not `special`: they have no apostrophe, hyphen, ``@/&<`` or CJK, and are split fast. Lines
    that are not `marked` have neither combining marks nor CJK. Lines with `emoji` of several characters take
    longest.
    """
    marks = mark_class() if marked else "\u0300"
    number = f"(?:{_NUMERAL})[{marks}]*" if marked else _NUMERAL
    plain = rf"{_ABBREVIATION}|{number}|\w+(?:[{marks}\u00ad\u200c\u200d]\w*)*"
    words = _full_pattern(language, marks, _CJK if marked else "", quoted) if special else plain
    words += f"|(?:{_RUN})[{marks}]*" if marked else f"|{_RUN}"
    if not emoji:
        return re.compile(f"{words}|[^{_GAP_CHARS}][{marks}\ufe0f]*")
    follows = f"[{marks}{_PICTURE_MODIFIERS}]*"
    joined = f"{_PICTURE}{follows}(?:\u200d{_PICTURE}{follows})+"
    return re.compile(f"{_KEYCAP}|{words}|{_FLAG}|{joined}|[^{_GAP_CHARS}]{follows}")


class _SimpleTokenizer:
    """Uses a fast pattern for plain lines and the full pattern for others; both split plain lines alike."""

    def __init__(self, language: str | None) -> None:
        self._language = language
        self._special = re.compile("['\u2019\u02bc\\-\u2010\u2011@/&<]|www").search
        # The beginning of a quotation that is not a clitic
        self._quoted = re.compile(rf"(?<!\S)['\u2019](?!(?i:{_CONTRACTED}|t)(?!\w))\w").search
        self._emoji = re.compile(f"[\u200d\u20e3\U0001f1e6-\U0001f1ff{_PICTURE_MODIFIERS}]").search

    def _pattern_for(self, text: str) -> re.Pattern[str]:
        """Return the pattern of tokens that handles just what the text contains."""
        marked = not text.isascii() and _find_high_character(text) is not None
        emoji = marked and self._emoji(text) is not None
        special = self._special(text) is not None or (marked and re.search(f"[{_CJK}]", text) is not None)
        quoted = special and self._quoted(text) is not None
        return _pattern(self._language, special, marked, quoted, emoji)

    def split(self, text: str) -> list[str]:
        return self._pattern_for(text).findall(text)

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in self._pattern_for(text).finditer(text)]


# --- moses ---------------------------------------------------------------------------------------


class _MosesTokenizer:
    """sacremoses without escaping; the positions of the tokens are found from left to right."""

    def __init__(self, language: str | None) -> None:
        with require_extra("moses", "the tokenizer 'moses' needs the package sacremoses"):
            from sacremoses import MosesTokenizer
        self._tokenize = MosesTokenizer(lang=language or "en").tokenize
        self._controls = dict.fromkeys(range(32), " ")

    def split(self, text: str) -> list[str]:
        return list(self._tokenize(text.translate(self._controls), escape=False))

    def spans(self, text: str) -> list[Span]:
        return locate_tokens(self.split(text), text)


def locate_tokens(tokens: Iterable[str], text: str) -> list[Span]:
    """Return the positions of `tokens` in `text`, from left to right; raise DataError if one is missing."""
    spans: list[Span] = []
    position = 0
    for token in tokens:
        start = text.find(token, position)
        if start < 0:
            raise DataError(f"the token {token!r} is not in the text after character {position}: {text!r}")
        position = start + len(token)
        spans.append((start, position))
    return spans


# --- icu -----------------------------------------------------------------------------------------


class _IcuTokenizer(Tokenizer):
    """Splits a line at the word boundaries of ICU, and omits spaces and control characters."""

    def __init__(self, language: str | None) -> None:
        advice = "; 'simple' splits Chinese and Japanese into single characters"
        with require_extra("icu", "the tokenizer 'icu' needs the package icu4py", advice):
            from icu4py.breakers import WordBreaker
        self._segments: Callable[[str], Iterable[str]] = lambda text: WordBreaker(text, language or "en")
        self._gap = re.compile(f"[{_GAP_CHARS}]+").fullmatch

    def spans(self, text: str) -> list[Span]:
        segments = list(self._segments(re.sub("[\ud800-\udfff]", "\ufffd", text)))
        ends = accumulate(map(len, segments))
        return [(end - len(s), end) for s, end in zip(segments, ends, strict=True) if not self._gap(s)]


# --- sentencepiece -------------------------------------------------------------------------------


class SentencePieceModel:
    """Splits lines into sub-words with a model of sentencepiece, of version 0.1.99 or later."""

    def __init__(self, file: str, *, expected: str = "a sentencepiece model") -> None:
        with require_extra("sentencepiece", "a sentencepiece model needs its package"):
            from sentencepiece import SentencePieceProcessor
        try:
            self._processor = SentencePieceProcessor(model_file=file)
        except (OSError, RuntimeError) as error:
            raise DataError(f"expected {expected} ({error})").at(file) from None
        self._has_offsets = True
        try:
            self._processor.encode("", return_type="offset_mapping")
        except TypeError:  # before version 0.2.1
            self._has_offsets = False

    def encode(self, line: str) -> tuple[list[str], list[Span]]:
        """Return the pieces, and where each of them is in the line, in characters."""
        if self._has_offsets:
            encoded = self._processor.encode(line, return_type="offset_mapping")
            return list(encoded["pieces"]), list(encoded["offsets"])
        pieces = self._processor.encode(line, out_type="immutable_proto").pieces  # type: ignore[arg-type]
        return [piece.piece for piece in pieces], [(piece.begin, piece.end) for piece in pieces]


class _SentencePieceTokenizer:
    """Pieces of a sentencepiece model; the spans do not include the space before the letters."""

    def __init__(self, file: str) -> None:
        self._encode = SentencePieceModel(file).encode

    def split(self, text: str) -> list[str]:
        return self._encode(text)[0]

    def spans(self, text: str) -> list[Span]:
        offsets = self._encode(text)[1]
        return [(end - len(text[start:end].lstrip()), end) for start, end in offsets]


# --- settings ------------------------------------------------------------------------------------

TOKENIZER_FACTORIES: dict[str, Callable[[str | None], Tokenizer]] = {
    "space": lambda language: _SpaceTokenizer(),
    "simple": _SimpleTokenizer,
    "moses": _MosesTokenizer,
    "icu": _IcuTokenizer,
}
MAX_TEXT_CHARS = 2_000_000  # the length of a line that is tokenized


def _check_tokenizer(name: str) -> None:
    tokenizer, colon, file = str(name).partition(":")
    is_sentencepiece = tokenizer == "sentencepiece" and file != ""
    is_known = is_sentencepiece if colon else tokenizer in TOKENIZER_FACTORIES
    if not is_known:
        check_choice(name, TOKENIZERS, "tokenizers")


def load_tokenizer(name: str, language: str | None = None) -> Tokenizer:
    """Return the tokenizer called `name` for `language` (a code such as ``fr``; None for any).

    A sentencepiece model is opened once, and again if its file has changed.
    """
    file = name.partition(":")[2]
    if not file:
        return _make_tokenizer(name, language)
    _check_tokenizer(name)
    if "," in file:
        raise UsageError(f"{name!r} names a model for each side; name the one of this text")
    path = expand_home(file)
    try:
        version = file_version(path)
    except OSError as error:
        raise DataError(f"expected a sentencepiece model ({error})").at(path) from None
    return _open_sentencepiece(path, version)


@lru_cache(maxsize=64)
def _make_tokenizer(name: str, language: str | None) -> Tokenizer:
    _check_tokenizer(name)
    return TOKENIZER_FACTORIES[name](language)


@lru_cache(maxsize=8)
def _open_sentencepiece(path: str, version: FileVersion) -> Tokenizer:
    return _SentencePieceTokenizer(path)


def _check_length(text: str) -> str:
    """Return a line, or raise DataError if it is too long to be tokenized."""
    if len(text) > MAX_TEXT_CHARS:
        found = f"expected lines of at most {MAX_TEXT_CHARS:,} characters, found {len(text):,}"
        raise DataError(f"{found}: {text[:40]!r} ...; break the line")
    return text


def _tokenize(tokenizer: Tokenizer, text: str) -> list[Token]:
    return [Token(text[start:end], start, end) for start, end in tokenizer.spans(_check_length(text))]


@dataclass(frozen=True)
class TextSettings:
    """How a line becomes tokens, and a token the word that is looked up.

    >>> settings = TextSettings("simple")
    >>> settings.words("Aujourd’hui, l’eau n'est-elle pas froide ?", language="fr")
    ["aujourd'hui", ',', "l'", 'eau', "n'", 'est', '-elle', 'pas', 'froide', '?']
    >>> settings.tokens("L’eau")
    [Token(text='L’', start=0, end=2), Token(text='eau', start=2, end=5)]
    """

    tokenizer: str = "space"  # see the head of this module
    lowercase: bool = True  # whether words are looked up in lower case
    unicode: UnicodeForm = "nfc"  # all forms but ``none`` also write the typographic apostrophe as ``'``

    def __post_init__(self) -> None:
        _check_tokenizer(self.tokenizer)

    def __str__(self) -> str:
        return f"{self.tokenizer}+{'lower' if self.lowercase else 'cased'}+{self.unicode}"

    def updated(self, words: WordSettings) -> TextSettings:
        """Return the settings with the given values; None leaves a setting unchanged.

        >>> print(TextSettings("simple").updated(WordSettings(lowercase=False)))
        simple+cased+nfc
        """
        return replace(self, **{name: getattr(words, name) for name in words.given})

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TextSettings:
        """Return the settings that :meth:`as_dict` gave."""
        types = {"tokenizer": str, "lowercase": bool, "unicode": str}
        if not values.keys() <= types.keys() or not all(isinstance(v, types[n]) for n, v in values.items()):
            raise DataError(f"expected tokenizer, lowercase and unicode, found {dict(values)}")
        if "unicode" in values:
            check_choice(values["unicode"], UNICODE_FORMS, "unicode forms")
        return cls(**values)

    def for_storage(self) -> tuple[TextSettings, dict[str, str]]:
        """Return settings with the names of the tokenizer's files in a folder, and the files by name."""
        tokenizer, colon, files = self.tokenizer.partition(":")
        if not colon:
            return self, {}
        listed = enumerate(map(expand_home, files.split(",")), 1)
        names = {f"{tokenizer}-{n}.model": file for n, file in listed}
        return replace(self, tokenizer=f"{tokenizer}:{','.join(names)}"), names

    def kept_in(self, folder: Path) -> TextSettings:
        """Copy the files of the tokenizer into a folder; return the settings of :meth:`for_storage`."""
        settings, files = self.for_storage()
        for name, file in files.items():
            shutil.copyfile(file, folder / name)
        return settings

    @classmethod
    def opened(cls, values: Mapping[str, Any], path_of: Callable[[str], Path]) -> TextSettings:
        """Return the settings from the values of :meth:`for_storage` and :meth:`as_dict`.

        `path_of` returns the path of a file of the folder by its name, or raises DataError. Wrong settings
        are a DataError, because they come from a file, not from the caller.
        """
        try:
            kept = cls.from_dict(values)
        except UsageError as error:
            raise DataError(str(error)) from None
        tokenizer, colon, files = kept.tokenizer.partition(":")
        if not colon:
            return kept
        return replace(kept, tokenizer=f"{tokenizer}:{','.join(str(path_of(f)) for f in files.split(','))}")

    def without_folding(self) -> TextSettings:
        """Return settings that split lines in the same way and leave the words unchanged."""
        return replace(self, lowercase=False, unicode="none")

    def tokens(self, text: str, *, language: str | None = None) -> list[Token]:
        """Return the tokens of one line with their positions."""
        return _tokenize(load_tokenizer(self.tokenizer, language), text)

    def words(self, text: str, *, language: str | None = None) -> list[str]:
        """Return the words to look up, one for each of :meth:`tokens`."""
        return self._split(load_tokenizer(self.tokenizer, language), text)

    def words_of_pair(
        self, pair: tuple[str, str], languages: Languages = (None, None)
    ) -> tuple[list[str], list[str]]:
        """Return :meth:`words` of both sides of a sentence pair."""
        first, second = map(load_tokenizer, self._tokenizer_of_sides, languages)
        return self._split(first, pair[0]), self._split(second, pair[1])

    def tokens_of_pair(
        self, pair: tuple[str, str], languages: Languages = (None, None)
    ) -> tuple[list[Token], list[Token]]:
        """Return :meth:`tokens` of both sides of a sentence pair."""
        first, second = map(load_tokenizer, self._tokenizer_of_sides, languages)
        return _tokenize(first, pair[0]), _tokenize(second, pair[1])

    def pieces_of_pair(
        self, pair: tuple[str, str], languages: Languages = (None, None)
    ) -> tuple[list[str], list[str]]:
        """Return the tokens of both sides as the tokenizer gives them: sub-words with their marks."""
        first, second = map(load_tokenizer, self._tokenizer_of_sides, languages)
        return first.split(_check_length(pair[0])), second.split(_check_length(pair[1]))

    def tokens_of_lines(
        self, lines: Sequence[str], side: int, language: str | None = None
    ) -> tuple[list[str], list[int]]:
        """Return the concatenated tokens of many lines of a side (0 or 1), and their number per line."""
        tokens = [*map(self.tokenizer_of(side, language).split, map(_check_length, lines))]
        return [token for line in tokens for token in line], list(map(len, tokens))

    def tokenizer_of(self, side: int, language: str | None = None) -> Tokenizer:
        """Return the tokenizer of a side (0 or 1)."""
        return load_tokenizer(self._tokenizer_of_sides[side], language)

    def _split(self, tokenizer: Tokenizer, line: str) -> list[str]:
        if self.cuts_at_spaces:
            return tokenizer.split(self.folded(_check_length(line)))
        return self.normalized(tokenizer.split(_check_length(line)))

    @property
    def cuts_at_spaces(self) -> bool:
        """Whether the words are the space-separated words of :meth:`folded` lines."""
        return self.tokenizer == "space" and self.unicode in ("nfc", "none")  # these forms leave spaces alone

    @cached_property
    def _tokenizer_of_sides(self) -> tuple[str, str]:
        """The tokenizer of each side; a sentencepiece tokenizer may have a file for each side."""
        first, comma, second_file = self.tokenizer.partition(",")
        if not comma:
            return first, first
        kind = first.partition(":")[0]
        return first, f"{kind}:{second_file}"

    def normalized(self, tokens: Sequence[str]) -> list[str]:
        """Return `tokens` in the case and Unicode form of these settings, one for one."""
        words = self.folded("\n".join(tokens)).split("\n")
        if len(words) == len(tokens) and all(words):
            return words
        return [self.folded(token) or token for token in tokens]  # a token with a line end, or only accents

    def folded(self, text: str) -> str:
        """Return a text, perhaps of many lines, in the case and Unicode form of these settings."""
        if not text.isascii() and self.unicode != "none":
            text = text.replace("\u2019", "'").replace("\u02bc", "'")
            if self.unicode == "strip-accents":
                letters = (c for c in normal_form("NFD", text) if unicodedata.category(c) != "Mn")
                text = normal_form("NFC", "".join(letters))
            else:
                text = normal_form(self.unicode.upper(), text)
        return text.lower() if self.lowercase else text


# --- space-separated words -----------------------------------------------------------------------

SPACE_SETTINGS = TextSettings("space", lowercase=False, unicode="none")  # leaves words unchanged


def words_containing(starts: Iterable[int], line: str) -> list[int]:
    """Return the word between ASCII spaces that each token of a line begins in.

    >>> line = "l'eau  froide."
    >>> words_containing([token.start for token in TextSettings("simple").tokens(line)], line)
    [0, 0, 1, 1]
    """
    ends = [end for _, end in _SpaceTokenizer().spans(line)]
    # a sub-word may represent the space at the end of the line
    return [min(bisect_right(ends, start), len(ends) - 1) for start in starts]
