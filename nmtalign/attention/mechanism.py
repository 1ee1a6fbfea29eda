"""Attention: each query takes the mean of the values, weighted by how well their keys fit.

Axes: B leading axes, T target words (queries), S source words (keys and values), D dimension, H heads.
Masks are True where a query may look, or floats to add to the scores. Shapes that do not fit raise a
:class:`~nmtalign.errors.UsageError`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nmtalign.arrays import AnyArray, Doubles
from nmtalign.attention._arrays import (
    Array,
    as_floats,
    check_axis,
    check_matrix,
    check_rows,
    check_sizes,
    check_to_fit,
    generator,
    namespace_and_floats,
    read_bias,
    read_mask,
)
from nmtalign.attention.scores import scaled_dot
from nmtalign.attention.weights import mask_scores, softmax
from nmtalign.errors import DataError, UsageError
from nmtalign.validation import check_number

Score = Callable[[Array, Array], Array]
Seed: TypeAlias = int | np.random.Generator
StateDict: TypeAlias = Mapping[str, Any]  # a state of PyTorch: names to tensors


class AttentionOutput(NamedTuple):
    """What attention gives: ``context`` (..., T, D_v) and the ``weights`` (..., T, S) that made it."""

    context: Array
    weights: Array


def attend(
    queries: Array,
    keys: Array,
    values: Array | None = None,
    *,
    score: Score = scaled_dot,
    normalize: Callable[[Array], Array] = softmax,
    mask: Array | None = None,
    bias: Array | None = None,
) -> AttentionOutput:
    r"""Attention in its three steps: scores, weights, and the context :math:`c_t = \sum_s \alpha_{ts} v_s`.

    Parameters
    ----------
    queries : array (..., T, D) or (D,)
    keys : array (..., S, D)
    values : array (..., S, D_v), optional
        Default: the keys, as in Bahdanau's model.
    score : function of the queries and the keys
        For instance :func:`dot` or :func:`cosine`; give weights of its own with a lambda.
    normalize : function of scores
        :func:`softmax`, :func:`sparsemax` or :func:`entmax15`.
    mask : array that broadcasts to (..., T, S), optional
        True where the query may look, or floats that are added to the scores, as :func:`mask_scores` has it.
    bias : array that broadcasts to (..., T, S), optional
        Added to the scores, for instance :func:`diagonal_prior`.

    Returns
    -------
    AttentionOutput
        A context lies between the smallest and the largest value, entry by entry; it is 0 for a query
        that may look nowhere.

    Examples
    --------
    >>> import nmtalign as na
    >>> words = [[2, 4], [1, 2], [2, 0.1]]
    >>> na.attention.attend(words, words, score=na.attention.dot, mask=na.attention.causal_mask(3)).context
    array([[2.        , 4.        ],
           [1.99330715, 3.9866143 ],
           [1.9380247 , 2.39913188]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 1.
    """
    xp, queries, keys, values = namespace_and_floats(queries, keys, keys if values is None else values)
    check_rows(keys=keys)
    check_axis("values", values, -2, keys.shape[-2], f"keys of shape {tuple(keys.shape)}")
    scores = score(queries, keys)  # (..., T, S)
    if bias is not None:
        bias = read_bias(bias, scores)
        check_to_fit("bias", bias, scores)
        scores = scores + bias
    weights = normalize(mask_scores(scores, mask))
    return AttentionOutput(xp.matmul(weights, values), weights)


def self_attention(
    words: Array,
    W_Q: Array,
    W_K: Array,
    W_V: Array,
    *,
    score: Score = scaled_dot,
    normalize: Callable[[Array], Array] = softmax,
    mask: Array | None = None,
    bias: Array | None = None,
) -> AttentionOutput:
    r"""Sequence-stacked self-attention, :math:`\mathrm{softmax}(X W_Q (X W_K)^\top / \sqrt{D})\, X W_V`.

    It is :func:`cross_attention` of the words X (..., N, D_in) with themselves; ``mask=causal_mask(N)`` gives
    masked self-attention.

    Examples
    --------
    >>> self_attention([[1, 0], [0, 1]], [[9, 0], [0, 9]], [[9, 0], [0, 9]], [[1], [2]]).context
    array([[1.],
           [2.]])
    """
    return cross_attention(
        words, words, W_Q, W_K, W_V, score=score, normalize=normalize, mask=mask, bias=bias
    )


def cross_attention(
    target: Array,
    source: Array,
    W_Q: Array,
    W_K: Array,
    W_V: Array,
    *,
    score: Score = scaled_dot,
    normalize: Callable[[Array], Array] = softmax,
    mask: Array | None = None,
    bias: Array | None = None,
) -> AttentionOutput:
    """Cross-attention: queries from the target words, keys and values from the source words.

    The target words (..., T, D_t) and source words (..., S, D_s) are multiplied by W_Q (D_t, D), W_K (D_s, D)
    and W_V (D_s, D_v); the options are those of :func:`attend`.

    Examples
    --------
    >>> eye = [[9, 0], [0, 9]]
    >>> cross_attention([[1, 0]], [[0, 1], [1, 0]], eye, eye, [[1], [2]]).context
    array([[1.]])
    """
    queries = linear(target, W_Q)
    keys = linear(source, W_K)
    values = linear(source, W_V)
    return attend(queries, keys, values, score=score, normalize=normalize, mask=mask, bias=bias)


# --- parameters ----------------------------------------------------------------------------------
#
# A dataclass of parameters contains arrays, numbers, other such dataclasses, and tuples of them. PyTorch
# keeps a layer as a matrix (out, in) for x @ matrix.T; here W is (in, out) for x @ W, so matrices are
# transposed when they are read.


class Parameters:
    """What every dataclass of parameters does: lists of numbers, and tables, become arrays."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if not str(field.type).startswith("Array") or (value is None and "None" in str(field.type)):
                continue
            array = value if isinstance(value, np.ndarray) else as_floats(value)[0]
            object.__setattr__(self, field.name, array)


def glorot(random: np.random.Generator, *shape: int) -> Doubles:
    r"""Glorot's uniform start: between :math:`\pm\sqrt{6 / (n_{in} + n_{out})}`, of variance
    :math:`2 / (n_{in} + n_{out})`.

    The last two of `shape` are :math:`n_{in}` and :math:`n_{out}`; a vector counts as one column. One seeded
    generator starts a whole model (Glorot & Bengio 2010, "Understanding the Difficulty of Training Deep
    Feedforward Neural Networks", eq. 16).

    Examples
    --------
    >>> bool(abs(glorot(np.random.default_rng(0), 100, 200)).max() < (6 / 300) ** 0.5)
    True
    """
    fan_in, fan_out = (shape[-2], shape[-1]) if len(shape) > 1 else (shape[0], 1)
    limit = math.sqrt(6 / (fan_in + fan_out))
    return random.uniform(-limit, limit, shape)


def map_arrays(function: Callable[[Array], Array], parameters: Any) -> Any:
    """Return a copy of `parameters` with `function` applied to every array, such as ``torch.asarray``.

    Examples
    --------
    >>> from nmtalign.attention import LayerNorm
    >>> map_arrays(lambda a: a.astype("float32"), LayerNorm.init(2)).gain
    array([1., 1.], dtype=float32)
    """
    if isinstance(parameters, tuple):
        return tuple(map_arrays(function, part) for part in parameters)
    if dataclasses.is_dataclass(parameters):
        kind: Any = type(parameters)
        return kind(**{name: map_arrays(function, part) for name, part in vars(parameters).items()})
    return parameters if isinstance(parameters, bool | int | float | str | None) else function(parameters)


def torch_part(state: StateDict, prefix: str) -> dict[str, Any]:
    """Return the entries of a PyTorch state dict below `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def torch_matrix(state: StateDict, name: str) -> AnyArray:
    """Return the matrix (out, in) called `name` of a PyTorch state dict as (in, out)."""
    return np.ascontiguousarray(torch_array(state, name).T)


def torch_array(state: StateDict, name: str) -> AnyArray:
    """Return the entry called `name` of a PyTorch state dict as a NumPy array."""
    if name not in state:
        raise DataError(f"expected {name!r} in the state dict, found {', '.join(sorted(state)) or 'nothing'}")
    return np.array(state[name])


def torch_vector(state: StateDict, name: str) -> AnyArray | None:
    """Return the entry called `name`, or None for a layer that was made with ``bias=False``."""
    return torch_array(state, name) if name in state else None


# --- several heads -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class MultiHead(Parameters):
    """Parameters of multi-head attention: W_Q (D_t, D), W_K and W_V (D_s, D), W_O (D, D_out), and biases.

    Head h of H owns the columns from ``h * D / H`` to ``(h + 1) * D / H`` of the first three. A
    :class:`UsageError` is raised unless H divides D. W_O is the output projection, called Y in some texts.
    """

    W_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    heads: int
    b_Q: Array | None = None
    b_K: Array | None = None
    b_V: Array | None = None
    b_O: Array | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            check_matrix(name, getattr(self, name))
        check_number(self.heads, "a number of heads, 1 or more", integer=True)
        size = self.W_Q.shape[-1]
        if self.heads < 1 or size % self.heads:
            raise UsageError(
                f"{size} dimensions do not divide into {self.heads} heads;"
                f" choose a number of heads that divides {size}"
            )

    @classmethod
    def init(cls, D: int, heads: int, *, seed: Seed) -> MultiHead:
        """Return Glorot-drawn matrices (D, D) and biases of 0."""
        check_sizes(D=D)
        random = generator(seed)
        W_Q, W_K, W_V, W_O = (glorot(random, D, D) for _ in range(4))
        zero = np.zeros(D)
        return cls(W_Q, W_K, W_V, W_O, heads, zero, zero, zero, zero)

    @classmethod
    def from_torch(cls, state: StateDict, heads: int) -> MultiHead:
        """Read the state dict of ``torch.nn.MultiheadAttention(D, heads)``.

        It has ``in_proj_weight`` (3D, D), or ``q_proj_weight`` (D, D), ``k_proj_weight`` (D, kdim) and
        ``v_proj_weight`` (D, vdim); ``out_proj.weight`` (D, D); and, unless made with ``bias=False``,
        ``in_proj_bias`` (3D,) and ``out_proj.bias`` (D,). A missing entry and a layer made with
        ``add_bias_kv=True`` raise a :class:`DataError`.
        """
        if "bias_k" in state:
            raise DataError("expected a layer without bias_k and bias_v; make it with add_bias_kv=False")
        if "in_proj_weight" in state:
            W_Q, W_K, W_V = np.split(torch_matrix(state, "in_proj_weight"), 3, axis=1)
        else:
            W_Q, W_K, W_V = (torch_matrix(state, f"{part}_proj_weight") for part in "qkv")
        b_in = torch_vector(state, "in_proj_bias")
        b_Q, b_K, b_V = (None, None, None) if b_in is None else np.split(b_in, 3)
        W_O = torch_matrix(state, "out_proj.weight")
        return cls(W_Q, W_K, W_V, W_O, heads, b_Q, b_K, b_V, torch_vector(state, "out_proj.bias"))


def multi_head(
    parameters: MultiHead,
    queries: Array,
    keys: Array | None = None,
    values: Array | None = None,
    *,
    mask: Array | None = None,
    bias: Array | None = None,
    score: Score = scaled_dot,
    normalize: Callable[[Array], Array] = softmax,
) -> AttentionOutput:
    r"""Multi-head attention: H attentions side by side, then a projection, :math:`[c_1; \dots; c_H] W_O`.

    Each head divides its scores by :math:`\sqrt{D/H}` (Vaswani et al. 2017, section 3.2.2).

    Parameters
    ----------
    parameters : MultiHead
    queries : array (..., T, D_t)
    keys, values : arrays (..., S, D_s), optional
        Default: the keys are the queries (self-attention), the values are the keys.
    mask, bias, score, normalize :
        As in :func:`attend`. The mask is the same for all heads; a bias broadcasts to (..., H, T, S).

    Returns
    -------
    AttentionOutput
        The context (..., T, D_out), and the weights of every head (..., H, T, S).

    Examples
    --------
    >>> multi_head(MultiHead.init(4, heads=2, seed=0), np.ones((3, 4))).weights.shape
    (2, 3, 3)
    """
    keys = queries if keys is None else keys
    values = keys if values is None else values
    p = parameters
    H = p.heads
    queries = linear(queries, p.W_Q, p.b_Q)
    check_rows(queries=queries)
    mask = mask if mask is None else read_mask(mask, queries)
    context, weights = attend(
        _split_heads(queries, H),  # (..., H, T, D_h)
        _split_heads(linear(keys, p.W_K, p.b_K), H),  # (..., H, S, D_h)
        _split_heads(linear(values, p.W_V, p.b_V), H),
        mask=mask if mask is None or mask.ndim < 3 else mask[..., None, :, :],
        bias=bias,
        score=score,
        normalize=normalize,
    )
    return AttentionOutput(linear(_merge_heads(context), p.W_O, p.b_O), weights)


def linear(x: Array, W: Array, b: Array | None = None) -> Array:
    """Linear layer ``x @ W + b`` over the last axis, as one product of two matrices.

    Examples
    --------
    >>> linear([[1, 2]], [[3], [4]], [5])
    array([[16.]])
    """
    xp, x, W = namespace_and_floats(x, W)
    check_matrix("W", W)
    check_axis("W", W, -2, x.shape[-1], f"x of shape {tuple(x.shape)}")
    rows = xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    y = xp.reshape(xp.matmul(rows, W), (*x.shape[:-1], W.shape[-1]))
    if b is None:
        return y
    b, _ = as_floats(b, W)
    check_axis("b", b, -1, W.shape[-1], f"W of shape {tuple(W.shape)}")
    return y + b


def _split_heads(x: Array, heads: int) -> Array:
    """Return x (..., N, D) as (..., H, N, D / H): the axis of heads becomes a leading axis."""
    xp, x = namespace_and_floats(x)
    return xp.moveaxis(xp.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads)), -2, -3)


def _merge_heads(x: Array) -> Array:
    """Return x (..., H, N, D_h) as (..., N, H D_h)."""
    xp, x = namespace_and_floats(x)
    x = xp.moveaxis(x, -3, -2)  # (..., N, H, D_h)
    return xp.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))
