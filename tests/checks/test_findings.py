"""Each kind of findings occurs where its dirt is, and nowhere in an honest text."""

from __future__ import annotations

import random
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.checks import lines
from nmtalign.checks.findings import FINDING_COLUMNS, KINDS, Finding, KindCounts
from nmtalign.checks.line_languages import find_languages
from nmtalign.checks.lines import LowScoreRuns, find_in_lines, find_mojibake, find_slips, find_unusual_lengths
from nmtalign.names import SIDES
from nmtalign.text import slips
from nmtalign.text.chunks import chunk_pairs
from nmtalign.text.slips import LineRun
from tests.text.test_slips import text_of_two_languages

SOURCE, TARGET = text_of_two_languages(600)
# Lines of a third invented language, each with several words
GENERATOR = random.Random(5)
FOREIGN = [
    " ".join(GENERATOR.choice(["zyxq", "qyvu", "xuxi", "vizu", "yqyz"]) for _ in range(8)) for _ in range(5)
]


def kinds(source: str, target: str) -> set[tuple[str, str]]:
    """Return the side and kind of each finding about one pair."""
    frame = na.check([(source, target)])
    return set(zip(frame["side"], frame["kind"], strict=True))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("", "", {("pair", "empty")}),
        ("a house", " ", {("pair", "one-sided")}),
        ("", "une maison", {("pair", "one-sided")}),
        ("The old house.", "the old house", {("pair", "copy")}),
        ("Tom Jones", "Tom Jones", {("pair", "maybe-copy")}),
        ("Ticket code generator", "Ticket-Code-Generator", {("pair", "maybe-copy")}),
        ("Unique ticket number", "Unique Ticket Number", {("pair", "maybe-copy")}),
        ("Universal Declaration Rights", "Universal Declaration Rights", {("pair", "maybe-copy")}),
        ("a\thouse", "une maison", {("source", "tab")}),
        ("a house", "une ||| maison", {("target", "bars")}),
        ("a\rhouse", "une maison", {("source", "carriage-return")}),
        ("a house", "une\x07 maison", {("target", "control-character")}),
        ("a house", "une\x9c maison", {("target", "control-character")}),
        ("a\u2028house", "une maison", {("source", "line-separator")}),
        ("a ho\u00aduse", "une maison", {("source", "invisible-character")}),
        ("a house", "une \ufeffmaison", {("target", "invisible-character")}),
        ("a \u202ehouse", "une\u200b maison", {(side, "invisible-character") for side in SIDES}),
        ("Tom &amp; Ann", "Tom et Ann", {("source", "html-entity")}),
        ("to <unk> &amp; Ann", "à <unk> et Ann", {("source", "html-entity")}),
        ("a house", "l&#8217;&eacute;t&eacute; vient", {("target", "html-entity")}),
        ("it &apos;s a house", "une maison", {("source", "moses-escape")}),
        ("a house &#124; a car", "une maison | une auto", {("source", "moses-escape")}),
        ("the summer", "l'Ã©tÃ©", {("target", "mojibake")}),
        ("the summer", "lâ€™Ã©tÃ©", {("target", "mojibake")}),
        ("the summer", "l'Ã©tÃ\xa0", {("target", "mojibake")}),
        ("the summer", "l'\ufffdt\ufffd", {("target", "replacement-character")}),
        (
            "https://example.org/a www.example.org",
            "voyez https://example.org/a",
            {("source", "only-addresses")},
        ),
        ("12 - 15 %", "de 12 à 15 %", {("source", "only-numbers")}),
        ("<speaker>Ann Lee</speaker>", "Ann Lee parle", {("source", "markup")}),
        ("thehouseonthehillisveryold", "la maison sur la colline", {("source", "one-word")}),
        ("un mot", "motslongs" * 5, {("target", "one-word")}),
    ],
)
def test_each_kind_of_a_single_pair(source, target, expected):
    assert kinds(source, target) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("AT&T and R&D; that's all", "AT&T et R&D ; c'est tout"),
        ("x &lambdaish; y", "x y"),
        ("put &lt;p&gt; into <code>page</code>", "mettez &lt;p&gt; dans <code>page</code>"),
        ("Notification settings", "Benachrichtigungseinstellungen"),
        ("Template filter documentation", "Template-Filter-Dokumentation"),
        ("می\u200cروم 👩\u200d👩\u200d👧", "I go"),
        ("« À » Â Ã ÉTÉ", "naïve façade — “œuvre”"),
        ("Её подъезд ёлка «Ёж»", "her entrance"),
        ("the a|b||c line", "la ligne a|b||c"),
        ("中国は大きな国でとても古い歴史があるのでいつもすばらしい", "China is a large country"),
    ],
)
def test_honest_pairs_have_no_findings(source, target):
    assert kinds(source, target) == set()


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1250", "cp1251"])
def test_utf8_in_another_encoding_is_found(encoding):
    line = {"cp1251": "она не знает этого", "cp1250": "őrült űrhajós város"}.get(encoding, "été – déjà vu")
    spoiled = line.encode().decode(encoding, "replace").replace("\ufffd", "")
    assert find_mojibake(spoiled)
    assert not find_mojibake(line)


@pytest.mark.parametrize(
    "line",
    [
        "er sagt „groß“, sie sagt „muß“",
        "wie groß… und wie weiß–grau",
        "«\u00a0il est créé\u00a0» et «\u00a0voilà\u00a0»",
        "CAFÉ… CAFÉ™ NESTLÉ® «CAFÉ»",
        "„TÜV“ MENÜ–ROMÂNĂ” MAÇÃ",
        "«СССР» и «РСФСР» в «СССР»",
    ],
)
def test_marks_after_letters_are_not_mojibake(line):
    assert find_mojibake(line) == ""


@pytest.mark.parametrize("encoding", ["latin-1", "cp1250"])
@pytest.mark.parametrize("line", ["LE CAFÉ", "ELŐ", "și", "это", "日本", "हिन्दी", "50 €", "½"])
def test_single_words_in_another_encoding_are_found(line, encoding):
    spoiled = "".join(bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in line.encode())
    assert find_mojibake(spoiled)
    assert find_mojibake(spoiled.encode().decode("latin-1"))


@given(st.text("’–éàÉÃÂœŒÙ²° a.\x85", max_size=6))
def test_usual_neighbors_hide_no_mojibake(line):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_MAY_BE_MOJIBAKE", re.compile("[^\x00-\x7f](?:[^\x00-\x7f]|(?<=[ÃÂ]) )"))
        expected = find_mojibake(line)
    assert find_mojibake(line) == expected


def test_a_duplicate_names_the_first_line():
    frame = na.check([("a", "b"), ("c", "d"), ("a", "b")])
    assert frame.loc[frame["kind"] == "duplicate", ["line", "value"]].to_numpy().tolist() == [
        [3, "as line 1"]
    ]


def test_a_table_names_its_columns_and_keeps_its_index():
    frame = pd.DataFrame({"fr": ["le chat", ""], "en": ["the\tcat", "a dog"]}, index=["x", "y"])
    for findings in (
        na.check(frame, source="en", target="fr"),
        na.check(frame["en"], frame["fr"]),
        na.check(frame, na.load(), source="en", target="fr"),
        na.check(frame, aligner=na.load()),  # whose languages are English and French
    ):
        assert list(findings.columns[:2]) == ["index", "line"]
        assert findings[["index", "line", "side", "kind"]].to_numpy().tolist() == [
            ["x", 1, "source", "tab"],
            ["y", 2, "pair", "one-sided"],
        ]


@pytest.mark.parametrize(
    "bitext",
    [
        [{"translation": {"en": "the\tcat", "fr": "le chat"}}],
        {"en": ["the\tcat"], "fr": ["le chat"]},
        (["the\tcat"], ["le chat"]),
    ],
)
def test_other_containers_have_no_index(bitext):
    findings = na.check(bitext)
    assert list(findings.columns) == list(FINDING_COLUMNS)
    assert findings[["line", "kind"]].to_numpy().tolist() == [[1, "tab"]]


def test_two_sides_may_have_different_lengths():
    findings = na.check(["the cat", "a dog"], ["le chat"])
    assert list(findings["kind"]) == ["no-partner"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: na.check(["a"], 5), "expected the target sentences as a list, found 5"),
        (lambda: na.check([("a", "b")], aligner=5), r"expected an aligner, as in check\(bitext, aligner\)"),
        (lambda: na.check([("a", "b")], na.load(), na.load()), "expected one aligner"),
        (lambda: na.check((["a"], ["b"]), source="en", target="fr"), "are names of columns of a table"),
    ],
)
def test_wrong_calls_say_what_to_write(call, message):
    with pytest.raises(na.UsageError, match=message):
        call()


def test_unusual_lengths_are_found():
    target = [*TARGET[:9], TARGET[9][:2], *TARGET[10:]]
    found = list(find_unusual_lengths(SOURCE, target))
    assert [(finding.line, finding.kind) for finding in found if finding.kind == "length-ratio"] == [
        (9, "length-ratio")
    ]
    assert not [finding for finding in find_unusual_lengths(SOURCE, TARGET) if finding.severity == "error"]


def test_the_words_of_a_text_are_numbered_once(monkeypatch):
    calls = []
    original = slips._word_matrix
    monkeypatch.setattr(slips, "_word_matrix", lambda *given: calls.append(len(given[0])) or original(*given))
    na.check((SOURCE[:100], [*TARGET[:40], "oo aa ee", *TARGET[40:100]]))
    assert calls == [100, 101, 100, 101]  # of each side: all words, and those of both sides


def test_an_honest_text_has_no_errors():
    frame = na.check((SOURCE, TARGET))
    assert not list(frame.loc[frame["severity"] == "error", "kind"])


def test_findings_of_a_spoiled_text():
    source, target = list(SOURCE), list(TARGET)
    swapped, foreign, strangers = range(20, 30), range(60, 65), range(100, 110)
    for line in swapped:
        source[line], target[line] = target[line], source[line]
    for line, text in zip(foreign, FOREIGN, strict=True):
        target[line] = text
    for line in strangers:
        target[line] = TARGET[line + 300]
    target.insert(400, "oo aa ee")
    frame = na.check((source, target))
    lines_of_kind = {kind: list(group["line"]) for kind, group in frame.groupby("kind")}
    assert lines_of_kind["swapped"] == [line + 1 for line in swapped]
    assert lines_of_kind["language"] == [line + 1 for line in foreign]
    assert set(lines_of_kind["not-translation"]) <= {line + 1 for line in strangers}
    assert len(lines_of_kind["not-translation"]) >= 3
    assert frame.loc[frame["kind"] == "slip", ["line", "last", "value"]].to_numpy().tolist() == [
        [401, 600, "by +1"]
    ]
    lone = frame.loc[frame["kind"] == "no-partner", ["line", "side"]]
    assert lone.to_numpy().tolist() == [[401, "target"]]
    assert list(frame["line"]) == sorted(frame["line"])


@pytest.mark.parametrize(("form", "is_found"), [(str, True), (str.title, False)])
def test_lines_that_are_mostly_left_in_the_other_language(form, is_found):
    source, target = list(SOURCE), list(TARGET)
    numbers = [number for number, line in enumerate(SOURCE) if len(set(line.split())) >= 8][:10]
    for number in numbers:
        source[number] = form(source[number])
        target[number] = " ".join(source[number].split()[:-2] + target[number].split()[-2:])
    # words that both lines have make them look like translations
    seem_translated = np.ones(len(source))
    found = list(find_languages(source, target, seem_translated, np.zeros(len(source), bool)))
    expected = [(number, "target", "language") for number in numbers] if is_found else []
    assert [(finding.line, finding.side, finding.kind) for finding in found] == expected


def test_all_rows_of_a_slip_have_an_index():
    target = [*TARGET[:100], "oo aa ee", *TARGET[100:299]]
    frame = pd.DataFrame({"en": SOURCE[:300], "fr": target}, index=[f"t{n}" for n in range(300)])
    found = na.check(frame)
    [slip] = found[found["kind"] == "slip"].to_dict("records")
    assert (slip["index"], slip["last_index"]) == ("t100", f"t{slip['last'] - 1}")
    assert len(frame.loc[slip["index"] : slip["last_index"]]) == slip["last"] - 100 >= 199


def test_an_aligner_tells_that_the_files_are_swapped():
    pairs = [("la maison est grande", "the house is big"), ("le chat noir", "the black cat")] * 30
    frame = na.check(pairs, na.load())
    assert list(frame["kind"]).count("swapped-files") == 1


ENGLISH = ["the cat is on the table", "it was in the house", "we have to go", "that is not for you"] * 3
FRENCH = [
    "le chat est sur la table",
    "il est dans la maison",
    "nous avons des chats",
    "ce n'est pas pour vous",
] * 3
GERMAN = [
    "die Katze ist auf dem Tisch",
    "es war in dem Haus",
    "wir haben das nicht",
    "das ist nicht für dich",
] * 3


@pytest.mark.parametrize(
    ("sides", "languages", "kind"),
    [
        ((FRENCH, ENGLISH), ("en", "fr"), "swapped-files"),
        ((FRENCH, ENGLISH), ("en_GB", "French"), "swapped-files"),
        ((GERMAN, ENGLISH), ("en", "de"), "swapped-files"),
        ((ENGLISH, FRENCH), ("en", "fr"), None),
        ((FRENCH, ENGLISH), ("fr", "en"), None),
        ((FRENCH, ENGLISH), None, "maybe-swapped-files"),  # for the bundled model
        ((FRENCH, ENGLISH), ("source", "target"), "maybe-swapped-files"),
        ((GERMAN, ENGLISH), None, None),
        ((FRENCH, ENGLISH), ("tlh", "en"), None),
        ((FRENCH, ENGLISH), ("zh", "en"), None),
    ],
)
def test_swapped_files_are_found_without_an_aligner(sides, languages, kind):
    found = [found for found in na.check(sides, languages=languages)["kind"] if "swapped" in found]
    assert found == ([] if kind is None else [kind])


def test_an_aligner_finds_low_scores_and_pairs_without_links():
    pairs = [("the house", "la maison"), ("xqzt", "blorp")]
    frame = na.check(pairs, na.load())
    assert set(frame.loc[frame["kind"] == "no-links", "line"]) == {2}


@pytest.mark.parametrize("chunk_size", [1, 10_000])
def test_an_aligner_finds_missing_text_on_either_side(chunk_size, monkeypatch):
    monkeypatch.setattr(lines, "chunk_pairs", partial(chunk_pairs, chunk_size=chunk_size))
    english = "The president thanked the members of the committee for their work, and closed the meeting."
    french = "Le président a remercié les membres du comité pour leur travail, et a clos la réunion."
    pairs = [(english, french)] * 8
    pairs[2] = english, french[:38]
    pairs[5] = english[:38], french
    frame = na.check(pairs, na.load())
    missing = frame[frame["kind"] == "missing-text"]
    assert missing[["line", "side", "severity"]].to_numpy().tolist() == [
        [3, "target", "hint"],
        [6, "source", "hint"],
    ]
    assert not set(frame["kind"]) & {"low-score", "not-translation"}


def test_lines_of_different_numbers_need_no_equal_lists():
    frame = na.check((SOURCE, [*TARGET, "zu viel"]))
    assert frame[["line", "side", "kind"]].to_numpy().tolist() == [[601, "target", "no-partner"]]


def test_an_uncertain_place_is_said_to_be_somewhere_in_a_range():
    runs = [LineRun(range(50), 0), LineRun(range(50, 100), 1, earlier=10, later=5)]
    slip, lone = find_slips(runs, 100, 101)
    assert slip[:2] == (50, "source")
    assert slip[3:] == ("by +1, beginning somewhere in lines 41 to 56", 99)
    assert (lone.line, lone.side, lone.kind, lone.last) == (40, "target", "no-partner", 55)
    assert lone.value == "1 of these 16 lines"
    slip_count, lone_count = KindCounts([slip, lone])
    message = slip_count.describe({"source": "a.en", "target": "a.fr"})
    assert "in lines 51 to 100 of a.en, by +1, beginning somewhere in lines 41 to 56; realign" in message
    assert "1, in pairs 41 to 56, 1 of these 16 lines; remove" in lone_count.describe({})


def test_every_kind_has_advice():
    assert all(kind.advice and kind.plural for kind in KINDS.values())


# --- counters ------------------------------------------------------------------------------------


def test_counts_have_errors_first_and_name_the_first_line():
    findings = find_in_lines([("a", "b"), ("", ""), ("a\tb", "c"), ("d\t", "e")], first=10)
    counts = list(KindCounts(findings))
    assert [(count.kind, count.count, count.first.line) for count in counts] == [
        ("tab", 2, 12),
        ("empty", 1, 11),
    ]
    message = counts[0].describe({"source": "a.en", "target": "a.fr"})
    assert message.startswith("tabs inside lines: 2, first in line 13 of a.en; replace")
    assert counts[1].describe({}).startswith("pairs without text: 1, in pair 12; ")


def test_runs_of_low_scores_cross_chunks_and_need_a_model_that_fits():
    import numpy as np

    scores = np.full(300, 0.9)
    scores[100:200] = 0.1
    runs = LowScoreRuns()
    for first in (0, 150):
        runs.add(scores[first : first + 150], np.ones(150, bool), first)
    assert runs.findings() == [Finding(100, "pair", "low-scores", "", last=199)]
    runs = LowScoreRuns()
    runs.add(np.full(300, 0.1), np.ones(300, bool), 0)
    assert runs.findings() == []
