"""The options for attention of other programs."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import click

from nmtalign.cli.options.groups import option_group
from nmtalign.cli.options.model import ModelOptions
from nmtalign.cli.options.types import INPUT, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.aligner.extraction import Extraction
    from nmtalign.batch.matrices import Reading
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.links.alignments import AlignedPair
    from nmtalign.text.bitext import SentencePair

_SHARED = ("heads", "extract", "threshold", "symmetrize")  # model options with a meaning for matrices too


@dataclass(frozen=True)
class MatrixOptions:
    """The values of the options; ``None`` where one was not given."""

    matrices: str | None = None
    layers: str | None = None
    shift: int | None = None
    pieces: str | None = None
    normalize: bool | None = None

    def check(self, *, remap: str | None = None, engine: str = "local") -> None:
        """Refuse options that have no effect, with or without ``--matrices``."""
        given = [field.name for field in fields(self) if getattr(self, field.name) not in (None, False)]
        if given and self.matrices is None:
            raise UsageError(f"{', '.join('--' + name for name in given)}: only with --matrices FILE")
        if self.matrices is not None and remap is not None:
            raise UsageError("--remap: without meaning for --matrices, whose words are between spaces")
        if self.matrices is not None and engine != "local":
            raise UsageError("--engine: without meaning for --matrices, which are weights already")

    def align(
        self, options: ModelOptions, bitext: Iterator[SentencePair]
    ) -> tuple[Generator[AlignedChunk], str]:
        """Return the links chosen from the attention, chunk by chunk, and the settings that make them."""
        from nmtalign.batch.matrices import align_matrices

        reading, extraction = self._reading(options)
        chunks = align_matrices(bitext, str(self.matrices), reading, extraction)
        return chunks, f"matrices={self.matrices} {reading} {extraction}"

    def inspect(self, options: ModelOptions, bitext: Iterator[SentencePair]) -> Iterator[AlignedPair]:
        """Yield each pair of a bitext with its attention."""
        from nmtalign.batch.matrices import inspect_matrices

        return inspect_matrices(bitext, str(self.matrices), *self._reading(options))

    def _reading(self, options: ModelOptions) -> tuple[Reading, Extraction]:
        from nmtalign.aligner.extraction import Extraction
        from nmtalign.batch.matrices import Reading

        others = [f"--{name.replace('_', '-')}" for name in options.given if name not in _SHARED]
        if others:
            found = f"{', '.join(others)}: without meaning for --matrices"
            raise UsageError(f"{found}, which are weights already")
        layers, heads = _numbers(self.layers, "--layers"), _numbers(options.heads, "--heads")
        reading = Reading(layers, heads, self.shift or 0, self.pieces, bool(self.normalize))
        extraction = Extraction(options.extract, options.threshold, options.symmetrize)
        return reading, extraction.resolved(null=False)


matrix_options = option_group(
    "given",
    MatrixOptions,
    click.option(
        "--matrices",
        type=INPUT,
        help="Attention of others: npz, or text of Marian, fairseq, OpenNMT-py. Rows sum to 1.",
    ),
    click.option("--layers", metavar="LIST", help="Layers of --matrices to average, like 0,2-3.  [all]"),
    click.option("--shift", type=Whole(-1, 1), help="Row offset: target piece t is row t + SHIFT.  [0]"),
    click.option("--pieces", type=click.Choice(["bpe", "sentencepiece"]), help="Join sub-words to words."),
    click.option("--normalize", is_flag=True, default=None, help="Divide each row of --matrices by its sum."),
)


def _numbers(text: str | None, name: str) -> tuple[int, ...] | None:
    """Parse ``0,2-3``."""
    if text is None:
        return None
    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", part, re.ASCII)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(f"{name} wants numbers from 0 and spans like 0,2-3, found {text[:80]!r}")
        numbers.extend(range(int(found[1]), int(found[2] or found[1]) + 1))
    return tuple(numbers)
