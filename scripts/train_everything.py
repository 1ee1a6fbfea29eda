"""Does training end well on any text? Learns from every bitext of a folder, cut in two ways, by two presets.

    python scripts/train_everything.py ../shared/data/bitext [--pairs 5000] [--presets fast default]

A bitext is a folder with train.en.gz and a train.XX.gz for each other language. Each run prints a line. It
fails if ``nmtalign train`` does, warns of its arithmetic (NaN, overflow) or finds no links; then the exit
code is 1.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from benchmark_aligners import nmtalign_program

TOKENIZERS = "space", "simple"


def bitexts(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Return the files of both sides of each bitext, English first."""
    for english in sorted(folder.glob("*/train.en.gz")):
        for other in sorted(english.parent.glob("train.*.gz")):
            if other != english:
                yield english, other


def cut(path: Path, out: Path, pairs: int | None) -> None:
    """Write the first lines of a compressed file."""
    with gzip.open(path, "rb") as lines, out.open("wb") as file:
        file.writelines(islice(lines, pairs))


def train(text: tuple[Path, Path], work: Path, *options: str) -> str:
    """Learn from a bitext; return what went wrong, or nothing."""
    links = work / "links"
    command = [nmtalign_program(), "train", *text, "-o", work / "model", "--links", links, "-q", *options]
    strict = os.environ | {"PYTHONWARNINGS": "error::RuntimeWarning"}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=strict)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip().rpartition(chr(10))[2]}"
    return "" if links.read_text(encoding="ascii").strip() else "no links"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, help="of each bitext, from its beginning [all]")
    parser.add_argument("--presets", nargs="+", default=["fast", "default"])
    options = parser.parse_args()
    runs = failed = 0
    for source, target in bitexts(options.folder):
        for preset, tokenizer in product(options.presets, TOKENIZERS):
            with tempfile.TemporaryDirectory() as folder:
                text = Path(folder, "source"), Path(folder, "target")
                for path, out in zip((source, target), text, strict=True):
                    cut(path, out, options.pairs)
                start = time.monotonic()
                fault = train(text, Path(folder), "--preset", preset, "--tokenizer", tokenizer)
            name = f"{source.parent.name}/{target.name.split('.')[1]}"
            seconds = time.monotonic() - start
            print(f"{name:20} {preset:8} {tokenizer:7} {seconds:6.0f} s  {fault or 'ok'}", flush=True)
            runs, failed = runs + 1, failed + bool(fault)
    sys.exit(f"{failed} of {runs} runs failed" if failed or not runs else 0)


if __name__ == "__main__":
    main()
