"""Fit an aligner to a text: the positions of vectors, and the trust in an encoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from nmtalign import blas
from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus.parallel import default_workers
from nmtalign.errors import DataError
from nmtalign.text.bitext import ColumnName, Pair, Pairs, Sentences, check_pairs
from nmtalign.validation import check_type

MAX_FITTING_PAIRS = 5_000  # more pairs of a text are not needed to fit transitions
AnyPair = TypeVar("AnyPair", bound=Pair)


def fit_text(
    aligner: Aligner, pairs: Iterable[AnyPair], *, aligned_unit: str = "words"
) -> tuple[Aligner, Iterator[AnyPair]]:
    """Return an aligner fitted to the first pairs of a text, if it needs that, and all pairs again.

    `aligned_unit` is what the links of an expert count: words or tokens, as in :meth:`Aligner.text_of_pairs`.
    """
    remaining = iter(pairs)
    if not aligner.needs_fitting:
        return aligner, remaining
    first_pairs = list(islice(remaining, MAX_FITTING_PAIRS))
    words_of_pairs = [aligner.words_of(pair) for pair in first_pairs]
    words = [(source, target) for source, target in words_of_pairs if source and target]
    if aligner.positions.unfitted and words:
        scorer, positions = aligner.scorer.fitted(words, default_workers(aligner.workers))
        aligner = replace(aligner, scorer=scorer, positions=positions)
    if aligner.needs_trust and first_pairs:
        aligner = aligner.with_trust_from(aligner.text_of_pairs(first_pairs, aligned_unit=aligned_unit))
    return aligner, chain(first_pairs, remaining)


@blas.one_thread()
def fit_to(
    aligner: Aligner,
    bitext: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
) -> Aligner:
    """Return an aligner over vectors, or with an encoder, fitted to the first pairs of a bitext.

    Parameters
    ----------
    aligner : Aligner
        Made by ``load(vectors, positions="hmm")`` or ``load(model, encoder=name)``; any other is returned
        unchanged.
    bitext : iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words, as for :func:`train`; at most 5,000 pairs are read.
    targets : sequence, optional
        The target sentences, if `bitext` has the source sentences.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.

    References
    ----------
    Vogel, Ney and Tillmann (1996).

    Examples
    --------
    >>> from nmtalign import load
    >>> aligner = load("en_fr_vectors", positions="hmm")
    >>> fit_to(aligner, [("the black cat", "le chat noir")] * 9).positions.description
    'positions=hmm(fitted on 9 pairs)'
    """
    check_type(aligner, Aligner, "an aligner, as in fit_to(aligner, pairs)")
    pairs = check_pairs(bitext, targets, source=source, target=target, languages=aligner.languages)
    fitted, _ = fit_text(aligner, pairs)
    if fitted.needs_fitting:
        raise DataError("expected sentence pairs with words on both sides to fit to, found none")
    return fitted
