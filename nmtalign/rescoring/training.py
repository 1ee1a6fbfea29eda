"""Training of a rescorer on gold links.

Adam minimizes the binary cross-entropy of links, one pair a minibatch; early stopping keeps the weights with
the least held-out loss. Sure links are 1, absent links 0, and links that are only possible are left out.

Axes: B pairs, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nmtalign.arrays import Flags, block_slices
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide
from nmtalign.errors import DataError
from nmtalign.links.alignments import GoldAlignment
from nmtalign.positions.model import BucketPosteriors, PositionModel, TextScores
from nmtalign.rescoring.features import Inputs, Words, inputs_of, known_words
from nmtalign.rescoring.network import Adam, Batch, Network, initial, loss_and_gradient, mean_of
from nmtalign.rescoring.rescorer import AnnotationStyle, Rescored, candidates_of

FEW_GOLD = 10  # gold pairs that give a rescorer the weight 1/2
FEWEST_GOLD = 50  # gold pairs needed to train a rescorer
LONGEST = 128  # words of a side; longer gold pairs are ignored
SURE = np.float32(2)  # importance of a sure link; error rates favor recall
RATE = 0.01  # learning rate of the first step; it falls linearly
LAST_RATE = 0.05  # last learning rate, as a share of the first
EPOCHS, STEP = 60, 16  # epochs, and minibatches of a step
HELD_OUT = 6  # every sixth minibatch is held out, to choose the epoch
DECAY = np.float32(1e-4)
NETWORKS = 3  # number of networks whose mean is taken


def learn_from_gold(
    scores: TextScores,
    base: PositionModel,
    gold: Sequence[GoldAlignment],
    *,
    frequent: tuple[Sequence[str], Sequence[str]],
    seed: int,
    report: Callable[[str], None],
) -> Rescored:
    """Return a position model with a rescorer that is trained on the gold links of each pair of a text.

    `frequent` are the source and target words that have a weight. The initial network changes nothing. The
    mean of several networks, with several seeds and held-out pairs, makes fewer errors.
    """
    words, style = (tuple(frequent[0]), tuple(frequent[1])), AnnotationStyle()
    bucket_posteriors = base.posteriors_of(scores)
    known = known_words(scores, words)
    batches = list(minibatches(scores.text.buckets, bucket_posteriors, gold, known, style))
    seeds = range(NETWORKS * seed, NETWORKS * (seed + 1))
    network = mean_of([trained(batches, k) for k in seeds]).rounded()
    report(f"rescorer: taught by the gold links of {len(gold):,} pairs")
    return Rescored(base, network, len(gold) / (len(gold) + FEW_GOLD), words, style.shares())


def _gold_cells(bucket: Bucket, gold: Sequence[GoldAlignment]) -> tuple[Flags, Flags]:
    """Return the sure and the possible links of a bucket, each (T, S, B)."""
    sure, possible = np.zeros((2, *bucket.shape), dtype=bool)
    for column in np.flatnonzero(bucket.pieces >= 0).tolist():
        of_pair = gold[int(bucket.pieces[column])]
        for cells, links in ((sure, of_pair.sure), (possible, of_pair.possible)):
            for s, t in links:
                cells[t, s, column] = True
    return sure, possible


def minibatches(
    buckets: Sequence[Bucket],
    bucket_posteriors: Callable[[int], BucketPosteriors],
    gold: Sequence[GoldAlignment],
    known: Words,
    style: AnnotationStyle,
) -> Iterator[Batch]:
    """Yield a minibatch of cells for each pair, and count the annotation style."""
    for k, bucket in enumerate(buckets):
        posteriors, ratios = bucket_posteriors(k)
        assert ratios is not None  # rescorers are trained on models with a null word
        forward, reverse, joint = posteriors.forward, posteriors.reverse, posteriors.joint
        inputs = inputs_of(bucket, known, ratios, forward, reverse, joint)
        sure, possible = _gold_cells(bucket, gold)
        style.add(joint, bucket, known.frequent, sure, possible)
        importance = candidates_of(forward, reverse, bucket.inside).astype(np.float32)
        importance[possible] *= SURE * sure[possible]
        for n in np.flatnonzero(bucket.pieces >= 0).tolist():
            chosen = importance[..., n] > 0
            if chosen.any():
                wanted = sure[..., n].astype(np.float32)[chosen, None, None]
                yield Batch(inputs.cells(n, chosen), wanted, importance[..., n][chosen, None, None])


def trained(batches: Sequence[Batch], seed: int) -> Network:
    """Return the network with the least held-out loss, with weights on the grid."""
    network = initial(seed)
    if not batches:
        return network.rounded()
    random = np.random.default_rng(seed)
    order = [batches[k] for k in random.permutation(len(batches)).tolist()]
    held = order[::HELD_OUT]
    training = [batch for n, batch in enumerate(order) if n % HELD_OUT] or held
    best, least, adam = network.rounded(), _loss(network, held), Adam(network)
    # weights decay towards their initial values, P and v towards zero
    anchor = initial(seed)._replace(P=np.zeros_like(network.P), v=np.zeros_like(network.v))
    for _ in range(EPOCHS):
        _run_epoch(network, adam, [training[k] for k in random.permutation(len(training)).tolist()], anchor)
        if (loss := _loss(network, held)) < least:
            best, least = network.rounded(), loss
    return best


def _loss(network: Network, held: Sequence[Batch]) -> float:
    return float(np.mean([loss_and_gradient(network, batch)[0] for batch in held]))


def _run_epoch(network: Network, adam: Adam, batches: Sequence[Batch], anchor: Network) -> None:
    """Take the steps of one epoch."""
    steps = EPOCHS * -(-len(batches) // STEP)
    for step in block_slices(len(batches), STEP):
        inputs, targets, importance = zip(*batches[step], strict=True)
        together = Inputs(*(np.concatenate(parts) for parts in zip(*inputs, strict=True)))
        batch = Batch(together, np.concatenate(targets), np.concatenate(importance))
        _, gradient = loss_and_gradient(network, batch)
        decayed = [g + DECAY * (w - a) for g, w, a in zip(gradient, network, anchor, strict=True)]
        adam.step(decayed, RATE * (1 - (1 - LAST_RATE) * adam.steps / steps))


def gold_of_pairs(
    gold: Sequence[GoldAlignment], source: EncodedSide, target: EncodedSide
) -> dict[int, GoldAlignment]:
    """Return the gold links of training pairs by number of the pair, from 0; positions count words of lines.

    Gold with as many lines as pairs has a line for each, which may be empty. Gold with fewer lines is for the
    last pairs. A DataError if there are more lines than pairs, a link lies outside of its pair, or fewer than
    `FEWEST_GOLD` pairs have links.
    """
    pairs = len(source.lengths)
    if len(gold) > pairs:
        raise DataError(f"expected gold links for at most {pairs:,} pairs, found {len(gold):,} lines")
    numbered = dict(enumerate(gold, pairs - len(gold)))
    for n, links in numbered.items():
        S, T = source.size(n), target.size(n)
        for s, t in links.possible:
            if s >= S or t >= T:
                what = f"gold link {s}-{t} lies outside of a pair of {S} and {T} words, number {n + 1}"
                words = " ".join(source.sentence(n))[:60]
                raise DataError(f"{what}: {words!r}; positions count the words between spaces, from 0")
    longest = np.maximum(source.lengths, target.lengths)
    usable = {n: links for n, links in numbered.items() if links.possible and 0 < longest[n] <= LONGEST}
    if len(usable) < FEWEST_GOLD:
        raise DataError(
            f"expected gold links of at least {FEWEST_GOLD} pairs of at most {LONGEST} words, found"
            f" {len(usable)}; leave them out, or add hand-aligned pairs"
        )
    return usable
