"""``nmtalign vectors``: show, convert, learn, map and evaluate word vectors, and attention over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import nmtalign as na
from nmtalign.cli import model, texts
from nmtalign.cli.declare import INPUT, OUTPUT, OptionGroup, Values, Whole, argument, command, option
from nmtalign.cli.messages import Progress, log, printable, warn
from nmtalign.cli.running import one_blas_thread
from nmtalign.cli.texts import BitextOptions, TextOptions
from nmtalign.door import place_of
from nmtalign.errors import UsageError
from nmtalign.files import read_lines
from nmtalign.names import LEARNED_SCORES, READ_VECTORS, RETRIEVAL_SCORES, UNICODE_FORMS, WRITTEN_VECTORS

_BYTES = ("strict", "ignore", "replace", "backslashreplace")
_SCORE = "csls: twice the cosine, less the mean cosines of both words to their nearest."

_force_option = option("--force", bool, "Replace the vectors that are there.")
_limit_option = option("--limit", Whole(min=1), "Read only the first N vectors.")
_reading_options = (
    "Input",
    option("--from format", ("auto", *READ_VECTORS), "Format of the vectors.", default="auto"),
    _limit_option,
    texts.vector_encoding_option,
    option("--errors", _BYTES, "What to do with bytes of another encoding."),
    model.unsafe_pickle_option,
)
_folder_options = OptionGroup(
    "folder",
    "Output",
    option("-o --output DIR", OUTPUT, "Folder for both languages.", required=True),
    _force_option,
    option("--to", WRITTEN_VECTORS, "Format to write.", default="folder"),
)


@click.group()
def vectors() -> None:
    """Show, convert, learn, map and evaluate word vectors, and learn attention over them.

    Example: nmtalign vectors info en_fr_vectors
    """


@command(
    argument("path", INPUT),
    _reading_options,
    "Input",
    option("--text", INPUT, "Also count which words of this text have a vector."),
    texts.text_options,
)
def info(path: str, text: str | None, tokenization: TextOptions, **reading: Any) -> None:
    """Show what word vectors hold: words, dimensions, lengths.

    PATH is a file or folder of word vectors, or a folder with those of two languages. Shipped vectors have
    a name of their own: en_fr_vectors.

    Example: nmtalign vectors info cc.fr.300.vec.gz --limit 200000 --text corpus.fr
    """
    from nmtalign.vectors.embeddings import VectorCoverage
    from nmtalign.vectors.storage import detect_format, languages_of

    sides = languages_of(place_of(path)) or {"": place_of(path)}
    for side in sides.values():
        kind = reading["format"]
        if kind == "auto":
            kind = detect_format(side, encoding=texts.encoding())
        embeddings = na.load_embeddings(side, encoding=texts.encoding(), **reading | {"format": kind})
        click.echo("\n".join([f"{side}: {kind}", *_described(embeddings)]))
        if text is not None:
            lines = map(tokenization.settings().words, read_lines(text, encoding=texts.encoding()))
            click.echo(f"  of {text}: {sum(map(embeddings.coverage, lines), VectorCoverage())}")


def _described(embeddings: na.Embeddings) -> Iterator[str]:
    """Yield the lines that `info` prints."""
    import numpy as np

    lengths = np.linalg.norm(np.asarray(embeddings.matrix, dtype=np.float32), axis=1)  # (V,)
    yield f"  {len(embeddings):,} words, {embeddings.dimension} dimensions, {embeddings.matrix.dtype}"
    yield f"  first words: {printable(' '.join(embeddings.vocabulary.words[:10]))}"
    if len(lengths):
        range_ = f"{lengths.min():.3g} to {lengths.max():.3g}, mean {lengths.mean():.3g}"
        yield f"  lengths of the vectors: {range_}; {int((lengths == 0).sum()):,} are zero"
    if embeddings.subwords is not None:
        yield f"  sub-words: {embeddings.subwords}"
    if embeddings.settings:
        yield f"  made with: {json.dumps(dict(embeddings.settings), ensure_ascii=False):.2000}"


@command(
    argument("path", INPUT),
    argument("output", OUTPUT),
    _reading_options,
    "Output",
    option("--to", WRITTEN_VECTORS, "Format to write.", required=True),
    _force_option,
)
def convert(path: str, output: str, to: str, force: bool, **reading: Any) -> None:
    """Write the vectors at PATH in another format.

    `folder` is our own: it opens fast and keeps sub-words. For `word2int` OUTPUT is
    word2int_XX.pkl, and embeddings_XX.npz is written beside it. gensim reads `word2vec-binary` with
    KeyedVectors.load_word2vec_format.

    Example: nmtalign vectors convert cc.fr.300.bin french --to folder
    """
    from nmtalign.vectors.storage import expect_room_for_vectors

    expect_room_for_vectors(output, to, overwrite=force)
    embeddings = na.load_embeddings(path, encoding=texts.encoding(), **reading)
    na.save_embeddings(embeddings, output, format=to, overwrite=force)
    if embeddings.subwords is not None and to != "folder":
        warn(f"{to} cannot hold the sub-words; they are left out")
    log(f"{len(embeddings):,} words, {embeddings.dimension} dimensions in {output}")


# --- two languages in one space -----------------------------------------------------------------


@command(
    texts.bitext_options,
    texts.text_options,
    texts.langs_option,
    _folder_options,
    "Learning",
    option("--dimension", Whole(min=1), "Columns of the vectors.", default=128),
    option("--min-count minimum", Whole(min=1), "Least frequency of a word.", default=1),
    option("--model DIR", INPUT, "Take the counts of this model instead of a text."),
    option("--subwords", bool, "Vectors of words and of their first letters, side by side."),
    option("--seed", Whole(min=0), "Seed of the decomposition.", default=1),
)
def learn(
    bitext: BitextOptions, tokenization: TextOptions, folder: Values, model: str | None, **options: Any
) -> None:
    """Learn word vectors of two languages in one space from a bitext.

    The vectors are a correspondence analysis of the links that an aligner expects in the bitext. The aligner
    is learned first; --model takes a learned one instead. `align --vectors DIR` uses the vectors.

    Example: nmtalign vectors learn text.en text.fr -o vectors
    """
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.training.count_vectors import learn_counted
    from nmtalign.vectors.storage import expect_room_for_pair, save_pair, with_text_settings

    expect_room_for_pair(folder.output, overwrite=folder.force)
    text, langs = tokenization.settings(), options.pop("langs")
    languages = langs or texts.languages_of_files(bitext.source, bitext.target)
    with Progress("pairs") as progress:
        if model is not None:
            _check_alone(bitext)
            aligner = load_aligner(model)
            learned, text = na.count_embeddings(aligner.lexicon, **options), aligner.text
            languages = langs or (aligner.languages[0] or "source", aligner.languages[1] or "target")
        else:
            pairs = progress.done_one_by_one(bitext.open())
            words = (text.words_of_pair(pair, languages) for pair in pairs)
            learned = learn_counted(words, **options)
        first, second = (with_text_settings(side, text) for side in learned)
        saving = {"languages": languages, "format": folder.to, "overwrite": folder.force}
        save_pair(first, second, folder.output, **saving)
    counts = f"{len(first):,} {languages[0]} and {len(second):,} {languages[1]} words"
    log(f"{counts} of {first.dimension} dimensions in {progress.seconds:.1f} s in {folder.output}")


def _check_alone(bitext: BitextOptions) -> None:
    """Refuse a text and its options beside a model."""
    if bitext.files:
        raise UsageError("--model has counted its own text; leave SOURCE and TARGET out")
    context, names = click.get_current_context(), ("tokenizer", "lowercase", "unicode")
    commandline = ParameterSource.COMMANDLINE
    given = [f"--{name}" for name in names if context.get_parameter_source(name) is commandline]
    if given:
        raise UsageError(f"{', '.join(given)}: the words are those of --model; leave it out")


@command(
    argument("source", INPUT),
    argument("target", INPUT),
    _reading_options,
    _folder_options,
    OptionGroup(
        "mapping",
        "Input",
        texts.langs_option,
        "Mapping",
        option("--dictionary", INPUT, "Seed pairs, `word translation` a line.  [identical strings]"),
        option("--refine/--no-refine", bool, "Look for more pairs by mutual neighbors.", default=True),
        option("--words", Whole(min=1), "Frequent words that --refine uses.", default=5_000),
    ),
    name="map",
)
def map_(source: str, target: str, folder: Values, mapping: Values, **reading: Any) -> None:
    """Map the word vectors of two languages into one space.

    The seeds are the pairs of a dictionary, or the words that both languages write alike.

    Example: nmtalign vectors map cc.en.300.vec.gz cc.fr.300.vec.gz --limit 100000 -o vectors
    """
    from nmtalign.vectors.spaces import identical_strings, map_spaces, read_dictionary
    from nmtalign.vectors.storage import expect_room_for_pair, save_pair

    expect_room_for_pair(folder.output, overwrite=folder.force)
    reading["encoding"] = texts.encoding()
    first, second = (na.load_embeddings(path, **reading) for path in (source, target))
    seeds = iter(identical_strings(first.vocabulary, second.vocabulary))
    if mapping.dictionary is not None:
        seeds = read_dictionary(mapping.dictionary, encoding=texts.encoding())
    learned = map_spaces(first, second, seeds, refine=mapping.refine, words=mapping.words)
    languages = mapping.langs or texts.languages_of_files(source, target)
    saving = {"languages": languages, "format": folder.to, "overwrite": folder.force}
    save_pair(learned.source, learned.target, folder.output, **saving)
    kept = first.subwords is None is second.subwords
    lost = "" if kept else "; sub-words cannot be mapped, and are left out"
    log(f"{learned}, in {folder.output}{lost}")


_pair_options = OptionGroup(
    "pair",
    argument("folder", INPUT),
    "Input",
    texts.langs_option,
    _limit_option,
    "Neighbors",
    option("--score", RETRIEVAL_SCORES, _SCORE, default="csls"),
)


@command(
    _pair_options,
    argument("dictionary", INPUT),
    "Input",
    option("--unicode", UNICODE_FORMS, "Normalize the dictionary.", default="none"),
    texts.encoding_option,
)
def evaluate(pair: Values, dictionary: str, unicode: str) -> None:
    """Look up a dictionary among the nearest neighbors.

    A line of DICTIONARY is `word translation`. The command prints the precision at 1, 5 and 10, and how many
    of the words have vectors.

    Example: nmtalign vectors evaluate vectors en-fr.test.txt --langs en,fr
    """
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.spaces import evaluate_dictionary, read_dictionary
    from nmtalign.vectors.storage import load_pair

    text = TextSettings(lowercase=False, unicode=unicode)
    source, target = load_pair(place_of(pair.folder), languages=pair.langs, limit=pair.limit)
    pairs = map(text.normalized, read_dictionary(dictionary, encoding=texts.encoding()))
    click.echo(str(evaluate_dictionary(source, target, [(a, b) for a, b in pairs], score=pair.score)))


@command(
    _pair_options,
    argument("words", nargs=-1, required=True),
    "Neighbors",
    option("--count", Whole(min=1), "Neighbors of a word.", default=10),
)
def neighbors(pair: Values, words: tuple[str, ...], count: int) -> None:
    """List the nearest words of the other language, with their scores.

    Example: nmtalign vectors neighbors en_fr_vectors house cat
    """
    from nmtalign.vectors.spaces import neighbors as find
    from nmtalign.vectors.storage import load_pair

    source, target = load_pair(place_of(pair.folder), languages=pair.langs, limit=pair.limit)
    click.echo(f"word\tneighbor\t{pair.score}")
    for word, nearest in find(source, target, words, count=count, score=pair.score).items():
        for near, value in nearest:
            click.echo(f"{word}\t{near}\t{value:.4f}")
        if not nearest:
            warn(f"{word!r} has no vector")


# --- attention over vectors ---------------------------------------------------------------------


@command(
    texts.bitext_options,
    texts.text_options,
    "Output",
    option("-o --output NPZ", OUTPUT, "File of the parameters.  [in the folder --vectors]"),
    option("--force", bool, "Replace the parameters that are there."),
    model.path_options,
    "Learning",
    option("--score", LEARNED_SCORES, "Attention score whose parameters are learned.", required=True),
    option("--model DIR", INPUT, "Aligner to learn from.  [one learned from the text]"),
    option("--units", Whole(min=1), "Size of the attention layer.", default=128),
    option("--workers", Whole(min=1), "Processes; the result is the same.  [cores]"),
)
def attention(
    bitext: BitextOptions,
    tokenization: TextOptions,
    vectors: model.PathOptions,
    output: str | None,
    **options: Any,
) -> None:
    """Learn the parameters of an attention score over word vectors.

    The parameters are Bahdanau's weights, or the projections of scaled dot-product. They are trained to
    reproduce the posteriors of an aligner on a bitext; the vectors do not change. The folder of
    --vectors then holds bahdanau.npz or scaled-dot.npz, which `align --vectors DIR --score bahdanau` uses.
    `align --parameters NPZ` takes a file of any name, also for two files of vectors.

    Example: nmtalign vectors attention text.en text.fr --vectors vectors --score bahdanau
    """
    one_blas_thread()
    from nmtalign.output import expect_new_file
    from nmtalign.scorers.vector_scores import FILES

    given = vectors.path
    if given is None:
        raise UsageError("expected --vectors DIR, or --source-vectors FILE and --target-vectors FILE")
    if output is not None:
        path = Path(output)
    elif isinstance(given, tuple):
        raise UsageError("two files of vectors have no folder for the parameters; name a file, -o NPZ")
    else:
        path = place_of(given) / FILES[options["score"]]
    force = options.pop("force")
    expect_new_file(path, overwrite=force)
    options |= vectors.reading_options | ({} if vectors.langs is None else {"languages": vectors.langs})
    with Progress("pairs", bitext.files) as progress:
        pairs = list(progress.count(bitext.open()))
        learned = na.learn_attention(pairs, given, report=progress.stage, **vars(tokenization), **options)
        learned.save(path, overwrite=force)
    log(f"{learned} in {progress.seconds:.1f} s in {path}")


for _command in (info, convert, evaluate, neighbors, learn, map_, attention):
    vectors.add_command(_command)
