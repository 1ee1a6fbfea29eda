"""What pages, docstrings and comments refer to exists: functions, constants, files, layers, options.

A name that is changed in the code must not live on in a text that nobody runs.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import importlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import click
import pytest

import nmtalign
from nmtalign.cli.program import COMMANDS, group
from tests.conftest import REPOSITORY
from tests.test_architecture import LAYERS, module_tree, modules, nodes

PACKAGE = REPOSITORY / "nmtalign"
DOCS = REPOSITORY / "docs"
MADE = DOCS / "reference" / "commands"  # conf.py writes these pages
MODULES = sorted(PACKAGE.rglob("*.py"))
PAGES = [
    *sorted(REPOSITORY.glob("*.md")),
    *(page for page in sorted(DOCS.rglob("*.md")) if not page.is_symlink() and page.parent != MADE),
]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
PAGES.remove(REPOSITORY / "CHANGELOG.md")  # it also names what is gone
# These pages are about the code: each identifier in their backticks is one of the code
PAGES_OF_CODE = [
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "SECURITY.md",
    DOCS / "explanation" / "decisions.md",
]
PROGRAMS = {  # options of other programs, of dask, of tools, and of our scripts
    "Marian": {"--guided-alignment", "--alignment", "--shortlist"},
    "fairseq": {"--align-suffix", "--print-alignment", "--load-alignments"},
    "eflomal": {"--priors", "--overwrite"},
    "OpusTrainer": {"--config"},
    "dask": {"--nthreads", "--nworkers"},
    "pytest and pip": {"--cov", "--durations", "--no-index", "--find-links"},
    "scripts": {
        "--data",
        "--chunk",
        "--bitexts",
        "--grow",
        "--speed",
        "--fast-align",
        "--most",
        "--figure",
        "--fit",
        "--corrected",
        "--cells",
        "--no-kills",
        "--seconds",
        "--sizes",
        "--python",
        "--most-of-peers",
        "--most-unbounded",
        "--places",
        "--swapped",
        "--real",
    },
}


def identifier_of(role: str) -> str:
    """Return the name that a role such as ``:func:`~nmtalign.load``` refers to."""
    return role.lstrip("~").partition("(")[0]


def module_name(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def has_member(owner: object, name: str) -> bool:
    """Return whether an object has an attribute; the fields of a dataclass count."""
    if hasattr(owner, name):
        return True
    if not isinstance(owner, type):
        return False
    fields = dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()
    annotated = [name for base in owner.__mro__ for name in getattr(base, "__annotations__", {})]
    return name in annotated or name in [field.name for field in fields]


def leads_to(owner: object, path: list[str]) -> bool:
    """Return whether a chain of attributes exists."""
    for name in path[:-1]:
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return has_member(owner, path[-1])


def whole_name_exists(name: str) -> bool:
    """Return whether a name such as ``nmtalign.text.bitext.iter_chunks`` leads to a module or an object."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return length == len(parts) or leads_to(module, parts[length:])
    return False


def role_exists(name: str, module: ModuleType, around: list[str]) -> bool:
    """Return whether the target of a role exists, seen from a place in a module.

    `around` are the classes around the place: a method may be named without its class.
    """
    if name.startswith("nmtalign."):
        return whole_name_exists(name)
    path = name.split(".")
    owners: list[object] = [module, nmtalign, nmtalign.attention, builtins]
    owners += [getattr(module, name) for name in around]
    return any(leads_to(owner, path) for owner in owners)


def classes_by_line(tree: ast.Module) -> dict[int, list[str]]:
    """Return the names of the module's classes that are around each line."""
    around: dict[int, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                around[line] = [node.name]
    return around


ROLE = re.compile(r":(?:func|class|mod|meth|data|attr|exc):`([^`]+)`")


def test_roles_lead_to_objects():
    missing = []
    for path in MODULES:
        name = module_name(path)
        module, around = importlib.import_module(name), classes_by_line(module_tree(name))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for role in ROLE.findall(line):
                if not role_exists(identifier_of(role), module, around.get(number, [])):
                    missing.append(f"{path}:{number}: {role}")
    assert missing == []


def test_a_role_that_leads_nowhere_is_seen():
    module = importlib.import_module("nmtalign.files.text_files")
    assert role_exists("nmtalign.text.tokenization.TextSettings.words", module, [])
    assert role_exists("reraise_as_data_error", module, [])
    assert role_exists("bytes.decode", module, [])
    assert not role_exists("foreign", module, [])
    assert not role_exists("nmtalign.text.tokenization.TextSettings.sentences", module, [])
    assert not role_exists("nmtalign.sentences.words", module, [])
    assert identifier_of("~nmtalign.load()") == "nmtalign.load"


# --- constants of SECURITY.md --------------------------------------------------------------------

LIMIT = re.compile(r"^\| (`[A-Za-z_.]+`(?:, `\w+`)*) \| (.+?) \| .+ \|$", re.MULTILINE)
UNITS = {"": 1, " KiB": 1 << 10, " MiB": 1 << 20, " s": 1}


def value_of(text: str) -> float:
    """Return the number that a cell of the table states, such as ``64 MiB`` or ``1e9``."""
    number, unit = re.fullmatch(r"([0-9,.e]+)( KiB| MiB| s)?", text).groups()
    return float(number.replace(",", "")) * UNITS[unit or ""]


def limits() -> Iterator[tuple[str, float]]:
    """Yield the constants of SECURITY.md, by their module, with the values that the page states."""
    page = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
    table = page.partition("| constant | value | limits |")[2].partition("\n\n")[0]
    for names, values in LIMIT.findall(table):
        first, *others = names.replace("`", "").split(", ")
        module = first.rpartition(".")[0]
        constants = [first, *(f"{module}.{name}" for name in others)]
        stated = values.split(", ") if others else [values]
        yield from zip(constants, map(value_of, stated), strict=True)


def test_limits_of_the_security_page_have_the_values_it_states():
    found = list(limits())
    assert len(found) == 9
    for name, stated in found:
        module, _, constant = f"nmtalign.{name}".rpartition(".")
        assert getattr(importlib.import_module(module), constant) == stated, name


def test_values_of_the_security_page_are_numbers():
    assert [value_of(text) for text in ("64 MiB", "2,000,000", "1e9", "10 s")] == [2**26, 2e6, 1e9, 10]


# --- layers --------------------------------------------------------------------------------------


def test_layers_are_the_same_in_docstrings_page_and_rule():
    page = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = {}
    for number, line in re.findall(r"^([0-9])  (\S.+)$", page, re.MULTILINE):
        names = line if number == "0" else re.split(r" {3,}", line)[0]
        drawn |= {re.split(r"[/.]", name)[0]: int(number) for name in names.split()}
    assert drawn == LAYERS
    for path in sorted(PACKAGE.glob("*/__init__.py")):
        said = re.match(r"Layer (\d): ", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")
        assert said, path
        assert int(said[1]) == LAYERS[path.parent.name], path


# --- names on pages ------------------------------------------------------------------------------

CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def prose_of(page: Path) -> str:
    """Return a page, or the Markdown cells of a notebook, without fenced blocks."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return FENCE.sub("", text)


def codes_of(page: Path) -> list[str]:
    """Return what stands in backticks in the prose of a page."""
    return [" ".join(code.split()) for _, code in CODE.findall(prose_of(page))]


def codes_of_pages() -> Iterator[tuple[Path, str]]:
    """Yield what stands in backticks, page by page and notebook by notebook."""
    for page in [*PAGES, *NOTEBOOKS]:
        yield from ((page, code) for code in codes_of(page))


@cache
def names_of_the_code() -> frozenset[str]:
    """Return each name that the package defines or uses as a string: objects, parameters, files, choices."""
    names = {part for path in PACKAGE.rglob("*.*") for part in path.relative_to(REPOSITORY).parts}
    names |= {name.partition(".")[0] for name in names}
    for tree in modules().values():
        for node in nodes(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name):
                    names.add(name)
                case ast.Constant(value=str(text)) if len(text) < 100:
                    names |= set(re.findall(r"[\w.-]+", text))
    return frozenset(names)


IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\(.*\))?")
CLASS_MEMBER = re.compile(r"([A-Z]\w*[a-z]\w*)\.([a-z_]\w*)(?:\(.*\))?")  # EncodedText.expert_links


@cache
def classes_of_the_code() -> dict[str, list[type]]:
    """Return the classes of the package by their names."""
    found: dict[str, list[type]] = {}
    for path in MODULES:
        for name, value in vars(importlib.import_module(module_name(path))).items():
            if isinstance(value, type) and value.__module__.startswith("nmtalign"):
                found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("page", PAGES_OF_CODE, ids=lambda page: page.name)
def test_identifiers_of_pages_about_the_code_exist(page: Path):
    codes = [code.partition("(")[0] for code in codes_of(page) if IDENTIFIER.fullmatch(code)]
    assert len(codes) > 5
    assert sorted(set(codes) - names_of_the_code()) == []
    for code in codes_of(page):
        if member := CLASS_MEMBER.fullmatch(code):
            owners = classes_of_the_code().get(member[1], [])
            assert any(has_member(owner, member[2]) for owner in owners), code


IN_FILES = re.compile(r"((?:`[A-Za-z_]+`(?:, | and )?)+) in `([a-z_/]+\.py)`")


def test_names_are_in_the_files_that_the_architecture_names():
    page = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = IN_FILES.findall(page)
    assert len(found) > 8
    for names, file in found:
        module = importlib.import_module(module_name(PACKAGE / file))
        for name in re.findall(r"\w+", names.replace(" and ", " ")):
            attributes = [
                member for owner in vars(module).values() if isinstance(owner, type) for member in vars(owner)
            ]
            assert hasattr(module, name) or name in attributes, (name, file)


def test_a_name_that_is_gone_is_not_among_the_names_of_the_code():
    assert {"learn", "prepare", "TextScores", "with_expert_votes", "hmm", "positions"} <= names_of_the_code()
    assert not names_of_the_code() & {"compose", "link_probabilities", "guarded_write"}


FILE = re.compile(r"[\w./-]*[\w-]\.(?:py|js|css|md|ipynb)|[a-z_]+(?:/[a-z_]+)*/")
MEMBER = re.compile(r"([a-z_0-9]+(?:/[a-z_0-9]+)+)\.(\w+)")  # aligner/extraction_methods.second_word_links
ROOTS = (
    *(PACKAGE, PACKAGE / "report", PACKAGE / "report" / "assets"),
    *(REPOSITORY, REPOSITORY / "scripts", DOCS),
)
# files of fast_align, fairseq and OpenNMT-py
OF_OTHERS = {"force_align.py", "language_pair_dataset.py", "text_corpus.py", "text_utils.py"}
OUR_FOLDERS = {path.name for root in (PACKAGE, REPOSITORY) for path in root.rglob("*") if path.is_dir()}


def exists_in_the_checkout(name: str) -> bool:
    """Return whether a path leads to something of the project from one of the usual places."""
    return any((root / name).exists() for root in ROOTS)


def test_files_that_pages_name_exist():
    missing = []
    for page, code in codes_of_pages():
        for word in code.split(" "):
            ours = word.split("/")[0] in OUR_FOLDERS or "/" not in word
            named = FILE.fullmatch(word) and ours and word not in OF_OTHERS
            if named and not (exists_in_the_checkout(word) or (page.parent / word).exists()):
                missing.append((page.name, word))
    assert missing == []


def test_members_of_modules_that_pages_name_exist():
    missing = []
    for page, code in codes_of_pages():
        for path, member in MEMBER.findall(code):
            module = PACKAGE / f"{path}.py"
            known = module.exists() and leads_to(
                importlib.import_module(module_name(module)), member.split(".")
            )
            if path.split("/")[0] in LAYERS and not known and member != "py":
                missing.append((page.name, code))
    assert missing == []


PUBLIC = re.compile(r"\b(?:nmtalign|na)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


def test_public_names_that_pages_name_exist():
    missing = []
    for page in [*PAGES, *NOTEBOOKS]:
        text = page.read_text(encoding="utf-8")
        named = set(PUBLIC.findall(" ".join(codes_of(page))))
        named |= set(re.findall(r"\bna\.([A-Za-z_]\w*)", text))
        named -= {"toml", "md", "py"}
        missing += [(page.name, name) for name in named if not leads_to(nmtalign, name.split("."))]
    assert missing == []


def test_scripts_that_anything_names_exist():
    texts = [*PAGES, *NOTEBOOKS, *MODULES, *sorted((REPOSITORY / "scripts").glob("*.py"))]
    texts += sorted((REPOSITORY / "tests").rglob("*.py"))
    pattern = re.compile(r"\bscripts/(\w+\.py)|-m scripts\.(\w+)")
    missing = set()
    for path in texts:
        for name, module in pattern.findall(path.read_text(encoding="utf-8")):
            script = name or f"{module}.py"
            if not (REPOSITORY / "scripts" / script).exists():
                missing.add((path.name, script))
    assert not missing


def test_each_script_names_the_page_that_it_serves_first():
    for path in sorted((REPOSITORY / "scripts").glob("[a-z]*.py")):
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        served = re.match(r'"""For (\S+|bundled data): ', first)
        assert served is not None, path
        assert served[1] == "bundled data" or (REPOSITORY / served[1]).exists(), first


# --- options -------------------------------------------------------------------------------------

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
COMMAND = re.compile(r"(?:nmtalign )?(" + "|".join(COMMANDS) + r")\b((?: [a-z]+)?)(.*)", re.DOTALL)


@cache
def options_of_commands() -> dict[str, frozenset[str]]:
    """Return the long options of each command; those of ``vectors map`` under this name."""
    found: dict[str, frozenset[str]] = {}
    with click.Context(group) as context:
        commands = {name: group.get_command(context, name) for name in COMMANDS}
    for name, command in commands.items():
        assert command is not None
        inner = command.commands if isinstance(command, click.Group) else {}
        parts = {name: command} | {f"{name} {part}": of_part for part, of_part in inner.items()}
        for whole, part in parts.items():
            options = [option for p in part.params for option in (*p.opts, *p.secondary_opts)]
            found[whole] = frozenset([*options, "--help"])
        found[name] = frozenset[str]().union(*(found[whole] for whole in parts))
    return found


def unknown_options(text: str) -> set[str]:
    """Return the options of a command line, or of a piece of one, that its command does not have."""
    known = options_of_commands()
    options = set(OPTION.findall(text))
    if command := COMMAND.match(text):
        name, part = command[1], f"{command[1]}{command[2]}"
        return options - known.get(part, known[name])
    others = frozenset[str]().union(*PROGRAMS.values())
    return options - others.union(*known.values())


def test_options_of_pages_exist_in_the_command_that_they_name():
    wrong = [(page.name, code, found) for page, code in codes_of_pages() if (found := unknown_options(code))]
    assert wrong == []


def test_options_of_blocks_exist_in_their_command():
    """Also in the blocks that no test runs."""
    wrong = []
    for page in [*PAGES, *NOTEBOOKS]:
        text = page.read_text(encoding="utf-8").replace("\\\\\\n", "").replace("\\\n", "")
        for line in re.findall(r"^\s*(nmtalign [a-z].*)$", text, re.MULTILINE):
            for part in re.split(r" (?:&&|\||;) ", line):
                if found := unknown_options(part):
                    wrong.append((page.name, part, found))
    assert wrong == []


def test_options_of_docstrings_and_comments_exist():
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    wrong = []
    for path in MODULES:
        tree = module_tree(module_name(path))
        texts = [ast.get_docstring(node) or "" for node in nodes(tree) if isinstance(node, kinds)]
        texts += re.findall(r"#.*", path.read_text(encoding="utf-8"))
        wrong += [(path.name, option) for option in unknown_options(" ; ".join(texts))]
    assert wrong == []


def test_an_option_of_another_command_is_seen():
    assert unknown_options("align --table links.tsv --values scores") == set()
    assert unknown_options("nmtalign align --sharpen") == {"--sharpen"}
    assert unknown_options("evaluate --table") == {"--table"}
    assert unknown_options("vectors map --dictionary FILE") == set()
    assert unknown_options("vectors map --score csls") == {"--score"}
    assert unknown_options("--guided-alignment corpus.align") == set()
