"""Vectors next to a lexicon: learned from its counts, and the weight of given ones."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from nmtalign.aligner.experts import Expert, with_links
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_steps import estimate, train_aligner
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import DataError, UsageError
from nmtalign.scorers.dense import make_vectors_scorer
from nmtalign.scorers.forms import FormCounts, number_forms
from nmtalign.scorers.lexicon import Lexicon, StoredForms
from nmtalign.scorers.likelihood_ratios import Smoothing
from nmtalign.training import lexicon_vectors
from nmtalign.training.em import Estimator
from nmtalign.training.lexicon_vectors import BucketPrediction, count_embeddings, learn_lexicon, sharpened
from nmtalign.vectors.embeddings import Embeddings
from tests.aligner.toy_language import toy_bitext, training_job
from tests.scorers.test_dense_training import TOY, VECTORS

SOURCE = ["", "the", "house", "houses", "tree", "housework"]
TARGET = ["", "das", "haus", "baum"]


def side(size: int) -> FormCounts:
    return FormCounts(np.zeros(size), np.zeros(size), 0.0)


def lexicon(links: dict[tuple[str, str], float], letters: tuple[int, ...] = (0,)) -> Lexicon:
    """A lexicon whose forms hold these links of words, summed by their first letters."""
    forms = []
    for cut in letters:
        rows, columns = number_forms(SOURCE, cut), number_forms(TARGET, cut)
        counts: dict[int, float] = {}
        for (a, b), count in links.items():
            key = int(rows[0][SOURCE.index(a)]) * len(columns[1]) + int(columns[0][TARGET.index(b)])
            counts[key] = counts.get(key, 0.0) + count
        keys = np.array(sorted(counts), dtype=np.int64)
        values = np.array([counts[int(key)] for key in keys], dtype=np.float32)
        forms.append(StoredForms((cut, cut), keys, values, (side(len(rows[1])), side(len(columns[1])))))
    falling = np.array([0, 9, 8, 3, 2, 1]), np.array([0, 9, 8, 3])
    return Lexicon(SOURCE, TARGET, *falling, forms, Smoothing(10.0, 1.0, 0.1), 0.0)


LINKS = {("the", "das"): 9.0, ("house", "haus"): 8.0, ("houses", "haus"): 2.0, ("tree", "baum"): 2.0}


def cosine(source: Embeddings, target: Embeddings, a: str, b: str) -> float:
    return float((source.vectors([a]) @ target.vectors([b]).T)[0, 0])


def test_linked_words_are_near_and_others_are_not() -> None:
    source, target = count_embeddings(lexicon(LINKS), dimension=3)
    for a, b in LINKS:
        assert cosine(source, target, a, b) > 0.99
    assert abs(cosine(source, target, "tree", "haus")) < 0.01
    assert source.settings == {
        "method": "counts",
        "dimension": 3,
        "minimum": 1,
        "seed": 1,
        "subwords": False,
    }


def test_a_word_without_links_stands_where_its_relatives_do() -> None:
    source, target = count_embeddings(lexicon(LINKS | {("houses", "baum"): 2.0}), dimension=3)
    family = [cosine(source, target, word, "haus") for word in ("houses", "housework", "house")]
    assert family[0] < family[1] < family[2]


def test_rare_links_and_rare_words_are_left_out() -> None:
    noisy = LINKS | {("tree", "haus"): 0.04}
    source, target = count_embeddings(lexicon(noisy), dimension=3, minimum=3)
    assert source.vocabulary.words == ["the", "house", "houses"]
    assert target.vocabulary.words == ["das", "haus", "baum"]
    plain = count_embeddings(lexicon(LINKS), dimension=3, minimum=3)
    np.testing.assert_array_equal(source.matrix, plain[0].matrix)


def test_subwords_average_the_cosines_of_the_views() -> None:
    forms = [count_embeddings(lexicon(LINKS, (0,)), dimension=3)]
    both = count_embeddings(lexicon(LINKS, (0, 3)), dimension=6, subwords=True)
    assert both[0].matrix.shape == (5, 6)
    assert both[0].settings["subwords"] is True
    assert cosine(*both, "housework", "haus") > 0.99
    assert cosine(*both, "tree", "haus") < max(0.01, cosine(*forms[0], "tree", "haus"))
    np.testing.assert_allclose(np.linalg.norm(both[0].matrix, axis=1), 1, rtol=1e-5)


def test_learned_from_a_bitext_twice_the_same() -> None:
    pairs = toy_bitext(200).words
    first, second = (count_embeddings(learn_lexicon(pairs), dimension=12) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert a.vocabulary.words == b.vocabulary.words
        np.testing.assert_array_equal(a.matrix, b.matrix)
    source, target = first
    names = np.random.default_rng(99).permutation(60)  # the dictionary of the toy language
    nearest = (target.matrix @ source.matrix.T).argmax(axis=1)
    meant = zip(target.vocabulary.words, nearest, strict=True)
    right = [source.vocabulary.words[n] == f"{names[int(w[:2])]:02d}ab" for w, n in meant if w != "zu"]
    assert np.mean(right) > 0.9


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(DataError, match="no links"):
        count_embeddings(lexicon({("the", "das"): 0.01}))
    with pytest.raises(UsageError, match="no counts of whole words"):
        count_embeddings(lexicon(LINKS, (3,)))
    with pytest.raises(UsageError, match="`dimension` must be at least 2"):
        count_embeddings(lexicon(LINKS, (0, 3)), dimension=1, subwords=True)


SHORT_TOY = toy_bitext(20)


def fitted_weight(toy, vectors) -> float:
    """Return the weight of the vectors in a model that is learned with them; 0 if it does not use them."""
    aligner = train_aligner(toy.pairs, training_job(vectors=vectors)).aligner
    return {scorer.name: scorer.weight for scorer in aligner.scorer.others}.get("vectors", 0.0)


def learn_text(toy) -> EncodedText:
    """Return the text that training makes of a toy language."""
    return prepare(toy.pairs, training_job()).text


def rotated(side: Embeddings) -> Embeddings:
    """Return vectors in a space of their own."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((side.dimension, side.dimension)))
    return Embeddings(side.vocabulary, np.asarray(side.matrix, np.float32) @ rotation.astype(np.float32))


def test_good_vectors_have_more_weight_than_poor_ones():
    assert fitted_weight(SHORT_TOY, VECTORS) > 0.4
    assert fitted_weight(SHORT_TOY, (rotated(VECTORS[0]), VECTORS[1])) == 0


@pytest.mark.parametrize("kind", ["random", "permuted"])
def test_vectors_that_do_not_fit_change_no_link(kind):
    """A model with random vectors, or with those of other words, is the model without; a warning says so."""
    random = np.random.default_rng(5)
    source, target = VECTORS
    rows = random.permutation(len(target.matrix))
    matrices = {"random": random.standard_normal(target.matrix.shape), "permuted": target.matrix[rows]}
    unfit = source, Embeddings(target.vocabulary, matrices[kind])
    warnings: list[str] = []
    with_unfit = train_aligner(TOY.pairs, training_job(vectors=unfit, warn=warnings.append))
    without = train_aligner(TOY.pairs, training_job())
    assert with_unfit.aligner == without.aligner
    (warning,) = warnings
    found = re.search(r"not used: their nearest words have (\d+)% of the links that the text", warning)
    assert found is not None
    assert int(found[1]) < 20


def test_vectors_that_do_not_fit_are_told_once_beside_an_expert():
    """The aligner that judges the expert is not the one that is returned."""
    unfit = rotated(VECTORS[0]), VECTORS[1]
    warnings: list[str] = []
    job = training_job(vectors=unfit, expert=Expert(), warn=warnings.append, workers=1)
    train_aligner(with_links(SHORT_TOY.pairs, SHORT_TOY.links), job)
    assert len([warning for warning in warnings if "the vectors do not fit the text" in warning]) == 1


def test_agreement_is_a_share_of_expected_links():
    """Nearest words are all links, or none if all words are equally near, or the nearest one is wrong."""
    toy = toy_bitext(60, vocabulary=30, empty=0)
    translations = {
        (source[s], target[t])
        for (source, target), links in zip(toy.words, toy.links, strict=True)
        for s, t in links
    }
    source_words, target_words = zip(*sorted(translations), strict=True)
    unit = np.eye(len(translations), dtype=np.float32)
    source = Embeddings.of(source_words, unit)
    right = source, Embeddings.of(target_words, unit)
    equal = source, Embeddings.of(target_words, np.ones_like(unit))
    job = training_job()
    bitext = prepare(toy.pairs, job)
    estimated = estimate(Estimator(bitext.text, job.hyperparameters), bitext, job)
    found = []
    for vectors in (right, equal):
        scorer = make_vectors_scorer(estimated.lexicon, *vectors, job.text_settings, weight=0.5)
        models = estimated.jump_models, job.hyperparameters.null
        agreement = lexicon_vectors.agreement_with_text(estimated.lexicon, scorer, *models, bitext.text)
        found.append(agreement)
    assert found[0] > 0.95
    assert found[1] < 0.02  # of pairs of one word on each side


def test_vectors_have_less_weight_in_a_longer_text():
    assert fitted_weight(TOY, VECTORS) < 0.3
    assert fitted_weight(toy_bitext(300), VECTORS) < 0.1


def test_a_given_weight_is_not_fitted(monkeypatch):
    monkeypatch.setattr(lexicon_vectors, "likeliest_weight", None)
    options = training_job(vectors=VECTORS, vectors_weight=0.25)
    assert train_aligner(TOY.pairs, options).aligner.scorer.others[-1].weight == 0.25


def test_every_nth_bucket_of_a_large_text_is_enough(monkeypatch):
    text = learn_text(SHORT_TOY)
    assert len(lexicon_vectors._sample_of(text).buckets) == len(text.buckets)
    monkeypatch.setattr(lexicon_vectors, "MAX_SAMPLE_CELLS", text.cell_count // 2)
    sample = lexicon_vectors._sample_of(text)
    assert len(sample.buckets) == math.ceil(len(text.buckets) / 2)
    assert 0 < fitted_weight(SHORT_TOY, VECTORS) < 1


def test_a_text_without_links_of_known_words_keeps_a_weight():
    vectors = Embeddings.of(["x", "y"], np.eye(2)), Embeddings.of(["x", "y"], np.eye(2))
    toy = [(["a", "x"], ["b", "y"])]
    aligner = train_aligner(toy, training_job(vectors=vectors)).aligner
    assert 0 <= aligner.scorer.others[-1].weight <= 1


def naive_likelihood(bucket: BucketPrediction, factors: tuple[float, float]) -> float:
    """Return the log-likelihood of the links, cell by cell."""
    T, S, B = bucket.links.shape
    total = 0.0
    for b in range(B):
        logits = factors[0] * bucket.lexicon[..., b] + factors[1] * bucket.vectors[..., b]
        for t in range(T):
            for s in range(S):
                if not bucket.known[t, s, b]:
                    continue
                row = sum(math.exp(logits[t, n]) for n in range(S) if bucket.known[t, n, b])
                column = sum(math.exp(logits[n, s]) for n in range(T) if bucket.known[n, s, b])
                link = float(bucket.links[t, s, b])
                total += link * (2 * float(logits[t, s]) - math.log(row) - math.log(column))
    return total


def test_derivatives_are_those_of_differences():
    random = np.random.default_rng(4)
    shape = 3, 4, 2
    known = random.random(shape) < 0.7
    known[1, :, 0] = False
    lexicon, vectors = (random.standard_normal(shape).astype(np.float32) for _ in range(2))
    links = (random.random(shape) * known).astype(np.float32)
    bucket = BucketPrediction(links, lexicon, vectors, known)
    factors, step = (0.8, 0.3), 1e-3

    def slopes(a: float, b: float) -> np.ndarray:
        return lexicon_vectors._derivatives(bucket, np.array([a, b])).gradient

    expected = [
        (naive_likelihood(bucket, (0.8 + step, 0.3)) - naive_likelihood(bucket, (0.8 - step, 0.3)))
        / (2 * step),
        (naive_likelihood(bucket, (0.8, 0.3 + step)) - naive_likelihood(bucket, (0.8, 0.3 - step)))
        / (2 * step),
    ]
    found = lexicon_vectors._derivatives(bucket, np.array(factors))
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-3)
    curvature = [
        (slopes(0.8 - step, 0.3) - slopes(0.8 + step, 0.3)) / (2 * step),
        (slopes(0.8, 0.3 - step) - slopes(0.8, 0.3 + step)) / (2 * step),
    ]
    np.testing.assert_allclose(found.curvature, curvature, rtol=1e-2)


def test_a_power_of_the_odds_keeps_the_ends_and_the_middle():
    assert [sharpened(weight, 3.0) for weight in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    assert sharpened(0.8, 3.0) == pytest.approx(64 / 65)
