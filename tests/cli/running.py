"""The command line in this process, and the small files of its tests."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

import nmtalign
from nmtalign.cli import main


def bad_records_in(text):
    """Return the messages about bad records by the numbers of these records."""
    found = re.findall(r"^nmtalign: warning: bad record (\d+): (.*)$", text, re.MULTILINE)
    return {int(number): message for number, message in found}


def run(*arguments: object) -> int:
    """Run the command line in this process and return its exit code."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@cache
def import_all() -> None:
    """Import the whole program, so that processes that are forked from this one need not do so."""
    for module in pkgutil.walk_packages(nmtalign.__path__, "nmtalign."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def write(path: Path, lines: list[str]) -> Path:
    """Write lines into a file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]
