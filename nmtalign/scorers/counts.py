"""M-step of the emissions: likelihood ratios of word pairs to chance from expected counts of links.

A *view* shortens every word (the word itself, its first 3, 4, 6 letters). For each view there are expected
counts c(e, f) of links on which both directions agree, and from them the ratio

    r(e, f) = (c(e, f) + prior(e, f)) N / ((c(e) + s) (c(f) + s)) + floor

which is p(f|e) / p(f) and p(e|f) / p(e) at once, with the discount s taken off rare words; prior(e, f) is how
alike both are spelled. The emission ratio of a word pair is the geometric mean of its ratios over the views.

Axes: P word pairs of a bitext, Q pairs of a view, V vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.word_pairs import PairIndex
from nmtalign.positions.model import Emissions
from nmtalign.scorers.views import EVERY, View

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Places = NDArray[np.int64] | slice

BLOCK = 1 << 16  # word pairs that a thread works on at a time
RAREST = 1e-3  # expected null count of a word that was never unaligned


class FormCounts(NamedTuple):
    """Expected counts of the forms (shortened words) of one side of a view."""

    linked: Doubles  # agreed links of each form
    null: Doubles  # how often each form was aligned to null
    all_null: float  # the same, of all forms of the model

    def apply(self, function: Callable[[Doubles], Doubles]) -> FormCounts:
        """Return the counts with a function applied to those of links and of null."""
        return self._replace(linked=function(self.linked), null=function(self.null))

    def null_ratios(self, words: float, discount: float) -> Doubles:
        """Return p(form | null) / p(form) of each form, at most 1,000."""
        by_null = (self.null + RAREST) / (self.all_null + 1)
        return np.minimum(1000.0, by_null / ((self.linked + discount) / words))


class ViewCounts(NamedTuple):
    """Expected counts of one view: agreed links of each of its pairs (Q,), and of the forms of both sides."""

    pairs: Floats
    source: FormCounts
    target: FormCounts


class WordCounts(NamedTuple):
    """Expected counts of word pairs (P,), and of linked and unaligned words of both sides (V + 1,)."""

    pairs: Doubles
    linked: Places  # the pairs with a count; late in training one in ten or fewer
    source: Doubles
    target: Doubles
    source_null: Doubles
    target_null: Doubles


def word_counts(index: PairIndex, pairs: Doubles, source_null: Doubles, target_null: Doubles) -> WordCounts:
    """Add up how often each word was linked."""
    some = np.flatnonzero(pairs)
    linked: Places = some if 4 * len(some) < 3 * len(pairs) else EVERY  # to pick most takes longer than all
    of_source = sum_at(index.source[linked], len(source_null), pairs[linked])
    of_target = sum_at(index.target[linked], len(target_null), pairs[linked])
    return WordCounts(pairs, linked, of_source, of_target, source_null, target_null)


def view_counts(view: View, words: WordCounts) -> ViewCounts:
    """Sum the counts of words and word pairs into those of a view."""
    sides = []
    for forms, number, linked, null in (
        (view.source_forms, view.source_number, words.source, words.source_null),
        (view.target_forms, view.target_number, words.target, words.target_null),
    ):
        of_forms = [sum_at(number, len(forms), values) for values in (linked, null)]
        sides.append(FormCounts(of_forms[0], of_forms[1], float(null.sum())))
    pairs = words.pairs
    if view.pair is not None:
        pairs = sum_at(view.pair[words.linked], len(view.source), pairs[words.linked])
    return ViewCounts(pairs.astype(np.float32), *sides)


def sum_at(place: NDArray[np.integer], size: int, values: Doubles) -> Doubles:
    """Add values up by place."""
    return np.asarray(np.bincount(place, values, size), dtype=np.float64)


class Smoothing(NamedTuple):
    """Constants of the likelihood ratios: words of the bitext N, discount s, floor."""

    words: float
    discount: float
    floor: float


def ratios(view: View, counts: ViewCounts, smoothing: Smoothing, workers: int = 1) -> Floats:
    """Return r(e, f) of each of the view's pairs, shape (Q,); see the head of this module."""
    words, discount, floor = smoothing
    result = counts.pairs.copy()
    result[view.alike] += view.prior
    of_source = (words / (counts.source.linked + discount)).astype(np.float32)
    of_target = (1 / (counts.target.linked + discount)).astype(np.float32)

    def scale(places: slice) -> None:
        own = result[places]
        own *= of_source.take(view.source[places])
        own *= of_target.take(view.target[places])
        own += np.float32(floor)

    _in_blocks(scale, len(result), workers)
    return result


def _in_blocks(function: Callable[[slice], None], size: int, workers: int) -> None:
    """Call a function, by several threads, with slices that make up an array of a size."""
    blocks = [slice(at, at + BLOCK) for at in range(0, size, BLOCK)]
    deque(in_order(function, blocks, workers), maxlen=0)


def emissions(
    views: Sequence[View], counts: Sequence[ViewCounts], smoothing: Smoothing, workers: int = 1
) -> Emissions:
    """Join the views: geometric mean of the ratios of pairs, arithmetic mean of those of null."""
    joint = view_product(views, counts, smoothing, workers)
    nulls = []
    for side, number in (("source", "source_number"), ("target", "target_number")):
        total = sum(
            getattr(c, side).null_ratios(smoothing.words, smoothing.discount)[getattr(view, number)]
            for view, c in zip(views, counts, strict=True)
        )
        nulls.append((total / len(views)).astype(np.float32))
    return Emissions(joint, *nulls)


def view_product(
    views: Sequence[View], counts: Sequence[ViewCounts], smoothing: Smoothing, workers: int = 1
) -> Floats:
    """Return the geometric mean over views of the ratios of each word pair (P,), 0 for the padding."""
    pairs = len(views[0].source if views[0].pair is None else views[0].pair)
    joint = np.ones(pairs, dtype=np.float32)
    for view, own in zip(views, counts, strict=True):
        of_view = ratios(view, own, smoothing, workers)

        def multiply(places: slice, view: View = view, of_view: Floats = of_view) -> None:
            joint[places] *= view.spread(of_view, places)

        _in_blocks(multiply, pairs, workers)
    _in_blocks(lambda places: _root(joint[places], len(views)), pairs, workers)
    joint[:1] = 0
    return joint


def _root(values: Floats, n: int) -> None:
    """Take the n-th root of each value in place; square roots where they do."""
    while n % 2 == 0:
        np.sqrt(values, out=values)
        n //= 2
    if n > 1:
        np.power(values, np.float32(1 / n), out=values)
