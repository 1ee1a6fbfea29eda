"""``nmtalign evaluate``: score links against gold links, or estimate their scores without gold."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import nmtalign as na
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, print_json, print_text, printable, warn
from nmtalign.cli.model_options import check_folder
from nmtalign.cli.texts import BitextOptions, LinkedLine, LinkedText, PairsOptions
from nmtalign.corpus.unit_fit import UnitFit
from nmtalign.declarations import argument, setting
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.links import evaluation
from nmtalign.links.alignments import links_inside
from nmtalign.links.evaluation import Difference, compare_evaluations, count_matches
from nmtalign.links.formats import check_unit, read_link_records, read_links, stated_unit
from nmtalign.links.gold import are_corrections, read_corrections
from nmtalign.links.saved_tables import is_batch_file, read_saved_links
from nmtalign.links.scoring import (
    METRICS,
    STYLES,
    Bootstrap,
    Counts,
    ExpectedEvaluation,
    LinkPairs,
    compare_expected,
)
from nmtalign.names import ReadLinksFormat
from nmtalign.text.tokenization import SPACE_SETTINGS

# If shifting all positions by one lowers the error rate by this much, one of the files counts from 1.
MIN_SHIFT_GAIN = 0.1
MIN_COVERED_BY_GOLD = 0.5  # words with a gold link, as a share of the words up to the last gold link
MIN_PAIRS_OUTSIDE = 5  # fewer pairs with links beyond the last gold link may be errors in single lines


@dataclass(frozen=True, kw_only=True)
class ScoredOptions(PairsOptions):
    """The links that are scored, and the gold links, or the text."""

    section = "Input"

    links: str = argument(kind="input")
    gold: str | None = argument(kind="input", required=False, metavar="[GOLD|SOURCE]")
    target: str | None = argument(kind="input", required=False)
    links_format: ReadLinksFormat = setting(
        "pharaoh", "--links-format", "Format of LINKS and of the --compare file."
    )
    gold_format: ReadLinksFormat = setting(
        "pharaoh",
        "--gold-format",
        "Format of GOLD; in pharaoh (from 0) and talp (from 1), 3-4 is sure and 3p4 possible.",
    )
    compare: str | None = setting(
        None,
        "--compare LINKS2",
        "Also score LINKS2, and test whether the difference is significant.",
        kind="input",
    )
    model: str | None = setting(
        None,
        "--model DIR",
        "Learned model that judges LINKS of the text SOURCE TARGET, without gold links.",
        kind="input",
        section="Without gold links",
    )
    curve: str | None = setting(
        None,
        "--curve FILE",
        "Write precision against recall over thresholds: .png, .svg, .pdf, or a table .tsv; LINKS is a file"
        " of align --posteriors.",
        kind="output",
        section="Output",
    )
    by_sentence: bool = setting(
        False, "--by-sentence", "First print a table with the scores of each sentence pair.", section="Output"
    )
    json: bool = setting(False, "--json", "Print one JSON object.", section="Output")


@command("evaluate")
def evaluate_command(scored: ScoredOptions) -> None:
    """Score LINKS against GOLD: precision, recall, F1 and alignment error rate, in percent.

    Without gold links, pass the text instead (SOURCE TARGET, or --pairs) and a --model that knows it. The
    scores that gold links would give are then estimated, for two styles of annotation: sure and possible
    links, or dense links, which join each word that has a counterpart. LINKS may be a file of align
    --posteriors, which needs neither text nor model.

    \b
    Example: nmtalign evaluate links.txt gold.pharaoh
             nmtalign evaluate links.txt text.en text.fr --model model
             nmtalign evaluate posteriors.npz
             nmtalign evaluate posteriors.npz gold.pharaoh --curve curve.png
    """
    if scored.curve is not None:
        _check_curve(scored.curve, scored.links)
    gold = scored.gold
    of_text = scored.model, scored.target, scored.pairs, scored.sides
    if gold is None or any(option is not None for option in of_text):
        _evaluate_without_gold(scored)
        return

    links, compare = scored.links, scored.compare
    golds, systems = _read_scored(scored, gold)
    if scored.curve is not None:
        _write_curve(scored.curve, links, golds)
    _check_units(scored, gold)
    if scored.gold_format == "pharaoh" and are_corrections(gold):
        golds, systems = _keep_reviewed(gold, golds, systems, scored.encoding)
    bootstrap = Bootstrap()
    results = {}
    for path, system in systems.items():
        try:
            results[path] = evaluation.evaluate(system, golds, bootstrap=bootstrap)
        except DataError as error:
            raise error.at(path) from None
        _warn_of_shift(path, system, golds, results[path].aer)
        _warn_of_unit(path, gold, system, golds)
        _warn_of_undefined(path, gold, results[path].counts)
    if scored.json:
        _print_json(results, bootstrap)
        return
    if scored.by_sentence:
        _print_sentences(results)
    if compare is None:
        _print_summary(results[links], bootstrap.confidence)
    else:
        _print_comparison(results, evaluation.compare_evaluations(*results.values(), bootstrap=bootstrap))
    settings = f"{results[links].settings}|format:{scored.links_format}|gold:{scored.gold_format}"
    print_text(f"settings    {settings}|version:{na.__version__}")


def _evaluate_without_gold(scored: ScoredOptions) -> None:
    """Estimate the scores of LINKS, and of the --compare file, by a model; UsageError if it misses a text."""
    text = BitextOptions(
        source=scored.gold,
        target=scored.target,
        pairs=scored.pairs,
        sides=scored.sides,
        encoding=scored.encoding,
    )
    has_text = scored.target is not None or scored.pairs is not None
    needs_model = has_text or scored.gold is not None or scored.model is not None
    if needs_model and (scored.model is None or not has_text):
        missing = "--model DIR" if scored.model is None else "the text, SOURCE TARGET or --pairs FILE"
        example = "nmtalign evaluate LINKS SOURCE TARGET --model DIR"
        raise UsageError(f"without gold links, a model of the text judges: {example}; add {missing}")
    if scored.by_sentence or scored.gold_format != "pharaoh" or scored.curve is not None:
        needs_gold = "--by-sentence, --gold-format and --curve need gold links"
        raise UsageError(f"{needs_gold}; remove them, or write: nmtalign evaluate LINKS GOLD")
    paths = [path for path in (scored.links, scored.compare) if path is not None]
    if scored.model is None:
        results = _estimate_files(paths)
    else:
        results = _judge_files(paths, text, model=scored.model, format=scored.links_format)
    _print_expected(results, as_json=scored.json)


def _print_json(results: dict[str, na.Evaluation], bootstrap: Bootstrap) -> None:
    """Print the scores of each file, and the differences of two files (second minus first)."""
    found: dict[str, Any] = {"files": {path: result.to_dict() for path, result in results.items()}}
    if len(results) == 2:
        differences = compare_evaluations(*results.values(), bootstrap=bootstrap)
        found["differences"] = {metric: asdict(difference) for metric, difference in differences.items()}
    print_json(found)


def _read_scored(
    scored: ScoredOptions, gold: str
) -> tuple[Sequence[na.GoldAlignment], dict[str, list[frozenset[na.Link]]]]:
    """Return the gold links, and the links of each system."""
    golds: Sequence[na.GoldAlignment]
    if scored.gold_format == "pharaoh" and are_corrections(gold):
        golds = na.read_gold(gold, encoding=scored.encoding)
    else:
        records = read_link_records(gold, format=scored.gold_format, encoding=scored.encoding)
        golds = [record.gold for record in records]
    systems: dict[str, list[frozenset[na.Link]]] = {}
    for path in (scored.links, scored.compare):
        if path is not None:
            systems[path] = _links_of_file(path, scored, golds, gold)
    return golds, systems


def _links_of_file(
    path: str, scored: ScoredOptions, golds: Sequence[na.GoldAlignment], gold: str
) -> list[frozenset[na.Link]]:
    """Return the links of each pair in a file of links or of posteriors, whose words the gold has to fit."""
    links = list(read_links(path, format=scored.links_format, encoding=scored.encoding))
    if is_batch_file(path):
        _check_gold_fits(path, golds, gold)
    return links


def _check_gold_fits(path: str, golds: Sequence[na.GoldAlignment], gold: str) -> None:
    """Raise DataError with the line if gold links are outside of the words of a saved batch."""
    for number, (links, saved) in enumerate(zip(golds, read_saved_links(path), strict=False), 1):
        if saved.words is None:
            return
        try:
            links_inside(links.possible, *map(len, saved.words))
        except DataError as error:
            found = f"gold {error} in {path}; are both of the same text, and do both count the same words?"
            raise DataError(found).at(gold, line=number) from None


def _check_units(scored: ScoredOptions, gold: str) -> None:
    """Raise DataError if two files say that their positions count different units."""
    gold_unit = stated_unit(gold, format=scored.gold_format, encoding=scored.encoding)
    for path in (scored.links, scored.compare):
        if path is None:
            continue
        unit = stated_unit(path, format=scored.links_format, encoding=scored.encoding)
        if unit is not None and gold_unit is not None and unit != gold_unit:
            raise DataError(f"expected links of {gold_unit}, as in {gold}, found links of {unit}").at(path)


def _keep_reviewed(
    gold: str,
    golds: Sequence[na.GoldAlignment],
    systems: dict[str, list[frozenset[na.Link]]],
    encoding: str,
) -> tuple[Sequence[na.GoldAlignment], dict[str, list[frozenset[na.Link]]]]:
    """Return the gold links and the links of the pairs that were reviewed."""
    if any(len(system) != len(golds) for system in systems.values()):
        return golds, systems  # the evaluation raises an error, as for any gold of another length
    numbers = sorted(read_corrections(gold, encoding=encoding))
    log(f"scored on the {len(numbers):,} of {len(golds):,} pairs that were reviewed", event="reviewed")
    reviewed_golds = [golds[number - 1] for number in numbers]
    reviewed_systems: dict[str, list[frozenset[na.Link]]] = {}
    for path, system in systems.items():
        reviewed_systems[path] = [system[number - 1] for number in numbers]
    return reviewed_golds, reviewed_systems


def _warn_of_shift(
    path: str, system: Sequence[LinkPairs], golds: Sequence[na.GoldAlignment], aer: float
) -> None:
    """Warn where links fit the gold better one position on or back: one of the files counts from 1."""
    for step, moved in (1, "higher"), (-1, "lower"):
        shifted: list[set[tuple[int, int]]] = []
        for links in system:
            shifted.append({(source + step, target + step) for source, target in links})
        shifted_aer = sum(count_matches(shifted, golds), Counts()).aer
        if shifted_aer < aer - MIN_SHIFT_GAIN:
            error = f"the alignment error rate of {path} would be {100 * shifted_aer:.1f} %"
            advice = "if a file counts positions from 1, as talp does, set --links-format or --gold-format"
            warn(f"if all positions were one {moved}, {error}; {advice}")


def _warn_of_unit(
    path: str, gold: str, system: Sequence[frozenset[na.Link]], golds: Sequence[na.GoldAlignment]
) -> None:
    """Warn where links end long before or after gold links that cover most words."""
    fit = UnitFit("units of the gold")
    for number, (links, gold_links) in enumerate(zip(system, golds, strict=True), 1):
        positions = [{link[side] for link in gold_links.possible} for side in (0, 1)]
        source_length, target_length = (max(linked, default=-1) + 1 for linked in positions)
        covered = sum(map(len, positions)) / max(source_length + target_length, 1)
        if covered >= MIN_COVERED_BY_GOLD:
            fit.add(number, links, (source_length, target_length))
    advice = "`nmtalign check --links` shows the unit of the links"
    if fit.outside > fit.inside and fit.outside >= MIN_PAIRS_OUTSIDE:
        warn(f"{path} and {gold} may count different units: {fit.example}; {advice}")
    elif fit.misses_ends:
        rate = f"the last position of {gold} is linked in only {100 * fit.end_rate:.0f} % of the lines"
        warn(f"{path} and {gold} may count different units: {rate}; {advice}")


def _warn_of_undefined(path: str, gold: str, counts: Counts) -> None:
    """Warn about scores that are undefined."""
    if not counts.links:
        warn(f"{path} has no links, so precision and F1 are undefined")
    if not counts.sure:
        warn(f"{gold} has no sure links, so recall and F1 are undefined")


def _print_sentences(results: dict[str, na.Evaluation]) -> None:
    """Print one row per sentence pair and file of links, separated by tabs; NaN is an undefined score."""
    counted = ("links", "sure", "in_sure", "in_possible")
    print_text("\t".join(("file", "line", *METRICS, *counted)))
    for path, result in results.items():
        for number, counts in enumerate(result.sentences, 1):
            scores = [f"{100 * getattr(counts, metric):.2f}" for metric in METRICS]
            numbers = [str(getattr(counts, column)) for column in counted]
            print_text("\t".join([printable(path), str(number), *scores, *numbers]))
    print_text()


def _format_percent(value: float, interval: tuple[float, float], sign: str = "") -> str:
    if math.isnan(value):
        return "undefined"
    low, high = interval
    return f"{100 * value:{sign}6.2f}  [{100 * low:{sign}.2f}, {100 * high:{sign}.2f}]"


def _print_summary(result: na.Evaluation, confidence: float) -> None:
    print_text(f"            percent [{100 * confidence:g} % interval]")
    for metric, interval in result.intervals.items():
        print_text(f"{metric:<12}{_format_percent(result.score(metric), interval)}")
    counts = result.counts
    links = f"{counts.links} ({counts.in_possible} possible, {counts.in_sure} sure)"
    print_text(f"pairs {len(result.sentences)}, links {links}, sure gold links {counts.sure}")


def _print_comparison(results: dict[str, na.Evaluation], differences: dict[str, Difference]) -> None:
    """Print the scores of both files, their differences (second minus first), and the p-values."""
    rows = [["", *map(printable, results), "difference", "p"]]
    for metric, difference in differences.items():
        row = [metric]
        for result in results.values():
            row.append(_format_percent(result.score(metric), result.intervals[metric]))
        row.append(_format_percent(difference.value, difference.interval, "+"))
        row.append("" if math.isnan(difference.p) else f"{difference.p:.4f}")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print_text("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


# --- the scores of each threshold ----------------------------------------------------------------


def _check_curve(path: str, links: str) -> None:
    """Raise UsageError if a curve cannot be written to `path`, or the file `links` has no posteriors."""
    from nmtalign.report.drawing import CURVE_FORMATS
    from nmtalign.report.style import check_picture_suffix

    check_picture_suffix(path, CURVE_FORMATS)
    if not is_batch_file(links):
        advice = "write them with align --posteriors FILE, and pass this file as LINKS"
        raise UsageError(f"--curve needs posteriors, and {links} has links; {advice}")


def _write_curve(path: str, posteriors: str, golds: Sequence[na.GoldAlignment]) -> None:
    """Write the curve of a file of posteriors, and log the best threshold."""
    try:
        curve = na.evaluate(na.open_batch(posteriors), golds, curve=True)
    except (UsageError, DataError) as error:
        raise DataError(str(error)).at(posteriors) from None
    curve.save(path)
    best, present = curve.best, curve.present
    log(
        f"the best F1 is {100 * best.f1:.2f} %, at --threshold {best.threshold:g};"
        f" the links of {posteriors} have {100 * present.f1:.2f} %; the curve is in {path}",
        event="curve",
        threshold=best.threshold,
        f1=best.f1,
        present_f1=present.f1,
    )


# --- scores without gold links -------------------------------------------------------------------


MAX_JUDGED_PAIRS = 10_000  # of a longer text, a random sample is judged


def _estimate_files(paths: Sequence[str]) -> dict[str, ExpectedEvaluation]:
    """Return the expected scores of files of posteriors, each by the probabilities of its own aligner."""
    results = {}
    for path in paths:
        if not is_batch_file(path):
            expected = "expected GOLD, or the text, SOURCE TARGET or --pairs FILE, and --model DIR"
            found = f"a file of align --posteriors needs neither, but {path} is not one"
            raise UsageError(f"{expected}; {found}")
        try:
            results[path] = na.evaluate(na.open_batch(path))
        except (DataError, UsageError) as error:
            raise DataError(str(error)).at(path) from None
    return results


def _judge_files(
    paths: Sequence[str], text: BitextOptions, *, model: str, format: ReadLinksFormat
) -> dict[str, ExpectedEvaluation]:
    """Return the expected scores of files of links of the same text, by the probabilities of a model.

    DataError with the file and the line if a file has links of another text, unit or number of lines.
    """
    check_folder("model", model)
    aligner = na.load(model)
    samples = {path: _read_sample(path, text, format) for path in paths}
    lines = [record.lines for record in samples[paths[0]]]
    judge = na.fit_to(aligner, lines).align_batch(lines)
    results = {}
    for path, sample in samples.items():
        try:
            results[path] = na.evaluate([record.pair.links for record in sample], judge=judge)
        except DataError as error:
            raise error.at(path) from None
    return results


def _read_sample(path: str, text: BitextOptions, format: ReadLinksFormat) -> list[LinkedLine]:
    """Return pairs of a text with their links; all of them are read and checked."""
    from nmtalign.aligner.preparation import RandomSample

    check_unit(path, format=format, encoding=text.encoding)
    linked_text = LinkedText(text, path, SPACE_SETTINGS, format)
    sample: RandomSample[LinkedLine] = RandomSample(MAX_JUDGED_PAIRS)
    deque(sample.watched(linked_text.read(BadRecords())), maxlen=0)  # to its end
    judged = sample.items
    if sample.seen > len(judged):
        found = f"{path}: judged on {len(judged):,} of {sample.seen:,} pairs at random"
        log(found, event="sample", pairs=sample.seen)
    return judged


def _print_expected(results: dict[str, ExpectedEvaluation], *, as_json: bool) -> None:
    """Print the scores of one or two files in both styles of annotation, and which file is better."""
    try:
        verdict = compare_expected(*results.values()) if len(results) == 2 else None
    except DataError as error:
        raise error.at(" and ".join(results)) from None
    if as_json:
        found: dict[str, Any] = {"files": {path: result.to_dict() for path, result in results.items()}}
        if verdict is not None:
            better = None if verdict.better is None else list(results)[verdict.better]
            found["verdict"] = {**asdict(verdict), "better": better}
        print_json(found)
        return
    for path, result in results.items():
        if verdict is not None:
            print_text(printable(path))
        _print_table(result)
    if verdict is not None:
        print_text(verdict.describe([printable(path) for path in results]))


def _print_table(result: ExpectedEvaluation) -> None:
    """Print the expected scores, one row per score and one column per style."""
    print_text("expected    " + "  ".join(f"{name:<24}" for name in STYLES.values()).rstrip())
    for metric in METRICS:
        cells = []
        for style in STYLES:
            scores = result.styles[style]
            low, high = scores.intervals[metric]
            cells.append(f"{100 * scores.score(metric):5.1f}  [{100 * low:.1f}, {100 * high:.1f}]")
        print_text(f"{metric:<12}" + "  ".join(f"{cell:<24}" for cell in cells).rstrip())
    confidence = f"{100 * result.bootstrap.confidence:g} % intervals"
    print_text(f"pairs {result.pairs}, {confidence}, estimated without gold links")
    print_text(f"settings    {result.settings}|version:{na.__version__}")
