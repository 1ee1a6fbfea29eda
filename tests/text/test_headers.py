"""Names of columns: which ones are the sides, in CSV and TSV, and what is said where that is uncertain."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

from nmtalign.errors import DataError, UsageError
from nmtalign.text.bitext import Bitext, read_bitext
from nmtalign.text.headers import find_side_columns, refuse_identifiers
from nmtalign.text.languages import known_language, language_tag

CERTAIN = [
    *("source,target", "Source,Target", "src,tgt", "src,trg", "SRC,TGT", "source_text,target_text"),
    *("sourceText,targetText", "Source Text,Target Text", "Source (en),Target (fr)", "source_en,target_fr"),
    *("source.sentence,target.sentence", "src_segment,trg_segment", "#source,target", "'source','target'"),
    *("en_US,fr_FR", "en-US,fr", "EN-GB,FR-CA", "eng_Latn,fra_Latn", "zh-Hans,ja", "English,French"),
    *("ENGLISH,FRENCH", "français,anglais", "Deutsch,English", "translation.en,translation.fr"),
    *("text_en,text_fr", "english_sentence,french_sentence", "en_text,fr_text", "Scottish Gaelic,Irish"),
    *("sentence1,sentence2", "text_1,text_2", "Sentence A,Sentence B", "lang1,lang2", "l1,l2"),
    *("text,translation", "original,translation", "source,translation", "sentence,translated"),
    *("source,fr", "en,target", "en,translation", "input,output", "from,to"),
]
UNCERTAIN = ["en,fr", "EN,FR", "fr,en", "eng,fra", "en,jp", "is,es"]
NO_NAMES = [
    *("a,b", "the,le", "no,non", "source,source", "Source,source", "text,Text", "English,anglais"),
    *("source_lang,target_lang", "src_id,lang", "Hello,Bonjour", "the source,le but", "en,en", "1,2"),
    *("source,0.5", "text,label", "src", "", "the source of the river,la source de la rivière"),
]


@pytest.mark.parametrize("names", [*CERTAIN, *UNCERTAIN])
def test_names_of_sides(names):
    assert find_side_columns(names.split(",")) == (0, 1, names in CERTAIN)


@pytest.mark.parametrize("names", [name for name in CERTAIN if not known_language(name.split(",")[0])])
def test_names_of_sides_the_other_way_round(names):
    swapped = names.split(",")[::-1]
    in_order = "text_en" in names or "_sentence" in names or "_text,fr" in names or ".en" in names
    assert find_side_columns(swapped) == ((0, 1, True) if in_order else (1, 0, True))


@pytest.mark.parametrize("names", NO_NAMES)
def test_other_names(names):
    assert find_side_columns(names.split(",")) is None


@pytest.mark.parametrize(
    ("names", "sides"),
    [
        ("id,en,fr", (1, 2)),
        ("id,no,en,fr", (2, 3)),
        ("No.,English,German", (1, 2)),
        ("en,fr,score", (0, 1)),
        (",en,fr", (1, 2)),
        ("url,tgt_text,src_text", (2, 1)),
        ("src_id,tgt_id,src,tgt", (2, 3)),
        ("source_url,target_url,source_lang,target_lang,target,source", (5, 4)),
        ("target,Source,source", (2, 0)),
        ("id,text,translation", (1, 2)),
        ("score,source,de", (1, 2)),
    ],
)
def test_names_among_other_columns(names, sides):
    assert find_side_columns(names.split(",")) == (*sides, True)


@pytest.mark.parametrize("names", ["en,fr,de", "source_text,source_raw,target", "text_en,text_fr,text_de"])
def test_too_many_sides_are_to_be_chosen(names, tmp_path):
    with pytest.raises(DataError, match="expected the names of two sides"):
        find_side_columns(names.split(","))
    path = tmp_path / "a.csv"
    path.write_text(f"{names}\na,b,c\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv, line 1: .*choose them: `select=A,B`"):
        list(read_bitext(path))


KEYED = [
    ("menu.file.open", "Open a file"),
    ("menu.file.close", "Close"),
    ("dialog_save", "Save the file?"),
    ("error.404", "Not found"),
    ("cancel", "Cancel"),
]


def keyed_files():
    """Return files with identifiers and texts, by their names."""
    tsv = "".join(f"{key}\t{text}\n" for key, text in KEYED)
    json_lines = "".join(f'{{"source": "{key}", "target": "{text}"}}\n' for key, text in KEYED)
    po = "".join(f'msgid "{key}"\nmsgstr "{text}"\n\n' for key, text in KEYED)
    units = "".join(
        f"<trans-unit><source>{key}</source><target>{text}</target></trans-unit>" for key, text in KEYED
    )
    swapped = "".join(f"{text} ||| {key}\n" for key, text in KEYED)
    few = "".join(f"{key}\t{text}\n" for key, text in KEYED[:2])
    return {
        "a.tsv": tsv,
        "a.po": po,
        "a.jsonl": json_lines,
        "few.tsv": few,
        "swapped.txt": swapped,
        "named.tsv": f"source\ttarget\n{tsv}",
        "indonesian.tsv": f"id\ten\n{tsv}",
        "numbers.csv": "".join(f"{number},{text}\n" for number, (_, text) in enumerate(KEYED)),
        "a.xlf": f"<xliff><file><body>{units}</body></file></xliff>",
    }


@pytest.mark.parametrize("name", keyed_files())
def test_identifiers_are_not_paired_with_texts(name, tmp_path):
    path = tmp_path / name
    path.write_text(keyed_files()[name], encoding="utf-8")
    side = "target" if name == "swapped.txt" else "source"
    may_choose = name.endswith(("tsv", "csv", "jsonl"))
    advice = "choose both texts \\(`select=A,B`\\), or pair" if may_choose else "pair the texts of both"
    told = rf"{name}: expected the texts of both sides, found identifiers such as '\S+' as {side}; {advice}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for on_error in (None, lambda error: None):
            with pytest.raises(DataError, match=told):
                list(read_bitext(path, on_error=on_error))
        if path.suffix in (".tsv", ".csv"):
            assert ("Close" in pair for pair in read_bitext(path, select=(1, 2)))


@pytest.mark.parametrize(
    "names",
    ["key,text", "id,text", "value,ID", "Key,English", "string_id,en", "msgid,translation", "id,source"],
)
def test_columns_that_are_named_as_identifiers_are_refused(names, tmp_path):
    first, second = names.split(",")
    told = rf"expected the texts of both sides, found identifiers and texts \({first}, {second}\)"
    path = tmp_path / "a.csv"
    path.write_text(f"{names}\nopen,Open\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.csv, line 1: {told}; choose two columns: `select=A,B`"):
        list(read_bitext(path))
    assert list(read_bitext(path, select=(first, second))) == [("open", "Open")]
    frame = pd.DataFrame({first: ["open"], second: ["Open"]})
    for container in (frame, frame.to_dict("records"), {first: ["open"], second: ["Open"]}):
        with pytest.raises(UsageError, match=rf"{told}; name both sides, such as `source='en'`"):
            Bitext(container)
        assert list(Bitext(container, source=first, target=second)) == [("open", "Open")]


def test_identifiers_in_tables_and_records_are_refused():
    frame = pd.DataFrame(KEYED, columns=["a", "b"])
    for container in (frame, frame.to_dict("records"), frame.to_dict("list")):
        with pytest.raises(
            DataError, match=r"found identifiers such as 'menu\.file\.open' as source; name both"
        ):
            Bitext(container)
        assert len(Bitext(container, source="a", target="b")) == len(KEYED)
    assert len(Bitext(KEYED)) == len(KEYED)  # the caller has paired them


TEXTS = {
    "numbers": [(f"{n}.5", f"{n},5") for n in range(30)],
    "words": [("cat", "chat"), ("dog", "chien"), ("bird", "oiseau")] * 9,
    "versions": [("v1.0", "Version 1.0"), ("the second version", "Version 2.0")] * 9,
    "addresses": [(f"example.com/{n}", f"exemple.fr/{n}") for n in range(30)],
    "Chinese": [("猫2只", "2 cats"), ("狗3只", "3 dogs")] * 9,
    "one": [("menu.open", "Open")],
    "sentences of a word": [("Hello.", "Bonjour."), ("Yes.", "Oui."), ("No!", "Non !")] * 9,
}


@pytest.mark.parametrize("name", TEXTS)
def test_short_texts_are_not_identifiers(name):
    assert list(refuse_identifiers(TEXTS[name], "")) == TEXTS[name]


def test_few_rows_are_held_back():
    rows = iter([("", "")] * 5_000)
    next(refuse_identifiers(rows, ""))
    assert 3_999 <= len(list(rows)) < 5_000
    texts = iter([("the cat", "le chat")] * 5)
    next(refuse_identifiers(texts, ""))
    assert len(list(texts)) == 4


def test_languages_in_one_form():
    known = {"EN_us": "en-us", "eng": "en", "French": "fr", "cmn-Hans": "zh-hans", "pt_BR": "pt-br"}
    known |= {"FILIPINO": "tl", "es-419": "es-419", "jp": "ja", "fra_Latn": "fr-latn"}
    assert {name: known_language(name) for name in known} == known
    assert [known_language(name) for name in ("", "xx", "en_", "id_row_3", "the", "en fr")] == [None] * 6
    assert language_tag("Tlh_Latn") == "tlh-latn"


# --- tables --------------------------------------------------------------------------------------

ROWS = [("the house", "la maison"), ("a cat", "un chat")]
WORDS = [("yes", "oui"), ("house", "maison")]


def write(path, *rows, between=",", mark=""):
    lines = [between.join(row) for row in rows]
    path.write_text(mark + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(("name", "between"), [("a.csv", ","), ("a.tsv", "\t"), ("a", "\t")])
def test_a_header_is_no_pair(name, between, mark, tmp_path):
    for names in (*CERTAIN, *UNCERTAIN):
        path = write(tmp_path / name, names.split(","), *ROWS, between=between, mark=mark)
        assert list(read_bitext(path)) == ROWS, names  # without a warning


@pytest.mark.parametrize("names", ["src,tgt", "en,fr", "English,French"])
def test_a_quoted_header_with_more_columns(names, tmp_path):
    source, target = names.split(",")
    first = [f'"{name}"' for name in ("id", target, "score", source)]
    path = write(tmp_path / "a.csv", first, *(("1", b, "0.5", a) for a, b in ROWS))
    by_name = names == "src,tgt"
    assert list(read_bitext(path)) == (ROWS if by_name else [row[::-1] for row in ROWS])
    assert list(read_bitext(path, select=(source.upper(), target))) == ROWS


@pytest.mark.parametrize("rows", [WORDS, [], [("yes", "oui"), *ROWS]])
def test_codes_above_single_words_are_told(rows, tmp_path):
    path = write(tmp_path / "a.csv", ("en", "fr"), *rows)
    with pytest.warns(UserWarning, match=r"a\.csv, line 1: en,fr is read as the names .*`select=en,fr`"):
        assert list(read_bitext(path)) == rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_bitext(path, select=("en", "fr"))) == rows
        assert list(read_bitext(path, select=(1, 2))) == [("en", "fr"), *rows]


@pytest.mark.parametrize("names", ["premise,hypothesis", "A,B", "norsk_tekst,tysk_tekst"])
def test_a_first_row_that_looks_like_names_is_told(names, tmp_path):
    first = tuple(names.split(","))
    path = write(tmp_path / "a.csv", first, *ROWS)
    with pytest.warns(UserWarning, match=f"line 1: .* read as a sentence pair; .*`select={names}`"):
        assert list(read_bitext(path)) == [first, *ROWS]
    assert list(read_bitext(path, select=first)) == ROWS


def test_names_above_columns_chosen_by_number_are_told(tmp_path):
    path = write(tmp_path / "a.csv", ("id", "source", "target"), *(("1", *row) for row in WORDS))
    with pytest.warns(UserWarning, match="line 1: source and target are read as a sentence pair"):
        assert list(read_bitext(path, select=(2, 3))) == [("source", "target"), *WORDS]


@pytest.mark.parametrize("first", [("Hello .", "Salut ."), ("Yes, sir", "Oui"), ("3", "trois"), ("a b", "c")])
def test_a_first_row_of_text_is_a_pair_without_a_word(first, tmp_path):
    path = write(tmp_path / "a.tsv", first, *ROWS, between="\t")
    assert list(read_bitext(path)) == [first, *ROWS]


def test_single_words_above_single_words_are_pairs(tmp_path):
    path = write(tmp_path / "a.csv", ("cat", "chat"), *WORDS)
    assert list(read_bitext(path)) == [("cat", "chat"), *WORDS]


def test_a_header_that_comes_again_is_an_error_of_its_line(tmp_path):
    path = write(tmp_path / "a.csv", ("src", "tgt"), *ROWS, ("src", "tgt"), *ROWS)
    with pytest.raises(DataError, match="line 4: expected a sentence pair, found the names"):
        list(read_bitext(path))
    errors = []
    assert list(read_bitext(path, on_error=errors.append)) == [*ROWS, ("", ""), *ROWS]


def test_empty_rows_before_a_header_are_empty_pairs(tmp_path):
    for name, between in (("a.csv", ","), ("a.tsv", "\t")):
        path = write(tmp_path / name, (), ("src", "tgt"), *ROWS, between=between)
        assert list(read_bitext(path)) == [("", ""), *ROWS]


def test_the_first_line_of_excel_names_the_separator(tmp_path):
    for separator in (",", ";", "\t"):
        rows = [("src", "tgt"), ("a, b", "c; d"), *ROWS]
        quoted = [[f'"{cell}"' for cell in row] for row in rows]
        path = write(tmp_path / "a.csv", (f"sep={separator}",), *quoted, ("x",), between=separator)
        errors = []
        assert list(read_bitext(path, on_error=errors.append)) == [*rows[1:], ("", "")]
        assert "line 6: expected at least 2 columns" in str(errors[0])


@pytest.mark.parametrize("between", [";", "\t"])
def test_another_separator_of_csv_is_found(between, tmp_path):
    path = write(tmp_path / "a.csv", ("src", "tgt"), *ROWS, between=between)
    assert list(read_bitext(path)) == ROWS


def test_another_separator_of_tsv_is_named(tmp_path):
    path = write(tmp_path / "a.tsv", ("src", "tgt"), *ROWS, between=",")
    with pytest.raises(DataError, match="line 1: expected 2 columns, found 1; are they separated by commas"):
        list(read_bitext(path))


def test_a_quoted_header_of_tsv_is_told(tmp_path):
    path = write(tmp_path / "a.tsv", ('"src"', '"tgt"'), ('"a"', '"un"'), between="\t")
    with pytest.warns(UserWarning, match="line 1: the names are quoted; tsv has no quoting"):
        assert list(read_bitext(path)) == [('"a"', '"un"')]


@pytest.mark.parametrize("names", ["source ||| target", "en ||| fr"])
def test_a_header_of_the_format_without_headers_is_told(names, tmp_path):
    path = write(tmp_path / "a.txt", (names,), ("a ||| un",))
    with pytest.warns(UserWarning, match="line 1: this format has no names of columns"):
        assert list(read_bitext(path)) == [tuple(names.split(" ||| ")), ("a", "un")]
