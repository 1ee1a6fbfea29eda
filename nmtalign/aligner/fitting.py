"""Fit the temperature of given word vectors, and the transitions of the hidden Markov model, to a text.

The likelihood ratio of two words comes from their score,

    r(e, f) = exp(score(e, f) - (log Z_e + log Z_f) / 2)      Z_e = sum over f of p(f) exp(score(e, f)),

and 1 is the ratio of the null word. Transitions and temperature are estimated by expectation-maximisation,
the temperature by the likelihood that :mod:`nmtalign.heads.mapped` writes down.
The probability of null is fixed: its maximum likelihood estimate gave a larger error on nearly every text.

Axes: T target words, S source words, V vocabulary (word 0 is padding), P word pairs that meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.aligner import Aligner
from nmtalign.contextual.calibration import Fitting
from nmtalign.contextual.head import Calibration, ContextualHead
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.heads.counts import Emissions
from nmtalign.heads.embeddings import CellScores, EmbeddingHead, Reference, reference_of
from nmtalign.heads.mapped import Links, ScaleLikelihood
from nmtalign.positions.agreement import BothTransitions
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.transitions import estimate_transitions, initial_transitions
from nmtalign.text.pairs import Pair, Pairs, Words, checked_pairs
from nmtalign.training.e_step import EStep, expected_counts

Floats = NDArray[np.float32]
AnyPair = TypeVar("AnyPair", bound=Pair)

FITTED_IN_CONTEXT = 2_000  # pairs of a text that the contextual head is fitted to: three numbers
FITTED = 5_000  # pairs of a text that transitions are fitted on
TUNED = 1 << 13  # words on either side of them that the temperature is fitted on: one number needs fewer
ITERATIONS, MAX_ITERATIONS = 3, 10  # of transitions; of the temperature until it moves by less than SETTLED
SETTLED = 0.02
MAX_STEP = 4  # factor by which an iteration may change the scale of the scores
NULL = 0.1  # probability of the null word


@dataclass(frozen=True, eq=False)
class Fit:
    """Transitions and temperature that were fitted to a text."""

    pairs: int
    scale: float  # what plain scores are multiplied by: 1 / temperature
    references: tuple[Reference, Reference]  # frequent source and target words
    transitions: BothTransitions


@dataclass(frozen=True, eq=False)
class ContextualFit:
    """Calibration of the contextual head, and the fit of the head that it is mixed with."""

    pairs: int
    calibration: Calibration
    base: Fit | None
    transitions: BothTransitions | None  # None where they were learned with a lexicon


def unfitted_hmm() -> HiddenMarkov:
    """Return a hidden Markov model that prefers one step ahead, for any words."""
    return HiddenMarkov((initial_transitions(0, 0), initial_transitions(0, 0)), ({}, {}), NULL, fitted=0)


def with_fit(aligner: Aligner, fit: Fit | ContextualFit | None) -> Aligner:
    """Return an aligner with a fit, or as it is where there is none."""
    if fit is None:
        return aligner
    if isinstance(fit, ContextualFit):
        return _with_context(aligner, fit)
    head = replace(_head(aligner).rescaled(fit.scale), references=fit.references)
    positions = HiddenMarkov(fit.transitions, ({}, {}), NULL, fitted=fit.pairs)
    return replace(aligner, heads=head, positions=positions)


def _with_context(aligner: Aligner, fit: ContextualFit) -> Aligner:
    head, positions = _contextual(aligner), aligner.positions
    if fit.base is not None:
        head = _over_fitted(head, aligner, fit.base)
    if fit.transitions is not None:
        positions = HiddenMarkov(fit.transitions, ({}, {}), NULL, fitted=fit.pairs)
    return replace(aligner, heads=replace(head, calibration=fit.calibration), positions=positions)


def _over_fitted(head: ContextualHead, aligner: Aligner, fit: Fit | None) -> ContextualHead:
    """Return the contextual head over the other one with its fit."""
    return replace(head, base=with_fit(replace(aligner, heads=head.base), fit).heads)


def fit_text(
    aligner: Aligner, pairs: Iterable[AnyPair]
) -> tuple[Fit | ContextualFit | None, Iterator[AnyPair]]:
    """Fit an aligner to the first pairs of a text, if it has transitions to fit.

    `pairs` is read as far as needed. Returns the fit, or None for an aligner that needs none, and an iterator
    over the whole text.
    """
    rest = iter(pairs)
    if not aligner.needs_fitting:
        return None, rest
    contextual = isinstance(aligner.heads, ContextualHead)
    first = list(islice(rest, FITTED_IN_CONTEXT if contextual else FITTED))
    words = [aligner.words_of(pair) for pair in first]
    return (fit_context if contextual else fit)(aligner, words), chain(first, rest)


def fit_to(aligner: Aligner, bitext: Pairs) -> Aligner:
    """Return an aligner over given vectors: its hidden Markov model is fitted to the first pairs of a bitext.

    Parameters
    ----------
    aligner : Aligner
        Made by ``load(vectors, positions="hmm")`` or :func:`nmtalign.with_context`; others are returned as
        they are.
    bitext : iterable of (source, target), or (list, list), or DataFrame
        As of :meth:`Aligner.align_batch`; 5,000 pairs are read.

    References
    ----------
    Vogel, Ney and Tillmann (1996).

    Examples
    --------
    >>> from nmtalign.aligner.opening import load
    >>> aligner = load("en_fr_vectors", positions="hmm")
    >>> fit_to(aligner, [("the black cat", "le chat noir")] * 9).positions.settings
    'positions=hmm(fitted on 9 pairs)'
    """
    return with_fit(aligner, fit_text(aligner, checked_pairs(bitext))[0])


def fit_context(aligner: Aligner, pairs: Sequence[tuple[Words, Words]]) -> ContextualFit | None:
    """Fit the contextual head to the first pairs of words of a bitext, and its weight beside another head."""
    text, head = encode_text(pairs), _contextual(aligner)
    if not text.buckets:
        return None
    of_base = None
    if isinstance(head.base, EmbeddingHead):
        words = [(head.text.normalized(source), head.text.normalized(target)) for source, target in pairs]
        of_base = fit(replace(aligner, heads=head.base, text=head.text), words)
        head = _over_fitted(head, aligner, of_base)
    scores, workers = head.read(text), default_workers(aligner.workers)
    scores.prepare(ratios=True)
    sides = scores.text.source, scores.text.target
    alone = Fitting(replace(scores, base=None), unfitted_hmm().transitions_of(*sides), NULL, workers)
    calibration, transitions = alone.calibrate(), None
    positions = aligner.positions
    if not isinstance(positions, HiddenMarkov) or positions.fitted is not None:
        transitions = alone.transitions
        positions = HiddenMarkov(transitions, ({}, {}), NULL)
    if head.weight is not None:
        calibration = calibration._replace(weight=head.weight)
    elif scores.base is not None:
        calibration = calibration._replace(weight=alone.weight(calibration, scores.base, positions))
    return ContextualFit(sum(all(pair) for pair in pairs), calibration, of_base, transitions)


def _contextual(aligner: Aligner) -> ContextualHead:
    assert isinstance(aligner.heads, ContextualHead)
    return aligner.heads


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
    ratios = _ratios_of_pairs(text, scores)
    for _ in range(ITERATIONS):
        transitions, _ = _expected(text, ratios, transitions, workers)
    return Fit(len(pairs), scale, references, transitions)


def _head(aligner: Aligner) -> EmbeddingHead:
    assert isinstance(aligner.heads, EmbeddingHead)
    return aligner.heads


def _expected(
    text: EncodedText, ratios: Floats, transitions: BothTransitions, workers: int
) -> tuple[BothTransitions, NDArray[np.float64]]:
    """Return the transitions of one more EM iteration, and the agreed links of word pairs (P,)."""
    nulls = [np.ones(len(side.words), np.float32) for side in (text.source, text.target)]
    first, second = (
        model.renumbered(np.full(len(n), -1)) for model, n in zip(transitions, nulls, strict=True)
    )
    step = EStep(NULL, Emissions(ratios, nulls[0], nulls[1]), (first, second))
    found = expected_counts(step, text.buckets, text.index, (text.source, text.target), workers)
    jumps = found.forward_jumps, found.reverse_jumps
    first, second = (estimate_transitions(n, model) for n, model in zip(jumps, transitions, strict=True))
    return (first, second), found.pairs


def _ratios_of_pairs(text: EncodedText, scores: CellScores) -> Floats:
    """Return the likelihood ratios of word pairs (P,); all cells of a pair have the same to the bit."""
    ratios = np.zeros(len(text.index), np.float32)
    for k, cells in enumerate(text.index.cells):
        ratios[cells] = scores.ratios(k)
    return ratios


def _tuned(
    head: EmbeddingHead, text: EncodedText, transitions: BothTransitions, workers: int
) -> tuple[float, BothTransitions]:
    """Return scale and transitions by expectation-maximisation, one step of Newton's method an iteration.

    At first scores deviate by 1 from their mean, whatever size the vectors have.
    """
    keys, queries = head.prepared(text.source.words, text.target.words)
    scores = np.asarray(head.scorer.score(queries, keys), dtype=np.float32).T  # (V source, V target)
    table = ScaleLikelihood(scores, (_share(text.source), _share(text.target)))
    scale, pairs = 1 / max(_deviation(table), 1e-9), text.index
    for _ in range(MAX_ITERATIONS):
        likelihood, of_source, of_target = table.likelihood(scale)
        ratios = likelihood[pairs.source, pairs.target]
        ratios /= np.sqrt(of_source[pairs.source] * of_target[pairs.target])
        ratios[0] = 0  # the padding
        transitions, links = _expected(text, ratios, transitions, workers)
        slope, spread = table.derivatives(scale, Links(pairs.source, pairs.target, links))
        last, scale = scale, min(max(scale + slope / spread, scale / MAX_STEP), scale * MAX_STEP)
        if abs(math.log(scale / last)) < SETTLED:
            break
    return scale * head.scorer.scale, transitions


def _share(side: EncodedSide) -> Floats:
    """Return the share of each word in the text."""
    return np.asarray(side.counts / side.counts.sum(), dtype=np.float32)


def _deviation(table: ScaleLikelihood) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    source, target = table.shares
    mean = source @ table.scores @ target
    return math.sqrt(max(float(source @ (table.scores - mean) ** 2 @ target), 0.0))
