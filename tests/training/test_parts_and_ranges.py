"""The example of the module: *the house = das Haus* is part 0, *the book = das Buch* is part 1."""

from __future__ import annotations

import numpy as np

from nmtalign.corpus.buckets import Bucket
from nmtalign.positions.e_step import EStep
from nmtalign.scorers.forms import Spellings
from nmtalign.training.parts_and_ranges import (
    KindOfRange,
    counts_of_part,
    cut_keys,
    merge_slices,
    number_part,
    ratios_of_range,
    sum_range,
)

TARGET = ["", "das", "Haus", "Buch"]
SOURCE = ["", "the", "house", "book"]
HOUSE_DAS = 2 * len(TARGET) + 1  # key with which the second range begins
NULL = 0.25


def bucket_of(source: list[int], target: list[int]) -> Bucket:
    """Return a bucket with one sentence pair."""
    lengths = np.array([len(source)]), np.array([len(target)])
    return Bucket(np.zeros(1, np.int64), np.array([source]).T, np.array([target]).T, *lengths)


def words_of(keys: np.ndarray) -> list[str]:
    return [f"{SOURCE[key // len(TARGET)]}-{TARGET[key % len(TARGET)]}" for key in keys.tolist()]


def test_the_slices_of_the_example():
    buckets = [bucket_of([1, 2], [1, 2]), bucket_of([1, 3], [1, 3])]
    numbered = [number_part(k, [bucket], len(TARGET)) for k, bucket in enumerate(buckets)]
    cut = [cut_keys(keys, [np.array([HOUSE_DAS])]) for _, keys in numbered]
    slices = [[words_of(part_slice[0]) for part_slice in of_part] for of_part, _ in cut]
    padding = "-"
    assert slices[0] == [[padding, "the-das", "the-Haus"], ["house-das", "house-Haus"]]
    assert slices[1] == [[padding, "the-das", "the-Buch"], ["book-das", "book-Buch"]]

    spellings = [Spellings.of(SOURCE, TARGET)]
    ranges: list[list[KindOfRange]] = []
    for number in range(2):
        of_parts = [of_part[number] for of_part, _ in cut]
        ranges.append(merge_slices(of_parts, spellings, 0.0)[0])
    assert words_of(ranges[0][0].keys) == [padding, "the-das", "the-Haus", "the-Buch"]
    assert words_of(ranges[1][0].keys) == ["house-das", "house-Haus", "book-das", "book-Buch"]
    positions = [[of_part.tolist() for of_part in key_range[0].positions_of_parts] for key_range in ranges]
    assert positions == [[[0, 1, 2], [0, 1, 3]], [[0, 1], [2, 3]]]

    # the E-step: every link of two words by two words has half a count
    parts = zip(numbered, [cuts for _, cuts in cut], strict=True)
    counted = [
        counts_of_part(part, cuts_of_kinds, EStep(NULL), None)[0] for (part, _), cuts_of_kinds in parts
    ]
    summed = []
    for number, key_range in enumerate(ranges):
        summed.append(sum_range(key_range, [of_part[number] for of_part in counted], len(TARGET)))
    assert [counts[0].tolist() for counts, _ in summed] == [[0, 1, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]]
    assert summed[1][1][0].tolist() == [2, 2, 3, 3]  # house, house, book, book

    # the M-step: without smoothing, a ratio is the count times the factors of its words
    factors = [(np.array([0, 1, 10, 100], np.float32), np.ones(len(TARGET), np.float32))]
    first, _ = ratios_of_range(ranges[0], summed[0][0], None, factors, 0.0)
    second, _ = ratios_of_range(ranges[1], summed[1][0], None, factors, 0.0)
    assert [of_part[0].tolist() for of_part in first] == [[0, 1, 0.5], [0, 1, 0.5]]
    assert [of_part[0].tolist() for of_part in second] == [[5, 5], [50, 50]]
