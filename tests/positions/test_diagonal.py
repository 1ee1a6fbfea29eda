"""The diagonal prior of a bucket is that of each of its pairs alone, and nothing of it is kept."""

from __future__ import annotations

import numpy as np

from nmtalign.attention import diagonal_prior
from nmtalign.corpus.text import encode_text
from nmtalign.positions.position_model import SoftmaxPositions, TextScores


class NoScores(TextScores):
    """A text whose cells all have the score 0."""

    def __init__(self, lengths):
        sides = [
            ([f"s{n}" for n in range(source)], [f"t{n}" for n in range(target)]) for source, target in lengths
        ]
        self.text = encode_text(sides)

    def scores(self, k):
        return np.zeros(self.text.buckets[k].shape)


def test_the_prior_of_a_bucket_is_that_of_its_pairs_bit_by_bit():
    lengths = [(source, target) for source in (1, 2, 5, 6, 30) for target in (1, 3, 5, 7, 31)]
    scores = NoScores(lengths)
    posteriors_of = SoftmaxPositions("diagonal", 3.7).posteriors_of(scores)
    seen = 0
    for k, bucket in enumerate(scores.text.buckets):
        logits = posteriors_of(k).posteriors.scores
        for b, (T, S) in enumerate(zip(bucket.target_lengths, bucket.source_lengths, strict=True)):
            if T and S:  # else a filler
                seen += 1
                np.testing.assert_array_equal(logits[:T, :S, b], diagonal_prior(T, S, strength=3.7))
        assert not logits[~bucket.inside].any()
    assert seen == len(lengths)
