"""Attention weights: scores (..., T, S) turned into numbers that are not negative and sum to 1 over the keys.

A key with a score of minus infinity gets weight 0. A row in which every score is minus infinity has weight 0
everywhere, so its context is the zero vector. Masks are True where a query may look, or floats to add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nmtalign.attention._arrays import (
    Array,
    as_floats,
    as_like,
    as_numpy,
    check_sizes,
    check_temperature,
    check_to_fit,
    divide_or_keep,
    namespace_and_floats,
    read_mask,
    running_sum,
    zero_for_minus_infinity,
)
from nmtalign.display import short_repr
from nmtalign.errors import UsageError
from nmtalign.validation import check_number


def softmax(scores: Array, axis: int = -1, *, temperature: float = 1.0) -> Array:
    r"""Softmax :math:`\alpha_{ts} = \exp(e_{ts}/\tau) / \sum_{s'} \exp(e_{ts'}/\tau)`, safe for any scores.

    Parameters
    ----------
    scores : array (..., T, S)
        Finite or minus infinity.
    axis : int
        The axis that sums to 1, or to 0 where every score is minus infinity.
    temperature : float
        :math:`\tau`: below 1 sharper, above 1 flatter. It raises a :class:`UsageError` unless positive.

    Examples
    --------
    >>> softmax([1000.0, 1000.0, -np.inf])
    array([0.5, 0.5, 0. ])
    """
    xp, scores = namespace_and_floats(scores)
    check_temperature(temperature)
    if _length(scores, axis) == 0:
        return scores
    if temperature != 1.0:
        scores = scores / temperature
    top = xp.max(scores, axis=axis, keepdims=True)
    shifted = scores - zero_for_minus_infinity(top)  # the largest exponent is 0: nothing overflows
    powers = np.exp(shifted, out=shifted) if xp is np else xp.exp(shifted)
    return divide_or_keep(powers, xp.sum(powers, axis=axis, keepdims=True))


def _length(scores: Array, axis: int) -> int:
    """Return the length of an axis, after checking its number."""
    check_number(axis, "the number of an axis", integer=True)
    if not -scores.ndim <= axis < scores.ndim:
        raise UsageError(f"expected an axis of scores of shape {tuple(scores.shape)}, found {axis}")
    return int(scores.shape[axis])


def entropy(weights: Array, axis: int = -1) -> Array:
    r"""Entropy :math:`-\sum_s \alpha_{ts} \log_2 \alpha_{ts}` of weights, in bits.

    It is 0 if one weight is 1, and :math:`\log_2 S` if S weights are equal. Weights of 0 add nothing, so
    padding does not count, and the entropy of a row without weights is 0.

    Parameters
    ----------
    weights : array (..., T, S)
        Not negative; a :class:`~nmtalign.errors.UsageError` if one is.
    axis : int
        The axis that the weights of one word are on.

    Returns
    -------
    array (..., T)

    Examples
    --------
    >>> entropy([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    array([1.5, 0. , 0. ])
    """
    xp, weights = namespace_and_floats(weights)
    _length(weights, axis)
    if bool(xp.any(weights < 0)):
        raise UsageError("expected weights of at least 0, found a negative one; are these scores?")
    logarithms = xp.log2(xp.where(weights > 0, weights, as_like(1.0, weights)))
    return 0.0 - xp.sum(weights * logarithms, axis=axis)


def mask_scores(scores: Array, mask: Array | None) -> Array:
    """Return `scores` with a mask applied: minus infinity where it is False, and its floats added.

    Parameters
    ----------
    scores : array (..., T, S)
    mask : array that broadcasts to (..., T, S), or None
        Bools, or integers 0 and 1: True where the query may look. Floats are added to the scores, as in
        PyTorch: 0 where the query may look, and minus infinity, or a number such as -1e9, where it may not.
        NaN, and floats above 0, raise a :class:`~nmtalign.errors.UsageError`.

    Examples
    --------
    >>> mask_scores([[1.0, 2.0]], [[True, False]])
    array([[  1., -inf]])
    >>> mask_scores([[1.0, 2.0]], [[0.0, -np.inf]])
    array([[  1., -inf]])
    """
    xp, scores = namespace_and_floats(scores)
    if mask is None:
        return scores
    mask = read_mask(mask, scores)
    check_to_fit("mask", mask, scores)
    if mask.dtype != scores.dtype:  # bools
        return xp.where(mask, scores, as_like(-math.inf, scores))
    return scores + mask


def sparsemax(scores: Array, axis: int = -1) -> Array:
    r"""Sparsemax: the point of the probability simplex nearest to the scores; small scores get exactly 0.

    :math:`\alpha_s = \max(e_s - \tau, 0)` with :math:`\tau` such that the weights sum to 1, found exactly by
    sorting (Martins & Astudillo 2016, "From Softmax to Sparsemax", Algorithm 1).

    Examples
    --------
    >>> sparsemax([1.0, 0.5, -1.0])
    array([0.75, 0.25, 0.  ])
    """
    return _thresholded(scores, axis, _sparsemax_threshold, 1)


def entmax15(scores: Array, axis: int = -1) -> Array:
    r"""Entmax with :math:`\alpha = 1.5`: half-way between softmax and sparsemax, still with exact zeros.

    :math:`\alpha_s = \max(e_s/2 - \tau, 0)^2` with :math:`\tau` such that the weights sum to 1, found exactly
    by sorting (Peters, Niculae & Martins 2019, "Sparse Sequence-to-Sequence Models", Algorithm 2).

    Examples
    --------
    >>> entmax15([2.0, 2.0, -1.0])
    array([0.5, 0.5, 0. ])
    """
    (scores,) = as_floats(scores)
    return _thresholded(scores / 2, axis, _entmax_threshold, 2)


def _thresholded(
    scores: Array, axis: int, thresholds: Callable[..., tuple[Array, Array]], power: int
) -> Array:
    """Return max(scores - tau, 0) ** power, computed along the last axis.

    Scores 1 or more below the top always get weight 0, so what is further down is first moved to 2 below it:
    that keeps every number small and finite, whatever the scores.
    """
    xp, scores = namespace_and_floats(scores)
    if _length(scores, axis) == 0:
        return scores
    scores = xp.moveaxis(scores, axis, -1)
    top = xp.max(scores, axis=-1, keepdims=True)
    shifted = xp.clip(scores - zero_for_minus_infinity(top), -2.0, 0.0)
    counts = running_sum(xp.ones_like(scores))  # k = 1, 2, ..., S
    taus, kept = thresholds(xp, -xp.sort(-shifted, axis=-1), counts)
    size = xp.max(xp.where(kept, counts, as_like(1.0, counts)), axis=-1, keepdims=True)  # the last k kept
    tau = xp.sum(xp.where(counts == size, taus, as_like(0.0, taus)), axis=-1, keepdims=True)
    weights = xp.clip(shifted - tau, 0.0, None) ** power
    return xp.moveaxis(xp.where(top > -math.inf, weights, as_like(0.0, weights)), -1, axis)


def _sparsemax_threshold(xp: Any, ordered: Array, counts: Array) -> tuple[Array, Array]:
    """Return tau for each number k of scores kept, and whether z_k is: if 1 + k z_k > z_1 + ... + z_k."""
    sums = running_sum(ordered)
    return (sums - 1) / counts, 1 + counts * ordered > sums


def _entmax_threshold(xp: Any, ordered: Array, counts: Array) -> tuple[Array, Array]:
    """Return tau, the mean of k scores less sqrt((1 - their squared deviations) / k), and if z_k is kept."""
    means = running_sum(ordered) / counts
    deviations = running_sum(ordered * ordered) - counts * means * means
    thresholds = means - xp.sqrt(xp.clip((1 - deviations) / counts, 0.0, None))
    return thresholds, thresholds <= ordered


def causal_mask(T: int, S: int | None = None, *, like: Array | None = None) -> Array:
    """Mask (T, S) in which query t looks at keys 0 to t. By default, S is T.

    An array `like` gives the library and device that the mask is made for.

    Examples
    --------
    >>> causal_mask(2, 3)
    array([[ True, False, False],
           [ True,  True, False]])
    """
    S = T if S is None else S
    check_sizes(T=T, S=S)
    return as_like(np.tri(T, S, dtype=bool), like)


def padding_mask(lengths: Sequence[int], S: int, *, like: Array | None = None) -> Array:
    """Mask (B, 1, S) in which no query looks at the padding behind the last word of each sentence.

    The B sentences have `lengths` words and are padded to S; a longer one raises a :class:`UsageError`.
    `like` is as in :func:`causal_mask`.

    Examples
    --------
    >>> padding_mask([1, 3], 3)[:, 0].astype(int)
    array([[1, 0, 0],
           [1, 1, 1]])
    """
    check_sizes(S=S)
    counts = np.zeros(0, int) if isinstance(lengths, list) and not lengths else as_numpy(lengths)
    if counts.dtype.kind not in "iu" or counts.ndim != 1 or (counts < 0).any():
        raise UsageError(f"expected the lengths of sentences, integers from 0, found {short_repr(lengths)}")
    if counts.size and counts.max() > S:
        raise UsageError(f"a sentence of {counts.max()} words does not fit into {S} places")
    return as_like(np.arange(S) < counts[:, None, None], like)


def softmax_gradient(weights: Array, upstream: Array, axis: int = -1, *, temperature: float = 1.0) -> Array:
    r"""Gradient of :func:`softmax`, :math:`\alpha_s (g_s - \sum_{s'} \alpha_{s'} g_{s'}) / \tau`.

    From the weights (..., T, S) that softmax returned and the derivative g of the loss by each weight, it
    gives the derivative of the loss by each score, which sums to 0 along `axis`.

    Examples
    --------
    >>> softmax_gradient([0.5, 0.5], [1.0, 0.0])
    array([ 0.25, -0.25])
    """
    xp, weights, upstream = namespace_and_floats(weights, upstream)
    check_to_fit("upstream", upstream, weights)
    check_temperature(temperature)
    _length(weights, axis)
    expected = xp.sum(weights * upstream, axis=axis, keepdims=True)
    return weights * (upstream - expected) / temperature
