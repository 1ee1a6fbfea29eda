"""What is no array, no size or no set of parameters is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nmtalign.attention as attention
from nmtalign.errors import UsageError

X = np.eye(2)
LIBRARY = "expected arrays of one library, found "
REFUSED = [
    (lambda: attention.dot(X, None), LIBRARY + "ndarray, NoneType"),
    (lambda: attention.scaled_dot(None, X), LIBRARY + "NoneType, ndarray"),
    (lambda: attention.cosine(X, None), LIBRARY + "NoneType"),
    (lambda: attention.additive(X, X, X, None, X[0]), LIBRARY + "ndarray, ndarray, ndarray, NoneType"),
    (lambda: attention.additive_projected(X, X, None), LIBRARY + "ndarray, ndarray, NoneType"),
    (lambda: attention.attend(X, None), LIBRARY + "ndarray, NoneType"),
    (lambda: attention.linear(X, None), LIBRARY + "ndarray, NoneType"),
    (lambda: attention.add_positions(X, None), LIBRARY + "ndarray, NoneType"),
    (lambda: attention.layer_norm(attention.LayerNorm.start(2), None), LIBRARY + "NoneType"),
    (lambda: attention.causal_mask(1.0), "expected T as a whole number from 0, found 1.0"),
    (lambda: attention.causal_mask(2, -1), "expected S as a whole number from 0, found -1"),
    (lambda: attention.padding_mask([1], 1.5), "expected S as a whole number from 0, found 1.5"),
    (lambda: attention.sinusoidal(2, 4.0), "expected D as a whole number from 0, found 4.0"),
    (lambda: attention.position_table(2.0, 4, seed=1), "expected N as a whole number from 0, found 2.0"),
    (lambda: attention.diagonal_prior(2, 3.0), "expected S as a whole number from 0, found 3.0"),
    (lambda: attention.multi_head(X, X), "expected parameters of type MultiHead, found ndarray"),
    (lambda: attention.layer_norm(None, X), "expected parameters of type LayerNorm, found NoneType"),
    (lambda: attention.gru(None, X), "expected parameters of type GRU, found NoneType"),
    (lambda: attention.annotate(None, X), "expected parameters of type Bahdanau, found NoneType"),
    (lambda: attention.transformer(None, X, X), "expected parameters of type Transformer, found NoneType"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_does_not_fit_is_refused_by_name(call, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        call()
