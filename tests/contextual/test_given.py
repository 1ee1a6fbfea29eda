"""Token vectors and similarities from files: what is read, what is refused, and what comes of them."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

import nmtalign
from nmtalign.aligner.contextual import counted
from nmtalign.batch.stream import align_stream
from nmtalign.contextual.calibration import _regression
from nmtalign.contextual.files import GivenVectors, cosines
from nmtalign.contextual.head import Calibration, TokenPair
from nmtalign.contextual.published import METHODS
from nmtalign.corpus.text import encode_text
from nmtalign.errors import DataError, UsageError
from nmtalign.links.extraction import itermax, match, mutual_argmax, transport
from nmtalign.text.bitext import SentencePair
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from tests.aligner.toy_language import links_of, toy_bitext, toy_training
from tests.attention.naive import entmax15
from tests.corpus.test_parallel import needs_fork, run_alone

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


def aligned(pairs=TOY.words, **settings: object) -> list[set[tuple[int, int]]]:
    """Return the links of a published method."""
    return links_of(nmtalign.with_context(**settings).align_batch(pairs))


def error(aligner: nmtalign.Aligner) -> float:
    return TOY.error(links_of(aligner.align_batch(TOY.words)))


def test_clear_similarities_give_the_links(written):
    aligner = nmtalign.fit_to(nmtalign.with_context(similarities=written), PAIRS)
    assert error(aligner) < 0.02
    assert aligner.scorer.calibration.weight == 1
    assert aligner.positions.fitted == len(PAIRS)


def test_noise_makes_the_softmax_flatter(tmp_path):
    slopes = []
    for spread in (0.05, 0.2):
        np.savez(tmp_path / "s.npz", **{f"pair-{n}": own for n, own in enumerate(noisy(spread))})
        fitted = nmtalign.fit_to(nmtalign.with_context(similarities=tmp_path / "s.npz"), PAIRS)
        slopes.append(fitted.heads.calibration.scale * fitted.heads.calibration.slope)
    assert slopes[0] > 2 * slopes[1]


def test_a_regression_whose_whole_first_step_leads_away():
    """Few links, and ratios far below chance elsewhere: Newton's method by itself diverges."""
    ratios = np.concatenate([np.full(990, -40.0), np.linspace(-4, 4, 10)])
    links = 1 / (1 + np.exp(-2 * ratios - 1))
    odds = np.log(links.sum() / (1 - links).sum())
    np.testing.assert_allclose(_regression(ratios, links), (2, 1 - odds), rtol=1e-3)


def test_a_mixture_is_better_than_both(tmp_path):
    """Each head is poor in its own way: the lexicon has seen few pairs, the similarities are noisy."""
    np.savez(tmp_path / "s.npz", **{f"pair-{n}": own for n, own in enumerate(noisy(0.2))})
    poor = nmtalign.train(PAIRS[:12], preset="fast")
    alone = nmtalign.fit_to(nmtalign.with_context(similarities=tmp_path / "s.npz"), PAIRS)
    mixed = nmtalign.fit_to(nmtalign.with_context(poor, similarities=tmp_path / "s.npz"), PAIRS)
    assert error(mixed) < 0.8 * min(error(alone), error(poor))
    assert mixed.scorer.names == ("lexicon", "contextual")
    assert error(mixed.with_heads(["contextual"])) > error(mixed)
    assert mixed.with_heads(["lexicon"]).heads.lexicon is poor.heads.lexicon


def test_the_weight_is_that_of_the_head_that_finds_what_the_other_knows(tmp_path):
    weights = []
    for spread in (0.1, 0.3, 2.0):
        np.savez(tmp_path / "s.npz", **{f"pair-{n}": own for n, own in enumerate(noisy(spread))})
        mixed = nmtalign.with_context(toy_training("fast").aligner, similarities=tmp_path / "s.npz")
        weights.append(nmtalign.fit_to(mixed, PAIRS).heads.calibration.weight)
    assert weights[0] == 0.95 > 0.6 > weights[1] > weights[2] == 0.05


def test_a_model_that_met_each_word_once_or_never_has_the_least_weight(tmp_path):
    once = [SentencePair(f"a{n} b{n} c{n}", f"x{n} y{n} z{n}") for n in range(30)]
    np.savez(tmp_path / "s.npz", **{f"pair-{n}": np.eye(3)[::-1] for n in range(30)})
    for lexicon in (nmtalign.train(once, preset="fast"), toy_training("fast").aligner):
        mixed = nmtalign.fit_to(nmtalign.with_context(lexicon, similarities=tmp_path / "s.npz"), once)
        assert mixed.scorer.calibration.weight == 0.95


def test_similarities_beside_word_vectors_fit_those_as_they_are_fitted_alone(written):
    sides = [sorted({word for pair in TOY.words for word in pair[side]}) for side in (0, 1)]
    random = np.random.default_rng(1)
    vectors = [Embeddings(Vocabulary.from_words(own), random.normal(size=(len(own), 8))) for own in sides]
    base = nmtalign.vector_aligner(*vectors, positions="hmm")
    mixed = nmtalign.fit_to(nmtalign.with_context(base, similarities=written), PAIRS)
    assert error(mixed) < 0.02
    assert mixed.scorer.base.scorer.scale == nmtalign.fit_to(base, PAIRS).heads.scorer.scale
    assert mixed.scorer.base.scorer.scale != base.heads.scorer.scale


def test_weight_0_is_the_other_head(written):
    lexicon = toy_training("fast").aligner
    mixed = nmtalign.fit_to(nmtalign.with_context(lexicon, similarities=written, weight=0), PAIRS)
    assert links_of(mixed.align_batch(TOY.words)) == links_of(lexicon.align_batch(TOY.words))


def test_ratios_are_the_formula(written):
    """Against plain loops over one pair."""
    fitted = Calibration(7.0, 1.5, -0.25, 1.0)
    head = replace(nmtalign.with_context(similarities=written).heads, calibration=fitted)
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


def test_mixed_ratios_are_the_formula(written):
    heads = nmtalign.with_context(toy_training("fast").aligner, similarities=written).heads
    text = encode_text(TOY.words)
    own, other, mixed = (
        replace(heads, base=base, calibration=Calibration(7.0, 1.5, -0.25, weight)).read(text)
        for base, weight in ((None, 1.0), (heads.base, 0.0), (heads.base, 0.8))
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


def test_a_text_may_be_cut_into_chunks(written):
    aligner = nmtalign.fit_to(nmtalign.with_context(similarities=written), PAIRS)
    whole = aligner.align_batch(TOY.words)
    cut = [links for part in align_stream(aligner, PAIRS, chunk=7) for links in links_of(part.batch)]
    assert cut == links_of(whole)
    assert aligner.at(9).align(*TOY.pairs[8]).links == whole.links(8)


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
    given, words = GivenVectors(tmp_path), (("a", "b"), ("c", "d"))
    pair = TokenPair(2, words, (0, 0), (2, 2))
    np.testing.assert_allclose(given.of([pair])[0], np.ones((2, 2)), rtol=1e-6)
    os.truncate(tmp_path / "target.npy", 200)
    with pytest.raises(DataError, match=r"target\.npy: expected 3 rows; the file is too short"):
        given.of([pair])
    np.save(tmp_path / "target.npy", np.asfortranarray(np.ones((3, 5))))
    with pytest.raises(DataError, match=r"target\.npy: expected rows one after another"):
        GivenVectors(tmp_path)


def test_subwords_are_joined_to_words_by_mean(tmp_path):
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
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("words", [[0, 2], [1, 1], [1, 0], [0], [0.0, 1.0], [-1, 0]])
def test_words_of_subwords_that_do_not_fit(tmp_path, words):
    arrays = {"source-0": np.ones((2, 3)), "target-0": np.ones((2, 3)), "words-source-0": np.array(words)}
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(DataError, match=r"v.npz: pair 1: expected the word of each vector, from 0"):
        aligned([(["a", "b"], ["c", "d"])], token_vectors=tmp_path / "v.npz", method="simalign-argmax")


def test_a_folder_without_vectors(tmp_path):
    with pytest.raises(DataError, match=r"expected a file source.npy with the vectors of all words"):
        nmtalign.with_context(token_vectors=tmp_path, method="simalign-argmax")


def test_long_pairs_take_their_pieces_of_a_matrix(tmp_path):
    words = [f"w{n}" for n in range(700)]
    np.savez(tmp_path / "s.npz", pair_0=np.eye(700))
    aligner = nmtalign.with_context(similarities=tmp_path / "s.npz", method="simalign-argmax")
    assert links_of(aligner.align_batch([(words, words)])) == [{(n, n) for n in range(700)}]
    scores = aligner.scorer.read(encode_text([(words, words)]))
    lengths = zip(scores.text.target.lengths, scores.text.source.lengths, strict=True)
    assert [own.shape for own in scores.found.values()] == list(lengths)


def test_files_that_do_not_fit_the_text(written, tmp_path):
    def streamed(name: str, pairs: list[SentencePair]) -> None:
        aligner = nmtalign.with_context(similarities=name, method="simalign-argmax")
        list(align_stream(aligner, counted(aligner, pairs)))

    with pytest.raises(DataError, match="expected an array for each pair, found none for pair 61"):
        streamed(written, [*PAIRS, PAIRS[0]])
    with pytest.raises(DataError, match="expected arrays for 59 pairs, as the text has, found 60"):
        streamed(written, PAIRS[:59])
    with pytest.raises(DataError, match=r"similarities.npz: pair 1: expected 1 target by 1 source words"):
        streamed(written, [SentencePair("a", "b"), *PAIRS[1:]])
    np.savez(tmp_path / "nan.npz", pair_1=np.full((1, 1), np.nan))
    with pytest.raises(DataError, match="pair 1: found NaN or infinity"):
        streamed(tmp_path / "nan.npz", [SentencePair("a", "b")])
    np.savez(tmp_path / "v.npz", source_1=np.ones((1, 4)), target_1=np.ones((1, 3)))
    with pytest.raises(DataError, match="pair 1: expected 1 target vectors of one length"):
        aligned([(["a"], ["b"])], token_vectors=tmp_path / "v.npz", method="simalign-argmax")


def test_settings_that_contradict_each_other(written):
    with pytest.raises(UsageError, match="expected one of an encoder, token vectors and similarities"):
        nmtalign.with_context()
    with pytest.raises(UsageError, match="a weight is that beside a model"):
        nmtalign.with_context(similarities=written, weight=0.5)
    with pytest.raises(UsageError, match="leave the extraction out"):
        nmtalign.with_context(similarities=written, method="transport", extract="mutual")
    with pytest.raises(UsageError, match="to be fitted"):
        nmtalign.with_context(similarities=written).align(*TOY.pairs[0])


@needs_fork
def test_forked_workers_do_not_share_the_place_in_a_file(tmp_path):
    np.savez(tmp_path / "s.npz", **{f"pair-{n}": own for n, own in enumerate(noisy(0.05) * 20)})
    out = run_alone(f"""
        from nmtalign import with_context
        from nmtalign.text.chunks import cut
        from nmtalign.batch.workers import align_chunks
        from tests.contextual.test_given import PAIRS

        aligner, found = with_context(similarities={str(tmp_path / "s.npz")!r}, method="simalign-argmax"), []
        for workers in 1, 3:
            chunks = align_chunks(aligner, cut(PAIRS * 20, chunk=30), workers=workers)
            found.append(b"".join(chunk.batch.source.tobytes() for chunk in chunks))
        print(found[0] == found[1])
    """)
    assert out == "True\n"
