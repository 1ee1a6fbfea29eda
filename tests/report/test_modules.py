"""The JavaScript of the report: what modules import, in which order they are joined, how lines look."""

from __future__ import annotations

import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from nmtalign.report import html

ASSETS = Path(html.__file__).parent / "assets"
MODULES = {path.relative_to(ASSETS).as_posix(): path.read_text("utf-8") for path in ASSETS.rglob("*.js")}
TEXTS = {path.name: path.read_text("utf-8") for path in ASSETS.rglob("*.*")}
STATEMENT = re.compile(r"^import\b([^;]*);\n", re.MULTILINE)
DEFINED = re.compile(r"^(export )?(?:const|let|class|(?:async )?function) (\w+)", re.MULTILINE)


def imports(name: str) -> dict[str, list[str]]:
    """Return the names that a module imports, by the module that they come from."""
    found = {}
    for statement in STATEMENT.findall(MODULES[name]):
        names, path = re.fullmatch(r'\s*(?:\{([\w\s,]+)\} from )?"(\.[\w./]+)"', statement).groups()
        target = (ASSETS / name).parent.joinpath(path).resolve().relative_to(ASSETS.resolve()).as_posix()
        assert target not in found
        found[target] = [name.strip() for name in (names or "").split(",") if name.strip()]
    return found


def exports(name: str) -> set[str]:
    return {word for export, word in DEFINED.findall(MODULES[name]) if export}


GRAPH = {name: imports(name) for name in MODULES}


def test_every_module_belongs_to_a_page() -> None:
    small = {html.CARDS_MODULE, html.UNPACKING_MODULE}
    assert set(html.module_order(html.TYPING_MODULE)) == set(MODULES) - small
    assert set(html.module_order(html.REPORT_MODULE)) == set(MODULES) - small - {html.TYPING_MODULE}
    assert html.module_order(html.UNPACKING_MODULE) == (html.UNPACKING_MODULE,)
    assert set(html.module_order(html.CARDS_MODULE)) < set(MODULES)


def test_modules_are_joined_behind_those_that_they_import() -> None:
    for first in (html.TYPING_MODULE, html.CARDS_MODULE):
        order = html.module_order(first)
        for name in order:
            assert all(order.index(other) < order.index(name) for other in GRAPH[name])
    list(TopologicalSorter(GRAPH).static_order())
    with pytest.raises(CycleError):
        list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())


@pytest.mark.parametrize("name", MODULES)
def test_what_is_imported_is_exported_and_used(name: str) -> None:
    body = STATEMENT.sub("", MODULES[name])
    for other, names in GRAPH[name].items():
        assert set(names) <= exports(other)
        assert [word for word in names if not re.search(rf"(?:(?<![\w.])|(?<=\.\.\.)){word}\b", body)] == []


def test_what_is_exported_is_imported_somewhere() -> None:
    exported = {(name, word) for name in MODULES for word in exports(name)}
    assert exported == {(name, word) for needed in GRAPH.values() for name in needed for word in needed[name]}


def test_no_two_modules_define_the_same_name() -> None:
    """They share one scope in the page."""
    counts = Counter(word for text in MODULES.values() for _, word in DEFINED.findall(text))
    assert [word for word, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("name", [html.REPORT_MODULE, html.TYPING_MODULE])
def test_the_joined_script_is_strict_and_holds_no_import_or_export(name: str) -> None:
    script = html._bundle_script(name)
    assert script.startswith('"use strict";\n(async () => {\n')
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    for module in html.module_order(name):
        for line in STATEMENT.sub("", MODULES[module]).splitlines():
            if not line.lstrip().startswith("//"):  # comments are for readers of the source
                assert line.removeprefix("export ").strip() in script
    assert not re.search(r"^\s*//", script, re.MULTILINE)


def test_lines_can_be_read() -> None:
    """Of scripts, style sheets and pages alike."""
    assert {"report.js", "report.css", "report.html"} < set(TEXTS)
    assert [
        (name, line) for name, text in TEXTS.items() for line in text.split("\n") if len(line) > 120
    ] == []
