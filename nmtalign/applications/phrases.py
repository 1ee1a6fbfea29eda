"""Phrase pairs that are consistent with the links of a sentence pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nmtalign.links.separators import expect_uncut

BETWEEN_SIDES = "|||"  # of a phrase pair


def phrase_pairs(
    links: Iterable[tuple[int, int]], source_length: int, target_length: int, *, longest: int = 7
) -> Iterator[tuple[int, int, int, int]]:
    """Yield where source and target phrase of every pair that is consistent with the links begin and end.

    A pair is consistent when at least one link lies inside it and none leads from inside to outside; words
    without a link may stand at either end of it. A phrase has at most `longest` words on either side (Och and
    Ney 2004; Koehn, Och and Marcu 2003).
    """
    by_source: list[list[int]] = [[] for _ in range(source_length)]
    by_target: list[list[int]] = [[] for _ in range(target_length)]
    for s, t in sorted(links):
        by_source[s].append(t)
        by_target[t].append(s)
    for start in range(source_length):
        first, last = target_length, -1
        for end in range(start + 1, min(start + longest, source_length) + 1):
            first, last = min([first, *by_source[end - 1]]), max([last, *by_source[end - 1]])
            inside = all(start <= s < end for linked in by_target[first : last + 1] for s in linked)
            if inside and 0 <= last < first + longest:
                for target_phrase in _widened(by_target, first, last + 1, longest):
                    yield start, end, *target_phrase


def _widened(by_target: list[list[int]], first: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the target phrase, and the same with words without a link added at its ends."""
    start = first
    while start == first or (start >= 0 and not by_target[start]):
        stop = end
        while stop == end or (stop <= len(by_target) and not by_target[stop - 1]):
            if stop - start <= longest:
                yield start, stop
            stop += 1
        start -= 1


def format_phrases(
    source: Sequence[str], target: Sequence[str], links: Iterable[tuple[int, int]], *, longest: int = 7
) -> str:
    """Return the phrase pairs of a sentence pair as Moses' ``extract`` writes them, a line for each.

    ``source words ||| target words ||| links inside the phrase``; a DataError if a word holds ``|||``, white
    space or a line break.
    """
    expect_uncut(source, target, BETWEEN_SIDES)
    chosen, lines = sorted(links), []
    phrases = phrase_pairs(chosen, len(source), len(target), longest=longest)
    for start, end, target_start, target_end in phrases:
        inside = (f"{s - start}-{t - target_start}" for s, t in chosen if start <= s < end)
        sides = " ".join(source[start:end]), " ".join(target[target_start:target_end])
        lines.append(f"{sides[0]} ||| {sides[1]} ||| {' '.join(inside)}\n")
    return "".join(lines)
