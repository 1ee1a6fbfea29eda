"""Vectors from the counts of a lexicon: translations are near, relatives stand in for words without links."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.errors import DataError, UsageError
from nmtalign.scorers.dense import count_embeddings
from nmtalign.scorers.forms import FormCounts, number_forms
from nmtalign.scorers.lexicon import Lexicon, StoredForms
from nmtalign.scorers.likelihood_ratios import Smoothing
from nmtalign.training.em import learn_lexicon
from nmtalign.vectors.embeddings import Embeddings
from tests.aligner.toy_language import toy_bitext

SOURCE = ["", "the", "house", "houses", "tree", "housework"]
TARGET = ["", "das", "haus", "baum"]


def side(size: int) -> FormCounts:
    return FormCounts(np.zeros(size), np.zeros(size), 0.0)


def lexicon(links: dict[tuple[str, str], float], letters: tuple[int, ...] = (0,)) -> Lexicon:
    """A lexicon whose forms hold these links of words, summed by their first letters."""
    forms = []
    for cut in letters:
        rows, columns = number_forms(SOURCE, cut), number_forms(TARGET, cut)
        counts: dict[int, float] = {}
        for (a, b), count in links.items():
            key = int(rows[0][SOURCE.index(a)]) * len(columns[1]) + int(columns[0][TARGET.index(b)])
            counts[key] = counts.get(key, 0.0) + count
        keys = np.array(sorted(counts), dtype=np.int64)
        values = np.array([counts[int(key)] for key in keys], dtype=np.float32)
        forms.append(StoredForms((cut, cut), keys, values, (side(len(rows[1])), side(len(columns[1])))))
    falling = np.array([0, 9, 8, 3, 2, 1]), np.array([0, 9, 8, 3])
    return Lexicon(SOURCE, TARGET, *falling, forms, Smoothing(10.0, 1.0, 0.1), 0.0)


LINKS = {("the", "das"): 9.0, ("house", "haus"): 8.0, ("houses", "haus"): 2.0, ("tree", "baum"): 2.0}


def cosine(source: Embeddings, target: Embeddings, a: str, b: str) -> float:
    return float((source.vectors([a]) @ target.vectors([b]).T)[0, 0])


def test_linked_words_are_near_and_others_are_not() -> None:
    source, target = count_embeddings(lexicon(LINKS), dimension=3)
    for a, b in LINKS:
        assert cosine(source, target, a, b) > 0.99
    assert abs(cosine(source, target, "tree", "haus")) < 0.01
    assert source.settings == {
        "method": "counts",
        "dimension": 3,
        "minimum": 1,
        "seed": 1,
        "subwords": False,
    }


def test_a_word_without_links_stands_where_its_relatives_do() -> None:
    source, target = count_embeddings(lexicon(LINKS | {("houses", "baum"): 2.0}), dimension=3)
    family = [cosine(source, target, word, "haus") for word in ("houses", "housework", "house")]
    assert family[0] < family[1] < family[2]


def test_rare_links_and_rare_words_are_left_out() -> None:
    noisy = LINKS | {("tree", "haus"): 0.04}
    source, target = count_embeddings(lexicon(noisy), dimension=3, minimum=3)
    assert source.vocabulary.words == ["the", "house", "houses"]
    assert target.vocabulary.words == ["das", "haus", "baum"]
    plain = count_embeddings(lexicon(LINKS), dimension=3, minimum=3)
    np.testing.assert_array_equal(source.matrix, plain[0].matrix)


def test_subwords_average_the_cosines_of_the_views() -> None:
    forms = [count_embeddings(lexicon(LINKS, (0,)), dimension=3)]
    both = count_embeddings(lexicon(LINKS, (0, 3)), dimension=6, subwords=True)
    assert both[0].matrix.shape == (5, 6)
    assert both[0].settings["subwords"] is True
    assert cosine(*both, "housework", "haus") > 0.99
    assert cosine(*both, "tree", "haus") < max(0.01, cosine(*forms[0], "tree", "haus"))
    np.testing.assert_allclose(np.linalg.norm(both[0].matrix, axis=1), 1, rtol=1e-5)


def test_learned_from_a_bitext_twice_the_same() -> None:
    pairs = toy_bitext(200).words
    first, second = (count_embeddings(learn_lexicon(pairs), dimension=12) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert a.vocabulary.words == b.vocabulary.words
        np.testing.assert_array_equal(a.matrix, b.matrix)
    source, target = first
    names = np.random.default_rng(99).permutation(60)  # the dictionary of the toy language
    nearest = (target.matrix @ source.matrix.T).argmax(axis=1)
    meant = zip(target.vocabulary.words, nearest, strict=True)
    right = [source.vocabulary.words[n] == f"{names[int(w[:2])]:02d}ab" for w, n in meant if w != "zu"]
    assert np.mean(right) > 0.9


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(DataError, match="no links"):
        count_embeddings(lexicon({("the", "das"): 0.01}))
    with pytest.raises(UsageError, match="no counts of whole words"):
        count_embeddings(lexicon(LINKS, (3,)))
    with pytest.raises(UsageError, match="`dimension` must be at least 2"):
        count_embeddings(lexicon(LINKS, (0, 3)), dimension=1, subwords=True)
