"""For docs/explanation/figures.md: fit the coefficients of the probability that a sentence pair is parallel.

    python scripts/fit_parallelness.py WORK

WORK is the folder of ``benchmark_aligners.py`` after ``make``. From each text in SAMPLES a part is taken, a
tenth of its target lines change places, and a model is learned from it. Its pairs and those of another dirty
part that it has not seen, also with several lines joined to one, are what the coefficients of the module
``nmtalign/decoding/probabilities.py`` are fitted to, by logistic regression: each part weighs the same.
Copy what is printed into that module;
``scripts/evaluate_filtering.py`` then looks at other texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from _corpora import lines_of
from scipy.optimize import minimize

from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.decoding import decoder
from nmtalign.decoding.probabilities import pair_features
from nmtalign.settings import TrainingSettings
from nmtalign.text.tokenization import TextSettings

DOCUMENTS = (5, 15, 50)  # lines
SHARE = 0.1  # of the target lines that change places
RIDGE = 1e-5


class Sample(NamedTuple):
    """Lines of a text: the first, how many are learned from, how many are new."""

    text: str
    first: int
    learned: int
    new: int


SAMPLES = (
    Sample("a100k", 0, 10_000, 3_000),
    Sample("a100k", 20_000, 1_000, 1_000),
    Sample("a100k", 30_000, 300, 1_000),
    Sample("bicici_deen_100+10k", 0, 2_000, 1_000),
    Sample("a100k", 40_000, 25_000, 1_000),
)


def shuffled(lines: Sequence[str], seed: int) -> tuple[list[str], np.ndarray]:
    """Move a tenth of the lines that are not empty to the place of another; say which still are in theirs.

    >>> moved, kept = shuffled([str(n) for n in range(50)], 1)
    >>> [line == str(n) for n, line in enumerate(moved)] == kept.tolist(), int(kept.sum())
    (True, 45)
    """
    full = [number for number, line in enumerate(lines) if line.strip()]
    chosen = np.random.default_rng(seed).choice(full, int(len(full) * SHARE), replace=False)
    result = list(lines)
    for place, source in zip(chosen, np.roll(chosen, 1), strict=True):
        result[place] = lines[source]
    return result, np.array([line == own for line, own in zip(result, lines, strict=True)], dtype=bool)


def documents(lines: Sequence[str], size: int) -> list[str]:
    """Join the lines of each document."""
    return [" ".join(lines[start : start + size]) for start in range(0, len(lines), size)]


def features_of(work: Path, sample: Sample, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the features (6, N) of pairs and which are parallel: of the text learned from, of new parts."""
    stop = sample.first + sample.learned + sample.new
    source, target = (lines_of(work / sample.text / side)[sample.first : stop] for side in ("src", "tgt"))
    texts = [(source[: sample.learned], target[: sample.learned])]
    new = source[sample.learned :], target[sample.learned :]
    texts += [(documents(new[0], size), documents(new[1], size)) for size in (1, *DOCUMENTS)]
    dirty = [(source, *shuffled(target, seed)) for source, target in texts]
    found = train_aligner(zip(*dirty[0][:2], strict=True), TrainingJob(settings=TrainingSettings(workers=1)))
    result: list[tuple[np.ndarray, np.ndarray]] = []
    for n, (source, target, parallel) in enumerate(dirty):
        words = [TextSettings().words_of_pair(pair) for pair in zip(source, target, strict=True)]

        def note(*arguments: np.ndarray | float, labels: np.ndarray = parallel) -> np.ndarray:
            full = (arguments[1] > 0) & (arguments[2] > 0)
            result.append((pair_features(*arguments)[:, full], labels[full]))
            return np.zeros(len(full))

        with mock.patch.object(decoder, "parallel_probability", note):
            found.align() if n == 0 else found.aligner.align_batch(words)
    return result


def fitted(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, ...]:
    """Return the coefficients of the least mean log loss over the parts."""
    features = np.concatenate([part[0] for part in parts], axis=1)
    labels = np.concatenate([part[1] for part in parts])
    weights = np.concatenate([np.full(len(y), 1 / len(y) / len(parts)) for _, y in parts])
    scale = np.abs(features).mean(axis=1)

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        logit = b @ (features / scale[:, None])
        wrong = 1 / (1 + np.exp(-logit)) - labels
        value = weights @ (np.logaddexp(0, logit) - labels * logit) + RIDGE / 2 * b @ b
        return float(value), (features / scale[:, None]) @ (weights * wrong) + RIDGE * b

    best = minimize(loss, np.zeros(len(scale)), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return tuple(float(f"{value:.4g}") for value in best.x / scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    options = parser.parse_args()
    parts = [part for n, sample in enumerate(SAMPLES) for part in features_of(options.work, sample, n)]
    print(f"{sum(len(y) for _, y in parts):,} pairs of {len(parts)} parts")
    print(f"PAIR_COEFFICIENTS = {fitted(parts)}")


if __name__ == "__main__":
    main()
