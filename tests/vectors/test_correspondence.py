"""Correspondence analysis of links and of words by sentence pairs: equal to the dense definitions."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix

from nmtalign.errors import DataError, UsageError
from nmtalign.text.bitext import read_bitext
from nmtalign.vectors.correspondence import correspondence_analysis, learn_cooccurrence


def table(seed: int, shape: tuple[int, int] = (40, 30), density: float = 0.2) -> csr_array:
    random = np.random.default_rng(seed)
    return csr_array(9 * random.random(shape) * (random.random(shape) < density))


def dense_definition(counts: csr_array, size: int, smoothing: float, power: float) -> np.ndarray:
    """The best product of rank `size` to the scaled counts, by the exact singular values."""
    c = counts.toarray()
    margins = np.outer(c.sum(axis=1) + smoothing, c.sum(axis=0) + smoothing)
    U, s, Vt = np.linalg.svd((c / np.sqrt(margins)) ** power, full_matrices=False)
    return np.asarray(U[:, :size] * s[:size] @ Vt[:size])


@pytest.mark.parametrize(("smoothing", "power"), [(0.5, 1.0), (2.0, 0.75)])
@pytest.mark.parametrize("size", [3, 10])
def test_products_equal_those_of_the_dense_definition(size: int, smoothing: float, power: float) -> None:
    """With 20 directions beside the wanted ones, 23 or 30 of 30 are kept: as good as exact."""
    counts = table(size)
    source, target = correspondence_analysis(counts, size, smoothing=smoothing, power=power)
    assert source.dtype == target.dtype == np.float32
    expected = dense_definition(counts, size, smoothing, power)
    np.testing.assert_allclose(source @ target.T, expected, atol=2e-3)


def test_both_sides_share_the_singular_values() -> None:
    source, target = correspondence_analysis(table(1), 8)
    lengths = np.linalg.norm(source, axis=0)
    np.testing.assert_allclose(lengths, np.linalg.norm(target, axis=0), rtol=1e-4)
    assert (np.diff(lengths) <= 1e-5).all()


def test_words_without_links_are_zero_and_change_nothing() -> None:
    counts = table(2)
    rows, columns = np.arange(40) * 2, np.arange(30) + 5
    wide = np.zeros((90, 50))
    wide[np.ix_(rows, columns)] = counts.toarray()
    narrow, spread = correspondence_analysis(counts, 6), correspondence_analysis(csr_array(wide), 6)
    for k, places in enumerate((rows, columns)):
        np.testing.assert_array_equal(spread[k][places], narrow[k])
        assert not np.delete(spread[k], places, axis=0).any()


@pytest.mark.parametrize("form", [csr_matrix, coo_array, csr_array])
def test_any_sparse_form_will_do(form: type) -> None:
    counts = table(3)
    before = counts.copy()
    found = correspondence_analysis(form(counts), 4, power=0.5)
    np.testing.assert_array_equal(found[0], correspondence_analysis(counts, 4, power=0.5)[0])
    assert (counts != before).nnz == 0


def test_few_words_leave_columns_of_zeros() -> None:
    source, target = correspondence_analysis(csr_array(np.eye(3)), 5)
    assert source.shape == target.shape == (3, 5)
    assert not source[:, 3:].any()
    np.testing.assert_allclose(source @ target.T, np.eye(3) / 1.5, atol=1e-6)
    empty, _ = correspondence_analysis(csr_array((4, 3)), 2)
    np.testing.assert_array_equal(empty, np.zeros((4, 2)))


@given(st.integers(0, 5), st.integers(1, 12))
def test_swapped_tables_give_swapped_products(seed: int, size: int) -> None:
    counts = table(seed, (12, 9), 0.5)  # so few words that nothing is left to chance
    source, target = correspondence_analysis(counts, size)
    there, back = correspondence_analysis(csr_array(counts.T), size)
    np.testing.assert_allclose(source @ target.T, back @ there.T, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"size": 0}, {"smoothing": -1.0}, {"power": 0.0}])
def test_senseless_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="size >= 1"):
        correspondence_analysis(table(0), **({"size": 2} | wrong))  # type: ignore[arg-type]


# ---------------------------------------------------------------- words by sentence pairs

LEXICON = {f"s{n}": f"t{n}" for n in range(40)}


def toy_bitext(pairs: int = 600, words: int = 40) -> list[tuple[list[str], list[str]]]:
    """Sentences of 5 words, the more frequent the lower the number, translated word by word in any order."""
    random = np.random.default_rng(5)
    names = list(LEXICON)[:words]
    odds = 1 / np.arange(1, len(names) + 1)
    bitext = []
    for _ in range(pairs):
        source = [names[n] for n in random.choice(len(names), 5, p=odds / odds.sum())]
        bitext.append((source, [LEXICON[word] for word in random.permutation(source)]))
    return bitext


def dense_vectors(bitext: list[tuple[list[str], list[str]]], words: list[str], size: int) -> np.ndarray:
    """The docstring word by word: count, scale, factorise, leave out the first direction."""
    counts = np.array([[(source + target).count(word) for source, target in bitext] for word in words], float)
    scaled = counts / np.sqrt(np.outer(counts.sum(axis=1), counts.sum(axis=0)))
    vectors = np.linalg.svd(scaled, full_matrices=False)[0][:, 1 : size + 1]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_cosines_equal_those_of_the_dense_definition() -> None:
    bitext = toy_bitext(120, words=12)
    source, target = learn_cooccurrence(bitext, dimension=6, minimum=1)
    found = np.concatenate([source.matrix, target.matrix])
    expected = dense_vectors(bitext, source.vocabulary.words + target.vocabulary.words, 6)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_translations_are_neighbours() -> None:
    source, target = learn_cooccurrence(toy_bitext(), dimension=30)
    nearest = (source.matrix @ target.matrix.T).argmax(axis=1)
    found = [target.vocabulary.words[n] for n in nearest]
    right = sum(LEXICON[word] == other for word, other in zip(source.vocabulary.words, found, strict=True))
    assert right >= 0.9 * len(source)


def test_words_come_by_frequency_and_rare_ones_are_left_out() -> None:
    bitext = [(["a", "b", "b"], ["x", "y"]), (["b", "c"], ["y", "z"]), (["b", "a"], ["x", "y"])]
    source, target = learn_cooccurrence(bitext, dimension=1)
    assert source.vocabulary.words == ["b", "a"]
    assert target.vocabulary.words == ["y", "x"]
    assert source.settings["pairs"] == 3


def test_columns_beyond_the_rank_are_zero() -> None:
    """Three different sentence pairs have three directions, one of which is left out."""
    source, target = learn_cooccurrence([(["a"], ["x"]), (["b"], ["y"]), (["c"], ["z"])] * 4, dimension=4)
    assert not source.matrix[:, 2:].any()
    np.testing.assert_allclose(source.matrix, target.matrix, atol=1e-5)


def test_empty_sentences_are_no_matter() -> None:
    bitext = [*toy_bitext(100), ([], []), (["s1"], [])]
    source, _ = learn_cooccurrence(bitext, dimension=4)
    assert np.isfinite(source.matrix).all()


def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (learn_cooccurrence(toy_bitext(), dimension=8)[1].matrix.tobytes() for _ in range(2))
    assert first == second


def test_too_little_text_is_refused() -> None:
    with pytest.raises(DataError, match="too few for 300 dimensions"):
        learn_cooccurrence(toy_bitext())
    with pytest.raises(DataError, match="0 words in 0 sentence pairs"):
        learn_cooccurrence([])
    with pytest.raises(UsageError, match="at least 1"):
        learn_cooccurrence([], dimension=0)


def test_alignment_error_of_the_written_recipe(shared_data: Path) -> None:
    """Hansard, 5,000 pairs: far better than chance without any position model."""
    from nmtalign.aligner.opening import vector_aligner
    from nmtalign.links.evaluation import evaluate
    from nmtalign.links.formats import read_gold

    hansard, gold = shared_data / "bitext" / "hansard", shared_data / "gold" / "naacl2003_enfr_dev37"
    dev = list(read_bitext(gold / "text.en", gold / "text.fr"))
    train = read_bitext(hansard / "train.en.gz", hansard / "train.fr.gz")
    text = [*dev, *islice(train, 5000)]
    words = [(pair.source.lower().split(" "), pair.target.lower().split(" ")) for pair in text]
    aligner = vector_aligner(*learn_cooccurrence(words, dimension=200), positions="none")
    batch = aligner.align_batch(words[: len(dev)])
    error = evaluate([batch.links(n) for n in range(len(dev))], read_gold(gold / "gold.pharaoh")).aer
    assert error < 0.35
