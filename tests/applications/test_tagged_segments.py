"""Files of translators' tools are written again with the tags of their sources in plain targets."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

import nmtalign as na
from nmtalign.files import xml_files
from tests.applications.test_localization_files import SAMPLES
from tests.cli.running import run

XLIFF = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE xliff PUBLIC "-//XLIFF//DTD XLIFF//EN" "xliff.dtd">
<xliff version="1.2" xmlns:sdl="s"><file source-language='en' target-language="fr"><header><sdl:ref a=">"/>
</header><body><!-- <target>no</target> --><trans-unit id="1">
{units}
</trans-unit></body></file></xliff>
"""
# each unit as it is, the links of its segments, and what takes the place of a part of it
UNITS = {
    "plain target": (
        '<source>the <g id="1">cat</g> &amp; I</source>\n  <target state="final">le chat &#38; moi…</target>',
        ["0-0 1-1 2-2 3-3"],
        ("le chat &#38; moi…", 'le <g id="1">chat</g> &amp; moi…'),
    ),
    "lines": (
        '<source>one\n<x\nid="1"/>cat</source><target>un\nchat &lt;</target>',
        ["0-0 1-1"],
        ("un\nchat &lt;", 'un\n<x\nid="1"/>chat &lt;'),
    ),
    "segments": (
        '<source>A <g id="1">cat</g>. A <g id="2">dog</g>.</source><seg-source><mrk mtype="seg" mid="a">A'
        ' <g id="1">cat</g>.</mrk> <mrk mtype="seg" mid="b">A <g id="2">dog</g>.</mrk></seg-source>'
        '<target><mrk mtype="seg" mid="b">Un chien.</mrk> <mrk mtype="seg" mid="a">Un chat.</mrk></target>',
        ["0-0 1-1", "0-0 1-1"],
        (
            'mid="b">Un chien.</mrk> <mrk mtype="seg" mid="a">Un chat.</mrk></target>',
            'mid="b">Un <g id="2">chien</g>.</mrk> <mrk mtype="seg" mid="a">Un <g id="1">chat</g>.</mrk>'
            "</target>",
        ),
    ),
    "target in a marker": (
        '<source>A <x id="1"/>cat</source><target><mrk mtype="seg" mid="0">Un chat</mrk></target>',
        ["0-0 1-1"],
        ("Un chat", 'Un <x id="1"/>chat'),
    ),
    "target with tags": (
        '<source>A <g id="1">cat</g></source><target>Un <g id="1">chat</g></target>',
        ["0-0"],
        None,
    ),
    "empty target": ('<source>A <g id="1">cat</g></source><target/>', [""], None),
    "no target": ('<source>A <g id="1">cat</g></source>', [""], None),
    "comments and CDATA": (
        "<source>A <!-- <x/> --><![CDATA[cat]]></source><target>Un chat</target>",
        ["0-0 1-1"],
        None,
    ),
    "no tags": ("<source>A cat</source><target>Un &#x63;hat</target>", ["0-0 1-1"], None),
    "proposal": (
        '<source>A <x id="1"/>cat</source><alt-trans><target>Le chat</target></alt-trans>'
        "<target>Un chat</target>",
        ["0-0 1-1"],
        (">Un chat", '>Un <x id="1"/>chat'),
    ),
}


def tagged(file: Path, links: list[str], capsys: pytest.CaptureFixture[str], *options: str) -> bytes:
    """Run the command, and return the bytes of the file that it writes."""
    link_file = file.parent / "links"
    link_file.write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    output = file.parent / f"new{file.suffix}"
    assert run("project", "--pairs", file, link_file, "-o", output, *options) == 0
    assert "bad record" not in capsys.readouterr().err
    return output.read_bytes()


@pytest.mark.parametrize("block", [200, 1 << 16])
@pytest.mark.parametrize(
    ("encoding", "end"), [("utf-8", "\n"), ("utf-8-sig", "\r\n"), ("utf-16", "\r\n"), ("latin-1", "\n")]
)
def test_nothing_but_plain_targets_changes(encoding, end, block, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(xml_files, "_XML_BLOCK_BYTES", block)
    ids = '</trans-unit>\n<trans-unit id="2">'
    units = ids.join(unit for unit, _, _ in UNITS.values())
    new_units = ids.join(unit.replace(*change) if change else unit for unit, _, change in UNITS.values())
    file = tmp_path / "page.xlf"
    name = encoding.removesuffix("-sig")

    def encoded(units: str) -> bytes:
        text = XLIFF.format(encoding=name, units=units).replace("\n", end)
        return text.encode(encoding, "xmlcharrefreplace")

    file.write_bytes(encoded(units))
    links = [line for _, lines, _ in UNITS.values() for line in lines]
    assert tagged(file, links, capsys) == encoded(new_units)


# without the sample whose segment has a marker, and the one whose target is already escaped
XLIFF_SAMPLES = sorted(
    name
    for name, sample in SAMPLES.items()
    if sample.format == "xliff" and name not in ("sdlxliff", "escapes")
)


@pytest.mark.parametrize("name", XLIFF_SAMPLES)
@pytest.mark.parametrize("ending", [".xlf", ".tmx"])
def test_targets_get_the_tags_that_lines_get(name, ending, tmp_path, capsys):
    sample = SAMPLES[name]
    file = tmp_path / f"one{ending}"
    body = {
        ".xlf": "<xliff><trans-unit><source>%s</source><target>%s</target></trans-unit></xliff>",
        ".tmx": '<tmx><tu/><tu><tuv xml:lang="en"><seg>%s</seg></tuv><tuv xml:lang="de"><seg>x</seg></tuv>'
        '<tuv xml:lang="fr-CA"><seg>%s</seg></tuv></tu></tmx>',
    }[ending]
    file.write_text(body % (sample.tagged, escape(sample.target)), encoding="utf-8")
    options = ["--sides", "en,fr"] if ending == ".tmx" else []
    found = tagged(file, [sample.links], capsys, *options)
    assert found.decode() == body % (sample.tagged, sample.expected)


# --- links in the file ---------------------------------------------------------------------------

TMX = """<?xml version='1.0'?>
<tmx version="1.4"><header srclang="en"/><body>
<tu>{}<note>n</note><tuv xml:lang="de"><seg>Katze</seg></tuv><tuv xml:lang="en"><seg>a cat</seg></tuv><tuv\
 xml:lang="fr-CA"><seg>un <ph/>chat</seg></tuv></tu>
<tu>{}<prop type="x">y</prop><tuv lang="en"><seg>dog</seg></tuv><tuv xml:lang="fr"><seg>chien</seg></tuv></tu>
</body></tmx>
"""
FIRST_VERSION = """<xliff version="1.2"><file><body>
<trans-unit id="1"><source>a cat</source><target state="final"{}>un chat &amp;</target></trans-unit>
<trans-unit id="2"><source>x</source><target/></trans-unit>
<trans-unit id="3"><source>d</source><seg-source><mrk mtype="seg" mid="a">dog</mrk></seg-source>
<target><mrk mtype="seg" mid='a'{}>chien</mrk></target></trans-unit></body></file></xliff>
"""
SECOND_VERSION = """<xliff version="2.0" srcLang="en" trgLang="fr"><file><unit>
<segment><source>a cat</source><target>{}un <pc id="1">chat</pc>{}</target></segment>
<segment><source>dog</source><target>{}chien{}</target></segment></unit></file></xliff>
"""
ATTRIBUTE = ' xmlns:nmtalign="urn:nmtalign" nmtalign:links="{}"'
MARK = '<mrk id="links-{}" type="nmtalign:links" value="{}">'
LINKED_FILES = {
    "tmx": (
        TMX,
        ["0-0 1p1", "0-0"],
        lambda lines: [f'<prop type="x-alignment:en:fr">{line}</prop>' for line in lines],
    ),
    "xliff": (
        FIRST_VERSION,
        ["0-0 1p1", "", "0-0"],
        lambda lines: [ATTRIBUTE.format(lines[n]) for n in (0, 2)],
    ),
    "xlf": (
        SECOND_VERSION,
        ["0-0 1p1", "0-0"],
        lambda lines: [MARK.format(1, lines[0]), "</mrk>", MARK.format(2, lines[1]), "</mrk>"],
    ),
}


@pytest.mark.parametrize("ending", LINKED_FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_links_are_written_into_a_file_and_read_again(ending, encoding, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    template, lines, parts_of = LINKED_FILES[ending]
    kind = "tmx" if ending == "tmx" else "xliff"
    sides = ["--sides", "en,fr"] if kind == "tmx" else []

    def write_links(lines: list[str], old: str, new: str) -> bytes:
        Path("links").write_text("".join(f"{line}\n" for line in lines))
        assert run("convert", "links", "--to", kind, *sides, "--source", old, "-o", new) == 0
        capsys.readouterr()
        assert run("convert", new, "--from", kind, *sides, "--to", "pharaoh") == 0
        assert capsys.readouterr().out.splitlines() == lines
        return Path(new).read_bytes()

    plain = template.format(*[""] * template.count("{}"))
    Path(f"old.{ending}").write_bytes(plain.encode(encoding))
    new = write_links(lines, f"old.{ending}", f"new.{ending}")
    assert new.decode(encoding) == template.format(*parts_of(lines))
    fewer = ["1-1", *[""] * (len(lines) - 1)]
    write_links(fewer, f"new.{ending}", f"again.{ending}")
    assert write_links(lines, f"again.{ending}", f"same.{ending}") == new


def test_python_puts_links_into_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.tmx").write_text(TMX.format("", ""))
    Path("links").write_text("0-0 1-1\n0-0\n")
    na.convert("links", "new.tmx", format="pharaoh", to="tmx", source="old.tmx", select=("en", "fr"))
    na.convert("new.tmx", "again", format="tmx", to="pharaoh", select=("en", "fr"))
    assert Path("again").read_text() == "0-0 1-1\n0-0\n"
    with pytest.raises(na.DataError, match="expected links, as `nmtalign convert"):
        na.convert("old.tmx", "again", format="tmx", to="pharaoh", select=("en", "fr"))
    with pytest.raises(na.UsageError, match="there is none; remove it"):
        na.convert("links", "again", format="pharaoh", to="talp", select=("en", "fr"))
    with pytest.raises(na.UsageError, match="which `source` names"):
        na.convert("links", "new.tmx", format="pharaoh", to="tmx")


def test_a_file_in_which_there_is_no_room_for_links_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("page.xlf").write_text(FIRST_VERSION.format("", ""))
    Path("links").write_text("0-9\n\n0-0\n")
    os.mkfifo("pipe")
    for options, code, told in [
        (
            ["links", "--to", "tmx", "--source", "page.xlf"],
            3,
            "expected a file with the root element <tmx>",
        ),
        (["links", "--to", "xliff"], 2, "--to xliff copies a file with both sides, which --source names"),
        (["links", "--to", "xliff", "--source", "page.xlf", "--invert"], 2, "without --target and --invert"),
        (["links", "--to", "xliff", "--source", "page.xlf"], 3, "link 0-9 is outside a pair of 2 source"),
        (["page.xlf", "--from", "xliff", "--to", "talp"], 3, "page.xlf: expected links, as"),
        (["-", "--from", "xliff", "--to", "talp"], 2, "-: expected a file, which is read twice, not a pipe"),
        (["links", "--to", "xliff", "--source", "pipe"], 2, "pipe: expected a file, which is read twice"),
    ]:
        assert run("convert", *options, "-o", "out.xlf") == code
        assert told in capsys.readouterr().err
    assert not Path("out.xlf").exists()
    line = ["convert", "links", "--to", "xliff", "--source", "page.xlf", "--on-error", "skip-marked"]
    assert run(*line, "-o", "out.xlf") == 0
    assert Path("out.xlf").read_text() == FIRST_VERSION.format("", ATTRIBUTE.format("0-0"))


def test_links_in_the_second_version_have_the_namespace_and_identifiers_of_their_own(tmp_path):
    file, links, new = tmp_path / "old.xlf", tmp_path / "links", tmp_path / "new.xlf"
    prefixed = re.sub("<(/?)(?=[a-z])", r"<\1x:", SECOND_VERSION.format(*[""] * 4))
    file.write_text(prefixed.replace("<x:xliff", '<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0"'))
    for lines in ("\n0-0\n", "1-1\n0-0\n"):  # the first pair gets links after the second one
        links.write_text(lines)
        na.convert(links, new, format="pharaoh", to="xliff", source=file)
        file.write_text(new.read_text())
    namespace = "{urn:oasis:names:tc:xliff:document:2.0}"
    marks = list(ElementTree.parse(new).iter(f"{namespace}mrk"))
    assert [(mark.get("id"), mark.get("value")) for mark in marks] == [("links-1", "1-1"), ("links-2", "0-0")]
    na.convert(new, links, format="xliff", to="pharaoh")
    assert links.read_text() == "1-1\n0-0\n"


@pytest.mark.filterwarnings("ignore:.*without a translation")
@pytest.mark.parametrize(
    ("ending", "text", "line"),
    [
        ("tmx", TMX.format("<prop type='x-alignment:en:fr'/>", ""), "1-1"),
        (
            "xlf",
            FIRST_VERSION.format("", "").replace("<target/>", f"<target{ATTRIBUTE.format('0-0')}/>"),
            "1-1",
        ),
        ("xlf", SECOND_VERSION.format(MARK.format(1, "").replace(">", "/>"), "", "", ""), "1-1"),
    ],
)
def test_links_are_put_into_empty_elements(ending, text, line, tmp_path):
    old, links, new = tmp_path / f"old.{ending}", tmp_path / "links", tmp_path / f"new.{ending}"
    old.write_text(text)
    kind = "tmx" if ending == "tmx" else "xliff"
    select = ("en", "fr") if kind == "tmx" else None
    pairs = list(na.read_bitext(old, select=select))
    lines = [line, *["" for _ in pairs[1:]]]
    links.write_text("".join(f"{line}\n" for line in lines))
    na.convert(links, new, format="pharaoh", to=kind, source=old, select=select)
    na.convert(new, links, format=kind, to="pharaoh", select=select)
    assert links.read_text().splitlines() == lines
    assert list(na.read_bitext(new, select=select)) == pairs


def test_tags_are_put_into_targets_with_links(tmp_path, capsys):
    file, links = tmp_path / "page.xlf", tmp_path / "links"
    text = SECOND_VERSION.format(MARK.format(1, "0-0 1-1"), "</mrk>", "", "")
    text = text.replace("a cat", 'a <pc id="1">cat</pc>').replace('<pc id="1">chat</pc>', "chat")
    file.write_text(text)
    links.write_text("0-0 1-1\n0-0\n")
    assert run("project", "--pairs", file, links) == 0
    captured = capsys.readouterr()
    assert captured.out == text.replace("un chat", 'un <pc id="1">chat</pc>')
    assert "tags of 1 segment" in captured.err


def test_links_of_other_languages_are_told_from_none(tmp_path, capsys):
    file = tmp_path / "page.tmx"
    prop = '<prop type="x-alignment:en:fr">{}</prop>'
    file.write_text(TMX.format(prop.format("0-0"), ""))
    assert run("convert", file, "--from", "tmx", "--to", "pharaoh", "--sides", "fr,en") == 3
    expected = "found no prop x-alignment:fr:en; --sides names the languages in its order"
    assert expected in capsys.readouterr().err
    file.write_text(TMX.format(prop.format("0-9"), ""))
    assert run("convert", file, "--from", "tmx", "--to", "pharaoh", "--sides", "en,fr") == 3
    assert re.search(r"page.tmx, line \d+: pair 1: link 0-9 .*; put the links", capsys.readouterr().err)


def test_links_of_another_text_or_unit_are_not_put_into_a_file(tmp_path, capsys):
    file, links, batch = tmp_path / "page.tmx", tmp_path / "links.jsonl", tmp_path / "batch.npz"
    file.write_text(TMX.format("", ""))
    line = ["--to", "tmx", "--sides", "en,fr", "--source", file, "-o", tmp_path / "new.tmx"]
    for source, code in [("A cat", 0), ("a dog", 3)]:
        na.load().align_batch([(source, "un chat"), ("dog", "chien")]).save(batch)
        assert run("convert", batch, *line) == code
    assert "pair 1: expected links of 'a cat', found links of 'a dog'" in capsys.readouterr().err
    links.write_text('{"links": [[0, 0]], "unit": "pieces"}\n{"links": [], "unit": "pieces"}\n')
    assert run("convert", links, "--from", "jsonl", *line) == 3
    expected = "pair 1: expected links of space-separated words, found links of pieces"
    assert expected in capsys.readouterr().err


def test_the_command_says_what_it_did(tmp_path, capsys):
    file, links = tmp_path / "page.xlf", tmp_path / "links"
    units = [UNITS[name][0] for name in ("plain target", "target with tags")]
    text = XLIFF.format(encoding="utf-8", units='</trans-unit><trans-unit id="2">'.join(units))
    file.write_text(text, encoding="utf-8")
    links.write_text("0-0\n\n", encoding="utf-8")
    assert run("project", "--pairs", file, links) == 0
    err = capsys.readouterr().err
    assert "tags of 1 segment" in err
    assert "tags of their own, which were not changed: 1" in err
    assert "1 annotation has no linked word" in err
    links.write_text("0-0\n", encoding="utf-8")
    assert run("project", "--pairs", file, links) == 3
    (tmp_path / "pairs.tsv").write_text("a\tb\n", encoding="utf-8")
    assert run("project", "--pairs", tmp_path / "pairs.tsv", links) == 2
    assert "expected --tags FILE, or a TMX or XLIFF file" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["<trans-unit>", "&nbsp;", "</body>", "<target>"])
def test_a_damaged_file_is_not_written_again(damage, tmp_path, capsys):
    file = tmp_path / "page.xlf"
    text = XLIFF.format(encoding="utf-8", units=UNITS["plain target"][0])
    file.write_text(text.replace("</source>", f"</source>{damage}"), encoding="utf-8")
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    output = tmp_path / "new.xlf"
    assert run("project", "--pairs", file, tmp_path / "links", "-o", output) == 3
    assert "page.xlf, line " in capsys.readouterr().err
    assert not output.exists()


def test_bytes_of_another_encoding_are_named_with_their_line(tmp_path, capsys):
    file = tmp_path / "page.xlf"
    text = XLIFF.format(encoding="utf-8", units=UNITS["plain target"][0])
    damaged = text.encode().replace(b"</source>", b"\xe9</source>")
    file.write_bytes(damaged)
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    line = damaged[: damaged.index(b"\xe9")].count(b"\n") + 1
    assert run("project", "--pairs", file, tmp_path / "links", "-o", tmp_path / "new.xlf") == 3
    assert (
        f"page.xlf, line {line}: expected utf-8 text, found the byte 0xe9" in capsys.readouterr().err.lower()
    )


def test_an_encoding_that_is_not_read_is_named_with_the_file(tmp_path, capsys):
    file = tmp_path / "page.xlf"
    file.write_text(XLIFF.format(encoding="shift_jis", units=UNITS["no tags"][0]), encoding="utf-8")
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    assert run("project", "--pairs", file, tmp_path / "links") == 3
    err = capsys.readouterr().err
    assert "page.xlf, line 1: expected a common encoding such as UTF-8, found 'shift_jis'" in err


def test_what_is_before_a_unit_is_passed_on_block_by_block(tmp_path):
    file = tmp_path / "page.xlf"
    text = XLIFF.format(encoding="utf-8", units=UNITS["plain target"][0])
    file.write_text(text.replace("<header>", "<header>" + "<y>z</y>" * 100_000), encoding="utf-8")
    limits = xml_files.XmlLimits("a unit", max_chars=1_000, max_depth=9)
    parts = list(xml_files.split_at_elements(file, {"trans-unit"}, limits, root="xliff"))
    assert b"".join(part.before + part.text for part in parts) == file.read_bytes()
    assert max(len(part.before) for part in parts) < 1 << 18
