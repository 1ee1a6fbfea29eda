"""Dense scorers: log likelihood ratios of word pairs from the cosines of their vectors.

    log r(e, f) = c cos(e, f) - (log Z_e + log Z_f) / 2        Z_e = sum over f of p(f) exp(c cos(e, f))

so that words near to everything gain nothing. A ratio of 1 is chance.

Axes: V vocabulary (word 0 is padding), N words asked for, D dimension, P word pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Codes, Flags, Floats, Integers, Reals
from nmtalign.corpus.sides import look_up, number_words
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.model import SCORE_LIMIT
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.scorer import LogRatios
from nmtalign.state import State, Stored

CELLS, PAIRS = 1 << 22, 1 << 16  # word pairs scored at a time: in a full table, and in a list
FREQUENT = 1024  # number of frequent words that log Z sums over
CODE_LIMIT = 127  # greatest code


class KnownVectors(NamedTuple):
    """What a dense scorer knows about the words of one side of a text."""

    vectors: Floats  # (V, D); zero without a vector
    norms: Floats  # (V,): log Z
    known: Flags  # (V,): which have a vector


@dataclass(frozen=True, eq=False, repr=False)
class DenseScorer:
    """Dense scorer: word vectors of two languages in one space."""

    name: str
    # ``words[0]`` is the padding
    source_words: Sequence[str]
    target_words: Sequence[str]
    # (V, D): directions of the vectors, in steps of 1/127 of the greatest entry; zero for words without a
    # vector, whose pairs get no ratio
    source: Codes
    target: Codes
    # (V,): log Z of each word
    source_norms: Floats
    target_norms: Floats
    scale: float  # c, the inverse temperature
    weight: float  # in the log-linear interpolation

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return the log likelihood ratios of the word pairs whose words both have a vector."""
        source = text.source.memo((self, 0), lambda: self._known_vectors(0, text.source.words))
        target = text.target.memo((self, 1), lambda: self._known_vectors(1, text.target.words))
        pairs = text.index
        indices = np.flatnonzero(source.known[pairs.source] & target.known[pairs.target])
        words = pairs.source[indices], pairs.target[indices]
        vectors, norms = (source.vectors, target.vectors), (source.norms, target.norms)
        return LogRatios(indices, log_ratios(vectors, norms, *words))

    def _known_vectors(self, side: int, words: Sequence[str]) -> KnownVectors:
        """Look up words of one side (0: source, 1: target); unknown words are treated as padding."""
        codes, norms = ((self.source, self.source_norms), (self.target, self.target_norms))[side]
        rows = look_up(self._numbers[side], words, 0)
        vectors = _vectors(codes[rows], self.scale)
        return KnownVectors(vectors, norms[rows], np.asarray(vectors.any(axis=1)))

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        return number_words(self.source_words), number_words(self.target_words)

    def state(self) -> State:
        return State(
            "dense",
            {"name": self.name, "weight": self.weight, "scale": self.scale},
            {"source_norms": self.source_norms, "target_norms": self.target_norms},
            {"source": self.source, "target": self.target},
        )

    @classmethod
    def from_state(cls, stored: Stored, lexicon: Lexicon) -> DenseScorer:
        words, top = (lexicon.source_words, lexicon.target_words), CODE_LIMIT
        V = len(words[0]), len(words[1])
        source = stored.large("source", "i", (V[0], None), low=-top, high=top)
        target = stored.large("target", "i", (V[1], source.shape[1]), low=-top, high=top)
        norms = [stored.array(f"{s}_norms", "f", (n,)) for s, n in zip(("source", "target"), V, strict=True)]
        scale = stored.number("scale", low=0, high=1000)
        weight = stored.number("weight", low=0, high=1)
        return cls(stored.text("name"), *words, source, target, norms[0], norms[1], scale, weight)


def make_dense_scorer(
    name: str,
    words: tuple[Sequence[str], Sequence[str]],
    counts: tuple[Integers, Integers],
    vectors: tuple[Reals, Reals],
    *,
    scale: float,
    weight: float,
) -> DenseScorer:
    """Make a dense scorer; `name`, `scale` and `weight` are as in :class:`DenseScorer`.

    The `words` start with the padding; `counts` (V,) fall; `vectors` (V, D) may have any length.
    """
    codes = _rounded(vectors[0]), _rounded(vectors[1])
    source, target = (_vectors(side, scale) for side in codes)
    shares = [_shares(own) for own in counts]
    norms = (
        log_norms(source, target[: len(shares[1])], shares[1]),
        log_norms(target, source[: len(shares[0])], shares[0]),
    )
    return DenseScorer(name, *words, *codes, *norms, scale, weight)


def _vectors(codes: Codes, scale: float) -> Floats:
    """Return vectors of length sqrt(scale) in the direction of their codes; zero stays zero."""
    vectors = codes.astype(np.float32)
    lengths = np.sqrt(np.einsum("vd,vd->v", vectors, vectors))
    vectors *= (np.sqrt(np.float32(scale)) / np.maximum(lengths, 1))[:, None]
    return vectors


def _rounded(vectors: Reals) -> Codes:
    """Round the directions of vectors to integers from -127 to 127."""
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    return np.rint(vectors * (CODE_LIMIT / np.where(largest > 0, largest, 1))).astype(np.int8)


def _shares(counts: Integers) -> Floats:
    """Return the relative frequencies of the most frequent words, by word number."""
    frequent = counts[: FREQUENT + 1].astype(np.float64)
    shares: Floats = (frequent / max(frequent.sum(), 1)).astype(np.float32)
    return shares


def log_ratios(
    vectors: tuple[Floats, Floats],
    norms: tuple[Floats, Floats],
    source: Integers,
    target: Integers,
) -> Floats:
    """Return ``k . q - (log Z_e + log Z_f) / 2`` of pairs of words, given by number, shape (N,).

    `vectors` (V, D) and `norms` (V,) are those of source and target words.
    """
    result = np.empty(len(source), dtype=np.float32)
    for at in range(0, len(source), PAIRS):
        e, f = source[at : at + PAIRS], target[at : at + PAIRS]
        scores = np.einsum("nd,nd->n", vectors[0][e], vectors[1][f])
        np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT, out=scores)
        result[at : at + PAIRS] = scores - (norms[0][e] + norms[1][f]) / 2
    return result


def log_norms(keys: Floats, queries: Floats, shares: Floats) -> Floats:
    """Return ``log sum over f of p(f) exp(k . q_f)`` of keys (N, D), with queries (V, D) and p(f) (V,)."""
    result = np.empty(len(keys), dtype=np.float32)
    width = max(1, CELLS // max(1, len(queries)))
    for at in range(0, len(keys), width):
        scores = np.clip(keys[at : at + width] @ queries.T, -SCORE_LIMIT, SCORE_LIMIT)
        result[at : at + width] = np.exp(scores, out=scores) @ shares
    return np.log(result, out=result)
