"""A name has one meaning in the package, and the names of choices are those of the library."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path
from typing import get_args

import nmtalign
from nmtalign import names
from nmtalign.decoding.extraction_methods import EXTRACTION_CLASSES, PUBLISHED_METHODS, Symmetrized
from nmtalign.links import formats, selection
from nmtalign.positions.position_model import SOFTMAX_POSITIONS
from nmtalign.text import readers, tokenization
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.vectors import storage


def test_every_name_can_be_chosen_and_no_other():
    assert set(get_args(names.ExtractionName)) == EXTRACTION_CLASSES.keys() - {Symmetrized.name}
    assert names.SYMMETRIZATIONS == selection.SYMMETRIZATION_METHODS
    assert tuple(PUBLISHED_METHODS) == get_args(names.MethodName)
    assert (*SOFTMAX_POSITIONS, "hmm") == get_args(names.PositionsName)
    assert tuple(PRESET_HYPERPARAMETERS) == get_args(names.PresetName)
    assert set(names.TOKENIZERS) == {*tokenization.TOKENIZER_FACTORIES, "sentencepiece:FILE[,FILE]"}
    assert {*get_args(names.PairFormat), "moses"} == set(readers.PAIR_FILE_FORMATS)  # moses is two files
    assert tuple(formats._READERS) == names.READ_LINKS
    assert set(names.WRITTEN_LINKS) == set(formats._WRITERS)
    assert set(get_args(names.WrittenVectorsFormat)) < set(names.READ_VECTORS) == set(storage.READ_VECTORS)


PACKAGE = Path(nmtalign.__file__).parent


def bound_names(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements of a module bind, without those of imports and of type variables."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not is_type_variable(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                nodes = ast.walk(target)
                names |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        elif isinstance(node, ast.If):
            names |= bound_names(node.body) | bound_names(node.orelse)
    return {name for name in names if not name.startswith("__")}


def is_type_variable(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"


def names_of_two_modules(sources: dict[str, str]) -> set[str]:
    """Return the names that more than one module binds; `sources` are the modules by name."""
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        for name in bound_names(ast.parse(source).body):
            modules[name].add(module)
    return {name for name, of_name in modules.items() if len(of_name) > 1} - {"_", "TYPE_CHECKING"}


def test_a_name_is_bound_in_one_module_only():
    sources = {str(path): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert names_of_two_modules(sources) == set()


def test_a_module_name_occurs_once():
    counts = Counter(path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__"))
    assert {name for name, count in counts.items() if count > 1} == set()


def test_a_name_with_two_meanings_is_seen():
    sources = {"a": "LIMIT = 1\ndef f(): pass", "b": "if True:\n    LIMIT: int = 2", "c": "from a import f"}
    assert names_of_two_modules(sources) == {"LIMIT"}
