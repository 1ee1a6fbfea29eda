"""For docs/basics.md: its pictures: one sentence pair, aligned by the bundled model.

    python scripts/draw_basics.py

Writes SVG files into docs/basics/. Text stays text. The gold links are those of this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import nmtalign
from nmtalign import GoldAlignment
from nmtalign.arrays import Floats

SOURCE, TARGET = (
    ["The", "black", "cat", "did", "not", "sleep", "."],
    ["Le", "chat", "noir", "ne", "dormait", "pas", "."],
)
SURE = {(0, 0), (1, 2), (2, 1), (4, 3), (4, 5), (5, 4), (6, 6)}
POSSIBLE = {(3, 4)}  # "did" has no word of its own in French
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "basics"
STEP, CELL, TOP, BOTTOM = 92, 40, 44, 150  # pixels
INK, GRAY, BLUE = "#1b1f24", "#8a929b", "#1f6feb"


def svg(width: int, height: int, parts: Iterable[str], title: str) -> str:
    """Return a picture on a white card."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="15" fill="{INK}"><title>{escape(title)}</title>'
        f'<rect width="{width}" height="{height}" rx="8" fill="#fff" stroke="#d0d7de"/>'
        + "".join(parts)
        + "</svg>\n"
    )


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Return words centered at a place."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" {style}>{escape(words)}</text>'


def words(sides: tuple[Sequence[str], Sequence[str]] = (SOURCE, TARGET)) -> list[str]:
    """Return both sentences with the positions of their words."""
    parts = []
    for side, baseline, of_number in zip(sides, (TOP - 8, BOTTOM + 20), (TOP - 26, BOTTOM + 38), strict=True):
        for n, word in enumerate(side):
            number = "" if word == "∅" else str(n)
            parts += [text(x_of(n), baseline, word), text(x_of(n), of_number, number, small(GRAY))]
    return parts


def small(color: str) -> str:
    """Return the style of small text."""
    return f'font-size="11" fill="{color}"'


def x_of(n: int) -> int:
    """Return where word n stands."""
    return 60 + STEP * n


def curve(s: int, t: int, color: str, width: float) -> str:
    """Return the curve from source word s to target word t."""
    middle = (TOP + BOTTOM) / 2
    path = f"M{x_of(s)} {TOP} C{x_of(s)} {middle} {x_of(t)} {middle} {x_of(t)} {BOTTOM}"
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{width:.2g}"/>'


def matrix(weights: Floats, left: float, top: float, title: str, *, rows: bool = True) -> list[str]:
    """Return a matrix of numbers from 0 to 1, rows target words, columns source words."""
    parts = [text(left + CELL * len(SOURCE) / 2, top - 56, title, 'font-weight="600"')]
    for s, word in enumerate(SOURCE):
        x = left + CELL * (s + 0.5)
        place = f"translate({x + 4:g} {top - 6}) rotate(-45)"
        parts.append(f'<text transform="{place}" font-size="12">{word}</text>')
    for t, word in enumerate(TARGET):
        y = top + CELL * (t + 0.5)
        if rows:
            parts.append(f'<text x="{left - 8}" y="{y + 4:g}" text-anchor="end" font-size="12">{word}</text>')
        for s in range(len(SOURCE)):
            value = float(weights[t, s])
            shade, ink = f"rgba(31,111,235,{value:.2f})", "#fff" if value > 0.5 else INK
            parts.append(
                f'<rect x="{left + CELL * s}" y="{top + CELL * t}" width="{CELL}" height="{CELL}" '
                f'fill="{shade}" stroke="#d0d7de"/>'
            )
            if value >= 0.005:
                parts.append(text(left + CELL * (s + 0.5), y + 4, f"{value:.2f}".lstrip("0"), small(ink)))
    return parts


def attention(pair: nmtalign.AlignedPair, word: str) -> list[str]:
    """Return the curves from a target word to all source words, and to the null word, as wide as weights."""
    t = TARGET.index(word)
    assert pair.forward is not None
    assert pair.target_null is not None
    weights = [*pair.forward[t], pair.target_null[t]]
    parts = words(([*SOURCE, "∅"], TARGET))
    for s, weight in enumerate(weights):
        if weight >= 0.005:
            number = text(x_of(s) + 22, TOP + 14, f"{weight:.2f}".lstrip("0"), small(BLUE))
            parts += [curve(s, t, BLUE, 8 * weight), number]
    return parts


def save_curves(pair: nmtalign.AlignedPair) -> None:
    """Write the pictures of links."""
    gold = GoldAlignment(frozenset(SURE), frozenset(SURE | POSSIBLE))
    pair.save(FOLDER / "gold.svg", curves=True, links=None, gold=gold, numbers=True)
    pair.save(FOLDER / "errors.svg", curves=True, gold=gold, numbers=True)


def draw(pair: nmtalign.AlignedPair) -> dict[str, str]:
    """Return each other picture by the name of its file."""
    wide = x_of(len(SOURCE)) - 32
    side = CELL * len(SOURCE)
    assert pair.forward is not None
    assert pair.reverse is not None
    three = [
        *matrix(pair.forward, 80, 84, "p(source | target)"),
        *matrix(pair.reverse, 110 + side, 84, "p(target | source)", rows=False),
        *matrix(pair.posterior, 140 + 2 * side, 84, "probability of a link", rows=False),
    ]
    return {
        "attention.svg": svg(wide + STEP, 200, attention(pair, "ne"), "Attention of the target word ne"),
        "null.svg": svg(wide + STEP, 200, attention(pair, "pas"), "Attention of the target word pas"),
        "posteriors.svg": svg(160 + 3 * side, 100 + side, three, "Three matrices of one sentence pair"),
    }


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    pair = nmtalign.load().align(SOURCE, TARGET)
    save_curves(pair)
    for name, picture in draw(pair).items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
