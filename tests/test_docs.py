"""The pages of docs/ do what they say: their commands run, their Python prints what stands there.

Blocks marked ``bash`` and ``python`` are run, each page in a copy of the folder that the first tutorial
leaves; ``sh`` marks commands of other programs and of other machines.
"""

from __future__ import annotations

import doctest
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.special import expit, logit

import nmtalign
from nmtalign.cli import main
from nmtalign.decoding.extraction_methods import EXTRACTION_CLASSES
from nmtalign.files.paths import bundled_path
from nmtalign.names import SYMMETRIZATIONS, ExtractionName
from nmtalign.rescoring import rescorer
from tests.conftest import REPOSITORY

EXTRACTIONS = get_args(ExtractionName)

DOCS = REPOSITORY / "docs"
FIRST = DOCS / "tutorials" / "own_bitext.md"
MADE = DOCS / "reference" / "commands"  # by conf.py
PAGES = [
    FIRST,
    *sorted({page for page in DOCS.rglob("*.md") if not page.is_symlink()} - {FIRST, *MADE.glob("*")}),
]
PAIRS = 50  # the shortest of the sample; so many gold links teach
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def run_command(line: str) -> None:
    """Run a line of a ``bash`` block; nmtalign without a process of its own, which takes half a second."""
    if not line.startswith("nmtalign "):
        # a pipe may call nmtalign, which stands beside this Python and not always in PATH
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, "PATH": path}
        subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True, env=environment)
        return
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(line)[1:])
    assert not caught.value.code, line


def run_python(text: str, names: dict[str, object], page: Path) -> None:
    """Run the examples of a ``python`` block; later blocks of a page see the names of earlier ones."""
    examples = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    result = doctest.DocTestRunner().run(examples, clear_globs=False)
    names.update(examples.globs)
    assert result.failed == 0, page


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the shortest pairs of the sample, where the commands run."""
    files = {
        path.name: path.read_text(encoding="utf-8").split("\n")[:-1]
        for path in bundled_path("en_fr_sample").iterdir()
    }
    shortest = sorted(range(len(files["text.en"])), key=lambda n: len(files["text.en"][n]))[:PAIRS]
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{lines[n]}\n" for n in shortest), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_page(page: Path) -> None:
    """Run the blocks of a page in the current folder."""
    names: dict[str, object] = {}
    for language, text in blocks(page):
        if language == "python":
            run_python(text, names, page)
        else:
            for line in text.replace("\\\n", "").splitlines():
                run_command(line)


def test_pages_do_what_they_say(
    sample: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    assert sum(len(blocks(page)) for page in PAGES) > 30
    monkeypatch.setattr(rescorer, "GOLD_SCHEDULE", replace(rescorer.GOLD_SCHEDULE, max_epochs=5))
    run_page(FIRST)
    for page in PAGES[1:]:
        folder = tmp_path_factory.mktemp("page") / "sample"
        shutil.copytree(sample, folder)
        monkeypatch.chdir(folder)
        run_page(page)


@pytest.mark.usefixtures("sample")
def test_a_wrong_page_fails(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(AssertionError, match=r"nmtalign align text\.en"):
        run_command("nmtalign align text.en missing.fr")
    with pytest.raises(subprocess.CalledProcessError):
        run_command("cat missing | head -1")
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", {}, FIRST)


def test_links_lead_to_files():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), (page, target)


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(index.splitlines())
    assert {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} - {"index"} <= listed


def test_the_first_page_embeds_a_live_card_with_a_name_and_a_height():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    [(style, card)] = re.findall(r'<iframe class="([\w-]+)" src="(\w+\.html)" title="[^"]{40,}">', index)
    assert f'Path(app.outdir, "{card}")' in (DOCS / "conf.py").read_text(encoding="utf-8")
    assert re.search(rf"\.{style} {{[^}}]* height: \d+px", (DOCS / "site.css").read_text(encoding="utf-8"))


def test_every_way_to_choose_links_is_defined_with_its_threshold():
    page = (DOCS / "reference" / "extraction.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| [^|]* \| ([\d.]+|none) \|", page, re.MULTILINE)
    thresholds = {name: None if text == "none" else float(text) for name, text in rows}
    expected = {name: EXTRACTION_CLASSES[name].default_threshold for name in EXTRACTIONS}
    assert thresholds == expected
    symmetrizations = re.findall(r"^\| `([\w-]+)` \| [^|]* \|$", page, re.MULTILINE)
    assert tuple(symmetrizations) == SYMMETRIZATIONS


def test_every_public_name_has_an_entry():
    for page, module in (("api", nmtalign), ("attention", nmtalign.attention)):
        text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
        listed = re.findall(rf"^   {module.__name__}\.(\w+)$", text, re.MULTILINE)
        assert sorted(listed) == sorted({*module.__all__} - {"__version__", "attention"})


def test_docstrings_of_public_names_stand_by_themselves():
    for name in nmtalign.__all__:
        text = inspect.getdoc(getattr(nmtalign, name)) or ""
        assert not re.search(r"from nmtalign\.|[Aa]s of :|:data:", text), name


def test_pages_can_be_followed_in_one_folder():
    made = re.compile(r"nmtalign train .* -o (\S+)")
    texts = [
        text.replace("\\\n", " ") for page in PAGES for language, text in blocks(page) if language == "bash"
    ]
    models = [model for text in texts for model in made.findall(text)]
    assert len(models) > 5
    assert sorted(models) == sorted(set(models)), "train refuses a folder that has a model"


def test_combined_values_are_what_the_page_on_the_model_says():
    """The root of both directions without a null word; with one, the mean of the logits, halved."""
    given = "they were not told of it .", "on ne leur en a pas parlé ."
    pair = nmtalign.load("en_fr_vectors").align(*given)
    np.testing.assert_allclose(pair.posterior, np.sqrt(pair.forward * pair.reverse), rtol=1e-6)
    pair = nmtalign.load().align(*given)
    both = (np.clip(values.astype(float), 1e-12, 1 - 1e-6) for values in (pair.forward, pair.reverse))
    np.testing.assert_allclose(pair.posterior, expit(sum(map(logit, both)) / 4), atol=2e-3)
    assert np.abs(pair.posterior - np.sqrt(pair.forward * pair.reverse)).max() > 0.1
    for method, values in (("argmax", "forward"), ("argmax-reverse", "reverse")):
        pair = nmtalign.load(extract=method).align(*given)
        np.testing.assert_array_equal(pair.posterior, getattr(pair, values))


def test_members_that_the_reference_lists_are_there():
    listed = re.search(r"^_OF_NULL.*?^}", (DOCS / "conf.py").read_text("utf-8"), re.M | re.S)
    assert listed
    names: dict[str, dict[str, list[str]]] = {}
    exec(listed[0], {}, names)
    missing = [
        f"{name}.{member}"
        for name, members in names["MEMBERS"].items()
        for member in members
        if not hasattr(getattr(nmtalign, name), member)
    ]
    assert names["MEMBERS"]["Aligner"]
    assert not missing
