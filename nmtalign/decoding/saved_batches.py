"""Saved batches: links, words and kept posteriors of sentence pairs in one file, .npz or .parquet.

The file is a table with one row for each pair. A column has one number for each pair, or a list of numbers
or of words. The pairs are written and read in chunks, so that memory does not depend on their number. The
aligner is not part of the file. A JSON text describes the table: ``meta`` of .npz, as bytes in UTF-8, and in
.parquet the metadata ``nmtalign`` of the schema. In .npz, chunk k of a column of lists is ``NAME-k`` (the
values of all lists) and ``NAME-count-k`` (the size of each list); words are bytes in UTF-8.

Axes: N sentence pairs, L links or kept cells.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Longs, offsets_of
from nmtalign.corpus.regrouping import BothRegroupings, Regrouping
from nmtalign.decoding.extraction_methods import make_extraction
from nmtalign.decoding.kept_posteriors import (
    ALL_BITS,
    BIT_NAMES,
    MIN_KEPT_POSTERIOR,
    Cells,
    KeptPosteriors,
    choose_from,
)
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import NpzReader, NpzWriter
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothTexts,
    BothWords,
    WordsInText,
)
from nmtalign.links.concatenation import concat
from nmtalign.names import LINK_UNITS, SIDES, CellValues
from nmtalign.settings import LinkSettings

if TYPE_CHECKING:
    import pandas as pd

BATCH_KIND = "nmtalign batch"
BATCH_VERSION = 1
BATCH_FORMATS = (".npz", ".parquet")
PAIRS_PER_SAVED_CHUNK = 10_000
_FOREIGN = "this is not a saved batch of nmtalign (batch.save, batch.to_dict, or align --posteriors)"
_DAMAGED_BATCH = "the file is damaged; write it again"


class Column(NamedTuple):
    """The values of N pairs: one for each pair, or a list of them."""

    values: AnyArray | list[str]
    offsets: Longs | None = None  # (N + 1,): the values of each pair; None if each has one


Columns = dict[str, Column]


@dataclass(frozen=True, eq=False, repr=False)
class SavedOrigin:
    """The words of the pairs of a saved batch, and the kept posteriors; there is no aligner."""

    words: Sequence[BothWords]
    own_texts: Sequence[BothTexts] | None
    posteriors: KeptPosteriors | None
    has_probabilities: bool

    def tokens(self, n: int) -> BothWords:
        """Return the words of pair n that positions count."""
        return self.words[n]

    def texts(self, n: int) -> BothTexts | None:
        """Return the texts of pair n, and where its words are in them."""
        return None if self.own_texts is None else self.own_texts[n]

    @property
    def splitting(self) -> None:
        """The settings that split lines are not saved."""
        return None

    @property
    def link_settings(self) -> LinkSettings:
        """How the links were chosen."""
        kept, _ = choose_from(self.posteriors, LinkSettings())
        return kept.extraction.settings

    def aligned(self, n: int) -> AlignedPair:
        """Raise UsageError: attention needs the aligner."""
        found = "a saved batch has the words, links and posteriors of its pairs, but not its aligner"
        raise UsageError(f"{found}, which computes attention; align the pairs again")

    def matrices(self, values: CellValues | None) -> Iterator[Any]:
        """Raise UsageError: attention needs the aligner."""
        self.aligned(0)
        return iter(())

    def chosen(self, numbers: Sequence[int]) -> SavedOrigin:
        """Return the origin of the pairs with these numbers, in this order."""
        texts = self.own_texts
        return replace(
            self,
            words=[self.words[n] for n in numbers],
            own_texts=None if texts is None else [texts[n] for n in numbers],
            posteriors=None if self.posteriors is None else self.posteriors.chosen(numbers),
        )

    def choose(self, links: LinkSettings) -> AlignedBatch:
        """Return the pairs with the links that other settings choose from the kept posteriors."""
        kept, batch = choose_from(self.posteriors, links)
        return replace(batch, origin=replace(self, posteriors=kept))


# --- write ---------------------------------------------------------------------------------------


def write_batch(batch: AlignedBatch, path: str | Path) -> None:
    """Save a batch as :meth:`AlignedBatch.save` does."""
    check_batch_path(path)
    chunks = max(1, -(-len(batch) // PAIRS_PER_SAVED_CHUNK))
    with AtomicFiles() as files:
        write = files.enter_context(open_batch_file(path, files))
        for k in range(chunks):
            write(
                batch if chunks == 1 else batch[k * PAIRS_PER_SAVED_CHUNK : (k + 1) * PAIRS_PER_SAVED_CHUNK]
            )


def check_batch_path(path: str | Path) -> None:
    """Raise UsageError unless a file name has an ending of `BATCH_FORMATS`, or a package is missing."""
    ending = as_path(path).suffix.lower()
    if ending not in BATCH_FORMATS:
        raise UsageError(f"{path}: expected a file name ending in {' or '.join(BATCH_FORMATS)}")
    if ending == ".parquet":
        _import_parquet()


def _import_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise UsageError("a Parquet file needs pyarrow: pip install 'nmtalign[parquet]'") from None
    return pyarrow


@contextmanager
def open_batch_file(path: str | Path, files: AtomicFiles) -> Iterator[Callable[[AlignedBatch], None]]:
    """Yield a function that writes parts of a batch to a file, one after another."""
    file = files.binary(path)
    writer = _ParquetFile(file) if as_path(path).suffix.lower() == ".parquet" else _NpzFile(file)
    with writer:
        yield lambda batch: writer.write(*_described(batch))


def _described(batch: AlignedBatch) -> tuple[dict[str, Any], Columns]:
    """Return what describes the columns of a batch, and the columns."""
    meta = _meta_of(batch)
    columns = _columns_of_batch(batch)
    kept = _posteriors_of(batch)
    if kept is not None:
        meta["posteriors"] = _meta_of_posteriors(kept)
        columns |= _columns_of_posteriors(kept)
    return meta, columns


class _NpzFile(NpzWriter):
    """Writes chunks of columns into an .npz file."""

    chunks = 0

    def write(self, meta: Mapping[str, Any], columns: Columns) -> None:  # type: ignore[override]
        if not self.chunks:
            super().write("meta", np.frombuffer(json.dumps(meta).encode(), np.uint8))
        for name, (values, offsets) in columns.items():
            if offsets is not None:
                super().write(f"{name}-count-{self.chunks}", _narrow(np.diff(offsets)))
            if isinstance(values, list):
                encoded = [value.encode("utf-8", "surrogatepass") for value in values]
                sizes = np.array([len(value) for value in encoded], np.int64)
                super().write(f"{name}-bytes-{self.chunks}", _narrow(sizes))
                values = np.frombuffer(b"".join(encoded), np.uint8)
            super().write(f"{name}-{self.chunks}", _narrow(values))
        self.chunks += 1


def _narrow(values: AnyArray) -> AnyArray:
    """Return integers in the smallest type without a sign that has them all; other numbers as they are."""
    if values.dtype.kind not in "iu" or (len(values) and values.min() < 0):
        return values
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


class _ParquetFile:
    """Writes chunks of columns as row groups of a Parquet file, opened by us: errors then name it."""

    def __init__(self, file: BinaryIO) -> None:
        self._arrow = _import_parquet()
        self._file = file
        self._writer: Any = None

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, meta: Mapping[str, Any], columns: Columns) -> None:
        arrow = self._arrow
        arrays = {}
        for name, (values, offsets) in columns.items():
            flat = arrow.array(values)
            if offsets is not None:
                flat = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), flat)
            arrays[name] = flat
        table = arrow.table(arrays)
        if self._writer is None:
            schema = table.schema.with_metadata({"nmtalign": json.dumps(meta)})
            self._writer = arrow.parquet.ParquetWriter(self._file, schema)
        self._writer.write_table(table.cast(self._writer.schema))


def _meta_of(batch: AlignedBatch) -> dict[str, Any]:
    """Return what describes the columns of a batch without its posteriors."""
    meta: dict[str, Any] = {"format": BATCH_KIND, "version": BATCH_VERSION, "unit": batch.unit}
    meta["probabilities"] = batch.origin is not None and batch.origin.has_probabilities
    if batch.frame_index is not None:
        meta["index"] = _meta_of_index(batch.frame_index)
    return meta


def _meta_of_posteriors(kept: KeptPosteriors) -> dict[str, Any]:
    return {
        "minimum": MIN_KEPT_POSTERIOR,
        "bits": list(BIT_NAMES),
        "methods": list(kept.methods),
        "null": kept.has_null,
        "scores": kept.scores is not None,
        "links": asdict(kept.extraction.settings),
    }


def _posteriors_of(batch: AlignedBatch) -> KeptPosteriors | None:
    kept = getattr(batch.origin, "posteriors", None)
    return kept if isinstance(kept, KeptPosteriors) else None


def _columns_of_batch(batch: AlignedBatch) -> Columns:
    columns = {
        "link_source": Column(batch.source, batch.offsets),
        "link_target": Column(batch.target, batch.offsets),
        "link_probability": Column(batch.probability, batch.offsets),
        "pair_score": Column(batch.scores),
    }
    if batch.origin is not None:
        columns |= _columns_of_words(batch)
    if batch.frame_index is not None:
        columns |= _columns_of_index(batch.frame_index)
    return columns


def _columns_of_words(batch: AlignedBatch) -> Columns:
    assert batch.origin is not None
    columns: Columns = {}
    words = [batch.origin.tokens(n) for n in range(len(batch))]
    texts = [batch.origin.texts(n) for n in range(len(batch))]
    for side, name in enumerate(SIDES):
        offsets = offsets_of([len(both[side]) for both in words])
        columns[f"{name}_words"] = Column([word for both in words for word in both[side]], offsets)
        known = [both[side] for both in texts if both is not None]
        if len(known) < len(words):
            continue
        columns[f"{name}_text"] = Column([text for text, _ in known])
        spans = np.array([span for text in known for span in text.spans], np.int64).reshape(-1, 2)
        span_offsets = offsets_of([len(text.spans) for text in known])
        columns[f"{name}_start"] = Column(spans[:, 0], span_offsets)
        columns[f"{name}_end"] = Column(spans[:, 1], span_offsets)
    return columns


def _meta_of_index(index: pd.Index) -> list[dict[str, Any]]:
    """Return name and type of each level of an index; UsageError unless it has numbers or text."""
    levels = []
    for level, name in enumerate(index.names):
        values = index.get_level_values(level)
        kind = str(values.dtype) if values.dtype.kind in "iuf" else "text"
        if kind == "text" and not all(isinstance(value, str) for value in values):
            found = f"found one of type {values.dtype}"
            raise UsageError(f"expected an index of numbers or text, {found}; align frame.reset_index()")
        levels.append({"name": None if name is None else str(name), "type": kind})
    return levels


def _columns_of_index(index: pd.Index) -> Columns:
    """Return a column for each level of an index."""
    columns: Columns = {}
    for level, described in enumerate(_meta_of_index(index)):
        values = index.get_level_values(level)
        is_text = described["type"] == "text"
        columns[f"index_{level}"] = Column(values.tolist() if is_text else values.to_numpy())
    return columns


def _columns_of_posteriors(kept: KeptPosteriors) -> Columns:
    section_offsets = np.searchsorted(kept.pair_of_section, np.arange(len(kept) + 1))
    first_section = section_offsets[kept.pair_of_section[kept.section]]
    offsets = kept.offsets[section_offsets]
    columns = {
        "source_length": Column(kept.source_lengths),
        "target_length": Column(kept.target_lengths),
        "section_source": Column(kept.start[0], section_offsets),
        "section_target": Column(kept.start[1], section_offsets),
        "cell_section": Column(kept.section - first_section, offsets),
    }
    columns |= {f"cell_{name}": Column(kept.cells[n], offsets) for n, name in enumerate(Cells._fields)}
    for unit, both in (("word", kept.words), ("piece", kept.pieces)):
        for side, regrouping in zip(SIDES, both or (), strict=False):
            columns[f"{side}_first_{unit}"] = Column(regrouping.first, regrouping.offsets)
            columns[f"{side}_{unit}_count"] = Column(np.array(regrouping.size), regrouping.offsets)
    return columns


def batch_to_dict(batch: AlignedBatch) -> dict[str, Any]:
    """Return a batch as :meth:`AlignedBatch.to_dict` does."""
    columns = {name: _plain_values(column) for name, column in _columns_of_batch(batch).items()}
    return {"meta": _meta_of(batch), **columns}


def _plain_values(column: Column) -> list[Any]:
    """Return the value of each pair, or its list of values; None for NaN, which JSON does not have."""
    values, offsets = column
    listed = values if isinstance(values, list) else values.tolist()
    if offsets is None:
        return [None if value != value else value for value in listed]
    return [listed[start:end] for start, end in itertools.pairwise(offsets.tolist())]


# --- read ----------------------------------------------------------------------------------------


def is_batch_file(path: str | Path) -> bool:
    """Return whether a file begins like .npz or .parquet, and so may be a saved batch.

    Standard input and pipes are not, since nobody else could read what is read here.
    """
    if str(path) == "-":
        return False
    file = as_path(path)
    if not file.is_file() and file.exists():
        return False
    with file.open("rb") as opened:
        return _is_batch_head(opened.read(4))


def _is_batch_head(head: bytes) -> bool:
    """Return whether a file that begins with these four bytes may be a saved batch."""
    return head[:2] == b"PK" or head == b"PAR1"


def open_batch(path: str | Path | Mapping[str, Any]) -> AlignedBatch:
    """Open a batch that was saved by :meth:`AlignedBatch.save`, or written by ``align --posteriors``.

    Parameters
    ----------
    path : str, Path or dict
        An .npz or .parquet file. Nothing in it is run. Or the dictionary of :meth:`AlignedBatch.to_dict`,
        which may come from JSON.

    Returns
    -------
    AlignedBatch
        The links, probabilities, pair scores, words and index of the pairs. It is equal to the batch that was
        saved. Attention needs the aligner, which is not in the file.

    Raises
    ------
    DataError
        If the file or dictionary is damaged, or not a saved batch.

    Examples
    --------
    >>> import nmtalign as na, tempfile
    >>> batch = na.load().align_batch([("the black cat", "le chat noir")], posteriors=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     batch.save(f"{folder}/batch.npz")
    ...     opened = na.open_batch(f"{folder}/batch.npz")
    >>> opened == batch, opened.choose(threshold=0.99) == batch.choose(threshold=0.99)
    (True, True)
    """
    if isinstance(path, Mapping):
        return _batch_of_dict(path)
    return concat(read_batches(path))


def _batch_of_dict(values: Mapping[str, Any]) -> AlignedBatch:
    name = "the dictionary"
    meta = _checked_meta(values.get("meta"), name)
    with reraise_as_data_error(name, "it is damaged; write it again with batch.to_dict()"):
        columns = {key: _column_of_lists(key, own) for key, own in values.items() if key != "meta"}
        return _batch_of(meta, columns)


def _column_of_lists(name: str, values: Sequence[Any]) -> Column:
    """Return a column from the value of each pair, or from its list of values."""
    has_lists = name.startswith("link_") or name.endswith(("_words", "_start", "_end"))
    offsets = offsets_of(list(map(len, values))) if has_lists else None
    flat = list(itertools.chain.from_iterable(values)) if has_lists else list(values)
    is_text = name.endswith(("_words", "_text")) or (bool(flat) and isinstance(flat[0], str))
    if is_text:
        _check(all(isinstance(value, str) for value in flat))
        return Column(flat, offsets)
    is_real = name in ("link_probability", "pair_score")
    kind = np.float64 if is_real else None if flat else np.int64
    return Column(np.array(flat, kind), offsets)


def read_batches(path: str | Path) -> Iterator[AlignedBatch]:
    """Yield the parts of a saved batch; errors are those of :func:`open_batch`."""
    path = as_path(path)
    with reraise_as_data_error(path, _FOREIGN), open(path, "rb") as file:
        head = file.read(4)
    if not _is_batch_head(head):
        raise DataError(_FOREIGN).at(path)
    is_parquet = head == b"PAR1"
    for meta, columns in _read_parquet_batches(path) if is_parquet else _read_npz(path):
        with reraise_as_data_error(path, _DAMAGED_BATCH):
            try:
                batch = _batch_of(meta, columns)
            except UsageError as error:  # a wrong value in the file, not in the call
                raise DataError(str(error)) from None
        yield batch


def _meta_from_json(text: bytes, path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(text)
    except ValueError:
        raise DataError(_FOREIGN).at(path) from None
    return _checked_meta(meta, path)


def _checked_meta(meta: Any, path: Path | str) -> dict[str, Any]:
    if not isinstance(meta, dict) or meta.get("format") != BATCH_KIND:
        raise DataError(_FOREIGN).at(path)
    if meta.get("version") != BATCH_VERSION:
        found = f"found version {str(meta.get('version'))[:20]}"
        raise DataError(
            f"expected a saved batch of version {BATCH_VERSION}, {found}; save the batch again"
        ).at(path)
    return meta


def _read_npz(path: Path) -> Iterator[tuple[dict[str, Any], Columns]]:
    with NpzReader(path) as archive:
        if "meta" not in archive.names:
            raise DataError(_FOREIGN).at(path)
        meta = _meta_from_json(archive.read("meta").astype(np.uint8).tobytes(), path)
        names = set(archive.names)
        chunk = 0
        while f"pair_score-{chunk}" in names:
            ending = f"-{chunk}"
            own = [name.removesuffix(ending) for name in archive.names if name.endswith(ending)]
            columns: Columns = {}
            for name in own:
                if name.endswith(("-count", "-bytes")):
                    continue
                values: Any = archive.read(f"{name}-{chunk}")
                if f"{name}-bytes" in own:
                    values = _strings(values, archive.read(f"{name}-bytes-{chunk}"), path)
                counted = f"{name}-count" in own
                offsets = offsets_of(archive.read(f"{name}-count-{chunk}")) if counted else None
                columns[name] = Column(values, offsets)
            yield meta, columns
            chunk += 1


def _strings(encoded: AnyArray, sizes: AnyArray, path: Path) -> list[str]:
    """Return strings from their bytes."""
    blob = encoded.astype(np.uint8).tobytes()
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(blob):
        raise DataError(_DAMAGED_BATCH).at(path)
    starts = [0, *ends[:-1]]
    with reraise_as_data_error(path, _DAMAGED_BATCH):
        parts = [blob[start:end] for start, end in zip(starts, ends, strict=False)]
        return [part.decode("utf-8", "surrogatepass") for part in parts]


def _read_parquet_batches(path: Path) -> Iterator[tuple[dict[str, Any], Columns]]:
    arrow = _import_parquet()
    with reraise_as_data_error(path, _FOREIGN), open(path, "rb") as file:
        try:
            table = arrow.parquet.ParquetFile(file)
            meta = _meta_from_json((table.schema_arrow.metadata or {}).get(b"nmtalign", b""), path)
            for group in range(table.num_row_groups):
                rows = table.read_row_group(group)
                yield meta, {name: _column_of(rows[name]) for name in rows.column_names}
        except arrow.ArrowException:
            raise DataError(_DAMAGED_BATCH).at(path) from None


def _column_of(chunked: Any) -> Column:
    """Return a column of a Parquet file."""
    array = chunked.combine_chunks()
    if not hasattr(array, "flatten") or not hasattr(array, "offsets"):
        return Column(_flat(array))
    offsets = array.offsets.to_numpy().astype(np.int64)
    return Column(_flat(array.flatten()), offsets - offsets[0])


def _flat(array: Any) -> AnyArray | list[str]:
    is_text = "string" in str(array.type)
    values: AnyArray | list[str] = array.to_pylist() if is_text else array.to_numpy(zero_copy_only=False)
    return values


def _batch_of(meta: dict[str, Any], columns: Columns) -> AlignedBatch:
    """Return the batch of a chunk; DataError, or an error of Python, if the columns do not fit each other."""
    scores = _numbers(columns, "pair_score", None, np.float64)
    count = len(scores)
    source = _lists(columns, "link_source", count)
    target = _lists(columns, "link_target", count)
    probability = _lists(columns, "link_probability", count, np.float32)
    offsets = source.offsets
    assert offsets is not None
    _check(np.array_equal(offsets, target.offsets) and np.array_equal(offsets, probability.offsets))
    kept = _posteriors_from(meta["posteriors"], columns, scores) if "posteriors" in meta else None
    unit = meta["unit"]
    _check(unit is None or unit in LINK_UNITS)
    origin = None
    if "source_words" in columns:
        words = _words_from(columns, count)
        pair = np.repeat(np.arange(count), np.diff(offsets))
        for side, places in enumerate((source.values, target.values)):
            lengths = np.array([len(both[side]) for both in words], np.int64)
            _check((places < lengths[pair]).all())
        origin = SavedOrigin(words, _texts_from(columns, count), kept, bool(meta["probabilities"]))
    return AlignedBatch(
        offsets,
        source.values.astype(np.int32),
        target.values.astype(np.int32),
        probability.values,
        scores,
        origin,
        _index_from(meta, columns, count),
        unit,
    )


def _check(fits: Any) -> None:
    """Raise DataError unless columns fit each other."""
    if not fits:
        raise DataError(_DAMAGED_BATCH)


class _Lists(NamedTuple):
    values: AnyArray
    offsets: Longs


def _numbers(columns: Columns, name: str, count: int | None, kind: Any = np.int64) -> AnyArray:
    """Return a column with one number for each pair."""
    column = columns[name]
    values = np.asarray(column.values)
    _check(column.offsets is None and values.ndim == 1 and (count is None or len(values) == count))
    return _of_kind(values, kind)


def _lists(columns: Columns, name: str, count: int, kind: Any = np.int64) -> _Lists:
    """Return a column with a list of numbers for each pair; integers are not negative."""
    column = columns[name]
    values = np.asarray(column.values)
    _check(column.offsets is not None and values.ndim == 1 and len(column.offsets) == count + 1)
    assert column.offsets is not None
    _check((np.diff(column.offsets) >= 0).all() and column.offsets[-1] == len(values))
    return _Lists(_of_kind(values, kind), column.offsets)


def _of_kind(values: AnyArray, kind: Any) -> AnyArray:
    if kind is np.int64:
        _check(values.dtype.kind in "iu" and (not len(values) or values.min() >= 0))
        return values.astype(np.int64)
    _check(values.dtype.kind == "f")
    return values if kind is None else values.astype(kind)


def _words_from(columns: Columns, count: int) -> list[BothWords]:
    sides = []
    for side in SIDES:
        words, offsets = columns[f"{side}_words"]
        _check(isinstance(words, list) and offsets is not None and len(offsets) == count + 1)
        assert offsets is not None
        _check(offsets[-1] == len(words))
        bounds = offsets.tolist()
        sides.append([tuple(words[a:b]) for a, b in itertools.pairwise(bounds)])
    return list(zip(*sides, strict=True))


def _texts_from(columns: Columns, count: int) -> list[BothTexts] | None:
    if "source_text" not in columns or "target_text" not in columns:
        return None
    sides = []
    for side in SIDES:
        lines = columns[f"{side}_text"].values
        start, end = (_lists(columns, f"{side}_{bound}", count) for bound in ("start", "end"))
        _check(len(lines) == count and np.array_equal(start.offsets, end.offsets))
        spans = list(zip(start.values.tolist(), end.values.tolist(), strict=True))
        bounds = start.offsets.tolist()
        sides.append(
            [
                WordsInText(str(line), spans[a:b])
                for line, a, b in zip(lines, bounds[:-1], bounds[1:], strict=True)
            ]
        )
    return list(zip(*sides, strict=True))


def _index_from(meta: dict[str, Any], columns: Columns, count: int) -> pd.Index | None:
    if "index" not in meta:
        return None
    import pandas as pd

    levels = []
    for level, described in enumerate(meta["index"]):
        values = columns[f"index_{level}"].values
        is_text = described["type"] == "text"
        _check(len(values) == count and isinstance(values, list) == is_text)
        levels.append(pd.Index(values if is_text else np.asarray(values).astype(described["type"])))
    names = [described["name"] for described in meta["index"]]
    return levels[0].rename(names[0]) if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=names)


def _posteriors_from(meta: dict[str, Any], columns: Columns, scores: AnyArray) -> KeptPosteriors:
    count = len(scores)
    _check(meta["minimum"] == MIN_KEPT_POSTERIOR and meta["bits"] == list(BIT_NAMES))
    lengths = _numbers(columns, "source_length", count), _numbers(columns, "target_length", count)
    start = [_lists(columns, f"section_{side}", count) for side in SIDES]
    section_of_pair = _lists(columns, "cell_section", count)
    section_counts = np.diff(start[0].offsets)
    _check(np.array_equal(start[0].offsets, start[1].offsets))
    pair = np.repeat(np.arange(count), np.diff(section_of_pair.offsets))
    _check((section_of_pair.values < section_counts[pair]).all())
    section = section_of_pair.values + start[0].offsets[pair]
    kinds = {
        "source": np.int64,
        "target": np.int64,
        "posterior": None,
        "probability": None,
        "flags": np.int64,
    }
    cells = {name: _lists(columns, f"cell_{name}", count, kind) for name, kind in kinds.items()}
    _check(all(np.array_equal(one.offsets, section_of_pair.offsets) for one in cells.values()))
    for n, side in enumerate(SIDES):
        _check((cells[side].values + start[n].values[section] < lengths[n][pair]).all())
    _check((cells["flags"].values <= ALL_BITS).all() and (np.diff(section) >= 0).all())
    return KeptPosteriors(
        cells=Cells(
            source=cells["source"].values.astype(np.int32),
            target=cells["target"].values.astype(np.int32),
            posterior=cells["posterior"].values,
            probability=cells["probability"].values,
            flags=cells["flags"].values.astype(np.uint16),
        ),
        offsets=offsets_of(np.bincount(section, minlength=int(section_counts.sum()))),
        pair_of_section=np.repeat(np.arange(count), section_counts),
        start=np.stack([start[0].values, start[1].values]),
        source_lengths=lengths[0],
        target_lengths=lengths[1],
        scores=scores if meta["scores"] else None,
        has_null=bool(meta["null"]),
        methods=tuple(map(str, meta["methods"])),
        extraction=make_extraction(LinkSettings(**meta["links"]), null=bool(meta["null"])),
        words=_regroupings_from(columns, "word", lengths),
        pieces=_regroupings_from(columns, "piece", None),
    )


def _regroupings_from(
    columns: Columns, unit: str, lengths: tuple[Longs, Longs] | None
) -> BothRegroupings | None:
    if f"source_first_{unit}" not in columns:
        return None
    both = []
    for side in SIDES:
        count = len(columns["pair_score"].values)
        first = _lists(columns, f"{side}_first_{unit}", count)
        size = _lists(columns, f"{side}_{unit}_count", count)
        _check(np.array_equal(first.offsets, size.offsets))
        both.append(Regrouping(first.values, size.values, first.offsets))
    if lengths is not None:
        for regrouping, own in zip(both, lengths, strict=True):
            _check((np.diff(regrouping.offsets) == own).all())
    return both[0], both[1]
