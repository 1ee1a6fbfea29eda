"""``nmtalign align``: a bitext in, one line of links out for each pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import nmtalign as na
from nmtalign import blas
from nmtalign.cli import model_options, running, texts
from nmtalign.cli.bad_records import ListedErrorOptions, look_ahead, without_split_words
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, log_settings, open_progress
from nmtalign.cli.outputs import (
    LinkOutputOptions,
    WrittenLinks,
    direction_option,
    directions_of,
    explain_lost_work,
    log_alignment,
    write_chunks,
)
from nmtalign.cli.texts import BitextOptions, EscapedBitextOptions
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.names import CellValues, SubwordMarks
from nmtalign.progress import ProgressReporter
from nmtalign.settings import expert_setting
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import MAX_MATRIX_CELLS, PAIRS_PER_CHUNK, Chunk, LengthLimit, chunk_pairs

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.cli.outputs import Chunks
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.run.shards import ShardRun
    from nmtalign.run.stream import ChunkContents


@dataclass(frozen=True, kw_only=True)
class AlignOutputOptions(LinkOutputOptions):
    """The files that `align` writes."""

    forward: str | None = direction_option("forward")
    reverse: str | None = direction_option("reverse")
    attention: str | None = setting(
        None, "--attention FILE.npz", "Write one matrix (target by source words) per pair.", kind="output"
    )
    values: CellValues | None = setting(
        None,
        "--values",
        "Values that --attention contains.  [combined; with --positions none or diagonal: forward]",
    )
    pieces: SubwordMarks | None = texts.pieces_option()
    costs: str | None = setting(
        None,
        "--costs FILE",
        "Write two costs per pair, one per direction, in the form that OpusFilter expects from eflomal;"
        " lower is better.",
        kind="output",
    )

    posteriors: str | None = setting(
        None,
        "--posteriors FILE",
        "Write the posteriors from which `convert --threshold P` chooses links: .npz, or .parquet.",
        kind="output",
    )

    def checked_paths(self) -> dict[str, str]:
        paths = super().checked_paths()
        if self.posteriors is not None:
            from nmtalign.links.saved_tables import check_batch_path

            check_batch_path(self.posteriors)
        more = {
            "forward": self.forward,
            "reverse": self.reverse,
            "costs": self.costs,
            "posteriors": self.posteriors,
        }
        paths |= {name: path for name, path in more.items() if path is not None}
        if self.attention is None:
            if self.values is not None:
                raise UsageError("--values chooses the values of --attention; add --attention FILE.npz")
            return paths
        if not self.attention.endswith(".npz"):
            raise UsageError(f"--attention: expected a file name ending in .npz, found {self.attention}")
        return paths | {"attention": self.attention}


@dataclass(frozen=True, kw_only=True)
class BadRecordOptions(ListedErrorOptions):
    """The treatment of records that cannot be aligned."""

    max_length: int | None = texts.length_option("Write an empty line for")
    strict: bool = setting(
        False, "--strict", "Stop (exit code 3) if few words are known, or the text has errors."
    )


@dataclass(frozen=True, kw_only=True)
class ExpertLinksOptions(Settings):
    """Links of an expert."""

    expert: str | None = expert_setting()


@command("align")
def align_command(
    bitext: EscapedBitextOptions,
    error_options: BadRecordOptions,
    outputs: AlignOutputOptions,
    model: model_options.ModelOptions,
    expert_links: ExpertLinksOptions,
    engine: running.EngineOptions,
    sharding: running.ShardOptions,
) -> None:
    """Align a bitext: two files with one sentence per line, or one file with both sides (--pairs).

    Writes one line per sentence pair, such as `0-0 1-2`: pairs of source and target positions, counted from
    0. If a side is empty, the line is empty. Positions count the space-separated words of your lines,
    whichever tokenizer is used; with --tokens, they count the tokens, and with --count pieces sub-words. `-`
    reads standard input. The default model is the bundled English-French one, which is refused if it knows
    too few words. Over --vectors, a hidden Markov
    model of positions is fitted to the text, and words without a vector get one by back-off; plain attention
    is --positions none.

    Example: nmtalign align text.en text.fr -o links.txt --table links.tsv
    """
    blas.start_with_one_thread()  # before NumPy is imported, or it has no effect
    from nmtalign.aligner.opening import fit_text
    from nmtalign.run.stream import ChunkContents

    paths = outputs.checked_paths()
    unit = outputs.unit(outputs.pieces)
    expert = expert_links.expert
    if expert is not None and model.encoder.encoder is not None:
        raise UsageError("--expert LINKS and --encoder NAME cannot be combined; remove one")
    bitext = bitext.with_languages_of(model.model)
    files = bitext.files if expert is None else [*bitext.files, expert]
    run = sharding.open(files, paths, escape_formulas=outputs.escape_formulas)
    limit = LengthLimit(error_options.max_length, bitext.files)
    with AtomicFiles() as stack:
        bad_records = error_options.open(stack)
        progress = stack.enter_context(open_progress("pairs", bitext.files))
        first_lines, lines = look_ahead(bitext.read, bad_records.add, model.judged_pairs)
        aligner = _with_engine(model.load_for(first_lines, (bitext.source, bitext.target)), engine, expert)
        pairs = _pairs_to_align(
            progress.track(bad_records.track(lines)),
            aligner,
            unit,
            bitext=bitext,
            bad_records=bad_records,
            expert=expert,
            limit=limit,
            writes_plain_words=outputs.have_plain_words,
        )
        aligner, pairs = fit_text(aligner, pairs, aligned_unit=unit.aligned_unit)
        client = engine.client(stack)
        contents = ChunkContents(
            values=None if outputs.attention is None else outputs.values or aligner.default_values,
            costs=outputs.costs is not None,
            directions=directions_of(model.links, paths),
            posteriors=outputs.posteriors is not None,
        )
        chunks = stack.enter_context(
            closing(_align_chunks(aligner, pairs, run, client, unit, contents, bitext))
        )
        write = partial(
            write_chunks,
            chunks,
            progress,
            bitext=bitext,
            bad_records=bad_records,
            strict=error_options.strict,
            is_model_implicit=model.path is None,
        )
        if run is None:
            sinks = outputs.sinks(paths, stack, unit)
            with explain_lost_work("--out-shards DIR keeps finished work"):
                written = write(sinks=sinks)
        else:
            settings = _settings_of_run(aligner, unit, bitext, error_options, outputs)
            described = running.describe_run(files, model.files_of(aligner), settings)
            with running.assembling_shards(run, paths, described, resume=sharding.may_exist):
                written = write(sinks=[run.write])
    # only now do the files have their names
    _log_run(bitext, outputs, progress, written, unit, limit, run)
    error_options.say(bad_records)
    log_settings(aligner.description)


def _with_engine(aligner: na.Aligner, engine: running.EngineOptions, expert: str | None) -> na.Aligner:
    """Return the aligner with workers and with links of an expert; UsageError if the engine cannot use it."""
    aligner = replace(aligner, workers=engine.workers)
    if expert is not None:
        aligner = aligner.with_given_links()
    if engine.engine == "dask" and not aligner.allows_processes:
        # each worker of the cluster would have to load the encoder
        problem = "--engine dask cannot be combined with an encoder, which is loaded only once"
        raise UsageError(f"{problem}; use --out-shards instead")
    return aligner


def _pairs_to_align(
    lines: Iterable[SentencePair],
    aligner: na.Aligner,
    unit: LinkUnit,
    *,
    bitext: BitextOptions,
    bad_records: BadRecords,
    expert: str | None,
    limit: LengthLimit,
    writes_plain_words: bool,
) -> Iterator[Any]:
    """Yield the pairs of a bitext as they are aligned, one for each line; a pair that cannot be is empty."""
    pairs: Iterator[Any] = iter(lines)
    # the links of an expert come first, because they are read line by line with the text
    if expert is not None:
        pairs = model_options.with_expert(
            pairs,
            expert,
            encoding=bitext.encoding,
            unit=unit,
            text_settings=aligner.text_settings,
            languages=aligner.languages,
            bad=bad_records,
        )
    # the marks of spaces and of sub-words are those of the lines, before anything changes these
    if not unit.is_plain:
        pairs = texts.without_space_marks(pairs, unit, bitext, bad_records)
        pairs = unit.prepare_pairs(pairs, aligner.text_settings, aligner.languages, first=1)
    # a length is a number of tokens that are aligned, so sub-words are joined before
    pairs = limit.pairs(pairs, aligner.text_settings, aligner.languages)
    if writes_plain_words:
        words_of = partial(
            unit.tokens_for_translation, text_settings=aligner.text_settings, languages=aligner.languages
        )
        pairs = without_split_words(pairs, words_of, bitext, bad_records)
    return pairs


def _settings_of_run(
    aligner: na.Aligner,
    unit: LinkUnit,
    bitext: EscapedBitextOptions,
    error_options: BadRecordOptions,
    outputs: AlignOutputOptions,
) -> dict[str, Any]:
    """Return the settings that the shards of a run depend on, besides the text and the model."""
    return {
        "settings": aligner.description,
        **texts.describe_unit(unit),
        "sides": bitext.sides,
        "encoding": bitext.encoding,
        "unescape": bitext.unescape,
        "on_error": error_options.on_error,
        "strict": error_options.strict,
        "max_length": error_options.max_length,
        "escape_formulas": outputs.escape_formulas,
    }


def _align_chunks(
    aligner: na.Aligner,
    pairs: Iterator[SentencePair],
    run: ShardRun | None,
    client: Client | None,
    unit: LinkUnit,
    contents: ChunkContents,
    bitext: BitextOptions,
) -> Chunks:
    """Align the pairs on a cluster or by processes; pairs from standard input are aligned as they come."""
    from nmtalign.corpus.parallel import default_workers
    from nmtalign.files.text_files import is_input_awaited
    from nmtalign.run.stream import align_chunks

    workers = default_workers(aligner.workers) if aligner.allows_processes else 1  # an encoder uses all cores
    max_cells = math.inf if contents.values is None else MAX_MATRIX_CELLS
    is_awaited = is_input_awaited if "-" in bitext.files else None
    chunks = chunk_pairs(pairs, chunk_size=PAIRS_PER_CHUNK, cells=max_cells, is_awaited=is_awaited)
    if run is not None:
        chunks = run.missing(pairs)
    elif contents.posteriors:
        chunks = _or_empty_chunk(chunks)
    if client is None:
        return align_chunks(aligner, chunks, workers=workers, unit=unit, contents=contents)
    from nmtalign.run.cluster import align_unit_on_cluster

    return align_unit_on_cluster(client, aligner, chunks, unit=unit, contents=contents)


def _or_empty_chunk(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield chunks, or an empty one if there is none: files of posteriors begin with what chunks share."""
    first = next(chunks, Chunk(0, []))
    return chain([first], chunks)


def _log_run(
    bitext: BitextOptions,
    outputs: AlignOutputOptions,
    progress: ProgressReporter,
    written: WrittenLinks,
    unit: LinkUnit,
    limit: LengthLimit,
    run: ShardRun | None,
) -> None:
    """Log what was aligned, unless an earlier run had done all of it, and the shards of the run."""
    was_all_done_before = run is not None and run.kept and not progress.done
    if not was_all_done_before:
        log_alignment(bitext, outputs.output, progress, written, unit, limit)
    if run is not None:
        _log_shards(run)


def _log_shards(run: ShardRun) -> None:
    """Log how many shards there are, and how many are already finished."""
    kept = "all" if 0 < run.kept == run.shards else f"{run.kept:,}"
    text = f"{with_plural(run.shards, 'shard')} in {run.folder}, {kept} of them already finished"
    log(text, event="shards", shards=run.shards, done_before=run.kept)
