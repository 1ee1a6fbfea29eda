"""Recurrent networks with attention: the GRU, stacked and bidirectional, and Bahdanau's encoder-decoder.

Axes: T target words, S source words, N either, D dimension of a word vector, A size of a state,
Q size of the attention layer. Masks (..., N) are False for padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nmtalign.attention._arrays import (
    Array,
    as_floats,
    check_axis,
    check_matrix,
    check_rows,
    check_sizes,
    concatenate,
    generator,
    namespace,
    namespace_and_floats,
    read_padding,
)
from nmtalign.attention.mechanism import (
    Parameters,
    Seed,
    StateDict,
    attend,
    glorot,
    linear,
    torch_matrix,
    torch_vector,
)
from nmtalign.attention.scores import additive_projected
from nmtalign.errors import UsageError


@dataclass(frozen=True, eq=False, repr=False)
class GRU(Parameters):
    """Parameters of a gated recurrent unit: W (D, 3A) for the word, U (A, 3A) for the state, biases (3A,).

    Columns are reset gate, update gate, new state, A of each. `reset_after` says whether the reset gate acts
    after the product with U, as in PyTorch and cuDNN, or before it, as in the papers of Cho and Bahdanau.
    """

    W: Array
    U: Array
    b_W: Array | None = None
    b_U: Array | None = None
    reset_after: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, matrix in (("W", self.W), ("U", self.U)):
            check_matrix(name, matrix)
            check_axis(name, matrix, -1, 3 * self.U.shape[0], "the state, three times over")

    @classmethod
    def init(cls, D: int, A: int, *, seed: Seed, reset_after: bool = True) -> GRU:
        """Return Glorot-drawn matrices, each gate by itself, and biases of 0."""
        check_sizes(D=D, A=A)
        random = generator(seed)
        W = np.concatenate([glorot(random, D, A) for _ in range(3)], axis=1)
        U = np.concatenate([glorot(random, A, A) for _ in range(3)], axis=1)
        return cls(W, U, np.zeros(3 * A), np.zeros(3 * A), reset_after)

    @classmethod
    def from_torch(cls, state: StateDict, suffix: str = "l0") -> GRU:
        """Read one layer and direction of the state dict of ``torch.nn.GRU(D, A)``.

        It has ``weight_ih_l0`` (3A, D), ``weight_hh_l0`` (3A, A), and, unless made with ``bias=False``,
        ``bias_ih_l0`` and ``bias_hh_l0`` (3A,). The suffix is ``l0`` for the first layer, ``l1_reverse`` for
        the second read from right to left.
        """
        W = torch_matrix(state, f"weight_ih_{suffix}")
        U = torch_matrix(state, f"weight_hh_{suffix}")
        b_W = torch_vector(state, f"bias_ih_{suffix}")
        b_U = torch_vector(state, f"bias_hh_{suffix}")
        return cls(W, U, b_W, b_U)


def gru(
    parameters: GRU,
    words: Array,
    state: Array | None = None,
    *,
    mask: Array | None = None,
    backward: bool = False,
) -> Array:
    r"""All states of a GRU over a sentence, :math:`h' = (1 - z) \odot n + z \odot h`.

    :math:`r = \sigma(x W_r + h U_r)`, :math:`z = \sigma(x W_z + h U_z)`, and the new state
    :math:`n = \tanh(x W_n + r \odot (h U_n))` or, with the reset before the product,
    :math:`n = \tanh(x W_n + (r \odot h) U_n)` (biases omitted here). Cho et al. (2014), "Learning Phrase
    Representations using RNN Encoder-Decoder", eqs. 5 to 8, exchange z and 1 - z.

    Parameters
    ----------
    parameters : GRU
    words : array (..., N, D)
    state : array (..., A), optional
        The state before the first word. Default: 0.
    mask : bool array (..., N), optional
        Over padding the state stays as it is.
    backward : bool
        Whether to read from the last word to the first.

    Returns
    -------
    array (..., N, A)
        Entry n is the state after word n was read.

    Examples
    --------
    >>> gru(GRU.init(3, 2, seed=0), np.zeros((5, 3))).shape
    (5, 2)
    """
    projected = linear(words, parameters.W, parameters.b_W)  # (..., N, 3A)
    check_rows(words=projected)
    xp = namespace(projected)
    N = projected.shape[-2]
    A = parameters.U.shape[0]
    if N == 0:
        return projected[..., :A]
    if state is None:
        state = xp.zeros_like(projected[..., 0, :A])
    else:
        state, _ = as_floats(state, projected)
    check_axis("state", state, -1, A, f"U of shape {tuple(parameters.U.shape)}")
    if mask is not None:
        mask = read_padding(mask, projected)
        check_axis("mask", mask, -1, N, "the words")
    states: list[Array] = [state] * N
    for n in reversed(range(N)) if backward else range(N):
        after = _step(parameters, projected[..., n, :], state)
        state = after if mask is None else xp.where(mask[..., n, None], after, state)
        states[n] = state
    return xp.stack(states, axis=-2)


def _step(p: GRU, projected: Array, state: Array) -> Array:
    """Return the next state from x W + b_W (..., 3A) and the state (..., A)."""
    xp = namespace(state)
    A = state.shape[-1]
    if p.reset_after:
        recurrent = linear(state, p.U, p.b_U)  # (..., 3A)
        gates = _sigmoid(xp, projected[..., : 2 * A] + recurrent[..., : 2 * A])
        inner = gates[..., :A] * recurrent[..., 2 * A :]
    else:
        b_gates, b_new = (None, None) if p.b_U is None else (p.b_U[: 2 * A], p.b_U[2 * A :])
        gates = _sigmoid(xp, projected[..., : 2 * A] + linear(state, p.U[:, : 2 * A], b_gates))
        inner = linear(gates[..., :A] * state, p.U[:, 2 * A :], b_new)
    new = xp.tanh(projected[..., 2 * A :] + inner)
    update = gates[..., A:]
    return new + update * (state - new)


def _sigmoid(xp: Any, x: Array) -> Array:
    return 0.5 + 0.5 * xp.tanh(0.5 * x)  # 1 / (1 + exp(-x)) without overflow


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentEncoder:
    """Parameters of stacked layers; each reads the states of the one below.

    A layer is a GRU from left to right and, if it is bidirectional, one from right to left.
    """

    layers: tuple[tuple[GRU, ...], ...]

    @classmethod
    def init(
        cls, D: int, A: int, *, layers: int, seed: Seed, bidirectional: bool = True, reset_after: bool = True
    ) -> RecurrentEncoder:
        """Return Glorot-drawn parameters."""
        check_sizes(D=D, A=A, layers=layers)
        random = generator(seed)
        directions = range(1 + bidirectional)
        start = partial(GRU.init, A=A, seed=random, reset_after=reset_after)
        sizes = [D] + [len(directions) * A] * (layers - 1)
        return cls(tuple(tuple(start(size) for _ in directions) for size in sizes))

    @classmethod
    def from_torch(cls, state: StateDict) -> RecurrentEncoder:
        """Read the state dict of ``torch.nn.GRU``, of any ``num_layers``, ``bidirectional`` or not.

        For each layer ``l0``, ``l1``, ... it has the names of :meth:`GRU.from_torch`, and those with
        ``_reverse`` behind them for the direction from right to left.
        """
        directions = ("", "_reverse") if "weight_ih_l0_reverse" in state else ("",)
        count = sum(name.startswith("weight_ih_l") for name in state) // len(directions)
        names = [[f"l{index}{direction}" for direction in directions] for index in range(max(1, count))]
        return cls(tuple(tuple(GRU.from_torch(state, name) for name in layer) for layer in names))


def recurrent_encoder(parameters: RecurrentEncoder, words: Array, *, mask: Array | None = None) -> Array:
    r"""States (..., N, A) of the top layer over words (..., N, D); the mask (..., N) is False for padding.

    In a bidirectional layer :math:`h_n = [\overrightarrow{h}_n; \overleftarrow{h}_n]` has 2A entries.

    Examples
    --------
    >>> recurrent_encoder(RecurrentEncoder.init(3, 2, layers=2, seed=0), np.zeros((5, 3))).shape
    (5, 4)
    """
    for layer in parameters.layers:
        states = [gru(unit, words, mask=mask, backward=bool(index)) for index, unit in enumerate(layer)]
        words = concatenate(states, axis=-1)
    return words


@dataclass(frozen=True, eq=False, repr=False)
class Bahdanau(Parameters):
    """Parameters of Bahdanau's encoder-decoder.

    Parameters
    ----------
    encoder : RecurrentEncoder
        One bidirectional layer; its states are the annotations h (S, 2A).
    decoder : GRU
        Reads the word before and the context, ``[y; c]`` of D_t + 2A entries; its states are s (T, A).
    W_a, U_a, v_a : arrays (A, Q), (2A, Q) and (Q,)
        The alignment model.
    W_s : array (A, A)
        Makes the first state from the backward state at the first source word.
    """

    encoder: RecurrentEncoder
    decoder: GRU
    W_a: Array
    U_a: Array
    v_a: Array
    W_s: Array

    @classmethod
    def init(cls, D_s: int, D_t: int, A: int, Q: int, *, seed: Seed) -> Bahdanau:
        """Return Glorot-drawn parameters, with the reset gate of the paper (before the product)."""
        check_sizes(D_s=D_s, D_t=D_t, A=A, Q=Q)
        random = generator(seed)
        return cls(
            RecurrentEncoder.init(D_s, A, layers=1, seed=random, reset_after=False),
            GRU.init(D_t + 2 * A, A, seed=random, reset_after=False),
            *(glorot(random, *shape) for shape in ((A, Q), (2 * A, Q), (Q,), (A, A))),
        )


class Annotations(NamedTuple):
    """A source sentence as the decoder sees it."""

    states: Array  # h (..., S, 2A)
    keys: Array  # h U_a (..., S, Q)
    first_state: Array  # s_0 (..., A)


def annotate(parameters: Bahdanau, source: Array, *, mask: Array | None = None) -> Annotations:
    r"""Bahdanau's encoder: annotations :math:`h_s` and the first state.

    The first state is :math:`s_0 = \tanh(W_s^\top \overleftarrow{h}_1)`.
    Reads source words (..., S, D_s); the mask (..., S) is False for padding (Bahdanau, Cho & Bengio 2014,
    sections A.2.1 and A.2.2).
    """
    states = recurrent_encoder(parameters.encoder, source, mask=mask)  # (..., S, 2A)
    xp = namespace(states)
    A = parameters.W_s.shape[0]
    first = xp.tanh(linear(states[..., 0, A:], parameters.W_s))
    return Annotations(states, linear(states, parameters.U_a), first)


class Step(NamedTuple):
    """One step of Bahdanau's decoder: the state s (..., A), the weights (..., S), the context (..., 2A)."""

    state: Array
    weights: Array
    context: Array


def decode_step(
    parameters: Bahdanau, word: Array, state: Array, source: Annotations, *, mask: Array | None = None
) -> Step:
    r"""One step of Bahdanau's decoder: align, take the context, move to the next state.

    :math:`e_s = v_a^\top \tanh(W_a^\top s_{t-1} + U_a^\top h_s)`, :math:`\alpha = \mathrm{softmax}(e)`,
    :math:`c_t = \sum_s \alpha_s h_s`, and :math:`s_t = \mathrm{GRU}([y_{t-1}; c_t], s_{t-1})` (Bahdanau et
    al. 2014, section 3.1 and A.1.2). The word (..., D_t) and the state (..., A) are those before; `source` is
    from :func:`annotate`, with the same mask.
    """
    word, state = as_floats(word, state)
    if word.ndim != state.ndim:
        shapes = f"{tuple(word.shape)} and {tuple(state.shape)}"
        raise UsageError(f"the word and the state must have the same leading axes, found shapes {shapes}")
    attended = attend(
        linear(state, parameters.W_a)[..., None, :],  # (..., 1, Q)
        source.keys,
        source.states,
        score=lambda queries, keys: additive_projected(queries, keys, parameters.v_a),
        mask=None if mask is None else read_padding(mask, state)[..., None, :],
    )
    context, weights = (part[..., 0, :] for part in attended)
    inputs = concatenate([word, context], axis=-1)[..., None, :]  # one word: (..., 1, D_t + 2A)
    return Step(gru(parameters.decoder, inputs, state)[..., 0, :], weights, context)


def align_sentence(parameters: Bahdanau, source: Array, target: Array, *, mask: Array | None = None) -> Step:
    """Bahdanau's model over a sentence pair whose translation is known (2014, Figure 3).

    Parameters
    ----------
    parameters : Bahdanau
    source, target : arrays (..., S, D_s) and (..., T, D_t)
        With the same leading axes; an empty sentence raises a :class:`~nmtalign.errors.UsageError`.
    mask : bool array (..., S), optional

    Returns
    -------
    Step
        States (..., T, A), weights (..., T, S) and contexts (..., T, 2A). Row t is the step that chooses
        target word t. Its state knows the words before t (a zero vector before the first); its weights and
        context come from the state before, so they know one word less.

    Examples
    --------
    >>> parameters = Bahdanau.init(3, 4, A=5, Q=6, seed=0)
    >>> align_sentence(parameters, np.ones((7, 3)), np.ones((2, 4))).weights.shape
    (2, 7)
    """
    xp, source, target = namespace_and_floats(source, target)
    check_rows(source=source, target=target)
    if source.shape[-2] == 0 or target.shape[-2] == 0:
        raise UsageError(f"expected words on both sides, found {source.shape[-2]} and {target.shape[-2]}")
    if source.shape[:-2] != target.shape[:-2]:
        shapes = f"{tuple(source.shape)} and {tuple(target.shape)}"
        raise UsageError(f"source and target must have the same leading axes, found shapes {shapes}")
    annotations = annotate(parameters, source, mask=mask)
    state = annotations.first_state
    word = xp.zeros_like(target[..., 0, :])
    steps = []
    for t in range(target.shape[-2]):
        steps.append(decode_step(parameters, word, state, annotations, mask=mask))
        state = steps[-1].state
        word = target[..., t, :]
    return Step(*(xp.stack(list(part), axis=-2) for part in zip(*steps, strict=True)))
