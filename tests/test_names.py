"""A name has one meaning in the package, and the names of choices are those of the library."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import Path

import nmtalign
from nmtalign import names
from nmtalign.aligner.extraction_methods import EXTRACTION_CLASSES, Symmetrized
from nmtalign.encoders.published import PUBLISHED_METHODS
from nmtalign.links import formats, symmetrization
from nmtalign.positions.position_model import SOFTMAX_POSITIONS
from nmtalign.text import readers, tokenization
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.vectors import storage


def test_every_name_can_be_chosen_and_no_other():
    assert set(names.EXTRACTIONS) == EXTRACTION_CLASSES.keys() - {Symmetrized.name}
    assert names.SYMMETRIZATIONS == symmetrization.SYMMETRIZATION_METHODS
    assert tuple(PUBLISHED_METHODS) == names.METHODS
    assert (*SOFTMAX_POSITIONS, "hmm") == names.POSITIONS
    assert tuple(PRESET_HYPERPARAMETERS) == names.PRESETS
    assert set(names.TOKENIZERS) == {*tokenization.TOKENIZER_FACTORIES, "sentencepiece:FILE[,FILE]"}
    assert {*names.PAIR_FORMATS, "moses"} == set(readers.PAIR_FILE_FORMATS)  # moses is two files
    assert tuple(formats._READERS) == names.READ_LINKS
    assert set(names.WRITTEN_LINKS) == set(formats._WRITERS)
    assert set(names.WRITTEN_VECTORS) < set(names.READ_VECTORS) == set(storage.READ_VECTORS)


PACKAGE = Path(nmtalign.__file__).parent
# These names still have two meanings: make the list shorter, never longer.
NAMES_LEFT = {
    "BITS",
    "BLOCK",
    "CELLS",
    "COLUMN_MULTIPLE",
    "ConvertedOptions",
    "Counts",
    "EPOCHS",
    "EXTRACTIONS",
    "FEW",
    "FORMATS",
    "FREQUENT",
    "GAP",
    "HEIGHT",
    "HELD_OUT",
    "HIDDEN",
    "Item",
    "KINDS",
    "KNOWN",
    "LARGEST",
    "LAST_RATE",
    "LEAST",
    "LONGEST",
    "Languages",
    "METHODS",
    "MOST",
    "NEAR",
    "PAIRS",
    "POWER",
    "PRESETS",
    "Pairs",
    "RATE",
    "ROUNDED",
    "Record",
    "Result",
    "SECONDS",
    "SETTLED",
    "SHARPNESS",
    "SMALL",
    "SMOOTHING",
    "STEP",
    "STEPS",
    "STRENGTH",
    "SURE",
    "Side",
    "Span",
    "Stored",
    "TINY",
    "TOGETHER",
    "TOKENS",
    "Tokenizer",
    "UNITS",
    "Words",
    "_BLOCK",
    "_LOOKED_AT",
    "_MAX_HEADER_BYTES",
    "_NAMES",
    "_NUMBERS",
    "_PAUSE",
    "_aligned",
    "_chosen",
    "_draw",
    "_explained",
    "_hashed",
    "_kept",
    "_matrices",
    "_numbers",
    "_packed",
    "_projected",
    "_shares",
    "_shown",
    "_unpacked",
    "_warn_about",
    "_words",
    "_write_json",
    "convert",
    "evaluate",
    "learn",
    "lexicon",
    "links_from",
    "loss_and_gradient",
    "mix",
    "neighbors",
    "parts_of",
    "shorten",
    "show",
    "train",
}
MODULES_LEFT = {
    "lexicon",
    "model",
    "train",
}


def bound_names(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements of a module bind, without those of imports."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                nodes = ast.walk(target)
                names |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        elif isinstance(node, ast.If):
            names |= bound_names(node.body) | bound_names(node.orelse)
    return {name for name in names if not name.startswith("__")}


def names_of_two_modules(sources: dict[str, str]) -> set[str]:
    """Return the names that more than one module binds; `sources` are the modules by name."""
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        for name in bound_names(ast.parse(source).body):
            modules[name].add(module)
    return {name for name, of_name in modules.items() if len(of_name) > 1 and name != "_"}


def test_a_name_is_bound_in_one_module_only():
    sources = {str(path): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert names_of_two_modules(sources) - NAMES_LEFT == set()


def test_a_module_name_occurs_once():
    counts = Counter(path.stem for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__"))
    assert {name for name, count in counts.items() if count > 1} - MODULES_LEFT == set()


def test_a_name_with_two_meanings_is_seen():
    sources = {"a": "LIMIT = 1\ndef f(): pass", "b": "if True:\n    LIMIT: int = 2", "c": "from a import f"}
    assert names_of_two_modules(sources) == {"LIMIT"}
