"""The weight of given vectors next to the lexicon, fitted to the text."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from nmtalign.aligner.experts import Expert, paired_with
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_steps import estimate, train_aligner
from nmtalign.corpus.text import EncodedText
from nmtalign.scorers.dense import make_vectors_scorer
from nmtalign.training import vectors_weight
from nmtalign.training.em import Estimator
from nmtalign.training.vectors_weight import BucketPrediction, sharpened
from nmtalign.vectors.embeddings import Embeddings
from tests.aligner.toy_language import toy_bitext, training_job
from tests.scorers.test_dense_training import TOY, VECTORS

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
    train_aligner(paired_with(SHORT_TOY.pairs, SHORT_TOY.links), job)
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
        agreement = vectors_weight.agreement_with_text(estimated.lexicon, scorer, *models, bitext.text)
        found.append(agreement)
    assert found[0] > 0.95
    assert found[1] < 0.02  # of pairs of one word on each side


def test_vectors_have_less_weight_in_a_longer_text():
    assert fitted_weight(TOY, VECTORS) < 0.3
    assert fitted_weight(toy_bitext(300), VECTORS) < 0.1


def test_a_given_weight_is_not_fitted(monkeypatch):
    monkeypatch.setattr(vectors_weight, "likeliest_weight", None)
    options = training_job(vectors=VECTORS, vectors_weight=0.25)
    assert train_aligner(TOY.pairs, options).aligner.scorer.others[-1].weight == 0.25


def test_every_nth_bucket_of_a_large_text_is_enough(monkeypatch):
    text = learn_text(SHORT_TOY)
    assert len(vectors_weight._sample_of(text).buckets) == len(text.buckets)
    monkeypatch.setattr(vectors_weight, "MAX_SAMPLE_CELLS", text.cell_count // 2)
    sample = vectors_weight._sample_of(text)
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
        return vectors_weight._derivatives(bucket, np.array([a, b]))[0]

    expected = [
        (naive_likelihood(bucket, (0.8 + step, 0.3)) - naive_likelihood(bucket, (0.8 - step, 0.3)))
        / (2 * step),
        (naive_likelihood(bucket, (0.8, 0.3 + step)) - naive_likelihood(bucket, (0.8, 0.3 - step)))
        / (2 * step),
    ]
    gradient, found_curvature = vectors_weight._derivatives(bucket, np.array(factors))
    np.testing.assert_allclose(gradient, expected, rtol=1e-3)
    curvature = [
        (slopes(0.8 - step, 0.3) - slopes(0.8 + step, 0.3)) / (2 * step),
        (slopes(0.8, 0.3 - step) - slopes(0.8, 0.3 + step)) / (2 * step),
    ]
    np.testing.assert_allclose(found_curvature, curvature, rtol=1e-2)


def test_a_power_of_the_odds_keeps_the_ends_and_the_middle():
    assert [sharpened(weight, 3.0) for weight in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    assert sharpened(0.8, 3.0) == pytest.approx(64 / 65)
