"""nmtalign demo: everything it promises is there, and its score is that of the README's commands."""

from __future__ import annotations

import pytest

from nmtalign.cli import main
from nmtalign.cli.commands import demo_command
from nmtalign.files.paths import bundled_path
from nmtalign.links.evaluation import evaluate
from nmtalign.links.formats import read_links
from nmtalign.links.gold import read_gold
from nmtalign.names import BUNDLED_VECTORS


def test_demo_writes_what_it_names(tmp_path, capsys, monkeypatch):
    sample = tmp_path / "sample"
    sample.mkdir()
    for path in bundled_path("en_fr_sample").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (sample / path.name).write_text("".join(lines[:100]), encoding="utf-8")
    folder_of = {"en_fr_sample": sample, BUNDLED_VECTORS: bundled_path(BUNDLED_VECTORS)}
    monkeypatch.setattr(demo_command, "bundled_path", folder_of.__getitem__)
    monkeypatch.setattr(demo_command, "LINES_IN_PDF", demo_command.LINES_IN_PDF[:2])
    with pytest.raises(SystemExit) as caught:
        main(["demo", "-o", str(tmp_path / "out")])
    assert not caught.value.code
    out = capsys.readouterr().out
    for name in demo_command._DESCRIPTION_OF_FILE:
        assert (tmp_path / "out" / name).stat().st_size > 0
        assert name in out
    golds = list(read_gold(sample / "gold.pharaoh"))
    result = evaluate(list(read_links(tmp_path / "out" / "links.txt")), golds)
    assert f"{100 * result.aer:.2f}" in out
    assert result.aer < 0.3
    assert (tmp_path / "out" / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "out" / "heatmap.svg").read_text(encoding="utf-8")
    assert "combined: the weights that links are chosen from" in svg
    assert (tmp_path / "out" / "heatmaps.pdf").read_bytes().startswith(b"%PDF")
