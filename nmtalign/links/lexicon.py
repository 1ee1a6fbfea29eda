"""Tables of links: the maximum-likelihood lexicon of both directions, and phrase pairs.

As in Moses, a word without a link counts as linked to the null word:

    p(t|s) = c(s, t) / (sum over t' of c(s, t') + c(s, null))        and p(s|t) likewise
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from math import log
from typing import NamedTuple

from nmtalign.calls import check_call
from nmtalign.display import short_repr
from nmtalign.errors import UsageError
from nmtalign.links.alignments import links_inside
from nmtalign.links.separators import check_unsplit
from nmtalign.validation import check_number, check_type

BETWEEN_SIDES = "|||"  # of a phrase pair


class Entry(NamedTuple):
    """Two words that are linked somewhere."""

    source: str
    target: str
    links: float  # between them, or their expected count
    forward: float  # p(target|source)
    reverse: float  # p(source|target)
    association: float | None = None  # G², negative where they are linked less often than by chance


class LinkCounts:
    """Counts of linked words, added sentence by sentence.

    Examples
    --------
    >>> counts = LinkCounts()
    >>> counts.add(["the", "cat"], ["le", "chat"], {(0, 0), (1, 1)})
    >>> counts.add(["the"], ["la"], {(0, 0)})
    >>> [(entry.source, entry.target, entry.forward) for entry in counts.entries()]
    [('cat', 'chat', 1.0), ('the', 'la', 0.5), ('the', 'le', 0.5)]
    """

    @check_call()
    def __init__(self) -> None:
        self._counts: Counter[tuple[str | None, str | None]] = Counter()  # None is the null word

    def __repr__(self) -> str:
        links = [count for pair, count in self._counts.items() if None not in pair]
        return f"LinkCounts of {len(links):,} word pairs, {sum(links):,} links"

    @check_call("write counts.add(source_words, target_words, links)")
    def add(self, source: Sequence[str], target: Sequence[str], links: Iterable[tuple[int, int]]) -> None:
        """Count the links of one sentence pair, and its words without a link."""
        for side in (source, target):
            if isinstance(side, str) or not isinstance(side, Sequence):
                raise UsageError(f"expected a list of words, found {short_repr(side)}")
            for word in side:
                check_type(word, str, "words")
        chosen = {*links_inside(links, len(source), len(target))}
        linked_source, linked_target = {s for s, _ in chosen}, {t for _, t in chosen}
        pairs: list[tuple[str | None, str | None]] = [(source[s], target[t]) for s, t in chosen]
        pairs += [(word, None) for n, word in enumerate(source) if n not in linked_source]
        pairs += [(None, word) for n, word in enumerate(target) if n not in linked_target]
        self._counts.update(pairs)

    @check_call()
    def entries(self, *, least: int = 1) -> list[Entry]:
        """Return the words with at least `least` links, by source word, most probable target first."""
        check_number(least, "a number of links")
        counts = self._counts
        of_source, of_target = Counter[str | None](), Counter[str | None]()
        for (source, target), links in counts.items():
            of_source[source] += links
            of_target[target] += links
        total = counts.total() - of_source[None] - of_target[None]
        rows = []
        for (source, target), links in counts.items():
            if source is not None and target is not None and links >= least:
                linked = of_source[source] - counts[source, None], of_target[target] - counts[None, target]
                forward, reverse = links / of_source[source], links / of_target[target]
                score = association(links, *linked, total)
                rows.append(Entry(source, target, links, forward, reverse, score))
        return sorted(rows, key=lambda entry: (entry.source, -entry.links, entry.target))


def association(together: int, first: int, second: int, total: int) -> float:
    """Return the log-likelihood ratio G² of two words from their numbers of links.

    ``G² = 2 sum of O log(O / E)`` over the four cells of linked with the one, linked with the other (Dunning
    1993, "Accurate methods for the statistics of surprise and coincidence").
    """
    observed = (together, first - together, second - together, total - first - second + together)
    expected = (
        first * second,
        first * (total - second),
        (total - first) * second,
        (total - first) * (total - second),
    )
    ratio = 2 * sum(o * log(o * total / e) for o, e in zip(observed, expected, strict=True) if o)
    return ratio if together * total >= first * second else -ratio


def priors(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield links as priors that eflomal reads: ``LEX source target links``, between tabs."""
    return (f"LEX\t{e.source}\t{e.target}\t{e.links:.4f}\n" for e in entries if e.links >= 0.0001)


def shortlist(entries: Iterable[Entry], *, reverse: bool = False, most: int = 100) -> Iterator[str]:
    """Yield the lines of a Marian shortlist: ``target source p(target|source)``, `most` of a word.

    With `reverse` it is ``lex.t2s`` instead of ``lex.s2t``: ``source target p(source|target)``.
    """
    rows = [(e.target, e.source, e.reverse) if reverse else (e.source, e.target, e.forward) for e in entries]
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    for _, group in groupby(rows, key=lambda row: row[0]):
        for given, other, probability in islice(group, most):
            yield f"{other} {given} {probability:.7f}\n"


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
    check_unsplit(source, target, BETWEEN_SIDES)
    chosen, lines = sorted(links), []
    phrases = phrase_pairs(chosen, len(source), len(target), longest=longest)
    for start, end, target_start, target_end in phrases:
        inside = (f"{s - start}-{t - target_start}" for s, t in chosen if start <= s < end)
        sides = " ".join(source[start:end]), " ".join(target[target_start:target_end])
        lines.append(f"{sides[0]} ||| {sides[1]} ||| {' '.join(inside)}\n")
    return "".join(lines)
