"""``nmtalign links-from``: links from attention or similarities of another program or model."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from itertools import tee
from pathlib import Path

import click

from nmtalign.cli.commands.align import explained, output_options, paths_of, say_done, write_chunks
from nmtalign.cli.messages import (
    Progress,
    detail,
    log_option,
    quiet_option,
    verbose_option,
    warnings_to_stderr,
)
from nmtalign.cli.options.bitext import (
    LANGUAGES,
    BitextOptions,
    Tokenizer,
    bitext_options,
    languages_of_files,
)
from nmtalign.cli.options.declare import Command, Values, option, option_group, section
from nmtalign.cli.options.model import encoder_options, extraction_options
from nmtalign.cli.options.running import one_blas_thread, open_sink
from nmtalign.cli.options.sources import SECTION, SourceOptions, source_options

link_options = option_group(
    "options",
    Values,
    section("Input"),
    option("--tokenizer", Tokenizer(), "How lines become words.  [space]"),
    section("Links"),
    *extraction_options,
    section(SECTION),
    option("--langs", LANGUAGES, "Languages, as a translation model calls them.", metavar="XX,YY"),
    *encoder_options,
)


@click.command("links-from", cls=Command)
@bitext_options
@output_options
@link_options
@source_options
@section("Running")
@quiet_option
@verbose_option
@log_option
def links_from(bitext: BitextOptions, weights: SourceOptions, options: Values, **outputs: str | None) -> None:
    """Choose links from attention (--matrices, --translator) or from similarities of words (--encoder,
    --token-vectors, --similarities), which another program or model has found.

    Attention becomes links by an extraction, similarities by a published method. The text has the words, or
    the sub-words (--pieces), of the attention. With --cache, repeat a stopped command, and it goes on.

    Example: nmtalign links-from text.en text.fr --encoder bert-base-multilingual-cased -o links.txt
    """
    one_blas_thread()
    from nmtalign.batch.links_from import links_of_source
    from nmtalign.output import Outputs
    from nmtalign.text.bitext import LengthLimit

    paths = paths_of(**outputs)
    with warnings_to_stderr(), Outputs() as stack:
        progress = stack.enter_context(Progress("pairs", bitext.files))
        pairs, again = tee(progress.reading(bitext.open()))
        linker, text, words = weights.open(options, again)
        unit = "words" if outputs["tokens"] is None else "tokens"
        chunks = links_of_source(linker, pairs, words, text, marks=weights.pieces, unit=unit)
        stack.enter_context(closing(chunks))
        languages = languages_of_files(bitext.source, bitext.target)
        done = partial(say_done, languages, paths["links"], LengthLimit(None), None)
        sinks = [open_sink(name, path, stack) for name, path in paths.items()]
        with _resumable(options):
            write_chunks(chunks, progress, False, done, sinks)
    detail(linker.description, event="settings")


def _resumable(options: Values) -> AbstractContextManager[None]:
    """Say of an encoder that is stopped how the work is kept, or would have been."""
    from nmtalign.batch.shards import resumable

    if options.encoder is None:
        return nullcontext()
    if options.cache is None:
        return explained("--cache FILE keeps what the encoder found")
    return resumable(Path(options.cache), by=(KeyboardInterrupt,), again="the same command")
