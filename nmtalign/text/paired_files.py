"""Pairs of two files that are not lines of text: sentences of CoNLL-U, and cues of subtitles.

CoNLL-U: the words of a sentence become a line, with a space between. Words are the rows with an integer. Rows
of multiword tokens (``3-4``) and of empty nodes (``5.1``) are skipped: treebanks annotate words. A space
inside a word becomes a no-break space, so that it stays one word.

Subtitles: SubRip (.srt), WebVTT (.vtt) and SubStation Alpha (.ass, .ssa). The text of a cue is one line,
without its markup. Cue n of one file is the translation of cue n of the other if the numbers of cues and
their times agree. Otherwise cues that are shown at the same time are paired: those of one file that overlap
the same cue of the other are joined, and a cue that overlaps none has an empty side.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from nmtalign.errors import DataError, warn_caller
from nmtalign.files.compressed import format_ending
from nmtalign.files.sniffing import SUBSTATION, identify
from nmtalign.files.text_files import try_lines, zip_lines
from nmtalign.text.containers import pair_or_error

_CONLLU_COLUMNS = 10
_find_sentence_id = re.compile(r"#\s*sent_id\s*=\s*(.+)").fullmatch
_is_word = re.compile(r"\d+").fullmatch
is_row_without_word = re.compile(r"\d+[-.]\d+\t").match  # of a multiword token or of an empty node
Line = TypeVar("Line", bound=str | DataError)


class _Sentence(NamedTuple):
    """A sentence, or the error of its first bad row."""

    line: str | DataError
    sentence_id: str | None


def read_conllu_pairs(
    source: str | Path, target: str | Path, encoding: str
) -> Iterator[tuple[str, str] | DataError]:
    """Yield the sentence pairs of two files: sentence n of one is the translation of sentence n of the other.

    Where the first two have the same ``sent_id``, all pairs have to; a DataError names others.
    """
    sides = _iter_sentences(source, encoding), _iter_sentences(target, encoding)
    same_ids = False
    for number, (first, second) in enumerate(zip_lines(sides, (source, target)), 1):
        if number == 1:
            same_ids = first.sentence_id is not None and first.sentence_id == second.sentence_id
        if same_ids and first.sentence_id != second.sentence_id:
            expected = f"expected a sentence with the sent_id {first.sentence_id!r} as in {source}"
            raise DataError(f"{expected}, found {second.sentence_id!r}").at(f"{target}, sentence {number:,}")
        yield pair_or_error(first.line, second.line)


def _iter_sentences(path: str | Path, encoding: str) -> Iterator[_Sentence]:
    for block in sentence_blocks(try_lines(path, encoding=encoding)):
        words: list[str] = []
        sentence_id = None
        error: DataError | None = None
        for number, line in block:
            if isinstance(line, DataError):
                error = error or line
            elif found := _find_sentence_id(line.strip()):
                sentence_id = found[1]
            elif not line.startswith("#"):
                try:
                    words += _words_of_row(line)
                except DataError as problem:
                    error = error or problem.at(path, line=number)
        yield _Sentence(error or " ".join(words), sentence_id)


def sentence_blocks(lines: Iterable[Line]) -> Iterator[Iterator[tuple[int, Line]]]:
    """Yield the numbered lines of each sentence of CoNLL-U, to be read before those of the next one."""
    for is_text, block in groupby(enumerate(lines, 1), key=_is_text_row):
        if is_text:
            yield block


def _is_text_row(numbered: tuple[int, str | DataError]) -> bool:
    _, line = numbered
    return isinstance(line, DataError) or bool(line.strip())


def _words_of_row(line: str) -> list[str]:
    """Return the word of a row, none for a row that has no word of its own."""
    columns = line.rstrip("\r").split("\t")
    if len(columns) != _CONLLU_COLUMNS:
        raise DataError(f"expected {_CONLLU_COLUMNS} columns with tabs between, found {len(columns)}")
    if is_row_without_word(line):
        return []
    if not _is_word(columns[0]) or not columns[1]:
        raise DataError(f"expected the number of a word and the word, found {line[:60]!r}")
    return [columns[1].replace(" ", "\u00a0")]


# --- cues of subtitles ---------------------------------------------------------------------------

# Subtitles are not read by pysubs2 1.8: it takes names of cues and comments of WebVTT for text, drops a last
# line that is a number, and the texts of SubStation files whose "Format:" line has other columns than usual.
MIN_OVERLAP = 0.5  # two cues belong together if they share this much of the time of the shorter one
MIN_SIMULTANEOUS_SHARE = 0.5  # cues belong together by number if this share of them overlaps
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_BEGINS_LIKE_TIMING = re.compile(r"\s*\d+:\d[\d:.,]*\s*-->")
_CUE_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
_EVENT_TIME = re.compile(r"(\d{1,3}):(\d{1,2}):(\d{1,2})[.:](\d{1,3})")
_EVENT_MARKUP = re.compile(r"\{[^{}]*\}|\\[Nnh]")
_EVENT_DRAWING = re.compile(r"\\p[1-9]")  # its text is a path
_COMMENT_BLOCKS = ("NOTE", "STYLE", "REGION", "WEBVTT", "X-TIMESTAMP-MAP")
_NUMBER = re.compile(r"\d{1,9}")
_LONG_REFERENCE = re.compile(r"&#x?[0-9a-fA-F]{9,}+;?")  # no character, and no number for Python
_MAX_SHOWN_CHARS = 60
_CHECKED_LINES = 10


class Cue(NamedTuple):
    """The text of a cue, or its error, and when it is shown, in milliseconds."""

    start: int
    end: int
    text: str | DataError


CueGroup = tuple[list[Cue], list[Cue]]  # the source and target cues of a pair


def read_subtitle_pairs(
    source: str | Path, target: str | Path, encoding: str
) -> Iterator[tuple[str, str] | DataError]:
    """Yield the pairs of cues of two files; a warning says if they are paired by their times."""
    groups, by_number = _read_cue_groups(source, target, encoding)
    if not by_number:
        source_count, target_count = (sum(len(group[side]) for group in groups) for side in (0, 1))
        counts = f"{source_count:,} and {target_count:,} cues"
        alone = sum(not (first and second) for first, second in groups)
        found = f"{counts} make {len(groups):,} pairs by their times, {alone:,} of them with an empty side"
        warn_caller(f"{source} and {target}: {found}")
    for first, second in groups:
        problems = [cue.text for cue in (*first, *second) if isinstance(cue.text, DataError)]
        if problems:
            yield problems[0]
        else:
            yield " ".join(str(cue.text) for cue in first), " ".join(str(cue.text) for cue in second)


def name_cues(source: str | Path, target: str | Path, encoding: str, number: int, side: int) -> str:
    """Return the cues of a side of pair `number`, such as ``cues 3 to 4``; cues and pairs count from 1.

    The files are read again. A side without cues is named by its pair.
    """
    groups, _ = _read_cue_groups(source, target, encoding)
    count = len(groups[number - 1][side])
    before = sum(len(group[side]) for group in groups[: number - 1])
    if count == 0:
        return f"pair {number:,}"
    if count == 1:
        return f"cue {before + 1:,}"
    return f"cues {before + 1:,} to {before + count:,}"


def iter_cues(path: str | Path, encoding: str) -> Iterator[Cue]:
    """Yield the cues of a file in order; what should be a cue and is not is an error in place of its text."""
    lines: list[str] = []
    for line in try_lines(path, encoding=encoding):
        if isinstance(line, DataError):
            raise line  # the line may be a time
        lines.append(line.strip())
    kind = identify("\n".join(lines[:_CHECKED_LINES]) + "\n")
    if kind is SUBSTATION or format_ending(path) in SUBSTATION.endings:
        yield from sorted(_events(lines, path), key=lambda cue: cue.start)
        return
    block: list[str] = []
    end = 0  # of the cue before
    for number, line in enumerate([*lines, ""], 1):
        if line:
            block.append(line)
        elif block:
            for cue in _cues_of_block(block, path, number - len(block), end):
                end = cue.end
                yield cue
            block = []


def _events(lines: Sequence[str], path: str | Path) -> Iterator[Cue]:
    """Yield the dialogue of a SubStation file; its ``Format:`` line names the fields."""
    names: list[str] = []
    last_end = 0
    for number, line in enumerate(lines, 1):
        head, _, rest = line.partition(":")
        if line.startswith("["):
            names = []
        elif head == "Format":
            names = [name.strip().lower() for name in rest.split(",")]
        elif head == "Dialogue":
            fields = rest.strip().split(",", max(len(names) - 1, 0))
            event = dict(zip(names, fields, strict=False))
            times = [_EVENT_TIME.fullmatch(event.get(name, "").strip()) for name in ("start", "end")]
            text = event.get("text")
            if times[0] is None or times[1] is None or text is None or names[-1] != "text":
                expected = "expected the fields Start, End and, at the end, Text, as the line 'Format:' says"
                problem = DataError(f"{expected}, found {line[:_MAX_SHOWN_CHARS]!r}")
                yield Cue(last_end, last_end, problem.at(path, line=number))
                continue
            start, end = (_milliseconds(match.groups()) for match in times if match is not None)
            last_end = max(last_end, end)
            if not _EVENT_DRAWING.search(text):
                yield Cue(start, end, _cue_text(_EVENT_MARKUP.sub(_space_of_break, text)))


def _space_of_break(markup: re.Match[str]) -> str:
    return " " if markup[0].startswith("\\") else ""


def _cue_text(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


def _cues_of_block(block: Sequence[str], path: str | Path, line: int, last_end: int) -> Iterator[Cue]:
    """Yield the cues of a block of lines: number or name, times, text; nothing for a comment.

    Times inside a block begin another cue, as in WebVTT; a number before them that follows the one of the
    first cue is its number.
    """
    if block[0].split(":")[0].split(" ")[0] in _COMMENT_BLOCKS:
        return
    places = [place for place, row in enumerate(block) if _BEGINS_LIKE_TIMING.match(row)]
    if not places or places[0] > 1:
        expected = "expected the times of a cue, such as 00:00:01,000 --> 00:00:02,500"
        found = f"found {block[0][:_MAX_SHOWN_CHARS]!r}"
        yield Cue(last_end, last_end, DataError(f"{expected}, {found}").at(path, line=line))
        return
    number = int(block[0]) if places[0] == 1 and _NUMBER.fullmatch(block[0]) else None
    for place, following in zip(places, [*places[1:], len(block)], strict=True):
        rows = list(block[place + 1 : following])
        if number is not None and following < len(block) and rows[-1:] == [str(number + 1)]:
            number += 1
            rows.pop()
        times = _TIMING.fullmatch(block[place])
        if times is None:
            found = f"expected the times of a cue, found {block[place][:_MAX_SHOWN_CHARS]!r}"
            yield Cue(last_end, last_end, DataError(found).at(path, line=line + place))
            continue
        last_end = _milliseconds(times.groups()[4:])
        plain = html.unescape(_LONG_REFERENCE.sub("", _CUE_MARKUP.sub("", " ".join(rows))))
        yield Cue(_milliseconds(times.groups()[:4]), last_end, _cue_text(plain))


def _milliseconds(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = parts
    whole = 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(seconds or 0)
    return 1000 * whole + int((fraction or "0").ljust(3, "0"))


# --- which cues belong together ------------------------------------------------------------------


def _read_cue_groups(source: str | Path, target: str | Path, encoding: str) -> tuple[list[CueGroup], bool]:
    """Return the cues of each pair, in the order of both files, and whether they are paired by number."""
    source_cues = list(iter_cues(source, encoding))
    target_cues = list(iter_cues(target, encoding))
    if _have_same_numbers(source_cues, target_cues):
        return [([first], [second]) for first, second in zip(source_cues, target_cues, strict=True)], True
    return list(_simultaneous_cues(source_cues, target_cues)), False


def _have_same_numbers(source: Sequence[Cue], target: Sequence[Cue]) -> bool:
    """Return whether cue n of one side is cue n of the other.

    If no cues of the two files are shown at the same time, their clocks differ, and only numbers are left.
    """
    if len(source) != len(target):
        return False
    together = sum(_overlap(first, second) for first, second in zip(source, target, strict=True))
    if together >= MIN_SIMULTANEOUS_SHARE * len(source):
        return True
    groups = list(_simultaneous_cues(source, target))
    paired = sum(bool(first and second) for first, second in groups)
    return paired <= together


def _overlap(first: Cue, second: Cue) -> bool:
    """Return whether two cues are shown together for half of the time of the shorter one."""
    together = min(first.end, second.end) - max(first.start, second.start)
    shorter = min(first.end - first.start, second.end - second.start)
    return together > 0 and together >= MIN_OVERLAP * shorter


def _simultaneous_cues(source: Sequence[Cue], target: Sequence[Cue]) -> Iterator[CueGroup]:
    """Yield groups of cues in the order of their times: those that overlap, or one cue alone."""
    s = t = 0
    while s < len(source) or t < len(target):
        if t == len(target):
            yield [source[s]], []
            s += 1
        elif s == len(source):
            yield [], [target[t]]
            t += 1
        elif not _overlap(source[s], target[t]):
            if source[s].start + source[s].end <= target[t].start + target[t].end:
                yield [source[s]], []
                s += 1
            else:
                yield [], [target[t]]
                t += 1
        else:
            first_source, first_target = s, t
            s, t = s + 1, t + 1
            while True:  # further cues that overlap one of the group
                if s < len(source) and _overlap(source[s], target[t - 1]):
                    s += 1
                elif t < len(target) and _overlap(source[s - 1], target[t]):
                    t += 1
                else:
                    break
            yield list(source[first_source:s]), list(target[first_target:t])
