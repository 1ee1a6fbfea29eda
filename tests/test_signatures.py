"""What the first bytes of a file say: compression, encoding, and files that are not text."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import struct
import sys
import tarfile
import threading
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.files.sniffing import detect_encoding
from nmtalign.files.text_files import read_lines, try_lines
from nmtalign.links.formats import read_links
from nmtalign.links.gold import read_gold
from nmtalign.text.bitext import read_bitext

LINES = ["the house", "", "été 東京 🎉", "a\u2028b"]
TEXT = "".join(f"{line}\n" for line in LINES)


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def zip_of(name):
    return zipped(**{name: "x"})


def tarred():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.size = 2
        archive.addfile(entry, io.BytesIO(b"x\n"))
    return buffer.getvalue()


def saved(save):
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def safetensors():
    header = b'{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    return struct.pack("<Q", len(header)) + header + bytes(4)


TORCH_BEFORE_ZIP = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n"
KINDS = {
    "a ZIP archive": zipped(**{"corpus.en": "x", "corpus.fr": "x"}),
    "an Office document": zip_of("[Content_Types].xml"),
    "an OpenDocument file": zipped(mimetype="application/vnd.oasis.opendocument.text"),
    "a PyTorch file": zip_of("archive/data.pkl"),
    "a PyTorch file ": TORCH_BEFORE_ZIP,
    r"a NumPy archive \(.npz\)": saved(lambda file: np.savez(file, a=np.eye(2))),
    r"a NumPy array \(.npy\)": saved(lambda file: np.save(file, np.eye(2))),
    "a pickle of Python": pickle.dumps({"a": 1}, 4),
    "a safetensors file": safetensors(),
    "a tar archive": tarred(),
    "a pointer of Git LFS": LFS.encode(),
    "a pointer of git-annex": b"/annex/objects/SHA256E-s12--0123.en\n",
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "a web page": b"\n<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n",
    "a web page ": b'<html lang="en">\n<body>no</body>\n',
    "an XML file": b'\xef\xbb\xbf<?xml version="1.0"?><tmx/>\n',
    "an SQLite database": b"SQLite format 3\0" + bytes(84),
    "data compressed by lz4": b"\x04\x22\x4d\x18" + bytes(8),
    "a 7z archive": b"7z\xbc\xaf\x27\x1c\0\4",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_named(kind, tmp_path):
    path = tmp_path / "a.en"
    path.write_bytes(KINDS[kind])
    with pytest.raises(DataError, match=rf"a\.en: expected (text|one file), found {kind.strip()}.*; "):
        list(read_lines(path))
    for read in (read_links, read_gold) if "npz" not in kind else ():  # which may be posteriors
        with pytest.raises(DataError, match=f"found {kind.strip()}"):
            list(read(path))
    named = "a translation memory" if kind == "an XML file" else kind.strip()
    with pytest.raises(DataError, match=f"found {named}"):
        list(read_bitext(path, path))


@pytest.mark.parametrize("kind", ["a ZIP archive", "a PDF document", "a pointer of Git LFS", "a web page"])
@pytest.mark.parametrize("name", ["a.tmx", "a.xlf", "a.gz", "a.tmx.gz", "a.tsv"])
def test_it_is_named_whatever_the_ending_promises(kind, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(KINDS[kind])
    with pytest.raises(DataError, match=f"{name}: expected .*, found {kind}"):
        list(read_bitext(path))


@pytest.mark.parametrize(
    "line",
    [
        "PAR1 is a gene",
        "%PDF files",
        "<html><head/><body><p>Yes</p></body></html>",
        "BZh9 is a name",
        "version https://git",
        "PK is a name",
        "x" * 257 + "ustar",
        "{0:0}",
        "\0\0nul",
    ],
)
def test_text_that_begins_like_another_kind_is_text(line, tmp_path):
    path = tmp_path / "a"
    path.write_text(f"{line}\nmore\n", encoding="utf-8")
    assert list(read_lines(path)) == [line, "more"]


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": lambda text: zipped(a=text),
}


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("name", ["a", "a.txt", "a.gz", "a.xz", "a.tsv"])
def test_compressed_content_is_read_whatever_the_ending_says(packed, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(PACKERS[packed](TEXT.encode()))
    assert list(read_lines(path)) == LINES


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_zip_archive_in_a_pipe_is_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(zipped(a="x"),))
    writer.start()
    with pytest.raises(DataError, match="pipe: expected text or data from a pipe, found a ZIP archive"):
        list(read_lines(pipe))
    writer.join()


def test_zstandard_content_is_read_without_its_ending(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.en"
    path.write_bytes(zstandard.compress(TEXT.encode()))
    assert list(read_lines(path)) == LINES


def test_the_limit_of_compressed_files_holds_without_the_ending(tmp_path, monkeypatch):
    from nmtalign.files import compressed

    monkeypatch.setattr(compressed, "FREE_DECOMPRESSED_BYTES", 1000)
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"x\n" * 1_000_000))
    with pytest.raises(DataError, match="unpacks to over 1,000 bytes"):
        list(read_lines(path))


def test_data_compressed_twice_and_compressed_standard_input_are_named(tmp_path, monkeypatch):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"x\n")))
    with pytest.raises(DataError, match="found data compressed by gzip; unpack it first"):
        list(read_lines(path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lzma.compress(b"x\n"))))
    with pytest.raises(DataError, match="-: expected text, found data compressed by xz"):
        list(read_lines("-"))


def test_a_cut_off_file_without_its_ending_is_an_error(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(TEXT.encode() * 1000)[:-5])
    with pytest.raises(DataError, match=r"line \d+: the compressed file is damaged or truncated"):
        list(read_lines(path))


# --- encodings -----------------------------------------------------------------------------------

WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", WIDE)
def test_wide_encodings_are_read_with_and_without_a_mark(encoding, end, tmp_path):
    lines = [*LINES, "\u0a0a\u0d0a\u0a00 ab", "x" * 300_000, "no end"]
    path = tmp_path / "a"
    text = end.join(lines)
    path.write_bytes(text.encode(encoding))
    assert list(read_lines(path, encoding=encoding)) == lines
    path.write_bytes(("\ufeff" + text).encode(encoding.removesuffix("-le").removesuffix("-be") + "-be"))
    for named in ("utf-8", "cp1252", encoding[:6]):  # the mark decides
        assert list(read_lines(path, encoding=named)) == lines


@pytest.mark.parametrize("encoding", WIDE[1:3] + WIDE[4:])
def test_without_a_mark_or_a_name_the_encoding_is_named(encoding, tmp_path):
    path = tmp_path / "a"
    path.write_bytes("the house\r\nla maison\r\n".encode(encoding))
    for other in {"utf-8", "cp1252", "utf-16-be", "utf-32-le"} - {encoding}:
        with pytest.raises(DataError, match=f"a: expected .* found {encoding} .*`encoding={encoding}`"):
            list(read_lines(path, encoding=other))


def test_text_that_is_not_wide_is_not_read_as_wide(tmp_path):
    path = tmp_path / "a"
    for content in (TEXT.encode(), b"caf\xe9\n", b"0-0 1-1\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="neither a byte order mark nor a zero byte; remove `encoding`"):
            list(read_lines(path, encoding="utf-16"))
    path.write_bytes(b"")
    assert list(read_lines(path, encoding="utf-16")) == []


def test_files_with_different_marks_are_read_together(tmp_path):
    for name, encoding in (("a", "utf-16"), ("b", "utf-8-sig")):
        (tmp_path / name).write_bytes("the house\n".encode(encoding))
    for encoding in ("utf-8", "utf-16", "latin-1"):
        assert list(read_bitext(tmp_path / "a", tmp_path / "b", encoding=encoding)) == [("the house",) * 2]


def test_half_a_character_is_an_error_of_its_line(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("\ufeffa\nb\ud83d c\nd\n".encode("utf-16-le", "surrogatepass") + b"x")
    lines = list(try_lines(path))
    assert [lines[0], lines[2]] == ["a", "d"]
    for number in (2, 4):
        expected = f"line {number}: expected utf-16-le text, found an unpaired surrogate"
        assert expected in str(lines[number - 1])
    path.write_bytes(b"\xff\xfe\0\0a\0\0\0\0\0\0\xff")
    with pytest.raises(DataError, match="a: expected utf-32-le text"):
        list(read_lines(path))


@pytest.mark.parametrize("line", ["\0", "a\0", "\0a\0b", "nul\0 in\0 the text"])
def test_zero_bytes_in_other_text_are_not_utf_16(line, tmp_path):
    path = tmp_path / "a"
    path.write_text(f"{line}\nand more text\n{line}\n", encoding="utf-8")
    assert list(read_lines(path)) == [line, "and more text", line]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n")), max_size=5))
def test_utf_16_of_any_text_is_read_or_refused(lines):
    text = "".join(f"{line} \n" for line in lines)
    for encoding in ("utf-16-le", "utf-16-be"):
        raw = text.encode(encoding)
        assert detect_encoding(raw, encoding) == encoding
        try:
            found = detect_encoding(raw, "utf-16")
        except DataError:
            continue
        assert found in (encoding, "utf-16-le")


def test_lines_that_end_in_carriage_returns_alone_are_told(tmp_path):
    path = tmp_path / "a.en"
    for content in (b"the house\rthe cat\r", b"\xef\xbb\xbfone\rtwo", "one\rtwo\r".encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.en: expected lines that end in .* found only carriage"):
            list(read_bitext(path, path))
    path.write_bytes(b"a\rb\nc\r\rd\r\n")
    assert list(read_lines(path)) == ["a\rb", "c\r\rd"]


def test_encodings_whose_lines_end_otherwise_are_wrong_usage():
    with pytest.raises(UsageError, match="its line ends are not those of ASCII"):
        next(read_lines("a", encoding="cp500"))
