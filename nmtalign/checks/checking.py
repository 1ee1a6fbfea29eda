"""The check of a whole text: all findings, with an aligner, or with one that is learned from the text."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.preparation import training_pairs
from nmtalign.aligner.training_job import open_training_job
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.arrays import Doubles, Flags, Longs
from nmtalign.checks.findings import (
    FINDING_COLUMNS,
    Finding,
    SideOfFinding,
    in_order_of_lines,
    row_of_finding,
)
from nmtalign.checks.line_languages import find_languages, find_swapped_files
from nmtalign.checks.lines import (
    LOW_SCORE,
    MAX_LOW_SHARE,
    find_characters,
    find_copies,
    find_duplicates,
    find_empty,
    find_low_scores,
    find_missing_text,
    find_odd_lines,
    find_slips,
    find_unspaced_lines,
    find_unusual_lengths,
    pairs_without_links,
)
from nmtalign.display import short_repr
from nmtalign.errors import warn_caller
from nmtalign.names import SIDES
from nmtalign.results import table_of_rows
from nmtalign.settings import TrainingSettings, WordSettings
from nmtalign.text.bitext import ColumnName, Pairs, Sentences, lines_of_sides
from nmtalign.text.containers import CellFault
from nmtalign.text.slips import ComparedLines, LineRun
from nmtalign.text.tokenization import Languages, check_languages
from nmtalign.validation import check_type

if TYPE_CHECKING:
    import pandas as pd

MIN_LEARNED_PAIRS = 500  # fewer pairs do not teach an aligner that can judge them
MAX_LEARNED_PAIRS = 20_000  # an aligner that learns from more pairs takes longer and finds little more
# Pairs with these findings are not judged by their score, because they have another fault.
_FAULTS_OF_PAIRS = frozenset(
    (
        "empty",
        "one-sided",
        "copy",
        "maybe-copy",
        "swapped",
        "language",
        "length-ratio",
        "one-word",
        "mojibake",
        "only-numbers",
        "only-addresses",
        "markup",
    )
)


def check(
    bitext: Pairs,
    targets: Sentences | Aligner | None = None,
    aligner: Aligner | None = None,
    *,
    languages: tuple[str, str] | None = None,
    source: ColumnName = None,
    target: ColumnName = None,
    workers: int | None = None,
) -> pd.DataFrame:
    """Return what is wrong with a bitext, as ``nmtalign check`` does.

    Parameters
    ----------
    bitext : Bitext, iterable of (source, target), (list, list), table, or records
        Lines of text; for tables and records see :func:`nmtalign.train`. The files of a Bitext, and two
        lists, may have different lengths.
    targets : sequence of str, optional
        The target sentences, if `bitext` has the source sentences. An aligner may take this place:
        ``check(bitext, aligner)``.
    aligner : Aligner, optional
        The aligner whose scores and vocabularies judge the pairs. Without it, an aligner is learned from the
        text itself if it has at least 500 pairs.
    languages : (str, str), optional
        The languages that the two sides should have, such as ``("en", "de")``. If they are swapped, this is
        found without an aligner. Default: those of the aligner.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.
    workers : int, optional
        Number of processes, or of threads where processes cannot be forked. Default: the number of cores.

    Returns
    -------
    DataFrame
        One row for each finding, in the order of the lines, with the columns ``line`` (from 1), ``last`` (the
        last line, if the finding is about several), ``side`` (source, target or pair; a pair has the line of
        its source), ``kind``, ``severity`` (``error`` or ``hint``), ``value`` and ``advice``. For a DataFrame
        the columns ``index`` and ``last_index`` have the index of both lines: a finding is about the rows
        ``frame.iloc[line - 1 : last]``. Cells without text, and line breaks, are findings, too.

    Examples
    --------
    >>> check([("the cat\\t2", "le chat"), ("a dog", "")])[["line", "side", "kind", "severity"]]
       line    side       kind severity
    0     1  source        tab    error
    1     2    pair  one-sided    error
    """
    if isinstance(targets, Aligner):
        check_type(aligner, type(None), "one aligner")
        aligner = targets
        targets = None
    check_type(aligner, (Aligner, type(None)), "an aligner, as in check(bitext, aligner)")
    if languages is not None:
        check_languages(languages)
    of_aligner = (None, None) if aligner is None else aligner.languages
    sides = lines_of_sides(bitext, targets, source=source, target=target, languages=of_aligner)
    findings = find_all(
        sides.source, sides.target, aligner, languages=languages or of_aligner, workers=workers
    )
    rows_of_findings = map(row_of_finding, _with_faults_of_cells(findings, sides.faults))
    table = table_of_rows(list(rows_of_findings), FINDING_COLUMNS, example=(1, 1, "", "", "", "", ""))
    if sides.frame_index is not None:
        for place, name, lines in ((0, "index", "line"), (3, "last_index", "last")):
            rows = table[lines].to_numpy(int) - 1
            table.insert(place, name, sides.frame_index[rows].to_numpy())
    return table


def _with_faults_of_cells(findings: Sequence[Finding], faults: Sequence[CellFault]) -> list[Finding]:
    """Return findings with those of cells that are missing or have line breaks.

    A missing cell is an empty line to the other checks, whose findings about it are left out.
    """
    if not faults:
        return list(findings)
    missing_rows = {fault.row for fault in faults if fault.kind == "missing"}
    of_cells = [Finding(fault.row, fault.side, fault.kind, short_repr(fault.value)) for fault in faults]
    kept = [
        finding
        for finding in findings
        if finding.kind not in ("empty", "one-sided") or finding.line not in missing_rows
    ]
    return in_order_of_lines(of_cells + kept)


def find_all(
    source: Sequence[str],
    target: Sequence[str],
    aligner: Aligner | None = None,
    *,
    languages: Languages = (None, None),
    workers: int | None = None,
    unread: tuple[Collection[int], Collection[int]] = ((), ()),
) -> list[Finding]:
    """Return all findings in the order of the lines.

    `unread` are the numbers of source and target lines that could not be read, and are empty here. The pairs
    of these lines have no findings.
    """
    compared = ComparedLines(source, target)
    runs = compared.runs()
    pairing = _Pairing(source, target, runs)
    of_lines: list[Finding] = []
    for lines, side in zip((source, target), SIDES, strict=True):
        of_lines += find_characters(lines, side)
        of_lines += find_odd_lines(lines, side)
    findings: list[Finding] = [
        *find_swapped_files(source, target, languages),
        *find_slips(runs, len(source), len(target)),
    ]
    of_pairs = [
        *find_empty(pairing.source, pairing.target),
        *find_copies(pairing.source, pairing.target),
        *find_duplicates(pairing.source, pairing.target),
        *find_unusual_lengths(pairing.source, pairing.target),
        *find_unspaced_lines(pairing.source, pairing.target),
    ]
    translated = compared.translation_evidence(pairing.source_numbers, pairing.target_numbers)
    is_copy = _pairs_with(of_pairs, {"copy", "maybe-copy"}, len(pairing.source))
    of_pairs += find_languages(pairing.source, pairing.target, translated, is_copy)
    faults = chain(of_pairs, pairing.pairs_of_findings(of_lines))
    is_judged = ~_pairs_with(faults, _FAULTS_OF_PAIRS, len(pairing.source))
    of_pairs += _find_by_scores(pairing, aligner, translated, is_judged, workers)
    if any(finding.kind == "swapped-files" for finding in findings):
        of_pairs = [finding for finding in of_pairs if finding.kind != "swapped-files"]  # one is enough
    skipped = pairing.lines_of_unread_pairs(unread)
    for finding in chain(of_lines, pairing.with_line_numbers(of_pairs)):
        if finding.kind == "swapped-files" or finding.line not in skipped[finding.side]:
            findings.append(finding)
    return in_order_of_lines(findings)


class _Pairing:
    """The pairs of two sides whose lines may be shifted."""

    def __init__(self, source: Sequence[str], target: Sequence[str], runs: Sequence[LineRun]) -> None:
        source_numbers = list(chain.from_iterable(run.source for run in runs))
        target_numbers = list(chain.from_iterable(run.target for run in runs))
        self.source = [source[number] for number in source_numbers]
        self.target = [target[number] for number in target_numbers]
        self.source_numbers = np.array(source_numbers, np.int64)
        self.target_numbers = np.array(target_numbers, np.int64)
        self._numbers = {"source": source_numbers, "target": target_numbers, "pair": source_numbers}

    def lines_of_unread_pairs(
        self, unread: tuple[Collection[int], Collection[int]]
    ) -> dict[SideOfFinding, set[int]]:
        """Return the lines of the pairs with a source or target line in `unread`, by the side of findings."""
        skipped_sources = set(unread[0])
        skipped_targets = set(unread[1])
        for source, target in zip(self._numbers["source"], self._numbers["target"], strict=True):
            if source in unread[0] or target in unread[1]:
                skipped_sources.add(source)
                skipped_targets.add(target)
        return {"source": skipped_sources, "target": skipped_targets, "pair": skipped_sources}

    def with_line_numbers(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings about pairs with the numbers of their lines."""
        for finding in findings:
            yield finding._replace(line=self._numbers[finding.side][finding.line])

    def pairs_of_findings(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings about lines with the numbers of their pairs."""
        pair_of_line = {
            side: {line: number for number, line in enumerate(self._numbers[side])} for side in SIDES
        }
        for finding in findings:
            side = "source" if finding.side == "pair" else finding.side
            pair = pair_of_line[side].get(finding.line)
            if pair is not None and finding.last is None:
                yield finding._replace(line=pair)


def _pairs_with(findings: Iterable[Finding], kinds: Iterable[str], count: int) -> Flags:
    """Return which pairs (N,) have a finding of one of the kinds."""
    flags = np.zeros(count, bool)
    for finding in findings:
        if finding.kind in kinds:
            flags[finding.line] = True
    return flags


def _find_by_scores(
    pairing: _Pairing, aligner: Aligner | None, translated: Doubles, is_judged: Flags, workers: int | None
) -> Iterator[Finding]:
    """Yield the findings that need links: pairs with low scores and without links, swapped files."""
    pairs = list(zip(pairing.source, pairing.target, strict=True))
    if aligner is None:
        numbers = np.flatnonzero(is_judged)
        if len(numbers) < MIN_LEARNED_PAIRS:
            return
        aligner = _learn(pairs, numbers, workers)
    else:
        coverage = aligner.measure_coverage(pairs)
        if coverage.swapped:
            yield Finding(0, "pair", "swapped-files", "the model knows the words of the exchanged sides")
            return
        if coverage.warning:
            warn_caller(coverage.warning)
    text = aligner.text_of_pairs(pairs)
    batch = replace(aligner, workers=workers).link_text(text)
    scores = np.asarray(batch.scores)
    is_judged = is_judged.copy()
    is_low = scores[is_judged] < LOW_SCORE
    usual = bool(is_low.mean() <= MAX_LOW_SHARE) if len(is_low) else False
    if usual:
        for finding in find_missing_text(aligner, pairs, np.flatnonzero(is_judged & (scores < LOW_SCORE))):
            is_judged[finding.line] = False
            yield finding
    yield from find_low_scores(scores, translated, is_judged, usual=usual)
    for number in np.flatnonzero(pairs_without_links(batch) & is_judged).tolist():
        yield Finding(number, "pair", "no-links", "")


def _learn(pairs: Sequence[tuple[str, str]], numbers: Longs, workers: int | None) -> Aligner:
    """Learn an aligner from some pairs of the text, at most `MAX_LEARNED_PAIRS` at equal distances."""
    step = math.ceil(len(numbers) / MAX_LEARNED_PAIRS)
    chosen = [pairs[number] for number in numbers[::step].tolist()]
    settings = TrainingSettings(words=WordSettings(tokenizer="simple"), preset="fast", workers=workers)
    job = open_training_job(settings)  # shows no warning: nobody has chosen how this aligner is learned
    return train_aligner(training_pairs(chosen, job), job).aligner
