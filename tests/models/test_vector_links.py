"""Expected links of a stack by shared products, against the general forward-backward."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.models.corpus import encode
from nmtalign.models.hmm import Jumps, forward_backward, walk_by, widths
from nmtalign.models.vector_batches import Batches
from nmtalign.models.vector_links import Positions, diagonal_links


def stack_and_ratios(lengths, seed):
    """One stack of sentence pairs of given lengths, and random likelihood ratios of its words."""
    random = np.random.default_rng(seed)
    sides = [
        encode([[f"w{word}" for word in random.integers(9, size=n)] for n in side])
        for side in zip(*lengths, strict=True)
    ]
    (stack,) = Batches(*sides, 4 * len(lengths), random).take().stacks
    inside = (stack.source > 0) & (stack.target > 0)[:, None]
    ratios = [(np.exp(random.normal(0, 2, stack.shape)) * inside).astype(np.float32) for _ in range(2)]
    return sides, stack, ratios


def uneven(jumps: Jumps, seed: int) -> Jumps:
    """Jumps in which every width has its own weight."""
    tables = np.random.default_rng(seed).gamma(1, 1, jumps.tables.shape).astype(np.float32)
    return Jumps(tables, jumps.classes)


@pytest.mark.parametrize(
    "lengths", [[(1, 1)], [(4, 6)] * 3, [(3, 9), (12, 2), (5, 5), (1, 7), (60, 55)], [(2, 1), (1, 3)]]
)
def test_links_and_jumps_are_those_of_the_general_form(lengths):
    sides, stack, ratios = stack_and_ratios(lengths, seed=len(lengths))
    positions = Positions(*sides, 0.1)
    positions.jumps = [uneven(jumps, seed) for seed, jumps in enumerate(positions.jumps)]
    found = positions.expect(stack, *ratios, count=True)
    same = positions.expect(stack, *ratios, count=False)
    words = (stack.source, stack.source_lengths), (stack.target, stack.target_lengths)
    for k, (ratio, links) in enumerate(zip(ratios, found, strict=True)):
        states, (observed, _) = words[k], words[1 - k]
        walk = walk_by(positions.jumps[k], *states, 0.1)
        null = np.where(observed == 0, np.float32(1), np.float32(0.1))
        emission = ratio if k == 0 else ratio.transpose(1, 0, 2)
        slow = forward_backward(emission / null[:, None], walk, counted=slice(None))
        expected = slow.attention if k == 0 else slow.attention.transpose(1, 0, 2)
        np.testing.assert_allclose(links, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(links, same[k])
        place, value = widths(slow.jumps, *states, positions.jumps[k])
        counts = np.bincount(place, value, len(positions.counts[k]))
        cells = len(lengths) * (len(states[0]) + 1) ** 2
        np.testing.assert_allclose(positions.counts[k], counts, rtol=1e-3, atol=1e-3 * cells)
        np.testing.assert_allclose(positions.counts[k].sum(), counts.sum(), rtol=0.02, atol=0.01)


def test_links_of_either_direction_are_probabilities():
    sides, stack, ratios = stack_and_ratios([(3, 9), (12, 2), (5, 5)], seed=0)
    for found in (
        diagonal_links(stack, *ratios, 0.1),
        Positions(*sides, 0.1).expect(stack, *ratios, count=False),
    ):
        assert found.forward.sum(axis=1).max() <= 1 + 1e-5
        assert found.reverse.sum(axis=0).max() <= 1 + 1e-5
        outside = (stack.source == 0) | (stack.target == 0)[:, None]
        assert not found.forward[outside].any()
        assert not found.reverse[outside].any()


def test_an_update_goes_half_way_to_what_was_counted():
    sides, stack, ratios = stack_and_ratios([(6, 6)] * 5, seed=1)
    positions = Positions(*sides, 0.1)
    first = [jumps.tables.copy() for jumps in positions.jumps]
    positions.expect(stack, *ratios, count=True)
    assert all(counts.sum() > 1 for counts in positions.counts)
    positions.update()
    for tables, jumps, counts in zip(first, positions.jumps, positions.counts, strict=True):
        np.testing.assert_allclose(jumps.tables.sum(axis=1), 1, rtol=1e-4)
        assert (jumps.tables > 0.49 * tables).all()
        assert not counts.any()
