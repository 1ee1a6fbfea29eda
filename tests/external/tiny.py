"""Synthetic languages: one in which context decides, with a tiny encoder; a tiny translator.

Each sentence of the first has a topic, a or b, which a marker names. The words x7 and y7 are X7 and Y7 in
topic a, but Y7 and X7 in topic b: both always stand together, so only the topic tells which is which. Names
are not in the vocabulary of the encoder, only a lexicon can tell them apart. The target is in any order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.aligner.toy_language import Toy

AMBIGUOUS, MARKERS, NAMES = 12, 6, 40
HIDDEN, LAYERS = 32, 2
CODE = 64  # numbers of a sub-word of the translator


def ambiguous_bitext(n: int, *, seed: int = 0) -> Toy:
    """Return `n` pairs and their links."""
    rng = np.random.default_rng(seed)
    toy = Toy([], [], [])
    for _ in range(n):
        topic = "ab"[rng.integers(2)]
        words = [f"{c}{k}" for k in rng.choice(AMBIGUOUS, 2, replace=False) for c in "xy"]
        words += [f"Na{k}" for k in rng.choice(NAMES, 2, replace=False)]
        words.append(f"m{topic}{rng.integers(MARKERS)}")
        source = [words[k] for k in rng.permutation(len(words))]
        order = rng.permutation(len(source))
        toy.source.append(" ".join(source))
        toy.target.append(" ".join(_translation(source[s], topic) for s in order))
        toy.links.append({(int(s), t) for t, s in enumerate(order)})
    return toy


def _translation(word: str, topic: str) -> str:
    other = {"x": "y", "y": "x"}.get(word[0], word[0]) if topic == "b" else word[0]
    return (other + word[1:]).swapcase()


def make_tokenizer(folder: Path) -> Any:
    """Write a WordPiece tokenizer of both languages, without names; markers are two sub-words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [f"{c}{k}" for k in range(AMBIGUOUS) for c in "xyXY"]
    words += ["ma", "mb", "MA", "MB", *(f"##{k}" for k in range(MARKERS))]
    vocabulary = {word: k for k, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)
    fast.save_pretrained(folder)
    return fast


def make_encoder(folder: Path) -> Path:
    """Write a BERT in which context decides by construction; all other weights are random and small.

    Each feature has a dimension, and its opposite another one, so that means are 0. A head brings the topic
    from the marker to all words, and the layer behind it the product of topic and letter to x and y. This is
    the letter of X and Y. The second layer changes little.
    """
    import torch
    from transformers import BertConfig, BertModel

    tokenizer = make_tokenizer(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=66,
        hidden_act="relu",
        initializer_range=0.01,
    )
    model = BertModel(config).eval()
    half, layer = HIDDEN // 2, model.encoder.layer[0]
    rows = [_features(piece) for piece in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
    features = torch.tensor(np.array(rows), dtype=torch.float32)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.copy_(torch.cat([features, -features], dim=1))
        for normalized, length in ((model.embeddings, 12), (layer.attention.output, 13)):
            normalized.LayerNorm.weight.fill_((length / half) ** 0.5)  # squared length of words: they stay
        layer.attention.self.query.bias[0] = 12.0
        layer.attention.self.key.weight[0, MARKED] = 1.0
        layer.attention.self.value.weight[0, TOPIC] = 1.0
        layer.attention.output.dense.weight[[TOPIC, half + TOPIC], 0] = torch.tensor([1.0, -1.0])
        layer.intermediate.dense.bias[:4] = -1.0
        for unit, (letter, topic) in enumerate(((1, 1), (-1, -1), (1, -1), (-1, 1))):
            layer.intermediate.dense.weight[unit, [LETTER, TOPIC]] = torch.tensor([letter / 2, topic])
            product = torch.tensor([2.0, -2.0]) * letter * topic
            layer.output.dense.weight[[MEANING, half + MEANING], unit] = product
    model.save_pretrained(folder)
    return folder


MEANING, LETTER, TOPIC, MARKED, OTHER = range(8, 13)  # features; those before are the number of x, y, X, Y


def _features(piece: str) -> list[float]:
    """Return the features of a sub-word, of squared length 12."""
    found = [0.0] * (HIDDEN // 2)
    if piece in ("ma", "mb", "MA", "MB"):
        found[MARKED], found[TOPIC] = 11**0.5, 1.0 if piece.lower() == "ma" else -1.0
    elif piece[0].lower() in ("x", "y"):
        number = int(piece[1:])  # rows of a Hadamard matrix and their opposites
        found[:8] = [(-1.0) ** ((number & k).bit_count() + (number >= 8)) for k in range(8)]
        found[LETTER if piece.islower() else MEANING] = 2.0 if piece[0].lower() == "x" else -2.0
    else:
        found[OTHER + piece.startswith("##") + 2 * (piece == "[UNK]")] = 12**0.5
    return found


def reversed_bitext(n: int, *, seed: int = 0) -> Toy:
    """Return `n` pairs of six words and their links; the target says them from the last to the first."""
    rng = np.random.default_rng(seed)
    stems = [first + second for first in "bdgk" for second in "aeio"]
    toy = Toy([], [], [])
    for _ in range(n):
        digits = [str(rng.integers(3)) if rng.random() < 0.25 else "" for _ in range(6)]
        words = [stems[k] + digit for k, digit in zip(rng.choice(16, 6, replace=False), digits, strict=True)]
        toy.source.append(" ".join(words))
        toy.target.append(" ".join(words[::-1]).upper())
        toy.links.append({(5 - t, t) for t in range(6)})
    return toy


def make_marian_tokenizer(folder: Path) -> Any:
    """Write Marian's tokenizer with a SentencePiece model for each side; a digit is a sub-word of its own."""
    import sentencepiece
    from transformers import MarianTokenizer

    toy, pieces = reversed_bitext(300, seed=1), []
    for side, lines in (("source", toy.source), ("target", toy.target)):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=str(folder / side),
            vocab_size=60,
            hard_vocab_limit=False,
            split_digits=True,
            model_type="bpe",
            num_threads=1,
            minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces += [model.id_to_piece(k) for k in range(3, len(model))]
    words = ["</s>", "<unk>", *dict.fromkeys(pieces), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({word: k for k, word in enumerate(words)}), "utf-8")
    files = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    return MarianTokenizer(*files, source_lang="xx", target_lang="yy")


def make_translator(folder: Path) -> Path:
    """Write a Marian model of random weights whose last layer attends right by construction.

    A sub-word has one code for both sides. Where the decoder reads a target sub-word, queries of its last
    layer are its code, keys are codes of source sub-words: equal ones win by far.
    """
    import torch
    from transformers import MarianConfig, MarianMTModel

    tokenizer = make_marian_tokenizer(folder)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    sides = ("encoder", "decoder")
    sizes = {f"{side}_attention_heads": 2 for side in sides} | {f"{side}_ffn_dim": 64 for side in sides}
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=CODE,
        encoder_layers=1,
        decoder_layers=2,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        eos_token_id=0,
        forced_eos_token_id=0,
        scale_embedding=True,
        activation_function="relu",
        init_std=0.05,
        **sizes,
    )
    model = MarianMTModel(config).eval()
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    codes = np.random.default_rng(0).choice([-1.0, 1.0], (len(pieces), CODE))
    first = {piece.lower(): k for k, piece in enumerate(pieces)}
    codes = codes[[first[piece.lower()] for piece in pieces]]
    attention = model.model.decoder.layers[-1].encoder_attn
    with torch.no_grad():
        model.model.shared.weight.copy_(torch.tensor(codes))
        for projection in (attention.q_proj, attention.k_proj):
            projection.weight.copy_(2 * torch.eye(CODE))
    model.save_pretrained(folder)
    return folder
