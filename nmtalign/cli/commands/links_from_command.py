"""``nmtalign links-from``: links from the attention or the similarities of another program or model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import tee
from pathlib import Path

from nmtalign import blas
from nmtalign.cli import model_options, texts
from nmtalign.cli.bad_records import ListedErrorOptions, without_split_words
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log_settings, open_progress
from nmtalign.cli.outputs import LinkOutputOptions, explain_lost_work, log_alignment, write_chunks
from nmtalign.cli.texts import BitextOptions
from nmtalign.declarations import Settings, setting
from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.settings import EncoderSettings, SourceSettings
from nmtalign.text.bitext import SentencePair


@dataclass(frozen=True, kw_only=True)
class SourceTextOptions(Settings):
    """The words of the attention or the similarities."""

    section = "Input"

    tokenizer: str | None = setting(
        None, "--tokenizer", "Tokenizer that splits lines into tokens.  [space]", kind="tokenizer"
    )


@dataclass(frozen=True, kw_only=True)
class LinksFromOutputOptions(LinkOutputOptions):
    """The files of links, and the archive with the attention of all pairs."""

    attention: str | None = setting(
        None,
        "--attention FILE.npz",
        "Write words, links and weights of all pairs, which `heatmap` and `report` show.",
        kind="output",
    )

    def checked_paths(self) -> dict[str, str]:
        """Return the files by what they contain; raise UsageError if an ending is wrong."""
        paths = super().checked_paths()
        if self.attention is None:
            return paths
        if not self.attention.endswith(".npz"):
            raise UsageError(f"--attention: expected a file name ending in .npz, found {self.attention}")
        return paths | {"given": self.attention}


@command("links-from")
def links_from_command(
    bitext: BitextOptions,
    errors: ListedErrorOptions,
    text_options: SourceTextOptions,
    outputs: LinksFromOutputOptions,
    source: SourceSettings,
) -> None:
    """Create links from the attention (--matrices, --translator) or the word similarities (--encoder,
    --token-vectors, --similarities) of another program or model.

    Links are extracted from attention by --extract, and from similarities by a published method (--method).
    SOURCE and TARGET must contain the same words, or sub-words (--pieces), as the matrices. With --cache, a
    command that was stopped continues when you repeat it.

    Example: nmtalign links-from text.en text.fr --encoder bert-base-multilingual-cased -o links.txt
    """
    blas.start_with_one_thread()
    from nmtalign.external.links_from import check_source_unit
    from nmtalign.run.stream import links_of_source

    paths = outputs.checked_paths()
    unit = outputs.unit(source.pieces)
    check_source_unit(unit)
    text_settings = model_options.text_of_source(text_options.tokenizer)
    with AtomicFiles() as stack:
        bad = errors.open(stack)
        progress = stack.enter_context(open_progress("pairs", bitext.files))
        opened: Iterator[SentencePair] = bad.track(bitext.read(bad.add))
        opened = texts.without_space_marks(opened, unit, bitext, bad)
        if outputs.have_plain_words:
            words_of = partial(unit.tokens_for_translation, text_settings=text_settings)
            opened = without_split_words(opened, words_of, bitext, bad)
        pairs, again = tee(progress.track(opened))
        linker, words = model_options.open_source(source, again, text_settings, encoding=bitext.encoding)
        chunks = links_of_source(
            linker,
            pairs,
            words,
            text_settings,
            unit=unit,
            with_attention=outputs.attention is not None,
        )
        stack.enter_context(closing(chunks))
        sinks = outputs.sinks(paths, stack, unit)
        with _kept_in_cache(source.encoder):
            written = write_chunks(chunks, progress, sinks, bitext, bad)
    log_alignment(bitext, outputs.output, progress, written, unit)
    errors.say(bad)
    log_settings(linker.description)


@contextmanager
def _kept_in_cache(encoder: EncoderSettings) -> Iterator[None]:
    """When an encoder is stopped, say whether its work is kept, or which option would have kept it."""
    from nmtalign.run.shards import stopped_as_resumable

    try:
        yield
    except KeyboardInterrupt:
        if encoder.encoder is None:
            raise
        if encoder.cache is None:
            with explain_lost_work("--cache FILE keeps the similarities of the encoder"):
                raise
        if not Path(encoder.cache).exists():  # nothing was computed yet
            raise
        with stopped_as_resumable(Path(encoder.cache), again="the same command"):
            raise
