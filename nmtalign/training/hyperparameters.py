"""Hyperparameters of training, and the presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from nmtalign.errors import UsageError


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of training."""

    # letters of the forms of words, as in :func:`nmtalign.scorers.forms.cut`, and for a side of short words
    forms: tuple[int, ...] = (0, 3, 4, 6)
    short_forms: tuple[int, ...] = (0, 1, 4, -1)
    # EM iterations of IBM model 1, the first with uniform probabilities, and of the hidden Markov model
    model1_iterations: int = 4
    # first iterations of model 1 that count the mean of both posteriors; later ones count the product
    mean_iterations: int = 1
    hmm_iterations: int = 3
    agreed_iterations: int = 1  # last iterations, with agreement by posterior regularization in the E-step
    pseudo_count: float = 4.0  # added to the count of each word, so rare words are no garbage collectors
    floor: float = 5e-4  # least likelihood ratio of a pair of forms
    # probability of the null word in model 1 and in the hidden Markov model
    model1_null: float = 0.03
    null: float = 0.06
    lexicalized_words: int = 200  # frequent words that have a transition distribution
    spelling: float = 1.0  # prior count of two identical words; similar words have less
    prune: float = 1e-3  # smaller counts are dropped at the end
    spectral_weight: float = 0.0  # weight of the spectral scorer in the mixture; 0 makes none
    seed: int = 0  # of the spectral scorer and of a rescorer; nothing else is random

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {name: list(x) if isinstance(x, tuple) else x for name, x in asdict(self).items()}


PRESETS = {
    "fast": Hyperparameters((0, 4), (0, 1), model1_iterations=3, hmm_iterations=2, agreed_iterations=0),
    "default": Hyperparameters(spectral_weight=0.4),
}


def preset(name: str) -> Hyperparameters:
    """Return the settings of a preset by name; a UsageError lists the presets."""
    if name not in list(PRESETS):
        raise UsageError(f"expected one of the presets {', '.join(PRESETS)}, found {name!r}")
    return PRESETS[name]
