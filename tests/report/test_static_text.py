"""What a report says without its script: the panel of what is wrong with the text, and a summary."""

from __future__ import annotations

import html
import re

import pandas as pd
import pytest

import nmtalign as na
from nmtalign.checks.findings import Finding
from nmtalign.report.html import findings_panel, report_page
from nmtalign.report.page_content import SamplePair
from tests.cli.running import run
from tests.text.test_slips import write


def test_the_panel_lists_errors_first_and_escapes_them():
    findings = na.check([("a", "b"), ("", ""), ("it &apos;s", "c"), ("d &apos;s", "e")])
    panel = findings_panel(findings)
    rows = zip(findings["line"], findings["side"], findings["kind"], findings["value"], strict=True)
    assert findings_panel([Finding(line - 1, *rest) for line, *rest in rows]) == panel
    assert "What is wrong with this text" in panel
    assert "2 errors and 1 hint" in panel
    assert panel.index("error: Moses escapes such as &amp;apos;: 2 (lines 3, 4)") < panel.index(
        "hint: pairs without"
    )


def test_without_findings_there_is_no_panel():
    assert findings_panel(None) == ""
    assert findings_panel(na.check([("a", "b")])) == ""


def test_other_tables_are_refused():
    with pytest.raises(na.UsageError, match="expected `findings` as"):
        findings_panel(pd.DataFrame({"a": [1]}))


def test_a_report_has_the_panel_only_if_something_is_wrong(tmp_path):
    report = tmp_path / "report.html"
    assert run("report", *write(tmp_path, ["the house"], ["la maison"]), "-o", report) == 0
    assert "What is wrong with this text" not in report.read_text(encoding="utf-8")
    assert run("report", *write(tmp_path, ["the\thouse"], ["la maison"]), "-o", report) == 0
    assert "tabs inside lines: 1 (line 1)" in report.read_text(encoding="utf-8")


def test_a_page_says_as_text_what_it_has():
    aligner = na.load()
    pairs = [aligner.align("the black cat", "le chat noir"), aligner.align("<b>", "&")]
    pairs *= 5
    shown = list(map(SamplePair, range(1, 11), pairs))
    page = report_page(shown, about="a.en, a.fr · <model>", date="2026-11-29")
    head = re.search('<p id="about">(.*)</p>', page)[1]
    assert head.startswith(
        "English → French · a.en, a.fr · &lt;model&gt; · 10 pairs · expected alignment error "
    )
    assert head.endswith(", without gold links · 2026-11-29")
    static = re.search('<section id="static".*?</section>', page, re.DOTALL)[0]
    assert "<li>Pairs shown: 10</li>" in static
    assert f"Settings: {html.escape(aligner.description)}" in static
    sentences = '<p dir="auto">the black cat</p><p dir="auto">le chat noir</p>'
    assert f"{sentences}<p>the – le, black – noir, cat – chat" in static
    assert "&lt;" in static
    assert "<b>" not in static
    assert "expected alignment error" not in report_page(list(map(SamplePair, (1, 2), pairs)))
