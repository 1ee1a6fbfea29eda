"""What position models take and give.

Axes: B pairs of a bucket (last, so that the numbers of a pair do not depend on its company), T target words,
S source words, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.text import EncodedText

Floats = NDArray[np.float32]
Matrix = NDArray[np.floating]
Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # target, source, column


class TextScores(Protocol):
    """What the words of a text say, bucket by bucket."""

    @property
    def text(self) -> EncodedText: ...

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        """Likelihood ratio of each source and each target word under the null word, shape (V + 1,)."""
        ...

    def prepare(self, *, ratios: bool) -> None:
        """Compute what all buckets share, and what their ratios do, before work is dealt out to processes."""

    def scores(self, k: int) -> Matrix:
        """Return the scores of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        ...

    def ratios(self, k: int) -> Floats:
        """Return the likelihood ratios of bucket k to chance, shape (T, S, B), 0 outside of the sentences."""
        ...

    def evidence(self, k: int, ratios: Floats) -> Floats:
        """Return what each cell is worth for the score of its pair, shape (T, S, B)."""
        ...


class Posteriors(Protocol):
    """Attention in both directions over a bucket, each array of shape (T, S, B)."""

    @property
    def forward(self) -> Matrix:
        """p(s|t)."""
        ...

    @property
    def reverse(self) -> Matrix:
        """p(t|s)."""
        ...

    @property
    def joint(self) -> Matrix:
        """Probability of a link, from both directions."""
        ...

    def ranking(self, method: str) -> Matrix:
        """Return what the extraction `method` compares."""
        ...

    def probability(self, cells: Cells) -> Matrix:
        """Return the joint probability of some cells."""
        ...


class PlainPosteriors(NamedTuple):
    """Posteriors that are held as arrays of shape (T, S, B)."""

    forward: Matrix
    reverse: Matrix
    joint: Matrix

    def ranking(self, method: str) -> Matrix:
        """Return the posteriors of one direction for its argmax, else the joint probability."""
        return {"argmax": self.forward, "argmax-reverse": self.reverse}.get(method, self.joint)

    def probability(self, cells: Cells) -> Matrix:
        """Return the joint probability of some cells."""
        return np.asarray(self.joint[cells])


class Attended(NamedTuple):
    """Posteriors of a bucket, and the likelihood ratios (T, S, B) they come from where there is null."""

    posteriors: Posteriors
    ratios: Floats | None


class PositionModel(Protocol):
    """Turns scores into posteriors of both directions."""

    @property
    def settings(self) -> str:
        """What it is, in a few words."""
        ...

    @property
    def has_null(self) -> bool:
        """Whether words may be aligned to the null word."""
        ...

    def over(self, scores: TextScores) -> Callable[[int], Attended]:
        """Return a function that attends in the bucket of a number."""
        ...
