"""Two spaces: nearest neighbors across them, exact and in blocks, and the map of one into the other.

Axes: N queries, V words or keys, D dimensions, P word pairs, as rows of source and target. A map W takes
source rows to target rows, ``X W ~ Y``. Queries and keys have unit rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmtalign import blas
from nmtalign.arrays import Longs, Reals, unit_rows
from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.files.text_files import read_lines
from nmtalign.vectors.embeddings import Embeddings, Vocabulary

_CELLS_PER_BLOCK = 1 << 26  # 256 MB of similarities in float32
_NEIGHBORS_PER_WORD = 10  # k of CSLS, as in the paper
_MAX_REFINEMENT_ROUNDS = 20
_MIN_GAIN = 1e-4  # refinement ends with the first round that raises the mean CSLS by less
_MIN_STRING_LETTERS = 4  # shorter words are often spelled alike by accident
_MIN_STRINGS = 20  # fewer identical strings are no evidence
# Separately trained spaces had 0.15 (word2vec) and 0.3 (fastText), mapped ones 0.8 to 1.4.
_MIN_RELATEDNESS = 0.5


def _cosines(queries: Reals, keys: Reals) -> Iterator[tuple[slice, Reals]]:
    """Yield blocks of queries, each with its products with all keys (n, V), of at most 2^26 cells."""
    step = max(1, _CELLS_PER_BLOCK // max(len(keys), 1))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        yield block, queries[block] @ keys.T


def mean_of_nearest(queries: Reals, keys: Reals) -> Reals:
    """Return the mean cosine of each query to its nearest keys, shape (N,): r(x) of CSLS."""
    count = min(_NEIGHBORS_PER_WORD, len(keys))
    result = np.zeros(len(queries), np.float32)
    for block, cosines in _cosines(queries, keys):
        cosines.partition(len(keys) - count, axis=1)
        result[block] = cosines[:, len(keys) - count :].mean(axis=1)
    return result


def nearest(
    queries: Reals, keys: Reals, *, count: int = 10, hubness: Reals | None = None
) -> tuple[Longs, Reals]:
    """Return rows and scores of the `count` nearest keys of each query, the nearest first, shape (N, count).

    With `hubness`, r(y) of each key (V,), neighbors are by CSLS, ``2 cos(x, y) - r(x) - r(y)``, without it by
    cosine. r(x) is the same for all keys of a query and is omitted from the score. Of equal scores the lower
    row comes first. Conneau et al. (2018), "Word translation without parallel data", equation 3.
    """
    count = min(count, len(keys))
    rows = np.zeros((len(queries), count), np.int64)
    scores = np.zeros((len(queries), count), np.float32)
    for block, cosines in _cosines(queries, keys):
        nearness = cosines if hubness is None else 2 * cosines - hubness  # (n, V)
        largest = np.argpartition(nearness, len(keys) - count, axis=1)[:, len(keys) - count :]
        top = np.sort(largest, axis=1)  # (n, count), so that of equal scores the lower row comes first
        value = np.take_along_axis(nearness, top, axis=1)
        order = np.argsort(-value, axis=1, kind="stable")
        rows[block] = np.take_along_axis(top, order, axis=1)
        scores[block] = np.take_along_axis(value, order, axis=1)
    return rows, scores


def mutual_neighbors(source: Reals, target: Reals) -> tuple[Longs, float]:
    """Return the rows of words that are each other's nearest by CSLS, shape (P, 2), by source row.

    Also return the mean CSLS of every source word to its nearest target word, a measure of the map that needs
    no dictionary.
    """
    source_hubness = mean_of_nearest(source, target)
    target_hubness = mean_of_nearest(target, source)
    nearest_target = np.zeros(len(source), np.int64)
    best_of_source = np.zeros(len(source), np.float32)
    best_of_target = np.full(len(target), -np.inf, np.float32)
    for block, csls in _cosines(source, target):
        csls *= 2
        csls -= target_hubness
        csls -= source_hubness[block, None]
        nearest_target[block] = csls.argmax(axis=1)
        best_of_source[block] = csls.max(axis=1)
        np.maximum(best_of_target, csls.max(axis=0), out=best_of_target)
    mutual = np.flatnonzero(best_of_source == best_of_target[nearest_target])
    _, first_of_equals = np.unique(nearest_target[mutual], return_index=True)
    mutual = np.sort(mutual[first_of_equals])
    mean_csls = float(best_of_source.mean()) if len(best_of_source) else 0.0
    return np.stack([mutual, nearest_target[mutual]], axis=1), mean_csls


def nearest_words(
    source: Embeddings, target: Embeddings, words: Sequence[str], *, count: int = 10
) -> dict[str, list[tuple[str, float]]]:
    """Return the nearest target words of each source word and their CSLS, the nearest first.

    A zero vector has none.
    """
    _check_word_list(target)
    if not words:
        return {}  # before the hubness of all target words, which takes seconds
    queries = unit_rows(source.vectors(words))  # (N, D)
    keys = unit_rows(target.compact().matrix)  # (V, D)
    hubness = mean_of_nearest(keys, unit_rows(source.compact().matrix))
    rows, scores = nearest(queries, keys, count=count, hubness=hubness)
    scores -= mean_of_nearest(queries, keys)[:, None]
    target_words = target.vocabulary.words
    neighbors: dict[str, list[tuple[str, float]]] = {}
    for word, query, rows_of_word, values in zip(words, queries, rows, scores.tolist(), strict=True):
        entries = [(target_words[row], value) for row, value in zip(rows_of_word, values, strict=True)]
        neighbors[word] = entries if query.any() else []
    return neighbors


def _check_word_list(embeddings: Embeddings) -> None:
    """Raise UsageError if the vectors have no list of words."""
    if embeddings.are_static:
        found = "a static model composes word vectors from sub-words and has none"
        raise UsageError(f"expected vectors with a vocabulary; {found}")


# --- one map -------------------------------------------------------------------------------------


class MappedSpaces(NamedTuple):
    """Two spaces in one, with unit rows and without sub-words."""

    source: Embeddings
    target: Embeddings
    seeds: int  # seed pairs that had vectors
    pairs: int  # the pairs of the last dictionary
    rounds: int  # the rounds of refinement
    cosine: float  # mean over the pairs of the last dictionary

    def __str__(self) -> str:
        text = f"{self.seeds:,} seed pairs, {self.rounds} rounds of refinement, {self.pairs:,} pairs"
        return f"{text} with mean cosine {self.cosine:.3f}"


@blas.one_thread()
def map_spaces(
    source: Embeddings,
    target: Embeddings,
    seeds: Iterable[tuple[str, str]],
    *,
    refine: bool = True,
    words: int = 5_000,
) -> MappedSpaces:
    """Turn the source space so that translations lie together (Conneau et al. 2018, section 2).

    Unit norm, centering, unit norm; then the orthogonal map that brings the seed pairs closest
    (Procrustes; Xing et al. 2015); then more pairs, the mutual nearest neighbors by CSLS beside the seeds,
    and the best map for them, until the words come no closer to their nearest neighbors.

    Seeds without vectors are skipped. Without `refine` the seeds alone decide; with it, the first `words` of
    each language take part, which should be the most frequent ones.
    """
    if source.dimension != target.dimension:
        dimensions = f"{source.dimension} and {target.dimension}"
        raise UsageError(f"expected spaces of equal dimension, found {dimensions}")
    _check_word_list(source)
    _check_word_list(target)
    source, target = source.compact(), target.compact()
    X = centered(source.matrix)
    Y = centered(target.matrix)
    seed_rows = _seed_rows(source, target, seeds)
    result = _Map(seed_rows, procrustes(X, Y, seed_rows), 0)
    if refine:
        frequent_seeds = seed_rows[(seed_rows < words).all(axis=1)]
        result = _refine(X[:words], Y[:words], frequent_seeds, result.W)
    pairs = result.pairs if len(result.pairs) else seed_rows
    mapped = unit_rows(X @ result.W)
    cosine = float((mapped[pairs[:, 0]] * Y[pairs[:, 1]]).sum(axis=1).mean())
    note = {"seeds": len(seed_rows), "rounds": result.rounds, "words": words}
    mapped_source = Embeddings(source.vocabulary, mapped, settings={**source.settings, "map": note})
    mapped_target = Embeddings(target.vocabulary, Y, settings={**target.settings, "map": note})
    warn_if_unrelated(mapped_source, mapped_target)
    return MappedSpaces(mapped_source, mapped_target, len(seed_rows), len(pairs), result.rounds, cosine)


def centered(matrix: Reals) -> Reals:
    """Return the rows at unit norm, minus their mean, again at unit norm, in float32, shape (V, D)."""
    unit = unit_rows(np.asarray(matrix, dtype=np.float32))
    mean = unit[unit.any(axis=1)].mean(axis=0)  # zeros, the vectors of no word, do not count
    return unit_rows(unit - mean)


def procrustes(X: Reals, Y: Reals, pairs: Longs) -> Reals:
    """Return the orthogonal W that minimizes ``|| X W - Y ||`` over the pairs of rows, shape (D, D)."""
    from scipy.linalg import orthogonal_procrustes

    W: Reals = orthogonal_procrustes(X[pairs[:, 0]], Y[pairs[:, 1]])[0].astype(np.float32)
    return W


class _Map(NamedTuple):
    """A map of source rows to target rows."""

    pairs: Longs  # (P, 2), rows of source and target that the next map would bring together
    W: Reals  # (D, D)
    rounds: int  # rounds of refinement


def _refine(X: Reals, Y: Reals, seeds: Longs, W: Reals) -> _Map:
    """Alternate between pairs and map while the words come closer to their nearest by CSLS."""
    best = _Map(seeds, W, 0)
    best_csls = -np.inf
    for rounds in range(_MAX_REFINEMENT_ROUNDS):
        mutual, mean_csls = mutual_neighbors(X @ W, Y)
        if mean_csls < best_csls + _MIN_GAIN or not len(mutual):
            return best
        pairs = np.unique(np.concatenate([mutual, seeds]), axis=0)
        best = _Map(pairs, W, rounds)
        best_csls = mean_csls
        W = procrustes(X, Y, pairs)
    return best


def _seed_rows(source: Embeddings, target: Embeddings, seeds: Iterable[tuple[str, str]]) -> Longs:
    """Return the rows of the seed pairs that have both vectors, shape (P, 2)."""
    pairs = list(seeds)
    sides = [source.vocabulary.rows(a for a, _ in pairs), target.vocabulary.rows(b for _, b in pairs)]
    rows = np.stack(sides, axis=1).astype(np.int64)
    known: Longs = np.unique(rows[(rows >= 0).all(axis=1)], axis=0)
    if not pairs:
        raise DataError(
            "there are no seed pairs: no word is spelled the same in both languages, or `seeds` is empty;"
            " pass pairs of translations as `seeds`"
        )
    if not len(known):
        raise DataError(
            f"none of the {len(pairs)} seed pairs has both vectors; pass a dictionary of these words"
        )
    return known


def read_seed_dictionary(path: str | Path, *, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """Yield the pairs of a dictionary: the first two columns of each line, between tabs, else spaces."""
    for number, line in enumerate(read_lines(path, encoding=encoding), 1):
        if not line.strip():
            continue
        columns = line.split("\t" if "\t" in line else " ")
        if len(columns) < 2:
            raise DataError(f"expected a word and its translation, found {line!r}").at(path, line=number)
        yield columns[0], columns[1]


def identical_strings(source: Vocabulary, target: Vocabulary) -> list[tuple[str, str]]:
    """Return the words that both languages write alike: numbers, and words of at least 4 letters."""
    common = [word for word in source.words if word in target]
    return [(w, w) for w in common if len(w) >= _MIN_STRING_LETTERS or any(map(str.isdigit, w))]


def relatedness(source: Embeddings, target: Embeddings) -> float | None:
    """Return by how many standard deviations identical strings are closer than different strings.

    Most words that two languages write alike mean the same (names, numbers). In one space their cosine is
    above that of one such word and the next. In unrelated spaces the result is around 0. It is None when
    fewer than 20 words are written alike.
    """
    words = [word for word, _ in identical_strings(source.vocabulary, target.vocabulary)]
    x = unit_rows(source.vectors(words))
    y = unit_rows(target.vectors(words))
    known = x.any(axis=1) & y.any(axis=1)
    x = x[known]
    y = y[known]
    if len(x) < _MIN_STRINGS:
        return None
    gain = (x * y).sum(axis=1) - (x * np.roll(y, 1, axis=0)).sum(axis=1)  # (P,)
    return float(gain.mean() / max(gain.std(), 1e-12))


def warn_if_unrelated(source: Embeddings, target: Embeddings) -> None:
    """Warn when the vectors of two languages do not look like one space."""
    if source.dimension != target.dimension:
        return
    deviations = relatedness(source, target)
    if deviations is not None and deviations < _MIN_RELATEDNESS:
        warn_caller(
            "the two vector spaces look unrelated: identically spelled words are hardly"
            " closer than random ones. Map them into one space first: nmtalign vectors map"
        )
