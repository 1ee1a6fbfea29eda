"""``nmtalign evaluate``: precision, recall, F1 and AER of links against gold links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.declare import INPUT, Number, Whole, argument, command, option
from nmtalign.cli.messages import log, warn
from nmtalign.errors import DataError
from nmtalign.names import READ_LINKS

if TYPE_CHECKING:
    from nmtalign.links.evaluation import Difference, Links

METRICS = ("precision", "recall", "f1", "aer")
CLEAR = 0.1  # of the error rate: so much lower after a shift, positions are counted otherwise

_SHARE = Number(0, 1, min_open=True, max_open=True)


@command(
    "Input",
    argument("links", INPUT),
    argument("gold", INPUT),
    option("--links-format", READ_LINKS, "Format of LINKS and of --compare.", default="pharaoh"),
    option(
        "--gold-format",
        READ_LINKS,
        "Format of GOLD; in pharaoh (from 0) and talp (from 1), 3-4 is sure and 3p4 possible.",
        default="pharaoh",
    ),
    option("--compare LINKS2", INPUT, "Test the difference to these links."),
    texts.encoding_option,
    "Output",
    option("--by-sentence", bool, "First print a table with the scores of each sentence pair."),
    "Intervals",
    option("--samples", Whole(1), "Bootstrap samples.", default=1000),
    option("--confidence", _SHARE, "Share of the samples within an interval.", default=0.95),
    option("--seed", Whole(min=0), "Seed of the bootstrap.", default=1),
)
def evaluate(links: str, gold: str, compare: str | None, by_sentence: bool, **options: Any) -> None:
    """Score LINKS against GOLD: precision, recall, F1 and alignment error rate, in percent.

    Example: nmtalign evaluate links.txt gold.pharaoh
    """
    from nmtalign.links import evaluation
    from nmtalign.links.formats import are_corrections, read_links

    links_format, gold_format = options.pop("links_format"), options.pop("gold_format")
    golds = na.read_gold(gold, format=gold_format, encoding=texts.encoding())
    reading = {"format": links_format, "encoding": texts.encoding()}
    systems = {path: list(read_links(path, **reading)) for path in filter(None, (links, compare))}
    if gold_format == "pharaoh" and are_corrections(gold):
        golds, systems = _reviewed(gold, golds, systems)
    bootstrap = evaluation.Bootstrap(**options)
    results = {}
    for path, system in systems.items():
        try:
            results[path] = evaluation.evaluate(system, golds, bootstrap=bootstrap)
        except DataError as error:
            raise error.at(path) from None
        _warn_of_shift(path, system, golds, results[path].aer)
    if by_sentence:
        _print_sentences(results)
    if compare is None:
        _print_summary(results[links], bootstrap.confidence)
    else:
        _print_comparison(results, evaluation.compare(*results.values(), bootstrap=bootstrap))
    settings = f"{results[links].settings}|format:{links_format}|gold:{gold_format}"
    click.echo(f"settings    {settings}|version:{na.__version__}")


def _reviewed(
    gold: str, golds: list[na.GoldAlignment], systems: dict[str, list[frozenset[na.Link]]]
) -> tuple[list[na.GoldAlignment], dict[str, list[frozenset[na.Link]]]]:
    """Return the gold and the links of the pairs that were reviewed, of files with a line for each."""
    from nmtalign.links.formats import read_corrections

    if any(len(system) != len(golds) for system in systems.values()):
        return golds, systems  # refused as gold of any other length
    numbers = sorted(read_corrections(gold, encoding=texts.encoding()))
    log(f"scored on the {len(numbers):,} of {len(golds):,} pairs that were reviewed", event="reviewed")
    at = [n - 1 for n in numbers]
    return [golds[n] for n in at], {path: [system[n] for n in at] for path, system in systems.items()}


def _warn_of_shift(path: str, system: Sequence[Links], golds: list[na.GoldAlignment], aer: float) -> None:
    """Warn where links fit the gold better one position on or back: one of the files counts from 1."""
    from nmtalign.links.evaluation import Counts, count

    for step, moved in (1, "higher"), (-1, "lower"):
        shifted = [{(source + step, target + step) for source, target in links} for links in system]
        shifted_aer = sum(count(shifted, golds), Counts()).aer
        if shifted_aer < aer - CLEAR:
            hint = "does one of the files count from 1, as talp does? --links-format and --gold-format say so"
            error = f"the error of {path} would be {100 * shifted_aer:.1f} %"
            warn(f"with all positions one {moved}, {error}; {hint}")


def _print_sentences(results: dict[str, na.Evaluation]) -> None:
    """One row for each sentence pair and link file, between tabs; NaN is an unknown score."""
    columns = ("file", "line", *METRICS, "links", "sure", "in_sure", "in_possible")
    click.echo("\t".join(columns))
    for path, result in results.items():
        for number, counts in enumerate(result.sentences, 1):
            scores = (f"{100 * getattr(counts, metric):.2f}" for metric in METRICS)
            numbers = (getattr(counts, column) for column in columns[-4:])
            click.echo("\t".join(map(str, (path, number, *scores, *numbers))))
    click.echo()


def _percent(value: float, interval: tuple[float, float], sign: str = "") -> str:
    low, high = interval
    return f"{100 * value:{sign}6.2f}  [{100 * low:{sign}.2f}, {100 * high:{sign}.2f}]"


def _print_summary(result: na.Evaluation, confidence: float) -> None:
    click.echo(f"            percent [{100 * confidence:g} % interval]")
    for metric in METRICS:
        click.echo(f"{metric:<12}{_percent(getattr(result, metric), result.intervals[metric])}")
    counts = result.counts
    found = f"{counts.links} ({counts.in_possible} possible, {counts.in_sure} sure)"
    click.echo(f"pairs {len(result.sentences)}, links {found}, sure gold links {counts.sure}")


def _print_comparison(results: dict[str, na.Evaluation], differences: dict[str, Difference]) -> None:
    """The scores of both files, the second minus the first, and how likely that is by chance."""
    rows = [["", *results, "difference", "p"]]
    for metric in METRICS:
        scores = [_percent(getattr(result, metric), result.intervals[metric]) for result in results.values()]
        value, interval, p = differences[metric].value, differences[metric].interval, differences[metric].p
        rows.append([metric, *scores, _percent(value, interval, "+"), f"{p:.4f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
