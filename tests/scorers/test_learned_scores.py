"""Projections of scaled dot-product: the formula, their file, the folder of vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nmtalign.attention.scores import scaled_dot
from nmtalign.errors import DataError, UsageError
from nmtalign.scorers.vector_scores import (
    BahdanauScore,
    ProjectedDot,
    make_score,
    score_in,
)

RANDOM = np.random.default_rng(0)
W_Q, W_K = RANDOM.normal(size=(2, 4, 3))
QUERIES, KEYS = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(6, 4))


def test_scores_are_the_formula_of_the_paper():
    score = ProjectedDot(W_Q, W_K, scale=2.0)
    expected = 2 * np.array([[(q @ W_Q) @ (k @ W_K) / math.sqrt(3) for k in KEYS] for q in QUERIES])
    found = score(score.queries(QUERIES), score.keys(KEYS))
    # Projections are rounded to 26 bits of their length: by Cauchy-Schwarz 2 sqrt(A) 2^-26 of their product.
    sizes = np.outer(np.linalg.norm(QUERIES @ W_Q, axis=1), np.linalg.norm(KEYS @ W_K, axis=1))
    assert (np.abs(found - expected) <= 4 * math.sqrt(3) * 2**-26 * sizes).all()
    np.testing.assert_allclose(expected / 2, scaled_dot(QUERIES @ W_Q, KEYS @ W_K), rtol=1e-12)


def test_a_word_has_the_same_projection_alone_and_among_others():
    score = ProjectedDot(W_Q, W_K)
    alone = np.vstack([score.queries(QUERIES[n : n + 1]) for n in range(len(QUERIES))])
    assert alone.tobytes() == score.queries(QUERIES).tobytes()


def test_projections_come_from_a_file(tmp_path):
    np.savez(tmp_path / "x.npz", W_q=W_Q, W_k=W_K, null=np.zeros(2))
    found = ProjectedDot.load(tmp_path / "x.npz", 4)
    assert found.description == "score=scaled-dot(x.npz) scale=1"
    np.testing.assert_array_equal(found.W_q, W_Q)
    np.testing.assert_array_equal(found.W_k, W_K)


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"W_q": W_Q}, "expected the arrays W_q and W_k; found ..W_q"),
        ({"W_q": W_Q.T, "W_k": W_K.T}, "W_q"),
        ({"W_q": W_Q, "W_k": W_K[:, :2]}, "W_k"),
        ({"W_q": W_Q, "W_k": W_K[0]}, "W_k"),
        ({"W_q": W_Q[0], "W_k": W_K}, "W_q"),
        ({"W_q": W_Q, "W_k": np.full((4, 3), np.nan)}, "W_k"),
    ],
)
def test_files_that_do_not_fit_are_refused(arrays, told, tmp_path):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=told):
        ProjectedDot.load(tmp_path / "x.npz", 4)


def test_a_folder_gives_its_parameters(tmp_path):
    assert score_in(tmp_path, "scaled-dot", 4) == "scaled-dot"
    assert score_in(tmp_path, "cosine", 4) == "cosine"
    with pytest.raises(UsageError, match=r"nmtalign vectors attention.*, or copy your own to bahdanau.npz"):
        score_in(tmp_path, "bahdanau", 4)
    np.savez(tmp_path / "scaled-dot.npz", W_q=W_Q, W_k=W_K)
    np.savez(tmp_path / "bahdanau.npz", W=W_Q, U=W_K, v=np.ones(3), b=np.zeros(3), null=np.zeros(2))
    assert isinstance(score_in(tmp_path, "scaled-dot", 4), ProjectedDot)
    assert isinstance(score_in(tmp_path, "bahdanau", 4), BahdanauScore)


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "vectors").mkdir()
    np.savez(tmp_path / "other.npz", W_q=W_Q, W_k=W_K)
    (tmp_path / "vectors" / "scaled-dot.npz").symlink_to(tmp_path / "other.npz")
    with pytest.raises(DataError, match="leads out of it"):
        score_in(tmp_path / "vectors", "scaled-dot", 4)


def test_captions_name_the_score_and_say_whether_it_is_learned():
    assert make_score("scaled-dot", 16).caption == "plain scaled dot-product, scale 0.25"
    assert make_score("cosine", 100).caption == "cosine, scale 10"
    learned = ProjectedDot(W_Q, W_K, origin="scaled-dot.npz", null=0.1)
    assert learned.caption == "scaled dot-product, learned parameters of scaled-dot.npz"
    given = BahdanauScore(W_Q, W_K, np.ones(3), np.zeros(3), scale=2.0, origin="mine.npz")
    assert given.caption == "Bahdanau, parameters of mine.npz, scale 2"
