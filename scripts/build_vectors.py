"""For bundled data: build the English-French word vectors that come with nmtalign: data/en_fr_vectors.

    python scripts/build_vectors.py [-o data/en_fr_vectors]

They are the counts of the shipped model, by ``nmtalign vectors learn --model data/en_fr_model``. Each number
is then rounded to the nearest 1/128, which is exact in float16, lets the files be packed to half, and moves
the alignment error by less than its noise. The same model gives the same bytes: everything runs with one
thread and a fixed seed. Attention over them has to be learned again afterwards
(``scripts/build_attention.py``).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

LEARN = ["--dimension", "128", "--min-count", "3"]
STEPS = 128  # to a unit
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
DATA = Path(__file__).resolve().parent.parent / "data"


def main() -> None:
    """Learn, round, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=DATA / "en_fr_vectors")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = str(DATA / "en_fr_model")
        command = [sys.executable, "-m", "nmtalign", "vectors", "learn", "--model", model, "-o", folder]
        subprocess.run([*command, *LEARN], check=True, env={**os.environ, **ONE_THREAD})
        _save_rounded(Path(folder), arguments.output)


def _save_rounded(learned: Path, output: Path) -> None:
    import numpy as np

    from nmtalign.vectors.storage import load_both_languages, save_pair

    sides = []
    for embeddings in load_both_languages(learned, languages=("en", "fr")):
        rounded = (np.rint(embeddings.matrix * STEPS) / STEPS).astype(np.float16)  # exact in float16
        settings = {**embeddings.settings, "rounded to": f"1/{STEPS}"}
        sides.append(replace(embeddings, matrix=rounded, settings=settings))
    save_pair(sides[0], sides[1], output, languages=("en", "fr"), format="word2int", overwrite=True)
    for path in sorted(output.iterdir()):
        print(f"{path.stat().st_size:>9,}  {path}")


if __name__ == "__main__":
    main()
