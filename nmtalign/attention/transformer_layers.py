"""The Transformer: layer normalization, feed-forward, encoder block, decoder block, the whole forward pass.

Words come in as vectors (..., N, D) to which positions were added; what comes out has the same shape.

Axes: T target words, S source words, N either, D dimension, F inner dimension of the feed-forward layer,
H heads. Masks are True where a query may look, or floats to add to the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nmtalign.attention._arrays import (
    Array,
    as_floats,
    check_axis,
    check_rows,
    check_sizes,
    check_to_fit,
    error_function,
    generator,
    namespace,
    namespace_and_floats,
    read_mask,
)
from nmtalign.attention.mechanism import (
    AttentionOutput,
    MultiHead,
    Parameters,
    Seed,
    StateDict,
    glorot,
    linear,
    multi_head,
    torch_array,
    torch_matrix,
    torch_part,
    torch_vector,
)
from nmtalign.attention.weights import causal_mask, mask_scores
from nmtalign.errors import UsageError
from nmtalign.validation import check_choice


@dataclass(frozen=True, eq=False, repr=False)
class LayerNorm(Parameters):
    r"""Parameters of layer normalization: ``gain`` (D,), ``bias`` (D,) or None, and ``epsilon``.

    `eps_on_std` says whether epsilon is added to the standard deviation, :math:`\sigma + \epsilon`, or to
    the variance under the root, :math:`\sqrt{\sigma^2 + \epsilon}`, as in PyTorch.
    """

    gain: Array
    bias: Array | None = None
    epsilon: float = 1e-5
    eps_on_std: bool = False

    @classmethod
    def init(cls, D: int, *, eps_on_std: bool = False) -> LayerNorm:
        """Return gain 1 and bias 0."""
        check_sizes(D=D)
        return cls(np.ones(D), np.zeros(D), eps_on_std=eps_on_std)

    @classmethod
    def from_torch(cls, state: StateDict, *, epsilon: float = 1e-5) -> LayerNorm:
        """Read the state dict of ``torch.nn.LayerNorm(D)``: ``weight`` (D,) and ``bias`` (D,)."""
        return cls(torch_array(state, "weight"), torch_vector(state, "bias"), epsilon)


def layer_norm(parameters: LayerNorm, x: Array) -> Array:
    r"""Layer normalization of each word by itself: :math:`\gamma\,(x-\mu)/\sqrt{\sigma^2+\epsilon}+\beta`.

    With `eps_on_std` it divides by :math:`\sigma+\epsilon`.
    With gain 1 and bias 0 every vector of x (..., D) gets mean 0 and variance
    :math:`\sigma^2 / (\sigma^2 + \epsilon)` (Ba, Kiros & Hinton 2016, "Layer Normalization", eq. 4).

    Examples
    --------
    >>> layer_norm(LayerNorm.init(2), [[1.0, 3.0]]).round(3)
    array([[-1.,  1.]])
    >>> layer_norm(LayerNorm([1.0, 1.0], epsilon=1.0, eps_on_std=True), [[1.0, 3.0]])
    array([[-0.5,  0.5]])
    """
    p = parameters
    xp, x = namespace_and_floats(x)
    namespace(x, p.gain)  # an error unless both are of one library
    for name, array in (("gain", p.gain), *([] if p.bias is None else [("bias", p.bias)])):
        check_axis(name, array, -1, x.shape[-1], f"x of shape {tuple(x.shape)}")
    centered = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centered * centered, axis=-1, keepdims=True)
    spread = xp.sqrt(variance) + p.epsilon if p.eps_on_std else xp.sqrt(variance + p.epsilon)
    normed = centered / spread * p.gain
    return normed if p.bias is None else normed + p.bias


@dataclass(frozen=True, eq=False, repr=False)
class FeedForward(Parameters):
    """Parameters of a feed-forward layer: ``W_1`` (D, F), ``b_1`` (F,), ``W_2`` (F, D), ``b_2`` (D,).

    `activation` is "relu", "gelu" as BERT has it, or "tanh".
    """

    W_1: Array
    W_2: Array
    b_1: Array | None = None
    b_2: Array | None = None
    activation: str = "relu"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.activation, _ACTIVATIONS, "activations")

    @classmethod
    def init(cls, D: int, F: int, *, seed: Seed, activation: str = "relu") -> FeedForward:
        """Return Glorot-drawn matrices and biases of 0."""
        check_sizes(D=D, F=F)
        random = generator(seed)
        return cls(glorot(random, D, F), glorot(random, F, D), np.zeros(F), np.zeros(D), activation)

    @classmethod
    def from_torch(cls, state: StateDict, *, activation: str) -> FeedForward:
        """Read ``linear1`` and ``linear2`` of a PyTorch encoder or decoder layer."""
        W_1 = torch_matrix(state, "linear1.weight")
        W_2 = torch_matrix(state, "linear2.weight")
        b_1 = torch_vector(state, "linear1.bias")
        b_2 = torch_vector(state, "linear2.bias")
        return cls(W_1, W_2, b_1, b_2, activation)


def feed_forward(parameters: FeedForward, x: Array) -> Array:
    r"""Position-wise feed-forward layer: :math:`\max(0, x W_1 + b_1) W_2 + b_2`.

    It works on each word of x (..., N, D) by itself and is the non-linearity that attention lacks (Vaswani et
    al. 2017, eq. 2). GELU takes :math:`z \Phi(z)` for the maximum, with the normal distribution function
    :math:`\Phi` (Hendrycks & Gimpel 2016, "Gaussian Error Linear Units").

    Examples
    --------
    >>> feed_forward(FeedForward(np.eye(2), np.eye(2)), [[-1.0, 2.0]])
    array([[0., 2.]])
    """
    (x,) = as_floats(x)
    inner = linear(x, parameters.W_1, parameters.b_1)  # (..., N, F)
    return linear(_ACTIVATIONS[parameters.activation](inner), parameters.W_2, parameters.b_2)


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: namespace(x).clip(x, 0.0, None),
    "gelu": lambda x: x * (1 + error_function(x * math.sqrt(0.5))) / 2,
    "tanh": lambda x: namespace(x).tanh(x),
}


@dataclass(frozen=True, eq=False, repr=False)
class TransformerBlock:
    """Parameters of a block; that of a decoder which reads an encoder has cross-attention.

    There is one norm for each sub-layer: self-attention, cross-attention if there is one, feed-forward.
    `pre_norm` says whether each sub-layer reads normalized words (pre-norm), or the sums behind them are
    normalized (post-norm, as first published).
    """

    self_attention: MultiHead
    feed_forward: FeedForward
    norms: tuple[LayerNorm, ...]
    cross_attention: MultiHead | None = None
    pre_norm: bool = False

    def __post_init__(self) -> None:
        count = 2 if self.cross_attention is None else 3
        if len(self.norms) != count:
            raise UsageError(f"expected {count} norms, one for each sub-layer, found {len(self.norms)}")

    @classmethod
    def init(
        cls,
        D: int,
        heads: int,
        F: int,
        *,
        seed: Seed,
        decoder: bool = False,
        pre_norm: bool = False,
        activation: str = "relu",
    ) -> TransformerBlock:
        """Return Glorot-drawn matrices, biases of 0 and gains of 1; a `decoder` has cross-attention."""
        check_sizes(D=D, F=F)
        random = generator(seed)
        attention = MultiHead.init(D, heads, seed=random)
        cross = MultiHead.init(D, heads, seed=random) if decoder else None
        norms = (LayerNorm.init(D),) * (3 if decoder else 2)
        inner = FeedForward.init(D, F, seed=random, activation=activation)
        return cls(attention, inner, norms, cross, pre_norm)

    @classmethod
    def from_torch(
        cls, state: StateDict, heads: int, *, activation: str, pre_norm: bool = False, epsilon: float = 1e-5
    ) -> TransformerBlock:
        """Read the state dict of a ``torch.nn.TransformerEncoderLayer`` or ``...DecoderLayer``.

        It has ``self_attn.*`` as in :meth:`MultiHead.from_torch`; ``linear1.weight`` (F, D), ``linear1.bias``
        (F,), ``linear2.weight`` (D, F), ``linear2.bias`` (D,); ``norm1.weight`` and ``norm1.bias`` (D,), and
        so ``norm2``. A decoder layer has ``multihead_attn.*`` (the cross-attention) and ``norm3.*`` besides.
        `heads`, `activation` ("relu" or "gelu"), `pre_norm` and `epsilon` are ``nhead``, ``activation``,
        ``norm_first`` and ``layer_norm_eps`` of the layer; they are not part of a state dict.
        """
        cross = torch_part(state, "multihead_attn.")
        norms = [torch_part(state, f"norm{i}.") for i in ((1, 2, 3) if cross else (1, 2))]
        return cls(
            MultiHead.from_torch(torch_part(state, "self_attn."), heads),
            FeedForward.from_torch(state, activation=activation),
            tuple(LayerNorm.from_torch(norm, epsilon=epsilon) for norm in norms),
            MultiHead.from_torch(cross, heads) if cross else None,
            pre_norm,
        )


def _residual(
    p: TransformerBlock, number: int, x: Array, sublayer: Callable[[Array], AttentionOutput]
) -> AttentionOutput:
    """Residual connection around a sub-layer f: ``x + f(norm(x))`` in pre-norm, else ``norm(x + f(x))``."""
    norm = p.norms[number]
    y, weights = sublayer(layer_norm(norm, x) if p.pre_norm else x)
    check_axis("words", x, -1, y.shape[-1], "the parameters of the block")
    return AttentionOutput(x + y if p.pre_norm else layer_norm(norm, x + y), weights)


def _feed_forward(p: TransformerBlock, x: Array) -> Array:
    return _residual(
        p, -1, x, lambda words: AttentionOutput(feed_forward(p.feed_forward, words), None)
    ).context


def encoder_block(parameters: TransformerBlock, x: Array, *, mask: Array | None = None) -> AttentionOutput:
    """Encoder block: multi-head self-attention and feed-forward, each with residual and normalization.

    Gives the words (..., S, D) and the weights of each head (..., H, S, S). The mask, for instance a padding
    mask, broadcasts to (..., S, S). References: Vaswani et al. (2017), section 3.1; Xiong et al. (2020), "On
    Layer Normalization in the Transformer Architecture" (pre-norm).

    Examples
    --------
    >>> encoder_block(TransformerBlock.init(4, 2, 8, seed=0), np.eye(4)).context.shape
    (4, 4)
    """
    p = parameters
    (x,) = as_floats(x)
    x, weights = _residual(p, 0, x, partial(multi_head, p.self_attention, mask=mask))
    return AttentionOutput(_feed_forward(p, x), weights)


class DecoderOutput(NamedTuple):
    """Output of a decoder block: the words, and the weights of each head of its two attentions."""

    words: Array  # (..., T, D)
    self_weights: Array  # (..., H, T, T)
    cross_weights: Array | None  # (..., H, T, S); None of a decoder without an encoder


def decoder_block(
    parameters: TransformerBlock,
    x: Array,
    memory: Array | None = None,
    *,
    mask: Array | None = None,
    memory_mask: Array | None = None,
) -> DecoderOutput:
    """Decoder block: causal self-attention, cross-attention to the encoder's output, and feed-forward.

    A decoder-only block has no cross-attention (Radford et al. 2018, "Improving Language Understanding by
    Generative Pre-Training", section 3.1).

    Parameters
    ----------
    parameters : TransformerBlock
        With cross-attention if, and only if, there is a memory.
    x : array (..., T, D)
        Target words.
    memory : array (..., S, D), optional
        The encoder's output, which gives keys and values of the cross-attention.
    mask, memory_mask : arrays that broadcast to (..., T, T) and (..., T, S), optional
        Where target words may look, as in :func:`attend`; the future is masked in any case.

    Examples
    --------
    >>> block = TransformerBlock.init(4, 2, 8, decoder=True, seed=0)
    >>> decoder_block(block, np.eye(4), np.ones((3, 4))).cross_weights.shape
    (2, 4, 3)
    >>> decoder_block(TransformerBlock.init(4, 2, 8, seed=0), np.eye(4)).words.shape  # decoder-only
    (4, 4)
    """
    p = parameters
    (x,) = as_floats(x)
    check_rows(x=x)
    past = causal_mask(x.shape[-2], like=x)
    if mask is None:
        mask = past
    else:
        mask = read_mask(mask, x)
        check_to_fit("mask", mask, past)
        mask = mask_scores(mask, past) if mask.dtype == x.dtype else mask & past
    x, self_weights = _residual(p, 0, x, partial(multi_head, p.self_attention, mask=mask))
    if p.cross_attention is None and memory is None:
        return DecoderOutput(_feed_forward(p, x), self_weights, None)
    if p.cross_attention is None or memory is None:
        lacking = "a memory" if memory is None else "a block with cross-attention"
        raise UsageError(f"expected {lacking}; cross-attention and memory come together")
    from_memory = partial(multi_head, p.cross_attention, keys=memory, mask=memory_mask)
    x, cross_weights = _residual(p, 1, x, from_memory)
    return DecoderOutput(_feed_forward(p, x), self_weights, cross_weights)


@dataclass(frozen=True, eq=False, repr=False)
class Transformer:
    """Parameters of an encoder-decoder: its blocks, and the normalization behind each stack."""

    encoder: tuple[TransformerBlock, ...]
    decoder: tuple[TransformerBlock, ...]
    encoder_norm: LayerNorm
    decoder_norm: LayerNorm

    @classmethod
    def init(
        cls,
        D: int,
        heads: int,
        F: int,
        *,
        layers: int,
        seed: Seed,
        pre_norm: bool = False,
        activation: str = "relu",
    ) -> Transformer:
        """Return Glorot-drawn matrices, biases of 0 and gains of 1, with `layers` blocks in each stack.

        `pre_norm` and `activation` are those of :meth:`TransformerBlock.init`.
        """
        check_sizes(layers=layers)
        random = generator(seed)
        start = partial(
            TransformerBlock.init, D, heads, F, seed=random, pre_norm=pre_norm, activation=activation
        )
        encoder = tuple(start() for _ in range(layers))
        decoder = tuple(start(decoder=True) for _ in range(layers))
        return cls(encoder, decoder, LayerNorm.init(D), LayerNorm.init(D))

    @classmethod
    def from_torch(
        cls, state: StateDict, heads: int, *, activation: str, pre_norm: bool = False, epsilon: float = 1e-5
    ) -> Transformer:
        """Read the state dict of ``torch.nn.Transformer``.

        It has ``encoder.layers.0.*`` and on, ``decoder.layers.0.*`` and on, with the names and settings of
        :meth:`TransformerBlock.from_torch`; ``encoder.norm.*`` and ``decoder.norm.*``.
        """
        encoder = torch_part(state, "encoder.")
        decoder = torch_part(state, "decoder.")
        read = partial(
            TransformerBlock.from_torch,
            heads=heads,
            activation=activation,
            pre_norm=pre_norm,
            epsilon=epsilon,
        )
        return cls(
            tuple(map(read, _torch_layers(encoder))),
            tuple(map(read, _torch_layers(decoder))),
            LayerNorm.from_torch(torch_part(encoder, "norm."), epsilon=epsilon),
            LayerNorm.from_torch(torch_part(decoder, "norm."), epsilon=epsilon),
        )


def _torch_layers(state: StateDict) -> list[dict[str, Any]]:
    """Return the parts ``layers.0``, ``layers.1``, ... of a state dict, in order."""
    count = len({name.split(".")[1] for name in state if name.startswith("layers.")})
    return [torch_part(state, f"layers.{index}.") for index in range(count)]


class TransformerOutput(NamedTuple):
    """Output of the forward pass; the weights are tuples with one entry for each block."""

    words: Array  # (..., T, D)
    memory: Array  # (..., S, D)
    encoder_weights: tuple[Array, ...]  # (..., H, S, S)
    decoder_weights: tuple[Array, ...]  # (..., H, T, T)
    cross_weights: tuple[Array, ...]  # (..., H, T, S)


def transformer(
    parameters: Transformer,
    source: Array,
    target: Array,
    *,
    source_mask: Array | None = None,
    target_mask: Array | None = None,
) -> TransformerOutput:
    """Full encoder-decoder forward pass with its three kinds of attention (Vaswani et al. 2017, Figure 1).

    Target word t depends on all source words and on the target words 0 to t.

    Parameters
    ----------
    parameters : Transformer
    source, target : arrays (..., S, D) and (..., T, D)
        Vectors of the source words, and of the target words known so far, positions included.
    source_mask, target_mask : arrays that broadcast to (..., 1, S) and (..., T, T), optional
        False for padding, where no word may look, or floats as in :func:`attend`; the future is masked in
        any case.

    Examples
    --------
    >>> parameters = Transformer.init(4, 2, 8, layers=2, seed=0)
    >>> transformer(parameters, np.ones((3, 4)), np.eye(4)).words.shape
    (4, 4)
    """
    p = parameters
    memory, words = as_floats(source, target)
    encoded, decoded = [], []
    for block in p.encoder:
        encoded.append(encoder_block(block, memory, mask=source_mask))
        memory = encoded[-1].context
    memory = layer_norm(p.encoder_norm, memory)
    for block in p.decoder:
        decoded.append(decoder_block(block, words, memory, mask=target_mask, memory_mask=source_mask))
        words = decoded[-1].words
    return TransformerOutput(
        layer_norm(p.decoder_norm, words),
        memory,
        tuple(block.weights for block in encoded),
        tuple(block.self_weights for block in decoded),
        tuple(block.cross_weights for block in decoded),
    )
