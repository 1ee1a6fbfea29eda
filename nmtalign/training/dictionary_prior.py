"""Prior counts from bilingual dictionaries: the word pairs whose words can occur in a text.

A word can occur if the text has it, or has the same lemma, or, in a small text, a word with the same first
letters: forms of a word share them.
Other entries are left out as they are read. An entry of several words, such as *give up - renoncer*, counts
for each pair of their content words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from nmtalign.corpus.sides import EncodedSide
from nmtalign.dictionaries.entries import Entry, JumpCount, Wanted
from nmtalign.dictionaries.line_dictionaries import MAX_WEIGHT
from nmtalign.dictionaries.reading import DictionaryFile
from nmtalign.display import short_repr
from nmtalign.errors import UsageError
from nmtalign.names import SIDES, Side
from nmtalign.text.lemmas import lemmatizer
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.validation import check_number

SHARED_PREFIX_LETTERS = 4  # a word of an entry and a word of the text have at least so many in common
SMALL_VOCABULARY = 8_000  # words of a side, up to which first letters are enough
MAX_COMBINATIONS = 4  # content words of the headword times those of the translation
FUNCTION_WORD_SHARE = 0.01  # of the phrases with several words; content words are rarer
MIN_FUNCTION_WORD_COUNT = 20

WeightedWordPair = tuple[str, str, float]  # source word, target word, weight


class Table(Protocol):
    """A DataFrame."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""


DictionaryRow = Sequence[str | float]  # headword, translation, perhaps a weight
GivenDictionary = str | Path | Table | Sequence[DictionaryRow]
GivenDictionaries = GivenDictionary | Sequence[GivenDictionary]


@dataclass(frozen=True)
class DictionaryRows:
    """A dictionary in memory."""

    path: str  # what messages call it
    rows: Sequence[tuple[str, str, float]]  # headword, translation, weight

    def entries(self, wanted: Wanted, jumps: list[JumpCount]) -> Iterator[Entry]:
        """Yield the entries of wanted headwords; there are no jumps."""
        for number, (headword, translation, weight) in enumerate(self.rows, 1):
            if wanted(headword):
                yield Entry(number, (headword,), (translation,), weight, is_clean=True)


Dictionary = DictionaryFile | DictionaryRows


def open_dictionaries(given: GivenDictionaries | None, encoding: str = "utf-8") -> list[Dictionary]:
    """Return the dictionaries that a user gives; a DataError now if there is no such file."""
    if given is None:
        return []
    if isinstance(given, str | Path):
        file = DictionaryFile(given, encoding)
        file.check()
        return [file]
    if hasattr(given, "columns"):
        return [_rows_of(given)]
    if not isinstance(given, Sequence):
        raise UsageError(f"expected a path, a DataFrame or pairs as `prior`, found {short_repr(given)}")
    if given and _is_word_pair(given[0]):
        return [_rows_of(given)]
    several = cast(Sequence[GivenDictionary], given)
    return [dictionary for one in several for dictionary in open_dictionaries(one, encoding)]


def _is_word_pair(value: object) -> bool:
    """Return whether a value is a headword and its translation, perhaps with a weight."""
    return (
        isinstance(value, tuple | list)
        and 2 <= len(value) <= 3
        and all(isinstance(x, str) for x in value[:2])
    )


def _rows_of(given: Any) -> DictionaryRows:
    """Return the dictionary of a DataFrame or of pairs."""
    if hasattr(given, "columns"):
        names = list(given.columns)
        if len(names) < 2:
            raise UsageError(f"expected a headword and a translation in each row, found the columns {names}")
        chosen = ["headword", "translation"] if {"headword", "translation"} <= set(names) else names[:2]
        chosen += ["weight"] if "weight" in names[2:] or "weight" in set(names) - set(chosen) else []
        given = list(zip(*(given[name].tolist() for name in chosen), strict=True))
    rows = []
    for number, row in enumerate(given):
        if not _is_word_pair(row):
            raise UsageError(
                f"row {number} of `prior`: expected a headword and a translation, found {short_repr(row)}"
            )
        weight = row[2] if len(row) > 2 else 1.0
        check_number(weight, f"row {number} of `prior`: a weight above 0", minimum=1e-9, maximum=MAX_WEIGHT)
        rows.append((row[0], row[1], float(weight)))
    return DictionaryRows("prior", rows)


class _Row(NamedTuple):
    """A headword and a translation of it, in the form in which words are looked up."""

    headword: str
    translation: str
    weight: float


def dictionary_pairs(
    dictionaries: Iterable[Dictionary],
    sides: tuple[EncodedSide, EncodedSide],
    text: TextSettings,
    languages: Languages = (None, None),
    *,
    headwords: Side | None = None,
    lemmas: Languages = (None, None),
    report: Callable[[str], None],
    warn: Callable[[str], None],
    jumps: list[JumpCount] | None = None,
) -> list[WeightedWordPair]:
    """Return the word pairs of dictionaries whose words can occur on the two sides of a text.

    The jumps of those files of priors that have such word pairs are added to `jumps`.

    `headwords` is the side whose language the headwords are in; None finds it for each dictionary. `lemmas`
    are the languages of the lemmas that words of the text are counted under.
    """
    is_small = max(len(side.words) for side in sides) <= SMALL_VOCABULARY
    letters = SHARED_PREFIX_LETTERS if is_small else None
    both = zip(sides, lemmas, strict=True)
    vocabularies = [_Vocabulary.of(side.words[1:], letters, language) for side, language in both]
    counts: dict[tuple[str, str], float] = {}
    for dictionary in dictionaries:
        jumps_of_file: list[JumpCount] = []
        rows = _wanted_rows(dictionary, vocabularies, text, headwords, jumps_of_file)
        side = headwords or _side_of_headwords(rows, vocabularies)
        pairs = _word_pairs(rows, side, vocabularies, text, languages)
        if pairs:
            with_jumps = f", {len(jumps_of_file):,} lines of jumps" if jumps_of_file else ""
            found = f"{len(pairs):,} word pairs for this text, headwords of the {side}{with_jumps}"
            report(f"{dictionary.path}: {found}")
            if jumps is not None:
                jumps += jumps_of_file if side == "source" else map(_swapped, jumps_of_file)
        else:
            warn(
                f"{dictionary.path}: no entry has words of both sides of the text; is it of these languages?"
            )
        for pair, weight in pairs.items():
            counts[pair] = counts.get(pair, 0.0) + weight
    return [(source, target, weight) for (source, target), weight in counts.items()]


def _swapped(jump: JumpCount) -> JumpCount:
    """Return a jump of a file whose first words are those of the target."""
    return jump._replace(side="target" if jump.side == "source" else "source")


@dataclass(frozen=True)
class _Vocabulary:
    """The words of one side or of both, their lemmas and their first letters.

    In a large text, the words of a dictionary occur themselves, and relatives of them add little. Then
    `letters` is None, and `beginnings` are whole words.
    """

    words: Set[str]
    letters: int | None
    beginnings: Set[str]
    lemmas: Set[str]

    @classmethod
    def of(cls, words: Sequence[str], letters: int | None, language: str | None) -> _Vocabulary:
        """Return the vocabulary of a side; `language` is that of its lemmas."""
        lemmas = set() if language is None else set(map(lemmatizer(language), words))
        return cls(set(words), letters, {word[:letters] for word in words}, lemmas)

    def __or__(self, other: _Vocabulary) -> _Vocabulary:
        beginnings, lemmas = self.beginnings | other.beginnings, self.lemmas | other.lemmas
        return _Vocabulary(self.words | other.words, self.letters, beginnings, lemmas)

    def may_have(self, word: str) -> bool:
        """Return whether the text may have a form of the word."""
        return word[: self.letters] in self.beginnings or word in self.lemmas

    def may_have_phrase(self, phrase: str) -> bool:
        """Return whether the text may have forms of one word of a phrase, or of all if it is large."""
        enough = all if self.letters is None else any
        return enough(map(self.may_have, phrase.split(" ")))


def _wanted_rows(
    dictionary: Dictionary,
    vocabularies: Sequence[_Vocabulary],
    text: TextSettings,
    headwords: Side | None,
    jumps: list[JumpCount],
) -> list[_Row]:
    """Return the translations of those headwords that may occur in the text; jumps are added to `jumps`."""
    if headwords is None:
        vocabulary = vocabularies[0] | vocabularies[1]
    else:
        vocabulary = vocabularies[SIDES.index(headwords)]
    # a tokenizer may split the headword, so that only its first letter is sure to begin a word
    letters = set() if text.cuts_at_spaces else {word[:1] for word in vocabulary.beginnings}

    def wanted(headword: str) -> bool:
        word = text.folded(headword)
        if vocabulary.may_have(word) or word[:1] in letters:
            return True
        return " " in word and vocabulary.may_have_phrase(word)

    found: list[tuple[str, str, float]] = []
    for entry in dictionary.entries(wanted, jumps):
        translations = entry.translations
        for headword in entry.headwords:
            if len(entry.headwords) == 1 or wanted(headword):
                found += [(headword, translation, entry.weight) for translation in translations]
    if not found:
        return []
    first, second, weights = zip(*found, strict=True)
    return list(map(_Row, text.normalized(first), text.normalized(second), weights))


def _side_of_headwords(rows: Iterable[_Row], vocabularies: Sequence[_Vocabulary]) -> Side:
    """Return the side that has the headwords, where the other one has the translations of more of them."""
    source, target = (vocabulary.words for vocabulary in vocabularies)
    as_source = as_target = 0
    for headword, translation, _ in rows:
        as_source += headword in source and translation in target
        as_target += headword in target and translation in source
    return "target" if as_target > as_source else "source"


def _word_pairs(
    rows: Sequence[_Row],
    side: Side,
    vocabularies: Sequence[_Vocabulary],
    text: TextSettings,
    languages: Languages,
) -> dict[tuple[str, str], float]:
    """Return the weight of each pair of a source and a target word."""
    order = (0, 1) if side == "source" else (1, 0)  # the sides of headwords and of translations
    columns = [row.headword for row in rows], [row.translation for row in rows]
    phrases = [
        _content_words(_split_phrases(column, text, n, languages[n]))
        for n, column in zip(order, columns, strict=True)
    ]
    first, second = vocabularies[order[0]], vocabularies[order[1]]
    weights: dict[tuple[str, str], float] = {}
    for headword, translation, row in zip(*phrases, rows, strict=True):
        combinations = len(headword) * len(translation)
        if combinations > MAX_COMBINATIONS:
            continue
        for word in filter(first.may_have, headword):
            for other in filter(second.may_have, translation):
                pair = (word, other) if side == "source" else (other, word)
                weights[pair] = max(weights.get(pair, 0.0), row.weight / combinations)
    return weights


def _split_phrases(
    phrases: Sequence[str], text: TextSettings, side: int, language: str | None
) -> list[list[str]]:
    """Return the words of each phrase, split as those of the text."""
    if text.cuts_at_spaces:
        return [phrase.split() for phrase in phrases]
    tokens, lengths = text.tokens_of_lines(phrases, side, language)
    words, place, result = text.normalized(tokens), 0, []
    for length in lengths:
        result.append(words[place : place + length])
        place += length
    return result


def _content_words(phrases: Sequence[list[str]]) -> list[list[str]]:
    """Return the phrases of several words without function words, unless these are all that they have.

    Function words are those that many of these phrases have.
    """
    several = [words for words in phrases if len(words) > 1]
    counts = Counter(word for words in several for word in words)
    most = max(MIN_FUNCTION_WORD_COUNT, FUNCTION_WORD_SHARE * len(several))
    function_words = {word for word, count in counts.items() if count > most}
    result = []
    for words in phrases:
        content = [word for word in words if word not in function_words] if len(words) > 1 else words
        result.append(content or words)
    return result
