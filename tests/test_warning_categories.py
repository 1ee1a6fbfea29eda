"""Warnings have a category of the package, and advice is given once."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

import nmtalign as na
from nmtalign import errors

PACKAGE = Path(na.__file__).parent


def test_every_warning_has_a_category_of_the_package():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                assert len(node.args) == 2, (path, node.lineno)


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
