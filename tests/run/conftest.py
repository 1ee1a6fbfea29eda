"""One cluster for all tests of the engine dask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nmtalign.run.cluster import connected


@pytest.fixture(scope="package", autouse=True)
def workers_are_forked() -> Iterator[None]:
    """Fork worker processes from one that has imported what they need, as dask's own tests do."""
    pytest.importorskip("distributed")
    import dask
    from distributed.utils import get_mp_context

    settings = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "200ms",
    }
    with dask.config.set(settings):
        context = get_mp_context()
        context.set_forkserver_preload(["distributed", "distributed.nanny", "nmtalign.run.cluster"])
        yield


@pytest.fixture(scope="package")
def client() -> Iterator[Any]:
    """A cluster of two processes, ended with this folder: while idle it still costs time."""
    with connected(None, 2) as client:
        yield client
