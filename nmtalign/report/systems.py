"""Several systems against the same gold links: their scores, and which differences are more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from nmtalign.links.evaluation import Difference, Evaluation, compare, evaluate
from nmtalign.report.sample import SamplePair
from nmtalign.report.style import visible

OWN = "these links"  # the name of the links that a report is made with
LEVEL = 0.05  # of significance, shared among all pairs of systems


@dataclass(frozen=True)
class Comparison:
    """Systems on the same pairs, best first, and the difference in AER of each two of them.

    Attributes
    ----------
    systems : dict of str to Evaluation
    differences : dict of (str, str) to Difference
        How much the error of the second is above that of the first.
    """

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

        Examples
        --------
        >>> half, whole = (evaluate([links] * 9, ["0-0 1-1"] * 9) for links in ("0-0", "0-0 1-1"))
        >>> Comparison.of({"A": half, "B": whole}).verdict
        'B makes fewer errors than A: AER 0.0 for 33.3 %, p = .001'
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
            return f"{best} makes fewer errors than {others[0]}: {errors}, p = {told_p(p[others[0]])}"
        if sure:
            worse = " and ".join(told[name] for name in sure)
            line = f"{best} (AER {rates[best]} %) makes fewer errors than {worse}"
            return f"{line}; the difference to {chance} is within chance" if chance else line
        are = "difference is" if len(others) == 1 else "differences are"
        return f"The {are} within chance: AER of {best} {rates[best]} %, of {chance}"


def told_p(p: float) -> str:
    """Return a probability as papers write it.

    Examples
    --------
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
    found = Comparison.of(known)
    order = list(found.systems)
    return {
        "verdict": visible(found.verdict),
        "pairs": len(found.systems[order[0]].sentences),
        "rows": [_row(name, one) for name, one in found.systems.items()],
        "differences": {
            f"{order.index(a)}-{order.index(b)}": (
                *(round(100 * x, 4) for x in (one.value, *one.interval)),
                told_p(one.p),
            )
            for (a, b), one in found.differences.items()
        },
    }


def _row(name: str, one: Evaluation) -> tuple[Any, ...]:
    low, high = one.intervals["aer"]
    shares = (*map(one.score, ("precision", "recall", "aer")), (high - low) / 2)
    return visible(name), one.counts.links, *(None if math.isnan(x) else round(100 * x, 4) for x in shares)
