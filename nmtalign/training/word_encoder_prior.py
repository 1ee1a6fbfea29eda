"""Prior counts from an encoder of words: pairs of words that are each other's nearest in a sentence pair.

Only words that occur together are compared, pair by pair, so the memory does not depend on the number of word
pairs of the two vocabularies.

Axes: V words of a vocabulary, D dimensions, P word pairs; of a block, B sentence pairs, S source words, T
target words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import (
    AnyArray,
    Flags,
    Floats,
    Integers,
    Longs,
    block_slices,
    offsets_of,
    positions_in_runs,
)
from nmtalign.corpus.parallel import parallel_map
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.word_pairs import join_keys, lookup_values, split_keys
from nmtalign.text.subwords import SPACE_MARK
from nmtalign.training.dictionary_prior import WeightedWordPair

MIN_COSINE = 0.3  # words that are less similar are no entry
FULL_MARGIN = 0.25  # a word pair that is nearer by this than any other has its full weight
MIN_WEIGHT = 0.02
FULL_WEIGHT = 2.0  # the weight of a pair of equal vectors, as a number of links
WEIGHT_DECIMALS = 3  # so that another order of sums gives the same weights
PAIRS_PER_COMPARISON = 1 << 13
CELLS_PER_PAIR = 1 << 9  # approximate
# A larger text tells most itself, and to encode all of its words would take longer than to learn from it
MAX_FULLY_COMPARED_PAIRS = 50_000
MAX_FULLY_COMPARED_TOKENS = 900_000  # on a side
MAX_WORDS_OF_LARGE_TEXT = 4_000  # of each side
MAX_PAIRS_OF_LARGE_TEXT = 1 << 14
MAX_PAIRS_OF_ESTIMATE = 1 << 11
# Encoders had an estimated precision of .85 to .95, with words of one side permuted .3 (ten texts)
PSEUDO_WEIGHT = 20.0  # of right pairs, before any text is seen
USELESS_PRECISION, FULL_PRECISION = 0.4, 0.8
WORDS_PER_BLOCK = 1 << 10  # of both sides; the vectors of a larger block do not fit the cache of a core


def encoded_forms(side: EncodedSide) -> list[str]:
    """Return the form in which each word is encoded: lower case, without the mark of sentencepiece.

    A word that is not encoded has an empty form: the padding, words that do not occur, and the rarer words of
    a large text.
    """
    forms = [word.replace(SPACE_MARK, "").lower() for word in side.words]
    is_encoded = side.counts > 0
    if is_large_text(side):
        is_encoded[1 + MAX_WORDS_OF_LARGE_TEXT :] = False  # words are in the order of their frequencies
    return [form if encoded else "" for form, encoded in zip(forms, is_encoded.tolist(), strict=True)]


def is_large_text(side: EncodedSide) -> bool:
    """Return whether a text is so large that not all of its words are encoded."""
    return len(side.lengths) > MAX_FULLY_COMPARED_PAIRS or len(side.tokens) > MAX_FULLY_COMPARED_TOKENS


class NearestPairs(NamedTuple):
    """Word pairs that are each other's nearest in some sentence pair, by source and target word."""

    source: Integers  # (P,)
    target: Integers  # (P,)
    cosine: Floats  # (P,)
    # (P,): the largest difference, in a sentence pair, to the second nearest of either word
    margin: Floats
    times: Integers  # (P,): in how many sentence pairs they are each other's nearest

    @property
    def weights(self) -> AnyArray:
        """The weight of each pair as a number of links, (P,)."""
        certainty = np.minimum(1, self.margin / FULL_MARGIN)
        return np.asarray(np.maximum(MIN_WEIGHT, FULL_WEIGHT * self.cosine * certainty))

    def entries(self, source: EncodedSide, target: EncodedSide, scale: float) -> list[WeightedWordPair]:
        """Return the pairs as entries of a dictionary, with the weights times a scale above 0."""
        weights = np.round(self.weights.astype(np.float64) * scale, WEIGHT_DECIMALS)
        columns = self.source.tolist(), self.target.tolist(), weights.tolist()
        entries = zip(*columns, strict=True)
        return [(source.words[s], target.words[t], weight) for s, t, weight in entries if weight > 0]


class SimilarWords(NamedTuple):
    """The word pairs of a text that an encoder finds similar, and how many of them are right by estimate."""

    pairs: NearestPairs
    precision: float

    @property
    def scale(self) -> float:
        """The factor of the weights: 0 for an encoder that finds as many pairs where nothing is parallel."""
        above = (self.precision - USELESS_PRECISION) / (FULL_PRECISION - USELESS_PRECISION)
        return float(np.clip(above, 0, 1))


def similar_words_of_text(
    source: EncodedSide, target: EncodedSide, vectors: tuple[Floats, Floats], workers: int = 1
) -> SimilarWords:
    """Return the word pairs that are each other's nearest in a sentence pair, with a cosine above MIN_COSINE.

    `vectors` are those of both vocabularies, (V, D), with norm 1, or 0 for words that are not compared. Words
    that are equally near to a third are all its nearest, with a margin of 0. Of a large text, sentence pairs
    at even distances are compared.

    The precision is estimated from some sentence pairs, and from the same sentences with other partners.
    """
    count = len(source.lengths)
    samples = is_large_text(source) or is_large_text(target)
    compared = _at_even_distances(count, MAX_PAIRS_OF_LARGE_TEXT if samples else count)
    pairs = _nearest_pairs(source, target, (compared, compared), vectors, workers)

    sample = _at_even_distances(count, MAX_PAIRS_OF_ESTIMATE)
    other_partners = np.roll(sample, len(sample) // 2)
    of_sample = _nearest_pairs(source, target, (sample, sample), vectors, workers)
    by_chance = _nearest_pairs(source, target, (sample, other_partners), vectors, workers)
    return SimilarWords(pairs, _precision(of_sample, by_chance, pairs, len(target.words)))


def _precision(found: NearestPairs, by_chance: NearestPairs, everywhere: NearestPairs, targets: int) -> float:
    """Return the estimated precision of pairs, from those of the same sentences with other partners.

    Of the weight of a pair, chance gives the share of its times that it also has `by_chance`; pairs that are
    found nowhere else are due to chance alone.
    """
    keys, chance_keys, all_keys = (
        join_keys(p.source, p.target, targets) for p in (found, by_chance, everywhere)
    )
    times_by_chance = lookup_values(chance_keys, by_chance.times.astype(np.float32), keys)
    of_found = found.weights @ np.minimum(1, times_by_chance / found.times)
    of_others = by_chance.weights[~np.isin(chance_keys, all_keys)].sum()
    return float(max(0, 1 - (of_found + of_others) / (found.weights.sum() + PSEUDO_WEIGHT)))


def _at_even_distances(count: int, most: int) -> Longs:
    """Return the numbers below `count`, or `most` of them."""
    chosen = min(count, most)
    return np.arange(chosen) * count // max(chosen, 1)


def _nearest_pairs(
    source: EncodedSide,
    target: EncodedSide,
    sentences: tuple[Longs, Longs],
    vectors: tuple[Floats, Floats],
    workers: int,
) -> NearestPairs:
    """Return the distinct nearest pairs of source sentences and the target sentences beside them."""
    source_has_vector, target_has_vector = (np.asarray(of_side.any(axis=1)) for of_side in vectors)

    def nearest_of_chunk(chunk: slice) -> NearestPairs:
        source_words = _DistinctWords.of(source, source_has_vector, sentences[0][chunk])
        target_words = _DistinctWords.of(target, target_has_vector, sentences[1][chunk])
        parts = [_nearest_of_block(*block, vectors) for block in _blocks(source_words, target_words)]
        return _distinct_pairs([_NO_PAIRS, *parts], len(target.words))

    found = _NO_PAIRS
    count = len(sentences[0])
    chunks = list(block_slices(count, PAIRS_PER_COMPARISON))
    for of_chunk in parallel_map(nearest_of_chunk, chunks, workers, work=count * CELLS_PER_PAIR):
        found = _distinct_pairs([found, of_chunk], len(target.words))
    return found


_NO_WORDS, _NO_COSINES = np.zeros(0, np.int64), np.zeros(0, np.float32)
_NO_PAIRS = NearestPairs(_NO_WORDS, _NO_WORDS, _NO_COSINES, _NO_COSINES, _NO_WORDS)


def _distinct_pairs(parts: list[NearestPairs], targets: int) -> NearestPairs:
    """Return the distinct pairs of several parts, each with its largest margin and all its times."""
    source, target, cosine, margin, times = map(np.concatenate, zip(*parts, strict=True))
    keys = join_keys(source, target, targets)
    order = np.lexsort((-margin, keys))
    is_first = np.diff(keys[order], prepend=-1) != 0
    chosen = order[is_first]
    sums = np.bincount(np.cumsum(is_first) - 1, times[order], len(chosen)).astype(np.int64)
    return NearestPairs(source[chosen], target[chosen], cosine[chosen], margin[chosen], sums)


class _DistinctWords(NamedTuple):
    """The words with vectors of some sentences, each once in a sentence."""

    words: Longs
    offsets: Longs  # sentence n has ``words[offsets[n]:offsets[n + 1]]``

    @classmethod
    def of(cls, side: EncodedSide, has_vector: Flags, sentences: Longs) -> _DistinctWords:
        lengths = side.lengths[sentences]
        sentence = np.repeat(np.arange(len(sentences)), lengths)
        tokens = side.tokens[side.offsets[sentences][sentence] + positions_in_runs(lengths)]
        is_compared = has_vector[tokens]
        keys = np.unique(join_keys(sentence[is_compared], tokens[is_compared], len(side.words)))
        sentence_of_key, words = split_keys(keys, len(side.words))
        counts = np.bincount(sentence_of_key, minlength=len(sentences))
        return cls(words.astype(np.int64), offsets_of(counts))

    @property
    def lengths(self) -> Longs:
        return np.diff(self.offsets)

    def padded(self, sentences: Longs) -> Longs:
        """Return the words of some sentences, with 0 at the ends of shorter ones, (B, words)."""
        lengths = self.lengths[sentences]
        nth = np.arange(lengths.max())
        places = self.offsets[sentences][:, None] + nth
        words: Longs = np.where(
            nth < lengths[:, None], self.words[np.minimum(places, len(self.words) - 1)], 0
        )
        return words


def _blocks(source: _DistinctWords, target: _DistinctWords) -> Iterator[tuple[Longs, Longs]]:
    """Yield the words of blocks of sentence pairs of similar lengths, (B, S) and (B, T)."""
    order = np.lexsort((target.lengths, source.lengths))
    order = order[(source.lengths[order] > 0) & (target.lengths[order] > 0)]
    words = np.cumsum(source.lengths[order] + target.lengths[order])
    cuts = np.flatnonzero(np.diff(words // WORDS_PER_BLOCK)) + 1
    for block in np.split(order, cuts):
        if len(block):
            yield source.padded(block), target.padded(block)


def _nearest_of_block(source: Longs, target: Longs, vectors: tuple[Floats, Floats]) -> NearestPairs:
    """Return the nearest pairs of a block of sentence pairs; a pair may occur several times."""
    cosines = np.matmul(vectors[0][source], vectors[1][target].transpose(0, 2, 1))  # (B, S, T)
    is_nearest = cosines > MIN_COSINE
    is_nearest &= cosines >= cosines.max(axis=2, keepdims=True)
    is_nearest &= cosines >= cosines.max(axis=1, keepdims=True)
    b, s, t = np.nonzero(is_nearest)
    cosine = cosines[b, s, t]
    pairs = np.arange(len(b))
    # the others that the words are compared with; a word that has no other is compared with 0
    others_of_source = cosines[b, s]  # (pairs, T)
    others_of_source[pairs, t] = 0
    others_of_target = cosines[b, :, t]  # (pairs, S)
    others_of_target[pairs, s] = 0
    second = np.maximum(others_of_source.max(axis=1, initial=0), others_of_target.max(axis=1, initial=0))
    return NearestPairs(source[b, s], target[b, t], cosine, cosine - second, np.ones_like(pairs))
