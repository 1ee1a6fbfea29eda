"""Positions: they inform attention where a word is. Attention alone does not see the order of the words.

*Vectors* are added to the words or concatenated with them before attention (:func:`sinusoidal`,
:func:`position_table`). A *bias* (T, S) is added to the scores. An array `like` gives the library, type and
device of a result; without it, a result is NumPy's float64.

Axes: T target words (queries), S source words (keys), N words, D dimension.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nmtalign.arrays import Doubles
from nmtalign.attention._arrays import (
    Array,
    as_floats,
    as_like,
    check_axis,
    check_matrix,
    check_rows,
    check_sizes,
    concatenate,
    generator,
    namespace_and_floats,
)
from nmtalign.errors import UsageError
from nmtalign.validation import check_choice, check_number


def sinusoidal(N: int, D: int, *, like: Array | None = None) -> Array:
    r"""Sinusoidal position vectors (N, D): waves of many lengths, a sine and a cosine of each.

    :math:`P_{n,2i} = \sin(n b^{-2i/D})` and :math:`P_{n,2i+1} = \cos(n b^{-2i/D})` with :math:`b = 10000`
    (Vaswani et al. 2017, section 3.5). The dot product of two rows depends on their distance only:
    :math:`\sum_i \cos((n-m) b^{-2i/D})`. An odd D raises a :class:`UsageError`.

    Examples
    --------
    >>> sinusoidal(2, 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    check_sizes(N=N, D=D)
    if D % 2:
        raise UsageError(
            f"sinusoidal positions come in pairs of sine and cosine: expected an even D, found {D}"
        )
    angles = np.arange(N)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)  # (N, D / 2)
    return as_like(np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(N, D), like)


def position_table(N: int, D: int, *, seed: int, like: Array | None = None) -> Array:
    """Table (N, D) of position vectors to be learned, drawn from a normal distribution of deviation 0.02.

    Examples
    --------
    >>> position_table(50, 8, seed=1).shape
    (50, 8)
    """
    check_sizes(N=N, D=D)
    return as_like(generator(seed).normal(0.0, 0.02, (N, D)), like)


def add_positions(words: Array, positions: Array) -> Array:
    """Add to each word (..., N, D) the vector of its position.

    The positions (M, D) are from :func:`sinusoidal` or :func:`position_table`. Fewer positions than words, or
    another D, raise a :class:`UsageError`.

    Examples
    --------
    >>> add_positions([[1.0, 1.0]], [[0.5, 0.0], [0.7, 0.0]])
    array([[1.5, 1. ]])
    """
    words, positions = as_floats(words, positions)
    check_rows(words=words)
    check_axis("positions", positions, -1, words.shape[-1], f"words of shape {tuple(words.shape)}")
    return words + _first(positions, words.shape[-2])


def concatenate_positions(words: Array, positions: Array) -> Array:
    """Put the vector (P,) of its position behind each word (D,), as :func:`add_positions` adds it.

    Examples
    --------
    >>> concatenate_positions([[1.0, 1.0]], [[0.5, 0.0], [0.7, 0.0]])
    array([[1. , 1. , 0.5, 0. ]])
    """
    xp, words, positions = namespace_and_floats(words, positions)
    check_rows(words=words)
    rows = _first(positions, words.shape[-2])
    return concatenate([words, xp.broadcast_to(rows, (*words.shape[:-2], *rows.shape))], axis=-1)


def _first(positions: Array, N: int) -> Array:
    """Return the first N positions."""
    check_matrix("positions", positions)
    if positions.shape[0] < N:
        raise UsageError(f"expected at most {positions.shape[0]} words, one for each position, found {N}")
    return positions[:N, :]


def diagonal_prior(
    T: int, S: int, *, form: str = "centered", strength: float = 1.0, like: Array | None = None
) -> Array:
    r"""Prior (T, S) that source and target words stand at about the same position of their sentences.

    ===============  =====================================================  ============================
    form             entry (t, s), t and s from 0                           how to use it
    ===============  =====================================================  ============================
    ``centered``      :math:`-\lambda\,|(t+.5)/T - (s+.5)/S|`                add to scores
    ``fast_align``   :math:`-\lambda\,|(t+1)/T - (s+1)/S|`                  add to scores
    ``simalign``     :math:`1 - \kappa\,(t/(T-1) - s/(S-1))^2`              multiply similarities by it
    ===============  =====================================================  ============================

    The strength is :math:`\lambda` or :math:`\kappa`, for which SimAlign's own default is 0.5.
    Swapping T and S transposes the prior. ``centered`` compares the middles of the words, so it does not
    change when both sentences are read backwards. An unknown form raises a :class:`UsageError`.

    Examples
    --------
    >>> diagonal_prior(2, 4, strength=8.0)
    array([[-1., -1., -3., -5.],
           [-5., -3., -1., -1.]])

    References
    ----------
    Dyer, Chahuneau & Smith (2013), "A Simple, Fast, and Effective Reparameterization of IBM Model 2", eq. 2;
    Jalili Sabet, Dufter, Yvon & Schütze (2020), "SimAlign", distortion correction.
    """
    check_choice(form, _SCALES, "forms of the diagonal prior")
    check_sizes(T=T, S=S)
    check_number(strength, "the strength of the prior")
    position = _SCALES[form]
    offset = position(T)[:, None] - position(S)  # (T, S)
    if form != "simalign":
        return as_like(-strength * np.abs(offset), like)
    if min(T, S) < 2:  # SimAlign leaves a sentence of one word alone
        strength = 0.0
    return as_like(1 - strength * offset**2, like)


# Where the words of a sentence of N words stand, on a line from 0 to 1.
_SCALES: dict[str, Callable[[int], Doubles]] = {
    "centered": lambda N: (np.arange(N) + 0.5) / N,
    "fast_align": lambda N: np.arange(1, N + 1) / N,
    "simalign": lambda N: np.arange(N) / max(N - 1, 1),
}
