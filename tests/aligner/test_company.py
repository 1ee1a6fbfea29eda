"""What must hold of a pair by construction, whatever stands beside it: its bits, equal words, its ties."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pytest

from nmtalign import names
from nmtalign.aligner.opening import vector_aligner
from nmtalign.corpus import sections as sections_module
from nmtalign.corpus.text import encode_text
from nmtalign.decoding.extraction_methods import attention_posteriors, make_extraction
from nmtalign.external.links_from import Linker
from nmtalign.external.matrix_files import PairMatrix
from nmtalign.links.selection import SYMMETRIZATION_METHODS
from nmtalign.settings import LinkSettings
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from tests.aligner.batches import check_alone
from tests.aligner.toy_language import toy_bitext
from tests.scorers.bahdanau import untrained_bahdanau

# made-up words, random vectors
pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem|the norms|.*look unrelated)")

WORDS = [f"w{n}" for n in range(30)]
EXTRACTIONS = [make_extraction(LinkSettings(name)) for name in get_args(names.ExtractionName)]
EXTRACTIONS += [make_extraction(LinkSettings(symmetrize=name)) for name in SYMMETRIZATION_METHODS]
SCORES = ["dot", "scaled-dot", "cosine", "bahdanau"]
POSITIONS = ["none", "diagonal", "hmm"]


def embeddings(seed: int, words=WORDS) -> Embeddings:
    matrix = np.random.default_rng(seed).normal(size=(len(words), 25)).astype(np.float32)
    return Embeddings(Vocabulary.from_words(words), matrix)


def random_pairs(sizes, seed: int = 0):
    """Pairs of so many words each, some of them unknown."""
    random = np.random.default_rng(seed)
    return [tuple(list(random.choice([*WORDS, "unknown"], size=n)) for n in pair) for pair in sizes]


# of like length and of lengths of their own; empty, of one word, from 48 words on by matrix products
SIZES = [*((n, m) for n in (7, 8) for m in (7, 8)), (1, 1), (0, 3), (1, 9), (20, 4), (47, 50), (8, 7)]
PAIRS = random_pairs(SIZES)


def over(source: Embeddings, target: Embeddings, score: str, positions: str):
    own = untrained_bahdanau(25) if score == "bahdanau" else score
    return vector_aligner(source, target, score=own, positions=positions)


def made(score: str, positions: str):
    aligner = over(embeddings(1), embeddings(2), score, positions)
    aligner = replace(aligner, workers=1)
    if not aligner.needs_fitting:
        return aligner
    jump_models = aligner.positions.learned_jump_models
    scorer, fitted = aligner.scorer.fitted([pair for pair in PAIRS if all(pair)], 1, jump_models)
    return replace(aligner, scorer=scorer, positions=fitted)


@pytest.mark.parametrize(("score", "positions"), product(SCORES, POSITIONS))
def test_given_vectors_give_a_pair_the_same_bits_in_any_company(score, positions):
    """With a third of the extractions each, but so that every score and every position model meets all."""
    aligner = made(score, positions)
    first = (SCORES.index(score) + POSITIONS.index(positions)) % 3
    for n, extraction in list(enumerate(EXTRACTIONS))[first::3]:
        check_alone(replace(aligner, extraction=extraction), PAIRS, (n % 3, (0, 3, 8, 9)[n % 4]))


@pytest.fixture
def cut_finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of more than 100 words are long."""
    for name, words in (("MAX_UNSPLIT_WORDS", 100), ("CORE_WORDS", 50), ("MARGIN_WORDS", 40)):
        monkeypatch.setattr(sections_module, name, words)


@pytest.mark.parametrize("positions", ["none", "diagonal", "hmm"])
def test_a_long_pair_of_given_vectors_has_the_same_bits_in_any_company(cut_finely, positions):
    pairs = random_pairs([(3, 3), (160, 130), (5, 150), (130, 160), (160, 130), (0, 110)], seed=1)
    check_alone(made("cosine", positions), pairs, (1, 2, 3, 5))


def test_a_learned_aligner_gives_a_pair_the_same_bits_in_any_company(cut_finely, learned):
    text = toy_bitext(60, seed=5).words
    long = [tuple([word for pair in text[:40] for word in pair[side]] for side in (0, 1))]
    assert min(map(len, long[0])) > 150
    pairs = [*text[40:], ([], ["zu"]), *long, (["unseen", "1997"], ["1997"]), *text[:4]]
    for n, extraction in enumerate(EXTRACTIONS):
        check_alone(replace(learned, extraction=extraction, workers=1), pairs[:20], (n, 19))
    check_alone(replace(learned, workers=1), pairs, (1, 20, 21, 22, 26))


@pytest.mark.parametrize("score", SCORES)
def test_a_word_pair_has_one_score_wherever_it_stands(score):
    source, target = embeddings(1), embeddings(2)
    source.matrix[7], target.matrix[9] = source.matrix[3], target.matrix[4]  # words of equal vectors
    aligner = over(source, target, score, "none")
    text = encode_text([*PAIRS, *random_pairs([(30, 30)] * 3, seed=2)])
    alike = [{"w7": "w3"}, {"w9": "w4"}]
    scores, found = aligner.scorer.score_text(text), {}
    for k, bucket in enumerate(text.buckets):
        for (t, s, b), value in np.ndenumerate(scores.scores(k)):
            if bucket.inside[t, s, b]:
                first, second = text.source.words[bucket.source[s, b]], text.target.words[bucket.target[t, b]]
                own = alike[0].get(first, first), alike[1].get(second, second)
                assert found.setdefault(own, value) == value
    assert len(found) > 700


def external(pairs, weights, extraction):
    linker = Linker("", iter, attention_posteriors, extraction)
    return linker.align([PairMatrix(*own) for own in zip(pairs, weights, strict=True)])


@pytest.mark.parametrize("extraction", [e for e in EXTRACTIONS if e.effective_threshold is None], ids=str)
def test_attention_of_others_is_the_same_one_by_one_and_in_buckets(extraction):
    random = np.random.default_rng(3)
    pairs = random_pairs([*SIZES, *random.integers(0, 9, (40, 2)).tolist()], seed=3)
    weights = [
        np.round(random.dirichlet(np.ones(len(source)), len(target)), 1)  # of one decimal: many ties
        if source
        else np.zeros((len(target), 0))
        for source, target in pairs
    ]
    batch = external(pairs, weights, extraction)
    assert len(batch.source) > 40
    for n, (pair, own) in enumerate(zip(pairs, weights, strict=True)):
        alone = external([pair], [own], extraction)
        rows = slice(*batch.offsets[n : n + 2])
        assert batch.links(n) == alone.links(0)
        np.testing.assert_array_equal(batch.probability[rows], alone.probability)
        assert batch.scores[n] == alone.scores[0]


@pytest.mark.parametrize("method", ["posterior", "threshold", "mutual"])
@pytest.mark.parametrize("name", ["learned", "none", "hmm"])
def test_a_cell_as_likely_as_the_threshold_is_a_link(name, method, learned):
    """The threshold is the least probability of a link, whatever chose it."""
    text = toy_bitext(1, seed=5, longest=9).words[0] if name == "learned" else PAIRS[3]
    aligner = learned if name == "learned" else made("cosine", name)
    plain = replace(aligner, extraction=make_extraction(LinkSettings(method, threshold=0.01))).align(*text)
    cell = max(plain.probabilities, key=plain.probabilities.get)
    probability = plain.posterior[cell.target, cell.source]
    above = np.nextafter(probability, probability.dtype.type(2))
    for limit, linked in ((probability, True), (above, False)):
        limited = replace(aligner, extraction=make_extraction(LinkSettings(method, threshold=float(limit))))
        assert (cell in limited.align(*text).links) is linked
