"""For docs/explanation/figures.md: does ``--pair-scores`` find pairs that are not parallel, as probabilities?

    python scripts/evaluate_filtering.py WORK [--preset default]

WORK is the folder of ``benchmark_aligners.py`` after ``make``. A tenth of the target lines of each text
change places. A model is learned from the dirty text and gives its pair scores (own), and those of a dirty
part that it has not seen (new), by ``nmtalign train`` and ``nmtalign align``. The coefficients of the score
were fitted to other lines (``fit_parallelness.py``), of the collections a and bicici_deen.

AUC: the probability that a parallel pair has a higher score than one that is not (Hanley and McNeil 1982),
also for the shorter and the longer half, and for whole documents (50 lines to a line), beside the relation of
lengths alone. Calibration error: the mean of |mean score - share of parallel pairs| over ten bins (Naeini et
al. 2015).
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _corpora import lines_of, markdown
from benchmark_aligners import nmtalign_program
from fit_parallelness import Sample, documents, shuffled

BINS = 10
DOCUMENT = 50  # lines

SAMPLES = (
    Sample("h100k", 0, 10_000, 3_000),
    Sample("h100k", 20_000, 1_000, 2_000),
    Sample("a100k", 70_000, 10_000, 3_000),
    Sample("bicici_deen_100+10k", 3_000, 6_000, 1_000),
    Sample("europarl_enes_200+5k", 0, 4_400, 1_000),
    Sample("europarl_enes_200+5k", 0, 500, 500),
    Sample("h100k", 0, 90_000, 5_000),
)


class Scored(NamedTuple):
    """Pairs with words on both sides: score, baseline, whether parallel, words a side; each (N,)."""

    scores: np.ndarray
    baseline: np.ndarray
    parallel: np.ndarray
    words: np.ndarray


def auc(scores: np.ndarray, parallel: np.ndarray) -> float:
    """Return the area under the ROC curve; equal scores count half.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    yes, no = parallel.sum(), (~parallel).sum()
    return float((ranks[parallel].sum() - yes * (yes + 1) / 2) / (yes * no)) if yes and no else float("nan")


def calibration_error(scores: np.ndarray, parallel: np.ndarray) -> float:
    """Return the expected calibration error.

    >>> round(calibration_error(np.array([0.95, 0.95, 0.1]), np.array([True, False, False])), 3)
    0.333
    """
    place = np.minimum((scores * BINS).astype(int), BINS - 1)
    gaps = (abs((scores - parallel)[place == k].sum()) for k in range(BINS))
    return float(sum(gaps) / len(scores))


def run(*arguments: object) -> None:
    command = [str(nmtalign_program()), *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


def scored(source: Sequence[str], target: Sequence[str], parallel: np.ndarray, scores: Path) -> Scored:
    lengths = np.array([[len(side.split()) for side in pair] for pair in zip(source, target, strict=True)])
    full = (lengths > 0).all(axis=1)
    s, t = lengths[full].T
    distance = np.abs(np.log((t + 0.5) / (s * t.sum() / s.sum() + 0.5)))
    values = np.array([float(line) for line in lines_of(scores)])[full]
    return Scored(values, -distance, parallel[full], lengths[full].mean(axis=1))


def evaluate(work: Path, sample: Sample, preset: str, seed: int) -> dict[str, Scored]:
    """Return the scored pairs of the text learned from, of new text, and of new text in documents."""
    stop = sample.first + sample.learned + sample.new
    clean = [lines_of(work / sample.text / side)[sample.first : stop] for side in ("src", "tgt")]
    parts = {
        "own": [side[: sample.learned] for side in clean],
        "new": [side[sample.learned :] for side in clean],
        "documents": [documents(side[sample.learned :], DOCUMENT) for side in clean],
    }
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, (source, target) in parts.items():
            target, parallel = shuffled(target, seed)
            files = folder / f"{kind}.src", folder / f"{kind}.tgt"
            for path, lines in zip(files, (source, target), strict=True):
                path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
            model, scores = folder / "model", folder / kind
            if kind == "own":
                run("train", *files, "-o", model, "--preset", preset, "--pair-scores", scores)
            else:
                run("align", *files, "--model", model, "-o", folder / "links", "--pair-scores", scores)
            found[kind] = scored(source, target, parallel, scores)
    return found


def row(name: str, found: Scored) -> list[str]:
    scores, baseline, parallel, words = found
    short = words < np.median(words)
    parts = (
        auc(scores, parallel),
        auc(scores[short], parallel[short]),
        auc(scores[~short], parallel[~short]),
    )
    kept = scores >= 0.5
    shares = (
        (~parallel[~kept]).mean() if (~kept).any() else 1,
        (~parallel & ~kept).sum() / (~parallel).sum(),
    )
    return [
        name,
        f"{len(scores):,}",
        f"{100 * auc(baseline, parallel):.1f}",
        *(f"{100 * value:.1f}" for value in parts),
        f"{calibration_error(scores, parallel):.3f}",
        *(f"{100 * share:.0f}" for share in shares),
    ]


def reliability(found: Sequence[Scored]) -> str:
    """Return the share of parallel pairs in each tenth of the score."""
    scores, parallel = (np.concatenate([getattr(f, name) for f in found]) for name in ("scores", "parallel"))
    rows = [["score", "pairs", "mean score", "parallel"]]
    place = np.minimum((scores * BINS).astype(int), BINS - 1)
    for k in range(BINS):
        own = place == k
        if own.any():
            label = f"{k / BINS:.1f} to {(k + 1) / BINS:.1f}"
            rows.append([label, f"{own.sum():,}", f"{scores[own].mean():.3f}", f"{parallel[own].mean():.3f}"])
    return markdown(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--preset", default="default")
    options = parser.parse_args()
    head = "text,pairs,AUC of lengths,AUC,short pairs,long pairs,calibration error"
    rows = [[*head.split(","), "wrong of those under 0.5 (%)", "found of the wrong (%)"]]
    every = []
    for seed, sample in enumerate(SAMPLES):
        for kind, found in evaluate(options.work, sample, options.preset, 100 + seed).items():
            rows.append(row(f"{sample.text}, {sample.learned:,} learned, {kind}", found))
            print(" ".join(rows[-1]), flush=True)
            every += [found] if kind != "documents" else []
    print(f"\n{markdown(rows)}\n\n{reliability(every)}")


if __name__ == "__main__":
    main()
