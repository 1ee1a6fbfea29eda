"""How many words of a text two vocabularies know: whether an aligner was made for its languages.

Names, numbers and signs say nothing about a language. Not counted are words without a letter, and words that
no vocabulary holds and both sides of the text do.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from nmtalign.corpus.sides import EncodedSide

FEW = 0.45  # share of known words, below which it is likely another language (scripts/measure_coverage.py)
GLUED = 0.04  # share of words that end in punctuation: at most 0.02 of texts in words, 0.07 of raw ones
_MARKS = r",.;:!?\u060c\u061f\u0964\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"  # also Arabic, Hindi, Chinese
ends_in_punctuation = re.compile(rf"\w[{_MARKS}]$").search


class SideCoverage(NamedTuple):
    """Words of one side of a text.

    Attributes
    ----------
    total, known, as_other, glued : int
        Words counted; those in the vocabulary of the side; those in that of the other side; unknown ones that
        end in punctuation.
    """

    total: int = 0
    known: int = 0
    as_other: int = 0
    glued: int = 0

    @property
    def rate(self) -> float:
        """Share of known words; 1.0 where no word was counted."""
        return self.known / self.total if self.total else 1.0

    def __str__(self) -> str:
        return f"{self.known:,} of {self.total:,} words are known ({100 * self.rate:.1f} %)"


class Coverage(NamedTuple):
    """Words of both sides of a text.

    Examples
    --------
    >>> from nmtalign.corpus.sides import encode
    >>> sides = encode([["the", "cat", "7"]]), encode([["le", "chat", "7"]])
    >>> found = coverage(*sides, ({"the", "cat"}, {"le"}))
    >>> print(found.target)
    1 of 2 words are known (50.0 %)
    >>> found.swapped, found.joined(found).target.total
    (False, 4)
    """

    source: SideCoverage = SideCoverage()
    target: SideCoverage = SideCoverage()

    def joined(self, other: Coverage) -> Coverage:
        """Return the counts of two texts together."""
        source, target = (SideCoverage(*map(int.__add__, *sides)) for sides in zip(self, other, strict=True))
        return Coverage(source, target)

    @property
    def swapped(self) -> bool:
        """Whether each side is better known, and well enough, to the vocabulary of the other side."""
        return all(side.as_other > max(side.known, FEW * side.total) for side in self)

    @property
    def uncut(self) -> bool:
        """Whether punctuation is glued to the words of both sides: the text is raw."""
        return all(side.glued > GLUED * side.total for side in self)

    @property
    def few(self) -> dict[str, SideCoverage]:
        """The sides of which few words are known, by name."""
        return {name: side for name, side in self._asdict().items() if side.rate < FEW}


def coverage(
    source: EncodedSide, target: EncodedSide, vocabularies: tuple[Container[str], Container[str]]
) -> Coverage:
    """Count the words of a text that a source and a target vocabulary know."""
    own, other = vocabularies
    words = set(source.words), set(target.words)
    return Coverage(_counted(source, words[1], own, other), _counted(target, words[0], other, own))


def _counted(
    side: EncodedSide, elsewhere: Container[str], own: Container[str], other: Container[str]
) -> SideCoverage:
    """Count the words of one side; `elsewhere` are those of the other one."""
    total = known = as_other = glued = 0
    for word, count in zip(side.words, side.counts.tolist(), strict=True):
        in_own, in_other = word in own, word in other
        if any(map(str.isalpha, word)) and (in_own or in_other or word not in elsewhere):
            total += count
            known += count * in_own
            as_other += count * in_other
            glued += count * (not in_own and ends_in_punctuation(word) is not None)
    return SideCoverage(total, known, as_other, glued)
