"""The public functions of applications: worked examples, and that the commands write the same."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from nmtalign.corpus.bitext_index import write_index_file
from nmtalign.files.paths import bundled_path
from nmtalign.text.tokenization import TextSettings
from tests.cli.running import run

LINKED = [
    ("the black cat", "le chat noir", "0-0 1-2 2-1"),
    ("the house", "la maison", "0-0 1-1"),
    ("", "rien", ""),
    ("The cat is not here", "le chat n' est pas là", "0-0 1-1 2-3 3-2 3-4 4-5"),
]
TAGS = ["the <a>black cat</a>", "<b>the</b> house", "", "The <a>cat</a> is not here"]
LABELS = ["O B-A I-A", "B-B O", "", "O B-A O O O"]


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in zip(("en", "fr", "links"), zip(*LINKED, strict=True), strict=True):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    Path("tags").write_text("".join(f"{line}\n" for line in TAGS), encoding="utf-8")
    Path("labels").write_text("".join(f"{line}\n" for line in LABELS), encoding="utf-8")
    return tmp_path


def output_of(capsys, *arguments: str) -> list[str]:
    assert run(*arguments) == 0
    return capsys.readouterr().out.splitlines()


# --- what is read --------------------------------------------------------------------------------


def test_lines_words_links_and_batches_are_read_the_same():
    batch = na.load().align_batch([("the cat", "le chat"), ("a dog", "un chien")])
    words = [(list(pair.tokens[0]), list(pair.tokens[1]), pair.links) for pair in batch]
    lines = [
        (" ".join(source), " ".join(target), pair.alignment)
        for (source, target, _), pair in zip(words, batch, strict=True)
    ]
    for pairs in (list(batch), words, iter(lines)):
        pd.testing.assert_frame_equal(na.lexicon(pairs), na.lexicon(batch))


@pytest.mark.parametrize("function", [na.lexicon, na.phrases, lambda pairs: na.find(pairs, "a")])
def test_without_pairs_there_are_no_rows(function):
    table = function([])
    assert len(table) == 0
    assert {"source", "target"} <= set(table.columns)
    assert len(function([("", "", "")])) == 0


def test_an_iterator_that_was_read_is_not_taken_for_an_empty_bitext():
    pairs = iter(LINKED)
    na.phrases(pairs)
    with pytest.raises(na.UsageError, match="an iterator with nothing left"):
        na.phrases(pairs)


# --- project -------------------------------------------------------------------------------------


def test_each_format_of_annotations_is_projected():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert na.project(LINKED, TAGS) == [
            "le <a>chat noir</a>",
            "<b>la</b> maison",
            "rien",
            "le <a>chat</a> n' est pas là",
        ]
        labels = na.project(LINKED, LABELS, format="bio")
    assert labels == [["O", "B-A", "I-A"], ["B-B", "O"], ["O"], ["O", "B-A", "O", "O", "O", "O"]]
    assert na.project(LINKED, [line.split() for line in LABELS], format="bio") == labels
    spans = na.project(LINKED, [[(1, 3, "A")], "0-1:B", [], [(np.int64(3), 4, "N")]], format="spans")
    assert spans == [[(1, 3, "A")], [(0, 1, "B")], [], [(2, 3, "N"), (4, 5, "N")]]
    assert spans[0][0].label == "A"


def test_annotations_without_a_link_are_named():
    pairs = [("a b", "x", "0-0"), ("a b", "x", "1-0"), ("a b", "x", "0-0")]
    with pytest.warns(
        UserWarning, match=r"2 annotations have no linked word; they were omitted \(pairs 0, 2\)"
    ) as told:
        assert na.project(pairs, ["O B-A"] * 3, format="bio") == [["O"], ["B-A"], ["O"]]
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=r"it was inserted between the neighboring words \(pair 0\)"):
        assert na.project(pairs[:1], ["a <i>b</i>"]) == ["x<i></i>"]


def test_the_command_projects_what_the_function_does(files, capsys):
    links = ("en", "fr", "links")
    assert output_of(capsys, "project", *links, "--tags", "tags") == na.project(LINKED, TAGS)
    written = output_of(capsys, "project", *links, "--tags", "labels", "--tags-format", "bio")
    assert [line.split() for line in written] == na.project(LINKED, LABELS, format="bio")


SPOKEN = '"Well, no, yes, no!", he said (Monday), in  Paris.'
SPOKEN_FRENCH = "« Bon, non, oui, non\t!  », dit-il (lundi), à\u00a0Paris."


@pytest.mark.parametrize("kind", ["words", "tokens", "docs", "spans of docs", "doc tuples"])
def test_characters_are_those_of_the_text(kind):
    aligner = na.load()
    source, target = SPOKEN, SPOKEN_FRENCH
    if kind in ("words", "tokens"):
        batch = aligner.align_batch([(source, target)], count=kind)
    else:
        spacy = pytest.importorskip("spacy")
        docs = spacy.blank("en")(source), spacy.blank("fr")(target)
        if kind == "spans of docs":
            around = spacy.blank("en")(f"Before. {source}"), spacy.blank("fr")(f"Avant. {target}")
            docs = around[0][2:], around[1][2:]
            assert (docs[0].text, docs[1].text) == (source, target)
        batch = aligner.align_batch([docs])
        if kind == "doc tuples":
            batch = [(*docs, batch.links(0))]
    start = source.index("Paris")
    [[place]] = na.project(batch, [[(start, start + 5, "GPE")]], format="char-spans")
    assert target[place.start : place.end].removeprefix("à\u00a0") == "Paris"
    assert place.end == target.index("Paris") + 5
    [tagged] = na.project(batch, [source.replace("Paris", "<b>Paris</b>")])
    assert tagged.replace("<b>", "").replace("</b>", "") == target
    assert tagged.endswith("Paris</b>.")


def test_words_without_a_text_have_no_characters():
    words = ["the", "black", "cat"], ["le", "chat", "noir"]
    line_pair = na.load().align("the black cat", "le chat noir")
    pieces = na.load().align_batch([("the bl@@ ack cat", "le chat noir")], pieces="bpe")
    for pairs in ([(*words, "0-0 1-2 2-1")], na.load().align_batch([words]), [line_pair], pieces):
        with pytest.raises(na.DataError, match=r"pair 0: expected lines of text or Docs.*format='spans'"):
            na.project(pairs, [[(4, 9, "ADJ")]], format="char-spans")


def test_annotations_of_tokens_over_lines_name_the_way_out():
    batch = na.load().align_batch([("the cat, a dog", "le chat, un chien")])
    labels = ["DET", "NOUN", "PUNCT", "DET", "NOUN"]
    message = r"5 labels for 4 source words between spaces; .*count='tokens'.*Docs"
    with pytest.raises(na.DataError, match=message):
        na.project(batch, [labels], format="labels")
    tokens = na.load().align_batch([("the cat, a dog", "le chat, un chien")], count="tokens")
    assert na.project(tokens, [labels], format="labels") == [labels]
    with pytest.raises(na.DataError, match=r"expected a label for each of 5 source words, found 6$"):
        na.project(tokens, [[*labels, "X"]], format="labels")
    entity = SimpleNamespace(label_="A", start=3, end=4, start_char=9, end_char=10, text="a")
    message = "expected spans of the Doc that was aligned, found 'a'.*over lines write format='char-spans'"
    with pytest.raises(na.DataError, match=message):
        na.project(batch, [[entity]], format="spans")
    assert na.project(batch, [[entity]], format="char-spans") == [[(9, 11, "A")]]
    for label in (3, ("a", 3)):
        with pytest.raises(na.DataError, match=r"labels are text, such as str\(label\)"):
            na.project(batch, [[(0, 1, label)]], format="spans")


# --- lexicon and phrases -------------------------------------------------------------------------


def test_the_command_lists_the_lexicon_of_the_function(files, capsys):
    header, *rows = output_of(capsys, "lexicon", "en", "fr", "links", "--min-probability", "0.4")
    table = na.lexicon(LINKED, min_probability=0.4)
    assert len(header.split("\t")) == len(table.columns)
    expected = [
        f"{source}\t{target}\t{count}\t{forward:.4f}\t{reverse:.4f}\t{association:.2f}"
        for source, target, count, forward, reverse, association in table.itertuples(index=False)
    ]
    assert sorted(rows) == sorted(expected)


def test_the_command_and_the_function_count_the_same_words_of_raw_text(capsys, tmp_path):
    """Of raw text, the table has words without punctuation at the edges; other programs get the words."""
    texts = [str(bundled_path("en_fr_sample") / f"text.{side}") for side in ("en", "fr")]
    pairs = [(pair.source, pair.target) for pair in na.read_bitext(*texts)]
    batch = na.load().align_batch(pairs)
    links = [" ".join(f"{s}-{t}" for s, t in sorted(pair.links)) for pair in batch]
    (tmp_path / "links").write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    given = *texts, str(tmp_path / "links"), "--min-probability", "0"
    header, *printed = output_of(capsys, "lexicon", *given)
    table = na.lexicon([(*pair, line) for pair, line in zip(pairs, links, strict=True)])
    expected = [
        f"{source}\t{target}\t{count}\t{forward:.4f}\t{reverse:.4f}\t{association:.2f}"
        for source, target, count, forward, reverse, association in table.itertuples(index=False)
    ]
    assert set(printed) < set(expected)
    pd.testing.assert_frame_equal(table, na.lexicon(batch))
    assert not any(word.endswith(",") and len(word) > 1 for word in table["source"])
    assert run("lexicon", *given, "-o", str(tmp_path / "lex"), "--quiet") == 0
    assert (tmp_path / "lex.tsv").read_text("utf-8").split("\n") == [header, *expected, ""]
    shortlist = (tmp_path / "lex.s2t").read_text("utf-8").splitlines()
    assert len(shortlist) > len(expected)
    assert any(line.split(" ")[1].endswith("y,") for line in shortlist)


def test_pieces_of_lines_are_counted_as_they_are():
    pieces = [("▁(a ▁. do@@", "▁(b ▁. cha@@", "0-0 1-1 2-2")]
    assert na.lexicon(pieces)["source"].tolist() == ["do@@", "▁(a", "▁."]
    assert na.lexicon(pieces, word="▁.")["target"].tolist() == ["▁."]


def test_a_lexicon_is_chosen_by_links_probability_and_word():
    pairs = [*LINKED, ("the cat", "le chat", "0-0 1-1")]
    assert na.lexicon(pairs, min_links=3)[["source", "target", "count"]].values.tolist() == [
        ["cat", "chat", 3]
    ]
    assert na.lexicon(pairs, word="la")["source"].tolist() == ["the"]
    assert (
        na.lexicon(pairs, min_probability=0.5)[["p_target_given_source", "p_source_given_target"]].max(axis=1)
        >= 0.5
    ).all()


def test_the_lexicon_of_an_aligner_has_expected_counts():
    aligner = na.load()
    table = na.lexicon(aligner, min_links=100)
    assert table["count"].is_monotonic_decreasing
    assert table["count"].min() >= 100
    assert table["association"].isna().all()
    assert "maison" in na.lexicon(aligner, word="house", min_probability=0.3)["target"].tolist()
    with pytest.raises(na.UsageError, match="over word vectors has no lexicon"):
        na.lexicon(na.load("en_fr_vectors"))


def test_the_command_lists_the_phrases_of_the_function(files, capsys):
    written = output_of(capsys, "phrases", "en", "fr", "links", "--longest", "3")
    table = na.phrases(LINKED, longest=3)
    assert written == (table["source"] + " ||| " + table["target"] + " ||| " + table["links"]).tolist()
    for row in table.itertuples():
        words = LINKED[row.pair][0].split()[row.source_start : row.source_end]
        assert row.source == " ".join(words)
        assert row.target_end - row.target_start <= 3


# --- find ----------------------------------------------------------------------------------------


def test_places_and_translations_are_found():
    table = na.find(LINKED, "THE")
    assert table["pair"].tolist() == [0, 1, 3]
    assert table["translation"].tolist() == ["le", "la", "le"]
    [row] = na.find(LINKED, "not", side="source").itertuples()
    assert (row.translation, row.source_positions, row.target_positions) == ("n' … pas", [3], [2, 4])
    assert (row.source, row.target) == LINKED[3][:2]
    table = na.find(LINKED, "le chat", translation="the cat")
    assert table["pair"].tolist() == [0, 3]  # whether or not the words of the translation are adjacent
    assert table["translation"].tolist() == ["the … cat", "the cat"]
    assert table["side"].unique().tolist() == ["target"]
    assert na.find(LINKED, "rien")["translation"].tolist() == [""]
    assert len(na.find(LINKED, "zebra")) == 0


def test_an_index_on_disk_has_the_same_places(tmp_path):
    path = tmp_path / "corpus.db"
    split = [
        (s.split(), t.split(), {tuple(map(int, link.split("-"))) for link in links.split()})
        for s, t, links in LINKED
    ]
    write_index_file(path, split, TextSettings())
    for words in ("the", "cat", "le chat"):
        pd.testing.assert_frame_equal(na.find(str(path), words), na.find(LINKED, words))


def test_a_limit_draws_the_same_places_each_time():
    pairs = [("a", "b", "0-0")] * 3000
    drawn = na.find(pairs, "a", examples=20)
    assert len(drawn) == 20
    assert drawn["pair"].is_monotonic_increasing
    pd.testing.assert_frame_equal(drawn, na.find(pairs, "a", examples=20))
    assert len(na.find(pairs, "a")) == 3000


RAW = [
    ("I like dogs.", "J'aime les chiens."),
    ("my dog, a good dog", "mon chien, un bon chien"),
    ("The dog.", "Le chien."),
]


@pytest.mark.parametrize("kind", ["words", "lines", "tokens", "on disk"])
def test_words_beside_punctuation_are_found(kind, tmp_path):
    batch = na.load().align_batch(RAW, count="tokens" if kind == "tokens" else "words")
    pairs = [(*pair, batch.links(n)) for n, pair in enumerate(RAW)] if kind == "lines" else batch
    searched = pairs
    if kind == "on disk":
        na.write_index(tmp_path / "corpus.db", batch)
        searched = tmp_path / "corpus.db"
    found = na.find(searched, "dog", side="source")
    assert found["pair"].tolist() == [1, 1, 2]
    assert found["translation"].tolist() == ["chien", "chien", "chien"]
    assert na.find(searched, "chien", translation="dog")["pair"].tolist() == [1, 1, 2]
    assert na.find(searched, "dog, a", side="source")["pair"].tolist() == [1]
    assert na.find(searched, "dogs.", side="source")["pair"].tolist() == [0]
    lexicon = na.lexicon(pairs, word="dog")
    assert lexicon[["target", "count"]].values.tolist() == [["chien", 3]]
    assert "dog." not in na.lexicon(pairs)["source"].tolist()


def test_positions_and_sentences_keep_their_punctuation():
    [first, *_] = na.find(na.load().align_batch(RAW), "dog", side="source").itertuples()
    assert (first.source, first.source_positions) == ("my dog, a good dog", [1])
    assert first.source.split(" ")[1] == "dog,"


def test_punctuation_alone_and_words_of_lists_are_searched_as_they_are():
    lines = [("a dog ... .", "un chien ... .", "0-0 1-1 2-2 3-3")]
    for words in ("...", "."):
        assert len(na.find(lines, words, side="source")) == 1
    assert na.lexicon(lines)["source"].tolist() == [".", "...", "a", "dog"]
    titles = [(["Mr.", "Smith"], ["M.", "Smith"], "0-0 1-1")]
    assert na.lexicon(titles)["source"].tolist() == ["Mr.", "Smith"]
    assert na.lexicon(titles, word="Mr.")["target"].tolist() == ["M."]
    assert na.lexicon([("Mr. Smith", "M. Smith", "0-0 1-1")], word="Mr.")["target"].tolist() == ["M"]


def test_an_index_is_written_from_a_batch(tmp_path):
    tokens = na.load().align_batch(RAW, count="tokens")
    na.write_index(tmp_path / "corpus.db", tokens)
    na.write_index(str(tmp_path / "corpus.db"), tokens)  # replaces the file
    index = na.open_index(tmp_path / "corpus.db")
    for words in ("dog", "dog, a", "chien"):
        pd.testing.assert_frame_equal(na.find(index, words), na.find(tokens, words))
    with pytest.raises(na.UsageError, match="the path of the index"):
        na.write_index(tokens, tmp_path / "corpus.db")


INDEXES = {
    "integers in another order": pd.Index([2, 0, 1]),
    "names": pd.Index(["s7", "s9", "s1"], name="sid"),
    "repeated": pd.Index([1, 1, 1]),
    "numbers from 0": pd.RangeIndex(3),
    "several levels": pd.MultiIndex.from_tuples([("a", 3), ("a", 1), ("b", 2)], names=["doc", "n"]),
    "times": pd.DatetimeIndex(["2026-01-03", "2026-01-01", None]),
    "times of a zone": pd.date_range("2026-03-28", periods=3, tz="Europe/Paris", unit="s"),
    "missing": pd.Index([1.5, None, 0.25]),
    "bools and numbers": pd.Index([True, 7, "x"], dtype=object),
}


@pytest.mark.filterwarnings("ignore:the index of the pairs has repeated values")
@pytest.mark.parametrize("case", INDEXES)
def test_an_index_on_disk_keeps_the_index_of_the_frame(case, tmp_path):
    frame = pd.DataFrame([row[:2] for row in LINKED if row[0]], columns=["en", "fr"], index=INDEXES[case])
    batch = na.load().align_batch(frame)
    na.write_index(tmp_path / "corpus.db", batch)
    for words in ("cat", "le chat"):
        table = na.find(tmp_path / "corpus.db", words)
        pd.testing.assert_frame_equal(table, na.find(batch, words))
        assert table.index.equals(frame.index[table["pair"]])
    if frame.index.is_unique:
        assert na.find(tmp_path / "corpus.db", "cat").join(frame)["en"].str.contains("cat").all()
    assert len(na.find(tmp_path / "corpus.db", "zebra")) == 0


def test_pairs_without_a_frame_are_found_by_their_number(tmp_path):
    na.write_index(tmp_path / "corpus.db", LINKED)
    for pairs in (tmp_path / "corpus.db", LINKED):
        table = na.find(pairs, "the")
        assert table.index.tolist() == table["pair"].tolist() == [0, 1, 3]


def test_labels_that_cannot_be_kept_are_refused(tmp_path):
    frame = pd.DataFrame({"en": ["a"], "fr": ["un"]}, index=pd.period_range("2026", periods=1, freq="Y"))
    with pytest.raises(na.UsageError, match=r"numbers, text or times, found Period.*reset_index"):
        na.write_index(tmp_path / "corpus.db", na.load().align_batch(frame))
    assert not list(tmp_path.iterdir())


def test_a_word_without_translations_has_no_rows():
    table = na.lexicon(LINKED, word="zebra")
    assert len(table) == 0
    assert list(table.columns) == list(na.lexicon(LINKED).columns)
    assert table.dtypes["association"] == np.float64


def test_links_and_tags_may_end_in_the_line_break_of_a_file():
    pairs = [("the cat", "le chat", "0-0 1-1\n")]
    assert na.project(pairs, ["DET NOUN\r\n"], format="labels") == [["DET", "NOUN"]]
    assert na.project(pairs, ["the <b>cat</b>\n"]) == ["le <b>chat</b>"]
