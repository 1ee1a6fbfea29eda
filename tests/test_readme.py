"""The README does what it says: its commands run, its Python prints what stands there, its files exist."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from nmtalign.cli import main
from nmtalign.files.paths import bundled_path
from tests.conftest import REPOSITORY

README = REPOSITORY / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_python_examples_print_what_stands_there():
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried > 0
    assert failures == 0


def test_commands_run_on_the_shipped_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for path in bundled_path("en_fr_sample").iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("\\\n", "")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    commands = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line]
    assert len(commands) >= 4
    for program, *arguments in commands:
        assert program == "nmtalign"
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert not caught.value.code, arguments
    for option in re.findall(r"-(?:o|-scores|-table) (\S+)", "\n".join(blocks)):
        assert list(tmp_path.glob(f"{option}*")), option


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert target.startswith("http") or (REPOSITORY / target).exists(), target


def test_first_command_stands_on_the_first_screen():
    assert any(line.startswith("make demo") for line in TEXT.splitlines()[:25])
