"""``nmtalign info``: whether links fit a text, and in which unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import texts, unit_options
from nmtalign.cli.bad_records import BadRecords, LeftOutOptions
from nmtalign.cli.declare import Options, argument, command, option
from nmtalign.cli.messages import print_text
from nmtalign.cli.parameter_types import INPUT, TokenizerType
from nmtalign.errors import DataError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.text_files import zip_lines
from nmtalign.names import LinkUnitName, SubwordMarks

if TYPE_CHECKING:
    from nmtalign.corpus.unit_check import UnitFit
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.links.alignments import Link
    from nmtalign.text.bitext import SentencePair


@dataclass(frozen=True, kw_only=True)
class CheckedLinksOptions(Options):
    """Links, the text that they may be of, and the units that are tried."""

    section = "Input"

    links: str = argument(type=INPUT)
    source: str = argument(type=INPUT)
    target: str = argument(type=INPUT)
    count: LinkUnitName | None = option(
        "--count", "Fail (exit code 3) unless this is the unit of the positions."
    )
    tokenizer: str = option(
        "--tokenizer", "Tokenizer to check the links against.", type=TokenizerType(), default="simple"
    )
    pieces: SubwordMarks | None = option("--pieces", "Lines consist of sub-words with these marks.")
    spm: str | None = option(
        "--spm SRC[,TGT]",
        "Sub-word models to check the links against.",
        type=unit_options.SubwordModels(writes=False),
    )
    spaces: str | None = option("--spaces MARK", "Try tokens with each space as a token MARK.")
    encoding: str = texts.encoding_option()


@command("info")
def info_command(checked: CheckedLinksOptions, errors: LeftOutOptions) -> None:
    """Show whether LINKS (Pharaoh format) fit a text, and in which unit: words, tokens or pieces.

    A unit fits if no link is outside of its line, and if the last unit of a line is linked about as often as
    the others: word positions, for example, are valid piece positions but never reach the last pieces of a
    line. The exit code is 3 if no unit fits, or if the unit of --count does not fit.

    Example: nmtalign info links.txt text.en text.fr --spm en.model,fr.model
    """
    from nmtalign.corpus.unit_check import fits_of_units, fitting_units
    from nmtalign.text.tokenization import TextSettings

    text_settings = TextSettings(checked.tokenizer, lowercase=False, unicode="none")
    with AtomicFiles() as files:
        bad = errors.open(files)
        fits = fits_of_units(_records(checked, bad), _units(checked), text_settings)
    errors.say(bad)
    print_text("unit    pairs outside  ends linked")
    for fit in fits:
        print_text(f"{fit.name:<7} {fit.outside:>13,}  {100 * fit.end_rate:9.1f} %")
    names = list(fitting_units(fits))
    if not names:
        raise DataError(
            f"the links fit none of these units ({_why(fits)}); were they made for this text?"
        ).at(checked.links)
    if checked.count is not None and checked.count not in names:
        found = " or ".join(names)
        raise DataError(f"expected links of {checked.count}, found links of {found}").at(checked.links)
    print_text(f"links of {' or '.join(names)}")


def _records(checked: CheckedLinksOptions, bad: BadRecords) -> Iterator[tuple[SentencePair, frozenset[Link]]]:
    """Yield the pairs of the text with their links; bad ones are left out."""
    from nmtalign.links.formats import read_links

    pairs = na.read_bitext(checked.source, checked.target, encoding=checked.encoding, on_error=bad.add)
    links = read_links(checked.links, encoding=checked.encoding, on_error=bad.add)
    for record in bad.track(zip_lines((pairs, links), (checked.source, checked.links))):
        if not bad.has_current:
            yield record


def _units(checked: CheckedLinksOptions) -> dict[str, LinkUnit]:
    """Return the units that are tried, by name."""
    from nmtalign.corpus.units import link_unit

    units = {"words": link_unit(count="words", pieces=checked.pieces)}
    if checked.spaces is None:
        units["tokens"] = link_unit(count="tokens", pieces=checked.pieces)
    else:
        units["tokens"] = link_unit(spaces=checked.spaces)
    if checked.spm is not None or checked.pieces is not None:
        units["pieces"] = link_unit(count="pieces", pieces=checked.pieces, spm=checked.spm)
    return units


def _why(fits: list[UnitFit]) -> str:
    """Return why the best unit does not fit."""
    best = min(fits, key=lambda fit: (fit.outside, -fit.end_rate))
    rate = f"only {100 * best.end_rate:.0f} % of the lines end in linked {best.name}"
    return best.example or rate
