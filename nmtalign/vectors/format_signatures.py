"""What a file of vectors is, from its first bytes: one of the forms that are read, or the name of another.

Text is recognized first: printable text is never taken for a binary form, whatever its lines look like.
"""

from __future__ import annotations

import codecs
import re
import struct

from nmtalign.errors import DataError

FASTTEXT_MAGIC = struct.pack("<i", 793712314)
MAX_NUMBERS = 1 << 16  # the numbers of a vector
MAX_WORDS = 1 << 31
_MAX_COUNTS_BYTES = 100
_MAX_SAFETENSORS_HEADER = 100_000_000  # bytes, as in the reader of that format
# How compressed files begin, and the endings of their names
_COMPRESSED = (
    (b"\x1f\x8b", ".gz"),
    (b"\xfd7zXZ\0", ".xz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
)
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")
# Protocols 2 to 5, and dictionaries of protocols 0 and 1
_PICKLE = re.compile(rb"\x80[\2-\5]|\(dp\d*\r?\n|\}q\0|ccollections\r?\n")
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r"))
_NOT_ASCII = bytes(range(128, 256))
_MIN_ASCII_SHARE = 0.75  # text in a one-byte encoding consists mostly of digits, which are ASCII
_IN_PYTHON = "in Python, nmtalign.Embeddings.of(words, matrix) takes its words and vectors"
_UNPACK_VECTORS = "unpack it, and name the file of vectors inside"
_UTF_16_LE, _UTF_16_BE = re.compile(rb"(?:[\t\n\r -~]\0)+"), re.compile(rb"(?:\0[\t\n\r -~])+")
# Beginnings of files that are not text, and what the error says of them
_BINARY_FILES = (
    (b"\x93NUMPY", "a NumPy array: name it X.npy, and put its dictionary word2int_X.pkl or X.json beside it"),
    (b"\x80\2\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", f"a PyTorch file; {_IN_PYTHON}"),
    (b"\x89HDF\r\n\x1a\n", f"an HDF5 file; {_IN_PYTHON}"),
    (b"SQLite format 3\0", f"an SQLite database, such as Magnitude writes; {_IN_PYTHON}"),
    (b"PAR1", f"a Parquet file; {_IN_PYTHON}"),
    (b"ARROW1", f"an Arrow file; {_IN_PYTHON}"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7z archive; {_UNPACK_VECTORS}"),
    (b"Rar!\x1a\x07", f"a RAR archive; {_UNPACK_VECTORS}"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook of Excel; save it as text with tabs"),
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "a picture"),
)
_TEXT_FILES = (
    (
        b"version https://git-lfs",
        "a pointer of Git LFS instead of the file; fetch the file with `git lfs pull`",
    ),
    (b"<!doctype", "a web page; download the file itself"),
    (b"<html", "a web page; download the file itself"),
    (b"<?xml", "an XML file"),
)


def compression(start: bytes) -> str | None:
    """Return the ending, such as ``.gz``, that files compressed like this one have; None for any other."""
    for signature, ending in _COMPRESSED:
        if start.startswith(signature):
            return ending
    return ".bz2" if _BZIP2.match(start) else None


def utf_16_or_32(start: bytes) -> str | None:
    """Return the encoding that a byte order mark of UTF-16 or UTF-32 shows; None without one."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


def looks_like_text(start: bytes) -> bool:
    """Return whether bytes have no control characters, and are UTF-8 or at least mostly ASCII.

    The last character may be truncated. Numbers in binary form have control characters among their bytes
    (each byte with a probability of 11 %), and fewer ASCII ones.
    """
    if len(start.translate(None, _CONTROL_BYTES)) < len(start):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        ascii_bytes = len(start.translate(None, _NOT_ASCII))
        return ascii_bytes >= _MIN_ASCII_SHARE * len(start)
    return True


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return words and dimension of a word2vec header such as ``20000 300``; None for any other line."""
    fields = line.split() if len(line) < _MAX_COUNTS_BYTES else []
    if len(fields) != 2 or not all(re.fullmatch(rb"-?\d{1,20}", field) for field in fields):
        return None
    words, dimension = map(int, fields)
    if not 0 < dimension <= MAX_NUMBERS or not 0 <= words <= MAX_WORDS:
        expected = f"expected at most 2^31 words of 1 to {MAX_NUMBERS}"
        raise DataError(f"the header claims {words} words of {dimension} numbers; {expected}")
    return words, dimension


def name_other_files(start: bytes) -> None:
    """Raise a DataError that names the kind of a file that begins so, if it is a known one without vectors.

    A DataError also says how to read UTF-16 without a byte order mark.
    """
    what = _other_text(start) if looks_like_text(start) else _other_binary(start)
    if what is not None:
        raise DataError(f"this is {what}")


def _other_text(start: bytes) -> str | None:
    lowered = start[:100].lstrip().lower()
    for signature, what in _TEXT_FILES:
        if lowered.startswith(signature):
            return what
    return None


def _other_binary(start: bytes) -> str | None:
    for signature, what in _BINARY_FILES:
        if start.startswith(signature):
            return what
    if is_zip(start):
        return other_zip_file(start[:1000])
    if start[257:262] == b"ustar":
        return f"a tar archive; {_UNPACK_VECTORS}"
    header_bytes = int.from_bytes(start[:8], "little")
    if start[8:9] == b"{" and 0 < header_bytes <= _MAX_SAFETENSORS_HEADER and b'"dtype"' in start:
        return "a safetensors file; a static model needs its tokenizer.json beside it: name their folder"
    for pattern, order in ((_UTF_16_LE, "le"), (_UTF_16_BE, "be")):
        # A few bytes suffice: a binary form has no run of letters that alternate with zeros
        match = pattern.match(start[:64])
        if match and len(match[0]) >= min(8, len(start)):
            return f"text in UTF-16 without a byte order mark; name its encoding (`encoding=utf-16-{order}`)"
    return None


def is_zip(start: bytes) -> bool:
    """Return whether a file begins as a zip archive does."""
    return start.startswith((b"PK\3\4", b"PK\5\6"))


def other_zip_file(start: bytes) -> str | None:
    """Return the kind of a zip archive, by the names of its first members; None if it may be any files."""
    if b"data.pkl" in start or b"/version" in start:
        return f"a PyTorch file (a zip archive); {_IN_PYTHON}"
    if b"[Content_Types].xml" in start:
        return "a workbook of Excel or another document (a zip archive); save it as text with tabs"
    if b".npy" in start:
        return "an archive of NumPy arrays: name it X.npz, and put word2int_X.pkl or X.json beside it"
    return None


def is_pickle(start: bytes) -> bool:
    """Return whether a file begins as a pickle does."""
    return _PICKLE.match(start) is not None


def is_fasttext(start: bytes) -> bool:
    """Return whether a file begins as a fastText model does; older ones have no magic number."""
    if start.startswith(FASTTEXT_MAGIC):
        return True
    if len(start) < 56:
        return False
    fields = struct.unpack("<12id", start[:56])
    dimension, loss, model, sampling = fields[0], fields[6], fields[7], fields[12]
    known_kinds = 1 <= loss <= 4 and 1 <= model <= 3
    return bool(0 < dimension < MAX_NUMBERS and known_kinds and 0 <= sampling <= 1)
