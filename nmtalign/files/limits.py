"""Limits of what several readers read from files that others have written.

Modules read these constants as ``limits.NAME``, so that a test can set one of them for all readers.
"""

from __future__ import annotations

MAX_LINE_BYTES = 1 << 26
MAX_JSON_DEPTH = 100  # lists and objects inside each other
MAX_COMPRESSION_RATIO = 100  # decompressed bytes per compressed byte, above the free sizes below

# Any compressed file may decompress to this size. The bound is small because one byte of text may become a
# Python object of 100 bytes.
FREE_DECOMPRESSED_BYTES = 1 << 22
FREE_ARRAY_BYTES = 1 << 26  # any archive of arrays may decompress to this size


def max_decompressed_size(size: int) -> int:
    """Return how many bytes a compressed file of `size` bytes may decompress to."""
    return max(FREE_DECOMPRESSED_BYTES, MAX_COMPRESSION_RATIO * size)
