"""Bytes in and out: plain and compressed files, and standard streams."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast
from weakref import WeakSet

from nmtalign.errors import TOO_MANY_OPEN_FILES, DataError, UsageError, error_text, require_extra
from nmtalign.files import limits
from nmtalign.files.file_signatures import HEAD_BYTES, check_readable, detect_compression
from nmtalign.files.limits import max_decompressed_size
from nmtalign.files.paths import as_path, expand_home
from nmtalign.files.read_errors import unreadable_file_error

CompressedFile = io.FileIO | io.BufferedReader  # the bytes of a compressed file
_BUFFER_BYTES = 1 << 17
_ZSTD_INPUT_BYTES = 1 << 9  # packed bytes given to zstandard at a time: they unpack to at most 16 MB
# What the decompressors raise on a damaged or cut-off file.
DECOMPRESSION_ERRORS = (EOFError, OSError, lzma.LZMAError, zlib.error)
_open_inputs: WeakSet[io.FileIO] = WeakSet()  # that are being read


def open_binary(path: str | Path, mode: str = "r") -> BinaryIO:
    """Open `path` as bytes; ``-`` is a standard stream.

    What is read is unpacked if its first bytes or its ending say that it is compressed (.gz, .bz2, .xz,
    .zst); what is written is packed as its ending says.
    """
    if str(path) == "-":
        return sys.stdin.buffer if mode == "r" else sys.stdout.buffer
    return _open_input(path) if mode == "r" else _open_output(path)


def format_ending(path: str | Path) -> str:
    """Return the ending that names the format: ``.tsv`` of ``pairs.tsv.gz``."""
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() in _DECOMPRESSORS else name.suffix.lower()


def fraction_read(paths: Sequence[str]) -> float | None:
    """Return which share of their bytes is read of those files that are open; None where that is unknown."""
    files = [
        file for file in list(_open_inputs) if not file.closed and str(file.name) in paths and file.seekable()
    ]
    size = sum(os.fstat(file.fileno()).st_size for file in files)
    return sum(file.tell() for file in files) / size if size else None


def _open_input(path: str | Path) -> BinaryIO:
    as_path(path)
    try:
        file = io.FileIO(expand_home(path))
    except OSError as error:
        if error.errno in TOO_MANY_OPEN_FILES:
            raise
        raise unreadable_file_error(error) from None
    _open_inputs.add(file)
    stream: io.BufferedReader = io.BufferedReader(file, _BUFFER_BYTES)
    try:
        # The content decides: a file may have lost its ending, or have that of another compression.
        head, ending = stream.peek(HEAD_BYTES), Path(path).suffix.lower()
        found = detect_compression(head)
        if found is None and ending in _DECOMPRESSORS:
            check_readable(head, expected=f"a file compressed as {ending}")
        ending = found or ending
        return open_decompressed(stream, ending) if ending in _DECOMPRESSORS else stream
    except DataError as error:
        stream.close()
        raise error.at(path) from None
    except (OSError, UsageError):
        stream.close()
        raise


def open_decompressed(file: CompressedFile, ending: str) -> io.BufferedReader:
    """Return what a file holds that is packed as an ending such as ``.gz`` says."""
    return io.BufferedReader(_BoundedReader(_DECOMPRESSORS[ending](file), file), _BUFFER_BYTES)


class _BoundedReader(io.RawIOBase):
    """Unpacked bytes of a file, which is closed with them; refused where they are out of all proportion."""

    def __init__(self, unpacker: Any, file: CompressedFile) -> None:
        self._unpacker, self._file = unpacker, file
        self._left = (
            max_decompressed_size(os.fstat(file.fileno()).st_size) if file.seekable() else sys.maxsize
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._unpacker.readinto(buffer)
        self._left -= size
        if self._left < 0:
            bound = (
                f"{limits.FREE_DECOMPRESSED_BYTES:,} bytes and {limits.MAX_COMPRESSION_RATIO} times its size"
            )
            error = DataError(f"the file unpacks to over {bound}; unpack it yourself if that is right")
            raise error.at(self._file.name)
        return size

    def close(self) -> None:
        super().close()
        self._unpacker.close()
        self._file.close()


def _import_zstandard() -> Any:
    with require_extra("zst", "a .zst file needs the package zstandard"):
        import zstandard
    return zstandard


class _ZstandardReader(io.RawIOBase):
    """Unpacks frame after frame; zstandard's own reader takes a cut-off file for its end."""

    def __init__(self, file: CompressedFile) -> None:
        zstandard = _import_zstandard()
        self._file = file
        self._error = zstandard.ZstdError
        self._start = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._start()
        self._packed, self._unpacked = b"", io.BytesIO()
        self._inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not (size := self._unpacked.readinto(buffer)):
            self._packed = self._packed or self._file.read(_ZSTD_INPUT_BYTES)
            if not self._packed:
                if self._inside:
                    raise EOFError("the last frame has no end")
                return 0
            self._unpack()
        return size

    def _unpack(self) -> None:
        try:
            self._unpacked = io.BytesIO(self._frame.decompress(self._packed))
        except self._error as error:
            raise EOFError(error_text(error)) from None
        self._packed, self._inside = self._frame.unused_data, not self._frame.eof
        if self._frame.eof:
            self._frame = self._start()


_DECOMPRESSORS: dict[str, Callable[[CompressedFile], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _ZstandardReader,
}


def _open_output(path: str | Path) -> BinaryIO:
    path = as_path(path)
    if path.is_dir():
        raise UsageError(f"{path}: this is a folder; name a file")
    ending = path.suffix.lower()
    make_packer = _COMPRESSORS.get(ending)
    file: io.BufferedWriter = io.BufferedWriter(_OutputFile(path, "w"))
    if make_packer is None:
        return file
    try:
        packer = make_packer(file)
    except UsageError:
        file.close()
        raise
    return cast(BinaryIO, _CompressedWriter(packer, file))


class _OutputFile(io.FileIO):
    """A file to write whose errors say which file it is; that of a full disk does not by itself."""

    def write(self, data: Any) -> int:
        """Write all, not only what there is room for: gzip does not look how much it was."""
        rest = memoryview(data)
        with self._named_errors():
            while rest:
                rest = rest[super().write(rest) :]
        return len(data)

    def close(self) -> None:
        """Close the file; over a network, only this may find that the disk is full."""
        with self._named_errors():
            super().close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = str(self.name)
            raise


class _CompressedWriter(io.RawIOBase):
    """Packs what is written into a file, which is closed with it.

    A packer that opened the file itself would raise errors without its name.
    """

    def __init__(self, packer: Any, file: io.BufferedWriter) -> None:
        self._packer, self._file = packer, file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._packer.write(data)
        return len(data)

    def flush(self) -> None:
        if not self._packer.closed:
            self._packer.flush()

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._packer.close()
        finally:
            super().close()
            self._file.close()


# The gzip header has neither a name nor a time: the same text gives the same bytes.
_COMPRESSORS: dict[str, Callable[[io.BufferedWriter], Any]] = {
    ".gz": lambda file: gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".zst": lambda file: _import_zstandard().ZstdCompressor().stream_writer(file, closefd=False),
}
