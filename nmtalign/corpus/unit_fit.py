"""Whether links fit a text: all are inside of its words, and their positions seem to count these.

Links of a smaller unit lie outside of the lines of a larger one. Links of a larger unit lie inside of the
lines of a smaller one, but do not come to the end of them: the last unit of a line is hardly ever linked,
although in links of the right unit it is linked at least as often as the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtalign.corpus.units import LinkUnit
from nmtalign.errors import DataError, OnBadPair, warn_caller
from nmtalign.links.alignments import Link, links_inside
from nmtalign.links.gold import outside_link_error
from nmtalign.names import SIDES, LinkUnitName
from nmtalign.text.bitext import SentencePair
from nmtalign.text.subwords import SPACE_MARK, join_marked
from nmtalign.text.tokenization import TextSettings

MIN_EXPECTED_ENDS = 8  # with fewer, chance decides whether the ends of lines are linked
MIN_LINKED_ENDS_RATIO = 0.5  # linked line ends, divided by their expected number

ADVICE = (
    "pass the text that was aligned, or the files of `align --tokens PREFIX`; `nmtalign check --links` shows"
    " the unit of the links"
)


@dataclass
class UnitFit:
    """How links fit a text in one unit."""

    name: str
    inside: int = 0  # pairs with links, all of which are inside
    outside: int = 0  # pairs with a link outside
    example: str = ""  # description of the first pair with a link outside
    linked_ends: int = 0  # lines of pairs inside whose last unit is linked
    # expected number of linked ends, if the last units were linked as often as the others
    expected_ends: float = 0.0

    @property
    def end_rate(self) -> float:
        """The share of the lines whose last unit is linked."""
        return self.linked_ends / max(2 * self.inside, 1)

    @property
    def misses_ends(self) -> bool:
        """Whether the last units of the lines are linked much less often than the others."""
        expected = self.expected_ends
        return expected >= MIN_EXPECTED_ENDS and self.linked_ends < MIN_LINKED_ENDS_RATIO * expected

    @property
    def fits(self) -> bool:
        """Whether no link is outside, and the ends of the lines are linked."""
        return not self.outside and not self.misses_ends

    def add(self, number: int, links: Iterable[Link], lengths: tuple[int, int]) -> None:
        """Count the links of a pair."""
        listed = list(links)
        if not listed:
            return
        positions = {link.source for link in listed}, {link.target for link in listed}
        for linked, length, side in zip(positions, lengths, SIDES, strict=True):
            if max(linked) >= length:
                found = f"the {side} position {max(linked)} is outside of {length:,} {self.name}"
                self.example = self.example or f"pair {number:,}: {found}"
                self.outside += 1
                return
        self.inside += 1
        for linked, length in zip(positions, lengths, strict=True):
            self.linked_ends += length - 1 in linked
            self.expected_ends += len(linked) / length


def fits_of_units(
    records: Iterable[tuple[SentencePair, Iterable[Link]]],
    units: Mapping[str, LinkUnit],
    text_settings: TextSettings,
) -> list[UnitFit]:
    """Return how the links of the pairs of a text fit each unit; `text_settings` splits lines into tokens."""
    fits = {name: UnitFit(name) for name in units}
    for number, (pair, links) in enumerate(records, 1):
        listed = list(links)
        for name, unit in units.items():
            source, target = unit.tokens_for_translation(pair, text_settings)
            fits[name].add(number, listed, (len(source), len(target)))
    return list(fits.values())


def fitting_units(fits: Iterable[UnitFit]) -> Iterator[str]:
    """Yield the names of the units that fit, the best one first; those that fit as well follow."""
    fitting = sorted((fit for fit in fits if fit.fits), key=lambda fit: -fit.end_rate)
    for fit in fitting:
        if fit.end_rate > fitting[0].end_rate - 1e-9:
            yield fit.name


class LinksCheck:
    """Checks, while a text with links is read, whether the links are inside of its words, and count these.

    A text may consist of sub-words, or of tokens with marked spaces. Then the positions may count the words
    into which these can be joined; no guess is needed to see this.
    """

    def __init__(
        self,
        file: str | Path | None = None,
        *,
        name: LinkUnitName = "words",
        on_error: OnBadPair | None = None,
    ) -> None:
        self._file = file  # with the links
        self._name = name  # of what the text consists of, as `add` gets it
        self._on_error = on_error
        self._words = UnitFit(name)
        self._joined = UnitFit("words")
        self._has_marks = False

    def inside(
        self, number: int, links: frozenset[Link], source: Sequence[str], target: Sequence[str]
    ) -> frozenset[Link]:
        """Return the links of a pair, and count them; raise DataError if one is outside of its words.

        With `on_error`, the error is passed on instead, and the pair has no links.
        """
        try:
            links_inside(sorted(links), len(source), len(target))
        except DataError as error:
            outside = outside_link_error(error, number, self._file)
            if self._on_error is None:
                raise outside from None
            self._on_error(number, outside)
            return frozenset()
        self.add(number, links, source, target)
        return links

    def add(self, number: int, links: Iterable[Link], source: Sequence[str], target: Sequence[str]) -> None:
        """Count the links of a pair between the words of both sides."""
        listed = list(links)
        self._words.add(number, listed, (len(source), len(target)))
        joined_lengths = _joined_length(source), _joined_length(target)
        self._has_marks = self._has_marks or joined_lengths != (len(source), len(target))
        self._joined.add(number, listed, joined_lengths)

    def finish(self) -> None:
        """Warn of a :meth:`warning`."""
        if warning := self.warning():
            warn_caller(warning)

    def warning(self) -> str:
        """Return a warning if the positions seem to count a unit other than the words; else an empty text.

        A DataError if the text has marks, and the links fit the joined words instead.
        """
        if not self._words.misses_ends:
            return ""
        rate = f"only {100 * self._words.end_rate:.0f} % of the lines have a link at their last position"
        if self._has_marks and self._joined.fits and self._joined.end_rate > self._words.end_rate:
            found = f"found links that count whole words instead of {self._name}"
            error = DataError(f"expected links of the {self._name} of the text, {found}: {rate}; {ADVICE}")
            raise error if self._file is None else error.at(self._file)
        where = "the links" if self._file is None else f"{self._file}: the links"
        return f"{where} may not count the {self._name} of this text: {rate}; {ADVICE}"


def _joined_length(words: Sequence[str]) -> int:
    """Return the number of words into which sub-words, or tokens with marked spaces, are joined."""
    line = " ".join(words)
    if "@@ " in line:
        return len(join_marked(line, "bpe")[1].first)
    if SPACE_MARK in line:
        return len(join_marked(line, "sentencepiece")[1].first)
    return len(words)
