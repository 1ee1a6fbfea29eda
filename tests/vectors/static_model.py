"""A small static model, as model2vec writes it, with weights made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

WORDS = ["the", "black", "cat", "sleeps", "le", "noir", "chat", "dort"]
PARTS = ["##s", "##ing"]


def wordpiece() -> Any:
    """Return a tokenizer of lower-case words and endings, which pads and cuts off long lines."""
    vocabulary = {token: n for n, token in enumerate(["[PAD]", "[UNK]", *WORDS, *PARTS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]", length=8)
    tokenizer.enable_truncation(2)
    return tokenizer


def unigram() -> Any:
    """Return a tokenizer of sentencepiece's kind."""
    pieces = [
        ("<unk>", 0.0),
        *((f"▁{word}", -2.0) for word in WORDS),
        ("s", -3.0),
        ("ing", -3.0),
        ("▁", -4.0),
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def directions(size: int) -> np.ndarray:
    """Return vectors of sub-words, in which the words of both languages go together."""
    vectors = np.random.default_rng(0).standard_normal((size, 6)).astype(np.float32) * 0.1
    for n, word in enumerate(WORDS):
        row = n + size - len(WORDS) - len(PARTS)
        meaning = {"le": 0, "noir": 1, "chat": 2, "dort": 3}.get(word, n)
        vectors[row, meaning] += 1
    return vectors


def write_static_model(
    folder: Path, *, tokenizer: Any = None, settings: dict[str, Any] | None = None, **tensors: np.ndarray
) -> Path:
    """Write a model; without tensors, `embeddings` has a row for each sub-word."""
    tokenizer = wordpiece() if tokenizer is None else tokenizer
    folder.mkdir(parents=True, exist_ok=True)
    tensors = tensors or {"embeddings": directions(tokenizer.get_vocab_size())}
    save_file(tensors, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"normalize": False} | (settings or {})), encoding="utf-8")
    return folder
