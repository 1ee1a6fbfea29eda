"""For docs/basics.md: its pictures: one sentence pair, aligned by the bundled model.

    python scripts/draw_basics.py

Writes SVG files into docs/basics/. Text stays text. The gold links are those of this file.
"""

from __future__ import annotations

from pathlib import Path

import nmtalign
from nmtalign import GoldAlignment

SOURCE, TARGET = (
    ["The", "black", "cat", "did", "not", "sleep", "."],
    ["Le", "chat", "noir", "ne", "dormait", "pas", "."],
)
SURE = {(0, 0), (1, 2), (2, 1), (4, 3), (4, 5), (5, 4), (6, 6)}
POSSIBLE = {(3, 4)}  # "did" has no word of its own in French
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "basics"


def main() -> None:
    """Write the pictures."""
    pair = nmtalign.load().align(SOURCE, TARGET)
    gold = GoldAlignment(frozenset(SURE), frozenset(SURE | POSSIBLE))
    FOLDER.mkdir(exist_ok=True)
    pair.save(FOLDER / "gold.svg", curves=True, links=None, gold=gold, numbers=True)
    pair.save(FOLDER / "errors.svg", curves=True, gold=gold, numbers=True)


if __name__ == "__main__":
    main()
