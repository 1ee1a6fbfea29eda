"""The two doors: the names of ``nmtalign`` and the commands of the command line, and that both open fast."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys

import pytest

import nmtalign
from nmtalign.cli import COMMANDS

PUBLIC_NAMES = {
    "__version__",
    "AlignedPair",
    "Aligner",
    "Alignment",
    "AlignmentMatrix",
    "DataError",
    "Embeddings",
    "GoldAlignment",
    "Link",
    "NmtalignError",
    "UsageError",
    "attention",
    "draw_heatmap",
    "evaluate",
    "link_table",
    "load",
    "load_embeddings",
    "read_bitext",
    "save_embeddings",
    "save_heatmaps",
    "train",
}


def test_the_public_names_are_these():
    """A public name is a promise: to add or remove one, change this test as well."""
    assert set(nmtalign.__all__) == PUBLIC_NAMES


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES - {"__version__"}))
def test_every_public_name_is_described(name):
    assert getattr(nmtalign, name).__doc__


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_there_with_an_example(command):
    module, attribute, _ = COMMANDS[command]
    help_text = getattr(importlib.import_module(module), attribute).help
    assert "Example" in help_text or command == "vectors"


def test_help_loads_no_arrays():
    program = (
        "import sys\n"
        "from nmtalign.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stderr))
    assert "click" in loaded
    assert not loaded & {"numpy", "scipy", "pandas", "matplotlib", "gensim", "torch"}
    assert all(command in done.stdout for command in COMMANDS)
