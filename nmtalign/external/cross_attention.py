"""Sources of attention: files of other programs, and translation models, whose best head the text chooses.

Translation models are run with forced decoding: the decoder receives the translation and predicts it,
sub-word by sub-word.

Axes: H heads, T target words, S source words, N target words of a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Floats, Longs, Reals
from nmtalign.errors import DataError, warn_caller
from nmtalign.external.hf_encoder import (
    Pieces,
    import_packages,
    model_inputs,
    name_model_in_errors,
    open_model,
    run_in_batches,
    side_tokenizers,
)
from nmtalign.external.matrix_files import PairMatrix, TokenizedPair, match_given, match_pairs, read_matrices
from nmtalign.names import SubwordMarks
from nmtalign.text.subwords import join_marked

FORCED_PAIRS_IN_MEMORY = 64
MAX_BATCH_SOURCE_SUBWORDS = (
    1024  # each source sub-word of a batch has a weight per layer, head and step of the decoder
)
# pairs by which a head is chosen
MIN_HEAD_PAIRS = 20
MAX_HEAD_PAIRS = 300
ROW_SUM_TOLERANCE = 1e-3  # programs write few decimals


@dataclass(frozen=True)
class AttentionReduction:
    """Settings that reduce attention to one weight for each pair of words."""

    # numbers of the layers and heads that are averaged, from 0; all if None
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    # the weights of target piece t are in row t + shift: -1 if a row is that of the piece that the model has
    # just read while it predicts the next one, 1 if the first row is that of the beginning of the sentence
    shift: int = 0
    # marks of sub-words that are joined into words: the weight of two words is the sum over the source pieces
    # and the mean over the target pieces, so that the sums of rows remain 1 (Clark et al. 2019)
    pieces: SubwordMarks | None = None
    normalize: bool = False  # divide rows by their sums; else they sum to 1, with the end, or to 0

    def __str__(self) -> str:
        layers = "all" if self.layers is None else ",".join(map(str, self.layers))
        heads = "all" if self.heads is None else ",".join(map(str, self.heads))
        normalized = " normalized" if self.normalize else ""
        return f"layers={layers} heads={heads} shift={self.shift} pieces={self.pieces or 'none'}{normalized}"

    def pair(self, pieces: TokenizedPair, attention: AnyArray) -> PairMatrix:
        """Return the words of one pair of pieces with their weights."""
        source, target = pieces
        weights = self.weights(attention, source, target)
        words = pieces
        if self.pieces is not None:
            words = join_marked(source, self.pieces)[0], join_marked(target, self.pieces)[0]
        return PairMatrix(words, weights, by_head=partial(self.by_head, attention, source, target))

    def weights(self, attention: AnyArray, source: Sequence[str], target: Sequence[str]) -> Reals:
        """Return the weights (T, S) of the words of one pair; rows sum to at most 1.

        `attention` has shape (T, S) or (layers, heads, T, S) for T target and S source pieces. One more row
        or column is that of the end of the sentence (with shift 1, one more row is that of the beginning) and
        is dropped. Raises DataError if the shape does not fit the pieces, if a layer or head does not exist,
        if weights are negative or not finite, or if rows do not sum to 1 and `normalize` is not set.
        """
        S, T = len(source), len(target)
        averaged = self._averaged(attention, S, T)
        weights = np.zeros((T, S))
        rows = np.arange(T) + self.shift
        exists = (rows >= 0) & (rows < len(averaged))
        weights[exists] = averaged[rows[exists], :S]
        if self.pieces is None:
            return weights
        of_target = _shares_of_pieces(target, self.pieces)  # (target words, T)
        of_source = _shares_of_pieces(source, self.pieces)  # (source words, S)
        sums = of_target @ weights @ of_source.T
        means = sums / of_target.sum(axis=1, keepdims=True)
        return np.asarray(np.minimum(means, 1))  # rounded sums may exceed 1

    def by_head(self, attention: AnyArray, source: Sequence[str], target: Sequence[str]) -> dict[str, Reals]:
        """Return the weights of each head alone, as :meth:`weights` does; empty if there is only one head."""
        shape = checked_weights(attention).shape
        layers = self.layers or range(shape[0])
        heads = self.heads or range(shape[1])
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
        """Return the mean over the chosen layers and heads, with all rows and columns."""
        weights = checked_weights(attention)
        if self.layers is not None:
            weights = _take(weights, self.layers, axis=0, name="layer")
        if self.heads is not None:
            weights = _take(weights, self.heads, axis=1, name="head")
        rows, columns = weights.shape[2:]
        if not (S and T):  # some programs write a weight for the end of an empty line
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
        """Raise DataError if the sum of a row is neither 1 nor 0; the sums have shape (layers, heads, T)."""
        wrong = np.argwhere((np.abs(sums - 1) > ROW_SUM_TOLERANCE) & (sums != 0))
        if not len(wrong):
            return
        layer, head, row = wrong[0].tolist()
        found = f"{sums[layer, head, row]:.6g} in row {row + 1}"
        if sums[..., 0].size > 1:
            layer = (self.layers or range(layer + 1))[layer]
            head = (self.heads or range(head + 1))[head]
            found += f" of layer {layer}, head {head}"
        advice = "pass attention after its softmax, or `normalize=True` to divide each row by its sum"
        raise DataError(f"expected rows that sum to 1, found {found}; {advice}")


def _take(weights: Reals, numbers: Sequence[int], *, axis: int, name: str) -> Reals:
    """Return some layers or heads; DataError if one does not exist."""
    count = weights.shape[axis]
    if max(numbers) >= count:
        raise DataError(f"there is no {name} {max(numbers)}: found {count}, counted from 0")
    return np.take(weights, numbers, axis=axis)


def _shares_of_pieces(side: Sequence[str], marks: SubwordMarks) -> Floats:
    """Return the share of each marked sub-word in each word of its side, shape (words, pieces).

    The weight of a piece between two words, which is only a space, is that of the word after it.
    """
    _, line = join_marked(side, marks)
    numbers = np.arange(len(side))
    stop = np.array(line.stop, np.int64)[:, None]
    first = np.minimum(np.array(line.first, np.int64)[:, None], np.append(0, stop)[:-1, None])
    is_part = (first <= numbers) & (numbers < stop)
    words_of_piece = np.maximum(is_part.sum(axis=0), 1)
    return np.asarray(is_part / words_of_piece, np.float32)


def membership(numbers: Sequence[int] | Longs, count: int) -> Floats:
    """Return 1 where a piece is part of a word, shape (count, pieces), from the word of each piece."""
    return np.equal.outer(np.arange(count), np.asarray(numbers, np.int64)).astype(np.float32)


class CrossAttention(NamedTuple):
    """The attention of a model in the forced decoding of one translation."""

    # (layers, H, steps of the decoder, S + 1); the last column is for everything but source words, such as
    # the end of the sentence and the language
    weights: Floats
    word_of_piece: Longs  # target word of each target sub-word
    first: int  # step that predicts the first target sub-word; the next one reads it

    def of_words(self, count: int, shift: int) -> Floats:
        """Return the weights (layers, H, T, S + 1) of `count` words; zeros for one without sub-words.

        With `shift` 0, the weights are those of the steps that predict the sub-words; with 1, of the steps
        that read them.
        """
        start = self.first + shift
        part = membership(self.word_of_piece, count)  # (T, pieces)
        means = part / np.maximum(part.sum(axis=1, keepdims=True), 1)
        return np.asarray(means @ self.weights[:, :, start : start + len(self.word_of_piece)])


class _Forced(NamedTuple):
    """Sub-words of one pair, with the word of each; -1 for special ones."""

    number: int
    ids: list[int]
    word_of_piece: Longs
    labels: list[int]
    word_of_label: Longs


@dataclass(eq=False)
class Translator:
    """A translation model of Hugging Face (Marian, NLLB, ...), which is opened when it is needed.

    For the attention of the step in which the decoder reads a word see Garg et al. (2019) and Chen et al.
    (2020).
    """

    name: str
    languages: tuple[str, str] | None = None  # source and target, as its tokenizer calls them
    device: str = "cpu"

    @cached_property
    def _opened(self) -> tuple[Any, tuple[Pieces, Pieces]]:
        kind = "AutoModelForSeq2SeqLM"
        model, tokenizer = open_model(kind, self.name, self.device, plain_attention=True)
        return model, side_tokenizers(self.name, model, tokenizer, self.languages)

    def attention(self, pairs: Iterable[TokenizedPair]) -> Iterator[CrossAttention]:
        """Yield the attention of each pair; a pair that is too long gets zeros, with a warning."""
        remaining = iter(pairs)
        number = 1
        while part := list(islice(remaining, FORCED_PAIRS_IN_MEMORY)):
            all_forced = [self._forced(number + n, pair) for n, pair in enumerate(part)]
            results = run_in_batches(self._run, all_forced, MAX_BATCH_SOURCE_SUBWORDS, self.device)
            weights = {forced.number: cells for forced, cells in results}
            for forced, (source, _) in zip(all_forced, part, strict=True):
                # special sub-words share the last column
                columns = np.where(forced.word_of_piece < 0, len(source), forced.word_of_piece)
                of_source = membership(columns, len(source) + 1)  # (S + 1, source sub-words)
                is_word = forced.word_of_label >= 0
                yield CrossAttention(
                    weights=weights[forced.number] @ of_source.T,
                    word_of_piece=forced.word_of_label[is_word],
                    first=int(is_word.argmax()),
                )
            number += len(part)

    def _forced(self, number: int, pair: TokenizedPair) -> _Forced:
        """Return the sub-words of a pair; special ones only if the pair is too long."""
        _, sides = self._opened
        whole = [side.with_special(words) for side, words in zip(sides, pair, strict=True)]
        size = max(len(ids) for ids, _ in whole)
        limit = sides[0].max_subwords
        if size > limit:
            found = f"pair {number} has {size} sub-words, {self.name} takes {limit}"
            warn_caller(f"{found}; it gets no links")
            whole = [side.with_special([]) for side in sides]
        (ids, word_of_piece), (labels, word_of_label) = whole
        return _Forced(number, ids, word_of_piece, labels, word_of_label)

    def _run(self, batch: Sequence[_Forced]) -> list[Floats]:
        """Return the weights (layers, H, steps, source sub-words) of each pair."""
        torch, _ = import_packages()
        model, (pieces, _) = self._opened
        # models compute the input of their decoder from the labels
        labels = [pair.labels for pair in batch]
        tensors = model_inputs(batch, pieces, self.device, labels)
        with name_model_in_errors(self.name), torch.inference_mode():
            layers = model(**tensors, output_attentions=True, use_cache=False).cross_attentions
            weights = torch.stack(layers, 1).float().cpu().numpy()  # (B, layers, H, steps, source sub-words)
        return [weights[n, :, :, : len(pair.labels), : len(pair.ids)] for n, pair in enumerate(batch)]


def read_attention(
    matrices: str | Path | Iterable[AnyArray],
    reduction: AttentionReduction,
    pairs: Iterable[TokenizedPair],
    *,
    encoding: str = "utf-8",
) -> Iterator[PairMatrix]:
    """Yield the weights of each pair of pieces, from a file or arrays; DataError if they do not fit."""
    return match_given(matrices, "matrices", partial(read_matrices, encoding=encoding), pairs, reduction.pair)


def translator_attention(
    translator: Translator, reduction: AttentionReduction, pairs: Iterable[TokenizedPair]
) -> Iterator[PairMatrix]:
    """Yield the cross-attention of a translation model for each pair of words."""
    words, pairs_of_weights, pairs_to_force = tee(pairs, 3)
    attentions = translator.attention(pairs_to_force)
    weights = (
        attention.of_words(len(target), reduction.shift)  # (layers, H, T, S + 1)
        for (_, target), attention in zip(pairs_of_weights, attentions, strict=True)
    )
    return match_pairs(words, weights, translator.name, replace(reduction, shift=0).pair)


def best_reduction(
    translator: Translator, pairs: Iterator[TokenizedPair]
) -> tuple[AttentionReduction, Iterator[TokenizedPair]]:
    """Return the layer and head that align the first pairs of a text best, and all pairs again.

    With fewer than `MIN_HEAD_PAIRS` pairs, it is the mean of all heads, with a warning.
    """
    first_pairs = list(islice(pairs, MAX_HEAD_PAIRS))
    all_pairs = chain(first_pairs, pairs)
    if len(first_pairs) < MIN_HEAD_PAIRS:
        advice = "pass `layers`, `attention_heads` and `shift` to choose one"
        warn_caller(f"too few pairs to choose a head, so all heads are averaged; {advice}")
        return AttentionReduction(), all_pairs
    ranked = rank_reductions(first_pairs, translator.attention(first_pairs))
    _, best = ranked[0]
    return best, all_pairs


def checked_weights(attention: AnyArray) -> Reals:
    """Return weights of shape (layers, heads, T, S)."""
    if attention.dtype.kind not in "fiub" or attention.ndim not in (2, 4):
        found = f"{attention.dtype} of shape {attention.shape}"
        raise DataError(f"expected numbers of shape (T, S) or (layers, heads, T, S), found {found}")
    weights: Reals = attention.astype(np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("expected attention weights, found a negative one, NaN or infinity")
    return weights[None, None] if weights.ndim == 2 else weights


def likelihood_gain(source: Longs, target: Longs) -> float:
    """Return the mean of log p(target | source) / p(target) over links, each without its own count.

    Both arrays (N,) contain word numbers; source 0 stands for a target word without a link, which gains
    nothing. The gain is high if the same words are linked again and again, as in Model 1 (Brown et al. 1993).
    """
    if not len(target):
        return 0.0
    keys = source * (target.max() + 1) + target
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    target_share = np.bincount(target)[target] / len(target)
    other_links = counts[which] - 1 + target_share  # smoothed by the share of the target word
    ratio = other_links / (np.bincount(source)[source] * target_share)
    return float(np.where(source > 0, np.log(ratio), 0).mean())


def rank_reductions(
    pairs: Sequence[TokenizedPair], attentions: Iterable[CrossAttention]
) -> list[tuple[float, AttentionReduction]]:
    """Return the gain of each head and of the mean of each layer, for both shifts; the largest gain first."""
    source_numbers: dict[str, int] = {"": 0}  # 0 stands for no link
    target_numbers: dict[str, int] = {}
    links_of_pairs: list[Longs] = []  # linked source word of each target word, each (2, layers, H + 1, T)
    target_words: list[int] = []
    for (source, target), attention in zip(pairs, attentions, strict=True):
        if not source or not target:
            continue
        source_words = np.array(_number_words(source, source_numbers))
        target_words += _number_words(target, target_numbers)
        by_shift = [attention.of_words(len(target), shift)[..., :-1] for shift in (0, 1)]
        weights = np.stack(by_shift)  # (2, layers, H, T, S)
        weights = np.concatenate([weights, weights.mean(axis=2, keepdims=True)], axis=2)
        is_linked = weights.max(axis=-1) > 0
        links_of_pairs.append(np.where(is_linked, source_words[weights.argmax(axis=-1)], 0))
    links = np.concatenate(links_of_pairs, axis=-1)  # (2, layers, H + 1, N)
    targets = np.array(target_words, np.int64)
    mean_of_heads = links.shape[2] - 1
    ranked = []
    for shift, layer, head in np.ndindex(*links.shape[:3]):
        heads = None if head == mean_of_heads else (head,)
        gain = likelihood_gain(links[shift, layer, head], targets)
        ranked.append((gain, AttentionReduction(layers=(layer,), heads=heads, shift=shift)))
    return sorted(ranked, key=lambda entry: -entry[0])


def _number_words(words: Sequence[str], numbers: dict[str, int]) -> list[int]:
    """Return the number of each word in lower case; new words are added to `numbers`."""
    return [numbers.setdefault(word.lower(), len(numbers)) for word in words]
