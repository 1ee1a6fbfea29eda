"""Teaching that is left off and taken up again: best weights and patience are kept, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nmtalign.models import checkpoint, distillation
from nmtalign.models.checkpoint import Checkpoint
from nmtalign.models.clues import ClueNetwork, initial_clues
from nmtalign.models.distillation import Course, distil
from nmtalign.models.opinion import Lesson
from tests.models.test_opinion import a_lesson


def lessons() -> list[Lesson]:
    told = a_lesson()
    random = np.random.default_rng(0)
    moved = [np.roll(told.forward, k, axis=0) for k in range(4)]
    return [told._replace(forward=moved[random.integers(4)]) for _ in range(6)]


def test_a_course_that_gets_worse_ends_the_same_wherever_it_is_interrupted(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(distillation, "PATIENCE", 1)
    network, course = ClueNetwork(initial_clues(0)), Course(rate=1.0, passes=(8, 8))
    told: list[str] = []
    once = distil(network, lessons(), seed=3, course=course, report=told.append)
    losses = [float(line.split()[-3]) for line in told]
    assert losses != sorted(losses, reverse=True)
    assert len(losses) < 8

    for stop in range(1, 5 * len(losses)):

        def interrupted(done: int, steps: int, stop: int = stop) -> None:
            if done == stop:
                raise KeyboardInterrupt

        kept = Checkpoint(tmp_path / f"{stop}.npz", "key")
        with pytest.raises(KeyboardInterrupt):
            distil(network, lessons(), seed=3, course=course, kept=kept, reached=interrupted)
        again = distil(network, lessons(), seed=3, course=course, kept=kept)
        for first, second in zip(once.weights, again.weights, strict=True):
            np.testing.assert_array_equal(first, second)
