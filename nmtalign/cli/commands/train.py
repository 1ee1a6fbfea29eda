"""``nmtalign train``: learn an alignment model from a bitext."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nmtalign as na
from nmtalign.cli import model, running, texts
from nmtalign.cli.declare import INPUT, OUTPUT, FileType, Number, OptionGroup, Values, command, option
from nmtalign.cli.messages import Stages, log, log_option, quiet_option, warn
from nmtalign.cli.texts import BitextOptions, TextOptions
from nmtalign.errors import StoppedError, UsageError
from nmtalign.names import PRESETS

if TYPE_CHECKING:
    from nmtalign.aligner.train import LearnOptions

OLDER = FileType(writes=False, instead_of="output")  # a model that the new one may replace


@command(
    texts.bitext_options,
    texts.max_length_option,
    texts.text_options,
    texts.langs_option,
    "Output",
    option("-o --output DIR", OUTPUT, "Folder for the model.", required=True),
    option("--force", bool, "Replace the model that is there."),
    OptionGroup(
        "outputs",
        option("--links", OUTPUT, "Also align the bitext itself: Pharaoh format, a line for each pair."),
        option("--probabilities", OUTPUT, "Probability of each link, in the order of --links."),
        option("--pair-scores", OUTPUT, "Probability that a pair is a translation."),
    ),
    OptionGroup(
        "learning",
        "Input",
        option("--gold", INPUT, "Train a rescorer on these gold links of the last pairs, or of all."),
        "Model",
        option("--preset", PRESETS, "Learn faster, or more accurately.", default="default"),
        option(
            "--prior", INPUT, "Start from a list of words (word, translation, weight) or eflomal's priors."
        ),
        option("--init DIR", OLDER, "Start from a model and its tokenizer, or from word vectors."),
        "Vectors, mixed with the lexicon",
        model.vector_files,
        option("--vectors-weight", Number(0, 1), "Weight of the vectors, from 0 to 1.  [0.45]"),
        "Expert, whose links are prior counts and vote",
        model.expert_option,
        model.encoder_options,
        kind=model.PathOptions,
    ),
    running.engine_options,
    quiet_option,
    log_option,
)
def train(
    bitext: BitextOptions,
    tokenization: TextOptions,
    learning: model.PathOptions,
    engine: running.EngineOptions,
    output: str,
    outputs: Values,
    **options: Any,
) -> None:
    """Learn an alignment model from a bitext: two files, line by line, or one file with both sides (--pairs).

    A run that was stopped resumes when the same command is given again; until it ends, DIR.state holds its
    checkpoints.

    Example: nmtalign train text.en text.fr -o model --links links.txt
    """
    running.one_blas_thread()
    from nmtalign.aligner.train import checked_against_corrections, learn, open_options
    from nmtalign.output import expect_folder_of
    from nmtalign.state import expect_room_for_model
    from nmtalign.text.bitext import LengthLimit
    from nmtalign.training.checkpoint import remove_checkpoints

    paths = outputs.given  # of the links of the bitext itself
    expect_room_for_model(output, overwrite=options["force"])
    for path in paths.values():
        expect_folder_of(path)
    if paths and engine.engine == "dask" and "-" in bitext.files:
        raise UsageError("--engine dask reads the bitext again for --links; give a file, not standard input")
    given: Any = tokenization.given | learning.given | {"vectors": learning.path, "workers": engine.workers}
    languages, encoding = options["langs"] or (None, None), texts.encoding()
    given["languages"] = languages
    settings = open_options(given, encoding=encoding, reading=learning.reading_options)
    limit = LengthLimit(options["max_length"], bitext.files)
    without_long_pairs = partial(limit.pairs, text=settings.text, languages=languages)
    state = f"{output.rstrip('/')}.state"
    progress = Stages("pairs", bitext.files, _costs(settings, aligns=bool(paths)))
    settings = replace(settings, checkpoints=state, report=progress.stage, warn=warn)
    with _explained(state), ExitStack() as stack:
        client = engine.client(stack)
        stack.enter_context(progress)
        if client is not None:
            from nmtalign.batch.cluster import ClusterProcesses
            from nmtalign.training.distributed import DistributedBitext

            make_bitext = partial(DistributedBitext, processes=ClusterProcesses(client))
            settings = replace(settings, make_bitext=make_bitext)
        lines = progress.count(bitext.open(), then=progress.next_stage)
        pairs = checked_against_corrections(lines, learning.gold, encoding=encoding)
        result = learn(without_long_pairs(model.with_expert(pairs, learning.expert)), settings)
        aligner = replace(result.aligner, workers=engine.workers)
        aligner.save(output, overwrite=options["force"])
        remove_checkpoints(state)
        progress.stage(f"model in {output}{limit}")
        if paths:
            if client is None or aligner.expert is not None:
                batch = result.align()
            else:
                from nmtalign.batch.cluster import align_on_cluster
                from nmtalign.links.alignments import joined_batches

                chunks = na.cut(without_long_pairs(bitext.open()))  # read again
                batch = joined_batches([part.batch for part in align_on_cluster(client, aligner, chunks)])
            formats = running.batch_texts()
            running.write_whole({path: [formats[name](batch)] for name, path in paths.items()})
    _say_what_is_next(bitext, output, outputs.links)


@contextmanager
def _explained(state: str) -> Iterator[None]:
    """Say how a run that was stopped goes on, if there is a checkpoint."""
    try:
        yield
    except KeyboardInterrupt:
        if not Path(state).is_dir():
            raise
        where = f"{state} holds the state of training; the same command goes on from there"
        raise StoppedError(f"interrupted\nnmtalign: {where}") from None


def _costs(settings: LearnOptions, *, aligns: bool) -> list[float]:
    """Return what the stages take in relation to each other, as measured (40,000 pairs)."""
    hyperparameters, expert = settings.hyperparameters, settings.expert
    iterations = [1.0] * (hyperparameters.model1_iterations - 1) + [4.0] * hyperparameters.hmm_iterations
    begin = 23.0 if expert is not None and expert.encoder else 3.0
    iterations *= 1 if expert is None else 2
    end = 1.0 + 2.0 * bool(hyperparameters.spectral_weight) + 10.0 * bool(settings.gold)
    return [begin, 3.0, *iterations, end, *([4.0] if aligns else [])]


def _say_what_is_next(bitext: BitextOptions, output: str, links: str | None) -> None:
    """Name the command that a newcomer wants next."""
    files = shlex.join(bitext.files if bitext.pairs is None else ["--pairs", bitext.pairs])
    if (encoding := texts.encoding()) != "utf-8":
        files += f" --encoding {encoding}"
    folder = shlex.quote(output)
    look = f"nmtalign report {files} --model {folder} -o report.html"
    use = f"nmtalign align NEW_SOURCE NEW_TARGET --model {folder} -o links.txt"
    done = f"links in {links}; " if links not in (None, "-") else ""
    log(f"{done}to look at links: {look}; to align new text: {use}", event="next")
