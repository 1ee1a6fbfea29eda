"""For docs/howtos/clean_text.md: which share of the words of a text a model knows, by language.

Of each text, in both orders: the share known by the vocabulary of the side, and by that of the other side.
First under the shipped English-French model, then under models learned from the first pairs of the text
itself, on pairs that they have not seen. ``nmtalign.corpus.coverage.MIN_KNOWN_RATE`` lies between.

Run: python scripts/measure_coverage.py DATA
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

from _corpora import Pairs, lines_of

import nmtalign as na
from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus.coverage import MIN_KNOWN_RATE, Coverage, measure_coverage
from nmtalign.corpus.text import encode_text
from nmtalign.names import SIDES

PAIRS = 5_000  # of each text
LEARNED = 200, 500  # pairs that a model is learned from


def texts(data: Path) -> Iterator[tuple[str, Pairs]]:
    """Yield each text under a folder, in both orders of its languages."""
    for folder in sorted([*(data / "bitext").iterdir(), *(data / "gold").iterdir()]):
        places = sorted([*folder.glob("text.??"), *folder.glob("train.??.gz")])
        files = {path.name.split(".")[1]: path for path in places}
        for source, target in permutations(files, 2):
            sides = (lines_of(files[language])[:PAIRS] for language in (source, target))
            yield f"{folder.name} {source}-{target}", list(zip(*sides, strict=True))


def known(aligner: Aligner, pairs: Pairs) -> Coverage:
    """Return how many words of the pairs an aligner knows."""
    text = encode_text([aligner.text_settings.words_of_pair(pair, aligner.languages) for pair in pairs])
    return measure_coverage(text.source, text.target, aligner.scorer.vocabularies)


def row(name: str, found: Coverage) -> str:
    """Return a line: both rates of both sides, in percent."""
    cells = (
        f"{100 * n / max(side.total, 1):6.1f}" for side in found[:2] for n in (side.known, side.in_other)
    )
    few = [side for side, counts in zip(SIDES, found[:2], strict=True) if counts.rate < MIN_KNOWN_RATE]
    verdict = "swapped" if found.swapped else f"few in {', '.join(few)}" if few else ""
    return f"{name:<30}{''.join(cells)}  {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    aligner = na.load()
    print(f"few: under {100 * MIN_KNOWN_RATE:.0f} %\n{'':<30}source as-target target as-source")
    for name, pairs in texts(data):
        print(row(name, known(aligner, pairs)))
    for name, pairs in texts(data):
        for size in LEARNED:
            if len(pairs) >= 2 * size and "hansard" not in name:
                model = na.train(pairs[:size], tokenizer="simple", preset="fast")
                print(row(f"{name} {size} learned", known(model, pairs[size:])))


if __name__ == "__main__":
    main()
