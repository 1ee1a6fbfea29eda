"""Floor 5: the command line. Commands are loaded when called, so ``nmtalign --help`` stays fast."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from nmtalign import __version__

# name -> (module, attribute, one line of help)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "align": ("nmtalign.cli.align", "align", "Align a bitext: links, probabilities, table."),
    "train": ("nmtalign.cli.train", "train", "Learn an alignment model from a bitext."),
    "evaluate": ("nmtalign.cli.evaluate", "evaluate", "Precision, recall, F1 and AER against gold links."),
    "symmetrize": ("nmtalign.cli.symmetrize", "symmetrize", "Join the links of two directions."),
    "heatmap": ("nmtalign.cli.heatmap", "heatmap", "Draw attention weights and links as a picture."),
    "vectors": ("nmtalign.cli.vectors", "vectors", "Look at, convert and learn word vectors."),
    "lexicon": ("nmtalign.cli.lexicon", "lexicon", "List translations with probabilities."),
}


class LazyGroup(click.Group):
    """A click group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nmtalign")
def group() -> None:
    """Word alignment from attention.

    Example: nmtalign align text.en text.fr -o links.txt
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; errors made on purpose become one message and an exit code."""
    from nmtalign.errors import NmtalignError

    try:
        return group.main(args=arguments, prog_name="nmtalign")
    except NmtalignError as error:
        click.echo(f"nmtalign: error: {error}", err=True)
        sys.exit(error.exit_code)
