"""``aligner.pipe``: a stream of pairs, aligned as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import pandas as pd
import pytest

import nmtalign as na

TEXT = [("the black cat", "le chat noir"), ("", "le"), ("don't go", "n'y va pas"), ("a dog", "un chien")]


@pytest.mark.parametrize("chunk_size", [1, 3, 1000])
def test_pairs_are_those_of_a_batch(chunk_size: int) -> None:
    aligner = na.load(tokenizer="simple")
    expected = list(aligner.align_batch(TEXT))
    assert list(aligner.pipe(iter(TEXT), chunk_size=chunk_size)) == expected
    assert list(aligner.pipe(*map(list, zip(*TEXT, strict=True)), chunk_size=chunk_size)) == expected
    frame = pd.DataFrame(TEXT, columns=["en", "fr"])
    assert list(aligner.pipe(frame, source="en", target="fr", chunk_size=chunk_size)) == expected


def test_a_stream_is_read_only_as_far_as_it_is_needed() -> None:
    read: list[int] = []

    def endless() -> Iterator[tuple[str, str]]:
        for n in count():
            read.append(n)
            yield "the cat", "le chat"

    pairs = list(islice(na.load().pipe(endless(), chunk_size=10), 25))
    assert [pair.links for pair in pairs] == [[(0, 0), (1, 1)]] * 25
    assert len(read) <= 31


def test_bad_pairs_and_settings_are_named() -> None:
    bad = [("the cat", "le chat")] * 4 + [("a dog", None)]
    with pytest.raises(na.NmtalignError, match="pair 4"):
        list(na.load().pipe(bad, chunk_size=2))
    with pytest.raises(na.UsageError, match="`chunk_size`"):
        na.load().pipe(TEXT, chunk_size=0)
