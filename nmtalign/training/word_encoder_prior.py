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
from nmtalign.corpus.word_pairs import join_keys, split_keys
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
WORDS_PER_BLOCK = 1 << 10  # of both sides; the vectors of a larger block do not fit the cache of a core


def encoded_forms(side: EncodedSide) -> list[str]:
    """Return the form in which each word is encoded: lower case, without the mark of sentencepiece.

    A word that is not encoded has an empty form: the padding, words that do not occur, and the rarer words of
    a large text.
    """
    forms = [word.replace(SPACE_MARK, "").lower() for word in side.words]
    is_encoded = side.counts > 0
    if _is_large(side):
        is_encoded[1 + MAX_WORDS_OF_LARGE_TEXT :] = False  # words are in the order of their frequencies
    return [form if encoded else "" for form, encoded in zip(forms, is_encoded.tolist(), strict=True)]


def _is_large(side: EncodedSide) -> bool:
    return len(side.lengths) > MAX_FULLY_COMPARED_PAIRS or len(side.tokens) > MAX_FULLY_COMPARED_TOKENS


class NearestPairs(NamedTuple):
    """Word pairs that are each other's nearest in some sentence pair, by source and target word."""

    source: Integers  # (P,)
    target: Integers  # (P,)
    cosine: Floats  # (P,)
    # (P,): the largest difference, in a sentence pair, to the second nearest of either word
    margin: Floats

    @property
    def weights(self) -> AnyArray:
        """The weight of each pair as a number of links, (P,)."""
        certainty = np.minimum(1, self.margin / FULL_MARGIN)
        weights = np.maximum(MIN_WEIGHT, FULL_WEIGHT * self.cosine * certainty)
        return np.asarray(np.round(weights.astype(np.float64), WEIGHT_DECIMALS))

    def entries(self, source: EncodedSide, target: EncodedSide) -> list[WeightedWordPair]:
        """Return the pairs as entries of a dictionary."""
        columns = self.source.tolist(), self.target.tolist(), self.weights.tolist()
        return [(source.words[s], target.words[t], weight) for s, t, weight in zip(*columns, strict=True)]


def nearest_pairs(
    source: EncodedSide, target: EncodedSide, vectors: tuple[Floats, Floats], workers: int = 1
) -> NearestPairs:
    """Return the word pairs that are each other's nearest in a sentence pair, above MIN_COSINE.

    `vectors` are those of both vocabularies, (V, D), with norm 1, or 0 for words that are not compared. Words
    that are equally near to a third are all its nearest, with a margin of 0. Of a large text, sentence pairs
    at even distances are compared.
    """
    source_has_vector, target_has_vector = (np.asarray(of_side.any(axis=1)) for of_side in vectors)
    count = len(source.lengths)
    if _is_large(source) or _is_large(target):
        count = min(count, MAX_PAIRS_OF_LARGE_TEXT)
    sentences = np.arange(count) * len(source.lengths) // max(count, 1)

    def nearest_of_chunk(chunk: slice) -> NearestPairs:
        source_words = _DistinctWords.of(source, source_has_vector, sentences[chunk])
        target_words = _DistinctWords.of(target, target_has_vector, sentences[chunk])
        parts = [_nearest_of_block(*block, vectors) for block in _blocks(source_words, target_words)]
        return _distinct_pairs([_NO_PAIRS, *parts], len(target.words))

    found = _NO_PAIRS
    chunks = list(block_slices(count, PAIRS_PER_COMPARISON))
    for of_chunk in parallel_map(nearest_of_chunk, chunks, workers, work=len(sentences) * CELLS_PER_PAIR):
        found = _distinct_pairs([found, of_chunk], len(target.words))
    return found


_NO_WORDS, _NO_COSINES = np.zeros(0, np.int64), np.zeros(0, np.float32)
_NO_PAIRS = NearestPairs(_NO_WORDS, _NO_WORDS, _NO_COSINES, _NO_COSINES)


def _distinct_pairs(parts: list[NearestPairs], targets: int) -> NearestPairs:
    """Return the distinct pairs of several parts, each with its largest margin."""
    source, target, cosine, margin = map(np.concatenate, zip(*parts, strict=True))
    keys = join_keys(source, target, targets)
    order = np.lexsort((-margin, keys))
    is_first = np.diff(keys[order], prepend=-1) != 0
    chosen = order[is_first]
    return NearestPairs(source[chosen], target[chosen], cosine[chosen], margin[chosen])


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
    return NearestPairs(source[b, s], target[b, t], cosine, cosine - second)
