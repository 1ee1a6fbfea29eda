"""nmtalign demo: everything it promises is there, and its score is that of the README's commands."""

from __future__ import annotations

import pytest

from nmtalign.cli import main
from nmtalign.cli.commands.demo_command import _DESCRIPTION_OF_FILE
from nmtalign.files.paths import bundled_path
from nmtalign.links.evaluation import evaluate
from nmtalign.links.formats import read_gold, read_links


def test_demo_writes_what_it_names(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["demo", "-o", str(tmp_path / "out")])
    assert not caught.value.code
    out = capsys.readouterr().out
    for name in _DESCRIPTION_OF_FILE:
        assert (tmp_path / "out" / name).stat().st_size > 0
        assert name in out
    golds = list(read_gold(bundled_path("en_fr_sample") / "gold.pharaoh"))
    result = evaluate(list(read_links(tmp_path / "out" / "links.txt")), golds)
    assert f"{100 * result.aer:.2f}" in out
    assert result.aer < 0.3
    assert (tmp_path / "out" / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "out" / "heatmap.svg").read_text(encoding="utf-8")
    assert "combined: the weights that links are chosen from" in svg
    assert (tmp_path / "out" / "heatmaps.pdf").read_bytes().startswith(b"%PDF")
