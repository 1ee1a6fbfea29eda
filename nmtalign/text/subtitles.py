"""Subtitles of two languages: SubRip (.srt) and WebVTT (.vtt).

The text of a cue is one line, without its markup. Cue n of one file is the translation of cue n of the other
if the numbers of cues and their times agree. Otherwise cues that are shown at the same time are paired: those
of one file that overlap the same cue of the other are joined, and a cue that overlaps none has an empty side.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmtalign.errors import DataError, warn_caller
from nmtalign.files.text_files import try_lines

MIN_OVERLAP = 0.5  # two cues belong together if they share this much of the time of the shorter one
MIN_SIMULTANEOUS_SHARE = 0.5  # cues belong together by number if this share of them overlaps
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_CUE_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}")
_COMMENT_BLOCKS = ("NOTE", "STYLE", "REGION", "WEBVTT", "X-TIMESTAMP-MAP")
_MAX_SHOWN_CHARS = 60


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
    source_cues = list(iter_cues(source, encoding))
    target_cues = list(iter_cues(target, encoding))
    by_number = _have_same_numbers(source_cues, target_cues)
    groups = _group_cues(source_cues, target_cues, by_number=by_number)
    if not by_number:
        counts = f"{len(source_cues):,} and {len(target_cues):,} cues"
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
    source_cues = list(iter_cues(source, encoding))
    target_cues = list(iter_cues(target, encoding))
    by_number = _have_same_numbers(source_cues, target_cues)
    groups = _group_cues(source_cues, target_cues, by_number=by_number)
    count = len(groups[number - 1][side])
    before = sum(len(group[side]) for group in groups[: number - 1])
    if count == 0:
        return f"pair {number:,}"
    if count == 1:
        return f"cue {before + 1:,}"
    return f"cues {before + 1:,} to {before + count:,}"


def iter_cues(path: str | Path, encoding: str) -> Iterator[Cue]:
    """Yield the cues of a file in order; a block that is not a cue is an error in place of its text."""
    block: list[str] = []
    first_line = 1
    end = 0  # of the cue before
    number = 0
    for number, line in enumerate(try_lines(path, encoding=encoding), 1):
        if isinstance(line, DataError):
            raise line  # the line may be a time
        if line.strip():
            if not block:
                first_line = number
            block.append(line.strip())
        elif block:
            for cue in _cues_of_block(block, path, first_line, end):
                end = cue.end
                yield cue
            block = []
    if block:
        yield from _cues_of_block(block, path, first_line, end)


def _cues_of_block(block: Sequence[str], path: str | Path, line: int, last_end: int) -> Iterator[Cue]:
    """Yield the cue of a block of lines: number or name, times, text; nothing for a comment."""
    if block[0].split(":")[0].split(" ")[0] in _COMMENT_BLOCKS:
        return
    times = None
    text: list[str] = []
    for place, row in enumerate(block[:2]):
        times = _TIMING.fullmatch(row)
        if times is not None:
            text = list(block[place + 1 :])
            break
    if times is None:
        found = block[0][:_MAX_SHOWN_CHARS]
        expected = "expected the times of a cue, such as 00:00:01,000 --> 00:00:02,500"
        yield Cue(last_end, last_end, DataError(f"{expected}, found {found!r}").at(path, line=line))
        return
    plain = html.unescape(_CUE_MARKUP.sub("", " ".join(text))).replace("\u00a0", " ")
    yield Cue(_milliseconds(times.groups()[:4]), _milliseconds(times.groups()[4:]), " ".join(plain.split()))


def _milliseconds(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = parts
    whole = 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(seconds or 0)
    return 1000 * whole + int((fraction or "0").ljust(3, "0"))


# --- which cues belong together ------------------------------------------------------------------


def _group_cues(source: Sequence[Cue], target: Sequence[Cue], *, by_number: bool) -> list[CueGroup]:
    """Return the cues of each pair, in the order of both files."""
    if by_number:
        return [([first], [second]) for first, second in zip(source, target, strict=True)]
    return list(_simultaneous_cues(source, target))


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
