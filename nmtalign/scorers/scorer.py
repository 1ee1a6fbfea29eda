"""Scorers: the part of an aligner that scores the word pairs or cells of a text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from nmtalign.arrays import Floats, Integers
from nmtalign.corpus.coverage import Coverage, measure_coverage
from nmtalign.corpus.sections import Sections
from nmtalign.corpus.sides import EncodedSide, WordForms
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import UsageError
from nmtalign.links.alignments import UnknownWords
from nmtalign.positions.e_step import fit_jump_models
from nmtalign.positions.hmm import DEFAULT_NULL, HiddenMarkov
from nmtalign.positions.jumps import BothJumpModels
from nmtalign.positions.position_model import TextScores
from nmtalign.state import State
from nmtalign.text.tokenization import TextSettings

if TYPE_CHECKING:
    from nmtalign.scorers.lexicon import Lexicon

TokenizedPairs = Sequence[tuple[Sequence[str], Sequence[str]]]  # source and target words of sentence pairs
MIN_RATIO = np.float32(1e-30)  # logarithms are taken of at least this


class EveryWord:
    """The vocabulary of a scorer that knows all words."""

    def __contains__(self, word: object) -> bool:
        return True


class Scorer:
    """Scores word pairs or cells: a lexicon with other scorers, given vectors, or a scorer of your own.

    A subclass has `names`, :meth:`score_text` and :meth:`state`, from which its class restores the scorer
    (:data:`nmtalign.aligner.aligner.PART_CLASSES`); the rest has defaults.
    """

    lexicon: Lexicon | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scorers that are mixed."""
        raise NotImplementedError

    def score_text(self, text: EncodedText) -> TextScores:
        """Look up the words of a text."""
        raise NotImplementedError

    def state(self) -> State:
        """Return the state, from which the class restores the scorer."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """What makes the scores, in one line."""
        return f"scorers={','.join(self.names)}"

    @property
    def caption(self) -> str:
        """The attention score that pictures name; none of a scorer that counts words."""
        return ""

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that are known."""
        return EveryWord(), EveryWord()

    def coverage_of(
        self, source: EncodedSide, target: EncodedSide, sections: Sections | None = None
    ) -> Coverage:
        """Count the words of both sides of a text that are known."""
        return measure_coverage(source, target, self.vocabularies, sections)

    def word_forms(self, text_settings: TextSettings) -> tuple[WordForms, WordForms] | None:
        """Return functions that give the forms in which source and target words are looked up.

        None if words are looked up as `text_settings` normalizes them.
        """
        return None

    def only(self, names: Iterable[str]) -> Scorer:
        """Return a scorer with the influence of some names alone; UsageError if one is missing."""
        if set(names) == set(self.names):
            return self
        missing = ",".join(sorted(set(names) - set(self.names))) or "none"
        raise UsageError(f"this aligner has the scorers {','.join(self.names)}, not {missing}")

    def with_back_off(self) -> Scorer:
        """Return a scorer that backs off for unknown words, if it does not do so already."""
        return self

    def fitted(
        self, pairs: TokenizedPairs, workers: int, jump_models: BothJumpModels
    ) -> tuple[Scorer, HiddenMarkov]:
        """Return the scorer and a hidden Markov model, fitted to pairs of normalized words, none empty.

        The fit of the model begins with `jump_models`.
        """
        scores = self.score_text(encode_text(pairs))
        jump_models = fit_jump_models(scores, jump_models, workers)
        return self, HiddenMarkov(jump_models, ({}, {}), DEFAULT_NULL, fitted_pairs=len(pairs))

    def unknown(self, source: Sequence[str], target: Sequence[str]) -> UnknownWords | None:
        """Return the positions of words without a vector; None if words need no vectors."""
        return None


class LogRatios(NamedTuple):
    """Log likelihood ratios of some word pairs of a text."""

    indices: Integers  # numbers of the word pairs
    values: Floats  # their log likelihood ratios to chance


class MixedScorer(Protocol):
    """A scorer beside the lexicon, which gives log likelihood ratios to word pairs.

    The class is a dataclass with the field `weight`, from 0 to 1: the weight in the log-linear interpolation
    with the scorers before this one. ``from_state(stored, lexicon)`` restores a scorer. No other scorer of
    the mixture has its name.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # so that `dataclasses.replace` accepts a scorer

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return the log likelihood ratios of the word pairs of a text, or of a block of these pairs."""
        ...

    def state(self) -> State:
        """Return the state, from which the class restores the scorer."""
        ...
