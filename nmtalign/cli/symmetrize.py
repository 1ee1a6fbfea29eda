"""``nmtalign symmetrize``: one set of links from two directions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest

import click

from nmtalign.cli._types import INPUT, OUTPUT
from nmtalign.errors import DataError

METHODS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
_TOGETHER = 16_384  # pairs read, joined and written at a time


@click.command()
@click.argument("forward", type=INPUT)
@click.argument("reverse", type=INPUT)
@click.option("--method", type=click.Choice(METHODS), default="grow-diag-final-and", show_default=True)
@click.option("--reversed", "turned", is_flag=True, help="The links of REVERSE are target-source: turn them.")
@click.option(
    "-o", "--output", type=OUTPUT, metavar="LINKS", default="-", help="File to write.  [standard output]"
)
def symmetrize(forward: str, reverse: str, method: str, turned: bool, output: str) -> None:
    """Join the Pharaoh links of two directions, line by line; both are source-target.

    Example: nmtalign symmetrize forward.txt reverse.txt --method grow-diag-final-and -o links.txt
    """
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text
    from nmtalign.links.formats import format_pharaoh
    from nmtalign.links.symmetrization import symmetrize_many

    lines = _both(forward, reverse)
    with whole_file(output) as partial, open_text(partial, "w") as file:
        while chunk := list(islice(lines, _TOGETHER)):
            first, second = ([pair[side] for pair in chunk] for side in (0, 1))
            if turned:
                second = [frozenset((s, t) for t, s in links) for links in second]
            joined = symmetrize_many(first, second, method)
            file.writelines(f"{format_pharaoh(links)}\n" for links in joined)


def _both(forward: str, reverse: str) -> Iterator[tuple[frozenset[tuple[int, int]], ...]]:
    """Yield the links of both files side by side; files of different length are an error at the end."""
    from nmtalign.links.formats import read_links

    found = [0, 0]
    for sides in zip_longest(read_links(forward), read_links(reverse)):
        found = [n + (side is not None) for n, side in zip(found, sides, strict=True)]
        if found[0] == found[1]:
            yield sides
    if found[0] != found[1]:
        raise DataError(
            f"expected as many lines in both files, found {found[0]} in {forward} and {found[1]} in {reverse}"
        )
