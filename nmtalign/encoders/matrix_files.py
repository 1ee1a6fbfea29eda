"""Files of attention, of token vectors and of similarities by other programs, read pair by pair.

Axes: T target words, S source words (or pieces of words), D dimension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import AnyArray, Flags, Floats, Integers, Reals, as_real_array
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import (
    NpyRowReader,
    NpzReader,
    is_npy_file,
    is_npz_file,
    read_array,
    sort_by_trailing_number,
)
from nmtalign.files.paths import file_inside
from nmtalign.files.read_errors import name_file_in_errors
from nmtalign.files.text_files import read_lines
from nmtalign.names import SIDES
from nmtalign.validation import is_iterable

TokenizedPair = tuple[Sequence[str], Sequence[str]]  # source and target
Lines = Iterable[tuple[int, str]]
Tokens = tuple[Reals, Integers | None]  # vectors of words, or of sub-words and the word of each
SideReader = tuple[int, Callable[[int], Tokens]]
Content = TypeVar("Content")

FORMAT_LINES = 1_000  # first lines of a text that show its format
COSINE_TOLERANCE = 1e-5  # cosines in single precision are so far beyond -1 at most
LINKABLE = "linkable"  # arrays whose names begin so mark cells of the pair with the number at the end
_BEFORE = " ||| "  # Marian writes the translation, this, and the weights
_FAIRSEQ = re.compile(r"(?P<kind>[A-Z])-(?P<pair>\d{1,9})\t(?P<rows>.*)")
_OPENNMT = re.compile(r"\s*\S+ (?P<row>(?:[ *]*\d\.\d{7} )*[ *]*\d\.\d{7}) *")


class PairMatrix(NamedTuple):
    """What a source gives for one sentence pair."""

    words: TokenizedPair  # those that the matrix is of, source and target
    matrix: Reals  # (T, S), of words or of sub-words
    word_of_piece: tuple[Integers, Integers] | None = None  # the word of each source and target sub-word
    by_head: Callable[[], dict[str, Reals]] = dict  # computes the matrix of each attention head by name
    linkable: Flags | None = None  # (T, S) cells that may have links; all, if left out

    @property
    def unlinked(self) -> tuple[frozenset[int], frozenset[int]] | None:
        """Source and target words that may have no link at all; None where nothing is said of cells."""
        if self.linkable is None:
            return None
        source, target = (np.flatnonzero(~self.linkable.any(axis=axis)).tolist() for axis in (0, 1))
        return frozenset(source), frozenset(target)


def match_pairs(
    pairs: Iterable[TokenizedPair],
    arrays: Iterator[Content],
    path: str | Path,
    make: Callable[[TokenizedPair, Content], PairMatrix],
    *,
    marks: bool = False,
    first: int = 1,
) -> Iterator[PairMatrix]:
    """Yield what `make` makes of each pair and its array; with `marks` also the cells that may have links.

    Raises DataError if the file has fewer or more arrays than there are pairs; with the number of the pair if
    `make` raises it. Errors count pairs from `first`: 1 for a file, 0 for arrays in memory.
    """
    count, linkable = 0, _read_linkable(path) if marks else repeat(None)
    for number, words in enumerate(pairs, first):
        count += 1
        array = next(arrays, None)
        if array is None:
            raise DataError(f"expected an array for each pair, found none for pair {number}").at(path)
        try:
            pair = make(words, array)
        except DataError as error:
            raise DataError(f"pair {number}: {error}").at(path) from None
        cells = next(linkable)
        if cells is not None and (cells.dtype != bool or cells.shape != pair.matrix.shape):
            expected = f"expected linkable cells as bool of shape {pair.matrix.shape}"
            found = f"found {cells.dtype} of shape {cells.shape}"
            raise DataError(f"pair {number}: {expected}, {found}").at(path)
        yield pair._replace(linkable=cells)
    if next(arrays, None) is not None:
        raise DataError(f"expected arrays for {count} pairs, as the text has, found more").at(path)


def _read_linkable(path: str | Path) -> Iterator[Flags | None]:
    """Yield which cells of each pair of a file may have links; None where the file does not say."""
    if str(path) == "-" or not is_npz_file(path):
        yield from repeat(None)
    with NpzReader(path) as archive:
        for name in _names_of_pairs(archive, path):
            marks = f"{LINKABLE}-{name.rpartition('-')[2]}"
            yield archive.read(marks) if marks in archive.names else None


def _names_of_pairs(archive: NpzReader, path: str | Path) -> list[str]:
    return sort_by_trailing_number(
        [name for name in archive.names if not name.startswith(f"{LINKABLE}-")], path
    )


def read_npz(path: str | Path) -> Iterator[Reals]:
    """Yield the arrays of an .npz file by the number that their names end with, but for `LINKABLE` ones."""
    with NpzReader(path) as archive:
        yield from map(archive.read, _names_of_pairs(archive, path))


def read_matrices(path: str | Path, *, encoding: str = "utf-8") -> Iterator[Reals]:
    """Yield the attention of one sentence pair after the other; what the file holds says which form it is.

    * npz with one array a pair, (T, S) or (layers, heads, T, S), ordered by :func:`sort_by_trailing_number`,
      or npy of one pair;
    * text of Marian's ``--alignment soft``: one line a pair, ``words ||| 0.9,0.1 0.2,0.8``;
    * what fairseq prints with ``--print-alignment soft``: lines ``A-17<tab>0.9,0.1 0.2,0.8`` in any order, 17
      the number of the pair from 0, among others; the first of several translations counts;
    * what OpenNMT-py prints with ``-attn_debug``: tables whose rows are a target word and its weights with 7
      decimals, a ``*`` at the largest, among other lines.

    Raises DataError if a file does not have the expected format, or a name has no number.
    """
    return name_file_in_errors(path, _read_any_form(path, encoding))


def _read_any_form(path: str | Path, encoding: str) -> Iterator[Reals]:
    if str(path) != "-" and is_npz_file(path):
        return read_npz(path)
    if str(path) != "-" and is_npy_file(path):
        return iter([read_array(path)])
    lines = enumerate(read_lines(path, encoding=encoding), 1)
    head = list(islice(lines, FORMAT_LINES))
    read = _read_marian
    if any(_FAIRSEQ.fullmatch(line) for _, line in head):
        read = _read_fairseq
    elif any(_OPENNMT.fullmatch(line) for _, line in head):
        read = _read_opennmt
    return read(chain(head, lines), path)


def _read_marian(lines: Lines, path: str | Path) -> Iterator[Reals]:
    for number, line in lines:
        yield _parse_weights(line.rpartition(_BEFORE)[2], path, number)


def _parse_weights(text: str, path: str | Path, line: int) -> Reals:
    """Parse ``0.9,0.1 0.2,0.8``."""
    rows = [row.split(",") for row in text.split(" ") if row]
    try:
        return np.array(rows, dtype=np.float64) if rows else np.zeros((0, 0))
    except ValueError:
        expected = "expected as many weights for each target word, with commas between: 0.9,0.1 0.2,0.8"
        raise DataError(expected).at(path, line=line) from None


def _read_fairseq(lines: Lines, path: str | Path) -> Iterator[Reals]:
    """Yield the matrices by number; the lines with weights are held as text."""
    weights: dict[int, tuple[int, str]] = {}
    for number, line in lines:
        match = _FAIRSEQ.fullmatch(line)
        if match and match["kind"] == "A":
            weights.setdefault(int(match["pair"]), (number, match["rows"]))
    if sorted(weights) != list(range(len(weights))) or not weights:
        last = f" up to A-{max(weights)}" if weights else "; run fairseq with --print-alignment soft"
        found = f"found {len(weights)}{last}"
        raise DataError(f"expected a line A-0, A-1, ... for each pair, {found}").at(path)
    for _, (number, rows) in sorted(weights.items()):
        if re.search(r"\d-\d", rows):
            found = "expected weights, found links; run fairseq with --print-alignment soft"
            raise DataError(found).at(path, line=number)
        yield _parse_weights(rows, path, number)


def _read_opennmt(lines: Lines, path: str | Path) -> Iterator[Reals]:
    rows: list[list[str]] = []
    for number, line in chain(lines, [(0, "")]):
        match = _OPENNMT.fullmatch(line)
        if match:
            rows.append(match["row"].replace("*", " ").split())
            if len(rows[-1]) != len(rows[0]):
                found = f"expected {len(rows[0])} weights, found {len(rows[-1])}"
                raise DataError(found).at(path, line=number)
        elif rows:
            yield np.array(rows, dtype=np.float64)
            rows = []


def read_similarities(
    given: str | Path | Iterable[AnyArray], least: float, pairs: Iterable[TokenizedPair]
) -> Iterator[PairMatrix]:
    """Yield similarities, an array (T, S) per pair, given or from an .npz file.

    A DataError names a pair that has a similarity below `least`.
    """
    make = partial(_similarities, least)
    if isinstance(given, str | Path):
        return match_pairs(pairs, read_npz(given), given, make, marks=True)
    if not is_iterable(given):
        raise UsageError(
            f"expected a file of similarities, or an array for each pair, found {short_repr(given)}"
        )
    arrays = (as_real_array(array, "similarities") for array in given)
    return match_pairs(pairs, arrays, "similarities", make, first=0)


def _similarities(least: float, words: TokenizedPair, array: Reals) -> PairMatrix:
    S, T = map(len, words)
    if not S * T:
        return PairMatrix(words, np.zeros((T, S)))
    if array.shape != (T, S) or array.dtype.kind not in "biuf":
        raise DataError(f"expected {T} target by {S} source words, found {array.dtype} {array.shape}")
    matrix = _finite(array)
    if matrix.min() < least - COSINE_TOLERANCE:
        raise DataError(f"expected similarities of at least {least}, found {matrix.min():.6g}")
    return PairMatrix(words, matrix)


def _finite(matrix: Reals) -> Floats:
    """Return similarities in single precision; a DataError if one is no number."""
    single = np.asarray(matrix, np.float32)
    if not np.isfinite(single).all():
        raise DataError("expected similarities, found NaN or infinity")
    return single


def cosines(source: Reals, target: Reals) -> Floats:
    """Return the cosines (T, S) of the vectors (S, D) and (T, D) of two sentences; 0 for a zero vector."""
    first, second = (np.asarray(side, np.float32) for side in (source, target))
    lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)]
    units = [side / np.where(n > 0, n, 1) for side, n in zip((first, second), lengths, strict=True)]
    return np.asarray(units[1] @ units[0].T)


@np.errstate(invalid="ignore", over="ignore")  # `_finite` tells
def pair_similarities(words: TokenizedPair, tokens: Sequence[Tokens], product: str, units: str) -> PairMatrix:
    """Return cosines, or dot products, of source and target: of sub-words, or of the means of words."""
    source, target = (vectors for vectors, _ in tokens)
    pieces: tuple[Integers, Integers] | None = None
    if units == "words":
        pairs = zip(tokens, words, strict=True)
        source, target = (rows if of is None else _means(rows, of, len(side)) for (rows, of), side in pairs)
    else:
        of_source, of_target = (np.arange(len(vectors)) if of is None else of for vectors, of in tokens)
        pieces = of_source, of_target
    matrix = cosines(source, target) if product == "cosine" else np.asarray(target @ source.T, np.float32)
    return PairMatrix(words, _finite(matrix), pieces)


def _means(vectors: Reals, word_of_piece: Integers, count: int) -> Reals:
    """Return the mean vector of the sub-words of each word; zeros for a word without any."""
    sums = np.zeros((count, vectors.shape[1]), vectors.dtype)
    np.add.at(sums, word_of_piece, vectors)
    return np.asarray(sums / np.maximum(np.bincount(word_of_piece, minlength=count), 1)[:, None])


def read_vectors(
    path: str | Path, product: str, units: str, pairs: Iterable[TokenizedPair]
) -> Iterator[PairMatrix]:
    """Yield products of the token vectors of other programs, of sub-words or of words (`units`).

    `path` is an .npz file of arrays (words, D), two a pair, whose names begin with ``source`` or ``target``
    and end with the number of the pair (from 0 or 1); or a folder with the vectors of all words in
    ``source.npy`` and the words of each pair in ``source_lengths.npy``, which is read pair by pair. Vectors
    are of sub-words if there is also the number of the word, from 0 in each sentence, that each belongs to:
    arrays ``words-source-0``, ..., or a file ``source_words.npy``. Raises DataError if a file does not exist
    or has another format, the sides differ in their number of pairs or in D, or a pair has not a vector for
    each word.
    """
    opened = _of_folder if Path(path).is_dir() else _of_archive
    counts, sides = zip(*(opened(Path(path), side) for side in SIDES), strict=True)
    if counts[0] != counts[1]:
        found = f"{counts[0]} source and {counts[1]} target lines"
        raise DataError(f"expected vectors of both sides of each pair, found {found}").at(path)
    tokens = ([read(n) for read in sides] for n in range(counts[0]))
    return match_pairs(pairs, tokens, path, lambda words, vectors: _products(words, vectors, product, units))


def _products(words: TokenizedPair, tokens: Sequence[Tokens], product: str, units: str) -> PairMatrix:
    if not all(words):
        return PairMatrix(words, np.zeros((len(words[1]), len(words[0]))))
    for name, (vectors, word_of_piece), side in zip(SIDES, tokens, words, strict=True):
        count = sum(vectors.shape[:1]) if word_of_piece is None else _count_words(vectors, word_of_piece)
        if vectors.ndim != 2 or count != len(side) or vectors.shape[1] != tokens[0][0].shape[-1]:
            expected = f"expected vectors of {len(side)} {name} words, all of one length"
            raise DataError(f"{expected}, found an array of {vectors.shape} of {count} words")
    return pair_similarities(words, tokens, product, units)


def _of_archive(path: Path, side: str) -> SideReader:
    """Return how many sentences a side has, and what gives the vectors of a sentence."""
    if not is_npz_file(path):
        raise DataError("expected an .npz file or a folder with token vectors").at(path)
    archive = NpzReader(path)
    vectors, words = (
        sort_by_trailing_number([name for name in archive.names if name.startswith(begin)], path)
        for begin in (side, f"words-{side}")
    )
    if words and len(words) != len(vectors):
        raise DataError(f"expected {len(vectors)} arrays words-{side}, found {len(words)}").at(path)
    return len(vectors), lambda n: (archive.read(vectors[n]), archive.read(words[n]) if words else None)


def _of_folder(path: Path, side: str) -> SideReader:
    rows, words, sizes = (path / f"{side}{part}.npy" for part in ("", "_words", "_lengths"))
    if not rows.exists():
        raise DataError(f"expected a file {rows.name} with the vectors of all words").at(path)
    vectors = NpyRowReader(file_inside(path, rows.name))
    word_of_piece = NpyRowReader(file_inside(path, words.name)) if words.exists() else None
    lengths = read_array(file_inside(path, sizes.name))
    if lengths.dtype.kind not in "iu" or lengths.ndim != 1:
        found = f"expected the words of each pair, found {lengths.dtype} of shape {lengths.shape}"
        raise DataError(found).at(sizes)
    wrong = lengths[(lengths < 0) | (lengths > vectors.shape[0])]
    if len(wrong):  # a sum could wrap around
        found = f"expected 0 to {vectors.shape[0]} words in each pair, found {wrong[0]}"
        raise DataError(found).at(sizes)
    offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
    if len(vectors.shape) != 2 or offsets[-1] != vectors.shape[0]:
        raise DataError(f"expected {offsets[-1]} vectors, found an array of {vectors.shape}").at(rows)

    def read(n: int) -> Tokens:
        start, end = offsets[n : n + 2].tolist()
        return vectors.read(start, end), None if word_of_piece is None else word_of_piece.read(start, end)

    return len(lengths), read


def _count_words(vectors: Reals, words: Integers) -> int:
    """Return how many words sub-words have; a DataError if these are not numbered from 0, in order."""
    begins = np.diff(np.asarray(words, np.int64).ravel(), prepend=-1)  # 1 where a word begins
    fits = words.shape == vectors.shape[:1] and words.dtype.kind in "iu"
    if not fits or begins[:1].any() != bool(len(begins)) or not np.isin(begins, (0, 1)).all():
        found = f"for vectors of shape {vectors.shape} found {words.dtype} of shape {words.shape}"
        raise DataError(f"expected the word of each vector, from 0, in order and without gaps; {found}")
    return int(begins.sum())
