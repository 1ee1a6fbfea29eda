"""Texts at the edges: every number is finite and normalized, and NumPy has nothing to warn of."""

from __future__ import annotations

import numpy as np
import pytest

import nmtalign

pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem)")  # made-up words

LONG = [f"w{n % 97}" for n in range(300)]  # is split into sections
WORDS = [("the cat", "le chat"), ("a dog", "un chien"), ("the dog", "le chien")]
TEXTS = {
    "one pair": [("the cat", "le chat")],
    "a lexicon of one word": [("a", "b")] * 5,
    "one word many times": [("a a a a", "b b")] * 5,
    "identical pairs": WORDS[:1] * 70_000,  # more than 16 bits count
    "source and target are equal": [(source, source) for source, _ in WORDS] * 20,
    "300 words": [(" ".join(LONG), " ".join(LONG[::-1]))] + WORDS * 5,
    "one word by many": [("a", " ".join(LONG))] * 2 + WORDS * 5,
    "empty sides": [("", "le"), ("a", ""), ("", "")] + WORDS * 5,
}
ASKED = [
    *WORDS,
    ("nothing known here", "rien de connu"),
    ("the", "le"),
    (" ".join(LONG), " ".join(LONG)),
    ("zz " * 300, "yy " * 270),
]


@pytest.mark.filterwarnings("ignore:the text is too small")
@pytest.mark.filterwarnings("ignore:.*is one file given twice")
@pytest.mark.parametrize("name", TEXTS)
def test_numbers_of_a_learned_aligner(name):
    aligner = nmtalign.train(TEXTS[name])  # a warning would be an error
    pairs = [aligner.align(*pair) for pair in [*ASKED, TEXTS[name][0]] if all(pair)]
    batch = aligner.align_batch(ASKED)
    for pair in pairs:
        for weights, axis in ((pair.forward, 1), (pair.reverse, 0)):
            sums = weights.sum(axis)
            assert np.isfinite(weights).all()
            assert (weights >= 0).all()
            assert (sums <= 1 + 1e-4).all()  # the rest is the null word's
    assert np.isfinite(batch.probability).all()
    assert ((batch.probability >= 0) & (batch.probability <= 1 + 1e-6)).all()
    assert np.isfinite(batch.scores).all()
    assert ((batch.scores >= 0) & (batch.scores <= 1)).all()
