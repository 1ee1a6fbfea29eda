"""``nmtalign convert``: rewrite files of links in another format."""

from __future__ import annotations

from dataclasses import dataclass

from nmtalign.cli import texts
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import argument, command, option
from nmtalign.cli.outputs import OutputFileOptions
from nmtalign.cli.parameter_types import INPUT
from nmtalign.cli.texts import WordFormOptions
from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.names import ReadLinksFormat, WrittenLinksFormat


@dataclass(frozen=True, kw_only=True)
class ConvertedLinksOptions(WordFormOptions):
    """The links to convert, and their words."""

    links: str = argument(type=INPUT)
    format: ReadLinksFormat = option("--from", "Format of the file LINKS.", required=True)
    source: str | None = option(
        "--source FILE", "Source text, needed if LINKS does not contain the words.", type=INPUT
    )
    target: str | None = option("--target FILE", "Target text, to go with --source.", type=INPUT)
    encoding: str = texts.encoding_option()
    invert: bool = option(
        "--invert", "Swap source and target in what is written.", default=False, section="Output"
    )
    to: WrittenLinksFormat = option("--to", "Format to write.", required=True, section="Output")


@command("convert")
def convert_command(converted: ConvertedLinksOptions, errors: ErrorOptions, file: OutputFileOptions) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL and TSV.

    The formats giza, words and tsv (source, target, links) need --source and --target, unless LINKS
    contains the words. Words are separated by spaces. NAACL files have no line for a pair without links;
    with --source and --target, such pairs at the end of the file are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    from nmtalign.applications.conversion import Conversion, TextsOfLinks

    if (converted.source is None) != (converted.target is None):
        raise UsageError("--source and --target must be used together; add the missing one")
    if converted.source is None and (converted.lowercase is not None or converted.unicode is not None):
        raise UsageError("--lowercase and --unicode change the words of texts; add --source and --target")
    texts_of_links = None
    if converted.source is not None and converted.target is not None:
        texts_of_links = TextsOfLinks(
            converted.source, converted.target, converted.text_settings.words_of_pair
        )
    conversion = Conversion(
        links=converted.links,
        format=converted.format,
        to=converted.to,
        texts=texts_of_links,
        encoding=converted.encoding,
        invert=converted.invert,
    )
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        outputs.text(file.output).writelines(conversion.lines(bad))
    errors.say(bad)
