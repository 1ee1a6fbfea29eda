"""Terms against a naive search for them, and as files and tables."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.applications.bilingual_lexicon import association
from nmtalign.applications.linked_pairs import LinkedLines, LinkedPair, read_linked_lines
from nmtalign.applications.phrases import phrase_pairs
from nmtalign.applications.terminology import (
    CSV_MARK,
    FUNCTION_WORD_WEIGHTS,
    MAX_PART_SHARE,
    MAX_TERM_WORDS,
    TERM_COLUMNS,
    Term,
    TermText,
    format_terms,
)
from tests.cli.running import bad_records_in, lines, run, write

SAMPLE = Path(na.__file__).parent.parent / "data" / "en_fr_sample"
WORDS = ("commission", "parliament", "(minister", "council.", "act", "under", "of", ",")


@st.composite
def linked_texts(draw):
    """Pairs of a few sentences that occur again, whose links follow the diagonal, with some others."""
    sentences = draw(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=3)
    )
    pairs = []
    for _ in range(draw(st.integers(1, 6))):
        source, target = (draw(st.sampled_from(sentences)) for _ in range(2))
        diagonal = [(n, n) for n in range(min(len(source), len(target)))]
        links = set(diagonal) - draw(st.frozensets(st.sampled_from(diagonal), max_size=1))
        ends = st.integers(0, len(source) - 1), st.integers(0, len(target) - 1)
        pairs.append((source, target, links | draw(st.frozensets(st.tuples(*ends), max_size=2))))
    return pairs


def bare(word):
    return word.strip("(.") or word


def has_letters(word):
    return any(map(str.isalpha, word))


class NaiveTerms:
    """The phrases that may be terms, one by one, and how often each sequence of words occurs."""

    def __init__(self, pairs, min_links):
        text = TermText()
        for linked in read_linked_lines(pairs):
            text.add(linked)
        self.values = []
        for side in (0, 1):
            values = text.sides[side].features(text.is_linked(side)) @ FUNCTION_WORD_WEIGHTS
            words = text.sides[side].vocabulary()
            self.values.append(
                {word: v if has_letters(word) else 0 for word, v in zip(words, values, strict=True)}
            )
        self.occurrences = Counter(), Counter()
        for pair in pairs:
            for side in (0, 1):
                spans = combinations(range(len(pair[side]) + 1), 2)
                self.occurrences[side].update(
                    tuple(map(bare, pair[side][a:b]))
                    for a, b in spans
                    if b - a <= MAX_TERM_WORDS and self.is_whole(pair[side][a:b])
                )
        # source, target, number of the pair, source span
        self.found = [
            row
            for n, pair in enumerate(pairs)
            for row in self.phrases(n, *pair)
            if all(self.occurrences[side][row[side]] >= min_links for side in (0, 1))
        ]

    def phrases(self, n, source, target, links):
        pair = LinkedPair(source, target, na.Alignment(links, len(source), len(target)))
        for a, b, c, d in phrase_pairs(pair, longest=MAX_TERM_WORDS):
            edges = (0, a), (0, b - 1), (1, c), (1, d - 1)
            is_whole = self.is_whole(source[a:b]) and self.is_whole(target[c:d])
            if is_whole and all(self.may_be_edge((source, target), links, *edge) for edge in edges):
                yield tuple(map(bare, source[a:b])), tuple(map(bare, target[c:d])), n, a, b

    def is_whole(self, words):
        before_gaps, after_gaps = words[:-1], words[1:]
        return not any(word[-1] in ".," for word in before_gaps) and not any(
            word[0] in "(," for word in after_gaps
        )

    def may_be_edge(self, words, links, side, position):
        word = bare(words[side][position])
        partners = [bare(words[1 - side][link[1 - side]]) for link in links if link[side] == position]
        if not partners or not has_letters(word):
            return False
        of_partners = [self.values[1 - side][partner] for partner in partners]
        return self.values[side][word] + np.mean(of_partners) <= 0


@given(linked_texts(), st.integers(1, 2))
def test_terms_are_those_of_a_naive_search(pairs, min_links):
    naive = NaiveTerms(pairs, min_links)
    links = Counter(row[:2] for row in naive.found)
    frequent = {term for term, count in links.items() if count >= min_links}
    parts = Counter()
    for row in naive.found:
        for other in naive.found:
            is_inside = (
                other[2] == row[2] and other[3] <= row[3] and row[4] <= other[4] and other[3:] != row[3:]
            )
            if is_inside and other[:2] in frequent:
                parts[row[:2], other[:2]] += 1
    dropped = {part for (part, _), count in parts.items() if count > MAX_PART_SHARE * links[part]}
    of_source = Counter(row[0] for row in naive.found)
    of_target = Counter(row[1] for row in naive.found)
    expected = [
        (
            " ".join(source),
            " ".join(target),
            links[source, target],
            links[source, target] / naive.occurrences[0][source],
            links[source, target] / naive.occurrences[1][target],
            association(links[source, target], of_source[source], of_target[target], len(naive.found)),
        )
        for source, target in frequent - dropped
    ]
    table = na.terms(pairs, min_links=min_links, min_probability=0)
    assert list(table.columns) == list(TERM_COLUMNS)
    assert table["association"].is_monotonic_decreasing
    found = sorted(table.iloc[:, :6].itertuples(index=False, name=None))
    assert found == sorted(expected)
    swapped = [(target, source, {(t, s) for s, t in links}) for source, target, links in pairs]
    table = na.terms(swapped, min_links=min_links, min_probability=0)
    found = [
        (s, t, links, p, q, g)
        for t, s, links, q, p, g in table.iloc[:, :6].itertuples(index=False, name=None)
    ]
    assert sorted(row[:5] for row in found) == sorted(row[:5] for row in expected)


def test_probable_translations_alone_are_listed():
    pairs = [(["commission"], ["commission"], {(0, 0)})] * 4 + [(["commission"], ["bureau"], {(0, 0)})]
    assert na.terms(pairs, min_links=1)["target"].tolist() == ["bureau", "commission"]
    assert na.terms(pairs, min_links=1, min_probability=0.3)["target"].tolist() == ["commission"]
    assert na.terms(pairs, min_links=1)["p_target_given_source"].tolist() == [0.2, 0.8]


def test_terms_are_spelled_as_in_most_lines_and_shown_in_a_line_of_their_own():
    lines = [
        ("Member States agree,", "les États membres sont d'accord", "0-2 1-1"),
        ("our Member States.", "nos États membres.", "0-0 1-2 2-1"),
        ("all member states", "tous les états membres", "0-0 1-3 2-2"),
    ]
    [row] = na.terms(lines).itertuples(index=False)
    assert row[:3] == ("Member States", "États membres", 3)
    assert (row.source_example, row.target_example) == (
        "Member States agree,",
        "les États membres sont d'accord",
    )


def test_terms_of_text_without_spaces_have_none():
    text = TermText()
    pair = LinkedPair(
        ["weather", "forecast"], list("天气预报"), na.Alignment({(0, 0), (0, 1), (1, 2), (1, 3)}, 2, 4)
    )
    spans = [(0, 7), (8, 16)], [(n, n + 1) for n in range(4)]
    text.add(LinkedLines("weather forecast", "天气预报", pair, spans))
    assert [(term.source, term.target) for term in text.terms(min_links=1)] == [
        ("weather forecast", "天气预报")
    ]


def test_a_text_without_terms_has_an_empty_table():
    for pairs in ([], [("a", "b", "")], [("", "", "")]):
        table = na.terms(pairs)
        assert len(table) == 0
        assert (table.dtypes["count"], table.dtypes["association"]) == ("int64", "float64")


@pytest.mark.parametrize("minimum", [{"min_links": 0}, {"min_probability": 2}])
def test_minimums_are_checked(minimum):
    with pytest.raises(na.UsageError, match=next(iter(minimum))):
        na.terms([], **minimum)


TERM = Term("=SUM(A1)", 'a, "b"', 3, 1.0, 0.5, 12.345, "+1\tx", "line")


def test_csv_is_for_spreadsheets():
    text = "".join(format_terms([TERM], ".csv"))
    assert text.startswith(CSV_MARK)
    rows = list(csv.DictReader(text.removeprefix(CSV_MARK).splitlines()))
    assert list(rows[0]) == list(TERM_COLUMNS)
    values = ["'=SUM(A1)", 'a, "b"', "3", "1.0000", "0.5000", "12.35", "'+1\tx", "line"]
    assert [list(row.values()) for row in rows] == [values]


def test_tsv_has_the_words_as_they_are():
    header, row = format_terms([TERM], ".tsv")
    assert header == "\t".join(TERM_COLUMNS) + "\n"
    assert row.split("\t")[0] == "=SUM(A1)"
    assert row.split("\t")[6] == "+1\\tx"


def test_tbx_is_for_translation_tools():
    term = TERM._replace(source="R&D <\x01>", source_example="\ud800 a\tb")
    root = ElementTree.fromstring("".join(format_terms([term, TERM], ".tbx", ("en", "pt-br"))))
    assert root.attrib == {"type": "TBX-Basic", "{http://www.w3.org/XML/1998/namespace}lang": "en"}
    entries = root.findall("text/body/termEntry")
    assert entries[0].findtext("note") == "linked 3 times: 100% of the source term, 50% of the target term"
    sides = entries[0].findall("langSet")
    assert [next(iter(side.attrib.values())) for side in sides] == ["en", "pt-br"]
    assert [side.findtext("tig/term") for side in sides] == ["R&D <\ufffd>", 'a, "b"']
    assert [side.findtext("tig/descrip") for side in sides] == ["\ufffd a\tb", "line"]


# --- the command ---------------------------------------------------------------------------------


def read_csv(path):
    return list(csv.reader(Path(path).read_text(encoding="utf-8-sig").splitlines()))


def test_tbx_states_the_languages_of_the_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("text.en", "text.fr", "a", "b"):
        Path(name).write_text("cat\n" * 3)
    Path("links").write_text("0-0\n" * 3)
    head = "<xliff version='2.0' srcLang='en' trgLang='fr-CA'><file><unit><segment>"
    unit = "<source>cat</source><target>chat</target>"
    Path("page.xlf").write_text(f"{head}{unit}</segment></unit></file></xliff>")
    assert run("lexicon", "text.en", "text.fr", "links", "--terms", "terms.tbx") == 0
    assert '<langSet xml:lang="fr"><tig><term>cat</term>' in Path("terms.tbx").read_text()
    Path("links").write_text("0-0\n")
    assert run("lexicon", "--pairs", "page.xlf", "links", "--min-links", 1, "--terms", "terms.tbx") == 0
    assert '<langSet xml:lang="fr-ca"><tig><term>chat</term>' in Path("terms.tbx").read_text()
    capsys.readouterr()
    assert run("lexicon", "a", "b", "--terms", "terms.tbx") == 2
    assert "use names such as text.en and text.fr, or write .csv" in capsys.readouterr().err


def test_raw_text_becomes_terms_in_one_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = [SAMPLE / "text.en", SAMPLE / "text.fr"]
    assert run("lexicon", *files, "--terms", "terms.csv") == 0
    header, *rows = read_csv("terms.csv")
    assert header == list(TERM_COLUMNS)
    pairs = list(na.read_bitext(*files))
    batch = na.train(pairs, tokenizer="simple").align_batch(pairs, count="tokens")
    table = na.terms(batch)
    assert [tuple(row[:3]) for row in rows] == [
        (source, target, str(count))
        for source, target, count in table.iloc[:, :3].itertuples(index=False, name=None)
    ]
    sources = [row[0].lower() for row in rows[:50]]
    assert all(any(map(str.isalpha, source)) for source in sources)
    assert not {"the", "of", "and", "in", "to", "a"}.intersection(sources)
    assert all(row[0].lower() in row[6].lower() for row in rows)  # the example has the term


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A text in which two terms occur three times, and its links, with which other formats agree."""
    monkeypatch.chdir(tmp_path)
    source = ["The prime minister spoke.", "the Prime Minister, of course", "our Prime Minister = ours"]
    target = ["le premier ministre parlait.", "le Premier ministre, naturellement", "notre Premier ministre"]
    write(Path("en"), source)
    write(Path("fr"), target)
    write(Path("links"), ["0-0 1-1 2-2 3-3", "0-0 1-1 2-2 4-3", "0-0 1-1 2-2"])
    write(Path("both.tsv"), [f"{s}\t{t}" for s, t in zip(source, target, strict=True)])


def test_a_terminal_shows_how_far_terms_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmtalign.cli.commands.lexicon_command.shows_progress", lambda: True)
    for name in ("en", "fr"):
        Path(name).write_text("a b\n" * 5, encoding="utf-8")
    assert run("lexicon", "en", "fr", "--terms", "terms.csv") == 0
    err = capsys.readouterr().err
    assert "learned from 5 pairs" in err
    assert "5 pairs aligned" in err


def test_a_wrong_path_is_an_error_before_an_aligner_learns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("en", "fr"):
        Path(name).write_text("a\n", encoding="utf-8")
    assert run("lexicon", "en", "fr", "--terms", "missing/terms.csv") == 2
    err = capsys.readouterr().err
    assert "the folder missing does not exist" in err
    assert "learning" not in err


@pytest.mark.parametrize("bitext", ["en fr", "--pairs both.tsv"])
@pytest.mark.parametrize("links", ["links", "--model en_fr_model"])
def test_terms_of_links_and_of_a_model(bitext, links, texts, capsys):
    assert run("lexicon", *bitext.split(), *links.split(), "--terms", "-") == 0
    _, row = capsys.readouterr().out.splitlines()
    assert row.split("\t")[:3] == ["Prime Minister", "Premier ministre", "3"]


def test_minimums_of_terms(texts):
    assert run("lexicon", "en", "fr", "links", "--terms", "t.tsv", "--min-links", "4") == 0
    assert len(lines(Path("t.tsv"))) == 1
    assert run("lexicon", "en", "fr", "links", "--terms", "t.tsv", "--min-links", "1") == 0
    assert len(lines(Path("t.tsv"))) > 2
    assert run("lexicon", "en", "fr", "links", "-o", "x", "--lowercase", "--min-links", "3") == 0
    assert len(lines(Path("x.tsv"))) == 3  # prime - premier, minister - ministre


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("en fr --terms t.xlsx", "t.xlsx: expected a file of terms ending in .csv, .tsv or .tbx"),
        ("en fr links --terms t.csv -o x", "--terms cannot be combined with --output"),
        ("en fr links --terms t.csv --model en_fr_model", "LINKS and --model cannot be combined"),
        ("en --terms t.csv", "expected SOURCE and TARGET, or --pairs FILE"),
        ("--pairs both.tsv en fr --terms t.csv", "expected SOURCE and TARGET, or --pairs FILE"),
        ("en fr --terms t.csv --min-probability 1.5", "1.5 is not in the range 0<=x<=1"),
        ("", "--terms FILE needs no LINKS"),
        ("en fr", "--terms FILE needs no LINKS"),
    ],
)
def test_options_that_make_no_terms(options, says, texts, capsys):
    assert run("lexicon", *options.split()) == 2
    assert says in capsys.readouterr().err
    assert not list(Path().glob("t.*"))


def test_bad_records_have_no_terms(texts, capsys):
    write(Path("links"), ["9-9", "0-0 1-1 2-2 4-3", "0-0 1-1 2-2"])
    assert run("lexicon", "en", "fr", "links", "--terms", "t.csv") == 3
    assert "links, line 1" in capsys.readouterr().err
    options = ["--on-error", "skip-marked", "--min-links", "2"]
    assert run("lexicon", "en", "fr", "links", "--terms", "t.csv", *options) == 0
    assert list(bad_records_in(capsys.readouterr().err)) == [1]
    assert [row[:3] for row in read_csv("t.csv")[1:]] == [["Prime Minister", "Premier ministre", "2"]]
