"""Parameters: how they start; and that NumPy pays nothing for the other libraries."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import UsageError


def arrays_of(model: object) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    at.map_arrays(lambda array: found.append(array) or array, model)
    return found


def test_the_same_seed_starts_the_same_model():
    first, second = (arrays_of(at.Transformer.init(4, 2, 6, layers=1, seed=3)) for _ in range(2))
    assert len(first) > 20
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)
    attention = at.Transformer.init(4, 2, 6, layers=1, seed=3).encoder[0].self_attention
    assert np.any(attention.W_Q != attention.W_K)


def test_glorot_has_the_variance_of_the_paper():
    drawn = at.glorot(np.random.default_rng(0), 300, 100)
    assert abs(drawn.var() / (2 / 400) - 1) < 0.02
    assert abs(drawn.mean()) < 1e-3
    assert at.glorot(np.random.default_rng(0), 7).shape == (7,)


def test_map_arrays_leaves_settings_alone():
    model = at.map_arrays(
        lambda array: array.astype(np.float32), at.Transformer.init(4, 2, 6, layers=1, seed=0)
    )
    assert model.encoder[0].self_attention.W_Q.dtype == np.float32
    assert model.encoder[0].self_attention.heads == 2


CODE = """
import sys
import numpy as np
import nmtalign as na
for name in na.attention.__all__:
    getattr(na.attention, name)
model = na.attention.Transformer.init(4, 2, 6, layers=1, seed=0)
na.attention.transformer(model, np.ones((3, 4), dtype=np.float32), [[1, 2, 3, 4]])
heavy = {"array_api_compat", "torch", "scipy", "pandas", "matplotlib", "gensim"} & set(sys.modules)
assert not heavy, heavy
"""


def test_numpy_imports_no_other_library():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_without_array_api_compat_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(UsageError, match=r"pip install 'nmtalign\[arrays\]'"):
        at.dot(SimpleNamespace(shape=(1,), dtype=float), [1.0])
