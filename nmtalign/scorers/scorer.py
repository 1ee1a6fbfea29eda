"""What scores the word pairs or cells of a text: the first part of an aligner."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.positions.model import PositionModel, TextScores
from nmtalign.state import State
from nmtalign.text.tokenization import TextSettings

Floats = NDArray[np.float32]
Words = Sequence[str]
Pairs = Sequence[tuple[Words, Words]]
UnknownWords = tuple[frozenset[int], frozenset[int]]  # positions in source and target


TINY = np.float32(1e-30)  # least ratio under a logarithm


class Scorer(Protocol):
    """Scores of word pairs or cells: a lexicon, given vectors, an encoder, or a mixture of scorers.

    A scorer inherits what it does not say. Its class makes it again from its state
    (:data:`nmtalign.aligner.model_folder.KINDS`).
    """

    fit_pairs: ClassVar[int] = 0  # pairs of a text that it wants to be fitted to
    parallel: ClassVar[bool] = True  # whether several processes may read texts
    lexicon: Any = None  # the lexicon, where there is one
    looked_up: TextSettings | None = None  # how words are normalized, where that is not left to the aligner

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scorers that are mixed."""
        ...

    @property
    def settings(self) -> str:
        """What makes the scores, in one line."""
        ...

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that are known."""
        ...

    def read(self, text: EncodedText) -> TextScores:
        """Look up the words of a text."""
        ...

    def state(self) -> State:
        """Return what the scorer is made of."""
        ...

    def only(self, names: Iterable[str]) -> Scorer:
        """Return a scorer of some of the scorers that are mixed; UsageError if one is missing."""
        ...

    @property
    def unfitted(self) -> bool:
        """Whether the scorer has to be fitted before it scores."""
        return False

    def fitted(self, pairs: Pairs, positions: PositionModel, workers: int) -> tuple[Scorer, PositionModel]:
        """Return the scorer, and the positions, fitted to pairs of normalized words."""
        return self, positions

    def running(self, **settings: Any) -> Scorer:
        """Return the scorer with other settings of how it runs; UsageError if there are none such."""
        raise UsageError(f"{', '.join(settings)}: only for a model that was learned with an encoder")

    def unknown(self, source: Words, target: Words) -> UnknownWords | None:
        """Return the positions of words without a vector; None where words need none."""
        return None


class LogRatios(NamedTuple):
    """Log likelihood ratios of some word pairs of a text."""

    place: NDArray[np.integer]  # numbers of the word pairs
    values: Floats  # their log likelihood ratios to chance


class Head(Protocol):
    """Anything that gives log likelihood ratios to word pairs.

    `weight` is that of the log-linear interpolation with the heads before it, from 0 to 1; a head that
    can be saved has a state, and its class makes the head again from it and the lexicon.
    """

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return the log likelihood ratios of the word pairs of a text."""
        ...
