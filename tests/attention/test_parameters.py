"""Parameters: how they start, how they are stored; and that NumPy pays nothing for the other libraries."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import DataError, UsageError

MODELS = [
    at.LayerNorm(np.ones(3)),
    at.LayerNorm(np.ones(3), np.zeros(3), 1e-3),
    at.MultiHead.start(4, 2, seed=0),
    at.MultiHead(*(np.ones((4, 4)),) * 4, heads=4),
    at.Transformer.start(4, 2, 6, layers=11, seed=0, pre_norm=True),
    at.RecurrentEncoder.start(3, 2, layers=2, seed=0),
    at.RecurrentEncoder.start(3, 2, layers=2, seed=0, bidirectional=False),
    at.Bahdanau.start(3, 4, 5, 6, seed=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_saved_and_loaded_parameters_are_the_same(model, tmp_path):
    at.save_parameters(tmp_path / "model.npz", model)
    loaded = at.load_parameters(tmp_path / "model.npz", type(model))
    before, after = at.named_arrays(model), at.named_arrays(loaded)
    assert list(after) == list(before)
    for name in before:
        assert_array_equal(after[name], before[name])
        assert type(after[name]) is type(before[name])
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        assert set(file) == set(before)


def test_names_say_where_an_array_stands():
    names = at.named_arrays(at.Transformer.start(4, 2, 6, layers=2, seed=0))
    assert names["encoder.1.self_attention.W_Q"].shape == (4, 4)
    assert names["decoder.0.pre_norm"] is False


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    at.save_parameters(path, at.LayerNorm.start(3))
    with pytest.raises(DataError, match=r"model\.npz: expected an entry 'W_Q', found none"):
        at.load_parameters(path, at.MultiHead)
    np.savez(path, gain=np.ones(3), epsilon=np.array(1e-5), mystery=np.ones(1))
    with pytest.raises(DataError, match=r"parameters of LayerNorm, found also 'mystery'"):
        at.load_parameters(path, at.LayerNorm)


def test_a_pickle_is_never_read(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, gain=np.array([{}], dtype=object), epsilon=np.array(1e-5))
    with pytest.raises(DataError, match=r"model\.npz: expected an npz file of plain arrays"):
        at.load_parameters(path, at.LayerNorm)


def test_a_text_file_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    path.write_text("gain 1.0")
    with pytest.raises(DataError, match=r"model\.npz: expected an npz file of plain arrays"):
        at.load_parameters(path, at.LayerNorm)


def test_the_same_seed_starts_the_same_model():
    first, second = (at.named_arrays(at.Transformer.start(4, 2, 6, layers=1, seed=3)) for _ in range(2))
    for name in first:
        assert_array_equal(first[name], second[name])
    assert np.any(first["encoder.0.self_attention.W_Q"] != first["encoder.0.self_attention.W_K"])


def test_glorot_has_the_variance_of_the_paper():
    drawn = at.glorot(np.random.default_rng(0), 300, 100)
    assert abs(drawn.var() / (2 / 400) - 1) < 0.02
    assert abs(drawn.mean()) < 1e-3
    assert at.glorot(np.random.default_rng(0), 7).shape == (7,)


def test_map_arrays_leaves_settings_alone():
    model = at.map_arrays(
        lambda array: array.astype(np.float32), at.Transformer.start(4, 2, 6, layers=1, seed=0)
    )
    assert model.encoder[0].self_attention.W_Q.dtype == np.float32
    assert model.encoder[0].self_attention.heads == 2


CODE = """
import sys
import numpy as np
import nmtalign as na
for name in na.attention.__all__:
    getattr(na.attention, name)
model = na.attention.Transformer.start(4, 2, 6, layers=1, seed=0)
na.attention.transformer(model, np.ones((3, 4), dtype=np.float32), [[1, 2, 3, 4]])
heavy = {"array_api_compat", "torch", "scipy", "pandas", "matplotlib", "gensim"} & set(sys.modules)
assert not heavy, heavy
"""


def test_numpy_imports_no_other_library():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_without_array_api_compat_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(UsageError, match="pip install array-api-compat"):
        at.dot(object(), [1.0])
