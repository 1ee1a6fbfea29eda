"""The two doors: the names of ``nmtalign`` and the commands of the command line, and that both open fast."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import math
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nmtalign
import nmtalign as na
from nmtalign.aligner.aligner import _CHANGED_BY_LOAD
from nmtalign.cli.program import COMMANDS
from tests.aligner.toy_language import toy_bitext
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"


@pytest.mark.parametrize(
    ("door", "home"),
    [
        (nmtalign, {**nmtalign._MODULE_OF_NAME, "attention": "nmtalign"}),
        (nmtalign.attention, nmtalign.attention._HOME_MODULE),
    ],
)
def test_type_checkers_are_told_the_same_names(door, home):
    stub = ast.parse(Path(door.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {
        one.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }
    assert told == home


def script_of(page: Path) -> str:
    """Return the ``python`` blocks of a page as one script."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    examples = doctest.DocTestParser().get_examples
    return "".join("".join(one.source for one in examples(block)) or block for block in blocks)


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_a_typed_script_and_the_blocks_of_the_pages_are_checked_from_outside(tmp_path):
    """Pages of which no file is named in what mypy says have no error."""
    pages = [REPOSITORY / "README.md", *(page for page in DOCS.rglob("*.md") if not page.is_symlink())]
    scripts = {f"page_{page.stem}.py": script_of(page) for page in pages}
    scripts = {name: text for name, text in scripts.items() if text}
    assert {"page_README.py", "page_scaling.py", "page_vectors.py"} <= set(scripts)
    for name, text in scripts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "script.py").write_text(
        "import nmtalign as na\n"
        "number: int = na.load().align('the cat', 'le chat')\n"
        "aligner: na.Aligner = na.train([('a', 'b')])\n"
        "na.attention.softmax([1.0], temprature=2)\n"
    )
    options = [
        "--strict",
        "--config-file",
        REPOSITORY / "pyproject.toml",
        "--cache-dir",
        REPOSITORY / ".mypy_cache",
    ]
    command = [sys.executable, "-m", "mypy", *map(str, options), "script.py", *scripts]
    where = {**os.environ, "MYPYPATH": str(REPOSITORY)}
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=where).stdout
    assert 'script.py:2: error: Incompatible types in assignment (expression has type "AlignedPair"' in said
    assert 'script.py:4: error: Unexpected keyword argument "temprature" for "softmax"' in said
    assert "Found 2 errors in 1 file" in said


PUBLIC_NAMES = {
    "__version__",
    "AlignedBatch",
    "AlignedPair",
    "AdviceWarning",
    "Aligner",
    "Alignment",
    "AlignmentMatrix",
    "Bitext",
    "Bootstrap",
    "DataError",
    "Evaluation",
    "ExpectedEvaluation",
    "SamplePair",
    "ThresholdCurve",
    "align_on_cluster",
    "convert",
    "open_index",
    "open_batch",
    "show_versions",
    "concat",
    "symmetrize",
    "count_embeddings",
    "iter_chunks",
    "learn_attention",
    "resolve_path",
    "vector_aligner",
    "write_report",
    "Embeddings",
    "GoldAlignment",
    "Link",
    "NmtalignError",
    "NmtalignWarning",
    "Progress",
    "UsageError",
    "attention",
    "draw_heatmap",
    "evaluate",
    "check",
    "find",
    "fit_to",
    "heatmap",
    "lexicon",
    "link_table",
    "links_from",
    "load",
    "load_embeddings",
    "phrases",
    "project",
    "rank_heads",
    "read_bitext",
    "read_gold",
    "read_dictionary",
    "save_embeddings",
    "save_heatmaps",
    "show",
    "terms",
    "train",
    "write_index",
    "write_links",
}


def test_the_public_names_are_these():
    """A public name is a promise: to add or remove one, change this test as well."""
    assert set(nmtalign.__all__) == PUBLIC_NAMES


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES - {"__version__"}))
def test_every_public_name_is_described(name):
    assert getattr(nmtalign, name).__doc__


def test_the_door_reads_like_the_readme(tmp_path):
    """Read, train, save, load, align lines or words, look, evaluate."""
    toy = toy_bitext(150)
    bitext = list(na.read_bitext(*toy.write(tmp_path)))
    aligner = na.train(bitext, preset="fast", workers=1)
    assert type(aligner) is na.Aligner
    aligner.save(tmp_path / "model")
    loaded = na.load(tmp_path / "model")
    source, target = toy.pairs[3]
    pair = loaded.align(source, target)
    assert pair.links == loaded.align(source.split(), target.split()).links == sorted(pair.alignment.links)
    assert pair.posterior.shape == (len(target.split()), len(source.split()))
    assert 0 < pair.score < 1
    assert len(pair.table()) == len(pair.links)
    assert len(pair.heatmap().axes) >= 1
    with pytest.raises(na.DataError, match="two lines of text or two lists of words"):
        loaded.align(source, target.split())
    batch = loaded.align_batch(bitext)
    assert [batch.links(n) for n in (3, 4)] == [pair.links, loaded.align(*toy.pairs[4]).links]
    gold = [na.GoldAlignment(links, links) for links in toy.links]
    assert na.evaluate([batch.links(n) for n in range(150)], gold).aer < 0.05


def test_tokens_of_align_are_not_mixed_with_words_of_batches():
    aligner, pairs = na.load(), [("The cat.", "Le chat.")]
    tokens, words = [aligner.align(*pairs[0])], aligner.align_batch(pairs)
    assert na.evaluate(tokens, tokens).aer == na.evaluate(words, words).aer == 0
    for first, second in ((tokens, words), (words, tokens)):
        with pytest.raises(na.DataError, match=r"pair 0: .* of the same words, .* its space-separated words"):
            na.evaluate(first, second)


def test_aligners_are_equal_if_their_content_is():
    aligner, vectors = na.load(), na.load("en_fr_vectors")
    for one in (aligner, vectors):
        for copy in (pickle.loads(pickle.dumps(one)), dataclasses.replace(one)):
            assert copy == one
            assert hash(copy) == hash(one)
    assert na.load(aligner, threshold=0.5) != aligner != vectors
    assert na.load("en_fr_vectors", temperature=0.5) != vectors
    assert aligner.with_scorers("lexicon") != aligner


def test_bitexts_are_equal_if_their_pairs_are(tmp_path):
    pairs = [("a", "b"), ("c", "d")]
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\n")
    of_file, held = na.read_bitext(tmp_path / "pairs.tsv"), na.Bitext(pairs)
    assert of_file == held == pickle.loads(pickle.dumps(held))
    assert hash(of_file) == hash(held)
    assert held[:1] != held != pairs
    of_frame = na.Bitext(pd.DataFrame(pairs, index=["x", "y"], columns=["source", "target"]))
    assert of_frame != held
    assert of_frame == na.Bitext(pd.DataFrame(pairs, index=["x", "y"], columns=["source", "target"]))


def test_an_assignment_to_an_aligner_names_load():
    """Each setting that the message names is one of `load` for an aligner in memory."""
    aligner = na.load()
    with pytest.raises(AttributeError, match=r"never changes; nmtalign\.load\(aligner, threshold=0\.5\)"):
        aligner.threshold = 0.5
    with pytest.raises(AttributeError, match=r"load\(aligner, extract='argmax'\)"):
        aligner.extract = "argmax"
    with pytest.raises(AttributeError, match=r"cannot assign to 'seed'.*load\(aligner, threshold"):
        aligner.seed = 1
    assert set(_CHANGED_BY_LOAD) <= set(inspect.signature(na.load).parameters)


def test_a_pair_of_a_batch_is_pickled_alone():
    pair = na.load().align_batch([("the black cat", "le chat noir")])[0]
    dumped = pickle.dumps(pair)
    copy = pickle.loads(dumped)
    assert len(dumped) < 5_000
    for name in ("links", "words", "tokens", "score", "description", "extraction", "languages"):
        assert getattr(copy, name) == getattr(pair, name)
    for name in ("forward", "reverse", "posterior", "scores"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(pair, name))


@pytest.mark.parametrize("matrix", [[[0.9, 0.1]], 5, [True, False], [["a"]], [[2, 0]]])
def test_weights_are_no_links(matrix):
    with pytest.raises(na.DataError, match=r"bools, such as `posterior > 0.5`"):
        na.Alignment.from_matrix(matrix)


def test_the_door_opens_word_vectors_and_the_shipped_model():
    assert na.load().align("the black cat", "le chat noir").links == [(0, 0), (1, 2), (2, 1)]
    aligner = na.load("en_fr_vectors", score="dot", temperature=math.sqrt(128), positions="none")
    pair = aligner.align("the black cat", "le chat noir")
    vectors = [
        side.vectors(line.split())
        for side, line in ((aligner.scorer.source, "the black cat"), (aligner.scorer.target, "le chat noir"))
    ]
    expected = na.attention.attend(vectors[1], vectors[0], vectors[0])
    np.testing.assert_allclose(pair.forward, expected.weights, atol=1e-6)


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
