"""For docs/explanation/figures.md: error of learned attention on the bundled sample.

    python scripts/evaluate_attention.py --bitexts FOLDER [--pairs 2000 10000] [--units 32 128 256]

FOLDER is that of ``scripts/build_model.py``; ``scripts/build_attention.py`` chooses the pairs. Each row is
one score over the shipped vectors, learned from the shipped model: held-out loss, seconds of learning, then
the alignment error of the sample in percent with mutual argmax alone, with the diagonal and with the hidden
Markov model. ``both`` is the sum of both scores in one softmax.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import numpy as np
from build_attention import DATA, PAIRS, pairs_of

import nmtalign as na
from nmtalign.aligner.attention_learning import (
    PARAMETER_CLASSES,
    AdditiveParameters,
    DotParameters,
    learn_attention,
)
from nmtalign.scorers.vector_scores import make_score, score_in

SAMPLE = DATA / "en_fr_sample"
VECTORS = DATA / "en_fr_vectors"
DIMENSION = 128
HEAD = "score", "units", "pairs", "loss", "seconds", "none", "diagonal", "hmm"


class BothParameters(NamedTuple):
    """The arrays of both scores; the logits of null are the last ones."""

    W_q: Any
    W_k: Any
    W: Any
    U: Any
    v: Any
    b: Any
    null: Any

    @classmethod
    def start(cls, dimension: int, units: int, lengths: Any) -> BothParameters:
        """Return both starts, each with half of the sharpness."""
        *dot, first = DotParameters.init(dimension, units, lengths)
        *additive, second = AdditiveParameters.init(dimension, units, lengths)
        W_q, W_k = (array * np.float32(0.5**0.5) for array in dot)
        additive[2] = additive[2] / 2
        return cls(W_q, W_k, *additive, (first + second) / 2)

    @property
    def parts(self) -> tuple[DotParameters, AdditiveParameters]:
        """The parameters of both scores."""
        return DotParameters(*self[:2], self.null), AdditiveParameters(*self[2:6], self.null)

    def scores(self, queries: Any, keys: Any) -> Any:
        """Return the sum of both scores."""
        dot, additive = self.parts
        return dot.scores(queries, keys) + additive.scores(queries, keys)

    def gradient(self, queries: Any, keys: Any, upstream: Any) -> list[Any]:
        """Return the derivatives of both."""
        dot, additive = self.parts
        return [*dot.gradient(queries, keys, upstream), *additive.gradient(queries, keys, upstream)]


@dataclass(frozen=True, eq=False)
class SummedScore:
    """The sum of two scores: projections side by side."""

    first: Any
    second: Any
    scale: float = 1.0
    null: float = 0.1
    costly: bool = True
    raw: bool = False
    settings: str = "score=both"

    def queries(self, vectors: Any) -> Any:
        """Project the vectors of target words by both."""
        return np.hstack([self.first.queries(vectors), self.second.queries(vectors)])

    def keys(self, vectors: Any) -> Any:
        """Project the vectors of source words by both."""
        return np.hstack([self.first.keys(vectors), self.second.keys(vectors)])

    def __call__(self, queries: Any, keys: Any) -> Any:
        """Return the sum of both scores."""
        cut = self.first.W_q.shape[1]
        sides = (queries[..., :cut], keys[..., :cut]), (queries[..., cut:], keys[..., cut:])
        return self.scale * (self.first(*sides[0]) + self.second(*sides[1]))


def score_of(learned: Any) -> Any:
    """Return the score that a row measures."""
    if learned.name != "both":
        return learned.score
    names = {"scaled-dot": ("W_q", "W_k"), "bahdanau": ("W", "U", "v", "b")}
    arrays = {**learned.arrays}
    halves = [
        replace(learned, name=name, arrays={n: arrays[n] for n in (*own, "null", "null_probability")}).score
        for name, own in names.items()
    ]
    return SummedScore(*halves, null=float(arrays["null_probability"]))


def errors(score: Any) -> Iterator[str]:
    """Yield the alignment error with each position model."""
    bitext = list(na.read_bitext(SAMPLE / "text.tok.en", SAMPLE / "text.tok.fr"))
    for positions in ("none", "diagonal", "hmm"):
        aligner = na.load(VECTORS, score=score, positions=positions, tokenizer="space")
        batch = na.fit_to(aligner, bitext).align_batch(bitext)
        yield f"{100 * na.evaluate(list(batch), list(na.read_gold(SAMPLE / 'gold.pharaoh'))).aer:.2f}"


def row(*cells: object) -> None:
    """Print a row of the table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bitexts", type=Path, required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[2_000, 10_000])
    parser.add_argument("--units", type=int, nargs="+", default=[32, 128, 256])
    arguments = parser.parse_args()
    PARAMETER_CLASSES["both"] = BothParameters
    row(*HEAD)
    row(*["---"] * len(HEAD))
    for score in ("cosine", "dot", "scaled-dot"):
        row(f"{score}, plain", "", "", "", "", *errors(make_score(score, DIMENSION)))
    for score in ("scaled-dot", "bahdanau"):
        row(f"{score}, shipped", "", "", "", "", *errors(score_in(VECTORS, score, DIMENSION)))
    whole, total = [pairs_of(arguments.bitexts, *item) for item in PAIRS.items()], sum(PAIRS.values())
    for count in arguments.pairs:
        bitext = [pair for part in whole for pair in part[:: max(1, total // count)]]
        for score in PARAMETER_CLASSES:
            for units in arguments.units if score == "bahdanau" else [128]:
                start = time.perf_counter()
                learned = learn_attention(bitext, VECTORS, score=score, model=na.load(), units=units)
                seconds = f"{time.perf_counter() - start:.0f}"
                about = score, units, learned.about["pairs"], learned.about["held-out loss"], seconds
                row(*about, *errors(score_of(learned)))


if __name__ == "__main__":
    sys.exit(main())
