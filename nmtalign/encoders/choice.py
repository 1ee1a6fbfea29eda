"""Which layer and head of a translation model aligns best, chosen by the text alone.

Axes: C candidates, L layers, H heads, T target words, S source words, N target words of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Longs
from nmtalign.encoders.transformer import WordPair
from nmtalign.encoders.translator import CrossAttention


class Choice(NamedTuple):
    """A layer, a head (None: the mean of all), whether rows are shifted by a step, and what this gains.

    Attributes
    ----------
    gain : float
        Of :func:`likelihood_gain`.
    """

    layer: int
    head: int | None
    shift: int
    gain: float


def likelihood_gain(source: Longs, target: Longs) -> float:
    """Return the mean of log p(target | source) / p(target) over links, each left out of its own counts.

    It is high where the same words are linked again and again: Model 1 (Brown et al. 1993), in which each
    target word has one link.

    Parameters
    ----------
    source, target : arrays of int, shape (N,)
        Numbers of the linked words; source 0 is a target word without a link, which gains nothing.

    Examples
    --------
    >>> words = np.array([1, 2, 3, 1, 2, 3])
    >>> likelihood_gain(words, words) > 0 > likelihood_gain(np.array([1, 1, 1, 2, 2, 3]), words)
    True
    """
    _, which, counts = np.unique(source * (target.max(initial=0) + 1) + target, False, True, True)
    share = np.bincount(target)[target] / max(len(target), 1)
    ratio = (counts[which] - 1 + share) / (np.bincount(source)[source] * share)
    return float(np.where(source > 0, np.log(ratio), 0).mean()) if len(target) else 0.0


def rank(pairs: Sequence[WordPair], found: Iterable[CrossAttention]) -> list[Choice]:
    """Return each head, each mean of a layer, of both shifts, the largest gain first.

    Parameters
    ----------
    pairs : sequence of (sequence of str, sequence of str)
    found : iterable of CrossAttention
        One a pair.
    """
    numbers: tuple[dict[str, int], dict[str, int]] = {"": 0}, {}
    links: list[Longs] = []  # of each pair, shape (2, L, H + 1, T): numbers of source words
    targets: list[int] = []
    for pair, attention in zip(pairs, found, strict=True):
        if not all(pair):
            continue
        known, words = (
            [own.setdefault(word.lower(), len(own)) for word in side]
            for own, side in zip(numbers, pair, strict=True)
        )
        both = np.stack([attention.of_words(len(words), shift)[..., :-1] for shift in (0, 1)])
        both = np.concatenate([both, both.mean(axis=2, keepdims=True)], axis=2)
        links.append(np.where(both.max(axis=-1) > 0, np.array(known)[both.argmax(axis=-1)], 0))
        targets += words
    every = np.concatenate(links, axis=-1)
    heads = every.shape[2] - 1
    choices = [
        Choice(
            layer,
            head if head < heads else None,
            shift,
            likelihood_gain(every[shift, layer, head], np.array(targets, np.int64)),
        )
        for shift, layer, head in np.ndindex(*every.shape[:3])
    ]
    return sorted(choices, key=lambda choice: -choice.gain)
