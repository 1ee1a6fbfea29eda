"""Aligners: sentence pairs in, attention weights and links out.

:class:`Aligner` is what every model offers; :class:`VectorAligner` is the one over given word vectors.

Axes: B pairs of equal lengths, T target words, S source words, K size of a prepared vector, L links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.links import AlignedBatch, AlignedPair, Alignment, AlignmentMatrix
from nmtalign.models.corpus import EncodedSide, encode
from nmtalign.models.decoding import Extraction, Floats, Positions, Weighed
from nmtalign.models.scoring import Scorer
from nmtalign.models.stacks import StackLinks, equal_lengths, first_places, joined, share_scores, stacked
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Coverage, Embeddings
from nmtalign.views import Listed

Words = Sequence[str]

STACK = 1 << 17  # numbers of one stack of vectors or scores: 1 MB of float64 stays in the second-level cache


class Aligner(Protocol):
    """What every model offers, whatever its weights come from."""

    @property
    def text(self) -> TextSettings:
        """How lines become words."""
        ...

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """Source and target language, where known; tokenisers may use them."""
        ...

    @property
    def settings(self) -> str:
        """The settings that make the links, in one line."""
        ...

    def align(self, source: str, target: str) -> AlignedPair:
        """Align two lines of text."""
        ...

    def inspect(self, source_words: Words, target_words: Words) -> AlignedPair:
        """Align two sentences of words that are already normalised, with all weights to look at."""
        ...

    def align_batch(self, pairs: Sequence[tuple[Words, Words]]) -> AlignedBatch:
        """Align many pairs of words that are already normalised; the same links as one by one."""
        ...


@dataclass(frozen=True)
class VectorAligner(Listed):
    """Attention over given word vectors of two languages that share a space.

    Each distinct word of a batch is looked up and prepared once. Sentence pairs of equal lengths are
    stacked, one matrix product for each pair; equal words of a sentence (and words of equal vectors) get
    exactly equal scores, and a pair gets the same links alone as in any batch.

    Parameters
    ----------
    source, target : Embeddings
        Vectors of equal length D.
    scorer : Scorer
    positions : Positions, optional
        Prior on where words stand.
    extraction : Extraction, optional
        How links are chosen from the weights.
    text : TextSettings, optional
    languages : (str or None, str or None), optional

    Examples
    --------
    >>> import numpy as np
    >>> from nmtalign.models.scoring import make_scorer
    >>> from nmtalign.text.vocabulary import Vocabulary
    >>> english = Embeddings(Vocabulary.from_words(["cat", "black"]), np.eye(2))
    >>> french = Embeddings(Vocabulary.from_words(["noir", "chat"]), np.eye(2)[::-1].copy())
    >>> aligner = VectorAligner(english, french, make_scorer("cosine", 2))
    >>> list(aligner.align("Black cat", "chat noir").alignment)
    [Link(source=0, target=1), Link(source=1, target=0)]
    """

    source: Embeddings
    target: Embeddings
    scorer: Scorer
    positions: Positions = field(default_factory=Positions)
    extraction: Extraction = field(default_factory=Extraction)
    text: TextSettings = field(default_factory=TextSettings)
    languages: tuple[str | None, str | None] = (None, None)

    @property
    def settings(self) -> str:
        """The settings that make the links, in one line."""
        unknown = f"unknown={self.source.unknown}"
        return f"{self.scorer.settings} {self.positions} {self.extraction} {unknown} text={self.text}"

    def align(self, source: str, target: str) -> AlignedPair:
        """Align two lines of text; the matrix shows the words as they stand in the lines."""
        return align_lines(self, source, target)

    def inspect(self, source_words: Words, target_words: Words) -> AlignedPair:
        """Align two sentences of words that are already normalised, with all weights to look at.

        Returns
        -------
        AlignedPair
            Rows of `forward` and columns of `reverse` sum to 1. `matrix` holds what the links were chosen
            from: the weights of the one direction for ``argmax``, else ``sqrt(p(s|t) p(t|s))``.
        """
        S, T = len(source_words), len(target_words)
        prepared = self._prepare([(source_words, target_words)])
        weighed = self._weigh(prepared, np.zeros(1, dtype=np.int64))
        batch = self._batch(prepared)
        links = batch.links(0)
        return AlignedPair(
            Alignment(frozenset(links), S, T),
            AlignmentMatrix(self.extraction.weights(weighed)[0], tuple(source_words), tuple(target_words)),
            forward=weighed.forward[0],
            reverse=weighed.reverse[0],
            probabilities=dict(zip(links, map(float, batch.probability), strict=True)),
            score=float(batch.scores[0]),
            settings=self.settings,
        )

    def align_batch(self, pairs: Sequence[tuple[Words, Words]]) -> AlignedBatch:
        """Align many pairs of words that are already normalised.

        Parameters
        ----------
        pairs : sequence of (source words, target words)

        Returns
        -------
        AlignedBatch
            One entry for each pair, empty where a side has no words. The probability of a link is
            ``sqrt(p(s|t) p(t|s))``; the score of a pair is ``2 sum(probabilities) / (S + T)``, from 0 to 1.
        """
        return self._batch(self._prepare(pairs))

    def coverage(self, pairs: Sequence[tuple[Words, Words]]) -> tuple[Coverage, Coverage]:
        """Count how many source and target words have a vector of their own."""
        return (
            self.source.coverage([word for words, _ in pairs for word in words]),
            self.target.coverage([word for _, words in pairs for word in words]),
        )

    def _prepare(self, pairs: Sequence[tuple[Words, Words]]) -> _Prepared:
        source, target = encode(words for words, _ in pairs), encode(words for _, words in pairs)
        keys = self.scorer.keys(self.source.vectors(source.words))
        queries = self.scorer.queries(self.target.vectors(target.words))
        first = first_places(source, keys), first_places(target, queries)
        return _Prepared(_Side(source, keys, first[0]), _Side(target, queries, first[1]))

    def _weigh(self, prepared: _Prepared, rows: NDArray[np.int64]) -> Weighed:
        """Return the attention of pairs of equal lengths."""
        source, target = prepared
        keys = source.vectors[stacked(source.words, rows, source.words.tokens)]  # (B, S, K)
        queries = target.vectors[stacked(target.words, rows, target.words.tokens)]  # (B, T, K)
        scores = self.scorer.score(queries, keys)  # (B, T, S)
        first = (stacked(side.words, rows, side.first) for side in prepared)  # (B, S), (B, T)
        share_scores(scores, *first)
        return Weighed(self.positions.apply(scores, scale=self.scorer.scale))

    def _batch(self, prepared: _Prepared) -> AlignedBatch:
        source, target = prepared.source.words, prepared.target.words
        found = []
        for rows in equal_lengths(source, target, size=prepared.source.vectors.shape[1], room=STACK):
            (pair, t, s), probability = self.extraction.cells(self._weigh(prepared, rows))
            found.append(StackLinks(rows[pair], s, t, probability))
        return joined(found, source.lengths + target.lengths)


class _Side(NamedTuple):
    """One side of a batch: its words, the prepared vectors (words, K), where each first stands."""

    words: EncodedSide
    vectors: Floats
    first: NDArray[np.int32]


class _Prepared(NamedTuple):
    """Both sides of a batch."""

    source: _Side
    target: _Side


def align_lines(aligner: Aligner, source: str, target: str) -> AlignedPair:
    """Align two lines of text with any aligner; the matrix shows the words as they stand in the lines."""
    lines = source, target
    pair = aligner.inspect(*aligner.text.words_of_pair(lines, aligner.languages))
    sides = aligner.text.tokens_of_pair(lines, aligner.languages)
    tokens = (tuple(token.text for token in side) for side in sides)
    return replace(pair, matrix=AlignmentMatrix(pair.matrix.weights, *tokens))
