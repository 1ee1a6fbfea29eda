"""What each head of a learned aligner finds, alone and with others: error and CPU seconds, as a table.

    python scripts/evaluate_heads.py WORK [--sets h10k a30k ...] [--inputs words] [--teacher bitext]

WORK is the folder of ``benchmark_aligners.py corpora``. For each corpus the lexicon is learned, then the
vectors, then the head bahdanau; all combinations align the gold lines. The figures are alignment error rates
in percent (Och and Ney, 2003) at the default threshold, and CPU seconds of one thread to learn each head.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmark_aligners import lines_of, markdown, score

from nmtalign.alignment.formats import format_pharaoh
from nmtalign.models.estimation import Settings, with_heads
from nmtalign.models.learned import LearnedAligner
from nmtalign.models.training import train

COMBINATIONS = (
    ("lexicon",),
    ("vectors",),
    ("bahdanau",),
    ("lexicon", "vectors"),
    ("lexicon", "bahdanau"),
    ("lexicon", "vectors", "bahdanau"),
)
STAGES = {"jump pass": "lexicon", "vectors": "vectors", "second opinion": "bahdanau"}


class Clock:
    """CPU seconds of the stages that training reports."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES.values(), 0.0)
        self._last = time.process_time()

    def __call__(self, line: str) -> None:
        now = time.process_time()
        stage = next((name for start, name in STAGES.items() if line.startswith(start)), "lexicon")
        self.seconds[stage] += now - self._last
        self._last = now


def row(folder: Path, settings: Settings, shares: Sequence[float]) -> list[list[str]]:
    """Learn from one corpus and return the rows of the table, one for each share of the head bahdanau."""
    source, target, gold = (lines_of(folder / name) for name in ("src", "tgt", "gold"))
    clock = Clock()
    model = train(list(zip(source, target, strict=True)), settings=settings, workers=1, report=clock).model
    n = len(gold)
    words = [(s.split(), t.split()) for s, t in zip(source[-n:], target[-n:], strict=True)]
    rows = []
    for share in shares or (None,):
        own = model
        if share is not None and model.opinion is not None:
            own = model._replace(opinion=replace(model.opinion, share=share))
        errors = []
        for heads in COMBINATIONS:
            batch = LearnedAligner(own.with_heads(heads), workers=1).align_batch(words)
            found = [format_pharaoh(batch.links(k)) for k in range(n)]
            errors.append(f"{score(found, gold).aer:.2f}")
        seconds = [f"{clock.seconds[head]:.1f}" for head in ("lexicon", "vectors", "bahdanau")]
        name = folder.name if share is None else f"{folder.name}, share {share:g}"
        rows.append([name, *errors, " + ".join(seconds)])
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="+", default=["a0", "a1k", "a10k", "h10k"])
    parser.add_argument("--inputs", choices=("clues", "words"), default="clues")
    parser.add_argument("--teacher", choices=("posteriors", "bitext"), default="posteriors")
    parser.add_argument("--shares", nargs="*", type=float, default=[], help="of bahdanau  [the default's]")
    options = parser.parse_args()
    heads = COMBINATIONS[-1]
    settings = with_heads(Settings(), heads, inputs=options.inputs, teacher=options.teacher)
    table = [["text", *("+".join(c) for c in COMBINATIONS), "CPU seconds: lexicon + vectors + bahdanau"]]
    for name in options.sets:
        table += row(options.work / name, settings, options.shares)
    print(markdown(table))


if __name__ == "__main__":
    main()
