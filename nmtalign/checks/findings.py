"""Findings: what may be wrong with a line or a pair, how grave it is, and what to do.

Lines count from 0 inside this package; a finding that is shown counts them from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "hint"]
SideOfFinding = Literal["source", "target", "pair"]  # the line of a pair is that of its source


class Kind(NamedTuple):
    """A kind of findings; `plural` names them in a summary, such as ``tabs inside lines``."""

    severity: Severity
    plural: str
    advice: str


KINDS: dict[str, Kind] = {
    # the lines of both files
    "slip": Kind(
        "error",
        "runs of shifted lines",
        "realign the lines: remove the lines without a partner, or add the missing ones",
    ),
    "no-partner": Kind(
        "error", "lines without a partner", "remove the line, or add its translation to the other file"
    ),
    "swapped-files": Kind("error", "swapped files", "swap source and target"),
    "maybe-swapped-files": Kind(
        "hint",
        "files that are swapped for the bundled model",
        "for the bundled English-French model, swap source and target",
    ),
    # the two sides of a pair
    "empty": Kind("hint", "pairs without text", "remove the pair from both files"),
    "one-sided": Kind("error", "pairs with an empty side", "translate the line, or remove the pair"),
    "missing": Kind("error", "cells without text", "remove the pair, or write its text"),
    "copy": Kind("error", "untranslated copies", "translate the line, or remove the pair"),
    "maybe-copy": Kind("hint", "pairs with the same text on both sides", "look at the pair; names may stay"),
    "swapped": Kind("error", "pairs with swapped sides", "exchange the two sides"),
    "language": Kind(
        "error", "lines in a different language from the rest", "translate the line, or remove the pair"
    ),
    "maybe-language": Kind(
        "hint", "lines that may be in another language", "look at the line; names and formulas may stay"
    ),
    "duplicate": Kind("hint", "repeated pairs", "remove repeated pairs if they are not meant"),
    "length-ratio": Kind(
        "error", "pairs of very different length", "look for missing or added text; remove the pair"
    ),
    "maybe-length-ratio": Kind("hint", "pairs of rather different length", "look for missing or added text"),
    "not-translation": Kind(
        "error", "pairs that are not translations", "look at the pair; remove it, or find the right partner"
    ),
    "missing-text": Kind(
        "hint", "lines with missing text", "compare the sides: complete this line, or remove the pair"
    ),
    "low-score": Kind("hint", "pairs with a low score", "look at the pair: the translation may be free"),
    "low-scores": Kind(
        "error",
        "runs of pairs with low scores",
        "check whether lines are shifted here: `nmtalign check` shows by how many",
    ),
    "no-links": Kind("hint", "pairs without links", "look at the pair: no word of it has a translation"),
    # the characters of a line
    "tab": Kind("error", "tabs inside lines", "replace the tab by a space, or split the columns"),
    "bars": Kind("error", "'|||' inside lines", "remove the bars, or split the sides (`pairs=FILE`)"),
    "line-break": Kind("error", "line breaks inside lines", "replace the line break by a space"),
    "carriage-return": Kind(
        "error", "carriage returns inside lines", "replace the carriage return by a space or a line end"
    ),
    "control-character": Kind("error", "control characters inside lines", "remove the character"),
    "invisible-character": Kind(
        "hint", "invisible characters inside lines", "remove zero-width spaces and soft hyphens"
    ),
    "line-separator": Kind(
        "error", "Unicode line separators inside lines", "replace the separator by a space"
    ),
    "html-entity": Kind("error", "HTML entities", "decode the entities"),
    "moses-escape": Kind("error", "Moses escapes such as &apos;", "read the text with `unescape=True`"),
    "mojibake": Kind("error", "lines read in a wrong encoding", "convert the original file again"),
    "replacement-character": Kind(
        "error", "characters that were lost (U+FFFD)", "convert the original file again"
    ),
    # the words of a line
    "only-addresses": Kind("hint", "lines of web addresses only", "remove the pair if it is not text"),
    "only-numbers": Kind("hint", "lines without letters", "remove the pair if it is not text"),
    "markup": Kind("hint", "lines that begin with markup", "remove lines of metadata from both files"),
    "one-word": Kind(
        "error", "long lines without spaces", "restore the spaces, or split the text (`tokenizer=NAME`)"
    ),
}


class Finding(NamedTuple):
    """Something that may be wrong with a line, which counts from 0."""

    line: int
    side: SideOfFinding
    kind: str
    value: str  # what was found, such as a character or a ratio
    last: int | None = None  # the last line, if the finding is about several lines

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    @property
    def advice(self) -> str:
        return KINDS[self.kind].advice


FINDING_COLUMNS = ("line", "last", "side", "kind", "severity", "value", "advice")


def row_of_finding(finding: Finding) -> tuple[int, int, str, str, str, str, str]:
    """Return a finding as a row of a table, with the lines counted from 1."""
    last = finding.line if finding.last is None else finding.last
    return (
        finding.line + 1,
        last + 1,
        finding.side,
        finding.kind,
        finding.severity,
        finding.value,
        finding.advice,
    )


def in_order_of_lines(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of their lines and kinds."""
    order = {kind: rank for rank, kind in enumerate(KINDS)}
    return sorted(findings, key=lambda finding: (finding.line, order[finding.kind], finding.side))


# --- numbers of findings of each kind -------------------------------------------------------------


@dataclass
class KindCount:
    """The number of findings of a kind, and the first of them."""

    kind: str
    count: int
    first: Finding

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    def describe(self, files: Mapping[str, str]) -> str:
        """Return a sentence; `files` are the names of the sides, if they are files of lines."""
        kind = KINDS[self.kind]
        unit = "line" if files else "pair"
        place = f"{unit} {self.first.line + 1:,}"
        if self.first.last is not None and self.first.last > self.first.line:
            place = f"{unit}s {self.first.line + 1:,} to {self.first.last + 1:,}"
        if self.first.side in files:
            place += f" of {files[self.first.side]}"
        says_more = self.kind in ("slip", "no-partner") and self.first.value
        value = f", {self.first.value}" if says_more else ""
        where = f"first in {place}{value}" if self.count > 1 else f"in {place}{value}"
        return f"{kind.plural}: {self.count:,}, {where}; {kind.advice}"


class KindCounts:
    """The number of findings of each kind that occurs, with the first finding."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._counts: dict[str, KindCount] = {}
        self.add_all(findings)

    def add_all(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.kind in self._counts:
                self._counts[finding.kind].count += 1
            else:
                self._counts[finding.kind] = KindCount(finding.kind, 1, finding)

    def __iter__(self) -> Iterator[KindCount]:
        """Yield the counts, errors first."""
        ranks = {kind: rank for rank, kind in enumerate(KINDS)}
        return iter(
            sorted(self._counts.values(), key=lambda count: (count.severity != "error", ranks[count.kind]))
        )
