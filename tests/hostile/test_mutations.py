"""Every command that reads a foreign format, given that format with wrong values: carried through or refused.

`formats.py` has a valid sample of each format and its mutations: each scalar becomes 0, -1, 2^31, 10^12,
10^300, NaN, "" or [], and the values, type and shape of each array change. Hashes are computed again. A
sample of the mutations is run, spread evenly; ``NMTALIGN_EXAMPLES=search`` runs all of them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nmtalign.rescoring import rescorer
from tests.hostile.bounded import Run, in_child, run
from tests.hostile.formats import FORMATS, Change, Format, save_vectors

MAX_MUTATIONS = None if os.environ.get("NMTALIGN_EXAMPLES") == "search" else 16  # of a format
GROUPS = [list(FORMATS)[start::6] for start in range(6)]  # of formats, each with a process of its own
OUTPUT = "out"  # the folder that commands write into


def sample(changes: list[Change]) -> list[Change]:
    """Return changes from all parts of a list, at most `MAX_MUTATIONS`."""
    if MAX_MUTATIONS is None or len(changes) <= MAX_MUTATIONS:
        return changes
    step = len(changes) / MAX_MUTATIONS
    return [changes[int(n * step)] for n in range(MAX_MUTATIONS)]


def input_files() -> dict[Path, bytes]:
    """Return the content of the files of the working directory, without what commands have written."""
    paths = (path for path in Path().rglob("*") if path.is_file() and OUTPUT not in path.parts)
    return {path: path.read_bytes() for path in paths}


def restore(good: dict[Path, bytes]) -> None:
    """Give all files their good content again."""
    for path in input_files():
        if path not in good:
            path.unlink()
    for path, content in good.items():
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def runs(format: Format) -> Iterator[tuple[str, Run]]:
    """Run each command on the good files, then one of the commands in turn on each mutation."""
    format.repair(Path())
    good = input_files()
    changes = sample(list(format.changes(Path())))
    restore(good)
    for command in format.commands:
        yield "unchanged", fresh_run(command)
    for number, (label, path, content) in enumerate(changes):
        path.write_bytes(content if isinstance(content, bytes) else content())
        format.repair(Path())
        yield label, fresh_run(format.commands[number % len(format.commands)])
        restore(good)


def runs_of_formats(names: list[str], folder: Path) -> Iterator[tuple[str, Run]]:
    """Run the commands of each format in its folder; the labels begin with its name."""
    for name in names:
        os.chdir(folder / name)
        for label, ended in runs(FORMATS[name]):
            yield f"{name}: {label}", ended


def fresh_run(command: str) -> Run:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    os.mkdir(OUTPUT)
    return run(command)


def fault_of(format: Format, label: str, found: Run) -> str:
    """Return what is wrong with how a run ended; an empty text if nothing is."""
    if label == "unchanged" and found.code:
        return "the good file is refused"
    if found.code not in (0, 3):
        return f"exit code {found.code}"
    name = rf"(?<!\w){re.escape(format.named)}(?!\w)"
    if found.code == 3 and not re.search(name, found.message):
        return "the message does not name the file"
    if "not foreseen" in found.message:
        return "not foreseen"
    return ""


@pytest.fixture
def few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train rescorers for a tenth of the time: how good they are does not matter here."""
    monkeypatch.setattr(rescorer, "GOLD_SCHEDULE", replace(rescorer.GOLD_SCHEDULE, max_epochs=6))


@pytest.mark.usefixtures("few_epochs")
@pytest.mark.parametrize("names", GROUPS, ids=" - ".join)
def test_wrong_values_are_carried_through_or_refused_by_name(names: list[str], tmp_path: Path):
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        if name == "dictionary":
            save_vectors(folder)
        FORMATS[name].make(folder)
        if name == "similarities":
            (folder / "p.tsv").write_text("the cat\tle chat\n")
    found = in_child(runs_of_formats(names, tmp_path), tmp_path)
    assert {label.partition(": ")[0] for label, _ in found} == set(names)
    faults = []
    for label, ended in found:
        name, _, change = label.partition(": ")
        if fault := fault_of(FORMATS[name], change, ended):
            faults.append(f"{fault}: {label}: {ended.command}: {ended.message.strip()[-200:]}")
    assert not faults, "\n".join(faults[:6])


def test_a_fault_can_be_seen():
    format = next(iter(FORMATS.values()))
    named = f"{format.named}: expected"
    assert not fault_of(format, "x", Run("c", 3, named, 0.1))
    assert fault_of(format, "x", Run("c", 3, "expected", 0.1)) == "the message does not name the file"
    assert fault_of(format, "x", Run("c", 1, named, 0.1)) == "exit code 1"
    assert fault_of(format, "unchanged", Run("c", 3, named, 0.1)) == "the good file is refused"
