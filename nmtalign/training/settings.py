"""Everything that decides what is learned from a bitext, and the presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from nmtalign.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is learned from a bitext.

    Attributes
    ----------
    views : tuple of int
        Letters of each view, as of :func:`nmtalign.heads.views.shorten`.
    model1_iterations, hmm_iterations : int
        EM iterations of IBM model 1 and of the hidden Markov model; the first of them knows nothing yet.
    single_iterations : int
        So many of the iterations of model 1 count the mean of both directions, before the others count their
        product: agreement too early takes the first guess for the truth.
    agreed_iterations : int
        So many of the last iterations have agreement by posterior regularisation in their E-step.
    agreement : int
        Its fixed-point iterations, in training and whenever text is aligned, as of
        :func:`nmtalign.positions.agreement.hmm_posteriors`.
    discount : float
        Count that is taken off every word, so that rare words do not claim all of their neighbours.
    floor : float
        Least likelihood ratio of a word pair in a view.
    model1_null, null : float
        Probability of the null word in model 1 and in the hidden Markov model.
    own_transitions : int
        So many frequent words have a transition distribution of their own.
    spelling : float
        Prior count of two words with one spelling.
    prune : float
        Counts below this are dropped at the end.
    spectral_weight : float
        Weight of the spectral head in the log-linear interpolation; 0 makes none.
    seed : int
        Of the spectral head and of a rescorer; nothing else is random.
    """

    views: tuple[int, ...] = (0, 3, 4, 6)
    model1_iterations: int = 4
    single_iterations: int = 1
    hmm_iterations: int = 3
    agreed_iterations: int = 2
    agreement: int = 2
    discount: float = 4.0
    floor: float = 5e-4
    model1_null: float = 0.03
    null: float = 0.06
    own_transitions: int = 200
    spelling: float = 1.0
    prune: float = 1e-3
    spectral_weight: float = 0.0
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self) | {"views": list(self.views)}


PRESETS = {
    "fast": Settings(views=(0, 4), model1_iterations=3, hmm_iterations=2, agreed_iterations=0),
    "default": Settings(spectral_weight=0.4),
}


def preset(name: str) -> Settings:
    """Return the settings of a preset by name.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name not in PRESETS:
        raise UsageError(f"expected one of the presets {', '.join(PRESETS)}, found {name!r}")
    return PRESETS[name]
