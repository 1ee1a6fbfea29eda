"""A bitext in parts elsewhere: the model of one machine, to rounding."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from nmtalign.corpus import word_pairs as pairs_module
from nmtalign.corpus.buckets import make_buckets
from nmtalign.positions.e_step import EStep
from nmtalign.positions.jumps import initial_jump_model
from nmtalign.training.distributed import DistributedBackend
from nmtalign.training.em import PRESET_HYPERPARAMETERS, Estimator, LocalBackend
from nmtalign.training.prior import Prior
from tests.aligner.toy_language import toy_bitext
from tests.corpus.encoded_sides import encode_side
from tests.training.test_em import random_emissions, text_of


class Elsewhere:
    """Processes of one: what is given to it and what comes back is copied, and what it sends is counted."""

    def __init__(self) -> None:
        self.sent = self.fetched = 0

    def keep(self, function, *given):
        data = pickle.dumps((function, [thing for thing in given if not isinstance(thing, Kept)]))
        self.sent += len(data)
        function, plain = pickle.loads(data)
        return Kept(function(*(t.thing for t in given if isinstance(t, Kept)), *plain))

    def in_order(self, submit, items):
        for item in items:
            data = pickle.dumps(submit(item).thing)
            self.fetched += len(data)
            yield item, pickle.loads(data)


class Kept:
    def __init__(self, thing) -> None:
        self.thing = thing


@pytest.fixture(scope="module")
def sides():
    toy = toy_bitext(600, vocabulary=300, longest=25)
    return tuple(encode_side([pair[side] for pair in toy.words]) for side in (0, 1))


@pytest.fixture(params=[False, True], ids=["complete", "pruned"])
def pruned(request, monkeypatch) -> bool:
    """Whether the bitext is so large that some word pairs share a number."""
    if request.param:
        monkeypatch.setattr(pairs_module, "MAX_UNSHARED_CELLS", 1000)
    return request.param


def spread(sides, parts: int) -> DistributedBackend:
    text = text_of(*sides)
    cells = -(-text.cells // parts)
    return DistributedBackend(text, processes=Elsewhere(), cells=cells)


@pytest.mark.parametrize("parts", [1, 3, 10**9])
def test_word_pairs_have_the_numbers_of_one_machine(sides, pruned, parts):
    held, away = LocalBackend(text_of(*sides), workers=1), spread(sides, min(parts, 10**6))
    assert len(away.parts) == min(parts, len(make_buckets(*sides)))
    assert away.word_pairs.complete is held.word_pairs.complete is not pruned
    np.testing.assert_array_equal(away.word_pairs.source, held.word_pairs.source)
    np.testing.assert_array_equal(away.word_pairs.target, held.word_pairs.target)


@pytest.mark.parametrize("kind", ["first", "mean", "product", "jumps", "agreeing jumps"])
def test_a_pass_gives_the_counts_of_one_machine(sides, pruned, kind):
    held, away = LocalBackend(text_of(*sides), workers=1), spread(sides, 4)
    words = None if kind == "first" else random_emissions(held.word_pairs, *sides)
    jumps = tuple(initial_jump_model(len(side.words) - 1, 5) for side in sides) if "jumps" in kind else None
    one = EStep(0.1, words, jumps, mean=kind == "mean", agree=kind == "agreeing jumps", jump_period=3)
    wanted, found = held.expected_counts(one), away.expected_counts(one)
    if pruned:
        wanted.links[1] = found.links[1] = 0
    for name, counts in wanted._asdict().items():
        np.testing.assert_allclose(getattr(found, name), counts, rtol=1e-12, atol=1e-12, err_msg=name)
    assert wanted.links.sum() > 10


@pytest.mark.parametrize("known", [None, Prior([("w1", "u2", 3.0), ("new", "neu", 1.0)])])
def test_what_is_learned_is_the_same_to_rounding(sides, pruned, known):
    sides = known.extend(*sides) if known else sides
    settings = PRESET_HYPERPARAMETERS["fast"]
    one = Estimator.prepare(text_of(*sides), settings, prior=known, workers=1).run()
    place = partial(DistributedBackend, processes=Elsewhere(), cells=20_000)
    other = Estimator.prepare(text_of(*sides), settings, prior=known, make_backend=place).run()
    for a, b in zip(one.lexicon.forms, other.lexicon.forms, strict=True):
        np.testing.assert_array_equal(a.keys, b.keys)
        np.testing.assert_allclose(a.counts, b.counts, rtol=1e-5, atol=1e-5)
    for a, b in zip(one.jump_models, other.jump_models, strict=True):
        np.testing.assert_allclose(a.tables, b.tables, rtol=1e-5, atol=1e-7)


def test_a_part_is_told_of_its_own_words_alone(sides):
    processes = Elsewhere()
    away = DistributedBackend(text_of(*sides), processes=processes, cells=20_000)
    own = sum(len(part.pairs) for part in away.parts)
    assert len(away.word_pairs) < own < len(away.parts) * len(away.word_pairs)
    processes.sent = processes.fetched = 0
    away.expected_counts(EStep(0.1, random_emissions(away.word_pairs, *sides)))
    rest = 2_000 + 24 * sum(len(part.source) + len(part.target) for part in away.parts)
    assert 4 * own < processes.sent < 4 * own + rest
    assert 8 * own < processes.fetched < 8 * own + rest
