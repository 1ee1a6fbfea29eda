"""Dense scorers: log likelihood ratios of word pairs from the cosines of their vectors, given or learned.

    log r(e, f) = κ cos(e, f) - (log Z_e + log Z_f) / 2        Z_e = sum over f of p(f) exp(κ cos(e, f))

with a scale κ, so that a word that is close to all other words gains nothing. A ratio of 1 is chance. Vectors
are given, or spectral: learned from links. Spectral vectors score words that were never linked, and smooth
the counts of words that were linked once. The same analysis of links makes vectors for other uses
(:func:`count_embeddings`).

The scale κ of the scores s of given vectors maximizes the expected log-likelihood of the links,
with counts c(e, f), in both directions,

    L(κ) = sum c(e, f) (2 κ s(e, f) - log Z_e(κ) - log Z_f(κ))    Z_e(κ) = sum over f of p(f) exp(κ s(e, f)),

which is concave.

Axes: V vocabulary (word 0 is padding), D dimension, E source and F target words, L links, P word pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nmtalign import blas
from nmtalign.arrays import AnyArray, Codes, Doubles, Flags, Floats, Integers, Reals, block_slices, unit_rows
from nmtalign.corpus.sides import look_up
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES
from nmtalign.positions.e_step import em_iteration
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.jumps import BothJumpModels
from nmtalign.positions.position_model import MAX_SCORE
from nmtalign.scorers.forms import number_forms
from nmtalign.scorers.lexicon import Lexicon, StoredForms
from nmtalign.scorers.scorer import LogRatios, TokenizedPairs
from nmtalign.state import State, Stored
from nmtalign.text.tokenization import TextSettings
from nmtalign.validation import check_number, check_type
from nmtalign.vectors.embeddings import Embeddings, Vocabulary

# bounds of the memory that scores take
CELLS_PER_TABLE = 1 << 22
PAIRS_PER_LIST = 1 << 13  # their vectors fit the cache of a core
MAX_NORM_WORDS = 1024  # log Z sums over so many frequent words only
MAX_CODE = 127

# spectral vectors; the scale was chosen on the development sets, like the weight in the preset
SPECTRAL_DIMENSION = 32
SPECTRAL_SCALE = 14.0
MIN_LINKS = 0.05  # smaller expected counts are noise
COUNT_SMOOTHING = 0.5  # lowers the scores of words with few links
OVERSAMPLING = 20  # further directions of the random projection, which make the wanted ones more precise
POWER_ITERATIONS = 3
COLUMNS_PER_PRODUCT = 64  # bounds the memory of a product with a sparse matrix

# vectors of `count_embeddings`
COUNT_EXPONENT = 0.75  # below 1, rarer translations move closer together
PREFIX_LETTERS = (6, 5, 4, 3)  # words without links get the vectors of words with the same first letters

# given vectors
MAX_SCALE = 60.0
SCALE_PRECISION = 1 + 1e-6  # bounds of a scale with this ratio are equal
MAX_NEWTON_STEPS = 100  # a likelihood that is nearly flat would need thousands; texts need 10
MAX_TUNING_WORDS = 1 << 13  # words of a side; a temperature is one number, which needs little text
MAX_TUNING_ITERATIONS = 10
MIN_LOG_SCALE_CHANGE = 0.02  # a smaller change ends the iterations for a temperature
MAX_SCALE_STEP = 4  # an iteration changes the scale by at most this factor


class SideVectors(NamedTuple):
    """The words (V,) of one side of a text as a dense scorer knows them."""

    vectors: Floats  # (V, D): of norm sqrt(κ); zero for a word without a vector
    norms: Floats  # (V,): log Z
    known: Flags  # (V,): whether a word has a vector


@dataclass(frozen=True, eq=False, repr=False)
class DenseScorer:
    """Dense scorer: word vectors of two languages in one space."""

    name: str
    lexicon: Lexicon  # its word numbers are the rows of the arrays
    # directions of source and target vectors (V, D), in steps of 1/127 of the greatest entry; the codes of a
    # word without a vector are zero, and its pairs get no ratio
    codes: tuple[Codes, Codes]
    norms: tuple[Floats, Floats]  # log Z of source and target words, each (V,)
    scale: float  # κ, the inverse temperature
    weight: float  # weight of this scorer in the log-linear interpolation

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return ``k . q - (log Z_e + log Z_f) / 2`` of the word pairs whose words both have a vector."""
        source = text.source.memo((self, 0), lambda: self._look_up(0, text.source.words))
        target = text.target.memo((self, 1), lambda: self._look_up(1, text.target.words))
        word_pairs = text.word_pairs
        indices = np.flatnonzero(source.known.take(word_pairs.source) & target.known.take(word_pairs.target))
        ratios = np.empty(len(indices), dtype=np.float32)
        for block in block_slices(len(indices), PAIRS_PER_LIST):
            e = word_pairs.source.take(indices[block])
            f = word_pairs.target.take(indices[block])
            scores = np.einsum("nd,nd->n", source.vectors.take(e, axis=0), target.vectors.take(f, axis=0))
            np.clip(scores, -MAX_SCORE, MAX_SCORE, out=scores)
            ratios[block] = scores - (source.norms.take(e) + target.norms.take(f)) / 2
        return LogRatios(indices, ratios)

    def _look_up(self, side: int, words: Sequence[str]) -> SideVectors:
        """Look up words of one side (0: source, 1: target); unknown words are treated as padding."""
        rows = look_up(self.lexicon.numbers[side], words, 0)
        vectors = _decode(self.codes[side][rows], self.scale)
        return SideVectors(vectors, self.norms[side][rows], np.any(vectors, axis=1))

    def state(self) -> State:
        """Return the state, from which the class restores the scorer."""
        source_norms, target_norms = self.norms
        source_codes, target_codes = self.codes
        return State(
            "dense",
            values={"name": self.name, "weight": self.weight, "scale": self.scale},
            arrays={"source_norms": source_norms, "target_norms": target_norms},
            large={"source": source_codes, "target": target_codes},
        )

    @classmethod
    def from_state(cls, stored: Stored, lexicon: Lexicon) -> DenseScorer:
        """Return the scorer with a state; DataError if its arrays do not fit the lexicon."""
        source_size, target_size = len(lexicon.source_words), len(lexicon.target_words)
        source = stored.large("source", "i", (source_size, None), minimum=-MAX_CODE, maximum=MAX_CODE)
        shape = target_size, source.shape[1]
        target = stored.large("target", "i", shape, minimum=-MAX_CODE, maximum=MAX_CODE)
        return cls(
            name=stored.text("name"),
            lexicon=lexicon,
            codes=(source, target),
            norms=(
                stored.array("source_norms", "f", (source_size,)),
                stored.array("target_norms", "f", (target_size,)),
            ),
            scale=stored.number("scale", minimum=0, maximum=1000),
            weight=stored.number("weight", minimum=0, maximum=1),
        )


def make_dense_scorer(
    name: str, lexicon: Lexicon, vectors: tuple[Reals, Reals], *, scale: float, weight: float
) -> DenseScorer:
    """Make a dense scorer of `vectors` (V, D) for the words of a lexicon; the vectors may have any norm."""
    source_codes, target_codes = _encode(vectors[0]), _encode(vectors[1])
    source, target = _decode(source_codes, scale), _decode(target_codes, scale)
    source_shares = _relative_frequencies(lexicon.source_counts).astype(np.float32)
    target_shares = _relative_frequencies(lexicon.target_counts).astype(np.float32)
    # words are numbered by falling frequency, so the first rows are those of the frequent words
    source_norms = log_norms(source, target[: len(target_shares)], target_shares)
    target_norms = log_norms(target, source[: len(source_shares)], source_shares)
    return DenseScorer(
        name=name,
        lexicon=lexicon,
        codes=(source_codes, target_codes),
        norms=(source_norms, target_norms),
        scale=scale,
        weight=weight,
    )


def _decode(codes: Codes, scale: float) -> Floats:
    """Return vectors of norm sqrt(scale) in the direction of their codes; zero stays zero."""
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
    keys_per_block = max(1, CELLS_PER_TABLE // max(1, len(queries)))
    for block in block_slices(len(keys), keys_per_block):
        scores = np.clip(keys[block] @ queries.T, -MAX_SCORE, MAX_SCORE)  # (keys of the block, V)
        result[block] = np.exp(scores, out=scores) @ shares
    return np.log(result, out=result)


def learn_spectral(lexicon: Lexicon, weight: float, *, seed: int = 0) -> DenseScorer | None:
    """Return a spectral scorer from the counts of a lexicon; `seed` is for the random projection.

    The result is None if nothing was linked, or if the lexicon does not count whole words.
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

    are factorized by random projection, three power iterations and an exact factorization in the remaining
    subspace; the vectors are ``U sqrt(s)`` and ``V sqrt(s)``. A `power` below 1 moves rarer translations
    closer together.

    The small number of iterations is part of the method. A table of links consists of thousands of groups of
    words, such as a name and its translation, each with a singular value near 1. The exact leading directions
    would show D of these groups and none of the others; the projection keeps a part of all of them. With 20
    iterations instead of 3, the alignment error of 64 dimensions doubled. Greenacre (1984), "Theory and
    applications of correspondence analysis"; Halko, Martinsson and Tropp (2011), "Finding structure with
    randomness", algorithms 4.4 and 5.1.
    """
    scaled = _scaled_counts(counts)
    scaled.data **= np.float32(power)
    source = np.zeros((scaled.shape[0], size), np.float32)
    target = np.zeros((scaled.shape[1], size), np.float32)
    if scaled.nnz:
        linked_rows, linked_columns = scaled.nonzero()
        rows = np.flatnonzero(np.bincount(linked_rows))
        columns = np.flatnonzero(np.bincount(linked_columns))
        U, s, V = _singular_vectors(scaled[rows][:, columns].tocsr(), size, seed)
        source[rows, : len(s)] = U * np.sqrt(s)
        target[columns, : len(s)] = V * np.sqrt(s)
    return source, target


def _scaled_counts(counts: Any) -> Any:
    """Return ``c / sqrt((r(e) + 1/2) (r(f) + 1/2))`` without its zeros, shape (E, F)."""
    from scipy.sparse import coo_array

    table = coo_array(counts, dtype=np.float64)
    table.sum_duplicates()
    table.eliminate_zeros()
    row_factors = _inverse_roots(table.sum(axis=1))  # (E,)
    column_factors = _inverse_roots(table.sum(axis=0))  # (F,)
    row, column = table.coords
    values = (table.data * row_factors[row] * column_factors[column]).astype(np.float32)
    return coo_array((values, (row, column)), shape=table.shape).tocsr()


def _inverse_roots(sums: AnyArray) -> Doubles:
    """Return ``1 / sqrt(r + 1/2)`` of the sums r of rows or columns."""
    smoothed = np.asarray(sums, np.float64) + COUNT_SMOOTHING
    return np.asarray(1 / np.sqrt(np.where(smoothed > 0, smoothed, 1)))


def _singular_vectors(matrix: Any, size: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return up to `size` singular vectors of a sparse A (E, F) and their values, largest first.

    Halko, Martinsson and Tropp (2011), algorithm 4.4 (the basis Q) and 5.1 (the factorization of Q^T A).
    """
    from scipy.linalg import qr

    width = min(size + OVERSAMPLING, *matrix.shape)
    transposed = matrix.T.tocsr()
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], width), dtype=np.float32)
    for _ in range(POWER_ITERATIONS):
        products = []
        for start in range(0, width, COLUMNS_PER_PRODUCT):
            columns = basis[:, start : start + COLUMNS_PER_PRODUCT]
            products.append(transposed @ (matrix @ columns))
        basis, _ = qr(np.hstack(products), mode="economic")  # (F, width)
    left, small = qr(matrix @ basis, mode="economic")  # (E, width) and (width, width)
    U, s, Vt = np.linalg.svd(small)
    return left @ U[:, :size], s[:size], basis @ Vt[:size].T


@blas.one_thread()
def count_embeddings(
    lexicon: Lexicon, *, dimension: int = 128, minimum: int = 1, subwords: bool = False, seed: int = 1
) -> tuple[Embeddings, Embeddings]:
    """Return word vectors of both languages from the expected links of a lexicon.

    A word without links becomes a supplementary point: the joint vector of the words with its longest prefix.

    Parameters
    ----------
    lexicon : Lexicon
    dimension : int
        D.
    minimum : int
        Rarer words get no vector.
    subwords : bool
        Analyze each kind of form (words, first letters) and concatenate the vectors of the forms, each of
        length 1: the cosine of two words is the mean of the cosines of their forms.
    seed : int
        Seed of the random projection.

    Returns
    -------
    (source, target) : Embeddings
        Unit rows in float32, the most frequent words first.

    Raises
    ------
    UsageError
        If the lexicon does not count whole words, or D is less than the number of kinds of form.
    DataError
        If nothing was linked.

    Examples
    --------
    >>> from nmtalign import train
    >>> bitext = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 5
    >>> english, french = count_embeddings(train(bitext).lexicon, dimension=4)
    >>> scores = english.vectors(["house", "car"]) @ french.vectors(["maison", "auto"]).T
    >>> (scores > 0.9).tolist()
    [[True, False], [False, True]]
    """
    check_type(lexicon, Lexicon, "the lexicon of a learned aligner (aligner.lexicon)")
    for number, what in ((dimension, "dimension"), (minimum, "minimum"), (seed, "seed")):
        check_number(number, f"an integer as {what}, 0 or more", minimum=0, integer=True)
    whole = [] if lexicon.whole is None else [lexicon.whole]
    forms = lexicon.counts_of_kinds if subwords else whole
    if not whole:
        raise UsageError("the lexicon has no counts of whole words; pass the one of a learned aligner")
    if dimension < len(forms):
        raise UsageError(f"`dimension` must be at least {len(forms)}, one per form, found {dimension}")
    if minimum < 1:
        raise UsageError(f"`minimum` must be at least 1, found {minimum}")
    sizes = [len(part) for part in np.array_split(np.arange(dimension), len(forms))]
    words = lexicon.source_words, lexicon.target_words
    parts = [_form_vectors(stored, words, n, seed) for stored, n in zip(forms, sizes, strict=True)]
    settings = {"method": "counts", "dimension": dimension, "minimum": minimum}
    settings |= {"seed": seed, "subwords": subwords}
    result = []
    for side, counts in enumerate((lexicon.source_counts, lexicon.target_counts)):
        last = int((counts[1:] >= minimum).sum()) + 1  # words are numbered by falling frequency
        rows = unit_rows(np.hstack([part[side] for part in parts]))[1:last]
        vocabulary = Vocabulary.from_words(words[side][1:last])
        result.append(Embeddings(vocabulary, rows, settings=settings))
    return result[0], result[1]


def _form_vectors(
    stored: StoredForms, words: tuple[Sequence[str], Sequence[str]], size: int, seed: int
) -> tuple[Reals, Reals]:
    """Return the vectors of the forms of all words, unit rows of shape (V, size)."""
    table = stored.table(MIN_LINKS)
    if not table.nnz:
        raise DataError("the lexicon has no links; it was learned from too little text")
    vectors = correspondence_analysis(table, size, power=COUNT_EXPONENT, seed=seed)
    rows = []
    for side in (0, 1):
        numbers, forms = number_forms(words[side], stored.form_kinds[side])
        linked = table.sum(axis=1 - side)
        rows.append(unit_rows(_with_relatives(vectors[side], linked, forms))[numbers])
    return rows[0], rows[1]


def _with_relatives(vectors: Floats, linked: Reals, forms: Sequence[str]) -> Reals:
    """Give forms without links the weighted sum of the vectors of the forms with the longest common prefix.

    The scaled counts of a form are its counts over the root of their sum. So, but for the power, the joint
    row of several forms is the sum of their rows, each times the root of the sum of its counts.
    """
    result = vectors.copy()
    weighted = vectors * np.sqrt(linked)[:, None].astype(np.float32)  # (forms, D)
    for letters in PREFIX_LETTERS:
        bare = np.flatnonzero(~result.any(axis=1))
        prefix, prefixes = number_forms(forms, letters)
        sums = np.zeros((len(prefixes), vectors.shape[1]), np.float32)
        np.add.at(sums, prefix, weighted)
        result[bare] = sums[prefix[bare]]
    result[0] = 0
    return result


def make_vectors_scorer(
    lexicon: Lexicon,
    source: Embeddings,
    target: Embeddings,
    text_settings: TextSettings,
    *,
    weight: float,
) -> DenseScorer:
    """Make a scorer of given vectors for the words of a lexicon, and fit its scale to the links.

    `text_settings` contains the settings by which the words of the lexicon were normalized.
    """
    vectors = (
        unit_rows(source.vectors(source.forms(lexicon.source_words, text_settings))),
        unit_rows(target.vectors(target.forms(lexicon.target_words, text_settings))),
    )
    for side in vectors:
        side[0] = 0  # the padding
    scale = fit_scale(lexicon, vectors)
    return make_dense_scorer("vectors", lexicon, vectors, scale=scale, weight=weight)


def check_vectors(
    vectors: tuple[Embeddings, Embeddings],
    words: tuple[Sequence[str], Sequence[str]],
    text_settings: TextSettings,
) -> None:
    """Raise DataError if the dimensions differ, or no word of a side has a vector; word 0 is the padding."""
    source, target = vectors
    if source.dimension != target.dimension:
        found = f"found {source.dimension} and {target.dimension} dimensions"
        raise DataError(f"expected source and target vectors of the same dimension, {found}")
    for name, embeddings, vocabulary in zip(SIDES, vectors, words, strict=True):
        coverage = embeddings.coverage(embeddings.forms(vocabulary[1:], text_settings))
        if not coverage.known + coverage.composed:
            raise DataError(f"the vectors know none of the {name} words; are the languages swapped?")


def fit_scale(lexicon: Lexicon, vectors: tuple[Reals, Reals]) -> float:
    """Return the scale of cosines, from 1 to `MAX_SCALE`, with the greatest likelihood of frequent links.

    `vectors` (V, D) are unit rows, by word number.
    """
    if lexicon.whole is None:
        return 1.0
    source = np.asarray(vectors[0][: MAX_NORM_WORDS + 1], dtype=np.float64)
    target = np.asarray(vectors[1][: MAX_NORM_WORDS + 1], dtype=np.float64)
    source_words, target_words = np.divmod(lexicon.whole.keys, len(lexicon.target_words))
    # of the links, keep those of two frequent words that both have a vector
    frequent = np.flatnonzero((source_words < len(source)) & (target_words < len(target)))
    has_source_vector = np.any(source, axis=1)[source_words[frequent]]
    has_target_vector = np.any(target, axis=1)[target_words[frequent]]
    kept = frequent[has_source_vector & has_target_vector]
    links = ExpectedLinks(source_words[kept], target_words[kept], lexicon.whole.counts[kept])
    source_shares = _relative_frequencies(lexicon.source_counts)
    target_shares = _relative_frequencies(lexicon.target_counts)
    return ScaleLikelihood(source @ target.T, source_shares, target_shares).maximum(links)


class ExpectedLinks(NamedTuple):
    """Expected links: source words, target words and counts, each (L,)."""

    source: Integers
    target: Integers
    counts: Reals


@dataclass(frozen=True)
class ScaleLikelihood:
    """The likelihood L(κ) of scores (E, F) between words of two languages, given the shares of the words."""

    scores: Reals
    source_shares: Reals
    target_shares: Reals

    def at(self, scale: float) -> tuple[Reals, Reals, Reals]:
        """Return exp(κ s) of the scores (E, F), and Z of the source words (E,) and the target words (F,)."""
        powers = np.asarray(self.scores.dtype.type(scale) * self.scores)
        np.clip(powers, -MAX_SCORE, MAX_SCORE, out=powers)
        np.exp(powers, out=powers)
        return powers, powers @ self.target_shares, self.source_shares @ powers

    def derivatives(self, scale: float, links: ExpectedLinks) -> tuple[float, float]:
        """Return dL/dκ and -d2L/dκ2: observed minus expected scores of the links, and their variance."""
        powers, source_norms, target_norms = self.at(scale)
        of_source = np.bincount(links.source, links.counts, len(source_norms))  # links of each word
        of_target = np.bincount(links.target, links.counts, len(target_norms))

        # links that both directions expect of two words: c(e) p(f) exp(κ s) / Z_e + c(f) p(e) exp(κ s) / Z_f,
        # first without exp(κ s)
        expected = np.outer((of_source / source_norms).astype(powers.dtype), self.target_shares)
        expected += np.outer(self.source_shares, (of_target / target_norms).astype(powers.dtype))
        powers *= self.scores  # exp(κ s) s
        mean_of_source = powers @ self.target_shares / source_norms  # expected score of a link of each word
        mean_of_target = self.source_shares @ powers / target_norms
        expected *= powers

        observed = 2 * float(links.counts @ self.scores[links.source, links.target])
        slope = observed - float(expected.sum(dtype=np.float64))
        expected *= self.scores
        sum_of_squares = float(expected.sum(dtype=np.float64))
        squares_of_means = float(of_source @ mean_of_source**2 + of_target @ mean_of_target**2)
        return slope, max(sum_of_squares - squares_of_means, 1e-9)

    def maximum(self, links: ExpectedLinks, *, low: float = 1.0, high: float = MAX_SCALE) -> float:
        """Return the likeliest scale from `low` to `high`, by Newton's method, safeguarded by bisection."""
        scale = math.sqrt(low * high)
        steps = 0
        while high / low > SCALE_PRECISION:
            steps += 1
            slope, curvature = self.derivatives(scale, links)
            if slope > 0:
                low = scale
            else:
                high = scale
            previous = scale
            scale = previous + slope / curvature
            if not low < scale < high or steps > MAX_NEWTON_STEPS:
                scale = math.sqrt(low * high)
            elif abs(scale - previous) < (SCALE_PRECISION - 1) * previous:
                break
        return scale


def fit_temperature(
    pairs: TokenizedPairs, scores: Callable[[EncodedText], Floats], workers: int
) -> tuple[float, BothJumpModels]:
    """Return the factor of plain scores (1 / temperature), and jump models, by expectation-maximization.

    `scores` returns the scores of all source words of a text with all its target words, (E, F). The
    likelihood ratio of two words is ``exp(κ s - (log Z_e + log Z_f) / 2)``, that of the null word 1. Each
    iteration takes a step of Newton's method. The initial scale gives the scores a standard deviation of 1,
    whatever the norm of the vectors. The probability of null is fixed, because its maximum likelihood
    estimate gave a greater error on nearly every text. After Vogel, Ney and Tillmann (1996).
    """
    text = encode_text(_first_pairs(pairs))
    source_shares = (text.source.counts / text.source.counts.sum()).astype(np.float32)
    target_shares = (text.target.counts / text.target.counts.sum()).astype(np.float32)
    likelihood = ScaleLikelihood(scores(text), source_shares, target_shares)
    scale = 1 / max(_score_deviation(likelihood), 1e-9)
    jump_models = unfitted_hmm().jump_models
    source, target = text.word_pairs.source, text.word_pairs.target  # the words of each pair, (P,)
    for _ in range(MAX_TUNING_ITERATIONS):
        powers, source_norms, target_norms = likelihood.at(scale)
        ratios = powers[source, target]
        ratios /= np.sqrt(source_norms[source] * target_norms[target])
        ratios[0] = 0  # the padding
        jump_models, counts = em_iteration(text, ratios, jump_models, workers)
        slope, curvature = likelihood.derivatives(scale, ExpectedLinks(source, target, counts))
        previous = scale
        scale = max(previous + slope / curvature, previous / MAX_SCALE_STEP)
        scale = min(scale, previous * MAX_SCALE_STEP)
        if abs(math.log(scale / previous)) < MIN_LOG_SCALE_CHANGE:
            break
    return scale, jump_models


def _first_pairs(pairs: TokenizedPairs) -> TokenizedPairs:
    """Return the first pairs, at least one, with about `MAX_TUNING_WORDS` words on a side."""
    words_of_longer_side = [max(len(source), len(target)) for source, target in pairs]
    running_sums = np.cumsum(words_of_longer_side)
    return pairs[: max(1, int((running_sums <= MAX_TUNING_WORDS).sum()))]


def _score_deviation(likelihood: ScaleLikelihood) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    source, target = likelihood.source_shares, likelihood.target_shares
    mean = source @ likelihood.scores @ target
    variance = float(source @ (likelihood.scores - mean) ** 2 @ target)
    return math.sqrt(max(variance, 0.0))
