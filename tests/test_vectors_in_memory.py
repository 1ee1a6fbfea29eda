"""Vectors and parameters of scores from memory, JSON of evaluations, and checks of results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nmtalign as na

WORDS, MATRIX = ["cat", "dog"], np.eye(2, dtype=np.float32)
VECTORS: dict[str, Any] = {
    "embeddings": na.Embeddings.of(WORDS, MATRIX),
    "a dictionary": dict(zip(WORDS, MATRIX, strict=True)),
    "words and a matrix": (WORDS, MATRIX),
    "a frame": pd.DataFrame(MATRIX, index=WORDS),
    "gensim's": na.Embeddings.of(WORDS, MATRIX).to_gensim(),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_may_be_in_memory(kind: str) -> None:
    aligner = na.vector_aligner(VECTORS[kind], VECTORS["embeddings"])
    np.testing.assert_array_equal(aligner.scorer.source.vectors(["dog", "cat"]), MATRIX[::-1])
    assert na.load((VECTORS[kind], VECTORS[kind])).align("cat dog", "dog cat").links == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"cat": 1.0}, "vectors of the same dimension"),
        ((WORDS, [1, 2]), r"shape \(V, D\), found float64 of shape \(2,\)"),
        (3, "KeyedVectors, a dictionary word -> vector, .*found 3"),
    ],
)
def test_other_vectors_are_refused(vectors: Any, message: str) -> None:
    with pytest.raises(na.NmtalignError, match=message):
        na.vector_aligner(vectors, VECTORS["embeddings"])


def test_parameters_may_be_in_memory(tmp_path: Any) -> None:
    random = np.random.default_rng(1)
    arrays = {"W": random.normal(size=(2, 3)), "U": random.normal(size=(2, 3)), "v": random.normal(size=3)}
    np.savez(tmp_path / "parameters.npz", **arrays)
    sides = VECTORS["embeddings"], VECTORS["embeddings"]
    from_file, from_memory = (
        na.vector_aligner(*sides, score="bahdanau", parameters=parameters).align("cat dog", "dog cat")
        for parameters in (tmp_path / "parameters.npz", arrays)
    )
    np.testing.assert_array_equal(from_file.forward, from_memory.forward)
    with pytest.raises(na.DataError, match=r"parameters: expected the arrays W, U and v, .*found \['W'\]"):
        na.vector_aligner(*sides, score="bahdanau", parameters={"W": arrays["W"]})
    with pytest.raises(na.DataError, match="parameters"):
        na.vector_aligner(*sides, score="bahdanau", parameters=arrays | {"v": [np.nan] * 3})


def test_an_evaluation_is_written_as_json() -> None:
    values = na.evaluate(["0-0", ""], ["0-0", "0-1"], bootstrap=20).to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["recall"] == 0.5
    assert values["counts"] == {"links": 1, "sure": 2, "in_sure": 1, "in_possible": 1}
    assert na.evaluate([""], [""], bootstrap=5).to_dict()["precision"] is None


def test_a_missing_subword_model_is_an_error_of_ours() -> None:
    with pytest.raises(na.DataError, match=r"nowhere\.model: No such file"):
        na.load().align_batch([("a", "b")], spm="~/nowhere.model")
