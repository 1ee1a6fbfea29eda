"""The unit that positions in links count, as `align`, `train` and `links-from` declare it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nmtalign.cli.parameter_types import FileType
from nmtalign.errors import DataError
from nmtalign.files.paths import expand_home
from nmtalign.settings import setting

if TYPE_CHECKING:
    from nmtalign.cli.bad_records import BadRecords
    from nmtalign.cli.texts import BitextOptions
    from nmtalign.corpus.units import LinkUnit


class SubwordModels(FileType):
    """The sub-word model of both sides, or one for each, with a comma between."""

    def with_home(self, value: str) -> str:
        return ",".join(expand_home(file) if file else file for file in value.split(","))

    def paths(self, value: str) -> list[str]:
        return value.split(",")


def count_option(default: str) -> Any:
    """Declare ``--count``."""
    return setting(None, "--count", f"Unit of the positions in links.  {default}", section="Output")


def spm_option() -> Any:
    """Declare ``--spm``."""
    return setting(
        None,
        "--spm SRC[,TGT]",
        "Sub-word models (sentencepiece, tokenizer.json) that split raw lines; positions in links count"
        " their pieces.",
        type=SubwordModels(writes=False),
        section="Output",
    )


def pieces_option() -> Any:
    """Declare ``--pieces`` of a text whose sub-words are joined into words before it is aligned."""
    help = "Join sub-words with these marks into words before the lines are aligned."
    return setting(None, "--pieces", help, section="Input")


def describe_unit(unit: LinkUnit) -> dict[str, object]:
    """Return the settings, besides the aligner, on which the links of a run in shards depend."""
    from pathlib import Path

    from nmtalign.files.paths import fingerprint

    models = [fingerprint(Path(model))["sha256"] for model in unit.models or ()]
    return {"count": unit.name, "pieces": unit.marks, "subword_models": models, "spaces": unit.spaces}


def without_space_marks(
    pairs: Iterable[Any], unit: LinkUnit, bitext: BitextOptions, bad: BadRecords
) -> Iterator[Any]:
    """Yield the pairs of a bitext; those with the mark of spaces in a line are bad, and empty."""
    from nmtalign.text.bitext import SentencePair

    if unit.spaces is None:
        yield from pairs
        return
    for number, pair in enumerate(pairs, 1):
        sides = [side for side in (0, 1) if unit.spaces in pair[side]]
        if sides:
            path, line = bitext.place(number, sides[0])
            found = f"the line has {unit.spaces!r}, which would become a space"
            bad.add(DataError(f"{found}; replace it in the text").at(path, line=line))
            pair = SentencePair("", "")
        yield pair
