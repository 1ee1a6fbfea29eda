"""The heads of a learned model: the lexicon, and others log-linearly interpolated with it.

Axes: B pairs of a bucket, T target words, S source words, P word pairs of a text.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.buckets import PADDED
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.positions.model import Emissions
from nmtalign.scorers.counts import Smoothing, ViewCounts, emissions, view_product
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.scorer import TINY, Head, Scorer
from nmtalign.scorers.views import View
from nmtalign.state import State, Stored

Floats = NDArray[np.float32]


class SeenViews(NamedTuple):
    """Views of the word pairs of a text, with their counts."""

    views: Sequence[View]
    counts: Sequence[ViewCounts]
    smoothing: Smoothing


def interpolated(emissions: Emissions, heads: Sequence[Head], text: EncodedText) -> Emissions:
    """Interpolate the emissions of a lexicon with heads, one after the other.

    Notes
    -----
    ``log r = (1 - weight) log r_before + weight log r_head`` for the word pairs that a head knows (Klakow
    1998, log-linear interpolation); the others stay as they are.
    """
    for head in heads:
        place, values = head.log_ratios(text)
        pairs = emissions.pairs.copy()
        mixed = pairs.take(place)
        possible = mixed > 0  # the padding and what cannot be stays 0
        np.log(np.maximum(mixed, TINY, out=mixed), out=mixed)
        mixed *= np.float32(1 - head.weight)
        mixed += values * np.float32(head.weight)
        np.exp(mixed, out=mixed)
        mixed *= possible
        pairs[place] = mixed
        emissions = emissions._replace(pairs=pairs)
    return emissions


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Scorer):
    """A lexicon and the heads that are mixed with it."""

    lexicon: Lexicon
    # A head of weight 1 replaces what stands before it, for the word pairs that it knows
    others: tuple[Any, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the heads with an influence: a weight of 1 hides those before it."""
        found = ["lexicon"]
        for head in self.others:
            found = [head.name] if head.weight == 1 else [*found, head.name]
        return tuple(found)

    @property
    def settings(self) -> str:
        """The heads, and what the lexicon looks at, in a few words."""
        letters = (map(str, dict.fromkeys(view.letters)) for view in self.lexicon.views)
        return f"scorers={','.join(self.names)} views={','.join(map('/'.join, letters))}"

    def state(self) -> State:
        """Return the states of the lexicon and of the other heads, in their order."""
        others = {head.name: head.state() for head in self.others}
        return State("mixture", parts={"lexicon": self.lexicon.state(), **others})

    @classmethod
    def from_state(cls, stored: Stored) -> Mixture:
        """Return what :meth:`state` was made of."""
        lexicon = stored.open("lexicon")
        others = [stored.open(name, lexicon) for name in stored.parts() if name != "lexicon"]
        return cls(lexicon, tuple(others))

    def only(self, names: Iterable[str]) -> Mixture:
        """Return some of the heads; without the lexicon the first of the others replaces it."""
        wanted = set(names)
        missing = sorted(wanted - set(self.names))
        if missing or not wanted:
            found = f"this model has the heads {','.join(self.names)}, not {','.join(missing) or 'none'}"
            raise UsageError(found)
        kept = [head for head in self.others if head.name in wanted]
        if "lexicon" not in wanted:
            kept[0] = replace(kept[0], weight=1.0)
        return replace(self, others=tuple(kept))

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that were learned from."""
        return self.lexicon.numbers

    def with_scorer(self, head: Head) -> Mixture:
        """Return the mixture with one head more."""
        return replace(self, others=(*self.others, head))

    def read(self, text: EncodedText, seen: SeenViews | None = None) -> PairScores:
        """Return the scores of a text; `seen` are its views where they are known from training."""
        seen = seen or SeenViews(*self.lexicon.looked_up(text.source, text.target, text.index))
        mixed = interpolated(emissions(*seen), self.others, text)
        return PairScores(text, mixed, leave_one_out_evidence(seen), self.lexicon)


@dataclass(frozen=True, eq=False, repr=False)
class PairScores:
    """Emissions of a text, and the evidence `worth` (P,) of its word pairs for pair scores."""

    text: EncodedText
    emissions: Emissions
    worth: Floats
    lexicon: Lexicon
    agreed: ClassVar[bool] = False

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        """Likelihood ratio of each source and each target word under the null word."""
        return self.emissions.source_null, self.emissions.target_null

    @property
    def training_words(self) -> tuple[int, int]:
        """Number of source and target words that were learned from."""
        return int(self.lexicon.source_counts.sum()), int(self.lexicon.target_counts.sum())

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that were learned from."""
        return self.lexicon.numbers

    @property
    def training_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each source and target word of the text occurs in the training bitext."""
        known = self.lexicon.known(self.text.source, self.text.target)
        counts = self.lexicon.source_counts, self.lexicon.target_counts
        first, second = (np.where(k < 0, 0, own[k]) for k, own in zip(known, counts, strict=True))
        return first, second

    def prepare(self, *, ratios: bool) -> None:
        """Do nothing: all word pairs have their ratio."""

    def ratios(self, k: int) -> Floats:
        """Return the likelihood ratios of bucket k to chance, shape (T, S, B), 0 outside of the sentences."""
        return self.emissions.pairs.take(self.text.index.cells[k])

    def scores(self, k: int) -> Floats:
        """Return the log ratios of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        ratios = self.ratios(k)
        return np.where(self.text.buckets[k].inside, np.log(np.maximum(ratios, 1e-30)), PADDED)

    def informed(self, k: int, ratios: Floats | None) -> NDArray[np.bool_]:
        """Tell of which pairs (B,) of bucket k ratios are above chance, or tell words of both sides apart."""
        found = self.ratios(k) if ratios is None else ratios
        informed = np.asarray(found.max(axis=(0, 1)) > 1)
        rest = np.flatnonzero(~informed)
        ratio, inside = found[..., rest], self.text.buckets[k].inside[..., rest]
        apart = [((ratio != first) & inside).any(axis=(0, 1)) for first in (ratio[:1], ratio[:, :1])]
        informed[rest] = apart[0] & apart[1]
        return informed

    def evidence(self, k: int, ratios: Floats) -> Floats:
        """Return the evidence of each cell that its pair is parallel, shape (T, S, B)."""
        return self.worth.take(self.text.index.cells[k])


def leave_one_out_evidence(seen: SeenViews) -> Floats:
    """Return the evidence (P,) of word pairs, with one link less of each: no pair is evidence for itself."""
    less = [c._replace(pairs=np.maximum(c.pairs - 1, 0)) for c in seen.counts]
    ratios = view_product(seen.views, less, seen.smoothing)
    return np.asarray(np.log(np.maximum(ratios, np.float32(1))))
