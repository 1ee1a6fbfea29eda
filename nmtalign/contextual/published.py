"""Published ways from similarities to links, named after their papers.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from nmtalign.contextual.head import ContextualScores
from nmtalign.positions.model import BucketPosteriors, Posteriors, SoftmaxPosteriors, TextScores


class Method(NamedTuple):
    """An extraction with its threshold, and whether it is of probabilities: softmaxes of dot products."""

    extract: str
    threshold: float | None = None
    softmax: bool = False


METHODS = {
    "simalign-argmax": Method("mutual"),
    "simalign-itermax": Method("itermax"),
    "simalign-match": Method("match"),
    "awesome-align": Method("threshold", 0.001, softmax=True),
    "transport": Method("transport"),
}


@dataclass(frozen=True)
class Published:
    """Posteriors of a published method, over plain similarities of the contextual head.

    ``simalign-argmax``, ``-itermax``, ``-match`` are those of Jalili Sabet et al. (2020) over
    ``(1 + cosine) / 2``. ``awesome-align`` links words for which both softmaxes of dot products are at least
    0.001 (Dou and Neubig 2021). ``transport`` is optimal transport. A word is the mean of its sub-words.

    Parameters
    ----------
    name : str
        A key of :data:`METHODS`.
    """

    name: str
    has_null: ClassVar[bool] = False

    @property
    def settings(self) -> str:
        """Name, as one setting."""
        return f"method={self.name}"

    def over(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        """Return a function that computes the posteriors of the bucket of a number."""
        assert isinstance(scores, ContextualScores)

        def attend(k: int) -> BucketPosteriors:
            inside, found = scores.text.buckets[k].inside, np.asarray(scores.similarities(k), np.float64)
            softmax = SoftmaxPosteriors(found, inside)
            both = softmax.forward, softmax.reverse
            by_softmax = METHODS[self.name].softmax
            joint = np.minimum(*both) if by_softmax else np.where(inside, (1 + found) / 2, 0)
            return BucketPosteriors(Posteriors(*both, joint, scores=found), None)

        return attend
