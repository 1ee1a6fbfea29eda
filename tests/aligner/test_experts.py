"""Experts: their links prime the lexicon and vote; worked numbers, laws, and what is refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import nmtalign
from nmtalign.aligner.experts import (
    EncoderLinks,
    Expert,
    Trust,
    estimate_trust,
    expert_word_counts,
    paired_with,
    with_expert_votes,
)
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus.text import encode_text
from nmtalign.corpus.units import PairToAlign
from nmtalign.decoding.extraction_methods import PUBLISHED_METHODS, make_extraction, soft_posteriors
from nmtalign.errors import DataError, UsageError
from nmtalign.external.links_from import Linker
from nmtalign.external.matrix_files import PairMatrix
from nmtalign.links.alignments import Link
from nmtalign.links.inputs import batch_of_links
from nmtalign.positions.position_model import Posteriors, PosteriorsAndRatios
from nmtalign.run.stream import align_chunks
from nmtalign.settings import LinkSettings
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import iter_chunks
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.training.prior import Prior
from tests.aligner.batches import training_links
from tests.aligner.toy_language import links_of, toy_bitext, training_job
from tests.corpus.encoded_sides import encode_side

TOY = toy_bitext(40, seed=8, vocabulary=300, disorder=9)  # so little text that the lexicon is poor


@pytest.fixture(scope="module")
def advised():
    """An aligner that was told all links."""
    return nmtalign.train(TOY.pairs, expert=TOY.links, preset="fast", workers=1)


def table(links, forward, reverse, joint, words=None):
    """Return a text of one pair, with links, and what attends it; by default, all words are different."""
    joint = np.asarray(joint, np.float32)
    T, S = joint.shape
    text = encode_text([words or ([f"s{n}" for n in range(S)], [f"t{n}" for n in range(T)])])
    object.__setattr__(text, "expert_links", batch_of_links([links]))
    whole = np.zeros((3, *text.buckets[0].shape), np.float32)
    whole[:, :T, :S, 0] = forward, reverse, joint
    return text, lambda k: PosteriorsAndRatios(Posteriors(*whole), None)


def test_votes_by_hand():
    """Odds are three times as high for a link, half against: at the constant 1.5."""
    forward, reverse = [[0.5, 0.25], [0.0, 0.8]], [[0.6, 0.5], [0.0, 0.5]]
    text, attend = table([(0, 0), (1, 1)], forward, reverse, [[0.5, 0.2], [0.0, 0.8]])
    trust = Trust(3 ** (2 / 3) / (1 + 3 ** (2 / 3)), 1 - 2 ** (-2 / 3), context=0.9)
    found = with_expert_votes(attend, text, trust)(0).posteriors
    own = [part[:2, :2, 0] for part in (found.joint, found.forward, found.reverse)]
    np.testing.assert_allclose(own[0], [[3 / 4, 1 / 9], [0, 12 / 13]], rtol=1e-6)
    sums = 3 * 0.5 + 0.25 / 2 + 0.25, 3 * 0.8 + 0.2  # with null, which nobody votes on
    np.testing.assert_allclose(own[1], [[1.5 / sums[0], 0.125 / sums[0]], [0, 2.4 / sums[1]]], rtol=1e-6)
    np.testing.assert_allclose(own[2], [[1.8 / 2.2, 0.25 / 1.75], [0, 1.5 / 1.75]], rtol=1e-6)
    assert found.joint[2:].sum() == found.joint[:, 2:].sum() == 0


def test_trust_by_hand():
    """Of three sure links the expert has one; of its links two are between words with sure links."""
    joint = [[0.95, 0.1, 0.0, 0.0], [0.0, 0.95, 0.1, 0.0], [0.0, 0.0, 0.95, 0.3], [0.0, 0.0, 0.0, 0.8]]
    text, attend = table([(0, 0), (2, 1), (3, 3), (3, 2)], joint, joint, joint)
    # no two words meet twice, so only the pseudo-observations say something about the context
    expected = ((1 + 4) / (2 + 5), (1 + 3) / (3 + 5), 0.7)
    assert estimate_trust(attend, text, 1) == pytest.approx(expected)
    assert (Trust(0.5, 0.25, 1).linked_log_odds, Trust(0.3, 0.25, 1).linked_log_odds) == (0, 0)
    assert Trust(0.5, 0.25, 1).unlinked_log_odds == pytest.approx(1.5 * math.log(3 / 4))
    assert Trust(0.5, 0.25, 1).weight == 1 / 16
    text, attend = table([], joint, joint, joint)
    assert estimate_trust(attend, text, 1) == pytest.approx((0.8, 0.6, 0.7))  # nothing is known


def test_context_by_hand():
    """Two words meet four times; the slope is a covariance by a variance, both with pseudo-observations."""
    joint = np.array([[0.95, 0.1], [0.2, 0.8]], np.float32)
    links = [(0, 0)]  # of the first source word and the first target word
    text, attend = table(links, joint, joint, joint, words=(["a", "a"], ["x", "x"]))
    deviations = joint - joint.mean()
    covariance = float(deviations[0, 0])  # x is 1 for the first cell
    variation = float((deviations**2).sum())
    recall = (1 + 3) / (1 + 5)
    pseudo_variance = 5 + 0.2 * (1 - 1 / 4)  # one of four cells is linked
    context = (covariance + pseudo_variance * 0.7 * recall) / (variation + pseudo_variance) / recall
    assert estimate_trust(attend, text, 1).context == pytest.approx(context)


def test_votes_grow_with_the_context():
    scales = [Trust(0.9, 0.9, context).vote_scale for context in (0.0, 0.4, 0.55, 0.7, 1.0)]
    assert scales == pytest.approx([0, 0, 0.75, 1.5, 1.5])


def test_an_expert_that_knows_words_only_does_not_vote():
    """Links that depend on the two words alone say no more than counts of word pairs."""
    toy = toy_bitext(400, seed=8, vocabulary=12, empty=0)
    pairs, gold = [], []
    for k in range(0, len(toy.pairs), 2):  # two lines in one: a word may occur twice in it
        (source, target), (more_source, more_target) = toy.words[k : k + 2]
        pairs.append((" ".join([*source, *more_source]), " ".join([*target, *more_target])))
        shifted = {(s + len(source), t + len(target)) for s, t in toy.links[k + 1]}
        gold.append(toy.links[k] | shifted)
    translations = set()
    for (source, target), links in zip(toy.words, toy.links, strict=True):
        translations |= {(source[s], target[t]) for s, t in links}
    words_only = []
    for source, target in pairs:
        cells = itertools.product(enumerate(source.split()), enumerate(target.split()))
        words_only.append({(s, t) for (s, word), (t, other) in cells if (word, other) in translations})
    aligner = nmtalign.train(pairs, preset="fast", workers=1)
    by_expert = {}
    for name, expert in (("gold", gold), ("words", words_only)):
        by_expert[name] = aligner.align_batch(pairs, expert=expert).origin.aligner.expert.trust
    assert by_expert["gold"].vote_scale == 1.5
    assert by_expert["words"].vote_scale == 0
    assert links_of(aligner.align_batch(pairs, expert=words_only)) == links_of(aligner.align_batch(pairs))


def test_a_warning_names_a_poor_expert():
    toy = toy_bitext(100, seed=3)
    aligner = nmtalign.train(toy.pairs, preset="fast", workers=1)
    wrong = [
        {(s, (t + 1) % len(target)) for s, t in links}
        for links, (_, target) in zip(toy.links, toy.words, strict=True)
    ]
    with pytest.warns(
        nmtalign.NmtalignWarning, match=r"\d % of the expert's links agree; .* leave the expert out"
    ):
        aligner.align_batch(toy.pairs, expert=wrong)
    aligner.align_batch(toy.pairs, expert=toy.links)  # warnings are errors here


def test_the_prior_counts_word_pairs():
    sides = encode_side([["a", "b"], ["b", "a"], ["c"]]), encode_side([["x", "y"], ["x", "y"], ["x"]])
    links = batch_of_links([{(0, 0), (1, 1)}, {(1, 0), (0, 0)}, set()])
    certain = Trust(1.0, 0.6, context=1)
    assert sorted(expert_word_counts(links, *sides, certain)) == [("a", "x", 2), ("b", "x", 1), ("b", "y", 1)]
    words_only = expert_word_counts(links, *sides, Trust(1.0, 0.6, context=0))
    assert sorted(words_only) == [("a", "x", 1), ("b", "x", 1), ("b", "y", 1)]
    entries = expert_word_counts(links, *sides, Trust(1.0, 0.6, context=0), {("a", "x")})
    assert sorted(entries) == [("b", "x", 1), ("b", "y", 1)]  # a word encoder has counted the other pair
    ((_, _, halfway), *_) = sorted(expert_word_counts(links, *sides, Trust(1.0, 0.6, context=0.55)))
    assert halfway == pytest.approx(2**0.5)
    soft = np.where(np.arange(len(links.probability)) == 0, 0.25, links.probability)
    links = replace(links, probability=soft)
    expected = [("a", "x", 1.25), ("b", "x", 1), ("b", "y", 1)]
    assert sorted(expert_word_counts(links, *sides, certain)) == expected


def similarity(pair) -> np.ndarray:
    """Return what stands for the cosines of an encoder: higher, with noise, for words of the same number."""
    numbers = [[int("0" + "".join(filter(str.isdigit, word))) for word in side] for side in pair]
    noise = np.random.default_rng([*map(len, pair), *numbers[0], 0, *numbers[1]])
    return 0.3 * np.equal.outer(numbers[1], numbers[0]) + noise.normal(0.5, 0.1, (len(pair[1]), len(pair[0])))


def encoder(method="simalign-argmax") -> EncoderLinks:
    found, own = EncoderLinks("e", {}), PUBLISHED_METHODS[method]
    read = lambda pairs: (PairMatrix(pair, similarity(pair)) for pair in pairs)  # noqa: E731
    found.__dict__["_linker"] = Linker(
        "e", read, own.posteriors, make_extraction(LinkSettings(own.extract, own.threshold))
    )
    return found


def soft_counts(matrix: np.ndarray) -> np.ndarray:
    sharp = 4 * matrix / (np.sqrt(np.mean((matrix - np.mean(matrix)) ** 2)) or 1)
    found = np.empty_like(matrix)
    for t, s in np.ndindex(*matrix.shape):
        row, column = (sum(math.exp(x - sharp[t, s]) for x in own) for own in (sharp[t], sharp[:, s]))
        found[t, s] = 1 / (row * column)
    return found


def test_similarities_prime_by_soft_counts_and_vote_by_hard_links():
    """Beside a slow version, whatever the company of a pair; the links are those of the method."""
    pairs = [pair for pair in TOY.words if all(pair)]
    links, counts = encoder().links_and_counts(iter(pairs))
    assert links_of(links) == links_of(encoder().of(pairs))
    assert set(links.probability.tolist()) == {1}
    for n, pair in enumerate(pairs):
        rows, found = slice(*counts.offsets[n : n + 2]), soft_counts(similarity(pair))
        expected = np.where(found >= 0.01, found, 0)
        expected[counts.target[rows], counts.source[rows]] -= counts.probability[rows]
        assert np.abs(expected).max() < 1e-5
    assert len(counts.source) > len(links.source)
    alone = [encoder().links_and_counts([pair])[1] for pair in pairs]
    np.testing.assert_array_equal(np.concatenate([own.probability for own in alone]), counts.probability)


def test_the_similarities_of_one_word_or_of_equal_words():
    inside = np.ones((1, 1, 3), bool) & [True, True, False]
    assert soft_posteriors(np.array([[[0.7, -2.0, -1e30]]]), inside).joint.tolist() == [[[1, 1, 0]]]
    assert soft_posteriors(np.full((2, 2, 1), 0.1), np.ones((2, 2, 1), bool)).joint.tolist() == [
        [[0.25], [0.25]],
        [[0.25], [0.25]],
    ]


def test_the_count_of_words_is_the_greatest_of_their_sub_words():
    own, pair = encoder(), (["ab", "c"], ["xy"])
    matrix, word_of_piece = (
        np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.1]]),
        (np.array([0, 0, 1]), np.array([0, 0])),
    )
    own.__dict__["_linker"] = replace(
        own._linker, read=lambda pairs: iter([PairMatrix(pair, matrix, word_of_piece)])
    )
    links, counts = own.links_and_counts([pair])
    assert links_of(links) == [{(0, 0)}]
    assert (counts.links(0), counts.probability[0]) == ([(0, 0)], pytest.approx(soft_counts(matrix).max()))


@pytest.mark.filterwarnings("ignore:where the text tells")
def test_soft_counts_reach_the_prior():
    """Those of pairs are summed, in words; given links count as they are."""
    learning = training_job(PRESET_HYPERPARAMETERS["fast"], expert=Expert(encoder()), workers=1)
    bitext = prepare(TOY.pairs, learning)
    expected: dict[tuple[str, str], float] = {}
    for source, target in TOY.words:
        found = soft_counts(similarity((source, target)))
        for t, s in np.argwhere(found >= 0.01):
            expected[source[s], target[t]] = expected.get((source[s], target[t]), 0.0) + found[t, s]
    primed = {
        (s, t): count
        for s, t, count in expert_word_counts(
            bitext.prior_links, bitext.source, bitext.target, Trust(1.0, 0.6, context=1)
        )
    }
    assert primed == pytest.approx(expected, rel=1e-4)
    advised = train_aligner(TOY.pairs, learning).aligner
    trust = advised.expert.trust
    prior = Prior([(s, t, prior_count(count, trust)) for (s, t), count in sorted(expected.items())])
    by_hand = train_aligner(TOY.pairs, replace(learning, expert=None, prior=prior)).aligner
    voteless = advised.with_scorers("lexicon")
    assert links_of(voteless.align_batch(TOY.pairs)) == links_of(by_hand.align_batch(TOY.pairs))
    given = prepare(paired_with(TOY.pairs, TOY.links), training_job(expert=Expert(), workers=1))
    assert given.prior_links is given.text.expert_links


def test_gold_links_beside_an_expert():
    """They teach the network and the probabilities, which an expert's model has as any other."""
    more = toy_bitext(60, seed=8, vocabulary=300, disorder=9)
    told = {"expert": more.links, "preset": "fast", "workers": 1}
    taught = nmtalign.train(more.pairs, gold=more.links, **told)
    assert taught.positions.gold_log_odds != 0
    found = taught.align_batch(more.pairs, expert=more.links)
    assert more.error(links_of(found)) == 0


def test_probabilities_of_links_that_were_voted_for(advised):
    """In the training text they are below the posterior; not where a word is new."""
    new = (f"{TOY.pairs[0][0]} unheard", f"{TOY.pairs[0][1]} unerhört")
    pairs, links = [*TOY.pairs, new], [*TOY.links, TOY.links[0]]
    batch, lower = advised.align_batch(pairs, expert=links), 0
    for n in range(len(pairs)):
        posterior = batch[n].posterior
        rows = slice(*batch.offsets[n : n + 2])
        own = posterior[batch.target[rows], batch.source[rows]]
        assert (batch.probability[rows] <= own).all()
        assert pairs[n] != new or (batch.probability[rows] == own).all()
        lower += (batch.probability[rows] < own).sum()
    assert lower > 0.5 * len(batch.source)


def test_an_expert_is_what_prior_counts_and_votes_make(advised):
    """Learned by hand: alone, which tells the trust, and with the links as a word list of this weight."""
    alone = train_aligner(TOY.pairs, training_job(PRESET_HYPERPARAMETERS["fast"], workers=1)).aligner
    precision, recall = trust_by_hand(alone)
    assert advised.expert.trust[:2] == pytest.approx((precision, recall))
    counts: dict[tuple[str, str], float] = {}
    for (source, target), links in zip(TOY.words, TOY.links, strict=True):
        for s, t in links:
            counts[source[s], target[t]] = counts.get((source[s], target[t]), 0.0) + 1
    trust = advised.expert.trust
    prior = Prior([(s, t, prior_count(n, trust)) for (s, t), n in sorted(counts.items())])
    primed = train_aligner(
        TOY.pairs, training_job(PRESET_HYPERPARAMETERS["fast"], prior=prior, workers=1)
    ).aligner
    assert links_of(primed.align_batch(TOY.pairs)) == links_of(advised.align_batch(TOY.pairs))


def prior_count(n: float, trust: Trust) -> float:
    """Return the prior count of a word pair with n links."""
    return trust.precision**4 * (n**trust.independence if n > 1 else n)


def trust_by_hand(aligner: nmtalign.Aligner) -> tuple[float, float]:
    """Return precision and recall of all links, as the sure links of an aligner tell."""
    both = judged = sure = 0
    for pair, links in zip(TOY.pairs, TOY.links, strict=True):
        certain = {(s, t) for t, s in np.argwhere(aligner.align(*pair).posterior > 0.9).tolist()}
        sure, both = sure + len(certain), both + len(certain & links)
        words = {s for s, _ in certain}, {t for _, t in certain}
        judged += sum(s in words[0] and t in words[1] for s, t in links)
    return (both + 4) / (judged + 5), (both + 3) / (sure + 5)


def test_a_perfect_expert_is_reached(advised):
    alone = nmtalign.train(TOY.pairs, preset="fast", workers=1)
    found = [
        TOY.error(links_of(aligner.align_batch(TOY.pairs, expert=expert)))
        for aligner, expert in ((alone, None), (advised, None), (advised, TOY.links))
    ]
    assert found[0] > 0.1 > found[1] > found[2]
    assert found[2] == 0
    assert advised.expert.trust.linked_log_odds > 1


def test_no_opinion_is_no_expert(advised):
    """Of a text without links at all, and of single pairs."""
    alone, told = (
        train_aligner(pairs, training_job(expert=expert, workers=1))
        for pairs, expert in ((TOY.pairs, None), (paired_with(TOY.pairs, [frozenset()] * 40), Expert()))
    )
    for name, own in alone.aligner.state().parts["scorer"].parts["lexicon"].arrays.items():
        np.testing.assert_array_equal(own, told.aligner.state().parts["scorer"].parts["lexicon"].arrays[name])
    assert links_of(training_links(told)) == links_of(training_links(alone))
    assert told.aligner.expert.trust == pytest.approx((0.8, 0.6, 0.7))
    wrong = [{(s, (t + 1) % len(links)) for s, t in links} for links in TOY.links]
    half = [links if n % 2 else set() for n, links in enumerate(wrong)]
    batches = [advised.align_batch(TOY.pairs, expert=expert) for expert in (wrong, None, half)]
    whole, plain, some = map(links_of, batches)
    assert some == [(whole if n % 2 else plain)[n] for n in range(40)]
    assert whole != some != plain
    for n in range(0, 40, 2):  # the same bits in the company of pairs that are voted on
        alone, among = batches[1][n].posterior, batches[2][n].posterior
        np.testing.assert_array_equal(alone, among)
        np.testing.assert_array_equal(
            batches[1].probability[slice(*batches[1].offsets[n : n + 2])],
            batches[2].probability[slice(*batches[2].offsets[n : n + 2])],
        )


def test_the_same_links_in_any_company(advised):
    """Chunks, workers, one pair with its attention, and the training text itself."""
    expert = [links if n % 3 else frozenset() for n, links in enumerate(TOY.links)]
    whole = advised.align_batch(TOY.pairs, expert=expert)
    pairs = [SentencePair(*pair) for pair in TOY.pairs]
    for chunks in (
        align_chunks(advised, iter_chunks(paired_with(pairs, expert), chunk_size=7), workers=1),
        align_chunks(advised, iter_chunks(paired_with(pairs, expert), chunk_size=3), workers=2),
    ):
        own = [chunk.batch for chunk in chunks]
        assert list(itertools.chain(*map(links_of, own))) == links_of(whole)
        np.testing.assert_array_equal(np.concatenate([part.probability for part in own]), whole.probability)
    assert whole[1].links == whole.links(1)
    alone = advised.align_one(next(paired_with(pairs[1:2], expert[1:2])))
    assert list(alone.probabilities.values()) == whole.probability[slice(*whole.offsets[1:3])].tolist()
    trained = train_aligner(paired_with(pairs, TOY.links), training_job(expert=Expert(), workers=2))
    again = trained.aligner.align_batch(TOY.pairs, expert=TOY.links)
    assert links_of(training_links(trained)) == links_of(again)


def test_a_model_keeps_the_constant(advised, tmp_path):
    advised.save(tmp_path / "model")
    again = nmtalign.load(tmp_path / "model")
    assert (again.expert.trust, again.description) == (advised.expert.trust, advised.description)
    found, expected = (links_of(own.align_batch(TOY.pairs, expert=TOY.links)) for own in (again, advised))
    assert found == expected
    assert again.with_scorers("lexicon").expert is None


def test_a_model_without_an_expert_trusts_as_the_text_tells():
    alone = nmtalign.train(TOY.pairs, preset="fast", workers=1)
    found = alone.align_batch(TOY.pairs, expert=TOY.links)
    assert found.origin.aligner.expert.trust[:2] == pytest.approx(trust_by_hand(alone))
    assert TOY.error(links_of(found)) < TOY.error(links_of(alone.align_batch(TOY.pairs)))
    assert alone.expert is None


@pytest.mark.filterwarnings("ignore:where the text tells")
def test_links_of_words_are_those_of_their_tokens():
    """Two words of two tokens each: a link of theirs is shared by four cells, and found again."""
    lines = [("Hund. Katze!", "dog, cat;")] * 3
    text = {"tokenizer": "simple", "preset": "fast", "workers": 1}
    aligner = nmtalign.train(lines, expert=["0-1 1-0"] * 3, **text)
    aligner = replace(aligner, expert=Expert(None, Trust(0.999, 0.99, 1)))
    encoded = aligner.text_of_pairs(list(paired_with(lines, [frozenset({(0, 1)})] * 3)))
    weights, annotated = encoded.expert_cells(0)
    assert weights[:4, :4, 0].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0.25, 0.25, 0, 0], [0.25, 0.25, 0, 0]]
    assert annotated[:4, :4, :3].all()
    told = aligner.align_batch(lines, expert=["0-1 1-0"] * 3)
    assert links_of(told)[0] >= {(0, 1), (1, 0)}


def test_votes_reach_the_pieces_of_a_long_pair():
    words = [f"w{n}" for n in range(600)]
    aligner = nmtalign.train(TOY.words, expert=TOY.links, preset="fast", workers=1)
    links = [{(n, 599 - n) for n in range(0, 600, 50)} | {(n, n) for n in range(600)}]
    text = aligner.text_of_pairs(list(paired_with([(words, words)], links)))
    seen = set()
    for k, bucket in enumerate(text.buckets):
        weights, annotated = text.expert_cells(k)
        for b in bucket.filled_columns:
            piece = bucket.sections[b]
            start = text.sections.start[:, piece]
            t, s = np.nonzero(weights[..., b])
            seen |= {(int(start[0] + a), int(start[1] + b)) for a, b in zip(s, t, strict=True)}
            assert (annotated[..., b] == bucket.inside[..., b]).all()
    assert len(text.sections.pair_of_section) > 1
    assert {(n, n) for n in range(600)} <= seen <= links[0]


@pytest.mark.parametrize(
    ("expert", "kind", "found"),
    [
        (["0-0"], DataError, "found links for only 1 pair, but the bitext has more"),
        (["0-0"] * 3, DataError, "expected the links of the expert for 2 pairs, found more lines"),
        (["0-0", "0-0 4-1"], DataError, "link 4-1 is outside a pair of 2 source and 2 target tokens"),
        (["0-0", "0p0"], DataError, "found '0p0'; only gold links may be possible ones"),
        (["0-0", [(-1, 0)]], DataError, "pair 1: a link has a negative position"),
        (7, UsageError, "expected links of each pair, or a path, found 7"),
    ],
)
def test_links_that_do_not_fit(advised, expert, kind, found):
    pairs = [("a b", "x y")] * 2
    with pytest.raises(kind, match=found):
        nmtalign.train(pairs, expert=expert)
    with pytest.raises(kind, match=found):
        advised.align_batch(pairs, expert=expert)


def test_settings_that_contradict_each_other():
    with pytest.raises(UsageError, match="`expert` and `encoder` cannot be combined"):
        nmtalign.train(TOY.pairs, expert=TOY.links, encoder="e")
    with pytest.raises(UsageError, match="`layer` requires an encoder"):
        nmtalign.train(TOY.pairs, layer=3)
    with pytest.raises(UsageError, match="`device` requires an encoder"):
        nmtalign.load(device="cpu")


def test_a_pair_keeps_what_belongs_to_it_when_a_line_is_replaced():
    lines = SentencePair("a@@ b", "c")
    pair = PairToAlign("ab", "c", expert_links=frozenset({Link(0, 0)}), subword_lines=lines)
    changed = pair._replace(target="")
    assert changed == ("ab", "")
    assert changed.expert_links == {(0, 0)}
    assert changed.subword_lines == lines
