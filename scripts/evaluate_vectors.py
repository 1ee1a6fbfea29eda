"""For docs/explanation/figures.md: error of word vectors learned from a bitext, without any other training.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_vectors.py WORK h100k a30k [--only "counts 128"] [--scores]

Each corpus is a folder of WORK with ``src``, ``tgt`` (its last lines are the gold lines) and ``gold``. For
each the script runs, as a user would,

    nmtalign train src tgt -o MODEL
    nmtalign vectors learn --model MODEL -o DIR [options of the vectors]
    nmtalign align (the gold lines) --vectors DIR [options of the row]
    nmtalign evaluate links gold

(transitions are fitted on these lines, too, without their gold) and prints a markdown table of alignment
error, precision and recall, and the CPU seconds of learning the vectors and the model.
"""

from __future__ import annotations

import argparse
import itertools
import re
import tempfile
from pathlib import Path

from _corpora import cpu_seconds_of_children, nmtalign

MUTUAL = "mutual argmax, ties by the diagonal"
DIAGONAL = "the same with a diagonal prior"
HMM = "hidden Markov model, transitions fitted on the lines"
COSINE = {MUTUAL: ["--positions", "none"], DIAGONAL: ["--positions", "diagonal"], HMM: []}
VECTORS = {
    "counts 64": ["--dimension", "64"],
    "counts 128": [],
    "counts 300": ["--dimension", "300"],
    "counts 128, sub-words": ["--subwords"],
}
PLAIN = {  # for all vectors, with --scores
    f"{score}, {positions}": ["--score", score, "--positions", positions]
    for score in ("dot", "scaled-dot")
    for positions in ("none", "diagonal", "hmm")
}


def write_tail(path: Path, count: int, out: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    out.write_text("".join(f"{line}\n" for line in lines[-count:]), encoding="utf-8", newline="\n")


def learn(corpus: Path, name: str, folder: Path, model: Path) -> float:
    """Learn vectors, after the model, and return the CPU seconds."""
    start = cpu_seconds_of_children()
    text = [corpus / "src", corpus / "tgt"]
    nmtalign("train", *text, "-o", model, "--workers", "1")
    nmtalign("vectors", "learn", "--model", model, "-o", folder, *VECTORS[name])
    return cpu_seconds_of_children() - start


def evaluate(corpus: Path, name: str, folder: Path, *, scores: bool) -> list[str]:
    """Return the rows of the table for one corpus and one kind of vectors."""
    vectors = folder / "vectors"
    seconds = learn(corpus, name, vectors, folder / "model")
    gold = corpus / "gold"
    count = gold.read_bytes().count(b"\n")
    for side in ("src", "tgt"):
        write_tail(corpus / side, count, folder / f"text.{side}")
    rows = []
    for links, options in (COSINE | (PLAIN if scores else {})).items():
        places = folder / "text.src", folder / "text.tgt", "--vectors", vectors
        nmtalign("align", *places, *options, "--unknown", "zero", "-o", folder / "links")
        out = nmtalign("evaluate", folder / "links", gold)
        found = dict(re.findall(r"^(precision|recall|aer) +([\d.]+)", out, re.MULTILINE))
        cells = (
            corpus.name,
            name,
            links,
            found["aer"],
            found["precision"],
            found["recall"],
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
    parser.add_argument("--only", metavar="START", default="", help="vectors whose name starts so")
    parser.add_argument("--scores", action="store_true", help="also dot products")
    arguments = parser.parse_args()
    names = ("corpus", "vectors", "links", "AER", "precision", "recall", "CPU seconds to learn")
    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
    chosen = [name for name in VECTORS if name.startswith(arguments.only)]
    for corpus, name in itertools.product(arguments.corpora, chosen):
        with tempfile.TemporaryDirectory() as folder:
            rows = evaluate(arguments.work / corpus, name, Path(folder), scores=arguments.scores)
            print(*rows, sep="\n", flush=True)


if __name__ == "__main__":
    main()
