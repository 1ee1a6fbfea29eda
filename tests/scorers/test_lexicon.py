"""The learned lexicon: forms, ratios, words it has never seen."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.word_pairs import index_word_pairs
from nmtalign.scorers.forms import (
    MIN_DICE,
    FormCounts,
    FormPairs,
    Spellings,
    form_pair_counts,
    make_form_pairs,
    number_forms,
    spelled_alike,
)
from nmtalign.scorers.lexicon import UNKNOWN_RATIO, Lexicon, stored_forms
from nmtalign.scorers.likelihood_ratios import (
    Smoothing,
    TextFormCounts,
    emission_ratios,
    form_pair_ratios,
    null_ratios,
    without_one_link,
)
from tests.corpus.encoded_sides import encode_side

SMOOTHING = Smoothing(corpus_size=500.0, pseudo_count=4.0, floor=5e-4)
FORMS = (0, 3, -2, 1)
BITEXT = [
    ("walked walking 1997 the to", "marchait marchant 1997 le de"),
    ("walks talk taxi to", "marche parler taxi de"),
    ("the talking taxi 7", "le parlant taxi 7 de"),
]


def text(bitext):
    """Both sides, and the pairs that meet."""
    source, target = (encode_side([pair[side].split(" ") for pair in bitext]) for side in (0, 1))
    return source, target, index_word_pairs(make_buckets(source, target), source, target)


def by_word_pair(forms: FormPairs, values: np.ndarray) -> np.ndarray:
    """Return the values of pairs of forms by word pair."""
    return values if forms.pair_numbers is None else values[forms.pair_numbers]


def random_counts(seed: int = 0, *, empty: float = 0.0):
    """A text, and expected counts of its word pairs (a share of them 0) and of its unaligned words."""
    source, target, index = text(BITEXT)
    rng = np.random.default_rng(seed)
    counts = [rng.gamma(0.5, size=n) for n in (len(index), len(source.words), len(target.words))]
    counts[0] *= rng.random(len(index)) >= empty
    for count in counts:
        count[0] = 0
    return source, target, index, counts


def shortened(word: str, letters: int) -> str:
    return word[letters:] if letters < 0 else word[: letters or None]


@given(st.lists(st.text(max_size=6), max_size=8), st.integers(-4, 4))
def test_shortened_words(words, letters):
    numbers, forms = number_forms(["", *words], letters)
    cut = [shortened(word, letters) for word in ["", *words]]
    assert [forms[k] for k in numbers] == cut
    assert forms[0] == ""
    assert len(set(forms)) == len(forms)


def letter_pairs(word: str) -> set[int]:
    """The hashed pairs of letters of a word, its ends among them; none for numbers, signs, short words."""
    roman = {"р": "r", "у": "u", "с": "s", "к": "k", "и": "i", "й": "y", "щ": "sh", "ъ": ""}
    word = unicodedata.normalize("NFD", "".join(roman.get(c, c) for c in word.lower()))
    plain = [c for c in word if not unicodedata.combining(c)]
    if len(plain) < 3 or any(not c.isalpha() for c in plain):
        return set()
    return {(31 * ord(a) + 7 * ord(b)) % 127 for a, b in zip(["\n", *plain], [*plain, "\n"], strict=True)}


def alike(source: str, target: str) -> float:
    if source == target and (len(source) > 2 or any(c.isdigit() for c in source)):
        return 1.0
    s, t = letter_pairs(source), letter_pairs(target)
    dice = 2 * len(s & t) / max(len(s) + len(t), 1) if len(s & t) > 1 else 0.0
    return max(0.0, (dice - MIN_DICE) / (1 - MIN_DICE))


@given(st.lists(st.text("aebÉø1-рускийщъ", max_size=9), min_size=1, max_size=20))
def test_words_that_are_spelled_alike(words: list[str]):
    words = list(dict.fromkeys(["", *words, "président", "president", "presidente", "9.10"]))
    s, t = (axis.ravel() for axis in np.indices((len(words), len(words))))
    found = spelled_alike(Spellings.of(words, words), s, t)
    expected = [alike(words[a], words[b]) for a, b in zip(s, t, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_many_words_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch):
    words = ["", "Varna", "Варна", "varnas", "varos", "今天晚上"]
    s, t = (axis.ravel() for axis in np.indices((6, 6)))
    whole = spelled_alike(Spellings.of(words, words), s, t)
    monkeypatch.setattr("nmtalign.scorers.forms.FORM_PAIRS_PER_BLOCK", 7)
    np.testing.assert_array_equal(spelled_alike(Spellings.of(words, words), s, t), whole)
    assert whole[6 * 1 + 2] == 1  # Varna, Варна
    assert 0 < whole[6 * 1 + 4] < whole[6 * 1 + 3] < 1
    assert whole[-1] == 1
    assert not whole[30:35].any()


def test_without_one_link_no_count_is_negative():
    source, target, index, (_, *nulls) = random_counts()
    kind = make_form_pairs(source, target, index, (0, 0), spelling=1.0)
    links = np.resize([0.0, 0.25, 1.0, 3.5], len(index))
    counts = form_pair_counts([kind], index, links, *nulls)
    reduced = without_one_link(TextFormCounts([kind], counts, SMOOTHING)).counts[0]
    np.testing.assert_array_equal(reduced.links, np.resize([0.0, 0.0, 0.0, 2.5], len(index)))
    assert reduced.sides == counts[0].sides


@pytest.mark.parametrize("empty", [0.0, 0.7])
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("letters", [*((n, n) for n in FORMS), (4, 1), (-1, 6)])
def test_ratios_are_the_formula(letters: tuple[int, int], apart: bool, empty: float):
    source, target, index, (pairs, *nulls) = random_counts(empty=empty)
    kind = make_form_pairs(source, target, index, letters, spelling=1.0, merge_equal=apart)

    words = [
        (shortened(source.words[s], letters[0]), shortened(target.words[t], letters[1]))
        for s, t in zip(index.source, index.target, strict=True)
    ]
    joint, of_source, of_target = {}, {}, {}
    for (s, t), count in zip(words, pairs, strict=True):
        joint[s, t] = joint.get((s, t), 0) + count
        of_source[s] = of_source.get(s, 0) + count
        of_target[t] = of_target.get(t, 0) + count
    counts = form_pair_counts([kind], index, pairs, *nulls)[0]
    if not apart:  # as for new text: what was learned is looked up for each word pair
        whole = make_form_pairs(source, target, index, letters, spelling=1.0)
        summed = form_pair_counts([whole], index, pairs, *nulls)[0]
        counts = counts._replace(links=by_word_pair(whole, summed.links), sides=summed.sides)
    found = by_word_pair(kind, form_pair_ratios(kind, counts, SMOOTHING))
    for k, (s, t) in enumerate(words[1:], 1):
        expected = (joint[s, t] + alike(s, t)) * 500 / ((of_source[s] + 4) * (of_target[t] + 4)) + 5e-4
        np.testing.assert_allclose(found[k], expected, rtol=1e-5)


def test_cyrillic_letters_are_compared_with_latin_ones_and_numbers_are_not():
    """*prezident* and *president* share 8 of 10 letter pairs, ends included: (0.8 - 0.4) / (1 - 0.4)."""
    both = np.array([0, 1])
    spellings = Spellings.of(["president", "1997"], ["президент", "1998"])
    found = spelled_alike(spellings, both, both)
    np.testing.assert_allclose(found, [2 / 3, 0], rtol=1e-6)


@pytest.mark.parametrize("workers", [1, 2])
def test_word_pairs_are_joined_in_blocks(monkeypatch: pytest.MonkeyPatch, workers: int):
    source, target, index, counts = random_counts(1)
    forms = [make_form_pairs(source, target, index, (n, n), spelling=1.0) for n in (0, 3, 1)]
    found = form_pair_counts(forms, index, *counts)
    whole = emission_ratios(TextFormCounts(forms, found, SMOOTHING))
    monkeypatch.setattr("nmtalign.scorers.likelihood_ratios.WORD_PAIRS_PER_BLOCK", 4)
    np.testing.assert_array_equal(
        emission_ratios(TextFormCounts(forms, found, SMOOTHING), workers).pair_ratios, whole.pair_ratios
    )


@pytest.mark.parametrize("letters", [(0,), (0, 3), (0, 3, 1), (0, 3, 4, 6), (0, 2, 3, 4, 5, 6)])
def test_views_are_joined_by_the_geometric_mean(letters: tuple[int, ...]):
    source, target, index, counts = random_counts(1)
    forms = [make_form_pairs(source, target, index, (n, n), spelling=1.0) for n in letters]
    found = form_pair_counts(forms, index, *counts)
    words = emission_ratios(TextFormCounts(forms, found, SMOOTHING))
    each = [
        by_word_pair(kind, form_pair_ratios(kind, c, SMOOTHING)) for kind, c in zip(forms, found, strict=True)
    ]
    np.testing.assert_allclose(words.pair_ratios[1:], np.exp(np.mean(np.log(each), axis=0))[1:], rtol=1e-5)
    assert words.pair_ratios[0] == 0
    nulls = [null_ratios(c.sides[1], SMOOTHING)[v.form_numbers[1]] for v, c in zip(forms, found, strict=True)]
    np.testing.assert_allclose(words.target_null, np.mean(nulls, axis=0), rtol=1e-6)


def test_null_ratios():
    counts = FormCounts(np.array([0.0, 6.0, 0.0]), np.array([0.0, 3.0, 10.0]), all_null=13.0)
    found = null_ratios(counts, SMOOTHING._replace(corpus_size=100.0))
    np.testing.assert_allclose(found[1], (3.001 / 14) / (10 / 100))
    np.testing.assert_allclose(found[2], (10.001 / 14) / (4 / 100))
    assert null_ratios(counts, SMOOTHING._replace(corpus_size=1e7)).max() == 1000


def lexicon(counts_seed: int = 0, forms=(0, 4)) -> Lexicon:
    source, target, index, counts = random_counts(counts_seed)
    learned = []
    for letters in forms:
        kind = make_form_pairs(source, target, index, (letters, letters), spelling=1.0)
        learned.append(stored_forms(kind, form_pair_counts([kind], index, *counts)[0]))
    return Lexicon(source.words, target.words, source.counts, target.counts, learned, SMOOTHING, spelling=1.0)


def test_a_lexicon_gives_its_own_text_what_was_learned():
    source, target, index, counts = random_counts()
    forms = [make_form_pairs(source, target, index, (n, n), spelling=1.0) for n in (0, 4)]
    of_forms = form_pair_counts(forms, index, *counts)
    expected = emission_ratios(TextFormCounts(forms, of_forms, SMOOTHING))
    for bitext in (BITEXT, BITEXT[::-1], BITEXT[1:2]):  # the words are numbered otherwise each time
        s, t, own = text(bitext)
        found = emission_ratios(lexicon().lookup(s, t, own))
        at = {
            (source.words[a], target.words[b]): k
            for k, (a, b) in enumerate(zip(index.source, index.target, strict=True))
        }
        place = [at[s.words[a], t.words[b]] for a, b in zip(own.source, own.target, strict=True)]
        np.testing.assert_array_equal(found.pair_ratios, expected.pair_ratios[place])
        words = [source.words.index(word) for word in s.words]
        np.testing.assert_array_equal(found.source_null, expected.source_null[words])


def ratio_of(model: Lexicon, source: str, target: str) -> float:
    sides = text([(source, target)])
    return float(emission_ratios(model.lookup(*sides)).pair_ratios[1])


def test_unknown_words_fall_back_on_their_first_letters_then_on_spelling_then_on_nothing():
    model = lexicon()
    chance = ratio_of(model, "qqqq", "vvvv")
    np.testing.assert_allclose(chance, UNKNOWN_RATIO + SMOOTHING.floor, rtol=1e-5)
    known = ratio_of(model, "walkers", "marchons")  # walk-, marc-
    form = dict(
        zip(number_forms(model.source_words, 4)[1], model.counts_of_kinds[1].sides[0].linked, strict=True)
    )
    assert form["walk"] > 0
    assert known > 5 * chance
    same = ratio_of(model, "Kilimanjaro", "Kilimanjaro")
    np.testing.assert_allclose(same, 500 / 16 + UNKNOWN_RATIO + SMOOTHING.floor, rtol=1e-5)
    np.testing.assert_allclose(ratio_of(model, "4711", "4711"), same, rtol=1e-6)
    np.testing.assert_allclose(ratio_of(model, "5", "5"), same, rtol=1e-6)
    np.testing.assert_allclose(ratio_of(model, "zz", "zz"), chance, rtol=1e-6)  # two letters tell nothing


def test_translations_are_the_conditional_probabilities():
    entries = list(lexicon().translations())
    assert (np.diff([entry.links for entry in entries]) <= 0).all()
    of_source, of_target = Counter(), Counter()
    for entry in entries:
        of_source[entry.source] += entry.forward
        of_target[entry.target] += entry.reverse
    for total in (*of_source.values(), *of_target.values()):
        assert total == pytest.approx(1, rel=1e-5)


def test_a_lexicon_of_nothing_still_gives_ratios():
    source, target, index = text([("a", "b")])
    kind = make_form_pairs(source, target, index, (0, 0), spelling=1.0)
    empty = stored_forms(kind, form_pair_counts([kind], index, np.zeros(2), np.zeros(2), np.zeros(2))[0])
    model = Lexicon(source.words, target.words, source.counts, target.counts, [empty], SMOOTHING, 1.0)
    np.testing.assert_allclose(ratio_of(model, "a", "b"), SMOOTHING.floor, rtol=1e-6)
