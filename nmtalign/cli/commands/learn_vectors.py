"""``nmtalign vectors learn`` and ``nmtalign vectors map``: word vectors of two languages in one space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nmtalign.cli.messages import Progress, log, warnings_to_stderr
from nmtalign.cli.options.bitext import (
    BitextOptions,
    Languages,
    TextOptions,
    bitext_options,
    langs_option,
    languages_of_files,
    text_options,
)
from nmtalign.cli.options.declare import INPUT, SEED, Command, Values, Whole, option, option_group, section
from nmtalign.cli.options.model import pair_output_options, reading_options
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.embeddings import Embeddings

    Sides = tuple[Embeddings, Embeddings]


@click.command(cls=Command)
@bitext_options
@text_options
@langs_option
@pair_output_options
@section("Learning")
@option("--dimension", Whole(min=1), "Columns of the vectors.", default=128)
@option("--min-count minimum", Whole(min=1), "Least frequency of a word.", default=1)
@option("--model", INPUT, "Take the counts of this model instead of a text.", metavar="DIR")
@option("--subwords", bool, "Vectors of words and of their first letters, side by side.")
@option("--seed", SEED, "Seed of the decomposition.", default=1)
def learn(
    bitext: BitextOptions,
    output: str,
    force: bool,
    model: str | None,
    langs: Languages | None,
    to: str,
    tokenization: TextOptions,
    **options: Any,
) -> None:
    """Learn word vectors of two languages in one space from a bitext.

    The vectors are a correspondence analysis of the links that an aligner expects in the bitext. The aligner
    is learned first; --model takes a learned one instead. `align --vectors DIR` uses the vectors.

    Example: nmtalign vectors learn text.en text.fr -o vectors
    """
    from nmtalign.training.count_vectors import learn_counted
    from nmtalign.vectors.storage import expect_room_for_pair, save_pair, with_text_settings

    expect_room_for_pair(output, overwrite=force)
    text = tokenization.settings()
    languages = langs or languages_of_files(bitext.source, bitext.target)
    with warnings_to_stderr(), Progress("pairs") as progress:
        if model is not None:
            _check_alone(bitext)
            learned, text, known = _of_model(model, **options)
            languages = languages if langs else known
        else:
            pairs = progress.done_one_by_one(bitext.open())
            words = (text.words_of_pair(pair, languages) for pair in pairs)
            learned = learn_counted(words, **options)
        first, second = (with_text_settings(side, text) for side in learned)
        save_pair(first, second, output, languages=languages, format=to, overwrite=force)
    found = f"{len(first):,} {languages[0]} and {len(second):,} {languages[1]} words"
    log(f"{found} of {first.dimension} dimensions in {progress.seconds:.1f} s in {output}")


def _check_alone(bitext: BitextOptions) -> None:
    """Refuse a text and its options beside a model."""
    if bitext.files:
        raise UsageError("--model has counted its own text; leave SOURCE and TARGET out")
    context, names = click.get_current_context(), ("tokenizer", "lowercase", "unicode")
    commandline = ParameterSource.COMMANDLINE
    given = [f"--{name}" for name in names if context.get_parameter_source(name) is commandline]
    if given:
        raise UsageError(f"{', '.join(given)}: the words are those of --model; leave it out")


def _of_model(folder: str, **options: Any) -> tuple[Sides, TextSettings, tuple[str, str]]:
    """Return the vectors of a learned model's counts, how its text became words, and its languages."""
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.training.count_vectors import count_embeddings

    model = load_aligner(folder)
    known = model.languages[0] or "source", model.languages[1] or "target"
    return count_embeddings(model.lexicon, **options), model.text, known


_mapping_options = option_group(
    "mapping",
    Values,
    section("Mapping"),
    option("--dictionary", INPUT, "Seed pairs, `word translation` a line.  [identical strings]"),
    option("--refine/--no-refine", bool, "Look for more pairs by mutual neighbors.", default=True),
    option("--words", Whole(min=1), "Frequent words that --refine uses.", default=5_000),
)


@click.command("map", cls=Command)
@click.argument("source", type=INPUT)
@click.argument("target", type=INPUT)
@section("Input")
@langs_option
@reading_options
@pair_output_options
@_mapping_options
def map_(
    source: str,
    target: str,
    output: str,
    force: bool,
    mapping: Values,
    langs: Languages | None,
    to: str,
    **reading: Any,
) -> None:
    """Map the word vectors of two languages into one space.

    The seeds are the pairs of a dictionary, or the words that both languages write alike.

    Example: nmtalign vectors map cc.en.300.vec.gz cc.fr.300.vec.gz --limit 100000 -o vectors
    """
    from nmtalign.vectors.mapping import identical_strings, map_spaces, read_dictionary
    from nmtalign.vectors.storage import expect_room_for_pair, load_embeddings, save_pair

    expect_room_for_pair(output, overwrite=force)
    languages = langs or languages_of_files(source, target)
    with warnings_to_stderr():
        first, second = (load_embeddings(path, **reading) for path in (source, target))
        seeds = iter(identical_strings(first.vocabulary, second.vocabulary))
        if mapping.dictionary is not None:
            seeds = read_dictionary(mapping.dictionary, encoding=reading["encoding"])
        learned = map_spaces(first, second, seeds, refine=mapping.refine, words=mapping.words)
        save_pair(learned.source, learned.target, output, languages=languages, format=to, overwrite=force)
    lost = (
        "" if first.subwords is None is second.subwords else "; sub-words cannot be mapped, and are left out"
    )
    log(f"{learned}, in {output}{lost}")
