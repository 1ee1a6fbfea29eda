"""Learn an alignment model from a bitext: expectation-maximisation with both directions in agreement.

First some passes without positions (IBM model 1), then some with jumps (a hidden Markov model), both
directions at once. A link counts as ``p(s|t) p(t|s)``: only what both directions believe in is learned (Liang
et al. 2006).

Axes: B pairs of a bucket, T target words, S source words, P word pairs that meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import UsageError
from nmtalign.models.checkpoint import Arrays, Checkpoint
from nmtalign.models.corpus import Bucket, EncodedSide, make_buckets
from nmtalign.models.hmm import (
    Jumps,
    Posterior,
    estimate_jumps,
    forward_backward,
    initial_jumps,
    transitions,
    widths,
)
from nmtalign.models.knowledge import Knowledge, view_knowledge
from nmtalign.models.lexicon import (
    Emissions,
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

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]

LEAST = 1e-5  # links less likely than this are not counted; a higher cut costs accuracy
UNSURE = np.float32(1e-2)  # odds that a direction gives every link and its contrary when it hears the other
FLUSH = 1 << 21  # counted links that are held before they are summed, or as many as there are word pairs
JUMP_CELLS = 1 << 22  # cells that jumps are counted in; in a larger bitext, in every n-th bucket


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is learned from a bitext.

    Attributes
    ----------
    views : tuple of int
        Letters of each view, as of :func:`nmtalign.models.lexicon.shorten`.
    lexicon_passes, jump_passes : int
        Passes over the bitext without and with positions; the first of them knows nothing yet.
    single_passes : int
        So many of the passes without positions count each direction by itself, before the others count what
        both agree on: agreement too early takes the first guess for the truth.
    agreed_passes : int
        So many of the last passes with positions bring both directions to agree before they count.
    rounds : int
        Rounds in which both directions come to agree, in those passes and whenever text is aligned, as of
        :func:`attend`.
    discount : float
        Count that is taken off every word, so that rare words do not claim all of their neighbours.
    floor : float
        Least likelihood ratio of a word pair in a view.
    lexicon_null, null : float
        Probability of the null word in the passes without and with positions.
    own_jumps : int
        So many frequent words have a jump distribution of their own.
    spelling : float
        Count that two words of one spelling start with.
    prune : float
        Counts below this are dropped when all is learned.
    vector_weight : float
        Share of attention vectors in the logits; 0 learns none.
    spectral_weight : float
        Share of vectors of the lexicon's own links in the logits; 0 makes none.
    opinion_weight : float
        Share of a second opinion in the logarithms of the posteriors; 0 learns none.
    opinion_from : int
        Sentence pairs from which on there is one; it takes a good teacher to gain by it.
    opinion_inputs : {"clues", "words", "projections"}
        What it is: :mod:`nmtalign.models.clues` or, over attention vectors, :mod:`nmtalign.models.additive`
        or :mod:`nmtalign.models.projections`.
    opinion_heads : int
        Heads of the projections.
    opinion_teacher : {"posteriors", "bitext", "gold"}
        What it learns from: the links that the other heads find, the likelihood of the bitext, or hand-made
        links; then it is :mod:`nmtalign.models.supervised`.
    seed : int
        Of the vectors and of the second opinion; nothing else is random.
    """

    views: tuple[int, ...] = (0, 3, 4, 6)
    lexicon_passes: int = 4
    single_passes: int = 1
    jump_passes: int = 3
    agreed_passes: int = 2
    rounds: int = 2
    discount: float = 4.0
    floor: float = 5e-4
    lexicon_null: float = 0.03
    null: float = 0.06
    own_jumps: int = 200
    spelling: float = 1.0
    prune: float = 1e-3
    vector_weight: float = 0.0
    spectral_weight: float = 0.0
    opinion_weight: float = 0.0
    opinion_from: int = 0
    opinion_inputs: str = "clues"
    opinion_teacher: str = "posteriors"
    opinion_heads: int = 4
    seed: int = 0

    @property
    def opinion_name(self) -> str:
        """The name of the second opinion among the heads."""
        return "attention" if self.opinion_inputs == "projections" else "bahdanau"

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the heads that are learned from a bitext that is large enough for them."""
        there = {"vectors": self.vector_weight, "spectral": self.spectral_weight}
        there[self.opinion_name] = self.opinion_weight
        return ("lexicon", *(name for name in HEADS if there.get(name)))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self) | {"views": list(self.views)}


PRESETS = {
    "fast": Settings(views=(0, 4), lexicon_passes=3, jump_passes=2, agreed_passes=0, rounds=0),
    "default": Settings(spectral_weight=0.4),
    "best": Settings(
        agreed_passes=3, vector_weight=0.55, spectral_weight=0.3, opinion_weight=0.2, opinion_from=50_000
    ),
}


HEADS = ("lexicon", "vectors", "spectral", "bahdanau", "attention")
_WEIGHTS = {"vectors": 0.55, "spectral": 0.3, "opinion": 0.2}  # of heads that a preset leaves out


def chosen_heads(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of heads in the order of `HEADS`, each once.

    Raises
    ------
    UsageError
        If there are none, or one is unknown.

    Examples
    --------
    >>> chosen_heads(["vectors", "lexicon"])
    ('lexicon', 'vectors')
    """
    chosen = set(names)
    if not chosen or not chosen.issubset(HEADS):
        found = ", ".join(sorted(chosen - set(HEADS))) or "none"
        raise UsageError(f"expected heads among {', '.join(HEADS)}, found {found}")
    return tuple(name for name in HEADS if name in chosen)


def with_heads(
    settings: Settings,
    names: Iterable[str],
    *,
    inputs: str = "clues",
    teacher: str = "posteriors",
    attention_heads: int = 4,
    given: bool = False,
) -> Settings:
    """Return settings that learn the named heads, the lexicon among them.

    Parameters
    ----------
    settings : Settings
    names : iterable of str
        Among `HEADS`.
    inputs : {"clues", "words"}
        Of the head ``bahdanau``; words are looked at by their attention vectors.
    teacher : {"posteriors", "bitext", "gold"}
        Of the head ``bahdanau`` or ``attention``; gold links teach one over clues.
    attention_heads : int
        Of the head ``attention``.
    given : bool
        Whether a head that looks at words has vectors other than those of the head ``vectors``.

    Examples
    --------
    >>> with_heads(Settings(), ["lexicon", "vectors"]).vector_weight
    0.55
    """
    chosen = chosen_heads(names)
    if "lexicon" not in chosen:
        raise UsageError("a model is learned around its lexicon; name it too: lexicon," + ",".join(chosen))
    opinions = [name for name in ("bahdanau", "attention") if name in chosen]
    if len(opinions) == 2:
        raise UsageError("a model has one second opinion; name one of bahdanau and attention")
    if "attention" in chosen:
        inputs = "projections"
    if opinions and inputs != "clues" and "vectors" not in chosen and not given:
        raise UsageError(f"a head that looks at words needs their vectors: lexicon,vectors,{opinions[0]}")

    if teacher == "gold" and inputs != "clues":
        raise UsageError("gold links teach the head bahdanau over clues, not a head that looks at words")

    def weight(own: float, name: str, *, there: bool) -> float:
        return (own or _WEIGHTS[name]) if there else 0.0

    return replace(
        settings,
        vector_weight=weight(settings.vector_weight, "vectors", there="vectors" in chosen),
        spectral_weight=weight(settings.spectral_weight, "spectral", there="spectral" in chosen),
        opinion_weight=weight(settings.opinion_weight, "opinion", there=bool(opinions)),
        opinion_from=0,
        opinion_inputs=inputs,
        opinion_teacher=teacher,
        opinion_heads=attention_heads,
    )


def preset(name: str) -> Settings:
    """Return the settings of a preset by name."""
    if name not in PRESETS:
        raise UsageError(f"expected one of the presets {', '.join(PRESETS)}, found {name!r}")
    return PRESETS[name]


class Sparse(NamedTuple):
    """Numbers to be added to some entries of an array."""

    place: NDArray[np.integer]
    value: NDArray[np.floating]


class Expected(NamedTuple):
    """What one bucket adds to the counts.

    Attributes
    ----------
    links : Sparse
        Agreed links, by number of the word pair.
    source_null, target_null : Sparse
        Unaligned words, by number of the word.
    forward_jumps, reverse_jumps : Sparse
        Jumps, by place in the flattened jump tables.
    log_likelihood : float
    """

    links: Sparse
    source_null: Sparse
    target_null: Sparse
    forward_jumps: Sparse | None = None
    reverse_jumps: Sparse | None = None
    log_likelihood: float = 0.0

    @property
    def sparse(self) -> tuple[Sparse | None, ...]:
        """All that is to be added up."""
        return self.links, self.source_null, self.target_null, self.forward_jumps, self.reverse_jumps


class Counts(NamedTuple):
    """Expected counts of a pass over the bitext."""

    pairs: Doubles  # (P,)
    source_null: Doubles  # (V + 1,)
    target_null: Doubles
    forward_jumps: Doubles  # flattened tables
    reverse_jumps: Doubles
    log_likelihood: float


class _Sum:
    """Adds up sparse numbers in the order they come, so that the sum does not depend on the workers."""

    def __init__(self, size: int) -> None:
        self.total = np.zeros(size)
        self._waiting: list[Sparse] = []
        self._size = 0

    def add(self, numbers: Sparse | None) -> None:
        if numbers is not None:
            self._waiting.append(Sparse(numbers.place.ravel(), numbers.value.ravel()))
            self._size += numbers.place.size
        if self._size > max(FLUSH, len(self.total)):
            self.flush()

    def flush(self) -> Doubles:
        if self._waiting:
            place, value = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
            self.total += np.bincount(place, value, len(self.total))
            self._waiting.clear()
            self._size = 0
        return self.total


def expect_uniform(bucket: Bucket, cells: Ints, null: float) -> Expected:
    """Expect links when nothing is known: every word of the other side is as likely."""
    s = (1 / np.maximum(bucket.source_lengths, 1)).astype(np.float32)
    t = (1 / np.maximum(bucket.target_lengths, 1)).astype(np.float32)
    link = np.broadcast_to((s + t) / 2, cells.shape)
    source_null, target_null = (np.full(w.shape, null, np.float32) for w in (bucket.source, bucket.target))
    return Expected(
        Sparse(cells, link), Sparse(bucket.source, source_null), Sparse(bucket.target, target_null)
    )


def expect_without_positions(
    bucket: Bucket, cells: Ints, words: Emissions, null: float, *, agree: bool
) -> Expected:
    """Expect links by the lexicon alone (IBM model 1, both directions, their product or their mean)."""
    odds = np.float32(null / (1 - null))
    weights = words.pairs.take(cells)  # (T, S, B)
    by_target = weights.sum(axis=1)  # (T, B)
    by_source = weights.sum(axis=0)  # (S, B)
    target_null = odds * bucket.source_lengths.astype(np.float32) * words.target_null[bucket.target]
    source_null = odds * bucket.target_lengths.astype(np.float32) * words.source_null[bucket.source]
    per_target = 1 / np.maximum(by_target + target_null, np.float32(1e-30))
    per_source = 1 / np.maximum(by_source + source_null, np.float32(1e-30))
    if agree:
        weights *= weights
        weights *= per_target[:, None, :]
        weights *= per_source
    else:
        weights *= (per_target[:, None, :] + per_source) / 2
    kept = weights > LEAST
    return Expected(
        Sparse(cells[kept], weights[kept]),
        Sparse(bucket.source, 1 - by_source * per_source),
        Sparse(bucket.target, 1 - by_target * per_target),
    )


class Attention(NamedTuple):
    """Both directions of a bucket: ``forward`` p(s|t) of shape (T, S, B), ``reverse`` p(t|s) of (S, T, B)."""

    forward: Posterior
    reverse: Posterior


class _Direction(NamedTuple):
    """What one direction of a bucket needs besides emissions; see :func:`forward_backward`."""

    transition: Floats
    stop: Floats
    by_null: Floats
    padded: NDArray[np.bool_] | None

    def look(self, emission: Floats, *, count_jumps: bool) -> Posterior:
        """Attend in this direction; `emission` has the observed words first."""
        return forward_backward(emission, *self, count_jumps=count_jumps)


def _direction(
    jumps: Jumps, states: Ints, lengths: NDArray[np.int64], observed: Ints, ratio: Floats, null: float
) -> _Direction:
    """Return the direction in which `observed` words (T, B) are made by `states` (S, B) or by null."""
    padded = observed == 0
    by_null = np.float32(null) * ratio[observed]
    by_null[padded] = 1
    return _Direction(*transitions(jumps, states, lengths, null), by_null, padded if padded.any() else None)


def attend(
    bucket: Bucket,
    emission: Floats,
    words: Emissions,
    jumps: tuple[Jumps, Jumps],
    null: float,
    *,
    rounds: int = 0,
    count_jumps: bool = False,
) -> Attention:
    """Attend in both directions with memory of where attention looked last.

    Parameters
    ----------
    emission : float32 array of shape (T, S, B)
        Likelihood ratio of each cell to chance.
    rounds : int
        So many times each direction hears what the other believes of each link, and attends anew.
    count_jumps : bool
        As of :func:`nmtalign.models.hmm.forward_backward`.

    Returns
    -------
    Attention
        With the log-likelihood of each direction by itself.

    Notes
    -----
    Among the distributions over alignments in which both directions give each link the same probability,
    those nearest to the two models (in relative entropy) have the emissions ``r u`` and ``r / u``, with one
    number u for each cell. A round moves u to where the odds of both directions would meet if cells did not
    touch each other::

        u <- u sqrt(odds of p(t|s) / odds of p(s|t))

    References
    ----------
    Ganchev, Graça, Gillenwater and Taskar (2010), "Posterior regularization for structured latent variable
    models", section 5.2 (symmetric constraints).
    """
    null_ratios = words.target_null, words.source_null
    forward = _direction(
        jumps[0], bucket.source, bucket.source_lengths, bucket.target, null_ratios[0], null
    )
    reverse = _direction(
        jumps[1], bucket.target, bucket.target_lengths, bucket.source, null_ratios[1], null
    )
    by_source, by_target = emission, emission.transpose(1, 0, 2)

    def look(*, last: bool) -> Attention:
        counted = count_jumps and last
        return Attention(
            forward.look(by_source, count_jumps=counted), reverse.look(by_target, count_jumps=counted)
        )

    found = alone = look(last=rounds == 0)
    for number in range(1, rounds + 1):
        step = _odds(found.reverse.attention).transpose(1, 0, 2) / _odds(found.forward.attention)
        np.sqrt(step, out=step)
        by_source = by_source * step
        by_target = by_target / step.transpose(1, 0, 2)
        found = look(last=number == rounds)
    return Attention(
        found.forward._replace(log_likelihood=alone.forward.log_likelihood),
        found.reverse._replace(log_likelihood=alone.reverse.log_likelihood),
    )


def _odds(attention: Floats) -> Floats:
    """Return the odds of links, none of which is surer or more hopeless than `UNSURE`."""
    return np.asarray((attention + UNSURE) / (1 + UNSURE - attention))


def expect_with_jumps(
    bucket: Bucket,
    cells: Ints,
    words: Emissions,
    jumps: tuple[Jumps, Jumps],
    null: float,
    *,
    rounds: int = 0,
    count_jumps: bool,
) -> Expected:
    """Expect links by lexicon and jumps (hidden Markov model, both directions, their product)."""
    forward, reverse = attend(
        bucket, words.pairs.take(cells), words, jumps, null, rounds=rounds, count_jumps=count_jumps
    )
    link = forward.attention * reverse.attention.transpose(1, 0, 2)
    kept = link > LEAST
    real = bucket.pairs >= 0
    found = Expected(
        Sparse(cells[kept], link[kept]),
        Sparse(bucket.source, 1 - reverse.attention.sum(axis=1)),
        Sparse(bucket.target, 1 - forward.attention.sum(axis=1)),
        log_likelihood=float(forward.log_likelihood[real].sum() + reverse.log_likelihood[real].sum()),
    )
    if forward.jumps is None or reverse.jumps is None:
        return found
    return found._replace(
        forward_jumps=Sparse(*widths(forward.jumps, bucket.source, bucket.source_lengths, jumps[0])),
        reverse_jumps=Sparse(*widths(reverse.jumps, bucket.target, bucket.target_lengths, jumps[1])),
    )


class Pass(NamedTuple):
    """What is known in one pass over the bitext.

    Attributes
    ----------
    null : float
        Probability of the null word.
    words : Emissions, optional
        Left out in the very first pass.
    jumps : (Jumps, Jumps), optional
        Left out in passes without positions.
    agree : bool
        As of :func:`expect_without_positions`.
    rounds : int
        As of :func:`attend`.
    step : int
        Jumps are counted in every so many-th bucket.
    """

    null: float
    words: Emissions | None = None
    jumps: tuple[Jumps, Jumps] | None = None
    agree: bool = True
    rounds: int = 0
    step: int = 1

    def expect(self, k: int, bucket: Bucket, cells: Ints) -> Expected:
        """Return what bucket k adds to the counts."""
        if self.words is None:
            return expect_uniform(bucket, cells, self.null)
        if self.jumps is None:
            return expect_without_positions(bucket, cells, self.words, self.null, agree=self.agree)
        count_jumps = k % self.step == 0
        return expect_with_jumps(
            bucket, cells, self.words, self.jumps, self.null, rounds=self.rounds, count_jumps=count_jumps
        )


def summed(found: Iterable[Expected], sizes: Sequence[int], jumps: Sequence[Jumps]) -> Counts:
    """Add up what buckets expect, in order; `sizes`: numbers of word pairs, source words, target words."""
    sums = [_Sum(size) for size in (*sizes, *(own.tables.size for own in jumps))]
    log_likelihood = 0.0
    for expected in found:
        for total, numbers in zip(sums, expected.sparse, strict=False):
            total.add(numbers)
        log_likelihood += expected.log_likelihood
    totals = [total.flush() for total in sums] + [np.zeros(0)] * (2 - len(jumps))
    for counts in totals[:3]:
        counts[0] = 0
    return Counts(totals[0], totals[1], totals[2], totals[3], totals[4], log_likelihood)


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
