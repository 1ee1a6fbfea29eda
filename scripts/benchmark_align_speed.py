"""For docs/explanation/figures.md: pairs a second of ``align --vectors`` and of simalign.

    python scripts/benchmark_align_speed.py SOURCE TARGET --vectors DIR --peer-python PYTHON [--pairs 100000]

SOURCE and TARGET are line-aligned text, words between spaces, perhaps .gz. DIR holds ``word2int_XX.pkl`` and
``embeddings_XX.npz``; ``--dimensions 300`` repeats their columns up to that length, because time depends on
the length of the vectors and not on what is in them. PYTHON is the Python of an environment with simalign
(``pip install torch==2.13.0``, then ``pip install simalign``); this file is run by it, so the peer's part
needs nothing but NumPy and simalign.

Both programs look words up in lower case, take zero vectors for unknown words, choose mutual argmax and write
Pharaoh links for every line, in one process with one BLAS thread. They run one after the other, ``--repeats``
times, and the best run of each counts. simalign's links are those of its static methods ``get_similarity``
and ``get_alignment_matrix``. It takes the first of equal scores, where nmtalign takes the one nearest to the
diagonal, so lines are compared where no word repeats and all are known; the few that differ then have words
with the same vector, which always occur together.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path


def read(path: Path) -> Iterator[str]:
    """Yield the lines of a text file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def comparable(folder: Path) -> list[bool]:
    """Say for each pair whether both sides have only known words, none of them twice."""
    result = []
    known = [pickle.loads((folder / f"word2int_{name}.pkl").read_bytes()) for name in ("en", "fr")]
    for lines in zip(read(folder / "text.en"), read(folder / "text.fr"), strict=True):
        words = [[word for word in line.lower().split(" ") if word] for line in lines]
        unlike = all(len(set(side)) == len(side) for side in words)
        result.append(unlike and all(known[n].keys() >= set(side) for n, side in enumerate(words)))
    return result


def make_inputs(arguments: argparse.Namespace, folder: Path) -> None:
    """Write the first pairs as plain text and the vectors at the wanted length."""
    import numpy as np

    for name, path in (("en", arguments.source), ("fr", arguments.target)):
        lines = itertools.islice(read(path), arguments.pairs)
        (folder / f"text.{name}").write_text(
            "".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n"
        )
    for pickled in sorted(arguments.vectors.glob("word2int_*.pkl")):
        name = pickled.stem.removeprefix("word2int_")
        (folder / pickled.name).write_bytes(pickled.read_bytes())
        matrix = np.load(arguments.vectors / f"embeddings_{name}.npz")["embeddings"].astype(np.float32)
        repeats = -(-arguments.dimensions // matrix.shape[1])
        wide = np.tile(matrix, repeats)[:, : arguments.dimensions]
        np.savez(folder / f"embeddings_{name}.npz", embeddings=wide)


def run_simalign(folder: Path) -> None:
    """Align with simalign's static methods; print the seconds of the loop. Runs in the peer's Python."""
    import numpy as np
    from simalign.simalign import SentenceAligner

    sides = []
    for name in ("en", "fr"):
        with open(folder / f"word2int_{name}.pkl", "rb") as file:
            word2int = pickle.load(file)
        matrix = np.load(folder / f"embeddings_{name}.npz")["embeddings"]
        sides.append((word2int, np.vstack([matrix, np.zeros((1, matrix.shape[1]), matrix.dtype)])))
    begin = time.perf_counter()
    with open(folder / "simalign.links", "w", encoding="utf-8", newline="\n") as out:
        for lines in zip(read(folder / "text.en"), read(folder / "text.fr"), strict=True):
            vectors = [
                matrix[[word2int.get(word, -1) for word in line.lower().split(" ") if word]]
                for line, (word2int, matrix) in zip(lines, sides, strict=True)
            ]
            links: list[str] = []
            if all(len(side) for side in vectors):
                forward, backward = SentenceAligner.get_alignment_matrix(
                    SentenceAligner.get_similarity(*vectors)
                )
                links = [f"{s}-{t}" for s, t in np.argwhere(forward * backward).tolist()]
            out.write(" ".join(links) + "\n")
    print(json.dumps({"seconds": time.perf_counter() - begin}))


def run_nmtalign(folder: Path) -> float:
    """Run the command line; return the seconds that it reports for the pairs."""
    command = [sys.executable, "-m", "nmtalign", "align", folder / "text.en", folder / "text.fr"]
    choices = ["--vectors", folder, "--langs", "en,fr", "--score", "cosine", "--positions", "none"]
    done = subprocess.run(
        [*command, *choices, "--workers", "1", "-o", folder / "nmtalign.links"],
        check=True,
        capture_output=True,
        text=True,
    )
    print(done.stderr.strip(), file=sys.stderr)
    found = re.search(r"links in ([\d.]+) s", done.stderr)
    assert found is not None, done.stderr
    return float(found[1])


def time_stages(folder: Path) -> dict[str, float]:
    """Return the seconds of each stage of nmtalign, one after the other in this process."""
    import nmtalign
    from nmtalign.corpus.text import encode_lines
    from nmtalign.links.formats import format_pharaoh_batch

    aligner = replace(nmtalign.load(folder, languages=("en", "fr"), positions="none"), workers=1)
    seconds = {"read and number words": 0.0, "look up, score, choose": 0.0, "write links": 0.0}
    sides = zip(read(folder / "text.en"), read(folder / "text.fr"), strict=True)
    while True:
        times = [time.perf_counter()]
        text = encode_lines(itertools.islice(sides, 20_000), aligner.text_settings)
        times.append(time.perf_counter())
        batch = aligner.link_text(text)
        times.append(time.perf_counter())
        format_pharaoh_batch(batch)
        times.append(time.perf_counter())
        if not text.buckets:
            return seconds
        for name, (start, stop) in zip(seconds, itertools.pairwise(times), strict=True):
            seconds[name] += stop - start


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Run both programs in turn and print a table."""
    make_inputs(arguments, folder)
    best = {"nmtalign": float("inf"), "simalign": float("inf")}
    for _ in range(arguments.repeats):
        best["nmtalign"] = min(best["nmtalign"], run_nmtalign(folder))
        peer = [arguments.peer_python, __file__, "--peer", folder]
        out = subprocess.run(peer, check=True, capture_output=True, text=True).stdout
        best["simalign"] = min(best["simalign"], json.loads(out.splitlines()[-1])["seconds"])
    lines = [list(read(folder / f"{name}.links")) for name in best]
    plain = comparable(folder)
    same = sum(a == b for a, b in itertools.compress(zip(*lines, strict=True), plain))
    count = len(lines[0])
    print(f"{count:,} pairs, {arguments.dimensions} dimensions, 1 process, 1 BLAS thread\n")
    print("| program | seconds | pairs per second |\n|---|---|---|")
    for name, seconds in best.items():
        print(f"| {name} | {seconds:.1f} | {count / seconds:,.0f} |")
    ratio = best["simalign"] / best["nmtalign"]
    print(f"\nratio {ratio:.1f}; {same:,} of {sum(plain):,} comparable lines are equal")
    for name, seconds in time_stages(folder).items():
        print(f"nmtalign, {name}: {seconds:.2f} s")


def main() -> None:
    os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")})
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if sys.argv[1:2] == ["--peer"]:
        run_simalign(Path(sys.argv[2]))
        return
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments, Path(folder))


if __name__ == "__main__":
    main()
