"""Teach the network of a second opinion what lessons say, in steps that can be left off and taken up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from nmtalign.models.adam import Adam
from nmtalign.models.checkpoint import Arrays, Checkpoint
from nmtalign.models.opinion import Lesson, Network, loss_and_gradient

LAST_RATE = 0.05  # last learning rate, as a share of the first
HELD_OUT = 20  # one batch in so many is kept to see when to stop
PATIENCE = 2  # passes without progress before training stops


class Course(NamedTuple):
    """How a network learns.

    Attributes
    ----------
    rate : float
        Learning rate of the first step; it falls linearly.
    pairs : int
        Most pairs to learn from.
    cells : int
        Cells that are seen in all.
    passes : (int, int)
        Fewest and most passes.
    """

    rate: float = 0.01
    pairs: int = 10_000
    cells: int = 3_000_000
    passes: tuple[int, int] = (2, 10)


class _Pupil:
    """A network that learns, with its optimiser and the best it has been."""

    def __init__(self, network: Network, everything: list[Lesson], seed: int, course: Course) -> None:
        self.random = np.random.default_rng(seed)
        order = self.random.permutation(len(everything))
        self.held = [everything[k] for k in order[::HELD_OUT]]
        self.lessons = [everything[k] for place, k in enumerate(order) if place % HELD_OUT] or self.held
        cells = sum(lesson.forward.size for lesson in self.lessons)
        self.passes: int = min(max(course.cells // max(cells, 1), course.passes[0]), course.passes[1])
        self.rate = course.rate
        self.network = network.replace([w.copy() for w in network.weights])
        self.adam = Adam(self.network.weights)
        self.best = [w.copy() for w in network.weights]
        self.least, self.waited = np.inf, 0

    @property
    def steps(self) -> int:
        """Steps of all passes."""
        return self.passes * len(self.lessons)

    @property
    def state(self) -> Arrays:
        """All that a step or the end of a pass changes, but for the random numbers, which are drawn again."""
        found: Arrays = {"done": np.array(self.adam.steps)}
        found |= {"least": np.array(self.least), "waited": np.array(self.waited)}
        parts = self.network.weights, self.best, self.adam.means, self.adam.squares
        for name, arrays in zip(("weights", "best", "means", "squares"), parts, strict=True):
            found |= {f"{name}_{k}": array for k, array in enumerate(arrays)}
        return found

    def restore(self, state: Arrays) -> None:
        """Go on from a state of the same training; only before the first step."""
        for name, own in self.state.items():
            if own.ndim:
                own[...] = state[name]
        self.adam.steps = int(state["done"])
        self.least, self.waited = float(state["least"]), int(state["waited"])

    def step(self, lesson: Lesson) -> None:
        """Take one step down the gradient."""
        _, gradient = loss_and_gradient(self.network, lesson)
        self.adam.descend(gradient, self.rate * (1 - (1 - LAST_RATE) * self.adam.steps / self.steps))

    def look(self) -> float:
        """Look at the held-out lessons at the end of a pass; return their loss."""
        loss = float(np.mean([loss_and_gradient(self.network, lesson)[0] for lesson in self.held]))
        self.waited = 0 if loss < self.least else self.waited + 1
        if loss < self.least:
            self.best, self.least = [w.copy() for w in self.network.weights], loss
        return loss


def distil(
    network: Network,
    taught: Iterable[Lesson],
    *,
    seed: int,
    course: Course | None = None,
    report: Callable[[str], None] | None = None,
    reached: Callable[[int, int], None] | None = None,
    kept: Checkpoint | None = None,
) -> Network:
    """Teach a network with Adam, until held-out lessons are told no better.

    Parameters
    ----------
    network : Network
        With its first weights.
    taught : iterable of Lesson
        Held in memory.
    seed : int
        Of the order of the lessons.
    course : Course, optional
    report : callable, optional
        Called with a line of text after each pass.
    reached : callable, optional
        Called with the number of steps done and of all steps, if they are all taken: first of all, and after
        each step.
    kept : Checkpoint, optional
        Keeps the state of training; the same call goes on from there and returns the same weights as if it
        had never stopped.

    References
    ----------
    Hinton, Vinyals and Dean (2015), "Distilling the Knowledge in a Neural Network".
    """
    pupil = _Pupil(network, list(taught), seed, course or Course())
    report, reached = report or (lambda line: None), reached or (lambda done, steps: None)
    if kept is not None and (found := kept.read()) is not None:
        pupil.restore(found)
    reached(pupil.adam.steps, pupil.steps)
    first = pupil.adam.steps
    for number in range(pupil.passes):
        order = pupil.random.permutation(len(pupil.lessons))
        end = (number + 1) * len(order)
        if first >= end:  # the state was kept after the look at the end of this pass
            continue
        if pupil.waited == PATIENCE:
            break
        for k in order[max(first - number * len(order), 0) :].tolist():
            pupil.step(pupil.lessons[k])
            reached(pupil.adam.steps, pupil.steps)
            if kept is not None and pupil.adam.steps < end:
                kept.write_if_due(lambda: pupil.state)
        loss = pupil.look()
        report(f"second opinion: pass {number + 1} of {pupil.passes}, held-out loss {loss:.4f} a word")
        if kept is not None:
            kept.write_if_due(lambda: pupil.state)
    return network.replace(pupil.best)
