"""Likelihood ratios of word pairs to chance, from the expected counts of their forms.

For each kind of form, the joint counts c(e, f), expected counts of links in both directions at once (the
product of their posteriors), give the likelihood ratio to chance

    r(e, f) = (c(e, f) + prior(e, f)) N / ((c(e) + d) (c(f) + d)) + floor

which estimates both p(f|e) / p(f) and p(e|f) / p(e). N is the size of the corpus. The pseudo-count d lowers
the ratios of rare words, prior(e, f) grows with the similarity of the spellings, and `floor` is a small
constant. The emission ratio of a word pair is the geometric mean of the ratios of its forms.

Axes: P word pairs of a text, Q pairs of forms, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Ints, block_slices
from nmtalign.corpus.parallel import parallel_map
from nmtalign.positions.position_model import Emissions
from nmtalign.scorers.forms import FormCounts, FormPairCounts, FormPairs

WORD_PAIRS_PER_BLOCK = 1 << 16  # a thread works on one block at a time
MIN_NULL_COUNT = 1e-3  # stands for the null count of a word that was never unaligned
MAX_NULL_RATIO = 1000.0
NULL_SHARE = 0.2  # share of words without a partner, if nothing else is known
NULL_PSEUDO_COUNT = 2.0


class Smoothing(NamedTuple):
    """Constants of the likelihood ratios."""

    # N: geometric mean of the numbers of source and target words, plus the size of an older model's corpus
    corpus_size: float
    pseudo_count: float  # d
    floor: float


class TextFormCounts(NamedTuple):
    """The pairs of forms of a text with their counts, one entry for each kind of form."""

    form_pairs: Sequence[FormPairs]
    counts: Sequence[FormPairCounts]
    smoothing: Smoothing

    def with_floor(self, floor: float) -> TextFormCounts:
        """Return the counts with another floor of the ratios."""
        return self._replace(smoothing=self.smoothing._replace(floor=floor))


def without_one_link(form_counts: TextFormCounts) -> TextFormCounts:
    """Return the counts of a text in which each pair of forms has one link less, but none below 0."""
    reduced = [counts._replace(links=np.maximum(counts.links - 1, 0)) for counts in form_counts.counts]
    return form_counts._replace(counts=reduced)


def form_pair_ratios(
    form_pairs: FormPairs, counts: FormPairCounts, smoothing: Smoothing, workers: int = 1
) -> Floats:
    """Return r(e, f) of each pair of forms of one kind, shape (Q,)."""
    ratios = counts.links.copy()
    ratios[form_pairs.similar_pairs] += form_pairs.spelling_counts
    factors = ratio_factors(counts.sides, smoothing)
    scale_to_ratios(ratios, (form_pairs.source, form_pairs.target), factors, smoothing.floor, workers)
    return ratios


def ratio_factors(sides: tuple[FormCounts, FormCounts], smoothing: Smoothing) -> tuple[Floats, Floats]:
    """Return N / (c(e) + d) of each source form, and 1 / (c(f) + d) of each target form."""
    source_counts, target_counts = sides
    source_factors = smoothing.corpus_size / (source_counts.linked + smoothing.pseudo_count)
    target_factors = 1 / (target_counts.linked + smoothing.pseudo_count)
    return source_factors.astype(np.float32), target_factors.astype(np.float32)


def scale_to_ratios(
    counts: Floats, forms: tuple[Ints, Ints], factors: tuple[Floats, Floats], floor: float, workers: int = 1
) -> None:
    """Turn counts of pairs of forms (Q,), whose spelling is added, into ratios in place.

    `forms` are the source form and the target form of each pair, `factors` those of :func:`ratio_factors`.
    """
    source, target = forms
    source_factors, target_factors = factors

    def scale(part: slice) -> None:
        block = counts[part]
        block *= source_factors.take(source[part])
        block *= target_factors.take(target[part])
        block += np.float32(floor)

    _in_blocks(scale, len(counts), workers)


def _in_blocks(function: Callable[[slice], None], size: int, workers: int) -> None:
    """Call a function in several threads, with slices that together cover an array of `size` entries."""
    slices = list(block_slices(size, WORD_PAIRS_PER_BLOCK))
    deque(parallel_map(function, slices, workers), maxlen=0)  # runs the map


def null_ratios(counts: FormCounts, smoothing: Smoothing) -> Doubles:
    """Return p(form | null) / p(form) of each form of a side, at most `MAX_NULL_RATIO`."""
    p_given_null = (counts.null + MIN_NULL_COUNT) / (counts.all_null + 1)
    p_form = (counts.linked + smoothing.pseudo_count) / smoothing.corpus_size
    return np.minimum(MAX_NULL_RATIO, p_given_null / p_form)


def emission_ratios(form_counts: TextFormCounts, workers: int = 1) -> Emissions:
    """Average over the kinds of form: geometric mean for word pairs, arithmetic mean for the null word."""
    pair_ratios = word_pair_ratios(form_counts, workers)
    pair_ratios[0] = 0  # the padding
    return Emissions(
        pair_ratios=pair_ratios,
        source_null=mean_null_ratios(form_counts, 0),
        target_null=mean_null_ratios(form_counts, 1),
    )


def mean_null_ratios(form_counts: TextFormCounts, side: int) -> Floats:
    """Return the mean of the null ratios of the forms of each word of one side, shape (V,)."""
    total: Doubles = np.zeros(len(form_counts.form_pairs[0].form_numbers[side]))
    for form_pairs, counts in zip(form_counts.form_pairs, form_counts.counts, strict=True):
        ratio_of_form = null_ratios(counts.sides[side], form_counts.smoothing)
        total += ratio_of_form[form_pairs.form_numbers[side]]
    return (total / len(form_counts.form_pairs)).astype(np.float32)


def word_null_surprise(form_counts: TextFormCounts, side: int) -> Floats:
    """Return -log of how often each word of one side had no partner in training, (V,); 0 for the padding.

    The shares of its forms are averaged. Each is smoothed, so that an unknown form has `NULL_SHARE`.
    """
    total: Doubles = np.zeros(len(form_counts.form_pairs[0].form_numbers[side]))
    for form_pairs, counts in zip(form_counts.form_pairs, form_counts.counts, strict=True):
        null = counts.sides[side].null.astype(np.float32)  # as a saved model has them
        linked = counts.sides[side].linked.astype(np.float32)
        share = (null + NULL_PSEUDO_COUNT * NULL_SHARE) / (null + linked + NULL_PSEUDO_COUNT)
        total += share[form_pairs.form_numbers[side]]
    surprise = -np.log(total / len(form_counts.form_pairs))
    surprise[0] = 0
    return surprise.astype(np.float32)


def word_pair_ratios(form_counts: TextFormCounts, workers: int = 1) -> Floats:
    """Return the geometric mean of the ratios of each word pair (P,), also of the padding."""
    first = form_counts.form_pairs[0]
    pair_count = len(first.source if first.pair_numbers is None else first.pair_numbers)
    kinds = list(zip(form_counts.form_pairs, form_counts.counts, strict=True))
    ratios_of_kinds = (
        (form_pair_ratios(form_pairs, counts, form_counts.smoothing, workers), form_pairs.pair_numbers)
        for form_pairs, counts in kinds
    )
    return mean_of_kinds(ratios_of_kinds, pair_count, len(kinds), workers)


def mean_of_kinds(
    ratios_of_kinds: Iterable[tuple[Floats, Ints | None]], pair_count: int, kinds: int, workers: int = 1
) -> Floats:
    """Return the geometric mean over the kinds of form for each word pair (P,), also of the padding.

    Of each kind, the ratios of the pairs of forms (Q,) are given, and the pair of forms of each word pair
    (P,); None if the numbers are the same.
    """
    product = np.ones(pair_count, dtype=np.float32)
    for ratios, pair_numbers in ratios_of_kinds:

        def multiply(part: slice, ratios: Floats = ratios, pair_numbers: Ints | None = pair_numbers) -> None:
            product[part] *= ratios[part] if pair_numbers is None else ratios.take(pair_numbers[part])

        _in_blocks(multiply, pair_count, workers)
    _in_blocks(lambda part: _take_root(product[part], kinds), pair_count, workers)
    return product


def _take_root(values: Floats, n: int) -> None:
    """Take the n-th root of each value in place; square roots are faster than powers."""
    while n % 2 == 0:
        np.sqrt(values, out=values)
        n //= 2
    if n > 1:
        np.power(values, np.float32(1 / n), out=values)
