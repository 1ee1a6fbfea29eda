"""The options for attention of translation models and other programs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, fields, replace
from itertools import tee
from typing import TYPE_CHECKING

import click

from nmtalign.cli.messages import log, warn
from nmtalign.cli.options.bitext import text_encoding, two_languages
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
    from nmtalign.contextual.choice import Choice
    from nmtalign.contextual.translator import Translator
    from nmtalign.links.alignments import AlignedPair
    from nmtalign.text.bitext import SentencePair

_SHARED = ("extract", "threshold", "symmetrize")  # model options with a meaning for matrices too
_OF_TRANSLATOR = ("langs", "device")  # and for translation models
_OF_FILES = ("pieces", "normalize")


@dataclass(frozen=True)
class MatrixOptions:
    """The values of the options; ``None`` where one was not given."""

    matrices: str | None = None
    translator: str | None = None
    prefix: str | None = None
    layers: tuple[int, ...] | None = None
    attention_heads: tuple[int, ...] | None = None
    shift: int | None = None
    pieces: str | None = None
    normalize: bool | None = None

    @property
    def source(self) -> str | None:
        """The option that names where attention comes from, as it is typed; None where it is our own."""
        return next((_options([name]) for name in ("matrices", "translator") if getattr(self, name)), None)

    def check(self, **others: object) -> None:
        """Refuse options that have no effect, with or without attention of others; `others` go without."""
        given = [field.name for field in fields(self) if getattr(self, field.name) not in (None, False)]
        if given and self.source is None:
            raise UsageError(f"{_options(given)}: only with --matrices FILE or --translator NAME")
        if self.matrices is not None and self.translator is not None:
            raise UsageError("--matrices and --translator contradict each other; give one")
        unfit = [name for name in given if name in (_OF_FILES if self.translator else ("prefix",))]
        without = unfit + [name for name, value in others.items() if value]
        if self.source is not None and without:
            found = f"{_options(without)}: without meaning for {self.source}"
            raise UsageError(f"{found}, which gives weights between words already")

    def align(
        self, options: ModelOptions, bitext: Iterator[SentencePair]
    ) -> tuple[Generator[AlignedChunk], str]:
        """Return the links chosen from the attention, chunk by chunk, and the settings that make them."""
        from nmtalign.batch.matrices import align_matrices

        extraction = self._extraction(options)
        bitext, reading, matrices = self._opened(options, bitext)
        name = str(self.matrices or self.translator)
        chunks = align_matrices(bitext, name, reading, extraction, matrices=matrices)
        return chunks, f"{str(self.source)[2:]}={name} {reading} {extraction}"

    def inspect(
        self, options: ModelOptions, bitext: Iterator[SentencePair]
    ) -> Iterator[tuple[AlignedPair, Callable[[], dict[str, NDArray[np.floating]]]]]:
        """Yield each pair of a bitext with its attention, and what computes that of each head."""
        from nmtalign.batch.matrices import inspect_matrices

        extraction = self._extraction(options)
        bitext, reading, matrices = self._opened(options, bitext)
        name = str(self.matrices or self.translator)
        return inspect_matrices(bitext, name, reading, extraction, matrices=matrices)

    def _opened(
        self, options: ModelOptions, bitext: Iterator[SentencePair]
    ) -> tuple[Iterator[SentencePair], Reading, Iterator[NDArray[np.floating]] | None]:
        """Return the bitext, how attention is read, and attention."""
        from nmtalign.batch.attention_files import read_matrices
        from nmtalign.batch.matrices import Reading, choose_head, translated

        reading = Reading(
            self.layers, self.attention_heads, self.shift or 0, self.pieces, bool(self.normalize)
        )
        if self.matrices is not None:
            return bitext, reading, read_matrices(self.matrices, encoding=text_encoding())
        if reading.shift < 0:
            raise UsageError("--shift -1: --translator has 0 (a word is predicted) or 1 (it is read)")
        translator = self._translator(options)
        if self.layers is None and self.attention_heads is None and self.shift is None:
            choice, bitext = choose_head(bitext, translator)
            _tell(choice)
            if choice is not None:
                heads = None if choice.head is None else (choice.head,)
                reading = Reading((choice.layer,), heads, choice.shift)
        bitext, again = tee(bitext)
        reading = replace(reading, normalize=True, shifted=True)
        return bitext, reading, translated(again, translator, reading.shift)

    def _translator(self, options: ModelOptions) -> Translator:
        from nmtalign.contextual.transformer import check_device, packages
        from nmtalign.contextual.translator import Translator

        packages()  # or it says that they are missing, before the text is read
        device = options.device or "cpu"
        check_device(device)
        languages = None if options.langs is None else two_languages(options.langs)
        return Translator(str(self.translator), languages, self.prefix or "", device)

    def _extraction(self, options: ModelOptions) -> Extraction:
        """Return the choice of links; refuse options of our own model."""
        from nmtalign.aligner.extraction import Extraction

        shared = _SHARED + (_OF_TRANSLATOR if self.translator else ())
        others = [name for name in options.given if name not in shared]
        if others:
            found = f"{_options(others)}: without meaning for {self.source}"
            raise UsageError(f"{found}, which gives weights already")
        return Extraction(options.extract, options.threshold, options.symmetrize).resolved(null=False)


def _tell(choice: Choice | None) -> None:
    """Say which head was chosen, as the options that name it."""
    if choice is None:
        warn("too few pairs to choose a head by: the mean of all; name --layers, --attention-heads, --shift")
        return
    head = "" if choice.head is None else f" --attention-heads {choice.head}"
    log(f"chosen by the text: --layers {choice.layer}{head} --shift {choice.shift}", event="head chosen")


def _options(names: list[str]) -> str:
    """Write the names as they are typed."""
    return ", ".join("--" + name.replace("_", "-") for name in names)


matrix_options = option_group(
    "given",
    MatrixOptions,
    section("Attention of translation models, or of other programs"),
    click.option("--translator", type=INPUT, metavar="NAME", help="Translation model of Hugging Face."),
    click.option(
        "--prefix", metavar="TEXT", help="Before each source line for --translator, as T5 wants it."
    ),
    click.option(
        "--matrices",
        type=INPUT,
        help="Attention of others: npz, npy, or text of Marian, fairseq, OpenNMT-py. Rows sum to 1.",
    ),
    click.option("--layers", type=Numbers(0), help="Layers to average, like 0,2-3.  [all]"),
    click.option("--attention-heads", type=Numbers(0), help="Heads to average.  [all]"),
    click.option("--shift", type=Whole(-1, 1), help="Row offset: target piece t is row t + SHIFT.  [0]"),
    click.option("--pieces", type=click.Choice(["bpe", "sentencepiece"]), help="Join sub-words to words."),
    click.option("--normalize", is_flag=True, default=None, help="Divide each row of --matrices by its sum."),
)
