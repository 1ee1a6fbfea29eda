"""Positions that users see: space-separated words of a line, whichever tokenizer is used.

A word is linked to a word if one of its tokens is linked to one of the other's tokens.

Axes: N sentence pairs, T target words, S source words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import AnyArray, Flags, Integers, Longs, Reals, offsets_of, positions_in_runs
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
from nmtalign.text.bitext import Pair, is_line_pair
from nmtalign.text.tokenization import SPACE_SETTINGS, words_containing

SPACE_BYTE = ord(" ")
LINE_END_BYTE = ord("\n")
DROPPED_SPACES = "\u00a0\u202f\u3000\t"  # tokenizers omit this white space, but it does not end a word
_find_word_of_dropped_spaces = re.compile(rf"(?:^| )[{DROPPED_SPACES}]+(?: |$)").search


class LineWords(NamedTuple):
    """The space-separated word in which each token of one side of a text begins."""

    numbers: Integers  # (tokens of all sentences,): the word of each token, numbered from 0 in its line
    offsets: Longs  # (N + 1,): the tokens of sentence n are ``numbers[offsets[n]:offsets[n + 1]]``

    def word_of(self, sentence: Integers, tokens: Integers) -> Longs:
        """Return the words of tokens, each of a sentence."""
        words: Longs = self.numbers[self.offsets[sentence] + tokens].astype(np.int64)
        return words

    def sentence(self, n: int) -> list[int]:
        """Return the words of the tokens of a sentence."""
        words: list[int] = self.numbers[self.offsets[n] : self.offsets[n + 1]].tolist()
        return words


BothLineWords = tuple[LineWords, LineWords]  # source and target


def number_line_words(
    lines: Sequence[str],
    tokens: Sequence[str],
    lengths: Sequence[int],
    spans: Callable[[str], Sequence[tuple[int, int]]],
) -> Integers:
    """Return the number of the space-separated word in which each token of some lines begins.

    `tokens` are those of all lines, and `lengths` are their numbers per line. If the tokens of a line are its
    letters, in order, their words are found by counting letters, for all lines at once. For other lines,
    `spans` returns where the tokens begin and end.
    """
    token_counts = np.array(lengths, np.int64)
    words, is_uncounted = _words_by_letter_count(lines, tokens, token_counts)
    if is_uncounted.any():
        words_of_lines: list[int] = []
        for number in np.flatnonzero(is_uncounted).tolist():
            if lengths[number]:
                line = lines[number]
                starts = [start for start, _ in spans(line)]
                words_of_lines += words_containing(starts, line)
        words[np.repeat(is_uncounted, token_counts)] = words_of_lines
    smallest_type = np.min_scalar_type(int(words.max(initial=0)))
    return words.astype(smallest_type)


def _words_by_letter_count(
    lines: Sequence[str], tokens: Sequence[str], token_counts: Longs
) -> tuple[Integers, Flags]:
    """Return the word of each token from the number of letters before it, and for which lines this fails.

    It fails for lines whose letters are not those of their tokens, and for lines with a word that no token
    begins in. "Letters" are the bytes of all characters except white space.
    """
    line_bytes = _as_bytes(lines)
    token_bytes = _as_bytes(tokens)
    gaps = np.flatnonzero((line_bytes == SPACE_BYTE) | (line_bytes == LINE_END_BYTE))
    token_ends = np.flatnonzero(token_bytes == LINE_END_BYTE)
    is_line_end = line_bytes[gaps] == LINE_END_BYTE
    has_inner_line_ends = len(token_ends) != len(tokens) or np.count_nonzero(is_line_end) != len(lines)
    if has_inner_line_ends:
        return np.zeros(len(tokens), np.int64), np.ones(len(lines), bool)

    # The k-th separator has k separators before it, so subtracting k leaves the number of letters before it.
    letters_before_gap = gaps - np.arange(len(gaps))
    letters_before_token = np.concatenate([[0], token_ends - np.arange(len(token_ends))])  # and the total
    # Letters before each line, and the total, counted in the lines and in their tokens
    before_line = np.concatenate([[0], letters_before_gap[is_line_end]])
    before_line_tokens = letters_before_token[offsets_of(token_counts)]
    fails = np.diff(before_line) != np.diff(before_line_tokens)
    all_lines = "\n".join(lines)
    if any(space in all_lines for space in DROPPED_SPACES):
        fails |= np.array([bool(_find_word_of_dropped_spaces(line)) for line in lines])

    # word_of_letter[k] is the number of gaps at or before letter k; several spaces in a row are one gap
    word_of_letter = np.zeros(int(before_line[-1]) + 1, np.int64)
    word_of_letter[letters_before_gap] = 1
    np.cumsum(word_of_letter, out=word_of_letter)
    # If earlier lines fail, letters of tokens are counted relative to the beginning of their line.
    shift = (before_line - before_line_tokens)[:-1]
    first_letter = letters_before_token[:-1] + np.repeat(shift, token_counts)
    first_word_of_line = np.repeat(word_of_letter[before_line[:-1]], token_counts)
    words = word_of_letter[np.minimum(first_letter, len(word_of_letter) - 1)] - first_word_of_line
    return words, fails


def _as_bytes(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return the bytes of texts, each with a line end, without `DROPPED_SPACES`."""
    text = "\n".join([*texts, ""])
    if not text.isascii() or "\t" in text:
        for space in DROPPED_SPACES:
            text = text.replace(space, "")
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


def links_of_words(batch: AlignedBatch, line_words: BothLineWords | None) -> AlignedBatch:
    """Return the links of the words that linked tokens begin in; without `line_words`, tokens are the words.

    Links that coincide become one, with the greatest of their probabilities.
    """
    if line_words is None or not len(batch.source):
        return batch
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))  # (L,)
    source = line_words[0].word_of(pair, batch.source)
    target = line_words[1].word_of(pair, batch.target)
    return merge_links(batch, pair, source, target, batch.probability)


def merge_links(
    batch: AlignedBatch, pair: Longs, source: Longs, target: Longs, probability: Reals
) -> AlignedBatch:
    """Return a batch with other links, of which there is at least one, in the order of a batch.

    Links that coincide become one, with the greatest of their probabilities.
    """
    key = (pair * (source.max() + 1) + source) * (target.max() + 1) + target
    order = key.argsort(kind="stable")  # fast, because the keys are nearly in order
    first = np.flatnonzero(np.diff(key[order], prepend=-1))  # of each run of equal keys
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
    batch: AlignedBatch, line_words: BothLineWords | None, lengths: tuple[Longs, Longs], *, first: int = 0
) -> AlignedBatch:
    """Return the links of all tokens of linked words, which share the probability of the link.

    `line_words` are those of :func:`links_of_words`, `lengths` the source and target tokens of each pair. A
    DataError names the first pair, counted from `first`, with a link outside.
    """
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))  # (L,)
    source_words, target_words = (None, None) if line_words is None else line_words
    source_spans = _token_spans(pair, batch.source, source_words, lengths[0])
    target_spans = _token_spans(pair, batch.target, target_words, lengths[1])
    outside = np.flatnonzero((source_spans.left < 1) | (target_spans.left < 1))
    if len(outside):
        n = outside[0]
        link = f"{batch.source[n]}-{batch.target[n]}"
        S, T = int(lengths[0][pair[n]]), int(lengths[1][pair[n]])
        place = f"pair {first + pair[n]:,}"
        raise DataError(
            f"{place}: the expert's link {link} is outside a pair of {S} source and {T} target tokens; "
            "positions count the space-separated words of the line, from 0"
        )
    if line_words is None:
        return batch
    # A link of words with m and n tokens becomes m * n links, or cells.
    cell_counts = source_spans.size * target_spans.size
    link_of_cell = np.repeat(np.arange(len(pair)), cell_counts)
    cell_in_link = positions_in_runs(cell_counts)
    target_count = target_spans.size[link_of_cell]
    source = source_spans.start[link_of_cell] + cell_in_link // target_count
    target = target_spans.start[link_of_cell] + cell_in_link % target_count
    probability = batch.probability[link_of_cell] / cell_counts[link_of_cell]
    pair_of_cell = pair[link_of_cell]
    order = np.lexsort((target, source, pair_of_cell))
    return AlignedBatch(
        offsets=offsets_of(np.bincount(pair_of_cell, minlength=len(batch))),
        source=source[order].astype(np.int32),
        target=target[order].astype(np.int32),
        probability=probability.astype(np.float32)[order],
        scores=batch.scores,
    )


class _TokenSpans(NamedTuple):
    """The tokens of the words of some links, shape (L,) each."""

    start: Longs  # first token of the word
    size: Longs  # number of its tokens
    left: Longs  # tokens from the first one to the end of the sentence; 0 or less: the word is outside


def _token_spans(pair: Longs, word: Integers, line_words: LineWords | None, lengths: Longs) -> _TokenSpans:
    """Return which tokens the words are, each in the sentence of its pair; `lengths` are in tokens."""
    if line_words is None:  # each token is a word
        return _TokenSpans(word.astype(np.int64), np.ones(len(word), np.int64), lengths[pair] - word)
    # Sentence and word make one ascending key for each token
    width = int(max(line_words.numbers.max(initial=0), word.max(initial=0))) + 1
    token_keys = np.repeat(np.arange(len(lengths)), lengths) * width + line_words.numbers
    word_keys = pair * width + word
    start = np.searchsorted(token_keys, word_keys, "left")
    stop = np.searchsorted(token_keys, word_keys, "right")
    sentence_start = line_words.offsets[pair]
    return _TokenSpans(start - sentence_start, stop - start, line_words.offsets[pair + 1] - start)


def gold_of_tokens(
    gold: GoldAlignment, links: Collection[Link], source: Sequence[int], target: Sequence[int]
) -> GoldAlignment:
    """Return the gold links of tokens from those of words; `source` and `target` are the words of the tokens.

    A link of words with one token each becomes the link of their tokens. If a word has several tokens, the
    gold link does not tell which of them are linked: the links that an aligner chose (`links`) are sure, if
    the gold link is, and all others are possible.
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for link in gold.possible:
        source_tokens = [s for s, word in enumerate(source) if word == link.source]
        target_tokens = [t for t, word in enumerate(target) if word == link.target]
        token_links = {Link(s, t) for s in source_tokens for t in target_tokens}
        possible |= token_links
        if link in gold.sure:
            sure |= token_links if len(token_links) == 1 else token_links.intersection(links)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def pair_of_words(
    pair: AlignedPair, lines: tuple[str, str], line_words: BothLineWords | None, n: int = 0
) -> AlignedPair:
    """Return an aligned pair with the space-separated words in place of their tokens.

    `line_words` has the words of the tokens of all pairs, and `n` is the number of this pair.
    """
    if line_words is None:
        return pair
    space_separated = tuple(SPACE_SETTINGS.words(lines[0])), tuple(SPACE_SETTINGS.words(lines[1]))
    word_of_token = line_words[0].sentence(n), line_words[1].sentence(n)
    return join_pair_tokens(pair, space_separated, word_of_token)


def join_pair_tokens(
    pair: AlignedPair, words: BothWords, word_of_token: tuple[Sequence[int], Sequence[int]]
) -> AlignedPair:
    """Return an aligned pair with words in place of their tokens; see :func:`join_token_values`.

    `word_of_token` is the word of each source and target token. A word has no vector if one of its tokens has
    none.
    """
    source, target = word_of_token
    shape = len(words[1]), len(words[0])  # (T, S)

    def join(values: str, weights: Reals) -> Any:
        return None if weights is None else join_token_values(values, weights, word_of_token, shape)

    unknown = pair.matrix.unknown
    if unknown is not None:
        unknown_source = frozenset(source[n] for n in unknown[0])
        unknown_target = frozenset(target[n] for n in unknown[1])
        unknown = unknown_source, unknown_target
    probabilities: dict[Link, float] = {}
    for (s, t), probability in pair.probabilities.items():
        link = Link(source[s], target[t])
        probabilities[link] = max(probability, probabilities.get(link, 0.0))
    links = {Link(source[s], target[t]) for s, t in pair.alignment.links}
    return replace(
        pair,
        alignment=Alignment(links, len(words[0]), len(words[1])),
        matrix=AlignmentMatrix(join("combined", pair.matrix.weights), *words, unknown, pair.matrix.caption),
        forward=join("forward", pair.forward),
        reverse=join("reverse", pair.reverse),
        probabilities=probabilities,
        scores=join("scores", pair.scores),
    )


def values_of_words(
    values: str, weights: AnyArray, pair: Pair, line_words: BothLineWords | None, n: int
) -> AnyArray:
    """Return one kind of values of pair `n` of a text, for its space-separated words.

    `line_words` has the words of the tokens of all pairs of the text; None if each token is a word.
    """
    if line_words is None or not is_line_pair(pair):
        return weights
    source, target = SPACE_SETTINGS.words_of_pair(pair)
    word_of_token = line_words[0].sentence(n), line_words[1].sentence(n)
    return join_token_values(values, weights, word_of_token, (len(target), len(source)))


def join_token_values(
    values: str, weights: AnyArray, word_of_token: tuple[Sequence[int], Sequence[int]], shape: tuple[int, int]
) -> AnyArray:
    """Return values of the words of a pair from the values of their tokens.

    `values` is "scores", "forward", "reverse" or "combined". `weights` has the shape (target tokens, source
    tokens), `word_of_token` is the word of each source and target token, and `shape` is (T, S).

    The score, or combined weight, of two words is the maximum over their tokens. In one direction, the
    weights of a word's tokens are added where they are attended to, and averaged where they attend, so that
    the weights of a word sum to at most 1. A word without tokens has weights of 0 and scores of NaN.
    """
    source = np.array(word_of_token[0], np.int64)
    target = np.array(word_of_token[1], np.int64)
    if values == "reverse":
        return join_token_values("forward", weights.T, word_of_token[::-1], shape[::-1]).T
    if values != "forward":
        maximum = np.full(shape, np.nan if values == "scores" else 0, weights.dtype)
        np.fmax.at(maximum, np.ix_(target, source), weights)
        return maximum
    total = np.zeros(shape, weights.dtype)
    np.add.at(total, np.ix_(target, source), weights)
    tokens_per_word = np.maximum(np.bincount(target, minlength=shape[0]), 1)  # (T,)
    total /= tokens_per_word.astype(weights.dtype)[:, None]
    return total
