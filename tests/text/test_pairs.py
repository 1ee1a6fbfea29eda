"""The door of sentence pairs: what it takes, and what it refuses with the number of the pair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nmtalign.aligner.opening import fit_to, load
from nmtalign.aligner.training_steps import train
from nmtalign.errors import DataError, UsageError
from nmtalign.text.bitext import SentencePair, check_pair, read_bitext, read_pairs
from nmtalign.text.chunks import iter_chunks

LINES = [("a house", "une maison"), ("", "une auto")]
WORDS = [(["a", "house"], ["une", "maison"]), ([], ["une", "auto"])]


def table(rows, columns=("en", "fr")):
    return pytest.importorskip("pandas").DataFrame(rows, columns=list(columns))


@pytest.mark.parametrize("pairs", [LINES, WORDS])
def test_pairs_come_as_they_are_from_whatever_holds_them(pairs):
    source, target = map(list, zip(*pairs, strict=True))
    frame = table(pairs)
    for given in (
        pairs,
        tuple(pairs * 2)[:3],
        (pair for pair in pairs),
        zip(source, target, strict=True),
        [list(pair) for pair in pairs],
        [SentencePair(*pair) for pair in pairs],
        (source, target),
        frame,
        (frame["en"], frame["fr"]),
    ):
        assert [tuple(pair) for pair in read_pairs(given).pairs][:2] == pairs
    assert list(read_pairs([]).pairs) == []


def test_arrays_of_words_are_lists():
    found = check_pair(np.array(["a", "b"], dtype=object), ("x",))
    assert found == (["a", "b"], ("x",))


def test_what_a_reader_gives_is_not_checked_again(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a house\tune maison\n", encoding="utf-8")
    bitext = read_bitext(tmp_path / "pairs.tsv")
    assert list(read_pairs(bitext).pairs) == list(read_pairs(bitext).pairs) == LINES[:1]
    with pytest.raises(DataError, match="pair 0: expected lists of words for all pairs, found lines of text"):
        list(read_pairs(bitext, lines=False).pairs)


@pytest.mark.parametrize(
    ("bitext", "told"),
    [
        ("text.en", "found 'text.en'; nmtalign.read_bitext reads files"),
        (Path("text.en"), "read_bitext"),
        (b"ab", "read_bitext"),
        (5, "expected sentence pairs .* found 5"),
        (None, "found None"),
    ],
)
def test_what_is_no_collection_of_pairs_is_a_wrong_call(bitext, told):
    with pytest.raises(UsageError, match=told):
        read_pairs(bitext)


def test_two_of_three_columns_are_to_be_chosen():
    with pytest.raises(UsageError, match="expected a table of two columns, found 3: a, b, c; name both"):
        read_pairs(table([(1, "a", "b")], ["a", "b", "c"]))


@pytest.mark.parametrize(
    "columns",
    [("target", "source"), ("tgt", "src"), ("trg", "src"), ("target_text", "source_text"), ("Target", "SRC")],
)
def test_columns_named_target_and_source_are_taken_by_their_names(columns):
    swapped = [pair[::-1] for pair in LINES]
    assert list(read_pairs(table(swapped, columns)).pairs) == LINES
    assert list(read_pairs(table(LINES, columns[::-1])).pairs) == LINES
    aligner = train(table([("le chat", "the cat"), ("le chien", "the dog")] * 5, columns))
    assert "cat-chat" in str(aligner.align("the cat", "le chat"))


@pytest.mark.parametrize("columns", [("fr", "en"), ("b", "a"), (1, 0), ("src", "src_2"), ("x", "source")])
def test_columns_of_other_names_are_taken_as_they_come(columns):
    assert list(read_pairs(table(LINES, columns)).pairs) == LINES


@pytest.mark.parametrize("columns", [("fr", "en"), ("FR", "EN"), ("French", "eng")])
def test_columns_of_the_languages_are_taken_by_their_names(columns):
    swapped = [pair[::-1] for pair in LINES]
    assert list(read_pairs(table(swapped, columns), languages=("en", "fr")).pairs) == LINES


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("ab", r"expected a pair \(source, target\), found 'ab'"),
        (("a", "b", "c"), "expected a pair"),
        (7, "expected a pair .* found 7"),
        ((1, 2), "expected a line of text or a list of words as source, found 1"),
        (("a", None), "as target, found None"),
        (("a", float("nan")), "as target, found nan"),
        (("a", {"b"}), "as target, found {'b'}"),
        (("a", ["b"]), "expected two lines of text or two lists of words, found one of each"),
        (("a\nb", "c"), "expected one line per side, found a line break in the source"),
        ((["a"], ["b", "c\nd"]), r"none empty or with a line break, in the target, found 'c\\nd'"),
        ((["a", ""], ["b"]), "in the source, found ''"),
        ((["a", 3], ["b"]), "in the source, found 3"),
    ],
)
def test_a_row_that_is_no_pair_is_named_by_its_number(row, told):
    good = WORDS[:1] if isinstance(row, tuple) and isinstance(row[0], list) else LINES[:1]
    with pytest.raises(DataError, match=f"pair 1: .*{told}"):
        list(read_pairs([*good, row, *good]).pairs)


def test_sides_of_unequal_number_and_mixed_pairs_are_refused():
    with pytest.raises(DataError, match="same number of source and target sentences, found 2 and 1"):
        read_pairs((["a", "b"], ["x"]))
    with pytest.raises(DataError, match="pair 2: expected lines of text for all pairs, found lists of words"):
        list(read_pairs([*LINES, *WORDS]).pairs)


def test_the_doors_of_the_package_refuse_what_is_no_pair(learned):
    for call in (train, learned.align_batch):
        with pytest.raises(UsageError, match="read_bitext"):
            call("text.en")
        with pytest.raises(DataError, match="pair 0: expected a pair"):
            call(["ab", "cd"])
        with pytest.raises(DataError, match=r"pair 1: .*line break"):
            call([(["a"], ["b"]), (["a\nb"], ["c"])])
    with pytest.raises(DataError, match="as target, found None"):
        learned.align("a", None)


def test_lists_of_words_are_learned_as_words(tmp_path):
    """The model is that of the same space-separated words, bit for bit, whichever tokenizer is used."""
    lines = [("A-b c", "X y's"), ("c", "y's"), ("A-b", "X")] * 5
    words = [(source.split(" "), target.split(" ")) for source, target in lines]
    models = {"lines": train(lines), "words": train(words), "cut": train(words, tokenizer="simple")}
    for name, model in models.items():
        model.save(tmp_path / name)
        assert model.lexicon.source_words == ["", "a-b", "c"]
    same = [(tmp_path / name / "arrays.npz").read_bytes() for name in ("lines", "words", "cut")]
    assert same[0] == same[1] == same[2]
    metas = [(tmp_path / name / "meta.json").read_text() for name in ("lines", "words")]
    assert metas[0] == metas[1]


def test_fitting_takes_what_aligning_takes():
    aligner = load("en_fr_vectors", positions="hmm")
    lines = [("the black cat", "le chat noir"), ("", "le")] * 5
    words = [(source.split(), target.split()) for source, target in lines]
    first, second = (fit_to(aligner, pairs).positions.jump_models[0].tables for pairs in (lines, words))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(UsageError, match="read_bitext"):
        fit_to(aligner, "text.en")


def test_two_open_files_are_the_sentences_of_both_sides(tmp_path):
    (tmp_path / "en").write_text("the cat\n\na dog\n")
    (tmp_path / "fr").write_text("le chat\nx\nun chien")
    expected = [("the cat", "le chat"), ("", "x"), ("a dog", "un chien")]
    with open(tmp_path / "en") as source, open(tmp_path / "fr") as target:
        assert list(read_pairs(source, target).pairs) == expected


def test_chunks_take_the_columns_that_their_error_names():
    table = {"x": ["a", "b"], "y": ["c", "d"], "z": ["e", "f"]}
    with pytest.raises(UsageError, match="source="):
        next(iter_chunks(table))
    [chunk] = iter_chunks(table, source="z", target="x")
    assert chunk.lines == [("e", "a"), ("f", "b")]
    with pytest.raises(UsageError, match="names of columns"):
        next(iter_chunks(["a"], ["b"], source="x"))
