"""The learned lexicon: how much more often two words translate each other than chance would have it.

A *view* shortens every word (the word itself, its first 3, 4, 6 letters), so that rare words share what is known of
their relatives. For each view there are expected counts c(e, f) of links on which both directions agree, and from
them the ratio

    r(e, f) = (c(e, f) + prior(e, f)) N / ((c(e) + s) (c(f) + s)) + floor

which is p(f|e) / p(f) and p(e|f) / p(e) at once, with s taken off rare words. The emission of a word pair is the
geometric mean of its ratios over the views: an average of logits, as over the heads of one attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.corpus import Bucket, EncodedSide

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

PIECE = 1 << 24  # cells that are numbered at a time: 128 MB of keys
RAREST = 1e-3  # expected null count of a word that was never unaligned


@dataclass(frozen=True)
class PairIndex:
    """The word pairs that meet in a bitext, numbered.

    Attributes
    ----------
    source, target : int32 arrays of shape (P,)
        The two words of each pair; pair 0 is the padding.
    cells : list of int32 arrays of shape (T, S, B)
        Number of the word pair of every cell of every bucket.
    """

    source: Ints
    target: Ints
    cells: list[Ints]

    def __len__(self) -> int:
        return len(self.source)


def index_pairs(buckets: Sequence[Bucket], targets: int) -> PairIndex:
    """Number the word pairs that meet in the sentence pairs of `buckets`; `targets` is the number of target words."""
    found, cells = [], []
    for piece in _pieces(buckets):
        keys, numbers = _rank(_keys(piece, targets), piece)
        found.append(keys)
        cells.extend(numbers)
    keys = found[0] if len(found) == 1 else np.unique(np.concatenate([np.zeros(1, np.int64), *found]))
    if len(found) > 1:
        _renumber(cells, buckets, found, keys)
    return PairIndex((keys // (targets + 1)).astype(np.int32), (keys % (targets + 1)).astype(np.int32), cells)


def _pieces(buckets: Sequence[Bucket]) -> list[list[Bucket]]:
    """Cut the buckets into runs of at most about PIECE cells."""
    pieces: list[list[Bucket]] = []
    size = PIECE
    for bucket in buckets:
        if size + bucket.cells > PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(bucket)
        size += bucket.cells
    return pieces


def _keys(buckets: Sequence[Bucket], targets: int) -> Longs:
    """Return ``source * (targets + 1) + target`` of every cell, 0 where padded, and one 0 at the end."""
    keys = np.zeros(sum(b.cells for b in buckets) + 1, dtype=np.int64)
    start = 0
    for b in buckets:
        block = keys[start : start + b.cells].reshape(b.shape)  # (T, S, B)
        np.add(b.source.astype(np.int64) * (targets + 1), b.target[:, None, :], out=block)
        padded = (b.source == 0)[None, :, :] | (b.target == 0)[:, None, :]
        if padded.any():
            block[padded] = 0
        start += b.cells
    return keys


def _rank(keys: Longs, buckets: Sequence[Bucket]) -> tuple[Longs, list[Ints]]:
    """Return the sorted distinct keys and the rank of each cell's key.

    A key and the number of its cell share one integer, so that a plain sort does the work of np.unique with
    its slow argsort. `keys` is overwritten.
    """
    bits = int(len(keys)).bit_length()
    keys <<= bits
    keys |= np.arange(len(keys))
    keys.sort()
    cell = keys & ((1 << bits) - 1)
    keys >>= bits
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    numbers = np.empty(len(keys), dtype=np.int32)
    numbers[cell] = np.cumsum(new, dtype=np.int32) - 1
    cuts = np.cumsum([b.cells for b in buckets])
    parts = np.split(numbers, cuts)
    return keys[new], [part.reshape(b.shape) for part, b in zip(parts, buckets, strict=False)]


def _renumber(cells: list[Ints], buckets: Sequence[Bucket], found: list[Longs], keys: Longs) -> None:
    """Turn the numbers within each piece into numbers among all `keys`, in place."""
    k = 0
    for piece, own in zip(_pieces(buckets), found, strict=True):
        number = np.searchsorted(keys, own).astype(np.int32)
        for _ in piece:
            cells[k] = number[cells[k]]
            k += 1


def shorten(words: Sequence[str], letters: int) -> tuple[Ints, list[str]]:
    """Number the first `letters` letters of each word (0: whole words, negative: the last letters).

    Returns
    -------
    numbers : int32 array of shape (len(words),)
    forms : list of str
        ``forms[numbers[k]]`` is the shortened ``words[k]``; form 0 is the padding "".
    """
    number: dict[str, int] = {"": 0}
    cut = slice(letters, None) if letters < 0 else slice(0, letters or None)
    numbers = np.fromiter((number.setdefault(w[cut], len(number)) for w in words), np.int32, len(words))
    return numbers, list(number)


@dataclass(frozen=True)
class View:
    """The word pairs of a bitext seen through shortened words.

    Attributes
    ----------
    letters : int
        As of :func:`shorten`.
    source_forms, target_forms : list of str
    source_number, target_number : int32 arrays
        Form of each source and target word.
    pair : int32 array of shape (P,) or None
        Number of the view's pair for each word pair; None where they are the same.
    source, target : int32 arrays of shape (Q,)
        Forms of the view's pairs.
    prior : float32 array of shape (Q,)
        Counts added beforehand.
    """

    letters: int
    source_forms: list[str]
    target_forms: list[str]
    source_number: Ints
    target_number: Ints
    pair: Ints | None
    source: Ints
    target: Ints
    prior: Floats

    def counts(self, counts: Doubles) -> Doubles:
        """Sum counts of word pairs (P,) into counts of the view's pairs (Q,)."""
        return counts if self.pair is None else np.bincount(self.pair, counts, len(self.source))

    @cached_property
    def spelled_alike(self) -> NDArray[np.bool_]:
        """Which of the view's pairs are the same string, of three letters or more or with a digit."""
        place = {form: k for k, form in enumerate(self.target_forms)}
        same = np.array([place.get(form, -1) if _telling(form) else -1 for form in self.source_forms])
        return same[self.source] == self.target

    def spread(self, values: Floats) -> Floats:
        """Return values of the view's pairs (Q,) for each word pair (P,)."""
        return values if self.pair is None else values.take(self.pair)


def _telling(form: str) -> bool:
    """Tell whether two words with this spelling are likely to be translations."""
    return len(form) > 2 or any(c.isdigit() for c in form)
