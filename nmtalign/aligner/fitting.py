"""Fit the temperature of given word vectors, and the transitions of the hidden Markov model, to a text.

The likelihood ratio of two words comes from their score,

    r(e, f) = exp(score(e, f) - (log Z_e + log Z_f) / 2)      Z_e = sum over f of p(f) exp(score(e, f)),

and 1 is the ratio of the null word. Transitions and temperature are estimated by expectation-maximisation.
The probability of null is fixed: its maximum likelihood estimate gave a larger error on nearly every text.

Axes: T target words, S source words, V vocabulary (word 0 is padding), P word pairs that meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.aligner import Aligner, Words
from nmtalign.corpus.parallel import default_workers, in_order
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.heads.dense import SCORE_LIMIT
from nmtalign.heads.embeddings import EmbeddingHead, Reference, reference_of
from nmtalign.positions.agreement import BothTransitions, hmm_posteriors
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.transitions import estimate_transitions, initial_transitions
from nmtalign.text.bitext import SentencePair

Floats = NDArray[np.float32]

FITTED = 5_000  # pairs of a text that transitions are fitted on
TUNED = 1 << 13  # words on either side of them that the temperature is fitted on: one number needs fewer
ITERATIONS, MAX_ITERATIONS = 3, 10  # of transitions; of the temperature until it moves by less than SETTLED
SETTLED = 0.02
MAX_STEP = np.float32(4)  # factor by which an iteration may change the scale of the scores
NULL = 0.1  # probability of the null word


@dataclass(frozen=True, eq=False)
class Fit:
    """Transitions and temperature that were fitted to a text."""

    pairs: int
    scale: float  # what plain scores are multiplied by: 1 / temperature
    references: tuple[Reference, Reference]  # frequent source and target words
    transitions: BothTransitions


def unfitted_hmm() -> HiddenMarkov:
    """Return a hidden Markov model that prefers one step ahead, for any words."""
    return HiddenMarkov((initial_transitions(0, 0), initial_transitions(0, 0)), ({}, {}), NULL, fitted=0)


def with_fit(aligner: Aligner, fit: Fit | None) -> Aligner:
    """Return an aligner with a fit, or as it is where there is none."""
    if fit is None:
        return aligner
    head = replace(_head(aligner).rescaled(fit.scale), references=fit.references)
    positions = HiddenMarkov(fit.transitions, ({}, {}), NULL, fitted=fit.pairs)
    return replace(aligner, heads=head, positions=positions)


def fit_text(aligner: Aligner, pairs: Iterable[SentencePair]) -> tuple[Fit | None, Iterator[SentencePair]]:
    """Fit an aligner to the first pairs of a text, if it has transitions to fit.

    `pairs` is read as far as needed. Returns the fit, or None for an aligner that needs none, and an iterator
    over the whole text.
    """
    rest = iter(pairs)
    if not aligner.needs_fitting:
        return None, rest
    first = list(islice(rest, FITTED))
    words = [aligner.text.words_of_pair(pair, aligner.languages) for pair in first]
    return fit(aligner, words), chain(first, rest)


def fit_to(aligner: Aligner, bitext: Iterable[SentencePair]) -> Aligner:
    """Return an aligner over given vectors: its hidden Markov model is fitted to the first pairs of a bitext.

    Parameters
    ----------
    aligner : Aligner
        Made by ``load(vectors, positions="hmm")``; others are returned as they are.
    bitext : iterable of SentencePair
        As :func:`nmtalign.read_bitext` gives it; 5,000 pairs are read.

    References
    ----------
    Vogel, Ney and Tillmann (1996).

    Examples
    --------
    >>> from nmtalign.aligner.opening import load
    >>> aligner = load("en_fr_vectors", positions="hmm")
    >>> fit_to(aligner, [SentencePair("the black cat", "le chat noir")] * 9).positions.settings
    'positions=hmm(fitted on 9 pairs)'
    """
    return with_fit(aligner, fit_text(aligner, bitext)[0])


def fit(aligner: Aligner, pairs: Sequence[tuple[Words, Words]]) -> Fit | None:
    """Fit transitions, and the temperature where it is free, to pairs of normalised words."""
    pairs = [pair for pair in pairs[:FITTED] if all(pair)]
    if not pairs:
        return None
    head, workers = _head(aligner), default_workers(aligner.workers)
    scale, transitions = head.scorer.scale, unfitted_hmm().transitions
    if head.tune:
        sizes = np.cumsum([max(map(len, pair)) for pair in pairs])
        text = encode_text(pairs[: max(1, int((sizes <= TUNED).sum()))])
        scale, transitions = _tuned(head, text, transitions, workers)
    text = encode_text(pairs)
    references = reference_of(text.source), reference_of(text.target)
    scores = replace(head.rescaled(scale), references=references).read(text)
    scores.prepare(ratios=True)
    for _ in range(ITERATIONS):
        transitions = _e_step(text, scores.ratios, transitions, workers)[0]
    return Fit(len(pairs), scale, references, transitions)


def _head(aligner: Aligner) -> EmbeddingHead:
    assert isinstance(aligner.heads, EmbeddingHead)
    return aligner.heads


def _e_step(
    text: EncodedText,
    ratios: Callable[[int], Floats],
    transitions: BothTransitions,
    workers: int,
    *,
    links: bool = False,
) -> tuple[BothTransitions, NDArray[np.float64]]:
    """Return the transitions of one more EM iteration, and if asked the agreed links of word pairs (P,)."""
    nulls = tuple(np.ones(len(side.words), np.float32) for side in (text.source, text.target))
    own = tuple(model.renumbered(np.full(len(n), -1)) for model, n in zip(transitions, nulls, strict=True))
    totals = [np.zeros(model.tables.size) for model in transitions]
    counted = np.zeros(len(text.index) if links else 0)

    def expect(k: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        bucket, model = text.buckets[k], ((nulls[0], nulls[1]), (own[0], own[1]), NULL)
        found = hmm_posteriors(bucket, ratios(k), *model, counted=slice(None))
        jumps = found.jumps(bucket, (own[0], own[1]), slice(None))
        return [*jumps, (text.index.cells[k].ravel(), found.product.ravel())] if links else jumps

    for found in in_order(expect, range(len(text.buckets)), workers):
        for total, (place, value) in zip((*totals, counted), found, strict=False):
            total += np.bincount(place, value, total.size)
    first, second = (estimate_transitions(n, model) for n, model in zip(totals, transitions, strict=True))
    return (first, second), counted


def _tuned(
    head: EmbeddingHead, text: EncodedText, transitions: BothTransitions, workers: int
) -> tuple[float, BothTransitions]:
    """Return scale and transitions by expectation-maximisation.

    The scale b of the scores s maximises the expected log-likelihood of the agreed links c, both directions,

        L(b) = sum c(e, f) (2 b s(e, f) - log Z_e(b) - log Z_f(b)),

    which is concave; each iteration takes one step of Newton's method. At first scores deviate by 1
    from their mean, whatever size the vectors have.
    """
    keys, queries = head.prepared(text.source.words, text.target.words)
    scores = np.asarray(head.scorer.score(queries, keys), dtype=np.float32).T  # (V source, V target)
    shares = _share(text.source), _share(text.target)
    scale = np.float32(1 / max(_deviation(scores, shares), 1e-9))
    pairs = text.index
    for _ in range(MAX_ITERATIONS):
        likelihood = np.exp(np.clip(scale * scores, -SCORE_LIMIT, SCORE_LIMIT))
        Z = likelihood @ shares[1], shares[0] @ likelihood
        found = likelihood[pairs.source, pairs.target]
        found /= np.sqrt(Z[0][pairs.source] * Z[1][pairs.target])
        found[0] = 0  # the padding
        ratios, last = partial(_cells, text, found), scale
        transitions, links = _e_step(text, ratios, transitions, workers, links=True)
        scale = _newton(scale, scores, likelihood, links, (pairs.source, pairs.target), shares, Z)
        if abs(np.log(scale / last)) < SETTLED:
            break
    return float(scale) * head.scorer.scale, transitions


def _cells(text: EncodedText, ratios: Floats, k: int) -> Floats:
    """Return the ratios of the cells of bucket k, from those of the word pairs."""
    return ratios.take(text.index.cells[k])


def _share(side: EncodedSide) -> Floats:
    """Return the share of each word in the text."""
    return np.asarray(side.counts / side.counts.sum(), dtype=np.float32)


def _deviation(scores: Floats, shares: tuple[Floats, Floats]) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    mean = shares[0] @ scores @ shares[1]
    return math.sqrt(max(float(shares[0] @ (scores - mean) ** 2 @ shares[1]), 0.0))


def _newton(
    scale: np.float32,
    scores: Floats,
    likelihood: Floats,
    links: NDArray[np.float64],
    pairs: tuple[NDArray[np.int32], NDArray[np.int32]],
    shares: tuple[Floats, Floats],
    Z: tuple[Floats, Floats],
) -> np.float32:
    """Return the scale after one step; `likelihood`, exp(scale * scores), is overwritten."""
    links[0] = 0
    of_source = np.bincount(pairs[0], links, len(scores))
    of_target = np.bincount(pairs[1], links, scores.shape[1])
    seen = 2 * float(links @ scores[pairs])
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
    return np.float32(np.clip(moved, scale / MAX_STEP, scale * MAX_STEP))
