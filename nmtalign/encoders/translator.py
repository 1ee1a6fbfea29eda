"""Cross-attention of translation models of the package transformers, by forced decoding.

A decoder that is given the translation predicts it, sub-word after sub-word. Weights are summed over the
sub-words of a source word, and averaged over those of a target word.

Axes: L layers, H heads, R steps of the decoder, T target words, S source words.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Floats, Longs
from nmtalign.encoders.transformer import (
    Pieces,
    WordPair,
    batches,
    both_sides,
    inputs,
    opened,
    packages,
    padded,
    within_memory,
)

PAIRS = 64  # pairs whose weights are in memory
TOKENS = 1024  # source sub-words of a batch: the weights are L H R times as many numbers


def membership(numbers: Sequence[int] | Longs, count: int) -> Floats:
    """Return which pieces are part of which word, by the word of each piece, shape (count, pieces)."""
    return np.equal.outer(np.arange(count), np.asarray(numbers, np.int64)).astype(np.float32)


class CrossAttention(NamedTuple):
    """What a model pays attention to while it is forced through one translation."""

    weights: Floats  # (L, H, R, S + 1); the last column is for all that is no source word: end, language
    words: Longs  # target word of each target sub-word
    first: int  # step that predicts the first target sub-word; the next one reads it

    def of_words(self, count: int, shift: int) -> Floats:
        """Return the weights (L, H, T, S + 1) of `count` words.

        With `shift` 0 of the steps that predict their sub-words, with 1 of those that read them (Chen et al.
        2020). A word without sub-words gets zeros.
        """
        start = self.first + shift
        part = membership(self.words, count)  # (T, pieces)
        means = part / np.maximum(part.sum(axis=1, keepdims=True), 1)
        return np.asarray(means @ self.weights[:, :, start : start + len(self.words)])


class _Forced(NamedTuple):
    """Sub-words of one pair, with the word of each; -1 for special ones."""

    number: int
    ids: list[int]
    words: Longs
    labels: list[int]
    of_labels: Longs


@dataclass(eq=False)
class Translator:
    """A translation model of Hugging Face, from its folder or name, opened when it is needed.

    Marian, mBART, NLLB, T5, ... Attention where the decoder reads a word: Garg et al. (2019), Chen et al.
    (2020).
    """

    name: str
    languages: tuple[str, str] | None = None  # source and target, as its tokenizer calls them
    device: str = "cpu"

    @cached_property
    def _opened(self) -> tuple[Any, tuple[Pieces, Pieces]]:
        kind = "AutoModelForSeq2SeqLM"
        model, tokenizer = opened(kind, self.name, self.device, attn_implementation="eager")
        return model, both_sides(self.name, model, tokenizer, self.languages)

    def attention(self, pairs: Iterable[WordPair]) -> Iterator[CrossAttention]:
        """Yield the attention of each pair; one too long for the model gets zeros, with a warning."""
        rest, number = iter(pairs), 1
        while part := list(islice(rest, PAIRS)):
            forced = [self._forced(number + n, pair) for n, pair in enumerate(part)]
            found = {}
            for batch in batches(forced, TOKENS):
                weights = within_memory(self._run, batch, self.device)
                found.update(
                    {own.number: own_weights for own, own_weights in zip(batch, weights, strict=True)}
                )
            for own, (source, _) in zip(forced, part, strict=True):
                columns = np.where(own.words < 0, len(source), own.words)
                member, inside = membership(columns, len(source) + 1), own.of_labels >= 0
                first = int(inside.argmax())
                yield CrossAttention(found[own.number] @ member.T, own.of_labels[inside], first)
            number += len(part)

    def _forced(self, number: int, pair: WordPair) -> _Forced:
        """Return the sub-words of a pair; none if the pair is too long."""
        _, sides = self._opened
        whole = [side.whole(words) for side, words in zip(sides, pair, strict=True)]
        size, limit = max(len(ids) for ids, _ in whole), sides[0].limit
        if size > limit:
            found = f"pair {number} has {size} sub-words, {self.name} takes {limit}"
            warnings.warn(f"{found}; it gets no links", stacklevel=2)
            whole = [side.whole([]) for side in sides]
        return _Forced(number, *whole[0], *whole[1])

    def _run(self, batch: Sequence[_Forced]) -> list[Floats]:
        """Return the weights (L, H, R, source sub-words) of each pair."""
        torch, _ = packages()
        model, (pieces, _) = self._opened
        labels = padded([own.labels for own in batch], -100)  # the models make their decoder's input of them
        given = inputs(batch, pieces) | {"labels": labels}
        tensors = {name: torch.tensor(own, device=self.device) for name, own in given.items()}
        with torch.inference_mode():
            found = model(**tensors, output_attentions=True, use_cache=False).cross_attentions
            weights = torch.stack(found, 1).float().cpu().numpy()  # (B, L, H, R, source sub-words)
        return [weights[n, :, :, : len(own.labels), : len(own.ids)] for n, own in enumerate(batch)]
