"""For CONTRIBUTING.md: change the code in one place at a time; count the changes that tests notice.

    python -m scripts.mutate attention
    python -m scripts.mutate links --sample 300 --seed 2
    python -m scripts.mutate aligner --only 17 203       these again

A mutant is a comparison, an operator, a number, a condition, a statement or the order of two arguments that
is not what it was. Of each one that survives, file, line and change are printed with its number. The mutants
live in a copy of the repository; the tests of the area run on each until one fails, or the time is over.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parent.parent
AREAS = {  # code, and its tests, the quick ones first; its examples are run as well
    "attention": (["attention"], ["tests/attention"]),
    "links": (["links"], ["tests/links", "tests/decoding/test_batches.py", "tests/cli/test_posteriors.py"]),
    "applications": (["applications"], ["tests/applications"]),
    "aligner": (
        ["aligner", "positions", "training/em.py"],
        [
            "tests/positions",
            "tests/training",
            "tests/aligner",
            "tests/external",
            "tests/scorers",
            "tests/rescoring",
        ],
    ),
}
HEAVY = "scipy.sparse", "scipy.optimize", "pandas", "torch", "array_api_compat", "array_api_strict", "gensim"
SLOW = [
    "aligner/test_stress",
    "external/test_encoder",
    "external/test_translator",
]
MEMORY = 8 << 30  # of a mutant
QUIETLY = "-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"
SYMMETRIC = {"min", "max", "minimum", "maximum"}
OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}


class Mutant(NamedTuple):
    """One change: its file and line, what stood there, and a function that makes it and returns the new."""

    file: str
    line: int
    before: str
    make: Callable[[], str]


def changes(tree: ast.AST) -> Iterator[tuple[ast.AST, Callable[[], ast.AST]]]:
    """Yield for each change of a tree the node to show, and a function that makes it and returns the new."""
    for parent in code(tree):
        for name, value in ast.iter_fields(parent):
            for place, node in enumerate(value) if isinstance(value, list) else [(-1, value)]:
                sign = isinstance(node, ast.operator | ast.cmpop | ast.boolop)
                for new in instead_of(node):
                    change = partial(put, parent, name, place, new, parent if sign else new)
                    yield parent if sign else node, change


def put(parent: ast.AST, name: str, place: int, new: ast.AST, shown: ast.AST) -> ast.AST:
    """Put a node into a field of another, and return what is to be shown."""
    if place < 0:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[place] = new
    return shown


def code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run and that tests can be asked for: no types, decorators, messages."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "bases"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not is_left_out(child):
                    yield from code(child)


def is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) or getattr(node, "arg", "") == "strict"


def instead_of(node: object) -> Iterator[ast.AST]:
    """Yield what may stand in place of a node."""
    if isinstance(node, ast.operator | ast.cmpop | ast.boolop):
        yield from (kind() for kind in OPERATORS.get(type(node), ()))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.1)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand  # -x, not x, ~x
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield type(node)(**{**vars(node), "test": ast.UnaryOp(ast.Not(), node.test)})
    elif isinstance(node, ast.Call) and ordered(node):
        first, second, *others = node.args
        yield ast.Call(node.func, [second, first, *others], node.keywords)
    elif is_statement(node):
        yield ast.Pass()
    elif isinstance(node, ast.Continue):
        yield ast.Break()


def is_statement(node: object) -> bool:
    """Say whether a node is a statement that may be left out: a call, a sum taken further, an error."""
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return call or isinstance(node, ast.AugAssign | ast.Raise)


def ordered(call: ast.Call) -> bool:
    """Say whether a call has two arguments or more whose order matters."""
    first = [ast.unparse(argument) for argument in call.args[:2]]
    plain = len(set(first)) == 2 and not any(argument.startswith("*") for argument in first)
    return plain and ast.unparse(call.func).rpartition(".")[2] not in SYMMETRIC


def mutants(root: Path, sources: list[str]) -> list[Mutant]:
    """Return all mutants of some modules and folders of the package."""
    found = []
    for source in sources:
        path = root / "nmtalign" / source
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            for number, (node, _) in enumerate(changes(ast.parse(file.read_text(encoding="utf-8")))):
                name, line = str(file.relative_to(root)), getattr(node, "lineno", 0)
                found.append(Mutant(name, line, first_line(node), partial(make, file, number)))
    return found


def make(file: Path, number: int) -> str:
    """Write a file with one of its changes, and return what is new."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    new = list(changes(tree))[number][1]()
    file.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    return first_line(new)


def first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


class Profile:
    """A pytest plugin: hypothesis tries few examples, and looks for no smaller one."""

    def pytest_sessionstart(self) -> None:
        phases = Phase.explicit, Phase.generate
        settings.register_profile(
            "mutants", deadline=None, database=None, derandomize=True, max_examples=25, phases=phases
        )
        settings.load_profile("mutants")


def passes(root: Path, tests: list[str], limit: float, *, compiled: bool = False) -> bool:
    """Run tests in a fork of this process, which has imported what is slow to import."""
    child = os.fork()
    if not child:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        os.chdir(root)
        sys.path.insert(0, str(root))
        sys.dont_write_bytecode = not compiled
        os._exit(int(pytest.main([*QUIETLY, *tests], plugins=[Profile()])))
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return os.waitpid(child, 0)[1] == 0
    except TimeoutError:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _too_late(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser(description="Test the tests of an area.")
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("--sample", type=int, default=150, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mutants")
    given = parser.parse_args()
    sources, tests = AREAS[given.area]
    tests += [f"nmtalign/{source}" for source in sources] + [f"--deselect=tests/{slow}.py" for slow in SLOW]
    for name in HEAVY:
        importlib.import_module(name)
    signal.signal(signal.SIGALRM, _too_late)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        shutil.copytree(ROOT, root, symlinks=True, ignore=shutil.ignore_patterns(".*", "__pycache__", "out"))
        begin = time.monotonic()
        if not passes(root, tests, 900, compiled=True):
            sys.exit("the tests fail before anything is changed")
        limit = 10 + 3 * (time.monotonic() - begin)
        found = mutants(root, sources)
        numbers = given.only or random.Random(given.seed).sample(
            range(len(found)), min(given.sample, len(found))
        )
        survived = [
            number for number in sorted(numbers) if survives(number, found[number], root, tests, limit)
        ]
    share = 100 - 100 * len(survived) / len(numbers)
    count = f"{len(numbers)} of {len(found)} mutants, {len(survived)} survived"
    print(f"{given.area}: {count}, {share:.1f} % killed")


def survives(number: int, mutant: Mutant, root: Path, tests: list[str], limit: float) -> bool:
    """Say, and print, whether the tests pass with a mutant."""
    path = root / mutant.file
    text, times = path.read_bytes(), path.stat()
    line = path.read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    after = mutant.make()
    alive = passes(root, tests, limit)
    if alive:
        print(f"{number} {mutant.file}:{mutant.line}: {line}\n    {mutant.before}  ->  {after}", flush=True)
    path.write_bytes(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as its compiled file has it
    return alive


if __name__ == "__main__":
    main()
