"""Plain lists go into every function as arrays do; wrong shapes come out as errors that name them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nmtalign import attention as at
from nmtalign.attention.mechanism import Parameters
from nmtalign.errors import UsageError

T, S, D, A = 2, 3, 4, 5
RANDOM = np.random.default_rng(7)


def numbers(*shape):
    """Return normal numbers as an array."""
    return RANDOM.normal(size=shape)


Q, K, V, G = numbers(T, D), numbers(S, D), numbers(S, 2), numbers(T, S)
W, U, v, b = numbers(D, A), numbers(D, A), numbers(A), numbers(A)
MASK = np.array([[True, False, True], [True, True, False]])
HEADS = at.MultiHead(*(numbers(D, D) for _ in range(4)), 2, *(numbers(D) for _ in range(4)))
GATES = at.GRU(numbers(D, 3 * A), numbers(A, 3 * A), numbers(3 * A), numbers(3 * A))
FORWARD = at.FeedForward(numbers(D, A), numbers(A, D), numbers(A), numbers(D))
NORM = at.LayerNorm(numbers(D), numbers(D))
ENCODER, DECODER = (
    at.TransformerBlock(HEADS, FORWARD, (NORM,) * (2 + bool(cross)), cross) for cross in (None, HEADS)
)
WHOLE = at.Transformer((ENCODER,), (DECODER,), NORM, NORM)
STACK = at.RecurrentEncoder(((GATES, GATES),))
MODEL = at.Bahdanau.init(D, D, 2, 3, seed=0)
READ = at.annotate(MODEL, K)

CALLS = {  # function, arguments, options
    "dot": (at.dot, (Q, K), {}),
    "scaled_dot": (at.scaled_dot, (Q, K), {}),
    "cosine": (at.cosine, (Q, K), {}),
    "l2_normalize": (at.l2_normalize, (Q,), {}),
    "additive": (at.additive, (Q, K, W, U, v), {"bias": b}),
    "additive_projected": (at.additive_projected, (numbers(T, A), numbers(S, A), v), {}),
    "additive_concatenated": (at.additive_concatenated, (Q, K, numbers(2 * D, A), numbers(A, 1)), {}),
    "softmax": (at.softmax, (G,), {}),
    "entropy": (at.entropy, (np.abs(G),), {}),
    "mask_scores": (at.mask_scores, (G, MASK), {}),
    "sparsemax": (at.sparsemax, (G,), {}),
    "entmax15": (at.entmax15, (G,), {}),
    "padding_mask": (at.padding_mask, (np.array([1, 3]), 3), {}),
    "scaled_dot_gradient": (at.scaled_dot_gradient, (Q, K, G), {}),
    "additive_gradient": (at.additive_gradient, (Q, K, W, U, v, G), {"bias": b}),
    "softmax_gradient": (at.softmax_gradient, (G, G), {}),
    "attend": (at.attend, (Q, K, V), {"mask": MASK, "bias": G}),
    "self_attention": (at.self_attention, (K, W, U, numbers(D, 2)), {"mask": at.causal_mask(S)}),
    "cross_attention": (at.cross_attention, (Q, K, W, U, numbers(D, 2)), {"mask": MASK, "bias": G}),
    "multi_head": (at.multi_head, (HEADS, Q, K), {"mask": MASK, "bias": G}),
    "multi_head, a mask for each sentence": (
        at.multi_head,
        (HEADS, np.array([Q, Q]), np.array([K, K])),
        {"mask": at.padding_mask([1, 3], 3)},
    ),
    "linear": (at.linear, (Q, W, b), {}),
    "add_positions": (at.add_positions, (Q, numbers(S, D)), {}),
    "concatenate_positions": (at.concatenate_positions, (Q, numbers(S, 1)), {}),
    "layer_norm": (at.layer_norm, (NORM, Q), {}),
    "feed_forward": (at.feed_forward, (FORWARD, Q), {}),
    "encoder_block": (at.encoder_block, (ENCODER, K), {"mask": at.causal_mask(S)}),
    "decoder_block": (
        at.decoder_block,
        (DECODER, Q, K),
        {"mask": np.array([[True, True], [False, True]]), "memory_mask": MASK},
    ),
    "transformer": (
        at.transformer,
        (WHOLE, K, Q),
        {"source_mask": np.array([[True, True, False]]), "target_mask": np.eye(2, dtype=bool)},
    ),
    "gru": (at.gru, (GATES, K, numbers(A)), {"mask": np.array([True, True, False])}),
    "recurrent_encoder": (at.recurrent_encoder, (STACK, K), {"mask": np.array([True, True, False])}),
    "annotate": (at.annotate, (MODEL, K), {"mask": np.array([True, True, False])}),
    "decode_step": (
        at.decode_step,
        (MODEL, numbers(D), numbers(2), READ),
        {"mask": np.array([True, True, False])},
    ),
    "align_sentence": (at.align_sentence, (MODEL, K, Q), {"mask": np.array([True, True, False])}),
}
WITHOUT_ARRAYS = {"causal_mask", "sinusoidal", "position_table", "diagonal_prior", "glorot", "map_arrays"}


def as_lists(value):
    """Return arrays as lists, and parameters made of lists."""
    return value.tolist() if isinstance(value, np.ndarray) else at.map_arrays(lambda a: a.tolist(), value)


def flat(result):
    """Return the arrays of a result, one after another."""
    return [array for part in result for array in flat(part)] if isinstance(result, tuple) else [result]


def test_no_function_is_forgotten():
    functions = {name for name in at.__all__ if not inspect.isclass(getattr(at, name))}
    assert functions == {name.split(",")[0] for name in CALLS} | WITHOUT_ARRAYS


@pytest.mark.parametrize("name", CALLS)
def test_lists_are_as_good_as_arrays(name):
    function, arguments, options = CALLS[name]
    plain = [argument if argument is READ else as_lists(argument) for argument in arguments]
    expected = flat(function(*arguments, **options))
    found = flat(function(*plain, **{key: as_lists(value) for key, value in options.items()}))
    assert len(found) == len(expected)
    for own, other in zip(found, expected, strict=True):
        assert_array_equal(own, other)


OF_WORDS = {"gru", "recurrent_encoder", "annotate", "decode_step", "align_sentence"}  # their mask is padding
MASKED = [name for name, (_, _, options) in CALLS.items() if any("mask" in option for option in options)]


@pytest.mark.parametrize("name", [*MASKED, "mask_scores"])
def test_floats_of_a_mask_are_added_to_the_scores(name):
    function, arguments, options = CALLS[name]
    if name == "mask_scores":
        arguments, options = arguments[:1], {"mask": arguments[1]}
    floats = {
        option: np.where(value, 0.0, -np.inf) if "mask" in option else value
        for option, value in options.items()
    }
    if name in OF_WORDS:
        with pytest.raises(UsageError, match="True for words and False for padding, found floats"):
            function(*arguments, **floats)
        return
    expected = flat(function(*arguments, **options))
    for own, other in zip(flat(function(*arguments, **floats)), expected, strict=True):
        assert_array_equal(own, other)


def test_parameters_of_lists_are_arrays():
    made = at.FeedForward([[1, 2]], [[1], [2]])
    assert isinstance(made, Parameters)
    assert [made.W_1.dtype, made.W_2.shape] == [np.float64, (2, 1)]


@pytest.mark.parametrize("score", [at.dot, at.scaled_dot, at.cosine, "additive", "concatenated"])
def test_one_query_and_one_key_give_one_number(score):
    named = {
        "additive": lambda q, k: at.additive(q, k, W, U, v, bias=b),
        "concatenated": lambda q, k: at.additive_concatenated(q, k, np.concatenate([U, W]), v),
    }
    score = named.get(score, score)
    together = score(Q, K)
    for t, s in np.ndindex(T, S):
        assert np.shape(score(Q[t].tolist(), K[s].tolist())) == ()
        np.testing.assert_allclose(score(Q[t], K[s]), together[t, s], rtol=1e-13)
        np.testing.assert_allclose(score(Q, K[s]), together[:, s], rtol=1e-13)


BAD = numbers(7, 7)
WRONG = {
    "dot": (at.dot, (Q, BAD), {}, "keys must have 4 entries along axis -1"),
    "numbers": (at.dot, (1, 2), {}, "expected numbers in rows of equal length, found 1"),
    "ragged": (at.softmax, ([[1, 2], [3]],), {}, r"rows of equal length, found \[\[1, 2\], \[3\]\]"),
    "words": (at.l2_normalize, (["a", "b"],), {}, "expected numbers in rows of equal length, found"),
    "W": (at.additive, (Q, K, BAD, U, v), {}, "W must have 4 entries"),
    "v": (at.additive, (Q, K, W, U, numbers(7)), {}, "must have 7 entries"),
    "additive, bias": (at.additive, (Q, K, W, U, v), {"bias": numbers(7)}, "bias must have 5 entries"),
    "axis": (at.softmax, (G, 2), {}, r"expected an axis of scores of shape \(2, 3\), found 2"),
    "mask": (at.attend, (Q, K), {"mask": BAD > 0}, r"mask must broadcast to scores of shape \(2, 3\)"),
    "bias of bools": (at.attend, (Q, K), {"bias": MASK}, "a bias of numbers, .*; pass bools as a mask"),
    "bias": (at.attend, (Q, K), {"bias": BAD}, r"bias must broadcast .*, found shape \(7, 7\)"),
    "keys": (at.attend, (Q, K[0]), {}, r"expected keys as rows of vectors, found shape \(4,\)"),
    "values": (at.attend, (Q, K, BAD), {}, "values must have 3 entries along axis -2"),
    "W_K": (at.cross_attention, (Q, K, W, BAD, W), {}, "W must have 4 entries"),
    "one query": (at.multi_head, (HEADS, Q[0]), {}, "expected queries as rows"),
    "heads": (at.multi_head, (HEADS, Q, K), {"mask": BAD > 0}, "mask must broadcast"),
    "b": (at.linear, (Q, W, numbers(7)), {}, "b must have 5 entries"),
    "positions": (at.add_positions, (Q, numbers(D)), {}, "positions"),
    "word": (at.concatenate_positions, (Q[0], Q), {}, "expected words as rows"),
    "gain": (at.layer_norm, (NORM, BAD), {}, "gain must have 7 entries"),
    "upstream": (at.scaled_dot_gradient, (Q, K, BAD), {}, "upstream must have 2 entries along axis -2"),
    "gradient": (at.additive_gradient, (Q, K, W, U, numbers(7), G), {}, "v must have 5 entries"),
    "weights": (at.softmax_gradient, (G, BAD), {}, "upstream must broadcast"),
    "state": (at.gru, (GATES, K, numbers(7)), {}, "state must have 5 entries"),
    "padding": (at.gru, (GATES, K), {"mask": [True]}, "mask must have 3 entries"),
    "gru": (at.GRU, (numbers(D, 7), numbers(A, 3 * A)), {}, "W must have 15 entries"),
    "memory": (at.decoder_block, (DECODER, Q, BAD), {}, "W must have 7 entries"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_shapes_are_named(name):
    function, arguments, options, message = WRONG[name]
    with pytest.raises(UsageError, match=message):
        function(*arguments, **options)


def test_a_mask_of_a_list_goes_with_arrays_of_any_library(library):
    attended = at.attend(library(Q), library(K), mask=MASK.tolist(), bias=G.tolist())
    library.equal(attended.context, at.attend(Q, K, mask=MASK, bias=G).context)
    block = library(DECODER)
    found = at.decoder_block(block, library(Q), library(K), mask=[[1, 1], [0, 1]], memory_mask=MASK.tolist())
    library.equal(found.words, at.decoder_block(DECODER, Q, K, mask=np.eye(2) > 0, memory_mask=MASK).words)
