"""Attention vectors: the gradient against differences, Adam against loops, a planted language, laws."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.errors import DataError, UsageError
from nmtalign.models import checkpoint
from nmtalign.models import gradient as trained
from nmtalign.models.attention_vectors import both_log_norms, joined, lay_out, log_norms
from nmtalign.models.corpus import encode
from nmtalign.models.gradient import VectorSettings, learn_vectors
from nmtalign.models.vector_batches import Batches
from nmtalign.models.vector_links import Expected
from tests.models.toy_language import toy_bitext


def encoded(pairs):
    return encode(source for source, _ in pairs), encode(target for _, target in pairs)


TOY = toy_bitext(400, seed=3)
SIDES = encoded(TOY.words)


def batch_and_vectors(seed: int, dimension: int = 5):
    """A batch of the toy language, with random keys and queries for its words."""
    random = np.random.default_rng(seed)
    batch = Batches(*SIDES, 12, random).take()
    keys, queries = (
        random.normal(0, 0.7, (len(words), dimension)).astype(np.float32)
        for words in (batch.source, batch.target)
    )
    return batch, keys, queries, random


def random_links(batch, random):
    """Expected links of every stack, as if the E-step had found them."""
    for stack, source, target in zip(batch.stacks, batch.source_place, batch.target_place, strict=True):
        real = (stack.source > 0) & (stack.target > 0)[:, None]
        links = [(random.random(stack.shape) * real).astype(np.float32) for _ in range(2)]
        yield Expected(*links), source, target


def naive_likelihood(keys, queries, batch, found):
    """sum c (s - log Z_e) + sum c' (s - log Z_f), link by link."""
    scores = keys.astype(float) @ queries.astype(float).T
    inside = np.exp(scores[1:, 1:])
    of_source = np.log(inside @ batch.target_share[1:].astype(float))
    of_target = np.log(batch.source_share[1:].astype(float) @ inside)
    total = 0.0
    for links, source, target in found:
        for t, s, b in np.ndindex(links.forward.shape):
            e, f = source[s, b], target[t, b]
            if e and f:
                total += links.forward[t, s, b] * (scores[e, f] - of_source[e - 1])
                total += links.reverse[t, s, b] * (scores[e, f] - of_target[f - 1])
    return total


@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_of_scores_is_the_slope_of_the_likelihood(seed):
    batch, keys, queries, random = batch_and_vectors(seed)
    found = list(random_links(batch, random))
    scores, links = trained._Scores(), trained._Links(batch)
    scores.fill(keys, queries, batch)
    for expected, source, target in found:
        links.add(expected, source * len(batch.target) + target[:, None], source, target)
    gradient = trained._score_gradient(scores, links, batch) @ queries
    for e, d in [(1, 0), (2, 3), (len(keys) - 1, 4)]:
        moved = [keys.astype(float), keys.astype(float)]
        for side, step in zip(moved, (1e-4, -1e-4), strict=True):
            side[e, d] += step
        high, low = (naive_likelihood(side, queries, batch, found) for side in moved)
        np.testing.assert_allclose(gradient[e, d], (high - low) / 2e-4, rtol=2e-3, atol=2e-3)
    assert not gradient[0].any()  # the padding has none


def test_weights_of_a_batch_estimate_sums_over_the_vocabulary():
    """A batch of all pairs holds every word, so its weights are close to the shares themselves."""
    everything = Batches(*SIDES, 400, np.random.default_rng(0)).take()
    share = SIDES[0].counts / SIDES[0].counts.sum()
    np.testing.assert_allclose(everything.source_share, share[everything.source], rtol=0.01)
    values = np.random.default_rng(1).normal(3, 1, len(share))
    some = Batches(*SIDES, 16, np.random.default_rng(0))
    estimates = [values[b.source] @ b.source_share for b in (some.take() for _ in range(300))]
    np.testing.assert_allclose(np.mean(estimates), values @ share, rtol=0.05)


def test_every_pair_is_in_one_batch_of_a_pass():
    batches = Batches(*SIDES, 40, np.random.default_rng(0))
    seen = [pair for _ in range(10) for stack in batches.take().stacks for pair in stack.pairs]
    assert sorted(seen) == list(range(400))


def test_every_pair_of_a_large_bitext_is_seen():
    for pairs in (1, 100, 2_500, 10_000, 30_000, 100_000, 225_000, 1_000_000, 30_000_000):
        batch, steps = VectorSettings().schedule(pairs)
        assert batch * steps >= pairs
        assert 64 <= batch <= 512
    assert VectorSettings(batch=10, steps=3).schedule(1_000_000) == (10, 3)


def test_adam_is_the_published_rule_for_each_row():
    """Rows are shared by words; a row counts only the steps in which it was used."""
    rows = lay_out(["", "cats", "catch", "dog"], (3,), 2)
    optimiser = trained._Adam(rows)
    mean, square, steps = np.zeros((8, 2)), np.zeros((8, 2)), np.zeros(8)
    expected, random = np.zeros((8, 2)), np.random.default_rng(0)
    b1, b2 = (float(beta) for beta in trained.BETAS)
    for words in ([1, 2], [3], [1, 2, 3], [2]):
        gradient = random.normal(size=(len(words), 2)).astype(np.float32)
        optimiser.ascend(np.array(words), gradient, 0.1)
        of_rows: dict[int, np.ndarray] = {}
        for word, slope in zip(words, gradient, strict=True):
            for row in rows.parts[word]:
                of_rows[int(row)] = of_rows.get(int(row), 0) + slope.astype(float)
        for row, slope in of_rows.items():
            steps[row] += 1
            mean[row] = b1 * mean[row] + (1 - b1) * slope
            square[row] = b2 * square[row] + (1 - b2) * slope**2
            root = np.sqrt(square[row] / (1 - b2 ** steps[row])) + 1e-6
            expected[row] += 0.1 * mean[row] / (1 - b1 ** steps[row]) / root
    np.testing.assert_allclose(rows.rows[: len(expected)], expected[: len(rows.rows)], rtol=1e-4, atol=1e-6)


def test_a_planted_language_is_found():
    """Each source word's best partner is its translation."""
    source, target = SIDES
    vectors = learn_vectors(source, target, VectorSettings(dimension=32, prefixes=()))
    found = vectors.source @ vectors.target[1:].T - vectors.target_norms[1:] / 2
    best = [target.words[1 + k] for k in found[1:].argmax(axis=1)]
    partners: dict[str, dict[str, int]] = {}
    for (s, t), links in zip(TOY.words, TOY.links, strict=True):
        for i, j in links:
            of_word = partners.setdefault(s[i], {})
            of_word[t[j]] = of_word.get(t[j], 0) + 1
    right = [max(partners[word], key=partners[word].get) for word in source.words[1:]]
    assert np.mean([a == b for a, b in zip(best, right, strict=True)]) > 0.95


def test_same_seed_same_bytes():
    source, target = encoded(TOY.words[:60])
    settings = VectorSettings(dimension=8, steps=30, seed=5)
    first, second = (learn_vectors(source, target, settings) for _ in range(2))
    assert first.source.tobytes() == second.source.tobytes()
    assert first.target_norms.tobytes() == second.target_norms.tobytes()
    np.testing.assert_array_equal(first.source_rows.rows, first.source_rows.rows.astype(np.float16))
    other = learn_vectors(source, target, VectorSettings(dimension=8, steps=30, seed=6))
    assert first.source.tobytes() != other.source.tobytes()


class Killed(Exception):
    """Stands for the end of the process."""


def killed_after(steps: int):
    def reached(done: int, total: int) -> None:
        if done == steps:
            raise Killed

    return reached


@pytest.mark.parametrize("steps", [1, 9, 24])  # without jumps, with them, within another pass
def test_training_goes_on_where_it_was_killed(tmp_path, monkeypatch, steps):
    """The same bytes as without a break: vectors, norms and all; the steps done are not done again."""
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    source, target = encoded(TOY.words[:100])
    settings = VectorSettings(dimension=8, steps=30, batch=16, seed=5)
    file = tmp_path / "state.npz"
    with pytest.raises(Killed):
        learn_vectors(source, target, settings, state=file, reached=killed_after(steps + 1))
    seen: list[int] = []
    again = learn_vectors(source, target, settings, state=file, reached=lambda done, _: seen.append(done))
    assert seen == list(range(steps, 31))
    once = learn_vectors(source, target, settings)
    for name in ("source", "target", "source_norms", "target_norms"):
        assert getattr(again, name).tobytes() == getattr(once, name).tobytes()
    assert again.source_rows.rows.tobytes() == once.source_rows.rows.tobytes()
    seen.clear()  # and what is finished is not learned again
    last = learn_vectors(source, target, settings, state=file, reached=lambda done, _: seen.append(done))
    assert seen == [30]
    assert last.source.tobytes() == once.source.tobytes()


def test_the_state_of_another_training_is_not_used(tmp_path):
    source, target = encoded(TOY.words[:60])
    settings = VectorSettings(dimension=8, steps=5, seed=5)
    file = tmp_path / "state.npz"
    fresh = learn_vectors(source, target, settings).source.tobytes()
    for others in (
        lambda: learn_vectors(source, target, VectorSettings(dimension=8, steps=5, seed=6), state=file),
        lambda: learn_vectors(*encoded(TOY.words[1:61]), settings, state=file),
        lambda: file.write_bytes(file.read_bytes()[:-200]),
        lambda: file.write_bytes(b""),
    ):
        others()
        assert learn_vectors(source, target, settings, state=file).source.tobytes() == fresh


def test_a_state_that_cannot_be_kept_is_said(tmp_path):
    source, target = encoded(TOY.words[:20])
    (tmp_path / "state.npz").mkdir()
    with pytest.raises(DataError, match=r"state\.npz: cannot keep the state of training"):
        learn_vectors(source, target, VectorSettings(dimension=4, steps=2), state=tmp_path / "state.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


def test_norms_make_probabilities():
    """sum over f of p(f) exp(k . q_f) / Z_e is 1, and the padding is zero."""
    random = np.random.default_rng(0)
    rows = [lay_out(["", *words], (2,), 4) for words in (["one", "two", "ones"], ["un", "deux"])]
    for side in rows:
        side.rows[:] = random.normal(size=side.rows.shape)
        side.rows[side.parts[0]] = 0
    shares = [np.float32([0, 0.5, 0.3, 0.2]), np.float32([0, 0.6, 0.4])]
    vectors = joined(*rows, *shares)
    t_given_s = np.exp(vectors.source @ vectors.target.T - vectors.source_norms[:, None]) * shares[1]
    np.testing.assert_allclose(t_given_s.sum(axis=1), 1, rtol=1e-5)
    s_given_t = np.exp(vectors.target @ vectors.source.T - vectors.target_norms[:, None]) * shares[0]
    np.testing.assert_allclose(s_given_t.sum(axis=1), 1, rtol=1e-5)
    assert not vectors.source[0].any()
    assert not vectors.source_norms[0]
    pairs = np.indices((4, 3)).reshape(2, -1)
    keys, queries = vectors.folded()
    folded = (keys @ queries.T).ravel()
    np.testing.assert_allclose(vectors.log_ratio(*pairs), folded, rtol=1e-4, atol=1e-5)


def test_unseen_words_are_sums_of_their_prefixes():
    source, target = encoded([(["walked", "home"], ["ging", "heim"]), (["walking"], ["gehend"])] * 4)
    vectors = learn_vectors(source, target, VectorSettings(dimension=4, steps=20))
    words = ["", "walks", "walked", "zzz"]
    again = vectors.numbered(words, target.words)
    rows = vectors.source_rows
    start = len(rows.forms[0])  # "walks" shares the first 3 and 4 letters with "walked"
    expected = rows.rows[start + rows.forms[1].index("wal")]
    start += len(rows.forms[1])
    expected = expected + rows.rows[start + rows.forms[2].index("walk")]
    np.testing.assert_allclose(again.source[1], expected, rtol=1e-6)
    old = source.words.index("walked")
    np.testing.assert_array_equal(again.source[2], vectors.source[old])
    np.testing.assert_allclose(again.source_norms[2], vectors.source_norms[old], rtol=1e-5)
    np.testing.assert_allclose(again.target, vectors.target)
    assert not again.source[3].any()


def test_long_vocabularies_are_scored_in_blocks(monkeypatch):
    random = np.random.default_rng(0)
    keys, queries = (
        random.normal(size=(23, 6)).astype(np.float32),
        random.normal(size=(9, 6)).astype(np.float32),
    )
    shares = np.full(9, 1 / 9, np.float32)
    whole = np.log(np.exp(keys @ queries.T) @ shares)
    others = np.log(np.full(23, 1 / 23) @ np.exp(keys @ queries.T))
    for cells in (40, 1 << 22):
        monkeypatch.setattr("nmtalign.models.attention_vectors.CELLS", cells)
        np.testing.assert_allclose(log_norms(keys, queries, shares), whole, rtol=1e-5)
        both = both_log_norms(keys, queries, np.full(23, 1 / 23, np.float32), shares)
        np.testing.assert_allclose(both[0], whole, rtol=1e-5)
        np.testing.assert_allclose(both[1], others, rtol=1e-5)


@pytest.mark.parametrize(
    "pairs",
    [
        [(["a"], ["b"])],
        [(["a"] * 30, ["b"] * 25)] * 3,
        [(["a"], ["b"] * 50), (["a"] * 50, ["b"]), ([], ["c"]), (["d"], [])],
        [([f"s{n}"], [f"t{n}"]) for n in range(40)],
        [(["long"] * 300, ["too"] * 300), (["a", "b"], ["c"])],
    ],
)
def test_odd_bitexts_give_finite_vectors(pairs):
    source, target = encoded(pairs)
    vectors = learn_vectors(source, target, VectorSettings(dimension=6, rate=0.04, decay=0.0))
    for array in (vectors.source, vectors.target, vectors.source_norms, vectors.target_norms):
        assert np.isfinite(array).all()
    pairs = np.indices((len(source.words), len(target.words))).reshape(2, -1)
    assert np.isfinite(vectors.log_ratio(*pairs)).all()


def test_nothing_to_learn_from_is_said():
    source, target = encoded([(["a"], []), ([], ["b"])])
    with pytest.raises(DataError, match="no sentence pair has words on both sides"):
        learn_vectors(source, target)


@pytest.mark.parametrize("wrong", [{"dimension": 0}, {"prefixes": (0,)}, {"rate": 0}, {"null": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match="found"):
        VectorSettings(**wrong)
