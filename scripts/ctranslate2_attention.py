"""For docs/other_programs.md: let a CTranslate2 model reproduce a translation, and save its attention.

    python scripts/ctranslate2_attention.py MODEL SOURCE TARGET OUTPUT.npz

MODEL is a folder of CTranslate2. SOURCE and TARGET have one sentence per line, split into sub-words by
spaces. OUTPUT gets one array per pair, target by source sub-words: a row is the step that predicts its
sub-word. It needs the packages ctranslate2 and numpy, but not nmtalign.
"""

from __future__ import annotations

import sys

import ctranslate2
import numpy as np


def read_lines(path: str) -> list[list[str]]:
    """Return the sub-words of each line."""
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file]


def main(model: str, source_path: str, target_path: str, output: str) -> None:
    """Translate each source sentence with its whole translation as the prefix of the target."""
    source, target = read_lines(source_path), read_lines(target_path)
    results = ctranslate2.Translator(model).translate_batch(
        [[*line, "</s>"] for line in source],
        target_prefix=target,
        beam_size=1,
        max_decoding_length=max(map(len, target)) + 1,
        return_attention=True,
    )
    arrays = {}
    for number, (result, line) in enumerate(zip(results, target, strict=True)):
        arrays[f"pair-{number}"] = np.array(result.attention[0])[: len(line)]
    np.savez(output, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
