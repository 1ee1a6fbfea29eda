"""Prior counts from bilingual dictionaries: the word pairs whose words can occur in a text.

A word can occur if the text has it, or has the same lemma, or, in a small text, a word with the same first
letters: forms of a word share them.
Other entries are skipped as they are read. An entry of several words, such as *give up - renoncer*, counts
for each pair of their content words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from nmtalign.corpus.sides import EncodedSide
from nmtalign.dictionaries.entries import JumpCount, Wanted
from nmtalign.dictionaries.reading import Dictionary
from nmtalign.names import SIDES, Side
from nmtalign.scorers.dictionary_phrases import Phrase, is_phrase
from nmtalign.scorers.forms import short_words
from nmtalign.text.languages import language_name, lemmatizer
from nmtalign.text.tokenization import Languages, TextSettings

SHARED_PREFIX_LETTERS = 4  # a word of an entry and a word of the text have at least so many in common
SMALL_VOCABULARY = 8_000  # with more words on a side, words that share only their first letters are not used
MIN_PHRASE_SHARE = 0.5  # in a small text, a phrase is used if at least this share of its words occurs
MAX_PIVOT_WORDS = 100  # headwords, or translations, of a word of a third language
MAX_COMBINATIONS = 4  # content words of the headword times those of the translation
FUNCTION_WORD_SHARE = 0.01  # of the phrases with several words; content words are rarer
MIN_FUNCTION_WORD_COUNT = 20

WeightedWordPair = tuple[str, str, float]  # source word, target word, weight
WordPairWeights = dict[tuple[str, str], float]


class DictionaryPairs(NamedTuple):
    """The word pairs of dictionaries."""

    words: list[WeightedWordPair]
    compounds: list[WeightedWordPair]  # words of the text and translations of their parts
    phrases: list[Phrase]  # words whose translation has several words, and the other way round
    jumps: list[JumpCount]  # of those files of priors that have word pairs of the text


# a headword and a translation of it, in the form in which words are looked up, and a weight
_Row = tuple[str, str, float]
# by the codes of the languages of headwords and of translations, which are "" where the file names none
_RowsOfLanguages = dict[tuple[str, str], list[_Row]]
# codes of Wiktionary's translations for languages that `languages` may name by another code
_LANGUAGE_CODES = {"cmn": "zh", "nb": "no", "nn": "no", "hr": "sh", "sr": "sh", "bs": "sh"}


def dictionary_pairs(
    dictionaries: Iterable[Dictionary],
    sides: tuple[EncodedSide, EncodedSide],
    text_settings: TextSettings,
    languages: Languages = (None, None),
    *,
    bridges: Iterable[Dictionary] = (),
    headwords: Side | None = None,
    lemmas: Languages = (None, None),
    report: Callable[[str], None],
    warn: Callable[[str], None],
) -> DictionaryPairs:
    """Return the word pairs of dictionaries whose words can occur on the two sides of a text.

    The headwords of `bridges` are in a third language: the translations of a dictionary into this language
    are replaced by those of a bridge. `headwords` is the side whose language the other headwords are in; None
    finds it for each dictionary. `lemmas` are the languages of the lemmas that words of the text are counted
    under.
    """
    is_small = max(len(side.words) for side in sides) <= SMALL_VOCABULARY
    letters = SHARED_PREFIX_LETTERS if is_small else None
    both = zip(sides, lemmas, strict=True)
    vocabularies = [_Vocabulary.of(side.words[1:], letters, language) for side, language in both]
    collected = _CollectedPairs(sides, vocabularies, text_settings, languages)
    bridges = list(bridges)
    are_used = [False] * len(bridges)
    for dictionary in dictionaries:
        rows_of_languages, jumps = _wanted_rows(dictionary, vocabularies, text_settings, headwords)
        rows_of_sources = [(str(dictionary.path), _rows_of_text(rows_of_languages, languages, vocabularies))]
        rows = list(chain.from_iterable(rows_of_languages.values()))
        for number, bridge in enumerate(bridges):
            through = _rows_through(bridge, rows, vocabularies, text_settings)
            if through:
                are_used[number] = True
                rows_of_sources.append((f"{dictionary.path} through {bridge.path}", through))
        has_pairs = False
        for name, rows_of_source in rows_of_sources:
            side = headwords or _side_of_headwords(rows_of_source, vocabularies)
            pair_count = collected.add(rows_of_source, side)
            if not pair_count:
                continue
            has_pairs = True
            collected.add_jumps(jumps, side)
            with_jumps = f", {len(jumps):,} lines of jumps" if jumps else ""
            report(f"{name}: {pair_count:,} word pairs for this text, headwords of the {side}{with_jumps}")
            jumps = []
        if not has_pairs:
            problem = "no entry has words of both sides of the text"
            warn(f"{dictionary.path}: {problem}; {_question_about_languages(dictionary, languages)}")
    for bridge, is_used in zip(bridges, are_used, strict=True):
        if not is_used:
            expected = "expected headwords that are translations in a dictionary of `prior`"
            warn(f"{bridge.path}: {expected}, with translations of which the text has words; found none")
    return collected.pairs()


class _CollectedPairs:
    """The word pairs of all dictionaries so far."""

    def __init__(
        self,
        sides: tuple[EncodedSide, EncodedSide],
        vocabularies: Sequence[_Vocabulary],
        text_settings: TextSettings,
        languages: Languages,
    ) -> None:
        self._sides = sides
        self._vocabularies = vocabularies
        self._text_settings = text_settings
        self._languages = languages
        self._words: WordPairWeights = {}
        self._compounds: WordPairWeights = {}
        self._phrases: dict[Phrase, None] = {}
        self._jumps: list[JumpCount] = []

    def add(self, rows: Sequence[_Row], side: Side) -> int:
        """Add rows with headwords of a side, and return the number of their word pairs."""
        pairs, phrases = _word_pairs(rows, side, self._vocabularies, self._text_settings, self._languages)
        if pairs:
            self._phrases.update(dict.fromkeys(phrases))
        for n in (0, 1):
            if self._vocabularies[n].parts:
                self._compounds.update(_pairs_of_compounds(pairs, n, self._sides[n].words[1:]))
        for pair, weight in pairs.items():
            self._words[pair] = self._words.get(pair, 0.0) + weight
        return len(pairs)

    def add_jumps(self, jumps: Sequence[JumpCount], side: Side) -> None:
        """Add the jumps of a file with headwords of a side."""
        self._jumps += jumps if side == "source" else map(_swapped, jumps)

    def pairs(self) -> DictionaryPairs:
        """Return the word pairs; one that a dictionary has itself is not a compound."""
        for pair in self._compounds.keys() & self._words.keys():
            del self._compounds[pair]
        words, compounds = _as_list(self._words), _as_list(self._compounds)
        return DictionaryPairs(words, compounds, list(self._phrases), self._jumps)


_MAX_LISTED_LANGUAGES = 5  # translations in Wiktionary may be into hundreds


def _question_about_languages(dictionary: Dictionary, languages: Languages) -> str:
    """Return a question with the languages that a dictionary names, and those of the text."""
    headwords, translations = map(_list_languages, dictionary.named_languages())
    if not headwords and not translations:
        return "is the dictionary for these languages?"
    named = f"{headwords or 'unnamed languages'} with translations into {translations or 'unnamed languages'}"
    of_text = " and ".join(language_name(language) for language in languages if language)
    return f"the dictionary has {named}; is it for these languages{f', {of_text}' if of_text else ''}?"


def _list_languages(languages: Sequence[str]) -> str:
    names = list(dict.fromkeys(map(language_name, languages)))
    more = ["..."] if len(names) > _MAX_LISTED_LANGUAGES else []
    return ", ".join(names[:_MAX_LISTED_LANGUAGES] + more)


def _as_list(weights: WordPairWeights) -> list[WeightedWordPair]:
    return [(source, target, weight) for (source, target), weight in weights.items()]


def _swapped(jump: JumpCount) -> JumpCount:
    """Return a jump of a file whose first words are those of the target."""
    return jump._replace(side="target" if jump.side == "source" else "source")


@dataclass(frozen=True)
class _Vocabulary:
    """The words of one side or of both, their lemmas and their first letters.

    In a large text, the words of a dictionary occur themselves, and relatives of them add little. Then
    `letters` is None, and `beginnings` are whole words. In a small text in a script without spaces, headwords
    may also be `parts` of words.
    """

    words: Set[str]
    letters: int | None
    beginnings: Set[str]
    lemmas: Set[str]
    parts: Set[str]

    @classmethod
    def of(cls, words: Sequence[str], letters: int | None, language: str | None) -> _Vocabulary:
        """Return the vocabulary of a side; `language` is that of its lemmas."""
        has_parts = letters is not None and short_words(words)
        return cls(
            words=set(words),
            letters=letters,
            beginnings={word[:letters] for word in words},
            lemmas=set() if language is None else set(map(lemmatizer(language), words)),
            parts=possible_parts(words) if has_parts else set(),
        )

    def __or__(self, other: _Vocabulary) -> _Vocabulary:
        return _Vocabulary(
            words=self.words | other.words,
            letters=self.letters,
            beginnings=self.beginnings | other.beginnings,
            lemmas=self.lemmas | other.lemmas,
            parts=self.parts | other.parts,
        )

    def possible(self, words: Collection[str]) -> set[str]:
        """Return those words of which the text may have a form."""
        letters, beginnings, others = self.letters, self.beginnings, self._whole_words
        return {word for word in words if word[:letters] in beginnings or word in others}

    def has(self, word: str) -> bool:
        """Return whether the text has a word, or a word of this lemma."""
        return word in self.words or word in self.lemmas

    @cached_property
    def _whole_words(self) -> Set[str]:
        return self.lemmas | self.parts

    def possible_phrases(self, phrases: Sequence[str]) -> set[str]:
        """Return those words and phrases that the text may have.

        A small text may lack half of the words of a phrase, a large one none of them.
        """
        result = self.possible(phrases)
        several = {phrase: phrase.split() for phrase in phrases if " " in phrase}
        possible = self.possible(set(chain.from_iterable(several.values())))
        share = 1.0 if self.letters is None else MIN_PHRASE_SHARE
        for phrase, words in several.items():
            if len(possible.intersection(words)) >= share * len(set(words)):
                result.add(phrase)
        return result


def _wanted_rows(
    dictionary: Dictionary,
    vocabularies: Sequence[_Vocabulary],
    text_settings: TextSettings,
    side: Side | None,
) -> tuple[_RowsOfLanguages, list[JumpCount]]:
    """Return the translations of those headwords that may occur on a side of the text, or on any; jumps."""
    both_sides = vocabularies[0] | vocabularies[1]
    vocabulary = both_sides if side is None else vocabularies[SIDES.index(side)]
    # a tokenizer may split the headword, so that only its first letter is sure to begin a word
    letters = set() if text_settings.cuts_at_spaces else {word[:1] for word in vocabulary.beginnings}

    def wanted(candidates: Collection[str]) -> set[str]:
        candidates = list(filter(None, candidates))
        words = text_settings.normalized(candidates)
        possible = vocabulary.possible_phrases(words)
        if letters:
            possible |= {word for word in words if word[0] in letters}
        return {given for given, word in zip(candidates, words, strict=True) if word in possible}

    return _normalized_rows(dictionary, wanted, text_settings)


def _normalized_rows(
    dictionary: Dictionary, wanted: Wanted, text_settings: TextSettings
) -> tuple[_RowsOfLanguages, list[JumpCount]]:
    """Return the translations of wanted headwords, and the jumps of the dictionary."""
    jumps: list[JumpCount] = []
    names: list[tuple[str, str]] = []  # of the languages of each row
    headwords: list[str] = []
    translations: list[str] = []
    weights: list[float] = []
    for entry in dictionary.entries(wanted, jumps):
        chosen = entry.headwords
        if len(chosen) > 1:
            are_wanted = wanted(chosen)
            chosen = [headword for headword in chosen if headword in are_wanted]
        glosses = entry.glosses
        for headword in chosen:
            names += [(entry.language, language) for language in entry.languages or [""] * len(glosses)]
            headwords += [headword] * len(glosses)
            translations += glosses
            weights += [entry.weight] * len(glosses)
    rows = zip(
        text_settings.normalized(headwords), text_settings.normalized(translations), weights, strict=True
    )
    rows_of_languages: _RowsOfLanguages = {}
    for name, row in zip(names, rows, strict=True):
        rows_of_languages.setdefault(name, []).append(row)
    return rows_of_languages, jumps


def _rows_of_text(
    rows: _RowsOfLanguages, languages: Languages, vocabularies: Sequence[_Vocabulary]
) -> list[_Row]:
    """Return the rows in the languages of the text, so that no German word is taken for a French one.

    These are the given languages, if the dictionary has them, or those of most rows with words of the text.
    """
    if not any(any(names) for names in rows):
        return rows.get(("", ""), [])
    chosen = []
    if all(languages):
        given = {_same_code(language) for language in languages if language}
        chosen = [names for names in rows if {_same_code(name) for name in names if name} <= given]
    if not any(any(names) for names in chosen):
        best = max(rows, key=lambda names: max(_rows_by_side(rows[names], vocabularies)))
        chosen = [best]
    return list(chain.from_iterable(rows[names] for names in chosen))


def _same_code(language: str) -> str:
    """Return one code for those of a language that have several, without its region."""
    code = language.replace("_", "-").partition("-")[0].lower()
    return _LANGUAGE_CODES.get(code, code)


def _rows_through(
    bridge: Dictionary, rows: Sequence[_Row], vocabularies: Sequence[_Vocabulary], text_settings: TextSettings
) -> list[_Row]:
    """Return rows whose translations are replaced by those that a bridge has for them.

    Words of the third language with many headwords or translations are skipped: they say little.
    """
    weights_of_pivots: dict[str, dict[str, float]] = {}
    for headword, pivot, weight in rows:
        weights = weights_of_pivots.setdefault(pivot, {})
        weights[headword] = max(weights.get(headword, 0.0), weight)

    def wanted(candidates: Collection[str]) -> set[str]:
        candidates = list(filter(None, candidates))
        words = text_settings.normalized(candidates)
        return {given for given, word in zip(candidates, words, strict=True) if word in weights_of_pivots}

    rows_of_languages, _ = _normalized_rows(bridge, wanted, text_settings)
    rows_of_bridge = [
        row for row in chain.from_iterable(rows_of_languages.values()) if row[0] in weights_of_pivots
    ]
    vocabulary = vocabularies[0] | vocabularies[1]
    possible = vocabulary.possible_phrases(list({translation for _, translation, _ in rows_of_bridge}))
    translation_counts = Counter(pivot for pivot, _, _ in rows_of_bridge)
    result: WordPairWeights = {}
    for pivot, translation, weight in rows_of_bridge:
        weights = weights_of_pivots[pivot]
        if max(len(weights), translation_counts[pivot]) > MAX_PIVOT_WORDS or translation not in possible:
            continue
        for headword, first_weight in weights.items():
            pair = headword, translation
            result[pair] = max(result.get(pair, 0.0), first_weight * weight)
    return [(headword, translation, weight) for (headword, translation), weight in result.items()]


def _side_of_headwords(rows: Iterable[_Row], vocabularies: Sequence[_Vocabulary]) -> Side:
    """Return the side that has the headwords, where the other one has the translations of more of them."""
    as_source, as_target = _rows_by_side(rows, vocabularies)
    return "target" if as_target > as_source else "source"


def _rows_by_side(rows: Iterable[_Row], vocabularies: Sequence[_Vocabulary]) -> tuple[int, int]:
    """Return how many rows are pairs of words of the text, with headwords of the source or the target."""
    source, target = (vocabulary.words for vocabulary in vocabularies)
    as_source = as_target = 0
    for headword, translation, _ in rows:
        as_source += headword in source and translation in target
        as_target += headword in target and translation in source
    return as_source, as_target


def _word_pairs(
    rows: Sequence[_Row],
    side: Side,
    vocabularies: Sequence[_Vocabulary],
    text_settings: TextSettings,
    languages: Languages,
) -> tuple[WordPairWeights, list[Phrase]]:
    """Return the weight of each pair of a source and a target word, and the phrases."""
    order = (0, 1) if side == "source" else (1, 0)  # the sides of headwords and of translations
    columns = [headword for headword, _, _ in rows], [translation for _, translation, _ in rows]
    headwords, translations = (
        _content_phrases(column, text_settings, n, languages[n], vocabularies[n])
        for n, column in zip(order, columns, strict=True)
    )
    weights: WordPairWeights = {}
    phrases = []
    for headword, translation, weight in rows:
        if headword not in headwords or translation not in translations:
            continue
        first, second = headwords[headword], translations[translation]
        if is_phrase(first.all_words, second.all_words) and first.is_whole and second.is_whole:
            texts = " ".join(first.all_words), " ".join(second.all_words)
            phrases.append(texts if side == "source" else texts[::-1])
        combinations = first.size * second.size
        if combinations > MAX_COMBINATIONS:
            continue
        for word in first.words:
            for other in second.words:
                pair = (word, other) if side == "source" else (other, word)
                weights[pair] = max(weights.get(pair, 0.0), weight / combinations)
    return weights, phrases


def _pairs_of_compounds(pairs: WordPairWeights, side: int, words: Sequence[str]) -> WordPairWeights:
    """Return the words of a side with the translations of their parts."""
    translations: dict[str, list[tuple[str, float]]] = {}
    for pair, weight in pairs.items():
        translations.setdefault(pair[side], []).append((pair[1 - side], weight))
    result: WordPairWeights = {}
    for word, translation, weight in translations_of_parts(words, translations):
        pair = (word, translation) if side == 0 else (translation, word)
        result[pair] = max(result.get(pair, 0.0), weight)
    return result


def _split_phrases(
    phrases: Sequence[str], text_settings: TextSettings, side: int, language: str | None
) -> list[list[str]]:
    """Return the words of each phrase, split as those of the text."""
    if text_settings.cuts_at_spaces:
        return [phrase.split() for phrase in phrases]
    tokens, lengths = text_settings.tokens_of_lines(phrases, side, language)
    words, place, result = text_settings.normalized(tokens), 0, []
    for length in lengths:
        result.append(words[place : place + length])
        place += length
    return result


class _Phrase(NamedTuple):
    """The content words of a headword or a translation."""

    size: int  # number of content words
    words: list[str]  # content words that the text may have
    all_words: list[str]  # all words of the phrase: function words, and words that the text lacks, included
    is_whole: bool  # whether each content word is a word of the text, or a lemma of one


def _content_phrases(
    column: Sequence[str],
    text_settings: TextSettings,
    side: int,
    language: str | None,
    vocabulary: _Vocabulary,
) -> dict[str, _Phrase]:
    """Return the content words of each phrase of a column; function words, if these are all that it has.

    Function words are those that many of the rows with several words have. Phrases of which the text cannot
    have a word are skipped.
    """
    result = {}
    phrases = list(dict.fromkeys(column))
    if text_settings.cuts_at_spaces:
        words = [phrase for phrase in phrases if " " not in phrase]
        for word in vocabulary.possible(words):
            result[word] = _Phrase(1, [word], [word], vocabulary.has(word))
        phrases = [phrase for phrase in phrases if " " in phrase]
    split = _split_phrases(phrases, text_settings, side, language)
    words_of = dict(zip(phrases, split, strict=True))
    several = [words_of[phrase] for phrase in column if len(words_of.get(phrase, ())) > 1]
    counts = Counter(chain.from_iterable(several))
    most = max(MIN_FUNCTION_WORD_COUNT, FUNCTION_WORD_SHARE * len(several))
    function_words = {word for word, count in counts.items() if count > most}
    possible = vocabulary.possible(set(chain.from_iterable(split)))
    for phrase, words in words_of.items():
        if possible.isdisjoint(words):
            continue
        content = words
        if len(words) > 1:
            content = [word for word in words if word not in function_words] or words
        found = [word for word in content if word in possible]
        result[phrase] = _Phrase(len(content), found, words, all(map(vocabulary.has, words)))
    return result


# --- parts of words ------------------------------------------------------------------------------
# In scripts without spaces, a dictionary often lacks a word such as 电脑公司, but has its parts.

MAX_PART_CHARS = 6
MAX_WHOLE_CHARS = 30  # longer words are not split, so that their parts do not take much memory
PART_WEIGHT = 0.5  # multiplied by the part's share of the letters of the word

Translations = Mapping[str, Sequence[tuple[str, float]]]  # translations of each word, with their weights


def possible_parts(words: Iterable[str]) -> set[str]:
    """Return the parts that words may be split into.

    >>> sorted(possible_parts(["abc"]))
    ['a', 'ab', 'b', 'bc', 'c']
    """
    parts = set()
    for word in words:
        if len(word) > MAX_WHOLE_CHARS:
            continue
        for start in range(len(word)):
            for end in _ends_of_parts(word, start):
                parts.add(word[start:end])
    return parts


def _ends_of_parts(word: str, start: int) -> range:
    """Return the ends of the parts that begin at `start`, the farthest one first."""
    farthest = min(start + MAX_PART_CHARS, len(word) if start else len(word) - 1)
    return range(farthest, start, -1)


def known_parts(word: str, known: Translations) -> list[str]:
    """Return the parts of a word that have translations: from the left, the longest one each time.

    >>> known_parts("abcd", {"ab": [], "abcd": [], "bcd": [], "d": []})
    ['ab', 'd']
    """
    parts: list[str] = []
    start = 0
    if len(word) > MAX_WHOLE_CHARS:
        return parts
    while start < len(word):
        candidates = [word[start:end] for end in _ends_of_parts(word, start)]
        part = next((candidate for candidate in candidates if candidate in known), "")
        if part:
            parts.append(part)
        start += len(part) or 1
    return parts


def translations_of_parts(
    words: Iterable[str], translations: Translations
) -> Iterator[tuple[str, str, float]]:
    """Yield words with the translations of their parts, and weights.

    >>> list(translations_of_parts(["abc"], {"ab": [("x", 1.0)]}))
    [('abc', 'x', 0.3333333333333333)]
    """
    for word in words:
        for part in known_parts(word, translations):
            share = len(part) / len(word)
            for translation, weight in translations[part]:
                yield word, translation, PART_WEIGHT * share * weight
