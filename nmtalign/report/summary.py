"""The figures at the head of a report: sizes, scores against gold links, agreement with other systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nmtalign.links.alignments import Alignment
from nmtalign.links.evaluation import Evaluation, evaluate
from nmtalign.report.sample import SamplePair

_NAMES = {"precision": "Precision", "recall": "Recall", "f1": "F1", "aer": "AER"}


class Figure(NamedTuple):
    """A number to show: its name, its value, a note, and half of its interval where it has one."""

    name: str
    value: str
    note: str = ""
    margin: str = ""


def headline(figures: Sequence[Figure]) -> str:
    """Return the figures of a report in one line: its size and the error, else the agreement, else the score.

    Examples
    --------
    >>> aer = Figure("AER", "6.6 %", "95 % interval 5.8 to 7.4", "± 0.8")
    >>> headline([Figure("Pairs shown", "200"), aer])
    '200 pairs, AER 6.6 % ± 0.8'
    """
    known = {figure.name: figure for figure in figures}
    size = known["Pairs shown"].value
    line = f"{size} pair{'s' * (size != '1')}"
    if "AER" in known:
        return f"{line}, AER {known['AER'].value} {known['AER'].margin}"
    agreement = [f"{name} {known[name].value}" for name in known if name.startswith("F1 with ")]
    score = [f"mean pair score {known[name].value}" for name in known if name == "Mean pair score"]
    return ", ".join([line, *(agreement or score)])


def summarize(pairs: Sequence[SamplePair]) -> list[Figure]:
    """Return sizes and mean scores of the pairs of a report; with gold also precision, recall, F1 and AER."""
    return [*_sizes(pairs), *_against_gold(pairs), *_against_others(pairs)]


def evaluation_figures(evaluation: Evaluation, *, where: str = "") -> list[Figure]:
    """Return the four scores of an evaluation in per cent, with their 95 % bootstrap intervals.

    Examples
    --------
    >>> from nmtalign import GoldAlignment
    >>> gold = GoldAlignment({(0, 0)}, {(0, 0)})
    >>> evaluation_figures(evaluate([{(0, 0)}] * 3, [gold] * 3))[-1]
    Figure(name='AER', value='0.0 %', note='95 % interval 0.0 to 0.0', margin='± 0.0')
    """
    figures = []
    for metric, name in _NAMES.items():
        low, high = evaluation.intervals[metric]
        note = f"95 % interval {100 * low:.1f} to {100 * high:.1f}"
        value, margin = f"{100 * getattr(evaluation, metric):.1f} %", f"± {50 * (high - low):.1f}"
        figures.append(Figure(f"{name}{where}", value, note, margin))
    return figures


def _sizes(pairs: Sequence[SamplePair]) -> list[Figure]:
    alignments = [pair.aligned.alignment for pair in pairs]
    source, target = (sum(getattr(a, f"{side}_length") for a in alignments) for side in ("source", "target"))
    scores = [pair.aligned.score for pair in pairs if pair.aligned.score is not None]
    figures = [
        Figure("Pairs shown", f"{len(pairs):,}"),
        Figure("Words", f"{source + target:,}", f"{source:,} source, {target:,} target"),
        Figure("Links", f"{sum(map(len, alignments)):,}"),
    ]
    if scores:
        spread = f"{min(scores):.2f} to {max(scores):.2f}"
        figures.append(Figure("Mean pair score", f"{np.mean(scores):.2f}", spread))
    return figures


def _against_gold(pairs: Sequence[SamplePair]) -> list[Figure]:
    """Return the scores of the links over the pairs that have gold."""
    known = [(pair.aligned.alignment, pair.gold) for pair in pairs if pair.gold is not None]
    return evaluation_figures(evaluate(*zip(*known, strict=True))) if known else []


def _against_others(pairs: Sequence[SamplePair]) -> list[Figure]:
    """Return how much of the links each other system shares."""
    return [
        _agreement(name, [(p.aligned.alignment, p.others[name]) for p in pairs]) for name in _others(pairs)
    ]


def _others(pairs: Sequence[SamplePair]) -> Mapping[str, Alignment]:
    return pairs[0].others if pairs else {}


def _agreement(name: str, links: Sequence[tuple[Alignment, Alignment]]) -> Figure:
    both = sum(len(ours.links & theirs.links) for ours, theirs in links)
    ours, theirs = (sum(len(pair[side]) for pair in links) for side in (0, 1))
    value = f"{200 * both / (ours + theirs):.1f} %" if ours + theirs else "–"
    return Figure(
        f"F1 with {name}", value, f"{both:,} both, {ours - both:,} only here, {theirs - both:,} only there"
    )
