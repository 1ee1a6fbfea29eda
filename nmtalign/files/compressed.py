"""Bytes in and out: plain and compressed files, and standard streams."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast
from weakref import WeakSet

from nmtalign.errors import TOO_MANY_OPEN_FILES, DataError, UsageError, error_text, require_extra
from nmtalign.files.paths import as_path, expand_home, reraise_as_data_error, unreadable_file_error
from nmtalign.files.sniffing import HEAD_BYTES, XML, check_readable, detect_compression

MAX_COMPRESSION_RATIO = 100  # decompressed bytes per compressed byte, above the free sizes
# Any compressed file may decompress to this size. The bound is small because one byte of text may become a
# Python object of 100 bytes.
FREE_DECOMPRESSED_BYTES = 1 << 22
_BUFFER_BYTES = 1 << 17
_MAX_SHOWN_MEMBERS = 3  # an error names at most this many members of a zip archive
_ZSTD_INPUT_BYTES = 1 << 9  # so few compressed bytes decompress to at most 16 MB at a time
# The decompressors raise these errors if a file is damaged or truncated.
DECOMPRESSION_ERRORS = (EOFError, OSError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)
_open_inputs: WeakSet[io.FileIO] = WeakSet()  # for progress


def max_decompressed_size(size: int) -> int:
    """Return how many bytes a compressed file of `size` bytes may decompress to."""
    return max(FREE_DECOMPRESSED_BYTES, MAX_COMPRESSION_RATIO * size)


def open_binary(path: str | Path, mode: str = "r") -> BinaryIO:
    """Open `path` as bytes; ``-`` is a standard stream.

    An input file is decompressed if its first bytes or its ending show that it is compressed (.gz, .bz2,
    .xz, .zst, or .zip with one file). An output file is compressed according to its ending.
    """
    if str(path) == "-":
        return sys.stdin.buffer if mode == "r" else sys.stdout.buffer
    return _open_input(path) if mode == "r" else _open_output(path)


def format_ending(path: str | Path) -> str:
    """Return the ending that names the format, such as ``.tsv`` for ``pairs.tsv.gz``."""
    name = Path(path)
    if name.suffix.lower() in _DECOMPRESSORS:
        name = Path(name.stem)
    return name.suffix.lower()


def path_of_prefix(prefix: str, ending: str) -> str:
    """Return the path of one of the files of a prefix, whose own ending may say that they are compressed.

    >>> path_of_prefix("corpus", ".extract"), path_of_prefix("out/corpus.gz", ".extract")
    ('corpus.extract', 'out/corpus.extract.gz')
    """
    name, compression = os.path.splitext(prefix)
    return f"{name}{ending}{compression}" if compression.lower() in _COMPRESSORS else prefix + ending


def fraction_read(paths: Sequence[str]) -> float | None:
    """Return the fraction of bytes already read from the open files among `paths`; None if unknown."""
    size = read = 0
    for file in list(_open_inputs):
        if not file.closed and str(file.name) in paths and file.seekable():
            size += os.fstat(file.fileno()).st_size
            read += file.tell()
    return read / size if size else None


def _open_input(path: str | Path) -> BinaryIO:
    """Open a file for reading, decompressed if it is compressed."""
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
        head = stream.peek(HEAD_BYTES)
        ending = Path(path).suffix.lower()
        detected_ending = detect_compression(head)
        if detected_ending is None and ending in _DECOMPRESSORS:
            check_readable(head, expected=f"a file compressed as {ending}", readable=(XML,))
        ending = detected_ending or ending
        if ending not in _DECOMPRESSORS:
            return stream
        decompressor = _DECOMPRESSORS[ending](stream)
        return io.BufferedReader(_BoundedReader(decompressor, stream), _BUFFER_BYTES)
    except DataError as error:
        stream.close()
        raise error.at(path) from None
    except (OSError, UsageError):
        stream.close()
        raise


def _open_zip_member(file: io.BufferedReader) -> IO[bytes]:
    """Return a decompressor of the only file in a zip archive; a DataError if there are several.

    Folders, and what macOS adds to archives, do not count.
    """
    if not file.seekable():
        raise DataError("expected text or data from a pipe, found a ZIP archive; unpack it first")
    with reraise_as_data_error(file.name, "the zip archive is damaged or ends too early"):
        archive = zipfile.ZipFile(cast(BinaryIO, file))
    members = []
    for member in archive.infolist():
        parts = PurePosixPath(member.filename).parts
        is_hidden = "__MACOSX" in parts or not parts or parts[-1].startswith(".")
        if not member.is_dir() and not is_hidden:
            members.append(member)
    if len(members) != 1:
        shown = [member.filename for member in members[:_MAX_SHOWN_MEMBERS]]
        if len(members) > len(shown):
            shown.append("...")
        files = f"{len(members)} files ({', '.join(shown)})" if members else "no file"
        raise DataError(f"expected one file, found a ZIP archive of {files}; unpack it, and name the file")
    with reraise_as_data_error(file.name, "the file in the zip archive cannot be unpacked"):
        return archive.open(members[0])


class _BoundedReader(io.RawIOBase):
    """Decompressed bytes of a file; a DataError if they exceed :func:`max_decompressed_size`.

    Closing the reader closes the file.
    """

    def __init__(self, decompressor: Any, file: io.BufferedReader) -> None:
        self._decompressor = decompressor
        self._file = file
        self._bytes_left = sys.maxsize
        if file.seekable():  # a pipe has no size
            self._bytes_left = max_decompressed_size(os.fstat(file.fileno()).st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._decompressor.readinto(buffer)
        self._bytes_left -= size
        if self._bytes_left < 0:
            limit = f"{FREE_DECOMPRESSED_BYTES:,} bytes and {MAX_COMPRESSION_RATIO} times its size"
            error = DataError(f"the file unpacks to over {limit}; unpack it yourself if that is right")
            raise error.at(self._file.name)
        return size

    def close(self) -> None:
        super().close()
        self._decompressor.close()
        self._file.close()


def _import_zstandard() -> Any:
    with require_extra("zst", "a .zst file needs the package zstandard"):
        import zstandard
    return zstandard


class _ZstandardReader(io.RawIOBase):
    """Decompresses frame after frame.

    zstandard's own reader does not raise an error if a file is truncated.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        zstandard = _import_zstandard()
        self._file = file
        self._error = zstandard.ZstdError
        self._start = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._start()
        self._compressed = b""
        self._decompressed = io.BytesIO()
        self._inside_frame = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            size = self._decompressed.readinto(buffer)
            if size:
                return size
            if not self._compressed:
                self._compressed = self._file.read(_ZSTD_INPUT_BYTES) or b""
            if not self._compressed:
                if self._inside_frame:
                    raise EOFError("the last frame has no end")
                return 0
            self._decompress()

    def _decompress(self) -> None:
        try:
            self._decompressed = io.BytesIO(self._frame.decompress(self._compressed))
        except self._error as error:
            raise EOFError(error_text(error)) from None
        self._compressed = self._frame.unused_data
        self._inside_frame = not self._frame.eof
        if self._frame.eof:
            self._frame = self._start()


_DECOMPRESSORS: dict[str, Callable[[io.BufferedReader], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _ZstandardReader,
    ".zip": _open_zip_member,
}


def _open_output(path: str | Path) -> BinaryIO:
    path = as_path(path)
    if path.is_dir():
        raise UsageError(f"{path}: this is a folder; name a file")
    ending = path.suffix.lower()
    make_compressor = _COMPRESSORS.get(ending)
    file: io.BufferedWriter = io.BufferedWriter(_OutputFile(path, "w"))
    if make_compressor is None:
        return file
    try:
        compressor = make_compressor(file)
    except UsageError:
        file.close()
        raise
    return cast(BinaryIO, _CompressedWriter(compressor, file))


class _OutputFile(io.FileIO):
    """An output file whose errors name it; the system's error of a full disk does not."""

    def write(self, data: Any) -> int:
        """Write all bytes, or raise an error: gzip does not check how many were written."""
        unwritten = memoryview(data)
        with self._named_errors():
            while unwritten:
                unwritten = unwritten[super().write(unwritten) :]
        return len(data)

    def close(self) -> None:
        """Close the file; on a network drive, only closing may show that the disk is full."""
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
    """Compresses what is written; closing the writer closes the file.

    A compressor that opened the file itself would raise errors without its name.
    """

    def __init__(self, compressor: Any, file: io.BufferedWriter) -> None:
        self._compressor = compressor
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._compressor.write(data)
        return len(data)

    def flush(self) -> None:
        if not self._compressor.closed:
            self._compressor.flush()

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._compressor.close()
        finally:
            super().close()
            self._file.close()


# The level of the program gzip: Python's default, 9, takes more than twice the time for files 1 % smaller.
_GZIP_LEVEL = 6
# The gzip header contains neither a name nor a time, so that the same text gives identical files.
_COMPRESSORS: dict[str, Callable[[io.BufferedWriter], Any]] = {
    ".gz": lambda file: gzip.GzipFile("", "wb", _GZIP_LEVEL, fileobj=file, mtime=0),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".zst": lambda file: _import_zstandard().ZstdCompressor().stream_writer(file, closefd=False),
}
