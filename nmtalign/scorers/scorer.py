"""Scorers: the part of an aligner that scores the word pairs or cells of a text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from nmtalign.arrays import Floats, Integers
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.links.alignments import UnknownWords
from nmtalign.positions.model import PositionModel, TextScores
from nmtalign.state import State
from nmtalign.text.tokenization import TextSettings

Words = Sequence[str]
Pairs = Sequence[tuple[Words, Words]]
TINY = np.float32(1e-30)  # least ratio under a logarithm


class Scorer(Protocol):
    """Scores word pairs or cells: a lexicon, given vectors, an encoder, or a mixture of scorers.

    Subclasses inherit the defaults below. The class of a scorer restores the scorer from its state
    (:data:`nmtalign.aligner.model_folder.KINDS`).
    """

    fit_pairs: ClassVar[int] = 0  # number of pairs that :meth:`fitted` needs
    parallel: ClassVar[bool] = True  # whether several processes may call :meth:`read`
    lexicon: Any = None  # the lexicon, if there is one
    looked_up: TextSettings | None = None  # how words are normalized; None leaves this to the aligner

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scorers that are mixed."""
        ...

    @property
    def settings(self) -> str:
        """The settings of the scores in one line."""
        ...

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that are known."""
        ...

    def read(self, text: EncodedText) -> TextScores:
        """Look up the words of a text."""
        ...

    def state(self) -> State:
        """Return the state, from which the class restores the scorer."""
        ...

    def only(self, names: Iterable[str]) -> Scorer:
        """Return a scorer with the influence of some names alone; UsageError if one is missing."""
        ...

    @property
    def unfitted(self) -> bool:
        """Whether the scorer must be fitted before it scores."""
        return False

    def fitted(self, pairs: Pairs, positions: PositionModel, workers: int) -> tuple[Scorer, PositionModel]:
        """Return the scorer and the position model, fitted to pairs of normalized words."""
        return self, positions

    def running(self, **settings: Any) -> Scorer:
        """Return the scorer with other runtime settings; UsageError if the scorer has no such setting."""
        raise UsageError(f"{', '.join(settings)}: only for a model that was learned with an encoder")

    def unknown(self, source: Words, target: Words) -> UnknownWords | None:
        """Return the positions of words without a vector; None if words need no vectors."""
        return None


class LogRatios(NamedTuple):
    """Log likelihood ratios of some word pairs of a text."""

    place: Integers  # numbers of the word pairs
    values: Floats  # their log likelihood ratios to chance


class MixedScorer(Protocol):
    """A scorer beside the lexicon, which gives log likelihood ratios to word pairs.

    The class is a dataclass with the field `weight`, from 0 to 1: the weight in the log-linear interpolation
    with the scorers before this one. ``from_state(stored, lexicon)`` restores a scorer. No other scorer of
    the mixture has its name.
    """

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return the log likelihood ratios of the word pairs of a text."""
        ...

    def state(self) -> State:
        """Return the state, from which the class restores the scorer."""
        ...
