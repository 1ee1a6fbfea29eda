"""Equality with PyTorch, through NumPy arrays, PyTorch arrays and strict array API arrays."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign import attention as at
from nmtalign.errors import DataError, UsageError
from tests.later import torch

B, T, S, D, H, F = 3, 5, 7, 12, 4, 20


@pytest.fixture(autouse=True)
def _one_thread_and_a_seed():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def scrambled(layer: torch.nn.Module) -> torch.nn.Module:
    """Return the layer in float64 with every parameter drawn anew, so that no bias is 0 and no gain 1."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    return layer.double().eval()


def reference(layer, *arguments, **options):
    """Run a PyTorch layer on NumPy arrays."""

    def tensor(value):
        return torch.as_tensor(value) if isinstance(value, np.ndarray) else value

    with torch.no_grad():
        return layer(*map(tensor, arguments), **{name: tensor(value) for name, value in options.items()})


MASKS = {
    "none": None,
    "causal": at.causal_mask(T, S),
    "padding": at.padding_mask([7, 3, 1], S),
    "ragged": np.random.default_rng(1).random((B, T, S)) < 0.5,
    "nothing to see": np.zeros((T, S), dtype=bool),
}


@pytest.mark.parametrize("name", MASKS)
def test_scaled_dot_product_attention(library, draw, name):
    q, k, v = draw(B, T, D), draw(B, S, D), draw(B, S, 6)
    mask = MASKS[name]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    expected = reference(sdpa, q, k, v, attn_mask=mask)
    own_mask = None if mask is None else library(mask)
    library.equal(at.attend(library(q), library(k), library(v), mask=own_mask).context, expected)


def test_attention_with_a_bias(library, draw):
    q, k, v, bias = draw(B, T, D), draw(B, S, D), draw(B, S, D), draw(T, S)
    expected = reference(torch.nn.functional.scaled_dot_product_attention, q, k, v, attn_mask=bias)
    library.equal(at.attend(library(q), library(k), library(v), bias=library(bias)).context, expected)


@pytest.mark.parametrize("heads", [1, 3, 4, D])
@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention(library, draw, heads, bias):
    layer = scrambled(torch.nn.MultiheadAttention(D, heads, bias=bias, batch_first=True))
    x, memory = draw(B, T, D), draw(B, S, D)
    expected, weights = reference(layer, x, memory, memory, average_attn_weights=False)
    own = library(at.MultiHead.from_torch(layer.state_dict(), heads))
    attended = at.multi_head(own, library(x), library(memory))
    library.equal(attended.context, expected)
    library.equal(attended.weights, weights)


def test_multi_head_attention_with_other_sizes_of_keys_and_values(library, draw):
    layer = scrambled(torch.nn.MultiheadAttention(D, H, kdim=5, vdim=9, batch_first=True))
    q, k, v = draw(B, T, D), draw(B, S, 5), draw(B, S, 9)
    expected, _ = reference(layer, q, k, v)
    own = library(at.MultiHead.from_torch(layer.state_dict(), H))
    library.equal(at.multi_head(own, library(q), library(k), library(v)).context, expected)


@pytest.mark.parametrize("name", ["causal", "padding"])
def test_multi_head_attention_with_a_mask(library, draw, name):
    layer = scrambled(torch.nn.MultiheadAttention(D, H, batch_first=True))
    q, k, mask = draw(B, T, D), draw(B, S, D), MASKS[name]
    torch_mask = {"attn_mask": ~mask} if name == "causal" else {"key_padding_mask": ~mask[:, 0]}
    expected, _ = reference(layer, q, k, k, **torch_mask)
    own = library(at.MultiHead.from_torch(layer.state_dict(), H))
    library.equal(at.multi_head(own, library(q), library(k), mask=library(mask)).context, expected)


def test_bias_for_keys_and_values_is_refused():
    layer = torch.nn.MultiheadAttention(D, H, add_bias_kv=True)
    with pytest.raises(DataError, match="add_bias_kv=False"):
        at.MultiHead.from_torch(layer.state_dict(), H)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("epsilon", [1e-5, 0.3])
def test_layer_norm(library, draw, bias, epsilon):
    layer = scrambled(torch.nn.LayerNorm(D, eps=epsilon, bias=bias))
    x = draw(B, T, D)
    own = library(at.LayerNorm.from_torch(layer.state_dict(), epsilon=epsilon))
    library.equal(at.layer_norm(own, library(x)), reference(layer, x))


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_encoder_block(library, draw, pre_norm, bias, activation):
    settings = {"norm_first": pre_norm, "bias": bias, "activation": activation}
    layer = torch.nn.TransformerEncoderLayer(D, H, F, batch_first=True, **settings)
    layer, x = scrambled(layer), draw(B, S, D)
    mask = at.padding_mask([7, 3, 1], S)
    expected = reference(layer, x, src_key_padding_mask=~mask[:, 0])
    read = at.TransformerBlock.from_torch(layer.state_dict(), H, activation=activation, pre_norm=pre_norm)
    own = library(read)
    if activation == "gelu" and library.module.__name__ == "array_api_strict":
        with pytest.raises(UsageError, match="GELU needs erf, which array_api_strict"):
            at.encoder_block(own, library(x))
        return
    real = np.broadcast_to(mask[:, 0, :, None], x.shape)  # PyTorch's fast path leaves padding undefined
    words = np.asarray(at.encoder_block(own, library(x), mask=library(mask)).context)
    library.equal(library(np.where(real, words, 0)), np.where(real, expected, 0))


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_decoder_block(library, draw, pre_norm, bias):
    layer = torch.nn.TransformerDecoderLayer(D, H, F, norm_first=pre_norm, bias=bias, batch_first=True)
    layer, x, memory = scrambled(layer), draw(B, T, D), draw(B, S, D)
    mask = at.padding_mask([7, 3, 1], S)
    expected = reference(layer, x, memory, tgt_mask=~at.causal_mask(T), memory_key_padding_mask=~mask[:, 0])
    own = library(at.TransformerBlock.from_torch(layer.state_dict(), H, activation="relu", pre_norm=pre_norm))
    library.equal(
        at.decoder_block(own, library(x), library(memory), memory_mask=library(mask)).words, expected
    )


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_whole_transformer(library, draw, pre_norm):
    model = scrambled(
        torch.nn.Transformer(
            D,
            H,
            num_encoder_layers=2,
            num_decoder_layers=3,
            dim_feedforward=F,
            norm_first=pre_norm,
            batch_first=True,
        )
    )
    source, target = draw(B, S, D), draw(B, T, D)
    expected = reference(model, source, target, tgt_mask=~at.causal_mask(T))
    own = library(at.Transformer.from_torch(model.state_dict(), H, activation="relu", pre_norm=pre_norm))
    result = at.transformer(own, library(source), library(target))
    library.equal(result.words, expected)
    assert [len(weights) for weights in result[2:]] == [2, 3, 3]


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_gru(library, draw, layers, bidirectional, bias):
    layer = torch.nn.GRU(D, 5, layers, bidirectional=bidirectional, bias=bias, batch_first=True)
    layer, x = scrambled(layer), draw(B, T, D)
    expected, _ = reference(layer, x)
    own = library(at.RecurrentEncoder.from_torch(layer.state_dict()))
    library.equal(at.recurrent_encoder(own, library(x)), expected)


def test_gru_over_padding(library, draw):
    layer = scrambled(torch.nn.GRU(D, 5, 2, bidirectional=True, batch_first=True))
    x, lengths = draw(B, T, D), [5, 2, 1]
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.as_tensor(x), lengths, batch_first=True)
    with torch.no_grad():
        states, _ = torch.nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)
    mask = at.padding_mask(lengths, T)[:, 0]
    own = library(at.RecurrentEncoder.from_torch(layer.state_dict()))
    result = np.asarray(at.recurrent_encoder(own, library(x), mask=library(mask)))
    library.equal(library(result * mask[..., None]), states)


def test_gru_with_a_first_state(library, draw):
    layer = scrambled(torch.nn.GRU(D, 5, batch_first=True))
    x, state = draw(B, T, D), draw(1, B, 5)
    expected, _ = reference(layer, x, state)
    own = library(at.GRU.from_torch(layer.state_dict()))
    library.equal(at.gru(own, library(x), library(state[0])), expected)


def test_pytorch_finds_the_same_gradients_through_the_same_functions(draw):
    W, U, v = draw(D, 6), draw(D, 6), draw(6)
    arrays = {"queries": draw(B, T, D), "keys": draw(B, S, D), "W": W, "U": U, "v": v, "bias": draw(6)}
    upstream = draw(B, T, S)
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    weights = at.softmax(at.additive(**tensors))
    (weights * torch.tensor(upstream)).sum().backward()
    by_score = at.softmax_gradient(at.softmax(at.additive(**arrays)), upstream)
    mine = at.additive_gradient(**arrays, upstream=by_score)._asdict()
    for name, tensor in tensors.items():
        np.testing.assert_allclose(mine[name], tensor.grad, rtol=1e-9, atol=1e-11)


def test_layer_norm_has_the_epsilon_of_pytorch():
    layer = torch.nn.LayerNorm(D)
    assert at.LayerNorm.from_torch(layer.state_dict()).epsilon == at.LayerNorm.init(D).epsilon == layer.eps


def test_a_missing_entry_is_named():
    with pytest.raises(DataError, match=r"expected 'weight' in the state dict, found bias"):
        at.LayerNorm.from_torch({"bias": np.zeros(3)})
