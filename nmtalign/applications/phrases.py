"""Phrase pairs that are consistent with the links of a sentence pair.

:func:`phrases` returns those of a bitext as a table. The command writes a sentence pair at a time with
:func:`format_phrases`, so its memory does not grow with the bitext.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nmtalign.applications.linked_pairs import (
    LinkedBitext,
    LinkedPair,
    keep_frame_index,
    read_linked_pairs,
)
from nmtalign.links.separators import check_unsplit
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


def phrase_pairs(pair: LinkedPair, *, longest: int = MAX_PHRASE_WORDS) -> Iterator[PhrasePair]:
    """Yield every phrase pair that is consistent with the links of a sentence pair.

    A phrase pair is consistent if at least one link lies inside it and none leads from inside to outside;
    words without a link may be at either end of it. A phrase has at most `longest` words on either side (Och
    and Ney 2004; Koehn, Och and Marcu 2003).
    """
    source_length = len(pair.source)
    target_length = len(pair.target)
    targets_of: list[list[int]] = [[] for _ in range(source_length)]
    sources_of: list[list[int]] = [[] for _ in range(target_length)]
    for s, t in pair.links:
        targets_of[s].append(t)
        sources_of[t].append(s)
    for start in range(source_length):
        # first and last target word that the source phrase is linked to
        first = target_length
        last = -1
        for end in range(start + 1, min(start + longest, source_length) + 1):
            first = min([first, *targets_of[end - 1]])
            last = max([last, *targets_of[end - 1]])
            if last < 0 or last >= first + longest:
                continue
            if _lead_into(sources_of[first : last + 1], start, end):
                for target_start, target_end in _widened(sources_of, first, last + 1, longest):
                    yield PhrasePair(start, end, target_start, target_end)


def _lead_into(sources_of_words: list[list[int]], start: int, end: int) -> bool:
    """Return whether all links of some target words lead to source words from `start` up to `end`."""
    for sources in sources_of_words:
        for s in sources:
            if not start <= s < end:
                return False
    return True


def _widened(sources_of: list[list[int]], first: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the target phrase, and the same with words without a link added at its ends."""
    start = first
    while start == first or (start >= 0 and not sources_of[start]):
        stop = end
        while stop == end or (stop <= len(sources_of) and not sources_of[stop - 1]):
            if stop - start <= longest:
                yield start, stop
            stop += 1
        start -= 1


def format_phrases(pair: LinkedPair, *, longest: int = MAX_PHRASE_WORDS) -> str:
    """Return the phrase pairs of a sentence pair as Moses' ``extract`` writes them, one per line.

    A line is ``source words ||| target words ||| links inside the phrase``. DataError is raised if a word
    contains ``|||``, white space or a line break.
    """
    check_unsplit(pair.source, pair.target, PHRASE_SEPARATOR)
    all_links = sorted(pair.links.links)
    lines: list[str] = []
    for phrase in phrase_pairs(pair, longest=longest):
        source, target, links = _text_of(pair, phrase, all_links)
        lines.append(f"{source} {PHRASE_SEPARATOR} {target} {PHRASE_SEPARATOR} {links}\n")
    return "".join(lines)


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
            rows.append((number, *_text_of(pair, phrase, all_links), *phrase))
    columns = ["pair", "source", "target", "links", *PhrasePair._fields]
    example = (0, "", "", "", *[0] * len(PhrasePair._fields))
    return keep_frame_index(table_of_rows(rows, columns, example), pairs)
