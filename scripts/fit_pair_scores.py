"""For docs/explanation/figures.md: fit the pair score, and measure it on texts that it was not fitted to.

    python scripts/fit_pair_scores.py DATA [--eflomal PYTHON]

DATA is the folder with the bitexts of SAMPLES. A model is learned from each text, in which some pairs have
faults: wrong partners, copies, truncated, shortened and lengthened sides. Its pairs and those of another such
part, also with several lines joined to one, are what the coefficients of
``nmtalign/decoding/probabilities.py`` are fitted to, by multinomial logistic regression: each part weighs the
same. The last lines print the coefficients; copy them into that module.

Before, a table has the measures of each text by coefficients that were fitted to the *other* texts: for each
fault, how often a sound pair has a higher score than one with the fault (AUC, Hanley and McNeil 1982), and
the calibration error (Naeini et al. 2015) if one pair in ten has a fault: the mean over ten bins of the
difference between the mean score and the share of sound pairs. The other rows of a text are the ratio of the
lengths in words, and with ``--eflomal`` the larger one of both costs of the eflomal of that Python.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from operator import ge
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest import mock

import numpy as np
from _corpora import Pairs, markdown, read_pairs, sampled
from scipy.optimize import minimize

from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.decoding.probabilities import PairFeatures
from nmtalign.settings import TrainingSettings
from nmtalign.text.tokenization import TextSettings

DOCUMENT_LINES = (5, 15)
RIDGE = 1e-6
BINS = 10
TOKENS = TextSettings(tokenizer="simple")


class Sample(NamedTuple):
    """Lines of a text: how many are learned from, how many are new."""

    text: str
    languages: tuple[str, str]
    learned: int
    new: int


SAMPLES = (
    Sample("laws", ("en", "fr"), 5_000, 1_500),
    Sample("laws", ("en", "fr"), 1_000, 1_000),
    Sample("tatoeba", ("en", "fr"), 20_000, 2_000),
    Sample("tatoeba", ("en", "fr"), 5_000, 2_500),
    Sample("ted", ("en", "fr"), 3_000, 1_500),
    Sample("tico19", ("en", "fr"), 2_000, 782),
    Sample("hansard", ("en", "fr"), 10_000, 2_000),
    Sample("europarl_deen", ("de", "en"), 4_000, 1_500),
    Sample("europarl_enes", ("en", "es"), 3_000, 1_000),
    Sample("multi30k", ("en", "de"), 2_000, 1_000),
    Sample("xlwa_enit", ("en", "it"), 800, 200),
    Sample("xlwa_enhu", ("en", "hu"), 800, 200),
    Sample("xlwa_enru", ("en", "ru"), 800, 200),
)


# --- faults --------------------------------------------------------------------------------------


def _truncated(line: str) -> str:
    words = line.split()
    return " ".join(words[: len(words) // 2])


def _beheaded(line: str) -> str:
    words = line.split()
    return " ".join(words[len(words) // 2 :])


def _shortened(line: str) -> str:
    """Return a line without its middle third."""
    words = line.split()
    third = len(words) // 3
    return " ".join(words[:third] + words[2 * third :])


class Fault(NamedTuple):
    """A kind of fault."""

    name: str
    kind: int  # index of a field of PairFaults
    share: float  # of the pairs that get it
    weight: float  # in the text that the score is calibrated for
    min_words: tuple[int, int]  # shorter sides do not get it
    change: Callable[[tuple[str, str], str], tuple[str, str]]  # from a pair and another target line


FAULTS = (
    Fault("wrong partner", 0, 0.08, 0.04, (1, 1), lambda pair, other: (pair[0], other)),
    Fault("copy", 3, 0.04, 0.01, (1, 1), lambda pair, other: (pair[0], pair[0])),
    Fault("truncated", 1, 0.04, 0.02, (1, 4), lambda pair, other: (pair[0], _truncated(pair[1]))),
    Fault("appended", 2, 0.04, 0.015, (1, 1), lambda pair, other: (pair[0], f"{pair[1]} {other}")),
    Fault("source cut", 2, 0.02, 0.01, (4, 1), lambda pair, other: (_beheaded(pair[0]), pair[1])),
    Fault("shortened", 1, 0.02, 0.005, (1, 6), lambda pair, other: (pair[0], _shortened(pair[1]))),
)
SOUND = len(FAULTS)  # the label of sound pairs


def with_faults(pairs: Pairs, seed: int) -> tuple[Pairs, np.ndarray]:
    """Give some pairs faults; return all pairs, and the label of each (N,): the index of its fault.

    >>> pairs = [(f"the number is {n}", f"le nombre est {n}") for n in range(50)]
    >>> faulty, labels = with_faults(pairs, 1)
    >>> np.bincount(labels).tolist(), faulty[int(np.flatnonzero(labels == 2)[0])]
    ([4, 2, 2, 2, 1, 1, 38], ('the number is 2', 'le nombre'))
    """
    random = Random(seed)
    labels = np.full(len(pairs), SOUND)
    lengths = [[len(side.split()) for side in pair] for pair in pairs]
    order = list(range(len(pairs)))
    random.shuffle(order)
    result = list(pairs)
    for label, fault in enumerate(FAULTS):
        chosen = [n for n in order if labels[n] == SOUND and all(map(ge, lengths[n], fault.min_words))]
        for n in chosen[: round(fault.share * len(pairs))]:
            result[n] = fault.change(pairs[n], random.choice(pairs)[1])
            labels[n] = label
    return result, labels


def documents(pairs: Pairs, size: int) -> Pairs:
    """Join the lines of each document."""
    starts = range(0, len(pairs) - size + 1, size)
    return [tuple(map(" ".join, zip(*pairs[start : start + size], strict=True))) for start in starts]


# --- features ------------------------------------------------------------------------------------


class Part(NamedTuple):
    """Pairs of a text: their features, labels, and other scores that tell faults from sound pairs."""

    text: str
    learned: int  # pairs that the model was learned from
    name: str
    features: tuple[np.ndarray, ...]  # see PairFeatures.of_faults
    labels: np.ndarray  # (N,)
    others: dict[str, np.ndarray]  # each (N,)


def parts_of(data: Path, sample: Sample, seed: int, eflomal: Path | None) -> list[Part]:
    """Return the text that a model was learned from, new text, and new text whose lines are joined."""
    pairs = read_pairs(data / "bitext" / sample.text, "train", sample.languages)
    pairs = [pair for pair in pairs if all(side.strip() for side in pair)]
    pairs = sampled(pairs, sample.learned + sample.new)
    Random(seed).shuffle(pairs)
    new = pairs[sample.learned :]
    texts = {"own": pairs[: sample.learned], "new": new}
    texts |= {f"{size} lines": documents(new, size) for size in DOCUMENT_LINES}
    result: list[Part] = []
    found = None
    for name, of_text in texts.items():
        faulty, labels = with_faults(of_text, seed)
        words = [TOKENS.words_of_pair(pair) for pair in faulty]
        noted: list[PairFeatures] = []

        def note(pairs: PairFeatures, noted: list[PairFeatures] = noted) -> np.ndarray:
            noted.append(pairs)
            return np.zeros(len(pairs.lengths[0]))

        with mock.patch.object(PairFeatures, "probability", note):
            if found is None:
                found = train_aligner(words, TrainingJob(settings=TrainingSettings(workers=1)))
                found.align([found.aligner.resolved_extraction], "tokens")
            else:
                found.aligner.align_batch(words)
        lengths = np.array([[len(side) for side in pair] for pair in words]).T
        ratio = lengths[1].sum() / lengths[0].sum()
        others = {"lengths": -np.abs(np.log((lengths[1] + 0.5) / (ratio * lengths[0] + 0.5)))}
        if eflomal is not None and name == "own":
            others["eflomal"] = -costs_of_eflomal(words, eflomal).max(axis=0)
        result.append(Part(sample.text, sample.learned, name, noted[-1].of_faults, labels, others))
    return result


def costs_of_eflomal(pairs: Sequence[tuple[list[str], list[str]]], python: Path) -> np.ndarray:
    """Return the costs of both directions (2, N)."""
    with tempfile.TemporaryDirectory() as folder:
        source, target, forward, reverse = (str(Path(folder) / name) for name in "stfr")
        for path, side in ((source, 0), (target, 1)):
            Path(path).write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), encoding="utf-8")
        files = ("-s", source, "-t", target, "-F", forward, "-R", reverse)
        subprocess.run([python.with_name("eflomal-align"), *files], check=True, capture_output=True)
        return np.array([np.loadtxt(path) for path in (forward, reverse)])


# --- fitting -------------------------------------------------------------------------------------

KINDS = (0, 1, 1, 2, 2)  # the coefficients of each field of PairFaults
NAMES = ("OTHER_COEFFICIENTS", "MISSING_COEFFICIENTS", "COPIED_COEFFICIENTS")
Coefficients = list[np.ndarray]


def weights_of(labels: np.ndarray) -> np.ndarray:
    """Return weights (N,) by which the pairs of a part have each fault as often as it is calibrated for."""
    weights = [*(fault.weight for fault in FAULTS), 1 - sum(fault.weight for fault in FAULTS)]
    counts = np.maximum(np.bincount(labels, minlength=SOUND + 1), 1)
    return (np.array(weights) / counts)[labels]


def log_odds_of(features: Sequence[np.ndarray], coefficients: Coefficients) -> np.ndarray:
    """Return the log odds of each fault, (faults, N)."""
    return np.array([coefficients[kind] @ x for kind, x in zip(KINDS, features, strict=True)])


def fitted(parts: Sequence[Part]) -> Coefficients:
    """Return the coefficients of the least mean log loss over the parts."""
    features = [np.concatenate(arrays, axis=1) for arrays in zip(*(p.features for p in parts), strict=True)]
    kind_of_label = np.array([*(1 + fault.kind for fault in FAULTS), 0])
    classes = kind_of_label[np.concatenate([part.labels for part in parts])]
    weights = np.concatenate([weights_of(part.labels) for part in parts]) / len(parts)
    firsts = [features[KINDS.index(kind)] for kind in range(len(NAMES))]
    centers = [np.append(0, x[1:].mean(axis=1)) for x in firsts]  # the first feature is 1
    scales = [np.append(1, x[1:].std(axis=1)) for x in firsts]
    scaled = [
        (x - centers[kind][:, None]) / scales[kind][:, None] for kind, x in zip(KINDS, features, strict=True)
    ]
    borders = np.cumsum([len(scale) for scale in scales])[:-1]

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients = np.split(b, borders)
        logits = np.vstack([np.zeros(len(classes)), log_odds_of(scaled, coefficients)])
        total = np.logaddexp.reduce(logits, axis=0)
        value = weights @ (total - np.take_along_axis(logits, classes[None], axis=0)[0])
        gradient = [np.zeros_like(scale) for scale in scales]
        for n, kind in enumerate(KINDS, 1):
            wrong = weights * (np.exp(logits[n] - total) - (classes == n))
            gradient[kind] += scaled[n - 1] @ wrong
        return float(value + RIDGE / 2 * b @ b), np.concatenate(gradient) + RIDGE * b

    start = np.zeros(sum(map(len, scales)))
    limits = {"maxiter": 400, "ftol": 1e-10, "gtol": 1e-7}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options=limits)
    coefficients = [b / scale for b, scale in zip(np.split(best.x, borders), scales, strict=True)]
    for b, center in zip(coefficients, centers, strict=True):
        b[0] -= b @ center
    return coefficients


def scores_of(part: Part, coefficients: Coefficients) -> np.ndarray:
    """Return the log odds that the pairs of a part are sound."""
    return -np.logaddexp.reduce(log_odds_of(part.features, coefficients), axis=0)


# --- measures ------------------------------------------------------------------------------------


def auc(sound: np.ndarray, faulty: np.ndarray) -> float:
    """Return how often a sound pair has a higher score than a faulty one; equal scores count half.

    >>> auc(np.array([0.4, 0.9]), np.array([0.1, 0.4]))
    0.875
    """
    scores = np.concatenate([sound, faulty])
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    yes, no = len(sound), len(faulty)
    return float((ranks[:yes].sum() - yes * (yes + 1) / 2) / (yes * no)) if yes and no else float("nan")


def calibration_error(scores: np.ndarray, sound: np.ndarray, weights: np.ndarray) -> float:
    """Return the expected calibration error.

    >>> round(calibration_error(np.array([0.95, 0.95, 0.1]), np.array([1, 0, 0]), np.ones(3)), 3)
    0.333
    """
    place = np.minimum((scores * BINS).astype(int), BINS - 1)
    gaps = np.bincount(place, weights * (scores - sound), BINS)
    return float(np.abs(gaps).sum() / weights.sum())


def measures_of(part: Part, coefficients: Coefficients) -> dict[str, list[float]]:
    """Return the measures of each score of a part, which the coefficients were not fitted to.

    They are the AUC of each fault in percent, and the calibration error; NaN where there are none.
    """
    log_odds = scores_of(part, coefficients)
    is_sound = part.labels == SOUND
    error = calibration_error(1 / (1 + np.exp(-log_odds)), is_sound, weights_of(part.labels))
    measures = {}
    for name, values in {"pair score": log_odds, **part.others}.items():
        faulty = (values[part.labels == label] for label in range(SOUND))
        areas = [100 * auc(values[is_sound], of_fault) for of_fault in faulty]
        measures[name] = [*areas, error if name == "pair score" else float("nan")]
    return measures


def row_of(measures: Sequence[float]) -> list[str]:
    *areas, error = measures
    return [*(f"{area:.1f}" for area in areas), f"{error:.3f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--eflomal", type=Path, metavar="PYTHON")
    options = parser.parse_args()
    of_samples = [parts_of(options.data, sample, n, options.eflomal) for n, sample in enumerate(SAMPLES)]
    parts = list(chain.from_iterable(of_samples))
    head = ["score", *(fault.name for fault in FAULTS), "calibration error"]
    rows = []
    of_kinds: dict[tuple[str, str], list[list[float]]] = {}
    for text in sorted({part.text for part in parts}):
        coefficients = fitted([part for part in parts if part.text != text])
        for part in parts:
            if part.text == text:
                for name, measures in measures_of(part, coefficients).items():
                    rows.append([f"{text}, {part.learned:,}", part.name, name, *row_of(measures)])
                    of_kinds.setdefault((part.name, name), []).append(measures)
    print(markdown([["text", "part", *head], *rows]))
    means = [
        [*kind, *row_of(np.ma.masked_invalid(measures).mean(axis=0).filled(np.nan))]
        for kind, measures in of_kinds.items()
    ]
    print(f"\n{markdown([['part', *head], *means])}")
    print(f"\n{sum(len(part.labels) for part in parts):,} pairs of {len(parts)} parts")
    for name, coefficients in zip(NAMES, fitted(parts), strict=True):
        print(f"{name} = {tuple(float(f'{value:.4g}') for value in coefficients)}")


if __name__ == "__main__":
    main()
