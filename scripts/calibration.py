"""For docs/explanation/figures.md: are links given probability p right p of the time? Also fits them.

    python scripts/calibration.py DATA [--preset default] [--sizes 0 1000 10000] [--fit]

DATA is as for ``benchmark_aligners.py``. The gold lines of each family are aligned by a model of these lines
and of 0, 1,000, ... pairs of other text (text that was learned from), and by a model of the other text alone
(new text); where there is no other text, each half of the gold lines by a model of the other half.

With ``--fit``, curves of :mod:`nmtalign.decoding.probabilities` with fewer features are fitted to the
text that was learned from, and judged on the family that took no part in the fit; the last line has the
coefficients of all families together, which the product takes. The row before tells how much of the error is
the annotators': there each family has one constant more, so that its probabilities sum to its right links.

Expected calibration error: the mean over links of |mean probability - share of right links| of its bin
(Naeini et al. 2015, equation 1), in ten bins of equal width. Sure and possible links are right. Figures of a
family are means over its texts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _corpora import FAMILIES, Pairs, corpora, lines_of, markdown, parse_links, sampled

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus.text import encode_text
from nmtalign.decoding.probabilities import BISECTION_STEPS, LINK_COEFFICIENTS, MAX_GOLD_LOG_ODDS
from nmtalign.training.em import PRESET_HYPERPARAMETERS

BINS, NEWTON = 10, 100
Gold = list[tuple[set[str], set[str]]]


class Links(NamedTuple):
    """The links of a text, each array (L,)."""

    family: str
    name: str
    new: bool
    posterior: np.ndarray
    probability: np.ndarray
    evidence: np.ndarray
    right: np.ndarray
    size: float  # u of the training text

    @property
    def logit(self) -> np.ndarray:
        p = np.clip(self.posterior.astype(np.float64), 1e-6, 1 - 1e-6)
        return np.log(p / (1 - p))


# --- figures -------------------------------------------------------------------------------------


def expected_error(probability: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error.

    >>> round(expected_error(np.array([0.85, 0.85, 0.85, 0.75]), np.array([1.0, 1, 0, 1])), 4)
    0.2
    """
    numbers = np.minimum(BINS - 1, (probability * BINS).astype(int))
    gaps = np.bincount(numbers, probability, BINS) - np.bincount(numbers, right, BINS)
    return float(np.abs(gaps).sum() / len(right))


def area(probability: np.ndarray, right: np.ndarray) -> float:
    """Return how often a right link has a higher probability than a wrong one (AUC), ties counted half.

    >>> area(np.array([0.9, 0.5, 0.5]), np.array([1.0, 1, 0]))
    0.75
    """
    wrong = np.sort(probability[right == 0])
    good = probability[right == 1]
    below = np.searchsorted(wrong, good, "left") + np.searchsorted(wrong, good, "right")
    return float(below.sum() / (2 * max(1, len(wrong) * len(good))))


def figures(probability: np.ndarray, right: np.ndarray) -> list[float]:
    """Return calibration error, Brier score, mean probability, precision, and AUC."""
    brier = float(((probability - right) ** 2).mean())
    found = expected_error(probability, right), brier, float(probability.mean()), float(right.mean())
    return [*found, area(probability, right)]


def of_families(texts: Sequence[Links], probability: Callable[[Links], np.ndarray]) -> dict[str, np.ndarray]:
    """Return the mean figures of each family."""
    found: dict[str, list[list[float]]] = {}
    for text in texts:
        found.setdefault(text.family, []).append(figures(probability(text), text.right))
    return {family: np.mean(rows, axis=0) for family, rows in found.items()}


def row(name: str, values: np.ndarray) -> list[str]:
    return [name, *(f"{value:.3f}" for value in values)]


def summary(name: str, texts: Sequence[Links], probability: Callable[[Links], np.ndarray]) -> list[str]:
    """Return the row of the mean over families; behind the mean error stands the worst of a family."""
    values = np.stack(list(of_families(texts, probability).values()))
    cells = row(name, values.mean(axis=0))
    return [*cells[:2], f"{values[:, 0].max():.3f}", *cells[2:]]


HEAD = ["calibration error", "worst family", "Brier", "mean probability", "precision", "AUC"]


# --- texts ---------------------------------------------------------------------------------------


def families(data: Path) -> Iterator[tuple[str, Pairs, Pairs, Path]]:
    """Yield name, largest training text, gold text and gold links of each family."""
    largest = {corpus.gold: (family, corpus) for family, corpus in corpora(data)}
    for gold, (family, corpus) in largest.items():
        yield family, corpus.training, corpus.gold_text, gold


def learned(pairs: Pairs, preset: str) -> Aligner:
    words = [(source.split(" "), target.split(" ")) for source, target in pairs]
    return train_aligner(words, TrainingJob(PRESET_HYPERPARAMETERS[preset])).aligner


def links_of(family: str, name: str, new: bool, aligner: Aligner, pairs: Pairs, gold: Gold) -> Links:
    """Align gold lines."""
    words = [(source.split(" "), target.split(" ")) for source, target in pairs]
    text = encode_text([aligner.words_of(pair) for pair in words])
    decoder, columns = aligner.decoder_for_scores(aligner.scorer.score_text(text)), []
    for k, bucket in enumerate(text.buckets):
        (t, s, b), _, _, evidence = decoder.scored_links(k)
        found = decoder.links_of_bucket(k)
        number = text.sections.pair_of_section[bucket.sections[b]].tolist()
        triples = zip(number, s.tolist(), t.tolist(), strict=True)
        right = [f"{s}-{t}" in gold[n][1] for n, s, t in triples]
        columns.append((found.posterior, found.probability, evidence[t, s, b], np.array(right, float)))
    size = decoder.size.log_size
    return Links(family, name, new, *map(np.concatenate, zip(*columns, strict=True)), size)


def aligned(data: Path, preset: str, sizes: Sequence[int]) -> Iterator[Links]:
    """Align the gold lines of all families by models of several sizes."""
    for family, training, pairs, path in families(data):
        gold: Gold = [parse_links(line) for line in lines_of(path)]
        other = [pair for pair in training if pair not in set(pairs)]
        for size in sorted({min(size, len(training)) for size in sizes}):
            text = sampled(training, size)
            yield links_of(family, f"+{size}", False, learned([*text, *pairs], preset), pairs, gold)
            if size:
                text = sampled(other, min(size, len(other)))
                yield links_of(family, f"+{size}", True, learned(text, preset), pairs, gold)
        if not training:
            half = len(pairs) // 2
            for own, rest in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
                yield links_of(family, "half", True, learned(pairs[rest], preset), pairs[own], gold[own])


# --- curves --------------------------------------------------------------------------------------

Features = Callable[[Links], np.ndarray]  # (F, L)


def with_features(*names: str) -> Features:
    """Return a function that gives 1 and features of links."""
    return lambda text: np.stack(
        [np.ones(len(text.right)), *(getattr(text, n) + 0 * text.logit for n in names)]
    )


CURVES: dict[str, Features] = {
    "posterior": with_features("logit"),
    "posterior, evidence": with_features("logit", "evidence"),
    "posterior, evidence, size": with_features("logit", "evidence", "size"),
}


def fitted(texts: Sequence[Links], features: Features, capped: bool) -> np.ndarray:
    """Return the coefficients of greatest likelihood; families weigh the same, and so do their texts."""
    x = np.concatenate([features(text) for text in texts], axis=1)
    y, p = (np.concatenate([getattr(text, name) for text in texts]) for name in ("right", "logit"))
    count = {family: sum(text.family == family for text in texts) for family in FAMILIES}
    weight = np.concatenate([np.full(len(t.right), 1 / (count[t.family] * len(t.right))) for t in texts])
    a = np.zeros(len(x))
    for step in range(NEWTON):
        q = 1 / (1 + np.exp(-(a @ x)))
        free = weight * ((a @ x < p) | (not capped) | (step < NEWTON // 4))  # capped links do not move a
        a -= (
            np.linalg.solve((x * (free * q * (1 - q))) @ x.T + 1e-9 * np.eye(len(x)), x @ (free * (q - y)))
            / 2
        )
    return a


def curve(a: np.ndarray, features: Features, capped: bool) -> Callable[[Links], np.ndarray]:
    """Return the function that gives links their probability."""
    greatest = (lambda text: text.logit) if capped else (lambda text: np.inf)
    return lambda text: 1 / (1 + np.exp(-np.minimum(a @ features(text), greatest(text))))


def held_out(texts: Sequence[Links], features: Features, capped: bool) -> Callable[[Links], np.ndarray]:
    """Return the function that gives links the probability of a curve fitted without their family."""
    of_family = {
        family: curve(fitted([t for t in texts if t.family != family], features, capped), features, capped)
        for family in {text.family for text in texts}
    }
    return lambda text: of_family[text.family](text)


def with_own_constants(texts: Sequence[Links], features: Features) -> Callable[[Links], np.ndarray]:
    """Return the function of :func:`held_out`, each curve raised to the precision of its family."""
    raised = {}
    for family in {text.family for text in texts}:
        a = fitted([text for text in texts if text.family != family], features, True)
        own, (low, high) = (
            [text for text in texts if text.family == family],
            (-MAX_GOLD_LOG_ODDS, MAX_GOLD_LOG_ODDS),
        )
        for _ in range(BISECTION_STEPS):
            a_raised = a + (low + high) / 2 * (np.arange(len(a)) == 0)
            found = curve(a_raised, features, True)
            below = np.mean([(found(text) - text.right).mean() for text in own]) < 0
            low, high = ((low + high) / 2, high) if below else (low, (low + high) / 2)
        raised[family] = found
    return lambda text: raised[text.family](text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--sizes", nargs="+", type=int, default=[0, 1_000, 10_000])
    parser.add_argument("--fit", action="store_true", help="also fit curves, leaving out one family")
    options = parser.parse_args()
    texts = []
    for text in aligned(options.data, options.preset, options.sizes):
        print(f"{text.family} {text.name}{' new' if text.new else ''}", file=sys.stderr)
        texts.append(text)
    seen = [text for text in texts if not text.new]
    kinds = {"text learned from": seen, "new text": [text for text in texts if text.new], "both": texts}
    print("Mean of families:\n")
    rows = [["", *HEAD]]
    for kind, some in kinds.items():
        rows.append(summary(f"{kind}: posterior", some, lambda text: text.posterior))
        rows.append(summary(f"{kind}: probability", some, lambda text: text.probability))
    print(
        markdown(rows),
        "\n\nText learned from, by family; error of the posterior, figures of the probability:\n",
    )
    before = of_families(seen, lambda text: text.posterior)
    of_each = of_families(seen, lambda text: text.probability)
    rows = [[*row(family, before[family][:1]), *row("", of_each[family])[1:]] for family in of_each]
    print(markdown([["", "posterior", HEAD[0], *HEAD[2:]], *rows]))
    if options.fit:
        rows = [["curve", *HEAD]]
        for name, features in CURVES.items():
            for capped in (False, True):
                label = name + (", at most the posterior" if capped else "")
                rows.append(summary(label, seen, held_out(seen, features, capped)))
        raised = with_own_constants(seen, CURVES["posterior, evidence, size"])
        rows.append(summary("the same, and a constant by the family's own gold links", seen, raised))
        print(f"\nCurves fitted without the family that they are judged on:\n\n{markdown(rows)}")
        found = fitted(seen, CURVES["posterior, evidence, size"], True).round(2)
        print(f"\nOf all families: {found.tolist()}; the product has {list(LINK_COEFFICIENTS)}")


if __name__ == "__main__":
    main()
