"""Warnings have a category of the package, and advice is given once."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign import errors

PACKAGE = Path(na.__file__).parent


def test_every_warning_is_issued_by_one_function():
    """It has a category of the package, and names the line of the caller."""
    modules = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                modules.add(path.name)
    assert modules == {"errors.py"}


def test_a_warning_names_the_line_outside_of_the_package(tmp_path):
    """However many functions and decorators of the package are in between."""
    vectors = np.random.default_rng(0).normal(size=(2, 4))
    words = ({"a": vectors[0], "b": 100 * vectors[1]}, {"c": vectors[0], "d": 100 * vectors[1]})
    calls = {
        "of the text fit the model or the vectors": lambda: na.load().align("abc def ghi", "jkl mno pqr"),
        "norms of the vectors": lambda: na.load(words, score="dot"),
        "norms of the vectors differ": lambda: na.vector_aligner(*words, score="dot"),
        "too small": lambda: na.train([("a b", "c d")]),
    }
    for message, call in calls.items():
        with pytest.warns(na.NmtalignWarning, match=message) as heard:
            call()
        assert {warning.filename for warning in heard} == {__file__}


def test_warnings_can_be_filtered_by_their_category():
    pairs = [("abc def ghi jkl", "mno pqr stu vwx")] * 50
    with pytest.warns(na.NmtalignWarning, match="words"):
        na.load().align_batch(pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", na.NmtalignWarning)
        na.load().align_batch(pairs)


def test_advice_on_the_bundled_model_is_given_once(monkeypatch):
    monkeypatch.setattr(errors, "_given_advice", set())
    sample = na.resolve_path("en_fr_sample")
    bitext = na.read_bitext(sample / "text.tok.en", sample / "text.tok.fr")[:100]
    with pytest.warns(na.AdviceWarning, match="`init='en_fr_model'`"):
        na.train(bitext, preset="fast", tokenizer="simple")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        na.train(bitext, preset="fast", tokenizer="simple")
