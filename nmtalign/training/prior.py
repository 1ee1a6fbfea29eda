"""Priors of training: word pairs of dictionaries, vectors and encoders, or an older model as a warm start.

All become pseudo-counts, which every EM iteration adds to the expected counts.

Axes: Q pairs of forms; V words of a vocabulary, D dimensions, P word pairs; of a block, B sentence pairs, S
source words, T target words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import (
    AnyArray,
    Doubles,
    Flags,
    Floats,
    Integers,
    Longs,
    block_slices,
    offsets_of,
    positions_in_runs,
    unit_rows,
)
from nmtalign.corpus.coverage import measure_coverage
from nmtalign.corpus.parallel import parallel_map
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import join_keys, lookup_values, split_keys
from nmtalign.dictionaries.entries import JumpCount
from nmtalign.errors import UsageError
from nmtalign.names import SIDES
from nmtalign.positions.jumps import MAX_JUMP, TABLE_WIDTHS, BothJumpModels, JumpModel
from nmtalign.scorers.dictionary_phrases import Phrase
from nmtalign.scorers.forms import (
    WHOLE_WORD,
    FormCounts,
    FormPairCounts,
    FormPairs,
    form_function,
    number_forms,
    sum_at,
)
from nmtalign.scorers.lexicon import Lexicon, StoredForms
from nmtalign.text.subwords import SPACE_MARK
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.dictionary_prior import WeightedWordPair
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.spaces import mutual_neighbors

MAX_SEARCHED_WORDS = 50_000  # words of given vectors that are searched for translations
WORDS_PER_SENTENCE = 20  # assumed jumps from words for each jump from the start of a sentence

WordPairCount = tuple[str, str, float]  # source word, target word, joint count


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """What is known before training: counts of word pairs, counts of jumps, and an older model.

    All of it, but for `phrases`, is added to the expected counts of each iteration. The words of
    `vocabulary_pairs` become words of the vocabularies; those of `dictionary_pairs` and `compound_pairs` do
    not, so only pairs whose words or forms occur in the text are counted.
    """

    vocabulary_pairs: Sequence[WordPairCount] = ()
    lexicon: Lexicon | None = None  # the lexicon of an older model
    jump_models: BothJumpModels | None = None  # the jump models of this older model
    dictionary_pairs: Sequence[WordPairCount] = ()
    # words and the translations of their parts, which are counted for whole words only
    compound_pairs: Sequence[WordPairCount] = ()
    phrases: Sequence[Phrase] = ()  # of dictionaries; they are not counted, but complete links
    # counts of jumps by their width, (TABLE_WIDTHS,), over source and over target words
    jumps: tuple[Doubles, Doubles] | None = None

    def extend(self, source: EncodedSide, target: EncodedSide) -> tuple[EncodedSide, EncodedSide]:
        """Return the sides with the words of the prior added to their vocabularies."""
        source_words = [source_word for source_word, _, _ in self.vocabulary_pairs]
        target_words = [target_word for _, target_word, _ in self.vocabulary_pairs]
        if self.lexicon is not None:
            source_words = [*self.lexicon.source_words, *source_words]
            target_words = [*self.lexicon.target_words, *target_words]
        return _extended(source, source_words), _extended(target, target_words)

    def jump_counts(self) -> tuple[Floats, Floats] | None:
        """Return the approximate jumps in the text of the older model; None without an older model."""
        if self.lexicon is None or self.jump_models is None:
            return None
        source_counts, target_counts = self.lexicon.counts_of_kinds[0].sides
        source_model, target_model = self.jump_models
        return _jumps_in_text(source_model, source_counts), _jumps_in_text(target_model, target_counts)

    def renumbered_jump_models(self, source: EncodedSide, target: EncodedSide) -> BothJumpModels | None:
        """Return the jump models of the older model, numbered as the words of a bitext, or None."""
        if self.lexicon is None or self.jump_models is None:
            return None
        known = self.lexicon.known(source, target)
        return self.jump_models[0].renumbered(known[0]), self.jump_models[1].renumbered(known[1])

    def swapped(self, source: EncodedSide, target: EncodedSide) -> bool:
        """Return whether the sides of a bitext seem swapped against those of the older model."""
        return self.lexicon is not None and measure_coverage(source, target, self.lexicon.numbers).swapped


def _jumps_in_text(model: JumpModel, form_counts: FormCounts) -> Floats:
    """Return about how often each table of a model was used for each jump width, (C, TABLE_WIDTHS).

    A word was left about as often as it was linked. A model whose words have no classes has table 0 only.
    """
    link_counts = form_counts.linked
    jumps_of_table = np.zeros(len(model.tables))
    if len(model.classes) == len(link_counts):
        jumps_of_table += np.bincount(model.classes, link_counts, len(model.tables))
    jumps_of_table[0] = jumps_of_table.sum() / WORDS_PER_SENTENCE  # table 0 is the start of a sentence
    return (model.tables * jumps_of_table[:, None]).astype(np.float32)


def width_counts(jumps: Iterable[JumpCount]) -> tuple[Doubles, Doubles] | None:
    """Return how often each width occurs on either side, (TABLE_WIDTHS,); None if there are no jumps."""
    counts = np.zeros((2, TABLE_WIDTHS))
    for jump in jumps:
        width = min(max(jump.width, -MAX_JUMP), MAX_JUMP)
        counts[SIDES.index(jump.side), MAX_JUMP + width] += jump.weight
    return (counts[0], counts[1]) if counts.any() else None


def _extended(side: EncodedSide, words: Iterable[str]) -> EncodedSide:
    """Return a side with new `words` at the end of its vocabulary."""
    new = dict.fromkeys(words)
    for word in side.words:
        new.pop(word, None)
    counts = np.concatenate([side.counts, np.zeros(len(new), dtype=np.int64)])
    return replace(side, words=[*side.words, *new], counts=counts)


class FormPrior(NamedTuple):
    """Prior counts of one kind of form, by the numbers of the forms."""

    keys: Longs  # (Q,): sorted and distinct; ``source form * number of target forms + target form``
    counts: Floats  # (Q,)
    sides: tuple[FormCounts, FormCounts]

    def counts_of(self, form_pairs: FormPairs) -> tuple[Longs, Floats]:
        """Return which pairs of forms of a text have a prior count, and these counts."""
        keys = join_keys(form_pairs.source, form_pairs.target, len(form_pairs.strings[1]))
        values = lookup_values(self.keys, self.counts, keys)
        indices = np.flatnonzero(values)
        return indices, values[indices]

    def add_to(self, prior_counts: tuple[Longs, Floats], counts: FormPairCounts) -> FormPairCounts:
        """Return the counts of a text with the prior added.

        `prior_counts` is the result of :meth:`counts_of` for the pairs of forms of this text.
        """
        indices, values = prior_counts
        pairs = counts.links.copy()
        pairs[indices] += values
        source, target = map(_sum, counts.sides, self.sides)
        return FormPairCounts(pairs, (source, target))

    def fill(self, learned: StoredForms) -> StoredForms:
        """Return the counts with those pairs of the prior added that do not meet in the bitext."""
        new = ~np.isin(self.keys, learned.keys, assume_unique=True)
        keys = np.concatenate([learned.keys, self.keys[new]])
        counts = np.concatenate([learned.counts, self.counts[new]])
        order = np.argsort(keys)
        return learned._replace(keys=keys[order], counts=counts[order])


def _sum(a: FormCounts, b: FormCounts) -> FormCounts:
    return FormCounts(a.linked + b.linked, a.null + b.null, a.all_null + b.all_null)


class _FormNumbers(NamedTuple):
    """The numbers of the forms of one kind on both sides, and what makes a word a form."""

    source: dict[str, int]
    target: dict[str, int]
    source_form: Callable[[str], str]
    target_form: Callable[[str], str]

    def keys(self, source_numbers: Integers, target_numbers: Integers) -> Longs:
        """Return the keys of pairs of forms, as in :class:`FormPrior`."""
        return join_keys(source_numbers, target_numbers, len(self.target))

    def counts_of(self, word_pairs: Sequence[WordPairCount]) -> tuple[Longs, Floats]:
        """Return the keys and the counts of those word pairs whose forms are both numbered."""
        source = look_up(self.source, (self.source_form(word) for word, _, _ in word_pairs))
        target = look_up(self.target, (self.target_form(word) for _, word, _ in word_pairs))
        counts = np.array([count for _, _, count in word_pairs], dtype=np.float32)
        are_numbered = (source >= 0) & (target >= 0)
        return self.keys(source[are_numbered], target[are_numbered]), counts[are_numbered]


def form_prior(form_pairs: FormPairs, prior: Prior) -> FormPrior:
    """Return the prior by the numbers of the forms of one kind."""
    source_forms, target_forms = form_pairs.strings
    source_kind, target_kind = form_pairs.form_kinds
    numbers = _FormNumbers(
        number_words(source_forms),
        number_words(target_forms),
        form_function(source_kind),
        form_function(target_kind),
    )
    word_pairs = [*prior.vocabulary_pairs, *prior.dictionary_pairs]
    if form_pairs.form_kinds == (WHOLE_WORD, WHOLE_WORD):
        word_pairs += prior.compound_pairs
    keys, counts = numbers.counts_of(word_pairs)
    source_counts = FormCounts(np.zeros(len(source_forms)), np.zeros(len(source_forms)), 0.0)
    target_counts = FormCounts(np.zeros(len(target_forms)), np.zeros(len(target_forms)), 0.0)
    if prior.lexicon is not None:
        stored = prior.lexicon.of_kinds(form_pairs.form_kinds) or prior.lexicon.whole
        if stored is None:
            wanted = f"expected an older model with whole words or with the forms {form_pairs.form_kinds}"
            raise UsageError(
                f"{wanted}, found {[forms.form_kinds for forms in prior.lexicon.counts_of_kinds]}"
            )
        older = _older_counts(stored, prior.lexicon, numbers, form_pairs)
        keys = np.concatenate([keys, older.keys])
        counts = np.concatenate([counts, older.counts])
        source_counts, target_counts = older.sides
    distinct_keys, index_of_key = np.unique(keys, return_inverse=True)
    sums = np.bincount(index_of_key.reshape(-1), counts, len(distinct_keys)).astype(np.float32)
    return FormPrior(distinct_keys, sums, (source_counts, target_counts))


def _older_counts(
    stored: StoredForms, lexicon: Lexicon, numbers: _FormNumbers, form_pairs: FormPairs
) -> FormPrior:
    """Return the counts of an older model by new numbers; several of its forms may get the same number.

    The forms of the older model are of the same kind as the new ones, or they are whole words, of which the
    new forms are made.
    """
    source_spellings = number_forms(lexicon.source_words, stored.form_kinds[0])[1]
    target_spellings = number_forms(lexicon.target_words, stored.form_kinds[1])[1]
    if stored.form_kinds != form_pairs.form_kinds:
        source_spellings = [numbers.source_form(spelling) for spelling in source_spellings]
        target_spellings = [numbers.target_form(spelling) for spelling in target_spellings]
    # the new number of each form of the older model
    source_numbers = np.array([numbers.source[spelling] for spelling in source_spellings])
    target_numbers = np.array([numbers.target[spelling] for spelling in target_spellings])
    source, target = np.divmod(stored.keys, len(target_numbers))
    source_counts, target_counts = stored.sides
    return FormPrior(
        keys=numbers.keys(source_numbers[source], target_numbers[target]),
        counts=stored.counts,
        sides=(
            source_counts.apply(partial(sum_at, source_numbers, len(numbers.source))),
            target_counts.apply(partial(sum_at, target_numbers, len(numbers.target))),
        ),
    )


def similar_words(source: Embeddings, target: Embeddings, text_settings: TextSettings) -> list[WordPairCount]:
    """Return the mutual nearest neighbors by CSLS (Conneau et al. 2018), with their cosines.

    `text_settings` normalizes the words.
    """
    source = source.compact().first(MAX_SEARCHED_WORDS)
    target = target.compact().first(MAX_SEARCHED_WORDS)
    source_units = unit_rows(source.matrix)  # (words, D)
    target_units = unit_rows(target.matrix)
    neighbors, _ = mutual_neighbors(source_units, target_units)  # (pairs, 2)
    cosines = np.einsum("nd,nd->n", source_units[neighbors[:, 0]], target_units[neighbors[:, 1]])
    source_words = text_settings.normalized(source.vocabulary.words)
    target_words = text_settings.normalized(target.vocabulary.words)
    similar = []
    for (s, t), cosine in zip(neighbors.tolist(), cosines.tolist(), strict=True):
        if cosine > 0:
            similar.append((source_words[s], target_words[t], cosine))
    return similar


# --- an encoder of words -------------------------------------------------------------------------
# Words of a pair that are each other's nearest become word pairs. Only words that occur together are
# compared, pair by pair, so the memory does not depend on the number of word pairs of the two vocabularies.

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
