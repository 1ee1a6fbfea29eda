"""Word vectors from the expected links of a lexicon, by correspondence analysis.

Axes: V words of one language (word 0 is padding), D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nmtalign import blas
from nmtalign.arrays import Floats, Reals
from nmtalign.corpus.text import encode_text
from nmtalign.errors import DataError, UsageError
from nmtalign.scorers.dense import MIN_LINKS, correspondence_analysis
from nmtalign.scorers.forms import number_forms
from nmtalign.scorers.lexicon import Lexicon, StoredForms
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.training.em import Estimator, Hyperparameters
from nmtalign.validation import check_number, check_type
from nmtalign.vectors.embeddings import Embeddings, unit_rows

COUNT_EXPONENT = 0.75  # below 1, rarer translations move closer together
PREFIX_LETTERS = (6, 5, 4, 3)  # words without links get the vectors of words with the same first letters


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


def learn_lexicon(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Lexicon:
    """Learn a lexicon from pairs of normalized words."""
    return Estimator.prepare(encode_text(pairs), Hyperparameters()).run().lexicon


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
