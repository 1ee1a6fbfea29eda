"""Projection: worked examples, and that what comes out is well-formed whatever the links are."""

from __future__ import annotations

import re
import time
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.applications.projection import (
    LabeledSpan,
    count_unlinked,
    labels_of_spans,
    parse_spans,
    parse_tags,
    project_spans,
    project_tags,
    spans_of_labels,
    spans_of_tags,
)
from nmtalign.errors import DataError


def projected_tags(line, target, links):
    return project_tags(parse_tags(line)[1], target, links)


links_of_six = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 6)))
cuts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["PER", "LOC"])))


def disjoint(drawn):
    """Return spans of at most six words that do not overlap."""
    spans, end = [], 0
    for a, b, label in sorted(drawn):
        if end <= a < b:
            spans.append(LabeledSpan(a, b, label))
            end = b
    return spans


@given(cuts, links_of_six)
def test_spans_stay_in_the_sentence_apart_and_on_linked_words(drawn, links):
    spans = disjoint(drawn)
    projected = project_spans(spans, links, 7)
    end = 0
    for span in projected:
        assert end <= span.start < span.end <= 7
        end = span.end
    for s, t in links:
        owners = [span.label for span in spans if span.start <= s < span.end]
        carried = [span.label for span in projected if span.start <= t < span.end]
        assert not owners or carried
    linked_from = {t: {s for s, u in links if u == t} for t in range(7)}
    for span in projected:
        for t in range(span.start, span.end):
            inside = any(a <= s < b for a, b, label in spans if label == span.label for s in linked_from[t])
            assert inside or not linked_from[t]


def slowly_projected(spans, links, length):
    """Return the label of each target word: that of the first span which has it or stands around it."""
    carried = [None] * length
    for span in sorted(spans):
        words = {t for s, t in links if span.start <= s < span.end}
        for t in range(length):
            around = words and min(words) < t < max(words) and all(u != t for _, u in links)
            carried[t] = carried[t] or ((t in words or around) and span) or None
    return [span and span.label for span in carried]


@given(cuts, links_of_six)
def test_spans_over_each_other_are_projected_as_by_slow_loops(drawn, links):
    spans = [LabeledSpan(min(a, b), max(a, b) + 1, label) for a, b, label in drawn]
    found = [None] * 7
    for start, end, label in project_spans(spans, links, 7):
        found[start:end] = [label] * (end - start)
    assert found == slowly_projected(spans, links, 7)


MANY = 50_000
STAR = {(0, n) for n in range(MANY)}


@pytest.mark.parametrize(
    ("line", "links"),
    [
        (f"<{'a' * MANY}", set()),
        (f"<a{' /' * MANY}", set()),
        ("<a " * MANY, set()),
        (f"word {'<br/>' * MANY}", STAR),
        ("<b>w</b>" * MANY, STAR),
    ],
    ids=["name", "attributes", "unclosed", "empty", "inside a word"],
)
def test_long_lines_of_tags_end(line, links):
    """What takes time in proportion to the square of the line takes minutes here."""
    start = time.process_time()
    projected = projected_tags(line, ["t"] * MANY, links)
    assert tags(projected) == tags(line)
    assert time.process_time() - start < 10


def test_spans_far_apart_end():
    spans = parse_spans(" ".join(f"{n}-{n + 1}:{n}" for n in range(MANY)), MANY)
    start = time.process_time()
    found = project_spans(spans, STAR | {(n, t) for n in range(MANY) for t in (0, 2 * MANY)}, 2 * MANY + 1)
    assert found == [LabeledSpan(0, 2 * MANY + 1, "0")]
    assert time.process_time() - start < 10
    with pytest.raises(DataError, match="expected at most 100 spans over a word on the average, found more"):
        parse_spans(" ".join(["0-3:A"] * 100 + ["0-1:B"]), 3)


@given(cuts, links_of_six)
def test_labels_are_well_formed(drawn, links):
    labels = labels_of_spans(project_spans(disjoint(drawn), links, 7), 7)
    assert len(labels) == 7
    assert spans_of_labels(labels) == project_spans(disjoint(drawn), links, 7)


@given(cuts)
def test_the_identity_carries_everything(drawn):
    spans = disjoint(drawn)
    assert project_spans(spans, {(n, n) for n in range(6)}, 6) == spans
    assert spans_of_labels(labels_of_spans(spans, 6)) == spans


def test_labels_by_hand():
    links = {(0, 3), (1, 2), (3, 0), (3, 1)}
    spans = spans_of_labels(["B-PER", "I-PER", "O", "B-LOC"])
    assert labels_of_spans(project_spans(spans, links, 5), 5) == ["B-LOC", "I-LOC", "B-PER", "I-PER", "O"]
    assert project_spans(spans, set(), 5) == []


@pytest.mark.parametrize(
    "labels", [["I-PER"], ["B-PER", "I-LOC"], ["B-PER", "O", "I-PER"], ["PER"], ["B-"], ["o"]]
)
def test_bad_labels_are_refused(labels):
    with pytest.raises(DataError, match="expected B-X, I-X after B-X"):
        spans_of_labels(labels)


@pytest.mark.parametrize("line", ["0-0:A", "2-1:A", "0-4:A", "0-2", "0-2:", "a"])
def test_bad_spans_are_refused(line):
    with pytest.raises(DataError, match="expected spans like 0-2:NAME within 3 words"):
        parse_spans(line, 3)
    assert parse_spans("0-3:A:B  1-2:C", 3) == [LabeledSpan(0, 3, "A:B"), LabeledSpan(1, 2, "C")]


@st.composite
def tagged(draw, depth=2):
    """Return a piece of a line: words, and elements around pieces."""
    parts = []
    for n in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["word", "word", "element", "empty"]))
        if kind == "element" and depth:
            name = draw(st.sampled_from("bi"))
            inner = draw(tagged(depth - 1))
            parts.append(f'<{name} id="{n}">{inner}</{name}>')
        else:
            parts.append("<br/>" if kind == "empty" else draw(st.sampled_from(["x", "y&amp;", "z"])))
    return draw(st.sampled_from([" ", " ", "", "  "])).join(parts)


def tags(line):
    return sorted(re.findall("<[^<>]*>", line))


@given(tagged(), st.integers(0, 5), st.data())
def test_tags_come_out_well_formed_and_complete(line, target_length, data):
    words, _ = parse_tags(line)
    assert words == re.sub("<[^<>]*>", "", line).split()
    cells = [(s, t) for s in range(len(words)) for t in range(target_length)]
    links = data.draw(st.frozensets(st.sampled_from(cells))) if cells else frozenset()
    target = [f"t{n}" for n in range(target_length)]
    projected = projected_tags(line, target, links)
    ElementTree.fromstring(f"<line>{projected}</line>")
    assert tags(projected) == tags(line)
    assert re.sub("<[^<>]*>", "", projected).split() == target


@given(tagged())
def test_the_identity_keeps_what_the_elements_cover(line):
    words, element = parse_tags(line)
    if any(word.count("x") + word.count("y") + word.count("z") > 1 for word in words):
        return  # tags inside a word move to its ends
    projected = projected_tags(line, words, {(n, n) for n in range(len(words))})

    def covers(children):
        return [(e.name, e.start, e.end, covers(e.children)) for e in children if e.start < e.end]

    assert covers(parse_tags(projected)[1].children) == covers(element.children)


@pytest.mark.parametrize(
    ("line", "target", "links", "expected"),
    [
        ("the <b>black cat</b>", "le chat noir", {(0, 0), (1, 2), (2, 1)}, "le <b>chat noir</b>"),
        ("does <b>not</b> sleep", "ne dort pas", {(1, 0), (1, 2), (2, 1)}, "<b>ne dort pas</b>"),
        ("<b>a</b> <i>c</i>", "A C D", {(0, 0), (0, 2), (1, 1)}, "<b>A</b> <i>C</i> D"),
        ("<b>a <i>c</i></b> d", "D C A", {(0, 2), (1, 1), (2, 0)}, "D <b><i>C</i> A</b>"),
        ("<b>a</b> <i>c</i>", "X", {(0, 0), (1, 0)}, "<i></i> <b>X</b>"),
        ("<b>a <i>c</i></b> <u>d</u>", "A B C D", {(0, 0), (1, 3), (2, 2)}, "<b>A <i></i></b> B <u>C</u> D"),
        ("click <br/> here", "cliquez ici", {(0, 0), (1, 1)}, "cliquez <br/> ici"),
        ("end <x/>", "la fin", {(0, 1)}, "la fin <x/>"),
        ("a c <x/> b", "A B C", {(0, 0)}, "A <x/> B C"),
        ("<b>of</b> it", "en", {(1, 0)}, "<b></b> en"),
        ("un<b>believ</b>able", "incroyable", {(0, 0)}, "<b>incroyable</b>"),
        ("1 < 2 <b>ok</b>", "1 < 2 bon", {(0, 0), (1, 1), (2, 2), (3, 3)}, "1 < 2 <b>bon</b>"),
        ("", "", set(), ""),
        ("<b/>", "x", set(), "<b/> x"),
    ],
)
def test_tags_by_hand(line, target, links, expected):
    assert projected_tags(line, target.split(), links) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<b>a", "expected </b> before the end"),
        ("a</b>", "expected no closing tag, found </b>"),
        ("<b><i>a</b></i>", "expected </i>, found </b>"),
    ],
)
def test_lines_that_are_not_nested_are_refused(line, message):
    with pytest.raises(DataError, match=message):
        parse_tags(line)


def test_a_target_with_tags_is_refused():
    with pytest.raises(DataError, match="found '<b>a'"):
        projected_tags("a", ["<b>a"], {(0, 0)})


def test_spans_of_tags_and_those_without_links():
    spans = spans_of_tags(parse_tags("the <b>black <i>cat</i></b> <br/> <u>sleeps</u>")[1])
    assert spans == [LabeledSpan(1, 3, "b"), LabeledSpan(2, 3, "i"), LabeledSpan(3, 4, "u")]
    assert count_unlinked(spans, {(1, 0), (3, 2)}) == 1
