"""Similarities: what is read from files and refused, and the links of published methods."""

from __future__ import annotations

import os

import numpy as np
import pytest

import nmtalign
from nmtalign.decoding.extraction_methods import PUBLISHED_METHODS
from nmtalign.errors import DataError, UsageError
from nmtalign.external.matrix_files import cosines, read_vectors
from nmtalign.links.selection import itermax, match, mutual_argmax, transport
from nmtalign.text.bitext import SentencePair
from tests.aligner.toy_language import links_of, toy_bitext
from tests.attention.naive import entmax15

TOY = toy_bitext(60, seed=3)
PAIRS = [SentencePair(*pair) for pair in TOY.pairs]


def noisy(spread: float) -> list[np.ndarray]:
    """Return similarities (T, S): links stand 0.4 above the others, less noise."""
    rng = np.random.default_rng(1)
    found = []
    for (source, target), links in zip(TOY.words, TOY.links, strict=True):
        matrix = rng.normal(0.2, spread, (len(target), len(source)))
        for s, t in links:
            matrix[t, s] += 0.4
        found.append(matrix)
    return found


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "similarities.npz"
    np.savez(path, **{f"pair-{n}": own for n, own in enumerate(noisy(0.05))})
    return path


def aligned(pairs=TOY.words, **source: object) -> list[set[tuple[int, int]]]:
    """Return the links of a published method."""
    return links_of(nmtalign.links_from(pairs, **source))


@pytest.mark.parametrize("method", PUBLISHED_METHODS)
def test_published_methods_are_the_extractions_of_each_matrix(tmp_path, method):
    products = [own * (15 if PUBLISHED_METHODS[method].product == "dot" else 1) for own in noisy(0.2)]
    np.savez(tmp_path / "s.npz", **{f"pair-{n}": own for n, own in enumerate(products)})
    found = aligned(similarities=tmp_path / "s.npz", method=method)
    for own, found_links in zip(products, found, strict=True):
        similar = own.astype(np.float32).astype(float)
        rows, columns = (np.exp(similar) / np.exp(similar).sum(axis=a, keepdims=True) for a in (1, 0))
        links = {
            "simalign-argmax": lambda x: mutual_argmax(x),
            "simalign-itermax": lambda x: itermax((1 + x) / 2),
            "simalign-match": lambda x: match((1 + x) / 2),
            "transport": lambda x: transport((1 + x) / 2),
            "awesome-align": lambda x, r=rows, c=columns: (r >= 0.001) & (c >= 0.001),
            "awesome-align-entmax": lambda x: np.logical_and(
                *(np.apply_along_axis(entmax15, axis, x) > 0 for axis in (1, 0))
            ),
        }[method](similar)
        assert found_links == {(s, t) for t, s in np.argwhere(links)}


def test_links_do_not_depend_on_how_many_matrices_are_in_memory(written, monkeypatch):
    whole = aligned(similarities=written)
    monkeypatch.setattr("nmtalign.external.links_from.PAIRS_IN_MEMORY", 7)
    assert aligned(similarities=written) == whole
    np.savez(written)
    assert aligned([], similarities=written) == []


def test_vectors_of_a_folder_and_of_an_archive_are_one(tmp_path):
    rng = np.random.default_rng(0)
    sides = [[rng.normal(size=(len(pair[k]), 5)) for pair in TOY.words] for k in (0, 1)]
    named = {f"source-{n}": own for n, own in enumerate(sides[0])}
    named |= {f"target-{n}": own for n, own in enumerate(sides[1])}
    np.savez(tmp_path / "v.npz", **named)
    folder = tmp_path / "v"
    folder.mkdir()
    for side, own in zip(("source", "target"), sides, strict=True):
        np.save(folder / f"{side}.npy", np.concatenate(own))
        np.save(folder / f"{side}_lengths.npy", np.array([len(one) for one in own]))
    for method, product in (("simalign-argmax", cosines), ("awesome-align-entmax", lambda s, t: t @ s.T)):
        similar = {f"pair-{n}": product(*pair) for n, pair in enumerate(zip(*sides, strict=True))}
        np.savez(tmp_path / "s.npz", **similar)
        expected = aligned(similarities=tmp_path / "s.npz", method=method)
        for place in (tmp_path / "v.npz", folder):
            assert aligned(token_vectors=place, method=method) == expected


def test_vectors_of_a_folder_that_become_fewer_are_told(tmp_path):
    for side in ("source", "target"):
        np.save(tmp_path / f"{side}.npy", np.ones((3, 5)))
        np.save(tmp_path / f"{side}_lengths.npy", np.array([1, 2]))
    pairs = [(["a"], ["c"]), (["a", "b"], ["c", "d"])]
    given = read_vectors(tmp_path, "cosine", "words", pairs)
    np.testing.assert_allclose(next(given).matrix, [[1]], rtol=1e-6)
    os.truncate(tmp_path / "target.npy", 200)
    with pytest.raises(DataError, match=r"target\.npy: expected 3 rows; the file is too short"):
        next(given)
    np.save(tmp_path / "target.npy", np.asfortranarray(np.ones((3, 5))))
    with pytest.raises(DataError, match=r"target\.npy: expected rows one after another"):
        next(read_vectors(tmp_path, "cosine", "words", pairs))


def test_links_of_subwords_are_joined_or_subwords_to_words_by_mean(tmp_path):
    rng = np.random.default_rng(1)
    parts = {"source": [], "target": []}
    for pair in TOY.words:
        for side, words in zip(parts, pair, strict=True):
            word_of_piece = np.repeat(np.arange(len(words)), rng.integers(1, 4, len(words)))
            parts[side].append((rng.normal(size=(len(word_of_piece), 5)), word_of_piece))
    (tmp_path / "v").mkdir()
    pieces, words = {}, {}
    for side, own in parts.items():
        for n, (vectors, word_of_piece) in enumerate(own):
            pieces[f"{side}-{n}"], pieces[f"words-{side}-{n}"] = vectors, word_of_piece
            words[f"{side}-{n}"] = np.array(
                [vectors[word_of_piece == k].mean(axis=0) for k in range(len(set(word_of_piece.tolist())))]
            )
        np.save(tmp_path / "v" / f"{side}.npy", np.concatenate([vectors for vectors, _ in own]))
        np.save(
            tmp_path / "v" / f"{side}_words.npy", np.concatenate([word_of_piece for _, word_of_piece in own])
        )
        np.save(
            tmp_path / "v" / f"{side}_lengths.npy", np.array([len(word_of_piece) for _, word_of_piece in own])
        )
    np.savez(tmp_path / "pieces.npz", **pieces)
    np.savez(tmp_path / "words.npz", **words)
    places = [tmp_path / name for name in ("words.npz", "pieces.npz", "v")]
    found = [aligned(token_vectors=place, method="simalign-argmax") for place in places]
    assert found[1] == found[2]
    by_words = [aligned(token_vectors=place, method="simalign-argmax", units="words") for place in places]
    assert found[0] == by_words[0] == by_words[1] == by_words[2]
    assert found[1] == [
        {(int(own[1][s]), int(own[0][t])) for t, s in np.argwhere(mutual_argmax(cosines(own[2], own[3])))}
        for own in (
            (parts["target"][n][1], parts["source"][n][1], parts["source"][n][0], parts["target"][n][0])
            for n in range(len(TOY.words))
        )
    ]


def test_token_vectors_without_axes_in_an_archive(tmp_path):
    np.savez(tmp_path / "v.npz", **{"source-0": np.array(2.0), "target-0": np.ones((1, 3))})
    with pytest.raises(
        DataError, match=r"v.npz: pair 1: expected vectors of 1 source words, .* array of \(\)"
    ):
        aligned([(["a"], ["c"])], token_vectors=tmp_path / "v.npz")


@pytest.mark.parametrize("words", [[0, 2], [1, 1], [1, 0], [0], [0.0, 1.0], [-1, 0]])
def test_words_of_subwords_that_do_not_fit(tmp_path, words):
    arrays = {"source-0": np.ones((2, 3)), "target-0": np.ones((2, 3)), "words-source-0": np.array(words)}
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(DataError, match=r"v.npz: pair 1: expected word numbers that start at 0"):
        aligned([(["a", "b"], ["c", "d"])], token_vectors=tmp_path / "v.npz", method="simalign-argmax")


def test_a_folder_without_vectors(tmp_path):
    with pytest.raises(DataError, match=r"expected a file source.npy with the vectors of all words"):
        aligned(token_vectors=tmp_path)


def test_a_long_pair_is_one_matrix(tmp_path):
    words = [f"w{n}" for n in range(700)]
    np.savez(tmp_path / "s.npz", pair_0=np.eye(700)[::-1])
    found = aligned([(words, words)], similarities=tmp_path / "s.npz", method="simalign-argmax")
    assert found == [{(n, 699 - n) for n in range(700)}]


def test_files_that_do_not_fit_the_text(written, tmp_path):
    with pytest.raises(DataError, match="expected an array for each pair, found none for pair 61"):
        aligned([*PAIRS, PAIRS[0]], similarities=written)
    with pytest.raises(DataError, match="expected arrays for the 59 pairs of the text, found more"):
        aligned(PAIRS[:59], similarities=written)
    with pytest.raises(DataError, match=r"similarities.npz: pair 1: expected 1 target by 1 source words"):
        aligned([SentencePair("a", "b"), *PAIRS[1:]], similarities=written)
    np.savez(tmp_path / "nan.npz", pair_1=np.full((1, 1), np.nan))
    with pytest.raises(DataError, match="pair 1: expected similarities, found NaN or infinity"):
        aligned([SentencePair("a", "b")], similarities=tmp_path / "nan.npz")
    np.savez(tmp_path / "v.npz", source_1=np.ones((1, 4)), target_1=np.ones((1, 3)))
    with pytest.raises(
        DataError, match="pair 1: expected vectors of 1 target words, all of the same dimension"
    ):
        aligned([(["a"], ["b"])], token_vectors=tmp_path / "v.npz", method="simalign-argmax")
    np.savez(tmp_path / "v.npz", source_1=np.ones((1, 4)))
    with pytest.raises(DataError, match="vectors of both sides of each pair, found 1 source and 0 target"):
        aligned([(["a"], ["b"])], token_vectors=tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({}, "expected one of `matrices`, `translator`, .*`similarities`, found none"),
        ({"similarities": "s", "encoder": "e"}, "found `encoder` and `similarities`"),
        ({"similarities": "s", "extract": "mutual"}, "`extract` does not apply to `similarities`"),
        ({"similarities": "s", "method": "itermax"}, "values of .method.: .*, found 'itermax'"),
        ({"encoder": "e", "device": "abacus"}, "found 'abacus'"),
        ({"encoder": "e", "units": "letters"}, "values of .units.: subwords, words, found 'letters'"),
        ({"similarities": "s", "units": "words"}, "`units` does not apply to `similarities`"),
        (
            {"matrices": "m", "method": "transport", "layer": 3},
            "`method` and `layer` do not apply to `matrices`",
        ),
    ],
)
def test_settings_that_contradict_each_other(source, told):
    with pytest.raises(UsageError, match=told):
        nmtalign.links_from([("a", "b")], **source)


def test_what_is_no_pair(written):
    with pytest.raises(DataError, match="two lines of text or two lists of words"):
        nmtalign.links_from([("a", ["b"])], similarities=written)
