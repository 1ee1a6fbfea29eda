"""Batches that are saved and opened again, or joined.

A saved batch has links, words and kept posteriors of sentence pairs in one file, .npz or .parquet. The
aligner is not part of the file, whose layout is that of :mod:`nmtalign.links.saved_tables`.

Axes: N sentence pairs, L links or kept cells.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

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
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path, reraise_as_data_error
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothTexts,
    BothWords,
    Origin,
    WordsInText,
    concatenate_batches,
)
from nmtalign.links.saved_tables import (
    BATCH_KIND,
    BATCH_VERSION,
    DAMAGED_BATCH,
    Column,
    Columns,
    check_batch_path,
    check_fit,
    checked_meta,
    lists_of,
    numbers_of,
    open_table_writer,
    read_tables,
    unit_from,
    words_from,
)
from nmtalign.names import SIDES, CellValues
from nmtalign.settings import LinkSettings
from nmtalign.validation import is_iterable

if TYPE_CHECKING:
    import pandas as pd

PAIRS_PER_SAVED_CHUNK = 10_000
_WITHOUT_ALIGNER = (
    "a saved batch has the words, links and posteriors of its pairs, but not its aligner, which computes"
    " attention; align the pairs again"
)


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
        raise UsageError(_WITHOUT_ALIGNER)

    def matrices(self, values: CellValues | None) -> Iterator[Any]:
        """Raise UsageError: attention needs the aligner."""
        raise UsageError(_WITHOUT_ALIGNER)

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


@contextmanager
def open_batch_file(path: str | Path, files: AtomicFiles) -> Iterator[Callable[[AlignedBatch], None]]:
    """Yield a function that writes parts of a batch to a file, one after another."""
    writer = open_table_writer(path, files)
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
    meta = checked_meta(values.get("meta"), name)
    with reraise_as_data_error(name, "it is damaged; write it again with batch.to_dict()"):
        levels = enumerate(meta.get("index", ()))
        of_text = {f"index_{level}" for level, described in levels if described["type"] == "text"}
        columns = {
            name: _column_of_lists(name, own, is_text=name in of_text or name.endswith(("_words", "_text")))
            for name, own in values.items()
            if name != "meta"
        }
        return _batch_of(meta, columns)


def _column_of_lists(name: str, values: Sequence[Any], *, is_text: bool) -> Column:
    """Return a column from the value of each pair, or from its list of values."""
    has_lists = name.startswith("link_") or name.endswith(("_words", "_start", "_end"))
    offsets = offsets_of(list(map(len, values))) if has_lists else None
    flat = list(itertools.chain.from_iterable(values)) if has_lists else list(values)
    if is_text:
        check_fit(all(isinstance(value, str) for value in flat))
        return Column(flat, offsets)
    is_real = name in ("link_probability", "pair_score")
    kind = np.float64 if is_real else None if flat else np.int64
    return Column(np.array(flat, kind), offsets)


def read_batches(path: str | Path) -> Iterator[AlignedBatch]:
    """Yield the parts of a saved batch; errors are those of :func:`open_batch`."""
    path = as_path(path)
    for meta, columns in read_tables(path):
        with reraise_as_data_error(path, DAMAGED_BATCH):
            try:
                batch = _batch_of(meta, columns)
            except UsageError as error:  # a wrong value in the file, not in the call
                raise DataError(str(error)) from None
        yield batch


def _batch_of(meta: dict[str, Any], columns: Columns) -> AlignedBatch:
    """Return the batch of a chunk; DataError, or an error of Python, if the columns do not fit each other."""
    scores = numbers_of(columns, "pair_score", None, np.float64)
    count = len(scores)
    source = lists_of(columns, "link_source", count)
    target = lists_of(columns, "link_target", count)
    probability = lists_of(columns, "link_probability", count, np.float32)
    offsets = source.offsets
    assert offsets is not None
    check_fit(np.array_equal(offsets, target.offsets) and np.array_equal(offsets, probability.offsets))
    kept = _posteriors_from(meta["posteriors"], columns, scores) if "posteriors" in meta else None
    unit = unit_from(meta)
    origin = None
    if "source_words" in columns:
        words = words_from(columns, count)
        pair = np.repeat(np.arange(count), np.diff(offsets))
        for side, places in enumerate((source.values, target.values)):
            lengths = np.array([len(both[side]) for both in words], np.int64)
            check_fit((places < lengths[pair]).all())
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


def _texts_from(columns: Columns, count: int) -> list[BothTexts] | None:
    if "source_text" not in columns or "target_text" not in columns:
        return None
    sides = []
    for side in SIDES:
        lines = columns[f"{side}_text"].values
        start, end = (lists_of(columns, f"{side}_{bound}", count) for bound in ("start", "end"))
        check_fit(len(lines) == count and np.array_equal(start.offsets, end.offsets))
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
        check_fit(len(values) == count and isinstance(values, list) == is_text)
        kind = str if is_text else described["type"]  # an empty index has a type, too
        levels.append(pd.Index(values if is_text else np.asarray(values).astype(kind), dtype=kind))
    names = [described["name"] for described in meta["index"]]
    return levels[0].rename(names[0]) if len(levels) == 1 else pd.MultiIndex.from_arrays(levels, names=names)


def _posteriors_from(meta: dict[str, Any], columns: Columns, scores: AnyArray) -> KeptPosteriors:
    count = len(scores)
    check_fit(meta["minimum"] == MIN_KEPT_POSTERIOR and meta["bits"] == list(BIT_NAMES))
    lengths = numbers_of(columns, "source_length", count), numbers_of(columns, "target_length", count)
    start = [lists_of(columns, f"section_{side}", count) for side in SIDES]
    section_of_pair = lists_of(columns, "cell_section", count)
    section_counts = np.diff(start[0].offsets)
    check_fit(np.array_equal(start[0].offsets, start[1].offsets))
    pair = np.repeat(np.arange(count), np.diff(section_of_pair.offsets))
    check_fit((section_of_pair.values < section_counts[pair]).all())
    section = section_of_pair.values + start[0].offsets[pair]
    kinds = {
        "source": np.int64,
        "target": np.int64,
        "posterior": None,
        "probability": None,
        "flags": np.int64,
    }
    cells = {name: lists_of(columns, f"cell_{name}", count, kind) for name, kind in kinds.items()}
    check_fit(all(np.array_equal(one.offsets, section_of_pair.offsets) for one in cells.values()))
    for n, side in enumerate(SIDES):
        check_fit((cells[side].values + start[n].values[section] < lengths[n][pair]).all())
    check_fit((cells["flags"].values <= ALL_BITS).all() and (np.diff(section) >= 0).all())
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
        first = lists_of(columns, f"{side}_first_{unit}", count)
        size = lists_of(columns, f"{side}_{unit}_count", count)
        check_fit(np.array_equal(first.offsets, size.offsets))
        both.append(Regrouping(first.values, size.values, first.offsets))
    if lengths is not None:
        for regrouping, own in zip(both, lengths, strict=True):
            check_fit((np.diff(regrouping.offsets) == own).all())
    return both[0], both[1]


# --- join ----------------------------------------------------------------------------------------

Value = TypeVar("Value")


def concat(batches: Iterable[AlignedBatch]) -> AlignedBatch:
    """Return one batch with the pairs of several batches, in order.

    Its pairs keep their words, attention and index, and :meth:`AlignedBatch.choose` works as in the parts.

    Parameters
    ----------
    batches : iterable of AlignedBatch
        At least one; all count the same unit. If one has an index, or words, all have.

    Returns
    -------
    AlignedBatch

    Raises
    ------
    UsageError
        If the batches count different units, or some of them lack words or an index.

    Examples
    --------
    >>> import nmtalign as na
    >>> aligner = na.load()
    >>> parts = [aligner.align_batch([("the cat", "le chat")]), aligner.align_batch([("a dog", "un chien")])]
    >>> na.concat(parts)
    AlignedBatch of 2 pairs, 4 links
    >>> na.concat(parts)[1]
    a-un  dog-chien
    """
    listed = list(batches) if is_iterable(batches) and not isinstance(batches, AlignedBatch) else []
    if not listed or not all(isinstance(batch, AlignedBatch) for batch in listed):
        raise UsageError(f"expected a list of batches, found {short_repr(batches)}")
    if len(listed) == 1:
        return listed[0]
    _common(listed, lambda batch: batch.unit, "unit")
    has_words = _common(listed, lambda batch: batch.origin is not None, "words")
    has_index = _common(listed, lambda batch: batch.frame_index is not None, "index")
    origin = None
    if has_words:
        part = np.repeat(np.arange(len(listed)), [len(batch) for batch in listed])
        number = np.concatenate([np.arange(len(batch)) for batch in listed])
        origins = [batch.origin for batch in listed if batch.origin is not None]
        origin = JoinedOrigin(origins, part, number)
    joined = concatenate_batches(listed)
    return replace(joined, origin=origin, frame_index=_joined_index(listed) if has_index else None)


def _common(batches: Sequence[AlignedBatch], value_of: Callable[[AlignedBatch], Value], what: str) -> Value:
    """Return what all batches have; UsageError if they differ."""
    first = value_of(batches[0])
    for n, batch in enumerate(batches):
        if value_of(batch) != first:
            found = f"found {value_of(batch)!r} in batch {n}, {first!r} in batch 0"
            if what != "unit":
                found = f"batch {n} has {'them' if what == 'words' else 'it'} and batch 0 not, or vice versa"
            raise UsageError(f"expected batches that are alike in {what}, {found}")
    return first


def _joined_index(batches: Sequence[AlignedBatch]) -> pd.Index:
    first, *others = [batch.frame_index for batch in batches if batch.frame_index is not None]
    return first.append(others)


@dataclass(frozen=True, eq=False, repr=False)
class JoinedOrigin:
    """The origin of pairs that come from several batches."""

    origins: Sequence[Origin]
    part: Longs  # (N,): the origin of each pair
    number: Longs  # (N,): the number that the pair has there

    def _of(self, n: int) -> tuple[Origin, int]:
        return self.origins[int(self.part[n])], int(self.number[n])

    def tokens(self, n: int) -> BothWords:
        """Return the words of pair n."""
        origin, number = self._of(n)
        return origin.tokens(number)

    def texts(self, n: int) -> BothTexts | None:
        """Return the texts of pair n and where its words are in them."""
        origin, number = self._of(n)
        return origin.texts(number)

    @property
    def splitting(self) -> tuple[Any, tuple[str | None, str | None]] | None:
        """The settings and languages that split all lines; None if they are not the same."""
        first, *others = [origin.splitting for origin in self.origins]
        return first if all(other == first for other in others) else None

    @property
    def has_probabilities(self) -> bool:
        """Whether the numbers of all links are probabilities."""
        return all(origin.has_probabilities for origin in self.origins)

    def aligned(self, n: int) -> AlignedPair:
        """Align pair n alone, with its attention."""
        origin, number = self._of(n)
        return origin.aligned(number)

    def matrices(self, values: CellValues | None) -> Iterator[NDArray[np.floating]]:
        """Yield the values (T, S) of each pair."""
        bounds = [0, *(np.flatnonzero(np.diff(self.part)) + 1).tolist(), len(self.part)]
        for begin, end in itertools.pairwise(bounds):
            if begin < end:
                origin = self.origins[int(self.part[begin])]
                yield from origin.chosen(self.number[begin:end].tolist()).matrices(values)

    def chosen(self, numbers: Sequence[int]) -> JoinedOrigin:
        """Return the origin of the pairs with these numbers, in this order."""
        pairs = np.array(numbers, np.int64)
        return replace(self, part=self.part[pairs], number=self.number[pairs])

    @property
    def link_settings(self) -> LinkSettings:
        """How the links were chosen; UsageError if the batches differ."""
        first, *others = [origin.link_settings for origin in self.origins]
        if any(other != first for other in others):
            raise UsageError("the links of these batches were chosen in different ways; choose them again")
        return first

    def choose(self, links: LinkSettings) -> AlignedBatch:
        """Return the pairs with the links that other settings choose."""
        places = []
        batches = []
        for part, origin in enumerate(self.origins):
            own = np.flatnonzero(self.part == part)
            if len(own):
                places.append(own)
                batches.append(origin.chosen(self.number[own].tolist()).choose(links))
        if not batches:
            return self.origins[0].chosen([]).choose(links)
        return concat(batches)[np.argsort(np.concatenate(places))]
