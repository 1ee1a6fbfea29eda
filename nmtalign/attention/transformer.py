"""The Transformer: layer normalisation, feed-forward, encoder block, decoder block, the whole forward pass.

Words come in as vectors (..., N, D) to which positions were added; what comes out has the same shape.

Axes: T target words, S source words, N either, D dimension, F inner dimension of the feed-forward layer,
H heads. Masks are True where a query may look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nmtalign.attention._arrays import Array, as_floats
from nmtalign.attention.mechanism import Attended, MultiHead, linear, multi_head
from nmtalign.attention.parameters import glorot, torch_array, torch_matrix, torch_part, torch_vector
from nmtalign.attention.weights import causal_mask


@dataclass(frozen=True)
class LayerNorm:
    """Parameters of layer normalisation: ``gain`` (D,), ``bias`` (D,) or None, and ``epsilon``."""

    gain: Array
    bias: Array | None = None
    epsilon: float = 1e-5

    @classmethod
    def start(cls, D: int) -> LayerNorm:
        """Return gain 1 and bias 0."""
        return cls(np.ones(D), np.zeros(D))

    @classmethod
    def from_torch(cls, state: Mapping[str, Any], *, epsilon: float = 1e-5) -> LayerNorm:
        """Read the state dict of ``torch.nn.LayerNorm(D)``: ``weight`` (D,) and ``bias`` (D,)."""
        return cls(torch_array(state, "weight"), torch_vector(state, "bias"), epsilon)


def layer_norm(parameters: LayerNorm, x: Array) -> Array:
    r"""Layer normalisation of each word by itself: :math:`\gamma\,(x-\mu)/\sqrt{\sigma^2+\epsilon}+\beta`.

    Parameters
    ----------
    parameters : LayerNorm
    x : array (..., D)

    Returns
    -------
    array (..., D)
        With gain 1 and bias 0 every vector has mean 0 and variance :math:`\sigma^2 / (\sigma^2 + \epsilon)`,
        which is 1 to within epsilon.

    Examples
    --------
    >>> layer_norm(LayerNorm.start(2), [[1.0, 3.0]]).round(3)
    array([[-1.,  1.]])

    References
    ----------
    Ba, Kiros & Hinton (2016), "Layer Normalization", eq. 4.
    """
    xp, x = as_floats(x)
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    normed = centred / xp.sqrt(variance + parameters.epsilon) * parameters.gain
    return normed if parameters.bias is None else normed + parameters.bias


@dataclass(frozen=True)
class FeedForward:
    """Parameters of a feed-forward layer: ``W_1`` (D, F), ``b_1`` (F,), ``W_2`` (F, D), ``b_2`` (D,)."""

    W_1: Array
    W_2: Array
    b_1: Array | None = None
    b_2: Array | None = None

    @classmethod
    def start(cls, D: int, F: int, *, seed: int | np.random.Generator) -> FeedForward:
        """Return Glorot-drawn matrices and biases of 0."""
        random = np.random.default_rng(seed)
        return cls(glorot(random, D, F), glorot(random, F, D), np.zeros(F), np.zeros(D))

    @classmethod
    def from_torch(cls, state: Mapping[str, Any]) -> FeedForward:
        """Read ``linear1`` and ``linear2`` of a PyTorch encoder or decoder layer with ReLU."""
        return cls(
            torch_matrix(state, "linear1.weight"),
            torch_matrix(state, "linear2.weight"),
            torch_vector(state, "linear1.bias"),
            torch_vector(state, "linear2.bias"),
        )


def feed_forward(parameters: FeedForward, x: Array) -> Array:
    r"""Position-wise feed-forward layer: :math:`\max(0, x W_1 + b_1) W_2 + b_2`.

    Parameters
    ----------
    parameters : FeedForward
    x : array (..., N, D)

    Returns
    -------
    array (..., N, D)
        Each word is worked on by itself; this is the non-linearity that attention lacks.

    Examples
    --------
    >>> feed_forward(FeedForward(np.eye(2), np.eye(2)), [[-1.0, 2.0]])
    array([[0., 2.]])

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", eq. 2.
    """
    xp, x = as_floats(x)
    inner = linear(x, parameters.W_1, parameters.b_1)  # (..., N, F)
    return linear(xp.clip(inner, 0.0, None), parameters.W_2, parameters.b_2)


def enter(norm: LayerNorm, x: Array, *, pre_norm: bool) -> Array:
    """Return what a sub-layer reads: the normalised words in pre-norm, the words themselves in post-norm."""
    return layer_norm(norm, x) if pre_norm else x


def leave(norm: LayerNorm, x: Array, y: Array, *, pre_norm: bool) -> Array:
    """Residual connection: return ``x + y``, normalised in post-norm ("add and norm")."""
    return x + y if pre_norm else layer_norm(norm, x + y)


@dataclass(frozen=True)
class EncoderBlock:
    """Parameters of an encoder block; ``pre_norm`` says where the two normalisations stand."""

    attention: MultiHead
    feed_forward: FeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    pre_norm: bool = field(default=False, kw_only=True)

    @classmethod
    def start(
        cls, D: int, heads: int, F: int, *, seed: int | np.random.Generator, pre_norm: bool = False
    ) -> EncoderBlock:
        """Return Glorot-drawn matrices, biases of 0 and gains of 1."""
        random = np.random.default_rng(seed)
        attention, inner = MultiHead.start(D, heads, seed=random), FeedForward.start(D, F, seed=random)
        return cls(attention, inner, LayerNorm.start(D), LayerNorm.start(D), pre_norm=pre_norm)

    @classmethod
    def from_torch(
        cls, state: Mapping[str, Any], heads: int, *, pre_norm: bool = False, epsilon: float = 1e-5
    ) -> EncoderBlock:
        """Read the state dict of ``torch.nn.TransformerEncoderLayer(D, heads, F)`` with ReLU.

        Parameters
        ----------
        state : mapping from name to tensor
            ``self_attn.*`` as in :meth:`MultiHead.from_torch`; ``linear1.weight`` (F, D), ``linear1.bias``
            (F,), ``linear2.weight`` (D, F), ``linear2.bias`` (D,); ``norm1.weight``, ``norm1.bias``,
            ``norm2.weight``, ``norm2.bias`` (D,).
        heads, pre_norm, epsilon :
            ``nhead``, ``norm_first`` and ``layer_norm_eps`` of the layer; they do not stand in a state dict.
        """
        return cls(
            MultiHead.from_torch(torch_part(state, "self_attn."), heads),
            FeedForward.from_torch(state),
            *(LayerNorm.from_torch(torch_part(state, f"norm{i}."), epsilon=epsilon) for i in (1, 2)),
            pre_norm=pre_norm,
        )


def encoder_block(
    parameters: EncoderBlock, x: Array, *, mask: Array | None = None, bias: Array | None = None
) -> Attended:
    """Encoder block: multi-head self-attention and feed-forward, each with residual and normalisation.

    Parameters
    ----------
    parameters : EncoderBlock
    x : array (..., S, D)
    mask : bool array that broadcasts to (..., S, S), optional
        For instance a padding mask.
    bias : array that broadcasts to (..., H, S, S), optional
        Added to the scores.

    Returns
    -------
    Attended
        The words (..., S, D) and the weights of each head (..., H, S, S).

    Examples
    --------
    >>> encoder_block(EncoderBlock.start(4, 2, 8, seed=0), np.eye(4)).context.shape
    (4, 4)

    References
    ----------
    Vaswani et al. (2017), section 3.1; Xiong et al. (2020), "On Layer Normalization in the Transformer
    Architecture" (pre-norm).
    """
    p, pre_norm = parameters, parameters.pre_norm
    _, x = as_floats(x)
    context, weights = multi_head(p.attention, enter(p.norm_1, x, pre_norm=pre_norm), mask=mask, bias=bias)
    x = leave(p.norm_1, x, context, pre_norm=pre_norm)
    y = feed_forward(p.feed_forward, enter(p.norm_2, x, pre_norm=pre_norm))
    return Attended(leave(p.norm_2, x, y, pre_norm=pre_norm), weights)


@dataclass(frozen=True)
class DecoderBlock:
    """Parameters of a decoder block; ``pre_norm`` says where the three normalisations stand."""

    self_attention: MultiHead
    cross_attention: MultiHead
    feed_forward: FeedForward
    norm_1: LayerNorm
    norm_2: LayerNorm
    norm_3: LayerNorm
    pre_norm: bool = field(default=False, kw_only=True)

    @classmethod
    def start(
        cls, D: int, heads: int, F: int, *, seed: int | np.random.Generator, pre_norm: bool = False
    ) -> DecoderBlock:
        """Return Glorot-drawn matrices, biases of 0 and gains of 1."""
        random = np.random.default_rng(seed)
        return cls(
            MultiHead.start(D, heads, seed=random),
            MultiHead.start(D, heads, seed=random),
            FeedForward.start(D, F, seed=random),
            *(LayerNorm.start(D) for _ in range(3)),
            pre_norm=pre_norm,
        )

    @classmethod
    def from_torch(
        cls, state: Mapping[str, Any], heads: int, *, pre_norm: bool = False, epsilon: float = 1e-5
    ) -> DecoderBlock:
        """Read the state dict of ``torch.nn.TransformerDecoderLayer(D, heads, F)`` with ReLU.

        Parameters
        ----------
        state : mapping from name to tensor
            As in :meth:`EncoderBlock.from_torch`, with ``multihead_attn.*`` (the cross-attention) and
            ``norm3.*`` besides.
        heads, pre_norm, epsilon :
            ``nhead``, ``norm_first`` and ``layer_norm_eps`` of the layer.
        """
        return cls(
            MultiHead.from_torch(torch_part(state, "self_attn."), heads),
            MultiHead.from_torch(torch_part(state, "multihead_attn."), heads),
            FeedForward.from_torch(state),
            *(LayerNorm.from_torch(torch_part(state, f"norm{i}."), epsilon=epsilon) for i in (1, 2, 3)),
            pre_norm=pre_norm,
        )


class Decoded(NamedTuple):
    """What a decoder block gives: the words, and the weights of each head of its two attentions."""

    words: Array  # (..., T, D)
    self_weights: Array  # (..., H, T, T)
    cross_weights: Array  # (..., H, T, S)


def decoder_block(
    parameters: DecoderBlock,
    x: Array,
    memory: Array,
    *,
    mask: Array | None = None,
    memory_mask: Array | None = None,
    causal: bool = True,
) -> Decoded:
    """Decoder block: masked self-attention, cross-attention to the encoder's output, and feed-forward.

    Parameters
    ----------
    parameters : DecoderBlock
    x : array (..., T, D)
        Target words.
    memory : array (..., S, D)
        The encoder's output: keys and values of the cross-attention.
    mask : bool array that broadcasts to (..., T, T), optional
        Where target words may look at target words, for instance a padding mask.
    memory_mask : bool array that broadcasts to (..., T, S), optional
        Where target words may look at source words.
    causal : bool
        Whether no target word may look at later ones.

    Returns
    -------
    Decoded

    Examples
    --------
    >>> decoder_block(DecoderBlock.start(4, 2, 8, seed=0), np.eye(4), np.ones((3, 4))).cross_weights.shape
    (2, 4, 3)

    References
    ----------
    Vaswani et al. (2017), section 3.1.
    """
    p, pre_norm = parameters, parameters.pre_norm
    _, x, memory = as_floats(x, memory)
    if causal:
        future = causal_mask(x.shape[-2], like=x)
        mask = future if mask is None else mask & future
    inner = enter(p.norm_1, x, pre_norm=pre_norm)
    context, self_weights = multi_head(p.self_attention, inner, mask=mask)
    x = leave(p.norm_1, x, context, pre_norm=pre_norm)
    inner = enter(p.norm_2, x, pre_norm=pre_norm)
    context, cross_weights = multi_head(p.cross_attention, inner, memory, mask=memory_mask)
    x = leave(p.norm_2, x, context, pre_norm=pre_norm)
    y = feed_forward(p.feed_forward, enter(p.norm_3, x, pre_norm=pre_norm))
    return Decoded(leave(p.norm_3, x, y, pre_norm=pre_norm), self_weights, cross_weights)


@dataclass(frozen=True)
class Transformer:
    """Parameters of an encoder-decoder: its blocks, and the normalisation behind each stack, if any."""

    encoder: tuple[EncoderBlock, ...]
    decoder: tuple[DecoderBlock, ...]
    encoder_norm: LayerNorm | None = None
    decoder_norm: LayerNorm | None = None

    @classmethod
    def start(
        cls,
        D: int,
        heads: int,
        F: int,
        *,
        layers: int,
        seed: int | np.random.Generator,
        pre_norm: bool = False,
    ) -> Transformer:
        """Return Glorot-drawn matrices, biases of 0 and gains of 1, with `layers` blocks in each stack."""
        random = np.random.default_rng(seed)
        encoder = tuple(
            EncoderBlock.start(D, heads, F, seed=random, pre_norm=pre_norm) for _ in range(layers)
        )
        decoder = tuple(
            DecoderBlock.start(D, heads, F, seed=random, pre_norm=pre_norm) for _ in range(layers)
        )
        return cls(encoder, decoder, LayerNorm.start(D), LayerNorm.start(D))

    @classmethod
    def from_torch(
        cls, state: Mapping[str, Any], heads: int, *, pre_norm: bool = False, epsilon: float = 1e-5
    ) -> Transformer:
        """Read the state dict of ``torch.nn.Transformer`` with ReLU.

        Parameters
        ----------
        state : mapping from name to tensor
            ``encoder.layers.0.*`` and on, ``decoder.layers.0.*`` and on, as in :class:`EncoderBlock` and
            :class:`DecoderBlock`; ``encoder.norm.*`` and ``decoder.norm.*``.
        heads, pre_norm, epsilon :
            ``nhead``, ``norm_first`` and ``layer_norm_eps`` of the model.
        """
        encoder, decoder = torch_part(state, "encoder."), torch_part(state, "decoder.")
        kept: dict[str, Any] = {"heads": heads, "pre_norm": pre_norm, "epsilon": epsilon}
        return cls(
            tuple(EncoderBlock.from_torch(layer, **kept) for layer in _torch_layers(encoder)),
            tuple(DecoderBlock.from_torch(layer, **kept) for layer in _torch_layers(decoder)),
            LayerNorm.from_torch(torch_part(encoder, "norm."), epsilon=epsilon),
            LayerNorm.from_torch(torch_part(decoder, "norm."), epsilon=epsilon),
        )


def _torch_layers(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts ``layers.0``, ``layers.1``, ... of a state dict, in order."""
    count = len({name.split(".")[1] for name in state if name.startswith("layers.")})
    return [torch_part(state, f"layers.{index}.") for index in range(count)]


class Transformed(NamedTuple):
    """What the forward pass gives; the weights stand in tuples, one entry for each block."""

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
) -> Transformed:
    """Full encoder-decoder forward pass with its three kinds of attention.

    Parameters
    ----------
    parameters : Transformer
    source : array (..., S, D)
        Vectors of the source words, positions included.
    target : array (..., T, D)
        Vectors of the target words known so far, positions included.
    source_mask : bool array that broadcasts to (..., 1, S), optional
        Padding of the source: False where no word may look, in encoder and cross-attention.
    target_mask : bool array that broadcasts to (..., T, T), optional
        Padding of the target; the future is masked in any case.

    Returns
    -------
    Transformed
        Target word t depends on all source words and on the target words 0 to t.

    Examples
    --------
    >>> parameters = Transformer.start(4, 2, 8, layers=2, seed=0)
    >>> transformer(parameters, np.ones((3, 4)), np.eye(4)).words.shape
    (4, 4)

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", Figure 1.
    """
    _, memory, words = as_floats(source, target)
    encoder_weights = []
    for block in parameters.encoder:
        memory, weights = encoder_block(block, memory, mask=source_mask)
        encoder_weights.append(weights)
    memory = memory if parameters.encoder_norm is None else layer_norm(parameters.encoder_norm, memory)
    decoded = []
    for layer in parameters.decoder:
        decoded.append(decoder_block(layer, words, memory, mask=target_mask, memory_mask=source_mask))
        words = decoded[-1].words
    words = words if parameters.decoder_norm is None else layer_norm(parameters.decoder_norm, words)
    self_weights, cross_weights = (tuple(block[part] for block in decoded) for part in (1, 2))
    return Transformed(words, memory, tuple(encoder_weights), self_weights, cross_weights)
