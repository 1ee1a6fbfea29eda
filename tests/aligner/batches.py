"""A law of all aligners: company changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.training_steps import TrainingResult
from nmtalign.links.alignments import AlignedBatch

Pairs = Sequence[tuple[list[str], list[str]]]


def check_alone(aligner: Aligner, pairs: Pairs, places: Iterable[int]) -> None:
    """Check that the pairs at some places get the same links and bits alone as in a batch of all."""
    batch = aligner.align_batch(pairs)
    turned = aligner.align_batch(pairs[::-1])
    for n in places:
        alone = aligner.align_batch([pairs[n]])
        for other, m in ((batch, n), (turned, len(pairs) - 1 - n)):
            own = slice(*other.offsets[m : m + 2])
            np.testing.assert_array_equal(other.probability[own], alone.probability)
            assert other.scores[m] == alone.scores[0]
            assert other.links(m) == alone.links(0)


def training_links(result: TrainingResult) -> AlignedBatch:
    """Return the links of the words of the text that an aligner was learned from."""
    return result.align([result.aligner.resolved_extraction], "words")[0]


def check_same_bits(batch: AlignedBatch, expected: AlignedBatch) -> None:
    """Check that two batches are equal, and have numbers of the same types."""
    assert batch == expected
    for name in ("offsets", "source", "target", "probability", "scores"):
        assert getattr(batch, name).dtype == getattr(expected, name).dtype
    assert batch.unit == expected.unit
