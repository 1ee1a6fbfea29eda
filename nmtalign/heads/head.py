"""Heads: log likelihood ratios of word pairs, and their log-linear interpolation.

Axes: B pairs of a bucket, T target words, S source words, P word pairs of a text, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.text import EncodedText
from nmtalign.heads.counts import Emissions

Floats = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]

TINY = np.float32(1e-30)  # least ratio under a logarithm


class LogRatios(NamedTuple):
    """Log likelihood ratios of some word pairs of a text."""

    place: NDArray[np.integer]  # numbers of the word pairs
    values: Floats  # their log likelihood ratios to chance


class Head(Protocol):
    """Anything that gives log likelihood ratios to word pairs.

    `weight` is that of the log-linear interpolation with the heads before it, from 0 to 1; `name` is a key of
    :data:`nmtalign.heads.mixture.HEADS`, if the head can be saved.
    """

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def log_ratios(self, text: EncodedText) -> LogRatios:
        """Return the log likelihood ratios of the word pairs of a text."""
        ...


class Stored(NamedTuple):
    """A head as plain values: entries of meta.json, small arrays, and large ones with a file of their own."""

    meta: dict[str, Any]
    arrays: Arrays
    large: Arrays


def interpolated(emissions: Emissions, heads: Sequence[Head], text: EncodedText) -> Emissions:
    """Interpolate the emissions of a lexicon with heads, one after the other.

    Notes
    -----
    ``log r = (1 - weight) log r_before + weight log r_head`` for the word pairs that a head knows (Klakow
    1998, log-linear interpolation); the others stay as they are.
    """
    for head in heads:
        place, values = head.log_ratios(text)
        pairs = emissions.pairs.copy()
        mixed = pairs.take(place)
        possible = mixed > 0  # the padding and what cannot be stays 0
        np.log(np.maximum(mixed, TINY, out=mixed), out=mixed)
        mixed *= np.float32(1 - head.weight)
        mixed += values * np.float32(head.weight)
        np.exp(mixed, out=mixed)
        mixed *= possible
        pairs[place] = mixed
        emissions = emissions._replace(pairs=pairs)
    return emissions
