"""``nmtalign report``: write a page of aligned pairs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path

import nmtalign as na
from nmtalign.checks.findings import Finding
from nmtalign.checks.lines import find_in_lines
from nmtalign.cli import parameter_types
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress, warn
from nmtalign.cli.records import (
    RecordOptions,
    pick_lines,
    with_unknown_words_warning,
)
from nmtalign.cli.texts import BitextOptions, languages_in_paths
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.links.formats import format_gold
from nmtalign.links.gold import TextFingerprint
from nmtalign.report.chosen_pairs import CorpusRecord, align_for_report, worst_sample
from nmtalign.report.page_content import OWN_LINKS, Statistic, evaluation_statistics
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import chunk_pairs
from nmtalign.text.languages import known_language
from nmtalign.text.tokenization import SPACE_SETTINGS

PAIRS_CHECKED_TOGETHER = 100  # a few, so that someone who types pairs does not wait
DEFAULT_SAMPLE_PAIRS = 300  # pairs shown when nothing else is asked for


@dataclass(frozen=True, kw_only=True)
class SampleOptions(Settings):
    """The choice of the pairs that are shown."""

    section = "Input"

    sample: int | None = setting(
        None, "--sample N", f"Show a random sample of N pairs.  [{DEFAULT_SAMPLE_PAIRS}]", minimum=1
    )
    worst: int | None = setting(None, "--worst N", "Show the N worst pairs of the corpus.", minimum=1)
    by: str | None = setting(
        None, "--by WHAT", "Criterion of --worst: score, gold or the NAME of a system.  [score]"
    )


@dataclass(frozen=True, kw_only=True)
class PageOptions(Settings):
    """The page, and the links with which it compares."""

    section = "Output"

    output: str = setting(MISSING, "-o --output HTML", "File to which the report is written.", kind="output")
    compare: tuple[str, ...] = setting(
        None,
        "--compare NAME=LINKS",
        "Also show the links of another system; may be repeated.",
        type=parameter_types.COMPARED,
        section="Input",
    )
    corrections: str | None = setting(
        None,
        "--corrections JSONL",
        "Show links that were corrected in a report of this text.",
        kind="input",
        section="Input",
    )


@command("report")
def report_command(
    bitext: BitextOptions,
    errors: ErrorOptions,
    drawn: SampleOptions,
    page: PageOptions,
    chosen: RecordOptions,
) -> None:
    """Write an HTML report of aligned pairs.

    The report shows links as curves between words, attention weights, gold links, links of other systems, and
    summary figures. It is a single file that loads nothing from a network.

    Example: nmtalign report text.en text.fr -o report.html --gold gold.txt --worst 50 --by gold
    """
    _check_sample(chosen.lines, drawn)
    systems = _parse_systems(page.compare)
    _check_criterion(drawn.by, chosen.gold, systems)
    bitext = bitext.with_languages_of(chosen.options.model)
    with AtomicFiles() as files, open_progress("pairs", bitext.files) as progress:
        bad = errors.open(files)
        key = TextFingerprint(chosen.pieces)
        findings: list[Finding] = []
        lines = progress.count(bad.track(bitext.read(bad.add)))
        pairs = _add_to_fingerprint(_watch_lines(lines, findings), key)
        names = bitext.source, bitext.target
        aligner, records = chosen.open(pairs, bitext.encoding, bad, systems, files=names)
        gold: list[str] = []
        if chosen.gold is not None:
            records = _collect_gold(records, gold)
        kept, statistics, evaluations = _choose_records(records, aligner, chosen.lines, drawn)
        with open_progress("pairs shown") as shown_progress:
            known = with_unknown_words_warning(kept, aligner, is_model_implicit=chosen.options.path is None)
            records_shown = shown_progress.done_one_by_one(known)
            shown = _with_languages(align_for_report(records_shown, aligner), *names)
        has_links = chosen.gold is not None or bool(systems)
        deque(records if has_links else pairs, maxlen=0)  # to its end
        total = progress.done
        na.write_report(
            page.output,
            shown,
            corrections=page.corrections,
            gold=gold or [""] * total,
            corpus=statistics,
            systems=evaluations,
            text=str(key),
            findings=findings,
            about=_about(bitext, chosen, aligner),
        )
    with_scorers = sum(bool(pair.parts) for pair in shown)
    if 0 < with_scorers < len(shown):
        warn(f"only the first {with_scorers:,} pairs show the weights of each scorer, to keep the page small")
    pairs_shown = with_plural(len(shown), "pair")
    if len(shown) < total:
        is_random = chosen.lines is None and drawn.worst is None
        pairs_shown = f"{len(shown):,} of {total:,} pairs" + (" at random" if is_random else "")
    text = f"{pairs_shown} in {page.output}, {progress.seconds:.1f} s; open it in a browser"
    log(text, event="report", pairs=len(shown))
    errors.say(bad)


def _with_languages(
    pairs: list[na.SamplePair], source: str | None, target: str | None
) -> list[na.SamplePair]:
    """Return pairs with the languages that the names of the files tell, where their aligner knows none."""
    first, second = map(known_language, languages_in_paths(source, target))
    if first is None or second is None or not pairs or any(pairs[0].aligned.languages):
        return pairs
    return [replace(pair, aligned=replace(pair.aligned, languages=(first, second))) for pair in pairs]


def _about(bitext: BitextOptions, chosen: RecordOptions, aligner: na.Aligner | None) -> str:
    """Return the names of the text and of what aligned it, without their folders."""
    text = ", ".join(Path(path).name for path in bitext.files)
    if chosen.attention is not None:
        return f"{text} · attention of {Path(chosen.attention).name}"
    path = chosen.options.path
    paths = [path] if isinstance(path, str) else list(path or ())
    names = ", ".join(Path(part).resolve().name for part in paths)
    if not names:
        names = "multilingual" if aligner is None or not any(aligner.languages) else "English-French, bundled"
    return f"{text} · model {names}"


def _check_sample(lines: Sequence[int] | None, drawn: SampleOptions) -> None:
    """Raise UsageError if the pairs are chosen in several ways, or --by has nothing to sort."""
    choices = {"--lines": lines, "--sample": drawn.sample, "--worst": drawn.worst}
    used = [name for name, value in choices.items() if value]
    if len(used) > 1:
        raise UsageError(f"{' and '.join(used)} cannot be combined; remove one")
    if drawn.by is not None and drawn.worst is None:
        raise UsageError("--by sorts the pairs of --worst; add --worst N")


def _check_criterion(by: str | None, gold: str | None, systems: Mapping[str, str]) -> None:
    """Raise UsageError if the links that --by compares with are missing."""
    if by == "gold" and gold is None:
        raise UsageError("--by gold requires --gold FILE; add it")
    if by not in (None, "score", "gold", *systems):
        raise UsageError(f"--by {by} requires --compare {by}=LINKS; add it")


def _watch_lines(pairs: Iterable[SentencePair], findings: list[Finding]) -> Iterator[SentencePair]:
    """Yield sentence pairs, and add what is wrong with their lines to the findings."""
    for chunk in chunk_pairs(pairs, chunk_size=PAIRS_CHECKED_TOGETHER):
        findings += find_in_lines(chunk.lines, chunk.first)
        yield from chunk.lines


def _add_to_fingerprint(pairs: Iterable[SentencePair], key: TextFingerprint) -> Iterator[SentencePair]:
    """Yield sentence pairs, and add the space-separated words of each to the key of the text."""
    for pair in pairs:
        key.add(*SPACE_SETTINGS.words_of_pair(pair))
        yield pair


def _collect_gold(records: Iterator[CorpusRecord], lines: list[str]) -> Iterator[CorpusRecord]:
    """Yield records, and note the gold links of each as a line."""
    for record in records:
        lines.append(format_gold(record.gold) if record.gold else "")
        yield record


def _parse_systems(compare: tuple[str, ...]) -> dict[str, str]:
    """Parse NAME=LINKS."""
    systems: dict[str, str] = {}
    for entry in compare:
        name, _, path = entry.partition("=")
        if not (name and path):
            raise UsageError(f"--compare must be NAME=LINKS, found {entry!r}")
        if name in systems or name in ("gold", "score", OWN_LINKS):
            raise UsageError(
                f"--compare: the name {name!r} is already used; choose another name for this system"
            )
        systems[name] = path
    return systems


def _choose_records(
    records: Iterator[CorpusRecord],
    aligner: na.Aligner | None,
    lines: Sequence[int] | None,
    drawn: SampleOptions,
) -> tuple[list[CorpusRecord], list[Statistic], dict[str, na.Evaluation] | None]:
    """Return the records to show, and statistics and evaluations of the whole corpus where it was aligned."""
    from nmtalign.aligner.preparation import random_sample

    if lines is not None:
        return list(pick_lines(records, lines)), [], None
    if drawn.worst is None:
        return random_sample(records, drawn.sample or DEFAULT_SAMPLE_PAIRS), [], None
    by = drawn.by or "score"
    worst = worst_sample(records, drawn.worst, aligner, by=by)
    statistics = [Statistic("Pairs in the corpus", f"{worst.size:,}", f"the worst by {by} are shown")]
    if OWN_LINKS in worst.evaluations:
        statistics += evaluation_statistics(worst.evaluations[OWN_LINKS], where=" of the corpus")
    return worst.records, statistics, worst.evaluations
