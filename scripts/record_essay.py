"""For docs/essay.md: what its figures show, recorded while an aligner learns from the bundled sample.

    python scripts/record_essay.py

Writes docs/essay/recorded.js: the attention of the first sentence pair of the sample in each E-step of the
training, the posteriors and links of the learned aligner, and the scores of the bundled word vectors, by
which the page computes attention itself.

Axes: T target words, S source words.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import nmtalign as na
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import estimate, mix_scorers
from nmtalign.arrays import Floats
from nmtalign.attention import additive, scaled_dot
from nmtalign.files.paths import bundled_path
from nmtalign.positions.e_step import EStep, ExpectedCounts
from nmtalign.positions.hmm import hmm_posteriors
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import Estimator

FILE = Path(__file__).resolve().parents[1] / "docs" / "essay" / "recorded.js"
PAIR = 0  # of the sample; the sentence of Bahdanau, Cho and Bengio (2015), Figure 3
DIGITS = 3


class RecordingEstimator(Estimator):
    """An estimator that records the attention of the target words of a pair in each E-step."""

    def __init__(self, *text: Any, **about: Any) -> None:
        super().__init__(*text, **about)
        self.recorded: list[tuple[str, Floats]] = []  # of each E-step, its model and the weights (T, S)

    def _e_step(self, step: EStep) -> ExpectedCounts:
        [(k, column)] = [
            (k, int(column))
            for k, bucket in enumerate(self.text.buckets)
            for column in np.flatnonzero(bucket.sections == PAIR)
        ]
        bucket = self.text.buckets[k]
        T, S = int(bucket.target_lengths[column]), int(bucket.source_lengths[column])
        if step.emissions is None:
            self.recorded.append(("uniform", np.full((T, S), 1 / S, np.float32)))
            return super()._e_step(step)
        ratios = step.emissions.pair_ratios.take(self.word_pairs.pair_numbers[k])  # (T, S, B)
        if step.jump_models is None:  # equation of `model1_counts`
            odds = step.null / (1 - step.null)
            of_null = odds * S * step.emissions.target_null[bucket.target]  # (T, B)
            weights = ratios / (ratios.sum(axis=1) + of_null)[:, None, :]
            name = "words"
        else:
            nulls = step.emissions.source_null, step.emissions.target_null
            forward, _ = hmm_posteriors(bucket, ratios, nulls, step.jump_models, step.null, agree=step.agree)
            weights = forward.posterior
            name = "positions, directions agree" if step.agree else "positions"
        self.recorded.append((name, np.asarray(weights[:T, :S, column])))
        return super()._e_step(step)


def record() -> dict[str, Any]:
    """Return what the page shows."""
    sample = bundled_path("en_fr_sample")
    bitext = list(na.read_bitext(sample / "text.tok.en", sample / "text.tok.fr"))
    gold = list(na.read_gold(sample / "gold.pharaoh"))
    job = TrainingJob(text_settings=TextSettings("space"))
    prepared = prepare(bitext, job)
    estimator = RecordingEstimator(prepared.text, job.hyperparameters, prior=prepared.prior)
    aligner = mix_scorers(estimate(estimator, prepared, job), prepared, job)
    pair = aligner.align(*bitext[PAIR])
    source, target = pair.tokens
    vectors = bundled_path("en_fr_vectors")
    queries, keys = (
        na.load_embeddings(vectors / f"embeddings_{language}.npz").vectors([word.lower() for word in words])
        for language, words in (("fr", target), ("en", source))
    )
    with np.load(vectors / "bahdanau.npz") as stored:
        W, U, v, b = (stored[name] for name in ("W", "U", "v", "b"))
    evaluation = na.evaluate(aligner.align_batch(bitext), gold)
    return {
        "source": list(source),
        "target": list(target),
        "sure": sorted(map(list, gold[PAIR].sure)),
        "steps": [{"model": name, "weights": rounded(weights)} for name, weights in estimator.recorded],
        "forward": rounded(pair.forward),
        "reverse": rounded(pair.reverse),
        "joint": rounded(pair.posterior),
        "links": sorted(map(list, pair.links)),
        "pairs": len(bitext),
        "aer": round(evaluation.aer, DIGITS),
        "dimension": int(queries.shape[1]),
        "scores": {
            "dot": rounded(scaled_dot(queries, keys), digits=5),
            "bahdanau": rounded(additive(queries, keys, W, U, v, bias=b), digits=2),
        },
    }


def rounded(weights: Any, digits: int = DIGITS) -> list[list[float]]:
    """Return rows of numbers with few digits, as in the file."""
    return [[round(float(weight), digits) + 0.0 for weight in row] for row in weights]


def main() -> None:
    text = json.dumps(record(), ensure_ascii=False, separators=(",", ":"))
    lines = text.replace('],"', '],\n"').replace("},{", "},\n{")
    FILE.write_text(f"// Written by scripts/record_essay.py.\nconst recorded = {lines};\n", encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
