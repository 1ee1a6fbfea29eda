"""Encoders of Hugging Face, with a tiny one made by hand; they need torch and transformers."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nmtalign
from nmtalign.cli import main
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.external import hf_encoder
from nmtalign.external.hf_encoder import Encoder, EncoderSimilarities, Pieces
from nmtalign.external.links_from import encoder_linker
from nmtalign.links.formats import read_links
from nmtalign.settings import SourceEncoderSettings, SourceSettings
from nmtalign.text.bitext import SentencePair
from tests.aligner.toy_language import links_of
from tests.conftest import REPOSITORY
from tests.external.tiny import LAYERS, ambiguous_bitext, make_encoder, make_tokenizer
from tests.later import torch, transformers
from tests.test_docs import run_command

os.environ["HF_HUB_OFFLINE"] = "1"

TOY = ambiguous_bitext(400, seed=5)
PAIRS = [SentencePair(*pair) for pair in TOY.pairs]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def encoder(tiny):
    return Encoder(str(tiny), LAYERS)


def published(pairs=TOY.words, **source: object) -> list[set[tuple[int, int]]]:
    return links_of(nmtalign.links_from(pairs, **source))


def vectors_of(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """Return the vectors of the sub-words of sentences, as source sides."""
    return [source[0] for source, _ in encoder.vectors({n: (own, []) for n, own in enumerate(sentences, 1)})]


def error(aligner: nmtalign.Aligner) -> float:
    return TOY.error(links_of(aligner.align_batch(TOY.words)))


@pytest.fixture(scope="module")
def advised(tiny) -> nmtalign.Aligner:
    """An aligner that learned from the pairs with the encoder as its expert."""
    return nmtalign.train(PAIRS, encoder=tiny, layer=LAYERS)


def test_context_is_better_than_static_vectors_and_prime_and_vote_than_both(tiny, advised):
    lexicon = nmtalign.train(PAIRS)
    context, static = (
        TOY.error(published(encoder=tiny, layer=layer, method="simalign-argmax")) for layer in (LAYERS, 0)
    )
    found = nmtalign.links_from(TOY.words, encoder=tiny, layer=LAYERS, method="simalign-argmax")
    for (source, _), chosen, links in zip(TOY.words, links_of(found), TOY.links, strict=True):
        assert all(source[s].startswith("Na") for s, _ in chosen ^ links)  # names are outside its vocabulary
    assert context < 0.7 * min(static, error(lexicon))
    assert error(advised) < 0.2 * context


def check_against_the_library(folder, layer):
    """Sentences of several lengths in one batch, against the library with one at a time."""
    sentences = [["x1", "ma3", "y2"], ["mb5"], ["Na1", "x11", "x1", "y0", "ma0"]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    pairs = {n: (words, words[::-1]) for n, words in enumerate(sentences)}
    both = Encoder(str(folder), layer).vectors(pairs)
    for words, (vectors, word_of_piece) in (
        (pairs[n][side], both[n][side]) for n in range(len(sentences)) for side in (0, 1)
    ):
        given = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            states = model(given["input_ids"], output_hidden_states=True).hidden_states[layer][0].numpy()
        np.testing.assert_allclose(vectors, states[1:-1], atol=2e-5)
        assert word_of_piece.tolist() == given.word_ids(0)[1:-1]


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_vectors_are_those_of_the_library(tiny, layer):
    check_against_the_library(tiny, layer)


def test_states_before_a_last_normalization(tmp_path):
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "num_hidden_layers": 3}
    config = transformers.XLMRobertaXLConfig(vocab_size=len(make_tokenizer(tmp_path)), **sizes)
    transformers.XLMRobertaXLModel(config).save_pretrained(tmp_path)
    check_against_the_library(tmp_path, 2)


def test_windows_cover_each_sub_word_once(encoder):
    _, (pieces, _) = encoder._opened
    for words in (["x1"] * 62, ["x1"] * 63, ["ma1", "x2"] * 100):
        ids, _ = pieces.without_special(words)
        for limit in (64, 9):
            windows = list(Pieces(pieces.tokenizer, limit).windows(0, ids))
            positions = np.concatenate([w.positions[w.positions >= 0] for w in windows])
            assert sorted(positions.tolist()) == list(range(len(ids)))
            for window in windows:
                own = window.positions >= 0
                assert np.array(window.ids)[own].tolist() == np.array(ids)[window.positions[own]].tolist()
            assert max(len(w.ids) for w in windows) <= limit
            assert len(windows) > 1 or len(words) == 62


def test_long_sentences_are_read_whole_and_told(tiny, tmp_path, capsys):
    """Each window is what the library makes of it, and each word has links of its own."""
    words, other = ["ma1", "x2"] * 100, ["MB3", "X2"] * 100
    encoder = Encoder(str(tiny), LAYERS)
    with pytest.warns(UserWarning, match=r"pair 7 has 300 sub-words, .* takes 64; .* by overlapping windows"):
        ((long, word_of_piece), _) = encoder.vectors({7: (words, other)})[0]
    assert long.shape == (300, 32)
    assert word_of_piece.tolist() == [2 * n + k for n in range(100) for k in (0, 0, 1)]
    ids = torch.tensor([[2, *encoder._opened[1][0].without_special(words)[0][:62], 3]])
    model = transformers.AutoModel.from_pretrained(tiny).eval()
    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states[LAYERS][0, 1:-1].numpy()
    np.testing.assert_allclose(long[:46], states[:46], atol=2e-5)
    assert np.abs(long[46:62] - states[46:]).max() > 1e-3  # these are nearer to the middle of the next window
    for side, own in (("a", words), ("b", other)):
        (tmp_path / side).write_text("x1\n" + f"{' '.join(own)}\n" * 2)
    text = f"{tmp_path}/a {tmp_path}/b"
    run_command(
        f"nmtalign links-from {text} --encoder {tiny} --layer 2 --method simalign-match -o {tmp_path}/l"
    )
    told = capsys.readouterr().err
    assert told.count("overlapping windows") == 1
    assert "pair 2 has 300 sub-words" in told
    assert max(s for s, _ in list(read_links(tmp_path / "l"))[2]) > 190


def test_a_batch_too_large_for_the_device_is_halved(encoder, monkeypatch):
    sentences = [["x1", "y2"]] * 8
    expected = vectors_of(encoder, sentences)
    whole, most = Encoder._run, 2

    def short_of_memory(self, batch):
        if len(batch) > most:
            raise torch.OutOfMemoryError
        return whole(self, batch)

    monkeypatch.setattr(Encoder, "_run", short_of_memory)
    np.testing.assert_allclose(vectors_of(encoder, sentences), expected, atol=1e-5)
    most = 0
    with pytest.raises(NmtalignError, match="out of memory on cpu with a sentence of 4 sub-words"):
        vectors_of(encoder, sentences)


@pytest.fixture(scope="module")
def stored(tiny, tmp_path_factory):
    """A text, and the model and links that one command learns from it with the encoder."""
    folder = tmp_path_factory.mktemp("stored")
    TOY.write(folder)
    text = f"{folder}/source {folder}/target"
    own = f"--encoder {tiny} --layer {LAYERS}"
    run_command(f"nmtalign train {text} -o {folder}/model -q {own} --links {folder}/links")
    method = "--method simalign-argmax"  # that of an expert
    run_command(f"nmtalign links-from {text} {own} {method} --cache {folder}/cache -q -o {folder}/encoder")
    return folder


def test_a_model_keeps_the_encoder_with_the_constant(stored, tiny, tmp_path, advised):
    advised.save(tmp_path / "model")
    for name in ("meta.json", "arrays.npz"):
        assert (tmp_path / "model" / name).read_bytes() == (stored / "model" / name).read_bytes()
    expected, again = links_of(advised.align_batch(TOY.words)), nmtalign.load(tmp_path / "model")
    assert again.description == advised.description
    assert f"expert=(encoder={tiny} layer=2 method=simalign-argmax precision=" in again.description
    assert not again.expert.encoder.download
    assert links_of(again.align_batch(TOY.words)) == expected
    assert links_of(again.align_batch(TOY.words[7:9])) == expected[7:9]
    assert again.align(*TOY.pairs[8]).links == sorted(expected[8])
    assert list(map(set, read_links(stored / "links"))) == expected
    links = nmtalign.links_from(PAIRS, encoder=tiny, layer=LAYERS, method="simalign-argmax")
    given = nmtalign.train(PAIRS, expert=[links.links(n) for n in range(len(PAIRS))])
    assert given.expert.trust == advised.expert.trust
    again.with_scorers("lexicon").save(tmp_path / "model", overwrite=True)
    assert nmtalign.load(tmp_path / "model").expert is None


def test_another_encoder_is_trusted_as_the_text_tells(stored, tiny):
    model = nmtalign.load(stored / "model")
    same, other = (nmtalign.load(stored / "model", encoder=tiny, layer=layer) for layer in (LAYERS, 1))
    assert same.expert.trust == model.expert.trust
    assert other.needs_fitting
    with pytest.raises(UsageError, match="has to be fitted first"):
        other.align(*TOY.pairs[0])
    fitted = nmtalign.fit_to(other, PAIRS)
    assert fitted.expert.trust.linked_log_odds > 0
    told = model.align_batch(TOY.words, expert=TOY.links).origin.aligner
    assert told.expert.encoder is None
    assert told.expert.trust not in (model.expert.trust, None)


def test_a_model_aligns_new_text_by_its_encoder(stored, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side in ("source", "target"):
        lines = (stored / side).read_text().splitlines(keepends=True)
        (tmp_path / side).write_text("".join(lines[5:9]))
    new = f"nmtalign align source target --model {stored}/model"
    run_command(f"{new} -o advised.txt")
    run_command(f"{new} -o shards.txt --out-shards shards --shard-pairs 3 --workers 2")
    for found in ("advised.txt", "shards.txt"):
        assert Path(found).read_text().splitlines() == (stored / "links").read_text().splitlines()[5:9]
    (tmp_path / "x.tsv").write_text("\t".join(PAIRS[0]) + "\n")
    run_command(f"nmtalign heatmap --pairs x.tsv --lines 1 --values parts --model {stored}/model -o x.svg")


def test_what_a_model_cannot_keep_or_open(stored, tiny, tmp_path, monkeypatch, capsys):
    with pytest.raises(UsageError, match="has to be fitted first"):
        nmtalign.load(encoder=tiny, layer=1).save(tmp_path / "model")
    moved = tmp_path / "moved"
    shutil.copytree(stored / "model", moved)
    meta = json.loads((moved / "meta.json").read_text())
    meta["parts"]["expert"]["encoder"] = str(tmp_path / "gone")
    (moved / "meta.json").write_text(json.dumps(meta))
    text = f"{stored}/source {stored}/target"
    for line, code, found in (
        (f"align {text} --model {moved} -o x", 3, "gone: expected a model of the package transformers;"),
        (f"train {text} -o new --layer 3", 2, "layer requires an encoder: pass --encoder NAME"),
        (f"train {text} -o new --encoder {tiny} --layer 3", 2, "there is no layer 3"),
        (f"train {text} -o new --encoder {tiny} --expert x", 2, "cannot be combined"),
        (f"align {text} --model {stored}/model --engine dask", 2, "cannot be combined with an encoder"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        said = capsys.readouterr().err
        assert (ended.value.code, said.count("\n")) == (code, 1), said
        assert found in said
    assert nmtalign.load(moved, scorers=("lexicon",)).scorer.names == ("lexicon",)
    meta["parts"]["expert"]["recall"] = 1
    (moved / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(DataError, match=r"meta.json: expected numbers from 0 to 0.999999999999, found 1"):
        nmtalign.load(moved)
    monkeypatch.setattr(
        hf_encoder, "import_packages", lambda: pytest.fail("torch, before anything is encoded")
    )
    aligner = nmtalign.load(stored / "model", cache=stored / "cache")
    assert links_of(aligner.align_batch(TOY.words)) == list(map(set, read_links(stored / "links")))


def test_links_of_an_encoder_on_the_command_line(tiny, tmp_path, monkeypatch):
    """Empty sides, pairs beyond one call of the encoder, one that is too large."""
    monkeypatch.setattr("nmtalign.external.hf_encoder.ENCODED_PAIRS_IN_MEMORY", 3)
    lines = [*TOY.pairs[:4], ("", "X1"), ("x1", ""), *TOY.pairs[4:7]]
    for side, own in zip(("source", "target"), zip(*lines, strict=True), strict=True):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in own))
    options = f"--encoder {tiny} --layer {LAYERS}"
    run_command(f"nmtalign links-from {tmp_path}/source {tmp_path}/target {options} -o {tmp_path}/links")
    words = [(source.split(), target.split()) for source, target in lines]
    found = list(map(set, read_links(tmp_path / "links")))
    assert found == published(words, encoder=tiny, layer=LAYERS, method="simalign-itermax")
    assert [bool(links) for links in found] == [all(pair) for pair in words]
    monkeypatch.setattr("nmtalign.external.hf_encoder.MAX_PAIR_CELLS", 48)
    with pytest.raises(DataError, match=r"pair 5: expected at most 48 cells .*subwords\), found 64"):
        published([*[(["x1"], ["X1"])] * 4, *words], encoder=tiny, layer=LAYERS)


def test_words_that_the_tokenizer_loses(encoder, tmp_path):
    """Also all words of a side, or of both; the cache keeps them as they are."""
    _, (pieces, _) = encoder._opened
    pieces.tokenizer.backend_tokenizer.normalizer = __import__("tokenizers").normalizers.Replace("\u200b", "")
    lost = ["\u200b"]
    pairs = [(["x1", *lost, "x2"], ["X1"]), (lost, ["X1", "X2"]), (lost * 2, lost)]
    with pytest.warns(UserWarning, match="the tokenizer returns no sub-words for '\\\\u200b'"):
        encoder.vectors(dict(enumerate(pairs)))
    for units, sizes in (("subwords", [(1, 2), (2, 0), (0, 0)]), ("words", [(1, 3), (2, 1), (1, 2)])):
        source = EncoderSimilarities(encoder, "dot", tmp_path / "cache", units)
        for found in (list(source.read(pairs)), list(source.read(pairs))):
            assert [own.matrix.shape for own in found] == sizes
            assert [own.matrix.any() for own in found] == [True, False, False]
            if units == "subwords":
                word_of_piece = [[side.tolist() for side in own.word_of_piece] for own in found]
                assert word_of_piece == [[[0, 2], [0]], [[], [0, 1]], [[], []]]
    linker = replace(
        encoder_linker(SourceSettings(encoder=SourceEncoderSettings(encoder="x"))),
        read=EncoderSimilarities(encoder, units="subwords").read,
    )
    assert links_of(next(linker.batches(pairs)))[1:] == [set(), set()]


def test_what_is_no_encoder(tiny, tmp_path):
    with pytest.raises(DataError, match="expected a model of the package transformers"):
        Encoder(str(tmp_path)).check()
    with pytest.raises(DataError, match="/nowhere: expected a model of the package transformers"):
        nmtalign.links_from([("a", "b")], encoder="/nowhere", cache=tmp_path / "c", method="transport")
    with pytest.raises(UsageError, match=r"there is no layer 3: .* has 0 \(embeddings\) to 2"):
        Encoder(str(tiny), 3).check()
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="there is no device cuda here"):
            nmtalign.load(encoder=tiny, device="cuda")


@pytest.mark.parametrize("kind", ["Bert", "XLMRoberta", "T5Encoder"])
def test_an_encoder_without_the_files_of_its_tokenizer_is_refused(kind, tmp_path):
    """For such a folder transformers makes a tokenizer to which every word is unknown."""
    config = "T5" if kind == "T5Encoder" else kind
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "num_hidden_layers": 1}
    config = getattr(transformers, f"{config}Config")(vocab_size=9, **sizes)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(tmp_path)
    expected = r"expected a tokenizer \(.*tokenizer\.json\), found a tokenizer without a vocabulary"
    with pytest.raises(DataError, match=expected):
        Encoder(str(tmp_path), 1).check()


def test_the_page_of_the_documentation_runs(tiny, tmp_path, monkeypatch):
    """Its commands, with the tiny encoder."""
    monkeypatch.chdir(tmp_path)
    for side in ("en", "fr"):
        lines = (REPOSITORY / "data" / "en_fr_sample" / f"text.{side}").read_text("utf-8").splitlines()
        (tmp_path / f"text.{side}").write_text("\n".join(lines[:30]) + "\n", "utf-8")
    page = (REPOSITORY / "docs" / "other_programs.md").read_text("utf-8").replace("\\\n", "")
    commands = re.findall(r"^nmtalign (.*)$", "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL)), re.M)
    commands = [
        command for command in commands if not {"--translator", "attention.npz"} & set(command.split())
    ]
    assert len(commands) == 7
    (tmp_path / "attention.txt").write_text("0-0\n" * 15 + "\n" * 15)
    for name in ("new.en", "new.fr"):
        shutil.copy(f"text.{name[-2:]}", name)
    shutil.copy("attention.txt", "new.txt")
    for command in commands:
        own = command.replace("bert-base-multilingual-cased", str(tiny)).replace("--layer 8", "--layer 2")
        run_command(f"nmtalign {own}")
    assert len((tmp_path / "new.txt").read_text().splitlines()) == 30


def test_a_gpu_gives_nearly_the_same_vectors(tiny):
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device on this machine")
    sentences = [source for source, _ in TOY.words[:20]]
    both = [vectors_of(Encoder(str(tiny), LAYERS, device), sentences) for device in ("cpu", "cuda")]
    for first, second in zip(*both, strict=True):
        np.testing.assert_allclose(first, second, atol=2e-2)
