"""Long pairs in pieces: what is cut, what comes back, memory."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus import sections as sections_module
from nmtalign.corpus.sections import CORE_WORDS, MAX_UNSPLIT_WORDS, split_long_pairs
from nmtalign.positions.jumps import MAX_JUMP
from tests.aligner.toy_language import links_of, toy_bitext, toy_training
from tests.corpus.encoded_sides import encode_side

pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem)")  # made-up words


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    return replace(toy_training("fast").aligner, workers=1)


def cut_finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pieces so small that a test of many is quick."""
    for name, words in (("MAX_UNSPLIT_WORDS", 100), ("CORE_WORDS", 50), ("MARGIN_WORDS", 40)):
        monkeypatch.setattr(sections_module, name, words)


def document(words: int, seed: int = 1, *, names: bool = False):
    """A document of about so many words a side, and its links; perhaps with names, the same on both sides."""
    toy = toy_bitext(words // 5, seed=seed)
    source, target, links = [], [], set()
    for number, ((s, t), own) in enumerate(zip(toy.words, toy.links, strict=True)):
        links |= {(a + len(source), b + len(target)) for a, b in own}
        source += s
        target += t
        if names and number % 5 == 0:
            source.append(f"n{number}")
            target.append(f"n{number}")
            links.add((len(source) - 1, len(target) - 1))
    return source, target, links


LENGTH = st.integers(0, 3000) | st.integers(0, 9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LENGTH, LENGTH), min_size=1, max_size=4))
def test_each_cell_near_the_diagonal_stands_in_the_core_of_one_piece(lengths):
    source, target = (
        encode_side([[f"{k % 7}" for k in range(pair[side])] for pair in lengths]) for side in (0, 1)
    )
    s, t, pieces = split_long_pairs(source, target)
    assert pieces.pair_count == len(lengths)
    rows = [np.zeros(T, dtype=int) for _, T in lengths]
    columns = [np.zeros(S, dtype=int) for S, _ in lengths]
    for k, n in enumerate(pieces.pair_of_section.tolist()):
        S, T = lengths[n]
        left, top = pieces.start[:, k]
        assert 0 <= left <= pieces.core_start[0, k]
        assert pieces.core_stop[0, k] <= left + s.lengths[k] <= S
        assert 0 <= top <= pieces.core_start[1, k]
        assert pieces.core_stop[1, k] <= top + t.lengths[k] <= T
        assert max(S, T) <= MAX_UNSPLIT_WORDS or min(S, T) == 0 or s.lengths[k] <= 1000
        rows[n][pieces.core_start[1, k] : pieces.core_stop[1, k]] += 1
        columns[n][pieces.core_start[0, k] : pieces.core_stop[0, k]] += 1
        own = target.tokens[target.offsets[n] + top : target.offsets[n] + top + t.lengths[k]]
        np.testing.assert_array_equal(t.tokens[t.offsets[k] : t.offsets[k + 1]], own)
    for (S, T), of_target, of_source in zip(lengths, rows, columns, strict=True):
        by_source = S > MAX_UNSPLIT_WORDS and S > CORE_WORDS * T > 0
        divided, others = (of_source, of_target) if by_source else (of_target, of_source)
        np.testing.assert_array_equal(divided, 1)
        assert others.all() or not S or not T


@given(st.integers(400, 3000), st.integers(400, 3000))
def test_the_diagonal_of_a_piece_is_that_of_the_pair(S: int, T: int):
    """So the prior on it, and the rule for ties, are those of the pair."""
    source, target, pieces = split_long_pairs(encode_side([["a"] * S]), encode_side([["b"] * T]))
    for k in range(len(pieces.pair_of_section)):
        corners = [tuple(pieces.start[:, k])]
        corners.append((corners[0][0] + source.lengths[k], corners[0][1] + target.lengths[k]))
        for s, t in corners:
            assert abs(s - t * S / T) <= 1


def test_short_pairs_are_not_touched():
    source, target = (
        encode_side([["a"] * MAX_UNSPLIT_WORDS, []]),
        encode_side([["b"] * MAX_UNSPLIT_WORDS, ["b"]]),
    )
    s, t, pieces = split_long_pairs(source, target)
    assert s is source
    assert t is target
    assert pieces.pair_of_section.tolist() == [0, 1]


def test_links_outside_the_core_are_dropped_and_the_others_moved():
    *_, pieces = split_long_pairs(
        encode_side([["a"] * 800]), encode_side([["b"] * 800])
    )  # 17 cores of 47 or 48 words
    first = pieces.start[1, 2]  # its core begins at word 94
    piece = np.array([0, 0, 2, 2])
    kept, pair, s, t = pieces.links_in_cores(
        piece, np.array([3, 5, 4, 6]), np.array([3, 47, 93 - first, 94 - first])
    )
    assert kept.tolist() == [True, False, False, True]
    assert t.tolist() == [3, 94]
    assert s.tolist() == [3, 6 + first]
    assert pair.tolist() == [0, 0]


def spelled(text: str) -> np.ndarray:
    """Words numbered alike on both sides, one letter a word; a small letter is unknown on the other side."""
    return np.array([ord(letter) if letter.isupper() else -1 for letter in text])


def test_words_that_stand_equally_often_on_both_sides_are_anchors():
    # B differs, C is too frequent
    s, t, weight = sections_module._find_anchors(spelled("AxBAyCCCC"), spelled("AABBCCCCx"))
    assert list(zip(s.tolist(), t.tolist(), weight.tolist(), strict=True)) == [(0, 0, 2.0), (3, 1, 2.0)]


def best_chain(s: list[float], t: list[float], weight: list[float], S: int, T: int) -> float:
    """The weight of the best path of all subsets of the anchors."""
    best = -math.inf
    for chosen in itertools.product((False, True), repeat=len(s)):
        corners = [(0.0, 0.0), *((a, b) for a, b, on in zip(s, t, chosen, strict=True) if on), (S, T)]
        steps = [(c - a, (d - b) * S / T) for (a, b), (c, d) in itertools.pairwise(corners)]
        if all(down > 0 and along > 0 for down, along in steps):
            bend = sum(min((down - along) ** 2 / (down + along), 30) for down, along in steps)
            best = max(best, sum(w for w, on in zip(weight, chosen, strict=True) if on) - bend)
    return best


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), min_size=1, max_size=7, unique=True))
def test_the_path_is_the_best_of_all(places):
    anchors = sorted(places)
    s, t = (np.array([place[side] for place in anchors]) for side in (0, 1))
    weight = np.linspace(1, 4, len(anchors))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sections_module, "_find_anchors", lambda source, target: (s, t, weight))
        path = sections_module._find_path(np.zeros(41), np.zeros(31))
    corners = dict(zip(path.source.tolist(), path.target.tolist(), strict=True))
    own = [w for a, b, w in zip(s, t, weight, strict=True) if corners.get(a + 0.5) == b + 0.5]
    steps = np.diff(path.source), np.diff(path.target) * 41 / 31
    worth = sum(own) - np.minimum((steps[0] - steps[1]) ** 2 / (steps[0] + steps[1]), 30).sum()
    assert worth == pytest.approx(best_chain(list(s + 0.5), list(t + 0.5), list(weight), 41, 31))


def test_margins_grow_with_the_distance_from_the_anchors_up_to_a_bound():
    words = [f"w{n}" for n in range(4_800)]

    def margins(other: list[str]) -> list[int]:
        *_, pieces = split_long_pairs(encode_side([words]), encode_side([other]))
        return (pieces.core_start - pieces.start)[1].tolist()

    far = margins(["other"] * 4_800)
    assert far[:2] == [0, sections_module.MARGIN_WORDS + 15]  # 1.5 times the root of 96 * 4,704 / 4,800
    assert max(far) == sections_module.MAX_MARGIN_WORDS
    assert set(margins(words)[1:]) == {sections_module.MARGIN_WORDS + 1}  # half a word from the next anchor


def test_many_anchors_take_no_memory_of_their_square():
    words = np.arange(20_000)
    path = sections_module._find_path(words, words)
    np.testing.assert_array_equal(path.source, path.target)
    assert len(path.source) == len(words) + 2


@pytest.mark.parametrize("side", [0, 1])
def test_the_path_bends_around_a_part_that_one_side_lacks(aligner, side: int):
    """Along the diagonal the links would be wrong behind it."""
    *pair, links = document(2000, names=True)
    pair[side] = pair[side][:700] + pair[side][1000:]
    kept = {link for link in links if not 700 <= link[side] < 1000}
    links = {tuple(n - 300 * (k == side and n >= 1000) for k, n in enumerate(link)) for link in kept}
    found = set(aligner.align_batch([tuple(pair)]).links(0))
    assert 2 * len(found & links) >= 0.9 * (len(found) + len(links))


@pytest.mark.parametrize("side", [0, 1])
def test_a_long_part_that_one_side_lacks_makes_no_wide_piece(aligner, side: int):
    *pair, links = document(12_000, names=True)
    more = ["nothing"] * 5_000
    pair[side] = pair[side][:6_000] + more + pair[side][6_000:]
    links = {tuple(n + 5_000 * (k == side and n >= 6_000) for k, n in enumerate(link)) for link in links}
    pieces = split_long_pairs(*(encode_side([words]) for words in pair))[:2]
    assert max(own.lengths.max() for own in pieces) <= sections_module.MAX_GAP_WORDS
    found = set(aligner.align_batch([tuple(pair)]).links(0))
    assert 2 * len(found & links) >= 0.95 * (len(found) + len(links))


def test_a_document_in_pieces_is_aligned_as_a_whole(aligner, monkeypatch: pytest.MonkeyPatch):
    source, target, _ = document(200)
    whole = aligner.align(source, target)
    cut_finely(monkeypatch)
    pieces = aligner.align(source, target)
    assert len(whole.alignment.links ^ pieces.alignment.links) <= 0.01 * len(whole.alignment.links)
    np.testing.assert_allclose(np.abs(whole.forward - pieces.forward).mean(), 0, atol=1e-4)


def test_a_long_document_is_aligned(aligner, monkeypatch: pytest.MonkeyPatch):
    cut_finely(monkeypatch)
    source, target, links = document(1500)
    found = aligner.align_batch([(["a"], ["b"]), (source, target)])
    right = len(links_of(found)[1] & links)
    assert right >= 0.97 * len(links)
    assert right >= 0.97 * found.offsets[-1]


def test_memory_grows_with_the_length_not_its_square(aligner, monkeypatch: pytest.MonkeyPatch):
    cut_finely(monkeypatch)

    def peak(words: int) -> int:
        source, target, _ = document(words)
        tracemalloc.start()
        aligner.align_batch([(source, target)])
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(1000) < 5 * peak(250)  # sixteen times as many cells


def test_pieces_wider_than_the_widest_jump_are_aligned(aligner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sections_module, "CORE_WORDS", 256)
    for name in ("MARGIN_WORDS", "MAX_MARGIN_WORDS"):
        monkeypatch.setattr(sections_module, name, 192)
    source, target, links = document(700)
    pieces = split_long_pairs(*(encode_side([side]) for side in (source, target)))[0]
    assert pieces.lengths.max() > MAX_JUMP
    found = set(aligner.align_batch([(source, target)]).links(0))
    assert len(found & links) > 0.9 * max(len(found), len(links))


@pytest.mark.parametrize("turned", [False, True])
def test_many_words_beside_few_are_cut_too(aligner, turned: bool):
    source, target, _ = document(30)
    long, short = ["nothing"] * 5_000, [target[0], target[-1]]
    pair = (short, long) if turned else (long, short)
    tracemalloc.start()
    batch = aligner.align_batch([pair, (source, target)])
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < 2.5e7  # as many bytes as cells of a square of the long side
    assert set(batch.links(1)) == set(aligner.align_batch([(source, target)]).links(0))


def test_words_find_their_translations_at_the_ends_of_a_long_line(aligner):
    source, target, links = document(30)
    first, last = min(links), max(links)
    long = [source[first[0]], *["nothing"] * 2998, source[last[0]]]
    short = [target[first[1]], target[last[1]]]
    pair = aligner.align(long, short)
    assert pair.alignment.links == {(0, 0), (2999, 1)}
    assert pair.forward.shape == (2, 3000)
    assert (pair.forward.max(axis=1) > 0.5).all()


@pytest.mark.parametrize("turned", [False, True])
def test_attention_in_pieces_is_a_share(aligner, monkeypatch: pytest.MonkeyPatch, turned: bool):
    """Words in the cores of two pieces get attention from both: in a text against its reverse, nearly 2."""
    source, target, _ = document(150)
    whole = aligner.align(source, target)
    cut_finely(monkeypatch)
    cut = aligner.align(source, target[::-1] if turned else target)
    assert np.isnan(cut.scores).any()
    assert not np.isnan(whole.scores).any()
    for axis, ours, theirs in ((1, cut.forward, whole.forward), (0, cut.reverse, whole.reverse)):
        sums = ours.sum(axis=axis)
        assert sums.max() <= 1 + 1e-5
        if not turned:  # as much as where the pair is not cut
            assert np.median(np.abs(sums - theirs.sum(axis=axis))) < 0.05
            assert np.quantile(np.abs(ours - theirs).max(axis=axis), 0.9) < 0.1
