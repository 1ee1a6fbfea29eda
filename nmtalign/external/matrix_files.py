"""Files of attention, of token vectors and of similarities by other programs, read pair by pair.

The archive of ``links-from`` has all that pictures show. For pair N there are the arrays ``pair-N``
(forward), ``reverse-N`` and ``combined-N`` (T, S), ``links-N`` (L, 2) and ``probabilities-N`` (L), with
several heads ``heads-N`` (H, T, S), and ``about-N``, the bytes of JSON with lines, words and settings.

Axes: T target words, S source words (or pieces of words), D dimension, H heads, L links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import (
    AnyArray,
    Flags,
    Floats,
    Integers,
    Reals,
    as_real_array,
    check_stored_array,
    check_stored_number,
    in_word_order,
    unit_rows,
)
from nmtalign.display import short_repr, with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import (
    NpyRowReader,
    NpzReader,
    NpzWriter,
    is_npy_file,
    is_npz_file,
    read_array,
    sort_by_trailing_number,
)
from nmtalign.files.paths import file_inside, name_file_in_errors, reraise_as_data_error
from nmtalign.files.text_files import parse_json, read_lines
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix, Link
from nmtalign.names import SIDES, SUBWORD_MARKS, SubwordMarks
from nmtalign.validation import check_choice, is_iterable

TokenizedPair = tuple[Sequence[str], Sequence[str]]  # source and target
Lines = Iterable[tuple[int, str]]
Tokens = tuple[Reals, Integers | None]  # vectors of words, or of sub-words and the word of each
Content = TypeVar("Content")

FORMAT_LINES = 1_000  # the format of a text is detected from this many of its first lines
COSINE_TOLERANCE = 1e-5  # rounding takes cosines in single precision at most this far below -1
# In an .npz file, the array linkable-17 marks the cells of matrix 17 that may have links.
LINKABLE = "linkable"
_SEPARATOR = " ||| "  # Marian's stands between the translation and the weights
_LINKS = re.compile(r"\d+-\d+(?: \d+-\d+)*")
_POSITIONS = re.compile(r"\d+(?: \d+)*")
_SOFT = "run Marian with --alignment soft, fairseq with --print-alignment soft"
# the line before a matrix of Nematus and Sockeye: number ||| target ||| score ||| source ||| two lengths
_NEMATUS_FIELDS = 6
_FAIRSEQ = re.compile(r"(?P<kind>[A-Z])-(?P<pair>\d{1,9})\t(?P<rows>.*)")
_OPENNMT = re.compile(r"\s*\S+ (?P<row>(?:[ *]*\d\.\d{7} )*[ *]*\d\.\d{7}) *")


def _no_heads() -> dict[str, Reals]:
    """Return the matrices of the attention heads of a source that has none."""
    return {}


class PairMatrix(NamedTuple):
    """The attention or the similarities of one sentence pair."""

    words: TokenizedPair  # source and target words of the matrix
    matrix: Reals  # (T, S), of words or of sub-words
    word_of_piece: tuple[Integers, Integers] | None = None  # the word of each source and target sub-word
    by_head: Callable[[], dict[str, Reals]] = _no_heads  # computes the matrix of each attention head by name
    linkable: Flags | None = None  # (T, S) cells that may have links; None for all

    def without_heads(self) -> PairMatrix:
        """Return the matrix alone, without the attention of each head that it was made of."""
        return self._replace(by_head=_no_heads)

    @property
    def unlinked(self) -> tuple[frozenset[int], frozenset[int]] | None:
        """Source and target words without any cell that may have a link; None if all cells may have one."""
        if self.linkable is None:
            return None
        source = np.flatnonzero(~self.linkable.any(axis=0)).tolist()
        target = np.flatnonzero(~self.linkable.any(axis=1)).tolist()
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
    """Yield the result of `make` for each pair and its array; with `marks`, also which cells may have links.

    Raises DataError if the file has fewer or more arrays than there are pairs; with the number of the pair if
    `make` raises it. Errors count pairs from `first`: 1 for a file, 0 for arrays in memory.
    """
    count = 0
    linkable = _read_linkable(path) if marks else repeat(None)
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
        raise DataError(f"expected arrays for the {with_plural(count, 'pair')} of the text, found more").at(
            path
        )


def _read_linkable(path: str | Path) -> Iterator[Flags | None]:
    """Yield which cells of each pair of a file may have links; None where the file does not say."""
    if str(path) == "-" or not is_npz_file(path):
        yield from repeat(None)
    with NpzReader(path) as archive:
        for name in _names_of_pairs(archive, path):
            marks = f"{LINKABLE}-{name.rpartition('-')[2]}"
            yield archive.read(marks) if marks in archive.names else None


def _names_of_pairs(archive: NpzReader, path: str | Path) -> list[str]:
    names = [name for name in archive.names if not name.startswith(f"{LINKABLE}-")]
    if any(name.startswith(f"{ABOUT}-") for name in names):  # an archive of `links-from`
        names = [name for name in names if name.startswith("pair-")]
    return sort_by_trailing_number(names, path)


def read_npz(path: str | Path) -> Iterator[Reals]:
    """Yield the arrays of an .npz file by the number that their names end with, but for `LINKABLE` ones."""
    with NpzReader(path) as archive:
        yield from map(archive.read, _names_of_pairs(archive, path))


def read_matrices(path: str | Path, *, encoding: str = "utf-8") -> Iterator[Reals]:
    """Yield the attention of one sentence pair after the other. The format is detected from the content.

    * npz with one array per pair, (T, S) or (layers, heads, T, S), ordered by
      :func:`sort_by_trailing_number`, or npy of one pair;
    * text of Marian's ``--alignment soft``: one line per pair, ``words ||| 0.9,0.1 0.2,0.8``;
    * the alignments of Nematus and Sockeye: for each pair a line with both sentences and their lengths, such
      as ``1 ||| le chat ||| 0.28 ||| the cat ||| 2 ||| 2``, and a line of weights for each target word;
    * the output of fairseq's ``--print-alignment soft``: lines ``A-17<tab>0.9,0.1 0.2,0.8`` in any order
      among other lines, where 17 is the number of the pair from 0. Of several translations, the first is
      taken;
    * the output of OpenNMT-py's ``-attn_debug``: among other lines, tables whose rows have a target word and
      its weights with 7 decimals, the largest marked by ``*``.

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
    if head and _is_nematus_line(head[0][1]):
        read = _read_nematus
    elif any(_FAIRSEQ.fullmatch(line) for _, line in head):
        read = _read_fairseq
    elif any(_OPENNMT.fullmatch(line) for _, line in head):
        read = _read_opennmt
    elif head and head[0][1].lstrip(" ")[:1] in ("{", "["):
        expected = "expected weights as text, or arrays in an .npz file"
        advice = "numpy.savez writes one array (T, S), or (layers, heads, T, S), for each pair"
        raise DataError(f"{expected}, found JSON; {advice}").at(path)
    return read(chain(head, lines), path)


def _read_marian(lines: Lines, path: str | Path) -> Iterator[Reals]:
    for number, line in lines:
        text = line.rpartition(_SEPARATOR)[2]
        is_position = _POSITIONS.fullmatch(text) and not {"0", "1"}.issuperset(text.split(" "))
        if is_position or _LINKS.fullmatch(text):
            raise _links_error("positions" if is_position else "links").at(path, line=number)
        yield _parse_weights(text, path, number)


def _links_error(found: str) -> DataError:
    """Return the error of a program that has written which words are linked, not how strongly."""
    advice = f"{_SOFT}; a file of links needs no attention: `nmtalign convert` reads it"
    return DataError(f"expected weights such as 0.9,0.1 0.2,0.8, found {found}; {advice}")


def _parse_weights(text: str, path: str | Path, line: int) -> Reals:
    """Parse ``0.9,0.1 0.2,0.8``."""
    return _as_matrix([row.split(",") for row in text.split(" ") if row], path, line)


def _as_matrix(rows: Sequence[Sequence[str]], path: str | Path, line: int) -> Reals:
    """Return rows of numbers as an array; DataError names the line if one is not a number, or is missing."""
    if not rows:
        return np.zeros((0, 0))
    try:
        # NumPy itself would first give each entry the length of the longest
        return np.array([list(map(float, row)) for row in rows])
    except ValueError:
        expected = "expected the same number of weights for each target word, such as 0.9,0.1 0.2,0.8"
        raise DataError(expected).at(path, line=line) from None


def _is_nematus_line(line: str) -> bool:
    """Return whether a line is the one that Nematus and Sockeye write before a matrix."""
    fields = line.split(_SEPARATOR)
    return len(fields) == _NEMATUS_FIELDS and fields[0].isdecimal() and fields[-1].strip().isdecimal()


def _read_nematus(lines: Lines, path: str | Path) -> Iterator[Reals]:
    """Yield the matrices that stand below a line with both sentences."""
    rows: list[list[str]] = []
    first = 0  # number of the line before the matrix
    for number, line in lines:
        if not _is_nematus_line(line):
            rows += [line.split()] if line.strip() else []
            continue
        if first:
            yield _as_matrix(rows, path, first)
        rows, first = [], number
    yield _as_matrix(rows, path, first)


def _read_fairseq(lines: Lines, path: str | Path) -> Iterator[Reals]:
    """Yield the matrices in the order of their numbers; the lines with weights are kept until then."""
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
        if _LINKS.fullmatch(rows) or _POSITIONS.fullmatch(rows):
            raise _links_error("links" if "-" in rows else "positions").at(path, line=number)
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
            yield _as_matrix(rows, path, number)
            rows = []


def match_given(
    given: str | Path | Iterable[AnyArray],
    name: str,
    read: Callable[[str | Path], Iterator[Reals]],
    pairs: Iterable[TokenizedPair],
    make: Callable[[TokenizedPair, Reals], PairMatrix],
) -> Iterator[PairMatrix]:
    """Yield the result of `make` for each pair and its array, which is given, or read from a file."""
    if isinstance(given, str | Path):
        return match_pairs(pairs, read(given), given, make, marks=True)
    check_arrays(given, name)

    def make_of_given(words: TokenizedPair, array: Any) -> PairMatrix:
        source, target = words
        array = in_word_order(array, target, source)
        return make(words, as_real_array(array, name))

    return match_pairs(pairs, iter(given), name, make_of_given, first=0)


def check_arrays(given: Any, name: str) -> None:
    """Raise UsageError unless there is an array for each pair, in the order of the pairs."""
    expected = f"expected an array for each pair, in the order of the pairs, as `{name}`"
    if not is_iterable(given):
        raise UsageError(f"{expected}, or a file of them, found {short_repr(given)}")
    if isinstance(given, Mapping | Set):
        raise UsageError(
            f"{expected}, found a {type(given).__name__}; pass a list, such as list({name}.values())"
        )
    if hasattr(given, "itertuples") or hasattr(given, "iter_rows"):
        advice = f"the matrix of a single pair goes in a list: [{name}]"
        raise UsageError(f"{expected}, found a {type(given).__name__}; {advice}")


def read_similarities(
    given: str | Path | Iterable[AnyArray], minimum: float, pairs: Iterable[TokenizedPair]
) -> Iterator[PairMatrix]:
    """Yield similarities, an array (T, S) per pair, given or from an .npz file.

    A DataError names a pair that has a similarity below `minimum`.
    """
    return match_given(given, "similarities", read_npz, pairs, partial(_checked_similarities, minimum))


def _checked_similarities(minimum: float, words: TokenizedPair, array: Reals) -> PairMatrix:
    """Return the similarities of a pair; DataError if their shape, type or values are wrong."""
    S, T = map(len, words)
    if not S * T:
        return PairMatrix(words, np.zeros((T, S)))
    if array.shape != (T, S) or array.dtype.kind not in "biuf":
        raise DataError(f"expected {T} target by {S} source words, found {array.dtype} {array.shape}")
    matrix = _as_finite_floats(array)
    if matrix.min() < minimum - COSINE_TOLERANCE:
        raise DataError(f"expected similarities of at least {minimum}, found {matrix.min():.6g}")
    return PairMatrix(words, matrix)


def _as_finite_floats(matrix: Reals) -> Floats:
    """Return similarities in single precision; DataError if one is NaN or infinite."""
    single = np.asarray(matrix, np.float32)
    if not np.isfinite(single).all():
        raise DataError("expected similarities, found NaN or infinity")
    return single


def cosines(source: Reals, target: Reals) -> Floats:
    """Return the cosines (T, S) of the vectors (S, D) and (T, D) of two sentences; 0 for a zero vector."""
    source_rows = unit_rows(np.asarray(source, np.float32))
    target_rows = unit_rows(np.asarray(target, np.float32))
    return np.asarray(target_rows @ source_rows.T)


@np.errstate(invalid="ignore", over="ignore")  # `_as_finite_floats` raises an error instead
def pair_similarities(words: TokenizedPair, tokens: Sequence[Tokens], product: str, units: str) -> PairMatrix:
    """Return cosines, or dot products, of source and target: of sub-words, or of the means of words."""
    source_tokens, target_tokens = tokens
    if units == "words":
        source = _word_vectors(source_tokens, len(words[0]))
        target = _word_vectors(target_tokens, len(words[1]))
        word_of_piece = None
    else:
        source, target = source_tokens[0], target_tokens[0]
        word_of_piece = _word_of_piece(source_tokens), _word_of_piece(target_tokens)
    matrix = cosines(source, target) if product == "cosine" else np.asarray(target @ source.T, np.float32)
    return PairMatrix(words, _as_finite_floats(matrix), word_of_piece)


def _word_of_piece(tokens: Tokens) -> Integers:
    """Return the number of the word of each vector; the vectors of words are their own words."""
    vectors, word_of_piece = tokens
    return np.arange(len(vectors)) if word_of_piece is None else word_of_piece


def _word_vectors(tokens: Tokens, word_count: int) -> Reals:
    """Return a vector for each word: the mean of its sub-words, or zeros if it has none."""
    vectors, word_of_piece = tokens
    if word_of_piece is None:
        return vectors
    sums = np.zeros((word_count, vectors.shape[1]), vectors.dtype)
    np.add.at(sums, word_of_piece, vectors)
    piece_counts = np.bincount(word_of_piece, minlength=word_count)
    return np.asarray(sums / np.maximum(piece_counts, 1)[:, None])


def read_vectors(
    path: str | Path, product: str, units: str, pairs: Iterable[TokenizedPair]
) -> Iterator[PairMatrix]:
    """Yield products of the token vectors of other programs, of sub-words or of words (`units`).

    `path` is an .npz file with two arrays (words, D) per pair, whose names begin with ``source`` or
    ``target`` and end with the number of the pair (from 0 or 1); or a folder with the vectors of all words in
    ``source.npy`` and the number of words of each pair in ``source_lengths.npy``, which is read pair by pair.
    Vectors are those of sub-words if arrays ``words-source-0``, ..., or a file ``source_words.npy`` give the
    word of each sub-word, numbered from 0 in each sentence.

    Raises DataError if a file does not exist or has a different format, if the sides differ in their number
    of pairs or in D, or if a pair does not have a vector for each word.
    """
    open_side = _open_folder if Path(path).is_dir() else _open_archive
    source = open_side(Path(path), "source")
    target = open_side(Path(path), "target")
    if source.sentence_count != target.sentence_count:
        found = f"{source.sentence_count} source and {target.sentence_count} target lines"
        raise DataError(f"expected vectors of both sides of each pair, found {found}").at(path)
    tokens = ([source.read(n), target.read(n)] for n in range(source.sentence_count))
    return match_pairs(pairs, tokens, path, partial(_checked_products, product, units))


def _checked_products(product: str, units: str, words: TokenizedPair, tokens: Sequence[Tokens]) -> PairMatrix:
    """Return the products of the vectors of a pair; DataError if their number or dimension is wrong."""
    if not all(words):
        return PairMatrix(words, np.zeros((len(words[1]), len(words[0]))))
    for name, (vectors, word_of_piece), side in zip(SIDES, tokens, words, strict=True):
        count = (
            sum(vectors.shape[:1]) if word_of_piece is None else _count_piece_words(vectors, word_of_piece)
        )
        if vectors.ndim != 2 or count != len(side) or vectors.shape[1] != tokens[0][0].shape[-1]:
            expected = f"expected vectors of {len(side)} {name} words, all of the same dimension"
            raise DataError(f"{expected}, found an array of {vectors.shape} of {count} words")
    return pair_similarities(words, tokens, product, units)


class SideReader(NamedTuple):
    """Reads the vectors of the sentences of one side."""

    sentence_count: int
    read: Callable[[int], Tokens]  # takes the number of a sentence, counted from 0


def _open_archive(path: Path, side: str) -> SideReader:
    """Return a reader of the vectors of a side, from an .npz file."""
    if not is_npz_file(path):
        raise DataError("expected an .npz file or a folder with token vectors").at(path)
    archive = NpzReader(path)
    vector_names = [name for name in archive.names if name.startswith(side)]
    vector_names = sort_by_trailing_number(vector_names, path)
    word_names = [name for name in archive.names if name.startswith(f"words-{side}")]
    word_names = sort_by_trailing_number(word_names, path)
    if word_names and len(word_names) != len(vector_names):
        raise DataError(f"expected {len(vector_names)} arrays words-{side}, found {len(word_names)}").at(path)

    def read(n: int) -> Tokens:
        vectors = archive.read(vector_names[n])
        return vectors, archive.read(word_names[n]) if word_names else None

    return SideReader(len(vector_names), read)


def _open_folder(path: Path, side: str) -> SideReader:
    """Return a reader of the vectors of a side, from the files of a folder."""
    vector_file = path / f"{side}.npy"
    word_file = path / f"{side}_words.npy"
    length_file = path / f"{side}_lengths.npy"
    if not vector_file.exists():
        raise DataError(f"expected a file {vector_file.name} with the vectors of all words").at(path)
    vectors = NpyRowReader(file_inside(path, vector_file.name))
    word_of_piece = NpyRowReader(file_inside(path, word_file.name)) if word_file.exists() else None
    lengths = read_array(file_inside(path, length_file.name))
    if lengths.dtype.kind not in "iu" or lengths.ndim != 1:
        found = f"found {lengths.dtype} of shape {lengths.shape}"
        raise DataError(f"expected the number of words of each pair, {found}").at(length_file)
    wrong = lengths[(lengths < 0) | (lengths > vectors.shape[0])]
    if len(wrong):  # their sum could overflow
        expected = f"expected 0 to {vectors.shape[0]} words in each pair"
        raise DataError(f"{expected}, found {wrong[0]}").at(length_file)
    offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
    if len(vectors.shape) != 2 or offsets[-1] != vectors.shape[0]:
        found = f"found an array of {vectors.shape}"
        raise DataError(f"expected {offsets[-1]} vectors, {found}").at(vector_file)

    def read(n: int) -> Tokens:
        start, end = offsets[n : n + 2].tolist()
        return vectors.read(start, end), None if word_of_piece is None else word_of_piece.read(start, end)

    return SideReader(len(lengths), read)


def _count_piece_words(vectors: Reals, words: Integers) -> int:
    """Return the number of words of sub-words; DataError unless these are numbered from 0, in order."""
    begins = np.diff(np.asarray(words, np.int64).ravel(), prepend=-1)  # 1 where a word begins
    fits = words.shape == vectors.shape[:1] and words.dtype.kind in "iu"
    if not fits or begins[:1].any() != bool(len(begins)) or not np.isin(begins, (0, 1)).all():
        found = f"for vectors of shape {vectors.shape} found {words.dtype} of shape {words.shape}"
        expected = "expected word numbers that start at 0, never decrease and skip no number"
        raise DataError(f"{expected}; {found}")
    return int(begins.sum())


# --- the archive of `links-from` -----------------------------------------------------------------

ABOUT = "about"
_SETTINGS = ("score", "description", "extraction", "threshold", "second", "default_values")


class GivenPair(NamedTuple):
    """A sentence pair with the attention of another program."""

    lines: tuple[str, str]
    pair: AlignedPair
    heads: Mapping[str, Reals]  # the attention (T, S) of each head by its name; none if there is one
    pieces: SubwordMarks | None = None  # the marks of sub-words that were joined into words


def write_pair(archive: NpzWriter, number: int, given: GivenPair) -> None:
    """Write a pair into an archive; pairs count from 1."""
    pair = given.pair
    links = pair.links
    about = {
        "lines": list(given.lines),
        "words": [list(side) for side in pair.tokens],
        "unknown": None if pair.matrix.unknown is None else [sorted(side) for side in pair.matrix.unknown],
        "heads": list(given.heads),
        "pieces": given.pieces,
        **{name: getattr(pair, name) for name in _SETTINGS},
    }
    text = json.dumps(about, ensure_ascii=False)
    archive.write(f"{ABOUT}-{number}", np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8))
    archive.write(f"pair-{number}", pair.forward)
    archive.write(f"reverse-{number}", pair.reverse)
    archive.write(f"combined-{number}", pair.posterior)
    archive.write(f"links-{number}", np.array(links, np.int64).reshape(-1, 2))
    archive.write(f"probabilities-{number}", np.array([pair.probability(link) for link in links], np.float64))
    if given.heads:
        archive.write(f"heads-{number}", np.stack([np.asarray(head) for head in given.heads.values()]))


def is_attention_archive(path: str | Path) -> bool:
    """Return whether a file is an archive of pairs with their attention."""
    if not is_npz_file(path):
        return False
    with NpzReader(path) as archive:
        return any(name.startswith(f"{ABOUT}-") for name in archive.names)


def read_pairs_with_attention(path: str | Path) -> Generator[GivenPair]:
    """Yield the pairs of an archive; DataError if a file is not what ``links-from --attention`` writes."""
    with NpzReader(path) as archive:
        names = [name for name in archive.names if name.startswith(f"{ABOUT}-")]
        if archive.names and not names:
            expected = "expected an archive that `nmtalign links-from --attention FILE` has written"
            raise DataError(f"{expected}, found arrays without words and links").at(path)
        for name in sort_by_trailing_number(names, path):
            number = name.rpartition("-")[2]
            with reraise_as_data_error(f"{path}, pair {number}"):
                yield _read_pair(archive, number)


def _read_pair(archive: NpzReader, number: str) -> GivenPair:
    about = parse_json(archive.read(f"{ABOUT}-{number}").tobytes().decode("utf-8"))
    if not isinstance(about, dict):
        raise DataError(f"expected an object as {ABOUT}-{number}, found {short_repr(about)}")
    source, target = (tuple(side) for side in about["words"])
    lines = about["lines"]
    unknown: Any = about["unknown"]
    if unknown is not None:
        unknown = frozenset(unknown[0]), frozenset(unknown[1])
    links = [Link(s, t) for s, t in archive.read(f"links-{number}").tolist()]
    probabilities = check_stored_array(
        archive.read(f"probabilities-{number}"), "f", (len(links),), name=f"probabilities-{number}"
    )
    if about["score"] is not None:
        check_stored_number(about["score"], name="score")
    heads = archive.read(f"heads-{number}") if about["heads"] else ()
    shape = len(target), len(source)
    forward = archive.read(f"pair-{number}")
    reverse = archive.read(f"reverse-{number}")
    if any(weights.shape != shape for weights in (forward, reverse, *heads)):
        raise DataError(f"expected attention of shape (T, S) = {shape}")
    pair = AlignedPair(
        Alignment(links, len(source), len(target)),
        AlignmentMatrix(archive.read(f"combined-{number}"), source, target, unknown),
        forward=forward,
        reverse=reverse,
        probabilities=dict(zip(links, probabilities.tolist(), strict=True)),
        **{name: about[name] for name in _SETTINGS},
    )
    if about["pieces"] is not None:
        check_choice(about["pieces"], SUBWORD_MARKS, "marks of sub-words")
    return GivenPair(
        (lines[0], lines[1]), pair, dict(zip(about["heads"], heads, strict=True)), about["pieces"]
    )
