"""For docs/explanation/figures.md: seconds and peak memory of learning from, and aligning, a million pairs.

    python scripts/benchmark_memory.py WORK --data DATA [--pairs 1000000] [--preset default]

DATA is a folder with ``bitext/hansard`` and others. The corpus is recycled: short pairs of real text are
joined at random, each round of the text in another order, so that new co-occurrences keep coming; and words
seen fewer than five times get another ending in each round, so that the vocabulary keeps growing as in real
text.

    python scripts/benchmark_memory.py WORK --data DATA --grow [--most 1000000] [--python PEERS --figure FILE]

Instead: the real text as it is, its corpora one after the other, from 10,000 pairs to all of it, by one and
by two workers, and by the fast_align of `sil-machine[thot]`, which that Python has; then more pairs than
there are, of the recycled text, by two workers, without links; and 20,000 pairs of which one in a thousand
is a line of 3,000 words, made of pairs joined, so that its right links are those of its parts. What
WORK/growth.json holds is not measured again.

    python scripts/benchmark_memory.py WORK --data DATA --speed [--fast-align PROGRAM] [--rounds 7]

Instead: what a user waits for most often. The commands run in turn; of each, the least of all rounds counts.
PROGRAM is the C++ program (https://github.com/clab/fast_align; ``cmake -DCMAKE_BUILD_TYPE=Release``), which
runs in both directions: with ``-d -o -v``, as its authors advise, and with ``-f`` for new text.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path

from _corpora import (
    Cost,
    Pairs,
    hansard_pairs,
    lines_of,
    markdown,
    measure,
    mixed_english_french,
    read_pairs,
)
from benchmark_aligners import cost_of_fast_align, nmtalign_program

RARE = 5
DIRTY, EVERY, LONG = 20_000, 1_000, 3_000  # pairs, of which one in so many has so many words
HEAD = ["command", "seconds", "CPU seconds", "peak memory MB"]
SIZES = 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000  # pairs of --grow
RECYCLED = "recycled text, no links"
FAST_ALIGN = "fast_align of sil-machine[thot]"
Growth = dict[tuple[int, str], Cost]  # by number of pairs and command


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


def costs(
    folder: Path, text: tuple[Path, Path], preset: str, *more: str, links: bool = True
) -> dict[str, Cost]:
    """Learn with all links written, then align the same text as new text with the saved model; or learn."""
    model = folder / f"model-{preset}"
    shutil.rmtree(model, ignore_errors=True)
    learn = "train", *text, "-o", model, "--preset", preset
    commands: dict[str, tuple[str | Path, ...]] = {"train": learn}
    if links:
        commands["train"] = *learn, "--links", folder / "links"
        commands["align"] = "align", *text, "--model", model, "-o", folder / "links-again"
    return {
        name: measure((nmtalign_program(), *arguments, *more), folder / "log")
        for name, arguments in commands.items()
    }


def cells(cost: Cost) -> list[str]:
    return [f"{value:,.0f}" for value in asdict(cost).values()]


def write_pairs(folder: Path, pairs: Pairs) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return folder / "src", folder / "tgt"


def growth(work: Path, data: Path, preset: str, most: int, words: int, python: Path | None) -> Growth:
    """Learn and align from more and more pairs, with one and two workers; then by fast_align."""
    base, folder, notes = base_text(data), work / "growth", work / "growth.json"
    found: Growth = {}
    if notes.exists():
        found = {(size, name): Cost(**cost) for size, name, cost in json.loads(notes.read_text())}
    done = {size for size, _ in found}
    for size in sorted({*(n for n in SIZES if n < len(base)), min(most, len(base))} - done):
        text = write_pairs(folder, base[:size])
        for workers in ("1", "2"):
            for name, cost in costs(folder, text, preset, "--workers", workers).items():
                found[size, f"{name}, {workers} worker{'s' * (workers > '1')}"] = cost
        if python:
            (folder / "gold").touch()
            found[size, FAST_ALIGN] = cost_of_fast_align(folder, folder, python)
        keep(found, notes)
    for size in sorted({n for n in SIZES if len(base) < n <= most} - done):
        text = write_recycled(folder, data, pairs=size, words=words)
        cost = costs(folder, text, preset, "--workers", "2", links=False)["train"]
        found[size, f"train, 2 workers, {RECYCLED}"] = cost
        keep(found, notes)
    return dict(sorted(found.items(), key=lambda entry: entry[0][0]))


def keep(found: Growth, notes: Path) -> None:
    """Write down what was measured."""
    rows = [(size, name, asdict(cost)) for (size, name), cost in found.items()]
    notes.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def draw(found: Growth, path: Path) -> None:
    """Draw time and memory of learning against the number of pairs."""
    import matplotlib.pyplot as plt

    names = [name for name in dict.fromkeys(name for _, name in found) if not name.startswith("align")]
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for axis, field, label in zip(axes, ("seconds", "peak_mb"), ("seconds", "MB at most"), strict=True):
        for name, style in zip(names, ("o-", "s-", "^:", "D-"), strict=False):
            sizes = [size for size, own in found if own == name]
            axis.plot(sizes, [getattr(found[size, name], field) for size in sizes], style, label=name)
        axis.set(xscale="log", yscale="log", xlabel="sentence pairs", ylabel=label)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=110)


def write_dirty(folder: Path, base: Pairs) -> tuple[tuple[Path, Path], list[Pairs]]:
    """Write pairs of which some are long lines; also return the parts of these, in order."""
    pairs, parts, rest = base[:DIRTY], [], iter(base[DIRTY:])
    for number in range(EVERY // 2, DIRTY, EVERY):
        own: Pairs = []
        while sum(source.count(" ") + 1 for source, _ in own) < LONG:
            own.append(next(rest))
        parts.append(own)
        pairs[number] = " ".join(source for source, _ in own), " ".join(target for _, target in own)
    return write_pairs(folder, pairs), parts


def agreement(folder: Path, parts: list[Pairs], preset: str) -> float:
    """Return the F score of the links of long lines against those of their parts, aligned by themselves."""
    text = write_pairs(folder / "parts", [pair for own in parts for pair in own])
    out, again = folder / "parts" / "links", lines_of(folder / "links-again")
    align = ("align", *text, "--model", folder / f"model-{preset}", "-o", out)
    measure((nmtalign_program(), *align), folder / "log")
    written, right, both = iter(lines_of(out)), 0, 0
    for own, line in zip(parts, again[EVERY // 2 :: EVERY], strict=True):
        starts = [accumulate([pair[side].count(" ") + 1 for pair in own], initial=0) for side in (0, 1)]
        gold = {
            (int(s) + left, int(t) + top)
            for left, top, _ in zip(*starts, own, strict=False)
            for s, t in (link.split("-") for link in next(written).split())
        }
        found = {tuple(map(int, link.split("-"))) for link in line.split()}
        right, both = right + len(found & gold), both + len(found) + len(gold)
    return 2 * right / both


def grow(
    work: Path, data: Path, preset: str, most: int, words: int, python: Path | None, figure: Path | None
) -> None:
    """Print both tables."""
    work.mkdir(parents=True, exist_ok=True)
    found = growth(work, data, preset, most, words, python)
    rows = [[f"{size:,}", name, *cells(cost)] for (size, name), cost in found.items()]
    print(markdown([["pairs", *HEAD], *rows]), "\n", flush=True)
    if figure:
        draw(found, figure)
    text, parts = write_dirty(work / "dirty", base_text(data))
    dirty = costs(work / "dirty", text, preset, "--workers", "1")
    rows = [[name, *cells(cost)] for name, cost in dirty.items()]
    print(f"{DIRTY:,} pairs, {len(parts)} of them of {LONG:,} words, 1 worker:\n\n{markdown([HEAD, *rows])}")
    score = 100 * agreement(work / "dirty", parts, preset)
    print(f"\nLinks of long lines against those of their parts: F {score:.2f}")


def fast_align(program: str, text: tuple[Path, Path], folder: Path, *, is_learned: bool) -> Cost:
    """Learn from a text with fast_align, or align it with what is learned in `folder`; both directions."""
    bitext = folder / "bitext"
    sides = zip(*map(lines_of, text), strict=True)
    bitext.write_text("".join(f"{source} ||| {target}\n" for source, target in sides), encoding="utf-8")
    costs_of_directions = []
    for name, direction in (("forward", ["-d"]), ("reverse", ["-d", "-r"])):
        table, log = folder / name, folder / f"{name}.log"
        options: list[str | Path] = [*direction, "-o", "-v", "-p", table]
        if is_learned:
            learned = log.read_text(encoding="utf-8", errors="replace")
            ratio = re.findall(r"source length \* (\S+)", learned)[-1]
            tension = re.findall(r"final tension: (\S+)", learned)[-1]
            options = [*direction, "-f", table, "-m", ratio, "-T", tension]
            log = folder / "new.log"
        costs_of_directions.append(measure([program, "-i", bitext, *options], log))
    return Cost(
        sum(cost.seconds for cost in costs_of_directions),
        sum(cost.cpu_seconds for cost in costs_of_directions),
        max(cost.peak_mb for cost in costs_of_directions),
    )


def speed(work: Path, data: Path, program: str | None, rounds: int) -> None:
    """Print what common commands cost, and what the same work costs with fast_align."""
    folder = work / "speed"
    laws = write_pairs(folder / "laws", read_pairs(data / "bitext" / "laws", "train", ("en", "fr"))[:20_000])
    hansard = write_pairs(folder / "hansard", hansard_pairs(data)[:100_000])
    first_pair = [(lines_of(laws[0])[0], lines_of(laws[1])[0])]
    one_pair = write_pairs(folder / "one", first_pair)
    model, links, out = folder / "model", folder / "links", folder / "out"

    def run(*arguments: str | Path) -> Cost:
        shutil.rmtree(folder / "new-model", ignore_errors=True)
        return measure((nmtalign_program(), *arguments), folder / "log")

    commands: dict[str, Callable[[], Cost]] = {
        "`--version`": lambda: run("--version"),
        "`align`, one pair, bundled model": lambda: run("align", *one_pair, "-o", out),
        "`align`, 20,000 pairs of laws, saved model": lambda: run(
            "align", *laws, "--model", model, "-o", out
        ),
        "`train`, 100,000 pairs of Hansard": lambda: run(
            "train", *hansard, "-o", folder / "new-model", "--links", links
        ),
        "`phrases`, 100,000 pairs of Hansard": lambda: run("phrases", *hansard, links, "-o", out),
    }
    shutil.rmtree(model, ignore_errors=True)
    run("train", *laws, "-o", model)
    if program is not None:
        fast_align(program, laws, folder / "laws", is_learned=False)
        commands["fast_align -f, 20,000 pairs of laws"] = lambda: fast_align(
            program, laws, folder / "laws", is_learned=True
        )
        commands["fast_align, 100,000 pairs of Hansard"] = lambda: fast_align(
            program, hansard, folder / "hansard", is_learned=False
        )
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(command())
    rows = []
    for name, costs_of_rounds in found.items():
        columns = zip(*(asdict(cost).values() for cost in costs_of_rounds), strict=True)
        seconds, cpu_seconds, megabytes = map(min, columns)
        rows.append([name, f"{seconds:.2f}", f"{cpu_seconds:.2f}", f"{megabytes:.0f}"])
    print(markdown([HEAD, *rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=18, help="18 gives a mean of 20: long pairs stay long")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--grow", action="store_true", help="More and more of the real text; dirty text.")
    parser.add_argument("--most", type=int, default=1_000_000, help="Pairs of --grow")
    parser.add_argument("--python", type=Path, help="Python that has sil-machine[thot], for --grow")
    parser.add_argument("--figure", type=Path, help="Picture of --grow")
    parser.add_argument("--speed", action="store_true", help="What common commands cost.")
    parser.add_argument("--fast-align", default=shutil.which("fast_align"), help="C++ program, for --speed")
    parser.add_argument("--rounds", type=int, default=7, help="Rounds of --speed")
    options = parser.parse_args()
    if options.speed:
        speed(options.work.absolute(), options.data, options.fast_align, options.rounds)
        return
    if options.grow:
        work, peers = options.work.absolute(), options.python
        grow(work, options.data, options.preset, options.most, options.words, peers, options.figure)
        return
    folder = options.work.absolute() / f"recycled-{options.pairs}"
    text = folder / "src", folder / "tgt"
    if not (folder / "complete").exists():
        text = write_recycled(folder, options.data, pairs=options.pairs, words=options.words)
        (folder / "complete").touch()
    print(f"{options.pairs:,} pairs: {describe(text)}\n", flush=True)
    found = costs(folder, text, options.preset)
    print(markdown([HEAD, *([name, *cells(cost)] for name, cost in found.items())]))


if __name__ == "__main__":
    main()
