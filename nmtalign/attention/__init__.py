"""Layer 1: the mathematics of attention, on arrays of any library. Names are imported when asked for."""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "scores": "dot scaled_dot cosine l2_normalize additive additive_projected additive_concatenated"
    " scaled_dot_gradient additive_gradient AdditiveGradient",
    "weights": "softmax entropy mask_scores sparsemax entmax15 causal_mask padding_mask softmax_gradient",
    "mechanism": "attend AttentionOutput self_attention cross_attention MultiHead multi_head linear glorot"
    " map_arrays",
    "position_encodings": "sinusoidal position_table add_positions concatenate_positions diagonal_prior",
    "transformer_layers": "layer_norm LayerNorm feed_forward FeedForward TransformerBlock encoder_block"
    " decoder_block DecoderOutput Transformer transformer TransformerOutput",
    "recurrent": "GRU gru RecurrentEncoder recurrent_encoder Bahdanau Annotations annotate Step decode_step"
    " align_sentence",
}
_HOME_MODULE = {
    name: f"nmtalign.attention.{module}" for module, names in _EXPORTS.items() for name in names.split()
}

__all__ = list(_HOME_MODULE)


def __getattr__(name: str) -> Any:
    if name not in _HOME_MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_MODULE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
