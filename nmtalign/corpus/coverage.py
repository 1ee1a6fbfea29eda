"""Coverage: the share of the words of a text that vocabularies know, to detect wrong languages.

Names, numbers and signs say nothing about a language. Not counted are words without a letter, and words that
no vocabulary holds and both sides of the text do. Where a word needs a vector to be linked, all words count.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Flags, offsets_of
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, Segments
from nmtalign.names import SIDES

FEWEST = 50  # pairs needed for statistics of pairs
FEW_KNOWN = 0.45  # share of known words, below it the language is likely wrong (scripts/measure_coverage.py)
UNTOKENIZED = 0.04  # share of words that end in punctuation: at most .02 if tokenized, .07 if raw
_SWAPPED = (
    "the sides are swapped: more source words are known as target words, and target words as source words;"
    " give source and target (or `languages`) the other way round"
)
_CAUSES = (
    "so the links are guesses: learn a model of these languages (nmtalign train; a dictionary as `prior`"
    " helps if the text is small), or check the model or"
    " vectors, `tokenizer`, `lowercase` and `unicode`"
)
_MARKS = r",.;:!?\u060c\u061f\u0964\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"  # also Arabic, Hindi, Chinese
# Letters of Thai, Lao, Burmese, Khmer, Chinese and Japanese, which are written without spaces
spaceless = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
).search
ends_in_punctuation = re.compile(rf"\w[{_MARKS}]$").search


class SideCoverage(NamedTuple):
    """Words of one side of a text."""

    total: int = 0
    known: int = 0  # in the vocabulary of the side
    in_other: int = 0  # in the vocabulary of the other side
    punctuated: int = 0  # unknown, and ending in punctuation

    @property
    def rate(self) -> float:
        """Share of known words; 1.0 where no word was counted."""
        return self.known / self.total if self.total else 1.0


class Coverage(NamedTuple):
    """Words of both sides of a text."""

    source: SideCoverage = SideCoverage()
    target: SideCoverage = SideCoverage()
    pairs: int = 0
    copies: int = 0  # pairs with the same words on both sides

    def joined(self, other: Coverage) -> Coverage:
        """Return the counts of two texts together."""
        sides = zip(self[:2], other[:2], strict=True)
        source, target = (SideCoverage(*map(int.__add__, *both)) for both in sides)
        return Coverage(source, target, self.pairs + other.pairs, self.copies + other.copies)

    @property
    def swapped(self) -> bool:
        """Whether each side is better known, and well enough, to the vocabulary of the other side."""
        return all(side.in_other > max(side.known, FEW_KNOWN * side.total) for side in self[:2])

    @property
    def warning(self) -> str:
        """A warning where links are not to be trusted: copies, swapped sides, raw text, few known words."""
        if self.copies > self.pairs / 2 and self.pairs >= FEWEST:
            copies = f"{self.copies:,} of {self.pairs:,} pairs have the same words on both sides"
            return f"{copies}; is one file given twice?"
        if self.swapped:
            return _SWAPPED
        if all(side.punctuated > UNTOKENIZED * side.total for side in self[:2]):
            return "unknown words end in punctuation: cut raw text with `tokenizer=simple`"
        sides = zip(SIDES, self[:2], strict=True)
        rates = [(name, side.rate) for name, side in sides if side.rate < FEW_KNOWN]
        few = [f"only {100 * rate:.1f} % of the {name} words" for name, rate in rates]
        return f"{' and '.join(few)} are known, {_CAUSES}" if few else ""


def _lettered(side: EncodedSide) -> Flags:
    """Tell which words of a side (V,) have a letter."""
    return side.memo(
        "lettered",
        lambda: np.array([word.isalpha() or any(map(str.isalpha, word)) for word in side.words]),
    )


def coverage(
    source: EncodedSide,
    target: EncodedSide,
    vocabularies: tuple[Container[str], Container[str]],
    segments: Segments | None = None,
    *,
    every_word: bool = False,
) -> Coverage:
    """Count the words of a text that a source and a target vocabulary know.

    The `segments` say of which pairs the sentences are pieces; without them each sentence is a pair. With
    `every_word`, names, numbers and signs count like all others.
    """
    elsewhere: tuple[Container[str], Container[str]] = (), ()
    if not every_word:
        elsewhere = set(target.words), set(source.words)
    known = (
        _counted(source, elsewhere[0], *vocabularies, every_word),
        _counted(target, elsewhere[1], *vocabularies[::-1], every_word),
    )
    copied = _are_copies(source, target)
    if segments is None:
        return Coverage(*known, len(copied), int(copied.sum()))
    others = np.unique(segments.pair[~copied])  # pairs with a piece whose sides differ
    return Coverage(*known, segments.pairs, segments.pairs - len(others))


def copies(source: EncodedSide, target: EncodedSide) -> int:
    """Count the sentences with words that are the same on both sides."""
    return int(_are_copies(source, target).sum())


def _are_copies(source: EncodedSide, target: EncodedSide) -> Flags:
    """Tell which sentences (N,) have words, the same on both sides."""
    number = {word: k for k, word in enumerate(source.words)}
    same = np.array([number.get(word, -1) for word in target.words], np.int64)
    alike = np.flatnonzero((source.lengths == target.lengths) & (source.lengths > 0))
    for ends, last in ((slice(-1), 0), (slice(1, None), 1)):  # most that differ do so in first or last word
        s, t = (side.tokens[side.offsets[ends][alike] - last] for side in (source, target))
        alike = alike[s == same[t]]
    copied = np.zeros(len(source.lengths), bool)
    copied[[k for k in alike.tolist() if source.sentence(k) == target.sentence(k)]] = True
    return copied


def _counted(
    side: EncodedSide,
    elsewhere: Container[str],
    vocabulary: Container[str],
    other: Container[str],
    every_word: bool,
) -> SideCoverage:
    """Count the words of one side; `elsewhere` are those of the other one, `other` is its vocabulary."""
    total = known = in_other = punctuated = 0
    for word, count, lettered in zip(side.words, side.counts.tolist(), _lettered(side), strict=True):
        is_known, is_in_other = word in vocabulary, word in other
        if every_word or (lettered and (is_known or is_in_other or word not in elsewhere)):
            total += count
            known += count * is_known
            in_other += count * is_in_other
            punctuated += count * (not is_known and ends_in_punctuation(word) is not None)
    return SideCoverage(total, known, in_other, punctuated)


def one_word_lines(text: EncodedText) -> str | None:
    """Say which side is written without spaces, so that a line is one word to links; None where none is."""
    for name, side, words in zip(SIDES, (text.source, text.target), text.line_words or (), strict=False):
        last = words.numbers[words.offsets[1:][np.diff(words.offsets) > 0] - 1]
        places = [k for k, word in enumerate(side.words) if spaceless(word)]
        if 2 * np.count_nonzero(last == 0) > len(last) and 2 * side.counts[places].sum() > side.counts.sum():
            return (
                f"the {name} is written without spaces, and links count the words between spaces, so most"
                " lines are one word; `align --tokens PREFIX` writes tokens, and links that count these"
            )
    return None


def foreign_pairs(text: EncodedText, vocabularies: tuple[Container[str], Container[str]]) -> Flags:
    """Tell of which pairs (N,) a side has words with letters, and its vocabulary knows none of them.

    Words that both sides of the pair have are names, and not counted where they are unknown.
    """
    foreign = _foreign(text, text.source, text.target, vocabularies[0])
    return foreign | _foreign(text, text.target, text.source, vocabularies[1])


def _foreign(text: EncodedText, side: EncodedSide, other: EncodedSide, vocabulary: Container[str]) -> Flags:
    """Tell of which pairs one side has words, and none that is known."""
    lettered, pair_of_piece = _lettered(side), text.segments.pair
    known = np.fromiter(map(vocabulary.__contains__, side.words), bool, len(side.words))
    foreign = np.zeros(text.segments.pairs, bool)
    for chosen, value in ((lettered & ~known, True), (lettered & known, False)):
        pieces = np.diff(offsets_of(chosen[side.tokens])[side.offsets]) > 0  # with some of these words
        foreign[pair_of_piece[pieces]] = value
    pairs = np.flatnonzero(foreign)
    bounds = np.searchsorted(pair_of_piece, [pairs, pairs + 1])
    for pair, first, last in zip(pairs, *bounds, strict=True):
        strange = {word for word in _words(side, first, last) if any(map(str.isalpha, word))}
        foreign[pair] = not strange.issubset(_words(other, first, last))
    return foreign


def _words(side: EncodedSide, first: int, last: int) -> list[str]:
    """Return the words of some sentences of a side."""
    return [side.words[k] for k in side.tokens[side.offsets[first] : side.offsets[last]].tolist()]
