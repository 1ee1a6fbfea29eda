"""One side of a bitext as numbers: each distinct word has a number, the most frequent ones first.

Axes: N sentences, V words of the vocabulary. Word number 0 is the padding, which is one of the V; real words
count from 1.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, islice, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nmtalign.arrays import AnyArray, Flags, Integers, Ints, Longs, block_slices, offsets_of
from nmtalign.files.array_files import ArrayPlace, TemporaryArrays, on_disk, release
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings, words_containing

Computed = TypeVar("Computed")

TOKENS_PER_BLOCK = 1 << 22  # 16 megabytes of numbers are changed at a time
PAIRS_PER_BLOCK = 200  # larger blocks of tokenized pairs do not fit the CPU cache


@dataclass(frozen=True, eq=False, repr=False)
class EncodedSide:
    """One side of a bitext."""

    words: list[str]  # (V,): ``words[k]`` is the word with number k; ``words[0]`` is the padding
    tokens: Ints  # word numbers of all sentences, concatenated
    offsets: Longs  # (N + 1,): sentence n is ``tokens[offsets[n]:offsets[n + 1]]``
    counts: Longs  # (V,): how often each word occurs
    # the space-separated word of each token; None if each token is one
    line_word_of_token: Integers | None = None

    @cached_property
    def lengths(self) -> Longs:
        """Number of words of each sentence, shape (N,)."""
        return np.diff(self.offsets)

    def on_disk(self) -> EncodedSide:
        """Return the side with its sentences on disk; the words stay in memory."""
        tokens = on_disk(self.tokens)
        release(tokens)
        offsets = on_disk(self.offsets)
        line_word_of_token = None
        if self.line_word_of_token is not None:
            line_word_of_token = on_disk(self.line_word_of_token)
        return replace(self, tokens=tokens, offsets=offsets, line_word_of_token=line_word_of_token)

    @cached_property
    def _memory(self) -> dict[Hashable, Any]:
        return {}

    def memo(self, key: Hashable, compute: Callable[[], Computed]) -> Computed:
        """Return the result of the first call with `key`; the parts of a large text share it."""
        if key not in self._memory:
            self._memory[key] = compute()
        value: Computed = self._memory[key]
        return value

    def size(self, n: int) -> int:
        """Return the number of space-separated words in line n, up to the last one that has a token."""
        if self.line_word_of_token is None:
            return int(self.lengths[n])
        words = self.line_word_of_token[self.offsets[n] : self.offsets[n + 1]]
        return int(words[-1]) + 1 if len(words) else 0

    def sentence(self, n: int) -> list[str]:
        """Return the words of sentence n."""
        return [self.words[k] for k in self.tokens[self.offsets[n] : self.offsets[n + 1]]]


class NumberedWords(NamedTuple):
    """Sentences of one side, with words numbered in the order of their first occurrence."""

    words: list[str]
    tokens: Ints
    lengths: Longs
    line_word_of_token: Integers | None


WordForms = Callable[[Sequence[str]], list[str]]  # returns the forms in which words are looked up


class TokenList:
    """Arrays of numbers of tokens, which are joined at the end; more than `in_memory` numbers go to disk."""

    def __init__(self, in_memory: float = math.inf) -> None:
        self._in_memory = in_memory
        self._arrays: list[AnyArray] = []
        self._size = 0
        self._places: list[ArrayPlace] = []
        self._file: TemporaryArrays | None = None

    def append(self, array: AnyArray) -> None:
        self._arrays.append(array)
        self._size += len(array)
        if self._size > self._in_memory:
            self._file = self._file or TemporaryArrays()
            self._places.append(self._file.append(np.concatenate(self._arrays)))
            self._arrays = []
            self._size = 0

    def joined(self, dtype: DTypeLike) -> AnyArray:
        """Return all numbers, in a new array; one that is mapped from a file if some are on disk."""
        in_memory = np.concatenate([np.zeros(0, dtype), *self._arrays])
        if self._file is None:
            return in_memory
        places = [*self._places, self._file.append(in_memory)]
        return self._file.mapped(ArrayPlace(0, np.dtype(dtype), (sum(place.shape[0] for place in places),)))


class SideEncoder:
    """Numbers the words of one side (0 or 1) of a bitext; `text_settings` splits lines into words.

    More than `in_memory` tokens go to disk.
    """

    def __init__(
        self,
        text_settings: TextSettings,
        side: int,
        language: str | None,
        in_memory: float = math.inf,
    ) -> None:
        self._text_settings = text_settings
        self._side = side
        self._language = language
        # a counter, and not the length: a dictionary that refers to itself is freed late
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._tokens = TokenList(in_memory)
        self._lengths = array("q")
        self._line_word_of_token: list[Integers] = []

    def add_lines(self, lines: Sequence[str]) -> None:
        """Add the sentences of lines."""
        for begin in range(0, len(lines), PAIRS_PER_BLOCK):
            block = lines[begin : begin + PAIRS_PER_BLOCK]
            if self._text_settings.cuts_at_spaces and not any("\n" in line for line in block):
                joined = "".join([f"{line}\n" for line in block])
                self._add_folded_lines(self._text_settings.folded(joined))
                continue
            tokens, lengths = self._text_settings.tokens_of_lines(block, self._side, self._language)
            if self._text_settings.tokenizer != SPACE_SETTINGS.tokenizer:
                spans = self._text_settings.tokenizer_of(self._side, self._language).spans
                self._line_word_of_token.append(number_line_words(block, tokens, lengths, spans))
            self._add_tokens(tokens, lengths)

    def add_words(self, sentences: Sequence[Sequence[str]]) -> None:
        """Add sentences as lists of words."""
        for begin in range(0, len(sentences), PAIRS_PER_BLOCK):
            block = sentences[begin : begin + PAIRS_PER_BLOCK]
            self._add_tokens([*chain.from_iterable(block)], map(len, block))

    def _add_folded_lines(self, lines: str) -> None:
        """Add the sentences of lines that are in the form that is looked up; each line has an end.

        Line ends are numbered like words, so that one array operation finds the lengths of all lines.
        """
        words = lines.replace("\n", " \n ").split(" ")
        numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))
        numbers = numbers[numbers != self._numbers[""]]  # empty words are between two spaces
        is_word = numbers != self._numbers["\n"]
        line_ends = np.flatnonzero(~is_word)
        lengths = np.diff(line_ends, prepend=-1) - 1
        self._lengths.extend(lengths.tolist())
        self._tokens.append(numbers[is_word])

    def _add_tokens(self, tokens: Sequence[str], lengths: Iterable[int]) -> None:
        """Add the sentences with these lengths, whose tokens are concatenated."""
        words = self._text_settings.normalized(tokens)
        self._tokens.append(np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words)))
        self._lengths.extend(lengths)

    def number_sentences(self) -> NumberedWords:
        """Return the sentences so far, for :meth:`merge` of another encoder."""
        lengths = np.array(self._lengths, np.int64)
        line_word_of_token = np.concatenate(self._line_word_of_token) if self._line_word_of_token else None
        return NumberedWords(
            words=list(self._numbers),
            tokens=self._tokens.joined(np.int32),
            lengths=lengths,
            line_word_of_token=line_word_of_token,
        )

    def merge(self, other: NumberedWords) -> None:
        """Add the sentences of another encoder."""
        numbers = np.fromiter(map(self._numbers.__getitem__, other.words), np.int32, len(other.words))
        self._tokens.append(numbers.take(other.tokens))
        self._lengths.extend(other.lengths.tolist())
        if other.line_word_of_token is not None:
            self._line_word_of_token.append(other.line_word_of_token)

    def finish(self, forms: WordForms | None = None) -> EncodedSide:
        """Return the side, with words numbered by falling frequency, ties by first occurrence.

        With `forms`, words of the same form have the same number.
        """
        words, tokens, lengths, line_word_of_token = self.number_sentences()
        if forms is not None:
            words, tokens = _merge_words_of_form(forms(words), tokens)
        counts = np.zeros(len(words), np.int64)
        blocks = [tokens[block] for block in block_slices(len(tokens), TOKENS_PER_BLOCK)]
        for block in blocks:
            counts += np.bincount(block, minlength=len(words))
        order = np.argsort(-counts, kind="stable")  # ``order[rank]`` is the number by first occurrence
        order = order[: np.count_nonzero(counts)]  # without "" and "\n", which are not words
        rank = np.zeros(len(counts), dtype=np.int32)
        rank[order] = np.arange(1, len(order) + 1, dtype=np.int32)
        for block in blocks:
            rank.take(block, out=block)
            release(block)
        return EncodedSide(
            words=["", *[words[k] for k in order]],
            tokens=tokens,
            offsets=offsets_of(lengths),
            counts=np.concatenate([np.zeros(1, np.int64), counts[order].astype(np.int64)]),
            line_word_of_token=line_word_of_token,
        )


def _merge_words_of_form(forms: Sequence[str], tokens: Ints) -> tuple[list[str], Ints]:
    """Return the distinct forms of the words, in order, and the tokens as numbers of these forms."""
    distinct = list(dict.fromkeys(forms))
    number = number_words(distinct)
    form_of_word = np.array([number[form] for form in forms], np.int32)
    return distinct, form_of_word[tokens]


def side_encoders(
    text_settings: TextSettings, languages: Languages, in_memory: float = math.inf
) -> tuple[SideEncoder, SideEncoder]:
    """Return the encoders of the source and of the target, which keep `in_memory` tokens each in memory."""
    source = SideEncoder(text_settings, 0, languages[0], in_memory)
    return source, SideEncoder(text_settings, 1, languages[1], in_memory)


def encode_both_sides(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]],
) -> tuple[EncodedSide, EncodedSide]:
    """Number the words of both sides of a bitext, reading it once."""
    source, target = side_encoders(SPACE_SETTINGS, (None, None))
    remaining = iter(pairs)
    while block := list(islice(remaining, PAIRS_PER_BLOCK)):
        source.add_words([pair[0] for pair in block])
        target.add_words([pair[1] for pair in block])
    return source.finish(), target.finish()


def number_words(words: Iterable[str]) -> dict[str, int]:
    """Return the index of each word."""
    return dict(zip(words, count(), strict=False))


def look_up(numbers: Mapping[str, int], words: Iterable[str], missing: int = -1) -> Longs:
    """Return the number of each word; unknown words have the number `missing`."""
    return np.fromiter(map(numbers.get, words, repeat(missing)), np.int64)


# --- the space-separated word in which each token of a line begins -------------------------------

SPACE_BYTE = ord(" ")
LINE_END_BYTE = ord("\n")
DROPPED_SPACES = "\u00a0\u202f\u3000\t"  # tokenizers omit this white space, but it does not end a word
_find_word_of_dropped_spaces = re.compile(rf"(?:^| )[{DROPPED_SPACES}]+(?: |$)").search


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
