"""Fit an aligner that was not learned from a text to the first pairs of the text that it aligns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus.parallel import default_workers
from nmtalign.text.pairs import Pair, Pairs, checked_pairs

AnyPair = TypeVar("AnyPair", bound=Pair)


def fit_text(aligner: Aligner, pairs: Iterable[AnyPair]) -> tuple[Aligner, Iterator[AnyPair]]:
    """Return an aligner fitted to the first pairs of a text, if it needs that, and the whole text again."""
    rest = iter(pairs)
    if not aligner.needs_fitting:
        return aligner, rest
    first = list(islice(rest, aligner.scorer.fit_pairs))
    words = [aligner.words_of(pair) for pair in first]
    workers = default_workers(aligner.workers)
    scorer, positions = aligner.scorer.fitted(words, aligner.positions, workers)
    return replace(aligner, scorer=scorer, positions=positions), chain(first, rest)


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
    return fit_text(aligner, checked_pairs(bitext))[0]
