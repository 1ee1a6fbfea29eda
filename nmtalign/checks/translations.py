"""Findings about pairs that are not translations of each other: shifted lines, low scores, no links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nmtalign.arrays import Doubles, Flags
from nmtalign.checks.findings import Finding
from nmtalign.names import Side

if TYPE_CHECKING:
    from nmtalign.links.alignments import AlignedBatch
    from nmtalign.text.slips import LineRun

LOW_SCORE = 0.5  # pair scores below it are low
PAIRS_PER_SCORE_BLOCK = 25  # low scores are counted per block
MIN_LOW_SHARE = 0.8  # a block in a run of low scores has at least this share of them
MAX_LOW_SHARE = 0.5  # if more of all scores are low, the model does not fit the text, and they are only hints
_MIN_SCORE = 1e-4  # a lower score counts no more
_MAX_ERROR_LOG_ODDS = -8.0  # log odds that a pair is a translation
_MAX_HINT_LOG_ODDS = -3.0


def find_slips(runs: Sequence[LineRun], source_count: int, target_count: int) -> Iterator[Finding]:
    """Yield the runs of lines that are shifted, and the lines without a partner.

    If a place is uncertain, the value says where a run begins; lines without a partner are some of those of
    the finding.
    """
    from nmtalign.text.slips import describe_lines, find_line_gaps

    for run in runs:
        if run.shift and run.source:
            value = f"by {run.shift:+,}"
            if len(run.starts) > 1:
                value += f", beginning somewhere in {describe_lines(run.starts)}"
            yield Finding(run.source.start, "source", "slip", value, last=run.source.stop - 1)
    for gap in find_line_gaps(runs, source_count, target_count):
        if gap.source:
            yield _no_partner(gap.source, gap.source_among, "source")
        if gap.target:
            yield _no_partner(gap.target, gap.target_among, "target")


def _no_partner(lines: range, among: range, side: Side) -> Finding:
    value = f"{len(lines):,} of these {len(among):,} lines" if len(among) > len(lines) else ""
    return Finding(among.start, side, "no-partner", value, last=among.stop - 1)


def find_low_scores(
    scores: Doubles, translated: Doubles, is_judged: Flags, *, usual: bool = True
) -> Iterator[Finding]:
    """Yield pairs whose scores (N,) are low, and which `translated` (N,) says are not translations, either.

    Pairs that are not judged (N,) have another fault. If scores are not `usual`, the model knows too little
    of the text for errors. Scores of both kinds are added as log-odds.
    """
    bounded = np.clip(scores, _MIN_SCORE, 1 - _MIN_SCORE)
    log_odds = translated + np.log(bounded / (1 - bounded))
    is_doubtful = (scores < LOW_SCORE) & (translated < 0)
    is_error = is_doubtful & (log_odds < _MAX_ERROR_LOG_ODDS) & usual
    is_hint = is_doubtful & (log_odds < _MAX_HINT_LOG_ODDS)
    for number in np.flatnonzero(is_judged & (is_error | is_hint)).tolist():
        kind = "not-translation" if is_error[number] else "low-score"
        yield Finding(number, "pair", kind, f"score {scores[number]:.3f}")


def pairs_without_links(batch: AlignedBatch) -> Flags:
    """Return which pairs (N,) have no link."""
    return np.asarray(np.diff(batch.offsets) == 0)
