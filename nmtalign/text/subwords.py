"""Sub-words: the word of each piece.

``bpe``            a piece that ends with ``@@`` continues in the next one: ``un@@ happy``
``sentencepiece``  a piece that begins with ``▁`` begins a word: ``▁un happy``
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from nmtalign.errors import UsageError
from nmtalign.names import MARKS


def word_numbers(pieces: Sequence[str], marks: str) -> list[int]:
    """Return for each piece the number of the word it is part of, from 0: never decreasing, without gaps.

    >>> word_numbers(["un@@", "happ@@", "y", "cat"], "bpe")
    [0, 0, 0, 1]
    >>> word_numbers(["▁un", "happy", "▁", "cat"], "sentencepiece")
    [0, 0, 1, 1]
    """
    if marks not in MARKS:
        raise UsageError(f"there are no sub-word marks {marks!r}; choose one of {', '.join(MARKS)}")
    if marks == "bpe":
        begins = (not piece.endswith("@@") for piece in pieces[:-1])
    else:
        begins = (piece.startswith("▁") for piece in pieces[1:])
    return list(accumulate(begins, initial=0))[: len(pieces)]


def join_pieces(pieces: Sequence[str], marks: str) -> list[str]:
    """Return the words that the pieces make, without the marks; one of nothing but a mark stays ``▁``.

    >>> join_pieces(["un@@", "happ@@", "y", "cat"], "bpe")
    ['unhappy', 'cat']
    """
    numbers = word_numbers(pieces, marks)
    words = [""] * (numbers[-1] + 1 if numbers else 0)
    for number, piece in zip(numbers, pieces, strict=True):
        words[number] += piece.removesuffix("@@") if marks == "bpe" else piece.removeprefix("▁")
    return [word or "▁" for word in words]
