"""Alignment scores: how well a query (target word) and a key (source word) fit.

Every function takes queries ``(..., T, D)`` and keys ``(..., S, D)`` and returns scores ``(..., T, S)``; a
single query ``(D,)`` gives ``(..., S)``, a single key ``(..., T)``, and both one number. Rows are vectors, so
a projection is written ``x @ W`` with W of shape ``(D_in, D_out)``. Shapes that do not fit raise a
:class:`~nmtalign.errors.UsageError`.

Axes: T target words (queries), S source words (keys), D dimension, A size of the attention layer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nmtalign.attention._arrays import (
    Array,
    as_floats,
    check_axis,
    check_matrix,
    check_one_axis,
    check_rows,
    concatenate,
    divide_or_keep,
    namespace_and_floats,
    swap_last_axes,
)
from nmtalign.errors import UsageError

_NUMBERS_PER_BLOCK = (
    1 << 18
)  # numbers of the (T, S, A) tensor held at once: 1 MiB of float32 stays in a core's cache


def dot(queries: Array, keys: Array) -> Array:
    r"""Dot-product score :math:`e_{ts} = q_t \cdot k_s`, "dot" in Luong et al. (2015), section 3.1.

    Long vectors score high: a key can score higher than the query itself. :func:`cosine` compares directions
    only.

    Examples
    --------
    >>> dot([[2.0, 0.1]], [[2, 4], [1, 2], [2, 0.1]]).round(2)
    array([[4.4 , 2.2 , 4.01]])
    >>> float(dot([1, 2, 3], [1, 0, 1]))
    4.0
    """
    xp, queries, keys = namespace_and_floats(queries, keys)
    check_axis("keys", keys, -1, queries.shape[-1], f"queries of shape {tuple(queries.shape)}")
    return xp.matmul(queries, keys if keys.ndim == 1 else swap_last_axes(keys))  # (..., T, S)


def scaled_dot(queries: Array, keys: Array) -> Array:
    r"""Scaled dot-product score :math:`e_{ts} = q_t \cdot k_s / \sqrt{D}` (Vaswani et al. 2017, eq. 1).

    The scale keeps the variance of a score at 1 when the entries of both vectors are independent with
    variance 1, so that the softmax does not saturate when D grows.

    Examples
    --------
    >>> scaled_dot([[1, 2, 2, 0]], [[1, 0, 1, 5]])
    array([[1.5]])
    """
    queries, keys = as_floats(queries, keys)
    return dot(queries / math.sqrt(queries.shape[-1] or 1), keys)


def l2_normalize(vectors: Array) -> Array:
    """Return `vectors` (..., D) with L2 norm 1; a zero vector stays zero.

    Examples
    --------
    >>> l2_normalize([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    xp, vectors = namespace_and_floats(vectors)
    return divide_or_keep(vectors, xp.sqrt(xp.sum(vectors * vectors, axis=-1, keepdims=True)))


def cosine(queries: Array, keys: Array) -> Array:
    r"""Cosine score :math:`e_{ts} = q_t \cdot k_s / (\lVert q_t \rVert \lVert k_s \rVert)`.

    It lies between -1 and 1 up to rounding, and is 0 for a zero vector.

    Examples
    --------
    >>> cosine([[2.0, 0.1]], [[2, 4], [1, 2], [2, 0.1]]).round(3)
    array([[0.491, 0.491, 1.   ]])
    """
    return dot(l2_normalize(queries), l2_normalize(keys))


def _projected(xp: Any, name: str, rows: Array, matrix: Array, bias: Array | None = None) -> Array:
    check_axis(name, matrix, -2, rows.shape[-1], f"vectors of shape {tuple(rows.shape)}")
    projected = xp.matmul(rows, matrix)
    if bias is None:
        return projected
    bias, _ = as_floats(bias, projected)
    check_axis("bias", bias, -1, matrix.shape[-1], name)
    return projected + bias


def additive(
    queries: Array, keys: Array, W: Array, U: Array, v: Array, *, bias: Array | None = None
) -> Array:
    r"""Additive score :math:`e_{ts} = v^\top \tanh(W^\top q_t + U^\top k_s + b)`.

    It is the alignment model of Bahdanau, Cho & Bengio (2014), section A.1.2.

    Parameters
    ----------
    queries, keys : arrays (..., T, D_q) and (..., S, D_k)
        Decoder states :math:`s_{t-1}` and annotations :math:`h_s`.
    W, U, v : arrays (D_q, A), (D_k, A) and (A,)
    bias : array (A,), optional

    Examples
    --------
    >>> additive([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0], [0.0]], [[-1.0], [0.0]], [2.0]).round(4)
    array([[1.5232, 0.    ]])
    """
    xp, queries, keys, W, U = namespace_and_floats(queries, keys, W, U)
    return additive_projected(_projected(xp, "W", queries, W, bias), _projected(xp, "U", keys, U), v)


def additive_projected(queries: Array, keys: Array, v: Array) -> Array:
    r"""Additive score :math:`v^\top \tanh(q_t + k_s)` of what is already projected to size A.

    The projections of the keys do not change while a sentence is decoded, so they are computed once
    (Bahdanau 2014, A.1.2). The score works through a few query rows at a time; the (T, S, A) tensor is never
    whole.

    Examples
    --------
    >>> additive_projected([[0.0, 1.0]], [[0.0, -1.0], [0.0, 9.0]], [5.0, 1.0])
    array([[0., 1.]])
    """
    xp, queries, keys, v = namespace_and_floats(queries, keys, v)
    check_one_axis("v", v)
    if keys.ndim == 1:
        return additive_projected(queries, keys[None, :], v)[..., 0]
    check_axis("projected keys", keys, -1, v.shape[0], "v")
    check_axis("projected queries", queries, -1, v.shape[0], "v")
    if queries.ndim == 1:
        return additive_projected(queries[None, :], keys, v)[..., 0, :]
    T = queries.shape[-2]
    rows = max(1, _NUMBERS_PER_BLOCK // max(1, math.prod(keys.shape)))
    blocks = []
    for start in range(0, max(1, T), rows):
        a = _activations(xp, queries[..., start : min(start + rows, T), :], keys)
        # NumPy's einsum sums each cell by itself, so that its bits depend on no other.
        blocks.append(np.einsum("...a,a->...", a, v) if xp is np else a @ v)
    return concatenate(blocks, axis=-2)  # (..., T, S)


def _activations(xp: Any, queries: Array, keys: Array) -> Array:
    """Return tanh(q + k), (..., T, S, A); NumPy reuses the memory of the sum."""
    total = queries[..., :, None, :] + keys[..., None, :, :]
    return np.tanh(total, out=total) if xp is np else xp.tanh(total)


def additive_concatenated(queries: Array, keys: Array, layer_1: Array, layer_2: Array) -> Array:
    r"""Additive score as a network of two layers, :math:`e_{ts} = \tanh([k_s; q_t] L_1) L_2`.

    Layer 1 is (D_k + D_q, A) and layer 2 (A,) or (A, 1). The score is equal to :func:`additive` with
    ``U = layer_1[:D_k]``, ``W = layer_1[D_k:]`` and ``v = layer_2``.

    Examples
    --------
    >>> additive_concatenated([[1.0, 0.0]], [[0.0, 1.0]], [[-1.0], [0.0], [1.0], [0.0]], [[2.0]]).round(4)
    array([[1.5232]])
    """
    xp, queries, keys, layer_1, layer_2 = namespace_and_floats(queries, keys, layer_1, layer_2)
    key_size = keys.shape[-1]
    query_size = queries.shape[-1]
    check_axis("layer_1", layer_1, -2, key_size + query_size, "[key; query]")
    return additive(queries, keys, layer_1[key_size:, :], layer_1[:key_size, :], xp.reshape(layer_2, (-1,)))


def scaled_dot_gradient(queries: Array, keys: Array, upstream: Array) -> tuple[Array, Array]:
    r"""Gradient of :func:`scaled_dot`: :math:`G K / \sqrt{D}` and :math:`G^\top Q / \sqrt{D}`.

    G (..., T, S) is `upstream`, the derivative of the loss by each score. Leading axes are equal.

    Examples
    --------
    >>> scaled_dot_gradient([[1, 2, 3, 4]], [[5, 6, 7, 8]], [[2]])
    (array([[5., 6., 7., 8.]]), array([[1., 2., 3., 4.]]))
    """
    xp, queries, keys, upstream = namespace_and_floats(queries, keys, upstream)
    _check_upstream(queries, keys, upstream)
    check_axis("keys", keys, -1, queries.shape[-1], f"queries of shape {tuple(queries.shape)}")
    scale = 1 / math.sqrt(queries.shape[-1])
    return xp.matmul(upstream, keys) * scale, xp.matmul(swap_last_axes(upstream), queries) * scale


def _check_upstream(queries: Array, keys: Array, upstream: Array) -> None:
    """Raise a :class:`UsageError` unless there is a derivative for each score."""
    check_rows(queries=queries, keys=keys)
    check_axis("upstream", upstream, -2, queries.shape[-2], f"queries of shape {tuple(queries.shape)}")
    check_axis("upstream", upstream, -1, keys.shape[-2], f"keys of shape {tuple(keys.shape)}")
    leading = {tuple(array.shape[:-2]) for array in (queries, keys, upstream)}
    if len(leading) > 1:
        shapes = ", ".join(str(tuple(array.shape)) for array in (queries, keys, upstream))
        raise UsageError(f"queries, keys and upstream must have the same leading axes, found shapes {shapes}")


class AdditiveGradient(NamedTuple):
    """Derivatives of a loss by each argument of :func:`additive`, in the shapes of the arguments."""

    queries: Array
    keys: Array
    W: Array
    U: Array
    v: Array
    bias: Array


def additive_gradient(
    queries: Array, keys: Array, W: Array, U: Array, v: Array, upstream: Array, *, bias: Array | None = None
) -> AdditiveGradient:
    r"""Gradient of :func:`additive` by each of its arguments.

    With :math:`a_{ts} = \tanh(W^\top q_t + U^\top k_s + b)`, the derivative inside is
    :math:`G_{ts}\, v\, (1 - a_{ts}^2)`; everything else follows by the chain rule. G (..., T, S) is
    `upstream`, the derivative of the loss by each score. Queries and keys have the same leading axes; the
    derivatives by W, U, v and bias are summed over them.

    Examples
    --------
    >>> additive_gradient([[0.0]], [[0.0]], [[1.0]], [[2.0]], [3.0], [[1.0]]).keys
    array([[6.]])
    """
    xp, queries, keys, W, U, v, upstream = namespace_and_floats(queries, keys, W, U, v, upstream)
    _check_upstream(queries, keys, upstream)
    check_matrix("W", W)
    check_matrix("U", U)
    check_one_axis("v", v)
    if bias is not None:
        bias, _ = as_floats(bias, W)
        check_one_axis("bias", bias)
    projected = _projected(xp, "W", queries, W, bias)
    for name, array in (("v", v), ("U", U)):
        check_axis(name, array, -1, W.shape[-1], "W")
    activations = _activations(xp, projected, _projected(xp, "U", keys, U))  # (..., T, S, A)
    inner = upstream[..., None] * v * (1 - activations * activations)
    by_query = xp.sum(inner, axis=-2)  # (..., T, A)
    by_key = xp.sum(inner, axis=-3)  # (..., S, A)
    return AdditiveGradient(
        queries=xp.matmul(by_query, swap_last_axes(W)),
        keys=xp.matmul(by_key, swap_last_axes(U)),
        W=_summed_outer(xp, queries, by_query),
        U=_summed_outer(xp, keys, by_key),
        v=xp.matmul(xp.reshape(upstream, (-1,)), xp.reshape(activations, (-1, v.shape[0]))),
        bias=xp.sum(xp.reshape(by_query, (-1, v.shape[0])), axis=0),
    )


def _summed_outer(xp: Any, rows: Array, columns: Array) -> Array:
    """Return the sum over all leading axes of the outer products of the last axes."""
    left, right = (xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) for x in (rows, columns))
    return xp.matmul(swap_last_axes(left), right)
