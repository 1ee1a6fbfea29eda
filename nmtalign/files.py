"""Text in and out: compressed files, standard streams, and lines that end at ``\\n`` and nowhere else.

Lone carriage returns, U+2028, U+0085 and other characters that ``str.splitlines`` cuts at stay inside
their line, so that line n of one file never becomes line n + 1.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast
from uuid import uuid4
from weakref import WeakSet

from nmtalign.door import as_path, expand_home
from nmtalign.errors import FILES_USED_UP, DataError, NmtalignError, UsageError, class_and_text, text_of
from nmtalign.signatures import HEAD_BYTES, WIDE_ENCODINGS, check_readable, compression_of, encoding_of

T = TypeVar("T")
Packed = io.FileIO | io.BufferedReader  # the bytes of a compressed file

_BLOCK = 1 << 17
_PIECE = 1 << 9  # packed bytes given to zstandard at a time: they unpack to at most 16 MB
LONGEST_LINE = 1 << 26  # bytes
FREE_SIZE = 1 << 22  # bytes that any packed file may unpack to; a byte may become an object of 100 bytes
HIGHEST_RATIO = 100  # how many times its own size a larger one may unpack to
DEEPEST = 100  # lists and objects of JSON inside each other
# What the decompressors raise on a damaged or cut-off file.
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)
_LONE_RETURNS = (
    "expected lines that end in \\n or \\r\\n, found only carriage returns (\\r), as old Macs wrote them; "
    "convert the line ends: tr '\\r' '\\n' < OLD > NEW"
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ENDING = 40  # characters of a name that its partial file keeps: those of some languages take 4 bytes
_inputs: WeakSet[io.FileIO] = WeakSet()  # that are being read


@contextmanager
def guarded_read(path: str | Path, expected: str = "the file is damaged") -> Iterator[None]:
    """Turn all that a file written by others makes its reader raise into a DataError that names the file.

    Arguments of the caller are to be checked before: whatever goes wrong inside is the fault of the file.
    """
    try:
        yield
    except DataError as error:
        raise error.at(path) from None
    except NmtalignError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FILES_USED_UP:
            error.filename = error.filename or str(path)
            raise
        if isinstance(error, OSError) and str(error.filename) == str(path):
            raise _unreadable(error) from None
        raise DataError(f"{expected} ({class_and_text(error)})").at(path) from error


def _unreadable(error: OSError) -> DataError:
    """Return the error of the system about a file, such as that it is not there, as bad data."""
    hint = ", expected a file" if isinstance(error, IsADirectoryError) else ""
    return DataError(f"{error.strerror or error}{hint}").at(str(error.filename))


def named(path: str | Path, records: Iterator[T]) -> Iterator[T]:
    """Yield the records of a file, with the errors of :func:`guarded_read`."""
    with guarded_read(path):
        yield from records


def side_by_side(columns: Iterable[Iterable[Any]], files: Sequence[str | Path]) -> Iterator[tuple[Any, ...]]:
    """Yield the lines of several files together; unequal numbers of lines are a DataError at the end."""
    longest, missing = 0, [0] * len(files)
    for row in zip_longest(*columns):
        longest += 1
        if None in row:
            missing = [count + (line is None) for count, line in zip(missing, row, strict=True)]
        else:
            yield row
    if any(missing):
        raise unequal_lines([longest - count for count in missing], files)


def unequal_lines(counts: Iterable[int], files: Iterable[str | Path]) -> DataError:
    """Return the error of files with these numbers of lines."""
    lines = " and ".join(f"{count:,} in {file}" for count, file in zip(counts, files, strict=True))
    advice = "a line is missing or too many, so the lines after it do not belong together"
    return DataError(f"expected as many lines in each file, found {lines}; {advice}")


def file_in(folder: Path, name: str, listed: Collection[str] | None = None) -> Path:
    """Return the path of a file that a folder written by others makes us open.

    A DataError unless the file is there, is plain (a pipe waits, a device has no end), lies inside the folder
    wherever links lead, and is `listed`, where the folder has a list.
    """
    path = folder / name
    with guarded_read(path, "expected a plain file"):  # a name may be none, a link may lead to itself
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"expected a file inside the folder, found {name!r}, which leads out of it")
        if not path.is_file():
            raise DataError(f"expected a plain file, found {'something else' if path.exists() else 'none'}")
        if listed is not None and name not in listed:
            raise DataError("expected a file that meta.json lists, found one that it does not")
    return path


# Control characters other than tab and line feed, line breaks, and what turns the direction of text
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""Return text that a terminal only shows, whatever commands words hold; tabs and line ends stay.

    >>> escape_controls("a\x1b[2Jb\u202e\tc")
    'a\\x1b[2Jb\\u202e\tc'
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _Borrowed(io.TextIOWrapper):
    """Text over a stream that belongs to someone else: closing only flushes and lets go.

    On a terminal, control characters of words are escaped.
    """

    _released = False

    def write(self, text: str) -> int:
        return super().write(escape_controls(text) if self.isatty() else text)

    def close(self) -> None:
        if not self._released:
            self._released = True
            self.detach()


@contextmanager
def extra(name: str, need: str, advice: str = "") -> Iterator[None]:
    """Name the extra of nmtalign to install where an import in the block fails; `need` says what for."""
    try:
        yield
    except ImportError:
        raise UsageError(f"{need}: pip install 'nmtalign[{name}]'{advice}") from None


def _zstandard() -> Any:
    with extra("zst", "a .zst file needs the package zstandard"):
        import zstandard
    return zstandard


class _ZstandardReader(io.RawIOBase):
    """Unpacks frame after frame; zstandard's own reader takes a cut-off file for its end."""

    def __init__(self, file: Packed) -> None:
        zstandard = _zstandard()
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
            self._packed = self._packed or self._file.read(_PIECE)
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
            raise EOFError(text_of(error)) from None
        self._packed, self._inside = self._frame.unused_data, not self._frame.eof
        if self._frame.eof:
            self._frame = self._start()


class _Bounded(io.RawIOBase):
    """Unpacked bytes of a file, which is closed with them; refused where they are out of all proportion."""

    def __init__(self, unpacker: Any, file: Packed) -> None:
        self._unpacker, self._file = unpacker, file
        self._left = most_unpacked(os.fstat(file.fileno()).st_size) if file.seekable() else sys.maxsize

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._unpacker.readinto(buffer)
        self._left -= size
        if self._left < 0:
            much = f"over {FREE_SIZE:,} bytes and {HIGHEST_RATIO} times its size"
            error = DataError(f"the file unpacks to {much}; unpack it yourself if that is right")
            raise error.at(self._file.name)
        return size

    def close(self) -> None:
        super().close()
        self._unpacker.close()
        self._file.close()


def most_unpacked(size: int) -> int:
    """Return the most bytes that a packed file of some size may unpack to."""
    return max(FREE_SIZE, HIGHEST_RATIO * size)


def unpacked(file: Packed, ending: str) -> io.BufferedReader:
    """Return what a file holds that is packed as an ending such as ``.gz`` says."""
    return io.BufferedReader(_Bounded(_UNPACKERS[ending](file), file), _BLOCK)


def format_ending(path: str | Path) -> str:
    """Return the ending that names the format: ``.tsv`` of ``pairs.tsv.gz``."""
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() in _UNPACKERS else name.suffix.lower()


def open_binary(path: str | Path, mode: str = "r") -> BinaryIO:
    """Open `path` as bytes; ``-`` is a standard stream.

    What is read is unpacked if its first bytes or its ending say that it is compressed (.gz, .bz2, .xz,
    .zst); what is written is packed as its ending says.
    """
    if str(path) == "-":
        return sys.stdin.buffer if mode == "r" else sys.stdout.buffer
    return _open_input(path) if mode == "r" else _open_output(path)


def _open_input(path: str | Path) -> BinaryIO:
    as_path(path)
    try:
        file = io.FileIO(expand_home(path))
    except OSError as error:
        if error.errno in FILES_USED_UP:
            raise
        raise _unreadable(error) from None
    _inputs.add(file)
    stream: io.BufferedReader = io.BufferedReader(file, _BLOCK)
    try:
        # The content decides: a file may have lost its ending, or have that of another compression.
        head, ending = stream.peek(HEAD_BYTES), Path(path).suffix.lower()
        found = compression_of(head)
        if found is None and ending in _UNPACKERS:
            check_readable(head, expected=f"a file compressed as {ending}")
        ending = found or ending
        return unpacked(stream, ending) if ending in _UNPACKERS else stream
    except DataError as error:
        stream.close()
        raise error.at(path) from None
    except (OSError, UsageError):
        stream.close()
        raise


_UNPACKERS: dict[str, Callable[[Packed], Any]] = {
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
    make_packer = _PACKERS.get(ending)
    file: io.BufferedWriter = io.BufferedWriter(_Written(path, "w"))
    if make_packer is None:
        return file
    try:
        packer = make_packer(file)
    except UsageError:
        file.close()
        raise
    return cast(BinaryIO, _Packed(packer, file))


def share_read(paths: Sequence[str]) -> float | None:
    """Return which share of their bytes is read of those files that are open; None where that is unknown."""
    files = [
        file for file in list(_inputs) if not file.closed and str(file.name) in paths and file.seekable()
    ]
    size = sum(os.fstat(file.fileno()).st_size for file in files)
    return sum(file.tell() for file in files) / size if size else None


class _Written(io.FileIO):
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


class _Packed(io.RawIOBase):
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
_PACKERS: dict[str, Callable[[io.BufferedWriter], Any]] = {
    ".gz": lambda file: gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".zst": lambda file: _zstandard().ZstdCompressor().stream_writer(file, closefd=False),
}


def open_text(path: str | Path, mode: str = "r") -> io.TextIOWrapper:
    """Open `path` as text, compressed as in :func:`open_binary`; ``-`` is standard input or output.

    Line ends are neither translated on the way in nor on the way out.
    """
    stream = open_binary(path, mode)
    if str(path) == "-":
        return _Borrowed(stream, encoding="utf-8", newline="\n")
    return io.TextIOWrapper(stream, encoding="utf-8", newline="\n")


def new_partial(path: Path) -> Path:
    """Make an empty file beside `path` whose name no other process has; it keeps the ending of `path`."""
    partial = path.with_name(f".partial-{uuid4().hex}-{path.name[-_ENDING:]}")
    try:
        partial.open("xb").close()
    except OSError as error:
        error.filename = str(path)  # the name that is known
        raise
    return partial


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size of a file and the SHA-256 of its bytes."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}


def read_lines(
    path: str | Path, *, encoding: str = "utf-8", on_error: Callable[[DataError], object] | None = None
) -> Iterator[str]:
    """Yield the lines of `path` without their end: ``\\n``, or ``\\r\\n`` as Windows writes it.

    A byte order mark at the start is dropped, and decides on the encoding, whatever `encoding` says: files
    in UTF-16 and UTF-8 can be read together. Any other character stays where it is, so the n-th line out is
    the n-th line in. The file is read as it is consumed; a DataError names the line. With `on_error` it is
    passed on, and the line is empty. A file of another kind, such as an archive or a PDF, is a DataError that
    names the kind.
    """
    for line in try_lines(path, encoding=encoding):
        if not isinstance(line, DataError):
            yield line
        elif on_error is None:
            raise line
        else:
            on_error(line)
            yield ""


def check_encoding(name: str) -> None:
    """Raise UsageError unless Python knows the encoding, and lines in it can be told apart."""
    try:
        wide = codecs.lookup(name).name in WIDE_ENCODINGS
        why = "" if wide or b"\n".decode(name) == "\n" else "in which lines end otherwise"
    except (LookupError, ValueError, TypeError) as error:
        why = str(error)
    if why:
        expected = "expected an encoding such as utf-8 or cp1252"
        raise UsageError(f"{expected}, found {name} ({why}); convert the file to UTF-8")


def try_lines(path: str | Path, *, encoding: str = "utf-8") -> Iterator[str | DataError]:
    """Yield what :func:`read_lines` does, with the error in the place of a line that is not `encoding`."""
    check_encoding(encoding)
    stream = open_binary(path)
    number = 0
    try:
        blocks, encoding = _recognized(_blocks(stream), encoding, path)
        kept = "utf-8" if encoding in WIDE_ENCODINGS else encoding
        for block in _whole_lines(blocks):
            if number == 0 and b"\r" in block and b"\n" not in block:
                raise DataError(_LONE_RETURNS).at(path)
            if len(block) >= LONGEST_LINE and b"\n" not in block[:LONGEST_LINE]:
                raise DataError(f"expected at most {LONGEST_LINE:,} bytes").at(path, line=number + 1)
            lines = _decoded(block, kept, named=encoding)
            if number == 0 and isinstance(lines[0], str):
                lines[0] = lines[0].removeprefix("\ufeff")
            for line in lines:
                number += 1
                yield line if isinstance(line, str) else line.at(path, line=number)
    except DAMAGE as error:
        damage = DataError(f"the compressed file is damaged or cut off ({text_of(error)})")
        raise damage.at(path, line=number + 1) from None
    finally:
        if str(path) != "-":
            stream.close()


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a stream as they come, without waiting for a full block."""
    read = getattr(stream, "read1", stream.read)
    while block := read(_BLOCK):
        yield block


def _recognized(blocks: Iterator[bytes], encoding: str, path: str | Path) -> tuple[Iterator[bytes], str]:
    """Return the blocks of a text file, and the encoding that its first bytes tell.

    UTF-16 and UTF-32 become UTF-8 here, so that lines end at one byte. A DataError if the file is not text.
    """
    head = b""
    for block in blocks:
        head += block
        if len(head) >= HEAD_BYTES or b"\n" in head:  # who types a line waits for its links
            break
    try:
        check_readable(head)
        found = encoding_of(head, encoding)
    except DataError as error:
        raise error.at(path) from None
    blocks = chain([head], blocks)
    return (_as_utf8(blocks, found, path) if found in WIDE_ENCODINGS else blocks), found


def _as_utf8(blocks: Iterator[bytes], encoding: str, path: str | Path) -> Iterator[bytes]:
    """Yield text as UTF-8; half a character becomes bytes that are not UTF-8, an error of its line."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        for block in blocks:
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DataError(f"expected {encoding} text ({error.reason})").at(path) from None
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        yield b"\xff"


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes in blocks that end where a line does, or are as long as no line may be."""
    parts, size = list[bytes](), 0
    for block in blocks:
        end = block.rfind(b"\n") + 1 or (len(block) if size >= LONGEST_LINE else 0)
        if end:
            yield b"".join([*parts, block[:end]])
            parts, size = [], 0
        parts.append(block[end:])
        size += len(parts[-1])
    if size:
        yield b"".join(parts)


def _decoded(block: bytes, encoding: str, *, named: str) -> list[str | DataError]:
    """Return the lines of a block; an error, which calls the encoding `named`, in the place of a bad line."""
    try:
        text = block.decode(encoding)
        in_blocks = text.count("\n") == block.count(b"\n")  # not so in some old encodings
    except UnicodeDecodeError:
        in_blocks = False
    except UnicodeError as error:
        raise UsageError(f"text cannot be read as {encoding} ({error})") from None
    if not in_blocks:
        return [_decoded_line(raw, encoding, named=named) for raw in io.BytesIO(block).readlines()]
    lines: list[str | DataError] = [*text.replace("\r\n", "\n").split("\n")]
    return lines if lines[-1] else lines[:-1]


def _decoded_line(raw: bytes, encoding: str, *, named: str) -> str | DataError:
    try:
        line = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if named != encoding:
            return DataError(f"expected {named} text, found half of a character")
        byte = f"the byte 0x{raw[error.start]:02x} at column {error.start + 1}"
        advice = "convert the file, or name its encoding (`encoding=NAME`)"
        return DataError(f"expected {encoding} text, found {byte}; {advice}")
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def is_text(text: str) -> bool:
    """Tell whether text can be written: it holds no surrogate, which is half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_json(text: str) -> Any:
    """Return the value of JSON; a DataError if it is none, is too deep, or holds half a character."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON ({error}), found {text[:60]!r}") from None
    if text.count("[") + text.count("{") > DEEPEST and is_deep(value):
        raise DataError(f"expected JSON nested at most {DEEPEST} deep")
    if _SURROGATE.search(text) and not is_text(json.dumps(value, ensure_ascii=False)):
        raise DataError("expected JSON, found half of a character, such as \\ud83d alone")
    return value


def is_deep(value: Any) -> bool:
    """Return whether lists and objects are nested more than `DEEPEST` levels deep."""
    level = [value]
    for _ in range(DEEPEST + 1):
        lists = [part for part in level if isinstance(part, dict | list)]
        level = [*chain.from_iterable(part.values() if isinstance(part, dict) else part for part in lists)]
    return bool(lists)


def read_utf8(path: Path) -> str:
    """Return the text of a file, every line end as it is; a DataError if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"expected UTF-8 ({error})").at(path) from None


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a small JSON file holds; a DataError if it holds anything else."""
    with guarded_read(path, "expected JSON"):
        value = parse_json(read_utf8(file_in(path.parent, path.name)))
        if not isinstance(value, dict):
            raise DataError(f"expected a JSON object, found {type(value).__name__}")
    return value
