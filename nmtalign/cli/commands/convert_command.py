"""``nmtalign convert``: rewrite links or a bitext in another format, or join links of two directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Literal

import click

import nmtalign as na
from nmtalign.applications.conversion import Conversion, TextsOfLinks
from nmtalign.cli import texts
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress
from nmtalign.cli.outputs import OutputFileOptions, log_written
from nmtalign.cli.parameter_types import OutputPrefix
from nmtalign.cli.texts import BitextOptions
from nmtalign.declarations import Settings, argument, setting
from nmtalign.decoding.batches import read_batches
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.text_files import find_split_line, zip_lines
from nmtalign.links.alignments import Link
from nmtalign.links.formats import LinkRecord, format_pharaoh_batch, read_links
from nmtalign.links.saved_tables import is_batch_file
from nmtalign.names import LINKED_FILES, SIDES, LinkedFileFormat, ReadLinksFormat, WrittenLinksFormat
from nmtalign.settings import LinkSettings
from nmtalign.text.tokenization import SPACE_SETTINGS

_LINES_PER_CHUNK = 16_384  # pairs read, joined and written at a time


@dataclass(frozen=True, kw_only=True)
class ConvertedLinksOptions(Settings):
    """The links to convert, and their words; or a bitext."""

    section = "Input"

    links: str = argument(kind="input")
    reverse: str | None = argument(kind="input", required=False)
    format: ReadLinksFormat | LinkedFileFormat | None = setting(None, "--from", "Format of the file LINKS.")
    sides: tuple[str, str] | None = texts.sides_option("a bitext")
    source: str | None = setting(
        None, "--source FILE", "Source text, needed if LINKS does not contain the words.", kind="input"
    )
    target: str | None = setting(None, "--target FILE", "Target text, to go with --source.", kind="input")
    encoding: str = texts.encoding_option()
    invert: bool = setting(
        False,
        "--invert",
        "Swap source and target in what is written; LINKS are Pharaoh links without --from and --to.",
        section="Output",
    )
    to: WrittenLinksFormat | LinkedFileFormat | Literal["text"] | None = setting(
        None,
        "--to",
        "Format to write; `tmx` and `xliff` copy the file --source with links in it; `text` writes a bitext"
        " to FILE.source and FILE.target.",
        section="Output",
    )


@command("convert")
def convert_command(
    converted: ConvertedLinksOptions, chosen: LinkSettings, errors: ErrorOptions, file: OutputFileOptions
) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL and TSV, or a bitext to text.

    The formats giza, words and tsv (source, target, links) need --source and --target, unless LINKS
    contains the words. Words are separated by spaces. NAACL files have no line for a pair without links;
    with --source and --target, such pairs at the end of the file are kept.

    With --symmetrize, LINKS and REVERSE are the Pharaoh links of two directions, which are joined line by
    line. Both files contain source-target links; --invert swaps those of a file that does not.

    If LINKS is a file of align --posteriors, links are chosen from it as align chooses them: with
    --threshold, --extract and --symmetrize.

    With --to tmx or xliff, --source is a file of that format, which is copied with the links of its pairs in
    it; --from tmx or xliff reads them again.

    With --to text, LINKS is a bitext in any format that `align --pairs` reads, or LINKS and REVERSE
    are its two files, such as subtitles. It is written as two files of lines.

    \b
    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
             nmtalign convert posteriors.npz --threshold 0.3 -o links.txt
    """
    if converted.to == "text":
        _write_text(converted, chosen, errors, file.output)
        return
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        if chosen.symmetrize is not None and converted.reverse is not None:
            outputs.text(file.output).writelines(_symmetrized_lines(converted, chosen, bad))
        elif converted.reverse is not None:
            raise UsageError("LINKS and REVERSE are joined by a method; add --symmetrize METHOD")
        else:
            _conversion(converted, chosen).write(file.output, outputs, bad)
    if file.output != "-":
        log(f"links in {file.output}", event="written")
    errors.say(bad)


def _check_symmetrized(converted: ConvertedLinksOptions) -> None:
    """Raise UsageError if options do not go with the links of two directions."""
    formats = converted.format or "pharaoh", converted.to or "pharaoh"
    if formats != ("pharaoh", "pharaoh") or converted.invert or converted.source or converted.target:
        raise UsageError("--symmetrize reads and writes Pharaoh links only; convert its input, or its output")


def _symmetrized_lines(
    converted: ConvertedLinksOptions, chosen: LinkSettings, bad: BadRecords
) -> Iterator[str]:
    """Yield chunks of lines with the joined links of both directions; a bad record has no links."""
    _check_symmetrized(converted)
    assert converted.reverse is not None
    assert chosen.symmetrize is not None
    files = converted.links, converted.reverse

    def links_of_lines() -> Iterator[tuple[frozenset[Link], frozenset[Link]]]:
        of_files = [read_links(path, encoding=converted.encoding, on_error=bad.add) for path in files]
        for forward, reverse in bad.track(zip_lines(of_files, files)):
            yield (frozenset(), frozenset()) if bad.has_current else (forward, reverse)

    lines = links_of_lines()
    while chunk := list(islice(lines, _LINES_PER_CHUNK)):
        forward = [pair[0] for pair in chunk]
        reverse = [pair[1] for pair in chunk]
        yield format_pharaoh_batch(na.symmetrize(forward, reverse, method=chosen.symmetrize))


def _write_text(
    converted: ConvertedLinksOptions, chosen: LinkSettings, errors: ErrorOptions, prefix: str
) -> None:
    """Write the lines of both sides of a bitext; a bad pair is a pair of empty lines."""
    if converted.format or chosen.given or converted.invert or converted.source or converted.target:
        raise UsageError("--to text reads a bitext without links; use it with --sides and -o only")
    if converted.sides is not None and converted.reverse is not None:
        raise UsageError("--sides chooses the sides of one file, found two files; remove one, or --sides")
    context = click.get_current_context()
    output = next(known for known in context.command.params if known.name == "output")
    paths = OutputPrefix(*(f".{side}" for side in SIDES)).noted(prefix, output, context)
    bitext = BitextOptions(encoding=converted.encoding, source=converted.links, target=converted.reverse)
    if converted.reverse is None:
        bitext = BitextOptions(encoding=converted.encoding, pairs=converted.links, sides=converted.sides)
    with AtomicFiles() as outputs, open_progress("pairs", bitext.files) as progress:
        bad = errors.open(outputs)
        files = [outputs.text(path) for path in paths]
        pairs = progress.done_one_by_one(progress.track(bad.track(bitext.read(bad.add))))
        for number, pair in enumerate(pairs, 1):
            lines: tuple[str, str] = pair
            if split := find_split_line(*pair):
                side, problem = split
                bad.add_cut(problem, *bitext.place(number, side))
                lines = ("", "")
            for file, line in zip(files, lines, strict=True):
                file.write(f"{line}\n")
    log_written(with_plural(progress.done, "pair"), paths, progress)
    errors.say(bad)


def _conversion(converted: ConvertedLinksOptions, chosen: LinkSettings) -> Conversion:
    """Return the conversion of one file of links; UsageError if options are missing."""
    format, to = converted.format, converted.to
    is_saved = is_batch_file(converted.links)
    if chosen.given and not is_saved:
        choices = "--threshold, --extract and --symmetrize choose from posteriors, and these are links"
        advice = (
            "pass a file that align --posteriors has written, or with --symmetrize a second file of links"
        )
        raise UsageError(f"{choices}; {advice}")
    if format is None and (converted.invert or is_saved or to in LINKED_FILES):
        format, to = "pharaoh", to or "pharaoh"
    if format is None or to is None or to == "text":
        raise UsageError("expected --from FORMAT and --to FORMAT, or --symmetrize METHOD and a second file")
    if converted.source is None and converted.target is not None:
        raise UsageError("--source and --target must be used together; add the missing one")
    return Conversion(
        links=converted.links,
        format=format,
        to=to,
        texts=None if converted.source is None else TextsOfLinks(converted.source, converted.target),
        select=converted.sides,
        encoding=converted.encoding,
        invert=converted.invert,
        words_of=SPACE_SETTINGS.words_of_pair,
        given=_chosen_records(converted.links, chosen) if chosen.given else None,
    )


def _chosen_records(path: str, chosen: LinkSettings) -> Iterator[LinkRecord]:
    """Yield the links of each pair that are chosen from kept posteriors."""
    for saved in read_batches(path):
        try:
            batch = saved.choose(**asdict(chosen))
        except UsageError as error:
            raise DataError(str(error)).at(path) from None
        for n in range(len(batch)):
            source, target = (None, None) if batch.origin is None else batch.origin.tokens(n)
            yield LinkRecord(na.GoldAlignment(batch.links(n)), source, target, batch.unit)
