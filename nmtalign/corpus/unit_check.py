"""Whether links fit a text, and in which unit: no link lies outside, and links reach the ends of the lines.

Links of a smaller unit lie outside of the lines of a larger one. Links of a larger unit lie inside of the
lines of a smaller one, but reach only the first part of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nmtalign.corpus.units import LinkUnit
from nmtalign.links.alignments import Link
from nmtalign.names import SIDES
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import TextSettings

MIN_REACH = 0.8  # of links that fit; good links nearly always reach one of the last words


@dataclass
class UnitFit:
    """How links fit a text in one unit."""

    name: str
    linked_pairs: int = 0  # pairs with links
    outside: int = 0  # pairs with a link outside
    example: str = ""  # of the first pair with a link outside
    reached: int = 0  # units up to the last linked one, of both sides of all pairs with links
    units: int = 0  # in these pairs

    @property
    def reach(self) -> float:
        """The share of the lines up to the last link."""
        return self.reached / max(self.units, 1)

    @property
    def fits(self) -> bool:
        """Whether no link is outside, and the links reach the ends of the lines."""
        return not self.outside and (self.reach >= MIN_REACH or not self.linked_pairs)

    def add(self, number: int, links: Iterable[Link], lengths: tuple[int, int]) -> None:
        """Count the links of a pair."""
        listed = list(links)
        if not listed:
            return
        self.linked_pairs += 1
        last = max(link.source for link in listed), max(link.target for link in listed)
        is_outside = False
        for position, length, side in zip(last, lengths, SIDES, strict=True):
            if position >= length:
                is_outside = True
                found = (
                    f"pair {number:,}: the {side} position {position} is outside of {length:,} {self.name}"
                )
                self.example = self.example or found
        self.outside += is_outside
        if not is_outside:
            self.reached += sum(last) + 2
            self.units += sum(lengths)


def fits_of_units(
    records: Iterable[tuple[SentencePair, Iterable[Link]]],
    units: Mapping[str, LinkUnit],
    text: TextSettings,
) -> list[UnitFit]:
    """Return how the links of the pairs of a text fit each unit; `text` cuts lines into tokens."""
    fits = {name: UnitFit(name) for name in units}
    for number, (pair, links) in enumerate(records, 1):
        listed = list(links)
        for name, unit in units.items():
            source, target = unit.shown(pair, text)
            fits[name].add(number, listed, (len(source), len(target)))
    return list(fits.values())


def fitting_units(fits: Iterable[UnitFit]) -> Iterator[str]:
    """Yield the names of the units that fit, the best one first; those that fit as well follow."""
    fitting = sorted((fit for fit in fits if fit.fits), key=lambda fit: -fit.reach)
    for fit in fitting:
        if fit.reach > fitting[0].reach - 1e-9:
            yield fit.name
