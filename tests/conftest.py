"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from nmtalign.aligner import aligner as aligner_module
from nmtalign.files.paths import bundled_path
from nmtalign.names import BUNDLED_MODEL, BUNDLED_VECTORS
from nmtalign.settings import VectorFileSettings
from nmtalign.vectors import storage as storage_module
from tests.aligner.toy_language import toy_training

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner

# The first call of a test may import a heavy package, and other work may share the machine: no deadline.
# The tests try the same examples in each run, and not many; `make search` tries others each time.
settings.register_profile("nmtalign", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("NMTALIGN_EXAMPLES", "nmtalign"))

# Threads of torch that wait for others use the processor all the while; its models are small here.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Programs that tests interrupt would ignore Ctrl-C where the tests themselves run in the background, and the
# end of their terminal under nohup.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

collect_ignore_glob = ["misuses/*"]  # mypy reads these; nobody runs them

REPOSITORY = Path(__file__).resolve().parent.parent


# While the tests are collected, there is no garbage, only a million objects that each collection would visit.
gc.disable()
# And later, collections of all generations would visit the modules of torch and pandas again and again.
gc.set_threshold(700, 10, 100)


def pytest_collection_finish() -> None:
    """Leave the million objects of the collected tests out of garbage collections and of what forks copy."""
    gc.freeze()
    gc.enable()


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


@pytest.fixture(autouse=True, scope="session")
def bundled_folders_are_opened_once() -> Iterator[None]:
    """Keep the bundled model and vectors that were opened: a thousand calls of the tests open them."""
    open_model, open_vectors = aligner_module.open_state, storage_module.load_both_languages
    kept: dict[str, Any] = {}

    def open_model_once(folder: Path, *arguments: Any) -> Any:
        if folder != bundled_path(BUNDLED_MODEL):
            return open_model(folder, *arguments)
        if "model" not in kept:
            kept["model"] = open_model(folder, *arguments)
        return kept["model"]

    def open_vectors_once(folder: Any, **options: Any) -> Any:
        if folder != bundled_path(BUNDLED_VECTORS):
            return open_vectors(folder, **options)
        files = options.get("files", VectorFileSettings())
        key = str(
            [options.get("languages"), *(getattr(files, one.name) for one in fields(VectorFileSettings))]
        )
        if key not in kept:
            kept[key] = open_vectors(folder, **options)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aligner_module, "open_state", open_model_once)
        patch.setattr(storage_module, "load_both_languages", open_vectors_once)
        yield


@pytest.fixture
def learned() -> Aligner:
    """An aligner learned from the toy language with the default preset."""
    return toy_training().aligner


@pytest.fixture
def fast() -> Aligner:
    """The same with preset fast."""
    return toy_training("fast").aligner
