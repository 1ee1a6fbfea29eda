"""Everything that decides what is learned from a bitext: the presets, and the heads that can be chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from nmtalign.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is learned from a bitext.

    Attributes
    ----------
    views : tuple of int
        Letters of each view, as of :func:`nmtalign.models.lexicon.shorten`.
    lexicon_passes, jump_passes : int
        Passes over the bitext without and with positions; the first of them knows nothing yet.
    single_passes : int
        So many of the passes without positions count each direction by itself, before the others count what
        both agree on: agreement too early takes the first guess for the truth.
    agreed_passes : int
        So many of the last passes with positions bring both directions to agree before they count.
    rounds : int
        Rounds in which both directions come to agree, in those passes and whenever text is aligned, as of
        :func:`attend`.
    discount : float
        Count that is taken off every word, so that rare words do not claim all of their neighbours.
    floor : float
        Least likelihood ratio of a word pair in a view.
    lexicon_null, null : float
        Probability of the null word in the passes without and with positions.
    own_jumps : int
        So many frequent words have a jump distribution of their own.
    spelling : float
        Count that two words of one spelling start with.
    prune : float
        Counts below this are dropped when all is learned.
    spectral_weight : float
        Share of vectors of the lexicon's own links in the logits; 0 makes none.
    seed : int
        Of the spectral head; nothing else is random.
    """

    views: tuple[int, ...] = (0, 3, 4, 6)
    lexicon_passes: int = 4
    single_passes: int = 1
    jump_passes: int = 3
    agreed_passes: int = 2
    rounds: int = 2
    discount: float = 4.0
    floor: float = 5e-4
    lexicon_null: float = 0.03
    null: float = 0.06
    own_jumps: int = 200
    spelling: float = 1.0
    prune: float = 1e-3
    spectral_weight: float = 0.0
    seed: int = 0

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the heads that are learned from a bitext."""
        return ("lexicon", "spectral") if self.spectral_weight else ("lexicon",)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self) | {"views": list(self.views)}


PRESETS = {
    "fast": Settings(views=(0, 4), lexicon_passes=3, jump_passes=2, agreed_passes=0),
    "default": Settings(spectral_weight=0.4),
}


RESCORERS = ("additive", "scaled-dot")
HEADS = ("lexicon", "spectral", *RESCORERS)


def chosen_heads(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of heads in the order of `HEADS`, each once.

    Raises
    ------
    UsageError
        If there are none, or one is unknown.

    Examples
    --------
    >>> chosen_heads(["spectral", "lexicon"])
    ('lexicon', 'spectral')
    """
    chosen = set(names)
    if not chosen or not chosen.issubset(HEADS):
        found = ", ".join(sorted(chosen - set(HEADS))) or "none"
        raise UsageError(f"expected heads among {', '.join(HEADS)}, found {found}")
    return tuple(name for name in HEADS if name in chosen)


def preset(name: str) -> Settings:
    """Return the settings of a preset by name."""
    if name not in PRESETS:
        raise UsageError(f"expected one of the presets {', '.join(PRESETS)}, found {name!r}")
    return PRESETS[name]
