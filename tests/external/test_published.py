"""Published methods beside slow versions of the programs that they are named after.

The slow versions are written from the papers: one sentence at a time through the library, then plain loops.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import nmtalign
from nmtalign.external.hf_encoder import Encoder, max_subwords_of
from nmtalign.external.links_from import encoder_linker
from nmtalign.settings import SourceEncoderSettings, SourceSettings
from tests.aligner.toy_language import links_of
from tests.conftest import REPOSITORY
from tests.later import torch, transformers

os.environ["HF_HUB_OFFLINE"] = "1"

LAYER, PAIRS, PAIRS_OF_TOKENIZER = 8, 30, 150
SHAPE = {"num_hidden_layers": 9, "num_attention_heads": 2, "intermediate_size": 32, "initializer_range": 0.05}


def lines_of(side):
    text = (REPOSITORY / "data" / "en_fr_sample" / f"text.tok.{side}").read_text("utf-8")
    return text.splitlines()[:PAIRS_OF_TOKENIZER]


TEXT = [
    (source.split(), target.split()) for source, target in zip(lines_of("en"), lines_of("fr"), strict=True)
][:PAIRS]


def make_random(kind, folder):
    """Write a random encoder, and a tokenizer learned from the text that cuts many words into parts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    bert = kind == "Bert"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] if bert else ["<s>", "<pad>", "</s>", "<unk>"]
    begin, end = (special[2], special[3]) if bert else (special[0], special[2])
    unknown, padding = (special[1], special[0]) if bert else (special[3], special[1])
    if bert:
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=800, special_tokens=special, show_progress=False)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=800, special_tokens=special, unk_token=unknown, show_progress=False
        )
    tokenizer.train_from_iterator([*lines_of("en"), *lines_of("fr")], trainer)
    ends = [(name, special.index(name)) for name in (begin, end)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A {end}", special_tokens=ends)
    names = {"unk_token": unknown, "pad_token": padding, "cls_token": begin, "sep_token": end}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=256, **names)
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(fast),
        hidden_size=32,
        max_position_embeddings=258,
        pad_token_id=fast.pad_token_id,
        **SHAPE,
    )
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["Bert", "XLMRoberta"])
def random(request, tmp_path_factory):
    """A random encoder, and of each sentence its states and the word of each sub-word, from the library."""
    folder = make_random(request.param, tmp_path_factory.mktemp(request.param))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    found = []
    for pair in TEXT:
        for words in pair:
            pieces = [tokenizer.tokenize(word) for word in words]
            ids = tokenizer.convert_tokens_to_ids([piece for word in pieces for piece in word])
            ids = [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
            with torch.no_grad():
                states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[LAYER]
            numbers = [n for n, word in enumerate(pieces) for _ in word]
            found.append((states[0, 1:-1].double().numpy(), numbers))
    assert sum(len(numbers) for _, numbers in found) > 1.5 * sum(len(side) for pair in TEXT for side in pair)
    return folder, list(zip(found[::2], found[1::2], strict=True))


def simalign(pair, method):
    """Links of one pair (Jalili Sabet et al. 2020, section 2): of sub-words, joined to words."""
    (source, of_source), (target, of_target) = pair
    lengths = np.outer(np.sqrt((source**2).sum(axis=1)), np.sqrt((target**2).sum(axis=1)))
    similar = (1 + source @ target.T / lengths) / 2
    if method == "match":
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        found = min_weight_full_bipartite_matching(csr_matrix(-similar))
        cells = set(zip(*(own.tolist() for own in found), strict=True))
    else:
        cells = mutual(similar)
        if method == "itermax" and min(similar.shape) > 2:
            cells |= second_round(similar, cells)
    return {(of_source[s], of_target[t]) for s, t in cells}


def mutual(similar):
    rows = {(s, int(np.argmax(row))) for s, row in enumerate(similar)}
    return rows & {(int(np.argmax(column)), t) for t, column in enumerate(similar.T)}


def second_round(similar, cells):
    """Algorithm 1 with two iterations and a discount of 0.9."""
    sources, targets = {s for s, _ in cells}, {t for _, t in cells}
    if len(sources) == similar.shape[0] or len(targets) == similar.shape[1]:
        return set()
    lowered = similar.copy()
    for s, t in np.ndindex(*similar.shape):
        lowered[s, t] *= {0: 1, 1: 0.9, 2: 0}[(s in sources) + (t in targets)]
    return {(s, t) for s, t in mutual(lowered) if s not in sources or t not in targets}


def softmax(rows):
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def entmax(rows):
    """max(x / 2 - tau, 0)^2 (Peters et al. 2019, equation 13), tau found by halving an interval."""
    high = rows.max(axis=1, keepdims=True) / 2
    low = high - 1
    for _ in range(60):
        tau = (low + high) / 2
        above = (np.maximum(rows / 2 - tau, 0) ** 2).sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, tau, low), np.where(above, high, tau)
    return np.maximum(rows / 2 - low, 0) ** 2


def awesome(pair, method):
    """Links of one pair (Dou and Neubig 2021, section 2.1): both directions are likely enough."""
    (source, of_source), (target, of_target) = pair
    products = source @ target.T
    normal, least = (entmax, 0) if method == "entmax" else (softmax, 0.001)
    forward, reverse = normal(products), normal(products.T).T
    cells = np.argwhere((forward > least) & (reverse > least)).tolist()
    return {(of_source[s], of_target[t]) for s, t in cells}


PROGRAMS = {f"simalign-{own}": (simalign, own) for own in ("argmax", "itermax", "match")}
PROGRAMS |= {"awesome-align": (awesome, "softmax"), "awesome-align-entmax": (awesome, "entmax")}


@pytest.mark.parametrize("method", PROGRAMS)
def test_links_are_those_of_the_program_of_that_name(random, method):
    folder, vectors = random
    program, own = PROGRAMS[method]
    found = links_of(nmtalign.links_from(TEXT, encoder=folder, layer=LAYER, method=method))
    assert found == [program(pair, own) for pair in vectors]
    words = links_of(nmtalign.links_from(TEXT, encoder=folder, layer=LAYER, method=method, units="words"))
    assert sum(a != b for a, b in zip(words, found, strict=True)) > PAIRS / 2


def test_the_longest_window_is_all_that_the_model_takes(random):
    """Where the tokenizer has no limit; models of the kind of RoBERTa reserve positions."""
    model, (pieces, _) = Encoder(str(random[0]), LAYER)._opened
    pieces.tokenizer.model_max_length = 10**9
    limit = max_subwords_of(pieces.tokenizer, model)
    with torch.no_grad():
        assert model(torch.full((1, limit), 7)).last_hidden_state.shape[1] == limit
        with pytest.raises((IndexError, RuntimeError)):
            model(torch.full((1, limit + 1), 7))


def test_a_pair_to_look_at_has_words(random):
    folder, _ = random
    linker = encoder_linker(SourceSettings(encoder=SourceEncoderSettings(encoder=folder, layer=LAYER)))
    given = next(linker.read(TEXT))
    pair, joined = linker.pair(given), np.zeros((len(TEXT[0][1]), len(TEXT[0][0])))
    for (t, s), similarity in np.ndenumerate(given.matrix):
        cell = given.word_of_piece[1][t], given.word_of_piece[0][s]
        joined[cell] = max(joined[cell], (1 + similarity) / 2)
    assert pair.tokens == tuple(map(tuple, TEXT[0]))
    np.testing.assert_allclose(pair.matrix.weights, joined, rtol=1e-6)
    np.testing.assert_allclose(pair.forward.sum(axis=1), 1, rtol=1e-5)
    assert pair.alignment.links == set(next(linker.batches(TEXT[:1])).links(0))
    assert "units=subwords" in pair.description


def test_words_are_means_of_their_subwords(random):
    folder, vectors = random
    found = links_of(nmtalign.links_from(TEXT, encoder=folder, layer=LAYER, units="words"))
    for n, pair in enumerate(vectors):
        means = []
        for states, word_of_piece in pair:
            own = [
                states[np.array(word_of_piece) == word].mean(axis=0) for word in range(max(word_of_piece) + 1)
            ]
            means.append((np.array(own), list(range(len(own)))))
        assert found[n] == simalign(means, "itermax")
