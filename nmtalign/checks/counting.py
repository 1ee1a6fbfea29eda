"""Counters of findings, for the end of `align` and `train`, whose pairs come chunk by chunk.

Only what can be counted in a few microseconds for each pair is counted here; :mod:`nmtalign.checks.checking`
looks closer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from nmtalign.arrays import Doubles, Flags
from nmtalign.checks.characters import find_characters
from nmtalign.checks.findings import KINDS, Finding, Severity
from nmtalign.checks.pairs import (
    LOW_SCORE,
    MIN_LOW_SHARE_OF_RUN,
    PAIRS_PER_SCORE_BLOCK,
    find_copies,
    find_empty,
    pairs_without_links,
)
from nmtalign.names import SIDES
from nmtalign.text.bitext import PAIRS_PER_CHUNK, SentencePair

if TYPE_CHECKING:
    from nmtalign.links.alignments import AlignedBatch


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


def find_in_lines(pairs: Sequence[tuple[str, str]], first: int = 0) -> list[Finding]:
    """Return the findings about the text of consecutive pairs; `first` is the number of the first one."""
    sources = [source for source, _ in pairs]
    targets = [target for _, target in pairs]
    findings = chain(
        find_empty(sources, targets),
        find_copies(sources, targets),
        *(find_characters(lines, side) for lines, side in zip((sources, targets), SIDES, strict=True)),
    )
    return [finding._replace(line=finding.line + first) for finding in findings]


class LowScoreRuns:
    """Finds runs of low scores among the scores of consecutive pairs, which come chunk by chunk."""

    def __init__(self) -> None:
        self._low_shares: list[Doubles] = []  # one share of low scores per block
        self._starts: list[int] = []
        self._low = self._pairs = 0

    def add(self, scores: Doubles, has_text: Flags, first: int) -> None:
        """Add the scores (N,) of pairs from number `first` on; empty pairs count as neither.

        The last pairs of a chunk that do not fill a block belong to no run.
        """
        is_low = (scores < LOW_SCORE) & has_text
        self._low += int(is_low.sum())
        self._pairs += int(has_text.sum())
        blocks = len(scores) // PAIRS_PER_SCORE_BLOCK
        if blocks:
            used = is_low[: blocks * PAIRS_PER_SCORE_BLOCK].reshape(blocks, PAIRS_PER_SCORE_BLOCK)
            self._low_shares.append(used.mean(axis=1))
            self._starts += range(first, first + blocks * PAIRS_PER_SCORE_BLOCK, PAIRS_PER_SCORE_BLOCK)

    def findings(self) -> list[Finding]:
        """Return the runs; none if most scores are low, because the model then knows too little."""
        if not self._starts or 2 * self._low > self._pairs:
            return []
        is_bad = np.concatenate(self._low_shares) >= MIN_LOW_SHARE_OF_RUN
        borders = np.flatnonzero(np.diff(np.concatenate([[0], is_bad.astype(np.int8), [0]])))
        findings = []
        for begin, end in zip(borders[::2].tolist(), borders[1::2].tolist(), strict=True):
            last = self._starts[end - 1] + PAIRS_PER_SCORE_BLOCK - 1
            findings.append(Finding(self._starts[begin], "pair", "low-scores", "", last=last))
        return findings


class RunFindings:
    """The findings of a run of `align` or `train`, whose pairs come chunk by chunk."""

    def __init__(self) -> None:
        self._counts = KindCounts()
        self._low_scores = LowScoreRuns()
        # whether both sides have text, for each pair whose links are still missing
        self._has_text: list[bool] = []
        self.without_links = 0  # pairs

    def add_lines(self, pairs: Sequence[tuple[str, str]], first: int) -> None:
        """Count what is wrong with the lines of pairs; the first one has the number `first`, from 0."""
        self._counts.add_all(find_in_lines(pairs, first))
        self._has_text += [bool(source) and bool(target) for source, target in pairs]

    def watched(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yield pairs, and count what is wrong with their lines."""
        first = 0
        block: list[SentencePair] = []
        for pair in pairs:
            block.append(pair)
            yield pair
            if len(block) == PAIRS_PER_CHUNK:
                self.add_lines(block, first)
                first += len(block)
                block = []
        self.add_lines(block, first)

    def add_links(self, batch: AlignedBatch, first: int) -> None:
        """Count the findings in the links and scores of the pairs whose lines were added last."""
        is_unlinked = pairs_without_links(batch)
        self.without_links += int(is_unlinked.sum())
        if len(self._has_text) == len(batch):
            self._low_scores.add(np.asarray(batch.scores), np.array(self._has_text, bool), first)
        self._has_text = []

    def add_swapped(self, is_swapped: Flags, first: int) -> None:
        """Count the pairs (N,) whose sides are swapped."""
        numbers = np.flatnonzero(is_swapped).tolist()
        self._counts.add_all(Finding(first + number, "pair", "swapped", "") for number in numbers)

    @property
    def first_error(self) -> KindCount | None:
        """The first kind of errors that has occurred so far."""
        return next((count for count in self._counts if count.severity == "error"), None)

    def counts(self) -> list[KindCount]:
        """Return the counts of the whole run."""
        self._counts.add_all(self._low_scores.findings())
        self._low_scores = LowScoreRuns()
        return list(self._counts)
