"""``nmtalign vectors``: show, convert, learn, map and evaluate word vectors, and attention over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli.commands.learn_attention import attention
from nmtalign.cli.commands.learn_vectors import learn, map_
from nmtalign.cli.messages import log, printable, warn, warnings_to_stderr
from nmtalign.cli.options.bitext import (
    Languages,
    TextOptions,
    encoding_option,
    langs_option,
    text_encoding,
    text_options,
)
from nmtalign.cli.options.declare import INPUT, OUTPUT, Command, Whole, option, section
from nmtalign.cli.options.model import force_option, limit_option, reading_options, score_option
from nmtalign.names import UNICODE_FORMS, WRITTEN_VECTORS

if TYPE_CHECKING:
    from nmtalign.vectors.embeddings import Embeddings


@click.group()
def vectors() -> None:
    """Show, convert, learn, map and evaluate word vectors, and learn attention over them.

    Example: nmtalign vectors info en_fr_vectors
    """


@vectors.command(cls=Command)
@click.argument("path", type=INPUT)
@reading_options
@section("Input")
@option("--text", INPUT, "Also count which words of this text have a vector.")
@text_options
def info(path: str, text: str | None, tokenization: TextOptions, **reading: Any) -> None:
    """Show what word vectors hold: words, dimensions, lengths.

    PATH is a file or folder of word vectors, or a folder with those of two languages. Shipped vectors have
    a name of their own: en_fr_vectors.

    Example: nmtalign vectors info cc.fr.300.vec.gz --limit 200000 --text corpus.fr
    """
    from nmtalign.files import read_lines
    from nmtalign.vectors.embeddings import Coverage

    with warnings_to_stderr():
        for name, embeddings in _opened(path, **reading):
            click.echo("\n".join(_described(name, embeddings)))
            if text is not None:
                lines = map(tokenization.settings().words, read_lines(text, encoding=reading["encoding"]))
                click.echo(f"  of {text}: {sum(map(embeddings.coverage, lines), Coverage())}")


def _opened(path: str, **reading: Any) -> Iterator[tuple[str, Embeddings]]:
    """Yield the vectors at a path with a title for each."""
    from nmtalign.door import place_of
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
        f"  first words: {printable(' '.join(embeddings.vocabulary.words[:10]))}",
    ]
    if len(lengths):
        range_ = f"{lengths.min():.3g} to {lengths.max():.3g}, mean {lengths.mean():.3g}"
        lines.append(f"  lengths of the vectors: {range_}; {int((lengths == 0).sum()):,} are zero")
    if embeddings.subwords is not None:
        lines.append(f"  sub-words: {embeddings.subwords}")
    if embeddings.settings:
        lines.append(f"  made with: {json.dumps(dict(embeddings.settings), ensure_ascii=False):.2000}")
    return lines


@vectors.command(cls=Command)
@click.argument("path", type=INPUT)
@click.argument("output", type=OUTPUT)
@reading_options
@section("Output")
@option("--to", WRITTEN_VECTORS, "Format to write.", required=True)
@force_option
def convert(path: str, output: str, to: str, force: bool, **reading: Any) -> None:
    """Write the vectors at PATH in another format.

    `folder` is our own: it opens fast and keeps sub-words. For `word2int` OUTPUT is
    word2int_XX.pkl, and embeddings_XX.npz is written beside it. gensim reads `word2vec-binary` with
    KeyedVectors.load_word2vec_format.

    Example: nmtalign vectors convert cc.fr.300.bin french --to folder
    """
    from nmtalign.vectors.storage import expect_room_for_vectors, load_embeddings, save_embeddings

    expect_room_for_vectors(output, to, overwrite=force)
    with warnings_to_stderr():
        embeddings = load_embeddings(path, **reading)
        save_embeddings(embeddings, output, format=to, overwrite=force)
        if embeddings.subwords is not None and to != "folder":
            warn(f"{to} cannot hold the sub-words; they are left out")
    log(f"{len(embeddings):,} words, {embeddings.dimension} dimensions in {output}")


@vectors.command(cls=Command)
@click.argument("folder", type=INPUT)
@click.argument("dictionary", type=INPUT)
@section("Input")
@langs_option
@limit_option
@option("--unicode", UNICODE_FORMS, "Normalize the dictionary.", default="none")
@encoding_option
@section("Neighbors")
@score_option
def evaluate(
    folder: str, dictionary: str, langs: Languages | None, score: str, limit: int | None, unicode: str
) -> None:
    """Look up a dictionary among the nearest neighbors.

    A line of DICTIONARY is `word translation`. The command prints the precision at 1, 5 and 10, and how many
    of the words have vectors.

    Example: nmtalign vectors evaluate vectors en-fr.test.txt --langs en,fr
    """
    from nmtalign.door import place_of
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.mapping import read_dictionary
    from nmtalign.vectors.retrieval import evaluate_dictionary
    from nmtalign.vectors.storage import load_pair

    text = TextSettings(lowercase=False, unicode=unicode)
    with warnings_to_stderr():
        source, target = load_pair(place_of(folder), languages=langs, limit=limit)
        listed = read_dictionary(dictionary, encoding=text_encoding())
        pairs = [tuple(text.normalized(pair)) for pair in listed]
        click.echo(str(evaluate_dictionary(source, target, [(a, b) for a, b in pairs], score=score)))


@vectors.command(cls=Command)
@click.argument("folder", type=INPUT)
@click.argument("words", nargs=-1, required=True)
@section("Input")
@langs_option
@limit_option
@section("Neighbors")
@score_option
@option("--count", Whole(min=1), "Neighbors of a word.", default=10)
def neighbors(
    folder: str, words: tuple[str, ...], langs: Languages | None, score: str, count: int, limit: int | None
) -> None:
    """List the nearest words of the other language, with their scores.

    Example: nmtalign vectors neighbors en_fr_vectors house cat
    """
    from nmtalign.door import place_of
    from nmtalign.vectors.retrieval import neighbors as find
    from nmtalign.vectors.storage import load_pair

    with warnings_to_stderr():
        source, target = load_pair(place_of(folder), languages=langs, limit=limit)
        click.echo(f"word\tneighbor\t{score}")
        for word, found in find(source, target, words, count=count, score=score).items():
            for one in found:
                click.echo(f"{word}\t{one.word}\t{one.score:.4f}")
            if not found:
                warn(f"{word!r} has no vector")


vectors.add_command(learn)
vectors.add_command(map_)
vectors.add_command(attention)
