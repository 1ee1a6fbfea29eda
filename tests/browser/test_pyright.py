"""pyright, the type checker of many editors, agrees with mypy on the misuses of public functions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.test_misuses import FOLDER, marked_lines

PUBLIC = FOLDER / "public.py"


def test_pyright_rejects_the_misuses_of_public_functions_and_accepts_the_uses(node_modules: Path) -> None:
    program = node_modules / "pyright" / "index.js"
    options = ["--outputjson", "--pythonpath", sys.executable]
    command = ["node", str(program), *options, str(PUBLIC)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [entry for entry in found if entry["severity"] == "error"]
    rejected = {entry["range"]["start"]["line"] + 1 for entry in errors}
    assert rejected == marked_lines(PUBLIC)
