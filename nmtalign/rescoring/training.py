"""Training of a rescorer: by knowledge distillation, or by gold links.

Both minimise the binary cross-entropy of links with Adam, in minibatches, with early stopping on the loss of
held-out minibatches. Distillation has soft targets: the mean of the posteriors of both directions that the
aligner finds in a sample of its bitext. Gold links are 1 where sure, 0 where absent, left out where possible.

Axes: B pairs, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide
from nmtalign.errors import DataError
from nmtalign.links.alignments import GoldAlignment
from nmtalign.positions.model import BucketPosteriors, TextScores
from nmtalign.rescoring.convention import Convention, Links
from nmtalign.rescoring.features import LEXICAL, POSTERIOR, Counts, Floats, Inputs, Vectors
from nmtalign.rescoring.network import (
    HIDDEN,
    WORD_HIDDEN,
    Batch,
    Network,
    Weights,
    initial,
    loss_and_gradient,
    mean_of,
)
from nmtalign.rescoring.optimiser import Adam
from nmtalign.rescoring.rescorer import MIN_POSTERIOR, Reader, Rescorer
from nmtalign.training.checkpoint import Arrays, Checkpoint

Frequent = tuple[Sequence[str], Sequence[str]]
Report = Callable[[str], None]


class Sample(NamedTuple):
    """A text with what attends in its buckets: the scores of its words and the posteriors of the aligner."""

    scores: TextScores
    attend: Callable[[int], BucketPosteriors]


WEIGHT = 0.2  # of a distilled rescorer, and with `FEW` pairs half of it
FEW = 100
FEW_GOLD = 10  # gold pairs with which a rescorer has the weight 1/2
FEWEST_GOLD = 50  # gold pairs that teach a rescorer
LONGEST = 128  # words of a side of the pairs that teach
SURE = np.float32(2)  # importance of a sure link: error rates ask for links of low odds
LAST_RATE = 0.05  # last learning rate, as a share of the first


class Hyperparameters(NamedTuple):
    """Hyperparameters of training.

    Attributes
    ----------
    rate : float
        Learning rate of the first step; it falls linearly.
    epochs, patience : int
        Most epochs, and epochs without progress after which training stops.
    size, batches_per_step : int
        Most pairs of a minibatch, all of one bucket, and minibatches of one step.
    held_out : int
        One minibatch in so many is kept for early stopping.
    decay : float
        Of weights inside and after a tanh towards zero, of all others towards the first ones.
    """

    rate: float
    epochs: int
    patience: int
    size: int
    batches_per_step: int
    held_out: int
    decay: float = 0.0


DISTILLATION = Hyperparameters(0.01, 3, 2, 32, 1, 20)
OF_WORDS = Hyperparameters(0.01, 6, 2, 32, 1, 20)
GOLD = Hyperparameters(0.01, 60, 60, 1, 16, 6, 1e-4)
GOLD_FEATURES, NETWORKS = LEXICAL + POSTERIOR, 3
PAIRS = 10_000  # pairs of the sample that a rescorer is distilled on
STEPS, PASSES = 100, 10  # a small sample makes smaller minibatches, about so many, and more epochs


def chosen_pairs(source: EncodedSide, target: EncodedSide, seed: int) -> list[int]:
    """Return numbers of the pairs to distil on: some that have words on both sides, and not too many."""
    longest, shortest = np.maximum(source.lengths, target.lengths), np.minimum(source.lengths, target.lengths)
    usable = np.flatnonzero((shortest > 0) & (longest <= LONGEST))
    chosen: list[int] = np.random.default_rng(seed).permutation(usable)[:PAIRS].tolist()
    return chosen


def distil(
    sample: Sample,
    *,
    name: str,
    inputs: str,
    counts: Counts,
    frequent: Frequent,
    vectors: Vectors | None = None,
    pairs: int = PAIRS,
    seed: int = 0,
    kept: Checkpoint | None = None,
    report: Report | None = None,
) -> Rescorer:
    """Train a rescorer on the posteriors of an aligner.

    Parameters
    ----------
    sample : Sample
        Pairs of the bitext, with an aligner without a rescorer.
    name : {"additive", "scaled-dot"}
    inputs : {"features", "words"}
    counts, vectors
        As of :meth:`nmtalign.rescoring.rescorer.Rescorer.reader`; additive over features takes no vectors.
    frequent : (sequence of str, sequence of str)
        Source and target words that get a weight of their own.
    pairs : int
        Of the whole bitext; few of them make a small weight.
    seed : int
    kept : Checkpoint, optional
        Keeps the state of training; the same call goes on from there and returns the same weights.
    report : callable, optional
        Called with a line of text after each pass.

    References
    ----------
    Hinton, Vinyals and Dean (2015), "Distilling the Knowledge in a Neural Network".
    """
    over_words = inputs == "words"
    if name == "additive" and not over_words:
        vectors = None
    D = 0 if vectors is None else vectors[0].shape[1]
    hidden = WORD_HIDDEN if over_words and name == "additive" else HIDDEN if D == 0 else D
    network = initial(name, D, 0 if over_words else LEXICAL, seed, hidden)
    few = ((), ()) if over_words else (tuple(frequent[0]), tuple(frequent[1]))
    first = Rescorer(network, inputs, "posteriors", WEIGHT * pairs / (pairs + FEW), few)
    parameters = _fitted(OF_WORDS if over_words else DISTILLATION, len(sample.scores.text.source.lengths))

    def targets(bucket: Bucket, forward: Floats, reverse: Floats, joint: Floats) -> tuple[Floats, Floats]:
        return np.float32(0.5) * (forward + reverse), bucket.inside.astype(np.float32)

    batches = minibatches(sample, first.reader(*_sides(sample), counts, vectors), parameters.size, targets)
    return trained(first, list(batches), parameters, seed, kept=kept, report=report)


def learn_from_gold(
    sample: Sample,
    gold: Sequence[GoldAlignment],
    *,
    counts: Counts,
    frequent: Frequent,
    seed: int = 0,
    report: Report | None = None,
) -> Rescorer:
    """Train an additive rescorer on gold links, which starts as the aligner itself; count their convention.

    Few pairs hold out fewer: the mean of networks that start, and hold out, differently errs less.

    Parameters
    ----------
    sample, counts, frequent, seed, report
        As of :func:`distil`, of the pairs that have gold links.
    gold : sequence of GoldAlignment
        Of each pair.
    """
    network = initial("additive", 0, GOLD_FEATURES, seed)
    weight = len(gold) / (len(gold) + FEW_GOLD)
    first = Rescorer(network, "features", "gold", weight, (tuple(frequent[0]), tuple(frequent[1])))

    reader, convention = first.reader(*_sides(sample), counts), Convention()

    def targets(bucket: Bucket, forward: Floats, reverse: Floats, joint: Floats) -> tuple[Floats, Floats]:
        sure, possible = _gold_cells(bucket, gold)
        convention.add(joint, bucket, reader.known.frequent, sure, possible)
        importance = ((np.maximum(forward, reverse) > MIN_POSTERIOR) & bucket.inside).astype(np.float32)
        importance[possible] *= SURE * sure[possible]
        return sure.astype(np.float32), importance

    batches = list(minibatches(sample, reader, GOLD.size, targets))
    found = [
        trained(replace(first, network=initial("additive", 0, GOLD_FEATURES, k)), batches, GOLD, k)
        for k in range(NETWORKS * seed, NETWORKS * (seed + 1))
    ]
    if report is not None:
        report(f"rescorer: taught by the gold links of {len(gold):,} pairs")
    network = mean_of([own.network for own in found]).rounded()
    return replace(first, network=network, convention=convention.shares())


def _gold_cells(bucket: Bucket, gold: Sequence[GoldAlignment]) -> tuple[Links, Links]:
    """Return the sure and the possible links of a bucket, each (T, S, B)."""
    sure, possible = np.zeros((2, *bucket.shape), dtype=bool)
    for column in np.flatnonzero(bucket.pairs >= 0).tolist():
        own = gold[int(bucket.pairs[column])]
        for cells, links in ((sure, own.sure), (possible, own.possible)):
            for s, t in links:
                cells[t, s, column] = True
    return sure, possible


def _fitted(parameters: Hyperparameters, pairs: int) -> Hyperparameters:
    """Return hyperparameters for a sample of so many pairs: few pairs are no reason for few steps."""
    epochs = min(max(parameters.epochs * PAIRS // max(pairs, 1), parameters.epochs), PASSES)
    return parameters._replace(epochs=epochs, size=min(parameters.size, max(1, pairs // STEPS)))


Targets = Callable[..., tuple[Floats, Floats]]


def _sides(sample: Sample) -> tuple[EncodedSide, EncodedSide]:
    return sample.scores.text.source, sample.scores.text.target


def minibatches(sample: Sample, reader: Reader, size: int, targets: Targets) -> Iterator[Batch]:
    """Give the minibatches of a text; of words without vectors as lists of the cells that count."""
    for k, bucket in enumerate(sample.scores.text.buckets):
        found, ratios = sample.attend(k)
        posteriors = found.forward, found.reverse, found.joint
        assert ratios is not None  # rescorers are trained on models with a null word
        inputs = reader.read(bucket, ratios, sample.scores.null_ratios, *posteriors)
        wanted, importance = (x.transpose(2, 0, 1) for x in targets(bucket, *posteriors))
        for start in range(0, int((bucket.pairs >= 0).sum()), size):
            some = slice(start, start + size)
            yield from _minibatch(inputs.pairs(some), wanted[some], importance[some])


def _minibatch(inputs: Inputs, targets: Floats, importance: Floats) -> Iterator[Batch]:
    chosen = importance > 0
    if not chosen.any():
        return
    if inputs.queries.shape[-1]:
        yield Batch(inputs, np.ascontiguousarray(targets), np.ascontiguousarray(importance))
    else:
        one = (-1, 1, 1)
        yield Batch(inputs.cells(chosen), targets[chosen].reshape(one), importance[chosen].reshape(one))


def joined(batches: Sequence[Batch]) -> Batch:
    """Return one minibatch of several; several are lists of cells."""
    if len(batches) == 1:
        return batches[0]
    inputs, targets, importance = zip(*batches, strict=True)
    whole = Inputs(*(np.concatenate(parts) for parts in zip(*inputs, strict=True)))
    return Batch(whole, np.concatenate(targets), np.concatenate(importance))


class _State:
    """State of training: network, optimiser, best weights."""

    def __init__(self, network: Network, held: Sequence[Batch]) -> None:
        self.held = held
        self.network = network.replace(network.weights.copy())
        self.adam = Adam(self.network.weights)
        self.best = network.weights.copy()
        self.least, self.waited, self.epochs = self.loss(), 0, 0

    def loss(self) -> float:
        """Return the loss of the held-out minibatches."""
        return float(np.mean([loss_and_gradient(self.network, batch)[0] for batch in self.held]))

    def end_epoch(self) -> float:
        """Look at the held-out minibatches; return their loss."""
        self.epochs += 1
        loss = self.loss()
        self.waited = 0 if loss < self.least else self.waited + 1
        if loss < self.least:
            self.best, self.least = self.network.weights.copy(), loss
        return loss

    def arrays(self) -> Arrays:
        """Return the state; the random numbers are drawn again."""
        numbers = (self.adam.steps, self.least, self.waited, self.epochs)
        found: Arrays = {"numbers": np.array(numbers, np.float64)}
        parts = self.network.weights, self.best, self.adam.means, self.adam.squares
        for name, arrays in zip(("weights", "best", "means", "squares"), parts, strict=True):
            found |= {f"{name}_{k}": array for k, array in enumerate(arrays)}
        return found

    def restore(self, arrays: Arrays) -> None:
        """Go on from a state of the same training."""
        for name, own in self.arrays().items():
            if name != "numbers":
                own[...] = arrays[name]
        steps, least, waited, epochs = arrays["numbers"].tolist()
        self.adam.steps, self.least, self.waited, self.epochs = int(steps), least, int(waited), int(epochs)


def trained(
    first: Rescorer,
    batches: Sequence[Batch],
    parameters: Hyperparameters,
    seed: int,
    *,
    kept: Checkpoint | None = None,
    report: Report | None = None,
) -> Rescorer:
    """Return the rescorer with the weights of the least held-out loss, on their grid."""
    if not batches:
        return replace(first, network=first.network.rounded())
    random = np.random.default_rng(seed)
    order = [batches[k] for k in random.permutation(len(batches)).tolist()]
    held = order[:: parameters.held_out]
    training = [batch for n, batch in enumerate(order) if n % parameters.held_out] or held
    state = _State(first.network, held)
    if kept is not None and (found := kept.read()) is not None:
        state.restore(found)
    anchor = _anchor(first.network.weights)
    for number in range(parameters.epochs):
        shuffled = [training[k] for k in random.permutation(len(training)).tolist()]
        if number < state.epochs:
            continue
        if state.waited == parameters.patience:
            break
        _run_epoch(state, shuffled, parameters, anchor)
        loss = state.end_epoch()
        if report is not None:
            report(f"rescorer: epoch {number + 1} of {parameters.epochs}, held-out loss {loss:.5f} a cell")
        if kept is not None:
            kept.write_if_due(state.arrays)
    return replace(first, network=first.network.replace(state.best).rounded())


def _anchor(first: Weights) -> Weights:
    """Return what weights decay to."""
    return first._replace(**{name: np.zeros_like(getattr(first, name)) for name in ("W", "U", "P", "v")})


def _run_epoch(state: _State, batches: Sequence[Batch], parameters: Hyperparameters, anchor: Weights) -> None:
    """Take the steps of one pass over the minibatches."""
    steps = parameters.epochs * -(-len(batches) // parameters.batches_per_step)
    decay = np.float32(parameters.decay)
    for start in range(0, len(batches), parameters.batches_per_step):
        batch = joined(batches[start : start + parameters.batches_per_step])
        _, gradient = loss_and_gradient(state.network, batch)
        zipped = zip(gradient, state.network.weights, anchor, strict=True)
        decayed = [g + decay * (w - a) for g, w, a in zipped]
        rate = parameters.rate * (1 - (1 - LAST_RATE) * state.adam.steps / steps)
        state.adam.step(decayed, rate)


def gold_of_pairs(
    gold: Sequence[GoldAlignment], source: EncodedSide, target: EncodedSide
) -> dict[int, GoldAlignment]:
    """Return the gold links to train on, by number of their pair from 0.

    As many lines as pairs are one for each, an empty one where there is none; fewer are those of the last
    pairs.

    Raises
    ------
    DataError
        If there are more lines than pairs, a link lies outside of its pair, or fewer pairs than FEWEST_GOLD
        have links.
    """
    pairs = len(source.lengths)
    if len(gold) > pairs:
        raise DataError(f"expected gold links for at most {pairs:,} pairs, found {len(gold):,} lines")
    found = dict(enumerate(gold, pairs - len(gold)))
    for n, links in found.items():
        _check_inside(n, links, source, target)
    longest = np.maximum(source.lengths, target.lengths)
    found = {n: links for n, links in found.items() if links.possible and 0 < longest[n] <= LONGEST}
    if len(found) < FEWEST_GOLD:
        raise DataError(
            f"expected gold links of at least {FEWEST_GOLD} pairs of at most {LONGEST} words, found"
            f" {len(found)}; leave them out, or add hand-aligned pairs"
        )
    return found


def _check_inside(n: int, links: GoldAlignment, source: EncodedSide, target: EncodedSide) -> None:
    S, T = int(source.lengths[n]), int(target.lengths[n])
    for s, t in links.possible:
        if s >= S or t >= T:
            what = f"gold link {s}-{t} lies outside of a pair of {S} and {T} words, number {n + 1}"
            words = " ".join(source.sentence(n))[:60]
            raise DataError(f"{what}: {words!r}; was the text cut into words otherwise?")
