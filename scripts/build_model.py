"""For bundled data: build the English-French model that comes with nmtalign: data/en_fr_model.

    python scripts/build_model.py --bitexts FOLDER [-o data/en_fr_model]

FOLDER holds laws/, tatoeba/ and tico19/, each with train.en.gz and train.fr.gz: the three bitexts whose
licenses let what is learned from them be passed on (see data/README.md). Word pairs with an expected count
below a tenth are dropped, which keeps the folder under 8 MB. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.progress import Progress, open_reporter
from nmtalign.settings import TrainingSettings
from nmtalign.text.bitext import SentencePair, read_bitext
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS

BITEXTS = ("laws", "tatoeba", "tico19")
PRUNE = 0.1
SPECTRAL = 0.2  # half of the preset's: most text that will be aligned is of another kind than laws
REPOSITORY = Path(__file__).resolve().parent.parent


def main() -> None:
    """Learn from all three bitexts and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bitexts", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=REPOSITORY / "data" / "en_fr_model")
    arguments = parser.parse_args()
    aligner = train_aligner(
        _pairs(arguments.bitexts),
        TrainingJob(
            hyperparameters=replace(PRESET_HYPERPARAMETERS["default"], prune=PRUNE, spectral_weight=SPECTRAL),
            text_settings=TextSettings("simple"),
            settings=TrainingSettings(languages=("en", "fr")),
            progress=open_reporter(_print_message, stage="reading"),
        ),
    ).aligner
    corpus = aligner.training["corpus"] | {"bitexts": list(BITEXTS)}
    replace(aligner, training={**aligner.training, "corpus": corpus}).save(arguments.output, overwrite=True)
    size = sum(path.stat().st_size for path in arguments.output.iterdir())
    print(f"{arguments.output}: {size / 1e6:.1f} MB")


def _print_message(progress: Progress) -> None:
    print(progress.message)


def _pairs(folder: Path) -> Iterator[SentencePair]:
    for name in BITEXTS:
        yield from read_bitext(folder / name / "train.en.gz", folder / name / "train.fr.gz")


if __name__ == "__main__":
    main()
