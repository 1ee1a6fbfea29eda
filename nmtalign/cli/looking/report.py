"""``nmtalign report``: a sample of an aligned corpus as one HTML file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nmtalign.cli.messages import Progress, log, warn
from nmtalign.cli.options.bitext import BitextOptions, bitext_options
from nmtalign.cli.options.declare import COMPARED, INPUT, OUTPUT, Values, Whole, command, option, option_group
from nmtalign.cli.options.sources import RecordOptions, covered, pick, record_options, warn_of_coverage
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.links.evaluation import Evaluation
    from nmtalign.report.corpus import Record
    from nmtalign.report.sample import Figure

SAMPLE = 200  # pairs shown when nothing else is asked for

_sample_options = option_group(
    "drawn",
    option("--sample N", Whole(min=1), f"Show N random pairs.  [{SAMPLE}]"),
    option("--sample-seed", Whole(min=0), "Seed of --sample.", default=1),
    option("--worst N", Whole(min=1), "Show the N worst pairs of the corpus."),
    option("--by WHAT", str, "Worst by score, gold or the NAME of a system.  [score]"),
)


@command(
    bitext_options,
    "Input",
    option("--compare NAME=LINKS", COMPARED, "Links of another system.", multiple=True),
    option("--corrections JSONL", INPUT, "Links corrected in a report of this text."),
    _sample_options,
    "Output",
    option("-o --output HTML", OUTPUT, "The report.", required=True),
    option("--title", str, "Title of the page.", default="Word alignment"),
    record_options,
)
def report(bitext: BitextOptions, drawn: Values, chosen: RecordOptions, output: str, **page: Any) -> None:
    """Write an HTML report of aligned pairs: words and curves, weights, gold, other systems, figures.

    The file holds everything it needs and loads nothing from a network.

    Example: nmtalign report text.en text.fr -o report.html --gold gold.txt --worst 50 --by gold
    """
    from nmtalign.report.corpus import show
    from nmtalign.report.html import write_report

    by_hand = {"--lines": chosen.lines, "--sample": drawn.sample, "--worst": drawn.worst}
    given = [name for name, value in by_hand.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other; choose the pairs in one way")
    if drawn.by is not None and drawn.worst is None:
        raise UsageError("--by is what the --worst pairs are the worst by; give --worst N")
    with Progress("pairs", bitext.files) as progress:
        pairs = progress.counted(bitext.open())
        aligner, records = chosen.open(pairs, _systems(page.pop("compare")))
        gold: list[str] = []
        if chosen.gold is not None:
            records = _noted(records, gold)
        if chosen.lines is None:
            kept, page["corpus"], page["systems"] = _choose(records, aligner, drawn)
        else:
            kept = list(pick(records, chosen.lines))
        with Progress("pairs shown") as ready:
            known: list[Coverage] = []
            shown = show(ready.done_one_by_one(covered(kept, aligner, known)), aligner)
        deque(pairs if chosen.gold is None else records, maxlen=0)  # to its end
        total = progress.done
        write_report(output, shown, gold=gold or [""] * total, **page)
    warn_of_coverage(known)
    with_scorers = sum(bool(pair.parts) for pair in shown)
    if 0 < with_scorers < len(shown):
        warn(f"only the first {with_scorers:,} pairs have the weights of each scorer, to keep the page small")
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
    records: Iterator[Record], aligner: Aligner | None, drawn: Values
) -> tuple[list[Record], list[Figure], dict[str, Evaluation] | None]:
    """Return the records to show, and figures and evaluations of the whole corpus where it was aligned."""
    from nmtalign.report.corpus import random_sample, worst_sample
    from nmtalign.report.sample import OWN, Figure, evaluation_figures

    if drawn.worst is None:
        return random_sample(records, drawn.sample or SAMPLE, seed=drawn.sample_seed), [], None
    by = drawn.by or "score"
    worst = worst_sample(records, drawn.worst, aligner, by=by)
    figures = [Figure("Pairs in the corpus", f"{worst.size:,}", f"the worst by {by} are shown")]
    if OWN in worst.evaluations:
        figures += evaluation_figures(worst.evaluations[OWN], where=" of the corpus")
    return worst.records, figures, worst.evaluations
