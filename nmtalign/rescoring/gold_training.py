"""Training of a rescorer on gold links.

Adam minimizes the binary cross-entropy of links, 16 pairs per step; early stopping keeps the weights
with the least held-out loss. Sure links are 1, absent links 0, and links that are only possible are ignored.

Axes: B pairs, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from nmtalign.arrays import Flags, Reals
from nmtalign.attention.adam import Schedule, minimize
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.units import UnitCheck
from nmtalign.display import name_pair, with_plural
from nmtalign.errors import DataError, OnBadPair, warn_caller
from nmtalign.links.alignments import GoldAlignment, links_inside
from nmtalign.links.formats import WORD_COUNT_ADVICE, outside_link_error
from nmtalign.positions.position_model import PositionModel, PosteriorsAndRatios, TextScores
from nmtalign.rescoring.network import (
    CellExamples,
    Inputs,
    KnownWords,
    Network,
    cell_loss,
    initial_network,
    known_words,
    make_inputs,
    mean_network,
)
from nmtalign.rescoring.rescorer import AnnotationStyle, Rescored, candidates_of

HALF_WEIGHT_PAIRS = 10  # the gold pairs with which a rescorer gets the weight 1/2
MIN_GOLD_PAIRS = 50  # fewer cannot train a rescorer
MAX_GOLD_WORDS = 128  # gold pairs with more words on a side are ignored
SURE_IMPORTANCE = np.float32(2)  # sure links count more than absent ones because error rates favor recall
WEIGHT_DECAY = np.float32(1e-4)
NETWORKS_PER_RESCORER = 3  # the networks whose mean is the rescorer
GOLD_SCHEDULE = Schedule(held_out_period=6, examples_per_step=16, max_epochs=60, last_rate_share=0.05)


def learn_from_gold(
    scores: TextScores,
    base: PositionModel,
    gold: Sequence[GoldAlignment],
    *,
    frequent: tuple[Sequence[str], Sequence[str]],
    seed: int,
    networks: int = NETWORKS_PER_RESCORER,
) -> Rescored:
    """Return a position model with a rescorer that is trained on the gold links of each pair of a text.

    `frequent` contains the source and the target words that have weights of their own. The initial network
    changes nothing. The mean of several networks, which differ in their seeds and held-out pairs, makes fewer
    errors than one.
    """
    style = AnnotationStyle()
    bucket_posteriors = base.posteriors_of(scores)
    known = known_words(scores, frequent)
    examples = list(examples_of_pairs(scores.text.buckets, bucket_posteriors, gold, known, style))
    first_seed = NETWORKS_PER_RESCORER * seed
    trained = [train_network(examples, first_seed + k) for k in range(networks)]
    return Rescored(
        base=base,
        network=mean_network(trained).rounded(),
        weight=len(gold) / (len(gold) + HALF_WEIGHT_PAIRS),
        frequent=(tuple(frequent[0]), tuple(frequent[1])),
        style=style.shares(),
    )


def _gold_cells(bucket: Bucket, gold: Sequence[GoldAlignment]) -> tuple[Flags, Flags]:
    """Return the sure and the possible links of a bucket, each (T, S, B)."""
    sure = np.zeros(bucket.shape, dtype=bool)
    possible = np.zeros(bucket.shape, dtype=bool)
    for b in bucket.filled_columns.tolist():
        links = gold[int(bucket.sections[b])]
        for s, t in links.sure:
            sure[t, s, b] = True
        for s, t in links.possible:
            possible[t, s, b] = True
    return sure, possible


def examples_of_pairs(
    buckets: Sequence[Bucket],
    bucket_posteriors: Callable[[int], PosteriorsAndRatios],
    gold: Sequence[GoldAlignment],
    known: KnownWords,
    style: AnnotationStyle,
) -> Iterator[CellExamples]:
    """Yield the cells of each pair to learn from, and count the annotation style."""
    for k, bucket in enumerate(buckets):
        posteriors, ratios = bucket_posteriors(k)
        assert ratios is not None  # rescorers are trained on models with a null word
        forward = posteriors.forward
        reverse = posteriors.reverse
        joint = posteriors.joint
        inputs = make_inputs(bucket, known, ratios, forward, reverse, joint)
        sure, possible = _gold_cells(bucket, gold)
        style.add(joint, bucket, known.frequent, sure, possible)
        importance = candidates_of(forward, reverse, bucket.inside).astype(np.float32)  # (T, S, B)
        importance[possible] *= SURE_IMPORTANCE * sure[possible]  # 0 for links that are only possible
        for b in bucket.filled_columns.tolist():
            importance_of_pair = importance[..., b]  # (T, S)
            chosen = importance_of_pair > 0
            if chosen.any():
                # N chosen cells become N pairs of one word each: (N, 1, 1)
                yield CellExamples(
                    inputs=inputs.cells(b, chosen),
                    targets=sure[..., b].astype(np.float32)[chosen, None, None],
                    importance=importance_of_pair[chosen, None, None],
                )


def train_network(examples: Sequence[CellExamples], seed: int) -> Network:
    """Return the network with the least held-out loss, with weights on the grid."""
    start = initial_network(seed)
    if not examples:
        return start.rounded()
    # weights decay towards their initial values, P and v towards zero
    anchor = start._replace(P=np.zeros_like(start.P), v=np.zeros_like(start.v))

    def gradient(network: Network, step: Sequence[CellExamples]) -> list[Reals]:
        _, slopes = cell_loss(network, _joined_examples(step))
        weights = zip(slopes, network, anchor, strict=True)
        return [slope + WEIGHT_DECAY * (weight - target) for slope, weight, target in weights]

    best, _ = minimize(
        start, examples, GOLD_SCHEDULE, gradient=gradient, held_out_loss=_mean_loss_of_pairs, seed=seed
    )
    return best.rounded()


def _mean_loss_of_pairs(network: Network, examples: Sequence[CellExamples]) -> float:
    return float(np.mean([cell_loss(network, cells)[0] for cells in examples]))


def _joined_examples(examples: Sequence[CellExamples]) -> CellExamples:
    """Return the cells of several pairs together."""
    inputs = Inputs(
        features=np.concatenate([cells.inputs.features for cells in examples]),
        target_words=np.concatenate([cells.inputs.target_words for cells in examples]),
        source_words=np.concatenate([cells.inputs.source_words for cells in examples]),
    )
    return CellExamples(
        inputs=inputs,
        targets=np.concatenate([cells.targets for cells in examples]),
        importance=np.concatenate([cells.importance for cells in examples]),
    )


def gold_of_pairs(
    gold: Sequence[GoldAlignment],
    source: EncodedSide,
    target: EncodedSide,
    *,
    file: str | Path | None = None,
    on_error: OnBadPair | None = None,
) -> dict[int, GoldAlignment]:
    """Return the gold links of training pairs by number of the pair, from 0; positions count words of lines.

    Gold links with as many lines as there are pairs have one line per pair, which may be empty. Fewer lines
    belong to the last pairs. Raises DataError if there are more lines than pairs, if a link is outside its
    pair, or if fewer than `MIN_GOLD_PAIRS` pairs have links. A warning says if the links seem to count other
    units than the words. With `on_error`, the error of a link outside is passed on, with the number of the
    pair, and its gold links are taken as none. Errors name `file`, which the links come from.
    """
    pairs = len(source.lengths)
    if len(gold) > pairs:
        raise DataError(f"expected gold links for at most {pairs:,} pairs, found {len(gold):,} lines")
    numbered = dict(enumerate(gold, pairs - len(gold)))
    unit_check = UnitCheck()
    first = pairs - len(gold)
    for n, links in list(numbered.items()):
        if not source.size(n) and not target.size(n):  # was too long, or bad
            numbered[n] = GoldAlignment((), ())
            continue
        try:
            links_inside(sorted(links.possible), source.size(n), target.size(n))
        except DataError as error:
            placed = _placed_error(error, n, first, pairs, file)
            if on_error is None:
                raise placed from None
            on_error(n + 1, placed)
            numbered[n] = GoldAlignment((), ())
        else:
            unit_check.add(n + 1, links.possible, _words_of_line(source, n), _words_of_line(target, n))
    if warning := unit_check.warning():
        warn_caller(f"gold: {warning}")
    words_of_longer_side = np.maximum(source.lengths, target.lengths)
    usable = {
        n: links
        for n, links in numbered.items()
        if links.possible and 0 < words_of_longer_side[n] <= MAX_GOLD_WORDS
    }
    if len(usable) < MIN_GOLD_PAIRS:
        raise DataError(
            f"expected gold links of at least {MIN_GOLD_PAIRS} pairs of at most {MAX_GOLD_WORDS} words, found"
            f" {len(usable)}; remove `gold`, or add hand-aligned pairs"
        )
    return usable


def _words_of_line(side: EncodedSide, n: int) -> list[str]:
    """Return the words of line n; empty words where it is known only how many there are."""
    return side.sentence(n) if side.line_word_of_token is None else [""] * side.size(n)


def _placed_error(error: DataError, n: int, first: int, pairs: int, file: str | Path | None) -> DataError:
    """Return the error of a gold link outside pair n, with its place; gold links begin with pair `first`."""
    if file is None:
        return DataError(f"{name_pair(n)}: gold {error}; {WORD_COUNT_ADVICE}")
    if first:
        lines = with_plural(pairs - first, "gold line")
        reason = f"the {lines} belong to the last of the {pairs:,} pairs, this one to pair {n + 1:,}"
        error = DataError(f"{error}; {reason}; write one line per pair, empty where it has no gold links")
    return outside_link_error(error, n - first + 1, file)
