"""A made-up pair of languages with known links: a dictionary of one to one, words moved about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from nmtalign.aligner.training_job import TrainingJob
    from nmtalign.aligner.training_steps import TrainingResult


def training_job(*args: Any, **values: Any) -> TrainingJob:
    """Return a job whose settings are the values that have the name of one."""
    from nmtalign.aligner.training_job import TrainingJob
    from nmtalign.settings import TrainingSettings

    names = {field.name for field in fields(TrainingJob)}
    settings = {name: values.pop(name) for name in [*values] if name not in names}
    return TrainingJob(*args, settings=TrainingSettings(**settings), **values)


class Toy(NamedTuple):
    """Lines of both sides, and the links of each pair."""

    source: list[str]
    target: list[str]
    links: list[set[tuple[int, int]]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.source, self.target, strict=True))

    @property
    def words(self) -> list[tuple[list[str], list[str]]]:
        return [(source.split(), target.split()) for source, target in self.pairs]

    def error(self, found: Sequence[Collection[tuple[int, int]]]) -> float:
        """Return the alignment error rate of the links found for each pair."""
        right = sum(len(gold.intersection(own)) for own, gold in zip(found, self.links, strict=True))
        return 1 - 2 * right / (sum(map(len, found)) + sum(map(len, self.links)))

    def write(self, folder: Path, names: tuple[str, str] = ("source", "target")) -> tuple[Path, Path]:
        paths = folder / names[0], folder / names[1]
        for path, lines in zip(paths, (self.source, self.target), strict=True):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return paths


def toy_bitext(
    n: int,
    *,
    seed: int = 0,
    vocabulary: int = 60,
    empty: float = 0.1,
    longest: int = 10,
    disorder: float = 1.8,
) -> Toy:
    """Return `n` pairs; neighbors change places in the target, where "zu" means nothing."""
    rng = np.random.default_rng(seed)
    names = np.random.default_rng(99).permutation(vocabulary)  # one dictionary for every seed
    toy = Toy([], [], [])
    for _ in range(n):
        length = int(rng.integers(1, longest + 1))
        meanings = rng.choice(vocabulary, length, replace=False)
        source, places = [], []
        for meaning in meanings:
            places.append(len(source))
            source.append(f"{names[meaning]:02d}ab")
        target, links = [], set()
        for k in np.argsort(np.arange(length) + rng.uniform(0, disorder, length)):
            target += ["zu"] * int(rng.random() < empty)
            links.add((places[k], len(target)))
            target.append(f"{meanings[k]:02d}yx")
        toy.source.append(" ".join(source))
        toy.target.append(" ".join(target))
        toy.links.append(links)
    return toy


@cache
def toy_training(preset: str = "default") -> TrainingResult:
    """What came of learning from 300 pairs, once a session."""
    from nmtalign.aligner.training_steps import train_aligner
    from nmtalign.training.em import PRESET_HYPERPARAMETERS

    return train_aligner(toy_bitext(300).pairs, training_job(PRESET_HYPERPARAMETERS[preset], workers=1))


def links_of(batch) -> list[set[tuple[int, int]]]:
    """The links of each pair of a batch."""
    return [
        set(zip(batch.source[a:b].tolist(), batch.target[a:b].tolist(), strict=True))
        for a, b in pairwise(batch.offsets.tolist())
    ]
