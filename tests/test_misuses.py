"""Wrong names, types and choices are found by a type checker, in public calls and in option groups."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

FOLDER = Path(__file__).parent / "misuses"
MIN_MISUSES = 60  # in both files together


def lines_that_mypy_rejects() -> dict[str, set[int]]:
    """Return the numbers of the lines with an error, by the name of the file."""
    files = sorted(FOLDER.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--strict-equality", *map(str, files)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    rejected: dict[str, set[int]] = {file.name: set() for file in files}
    for name, number in re.findall(r"([\w.]+):(\d+): error:", done.stdout):
        rejected[name].add(int(number))
    return rejected


def marked_lines(path: Path) -> set[int]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# rejected")}


@pytest.fixture(scope="module")
def rejected() -> dict[str, set[int]]:
    return lines_that_mypy_rejects()


@pytest.mark.parametrize("name", ["public.py", "options.py"])
def test_mypy_rejects_the_misuses_and_accepts_the_uses(name, rejected):
    assert rejected[name] == marked_lines(FOLDER / name)


def test_there_are_enough_misuses():
    assert sum(len(marked_lines(path)) for path in FOLDER.glob("*.py")) >= MIN_MISUSES


def test_no_public_signature_has_options_without_names():
    """Public functions list their parameters; only the plug-in that draws results passes options on."""
    plug_in = {"drawing.py", "results.py", "style.py", "transformer.py"}
    for path in sorted((REPOSITORY / "nmtalign").rglob("*.py")):
        if path.name in plug_in:
            continue
        found = re.findall(r"\*\*(?:options|settings|more|common|reading): Any", path.read_text("utf-8"))
        assert not found, path
