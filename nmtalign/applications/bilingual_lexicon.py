"""Bilingual lexicon: which words are linked, how often, and the probabilities of both directions.

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
from nmtalign.door import expect_kind, expect_number, short
from nmtalign.errors import UsageError
from nmtalign.links.alignments import links_inside


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
                raise UsageError(f"expected a list of words, found {short(side)}")
            for word in side:
                expect_kind(word, str, "words")
        chosen = {*links_inside(links, len(source), len(target))}
        linked_source, linked_target = {s for s, _ in chosen}, {t for _, t in chosen}
        pairs: list[tuple[str | None, str | None]] = [(source[s], target[t]) for s, t in chosen]
        pairs += [(word, None) for n, word in enumerate(source) if n not in linked_source]
        pairs += [(None, word) for n, word in enumerate(target) if n not in linked_target]
        self._counts.update(pairs)

    @check_call()
    def entries(self, *, least: int = 1) -> list[Entry]:
        """Return the words with at least `least` links, by source word, most probable target first."""
        expect_number(least, "a number of links")
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
