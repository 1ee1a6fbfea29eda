"""The command line in this process, and the small files of its tests."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def fork(program: Callable[[], None]) -> int:
    """Call a function in a process that is forked from this one; return the number of the process.

    Its exit code is that of the SystemExit that the function raises, or 99 after another error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the child leaves alone
        child = os.fork()
    if child:
        return child
    code = 99
    try:
        program()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def exit_code(process: int) -> int:
    """Wait until a forked process has ended; return its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def file_size_limit(limit: int | None) -> Iterator[None]:
    """Let no file of this process grow beyond `limit` bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write(path: Path, lines: list[str]) -> Path:
    """Write lines into a file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]
