"""Translation spotting: the index against plain loops over the pairs, and files that are none."""

from __future__ import annotations

import sqlite3
from collections import Counter
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.applications.concordance import GAP_SIGN, find, search
from nmtalign.corpus import bitext_index
from nmtalign.corpus.bitext_index import build_index, open_index, write_index_file
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES
from nmtalign.text.tokenization import TextSettings

TEXT = TextSettings()
PAIRS = [
    (["The", "House", "sits"], ["la", "Chambre", "siège"], [(0, 0), (1, 1), (2, 2)]),
    (["not", "a", "house"], ["ne", "pas", "une", "maison"], [(0, 0), (0, 1), (1, 2), (2, 3)]),
    (["I", "do", "not", "go"], ["je", "ne", "vais", "pas"], [(0, 0), (2, 1), (2, 3), (3, 2)]),
    (["house"], [], []),
]

words = st.lists(st.sampled_from(["a", "A", "b", "c", "É", "E\u0301", "…"]), max_size=7)


@st.composite
def bitexts(draw):
    pairs = []
    for _ in range(draw(st.integers(0, 9))):
        source, target = draw(words), draw(words)
        cells = [(s, t) for s in range(len(source)) for t in range(len(target))]
        pairs.append((source, target, sorted(draw(st.sets(st.sampled_from(cells)))) if cells else []))
    return pairs


def slowly(pairs, query, side):
    """Return the translations of a query, and its places, word by word; the last without gaps."""
    counts, places, units = Counter(), [], []
    lower = [[TEXT.normalized(pair[k]) for k in (0, 1)] for pair in pairs]
    wanted = TEXT.normalized(query)
    for number, (pair, forms) in enumerate(zip(pairs, lower, strict=True)):
        for start in range(len(pair[side]) - len(query) + 1):
            own = list(range(start, start + len(query)))
            if [forms[side][i] for i in own] != wanted:
                continue
            partners = sorted({link[1 - side] for link in pair[2] if link[side] in own})
            unit = []
            for i, p in enumerate(partners):
                unit += [None] * (i > 0 and partners[i - 1] != p - 1) + [forms[1 - side][p]]
            counts[tuple(unit)] += 1  # a gap is no word that is written like one
            places.append((number, (partners, own) if side else (own, partners)))
            units.append((number, " ".join(forms[1 - side][p] for p in partners)))
    return counts, places, units


@given(bitexts(), st.lists(st.sampled_from(["a", "b", "É", "c"]), min_size=1, max_size=3), st.integers(0, 1))
def test_the_index_finds_what_plain_loops_find(pairs, query, side):
    with mock.patch.object(bitext_index, "PAIRS_PER_INDEX_BLOCK", 2):
        index = build_index(pairs, TEXT)
        found = search(index, " ".join(query), SIDES[side], max_examples=100)
        counts, places, units = slowly(pairs, query, side)
        names = [
            (" ".join(GAP_SIGN if word is None else word for word in unit), n) for unit, n in counts.items()
        ]
        assert (found.occurrence_count, sorted(found.translations)) == (len(places), sorted(names))
        assert found.translation_count == len(counts)
        assert (
            search(index, " ".join(query), SIDES[side], max_translations=1).translations
            == found.translations[:1]
        )
        assert [(line.pair, line.positions) for line in found.occurrences] == places
        assert [line.words for line in found.occurrences] == [tuple(pairs[n][:2]) for n, _ in places]
        assert [count for _, count in found.translations] == sorted(counts.values(), reverse=True)
        for text, _ in names:
            lines = search(
                index, " ".join(query), SIDES[side], translation=text, max_examples=100
            ).occurrences
            plain = " ".join(word for word in text.split(" ") if word != GAP_SIGN) or text
            assert [line.pair for line in lines] == [n for n, found in units if found in (text, plain)]


def test_case_words_and_gaps():
    index = build_index(PAIRS, TEXT)
    assert search(index, "HOUSE", "source").translations == [("", 1), ("chambre", 1), ("maison", 1)]
    assert search(index, "not", "source").translations == [("ne … pas", 1), ("ne pas", 1)]
    assert [line.pair for line in search(index, "not", "source", translation="ne pas").occurrences] == [1, 2]
    assert [line.pair for line in search(index, "house", "source", translation="").occurrences] == [3]
    assert search(index, "ne", "target").translations == [("not", 2)]
    assert search(index, "a house", "source").translations == [("une maison", 1)]
    assert (
        search(index, "house a", "source").occurrence_count
        == search(index, "zebra", "source").occurrence_count
        == search(index, "", "source").occurrence_count
        == 0
    )
    assert search(index, "house", "source", translation="zebra").occurrences == []
    assert (
        search(index, "house", "source", max_examples=0).occurrences,
        search(index, "house", "source", translation="").candidates,
    ) == ([], 1)


@pytest.mark.parametrize("wanted", [None, "y"])
def test_lines_are_a_sample_of_the_places_whatever_the_blocks(wanted):
    pairs = [(["x", "x"], ["y", "z"], [(0, 0), (1, n % 2)]) for n in range(400)]
    every = search(build_index(pairs, TEXT), "x", "source", translation=wanted, max_examples=1000)
    found = search(build_index(pairs, TEXT), "x", "source", translation=wanted, max_examples=40)
    assert (
        (len(every.occurrences), every.candidates)
        == (found.candidates, found.candidates)
        == ([800, 600][wanted == "y"],) * 2
    )
    assert (
        len(found.occurrences)
        == 40
        == len({(place.pair, *place.positions[0]) for place in found.occurrences})
    )
    assert all(place in every.occurrences for place in found.occurrences)
    assert found.occurrences == sorted(found.occurrences)
    quarters = Counter(place.pair // 100 for place in found.occurrences)
    assert min(quarters[k] for k in range(4)) >= 4  # of 10 that are expected
    with mock.patch.object(bitext_index, "PAIRS_PER_INDEX_BLOCK", 7):
        assert search(build_index(pairs, TEXT), "x", "source", translation=wanted, max_examples=40) == found


def test_a_query_is_cut_as_the_text_was():
    text_settings = TextSettings("simple")
    index = build_index([(["water"], ["l'", "eau"], [(0, 0), (0, 1)])], text_settings, ("en", "fr"))
    for query in ("l'eau", "l' eau"):
        assert search(index, query, "target").occurrence_count == 1


def test_an_index_on_disk_is_the_one_in_memory(tmp_path):
    path = tmp_path / "odd ?#% name.db"
    assert write_index_file(path, PAIRS, TEXT) == 4
    before = path.read_bytes()
    assert search(open_index(path), "house", "source") == search(build_index(PAIRS, TEXT), "house", "source")
    assert open_index(path).pair_count == 4
    assert path.read_bytes() == before


def test_the_same_pairs_make_the_same_file(tmp_path):
    for name in "ab":
        write_index_file(tmp_path / name, PAIRS, TEXT)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_long_sentences_and_many_words():
    words = [f"w{n}" for n in range(70_000)]
    index = build_index([(words, words, [(n, n) for n in (300, 301, 69_999)])], TEXT)
    assert search(index, "w69999", "source").occurrences[0].positions == ([69_999], [69_999])
    assert search(index, "w300 w301", "source").translations == [("w300 w301", 1)]


def other_database(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE about (x)")
    database.close()


def damaged(path):
    write_index_file(path, PAIRS, TEXT)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE blocks SET source = ?", (b"\x01",))
    database.close()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.write_text("the cat"), "not a database"),
        (lambda path: path.write_bytes(b""), "of this version wrote"),
        (lambda path: None, "found no file"),
        (lambda path: path.mkdir(), "found no file"),
        (other_database, "of this version wrote"),
        (damaged, "damaged"),
    ],
)
def test_what_is_no_index_is_refused(tmp_path, make, told):
    make(tmp_path / "x.db")
    with pytest.raises(DataError, match=f"x.db: expected an index that `nmtalign find --index`.*{told}"):
        search(open_index(tmp_path / "x.db"), "house", "source")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"side": 2}, "expected one of the sides source, target, found 2"),
        ({"side": "sorce"}, "did you mean 'source'"),
        ({"words": 5}, "expected words as text, in UTF-8, found 5"),
        ({"translation": ["maison"]}, r"expected words as text, in UTF-8, found \['maison'\]"),
        ({"max_examples": -1}, "0 or more, found -1"),
        ({"max_translations": "many"}, "0 or more, found 'many'"),
    ],
)
def test_what_cannot_be_sought_is_not_called_damage(tmp_path, arguments, told):
    write_index_file(tmp_path / "x.db", PAIRS, TEXT)
    for index in (open_index(tmp_path / "x.db"), build_index(PAIRS, TEXT)):
        with pytest.raises(UsageError, match=told):
            search(index, **{"words": "house", "side": "source", **arguments})


@pytest.mark.parametrize("error", [IndexError, TypeError, KeyError, AttributeError])
def test_errors_of_what_gives_the_pairs_stay_what_they_are(tmp_path, error):
    def pairs():
        yield PAIRS[0]
        raise error("of the caller")

    with pytest.raises(error, match="of the caller"):
        write_index_file(tmp_path / "x.db", pairs(), TEXT)


def test_pairs_in_the_place_of_the_words_are_named():
    with pytest.raises(UsageError, match="expected words as text, after the pairs, found"):
        find("house", [("the house", "la maison", "0-0 1-1")])
