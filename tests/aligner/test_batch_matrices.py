"""``batch.matrices`` computes the attention of many pairs together: bit-identical to that of each pair."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nmtalign as na
from nmtalign.aligner import aligner as aligner_module
from nmtalign.names import CELL_VALUES, CellValues

LINES = [
    ("the cat, a dog", "le chat, un chien"),
    ("", ""),
    ("don't go", "n'y va pas"),
    ("a", "un chien noir"),
]
WORDS = [(["the", "cat"], ["le", "chat"]), (["a", "black", "dog"], ["un", "chien"])]


def values_of(pair: na.AlignedPair, values: str) -> Any:
    return pair.matrix.weights if values == "combined" else getattr(pair, values)


def check_bits(batch: na.AlignedBatch, values: CellValues) -> None:
    matrices = list(batch.matrices(values))
    assert len(matrices) == len(batch)
    for matrix, pair in zip(matrices, batch, strict=True):
        expected = values_of(pair, values)
        assert matrix.dtype == expected.dtype
        np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("values", CELL_VALUES)
@pytest.mark.parametrize("count", ["words", "tokens"])
def test_matrices_are_those_of_each_pair(values: CellValues, count: Any) -> None:
    check_bits(na.load().align_batch(LINES, count=count), values)


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        (WORDS, {}),
        (LINES, {"expert": ["0-0", "", "0-0", "0-0"]}),
        ([("the c@@ at", "le chat"), ("a", "un ch@@ ien")], {"pieces": "bpe", "count": "pieces"}),
    ],
)
def test_matrices_of_words_of_pieces_and_with_an_expert(pairs: Sequence[Any], options: Any) -> None:
    batch = na.load().align_batch(pairs, **options)
    check_bits(batch, "forward")
    check_bits(batch[1:], "combined")


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = na.load().align_batch(LINES * 3)
    at_once = list(batch.matrices("reverse"))
    monkeypatch.setattr(aligner_module, "MAX_MATRIX_CELLS", 300)
    for matrix, expected in zip(batch.matrices("reverse"), at_once, strict=True):
        np.testing.assert_array_equal(matrix, expected)


def test_values_left_out_are_those_of_a_picture() -> None:
    pairs = [("the cat", "le chat")]
    of_vectors = na.load("en_fr_vectors").align_batch(pairs)
    np.testing.assert_array_equal(next(of_vectors.matrices()), of_vectors[0].forward)
    learned = na.load().align_batch(pairs)
    np.testing.assert_array_equal(next(learned.matrices()), learned[0].posterior)


def test_matrices_are_read_only() -> None:
    matrix = next(na.load().align_batch(LINES).matrices("forward"))
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 1


def test_links_from_other_programs_keep_the_weights_that_were_given() -> None:
    given = [np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]]), np.array([[0.25, 0.75]]), np.zeros((1, 0))]
    pairs = [("a b c", "x y"), ("a b", "x"), ("", "x")]
    batch = na.links_from(pairs, matrices=given)
    for found in (pickle.loads(pickle.dumps(batch)), batch, batch[[2, 1, 0]][::-1]):
        for kept, matrix, pair in zip(found.matrices(), given, found, strict=True):
            np.testing.assert_array_equal(kept, matrix)
            np.testing.assert_array_equal(pair.forward, matrix)
            sums = matrix.sum(axis=0)
            np.testing.assert_allclose(pair.reverse, matrix / sums, rtol=1e-12)
            np.testing.assert_allclose(pair.posterior, np.sqrt(matrix * matrix / sums), rtol=1e-6)
            assert pair.default_values == "forward"
            assert {link: pair.probability(link) for link in pair.links} == pair.probabilities
    similar = na.links_from([("a b", "c d"), ("a", "b")], similarities=[np.eye(2), np.ones((1, 1))])
    np.testing.assert_array_equal(next(similar[1:].matrices()), [[1]])
    np.testing.assert_allclose(similar[0].posterior, (1 + np.eye(2)) / 2)
    with pytest.raises(na.UsageError, match="have no `scores`"):
        batch.matrices("scores")


@pytest.mark.parametrize(
    ("options", "tokens", "expected"),
    [
        ({}, [("a", "b."), ("x", "y")], [[0.5, 0.5], [0.3, 0.7]]),
        ({"count": "tokens"}, [("a", "b", "."), ("x", "y")], None),
    ],
)
def test_weights_of_tokens_become_those_of_what_positions_count(options, tokens, expected) -> None:
    given = np.array([[0.5, 0.25, 0.25], [0.3, 0.1, 0.6]])
    batch = na.links_from([("a b.", "x y")], matrices=[given], tokenizer="simple", **options)
    assert list(batch[0].tokens) == tokens
    np.testing.assert_allclose(batch[0].forward, given if expected is None else expected)


def test_weights_of_pieces_become_those_of_words_or_of_pieces() -> None:
    given = np.array([[0.6, 0.2, 0.2], [0.0, 0.5, 0.5]])
    pair = [("a@@ b c", "x y")]
    of_words = na.links_from(pair, matrices=[given], pieces="bpe")
    np.testing.assert_allclose(of_words[0].forward, [[0.8, 0.2], [0.5, 0.5]])
    of_pieces = na.links_from(pair, matrices=[given], pieces="bpe", count="pieces")
    assert of_pieces[0].forward.shape == (2, 3)


def test_wrong_calls_are_refused_at_once() -> None:
    batch = na.load().align_batch(LINES)
    with pytest.raises(na.UsageError, match="did you mean 'forward'"):
        batch.matrices("foward")  # type: ignore[arg-type]
    without_words = na.AlignedBatch(
        batch.offsets, batch.source, batch.target, batch.probability, batch.scores
    )
    with pytest.raises(na.UsageError, match="links without words, and no attention"):
        without_words.matrices("forward")


def test_a_batch_contains_its_pairs() -> None:
    batch = na.load().align_batch([("the cat", "le chat"), ("a dog", "un chien"), ("the cat", "le chat")])
    assert batch[1] in batch
    assert batch.index(batch[1]) == 1
    assert batch.count(batch[0]) == 2
    assert batch[0] != batch[1]
    assert batch[1:][0] == batch[1]
    assert len({batch[0], batch[2]}) == 1
    assert batch[0] != "the cat"


def test_equality_looks_at_links_scores_words_and_weights() -> None:
    aligner = na.load()
    pairs = [("the cat", "le chat"), ("a dog", "un chien")]
    batch = aligner.align_batch(pairs)
    assert batch == aligner.align_batch(pairs)
    assert hash(batch) == hash(aligner.align_batch(pairs))
    assert batch != batch[:1]
    assert batch != na.load(threshold=0.999).align_batch(pairs)
    assert batch != aligner.align_batch([("the cat", "le chat"), ("a dog", "un  chien ")][::-1])
    assert batch[0] == aligner.align("the cat", "le chat")
    given = na.links_from(pairs, similarities=[np.eye(2)] * 2)
    assert given[0] != batch[0]
    assert batch != [*batch]
