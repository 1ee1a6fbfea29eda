"""For CHANGELOG.md: count statements, files, commands, options, parameters, words of docs; long functions.

Run: python scripts/count_lines.py
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Container, Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nmtalign.cli.declare import COMMON, DESCRIBED_IN  # noqa: E402

PACKAGE = ROOT / "nmtalign"
SHOWN = 10  # longest functions that are printed
SHOWN_COMMANDS = ("align", "heatmap", "report")

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


def modules(package: Path = PACKAGE) -> dict[str, ast.Module]:
    """Return the syntax tree of each module, by its path."""
    paths = sorted(package.rglob("*.py"))
    return {str(path.relative_to(package)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def docstrings(tree: ast.AST) -> list[ast.stmt]:
    """Return the docstrings of a module, class or function, and of all inside."""
    return [node.body[0] for node in ast.walk(tree) if isinstance(node, Defined) and ast.get_docstring(node)]


def statements(tree: ast.AST) -> int:
    """Return the number of statements that are not docstrings.

    >>> statements(ast.parse("'Text.'\\nif x:\\n    y = 1\\n"))
    2
    """
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - len(docstrings(tree))


def functions(trees: dict[str, ast.Module]) -> Iterator[tuple[int, str]]:
    """Yield the lines of each function, without docstrings, and its place."""
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in docstrings(node))
                yield (node.end_lineno or node.lineno) - node.lineno + 1 - text, f"{name}:{node.lineno}"


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield all commands by their names, those of groups included."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from commands(command, f"{prefix}{name} ")
            elif command is not None:
                yield f"{prefix}{name}", command


def options(command: click.Command, *, without: Container[str] = (COMMON,)) -> int:
    """Return how many options a command has, those of some sections of its help not counted."""
    return sum(
        getattr(one, "section", "") not in without for one in command.params if isinstance(one, click.Option)
    )


def main() -> None:
    """Print the counts."""
    import nmtalign
    from nmtalign.cli.program import group

    trees = modules()
    named = dict(commands(group))
    public = [getattr(nmtalign, name) for name in nmtalign.__all__]
    pages = [page for page in (ROOT / "docs").rglob("*.md") if not page.is_symlink()]
    counts = {
        "statements": sum(map(statements, trees.values())),
        "files": len(trees),
        "commands": len(named),
        "options": sum(map(options, named.values())),
        **{
            f"options that {name} --help describes": options(named[name], without=DESCRIBED_IN)
            for name in SHOWN_COMMANDS
        },
        "parameters of public functions": sum(
            len(inspect.signature(one).parameters) for one in public if inspect.isfunction(one)
        ),
        "words of docs": sum(len(page.read_text(encoding="utf-8").split()) for page in pages),
    }
    for what, count in counts.items():
        print(f"{count:>8,}  {what}")
    print("\nthe longest functions, in lines:")
    for lines, place in sorted(functions(trees), reverse=True)[:SHOWN]:
        print(f"{lines:>8}  {place}")


if __name__ == "__main__":
    main()
