"""Applications stand on the public interface: they import public names and the foundation only."""

from __future__ import annotations

import ast

import nmtalign
from tests.test_architecture import LAYERS, PATHS, folder, module_tree

# What words and links look like in files, and sentence pairs in tables
FORMATS = {
    "nmtalign.links.formats",
    "nmtalign.text.containers",
    "nmtalign.text.paired_files",
    "nmtalign.text.punctuation",
    "nmtalign.text.subwords",
    "nmtalign.text.xml_bitexts",
}
# A concordance searches arrays of word numbers, which the public interface does not have
# A conversion checks, as all commands do, whether links fit the unit of their text
EXCEPTIONS = {
    "nmtalign.applications.concordance": {"nmtalign.corpus.bitext_index"},
    "nmtalign.applications.conversion": {"nmtalign.corpus.unit_fit", "nmtalign.links.saved_tables"},
}


def is_allowed(module: str, imported: str, name: str) -> bool:
    """Return whether an application may import a name of a module."""
    if not imported.startswith("nmtalign"):
        return True
    is_foundation = LAYERS.get(folder(imported)) == 0
    is_neighbor = folder(imported) == "applications"
    is_public = nmtalign._MODULE_OF_NAME.get(name) == imported
    is_known = imported in FORMATS | EXCEPTIONS.get(module, set())
    return is_foundation or is_neighbor or is_public or is_known


def test_applications_import_public_names_and_the_foundation():
    """Each from the module that defines it: the package itself is above them."""
    applications = [name for name in PATHS if name.startswith("nmtalign.applications.")]
    assert len(applications) >= 4
    forbidden = []
    for module in applications:
        for node in ast.walk(module_tree(module)):
            if isinstance(node, ast.Import):
                forbidden += [(module, alias.name) for alias in node.names if "nmtalign" in alias.name]
            if isinstance(node, ast.ImportFrom):
                forbidden += [
                    (module, node.module, alias.name)
                    for alias in node.names
                    if not is_allowed(module, str(node.module), alias.name)
                ]
    assert not forbidden


def test_the_rule_can_fail():
    module = "nmtalign.applications.phrases"
    assert not is_allowed(module, "nmtalign.links.alignments", "as_links")
    assert not is_allowed(module, "nmtalign", "Alignment")
    assert not is_allowed(module, "nmtalign.corpus.bitext_index", "open_bitext_index")
    assert is_allowed("nmtalign.applications.concordance", "nmtalign.corpus.bitext_index", "BitextIndex")
    assert is_allowed(module, "nmtalign.links.alignments", "Alignment")
    assert is_allowed(module, "nmtalign.errors", "DataError")
    assert is_allowed(module, "pandas", "DataFrame")
