"""From posteriors to the links of a text, bucket by bucket, and to the pair score of each sentence pair.

A pair score is the probability that the two sides are translations of each other. The evidence of a link is
the log likelihood ratio r' of its words, counted without one of their links, so that no pair is evidence for
itself. With the posteriors of both directions,

    v = sum over cells of (p(s|t) + p(t|s)) max(0, log r'(s, t)) / (S + T)
    n = log of (S + T) / 2, at most log LONGEST
    z = |log((T + 1/2) / (c S + 1/2))| sqrt(min(S, T)), at most MAX_LENGTH_DEVIATION
    u = log10 of the source words of the training text / 10,000, from LEAST to MOST words

where c is the ratio T / S of the training text. The probability is

    p(parallel) = 1 / (1 + exp(-(b0 + b1 v + b2 n + b3 z + b4 v n + b5 u)))

The coefficients b are fitted by ``scripts/fit_parallelness.py`` to one wrong pair in ten; where the share of
wrong pairs is w, the logit is ``log(9) - log((1 - w) / w)`` too high.

Axes: B pairs of a bucket, T target words, S source words, L links, N sentence pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.extraction import Attention, Extraction
from nmtalign.arrays import AnyArray, Doubles, Flags, Floats, Ints, Longs, Reals, offsets_of
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.coverage import foreign_pairs
from nmtalign.corpus.long_pairs import Segments
from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.text import EncodedText
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    BothWords,
    UnknownWords,
)
from nmtalign.names import VALUES
from nmtalign.positions.hmm import THRESHOLD
from nmtalign.positions.link_probabilities import SUREST, LinkProbabilities
from nmtalign.positions.model import BucketPosteriors, Cells, TextScores

LONGEST = 500  # words
MAX_LENGTH_DEVIATION = 6.0
LEAST, MOST = 3_000, 350_000  # words of a training text: the range to which the coefficients are fitted


class TrainingSize(NamedTuple):
    """Size of a training text."""

    words: int = 100_000  # source words
    length_ratio: float = 1.0  # target words for each source word

    @classmethod
    def of(cls, words: tuple[int, int] | None) -> TrainingSize:
        """Return the size of a text with these source and target words; the defaults if there are none."""
        return cls(words[0], words[1] / words[0]) if words and all(words) else cls()

    @property
    def log_size(self) -> float:
        """The size u, as defined above."""
        return float(np.log10(min(max(self.words, LEAST), MOST) / 10_000))


class Coefficients(NamedTuple):
    """Coefficients of the logit of :func:`parallel_probability`: of 1, v, n, z, v n and u."""

    constant: float
    evidence: float
    length: float
    length_deviation: float
    evidence_length: float
    log_size: float


FITTED = Coefficients(2.588, 3.152, -2.69, -0.6784, 1.105, -2.956)


def evidence_of_pairs(forward: Floats, reverse: Floats, evidence: Floats) -> Doubles:
    """Return the evidence of each pair of a bucket (B,), from posteriors and evidence of cells (T, S, B).

    The evidence is 0 in cells that belong to another piece of a long pair.
    """
    expected = (forward + reverse) * evidence
    by_word = np.add.reduce(expected, axis=1)  # (T, B)
    return np.asarray(np.add.reduce(by_word.astype(np.float64), axis=0))


def parallel_probability(
    evidence: Doubles,
    source_lengths: Longs,
    target_lengths: Longs,
    size: TrainingSize,
) -> Doubles:
    """Return the probability that N pairs are parallel, rising with the evidence; 0 where a side is empty.

    `evidence` (N,) comes from :func:`evidence_of_pairs`; the lengths (N,) are in words.
    """
    features = pair_features(evidence, source_lengths, target_lengths, size)
    logit = (features * np.array(FITTED)[:, None]).sum(axis=0)
    probability = np.clip(1 / (1 + np.exp(-np.clip(logit, -30, 30))), SUREST, 1 - SUREST)
    return np.where((source_lengths > 0) & (target_lengths > 0), probability, 0.0)


def pair_features(
    evidence: Doubles, source_lengths: Longs, target_lengths: Longs, size: TrainingSize
) -> Doubles:
    """Return 1, v, n, z, v n and u of each pair, as defined above, shape (6, N)."""
    S, T = source_lengths.astype(np.float64), target_lengths.astype(np.float64)
    words = np.maximum(S + T, 1)
    v = evidence / words
    n = np.log(np.minimum(words / 2, LONGEST))
    z = np.abs(np.log((T + 0.5) / (size.length_ratio * S + 0.5))) * np.sqrt(np.minimum(S, T))
    z = np.minimum(z, MAX_LENGTH_DEVIATION)
    return np.stack([np.ones_like(v), v, n, z, v * n, np.full_like(v, size.log_size)])


class BucketLinks(NamedTuple):
    """Links of a bucket, each (L,): pair, positions, joint posterior, probability; evidence of its pairs."""

    pair: Ints
    source: Ints
    target: Ints
    posterior: Reals
    probability: Reals
    pairs: Longs
    evidence: Doubles


class Decoder(NamedTuple):
    """Decodes the buckets of a text: posteriors, links, pair scores."""

    text: EncodedText
    bucket_posteriors: Callable[[int], BucketPosteriors]  # gives the posteriors of the bucket of a number
    extraction: Extraction
    # :meth:`nmtalign.positions.model.TextScores.linkable`; None where all words of all pairs may have links
    linkable: Callable[[int, Floats | None], Flags] | None = None
    scores: TextScores | None = None  # before the position model
    has_null: bool = False  # whether there is a null word, and with it evidence
    size: TrainingSize = TrainingSize()
    probabilities: LinkProbabilities | None = None  # of a learned model; posteriors are those of others

    def chosen(self, k: int) -> tuple[Cells, Reals, Attention, NDArray[np.float32] | None]:
        """Return the links of bucket k, their posterior, and the posteriors and evidence of all cells."""
        bucket = self.text.buckets[k]
        posteriors, ratios = self.bucket_posteriors(k)
        (t, s, b), posterior = self._cells(posteriors, bucket)
        if self.linkable is not None:
            kept = np.broadcast_to(self.linkable(k, ratios), bucket.shape)[t, s, b]
            t, s, b, posterior = t[kept], s[kept], b[kept], posterior[kept]
        cell_evidence = None if ratios is None or self.scores is None else self.scores.evidence(k, ratios)
        return (t, s, b), posterior, posteriors, cell_evidence

    def links(self, k: int) -> BucketLinks:
        """Compute the links of bucket k, their probability, and the evidence of its pairs."""
        bucket, ((t, s, b), posterior, posteriors, cell_evidence) = self.text.buckets[k], self.chosen(k)
        real, core = np.flatnonzero(bucket.pieces >= 0), self.text.segments.core(bucket)
        probability = posterior
        if cell_evidence is None:
            weights = posterior if core is None else posterior * core[t, s, b]
            evidence = np.asarray(np.bincount(b, weights, len(bucket.pieces)), np.float64)
        else:
            if self.probabilities is not None:
                probability = self.probabilities.of(bucket, b, posterior, cell_evidence[t, s, b])
            cell_evidence = cell_evidence if core is None else cell_evidence * core
            evidence = evidence_of_pairs(posteriors.forward, posteriors.reverse, cell_evidence)
        pair, at_source, at_target = (numbers.astype(np.int32) for numbers in (bucket.pieces[b], s, t))
        own = bucket.pieces[real], evidence[real]
        return BucketLinks(pair, at_source, at_target, posterior, probability, *own)

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
        piece, source, target, posterior, probability = columns[:5]
        kept, pair, source, target = segments.restore(piece.astype(np.int64), source, target)
        probability = probability[kept]
        if len(segments.pair) > segments.pairs and self.extraction.one_to_one:
            best = self._best_of_their_words(pair, source, target, posterior[kept])
            pair, source, target, probability = pair[best], source[best], target[best], probability[best]
        order = np.lexsort((target, source, pair))
        counts = np.bincount(pair, minlength=segments.pairs)
        evidence = segments.total(columns[5].astype(np.int64), columns[6].astype(np.float64))
        return AlignedBatch(
            offsets=offsets_of(counts),
            source=source[order].astype(np.int32),
            target=target[order].astype(np.int32),
            probability=probability[order].astype(np.float32),
            scores=self._pair_scores(evidence),
        )

    def _best_of_their_words(
        self, pair: Longs, source: Longs, target: Longs, posterior: Reals
    ) -> NDArray[np.bool_]:
        """Mark links that are the best of both words, for pieces of a long pair link a word several times."""
        S, T = self.text.segments.source_lengths[pair], self.text.segments.target_lengths[pair]
        distance = np.abs((2 * source + 1) * T - (2 * target + 1) * S)
        order = np.lexsort((target, source, distance, -posterior))
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
        if self.scores is None or not self.has_null:
            return np.asarray(2 * evidence / np.maximum(S + T, 1))
        found = parallel_probability(evidence, S, T, self.size)
        if self.scores.vocabularies is not None:  # else others than known words are evidence
            found[foreign_pairs(self.text, self.scores.vocabularies)] = 0
        return found

    def pairs(
        self,
        words: Sequence[BothWords],
        description: str,
        *,
        unknown: Sequence[UnknownWords | None],
        default_values: str,
        caption: str = "",
    ) -> list[AlignedPair]:
        """Return the pairs of the text with their attention weights; `words` are those to show.

        For `unknown`, `caption` and `default_values` see :class:`AlignmentMatrix` and :class:`AlignedPair`.
        """
        batch, arrays = self.attention([name for name in VALUES if name != "scores" or self.scores])
        probabilities, made = np.split(batch.probability, batch.offsets[1:-1]), []
        for n, own in enumerate(words):
            links = batch.links(n)
            weights: dict[str, Any] = {name: wholes[n] for name, wholes in arrays.items()}
            pair = AlignedPair(
                Alignment(frozenset(links), *map(len, own)),
                AlignmentMatrix(weights.pop("combined"), *own, unknown[n], caption),
                **weights,
                probabilities=dict(zip(links, probabilities[n].tolist(), strict=True)),
                score=float(batch.scores[n]),
                description=description,
                extraction=self.extraction.rule,
                threshold=self.extraction.least,
                second=self.extraction.second,
                default_values=default_values,
            )
            made.append(pair)
        return made

    def attention(self, names: Sequence[str]) -> tuple[AlignedBatch, dict[str, list[AnyArray]]]:
        """Return the links of the text, and the values (T, S) of each pair by their name in `VALUES`.

        ``combined`` are the weights that links are chosen from, ``linkable`` marks cells that may have one.
        Scores are NaN in cells that no piece of a long pair has.
        """
        # the posteriors of a bucket serve its matrices and its links
        once = self._replace(bucket_posteriors=lru_cache(1)(self.bucket_posteriors))
        found: list[BucketLinks] = []
        wholes: dict[str, list[AnyArray]] = {}
        for k, bucket in enumerate(self.text.buckets):
            for name in names:
                values = once._values(name, k)
                if name not in wholes:
                    wholes[name] = self._empty(name, values.dtype)
                self.text.segments.paste(bucket, values, wholes[name])
            found.append(once.links(k))
        for name in names:
            _normalize(wholes.setdefault(name, self._empty(name)), self.text.segments, name)
        return self.collected(found), wholes

    def _empty(self, name: str, dtype: Any = np.float32) -> list[AnyArray]:
        segments = self.text.segments
        sizes = zip(segments.target_lengths.tolist(), segments.source_lengths.tolist(), strict=True)
        rest = {"scores": np.nan, "linkable": True}.get(name, 0)  # of cells that no piece has
        return [np.full(size, rest, dtype) for size in sizes]

    def _values(self, name: str, k: int) -> AnyArray:
        """Return values (T, S, B) of bucket k."""
        if name == "scores":
            assert self.scores is not None
            return self.scores.scores(k)
        found, ratios = self.bucket_posteriors(k)
        if name == "linkable":
            bucket = self.text.buckets[k]
            marked = bucket.inside if self.linkable is None else self.linkable(k, ratios)
            return np.broadcast_to(marked, bucket.shape)
        if name == "combined":
            return self.extraction.matrix(found)
        return found.forward if name == "forward" else found.reverse


def _normalize(wholes: Sequence[Reals], segments: Segments, name: str) -> None:
    """Bring down sums above 1: a word in the cores of several pieces has got attention from each."""
    axis = {"forward": 1, "reverse": 0}.get(name)
    pieces = np.bincount(segments.pair, minlength=segments.pairs)
    for n in np.flatnonzero(pieces > 1).tolist() if axis is not None else ():
        wholes[n] /= np.maximum(wholes[n].sum(axis=axis, keepdims=True), 1)
