"""``nmtalign report``: a sample of an aligned corpus as one HTML file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli.messages import Progress, log, warn, warnings_to_stderr
from nmtalign.cli.options.bitext import BitextOptions, bitext_options
from nmtalign.cli.options.declare import COMPARED, INPUT, OUTPUT, SEED, Command, Whole, option_group, section
from nmtalign.cli.options.records import RecordOptions, covered, record_options, warn_of_coverage
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.links.evaluation import Evaluation
    from nmtalign.report.corpus import Record
    from nmtalign.report.sample import Figure, SamplePair

SAMPLE = 200  # pairs shown when nothing else is asked for


@dataclass(frozen=True)
class SampleOptions:
    """Which pairs of a corpus are shown."""

    sample: int | None
    sample_seed: int
    worst: int | None
    by: str | None


_sample_options = option_group(
    "drawn",
    SampleOptions,
    click.option("--sample", metavar="N", type=Whole(min=1), help=f"Show N random pairs.  [{SAMPLE}]"),
    click.option("--sample-seed", type=SEED, default=1, help="Seed of --sample."),
    click.option("--worst", metavar="N", type=Whole(min=1), help="Show the N worst pairs of the corpus."),
    click.option("--by", metavar="WHAT", help="Worst by score, gold or the NAME of a system.  [score]"),
)


@click.command(cls=Command)
@bitext_options
@section("Input")
@click.option(
    "--compare", type=COMPARED, metavar="NAME=LINKS", multiple=True, help="Links of another system."
)
@click.option("--corrections", type=INPUT, metavar="JSONL", help="Links corrected in a report of this text.")
@_sample_options
@section("Output")
@click.option("-o", "--output", type=OUTPUT, metavar="HTML", required=True, help="The report.")
@click.option("--title", default="Word alignment", help="Title of the page.")
@record_options
def report(
    bitext: BitextOptions,
    output: str,
    compare: tuple[str, ...],
    corrections: str | None,
    drawn: SampleOptions,
    title: str,
    chosen: RecordOptions,
) -> None:
    """Write an HTML report of aligned pairs: words and curves, weights, gold, other systems, figures.

    The file holds everything it needs and loads nothing from a network.

    Example: nmtalign report text.en text.fr -o report.html --gold gold.txt --worst 50 --by gold
    """
    from nmtalign.report.corpus import show
    from nmtalign.report.html import write_report

    _check_choice(chosen.lines, drawn)
    with warnings_to_stderr(), Progress("pairs", bitext.files) as progress:
        pairs = progress.counted(bitext.open())
        aligner, records = chosen.open(pairs, _systems(compare))
        gold: list[str] = []
        if chosen.gold is not None:
            records = _noted(records, gold)
        if chosen.lines is None:
            kept, figures, systems = _choose(records, aligner, drawn)
        else:
            kept, figures, systems = list(chosen.chosen(records)), [], None
        with Progress("pairs shown") as ready:
            known: list[Coverage] = []
            shown = show(ready.done_one_by_one(covered(kept, aligner, known)), aligner)
        deque(pairs if chosen.gold is None else records, maxlen=0)  # to its end
        total = progress.done
        about: Any = {"title": title, "corpus": figures, "systems": systems}
        write_report(output, shown, gold=gold or [""] * total, corrections=corrections, **about)
    warn_of_coverage(known)
    _say_where_heads_end(shown)
    of = f" of {total:,}" if len(shown) < total else ""
    drawn_by = " at random" if of and chosen.lines is None and drawn.worst is None else ""
    text = f"{len(shown):,}{of} pairs{drawn_by} in {output}, {progress.seconds:.1f} s; open it in a browser"
    log(text, event="report", pairs=len(shown))


def _noted(records: Iterator[Record], lines: list[str]) -> Iterator[Record]:
    """Yield records, and note the gold links of each as a line."""
    from nmtalign.links.formats import format_gold

    for record in records:
        lines.append(format_gold(record.gold) if record.gold else "")
        yield record


def _say_where_heads_end(shown: list[SamplePair]) -> None:
    with_scorers = sum(bool(pair.parts) for pair in shown)
    if 0 < with_scorers < len(shown):
        warn(f"only the first {with_scorers:,} pairs have the weights of each scorer, to keep the page small")


def _check_choice(lines: tuple[int, ...] | None, drawn: SampleOptions) -> None:
    ways = (("--lines", lines), ("--sample", drawn.sample), ("--worst", drawn.worst))
    given = [name for name, value in ways if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other; choose the pairs in one way")
    if drawn.by is not None and drawn.worst is None:
        raise UsageError("--by is what the --worst pairs are the worst by; give --worst N")


def _systems(compare: tuple[str, ...]) -> dict[str, str]:
    """Parse NAME=LINKS."""
    from nmtalign.report.sample import OWN

    systems: dict[str, str] = {}
    for entry in compare:
        name, equals, path = entry.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--compare wants NAME=LINKS, found {entry!r}")
        if name in systems or name in ("gold", "score", OWN):
            raise UsageError(f"--compare: the name {name!r} is taken; give each system a name of its own")
        systems[name] = path
    return systems


def _choose(
    records: Iterator[Record],
    aligner: Aligner | None,
    drawn: SampleOptions,
) -> tuple[list[Record], list[Figure], dict[str, Evaluation] | None]:
    """Return the records to show, and figures and evaluations of the whole corpus where it was aligned."""
    from nmtalign.report.corpus import random_sample, worst_sample
    from nmtalign.report.sample import OWN, Figure, evaluation_figures

    if drawn.worst is None:
        return random_sample(records, drawn.sample or SAMPLE, seed=drawn.sample_seed), [], None
    by = drawn.by or "score"
    found = worst_sample(records, drawn.worst, aligner, by=by)
    figures = [Figure("Pairs in the corpus", f"{found.size:,}", f"the worst by {by} are shown")]
    if OWN in found.evaluations:
        figures += evaluation_figures(found.evaluations[OWN], where=" of the corpus")
    return found.records, figures, found.evaluations
