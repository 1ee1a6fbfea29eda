"""``nmtalign train``: learn an alignment model from a bitext."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nmtalign as na
from nmtalign import blas
from nmtalign.cli import model_options, running, texts
from nmtalign.cli.bad_records import ListedErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress, shows_info, warn
from nmtalign.cli.outputs import (
    direction_option,
    directions_of,
    explain_lost_work,
    files_of_sides,
    log_findings,
    open_sink,
    pair_scores_option,
    probabilities_option,
    table_option,
    unlinked_clause,
    unused_path,
)
from nmtalign.cli.texts import BitextOptions, EscapedBitextOptions
from nmtalign.declarations import Settings, setting
from nmtalign.errors import BadRecords, DataError, NmtalignError, UsageError, WorkerError
from nmtalign.files.atomic_output import AtomicFiles, check_parent_folder
from nmtalign.names import LinkUnitName, SubwordMarks
from nmtalign.settings import LinkSettings, TrainingSettings
from nmtalign.text.bitext import SentencePair, named_languages
from nmtalign.text.chunks import LengthLimit, chunk_pairs
from nmtalign.text.languages import known_language
from nmtalign.text.tokenization import SPACE_SETTINGS

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.aligner.training_job import TrainingJob
    from nmtalign.aligner.training_steps import TrainingResult
    from nmtalign.checks.lines import RunFindings
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.decoding.extraction_methods import Extraction
    from nmtalign.run.stream import AlignedChunk
    from nmtalign.training.checkpoint import TrainingRun

MAX_PAIRS_FOR_QUALITY = 500  # at random, from which the error rate is estimated
MIN_PAIRS_FOR_QUALITY = 50
MAX_GOOD_ERROR = 0.2  # above this, knowledge besides the text is worth its work


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Settings):
    """The model, and links of the bitext itself."""

    section = "Output"

    output: str | None = setting(
        None,
        "-o --output DIR",
        "Write the model to this folder; without it, only links are written.",
        kind="output",
    )
    force: bool = setting(False, "--force", "Replace an existing model.")
    links: str | None = setting(
        None, "--links FILE", "Write the links of the bitext itself, in Pharaoh format.", kind="output"
    )
    forward: str | None = direction_option("forward")
    reverse: str | None = direction_option("reverse")
    probabilities: str | None = probabilities_option("--links")
    pair_scores: str | None = pair_scores_option()
    table: str | None = table_option()
    count: LinkUnitName | None = texts.count_option("[words; with --spm: pieces]")
    spm: str | None = texts.spm_option()

    @property
    def link_files(self) -> dict[str, str]:
        """The files that need the links of the bitext, by what they contain."""
        files = {
            "links": self.links,
            "forward": self.forward,
            "reverse": self.reverse,
            "probabilities": self.probabilities,
            "pair_scores": self.pair_scores,
            "table": self.table,
        }
        return {name: path for name, path in files.items() if path is not None}


@dataclass(frozen=True)
class LearnedLinksOptions(LinkSettings):
    """How links are chosen, by the model as well."""

    threshold: float | None = setting(None)


@dataclass(frozen=True, kw_only=True)
class MixedVectorOptions(model_options.VectorPathOptions):
    """Word vectors that are mixed with the lexicon."""

    section = "Vectors, mixed with the lexicon"


@dataclass(frozen=True, kw_only=True)
class PreparedTextOptions(Settings):
    """The preparation of lines, and the pairs that are skipped."""

    section = "Input"

    pieces: SubwordMarks | None = texts.pieces_option()
    max_length: int | None = texts.length_option("Do not learn from")
    strict: bool = setting(False, "--strict", "Stop (exit code 3) if the text has errors.")


@command("train")
def train_command(
    bitext: EscapedBitextOptions,
    error_options: ListedErrorOptions,
    preparation: PreparedTextOptions,
    outputs: OutputOptions,
    learning: TrainingSettings,
    links: LearnedLinksOptions,
    vectors: MixedVectorOptions,
    engine: running.EngineOptions,
) -> None:
    """Learn an alignment model from a bitext: two files with one sentence per line, or one file with both
    sides (--pairs).

    --extract and --symmetrize choose the links of the bitext, and those of `align --model DIR`.

    A run that was stopped resumes when you repeat the same command. Its checkpoints are in DIR.state, which
    is removed once the model and all other files are written. Without -o, there are no checkpoints.

    Example: nmtalign train text.en text.fr -o model --links links.txt
    """
    blas.start_with_one_thread()  # before NumPy is imported, or it has no effect
    from nmtalign.aligner.preparation import RandomSample
    from nmtalign.aligner.training_steps import train_aligner
    from nmtalign.checks.lines import RunFindings
    from nmtalign.corpus.units import link_unit
    from nmtalign.decoding.extraction_methods import make_extraction
    from nmtalign.training.checkpoint import TrainingRun

    unit = link_unit(count=outputs.count, pieces=preparation.pieces, spm=outputs.spm)
    # A checkpoint is resumed only with the same options, except for outputs, workers and memory. If the text
    # is in parts on this machine, workers and memory set their size, and training starts anew with others.
    fingerprint = repr((bitext, preparation, vectors, replace(learning, memory=None)))
    run = None if outputs.output is None else TrainingRun(Path(f"{outputs.output}.state"), fingerprint)
    overwrite = _may_overwrite(outputs, run)
    _check_options_together(outputs, bitext, learning, engine)
    limit = LengthLimit(preparation.max_length, bitext.files)
    sample: RandomSample[SentencePair] = RandomSample(MAX_PAIRS_FOR_QUALITY)
    with ExitStack() as errors_of_run, AtomicFiles() as stack:
        bad_records = error_options.open(stack)
        findings = RunFindings(bad_records.numbers)
        learning = replace(learning, vectors=vectors.path, workers=engine.workers)
        job = _open_job(learning, bitext, bad_records)
        job = _with_progress(job, run, bitext, outputs)
        errors_of_run.enter_context(_explained_errors(run, outputs))  # once the files are closed
        client = _start_run(run, engine, job, stack)
        if client is not None:
            job = _with_cluster(job, client)
        text = _TrainingText(bitext, job, unit, limit)
        lines = _watch_findings(findings, bitext, bad_records, strict=preparation.strict)
        result = train_aligner(text.pairs_to_learn(sample.watched(lines), bad_records), job)
        extraction = make_extraction(links) if links.given else None
        aligner = replace(result.aligner, workers=engine.workers, extraction=extraction)
        where = "learned"
        if run is not None and outputs.output is not None:
            aligner.save(outputs.output, overwrite=overwrite)
            run.model_is_saved(Path(outputs.output))
            where = f"model in {outputs.output}"
        job.progress.step(f"{where}{limit.closing_clause()}")
        if outputs.link_files:
            aligned = _align(text, result, aligner, client, directions_of(links, outputs.link_files))
            findings.add_links(aligned.batch, 0)
            _write_links(aligned, text, outputs.link_files, stack)
    # only now do the files have their names
    if run is not None:
        run.remove()
    log_findings(findings.counts(), bitext)
    error_options.say(bad_records)
    _log_next_commands(bitext, outputs, findings.without_links)
    if shows_info():
        _log_quality(aligner, sample.items, job, bitext, outputs, preparation.pieces)


def _may_overwrite(outputs: OutputOptions, run: TrainingRun | None) -> bool:
    """Return whether the model replaces another; raise UsageError if one is there that must be kept."""
    from nmtalign.state import check_model_replaceable

    if outputs.output is None or run is None:
        return False
    output = Path(outputs.output)
    overwrite = outputs.force or run.has_saved(output)
    check_model_replaceable(output, overwrite=overwrite)
    return overwrite


def _check_options_together(
    outputs: OutputOptions,
    bitext: BitextOptions,
    learning: TrainingSettings,
    engine: running.EngineOptions,
) -> None:
    """Raise an error, before the work, if options exclude each other or links could not be written."""
    from nmtalign.report.tables import table_format

    if learning.memory is not None and engine.engine == "dask":
        raise UsageError("--memory bounds learning on this machine; remove it, or --engine dask")
    paths = outputs.link_files
    if not paths and outputs.output is None:
        raise UsageError("nothing to write: add -o DIR for the model, --links FILE for the links, or both")
    if outputs.force and outputs.output is None:
        raise UsageError("--force replaces a model; add -o DIR, or remove it")
    if not paths and (outputs.count is not None or outputs.spm is not None):
        raise UsageError("--count and --spm choose the unit of the links; add --links FILE, or remove them")
    for path in paths.values():
        check_parent_folder(path)
    if outputs.table is not None:
        table_format(outputs.table)  # an error if it is unknown
    if paths and learning.sample is not None:
        written = ", ".join(f"--{name.replace('_', '-')}" for name in paths)
        align = "nmtalign align SOURCE TARGET --model DIR -o LINKS"
        raise UsageError(
            f"{written} needs all pairs, and --sample leaves pairs out; remove {written},"
            f" then write the links with: {align}"
        )
    if "-" in bitext.files:
        again = "--engine dask" if paths and engine.engine == "dask" else ""
        again = "--table" if outputs.table is not None else again
        if again:
            raise UsageError(f"{again} reads the bitext again; pass files instead of standard input")


def _with_progress(
    job: TrainingJob, run: TrainingRun | None, bitext: BitextOptions, outputs: OutputOptions
) -> TrainingJob:
    """Return the settings with what is shown and kept during the run."""
    from nmtalign.aligner.training_job import stage_costs

    costs = stage_costs(job, aligns=bool(outputs.link_files))
    progress = open_progress("pairs", bitext.files, costs)
    folder = None if run is None else run.folder
    return replace(job, checkpoints=folder, progress=progress, warn=warn, advise=warn)


def _explained_errors(run: TrainingRun | None, outputs: OutputOptions) -> AbstractContextManager[None]:
    """Return a context whose errors say what is kept of a run."""
    if run is None or outputs.output is None:
        return explain_lost_work("-o DIR keeps checkpoints")
    return _kept_for_resuming(run, Path(outputs.output))


def _start_run(
    run: TrainingRun | None,
    engine: running.EngineOptions,
    job: TrainingJob,
    stack: AtomicFiles,
) -> Client | None:
    """Start the checkpoints, the cluster and the display of progress; return the cluster, if there is one."""
    if run is not None:
        run.start()
        _log_checkpoints(run)
    client = engine.client(stack)
    stack.enter_context(job.progress)
    return client


def _with_cluster(job: TrainingJob, client: Client) -> TrainingJob:
    """Return the settings with a cluster that keeps the text and the counts of its word pairs."""
    from nmtalign.run.cluster import ClusterStore

    return replace(job, store=ClusterStore(client), memory=None)


class _TrainingText:
    """The text of a run, how its lines become pairs, and the pieces of its words if links count these."""

    def __init__(self, bitext: BitextOptions, job: TrainingJob, unit: LinkUnit, limit: LengthLimit) -> None:
        from nmtalign.corpus.regrouping import PiecesOfWords

        self.unit = unit
        self.pieces = PiecesOfWords()
        self._bitext = bitext
        self._job = job
        self._limit = limit

    def pairs_to_learn(self, lines: Iterable[SentencePair], bad_records: BadRecords) -> Iterator[Any]:
        """Yield the pairs of lines, with the links of --expert; their pieces are kept."""
        for pair in self._pairs(self._job.progress.count(lines), self._expert_reader(bad_records)):
            if self.unit.expands:
                settings = self._job.settings
                self.pieces.add(self.unit.piece_lines(pair, self._job.text_settings, settings.languages))
            yield pair

    def pairs_again(self) -> Iterator[Any]:
        """Yield the pairs of the text, which is read again, without the links of an expert."""
        # bad records were reported at the first reading
        return self._pairs(self._bitext.read(lambda error: None))

    def _pairs(
        self,
        lines: Iterable[SentencePair],
        add_expert_links: Callable[[Iterable[Any]], Iterator[Any]] | None = None,
    ) -> Iterator[Any]:
        from nmtalign.aligner.preparation import training_pairs

        return training_pairs(
            lines,
            self._job,
            add_expert_links=add_expert_links,
            unit=self.unit,
            limit=self._limit,
            encoding=self._bitext.encoding,
        )

    def _expert_reader(self, bad_records: BadRecords) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """Return a function that adds the links of --expert to the pairs; None without --expert."""
        expert = self._job.settings.expert
        if expert is None:
            return None
        return partial(
            model_options.with_expert,
            expert=str(expert),
            encoding=self._bitext.encoding,
            unit=self.unit,
            text_settings=self._job.text_settings,
            languages=self._job.settings.languages,
            bad=bad_records,
        )


def _align(
    text: _TrainingText,
    result: TrainingResult,
    aligner: na.Aligner,
    client: Client | None,
    directions: Mapping[str, Extraction],
) -> AlignedChunk:
    """Return the links of the training text, and those of directions, without its lines."""
    from nmtalign.run.stream import AlignedChunk

    # the links of an expert are not read a second time, so such a text is aligned here
    if client is None or aligner.expert is not None:
        batches = _align_here(text, result, aligner, directions)
    else:
        batches = _align_on_cluster(client, text, aligner, directions)
    return AlignedChunk(
        first=0,
        lines=[],
        batch=batches[0],
        coverage=None,
        text_settings=SPACE_SETTINGS if text.unit.aligned_unit == "words" else aligner.text_settings,
        languages=aligner.languages,
        unit=text.unit,
        directions=dict(zip(directions, batches[1:], strict=True)),
    )


def _align_here(
    text: _TrainingText, result: TrainingResult, aligner: na.Aligner, directions: Mapping[str, Extraction]
) -> list[na.AlignedBatch]:
    from nmtalign.corpus.regrouping import regroup_batch
    from nmtalign.links.selection import ANY_LINKS

    batches = result.align([aligner.resolved_extraction, *directions.values()], text.unit.aligned_unit)
    if not text.unit.expands:
        return batches
    into_pieces = text.pieces.regroupings()
    return [regroup_batch(batch, into_pieces, one_link=ANY_LINKS) for batch in batches]


def _align_on_cluster(
    client: Client, text: _TrainingText, aligner: na.Aligner, directions: Mapping[str, Extraction]
) -> list[na.AlignedBatch]:
    from nmtalign.links.alignments import concatenate_batches
    from nmtalign.run.cluster import align_unit_on_cluster
    from nmtalign.run.stream import ChunkContents

    chunks = na.iter_chunks(text.pairs_again())
    contents = ChunkContents(directions=directions)
    parts = align_unit_on_cluster(client, aligner, chunks, unit=text.unit, contents=contents)
    batches = [[part.batch, *(part.directions or {}).values()] for part in parts]
    return [concatenate_batches(list(of_text)) for of_text in zip(*batches, strict=True)]


def _write_links(
    aligned: AlignedChunk, text: _TrainingText, paths: Mapping[str, str], files: AtomicFiles
) -> None:
    """Write the links of the training text and what belongs to them; a table needs the lines again."""
    for name, path in paths.items():
        write = open_sink(name, path, files, escape_formulas=False, unit=text.unit.name)
        chunks = _with_pairs_again(aligned, text.pairs_again()) if name == "table" else [aligned]
        for chunk in chunks:
            write(chunk)


def _with_pairs_again(aligned: AlignedChunk, pairs: Iterator[Any]) -> Iterator[AlignedChunk]:
    """Yield the parts of the training text, with their lines."""
    for first, lines in chunk_pairs(pairs):
        yield aligned._replace(first=first, lines=lines, batch=aligned.batch[first : first + len(lines)])


def _open_job(learning: TrainingSettings, bitext: BitextOptions, bad_records: BadRecords) -> TrainingJob:
    """Open the files that the settings name."""
    from nmtalign.aligner.training_job import open_training_job
    from nmtalign.links.formats import check_unit, read_link_records

    def read_gold_file(path: str | Path) -> list[na.GoldAlignment]:
        check_unit(path, encoding=bitext.encoding)
        records = read_link_records(path, encoding=bitext.encoding, on_error=bad_records.add)
        return [record.gold for record in bad_records.track(records)]

    languages = learning.languages
    if languages == (None, None) and learning.init is None and bitext.pairs is not None:
        languages = named_languages(bitext.open())  # of a translation memory, or as --sides names them
    learning = replace(learning, languages=languages)
    job = open_training_job(learning, encoding=bitext.encoding, read_gold_file=read_gold_file)
    source, target = map(known_language, texts.languages_in_paths(bitext.source, bitext.target))
    on_bad_gold = bad_records.add_to if bad_records.are_marked else None
    return replace(job, languages_of_files=(source, target), on_bad_gold=on_bad_gold)


@contextmanager
def _kept_for_resuming(run: TrainingRun, model: Path) -> Iterator[None]:
    """Raise a StoppedError if something from outside stops a run that the same command can resume.

    It says what is kept: the `model`, if it is saved, or checkpoints. The state of a run that cannot be
    resumed is removed.
    """
    from nmtalign.run.shards import stopped_as_resumable

    try:
        yield
    except (KeyboardInterrupt, OSError, WorkerError) as error:
        if not run.has_progress:
            run.remove()
            if isinstance(error, KeyboardInterrupt):
                why = "the first checkpoint is written after the first iteration"
                raise NmtalignError(f"interrupted, nothing is kept yet: {why}") from None
            raise
        kept = f"the model in {model} is complete" if run.has_saved(model) else None
        with stopped_as_resumable(run.folder, kept=kept, again="the same command"):
            raise
    except BaseException:
        if not run.has_progress:
            run.remove()
        raise


def _log_checkpoints(run: TrainingRun) -> None:
    """Say from the beginning that the work is kept, and whether it goes on with what was kept."""
    if run.has_progress:
        log(f"resuming the stopped run whose checkpoints are in {run.folder}", event="resumed")
        return
    stopped = "to resume a stopped run, repeat the command"
    log(f"checkpoints are in {run.folder} until the model is complete; {stopped}", event="checkpoints")


def _watch_findings(
    findings: RunFindings, bitext: BitextOptions, bad_records: BadRecords, *, strict: bool
) -> Iterator[SentencePair]:
    """Yield the pairs of a bitext and count what is wrong with them; if `strict`, an error ends the run."""
    yield from findings.watched(bad_records.track(bitext.read(bad_records.add)))
    if strict and (error := findings.first_error):
        raise DataError(error.describe(files_of_sides(bitext)))


def _log_next_commands(bitext: BitextOptions, outputs: OutputOptions, without_links: int) -> None:
    """Log what was written, and the commands that a newcomer needs next."""
    done: list[str] = []
    if outputs.links not in (None, "-"):
        unlinked = f", {unlinked_clause(without_links)}" if without_links else ""
        done.append(f"links in {outputs.links}{unlinked}")
    if outputs.output is not None:
        files = _files_as_arguments(bitext)
        folder = shlex.quote(outputs.output)
        report, links = unused_path("report.html"), unused_path("new_links.txt")
        done.append(f"to inspect the links: nmtalign report {files} --model {folder} -o {report}")
        done.append(f"to align new text: nmtalign align NEW_SOURCE NEW_TARGET --model {folder} -o {links}")
    if done:
        log("; ".join(done), event="next")


def _files_as_arguments(bitext: BitextOptions) -> str:
    """Return the files of the bitext as a command line names them."""
    files = shlex.join(bitext.files if bitext.pairs is None else ["--pairs", bitext.pairs])
    return files if bitext.encoding == "utf-8" else f"{files} --encoding {bitext.encoding}"


def _log_quality(
    aligner: na.Aligner,
    lines: Sequence[SentencePair],
    job: TrainingJob,
    bitext: BitextOptions,
    outputs: OutputOptions,
    pieces: SubwordMarks | None,
) -> None:
    """Log the error rate to expect, what would lower a high one, and how to find out more.

    Nothing is said where nothing was measured: of an expert, and of gold links, which teach another style.
    """
    if len(lines) < MIN_PAIRS_FOR_QUALITY or aligner.expert is not None or job.settings.gold is not None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the same text; they were shown before
        batch = aligner.align_batch(lines, pieces=pieces)
    if not len(batch.source):
        return
    expected = na.evaluate(batch)
    text = expected.sentence
    settings = job.settings
    has_knowledge = any(
        given is not None for given in (settings.prior, settings.word_encoder, settings.vectors)
    )
    if expected.dense.aer > MAX_GOOD_ERROR and not has_knowledge:
        text += "; more text, a dictionary (--prior), or --word-encoder would help"
    if outputs.output is not None and bitext.pairs is None:
        files = _files_as_arguments(bitext)
        counts_words = outputs.count in (None, "words") and outputs.spm is None
        links = "LINKS"
        if counts_words and outputs.links not in (None, "-"):
            links = shlex.quote(str(outputs.links))
        command = f"nmtalign evaluate {links} {files} --model {shlex.quote(outputs.output)}"
        text += f"; to know more: {command}"
    log(text, event="expected", dense=list(expected.dense.intervals["aer"]))
