"""Training of dense scorers: spectral vectors of links, and the scale of the scores of given vectors.

Spectral vectors score words that were never linked, and smooth links that were seen once.

The scale b of the scores s of given vectors maximizes the expected log-likelihood of the links c in both
directions,

    L(b) = sum c(e, f) (2 b s(e, f) - log Z_e(b) - log Z_f(b))    Z_e(b) = sum over f of p(f) exp(b s(e, f)),

which is concave.

Axes: V vocabulary of a language (word 0 is padding), D dimension, L links.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers, Reals
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import DataError
from nmtalign.positions.e_step import iterated
from nmtalign.positions.hmm import BothTransitions, unfitted_hmm
from nmtalign.positions.model import SCORE_LIMIT
from nmtalign.scorers.dense import FREQUENT, DenseScorer, make_dense_scorer
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.scorer import Pairs
from nmtalign.vectors.correspondence import correspondence_analysis
from nmtalign.vectors.embeddings import Embeddings, unit_rows

DIMENSION = 32
SPECTRAL_SCALE = 14.0  # of cosines; chosen on the development sets, like the weight in the preset
MIN_LINKS = 0.05  # smaller expected counts of links are noise
MAX_SCALE = 60.0
SETTLED = 1 + 1e-6  # precision of a scale, as a factor
TUNED = 1 << 13  # words of a side to which a temperature is fitted; one number needs fewer data
MAX_ITERATIONS = 10  # of a temperature
CLOSE = 0.02  # change of the log scale below which a temperature is found
MAX_STEP = 4  # factor by which an iteration may change the scale of the scores
WEIGHT = 0.45  # default, the least mean error in scripts/evaluate_vectors_head.py


def make_vectors_scorer(
    lexicon: Lexicon, source: Embeddings, target: Embeddings, *, weight: float = WEIGHT
) -> DenseScorer:
    """Make a scorer of given vectors for the words of a lexicon, and fit its scale to the links."""
    words = lexicon.source_words, lexicon.target_words
    vectors = [unit_rows(side.vectors(own)) for side, own in zip((source, target), words, strict=True)]
    for side in vectors:
        side[0] = 0  # the padding
    counts = lexicon.source_counts, lexicon.target_counts
    scale = fitted_scale(lexicon, (vectors[0], vectors[1]))
    return make_dense_scorer("vectors", words, counts, (vectors[0], vectors[1]), scale=scale, weight=weight)


def check_vectors(vectors: tuple[Embeddings, Embeddings], words: tuple[Sequence[str], Sequence[str]]) -> None:
    """Raise a DataError if vectors differ in dimension, or know no word of a side; word 0 is the padding."""
    source, target = vectors
    if source.dimension != target.dimension:
        found = f"found {source.dimension} and {target.dimension} dimensions"
        raise DataError(f"expected source and target vectors of one length, {found}")
    for name, side, own in zip(("source", "target"), vectors, words, strict=True):
        coverage = side.coverage(own[1:])
        if not coverage.known + coverage.composed:
            raise DataError(f"the vectors know none of the {name} words; are the languages swapped?")


def fitted_scale(lexicon: Lexicon, vectors: tuple[Reals, Reals]) -> float:
    """Return the scale of cosines, from 1 to `MAX_SCALE`, with the greatest likelihood of frequent links.

    `vectors` (V, D) are unit rows, by word number.
    """
    if lexicon.whole is None:
        return 1.0
    source, target = (np.asarray(side[: FREQUENT + 1], dtype=np.float64) for side in vectors)
    counts = lexicon.source_counts[: FREQUENT + 1], lexicon.target_counts[: FREQUENT + 1]
    table = ScaleLikelihood(source @ target.T, (_shares(counts[0]), _shares(counts[1])))
    s, t = np.divmod(lexicon.whole.keys, len(lexicon.target_words))
    kept = np.flatnonzero((s < len(source)) & (t < len(target)))
    has = [np.asarray(side.any(axis=1)) for side in (source, target)]
    kept = kept[has[0][s[kept]] & has[1][t[kept]]]
    return table.maximum(Links(s[kept], t[kept], lexicon.whole.counts[kept]))


def _shares(counts: Integers) -> Doubles:
    return np.asarray(counts / max(int(counts.sum()), 1))


class Links(NamedTuple):
    """Expected links: source words, target words and counts, each (L,)."""

    source: Integers
    target: Integers
    counts: Reals


@dataclass(frozen=True)
class ScaleLikelihood:
    """L(b) of scores (V, V) between words of two languages, given the shares of the words."""

    scores: Reals
    shares: tuple[Reals, Reals]

    def likelihood(self, scale: float) -> tuple[Reals, Reals, Reals]:
        """Return exp(b s) (V, V), and Z of source and of target words."""
        found = np.asarray(self.scores.dtype.type(scale) * self.scores)
        np.exp(np.clip(found, -SCORE_LIMIT, SCORE_LIMIT, out=found), out=found)
        return found, found @ self.shares[1], self.shares[0] @ found

    def derivatives(self, scale: float, links: Links) -> tuple[float, float]:
        """Return dL/db and -d2L/db2: observed minus expected scores of the links, and their variance."""
        likelihood, of_source, of_target = self.likelihood(scale)
        rows = np.bincount(links.source, links.counts, len(of_source))
        columns = np.bincount(links.target, links.counts, len(of_target))
        weights = np.outer((rows / of_source).astype(likelihood.dtype), self.shares[1])
        weights += np.outer(self.shares[0], (columns / of_target).astype(likelihood.dtype))
        likelihood *= self.scores
        means = likelihood @ self.shares[1] / of_source, self.shares[0] @ likelihood / of_target
        weights *= likelihood  # expected links of all words, times their scores
        seen = 2 * float(links.counts @ self.scores[links.source, links.target])
        slope = seen - float(weights.sum(dtype=np.float64))
        weights *= self.scores
        squares = float(weights.sum(dtype=np.float64))
        return slope, max(squares - float(rows @ means[0] ** 2 + columns @ means[1] ** 2), 1e-9)

    def maximum(self, links: Links, *, low: float = 1.0, high: float = MAX_SCALE) -> float:
        """Return the likeliest scale from `low` to `high`, by Newton's method, safeguarded by bisection."""
        scale = math.sqrt(low * high)
        while high / low > SETTLED:
            slope, spread = self.derivatives(scale, links)
            low, high = (scale, high) if slope > 0 else (low, scale)
            last, scale = scale, scale + slope / spread
            if not low < scale < high:
                scale = math.sqrt(low * high)
            elif abs(scale - last) < (SETTLED - 1) * last:
                break
        return scale


def learn_spectral(lexicon: Lexicon, weight: float, *, seed: int = 0) -> DenseScorer | None:
    """Make a spectral scorer from the counts of a lexicon; `seed` is for the random projection.

    None if nothing was linked, or the lexicon does not count whole words.

    References
    ----------
    Greenacre (1984), "Theory and applications of correspondence analysis".
    """
    table = None if lexicon.whole is None else lexicon.whole.table(MIN_LINKS)
    if table is None or not table.nnz:
        return None
    return make_dense_scorer(
        "spectral",
        (lexicon.source_words, lexicon.target_words),
        (lexicon.source_counts, lexicon.target_counts),
        correspondence_analysis(table, DIMENSION, seed=seed),
        scale=SPECTRAL_SCALE,
        weight=weight,
    )


def fit_temperature(
    pairs: Pairs, scores: Callable[[EncodedText], Floats], workers: int
) -> tuple[float, BothTransitions]:
    """Return the factor of plain scores (1 / temperature), and transitions, by expectation-maximization.

    `scores` gives those of all words of a text with each other, (V source, V target). The likelihood ratio of
    two words is ``exp(b s - (log Z_e + log Z_f) / 2)``, that of the null word 1. Each iteration takes a step
    of Newton's method. The initial scale gives the scores a standard deviation of 1, whatever the length of
    the vectors. The probability of null is fixed, because its maximum likelihood estimate gave a greater
    error on nearly every text.

    References
    ----------
    Vogel, Ney and Tillmann (1996).
    """
    sizes = np.cumsum([max(map(len, pair)) for pair in pairs])
    text = encode_text(pairs[: max(1, int((sizes <= TUNED).sum()))])
    shares = [(own.counts / own.counts.sum()).astype(np.float32) for own in (text.source, text.target)]
    table = ScaleLikelihood(scores(text), (shares[0], shares[1]))
    scale, words, transitions = 1 / max(_deviation(table), 1e-9), text.index, unfitted_hmm().transitions
    for _ in range(MAX_ITERATIONS):
        likelihood, of_source, of_target = table.likelihood(scale)
        ratios = likelihood[words.source, words.target]
        ratios /= np.sqrt(of_source[words.source] * of_target[words.target])
        ratios[0] = 0  # the padding
        transitions, links = iterated(text, ratios, transitions, workers)
        slope, spread = table.derivatives(scale, Links(words.source, words.target, links))
        last, scale = scale, min(max(scale + slope / spread, scale / MAX_STEP), scale * MAX_STEP)
        if abs(math.log(scale / last)) < CLOSE:
            break
    return scale, transitions


def _deviation(table: ScaleLikelihood) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    source, target = table.shares
    mean = source @ table.scores @ target
    return math.sqrt(max(float(source @ (table.scores - mean) ** 2 @ target), 0.0))
