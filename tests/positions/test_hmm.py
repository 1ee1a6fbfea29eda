"""Forward-backward: against every alignment, against loops, and its laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.sides import EncodedSide
from nmtalign.positions.hmm import (
    DEFAULT_NULL,
    DirectionResult,
    forward_backward,
    hmm_posteriors,
    joint_probability,
    unfitted_hmm,
)
from nmtalign.positions.jumps import (
    MAX_JUMP,
    BucketTransitions,
    JumpModel,
    bucket_transitions,
    estimate_jump_model,
    initial_jump_model,
    jump_counts,
)
from nmtalign.positions.position_model import SoftmaxPositions
from tests.corpus.encoded_sides import encode_side
from tests.positions.naive_hmm import enumerate_alignments, naive_forward_backward, naive_transitions

SEEDS = st.integers(0, 10_000)
P0 = 0.06


def random_problem(seed: int, T: int, S: int, B: int = 1) -> list[np.ndarray]:
    """Emission (T, S, B), transition (S + 1, S, B), stop (S + 1, B), null (T, B), far from uniform."""
    rng = np.random.default_rng(seed)
    emission = np.exp(rng.normal(scale=2.0, size=(T, S, B)))
    moves = rng.dirichlet(np.full(S + 1, 0.5), size=(S + 1, B)).transpose(0, 2, 1)  # (S + 1, S + 1, B)
    null = P0 * np.exp(rng.normal(size=(T, B)))
    return [x.astype(np.float32) for x in ((1 - P0) * moves[:, :S], moves[:, S], null, emission)]


def look(transition, stop, null, emission, *, jumps: bool = True) -> DirectionResult:
    """Attend, with the log-likelihood of the words themselves instead of that over null."""
    found = forward_backward(emission / null[:, None], BucketTransitions(transition, stop), count_jumps=jumps)
    return found._replace(log_likelihood=found.log_likelihood + np.log(null.astype(float)).sum(axis=0))


def run(problem: list[np.ndarray]) -> DirectionResult:
    return look(*problem)


def column(problem: list[np.ndarray], b: int) -> list[list]:
    """One pair of a problem as lists of Python numbers: emission, transition, stop, null."""
    transition, stop, null, emission = (x[..., b].astype(float).tolist() for x in problem)
    return [emission, transition, stop, null]


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 5), st.integers(1, 4))
def test_equals_the_sum_over_all_alignments(seed: int, T: int, S: int):
    problem = random_problem(seed, T, S, B=2)
    found = run(problem)
    for b in range(2):
        attention, jumps, log_likelihood, null = enumerate_alignments(*column(problem, b))
        np.testing.assert_allclose(found.posterior[..., b], attention, atol=3e-5)
        np.testing.assert_allclose(found.expected_jumps[..., b], jumps, atol=1e-4)
        np.testing.assert_allclose(found.log_likelihood[b], log_likelihood, atol=1e-4)
        np.testing.assert_allclose(1 - found.posterior[..., b].sum(axis=1), null, atol=1e-4)


def test_long_sentences_equal_the_loops():
    """From 48 words on, steps are products of matrices."""
    problem = random_problem(8, 5, 60, B=2)
    found = run(problem)
    for b in range(2):
        attention, jumps, log_likelihood = naive_forward_backward(*column(problem, b))
        np.testing.assert_allclose(found.posterior[..., b], attention, atol=3e-5)
        np.testing.assert_allclose(found.expected_jumps[..., b], jumps, atol=1e-4)
        np.testing.assert_allclose(found.log_likelihood[b], log_likelihood, atol=1e-4)


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 5), st.integers(1, 4))
def test_the_loops_equal_the_sum_over_all_alignments(seed: int, T: int, S: int):
    problem = column(random_problem(seed, T, S), 0)
    for found, expected in zip(
        naive_forward_backward(*problem), enumerate_alignments(*problem)[:3], strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 20), st.integers(1, 20))
def test_posteriors_and_jumps_add_up(seed: int, T: int, S: int):
    found = run(random_problem(seed, T, S, B=4))
    linked = found.posterior.sum(axis=1)  # (T, B)
    assert found.posterior.min() >= 0
    assert linked.max() <= 1 + 1e-5
    # each sentence ends once
    np.testing.assert_allclose(found.expected_jumps[:, -1].sum(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose(
        found.expected_jumps[:, :-1].sum(axis=0), found.posterior.sum(axis=0), atol=1e-3
    )
    arrived = np.concatenate([np.ones((1, 4)), found.posterior.sum(axis=0)])  # (S + 1, B)
    np.testing.assert_allclose(
        found.expected_jumps.sum(axis=1), arrived, atol=1e-3
    )  # one leaves as often as one comes


def test_attention_does_not_depend_on_whether_jumps_are_counted():
    transition, stop, null, emission = random_problem(3, 7, 6, B=16)
    plain = look(transition, stop, null, emission, jumps=False)
    counted = look(transition, stop, null, emission)
    np.testing.assert_array_equal(plain.posterior, counted.posterior)
    np.testing.assert_array_equal(plain.log_likelihood, counted.log_likelihood)
    assert plain.expected_jumps is None


def jump_tables(seed: int, vocabulary: int, own: int) -> JumpModel:
    rng = np.random.default_rng(seed)
    tables = rng.gamma(0.5, size=(own + 2, 2 * MAX_JUMP + 1)) + 1e-4
    tables /= tables.sum(axis=1, keepdims=True)
    return JumpModel(tables.astype(np.float32), initial_jump_model(vocabulary, own).classes)


def bucket_of(lengths: list[tuple[int, int]], vocabulary: int, seed: int = 0):
    """One bucket of a bitext of random words; its ratios by word number (source, target)."""
    rng = np.random.default_rng(seed)
    sides = [
        encode_side([[f"w{k}" for k in rng.integers(0, vocabulary, pair[side])] for pair in lengths])
        for side in (0, 1)
    ]
    ratio = np.exp(rng.normal(scale=2, size=[len(side.words) for side in sides])).astype(np.float32)
    ratio[0] = ratio[:, 0] = 0
    return sides, ratio


def without_others(side: EncodedSide, numbers: np.ndarray) -> EncodedSide:
    """The side with all sentences empty but those of some numbers."""
    kept = np.isin(np.arange(len(side.lengths)), numbers)
    offsets = np.concatenate([[0], np.cumsum(side.lengths * kept)])
    return replace(side, tokens=side.tokens[np.repeat(kept, side.lengths)], offsets=offsets)


def attend(bucket, ratio: np.ndarray, jumps: JumpModel):
    emission = ratio[bucket.source[None], bucket.target[:, None]]  # (T, S, B)
    walk = bucket_transitions(jumps, bucket.source, bucket.source_lengths, P0)
    padded = bucket.target == 0
    null = np.where(padded, 1, np.float32(P0) * (1 + bucket.target % 3)).astype(np.float32)
    return look(walk.transition, walk.stop, null, emission)


def naive_attend(source: np.ndarray, target: np.ndarray, ratio: np.ndarray, jumps: JumpModel):
    classes = [0, *jumps.classes[source].tolist()]

    def weight(i: int, width: int) -> float:
        return float(jumps.tables[classes[i], min(max(width, -MAX_JUMP), MAX_JUMP) + MAX_JUMP])

    emission = ratio[np.ix_(source, target)].T.astype(float).tolist()
    null = (np.float32(P0) * (1 + target % 3)).astype(float).tolist()
    return naive_forward_backward(emission, *naive_transitions(weight, len(source), P0), null)


def test_padded_buckets_equal_each_pair_by_itself():
    rng = np.random.default_rng(4)
    lengths = [tuple(rng.integers(low, 21, 2).tolist()) for low in [1] * 15 + [17] * 15]
    (source, target), ratio = bucket_of(lengths, vocabulary=15)
    jumps, padded = jump_tables(0, len(source.words) - 1, own=5), 0
    for bucket in make_buckets(source, target):
        found = attend(bucket, ratio, jumps)
        for b in bucket.filled_columns:
            S, T = bucket.source_lengths[b], bucket.target_lengths[b]
            padded += bucket.shape[:2] != (T, S)
            expected = naive_attend(bucket.source[:S, b], bucket.target[:T, b], ratio, jumps)
            np.testing.assert_allclose(found.posterior[:T, :S, b], expected[0], atol=3e-5)
            np.testing.assert_allclose(
                found.expected_jumps[: S + 1, :S, b], np.array(expected[1])[:, :S], atol=2e-4
            )
            np.testing.assert_allclose(
                found.expected_jumps[: S + 1, -1, b], np.array(expected[1])[:, S], atol=2e-4
            )
            np.testing.assert_allclose(found.log_likelihood[b], expected[2], atol=1e-3)
            for beyond in (
                found.posterior[T:, :, b],
                found.posterior[:, S:, b],
                found.expected_jumps[S + 1 :, :, b],
            ):
                np.testing.assert_array_equal(beyond, 0)
    assert padded > 5


def test_the_company_of_a_pair_changes_no_bit_of_it():
    lengths = [(17, 17), (18, 17), (17, 18), (18, 18)] * 30 + [(9, 9), (10, 10)] * 60
    (source, target), ratio = bucket_of(lengths, vocabulary=30)
    jumps = jump_tables(1, len(source.words) - 1, own=8)
    found, ends = {}, {}
    for numbers in [np.arange(len(lengths)), *np.array_split(np.arange(len(lengths)), 7), np.array([0])]:
        for bucket in make_buckets(without_others(source, numbers), without_others(target, numbers)):
            posterior = attend(bucket, ratio, jumps)
            for b, n in enumerate(bucket.sections.tolist()):
                if n < 0:
                    continue
                S, T = bucket.source_lengths[b], bucket.target_lengths[b]
                own = (
                    posterior.posterior[:T, :S, b].tobytes(),
                    posterior.expected_jumps[: S + 1, :S, b].tobytes(),
                    float(posterior.log_likelihood[b]),
                )
                assert found.setdefault(n, own) == own
                end = posterior.expected_jumps[: S + 1, -1, b]
                np.testing.assert_allclose(end, ends.setdefault(n, end), rtol=0, atol=1e-20)


def test_long_sentences_keep_their_precision():
    """120 words with ratios from 1e-5 to 1e7: a product of them is far outside of float32."""
    rng = np.random.default_rng(5)
    transition, stop, null, emission = random_problem(5, 120, 12)
    emission = (10 ** rng.uniform(-5, 7, emission.shape)).astype(np.float32)
    found = run([transition, stop, null, emission])
    attention, jumps, log_likelihood = naive_forward_backward(*column([transition, stop, null, emission], 0))
    np.testing.assert_allclose(found.posterior[..., 0], attention, atol=1e-4)
    np.testing.assert_allclose(found.expected_jumps[..., 0], jumps, atol=2e-3)
    np.testing.assert_allclose(found.log_likelihood[0], log_likelihood, rtol=1e-5)


def test_a_neighbor_of_wild_odds_changes_no_bit():
    """Numbers are scaled down when the wildest pair of the bucket asks for it, by powers of two."""
    odds = np.exp(np.random.default_rng(6).normal(scale=2, size=(30, 9, 320))).astype(np.float32)
    transition, stop = random_problem(6, 30, 9, B=320)[:2]
    tame = forward_backward(odds, BucketTransitions(transition, stop), count_jumps=True)
    odds[:, :, 3] *= np.float32(1e20)
    wild = forward_backward(odds, BucketTransitions(transition, stop), count_jumps=True)
    rest = np.arange(320) != 3
    np.testing.assert_array_equal(wild.posterior[..., rest], tame.posterior[..., rest])
    np.testing.assert_array_equal(wild.expected_jumps[..., rest], tame.expected_jumps[..., rest])
    np.testing.assert_allclose(wild.log_likelihood[rest], tame.log_likelihood[rest], rtol=1e-12)
    np.testing.assert_allclose(wild.posterior[..., 3].sum(axis=1), 1, atol=1e-5)


def test_the_likelihood_never_falls():
    """Baum and Welch: jumps, lexicon and null re-estimated from what forward_backward expects."""
    rng = np.random.default_rng(7)
    T, S, B, V = 6, 5, 64, 8
    source, target = rng.integers(0, V, (S, B)), rng.integers(0, V, (T, B))
    moves = rng.dirichlet(np.ones(S + 1), S + 1)  # (S + 1, S + 1), last: the end
    lexicon = rng.dirichlet(np.ones(V), V)  # p(t | s)
    by_null = np.full(V, 1 / V)
    found = []
    for _ in range(25):
        transition = np.repeat(((1 - P0) * moves[:, :S])[:, :, None], B, axis=2).astype(np.float32)
        stop = np.repeat(moves[:, S, None], B, axis=1).astype(np.float32)
        emission = lexicon[source[None], target[:, None]].astype(np.float32)  # (T, S, B)
        null = (P0 * by_null[target]).astype(np.float32)
        posterior = look(transition, stop, null, emission)
        found.append(posterior.log_likelihood.sum())
        moves = posterior.expected_jumps.sum(axis=2, dtype=float)
        moves /= moves.sum(axis=1, keepdims=True)
        lexicon = np.full((V, V), 1e-12)
        np.add.at(lexicon, (source[None], target[:, None]), posterior.posterior)
        lexicon /= lexicon.sum(axis=1, keepdims=True)
        by_null = (
            np.bincount(target.ravel(), (1 - posterior.posterior.sum(axis=1)).clip(0).ravel(), V) + 1e-12
        )
        by_null /= by_null.sum()
    assert np.diff(found).min() > -0.01  # of some -700, in float32
    assert found[-1] > found[0] + 100


@settings(max_examples=25, deadline=None)
@example(382, [1])  # leaves less than 0.0003 of its table
@given(SEEDS, st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_transitions_are_the_jump_tables_within_the_sentence(seed: int, lengths: list[int]):
    (source, _), _ = bucket_of([(n, 1) for n in lengths], vocabulary=20, seed=seed)
    jumps = jump_tables(seed, len(source.words) - 1, own=4)
    S, B = max(lengths), len(lengths)
    words = np.zeros((S, B), dtype=np.int32)
    for b, n in enumerate(lengths):
        words[:n, b] = source.tokens[source.offsets[b] : source.offsets[b] + n]
    walk = bucket_transitions(jumps, words, np.array(lengths), P0)
    transition, stop = walk.transition, walk.stop
    for b, n in enumerate(lengths):
        classes = [0, *jumps.classes[words[:n, b]].tolist()]
        expected = naive_transitions(
            lambda i, width, row=classes: float(jumps.tables[row[i], width + MAX_JUMP]), n, P0
        )
        np.testing.assert_allclose(transition[: n + 1, :n, b], expected[0], rtol=1e-3)
        np.testing.assert_allclose(stop[: n + 1, b], expected[1], rtol=1e-3)
        assert not transition[n + 1 :, :, b].any()
        assert not stop[n + 1 :, b].any()


@pytest.mark.parametrize("S", [1, 2, 100, 400, MAX_JUMP - 1])
def test_from_every_word_one_goes_somewhere(S: int):
    walk = bucket_transitions(initial_jump_model(1, 3), np.ones((S, 2), np.int32), np.array([S, S]), P0)
    np.testing.assert_allclose(walk.transition.sum(axis=1) / (1 - P0) + walk.stop, 1, atol=1e-4)


def test_the_first_words_have_jumps_of_their_own():
    jumps = initial_jump_model(6, frequent=3)
    assert jumps.classes[1:].tolist() == [1, 2, 3, 4, 4, 4]
    np.testing.assert_allclose(jumps.tables.sum(axis=1), 1, rtol=1e-5)
    assert (jumps.tables.argmax(axis=1) == MAX_JUMP + 1).all()


def test_widths_of_expected_jumps():
    (source, target), ratio = bucket_of([(6, 5), (5, 6), (6, 6), (3, 2)], vocabulary=9)
    jumps = jump_tables(2, len(source.words) - 1, own=3)
    found, expected = np.zeros(jumps.tables.shape), np.zeros(jumps.tables.shape)
    for bucket in make_buckets(source, target):
        posterior = attend(bucket, ratio, jumps)
        place, count = jump_counts(posterior.expected_jumps, bucket.source, bucket.source_lengths, jumps)
        found += np.bincount(place, count, found.size).reshape(found.shape)
        for b in bucket.filled_columns:
            S = int(bucket.source_lengths[b])
            classes = [0, *jumps.classes[bucket.source[:S, b]].tolist()]
            for i in range(S + 1):
                for j in range(1, S + 1):
                    expected[classes[i], j - i + MAX_JUMP] += posterior.expected_jumps[i, j - 1, b]
                expected[classes[i], S + 1 - i + MAX_JUMP] += posterior.expected_jumps[i, -1, b]
    np.testing.assert_allclose(found, expected, atol=0.02)  # single jumps below 0.001 are left out


def test_far_jumps_are_spread_over_their_neighbors():
    old = initial_jump_model(5, frequent=3)
    counts = np.zeros(old.tables.shape)
    counts[2, MAX_JUMP + 20] = 70
    tables = estimate_jump_model(counts.ravel(), old).tables
    high = np.flatnonzero(tables[2] > 0.01) - MAX_JUMP
    np.testing.assert_array_equal(high, np.arange(18, 25))  # 9 to 12, 13 to 17, 18 to 24, ...
    np.testing.assert_allclose(tables[2, MAX_JUMP + high], 1 / 7, rtol=1e-3)


def test_jumps_back_are_spread_as_jumps_ahead():
    old = initial_jump_model(5, frequent=3)
    counts = np.random.default_rng(6).random(old.tables.shape)
    ahead = estimate_jump_model(counts, old).tables
    back = estimate_jump_model(np.flip(counts, axis=1), old).tables
    np.testing.assert_allclose(back, np.flip(ahead, axis=1), rtol=1e-6)


def test_own_jumps_are_mixed_with_those_of_all():
    old = initial_jump_model(5, frequent=3)
    counts = np.zeros(old.tables.shape)
    counts[1, MAX_JUMP + 1], counts[3, MAX_JUMP - 1] = 150, 50
    tables = estimate_jump_model(counts, old).tables
    np.testing.assert_allclose(tables[4, [MAX_JUMP + 1, MAX_JUMP - 1]], [0.75, 0.25], rtol=1e-3)  # never seen
    np.testing.assert_allclose(
        tables[3, [MAX_JUMP + 1, MAX_JUMP - 1]], [0.375, 0.625], rtol=1e-3
    )  # 50 / (50 + 50)
    np.testing.assert_allclose(tables.sum(axis=1), 1, atol=1e-4)
    assert tables.min() > 0


def test_one_table_for_all_words_is_a_table_for_each() -> None:
    random = np.random.default_rng(4)
    own = initial_jump_model(9, 0)
    own = JumpModel(random.random(own.tables.shape).astype(np.float32), own.classes)
    more = JumpModel(np.vstack([own.tables, own.tables[1:]]), np.where(np.arange(10) % 2, 2, own.classes))
    source = random.integers(1, 10, (6, 5)).astype(np.int32)
    lengths = np.array([6, 1, 4, 5, 2])
    source[np.arange(6)[:, None] >= lengths] = 0
    one, other = (bucket_transitions(jumps, source, lengths, 0.1) for jumps in (own, more))
    np.testing.assert_array_equal(one.transition, other.transition)
    np.testing.assert_array_equal(one.stop, other.stop)


@pytest.mark.parametrize("rounded", [1, 1 + 2.0**-23])
def test_certain_posteriors_of_either_direction_leave_the_joint_probability_below_1(rounded: float):
    """The sum of rounded posteriors may exceed 1; 1 - p counts as at least 1e-6."""
    p, q = np.array([0.5], np.float32), np.array([rounded], np.float32)
    expected = 1 / (1 + 1e-6**0.25)  # the odds of 0.5 are 1
    np.testing.assert_allclose(joint_probability(p, q), expected, rtol=1e-6)
    np.testing.assert_allclose(joint_probability(q, p), expected, rtol=1e-6)


@pytest.mark.parametrize("agree", [False, True])
def test_the_likelihood_of_both_directions_is_that_of_the_words_not_over_null(agree: bool):
    (source, target), ratio = bucket_of([(4, 3), (3, 5), (5, 5)], vocabulary=6)
    models = jump_tables(0, len(source.words) - 1, own=3), jump_tables(1, len(target.words) - 1, own=3)
    null = [1 + np.arange(len(side.words), dtype=np.float32) % 4 for side in (source, target)]
    for bucket in make_buckets(source, target):
        emission = ratio[bucket.source[None], bucket.target[:, None]]
        found = hmm_posteriors(bucket, emission, (null[0], null[1]), models, P0, agree=agree)
        for b in bucket.filled_columns:
            words = bucket.source[: bucket.source_lengths[b], b], bucket.target[: bucket.target_lengths[b], b]
            for way, model, (states, observed), of_null, table in (
                (found[0], models[0], words, null[1], ratio),
                (found[1], models[1], words[::-1], null[0], ratio.T),
            ):
                classes = [0, *model.classes[states].tolist()]
                walk = naive_transitions(
                    lambda i, width, row=classes, jumps=model: float(jumps.tables[row[i], width + MAX_JUMP]),
                    len(states),
                    P0,
                )
                cells = table[np.ix_(states, observed)].T.astype(float).tolist()
                expected = naive_forward_backward(cells, *walk, (P0 * of_null[observed]).tolist())[2]
                np.testing.assert_allclose(way.log_likelihood[b], expected, rtol=1e-4)


def test_only_a_hidden_markov_model_has_jumps_and_a_null_word():
    model = replace(unfitted_hmm(), null=0.25)
    assert (model.learned_jump_models, model.null_probability) == (model.jump_models, 0.25)
    assert unfitted_hmm().null_probability == DEFAULT_NULL
    assert (SoftmaxPositions().learned_jump_models, SoftmaxPositions().null_probability) == (None, None)
