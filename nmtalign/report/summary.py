"""The head of a report: sizes, scores against gold links, and other systems, with what may be chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from nmtalign.links.alignments import Alignment
from nmtalign.links.evaluation import Difference, Evaluation, compare, evaluate
from nmtalign.report.sample import SamplePair
from nmtalign.report.style import visible

OWN = "these links"  # the name of the links that a report is made with
LEVEL = 0.05  # of significance, shared among all pairs of systems
_NAMES = {"precision": "Precision", "recall": "Recall", "f1": "F1", "aer": "AER"}


class Figure(NamedTuple):
    """A number to show: its name, its value, a note, and half of its interval where it has one."""

    name: str
    value: str
    note: str = ""
    margin: str = ""


def headline(figures: Sequence[Figure]) -> str:
    """Return the figures of a report in one line: its size and the error, else the agreement, else the score.

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
    """Return sizes and mean scores of the pairs of a report, scores against gold, F1 with other systems."""
    known = [(pair.aligned.alignment, pair.gold) for pair in pairs if pair.gold is not None]
    scores = evaluation_figures(evaluate(*zip(*known, strict=True))) if known else []
    others = pairs[0].others if pairs else ()
    shared = [_agreement(name, [(p.aligned.alignment, p.others[name]) for p in pairs]) for name in others]
    return [*_sizes(pairs), *scores, *shared]


def evaluation_figures(evaluation: Evaluation, *, where: str = "") -> list[Figure]:
    """Return the four scores of an evaluation in per cent, with their 95 % bootstrap intervals.

    >>> evaluation_figures(evaluate(["0-0"] * 3, ["0-0"] * 3))[-1]
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


def _agreement(name: str, links: Sequence[tuple[Alignment, Alignment]]) -> Figure:
    both = sum(len(ours.links & theirs.links) for ours, theirs in links)
    ours, theirs = (sum(len(pair[side]) for pair in links) for side in (0, 1))
    value = f"{200 * both / (ours + theirs):.1f} %" if ours + theirs else "–"
    note = f"{both:,} both, {ours - both:,} only here, {theirs - both:,} only there"
    return Figure(f"F1 with {name}", value, note)


@dataclass(frozen=True)
class Comparison:
    """Systems on the same pairs, best first; by how much the AER of one is above that of one before it."""

    systems: dict[str, Evaluation]
    differences: dict[tuple[str, str], Difference]

    @classmethod
    def of(cls, systems: Mapping[str, Evaluation]) -> Comparison:
        """Compare evaluations two by two; those with the same error stay in their order."""
        ordered = dict(sorted(systems.items(), key=lambda entry: entry[1].aer))
        pairs = combinations(ordered, 2)
        return cls(ordered, {(a, b): compare(ordered[a], ordered[b])["aer"] for a, b in pairs})

    @property
    def verdict(self) -> str:
        """Which system makes the fewest errors, and beside which others that may be chance.

        >>> half, whole = (evaluate([links] * 9, ["0-0 1-1"] * 9) for links in ("0-0", "0-0 1-1"))
        >>> Comparison.of({"A": half, "B": whole}).verdict
        'Fewer errors in B than in A: AER 0.0 for 33.3 %, p = .001'
        >>> Comparison.of({"A": half, "B": half}).verdict
        'The difference is within chance: AER of A 33.3 %, of B (33.3 %, p = 1)'
        """
        best, *others = self.systems
        p = {name: self.differences[best, name].p for name in others}
        rates = {name: f"{100 * one.aer:.1f}" for name, one in self.systems.items()}
        told = {name: f"{name} ({rates[name]} %, p = {told_p(p[name])})" for name in others}
        sure = [name for name in others if p[name] < LEVEL / len(self.differences)]
        chance = " and ".join(told[name] for name in others if name not in sure)
        if sure == others[:1] == others:
            errors = f"AER {rates[best]} for {rates[others[0]]} %"
            return f"Fewer errors in {best} than in {others[0]}: {errors}, p = {told_p(p[others[0]])}"
        if sure:
            worse = " and ".join(told[name] for name in sure)
            line = f"Fewer errors in {best} (AER {rates[best]} %) than in {worse}"
            return f"{line}; the difference to {chance} is within chance" if chance else line
        are = "difference is" if len(others) == 1 else "differences are"
        return f"The {are} within chance: AER of {best} {rates[best]} %, of {chance}"


def told_p(p: float) -> str:
    """Return a probability as papers write it.

    >>> [told_p(p) for p in (0.000999, 0.0123, 0.3, 1.0)]
    ['.001', '.01', '.30', '1']
    """
    return "1" if p > 0.995 else f"{p:.{3 if p < 0.0095 else 2}f}".lstrip("0")


def evaluations(pairs: Sequence[SamplePair]) -> dict[str, Evaluation]:
    """Evaluate the links, and those of each other system, over the pairs that have gold."""
    known = [(pair, pair.gold) for pair in pairs if pair.gold is not None]
    golds = [gold for _, gold in known]
    systems = {OWN: [pair.aligned.alignment for pair, _ in known]}
    systems |= {name: [pair.others[name] for pair, _ in known] for name in (pairs[0].others if known else ())}
    return {name: evaluate(links, golds) for name, links in systems.items()} if known else {}


def comparison_data(systems: Mapping[str, Evaluation]) -> dict[str, Any] | None:
    """Return what the page says of systems; None where there are not two with an error that is known.

    A row is a name, the number of links, precision, recall, AER and half of its interval. Between two rows
    stands how much the AER of the second is above that of the first, with its interval and p-value.
    """
    known = {name: one for name, one in systems.items() if not math.isnan(one.aer)}
    if len(known) < 2:
        return None
    comparison = Comparison.of(known)
    order = list(comparison.systems)
    differences = {}
    for (a, b), one in comparison.differences.items():
        numbers = [round(100 * x, 4) for x in (one.value, *one.interval)]
        differences[f"{order.index(a)}-{order.index(b)}"] = (*numbers, told_p(one.p))
    return {
        "verdict": visible(comparison.verdict),
        "pairs": len(comparison.systems[order[0]].sentences),
        "rows": [_row(name, one) for name, one in comparison.systems.items()],
        "differences": differences,
    }


def _row(name: str, one: Evaluation) -> tuple[Any, ...]:
    low, high = one.intervals["aer"]
    shares = (*map(one.score, ("precision", "recall", "aer")), (high - low) / 2)
    return visible(name), one.counts.links, *(None if math.isnan(x) else round(100 * x, 4) for x in shares)
