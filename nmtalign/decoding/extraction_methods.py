"""Extraction chooses the cells of the posteriors that become links: one class for each method.

Matrices of other programs become posteriors first: a published method says how, and which extraction follows.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np

from nmtalign.arrays import AnyArray, Flags, Reals
from nmtalign.attention.weights import entmax15, softmax
from nmtalign.corpus.buckets import PADDING_SCORE, Bucket
from nmtalign.links.selection import (
    ANY_LINKS,
    DEFAULT_SHARE,
    DEFAULT_THRESHOLD,
    OneLink,
    adjacent_link_cells,
    best_cells,
    itermax,
    match,
    symmetrize_matrices,
    transport,
)
from nmtalign.names import ExtractionName, MethodUnit, Symmetrization
from nmtalign.positions.position_model import CellIndices, Posteriors, SoftmaxPosteriors
from nmtalign.settings import LinkSettings
from nmtalign.state import State, Stored

BucketAttention = Posteriors | SoftmaxPosteriors

MIN_SECOND_POSTERIOR = 0.3  # p(s|t) or p(t|s) of a second word; chosen on the development sets


@dataclass(frozen=True)
class Extraction:
    """A method that chooses links; :func:`make_extraction` makes one by its name.

    `threshold` is the minimum posterior of a link, or share of the plan of `Transport`; None takes
    `default_threshold`. A threshold of 0 would link every word to every word.
    """

    threshold: float | None = None

    name: ClassVar[str]
    default_threshold: ClassVar[float | None] = None
    # whether each source word, and each target word, has at most one link, even if it has several tokens
    one_link: ClassVar[OneLink] = ANY_LINKS
    # whether a word without a link gets its best partner, however improbable, where both sides have words
    links_every_word: ClassVar[bool] = False
    mask_applies_threshold: ClassVar[bool] = False  # otherwise, :meth:`links` drops cells below the threshold
    posterior_name: ClassVar[str] = "joint"  # links are chosen from these posteriors; or "forward", "reverse"

    def __str__(self) -> str:
        threshold = self.effective_threshold
        return f"extract={self.name}" + ("" if threshold is None else f" threshold={threshold:g}")

    @property
    def rule(self) -> str:
        """The name of the method that chooses links."""
        return self.name

    @property
    def settings(self) -> LinkSettings:
        """The settings by which :func:`make_extraction` makes this method."""
        return LinkSettings(extract=cast(ExtractionName, self.name), threshold=self.threshold)

    @property
    def effective_threshold(self) -> float | None:
        """The threshold, or its default; second words may be less likely."""
        return self.default_threshold if self.threshold is None else self.threshold

    @property
    def min_second_posterior(self) -> float | None:
        """Minimum p(s|t) or p(t|s) of a second word; None if there are no second words."""
        return None

    def are_second_words(self, posterior: Reals) -> Flags:
        """Return which links (L,) were chosen as second words, given their posterior."""
        return np.zeros(len(posterior), bool)

    def state(self) -> State:
        """Return the name and the parameters of the method, to be stored in a model."""
        return State("extraction", {"name": self.name, "parameters": asdict(self)})

    @staticmethod
    def from_state(stored: Stored) -> Extraction:
        """Return the method whose state was stored by :meth:`state`."""
        parameters = stored.value("parameters", dict)
        # raises an error if the values of a file are out of bounds
        LinkSettings(threshold=parameters.get("threshold"), symmetrize=parameters.get("method"))
        return EXTRACTION_CLASSES[stored.text("name")](**parameters)

    def matrix(self, posteriors: BucketAttention) -> Reals:
        """Return the weights from which links are chosen, shape (T, S, B)."""
        weights: Reals = getattr(posteriors, self.posterior_name)
        return weights

    def mask(self, posteriors: BucketAttention, bucket: Bucket) -> Flags:
        """Choose cells inside the sentences, shape (T, S, B)."""
        raise NotImplementedError

    def links(self, posteriors: BucketAttention, bucket: Bucket) -> tuple[CellIndices, Reals]:
        """Return the links of a bucket as indices (t, s, b), and the posterior of each."""
        t, s, b = np.nonzero(self.mask(posteriors, bucket))
        posterior = posteriors.joint_at((t, s, b))
        least = self.effective_threshold or 0
        # a mask that applied the threshold may have second words, or cells of a plan, of posterior 0
        kept = posterior > 0 if self.mask_applies_threshold else posterior >= least
        return (t[kept], s[kept], b[kept]), posterior[kept]


class Threshold(Extraction):
    """Posterior thresholding: every cell whose joint probability is at least the threshold (Liang 2006)."""

    name = "threshold"
    default_threshold = 0.5
    mask_applies_threshold = True

    def mask(self, posteriors: BucketAttention, bucket: Bucket) -> Flags:
        joint = posteriors.joint
        threshold = joint.dtype.type(self.effective_threshold)
        return np.asarray((joint >= threshold) & bucket.inside)


class PosteriorDecoding(Threshold):
    """Posterior thresholding and, without a given threshold, second words (:func:`second_word_links`).

    Whoever chooses a threshold wants no link below it, so there are no second words then.
    """

    name = "posterior"
    default_threshold = DEFAULT_THRESHOLD

    @property
    def min_second_posterior(self) -> float | None:
        return MIN_SECOND_POSTERIOR if self.threshold is None else None

    def are_second_words(self, posterior: Reals) -> Flags:
        """Return which links (L,) are below the threshold: :meth:`mask` chooses only second words there."""
        if self.min_second_posterior is None:
            return super().are_second_words(posterior)
        return np.asarray(posterior < posterior.dtype.type(self.effective_threshold))

    def __str__(self) -> str:
        return f"{super().__str__()} second={self.min_second_posterior or 'none'}"

    def mask(self, posteriors: BucketAttention, bucket: Bucket) -> Flags:
        links = super().mask(posteriors, bucket)
        if self.min_second_posterior is not None:
            links |= second_word_links(links, posteriors.forward, posteriors.reverse)
        return links


class PosteriorOfEveryWord(PosteriorDecoding):
    """Posterior decoding, and the best partner of each word that has no link."""

    name = "every-word"
    links_every_word = True


class Argmax(Extraction):
    """The best source word of each target word."""

    name = "argmax"
    posterior_name = "forward"
    one_link = (False, True)
    axes: ClassVar[tuple[int, ...]] = (1,)  # a link is the maximum along each of these axes of (T, S, B)

    def mask(self, posteriors: BucketAttention, bucket: Bucket) -> Flags:
        """Choose the cells that are best along every axis."""
        compared = self.compared(posteriors)
        lengths = bucket.source_lengths, bucket.target_lengths
        best_along_axes = [best_cells(compared, axis, *lengths) for axis in self.axes]
        return np.asarray(np.logical_and.reduce(best_along_axes))

    def compared(self, posteriors: BucketAttention) -> Reals:
        """Return the values whose maximum is taken."""
        return self.matrix(posteriors) if posteriors.scores is None else posteriors.scores


class ArgmaxReverse(Argmax):
    """The best target word of each source word."""

    name = "argmax-reverse"
    posterior_name = "reverse"
    one_link = (True, False)
    axes = (0,)


class MutualArgmax(Argmax):
    """Cells that are best for both words: the intersection of both directions (Och and Ney 2003)."""

    name = "mutual"
    posterior_name = "joint"
    axes = (1, 0)
    one_link = (True, True)


class OneToOne(MutualArgmax):
    """Mutual argmax above a threshold: each word has at most one link."""

    name = "one-to-one"
    default_threshold = DEFAULT_THRESHOLD


class _Stacked(Extraction):
    """A method for matrices without padding, applied to pairs of equal lengths together."""

    # a function of weights (B, T, S) of pairs of equal lengths that returns the chosen cells
    choose_cells: ClassVar[Callable[..., Flags]]

    def weights(self, posteriors: BucketAttention, bucket: Bucket) -> tuple[AnyArray, ...]:
        """Return the arrays (T, S, B) that the method compares."""
        return (posteriors.joint,)

    def mask(self, posteriors: BucketAttention, bucket: Bucket) -> Flags:
        links = np.zeros(bucket.shape, dtype=bool)
        weights = self.weights(posteriors, bucket)
        lengths = np.stack([bucket.source_lengths, bucket.target_lengths])
        for S, T in np.unique(lengths[:, bucket.is_filled], axis=1).T:
            columns = np.flatnonzero((lengths[0] == S) & (lengths[1] == T))
            stacks = [np.moveaxis(array[:T, :S, columns], -1, 0) for array in weights]  # (B, T, S)
            chosen = self.choose_cells(*stacks)  # (B, T, S)
            links[:T, :S, columns] = np.moveaxis(chosen, 0, -1)
        return links


class Itermax(_Stacked):
    """Iterated mutual argmax, :func:`nmtalign.links.selection.itermax`."""

    name = "itermax"
    choose_cells = staticmethod(itermax)


class Match(_Stacked):
    """Maximum-weight matching, :func:`nmtalign.links.selection.match`."""

    name = "match"
    one_link = (True, True)
    choose_cells = staticmethod(match)


class Transport(_Stacked):
    """Optimal transport, :func:`nmtalign.links.selection.transport`; the threshold applies to the plan."""

    name = "transport"
    default_threshold = DEFAULT_SHARE
    mask_applies_threshold = True

    def choose_cells(self, weights: AnyArray) -> Flags:
        assert self.effective_threshold is not None  # it has a default
        return transport(weights, threshold=self.effective_threshold)


@dataclass(frozen=True)
class Symmetrized(_Stacked):
    """The argmax of both directions, joined by one of the methods of :mod:`nmtalign.links.selection`."""

    method: Symmetrization = "grow-diag-final-and"

    name: ClassVar[str] = "symmetrize"

    @property
    def rule(self) -> str:
        return self.method

    @property
    def settings(self) -> LinkSettings:
        return LinkSettings(threshold=self.threshold, symmetrize=self.method)

    @property
    def one_link(self) -> OneLink:  # type: ignore[override]
        """The intersection of both directions has at most one link for each word."""
        return (True, True) if self.method == "intersection" else ANY_LINKS

    def __str__(self) -> str:
        return super().__str__().replace("extract=symmetrize", f"symmetrize={self.method}")

    def weights(self, posteriors: BucketAttention, bucket: Bucket) -> tuple[AnyArray, ...]:
        return Argmax().mask(posteriors, bucket), ArgmaxReverse().mask(posteriors, bucket)

    def choose_cells(self, forward: Flags, reverse: Flags) -> Flags:
        return symmetrize_matrices(forward, reverse, self.method)


EXTRACTION_CLASSES: dict[str, type[Extraction]] = {
    method.name: method
    for method in (
        *(PosteriorDecoding, PosteriorOfEveryWord, OneToOne, Argmax, ArgmaxReverse, MutualArgmax),
        *(Threshold, Itermax, Match, Transport, Symmetrized),
    )
}


def make_extraction(
    settings: LinkSettings = LinkSettings(),
    *,
    null: bool = True,
) -> Extraction:
    """Return the extraction of the settings; without a name, ``posterior`` if there is a `null` word.

    With a threshold, ``posterior`` adds no second words, which are less likely.
    """
    if settings.symmetrize is not None:
        return Symmetrized(settings.threshold, settings.symmetrize)
    default = "posterior" if null else "mutual"
    return EXTRACTION_CLASSES[settings.extract or default](settings.threshold)


def second_word_links(links: Flags, forward: Reals, reverse: Reals) -> Flags:
    """Return additional links for second words, such as *ont été* for *were*.

    An unlinked target word t is linked to s if p(s|t) is above `MIN_SECOND_POSTERIOR` and the word before or
    after t is linked to s. Unlinked source words are treated the same way, using p(t|s). Arrays have shape
    (T, S, ...).
    """
    after, before, source_after, source_before = adjacent_link_cells(links)
    of_target = (after | before) & (forward > MIN_SECOND_POSTERIOR)
    of_source = (source_after | source_before) & (reverse > MIN_SECOND_POSTERIOR)
    return np.asarray(of_target | of_source)


# --- from matrices of other programs to posteriors -----------------------------------------------


class Method(NamedTuple):
    """A published method that turns similarities into links: posteriors and their extraction.

    ``simalign-argmax``, ``-itermax`` and ``-match`` are the methods of Jalili Sabet et al. (2020) over
    ``(1 + cosine) / 2``. ``awesome-align`` links two words if both softmaxes of dot products are at least
    0.001 (Dou and Neubig 2021), ``awesome-align-entmax`` if both 1.5-entmaxes are above 0 (Peters et al.
    2019). ``transport`` is optimal transport. If the similarities are those of sub-words, two words are
    linked if any of their sub-words are, as in the programs of these papers.
    """

    extract: ExtractionName
    product: Literal["cosine", "dot"] = "cosine"  # how the vectors of two tokens are compared
    threshold: float | None = None  # applies to probabilities of dot products
    normalize: Callable[..., Any] = softmax
    min_similarity: float = -math.inf  # the smallest similarity for which the method is defined

    def posteriors(self, similarities: Reals, inside: Flags) -> Posteriors:
        """Return the posteriors of a bucket of similarities, `PADDING_SCORE` outside of the sentences."""
        forward = self.normalize(similarities, 1) * inside
        reverse = self.normalize(similarities, 0) * inside
        if self.product == "cosine":
            joint = (1 + similarities) / 2
            if self.min_similarity >= -1:
                joint = np.maximum(joint, 0)  # rounded cosines may be slightly below -1
            joint = np.where(inside, joint, 0)
        else:
            joint = np.minimum(forward, reverse)
        return Posteriors(forward, reverse, joint, scores=similarities)


PUBLISHED_METHODS = {
    "simalign-argmax": Method("mutual"),
    "simalign-itermax": Method("itermax", min_similarity=-1.0),
    "simalign-match": Method("match"),
    "awesome-align": Method("threshold", "dot", threshold=0.001),
    # most 1.5-entmaxes are exactly 0, and none of the others is below 1e-30
    "awesome-align-entmax": Method("threshold", "dot", threshold=1e-30, normalize=entmax15),
    "transport": Method("transport"),
}
DEFAULT_METHOD = "simalign-itermax"
DEFAULT_UNITS: MethodUnit = "subwords"
SOFT_SHARPNESS = 4  # logits per standard deviation of the similarities
MIN_DEVIATION = 1e-6  # similarities with a smaller deviation differ by rounding only


def soft_posteriors(similarities: Reals, inside: Flags) -> Posteriors:
    """Return posteriors that serve as counts: the product of both softmaxes of sharpened similarities.

    Similarities (T, S, B) are divided by their standard deviation within the sentence pair. So no pair
    depends on others, and an encoder with nearly equal cosines is as sharp as any other.
    """
    cell_count = np.maximum(inside.sum(axis=(0, 1)), 1)  # (B,)
    mean = np.sum(similarities, axis=(0, 1), where=inside) / cell_count
    centered = np.where(inside, similarities - mean, 0)
    deviation = np.sqrt(np.sum(centered**2, axis=(0, 1)) / cell_count)
    sharp = np.where(inside, SOFT_SHARPNESS * centered / np.maximum(deviation, MIN_DEVIATION), PADDING_SCORE)
    forward = softmax(sharp, axis=1) * inside
    reverse = softmax(sharp, axis=0) * inside
    return Posteriors(forward, reverse, forward * reverse)


def attention_posteriors(weights: Reals, inside: Flags) -> Posteriors:
    """Return posteriors from the weights (T, S, B) that target words give to source words.

    Rows of `forward` sum to at most 1, because the weight of the end of the sentence is omitted. Columns of
    `reverse` are normalized to the sum 1, and `joint` is sqrt(p(s|t) p(t|s)).
    """
    forward = np.where(inside, weights, 0)
    column_sums = forward.sum(axis=0)  # (S, B)
    reverse = np.asarray(forward / np.where(column_sums > 0, column_sums, 1))
    compared = np.where(forward > 0, forward, -np.inf)  # a weight of 0 is never a link
    return Posteriors(forward, reverse, np.sqrt(forward * reverse), scores=compared)
