"""Projection of labels and spans: worked examples, and well-formed results whatever the links are."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.applications.labels import (
    LabeledSpan,
    count_unlinked,
    labels_of_spans,
    parse_spans,
    project_spans,
    spans_of_labels,
)
from nmtalign.errors import DataError
from nmtalign.names import LABEL_FORMATS

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


@pytest.mark.parametrize("format", LABEL_FORMATS)
@given(cuts)
def test_labels_of_each_scheme_carry_all_spans(format, drawn):
    spans = disjoint(drawn)
    assert spans_of_labels(labels_of_spans(spans, 6, format), format) == spans


@pytest.mark.parametrize(
    ("format", "labels", "spans"),
    [
        ("bioes", "S-A B-A E-A O B-B I-B E-B", [(0, 1, "A"), (1, 3, "A"), (4, 7, "B")]),
        ("bioes", "S-A S-A", [(0, 1, "A"), (1, 2, "A")]),
        ("iob1", "I-A I-A B-A I-B O I-B", [(0, 2, "A"), (2, 3, "A"), (3, 4, "B"), (5, 6, "B")]),
        ("bio", "B-A I-A B-A B-B O B-B", [(0, 2, "A"), (2, 3, "A"), (3, 4, "B"), (5, 6, "B")]),
    ],
)
def test_schemes_by_hand(format, labels, spans):
    assert spans_of_labels(labels.split(), format) == spans
    assert (
        labels_of_spans([LabeledSpan(*span) for span in spans], len(labels.split()), format) == labels.split()
    )


@pytest.mark.parametrize(
    ("format", "labels", "message"),
    [
        ("bioes", "B-A O", "expected I-A or E-A after B-A for word 1, found 'O'"),
        ("bioes", "B-A B-A", "expected I-A or E-A after B-A for word 1"),
        ("bioes", "B-A E-B", "expected I-A or E-A after B-A for word 1"),
        ("bioes", "B-A I-A", "expected E-A after I-A, found the end"),
        ("bioes", "I-A", "expected B-X, .* for word 0, found 'I-A'"),
        ("bioes", "O-A", "for word 0, found 'O-A'"),
        ("bioes", "BI-A", "for word 0, found 'BI-A'"),
        ("iob1", "B-A", "expected I-X, B-X after I-X or B-X, or O for word 0, found 'B-A'"),
        ("iob1", "I-A B-B", "for word 1, found 'B-B'"),
        ("bio", "I-A", "found 'I-A'; in the format iob1, a span begins with I-X"),
        ("bio", "S-A", "found 'S-A'; such labels are in the format bioes"),
        ("bio", "O-A", "for word 0, found 'O-A'"),
    ],
)
def test_labels_of_another_scheme_are_refused(format, labels, message):
    with pytest.raises(DataError, match=message):
        spans_of_labels(labels.split(), format)


@pytest.mark.parametrize(
    ("source", "target", "links", "spans", "expected"),
    [
        ("the house, here", "la  maison, ici", "0-0 1-1 2-2", "4-9:X", "4-10:X"),
        ("the house, here", "la  maison, ici", "0-0 1-1 2-2", "4-10:X", "4-11:X"),
        ("the house, here", "la  maison, ici", "0-0 1-1 2-2", "3-9:X 11-15:Y", "4-10:X 12-15:Y"),
        ("I do not see", "je ne vois pas", "0-0 1-1 2-1 2-3 3-2", "2-8:NEG", "3-5:NEG 11-14:NEG"),
        ("red", "rouge", "0-0", "1-2:X", "0-5:X"),
    ],
)
def test_spans_of_characters_by_hand(source, target, links, spans, expected):
    [found] = na.project([(source, target, links)], [spans], format="char-spans")
    assert " ".join(f"{start}-{end}:{label}" for start, end, label in found) == expected


def test_spans_of_no_word_are_counted():
    with pytest.warns(UserWarning, match="1 annotation has no linked word; it was omitted"):
        assert na.project([("a  b", "x y", "0-0 1-1")], ["1-3:X"], format="char-spans") == [[]]
    with pytest.raises(DataError, match="expected spans like 0-2:NAME within 4 characters"):
        na.project([("a  b", "x y", "0-0 1-1")], ["1-5:X"], format="char-spans")


def test_spans_without_links_are_counted():
    spans = [LabeledSpan(1, 3, "b"), LabeledSpan(2, 3, "i"), LabeledSpan(3, 4, "u")]
    assert count_unlinked(spans, {(1, 0), (3, 2)}) == 1
