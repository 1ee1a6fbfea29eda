"""For docs/quality.md: how good are scores without gold links? Fits :mod:`nmtalign.links.scoring`.

    python scripts/fit_expected_scores.py DATA

DATA is as for ``benchmark_aligners.py``. The gold lines of each family are aligned by models of these lines
with 0, 400, 1,000 and 5,000 pairs of other text, of both presets and with a word encoder (`use`); by models
of the other text alone; and by the bundled models. In the sets of `SPARSE`, gold links cover less than three
quarters of the words, so that they belong to neither style; they are judged, but take no part in the fit.

The first table has the errors of estimates on each family by a map that was fitted to the others, in points,
and how many true values the 90 % intervals contain, whose width comes from the others as well. The second
table has this share for texts of few pairs. The third has verdicts about two files of links: how often the
better one is told, and how often it is the right one.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _corpora import Pairs, corpora, languages_of, lines_of, markdown, sampled

import nmtalign as na
from nmtalign.links import scoring
from nmtalign.links.evaluation import count_matches
from nmtalign.links.inputs import as_gold
from nmtalign.links.scoring import METRICS, Bootstrap, LinkSignals

SPARSE = ("golden En-Es", "golden En-Pt")
WITH_POSSIBLE_LINKS = ("ALIBI", "NAACL")
SIZES = 0, 400, 1_000, 5_000
MIN_PAIRS = 90  # of gold text that is aligned alone
ENCODER = "use"
RIDGE = 3e-4
QUANTILE = 1.645  # 90 % of a normal distribution are within
QUANTILE_OF_FEW = 1.81  # 90 % of a t distribution with as many degrees of freedom as there are families
FEW_PAIRS = 10, 20, 50, 100
SAMPLES = 12  # small texts of each size that are drawn from a run
VARIANTS: tuple[dict[str, Any], ...] = (
    {"threshold": 0.3},
    {"threshold": 0.7},
    {"threshold": 0.9},
    {"extract": "argmax"},
    {"extract": "argmax-reverse"},
    {"extract": "mutual"},
    {"symmetrize": "union"},
    {"symmetrize": "grow-diag-final-and"},
)
Links = list[frozenset[na.Link]]


class Run(NamedTuple):
    """The gold lines of a family, as an aligner links them."""

    family: str
    name: str
    aligner: na.Aligner
    batch: na.AlignedBatch
    golds: list[na.GoldAlignment]

    @property
    def style(self) -> str:
        return "sure_possible" if self.family in WITH_POSSIBLE_LINKS else "dense"

    @property
    def links(self) -> Links:
        return [frozenset(self.batch.links(n)) for n in range(len(self.batch))]


# --- texts ---------------------------------------------------------------------------------------


def aligners(
    training: Pairs, pairs: Pairs, languages: tuple[str, str]
) -> Iterator[tuple[str, Callable[[], na.Aligner]]]:
    """Yield names, and functions that learn or open aligners."""

    def learn(text: Pairs, **settings: Any) -> na.Aligner:
        return na.train(*map(list, zip(*text, strict=True)), workers=1, languages=languages, **settings)

    gold_lines = set(pairs)
    other = [pair for pair in training if pair not in gold_lines]
    for size in sorted({min(size, len(training)) for size in SIZES}):
        if size == 0 and len(pairs) < MIN_PAIRS:
            continue
        text = [*(sampled(training, size) if size else []), *pairs]
        yield f"{size} fast", lambda text=text: learn(text, preset="fast")
        yield f"{size} default", lambda text=text: learn(text)
        if size in (0, 1_000):
            yield f"{size} word encoder", lambda text=text: learn(text, word_encoder=ENCODER)
        if size:
            new = sampled(other, min(size, len(other)))
            yield f"{size} new", lambda new=new: learn(new)
    yield "multilingual", lambda: na.fit_to(na.load("multilingual"), pairs)
    if languages == ("en", "fr"):
        yield "bundled", na.load


def runs(data: Path) -> Iterator[Run]:
    """Yield the runs of all families."""
    largest = {corpus.gold: (family, corpus) for family, corpus in corpora(data)}
    for gold, (family, corpus) in largest.items():
        golds = [as_gold(line) for line in lines_of(gold)]
        for name, learn in aligners(corpus.training, corpus.gold_text, languages_of(gold.parent)):
            print(f"{family}, {name}", file=sys.stderr, flush=True)
            aligner = learn()
            yield Run(family, name, aligner, aligner.align_batch(corpus.gold_text), golds)


# --- the map -------------------------------------------------------------------------------------


class Point(NamedTuple):
    """The signals and the true counts of the pairs of a run."""

    family: str
    style: str
    signals: LinkSignals
    counts: np.ndarray  # (N, 4): links, sure, in sure, in possible

    def of(self, rows: np.ndarray) -> Point:
        return self._replace(signals=LinkSignals(*(s[rows] for s in self.signals)), counts=self.counts[rows])

    @property
    def features(self) -> list[float]:
        total = self.signals.sums()
        unlinked = 1 - total.linked_words / total.words
        return [1.0, float(total.sure / total.links), float(unlinked), float(self.style != "dense")]

    @property
    def truth(self) -> dict[str, float]:
        links, sure, in_sure, in_possible = self.counts.sum(axis=0)
        precision, recall = in_possible / links, in_sure / sure
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        aer = 1 - (in_sure + in_possible) / (links + sure)
        return {"precision": precision, "recall": recall, "f1": f1, "aer": aer}


def logit(score: Any) -> Any:
    bounded = np.clip(score, 1e-3, 1 - 1e-3)
    return np.log(bounded / (1 - bounded))


def fitted(points: Sequence[Point]) -> dict[str, tuple[float, ...]]:
    """Return the coefficients of precision and recall; families weigh the same, and so do their runs."""
    runs_of = defaultdict(int)
    for point in points:
        runs_of[point.family] += 1
    weights = np.array([1 / runs_of[point.family] for point in points])[:, None]
    x = np.array([point.features for point in points])
    penalty = RIDGE * weights.sum() * np.diag([0, 1, 1, 1])
    found = {}
    for metric in ("precision", "recall"):
        y = logit([point.truth[metric] for point in points])
        solution = np.linalg.solve(x.T @ (weights * x) + penalty, x.T @ (weights[:, 0] * y))
        found[metric] = tuple(solution.round(3).tolist())
    return found


def estimates(point: Point, coefficients: dict[str, tuple[float, ...]]) -> dict[str, float]:
    """Return the scores that coefficients lead to expect."""
    scoring.COEFFICIENTS = coefficients
    return {metric: float(v) for metric, v in point.signals.sums().expected_scores(point.style).items()}


def spread(residuals: Sequence[tuple[str, float]]) -> float:
    """Return the standard deviation of the residual of another family, as if it were normal.

    Families weigh the same. As there are few of them, it is larger than that of the residuals.
    """
    of_families = defaultdict(list)
    for family, residual in residuals:
        of_families[family].append(residual**2)
    variance = np.mean([np.mean(squares) for squares in of_families.values()])
    return QUANTILE_OF_FEW / QUANTILE * float(np.sqrt((1 + 1 / len(of_families)) * variance))


def judge_map(points: Sequence[Point], families: Sequence[str]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Print the table of held-out errors; return the coefficients that were fitted without each family."""
    without = {
        family: fitted([p for p in points if p.family not in (family, *SPARSE)]) for family in families
    }
    residuals = defaultdict(list)  # of each metric, (family, logit of estimate - logit of truth)
    errors = defaultdict(lambda: defaultdict(list))
    for point in points:
        found, truth = estimates(point, without[point.family]), point.truth
        for metric in METRICS:
            errors[point.family][metric].append(found[metric] - truth[metric])
            residuals[metric].append((point.family, logit(found[metric]) - logit(truth[metric])))
    rows = [["family", "runs", *(f"{metric}: mean, absolute, inside" for metric in METRICS)]]
    of_families = defaultdict(list)
    sds = {}
    for metric in METRICS:
        sds[metric] = spread([(f, r) for f, r in residuals[metric] if f not in SPARSE])
    for family in families:
        cells = []
        for metric in METRICS:
            others = [(f, r) for f, r in residuals[metric] if f not in (family, *SPARSE)]
            width = QUANTILE * spread(others)
            inside = np.mean([abs(r) <= width for f, r in residuals[metric] if f == family])
            error = np.array(errors[family][metric])
            figures = 100 * error.mean(), 100 * np.abs(error).mean(), 100 * inside
            if family not in SPARSE:
                of_families[metric].append(figures)
            cells.append("{:+.1f}, {:.1f}, {:.0f} %".format(*figures))
        rows.append([family, str(len(errors[family]["aer"])), *cells])
    means = [np.mean(of_families[metric], axis=0) for metric in METRICS]
    rows.append(["mean without sparse sets", "", *("{:+.1f}, {:.1f}, {:.0f} %".format(*m) for m in means)])
    print(f"{markdown(rows)}\n\nSparse sets are {' and '.join(SPARSE)}.")
    print(f"\nHELD_OUT_SD = { ({metric: round(sd, 3) for metric, sd in sds.items()}) }")
    scoring.HELD_OUT_SD = sds
    return without


def judge_small_texts(points: Sequence[Point], without: dict[str, dict[str, tuple[float, ...]]]) -> None:
    """Print how many true values are inside the intervals of texts of few pairs."""
    random = np.random.default_rng(1)
    rows = [["pairs", *METRICS]]
    for size in FEW_PAIRS:
        inside = defaultdict(lambda: defaultdict(list))
        for point in points:
            if point.family in SPARSE or len(point.counts) < size:
                continue
            scoring.COEFFICIENTS = without[point.family]
            for _ in range(SAMPLES):
                part = point.of(random.permutation(len(point.counts))[:size])
                if not (part.counts[:, :2].sum(axis=0) > 0).all():
                    continue
                bootstrap = Bootstrap(samples=50, confidence=0.9)
                found = scoring.expected_evaluation(part.signals, is_judged=False, bootstrap=bootstrap)
                for metric, (low, high) in found.styles[point.style].intervals.items():
                    inside[metric][point.family].append(low <= part.truth[metric] <= high)
        shares = [np.mean([np.mean(of) for of in inside[metric].values()]) for metric in METRICS]
        rows.append([str(size), *(f"{100 * share:.0f} %" for share in shares)])
    print(f"\nTrue values inside the 90 % intervals of small texts:\n\n{markdown(rows)}")


# --- two files of links --------------------------------------------------------------------------


def aer(links: Links, golds: Sequence[na.GoldAlignment]) -> float:
    counts = count_matches(links, golds)
    return sum(counts[1:], counts[0]).aer


class Outcomes:
    """Counts of comparisons, of verdicts, and of right ones, by kind."""

    def __init__(self) -> None:
        self.of_kinds = defaultdict(lambda: defaultdict(list))

    def add(self, kind: str, family: str, better: int | None, errors: tuple[float, float]) -> None:
        right = None if better is None else errors[better] < errors[1 - better]
        if errors[0] != errors[1]:
            self.of_kinds[kind][family].append(right)

    def show(self) -> None:
        rows = [["files", "comparisons", "with a verdict", "right", "right in the worst family"]]
        for kind, of_families in self.of_kinds.items():
            told = {f: [r for r in found if r is not None] for f, found in of_families.items()}
            shares = [float(np.mean(found)) for found in told.values() if found]
            count = sum(map(len, of_families.values()))
            verdicts = sum(map(len, told.values()))
            right = sum(sum(found) for found in told.values())
            cells = [
                f"{100 * x:.0f} %" if shares else ""
                for x in (right / max(verdicts, 1), min(shares, default=0))
            ]
            rows.append([kind, str(count), f"{100 * verdicts / count:.0f} %", *cells])
        print(f"\nVerdicts:\n\n{markdown(rows)}")


def judge_verdicts(of_family: list[Run], outcomes: Outcomes, encoder_links: Path | None) -> None:
    """Compare the links of the runs of a family, and those of other methods."""
    bootstrap = Bootstrap(samples=100, confidence=0.9)
    golds = of_family[0].golds
    errors = {run.name: aer(run.links, golds) for run in of_family}
    for first, second in combinations(of_family, 2):
        own = [na.evaluate(run.batch, bootstrap=bootstrap) for run in (first, second)]
        found = scoring.compare_expected(*own)
        outcomes.add("two batches", first.family, found.better, (errors[first.name], errors[second.name]))
    for judge in of_family:
        if not judge.name.endswith("default"):
            continue
        pairs = [(" ".join(pair.tokens[0]), " ".join(pair.tokens[1])) for pair in judge.batch]
        files: list[tuple[str, Links]] = [("own", judge.links)]
        for settings in VARIANTS:
            batch = na.load(judge.aligner, **settings).align_batch(pairs)
            files.append(("own", [frozenset(batch.links(n)) for n in range(len(batch))]))
        files += [("other", run.links) for run in of_family if run.name != judge.name]
        if encoder_links is not None and encoder_links.exists():
            lines = lines_of(encoder_links)
            files.append(("encoder", [as_gold(line).sure for line in lines]))
        judged = []
        for kind, links in files:
            result = na.evaluate(links, judge=judge.batch, bootstrap=bootstrap)
            judged.append((kind, result, aer(links, golds)))
        for (kind, result, error), (other_kind, other, other_error) in combinations(judged, 2):
            found = scoring.compare_expected(result, other)
            name = f"one model: {' and '.join(sorted((kind, other_kind)))}"
            outcomes.add(name, judge.family, found.better, (error, other_error))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    points: list[Point] = []
    outcomes = Outcomes()
    of_family: list[Run] = []

    def finish_family() -> None:
        if of_family:
            names = {"Zh-En": "zhen_225", "Ja-En": "jaen_291"}
            name = names.get(of_family[0].family)
            links = None if name is None else options.data / "encoder_links" / f"{name}.pharaoh"
            judge_verdicts(of_family, outcomes, links)
            of_family.clear()

    for run in runs(options.data):
        if of_family and of_family[0].family != run.family:
            finish_family()
        of_family.append(run)
        counts = count_matches(run.links, run.golds)
        table = np.array([[c.links, c.sure, c.in_sure, c.in_possible] for c in counts], float)
        points.append(Point(run.family, run.style, na.evaluate(run.batch).signals, table))
    finish_family()
    families = list(dict.fromkeys(point.family for point in points))
    final = fitted([point for point in points if point.family not in SPARSE])
    without = judge_map(points, families)
    print(f"COEFFICIENTS = {final}")
    rates = [p.counts[:, 1].sum() / p.counts[:, 0].sum() for p in points if p.style == "sure_possible"]
    print(f"SURE_GOLD_PER_LINK = {np.mean(rates):.2f}")
    judge_small_texts(points, without)
    outcomes.show()


if __name__ == "__main__":
    main()
