"""Everything that decides what is learned from a bitext: the presets, and the heads that can be chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
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
    vector_weight : float
        Share of attention vectors in the logits; 0 learns none.
    spectral_weight : float
        Share of vectors of the lexicon's own links in the logits; 0 makes none.
    opinion_weight : float
        Share of a second opinion in the logarithms of the posteriors; 0 learns none.
    opinion_from : int
        Sentence pairs from which on there is one; it takes a good teacher to gain by it.
    opinion_inputs : {"clues", "words", "projections"}
        What it is: :mod:`nmtalign.models.clues` or, over attention vectors, :mod:`nmtalign.models.additive`
        or :mod:`nmtalign.models.projections`.
    opinion_heads : int
        Heads of the projections.
    opinion_teacher : {"posteriors", "bitext", "gold"}
        What it learns from: the links that the other heads find, the likelihood of the bitext, or hand-made
        links; then it is :mod:`nmtalign.models.supervised`.
    seed : int
        Of the vectors and of the second opinion; nothing else is random.
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
    vector_weight: float = 0.0
    spectral_weight: float = 0.0
    opinion_weight: float = 0.0
    opinion_from: int = 0
    opinion_inputs: str = "clues"
    opinion_teacher: str = "posteriors"
    opinion_heads: int = 4
    seed: int = 0

    @property
    def opinion_name(self) -> str:
        """The name of the second opinion among the heads."""
        return "attention" if self.opinion_inputs == "projections" else "bahdanau"

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the heads that are learned from a bitext that is large enough for them."""
        there = {"vectors": self.vector_weight, "spectral": self.spectral_weight}
        there[self.opinion_name] = self.opinion_weight
        return ("lexicon", *(name for name in HEADS if there.get(name)))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self) | {"views": list(self.views)}


PRESETS = {
    "fast": Settings(views=(0, 4), lexicon_passes=3, jump_passes=2, agreed_passes=0),
    "default": Settings(spectral_weight=0.4),
    "best": Settings(
        agreed_passes=3, vector_weight=0.45, spectral_weight=0.3, opinion_weight=0.2, opinion_from=50_000
    ),
}


HEADS = ("lexicon", "vectors", "spectral", "bahdanau", "attention")
_WEIGHTS = {"vectors": 0.45, "spectral": 0.3, "opinion": 0.2}  # of heads that a preset leaves out


def chosen_heads(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of heads in the order of `HEADS`, each once.

    Raises
    ------
    UsageError
        If there are none, or one is unknown.

    Examples
    --------
    >>> chosen_heads(["vectors", "lexicon"])
    ('lexicon', 'vectors')
    """
    chosen = set(names)
    if not chosen or not chosen.issubset(HEADS):
        found = ", ".join(sorted(chosen - set(HEADS))) or "none"
        raise UsageError(f"expected heads among {', '.join(HEADS)}, found {found}")
    return tuple(name for name in HEADS if name in chosen)


def with_heads(
    settings: Settings,
    names: Iterable[str],
    *,
    inputs: str = "clues",
    teacher: str = "posteriors",
    attention_heads: int = 4,
    given: bool = False,
) -> Settings:
    """Return settings that learn the named heads, the lexicon among them.

    Parameters
    ----------
    settings : Settings
    names : iterable of str
        Among `HEADS`.
    inputs : {"clues", "words"}
        Of the head ``bahdanau``; words are looked at by their attention vectors.
    teacher : {"posteriors", "bitext", "gold"}
        Of the head ``bahdanau`` or ``attention``; gold links teach one over clues.
    attention_heads : int
        Of the head ``attention``.
    given : bool
        Whether a head that looks at words has vectors other than those of the head ``vectors``.

    Examples
    --------
    >>> with_heads(Settings(), ["lexicon", "vectors"]).vector_weight
    0.45
    """
    chosen = chosen_heads(names)
    if "lexicon" not in chosen:
        raise UsageError("a model is learned around its lexicon; name it too: lexicon," + ",".join(chosen))
    opinions = [name for name in ("bahdanau", "attention") if name in chosen]
    if len(opinions) == 2:
        raise UsageError("a model has one second opinion; name one of bahdanau and attention")
    if "attention" in chosen:
        inputs = "projections"
    if opinions and inputs != "clues" and "vectors" not in chosen and not given:
        raise UsageError(f"a head that looks at words needs their vectors: lexicon,vectors,{opinions[0]}")

    if teacher == "gold" and inputs != "clues":
        raise UsageError("gold links teach the head bahdanau over clues, not a head that looks at words")

    def weight(own: float, name: str, *, there: bool) -> float:
        return (own or _WEIGHTS[name]) if there else 0.0

    return replace(
        settings,
        vector_weight=weight(settings.vector_weight, "vectors", there="vectors" in chosen),
        spectral_weight=weight(settings.spectral_weight, "spectral", there="spectral" in chosen),
        opinion_weight=weight(settings.opinion_weight, "opinion", there=bool(opinions)),
        opinion_from=0,
        opinion_inputs=inputs,
        opinion_teacher=teacher,
        opinion_heads=attention_heads,
    )


def preset(name: str) -> Settings:
    """Return the settings of a preset by name."""
    if name not in PRESETS:
        raise UsageError(f"expected one of the presets {', '.join(PRESETS)}, found {name!r}")
    return PRESETS[name]
