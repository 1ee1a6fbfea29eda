"""``nmtalign phrases``: list the phrase pairs of a linked bitext."""

from __future__ import annotations

from dataclasses import dataclass

from nmtalign.applications.phrases import PHRASE_SEPARATOR, PhraseFormatter
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import open_progress
from nmtalign.cli.outputs import log_written
from nmtalign.cli.parameter_types import OutputPrefix
from nmtalign.cli.texts import LinkedOptions
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import path_of_prefix

_PHRASE_ENDINGS = (".extract", ".extract.inv")  # of the files, whose names are those of Moses


@dataclass(frozen=True, kw_only=True)
class PhraseOptions(Settings):
    """The choice of the listed phrases, and the files."""

    section = "Output"

    output: str | None = setting(
        None,
        "-o --output PREFIX",
        "Write PREFIX.extract and PREFIX.extract.inv.  [print one list]",
        type=OutputPrefix(*_PHRASE_ENDINGS),
    )
    longest: int = setting(7, "--longest N", "List phrases of at most N words on either side.", minimum=1)


@command("phrases")
def phrases_command(linked: LinkedOptions, errors: ErrorOptions, phrase: PhraseOptions) -> None:
    """List the phrase pairs that are consistent with LINKS.

    LINKS are Pharaoh links between the space-separated words of SOURCE and TARGET, or of --pairs FILE.
    Each line is `source words ||| target words ||| links inside`, as Moses' extract writes it. With -o, the
    files are PREFIX.extract and PREFIX.extract.inv, in which the sides are swapped.

    Example: nmtalign phrases text.en text.fr links.txt -o corpus
    """
    formatter = PhraseFormatter(phrase.longest)
    count = 0
    linked_text = linked.text()
    with AtomicFiles() as outputs, open_progress("pairs", linked_text.files) as progress:
        bad = errors.open(outputs)
        paths = ["-"]
        if phrase.output is not None:
            paths = [path_of_prefix(phrase.output, ending) for ending in _PHRASE_ENDINGS]
        files = [outputs.text(path) for path in paths]
        lines = linked_text.read(bad, separator=PHRASE_SEPARATOR)
        for _, pair in progress.done_one_by_one(progress.track(lines)):
            of_pair = formatter.lines_of(pair)
            count += len(of_pair)
            files[0].write("".join(of_pair))
            if len(files) > 1:
                files[1].write("".join(formatter.lines_of(pair.reversed())))
    what = f"{with_plural(count, 'phrase pair')} of {with_plural(progress.done, 'sentence pair')}"
    log_written(what, paths, progress)
    errors.say(bad)
