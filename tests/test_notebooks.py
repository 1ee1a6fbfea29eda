"""Every notebook runs from top to bottom, and comes in by the public door alone."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import nbformat
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from tests.conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 5


def code_of(path: Path) -> list[str]:
    """Return the cells that hold code."""
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


class Shell(InteractiveShell):
    """IPython in this process, as a kernel takes seconds to start."""

    def enable_gui(self, gui: str | None = None) -> None:
        """Do nothing: there are no windows."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# IPython warns about things that are not ours
@pytest.mark.filterwarnings("ignore")
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    shell = Shell.instance()
    with mpl.rc_context(), np.printoptions(), capture_output() as shown:
        for source in code_of(path):
            shell.run_cell(source).raise_error()
    Shell.clear_instance()
    assert shown.stdout or shown.outputs


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_all_comes_from_the_public_door(path: Path):
    imported = re.findall(r"^\s*(?:from|import) (nmtalign[\w.]*)", "\n".join(code_of(path)), re.MULTILINE)
    assert set(imported) <= {"nmtalign", "nmtalign.attention"}
