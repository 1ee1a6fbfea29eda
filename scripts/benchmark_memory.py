"""Seconds and peak memory of learning from, and aligning, a million pairs of about 20 words.

    python scripts/benchmark_memory.py WORK --data DATA [--pairs 1000000] [--preset default]

DATA is a folder with ``bitext/hansard`` and others. The corpus is recycled: short pairs of real text are
joined at random, each round of the text in another order, so that new co-occurrences keep coming; and words
seen fewer than five times get another ending in each round, so that the vocabulary keeps growing as in real
text.
"""

from __future__ import annotations

import argparse
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from _corpora import Pairs, hansard_pairs, mixed_english_french
from benchmark_aligners import markdown, measure, nmtalign_program

RARE = 5


def base_text(data: Path) -> Pairs:
    return hansard_pairs(data) + mixed_english_french(data, ("laws", "tatoeba", "ted"))


def joined(pairs: Pairs, *, words: int) -> Iterator[tuple[list[str], list[str]]]:
    """Join pairs until the source side comes nearest to `words` words; long pairs stay as they are."""
    source: list[str] = []
    target: list[str] = []
    for s, t in pairs:
        addition = s.split(" ")
        if source and len(source) + len(addition) / 2 > words:
            yield source, target
            source, target = [], []
        source, target = source + addition, target + t.split(" ")


def rare_words(pairs: Pairs) -> frozenset[str]:
    counts = Counter(word for pair in pairs for side in pair for word in side.split(" "))
    return frozenset(word for word, count in counts.items() if count < RARE)


def recycled(pairs: Pairs, *, words: int) -> Iterator[tuple[str, str]]:
    """Yield joined pairs without end; the same ones on every call."""
    rare, order = rare_words(pairs), list(pairs)
    for number in range(10**6):
        random.Random(number).shuffle(order)
        for sides in joined(order, words=words):
            source, target = (" ".join(w + str(number) if w in rare else w for w in side) for side in sides)
            yield source, target


def write_recycled(folder: Path, data: Path, *, pairs: int, words: int) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "src", folder / "tgt"
    with paths[0].open("w", encoding="utf-8") as source, paths[1].open("w", encoding="utf-8") as target:
        for (s, t), _ in zip(recycled(base_text(data), words=words), range(pairs), strict=False):
            source.write(s + "\n")
            target.write(t + "\n")
    return paths


def describe(paths: tuple[Path, Path]) -> str:
    sizes = []
    for path in paths:
        with path.open(encoding="utf-8") as file:
            counts = Counter(word for line in file for word in line.split())
        sizes.append(f"{counts.total():,} words of {len(counts):,} kinds")
    return "; ".join(sizes)


def cost_rows(folder: Path, text: tuple[Path, Path], preset: str) -> list[list[str]]:
    """Learn with all links written, then align the same text as new text with the saved model."""
    model = folder / f"model-{preset}"
    shutil.rmtree(model, ignore_errors=True)
    commands = {
        "train": ("train", *text, "-o", model, "--preset", preset, "--links", folder / "links"),
        "align": ("align", *text, "--model", model, "-o", folder / "links-again"),
    }
    rows = []
    for name, arguments in commands.items():
        cost = measure((nmtalign_program(), *arguments), folder / "log")
        rows.append([name, *(f"{value:,.0f}" for value in asdict(cost).values())])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=18, help="18 gives a mean of 20: long pairs stay long")
    parser.add_argument("--preset", default="default")
    options = parser.parse_args()
    folder = options.work.absolute() / f"recycled-{options.pairs}"
    text = folder / "src", folder / "tgt"
    if not (folder / "complete").exists():
        text = write_recycled(folder, options.data, pairs=options.pairs, words=options.words)
        (folder / "complete").touch()
    print(f"{options.pairs:,} pairs: {describe(text)}\n", flush=True)
    head = ["command", "seconds", "CPU seconds", "peak memory MB"]
    print(markdown([head, *cost_rows(folder, text, options.preset)]))


if __name__ == "__main__":
    main()
