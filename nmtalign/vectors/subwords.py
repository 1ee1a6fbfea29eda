"""Vectors of words from their character n-grams: fastText's sub-words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError

_FNV_START = np.uint32(2166136261)
_FNV_PRIME = np.uint32(16777619)
_BLOCK = 4_096  # words composed at a time, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class CharacterNgrams:
    """One vector for each hash bucket of character n-grams.

    Parameters
    ----------
    matrix : array of shape (K, D)
        The vectors of the K buckets.
    shortest, longest : int
        Length of the n-grams in characters; a word is read as ``<word>``.

    Notes
    -----
    The hash is 32-bit FNV-1a over the UTF-8 bytes, each taken as a signed number, modulo K: as in fastText,
    Bojanowski et al. (2017), "Enriching Word Vectors with Subword Information", section 3.2.
    """

    matrix: NDArray[Any]
    shortest: int
    longest: int

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.dtype.kind != "f":
            raise DataError(f"expected sub-word vectors of shape (K, D), found {self.matrix.shape}")
        if self.shortest < 0 or self.longest < self.shortest:
            raise DataError(f"sub-words of {self.shortest} to {self.longest} characters make no sense")

    def __str__(self) -> str:
        return f"{len(self.matrix):,} vectors of {self.shortest} to {self.longest} characters"

    def buckets(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the buckets of all n-grams of the words, and where each word's begin, shape (N + 1,)."""
        owners, hashes = ngram_hashes(words, self.shortest, self.longest)
        starts = np.searchsorted(owners, np.arange(len(words) + 1))
        return (hashes % np.uint32(len(self.matrix))).astype(np.int64), starts

    def sums(
        self, words: Sequence[str], start: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Add the n-gram vectors of each word to `start`, shape (N, D); also return how many, shape (N,)."""
        result = np.asarray(start, np.float32).copy()  # (N, D)
        counts = np.zeros(len(words), np.int64)  # (N,)
        for begin in range(0, len(words) if len(self.matrix) else 0, _BLOCK):
            block = slice(begin, begin + _BLOCK)
            rows, starts = self.buckets(words[block])
            counts[block] = np.diff(starts)
            sums = result[block]  # a view
            for nth in range(counts[block].max(initial=0)):  # one after the other, as fastText adds them
                owners = np.flatnonzero(counts[block] > nth)
                sums[owners] += self.matrix[rows[starts[owners] + nth]]
        return result, counts

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of each word's n-gram vectors, shape (N, D); zeros for a word without n-grams."""
        sums, counts = self.sums(words, np.zeros((len(words), self.matrix.shape[1]), np.float32))
        mean: NDArray[np.float32] = sums / np.maximum(counts, 1).astype(np.float32)[:, None]
        return mean

    def complete(self, words: Sequence[str], own: NDArray[Any]) -> NDArray[np.float32]:
        """Return the vectors of known words: the mean of their own vector (N, D) and their n-grams'."""
        sums, counts = self.sums(words, own)
        mean: NDArray[np.float32] = sums / (counts + 1).astype(np.float32)[:, None]
        return mean


def ngram_hashes(
    words: Sequence[str], shortest: int, longest: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Hash all character n-grams of ``<word>``; single boundary marks are left out.

    All words are hashed together: step k takes the next character of every n-gram still growing.

    Returns
    -------
    (owners, hashes) : arrays of shape (M,)
        The word each n-gram belongs to (ascending), and its hash.
    """
    texts = [f"<{word}>".encode("utf-8", "surrogatepass") for word in words]
    raw = np.frombuffer(b"".join(texts) + b"\x00" * 4, np.uint8)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)  # (N,)
    word_of = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    first = np.flatnonzero((raw[: len(word_of)] & 0xC0) != 0x80)  # bytes that begin a character
    size = _character_bytes(raw, len(word_of))
    place, hashes, origin = first.copy(), np.full(len(first), _FNV_START), first
    owners, found, starts = [], [], []
    begins = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    for length in range(1, longest + 1):
        growing = place < ends[word_of[origin]]
        place, hashes, origin = place[growing], hashes[growing], origin[growing]
        hashes, place = _add_character(raw, size, hashes, place)
        if length >= max(shortest, 1):
            word = word_of[origin]
            kept = (origin > begins[word]) & (place < ends[word]) if length == 1 else slice(None)
            owners.append(word[kept])
            found.append(hashes[kept])
            starts.append(origin[kept])
    return _in_word_order(owners, found, starts)


def _character_bytes(raw: NDArray[np.uint8], stop: int) -> NDArray[np.int64]:
    """Return how many bytes the character that begins at each byte has, shape (stop,)."""
    lead = raw[:stop]
    return 1 + (lead >= 0xC0).astype(np.int64) + (lead >= 0xE0) + (lead >= 0xF0)


def _add_character(
    raw: NDArray[np.uint8], size: NDArray[np.int64], hashes: NDArray[np.uint32], place: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Hash one more character of every n-gram; return the new hashes and places."""
    hashes = hashes.copy()
    widths = size[place]
    for byte in range(int(widths.max(initial=0))):
        active = widths > byte
        signed = raw[place[active] + byte].view(np.int8).astype(np.int32).view(np.uint32)
        hashes[active] = (hashes[active] ^ signed) * _FNV_PRIME
    return hashes, place + widths


def _in_word_order(
    owners: list[NDArray[np.int64]], hashes: list[NDArray[np.uint32]], starts: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Sort the n-grams by word, then by where they begin, then by length."""
    if not owners:
        return np.zeros(0, np.int64), np.zeros(0, np.uint32)
    order = np.argsort(np.concatenate(starts), kind="stable")
    return np.concatenate(owners)[order], np.concatenate(hashes)[order]
