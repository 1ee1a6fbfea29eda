"""``nmtalign find``: what a person sees, and what is refused."""

from __future__ import annotations

import pytest

from nmtalign.cli import main
from tests.aligner.toy_language import toy_bitext, toy_training

SOURCE = ["The House sits", "not a house", "", "a\x1b[2Jb house"]
TARGET = ["la Chambre siège", "ne pas une maison", "rien", "x 中文"]
LINKS = ["0-0 1-1 2-2", "0-0 0-1 1-2 2-3", "", "0-0 1-1"]
HOUSE = """\
house: 3 in the source
  chambre                          1   33.3%  ██████████████████████████████
  maison                           1   33.3%  ██████████████████████████████
  中文                             1   33.3%  ██████████████████████████████

        1  The [House] sits
           la [Chambre] siège

        2  not a [house]
           ne pas une [maison]

        4  a\\x1b[2Jb [house]
           x [中文]
"""


def run(capsys, *arguments):
    """Return (exit code, standard output, standard error) of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def named(folder, source, target, links):
    """Return the arguments that name a linked bitext."""
    return [folder / source, folder / target, "--links", folder / links]


@pytest.fixture
def files(tmp_path):
    texts = {"source": SOURCE, "target": TARGET, "links": LINKS}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return named(tmp_path, *texts)


def test_texts_and_their_index_show_the_same(capsys, files, tmp_path):
    assert run(capsys, "find", "house", *files) == (0, HOUSE, "")
    indexed = run(capsys, "find", "house", *files, "--index", tmp_path / "corpus.db")
    assert indexed == (0, HOUSE, "nmtalign: 4 pairs read\n")
    assert run(capsys, "find", "house", "--index", tmp_path / "corpus.db") == (0, HOUSE, "")


def test_an_index_of_one_pair_is_counted_in_the_singular(capsys, files, tmp_path):
    for path in (files[0], files[1], files[3]):
        path.write_text(path.read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    assert run(capsys, "find", "the", *files, "--index", tmp_path / "one.db")[2] == "nmtalign: 1 pair read\n"


@pytest.mark.parametrize("columns", [32, 40, 60, 80])
def test_lines_fit_the_terminal_and_links_stay_marked(capsys, monkeypatch, tmp_path, columns):
    """Also with letters that are two columns wide."""
    left, right = " ".join(f"links{n}" for n in range(20)), " ".join(["文字"] * 20)
    texts = {"source": [f"{left} house {left}"], "target": [f"{right} 房子 {right}"], "links": ["20-20"]}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run(capsys, "find", "house", *named(tmp_path, *texts))
    lines = out.splitlines()
    wide = "文字房子"
    assert all(len(line) + sum(letter in wide for letter in line) <= columns for line in lines)
    marked = [line for line in lines if "[" in line]
    assert ["[house]" in marked[0], "[房子]" in marked[1]] == [True, True]
    assert all(len(line) + sum(letter in wide for letter in line) <= columns for line in marked)


LONG_WORDS = [
    "电脑公司",
    "كتابٌ",
    "e\u0301te\u0301",
    "👨\u200d👩\u200d👧",
    "❤\ufe0f",
    "Donaudampfschiffahrtsgesellschaft",
]


def columns_at_least(line: str) -> int:
    """Count the columns of wide letters and of others by hand; marks and joiners have none."""
    without_marks = [letter for letter in line.replace("❤\ufe0f", "文") if letter not in "\u0301\u064c\u200d"]
    return len(without_marks) + sum(letter in "电脑公司文👨👩👧" for letter in without_marks)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("word", LONG_WORDS)
def test_any_word_fits_any_terminal(capsys, monkeypatch, tmp_path, columns, word):
    """A marked word is cut where it has no room; a sentence of many marked words shows the first ones."""
    around = " ".join(LONG_WORDS * 3)
    texts = {
        "source": [f"{around} house {around}", "house"],
        "target": [f"{word} {around} {word}", " ".join([word] * 9)],
        "links": ["18-0 18-19", " ".join(f"0-{n}" for n in range(9))],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run(capsys, "find", "house", *named(tmp_path, *texts))
    assert code == 0
    assert [line for line in out.splitlines() if columns_at_least(line) > columns] == []
    assert out.count("[house]") == 2
    assert out.count(f"[{word[:1]}") >= 2
    assert run(capsys, "find", word, *named(tmp_path, *texts))[0] == 0


def test_a_translation_a_side_and_limits(capsys, files, monkeypatch):
    monkeypatch.setattr("nmtalign.cli.commands.find_command._MAX_TRANSLATIONS", 1)
    _, out, _ = run(capsys, "find", "house", *files, "--translation", "maison")
    assert "(2 others)                       2   66.7%\n" in out
    assert [line for line in out.splitlines() if "[" in line] == [
        "        2  not a [house]",
        "           ne pas une [maison]",
    ]
    assert "[" not in run(capsys, "find", "house", *files, "--examples", 0)[1]
    _, out, _ = run(capsys, "find", "house", *files, "--examples", 2)
    assert "\n  2 of 3 occurrences (a random sample, the same in every run):\n\n" in out
    assert out.count("[house]") + out.count("[House]") == 2
    assert run(capsys, "find", "house", *files, "--examples", 2)[1] == out
    assert run(capsys, "find", "ne pas", *files)[1].startswith("ne pas: 1 in the target\n  not ")


def test_a_long_line_is_shown_around_the_word(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    words = [f"w{n}" for n in range(100)]
    for name, text in (("a", " ".join(words)), ("b", " ".join(words[::-1])), ("c", "50-49")):
        (tmp_path / name).write_text(f"{text}\n")
    _, out, _ = run(capsys, "find", "w50", *named(tmp_path, *"abc"))
    assert f"        1  … {' '.join(words[41:50])} [w50] {' '.join(words[51:60])} …" in out
    _, out, _ = run(capsys, "find", "w9", *named(tmp_path, *"abc"))
    assert "(no link)" in out
    assert f"           {' '.join(words[::-1][:19])} …" in out


def test_a_model_aligns(capsys, tmp_path):
    toy = toy_bitext(30, seed=3)
    toy_training("fast").aligner.save(tmp_path / "model")
    source, target = toy.write(tmp_path)
    word = toy.source[0].split()[0]
    aligned = source, target, "--model", tmp_path / "model"
    assert run(capsys, "find", word, *aligned, "--index", tmp_path / "c.db")[0] == 0
    code, out, _ = run(capsys, "find", word, "--index", tmp_path / "c.db")
    made = toy_training("fast").aligner.align(toy.source[0], toy.target[0])
    partners = [toy.target[0].split()[t] for s, t in made.links if s == 0]
    assert code == 0
    assert f"  {' '.join(partners)} " in out
    assert run(capsys, "find", word, *aligned)[1] == out
    code, _, err = run(capsys, "find", word, source, target, "--model", "en_fr_vectors")
    assert (code, "found no model" in err) == (3, True)


def test_nothing_found_is_an_error(capsys, files):
    code, out, err = run(capsys, "find", "zebra", *files)
    assert (code, out) == (3, "")
    assert "'zebra' does not occur in these 4 pairs" in err


LINKED = ["source", "target", "--links", "links"]
EXPECTED = "expected WORD SOURCE TARGET with --links FILE or --model DIR"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["find", "x"], f"{EXPECTED}, or WORD --index DB"),
        (["find", "x", "source", "target"], EXPECTED),
        (["find", "source", "target", "--links", "links"], EXPECTED),
        (["find", "x", "source", "target", "--links", "links", "--model", "m"], EXPECTED),
        (["find", "x", "source", "--index", "corpus.db"], EXPECTED),
        (["find", "x", "--links", "links", "--index", "corpus.db"], EXPECTED),
        (["find", "x", *LINKED, "--index", "-"], "cannot be written to standard output"),
        (["find", "x", *LINKED, "--index", "links"], "--index links already exists"),
        (["find", "x", *LINKED, "--index", "none/x.db"], "the folder none does not exist"),
    ],
)
def test_calls_that_make_no_sense(capsys, files, arguments, told, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert told in err


def test_a_link_outside_of_its_pair_leaves_no_index(capsys, files, tmp_path):
    (tmp_path / "links").write_text("0-0\n5-0\n\n0-0\n")
    code, _, err = run(capsys, "find", "house", *files, "--index", tmp_path / "corpus.db")
    assert code == 3
    assert "links, line 2: link 5-0 is outside" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "source", "target"]


def test_an_index_is_not_mixed_with_other_texts(capsys, files, tmp_path):
    index = tmp_path / "corpus.db"
    assert run(capsys, "find", "house", *files, "--index", index)[0] == 0
    before = index.read_bytes()
    code, _, err = run(capsys, "find", "maison", *files, "--index", index)
    assert code == 2
    assert "remove the file to make it again" in err
    assert index.read_bytes() == before
