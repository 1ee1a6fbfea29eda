"""Gold links of the pairs of a text, as a sequence and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import with_plural
from nmtalign.links.alignments import BothWords, GoldAlignment
from nmtalign.names import LinkUnitName
from nmtalign.results import table_of_rows
from nmtalign.validation import normalize_index, selected_indices

if TYPE_CHECKING:
    import pandas as pd

NO_GOLD = GoldAlignment((), ())
WORD_COLUMNS = ("source_word", "target_word")
GOLD_COLUMNS = ("source_position", "source_word", "target_position", "target_word", "kind")
GOLD_EXAMPLE = (0, "", 0, "", "")


@dataclass(frozen=True, eq=False, repr=False)
class GoldLinks(Sequence[GoldAlignment]):
    """The gold links of each pair of a text, which :func:`nmtalign.read_gold` returns. It is read-only.

    ``gold[n]`` are the links of pair n, and ``gold[2:5]`` or ``gold[mask]`` those of several pairs, as of a
    batch. Corrections may claim any number of pairs, so a pair without links is made when it is accessed.
    """

    golds: Mapping[int, GoldAlignment]  # by number of the pair, from 0; all others have no links
    pair_count: int
    # of the pairs whose words the file has
    words: Mapping[int, BothWords] = field(default_factory=dict)
    unit: LinkUnitName | None = None  # what positions count, if the file says so
    # whether only the pairs in `golds` were looked at; else a pair without links has no links
    is_partial: bool = False

    def __repr__(self) -> str:
        sure = sum(len(gold.sure) for gold in self.golds.values())
        possible = sum(len(gold.possible) for gold in self.golds.values()) - sure
        pairs = with_plural(self.pair_count, "pair")
        if self.is_partial:
            pairs = f"{len(self.golds):,} of {pairs}"
        only_possible = f", {possible:,} only possible" if possible else ""
        return f"GoldLinks of {pairs}: {with_plural(sure, 'sure link')}{only_possible}"

    def __eq__(self, other: object) -> bool:
        """Return whether another sequence has the same links."""
        if not isinstance(other, Sequence) or isinstance(other, str) or len(self) != len(other):
            return False
        if isinstance(other, GoldLinks):
            linked = {n for gold in (self, other) for n in gold.golds}
            return all(self[n] == other[n] for n in linked)
        return all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((self.pair_count, frozenset(gold for gold in self.golds.values() if gold.possible)))

    def __len__(self) -> int:
        return self.pair_count

    @overload
    def __getitem__(self, n: int) -> GoldAlignment: ...

    @overload
    def __getitem__(
        self, n: slice | list[int] | list[bool] | NDArray[np.bool_] | NDArray[np.integer]
    ) -> GoldLinks: ...

    def __getitem__(self, n: Any) -> GoldAlignment | GoldLinks:
        numbers = selected_indices(n, self.pair_count)
        if numbers is None:
            return self.golds.get(normalize_index(n, self.pair_count), NO_GOLD)
        if isinstance(numbers, range):  # may be long
            places = [(numbers.index(old), old) for old in sorted(self.golds) if old in numbers]
        else:
            places = [(new, old) for new, old in enumerate(numbers) if old in self.golds]
        golds = {new: self.golds[old] for new, old in places}
        words = {new: self.words[old] for new, old in places if old in self.words}
        return GoldLinks(golds, len(numbers), words, self.unit, self.is_partial)

    @property
    def reviewed(self) -> Sequence[int]:
        """The numbers of the pairs whose gold links are known."""
        return sorted(self.golds) if self.is_partial else range(self.pair_count)

    def table(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each gold link.

        Returns
        -------
        pandas.DataFrame
            The columns ``pair``, ``source_position`` and ``target_position``, all from 0, and ``kind``,
            which is ``sure`` or ``possible``. If the file has words, also ``source_word`` and
            ``target_word``.
        """
        rows = []
        for n, gold in sorted(self.golds.items()):
            words = self.words.get(n)
            rows += [(n, *row) for row in _gold_rows(gold, words)]
        table = table_of_rows(rows, ("pair", *GOLD_COLUMNS), (0, *GOLD_EXAMPLE))
        return table if self.words else table.drop(columns=list(WORD_COLUMNS))


def gold_table(gold: GoldAlignment) -> pd.DataFrame:
    """Return a DataFrame with one row for each gold link of one pair."""
    table = table_of_rows(_gold_rows(gold, None), GOLD_COLUMNS, GOLD_EXAMPLE)
    return table.drop(columns=list(WORD_COLUMNS))


def _gold_rows(gold: GoldAlignment, words: BothWords | None) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `GOLD_COLUMNS` for each link of a pair; words are None where they are unknown."""
    for s, t in sorted(gold.possible):
        source, target = (None, None) if words is None else (words[0][s], words[1][t])
        yield s, source, t, target, "sure" if (s, t) in gold.sure else "possible"
