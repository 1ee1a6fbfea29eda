"""``batch.choose``: the links of another method, bit-identical to those of an alignment with that method."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from functools import cache
from typing import Any, cast, get_args

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.decoding.kept_posteriors import KEPT_METHODS, MIN_KEPT_POSTERIOR
from nmtalign.names import SYMMETRIZATIONS, ExtractionName
from nmtalign.scorers.dictionary_phrases import Phrases
from nmtalign.scorers.mixture import Mixture
from tests.aligner.batches import check_same_bits
from tests.aligner.toy_language import toy_bitext, toy_training

METHODS = get_args(ExtractionName)
TOY = toy_bitext(40, seed=7, longest=14)
# words that the model and the vectors know, unknown ones, punctuation, and tokens of two parts
SOURCE = ["the", "black", "cat", "sees", "a", "dog", ",", "don't", "zyx", "house", "of", "water."]
TARGET = ["le", "chat", "noir", "voit", "un", "chien", ",", "n'est", "qwv", "maison", "de", "l'eau."]


def lines_of(words: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words), max_size=9).map(" ".join)


TEXTS = st.lists(st.tuples(lines_of(SOURCE), lines_of(TARGET)), min_size=1, max_size=6)
THRESHOLDS = st.one_of(
    st.none(), st.sampled_from([MIN_KEPT_POSTERIOR, 0.3, 0.5, 0.55, 1.0]), st.floats(MIN_KEPT_POSTERIOR, 1)
)
OPTIONS = st.one_of(
    st.fixed_dictionaries({"extract": st.sampled_from(METHODS), "threshold": THRESHOLDS}),
    st.fixed_dictionaries({"symmetrize": st.sampled_from(SYMMETRIZATIONS), "threshold": THRESHOLDS}),
    st.fixed_dictionaries({"threshold": THRESHOLDS}),
)


def _with_phrases() -> na.Aligner:
    """Return the bundled model with phrases that complete links."""
    aligner = na.load()
    scorer = cast(Mixture, aligner.scorer)
    phrases = Phrases([("cat", "chat noir"), ("black dog", "chien"), ("sees", "voit un")], (0, 0))
    return replace(aligner, scorer=replace(scorer, lexicon=replace(aligner.lexicon, phrases=phrases)))


ALIGNERS = {
    "learned": na.load,
    "simple tokens": lambda: na.load(tokenizer="simple"),
    "match by default": lambda: na.load(extract="match"),
    "phrases": _with_phrases,
    "vectors": lambda: na.load("en_fr_vectors"),
    "vectors anywhere": lambda: na.load("en_fr_vectors", positions="none", tokenizer="simple"),
    "vectors hmm": lambda: na.fit_to(na.load("en_fr_vectors", positions="hmm"), [("the cat", "le chat")] * 9),
}


@cache
def aligner_of(name: str) -> na.Aligner:
    return ALIGNERS[name]()


@pytest.mark.filterwarnings("ignore::nmtalign.NmtalignWarning")  # of texts with unknown words
@given(st.sampled_from(list(ALIGNERS)), TEXTS, OPTIONS, st.booleans())
@example("vectors", [("the black cat", "le chat noir"), ("", "le")], {"symmetrize": "grow-diag"}, False)
@example("phrases", [("the cat sees", "le chat noir voit un")], {"extract": "posterior"}, True)
@settings(deadline=None, max_examples=30)
def test_chosen_links_are_those_of_an_alignment(
    name: str, text: list[tuple[str, str]], options: dict[str, Any], posteriors: bool
) -> None:
    aligner = aligner_of(name)
    batch = aligner.align_batch(text, posteriors=posteriors)
    check_same_bits(batch, aligner.align_batch(text))
    expected = na.load(aligner, **options).align_batch(text)
    chosen = batch.choose(**options)
    check_same_bits(chosen, expected)
    assert chosen[0].description == expected[0].description
    check_same_bits(chosen[::-1].choose(), expected[::-1])


@pytest.mark.parametrize("name", ["learned", "vectors anywhere"])
def test_long_pairs_have_the_links_of_all_their_sections(name: str) -> None:
    aligner = aligner_of(name)
    draw = random.Random(1)
    long_pair = " ".join(draw.choices(SOURCE, k=260)), " ".join(draw.choices(TARGET, k=220))
    text = [("the cat", "le chat"), long_pair, ("", "le")]
    batch = aligner.align_batch(text, posteriors=True)
    assert len(batch.origin.posteriors.pair_of_section) > len(text)
    of_part = aligner.align_batch(text)[1:]
    for options in (
        {"threshold": 0.05},
        {"extract": "match"},
        {"extract": "itermax"},
        {"symmetrize": "intersection"},
        {"symmetrize": "grow-diag-final"},
    ):
        expected = na.load(aligner, **options).align_batch(text)
        check_same_bits(batch.choose(**options), expected)
        check_same_bits(of_part.choose(**options), expected[1:])


@pytest.mark.parametrize(
    "units",
    [
        {"count": "tokens"},
        {"spaces": "▁"},
        {"pieces": "bpe"},
        {"pieces": "bpe", "count": "pieces"},
    ],
)
def test_links_count_the_same_unit(units: dict[str, Any]) -> None:
    aligner = aligner_of("simple tokens")
    text = [("the c@@ at, a d@@ og", "le ch@@ at, un chien"), ("", "le"), ("don't go", "n'y va pas")]
    for options in ({"extract": "mutual"}, {"threshold": 0.05}, {"symmetrize": "union"}):
        expected = na.load(aligner, **options).align_batch(text, **units)
        batch = aligner.align_batch(text, posteriors=True, **units)
        check_same_bits(batch.choose(**options), expected)
        check_same_bits(pickle.loads(pickle.dumps(batch)).choose(**options), expected)


@pytest.mark.parametrize("options", [{}, {"threshold": 0.2}, {"extract": "match"}, {"extract": "transport"}])
def test_the_votes_of_an_expert_count(options: dict[str, Any]) -> None:
    aligner = toy_training("fast").aligner
    expert = [links if n % 3 else set() for n, links in enumerate(TOY.links)]
    batch = aligner.align_batch(TOY.pairs, expert=expert, posteriors=True)
    expected = na.load(aligner, **options).align_batch(TOY.pairs, expert=expert)
    check_same_bits(batch.choose(**options), expected)
    assert batch != aligner.align_batch(TOY.pairs)


@pytest.mark.parametrize("source", ["matrices", "similarities"])
@given(st.integers(0, 2**32 - 1), OPTIONS)
@settings(deadline=None, max_examples=30)
def test_links_from_other_programs_are_chosen_again(source: str, seed: int, options: dict[str, Any]) -> None:
    generator = np.random.default_rng(seed)
    text = [("a b c", "x y"), ("", ""), ("a", "x y z"), ("a b c d e", "x y z w")]
    shapes = [(len(target.split()), len(line.split())) for line, target in text]
    if source == "matrices":
        arrays = [generator.dirichlet(np.full(S, 0.3), T) if S else np.zeros((T, S)) for T, S in shapes]
        links = na.links_from(text, matrices=arrays)
        expected = na.links_from(text, matrices=arrays, **options)
        check_same_bits(links.choose(**options), expected)
    else:
        arrays = [generator.uniform(-1, 1, shape) for shape in shapes]
        links = na.links_from(text, similarities=arrays, method="simalign-match")
        assert links.choose() == links
        kept = links.choose(threshold=0.6)
        posteriors = [pair.posterior for pair in links]
        for n, posterior in enumerate(posteriors):
            assert kept.links(n) == [link for link in links.links(n) if posterior[link[::-1]] >= 0.6]


def test_a_batch_that_travels_needs_the_posteriors() -> None:
    batch = toy_training("fast").aligner.align_batch(TOY.pairs, posteriors=True)
    pickled = pickle.loads(pickle.dumps(batch))
    for extract in METHODS:
        if extract not in ("transport", "every-word"):
            check_same_bits(pickled.choose(extract=extract), batch.choose(extract=extract))
    check_same_bits(pickled.choose(), batch)
    check_same_bits(pickled[5:2:-1].choose(threshold=0.1), batch[5:2:-1].choose(threshold=0.1))
    with pytest.raises(na.UsageError, match="`extract=transport` compares the posteriors of all cells"):
        pickled.choose(extract="transport")
    with pytest.raises(na.UsageError, match=r"kept from 0\.01, found `threshold=0\.005`"):
        pickled.choose(threshold=0.005)
    without = pickle.loads(pickle.dumps(na.load().align_batch([("the cat", "le chat")])))
    with pytest.raises(na.UsageError, match="`posteriors=True`"):
        without.choose(threshold=0.5)


def test_few_cells_are_kept() -> None:
    """At most 1 / MIN_KEPT_POSTERIOR cells per word, and far fewer."""
    batch = toy_training("fast").aligner.align_batch(TOY.pairs * 20, posteriors=True)
    kept = batch.origin.posteriors
    assert kept.methods == KEPT_METHODS
    words = int(kept.source_lengths.sum() + kept.target_lengths.sum())
    assert len(kept.cells.source) < 3 * words
    assert sum(column.nbytes for column in kept.cells) < 60 * words


def test_wrong_settings_are_refused() -> None:
    batch = na.load().align_batch([("the cat", "le chat")])
    with pytest.raises(na.UsageError, match="did you mean 'mutual'"):
        batch.choose(extract=cast(Any, "mutal"))
    with pytest.raises(na.UsageError, match="threshold"):
        batch.choose(threshold=0)
    with pytest.raises(na.UsageError, match="cannot be combined"):
        batch.choose(extract="mutual", symmetrize="union")
    with pytest.raises(na.UsageError, match="links without words, and no posteriors"):
        na.symmetrize(["0-0"], ["0-0"]).choose(threshold=0.3)
