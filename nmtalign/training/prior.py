"""Priors of training: word pairs of dictionaries and vectors, or an older model as a warm start.

Both become pseudo-counts, which every EM iteration adds to the expected counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Floats, Longs
from nmtalign.corpus.coverage import measure_coverage
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import lookup_values
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import BothTransitions
from nmtalign.scorers.forms import FormPairs, form_function, number_forms
from nmtalign.scorers.learned_lexicon import FormCounts, FormPairCounts, Lexicon, StoredForms, sum_at
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings, unit_rows
from nmtalign.vectors.spaces import mutual_neighbors

MOST = 50_000  # words of given vectors that are searched for translations
WORDS_A_SENTENCE = 20  # assumed jumps from words for each jump from the start of a sentence


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """Weighted word pairs and an older model, from which training starts."""

    words: Sequence[tuple[str, str, float]] = ()  # the weight is a joint count
    lexicon: Lexicon | None = None  # of an older model
    transitions: BothTransitions | None = None  # of the same
    # of dictionaries: word pairs like `words`, which do not become words of the vocabularies
    dictionary: Sequence[tuple[str, str, float]] = ()
    # the same of words and the translations of their parts, counted for whole words only
    compounds: Sequence[tuple[str, str, float]] = ()

    def extend(self, source: EncodedSide, target: EncodedSide) -> tuple[EncodedSide, EncodedSide]:
        """Return the sides with the words of the prior added to their vocabularies."""
        old = ((), ()) if self.lexicon is None else (self.lexicon.source_words, self.lexicon.target_words)
        listed = [entry[0] for entry in self.words], [entry[1] for entry in self.words]
        return _extended(source, [*old[0], *listed[0]]), _extended(target, [*old[1], *listed[1]])

    def jump_counts(self) -> tuple[Floats, Floats] | None:
        """Return the approximate jumps in the text of the older model; None without an older model."""
        if self.lexicon is None or self.transitions is None:
            return None
        stored = self.lexicon.forms[0]
        counts = []
        for model, side in zip(self.transitions, stored.sides, strict=True):
            classes = model.classes if len(model.classes) == len(side.linked) else np.zeros(0, np.int32)
            mass = np.bincount(classes, side.linked[: len(classes)], len(model.tables))
            mass[0] = mass.sum() / WORDS_A_SENTENCE
            counts.append((model.tables * mass[:, None]).astype(np.float32))
        return counts[0], counts[1]

    def renumbered_transitions(self, source: EncodedSide, target: EncodedSide) -> BothTransitions | None:
        """Return the transitions of the older model, numbered as the words of a bitext, or None."""
        if self.lexicon is None or self.transitions is None:
            return None
        known = self.lexicon.known(source, target)
        return self.transitions[0].renumbered(known[0]), self.transitions[1].renumbered(known[1])

    def swapped(self, source: EncodedSide, target: EncodedSide) -> bool:
        """Tell whether the sides of a bitext seem swapped against those of the older model."""
        return self.lexicon is not None and measure_coverage(source, target, self.lexicon.numbers).swapped


def _extended(side: EncodedSide, words: Iterable[str]) -> EncodedSide:
    """Return a side with new `words` at the end of its vocabulary."""
    new = dict.fromkeys(words)
    for word in side.words:
        new.pop(word, None)
    counts = np.concatenate([side.counts, np.zeros(len(new), dtype=np.int64)])
    return replace(side, words=[*side.words, *new], counts=counts)


class FormPrior(NamedTuple):
    """Prior counts of one kind of form, by the numbers of the forms."""

    keys: Longs  # (K,): sorted and distinct; ``source form * number of target forms + target form``
    counts: Floats  # (K,)
    sides: tuple[FormCounts, FormCounts]

    def counts_of(self, form_pairs: FormPairs) -> tuple[Longs, Floats]:
        """Return which pairs of forms of a text have a prior count, and these counts."""
        keys = form_pairs.source.astype(np.int64) * len(form_pairs.forms[1]) + form_pairs.target
        values = lookup_values(self.keys, self.counts, keys)
        indices = np.flatnonzero(values)
        return indices, values[indices]

    def add_to(self, prior_counts: tuple[Longs, Floats], counts: FormPairCounts) -> FormPairCounts:
        """Return the counts of pairs and forms with the prior added; `prior_counts` are `counts_of` them."""
        indices, values = prior_counts
        pairs = counts.pairs.copy()
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


def form_prior(form_pairs: FormPairs, prior: Prior) -> FormPrior:
    """Return the prior by the numbers of the forms."""
    number = number_words(form_pairs.forms[0]), number_words(form_pairs.forms[1])
    of_source, of_target = map(form_function, form_pairs.letters)
    width = len(number[1])
    listed = [number[0][of_source(s)] * width + number[1][of_target(t)] for s, t, _ in prior.words]
    keys = np.array(listed, dtype=np.int64)
    counts = np.array([weight for *_, weight in prior.words], dtype=np.float32)
    dictionary = list(prior.dictionary)
    if form_pairs.letters == (0, 0):
        dictionary += prior.compounds
    if dictionary:
        more_keys, more_counts = _dictionary_counts(form_pairs, dictionary, number)
        keys, counts = np.concatenate([keys, more_keys]), np.concatenate([counts, more_counts])
    sides = [FormCounts(np.zeros(len(forms)), np.zeros(len(forms)), 0.0) for forms in number]
    if (older := prior.lexicon) is not None:
        learned = older.with_letters(form_pairs.letters) or older.whole
        if learned is None:
            wanted = f"expected an older model with whole words or with the forms {form_pairs.letters}"
            raise UsageError(f"{wanted}, found {[stored.letters for stored in older.forms]}")
        numbers = []  # of each form of the older model
        for n, words in enumerate((older.source_words, older.target_words)):
            forms = number_forms(words, learned.letters[n])[1]
            if learned.letters != form_pairs.letters:
                forms = [*map(form_function(form_pairs.letters[n]), forms)]
            numbers.append(np.array([number[n][form] for form in forms]))
        source, target = np.divmod(learned.keys, len(numbers[1]))
        keys = np.concatenate([keys, numbers[0][source] * width + numbers[1][target]])
        counts = np.concatenate([counts, learned.counts])
        sides = [
            side.apply(partial(sum_at, numbers[n], len(number[n]))) for n, side in enumerate(learned.sides)
        ]
    distinct, rank = np.unique(keys, return_inverse=True)
    summed = np.bincount(rank.reshape(-1), counts, len(distinct)).astype(np.float32)
    return FormPrior(distinct, summed, (sides[0], sides[1]))


def _dictionary_counts(
    form_pairs: FormPairs,
    dictionary: Sequence[tuple[str, str, float]],
    number: tuple[dict[str, int], dict[str, int]],
) -> tuple[Longs, Floats]:
    """Return the keys and the weights of those word pairs whose forms of one kind both occur in the text."""
    of_source, of_target = map(form_function, form_pairs.letters)
    source = look_up(number[0], (of_source(word) for word, _, _ in dictionary))
    target = look_up(number[1], (of_target(word) for _, word, _ in dictionary))
    weights = np.array([weight for *_, weight in dictionary], dtype=np.float32)
    both = (source >= 0) & (target >= 0)
    return source[both] * len(number[1]) + target[both], weights[both]


def similar_words(source: Embeddings, target: Embeddings, text: TextSettings) -> list[tuple[str, str, float]]:
    """Return the mutual nearest neighbors by CSLS (Conneau et al. 2018), with their cosines.

    `text` normalizes the words.
    """
    sides = source.compact().first(MOST), target.compact().first(MOST)
    units = [unit_rows(side.matrix) for side in sides]
    pairs, _ = mutual_neighbors(units[0], units[1])
    cosines = np.einsum("nd,nd->n", units[0][pairs[:, 0]], units[1][pairs[:, 1]])
    first, second = (text.normalized(side.vocabulary.words) for side in sides)
    cells = zip(pairs.tolist(), cosines.tolist(), strict=True)
    return [(first[s], second[t], cosine) for (s, t), cosine in cells if cosine > 0]
