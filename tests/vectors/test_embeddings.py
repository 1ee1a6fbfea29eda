"""Look-up, policies for unknown words, coverage, vocabularies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.arrays import unit_rows
from nmtalign.errors import DataError, UsageError
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings, VectorCoverage, Vocabulary, fold, spelling_direction

WORDS = ["la", "Évêque", "running", "runner", "1992"]


@pytest.fixture
def embeddings() -> Embeddings:
    matrix = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    return Embeddings(Vocabulary.from_words(WORDS), matrix)


def seed_embed(words: list[str], word2int: dict[str, int], matrix: np.ndarray) -> np.ndarray:
    """The loop of the seed: an unknown word is a row of zeros."""
    output = np.zeros((len(words), matrix.shape[1]))
    for i, word in enumerate(words):
        if word in word2int:
            output[i] = matrix[word2int[word]]
    return output


@given(words=st.lists(st.sampled_from([*WORDS, "unknown", ""]), max_size=12))
def test_zero_policy_is_the_seeds_loop(words: list[str]) -> None:
    word2int = {"la": 4, "Évêque": 0, "runner": 9}  # rows with holes, as in old pickles
    matrix = np.random.default_rng(1).standard_normal((12, 5))
    found = Embeddings(Vocabulary(word2int), matrix).vectors(words)
    np.testing.assert_array_equal(found, seed_embed(words, word2int, matrix))


def test_spelling_variants_share_their_vector(embeddings: Embeddings) -> None:
    found = embeddings.with_unknown("backoff").vectors(["ÉVÊQUE", "eveque", "Évêque", "La"])
    np.testing.assert_array_equal(found, embeddings.vectors(["Évêque", "Évêque", "Évêque", "la"]))


def test_a_prefix_family_gives_its_mean(embeddings: Embeddings) -> None:
    found = embeddings.with_unknown("backoff").vectors(["runnable"])[0]
    np.testing.assert_allclose(found, embeddings.vectors(["running", "runner"]).mean(axis=0), rtol=1e-6)


def test_numbers_and_names_meet_only_themselves(embeddings: Embeddings) -> None:
    other = Embeddings(Vocabulary.from_words(["x"]), np.ones((1, 8), np.float32))
    sides = (embeddings.with_unknown("backoff"), other.with_unknown("backoff"))
    pair = [unit_rows(side.vectors(["19925", "Zorg", "zorg"])) for side in sides]
    np.testing.assert_allclose(np.sum(pair[0] * pair[1], axis=1), 1, rtol=1e-5)
    assert abs(pair[0][0] @ pair[0][1]) < 0.95
    family = embeddings.with_unknown("backoff").vectors(["19925"])[0]
    assert not np.allclose(family, embeddings.vectors(["1992"])[0])


def test_spelling_directions_are_fixed_for_ever() -> None:
    signs = np.sign(spelling_direction("Ottawa", 12)).astype(int).tolist()
    assert signs == [-1, -1, -1, 1, -1, 1, -1, 1, -1, 1, -1, -1]


def test_coverage_adds_up(embeddings: Embeddings) -> None:
    words = ["la", "la", "zzzz", "runnable"]
    whole = embeddings.with_unknown("backoff").coverage(words)
    parts = sum((embeddings.with_unknown("backoff").coverage([word]) for word in words), VectorCoverage())
    assert whole == parts == VectorCoverage(total=4, known=2, composed=2)
    assert embeddings.coverage(words) == VectorCoverage(total=4, known=2)
    text = "2 of 4 words (50.0 %) have a vector of their own, 2 more by sub-words or back-off"
    assert str(whole) == text
    assert embeddings.coverage([]).rate == 1.0


def test_a_zero_vector_is_no_vector_of_ones_own() -> None:
    zero = Embeddings(Vocabulary({"la": 2, "x": 0}), np.array([[0.0, 0], [1, 1], [2, 0]]))
    assert zero.coverage(["la", "x", "y"]) == VectorCoverage(total=3, known=1)
    own = zero.own_words
    assert ("la" in own, "x" in own, "y" in own, len(own)) == (True, False, False, 1)


def test_forms_are_words_of_the_vocabulary_where_any_fits() -> None:
    cities = Embeddings.of(["Paris", "polish", "Polish", "ÉTÉ", "été"], np.eye(5))
    words = ["paris", "PARIS", "Polish", "POLISH", "Été", "e\u0301te\u0301", "Rome", ""]
    assert cities.forms(words, TextSettings()) == [
        *("Paris", "Paris", "Polish", "polish", "été", "été", "rome", "")
    ]
    cased = TextSettings(lowercase=False)
    assert cities.forms(words, cased) == [*("paris", "PARIS", "Polish", "POLISH", "Été", "été", "Rome", "")]


def test_back_off_keeps_double_precision() -> None:
    third = Embeddings.of(["House"], [[1 / 3]]).with_unknown("backoff")
    assert third.vectors(["house"]).tolist() == [[1 / 3]]


def test_equal_words_get_equal_vectors(embeddings: Embeddings) -> None:
    for policy in ("zero", "backoff"):
        found = embeddings.with_unknown(policy).vectors(["zz", "la", "zz", "la"])
        np.testing.assert_array_equal(found[:2], found[2:])


def test_first_words_and_unit_rows(embeddings: Embeddings) -> None:
    assert embeddings.first(2).vocabulary.words == WORDS[:2]
    np.testing.assert_array_equal(embeddings.first(2).matrix, embeddings.matrix[:2])
    zero = unit_rows(np.array([[0, 0], [3, 4]], np.float16))
    np.testing.assert_allclose(zero, [[0, 0], [0.6, 0.8]], rtol=1e-6)


def test_half_precision_is_widened() -> None:
    half = Embeddings(Vocabulary.from_words(["a"]), np.full((1, 2), 0.1, np.float16))
    assert half.vectors(["a", "b"]).dtype == np.float32


def test_shapes_that_make_no_sense_are_refused() -> None:
    words = Vocabulary.from_words(["a", "b"])
    with pytest.raises(DataError, match="needs 2 rows, the matrix has 1"):
        Embeddings(words, np.ones((1, 3)))
    with pytest.raises(DataError, match="floating-point matrix"):
        Embeddings(words, np.ones((2, 3), int))
    with pytest.raises(UsageError, match="no sub-words"):
        Embeddings(words, np.ones((2, 3)), unknown="subword")
    with pytest.raises(UsageError, match="expected one of"):
        Embeddings(words, np.ones((2, 3)), unknown="guess")


@given(st.text())
def test_folding_twice_is_folding_once(word: str) -> None:
    assert fold(fold(word)) == fold(word)


def test_vectors_are_made_of_words_and_a_matrix() -> None:
    rows = [[0, 1], [2, 3], [4, 5]]
    for words in (["a", "b", "c"], ("a", "b", "c"), np.array(["a", "b", "c"]), {"c": 2, "a": 0, "b": 1}):
        np.testing.assert_array_equal(Embeddings.of(words, rows).vectors(["c", "x"]), [[4, 5], [0, 0]])
    for wrong in ("abc", 3, np.array("abc"), np.array([["a", "b"]])):
        with pytest.raises(UsageError, match="expected a dictionary word -> row, or a list of words"):
            Embeddings.of(wrong, rows)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("words", [["a", "b"], np.array(["a", "b"])], ids=["list", "array"])
def test_a_list_of_words_has_the_rows_of_the_matrix(words, rows):
    with pytest.raises(
        DataError, match=rf"a row of the matrix for each of 2 words, found shape \({rows}, 3\)"
    ):
        Embeddings.of(words, np.eye(rows, 3))


def test_a_dictionary_of_rows_may_leave_rows_without_a_word():
    assert Embeddings.of({"a": 0, "b": 2}, np.eye(3)).vectors(["b"]).tolist() == [[0, 0, 1]]


def test_a_word_is_found_as_the_sentencepiece_piece_that_is_the_whole_word():
    pieces = Embeddings.of(["▁the", "▁cat", "s", "cat"], np.eye(4))
    assert pieces.forms(["the", "The", "cat", "cats"], TextSettings()) == ["▁the", "▁the", "cat", "cats"]


@given(st.lists(st.text(), unique=True), st.lists(st.text()))
def test_rows_are_positions_in_the_list(words, others):
    vocabulary = Vocabulary.from_words(words)
    expected = [words.index(word) if word in words else -1 for word in words + others]
    np.testing.assert_array_equal(vocabulary.rows(words + others), expected)
    assert vocabulary.rows(words).dtype == np.int32
    assert vocabulary.words == words == list(vocabulary)
    assert len(vocabulary) == vocabulary.size == len(words)
    assert vocabulary == Vocabulary({word: row for row, word in enumerate(words)})


def test_rows_may_be_left_out():
    vocabulary = Vocabulary({"b": 7, "a": np.int64(2)})
    assert vocabulary.words == ["a", "b"]
    assert (vocabulary.size, len(vocabulary), vocabulary.rows(["a", "c"]).tolist()) == (8, 2, [2, -1])
    assert "a" in vocabulary
    assert "c" not in vocabulary


@pytest.mark.parametrize(
    ("word2int", "message"),
    [
        ({"a": 1, "b": 1}, "'a' and 'b' share row 1"),
        ({"a": -1}, "row of 'a' is -1"),
        ({"a": 2**31}, "rows count from 0"),
        ({"a": 1.0}, "integer as the row of 'a', found 1.0"),
        ({"a": True}, "integer"),
        ({3: 1}, "words as text, found int 3"),
    ],
)
def test_bad_dictionaries_are_refused(word2int, message):
    with pytest.raises(DataError, match=message):
        Vocabulary(word2int)


def test_a_word_that_comes_twice_is_refused():
    with pytest.raises(DataError, match="'a' is in row 0 and again in row 2"):
        Vocabulary.from_words(["a", "b", "a"])
