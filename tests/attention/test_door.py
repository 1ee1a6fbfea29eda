"""The door of the attention library: its names are a promise, and none of them hides a module."""

from __future__ import annotations

import pytest

import nmtalign as na

NAMES = """
    dot scaled_dot cosine l2_normalize additive additive_projected additive_concatenated
    softmax entropy mask_scores sparsemax entmax15 causal_mask padding_mask
    scaled_dot_gradient additive_gradient AdditiveGradient softmax_gradient
    attend AttentionOutput self_attention cross_attention
    multi_head MultiHead linear
    sinusoidal position_table add_positions concatenate_positions diagonal_prior
    layer_norm LayerNorm feed_forward FeedForward
    TransformerBlock encoder_block decoder_block DecoderOutput Transformer transformer TransformerOutput
    GRU gru RecurrentEncoder recurrent_encoder Bahdanau annotate Annotations decode_step Step align_sentence
    glorot map_arrays
"""
PUBLIC_NAMES = NAMES.split()


def test_the_public_names_are_these():
    """A public name is a promise: to add or remove one, change this test as well."""
    assert sorted(na.attention.__all__) == sorted(PUBLIC_NAMES) == dir(na.attention)


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_public_name_is_described(name):
    thing = getattr(na.attention, name)
    assert callable(thing)
    assert thing.__doc__
    assert thing.__name__ == name


def test_an_unknown_name_is_named():
    with pytest.raises(AttributeError, match=r"'nmtalign\.attention' has no attribute 'attentive'"):
        _ = na.attention.attentive
