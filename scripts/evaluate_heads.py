"""What each head of a learned aligner finds, alone and with others: error and CPU seconds, as a table.

    python scripts/evaluate_heads.py WORK [--sets h10k a30k ...] [--heads lexicon,vectors,attention]
    python scripts/evaluate_heads.py WORK --sets h100k --inputs words --threshold 0.5
    python scripts/evaluate_heads.py WORK --folds 5 [--preset best] [--taught 50 100]

WORK is the folder of ``benchmark_aligners.py corpora``. A model with all of `--heads` is learned from each
corpus and aligns the gold lines: by each head alone, by all but the second opinion, by all. The figures are
alignment error rates in percent (Och and Ney, 2003), and CPU seconds of one thread to learn each head; the
spectral one counts with the lexicon.

With `--folds`, gold links teach: a model is learned from the text alone; each fold of gold lines is then
aligned by it, by the model with weights from the other folds, and by the one with the head ``bahdanau``
learned from them as well.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from _corpora import lines_of, score
from benchmark_aligners import markdown

from nmtalign.alignment.formats import format_pharaoh, parse_gold
from nmtalign.alignment.links import GoldAlignment
from nmtalign.models.decoding import Extraction
from nmtalign.models.learned import THRESHOLD, LearnedAligner, Model
from nmtalign.models.settings import PRESETS, Settings, with_heads
from nmtalign.models.store import load_model
from nmtalign.models.teaching import Pairs, learn_from_gold
from nmtalign.models.training import train

OPINIONS = ("bahdanau", "attention")
STAGES = {"vectors": "vectors", "second opinion": "opinion"}


class Clock:
    """CPU seconds of the stages that training reports."""

    def __init__(self) -> None:
        self.seconds = {"lexicon": 0.0, "vectors": 0.0, "opinion": 0.0}
        self._last = time.process_time()

    def __call__(self, line: str) -> None:
        now = time.process_time()
        stage = next((name for start, name in STAGES.items() if line.startswith(start)), "lexicon")
        self.seconds[stage] += now - self._last
        self._last = now


def combinations(heads: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each head alone, all but the second opinion, and all."""
    others = tuple(head for head in heads if head not in OPINIONS)
    return list(dict.fromkeys([*((head,) for head in heads), others, tuple(heads)]))


def learn(folder: Path, settings: Settings) -> tuple[Model, Clock]:
    """Learn a model from a corpus."""
    text = list(zip(lines_of(folder / "src"), lines_of(folder / "tgt"), strict=True))
    clock = Clock()
    return train(text, settings=settings, workers=1, report=clock).model, clock


def errors(folder: Path, model: Model, combined: Sequence[Sequence[str]], threshold: float) -> list[str]:
    """Return the error of each combination of heads on the gold lines of a corpus."""
    gold = lines_of(folder / "gold")
    sides = (lines_of(folder / name)[-len(gold) :] for name in ("src", "tgt"))
    words = [(s.split(), t.split()) for s, t in zip(*sides, strict=True)]
    found = []
    for heads in combined:
        aligner = LearnedAligner(model.with_heads(heads), Extraction("posterior", threshold), workers=1)
        batch = aligner.align_batch(words)
        found.append(f"{score([format_pharaoh(batch.links(k)) for k in range(len(gold))], gold).aer:.2f}")
    return found


def rows(folder: Path, settings: Settings, options: argparse.Namespace) -> list[list[str]]:
    """Return the rows of one corpus, one for each share of the second opinion."""
    model, clock = learn(folder, settings)
    seconds = " + ".join(f"{number:.1f}" for number in clock.seconds.values())
    combined = combinations(model.heads)
    found = []
    for share in options.shares or [None]:
        name, own = folder.name, model
        if share is not None and model.opinion is not None:
            name, own = (
                f"{name}, share {share:g}",
                model._replace(opinion=replace(model.opinion, share=share)),
            )
        found.append([name, *errors(folder, own, combined, options.threshold), seconds])
    return found


def taught(model: Model, pairs: Pairs, gold: Sequence[GoldAlignment], teacher: str) -> Model:
    """Return a model that gold links have taught."""
    told = model._replace(settings=replace(model.settings, opinion_teacher=teacher))
    return learn_from_gold(told, lambda m, text: LearnedAligner(m)._prepared(text), pairs, gold)


def by_folds(folder: Path, settings: Settings, options: argparse.Namespace) -> list[list[str]]:
    """Return rows of errors on gold lines whose links were not seen, one for each number of taught pairs."""
    if options.models is None:
        model, _ = learn(folder, replace(settings, opinion_weight=0.0))
    else:
        model = load_model(options.models / folder.name)
    lines = lines_of(folder / "gold")
    gold = [parse_gold(line) for line in lines]
    sides = (lines_of(folder / name)[-len(gold) :] for name in ("src", "tgt"))
    pairs = [model.text.words_of_pair(pair, (None, None)) for pair in zip(*sides, strict=True)]
    folds = np.array_split(np.random.default_rng(options.seed).permutation(len(gold)), options.folds)
    found = []
    for most in options.taught or [len(gold)]:
        links = {name: [""] * len(gold) for name in ("none", "posteriors", "gold")}
        start, seconds = time.process_time(), 0.0
        for k, fold in enumerate(folds):
            others = np.concatenate([own for j, own in enumerate(folds) if j != k])[:most].tolist()
            chosen = [pairs[n] for n in others], [gold[n] for n in others]
            for teacher, into in links.items():
                start = time.process_time()
                own = model if teacher == "none" else taught(model, *chosen, teacher)
                seconds += (time.process_time() - start) * (teacher == "gold")
                extraction = Extraction("posterior", options.threshold)
                batch = LearnedAligner(own, extraction, workers=1).align_batch([pairs[n] for n in fold])
                for place, n in enumerate(fold.tolist()):
                    into[n] = format_pharaoh(batch.links(place))
        scores = [f"{score(own, lines).aer:.2f}" for own in links.values()]
        found.append([folder.name, str(len(others)), *scores, f"{seconds / options.folds:.1f}"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="+", default=["a0", "a1k", "a10k", "h10k"])
    parser.add_argument("--heads", default="lexicon,vectors,spectral,bahdanau")
    parser.add_argument("--inputs", choices=("clues", "words"), default="clues")
    parser.add_argument("--teacher", choices=("posteriors", "bitext"), default="posteriors")
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--shares", nargs="*", type=float, help="of the second opinion  [the default's]")
    parser.add_argument("--folds", type=int, help="of the gold lines, which teach")
    parser.add_argument("--taught", nargs="*", type=int, help="gold lines that teach  [all but the fold]")
    parser.add_argument("--preset", choices=list(PRESETS), default="default", help="with --folds")
    parser.add_argument("--models", type=Path, help="with --folds: folder of models learned before")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    options = parser.parse_args()
    if options.folds:
        table = [["text", "gold lines", "no gold", "weighed", "bahdanau by gold", "CPU seconds"]]
        for name in options.sets:
            table += by_folds(options.work / name, PRESETS[options.preset], options)
        print(markdown(table))
        return
    heads = options.heads.split(",")
    settings = with_heads(Settings(), heads, inputs=options.inputs, teacher=options.teacher)
    names = ["+".join(heads) for heads in combinations(heads)]
    table = [["text", *names, "CPU seconds: lexicon + vectors + second opinion"]]
    for name in options.sets:
        table += rows(options.work / name, settings, options)
    print(markdown(table))


if __name__ == "__main__":
    main()
