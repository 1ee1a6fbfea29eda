"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.aligner.toy_language import toy_training

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner

# The first call of a test may import a heavy package, and other work may share the machine: no deadline.
# The tests try the same examples in each run, and not many; `make search` tries others each time.
settings.register_profile("nmtalign", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("NMTALIGN_EXAMPLES", "nmtalign"))

# Programs that tests interrupt would ignore Ctrl-C where the tests themselves run in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore_glob = ["misuses/*"]  # mypy reads these; nobody runs them

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real bitexts and gold links: $NMTALIGN_SHARED_DATA or ../shared/data beside the checkout."""
    path = Path(os.environ.get("NMTALIGN_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if path.is_dir():
        return path
    reason = f"no measuring data at {path}; name its folder in NMTALIGN_SHARED_DATA"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def learned() -> Aligner:
    """An aligner learned from the toy language with the default preset."""
    return toy_training().aligner


@pytest.fixture
def fast() -> Aligner:
    """The same with preset fast."""
    return toy_training("fast").aligner
