"""For tests/links: write extraction_golden.json with another implementation of extraction: SimAlign.

    python3.11 -m venv /tmp/simalign && /tmp/simalign/bin/pip install torch==2.13.0 simalign==0.4
    /tmp/simalign/bin/python scripts/make_extraction_golden.py

Random weights without ties (SimAlign breaks ties by position alone). SimAlign's matrices are source by
target; ours are target by source, so they are turned here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from simalign import SentenceAligner

OUT = Path(__file__).parent.parent / "tests" / "links" / "extraction_golden.json"


def cells(matrix: np.ndarray) -> list[list[int]]:
    return np.argwhere(matrix.T > 0).tolist()


def case(random: np.random.Generator) -> dict[str, object]:
    S, T = random.integers(1, 13, 2)
    weights = random.permutation(10_000)[: S * T].reshape(S, T) / 10_000  # all different
    forward, reverse = SentenceAligner.get_alignment_matrix(weights)
    return {
        "weights": weights.T.tolist(),
        "mutual": cells(forward * reverse),
        "itermax": cells(SentenceAligner.iter_max(weights)),
        "itermax3": cells(SentenceAligner.iter_max(weights, max_count=3)),
        "match": cells(SentenceAligner.get_max_weight_match(weights)),
    }


def main() -> None:
    random = np.random.default_rng(21)
    lines = [json.dumps(case(random)) for _ in range(60)]
    OUT.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
