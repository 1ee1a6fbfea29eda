"""Several batches as one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Longs
from nmtalign.display import short_repr
from nmtalign.errors import UsageError
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothTexts,
    BothWords,
    Origin,
    concatenate_batches,
)
from nmtalign.names import CellValues
from nmtalign.settings import LinkSettings
from nmtalign.validation import is_iterable

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")


def concat(batches: Iterable[AlignedBatch]) -> AlignedBatch:
    """Return one batch with the pairs of several batches, in order.

    Its pairs keep their words, attention and index, and :meth:`AlignedBatch.choose` works as in the parts.

    Parameters
    ----------
    batches : iterable of AlignedBatch
        At least one; all count the same unit. If one has an index, or words, all have.

    Returns
    -------
    AlignedBatch

    Raises
    ------
    UsageError
        If the batches count different units, or some of them lack words or an index.

    Examples
    --------
    >>> import nmtalign as na
    >>> aligner = na.load()
    >>> parts = [aligner.align_batch([("the cat", "le chat")]), aligner.align_batch([("a dog", "un chien")])]
    >>> na.concat(parts)
    AlignedBatch of 2 pairs, 4 links
    >>> na.concat(parts)[1]
    a-un  dog-chien
    """
    listed = list(batches) if is_iterable(batches) and not isinstance(batches, AlignedBatch) else []
    if not listed or not all(isinstance(batch, AlignedBatch) for batch in listed):
        raise UsageError(f"expected a list of batches, found {short_repr(batches)}")
    if len(listed) == 1:
        return listed[0]
    _common(listed, lambda batch: batch.unit, "unit")
    has_words = _common(listed, lambda batch: batch.origin is not None, "words")
    has_index = _common(listed, lambda batch: batch.frame_index is not None, "index")
    origin = None
    if has_words:
        part = np.repeat(np.arange(len(listed)), [len(batch) for batch in listed])
        number = np.concatenate([np.arange(len(batch)) for batch in listed])
        origins = [batch.origin for batch in listed if batch.origin is not None]
        origin = JoinedOrigin(origins, part, number)
    joined = concatenate_batches(listed)
    return replace(joined, origin=origin, frame_index=_joined_index(listed) if has_index else None)


def _common(batches: Sequence[AlignedBatch], value_of: Callable[[AlignedBatch], Value], what: str) -> Value:
    """Return what all batches have; UsageError if they differ."""
    first = value_of(batches[0])
    for n, batch in enumerate(batches):
        if value_of(batch) != first:
            found = f"found {value_of(batch)!r} in batch {n}, {first!r} in batch 0"
            if what != "unit":
                found = f"batch {n} has {'them' if what == 'words' else 'it'} and batch 0 not, or vice versa"
            raise UsageError(f"expected batches that are alike in {what}, {found}")
    return first


def _joined_index(batches: Sequence[AlignedBatch]) -> pd.Index:
    first, *others = [batch.frame_index for batch in batches if batch.frame_index is not None]
    return first.append(others)


@dataclass(frozen=True, eq=False, repr=False)
class JoinedOrigin:
    """The origin of pairs that come from several batches."""

    origins: Sequence[Origin]
    part: Longs  # (N,): the origin of each pair
    number: Longs  # (N,): the number that the pair has there

    def _of(self, n: int) -> tuple[Origin, int]:
        return self.origins[int(self.part[n])], int(self.number[n])

    def tokens(self, n: int) -> BothWords:
        """Return the words of pair n."""
        origin, number = self._of(n)
        return origin.tokens(number)

    def texts(self, n: int) -> BothTexts | None:
        """Return the texts of pair n and where its words are in them."""
        origin, number = self._of(n)
        return origin.texts(number)

    @property
    def splitting(self) -> tuple[Any, tuple[str | None, str | None]] | None:
        """The settings and languages that split all lines; None if they are not the same."""
        first, *others = [origin.splitting for origin in self.origins]
        return first if all(other == first for other in others) else None

    @property
    def has_probabilities(self) -> bool:
        """Whether the numbers of all links are probabilities."""
        return all(origin.has_probabilities for origin in self.origins)

    def aligned(self, n: int) -> AlignedPair:
        """Align pair n alone, with its attention."""
        origin, number = self._of(n)
        return origin.aligned(number)

    def matrices(self, values: CellValues | None) -> Iterator[NDArray[np.floating]]:
        """Yield the values (T, S) of each pair."""
        bounds = [0, *(np.flatnonzero(np.diff(self.part)) + 1).tolist(), len(self.part)]
        for begin, end in itertools.pairwise(bounds):
            if begin < end:
                origin = self.origins[int(self.part[begin])]
                yield from origin.chosen(self.number[begin:end].tolist()).matrices(values)

    def chosen(self, numbers: Sequence[int]) -> JoinedOrigin:
        """Return the origin of the pairs with these numbers, in this order."""
        pairs = np.array(numbers, np.int64)
        return replace(self, part=self.part[pairs], number=self.number[pairs])

    @property
    def link_settings(self) -> LinkSettings:
        """How the links were chosen; UsageError if the batches differ."""
        first, *others = [origin.link_settings for origin in self.origins]
        if any(other != first for other in others):
            raise UsageError("the links of these batches were chosen in different ways; choose them again")
        return first

    def choose(self, links: LinkSettings) -> AlignedBatch:
        """Return the pairs with the links that other settings choose."""
        places = []
        batches = []
        for part, origin in enumerate(self.origins):
            own = np.flatnonzero(self.part == part)
            if len(own):
                places.append(own)
                batches.append(origin.chosen(self.number[own].tolist()).choose(links))
        if not batches:
            return self.origins[0].chosen([]).choose(links)
        return concat(batches)[np.argsort(np.concatenate(places))]
