"""Which heads a model is to learn, and what some of them are told: options of ``nmtalign train``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli._model_options import names_in
from nmtalign.cli._types import INPUT, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.models.settings import Settings

_OPTIONS = (
    click.option(
        "--heads", metavar="LIST", help="Of lexicon,vectors,spectral,bahdanau,attention.  [as the preset]"
    ),
    click.option(
        "--bahdanau-inputs",
        type=click.Choice(("clues", "words")),
        help="The head bahdanau looks at clues to links, or at word vectors.  [clues]",
    ),
    click.option(
        "--bahdanau-teacher",
        type=click.Choice(("posteriors", "bitext", "gold")),
        help="A second opinion learns from the links of other heads, the bitext, or --gold.  [posteriors, or"
        " gold if there are 50 gold pairs for bahdanau]",
    ),
    click.option(
        "--attention-heads",
        type=Whole(1, 64),
        metavar="N",
        help="Heads of the head attention, scaled dot-product with learned projections.  [4]",
    ),
    click.option(
        "--vectors", type=INPUT, metavar="DIR", help="Word vectors for a head that looks at words.  [its own]"
    ),
)
_USED_BY = {
    "bahdanau_inputs": ("bahdanau",),
    "bahdanau_teacher": ("bahdanau", "attention"),
    "attention_heads": ("attention",),
    "vectors": ("attention", "bahdanau"),
}


def head_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; :func:`head_settings` reads them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def head_settings(options: dict[str, Any], gold: int) -> Settings:
    """Return what is to be learned where there are so many pairs with gold links.

    An option of a head that the preset has asks for this head, however small the bitext. With enough gold
    pairs a preset of several heads gets ``bahdanau`` as well, taught by them.

    Raises
    ------
    UsageError
        If an option is for a head that is not to be learned.
    """
    from nmtalign.models.settings import chosen_heads, preset, with_heads
    from nmtalign.models.teaching import FEWEST_GOLD

    settings = preset(options["preset"])
    named = options["heads"] is not None
    heads = chosen_heads(names_in(options["heads"])) if named else settings.heads
    given = {name: options[name] for name in _USED_BY if options[name] is not None}
    for name in given:
        if not set(_USED_BY[name]) & set(heads):
            raise UsageError(_what_to_add(name, heads))
    if options["gold"] is not None and heads == ("lexicon",):
        raise UsageError(
            "--gold weighs heads and teaches bahdanau, found the lexicon alone; add --heads"
            " lexicon,spectral,bahdanau"
        )
    if given.get("bahdanau_teacher") == "gold" and options["gold"] is None:
        raise UsageError("--bahdanau-teacher gold learns from hand-made links; add --gold FILE")
    if gold >= FEWEST_GOLD and given.get("bahdanau_inputs") != "words":
        if not named:
            heads = chosen_heads((*heads, "bahdanau"))
        if "bahdanau" in heads:
            given.setdefault("bahdanau_teacher", "gold")
    if not named and not given:
        return settings
    settings = with_heads(
        settings,
        heads,
        inputs=given.get("bahdanau_inputs", "clues"),
        teacher=given.get("bahdanau_teacher", "posteriors"),
        attention_heads=given.get("attention_heads", 4),
        given="vectors" in given,
    )
    if "vectors" in given and settings.opinion_inputs == "clues":
        raise UsageError("--vectors is for a head that looks at words; add --bahdanau-inputs words")
    return settings


def _what_to_add(name: str, heads: tuple[str, ...]) -> str:
    """Say which head an option is for, and how to learn it with the others."""
    from nmtalign.models.settings import HEADS

    head = _USED_BY[name][0]
    wanted = {*heads, head} - ({"bahdanau"} if head == "attention" else {"attention"})
    if name == "attention_heads":
        wanted.add("vectors")
    line = ",".join(known for known in HEADS if known in wanted)
    found = f"--{name.replace('_', '-')} is for the head {' or '.join(_USED_BY[name])}"
    return f"{found}, found the heads {','.join(heads)}; add it: --heads {line}"
