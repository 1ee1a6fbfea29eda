"""``nmtalign evaluate`` without gold links: expected scores of links, or of a file of posteriors alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import nmtalign as na
from nmtalign.cli.bad_records import BadRecords
from nmtalign.cli.messages import log, print_json, print_text, printable
from nmtalign.cli.model_options import check_folder
from nmtalign.cli.texts import BitextOptions, LinkedText, unit_of_links
from nmtalign.errors import DataError, UsageError
from nmtalign.names import ReadLinksFormat

if TYPE_CHECKING:
    from nmtalign.cli.texts import LinkedLine
    from nmtalign.links.expected_scores import ExpectedEvaluation

MAX_JUDGED_PAIRS = 10_000  # of a longer text, a random sample is judged


def estimate_files(paths: Sequence[str]) -> dict[str, ExpectedEvaluation]:
    """Return the expected scores of files of posteriors, each by the probabilities of its own aligner."""
    from nmtalign.decoding.saved_batches import is_batch_file

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


def judge_files(
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
    from nmtalign.text.tokenization import SPACE_SETTINGS

    unit = unit_of_links(path, format=format, encoding=text.encoding)
    if unit not in (None, "words"):
        raise DataError(f"expected links of space-separated words, found links of {unit}").at(path)
    linked_text = LinkedText(text, path, SPACE_SETTINGS, format)
    sample: RandomSample[LinkedLine] = RandomSample(MAX_JUDGED_PAIRS)
    deque(sample.watched(linked_text.read(BadRecords())), maxlen=0)  # to its end
    judged = sample.items
    if sample.seen > len(judged):
        found = f"{path}: judged on {len(judged):,} of {sample.seen:,} pairs at random"
        log(found, event="sample", pairs=sample.seen)
    return judged


def print_expected(results: dict[str, ExpectedEvaluation], *, as_json: bool) -> None:
    """Print the scores of one or two files in both styles of annotation, and which file is better."""
    from nmtalign.links.expected_scores import compare_expected

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
    from nmtalign.links.expected_scores import STYLES
    from nmtalign.links.scoring import METRICS

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
