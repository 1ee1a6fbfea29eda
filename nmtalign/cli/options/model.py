"""The options that choose the aligner: a learned model or word vectors, positions, extraction, text."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli.options.bitext import text_choices, two_languages
from nmtalign.cli.options.groups import option_group, section
from nmtalign.cli.options.types import INPUT, OUTPUT, Number, Whole
from nmtalign.cli.options.vectors import unsafe_pickle_option
from nmtalign.errors import DataError, UsageError
from nmtalign.names import DEVICES, EXTRACTIONS, POSITIONS, SCORES, SYMMETRIZATIONS, UNKNOWN_POLICIES

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner

_ALONE = ("extract", "threshold", "symmetrize", "tokenizer", "lowercase", "unicode")
_OF_ENCODER = ("layer", "device", "cache")
_RUNNING = ("device", "cache")  # of an encoder, also of one that the model holds
_PLACES = ("model", "vectors", "source_vectors", "target_vectors")


@dataclass(frozen=True)
class LinkOptions:
    """The values of the options that `links-from` has, too; ``None`` where one was not given."""

    langs: str | None = None
    extract: str | None = None
    threshold: float | None = None
    symmetrize: str | None = None
    tokenizer: str | None = None
    encoder: str | None = None
    layer: int | None = None
    device: str | None = None
    cache: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that the user gave."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class ModelOptions(LinkOptions):
    """The values of the options; ``None`` leaves the choice to the model."""

    model: str | None = None
    vectors: str | None = None
    source_vectors: str | None = None
    target_vectors: str | None = None
    limit: int | None = None
    unsafe_pickle: bool | None = None
    unknown: str | None = None
    score: str | None = None
    temperature: float | None = None
    bahdanau: str | None = None
    positions: str | None = None
    diagonal: float | None = None
    lowercase: bool | None = None
    unicode: str | None = None
    scorers: str | None = None

    @property
    def places(self) -> dict[str, str]:
        """The model or vectors that the user named."""
        return {name: value for name, value in self.given.items() if name in _PLACES}

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a model or vectors by name."""
        others = (*_PLACES, "langs", "encoder", *_OF_ENCODER)
        settings = {name: value for name, value in self.given.items() if name not in others}
        if self.scorers is not None:
            settings["scorers"] = tuple(name.strip() for name in self.scorers.split(","))
        return settings


encoder_options = (
    click.option("--encoder", type=INPUT, metavar="NAME", help="Encoder of Hugging Face, or its folder."),
    click.option("--layer", type=Whole(min=0), help="Layer of --encoder whose states are taken.  [8]"),
    click.option("--device", type=click.Choice(DEVICES), help="Where the encoder runs.  [cpu]"),
    click.option("--cache", type=OUTPUT, help="Keeps what the encoder found, for the next run."),
)
extraction_options = (
    click.option(
        "--extract",
        type=click.Choice(EXTRACTIONS),
        help="Choice of links.  [posterior; without null: mutual]",
    ),
    click.option(
        "--threshold", type=Number(0, 1), help="Least posterior of a link; leaves second words out."
    ),
    click.option("--symmetrize", type=click.Choice(SYMMETRIZATIONS), help="Join both directions' argmax."),
)
model_options = option_group(
    "options",
    ModelOptions,
    section("Model"),
    click.option("--model", type=INPUT, metavar="DIR", help="A learned model.  [the shipped English-French]"),
    click.option("--scorers", metavar="LIST", help="Scorers of the model to use, by name.  [all]"),
    section("Vectors, instead of a model"),
    click.option(
        "--vectors",
        type=INPUT,
        metavar="DIR",
        help="Word vectors of two languages: word2int_XX.pkl, embeddings_XX.npz.",
    ),
    click.option("--langs", metavar="XX,YY", help="Source and target language of --vectors when not plain."),
    click.option(
        "--source-vectors", type=INPUT, help="Source word vectors: gensim, word2vec, fastText, GloVe."
    ),
    click.option("--target-vectors", type=INPUT, help="Target word vectors in the same space."),
    click.option("--limit", type=Whole(min=1), help="Read only the first N vectors of a file."),
    unsafe_pickle_option(None),
    click.option("--unknown", type=click.Choice(UNKNOWN_POLICIES), help="Vector of unknown words.  [zero]"),
    click.option("--score", type=click.Choice(SCORES), help="Attention score.  [cosine]"),
    click.option(
        "--temperature", type=Number(0, min_open=True), help="Divides scores.  [cosine: 1/sqrt(D), others: 1]"
    ),
    click.option("--bahdanau", type=INPUT, help="npz with W, U, v (and b) for --score bahdanau."),
    click.option("--positions", type=click.Choice(POSITIONS), help="Position model.  [cosine: diagonal]"),
    click.option("--diagonal", type=Number(min=0), help="Strength of the diagonal prior.  [4]"),
    section("Vectors of words in their sentence, alone or beside --model or --vectors"),
    *encoder_options,
    section("Links"),
    *extraction_options,
    section("Input"),
    *text_choices(
        "How lines become words.  [the model's, else space]",
        "Look words up in lower case.  [yes]",
        "Normal form for the look-up.  [nfc]",
    ),
)


def load_aligner(options: ModelOptions) -> Aligner:
    """Open what the options name; without any, the shipped English-French model.

    Raises
    ------
    UsageError
        If the options contradict each other.
    """
    _check_one_place(options)
    if options.encoder is not None:
        return _in_context(options)
    running = {name: options.given[name] for name in _RUNNING if name in options.given and options.model}
    if unused := [name for name in _OF_ENCODER if name in options.given and name not in running]:
        names = ", ".join("--" + name for name in unused)
        raise UsageError(f"{names}: only with --encoder")
    return _load(options, **running)


def _in_context(options: ModelOptions) -> Aligner:
    """Open an encoder, mixed with a model or vectors where the options name one."""
    from nmtalign.aligner.with_encoder import with_context

    if options.positions is not None and options.positions != "hmm":
        raise UsageError(f"--positions {options.positions}: --encoder has hmm; without positions: links-from")
    own = {name: options.given[name] for name in ("encoder", *_OF_ENCODER) if name in options.given}
    if options.places:
        return with_context(_load(options), **own)
    settings = {name: value for name, value in options.settings.items() if name != "positions"}
    if unfit := [name for name in settings if name not in _ALONE]:
        name = "--" + unfit[0].replace("_", "-")
        raise UsageError(f"{name}: not for --encoder alone; name a model or vectors, too")
    return with_context(**own, **settings)


def _load(options: ModelOptions, **running: str) -> Aligner:
    """Open a model or vectors."""
    from nmtalign.aligner.opening import load, load_vector_files

    settings = options.settings | running
    if options.source_vectors is not None and options.target_vectors is not None:
        return load_vector_files(options.source_vectors, options.target_vectors, **settings)
    if options.langs is not None:
        settings["languages"] = two_languages(options.langs)
    _check_kind(options)
    return load(options.model or options.vectors, **settings)


def _check_kind(options: ModelOptions) -> None:
    """Refuse vectors given as a model, and a model given as vectors."""
    from nmtalign.aligner.model_folder import is_model

    if options.model is not None and not is_model(options.model):
        raise DataError("expected a folder that `nmtalign train` wrote; it holds no model").at(options.model)
    if options.vectors is not None and is_model(options.vectors):
        raise DataError("this is a learned model; give it as --model").at(options.vectors)


def _check_one_place(options: ModelOptions) -> None:
    """Refuse two places for the weights, and half a place."""
    if (options.source_vectors is None) != (options.target_vectors is None):
        raise UsageError("--source-vectors and --target-vectors go together; give both")
    places = [name for name in options.places if name != "target_vectors"]
    if len(places) > 1:
        names = " and ".join("--" + name.replace("_", "-") for name in places)
        raise UsageError(f"{names} contradict each other; give one place for the weights")
    if options.langs is not None and options.vectors is None:
        raise UsageError("--langs names the languages of --vectors DIR; give both")
