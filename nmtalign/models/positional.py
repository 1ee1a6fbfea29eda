"""Given word vectors with jumps: attention that remembers where it looked last, the vectors left as they are.

The likelihood ratio of two words comes from their score,

    r(e, f) = exp(score(e, f) - (log Z_e + log Z_f) / 2)      Z_e = sum over f of p(f) exp(score(e, f)),

so that words that are near to everything gain nothing, and 1 is the ratio of the null word. The jumps are
those of the learned aligner (:mod:`nmtalign.models.hmm`), estimated by expectation-maximisation from a text.

Axes: T target words, S source words, V vocabulary (word 0 is padding), K size of a prepared vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.links import AlignedBatch, AlignedPair, joined_batches
from nmtalign.errors import UsageError
from nmtalign.models.aligner import Aligner, VectorAligner, Words
from nmtalign.models.attention_vectors import log_norms, log_ratios
from nmtalign.models.corpus import EncodedSide, encode, make_buckets
from nmtalign.models.estimation import Expected, default_workers, expect_with_jumps, in_order
from nmtalign.models.heads import word_norms
from nmtalign.models.hmm import Jumps, estimate_jumps, initial_jumps
from nmtalign.models.learned import Prepared, align_prepared, inspect_prepared
from nmtalign.models.lexicon import Emissions
from nmtalign.models.pairs import index_pairs
from nmtalign.models.scoring import DotScorer
from nmtalign.models.segments import cut_long_pairs
from nmtalign.text.bitext import SentencePair

Floats = NDArray[np.float32]

PAIRS = 5_000  # of a text, that jumps are fitted on
PASSES = 3
NULL = 0.1  # probability of the null word
COMMON = 20_000  # first words of the vectors, that stand for a text before there is one
CELLS = 1 << 25  # of pairs that are aligned at a time


class Usual(NamedTuple):
    """The words of one language that others are compared with.

    Attributes
    ----------
    vectors : array of shape (V, K)
    share : array of shape (V,)
        Share of each in the text; sums to 1.
    numbers : dict of str to int
        Words whose log Z is known.
    norms : array
        log Z of those.
    """

    vectors: Floats
    share: Floats
    numbers: dict[str, int]
    norms: Floats


@dataclass(frozen=True, eq=False)
class Fit:
    """What is known of the text: its words and jumps over source and over target positions."""

    source: Usual
    target: Usual
    jumps: tuple[Jumps, Jumps]
    pairs: int


@dataclass(frozen=True)
class JumpAligner(VectorAligner):
    """Attention over given word vectors with the jump model of the learned aligner, both directions agreeing.

    :meth:`fitted` estimates the jumps from the first pairs of a text; after that they stay as they are, and a
    pair gets the same links alone and in any batch. Before that, jumps prefer one step ahead and the first
    words of the vectors stand for the text.

    Parameters
    ----------
    source, target, scorer, extraction, text, languages
        As of :class:`~nmtalign.models.aligner.VectorAligner`; the scorer takes dot products.
    workers : int, optional
        Threads; the links do not depend on it.
    fit : Fit, optional
        Made by :meth:`fitted`.

    Raises
    ------
    UsageError
        If the scorer does not take dot products.

    References
    ----------
    Vogel, Ney and Tillmann 1996; Och and Ney 2003; Liang, Taskar and Klein 2006.

    Examples
    --------
    >>> from nmtalign.models.scoring import make_scorer
    >>> from nmtalign.text.vocabulary import Vocabulary
    >>> from nmtalign.vectors.embeddings import Embeddings
    >>> side = Embeddings(Vocabulary.from_words(["the", "black", "cat", "."]), np.eye(4))
    >>> aligner = JumpAligner(side, side, make_scorer("cosine", 4, temperature=0.1))
    >>> list(aligner.align("the black cat .", "the cat black .").alignment)[1:3]
    [Link(source=1, target=2), Link(source=2, target=1)]
    """

    workers: int | None = None
    fit: Fit | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.scorer, DotScorer):
            raise UsageError("positions hmm need scores that are dot products: dot, scaled-dot or cosine")

    @property
    def settings(self) -> str:
        """The settings that make the links, in one line."""
        fitted = "unfitted" if self.fit is None else f"fitted on {self.fit.pairs} pairs"
        chosen = replace(self.extraction, method="posterior") if self._posterior else self.extraction
        unknown = f"unknown={self.source.unknown}"
        return f"{self.scorer.settings} positions=hmm({fitted}) {chosen} {unknown} text={self.text}"

    @property
    def _posterior(self) -> bool:
        return self.extraction.method is None and self.extraction.symmetrize is None

    def fitted(self, pairs: Sequence[tuple[Words, Words]]) -> JumpAligner:
        """Return the aligner with jumps and word shares of a text; `PAIRS` pairs of it are enough."""
        pairs = [pair for pair in pairs[:PAIRS] if all(pair)]
        if not pairs:
            return self
        sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
        source, target = self._vectors(*sides)
        shares = _share(sides[0]), _share(sides[1])
        norms = log_norms(source, target, shares[1]), log_norms(target, source, shares[0])
        fit = Fit(
            Usual(source, shares[0], _numbers(sides[0]), norms[0]),
            Usual(target, shares[1], _numbers(sides[1]), norms[1]),
            (initial_jumps(0, 0), initial_jumps(0, 0)),
            len(pairs),
        )
        workers = default_workers() if self.workers is None else self.workers
        text = replace(self, fit=fit)._prepared(pairs)
        for _ in range(PASSES):
            text = text._replace(jumps=_estimate(text, workers))
        return replace(self, fit=replace(fit, jumps=text.jumps))

    def align_batch(self, pairs: Sequence[tuple[Words, Words]]) -> AlignedBatch:
        """Align many pairs of words that are already normalised; the same links as one by one.

        Returns
        -------
        AlignedBatch
            Probability of a link: :func:`~nmtalign.models.learned.joint_probability`. Score of a pair: its
            log-likelihood over chance, a word.
        """
        parts = (self._prepared(part) for part in _parts(pairs))
        return joined_batches([align_prepared(part, self.extraction, self.workers) for part in parts])

    def inspect(self, source_words: Words, target_words: Words) -> AlignedPair:
        """Align two sentences of words that are already normalised, with all weights to look at.

        Returns
        -------
        AlignedPair
            Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        text = self._prepared([(source_words, target_words)])
        pair = inspect_prepared(text, source_words, target_words, self.extraction)
        return replace(pair, settings=self.settings)

    def _vectors(self, source: EncodedSide, target: EncodedSide) -> tuple[Floats, Floats]:
        """Return the prepared vectors of the words of a text, the padding's first."""
        return (
            self.scorer.keys(self.source.vectors(source.words)).astype(np.float32),
            self.scorer.queries(self.target.vectors(target.words)).astype(np.float32),
        )

    @cached_property
    def _known(self) -> Fit:
        """The fit, or what stands for one."""
        if self.fit is not None:
            return self.fit
        sides = self.source.first(COMMON), self.target.first(COMMON)
        vectors = self._vectors(*(encode([side.vocabulary.words]) for side in sides))
        usual = [Usual(side, _even(len(side)), {}, np.zeros(1, np.float32)) for side in vectors]
        return Fit(usual[0], usual[1], (initial_jumps(0, 0), initial_jumps(0, 0)), 0)

    def _prepared(self, pairs: Sequence[tuple[Words, Words]]) -> Prepared:
        sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
        source, target, segments = cut_long_pairs(*sides)
        buckets = make_buckets(source, target)
        index = index_pairs(buckets, source, target)
        vectors, known = self._vectors(source, target), self._known
        norms = (
            _norms(known.source, known.target, source.words, vectors[0]),
            _norms(known.target, known.source, target.words, vectors[1]),
        )
        ratios = np.exp(log_ratios(vectors, norms, index.source, index.target))
        ratios[0] = 0  # the padding
        ones = np.ones(len(source.words), np.float32), np.ones(len(target.words), np.float32)
        jumps = _renumbered(known.jumps[0], source), _renumbered(known.jumps[1], target)
        return Prepared(segments, buckets, index.cells, Emissions(ratios, *ones), jumps, NULL)


def _parts(pairs: Sequence[tuple[Words, Words]]) -> Iterator[Sequence[tuple[Words, Words]]]:
    """Cut pairs into runs of at most `CELLS` cells, one pair at least; there is always a run."""
    ends = np.cumsum([len(source) * len(target) for source, target in pairs]) // CELLS
    cuts = np.flatnonzero(np.diff(ends)) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(pairs)], strict=True):
        yield pairs[start:stop]


def _numbers(side: EncodedSide) -> dict[str, int]:
    return {word: number for number, word in enumerate(side.words)}


def _share(side: EncodedSide) -> Floats:
    """Return the share of each word in the text."""
    return np.asarray(side.counts / side.counts.sum(), dtype=np.float32)


def _even(size: int) -> Floats:
    """Return equal shares for all but the padding."""
    share = np.full(size, 1 / max(size - 1, 1), dtype=np.float32)
    share[0] = 0
    return share


def _norms(own: Usual, other: Usual, words: list[str], vectors: Floats) -> Floats:
    """Return log Z of each word; that of a word without a vector is 0."""
    return word_norms(own.numbers, words, own.norms, vectors, other.vectors, other.share)


def _renumbered(jumps: Jumps, side: EncodedSide) -> Jumps:
    """Return jumps for the words of a side: one table for the start of a sentence, one for all words."""
    return Jumps(jumps.tables, np.minimum(np.arange(len(side.words)), 1).astype(np.int32))


def _estimate(text: Prepared, workers: int) -> tuple[Jumps, Jumps]:
    """Return the jumps of one more pass over a text."""
    counts = [np.zeros(jumps.tables.size) for jumps in text.jumps]

    def expect(k: int) -> Expected:
        return expect_with_jumps(
            text.buckets[k], text.cells[k], text.words, text.jumps, text.null, count_jumps=True
        )

    for found in in_order(expect, range(len(text.buckets)), workers):
        for total, jumps in zip(counts, (found.forward_jumps, found.reverse_jumps), strict=True):
            if jumps is not None:
                total += np.bincount(jumps.place, jumps.value, total.size)
    return estimate_jumps(counts[0], text.jumps[0]), estimate_jumps(counts[1], text.jumps[1])


def fitted_on(
    aligner: Aligner, pairs: Iterable[SentencePair], *, count: int = PAIRS
) -> tuple[Aligner, Iterator[SentencePair]]:
    """Return an aligner fitted on the first pairs of a text, and the whole text; others stay as they are.

    Parameters
    ----------
    aligner : Aligner
        A :class:`JumpAligner` is fitted.
    pairs : iterable of SentencePair
        Read as far as needed.
    count : int
        Pairs to fit on.
    """
    rest = iter(pairs)
    if not isinstance(aligner, JumpAligner):
        return aligner, rest
    first = list(islice(rest, count))
    words = [aligner.text.words_of_pair(pair, aligner.languages) for pair in first]
    return aligner.fitted(words), chain(first, rest)
