"""Phrase pairs that are consistent with the links of a sentence pair.

:func:`phrases` returns those of a bitext as a table. The command writes a sentence pair at a time with
:class:`PhraseFormatter`, so its memory does not grow with the bitext.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from nmtalign.applications.linked_pairs import (
    LinkedBitext,
    LinkedPair,
    keep_frame_index,
    read_linked_pairs,
)
from nmtalign.files.text_files import check_unsplit
from nmtalign.results import table_of_rows
from nmtalign.validation import check_number

if TYPE_CHECKING:
    import pandas as pd

PHRASE_SEPARATOR = "|||"  # separates the sides of a phrase pair in a file
MAX_PHRASE_WORDS = 7  # the default limit of either side


class PhrasePair(NamedTuple):
    """The spans of the source and the target phrase; the ends are not included."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


def phrase_pairs(pair: LinkedPair, *, longest: int = MAX_PHRASE_WORDS) -> list[tuple[int, int, int, int]]:
    """Return every phrase pair that is consistent with the links of a sentence pair, as in `PhrasePair`.

    A phrase pair is consistent if at least one link lies inside it and none leads from inside to outside;
    words without a link may be at either end of it. A phrase has at most `longest` words on either side (Och
    and Ney 2004; Koehn, Och and Marcu 2003).
    """
    source_length = len(pair.source)
    target_length = len(pair.target)
    # first and last word that each word is linked to; -1 is the last one of a word without a link
    first_target = [target_length] * source_length
    last_target = [-1] * source_length
    first_source = [source_length] * target_length
    last_source = [-1] * target_length
    for s, t in pair.links.links:
        first_target[s] = min(first_target[s], t)
        last_target[s] = max(last_target[s], t)
        first_source[t] = min(first_source[t], s)
        last_source[t] = max(last_source[t], s)
    free_before = _free_words(last_source)
    free_after = _free_words(last_source[::-1])[::-1]
    phrases: list[tuple[int, int, int, int]] = []
    # without functions inside of the loops, which many phrases of many pairs run through
    for start in range(source_length):
        # the target words that the source phrase is linked to, and the source words that these are linked to
        first = target_length
        last = -1
        low = source_length
        high = -1
        for end in range(start + 1, min(start + longest, source_length) + 1):
            new_last = last_target[end - 1]
            if new_last >= 0:
                new_first = first_target[end - 1]
                if last < 0:
                    first = new_first
                    last = new_first - 1
                while first > new_first:
                    first -= 1
                    if first_source[first] < low:
                        low = first_source[first]
                    if last_source[first] > high:
                        high = last_source[first]
                while last < new_last:
                    last += 1
                    if first_source[last] < low:
                        low = first_source[last]
                    if last_source[last] > high:
                        high = last_source[last]
                if low < start or last >= first + longest:
                    break  # longer phrases have the same target words, and more
            if high >= end or last < 0:
                continue
            free_words = free_after[last]
            if not free_words and not free_before[first]:  # most phrases; the loops below would do the same
                phrases.append((start, end, first, last + 1))
                continue
            for target_start in range(first, first - free_before[first] - 1, -1):
                longest_end = target_start + longest
                for target_end in range(last + 1, last + 2 + free_words):
                    if target_end > longest_end:
                        break
                    phrases.append((start, end, target_start, target_end))
    return phrases


def _free_words(last_links: Sequence[int]) -> list[int]:
    """Return how many words without a link, whose last link is -1, are directly before each word."""
    counts: list[int] = []
    count = 0
    for last in last_links:
        counts.append(count)
        count = count + 1 if last < 0 else 0
    return counts


class PhraseFormatter:
    """Formats the phrase pairs of sentence pairs as Moses' ``extract`` does, one per line.

    A line is ``source words ||| target words ||| links inside the phrase``.
    """

    def __init__(self, longest: int = MAX_PHRASE_WORDS) -> None:
        self._longest = longest
        # the text of each link of a phrase, after a space; its positions count from the start of the phrase
        self._link_text = [[f" {s}-{t}" for t in range(longest)] for s in range(longest)]

    def lines_of(self, pair: LinkedPair) -> list[str]:
        """Return the lines of a sentence pair.

        DataError is raised if a word contains ``|||``, white space or a line break.
        """
        check_unsplit(pair.source, pair.target, PHRASE_SEPARATOR)
        source_line = " ".join([*pair.source, ""])  # phrases end in a space
        target_line = " ".join([*pair.target, ""])
        source_starts = _word_starts(pair.source)
        target_starts = _word_starts(pair.target)
        targets_of: list[list[int]] = [[] for _ in pair.source]
        for s, t in sorted(pair.links.links):
            targets_of[s].append(t)
        lines: list[str] = []
        last_start = last_end = -1
        for start, end, target_start, target_end in phrase_pairs(pair, longest=self._longest):
            if start != last_start:
                last_start = start
                last_end = -1
                first_character = source_starts[start]
                ends_of_lines: dict[int, list[str]] = {}  # by the start of the target phrase
            if end != last_end:
                last_end = end
                source = source_line[first_character : source_starts[end]]
            if target_start not in ends_of_lines:
                ends_of_lines[target_start] = self._ends_of_lines(targets_of, start, target_start)
            target = target_line[target_starts[target_start] : target_starts[target_end]]
            lines.append(f"{source}||| {target}{ends_of_lines[target_start][end - start - 1]}")
        return lines

    def _ends_of_lines(self, targets_of: Sequence[Sequence[int]], start: int, target_start: int) -> list[str]:
        """Return ``||| links`` and a line end for phrase pairs of 1, 2, ... source words with these starts.

        The list ends before the first word with a link that leads out of the target phrase.
        """
        ends: list[str] = []
        text = "|||"
        for targets, texts_of_word in zip(targets_of[start:], self._link_text, strict=False):
            for target in targets:
                position = target - target_start
                if not 0 <= position < self._longest:
                    return ends
                text += texts_of_word[position]
            ends.append(f"{text}\n")
        return ends


def _word_starts(words: Sequence[str]) -> list[int]:
    """Return the position of each word in the line of the words, and that of a word after the last one."""
    return list(accumulate((len(word) + 1 for word in words), initial=0))


def _text_of(pair: LinkedPair, phrase: PhrasePair, links: Sequence[tuple[int, int]]) -> tuple[str, str, str]:
    """Return the source and the target phrase, and the links inside, which count from the phrase's start.

    `links` are those of the sentence pair, in order.
    """
    source = " ".join(pair.source[phrase.source_start : phrase.source_end])
    target = " ".join(pair.target[phrase.target_start : phrase.target_end])
    inside: list[str] = []
    for s, t in links:
        if phrase.source_start <= s < phrase.source_end:  # then t is inside, too
            inside.append(f"{s - phrase.source_start}-{t - phrase.target_start}")
    return source, target, " ".join(inside)


def phrases(pairs: LinkedBitext, *, longest: int = MAX_PHRASE_WORDS) -> pd.DataFrame:
    """Return all phrase pairs that are consistent with the links of a bitext.

    A phrase pair is consistent if at least one link lies inside it and no link leads out of it.

    Parameters
    ----------
    pairs : AlignedBatch, iterable, or table
        For each sentence pair an aligned pair, or a tuple (source, target, links). A sentence is a line,
        whose words are separated by spaces, or a list of words; links are (source, target) positions from 0,
        or a Pharaoh line. A table has these in columns, that of the links is named ``links``.
    longest : int
        Maximum number of words on either side of a phrase pair.

    Returns
    -------
    pandas.DataFrame
        One row per phrase pair, with the columns ``pair`` (the number of the sentence pair, counted from 0),
        ``source`` and ``target`` (the phrases), ``links`` (inside the phrases; positions count from their
        starts), and ``source_start``, ``source_end``, ``target_start`` and ``target_end``: the positions at
        which the phrases start and end, the end not included. If the pairs come from a DataFrame, its index
        is kept.

    Warns
    -----
    AdviceWarning
        If this index has repeated values, by which a join would repeat rows.

    References
    ----------
    Och and Ney 2004, "The alignment template approach to statistical machine translation"; Koehn, Och and
    Marcu 2003, "Statistical phrase-based translation".

    Examples
    --------
    >>> import nmtalign as na
    >>> table = na.phrases([("black cat", "chat noir", "0-1 1-0")])
    >>> print(table[["source", "target", "links"]].to_string(index=False))
       source    target   links
        black      noir     0-0
    black cat chat noir 0-1 1-0
          cat      chat     0-0
    """
    check_number(longest, "`longest`, a number of words from 1", minimum=1, integer=True)
    rows = []
    for number, pair in enumerate(read_linked_pairs(pairs)):
        all_links = sorted(pair.links.links)
        for phrase in phrase_pairs(pair, longest=longest):
            rows.append((number, *_text_of(pair, PhrasePair(*phrase), all_links), *phrase))
    columns = ["pair", "source", "target", "links", *PhrasePair._fields]
    example = (0, "", "", "", *[0] * len(PhrasePair._fields))
    return keep_frame_index(table_of_rows(rows, columns, example), pairs)
