"""Links as a table: one row for each link, in Python as a DataFrame, on disk as .csv, .tsv, .jsonl, .parquet;
and the tables and comparisons of all results, for the methods of `nmtalign.results`.

If positions count tokens or pieces, JSON lines say so, and so does the metadata of a Parquet file; CSV and
TSV have no place for it.

In Python pairs count from 0, like ``batch[n]``; in a file the column is `line` and counts from 1. Positions
count from 0, like Pharaoh links. Matrices of pairs as .csv or .tsv with the words as labels, or as the arrays
of an .npz file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import singledispatch
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from nmtalign.aligner.aligner import Aligner
from nmtalign.arrays import Reals
from nmtalign.attention import entropy
from nmtalign.display import abbreviate, short_repr, visible
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import NpzWriter, import_parquet
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import as_path
from nmtalign.files.text_files import csv_cell, tsv_cell, without_formula
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    BothWords,
    GoldAlignment,
    Link,
)
from nmtalign.links.evaluation import Evaluation, ThresholdCurve, compare_evaluations, error_table
from nmtalign.links.formats import json_text
from nmtalign.links.gold import gold_table
from nmtalign.links.scoring import METRICS, ExpectedEvaluation, compare_expected
from nmtalign.names import SIDES, LinkUnitName
from nmtalign.results import FIRST_AND_SECOND, table_of_rows, with_frame_index
from nmtalign.validation import advise_on_repeated_index, check_choice, check_same_pairs, check_type

if TYPE_CHECKING:
    import pandas as pd

MAX_HTML_PAIRS = 5  # of a batch in a notebook
MAX_HTML_CHARACTERS = 80
COMPARISON_COLUMNS = ["source_position", "source_word", "target_position", "target_word", "found"]
COMPARISON_EXAMPLE = (0, "", 0, "", "")
TABLE_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
MATRIX_FORMATS = (".tsv", ".csv", ".npz")


class LinkRow(NamedTuple):
    """One link of one sentence pair."""

    line: int  # from 1
    source_position: int
    source_word: str
    target_position: int
    target_word: str
    probability: float


LINK_TABLE_COLUMNS = ("pair", *LinkRow._fields[1:], "pair_score")  # in Python


def batch_rows(
    batch: AlignedBatch,
    source_words: Sequence[Sequence[str]],
    target_words: Sequence[Sequence[str]],
    *,
    first: int = 1,
) -> Iterator[LinkRow]:
    """Yield the rows of a batch; `source_words[n]` and `target_words[n]` are the words of its pair n."""
    links = zip(batch.source.tolist(), batch.target.tolist(), batch.probability.tolist(), strict=True)
    for n, size in enumerate((batch.offsets[1:] - batch.offsets[:-1]).tolist()):
        source, target = source_words[n], target_words[n]
        for _ in range(size):
            s, t, probability = next(links)
            yield LinkRow(first + n, s, source[s], t, target[t], probability)


def without_formulas(rows: Iterable[LinkRow], path: str | Path) -> Iterable[LinkRow]:
    """Return the rows of a table; in CSV and TSV no spreadsheet takes their words for formulas."""
    if table_format(path) not in _CELL_FORMATS:
        return rows
    return (
        row._replace(
            source_word=without_formula(row.source_word), target_word=without_formula(row.target_word)
        )
        for row in rows
    )


def link_table(pairs: Iterable[AlignedPair] | AlignedPair) -> pd.DataFrame:
    """Return one row for each link: pair, positions, words, probability, pair score.

    Parameters
    ----------
    pairs : AlignedPair, AlignedBatch, or iterable of AlignedPair

    Returns
    -------
    pandas.DataFrame
        One row for each link, pair by pair, by source and then by target position. Pairs count from 0. If
        the pairs of a batch come from a DataFrame, each row has the index of its pair there, so that the
        table can be joined to the DataFrame.

    Warns
    -----
    AdviceWarning
        If this index has repeated values, by which a join would repeat rows. The column ``pair`` numbers the
        rows of the DataFrame: ``frame.reset_index().join(table.set_index("pair"))``.

    Examples
    --------
    >>> from nmtalign import AlignedPair, Alignment, AlignmentMatrix
    >>> import numpy as np
    >>> matrix = AlignmentMatrix(np.array([[0.9, 0.1]]), ("red", "wine"), ("rouge",))
    >>> print(link_table(AlignedPair(Alignment({(0, 0)}, 2, 1), matrix)).to_string(index=False))
     pair  source_position source_word  target_position target_word  probability  pair_score
        0                0         red                0       rouge          0.9         NaN
    """
    rows = []
    for number, pair in enumerate(pairs if isinstance(pairs, Iterable) else [pairs]):
        check_type(pair, AlignedPair, "aligned pairs")
        score = np.nan if pair.score is None else pair.score
        for (s, t), (source, target, probability) in zip(pair.links, pair.words, strict=True):
            rows.append((number, s, source, t, target, probability, score))
    table = table_of_rows(rows, LINK_TABLE_COLUMNS, example=(0, 0, "", 0, "", 0.5, 0.5))
    frame_index = getattr(pairs, "frame_index", None)
    advise_on_repeated_index(frame_index)
    return with_frame_index(table, frame_index)


WORD_TABLE_COLUMNS = ("pair", "side", "position", "word", "links", "entropy", "coverage", "null")


@singledispatch
def to_word_table(result: Any) -> pd.DataFrame:
    """Return the entropy and coverage of each word of a pair or batch as a DataFrame."""
    raise UsageError(f"there is no table of the words of a {type(result).__name__}")


@to_word_table.register
def _(pair: AlignedPair) -> Any:
    if pair.forward is None or pair.reverse is None:
        raise UsageError("this pair has one matrix; entropy and coverage need attention of both directions")
    rows = _word_rows(0, pair.tokens, pair.links, pair.forward, pair.reverse)
    return _table_of_words(rows).drop(columns="pair")


@to_word_table.register
def _(batch: AlignedBatch) -> Any:
    rows: list[tuple[Any, ...]] = []
    both = zip(batch.matrices("forward"), batch.matrices("reverse"), strict=True)
    for n, (forward, reverse) in enumerate(both):
        rows += _word_rows(n, batch[n].tokens, batch.links(n), forward, reverse)
    return with_frame_index(_table_of_words(rows), batch.frame_index)


def _table_of_words(rows: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    return table_of_rows(rows, WORD_TABLE_COLUMNS, example=(0, "", 0, "", 0, 0.5, 0.5, 0.5))


def _word_rows(
    number: int, words: BothWords, links: Sequence[Link], forward: Reals, reverse: Reals
) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `WORD_TABLE_COLUMNS` for each word of a pair, from its attention (T, S)."""
    attention_of_sides = reverse.T, forward  # a row is a word of the side, a column one of the other side
    for side, (name, own) in enumerate(zip(SIDES, attention_of_sides, strict=True)):
        null = np.clip(1 - own.sum(axis=1, keepdims=True), 0, 1)
        entropies = entropy(np.hstack([own, null]))
        coverage = attention_of_sides[1 - side].sum(axis=0)
        counts = Counter(link[side] for link in links)
        columns = entropies.tolist(), coverage.tolist(), null[:, 0].tolist()
        for position, values in enumerate(zip(words[side], *columns, strict=True)):
            word, *figures = values
            yield number, name, position, word, counts[position], *figures


def open_table(
    path: str | Path, files: AtomicFiles, *, unit: LinkUnitName = "words"
) -> Callable[[Iterable[LinkRow]], None]:
    """Return a function that writes rows of links to a file; memory does not grow with the number of rows.

    The ending names the format: .csv, .tsv, .jsonl (which may be compressed: .csv.gz, .bz2, .xz, .zst), or
    .parquet, for which the extra ``[parquet]`` is needed. `unit` is what positions count. Probabilities are
    written fixed-point with six digits. In .tsv nothing is quoted; a tab, a line end or a backslash inside a
    word is written ``\\t``, ``\\n``, ``\\r``, ``\\\\``, another line break as ``\\u2028``.
    The same rows give identical files.
    """
    kind = table_format(path)
    if kind == ".parquet":
        return files.enter_context(_open_parquet(files.binary(path), unit))
    file = files.text(path)
    file.write(table_header(kind))
    return lambda rows: file.writelines(_row_lines(kind, rows, unit))


def table_format(path: str | Path) -> str:
    """Return the ending that names the format of a table, looking behind a compression ending."""
    path = as_path(path)
    kind = format_ending(path)
    if kind not in TABLE_FORMATS or (kind == ".parquet" and path.suffix.lower() != kind):
        raise UsageError(f"{path}: expected a table file ending in {', '.join(TABLE_FORMATS)}")
    return kind


def table_header(kind: str) -> str:
    """Return the first line of a table of the kind .csv or .tsv; .jsonl has none."""
    if kind not in _CELL_FORMATS:
        return ""
    separator, _ = _CELL_FORMATS[kind]
    return separator.join(LinkRow._fields) + "\n"


def table_text(kind: str, rows: Iterable[LinkRow], unit: LinkUnitName) -> str:
    """Return rows as lines of a table of the kind .csv, .tsv or .jsonl, without :func:`table_header`."""
    return "".join(_row_lines(kind, rows, unit))


def _row_lines(kind: str, rows: Iterable[LinkRow], unit: LinkUnitName) -> Iterator[str]:
    if kind == ".jsonl":
        ending = "" if unit == "words" else f', "unit": "{unit}"'
        return (_format_jsonl_row(row, ending) for row in rows)
    separator, field = _CELL_FORMATS[kind]
    return (_format_row(separator, field, row) for row in rows)


def _format_row(between: str, field: Callable[[str], str], row: LinkRow) -> str:
    line, s, source, t, target, probability = row
    return between.join((f"{line}", f"{s}", field(source), f"{t}", field(target), f"{probability:.6f}\n"))


def _format_jsonl_row(row: LinkRow, ending: str) -> str:
    line, s, source, t, target, probability = row
    words = json_text(source), json_text(target)
    return (
        f'{{"line": {line}, "source_position": {s}, "source_word": {words[0]},'
        f' "target_position": {t}, "target_word": {words[1]}, "probability": {probability:.6f}{ending}}}\n'
    )


# The separator of cells, and the function that writes a word into a cell.
_CELL_FORMATS = {
    ".csv": (",", csv_cell),
    ".tsv": ("\t", tsv_cell),
}


def save_matrices(pairs: Iterable[tuple[int, Mapping[str, AlignmentMatrix]]], path: str | Path) -> None:
    """Save the numbers of matrices: .tsv or .csv for one, with its words as labels, .npz for any.

    `pairs` are read one by one: the number of each pair, and its matrices by name. In .npz ``pair-3`` is the
    only matrix of pair 3, ``forward-3`` one of several.
    """
    path = as_path(path)
    with AtomicFiles() as files:
        if path.suffix.lower() == ".npz":
            archive = files.enter_context(NpzWriter(files.binary(path)))
            for number, matrices in pairs:
                for name, matrix in matrices.items():
                    archive.write(f"{name if len(matrices) > 1 else 'pair'}-{number}", matrix.weights)
            return
        listed = [matrix for _, matrices in islice(pairs, 2) for matrix in matrices.values()]
        if len(listed) != 1:
            count = len(listed) or "none"
            raise UsageError(f"{path}: a {path.suffix} file has one matrix, found {count}; save to .npz")
        files.text(path).writelines(_matrix_lines(listed[0], path.suffix.lower()))


def _matrix_lines(matrix: AlignmentMatrix, kind: str) -> Iterator[str]:
    """Yield a line of source words, then one for each target word with its weights."""
    separator, format_cell = _CELL_FORMATS[kind]
    source = [format_cell(token) for token in matrix.source_tokens]
    target = [format_cell(token) for token in matrix.target_tokens]
    yield separator.join(["", *source]) + "\n"
    for token, row in zip(target, matrix.weights.tolist(), strict=True):
        weights = [f"{weight:.6f}" for weight in row]
        yield separator.join([token, *weights]) + "\n"


@contextmanager
def _open_parquet(out: BinaryIO, unit: LinkUnitName) -> Iterator[Callable[[Iterable[LinkRow]], None]]:
    """Yield a function that writes rows as row groups of a Parquet file.

    The file is opened by us: errors of one that pyarrow opens do not name it.
    """
    arrow = import_parquet()
    kinds = (arrow.int64(), arrow.int32(), arrow.string(), arrow.int32(), arrow.string(), arrow.float32())
    schema = arrow.schema(list(zip(LinkRow._fields, kinds, strict=True)))
    if unit != "words":
        schema = schema.with_metadata({"unit": unit})

    def write(rows: Iterable[LinkRow]) -> None:
        rows = iter(rows)
        while chunk := list(islice(rows, 100_000)):
            columns = [list(column) for column in zip(*chunk, strict=True)]
            file.write_table(arrow.table(columns, schema=schema))

    with arrow.parquet.ParquetWriter(out, schema) as file:
        yield write


# --- tables of results ---------------------------------------------------------------------------


@singledispatch
def as_pair(result: Any) -> AlignedPair:
    """Return a result as a pair of words, weights and links."""
    raise UsageError(f"expected one sentence pair, found {short_repr(result)}")


@as_pair.register
def _(result: AlignedPair) -> AlignedPair:
    return result


@as_pair.register
def _(result: AlignmentMatrix) -> AlignedPair:
    return AlignedPair(Alignment(frozenset(), len(result.source_tokens), len(result.target_tokens)), result)


@as_pair.register
def _(result: Alignment) -> AlignedPair:
    """Return a pair whose words are their numbers, from 0: an alignment has no words."""
    source, target = (map(str, range(n)) for n in (result.source_length, result.target_length))
    matrix = AlignmentMatrix(result.to_matrix().astype(np.float32), tuple(source), tuple(target))
    return AlignedPair(result, matrix)


def matrices_by_title(pair: AlignedPair, values: str | None = None) -> dict[str, AlignmentMatrix]:
    """Return the matrices of a pair that :func:`draw_heatmap` draws, by the titles of the panels.

    `values` is ``combined``, ``forward``, ``reverse``, ``scores``, or ``all`` for the first three; by
    default those that are usual for the pair. A pair that was aligned in sections lacks some scores.
    """
    values = pair.default_values if values is None else values
    arrays = {"forward": pair.forward, "reverse": pair.reverse, "combined": pair.posterior}
    arrays["scores"] = pair.scores
    known = {name: weights for name, weights in arrays.items() if weights is not None}
    check_choice(values, [*known, "all"], "values")
    shown = [name for name in known if name != "scores"] if values == "all" else [values]
    if any(np.isnan(known[name]).any() for name in shown):
        raise DataError("the pair was aligned in sections, so words that share no section have no score")
    return {name: replace(pair.matrix, weights=known[name]) for name in shown}


def matrices_to_draw(result: Any, values: str | None) -> dict[str, AlignmentMatrix]:
    """Return the matrices of an aligned pair by their titles, or the one matrix of another result."""
    pair = as_pair(result)
    if pair is result:
        return matrices_by_title(pair, values)
    if values is not None:
        problem = f"`values` chooses among the matrices of an aligned pair, found {short_repr(values)}"
        raise UsageError(f"{problem}; remove it for a single matrix")
    return {"": pair.matrix}


def to_html(result: Any) -> str:
    """Return the table of a result as HTML for a notebook."""
    table = to_table(result)
    return str(table.to_html(header=len(table.columns) > 1, float_format="{:.4f}".format))


@singledispatch
def to_table(result: Any) -> pd.DataFrame:
    """Return a result as a DataFrame: links, weights, scores with their intervals, or settings."""
    raise UsageError(f"there is no table of a {type(result).__name__}")


@to_table.register
def _(result: AlignedPair) -> Any:
    return link_table(result).drop(columns=["pair", "pair_score"])


@to_table.register
def _(result: AlignedBatch) -> Any:
    return link_table(result)


@to_table.register
def _(result: Alignment) -> Any:
    return _frame(list(result), columns=["source_position", "target_position"])


@to_table.register
def _(result: GoldAlignment) -> Any:
    return gold_table(result)


@to_table.register
def _(result: AlignmentMatrix) -> Any:
    return _frame(result.weights, index=list(result.target_tokens), columns=list(result.source_tokens))


@to_table.register
def _(result: Evaluation) -> Any:
    rows = [(getattr(result, metric), *result.intervals[metric]) for metric in METRICS]
    return _frame(rows, index=list(METRICS), columns=["score", "low", "high"])


@to_table.register
def _(result: ExpectedEvaluation) -> Any:
    rows = []
    for style, scores in result.styles.items():
        rows += [(style, metric, scores.score(metric), *scores.intervals[metric]) for metric in METRICS]
    return _frame(rows, columns=["style", "metric", "expected", "low", "high"])


@to_table.register
def _(result: ThresholdCurve) -> Any:
    rows = []
    for point in result.points:
        rows.append((point.threshold, *map(point.score, METRICS), point.counts.links))
    return _frame(rows, columns=["threshold", *METRICS, "links"])


@to_table.register
def _(result: Aligner) -> Any:
    settings = {
        "scorer": result.scorer.description,
        "positions": result.positions.description,
        "extraction": str(result.resolved_extraction),
        "text": str(result.text_settings),
    }
    return _frame({"setting": settings})


def _frame(data: Any, *, index: list[str] | None = None, columns: list[str] | None = None) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(data, index=index, columns=columns)


def batch_to_html(batch: Any) -> str:
    """Return the first pairs of a batch as a table for a notebook, below its counts."""
    caption = escape(repr(batch))
    if batch.origin is None:
        return f"<p>{caption}</p>"
    rows = []
    for n in range(min(len(batch), MAX_HTML_PAIRS)):
        pair = batch[n]
        source, target = (abbreviate(" ".join(words), MAX_HTML_CHARACTERS) for words in pair.tokens)
        words = abbreviate(repr(pair), MAX_HTML_CHARACTERS)
        label = n if batch.frame_index is None else batch.frame_index[n]
        score = np.nan if pair.score is None else pair.score
        rows.append((label, visible(source), visible(target), visible(words), score))
    table = _frame(rows, columns=["pair", "source", "target", "links", "pair score"])
    html = table.to_html(index=False, float_format="{:.3f}".format, na_rep="", border=0)
    more = f"<p>... and {len(batch) - len(rows):,} more</p>" if len(batch) > len(rows) else ""
    return f"<p>{caption}</p>{html}{more}"


@singledispatch
def to_comparison(first: Any, second: Any, names: tuple[str, str]) -> Any:
    """Return where the links of two results are found, a picture of two matrices, differences of scores."""
    rows = _compare_links(as_pair(first), as_pair(second), _checked_names(names, ["both"]))
    return table_of_rows(rows, COMPARISON_COLUMNS, COMPARISON_EXAMPLE)


def _checked_names(names: Any, columns: Sequence[str] = ()) -> tuple[str, str]:
    """Return the names of two results; raise UsageError unless they differ, also from other `columns`."""
    check_type(names, (tuple, list), "two names, of this result and of the other one")
    is_pair = len(names) == 2 and all(isinstance(name, str) for name in names)
    if not is_pair or len({*names, *columns}) < 2 + len(columns):
        others = f", other than {', '.join(columns)}" if columns else ""
        expected = f"expected two different names of the results as `names`{others}"
        raise UsageError(f"{expected}, found {short_repr(names)}")
    return names[0], names[1]


def _compare_links(ours: AlignedPair, theirs: AlignedPair, names: tuple[str, str]) -> list[tuple[Any, ...]]:
    sizes = [tuple(map(len, pair.tokens)) for pair in (ours, theirs)]
    if sizes[0] != sizes[1]:
        words = " and ".join(f"{size[0]} and {size[1]} words" for size in sizes)
        raise UsageError(f"expected two results of one sentence pair, found pairs of {words}")
    results = dict.fromkeys(ours.links, names[0]) | dict.fromkeys(theirs.links, names[1])
    results |= dict.fromkeys(ours.alignment.links & theirs.alignment.links, "both")
    source, target = ours.tokens
    return [(s, source[s], t, target[t], result) for (s, t), result in sorted(results.items())]


@to_comparison.register
def _(first: AlignedBatch, second: Any, names: tuple[str, str]) -> Any:
    if not isinstance(second, AlignedBatch):
        if names != FIRST_AND_SECOND:
            raise UsageError("`names` are those of two batches, found gold links; remove them")
        return error_table(first, second)
    names = _checked_names(names, ["both"])
    if len(first) != len(second):
        raise UsageError(f"expected two batches of the same pairs, found {len(first):,} and {len(second):,}")
    check_same_pairs(first, second, "links")
    pairs = enumerate(zip(first, second, strict=True))
    rows = [(n, *row) for n, both in pairs for row in _compare_links(*both, names)]
    table = table_of_rows(rows, ["pair", *COMPARISON_COLUMNS], (0, *COMPARISON_EXAMPLE))
    return with_frame_index(table, first.frame_index)


@to_comparison.register
def _(first: AlignmentMatrix, second: Any, names: tuple[str, str]) -> Any:
    from nmtalign.report.heatmap import draw_heatmap

    return draw_heatmap(dict(zip(_checked_names(names), (first, second), strict=True)))


@to_comparison.register
def _(first: Aligner, second: Any, names: tuple[str, str]) -> Any:
    names = _checked_names(names)
    check_type(second, Aligner, "another aligner")
    ours, theirs = (
        to_table(one).add_suffix(f" of {name}") for one, name in zip((first, second), names, strict=True)
    )
    return ours.join(theirs, how="outer")


@to_comparison.register
def _(first: Evaluation, second: Any, names: tuple[str, str]) -> Any:
    others = ["difference", "low", "high", "p"]
    names = _checked_names(names, others)
    check_type(second, Evaluation, "another evaluation")
    rows = []
    for metric, difference in compare_evaluations(first, second).items():
        scores = getattr(first, metric), getattr(second, metric)
        rows.append((*scores, difference.value, *difference.interval, difference.p))
    table = _frame(rows, index=list(METRICS), columns=[*names, *others])
    table.attrs["settings"] = first.bootstrap.settings
    return table


@to_comparison.register
def _(first: ExpectedEvaluation, second: Any, names: tuple[str, str]) -> Any:
    others = ["difference", "low", "high"]
    names = _checked_names(names, others)
    verdict = compare_expected(first, second)
    row = (*verdict.errors, verdict.difference, *verdict.interval)
    table = _frame([row], index=["expected error"], columns=[*names, *others])
    table.attrs["settings"] = first.settings
    table.attrs["verdict"] = verdict.describe(names)
    return table
