"""Options that name files, and options that are numbers: what no command may do with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import click
import pytest

from nmtalign.cli.parameter_types import (
    FileType,
    Integer,
    NamedInput,
    Number,
    OutputPrefix,
    TokenizerType,
)
from nmtalign.cli.program import COMMANDS, group
from nmtalign.files.paths import bundled_path
from tests.cli.running import run

# Parameters with free text that name no file; whatever else is free text has a type of its own.
WORDS = {"sides", "langs", "scorers", "title", "by", "encoding", "strip_prefix"}
WORDS |= {"word", "translation", "words", "neighbors", "shard", "scheduler", "memory"}
WORDS |= {"source_sentence", "target_sentence", "prefix", "spaces", "pin"}
# What each command writes; a command that is not here only shows something.
OUTPUTS = {
    "demo": "output",
    "align": "attention output error_report probabilities pair_scores table guided tokens out_shards costs"
    " forward reverse posteriors",
    "links-from": "attention cache output error_report probabilities pair_scores table guided tokens",
    "train": "output links forward reverse probabilities pair_scores table error_report",
    "check": "output error_report",
    "convert": "output",
    "evaluate": "curve",
    "phrases": "output",
    "project": "output",
    "heatmap": "output",
    "report": "output",
    "vectors convert": "output",
    "vectors learn": "output",
    "vectors map": "output",
    "lexicon": "output priors terms vmap",
}


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command and sub-command with its name."""
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        parts = command.commands if isinstance(command, click.Group) else {"": command}
        yield from ((f"{name} {part}".strip(), inner) for part, inner in parts.items())


ALL = dict(all_commands())


def is_output(param: click.Parameter) -> bool:
    return isinstance(param.type, FileType) and param.type.writes


def call(name: str, **values: str) -> list[str]:
    """Write a call in which some parameters have these values, and others that must be there have any."""
    options: list[str] = []
    arguments: list[str] = []
    for param in ALL[name].params:
        value = values.get(str(param.name))
        if isinstance(param, click.Argument):
            arguments.append(value or f"{param.name}.txt")
        elif value is None and param.required:
            value = param.type.choices[0] if isinstance(param.type, click.Choice) else f"{param.name}.png"
        if isinstance(param, click.Option) and value is not None:
            options += [param.opts[-1], value]
    return [*name.split(), *options, "--", *arguments]


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_file_has_the_type_of_a_file(name):
    """A new option that names a file says so with its type, and whether the file is written."""
    for param in ALL[name].params:
        assert not isinstance(param.type, click.types.StringParamType) or param.name in WORDS, param.name
        assert isinstance(param.type, FileType) or not isinstance(param.type, click.Path | click.File)
    found = {param.name for param in ALL[name].params if is_output(param)}
    assert found == set(OUTPUTS.get(name, "").split())


def pairs_of_files(name: str) -> list[tuple[click.Parameter, click.Parameter]]:
    """Return each output of a command with each other file that it names."""
    params = [param for param in ALL[name].params if not isinstance(param.type, OutputPrefix)]  # see below
    return [
        (output, other)
        for output in filter(is_output, params)
        for other in params
        if isinstance(other.type, FileType | TokenizerType) and other is not output
        # the new model replaces the older one
        if (name, output.name, other.name) != ("train", "output", "init")
    ]


def named(param: click.Parameter, path: str) -> str:
    """Write a value of a parameter that names a file."""
    if isinstance(param.type, TokenizerType):
        return f"sentencepiece:other.model,{path}"
    return f"a={path}" if isinstance(param.type, NamedInput) else path


@pytest.mark.parametrize("name", filter(pairs_of_files, ALL))
def test_an_output_is_no_input_and_no_other_output(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("precious").write_text("# important\n")
    os.link("precious", "hard")
    os.symlink("precious", "soft")
    # paths are compared in one place, so each pair tries one of these names
    names = cycle(["./precious", "hard", "soft"])
    for (output, other), again in zip(pairs_of_files(name), names, strict=False):
        assert run(*call(name, **{output.name: again, other.name: named(other, "precious")})) == 2
        err = capsys.readouterr().err
        assert "are the same file" in err or "two outputs have the same path" in err
        for param in (output, other):
            assert (param.opts[-1] if isinstance(param, click.Option) else param.name.upper()) in err
    assert Path("precious").read_text() == "# important\n"
    assert sorted(os.listdir()) == ["hard", "precious", "soft"]


def test_a_prefix_stands_for_all_its_files(tmp_path, capsys):
    texts = [tmp_path / name for name in ("text.en", "lex.t2s", "links")]
    for path in texts:
        path.write_text("a\n")
    assert run("lexicon", *texts, "-o", tmp_path / "lex") == 2
    assert "-o/--output and TARGET are the same file" in capsys.readouterr().err
    assert texts[1].read_text() == "a\n"


def write_vectors(folder: Path) -> None:
    """Write empty files where vectors and a model have theirs."""
    for name in ("word2int_en.pkl", "embeddings_en.npz", "own/meta.json", "own/vectors.npy", "own/notes"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("align a b --vectors v -o v/embeddings_en.npz", True),
        ("align a b --vectors v -o v/own/vectors.npy", True),
        ("align a b --vectors v -o v/links", False),
        ("align a b --model v/own -o v/own/meta.json", True),
        ("align a b --model v/own -o v/own/notes", False),
        ("align a b --model v/own --out-shards v/own", True),
        ("align a b --source-vectors v/word2int_en.pkl --target-vectors x -o v/embeddings_en.npz", True),
        ("vectors convert v/word2int_en.pkl v/embeddings_en.npz --to word2vec", True),
        ("vectors convert v/word2int_en.pkl v/other.txt --to word2vec", False),
        ("vectors map v/own x -o v", True),
        ("vectors map v/word2int_en.pkl x -o v", True),
        ("vectors map v/cc.en.vec x -o v", False),
        ("vectors learn a b -o .", False),
        ("train v/own/notes b -o v/own", True),
        ("train a b -o v/own --init v/own", False),
        ("train a b -o v/own --init v/own --links v/own/meta.json", True),
        ("vectors map en_fr_vectors x -o en_fr_vectors", False),
    ],
)
def test_folders_stand_for_the_files_that_vectors_and_models_have(
    line, refused, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write_vectors(Path("v"))
    assert run(*line.split()) in (2, 3)
    assert ("are the same file" in capsys.readouterr().err) == refused


def test_shipped_names_are_inputs_too(tmp_path, capsys):
    kept = next(bundled_path("en_fr_vectors").glob("word2int*"))
    assert run("align", "a", "b", "--vectors", "en_fr_vectors", "-o", kept) == 2
    assert "-o/--output and --vectors are the same file" in capsys.readouterr().err


def test_a_configuration_file_is_an_input(tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text(f"[align]\noutput = '{config}'\n")
    for arguments in (["--config", config, "align"], ["align", "--config", config]):
        assert run(*arguments, "a", "b") == 2
        assert "-o/--output and --config are the same file" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["-", "/dev/null", "/dev/stdout", "pipe"])
def test_streams_and_devices_may_be_named_twice(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if place == "pipe":
        os.mkfifo(place)
    if not os.path.exists(place) and place != "-":
        pytest.skip(f"there is no {place} here")
    call = ["align", "-" if place == "-" else "nothing", "nowhere", "-o", place]
    if place == "/dev/null":
        call += ["--probabilities", place]
    if place != "pipe":
        assert run(*call) == 3  # there is no such text
    assert "the same file" not in capsys.readouterr().err
    assert run("align", "a", "b", "--probabilities", "-") == 2
    assert "two outputs have the same path, -" in capsys.readouterr().err


# --- numbers -------------------------------------------------------------------------------------

NUMBERS = [
    (name, param)
    for name, command in ALL.items()
    for param in command.params
    if isinstance(param.type, click.types.FloatParamType | click.types.IntParamType)
]


def test_no_number_is_nan_or_infinite(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for (name, param), value in zip(NUMBERS, cycle(["nan", "inf", "-inf", "1e999"]), strict=False):
        assert isinstance(param.type, Number | Integer)
        assert run(*call(name, **{param.name: value})) == 2
        assert f"Invalid value for '{param.opts[-1]}'" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_nor_from_the_environment(value, monkeypatch, capsys):
    monkeypatch.setenv("NMTALIGN_ALIGN_TEMPERATURE", value)
    assert run("align", "a", "b") == 2
    assert f"expected a finite number, found '{value}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("temperature = nan", "number, found nan"),
        ("threshold = nan", "number, found nan"),
        ("temperature = inf", "number, found inf"),
        ("workers = inf", "an integer, found inf"),
    ],
)
def test_nor_from_a_configuration_file(line, expected, tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text(f"[align]\n{line}\n")
    assert run("--config", config, "align", "a", "b") == 2
    assert expected in capsys.readouterr().err


def test_a_whole_number_of_a_configuration_file_is_not_cut(tmp_path, capsys):
    config = tmp_path / "config.toml"
    config.write_text("[align]\nworkers = 1.5\n")
    assert run("--config", config, "align", "a", "b") == 2
    assert "expected an integer, found 1.5" in capsys.readouterr().err
