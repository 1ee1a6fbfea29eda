"""Sources of attention: files of other programs, and translation models, whose best head the text chooses.

A translation model is forced: its decoder is given the translation and predicts it, sub-word after sub-word.

Axes: L layers, H heads, R steps of the decoder, T target words, S source words, N target words of a text.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Floats, Longs, Reals, as_real_array
from nmtalign.encoders.matrix_files import PairMatrix, WordPair, match_pairs, read_matrices
from nmtalign.encoders.transformer import (
    Pieces,
    both_sides,
    import_packages,
    model_inputs,
    name_model_in_errors,
    open_model,
    run_in_batches,
)
from nmtalign.errors import DataError
from nmtalign.text.tokenization import join_pieces, word_numbers

FORCED_PAIRS_IN_MEMORY = 64  # pairs whose weights are in memory
MAX_SOURCE_SUBWORDS = 1024  # source sub-words of a batch: the weights are L H R times as many numbers
MIN_HEAD_PAIRS, MAX_HEAD_PAIRS = 20, 300  # least pairs to choose a head, and most pairs used
ROW_SUM_TOLERANCE = 1e-3  # tolerance of row sums, because programs write few decimals


@dataclass(frozen=True)
class AttentionReduction:
    """How attention becomes one weight for each pair of words."""

    # those that are averaged, from 0; all if None
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    # the weights of target piece t stand in row t + shift: -1 where the rows are the pieces that the model
    # has read and it attends while predicting the next one, 1 where the first row is that of the begin of the
    # sentence
    shift: int = 0
    # sub-words to be joined: a word gets the sum over its source pieces and the mean over its target pieces,
    # so that rows which sum to 1 still do (Clark et al. 2019)
    pieces: str | None = None
    normalize: bool = False  # divide rows by their sums; else they sum to 1, with the end, or to 0

    def __str__(self) -> str:
        chosen = self.layers, self.heads
        layers, heads = ("all" if numbers is None else ",".join(map(str, numbers)) for numbers in chosen)
        normalized = " normalized" if self.normalize else ""
        return f"layers={layers} heads={heads} shift={self.shift} pieces={self.pieces or 'none'}{normalized}"

    def pair(self, pieces: WordPair, attention: AnyArray) -> PairMatrix:
        """Return the words of one pair of pieces with their weights."""
        weights, words = self.weights(attention, *pieces), pieces
        if self.pieces is not None:
            words = join_pieces(pieces[0], self.pieces), join_pieces(pieces[1], self.pieces)
        return PairMatrix(words, weights, by_head=partial(self.by_head, attention, *pieces))

    def weights(self, attention: AnyArray, source: Sequence[str], target: Sequence[str]) -> Reals:
        """Return the weights (T, S) of the words of one pair; rows sum to 1 at most.

        `attention` is of shape (T, S) or (layers, heads, T, S) for T target and S source pieces. A row or a
        column more, or both, is the end of the sentence (with shift 1, for rows: the begin), which is left
        out. A DataError if the shape does not fit the pieces, a layer or head is not there, weights are
        negative or not finite, or rows do not sum to 1 and are not to be normalized.
        """
        S, T = len(source), len(target)
        averaged, weights = self._averaged(attention, S, T), np.zeros((T, S))
        rows = np.arange(T) + self.shift
        there = (rows >= 0) & (rows < len(averaged))
        weights[there] = averaged[rows[there], :S]
        if self.pieces is None:
            return weights
        numbers = (word_numbers(side, self.pieces) for side in (target, source))
        of_target, of_source = (membership(words, words[-1] + 1 if words else 0) for words in numbers)
        sums = of_target @ weights @ of_source.T
        return np.asarray(np.minimum(sums / of_target.sum(axis=1, keepdims=True), 1))  # sums round

    def by_head(self, attention: AnyArray, source: Sequence[str], target: Sequence[str]) -> dict[str, Reals]:
        """Return the weights that :meth:`weights` would of each head alone; none where there is one head."""
        shape = _checked_weights(attention).shape
        layers, heads = (self.layers or range(shape[0])), (self.heads or range(shape[1]))
        if len(layers) * len(heads) == 1:
            return {}
        of_head = {}
        for layer in layers:
            for head in heads:
                name = f"layer {layer} head {head}" if shape[0] > 1 else f"head {head}"
                alone = replace(self, layers=(layer,), heads=(head,))
                of_head[name] = alone.weights(attention, source, target)
        return of_head

    def _averaged(self, attention: AnyArray, S: int, T: int) -> Reals:
        """Return the mean over the chosen layers and heads, as many rows and columns as there are."""
        weights = _checked_weights(attention)
        for axis, name, numbers in ((0, "layer", self.layers), (1, "head", self.heads)):
            if numbers is not None:
                if max(numbers) >= (count := weights.shape[axis]):
                    raise DataError(f"there is no {name} {max(numbers)}: found {count}, counted from 0")
                weights = np.take(weights, numbers, axis=axis)
        rows, columns = weights.shape[2:]
        if not (S and T):  # an empty line; some programs write a weight for its end
            return np.zeros((T, S))
        if rows - T not in (0, 1) or columns - S not in (0, 1):
            expected = f"expected attention of {T} target and {S} source pieces, or one more for the end"
            raise DataError(f"{expected} of the sentence, found {rows} and {columns}")
        sums = weights.sum(axis=3, keepdims=True)  # (layers, heads, T, 1)
        if not self.normalize:
            self._check_sums(sums[..., 0])
            sums = np.maximum(sums, 1)
        return np.asarray((weights / np.where(sums > 0, sums, 1)).mean(axis=(0, 1)))

    def _check_sums(self, sums: Reals) -> None:
        """Raise a DataError for rows whose sum is neither 1 nor 0, from sums of shape (layers, heads, T)."""
        wrong = np.argwhere((np.abs(sums - 1) > ROW_SUM_TOLERANCE) & (sums != 0))
        if not len(wrong):
            return
        layer, head, row = wrong[0].tolist()
        found = f"{sums[layer, head, row]:.6g} in row {row + 1}"
        if sums[..., 0].size > 1:
            layer, head = (self.layers or range(layer + 1))[layer], (self.heads or range(head + 1))[head]
            found += f" of layer {layer}, head {head}"
        advice = "give attention after its softmax, or `normalize=True` to divide each row by its sum"
        raise DataError(f"expected rows that sum to 1, found {found}; {advice}")


def membership(numbers: Sequence[int] | Longs, count: int) -> Floats:
    """Return which pieces are part of which word, by the word of each piece, shape (count, pieces)."""
    return np.equal.outer(np.arange(count), np.asarray(numbers, np.int64)).astype(np.float32)


class CrossAttention(NamedTuple):
    """What a model pays attention to while it is forced through one translation."""

    weights: Floats  # (L, H, R, S + 1); the last column is for all that is no source word: end, language
    words: Longs  # target word of each target sub-word
    first: int  # step that predicts the first target sub-word; the next one reads it

    def of_words(self, count: int, shift: int) -> Floats:
        """Return the weights (L, H, T, S + 1) of `count` words; zeros for one without sub-words.

        With `shift` 0 of the steps that predict their sub-words, with 1 of those that read them.
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
    """A translation model of Hugging Face (Marian, NLLB, ...), from its folder or name, opened when needed.

    Attention where the decoder reads a word: Garg et al. (2019), Chen et al. (2020).
    """

    name: str
    languages: tuple[str, str] | None = None  # source and target, as its tokenizer calls them
    device: str = "cpu"

    @cached_property
    def _opened(self) -> tuple[Any, tuple[Pieces, Pieces]]:
        kind = "AutoModelForSeq2SeqLM"
        model, tokenizer = open_model(kind, self.name, self.device, attn_implementation="eager")
        return model, both_sides(self.name, model, tokenizer, self.languages)

    def attention(self, pairs: Iterable[WordPair]) -> Iterator[CrossAttention]:
        """Yield the attention of each pair; one too long for the model gets zeros, with a warning."""
        rest, number = iter(pairs), 1
        while part := list(islice(rest, FORCED_PAIRS_IN_MEMORY)):
            all_forced = [self._forced(number + n, pair) for n, pair in enumerate(part)]
            results = run_in_batches(self._run, all_forced, MAX_SOURCE_SUBWORDS, self.device)
            weights = {forced.number: cells for forced, cells in results}
            for forced, (source, _) in zip(all_forced, part, strict=True):
                columns = np.where(forced.words < 0, len(source), forced.words)
                member, inside = membership(columns, len(source) + 1), forced.of_labels >= 0
                first = int(inside.argmax())
                yield CrossAttention(weights[forced.number] @ member.T, forced.of_labels[inside], first)
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
        torch, _ = import_packages()
        model, (pieces, _) = self._opened
        labels = [pair.labels for pair in batch]  # models make the input of their decoder of these
        tensors = model_inputs(batch, pieces, self.device, labels)
        with name_model_in_errors(self.name), torch.inference_mode():
            layers = model(**tensors, output_attentions=True, use_cache=False).cross_attentions
            weights = torch.stack(layers, 1).float().cpu().numpy()  # (B, L, H, R, source sub-words)
        return [weights[n, :, :, : len(pair.labels), : len(pair.ids)] for n, pair in enumerate(batch)]


def read_attention(
    given: str | Path | Iterable[AnyArray],
    reading: AttentionReduction,
    pairs: Iterable[WordPair],
    *,
    encoding: str = "utf-8",
) -> Iterator[PairMatrix]:
    """Yield the weights of each pair of pieces, read or given as arrays; DataError if they do not fit."""
    if isinstance(given, str | Path):
        return match_pairs(pairs, read_matrices(given, encoding=encoding), given, reading.pair, marks=True)
    arrays = (as_real_array(array, "attention weights") for array in given)
    return match_pairs(pairs, arrays, "matrices", reading.pair)


def translator_attention(
    translator: Translator, reading: AttentionReduction, pairs: Iterable[WordPair]
) -> Iterator[PairMatrix]:
    """Yield the cross-attention of a translation model for each pair of words."""
    words, again, asked = tee(pairs, 3)
    weights = (
        attention.of_words(len(target), reading.shift)  # (L, H, T, S + 1)
        for (_, target), attention in zip(again, translator.attention(asked), strict=True)
    )
    return match_pairs(words, weights, translator.name, replace(reading, shift=0).pair)


def best_reduction(
    translator: Translator, pairs: Iterator[WordPair]
) -> tuple[AttentionReduction, Iterator[WordPair]]:
    """Return which layer and head aligns best by the first pairs of a text, and the whole text.

    Fewer than `MIN_HEAD_PAIRS` pairs choose none: the mean of all is read, with a warning.
    """
    first = list(islice(pairs, MAX_HEAD_PAIRS))
    rest = chain(first, pairs)
    if len(first) < MIN_HEAD_PAIRS:
        names = "name `layers`, `attention_heads`, `shift`"
        warnings.warn(f"too few pairs to choose a head by: the mean of all; {names}", stacklevel=2)
        return AttentionReduction(), rest
    (_, best), *_ = rank_heads(first, translator.attention(first))
    return best, rest


def _checked_weights(attention: AnyArray) -> Reals:
    """Return weights of shape (layers, heads, T, S)."""
    if attention.dtype.kind not in "fiub" or attention.ndim not in (2, 4):
        found = f"{attention.dtype} of shape {attention.shape}"
        raise DataError(f"expected numbers of shape (T, S) or (layers, heads, T, S), found {found}")
    weights: Reals = attention.astype(np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("expected attention weights, found a negative one, NaN or infinity")
    return weights[None, None] if weights.ndim == 2 else weights


def likelihood_gain(source: Longs, target: Longs) -> float:
    """Return the mean of log p(target | source) / p(target) over links, each left out of its own counts.

    Both arrays (N,) are numbers of words; source 0 is a target word without a link, which gains nothing. The
    gain is high where the same words are linked again and again: Model 1 (Brown et al. 1993).
    """
    _, which, counts = np.unique(source * (target.max(initial=0) + 1) + target, False, True, True)
    share = np.bincount(target)[target] / max(len(target), 1)
    ratio = (counts[which] - 1 + share) / (np.bincount(source)[source] * share)
    return float(np.where(source > 0, np.log(ratio), 0).mean()) if len(target) else 0.0


def rank_heads(
    pairs: Sequence[WordPair], attentions: Iterable[CrossAttention]
) -> list[tuple[float, AttentionReduction]]:
    """Return each head, each mean of a layer, of both shifts, with its gain; the largest gain first."""
    numbers: tuple[dict[str, int], dict[str, int]] = {"": 0}, {}
    links: list[Longs] = []  # of each pair, shape (2, L, H + 1, T): numbers of source words
    targets: list[int] = []
    for pair, attention in zip(pairs, attentions, strict=True):
        if not all(pair):
            continue
        source, target = (
            [known.setdefault(word.lower(), len(known)) for word in side]
            for known, side in zip(numbers, pair, strict=True)
        )
        both = np.stack([attention.of_words(len(target), shift)[..., :-1] for shift in (0, 1)])
        both = np.concatenate([both, both.mean(axis=2, keepdims=True)], axis=2)
        links.append(np.where(both.max(axis=-1) > 0, np.array(source)[both.argmax(axis=-1)], 0))
        targets += target
    every, words = np.concatenate(links, axis=-1), np.array(targets, np.int64)
    readings = []
    for shift, layer, head in np.ndindex(*every.shape[:3]):
        heads = None if head == every.shape[2] - 1 else (head,)
        gain = likelihood_gain(every[shift, layer, head], words)
        readings.append((gain, AttentionReduction((layer,), heads, shift)))
    return sorted(readings, key=lambda entry: -entry[0])
