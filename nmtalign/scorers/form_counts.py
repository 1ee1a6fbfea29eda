"""Sums by form: the expected counts of word pairs and of unaligned words, added up for their forms.

Every word is counted under several *forms* (:mod:`nmtalign.scorers.forms`): the word itself, and its first
letters (3, 4 and 6 by the preset ``default``). `FormPairs` are the pairs of forms of a text, `FormPairCounts`
their counts of one kind of form, with the `FormCounts` of both sides.

Axes: P word pairs of a text, Q pairs of forms, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers
from nmtalign.corpus.word_pairs import WordPairIndex
from nmtalign.scorers.forms import FormPairs
from nmtalign.state import Stored

MAX_COUNT = 10**12  # no training text has more words or links


class FormCounts(NamedTuple):
    """Expected counts of the forms of one kind on one side."""

    linked: Doubles  # joint counts of each form
    null: Doubles  # how often each form was aligned to null
    all_null: float  # sum of `null` over all forms of the model

    def apply(self, function: Callable[[Doubles], Doubles]) -> FormCounts:
        """Return the counts with a function applied to `linked` and to `null`."""
        return self._replace(linked=function(self.linked), null=function(self.null))

    @classmethod
    def from_state(cls, stored: Stored, side: str, forms: int | None) -> FormCounts:
        """Return the counts of the forms of a side, shape (forms,); None accepts any number of forms."""
        linked = stored.array(f"{side}_linked", "f", (forms,), minimum=0, maximum=MAX_COUNT)
        null = stored.array(f"{side}_null", "f", (len(linked),), minimum=0, maximum=MAX_COUNT)
        all_null = stored.number(f"{side}_null", minimum=0, maximum=MAX_COUNT)
        return cls(linked.astype(np.float64), null.astype(np.float64), all_null)


class FormPairCounts(NamedTuple):
    """Expected counts of one kind of form: links of pairs of forms, and counts of the forms of both sides."""

    links: Floats  # (Q,)
    sides: tuple[FormCounts, FormCounts]


def form_pair_counts(
    form_pairs_of_kinds: Sequence[FormPairs],
    word_pairs: WordPairIndex,
    links: Doubles,
    source_null: Doubles,
    target_null: Doubles,
) -> list[FormPairCounts]:
    """Sum expected counts by form, for each kind of form.

    `links` (P,) are the expected links of each word pair, the others (V,) how often each word is unaligned.
    """
    counted = np.flatnonzero(links)  # late in training, at most one word pair in ten
    # if most word pairs have a count, adding all of them is faster than picking these
    linked = counted if 4 * len(counted) < 3 * len(links) else slice(None)
    source_linked = sum_at(word_pairs.source[linked], len(source_null), links[linked])
    target_linked = sum_at(word_pairs.target[linked], len(target_null), links[linked])
    source_words = FormCounts(source_linked, source_null, float(source_null.sum()))
    target_words = FormCounts(target_linked, target_null, float(target_null.sum()))
    counts = []
    for form_pairs in form_pairs_of_kinds:
        source = source_words.apply(partial(sum_at, form_pairs.form_numbers[0], len(form_pairs.strings[0])))
        target = target_words.apply(partial(sum_at, form_pairs.form_numbers[1], len(form_pairs.strings[1])))
        if form_pairs.pair_numbers is None:
            form_pair_sums = links
        else:
            form_pair_sums = sum_at(form_pairs.pair_numbers[linked], len(form_pairs.source), links[linked])
        counts.append(FormPairCounts(form_pair_sums.astype(np.float32), (source, target)))
    return counts


def sum_at(indices: Integers, size: int, values: Doubles) -> Doubles:
    """Sum the values at each index, shape (size,)."""
    return np.asarray(np.bincount(indices, values, size), dtype=np.float64)
