"""For docs/explanation/figures.md: a ragged corpus in all ways of running: equal files, time, memory.

    python scripts/benchmark_corpus.py WORK --data DATA [--pairs 1000000] [--train 50000] [--long 50000]
        [--invalid]

DATA is a folder with ``bitext/hansard`` and others. Their pairs are drawn at random, and made ragged: empty
lines on one side or both, a line of 3,000 words in 50,000 (or --long), line ends of Windows, NUL, lone
carriage returns, U+2028 and others that only look like line ends; with --invalid also bytes that are not
UTF-8. A model is learned from the first pairs, and then all are aligned: by one process, by two, in shards by
a run that is killed three times and resumed, on a cluster of this machine if ``distributed`` is there, and
from a translation memory (TMX). Prints pairs per second, CPU seconds, the peak memory of all processes
together, and whether links and pair scores are the same bytes. Ends with 1 if they are not, or if ``align``
with one process took more than 600 MB. WORK can be removed afterwards.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape

from _corpora import TEXTS, Cost, markdown, measure, read_pairs
from benchmark_aligners import nmtalign_program

LONGEST = 3_000
UNITS = 100_000  # of the translation memory
ODD = (
    "\u2028",
    "\x85",
    "\u00a0",
    "\x0b",
    "\x1c",
    "\r",
    "\x00",
    "\u200d",
    "e\u0301",
    "\U0001f600",
    "漢字",
    "עברית",
)
MEMORY_MB = 600
KILLS = 3


def ragged_pairs(data: Path, size: int, long: int, invalid_from: int | None) -> Iterator[tuple[bytes, bytes]]:
    """Yield the lines of both sides, with their ends."""
    random_ = random.Random(1)
    base = [pair for name in TEXTS for pair in read_pairs(data / "bitext" / name, "train", ("en", "fr"))]
    for number in range(size):
        sides = list(random_.choice(base))
        chance = random_.random()
        if chance < 0.01:
            sides[random_.randrange(2)] = ""
        elif chance < 0.015:
            sides = ["", ""]
        elif chance < 0.025:
            side, odd = random_.randrange(2), random_.choice(ODD)
            place = random_.randrange(len(sides[side]) + 1)
            sides[side] = sides[side][:place] + odd + sides[side][place:]
        if number % long == long // 2:
            more = [random_.choice(base) for _ in range(LONGEST // 8)]
            sides = [" ".join(part[side] for part in more) for side in (0, 1)]
            sides = [" ".join(text.split(" ")[:LONGEST]) for text in sides]
        lines = [text.replace("\n", " ").encode() for text in sides]
        if invalid_from is not None and number >= invalid_from and random_.random() < 1e-4:
            lines[random_.randrange(2)] += b" caf\xe9"
        end = b"\r\n" if random_.random() < 0.02 else b"\n"
        yield lines[0] + end, lines[1] + end


def write_corpus(data: Path, work: Path, size: int, train: int, long: int, invalid: bool) -> None:
    """Write text.en, text.fr and, of the first pairs, train.en and train.fr."""
    pairs = ragged_pairs(data, size, long, train if invalid else None)
    for stem, count in (("train", train), ("text", None)):
        mode = "wb" if stem == "train" else "ab"
        if stem == "text":
            for side in ("en", "fr"):
                (work / f"text.{side}").write_bytes((work / f"train.{side}").read_bytes())
        with (work / f"{stem}.en").open(mode) as source, (work / f"{stem}.fr").open(mode) as target:
            for lines in islice(pairs, count):
                source.write(lines[0])
                target.write(lines[1])


def write_memory(work: Path, units: int) -> None:
    """Write the first pairs as TMX, and as the two texts that this is."""
    forbidden = dict.fromkeys([*range(9), *range(10, 32), 0x7F, 0xFFFE, 0xFFFF], " ")
    forbidden |= {9: " ", 0x85: " ", 0x2028: " "}
    with (work / "text.en").open("rb") as source, (work / "text.fr").open("rb") as target:
        lines = list(islice(zip(source, target, strict=True), units))
    texts = [
        [line.decode(errors="replace").rstrip("\n").translate(forbidden) for line in pair] for pair in lines
    ]
    with (work / "memory.tmx").open("w", encoding="utf-8", newline="\n") as file:
        file.write('<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n')
        for pair in texts:
            variants = (
                f'<tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>'
                for language, text in zip(("en", "fr"), pair, strict=True)
            )
            file.write(f"<tu>{''.join(variants)}</tu>\n")
        file.write("</body></tmx>\n")
    for side, language in enumerate(("en", "fr")):
        text = "".join(f"{pair[side]}\n" for pair in texts)
        (work / f"memory.{language}").write_text(text, encoding="utf-8", newline="\n")


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


class Bench:
    """Runs, and the rows of the table."""

    def __init__(self, work: Path, more: list[str]) -> None:
        self.work, self.more = work, more
        self.rows = [["run", "pairs per second", "seconds", "CPU seconds", "peak MB", "bytes"]]
        self.digests: dict[str, tuple[str, str]] = {}

    def outputs(self, name: str) -> tuple[Path, Path]:
        return self.work / f"{name}.links", self.work / f"{name}.scores"

    def command(self, name: str, *arguments: object) -> list[str | Path]:
        links, scores = self.outputs(name)
        report = ["--error-report", self.work / f"{name}.bad"] if self.more else []
        parts = [*arguments, "--model", self.work / "model", "-o", links, "--pair-scores", scores]
        return [nmtalign_program(), "align", *map(str, (*parts, *self.more, *report))]

    def align(self, name: str, pairs: int, *arguments: object) -> Cost:
        cost = measure(self.command(name, *arguments), self.work / f"{name}.log")
        links, scores = self.outputs(name)
        self.digests[name] = digest(links), digest(scores)
        self.note(name, pairs, cost, self.digests[name][0])
        return cost

    def note(self, name: str, pairs: int, cost: Cost, found: str) -> None:
        rate = f"{pairs / cost.seconds:,.0f}"
        row = [name, rate, f"{cost.seconds:.0f}", f"{cost.cpu_seconds:.0f}", f"{cost.peak_mb:.0f}", found]
        self.rows.append(row)
        print(" ".join(row), flush=True)


def kill_at_random(command: list[str | Path], shards: Path, random_: random.Random) -> None:
    """Start a run in shards and kill all of its processes when one more shard is done, or soon after."""
    done = len(list(shards.glob("0*.json")))
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL, start_new_session=True) as run:
        while run.poll() is None and len(list(shards.glob("0*.json"))) == done:
            time.sleep(0.05)
        time.sleep(random_.random())
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)


def run_all(bench: Bench, size: int, train: int) -> bool:
    """Do all of it; say whether everything is as it should be."""
    work = bench.work
    texts, parts = (
        [work / f"text.{side}" for side in ("en", "fr")],
        [work / f"train.{s}" for s in ("en", "fr")],
    )
    learn = [nmtalign_program(), "train", *parts, "-o", work / "model", "--tokenizer", "simple", "--force"]
    bench.note(f"train ({train:,})", train, measure(learn, work / "train.log"), "")
    one = bench.align("1 worker", size, *texts, "--workers", "1")
    bench.align("2 workers", size, *texts, "--workers", "2")
    shards = ["--out-shards", work / "shards", "--shard-pairs", max(size // 20, 100), "--workers", "2"]
    random_ = random.Random(2)
    for n in range(KILLS):
        resume = ["--resume"] if n else []
        kill_at_random(bench.command("shards", *texts, *shards, *resume), work / "shards", random_)
    bench.align("shards", size, *texts, *shards, "--resume")
    if importlib.util.find_spec("distributed"):
        bench.align("dask", size, *texts, "--engine", "dask", "--workers", "2")
    units = min(UNITS, size)
    write_memory(work, units)
    memory = bench.align("tmx", units, "--pairs", work / "memory.tmx", "--sides", "en,fr", "--workers", "1")
    bench.align("tmx as text", units, *(work / f"memory.{s}" for s in ("en", "fr")), "--workers", "1")
    whole = {found for name, found in bench.digests.items() if not name.startswith("tmx")}
    same = len(whole) == 1 and bench.digests["tmx"] == bench.digests["tmx as text"]
    print(f"\n{markdown(bench.rows)}\n\nThe same bytes: {'yes' if same else 'NO'}")
    print(f"Peak of align with one process: {max(one.peak_mb, memory.peak_mb):.0f} MB of {MEMORY_MB}")
    return same and max(one.peak_mb, memory.peak_mb) <= MEMORY_MB


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--train", type=int, default=50_000)
    parser.add_argument("--long", type=int, default=50_000, help="Pairs to one with a line of 3,000 words")
    parser.add_argument("--invalid", action="store_true", help="Also bytes that are not UTF-8.")
    options = parser.parse_args()
    if options.work.exists() and any(options.work.iterdir()):
        parser.error(f"{options.work} is not empty")
    options.work.mkdir(parents=True, exist_ok=True)
    train = min(options.train, options.pairs // 2)
    write_corpus(options.data, options.work, options.pairs, train, options.long, options.invalid)
    bench = Bench(options.work, ["--on-error", "skip-marked"] if options.invalid else [])
    raise SystemExit(not run_all(bench, options.pairs, train))


if __name__ == "__main__":
    main()
