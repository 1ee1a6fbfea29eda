"""``na.concat``: several batches as one, with words, attention, index and unit."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from tests.aligner.batches import check_same_bits

TEXT = [("the black cat", "le chat noir"), ("", "le"), ("a dog", "un chien"), ("the house", "la maison")]


def frame_of(first: int, last: int) -> pd.DataFrame:
    index = pd.Index([f"s{n}" for n in range(first, last)], name="id")
    return pd.DataFrame(TEXT[first:last], columns=["en", "fr"], index=index)


def test_a_joined_batch_is_that_of_the_joined_text() -> None:
    aligner = na.load()
    parts = [aligner.align_batch(frame_of(0, 2)), aligner.align_batch(frame_of(2, 4), posteriors=True)]
    joined, expected = na.concat(parts), aligner.align_batch(frame_of(0, 4))
    check_same_bits(joined, expected)
    pd.testing.assert_frame_equal(joined.table(), expected.table())
    assert list(joined) == list(expected)
    for ours, theirs in zip(joined.matrices("forward"), expected.matrices("forward"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for options in ({"threshold": 0.2}, {"extract": "itermax"}, {}):
        check_same_bits(joined.choose(**options), expected.choose(**options))
        check_same_bits(joined[[3, 0, 3]].choose(**options), expected[[3, 0, 3]].choose(**options))
    check_same_bits(joined[[]].choose(threshold=0.2), expected[[]])
    gold = [na.GoldAlignment({(0, 0)} if n != 1 else ()) for n in range(4)]
    assert na.evaluate(joined, gold, curve=True) == na.evaluate(expected, gold, curve=True)


def test_what_does_not_fit_is_refused() -> None:
    aligner = na.load()
    words = aligner.align_batch(TEXT)
    with pytest.raises(na.UsageError, match="alike in unit, found 'tokens' in batch 1"):
        na.concat([words, aligner.align_batch(TEXT, count="tokens")])
    with pytest.raises(na.UsageError, match="alike in index"):
        na.concat([words, aligner.align_batch(frame_of(0, 2))])
    without = na.symmetrize(["0-0"], ["0-0"])
    with pytest.raises(na.UsageError, match="alike in"):
        na.concat([words, without])
    wrong: list[Any] = [[], words, [words, "0-0"], 3]
    for batches in wrong:
        with pytest.raises(na.UsageError, match="expected a list of batches"):
            na.concat(cast(Any, batches))
    assert na.concat([words]) is words
    assert len(na.concat([without, without])) == 2


def test_a_curve_of_links_that_were_chosen_in_different_ways_is_refused() -> None:
    batch = na.load().align_batch(TEXT)
    joined = na.concat([batch, batch.choose(extract="argmax")])
    with pytest.raises(na.UsageError, match="in different ways"):
        na.evaluate(joined, ["0-0", "", "0-0", "0-0"] * 2, curve=True)
    assert (
        na.evaluate(joined.choose(extract="argmax"), ["0-0", "", "0-0", "0-0"] * 2, curve=True).method
        == "argmax"
    )
