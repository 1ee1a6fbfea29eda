"""The hidden Markov alignment model: jump models of both directions, whose posteriors agree.

The words of one side are the observations, those of the other side the states (Vogel et al. 1996); a word
may also be emitted by the null word (Och and Ney 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from nmtalign.arrays import AnyArray
from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.names import SIDES
from nmtalign.positions.agreement import hmm_posteriors, joint_probability
from nmtalign.positions.jumps import BothJumpModels, JumpModel, initial_jump_model
from nmtalign.positions.position_model import PositionModel, Posteriors, PosteriorsAndRatios, TextScores
from nmtalign.state import State, Stored

DEFAULT_NULL = 0.1  # probability of the null word in models without a lexicon
OF_OTHER_TEXTS = -1

Vocabularies = tuple[Mapping[str, int], Mapping[str, int]]


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkov(PositionModel):
    """Hidden Markov alignment model in both directions."""

    has_null: ClassVar[bool] = True

    jump_models: BothJumpModels
    numbers: Vocabularies  # number of each source and target word: its index into the classes of a jump model
    null: float  # probability of the null word
    agree: bool = False  # as in :func:`~nmtalign.positions.agreement.hmm_posteriors`
    # number of the pairs that the jump models were fitted to; None: they were learned with a lexicon;
    # OF_OTHER_TEXTS: they are those of other texts
    fitted_pairs: int | None = None

    @property
    def description(self) -> str:
        if self.fitted_pairs is None:
            return "positions=hmm"
        if self.improves:
            return "positions=hmm(of other texts)"
        if self.fitted_pairs == 0:
            return "positions=hmm(unfitted)"
        return f"positions=hmm(fitted on {self.fitted_pairs} pairs)"

    @property
    def unfitted(self) -> bool:
        return self.fitted_pairs == 0

    @property
    def improves(self) -> bool:
        return self.fitted_pairs == OF_OTHER_TEXTS

    @property
    def learned_jump_models(self) -> BothJumpModels:
        return self.jump_models

    @property
    def null_probability(self) -> float:
        return self.null

    def state(self) -> State:
        arrays: dict[str, AnyArray] = {}
        for side, model, numbers in zip(SIDES, self.jump_models, self.numbers, strict=True):
            words = max(len(numbers), 1)  # without a vocabulary, the padding alone has a class
            arrays[f"{side}_tables"] = model.tables
            arrays[f"{side}_classes"] = model.classes[:words]
        return State("hmm", {"null": self.null, "agree": self.agree, "fitted": self.fitted_pairs}, arrays)

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: Vocabularies) -> HiddenMarkov:
        fitted = None
        if stored.value("fitted", object) is not None:  # all words have one class
            fitted = stored.integer("fitted", minimum=OF_OTHER_TEXTS)
            vocabularies = {}, {}
        models = []
        for side, numbers in zip(SIDES, vocabularies, strict=True):
            words = max(len(numbers), 1)
            models.append(JumpModel.from_state(stored, f"{side}_tables", f"{side}_classes", words))
        null = stored.number("null", minimum=1e-9, maximum=0.999)
        return cls((models[0], models[1]), vocabularies, null, stored.value("agree", bool), fitted)

    def jump_models_of(self, source: EncodedSide, target: EncodedSide) -> BothJumpModels:
        """Return the jump models for the words of a text."""
        return self._jump_model_of(0, source), self._jump_model_of(1, target)

    def _jump_model_of(self, n: int, side: EncodedSide) -> JumpModel:
        """Return the jump model for the words of one side (0 or 1) of a text."""
        model = self.jump_models[n]
        numbers = self.numbers[n]
        return side.memo((self, n), lambda: model.renumbered(look_up(numbers, side.words)))

    def posteriors_of(self, scores: TextScores) -> Callable[[int], PosteriorsAndRatios]:
        scores.prepare(ratios=True)
        text = scores.text
        jump_models = self.jump_models_of(text.source, text.target)

        def bucket_posteriors(k: int) -> PosteriorsAndRatios:
            ratios = scores.ratios(k)
            forward, reverse = hmm_posteriors(
                text.buckets[k], ratios, scores.null_ratios, jump_models, self.null, agree=self.agree
            )
            p_source = forward.posterior  # p(s|t), (T, S, B)
            p_target = reverse.posterior.transpose(1, 0, 2)  # p(t|s), (T, S, B)
            joint = joint_probability(p_source, p_target)
            return PosteriorsAndRatios(Posteriors(p_source, p_target, joint), ratios)

        return bucket_posteriors


def unfitted_hmm() -> HiddenMarkov:
    """Return a hidden Markov model that prefers one step ahead, for any words."""
    jump_models = initial_jump_model(0, 0), initial_jump_model(0, 0)
    return HiddenMarkov(jump_models, ({}, {}), DEFAULT_NULL, fitted_pairs=0)
