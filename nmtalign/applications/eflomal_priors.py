"""Priors of eflomal other than word pairs: jumps and fertilities, counted in linked sentence pairs.

The counts are those of eflomal's own ``calculate_priors``:

HMMF, HMMR   jumps between the source words of consecutive linked target words, and in the other direction
FERF, FERR   how many links a linked source word has, and a linked target word

References
----------
Östling and Tiedemann (2016), "Efficient word alignment with Markov Chain Monte Carlo".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from nmtalign.applications.linked_pairs import LinkedPair


class JumpAndFertilityCounts:
    """Counts jumps and fertilities, pair by pair."""

    def __init__(self) -> None:
        self._forward_jumps: Counter[int] = Counter()
        self._reverse_jumps: Counter[int] = Counter()
        self._source_fertilities: Counter[tuple[str, int]] = Counter()
        self._target_fertilities: Counter[tuple[str, int]] = Counter()

    def add(self, pair: LinkedPair) -> None:
        """Count one sentence pair."""
        links = [(link.source, link.target) for link in pair.links]
        self._forward_jumps.update(_jumps(links, len(pair.source)))
        self._reverse_jumps.update(_jumps([(t, s) for s, t in links], len(pair.target)))
        for word, fertility in Counter(s for s, _ in links).items():
            self._source_fertilities[pair.source[word], fertility] += 1
        for word, fertility in Counter(t for _, t in links).items():
            self._target_fertilities[pair.target[word], fertility] += 1

    def lines(self) -> Iterator[str]:
        """Yield the lines of a file of priors, after those of the word pairs."""
        fertilities = ("FERF", self._source_fertilities), ("FERR", self._target_fertilities)
        for name, counts in fertilities:
            for (word, fertility), count in sorted(counts.items()):
                yield f"{name}\t{word}\t{fertility}\t{count}\n"
        yield from format_jumps(self._forward_jumps, self._reverse_jumps)


def format_jumps(forward: Mapping[int, float], reverse: Mapping[int, float]) -> Iterator[str]:
    """Yield the lines of jumps of both directions, by their widths.

    >>> list(format_jumps({1: 3}, {-1: 0.25}))
    ['HMMF\\t1\\t3\\n', 'HMMR\\t-1\\t0.25\\n']
    """
    for name, jumps in (("HMMF", forward), ("HMMR", reverse)):
        for jump, count in sorted(jumps.items()):
            yield f"{name}\t{jump}\t{count:.6g}\n"


def _jumps(links: Iterable[tuple[int, int]], length: int) -> Iterator[int]:
    """Yield the jumps between the source words of linked target words, from before the first to the end.

    `links` are (source, target). Where a target word has several links, the jump goes to the first one, and
    the next jump starts from the last one.
    """
    last_source = last_target = -1
    for source, target in sorted(links, key=lambda link: (link[1], link[0])):
        if target != last_target:
            yield source - last_source
        last_source, last_target = source, target
    yield length - last_source
