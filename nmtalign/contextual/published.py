"""Published ways from similarities to links, named after their papers.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nmtalign.attention.weights import entmax15, softmax
from nmtalign.contextual.head import ContextualScores
from nmtalign.positions.model import BucketPosteriors, Posteriors, TextScores


class Method(NamedTuple):
    """An extraction; with a threshold it is of probabilities, normalised dot products."""

    extract: str
    threshold: float | None = None
    normalize: Callable[..., Any] = softmax

    @property
    def product(self) -> str:
        """Of token vectors: ``cosine`` or ``dot``."""
        return "cosine" if self.threshold is None else "dot"


METHODS = {
    "simalign-argmax": Method("mutual"),
    "simalign-itermax": Method("itermax"),
    "simalign-match": Method("match"),
    "awesome-align": Method("threshold", 0.001),
    "awesome-align-entmax": Method("threshold", 0.0, entmax15),
    "transport": Method("transport"),
}


@dataclass(frozen=True)
class Published:
    """Posteriors of a published method, over plain similarities of the contextual head.

    ``simalign-argmax``, ``-itermax``, ``-match`` are those of Jalili Sabet et al. (2020) over
    ``(1 + cosine) / 2``. ``awesome-align`` links words for which both softmaxes of dot products are at least
    0.001 (Dou and Neubig 2021), ``awesome-align-entmax`` those for which both 1.5-entmaxes are above 0
    (Peters et al. 2019). ``transport`` is optimal transport. A word is the mean of its sub-words, where the
    papers link sub-words and join their links.

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

        method = METHODS[self.name]

        def attend(k: int) -> BucketPosteriors:
            inside, found = scores.text.buckets[k].inside, np.asarray(scores.similarities(k), np.float64)
            forward, reverse = (method.normalize(found, axis) * inside for axis in (1, 0))
            cosines = method.product == "cosine"
            joint = np.where(inside, (1 + found) / 2, 0) if cosines else np.minimum(forward, reverse)
            return BucketPosteriors(Posteriors(forward, reverse, joint, scores=found), None)

        return attend
