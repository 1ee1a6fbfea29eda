"""``nmtalign vectors learn`` and ``nmtalign vectors map``: word vectors of two languages in one space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nmtalign.cli.messages import log, warnings_to_stderr
from nmtalign.cli.options.bitext import (
    BitextOptions,
    TextOptions,
    bitext_options,
    langs_option,
    languages_of_files,
    text_options,
    two_languages,
)
from nmtalign.cli.options.groups import Command, section
from nmtalign.cli.options.types import INPUT, SEED, Whole
from nmtalign.cli.options.vectors import pair_output_options, reading_options
from nmtalign.cli.progress import Progress
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.embeddings import Embeddings
    from nmtalign.vectors.mapping import MappedSpaces

    Sides = tuple[Embeddings, Embeddings]

METHODS = {"counts": (128, 1), "cooccurrence": (300, 2)}  # dimension and least count
KINDS = ("word2vec", "fasttext")
_TRAINING = ("dimension", "min_count", "epochs", "seed", "workers")


@click.command(cls=Command)
@bitext_options
@text_options
@langs_option
@pair_output_options
@section("Learning")
@click.option("--method", type=click.Choice(list(METHODS)), default="counts", help="What is counted.")
@click.option("--dimension", type=Whole(min=1), help="Columns.  [128; cooccurrence: 300]")
@click.option("--min-count", type=Whole(min=1), help="Least frequency of a word.  [1; cooccurrence: 2]")
@click.option("--model", type=INPUT, metavar="DIR", help="counts: those of this model, without a text.")
@click.option("--subwords", is_flag=True, help="counts: of words and of their first letters, side by side.")
@click.option("--seed", type=SEED, default=1, help="Of the decomposition.")
def learn(
    bitext: BitextOptions,
    output: str,
    method: str,
    dimension: int | None,
    min_count: int | None,
    model: str | None,
    subwords: bool,
    langs: str | None,
    to: str,
    seed: int,
    tokenization: TextOptions,
) -> None:
    """Learn word vectors of two languages in one space from a bitext.

    `align --vectors DIR` uses them. counts: correspondence analysis of the expected links of an aligner,
    which is learned first, or given by --model. cooccurrence: words by sentence pairs, scaled by word
    and pair size, truncated singular value decomposition (cross-language latent semantic indexing).

    Example: nmtalign vectors learn text.en text.fr -o vectors
    """
    from nmtalign.vectors.storage import save_pair, with_text_settings

    _check_counts(method, model, subwords, text_given=bool(bitext.files))
    sizes = {"dimension": dimension or METHODS[method][0], "minimum": min_count or METHODS[method][1]}
    text = tokenization.settings()
    languages = two_languages(langs) if langs else languages_of_files(bitext.source, bitext.target)
    with warnings_to_stderr(), Progress("pairs") as progress:
        if model is not None:
            learned, text, known = _of_model(model, **sizes, subwords=subwords, seed=seed)
            languages = languages if langs else known
        else:
            words = _tokenized(bitext.open(), text, languages, progress)
            learned = _learner(method, subwords)(words, **sizes, seed=seed)
        first, second = (with_text_settings(side, text) for side in learned)
        save_pair(first, second, output, languages=languages, format=to)
    found = f"{len(first):,} {languages[0]} and {len(second):,} {languages[1]} words"
    log(f"{found} of {first.dimension} dimensions in {progress.seconds:.1f} s -> {output}")


def _check_counts(method: str, model: str | None, subwords: bool, *, text_given: bool) -> None:
    """Refuse options of the counts with another method, and a text beside a model."""
    if method != "counts" and (model is not None or subwords):
        raise UsageError(f"--model and --subwords belong to --method counts; {method} has no use for them")
    if model is None:
        return
    if text_given:
        raise UsageError("--model has counted its own text; leave SOURCE and TARGET out")
    context, names = click.get_current_context(), ("tokenizer", "lowercase", "unicode")
    commandline = ParameterSource.COMMANDLINE
    given = [f"--{name}" for name in names if context.get_parameter_source(name) is commandline]
    if given:
        raise UsageError(f"{', '.join(given)}: the words are those of --model; leave it out")


def _of_model(folder: str, **settings: Any) -> tuple[Sides, TextSettings, tuple[str, str]]:
    """Return the vectors of a learned model's counts, how its text became words, and its languages."""
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.training.count_vectors import count_embeddings

    model = load_aligner(folder)
    known = model.languages[0] or "source", model.languages[1] or "target"
    return count_embeddings(model.lexicon, **settings), model.text, known


def _learner(method: str, subwords: bool) -> Callable[..., Sides]:
    if method == "counts":
        from nmtalign.training.count_vectors import learn_counted

        return partial(learn_counted, subwords=subwords)
    from nmtalign.vectors.correspondence import learn_cooccurrence

    return learn_cooccurrence


def _tokenized(
    bitext: Iterator[SentencePair], text: TextSettings, languages: tuple[str, str], progress: Progress
) -> Iterator[tuple[list[str], list[str]]]:
    for pair in bitext:
        yield text.words_of_pair(pair, languages)
        progress.advance(1)


@click.command("map", cls=Command)
@click.argument("source", type=INPUT)
@click.argument("target", type=INPUT)
@section("Input")
@langs_option
@reading_options
@text_options
@pair_output_options
@section("Mapping")
@click.option("--dictionary", type=INPUT, help="Seed pairs, `word translation` a line.  [identical strings]")
@click.option("--refine/--no-refine", default=True, help="Look for more pairs by mutual neighbours.")
@click.option("--words", type=Whole(min=1), default=5_000, help="Words that refine.")
@click.option("--rcsls", is_flag=True, help="At the end improve the map by the relaxed CSLS loss.")
@section("Training")
@click.option("--train-monolingual", type=click.Choice(KINDS), help="Train vectors of two texts first.")
@click.option("--dimension", type=Whole(min=1), default=300, help="Of the training.")
@click.option("--min-count", type=Whole(min=1), default=5, help="Of the training.")
@click.option("--epochs", type=Whole(min=1), default=5, help="Of the training.")
@click.option("--seed", type=SEED, default=1, help="Of the training.")
@click.option("--workers", type=Whole(min=1), default=1, help="Of the training.")
def map_(
    source: str,
    target: str,
    output: str,
    dictionary: str | None,
    train_monolingual: str | None,
    langs: str | None,
    to: str,
    tokenization: TextOptions,
    refine: bool,
    rcsls: bool,
    words: int,
    **more: Any,
) -> None:
    """Map the word vectors of two languages into one space.

    SOURCE and TARGET are files of word vectors; with --train-monolingual two texts, which need not be
    translations. The seeds are the pairs of a dictionary, or the words that both languages write alike.

    Example: nmtalign vectors map cc.en.300.vec.gz cc.fr.300.vec.gz --limit 100000 -o vectors
    """
    from nmtalign.vectors.storage import load_embeddings, save_pair

    training = {name: more.pop(name) for name in _TRAINING}
    languages = two_languages(langs) if langs else languages_of_files(source, target)
    with warnings_to_stderr(), Progress("sentences") as progress:
        if train_monolingual is None:
            first, second = (load_embeddings(path, **more) for path in (source, target))
        else:
            trained = partial(_trained, tokenization.settings(), train_monolingual, progress, **training)
            first, second = map(trained, (source, target), languages)
        mapped = _mapped(first, second, dictionary, refine=refine, rcsls=rcsls, words=words)
        save_pair(mapped.source, mapped.target, output, languages=languages, format=to)
    log(f"{mapped} in {progress.seconds:.1f} s -> {output}")


def _mapped(first: Embeddings, second: Embeddings, dictionary: str | None, **options: Any) -> MappedSpaces:
    """Map two spaces by a dictionary, or by the words that both have."""
    from nmtalign.vectors.mapping import identical_strings, map_spaces, read_dictionary

    if dictionary is None:
        return map_spaces(first, second, identical_strings(first.vocabulary, second.vocabulary), **options)
    return map_spaces(first, second, read_dictionary(dictionary), **options)


def _trained(
    text: TextSettings,
    kind: str,
    progress: Progress,
    path: str,
    language: str,
    *,
    min_count: int,
    **training: int,
) -> Embeddings:
    """Train the vectors of one text."""
    from nmtalign.files import read_lines
    from nmtalign.vectors.gensim_models import train_monolingual
    from nmtalign.vectors.storage import with_text_settings

    def sentences() -> Iterator[list[str]]:
        for line in read_lines(path):
            progress.advance(1)
            yield text.words(line, language=language)

    return with_text_settings(train_monolingual(sentences, kind=kind, minimum=min_count, **training), text)
