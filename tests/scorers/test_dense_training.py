"""The head of given vectors: mixed into a tiny bitext's model, saved, weighed, its scale beside a grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nmtalign
from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.arrays import unit_rows
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import GoldAlignment
from nmtalign.rescoring import rescorer
from nmtalign.scorers.dense import MAX_SCALE, ExpectedLinks, ScaleLikelihood, fit_scale
from nmtalign.training.em import Hyperparameters
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.aligner.toy_language import links_of, toy_bitext, training_job

TOY = toy_bitext(60)
NEW = toy_bitext(80, seed=5)
SETTINGS = Hyperparameters(spectral_weight=0.4, model1_iterations=3, hmm_iterations=2)
ARRAYS = ("offsets", "source", "target", "probability", "scores")


def good_vectors(toy, *, noise: float = 0.25, dimension: int = 24) -> tuple[Embeddings, Embeddings]:
    """Vectors of the words of a toy language; those of a word and of its translation lie together."""
    links = {
        (source[s], target[t])
        for (source, target), own in zip(toy.words, toy.links, strict=True)
        for s, t in own
    }
    random = np.random.default_rng(3)
    meanings = random.normal(size=(len(links), dimension))
    first, second = (
        Embeddings(Vocabulary.from_words(words), meanings + noise * random.normal(size=meanings.shape))
        for words in zip(*sorted(links), strict=True)
    )
    return first, second


VECTORS = good_vectors(NEW)


def taught(pairs=TOY.pairs, **options):
    return replace(
        train_aligner(pairs, training_job(**{"hyperparameters": SETTINGS, "workers": 1} | options)).aligner,
        workers=1,
    )


@pytest.fixture(scope="module")
def aligner():
    return taught(vectors=VECTORS)


def error(aligner, toy) -> float:
    return toy.error(links_of(aligner.align_batch(toy.words)))


def same_bits(one, two) -> bool:
    batches = one.align_batch(NEW.words), two.align_batch(NEW.words)
    return all(np.array_equal(*(getattr(batch, name) for batch in batches)) for name in ARRAYS)


def test_good_vectors_help_a_tiny_bitext():
    tiny = toy_bitext(6)
    plain = error(taught(tiny.pairs), NEW)
    helped, more = (error(taught(tiny.pairs, vectors=VECTORS, vectors_weight=w), NEW) for w in (None, 0.6))
    assert plain > 0.2
    assert helped < 0.8 * plain
    assert more < 0.5 * plain


def test_it_is_a_head_that_is_saved_to_the_bit(aligner, tmp_path):
    assert aligner.scorer.names == ("lexicon", "spectral", "vectors")
    assert aligner.description.startswith("scorers=lexicon,spectral,vectors forms=")
    aligner.save(tmp_path / "model")
    again = replace(load_aligner(tmp_path / "model"), workers=1)
    assert again.scorer.names == aligner.scorer.names
    assert same_bits(again, aligner)
    assert same_bits(again.with_scorers(["vectors"]), aligner.with_scorers(["vectors"]))
    assert not same_bits(again, aligner.with_scorers(["lexicon", "spectral"]))


def test_weight_0_makes_no_head():
    idle = taught(vectors=VECTORS, vectors_weight=0.0)
    assert idle.scorer.names == ("lexicon", "spectral")
    assert same_bits(idle, taught())


def test_weight_1_stands_alone():
    no_spectral = replace(SETTINGS, spectral_weight=0)
    alone = taught(vectors=VECTORS, vectors_weight=1.0, hyperparameters=no_spectral)
    assert alone.scorer.names == ("vectors",)
    assert same_bits(alone, taught(vectors=VECTORS, hyperparameters=no_spectral).with_scorers(["vectors"]))
    assert error(alone, NEW) < 0.05


def test_cased_vectors_serve_words_in_lower_case():
    cased = [
        Embeddings(Vocabulary.from_words(map(str.upper, side.vocabulary.words)), side.matrix)
        for side in VECTORS
    ]
    assert same_bits(taught(vectors=tuple(cased)), taught(vectors=VECTORS))


def test_words_without_vectors_are_left_to_the_lexicon():
    first, second = VECTORS
    few = first.first(1), second.first(1)
    knows = {few[0].vocabulary.words[0], few[1].vocabulary.words[0]}
    others = [pair for pair in NEW.words if not knows & {*pair[0], *pair[1]}]
    assert 20 < len(others) < len(NEW.words)
    batches = [own.align_batch(others) for own in (taught(vectors=few), taught())]
    np.testing.assert_array_equal(*(batch.probability for batch in batches))


def test_the_scale_is_the_likeliest_of_a_grid(aligner):
    lexicon = aligner.lexicon
    vectors = [
        unit_rows(side.vectors(words))
        for side, words in zip(
            good_vectors(NEW, noise=1.0), (lexicon.source_words, lexicon.target_words), strict=True
        )
    ]
    links = {
        divmod(int(key), len(lexicon.target_words)): float(count)
        for key, count in zip(lexicon.whole.keys, lexicon.whole.counts, strict=True)
    }
    shares = [own / own.sum() for own in (lexicon.source_counts, lexicon.target_counts)]
    cosines = vectors[0] @ vectors[1].T

    def likelihood(b: float) -> float:
        to_target = np.log((np.exp(b * cosines) * shares[1]).sum(axis=1))
        to_source = np.log((np.exp(b * cosines) * shares[0][:, None]).sum(axis=0))
        return sum(
            count * (2 * b * cosines[e, f] - to_target[e] - to_source[f])
            for (e, f), count in links.items()
            if vectors[0][e].any() and vectors[1][f].any()
        )

    grid = np.arange(1, MAX_SCALE, 0.25)
    best = grid[np.argmax([likelihood(b) for b in grid])]
    assert 2 < best < MAX_SCALE - 1
    assert fit_scale(lexicon, tuple(vectors)) == pytest.approx(best, abs=0.25)


def random_table():
    """Scores, shares and links of two small vocabularies, and L(b) as it is written."""
    random = np.random.default_rng(0)
    scores = random.normal(size=(9, 7))
    shares = [np.append(0, random.random(n - 1)) for n in scores.shape]
    shares = [own / own.sum() for own in shares]
    source, target = (random.integers(1, n, 12) for n in scores.shape)
    links = ExpectedLinks(source, target, 5 * random.random(12) * np.exp(3 * scores[source, target]))

    def likelihood(b: float) -> float:
        Z = np.log(np.exp(b * scores) @ shares[1]), np.log(shares[0] @ np.exp(b * scores))
        return float(links.counts @ (2 * b * scores[source, target] - Z[0][source] - Z[1][target]))

    return ScaleLikelihood(scores, shares[0], shares[1]), links, likelihood


def test_derivatives_of_the_likelihood_are_those_of_differences():
    table, links, likelihood = random_table()
    for b in (0.3, 1.1, 2.5):
        low, here, high = (likelihood(b + step) for step in (-1e-4, 0, 1e-4))
        slope, spread = table.derivatives(b, links)
        assert slope == pytest.approx((high - low) / 2e-4, rel=1e-5)
        assert spread == pytest.approx((2 * here - low - high) / 1e-8, rel=1e-4)


@pytest.mark.parametrize(("low", "high"), [(0.01, 60.0), (0.3, 5.0), (4.5, 1000.0)])
def test_the_maximum_is_found_from_any_interval(low, high):
    table, links, likelihood = random_table()
    best = max(np.linspace(0.1, 5.0, 5000), key=likelihood)
    assert 0.4 < best < 4
    expected = max(low, best)
    assert table.maximum(links, low=low, high=high) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"vectors": VECTORS[::-1]}, DataError, "none of the source words; are the languages swapped"),
        (
            {"vectors": (VECTORS[0], replace(VECTORS[1], matrix=VECTORS[1].matrix[:, :7]))},
            DataError,
            "of the same dimension, found 24 and 7 dimensions",
        ),
        ({"vectors": VECTORS, "vectors_weight": 1.5}, UsageError, "of at least 0 and at most 1, found 1.5"),
        ({"vectors": VECTORS, "vectors_weight": True}, UsageError, "of at least 0 and at most 1, found True"),
    ],
)
def test_what_does_not_go_together_is_refused_before_training(monkeypatch, options, kind, message):
    monkeypatch.setattr("nmtalign.aligner.training_steps.Estimator", None)
    with pytest.raises(kind, match=message):
        train_aligner(TOY.pairs, training_job(**options))


def test_the_door_takes_the_options_of_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(rescorer, "GOLD_SCHEDULE", replace(rescorer.GOLD_SCHEDULE, max_epochs=3))
    save_pair(*VECTORS, tmp_path / "vectors", languages=("xx", "yy"))
    gold = [GoldAlignment(frozenset(own), frozenset(own)) for own in TOY.links]
    path = tmp_path / "gold"
    path.write_text("".join(" ".join(f"{s}-{t}" for s, t in sorted(own)) + "\n" for own in TOY.links))
    found = [
        nmtalign.train(TOY.pairs, vectors=given, vectors_weight=0.2, gold=links)
        for given, links in ((tmp_path / "vectors", path), (VECTORS, gold))
    ]
    assert found[0].scorer.names == ("lexicon", "spectral", "vectors")
    assert found[0].positions.weight > 0
    assert same_bits(*found)
