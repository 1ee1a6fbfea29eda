"""The spectral head of a learned aligner: word vectors from the links it has counted itself.

A table of links says nothing of two words that were never linked, and believes every link it has seen once.
Its leading singular vectors say what the table says as a whole: words whose translations keep each other's
company lie close together. Correspondence analysis of the counts gives both languages vectors of length 1;

    log r(e, f) = T cos(e, f) - (log Z_e + log Z_f) / 2        Z_e = sum over f of p(f) exp(T cos(e, f))

is one more opinion on how much likelier than chance two words are as translations, and is averaged with that
of the lexicon. It costs one factorisation when all is counted.

Axes: V words of one side (word 0 is padding), P word pairs, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.attention_vectors import log_norms, log_ratios
from nmtalign.models.lexicon import Emissions, Lexicon
from nmtalign.models.pairs import PairIndex
from nmtalign.vectors.correspondence import correspondence_analysis

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]

DIMENSION = 32
TEMPERATURE = np.float32(14)  # T; chosen on the development sets, as are the weights of the presets
FREQUENT = 1024  # words that log Z is taken over
LEAST_LINKS = 0.05  # links that are expected less often are noise
TOP = 127  # largest code
SMALLEST = np.float32(1e-30)  # ratio under a logarithm


@dataclass(frozen=True, eq=False)
class SpectralHead:
    """Vectors of a lexicon's own links that have a say in its emissions.

    Attributes
    ----------
    source, target : int8 arrays of shape (V, D)
        Directions of the words' vectors, in steps of 1/127 of the largest entry; zero for words without
        links, on which the head has no opinion.
    source_norms, target_norms : float32 arrays of shape (V,)
        log Z of each word.
    weight : float
        Share of the head in the logits, from 0 to 1.
    """

    source: Codes
    target: Codes
    source_norms: Floats
    target_norms: Floats
    weight: float

    def join(
        self, words: Emissions, source: NDArray[np.integer], target: NDArray[np.integer], pairs: PairIndex
    ) -> Emissions:
        """Return emissions with ``log r = (1 - weight) log r_before + weight log r_spectral``.

        Parameters
        ----------
        words : Emissions
            Of the heads before this one.
        source, target : int arrays
            Number in the lexicon of each word of the text, -1 of an unknown word.
        pairs : PairIndex
            The word pairs of the text.
        """
        rows = np.maximum(source, 0), np.maximum(target, 0)
        vectors = _vectors(self.source[rows[0]]), _vectors(self.target[rows[1]])
        norms = self.source_norms[rows[0]], self.target_norms[rows[1]]
        has = [np.asarray(side.any(axis=1)) for side in vectors]
        place = np.flatnonzero(has[0][pairs.source] & has[1][pairs.target] & (words.pairs > 0))
        logits = log_ratios(vectors, norms, pairs.source[place], pairs.target[place])
        joint = words.pairs.copy()
        joint[place] = blended(words.pairs[place], logits, self.weight)
        return words._replace(pairs=joint)

    def word_vectors(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Return vectors (V, D) of one length for words by their number in the lexicon; zero for -1."""
        return _rows(self.source, source), _rows(self.target, target)


def _rows(codes: Codes, words: NDArray[np.integer]) -> Floats:
    found = _vectors(codes[np.maximum(words, 0)])
    found[words < 0] = 0
    return found


def blended(ratios: Floats, logits: Floats, weight: float) -> Floats:
    """Return ``exp((1 - weight) log ratio + weight logit)``; `logits` is overwritten."""
    logits *= np.float32(weight)
    logits += np.float32(1 - weight) * np.log(np.maximum(ratios, SMALLEST))
    return np.exp(logits, out=logits)


def _vectors(codes: Codes) -> Floats:
    """Return vectors of length sqrt(T) in the direction of their codes; zero stays zero."""
    vectors = codes.astype(np.float32)
    lengths = np.sqrt(np.einsum("vd,vd->v", vectors, vectors))
    vectors *= (np.sqrt(TEMPERATURE) / np.maximum(lengths, 1))[:, None]
    return vectors


def _codes(vectors: Floats) -> Codes:
    """Round the direction of vectors to whole numbers up to 127."""
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    return np.rint(vectors * (TOP / np.where(largest > 0, largest, 1))).astype(np.int8)


def learn_spectral(lexicon: Lexicon, weight: float, *, seed: int = 0) -> SpectralHead | None:
    """Make a spectral head from the counts of a lexicon.

    Parameters
    ----------
    lexicon : Lexicon
    weight : float
        Share in the logits.
    seed : int
        Of the random projection.

    Returns
    -------
    SpectralHead or None
        None if nothing was linked, or the lexicon has no view of whole words.

    References
    ----------
    Greenacre (1984), "Theory and applications of correspondence analysis".
    """
    table = None if lexicon.whole is None else lexicon.whole.table(LEAST_LINKS)
    if table is None or not table.nnz:
        return None
    codes = [_codes(side) for side in correspondence_analysis(table, DIMENSION, seed=seed)]
    source, target = (_vectors(side) for side in codes)
    shares = [_shares(counts) for counts in (lexicon.source_counts, lexicon.target_counts)]
    norms = (
        log_norms(source, target[: len(shares[1])], shares[1]),
        log_norms(target, source[: len(shares[0])], shares[0]),
    )
    return SpectralHead(codes[0], codes[1], *norms, weight)


def _shares(counts: NDArray[np.integer]) -> Floats:
    """Return the shares of the most frequent words among themselves, by word number."""
    frequent = counts[: FREQUENT + 1].astype(np.float64)
    shares: Floats = (frequent / max(frequent.sum(), 1)).astype(np.float32)
    return shares
