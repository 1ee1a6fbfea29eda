"""``nmtalign project``: copy annotations from source to target over links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import INPUT, Options, command, option
from nmtalign.cli.messages import Progress, log, quiet_option
from nmtalign.cli.running import OutputFileOptions, say_written
from nmtalign.cli.texts import LinkedOptions, LinkedPair
from nmtalign.errors import DataError
from nmtalign.files import read_lines, side_by_side
from nmtalign.names import TagFormat
from nmtalign.output import Outputs

if TYPE_CHECKING:
    from nmtalign.applications.projection import Span


@dataclass(frozen=True, kw_only=True)
class AnnotationOptions(Options):
    """The annotations to project."""

    section = "Input"

    tags: str = option("--tags FILE", "Annotations of SOURCE, one line per pair.", type=INPUT, required=True)
    tags_format: TagFormat = option("--tags-format", "Format of --tags.", default="xml")


@command(quiet_option, name="project")
def project_command(
    linked: LinkedOptions,
    errors: ErrorOptions,
    annotations: AnnotationOptions,
    file: OutputFileOptions,
) -> None:
    """Project annotations from SOURCE to TARGET over Pharaoh LINKS; words stand between spaces.

    --tags holds the lines of SOURCE with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans
    like 0-2:NAME, where words count from 0 and the end is not included. The output has the same format. Tags
    stay nested. If no word of an annotation has a link, an XML element goes between the words beside it, and
    a label or span is left out; the last message names the lines.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    from nmtalign.applications.projection import unlinked

    tags, tags_format = annotations.tags, annotations.tags_format
    lost: list[int] = []  # lines with an annotation whose words have no link

    def projected() -> Iterator[str]:
        lines = read_lines(tags, encoding=linked.encoding, on_error=bad.add)
        columns = linked.read(bad), lines
        for number, (pair, line) in enumerate(side_by_side(columns, (linked.source, tags)), 1):
            text = ""
            if not bad.has_current:
                try:
                    text, spans = _PROJECTIONS[tags_format](line, pair)
                    lost.extend([number] * len(unlinked(spans, pair.links)))
                except DataError as error:
                    bad.add(error.at(tags, line=number))
            yield f"{text}\n"

    with Outputs() as outputs, Progress("pairs", linked.files) as progress:
        bad = errors.open(outputs)
        outputs.text(file.output).writelines(progress.done_one_by_one(projected()))
    say_written(f"annotations of {progress.done:,} lines", [file.output], progress)
    errors.say(bad)
    if lost:
        where = ", ".join(map(str, dict.fromkeys(lost[:5]))) + (", ..." if len(lost) > 5 else "")
        done = "put between the words beside them" if tags_format == "xml" else "left out"
        log(f"annotations of words without a link: {len(lost):,}, {done} (line {where})", event="unlinked")


def _project_tags(tagged: str, pair: LinkedPair) -> tuple[str, list[Span]]:
    from nmtalign.applications.projection import parse_tags, project_tags, spans_of_tags

    words, line = parse_tags(tagged)
    expected = [word for word in pair.pair.source.split(" ") if word]
    if words != expected:
        both = enumerate(zip_longest(expected, words, fillvalue=""))
        at, word, other = next((at, word, other) for at, (word, other) in both if word != other)
        raise DataError(f"expected the source words with tags; word {at} is {word!r}, found {other!r}")
    return project_tags(line, pair.target, pair.links), spans_of_tags(line)


def _project_labels(line: str, pair: LinkedPair) -> tuple[str, list[Span]]:
    from nmtalign.applications.projection import labels_of_spans, project_spans, spans_of_labels

    labels = [label for label in line.split(" ") if label]
    if len(labels) != len(pair.source):
        raise DataError(f"expected a label for each of {len(pair.source)} source words, found {len(labels)}")
    given = spans_of_labels(labels)
    spans = project_spans(given, pair.links, len(pair.target))
    return " ".join(labels_of_spans(spans, len(pair.target))), given


def _project_spans(line: str, pair: LinkedPair) -> tuple[str, list[Span]]:
    from nmtalign.applications.projection import parse_spans, project_spans

    given = parse_spans(line, len(pair.source))
    spans = project_spans(given, pair.links, len(pair.target))
    return " ".join(f"{start}-{end}:{label}" for start, end, label in spans), given


_PROJECTIONS = {"xml": _project_tags, "bio": _project_labels, "spans": _project_spans}
