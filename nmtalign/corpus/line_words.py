"""Positions that users see: the space-separated word in which each token of a line begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Flags, Integers, Longs, offsets_of
from nmtalign.text.tokenization import words_containing

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
