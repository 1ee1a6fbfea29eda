"""The options that choose the aligner: a learned model or word vectors, positions, extraction, text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nmtalign.cli.options.bitext import LANGUAGES, text_choices, text_encoding
from nmtalign.cli.options.declare import (
    INPUT,
    OUTPUT,
    Decorator,
    Encoding,
    Number,
    Values,
    Whole,
    option_group,
    section,
    with_options,
)
from nmtalign.errors import DataError, UsageError
from nmtalign.names import (
    DEVICES,
    EXTRACTIONS,
    POSITIONS,
    READ_VECTORS,
    RETRIEVAL_SCORES,
    SCORES,
    SYMMETRIZATIONS,
    UNKNOWN_POLICIES,
    WRITTEN_VECTORS,
)

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.text.bitext import Pair

BYTES = ("strict", "ignore", "replace", "backslashreplace")
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
        settings = {name: value for name, value in self.given.items() if name not in (*PATHS, "langs")}
        if self.scorers is not None:
            settings["scorers"] = tuple(name.strip() for name in self.scorers.split(","))
        return settings


def _by_hand(context: click.Context, parameter: click.Parameter, value: bool | None) -> bool | None:
    """Refuse a value that a file or the environment gives."""
    if value and context.get_parameter_source(str(parameter.name)) is not ParameterSource.COMMANDLINE:
        raise UsageError(f"{parameter.opts[0]} can be given on the command line only")
    return value


def unsafe_pickle_option(default: bool | None) -> Decorator:
    """Return ``--unsafe-pickle``."""
    text = "Let pickles run code; give only files that you trust."
    return click.option("--unsafe-pickle", is_flag=True, default=default, callback=_by_hand, help=text)


encoder_options = (
    click.option("--encoder", type=INPUT, metavar="NAME", help="Encoder of Hugging Face, or its folder."),
    click.option("--layer", type=Whole(min=0), help="Layer of --encoder whose states are taken.  [8]"),
    click.option("--device", type=click.Choice(DEVICES), help="Where the encoder runs.  [cpu]"),
    click.option("--cache", type=OUTPUT, help="File that keeps the encoder's similarities for the next run."),
)
expert_option = click.option(
    "--expert",
    type=INPUT,
    metavar="LINKS",
    help="Pharaoh links by a source that knows more than this text, not by another aligner of the text; an"
    " empty line is no opinion.",
)


def with_expert(bitext: Iterable[Pair], expert: str | None, *, marked: bool = False) -> Iterator[Any]:
    """Return the pairs of a bitext with the links of --expert; for `marked` see `with_links`."""
    from nmtalign.aligner.experts import with_links
    from nmtalign.links.formats import read_links

    if expert is None:
        return iter(bitext)
    links = read_links(expert, encoding=text_encoding())
    return with_links(bitext, links, marked=marked, file=expert)


extraction_options = (
    click.option(
        "--extract",
        type=click.Choice(EXTRACTIONS),
        help="How links are chosen.  [posterior; without null: mutual]",
    ),
    click.option("--threshold", type=Number(0, 1), help="Least posterior of a link; adds no second words."),
    click.option(
        "--symmetrize", type=click.Choice(SYMMETRIZATIONS), help="Join both directions' best choices."
    ),
)
vector_files = (
    click.option(
        "--vectors",
        type=INPUT,
        metavar="DIR",
        help="Word vectors of two languages: word2int_XX.pkl, embeddings_XX.npz.",
    ),
    click.option(
        "--source-vectors", type=INPUT, help="Source word vectors: gensim, word2vec, fastText, GloVe, npz."
    ),
    click.option("--target-vectors", type=INPUT, help="Target word vectors in the same space."),
    click.option("--limit", type=Whole(min=1), help="Read only the first N vectors of a file."),
    unsafe_pickle_option(None),
)
_vectors = (
    *vector_files,
    click.option(
        "--langs",
        type=LANGUAGES,
        metavar="XX,YY",
        help="Source and target language of --vectors, if its folder does not say which is which.",
    ),
)
path_options = option_group("vectors", PathOptions, section("Vectors"), *_vectors)
model_options = option_group(
    "options",
    ModelOptions,
    section("Model"),
    click.option("--model", type=INPUT, metavar="DIR", help="A learned model.  [the shipped English-French]"),
    click.option("--scorers", metavar="LIST", help="Scorers of the model to use, by name.  [all]"),
    section("Vectors, instead of a model"),
    *_vectors,
    click.option("--unknown", type=click.Choice(UNKNOWN_POLICIES), help="Vector of unknown words.  [zero]"),
    click.option("--score", type=click.Choice(SCORES), help="Attention score of two vectors.  [cosine]"),
    click.option(
        "--temperature",
        type=Number(0, min_open=True),
        help="Divide scores by this.  [cosine: 1/sqrt(D), others: 1]",
    ),
    click.option(
        "--parameters",
        type=INPUT,
        metavar="NPZ",
        help="Parameters of --score bahdanau or scaled-dot.  [those in --vectors DIR]",
    ),
    click.option("--positions", type=click.Choice(POSITIONS), help="Position model.  [cosine: diagonal]"),
    click.option("--diagonal", type=Number(min=0), help="Strength of the diagonal prior.  [4]"),
    section("Expert, whose links vote"),
    *encoder_options,
    section("Links"),
    *extraction_options,
    section("Input"),
    *text_choices(
        "How lines become words.  [the model's, else space]",
        "Look words up in lower case.  [yes]",
        "Unicode normal form in which words are looked up.  [nfc]",
    ),
)


def load_aligner(options: ModelOptions) -> Aligner:
    """Open what the options name; without any, the shipped English-French model."""
    path, settings = options.path, options.settings
    from nmtalign.aligner.opening import load

    if options.langs is not None:
        settings["languages"] = options.langs
    if isinstance(path, str):
        check_kind("vectors" if options.model is None else "model", path)
    return load(path, **settings)


def check_kind(kind: str, path: str) -> None:
    """Refuse vectors given as a model, and a model given as vectors."""
    from nmtalign.door import place_of
    from nmtalign.state import is_model

    if is_model(place_of(path)) != (kind == "model"):
        found = "expected a folder of `nmtalign train`; it holds no model (if it holds vectors: --vectors)"
        raise DataError(found if kind == "model" else "this is a learned model; give it as --model").at(path)


limit_option = click.option("--limit", type=Whole(min=1), help="Read only the first N vectors.")
score_option = click.option(
    "--score",
    type=click.Choice(RETRIEVAL_SCORES),
    default="csls",
    help="csls: twice the cosine, less the mean cosines of both words to their nearest.",
)

reading_options = with_options(
    section("Input"),
    click.option(
        "--from",
        "format",
        type=click.Choice(["auto", *READ_VECTORS]),
        default="auto",
        help="Format of the vectors.",
    ),
    limit_option,
    click.option(
        "--encoding", type=Encoding(), default="utf-8", help="Encoding of the words and of text files."
    ),
    click.option("--errors", type=click.Choice(BYTES), help="What to do with bytes of another encoding."),
    unsafe_pickle_option(False),
)

force_option = click.option("--force", is_flag=True, help="Replace the vectors that are there.")

pair_output_options = with_options(
    section("Output"),
    click.option(
        "-o", "--output", type=OUTPUT, metavar="DIR", required=True, help="Folder for both languages."
    ),
    force_option,
    click.option("--to", type=click.Choice(WRITTEN_VECTORS), default="folder", help="Format to write."),
)
