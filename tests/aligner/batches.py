"""A law of all aligners: company changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nmtalign.aligner.aligner import Aligner

Pairs = Sequence[tuple[list[str], list[str]]]


def check_alone(aligner: Aligner, pairs: Pairs, places: Iterable[int]) -> None:
    """Check that the pairs at some places get the same links and bits alone as in a batch of all."""
    batch = aligner.align_batch(pairs)
    for n in places:
        alone = aligner.align_batch([pairs[n]])
        own = slice(*batch.offsets[n : n + 2])
        np.testing.assert_array_equal(batch.probability[own], alone.probability)
        assert batch.links(n) == alone.links(0)
