"""Alignment error of word vectors learned from a bitext, without any other training.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_vectors.py WORK h100k a100k

Each corpus is a folder of WORK with ``src``, ``tgt`` (its last lines are the gold lines) and ``gold``. For
each the script runs, as a user would,

    nmtalign vectors learn src tgt -o DIR --method cooccurrence (or gradient)
    nmtalign align (the gold lines) --vectors DIR [options of the row]
    nmtalign evaluate links gold

(jumps are fitted on these lines, too, without their gold) and prints a markdown table of alignment error,
precision and recall.
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JUMPS = "jumps fitted on the lines, both directions"
ROWS = {
    "cooccurrence": {
        "mutual argmax, ties by the diagonal": ["--positions", "none"],
        "the same with a diagonal prior (the default)": [],
        "optimal transport with a diagonal prior": ["--extract", "transport"],
        "grow-diag-final-and with a diagonal prior": ["--symmetrize", "grow-diag-final-and"],
        "scaled dot product, mutual argmax": ["--score", "scaled-dot"],
        JUMPS: ["--positions", "hmm"],
    },
    "gradient": {
        "dot product, mutual argmax, ties by the diagonal": ["--score", "dot"],
        "the same with a diagonal prior": ["--score", "dot", "--positions", "diagonal"],
        JUMPS: ["--score", "dot", "--positions", "hmm"],
    },
}


def nmtalign(*arguments: str | Path) -> str:
    """Run a command and return what it printed."""
    command = [sys.executable, "-m", "nmtalign", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def write_tail(path: Path, count: int, out: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    out.write_text("".join(f"{line}\n" for line in lines[-count:]), encoding="utf-8", newline="\n")


def evaluate(corpus: Path, method: str, folder: Path) -> list[str]:
    """Return the rows of the table for one corpus and one kind of vectors."""
    start = time.perf_counter()
    nmtalign("vectors", "learn", corpus / "src", corpus / "tgt", "-o", folder, "--method", method)
    seconds = time.perf_counter() - start
    gold = corpus / "gold"
    count = gold.read_bytes().count(b"\n")
    for side in ("src", "tgt"):
        write_tail(corpus / side, count, folder / f"text.{side}")
    rows = []
    for name, options in ROWS[method].items():
        places = folder / "text.src", folder / "text.tgt", "--vectors", folder
        nmtalign("align", *places, *options, "-o", folder / "links")
        out = nmtalign("evaluate", folder / "links", gold)
        scores = dict(re.findall(r"^(precision|recall|aer) +([\d.]+)", out, re.MULTILINE))
        cells = (
            corpus.name,
            method,
            name,
            scores["aer"],
            scores["precision"],
            scores["recall"],
            f"{seconds:.0f}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("corpora", nargs="+")
    arguments = parser.parse_args()
    names = ("corpus", "vectors", "links", "AER", "precision", "recall", "seconds to learn")
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
    for corpus, method in itertools.product(arguments.corpora, ROWS):
        with tempfile.TemporaryDirectory() as folder:
            print(*evaluate(arguments.work / corpus, method, Path(folder)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
