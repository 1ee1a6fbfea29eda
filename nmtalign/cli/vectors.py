"""``nmtalign vectors``: look at, convert and learn word vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nmtalign.cli._messages import warnings_to_stderr
from nmtalign.cli._model_options import UNICODE_FORMS, Tokenizer, two_languages
from nmtalign.cli._progress import Progress
from nmtalign.cli._types import INPUT, OUTPUT, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.embeddings import Coverage, Embeddings

READABLE = ("auto", "folder", "word2int", "word2vec", "word2vec-binary", "glove", "fasttext", "gensim")
WRITABLE = ("folder", "word2int", "word2vec", "word2vec-binary", "glove")
BYTES = ("strict", "ignore", "replace", "backslashreplace")
METHODS = {"counts": (128, 1), "cooccurrence": (300, 2)}  # dimension and least count
KINDS = ("word2vec", "fasttext")
SCORES = ("csls", "cosine")

_READING = (
    click.option("--from", "format", type=click.Choice(READABLE), default="auto", help="Format.  [auto]"),
    click.option("--limit", type=Whole(min=1), help="Read only the first N vectors."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the words."),
    click.option("--errors", type=click.Choice(BYTES), help="What to do with bytes of another encoding."),
    click.option("--unsafe-pickle", is_flag=True, help="Let pickles run code. Only for files you made."),
)
_TEXT = (
    click.option("--tokenizer", type=Tokenizer(), default="space", show_default=True),
    click.option("--lowercase/--no-lowercase", default=True, help="Words in lower case.  [yes]"),
    click.option("--unicode", type=click.Choice(UNICODE_FORMS), default="nfc", show_default=True),
)


def _reading_options(command: Any) -> Any:
    for option in reversed(_READING):
        command = option(command)
    return command


def _text_options(command: Any) -> Any:
    for option in reversed(_TEXT):
        command = option(command)
    return command


@click.group()
def vectors() -> None:
    """Look at, convert, learn and map word vectors.

    Example: nmtalign vectors info en_fr_vectors
    """


@vectors.command()
@click.argument("path", type=INPUT)
@_reading_options
@click.option("--text", type=INPUT, help="Also count which words of this text have a vector.")
@_text_options
def info(path: str, text: str | None, tokenizer: str, lowercase: bool, unicode: str, **reading: Any) -> None:
    """Show what is in PATH: a file or folder of word vectors, or a folder with those of two languages.

    A name that no file has may be that of shipped vectors: en_fr_vectors.

    Example: nmtalign vectors info cc.fr.300.vec.gz --limit 200000 --text corpus.fr
    """
    from nmtalign.text.tokenization import TextSettings

    with warnings_to_stderr():
        for name, embeddings in _opened(path, **reading):
            click.echo("\n".join(_described(name, embeddings)))
            if text is not None:
                settings = TextSettings(tokenizer, lowercase, unicode)
                click.echo(f"  of {text}: {_text_coverage(embeddings, text, settings)}")


def _opened(path: str, **reading: Any) -> Iterator[tuple[str, Embeddings]]:
    """Give the vectors at a path with a title for each."""
    from nmtalign.shipped import place_of
    from nmtalign.vectors.storage import detect_format, languages_of, load_embeddings

    whole = place_of(path)
    places = languages_of(whole)
    for place in [whole] if places is None else places.values():
        format_ = detect_format(place) if reading["format"] == "auto" else reading["format"]
        yield f"{place}: {format_}", load_embeddings(place, **reading | {"format": format_})


def _described(name: str, embeddings: Embeddings) -> list[str]:
    """Return the lines that `info` prints."""
    import numpy as np

    lengths = np.linalg.norm(np.asarray(embeddings.matrix, dtype=np.float32), axis=1)  # (V,)
    lines = [
        name,
        f"  {len(embeddings):,} words, {embeddings.dimension} dimensions, {embeddings.matrix.dtype}",
        f"  first words: {' '.join(embeddings.vocabulary.words[:10])}",
    ]
    if len(lengths):
        range_ = f"{lengths.min():.3g} to {lengths.max():.3g}, mean {lengths.mean():.3g}"
        lines.append(f"  lengths of the vectors: {range_}; {int((lengths == 0).sum()):,} are zero")
    if embeddings.subwords is not None:
        lines.append(f"  sub-words: {embeddings.subwords}")
    if embeddings.settings:
        lines.append(f"  made with: {json.dumps(dict(embeddings.settings), ensure_ascii=False)}")
    return lines


def _text_coverage(embeddings: Embeddings, path: str, settings: TextSettings) -> Coverage:
    from nmtalign.files import read_lines
    from nmtalign.vectors.embeddings import Coverage

    return sum((embeddings.coverage(settings.words(line)) for line in read_lines(path)), Coverage())


@vectors.command()
@click.argument("path", type=INPUT)
@click.argument("output", type=OUTPUT)
@click.option("--to", type=click.Choice(WRITABLE), required=True, help="Format to write.")
@_reading_options
def convert(path: str, output: str, to: str, **reading: Any) -> None:
    """Write the vectors at PATH in another format.

    `folder` is our own: it opens in milliseconds and keeps sub-words. For `word2int` OUTPUT is
    word2int_XX.pkl, and embeddings_XX.npz is written beside it. gensim reads `word2vec-binary` with
    KeyedVectors.load_word2vec_format.

    Example: nmtalign vectors convert cc.fr.300.bin french --to folder
    """
    from nmtalign.vectors.storage import load_embeddings, save_embeddings

    with warnings_to_stderr():
        embeddings = load_embeddings(path, **reading)
        save_embeddings(embeddings, output, format=to)
        if embeddings.subwords is not None and to != "folder":
            click.echo(f"nmtalign: warning: {to} cannot hold the sub-words; they are left out", err=True)
    click.echo(
        f"nmtalign: {len(embeddings):,} words, {embeddings.dimension} dimensions -> {output}", err=True
    )


@vectors.command()
@click.argument("source", type=INPUT, required=False)
@click.argument("target", type=INPUT, required=False)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="DIR",
    required=True,
    help="Folder for the vectors of both languages.",
)
@click.option("--pairs", type=INPUT, help="One file with both sides, instead of SOURCE and TARGET.")
@click.option("--format", "bitext_format", metavar="NAME", default="auto", help="Form of the bitext.  [auto]")
@click.option("--method", type=click.Choice(list(METHODS)), default="counts", show_default=True)
@click.option("--dimension", type=Whole(min=1), help="Columns.  [128; cooccurrence: 300]")
@click.option(
    "--min-count",
    type=Whole(min=1),
    help="Least occurrences of a word with a vector.  [1; cooccurrence: 2]",
)
@click.option(
    "--model", type=INPUT, metavar="DIR", help="counts: those of this model, instead of SOURCE and TARGET."
)
@click.option("--subwords", is_flag=True, help="counts: of words and of their first letters, side by side.")
@click.option("--langs", metavar="XX,YY", help="Names of the languages.  [the endings of the two files]")
@click.option(
    "--to", type=click.Choice(WRITABLE), default="folder", show_default=True, help="Format to write."
)
@click.option("--seed", type=Whole(), default=1, show_default=True)
@_text_options
def learn(
    source: str | None,
    target: str | None,
    output: str,
    pairs: str | None,
    bitext_format: str,
    method: str,
    dimension: int | None,
    min_count: int | None,
    model: str | None,
    subwords: bool,
    langs: str | None,
    to: str,
    seed: int,
    tokenizer: str,
    lowercase: bool,
    unicode: str,
) -> None:
    """Learn word vectors of two languages in one space from a bitext.

    `align --vectors DIR` uses them. counts: correspondence analysis of the links that a learned aligner
    counted; it is learned first, or given by --model. cooccurrence: words by sentence pairs, scaled by word
    and pair size, truncated singular value decomposition (cross-language latent semantic indexing).

    Example: nmtalign vectors learn text.en text.fr -o vectors
    """
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.storage import save_pair, with_text_settings

    _check_counts(method, model, subwords, text_given=bool(source or pairs))
    sizes = {"dimension": dimension or METHODS[method][0], "minimum": min_count or METHODS[method][1]}
    text = TextSettings(tokenizer, lowercase, unicode)
    languages = two_languages(langs) if langs else _languages_of_files(source, target)
    with warnings_to_stderr(), Progress("pairs") as progress:
        if model is not None:
            learned, text, known = _of_model(model, **sizes, subwords=subwords, seed=seed)
            languages = languages if langs else known
        else:
            from nmtalign.cli.align import open_bitext

            bitext = open_bitext(source, target, pairs, bitext_format)
            learner = _learner(method, subwords)
            learned = learner(_tokenized(bitext, text, languages, progress), **sizes, seed=seed)
        first, second = (with_text_settings(side, text) for side in learned)
        save_pair(first, second, output, languages=languages, format=to)
    found = f"{len(first):,} {languages[0]} and {len(second):,} {languages[1]} words"
    took = f"{first.dimension} dimensions in {progress.seconds:.1f} s"
    click.echo(f"nmtalign: {found} of {took} -> {output}", err=True)


def _check_counts(method: str, model: str | None, subwords: bool, *, text_given: bool) -> None:
    """Refuse options of the counts with another method, and a text beside a model."""
    if method != "counts" and (model is not None or subwords):
        raise UsageError(f"--model and --subwords belong to --method counts; {method} has no use for them")
    if model is None:
        return
    if text_given:
        raise UsageError("--model has counted its own text; leave SOURCE and TARGET out")
    context = click.get_current_context()
    said = [
        f"--{name}"
        for name in ("tokenizer", "lowercase", "unicode")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if said:
        raise UsageError(f"{', '.join(said)}: the words are those of --model; leave it out")


def _of_model(
    folder: str, **settings: Any
) -> tuple[tuple[Embeddings, Embeddings], TextSettings, tuple[str, str]]:
    """Return the vectors of a learned model's counts, how its text became words, and its languages."""
    from nmtalign.aligner.model_folder import load_aligner
    from nmtalign.training.count_vectors import count_embeddings

    model = load_aligner(folder)
    known = model.languages[0] or "source", model.languages[1] or "target"
    return count_embeddings(model.lexicon, **settings), model.text, known


def _learner(method: str, subwords: bool) -> Callable[..., tuple[Embeddings, Embeddings]]:
    if method == "counts":
        from nmtalign.training.count_vectors import learn_counted

        return partial(learn_counted, subwords=subwords)
    from nmtalign.vectors.correspondence import learn_cooccurrence

    return learn_cooccurrence


def _tokenized(
    bitext: Iterator[SentencePair], text: TextSettings, languages: tuple[str, str], progress: Progress
) -> Iterator[tuple[list[str], list[str]]]:
    source_words, target_words = (partial(text.words, language=language) for language in languages)
    for pair in bitext:
        yield source_words(pair.source), target_words(pair.target)
        progress.advance(1)


def _languages_of_files(source: str | None, target: str | None) -> tuple[str, str]:
    """Return ``en, fr`` for files like train.en.gz and train.fr.gz, else ``source, target``."""
    endings = [re.search(r"\.([a-z]{2,3})(\.(gz|bz2|xz|zst))?$", path or "") for path in (source, target)]
    names = [match.group(1) for match in endings if match]
    return (names[0], names[1]) if len(set(names)) == 2 else ("source", "target")


@vectors.command("map")
@click.argument("source", type=INPUT)
@click.argument("target", type=INPUT)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="DIR",
    required=True,
    help="Folder for the vectors of both languages.",
)
@click.option("--dictionary", type=INPUT, help="Seed pairs, `word translation` a line.  [identical strings]")
@click.option("--refine/--no-refine", default=True, help="Look for more pairs by mutual neighbours.  [yes]")
@click.option("--words", type=Whole(min=1), default=5_000, show_default=True, help="Words that refine.")
@click.option("--rcsls", is_flag=True, help="At the end improve the map by the relaxed CSLS loss.")
@click.option(
    "--train-monolingual", type=click.Choice(KINDS), help="SOURCE and TARGET are texts; train first."
)
@click.option("--dimension", type=Whole(min=1), default=300, show_default=True, help="Of the training.")
@click.option("--min-count", type=Whole(min=1), default=5, show_default=True, help="Of the training.")
@click.option("--epochs", type=Whole(min=1), default=5, show_default=True, help="Of the training.")
@click.option("--seed", type=Whole(), default=1, show_default=True, help="Of the training.")
@click.option("--workers", type=Whole(min=1), default=1, show_default=True, help="Of the training.")
@click.option("--langs", metavar="XX,YY", help="Names of the languages.  [the endings of the two files]")
@click.option(
    "--to", type=click.Choice(WRITABLE), default="folder", show_default=True, help="Format to write."
)
@_reading_options
@_text_options
def map_(
    source: str,
    target: str,
    output: str,
    dictionary: str | None,
    refine: bool,
    words: int,
    rcsls: bool,
    train_monolingual: str | None,
    langs: str | None,
    to: str,
    tokenizer: str,
    lowercase: bool,
    unicode: str,
    **more: Any,
) -> None:
    """Turn the word vectors of two languages into one space.

    SOURCE and TARGET are files of word vectors; with --train-monolingual two texts, which need not be
    translations. The seeds are the pairs of a dictionary, or the words that both languages write alike.

    Example: nmtalign vectors map cc.en.300.vec.gz cc.fr.300.vec.gz --limit 100000 -o vectors
    """
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.mapping import identical_strings, map_spaces, read_dictionary
    from nmtalign.vectors.storage import load_embeddings, save_pair

    training = {name: more.pop(name) for name in ("dimension", "min_count", "epochs", "seed", "workers")}
    languages = two_languages(langs) if langs else _languages_of_files(source, target)
    text = TextSettings(tokenizer, lowercase, unicode)
    with warnings_to_stderr(), Progress("sentences") as progress:
        if train_monolingual is None:
            first, second = (load_embeddings(path, **more) for path in (source, target))
        else:
            first, second = (
                _trained(path, language, text, train_monolingual, progress, **training)
                for path, language in zip((source, target), languages, strict=True)
            )
        seeds = (
            identical_strings(first.vocabulary, second.vocabulary)
            if dictionary is None
            else read_dictionary(dictionary)
        )
        mapped = map_spaces(first, second, seeds, refine=refine, rcsls=rcsls, words=words)
        save_pair(mapped.source, mapped.target, output, languages=languages, format=to)
    click.echo(f"nmtalign: {mapped} in {progress.seconds:.1f} s -> {output}", err=True)


def _trained(
    path: str,
    language: str,
    text: TextSettings,
    kind: str,
    progress: Progress,
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


@vectors.command()
@click.argument("folder", type=INPUT)
@click.argument("dictionary", type=INPUT)
@click.option("--langs", metavar="XX,YY", help="Source and target language.  [as the folder says]")
@click.option("--score", type=click.Choice(SCORES), default="csls", show_default=True)
@click.option("--limit", type=Whole(min=1), help="Read only the first N vectors.")
@click.option(
    "--unicode", type=click.Choice(UNICODE_FORMS), default="none", help="Of the dictionary.  [none]"
)
def evaluate(
    folder: str, dictionary: str, langs: str | None, score: str, limit: int | None, unicode: str
) -> None:
    """Look up the translations of DICTIONARY (`word translation` a line) among the nearest neighbours.

    Prints the precision at 1, 5 and 10 and how many of the words have vectors.

    Example: nmtalign vectors evaluate vectors en-fr.test.txt --langs en,fr
    """
    from nmtalign.shipped import place_of
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.mapping import read_dictionary
    from nmtalign.vectors.retrieval import evaluate_dictionary
    from nmtalign.vectors.storage import load_pair

    text, chosen = TextSettings(lowercase=False, unicode=unicode), two_languages(langs) if langs else None
    with warnings_to_stderr():
        source, target = load_pair(place_of(folder), languages=chosen, limit=limit)
        pairs = [tuple(text.normalized(pair)) for pair in read_dictionary(dictionary)]
        click.echo(str(evaluate_dictionary(source, target, [(a, b) for a, b in pairs], score=score)))


@vectors.command()
@click.argument("folder", type=INPUT)
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--langs", metavar="XX,YY", help="Language of WORDS and of the neighbours.  [as the folder says]"
)
@click.option("--score", type=click.Choice(SCORES), default="csls", show_default=True)
@click.option("--count", type=Whole(min=1), default=10, show_default=True, help="Neighbours of a word.")
@click.option("--limit", type=Whole(min=1), help="Read only the first N vectors.")
def neighbours(
    folder: str, words: tuple[str, ...], langs: str | None, score: str, count: int, limit: int | None
) -> None:
    """List the nearest words of the other language: word, neighbour, score, between tabs.

    Example: nmtalign vectors neighbours en_fr_vectors house cat
    """
    from nmtalign.shipped import place_of
    from nmtalign.vectors.retrieval import neighbours as find
    from nmtalign.vectors.storage import load_pair

    chosen = two_languages(langs) if langs else None
    with warnings_to_stderr():
        source, target = load_pair(place_of(folder), languages=chosen, limit=limit)
        for word, found in find(source, target, words, count=count, score=score).items():
            for one in found:
                click.echo(f"{word}\t{one.word}\t{one.score:.4f}")
            if not found:
                click.echo(f"nmtalign: warning: {word!r} has no vector", err=True)
