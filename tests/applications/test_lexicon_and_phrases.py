"""Lexicons and phrase pairs against their definitions and other programs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.applications.bilingual_lexicon import (
    LexiconEntry,
    LinkCounts,
    association,
    format_shortlist,
)
from nmtalign.applications.linked_pairs import LinkedPair, read_linked_pairs
from nmtalign.applications.phrases import PhraseFormatter, phrase_pairs
from tests.cli.running import run


def consistent(links, pair, longest):
    """Och and Ney's definition, word for word."""
    a, b, c, d = pair
    inside = [(s, t) for s, t in links if a <= s < b and c <= t < d]
    crossing = [(s, t) for s, t in links if (a <= s < b) != (c <= t < d)]
    return bool(inside) and not crossing and b - a <= longest and d - c <= longest


@given(st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 5))), st.integers(1, 6))
def test_phrase_pairs_are_those_of_the_definition(links, longest):
    pair = LinkedPair(["s"] * 5, ["t"] * 6, na.Alignment(links, 5, 6))
    found = list(phrase_pairs(pair, longest=longest))
    spans = [[(a, b) for a, b in combinations_with_replacement(range(n + 1), 2) if a < b] for n in (5, 6)]
    expected = [(*x, *y) for x in spans[0] for y in spans[1] if consistent(links, (*x, *y), longest)]
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)


def test_phrases_as_moses_writes_them():
    pair, empty = read_linked_pairs([("the black cat", "le chat noir", "0-0 1-2 2-1"), ("", "", "")])
    formatter = PhraseFormatter()
    assert formatter.lines_of(pair) == [
        "the ||| le ||| 0-0\n",
        "the black cat ||| le chat noir ||| 0-0 1-2 2-1\n",
        "black ||| noir ||| 0-0\n",
        "black cat ||| chat noir ||| 0-1 1-0\n",
        "cat ||| chat ||| 0-0\n",
    ]
    assert formatter.lines_of(empty) == []


@given(st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 5))), st.integers(1, 6))
def test_lines_of_phrases_have_the_words_and_links_of_their_spans(links, longest):
    pair = LinkedPair(list("abcde"), ["t", "uu", "v", "www", "x", "yy"], na.Alignment(links, 5, 6))
    expected = []
    for a, b, c, d in phrase_pairs(pair, longest=longest):
        inside = [f"{s - a}-{t - c}" for s, t in sorted(links) if a <= s < b]
        expected.append(
            f"{' '.join(pair.source[a:b])} ||| {' '.join(pair.target[c:d])} ||| {' '.join(inside)}\n"
        )
    assert PhraseFormatter(longest).lines_of(pair) == expected


sentences = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abc"), max_size=4),
        st.lists(st.sampled_from("xyz"), max_size=4),
        st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
    )
)


@given(sentences)
def test_probabilities_are_counts_over_counts(corpus):
    counts, linked, given_source = LinkCounts(), [], []
    for source, target, drawn in corpus:
        links = {(s, t) for s, t in drawn if s < len(source) and t < len(target)}
        counts.add(LinkedPair(source, target, na.Alignment(links, len(source), len(target))))
        linked += [(source[s], target[t]) for s, t in links]
        given_source += [source[s] for s, _ in links]
        given_source += [word for n, word in enumerate(source) if all(s != n for s, _ in links)]
    entries = counts.entries()
    assert sorted(entries) == sorted(set(entries))
    for entry in entries:
        assert entry.links == linked.count((entry.source, entry.target))
        np.testing.assert_allclose(entry.forward, entry.links / given_source.count(entry.source))
        of_source, of_target = (
            sum(link[side] == word for link in linked) for side, word in enumerate(entry[:2])
        )
        assert entry.association == association(entry.links, of_source, of_target, len(linked))
    for word in set(given_source):
        assert sum(entry.forward for entry in entries if entry.source == word) <= 1 + 1e-12


def moses_lexicon(corpus):
    """Return the lines of both lexical tables, as ``get_lexical`` of Moses' train-model.perl counts them."""
    joint, of_source, of_target = Counter(), Counter(), Counter()
    for source, target, links in corpus:
        aligned_source = {s for s, _ in links}
        aligned_target = {t for _, t in links}
        pairs = [(source[s], target[t]) for s, t in links]
        pairs += [(word, "NULL") for s, word in enumerate(source) if s not in aligned_source]
        pairs += [("NULL", word) for t, word in enumerate(target) if t not in aligned_target]
        joint.update(pairs)
        of_source.update(source for source, _ in pairs)
        of_target.update(target for _, target in pairs)
    return (
        {f"{t} {s} {count / of_source[s]:.7f}\n" for (s, t), count in joint.items()},
        {f"{s} {t} {count / of_target[t]:.7f}\n" for (s, t), count in joint.items()},
    )


@given(sentences)
def test_shortlists_are_the_lexical_tables_of_moses(corpus):
    counts = LinkCounts()
    checked = []
    for source, target, drawn in corpus:
        links = {(s, t) for s, t in drawn if s < len(source) and t < len(target)}
        counts.add(LinkedPair(source, target, na.Alignment(links, len(source), len(target))))
        checked.append((source, target, links))
    rows = [*counts.entries(), *counts.null_entries()]
    for reverse, expected in zip((False, True), moses_lexicon(checked), strict=True):
        found = list(format_shortlist(rows, reverse=reverse))
        assert len(found) == len(expected)
        assert set(found) == expected


def test_the_null_word_is_not_a_word(tmp_path, capsys):
    for name, lines in {"en": "is NULL null", "fr": "est NULL de", "links": "0-0 1-1"}.items():
        (tmp_path / name).write_text(f"{lines}\n")
    files = [tmp_path / name for name in ("en", "fr", "links")]
    assert run("lexicon", *files, "-o", tmp_path / "lex", "--min-probability", 0) == 0
    assert "omit 1 pair with the word 'NULL', which stands for no word there" in capsys.readouterr().err
    rows = (tmp_path / "lex.s2t").read_text().splitlines()
    assert sorted(rows) == ["NULL null 1.0000000", "de NULL 1.0000000", "est is 1.0000000"]
    assert "NULL\tNULL\t1" in (tmp_path / "lex.tsv").read_text()  # the table has words only


@given(st.tuples(*[st.integers(0, 30)] * 4))
def test_association_equals_scipy(table):
    stats = pytest.importorskip("scipy.stats")
    a, b, c, d = table
    if min(a + b, c + d, a + c, b + d) == 0:
        return
    expected = stats.chi2_contingency([[a, b], [c, d]], correction=False, lambda_="log-likelihood").statistic
    value = association(a, a + b, a + c, a + b + c + d)
    np.testing.assert_allclose(abs(value), expected, atol=1e-9)
    assert value >= -1e-9 if a * d >= b * c else value <= 0


def test_a_word_that_is_always_linked_alone():
    assert association(5, 5, 5, 5) == 0


def test_shortlists_are_pruned_and_sorted():
    entries = [LexiconEntry("s", target, n, n / 10, 1.0, 0.0) for n, target in enumerate("cba", 1)]
    assert list(format_shortlist(entries, min_probability=0.2)) == ["a s 0.3000000\n", "b s 0.2000000\n"]
    assert list(format_shortlist(entries, reverse=True)) == [f"s {t} 1.0000000\n" for t in "abc"]
