"""Priors of training: word pairs of dictionaries and vectors, or an older model as a warm start.

Both become pseudo-counts, which every EM iteration adds to the expected counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers, Longs
from nmtalign.corpus.coverage import measure_coverage
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import join_keys, lookup_values
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
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings, unit_rows
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
