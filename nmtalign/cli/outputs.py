"""What the outputs of `align` and `train` hold, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from nmtalign.names import SIDES

if TYPE_CHECKING:
    from nmtalign.arrays import ArchiveWriter
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.links.alignments import AlignedBatch
    from nmtalign.output import Outputs
    from nmtalign.report.tables import LinkRow

    Sink = Callable[[AlignedChunk], object]


def batch_texts() -> dict[str, Callable[[AlignedBatch], str]]:
    """Return what makes the text of each output that needs the links alone."""
    from nmtalign.links.formats import format_pair_scores_batch, format_pharaoh_batch, format_scores_batch

    return {
        "links": format_pharaoh_batch,
        "probabilities": format_scores_batch,
        "pair_scores": format_pair_scores_batch,
    }


def text_of(output: str, path: str) -> Callable[[AlignedChunk], str]:
    """Return what makes the text of an output; `path` gives the format of a table."""
    from nmtalign.links.formats import format_guided_batch
    from nmtalign.report.tables import table_format, table_text

    if output == "table":
        kind = table_format(path)
        return lambda chunk: table_text(kind, _rows(chunk))
    if output == "guided":
        return lambda chunk: format_guided_batch(chunk.batch, *chunk.pieces(), first=chunk.first)
    if output in SIDES:
        return lambda chunk: "".join(f"{' '.join(words)}\n" for words in _of_side(chunk, output))
    text = batch_texts()[output]
    return lambda chunk: text(chunk.batch)


def _rows(chunk: AlignedChunk) -> Iterator[LinkRow]:
    from nmtalign.report.tables import batch_rows

    return batch_rows(chunk.batch, *chunk.tokens(), first=chunk.first)


def _of_side(chunk: AlignedChunk, side: str) -> list[list[str]]:
    """Return the tokens of one side; the other one is emptied, as cutting it would take as long again."""
    other = {name: "" for name in SIDES if name != side}
    lines = [pair._replace(**other) for pair in chunk.lines]
    return chunk._replace(lines=lines).pieces()[SIDES.index(side)]


def _write_attention(archive: ArchiveWriter, chunk: AlignedChunk) -> None:
    for number, weights in enumerate(chunk.attention or (), chunk.first):
        archive.write(f"pair-{number}", weights)


def open_sink(output: str, path: str, files: Outputs) -> Sink:
    """Return what writes an output chunk by chunk."""
    from nmtalign.arrays import ArchiveWriter
    from nmtalign.report.tables import TableWriter

    if output == "attention":
        archive = files.enter_context(ArchiveWriter(files.binary(path)))
        return lambda chunk: _write_attention(archive, chunk)
    if output == "table":
        table = files.enter_context(TableWriter(files.name(path)))
        return lambda chunk: table.write(_rows(chunk))
    file, text = files.text(path), text_of(output, path)
    return lambda chunk: file.write(text(chunk))


def write_whole(texts: Mapping[str, Iterable[str]]) -> None:
    """Write the lines of each file; all get their names when all are written."""
    from nmtalign.output import Outputs

    with Outputs() as files:
        for path, lines in texts.items():
            files.text(path).writelines(lines)
