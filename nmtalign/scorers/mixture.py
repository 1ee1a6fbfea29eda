"""The scorers of a learned model: the lexicon, and scorers interpolated log-linearly with the lexicon.

Axes: B pairs of a bucket, T target words, S source words, P word pairs of a text.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Longs
from nmtalign.corpus.buckets import PADDING_SCORE
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.positions.position_model import Emissions, TextScores
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.likelihood_ratios import (
    WORD_PAIRS_PER_BLOCK,
    TextFormCounts,
    mean_null_ratios,
    without_one_link,
    word_null_surprise,
    word_pair_ratios,
)
from nmtalign.scorers.scorer import MIN_RATIO, MixedScorer, Scorer
from nmtalign.state import State, Stored


def interpolate(pair_ratios: Floats, scorers: Sequence[MixedScorer], text: EncodedText) -> Floats:
    """Interpolate the ratios of a lexicon (P,) with scorers, one after another.

    ``log r = (1 - weight) log r_before + weight log r_scorer`` for the word pairs that a scorer knows
    (log-linear interpolation, Klakow 1998); the ratios of other word pairs stay.
    """
    pair_ratios = pair_ratios.copy()
    for scorer in scorers:
        indices, values = scorer.log_ratios(text)
        mixed = pair_ratios.take(indices)
        possible = mixed > 0  # ratios of 0 stay 0
        np.log(np.maximum(mixed, MIN_RATIO, out=mixed), out=mixed)
        mixed *= np.float32(1 - scorer.weight)
        mixed += values * np.float32(scorer.weight)
        np.exp(mixed, out=mixed)
        mixed *= possible
        pair_ratios[indices] = mixed
    return pair_ratios


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Scorer):
    """A lexicon, and the scorers that are mixed with the lexicon."""

    lexicon: Lexicon
    # a scorer of weight 1 replaces the scorers before it, for the word pairs that it knows
    others: tuple[MixedScorer, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scorers that have an influence; a scorer of weight 1 replaces those before it."""
        names = ["lexicon"]
        for scorer in self.others:
            names = [scorer.name] if scorer.weight == 1 else [*names, scorer.name]
        return tuple(names)

    @property
    def description(self) -> str:
        kinds_of_forms = [stored_forms.form_kinds for stored_forms in self.lexicon.counts_of_kinds]
        # one kind if both sides have the same
        forms = ["/".join(map(str, dict.fromkeys(form_kinds))) for form_kinds in kinds_of_forms]
        return f"scorers={','.join(self.names)} forms={','.join(forms)}"

    def state(self) -> State:
        others = {scorer.name: scorer.state() for scorer in self.others}
        return State("mixture", parts={"lexicon": self.lexicon.state(), **others})

    @classmethod
    def from_state(cls, stored: Stored) -> Mixture:
        lexicon = stored.open("lexicon")
        others = [stored.open(name, lexicon) for name in stored.parts() if name != "lexicon"]
        return cls(lexicon, tuple(others))

    def only(self, names: Iterable[str]) -> Scorer:
        """Return a mixture of some scorers; without the lexicon, the first scorer gets weight 1."""
        wanted = set(names)
        if not wanted or not wanted <= set(self.names):
            return super().only(wanted)
        kept = [scorer for scorer in self.others if scorer.name in wanted]
        if "lexicon" not in wanted:
            kept[0] = replace(kept[0], weight=1.0)
        return replace(self, others=tuple(kept))

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        return self.lexicon.numbers

    def with_scorer(self, scorer: MixedScorer) -> Mixture:
        """Return the mixture with one more scorer; UsageError if it has one of this name."""
        if scorer.name in ("lexicon", *(other.name for other in self.others)):
            raise UsageError(f"the mixture has a scorer {scorer.name}; give the new one another name")
        return replace(self, others=(*self.others, scorer))

    def score_text(self, text: EncodedText, form_counts: TextFormCounts | None = None) -> WordPairScores:
        """Return the scores of a text.

        `form_counts` are the counts of its words and word pairs; by default, the lexicon looks them up.
        """
        pair_ratios = np.empty(len(text.word_pairs), np.float32)
        evidence = np.empty(len(text.word_pairs), np.float32)
        start = 0
        for part, counts in self._parts(text) if form_counts is None else [(text, form_counts)]:
            block = slice(start, start + len(part.word_pairs))
            pair_ratios[block] = interpolate(word_pair_ratios(counts), self.others, part)
            # the evidence of a link comes from all other links of its word pair
            ratios_of_others = word_pair_ratios(without_one_link(counts))
            evidence[block] = np.log(np.maximum(ratios_of_others, np.float32(1)))
            start = block.stop
        emissions = Emissions(
            pair_ratios=pair_ratios,
            # all parts have all words
            source_null=mean_null_ratios(counts, 0),
            target_null=mean_null_ratios(counts, 1),
        )
        emissions.pair_ratios[0] = 0  # the padding
        null_surprise = word_null_surprise(counts, 0), word_null_surprise(counts, 1)
        return WordPairScores(text, emissions, evidence, null_surprise, self.lexicon)

    def _parts(self, text: EncodedText) -> Iterator[tuple[EncodedText, TextFormCounts]]:
        """Yield the text with a block of its word pairs at a time, to bound the memory, and their counts."""
        for word_pairs in text.word_pairs.in_blocks(WORD_PAIRS_PER_BLOCK):
            counts = self.lexicon.lookup(text.source, text.target, word_pairs)
            yield replace(text, numbered_pairs=word_pairs), counts


@dataclass(frozen=True, eq=False, repr=False)
class WordPairScores(TextScores):
    """Emissions of a text, and the evidence of word pairs for pair scores.

    `pair_evidence` (P,) is that of each word pair without one of its links, so no pair supports itself.
    """

    text: EncodedText
    emissions: Emissions
    pair_evidence: Floats
    surprise_of_words: tuple[Floats, Floats]
    lexicon: Lexicon

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        return self.emissions.source_null, self.emissions.target_null

    @property
    def training_words(self) -> tuple[int, int]:
        return int(self.lexicon.source_counts.sum()), int(self.lexicon.target_counts.sum())

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        return self.lexicon.numbers

    @property
    def training_counts(self) -> tuple[Longs, Longs]:
        source, target = self.lexicon.known(self.text.source, self.text.target)
        counts = self.lexicon.source_counts[source], self.lexicon.target_counts[target]
        return np.where(source < 0, 0, counts[0]), np.where(target < 0, 0, counts[1])

    @property
    def null_surprise(self) -> tuple[Floats, Floats]:
        return self.surprise_of_words

    @cached_property
    def foreignness(self) -> tuple[Doubles, Doubles]:
        return self.lexicon.foreignness(self.text.source, 0), self.lexicon.foreignness(self.text.target, 1)

    def ratios(self, k: int) -> Floats:
        return self.emissions.pair_ratios.take(self.text.word_pairs.pair_numbers[k])

    def scores(self, k: int) -> Floats:
        log_ratios = np.log(np.maximum(self.ratios(k), MIN_RATIO))
        return np.where(self.text.buckets[k].inside, log_ratios, PADDING_SCORE)

    def linkable(self, k: int, ratios: Floats | None) -> Flags:
        """Mark the cells (T, S, B) of pairs of which the lexicon, or another scorer, knows anything.

        A ratio above 1 is knowledge. Where no ratio is above 1, unknown words still have ratios below 1, so
        that posteriors would follow positions alone. Such a pair may have links only if its ratios vary
        between its target words and between its source words, because then they prefer some cells.
        """
        ratios = self.ratios(k) if ratios is None else ratios
        bucket = self.text.buckets[k]
        may_have_links = np.asarray(ratios.max(axis=(0, 1)) > 1)  # (B,)
        below_chance = np.flatnonzero(~may_have_links)
        low_ratios = ratios[..., below_chance]
        inside = bucket.inside[..., below_chance]
        varies_by_target = _varies_along(0, low_ratios, inside)
        varies_by_source = _varies_along(1, low_ratios, inside)
        may_have_links[below_chance] = varies_by_target & varies_by_source
        return np.broadcast_to(may_have_links, bucket.shape)

    def evidence(self, k: int, ratios: Floats) -> Floats:
        return self.pair_evidence.take(self.text.word_pairs.pair_numbers[k])


def _varies_along(axis: int, ratios: Floats, inside: Flags) -> Flags:
    """Return for which pairs (B,) the ratios (T, S, B) inside of the sentences vary along an axis."""
    first = ratios.take([0], axis=axis)
    return np.asarray(((ratios != first) & inside).any(axis=(0, 1)))
