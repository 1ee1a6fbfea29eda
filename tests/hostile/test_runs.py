"""Runs in shards as a state machine: killed, resumed, changed, damaged in any order, also two at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nmtalign.cli import main
from nmtalign.run import shards
from tests.cli.running import exit_code, fork, run
from tests.corpus.test_parallel import needs_fork
from tests.hostile.formats import of_few_parts

TEXTS = "the cat ||| le chat\n\na dog ||| un chien\n" * 3, "the dog ||| le chien\n" * 7
OPTIONS = ("--shard-pairs", "2"), ("--shard-pairs", "3"), ("--shard-pairs", "3", "--threshold", "0.9")
STEPS = "_Shard", "_write_json", "create_partial_file"  # of shards.py, and these:
CALLS = "replace", "fsync"
KILLED = 137


class Run:
    """A run in a process of its own that stops before a step of its work, until it is released or killed."""

    def __init__(self, arguments: list[str], stop: int) -> None:
        self._reading, told = os.pipe()
        released, self._writing = os.pipe()
        self._process = fork(lambda: self._work(arguments, stop, told, released))
        os.close(told)
        os.close(released)
        self.stopped = bool(os.read(self._reading, 1))

    def _work(self, arguments: list[str], stop: int, told: int, released: int) -> None:
        os.close(self._writing)
        steps = iter(range(stop, -1, -1))

        def step(whole: Callable[..., Any]) -> Callable[..., Any]:
            def stopping(*given: Any, **named: Any) -> Any:
                if next(steps, None) == 0:
                    os.write(told, b"1")
                    if not os.read(released, 1):
                        os._exit(KILLED)
                return whole(*given, **named)

            return stopping

        for owner, names in ((shards, STEPS), (os, CALLS)):
            for name in names:
                setattr(owner, name, step(getattr(owner, name)))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        main(arguments)

    def end(self, *, killed: bool) -> int:
        """Let the run go on, or kill it where it stopped; return its exit code."""
        if self.stopped and not killed:
            os.write(self._writing, b"1")
        os.close(self._writing)
        os.close(self._reading)
        return exit_code(self._process)


def command(folder: Path) -> list[str]:
    files = ["--pairs", str(folder / "pairs"), "-o", str(folder / "links")]
    return ["align", *files, "--model", str(folder.parent / "model"), "--workers", "1"]


class Shards(RuleBasedStateMachine):
    """One folder of shards; `mine` is text and options of the run that it holds."""

    place: Path  # with a model
    right: dict[tuple[str, tuple[str, ...]], bytes]  # what undisturbed runs without shards give

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.place))
        self.text, self.options = TEXTS[0], OPTIONS[0]
        self.mine: tuple[str, tuple[str, ...]] | None = None
        self.links: bytes | None = None
        self.change_text(self.text)

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def arguments(self, resume: bool) -> list[str]:
        shards = ["--out-shards", str(self.folder / "run"), *(["--resume"] if resume else [])]
        return [*command(self.folder), *self.options, *shards]

    def start(self, resume: bool, stop: int) -> Run:
        return Run(self.arguments(resume), stop)

    def expected(self, resume: bool) -> int:
        return 0 if self.mine is None or (resume and self.mine == (self.text, self.options)) else 2

    def check(self, code: int, expected: int) -> None:
        """Compare the exit code; links are whole and right, or as they were."""
        assert code == expected
        if self.mine is None and (self.folder / "run" / "manifest.json").exists():
            self.mine = self.text, self.options
        path = self.folder / "links"
        found = path.read_bytes() if path.exists() else None
        right = self.right[self.text, self.options]
        assert found == right if code == 0 else found in (self.links, right if code == KILLED else self.links)
        self.links = found

    @rule(text=st.sampled_from(TEXTS))
    def change_text(self, text: str) -> None:
        self.text = text
        (self.folder / "pairs").write_text(text, encoding="utf-8")

    @rule(options=st.sampled_from(OPTIONS))
    def change_options(self, options: tuple[str, ...]) -> None:
        self.options = options

    @rule(resume=st.booleans())
    def run_to_the_end(self, resume: bool) -> None:
        self.check(run(*self.arguments(resume)), self.expected(resume))

    @rule(resume=st.booleans(), stop=st.integers(0, 40))
    def run_killed(self, resume: bool, stop: int) -> None:
        expected, run = self.expected(resume), self.start(resume, stop)
        self.check(run.end(killed=True), KILLED if run.stopped else expected)

    @rule(stop=st.integers(0, 25), resume=st.booleans(), killed=st.booleans())
    def run_beside_another(self, stop: int, resume: bool, killed: bool) -> None:
        expected, first = self.expected(True), self.start(True, stop)
        if first.stopped:
            assert run(*self.arguments(resume)) == 2
        self.check(first.end(killed=killed), KILLED if first.stopped and killed else expected)

    @precondition(lambda self: self.mine is not None)
    @rule(choice=st.integers(0, 99), damage=st.sampled_from((b"", b"9", b"{}", b"\xff", None)))
    def run_after_damage(self, choice: int, damage: bytes | None) -> None:
        files = sorted((self.folder / "run").glob("0*"))
        if files:
            path = files[choice % len(files)]
            path.unlink() if damage is None else path.write_bytes(damage)
        self.run_to_the_end(resume=True)


@needs_fork
def test_no_order_of_events_gives_wrong_links(tmp_path: Path) -> None:
    of_few_parts().save(tmp_path / "model")
    Shards.place, Shards.right = tmp_path, {}
    (tmp_path / "alone").mkdir()
    for text, options in product(TEXTS, OPTIONS):
        (tmp_path / "alone" / "pairs").write_text(text, encoding="utf-8")
        assert run(*command(tmp_path / "alone"), *options[2:]) == 0
        Shards.right[text, options] = (tmp_path / "alone" / "links").read_bytes()
    steps = settings(max_examples=10, stateful_step_count=10, deadline=None, derandomize=True)
    run_state_machine_as_test(Shards, settings=steps)
