"""Retrieval and mapping against slow loops, numerical derivatives, laws and gensim."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.arrays import unit_rows
from nmtalign.errors import DataError, UsageError
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.spaces import (
    centered,
    identical_strings,
    map_spaces,
    mean_of_nearest,
    mutual_neighbors,
    nearest,
    nearest_words,
    procrustes,
    read_seed_dictionary,
    relatedness,
    warn_if_unrelated,
)
from tests.vectors import naive_retrieval as naive


def unit(seed: int, rows: int, dimension: int = 6) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32))


def precision(source: Embeddings, target: Embeddings, gold: list[tuple[str, str]]) -> float:
    """Return the share of words whose nearest word is their translation."""
    neighbors = nearest_words(source, target, [word for word, _ in gold], count=1)
    return sum(neighbors[word][0][0] == translation for word, translation in gold) / len(gold)


def named(prefix: str, matrix: np.ndarray) -> Embeddings:
    return Embeddings(Vocabulary.from_words([f"{prefix}{n}" for n in range(len(matrix))]), matrix)


@pytest.mark.parametrize("cells", [1, 50, 1 << 26])
@given(seed=st.integers(0, 99), rows=st.integers(1, 25), keys=st.integers(1, 25))
@settings(max_examples=15, deadline=None)
def test_retrieval_equals_slow_loops(cells: int, seed: int, rows: int, keys: int) -> None:
    X, Y = unit(seed, rows), unit(seed + 1, keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmtalign.vectors.spaces._CELLS_PER_BLOCK", cells)
        found = mean_of_nearest(X, Y)
        near, score = nearest(X, Y, count=3, hubness=mean_of_nearest(Y, X))
        pairs, quality = mutual_neighbors(X, Y)
    np.testing.assert_allclose(found, [naive.hubness(x, Y) for x in X], rtol=1e-5, atol=1e-6)
    expected = naive.csls(X, Y)
    order = np.sort(expected, axis=1)[:, ::-1][:, :3]
    np.testing.assert_allclose(score - found[:, None], order, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(expected, near, axis=1), order, rtol=1e-4, atol=1e-5)
    assert {(int(i), int(j)) for i, j in pairs} == naive.mutual(X, Y)
    assert quality == pytest.approx(expected.max(axis=1).mean(), abs=1e-5)


def test_equal_keys_come_in_order() -> None:
    keys = np.repeat(np.eye(1, 6), 5, axis=0)
    assert nearest(keys[:1], keys, count=5)[0].tolist() == [[0, 1, 2, 3, 4]]


def rotation(size: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_procrustes_finds_a_rotation(seed: int) -> None:
    X, turn = unit(seed, 30), rotation(6, seed)
    pairs = np.stack([np.arange(30), np.arange(30)], axis=1)
    np.testing.assert_allclose(procrustes(X, X @ turn, pairs), turn, atol=1e-5)


def test_centered_rows_have_unit_length_and_zero_rows_stay() -> None:
    matrix = np.vstack([unit(3, 10) + 1, np.zeros((1, 6))])
    found = centered(matrix)
    np.testing.assert_allclose(np.linalg.norm(found[:-1], axis=1), 1, rtol=1e-5)
    by_hand = matrix[0] / np.linalg.norm(matrix[0]) - unit_rows(matrix[:-1]).mean(axis=0)
    np.testing.assert_allclose(found[0], by_hand / np.linalg.norm(by_hand), rtol=1e-4, atol=1e-6)


def turned_spaces(
    words: int = 400, noise: float = 0.02, dimension: int = 20
) -> tuple[Embeddings, Embeddings]:
    """A space, and the same one turned, with noise and its words in another order."""
    random = np.random.default_rng(1)
    clusters = random.standard_normal((20, dimension))
    X = clusters[random.integers(0, 20, words)] + random.standard_normal((words, dimension))
    Y = X @ rotation(dimension, 2) + noise * random.standard_normal((words, dimension))
    order = random.permutation(words)
    target = Embeddings(Vocabulary.from_words([f"t{n}" for n in order]), Y[order].astype(np.float32))
    return named("s", X.astype(np.float32)), target


def test_few_seeds_and_refinement_find_all_translations() -> None:
    source, target = turned_spaces(noise=0.3)
    gold = [(f"s{n}", f"t{n}") for n in range(400)]
    alone, whole = (map_spaces(source, target, gold[:10], refine=refine) for refine in (False, True))
    shares = [precision(m.source, m.target, gold) for m in (alone, whole)]
    assert shares[0] < 0.7 < 0.97 < shares[1]
    assert whole.rounds > 0
    assert whole.pairs > 300


def test_an_orthogonal_map_keeps_all_cosines() -> None:
    source, target = turned_spaces()
    mapped = map_spaces(source, target, [(f"s{n}", f"t{n}") for n in range(50)])
    before, after = centered(source.matrix), mapped.source.matrix
    np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-5)


def test_rows_without_words_do_not_matter() -> None:
    source, target = turned_spaces()
    holes = np.full((800, 20), 7, np.float32)
    holes[::2] = source.matrix
    sparse = Embeddings(Vocabulary({f"s{n}": 2 * n for n in range(400)}), holes)
    gold = [(f"s{n}", f"t{n}") for n in range(50)]
    whole, other = map_spaces(source, target, gold), map_spaces(sparse, target, gold)
    np.testing.assert_allclose(other.source.vectors(["s9"]), whole.source.vectors(["s9"]), atol=1e-5)


# --- dictionaries, seeds, neighbors --------------------------------------------------------------


def test_neighbors_of_unknown_words_are_none() -> None:
    source, target = named("s", np.eye(4)), named("t", np.eye(4))
    found = nearest_words(source, target, ["s2", "zz"], count=2)
    assert found["s2"][0] == ("t2", pytest.approx(naive.csls(np.eye(4), np.eye(4))[2, 2]))
    assert found["zz"] == []


def test_no_words_cost_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmtalign.vectors.spaces.mean_of_nearest", None)
    assert nearest_words(named("s", np.eye(4)), named("t", np.eye(4)), []) == {}


def test_dictionaries_with_tabs_spaces_and_more_columns(tmp_path: Path) -> None:
    path = tmp_path / "d"
    path.write_text("the le\nNew York\tNew York\t0.9\n\nof de 0.5\n", encoding="utf-8")
    assert list(read_seed_dictionary(path)) == [("the", "le"), ("New York", "New York"), ("of", "de")]
    path.write_text("the le\nalone\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: expected a word and its translation"):
        list(read_seed_dictionary(path))


def test_identical_strings_are_long_or_numbers() -> None:
    first, second = (
        Vocabulary.from_words(words) for words in (["on", "7", "table", "x"], ["table", "on", "7"])
    )
    assert identical_strings(first, second) == [("7", "7"), ("table", "table")]


def test_seeds_without_vectors_are_an_error() -> None:
    source, target = turned_spaces()
    with pytest.raises(DataError, match="none of the 1 seed pairs"):
        map_spaces(source, target, [("x", "y")])
    with pytest.raises(
        DataError,
        match="no seed pairs: no word is spelled the same in both languages, or `seeds` is empty; pass",
    ):
        map_spaces(source, target, [])
    with pytest.raises(UsageError, match="equal dimension"):
        map_spaces(source, named("t", np.eye(3)), [])


# --- unrelated spaces ----------------------------------------------------------------------------


def same_words(noise: float) -> tuple[Embeddings, Embeddings]:
    words = Vocabulary.from_words([f"word{n}" for n in range(100)])
    X = unit(1, 100, 20)
    return Embeddings(words, X), Embeddings(words, X + noise * unit(2, 100, 20))


def test_unrelated_spaces_warn() -> None:
    source, target = same_words(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unrelated(source, target)
        warn_if_unrelated(*turned_spaces())  # no words alike: nothing can be said
    other = Embeddings(target.vocabulary, unit(3, 100, 20))
    with pytest.warns(UserWarning, match="look unrelated"):
        warn_if_unrelated(source, other)
    assert relatedness(*turned_spaces()) is None


def test_one_common_direction_is_not_a_common_space() -> None:
    source, target = same_words(1.0)
    shift = np.ones(20) / 2
    source, target = named("word", unit(4, 100, 20) + shift), named("word", unit(5, 100, 20) + shift)
    found = relatedness(source, target)
    assert found is not None
    assert found < 0.4


# --- beside gensim -------------------------------------------------------------------------------


def test_at_least_as_good_as_gensims_translation_matrix(shared_data: Path) -> None:
    from gensim.models import KeyedVectors, TranslationMatrix

    from nmtalign.vectors.storage import load_embeddings

    folder = shared_data / "loader_samples" / "gensim"
    paths = [folder / f"{side}.1-10.cbow1_wind5_hs0_neg10_size300_smpl1e-05.txt" for side in ("EN", "IT")]
    gold = list(read_seed_dictionary(folder / "OPUS_en_it_europarl_train_one2ten.txt"))
    theirs = TranslationMatrix(*(KeyedVectors.load_word2vec_format(str(path)) for path in paths))
    theirs.train(gold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = theirs.translate([a for a, _ in gold], topn=1)
        ours = map_spaces(*(load_embeddings(path) for path in paths), gold, refine=False)
    right = sum(found[a][0] == b for a, b in gold)
    assert precision(ours.source, ours.target, gold) * len(gold) >= right > 0
