"""Shifted lines of two files: from which line on line n belongs to line n + shift of the other file.

Nothing is known of the languages. A pair of lines is measured by the ratio of its lengths, the tokens that
both lines have, and words that often occur together in this text. For each measure, a histogram over the
pairs that are believed to be translations is compared with one over random pairs; the logarithm of their
ratio is the evidence. The best path through the shifts (Viterbi) says which pairs are translations, so the
histograms can be estimated again. Line numbers in this module count from 0.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Longs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    PairScore = Callable[[Longs, Longs], Doubles]  # source and target lines -> evidence
    Measure = Callable[[Longs, Longs], Longs]  # source and target lines -> bins of a histogram

MIN_LINES_FOR_SLIPS = 12  # a shorter text says too little
MAX_LINES_FOR_SLIPS = 200_000  # a search in a longer file would take minutes
_COMPARED_LINES_PER_BLOCK = 128  # lengths of a block are compared with those of the other file
_SHIFTS_PER_BLOCK = 2  # the best shifts of a block become candidates
_MAX_SHIFTS = 48  # candidates per text
_MAX_BLOCK_SHIFT = 4_000  # the largest shift that lengths are searched for
# evidence is in nats; a path of lines pays for its changes
_CHANGE_COST = 12.0  # a change of the shift must gain this
_COST_PER_LOG_DISTANCE = 1.5  # multiplies log(1 + number of lines between two shifts)
_UNPARTNERED_COST = 10.0  # entering or leaving a run of lines without a partner
_UNPARTNERED_SHARE = 0.5  # evidence of a line without a partner, divided by that of a random pair
_MAX_EVIDENCE_PER_LINE = 3.0  # no line decides alone
_USUAL_LENGTH_DEVIATION = 0.3  # standard deviation of the log ratio of lengths, in translations
_WEIGHT_PER_SHARED_TOKEN = 0.1  # multiplies the inverse document frequencies of shared tokens
_MAX_SHARED_WEIGHT = 20  # sums of inverse document frequencies above this count as this
_EVIDENCE_WITHOUT_PARTNER = -1.0  # the first round knows no mean over random pairs
_OUTSIDE_COST = 0.1  # a shift out of the text counts this much less than a random pair
_ROUNDS = 3
_PLACE_TEMPER = 0.4  # multiplies the evidence of a place: lines and measures are not independent
_CERTAIN_LINES = 2  # a place is certain if the true place is at most this many lines away ...
_MIN_CERTAINTY = 0.9  # ... with at least this probability
_TAIL = 0.005  # probability outside each end of the range of an uncertain place
_BINS = 12
_MAX_LINE_SHARE_OF_WORD = 0.2  # a word in more lines than this says little
_MIN_DICE = 0.2  # words with a smaller Dice coefficient are not taken for translations
_MAX_LEARNED_LINES = 60_000  # translations of words are learned from the first lines only
_TOKEN = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|[^\\W\\d_]+|\\d+|[^\\w\\s]"
)


class LineRun(NamedTuple):
    """Consecutive source lines, whose partners are `shift` lines further in the target.

    If the place is uncertain, the run may start some lines `earlier` or `later`.
    """

    source: range
    shift: int
    earlier: int = 0
    later: int = 0

    @property
    def target(self) -> range:
        """The partners of the source lines."""
        return range(self.source.start + self.shift, self.source.stop + self.shift)

    @property
    def starts(self) -> range:
        """The source lines that the run may start with."""
        return range(self.source.start - self.earlier, self.source.start + self.later + 1)


class LineGap(NamedTuple):
    """Lines before a run that have no partner; one of the ranges may be empty.

    If their place is uncertain, they are somewhere in the longer ranges `source_among` and `target_among`.
    """

    source: range
    target: range
    source_among: range
    target_among: range


def find_line_runs(source: Sequence[str], target: Sequence[str]) -> list[LineRun]:
    """Return the runs of lines with the same shift, in order; a text without shifted lines is one run.

    If lines are missing at the end, the last run is an empty one after the text. In a text of a few lines
    they may be missing anywhere.

    Examples
    --------
    >>> source = [f"the number {n * n}" for n in range(100)]
    >>> target = [f"le nombre {n * n}" for n in range(100)]
    >>> [(run.source, run.shift) for run in find_line_runs(source, target)]
    [(range(0, 100), 0)]
    >>> target.insert(60, "une ligne de trop")
    >>> [(run.source, run.shift) for run in find_line_runs(source, target)]
    [(range(0, 60), 0), (range(60, 100), 1)]
    """
    return ComparedLines(source, target).runs()


def _unknown_end(source_count: int, target_count: int) -> list[LineRun]:
    """Return the run after a text whose missing lines were not searched."""
    if source_count == target_count:
        return []
    end = range(source_count, source_count)
    return [LineRun(end, target_count - source_count, earlier=min(source_count, target_count))]


def find_line_gaps(runs: Sequence[LineRun], source_count: int, target_count: int) -> list[LineGap]:
    """Return the lines before, between and after the runs.

    Examples
    --------
    >>> (gap,) = find_line_gaps([LineRun(range(0, 60), 0), LineRun(range(60, 100), 1, 3, 2)], 100, 101)
    >>> gap.source, gap.target, gap.target_among
    (range(60, 60), range(60, 61), range(57, 63))
    """
    gaps: list[LineGap] = []
    source_done = target_done = 0
    for run in (*runs, LineRun(range(source_count, source_count), target_count - source_count)):
        source = range(source_done, run.source.start)
        target = range(target_done, run.target.start)
        if source or target:
            source_among = _lines_among(source, run, source_count)
            target_among = _lines_among(target, run, target_count)
            gaps.append(LineGap(source, target, source_among, target_among))
        source_done, target_done = run.source.stop, run.target.stop
    return gaps


def _lines_among(lines: range, run: LineRun, count: int) -> range:
    """Return the lines, of `count`, that those before a run are among."""
    if not lines:
        return lines
    return range(max(lines.start - run.earlier, 0), min(lines.stop + run.later, count))


def describe_lines(lines: range) -> str:
    """Return the numbers of lines, which count from 1 for people.

    Examples
    --------
    >>> describe_lines(range(300, 301)), describe_lines(range(300, 1310))
    ('line 301', 'lines 301 to 1,310')
    """
    if len(lines) == 1:
        return f"line {lines.stop:,}"
    return f"lines {lines.start + 1:,} to {lines.stop:,}"


# --- measures of pairs of lines ------------------------------------------------------------------


class _WordMatrices(NamedTuple):
    """Which words are in which lines, with the words of each side, and with those that both sides have."""

    source: csr_matrix
    target: csr_matrix
    shared_source: csr_matrix
    shared_target: csr_matrix  # with inverse document frequencies as weights


class ComparedLines:
    """The lengths and the words of all lines of two sides, and what they say about pairs."""

    def __init__(self, source: Sequence[str], target: Sequence[str]) -> None:
        self._source, self._target = source, target
        self.source_lengths = np.array([len(line) for line in source], float)
        self.target_lengths = np.array([len(line) for line in target], float)

    @cached_property
    def _words(self) -> _WordMatrices:
        source_tokens = [_TOKEN.findall(line.lower()) for line in self._source]
        target_tokens = [_TOKEN.findall(line.lower()) for line in self._target]
        source_counts = _usual_line_counts(source_tokens)
        target_counts = _usual_line_counts(target_tokens)
        shared = _numbered(source_counts.keys() & target_counts.keys())
        return _WordMatrices(
            _word_matrix(source_tokens, _numbered(source_counts)),
            _word_matrix(target_tokens, _numbered(target_counts)),
            _word_matrix(source_tokens, shared),
            _weighted(_word_matrix(target_tokens, shared)),
        )

    def runs(self) -> list[LineRun]:
        """Return the runs of lines with the same shift, as :func:`find_line_runs` does."""
        source_count, target_count = len(self._source), len(self._target)
        shorter, longer = sorted((source_count, target_count))
        if shorter < MIN_LINES_FOR_SLIPS or longer > MAX_LINES_FOR_SLIPS:
            return [LineRun(range(shorter), 0), *_unknown_end(source_count, target_count)]
        shifts = _candidate_shifts(self)
        evidence = self.first_evidence(shifts)
        excess = target_count - source_count
        path = _best_path(evidence, shifts, excess)
        for _ in range(_ROUNDS):
            evidence = self.evidence(shifts, path)
            path = _best_path(evidence, shifts, excess)
        return _runs_of_path(path, shifts, evidence, excess)

    def translation_evidence(self, lines: Longs, partners: Longs) -> Doubles:
        """Return the evidence (N,) that pairs of lines are translations; below 0, they look like strangers.

        Most pairs have to be translations, because the text itself is what is learned from.
        """
        if len(lines) < MIN_LINES_FOR_SLIPS:
            return np.zeros(len(lines))
        score, _ = self.learned_score(lines, partners)
        return score(lines, partners)

    def first_evidence(self, shifts: Longs) -> Doubles:
        """Return evidence (N, shifts + 1) from the lengths, and from the tokens that both lines have.

        The deviations of lengths are those of usual translations.
        """
        source = np.log1p(self.source_lengths)
        target = np.log1p(self.target_lengths)
        mean = np.median(target) - np.median(source)
        near_deviation = _USUAL_LENGTH_DEVIATION
        far_deviation = max(np.sqrt(np.var(source) + np.var(target)), near_deviation)

        def score(lines: Longs, partners: Longs) -> Doubles:
            difference = target[partners] - source[lines] - mean
            near = -0.5 * (difference / near_deviation) ** 2 - np.log(near_deviation)
            far = -0.5 * (difference / far_deviation) ** 2 - np.log(far_deviation)
            shared = np.minimum(self._shared_weight(lines, partners), _MAX_SHARED_WEIGHT)
            return np.asarray(near - far + _WEIGHT_PER_SHARED_TOKEN * shared)

        return self._over_shifts(shifts, score, without_partner=_EVIDENCE_WITHOUT_PARTNER)

    def evidence(self, shifts: Longs, path: Longs) -> Doubles:
        """Return evidence (N, shifts + 1) of all measures, whose histograms are those of a path."""
        lines = np.flatnonzero(path < len(shifts))
        partners = lines + shifts[path[lines]]
        exists = (partners >= 0) & (partners < len(self.target_lengths))
        lines, partners = lines[exists], partners[exists]
        if len(lines) < MIN_LINES_FOR_SLIPS:
            return self.first_evidence(shifts)
        score, without_partner = self.learned_score(lines, partners)
        return self._over_shifts(shifts, score, without_partner=without_partner)

    def learned_score(self, lines: Longs, partners: Longs) -> tuple[PairScore, float]:
        """Learn the score of a pair from pairs; return it, and its mean over random pairs."""
        generator = np.random.default_rng(0)
        strangers = generator.permutation(partners)
        measures = (self._length_bins, self._shared_bins, self._covered_bins(lines, partners))
        tables = [_log_ratios(measure(lines, partners), measure(lines, strangers)) for measure in measures]

        def score(lines: Longs, partners: Longs) -> Doubles:
            total = np.zeros(len(lines))
            for measure, table in zip(measures, tables, strict=True):
                total += table[measure(lines, partners)]
            return total

        return score, float(score(lines, strangers).mean())

    def _over_shifts(self, shifts: Longs, score: PairScore, *, without_partner: float) -> Doubles:
        """Return the scores (N, shifts + 1) of each source line with each shift, and without a partner.

        A shift out of the text counts a little less than a random pair, so that lines that fit
        nowhere do not prefer it.
        """
        without_partner = max(without_partner, -_MAX_EVIDENCE_PER_LINE)
        scores = np.full((len(self.source_lengths), len(shifts) + 1), without_partner - _OUTSIDE_COST)
        scores[:, -1] = _UNPARTNERED_SHARE * without_partner
        for k, shift in enumerate(shifts.tolist()):
            start = max(0, -shift)
            stop = min(len(self.source_lengths), len(self.target_lengths) - shift)
            if start < stop:
                lines = np.arange(start, stop)
                evidence = score(lines, lines + shift)
                scores[lines, k] = np.clip(evidence, -_MAX_EVIDENCE_PER_LINE, _MAX_EVIDENCE_PER_LINE)
        return scores

    def _length_bins(self, lines: Longs, partners: Longs) -> Longs:
        """Return bins of the difference of lengths, in units that do not depend on the length."""
        ratio = self.target_lengths.sum() / max(self.source_lengths.sum(), 1)
        expected = ratio * self.source_lengths[lines]
        found = self.target_lengths[partners]
        difference = np.abs(found - expected) / np.sqrt(found + expected + 1)
        return np.asarray(np.minimum(2 * difference, _BINS - 1), np.int64)

    def _shared_weight(self, lines: Longs, partners: Longs) -> Doubles:
        products = self._words.shared_source[lines].multiply(self._words.shared_target[partners])
        return np.asarray(products.sum(axis=1), float).ravel()

    def _shared_bins(self, lines: Longs, partners: Longs) -> Longs:
        return np.minimum(self._shared_weight(lines, partners) / 2, _BINS - 1).astype(np.int64)

    def _covered_bins(self, lines: Longs, partners: Longs) -> Measure:
        """Learn translations from pairs; return a measure of how many words of a target line they cover."""
        learned = slice(0, _MAX_LEARNED_LINES)
        translations = _associated_words(
            self._words.source[lines[learned]], self._words.target[partners[learned]]
        )
        expected_words = self._words.source @ translations
        expected_words.data[:] = 1
        weighted_words = _weighted(self._words.target)
        weights = np.asarray(weighted_words.sum(axis=1), float).ravel()

        def bins(lines: Longs, partners: Longs) -> Longs:
            products = expected_words[lines].multiply(weighted_words[partners])
            covered = np.asarray(products.sum(axis=1), float).ravel()
            share = covered / np.maximum(weights[partners], 1e-9)
            # the last bin is for lines without words
            share_bins = np.minimum(share * (_BINS - 1), _BINS - 2).astype(np.int64)
            return np.where(weights[partners] > 0, share_bins, _BINS - 1)

        return bins


def _usual_line_counts(tokens_of_lines: Sequence[Sequence[str]]) -> Counter[str]:
    """Return in how many lines each token occurs; those in one line or in very many are omitted."""
    counts: Counter[str] = Counter()
    for tokens in tokens_of_lines:
        counts.update(set(tokens))
    most = max(_MAX_LINE_SHARE_OF_WORD * len(tokens_of_lines), 2)
    return Counter({token: count for token, count in counts.items() if count <= most})


def _numbered(tokens: Mapping[str, int] | set[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(sorted(tokens))}


def _word_matrix(tokens_of_lines: Sequence[Sequence[str]], numbers: Mapping[str, int]) -> csr_matrix:
    """Return which words (V) occur in which lines (N), as a matrix (N, V) of 0 and 1."""
    from scipy.sparse import csr_matrix

    columns: list[int] = []
    offsets = [0]
    for tokens in tokens_of_lines:
        columns += {numbers[token] for token in tokens if token in numbers}
        offsets.append(len(columns))
    shape = len(tokens_of_lines), max(len(numbers), 1)
    return csr_matrix((np.ones(len(columns), np.float32), columns, offsets), shape=shape)


def _weighted(words: csr_matrix) -> csr_matrix:
    """Return the matrix with inverse document frequencies as weights."""
    counts = np.maximum(np.asarray(words.sum(axis=0)).ravel(), 1)
    weighted = words.copy()
    weighted.data = np.log(words.shape[0] / counts)[words.indices].astype(np.float32)
    return weighted


def _associated_words(source: csr_matrix, target: csr_matrix) -> csr_matrix:
    """Return which words (V source, V target) often occur in the same pair, as a matrix of 0 and 1."""
    from scipy.sparse import csr_matrix

    joint = (source.T @ target).tocoo()
    source_counts = np.asarray(source.sum(axis=0)).ravel()
    target_counts = np.asarray(target.sum(axis=0)).ravel()
    dice = 2 * joint.data / (source_counts[joint.row] + target_counts[joint.col])
    chosen = (joint.data >= 2) & (dice >= _MIN_DICE)
    rows, columns = joint.row[chosen], joint.col[chosen]
    return csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=joint.shape)


def _log_ratios(near: Longs, far: Longs) -> Doubles:
    """Return the log-ratio of two histograms (`_BINS`)."""
    near_counts = np.bincount(near, minlength=_BINS) + 0.5
    far_counts = np.bincount(far, minlength=_BINS) + 0.5
    return np.asarray(np.log(near_counts / near_counts.sum()) - np.log(far_counts / far_counts.sum()))


# --- shifts --------------------------------------------------------------------------------------


def _candidate_shifts(lines: ComparedLines) -> Longs:
    """Return the shifts that are tried: few, equal counts at the end, and those at which lengths agree."""
    excess = len(lines.target_lengths) - len(lines.source_lengths)
    votes: Counter[int] = Counter(dict.fromkeys((0, excess), 1_000_000))
    for shift in range(-3, 4):
        votes[shift] += 1_000
        votes[excess + shift] += 1_000
    source = _standardized(np.log1p(lines.source_lengths))
    target = _standardized(np.log1p(lines.target_lengths))
    for first in range(0, len(source) - _COMPARED_LINES_PER_BLOCK // 2, _COMPARED_LINES_PER_BLOCK // 2):
        block = source[first : first + _COMPARED_LINES_PER_BLOCK]
        low = max(0, first - _MAX_BLOCK_SHIFT)
        part = target[low : first + _COMPARED_LINES_PER_BLOCK + _MAX_BLOCK_SHIFT]
        if len(part) >= len(block):
            agreement = _correlate(part, block)
            for place in np.argsort(agreement)[-_SHIFTS_PER_BLOCK:].tolist():
                votes[low + place - first] += 1
    return np.array(sorted(shift for shift, _ in votes.most_common(_MAX_SHIFTS)))


def _standardized(values: Doubles) -> Doubles:
    return np.asarray((values - values.mean()) / max(values.std(), 1e-9))


def _correlate(signal: Doubles, pattern: Doubles) -> Doubles:
    """Return the inner product of the pattern with each part of the signal of its length."""
    # numpy's Fourier transform: scipy.signal takes seconds to import
    size = 1 << (len(signal) + len(pattern)).bit_length()
    spectrum = np.fft.rfft(signal, size) * np.conj(np.fft.rfft(pattern, size))
    places = len(signal) - len(pattern) + 1
    return np.fft.irfft(spectrum, size)[:places]


def _best_path(evidence: Doubles, shifts: Longs, excess: int) -> Longs:
    """Return the column (N,) of each row on the path of most evidence, less the cost of its changes.

    The last column of `evidence` (N, shifts + 1) is that of lines without a partner. Before the text the
    shift is 0, and after it `excess`, so that a missing line costs as much at an end as anywhere else.
    """
    count, width = evidence.shape
    distances = np.abs(shifts[:, None] - shifts)
    costs = np.full((width, width), _UNPARTNERED_COST)  # from a column to a row
    costs[:-1, :-1] = _CHANGE_COST + _COST_PER_LOG_DISTANCE * np.log1p(distances)
    np.fill_diagonal(costs, 0)
    first, last = _end_columns(shifts, excess)
    start_costs, end_costs = costs[first].copy(), costs[last].copy()
    start_costs[-1] = end_costs[-1] = 0
    best = evidence[0] - start_costs
    came_from = np.empty((count, width), np.int16)
    rows = np.arange(width)
    for n in range(1, count):
        totals = best - costs
        came_from[n] = totals.argmax(axis=1)
        best = totals[rows, came_from[n]] + evidence[n]
    path = np.empty(count, np.int64)
    path[-1] = (best - end_costs).argmax()
    for n in range(count - 1, 0, -1):
        path[n - 1] = came_from[n, path[n]]
    return path


def _end_columns(shifts: Longs, excess: int) -> tuple[int, int]:
    """Return the columns of the shifts before and after a text."""
    first, last = np.searchsorted(shifts, [0, excess]).tolist()
    return first, last


@dataclass
class _Stretch:
    """Lines from `start` up to `stop` that a path leads through in one column."""

    column: int
    start: int
    stop: int
    earlier: int = 0  # number of lines by which it may start earlier
    later: int = 0


def _stretches_of_path(path: Longs, first: int, last: int) -> list[_Stretch]:
    """Return the stretches of a path; empty ones stand for the lines before and after the text."""
    borders = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    stretches = [_Stretch(int(path[start]), start, stop) for start, stop in itertools.pairwise(borders)]
    if stretches[0].column != first:
        stretches.insert(0, _Stretch(first, 0, 0))
    if stretches[-1].column != last:
        stretches.append(_Stretch(last, len(path), len(path)))
    return stretches


def _runs_of_path(path: Longs, shifts: Longs, evidence: Doubles, excess: int) -> list[LineRun]:
    """Return the runs of a path, whose partners rise; each change moves to where it explains most lines."""
    stretches = _rising_stretches(_stretches_of_path(path, *_end_columns(shifts, excess)), shifts)
    lone = len(shifts)  # the column of lines without a partner
    for old, new in itertools.pairwise(stretches):
        missing = 0  # source lines without a partner
        if lone not in (old.column, new.column):
            missing = max(0, int(shifts[old.column] - shifts[new.column]))
        _place_border(evidence, old, new, missing)
        if old.column == lone:  # lines without a partner end as doubtfully as they start
            new.earlier = max(new.earlier, old.earlier)
            new.later = max(new.later, old.later)
    runs: list[LineRun] = []
    source_done = target_done = 0
    for stretch in stretches:
        if stretch.column == lone:
            continue
        shift = int(shifts[stretch.column])
        start = max(stretch.start, source_done, target_done - shift)
        stop = min(stretch.stop, len(path) + excess - shift)
        is_end = start >= len(path)
        if start < stop or is_end:
            source = range(start, start if is_end else stop)
            runs.append(LineRun(source, shift, stretch.earlier, stretch.later))
            source_done, target_done = source.stop, source.stop + shift
    return runs


def _rising_stretches(stretches: list[_Stretch], shifts: Longs) -> list[_Stretch]:
    """Return stretches that do not go back in the target; the lines of others have no partner.

    Those that together have most lines are kept. Otherwise a few lines that look like others far ahead would
    take the partners of all lines between.
    """
    lone = len(shifts)
    partnered = [stretch for stretch in stretches if stretch.column != lone]
    kept = _longest_rising(partnered, shifts)
    rising: list[_Stretch] = []
    for stretch in stretches:
        column = stretch.column if stretch in kept else lone
        if column == lone and rising and rising[-1].column == lone:
            rising[-1].stop = stretch.stop
        else:
            rising.append(replace(stretch, column=column))
    return rising


def _longest_rising(stretches: list[_Stretch], shifts: Longs) -> list[_Stretch]:
    """Return the last stretch and those before it that together have most lines with partners."""
    stops = np.array([stretch.stop for stretch in stretches])
    shift_of = shifts[[stretch.column for stretch in stretches]]
    line_counts = np.zeros(len(stretches), np.int64)  # of the best stretches up to each one
    previous = np.full(len(stretches), -1)
    for n, stretch in enumerate(stretches):
        line_counts[n] = stretch.stop - stretch.start
        if n == 0:
            continue
        starts = np.maximum(stretch.start, stops[:n] + shift_of[:n] - shift_of[n])
        usable = np.maximum(stretch.stop - starts, 0)
        totals = np.where((usable > 0) | (n == len(stretches) - 1), line_counts[:n] + usable, 0)
        nearest = n - 1 - int(totals[::-1].argmax())  # of those that are as good
        if totals[nearest] >= line_counts[n]:
            line_counts[n] = totals[nearest]
            previous[n] = nearest
    kept = [len(stretches) - 1]
    while previous[kept[-1]] >= 0:
        kept.append(int(previous[kept[-1]]))
    return [stretches[n] for n in kept]


def _place_border(evidence: Doubles, old: _Stretch, new: _Stretch, missing: int) -> None:
    """Move the border of two stretches to where both columns have most evidence; note where else it may be.

    The `missing` lines between the stretches have no partner.
    """
    low = old.start
    high = max(low, new.stop - missing)
    before = np.cumsum(evidence[low:high, old.column])
    after = np.cumsum(evidence[low + missing : high + missing, new.column])
    gains = np.concatenate([[0], before - after])  # of each place, up to a constant
    border = int(gains.argmax())
    old.stop = low + border
    new.start = low + border + missing
    probabilities = np.exp(_PLACE_TEMPER * (gains - gains.max()))
    probabilities /= probabilities.sum()
    near = slice(max(border - _CERTAIN_LINES, 0), border + _CERTAIN_LINES + 1)
    if probabilities[near].sum() >= _MIN_CERTAINTY:
        new.earlier = new.later = 0
        return
    first, last = np.searchsorted(np.cumsum(probabilities), [_TAIL, 1 - _TAIL]).tolist()
    new.earlier = max(border - first, 0)
    new.later = max(min(last, len(gains) - 1) - border, 0)
