"""For docs/explanation/figures.md: error of every attention score and position model over word vectors.

    python scripts/evaluate_scores.py DATA/gold/alibi_enfr_522 DATA/gold/golden_enfr_100 ...
    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_scores.py --own WORK/a10k WORK/h10k ...

A set is a folder with text.en, text.fr and gold.pharaoh; the vectors are the shipped English-French ones with
their parameters. With ``--own`` it is a corpus: ``src``, ``tgt`` (its last lines are the gold lines) and
``gold``; vectors and the parameters of attention are learned from it:

    nmtalign train src tgt -o MODEL
    nmtalign vectors learn --model MODEL -o VECTORS
    nmtalign vectors attention src tgt --vectors VECTORS --score SCORE --model MODEL

Transitions are fitted on the gold lines, without their gold. The script prints the error of each set, then a
markdown table of the means in percent, with the pairs that one process aligns in a second of a processor (the
lines of the first set again and again; the best of three). Bahdanau's plain weights are random.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _corpora import nmtalign

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import numpy as np

import nmtalign as na
from nmtalign.files.paths import bundled_path
from nmtalign.scorers.vector_scores import PARAMETER_FILES, BahdanauScore, make_score, score_in
from nmtalign.vectors.storage import load_both_languages

POSITIONS = ("none", "diagonal", "hmm")
REPEATED = 5_000  # pairs whose alignment is timed
Pairs = list[tuple[list[str], list[str]]]


def learned_vectors(corpus: Path, folder: Path) -> Path:
    """Learn vectors and parameters of attention from a corpus."""
    text, model, vectors = (corpus / "src", corpus / "tgt"), folder / "model", folder / "vectors"
    nmtalign("train", *text, "-o", model, "--langs", "xx,yy")
    nmtalign("vectors", "learn", "--model", model, "-o", vectors)
    for score in PARAMETER_FILES:
        nmtalign("vectors", "attention", *text, "--vectors", vectors, "--score", score, "--model", model)
    return vectors


def gold_lines(corpus: Path) -> tuple[Pairs, list[Any]]:
    """Return the last lines of a corpus, and their gold links."""
    own = "src", "tgt", "gold"
    *names, links = own if (corpus / "src").exists() else ("text.en", "text.fr", "gold.pharaoh")
    gold = list(na.read_gold(corpus / links))
    sides = [(corpus / side).read_text(encoding="utf-8").split("\n")[:-1] for side in names]
    pairs = [(s.split(), t.split()) for s, t in zip(*sides, strict=True)]
    return pairs[-len(gold) :], gold


def scores(vectors: Path, dimension: int) -> dict[str, Any]:
    """Return every score by the name of its row."""
    random = np.random.default_rng(0)
    W, U = random.normal(0, dimension**-0.5, (2, dimension, dimension))
    untrained = BahdanauScore(W, U, random.normal(0, dimension**-0.5, dimension), np.zeros(dimension))
    plain = {f"{name}, plain": make_score(name, dimension) for name in ("dot", "scaled-dot", "cosine")}
    learned = {f"{name}, learned": score_in(vectors, name, dimension) for name in PARAMETER_FILES}
    return plain | {"bahdanau, random": untrained} | learned


def errors(vectors: Path, corpus: Path) -> Iterator[tuple[str, str, float]]:
    """Yield row, position model and error in percent."""
    sides = load_both_languages(vectors)
    pairs, gold = gold_lines(corpus)
    for name, score in scores(vectors, sides[0].dimension).items():
        for positions in POSITIONS:
            aligner = na.fit_to(na.load(sides, score=score, positions=positions, tokenizer="space"), pairs)
            yield name, positions, 100 * na.evaluate(aligner.align_batch(pairs), gold).aer


def speeds(vectors: Path, corpus: Path) -> Iterator[tuple[str, float]]:
    """Yield row and pairs per second, without a position model."""
    sides = load_both_languages(vectors)
    pairs, _ = gold_lines(corpus)
    pairs = (pairs * (1 + REPEATED // len(pairs)))[:REPEATED]
    for name, score in scores(vectors, sides[0].dimension).items():
        aligner, seconds = na.load(sides, score=score, positions="none", tokenizer="space"), []
        for _ in range(3):
            start = time.process_time()
            aligner.align_batch(pairs)
            seconds.append(time.process_time() - start)
        yield name, REPEATED / min(seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--own", action="store_true", help="vectors learned from each set")
    arguments = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    rates: dict[str, float] = {}
    for corpus in arguments.sets:
        with tempfile.TemporaryDirectory() as folder:
            own = arguments.own
            vectors = learned_vectors(corpus, Path(folder)) if own else bundled_path("en_fr_vectors")
            for score, positions, error in errors(vectors, corpus):
                found.setdefault(score, {}).setdefault(positions, []).append(error)
                print(corpus.name, score, positions, f"{error:.2f}", flush=True)
            rates = rates or dict(speeds(vectors, corpus))
    print(f"| score | {' | '.join(POSITIONS)} | pairs per second |\n{'|---' * (len(POSITIONS) + 2)}|")
    for score, by_positions in found.items():
        means = [f"{np.mean(by_positions[positions]):.1f}" for positions in POSITIONS]
        print(f"| {score} | {' | '.join(means)} | {rates[score]:,.0f} |")


if __name__ == "__main__":
    main()
