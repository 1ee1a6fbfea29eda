"""``nmtalign project``: copy annotations from source to target over links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap

from nmtalign.applications.labels import LabeledSpan, read_sentences, with_target_rows
from nmtalign.applications.linked_pairs import LinkedLines
from nmtalign.applications.markup import TaggedSegments
from nmtalign.applications.projection import (
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
from nmtalign.cli.texts import LinkedOptions, LinkedText
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import DataError, UsageError
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
    bitext = linked_text.bitext
    tags, tags_format, split = annotations.tags, annotations.tags_format, annotations.split
    if tags is None:
        _tag_targets(linked_text, annotations, errors, file.output)
        return
    is_conllu = tags_format == "conllu"
    displaced_spans: list[tuple[int, LabeledSpan]] = []  # (number of the line, span)
    cut_spans: list[tuple[int, LabeledSpan]] = []
    unlinked_lines: list[int] = []  # a line occurs once for each annotation whose words have no link

    def projected_lines() -> Iterator[str]:
        inspect = None if is_conllu else check_labels
        tag_lines = read_lines(tags, encoding=linked.encoding, on_error=bad.add, inspect=inspect)
        if is_conllu:
            tag_lines = read_sentences(tag_lines, tags)
        target_sentences: Iterator[str] = iter(())
        if is_conllu and bitext.target is not None and format_ending(bitext.target) == CONLLU_ENDING:
            target_lines = read_lines(bitext.target, encoding=linked.encoding, on_error=bad.add)
            target_sentences = read_sentences(target_lines, bitext.target)
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
                    result = project_line(tag_line, linked_lines, tags_format, split=split)
                    text = with_target_rows(result.text, target_sentence) if target_sentence else result.text
                    unlinked_lines.extend([number] * result.unlinked)
                    displaced_spans.extend((number, span) for span in result.displaced)
                    cut_spans.extend((number, span) for span in result.cut)
                except DataError as error:
                    place = f"{tags}, sentence {number:,}" if is_conllu else tags
                    bad.add(error.at(place, line=None if is_conllu else number))
            yield f"{text}\n\n" if is_conllu else f"{text}\n"

    with AtomicFiles() as outputs, open_progress("pairs", linked_text.files) as progress:
        bad = errors.open(outputs)
        outputs.text(file.output).writelines(progress.done_one_by_one(projected_lines()))
    log_written(f"annotations of {with_plural(progress.done, 'line')}", [file.output], progress)
    errors.say(bad)
    if unlinked_lines:
        log(describe_unlinked(unlinked_lines, tags_format, "line"), event="unlinked")
    if displaced_spans:
        log(describe_displaced(displaced_spans, "line"), event="displaced")
    if cut_spans:
        warn(describe_cut(cut_spans, "line"))


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
