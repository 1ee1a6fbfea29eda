"""For bundled data: learn the attention parameters that come with the vectors: data/en_fr_vectors/*.npz.

    python scripts/build_attention.py --bitexts FOLDER [-o data/en_fr_vectors]

FOLDER is that of ``scripts/build_model.py``. Both scores learn from the shipped model, over pairs of its
three bitexts, most of them everyday sentences. The same input gives the same bytes.
``scripts/build_vectors.py`` replaces the whole folder, so this script runs after it.
"""

from __future__ import annotations

import argparse
import itertools
import os
from pathlib import Path

PAIRS = {"laws": 1_000, "tatoeba": 8_000, "tico19": 1_000}  # twice as many gained nothing
DATA = Path(__file__).resolve().parent.parent / "data"


def pairs_of(folder: Path, name: str, count: int) -> list[tuple[str, str]]:
    """Return about so many pairs of all parts of a bitext."""
    from nmtalign.text.bitext import read_bitext

    whole = list(read_bitext(folder / name / "train.en.gz", folder / name / "train.fr.gz"))
    return list(itertools.islice(whole[:: max(1, len(whole) // count)], count))


def main() -> None:
    """Learn, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bitexts", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=DATA / "en_fr_vectors")
    arguments = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported
    from nmtalign.aligner.attention_learning import learn_attention
    from nmtalign.progress import Progress
    from nmtalign.scorers.vector_scores import PARAMETER_FILES

    def print_message(progress: Progress) -> None:
        print(progress.message)

    bitext = [pair for item in PAIRS.items() for pair in pairs_of(arguments.bitexts, *item)]
    for score in PARAMETER_FILES:
        model = DATA / "en_fr_model"
        learned = learn_attention(bitext, arguments.output, score=score, model=model, progress=print_message)
        path = learned.save(arguments.output, overwrite=True)
        print(f"{path.stat().st_size:>9,}  {path}: {learned}")


if __name__ == "__main__":
    main()
