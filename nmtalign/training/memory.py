"""How much memory learning may use, and how much it needs.

The numbers of bytes are rounded up from runs of ``scripts/benchmark_scaling.py growth``.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

from nmtalign.corpus.sides import EncodedSide
from nmtalign.display import short_repr
from nmtalign.errors import UsageError

BYTES_OF_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BYTES_OF_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
LOADED_BYTES = 100_000_000  # the program and its libraries, before it learns
PROGRAM_BYTES = 200_000_000  # the program while it learns in parts, whatever the text
BYTES_PER_TOKEN = 80  # tokens of both sides, if nothing is on disk
BYTES_PER_WORD = 600  # distinct words of both sides, on average, when the vectors of the model are learned
BYTES_PER_PAIR = 280  # while buckets are made
BYTES_PER_CELL = 48  # each worker has one part in memory; most while its pairs of forms are numbered
MIN_PART_CELLS = 1 << 18
MAX_PART_CELLS = 1 << 24
# Each part exchanges a slice with each range, so their number is bounded on a cluster, not their size.
CLUSTER_PART_CELLS = 1 << 22  # 10,000 to 30,000 sentence pairs
MAX_CLUSTER_PARTS = 128
CGROUP_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
_SIZE = r"\s*(\d{1,15}\.?\d{0,15}|\.\d{1,15})\s*+([kmgt]?)(i?)b?\s*"  # number, unit, and i of binary units


def memory_bytes(value: Any) -> int:
    """Return a number of bytes that is given as a number, or as text such as ``4G``.

    >>> memory_bytes("1500M"), memory_bytes("0.5 GB"), memory_bytes("1GiB"), memory_bytes(10**9)
    (1500000000, 500000000, 1073741824, 1000000000)
    """
    found = None
    if isinstance(value, str | int) and not isinstance(value, bool):
        found = re.fullmatch(_SIZE, str(value), re.IGNORECASE | re.ASCII)
    if found is None or (found[3] and not found[2]):
        expected = "expected a number of bytes as `memory`, such as 4G, 1500M or 0.5G"
        raise UsageError(f"{expected}; found {short_repr(value)}")
    unit = found[2].upper()
    size = int(float(found[1]) * (BYTES_OF_BINARY_UNITS if found[3] else BYTES_OF_UNITS)[unit])
    if size < PROGRAM_BYTES:
        needed = f"{PROGRAM_BYTES // 10**6}M, which the program needs for any text"
        raise UsageError(f"`memory` must be at least {needed}; found {short_repr(value)}")
    return size


def default_memory() -> int | None:
    """Return half of the memory that this machine has, or that its container allows; None if unknown."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # "max", or no such limit
            continue
    return max(min(limits) // 2, PROGRAM_BYTES)


def max_tokens_in_memory(memory: int | None) -> float:
    """Return how many tokens of a side are kept in memory; with more, the text does not fit."""
    return math.inf if memory is None else memory / BYTES_PER_TOKEN


def fits_in_memory(source: EncodedSide, target: EncodedSide, memory: int | None) -> bool:
    """Return whether the tokens of a text stay in memory while an aligner is learned from it.

    The numbers of its word pairs may be in a temporary file even then, see
    :func:`~nmtalign.corpus.word_pairs.index_word_pairs`.
    """
    if memory is None:
        return True
    tokens = len(source.tokens) + len(target.tokens)
    return LOADED_BYTES + BYTES_PER_TOKEN * tokens <= memory


def cells_of_parts(source: EncodedSide, target: EncodedSide, memory: int | None, workers: int) -> int:
    """Return the number of cells of the parts of a text for which learning stays below the bound.

    Raises UsageError if no number is small enough, because of what is always in memory.
    """
    if memory is None:
        return MAX_PART_CELLS
    words = len(source.words) + len(target.words)
    pairs = len(source.offsets)
    # the bytes of pairs are free again when those of words are needed
    fixed = PROGRAM_BYTES + max(BYTES_PER_PAIR * pairs, BYTES_PER_WORD * words)
    needed = fixed + MIN_PART_CELLS * BYTES_PER_CELL * workers
    if needed > memory:
        found = f"{len(source.offsets) - 1:,} pairs of {words:,} distinct words need {needed / 1e6:,.0f}M"
        raise UsageError(f"`memory` is too small: {found}; pass more, or fewer `workers`")
    cells = (memory - fixed) // (BYTES_PER_CELL * workers)
    return min(cells, MAX_PART_CELLS)


def cells_of_cluster_parts(cells: int) -> int:
    """Return the number of cells of the parts of a text on a cluster, whatever its number of workers."""
    return max(CLUSTER_PART_CELLS, -(-cells // MAX_CLUSTER_PARTS))
