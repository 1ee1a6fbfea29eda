"""Nearest neighbors across two spaces, exact and in blocks, so that memory stays bounded.

Axes: N query words, V key words, D dimensions. All matrices have unit rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.names import RETRIEVAL_SCORES
from nmtalign.vectors.embeddings import Embeddings, unit_rows

Floats = NDArray[np.floating]
_CELLS = 1 << 26  # of one block of similarities: 256 MB in float32
_NEIGHBOURS = 10  # k of CSLS, as in the paper


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Cut `rows` into blocks of at most 2^26 cells."""
    step = max(1, _CELLS // max(columns, 1))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def mean_of_nearest(queries: Floats, keys: Floats) -> Floats:
    """Return the mean cosine of each query to its nearest keys, shape (N,): r(x) of CSLS."""
    count = min(_NEIGHBOURS, len(keys))
    result = np.zeros(len(queries), np.float32)
    for block in _blocks(len(queries), len(keys)):
        cosines = queries[block] @ keys.T  # (n, V)
        cosines.partition(len(keys) - count, axis=1)
        result[block] = cosines[:, len(keys) - count :].mean(axis=1)
    return result


def nearest(
    queries: Floats, keys: Floats, *, count: int = 10, hubness: Floats | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Return rows and scores of the `count` nearest keys of each query, the nearest first, shape (N, count).

    With `hubness`, r(y) of each key (V,), neighbors are by CSLS, ``2 cos(x, y) - r(x) - r(y)``, without it by
    cosine. r(x) is the same for all keys of a query and is left out of the score. Of equal scores the lower
    row comes first. Conneau et al. (2018), "Word translation without parallel data", equation 3.
    """
    count = min(count, len(keys))
    rows, scores = np.zeros((len(queries), count), np.int64), np.zeros((len(queries), count), np.float32)
    for block in _blocks(len(queries), len(keys)):
        nearness = queries[block] @ keys.T  # (n, V)
        if hubness is not None:
            nearness = 2 * nearness - hubness
        top = np.sort(np.argpartition(nearness, len(keys) - count, axis=1)[:, len(keys) - count :], axis=1)
        value = np.take_along_axis(nearness, top, axis=1)
        order = np.argsort(-value, axis=1, kind="stable")
        rows[block] = np.take_along_axis(top, order, axis=1)
        scores[block] = np.take_along_axis(value, order, axis=1)
    return rows, scores


def mutual_neighbors(source: Floats, target: Floats) -> tuple[NDArray[np.int64], float]:
    """Return the rows of words that are each other's nearest by CSLS, shape (M, 2), by source row.

    Also return the mean CSLS of every source word to its nearest target word, a measure of the map that needs
    no dictionary.
    """
    source_hubness, target_hubness = mean_of_nearest(source, target), mean_of_nearest(target, source)
    forward, own = np.zeros(len(source), np.int64), np.zeros(len(source), np.float32)
    best = np.full(len(target), -np.inf, np.float32)
    for block in _blocks(len(source), len(target)):
        score = (2 * source[block]) @ target.T  # (n, V)
        score -= target_hubness
        score -= source_hubness[block, None]
        forward[block] = score.argmax(axis=1)
        own[block] = score.max(axis=1)
        np.maximum(best, score.max(axis=0), out=best)
    mutual = np.flatnonzero(own == best[forward])
    mutual = mutual[np.unique(forward[mutual], return_index=True)[1]]  # of equals the first
    mutual.sort()
    return np.stack([mutual, forward[mutual]], axis=1), float(own.mean()) if len(own) else 0.0


class Neighbor(NamedTuple):
    """One neighbor of a word in the other language."""

    word: str
    score: float


def neighbors(
    source: Embeddings, target: Embeddings, words: Sequence[str], *, count: int = 10, score: str = "csls"
) -> dict[str, list[Neighbor]]:
    """Return the nearest target words of each source word, the nearest first; a zero vector has none.

    Examples
    --------
    >>> import numpy as np
    >>> from nmtalign.text.vocabulary import Vocabulary
    >>> english = Embeddings(Vocabulary.from_words(["cat", "dog"]), np.eye(2))
    >>> french = Embeddings(Vocabulary.from_words(["chien", "chat"]), np.eye(2)[::-1].copy())
    >>> neighbors(english, french, ["cat"], count=1, score="cosine")
    {'cat': [Neighbor(word='chat', score=1.0)]}
    """
    if score not in RETRIEVAL_SCORES:
        raise UsageError(f"score: expected one of {', '.join(RETRIEVAL_SCORES)}, found {score!r}")
    queries, keys = unit_rows(source.vectors(words)), unit_rows(target.compact().matrix)
    if score == "csls":
        hubness = mean_of_nearest(keys, unit_rows(source.compact().matrix))
        rows, scores = nearest(queries, keys, count=count, hubness=hubness)
        scores = scores - mean_of_nearest(queries, keys)[:, None]
    else:
        rows, scores = nearest(queries, keys, count=count)
    names, found = target.vocabulary.words, {}
    for n, word in enumerate(words):
        near = zip(rows[n], scores[n].tolist(), strict=True) if queries[n].any() else ()
        found[word] = [Neighbor(names[row], value) for row, value in near]
    return found


class DictionaryScore(NamedTuple):
    """Precision at k: the share of words with a translation of the dictionary among their k nearest."""

    precision: Mapping[int, float]
    covered: int  # different source words that have a vector and a translation with a vector
    total: int  # different source words
    score: str

    def __str__(self) -> str:
        figures = ", ".join(f"P@{k} {100 * value:.1f}" for k, value in self.precision.items())
        share = 100 * self.covered / self.total if self.total else 0.0
        return f"{figures} ({self.score}; {self.covered:,} of {self.total:,} words covered, {share:.1f} %)"


def evaluate_dictionary(
    source: Embeddings,
    target: Embeddings,
    pairs: Sequence[tuple[str, str]],
    *,
    at: Sequence[int] = (1, 5, 10),
    score: str = "csls",
) -> DictionaryScore:
    """Look the translations of a dictionary up by nearest neighbor, in two languages of one space.

    A word may have several translations in `pairs`; one of them is enough. `at` are the k of precision at k.
    """
    gold: dict[str, set[str]] = {}
    for word, translation in pairs:
        translations = gold.setdefault(word, set())
        if word in source.vocabulary and translation in target.vocabulary:
            translations.add(translation)
    covered = [word for word, translations in gold.items() if translations]
    if not covered:
        raise DataError(
            f"none of the {len(gold)} words of the dictionary has a vector beside its translation"
        )
    nearest_words = neighbors(source, target, covered, count=max(at), score=score)
    right = [[near.word in gold[word] for near in nearest_words[word]] for word in covered]
    precision = {k: sum(any(hits[:k]) for hits in right) / len(covered) for k in at}
    return DictionaryScore(precision, len(covered), len(gold), score)
