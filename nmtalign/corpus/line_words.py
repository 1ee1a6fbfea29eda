"""Positions that users can see: the words between spaces of a line, whatever the tokenizer.

A word is linked to a word if one of its tokens is linked to one of the other's tokens.

Axes: N sentence pairs, T target words, S source words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import AnyArray, Flags, Integers, Longs, Reals, offsets_of
from nmtalign.errors import DataError
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    BothWords,
    GoldAlignment,
    Link,
)
from nmtalign.text.tokenization import SPACE_SETTINGS, words_containing

SPACE_BYTE, LINE_END_BYTE = 32, 10  # bytes between words, and after lines
DROPPED_SPACES = "\u00a0\u202f\u3000\t"  # white space that tokenizers leave out, and that is no end of a word
_find_word_of_dropped_spaces = re.compile(rf"(?:^| )[{DROPPED_SPACES}]+(?: |$)").search


class LineWords(NamedTuple):
    """Of one side of a text: the word of its line that each token is part of, or begins in."""

    numbers: Integers  # the word of each token, from 0, of all sentences one after the other
    offsets: Longs  # (N + 1,): the tokens of sentence n are ``numbers[offsets[n]:offsets[n + 1]]``

    def of(self, sentence: Integers, tokens: Integers) -> Longs:
        """Return the words of tokens, each of a sentence."""
        words: Longs = self.numbers[self.offsets[sentence] + tokens].astype(np.int64)
        return words

    def sentence(self, n: int) -> list[int]:
        """Return the words of the tokens of a sentence."""
        words: list[int] = self.numbers[self.offsets[n] : self.offsets[n + 1]].tolist()
        return words


BothLineWords = tuple[LineWords, LineWords]  # of the source and of the target


def number_line_words(
    lines: Sequence[str],
    tokens: Sequence[str],
    lengths: Sequence[int],
    spans: Callable[[str], Sequence[tuple[int, int]]],
) -> Integers:
    """Return the number of the word between spaces that each token of some lines begins in.

    `tokens` are of all lines, one after the other, and each line has as many as `lengths` say. Tokens that
    are the letters of their line, in order, are found by counting letters; `spans` says where those of
    another line begin and end.
    """
    sizes = np.array(lengths, np.int64)
    words, unlike = _words_by_letter_count(lines, tokens, sizes)
    if unlike.any():
        for_lines = compress(zip(lines, lengths, strict=True), unlike.tolist())
        of_lines = (words_containing([a for a, _ in spans(line)] if n else (), line) for line, n in for_lines)
        words[np.repeat(unlike, sizes)] = [*chain.from_iterable(of_lines)]
    return words.astype(np.min_scalar_type(int(words.max(initial=0))))


def _words_by_letter_count(
    lines: Sequence[str], tokens: Sequence[str], sizes: Longs
) -> tuple[Integers, Flags]:
    """Return the word of each token from the number of letters before it, and the lines where that is wrong.

    It is wrong in lines that are not the letters of their tokens, or have a word that no token begins in.
    """
    text, cut = _as_bytes(lines), _as_bytes(tokens)
    gaps, ends = (
        np.flatnonzero((text == SPACE_BYTE) | (text == LINE_END_BYTE)),
        np.flatnonzero(cut == LINE_END_BYTE),
    )
    line_ends = text[gaps] == LINE_END_BYTE
    if len(ends) != len(tokens) or np.count_nonzero(line_ends) != len(lines):  # a line end inside
        return np.zeros(len(tokens), np.int64), np.ones(len(lines), bool)
    gaps -= np.arange(len(gaps))  # letters before each gap
    letters = np.concatenate([[0], ends - np.arange(len(ends))])  # letters before each token, and in all
    in_text, in_tokens = np.concatenate([[0], gaps[line_ends]]), letters[offsets_of(sizes)]  # before lines
    unlike = np.diff(in_text) != np.diff(in_tokens)
    whole = "\n".join(lines)
    if any(space in whole for space in DROPPED_SPACES):
        unlike |= np.array([bool(_find_word_of_dropped_spaces(line)) for line in lines])
    word = np.zeros(int(in_text[-1]) + 1, np.int64)
    word[gaps] = 1  # several spaces are one gap
    np.cumsum(word, out=word)
    before = letters[:-1] + np.repeat((in_text - in_tokens)[:-1], sizes)
    first = np.repeat(word[in_text[:-1]], sizes)
    return word[np.minimum(before, len(word) - 1)] - first, unlike


def _as_bytes(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts with an end after each, without white space that belongs to no token."""
    text = "\n".join([*texts, ""])
    if not text.isascii() or "\t" in text:
        for space in DROPPED_SPACES:
            text = text.replace(space, "")
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


def links_of_words(batch: AlignedBatch, words: BothLineWords | None) -> AlignedBatch:
    """Return the links of the words that linked tokens begin in; without `words`, tokens are the words.

    Links that coincide become one, with the greatest of their probabilities.
    """
    if words is None or not len(batch.source):
        return batch
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    source, target = words[0].of(pair, batch.source), words[1].of(pair, batch.target)
    return merge_links(batch, pair, source, target, batch.probability)


def merge_links(
    batch: AlignedBatch, pair: Longs, source: Longs, target: Longs, probability: Reals
) -> AlignedBatch:
    """Return a batch with other links, of which there is at least one, in the order of a batch.

    Links that coincide become one, with the greatest of their probabilities.
    """
    key = (pair * (source.max() + 1) + source) * (target.max() + 1) + target
    order = key.argsort(kind="stable")  # nearly in order already
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    kept = order[first]
    counts = np.bincount(pair[kept], minlength=len(batch))
    return replace(
        batch,
        offsets=offsets_of(counts),
        source=source[kept].astype(np.int32),
        target=target[kept].astype(np.int32),
        probability=np.maximum.reduceat(probability[order], first),
    )


def links_of_tokens(
    batch: AlignedBatch, words: BothLineWords | None, lengths: tuple[Longs, Longs], *, first: int = 1
) -> AlignedBatch:
    """Return the links of all tokens of linked words, which share the probability of the link.

    `words` are those of :func:`links_of_words`, `lengths` the source and target tokens of each pair. A
    DataError names the first pair, counted from `first`, with a link outside.
    """
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    sides = zip((batch.source, batch.target), words or (None, None), lengths, strict=True)
    spans = [_token_spans(pair, *side) for side in sides]
    outside = np.flatnonzero(np.logical_or(*(inside < 1 for *_, inside in spans)))
    if len(outside):
        n = outside[0]
        link, (S, T) = f"{batch.source[n]}-{batch.target[n]}", (int(size[pair[n]]) for size in lengths)
        outside_of = f"pair {first + pair[n]:,}: the expert's link {link} lies outside of {S} and {T} tokens"
        raise DataError(f"{outside_of}; positions count the words between spaces of the line, from 0")
    if words is None:
        return batch
    (start, count, _), (other_start, other_count, _) = spans
    cells = count * other_count
    row = np.repeat(np.arange(len(pair)), cells)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(cells) - cells, cells)
    source, target = start[row] + nth // other_count[row], other_start[row] + nth % other_count[row]
    order = np.lexsort((target, source, pair[row]))
    sizes = np.bincount(pair[row], minlength=len(batch))
    return AlignedBatch(
        offsets_of(sizes),
        source[order].astype(np.int32),
        target[order].astype(np.int32),
        (batch.probability[row] / cells[row]).astype(np.float32)[order],
        batch.scores,
    )


def _token_spans(
    pair: Longs, word: Integers, words: LineWords | None, lengths: Longs
) -> tuple[Longs, Longs, Longs]:
    """Return the first token of words, how many each has, and how many are left (0 or less: outside)."""
    if words is None:
        return word.astype(np.int64), np.ones(len(word), np.int64), lengths[pair] - word
    width = int(max(words.numbers.max(initial=0), word.max(initial=0))) + 1
    keys = np.repeat(np.arange(len(lengths)), lengths) * width + words.numbers
    start, stop = (np.searchsorted(keys, pair * width + word, side) for side in ("left", "right"))
    return start - words.offsets[pair], stop - start, words.offsets[pair + 1] - start


def gold_of_tokens(
    gold: GoldAlignment, links: Collection[Link], source: Sequence[int], target: Sequence[int]
) -> GoldAlignment:
    """Return the gold links of tokens from those of words; `source` and `target` say the word of each token.

    Of words of one token the link is theirs. Of several tokens those that an aligner links (`links`) are
    sure, if the gold link is, and all others are possible: gold does not tell them apart.
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for link in gold.possible:
        tokens = [t for t, word in enumerate(target) if word == link.target]
        cells = {Link(s, t) for s, word in enumerate(source) if word == link.source for t in tokens}
        possible |= cells
        if link in gold.sure:
            sure |= cells if len(cells) == 1 else cells.intersection(links)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def pair_of_words(
    pair: AlignedPair, lines: tuple[str, str], words: BothLineWords | None, n: int = 0
) -> AlignedPair:
    """Return pair n of the lines that `words` tell of, with the words between spaces in place of tokens."""
    if words is None:
        return pair
    shown = tuple(SPACE_SETTINGS.words(lines[0])), tuple(SPACE_SETTINGS.words(lines[1]))
    return join_pair_tokens(pair, shown, (words[0].sentence(n), words[1].sentence(n)))


def join_pair_tokens(
    pair: AlignedPair, words: BothWords, word_of_token: tuple[Sequence[int], Sequence[int]]
) -> AlignedPair:
    """Return an aligned pair with words in place of their tokens; see :func:`join_token_values`.

    `word_of_token` says the word of each source and target token. A word is without a vector if one of its
    tokens is.
    """
    source, target = word_of_token
    shape = len(words[1]), len(words[0])

    def of_words(values: str, weights: Reals) -> Any:
        return None if weights is None else join_token_values(values, weights, word_of_token, shape)

    unknown = pair.matrix.unknown
    if unknown is not None:
        unknown = frozenset(source[n] for n in unknown[0]), frozenset(target[n] for n in unknown[1])
    probabilities: dict[Link, float] = {}
    for (s, t), probability in pair.probabilities.items():
        link = Link(source[s], target[t])
        probabilities[link] = max(probability, probabilities.get(link, 0.0))
    links = {Link(source[s], target[t]) for s, t in pair.alignment.links}
    return replace(
        pair,
        alignment=Alignment(links, *map(len, words)),
        matrix=AlignmentMatrix(
            of_words("combined", pair.matrix.weights), *words, unknown, pair.matrix.caption
        ),
        forward=of_words("forward", pair.forward),
        reverse=of_words("reverse", pair.reverse),
        probabilities=probabilities,
        scores=of_words("scores", pair.scores),
    )


def join_token_values(
    values: str, weights: AnyArray, words: tuple[Sequence[int], Sequence[int]], shape: tuple[int, int]
) -> AnyArray:
    """Return one kind of values of the words of a pair from those of their tokens.

    `values` are "scores", "forward", "reverse" or "combined", `weights` is of shape (target tokens, source
    tokens), `words` is the word of each source and target token, and `shape` is (T, S). Scores and combined
    weights of two words are the greatest of their tokens. A word attends to the tokens of another one
    together, and its own tokens attend on average, so weights of a direction sum to 1 at most. A word
    without tokens has weights of 0, and scores of NaN.
    """
    source, target = (np.array(numbers, np.int64) for numbers in words)
    if values == "reverse":
        return join_token_values("forward", weights.T, words[::-1], shape[::-1]).T
    if values != "forward":
        greatest = np.full(shape, np.nan if values == "scores" else 0, weights.dtype)
        np.fmax.at(greatest, np.ix_(target, source), weights)
        return greatest
    total = np.zeros(shape, weights.dtype)
    np.add.at(total, np.ix_(target, source), weights)
    total /= np.maximum(np.bincount(target, minlength=shape[0]), 1).astype(weights.dtype)[:, None]
    return total
