"""``nmtalign vectors``: show, convert, learn and map word vectors, and learn attention over them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import nmtalign as na
from nmtalign import blas
from nmtalign.cli import texts
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress, print_text, printable, warn
from nmtalign.cli.records import TokenizerOptions
from nmtalign.cli.texts import BitextOptions
from nmtalign.declarations import Settings, argument, setting
from nmtalign.errors import UsageError
from nmtalign.files.paths import resolve_path
from nmtalign.files.text_files import read_lines
from nmtalign.names import ReadVectorsFormat, WrittenVectorsFormat
from nmtalign.settings import AttentionSettings, VectorFileSettings

if TYPE_CHECKING:
    from nmtalign.scorers.lexicon import Lexicon
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.embeddings import VectorCoverage


def _limit_option() -> Any:
    """Declare ``--limit``."""
    return setting(None, "--limit N", "Read only the first N vectors of a file.", minimum=1)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(VectorFileSettings):
    """The format of a file of vectors that is read."""

    section = "Input"

    unsafe_pickle: bool = setting(
        False,
        "--unsafe-pickle",
        "Allow pickles to run code; use only with files that you trust.",
        only_on_command_line=True,
    )
    format: Literal["auto"] | ReadVectorsFormat = setting(
        "auto", "--from", "Format of the vectors that are read."
    )
    encoding: str = texts.encoding_option(of_vectors=True)
    strip_prefix: str | None = setting(None)

    def read(
        self, path: str | Path, format: Literal["auto"] | ReadVectorsFormat | None = None
    ) -> na.Embeddings:
        """Read a file or folder; `format` overrides that of the options."""
        return na.load_embeddings(
            path,
            format=format or self.format,
            limit=self.limit,
            encoding=self.encoding,
            unsafe_pickle=self.unsafe_pickle,
            strip_prefix=self.strip_prefix,
        )


@dataclass(frozen=True, kw_only=True)
class ConvertedFileOptions(ReadingOptions):
    """The words of a file of vectors that are read."""

    limit: int | None = _limit_option()
    strip_prefix: str | None = setting(
        None, "--strip-prefix P", "Keep only words that begin with P, such as /c/en/, and remove this prefix."
    )


@dataclass(frozen=True, kw_only=True)
class FolderOptions(Settings):
    """The folder for the vectors of both languages."""

    section = "Output"

    output: str = setting(
        MISSING, "-o --output DIR", "Folder to which both languages are written.", kind="output"
    )
    force: bool = setting(False, "--force", "Replace existing vectors.")

    def save(self, source: na.Embeddings, target: na.Embeddings, languages: tuple[str, str]) -> None:
        """Write the vectors of both languages."""
        from nmtalign.vectors.storage import save_pair

        save_pair(source, target, self.output, languages=languages, overwrite=self.force)


class _OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added: that of the work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("vectors", cls=_OrderedGroup)
def vectors_command() -> None:
    """Show, convert, learn and map word vectors; learn attention over them.

    Example: nmtalign vectors info en_fr_vectors
    """


@dataclass(frozen=True, kw_only=True)
class ShownOptions(Settings):
    """The vectors to show, and a text to compare them with."""

    section = "Input"

    path: str = argument(kind="input")
    text: str | None = setting(
        None,
        "--text FILE",
        "Also count how many words of this text have a vector.",
        kind="input",
    )
    neighbors: tuple[str, ...] = setting(
        None,
        "--neighbors WORD",
        "List the words of the other language that are nearest to WORD, by CSLS; may be repeated.",
    )


@command("info")
def vectors_info(shown: ShownOptions, reading: ReadingOptions, tokenization: TokenizerOptions) -> None:
    """Show the words, dimensions and norms of word vectors.

    PATH is a file or folder of word vectors, or a folder with those of two languages. The bundled vectors
    are called en_fr_vectors.

    Example: nmtalign vectors info en_fr_vectors --neighbors house
    """
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.vectors.storage import detect_format, languages_of, load_both_languages

    place = resolve_path(shown.path)
    if shown.neighbors:
        _print_neighbors(*load_both_languages(place, files=reading), shown.neighbors)
        return
    for side in (languages_of(place) or {"": place}).values():
        kind = reading.format
        if kind == "auto":
            kind = detect_format(side, encoding=reading.encoding)
        embeddings = reading.read(side, kind)
        print_text("\n".join([f"{side}: {kind}", *_info_lines(embeddings)]))
        if shown.text is not None:
            lines = read_lines(shown.text, encoding=reading.encoding)
            text_settings = TextSettings().updated(tokenization)
            print_text(f"  of {shown.text}: {_coverage(embeddings, lines, text_settings)}")


def _print_neighbors(source: na.Embeddings, target: na.Embeddings, words: Sequence[str]) -> None:
    """Print the nearest words of the other language, a row each; source words come first."""
    from nmtalign.files.text_files import tsv_cell
    from nmtalign.vectors.spaces import nearest_words

    print_text("word\tneighbor\tcsls")
    source_words = [word for word in words if word in source.vocabulary]
    target_words = [word for word in words if word not in source.vocabulary]
    neighbors = nearest_words(source, target, source_words) | nearest_words(target, source, target_words)
    for word in words:
        for neighbor, csls in neighbors[word]:
            print_text(f"{tsv_cell(word)}\t{tsv_cell(neighbor)}\t{csls:.4f}")
        if not neighbors[word]:
            warn(f"{word!r} has no vector")


def _coverage(embeddings: na.Embeddings, lines: Iterable[str], settings: TextSettings) -> VectorCoverage:
    """Count the words of a text that have a vector."""
    from nmtalign.vectors.embeddings import VectorCoverage

    covered = VectorCoverage()
    unfolded = settings.without_folding()
    for line in lines:
        covered += embeddings.coverage(embeddings.forms(unfolded.words(line), settings))
    return covered


def _info_lines(embeddings: na.Embeddings) -> Iterator[str]:
    import numpy as np

    norms = np.linalg.norm(np.asarray(embeddings.matrix, dtype=np.float32), axis=1)  # (V,)
    if embeddings.are_static:
        yield f"  all words, {embeddings.dimension} dimensions"
        yield f"  sub-words: {embeddings.subwords}"
        return
    yield f"  {len(embeddings):,} words, {embeddings.dimension} dimensions, {embeddings.matrix.dtype}"
    yield f"  first words: {printable(' '.join(embeddings.vocabulary.words[:10]))}"
    if len(norms):
        range_ = f"{norms.min():.3g} to {norms.max():.3g}, mean {norms.mean():.3g}"
        yield f"  norms of the vectors: {range_}; {int((norms == 0).sum()):,} are zero"
    if embeddings.subwords is not None:
        yield f"  sub-words: {embeddings.subwords}"
    if embeddings.settings:
        yield f"  made with: {json.dumps(dict(embeddings.settings), ensure_ascii=False):.2000}"


@dataclass(frozen=True, kw_only=True)
class ConvertedVectorsOptions(Settings):
    """The input and the output of a conversion."""

    section = "Output"

    path: str = argument(kind="input")
    output: str = argument(kind="output")
    to: WrittenVectorsFormat = setting(MISSING, "--to", "Format to write.")
    force: bool = setting(False, "--force", "Replace existing vectors.")


@command("convert")
def vectors_convert(reading: ConvertedFileOptions, converted: ConvertedVectorsOptions) -> None:
    """Convert the vectors at PATH to another format.

    `folder` is the format of nmtalign; it opens fast and keeps sub-words. With `word2int`, OUTPUT is
    word2int_XX.pkl, and embeddings_XX.npz is written next to it. gensim reads `word2vec-binary` with
    KeyedVectors.load_word2vec_format.

    Example: nmtalign vectors convert cc.fr.300.bin french --to folder
    """
    from nmtalign.vectors.storage import check_vectors_replaceable

    output, to = converted.output, converted.to
    check_vectors_replaceable(output, to, overwrite=converted.force)
    embeddings = reading.read(converted.path)
    na.save_embeddings(embeddings, output, format=to, overwrite=converted.force)
    if embeddings.subwords is not None and to != "folder":
        warn(f"the format {to} cannot contain sub-words; they are omitted")
    log(f"{len(embeddings):,} words, {embeddings.dimension} dimensions in {output}")


# --- two languages in one space ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LearnedTextOptions(Settings):
    """The tokenization of lines, and their languages."""

    words: TokenizerOptions
    langs: tuple[str, str] | None = texts.languages_option()


@dataclass(frozen=True, kw_only=True)
class CountingOptions(Settings):
    """The settings of vectors that are learned from counts."""

    section = "Learning"

    dimension: int = setting(128, "--dimension N", "Number of dimensions of the vectors.", minimum=1)
    model: str | None = setting(
        None, "--model DIR", "Use the counts of this learned model instead of a text.", kind="input"
    )
    subwords: bool = setting(
        False, "--subwords", "Concatenate the vector of each word and of its first letters."
    )

    def embeddings_of(self, lexicon: Lexicon) -> tuple[na.Embeddings, na.Embeddings]:
        """Return vectors that are learned from the counts of a lexicon."""
        return na.count_embeddings(
            lexicon,
            dimension=self.dimension,
            subwords=self.subwords,
        )


@command("learn")
def vectors_learn(
    bitext: BitextOptions,
    tokenization: LearnedTextOptions,
    folder: FolderOptions,
    counting: CountingOptions,
) -> None:
    """Learn word vectors of two languages in one space from a bitext.

    The vectors are a correspondence analysis of the expected link counts of an aligner. The aligner is
    learned from the bitext first, unless --model names a learned one. Use the vectors with
    `align --vectors DIR`.

    Example: nmtalign vectors learn text.en text.fr -o vectors
    """
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.text.tokenization import TextSettings
    from nmtalign.training.em import learn_lexicon
    from nmtalign.vectors.storage import check_both_replaceable, with_text_settings

    check_both_replaceable(folder.output, overwrite=folder.force)
    text_settings = TextSettings().updated(tokenization.words)
    languages = tokenization.langs or texts.languages_of_files(bitext.source, bitext.target)
    with open_progress("pairs") as progress:
        if counting.model is not None:
            _check_alone(bitext, tokenization.words)
            aligner = load_aligner(counting.model)
            learned = counting.embeddings_of(aligner.lexicon)
            text_settings = aligner.text_settings
            source_language, target_language = aligner.languages
            languages = tokenization.langs or (source_language or "source", target_language or "target")
        else:
            pairs = progress.done_one_by_one(bitext.read())
            words = (text_settings.words_of_pair(pair, languages) for pair in pairs)
            learned = counting.embeddings_of(learn_lexicon(words))
        first, second = (with_text_settings(side, text_settings) for side in learned)
        folder.save(first, second, languages)
    counts = f"{len(first):,} {languages[0]} and {len(second):,} {languages[1]} words"
    log(f"{counts} of {first.dimension} dimensions in {progress.seconds:.1f} s in {folder.output}")


def _check_alone(bitext: BitextOptions, words: TokenizerOptions) -> None:
    """Raise UsageError if a text or its options are combined with a model."""
    if bitext.files:
        raise UsageError("--model uses the counts of its own text; remove SOURCE and TARGET")
    if words.tokenizer is not None:
        raise UsageError("--tokenizer cannot be combined with --model, which determines the words; remove it")


@dataclass(frozen=True, kw_only=True)
class MappingOptions(Settings):
    """The vectors to map, and how the mapping is found."""

    section = "Mapping"

    source: str = argument(kind="input")
    target: str = argument(kind="input")
    langs: tuple[str, str] | None = texts.languages_option()
    dictionary: str | None = setting(
        None,
        "--dictionary FILE",
        "File of seed pairs, one `word translation` per line.  [identical strings]",
        kind="input",
    )


@dataclass(frozen=True, kw_only=True)
class MappedFileOptions(ReadingOptions):
    """Files of vectors that are read without special treatment, which `convert` has."""

    limit: int | None = _limit_option()
    unsafe_pickle: bool = setting(False)
    format: Literal["auto"] | ReadVectorsFormat = setting("auto")
    encoding: str = setting("utf-8")


@command("map")
def vectors_map(reading: MappedFileOptions, folder: FolderOptions, mapping: MappingOptions) -> None:
    """Map the word vectors of two languages into one space.

    The seed pairs come from a dictionary, or are the words that are spelled the same in both languages.

    Example: nmtalign vectors map cc.en.300.vec.gz cc.fr.300.vec.gz --limit 100000 -o vectors
    """
    from nmtalign.vectors.spaces import identical_strings, map_spaces, read_seed_dictionary
    from nmtalign.vectors.storage import check_both_replaceable

    check_both_replaceable(folder.output, overwrite=folder.force)
    first, second = reading.read(mapping.source), reading.read(mapping.target)
    seeds = iter(identical_strings(first.vocabulary, second.vocabulary))
    if mapping.dictionary is not None:
        seeds = read_seed_dictionary(mapping.dictionary, encoding=reading.encoding)
    learned = map_spaces(first, second, seeds)
    languages = mapping.langs or texts.languages_of_files(mapping.source, mapping.target)
    folder.save(learned.source, learned.target, languages)
    kept = first.subwords is None is second.subwords
    lost = "" if kept else "; sub-words cannot be mapped and are omitted"
    log(f"{learned}, in {folder.output}{lost}")


# --- attention over vectors ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AttentionFolderOptions(Settings):
    """The vectors over which attention is learned; their folder gets the parameters."""

    section = "Vectors"

    force: bool = setting(False, "--force", "Replace existing parameters.", section="Output")
    vectors: str = setting(
        MISSING,
        "--vectors DIR",
        "Folder of word vectors of two languages, to which the parameters are written.",
        kind="input",
    )
    langs: tuple[str, str] | None = texts.languages_option()


@dataclass(frozen=True, kw_only=True)
class LearnedAttentionOptions(AttentionSettings):
    """The attention that is learned, and the aligner that it imitates."""

    model: str | None = setting(
        None, "--model DIR", "Learned model to imitate.  [one learned from the text]", kind="input"
    )


@command("attention")
def vectors_attention(
    bitext: BitextOptions,
    tokenization: TokenizerOptions,
    folder: AttentionFolderOptions,
    learning: LearnedAttentionOptions,
) -> None:
    """Learn the parameters of an attention score over word vectors.

    The parameters are the weights of Bahdanau attention, or the projections of scaled dot-product attention.
    They are trained to reproduce the posteriors of an aligner on a bitext; the vectors do not change. They
    are written to bahdanau.npz or scaled-dot.npz in the folder --vectors, where
    `align --vectors DIR --score bahdanau` finds them.

    Example: nmtalign vectors attention text.en text.fr --vectors vectors --score bahdanau
    """
    blas.start_with_one_thread()
    from nmtalign.files.atomic_output import check_overwrite
    from nmtalign.scorers.vector_scores import PARAMETER_FILES

    path = resolve_path(folder.vectors) / PARAMETER_FILES[learning.score]
    check_overwrite(path, overwrite=folder.force)
    with open_progress("pairs", bitext.files) as progress:
        learned = na.learn_attention(
            list(progress.count(bitext.read())),
            folder.vectors,
            score=learning.score,
            model=learning.model,
            units=learning.units,
            progress=progress,
            languages=folder.langs,
            tokenizer=tokenization.tokenizer,
        )
        learned.save(path, overwrite=folder.force)
    log(f"{learned} in {progress.seconds:.1f} s in {path}")


for _command in (
    vectors_info,
    vectors_convert,
    vectors_learn,
    vectors_map,
    vectors_attention,
):
    vectors_command.add_command(_command)
