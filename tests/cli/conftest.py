"""Fixtures of the tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nmtalign.rescoring import rescorer


@pytest.fixture(autouse=True, scope="package")
def rescorers_learn_for_few_epochs() -> Iterator[None]:
    """Train rescorers for a tenth of the time: how good they are is tested in tests/rescoring."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rescorer, "GOLD_SCHEDULE", replace(rescorer.GOLD_SCHEDULE, max_epochs=6))
        yield
