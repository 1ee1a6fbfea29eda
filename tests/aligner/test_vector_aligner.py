"""The aligner over given vectors: the seed's numbers, a naive version, and laws."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.opening import load, vector_aligner
from nmtalign.aligner.training_steps import train
from nmtalign.decoding.extraction_methods import make_extraction
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import Link
from nmtalign.positions.position_model import SoftmaxPosteriors
from nmtalign.report.page_content import SamplePair
from nmtalign.report.page_data import report_data
from nmtalign.scorers.vector_scores import make_score
from nmtalign.settings import LinkSettings
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_embeddings, save_pair
from tests.naive_aligner import naive_joint, naive_mutual, naive_scores
from tests.scorers.bahdanau import untrained_bahdanau

pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem)")  # made-up words

WORDS = [f"w{n}" for n in range(12)]
SENTENCES = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=9)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=8)
METHODS = ["argmax", "argmax-reverse", "mutual", "threshold", "itermax", "match", "transport"]
SYMMETRIZATIONS = ["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


def embeddings(seed: int, *, dimension: int = 300, dtype: type = np.float32) -> Embeddings:
    matrix = np.random.default_rng(seed).normal(size=(len(WORDS), dimension)).astype(dtype)
    return Embeddings(Vocabulary.from_words(WORDS), matrix)


def aligner(score: str = "cosine", *, dtype: type = np.float32, **options) -> Aligner:
    own = untrained_bahdanau(300) if score == "bahdanau" else score
    return vector_aligner(embeddings(1, dtype=dtype), embeddings(2, dtype=dtype), score=own, **options)


def test_scaled_dot_gives_the_weights_of_seed_004():
    """Lower-case words on spaces, unknown = zero vector, softmax(French . English^T / sqrt(d)) by rows."""
    english = {"the": 0, "agreement": 1, "was": 2, "signed": 3}
    french = {"l": 0, "accord": 1, "a": 2, "été": 3, "signé": 4}
    random = np.random.default_rng(4)
    matrices = random.normal(size=(4, 50)) * 3, random.normal(size=(5, 50)) * 3
    source, target = "The agreement was signed THEN", "L accord a été signé ."

    def embed(sentence, word2int, matrix):
        rows = [word2int.get(word, -1) for word in sentence.lower().split(" ")]
        return np.array([np.zeros(50) if row == -1 else matrix[row] for row in rows])

    queries, keys = embed(target, french, matrices[1]), embed(source, english, matrices[0])
    powers = np.exp(np.matmul(queries, keys.T) / np.sqrt(50))
    expected = powers / powers.sum(axis=1, keepdims=True)

    sides = [
        Embeddings(Vocabulary(words), matrix)
        for words, matrix in zip((english, french), matrices, strict=True)
    ]
    pair = vector_aligner(*sides, score="scaled-dot", extract="argmax").align(source, target)
    np.testing.assert_allclose(pair.forward, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(pair.matrix.weights, expected, rtol=0, atol=1e-12)
    assert pair.matrix.source_tokens == ("The", "agreement", "was", "signed", "THEN")
    np.testing.assert_array_equal(pair.forward[-1], np.full(5, 0.2))  # an unknown word looks everywhere alike


@pytest.mark.parametrize("score", ["dot", "scaled-dot", "projected", "cosine", "bahdanau"])
@pytest.mark.parametrize(("size", "dtype"), [(1.0, np.float64), (1e-4, np.float64), (1.0, np.float32)])
def test_scores_are_numpys(score, size, dtype, tmp_path):
    """In double precision they agree to 1e-12; in single precision, vectors are rounded to 26 bits."""
    random = np.random.default_rng(5)
    keys, queries = (size * random.normal(size=(12, 300)) for _ in range(2))
    W, U = random.normal(size=(2, 300, 20)) / 17
    v, b = random.normal(size=(2, 20))
    expected = {
        "dot": queries @ keys.T,
        "scaled-dot": queries @ keys.T / math.sqrt(300),
        "projected": (queries @ W) @ (keys @ U).T / math.sqrt(20),
        "cosine": queries @ keys.T / np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(keys, axis=1)),
        "bahdanau": np.tanh((queries @ W)[:, None] + keys @ U + b) @ v,
    }[score]
    parameters = None
    if score in ("projected", "bahdanau"):
        parameters = tmp_path / "parameters.npz"
        arrays = {"W_q": W, "W_k": U} if score == "projected" else {"W": W, "U": U, "v": v, "b": b}
        np.savez(parameters, **arrays)
    sides = [Embeddings.of(WORDS, matrix.astype(dtype)) for matrix in (keys, queries)]
    name = "scaled-dot" if score == "projected" else score
    model = vector_aligner(*sides, score=name, temperature=1.0, parameters=parameters, positions="none")
    pair = model.align(WORDS, WORDS)
    near = 1e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(pair.scores, expected, rtol=0, atol=near * max(1, np.abs(expected).max()))
    assert pair.scores.dtype == (np.float64 if score == "bahdanau" else dtype)
    powers = np.exp(expected - expected.max())
    forward, reverse = (powers / powers.sum(axis=axis, keepdims=True) for axis in (1, 0))
    np.testing.assert_allclose(pair.forward, forward, rtol=0, atol=near)
    np.testing.assert_allclose(pair.reverse, reverse, rtol=0, atol=near)


@pytest.mark.parametrize(
    ("score", "names", "found"),
    [
        ("bahdanau", ["W", "U", "v", "bias"], "'bias'"),
        ("bahdanau", ["W", "U", "v", "B", "c"], "'B', 'c'"),
        ("bahdanau", ["layer_1", "layer_2", "W"], "'W'"),
        ("scaled-dot", ["W_q", "W_k", "b"], "'b'"),
    ],
)
def test_an_array_of_another_name_is_refused(score, names, found):
    arrays = {name: np.ones(1) for name in names} | {"layer_1": np.ones((2, 1)), "layer_2": np.ones((1, 1))}
    parameters = {name: arrays[name] for name in names}
    sides = [Embeddings.of(["x"], [[1.0]])] * 2
    with pytest.raises(DataError, match=f"expected the arrays .*; found {found}; rename or remove"):
        vector_aligner(*sides, score=score, parameters=parameters)


def test_one_side_in_double_precision_suffices():
    keys, queries = embeddings(1, dtype=np.float64), embeddings(2)
    pair = vector_aligner(keys, queries, score="dot", positions="none").align(WORDS, WORDS)
    np.testing.assert_allclose(pair.scores, queries.matrix @ keys.matrix.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_mutual_links_and_probabilities_equal_the_naive_ones(seed):
    random = np.random.default_rng(seed)
    source, target = (list(random.choice([*WORDS, "unknown"], size=random.integers(1, 9))) for _ in range(2))
    model = aligner(positions="none")
    head = model.scorer
    vectors = head.source.vectors(source).tolist(), head.target.vectors(target).tolist()
    plain = naive_scores(*vectors, scale=math.sqrt(300), unit=True)
    pair = model.align(source, target)
    naive = naive_mutual(plain, lambda a, b: math.isclose(a, b, abs_tol=1e-9))
    assert pair.alignment.links == {(s, t) for s, t in naive if {source[s], target[t]} != {"unknown"}}
    np.testing.assert_allclose(pair.matrix.weights, naive_joint(plain), rtol=1e-6)
    both = head.score.keys(head.source.vectors(source)), head.score.queries(head.target.vectors(target))
    rounded = (rows.sum(axis=1).tolist() for rows in both)  # the vectors that are compared
    scores = naive_scores(*rounded, scale=math.sqrt(300), unit=False)
    np.testing.assert_allclose(pair.matrix.weights, naive_joint(scores), rtol=1e-9)
    for link, probability in pair.probabilities.items():
        assert probability == pytest.approx(naive_joint(scores)[link.target][link.source], rel=1e-6)
    words = len(source) + len(target)
    assert pair.score == pytest.approx(2 * sum(pair.probabilities.values()) / words, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", ["dot", "scaled-dot", "cosine", "bahdanau"])
@given(source=SENTENCES, target=SENTENCES)
@settings(max_examples=30, deadline=None)
def test_equal_words_get_exactly_equal_scores(score, dtype, source, target):
    weights = aligner(score, dtype=dtype, positions="none").align(source, target).forward
    for s, word in enumerate(source):
        np.testing.assert_array_equal(weights[:, s], weights[:, source.index(word)])
    for t, word in enumerate(target):
        np.testing.assert_array_equal(weights[t], weights[target.index(word)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", ["dot", "scaled-dot", "cosine", "bahdanau"])
@given(pairs=PAIRS)
@settings(max_examples=15, deadline=None)
def test_a_batch_is_its_pairs_one_by_one(score, dtype, pairs):
    model = aligner(score, dtype=dtype)
    batch = model.align_batch(pairs)
    assert len(batch) == len(pairs)
    for n, (source, target) in enumerate(pairs):
        alone = model.align(source, target)
        assert set(batch.links(n)) == alone.alignment.links
        assert batch.links(n) == sorted(batch.links(n))
        rows = slice(batch.offsets[n], batch.offsets[n + 1])
        assert batch.probability[rows].tolist() == [alone.probabilities[link] for link in batch.links(n)]
        assert batch.scores[n] == alone.score


def test_words_of_equal_vectors_get_exactly_equal_scores():
    model = aligner(positions="none")
    matrix = model.scorer.source.matrix
    matrix[7] = matrix[3]
    for target in (WORDS[:n] for n in range(1, 12)):
        weights = model.align(WORDS, target).forward
        np.testing.assert_array_equal(weights[:, 7], weights[:, 3])


def test_links_do_not_depend_on_the_room_of_a_bucket(monkeypatch):
    random = np.random.default_rng(0)
    pairs = [tuple(list(random.choice(WORDS, size=n)) for n in random.integers(1, 5, 2)) for _ in range(300)]
    wide = aligner().align_batch(pairs)
    for room in (
        "nmtalign.corpus.buckets.MAX_BUCKET_CELLS",
        "nmtalign.scorers.given_vectors.NUMBERS_PER_GATHER",
    ):
        monkeypatch.setattr(room, 1)
        narrow = aligner().align_batch(pairs)
        for name in ("offsets", "source", "target", "probability", "scores"):
            np.testing.assert_array_equal(getattr(narrow, name), getattr(wide, name))


@given(source=SENTENCES.filter(bool), target=SENTENCES.filter(bool))
@settings(max_examples=30, deadline=None)
def test_weights_sum_to_one_and_swapping_the_sides_transposes_them(source, target):
    pair = aligner().align(source, target)
    np.testing.assert_allclose(pair.forward.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(pair.reverse.sum(axis=0), 1, rtol=1e-12)
    model = aligner()
    head = dataclasses.replace(model.scorer, source=model.scorer.target, target=model.scorer.source)
    swapped = dataclasses.replace(model, scorer=head).align(target, source)
    np.testing.assert_allclose(swapped.forward, pair.reverse.T, rtol=1e-9)


@given(source=SENTENCES, target=SENTENCES)
@settings(max_examples=30, deadline=None)
def test_intersection_is_within_each_direction_and_they_are_within_the_union(source, target):
    links = {
        name: aligner(**option).align(source, target).alignment.links
        for name, option in {
            "forward": {"extract": "argmax"},
            "reverse": {"extract": "argmax-reverse"},
            "mutual": {"extract": "mutual"},
            **{method: {"symmetrize": method} for method in SYMMETRIZATIONS},
        }.items()
    }
    assert links["mutual"] == links["intersection"] == links["forward"] & links["reverse"]
    assert links["union"] == links["forward"] | links["reverse"]
    assert links["intersection"] <= links["grow-diag"] <= links["grow-diag-final-and"] <= links["union"]


@pytest.mark.parametrize("extract", METHODS)
def test_every_extraction_finds_a_planted_diagonal(extract):
    same = Embeddings(Vocabulary.from_words(WORDS), np.eye(len(WORDS)))
    pair = vector_aligner(same, same, extract=extract, positions="none").align(WORDS, WORDS)
    assert pair.alignment.links == {Link(n, n) for n in range(len(WORDS))}


def test_ties_go_to_the_diagonal_then_to_the_lower_position():
    words = ["w0", "x", "w0", "y", "w0"]
    pair = aligner(extract="argmax", positions="none").align(words, ["w3"] * 5)
    chosen = {link.target: link.source for link in pair.alignment}
    best = max(pair.forward[0])
    assert best in (pair.forward[0, 0], pair.forward[0, 1])
    expected = (
        {0: 0, 1: 0, 2: 2, 3: 2, 4: 4} if best == pair.forward[0, 0] else {0: 1, 1: 1, 2: 1, 3: 3, 4: 3}
    )
    assert chosen == expected


def test_an_empty_side_gives_no_links():
    batch = aligner().align_batch([([], ["w1"]), (["w1"], []), ([], []), (["w1"], ["w2"])])
    assert [len(batch.links(n)) for n in range(4)] == [0, 0, 0, 1]
    assert batch.scores[:3].tolist() == [0, 0, 0]
    assert aligner().align([], ["w1"]).matrix.weights.shape == (1, 0)
    assert len(aligner().align_batch([])) == 0


def test_scores_of_any_size_give_finite_weights():
    huge = Embeddings(Vocabulary.from_words(WORDS), np.full((len(WORDS), 4), 1e3) * np.arange(12)[:, None])
    with pytest.warns(UserWarning, match="norms of the vectors differ"):
        pair = vector_aligner(huge, huge, score="dot").align(WORDS, WORDS[::-1])
    assert np.isfinite(pair.forward).all()
    np.testing.assert_allclose(pair.forward.sum(axis=1), 1)


def test_a_long_pair_is_aligned():
    random = np.random.default_rng(5)
    source, target = (list(random.choice(WORDS, size=size)) for size in (1500, 1200))
    assert len(aligner().align_batch([(source, target)]).links(0)) > 0


def test_threshold_leaves_out_what_is_less_likely():
    pair = [(WORDS, WORDS[::-1])]
    every, few = (aligner(threshold=value).align_batch(pair) for value in (None, 0.3))
    kept = every.probability >= 0.3
    assert 0 < kept.sum() < len(kept)
    np.testing.assert_array_equal(few.probability, every.probability[kept])


def test_the_diagonal_prior_is_added_to_the_scores():
    plain, prior = (aligner(positions=name).align(WORDS[:3], WORDS[5:9]) for name in ("none", "diagonal"))
    distance = [[abs((t + 0.5) / 4 - (s + 0.5) / 3) for s in range(3)] for t in range(4)]
    weighted = plain.forward * np.exp(-4 * np.array(distance))
    np.testing.assert_allclose(prior.forward, weighted / weighted.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"extract": "best"},
        {"extract": "mutual", "symmetrize": "union"},
        {"symmetrize": "grow"},
        {"positions": "relative"},
        {"positions": "none", "diagonal": 3.0},
    ],
)
def test_settings_that_contradict_each_other_are_refused(options):
    with pytest.raises(UsageError):
        aligner(**options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lowercase": "no"}, "expected True or False as .lowercase., found 'no'"),
        ({"tokenizer": 5}, "expected one of the tokenizers space, .*found 5"),
        ({"temperature": "cold"}, ".temperature. as a number above 0, found 'cold'"),
        ({"diagonal": "x"}, "expected .diagonal. as a number"),
        ({"threshold": 7}, "`threshold` as a number above 0 and at most 1, found 7"),
    ],
)
def test_values_that_do_not_fit_are_named(options, told):
    for make in (partial(load, "en_fr_vectors"), aligner):
        with pytest.raises(UsageError, match=told):
            make(**options)


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("en_fr_vectors", {"limit": 2.5}, ".limit. as an integer of at least 1, found 2.5"),
        ("en_fr_vectors", {"unsafe_pickle": "x"}, "expected True or False as `unsafe_pickle`, found 'x'"),
        ("en_fr_vectors", {"device": "cpu"}, "`device` requires an encoder"),
        ("en_fr_vectors", {"scorers": 5}, "expected names of scorers, found 5"),
        ("en_fr_vectors", {"scorers": "lexicon"}, "this aligner has the scorers embeddings, not lexicon"),
        ("en_fr_model", {"score": "dot"}, "`score` applies to word vectors only"),
        ("en_fr_model", {"scorers": [5]}, "this aligner has the scorers lexicon,spectral, not 5"),
    ],
)
def test_settings_for_another_kind_of_aligner_are_named(name, options, told):
    with pytest.raises(UsageError, match=told):
        load(name, **options)


def test_one_head_is_named_by_itself():
    assert load(scorers="lexicon").scorer.names == load(scorers=["lexicon"]).scorer.names == ("lexicon",)


def test_text_settings_come_from_the_vectors_unless_said_otherwise():
    learned = dataclasses.replace(
        embeddings(1), settings={"text": TextSettings("simple", unicode="nfkc").as_dict()}
    )
    assert vector_aligner(learned, embeddings(2)).text_settings == TextSettings("simple", True, "nfkc")
    assert vector_aligner(learned, embeddings(2), tokenizer="space").text_settings == TextSettings(
        "space", True, "nfkc"
    )
    assert aligner(lowercase=False).text_settings == TextSettings("space", False, "nfc")


def test_settings_name_everything_that_made_the_links():
    assert aligner(threshold=0.25, temperature=0.1).description == (
        "score=cosine scale=10 unknown=zero positions=diagonal(4) extract=mutual threshold=0.25"
        " text=space+lower+nfc"
    )


@pytest.mark.parametrize("tokenizer", ["space", "simple"])
def test_pictures_and_pages_name_the_score_and_the_positions(tokenizer):
    made = aligner(temperature=0.1, tokenizer=tokenizer)
    (pair,) = made.align_words_of_lines([("w1 w2", "w2 w1")])
    assert pair.matrix.caption == "cosine, scale 10, positions=diagonal(4)"
    assert report_data([SamplePair(1, pair)])["caption"] == pair.matrix.caption


def test_probability_of_cells_equals_the_joint_matrix():
    scores = np.random.default_rng(0).normal(size=(3, 4, 5)) * 400
    every = np.ones((3, 4, 5), dtype=bool)
    posteriors, cells = SoftmaxPosteriors(scores, every), np.nonzero(every)
    np.testing.assert_allclose(posteriors.joint_at(cells).reshape(3, 4, 5), posteriors.joint, rtol=1e-12)


def test_extraction_is_printed_with_its_threshold():
    assert (
        str(make_extraction(LinkSettings(symmetrize="union", threshold=0.5)))
        == "symmetrize=union threshold=0.5"
    )
    assert make_score("dot", 3).description == "score=dot scale=1"


# --- what vectors are fit for --------------------------------------------------------------------


def spaces(lengths: float = 0.0, *, related: bool = True) -> list[Embeddings]:
    """Two languages that share 40 words, whose lengths deviate by so much of their mean."""
    random = np.random.default_rng(0)
    words = Vocabulary.from_words([f"name{n}" for n in range(40)])
    X = random.normal(size=(40, 12))
    Y = X + 0.1 * random.normal(size=X.shape) if related else random.normal(size=X.shape)
    sizes = np.exp(lengths * random.normal(size=(40, 1)))
    unit = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) * sizes for matrix in (X, Y)]
    return [Embeddings(words, matrix.astype(np.float32)) for matrix in unit]


def opened(sides: list[Embeddings], folder: Path, **settings: Any) -> Aligner:
    save_pair(sides[0], sides[1], folder, languages=("en", "fr"))
    aligner = load(folder, **settings)
    assert isinstance(aligner, Aligner)
    return aligner


def test_raw_dot_products_of_uneven_vectors_warn(tmp_path: Path) -> None:
    for score in ("dot", "scaled-dot"):
        with pytest.warns(UserWarning, match=r"differ by \d+ % of their mean.*`score=cosine`"):
            opened(spaces(0.5), tmp_path / score, score=score)
    for n, (sides, score) in enumerate(((spaces(0.5), "cosine"), (spaces(0.05), "dot"))):
        opened(sides, tmp_path / str(n), score=score)  # a warning would be an error


def test_each_side_has_its_vectors_of_one_dimension_and_is_saved(tmp_path: Path) -> None:
    source, target = spaces()
    save_pair(source, target, tmp_path / "x", languages=("en", "fr"))
    aligner = load(tmp_path / "x")
    for head, side in ((aligner.scorer.source, source), (aligner.scorer.target, target)):
        np.testing.assert_array_equal(head.vectors(["name1"]), side.matrix[1:2])
    aligner.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.description == aligner.description
    pairs = [([f"name{n}", f"name{n + 1}"], [f"name{n + 1}", f"name{n}"]) for n in range(9)]
    found, expected = again.align_batch(pairs), aligner.align_batch(pairs)
    np.testing.assert_array_equal(found.source, expected.source)
    np.testing.assert_array_equal(found.probability, expected.probability)
    save_embeddings(dataclasses.replace(target, matrix=target.matrix[:, :7]), tmp_path / "short.vec")
    with pytest.raises(DataError, match=r"has 12 dimensions, .*short\.vec has 7"):
        load((tmp_path / "x" / "en", str(tmp_path / "short.vec")))


def test_spaces_that_have_nothing_in_common_warn(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="look unrelated.*nmtalign vectors map"):
        opened(spaces(related=False), tmp_path / "x")
    with pytest.warns(UserWarning, match="look unrelated"):
        load((tmp_path / "x" / "en", tmp_path / "x" / "fr"))
    with pytest.warns(UserWarning, match="look unrelated"):
        vector_aligner(*spaces(related=False))
    opened(spaces(related=False), tmp_path / "y", score=untrained_bahdanau(12))


@pytest.mark.parametrize("size", [0.0625, 1.0, 16.0])  # exact in binary: ties stay ties
def test_the_default_diagonal_suits_dot_products_of_any_size(size: float) -> None:
    """Vectors of one length have the links of cosines, whatever that length is."""
    sides = spaces()
    longer = [dataclasses.replace(side, matrix=side.matrix * np.float32(size)) for side in sides]
    random = np.random.default_rng(2)
    pairs = [tuple(list(random.choice(sides[0].vocabulary.words, 7)) for _ in range(2)) for _ in range(30)]
    cosine = vector_aligner(sides[0], sides[1]).align_batch(pairs)
    for score in ("dot", "scaled-dot"):
        batch = vector_aligner(longer[0], longer[1], score=score, positions="diagonal").align_batch(pairs)
        assert [batch.links(n) for n in range(30)] == [cosine.links(n) for n in range(30)]
    told = vector_aligner(longer[0], longer[1], score="dot", positions="diagonal", diagonal=2.0)
    assert "positions=diagonal(2)" in told.description


def test_vectors_that_are_all_zero_give_finite_weights():
    nothing = [dataclasses.replace(side, matrix=side.matrix * 0) for side in spaces()]
    words = nothing[0].vocabulary.words[:3]
    found = vector_aligner(*nothing, score="dot", positions="diagonal").align(words, words)
    assert np.isfinite(found.posterior).all()


@pytest.mark.parametrize("score", ["cosine", "dot", "scaled-dot", "bahdanau"])
def test_sentences_of_unknown_words_have_no_links(score):
    found = aligner(score)
    assert not found.align(["unknown"], WORDS[:2]).links
    assert not found.align(WORDS[:2], ["unknown", "unknown"]).links
    known = {s for s, _ in found.align(["unknown", WORDS[0]], WORDS[:2]).links}
    assert known == (set() if score == "bahdanau" else {1})  # its random weights prefer the unknown word
    assert found.align(["unknown"], ["unknown"]).forward.tolist() == [[1.0]]  # weights are shown all the same


@pytest.mark.parametrize("extract", ["mutual", "argmax", "argmax-reverse", "itermax", "match"])
@pytest.mark.parametrize("score", ["cosine", "bahdanau"])
def test_two_words_without_a_vector_have_no_link(score, extract):
    words = ["new", WORDS[0], "other", WORDS[1], "third"]
    pair = aligner(score, extract=extract, positions="diagonal").align(words, words)
    assert {(s, t) for s, t in pair.links} <= {(1, 1), (1, 3), (3, 1), (3, 3)}
    assert pair.links
    assert pair.posterior[0, 0] > 0.01  # weights are shown all the same


# --- the form in which a word is looked up -------------------------------------------------------


def cased(words: list[str], **options) -> Aligner:
    """Return an aligner over vectors of some English words, and of French ones in lower case."""
    french = ["le", "noir", "chat", "déjà"]
    sides = Embeddings.of(words, np.eye(4)), Embeddings.of(french, np.eye(4))
    return vector_aligner(*sides, positions="none", **options)


@pytest.mark.parametrize("source", ["The black Cat ALREADY", ["The", "black", "Cat", "ALREADY"]])
@pytest.mark.parametrize(
    ("words", "links"),
    [
        (["the", "black", "cat", "already"], [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (["The", "Black", "CAT", "Already"], [(0, 0), (1, 1), (2, 2), (3, 3)]),
        (["Cat", "black", "cat", "x"], [(1, 1), (2, 0)]),  # the word as it stands
        (["CAT", "black", "cat", "x"], [(1, 1), (2, 2)]),  # then in lower case
        (["CAT", "black", "cAt", "x"], [(1, 1), (2, 0)]),  # then the first one that differs in case alone
    ],
)
def test_the_exact_form_of_a_word_comes_first(source, words, links):
    target = "le noir chat déjà" if isinstance(source, str) else ["le", "noir", "chat", "déjà"]
    model = cased(words)
    assert model.align(source, target).links == links
    assert model.align_batch([(source, target)]).links(0) == links


def test_case_counts_where_it_is_kept():
    model = cased(["The", "black", "cat", "x"], lowercase=False)
    assert model.align("the black Cat x", "le noir chat déjà").links == [(1, 1), (3, 3)]
    assert model.align("The black cat x", "le noir chat déjà").links == [(0, 0), (1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("unicode", ["nfc", "nfkc", "strip-accents"])
@pytest.mark.parametrize("of_text", ["NFC", "NFD"])
@pytest.mark.parametrize("of_vectors", ["NFC", "NFD"])
def test_both_sides_have_the_same_normal_form(of_vectors, of_text, unicode):
    english = ["the", "black", "cat", normalize(of_vectors, "DÉJÀ")]
    model = cased(english, unicode=unicode)
    links = model.align(normalize(of_text, "cat déjà"), normalize(of_text, "chat déjà")).links
    assert links == [(0, 0), (1, 1)]


def test_without_a_normal_form_words_are_compared_as_they_stand():
    model = cased(["the", "black", "cat", normalize("NFD", "déjà")], unicode="none")
    assert not model.align("déjà", "déjà").links
    assert model.align(normalize("NFD", "Déjà"), "déjà").links == [(0, 0)]


def test_forms_of_one_word_are_one_word():
    """They get equal scores, and count together."""
    model = cased(["the", "black", "cat", "x"])
    text = model.text_of_pairs([("Cat CAT cat the The", "chat")])
    assert text.source.words == ["", "cat", "the"]
    assert text.source.counts.tolist() == [0, 3, 2]
    assert text.source.sentence(0) == ["cat", "cat", "cat", "the", "the"]


# --- known words ---------------------------------------------------------------------------------


def test_known_words_have_a_vector_of_their_own():
    matrix = np.eye(4)
    matrix[3] = 0
    sides = Embeddings.of(["the", "cat", "x", "Paris"], matrix), Embeddings.of(["le"], np.eye(1, 4))
    known = vector_aligner(*sides).measure_coverage([("the 1992 Paris , Zorro", "le 1992 Paris , Zorro")])
    assert (known.source.known, known.source.total) == (1, 5)
    assert (known.target.known, known.target.total) == (1, 5)
    assert "only 20.0 % of the source words" in known.warning


def test_the_padding_is_no_word_of_the_vectors():
    sides = Embeddings.of(["", "cat"], np.eye(2)), Embeddings.of(["", "chat"], np.eye(2))
    model = vector_aligner(*sides)
    source, target = model.scorer.score_text(model.text_of_pairs([("cat x", "chat")])).known
    assert (source.tolist(), target.tolist()) == ([False, True, False], [False, True])


def forms_of_vectors(words: list[str]) -> list[Any]:
    """Return the same vectors in every form in Python."""
    matrix = np.eye(3)
    by_word = {word: row.tolist() for word, row in zip(words, matrix, strict=True)}
    arrays = dict(zip(words, matrix, strict=True))
    return [by_word, arrays, pd.DataFrame(matrix, index=words), (words, matrix), [words, matrix.tolist()]]


def test_vectors_in_the_containers_of_python():
    sides = forms_of_vectors(["the", "black", "cat"]), forms_of_vectors(["le", "noir", "chat"])
    for source, target in zip(*sides, strict=True):
        for aligner in (vector_aligner(source, target), load((source, target))):
            assert aligner.align("the black cat", "le chat noir").links == [(0, 0), (1, 2), (2, 1)]
    source, target = sides[0][0], sides[1][2]
    assert (
        train([("the black cat", "le chat noir")] * 3, vectors=(source, target)).scorer.names[-1] == "vectors"
    )


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"the": 1}, "a dictionary word -> vector with vectors of the same dimension"),
        ({"the": [1.0], "cat": [1.0, 2.0]}, "a dictionary word -> vector with vectors of the same dimension"),
        ({}, "a dictionary word -> vector"),
        (pd.DataFrame(np.eye(2)), "expected a DataFrame whose index are the words, found 0; set_index"),
        ((["the"], np.eye(1), 3), r"expected \(words, matrix\) as the vectors of a side"),
    ],
)
def test_other_containers_are_refused(vectors, message):
    with pytest.raises(UsageError, match=message):
        vector_aligner(vectors, forms_of_vectors(["a", "b", "c"])[0])
