"""Vectors in files of word2vec, GloVe and fastText, as text or binary; they may be compressed.

In text, a line has a word and its numbers. The first line is a header ``V D`` in files of word2vec and
fastText; GloVe's have none. A line is read from its end: the last D fields are the numbers, and the rest is
the word. Fields are separated by single spaces. Where that does not fit, any run of spaces and tabs separates
them. A line that can be read in two ways is refused.

All are read here, within bounds: a header may claim any number of words. A fastText model with a million
words and as many sub-words takes 6.6 s and 1.3 GB. gensim's ``load_facebook_vectors`` takes 38.5 s and
2.5 GB, and never returns if the dictionary is truncated. A million words of 100 dimensions in word2vec's
binary format took 2.9 s and 0.7 GB, in gensim 4.0 s and 0.6 GB (``scripts/benchmark_vectors.py binary``).
"""

from __future__ import annotations

import codecs
import io
import re
import struct
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.errors import DataError, warn_caller
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import max_decompressed_size, open_binary
from nmtalign.files.paths import reraise_as_data_error
from nmtalign.files.sniffing import HEAD_BYTES, WIDE_ENCODINGS, detect_compression
from nmtalign.files.text_files import LONE_RETURNS, is_encodable, text_blocks
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.subword_vectors import CharacterNgrams

BYTES_PER_READ = 1 << 24
_MAX_WORD_BYTES = 1 << 16
_MAX_FIRST_LINE_BYTES = 256
MAX_NUMBERS = 1 << 16  # the numbers of a vector
_MAX_WORDS = 1 << 31
_MAX_COUNTS_BYTES = 100
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r"))
_NOT_ASCII = bytes(range(128, 256))
_MIN_ASCII_SHARE = 0.75  # text in a one-byte encoding consists mostly of digits, which are ASCII
FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_TEXT_CHECK_BYTES = 1 << 12  # enough to tell text from binary numbers
_SUPERVISED = 3  # kind of a fastText model
_WORD, _LABEL = 0, 1  # kinds of entries in the dictionary of fastText


@contextmanager
def open_vectors_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed if it is compressed; errors name the file."""
    with reraise_as_data_error(path, "the file is damaged or ends too early"), open_binary(path) as file:
        yield file


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return words and dimension of a word2vec header such as ``20000 300``; None for any other line."""
    fields = line.split() if len(line) < _MAX_COUNTS_BYTES else []
    if len(fields) != 2 or not all(re.fullmatch(rb"-?\d{1,20}", field) for field in fields):
        return None
    words, dimension = map(int, fields)
    if not 0 < dimension <= MAX_NUMBERS or not 0 <= words <= _MAX_WORDS:
        expected = f"expected at most 2^31 words of 1 to {MAX_NUMBERS}"
        raise DataError(f"the header claims {words} words of {dimension} numbers; {expected}")
    return words, dimension


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


def _check_bytes(path: Path, needed: int, promised: str) -> None:
    """Raise DataError if a header promises more than a file can contain."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        is_compressed = detect_compression(file.read(HEAD_BYTES)) is not None
    available = max_decompressed_size(size) if is_compressed else size
    if needed > available:
        found = f"the file has {size:,}"
        if available > size:
            found += f", which unpack to at most {available:,}"
        raise DataError(f"the header promises {promised}: expected at least {needed:,} bytes; {found}")


def decode_word(word: bytes, encoding: str, errors: str) -> str:
    """Return a word as text."""
    try:
        return word.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise DataError(
            f"the word {word[:40]!r} is not {encoding}; choose another encoding, or what to do with such"
            " bytes (errors='ignore', 'replace' or 'backslashreplace')"
        ) from error


def first_vectors(words: list[str], matrix: AnyArray, path: Path) -> Embeddings:
    """Return words and vectors; a repeated word keeps its first vector, as in gensim, with a warning."""
    if (without := words.count("")) > 1:
        raise DataError(f"expected a word before each vector, found {without} vectors without one")
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    if repeated := len(words) - len(rows):
        warn_caller(f"{path}: {repeated} words are repeated; their first vector is kept")
        matrix = matrix[list(rows.values())]
    return Embeddings(Vocabulary.from_words(rows), matrix)


# --- word2vec, binary ----------------------------------------------------------------------------


def read_word2vec_binary(path: Path, limit: int | None, encoding: str, errors: str) -> Embeddings:
    """Read word2vec's binary format: a header line, then each word, a space and D little-endian float32.

    Nothing separates the rows, so a wrong count or a word with a space would shift all later rows. Anything
    after the last row is therefore an error.
    """
    with open_vectors_file(path) as file:
        first_line = file.readline(_MAX_FIRST_LINE_BYTES)
        header = read_header(first_line)
        if header is None:
            raise DataError(f"expected a first line with words and dimensions, found {first_line[:60]!r}")
        count, dimension = header
        wanted = min(count, limit or count)
        _check_bytes(path, wanted * (1 + 4 * dimension), f"{wanted} words of {dimension} numbers")
        rows = _BinaryRows(file, dimension)
        if rows.look_like_text():
            raise DataError("expected word2vec's binary form, found text; read it as `format=word2vec`")
        words, matrix = [], np.empty((wanted, dimension), np.float32)
        for row in range(wanted):
            word = rows.read_into(matrix[row])
            if word is None:
                raise DataError(f"the header promises {count} words, the file ends after {row}")
            if b"\n" in word:
                raise DataError(f"expected word {row + 1}, found {word[:40]!r}; the header may be wrong")
            try:
                words.append(decode_word(word, encoding, errors))
            except DataError as error:
                raise DataError(f"{error}; or the header is wrong, or a word contains a space") from None
        if wanted == count and (more := rows.left()):
            found = f"found {more!r} after them"
            advice = "correct the header; if words contain spaces, write the vectors as text"
            raise DataError(f"the header promises {count} words, {found}; {advice}")
        return first_vectors(words, matrix, path)


class _BinaryRows:
    """Reads words and vectors from a file in large blocks."""

    def __init__(self, file: BinaryIO, dimension: int) -> None:
        self._file, self._dimension = file, dimension
        self._block, self._at = file.read(BYTES_PER_READ), 0

    def look_like_text(self) -> bool:
        """Return whether the next bytes are text."""
        start = self._block[:_TEXT_CHECK_BYTES]
        return bool(start) and looks_like_text(start)

    def read_into(self, vector: AnyArray) -> bytes | None:
        """Return the next word and write its numbers into `vector`; None if the file ends first."""
        end = self._end_of_word()
        while end < 0 or len(self._block) - end <= 4 * self._dimension:
            if end < 0 and len(self._block) - self._at > _MAX_WORD_BYTES:
                raise DataError(f"expected words of at most {_MAX_WORD_BYTES:,} bytes, found a longer one")
            more = self._file.read(max(BYTES_PER_READ, 4 * self._dimension))
            if not more:
                return None
            self._block, self._at = self._block[self._at :] + more, 0
            end = self._end_of_word()
        # the original program writes a line end after each vector
        word = self._block[self._at : end].lstrip(b"\n")
        vector[:] = np.frombuffer(self._block, "<f4", self._dimension, end + 1)
        self._at = end + 1 + 4 * self._dimension
        return word

    def _end_of_word(self) -> int:
        return self._block.find(b" ", self._at, self._at + _MAX_WORD_BYTES)

    def left(self) -> bytes:
        """Return the first bytes that have not been read; none if only white space is left."""
        return (self._block[self._at :] + self._file.read(_TEXT_CHECK_BYTES)).strip()[:20]


# --- fastText ------------------------------------------------------------------------------------


class _FastTextHeader(NamedTuple):
    """The settings at the beginning of a fastText model, under the names that fastText gives them."""

    dim: int
    ws: int
    epoch: int
    min_count: int
    neg: int
    word_ngrams: int
    loss: int
    model: int
    bucket: int
    minn: int
    maxn: int
    lr_update_rate: int
    t: float


def is_fasttext(start: bytes) -> bool:
    """Return whether a file begins as a fastText model does; older ones have no magic number."""
    if start.startswith(FASTTEXT_MAGIC):
        return True
    if len(start) < 56:
        return False
    header = _FastTextHeader._make(struct.unpack("<12id", start[:56]))
    has_known_kinds = 1 <= header.loss <= 4 and 1 <= header.model <= 3
    return bool(0 < header.dim < MAX_NUMBERS and has_known_kinds and 0 <= header.t <= 1)


def read_fasttext_binary(path: Path, limit: int | None, encoding: str, errors: str) -> Embeddings:
    """Read an unsupervised fastText model (.bin, any version) with all its sub-words.

    The vectors equal gensim's: each is the mean of the word's own row and the rows of its n-grams.
    """
    with open_vectors_file(path) as file:
        start = file.read(8)  # a magic number and the version; older files begin with the fields below
        new = start.startswith(FASTTEXT_MAGIC)
        fields = struct.unpack("<12id", (b"" if new else start) + file.read(56 if new else 48))
        header = _FastTextHeader._make(fields)
        dimension, buckets = header.dim, header.bucket
        shortest, longest = header.minn, header.maxn
        sizes = f"{dimension} dimensions, {buckets} sub-words of {shortest} to {longest}"
        if not 0 < dimension < 1 << 16 or buckets < 0 or not 0 <= shortest <= longest < 1 << 10:
            raise DataError(f"not a fastText model: {sizes}")
        size, word_count, labels, _ = struct.unpack("<3iq", file.read(20))
        pruned = struct.unpack("<q", file.read(8))[0] if new else -1
        if header.model == _SUPERVISED and labels:
            raise DataError(
                f"this is a supervised fastText model ({labels} labels); its rows are not word vectors. Use"
                " an unsupervised model"
            )
        if pruned > 0:
            raise DataError("a pruned or quantized fastText model (.ftz); use the .bin or .vec file")
        if size < 0 or not 0 <= word_count <= size:
            raise DataError(f"not a fastText model: {size} words")
        least = 10 * size + 4 * dimension * (word_count + buckets)
        _check_bytes(path, least, f"{size} words, {sizes}")
        words = _read_fasttext_words(file, size, word_count, encoding, errors, path)
        if new and file.read(1) != b"\0":
            raise DataError("a quantized fastText model (.ftz); use the .bin or .vec file")
        shape = struct.unpack("<qq", file.read(16))
        if shape != (len(words) + buckets, dimension):
            raise DataError(f"{len(words)} words and {sizes}, but a matrix of shape {shape}")
        size = 4 * shape[0] * shape[1]
        raw = file.read(size)  # the rows of all words, then of all n-gram buckets
        if len(raw) < size:
            raise DataError(f"expected a matrix of {size:,} bytes, found {len(raw):,}; the file is truncated")
    table = np.frombuffer(raw, "<f4").reshape(shape)
    kept = words[:limit]
    pieces = CharacterNgrams(table[len(words) :], shortest, longest)
    return Embeddings(Vocabulary.from_words(kept), pieces.vectors(kept, table[: len(kept)]), pieces)


def _read_fasttext_words(
    file: BinaryIO, size: int, word_count: int, encoding: str, errors: str, path: Path
) -> list[str]:
    """Return the words of the dictionary: bytes up to a zero, then a count and a kind.

    Tokens that begin with ``__label__`` are entries as well. They follow the words and have no vector, even
    in a model that was learned without supervision.
    """
    words, strange = [], 0
    for entry in range(size):
        word = bytearray()
        while (byte := file.read(1)) != b"\0":
            if not byte or len(word) > _MAX_WORD_BYTES:
                raise EOFError(f"no end of the word {bytes(word[:40])!r}")
            word += byte
        _, kind = struct.unpack("<qb", file.read(9))
        if kind != (_WORD if entry < word_count else _LABEL):
            raise DataError(f"expected {word_count} words and then labels, found {bytes(word[:40])!r}")
        if kind == _LABEL:
            continue
        words.append(decode_word(bytes(word), encoding, errors))
        strange += words[-1].encode(encoding, "replace") != word
    if strange:
        reason = f"{strange} words are not {encoding}; their bad bytes are replaced"
        warn_caller(f"{path}: {reason}")
    return words


# --- text ----------------------------------------------------------------------------------------


_MAX_LINE_BYTES = 1 << 22
_MAX_SHOWN = 60  # characters of a line in a message
_DETECTION_LINES = 10  # so many first lines show whether a matrix has words
_DECIMAL = rb"[+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?|(?i:nan|inf(?:inity)?))"
_is_decimal = re.compile(_DECIMAL).fullmatch
_are_numbers = re.compile(rb"%b(?: %b)*" % (_DECIMAL, _DECIMAL)).fullmatch
_SWAPPED_MARKS = bytes.maketrans(b",.", b".,")
_NUMBERS = "write numbers with a decimal point, and spaces or tabs between"
# pandas takes these for 1 and 0; to look for the endings first takes a tenth of the time
_BOOLEAN_ENDINGS = (b"rue", b"RUE", b"alse", b"ALSE")
_BOOLEAN = re.compile(rb"[ \t](?:[Tt]rue|TRUE|[Ff]alse|FALSE)(?:[ \t\n]|\Z)")
_NUMBER_FIRST = re.compile(rb"[ \t]*[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?[ \t]")
ParsedVectors = tuple[list[str], AnyArray]


class LineLayout(NamedTuple):
    """Layout of a vector file: dimension, number of words in the header, and decimal mark."""

    dimension: int
    words: int | None = None  # the number in the header, if there is one
    has_commas: bool = False  # decimal commas, as a spreadsheet may write them

    def split(self, line: bytes) -> tuple[bytes, list[bytes]]:
        """Return the word and the numbers of a line; a DataError says what is wrong with it."""
        text = line.rstrip(b" \t\r\n")
        with_points = text.translate(_SWAPPED_MARKS) if self.has_commas else text
        for separator in (b" ", None):
            fields = with_points.rsplit(separator, self.dimension)
            if len(fields) == self.dimension + 1 and _are_numbers(b" ".join(fields[1:])):
                word = text[: len(fields[0])]
                word = word.strip(b" \t") or word
                if not _ends_in_number(word) and (not word or word.strip(b" ")):
                    return word, fields[1:]
        found = self._found(text.split(), _numbers_at_end(with_points.split()[1:]))
        raise DataError(f"expected a word and {self.dimension} numbers, found {found}")

    def _found(self, fields: list[bytes], count: int) -> str:
        """Return the content of a line that is not a word and its numbers; `count` fields are numbers."""
        if count > self.dimension:
            return f"{count} numbers; a word with spaces must not end in a number"
        if count == len(fields) - 1 or not fields:
            return f"{count} numbers"
        mark = "comma, as those before" if self.has_commas else "point"
        return f"{_quoted_start(fields[-1 - count])} in place of a number with a decimal {mark}"


def _numbers_at_end(fields: list[bytes]) -> int:
    """Return how many fields at the end are numbers."""
    return sum(1 for _ in takewhile(_is_decimal, reversed(fields)))


def _ends_in_number(word: bytes) -> bool:
    """Return whether a word has parts and the last one is a number, so that it may belong to the vector."""
    parts = word.split()
    return len(parts) > 1 and _is_decimal(parts[-1]) is not None


def _quoted_start(line: bytes) -> str:
    """Return the beginning of a line for a message."""
    return repr(line[: 4 * _MAX_SHOWN].decode("utf-8", "replace").rstrip()[:_MAX_SHOWN])


def detect_layout(lines: list[bytes]) -> LineLayout:
    """Return the layout of a file from its first lines.

    Raises DataError if the first line is neither a header nor a word and its numbers.
    """
    first, *others = lines or [b""]
    if b"\r" in first.rstrip(b"\r\n"):
        raise DataError(LONE_RETURNS)
    if header := read_header(first):
        words, dimension = header
        row = others[0].split()[-dimension:] if others else []
        has_commas = any(b"," in field for field in row) and _numbers_at_end(_with_points(row)) == len(row)
        return LineLayout(dimension, words, has_commas)
    layout = _layout_of_row(first) or _layout_of_spaced_word(first, others)
    if layout is None and (with_points := _layout_of_row(first.translate(_SWAPPED_MARKS))):
        layout = with_points._replace(has_commas=True)
    if layout is None:
        raise DataError(f"expected a word and its numbers, found {_quoted_start(first)}; {_NUMBERS}")
    if others and all(map(_NUMBER_FIRST.match, lines)):
        raise DataError(
            f"expected a word and its numbers, found numbers alone: {_quoted_start(first)}; save a"
            " matrix as X.npy with the dictionary word2int_X.pkl or X.json beside it"
        )
    return layout


def _with_points(fields: list[bytes]) -> list[bytes]:
    return [field.translate(_SWAPPED_MARKS) for field in fields]


def _layout_of_row(line: bytes) -> LineLayout | None:
    """Return the layout of a line whose word has no spaces; None for any other line."""
    text = line.rstrip(b" \t\r\n")
    for separator in (b" ", None):
        word, *numbers = text.split(separator) or [b""]
        has_numbers = 0 < len(numbers) <= MAX_NUMBERS and all(map(_is_decimal, numbers))
        if has_numbers and not _ends_in_number(word):
            return LineLayout(len(numbers))
    return None


def _layout_of_spaced_word(line: bytes, others: list[bytes]) -> LineLayout | None:
    """Return the form of a line whose word has spaces, if the next line confirms it."""
    layout = _layout_of_row(others[0]) if others else None
    if layout is None or layout.dimension == 1 or _numbers_at_end(line.split()) != layout.dimension:
        return None
    return layout


def read_text_vectors(
    path: Path, limit: int | None, encoding: str, errors: str, prefix: str = ""
) -> Embeddings:
    """Read vectors as text, compressed or not, with or without a header line.

    Only words that begin with `prefix` are kept, without it, so that one language of a file of many takes no
    more memory than it needs.

    The numbers equal ``float32(float(text))`` exactly, as gensim reads them. pandas reads 20,000 vectors of
    300 dimensions in 0.3 s, gensim in 3.5 s.
    """
    words: list[str] = []
    raw = bytearray()
    with open_vectors_file(path) as file:
        blocks, encoding = text_blocks(file, encoding, path)
        encoding = "utf-8" if encoding in WIDE_ENCODINGS else encoding
        layout, lines = _begin(blocks, path)
        most = min(sys.maxsize if layout.words is None else layout.words, limit or sys.maxsize)
        rows_per_block = 1 + BYTES_PER_READ // (8 * layout.dimension)
        rows_read = 0
        max_rows = most
        if prefix:  # how many rows have so many words with the prefix is not known
            max_rows = sys.maxsize if layout.words is None else layout.words
        while len(words) < most and (
            block := b"".join(islice(lines, min(rows_per_block, max_rows - rows_read)))
        ):
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\n")
            line = rows_read + (1 if layout.words is None else 2)
            parsed = _parse_fast(block, layout, encoding, errors)
            new_words, numbers = parsed or _parse_slowly(block, layout, encoding, errors, path, line)
            rows_read += len(new_words)
            if prefix:
                kept = [n for n, word in enumerate(new_words) if word.startswith(prefix)]
                new_words = [new_words[n].removeprefix(prefix) for n in kept]
                numbers = numbers[kept]
            words += new_words
            raw += numbers.tobytes()
        if layout.words is not None and rows_read < max_rows and len(words) < most:
            raise DataError(f"the header promises {layout.words} words, the file has {rows_read}")
        if layout.words is not None and rows_read == layout.words and next(lines, b""):
            warn_caller(f"{path}: lines after the {layout.words} words of the header are not read")
    if prefix and not words:
        raise DataError(f"expected words that begin with {prefix!r}, found none in {rows_read:,} rows")
    return first_vectors(words, np.frombuffer(raw, np.float32).reshape(-1, layout.dimension), path)


def _begin(blocks: Iterable[bytes], path: Path) -> tuple[LineLayout, Iterator[bytes]]:
    """Return the form of a file and its lines with vectors."""
    lines = _lines_of(blocks)
    first_lines = [line.removeprefix(BOM_UTF8) for line in islice(lines, _DETECTION_LINES)]
    try:
        layout = detect_layout(first_lines)
    except DataError as error:
        raise error.at(path, line=1) from None
    rows = chain(first_lines if layout.words is None else first_lines[1:], lines)
    return layout, _without_last_blanks(rows)


def _lines_of(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        if len(block) > _MAX_LINE_BYTES and b"\n" not in block[:_MAX_LINE_BYTES]:
            raise DataError(f"expected lines of at most {_MAX_LINE_BYTES:,} bytes, found a longer one")
        yield from io.BytesIO(block)


def _without_last_blanks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without the blank ones at the end of the file; others keep their place."""
    blanks = 0
    for line in lines:
        if line.isspace():
            blanks += 1
            continue
        for _ in range(blanks):
            yield b"\n"
        blanks = 0
        yield line


def _parse_fast(block: bytes, layout: LineLayout, encoding: str, errors: str) -> ParsedVectors | None:
    """Return the vectors that pandas' C reader finds, or None if a line is not a word and D numbers."""
    import pandas

    separator = b"\t" if b"\t" in block else b" "
    columns = 1 + layout.dimension + block.split(b"\n", 1)[0].endswith(separator)
    if block.count(separator) != (block.count(b"\n") + 1) * (columns - 1):
        return None
    mixed = separator == b"\t" and b" " in block
    boolean = any(ending in block for ending in _BOOLEAN_ENDINGS) and _BOOLEAN.search(block)
    if mixed or boolean or layout.has_commas:
        return None
    # the last column is empty, after a separator at the end
    types: dict[int, Any] = {0: str, layout.dimension + 1: str}
    types |= dict.fromkeys(range(1, layout.dimension + 1), np.float32)
    # pandas from 3.1 always reads numbers exactly, and warns when asked to.
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    try:
        table = pandas.read_csv(
            io.BytesIO(block), engine="c", sep=separator.decode(), header=None, index_col=False,
            names=range(columns), dtype=types, quoting=3, na_filter=False, lineterminator="\n",
            encoding=encoding, encoding_errors=errors, skip_blank_lines=False, **exact,
        )  # fmt: skip
    except (ValueError, pandas.errors.ParserError):
        return None
    numbers = table.iloc[:, 1 : layout.dimension + 1].to_numpy(np.float32)
    return (table[0].tolist(), numbers) if np.isfinite(numbers).all() else None


def _parse_slowly(
    block: bytes, layout: LineLayout, encoding: str, errors: str, path: Path, line: int
) -> ParsedVectors:
    """Read line by line: words may contain spaces, and an error names its line."""
    words, vectors = [], []
    for number, text in enumerate(block.split(b"\n"), start=line):
        try:
            word, numbers = layout.split(text)
            vectors.append(np.array(list(map(float, numbers)), np.float32))
            if not np.isfinite(vectors[-1]).all():
                raise DataError(
                    f"the vector of {word.decode(encoding, 'replace')!r} contains NaN or infinity"
                )
            words.append(decode_word(word, encoding, errors))
        except DataError as error:
            raise error.at(path, line=number) from None
    return words, np.array(vectors, np.float32)


# --- writing -------------------------------------------------------------------------------------


def write_word2vec(embeddings: Embeddings, path: Path, *, binary: bool) -> None:
    """Write word2vec's format; text has the shortest digits from which the same numbers are read."""
    matrix = embeddings.matrix
    matrix = matrix.astype("<f4" if binary else np.result_type(matrix, np.float32))
    with AtomicFiles() as files:
        file = files.binary(path)
        file.write(f"{len(embeddings)} {embeddings.dimension}\n".encode())
        for word, vector in zip(embeddings.vocabulary, matrix, strict=True):
            tab_inside = not binary and "\t" in word and word.strip("\t") != ""
            if " " in word or "\n" in word or tab_inside or not is_encodable(word):
                contained = "a space, a tab, a line end or an unpaired surrogate"
                raise DataError(f"the word {word[:60]!r} contains {contained}; this format cannot keep it")
            numbers = vector.tobytes() if binary else " ".join(vector.astype("U32").tolist()).encode()
            file.write(word.encode() + b" " + numbers + b"\n")
