"""The rescorer: a neural network, trained on gold links, that corrects the posteriors of a sentence pair.

The scores e of the network are log odds of links. They are mixed log-linearly with the posteriors,

    p'(s|t) = softmax over s and null of (1 - w) log p(s|t) + w e(t, s)        the score of null being 0

and in the same way p'(t|s); with the weight w = 1 the network aligns alone. Every link is corrected by
itself, so that a word may get as many links as people give it: the log odds of the joint probability become
(1 - w) logit p + w e.

Some annotators link an article or particle without a translation to the partner of its neighbor, others leave
the word unlinked. The rescorer learns this annotation style from gold links, for neighbors before and after,
on each side, and word by word.

Axes: T target words, S source words, B pairs of a bucket (last).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers, Reals, block_slices
from nmtalign.attention.adam import Schedule, minimize
from nmtalign.attention.weights import softmax
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.unit_fit import LinksCheck
from nmtalign.display import name_pair, with_plural
from nmtalign.errors import DataError, OnBadPair, warn_caller
from nmtalign.links.alignments import GoldAlignment, links_inside
from nmtalign.links.formats import WORD_COUNT_ADVICE
from nmtalign.links.gold import outside_link_error
from nmtalign.links.selection import DEFAULT_THRESHOLD, adjacent_link_cells
from nmtalign.names import SIDES
from nmtalign.positions.position_model import PositionModel, Posteriors, PosteriorsAndRatios, TextScores
from nmtalign.rescoring.network import (
    FEATURE_COUNT,
    MAX_WEIGHTED_WORDS,
    CellExamples,
    Inputs,
    KnownWords,
    Network,
    Ranks,
    bucket_columns,
    cell_loss,
    initial_network,
    known_words,
    log_odds,
    make_inputs,
    mean_network,
    sigmoid,
)
from nmtalign.state import State, Stored

SCORED_COLUMN_MULTIPLE = 16
SCORED_CELLS = 1 << 15  # about the number of cells that are scored at a time
MIN_RESCORED_POSTERIOR = np.float32(0.003)  # links below it in both directions are not rescored
# bounds that keep logarithms finite
MIN_WORD_PROBABILITY = np.float32(1e-30)
MIN_NULL_PROBABILITY = np.float32(1e-6)
FREE_WORD_KINDS = 4  # free target words after and before the linked word, and the same for source words
PRIOR_SHARE = 0.2  # share of free words that annotators link, before any gold links are seen
PRIOR_WORDS = 10  # weight of the prior share
PRIOR_OCCURRENCES = 3  # weight of the share of all frequent words against that of one word


@dataclass(frozen=True, eq=False, repr=False)
class Rescored(PositionModel):
    """A position model whose posteriors are rescored."""

    base: PositionModel  # has a null word
    network: Network
    weight: float  # w, from 0 (changes nothing) to 1 (aligns alone)
    frequent: tuple[tuple[str, ...], tuple[str, ...]]  # source and target words with weights of their own
    style: Floats  # (FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1): shares of :class:`AnnotationStyle`
    gold_log_odds: float = 0.0  # added to the log odds of link probabilities

    @property
    def description(self) -> str:
        return f"{self.base.description} rescored=gold"

    @property
    def null_probability(self) -> float | None:
        return self.base.null_probability

    @property
    def unfitted(self) -> bool:
        return self.base.unfitted

    @property
    def without_rescorer(self) -> PositionModel:
        return self.base

    def posteriors_of(self, scores: TextScores) -> Callable[[int], PosteriorsAndRatios]:
        bucket_posteriors = self.base.posteriors_of(scores)
        if self.weight == 0:
            return bucket_posteriors
        known = known_words(scores, self.frequent)
        return lambda k: self._rescored(bucket_posteriors(k), scores.text.buckets[k], known)

    def _rescored(
        self, unscored: PosteriorsAndRatios, bucket: Bucket, known: KnownWords
    ) -> PosteriorsAndRatios:
        """Return rescored posteriors.

        Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        posteriors, ratios = unscored
        assert ratios is not None  # as there is a null word
        forward = posteriors.forward
        reverse = posteriors.reverse
        joint = posteriors.joint
        e = self._log_odds(bucket, known, ratios, forward, reverse, joint)
        w = np.float32(self.weight)
        inside = bucket.inside
        candidates = candidates_of(forward, reverse, inside)
        corrected = np.where(candidates, sigmoid((1 - w) * log_odds(joint) + w * e), joint)
        rescored = Posteriors(
            forward=mix_posteriors(forward, e, w, inside, axis=1),
            reverse=mix_posteriors(reverse, e, w, inside, axis=0),
            joint=with_style(corrected, self.style, bucket, known.frequent),
        )
        return PosteriorsAndRatios(rescored, ratios)

    def _log_odds(self, bucket: Bucket, known: KnownWords, *cells: Floats) -> Floats:
        """Return the log odds of links, (T, S, B); they do not depend on the other pairs.

        `cells` are the likelihood ratios, p(s|t), p(t|s) and the joint probability.
        """
        T, S, B = bucket.shape
        e = np.empty((T, S, B), np.float32)
        multiples = SCORED_CELLS // (T * S) // SCORED_COLUMN_MULTIPLE
        columns_per_block = max(SCORED_COLUMN_MULTIPLE, multiples * SCORED_COLUMN_MULTIPLE)
        for columns in block_slices(B, columns_per_block):
            cells_of_block = [np.ascontiguousarray(array[..., columns]) for array in cells]
            inputs = make_inputs(bucket_columns(bucket, columns), known, *cells_of_block)
            e[..., columns] = self.network.scores(inputs).transpose(1, 2, 0)
        return e

    def state(self) -> State:
        arrays = self.network._asdict() | {"style": self.style}
        words = {f"{side}_frequent": words for side, words in zip(SIDES, self.frequent, strict=True)}
        values = {"weight": self.weight, "gold_log_odds": self.gold_log_odds}
        return State("rescored", values, arrays, words=words, parts={"base": self.base.state()})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> Rescored:
        C = MAX_WEIGHTED_WORDS + 1
        A = stored.packed[f"{stored.prefix}v"].size
        shapes = (FEATURE_COUNT, A), (A,), (A,), (FEATURE_COUNT,), (C,), (C,), (1,)
        weights = zip(Network._fields, shapes, strict=True)
        return cls(
            base=stored.open("base", vocabularies),
            network=Network(*(stored.array(name, "f", shape) for name, shape in weights)),
            weight=stored.number("weight", minimum=0, maximum=1),
            frequent=(tuple(stored.words("source_frequent")), tuple(stored.words("target_frequent"))),
            style=stored.array("style", "f", (FREE_WORD_KINDS, C), minimum=0, maximum=1),
            gold_log_odds=stored.number("gold_log_odds", minimum=-10, maximum=10),
        )


def candidates_of(forward: Floats, reverse: Floats, inside: Flags) -> Flags:
    """Return the cells (T, S, B) that are rescored: at least one direction gives them a probability."""
    return np.asarray((np.maximum(forward, reverse) > MIN_RESCORED_POSTERIOR) & inside)


def mix_posteriors(p: Floats, e: Floats, weight: np.floating, inside: Flags, axis: int) -> Floats:
    """Return ``softmax((1 - weight) log p + weight e)`` over an axis and the null word, whose score is 0."""
    null_probability = 1 - p.sum(axis=axis, keepdims=True)
    null_scores = np.log(np.maximum(null_probability, MIN_NULL_PROBABILITY)) * (1 - weight)
    word_scores = np.log(np.maximum(p, MIN_WORD_PROBABILITY)) * (1 - weight) + weight * e
    word_scores = np.where(inside, word_scores, np.float32(-np.inf))
    posteriors = softmax(np.concatenate([null_scores, word_scores], axis=axis), axis=axis)
    return np.asarray(np.delete(posteriors, 0, axis=axis))  # without null


def free_words(joint: Floats, bucket: Bucket, ranks: Ranks) -> Iterator[tuple[Flags, Integers]]:
    """Yield the cells (T, S, B) of each kind that link a free word like its neighbor, and the word's rank.

    A word is free if no joint probability (T, S, B) of its links reaches the threshold. `ranks` (V,) are the
    ranks of words among the frequent ones, 0 for all others.
    """
    of_target, of_source = ranks[1][bucket.target][:, None], ranks[0][bucket.source]
    kinds = of_target, of_target, of_source, of_source
    cells = adjacent_link_cells((joint >= DEFAULT_THRESHOLD) & bucket.inside)
    for free, rank in zip(cells, kinds, strict=True):
        yield free & bucket.inside, np.broadcast_to(rank, free.shape)


class AnnotationStyle:
    """Counts free words in gold links, bucket by bucket."""

    def __init__(self) -> None:
        self._linked, self._seen = np.zeros((2, FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1))

    def add(self, joint: Floats, bucket: Bucket, ranks: Ranks, sure: Flags, possible: Flags) -> None:
        """Count the free words of a bucket; links that are only possible do not count."""
        for kind, (cells, rank) in enumerate(free_words(joint, bucket, ranks)):
            annotated = cells & (sure | ~possible)
            self._seen[kind] += np.bincount(rank[annotated], minlength=MAX_WEIGHTED_WORDS + 1)
            self._linked[kind] += np.bincount(rank[annotated & sure], minlength=MAX_WEIGHTED_WORDS + 1)

    def shares(self) -> Floats:
        """Return the share of free words that are linked, by kind and rank.

        The shape is (FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1).
        """
        shares = np.empty_like(self._seen)
        rare, frequent = slice(0, 1), slice(1, None)
        for group in (rare, frequent):
            linked = self._linked[:, group].sum(axis=1, keepdims=True)
            seen = self._seen[:, group].sum(axis=1, keepdims=True)
            shares[:, group] = (linked + PRIOR_WORDS * PRIOR_SHARE) / (seen + PRIOR_WORDS)
        # the share of a frequent word is drawn towards that of all frequent words
        linked = shares[:, frequent] * PRIOR_OCCURRENCES + self._linked[:, frequent]
        shares[:, frequent] = linked / (self._seen[:, frequent] + PRIOR_OCCURRENCES)
        return shares.astype(np.float32)


def with_style(joint: Floats, shares: Floats, bucket: Bucket, ranks: Ranks) -> Floats:
    """Return the joint probability (T, S, B) with links of free words in the annotation style."""
    result = joint.copy()
    for by_rank, (cells, rank) in zip(shares, free_words(joint, bucket, ranks), strict=True):
        share = by_rank[rank]
        np.maximum(result, share, out=result, where=cells & (share >= DEFAULT_THRESHOLD))
    return result


# --- training on gold links ----------------------------------------------------------------------
# Adam minimizes the binary cross-entropy of links, 16 pairs per step; early stopping keeps the weights with
# the least held-out loss. Sure links are 1, absent links 0, and links that are only possible are ignored.

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
    words_of_longer_side = np.maximum(source.lengths, target.lengths)
    check = LinksCheck()
    usable: dict[int, GoldAlignment] = {}
    first = pairs - len(gold)
    for n, links in enumerate(gold, first):
        if not source.size(n) and not target.size(n):  # was too long, or bad
            continue
        try:
            links_inside(sorted(links.possible), source.size(n), target.size(n))
        except DataError as error:
            placed = _placed_error(error, n, first, pairs, file)
            if on_error is None:
                raise placed from None
            on_error(n + 1, placed)
            continue
        check.add(n + 1, links.possible, _words_of_line(source, n), _words_of_line(target, n))
        if links.possible and 0 < words_of_longer_side[n] <= MAX_GOLD_WORDS:
            usable[n] = links
    if warning := check.warning():
        warn_caller(f"gold: {warning}")
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
