"""For bundled data: build the English-French word vectors that come with nmtalign: data/en_fr_vectors.

    python scripts/build_vectors.py [-o data/en_fr_vectors]

They are learned from the counts of the bundled model, of words that its text has three times. Each number is
then rounded to the nearest 1/128, which is exact in float16, lets the files be packed to half, and moves the
alignment error by less than its noise. The same model gives the same bytes: everything runs with one thread
and a fixed seed. Attention over them has to be learned again afterwards (``scripts/build_attention.py``).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from nmtalign import blas

MIN_COUNT = 3
STEPS = 128  # to a unit
DATA = Path(__file__).resolve().parent.parent / "data"


def main() -> None:
    """Learn, round, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=DATA / "en_fr_vectors")
    output = parser.parse_args().output
    blas.start_with_one_thread()  # before NumPy is imported
    import numpy as np

    import nmtalign as na
    from nmtalign.vectors.storage import save_pair, with_text_settings

    aligner = na.load(DATA / "en_fr_model")
    sides = []
    for side in na.count_embeddings(aligner.lexicon, dimension=128, minimum=MIN_COUNT):
        learned = with_text_settings(side, aligner.text_settings)
        rounded = (np.rint(learned.matrix * STEPS) / STEPS).astype(np.float16)  # exact in float16
        settings = {**learned.settings, "rounded to": f"1/{STEPS}"}
        sides.append(replace(learned, matrix=rounded, settings=settings))
    save_pair(sides[0], sides[1], output, languages=("en", "fr"), format="word2int", overwrite=True)
    for path in sorted(output.iterdir()):
        print(f"{path.stat().st_size:>9,}  {path}")


if __name__ == "__main__":
    main()
