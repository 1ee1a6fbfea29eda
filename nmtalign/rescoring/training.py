"""Training of a rescorer on gold links.

Adam minimizes the binary cross-entropy of links, one pair a minibatch; early stopping keeps the weights with
the least held-out loss. Sure links are 1, absent links 0, and links that are only possible are left out.

Axes: B pairs, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nmtalign.arrays import Flags
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide
from nmtalign.errors import DataError
from nmtalign.links.alignments import GoldAlignment
from nmtalign.positions.model import BucketPosteriors, TextScores
from nmtalign.rescoring.annotation_style import AnnotationStyle
from nmtalign.rescoring.features import Inputs, Words, inputs_of, known_words
from nmtalign.rescoring.network import Batch, Network, initial, loss_and_gradient, mean_of
from nmtalign.rescoring.optimizer import Adam
from nmtalign.rescoring.rescorer import MIN_POSTERIOR, Rescorer

Frequent = tuple[Sequence[str], Sequence[str]]


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
    bucket_posteriors: Callable[[int], BucketPosteriors],
    gold: Sequence[GoldAlignment],
    *,
    frequent: Frequent,
    seed: int = 0,
    report: Callable[[str], None],
) -> Rescorer:
    """Train a rescorer on the gold links of each pair of a text, and count the annotation style.

    `bucket_posteriors` gives the posteriors of a bucket without a rescorer, `frequent` are the source and
    target words that have a weight. The initial network changes nothing. The mean of several networks, with
    several seeds and held-out pairs, makes fewer errors.
    """
    text, words = scores.text, (tuple(frequent[0]), tuple(frequent[1]))
    known = known_words(text.source, text.target, scores.training_counts, words)
    style = AnnotationStyle()
    batches = list(minibatches(scores, bucket_posteriors, gold, known, style))
    seeds = range(NETWORKS * seed, NETWORKS * (seed + 1))
    network = mean_of([trained(initial(k), batches, k) for k in seeds]).rounded()
    report(f"rescorer: taught by the gold links of {len(gold):,} pairs")
    return Rescorer(network, len(gold) / (len(gold) + FEW_GOLD), words, style.shares())


def _gold_cells(bucket: Bucket, gold: Sequence[GoldAlignment]) -> tuple[Flags, Flags]:
    """Return the sure and the possible links of a bucket, each (T, S, B)."""
    sure, possible = np.zeros((2, *bucket.shape), dtype=bool)
    for column in np.flatnonzero(bucket.pieces >= 0).tolist():
        own = gold[int(bucket.pieces[column])]
        for cells, links in ((sure, own.sure), (possible, own.possible)):
            for s, t in links:
                cells[t, s, column] = True
    return sure, possible


def minibatches(
    scores: TextScores,
    bucket_posteriors: Callable[[int], BucketPosteriors],
    gold: Sequence[GoldAlignment],
    known: Words,
    style: AnnotationStyle,
) -> Iterator[Batch]:
    """Yield a minibatch of cells for each pair, and count the annotation style."""
    for k, bucket in enumerate(scores.text.buckets):
        found, ratios = bucket_posteriors(k)
        posteriors = found.forward, found.reverse, found.joint
        assert ratios is not None  # rescorers are trained on models with a null word
        inputs = inputs_of(bucket, known, ratios, scores.null_ratios, *posteriors)
        sure, possible = _gold_cells(bucket, gold)
        style.add(found.joint, bucket, known.frequent, sure, possible)
        candidates = (np.maximum(found.forward, found.reverse) > MIN_POSTERIOR) & bucket.inside
        importance = candidates.astype(np.float32)
        importance[possible] *= SURE * sure[possible]
        for n in np.flatnonzero(bucket.pieces >= 0).tolist():
            chosen = importance[..., n] > 0
            if chosen.any():
                wanted = sure[..., n].astype(np.float32)[chosen, None, None]
                yield Batch(inputs.cells(n, chosen), wanted, importance[..., n][chosen, None, None])


def joined(batches: Sequence[Batch]) -> Batch:
    """Join minibatches."""
    inputs, targets, importance = zip(*batches, strict=True)
    whole = Inputs(*(np.concatenate(parts) for parts in zip(*inputs, strict=True)))
    return Batch(whole, np.concatenate(targets), np.concatenate(importance))


def trained(first: Network, batches: Sequence[Batch], seed: int) -> Network:
    """Return the network with the least held-out loss, with weights on the grid."""
    if not batches:
        return first.rounded()
    random = np.random.default_rng(seed)
    order = [batches[k] for k in random.permutation(len(batches)).tolist()]
    held = order[::HELD_OUT]
    training = [batch for n, batch in enumerate(order) if n % HELD_OUT] or held
    network, best, least = first.copy(), first, _loss(first, held)
    # weights decay towards their initial values, P and v towards zero
    adam, anchor = Adam(network), first._replace(P=np.zeros_like(first.P), v=np.zeros_like(first.v))
    for _ in range(EPOCHS):
        _run_epoch(network, adam, [training[k] for k in random.permutation(len(training)).tolist()], anchor)
        if (loss := _loss(network, held)) < least:
            best, least = network.copy(), loss
    return best.rounded()


def _loss(network: Network, held: Sequence[Batch]) -> float:
    return float(np.mean([loss_and_gradient(network, batch)[0] for batch in held]))


def _run_epoch(network: Network, adam: Adam, batches: Sequence[Batch], anchor: Network) -> None:
    """Take the steps of one epoch."""
    steps = EPOCHS * -(-len(batches) // STEP)
    for start in range(0, len(batches), STEP):
        _, gradient = loss_and_gradient(network, joined(batches[start : start + STEP]))
        zipped = zip(gradient, network, anchor, strict=True)
        decayed = [g + DECAY * (w - a) for g, w, a in zipped]
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
    S, T = source.size(n), target.size(n)
    for s, t in links.possible:
        if s >= S or t >= T:
            what = f"gold link {s}-{t} lies outside of a pair of {S} and {T} words, number {n + 1}"
            words = " ".join(source.sentence(n))[:60]
            raise DataError(f"{what}: {words!r}; positions count the words between spaces, from 0")
