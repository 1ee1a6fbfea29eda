"""Options of the commands that read or write word vectors."""

from __future__ import annotations

import click
from click.core import ParameterSource

from nmtalign.cli.options.groups import Decorator, section, with_options
from nmtalign.cli.options.types import OUTPUT, Encoding, Whole
from nmtalign.errors import UsageError
from nmtalign.names import READ_VECTORS, RETRIEVAL_SCORES, WRITTEN_VECTORS

BYTES = ("strict", "ignore", "replace", "backslashreplace")


def _by_hand(context: click.Context, parameter: click.Parameter, value: bool | None) -> bool | None:
    """Refuse a value that a file or the environment gives."""
    if value and context.get_parameter_source(str(parameter.name)) is not ParameterSource.COMMANDLINE:
        raise UsageError(f"{parameter.opts[0]} can be given on the command line only")
    return value


def unsafe_pickle_option(default: bool | None) -> Decorator:
    """Return ``--unsafe-pickle``."""
    text = "Let pickles run code: for own files only."
    return click.option("--unsafe-pickle", is_flag=True, default=default, callback=_by_hand, help=text)


limit_option = click.option("--limit", type=Whole(min=1), help="Read only the first N vectors.")
score_option = click.option("--score", type=click.Choice(RETRIEVAL_SCORES), default="csls")

reading_options = with_options(
    section("Input"),
    click.option(
        "--from", "format", type=click.Choice(["auto", *READ_VECTORS]), default="auto", help="Format."
    ),
    limit_option,
    click.option("--encoding", type=Encoding(), default="utf-8", help="Of words, and of input that is text."),
    click.option("--errors", type=click.Choice(BYTES), help="What to do with bytes of another encoding."),
    unsafe_pickle_option(False),
)

force_option = click.option("--force", is_flag=True, help="Replace the vectors that are there.")

pair_output_options = with_options(
    section("Output"),
    click.option(
        "-o", "--output", type=OUTPUT, metavar="DIR", required=True, help="Folder for both languages."
    ),
    force_option,
    click.option("--to", type=click.Choice(WRITTEN_VECTORS), default="folder", help="Format to write."),
)
