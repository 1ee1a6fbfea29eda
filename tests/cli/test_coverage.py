"""`align` and `report` say when the text is of other languages than the model, or its sides are swapped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import nmtalign as na
from nmtalign.cli import main, messages
from nmtalign.external import word_encoders
from nmtalign.files.paths import bundled_path
from nmtalign.names import SIDES

ENGLISH = (
    "The children are playing in the garden behind the house.",
    "She has been waiting for the bus since eight o'clock.",
    "We would like to buy two bottles of milk and some bread.",
)
FRENCH = (
    "Les enfants jouent dans le jardin derrière la maison.",
    "Elle attend le bus depuis huit heures.",
    "Nous voudrions acheter deux bouteilles de lait et du pain.",
)
GERMAN = (
    "Die Kinder spielen im Garten hinter dem Haus.",
    "Sie wartet seit acht Uhr auf den Bus.",
    "Wir möchten zwei Flaschen Milch und etwas Brot kaufen.",
)
CHINESE = (
    "孩子们 正在 屋后 的 花园 里 玩耍 。",
    "她 从 八点 起 就 在 等 公共 汽车 。",
    "我们 想 买 两瓶 牛奶 和 一些 面包 。",
)
NAMES = [
    ("Ms Adebayo-Okonkwo met Tadeusz Wiśniewski in Kraków on 14.03.1987 .",
     "Mme Adebayo-Okonkwo a rencontré Tadeusz Wiśniewski à Kraków le 14.03.1987 ."),
    ("Szczebrzeszyn - Zamość 2:1 ( Grzybowska 17 , Oyelaran 88 )",
     "Szczebrzeszyn - Zamość 2:1 ( Grzybowska 17 , Oyelaran 88 )"),
    ("+48 22 694 07 27 , kontakt@zamosc.example", "+48 22 694 07 27 , kontakt@zamosc.example"),
]  # fmt: skip


NAMED = "--model", "en_fr_model"  # a model that is named is not refused


def align(folder: Path, source: object, target: object, *options: object, command: str = "align") -> int:
    """Align two texts, or two files, by a model that is named, and return the exit code."""
    named = () if "--vectors" in options else NAMED
    return call(folder, source, target, *named, *options, command=command)


def call(folder: Path, source: object, target: object, *options: object, command: str = "align") -> int:
    """Call a command with two texts, or two files, and return the exit code."""
    paths = []
    for name, side in (("a", source), ("b", target)):
        path = side if isinstance(side, Path) else folder / name
        if path is not side:
            path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
        paths.append(path)
    with pytest.raises(SystemExit) as caught:
        main([command, *map(str, (*paths, *options))])
    return int(caught.value.code or 0)


def sample(*languages: str) -> list[Path]:
    return [bundled_path("en_fr_sample") / f"text.{language}" for language in languages]


def shorter_sample(*languages: str) -> list[list[str]]:
    return [path.read_text(encoding="utf-8").split("\n")[:60] for path in sample(*languages)]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (GERMAN, FRENCH, "of the source words are known"),
        (ENGLISH, GERMAN, "of the target words are known"),
        (ENGLISH, CHINESE, "only 0.0 % of the target words are known"),
        (FRENCH, ENGLISH, "the sides seem to be swapped"),
        (*shorter_sample("fr", "en"), "the sides seem to be swapped"),
    ],
)
def test_other_languages_and_swapped_sides_are_named(source, target, expected, tmp_path, capfd):
    assert align(tmp_path, source, target) == 0
    err = capfd.readouterr().err
    (warning,) = [line for line in err.splitlines() if "warning" in line]
    assert expected in warning
    assert ("exchange SOURCE" if "swapped" in expected else "nmtalign train") in warning
    assert "words are known\n" in err
    assert "en-fr" not in err  # what the model learned is not what the text is

    old = tmp_path / "links"
    old.write_text("older\n")
    assert align(tmp_path, source, target, "--strict") == 3
    out, err = capfd.readouterr()
    assert out == ""
    assert "error: pairs 1 to" in err
    assert expected in err
    assert align(tmp_path, source, target, "--strict", "-o", old, "--table", tmp_path / "t.tsv") == 3
    assert old.read_text() == "older\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name not in "ab") == ["links"]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("align", ()),
        ("align", ("-o", "links")),
        ("report", ("-o", "r.html")),
        ("heatmap", ("--lines", "1,2", "-o", "pairs.pdf")),
    ],
)
def test_a_model_that_no_option_names_is_refused_if_it_knows_too_few_words(
    command, options, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(word_encoders, "has_universal_encoder", lambda: False)
    assert call(tmp_path, GERMAN, ENGLISH, *options, command=command) == 3
    out, err = capfd.readouterr()
    assert out == ""
    assert "the bundled English-French model knows only" in err
    for advice in ("nmtalign train", "--model DIR", "--model en_fr_model", "nmtalign[multilingual]"):
        assert advice in err
    assert call(tmp_path, FRENCH, ENGLISH, *options, command=command) == 3
    assert "exchange SOURCE and TARGET" in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert call(tmp_path, ENGLISH, FRENCH, *options, command=command) == 0


TRUSTED = sample("en", "fr"), sample("tok.en", "tok.fr"), list(zip(*NAMES, strict=True))


@pytest.mark.parametrize("text", TRUSTED)
def test_text_of_the_languages_of_the_model_gives_no_warning(text, tmp_path, capfd):
    assert align(tmp_path, *text, "--strict", "-o", tmp_path / "links") == 0
    assert "warning" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (GERMAN, FRENCH, "of the source words are known"),
        (FRENCH, ENGLISH, "the sides seem to be swapped"),
        (ENGLISH, FRENCH, "nmtalign: 3 pairs in "),
    ],
)
def test_a_report_of_another_language_says_so(source, target, expected, tmp_path, capfd):
    assert align(tmp_path, source, target, "-o", tmp_path / "r.html", command="report") == 0
    err = capfd.readouterr().err
    assert expected in err
    assert err.count("warning") == (source is not ENGLISH)


@pytest.mark.parametrize(("source", "target"), [(GERMAN, CHINESE), (FRENCH, ENGLISH)])
def test_python_hears_the_sentence_of_the_command_once_a_call(source, target, tmp_path, capfd):
    assert align(tmp_path, source, target) == 0
    (said,) = [line for line in capfd.readouterr().err.splitlines() if "warning: " in line]
    aligner, pairs = na.load(), list(zip(source, target, strict=True))
    words = [aligner.words_of(pair) for pair in pairs]
    for call in (lambda: aligner.align_batch(pairs), lambda: aligner.align_batch(words)):
        with pytest.warns(UserWarning, match="are known|knows more") as heard:
            call()
        (warning,) = heard
        shown = messages.as_options(str(warning.message), messages.options_of_command)
        assert shown == said.split("warning: ")[1]
        assert warning.filename == __file__
    with pytest.warns(UserWarning, match="are known|knows more") as heard:
        aligner.align(*pairs[0])
    assert [warning.filename for warning in heard] == [__file__]


def test_python_hears_nothing_of_text_that_is_known():
    pairs = [*zip(ENGLISH, FRENCH, strict=True), *NAMES]
    assert (na.load().align_batch(pairs).scores > 0).all()
    for pair in pairs:
        na.load().align(*pair)


def test_a_pair_of_which_no_word_is_known_has_no_score(tmp_path):
    """By the command and in Python, however many numbers both sides have."""
    pairs = [
        ("Partnerschaft 2 , 29 , 31 , 43 und 54 , 55 , 61 .", "Koostöö 2 , 29 , 31 , 43 ja 54 , 55 , 61 ."),
        ("the cat", "Katze"),
        ("the cat", "le chat"),
    ]
    source, target = zip(*pairs, strict=True)
    assert align(tmp_path, source, target, "--pair-scores", tmp_path / "scores") == 0
    assert (tmp_path / "scores").read_text().split("\n")[:2] == ["0.000000", "0.000000"]
    with pytest.warns(UserWarning, match="words are known"):
        batch = na.load().align_batch(pairs)
    assert batch.scores[:2].tolist() == [0, 0]
    assert batch.scores[2] > 0.1
    with pytest.warns(UserWarning, match="words are known"):
        assert na.load().align(*pairs[0]).score == 0


def test_given_vectors_count_too(tmp_path, capfd):
    vectors = "--vectors", "en_fr_vectors"
    assert align(tmp_path, *shorter_sample("fr", "en"), *vectors) == 0
    assert "warning: the sides seem to be swapped" in capfd.readouterr().err
    assert align(tmp_path, *shorter_sample("en", "fr"), *vectors, "--strict") == 0
    assert "warning" not in capfd.readouterr().err


def test_raw_text_that_is_cut_at_spaces_is_named(tmp_path, capfd):
    vectors = "--vectors", "en_fr_vectors", "--tokenizer", "space"
    assert align(tmp_path, *shorter_sample("en", "fr"), *vectors) == 0
    assert "tokenize raw text with --tokenizer simple" in capfd.readouterr().err
    assert align(tmp_path, *shorter_sample("tok.en", "tok.fr"), *vectors, "--strict") == 0
    assert "warning" not in capfd.readouterr().err


def test_counts_are_there_for_programs(tmp_path, capfd):
    assert align(tmp_path, ENGLISH, GERMAN, "--log-json") == 0
    events = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    (shares,) = [event["known"] for event in events if event["event"] == "aligned"]
    assert shares["source"] == 1.0
    assert shares["target"] < 0.45


def test_a_strict_run_in_shards_is_never_put_together(tmp_path, capfd):
    text = ENGLISH * 4, FRENCH + GERMAN * 3
    command = *text, "--out-shards", tmp_path / "shards", "--shard-pairs", 3, "-o", tmp_path / "links"
    assert align(tmp_path, *command, "--strict") == 3
    assert "pairs 1 to" in capfd.readouterr().err
    done = sorted(path.name for path in tmp_path.glob("shards/*.links"))
    assert "000000.links" in done
    for _ in range(2):
        assert align(tmp_path, *command, "--strict", "--resume") == 3
        assert sorted(path.name for path in tmp_path.glob("shards/*.links")) == done
    assert align(tmp_path, *command, "--resume") == 2
    assert "a different strict" in capfd.readouterr().err
    assert not (tmp_path / "links").exists()


def test_positions_are_inside_of_the_lines_and_of_the_tokens(tmp_path):
    """*hon.* and *2.8c.* of a text that is cut already are one word each, and two or more tokens."""
    english = ["the hon. member spoke of 2.8c. on Tuesday .", "It  is the black cat, he said?", ""]
    french = ["le député a parlé de 2,8 c. mardi .", " Est-ce le chat noir, dit-il ?", "rien"]
    for tokens in (), ("--tokens", tmp_path / "cut"):
        outputs = "-o", tmp_path / "links", "--table", tmp_path / "table.tsv", "--guided", tmp_path / "guided"
        assert align(tmp_path, english, french, *outputs, *tokens) == 0
        links = [line.split() for line in (tmp_path / "links").read_text("utf-8").split("\n")[:-1]]
        shown = [line.split("\t") for line in (tmp_path / "guided").read_text("utf-8").split("\n")[:-1]]
        assert [line[2].split() for line in shown] == links
        words = [[line[side].split() for line in shown] for side in (0, 1)]
        if tokens:
            cut = [(tmp_path / f"cut.{side}").read_text("utf-8").split("\n")[:-1] for side in SIDES]
            assert words == [[line.split(" ") if line else [] for line in side] for side in cut]
            assert words[0][0][:5] == ["the", "hon", ".", "member", "spoke"]
        else:
            assert words == [[line.split() for line in side] for side in (english, french)]
        for n, own in enumerate(links):
            places = [tuple(map(int, link.split("-"))) for link in own]
            assert places == sorted(set(places))
            assert all(s < len(words[0][n]) and t < len(words[1][n]) for s, t in places)
        rows = [line.split("\t") for line in (tmp_path / "table.tsv").read_text("utf-8").split("\n")[1:-1]]
        assert len(rows) == sum(map(len, links)) > 8
        for pair, s, source, t, target, _ in rows:
            assert source == words[0][int(pair) - 1][int(s)]
            assert target == words[1][int(pair) - 1][int(t)]


def test_quiet_shows_no_progress(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert messages.shows_progress()
    monkeypatch.setattr(messages, "enabled_switches", {"quiet"})
    assert not messages.shows_progress()


def test_quiet_leaves_warnings(tmp_path, capfd):
    assert align(tmp_path, ENGLISH, FRENCH, "-q", "-o", tmp_path / "links") == 0
    assert capfd.readouterr().err == ""
    assert align(tmp_path, FRENCH, ENGLISH, "-q", "-o", tmp_path / "links") == 0
    (line,) = capfd.readouterr().err.splitlines()
    assert "the sides seem to be swapped" in line


def test_words_without_a_vector_are_not_known(tmp_path, capsys):
    """Names, numbers and signs count, too: with vectors, nothing else than a vector makes a link."""
    for language, words in (("en", ["the", "cat"]), ("fr", ["le", "chat"])):
        na.save_embeddings(na.Embeddings.of(words, [[1.0, 0.0], [0.0, 1.0]]), tmp_path / "v" / language)
    sides = ["alpha 1992 Zorro the"], ["alpha 1992 Zorro le"]
    assert align(tmp_path, *sides, "--vectors", tmp_path / "v") == 0
    said = capsys.readouterr().err
    assert "only 25.0 % of the source words and only 25.0 % of the target words are known" in said
    assert align(tmp_path, *sides, "--vectors", tmp_path / "v", "--strict") == 3
