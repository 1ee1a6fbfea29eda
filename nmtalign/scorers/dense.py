"""Dense scorers: log likelihood ratios of word pairs from the cosines of their vectors.

    log r(e, f) = c cos(e, f) - (log Z_e + log Z_f) / 2        Z_e = sum over f of p(f) exp(c cos(e, f))

so that words near to everything gain nothing. A ratio of 1 is chance. Vectors are given, or spectral: learned
from links. Spectral vectors score words that were never linked, and smooth links that were seen once.

The scale b of the scores s of given vectors maximizes the expected log-likelihood of the links c in both
directions,

    L(b) = sum c(e, f) (2 b s(e, f) - log Z_e(b) - log Z_f(b))    Z_e(b) = sum over f of p(f) exp(b s(e, f)),

which is concave.

Axes: V vocabulary (word 0 is padding), D dimension, E source and F target words, L links, N word pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Codes, Doubles, Flags, Floats, Integers, Reals, block_slices
from nmtalign.corpus.sides import look_up
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import DataError
from nmtalign.names import SIDES
from nmtalign.positions.e_step import em_iteration
from nmtalign.positions.hmm import BothTransitions, unfitted_hmm
from nmtalign.positions.position_model import MAX_SCORE
from nmtalign.scorers.learned_lexicon import Lexicon
from nmtalign.scorers.scorer import LogRatios, Pairs
from nmtalign.state import State, Stored
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings, unit_rows

CELLS_PER_TABLE, PAIRS_PER_LIST = (
    1 << 22,
    1 << 16,
)  # word pairs scored at a time: in a full table, and in a list
MAX_NORM_WORDS = 1024  # number of frequent words that log Z sums over
MAX_CODE = 127  # greatest code

SPECTRAL_DIMENSION = 32  # of spectral vectors
SPECTRAL_SCALE = 14.0  # of cosines; chosen on the development sets, like the weight in the preset
MIN_LINKS = 0.05  # smaller expected counts of links are noise
COUNT_SMOOTHING = 0.5  # added to the sums of links, so that words with few links get low scores
OVERSAMPLING = 20  # directions beside the wanted ones
POWER_ITERATIONS = 3
COLUMNS_PER_PRODUCT = 64  # multiplied at a time

MAX_SCALE = 60.0
SCALE_PRECISION = 1 + 1e-6  # precision of a scale, as a factor
MAX_TUNING_WORDS = 1 << 13  # words of a side to which a temperature is fitted; one number needs fewer data
MAX_TUNING_ITERATIONS = 10  # of a temperature
MIN_LOG_SCALE_CHANGE = 0.02  # change of the log scale below which a temperature is found
MAX_SCALE_STEP = 4  # factor by which an iteration may change the scale of the scores
VECTORS_WEIGHT = 0.45  # default, the least mean error in scripts/evaluate_vectors_head.py


KnownVectors = tuple[Floats, Floats, Flags]  # of words: vectors (V, D), log Z (V,), which have a vector


@dataclass(frozen=True, eq=False, repr=False)
class DenseScorer:
    """Dense scorer: word vectors of two languages in one space."""

    name: str
    lexicon: Lexicon  # which numbers the words
    # of both sides (V, D): directions of the vectors, in steps of 1/127 of the greatest entry; zero for words
    # without a vector, whose pairs get no ratio
    codes: tuple[Codes, Codes]
    norms: tuple[Floats, Floats]  # of both sides (V,): log Z of each word
    scale: float  # c, the inverse temperature
    weight: float  # in the log-linear interpolation

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return ``k . q - (log Z_e + log Z_f) / 2`` of the word pairs whose words both have a vector."""
        keys, of_source, source = text.source.memo((self, 0), lambda: self._known(0, text.source.words))
        queries, of_target, target = text.target.memo((self, 1), lambda: self._known(1, text.target.words))
        pairs = text.index
        indices = np.flatnonzero(source[pairs.source] & target[pairs.target])
        ratios = np.empty(len(indices), dtype=np.float32)
        for some in block_slices(len(indices), PAIRS_PER_LIST):
            e, f = pairs.source[indices[some]], pairs.target[indices[some]]
            scores = np.einsum("nd,nd->n", keys[e], queries[f])
            np.clip(scores, -MAX_SCORE, MAX_SCORE, out=scores)
            ratios[some] = scores - (of_source[e] + of_target[f]) / 2
        return LogRatios(indices, ratios)

    def _known(self, side: int, words: Sequence[str]) -> KnownVectors:
        """Look up words of one side (0: source, 1: target); unknown words are treated as padding."""
        rows = look_up(self.lexicon.numbers[side], words, 0)
        vectors = _decode(self.codes[side][rows], self.scale)
        return vectors, self.norms[side][rows], np.any(vectors, axis=1)

    def state(self) -> State:
        return State(
            "dense",
            {"name": self.name, "weight": self.weight, "scale": self.scale},
            {f"{side}_norms": norms for side, norms in zip(SIDES, self.norms, strict=True)},
            dict(zip(SIDES, self.codes, strict=True)),
        )

    @classmethod
    def from_state(cls, stored: Stored, lexicon: Lexicon) -> DenseScorer:
        V, top = (len(lexicon.source_words), len(lexicon.target_words)), MAX_CODE
        source = stored.large("source", "i", (V[0], None), minimum=-top, maximum=top)
        target = stored.large("target", "i", (V[1], source.shape[1]), minimum=-top, maximum=top)
        norms = stored.array("source_norms", "f", V[:1]), stored.array("target_norms", "f", V[1:])
        scale = stored.number("scale", minimum=0, maximum=1000)
        weight = stored.number("weight", minimum=0, maximum=1)
        return cls(stored.text("name"), lexicon, (source, target), norms, scale, weight)


def make_dense_scorer(
    name: str, lexicon: Lexicon, vectors: tuple[Reals, Reals], *, scale: float, weight: float
) -> DenseScorer:
    """Make a dense scorer of `vectors` (V, D) for the words of a lexicon; the vectors may have any length."""
    codes = _encode(vectors[0]), _encode(vectors[1])
    source, target = (_decode(side, scale) for side in codes)
    shares = [
        _relative_frequencies(counts).astype(np.float32)
        for counts in (lexicon.source_counts, lexicon.target_counts)
    ]
    norms = (
        log_norms(source, target[: len(shares[1])], shares[1]),
        log_norms(target, source[: len(shares[0])], shares[0]),
    )
    return DenseScorer(name, lexicon, codes, norms, scale, weight)


def _decode(codes: Codes, scale: float) -> Floats:
    """Return vectors of length sqrt(scale) in the direction of their codes; zero stays zero."""
    vectors = codes.astype(np.float32)
    lengths = np.sqrt(np.einsum("vd,vd->v", vectors, vectors))
    vectors *= (np.sqrt(np.float32(scale)) / np.maximum(lengths, 1))[:, None]
    return vectors


def _encode(vectors: Reals) -> Codes:
    """Round the directions of vectors to integers from -127 to 127."""
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    return np.rint(vectors * (MAX_CODE / np.where(largest > 0, largest, 1))).astype(np.int8)


def _relative_frequencies(counts: Integers) -> Doubles:
    """Return the relative frequencies of the most frequent words, by word number."""
    frequent = counts[: MAX_NORM_WORDS + 1]
    return np.asarray(frequent / max(int(frequent.sum()), 1))


def log_norms(keys: Floats, queries: Floats, shares: Floats) -> Floats:
    """Return ``log sum over f of p(f) exp(k . q_f)`` of keys (N, D), with queries (V, D) and p(f) (V,)."""
    result = np.empty(len(keys), dtype=np.float32)
    for some in block_slices(len(keys), max(1, CELLS_PER_TABLE // max(1, len(queries)))):
        scores = np.clip(keys[some] @ queries.T, -MAX_SCORE, MAX_SCORE)
        result[some] = np.exp(scores, out=scores) @ shares
    return np.log(result, out=result)


def learn_spectral(lexicon: Lexicon, weight: float, *, seed: int = 0) -> DenseScorer | None:
    """Make a spectral scorer from the counts of a lexicon; `seed` is for the random projection.

    None if nothing was linked, or the lexicon does not count whole words.
    """
    table = None if lexicon.whole is None else lexicon.whole.table(MIN_LINKS)
    if table is None or not table.nnz:
        return None
    vectors = correspondence_analysis(table, SPECTRAL_DIMENSION, seed=seed)
    return make_dense_scorer("spectral", lexicon, vectors, scale=SPECTRAL_SCALE, weight=weight)


def correspondence_analysis(
    counts: Any, size: int, *, power: float = 1.0, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return vectors (E, D) and (F, D) from a sparse array of links (E, F); zero for words without links.

    With the sums r of the rows and columns of the counts c itself, the scaled counts

        M = (c / sqrt((r(e) + 1/2) (r(f) + 1/2)))^power,    M ~ U diag(s) V^T,

    are factorized by random projection, three power iterations and the exact answer in the subspace that is
    left; the vectors are ``U sqrt(s)`` and ``V sqrt(s)``. A `power` below 1 brings rarer translations nearer.

    The few iterations are part of the method. A table of links falls into thousands of groups of words, such
    as a name and its translation, each with a singular value near 1. The exact leading directions would
    show D of these groups and nothing of the others; the projection keeps something of all of them. With 20
    iterations instead of 3 the alignment error of 64 dimensions doubled. Greenacre (1984), "Theory and
    applications of correspondence analysis"; Halko, Martinsson and Tropp (2011), "Finding structure with
    randomness", algorithms 4.4 and 5.1.
    """
    scaled = _scaled_counts(counts)
    scaled.data **= np.float32(power)
    source, target = (np.zeros((length, size), np.float32) for length in scaled.shape)
    if scaled.nnz:
        rows, columns = (np.flatnonzero(np.bincount(numbers)) for numbers in scaled.nonzero())
        U, s, V = _singular_vectors(scaled[rows][:, columns].tocsr(), size, seed)
        source[rows, : len(s)], target[columns, : len(s)] = U * np.sqrt(s), V * np.sqrt(s)
    return source, target


def _scaled_counts(counts: Any) -> Any:
    """Return ``c / sqrt((r(e) + 1/2) (r(f) + 1/2))`` without its zeros, shape (E, F)."""
    from scipy.sparse import coo_array

    table = coo_array(counts, dtype=np.float64)
    table.sum_duplicates()
    table.eliminate_zeros()
    sums = (table.sum(axis=axis) + COUNT_SMOOTHING for axis in (1, 0))
    by_row, by_column = (1 / np.sqrt(np.where(margin > 0, margin, 1)) for margin in sums)
    row, column = table.coords
    values = (table.data * by_row[row] * by_column[column]).astype(np.float32)
    return coo_array((values, (row, column)), shape=table.shape).tocsr()


def _singular_vectors(matrix: Any, size: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return up to `size` singular vectors of a sparse A (E, F) and their values, largest first."""
    from scipy.linalg import qr

    width = min(size + OVERSAMPLING, *matrix.shape)
    transposed, starts = matrix.T.tocsr(), range(0, width, COLUMNS_PER_PRODUCT)
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], width), dtype=np.float32)
    for _ in range(POWER_ITERATIONS):  # a few columns at a time, so that memory stays bounded
        product = np.hstack(
            [transposed @ (matrix @ basis[:, at : at + COLUMNS_PER_PRODUCT]) for at in starts]
        )
        basis, _ = qr(product, mode="economic")
    left, small = qr(matrix @ basis, mode="economic")
    U, s, Vt = np.linalg.svd(small)
    return left @ U[:, :size], s[:size], basis @ Vt[:size].T


def make_vectors_scorer(
    lexicon: Lexicon,
    source: Embeddings,
    target: Embeddings,
    text: TextSettings,
    *,
    weight: float = VECTORS_WEIGHT,
) -> DenseScorer:
    """Make a scorer of given vectors for the words of a lexicon, and fit its scale to the links.

    `text` is how the words of the lexicon were normalized.
    """
    vectors = (
        unit_rows(source.vectors(source.forms(lexicon.source_words, text))),
        unit_rows(target.vectors(target.forms(lexicon.target_words, text))),
    )
    for side in vectors:
        side[0] = 0  # the padding
    scale = fit_scale(lexicon, vectors)
    return make_dense_scorer("vectors", lexicon, vectors, scale=scale, weight=weight)


def check_vectors(
    vectors: tuple[Embeddings, Embeddings], words: tuple[Sequence[str], Sequence[str]], text: TextSettings
) -> None:
    """Raise a DataError if vectors differ in dimension, or know no word of a side; word 0 is the padding."""
    source, target = vectors
    if source.dimension != target.dimension:
        found = f"found {source.dimension} and {target.dimension} dimensions"
        raise DataError(f"expected source and target vectors of one length, {found}")
    for name, embeddings, vocabulary in zip(SIDES, vectors, words, strict=True):
        coverage = embeddings.coverage(embeddings.forms(vocabulary[1:], text))
        if not coverage.known + coverage.composed:
            raise DataError(f"the vectors know none of the {name} words; are the languages swapped?")


def fit_scale(lexicon: Lexicon, vectors: tuple[Reals, Reals]) -> float:
    """Return the scale of cosines, from 1 to `MAX_SCALE`, with the greatest likelihood of frequent links.

    `vectors` (V, D) are unit rows, by word number.
    """
    if lexicon.whole is None:
        return 1.0
    source, target = (np.asarray(side[: MAX_NORM_WORDS + 1], dtype=np.float64) for side in vectors)
    shares = _relative_frequencies(lexicon.source_counts), _relative_frequencies(lexicon.target_counts)
    s, t = np.divmod(lexicon.whole.keys, len(lexicon.target_words))
    kept = np.flatnonzero((s < len(source)) & (t < len(target)))
    kept = kept[np.any(source, axis=1)[s[kept]] & np.any(target, axis=1)[t[kept]]]
    links = ExpectedLinks(s[kept], t[kept], lexicon.whole.counts[kept])
    return ScaleLikelihood(source @ target.T, shares).maximum(links)


class ExpectedLinks(NamedTuple):
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
        table = np.asarray(self.scores.dtype.type(scale) * self.scores)
        np.exp(np.clip(table, -MAX_SCORE, MAX_SCORE, out=table), out=table)
        return table, table @ self.shares[1], self.shares[0] @ table

    def derivatives(self, scale: float, links: ExpectedLinks) -> tuple[float, float]:
        """Return dL/db and -d2L/db2: observed minus expected scores of the links, and their variance."""
        likelihood, of_source, of_target = self.likelihood(scale)
        rows = np.bincount(links.source, links.counts, len(of_source))
        columns = np.bincount(links.target, links.counts, len(of_target))
        weights = np.outer((rows / of_source).astype(likelihood.dtype), self.shares[1])
        weights += np.outer(self.shares[0], (columns / of_target).astype(likelihood.dtype))
        likelihood *= self.scores
        means = likelihood @ self.shares[1] / of_source, self.shares[0] @ likelihood / of_target
        weights *= likelihood  # expected links of all words, times their scores
        observed = 2 * float(links.counts @ self.scores[links.source, links.target])
        slope = observed - float(weights.sum(dtype=np.float64))
        weights *= self.scores
        squares = float(weights.sum(dtype=np.float64))
        return slope, max(squares - float(rows @ means[0] ** 2 + columns @ means[1] ** 2), 1e-9)

    def maximum(self, links: ExpectedLinks, *, low: float = 1.0, high: float = MAX_SCALE) -> float:
        """Return the likeliest scale from `low` to `high`, by Newton's method, safeguarded by bisection."""
        scale = math.sqrt(low * high)
        while high / low > SCALE_PRECISION:
            slope, curvature = self.derivatives(scale, links)
            low, high = (scale, high) if slope > 0 else (low, scale)
            last, scale = scale, scale + slope / curvature
            if not low < scale < high:
                scale = math.sqrt(low * high)
            elif abs(scale - last) < (SCALE_PRECISION - 1) * last:
                break
        return scale


def fit_temperature(
    pairs: Pairs, scores: Callable[[EncodedText], Floats], workers: int
) -> tuple[float, BothTransitions]:
    """Return the factor of plain scores (1 / temperature), and transitions, by expectation-maximization.

    `scores` gives those of all words of a text with each other, (V source, V target). The likelihood ratio of
    two words is ``exp(b s - (log Z_e + log Z_f) / 2)``, that of the null word 1. Each iteration takes a step
    of Newton's method. The initial scale gives the scores a standard deviation of 1, whatever the length of
    the vectors. The probability of null is fixed, because its maximum likelihood estimate gave a greater
    error on nearly every text. After Vogel, Ney and Tillmann (1996).
    """
    sizes = np.cumsum([max(map(len, pair)) for pair in pairs])
    text = encode_text(pairs[: max(1, int((sizes <= MAX_TUNING_WORDS).sum()))])
    shares = [(side.counts / side.counts.sum()).astype(np.float32) for side in (text.source, text.target)]
    table = ScaleLikelihood(scores(text), (shares[0], shares[1]))
    scale, words, transitions = 1 / max(_score_deviation(table), 1e-9), text.index, unfitted_hmm().transitions
    for _ in range(MAX_TUNING_ITERATIONS):
        likelihood, of_source, of_target = table.likelihood(scale)
        ratios = likelihood[words.source, words.target]
        ratios /= np.sqrt(of_source[words.source] * of_target[words.target])
        ratios[0] = 0  # the padding
        transitions, links = em_iteration(text, ratios, transitions, workers)
        slope, curvature = table.derivatives(scale, ExpectedLinks(words.source, words.target, links))
        last, scale = (
            scale,
            min(max(scale + slope / curvature, scale / MAX_SCALE_STEP), scale * MAX_SCALE_STEP),
        )
        if abs(math.log(scale / last)) < MIN_LOG_SCALE_CHANGE:
            break
    return scale, transitions


def _score_deviation(table: ScaleLikelihood) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    source, target = table.shares
    mean = source @ table.scores @ target
    return math.sqrt(max(float(source @ (table.scores - mean) ** 2 @ target), 0.0))
