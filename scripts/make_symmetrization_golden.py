"""For tests/links: write symmetrization_golden.tsv with another implementation: sil-machine.

    python3.11 -m venv /tmp/machine && /tmp/machine/bin/pip install 'sil-machine[thot]==1.9.2'
    /tmp/machine/bin/python scripts/make_symmetrization_golden.py train.en.gz train.fr.gz

Half of the pairs are random links; half are what thot's HMM aligner finds in each direction for the first
600 pairs of the two files. Only link positions are written, no text. Columns: kind, source length, target
length, forward, reverse, then one for each method. The result of the C++ library thot is compared with
sil-machine's own before anything is written.
"""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from machine.translation import SymmetrizationHeuristic as Heuristic
from machine.translation import WordAlignmentMatrix
from thot import alignment as thot_alignment
from thot import common as thot_common

OUT = Path(__file__).parent.parent / "tests" / "links" / "symmetrization_golden.tsv"
METHODS = {
    "intersection": Heuristic.INTERSECTION,
    "union": Heuristic.UNION,
    "grow-diag": Heuristic.GROW_DIAG,
    "grow-diag-final": Heuristic.GROW_DIAG_FINAL,
    "grow-diag-final-and": Heuristic.GROW_DIAG_FINAL_AND,
}
Links = set[tuple[int, int]]
Case = tuple[str, int, int, Links, Links]


def random_cases(count: int) -> Iterator[Case]:
    """Every word of each direction links at random: anywhere, or near the diagonal."""
    generator = random.Random(20)
    for n in range(count):
        S, T = generator.randint(1, 14), generator.randint(1, 14)

        def choose(i: int, own: int, other: int, near: bool = n % 2 == 0) -> int:
            if not near:
                return generator.randrange(other)
            place = round((i + 0.5) * other / own - 0.5) + generator.choice((-1, 0, 0, 0, 1, 2))
            return min(other - 1, max(0, place))

        forward = {(choose(t, T, S), t) for t in range(T) if generator.random() < 0.9}
        reverse = {(s, choose(s, S, T)) for s in range(S) if generator.random() < 0.9}
        yield "random", S, T, forward, reverse


def read(path: str, count: int) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.lower().split() for line, _ in zip(file, range(count), strict=False)]


def real_cases(source_path: str, target_path: str, count: int) -> Iterator[Case]:
    """The two directions of thot's HMM aligner, trained on 2,500 pairs."""
    source, target = read(source_path, 2500), read(target_path, 2500)
    sides = [(source, target), (target, source)]
    models = []
    for first, second in sides:
        model = thot_alignment.HmmAlignmentModel()
        for a, b in zip(first, second, strict=True):
            model.add_sentence_pair(a, b, 1)
        model.start_training()
        for _ in range(5):
            model.train()
        model.end_training()
        models.append(model)
    for a, b in list(zip(source, target, strict=True))[:count]:
        forward = {(s - 1, t) for t, s in enumerate(models[0].get_best_alignment(a, b)[1].to_list()) if s}
        reverse = {(s, t - 1) for s, t in enumerate(models[1].get_best_alignment(b, a)[1].to_list()) if t}
        yield "real", len(a), len(b), forward, reverse


def by_machine(case: Case, heuristic: Heuristic) -> Links:
    _, S, T, forward, reverse = case
    matrix = WordAlignmentMatrix.from_word_pairs(S, T, forward)
    matrix.symmetrize_with(WordAlignmentMatrix.from_word_pairs(S, T, reverse), heuristic)
    return {(pair.source_index, pair.target_index) for pair in matrix.to_aligned_word_pairs()}


def by_thot(case: Case, name: str) -> Links:
    _, S, T, forward, reverse = case
    first, second = thot_common.WordAlignmentMatrix(S, T), thot_common.WordAlignmentMatrix(S, T)
    for matrix, links in ((first, forward), (second, reverse)):
        for s, t in links:
            matrix.set(s, t)
    joined = getattr(first, {"intersection": "intersect"}.get(name, name.replace("-", "_")))(second)
    return set(zip(*(axis.tolist() for axis in np.nonzero(joined.to_numpy())), strict=True))


def pharaoh(links: Links) -> str:
    return " ".join(f"{s}-{t}" for s, t in sorted(links))


def row(case: Case) -> str:
    kind, S, T, forward, reverse = case
    results = {name: by_machine(case, heuristic) for name, heuristic in METHODS.items()}
    for name, links in results.items():
        if by_thot(case, name) != links:
            raise SystemExit(f"thot and sil-machine disagree about {name} of {case}")
    columns = [pharaoh(links) for links in (forward, reverse, *results.values())]
    return "\t".join([kind, str(S), str(T), *columns])


def main(source_path: str, target_path: str) -> None:
    cases = [*random_cases(600), *real_cases(source_path, target_path, 600)]
    header = "\t".join(["kind", "source_length", "target_length", "forward", "reverse", *METHODS])
    OUT.write_text("\n".join([header, *map(row, cases)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
