"""``nmtalign serve``: pairs aligned in the browser as they are typed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from nmtalign.cli.options.declare import INPUT, Whole, command, option
from nmtalign.cli.options.model import check_kind
from nmtalign.errors import UsageError
from nmtalign.names import SCORES

EXAMPLES = {  # one sentence, by language
    "en": "The black cat sleeps .",
    "fr": "Le chat noir dort .",
    "de": "Die schwarze Katze schläft .",
    "es": "El gato negro duerme .",
    "it": "Il gatto nero dorme .",
    "pt": "O gato preto dorme .",
    "nl": "De zwarte kat slaapt .",
    "cs": "Černá kočka spí .",
    "ro": "Pisica neagră doarme .",
    "ru": "Чёрная кошка спит .",
    "ar": "القطة السوداء نائمة .",
    "zh": "黑 猫 在 睡觉 。",
    "ja": "黒い 猫 が 眠って いる 。",
}


def example_of(languages: tuple[str | None, str | None]) -> tuple[str, str]:
    """Return a pair in two languages; two empty texts where one of them is unknown."""
    source, target = (EXAMPLES.get(language or "", "") for language in languages)
    return (source, target) if source and target else ("", "")


@command(
    "Model",
    option("--model models DIR", INPUT, "Learned models.  [the shipped English-French]", multiple=True),
    option("--vectors DIR", INPUT, "Word vectors of two languages.", multiple=True),
    option("--score", SCORES, "Attention score of --vectors.  [cosine]"),
    "Running",
    option("--port", Whole(min=0, max=65535), "0 takes a free one.", default=8765),
)
def serve(models: tuple[str, ...], vectors: tuple[str, ...], score: str | None, port: int) -> None:
    """Serve a page that aligns pairs as they are typed: curves, matrix, each scorer; until Ctrl-C.

    Only browsers on this machine can open the page; other sites cannot use it. Nothing that you type is
    saved. Lines are pairs: the first source line with the first target line, and so on. Two models are
    shown side by side, with a mark at each link that only one of them has.

    Example: nmtalign serve --model model --vectors en_fr_vectors
    """
    from nmtalign.aligner.opening import load
    from nmtalign.cli.looking.server import Server

    folders = [*models, *vectors]
    for kind, paths in (("model", models), ("vectors", vectors)):
        for path in paths:
            check_kind(kind, path)
    scoring = {} if score is None else {"score": score}
    settings = {folder: scoring if folder in vectors or not vectors else {} for folder in folders}
    aligners = {Path(folder).name or folder: load(folder, **settings[folder]) for folder in folders}
    aligners = aligners or {"English-French, as shipped": load(**scoring)}
    if folders and len(aligners) < len(folders):
        raise UsageError("two folders have one name, and the page could not tell them apart")
    try:
        first = next(iter(aligners.values()))
        server = Server(aligners, example_of(first.languages), port)
    except OSError as error:
        raise UsageError(f"--port {port}: {error.strerror}; give another, or 0 for any") from None
    with server, suppress(KeyboardInterrupt):
        click.echo(f"Open {server.address} in a browser; Ctrl-C ends it.", err=True)
        server.serve_forever()
