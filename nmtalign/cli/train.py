"""``nmtalign train``: learn an alignment model from a bitext."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli._engine import EngineOptions, engine_options
from nmtalign.cli._messages import log_option, say, warn
from nmtalign.cli._model_options import UNICODE_FORMS, Tokenizer, two_languages
from nmtalign.cli._progress import Progress
from nmtalign.cli._threads import one_blas_thread
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.alignment.links import AlignedBatch
    from nmtalign.models.estimation import PlaceBitext
    from nmtalign.models.knowledge import Knowledge
    from nmtalign.models.learned import Training
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings


@click.command()
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option("-o", "--output", metavar="DIR", required=True, help="Folder of the model, made if need be.")
@click.option("--pairs", metavar="FILE", help="One file with both sides, instead of SOURCE and TARGET.")
@click.option("--format", "bitext_format", metavar="NAME", default="auto", help="Form of the bitext.  [auto]")
@click.option("--preset", type=click.Choice(("fast", "default")), default="default", help="Time for error.")
@click.option(
    "--rescore", type=click.Choice(("additive", "scaled-dot")), help="Distil a rescorer of the posteriors."
)
@click.option(
    "--rescore-inputs", type=click.Choice(("features", "words")), help="What it looks at.  [features]"
)
@click.option(
    "--gold", metavar="FILE", help="Gold links of the last pairs, or a line a pair: they teach a rescorer."
)
@click.option("--links", metavar="FILE", help="Also align the bitext itself: Pharaoh links, one line a pair.")
@click.option("--scores", metavar="FILE", help="Probabilities of the links, parallel to --links.")
@click.option("--pair-scores", metavar="FILE", help="Probability that a pair is parallel, one a line.")
@click.option("--langs", metavar="XX,YY", help="Source and target language, for the tokeniser.")
@click.option("--tokenizer", type=Tokenizer(), default="space", help="How lines become words.  [space]")
@click.option("--lowercase/--no-lowercase", default=True, help="Look words up in lower case.  [yes]")
@click.option("--unicode", type=click.Choice(UNICODE_FORMS), default="nfc", help="Normal form.  [nfc]")
@click.option("--prior", metavar="FILE", help="Bilingual word list: word, translation, weight if not 1.")
@click.option("--init", metavar="DIR", help="Go on from this model, or start from aligned word vectors.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads or processes; same model.  [cores]")
@engine_options
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@log_option
def train(
    source: str | None,
    target: str | None,
    pairs: str | None,
    output: str,
    engine: EngineOptions,
    **options: Any,
) -> None:
    """Learn an alignment model from a bitext: two files, line by line, or one file with both sides (--pairs).

    A run that was stopped goes on when the same command is given again; until it ends, DIR.state keeps what
    it knows.

    Example: nmtalign train text.en text.fr -o model --links links.txt
    """
    one_blas_thread()
    from nmtalign.alignment.formats import read_gold
    from nmtalign.cli.align import open_bitext
    from nmtalign.models import training
    from nmtalign.models.settings import preset
    from nmtalign.models.stages import remove_stages
    from nmtalign.models.store import save_model
    from nmtalign.text.tokenization import TextSettings

    text = TextSettings(options["tokenizer"], options["lowercase"], options["unicode"])
    rescore = _rescore(options)
    gold = list(read_gold(options["gold"])) if options["gold"] is not None else []
    _check_folder(output)
    outputs, state = _outputs(options), f"{output.rstrip('/')}.state"
    if outputs and engine.engine == "dask" and "-" in (source, target, pairs):
        raise UsageError("--engine dask reads the bitext again for --links; give a file, not standard input")
    progress = Progress("pairs", [path for path in (source, target, pairs) if path], quiet=options["quiet"])

    def report(line: str) -> None:
        if not options["quiet"]:
            seconds = progress.seconds
            say(f"{seconds:7.1f} s  {line}", event="stage", seconds=round(seconds, 3))

    with ExitStack() as stack:
        client = engine.client(options["workers"], stack)
        with progress:
            found = training.train(
                progress.counted(open_bitext(source, target, pairs, options["bitext_format"])),
                settings=preset(options["preset"]),
                text=text,
                known=_known(options["prior"], options["init"], text),
                languages=two_languages(options["langs"]) if options["langs"] else (None, None),
                workers=options["workers"],
                report=report,
                warn=warn,
                place=None if client is None else _on_cluster(client),
                rescore=rescore,
                gold=gold,
                state=state,
            )
        save_model(found.model, output)
        remove_stages(state)
        report(f"model in {output}")
        again = open_bitext(source, target, pairs, options["bitext_format"]) if client and outputs else ()
        _write_links(found, outputs, client, again)


def _rescore(options: dict[str, Any]) -> tuple[str, str] | None:
    """Return name and inputs of the rescorer to distil, if any."""
    name, inputs, gold = (options[key] for key in ("rescore", "rescore_inputs", "gold"))
    if name is not None and gold is not None:
        raise UsageError("--gold teaches a rescorer of its own; leave --rescore out")
    if name is None and inputs is not None:
        raise UsageError("--rescore-inputs is for a rescorer that is distilled; add --rescore additive")
    return None if name is None else (name, inputs or "features")


def _on_cluster(client: Client) -> PlaceBitext:
    """Let the workers of a cluster hold the bitext."""
    from nmtalign.batch.cluster import ClusterProcesses
    from nmtalign.models.distributed import SpreadBitext

    return partial(SpreadBitext, processes=ClusterProcesses(client))


def _known(prior: str | None, init: str | None, text: TextSettings) -> Knowledge | None:
    """Return what is known before the bitext is seen, if anything."""
    from nmtalign.models.knowledge import Knowledge, read_word_list, similar_words
    from nmtalign.models.store import is_model, load_model
    from nmtalign.vectors.storage import load_pair

    words = [] if prior is None else read_word_list(prior, text)
    if init is not None and not is_model(init):
        words += similar_words(*load_pair(init))
    if init is None or not is_model(init):
        return Knowledge(words) if words else None
    older = load_model(init)
    if older.text != text:
        found = f"{init} was learned with text={older.text}, found text={text}"
        raise UsageError(f"{found}; give the same options")
    return Knowledge(words, older.lexicon, older.jumps)


def _check_folder(output: str) -> None:
    """Refuse to write a model into a folder that holds something else."""
    from nmtalign.models.store import is_model

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{output} is a file; give a folder for the model")
    if folder.is_dir() and any(folder.iterdir()) and not is_model(folder):
        raise UsageError(f"{output} holds other files; give a new or an empty folder for the model")


def _outputs(options: dict[str, Any]) -> dict[str, str]:
    """Return the files that were named for links; refuse what cannot be written before any work is done."""
    paths = {name: options[name] for name in ("links", "scores", "pair_scores") if options[name] is not None}
    if len(set(paths.values())) < len(paths):
        raise UsageError("two outputs go to the same place; give each its own file")
    for path in paths.values():
        if path != "-" and not Path(path).parent.is_dir():
            raise UsageError(f"{path}: there is no folder {Path(path).parent} to write into; make it first")
    return paths


def _write_links(
    found: Training, outputs: dict[str, str], client: Client | None, bitext: Iterable[SentencePair]
) -> None:
    """Align the bitext that was learned from, if a file for it was named; on a cluster it is read again."""
    from nmtalign.alignment.formats import (
        format_pair_scores_batch,
        format_pharaoh_batch,
        format_scores_batch,
    )
    from nmtalign.models.decoding import Extraction

    writers = {
        "links": format_pharaoh_batch,
        "scores": format_scores_batch,
        "pair_scores": format_pair_scores_batch,
    }
    if outputs:
        batch = found.align(Extraction()) if client is None else _aligned(client, found, bitext)
        for name, path in outputs.items():
            _write(path, writers[name](batch))


def _aligned(client: Client, found: Training, bitext: Iterable[SentencePair]) -> AlignedBatch:
    """Align a bitext on a cluster."""
    from nmtalign.alignment.links import joined_batches
    from nmtalign.batch.cluster import align_on_cluster
    from nmtalign.batch.stream import cut

    return joined_batches([chunk.batch for chunk in align_on_cluster(client, found.aligner, cut(bitext))])


def _write(path: str, text: str) -> None:
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text

    with whole_file(path) as partial, open_text(partial, "w") as file:
        file.write(text)
