"""For docs/quality.md: how many pairs with gold links does an interval of ±3 points need?

    python scripts/measure_gold_size.py DATA

DATA is as for ``benchmark_aligners.py``. The gold lines of each family are aligned by a model of these lines
and of up to 1,000 pairs of other text. Gold sets of several sizes are drawn from them with replacement; the
figures are half the widths of the 95 % intervals of the alignment error rate, in points, and the number of
pairs for a half of `WANTED` points, which falls with the square root of the number of pairs.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from _corpora import corpora, languages_of, lines_of, markdown, sampled

import nmtalign as na
from nmtalign.links.evaluation import Counts, count_matches
from nmtalign.links.inputs import as_gold

SIZES = 25, 50, 100, 200
TRAINING_PAIRS = 1_000
WANTED = 3.0
SAMPLES = 2_000


def half_width(sentences: tuple[Counts, ...], size: int) -> float:
    """Return half the width of the 95 % interval of the error rate of `size` pairs, in points."""
    table = np.array([[c.in_sure + c.in_possible, c.links + c.sure] for c in sentences], float)
    random = np.random.default_rng(1)
    drawn = table[random.integers(0, len(table), (SAMPLES, size))].sum(axis=1)  # (samples, 2)
    low, high = np.quantile(1 - drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return float(100 * (high - low) / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    largest = {corpus.gold: (family, corpus) for family, corpus in corpora(options.data)}
    rows = [["gold set", "AER", *(f"{size} pairs" for size in SIZES), f"pairs for ±{WANTED:g}"]]
    widths = []
    needed = []
    for gold, (family, corpus) in largest.items():
        other = sampled(corpus.training, min(TRAINING_PAIRS, len(corpus.training))) if corpus.training else []
        sides = map(list, zip(*other, *corpus.gold_text, strict=True))
        aligner = na.train(*sides, workers=1, languages=languages_of(gold.parent))
        batch = aligner.align_batch(corpus.gold_text)
        golds = [as_gold(line) for line in lines_of(gold)]
        sentences = count_matches([frozenset(batch.links(n)) for n in range(len(batch))], golds)
        of_sizes = [half_width(sentences, size) for size in SIZES]
        widths.append(of_sizes)
        needed.append(SIZES[-1] * (of_sizes[-1] / WANTED) ** 2)
        aer = 100 * sum(sentences, Counts()).aer
        cells = [f"{aer:.1f}", *(f"±{width:.1f}" for width in of_sizes), f"{needed[-1]:.0f}"]
        rows.append([family, *cells])
    means = [f"±{width:.1f}" for width in np.median(widths, axis=0)]
    rows.append(["median", "", *means, f"{np.median(needed):.0f}"])
    print(markdown(rows))


if __name__ == "__main__":
    main()
