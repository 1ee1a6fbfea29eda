"""Attention weights: scores turned into numbers that are never negative and sum to 1 over the keys.

A score of minus infinity means "must not be looked at". A row in which every score is minus infinity has
weight 0 everywhere, so its context is the zero vector. Masks are True where a query may look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nmtalign.attention._arrays import Array, as_floats, constant, moved, running_sum
from nmtalign.errors import UsageError


def softmax(scores: Array, axis: int = -1, *, temperature: float = 1.0) -> Array:
    r"""Softmax :math:`\alpha_{ts} = \exp(e_{ts}/\tau) / \sum_{s'} \exp(e_{ts'}/\tau)`, safe for any scores.

    Parameters
    ----------
    scores : array (..., T, S)
        Finite, or minus infinity for keys that must not be looked at.
    axis : int
        The axis that sums to 1.
    temperature : float
        :math:`\tau > 0`: below 1 sharper, above 1 flatter.

    Returns
    -------
    array, shape of `scores`
        Not negative; sums to 1 along `axis`, or to 0 where every score is minus infinity.

    Raises
    ------
    UsageError
        If the temperature is not positive.

    Examples
    --------
    >>> softmax([1.0, 2.0, 3.0]).round(4)
    array([0.09  , 0.2447, 0.6652])
    >>> softmax([1000.0, 1000.0, -np.inf])
    array([0.5, 0.5, 0. ])
    """
    xp, scores = as_floats(scores)
    if scores.shape[axis] == 0:
        return scores
    if temperature != 1.0:
        scores = scores / _positive(temperature)
    shifted = scores - _finite_top(xp, scores, axis)  # the largest exponent is 0: nothing overflows
    powers = np.exp(shifted, out=shifted) if xp is np else xp.exp(shifted)
    totals = xp.sum(powers, axis=axis, keepdims=True)
    return powers / xp.where(totals == 0, constant(1.0, totals), totals)


def _positive(temperature: float) -> float:
    if not 0 < temperature < math.inf:
        raise UsageError(f"the temperature must be a positive number, found {temperature}")
    return temperature


def _finite_top(xp: Any, scores: Array, axis: int) -> Array:
    """Return the largest score along `axis` (kept), 0 where that is minus infinity."""
    top = xp.max(scores, axis=axis, keepdims=True)
    return xp.where(top == -math.inf, constant(0.0, top), top)


def mask_scores(scores: Array, mask: Array | None) -> Array:
    """Return `scores` with minus infinity where `mask` (broadcast, True = may look) is False.

    Examples
    --------
    >>> mask_scores([[1.0, 2.0]], [[True, False]])
    array([[  1., -inf]])
    """
    if mask is None:
        return scores
    xp, scores = as_floats(scores)
    if xp is np:
        mask = np.asarray(mask, dtype=bool)
    return xp.where(mask, scores, constant(-math.inf, scores))


def masked_softmax(scores: Array, mask: Array | None, axis: int = -1, *, temperature: float = 1.0) -> Array:
    """Softmax over the keys that `mask` allows.

    Parameters
    ----------
    scores : array (..., T, S)
    mask : bool array that broadcasts to `scores`, or None
        True where the query may look.
    axis, temperature :
        As in :func:`softmax`.

    Returns
    -------
    array, shape of `scores`
        0 where masked; sums to 1 along `axis`, or to 0 where everything is masked.

    Examples
    --------
    >>> masked_softmax([[3.0, 3.0, 9.0], [1.0, 2.0, 3.0]], [[True, True, False], [False, False, False]])
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    return softmax(mask_scores(scores, mask), axis, temperature=temperature)


def sparsemax(scores: Array, axis: int = -1) -> Array:
    r"""Sparsemax: the point of the probability simplex nearest to the scores; small scores get exactly 0.

    :math:`\alpha_s = \max(e_s - \tau, 0)` with :math:`\tau` such that the weights sum to 1, found exactly by
    sorting.

    Parameters
    ----------
    scores : array (..., T, S)
        Finite, or minus infinity for keys that must not be looked at.
    axis : int
        The axis that sums to 1.

    Returns
    -------
    array, shape of `scores`
        Not negative; sums to 1 along `axis`, or to 0 where every score is minus infinity.

    Examples
    --------
    >>> sparsemax([1.0, 0.5, -1.0])
    array([0.75, 0.25, 0.  ])

    References
    ----------
    Martins & Astudillo (2016), "From Softmax to Sparsemax", Algorithm 1.
    """
    return _thresholded(scores, axis, _sparsemax_threshold, 1)


def entmax15(scores: Array, axis: int = -1) -> Array:
    r"""Entmax with :math:`\alpha = 1.5`: half-way between softmax and sparsemax, still with exact zeros.

    :math:`\alpha_s = \max(e_s/2 - \tau, 0)^2` with :math:`\tau` such that the weights sum to 1, found exactly
    by sorting.

    Parameters
    ----------
    scores : array (..., T, S)
        Finite, or minus infinity for keys that must not be looked at.
    axis : int
        The axis that sums to 1.

    Returns
    -------
    array, shape of `scores`
        Not negative; sums to 1 along `axis`, or to 0 where every score is minus infinity.

    Examples
    --------
    >>> entmax15([2.0, 2.0, -1.0])
    array([0.5, 0.5, 0. ])

    References
    ----------
    Peters, Niculae & Martins (2019), "Sparse Sequence-to-Sequence Models", Algorithm 2.
    """
    _, scores = as_floats(scores)
    return _thresholded(scores / 2, axis, _entmax_threshold, 2)


def _thresholded(scores: Array, axis: int, threshold: Callable[[Any, Array], Array], power: int) -> Array:
    """Return max(scores - threshold, 0) ** power, worked on the last axis.

    Scores 1 or more below the top always get weight 0, so what is further down is first moved to 2 below it:
    that keeps every number small and finite, whatever the scores.
    """
    xp, scores = as_floats(scores)
    if scores.shape[axis] == 0:
        return scores
    scores = xp.moveaxis(scores, axis, -1)
    shifted = xp.clip(scores - _finite_top(xp, scores, -1), -2.0, 0.0)
    weights = xp.clip(shifted - threshold(xp, -xp.sort(-shifted, axis=-1)), 0.0, None) ** power
    seen = xp.max(scores, axis=-1, keepdims=True) > -math.inf
    return xp.moveaxis(xp.where(seen, weights, constant(0.0, weights)), -1, axis)


def _sparsemax_threshold(xp: Any, ordered: Array) -> Array:
    """Return tau: k largest scores are kept, k the last with 1 + k z_k > z_1 + ... + z_k."""
    sums, counts = running_sum(ordered), _counts(xp, ordered)
    kept = 1 + counts * ordered > sums
    return _last_kept(xp, (sums - 1) / counts, kept)


def _entmax_threshold(xp: Any, ordered: Array) -> Array:
    """Return tau of the k largest scores: their mean less sqrt((1 - their squared deviations) / k)."""
    counts = _counts(xp, ordered)
    means = running_sum(ordered) / counts
    deviations = running_sum(ordered * ordered) - counts * means * means
    thresholds = means - xp.sqrt(xp.clip((1 - deviations) / counts, 0.0, None))
    return _last_kept(xp, thresholds, thresholds <= ordered)


def _counts(xp: Any, ordered: Array) -> Array:
    """Return 1, 2, ..., S in the type of `ordered`."""
    return running_sum(xp.ones_like(ordered))


def _last_kept(xp: Any, thresholds: Array, kept: Array) -> Array:
    """Return, for each row, the threshold at the last place that is kept (the places kept come first)."""
    counts = _counts(xp, thresholds)
    size = xp.max(xp.where(kept, counts, constant(1.0, counts)), axis=-1, keepdims=True)
    chosen = xp.where(counts == size, thresholds, constant(0.0, thresholds))
    return xp.sum(chosen, axis=-1, keepdims=True)


def causal_mask(T: int, S: int | None = None, *, like: Array | None = None) -> Array:
    """Mask in which word t looks at words 0 to t and never at the future.

    Parameters
    ----------
    T : int
        Number of queries.
    S : int, optional
        Number of keys; T if left out.
    like : array, optional
        The library and device that the mask is made for; NumPy if left out.

    Returns
    -------
    bool array (T, S)
        True where the query may look.

    Examples
    --------
    >>> causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return moved(np.tri(T, T if S is None else S, dtype=bool), like)


def padding_mask(lengths: Sequence[int], S: int, *, like: Array | None = None) -> Array:
    """Mask in which no query looks at the padding behind the last word of each sentence.

    Parameters
    ----------
    lengths : sequence of B int
        The number of words of each sentence.
    S : int
        The length to which the sentences were padded.
    like : array, optional
        As in :func:`causal_mask`.

    Returns
    -------
    bool array (B, 1, S)
        Broadcasts over the queries.

    Raises
    ------
    UsageError
        If a sentence is longer than S.

    Examples
    --------
    >>> padding_mask([1, 3], 3).astype(int)
    array([[[1, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    counts = np.asarray(lengths, dtype=int)
    if counts.size and counts.max() > S:
        raise UsageError(f"a sentence of {counts.max()} words does not fit into {S} places")
    return moved(np.arange(S) < counts[:, None, None], like)


def softmax_gradient(weights: Array, upstream: Array, axis: int = -1, *, temperature: float = 1.0) -> Array:
    r"""Gradient of :func:`softmax`, :math:`\alpha_s (g_s - \sum_{s'} \alpha_{s'} g_{s'}) / \tau`.

    Parameters
    ----------
    weights : array (..., T, S)
        What :func:`softmax` returned.
    upstream : array (..., T, S)
        Derivative g of the loss by each weight.
    axis, temperature :
        As given to :func:`softmax`.

    Returns
    -------
    array (..., T, S)
        Derivative of the loss by each score; sums to 0 along `axis`.

    Examples
    --------
    >>> softmax_gradient([0.5, 0.5], [1.0, 0.0])
    array([ 0.25, -0.25])
    """
    xp, weights, upstream = as_floats(weights, upstream)
    expected = xp.sum(weights * upstream, axis=axis, keepdims=True)
    return weights * (upstream - expected) / temperature
