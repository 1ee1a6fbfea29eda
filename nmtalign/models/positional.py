"""Given word vectors with jumps: attention that remembers where it looked last, the vectors left as they are.

The likelihood ratio of two words comes from their score,

    r(e, f) = exp(score(e, f) - (log Z_e + log Z_f) / 2)      Z_e = sum over f of p(f) exp(score(e, f)),

so that words that are near to everything gain nothing, and 1 is the ratio of the null word. The jumps are
those of the learned aligner (:mod:`nmtalign.models.hmm`). They and the temperature of the scores are
estimated by expectation-maximisation from a text. The probability of null is not: more of it makes the text
likelier where the vectors are poor, and the error larger on nearly every text that was tried.

Axes: T target words, S source words, V vocabulary (word 0 is padding), K size of a prepared vector, P word
pairs that meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.links import AlignedBatch, AlignedPair, joined_batches
from nmtalign.models.aligner import Aligner, VectorAligner, Words
from nmtalign.models.attention_vectors import HIGHEST, PAIRS
from nmtalign.models.corpus import EncodedSide, encode, make_buckets
from nmtalign.models.expectation import Expected, expect_with_jumps
from nmtalign.models.hmm import Jumps, estimate_jumps, initial_jumps
from nmtalign.models.learned import Prepared, align_prepared, inspect_prepared
from nmtalign.models.lexicon import Emissions
from nmtalign.models.pairs import PairIndex, index_pairs
from nmtalign.models.parallel import default_workers, in_order
from nmtalign.models.scoring import DotScorer, Scorer
from nmtalign.models.segments import cut_long_pairs
from nmtalign.text.bitext import SentencePair

Floats = NDArray[np.float32]

FITTED = 5_000  # pairs of a text that jumps are fitted on
TUNED = 1 << 13  # words on either side of them that the temperature is fitted on: one number needs fewer
PASSES, MOST_PASSES = 3, 10  # of the jumps, and of the temperature until it moves by less than SETTLED
SETTLED = 0.02
FARTHEST = np.float32(4)  # factor by which a pass may change the scale of the scores
NULL = 0.1  # probability of the null word
ROWS = 1024  # words that are scored with all others at a time
COMMON = 20_000  # first words of the vectors, that stand for a text before there is one
COSTLY = 1_000  # the same, and of a text, for scores that are no dot products
CELLS = 1 << 25  # of pairs that are aligned at a time


class Common(NamedTuple):
    """Words that those of the other language are compared with: vectors (V, K) and shares (V,), sum 1."""

    vectors: Floats
    share: Floats


class Usual(NamedTuple):
    """The words of one language in a text.

    Attributes
    ----------
    words : Common
    numbers : dict of str to int
        Words whose log Z is known.
    norms : array
        log Z of those.
    """

    words: Common
    numbers: dict[str, int]
    norms: Floats


@dataclass(frozen=True, eq=False)
class Fit:
    """What is known of the text.

    Attributes
    ----------
    source, target : Usual
    jumps : (Jumps, Jumps)
        Over source and over target positions.
    pairs : int
    scale : float
        What the plain scores are multiplied by: 1 / temperature.
    """

    source: Usual
    target: Usual
    jumps: tuple[Jumps, Jumps]
    pairs: int
    scale: float


@dataclass(frozen=True)
class JumpAligner(VectorAligner):
    """Attention over given word vectors with the jump model of the learned aligner, both directions agreeing.

    :meth:`fitted` estimates temperature and jumps from the first pairs of a text; after that they stay as
    they are, and a pair gets the same links alone and in any batch. Before that, the temperature is that of
    the scorer, jumps prefer one step ahead and the first words of the vectors stand for the text.

    Parameters
    ----------
    source, target, scorer, extraction, text, languages
        As of :class:`~nmtalign.models.aligner.VectorAligner`.
    tune : bool
        Fit the temperature, too; the scores can then have any size.
    workers : int, optional
        Threads; the links do not depend on it.
    fit : Fit, optional
        Made by :meth:`fitted`.

    References
    ----------
    Vogel, Ney and Tillmann 1996; Och and Ney 2003; Liang, Taskar and Klein 2006.

    Examples
    --------
    >>> from nmtalign.models.scoring import make_scorer
    >>> from nmtalign.text.vocabulary import Vocabulary
    >>> from nmtalign.vectors.embeddings import Embeddings
    >>> side = Embeddings(Vocabulary.from_words(["the", "black", "cat", "."]), np.eye(4))
    >>> aligner = JumpAligner(side, side, make_scorer("cosine", 4, temperature=0.1))
    >>> list(aligner.align("the black cat .", "the cat black .").alignment)[1:3]
    [Link(source=1, target=2), Link(source=2, target=1)]
    """

    tune: bool = True
    workers: int | None = None
    fit: Fit | None = None

    @property
    def settings(self) -> str:
        """The settings that make the links, in one line."""
        fitted = "unfitted" if self.fit is None else f"fitted on {self.fit.pairs} pairs"
        chosen = replace(self.extraction, method="posterior") if self._posterior else self.extraction
        unknown = f"unknown={self.source.unknown}"
        return f"{self._scaled.settings} positions=hmm({fitted}) {chosen} {unknown} text={self.text}"

    @property
    def _posterior(self) -> bool:
        return self.extraction.method is None and self.extraction.symmetrize is None

    @property
    def _scaled(self) -> Scorer:
        """The scorer with the temperature of the fit."""
        return self.scorer if self.fit is None else _rescaled(self.scorer, self.fit.scale)

    def fitted(self, pairs: Sequence[tuple[Words, Words]]) -> JumpAligner:
        """Return the aligner with temperature, jumps and word shares of a text; `FITTED` pairs are enough."""
        pairs = [pair for pair in pairs[:FITTED] if all(pair)]
        if not pairs:
            return self
        known, workers = self._known, default_workers() if self.workers is None else self.workers
        scale, jumps = self.scorer.scale, known.jumps
        if self.tune:
            sizes = np.cumsum([max(map(len, pair)) for pair in pairs])
            scale, jumps = _tuned(self, pairs[: max(1, int((sizes <= TUNED).sum()))], workers)
        aligner = replace(self, fit=self._fit(pairs, scale, jumps))
        text = aligner._prepared(pairs)
        for _ in range(PASSES):
            text = text._replace(jumps=_expect(text, workers).jumps)
        return replace(self, fit=self._fit(pairs, scale, text.jumps))

    def _fit(self, pairs: Sequence[tuple[Words, Words]], scale: float, jumps: tuple[Jumps, Jumps]) -> Fit:
        """Return a fit with the words of a text."""
        sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
        scorer = _rescaled(self.scorer, scale)
        source, target = self._vectors(scorer, *(side.words for side in sides))
        of_source, of_target = (
            _most(scorer, source, _share(sides[0])),
            _most(scorer, target, _share(sides[1])),
        )
        norms = _log_norms(scorer, source, of_target), _log_norms(scorer, target, of_source, queries=True)
        usual = [
            Usual(words, {word: k for k, word in enumerate(side.words)}, known)
            for words, side, known in zip((of_source, of_target), sides, norms, strict=True)
        ]
        return Fit(usual[0], usual[1], jumps, len(pairs), scale)

    def align_batch(self, pairs: Sequence[tuple[Words, Words]]) -> AlignedBatch:
        """Align many pairs of words that are already normalised; the same links as one by one.

        Returns
        -------
        AlignedBatch
            Probability of a link: :func:`~nmtalign.models.learned.joint_probability`. Score of a pair:
            :func:`~nmtalign.models.parallelness.parallel_probability`; that is fitted to learned models, so
            here it ranks and is no probability.
        """
        parts = (self._prepared(part) for part in _parts(pairs))
        return joined_batches([align_prepared(part, self.extraction, self.workers) for part in parts])

    def inspect(self, source_words: Words, target_words: Words) -> AlignedPair:
        """Align two sentences of words that are already normalised, with all weights to look at.

        Returns
        -------
        AlignedPair
            Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        text = self._prepared([(source_words, target_words)])
        pair = inspect_prepared(text, source_words, target_words, self.extraction)
        return replace(pair, settings=self.settings)

    def _vectors(self, scorer: Scorer, source: Words, target: Words) -> tuple[Floats, Floats]:
        """Return the prepared vectors of source and target words."""
        return (
            scorer.keys(self.source.vectors(source)).astype(np.float32),
            scorer.queries(self.target.vectors(target)).astype(np.float32),
        )

    @cached_property
    def _known(self) -> Fit:
        """The fit, or what stands for one."""
        if self.fit is not None:
            return self.fit
        words = (side.first(COMMON).vocabulary.words for side in (self.source, self.target))
        common = (
            _most(self.scorer, vectors, np.full(len(vectors), 1 / max(len(vectors), 1), np.float32))
            for vectors in self._vectors(self.scorer, *words)
        )
        source, target = (Usual(words, {}, np.zeros(1, np.float32)) for words in common)
        return Fit(source, target, (initial_jumps(0, 0), initial_jumps(0, 0)), 0, self.scorer.scale)

    def _prepared(self, pairs: Sequence[tuple[Words, Words]]) -> Prepared:
        sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
        source, target, segments = cut_long_pairs(*sides)
        buckets = make_buckets(source, target)
        index = index_pairs(buckets, source, target)
        scorer, known = self._scaled, self._known
        keys, queries = self._vectors(scorer, source.words, target.words)
        norms = (
            _norms(scorer, known.source, known.target.words, source.words, keys),
            _norms(scorer, known.target, known.source.words, target.words, queries, queries=True),
        )
        logits = _pair_scores(scorer, keys, queries, index)
        logits -= (norms[0][index.source] + norms[1][index.target]) / 2
        ratios = np.exp(logits, out=logits)
        ratios[0] = 0  # the padding
        ones = np.ones(len(source.words), np.float32), np.ones(len(target.words), np.float32)
        jumps = _renumbered(known.jumps[0], source), _renumbered(known.jumps[1], target)
        return Prepared(segments, buckets, index.cells, Emissions(ratios, *ones), jumps, NULL)


def _parts(pairs: Sequence[tuple[Words, Words]]) -> Iterator[Sequence[tuple[Words, Words]]]:
    """Cut pairs into runs of at most `CELLS` cells, one pair at least; there is always a run."""
    ends = np.cumsum([len(source) * len(target) for source, target in pairs]) // CELLS
    cuts = np.flatnonzero(np.diff(ends)) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(pairs)], strict=True):
        yield pairs[start:stop]


def _share(side: EncodedSide) -> Floats:
    """Return the share of each word in the text."""
    return np.asarray(side.counts / side.counts.sum(), dtype=np.float32)


def _most(scorer: Scorer, vectors: Floats, share: Floats) -> Common:
    """Return the words, the most frequent ones only where scores are costly."""
    if isinstance(scorer, DotScorer) or len(share) <= COSTLY:
        return Common(vectors, share)
    return Common(vectors[:COSTLY], share[:COSTLY] / share[:COSTLY].sum())


def _rescaled(scorer: Scorer, scale: float) -> Scorer:
    """Return the scorer at another temperature."""
    return cast(Scorer, replace(cast(Any, scorer), scale=scale))


def _pair_scores(scorer: Scorer, keys: Floats, queries: Floats, pairs: PairIndex) -> Floats:
    """Return the score of each word pair, shape (P,)."""
    result = np.empty(len(pairs), dtype=np.float32)
    for at in range(0, len(pairs), PAIRS):
        k, q = keys[pairs.source[at : at + PAIRS]], queries[pairs.target[at : at + PAIRS]]
        if isinstance(scorer, DotScorer):
            result[at : at + PAIRS] = np.einsum("pk,pk->p", k, q)
        else:
            result[at : at + PAIRS] = scorer.score(q[:, None], k[:, None])[:, 0, 0]
    return np.clip(result, -HIGHEST, HIGHEST, out=result)


def _log_norms(scorer: Scorer, vectors: Floats, others: Common, *, queries: bool = False) -> Floats:
    """Return log Z of words over those of the other side; `queries` says that the words are target words."""
    result = np.empty(len(vectors), dtype=np.float32)
    for at in range(0, len(vectors), ROWS):
        own = vectors[at : at + ROWS]
        scores = (
            scorer.score(own, others.vectors) if queries else scorer.score(others.vectors, own).T
        )  # (ROWS, V)
        result[at : at + ROWS] = np.exp(np.clip(scores, -HIGHEST, HIGHEST)) @ others.share
    return np.log(result, out=result)


def _norms(
    scorer: Scorer,
    own: Usual,
    others: Common,
    words: Sequence[str],
    vectors: Floats,
    *,
    queries: bool = False,
) -> Floats:
    """Return log Z of each word: as known, else over the other side."""
    known = np.array([own.numbers.get(word, -1) for word in words])
    norms: Floats = own.norms[known]
    new = known < 0
    norms[new] = _log_norms(scorer, vectors[new], others, queries=queries)
    return norms


def _renumbered(jumps: Jumps, side: EncodedSide) -> Jumps:
    """Return jumps for the words of a side: one table for the start of a sentence, one for all words."""
    return Jumps(jumps.tables, np.minimum(np.arange(len(side.words)), 1).astype(np.int32))


class _Counted(NamedTuple):
    """What one pass over a text expects: agreed links of each word pair (P,), and the next jumps."""

    links: NDArray[np.float64]
    jumps: tuple[Jumps, Jumps]


def _expect(text: Prepared, workers: int) -> _Counted:
    """Return what one pass over a text expects."""
    counts = [np.zeros(len(text.words.pairs)), *(np.zeros(jumps.tables.size) for jumps in text.jumps)]

    def expect(k: int) -> Expected:
        return expect_with_jumps(
            text.buckets[k], text.cells[k], text.words, text.jumps, text.null, counted=slice(None)
        )

    for found in in_order(expect, range(len(text.buckets)), workers):
        for total, own in zip(counts, (found.links, found.forward_jumps, found.reverse_jumps), strict=True):
            if own is not None:
                total += np.bincount(own.place, own.value, total.size)
    jumps = estimate_jumps(counts[1], text.jumps[0]), estimate_jumps(counts[2], text.jumps[1])
    return _Counted(counts[0], jumps)


def _tuned(
    aligner: JumpAligner, pairs: Sequence[tuple[Words, Words]], workers: int
) -> tuple[float, tuple[Jumps, Jumps]]:
    """Return scale and jumps by expectation-maximisation, from those that the aligner has.

    The scale b of the scores s maximises the expected log-likelihood of the agreed links c, both directions,

        L(b) = sum c(e, f) (2 b s(e, f) - log Z_e(b) - log Z_f(b)),

    which is concave; each pass takes one step of Newton's method. At first scores deviate by 1 from their
    mean, whatever size the vectors have.
    """
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    source, target, segments = cut_long_pairs(*sides)
    buckets = make_buckets(source, target)
    index = index_pairs(buckets, source, target)
    keys, queries = aligner._vectors(aligner.scorer, source.words, target.words)
    scores = np.asarray(aligner.scorer.score(queries, keys), dtype=np.float32).T  # (V source, V target)
    shares = _share(source), _share(target)
    ones = np.ones(len(source.words), np.float32), np.ones(len(target.words), np.float32)
    jumps = _renumbered(aligner._known.jumps[0], source), _renumbered(aligner._known.jumps[1], target)
    scale = np.float32(1 / max(_deviation(scores, shares), 1e-9))
    for _ in range(MOST_PASSES):
        likelihood = np.exp(np.clip(scale * scores, -HIGHEST, HIGHEST))
        Z = likelihood @ shares[1], shares[0] @ likelihood
        ratios = likelihood[index.source, index.target]
        ratios /= np.sqrt(Z[0][index.source] * Z[1][index.target])
        ratios[0] = 0  # the padding
        text = Prepared(segments, buckets, index.cells, Emissions(ratios, *ones), jumps, NULL)
        links, jumps = _expect(text, workers)
        last, scale = scale, _newton(scale, scores, likelihood, links, index, shares, Z)
        if abs(np.log(scale / last)) < SETTLED:
            break
    return float(scale) * aligner.scorer.scale, jumps


def _deviation(scores: Floats, shares: tuple[Floats, Floats]) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    mean = shares[0] @ scores @ shares[1]
    return math.sqrt(max(float(shares[0] @ (scores - mean) ** 2 @ shares[1]), 0.0))


def _newton(
    scale: np.float32,
    scores: Floats,
    likelihood: Floats,
    links: NDArray[np.float64],
    pairs: PairIndex,
    shares: tuple[Floats, Floats],
    Z: tuple[Floats, Floats],
) -> np.float32:
    """Return the scale after one step; `likelihood`, exp(scale * scores), is overwritten."""
    links[0] = 0
    of_source = np.bincount(pairs.source, links, len(scores))
    of_target = np.bincount(pairs.target, links, scores.shape[1])
    seen = 2 * float(links @ scores[pairs.source, pairs.target])
    means = [(likelihood * scores) @ shares[1] / Z[0], shares[0] @ (likelihood * scores) / Z[1]]
    weights = np.outer((of_source / Z[0]).astype(np.float32), shares[1])
    weights += np.outer(shares[0], (of_target / Z[1]).astype(np.float32))
    likelihood *= weights  # expected links of each word with each
    likelihood *= scores
    slope = seen - float(likelihood.sum(dtype=np.float64))
    likelihood *= scores
    spread = float(likelihood.sum(dtype=np.float64)) - float(
        of_source @ means[0] ** 2 + of_target @ means[1] ** 2
    )
    moved = scale + slope / max(spread, 1e-9)
    return np.float32(np.clip(moved, scale / FARTHEST, scale * FARTHEST))


def fitted_on(
    aligner: Aligner, pairs: Iterable[SentencePair], *, count: int = FITTED
) -> tuple[Aligner, Iterator[SentencePair]]:
    """Return an aligner fitted on the first pairs of a text, and the whole text; others stay as they are.

    Parameters
    ----------
    aligner : Aligner
        A :class:`JumpAligner` is fitted.
    pairs : iterable of SentencePair
        Read as far as needed.
    count : int
        Pairs to fit on.
    """
    rest = iter(pairs)
    if not isinstance(aligner, JumpAligner):
        return aligner, rest
    first = list(islice(rest, count))
    words = [aligner.text.words_of_pair(pair, aligner.languages) for pair in first]
    return aligner.fitted(words), chain(first, rest)
