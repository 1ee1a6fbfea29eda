"""The options for attention of other programs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli._model_options import ModelOptions
from nmtalign.cli._types import INPUT, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.aligner.external import Reading
    from nmtalign.aligner.extraction import Extraction
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.links.alignments import AlignedPair
    from nmtalign.text.bitext import SentencePair

PIECES = ("bpe", "sentencepiece")
_CHOICES = (
    "heads",
    "extract",
    "threshold",
    "symmetrize",
)  # with a meaning for matrices too


@dataclass(frozen=True)
class MatrixOptions:
    """What the user chose; ``None`` means not said."""

    matrices: str | None = None
    layers: str | None = None
    shift: int | None = None
    pieces: str | None = None
    normalize: bool | None = None


_OPTIONS = (
    click.option(
        "--matrices",
        type=INPUT,
        help="Attention of others: npz, or text of Marian, fairseq, OpenNMT-py. Rows sum to 1.",
    ),
    click.option("--layers", metavar="LIST", help="Layers of --matrices to average, like 0,2-3.  [all]"),
    click.option("--shift", type=Whole(-1, 1), help="Row of a target word, less its position.  [0]"),
    click.option("--pieces", type=click.Choice(PIECES), help="Join the sub-words of --matrices to words."),
    click.option("--normalize", is_flag=True, default=None, help="Divide each row of --matrices by its sum."),
)


def matrix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options for matrices; it receives them as ``given: MatrixOptions``."""

    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        chosen = {field.name: arguments.pop(field.name) for field in fields(MatrixOptions)}
        return command(given=MatrixOptions(**chosen), **arguments)

    for option in reversed(_OPTIONS):
        collect = option(collect)
    return collect


def read_by_options(
    given: MatrixOptions, options: ModelOptions, bitext: Iterator[SentencePair]
) -> tuple[Generator[AlignedChunk], str]:
    """Return the links of the attention in a file, chunk by chunk, and the settings that make them."""
    from nmtalign.batch.matrices import align_matrices

    reading, extraction = _reading(given, options)
    chunks = align_matrices(bitext, str(given.matrices), reading, extraction)
    return chunks, f"matrices={given.matrices} {reading} {extraction}"


def inspect_by_options(
    given: MatrixOptions, options: ModelOptions, bitext: Iterator[SentencePair]
) -> Iterator[AlignedPair]:
    """Yield each pair of a bitext with the attention in a file."""
    from nmtalign.batch.matrices import inspect_matrices

    return inspect_matrices(bitext, str(given.matrices), *_reading(given, options))


def _reading(given: MatrixOptions, options: ModelOptions) -> tuple[Reading, Extraction]:
    from nmtalign.aligner.external import Reading
    from nmtalign.aligner.extraction import Extraction

    said = [field.name for field in fields(ModelOptions) if getattr(options, field.name) is not None]
    others = [f"--{name.replace('_', '-')}" for name in said if name not in _CHOICES]
    if others:
        raise UsageError(f"{', '.join(others)}: without meaning for --matrices, which are weights already")
    reading = Reading(
        _numbers(given.layers, "--layers"),
        _numbers(options.heads, "--heads"),
        given.shift or 0,
        given.pieces,
        bool(given.normalize),
    )
    return reading, Extraction(options.extract, options.threshold, options.symmetrize)


def check_unused(given: MatrixOptions, remap: str | None = None, engine: str = "local") -> None:
    """Refuse options that would change nothing: of matrices without any, and of tokenisers with them."""
    said = [field.name for field in fields(MatrixOptions) if getattr(given, field.name) not in (None, False)]
    if said and given.matrices is None:
        raise UsageError(f"{', '.join('--' + name for name in said)}: only with --matrices FILE")
    if given.matrices is not None and remap is not None:
        raise UsageError("--remap: without meaning for --matrices, whose words are between spaces")
    if given.matrices is not None and engine != "local":
        raise UsageError("--engine: without meaning for --matrices, which are weights already")


def _numbers(text: str | None, name: str) -> tuple[int, ...] | None:
    """Parse ``0,2-3``."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(f"{name} wants numbers from 0 and spans like 0,2-3, found {text!r}")
        numbers.extend(range(int(found[1]), int(found[2] or found[1]) + 1))
    return tuple(numbers)
