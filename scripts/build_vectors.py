"""Build the English-French word vectors that come with nmtalign: data/en_fr_vectors.

    python scripts/build_vectors.py --bitexts FOLDER [-o data/en_fr_vectors]

FOLDER holds laws/, tatoeba/ and tico19/, each with train.en.gz and train.fr.gz: the three bitexts whose
licences let what is learned from them be passed on (see data/README.md). The vectors are learned by
``nmtalign vectors learn --method cooccurrence``. Each number is then rounded to the nearest 1/128, which is
exact in float16, lets the files be packed to half, and moves the alignment error by less than its noise.
The same input gives the same bytes: everything runs with one thread and a fixed seed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

BITEXTS = ("laws", "tatoeba", "tico19")
LANGUAGES = ("en", "fr")
LEARN = [
    "--method",
    "cooccurrence",
    "--tokenizer",
    "simple",
    "--dimension",
    "256",
    "--min-count",
    "3",
    "--seed",
    "1",
]
STEPS = 128  # to a unit; the numbers are of the size 1/16
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
REPOSITORY = Path(__file__).resolve().parent.parent


def main() -> None:
    """Join the bitexts, learn, round, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bitexts", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=REPOSITORY / "data" / "en_fr_vectors")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = [_join(arguments.bitexts, language, Path(folder)) for language in LANGUAGES]
        command = [sys.executable, "-m", "nmtalign", "vectors", "learn", *texts, "-o", folder, *LEARN]
        subprocess.run(command, check=True, env={**os.environ, **ONE_THREAD})
        _save_rounded(Path(folder), arguments.output)


def _join(bitexts: Path, language: str, folder: Path) -> str:
    """Put the bitexts one after the other; gzip files may simply be joined."""
    joined = folder / f"train.{language}.gz"
    joined.write_bytes(b"".join((bitexts / name / f"train.{language}.gz").read_bytes() for name in BITEXTS))
    return str(joined)


def _save_rounded(learned: Path, output: Path) -> None:
    import numpy as np

    from nmtalign.vectors.storage import load_pair, save_pair

    sides = []
    for embeddings in load_pair(learned):
        rounded = (np.rint(embeddings.matrix * STEPS) / STEPS).astype(np.float16)  # exact in float16
        settings = {**embeddings.settings, "bitexts": list(BITEXTS), "rounded to": f"1/{STEPS}"}
        sides.append(replace(embeddings, matrix=rounded, settings=settings))
    save_pair(sides[0], sides[1], output, languages=LANGUAGES, format="word2int")
    for path in sorted(output.iterdir()):
        print(f"{path.stat().st_size:>9,}  {path}")


if __name__ == "__main__":
    main()
