"""The options that name attention or similarities of another program or model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import tee
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli.messages import log
from nmtalign.cli.options.bitext import text_encoding
from nmtalign.cli.options.declare import INPUT, Numbers, Values, Whole, option_group, section
from nmtalign.door import parameter
from nmtalign.errors import UsageError
from nmtalign.names import MARKS, METHODS, UNITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nmtalign.aligner.links_from import Linker
    from nmtalign.encoders.cross_attention import Reading
    from nmtalign.encoders.files import PairMatrix, WordPair
    from nmtalign.links.alignments import AlignedPair
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings

SECTION = "Attention or similarities of another program"
_SOURCES = ("matrices", "translator", "token_vectors", "similarities")


class SourceOptions(Values):
    """Attention or similarities of another program, and how they are read."""

    def named(self, options: Values) -> bool:
        """Tell whether links come from a source, not from our own model; `report` can show both."""
        given = list(self.given)
        if given and not any(name in given for name in _SOURCES) and None in (self.method, options.encoder):
            needed = ", ".join(map(parameter, _SOURCES))
            raise UsageError(
                f"{', '.join(map(parameter, given))}: only with {needed}, or --encoder and --method"
            )
        return bool(given)

    def open(
        self, options: Values, bitext: Iterator[SentencePair]
    ) -> tuple[Linker, TextSettings, Iterator[WordPair]]:
        """Return what makes links of the words of a bitext, what cuts it into these, and the words."""
        from nmtalign.aligner.links_from import open_linker, source_of
        from nmtalign.text.tokenization import TextSettings

        given = self.given | options.given
        text = TextSettings(given.pop("tokenizer", "space"), lowercase=False, unicode="none")
        if "langs" in given:
            given["languages"] = given.pop("langs")
        source_of(given)
        if "matrices" in given:
            given["encoding"] = text_encoding()
        words = (text.words_of_pair(pair, (None, None)) for pair in bitext)
        linker, chosen = open_linker(words, **given)
        if (
            linker.reading is not None
            and not {"matrices", "layers", "attention_heads", "shift"} & given.keys()
        ):
            _tell(linker.reading)
        return linker, text, chosen

    def inspect(
        self, options: Values, bitext: Iterator[SentencePair]
    ) -> Iterator[tuple[AlignedPair, Callable[[], dict[str, NDArray[np.floating]]]]]:
        """Yield each pair of a bitext with its attention, and what computes that of each attention head."""
        from nmtalign.corpus.line_words import pair_of_words, values_of_words, words_of_lines
        from nmtalign.text.tokenization import SPACES

        bitext, again = tee(bitext)
        linker, text, words = self.open(options, bitext)
        for given, pair in zip(linker.read(words), again, strict=False):
            line_words = None if self.pieces else words_of_lines([pair], text)

            def by_part(
                given: PairMatrix = given, pair: SentencePair = pair, line_words: Any = line_words
            ) -> dict[str, Any]:
                heads = given.by_head()
                if line_words is None:
                    return heads
                shape = len(SPACES.words(pair.target)), len(SPACES.words(pair.source))
                where = (line_words[0].sentence(0), line_words[1].sentence(0)), shape
                return {name: values_of_words("forward", head, *where) for name, head in heads.items()}

            yield pair_of_words(linker.pair(given), pair, line_words), by_part


def _tell(reading: Reading) -> None:
    """Say which head of a translation model was chosen, as the options that name it."""
    if reading.layers is not None:
        head = "" if reading.heads is None else f" --attention-heads {reading.heads[0]}"
        chosen = f"--layers {reading.layers[0]}{head} --shift {reading.shift}"
        log(f"chosen by the text: {chosen}", event="head chosen")


source_options = option_group(
    "weights",
    SourceOptions,
    section(SECTION),
    click.option(
        "--matrices",
        type=INPUT,
        help="Attention of another program: npz, npy, or text of Marian, fairseq, OpenNMT-py. Rows sum to 1.",
    ),
    click.option("--translator", type=INPUT, metavar="NAME", help="Translation model of Hugging Face."),
    click.option("--layers", type=Numbers(0), help="Layers to average, like 0,2-3.  [all]"),
    click.option("--attention-heads", type=Numbers(0), help="Heads to average.  [all]"),
    click.option("--shift", type=Whole(-1, 1), help="Row offset: target piece t is row t + SHIFT.  [0]"),
    click.option("--pieces", type=click.Choice(MARKS), help="Join sub-words to words."),
    click.option("--normalize", is_flag=True, default=None, help="Divide each row of --matrices by its sum."),
    click.option("--token-vectors", type=INPUT, help="npz or folder: vectors of the words of each line."),
    click.option("--similarities", type=INPUT, help="npz, one matrix for each pair, target by source."),
    click.option(
        "--method",
        type=click.Choice(METHODS),
        help="Published method that makes links of similarities.  [simalign-itermax]",
    ),
    click.option(
        "--units",
        type=click.Choice(UNITS),
        help="What --method links. Links of sub-words become links of words.  [subwords]",
    ),
)
