"""``--help``: every option stands in a section, its choices are those of the library."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nmtalign.cli.program import COMMANDS, group
from nmtalign.files.paths import bundled_path

ORDER = ("Input", "Output", "Model", "Vectors", "Links", "Attention", "Running")  # first words of titles
FOR_ALL = ["--quiet", "--verbose", "--log-json", "--config", "--debug", "--help"]
FOR_ALL_LINE = f"Options of every command: {', '.join(FOR_ALL)}; see `nmtalign --help`."
MOST_OPTIONS = 45  # what a reader of a help page can bear


def leaves() -> list[tuple[str, ...]]:
    """Return the words of all commands."""
    found = []
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        parts = command.commands if isinstance(command, click.Group) else ()
        found += [(name, part) for part in parts] or [(name,)]
    return found


def help_of(*command: str) -> str:
    """Return the help of a command without its line ends."""
    return " ".join(CliRunner().invoke(group, [*command, "--help"]).output.split())


def sections(*command: str) -> dict[str, set[str]]:
    """Return the long options of each section of the help of a command."""
    lines = CliRunner().invoke(group, [*command, "--help"]).output.splitlines()
    heads = [n for n, line in enumerate(lines) if re.fullmatch(r"[A-Z].*:", line)]
    parts = zip(heads, [*heads[1:], len(lines)], strict=True)
    names = re.compile(r"^  (?:-\w, )?(--[\w-]+)")
    return {lines[a][:-1]: {m[1] for line in lines[a:b] if (m := names.match(line))} for a, b in parts}


@pytest.mark.parametrize("command", leaves(), ids=" ".join)
def test_every_option_has_a_section_in_the_usual_order(command):
    found = sections(*command)
    assert "Options" not in found
    titles = [title.replace(",", " ").split()[0] for title in found]
    places = [ORDER.index(title) for title in titles if title in ORDER]
    assert places == sorted(places)
    listed = set().union(*found.values())
    assert listed.isdisjoint(FOR_ALL)
    if command == ("align",):
        assert len(listed) <= MOST_OPTIONS


@pytest.mark.parametrize("command", leaves(), ids=" ".join)
def test_the_options_of_every_command_stand_in_one_line_and_are_described_once(command):
    assert help_of(*command).endswith(FOR_ALL_LINE)
    assert CliRunner().invoke(group, ["--help"]).output.count("one object per line") == 1


def test_what_runs_where_stands_apart_from_what_is_aligned():
    found = sections("align")
    assert found["Running"] == {"--workers"}
    assert {"--pairs", "--tokenizer", "--on-error"} <= found["Input"]
    assert {"--output", "--table"} <= found["Output"]


def test_shards_and_clusters_stand_in_one_line_and_are_described_on_their_page():
    page = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")
    for command in ("align", "train"):
        (line,) = re.findall(r"Shards and clusters: (.*?); see docs/scaling.md", help_of(command))
        assert [name for name in line.split(", ") if f"{name}`" not in page and f"{name} " not in page] == []


def test_options_for_vectors_are_those_that_a_model_refuses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("cat\n")
    values = {"--langs": "en,fr", "--unknown": "zero", "--score": "dot", "--positions": "hmm"}
    found = sections("align")
    for option in found["Vectors, instead of a model"]:
        value = values.get(option, "1")
        command = "align", "a", "b", "--model", str(bundled_path("en_fr_model")), option, value
        result = CliRunner().invoke(group, command)
        assert re.search("word vectors|-vectors|--langs", str(result.exception)), option
    for option, value in (("--threshold", "0.5"), ("--extract", "mutual"), ("--tokenizer", "space")):
        assert option in found["Links"] | found["Input"]
        assert CliRunner().invoke(group, ["align", "a", "b", option, value]).exit_code == 0, option


def test_numbers_without_bounds_have_none_in_the_help():
    said = CliRunner().invoke(group, ["align", "--help"]).output
    assert "None" not in said
    assert "[0<x<=1]" in said


def test_a_default_that_differs_by_command_is_that_of_the_command():
    described = {" ".join(command): help_of(*command) for command in leaves()}
    assert "[mutual; with --method: the rule of the method] " in described["links-from"]
    for command in ("train", "convert"):
        assert "[posterior] " in described[command]
    for command in ("align", "heatmap", "report"):
        assert "[posterior; with --positions none or diagonal: mutual] " in described[command]
        assert "fitted to the text). [hmm] " in described[command]
    assert "spelling). [backoff; with --positions none or diagonal: zero] " in described["align"]
    assert not [name for name, text in described.items() if "other commands" in text]


def test_a_mistyped_command_is_answered_by_the_nearest():
    assert "did you mean 'align'?" in CliRunner().invoke(group, ["aling"]).output
    assert "did you mean" not in CliRunner().invoke(group, ["xyz"]).output


def test_commands_of_vectors_stand_in_the_order_of_the_work():
    output = CliRunner().invoke(group, ["vectors", "--help"]).output
    commands = re.findall(r"^  (\w+)  ", output.split("Commands:")[1], re.MULTILINE)
    assert commands == ["info", "convert", "learn", "map", "attention"]
