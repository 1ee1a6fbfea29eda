"""nmtalign align: outputs, defaults from elsewhere, bad input."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.links.formats import parse_pharaoh
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.cli.running import run

ENGLISH = ["the", "cat", "sleeps", "black", "house", "white", ".", "1992"]
FRENCH = ["le", "chat", "dort", "noir", "maison", "blanche", ".", "1992"]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory) -> Path:
    """A folder of vectors in which each word is the unit vector of its translation."""
    folder = tmp_path_factory.mktemp("vectors")
    sides = [
        Embeddings(Vocabulary.from_words(words), np.eye(8, dtype=np.float32)) for words in (ENGLISH, FRENCH)
    ]
    save_pair(*sides, folder, languages=("en", "fr"), format="word2int")
    return folder


@pytest.fixture
def bitext(tmp_path) -> tuple[Path, Path]:
    source, target = tmp_path / "text.en", tmp_path / "text.fr"
    source.write_text("The black cat sleeps .\n\nthe white house\nzebra\n", encoding="utf-8")
    target.write_text("Le chat noir dort .\nle\nla maison blanche\n\n", encoding="utf-8")
    return source, target


def test_one_line_of_links_for_each_line(bitext, vectors, capsys):
    plain = "--positions", "diagonal"
    assert run("align", *bitext, "--vectors", vectors, *plain, "--verbose") == 0
    out, err = capsys.readouterr()
    assert out == "0-0 1-2 2-1 3-3 4-4\n\n1-2 2-1\n\n"  # la has no vector
    assert err.startswith("nmtalign: 4 en-fr pairs, 7 links in ")
    assert "; 88.9 % of the en and 88.9 % of the fr words are known\n" in err
    assert (
        "score=cosine scale=8 unknown=zero positions=diagonal(4) extract=mutual text=space+lower+nfc" in err
    )


def test_vectors_have_hidden_markov_positions_and_back_off_by_default(bitext, vectors, capsys):
    """Options that are given win; other positions are plain attention, without back-off."""
    chosen = "with the positions of a hidden Markov model and back-off for words without a vector; for plain"
    for options, settings, message in (
        ((), "unknown=backoff positions=hmm(fitted on ", chosen),
        (("--positions", "hmm"), "unknown=backoff positions=hmm", "with back-off for words"),
        (("--unknown", "zero"), "unknown=zero positions=hmm", "with the positions of a hidden Markov model;"),
        (("--unknown", "zero", "--positions", "hmm"), "unknown=zero positions=hmm", ""),
        (("--positions", "none"), "unknown=zero positions=none", ""),
        (("--positions", "diagonal"), "unknown=zero positions=diagonal(4)", ""),
        (("--positions", "none", "--unknown", "backoff"), "unknown=backoff positions=none", ""),
    ):
        assert run("align", *bitext, "--vectors", vectors, *options, "-v") == 0
        err = capsys.readouterr().err
        assert settings in err
        assert ("the vectors are used with" in err) == bool(message)
        assert message in err


def test_python_has_the_links_of_the_command_as_its_page_says(bitext, vectors, tmp_path):
    assert run("align", *bitext, "--vectors", vectors, "-o", tmp_path / "links", "-q") == 0
    pairs = na.read_bitext(*bitext)
    aligner = na.fit_to(na.load(vectors, positions="hmm", unknown="backoff"), pairs)
    na.write_links(tmp_path / "same", aligner.align_batch(pairs))
    assert (tmp_path / "same").read_text() == (tmp_path / "links").read_text()
    plain = na.load(vectors).align_batch(pairs)
    assert [plain.links(n) for n in range(4)] != [aligner.align_batch(pairs).links(n) for n in range(4)]


def test_all_outputs_run_parallel(bitext, vectors, tmp_path):
    files = {name: tmp_path / name for name in ("links.txt", "scores.txt.gz", "pairs.txt", "links.tsv")}
    options = zip(("-o", "--probabilities", "--pair-scores", "--table"), files.values(), strict=True)
    assert run("align", *bitext, "--vectors", vectors, *(part for option in options for part in option)) == 0
    links = files["links.txt"].read_text().split("\n")
    scores = gzip.decompress(files["scores.txt.gz"].read_bytes()).decode().split("\n")
    assert [len(line.split()) for line in links] == [len(line.split()) for line in scores]
    pairs = [float(line) for line in files["pairs.txt"].read_text().split()]
    assert pairs[0] > 0.9
    assert pairs[1] == pairs[3] == 0
    rows = [line.split("\t") for line in files["links.tsv"].read_text().splitlines()]
    assert rows[1][:5] == ["1", "0", "The", "0", "Le"]
    assert [f"{row[1]}-{row[3]}" for row in rows[1:]] == " ".join(links).split()
    assert [row[5][:5] for row in rows[1:]] == [score[:5] for score in " ".join(scores).split()]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*files, "text.en", "text.fr"])


def test_pairs_come_from_one_file_or_standard_input(tmp_path, vectors):
    text = "The cat sleeps ||| le chat dort\n"
    command = [sys.executable, "-m", "nmtalign", "align", "--pairs", "-", "--vectors", str(vectors)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout == "0-0 1-1 2-2\n"
    path = tmp_path / "pairs.tsv"
    path.write_text("the cat\tle chat\n", encoding="utf-8")
    assert run("align", "--pairs", path, "--vectors", vectors, "-o", tmp_path / "links") == 0
    assert (tmp_path / "links").read_text() == "0-0 1-1\n"


def test_a_file_of_several_languages_is_the_vectors_of_both_sides(tmp_path, bitext, capsys):
    words = [f"/c/en/{word}" for word in ENGLISH] + [f"/c/fr/{word}" for word in FRENCH]
    rows = [" ".join([word, *map(str, np.eye(8)[n % 8])]) for n, word in enumerate(words)]
    path = tmp_path / "numberbatch.txt"
    path.write_text("\n".join(["16 8", *rows, ""]), encoding="utf-8")
    both = "align", *bitext, "--source-vectors", path, "--target-vectors", path, "--positions", "none"
    assert run(*both) == 0
    advice = "`nmtalign vectors convert FILE FOLDER --to folder --strip-prefix /c/en/`"
    assert advice in capsys.readouterr().err
    sides = []
    for side in ("en", "fr"):
        sides.append(tmp_path / side)
        convert = "vectors", "convert", path, sides[-1], "--to", "folder"
        assert run(*convert, "--strip-prefix", f"/c/{side}/") == 0
    both = "align", *bitext, "--source-vectors", sides[0], "--target-vectors", sides[1], "--positions", "none"
    assert run(*both) == 0
    assert capsys.readouterr().out.startswith("0-0 1-2 2-1 3-3 4-4\n")


def test_two_files_of_vectors(tmp_path, bitext, capsys):
    for name, words in (("en.vec", ENGLISH), ("fr.vec", FRENCH)):
        rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, np.eye(8), strict=True)]
        (tmp_path / name).write_text("\n".join(["8 8", *rows, ""]), encoding="utf-8")
    places = "--source-vectors", tmp_path / "en.vec", "--target-vectors", tmp_path / "fr.vec"
    assert run("align", *bitext, *places) == 0
    assert capsys.readouterr().out.startswith("0-0 1-2 2-1 3-3 4-4\n")


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (["--extract", "argmax"], "0-0 2-1 1-2 3-3 4-4"),
        (
            ["--extract", "threshold", "--threshold", "0.99", "--temperature", "0.02", "--positions", "none"],
            "0-0 1-2 2-1 3-3 4-4",
        ),
        (["--symmetrize", "grow-diag-final-and"], "0-0 1-2 2-1 3-3 4-4"),
        (["--score", "scaled-dot", "--positions", "none"], "0-0 1-2 2-1 3-3 4-4"),
        (["--no-lowercase"], "1-2 2-1 3-3 4-4"),
    ],
)
def test_options_reach_the_aligner(options, first, bitext, vectors, capsys):
    assert run("align", *bitext, "--vectors", vectors, *options) == 0
    assert set(first.split()) <= set(capsys.readouterr().out.split("\n")[0].split())


def test_links_between_whitespace_words_of_the_lines(tmp_path, vectors):
    for name, line in (("a", "The cat  (black) sleeps."), ("b", "Le chat (noir) dort.")):
        (tmp_path / name).write_text(f"{line}\n\n", encoding="utf-8")
    files = (
        tmp_path / "a",
        tmp_path / "b",
        "--vectors",
        vectors,
        "--tokenizer",
        "simple",
        "--unknown",
        "backoff",
    )
    places = "-o", tmp_path / "links", "--table", tmp_path / "links.tsv"
    assert run("align", *files, *places, "--tokens", tmp_path / "cut") == 0
    assert (tmp_path / "links").read_text() == "0-0 1-1 2-2 3-3 4-4 5-5 6-6\n\n"
    assert run("align", *files, *places) == 0
    assert (tmp_path / "links").read_text() == "0-0 1-1 2-2 3-3\n\n"
    rows = [line.split("\t") for line in (tmp_path / "links.tsv").read_text().splitlines()[1:]]
    assert [(row[2], row[4]) for row in rows][2:] == [("(black)", "(noir)"), ("sleeps.", "dort.")]


# --- defaults from elsewhere ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "variable"),
    [
        (("align",), "NMTALIGN_ALIGN_TOKENISER"),
        (("vectors", "learn"), "NMTALIGN_VECTORS_LEARN_DIMENSIONS"),
        (("vectors", "info"), "NMTALIGN_VECTORS_INF"),
    ],
)
def test_a_variable_that_names_no_option_is_refused(command, variable, monkeypatch, capsys):
    monkeypatch.setenv(variable, "simple")
    assert run(*command, "x") == 2
    assert f"the variable {variable} of the environment names no option" in capsys.readouterr().err
    assert run("check", "--help") == 0  # of another command


def test_command_line_over_environment_over_file(bitext, vectors, tmp_path, monkeypatch, capsys):
    config = tmp_path / "config.toml"
    config.write_text(
        f"[align]\nvectors = '{vectors}'\ntemperature = 0.5\nextract = 'argmax'\npositions = 'none'\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("NMTALIGN_ALIGN_TEMPERATURE", "0.25")
    for arguments in (
        ["--config", config, "align", *bitext, "--extract", "match", "-v"],
        ["align", *bitext, "--config", config, "--extract", "match", "-v"],
    ):
        assert run(*arguments) == 0
        assert "scale=4 unknown=zero positions=none extract=match" in capsys.readouterr().err
    monkeypatch.setenv("NMTALIGN_CONFIG", str(config))
    assert run("align", *bitext, "-v") == 0
    assert "scale=4 unknown=zero positions=none extract=argmax" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        ("[align]\nscroe = 'dot'\n", "[align] has no option 'scroe'; did you mean 'score'?", 2),
        ("[algin]\nscore = 'dot'\n", "there is no command or option 'algin'; did you mean 'align'?", 2),
        ("[links_from]\nunits = 'words'\n", "'links_from'; did you mean 'links-from'?", 2),
        ("align = 3\n", "expected a table [align]", 2),
        ("[align\n", "expected TOML", 3),
        ("[align]\nscore = 'luong'\n", "luong", 2),
        ("[align]\nlowercase = 'yes'\n", "[align] lowercase cannot be 'yes'", 2),
        ("[align]\nworkers = true\n", "[align] workers cannot be True", 2),
        ("[align]\noutput = 3\n", "[align] output cannot be 3", 2),
        ("[align]\nlangs = ['en', 'fr']\n", "[align] langs cannot be ['en', 'fr']", 2),
    ],
)
def test_a_wrong_configuration_is_refused(text, message, code, bitext, tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="utf-8")
    assert run("--config", config, "align", *bitext) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert f"{config}: " in shown


def test_a_configuration_may_begin_with_a_byte_order_mark(bitext, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[align]\nextract = 'argmax'\n", encoding="utf-8-sig")
    assert run("--config", config, "align", *bitext, "-o", tmp_path / "links") == 0


def test_a_missing_configuration_is_named(bitext, capsys):
    assert run("align", *bitext, "--config", "nowhere.toml") == 3
    assert "nowhere.toml: cannot be read" in capsys.readouterr().err


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.txt"], "expected SOURCE and TARGET"),
        (["memory.tmx"], "for a file with both sides write --pairs memory.tmx"),
        (["text.xlf.gz"], "for a file with both sides write --pairs text.xlf.gz"),
        (["a.txt", "b.txt", "--pairs", "c.txt"], "expected SOURCE and TARGET"),
        (["a.txt", "b.txt", "--source-vectors", "v"], "--target-vectors must be used together"),
        (["a.txt", "b.txt", "--vectors", "v", "--model", "m"], "--model and --vectors cannot be combined"),
        (
            ["a.txt", "b.txt", "--langs", "en,fr"],
            "--langs names the languages of --vectors; add --vectors DIR",
        ),
        (["a.txt", "b.txt", "--vectors", "v", "--langs", "en"], "two different languages such as en,fr"),
        (["a.txt", "b.txt", "--probabilities", "s", "--table", "s"], "two outputs have the same path"),
    ],
)
def test_contradictions_are_usage_errors(arguments, message, capsys):
    assert run("align", *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_line_too_many_names_both_counts_and_leaves_no_file(bitext, vectors, tmp_path, capsys):
    source, target = bitext
    target.write_text("le chat\n", encoding="utf-8")
    assert run("align", source, target, "--vectors", vectors, "-o", tmp_path / "links") == 3
    err = capsys.readouterr().err
    assert f"found 4 in {source} and 1 in {target}" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.en", "text.fr"]


def test_an_older_result_stays_when_a_run_fails(bitext, vectors, tmp_path):
    links = tmp_path / "links"
    links.write_text("0-0\n")
    bitext[0].write_bytes(b"good\n\xff\xfe bad\n")
    assert run("align", *bitext, "--vectors", vectors, "-o", links) == 3
    assert links.read_text() == "0-0\n"


def test_bytes_that_are_not_utf8_are_named_with_their_line(bitext, vectors, capsys):
    bitext[0].write_bytes(b"the cat\n\n\xe9t\xe9\n\n")
    assert run("align", *bitext, "--vectors", vectors) == 3
    assert f"{bitext[0]}, line 3: expected utf-8 text, found the byte 0xe9" in capsys.readouterr().err


def test_missing_files_are_named(bitext, vectors, tmp_path, capsys):
    assert run("align", tmp_path / "no.en", bitext[1], "--vectors", vectors) == 3
    assert "no.en: No such file" in capsys.readouterr().err
    assert run("align", *bitext, "--vectors", tmp_path / "nothing") == 3
    assert "nothing: " in capsys.readouterr().err
    assert run("align", *bitext, "--vectors", vectors, "-o", tmp_path / "no" / "links") == 2
    assert "does not exist; create it first" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--model", "--vectors", "--encoder", "--translator"])
def test_folders_that_are_not_there_are_said(bitext, option, capsys):
    command = "links-from" if option == "--translator" else "align"
    assert run(command, *bitext, option, "./none") == 3
    assert "./none: there is no such folder" in capsys.readouterr().err


def test_empty_files_give_an_empty_file(vectors, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"")
    assert run("align", tmp_path / "a", tmp_path / "b", "--vectors", vectors, "-o", tmp_path / "links") == 0
    assert (tmp_path / "links").read_bytes() == b""


def test_odd_line_ends_and_spaces_shift_nothing(vectors, tmp_path):
    source = "the\u2028cat\rsleeps .\r\nthe  cat\n\x85\nthe cat\n"
    target = "le chat dort .\nle chat\n\u00a0\nle chat\n"
    for name, text in (("a", source), ("b", target)):
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    assert run("align", tmp_path / "a", tmp_path / "b", "--vectors", vectors, "-o", tmp_path / "links") == 0
    lines = (tmp_path / "links").read_text().split("\n")
    assert len(lines) == 5
    assert lines[1] == lines[3] == "0-0 1-1"


def test_a_line_of_many_sections_is_aligned(vectors, tmp_path):
    for name, words in (("a", ENGLISH), ("b", FRENCH)):
        (tmp_path / name).write_text(" ".join(words * 75) + "\n", encoding="utf-8")
    assert run("align", tmp_path / "a", tmp_path / "b", "--vectors", vectors, "-o", tmp_path / "links") == 0
    links = parse_pharaoh((tmp_path / "links").read_text().strip())
    assert links == {(n, n) for n in range(600)}


def test_swapped_sides_are_warned_of(bitext, vectors, capsys):
    assert run("align", *bitext, "--vectors", vectors, "--langs", "fr,en") == 0
    assert "warning: the sides seem to be swapped" in capsys.readouterr().err


def test_bahdanau_without_weights_is_refused(bitext, vectors, capsys):
    assert run("align", *bitext, "--vectors", vectors, "--score", "bahdanau") == 2
    command = f"`nmtalign vectors attention SOURCE TARGET --vectors {vectors} --score bahdanau`"
    assert f"contains no bahdanau.npz; learn them from a bitext ({command})" in capsys.readouterr().err


def test_chunks_do_not_change_the_result(vectors, tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    for name, words in (("a", ENGLISH), ("b", FRENCH)):
        lines = [" ".join(random.choice(words, size=random.integers(0, 6))) for _ in range(50)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    outputs = []
    for characters in (4_000_000, 1, 100):
        monkeypatch.setattr("nmtalign.text.chunks.MAX_CHUNK_CHARS", characters)
        assert run("align", tmp_path / "a", tmp_path / "b", "--vectors", vectors, "-o", tmp_path / "out") == 0
        outputs.append((tmp_path / "out").read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_help_has_an_example_and_loads_nothing_slow():
    program = (
        "import json, sys; from nmtalign.cli import main\n"
        "try: main(['align', '--help'])\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "Example: nmtalign align" in out
    assert not {"numpy", "pandas", "matplotlib", "gensim", "scipy"} & set(json.loads(out.splitlines()[-1]))


def test_a_pair_from_the_shell_loads_only_what_it_needs():
    program = (
        "import sys; from nmtalign.cli import main\n"
        "try: main(['align', '--pairs', '-', '-q'])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    arguments = [sys.executable, "-c", program]
    done = subprocess.run(arguments, input="the house ||| la maison\n", capture_output=True, text=True)
    links, modules = done.stdout.splitlines()
    assert links == "0-0 1-1"
    unneeded = {"scipy", "pandas", "matplotlib", "gensim", "concurrent.futures", "multiprocessing"}
    unneeded |= {"xml.etree.ElementTree", "nmtalign.report.tables", "nmtalign.external"}
    assert not unneeded.intersection(modules.split())


def test_guided_training_gets_words_and_links_in_three_columns(bitext, vectors, tmp_path, capsys):
    for path, text in zip(bitext, ("The  cat\n\nblack", "Le chat\n\nnoir"), strict=True):
        path.write_text(text + "\n", encoding="utf-8")
    options = "--vectors", vectors, "-o", tmp_path / "links", "--guided", tmp_path / "guided.tsv"
    assert run("align", *bitext, *options) == 0
    assert (tmp_path / "guided.tsv").read_text() == "The cat\tLe chat\t0-0 1-1\n\t\t\nblack\tnoir\t0-0\n"
    back = "--from", "tsv", "--to", "pharaoh", "-o", tmp_path / "l"
    assert run("convert", tmp_path / "guided.tsv", *back) == 0
    assert (tmp_path / "l").read_text() == (tmp_path / "links").read_text()
    bitext[0].write_text("The\tcat\n\nblack\n")
    capsys.readouterr()
    assert run("align", *bitext, *options) == 3
    assert f"{bitext[0]}, line 1: the source word 'The\\tcat' contains a tab" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--tokenizer", "simple"]])
@pytest.mark.parametrize("shards", [[], ["--out-shards", "shards", "--shard-pairs", "2"]])
def test_tokens_are_what_the_links_count(options, shards, vectors, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.en").write_text("The  black cat, sleeps.\n\nthe white house\nzebra!\n", encoding="utf-8")
    Path("text.fr").write_text("Le chat noir, dort.\nle\nla maison blanche\n\n", encoding="utf-8")
    outputs = "--tokens", "cut", "--table", "links.tsv", "-o", "links"
    assert run("align", "text.en", "text.fr", "--vectors", vectors, *options, *shards, *outputs) == 0
    sides = [Path(f"cut.{side}").read_text("utf-8").split("\n")[:-1] for side in ("source", "target")]
    words = "The black cat , sleeps ." if options == ["--tokenizer", "simple"] else "The black cat, sleeps."
    assert sides[0] == [words, "", "the white house", "zebra !" if "," in words.split() else "zebra!"]
    assert [len(side) for side in sides] == [4, 4]
    rows = [row.split("\t") for row in Path("links.tsv").read_text("utf-8").splitlines()[1:]]
    assert len(rows) >= 4
    for pair, s, source, t, target, _ in rows:
        found = (
            side[int(pair) - 1].split(" ")[int(place)] for side, place in zip(sides, (s, t), strict=True)
        )
        assert (source, target) == tuple(found)
    assert run("lexicon", "cut.source", "cut.target", "links") == 0


@pytest.mark.parametrize("more", [[], ["--out-shards", "shards", "--shard-pairs", "3"], ["--workers", "2"]])
def test_long_pairs_have_an_empty_line(more, vectors, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmtalign.cli.commands.align_command.PAIRS_PER_CHUNK", 2)
    pairs = [
        "the cat . ||| le chat .",
        "the cat ||| le chat le chat",
        "x ||| y",
        "the the the the ||| le",
        "cat ||| chat",
    ]
    Path("pairs").write_text("".join(f"{pair}\n" for pair in pairs * 4), encoding="utf-8")
    common = "align", "--pairs", "pairs", "--vectors", vectors
    assert run(*common, "-o", "all") == 0
    assert "skipped" not in capsys.readouterr().err
    assert run(*common, "-o", "short", "--tokens", "cut", "--max-length", "3", *more) == 0
    assert "8 pairs with more than 3 tokens skipped" in capsys.readouterr().err
    every, short = (Path(name).read_text("utf-8").split("\n") for name in ("all", "short"))
    assert short == ["" if n % 5 in (1, 3) else line for n, line in enumerate(every)]
    assert all(every[n] for n in (0, 1, 3, 4))
    assert Path("cut.target").read_text("utf-8").split("\n")[:5] == ["le chat .", "", "y", "", "chat"]


# --- what is for vectors, and what for models ----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--positions", "none"], "--positions"),
        (["--score", "dot", "--unknown", "backoff"], "--unknown, --score"),
        (["--temperature", "0.5"], "--temperature"),
    ],
)
def test_no_option_changes_the_aligner_without_naming_one(options, names, bitext, tmp_path, capsys):
    """The shipped model stays until vectors are named."""
    assert run("align", *bitext, *options, "-o", tmp_path / "links") == 2
    err = capsys.readouterr().err
    assert f"error: {names} appl" in err
    assert f"; remove {names}, or open word vectors, such as en_fr_vectors" in err
    assert err.count("\n") == 1
    assert run("align", *bitext, *options, "-o", tmp_path / "links", "--vectors", "en_fr_vectors") == 0


def test_vectors_have_no_heads(bitext, vectors, tmp_path, capsys):
    for name, words in (("en.vec", ENGLISH), ("fr.vec", FRENCH)):
        rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, np.eye(8), strict=True)]
        (tmp_path / name).write_text("\n".join(["8 8", *rows, ""]), encoding="utf-8")
    files = "--source-vectors", tmp_path / "en.vec", "--target-vectors", tmp_path / "fr.vec"
    for places in (("--vectors", vectors), files):
        assert run("align", *bitext, *places, "--scorers", "x") == 2
        assert "this aligner has the scorers embeddings, not x" in capsys.readouterr().err
