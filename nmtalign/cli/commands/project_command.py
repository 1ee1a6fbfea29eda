"""``nmtalign project``: copy annotations from source to target over links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap

from nmtalign.applications.labels import LabeledSpan, read_sentences, with_target_rows
from nmtalign.applications.linked_pairs import LinkedLines
from nmtalign.applications.markup import TaggedSegments
from nmtalign.applications.projection import (
    Projected,
    check_target,
    describe_cut,
    describe_displaced,
    describe_unlinked,
    project_into_text,
    project_line,
    words_on_lines,
)
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress, warn
from nmtalign.cli.outputs import OutputFileOptions, log_written
from nmtalign.cli.texts import BitextOptions, LinkedOptions, LinkedText
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import format_ending
from nmtalign.files.sniffing import CONLLU_ENDING, check_labels
from nmtalign.files.text_files import read_lines, zip_lines
from nmtalign.names import TagFormat
from nmtalign.text.bitext import SentencePair
from nmtalign.text.readers import FORMAT_OF_ENDING


@dataclass(frozen=True, kw_only=True)
class AnnotationOptions(Settings):
    """The annotations to project."""

    section = "Input"

    tags: str | None = setting(
        None, "--tags FILE", "Read the annotations of SOURCE, one line per pair.", kind="input"
    )
    tags_format: TagFormat = setting("xml", "--tags-format", "Format of --tags.")
    split: bool = setting(
        False, "--split", "Split an element whose words are apart in TARGET into several elements."
    )


@command("project")
def project_command(
    linked: LinkedOptions,
    errors: ErrorOptions,
    annotations: AnnotationOptions,
    file: OutputFileOptions,
) -> None:
    """Project annotations from SOURCE to TARGET over LINKS.

    LINKS are Pharaoh links between the space-separated words of SOURCE and TARGET, or of --pairs FILE.
    --tags FILE has one line per pair: the SOURCE line with tags (xml, html, xliff); one label per source word
    (bio, bioes, iob1, or labels for plain ones such as parts of speech); or spans such as 0-2:NAME, end not
    included, in words (spans) or characters (char-spans). With conllu, it has one CoNLL-U sentence per pair,
    whose parts of speech and features are projected.

    The output has the same format. Tags are inserted in the lines of TARGET, which are not changed; they stay
    nested, and punctuation next to a source element stays outside. If no word of an annotation has a link, an
    element goes between the words next to it, and a label or span is omitted; the last message names the
    lines.

    Without --tags, --pairs FILE is a TMX or XLIFF file, which is written with the tags of its source segments
    in those targets that are plain text; nothing else in it changes.

    \b
    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
             nmtalign project --pairs page.xlf links.txt -o tagged.xlf
    """
    linked_text = linked.text()
    tags = annotations.tags
    if tags is None:
        _tag_targets(linked_text, annotations, errors, file.output)
        return
    notes = _Notes()
    with AtomicFiles() as outputs, open_progress("pairs", linked_text.files) as progress:
        bad = errors.open(outputs)
        lines = _projected_lines(linked_text, annotations, tags, bad, notes)
        outputs.text(file.output).writelines(progress.done_one_by_one(lines))
    log_written(f"annotations of {with_plural(progress.done, 'line')}", [file.output], progress)
    errors.say(bad)
    notes.log(annotations.tags_format)


class _Notes:
    """The annotations that found no place, or another one, each with the number of its line."""

    def __init__(self) -> None:
        self._unlinked: list[int] = []  # a line occurs once for each annotation whose words have no link
        self._displaced: list[tuple[int, LabeledSpan]] = []
        self._cut: list[tuple[int, LabeledSpan]] = []

    def add(self, number: int, result: Projected) -> None:
        """Note what a line has of these."""
        self._unlinked.extend([number] * result.unlinked)
        self._displaced.extend((number, span) for span in result.displaced)
        self._cut.extend((number, span) for span in result.cut)

    def log(self, tags_format: TagFormat) -> None:
        """Log one line for each kind."""
        if self._unlinked:
            log(describe_unlinked(self._unlinked, tags_format, "line"), event="unlinked")
        if self._displaced:
            log(describe_displaced(self._displaced, "line"), event="displaced")
        if self._cut:
            warn(describe_cut(self._cut, "line"))


def _projected_lines(
    linked_text: LinkedText, annotations: AnnotationOptions, tags: str, bad: BadRecords, notes: _Notes
) -> Iterator[str]:
    """Yield the annotations of each target line, in the format of the file `tags`."""
    bitext = linked_text.bitext
    tags_format = annotations.tags_format
    is_conllu = tags_format == "conllu"
    target_sentences = _sentences_of_target(bitext, bad) if is_conllu else iter(())
    tag_lines = _read_tags(tags, bitext.encoding, bad, is_conllu=is_conllu)
    both = zip_lines((linked_text.read(bad), tag_lines), (bitext.files[0], tags))
    for number, ((lines, pair), tag_line) in enumerate(both, 1):
        text = ""
        target_sentence = next(target_sentences, "")
        if not bad.has_current:
            try:
                check_target(lines.target, tags_format)
            except DataError as error:
                place, line = bitext.place(number, 1)
                bad.add(error.at(place, line=line))
        if not bad.has_current:
            linked_lines = LinkedLines.with_words_of(lines.source, lines.target, pair)
            try:
                result = project_line(tag_line, linked_lines, tags_format, split=annotations.split)
                text = with_target_rows(result.text, target_sentence) if target_sentence else result.text
                notes.add(number, result)
            except DataError as error:
                place = f"{tags}, sentence {number:,}" if is_conllu else tags
                bad.add(error.at(place, line=None if is_conllu else number))
        yield f"{text}\n\n" if is_conllu else f"{text}\n"


def _read_tags(path: str, encoding: str, bad: BadRecords, *, is_conllu: bool) -> Iterator[str]:
    """Yield the annotations of each source line."""
    inspect = None if is_conllu else check_labels
    lines = read_lines(path, encoding=encoding, on_error=bad.add, inspect=inspect)
    return read_sentences(lines, path) if is_conllu else lines


def _sentences_of_target(bitext: BitextOptions, bad: BadRecords) -> Iterator[str]:
    """Yield the sentences of the target, with all their columns, if it is a CoNLL-U file."""
    path = bitext.target
    if path is None or format_ending(path) != CONLLU_ENDING:
        return iter(())
    return read_sentences(read_lines(path, encoding=bitext.encoding, on_error=bad.add), path)


def _tag_targets(
    linked_text: LinkedText, annotations: AnnotationOptions, errors: ErrorOptions, output: str
) -> None:
    """Write a TMX or XLIFF file with the tags of its source segments in their targets."""
    bitext = linked_text.bitext
    path = bitext.pairs
    format = None if path is None else FORMAT_OF_ENDING.get(format_ending(path))
    if path is None or format not in ("tmx", "xliff") or annotations.tags_format not in ("xml", "xliff"):
        expected = "expected --tags FILE, or a TMX or XLIFF file with --pairs whose segments have tags"
        advice = "; save standard input as such a file, whose name tells its format" if path == "-" else ""
        raise UsageError(expected + advice)
    unlinked_pairs: list[int] = []  # a pair occurs once for each element whose words have no link
    placed = kept = 0

    def place_tags(segments: TaggedSegments) -> Iterator[None]:
        nonlocal placed, kept
        texts = starmap(SentencePair, segments.pairs(bad.add))
        pairs = linked_text.read(bad, pairs=texts)
        for number, (lines, pair) in enumerate(pairs, 1):
            tagged, target = segments.tagged_source, segments.plain_target
            kept += tagged is not None and target is None and bool(lines.target.strip())
            if tagged is not None and target is not None and not bad.has_current:
                linked_lines = LinkedLines(lines.source, target, pair, (None, words_on_lines(target)))
                try:
                    result = project_into_text(tagged, linked_lines, split=annotations.split)
                    segments.set_target(result.text)
                    unlinked_pairs.extend([number] * result.unlinked)
                    placed += 1
                except DataError as error:
                    place, line = bitext.place(number, 0)
                    bad.add(error.at(place, line=line))
            yield None

    with AtomicFiles() as outputs, open_progress("pairs", linked_text.files) as progress:
        bad = errors.open(outputs)
        segments = TaggedSegments(path, format, bitext.sides, outputs.binary(output).write)
        for _ in progress.done_one_by_one(place_tags(segments)):
            pass
    log_written(f"tags of {with_plural(placed, 'segment')}", [output], progress)
    errors.say(bad)
    if kept:
        log(f"targets with tags of their own, which were not changed: {kept:,}", event="kept")
    if unlinked_pairs:
        log(describe_unlinked(unlinked_pairs, "xliff", "pair"), event="unlinked")
