"""The options that choose the aligner: a learned model or word vectors, positions, extraction, text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nmtalign.cli.options import declare
from nmtalign.cli.options.bitext import LANGUAGES, text_choices, text_encoding
from nmtalign.cli.options.declare import INPUT, OUTPUT, Number, Values, Whole, option, option_group
from nmtalign.door import place_of
from nmtalign.errors import DataError, UsageError
from nmtalign.names import DEVICES, EXTRACTIONS, POSITIONS, SCORES, SYMMETRIZATIONS, UNKNOWN_POLICIES

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.text.bitext import Pair

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
            names = " and ".join("--" + name.replace("_", "-") for name in given)
            raise UsageError(f"{names} contradict each other; give one place for the weights")
        if "langs" in self.given and self.vectors is None:
            raise UsageError("--langs names the languages of --vectors DIR; give both")
        if self.source_vectors is not None:
            return self.source_vectors, self.target_vectors
        return self.given[given[0]] if given else None

    @property
    def reading(self) -> dict[str, Any]:
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


def unsafe_pickle_option(default: bool | None) -> declare.Decorator:
    """Return ``--unsafe-pickle``."""
    text = "Let pickles run code; give only files that you trust."
    return option("--unsafe-pickle", bool, text, default=default, callback=_by_hand)


encoder_options = (
    option("--encoder NAME", declare.HUGGING_FACE, "Encoder of Hugging Face, or its folder."),
    option("--layer", Whole(min=0), "Layer of --encoder whose states are taken.  [8]"),
    option("--device", DEVICES, "Where the encoder runs.  [cpu]"),
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

    links = read_links(expert, encoding=text_encoding())
    return with_links(bitext, links, marked=marked, file=expert)


extraction_options = (
    option("--extract", EXTRACTIONS, "How links are chosen.  [posterior; without null: mutual]"),
    option("--threshold", Number(0, 1), "Least posterior of a link; adds no second words."),
    option("--symmetrize", SYMMETRIZATIONS, "Join both directions' best choices."),
)
vector_files = (
    option("--vectors DIR", INPUT, "Word vectors of two languages: word2int_XX.pkl, embeddings_XX.npz."),
    option("--source-vectors", INPUT, "Source word vectors: gensim, word2vec, fastText, GloVe, npz."),
    option("--target-vectors", INPUT, "Target word vectors in the same space."),
    option("--limit", Whole(min=1), "Read only the first N vectors of a file."),
    unsafe_pickle_option(None),
)
_langs = option("--langs XX,YY", LANGUAGES, "Languages, if the folder --vectors does not say which is which.")
_vectors = (vector_files, _langs)
path_options = option_group("vectors", "Vectors", _vectors, kind=PathOptions)
model_options = option_group(
    "options",
    "Model",
    option("--model DIR", INPUT, "A learned model.  [the shipped English-French]"),
    option("--scorers LIST", str, "Scorers of the model to use, by name.  [all]"),
    "Vectors, instead of a model",
    _vectors,
    option("--unknown", UNKNOWN_POLICIES, "Vector of unknown words.  [zero]"),
    option("--score", SCORES, "Attention score of two vectors.  [cosine]"),
    option("--temperature", Number(0, min_open=True), "Divides scores.  [cosine: 1/sqrt(D), others: 1]"),
    option("--parameters NPZ", INPUT, "Parameters of --score bahdanau or scaled-dot.  [in --vectors DIR]"),
    option("--positions", POSITIONS, "Position model.  [cosine: diagonal]"),
    option("--diagonal", Number(min=0), "Strength of the diagonal prior.  [4]"),
    "Expert, whose links vote",
    encoder_options,
    "Links",
    extraction_options,
    "Input",
    text_choices("[the model's, else space]", "[yes]", "[nfc]"),
    kind=ModelOptions,
)


def load_aligner(options: ModelOptions) -> Aligner:
    """Open what the options name; without any, the shipped English-French model."""
    path, settings = options.path, options.settings
    from nmtalign.aligner.opening import load

    if isinstance(path, str):
        check_kind("vectors" if options.model is None else "model", path)
    return load(path, **settings)


def check_kind(kind: str, path: str) -> None:
    """Refuse vectors given as a model, a model given as vectors, and what is not there."""
    from nmtalign.state import is_model

    folder = place_of(path)
    if not folder.exists():
        raise DataError(f"there is no such folder; --{kind} takes one, or the name of a shipped one").at(path)
    if is_model(folder) != (kind == "model"):
        found = "expected a folder of `nmtalign train`; it holds no model (if it holds vectors: --vectors)"
        raise DataError(found if kind == "model" else "this is a learned model; give it as --model").at(path)
