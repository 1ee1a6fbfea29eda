"""Values that are not arrays, sizes or parameters are rejected in words of the product."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nmtalign.attention as attention
from nmtalign.errors import UsageError

X = np.eye(2)
LOOK = X.astype(bool)
WORDS = np.ones((7, 3))
MODEL = attention.Bahdanau.init(3, 4, A=5, Q=6, seed=0)
BLOCK = attention.TransformerBlock.init(4, 2, 8, seed=0)
DECODER = attention.TransformerBlock.init(4, 2, 8, seed=0, decoder=True)
NO_ARRAY = "expected an array of numbers, found None"
REFUSED = [
    (lambda: attention.dot(X, None), NO_ARRAY),
    (lambda: attention.scaled_dot(None, X), NO_ARRAY),
    (lambda: attention.cosine(X, None), NO_ARRAY),
    (lambda: attention.additive(X, X, X, None, X[0]), NO_ARRAY),
    (lambda: attention.additive_projected(X, X, None), NO_ARRAY),
    (lambda: attention.attend(X, None), NO_ARRAY),
    (lambda: attention.linear(X, None), NO_ARRAY),
    (lambda: attention.add_positions(X, None), NO_ARRAY),
    (lambda: attention.layer_norm(attention.LayerNorm.init(2), None), NO_ARRAY),
    (lambda: attention.causal_mask(1.0), "expected T as an integer from 0, found 1.0"),
    (lambda: attention.causal_mask(2, -1), "expected S as an integer from 0, found -1"),
    (lambda: attention.padding_mask([1], 1.5), "expected S as an integer from 0, found 1.5"),
    (lambda: attention.sinusoidal(2, 4.0), "expected D as an integer from 0, found 4.0"),
    (lambda: attention.position_table(2.0, 4, seed=1), "expected N as an integer from 0, found 2.0"),
    (lambda: attention.diagonal_prior(2, 3.0), "expected S as an integer from 0, found 3.0"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_does_not_fit_is_refused_by_name(call, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        call()


VALID: dict[str, dict[str, Any]] = {  # a call of each function that works
    "dot": {"queries": X, "keys": X},
    "scaled_dot": {"queries": X, "keys": X},
    "cosine": {"queries": X, "keys": X},
    "l2_normalize": {"vectors": X},
    "additive": {"queries": X, "keys": X, "W": X, "U": X, "v": X[0], "bias": X[0]},
    "additive_projected": {"queries": X, "keys": X, "v": X[0]},
    "additive_concatenated": {
        "queries": X,
        "keys": X,
        "layer_1": np.ones((4, 3)),
        "layer_2": np.ones(3),
    },
    "scaled_dot_gradient": {"queries": X, "keys": X, "upstream": X},
    "additive_gradient": {
        "queries": X,
        "keys": X,
        "W": X,
        "U": X,
        "v": X[0],
        "upstream": X,
        "bias": X[0],
    },
    "softmax": {"scores": X, "axis": -1, "temperature": 1.0},
    "entropy": {"weights": X * X, "axis": -1},
    "softmax_gradient": {"weights": X, "upstream": X, "axis": -1, "temperature": 1.0},
    "mask_scores": {"scores": X, "mask": LOOK},
    "sparsemax": {"scores": X, "axis": -1},
    "entmax15": {"scores": X, "axis": -1},
    "causal_mask": {"T": 2, "S": 3, "like": X},
    "padding_mask": {"lengths": [1, 2], "S": 3, "like": X},
    "attend": {
        "queries": X,
        "keys": X,
        "values": X,
        "score": attention.dot,
        "normalize": attention.softmax,
        "mask": LOOK,
        "bias": X,
    },
    "self_attention": {"words": X, "W_Q": X, "W_K": X, "W_V": X, "mask": LOOK},
    "cross_attention": {"target": X, "source": X, "W_Q": X, "W_K": X, "W_V": X, "bias": X},
    "multi_head": {
        "parameters": attention.MultiHead.init(4, 2, seed=0),
        "queries": np.ones((3, 4)),
        "keys": np.ones((2, 4)),
        "values": np.ones((2, 4)),
        "mask": np.ones((3, 2), bool),
        "bias": np.ones((3, 2)),
    },
    "linear": {"x": X, "W": X, "b": X[0]},
    "sinusoidal": {"N": 2, "D": 4, "like": X},
    "position_table": {"N": 2, "D": 4, "seed": 1, "like": X},
    "add_positions": {"words": X, "positions": X},
    "concatenate_positions": {"words": X, "positions": X},
    "diagonal_prior": {"T": 2, "S": 3, "form": "centered", "strength": 1.0, "like": X},
    "layer_norm": {"parameters": attention.LayerNorm.init(2), "x": X},
    "feed_forward": {"parameters": attention.FeedForward(X, X), "x": X},
    "encoder_block": {"parameters": BLOCK, "x": np.eye(4), "mask": np.ones((4, 4), bool)},
    "decoder_block": {
        "parameters": DECODER,
        "x": np.eye(4),
        "memory": np.ones((3, 4)),
        "mask": np.ones((4, 4), bool),
        "memory_mask": np.ones((4, 3), bool),
    },
    "transformer": {
        "parameters": attention.Transformer.init(4, 2, 8, layers=1, seed=0),
        "source": np.eye(4),
        "target": np.eye(4),
        "source_mask": np.ones((1, 4), bool),
        "target_mask": np.ones((4, 4), bool),
    },
    "gru": {
        "parameters": attention.GRU.init(3, 2, seed=0),
        "words": WORDS,
        "state": np.ones(2),
        "mask": np.ones(7, bool),
    },
    "recurrent_encoder": {
        "parameters": attention.RecurrentEncoder.init(3, 2, layers=1, seed=0),
        "words": WORDS,
        "mask": np.ones(7, bool),
    },
    "annotate": {"parameters": MODEL, "source": WORDS, "mask": np.ones(7, bool)},
    "decode_step": {
        "parameters": MODEL,
        "word": np.ones(4),
        "state": np.ones(5),
        "source": attention.annotate(MODEL, WORDS),
        "mask": np.ones(7, bool),
    },
    "align_sentence": {
        "parameters": MODEL,
        "source": WORDS,
        "target": np.ones((2, 4)),
        "mask": np.ones(7, bool),
    },
    "LayerNorm": {"gain": np.ones(2), "bias": np.ones(2)},
    "FeedForward": {"W_1": X, "W_2": X, "b_1": X[0], "b_2": X[0], "activation": "relu"},
    "MultiHead": {"W_Q": X, "W_K": X, "W_V": X, "W_O": X, "heads": 2, "b_Q": X[0]},
    "GRU": {"W": np.ones((2, 3)), "U": np.ones((1, 3)), "b_W": np.ones(3), "b_U": np.ones(3)},
    "TransformerBlock": {
        "self_attention": BLOCK.self_attention,
        "feed_forward": BLOCK.feed_forward,
        "norms": BLOCK.norms,
        "cross_attention": None,
    },
    "Transformer": {
        "encoder": (BLOCK,),
        "decoder": (DECODER,),
        "encoder_norm": attention.LayerNorm.init(4),
        "decoder_norm": attention.LayerNorm.init(4),
    },
    "RecurrentEncoder": {"layers": MODEL.encoder.layers},
    "Bahdanau": vars(MODEL),
}

# a value of another type is a wrong call here: Python and mypy say so
PARTS = {"parameters", "score", "normalize", "self_attention", "feed_forward", "norms", "cross_attention"}
PARTS |= {"encoder", "decoder", "encoder_norm", "decoder_norm", "layers"}


def array_arguments(name: str) -> list[str]:
    """Return the arguments of a function that are not parameters, annotations or functions."""
    parts = PARTS | ({"source"} if name == "decode_step" else set())
    return [argument for argument in VALID[name] if argument not in parts]


def odd_values() -> list[Any]:
    """Return what people pass by mistake; some of it can be read as an array."""
    pd = pytest.importorskip("pandas")
    odd: list[Any] = ["x", ["a", "b"], b"ab", None, {"a": 1}, {1}, 3, -1, 1.5, True, float("nan"), object()]
    odd += [(n for n in range(2)), [[1.0], [1.0, 2.0]], [], X * 1j, np.array(["a", None], dtype=object)]
    odd += [np.ones((2, 2, 2)), [[1.0, 0.0], [0.0, 1.0]]]
    odd += [pd.DataFrame(X), pd.Series([1.0, 2.0]), pd.DataFrame({"a": ["x"]})]
    return odd


def expect_our_words(call: Callable[..., Any], **arguments: Any) -> None:
    """Check that a call works, or raises an error of the product on one line."""
    message = ""
    try:
        call(**arguments)
    except UsageError as error:
        message = str(error)
    assert "\n" not in message
    assert "array-api-compat" not in message


def test_all_functions_are_tried():
    functions = {name for name in attention.__all__ if name not in ("map_arrays", "glorot")}
    tuples = {name for name in functions if hasattr(getattr(attention, name), "_fields")}
    assert set(VALID) == functions - tuples


@pytest.mark.parametrize("name", VALID)
def test_odd_values_work_or_are_refused_in_our_words(name):
    function = getattr(attention, name)
    function(**VALID[name])
    for argument in array_arguments(name):
        for value in odd_values():
            expect_our_words(function, **{**VALID[name], argument: value})


@pytest.mark.parametrize("name", VALID)
def test_tensors_that_require_gradients_work_or_are_refused_in_our_words(name):
    torch = pytest.importorskip("torch")
    tensor = torch.eye(2, dtype=torch.float64, requires_grad=True)
    function = getattr(attention, name)
    for argument in array_arguments(name):
        for value in (tensor, list(tensor)):
            expect_our_words(function, **{**VALID[name], argument: value})


def test_tables_are_arrays():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(attention.softmax(frame), attention.softmax(frame.to_numpy()))
    np.testing.assert_array_equal(attention.dot(frame, frame[0]), [1.0, 0.0])


def test_a_softmax_of_a_tensor_that_requires_a_gradient_has_one():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    scores = torch.tensor([1.0, 2.0], requires_grad=True)
    attention.softmax(scores)[0].backward()
    assert scores.grad is not None
