"""Hidden Markov models over given vectors: plain loops, planted word order, and laws."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.opening import fit_text, vector_aligner
from nmtalign.corpus import buckets
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import DEFAULT_NULL
from nmtalign.positions.jumps import MAX_JUMP
from nmtalign.positions.position_model import SoftmaxPositions
from nmtalign.scorers.vector_scores import BahdanauScore
from nmtalign.text.bitext import SentencePair
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from tests.positions.naive_hmm import naive_forward_backward, naive_transitions
from tests.scorers.bahdanau import untrained_bahdanau

# made-up words, random vectors
pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem|the norms|.*look unrelated)")

WORDS = [f"w{n}" for n in range(12)]
SENTENCES = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=9)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=8)
TEXT = [(WORDS[:5], WORDS[3:9]), (WORDS[4:], WORDS[2:]), (["w0", "w1", "w0"], ["w1", "w0"])]


def embeddings(seed: int) -> Embeddings:
    matrix = np.random.default_rng(seed).normal(size=(len(WORDS), 20)).astype(np.float32)
    return Embeddings(Vocabulary.from_words(WORDS), matrix)


def hmm_aligner(score: str = "cosine", **options) -> Aligner:
    own = untrained_bahdanau(embeddings(1).dimension) if score == "bahdanau" else score
    aligner = vector_aligner(embeddings(1), embeddings(2), score=own, positions="hmm", **options)
    assert aligner.needs_fitting
    return replace(aligner, workers=1)


def fitted_to(aligner: Aligner, text) -> Aligner:
    pairs = [pair for pair in text if all(pair)]
    if not pairs:
        return fit_text(aligner, text)[0]
    scorer, positions = aligner.scorer.fitted(pairs, 1, aligner.positions.learned_jump_models)
    return replace(aligner, scorer=scorer, positions=positions)


def taken_as_fitted(aligner: Aligner) -> Aligner:
    """Return the aligner as it is before a fit, ready to align."""
    return replace(aligner, positions=replace(aligner.positions, fitted_pairs=1))


def naive_ratios(aligner: Aligner, source, target, text):
    """exp(score - (log Z_e + log Z_f) / 2), Z over the words of `text`, word by word."""
    head = aligner.scorer

    def score(e, f):
        a, b = (side.vectors([w])[0] for side, w in ((head.source, e), (head.target, f)))
        if isinstance(head.score, BahdanauScore):
            own = head.score
            return own.scale * float(np.tanh(b @ own.W + a @ own.U + own.b) @ own.v)
        lengths = np.linalg.norm(a) * np.linalg.norm(b)
        return head.score.scale * float(a @ b / lengths) if lengths else 0.0

    sources, targets = ([word for pair in text for word in pair[side]] for side in (0, 1))
    z_e = {e: sum(math.exp(score(e, f)) for f in targets) / len(targets) for e in source}
    z_f = {f: sum(math.exp(score(e, f)) for e in sources) / len(sources) for f in target}
    return [[math.exp(score(e, f)) / math.sqrt(z_e[e] * z_f[f]) for e in source] for f in target]


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("score", ["cosine", "bahdanau"])
def test_attention_is_that_of_plain_loops(score, fitted):
    aligner = taken_as_fitted(hmm_aligner(score))
    text = [([word], [word]) for word in WORDS]  # even shares, as without a fit
    if fitted:
        aligner, text = fitted_to(aligner, TEXT), TEXT
    source, target = ["w3", "w1", "unknown", "w1", "w9"], ["w2", "w3", "w0", "unknown"]
    ratios = naive_ratios(aligner, source, target, text)
    jumps = [model.tables.astype(float) for model in aligner.positions.jump_models]

    def direction(emission, table):
        S = len(emission[0])
        transition, stop = naive_transitions(
            lambda i, width: table[min(i, 1), width + MAX_JUMP], S, DEFAULT_NULL
        )
        return np.array(naive_forward_backward(emission, transition, stop, [DEFAULT_NULL] * len(emission))[0])

    pair = aligner.align(source, target)
    np.testing.assert_allclose(pair.forward, direction(ratios, jumps[0]), rtol=2e-4, atol=1e-6)
    turned = [list(row) for row in zip(*ratios, strict=True)]
    np.testing.assert_allclose(pair.reverse.T, direction(turned, jumps[1]), rtol=2e-4, atol=1e-6)


def test_planted_word_order_is_learned():
    """Every sentence is turned round; which of two equal words is meant, only the jumps can tell."""
    random = np.random.default_rng(0)
    side = Embeddings(Vocabulary.from_words(WORDS), np.eye(len(WORDS)))
    aligner = vector_aligner(side, side, positions="hmm", threshold=0.5)
    text = [list(random.choice(WORDS, size=random.integers(4, 9))) for _ in range(300)]
    fitted = fitted_to(aligner, [(words, words[::-1]) for words in text])
    table = fitted.positions.jump_models[0].tables[1]
    assert int(table.argmax()) - MAX_JUMP == -1
    source = ["w1", "w2", "w1", "w3"]
    turned = {(n, 3 - n) for n in range(4)}
    assert set(fitted.align(source, source[::-1]).alignment.links) == turned
    assert set(taken_as_fitted(aligner).align(source, source[::-1]).alignment.links) != turned


def test_an_unfitted_aligner_is_an_error():
    aligner = hmm_aligner()
    for act in (lambda: aligner.align("w1", "w2"), lambda: aligner.align_batch([("w1", "w2")])):
        with pytest.raises(UsageError, match="fit_to"):
            act()
    assert fitted_to(aligner, TEXT).align("w1", "w2").forward.shape == (1, 1)


SCORES, EXTRACTIONS = ("dot", "scaled-dot", "cosine", "bahdanau"), (None, "mutual", "argmax")


@pytest.mark.parametrize(  # every two of the three meet
    ("score", "extract", "fitted"),
    [(a, b, (n + m) % 2 == 0) for n, a in enumerate(SCORES) for m, b in enumerate(EXTRACTIONS)],
)
def test_a_batch_is_its_pairs_one_by_one(score, extract, fitted):
    aligner = taken_as_fitted(hmm_aligner(score, extract=extract))
    if fitted:
        aligner = fitted_to(aligner, TEXT)

    @given(pairs=PAIRS)
    @settings(max_examples=15, deadline=None)
    def check(pairs):
        batch = aligner.align_batch(pairs)
        assert len(batch) == len(pairs)
        for n, pair in enumerate(pairs):
            alone = aligner.align(*pair)
            assert set(batch.links(n)) == alone.alignment.links
            rows = slice(batch.offsets[n], batch.offsets[n + 1])
            assert batch.probability[rows].tolist() == [alone.probabilities[k] for k in batch.links(n)]
            assert batch.scores[n] == alone.score

    check()


@cache
def both_ways() -> tuple[Aligner, Aligner]:
    """An aligner fitted to the text, and one of the sides swapped."""
    plain = hmm_aligner()
    head = replace(plain.scorer, source=plain.scorer.target, target=plain.scorer.source)
    return fitted_to(plain, TEXT), fitted_to(replace(plain, scorer=head), [(b, a) for a, b in TEXT])


@given(source=SENTENCES.filter(bool), target=SENTENCES.filter(bool))
@settings(max_examples=20, deadline=None)
def test_weights_are_at_most_one_and_swapping_the_sides_transposes_them(source, target):
    aligner, turned = both_ways()
    pair = aligner.align(source, target)
    assert (pair.forward.sum(axis=1) <= 1 + 1e-5).all()
    assert (pair.reverse.sum(axis=0) <= 1 + 1e-5).all()
    swapped = turned.align(target, source)
    np.testing.assert_allclose(swapped.forward, pair.reverse.T, rtol=1e-3, atol=1e-5)


def test_room_and_threads_change_no_link(monkeypatch):
    random = np.random.default_rng(3)
    pairs = [tuple(list(random.choice(WORDS, size=n)) for n in random.integers(0, 9, 2)) for _ in range(200)]
    aligner = fitted_to(hmm_aligner(), pairs)
    threads = fitted_to(replace(hmm_aligner(), workers=3), pairs)
    for one, other in zip(aligner.positions.jump_models, threads.positions.jump_models, strict=True):
        np.testing.assert_array_equal(one.tables, other.tables)
    whole = aligner.align_batch(pairs)
    monkeypatch.setattr(buckets, "MAX_BUCKET_CELLS", 50)
    for other in (aligner, threads):
        parts = other.align_batch(pairs)
        for name in ("offsets", "source", "target", "probability", "scores"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_empty_text_and_empty_sides():
    aligner = hmm_aligner()
    assert fitted_to(aligner, [([], ["w1"]), ([], [])]).positions is aligner.positions
    batch = aligner.align_batch([([], ["w1"]), (["w1"], []), ([], [])])
    assert [len(batch.links(n)) for n in range(3)] == [0, 0, 0]
    assert len(aligner.align_batch([])) == 0
    assert aligner.align([], ["w1"]).matrix.weights.shape == (1, 0)


def test_a_stream_is_fitted_on_its_first_pairs_and_stays_whole(monkeypatch):
    text = [SentencePair("w1 w2 w3", "w3 w4")] * 3 + [SentencePair("w5", "w6")] * 4
    monkeypatch.setattr("nmtalign.aligner.opening.MAX_FITTING_PAIRS", 3)
    found, pairs = fit_text(hmm_aligner(), iter(text))
    assert list(pairs) == text
    assert set(found.scorer.references[0].words) == {"w1", "w2", "w3"}
    assert "positions=hmm(fitted on 3 pairs) extract=posterior" in found.description
    plain = vector_aligner(embeddings(1), embeddings(2))
    same, pairs = fit_text(plain, text)
    assert same is plain
    assert list(pairs) == text


def test_hmm_has_no_diagonal():
    with pytest.raises(UsageError, match="`diagonal` does not apply"):
        hmm_aligner(diagonal=2.0)
    assert isinstance(vector_aligner(embeddings(1), embeddings(2)).positions, SoftmaxPositions)


# --- the temperature -----------------------------------------------------------------------------


def spoken(scale: float, *, pairs: int = 900, seed: int = 4):
    """Vectors, and a text of the model itself: p(f | e) = p(f) exp(scale cos(e, f)) / Z, word for word."""
    random = np.random.default_rng(seed)
    names = [f"w{n}" for n in range(40)]
    sides = [Embeddings(Vocabulary.from_words(names), random.normal(size=(40, 6))) for _ in range(2)]
    units = [side.matrix / np.linalg.norm(side.matrix, axis=1, keepdims=True) for side in sides]
    odds = np.exp(scale * units[0] @ units[1].T)
    chance = (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
    text = []
    for _ in range(pairs):
        words = random.integers(0, 40, random.integers(3, 8))
        others = [min(int(np.searchsorted(chance[w], random.random())), 39) for w in words]
        text.append(([names[w] for w in words], [names[w] for w in others]))
    return sides, text


@pytest.mark.parametrize("planted", [4.0, 9.0])
def test_the_planted_temperature_is_found(planted):
    sides, text = spoken(planted)
    found = {
        name: fitted_to(vector_aligner(*sides, positions="hmm", **options), text).scorer.score.scale
        for name, options in {
            "near": {"score": "cosine"},
            "given": {"score": "cosine", "temperature": 0.5},
        }.items()
    }
    assert 0.8 * planted < found["near"] < 1.25 * planted
    assert found["given"] == 2.0


@pytest.mark.parametrize("size", [0.02, 30.0])
def test_dot_products_may_have_any_size(size):
    """Vectors of one length: the fit undoes it, the links are those of cosines."""
    sides, text = spoken(6.0, pairs=200)
    sides = [
        replace(side, matrix=side.matrix / np.linalg.norm(side.matrix, axis=1)[:, None]) for side in sides
    ]
    longer = [replace(side, matrix=side.matrix * size) for side in sides]
    cosine, dot = (
        fitted_to(vector_aligner(*vectors, score=score, positions="hmm", threshold=0.5), text)
        for vectors, score in ((sides, "cosine"), (longer, "dot"))
    )
    assert dot.scorer.score.scale * size**2 == pytest.approx(cosine.scorer.score.scale, rel=0.05)
    batches = [aligner.align_batch(text) for aligner in (cosine, dot)]
    links = [{(n, *link) for n in range(len(text)) for link in batch.links(n)} for batch in batches]
    assert len(links[0] ^ links[1]) < 0.02 * len(links[0])
