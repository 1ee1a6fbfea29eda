"""Two monolingual spaces into one: Procrustes, refinement by mutual neighbors.

Axes: V words, D dimensions, P seed pairs. A map W takes source rows to target rows: ``X W ~ Y``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.files import read_lines
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings, unit_rows
from nmtalign.vectors.retrieval import mutual_neighbors

Floats = NDArray[np.floating]
Pairs = NDArray[np.int64]  # (P, 2): rows of source and target
WORDS = 5_000  # the most frequent words of each language take part in the refinement
_MOST_ROUNDS = 20
_GAIN = 1e-4  # least gain in mean cosine for another round
_SHORTEST_STRING = 4  # letters; shorter words are often spelled alike by accident
_FEW_STRINGS = 20  # fewer identical strings are no evidence
_RELATED = 0.5  # spaces trained apart had 0.15 (word2vec) and 0.3 (fastText), mapped ones 0.8 to 1.4


class MappedSpaces(NamedTuple):
    """Two spaces in one, with unit rows and without sub-words."""

    source: Embeddings
    target: Embeddings
    seeds: int  # seed pairs that had vectors
    pairs: int  # of the last dictionary
    rounds: int  # of refinement
    cosine: float  # mean over the pairs of the last dictionary

    def __str__(self) -> str:
        text = f"{self.seeds:,} seed pairs, {self.rounds} rounds of refinement, {self.pairs:,} pairs"
        return f"{text} with mean cosine {self.cosine:.3f}"


def map_spaces(
    source: Embeddings,
    target: Embeddings,
    seeds: Iterable[tuple[str, str]],
    *,
    refine: bool = True,
    words: int = WORDS,
) -> MappedSpaces:
    """Turn the source space so that translations lie together.

    Unit length, centring, unit length; then the orthogonal map that brings the seed pairs closest
    (Procrustes); then more pairs, the mutual nearest neighbors by CSLS beside the seeds, and the best map
    for them, until the words come no closer to their nearest neighbors.

    Seeds without vectors are left out. Without `refine` the seeds alone decide; with it, the first `words` of
    each language take part, which should be the most frequent ones.

    References
    ----------
    Xing et al. (2015), "Normalized word embedding and orthogonal transform for bilingual word translation".
    Conneau et al. (2018), "Word translation without parallel data", section 2.
    """
    if source.dimension != target.dimension:
        found = f"{source.dimension} and {target.dimension}"
        raise UsageError(f"expected spaces of equal dimension, found {found}")
    source, target = source.compact(), target.compact()
    X, Y = centered(source.matrix), centered(target.matrix)
    first = _seed_rows(source, target, seeds)
    pairs, W, rounds = first, procrustes(X, Y, first), 0
    if refine:
        refined, W, rounds = _refined(X[:words], Y[:words], first[(first < words).all(axis=1)], W)
        pairs = refined if len(refined) else first
    mapped = unit_rows(X @ W)
    cosine = float((mapped[pairs[:, 0]] * Y[pairs[:, 1]]).sum(axis=1).mean())
    note = {"seeds": len(first), "rounds": rounds, "words": words}
    first_side, second_side = (
        Embeddings(side.vocabulary, matrix, settings={**side.settings, "map": note})
        for side, matrix in ((source, mapped), (target, Y))
    )
    warn_if_unrelated(first_side, second_side)
    return MappedSpaces(first_side, second_side, len(first), len(pairs), rounds, cosine)


def centered(matrix: Floats) -> Floats:
    """Return the rows at unit length, minus their mean, again at unit length, in float32, shape (V, D)."""
    unit = unit_rows(np.asarray(matrix, dtype=np.float32))
    return unit_rows(unit - unit[unit.any(axis=1)].mean(axis=0))


def procrustes(X: Floats, Y: Floats, pairs: Pairs) -> Floats:
    """Return the orthogonal W that minimizes ``|| X W - Y ||`` over the pairs of rows, shape (D, D)."""
    from scipy.linalg import orthogonal_procrustes

    W: Floats = orthogonal_procrustes(X[pairs[:, 0]], Y[pairs[:, 1]])[0].astype(np.float32)
    return W


def _refined(X: Floats, Y: Floats, seeds: Pairs, W: Floats) -> tuple[Pairs, Floats, int]:
    """Alternate between pairs and map while the words come closer to their nearest by CSLS."""
    best, kept = -np.inf, (seeds, W, 0)
    for done in range(_MOST_ROUNDS):
        found, quality = mutual_neighbors(X @ W, Y)
        if quality < best + _GAIN or not len(found):
            return kept
        pairs = np.unique(np.concatenate([found, seeds]), axis=0)
        best, kept = quality, (pairs, W, done)
        W = procrustes(X, Y, pairs)
    return kept


# ---------------------------------------------------------------- seeds


def _seed_rows(source: Embeddings, target: Embeddings, seeds: Iterable[tuple[str, str]]) -> Pairs:
    """Return the rows of the seed pairs that have both vectors, shape (P, 2)."""
    pairs = list(seeds)
    sides = zip((source.vocabulary, target.vocabulary), zip(*pairs, strict=True), strict=False)
    rows = np.array([side.rows(words) for side, words in sides], np.int64).reshape(2, -1).T
    found = np.unique(rows[(rows >= 0).all(axis=1)], axis=0)
    if not len(found):
        raise DataError(
            f"none of the {len(pairs)} seed pairs has both vectors; give a dictionary of these words"
        )
    return found


def read_dictionary(path: str | Path, *, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
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
    return [(w, w) for w in common if len(w) >= _SHORTEST_STRING or any(map(str.isdigit, w))]


# ---------------------------------------------------------------- do two spaces belong together?


def relatedness(source: Embeddings, target: Embeddings) -> float | None:
    """Return by how many standard deviations identical strings are closer than different strings.

    Most words that two languages write alike mean the same (names, numbers). In one space their cosine is
    above that of one such word and the next. In unrelated spaces the result is around 0. It is None when
    fewer than 20 words are written alike.
    """
    words = [word for word, _ in identical_strings(source.vocabulary, target.vocabulary)]
    x, y = unit_rows(source.vectors(words)), unit_rows(target.vectors(words))
    known = x.any(axis=1) & y.any(axis=1)
    x, y = x[known], y[known]
    if len(x) < _FEW_STRINGS:
        return None
    gain = (x * y).sum(axis=1) - (x * np.roll(y, 1, axis=0)).sum(axis=1)  # (P,)
    return float(gain.mean() / max(gain.std(), 1e-12))


def warn_if_unrelated(source: Embeddings, target: Embeddings) -> None:
    """Warn when the vectors of two languages do not look like one space."""
    if source.dimension != target.dimension:
        return
    deviations = relatedness(source, target)
    if deviations is not None and deviations < _RELATED:
        warnings.warn(
            "the two spaces look unrelated: words that both languages write alike are hardly closer than any"
            " others; their alignments would be noise (map them into one space: nmtalign vectors map)",
            stacklevel=2,
        )
