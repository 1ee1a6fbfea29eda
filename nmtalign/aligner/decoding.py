"""From posteriors to the links of a text, bucket by bucket.

Axes: B pairs of a bucket, T target words, S source words, L links.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.extraction import Attention, Extraction
from nmtalign.aligner.pair_scores import TrainingSize, evidence_of_pairs, parallel_probability
from nmtalign.arrays import Doubles, Ints, Longs, Reals
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.coverage import foreign_pairs
from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.text import EncodedText
from nmtalign.links.alignments import AlignedBatch, AlignedPair, Alignment, AlignmentMatrix
from nmtalign.positions.hmm import THRESHOLD
from nmtalign.positions.model import BucketPosteriors, Cells


class BucketLinks(NamedTuple):
    """Links of a bucket: pair, source and target position, probability, each (L,); evidence of its pairs."""

    pair: Ints
    source: Ints
    target: Ints
    probability: NDArray[np.floating]
    pairs: Longs
    evidence: Doubles


class Decoder(NamedTuple):
    """Decodes the buckets of a text: posteriors, links, pair scores."""

    text: EncodedText
    attend: Callable[[int], BucketPosteriors]  # gives the posteriors of the bucket of a number
    extraction: Extraction
    # as of :meth:`nmtalign.positions.model.TextScores.evidence`; None where there is no null word
    evidence: Callable[[int, NDArray[np.float32]], NDArray[np.float32]] | None = None
    size: TrainingSize = TrainingSize()
    # words that a learned model knows; None where others than known words are evidence
    vocabularies: tuple[Container[str], Container[str]] | None = None
    # as of :meth:`nmtalign.positions.model.TextScores.informed`; None where every pair has attention
    informed: Callable[[int, NDArray[np.float32] | None], NDArray[np.bool_]] | None = None
    scores: Callable[[int], Reals] | None = None  # those of a bucket, before the position model

    def links(self, k: int) -> BucketLinks:
        """Compute the posteriors of bucket k and choose links."""
        bucket = self.text.buckets[k]
        posteriors, ratios = self.attend(k)
        (t, s, b), probability = self._cells(posteriors, bucket)
        if self.informed is not None:
            kept = np.broadcast_to(self.informed(k, ratios), bucket.shape)[t, s, b]
            t, s, b, probability = t[kept], s[kept], b[kept], probability[kept]
        real, core = np.flatnonzero(bucket.pairs >= 0), self.text.segments.core(bucket)
        if ratios is None or self.evidence is None:
            weights = probability if core is None else probability * core[t, s, b]
            evidence = np.asarray(np.bincount(b, weights, len(bucket.pairs)), np.float64)
        else:
            worth = self.evidence(k, ratios) if core is None else self.evidence(k, ratios) * core
            evidence = evidence_of_pairs(posteriors.forward, posteriors.reverse, worth)
        pair, at_source, at_target = (numbers.astype(np.int32) for numbers in (bucket.pairs[b], s, t))
        return BucketLinks(pair, at_source, at_target, probability, bucket.pairs[real], evidence[real])

    def _cells(self, posteriors: Attention, bucket: Bucket) -> tuple[Cells, Reals]:
        """Choose links and give their probability; signs (a comma beside a link) are no second words."""
        (t, s, b), probability = self.extraction.links(posteriors, bucket)
        if self.extraction.second is None:
            return (t, s, b), probability
        second = np.flatnonzero(probability < probability.dtype.type(THRESHOLD))
        sides = (self.text.source, bucket.source, s), (self.text.target, bucket.target, t)
        kept = np.ones(len(probability), dtype=bool)
        for side, numbers, at in sides:
            words = [side.words[k] for k in numbers[at[second], b[second]].tolist()]
            kept[second] &= np.array([any(map(str.isalnum, word)) for word in words], dtype=bool)
        return (t[kept], s[kept], b[kept]), probability[kept]

    def align(self, workers: int) -> AlignedBatch:
        """Return the links of all pairs; they do not depend on the number of workers."""
        return self.collected(list(self.links_of_buckets(workers)))

    def links_of_buckets(self, workers: int) -> Iterator[BucketLinks]:
        """Yield the links of the buckets in order."""
        return in_order(self.links, range(len(self.text.buckets)), workers, cells=self.text.cells)

    def collected(self, found: Sequence[BucketLinks]) -> AlignedBatch:
        """Put the links of all buckets into the order of the pairs."""
        segments = self.text.segments
        none = [np.zeros(0, np.int64)] * len(BucketLinks._fields)
        columns = [np.concatenate(column) for column in zip(none, *found, strict=True)]
        piece, source, target, probability = columns[:4]
        kept, pair, source, target = segments.restore(piece.astype(np.int64), source, target)
        probability = probability[kept]
        if len(segments.pair) > segments.pairs and self.extraction.one_to_one:
            best = self._best_of_their_words(pair, source, target, probability)
            pair, source, target, probability = pair[best], source[best], target[best], probability[best]
        order = np.lexsort((target, source, pair))
        counts = np.bincount(pair, minlength=segments.pairs)
        evidence = segments.total(columns[4].astype(np.int64), columns[5].astype(np.float64))
        return AlignedBatch(
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
            source=source[order].astype(np.int32),
            target=target[order].astype(np.int32),
            probability=probability[order].astype(np.float32),
            scores=self._pair_scores(evidence),
        )

    def _best_of_their_words(
        self, pair: Longs, source: Longs, target: Longs, probability: NDArray[np.floating]
    ) -> NDArray[np.bool_]:
        """Mark links that are the best of both words, for pieces of a long pair link a word several times."""
        S, T = self.text.segments.source_lengths[pair], self.text.segments.target_lengths[pair]
        distance = np.abs((2 * source + 1) * T - (2 * target + 1) * S)
        order = np.lexsort((target, source, distance, -probability))
        best = np.zeros((2, len(pair)), dtype=bool)
        for marked, word in zip(best, (source, target), strict=True):
            _, first = np.unique(np.stack([pair, word])[:, order], axis=1, return_index=True)
            marked[order[first]] = True
        return np.asarray(best.all(axis=0))

    def _pair_scores(self, evidence: Doubles) -> Doubles:
        """Return the pair score of each pair; a mean link probability where there is no null word.

        It is 0 where no word of a side is known: nothing can be said of such a pair.
        """
        S, T = self.text.segments.source_lengths, self.text.segments.target_lengths
        if self.evidence is None:
            return np.asarray(2 * evidence / np.maximum(S + T, 1))
        found = parallel_probability(evidence, S, T, self.size)
        if self.vocabularies is not None:
            found[foreign_pairs(self.text, self.vocabularies)] = 0
        return found

    def pair(self, words: tuple[Sequence[str], Sequence[str]], settings: str) -> AlignedPair:
        """Return the one pair of the text with its attention weights, as of :meth:`pairs`."""
        return self.pairs([words], settings)[0]

    def pairs(self, words: Sequence[tuple[Sequence[str], Sequence[str]]], settings: str) -> list[AlignedPair]:
        """Return the pairs of the text with their attention weights; `words` are those to show."""
        once = self._replace(attend=lru_cache(1)(self.attend))  # for the matrices and for the links
        found, wholes = [], _Wholes(self.text)
        for k in range(len(self.text.buckets)):
            posteriors = once.attend(k).posteriors
            parts = posteriors.forward, posteriors.reverse, self.extraction.matrix(posteriors)
            wholes.paste(k, parts, None if self.scores is None else self.scores(k))
            found.append(once.links(k))
        batch, made = self.collected(found), []
        probabilities = np.split(batch.probability, batch.offsets[1:-1])
        for n, ((forward, reverse, weights), scores) in enumerate(wholes.of_pairs()):
            links = batch.links(n)
            pair = AlignedPair(
                Alignment(frozenset(links), *map(len, words[n])),
                AlignmentMatrix(weights, *map(tuple, words[n])),
                forward=forward,
                reverse=reverse,
                probabilities=dict(zip(links, probabilities[n].tolist(), strict=True)),
                score=float(batch.scores[n]),
                settings=settings,
                extraction=self.extraction.rule,
                threshold=self.extraction.least,
                second=self.extraction.second,
                **({} if self.scores is None else {"scores": scores}),
            )
            made.append(pair)
        return made


class _Wholes:
    """The matrices (T, S) of the pairs of a text, put together from their pieces."""

    def __init__(self, text: EncodedText) -> None:
        self._text = text
        lengths = text.segments.target_lengths, text.segments.source_lengths
        self._shapes = list(zip(*(side.tolist() for side in lengths), strict=True))
        self._weights: list[list[NDArray[np.floating]]] = []
        # NaN in cells that no piece of a long pair has
        self._scores = [np.full(shape, np.nan, np.float32) for shape in self._shapes]

    def paste(self, k: int, weights: Sequence[Reals], scores: Reals | None) -> None:
        """Write the weights and scores of bucket k, each (T, S, B)."""
        bucket, paste = self._text.buckets[k], self._text.segments.paste
        if not self._weights:
            self._weights = [[np.zeros(shape, part.dtype) for shape in self._shapes] for part in weights]
        for part, wholes in zip(weights, self._weights, strict=True):
            paste(bucket, part, wholes)
        if scores is not None:
            paste(bucket, np.asarray(scores, np.float32), self._scores)

    def of_pairs(self) -> Iterator[tuple[tuple[NDArray[np.floating], ...], NDArray[np.float32]]]:
        """Yield p(s|t), p(t|s) and the weights that links are chosen from, and the scores of each pair."""
        segments = self._text.segments
        weights = self._weights or [[np.zeros(shape, np.float32) for shape in self._shapes] for _ in range(3)]
        pieces = np.bincount(segments.pair, minlength=segments.pairs)
        for many, scores, *wholes in zip(pieces > 1, self._scores, *weights, strict=True):
            if many:  # a word in the cores of several pieces has got attention from each
                for whole, axis in zip(wholes, (1, 0), strict=False):
                    whole /= np.maximum(whole.sum(axis=axis, keepdims=True), 1)
            yield tuple(wholes), scores
