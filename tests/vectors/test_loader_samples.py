"""Every sample file that a current gensim reads equals what gensim gives; the rest is refused with a reason.

The samples are real files of many ages, encodings and states of repair.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from nmtalign.errors import DataError
from nmtalign.vectors.storage import detect_format, load_embeddings


def text(path: Path, **options: Any) -> Any:
    from gensim.models import KeyedVectors

    return KeyedVectors.load_word2vec_format(str(path), **options)


def binary(path: Path) -> Any:
    return text(path, binary=True)


def glove(path: Path) -> Any:
    return text(path, no_header=True)


def native(path: Path) -> Any:
    from gensim.models import KeyedVectors

    loaded: Any = KeyedVectors.load(str(path))
    return getattr(loaded, "wv", loaded)


def facebook(path: Path, **options: Any) -> Any:
    from gensim.models.fasttext import load_facebook_vectors

    return load_facebook_vectors(str(path), **options)


class Sample(NamedTuple):
    name: str
    format: str
    gensim: Callable[[Path], Any]
    options: Mapping[str, Any] = MappingProxyType({})


READABLE = [
    Sample("cca_glove_style/en-sample.txt.gz", "glove", glove),
    Sample("gensim/EN.1-10.cbow1_wind5_hs0_neg10_size300_smpl1e-05.txt", "word2vec", text),
    Sample("gensim/IT.1-10.cbow1_wind5_hs0_neg10_size300_smpl1e-05.txt", "word2vec", text),
    Sample("gensim/cp852_fasttext.bin", "fasttext", facebook),
    Sample(
        "gensim/cp852_fasttext.bin",
        "fasttext",
        lambda p: facebook(p, encoding="cp852"),
        {"encoding": "cp852"},
    ),
    Sample("gensim/crime-and-punishment.bin", "fasttext", facebook),
    Sample("gensim/crime-and-punishment.vec", "word2vec", text),
    Sample("gensim/euclidean_vectors.bin", "word2vec-binary", binary),
    Sample("gensim/high_precision.kv.bin", "word2vec-binary", binary),
    Sample("gensim/high_precision.kv.txt", "word2vec", text),
    Sample("gensim/lee_fasttext.bin", "fasttext", facebook),
    Sample("gensim/lee_fasttext.vec", "word2vec", text),
    Sample("gensim/lee_fasttext_new.bin", "fasttext", facebook),
    Sample("gensim/model-from-gensim-3.8.0.w2v", "gensim", native),
    Sample("gensim/non_ascii_fasttext.bin", "fasttext", facebook),
    Sample("gensim/old_keyedvectors_320.dat", "gensim", native),
    Sample(
        "gensim/pang_lee_polarity_fasttext.vec",
        "word2vec",
        lambda p: text(p, unicode_errors="ignore"),
        {"errors": "ignore"},
    ),
    Sample("gensim/poincare_vectors.bin", "word2vec-binary", binary),
    Sample("gensim/test_glove.txt", "glove", glove),
    Sample("gensim/toy-model-pretrained.bin", "fasttext", facebook),
    Sample("gensim/toy-model.bin", "fasttext", facebook),
    Sample("gensim/toy-model.vec", "word2vec", text),
    Sample(
        "gensim/w2v_keyedvectors_load_test.modeldata",
        "word2vec",
        lambda p: text(p, unicode_errors="ignore"),
        {"errors": "ignore"},
    ),
    Sample("gensim/word2vec_pre_kv_c", "word2vec", text),
]

# file -> part of the reason; gensim 4.4 reads none of them (with the options of a plain call)
REFUSED = {
    "cca_glove_style/align-sample.txt": "line 1|expected a word and its numbers",
    "gensim/OPUS_en_it_europarl_train_one2ten.txt": "expected a word and its numbers",
    "gensim/ft_kv_3.6.0.model.gz": "before gensim 3.8, with other hashes",
    "gensim/pang_lee_polarity_fasttext.bin": "supervised fastText model",
    "gensim/pang_lee_polarity_fasttext.vec": "line [0-9]+: the word .* is not utf-8",
    "gensim/pretrained.vec": "promises 3 words, the file has 1",
    "gensim/w2v_keyedvectors_load_test.modeldata": "line 2: the word .* is not utf-8",
    "gensim/w2v_keyedvectors_load_test.vocab": "line 1: the word .* is not utf-8",
    "gensim/word2vec_pre_kv_py3_4": "UserString.defaultdict, which is not on the list",
}


@pytest.mark.parametrize("sample", READABLE, ids=lambda s: f"{s.name}{dict(s.options) or ''}")
def test_equals_gensim(sample: Sample, shared_data: Path) -> None:
    path = shared_data / "loader_samples" / sample.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = sample.gensim(path)
        found = load_embeddings(path, **sample.options)
    assert detect_format(path) == sample.format
    assert found.vocabulary.words == expected.index_to_key
    np.testing.assert_array_equal(found.matrix, expected.vectors)
    limited = load_quietly(path, limit=2, **sample.options)
    np.testing.assert_array_equal(limited.matrix, expected.vectors[:2])


@pytest.mark.parametrize(
    "sample", [s for s in READABLE if s.format == "fasttext" and not s.options], ids=lambda s: s.name
)
def test_unknown_words_equal_gensim(sample: Sample, shared_data: Path) -> None:
    path = shared_data / "loader_samples" / sample.name
    expected, found = facebook(path), load_quietly(path).with_unknown("subword")
    unknown = ["zzyzx", "újezd", "преступление-и", "日本語テキスト", "a", "walkingly"]
    for word, vector in zip(unknown, found.vectors(unknown), strict=True):
        np.testing.assert_array_equal(vector, expected.get_vector(word))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_reason(name: str, shared_data: Path) -> None:
    path = shared_data / "loader_samples" / name
    with pytest.raises(DataError, match=REFUSED[name]) as caught:
        load_embeddings(path)
    assert path.name in str(caught.value)


def test_no_sample_is_forgotten(shared_data: Path) -> None:
    folder = shared_data / "loader_samples"
    names = {str(path.relative_to(folder)) for path in folder.glob("*/*")}
    assert names == {sample.name for sample in READABLE} | set(REFUSED)


def load_quietly(path: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_embeddings(path, **options)
