"""Links moved to other positions, against sets in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.batch.remapping import remap_batch
from nmtalign.links.alignments import AlignedBatch

PAIR = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=12, unique_by=lambda x: x[:2]
)
PLACES = st.lists(st.integers(0, 2), min_size=6, max_size=6).map(sorted)


@given(st.lists(st.tuples(PAIR, PLACES, PLACES), max_size=5))
def test_remapped_links_are_the_images_of_the_links(pairs):
    rows = [sorted(links) for links, _, _ in pairs]
    flat = np.array([link for row in rows for link in row], dtype=np.int32).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, rows)])
    scores = np.arange(len(pairs), dtype=float)
    batch = AlignedBatch(offsets, flat[:, 0], flat[:, 1], (flat[:, 2] / 10).astype(np.float32), scores)
    remapped = remap_batch(batch, [source for _, source, _ in pairs], [target for _, _, target in pairs])
    for n, (links, source, target) in enumerate(pairs):
        expected: dict[tuple[int, int], float] = {}
        for s, t, tenths in links:
            image = source[s], target[t]
            expected[image] = max(expected.get(image, 0), tenths)
        probability = remapped.probability[remapped.offsets[n] : remapped.offsets[n + 1]]
        assert [tuple(link) for link in remapped.links(n)] == sorted(expected)
        np.testing.assert_allclose(probability, [expected[link] / 10 for link in sorted(expected)], rtol=1e-6)
    np.testing.assert_array_equal(remapped.scores, scores)
