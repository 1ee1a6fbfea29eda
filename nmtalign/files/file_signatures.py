"""What the first bytes of a file say: how it is compressed, how its text is encoded, or what else it is.

A file is read by its content. What cannot be read as text is named, so that nobody has to guess from an
undecodable byte.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection

from nmtalign.errors import DataError

HEAD_BYTES = 512  # enough for every signature; that of a tar archive is at byte 257

_COMPRESSIONS = {
    ".gz": re.compile(rb"\x1f\x8b\x08"),
    ".bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    ".xz": re.compile(rb"\xfd7zXZ\x00"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}

_ZIP = rb"PK\x03\x04.{26}"  # the name of the first file follows
_UNPACK_FIRST = "unpack it first"
_SAVE_AS_TEXT = "save it as plain text, one sentence per line"
_NOT_TEXT = "this command reads text"
_GIVE_PAIRS = "give it as a file of pairs whose name ends in .parquet"
_SAVE_AS_TABLE = "save it as Parquet, CSV or JSON lines"
_FOR_TEXT = (_SAVE_AS_TEXT, _NOT_TEXT, _GIVE_PAIRS, _SAVE_AS_TABLE)
_ZIP_KINDS = (
    (_ZIP + rb"(\[Content_Types\]\.xml|_rels/|docProps/|word/|xl/)", "an Office document", _SAVE_AS_TEXT),
    (_ZIP + rb"mimetypeapplication/", "an OpenDocument file or an e-book", _SAVE_AS_TEXT),
    (_ZIP + rb"[^/]+/(data\.pkl|version|\.format_version|byteorder)", "a PyTorch file", _NOT_TEXT),
    (_ZIP + rb"[^/]+\.npy", "a NumPy archive (.npz)", _NOT_TEXT),
)
_COMPRESSIONS[".zip"] = re.compile(
    rb"(?!" + rb"|".join(pattern for pattern, _, _ in _ZIP_KINDS) + rb")PK(\x03\x04|\x05\x06)", re.DOTALL
)
PICKLE, FASTTEXT, XML = "a pickle of Python", "a fastText model", "an XML file"
# kinds of files that cannot be read as text: the pattern of their first bytes, a name, and advice
_OTHER_KINDS = (
    *_ZIP_KINDS,
    (rb"PK(\x03\x04|\x05\x06|\x07\x08)", "a ZIP archive", _UNPACK_FIRST),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK_FIRST),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK_FIRST),
    (rb".{257}ustar(\x00|  \x00)", "a tar archive", _UNPACK_FIRST),
    (rb"\x1f\x8b", "data compressed by gzip", _UNPACK_FIRST),
    (rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "data compressed by bzip2", _UNPACK_FIRST),
    (rb"\xfd7zXZ\x00", "data compressed by xz", _UNPACK_FIRST),
    (rb"\x28\xb5\x2f\xfd", "data compressed by zstd", _UNPACK_FIRST),
    (rb"\x04\x22\x4d\x18", "data compressed by lz4", _UNPACK_FIRST),
    (rb"LZIP\x01", "data compressed by lzip", _UNPACK_FIRST),
    (rb"\x1f\x9d", "data compressed by compress (.Z)", _UNPACK_FIRST),
    (rb"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19\.", "a PyTorch file", _NOT_TEXT),
    (rb"\x80[\x02-\x05]", PICKLE, _NOT_TEXT),
    (rb".{4}\x00{4}\{\s*[\"}]", "a safetensors file", _NOT_TEXT),
    (rb"\x93NUMPY", "a NumPy array (.npy)", _NOT_TEXT),
    (rb"\x89HDF\r\n", "an HDF5 file", _NOT_TEXT),
    (rb"GGUF[\x00-\x0f]", "a GGUF model", _NOT_TEXT),
    (rb"\xba\x16\x4f\x2f", FASTTEXT, _NOT_TEXT),
    (rb"PAR1\x15", "a Parquet file", _GIVE_PAIRS),
    (rb"ARROW1\x00", "an Arrow file", _SAVE_AS_TABLE),
    (rb"SQLite format 3\x00", "an SQLite database", _NOT_TEXT),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document", _SAVE_AS_TEXT),
    (rb"%PDF-", "a PDF document", _SAVE_AS_TEXT),
    (rb"\{\\rtf", "an RTF document", _SAVE_AS_TEXT),
    (rb"\x89PNG\r\n|\xff\xd8\xff", "a picture", _NOT_TEXT),
    (
        rb"version https://git-lfs\.github\.com/spec/",
        "a pointer of Git LFS instead of the file",
        "fetch the file with `git lfs pull`",
    ),
    (
        rb"[^\n]{0,400}/annex/objects/\S+\s*\Z",
        "a pointer of git-annex instead of the file",
        "fetch the file with `git annex get`",
    ),
    (
        rb"\s*(?i:<!doctype\s+html[^<>]*>\s*(<|\Z)|<html(\s[^>\n]*)?>(<head>)?\s*(\n|<meta|<title))",
        "a web page (HTML)",
        "download the file itself, or save its text, one sentence per line",
    ),
    (rb"\s*<\?xml\s", XML, _NOT_TEXT),
)

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
# Characters take two or four bytes, so that a line does not end at each byte 0x0A.
WIDE_ENCODINGS = {
    *("utf-16", "utf-16-le", "utf-16-be"),
    *("utf-32", "utf-32-le", "utf-32-be"),
}


def detect_compression(head: bytes) -> str | None:
    """Return the ending, such as ``.gz``, that a compressed file with these first bytes should have."""
    for ending, pattern in _COMPRESSIONS.items():
        if pattern.match(head):
            return ending
    return None


def check_readable(
    head: bytes, *, expected: str = "text", readable: Collection[str] = (), advice_on_data: str = ""
) -> None:
    """Raise DataError if the first bytes of a file say that it is of another kind.

    `expected` names the kind that was expected, `readable` those that are read as well. `advice_on_data`
    takes the place of advice for somebody who expects text.
    """
    start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    for pattern, name, advice in _OTHER_KINDS:
        if name not in readable and re.compile(pattern, re.DOTALL).match(head, start):
            advice = advice_on_data if advice_on_data and advice in _FOR_TEXT else advice
            raise DataError(f"expected {expected}, found {name}; {advice}")


def detect_encoding(head: bytes, encoding: str) -> str:
    """Return the encoding of a text file: that of its byte order mark, or `encoding`.

    ``utf-16`` without a byte order mark becomes ``utf-16-le`` or ``utf-16-be``. Raises DataError if the first
    bytes, `HEAD_BYTES` or more, contradict `encoding`.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name
    wanted = codecs.lookup(encoding).name  # aliases have one name
    found = _wide_encoding(head[:HEAD_BYTES])
    if found is not None and not found.startswith(wanted):
        reason = f"expected {encoding} text, found {found} without a byte order mark"
        raise DataError(f"{reason}; name its encoding (`encoding={found}`)")
    if wanted in WIDE_ENCODINGS and head and b"\0" not in head:  # a space, in any script, has a zero byte
        reason = f"expected {encoding} text, found neither a byte order mark nor a zero byte"
        advice = "remove `encoding`: files with a byte order mark are recognized"
        raise DataError(f"{reason}; {advice}")
    if wanted in ("utf-16", "utf-32"):
        return found or f"{wanted}-le"
    if wanted in WIDE_ENCODINGS:
        return wanted
    return "utf-8" if wanted == "utf-8-sig" else encoding


def _wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32, with the order of its bytes, if the first bytes look like it.

    The zero bytes of ASCII characters are all at odd places, or all at even ones, and each byte 0x0A is
    one half of a line end.
    """
    zeros = [place for place, byte in enumerate(head) if not byte]
    if len(head) < 8 or len(zeros) < 2:
        return None
    if re.match(rb"([\x20-\x7e]\x00{3}){2}", head):
        return "utf-32-le"
    if re.match(rb"(\x00{3}[\x20-\x7e]){2}", head):
        return "utf-32-be"
    order = zeros[0] % 2  # 1 where the zero byte comes second
    if any(place % 2 != order for place in zeros):
        return None
    line_ends = [place for place, byte in enumerate(head[:-1]) if byte == 0x0A]
    if order:
        is_consistent = all(place % 2 == 0 and not head[place + 1] for place in line_ends)
        letters = re.search(rb"[\x20-\x7e]\x00", head)
    else:
        is_consistent = all(place % 2 == 1 and not head[place - 1] for place in line_ends)
        letters = re.search(rb"\x00[\x20-\x7e]", head)
    if not is_consistent or letters is None:
        return None
    return "utf-16-le" if order else "utf-16-be"
