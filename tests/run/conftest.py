"""One cluster for all tests of the engine dask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nmtalign.run.cluster import connected


@pytest.fixture(scope="package")
def client() -> Iterator[Any]:
    """A cluster of two processes, ended with this folder: while idle it still costs time."""
    with connected(None, 2) as client:
        yield client
