"""Findings about lines and pairs: empty sides, lengths, repetitions, shifted lines, low scores, characters.

They need no knowledge of languages.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from nmtalign.arrays import Doubles, Flags, Longs
from nmtalign.checks.findings import Finding, KindCount, KindCounts, SideOfFinding
from nmtalign.corpus.coverage import find_spaceless_letter
from nmtalign.display import with_plural
from nmtalign.links.alignments import AlignedBatch
from nmtalign.names import SIDES, Side
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import PAIRS_PER_CHUNK, chunk_pairs
from nmtalign.text.punctuation import ENTITY, ESCAPES_OF_MOSES_ONLY, find_moses_escape

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.text.slips import LineRun

MIN_COPIED_WORDS = 3  # fewer words with letters may be a name
MIN_UNSPACED_CHARS = 24  # a shorter line without spaces may be a long word ...
_MAX_CHARS_PER_WORD = 7  # ... and so may one with more characters for each word of the other side ...
_MIN_UNSPACED_LETTERS = 40  # ... unless it has so many letters in a row
# the standard deviation of a normal distribution, divided by its median absolute deviation
STANDARD_PER_MEDIAN_DEVIATION = 1.4826
_MIN_RATIO_CHARS = 20  # if both sides are shorter, they may differ by any ratio
# a finding needs so many deviations from the usual ratio of lengths ...
_MIN_ERROR_DEVIATIONS = 6.0
_MIN_HINT_DEVIATIONS = 4.0
# ... and a ratio that is so many times the usual one, or less than the usual one divided by it
_MIN_ERROR_RATIO = 3.0
_MIN_HINT_RATIO = 2.2
# No text is more regular than this. The first is divided by the square root of the shorter length, so it
# matters for short lines; the second is added for lines of any length.
_MIN_SCALED_DEVIATION = 0.5
_MIN_DEVIATION = 0.1
_ADDRESSES = re.compile(r"\s*(?:(?:(?:https?|ftp)://|www\.)\S++\s*+)+", re.IGNORECASE)
# An element at the start of a line: such lines are metadata between the lines of a text.
_MARKUP = re.compile(r"\s*<[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>")
_LETTER = re.compile(r"[^\W\d_]")
_MANY_LETTERS = re.compile(rf"[^\W\d_]{{{_MIN_UNSPACED_LETTERS}}}")
_WORD_EDGES = ".,;:!?()[]{}\"'«»“”„‘’…"
find_words = re.compile(r"[^\W\d_]+").findall

TextLines = Sequence[str]


def find_empty(source: TextLines, target: TextLines) -> Iterator[Finding]:
    """Yield pairs in which one side or both sides are empty."""
    for number, (source_line, target_line) in enumerate(zip(source, target, strict=True)):
        if source_line and target_line:
            has_source, has_target = not source_line.isspace(), not target_line.isspace()
        else:
            has_source, has_target = bool(source_line.strip()), bool(target_line.strip())
        if has_source and has_target:
            continue
        if has_source or has_target:
            yield Finding(number, "pair", "one-sided", "no target" if has_source else "no source")
        else:
            yield Finding(number, "pair", "empty", "")


def find_copies(source: TextLines, target: TextLines) -> Iterator[Finding]:
    """Yield pairs with the same text on both sides, however it is capitalized and punctuated."""
    for number, (source_line, target_line) in enumerate(zip(source, target, strict=True)):
        if not source_line or abs(len(source_line) - len(target_line)) > 3:
            continue
        if source_line != target_line and source_line.casefold()[:2] != target_line.casefold()[:2]:
            continue
        words = find_words(source_line.casefold())
        if words and words == find_words(target_line.casefold()):
            is_text = _is_text(source_line) and _is_text(target_line) and not _MARKUP.match(source_line)
            kind = "copy" if is_text else "maybe-copy"
            yield Finding(number, "pair", kind, with_plural(len(words), "word"))


def _is_text(line: str) -> bool:
    """Return whether a line has several words that are neither names nor parts of addresses or codes."""
    words = plain_words(line)
    if len(words) < MIN_COPIED_WORDS:
        return False
    # each longer word of a name or a title begins with a capital
    return any(word[0].islower() or not word[0].isupper() for word in words if len(word) > 3)


def plain_words(line: str) -> list[str]:
    """Return the words between spaces that consist of letters, without the punctuation at their edges."""
    tokens = [token.strip(_WORD_EDGES) for token in line.split()]
    return [token for token in tokens if token.isalpha()]


def find_duplicates(source: TextLines, target: TextLines) -> Iterator[Finding]:
    """Yield pairs that have occurred before, with the number of the first occurrence."""
    first_of_pair: dict[tuple[str, str], int] = {}
    for number, pair in enumerate(zip(source, target, strict=True)):
        first = first_of_pair.setdefault(pair, number)
        if first != number and any(pair):
            yield Finding(number, "pair", "duplicate", f"as line {first + 1}")


def find_unusual_lengths(source: TextLines, target: TextLines) -> Iterator[Finding]:
    """Yield pairs whose lengths in characters differ much more, or less, than in the rest of the text."""
    source_lengths = np.array([len(line.strip()) for line in source], float)
    target_lengths = np.array([len(line.strip()) for line in target], float)
    has_both = (source_lengths > 0) & (target_lengths > 0)
    if not has_both.any():
        return
    ratios = np.log((target_lengths + 1) / (source_lengths + 1))
    usual = float(np.median(ratios[has_both]))
    deviations = _deviations(ratios, usual, source_lengths, target_lengths, has_both)
    difference = np.abs(ratios - usual)
    is_long = np.maximum(source_lengths, target_lengths) >= _MIN_RATIO_CHARS
    is_error = (deviations > _MIN_ERROR_DEVIATIONS) & (difference > np.log(_MIN_ERROR_RATIO))
    is_hint = (deviations > _MIN_HINT_DEVIATIONS) & (difference > np.log(_MIN_HINT_RATIO))
    for number in np.flatnonzero(has_both & is_long & (is_error | is_hint)).tolist():
        kind = "length-ratio" if is_error[number] else "maybe-length-ratio"
        lengths = f"{source_lengths[number]:.0f} to {target_lengths[number]:.0f} characters"
        yield Finding(number, "pair", kind, lengths)


def _deviations(
    ratios: Doubles, usual: float, source_lengths: Doubles, target_lengths: Doubles, has_both: Flags
) -> Doubles:
    """Return by how many deviations the ratios (N,) differ from the usual one; short lines vary more."""
    scale = 1 / np.sqrt(np.maximum(np.minimum(source_lengths, target_lengths * np.exp(-usual)), 1))
    sizes = np.abs(ratios - usual)
    unit = STANDARD_PER_MEDIAN_DEVIATION * float(np.median((sizes / scale)[has_both]))
    scaled = max(unit, _MIN_SCALED_DEVIATION) * scale
    return np.asarray(sizes / np.sqrt(scaled**2 + _MIN_DEVIATION**2))


def find_odd_lines(lines: TextLines, side: Side) -> Iterator[Finding]:
    """Yield lines of one side without letters, of addresses, or that begin with markup."""
    for number, line in enumerate(lines):
        if _LETTER.search(line) is None:
            if line.strip():
                yield Finding(number, side, "only-numbers", line.strip()[:40])
        elif _MARKUP.match(line):
            yield Finding(number, side, "markup", line.strip()[:40])
        elif _may_have_addresses(line) and _ADDRESSES.fullmatch(line):
            yield Finding(number, side, "only-addresses", line.strip()[:40])


def _may_have_addresses(line: str) -> bool:
    return "://" in line or "www." in line.casefold()


def find_unspaced_lines(source: TextLines, target: TextLines) -> Iterator[Finding]:
    """Yield lines without spaces that are not just a compound, as their partners have many words."""
    for number, pair in enumerate(zip(source, target, strict=True)):
        for index, side in enumerate(SIDES):
            line, other_line = pair[index].strip(), pair[1 - index]
            if " " in line or len(line) < MIN_UNSPACED_CHARS or _may_have_addresses(line):
                continue
            if _LETTER.search(line) is None or find_spaceless_letter(line) is not None:
                continue
            has_many_words = len(line) <= _MAX_CHARS_PER_WORD * len(other_line.split())
            if has_many_words or _MANY_LETTERS.search(line):
                yield Finding(number, side, "one-word", f"{len(line)} characters")


# --- pairs that are not translations -------------------------------------------------------------


LOW_SCORE = 0.5  # pair scores below it are low
PAIRS_PER_SCORE_BLOCK = 25
MIN_LOW_SHARE_OF_RUN = 0.8  # a run of low scores consists of blocks with at least this share of low scores
MAX_LOW_SHARE = 0.5  # if more of all scores are low, the model does not fit the text, and yields only hints
_MIN_SCORE = 1e-4  # lower scores are raised to this one
_MIN_MISSING_PROBABILITY = 0.97  # that a part of one side is missing
# log-odds that a pair is a translation
_MAX_ERROR_LOG_ODDS = -8.0
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


def find_missing_text(aligner: Aligner, pairs: Sequence[tuple[str, str]], chosen: Longs) -> Iterator[Finding]:
    """Yield those of the chosen pairs, by their numbers, of which a side lacks a part of the other side."""
    for chunk in chunk_pairs(SentencePair(*pairs[number]) for number in chosen.tolist()):
        decoder = aligner.decoder_for_text(aligner.text_of_pairs(chunk.lines))
        if not decoder.has_evidence:
            return
        missing = decoder.features_of_text().faults.missing_probability
        for side, n in np.argwhere(missing > _MIN_MISSING_PROBABILITY).tolist():
            number = int(chosen[chunk.first + n])
            yield Finding(number, SIDES[side], "missing-text", f"probability {missing[side, n]:.3f}")


def pairs_without_links(batch: AlignedBatch) -> Flags:
    """Return which pairs (N,) have no link."""
    return np.asarray(np.diff(batch.offsets) == 0)


# --- characters ----------------------------------------------------------------------------------
# Characters that do not belong into a line of text: separators, controls, escapes, wrong encodings. A whole
# text is searched first, which is fast; its lines are looked at only where something was found.

_ENTITY_IN_TEXT = re.compile(ENTITY)
# ftfy's pattern takes ten times as long. What it finds has two characters outside of ASCII side by side, but
# not the usual ’é, –É and éé.
_MAY_BE_MOJIBAKE = re.compile(
    "[^\x00-\x7f](?:[^\x00-\x7fÀ-ÖØ-öø-ÿ]|(?<![’–ß-öø-ÿ])[ß-öø-ÿ]|(?<![’–])[À-ÖØ-Þ]|(?<=[ÃÂ]) )"
)
# What a line has if it may have a finding of a kind
_PATTERNS = {
    "tab": re.compile("\t"),
    "bars": re.compile(r"\|\|\|"),
    "carriage-return": re.compile("\r"),
    "html-entity": _ENTITY_IN_TEXT,
    "replacement-character": re.compile("\ufffd"),
    "line-separator": re.compile("[\x85\u2028\u2029]"),
    "mojibake": _MAY_BE_MOJIBAKE,
    # Zero-width spaces, soft hyphens, a byte order mark, and characters that change the direction of text.
    # The joiners of Indic, Arabic and emoji, and marks of one direction, are usual.
    "invisible-character": re.compile("[\u00ad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"),
    "control-character": re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]"),
}
_SHOWN = {"\t": "\\t", "\r": "\\r", "|||": "|||"}  # other findings are shown by their number in Unicode
_ANY_TAG = re.compile("<[A-Za-z/][^<>]*+>")


def find_characters(lines: Sequence[str], side: Side) -> Iterator[Finding]:
    """Yield the findings about the characters of the lines of one side."""
    text = "\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    kinds_of_lines: defaultdict[int, list[str]] = defaultdict(list)
    for kind, pattern in _PATTERNS.items():
        for number in _lines_with(pattern, text, starts):
            kinds_of_lines[number].append(kind)
    for number in sorted(kinds_of_lines):
        yield from _findings_of_line(number, lines[number], side, kinds_of_lines[number])


def _lines_with(pattern: re.Pattern[str], text: str, starts: Sequence[int]) -> Iterator[int]:
    """Yield the numbers of the lines of a text in which a pattern occurs; each line begins at its start."""
    position = 0
    while match := pattern.search(text, position):
        number = bisect_right(starts, match.start()) - 1
        yield number
        position = starts[number + 1]


def _findings_of_line(number: int, line: str, side: SideOfFinding, kinds: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings of a line that has the patterns of some kinds."""
    for kind in kinds:
        value = _value_of_finding(kind, line)
        if not value:
            continue
        if kind == "html-entity" and find_moses_escape(line) and value in ESCAPES_OF_MOSES_ONLY:
            kind = "moses-escape"
        yield Finding(number, side, kind, value)
        if kind == "mojibake":
            return  # its invisible characters come from the wrong encoding


def _value_of_finding(kind: str, line: str) -> str:
    """Return what is wrong with a line that has the pattern of a kind, or "" if nothing is."""
    if kind == "html-entity":
        return _entity_in_line(line)
    if kind == "mojibake":
        return find_mojibake(line)
    match = _PATTERNS[kind].search(line)
    assert match is not None
    return _SHOWN.get(match[0]) or f"U+{ord(match[0]):04X}"


def _entity_in_line(line: str) -> str:
    """Return an entity that text should not have; one that only Moses writes goes before others."""
    entities = _ENTITY_IN_TEXT.findall(line)
    for entity in entities:
        if entity in ESCAPES_OF_MOSES_ONLY:
            return str(entity)
    if _has_tags(line):
        return ""
    known = [entity for entity in entities if _is_known_entity(entity)]
    return str(known[0]) if known else ""


def _has_tags(line: str) -> bool:
    """Return whether a line has tags of XML or HTML, and so should have entities."""
    for tag in _ANY_TAG.findall(line):
        if tag.startswith("</") or tag.endswith("/>") or "=" in tag or tag.lower() == "<br>":
            return True
    return False


def _is_known_entity(entity: str) -> bool:
    from html.entities import html5

    return entity.startswith("&#") or entity[1:] in html5


# --- mojibake ------------------------------------------------------------------------------------


def find_mojibake(line: str) -> str:
    """Return what is left of UTF-8 in a wrong encoding, such as ``Ã©`` for *é*; "" if there is nothing.

    Examples
    --------
    >>> find_mojibake("l'Ã©tÃ©"), find_mojibake("l'été À « »"), find_mojibake("„groß“")
    ('Ã©t', '', '')
    """
    if _MAY_BE_MOJIBAKE.search(line) is None:
        return ""
    from ftfy.badness import BADNESS_RE

    for found in BADNESS_RE.finditer(line):
        # a control character between others of ASCII is a finding of its own
        if _MAY_BE_MOJIBAKE.search(line, max(found.start() - 1, 0), found.end() + 1):
            return str(found[0])
    return ""


# --- findings during a run of `align` or `train` --------------------------------------------------
# The pairs come chunk by chunk, so only what can be counted in a few microseconds for each pair is counted.


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
    """The findings of a run of `align` or `train`, whose pairs come chunk by chunk.

    `bad_records` are the numbers, from 1, of records that became empty pairs, which are not counted as such.
    """

    def __init__(self, bad_records: Container[int] = ()) -> None:
        self._bad_records = bad_records
        self._counts = KindCounts()
        self._low_scores = LowScoreRuns()
        # whether both sides have text, for each pair whose links are still missing
        self._has_text: list[bool] = []
        self.without_links = 0  # pairs

    def add_lines(self, pairs: Sequence[tuple[str, str]], first: int) -> None:
        """Count what is wrong with the lines of pairs; the first one has the number `first`, from 0."""
        found = find_in_lines(pairs, first)
        self._counts.add_all(
            finding
            for finding in found
            if finding.kind != "empty" or finding.line + 1 not in self._bad_records
        )
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
