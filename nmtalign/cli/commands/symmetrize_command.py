"""``nmtalign symmetrize``: join the links of two directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import Options, argument, command, option
from nmtalign.cli.outputs import OutputFileOptions
from nmtalign.cli.parameter_types import INPUT
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.text_files import zip_lines
from nmtalign.names import Symmetrization

if TYPE_CHECKING:
    from nmtalign.links.alignments import Link

_LINES_PER_CHUNK = 16_384  # pairs read, joined and written at a time


@dataclass(frozen=True, kw_only=True)
class DirectionOptions(Options):
    """The links of both directions, and how they are joined."""

    section = "Links"

    forward: str = argument(type=INPUT)
    reverse: str = argument(type=INPUT)
    reversed: bool = option(
        "--reversed",
        "Swap the positions of REVERSE, whose links are target-source.",
        default=False,
        section="Input",
    )
    encoding: str = texts.encoding_option()
    method: Symmetrization = option("--method", "Method that joins the links.", default="grow-diag-final-and")


@command("symmetrize")
def symmetrize_command(directions: DirectionOptions, errors: ErrorOptions, file: OutputFileOptions) -> None:
    """Symmetrize Pharaoh links: join the links of two directions, line by line.

    Both files contain source-target links, unless --reversed is set.

    Example: nmtalign symmetrize forward.txt reverse.txt --method grow-diag-final-and -o links.txt
    """
    from nmtalign.links.formats import format_pharaoh_batch, read_links

    files = directions.forward, directions.reverse

    def links_of_lines() -> Iterator[tuple[frozenset[Link], frozenset[Link]]]:
        of_files = [read_links(path, encoding=directions.encoding, on_error=bad.add) for path in files]
        for forward, reverse in bad.track(zip_lines(of_files, files)):
            yield (frozenset(), frozenset()) if bad.has_current else (forward, reverse)

    def joined() -> Iterator[str]:
        lines = links_of_lines()
        while chunk := list(islice(lines, _LINES_PER_CHUNK)):
            forward = [pair[0] for pair in chunk]
            reverse = [pair[1] for pair in chunk]
            yield format_pharaoh_batch(
                na.symmetrize(forward, reverse, method=directions.method, reversed=directions.reversed)
            )

    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        outputs.text(file.output).writelines(joined())
    errors.say(bad)
