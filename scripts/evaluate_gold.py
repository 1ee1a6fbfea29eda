"""For docs/explanation/figures.md: what gold links teach a rescorer, on gold links that it has not seen.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_gold.py WORK [--sets a10k ...] [--folds 5] [--taught 50 1000]
    python scripts/evaluate_gold.py WORK --corrected 50

WORK is the folder of ``benchmark_aligners.py corpora``. A model is learned from the text of each corpus,
without its gold. Each fold of gold lines is then aligned by it, and by the model with a rescorer that learned
from some gold lines of the other folds. With `--corrected` the gold lines of the least certain pairs teach,
in the file that the report's editor writes, and the others are aligned; so for as many pairs drawn at random.
The figures are alignment error rates in percent (Och and Ney, 2003), and CPU seconds of one thread to train a
rescorer.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from _corpora import lines_of, markdown, score

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner, train_rescorer
from nmtalign.links.alignments import GoldAlignment
from nmtalign.links.formats import format_pharaoh, parse_gold
from nmtalign.links.gold import read_gold
from nmtalign.settings import TrainingSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS

SETS = ("bicici_deen_100+10k", "golden_enes_100+5k", "golden_enfr_100+10k", "a10k")
Words = list[tuple[list[str], list[str]]]


def learn(folder: Path, preset: str) -> tuple[Aligner, Words]:
    """Learn an aligner from a corpus; return it and the words of the corpus."""
    text = list(zip(lines_of(folder / "src"), lines_of(folder / "tgt"), strict=True))
    words = [(s.split(), t.split()) for s, t in text]
    return replace(
        train_aligner(
            words, TrainingJob(PRESET_HYPERPARAMETERS[preset], settings=TrainingSettings(workers=1))
        ).aligner,
        workers=1,
    ), words


def taught(aligner: Aligner, pairs: Words, gold: list[GoldAlignment]) -> Aligner:
    """Return the aligner with a rescorer that learned from the gold links of pairs."""
    options = TrainingJob(gold=gold, settings=TrainingSettings(workers=1))
    return train_rescorer(aligner, prepare(pairs, options), options)


def links(aligner: Aligner, pairs: Words) -> list[str]:
    """Return a line of links for each pair."""
    batch = aligner.align_batch(pairs)
    return [format_pharaoh(batch.links(k)) for k in range(len(pairs))]


def by_folds(folder: Path, options: argparse.Namespace) -> list[list[str]]:
    """Return a row of errors on gold lines not seen for each number of gold lines that teach."""
    aligner, pairs = learn(folder, options.preset)
    lines = lines_of(folder / "gold")
    gold, pairs = [parse_gold(line) for line in lines], pairs[-len(lines) :]
    folds = np.array_split(np.random.default_rng(options.seed).permutation(len(gold)), options.folds)
    plain, rows = score(links(aligner, pairs), lines), []
    for most in options.taught:
        found, start = [""] * len(gold), time.process_time()
        for k, fold in enumerate(folds):
            others = np.concatenate([own for j, own in enumerate(folds) if j != k])[:most].tolist()
            rescored = taught(aligner, [pairs[n] for n in others], [gold[n] for n in others])
            for n, line in zip(fold.tolist(), links(rescored, [pairs[n] for n in fold]), strict=True):
                found[n] = line
        seconds = (time.process_time() - start) / options.folds
        rows.append([folder.name, str(len(others)), f"{plain.aer:.2f}", f"{score(found, lines).aer:.2f}"])
        rows[-1].append(f"{seconds:.1f}")
    return rows


def corrected(folder: Path, options: argparse.Namespace) -> list[list[str]]:
    """Return two rows of errors on the other pairs: the least certain pairs are corrected, or random ones."""
    aligner, pairs = learn(folder, options.preset)
    lines, rows = lines_of(folder / "gold"), []
    text, before = pairs[: -len(lines)], aligner.align_batch(pairs[-len(lines) :])
    certain = [before.probability[a:b].mean() if b > a else 0 for a, b in pairwise(before.offsets)]
    random = np.random.default_rng(options.seed).permutation(len(lines))
    for name, order in (("least certain", np.argsort(certain, kind="stable")), ("random", random)):
        chosen, others = np.split(order, [options.corrected])
        start = time.process_time()
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:  # as the page writes it
            file.write("\n" * len(text))
            file.writelines((lines[n] if n in chosen else "") + "\n" for n in range(len(lines)))
            file.flush()
            gold = read_gold(file.name)
        aligners = aligner, taught(aligner, pairs, gold)
        seconds = time.process_time() - start
        rest, known = [pairs[len(text) + n] for n in others], [lines[n] for n in others]
        errors = [f"{score(links(own, rest), known).aer:.2f}" for own in aligners]
        rows.append([folder.name, f"{len(chosen)} {name}", str(len(others)), *errors, f"{seconds:.1f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--preset", choices=list(PRESET_HYPERPARAMETERS), default="default")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--taught", nargs="+", type=int, default=[50, 1000], help="gold lines that teach")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    parser.add_argument("--corrected", metavar="N", type=int, help="the N least certain pairs teach")
    options = parser.parse_args()
    table = [["text", "gold lines", "none", "taught", "CPU seconds"]]
    if options.corrected:
        table = [["text", "corrected", "other pairs", "before", "after", "CPU seconds"]]
    rows_of = corrected if options.corrected else by_folds
    for name in options.sets:
        table += rows_of(options.work / name, options)
    print(markdown(table))


if __name__ == "__main__":
    main()
