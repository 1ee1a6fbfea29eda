"""Calls whose results are kept in temporary files."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.training.result_store import FileStore
from tests.training.exchange import check_exchange


def scaled_sum(numbers: np.ndarray, factor: int) -> int:
    return int(numbers.sum()) * factor


def both_sums(numbers: np.ndarray) -> tuple[int, dict[str, np.ndarray]]:
    return int(numbers.sum()), {"columns": numbers.sum(axis=0)}


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_arguments_of_later_calls(workers):
    store = FileStore(workers)
    (numbers,) = store.put([np.arange(6).reshape(2, 3)])
    calls = [{"numbers": numbers, "factor": store.share(10)}, {"numbers": np.ones((1, 1)), "factor": 2}]
    first, second = store.map(scaled_sum, calls)
    assert list(store.read([second, first])) == [2, 150]
    (total,) = store.map(scaled_sum, [{"numbers": np.ones(2), "factor": first}])
    assert list(store.read(store.saved([total]))) == [300]


def test_pairs_of_results_are_kept_one_by_one():
    store = FileStore()
    sums, columns = store.map_to_pairs(both_sums, [{"numbers": np.eye(2)}, {"numbers": np.ones((1, 3))}])
    assert list(store.read(sums)) == [2, 3]
    assert [of_call["columns"].tolist() for of_call in store.read(columns)] == [[1, 1], [1, 1, 1]]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_receiver_gets_its_slice_of_each_call(workers):
    check_exchange(FileStore(workers))


def test_there_are_no_more_handles_than_results():
    (results,) = FileStore().call(both_sums, [{"numbers": np.ones(1)}], [(0,), (1,)])
    assert len(results) == len(list(results)) == 2
    with pytest.raises(IndexError):
        results[2]
