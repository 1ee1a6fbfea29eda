"""The options for attention of other programs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import click

from nmtalign.cli.options.groups import option_group, section
from nmtalign.cli.options.model import ModelOptions
from nmtalign.cli.options.types import INPUT, Numbers, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nmtalign.aligner.extraction import Extraction
    from nmtalign.batch.matrices import Reading
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.links.alignments import AlignedPair
    from nmtalign.text.bitext import SentencePair

_SHARED = ("extract", "threshold", "symmetrize")  # model options with a meaning for matrices too


@dataclass(frozen=True)
class MatrixOptions:
    """The values of the options; ``None`` where one was not given."""

    matrices: str | None = None
    layers: tuple[int, ...] | None = None
    attention_heads: tuple[int, ...] | None = None
    shift: int | None = None
    pieces: str | None = None
    normalize: bool | None = None

    def check(self, **others: object) -> None:
        """Refuse options that have no effect, with or without ``--matrices``; the `others` go without it."""
        given = [field.name for field in fields(self) if getattr(self, field.name) not in (None, False)]
        if given and self.matrices is None:
            raise UsageError(f"{_options(given)}: only with --matrices FILE")
        without = [name for name, value in others.items() if value]
        if self.matrices is not None and without:
            found = f"{_options(without)}: without meaning for --matrices"
            raise UsageError(f"{found}, which are weights between words already")

    def align(
        self, options: ModelOptions, bitext: Iterator[SentencePair]
    ) -> tuple[Generator[AlignedChunk], str]:
        """Return the links chosen from the attention, chunk by chunk, and the settings that make them."""
        from nmtalign.batch.matrices import align_matrices

        reading, extraction = self._reading(options)
        chunks = align_matrices(bitext, str(self.matrices), reading, extraction)
        return chunks, f"matrices={self.matrices} {reading} {extraction}"

    def inspect(
        self, options: ModelOptions, bitext: Iterator[SentencePair]
    ) -> Iterator[tuple[AlignedPair, Callable[[], dict[str, NDArray[np.floating]]]]]:
        """Yield each pair of a bitext with its attention, and what computes that of each head."""
        from nmtalign.batch.matrices import inspect_matrices

        return inspect_matrices(bitext, str(self.matrices), *self._reading(options))

    def _reading(self, options: ModelOptions) -> tuple[Reading, Extraction]:
        from nmtalign.aligner.extraction import Extraction
        from nmtalign.batch.matrices import Reading

        others = [name for name in options.given if name not in _SHARED]
        if others:
            found = f"{_options(others)}: without meaning for --matrices"
            raise UsageError(f"{found}, which are weights already")
        reading = Reading(
            self.layers, self.attention_heads, self.shift or 0, self.pieces, bool(self.normalize)
        )
        extraction = Extraction(options.extract, options.threshold, options.symmetrize)
        return reading, extraction.resolved(null=False)


def _options(names: list[str]) -> str:
    """Write the names as they are typed."""
    return ", ".join("--" + name.replace("_", "-") for name in names)


matrix_options = option_group(
    "given",
    MatrixOptions,
    section("Attention of other programs"),
    click.option(
        "--matrices",
        type=INPUT,
        help="Attention of others: npz, npy, or text of Marian, fairseq, OpenNMT-py. Rows sum to 1.",
    ),
    click.option("--layers", type=Numbers(0), help="Layers of --matrices to average, like 0,2-3.  [all]"),
    click.option("--attention-heads", type=Numbers(0), help="Heads of --matrices to average.  [all]"),
    click.option("--shift", type=Whole(-1, 1), help="Row offset: target piece t is row t + SHIFT.  [0]"),
    click.option("--pieces", type=click.Choice(["bpe", "sentencepiece"]), help="Join sub-words to words."),
    click.option("--normalize", is_flag=True, default=None, help="Divide each row of --matrices by its sum."),
)
