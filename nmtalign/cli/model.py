"""The options that choose what makes links: a learned model or word vectors, or another program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import tee
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import nmtalign as na
from nmtalign import names
from nmtalign.cli import declare, texts
from nmtalign.cli.declare import INPUT, OUTPUT, Number, Numbers, OptionGroup, Values, Whole, option
from nmtalign.cli.messages import log
from nmtalign.door import parameter, place_of
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nmtalign.aligner.links_from import Linker
    from nmtalign.corpus.line_words import BothLineWords
    from nmtalign.encoders.files import PairMatrix, WordPair
    from nmtalign.text.bitext import Pair, SentencePair
    from nmtalign.text.tokenization import TextSettings

    Heads = dict[str, NDArray[np.floating]]

PATHS = ("model", "vectors", "source_vectors", "target_vectors")


class PathOptions(Values):
    """Where word vectors are, or a model instead of these."""

    @property
    def path(self) -> str | tuple[str, str] | None:
        """The folder, or the files of both sides; UsageError for two of them, or one side alone."""
        if (self.source_vectors is None) != (self.target_vectors is None):
            raise UsageError("--source-vectors and --target-vectors go together; give both")
        given = [name for name in PATHS[:3] if name in self.given]
        if len(given) > 1:
            places = " and ".join("--" + name.replace("_", "-") for name in given)
            raise UsageError(f"{places} contradict each other; give one place for the weights")
        if "langs" in self.given and self.vectors is None:
            raise UsageError("--langs names the languages of --vectors DIR; give both")
        if self.source_vectors is not None:
            return self.source_vectors, self.target_vectors
        return self.given[given[0]] if given else None

    @property
    def reading_options(self) -> dict[str, Any]:
        """How files of vectors are read."""
        return {name: value for name, value in self.given.items() if name in ("limit", "unsafe_pickle")}


class ModelOptions(PathOptions):
    """What the aligner is made of; what was not given, the model chooses."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a model or vectors by name."""
        settings = {name: value for name, value in self.given.items() if name not in PATHS}
        if "langs" in settings:
            settings["languages"] = settings.pop("langs")
        if "scorers" in settings:
            settings["scorers"] = tuple(name.strip() for name in self.scorers.split(","))
        return settings


def _by_hand(context: click.Context, parameter: click.Parameter, value: bool | None) -> bool | None:
    """Refuse a value that a file or the environment gives."""
    if value and context.get_parameter_source(str(parameter.name)) is not ParameterSource.COMMANDLINE:
        raise UsageError(f"{parameter.opts[0]} can be given on the command line only")
    return value


_TRUST = "Let pickles run code; give only files that you trust."
unsafe_pickle_option = option("--unsafe-pickle", bool, _TRUST, default=None, callback=_by_hand)
encoder_options = (
    option("--encoder NAME", declare.HUGGING_FACE, "Encoder of Hugging Face, or its folder."),
    option("--layer", Whole(min=0), "Layer of --encoder whose states are taken.  [8]"),
    option("--device", names.DEVICES, "Where the encoder runs.  [cpu]"),
    option("--cache", OUTPUT, "File that keeps the encoder's similarities for the next run."),
)
_WHOSE = "Links of this text by someone who knows more than the text shows: a person, an encoder. They vote."
_LINES = "Pharaoh format, a line for each pair; an empty line is no opinion."
expert_option = option("--expert LINKS", INPUT, f"{_WHOSE} {_LINES}")


def with_expert(bitext: Iterable[Pair], expert: str | None, *, marked: bool = False) -> Iterator[Any]:
    """Return the pairs of a bitext with the links of --expert; for `marked` see `with_links`."""
    if expert is None:
        return iter(bitext)
    from nmtalign.aligner.experts import with_links
    from nmtalign.links.formats import read_links

    links = read_links(expert, encoding=texts.encoding())
    return with_links(bitext, links, marked=marked, file=expert)


extraction_options = (
    option("--extract", names.EXTRACTIONS, "How links are chosen.  [posterior; without null: mutual]"),
    option("--threshold", Number(0, 1), "Least posterior of a link; adds no second words."),
    option("--symmetrize", names.SYMMETRIZATIONS, "Join both directions' best choices."),
)
vector_files = (
    option("--vectors DIR", INPUT, "Word vectors of two languages: word2int_XX.pkl, embeddings_XX.npz."),
    option("--source-vectors", INPUT, "Source word vectors: gensim, word2vec, fastText, GloVe, npz."),
    option("--target-vectors", INPUT, "Target word vectors in the same space."),
    option("--limit", Whole(min=1), "Read only the first N vectors of a file."),
    unsafe_pickle_option,
)
_WHICH = "Languages, if the folder --vectors does not say which is which."
_vectors = (vector_files, option("--langs XX,YY", texts.LANGUAGES, _WHICH))
path_options = OptionGroup("vectors", "Vectors", _vectors, kind=PathOptions)
model_options = OptionGroup(
    "options",
    "Model",
    option("--model DIR", INPUT, "A learned model.  [the shipped English-French]"),
    option("--scorers LIST", str, "Scorers of the model to use, by name.  [all]"),
    "Vectors, instead of a model",
    _vectors,
    option("--unknown", names.UNKNOWN_POLICIES, "Vector of unknown words.  [zero]"),
    option("--score", names.SCORES, "Attention score of two vectors.  [cosine]"),
    option("--temperature", Number(0, min_open=True), "Divides scores.  [cosine: 1/sqrt(D), others: 1]"),
    option("--parameters NPZ", INPUT, "Parameters of --score bahdanau or scaled-dot.  [in --vectors DIR]"),
    option("--positions", names.POSITIONS, "Position model.  [cosine: diagonal]"),
    option("--diagonal", Number(min=0), "Strength of the diagonal prior.  [4]"),
    "Expert, whose links vote",
    encoder_options,
    "Links",
    extraction_options,
    "Input",
    texts.text_choices("[the model's, else space]", "[yes]", "[nfc]"),
    kind=ModelOptions,
)


def load_aligner(options: ModelOptions) -> na.Aligner:
    """Open what the options name; without any, the shipped English-French model."""
    path, settings = options.path, options.settings
    if isinstance(path, str):
        return open_folder("vectors" if options.model is None else "model", path, **settings)
    return na.load(path, **settings)


def open_folder(kind: str, path: str, **settings: Any) -> na.Aligner:
    """Open a model, or vectors; an error where a folder of the other kind, or none, is given."""
    from nmtalign.state import is_model

    folder = place_of(path)
    if folder.exists() and is_model(folder) != (kind == "model"):
        why = "expected a folder of `nmtalign train`; it holds no model (if it holds vectors: --vectors)"
        raise DataError(why if kind == "model" else "this is a learned model; give it as --model").at(path)
    return na.load(path, **settings)


# --- attention or similarities of another program -----------------------------------------------

SECTION = "Attention or similarities of another program"
_SOURCES = ("matrices", "translator", "token_vectors", "similarities")


class SourceOptions(Values):
    """Attention or similarities of another program, and how they are read."""

    def named(self, options: Values) -> bool:
        """Tell whether links come from a source, not from our own model; `report` can show both."""
        given = list(self.given)
        if given and not any(name in given for name in _SOURCES) and None in (self.method, options.encoder):
            settings, needed = (", ".join(map(parameter, which)) for which in (given, _SOURCES))
            raise UsageError(f"{settings}: only with {needed}, or --encoder and --method")
        return bool(given)

    def open(
        self, options: Values, bitext: Iterator[SentencePair]
    ) -> tuple[Linker, TextSettings, Iterator[WordPair]]:
        """Return what makes links of the words of a bitext, what cuts it into these, and the words."""
        from nmtalign.aligner.links_from import open_linker
        from nmtalign.text.tokenization import TextSettings

        given = self.given | options.given
        text = TextSettings(given.pop("tokenizer", "space"), lowercase=False, unicode="none")
        if "langs" in given:
            given["languages"] = given.pop("langs")
        if "matrices" in given:
            given["encoding"] = texts.encoding()
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
    ) -> Iterator[tuple[na.AlignedPair, Callable[[], Heads]]]:
        """Yield each pair of a bitext with its attention, and what computes that of each attention head."""
        from nmtalign.corpus.line_words import pair_of_words
        from nmtalign.corpus.text import encode_lines

        bitext, again = tee(bitext)
        linker, text, words = self.open(options, bitext)
        for matrix, pair in zip(linker.read(words), again, strict=False):
            line_words = None if self.pieces else encode_lines([pair], text).line_words
            by_head = partial(_by_head, matrix, pair, line_words)
            yield pair_of_words(linker.pair(matrix), pair, line_words), by_head


def _by_head(matrix: PairMatrix, pair: SentencePair, line_words: BothLineWords | None) -> Heads:
    """Return the attention of each head, between the words of the lines where tokens are others."""
    from nmtalign.corpus.line_words import values_of_words
    from nmtalign.text.tokenization import SPACES

    heads = matrix.by_head()
    if line_words is None:
        return heads
    shape = len(SPACES.words(pair.target)), len(SPACES.words(pair.source))
    where = (line_words[0].sentence(0), line_words[1].sentence(0)), shape
    return {name: values_of_words("forward", head, *where) for name, head in heads.items()}


_METHOD = "Published method that makes links of similarities.  [simalign-itermax]"
_UNITS = "What --method links. Links of sub-words become links of words.  [subwords]"
source_options = OptionGroup(
    "weights",
    SECTION,
    option("--matrices", INPUT, "Attention: npz, npy or text of Marian, fairseq, OpenNMT-py; rows sum to 1."),
    option("--translator NAME", declare.HUGGING_FACE, "Translation model of Hugging Face."),
    option("--layers", Numbers(0), "Layers to average, like 0,2-3.  [all]"),
    option("--attention-heads", Numbers(0), "Heads to average.  [all]"),
    option("--shift", Whole(-1, 1), "Row offset: target piece t is row t + SHIFT.  [0]"),
    option("--pieces", names.MARKS, "Join sub-words to words."),
    option("--normalize", bool, "Divide each row of --matrices by its sum.", default=None),
    option("--token-vectors", INPUT, "npz or folder: vectors of the words of each line."),
    option("--similarities", INPUT, "npz, one matrix for each pair, target by source."),
    option("--method", names.METHODS, _METHOD),
    option("--units", names.UNITS, _UNITS),
    kind=SourceOptions,
)
