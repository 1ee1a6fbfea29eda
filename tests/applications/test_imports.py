"""Applications stand on the public interface: they import public names and the foundation only."""

from __future__ import annotations

import ast

import nmtalign
from tests.test_architecture import LAYERS, MODULES, folder, imports

# What words and links look like in files, and sentence pairs in tables
FORMATS = {
    "nmtalign.links.formats",
    "nmtalign.links.separators",
    "nmtalign.text.containers",
    "nmtalign.text.punctuation",
}
# A concordance searches arrays of word numbers, which the public interface does not have
# A conversion checks, as all commands do, whether links fit the unit of their text
EXCEPTIONS = {
    "nmtalign.applications.concordance": {"nmtalign.corpus.bitext_index"},
    "nmtalign.applications.frame_labels": {"nmtalign.corpus.bitext_index"},
    "nmtalign.applications.conversion": {"nmtalign.corpus.unit_check"},
}


def is_allowed(module: str, imported: str) -> bool:
    """Return whether an application may import a module."""
    if not imported.startswith("nmtalign"):
        return True
    is_foundation = LAYERS.get(folder(imported)) == 0
    is_neighbor = folder(imported) == "applications"
    allowed = {"nmtalign", *FORMATS, *EXCEPTIONS.get(module, ())}
    return is_foundation or is_neighbor or imported in allowed


def test_applications_import_public_names_and_the_foundation():
    applications = [name for name in MODULES if name.startswith("nmtalign.applications.")]
    assert len(applications) >= 4
    forbidden = [
        (module, imported)
        for module in applications
        for imported in imports(MODULES[module])
        if not is_allowed(module, imported)
    ]
    assert not forbidden


def test_names_of_the_package_are_public():
    for module, tree in MODULES.items():
        if not module.startswith("nmtalign.applications."):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "na":
                assert node.attr in nmtalign.__all__, (module, node.attr)


def test_the_rule_can_fail():
    module = "nmtalign.applications.phrases"
    assert not is_allowed(module, "nmtalign.links.alignments")
    assert not is_allowed(module, "nmtalign.corpus.bitext_index")
    assert is_allowed("nmtalign.applications.concordance", "nmtalign.corpus.bitext_index")
    assert is_allowed(module, "nmtalign.errors")
    assert is_allowed(module, "pandas")
