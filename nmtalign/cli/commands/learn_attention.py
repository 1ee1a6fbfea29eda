"""``nmtalign vectors attention``: attention parameters over word vectors, learned from an aligner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nmtalign.cli.messages import Progress, log, warnings_to_stderr
from nmtalign.cli.options.bitext import BitextOptions, TextOptions, bitext_options, text_options
from nmtalign.cli.options.declare import INPUT, OUTPUT, Command, Whole, option, section
from nmtalign.cli.options.model import PathOptions, path_options
from nmtalign.cli.options.running import one_blas_thread
from nmtalign.errors import UsageError
from nmtalign.names import LEARNED_SCORES


@click.command(cls=Command)
@bitext_options
@text_options
@section("Output")
@option("-o --output", OUTPUT, "File of the parameters.  [in the folder --vectors]", metavar="NPZ")
@option("--force", bool, "Replace the parameters that are there.")
@path_options
@section("Learning")
@option("--score", LEARNED_SCORES, "Attention score whose parameters are learned.", required=True)
@option("--model", INPUT, "Aligner to learn from.  [one learned from the text]", metavar="DIR")
@option("--units", Whole(min=1), "Size of the attention layer.", default=128)
@option("--workers", Whole(min=1), "Processes; the result is the same.  [cores]")
def attention(
    bitext: BitextOptions,
    tokenization: TextOptions,
    vectors: PathOptions,
    output: str | None,
    score: str,
    force: bool,
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
    from nmtalign.aligner.fitting import learn_attention
    from nmtalign.output import expect_new_file

    given = vectors.path
    if given is None:
        raise UsageError("expected --vectors DIR, or --source-vectors FILE and --target-vectors FILE")
    path = _file_of(given, output, score)
    expect_new_file(path, overwrite=force)
    options |= vectors.reading | ({} if vectors.langs is None else {"languages": vectors.langs})
    with warnings_to_stderr(), Progress("pairs", bitext.files) as progress:
        pairs = list(progress.counted(bitext.open()))
        report = progress.stage
        learned = learn_attention(pairs, given, score=score, report=report, **vars(tokenization), **options)
        learned.save(path, overwrite=force)
    log(f"{learned} in {progress.seconds:.1f} s in {path}")


def _file_of(vectors: str | tuple[str, str], output: str | None, score: str) -> Path:
    """Return the file of the parameters: as named, else in the folder of the vectors."""
    from nmtalign.door import place_of
    from nmtalign.scorers.vector_scores import FILES

    if output is not None:
        return Path(output)
    if isinstance(vectors, tuple):
        raise UsageError("two files of vectors have no folder for the parameters; name a file, -o NPZ")
    return place_of(vectors) / FILES[score]
