"""Count lines of the package: per folder, with and without text; files per folder; lengths of functions.

Run: python scripts/count_lines.py
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "nmtalign"
SHORT, MOST, FILES = 20, 60, 10  # lines of a short function, of the longest one; files of a folder
SHOWN = 10  # longest functions that are printed

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


class Function(NamedTuple):
    """A function and its lines, from ``def`` to its end without the docstring."""

    lines: int
    place: str


def docstring_lines(node: ast.AST) -> set[int]:
    """Return the numbers of the lines that the docstring of a module, class or function takes."""
    if not isinstance(node, Defined) or ast.get_docstring(node) is None:
        return set()
    text = node.body[0]
    return set(range(text.lineno, (text.end_lineno or text.lineno) + 1))


def code_lines(source: str) -> int:
    """Return the number of lines that are neither docstring nor comment nor blank.

    >>> code_lines('"Text."\\n\\n# why\\nx = 1\\n')
    1
    """
    text = set().union(*(docstring_lines(node) for node in ast.walk(ast.parse(source))))
    lines = enumerate(source.split("\n"), 1)
    return sum(1 for n, line in lines if n not in text and line.strip() and line.strip()[0] != "#")


def functions(source: str, name: str) -> Iterator[Function]:
    """Yield the functions of a module, those inside functions and classes included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = set(range(node.lineno, (node.end_lineno or node.lineno) + 1)) - docstring_lines(node)
            yield Function(len(lines), f"{name}:{node.lineno} {node.name}")


def sources(package: Path = PACKAGE) -> dict[Path, str]:
    """Return the text of each module."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}


def measured(package: Path = PACKAGE) -> list[Function]:
    """Return all functions of the package, the longest first."""
    found = [
        function
        for path, source in sources(package).items()
        for function in functions(source, str(path.relative_to(package)))
    ]
    return sorted(found, reverse=True)


def share_of_short(found: list[Function]) -> float:
    """Return the share of functions of at most `SHORT` lines."""
    return sum(function.lines <= SHORT for function in found) / len(found)


def main() -> None:
    """Print the tables."""
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for path, source in sources().items():
        counts = len(source.split("\n")) - 1, code_lines(source), int(path.name != "__init__.py")
        for folder in (str(path.parent.relative_to(PACKAGE)), "in all"):
            rows[folder] = [a + b for a, b in zip(rows[folder], counts, strict=True)]
    print(f"{'folder':<16} {'lines':>7} {'code':>7} {'files':>6}")
    for folder, (lines, code, files) in sorted(rows.items(), key=lambda row: row[0] == "in all"):
        print(f"{folder:<16} {lines:>7,} {code:>7,} {files:>6}")
    found = measured()
    share = f"{100 * share_of_short(found):.1f} % within {SHORT} lines"
    print(f"\n{len(found):,} functions, {share}; the longest:")
    for function in found[:SHOWN]:
        print(f"{function.lines:>6}  {function.place}")


if __name__ == "__main__":
    main()
