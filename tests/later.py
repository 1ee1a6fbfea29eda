"""Packages that take seconds to import, for the tests that use them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


class Later:
    """A package that is imported when a test first uses it, as not every process of the tests needs it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(importlib.import_module(self._name), name)
        except ModuleNotFoundError:
            pytest.skip("pip install 'nmtalign[transformers]'")


torch = Later("torch")
transformers = Later("transformers")
