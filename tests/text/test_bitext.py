"""Bitexts: one record out for each record in, whatever is in the lines."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.files import text_files
from nmtalign.files.text_files import open_text, read_lines
from nmtalign.text.bitext import SentencePair, read_bitext

ODD = [
    "",
    "a\rb",
    "a\u2028b\u2029c",
    "a\x85b\x0bc\x0c",
    "nul\x00",
    "tab\there",
    "\u00a0",
    "é ’ 東京 🎉",
    "x" * 5000,
]
ENDINGS = ["", ".gz", ".bz2", ".xz", ".zst"]


def write(path, lines, end="\n"):
    with open_text(path, "w") as file:
        file.writelines(line + end for line in lines)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_odd_characters_shift_no_line(tmp_path, ending):
    source = write(tmp_path / f"a.en{ending}", ODD)
    target = write(tmp_path / f"a.fr{ending}", ODD[::-1])
    expected = [SentencePair(a, b) for a, b in zip(ODD, ODD[::-1], strict=True)]
    assert list(read_bitext(source, target)) == expected


def test_windows_lines_byte_order_mark_and_a_last_line_without_end(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\r\n\r\nthree")
    assert list(read_lines(path)) == ["one", "two\r", "", "three"]
    path.write_bytes(b"")
    assert list(read_lines(path)) == []


def test_the_same_text_gives_the_same_compressed_bytes(tmp_path):
    first, second = (write(tmp_path / name, ["a b"]) for name in ("one.gz", "other.gz"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3), (0, 1), (1, 0)])
def test_files_of_different_length_are_an_error_with_both_counts(tmp_path, source, target):
    paths = write(tmp_path / "a", ["x"] * source), write(tmp_path / "b", ["y"] * target)
    pairs = read_bitext(*paths)
    with pytest.raises(DataError, match=rf"found {source} in .*a and {target} in .*b;"):
        list(pairs)


def test_what_is_not_utf8_is_an_error_with_the_line(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("été\n".encode() + b"caf\xe9\n")
    found = r"a, line 2: expected utf-8 text, found the byte 0xe9 at column 4; .*`encoding=NAME`"
    with pytest.raises(DataError, match=found):
        list(read_lines(path))
    assert list(read_lines(path, encoding="latin-1"))[1] == "café"
    for encoding in ("utf-7-imap", "cp500", "klingon", "hex"):
        with pytest.raises(UsageError, match=rf"found {encoding} \(.*convert the file to UTF-8"):
            next(read_lines(path, encoding=encoding))
        with pytest.raises(UsageError, match=rf"found {encoding} \("):
            read_bitext(path, path, encoding=encoding)
    assert list(read_bitext(path, path, encoding="latin-1"))[1] == ("café", "café")


@pytest.mark.parametrize("block", [1, 2, 5, 1 << 17])
@given(
    content=st.lists(
        st.sampled_from([b"\n", b"\r\n", b"\r", "é".encode(), b"\xe9", b"x", "\ufeff".encode()])
    ).map(b"".join)
)
@example(content=b"x\n\xef\xbb\xbfx\n")
def test_lines_do_not_depend_on_the_blocks_they_are_read_in(content, block):
    lines = content.split(b"\n")
    expected = [line.removesuffix(b"\r") for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    expected[:1] = [line.removeprefix("\ufeff".encode()) for line in expected[:1]]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "a"
        path.write_bytes(content)
        patch.setattr(text_files, "_READ_BYTES", block)
        if b"\r" in content and b"\n" not in content:
            with pytest.raises(DataError, match="found only carriage returns"):
                list(text_files.try_lines(path))
            return
        found = list(text_files.try_lines(path))
    assert len(found) == len(expected)
    for number, (line, raw) in enumerate(zip(found, expected, strict=True), 1):
        if b"\xe9" in raw:
            assert f"line {number}: expected utf-8 text" in str(line)
            assert f"at column {lines[number - 1].index(0xE9) + 1};" in str(line)
        else:
            assert line == raw.decode()


@pytest.mark.parametrize(
    ("encoding", "content", "expected"),
    [
        ("utf-8-sig", b"\xef\xbb\xbf", [""]),
        ("utf-7", b"x+AAo-y\nz\n", ["x\ny", "z"]),
        ("cp1252", b"caf\xe9\r\n\x80", ["café", "€"]),
        ("shift_jis", "東京\n大阪\n".encode("shift_jis"), ["東京", "大阪"]),
    ],
)
def test_lines_of_other_encodings_end_where_their_bytes_do(tmp_path, encoding, content, expected):
    (tmp_path / "a").write_bytes(content)
    assert list(read_lines(tmp_path / "a", encoding=encoding)) == expected


def test_a_line_without_end_is_not_read_to_the_end(monkeypatch):
    class Endless(io.RawIOBase):
        read = 0

        def read1(self, size):
            self.read += 1
            assert self.read < 20
            return b"x" * size

    monkeypatch.setattr(text_files, "_READ_BYTES", 100)
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(text_files, "open_binary", lambda path: Endless())
    with pytest.raises(DataError, match="line 1: expected at most 1,000 bytes"):
        list(read_lines("a"))


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_cut_off_file_is_an_error_with_the_line(tmp_path, ending):
    path = write(tmp_path / f"a{ending}", [str(n * n * n) * 5 for n in range(6_000)])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"line \d+: the compressed file is damaged or truncated"):
        list(read_lines(path))


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_damaged_file_is_an_error(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"plain text\n")
    with pytest.raises(DataError, match="line 1: the compressed file is damaged"):
        list(read_lines(path))


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_files_packed_in_parts_are_read_to_the_end(tmp_path, ending):
    parts = [write(tmp_path / f"{n}{ending}", [str(n)]).read_bytes() for n in range(3)]
    path = tmp_path / f"all{ending}"
    path.write_bytes(b"".join(parts))
    assert list(read_lines(path)) == ["0", "1", "2"]


def test_fast_align_lines(tmp_path):
    path = write(tmp_path / "a", ["the cat ||| le chat", "", "|||", " ||| x", "a|||b"])
    expected = [("the cat", "le chat"), ("", ""), ("", ""), ("", "x"), ("a", "b")]
    assert list(read_bitext(path)) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ||| b ||| c", r"line 2: expected one '\|\|\|' between source and target, found 2"),
        ("a b", "line 2: expected one .* found 0"),
        ("7\ta ||| b", "line 2: .*found a tab"),
    ],
)
def test_stray_bars_and_tabs_are_errors_with_the_line(tmp_path, line, message):
    path = write(tmp_path / "a", ["x ||| y", line, "u ||| v"])
    with pytest.raises(DataError, match=message):
        list(read_bitext(path))
    errors = []
    assert list(read_bitext(path, on_error=errors.append)) == [("x", "y"), ("", ""), ("u", "v")]
    assert len(errors) == 1


def test_tsv(tmp_path):
    path = write(tmp_path / "a.tsv.gz", ["a b\tc", "", '"q\t"'])
    assert list(read_bitext(path)) == [("a b", "c"), ("", ""), ('"q', '"')]
    wide = write(tmp_path / "b.tsv", ["0.5\ten\tfr", "0.4\ten2\tfr2\textra"])
    assert list(read_bitext(wide, select=("3", "2"))) == [("fr", "en"), ("fr2", "en2")]
    with pytest.raises(DataError, match="line 1: expected 2 columns, found 3"):
        list(read_bitext(wide))
    with pytest.raises(DataError, match="line 1: expected at least 4 columns, found 3"):
        list(read_bitext(wide, select=("3", "4")))
    with pytest.raises(UsageError, match="columns counted from 1"):
        list(read_bitext(wide, select=("0", "1")))


def test_the_first_line_tells_the_format(tmp_path):
    assert list(read_bitext(write(tmp_path / "a", ["a\tb"]))) == [("a", "b")]
    assert list(read_bitext(write(tmp_path / "b", []))) == []
    with pytest.raises(DataError, match="b, line 1: expected 'source"):
        list(read_bitext(write(tmp_path / "b", ["plain text"])))


def test_formats_that_do_not_fit_the_files(tmp_path):
    path = write(tmp_path / "a", ["a ||| b"])
    with pytest.raises(UsageError, match="one file, found two; pass one file"):
        read_bitext(path, path, format="tsv")
    with pytest.raises(UsageError, match="two files, found one"):
        read_bitext(path, format="moses")
    with pytest.raises(UsageError, match="one of the bitext formats auto, moses, fast-align"):
        list(read_bitext(path, format="bars"))
    with pytest.raises(UsageError, match="only one side"):
        list(read_bitext("-", "-"))


def test_standard_input_and_output(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é ||| b\n".encode())))
    assert list(read_bitext("-")) == [("é", "b")]
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    with open_text("-", "w") as file:
        file.write("é\n")
    assert out.getvalue() == "é\n".encode()
    assert not out.closed


def test_reading_is_lazy(tmp_path):
    path = write(tmp_path / "a", ["a ||| b", "bad"])
    pairs = iter(read_bitext(path))
    assert next(pairs) == ("a", "b")


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("a.en", "the house\tla maison", "found a tab in each of the first lines; if the file contains both"),
        ("a.tsv.gz", "7\tthe house\tla maison", "a tab in each"),
        ("a.en", "the house ||| la maison", r"found '\|\|\|' in each"),
        ("a.csv", '"the house","la maison"', r"the name ends in \.csv.*`pairs=FILE`"),
        ("a.en", "fr,en", "the first line names columns of both sides"),
        ("a.po", 'msgid "a"', r"the name ends in \.po"),
    ],
)
def test_a_file_of_both_sides_as_one_side_is_told(name, line, told, tmp_path):
    both = write(tmp_path / name, [line, "", *[line] * 20])
    one = write(tmp_path / "b.fr", ["la maison"] * 22)
    for paths in ((both, one), (one, both)):
        with pytest.warns(UserWarning, match=rf"{name}: .*{told}"):
            pairs = list(read_bitext(*paths))
        assert len(pairs) == 22


@pytest.mark.parametrize("lines", [["a\tb", "c"], ["a, b", "c, d"], ["\ta", "b\t"], ["a || b", "|||"], []])
def test_lines_of_one_side_are_read_without_a_word(lines, tmp_path):
    paths = write(tmp_path / "a.en", lines), write(tmp_path / "a.fr", lines)
    assert list(read_bitext(*paths)) == [(line, line) for line in lines]


@pytest.mark.filterwarnings("ignore:.*if the file contains both sides")
@given(st.lists(st.tuples(st.text(), st.text())))
def test_two_files_come_back_line_for_line(pairs):
    import tempfile
    from pathlib import Path

    def clean(text):
        return text.replace("\n", " ").rstrip("\r")

    pairs = [SentencePair(clean(a), clean(b)) for a, b in pairs]
    if pairs:  # a byte order mark at the very start belongs to the file
        pairs[0] = SentencePair(*(side.removeprefix("\ufeff").removeprefix("\ufeff") for side in pairs[0]))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "a", Path(folder) / "b"]
        for side, path in enumerate(files):
            path.write_bytes("".join(pair[side] + "\n" for pair in pairs).encode())
        assert list(read_bitext(*files)) == pairs


def test_a_bitext_can_be_read_again_but_standard_input_only_once(tmp_path, monkeypatch):
    path = write(tmp_path / "pairs.txt", ["a ||| b"])
    pairs = read_bitext(path)
    assert list(pairs) == list(pairs) == [("a", "b")]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a ||| b\n")))
    once = read_bitext("-")
    assert [pair.source for pair in once] == ["a"]
    with pytest.raises(UsageError, match="only once"):
        next(iter(once))
