"""Alignment scores: how well a query (target word) and a key (source word) fit.

Every function takes queries ``(..., T, D)`` and keys ``(..., S, D)`` and returns scores ``(..., T, S)``; a
single query ``(D,)`` gives ``(..., S)``. Rows are vectors, so a projection is written ``x @ W`` with W of
shape ``(D_in, D_out)``.

Axes: T target words (queries), S source words (keys), D dimension, A size of the attention layer, C kernels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nmtalign.attention._arrays import Array, as_floats, constant, expect_axis, joined, transposed
from nmtalign.errors import UsageError

_BLOCK = 1 << 18  # numbers of the (T, S, A) tensor held at once: 1 MiB of float32 stays in a core's cache


def dot(queries: Array, keys: Array) -> Array:
    r"""Dot-product score :math:`e_{ts} = q_t \cdot k_s`.

    Long vectors win against similar ones: a key can score higher than the query itself. Use :func:`cosine` to
    compare directions only.

    Parameters
    ----------
    queries : array (..., T, D) or (D,)
    keys : array (..., S, D)

    Returns
    -------
    array (..., T, S) or (..., S)
        ``dot(q, k)`` is the transpose of ``dot(k, q)``.

    Raises
    ------
    UsageError
        If the vectors of queries and keys differ in length.

    Examples
    --------
    >>> dot([[2.0, 0.1]], [[2, 4], [1, 2], [2, 0.1]]).round(2)
    array([[4.4 , 2.2 , 4.01]])

    References
    ----------
    Luong, Pham & Manning (2015), "Effective Approaches to Attention-based Neural Machine Translation",
    section 3.1, "dot".
    """
    xp, queries, keys = as_floats(queries, keys)
    expect_axis("keys", keys, -1, queries.shape[-1], "queries", queries)
    return xp.matmul(queries, transposed(keys))  # (..., T, S)


def scaled_dot(queries: Array, keys: Array) -> Array:
    r"""Scaled dot-product score :math:`e_{ts} = q_t \cdot k_s / \sqrt{D}`.

    The scale keeps the variance of a score at 1 when the entries of both vectors are independent with
    variance 1, so that the softmax does not saturate when D grows.

    Parameters
    ----------
    queries : array (..., T, D) or (D,)
    keys : array (..., S, D)

    Returns
    -------
    array (..., T, S) or (..., S)
        ``sqrt(D)`` times the result is :func:`dot`.

    Examples
    --------
    >>> scaled_dot([[1, 2, 2, 0]], [[1, 0, 1, 5]])
    array([[1.5]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1.
    """
    _, queries, keys = as_floats(queries, keys)
    return dot(queries / math.sqrt(queries.shape[-1] or 1), keys)


def unit(vectors: Array) -> Array:
    """Return `vectors` (..., D) with length 1 (L2 norm); a zero vector stays zero.

    Examples
    --------
    >>> unit([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    xp, vectors = as_floats(vectors)
    lengths = xp.sqrt(xp.sum(vectors * vectors, axis=-1, keepdims=True))
    return vectors / xp.where(lengths == 0, constant(1.0, lengths), lengths)


def cosine(queries: Array, keys: Array) -> Array:
    r"""Cosine score :math:`e_{ts} = q_t \cdot k_s / (\lVert q_t \rVert \lVert k_s \rVert)`.

    Parameters
    ----------
    queries : array (..., T, D) or (D,)
    keys : array (..., S, D)

    Returns
    -------
    array (..., T, S) or (..., S)
        Between -1 and 1 up to rounding, whatever the lengths of the vectors; 0 for a zero vector.

    Examples
    --------
    >>> cosine([[2.0, 0.1]], [[2, 4], [1, 2], [2, 0.1]]).round(3)
    array([[0.491, 0.491, 1.   ]])
    """
    return dot(unit(queries), unit(keys))


def bilinear(queries: Array, keys: Array, W: Array) -> Array:
    r"""Bilinear score :math:`e_{ts} = q_t^\top W k_s`, called "general" by Luong.

    Parameters
    ----------
    queries : array (..., T, D_q) or (D_q,)
    keys : array (..., S, D_k)
    W : array (D_q, D_k)

    Returns
    -------
    array (..., T, S) or (..., S)
        Equal to :func:`dot` when W is the identity.

    Raises
    ------
    UsageError
        If W does not fit the queries and the keys.

    Examples
    --------
    >>> bilinear([[1, 0]], [[3, 4, 5]], [[0, 1, 0], [0, 0, 1]])
    array([[4.]])

    References
    ----------
    Luong, Pham & Manning (2015), section 3.1, "general".
    """
    xp, queries, keys, W = as_floats(queries, keys, W)
    expect_axis("W", W, -2, queries.shape[-1], "queries", queries)
    return dot(xp.matmul(queries, W), keys)


def additive(
    queries: Array,
    keys: Array,
    W: Array,
    U: Array,
    v: Array,
    *,
    bias: Array | None = None,
    features: Array | None = None,
    L: Array | None = None,
) -> Array:
    r"""Additive score :math:`e_{ts} = v^\top \tanh(W^\top q_t + U^\top k_s + b)`, Bahdanau's alignment model.

    With features :math:`f_{ts}` of cells, :math:`L^\top f_{ts}` is added inside of the tanh (Chorowski 2015).

    Parameters
    ----------
    queries : array (..., T, D_q) or (D_q,)
        Decoder states :math:`s_{t-1}`.
    keys : array (..., S, D_k)
        Annotations :math:`h_s`.
    W : array (D_q, A)
    U : array (D_k, A)
    v : array (A,)
    bias : array (A,), optional
    features : array (..., T, S, F), optional
    L : array (F, A), with `features`

    Returns
    -------
    array (..., T, S) or (..., S)
        Never larger in size than the sum of ``abs(v)``.

    Raises
    ------
    UsageError
        If the shapes do not fit.

    See Also
    --------
    additive_concatenated : the same function written as two layers over ``[key; query]``.
    additive_projected : when ``queries @ W`` and ``keys @ U`` are already known.

    Examples
    --------
    >>> additive([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0], [0.0]], [[-1.0], [0.0]], [2.0]).round(4)
    array([[1.5232, 0.    ]])

    References
    ----------
    Bahdanau, Cho & Bengio (2014), "Neural Machine Translation by Jointly Learning to Align and
    Translate", section A.1.2.
    """
    xp, queries, keys, W, U = as_floats(queries, keys, W, U)
    expect_axis("W", W, -2, queries.shape[-1], "queries", queries)
    expect_axis("U", U, -2, keys.shape[-1], "keys", keys)
    projected = xp.matmul(queries, W)  # (..., T, A)
    if bias is not None:
        projected = projected + bias
    cells = None if features is None else xp.matmul(features, L)
    return additive_projected(projected, xp.matmul(keys, U), v, cells=cells)


def additive_projected(queries: Array, keys: Array, v: Array, *, cells: Array | None = None) -> Array:
    r"""Additive score :math:`v^\top \tanh(q_t + k_s + c_{ts})` of what is already projected.

    The projections of the keys do not change while a sentence is decoded, so they are computed once
    (Bahdanau 2014, A.1.2). Works through a few query rows at a time; the (T, S, A) tensor is never whole.

    Parameters
    ----------
    queries : array (..., T, A) or (A,)
    keys : array (..., S, A)
    v : array (A,)
    cells : array (..., T, S, A), optional
        Projected features of cells.

    Returns
    -------
    array (..., T, S) or (..., S)

    Examples
    --------
    >>> additive_projected([[0.0, 1.0]], [[0.0, -1.0], [0.0, 9.0]], [5.0, 1.0])
    array([[0., 1.]])
    """
    xp, queries, keys, v = as_floats(queries, keys, v)
    expect_axis("projected keys", keys, -1, v.shape[0], "v", v)
    expect_axis("projected queries", queries, -1, v.shape[0], "v", v)
    if queries.ndim == 1:
        cells = None if cells is None else cells[..., None, :, :]
        return additive_projected(queries[None, :], keys, v, cells=cells)[..., 0, :]
    T, rows = queries.shape[-2], max(1, _BLOCK // max(1, math.prod(keys.shape)))
    blocks = []
    for start in range(0, max(1, T), rows):
        block = slice(start, min(start + rows, T))
        own = None if cells is None else cells[..., block, :, :]
        blocks.append(_weighted(xp, _activations(xp, queries[..., block, :], keys, own), v))
    return joined(blocks, axis=-2)  # (..., T, S)


def _activations(xp: Any, queries: Array, keys: Array, cells: Array | None) -> Array:
    """Return tanh(q + k + c), (..., T, S, A); NumPy reuses the memory of the sum."""
    total = queries[..., :, None, :] + keys[..., None, :, :]
    if cells is not None:
        total = total + cells
    return np.tanh(total, out=total) if xp is np else xp.tanh(total)


def _weighted(xp: Any, activations: Array, v: Array) -> Array:
    """Return ``activations @ v``; NumPy sums each cell by itself, so that its bits depend on no other."""
    return np.einsum("...a,a->...", activations, v) if xp is np else activations @ v


def additive_concatenated(queries: Array, keys: Array, layer_1: Array, layer_2: Array) -> Array:
    r"""Additive score as a network of two layers, :math:`e_{ts} = \tanh([k_s; q_t] L_1) L_2`.

    The rows of ``layer_1`` that meet the key are U of :func:`additive`, those that meet the query are W.

    Parameters
    ----------
    queries : array (..., T, D_q) or (D_q,)
    keys : array (..., S, D_k)
    layer_1 : array (D_k + D_q, A)
    layer_2 : array (A,) or (A, 1)

    Returns
    -------
    array (..., T, S) or (..., S)
        Equal to :func:`additive` with ``U = layer_1[:D_k]``, ``W = layer_1[D_k:]``, ``v = layer_2``.

    Raises
    ------
    UsageError
        If ``layer_1`` has not one row for each entry of key and query.

    Examples
    --------
    >>> additive_concatenated([[1.0, 0.0]], [[0.0, 1.0]], [[-1.0], [0.0], [1.0], [0.0]], [[2.0]]).round(4)
    array([[1.5232]])
    """
    xp, queries, keys, layer_1, layer_2 = as_floats(queries, keys, layer_1, layer_2)
    key_size, query_size = keys.shape[-1], queries.shape[-1]
    expect_axis("layer_1", layer_1, -2, key_size + query_size, "[key; query]")
    return additive(queries, keys, layer_1[key_size:, :], layer_1[:key_size, :], xp.reshape(layer_2, (-1,)))


def location_additive(
    queries: Array,
    keys: Array,
    previous: Array,
    W: Array,
    U: Array,
    v: Array,
    *,
    kernels: Array,
    L: Array,
    bias: Array | None = None,
) -> Array:
    r"""Location-aware additive score :math:`v^\top \tanh(W^\top q_t + U^\top k_s + L^\top f_{ts} + b)`.

    :math:`f_{ts}` looks at the weights :math:`p` of the step before around source word s, so the model knows
    where it was: :math:`f_{tsc} = \sum_k F_{ck}\, p_{t,\, s + k - (K-1)/2}`, p zero outside the sentence.

    Parameters
    ----------
    queries : array (..., T, D_q)
    keys : array (..., S, D_k)
    previous : array (..., T, S)
        The attention weights of the step before each query.
    W, U, v, bias :
        As in :func:`additive`.
    kernels : array (C, K)
        F: C kernels of odd width K (not flipped, as in PyTorch's ``conv1d``).
    L : array (C, A)

    Returns
    -------
    array (..., T, S)
        Equal to :func:`additive` when ``previous`` is zero.

    Raises
    ------
    UsageError
        If the kernels have an even width or the shapes do not fit.

    Examples
    --------
    >>> location_additive([[0.0]], [[0.0], [0.0]], [[1.0, 0.0]], [[0.0]], [[0.0]], [1.0],
    ...                   kernels=[[1.0, 0.0, 0.0]], L=[[99.0]])
    array([[0., 1.]])

    References
    ----------
    Chorowski et al. (2015), "Attention-Based Models for Speech Recognition", eqs. 8 and 9.
    """
    xp, queries, keys, previous, W, U, v, kernels, L = as_floats(queries, keys, previous, W, U, v, kernels, L)
    expect_axis("previous", previous, -1, keys.shape[-2], "keys", keys)
    expect_axis("previous", previous, -2, queries.shape[-2], "queries", queries)
    features = _windows(xp, previous, kernels)  # (..., T, S, C)
    return additive(queries, keys, W, U, v, bias=bias, features=features, L=L)


def _windows(xp: Any, previous: Array, kernels: Array) -> Array:
    """Return the features f of Chorowski (..., T, S, C): every kernel slid along the source words."""
    width = kernels.shape[-1]
    if width % 2 == 0:
        raise UsageError(f"kernels must have an odd width, found shape {tuple(kernels.shape)}")
    length = previous.shape[-1]
    edge = xp.zeros_like(xp.broadcast_to(previous[..., :1], (*previous.shape[:-1], width // 2)))
    padded = joined([edge, previous, edge], axis=-1)
    windows = xp.stack([padded[..., k : k + length] for k in range(width)], axis=-1)
    return windows @ transposed(kernels)


def scaled_dot_gradient(queries: Array, keys: Array, upstream: Array) -> tuple[Array, Array]:
    r"""Gradient of :func:`scaled_dot`.

    Parameters
    ----------
    queries : array (..., T, D)
    keys : array (..., S, D)
        With the leading axes of the queries.
    upstream : array (..., T, S)
        Derivative of the loss by each score.

    Returns
    -------
    (queries, keys) : arrays (..., T, D) and (..., S, D)
        Derivatives of the loss: :math:`G K / \sqrt{D}` and :math:`G^\top Q / \sqrt{D}`.

    Examples
    --------
    >>> for gradient in scaled_dot_gradient([[1, 2, 3, 4]], [[5, 6, 7, 8]], [[2]]):
    ...     print(gradient)
    [[5. 6. 7. 8.]]
    [[1. 2. 3. 4.]]
    """
    xp, queries, keys, upstream = as_floats(queries, keys, upstream)
    scale = 1 / math.sqrt(queries.shape[-1])
    return xp.matmul(upstream, keys) * scale, xp.matmul(transposed(upstream), queries) * scale


class AdditiveGradient(NamedTuple):
    """Derivatives of a loss by each argument of :func:`additive`, in the shapes of the arguments."""

    queries: Array
    keys: Array
    W: Array
    U: Array
    v: Array
    bias: Array
    L: Array | None = None


def additive_gradient(
    queries: Array,
    keys: Array,
    W: Array,
    U: Array,
    v: Array,
    upstream: Array,
    *,
    bias: Array | None = None,
    features: Array | None = None,
    L: Array | None = None,
) -> AdditiveGradient:
    r"""Gradient of :func:`additive`.

    With :math:`a_{ts} = \tanh(W^\top q_t + U^\top k_s + L^\top f_{ts} + b)`, the derivative inside is
    :math:`G_{ts}\, v\, (1 - a_{ts}^2)`; everything else follows by the chain rule.

    Parameters
    ----------
    queries, keys, W, U, v, bias, features, L :
        As in :func:`additive`; queries and keys have the same leading axes.
    upstream : array (..., T, S)
        Derivative of the loss by each score.

    Returns
    -------
    AdditiveGradient
        W, U, v, bias and L are summed over all leading axes; L is None without features.

    Examples
    --------
    >>> additive_gradient([[0.0]], [[0.0]], [[1.0]], [[2.0]], [3.0], [[1.0]]).keys
    array([[6.]])
    """
    xp, queries, keys, W, U, v, upstream = as_floats(queries, keys, W, U, v, upstream)
    projected = xp.matmul(queries, W) if bias is None else xp.matmul(queries, W) + bias
    cells = None if features is None else xp.matmul(features, L)
    activations = _activations(xp, projected, xp.matmul(keys, U), cells)  # (..., T, S, A)
    inner = upstream[..., None] * v * (1 - activations * activations)
    by_query, by_key = xp.sum(inner, axis=-2), xp.sum(inner, axis=-3)  # (..., T, A), (..., S, A)
    return AdditiveGradient(
        queries=xp.matmul(by_query, transposed(W)),
        keys=xp.matmul(by_key, transposed(U)),
        W=_summed_outer(xp, queries, by_query),
        U=_summed_outer(xp, keys, by_key),
        v=xp.matmul(xp.reshape(upstream, (-1,)), xp.reshape(activations, (-1, v.shape[0]))),
        bias=xp.sum(xp.reshape(by_query, (-1, v.shape[0])), axis=0),
        L=None if features is None else _summed_outer(xp, features, inner),
    )


def _summed_outer(xp: Any, rows: Array, columns: Array) -> Array:
    """Return the sum over all leading axes of the outer products of the last axes."""
    left, right = (xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) for x in (rows, columns))
    return xp.matmul(transposed(left), right)
