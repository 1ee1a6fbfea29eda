"""Cross-validation of a rescorer: how well it aligns pairs whose gold links it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.regrouping import BothRegroupings, regroup_links
from nmtalign.corpus.text import encode_text
from nmtalign.links.alignments import GoldAlignment
from nmtalign.links.scoring import Counts
from nmtalign.positions.position_model import PositionModel, TextScores

FOLDS = 4
MAX_VALIDATED_PAIRS = 300  # bounds the time


class Learn(Protocol):
    """Returns a position model that has learned from the gold links of a text."""

    def __call__(self, scores: TextScores, *, gold: Sequence[GoldAlignment]) -> PositionModel: ...


class GoldPair(NamedTuple):
    """A pair with gold links."""

    words: tuple[list[str], list[str]]
    gold: GoldAlignment  # between words of the lines
    of_tokens: GoldAlignment  # the same links between tokens
    to_words: BothRegroupings | None  # from tokens to words of the lines; None if these are the same


class Validation(NamedTuple):
    """Alignment error rates of pairs whose gold links were not used in training."""

    pairs: int
    aer: float  # with a rescorer trained on the gold links of the other folds
    aer_without_gold: float

    @property
    def record(self) -> dict[str, Any]:
        """The figures as a model records them."""
        rates = {"aer": round(self.aer, 4), "aer_without_gold": round(self.aer_without_gold, 4)}
        return {"validated_pairs": self.pairs, "folds": FOLDS, **rates}

    def __str__(self) -> str:
        rates = f"{100 * self.aer:.1f} % with and {100 * self.aer_without_gold:.1f} % without gold links"
        return f"the alignment error rate of pairs left out of training is {rates}"


def cross_validate(aligner: Aligner, pairs: Sequence[GoldPair], learn: Learn) -> Validation:
    """Return the error rates of an aligner without and with what `learn` learns from gold links.

    Pairs with the same words are in the same fold, so that nothing is learned about the pairs of a fold. A
    rescorer of a fold learns from fewer pairs than the one that is kept, which is better rather than worse.
    """
    count = min(len(pairs), MAX_VALIDATED_PAIRS)
    chosen = [pairs[k * len(pairs) // count] for k in range(count)]
    fold_of_words: dict[object, int] = {}
    folds: list[list[GoldPair]] = [[] for _ in range(FOLDS)]
    for pair in chosen:
        words = tuple(map(tuple, pair.words))
        folds[fold_of_words.setdefault(words, len(fold_of_words) % FOLDS)].append(pair)
    with_gold = without_gold = Counts()
    for held_out in filter(None, folds):
        others = [pair for fold in folds if fold is not held_out for pair in fold]
        if others:
            positions = learn(_scores(aligner, others), gold=[pair.of_tokens for pair in others])
            with_gold += _counts(replace(aligner, positions=positions), held_out)
            without_gold += _counts(aligner, held_out)
    return Validation(len(chosen), with_gold.aer, without_gold.aer)


def _scores(aligner: Aligner, pairs: Sequence[GoldPair]) -> TextScores:
    return aligner.scorer.score_text(encode_text([pair.words for pair in pairs]))


def _counts(aligner: Aligner, pairs: Sequence[GoldPair]) -> Counts:
    """Return the counts of the links that an aligner chooses."""
    batch = aligner.decoder_for_scores(_scores(aligner, pairs)).all_links(default_workers(aligner.workers))
    counts = Counts()
    for k, pair in enumerate(pairs):
        links = frozenset(batch.links(k))
        if pair.to_words is not None:
            links = regroup_links(links, pair.to_words)
        counts += Counts.from_links(links, pair.gold)
    return counts
