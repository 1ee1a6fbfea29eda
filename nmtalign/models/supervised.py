"""A scorer of links that learns from hand-made ones: what the people who made them call a link.

Bahdanau's additive scorer over clues, over the posteriors of the other heads, and over the most frequent
words of both sides,

    logit p(t, s) = u . phi(t, s) + v . tanh(P phi(t, s)) + a[f_t] + b[e_s]

where the logit of the joint probability is among phi and has the weight 1 at the start, all else none: a
scorer that has seen little is the unsupervised aligner. It corrects single links, not the attention of a
word, so that a word may get as many links as people give it.

Axes: T target words, S source words, B pairs of a bucket (last), F inputs, H hidden units, N cells, W
frequent words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.adam import Adam
from nmtalign.models.clues import BLOCK, CLUES, Clues, Facts, clues, facts
from nmtalign.models.corpus import Bucket, EncodedSide
from nmtalign.models.distillation import LAST_RATE
from nmtalign.models.lexicon import Emissions
from nmtalign.models.opinion import Array, Counts, Floats, SecondOpinion

INPUTS = CLUES + 16
HIDDEN = 16  # of each of the networks that are averaged
NETWORKS = 3
FREQUENT = 60  # words of a side
DOUBTFUL = np.float32(0.003)  # cells that one direction at least holds for as likely are looked at
FLOOR = np.float32(1e-4)  # of probabilities in logarithms
EXTREME = 12.0  # logit
SURE = 2.0  # a sure link weighs so much more than a cell without one: error rates ask for links of low odds
PASSES = 60
RATE = 0.01
DECAY = 1e-4
BATCH = 16  # sentence pairs of a step
CELLS = 15.0  # doubtful cells of a sentence pair, about: scales the gradient
HELD_OUT = 6  # one pair in so many is kept to see when to stop


class ScorerWeights(NamedTuple):
    """The numbers that are learned.

    Attributes
    ----------
    hidden : array of shape (H, F)
        P.
    output : array of shape (H,)
        v.
    direct : array of shape (F,)
        u.
    source_words, target_words : arrays of shape (W + 1,)
        b and a; the first entry, that of all other words, stays zero.
    """

    hidden: Array
    output: Array
    direct: Array
    source_words: Array
    target_words: Array


def initial_scorer(seed: int, hidden: int = HIDDEN) -> ScorerWeights:
    """Return weights that leave the joint probability nearly as it is."""
    random = np.random.default_rng(seed)
    direct = np.zeros(INPUTS)
    direct[-2] = 1
    arrays = (
        random.normal(0, 0.3, (hidden, INPUTS)),
        random.normal(0, 0.1 * HIDDEN**-0.5, hidden),
        direct,
        np.zeros(FREQUENT + 1),
        np.zeros(FREQUENT + 1),
    )
    return ScorerWeights(*(a.astype(np.float32) for a in arrays))


def most_frequent(words: Sequence[str], counts: NDArray[np.integer]) -> list[str]:
    """Return the most frequent words, of the same count the earlier first; the first word is the padding."""
    order = 1 + np.argsort(-np.asarray(counts[1:]), kind="stable")[:FREQUENT]
    return [words[k] for k in order.tolist()]


class SeenLinks(NamedTuple):
    """Clues of a bucket, and which frequent word stands where: (S, B) and (T, B), 0 for all others."""

    clues: Clues
    source: NDArray[np.integer]
    target: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class LinkReader:
    """Reads the buckets of one text; classes are the places of words among the frequent ones, from 1."""

    known: Facts
    source_classes: NDArray[np.integer]
    target_classes: NDArray[np.integer]

    def read(self, bucket: Bucket, emission: Floats, words: Emissions) -> SeenLinks:
        """Return what the scorer looks at, from likelihood ratios (T, S, B)."""
        found = clues(bucket, emission, words, self.known)
        return SeenLinks(found, self.source_classes[bucket.source], self.target_classes[bucket.target])


class Cells(NamedTuple):
    """What is known of the doubtful cells: inputs (F, N), frequent words (N,) of both sides."""

    inputs: Array
    source: NDArray[np.integer]
    target: NDArray[np.integer]

    def part(self, chosen: NDArray[np.integer]) -> Cells:
        """Return some of the cells."""
        return Cells(self.inputs[:, chosen], self.source[chosen], self.target[chosen])


def doubtful_cells(
    seen: SeenLinks, forward: Floats, reverse: Floats, joint: Floats
) -> tuple[NDArray[np.bool_], Cells]:
    """Return which cells are looked at, and what the scorer takes from p(s|t), p(t|s), joint (T, S, B)."""
    doubtful = (np.maximum(forward, reverse) > DOUBTFUL) & seen.clues.inside
    t, s, b = np.nonzero(doubtful)
    g = np.sqrt(forward * reverse)
    framed = np.zeros((g.shape[0] + 2, g.shape[1] + 2, g.shape[2]), g.dtype)
    framed[1:-1, 1:-1] = g
    beside = np.maximum(framed[t, s + 1, b], framed[t + 2, s + 1, b])  # above and below
    np.maximum(beside, np.maximum(framed[t + 1, s, b], framed[t + 1, s + 2, b]), out=beside)
    p, q, own = forward[t, s, b], reverse[t, s, b], g[t, s, b]
    logit = np.log(np.maximum(joint[t, s, b], 1e-9)) - np.log(np.maximum(1 - joint[t, s, b], 1e-9))
    inputs = [
        np.log(np.maximum(p, FLOOR)) / 4 + 1,
        np.log(np.maximum(q, FLOOR)) / 4 + 1,
        p,
        q,
        framed[t, s, b] + framed[t + 2, s + 2, b],
        beside,
        g.max(axis=1)[t, b] - own,
        g.max(axis=0)[s, b] - own,
        1 - forward.sum(axis=1)[t, b],
        1 - reverse.sum(axis=0)[s, b],
        forward.sum(axis=0)[s, b],
        reverse.sum(axis=1)[t, b],
        seen.clues.target[1][t, b],
        seen.clues.source[1][s, b],
        np.clip(logit, -EXTREME, EXTREME),
        np.ones_like(p),
    ]
    found = np.concatenate([seen.clues.cells[:, t, s, b], np.stack(inputs)]).astype(np.float32)
    return doubtful, Cells(found, seen.source[s, b], seen.target[t, b])


def scores(weights: ScorerWeights, cells: Cells) -> Floats:
    """Return the logits (N,) of cells, in blocks of one size: a cell gets the same bits anywhere."""
    layers = np.concatenate([weights.hidden, weights.direct[None]])  # (H + 1, F)
    total = cells.inputs.shape[1]
    found = np.empty(total, np.float32)
    for start in range(0, total, BLOCK):
        block = cells.inputs[:, start : start + BLOCK]
        n = block.shape[1]
        both = np.einsum("hf,fn->hn", layers, np.pad(block, ((0, 0), (0, BLOCK - n))))
        hidden = np.tanh(both[:-1])
        found[start : start + n] = (np.einsum("h,hn->n", weights.output, hidden) + both[-1])[:n]
    found += weights.source_words[cells.source]
    found += weights.target_words[cells.target]
    return found


@dataclass(frozen=True, eq=False)
class LinkScorer:
    """An additive scorer of links.

    Attributes
    ----------
    weights : ScorerWeights
    source_words, target_words : list of str
        The frequent ones.

    References
    ----------
    Bahdanau, Cho and Bengio (2014), A.1.2, for the form of the score.
    """

    weights: ScorerWeights
    source_words: list[str]
    target_words: list[str]

    def reader(self, source: EncodedSide, target: EncodedSide, counts: Counts) -> LinkReader:
        """Return what reads a text whose words occur so often in what was learned from."""
        known = facts((source.words, target.words), counts)
        classes = []
        for side, frequent in ((source, self.source_words), (target, self.target_words)):
            place = {word: k for k, word in enumerate(frequent, 1)}
            classes.append(np.array([place.get(word, 0) for word in side.words]))
        return LinkReader(known, classes[0], classes[1])

    def replace(self, weights: Sequence[Array]) -> LinkScorer:
        """Return the scorer with other weights."""
        return LinkScorer(ScorerWeights(*weights), self.source_words, self.target_words)


@dataclass(frozen=True, eq=False)
class GoldOpinion(SecondOpinion):
    """A second opinion on links rather than on attention, learned from hand-made ones."""

    network: LinkScorer

    def judge(self, seen: SeenLinks, forward: Floats, reverse: Floats, joint: Floats) -> Floats:
        """Return the joint probability after this opinion; the logits of both are averaged by its share."""
        doubtful, cells = doubtful_cells(seen, forward, reverse, joint)
        share = np.float32(self.share)
        logit = share * scores(self.network.weights, cells) + (1 - share) * cells.inputs[-2]
        judged = joint.copy()
        judged[doubtful] = 1 / (1 + np.exp(-logit))
        return judged


class Taught(NamedTuple):
    """Cells of sentence pairs with gold links.

    Attributes
    ----------
    cells : Cells
    links : array of shape (N,)
        1 for a sure link and 0 for none; cells of merely possible links are left out.
    pairs : array of shape (N,)
        Number of the sentence pair of each cell.
    """

    cells: Cells
    links: Floats
    pairs: NDArray[np.integer]


def loss_and_gradient(weights: ScorerWeights, cells: Cells, links: Array) -> tuple[float, ScorerWeights]:
    """Return the cross-entropy of cells, a sure link weighing `SURE` times, and its gradient."""
    hidden = np.tanh(weights.hidden @ cells.inputs)  # (H, N)
    logit = weights.output @ hidden + weights.direct @ cells.inputs
    logit = logit + weights.source_words[cells.source] + weights.target_words[cells.target]
    importance = np.where(links == 1, SURE, 1.0).astype(logit.dtype)
    loss = float((importance * (np.logaddexp(0, logit) - links * logit)).sum())
    d = importance * (1 / (1 + np.exp(-logit)) - links)
    back = (1 - hidden * hidden) * (weights.output[:, None] * d)
    by_word = [
        np.bincount(place, d, len(own)).astype(d.dtype)
        for place, own in ((cells.source, weights.source_words), (cells.target, weights.target_words))
    ]
    for gradient in by_word:
        gradient[0] = 0
    return loss, ScorerWeights(back @ cells.inputs.T, hidden @ d, cells.inputs @ d, by_word[0], by_word[1])


def _learned(first: ScorerWeights, taught: Taught, seed: int) -> ScorerWeights:
    """Descend the loss from the first weights; return those that tell held-out pairs best."""
    random = np.random.default_rng(seed)
    order = random.permutation(np.unique(taught.pairs))
    held = np.flatnonzero(np.isin(taught.pairs, order[::HELD_OUT]))
    training = np.array([pair for k, pair in enumerate(order) if k % HELD_OUT])
    cells_of = {pair: np.flatnonzero(taught.pairs == pair) for pair in training.tolist()}
    weights = ScorerWeights(*(w.copy() for w in first))
    anchors = [np.zeros_like(w) for w in first[:2]] + [*first[2:]]  # what weights decay to
    adam = Adam(weights)
    kept = taught.cells.part(held), taught.links[held]
    best, least = first, loss_and_gradient(first, *kept)[0]
    for number in range(PASSES):
        order = random.permutation(training)
        rate = RATE * (1 - (1 - LAST_RATE) * number / PASSES)
        for start in range(0, len(order), BATCH):
            pairs = order[start : start + BATCH]
            chosen = np.concatenate([cells_of[pair] for pair in pairs.tolist()])
            _, gradient = loss_and_gradient(weights, taught.cells.part(chosen), taught.links[chosen])
            scale = np.float32(1 / (CELLS * len(pairs)))
            decayed = [
                scale * g + np.float32(DECAY) * (w - old)
                for g, w, old in zip(gradient, weights, anchors, strict=True)
            ]
            adam.descend(decayed, rate)
        loss = loss_and_gradient(weights, *kept)[0]
        if loss < least:
            best, least = ScorerWeights(*(w.copy() for w in weights)), loss
    return best


def learn_scorer(scorer: LinkScorer, taught: Taught, seed: int) -> LinkScorer:
    """Return the mean of some scorers that start, and hold out pairs, differently.

    The mean of their logits is again a scorer, with the hidden units of all.
    """
    found = [_learned(initial_scorer(k), taught, k) for k in range(NETWORKS * seed, NETWORKS * (seed + 1))]
    by_name = list(zip(*found, strict=True))
    layers = np.concatenate(by_name[0]), np.concatenate(by_name[1]) / np.float32(NETWORKS)
    return scorer.replace([*layers, *(sum(same) / np.float32(NETWORKS) for same in by_name[2:])])
