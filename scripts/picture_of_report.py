"""For README.md: its pictures: the card of one pair with a word that is pinned, light and dark.

python scripts/picture_of_report.py docs/card.png docs/card_dark.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from nmtalign.cli.commands.heatmap_command import heatmap_command
from nmtalign.files.paths import bundled_path

DPI = 144  # 2,200 pixels, twice the width of a card


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("light", type=Path)
    parser.add_argument("dark", type=Path)
    parser.add_argument("--line", default="1", help="of the bundled sample")
    parser.add_argument("--word", default="a", help="word that is pinned")
    options = parser.parse_args()
    sample = bundled_path("en_fr_sample")
    texts = [str(sample / f"text.tok.{language}") for language in ("en", "fr")]
    chosen = ["--lines", options.line, "--gold", str(sample / "gold.pharaoh"), "--pin", options.word]
    for path, colors in ((options.light, []), (options.dark, ["--dark"])):
        drawn = ["--card", *colors, "--dpi", str(DPI), "-o", str(path)]
        heatmap_command.main([*texts, *chosen, *drawn], standalone_mode=False)


if __name__ == "__main__":
    main()
