"""Link files: round trips, worked examples, and what is refused with its place."""

from __future__ import annotations

import json
import tempfile
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.files.text_files import LINE_BREAKS
from nmtalign.links.alignments import AlignedBatch, GoldAlignment
from nmtalign.links.formats import (
    LinkRecord,
    format_gold,
    format_guided_batch,
    format_pair_scores_batch,
    format_pharaoh,
    format_pharaoh_batch,
    format_probabilities_batch,
    format_record,
    parse_gold,
    parse_pharaoh,
    read_link_records,
    read_links,
)
from nmtalign.links.gold import read_gold
from nmtalign.names import READ_LINKS, SIDES

word = st.text(
    st.characters(codec="utf-8", exclude_characters=f" \t\ufeff{LINE_BREAKS}"), min_size=1, max_size=4
) | st.sampled_from(["NULL", "({", "})", "#", "\u00a0", "<sep>", "1"])
any_word = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["a\u2028b", "a b"])


@st.composite
def records(draw, words=True, possible=True, word=word):
    source, target = (tuple(draw(st.lists(word, max_size=5))) for _ in range(2))
    cells = [(s, t) for s in range(len(source)) for t in range(len(target))]
    sure = draw(st.frozensets(st.sampled_from(cells))) if cells else frozenset()
    more = draw(st.frozensets(st.sampled_from(cells))) if cells and possible else frozenset()
    gold = GoldAlignment(sure, sure | more)
    return LinkRecord(gold, source, target) if words else LinkRecord(gold)


def lists_of(strategy, **size):
    """A few records: what can go wrong between two of them shows in four."""
    return st.lists(strategy, max_size=4, **size)


def has_zero_bytes(given_records):
    """Return whether a word has a zero byte, by which files in UTF-16 are recognized."""
    return any("\0" in word for record in given_records for word in (*record.source, *record.target))


def through_a_file(given_records, format):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "links"
        text = "".join(format_record(r, format=format, number=n) for n, r in enumerate(given_records, 1))
        path.write_bytes(text.encode())
        return list(read_link_records(path, format=format))


@pytest.mark.parametrize("format", ["pharaoh", "talp"])
@given(lists_of(records(words=False)))
def test_links_come_back(format, given_records):
    assert through_a_file(given_records, format) == given_records


@given(lists_of(records(words=False)))
def test_naacl_comes_back_but_for_empty_pairs_at_the_end(given_records):
    while given_records and not given_records[-1].gold.possible:
        given_records.pop()
    assert through_a_file(given_records, "naacl") == given_records


@given(lists_of(records(possible=False)))
def test_giza_comes_back_with_the_words(given_records):
    assume(not has_zero_bytes(given_records))
    assert through_a_file(given_records, "giza") == given_records


@given(lists_of(records(possible=False)))
def test_tsv_comes_back_with_the_words(given_records):
    assume(not has_zero_bytes(given_records))
    assert through_a_file(given_records, "tsv") == given_records


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a\tb", "found 2 columns"),
        ("a\tb\t0-0\t1", "found 4 columns"),
        ("a\tb\t0:0", "expected links like 0-1"),
        ("a\tb\t0-1", "link 0-1 is outside"),
    ],
)
def test_a_bad_line_of_tsv_is_named(tmp_path, line, says):
    (tmp_path / "links").write_text(f"a\tb\t0-0\n{line}\n")
    with pytest.raises(DataError, match=f"links, line 2: .*{says}"):
        list(read_link_records(tmp_path / "links", format="tsv"))


@given(lists_of(records(possible=False), min_size=1))
def test_a_batch_in_guided_form_is_read_as_tsv(given_records):
    links = [sorted(record.links) for record in given_records]
    flat = np.array([link for row in links for link in row], dtype=np.int32).reshape(-1, 2)
    offsets = np.cumsum([0, *map(len, links)])
    ones = np.ones(len(flat)), np.ones(len(links))
    batch = AlignedBatch(offsets, flat[:, 0], flat[:, 1], *ones)
    sides = ([getattr(record, side) for record in given_records] for side in ("source", "target"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "guided.tsv"
        path.write_bytes(format_guided_batch(batch, *sides).encode())
        assert list(read_link_records(path, format="tsv")) == given_records


@given(lists_of(records(word=any_word) | records(words=False)))
def test_jsonl_comes_back_with_the_words(given_records):
    assert through_a_file(given_records, "jsonl") == given_records


@given(st.lists(records(words=False), max_size=12))
def test_batches_are_written_as_pair_by_pair(given_records):
    links = [sorted(record.links) for record in given_records]
    flat = np.array([link for pair in links for link in pair], dtype=np.int32).reshape(-1, 2)
    probability = np.random.default_rng(6).random(len(flat)).astype(np.float32)
    offsets = np.cumsum([0, *map(len, links)])
    batch = AlignedBatch(offsets, flat[:, 0], flat[:, 1], probability, np.arange(len(links)) / 7)
    assert format_pharaoh_batch(batch) == "".join(f"{format_pharaoh(pair)}\n" for pair in links)
    scores = format_probabilities_batch(batch).split("\n")
    assert [len(line.split()) for line in scores[:-1]] == [len(pair) for pair in links]
    written = np.array(" ".join(scores).split(), dtype=np.float64)
    np.testing.assert_allclose(written, probability, atol=0.5001e-4)
    assert format_pair_scores_batch(batch).count("\n") == len(links)


def test_scores_are_never_in_exponents():
    batch = AlignedBatch(
        np.array([0, 3]), np.zeros(3, int), np.arange(3), np.array([1e-7, 1, 0.5]), np.array([1e-5])
    )
    assert format_probabilities_batch(batch) == "0.0000 1.0000 0.5000\n"
    assert format_pair_scores_batch(batch) == "0.000010\n"


def test_far_positions_are_written_in_full():
    batch = AlignedBatch(
        np.array([0, 1, 2]), np.array([0, 60_000]), np.array([70_000, 1]), np.ones(2), np.ones(2)
    )
    assert format_pharaoh_batch(batch) == "0-70000\n60000-1\n"


def test_worked_lines():
    gold = parse_gold("0-0 2p1 1?1")
    assert gold == GoldAlignment({(0, 0)}, {(0, 0), (2, 1), (1, 1)})
    assert format_gold(gold, first=1) == "1-1 2p2 3p2"
    assert parse_pharaoh("  1-2   0-300 ") == {(1, 2), (0, 300)}
    assert parse_pharaoh("1-2", first=1) == {(0, 1)}


GIZA = """# Sentence pair (1) source length 2 target length 3 alignment score : 1.2e-05
le chat noir
NULL ({ 3 }) the ({ 1 }) cat ({ 2 })
# Sentence pair (2) source length 0 target length 0 alignment score : 1

NULL ({ })
"""


def test_giza_as_giza_writes_it(tmp_path):
    (tmp_path / "A3.final").write_text(GIZA, encoding="utf-8")
    first, second = read_link_records(tmp_path / "A3.final", format="giza")
    assert first == LinkRecord(
        GoldAlignment({(0, 0), (1, 1)}, {(0, 0), (1, 1)}), ("the", "cat"), ("le", "chat", "noir")
    )
    assert second == LinkRecord(GoldAlignment((), ()), (), ())
    assert format_record(first, format="words", number=1) == "the<sep>le cat<sep>chat\n"
    written = format_record(first, format="giza", number=1) + format_record(second, format="giza", number=2)
    assert written == GIZA.replace("1.2e-05", "1")


def giza(*pairs: tuple[object, ...]) -> str:
    """Return pairs of one target word, each with what its header says: number, lengths, score."""
    header = "# Sentence pair ({}) source length {} target length {} alignment score : {}"
    return "".join(f"{header.format(*pair)}\nle\nNULL ({{ }}) the{pair[0]} ({{ 1 }})\n" for pair in pairs)


def test_parts_of_a_giza_file_may_have_been_joined_in_any_order(tmp_path):
    pairs = [(number, 1, 1, score) for number, score in enumerate(["0.1", "1.2e-320", "nan", "1"], 1)]
    for order in permutations(pairs):
        (tmp_path / "A3").write_text(giza(*order))
        records = read_link_records(tmp_path / "A3", format="giza")
        assert [record.source for record in records] == [("the1",), ("the2",), ("the3",), ("the4",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (giza((1, 1, 1, 0), (3, 1, 1, 0)), "line 4: expected pair 2, which is nowhere in .* before pair 3"),
        (giza((3, 1, 1, 0), (2, 1, 1, 0)), "line 4: expected pair 1, .* before pair 2"),
        (giza((1, 1, 1, 0), (2, 1, 1, 0), (1, 1, 1, 0)), "line 7: expected each pair once, found pair 1"),
        (giza((2, 1, 1, 0), (2, 1, 1, 0)), "line 4: expected each pair once, found pair 2"),
        (giza((0, 1, 1, 0)), "line 1: expected .* pairs counted from 1, found '# Sentence pair .0."),
        (giza((10**9, 1, 1, 0)), "line 1: expected '# Sentence pair"),
        (giza((1, 2, 1, 0)), "line 1: expected 2 source words, as this line states, found 1"),
        (giza((1, 1, 0, 0)), "line 1: expected 0 target words, as this line states, found 1"),
        (giza((1, 1, 1, "x")), "line 1: expected '# Sentence pair"),
        (giza((1, 1, 1, "1e")), "line 1: expected '# Sentence pair"),
        (giza((1, 1, 1, 0)).replace("NULL ({ })", "NULL ({ 2 })"), "line 3: .* to 1, found 2 for NULL"),
        (giza((1, 1, 1, 0)).replace("NULL ({ })", "NULL ({ 1 })"), "line 3: target word 1 is linked to NULL"),
        (giza((1, 1, 1, 0)).replace("NULL ({ }) ", ""), "line 3: expected 'NULL"),
    ],
)
def test_numbers_that_a_giza_file_states_have_to_be_right(tmp_path, text, message):
    (tmp_path / "A3").write_text(text)
    with pytest.raises(DataError, match=message):
        list(read_link_records(tmp_path / "A3", format="giza"))


@pytest.mark.parametrize("key", ["pair", "line", "index"])
@pytest.mark.parametrize("begin", [0, 1])
def test_numbers_of_pairs_in_json_are_those_of_the_lines(tmp_path, key, begin):
    def read(*numbers, **more):
        lines = [json.dumps({"links": [[0, 0]], key: n} | more) + "\n" for n in numbers]
        (tmp_path / "links").write_text("".join(lines))
        return list(read_links(tmp_path / "links", format="jsonl"))

    assert len(read(begin, begin + 1, begin + 2, pairs=3)) == 3
    assert len(read("en-fr", None, "en-fr", pairs="all")) == 3, "text and null state no number"
    for numbers, line in (((begin, begin + 2), 2), ((begin + 2,), 1), ((begin, begin), 2), ((0.5,), 1)):
        with pytest.raises(DataError, match=f'links, line {line}: expected "{key}": '):
            read(*numbers)
    with pytest.raises(DataError, match='expected a line for each pair, 3 as "pairs" states, found 2'):
        read(begin, begin + 1, pairs=3)


def test_json_that_states_another_number_of_pairs_in_each_line_is_refused(tmp_path):
    lines = ['{"links": [], "pairs": 2}', '{"links": [], "pairs": 3}']
    (tmp_path / "links").write_text("\n".join(lines))
    with pytest.raises(DataError, match='line 2: expected "pairs": 2 as before, found 3'):
        list(read_links(tmp_path / "links", format="jsonl"))


CUT = {" ": "a space", "\t": "a tab", "\r": "a carriage return", "\n": "a line break"}
CUT |= {"\x0b": "a vertical tab"} | dict.fromkeys("\x1c\x85\u2028\u2029", "a line break .U+")


@pytest.mark.parametrize("format", ["giza", "words", "tsv"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("cut", "name"), CUT.items())
def test_a_word_at_which_its_file_would_be_cut_is_refused(format, side, cut, name):
    words = [("a", "b"), ("c", "d")]
    words[side] = ("a", f"x{cut}y")
    record = LinkRecord(GoldAlignment((), ()), *words)
    with pytest.raises(DataError, match=f"the {SIDES[side]} word .* contains {name}") as caught:
        format_record(record, format=format, number=1)
    assert str(caught.value).isprintable()


def test_other_words_that_their_file_cannot_hold():
    def refused(format, word):
        record = LinkRecord(GoldAlignment((), ()), ("a",), (word,))
        with pytest.raises(DataError) as caught:
            format_record(record, format=format, number=1)
        return str(caught.value)

    assert "contains '<sep>'" in refused("words", "a<sep>b")
    for format in ("giza", "words", "tsv"):
        assert "is empty" in refused(format, "")


def test_json_is_one_line_for_every_reader():
    words = tuple(f"a{c}b" for c in LINE_BREAKS)
    line = format_record(LinkRecord(GoldAlignment((), ()), words, words), format="jsonl", number=1)
    assert line.splitlines() == [line[:-1]]
    assert json.loads(line)["source"] == list(words)


def test_naacl_as_the_shared_task_writes_it(tmp_path):
    (tmp_path / "key").write_text("0002 1 1 S\n0002 2 3 P\n0002 0 4\n0004 5 6 S 0.75\n", encoding="utf-8")
    golds = list(read_gold(tmp_path / "key", format="naacl"))
    empty = GoldAlignment((), ())
    assert golds == [
        empty,
        GoldAlignment({(0, 0)}, {(0, 0), (1, 2)}),
        empty,
        GoldAlignment({(4, 5)}, {(4, 5)}),
    ]


def test_pairs_without_a_line_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtalign.links.formats.MAX_EMPTY_PAIRS", 3)
    path = tmp_path / "links"
    path.write_text("0002 1 1\n0005 1 1\n")
    assert [len(links) for links in read_links(path, format="naacl")] == [0, 1, 0, 0, 1]
    path.write_text("0002 1 1\n0004 1 1\n0007 1 1\n")  # in all, not at once
    with pytest.raises(DataError, match=r"line 3: .*at most 3 pairs without a line"):
        list(read_links(path, format="naacl"))
    errors = []
    path.write_text(giza((1, 1, 1, 0), (5, 1, 1, 0)))
    assert len(list(read_links(path, format="giza", on_error=errors.append))) == 5
    assert len(errors) == 3
    path.write_text(giza((1, 1, 1, 0), (6, 1, 1, 0)))
    with pytest.raises(DataError, match="line 4: expected pair 2, which is nowhere"):
        list(read_links(path, format="giza", on_error=errors.append))


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("pharaoh", "0-0\n0:1\n", r"line 2: expected links like 0-1 .*found '0:1'; is this a file of links"),
        ("pharaoh", "0-0:0.9\n", "line 1: .*'0-0:0.9'"),
        ("pharaoh", "0-0\t1-1\n", "line 1"),
        ("pharaoh", "-1-0\n", "line 1: .*'-1-0'"),
        ("pharaoh", "0-9999999999999999999\n", "line 1"),
        ("pharaoh", "١-١\n", "line 1"),
        ("talp", "1-1\n0-1\n", "line 2: expected positions from 1, found 0"),
        ("naacl", "0001 1 S\n", "line 1: expected a line like '0001 1 3 S'"),
        ("naacl", "0002 1 1\n0001 1 1\n", "line 2: .*pairs in order"),
        ("naacl", "0000 1 1\n", "line 1"),
        ("naacl", "0001 1 1 S 0.5.5\n", "line 1"),
        ("naacl", "0001 1 1 S -\n", "line 1"),
        ("giza", "le chat\n", "line 1: expected '# Sentence pair"),
        ("giza", "# Sentence pair (1)\nle chat\n", "line 3: expected 'NULL"),
        ("giza", "# Sentence pair (1)\nle chat\nNULL ({ 1 }) the ({ x })\n", "line 3: .*found 'the"),
        ("giza", "# Sentence pair (1)\nle chat\nNULL ({ 1 }) the ({ 3 })\n", "line 3: link 0-2 is outside"),
        ("jsonl", '{"links": [[0, 0]]}\n[]\n', "line 2: expected an object"),
        ("jsonl", '{"links": [[0]]}\n', "line 1"),
        ("jsonl", '{"links": 3}\n', "line 1"),
        ("jsonl", "{\n", "line 1"),
        ("jsonl", '{"links": [[-1, 0]]}\n', "line 1: expected an object"),
        ("jsonl", '{"links": [[0, 1000000000]]}\n', "line 1: expected an object"),
        ("jsonl", '{"links": [[0, 1]], "source": ["a"], "target": ["b"]}\n', "line 1: link 0-1 is outside"),
    ],
)
def test_bad_lines_are_errors_with_their_place(tmp_path, format, text, message):
    path = tmp_path / "links"
    path.write_bytes(text.encode())
    with pytest.raises(DataError, match=message):
        list(read_links(path, format=format))


def test_aligners_make_no_possible_links(tmp_path):
    (tmp_path / "links").write_text("0-0 1p1\n", encoding="utf-8")
    with pytest.raises(DataError, match="'1p1'"):
        list(read_links(tmp_path / "links"))
    assert [len(gold.possible) for gold in read_gold(tmp_path / "links")] == [2]


def test_formats_that_cannot(tmp_path):
    record = LinkRecord(GoldAlignment({(0, 0)}, {(0, 0)}))
    for format in ("giza", "words"):
        with pytest.raises(UsageError, match="pass the two texts"):
            format_record(record, format=format, number=1)
    with pytest.raises(DataError, match="link 0-0 is outside a pair of 0 source"):
        LinkRecord(record.gold, (), ("x",))
    with pytest.raises(UsageError, match=r"formats of links pharaoh, .* found 'a3'"):
        format_record(record, format="a3", number=1)
    with pytest.raises(UsageError, match=r"formats of links pharaoh, .* found 'words'"):
        read_link_records(tmp_path, format="words")


def test_real_gold_comes_back_in_every_format(shared_data):
    for folder in sorted((shared_data / "gold").iterdir()):
        golds = [LinkRecord(gold) for gold in list(read_gold(folder / "gold.pharaoh"))[:100]]
        for format in set(READ_LINKS) - {"giza", "tsv"}:
            back = through_a_file(golds, format)
            assert back == golds[: len(back)]
            assert not any(record.gold.possible for record in golds[len(back) :])


def test_json_is_plain(tmp_path):
    line = format_record(LinkRecord(parse_gold("1-0 0p0"), ("é", "b"), ("c",)), format="jsonl", number=1)
    assert json.loads(line) == {
        "links": [[1, 0]],
        "possible": [[0, 0]],
        "source": ["é", "b"],
        "target": ["c"],
    }
    assert "é" in line
