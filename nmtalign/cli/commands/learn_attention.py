"""``nmtalign vectors attention``: attention parameters over word vectors, learned from an aligner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nmtalign.cli.messages import Progress, log, warnings_to_stderr
from nmtalign.cli.options.bitext import (
    BitextOptions,
    Languages,
    TextOptions,
    bitext_options,
    langs_option,
    text_options,
)
from nmtalign.cli.options.declare import INPUT, OUTPUT, Command, Whole, section
from nmtalign.cli.options.running import one_blas_thread
from nmtalign.names import LEARNED_SCORES


@click.command(cls=Command)
@bitext_options
@text_options
@langs_option
@section("Output")
@click.option(
    "--vectors",
    type=OUTPUT,
    metavar="DIR",
    required=True,
    help="Folder of word vectors; what is learned is written there, too.",
)
@click.option("--force", is_flag=True, help="Replace the parameters that are there.")
@section("Learning")
@click.option(
    "--score",
    type=click.Choice(LEARNED_SCORES),
    required=True,
    help="Attention score whose parameters are learned.",
)
@click.option(
    "--model", type=INPUT, metavar="DIR", help="Aligner to learn from.  [one learned from the text]"
)
@click.option("--units", type=Whole(min=1), default=128, help="Size of the attention layer.")
@click.option("--workers", type=Whole(min=1), help="Processes; the result is the same.  [cores]")
def attention(
    bitext: BitextOptions,
    tokenization: TextOptions,
    langs: Languages | None,
    vectors: str,
    score: str,
    force: bool,
    **options: Any,
) -> None:
    """Learn attention over word vectors: Bahdanau's weights, or the projections of scaled dot-product.

    They learn the posteriors that an aligner has for a bitext; the vectors stay as they are. DIR then holds
    bahdanau.npz or scaled-dot.npz, which `align --vectors DIR --score bahdanau` uses.

    Example: nmtalign vectors attention text.en text.fr --vectors vectors --score bahdanau
    """
    one_blas_thread()
    from nmtalign.aligner.fitting import learn_attention
    from nmtalign.door import place_of
    from nmtalign.output import expect_new_file
    from nmtalign.scorers.vector_scores import FILES

    folder = place_of(vectors)
    expect_new_file(Path(folder, FILES[score]), overwrite=force)
    if langs:
        options["languages"] = langs
    with warnings_to_stderr(), Progress("pairs", bitext.files) as progress:
        pairs = list(progress.counted(bitext.open()))
        learned = learn_attention(
            pairs, folder, score=score, report=progress.stage, **vars(tokenization), **options
        )
        path = learned.save(folder, overwrite=force)
    log(f"{learned} in {progress.seconds:.1f} s -> {path}")
