"""The options that choose where the weights come from; shared by `align`, `heatmap` and `report`.

Nothing heavy is imported here: ``--help`` has to stay fast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli._messages import warn
from nmtalign.cli._types import INPUT, Number, Whole, check_places
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner

SCORES = ("dot", "scaled-dot", "cosine", "bahdanau")
POSITIONS = ("none", "diagonal", "fast-align", "simalign", "hmm")
EXTRACTORS = ("posterior", "argmax", "argmax-reverse", "mutual", "threshold", "itermax", "match", "transport")
SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
UNKNOWN_POLICIES = ("zero", "subword", "backoff")
TOKENIZERS = ("space", "simple", "moses", "sentencepiece:FILE[,FILE]")
UNICODE_FORMS = ("nfc", "nfkc", "strip-accents", "none")


class Tokenizer(click.Choice[str]):
    """The name of a tokeniser, with the files of its models where it has any."""

    def __init__(self) -> None:
        super().__init__(TOKENIZERS)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, files = value.partition(":")
        if kind != "sentencepiece" or not colon:
            return super().convert(value, param, ctx)
        check_places(files.split(","), param, ctx)
        return value


remap_option = click.option(
    "--remap",
    type=click.Choice(["space", "bpe", "sentencepiece"]),
    help="Links of words between spaces, or of the words that marked sub-words make.",
)


@dataclass(frozen=True)
class ModelOptions:
    """What the user chose; ``None`` means not said, so the model's own default holds."""

    model: str | None = None
    vectors: str | None = None
    langs: str | None = None
    source_vectors: str | None = None
    target_vectors: str | None = None
    limit: int | None = None
    unsafe_pickle: bool | None = None
    unknown: str | None = None
    score: str | None = None
    temperature: float | None = None
    bahdanau: str | None = None
    seed: int | None = None
    positions: str | None = None
    diagonal: float | None = None
    extract: str | None = None
    threshold: float | None = None
    symmetrize: str | None = None
    tokenizer: str | None = None
    lowercase: bool | None = None
    unicode: str | None = None
    heads: str | None = None

    def chosen(self, *names: str) -> dict[str, Any]:
        """Return those of the named options that the user gave."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


_NAMES = tuple(field.name for field in fields(ModelOptions))
_PLACES = ("model", "vectors", "langs", "source_vectors", "target_vectors")

_OPTIONS = (
    click.option("--model", type=INPUT, metavar="DIR", help="A learned model."),
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
    click.option(
        "--unsafe-pickle", is_flag=True, default=None, help="Let pickles run code. Only for files you made."
    ),
    click.option("--unknown", type=click.Choice(UNKNOWN_POLICIES), help="Vector of unknown words.  [zero]"),
    click.option("--score", type=click.Choice(SCORES), help="Attention score.  [cosine]"),
    click.option(
        "--temperature", type=Number(), help="Scores are divided by it.  [cosine: 1/sqrt(D), others: 1]"
    ),
    click.option("--bahdanau", type=INPUT, help="npz with W, U, v (and b) for --score bahdanau."),
    click.option(
        "--seed", type=Whole(), help="Seed of untrained Bahdanau weights when no --bahdanau is given."
    ),
    click.option("--positions", type=click.Choice(POSITIONS), help="Prior on positions.  [cosine: diagonal]"),
    click.option("--diagonal", type=Number(min=0), help="Strength of the diagonal prior.  [4]"),
    click.option(
        "--extract",
        type=click.Choice(EXTRACTORS),
        help="How links are chosen.  [posterior; vectors: mutual]",
    ),
    click.option("--threshold", type=Number(0, 1), help="Least probability of a link."),
    click.option(
        "--symmetrize", type=click.Choice(SYMMETRIZATIONS), help="Join the argmax of both directions."
    ),
    click.option("--tokenizer", type=Tokenizer(), help="How lines become words.  [the model's, else space]"),
    click.option("--lowercase/--no-lowercase", default=None, help="Look words up in lower case.  [yes]"),
    click.option("--unicode", type=click.Choice(UNICODE_FORMS), help="Normal form for the look-up.  [nfc]"),
    click.option("--heads", metavar="LIST", help="Heads: names, of a learned model; else numbers.  [all]"),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options that choose a model; it receives them as ``options: ModelOptions``."""

    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        chosen = {name: arguments.pop(name) for name in _NAMES}
        return command(options=ModelOptions(**chosen), **arguments)

    for option in reversed(_OPTIONS):
        collect = option(collect)
    return collect


def load_aligner(options: ModelOptions) -> Aligner:
    """Open what the options name; without any, the shipped English-French model.

    Raises
    ------
    UsageError
        If the options contradict each other.
    """
    from nmtalign.aligner.opening import load, load_vector_files

    _check_one_source(options)
    given = options.vectors is not None or options.source_vectors is not None
    if given and options.score == "bahdanau" and options.bahdanau is None:
        warn("untrained Bahdanau weights know nothing; give some: --bahdanau")
    settings = options.chosen(*(name for name in _NAMES if name not in _PLACES))
    if options.heads is not None:
        settings["heads"] = names_in(options.heads)
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


def _check_one_source(options: ModelOptions) -> None:
    """Refuse two places for the weights, and half a place."""
    if (options.source_vectors is None) != (options.target_vectors is None):
        raise UsageError("--source-vectors and --target-vectors go together; give both")
    places = options.chosen("model", "vectors", "source_vectors")
    if len(places) > 1:
        names = " and ".join("--" + name.replace("_", "-") for name in places)
        raise UsageError(f"{names} contradict each other; give one place for the weights")
    if options.langs is not None and options.vectors is None:
        raise UsageError("--langs names the languages of --vectors DIR; give both")


def two_languages(text: str) -> tuple[str, str]:
    """Parse ``en,fr``."""
    parts = text.split(",")
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        raise UsageError(f"--langs wants two different languages like en,fr; found {text!r}")
    return parts[0], parts[1]


def names_in(text: str) -> tuple[str, ...]:
    """Parse ``lexicon,vectors``."""
    return tuple(name.strip() for name in text.split(","))
