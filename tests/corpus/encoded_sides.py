"""Encoded sides for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nmtalign.corpus.sides import EncodedSide, encode_both_sides


def encode_side(sentences: Iterable[Sequence[str]]) -> EncodedSide:
    """Number the words of one side."""
    source, _ = encode_both_sides((words, ()) for words in sentences)
    return source
