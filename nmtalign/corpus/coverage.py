"""Coverage: the share of the words of a text that vocabularies know, to detect wrong languages.

Names, numbers and punctuation do not identify a language. So words without a letter are not counted, nor are
names: words that are in neither vocabulary and occur on both sides. With word vectors, all words are counted,
because a word needs a vector to be linked.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from operator import add
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Longs, offsets_of
from nmtalign.corpus.sections import Sections, whole_pairs
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText
from nmtalign.names import SIDES, Side

MIN_PAIRS = 50  # pairs needed for statistics of pairs
MIN_KNOWN_RATE = (
    0.45  # share of known words, below it the language is likely wrong (scripts/measure_coverage.py)
)
MAX_PUNCTUATED_RATE = 0.04  # share of words that end in punctuation: at most .02 if tokenized, .07 if raw
_SWAPPED = (
    "the sides seem to be swapped: the target vocabulary knows more of the source words, and vice versa;"
    " exchange SOURCE and TARGET (or `languages`)"
)
_CAUSES = (
    "so the links are guesses: learn a model of these languages (nmtalign train; a dictionary helps if the"
    " text is small), or check that languages, tokens and case of the text fit the model or the vectors"
)
_PUNCTUATION = (
    r",.;:!?\u060c\u061f\u0964\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"  # also Arabic, Hindi, Chinese
)
# Letters of Thai, Lao, Burmese, Khmer, Chinese and Japanese, which are written without spaces
find_spaceless_letter = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
).search
ends_in_punctuation = re.compile(rf"\w[{_PUNCTUATION}]$").search


class SideCoverage(NamedTuple):
    """Words of one side of a text."""

    total: int = 0
    known: int = 0  # words in the vocabulary of this side
    in_other: int = 0  # words in the vocabulary of the other side
    punctuated: int = 0  # unknown words that end in punctuation

    @property
    def rate(self) -> float:
        """Fraction of known words; 1.0 if no word was counted."""
        return self.known / self.total if self.total else 1.0

    def joined(self, other: SideCoverage) -> SideCoverage:
        """Return the counts of two texts together."""
        return SideCoverage(*map(add, self, other))


class Coverage(NamedTuple):
    """Words of both sides of a text."""

    source: SideCoverage = SideCoverage()
    target: SideCoverage = SideCoverage()
    pairs: int = 0
    copies: int = 0  # pairs with the same words on both sides

    def joined(self, other: Coverage) -> Coverage:
        """Return the counts of two texts together."""
        return Coverage(
            source=self.source.joined(other.source),
            target=self.target.joined(other.target),
            pairs=self.pairs + other.pairs,
            copies=self.copies + other.copies,
        )

    @property
    def swapped(self) -> bool:
        """Whether each side is better known, and well enough, to the vocabulary of the other side."""
        for side in (self.source, self.target):
            if side.in_other <= max(side.known, MIN_KNOWN_RATE * side.total):
                return False
        return True

    @property
    def warning(self) -> str:
        """A warning if the links are unreliable: copies, swapped sides, raw text, few known words."""
        if self.copies > self.pairs / 2 and self.pairs >= MIN_PAIRS:
            copies = f"{self.copies:,} of {self.pairs:,} pairs have the same words on both sides"
            return f"{copies}; is one file given twice?"
        if self.swapped:
            return _SWAPPED
        both_sides = (self.source, self.target)
        if all(side.punctuated > MAX_PUNCTUATED_RATE * side.total for side in both_sides):
            return "unknown words end in punctuation; tokenize raw text with `tokenizer=simple`"
        return f"{self.low_rates} are known, {_CAUSES}" if self.low_rates else ""

    @property
    def low_rates(self) -> str:
        """The shares of known words of the sides of which too few are known, in words."""
        rates = zip(SIDES, (self.source.rate, self.target.rate), strict=True)
        low_rates = [(name, rate) for name, rate in rates if rate < MIN_KNOWN_RATE]
        return " and ".join(f"only {100 * rate:.1f} % of the {name} words" for name, rate in low_rates)


def _words_with_letters(side: EncodedSide) -> Flags:
    """Return which words of a side contain a letter, shape (V,)."""
    return side.memo(
        "lettered",
        lambda: np.array([word.isalpha() or any(map(str.isalpha, word)) for word in side.words]),
    )


def measure_coverage(
    source: EncodedSide,
    target: EncodedSide,
    vocabularies: tuple[Container[str], Container[str]],
    sections: Sections | None = None,
    *,
    every_word: bool = False,
) -> Coverage:
    """Count the words of a text that a source and a target vocabulary know.

    If `sections` are given, the sentences are sections of pairs; otherwise each sentence is a pair. With
    `every_word`, names, numbers and punctuation are counted, too.
    """
    source_vocabulary, target_vocabulary = vocabularies
    source_words: Container[str] = () if every_word else set(source.words)
    target_words: Container[str] = () if every_word else set(target.words)
    source_coverage = _count_side(source, target_words, source_vocabulary, target_vocabulary, every_word)
    target_coverage = _count_side(target, source_words, target_vocabulary, source_vocabulary, every_word)
    is_copy = are_copies(source, target)
    if sections is None:
        sections = whole_pairs(source, target)
    is_copied_pair = np.ones(sections.pair_count, bool)
    is_copied_pair[sections.pair_of_section[~is_copy]] = False  # pairs with a section whose sides differ
    copy_count = int(is_copied_pair.sum())
    return Coverage(source_coverage, target_coverage, sections.pair_count, copy_count)


def are_copies(source: EncodedSide, target: EncodedSide) -> Flags:
    """Return which sentences (N,) have words, the same on both sides."""
    number = {word: k for k, word in enumerate(source.words)}
    # (V,): the source word that is equal to each target word, or -1
    source_number = np.array([number.get(word, -1) for word in target.words], np.int64)
    candidates = np.flatnonzero((source.lengths == target.lengths) & (source.lengths > 0))
    # Most sentences that differ do so in the first or in the last word, which are compared first.
    first_words = source.tokens[source.offsets[:-1][candidates]]
    first_target_words = target.tokens[target.offsets[:-1][candidates]]
    candidates = candidates[first_words == source_number[first_target_words]]
    last_words = source.tokens[source.offsets[1:][candidates] - 1]
    last_target_words = target.tokens[target.offsets[1:][candidates] - 1]
    candidates = candidates[last_words == source_number[last_target_words]]
    is_copy = np.zeros(len(source.lengths), bool)
    for k in candidates.tolist():
        is_copy[k] = source.sentence(k) == target.sentence(k)
    return is_copy


def _count_side(
    side: EncodedSide,
    other_words: Container[str],
    vocabulary: Container[str],
    other_vocabulary: Container[str],
    every_word: bool,
) -> SideCoverage:
    """Count the words of one side; `other_words` and `other_vocabulary` are those of the other side."""
    total = known = in_other = punctuated = 0
    has_letters = _words_with_letters(side).tolist()
    for word, count, has_letter in zip(side.words, side.counts.tolist(), has_letters, strict=True):
        is_known = word in vocabulary
        is_in_other = word in other_vocabulary
        is_name = not (is_known or is_in_other) and word in other_words
        if every_word or (has_letter and not is_name):
            total += count
            known += count * is_known
            in_other += count * is_in_other
            punctuated += count * (not is_known and ends_in_punctuation(word) is not None)
    return SideCoverage(total, known, in_other, punctuated)


def one_word_lines_warning(text: EncodedText) -> str | None:
    """Return a warning if a side is written without spaces, so that most lines are one word; else None."""
    if text.line_words is None:
        return None
    for name, side, words in zip(SIDES, (text.source, text.target), text.line_words, strict=True):
        line_lengths = np.diff(words.offsets)
        last_tokens = words.offsets[1:][line_lengths > 0] - 1
        is_one_word = words.first[last_tokens] == 0
        spaceless = [k for k, word in enumerate(side.words) if find_spaceless_letter(word)]
        most_lines_are_one_word = 2 * np.count_nonzero(is_one_word) > len(is_one_word)
        most_words_are_spaceless = 2 * side.counts[spaceless].sum() > side.counts.sum()
        if most_lines_are_one_word and most_words_are_spaceless:
            return (
                f"the {name} is written without spaces, so most of its lines count as one word;"
                " `--tokenizer icu` finds words, and `--tokens PREFIX` writes tokens, and links between them"
            )
    return None


MAX_LETTERS_OF_WORDS = 4.0  # on the mean; phrases between spaces are longer in scripts without spaces


def split_side(pairs: Sequence[tuple[str, str]]) -> Side | None:
    """Return the side in a script without spaces whose lines are split into words by spaces, if there is one.

    >>> split_side([("red tea", "紅茶 。"), ("I see a cat", "猫 が 見え ます 。")])
    'target'
    >>> split_side([("red tea", "紅茶。"), ("I see a cat", "猫が見えます。")])
    """
    for name, lines in zip(SIDES, zip(*pairs, strict=True), strict=False):
        words = [word for line in lines for word in line.split()]
        spaceless = [word for word in words if find_spaceless_letter(word)]
        are_most_spaceless = 2 * len(spaceless) > len(words)
        are_short = sum(map(len, spaceless)) < MAX_LETTERS_OF_WORDS * len(spaceless)
        if are_most_spaceless and are_short and len(words) >= 2 * len(lines):
            return name
    return None


def foreign_pairs(text: EncodedText, vocabularies: tuple[Container[str], Container[str]]) -> Flags:
    """Return for which pairs (N,) a side has words with letters, but none in its vocabulary.

    Unknown words that both sides of a pair have are taken for names and not counted.
    """
    foreign = _foreign_side(text, text.source, text.target, vocabularies[0])
    return foreign | _foreign_side(text, text.target, text.source, vocabularies[1])


MIN_SWAPPED_WORDS = 2  # words on each side that only the vocabulary of the other side has


def swapped_pairs(text: EncodedText, vocabularies: tuple[Container[str], Container[str]]) -> Flags:
    """Return for which pairs (N,) both sides have words of the other side's vocabulary, few of their own."""
    source_is_other = _side_in_other_language(text, text.source, vocabularies)
    target_is_other = _side_in_other_language(text, text.target, vocabularies[::-1])
    return source_is_other & target_is_other


def _side_in_other_language(
    text: EncodedText, side: EncodedSide, vocabularies: tuple[Container[str], Container[str]]
) -> Flags:
    """Return for which pairs (N,) a side has several words that only the second vocabulary has."""
    own = np.fromiter(map(vocabularies[0].__contains__, side.words), bool, len(side.words))
    other = np.fromiter(map(vocabularies[1].__contains__, side.words), bool, len(side.words))
    has_letter = _words_with_letters(side)
    own_count = _count_in_pairs(text, side, own & ~other & has_letter)
    other_count = _count_in_pairs(text, side, other & ~own & has_letter)
    return np.asarray((other_count >= MIN_SWAPPED_WORDS) & (other_count > 3 * own_count))


def _count_in_pairs(text: EncodedText, side: EncodedSide, is_chosen: Flags) -> Longs:
    """Return how many of the chosen words (V,) each pair (N,) has."""
    chosen_before = offsets_of(is_chosen[side.tokens])  # number of chosen tokens before each token
    counts = np.diff(chosen_before[side.offsets])
    sections = text.sections
    return np.bincount(sections.pair_of_section, counts, sections.pair_count).astype(np.int64)


def mean_by_pair(text: EncodedText, side: EncodedSide, values: Doubles) -> Doubles:
    """Return the mean of the values (V,) of the words of one side for each pair (N,); 0 without words."""
    pair = np.repeat(text.sections.pair_of_section, side.lengths)
    sums = np.bincount(pair, values[side.tokens], text.sections.pair_count)
    counts = np.bincount(pair, minlength=text.sections.pair_count)
    return np.asarray(sums / np.maximum(counts, 1))


def _foreign_side(
    text: EncodedText, side: EncodedSide, other: EncodedSide, vocabulary: Container[str]
) -> Flags:
    """Return for which pairs one side has words, but none in its vocabulary."""
    has_letter = _words_with_letters(side)
    is_known = np.fromiter(map(vocabulary.__contains__, side.words), bool, len(side.words))
    pair_of_section = text.sections.pair_of_section
    is_foreign = _count_in_pairs(text, side, has_letter & ~is_known) > 0
    is_foreign &= _count_in_pairs(text, side, has_letter & is_known) == 0
    pairs = np.flatnonzero(is_foreign)
    starts = np.searchsorted(pair_of_section, pairs)
    stops = np.searchsorted(pair_of_section, pairs + 1)
    for pair, start, stop in zip(pairs, starts, stops, strict=True):
        words = _words_of_sentences(side, start, stop)
        words_with_letters = {word for word in words if any(map(str.isalpha, word))}
        is_foreign[pair] = not words_with_letters.issubset(_words_of_sentences(other, start, stop))
    return is_foreign


def _words_of_sentences(side: EncodedSide, start: int, stop: int) -> list[str]:
    """Return the words of the sentences from `start` to ``stop - 1`` of a side."""
    return [side.words[k] for k in side.tokens[side.offsets[start] : side.offsets[stop]].tolist()]
