"""Projection of labels and spans: worked examples, and well-formed results whatever the links are."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.applications.labels import (
    LabeledSpan,
    labels_of_spans,
    parse_spans,
    project_spans,
    spans_of_labels,
)
from nmtalign.errors import DataError, UsageError
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
    projected = project_spans(spans, links, 7).spans
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


def slow_layers(spans):
    """Return the spans in layers without overlaps; each span is in the first layer that has room for it."""
    layers = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.label)):
        rooms = [layer for layer in layers if all(not covers(other, span) for other in layer)]
        if rooms:
            rooms[0].append(span)
        else:
            layers.append([span])
    return layers


def covers(span, other):
    return bool(set(range(span.start, span.end)) & set(range(other.start, other.end)))


@given(cuts, links_of_six)
def test_spans_over_each_other_are_projected_as_by_slow_loops(drawn, links):
    spans = [LabeledSpan(min(a, b), max(a, b) + 1, label) for a, b, label in drawn]
    projected = project_spans(spans, links, 7)
    found = Counter((t, span.label) for span in projected.spans for t in range(span.start, span.end))
    expected = Counter()
    for layer in slow_layers(spans):
        for t, label in enumerate(slowly_projected(layer, links, 7)):
            expected[t, label] += label is not None
    assert found == +expected
    with_link = [span for span in spans if any(span.start <= s < span.end for s, _ in links)]
    assert projected.unlinked == len(spans) - len(with_link)
    assert {span.label for span in with_link} == {
        span.label for span in [*projected.spans, *projected.displaced]
    }


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 3, "NP"), (1, 2, "ADJ")], [(0, 3, "NP"), (2, 3, "ADJ")]),
        ([(0, 3, "NP"), (3, 4, "V"), (0, 4, "S")], [(0, 4, "S"), (0, 3, "NP"), (3, 4, "V")]),
        ([(0, 1, "A"), (0, 1, "B")], [(0, 1, "A"), (0, 1, "B")]),
        ([(0, 2, "A"), (1, 3, "B")], [(0, 1, "A"), (1, 3, "B"), (2, 3, "A")]),
    ],
)
def test_spans_over_each_other_keep_their_labels_and_words(spans, expected):
    pairs = [("the black cat sleeps", "le chat noir dort", "0-0 1-2 2-1 3-3")]
    assert na.project(pairs, [spans], format="spans") == [expected]
    source_ends, target_ends = (3, 9, 13, 20), (2, 7, 12, 17)
    source_starts, target_starts = (0, 4, 10, 14), (0, 3, 8, 13)
    characters = [(source_starts[start], source_ends[end - 1], label) for start, end, label in spans]
    assert na.project(pairs, [characters], format="char-spans") == [
        [(target_starts[start], target_ends[end - 1], label) for start, end, label in expected]
    ]


@pytest.mark.parametrize(
    ("format", "annotation", "kept"),
    [
        ("spans", [(0, 1, "PER"), (1, 2, "LOC")], [(0, 1, "PER")]),
        ("bio", ["B-PER", "B-LOC"], ["B-PER"]),
    ],
)
def test_spans_whose_words_belong_to_others_are_named(format, annotation, kept):
    with pytest.warns(na.NmtalignWarning, match=r"1 annotation is linked only .* 1-2:LOC \(pair 0\)") as told:
        assert na.project([("du Nord", "Northern", "0-0 1-0")], [annotation], format=format) == [kept]
    assert told[0].filename == __file__


MANY = 50_000
STAR = {(0, n) for n in range(MANY)}


def test_spans_far_apart_end():
    spans = parse_spans(" ".join(f"{n}-{n + 1}:{n}" for n in range(MANY)), MANY)
    start = time.process_time()
    found = project_spans(spans, STAR | {(n, t) for n in range(MANY) for t in (0, 2 * MANY)}, 2 * MANY + 1)
    assert found.spans == [LabeledSpan(0, 2 * MANY + 1, "0")]
    assert time.process_time() - start < 10
    with pytest.raises(DataError, match="expected at most 100 spans over a word, found more"):
        project_spans(parse_spans(" ".join(["0-3:A"] * 100 + ["0-1:B"]), 3), [(0, 0)], 1)


@given(cuts, links_of_six)
def test_labels_are_well_formed(drawn, links):
    spans = project_spans(disjoint(drawn), links, 7).spans
    labels = labels_of_spans(spans, 7)
    assert len(labels) == 7
    assert spans_of_labels(labels) == spans


@given(cuts)
def test_the_identity_carries_everything(drawn):
    spans = disjoint(drawn)
    assert project_spans(spans, {(n, n) for n in range(6)}, 6) == (spans, 0, [])
    assert spans_of_labels(labels_of_spans(spans, 6)) == spans


def test_labels_by_hand():
    links = {(0, 3), (1, 2), (3, 0), (3, 1)}
    spans = spans_of_labels(["B-PER", "I-PER", "O", "B-LOC"])
    projected = project_spans(spans, links, 5).spans
    assert labels_of_spans(projected, 5) == ["B-LOC", "I-LOC", "B-PER", "I-PER", "O"]
    assert project_spans(spans, set(), 5) == ([], 2, [])


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
    ],
)
def test_spans_of_characters_by_hand(source, target, links, spans, expected):
    [found] = na.project([(source, target, links)], [spans], format="char-spans")
    assert " ".join(f"{start}-{end}:{label}" for start, end, label in found) == expected


@pytest.mark.parametrize("span", ["1-2:X", "0-2:X", "1-3:X"])
def test_spans_of_characters_that_cut_words_are_named(span):
    """Offsets in UTF-16 units do so after an emoji."""
    with pytest.warns(
        UserWarning, match=rf"1 span begins or ends inside a word.*: {span} \(pair 0\); .*UTF-16"
    ):
        assert na.project([("red", "rouge", "0-0")], [span], format="char-spans") == [[(0, 5, "X")]]


def test_spans_of_no_word_are_counted():
    with pytest.warns(UserWarning, match="1 annotation has no linked word; it was omitted"):
        assert na.project([("a  b", "x y", "0-0 1-1")], ["1-3:X"], format="char-spans") == [[]]
    with pytest.raises(DataError, match="expected spans like 0-2:NAME within 4 characters"):
        na.project([("a  b", "x y", "0-0 1-1")], ["1-5:X"], format="char-spans")


def test_plain_labels_go_to_linked_words():
    pairs = [("the black cat", "le chat tout noir", "0-0 1-3 2-1 1-1")]
    assert na.project(pairs, ["DET ADJ NOUN"], format="labels") == [["DET", "ADJ", "_", "ADJ"]]
    with pytest.raises(DataError, match=r"found 'DET'; plain labels of words.* are in the format labels"):
        na.project(pairs, ["DET ADJ NOUN"], format="bio")
    with pytest.warns(na.NmtalignWarning, match="1 annotation has no linked word"):
        assert na.project([("a b", "x", "1-0")], [["A", "B"]], format="labels") == [["B"]]


def test_labels_are_read_from_arrays():
    labels = ["O", "B-X", "I-X"]
    pairs = [("the black cat", "le chat noir", "0-0 1-2 2-1")]
    containers = [np.array(labels), np.array(labels, object), pd.Series(labels), tuple(labels)]
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    containers += [polars.Series(labels), pyarrow.array(labels), pyarrow.chunked_array([labels])]
    for container in containers:
        assert na.project(pairs, [container], format="bio") == [labels]
    columns = [pd.Series([np.array(labels)], index=["s7"]), np.array([labels]), polars.Series([labels])]
    for column in [*columns, pyarrow.array([labels]), pyarrow.chunked_array([[labels]])]:
        assert na.project(pairs, column, format="bio") == [labels]
    tagged = pyarrow.array(["the <b>black</b> cat"])
    assert na.project(pairs, tagged) == ["le chat <b>noir</b>"]


def test_entities_of_spacy_are_spans():
    spacy = pytest.importorskip("spacy")
    source, target = spacy.blank("en")("Well,  Mary sleeps."), spacy.blank("fr")("Bon,  Marie dort.")
    entity = source.char_span(7, 11, label="PER")
    source.ents = [entity]
    source.spans["sc"] = [entity]
    batch = na.load().align_batch([(source, target)])
    found = target.char_span(6, 11)
    for entities in (source.ents, source.spans["sc"], [entity]):
        assert na.project(batch, [entities], format="spans") == [[(found.start, found.end, "PER")]]
        assert na.project(batch, [entities], format="char-spans") == [[(6, 11, "PER")]]
    part = na.load().align_batch([(source[1:], target[1:])])
    for format in ("spans", "char-spans"):
        with pytest.raises(DataError, match="expected spans of the Doc that was aligned, found 'Mary'"):
            na.project(part, [source.ents], format=format)


def test_errors_of_annotations_have_the_index_of_the_frame():
    frame = pd.DataFrame({"en": ["a dog", "a cat"], "fr": ["un chien", "un chat"]}, index=["s1", "s2"])
    batch = na.load().align_batch(frame)
    linked = frame.assign(links=["0-0 1-1"] * 2)
    for pairs in (batch, linked):
        with pytest.raises(DataError, match=r"pair 1 \(index 's2'\): expected a label for each"):
            na.project(pairs, ["O O", "O"], format="bio")


def test_refused_tags_come_with_advice_on_tags():
    pairs = pd.DataFrame({"source": ["a b"], "target": ["x y"], "links": ["0-0 1-1"]}, index=[7])
    tags = pd.Series([["O", "B-X"]])
    with pytest.raises(
        UsageError, match=r"tags\.loc\[batch\.frame_index\], or tags\.loc\[frame\.index\], by index"
    ):
        na.project(pairs, tags, format="bio")
    with pytest.raises(DataError, match="labels need format='bio' or 'labels'"):
        na.project(pairs, tags.set_axis([7]))
    assert na.project(pairs, tags.set_axis([7]), format="bio") == [["O", "B-X"]]
