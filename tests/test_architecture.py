"""The layers of ARCHITECTURE.md hold: imports go down, heavy packages load late, there are no cycles.

The lowest versions that are tried are those that pyproject.toml promises.
"""

from __future__ import annotations

import ast
import gc
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import nmtalign

PACKAGE = Path(nmtalign.__file__).parent
REPOSITORY = Path(__file__).resolve().parent.parent
LAYERS = {
    "cli": 9,
    "applications": 8,
    "report": 8,
    "run": 8,
    "checks": 7,
    "aligner": 6,
    "training": 5,
    "rescoring": 5,
    "decoding": 5,
    "external": 5,
    "scorers": 4,
    "positions": 4,
    "corpus": 3,
    "vectors": 2,
    "dictionaries": 2,
    "attention": 1,
    "text": 1,
    "links": 1,
    "arrays": 0,
    "blas": 0,
    "declarations": 0,
    "display": 0,
    "errors": 0,
    "files": 0,
    "names": 0,
    "progress": 0,
    "results": 0,
    "settings": 0,
    "state": 0,
    "validation": 0,
    "versions": 0,
}
# sideways in one layer: emissions and the E-step, which positions read and scorers are fitted by; the choice
# of links from the matrices of other programs
ARROWS = {("scorers", "positions"), ("external", "decoding")}
# Results list, save and draw themselves: their methods import these when they are called, and no other
# import goes up
RESULTS = "nmtalign.results"
OF_RESULTS = {
    "nmtalign.decoding.batches",
    "nmtalign.report.drawing",
    "nmtalign.report.html",
    "nmtalign.report.style",
    "nmtalign.report.tables",
}
MOST_FILES = 15  # of a folder, besides __init__.py
LIGHT = {"numpy", "click", "nmtalign"}  # all that may be imported at the top of a module besides Python's own
# modules that draw: they import matplotlib, and others import them when something is drawn
PICTURES = {f"nmtalign.report.{name}" for name in ("style", "curves", "heatmap", "card_picture", "drawing")}
OF_PICTURES = {"matplotlib", "fontTools"}


def lettered_axes() -> set[str]:
    """Return the letters of the table of axes in CONTRIBUTING.md."""
    table = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").split("| letter | axis |")[1]
    rows = re.findall(r"^\| ([A-Z](?:, [A-Z])*) \|", table, re.MULTILINE)
    return set(", ".join(rows).split(", "))


def test_axes_have_the_letters_of_the_table():
    letters = lettered_axes()
    assert {"B", "T", "S", "D"} <= letters
    others = {"spaces.py": {"W", "X", "Y"}}  # the matrices of a formula
    for path in sorted(PACKAGE.rglob("*.py")):
        named = re.search(
            r"^Axes:(.*?)(?:\n\n|\"\"\")", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        if named is None or path.parent.name == "attention":
            continue
        unknown = set(re.findall(r"\b[B-Z]\b", named[1])) - letters - others.get(path.name, set())
        assert not unknown, path


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


PATHS = {name_of(path): path for path in PACKAGE.rglob("*.py")}


@cache
def module_tree(name: str) -> ast.Module:
    """Return the tree of a module, which a process parses once."""
    gc.disable()  # or it visits all nodes again and again
    try:
        return ast.parse(PATHS[name].read_text(encoding="utf-8"))
    finally:
        gc.enable()


def modules() -> dict[str, ast.Module]:
    """Return the trees of all modules."""
    return {name: module_tree(name) for name in PATHS}


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes of a tree, which are found once."""
    return list(ast.walk(tree))


def is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def imports(node: ast.AST, *, inside_functions: bool = True) -> Iterator[str]:
    """Yield the modules that a module imports when it runs; imports for type checkers alone are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"relative import of {child.module}"
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield whole if whole in PATHS else str(child.module)
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case) and (
            inside_functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            yield from imports(child, inside_functions=inside_functions)


def folder(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def named(node: ast.AST) -> set[str]:
    """Return the modules whose names stand in a module as strings: they can be imported by them."""
    strings = {child.value for child in nodes(node) if isinstance(child, ast.Constant)}
    return strings & PATHS.keys()


def goes_up(module: str, imported: str) -> bool:
    """Return whether an import leaves the folder for no lower layer; layer 0 may import within itself."""
    here, there = folder(module), folder(imported)
    if module == RESULTS and imported in OF_RESULTS:
        return False
    if here == there or there == "" or (here, there) in ARROWS:
        return False
    return LAYERS[there] > LAYERS[here] or LAYERS[there] == LAYERS[here] > 0


def test_imports_go_down():
    upward = []
    for module, tree in modules().items():
        if folder(module) in ("", "__main__"):
            continue
        found = {name for name in imports(tree) if name.startswith("nmtalign")}
        upward += [(module, name) for name in found | named(tree) if goes_up(module, name)]
    assert upward == []


def test_the_rule_can_fail():
    assert goes_up("nmtalign.text.bitext", "nmtalign.links.alignments")
    assert goes_up("nmtalign.scorers.vector_scores", "nmtalign.run.stream")
    assert goes_up("nmtalign.positions.hmm", "nmtalign.scorers.vector_scores")
    assert goes_up("nmtalign.links.alignments", "nmtalign.cli")
    assert goes_up("nmtalign.validation", "nmtalign.report.drawing")
    assert goes_up("nmtalign.results", "nmtalign.report.heatmap")
    assert not goes_up("nmtalign.scorers.vector_scores", "nmtalign.attention.scores")
    assert not goes_up("nmtalign.scorers.vector_scores", "nmtalign.corpus.buckets")
    assert not goes_up("nmtalign.validation", "nmtalign.files")
    assert named(ast.parse("f('nmtalign.validation')")) == {"nmtalign.validation"}
    probe = ast.parse("def f():\n    import matplotlib\nif x:\n    import pandas")
    assert list(imports(probe, inside_functions=False)) == ["pandas"]
    assert list(imports(probe)) == ["matplotlib", "pandas"]


def test_heavy_packages_are_imported_in_functions():
    heavy, pictures = [], []
    for module, tree in modules().items():
        found = set(imports(tree, inside_functions=False))
        roots = {name.split(".")[0] for name in found}
        allowed = LIGHT | OF_PICTURES if module in PICTURES else LIGHT
        heavy += [(module, root) for root in roots - allowed - sys.stdlib_module_names]
        if module not in PICTURES:
            pictures += [(module, name) for name in found & PICTURES]
    assert (heavy, pictures) == ([], [])


def test_results_import_their_drawing_when_they_draw():
    tree = module_tree(RESULTS)
    assert set(imports(tree)) >= OF_RESULTS
    assert not set(imports(tree, inside_functions=False)) & OF_RESULTS


def in_order(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """Return modules so that each stands behind those it imports; a CycleError names a cycle."""
    return tuple(TopologicalSorter(graph).static_order())


def test_there_are_no_cycles():
    """Not even by imports that wait inside of functions, but for those by which results draw themselves."""
    graph = {
        module: {name for name in imports(tree) if name in PATHS and name != module}
        for module, tree in modules().items()
        if not module.startswith("nmtalign.cli")  # commands use the public interface
    }
    graph[RESULTS] -= OF_RESULTS
    in_order(graph)
    with pytest.raises(CycleError):
        in_order({"learned": {"teaching"}, "teaching": {"learned"}})


FILES = [path for path in PACKAGE.rglob("*.*") if path.suffix in (".py", ".js", ".css", ".html")]
FOLDERS = sorted({path.parent.relative_to(PACKAGE).as_posix() for path in FILES})


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_has_too_many_files(folder):
    files = [path for path in FILES if path.parent == PACKAGE / folder and path.name != "__init__.py"]
    assert len(files) <= MOST_FILES


def test_the_lowest_versions_are_those_promised():
    """What .ci/run tries is what ``pip install 'nmtalign[...]'`` may bring, extras for users included."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    untried = "test", "docs", "fuzz", "transformers"  # torch of such age takes gigabytes
    extras = [b for name, b in project["optional-dependencies"].items() if name not in untried]
    promised = {bound for bounds in (project["dependencies"], *extras) for bound in bounds}
    lines = (REPOSITORY / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tried = [line for line in lines if not line.startswith("#")]
    assert sorted(tried) == sorted(bound.replace(">=", "==").partition(",")[0] for bound in promised)


LONGEST_FUNCTION, SHORT = 70, 20
ASK_NOTHING = ("aligner", "rescoring", "batch", "report", "cli")
DOORS = {  # these take what users give, which may be one of several kinds
    "nmtalign.aligner.opening",
    "nmtalign.cli.program",
    "nmtalign.report.tables",
}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    yield from (node for node in nodes(tree) if isinstance(node, ast.FunctionDef))


def lines_of_code(function: ast.FunctionDef) -> int:
    """Return how many lines the body of a function has besides its docstring; parameters are free."""
    assert function.end_lineno is not None
    text = ast.get_docstring(function, clean=False)
    lines = function.end_lineno - function.body[0].lineno + 1
    return lines - (0 if text is None else text.count("\n") + 1)


def is_isinstance(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "isinstance"


def asked_classes(tree: ast.AST) -> list[str]:
    """Return the classes of the package that a module asks values for by ``isinstance``."""
    froms = [node for node in nodes(tree) if isinstance(node, ast.ImportFrom)]
    own = {name.name for node in froms if (node.module or "").startswith("nmtalign") for name in node.names}
    own |= {node.name for node in nodes(tree) if isinstance(node, ast.ClassDef)}
    calls = [node for node in nodes(tree) if isinstance(node, ast.Call) and is_isinstance(node.func)]
    names = [node.id for call in calls for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)]
    return [name for name in names if name in own]


def test_functions_are_short():
    long = [
        (module, function.name)
        for module, tree in modules().items()
        for function in functions(tree)
        if lines_of_code(function) > LONGEST_FUNCTION
    ]
    assert long == []


def test_nine_functions_in_ten_are_short():
    sizes = [lines_of_code(function) for tree in modules().values() for function in functions(tree)]
    assert sum(size <= SHORT for size in sizes) >= 0.9 * len(sizes)


@pytest.mark.parametrize("folder", ASK_NOTHING)
def test_nothing_asks_of_which_own_class_a_value_is(folder):
    """A new scorer, position model or extraction is added in one file."""
    names = [name for name in PATHS if name.startswith(f"nmtalign.{folder}.") and name not in DOORS]
    assert {name: asked_classes(module_tree(name)) for name in names} == {name: [] for name in names}


def possessive_groups(tree: ast.AST) -> list[str]:
    """Return the strings with a group such as ``(?:ab)*+``, of which Python 3.11.4 also matches a part."""
    texts = (node.value for node in nodes(tree) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and re.search(r"\)(?:[*+?]|\{[\d,]+\})\+", text)]


def test_no_pattern_has_a_possessive_group():
    assert [text for tree in modules().values() for text in possessive_groups(tree)] == []


def test_these_rules_can_fail():
    patterns = "(?:ab)*+", "(a){1,2}+", "(?>(?:a++b)*)"
    assert possessive_groups(ast.parse(repr(patterns))) == ["(?:ab)*+", "(a){1,2}+"]
    head = "from nmtalign.links.alignments import Alignment\n"
    tree = ast.parse(f"{head}def f(a, b, *, c):\n    'Doc.'\n    return isinstance(a, int | Alignment)")
    (function,) = functions(tree)
    assert lines_of_code(function) == 1
    assert asked_classes(tree) == ["Alignment"]


MOST_MODULES = 72  # of which a function runs when one pair is aligned, or a model is learned
COUNT = """
import sys
from nmtalign.cli import main
ran = set()
def note(frame, event, arg):
    code, outer = frame.f_code, frame
    if event == "call" and "/nmtalign/" in code.co_filename and code.co_flags & 1:  # no body of a class
        while outer is not None and outer.f_code.co_name != "<module>":
            outer = outer.f_back
        if outer.f_globals["__name__"] == "__main__":  # not while a module is imported
            ran.add(code.co_filename)
sys.setprofile(note)
try: main(sys.argv[1:])
except SystemExit: sys.setprofile(None)
print(len(ran))
"""


@pytest.mark.parametrize("command", ["align -o out --model en_fr_model", "train -o out"])
def test_a_command_of_one_pair_runs_few_modules(command, tmp_path):
    for name, line in (("en", "the black cat"), ("fr", "le chat noir")):
        (tmp_path / name).write_text(f"{line}\n")
    run = [sys.executable, "-c", COUNT, *command.split(), "en", "fr"]
    done = subprocess.run(run, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert "align" not in command or (tmp_path / "out").read_text() == "0-0 1-2 2-1\n"
    assert 20 < int(done.stdout) <= MOST_MODULES


def test_scripts_import_what_is_there(monkeypatch):
    scripts = REPOSITORY / "scripts"
    monkeypatch.syspath_prepend(str(scripts))
    missing = []
    for path in sorted(scripts.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            ours = isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0]
            if ours == "nmtalign" or (scripts / f"{ours}.py").exists():
                module = importlib.import_module(node.module)
                missing += [(path.name, a.name) for a in node.names if not hasattr(module, a.name)]
    assert not missing
