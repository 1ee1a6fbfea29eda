"""``nmtalign serve``: pairs aligned in the browser as they are typed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from nmtalign.cli.messages import warnings_to_stderr
from nmtalign.cli.options.groups import Command, section
from nmtalign.cli.options.types import INPUT, Whole
from nmtalign.errors import UsageError

EXAMPLE = "The black cat sleeps .", "Le chat noir dort ."


@click.command(cls=Command)
@section("Model")
@click.option(
    "--model",
    "folders",
    type=INPUT,
    metavar="DIR",
    multiple=True,
    help="A learned model, or vectors; several to choose from.  [the shipped English-French]",
)
@section("Running")
@click.option("--port", type=Whole(min=0, max=65535), default=8765, help="0 takes a free one.")
def serve(folders: tuple[str, ...], port: int) -> None:
    """Serve a page that aligns pairs as they are typed: curves, matrix, each scorer; until Ctrl-C.

    It is served to browsers on this machine alone, and to no page of another site. What is typed is kept
    nowhere. Lines are pairs: the first source line with the first target line, and so on.

    Example: nmtalign serve --model model --model other
    """
    from nmtalign.aligner.opening import load
    from nmtalign.cli.looking.server import Server

    with warnings_to_stderr():
        if not folders:
            aligners, example = {"English-French, as shipped": load()}, EXAMPLE
        else:
            aligners, example = {Path(folder).name or folder: load(folder) for folder in folders}, ("", "")
    if folders and len(aligners) < len(folders):
        raise UsageError("--model: two folders have one name, and the page could not tell them apart")
    try:
        server = Server(aligners, example, port)
    except OSError as error:
        raise UsageError(f"--port {port}: {error.strerror}; give another, or 0 for any") from None
    with server, suppress(KeyboardInterrupt):
        click.echo(f"Open {server.address} in a browser; Ctrl-C ends it.", err=True)
        server.serve_forever()
