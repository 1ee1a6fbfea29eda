"""Learn an alignment model from a bitext: expectation-maximisation with both directions in agreement.

First some passes without positions (IBM model 1), then some with jumps (a hidden Markov model), both
directions at once. A link counts as ``p(s|t) p(t|s)``: only what both directions believe in is learned (Liang
et al. 2006).

Axes: B pairs of a bucket, T target words, S source words, P word pairs that meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.checkpoint import Arrays, Checkpoint
from nmtalign.models.corpus import Bucket, EncodedSide, make_buckets
from nmtalign.models.expectation import LEAST, Counts, Pass, summed
from nmtalign.models.hmm import (
    Jumps,
    estimate_jumps,
    initial_jumps,
)
from nmtalign.models.knowledge import Knowledge, view_knowledge
from nmtalign.models.lexicon import (
    FormCounts,
    LearnedView,
    Smoothing,
    View,
    ViewCounts,
    emissions,
    learned_view,
    make_view,
    view_counts,
    word_counts,
)
from nmtalign.models.pairs import SHARED, PairIndex, index_pairs
from nmtalign.models.parallel import default_workers, in_order
from nmtalign.models.settings import Settings

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]

JUMP_CELLS = 1 << 26  # cells that jumps are counted in; in a larger bitext, in every n-th pair


class Bitext(Protocol):
    """A bitext that passes are made over, wherever its buckets are."""

    index: PairIndex

    def sweep(self, one: Pass) -> Counts:
        """Return the expected counts of one pass."""


Buckets = Sequence[Bucket]
PlaceBitext = Callable[[Buckets, EncodedSide, EncodedSide], Bitext]


class HeldBitext:
    """A bitext in this process."""

    def __init__(self, buckets: Buckets, source: EncodedSide, target: EncodedSide, *, workers: int) -> None:
        self.buckets, self.workers = buckets, workers
        self.index = index_pairs(buckets, source, target)
        self._cells = sum(bucket.cells for bucket in buckets)
        self._sizes = len(self.index), len(source.words), len(target.words)

    def sweep(self, one: Pass) -> Counts:
        """Return the expected counts of one pass; they do not depend on the number of workers."""
        found = in_order(
            lambda k: one.expect(k, self.buckets[k], self.index.cells[k]),
            range(len(self.buckets)),
            self.workers,
            cells=self._cells if one.jumps else 0,  # else sending what is found costs more than finding it
        )
        return summed(found, self._sizes, one.jumps or ())


class Estimate(NamedTuple):
    """What was learned, over the words and word pairs of the bitext it was learned from."""

    views: list[View]
    counts: list[ViewCounts]
    jumps: tuple[Jumps, Jumps]
    learned: list[LearnedView]


class Estimator:
    """Expectation-maximisation over an encoded bitext.

    Parameters
    ----------
    source, target : EncodedSide
    settings : Settings
    known : Knowledge, optional
        Counts to start from; the vocabularies have to hold its words.
    workers : int, optional
        Threads; the result does not depend on it.
    report : callable, optional
        Called with one line of text after each stage.
    place : callable, optional
        Puts the buckets where they are swept; in this process if left out.
    """

    def __init__(
        self,
        source: EncodedSide,
        target: EncodedSide,
        settings: Settings,
        *,
        known: Knowledge | None = None,
        workers: int | None = None,
        report: Callable[[str], None] | None = None,
        place: PlaceBitext | None = None,
    ) -> None:
        self.source, self.target, self.settings = source, target, settings
        self.known = known or Knowledge()
        threads = default_workers() if workers is None else workers
        self.report = report or (lambda text: None)
        self.buckets = make_buckets(source, target)
        self.bitext = (place or partial(HeldBitext, workers=threads))(self.buckets, source, target)
        self.index = self.bitext.index
        self.views = [
            make_view(source, target, self.index, letters, spelling=settings.spelling)
            for letters in settings.views
        ]
        self.known_views = [view_knowledge(view, self.known) for view in self.views] if known else []
        self.report(
            f"{len(source.words) - 1:,} source and {len(target.words) - 1:,} target words,"
            f" {len(self.index) - 1:,} pairs that meet"
        )

    def run(self, kept: Checkpoint | None = None) -> Estimate:
        """Run all passes, or those that a checkpoint does not know yet, and return what was learned."""
        found = None if kept is None else kept.read()
        counts, jumps, done = (*self._start(), 0) if found is None else _passed(found)
        for number in range(done + 1, self.settings.jump_passes + 1):
            if kept is not None:
                kept.write_if_due(partial(_state, counts, jumps, number - 1))
            agreed = number > self.settings.jump_passes - self.settings.agreed_passes
            counts, jumps = self._jump_pass(counts, jumps, self.settings.rounds if agreed else 0)
            per_word = counts.log_likelihood / max(1, len(self.source.tokens) + len(self.target.tokens))
            self.report(
                f"jump pass {number} of {self.settings.jump_passes}:"
                f" log-likelihood {per_word:.4f} a word over chance"
            )
        if kept is not None:
            kept.write_if_due(partial(_state, counts, jumps, self.settings.jump_passes))
        pruned = self._pruned(counts)
        learned = [learned_view(view, own) for view, own in zip(self.views, pruned, strict=True)]
        if self.known_views:
            learned = [more.fill(view) for more, view in zip(self.known_views, learned, strict=True)]
        return Estimate(self.views, pruned, jumps, learned)

    def _start(self) -> tuple[Counts, tuple[Jumps, Jumps]]:
        """Return counts and jumps to begin with: of the passes without positions, or of an older model."""
        if self.known.lexicon is not None and self.known.jumps is not None:
            jumps = self.known.lexicon.renumbered(self.known.jumps, self.source, self.target)
            nothing = [np.zeros(n) for n in (len(self.index), len(self.source.words), len(self.target.words))]
            return Counts(nothing[0], nothing[1], nothing[2], np.zeros(0), np.zeros(0), 0.0), jumps
        counts = self._sweep(Pass(self.settings.lexicon_null))
        for number in range(1, self.settings.lexicon_passes):
            counts = self._lexicon_pass(counts, agree=number > self.settings.single_passes)
            self.report(f"lexicon pass {number} of {self.settings.lexicon_passes - 1}")
        own = self.settings.own_jumps
        return counts, (
            initial_jumps(len(self.source.words) - 1, own),
            initial_jumps(len(self.target.words) - 1, own),
        )

    @property
    def smoothing(self) -> Smoothing:
        """How the counts of this bitext become ratios."""
        words = math.sqrt(len(self.source.tokens) * len(self.target.tokens))
        if self.known.lexicon is not None:
            words += self.known.lexicon.smoothing.words
        return Smoothing(max(words, 1.0), self.settings.discount, self.settings.floor)

    def _view_counts(self, counts: Counts) -> list[ViewCounts]:
        words = word_counts(self.index, counts.pairs, counts.source_null, counts.target_null)
        found = [view_counts(view, words) for view in self.views]
        if not self.known_views:
            return found
        known = zip(self.known_views, self.views, found, strict=True)
        return [more.add_to(view, own) for more, view, own in known]

    def _lexicon_pass(self, counts: Counts, *, agree: bool) -> Counts:
        words = emissions(self.views, self._view_counts(counts), self.smoothing._replace(floor=LEAST))
        return self._sweep(Pass(self.settings.lexicon_null, words, agree=agree))

    def _jump_pass(
        self, counts: Counts, jumps: tuple[Jumps, Jumps], rounds: int
    ) -> tuple[Counts, tuple[Jumps, Jumps]]:
        words = emissions(self.views, self._view_counts(counts), self.smoothing)
        step = -(-sum(bucket.cells for bucket in self.buckets) // JUMP_CELLS)
        found = self._sweep(Pass(self.settings.null, words, jumps, rounds=rounds, step=step))
        counted = [found.forward_jumps, found.reverse_jumps]
        older = self.known.jump_counts()
        if older is not None:
            counted = [own + more.ravel() for own, more in zip(counted, older, strict=True)]
        return found, (estimate_jumps(counted[0], jumps[0]), estimate_jumps(counted[1], jumps[1]))

    def _sweep(self, one: Pass) -> Counts:
        counts = self.bitext.sweep(one)
        if not self.index.complete:
            counts.pairs[SHARED] = 0
        return counts

    def _pruned(self, counts: Counts) -> list[ViewCounts]:
        """Return the counts of the views without the very small ones, in the precision they are saved in."""
        found = []
        for view in self._view_counts(counts):
            view.pairs[view.pairs < self.settings.prune] = 0
            sides = [
                FormCounts(_single(side.linked), _single(side.null), side.all_null)
                for side in (view.source, view.target)
            ]
            found.append(ViewCounts(view.pairs, *sides))
        return found


def _state(counts: Counts, jumps: tuple[Jumps, Jumps], done: int) -> Arrays:
    """Return what is known after so many passes with jumps, as arrays."""
    found: Arrays = {name: np.asarray(values) for name, values in counts._asdict().items()}
    for k, own in enumerate(jumps):
        found |= {f"tables_{k}": own.tables, f"classes_{k}": own.classes}
    return found | {"done": np.array(done)}


def _passed(state: Arrays) -> tuple[Counts, tuple[Jumps, Jumps], int]:
    """Return what :func:`_state` was made of."""
    first, second = (Jumps(state[f"tables_{k}"], state[f"classes_{k}"]) for k in (0, 1))
    counted = {name: state[name] for name in Counts._fields}
    likelihood = float(counted.pop("log_likelihood"))
    return Counts(**counted, log_likelihood=likelihood), (first, second), int(state["done"])


def _single(values: Doubles) -> Doubles:
    """Round to single precision."""
    return values.astype(np.float32).astype(np.float64)
