"""For docs/explanation/figures.md: hashes of the corpora, and the error on them with its interval.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/benchmark_intervals.py WORK [--sets a10k h100k ...]

Of each corpus: pairs, those with gold links, the first 12 digits of the SHA-256 of the texts and the gold one
after the other, and the alignment error rate of presets `fast` and `default` with its 95 % interval
(bootstrap over sentences, 1,000 samples, seed 1). Training draws nothing at random but the start of the
spectral head, with the seed of the preset.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import nmtalign as na

SETS = (
    "a0",
    "a1k",
    "a10k",
    "a30k",
    "h10k",
    "h100k",
    "europarl_enes_200+5k",
    "bicici_deen_100+10k",
    "golden_enpt_100",
)
NAMES = ("src", "tgt", "gold")


def rows(work: Path, names: list[str]) -> Iterator[list[str]]:
    """Yield the cells of each corpus."""
    yield ["corpus", "pairs", "gold", "SHA-256", "`fast`", "`default`"]
    for name in names:
        files = [work / name / part for part in NAMES]
        bitext, gold = list(na.read_bitext(files[0], files[1])), list(na.read_gold(files[2]))
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
        errors = [interval(bitext, gold, preset) for preset in ("fast", "default")]
        yield [name, f"{len(bitext):,}", str(len(gold)), f"`{digest}`", *errors]


def interval(bitext: list[tuple[str, str]], gold: list[na.GoldAlignment], preset: str) -> str:
    """Learn from the text, align the gold pairs, which are the last ones, and return the error in percent."""
    batch = na.train(bitext, preset=preset, tokenizer="space").align_batch(
        islice(bitext, len(bitext) - len(gold), None)
    )
    score = na.evaluate([batch.links(n) for n in range(len(gold))], gold)
    aer, low, high = (100 * score.table().loc["aer", column] for column in ("score", "low", "high"))
    return f"{aer:.1f} [{low:.1f}, {high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="*", default=SETS)
    options = parser.parse_args()
    for number, cells in enumerate(rows(options.work, list(options.sets))):
        print(f"| {' | '.join(cells)} |", flush=True)
        if not number:
            print("|" + "---|" * len(cells), flush=True)


if __name__ == "__main__":
    main()
