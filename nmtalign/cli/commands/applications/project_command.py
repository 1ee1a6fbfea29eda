"""``nmtalign project``: copy annotations from source to target over links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import INPUT, Options, command, option
from nmtalign.cli.messages import log, quiet_option
from nmtalign.cli.progress_display import open_progress
from nmtalign.cli.running import OutputFileOptions, say_written
from nmtalign.cli.texts import LinkedOptions
from nmtalign.errors import DataError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.text_files import read_lines, zip_lines
from nmtalign.names import TagFormat

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, kw_only=True)
class AnnotationOptions(Options):
    """The annotations to project."""

    section = "Input"

    tags: str = option(
        "--tags FILE", "Read the annotations of SOURCE, one line per pair.", type=INPUT, required=True
    )
    tags_format: TagFormat = option("--tags-format", "Format of --tags.", default="xml")


@command(quiet_option, name="project")
def project_command(
    linked: LinkedOptions,
    errors: ErrorOptions,
    annotations: AnnotationOptions,
    file: OutputFileOptions,
) -> None:
    """Project annotations from SOURCE to TARGET over LINKS.

    LINKS are Pharaoh links between the space-separated words of SOURCE and TARGET. --tags contains the lines
    of SOURCE with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans such as 0-2:NAME, in
    which words count from 0 and the end is not included. The output has the same format, and tags stay
    nested. If no word of an annotation has a link, an XML element goes between the words next to it, and a
    label or span is omitted; the last message names the lines.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    from nmtalign.applications.projection import describe_unlinked, project_line

    tags, tags_format = annotations.tags, annotations.tags_format
    unlinked_lines: list[int] = []  # a line occurs once for each annotation whose words have no link

    def projected_lines() -> Iterator[str]:
        tag_lines = read_lines(tags, encoding=linked.encoding, on_error=bad.add)
        both = zip_lines((linked.read(bad), tag_lines), (linked.source, tags))
        for number, ((lines, pair), tag_line) in enumerate(both, 1):
            text = ""
            if not bad.has_current:
                if tags_format == "xml":  # the line repeats the words as they are in the file
                    pair = pair._replace(source=[word for word in lines.source.split(" ") if word])
                try:
                    text, unlinked = project_line(tag_line, pair, tags_format)
                    unlinked_lines.extend([number] * unlinked)
                except DataError as error:
                    bad.add(error.at(tags, line=number))
            yield f"{text}\n"

    with AtomicFiles() as outputs, open_progress("pairs", linked.files) as progress:
        bad = errors.open(outputs)
        outputs.text(file.output).writelines(progress.done_one_by_one(projected_lines()))
    say_written(f"annotations of {progress.done:,} lines", [file.output], progress)
    errors.say(bad)
    if unlinked_lines:
        log(describe_unlinked(unlinked_lines, tags_format, "line"), event="unlinked")
