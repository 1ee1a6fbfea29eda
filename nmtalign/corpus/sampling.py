"""A random sample of the items of a stream."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def random_sample(items: Iterable[Item], size: int, *, seed: int = 1) -> list[Item]:
    """Return `size` random items of a stream, or all, in order; no more are kept in memory.

    Each item is in the sample with the same probability (Vitter 1985, algorithm R).

    >>> random_sample(range(1_000), 5)
    [2, 128, 626, 677, 713]
    """
    draw = random.Random(seed)
    kept: list[tuple[int, Item]] = []
    for number, item in enumerate(items):
        if number < size:
            kept.append((number, item))
            continue
        place = draw.randrange(number + 1)
        if place < size:
            kept[place] = number, item
    kept.sort(key=lambda numbered: numbered[0])
    return [item for _, item in kept]
