"""The options that name attention of another program, and those that choose the pairs that are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice, tee
from typing import TYPE_CHECKING, Any, TypeVar

from nmtalign.cli.messages import log, warn
from nmtalign.cli.options.bitext import text_encoding
from nmtalign.cli.options.declare import HUGGING_FACE, INPUT, Numbers, Values, Whole, option, option_group
from nmtalign.cli.options.model import load_aligner, model_options
from nmtalign.door import parameter
from nmtalign.errors import DataError, UsageError
from nmtalign.names import MARKS, METHODS, UNITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nmtalign.aligner.aligner import Aligner
    from nmtalign.aligner.links_from import Linker
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.encoders.files import PairMatrix, WordPair
    from nmtalign.links.alignments import AlignedPair
    from nmtalign.report.corpus import Record
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
            names, needed = (", ".join(map(parameter, which)) for which in (given, _SOURCES))
            raise UsageError(f"{names}: only with {needed}, or --encoder and --method")
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
        reading, by_hand = linker.reading, {"matrices", "layers", "attention_heads", "shift"} & given.keys()
        if reading is not None and reading.layers is not None and not by_hand:
            head = "" if reading.heads is None else f" --attention-heads {reading.heads[0]}"
            options_of_head = f"--layers {reading.layers[0]}{head} --shift {reading.shift}"
            log(f"chosen by the text: {options_of_head}", event="head chosen")
        return linker, text, chosen

    def inspect(
        self, options: Values, bitext: Iterator[SentencePair]
    ) -> Iterator[tuple[AlignedPair, Callable[[], dict[str, NDArray[np.floating]]]]]:
        """Yield each pair of a bitext with its attention, and what computes that of each attention head."""
        from nmtalign.corpus.line_words import pair_of_words, values_of_words
        from nmtalign.corpus.text import encode_lines
        from nmtalign.text.tokenization import SPACES

        bitext, again = tee(bitext)
        linker, text, words = self.open(options, bitext)
        for given, pair in zip(linker.read(words), again, strict=False):
            line_words = None if self.pieces else encode_lines([pair], text).line_words

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


source_options = option_group(
    "weights",
    SECTION,
    option("--matrices", INPUT, "Attention: npz, npy or text of Marian, fairseq, OpenNMT-py; rows sum to 1."),
    option("--translator NAME", HUGGING_FACE, "Translation model of Hugging Face."),
    option("--layers", Numbers(0), "Layers to average, like 0,2-3.  [all]"),
    option("--attention-heads", Numbers(0), "Heads to average.  [all]"),
    option("--shift", Whole(-1, 1), "Row offset: target piece t is row t + SHIFT.  [0]"),
    option("--pieces", MARKS, "Join sub-words to words."),
    option("--normalize", bool, "Divide each row of --matrices by its sum.", default=None),
    option("--token-vectors", INPUT, "npz or folder: vectors of the words of each line."),
    option("--similarities", INPUT, "npz, one matrix for each pair, target by source."),
    option("--method", METHODS, "Published method that makes links of similarities.  [simalign-itermax]"),
    option("--units", UNITS, "What --method links. Links of sub-words become links of words.  [subwords]"),
    kind=SourceOptions,
)


# --- pairs that are looked at -------------------------------------------------------------------

Item = TypeVar("Item")
TOGETHER = 200  # records whose words are counted together


class RecordOptions(Values):
    """Which pairs, their gold links, and what aligns them: `options` of a model, or another's `weights`."""

    def open(
        self, bitext: Iterator[SentencePair], others: Mapping[str, str] | None = None
    ) -> tuple[Aligner | None, Iterator[Record]]:
        """Return the aligner, if it is one of ours, and the records; `others` are files of links by name."""
        from nmtalign.aligner.opening import fit_text
        from nmtalign.report.corpus import read_corpus

        files: Any = {"gold": self.gold, "others": others, "encoding": text_encoding()}
        if self.weights.named(self.options):
            bitext, again = tee(bitext)
            aligned = self.weights.inspect(self.options, again)
            return None, read_corpus(bitext, aligned=aligned, **files)
        aligner = load_aligner(self.options)
        aligner, bitext = fit_text(aligner, bitext)
        return aligner, read_corpus(bitext, **files)


record_options = option_group(
    "chosen",
    "Input",
    option("--lines", Numbers(1), "These pairs only, like 3,7-9."),
    option("--gold", INPUT, "Gold links, one line for each pair."),
    model_options,
    source_options,
    kind=RecordOptions,
)


def covered(records: Iterable[Record], aligner: Aligner | None, known: list[Coverage]) -> Iterator[Record]:
    """Yield records, and note in `known` how many of their words the aligner knows."""
    records = iter(records)
    while chunk := list(islice(records, TOGETHER)):
        if aligner is not None:
            known.append(aligner.covered([record.pair for record in chunk]))
        yield from chunk


def warn_of_coverage(known: Iterable[Coverage]) -> None:
    """Warn if the words of all records together are too little known for links that can be trusted."""
    from nmtalign.corpus.coverage import Coverage

    if why := reduce(Coverage.joined, known, Coverage()).warning:
        warn(why)


def pick(records: Iterable[Item], lines: Sequence[int]) -> Iterator[Item]:
    """Yield the records that `lines` (sorted, from 1) names; read no further than the last."""
    number = 0
    for number, record in enumerate(records, 1):
        if number in lines:
            yield record
        if number == lines[-1]:
            return
    missing = next(line for line in lines if line > number)
    raise DataError(f"expected a pair in line {missing}, found only {number:,} pairs")
