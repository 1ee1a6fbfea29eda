"""Calls whose results are kept in temporary files."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.training.result_store import FileStore


def both_sums(numbers: np.ndarray, factor: int) -> list[object]:
    return [int(numbers.sum()) * factor, {"rows": numbers.sum(axis=0)}, None]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_arguments_of_later_calls(workers):
    store = FileStore(workers)
    (numbers,) = store.put([np.arange(6).reshape(2, 3)])
    factor = store.share(10)
    first, second = store.map(both_sums, [(numbers, factor), (np.ones((1, 1)), 2)], items=3)
    assert list(store.read([first[0], second[0], first[2]])) == [150, 2, None]
    (rows,) = store.read([first[1]])
    assert rows["rows"].tolist() == [3, 5, 7]
    ((total, *_),) = store.map(both_sums, [(np.ones(2), first[0])], items=3)
    assert list(store.read(store.saved([total]))) == [300]


def test_there_are_no_more_handles_than_items():
    (items,) = FileStore().map(both_sums, [(np.ones(1), 1)], items=3)
    assert len(items) == len(list(items)) == 3
    with pytest.raises(IndexError):
        items[3]
