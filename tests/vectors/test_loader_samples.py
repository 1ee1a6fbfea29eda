"""Every sample file that a current gensim reads equals what gensim gives; the rest is refused with a reason.

The samples are real files of many ages, encodings and states of repair.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign.errors import DataError
from nmtalign.vectors.storage import detect_format, load_embeddings


def by_gensim(path: Path, format: str, options: dict[str, str]) -> Any:
    """Read a sample with gensim, which has other names for the same options."""
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    if format == "gensim":
        loaded: Any = KeyedVectors.load(str(path))
        return getattr(loaded, "wv", loaded)
    if format == "fasttext":
        return load_facebook_vectors(str(path), **options)
    how = {"binary": format == "word2vec-binary", "no_header": "glove" in f"{path.parent.name}/{path.name}"}
    return KeyedVectors.load_word2vec_format(str(path), unicode_errors=options.get("errors", "strict"), **how)


SKEWED = "1-10.cbow1_wind5_hs0_neg10_size300_smpl1e-05.txt"
READABLE: list[tuple[str, str, dict[str, str]]] = [
    ("cca_glove_style/en-sample.txt.gz", "word2vec", {}),
    (f"gensim/EN.{SKEWED}", "word2vec", {}),
    (f"gensim/IT.{SKEWED}", "word2vec", {}),
    ("gensim/cp852_fasttext.bin", "fasttext", {}),
    ("gensim/cp852_fasttext.bin", "fasttext", {"encoding": "cp852"}),
    ("gensim/crime-and-punishment.bin", "fasttext", {}),
    ("gensim/crime-and-punishment.vec", "word2vec", {}),
    ("gensim/euclidean_vectors.bin", "word2vec-binary", {}),
    ("gensim/high_precision.kv.bin", "word2vec-binary", {}),
    ("gensim/high_precision.kv.txt", "word2vec", {}),
    ("gensim/lee_fasttext.bin", "fasttext", {}),
    ("gensim/lee_fasttext.vec", "word2vec", {}),
    ("gensim/lee_fasttext_new.bin", "fasttext", {}),
    ("gensim/model-from-gensim-3.8.0.w2v", "gensim", {}),
    ("gensim/non_ascii_fasttext.bin", "fasttext", {}),
    ("gensim/old_keyedvectors_320.dat", "gensim", {}),
    ("gensim/pang_lee_polarity_fasttext.vec", "word2vec", {"errors": "ignore"}),
    ("gensim/poincare_vectors.bin", "word2vec-binary", {}),
    ("gensim/test_glove.txt", "word2vec", {}),
    ("gensim/toy-model-pretrained.bin", "fasttext", {}),
    ("gensim/toy-model.bin", "fasttext", {}),
    ("gensim/toy-model.vec", "word2vec", {}),
    ("gensim/w2v_keyedvectors_load_test.modeldata", "word2vec", {"errors": "ignore"}),
    ("gensim/word2vec_pre_kv_c", "word2vec", {}),
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


@pytest.mark.parametrize(("name", "format", "options"), READABLE)
def test_equals_gensim(name: str, format: str, options: dict[str, str], shared_data: Path) -> None:
    path = shared_data / "loader_samples" / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = by_gensim(path, format, options)
        found = load_embeddings(path, **options)
        limited = load_embeddings(path, limit=2, **options)
    assert detect_format(path) == format
    assert found.vocabulary.words == expected.index_to_key
    np.testing.assert_array_equal(found.matrix, expected.vectors)
    np.testing.assert_array_equal(limited.matrix, expected.vectors[:2])
    if format == "fasttext":
        unknown = ["zzyzx", "újezd", "преступление-и", "日本語テキスト", "a", "walkingly"]
        for word, vector in zip(unknown, found.with_unknown("subword").vectors(unknown), strict=True):
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
    assert names == {name for name, _, _ in READABLE} | set(REFUSED)
