"""The options that choose the source of links: a learned model, word vectors, or another program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import nmtalign as na
from nmtalign.cli.messages import log, warn
from nmtalign.cli.texts import languages_in_paths
from nmtalign.declarations import Settings, setting
from nmtalign.errors import DataError, UsageError
from nmtalign.files.paths import resolve_path
from nmtalign.names import BUNDLED_MODEL, MULTILINGUAL_MODEL
from nmtalign.settings import (
    EncoderSettings,
    GivenVectorsSettings,
    LinkSettings,
    SourceSettings,
    WordSettings,
)
from nmtalign.text.bitext import Pair, SentencePair
from nmtalign.text.languages import known_language, language_name
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.validation import quote_parameter

if TYPE_CHECKING:
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.errors import BadRecords
    from nmtalign.external.links_from import Linker
    from nmtalign.external.matrix_files import TokenizedPair
    from nmtalign.external.word_encoders import WordEncoder

JUDGED_PAIRS = 200  # the first pairs of a text, which decide whether the bundled model knows it


@dataclass(frozen=True, kw_only=True)
class VectorPathOptions(Settings):
    """Files of word vectors of two languages."""

    vectors: str | None = setting(
        None,
        "--vectors DIR",
        "Folder of word vectors of two languages, such as word2int_XX.pkl and embeddings_XX.npz, or of a"
        " static model.",
        kind="input",
    )
    source_vectors: str | None = setting(
        None,
        "--source-vectors FILE",
        "File of source word vectors: gensim, word2vec, fastText, GloVe, npz or a zip of one file.",
        kind="input",
    )
    target_vectors: str | None = setting(
        None, "--target-vectors FILE", "File of target word vectors in the same space.", kind="input"
    )

    @property
    def path(self) -> str | tuple[str, str] | None:
        """The folder, or the files of both sides; UsageError if both or only one side is given."""
        if (self.source_vectors is None) != (self.target_vectors is None):
            raise UsageError(
                "--source-vectors and --target-vectors must be used together; add the missing one"
            )
        if self.source_vectors is None or self.target_vectors is None:
            return self.vectors
        if self.vectors is not None:
            raise UsageError("--vectors and --source-vectors cannot be combined; remove one")
        return self.source_vectors, self.target_vectors


@dataclass(frozen=True, kw_only=True)
class AlignerVectorOptions(GivenVectorsSettings, VectorPathOptions):
    """Word vectors that align a text in place of a learned model."""

    @property
    def path(self) -> str | tuple[str, str] | None:
        if self.languages is not None and self.vectors is None:
            raise UsageError("--langs names the languages of --vectors; add --vectors DIR")
        return super().path


def with_expert(
    bitext: Iterable[Pair],
    expert: str,
    *,
    encoding: str,
    unit: LinkUnit,
    text_settings: TextSettings,
    languages: Languages,
    bad: BadRecords,
) -> Iterator[Any]:
    """Return the pairs of a bitext with the links of --expert, whose positions count what `unit` says.

    `text_settings` splits lines into tokens. If bad records are marked, a bad line of links is taken as an
    empty one.
    """
    from nmtalign.aligner.experts import paired_with
    from nmtalign.links.formats import check_unit, read_links, with_numbered_errors

    check_unit(expert, unit.expert_unit, encoding=encoding)
    on_error = bad.add_to if bad.are_marked else None
    links = with_numbered_errors(partial(read_links, expert, encoding=encoding), on_error)
    words_of = partial(unit.expert_words, text_settings=text_settings, languages=languages)
    name = unit.expert_unit
    return paired_with(bitext, links, on_error=on_error, file=expert, words_of=words_of, name=name)


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Settings):
    """The aligner; the model decides about options that were not given."""

    section = "Model"

    model: str | None = setting(
        None,
        "--model DIR",
        "Folder of a learned model, or `multilingual`, which aligns sixteen languages (extra [multilingual])."
        "  [the bundled English-French one; for other text multilingual, if its extra is installed]",
        kind="input",
    )
    scorers: str | None = setting(
        None,
        "--scorers LIST",
        "Use only these scorers of the model, such as lexicon,vectors: `lexicon` counts linked words,"
        " `spectral` compares vectors learned from these counts, `vectors` pretrained ones.  [all]",
    )
    vectors: AlignerVectorOptions
    encoder: EncoderSettings
    links: LinkSettings
    text: WordSettings

    @property
    def path(self) -> str | tuple[str, str] | None:
        """The folder of the model or of the vectors, or the files of both sides."""
        path = self.vectors.path
        if self.model is None:
            return path
        if path is not None:
            given = "--vectors" if isinstance(path, str) else "--source-vectors"
            raise UsageError(f"--model and {given} cannot be combined; remove one")
        return self.model

    def files_of(self, aligner: na.Aligner) -> list[Path]:
        """Return the files and folders of an aligner that :meth:`load_for` has opened."""
        path = self.path
        if path is None:
            path = BUNDLED_MODEL if _encoder_of(aligner) is None else MULTILINGUAL_MODEL
        names = [path] if isinstance(path, str) else list(path)
        return [resolve_path(name) for name in names]

    def refuse_beside_attention(self) -> None:
        """Raise UsageError if an option of an aligner is given beside --attention, which has links."""
        settings: dict[str, object] = {"model": self.model, "scorers": self.scorers}
        for group in (self.vectors, self.encoder, self.links, self.text):
            settings |= {field.name: getattr(group, field.name) for field in fields(group)}
        settings["unsafe_pickle"] = self.vectors.unsafe_pickle or None  # a switch that is off is not given
        given = [quote_parameter(name) for name, value in settings.items() if value is not None]
        if given:
            names = ", ".join(given)
            raise UsageError(
                f"{names} cannot be combined with --attention, whose links are made; remove {names}"
            )

    def load(self) -> na.Aligner:
        """Open what the options name; without any, the bundled English-French model.

        Over vectors, the positions are by default those of a hidden Markov model, which has to be fitted to
        the text, and unknown words get vectors by back-off. One sentence says so. Other positions are plain
        attention, and keep the policy for unknown words that the vectors have.
        """
        vectors = self.vectors
        positions = vectors.positions or "hmm"
        if self.path is None or self.model is not None or positions != "hmm":
            return self._open()
        aligner = replace(self, vectors=replace(vectors, positions=positions))._open()
        if vectors.unknown is None:
            aligner = replace(aligner, scorer=aligner.scorer.with_back_off())
        _log_defaults(vectors)
        return aligner

    @property
    def judged_pairs(self) -> int:
        """How many of the first pairs of a text :meth:`load_for` needs."""
        return JUDGED_PAIRS if self.path in (None, MULTILINGUAL_MODEL) else 0

    def load_for(
        self, first_lines: Sequence[SentencePair], files: tuple[str | None, str | None]
    ) -> na.Aligner:
        """Open what the options name, or else a bundled model that knows the first lines of a text.

        The names of `files` may tell the languages of the text.
        """
        aligner = self.load()
        languages = _languages_of(files)
        if self.path is None:
            coverage = aligner.measure_coverage(first_lines)
            has_other_languages = bool(set(languages) - set(aligner.languages))
            if has_other_languages or coverage.low_rates or coverage.swapped:
                aligner = self._open_multilingual(is_swapped=coverage.swapped) or aligner
        if self.text.tokenizer is None and _encoder_of(aligner) is not None:
            _warn_of_split_words(first_lines)
        problem = _languages_unknown_to(aligner, languages)
        if problem and self.path is None:
            learn = "nmtalign train SOURCE TARGET -o DIR learns them"
            raise DataError(f"{problem}; {learn}; --model {MULTILINGUAL_MODEL} uses it all the same")
        if problem:
            warn(problem)
        return aligner

    def _open_multilingual(self, *, is_swapped: bool) -> na.Aligner | None:
        """Open the multilingual model, and say so; None if its extra is not installed.

        `is_swapped` says that the text is French-English.
        """
        from nmtalign.external.word_encoders import has_universal_encoder

        if not has_universal_encoder():
            return None
        if is_swapped:
            found = "French-English"
            better = "the bundled English-French one gives better links if you exchange SOURCE and TARGET"
        else:
            found = "not English-French"
            better = (
                "with a few hundred pairs or more, `nmtalign train --word-encoder use` gives better links"
            )
        log(f"the text is {found}, so the multilingual model is used; {better}", event="multilingual model")
        return replace(self, model=MULTILINGUAL_MODEL)._open()

    def _open(self) -> na.Aligner:
        from nmtalign.aligner.opening import open_aligner

        path = self.path
        if isinstance(path, str):
            check_folder("vectors" if self.model is None else "model", path)
        scorers = None
        if self.scorers is not None:
            scorers = tuple(name.strip() for name in self.scorers.split(","))
        return open_aligner(
            path,
            words=self.text,
            links=self.links,
            vectors=self.vectors,
            encoder=self.encoder,
            scorers=scorers,
        )


def _languages_of(files: tuple[str | None, str | None]) -> list[str]:
    """Return the codes of those languages that the names of files tell, without regions."""
    tags = (known_language(name) for name in languages_in_paths(*files))
    return [tag.partition("-")[0] for tag in tags if tag]


def _encoder_of(aligner: na.Aligner) -> WordEncoder | None:
    """Return the word encoder of an aligner, if it has one."""
    if aligner.scorer.lexicon is not None:
        return None
    from nmtalign.external.word_encoders import encoder_of

    return encoder_of(aligner.scorer)


def log_known_languages(name: str, aligner: na.Aligner) -> None:
    """Log which languages the word encoder of an aligner knows, where nothing tells those of the text."""
    encoder = _encoder_of(aligner)
    if encoder is not None and encoder.languages is not None:
        names = ", ".join(sorted(map(language_name, encoder.languages)))
        log(f"{name} knows {names}; links of other languages are guesses", event="languages")


def _warn_of_split_words(first_lines: Sequence[SentencePair]) -> None:
    """Warn if the tokenizer of the multilingual model cuts words of a text into characters."""
    from nmtalign.corpus.coverage import split_side

    if side := split_side(first_lines):
        warn(
            f"the {side} is split into words by spaces, which the model would split into characters;"
            " `tokenizer=space` keeps them, and gives better links"
        )


def _languages_unknown_to(aligner: na.Aligner, languages: Sequence[str]) -> str:
    """Return what is wrong if the word encoder of an aligner does not know languages."""
    encoder = _encoder_of(aligner)
    unknown = "" if encoder is None else " and ".join(encoder.unknown_languages(languages))
    return f"the multilingual model does not know {unknown}, so its links are guesses" if unknown else ""


def load_given(
    *,
    model: str | None = None,
    vectors: str | None = None,
    first_lines: Sequence[SentencePair] = (),
    files: tuple[str | None, str | None] = (None, None),
) -> na.Aligner:
    """Open a model or vectors with the defaults of all commands; see :meth:`ModelOptions.load_for`."""
    options = ModelOptions(
        model=model,
        scorers=None,
        vectors=AlignerVectorOptions(vectors=vectors, source_vectors=None, target_vectors=None),
        encoder=EncoderSettings(),
        links=LinkSettings(),
        text=WordSettings(),
    )
    return options.load_for(first_lines, files)


def _log_defaults(vectors: AlignerVectorOptions) -> None:
    """Say which settings of vectors were chosen for a text, and how to get plain attention."""
    chosen = []
    if vectors.positions is None:
        chosen.append("the positions of a hidden Markov model")
    if vectors.unknown is None:
        chosen.append("back-off for words without a vector")
    if chosen:
        text = f"the vectors are used with {' and '.join(chosen)}; for plain attention, use --positions none"
        text += " (with a few hundred pairs or more, `nmtalign train --vectors` gives better links)"
        log(text, event="defaults of vectors")


def check_folder(kind: Literal["model", "vectors"], path: str) -> None:
    """Raise DataError if a folder contains vectors where a model is expected, or vice versa."""
    from nmtalign.state import is_model

    folder = resolve_path(path)
    if folder.exists() and is_model(folder) != (kind == "model"):
        if kind == "model":
            why = "expected a folder written by `nmtalign train`, found no model; for vectors use --vectors"
        else:
            why = "this is a learned model; use --model"
        raise DataError(why).at(path)


# --- attention or similarities of another program ------------------------------------------------


def text_of_source(tokenizer: str | None) -> TextSettings:
    """Return the settings that split a bitext into the tokens of the attention or the similarities."""
    return TextSettings(tokenizer or "space", lowercase=False, unicode="none")


def open_source(
    source: SourceSettings, bitext: Iterator[SentencePair], text_settings: TextSettings, *, encoding: str
) -> tuple[Linker, Iterator[TokenizedPair]]:
    """Return a Linker, and the words of each pair, which `text_settings` splits."""
    from nmtalign.external.links_from import open_linker

    if source.matrices is not None:
        source = replace(source, encoding=encoding)
    words = (text_settings.words_of_pair(pair, (None, None)) for pair in bitext)
    linker, chosen = open_linker(words, source)
    if linker.chosen_by_text:
        _show_chosen_head(linker)
    return linker, chosen


def _show_chosen_head(linker: Linker) -> None:
    """Show the options that choose the same attention head as the text has chosen."""
    reduction = linker.reduction
    if reduction is None or reduction.layers is None:
        return
    head = "" if reduction.heads is None else f" --attention-heads {reduction.heads[0]}"
    options = f"--layers {reduction.layers[0]}{head} --shift {reduction.shift}"
    log(f"options that fit the text best: {options}", event="head chosen")
