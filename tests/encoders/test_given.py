"""Similarities: what is read from files and refused, and what the contextual head makes of them."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import nmtalign
from nmtalign.batch.stream import align_stream
from nmtalign.corpus.text import encode_text
from nmtalign.encoders.calibration import Calibration, _regression
from nmtalign.encoders.files import cosines, read_vectors
from nmtalign.encoders.published import METHODS
from nmtalign.errors import DataError, UsageError
from nmtalign.links.extraction import itermax, match, mutual_argmax, transport
from nmtalign.text.bitext import SentencePair
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from tests.aligner.toy_language import links_of, toy_bitext, toy_training
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


class Told:
    """Similarities of the toy pairs, in the place of an encoder's."""

    settings = "told"

    def __init__(self, matrices: list[np.ndarray], pairs=TOY.words) -> None:
        self.known = {
            (tuple(source), tuple(target)): np.asarray(own, np.float32)
            for (source, target), own in zip(pairs, matrices, strict=True)
        }

    def of(self, pairs):
        return [self.known[tuple(source), tuple(target)] for source, target in pairs]


def in_context(source: Told, base: nmtalign.Aligner | None = None) -> nmtalign.Aligner:
    aligner = nmtalign.with_context(base, encoder="none")
    return replace(aligner, scorer=replace(aligner.scorer, source=source))


def error(aligner: nmtalign.Aligner) -> float:
    return TOY.error(links_of(aligner.align_batch(TOY.words)))


def test_clear_similarities_give_the_links():
    aligner = nmtalign.fit_to(in_context(Told(noisy(0.05))), PAIRS)
    assert error(aligner) < 0.02
    assert aligner.scorer.calibration.weight == 1
    assert aligner.positions.fitted == len(PAIRS)


def test_noise_makes_the_softmax_flatter():
    slopes = []
    for spread in (0.05, 0.2):
        fitted = nmtalign.fit_to(in_context(Told(noisy(spread))), PAIRS)
        slopes.append(fitted.scorer.calibration.scale * fitted.scorer.calibration.slope)
    assert slopes[0] > 2 * slopes[1]


def test_a_regression_whose_whole_first_step_leads_away():
    """Few links, and ratios far below chance elsewhere: Newton's method by itself diverges."""
    ratios = np.concatenate([np.full(990, -40.0), np.linspace(-4, 4, 10)])
    links = 1 / (1 + np.exp(-2 * ratios - 1))
    odds = np.log(links.sum() / (1 - links).sum())
    np.testing.assert_allclose(_regression(ratios, links), (2, 1 - odds), rtol=1e-3)


def test_a_mixture_is_better_than_both():
    """Each head is poor in its own way: the lexicon has seen few pairs, the similarities are noisy."""
    poor = nmtalign.train(PAIRS[:12], preset="fast")
    alone = nmtalign.fit_to(in_context(Told(noisy(0.2))), PAIRS)
    mixed = nmtalign.fit_to(in_context(Told(noisy(0.2)), poor), PAIRS)
    assert error(mixed) < 0.8 * min(error(alone), error(poor))
    assert mixed.scorer.names == ("lexicon", "contextual")
    assert error(mixed.with_scorers(["contextual"])) > error(mixed)
    assert mixed.with_scorers(["lexicon"]).scorer.lexicon is poor.scorer.lexicon


def test_the_weight_is_that_of_the_head_that_finds_what_the_other_knows():
    weights = []
    for spread in (0.1, 0.3, 2.0):
        mixed = in_context(Told(noisy(spread)), toy_training("fast").aligner)
        weights.append(nmtalign.fit_to(mixed, PAIRS).scorer.calibration.weight)
    assert weights[0] == 0.95 > 0.6 > weights[1] > weights[2] == 0.05


def test_a_model_that_met_each_word_once_or_never_has_the_least_weight():
    once = [SentencePair(f"a{n} b{n} c{n}", f"x{n} y{n} z{n}") for n in range(30)]
    told = Told([np.eye(3)[::-1]] * 30, [(pair.source.split(), pair.target.split()) for pair in once])
    for lexicon in (nmtalign.train(once, preset="fast"), toy_training("fast").aligner):
        mixed = nmtalign.fit_to(in_context(told, lexicon), once)
        assert mixed.scorer.calibration.weight == 0.95


def test_similarities_beside_word_vectors_fit_those_as_they_are_fitted_alone():
    sides = [sorted({word for pair in TOY.words for word in pair[side]}) for side in (0, 1)]
    random = np.random.default_rng(1)
    vectors = [Embeddings(Vocabulary.from_words(own), random.normal(size=(len(own), 8))) for own in sides]
    base = nmtalign.vector_aligner(*vectors, positions="hmm")
    mixed = nmtalign.fit_to(in_context(Told(noisy(0.05)), base), PAIRS)
    assert error(mixed) < 0.02
    assert mixed.scorer.base.score.scale == nmtalign.fit_to(base, PAIRS).scorer.score.scale
    assert mixed.scorer.base.score.scale != base.scorer.score.scale


def test_weight_0_is_the_other_head():
    lexicon = toy_training("fast").aligner
    mixed = in_context(Told(noisy(0.05)), lexicon)
    mixed = replace(mixed, scorer=replace(mixed.scorer, calibration=Calibration(7.0, 1.5, -0.25, 0.0)))
    assert links_of(mixed.align_batch(TOY.words)) == links_of(lexicon.align_batch(TOY.words))


def test_ratios_are_the_formula():
    """Against plain loops over one pair."""
    fitted = Calibration(7.0, 1.5, -0.25, 1.0)
    head = replace(in_context(Told(noisy(0.05))).scorer, calibration=fitted)
    scores = head.read(encode_text(TOY.words))
    similar = noisy(0.05)
    for k, bucket in enumerate(scores.text.buckets):
        ratios = scores.ratios(k)
        for column in np.flatnonzero(bucket.pairs >= 0):
            own = np.float64(7.0 * similar[bucket.pairs[column]])
            T, S = own.shape
            rows, columns = np.exp(own).sum(axis=1, keepdims=True), np.exp(own).sum(axis=0)
            joint = np.exp(own) / np.sqrt(rows * columns) * np.sqrt(S * T)
            expected = joint**1.5 * np.exp(-0.25)
            np.testing.assert_allclose(ratios[:T, :S, column], expected, rtol=2e-4, atol=1e-6)


def test_mixed_ratios_are_the_formula():
    scorer = in_context(Told(noisy(0.05)), toy_training("fast").aligner).scorer
    text = encode_text(TOY.words)
    own, other, mixed = (
        replace(scorer, base=base, calibration=Calibration(7.0, 1.5, -0.25, weight)).read(text)
        for base, weight in ((None, 1.0), (scorer.base, 0.0), (scorer.base, 0.8))
    )
    for k in range(len(text.buckets)):
        expected = (own.ratios(k) ** 0.8 * other.ratios(k) ** 0.2) ** (1 / (0.8**2 + 0.2**2))
        np.testing.assert_allclose(mixed.ratios(k), expected, rtol=1e-4, atol=1e-6)
    for expected, found in zip(other.null_ratios, mixed.null_ratios, strict=True):
        np.testing.assert_allclose(found, expected ** (0.2 / 0.68), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_published_methods_are_the_extractions_of_each_matrix(tmp_path, method):
    products = [own * (15 if METHODS[method].product == "dot" else 1) for own in noisy(0.2)]
    np.savez(tmp_path / "s.npz", **{f"pair-{n}": own for n, own in enumerate(products)})
    found = aligned(similarities=tmp_path / "s.npz", method=method)
    for own, found_links in zip(products, found, strict=True):
        similar = own.astype(np.float32).astype(float)
        rows, columns = (np.exp(similar) / np.exp(similar).sum(axis=a, keepdims=True) for a in (1, 0))
        sparse = [np.apply_along_axis(entmax15, a, similar) > 0 for a in (1, 0)]
        links = {
            "simalign-argmax": lambda x: mutual_argmax(x),
            "simalign-itermax": lambda x: itermax((1 + x) / 2),
            "simalign-match": lambda x: match((1 + x) / 2),
            "transport": lambda x: transport((1 + x) / 2),
            "awesome-align": lambda x, r=rows, c=columns: (r >= 0.001) & (c >= 0.001),
            "awesome-align-entmax": lambda _, both=sparse: both[0] & both[1],
        }[method](similar)
        assert found_links == {(s, t) for t, s in np.argwhere(links)}


def test_a_text_may_be_cut_into_chunks():
    aligner = nmtalign.fit_to(in_context(Told(noisy(0.05))), PAIRS)
    whole = aligner.align_batch(TOY.words)
    cut = [links for part in align_stream(aligner, PAIRS, chunk=7) for links in links_of(part.batch)]
    assert cut == links_of(whole)
    assert aligner.align(*TOY.pairs[8]).links == whole.links(8)


def test_links_do_not_depend_on_how_many_matrices_are_in_memory(written, monkeypatch):
    whole = aligned(similarities=written)
    monkeypatch.setattr("nmtalign.aligner.links_from.PAIRS", 7)
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
            of_word = np.repeat(np.arange(len(words)), rng.integers(1, 4, len(words)))
            parts[side].append((rng.normal(size=(len(of_word), 5)), of_word))
    (tmp_path / "v").mkdir()
    pieces, words = {}, {}
    for side, own in parts.items():
        for n, (vectors, of_word) in enumerate(own):
            pieces[f"{side}-{n}"], pieces[f"words-{side}-{n}"] = vectors, of_word
            words[f"{side}-{n}"] = np.array(
                [vectors[of_word == k].mean(axis=0) for k in range(len(set(of_word.tolist())))]
            )
        np.save(tmp_path / "v" / f"{side}.npy", np.concatenate([vectors for vectors, _ in own]))
        np.save(tmp_path / "v" / f"{side}_words.npy", np.concatenate([of_word for _, of_word in own]))
        np.save(tmp_path / "v" / f"{side}_lengths.npy", np.array([len(of_word) for _, of_word in own]))
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
    with pytest.raises(DataError, match=r"v.npz: pair 1: expected the word of each vector, from 0"):
        aligned([(["a", "b"], ["c", "d"])], token_vectors=tmp_path / "v.npz", method="simalign-argmax")


def test_a_folder_without_vectors(tmp_path):
    with pytest.raises(DataError, match=r"expected a file source.npy with the vectors of all words"):
        aligned(token_vectors=tmp_path)


def test_a_long_pair_is_one_matrix(tmp_path):
    words = [f"w{n}" for n in range(700)]
    np.savez(tmp_path / "s.npz", pair_0=np.eye(700)[::-1])
    found = aligned([(words, words)], similarities=tmp_path / "s.npz", method="simalign-argmax")
    assert found == [{(n, 699 - n) for n in range(700)}]


def test_an_encoder_is_given_the_pieces_of_long_pairs():
    words, seen = [f"w{n}" for n in range(700)], []
    told = Told([], [])
    told.of = lambda pairs: seen.extend(pairs) or [np.zeros((len(t), len(s)), np.float32) for s, t in pairs]
    scores = in_context(told).scorer.read(encode_text([(words, words)]))
    assert len(seen) > 1
    lengths = zip(scores.text.target.lengths, scores.text.source.lengths, strict=True)
    assert [own.shape for own in scores.found.values()] == list(lengths)


def test_files_that_do_not_fit_the_text(written, tmp_path):
    with pytest.raises(DataError, match="expected an array for each pair, found none for pair 61"):
        aligned([*PAIRS, PAIRS[0]], similarities=written)
    with pytest.raises(DataError, match="expected arrays for 59 pairs, as the text has, found more"):
        aligned(PAIRS[:59], similarities=written)
    with pytest.raises(DataError, match=r"similarities.npz: pair 1: expected 1 target by 1 source words"):
        aligned([SentencePair("a", "b"), *PAIRS[1:]], similarities=written)
    np.savez(tmp_path / "nan.npz", pair_1=np.full((1, 1), np.nan))
    with pytest.raises(DataError, match="pair 1: expected similarities, found NaN or infinity"):
        aligned([SentencePair("a", "b")], similarities=tmp_path / "nan.npz")
    np.savez(tmp_path / "v.npz", source_1=np.ones((1, 4)), target_1=np.ones((1, 3)))
    with pytest.raises(DataError, match="pair 1: expected vectors of 1 target words, all of one length"):
        aligned([(["a"], ["b"])], token_vectors=tmp_path / "v.npz", method="simalign-argmax")
    np.savez(tmp_path / "v.npz", source_1=np.ones((1, 4)))
    with pytest.raises(DataError, match="vectors of both sides of each pair, found 1 source and 0 target"):
        aligned([(["a"], ["b"])], token_vectors=tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({}, "expected one of matrices, translator, encoder, token_vectors, similarities, found none"),
        ({"similarities": "s", "encoder": "e"}, "found encoder and similarities"),
        ({"similarities": "s", "extract": "mutual"}, "extract: without meaning for similarities"),
        ({"similarities": "s", "method": "itermax"}, "expected one of the methods .*, found 'itermax'"),
        ({"encoder": "e", "device": "abacus"}, "found 'abacus'"),
        ({"encoder": "e", "units": "letters"}, "expected one of the units subwords, words, found 'letters'"),
        ({"similarities": "s", "units": "words"}, "units: without meaning for similarities"),
        ({"matrices": "m", "method": "transport", "layer": 3}, "layer, method: without meaning for matrices"),
    ],
)
def test_settings_that_contradict_each_other(source, told):
    with pytest.raises(UsageError, match=told):
        nmtalign.links_from([("a", "b")], **source)


def test_what_is_not_fitted_or_is_no_pair(written):
    with pytest.raises(UsageError, match="to be fitted"):
        in_context(Told(noisy(0.05))).align(*TOY.pairs[0])
    with pytest.raises(UsageError, match="two lines of text or two lists of words"):
        nmtalign.links_from([("a", ["b"])], similarities=written)
