"""M-step of the emissions: likelihood ratios of word pairs to chance from expected counts of links.

Every word is counted under several *forms*: the word itself, and its first letters (3, 4 and 6 by the preset
``default``). For each kind of form, the expected counts c(e, f) of the links on which both directions agree
give the likelihood ratio

    r(e, f) = (c(e, f) + prior(e, f)) N / ((c(e) + s) (c(f) + s)) + floor

which estimates both p(f|e) / p(f) and p(e|f) / p(e). The pseudo-count s lowers the ratios of rare words;
prior(e, f) grows with the similarity of the spellings. The emission ratio of a word pair is the geometric
mean of the ratios of its forms.

Axes: P word pairs of a bitext, Q pairs of forms, V vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers, Longs
from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.word_pairs import PairIndex
from nmtalign.positions.model import Emissions
from nmtalign.scorers.forms import EVERY, FormPairs

Places = Longs | slice

BLOCK = 1 << 16  # word pairs that a thread works on at a time
RAREST = 1e-3  # expected null count of a word that was never unaligned


class FormCounts(NamedTuple):
    """Expected counts of the forms of one kind on one side."""

    linked: Doubles  # agreed links of each form
    null: Doubles  # how often each form was aligned to null
    all_null: float  # sum of `null` over all forms of the model

    def apply(self, function: Callable[[Doubles], Doubles]) -> FormCounts:
        """Return the counts with a function applied to `linked` and to `null`."""
        return self._replace(linked=function(self.linked), null=function(self.null))

    def null_ratios(self, words: float, pseudo_count: float) -> Doubles:
        """Return p(form | null) / p(form) of each form, at most 1,000."""
        by_null = (self.null + RAREST) / (self.all_null + 1)
        return np.minimum(1000.0, by_null / ((self.linked + pseudo_count) / words))


class FormPairCounts(NamedTuple):
    """Expected counts of one kind of form: agreed links of pairs (Q,), and counts of both sides."""

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
    """Sum the counts of links by source word and by target word."""
    some = np.flatnonzero(pairs)
    linked: Places = some if 4 * len(some) < 3 * len(pairs) else EVERY  # faster than picking most
    of_source = sum_at(index.source[linked], len(source_null), pairs[linked])
    of_target = sum_at(index.target[linked], len(target_null), pairs[linked])
    return WordCounts(pairs, linked, of_source, of_target, source_null, target_null)


def form_pair_counts(kind: FormPairs, words: WordCounts) -> FormPairCounts:
    """Sum the counts of words and word pairs by their forms."""
    sides = []
    for forms, number, linked, null in (
        (kind.source_forms, kind.source_number, words.source, words.source_null),
        (kind.target_forms, kind.target_number, words.target, words.target_null),
    ):
        of_forms = [sum_at(number, len(forms), values) for values in (linked, null)]
        sides.append(FormCounts(of_forms[0], of_forms[1], float(null.sum())))
    pairs = words.pairs
    if kind.pair is not None:
        pairs = sum_at(kind.pair[words.linked], len(kind.source), pairs[words.linked])
    return FormPairCounts(pairs.astype(np.float32), *sides)


def sum_at(place: Integers, size: int, values: Doubles) -> Doubles:
    """Sum the values of each place, shape (size,)."""
    return np.asarray(np.bincount(place, values, size), dtype=np.float64)


class Smoothing(NamedTuple):
    """Constants of the likelihood ratios: words of the bitext N, pseudo-count s, floor."""

    words: float
    pseudo_count: float
    floor: float


def ratios(kind: FormPairs, counts: FormPairCounts, smoothing: Smoothing, workers: int = 1) -> Floats:
    """Return r(e, f) of each pair of forms of one kind, shape (Q,)."""
    words, pseudo_count, floor = smoothing
    result = counts.pairs.copy()
    result[kind.alike] += kind.prior
    of_source = (words / (counts.source.linked + pseudo_count)).astype(np.float32)
    of_target = (1 / (counts.target.linked + pseudo_count)).astype(np.float32)

    def scale(places: slice) -> None:
        own = result[places]
        own *= of_source.take(kind.source[places])
        own *= of_target.take(kind.target[places])
        own += np.float32(floor)

    _in_blocks(scale, len(result), workers)
    return result


def _in_blocks(function: Callable[[slice], None], size: int, workers: int) -> None:
    """Call a function in several threads, with slices that together cover an array of `size` entries."""
    blocks = [slice(at, at + BLOCK) for at in range(0, size, BLOCK)]
    deque(in_order(function, blocks, workers), maxlen=0)


def emissions(
    forms: Sequence[FormPairs], counts: Sequence[FormPairCounts], smoothing: Smoothing, workers: int = 1
) -> Emissions:
    """Average over the kinds of form: geometric mean for word pairs, arithmetic mean for the null word."""
    joint = mean_ratios(forms, counts, smoothing, workers)
    nulls = []
    for side, number in (("source", "source_number"), ("target", "target_number")):
        total = sum(
            getattr(c, side).null_ratios(smoothing.words, smoothing.pseudo_count)[getattr(kind, number)]
            for kind, c in zip(forms, counts, strict=True)
        )
        nulls.append((total / len(forms)).astype(np.float32))
    return Emissions(joint, *nulls)


def mean_ratios(
    forms: Sequence[FormPairs], counts: Sequence[FormPairCounts], smoothing: Smoothing, workers: int = 1
) -> Floats:
    """Return the geometric mean of the ratios of each word pair (P,), 0 for the padding."""
    pairs = len(forms[0].source if forms[0].pair is None else forms[0].pair)
    joint = np.ones(pairs, dtype=np.float32)
    for kind, own in zip(forms, counts, strict=True):
        of_kind = ratios(kind, own, smoothing, workers)

        def multiply(places: slice, kind: FormPairs = kind, of_kind: Floats = of_kind) -> None:
            joint[places] *= kind.spread(of_kind, places)

        _in_blocks(multiply, pairs, workers)
    _in_blocks(lambda places: _root(joint[places], len(forms)), pairs, workers)
    joint[:1] = 0
    return joint


def _root(values: Floats, n: int) -> None:
    """Take the n-th root of each value in place; square roots are faster than powers."""
    while n % 2 == 0:
        np.sqrt(values, out=values)
        n //= 2
    if n > 1:
        np.power(values, np.float32(1 / n), out=values)
