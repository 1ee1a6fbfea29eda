"""Cross-attention of translation models: one that attends right by construction, others of random weights."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from nmtalign.errors import DataError, UsageError
from nmtalign.external.cross_attention import Translator, likelihood_gain, rank_reductions
from nmtalign.external.hf_encoder import Encoder
from nmtalign.links.formats import read_links
from tests.cli.running import run
from tests.external.tiny import make_translator, reversed_bitext
from tests.later import torch, transformers
from tests.report.sample_pairs import content_of

os.environ["HF_HUB_OFFLINE"] = "1"

TOY = reversed_bitext(80, seed=5)
SIZES = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8,
    "max_position_embeddings": 66,
}


@pytest.fixture(scope="session")
def marian(tmp_path_factory):
    return make_translator(tmp_path_factory.mktemp("marian"))


def untrained_nllb(folder):
    """A model of many languages: their codes stand before the sub-words of both sides."""
    letters = {
        piece: k for k, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", "▁", *"bdgkaeioBDGKAEIO012"])
    }
    tokenizer = transformers.NllbTokenizer(letters, [], src_lang="eng_Latn", tgt_lang="fra_Latn")
    torch.manual_seed(3)
    config = transformers.M2M100Config(vocab_size=len(tokenizer), decoder_start_token_id=2, **SIZES)
    transformers.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Translator(str(folder), ("eng_Latn", "fra_Latn")), tokenizer


def untrained_t5(folder):
    """A model without positions of its own."""
    first = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    tokenizer = transformers.T5Tokenizer([*first, *((c, -3.0) for c in "bdgkaeioBDGKAEIO012")], extra_ids=0)
    torch.manual_seed(3)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=8,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Translator(str(folder)), tokenizer


def untrained_mt5(folder):
    """As T5, with layers of another kind."""
    _, tokenizer = untrained_t5(folder)
    config = transformers.MT5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=8, num_layers=2, num_heads=2
    )
    transformers.MT5ForConditionalGeneration(config).save_pretrained(folder)
    return Translator(str(folder)), tokenizer


def untrained_m2m(folder):
    """As NLLB, with other codes of languages, cut by a model of SentencePiece."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TOY.source + TOY.target),
        model_prefix=str(folder / "pieces"),
        vocab_size=50,
        hard_vocab_limit=False,
        model_type="bpe",
        num_threads=1,
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *(model.id_to_piece(k) for k in range(3, len(model)))]
    (folder / "vocab.json").write_text(json.dumps({piece: k for k, piece in enumerate(pieces)}), "utf-8")
    files = str(folder / "vocab.json"), str(folder / "pieces.model")
    tokenizer = transformers.M2M100Tokenizer(*files, src_lang="en", tgt_lang="fr")
    torch.manual_seed(3)
    size = 1 + max(tokenizer.lang_token_to_id.values())  # behind all sub-words
    config = transformers.M2M100Config(vocab_size=size, decoder_start_token_id=2, **SIZES)
    transformers.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Translator(str(folder), ("en", "fr")), tokenizer


def expected(translator, tokenizer, source, target, shift):
    """The library's attention of one pair, sentences cut as a whole, words found by their marks."""
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        translator.name, attn_implementation="eager"
    ).eval()
    given = tokenizer(source, return_tensors="pt")
    labels = tokenizer(text_target=target, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        found = model(**given, labels=labels, output_attentions=True).cross_attentions
    weights = torch.cat(found).double().numpy()  # (L, H, R, source pieces)
    special = set(tokenizer.all_special_ids)
    places = []
    for ids in (given["input_ids"][0].tolist(), labels[0].tolist()):
        word, own = -1, []
        for piece, number in zip(tokenizer.convert_ids_to_tokens(ids), ids, strict=True):
            word += piece.startswith("▁")
            own.append(-1 if number in special else max(word, -1))
        places.append(own)
    words = np.zeros((*weights.shape[:2], len(target.split()), len(source.split())))
    for t in range(words.shape[2]):
        rows = [row + shift for row, word in enumerate(places[1]) if word == t]
        for s in range(words.shape[3]):
            columns = [column for column, word in enumerate(places[0]) if word == s]
            words[:, :, t, s] = sum(weights[:, :, row, columns].sum(axis=-1) for row in rows) / len(rows)
    return words


KINDS = {"nllb": untrained_nllb, "m2m": untrained_m2m, "t5": untrained_t5, "mt5": untrained_mt5}


def opened(kind, marian, folder):
    if kind == "marian":
        return Translator(str(marian)), transformers.AutoTokenizer.from_pretrained(marian)
    return KINDS[kind](folder)


@pytest.mark.parametrize("kind", ["marian", *KINDS])
def test_attention_is_that_of_the_library(kind, marian, tmp_path):
    """Pairs of several lengths in one batch, against the library with one at a time."""
    translator, tokenizer = opened(kind, marian, tmp_path)
    pairs = [(TOY.source[0], TOY.target[0]), ("ba1 di", "DI BA1 GE KO2"), ("go", "GO"), ("ke0 ba de", "BA")]
    found = list(translator.attention([(s.split(), t.split()) for s, t in pairs]))
    for (source, target), attention in zip(pairs, found, strict=True):
        for shift in (0, 1):
            own = attention.of_words(len(target.split()), shift)
            np.testing.assert_allclose(own.sum(axis=-1), 1, atol=1e-5)
            wanted = expected(translator, tokenizer, source, target, shift)
            np.testing.assert_allclose(own[..., :-1], wanted, atol=2e-5)


@pytest.mark.parametrize("kind", ["marian", *KINDS])
def test_the_encoder_of_a_translation_model_is_that_of_the_library(kind, marian, tmp_path):
    """Each layer, against the whole model with one sentence at a time, which begins as its language does."""
    model, tokenizer = opened(kind, marian, tmp_path)
    whole = transformers.AutoModelForSeq2SeqLM.from_pretrained(model.name).eval()
    pairs = dict(enumerate([("ba1 di", "DI BA1 GE KO2"), ("go", "GO"), ("ke0 ba de", "BA")]))
    layers = whole.config.num_hidden_layers
    for layer in range(layers + 1):
        encoder = Encoder(model.name, layer, languages=model.languages)
        found = encoder.vectors({n: (s.split(), t.split()) for n, (s, t) in pairs.items()})
        for pair, both in zip(pairs.values(), found, strict=True):
            for side, text, (vectors, word_of_piece) in zip((0, 1), pair, both, strict=True):
                ids = tokenizer(text)["input_ids"] if not side else tokenizer(text_target=text)["input_ids"]
                if model.languages:
                    code = model.languages[side] if kind == "nllb" else f"__{model.languages[side]}__"
                    assert tokenizer.convert_ids_to_tokens(ids)[0] == code
                given = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([ids])}
                with torch.no_grad():
                    states = whole(**given, output_hidden_states=True).encoder_hidden_states[layer][0]
                pieces = tokenizer.convert_ids_to_tokens(ids)
                words = np.cumsum([piece.startswith("▁") for piece in pieces]) - 1
                kept = (words >= 0) & ~np.isin(ids, tokenizer.all_special_ids)
                np.testing.assert_allclose(vectors, states.numpy()[kept], atol=2e-5)
                assert word_of_piece.tolist() == words[kept].tolist()
    with pytest.raises(UsageError, match=f"there is no layer {layers + 1}: "):
        Encoder(model.name, layers + 1, languages=model.languages).check()


def test_links_of_an_encoder_that_needs_languages(tmp_path, capsys):
    untrained_nllb(tmp_path)
    source, target = TOY.write(tmp_path)
    given = "links-from", source, target, "--encoder", tmp_path, "--layer", "1", "-q"
    assert run(*given) == 2
    assert "needs source and target language; pass --langs in its own codes" in capsys.readouterr().err
    assert run("train", source, target, "-o", tmp_path / "model", "--encoder", tmp_path, "--layer", "1") == 2
    told = capsys.readouterr().err
    command = f"nmtalign links-from SOURCE TARGET --encoder {tmp_path} --langs XX,YY -o LINKS"
    assert f"for an aligner {command}, then --expert LINKS" in " ".join(told.split())
    named = [str(source), str(target), *command.split()[4:]]  # the command that it names, and what follows
    named[named.index("XX,YY")], named[named.index("LINKS")] = "eng_Latn,fra_Latn", tmp_path / "links"
    assert run("links-from", *named, "--layer", "1", "-q") == 0
    told = "--expert", tmp_path / "links", "-o", tmp_path / "model", "--preset", "fast", "-q"
    assert run("train", source, target, *told) == 0
    for count, codes in ((80, "eng_Latn,fra_Latn"), (160, "fra_Latn,eng_Latn")):
        assert run(*given, "--langs", codes, "--cache", tmp_path / "cache") == 0
        found = capsys.readouterr().out
        with closing(sqlite3.connect(tmp_path / "cache")) as file:
            assert file.execute("SELECT count(*) FROM similarities").fetchone() == (count,)
        assert run(*given, "--langs", codes) == 0
        assert capsys.readouterr().out == found


def test_the_likelihood_of_the_text_finds_the_head_that_aligns(marian):
    found = list(Translator(str(marian)).attention(TOY.words))
    gains, readings = zip(*rank_reductions(TOY.words, found), strict=True)
    assert len(set(readings)) == 2 * 2 * 3
    errors = []
    for reading in readings:
        layer, heads = reading.layers[0], list(reading.heads or (0, 1))
        weights = [own.of_words(6, reading.shift)[layer, heads].mean(axis=0) for own in found]
        links = [{(int(s), t) for t, s in enumerate(own.argmax(axis=1))} for own in weights]
        errors.append(TOY.error(links))
    assert (readings[0].layers, readings[0].shift) == ((1,), 1)
    assert errors[0] == 0
    assert np.corrcoef(gains, errors)[0, 1] < -0.9


def test_the_gain_is_the_formula():
    """Against plain loops."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    gains = []
    for n in range(30):
        others = [(s, t) for k, (s, t) in enumerate(zip(source, target, strict=True)) if k != n]
        share = float((target == target[n]).mean())
        joint = sum(1 for s, t in others if (s, t) == (source[n], target[n])) + share
        given = sum(1 for s, _ in others if s == source[n]) + 1
        gains.append(np.log(joint / given / share) if source[n] else 0)
    assert likelihood_gain(source, target) == pytest.approx(np.mean(gains))


def test_links_of_a_translation_model(marian, tmp_path, capsys):
    source, target = TOY.write(tmp_path)
    given = source, target, "--translator", marian
    assert run("links-from", *given, "-o", tmp_path / "links", "-v") == 0
    told = capsys.readouterr().err
    assert "options that fit the text best: --layers 1" in told
    assert TOY.error(list(read_links(tmp_path / "links"))) == 0
    named = told.partition("options that fit the text best: ")[2].partition("\n")[0].split()
    assert run("links-from", *given, *named, "-o", tmp_path / "named") == 0
    assert (tmp_path / "named").read_text() == (tmp_path / "links").read_text()
    assert run("links-from", *given, "--layers", "1", "-o", tmp_path / "predicted", "-v") == 0
    assert "layers=1 heads=all shift=0" in capsys.readouterr().err
    assert TOY.error(list(read_links(tmp_path / "predicted"))) > 0.3
    archive = "--attention", tmp_path / "a.npz"
    assert run("links-from", *given, "--layers", "1", "-o", tmp_path / "links", *archive) == 0
    assert run("report", source, target, *archive, "--lines", "2", "-o", tmp_path / "report.html") == 0
    assert "head 1" in content_of(tmp_path / "report.html")


def test_empty_lines_and_pairs_that_are_too_long(marian, tmp_path, capsys):
    (tmp_path / "a").write_text("\nba di\n" + "ba " * 70 + "\nba di ko ke bo ge\n")
    (tmp_path / "b").write_text("DI\n\nBA\nGE BO KE KO DI BA\n")
    given = tmp_path / "a", tmp_path / "b", "--translator", marian
    assert run("links-from", *given, "--layers", "1", "--shift", "1") == 0
    out, told = capsys.readouterr()
    assert out == "\n\n\n0-5 1-4 2-3 3-2 4-1 5-0\n"
    assert "pair 3 has 71 sub-words" in told
    assert run("links-from", *given) == 0
    assert "too few pairs to choose a head" in capsys.readouterr().err


def test_what_is_no_translation_model(marian, tmp_path):
    with pytest.raises(DataError, match="expected a model of the package transformers"):
        list(Translator(str(tmp_path)).attention([(["a"], ["b"])]))
    with pytest.raises(UsageError, match="takes no languages; remove `languages`"):
        list(Translator(str(marian), ("en", "fr")).attention([(["a"], ["b"])]))
    untrained_nllb(tmp_path)
    with pytest.raises(UsageError, match="needs source and target language; pass `languages`"):
        list(Translator(str(tmp_path)).attention([(["a"], ["b"])]))
    with pytest.raises(UsageError, match="does not support the language 'fr'"):
        list(Translator(str(tmp_path), ("eng_Latn", "fr")).attention([(["a"], ["b"])]))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--pieces", "bpe"], "--pieces does not apply to --translator"),
        (["--matrices", "m"], "expected one of --matrices, --translator, --encoder, --token-vectors,"),
        (["--matrices", "m"], "found --matrices and --translator"),
        (["--method", "transport"], "--method does not apply to --translator"),
        (["--shift", "-1"], "--shift of a translation model must be 0 (a word is predicted) or 1"),
        (["--layers", "7"], "there is no layer 7: found 2, counted from 0"),
        (["--langs", "en,fr"], "takes no languages"),
    ],
)
def test_options_that_make_no_sense(marian, tmp_path, capsys, options, told):
    source, target = TOY.write(tmp_path)
    assert run("links-from", source, target, "--translator", marian, *options) in (2, 3)
    assert told in capsys.readouterr().err
