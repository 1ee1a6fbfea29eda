"""The panel of a report that lists what is wrong with the text."""

from __future__ import annotations

import pandas as pd
import pytest

import nmtalign as na
from nmtalign.report.text_findings import add_findings
from tests.cli.running import run
from tests.text.test_slips import write

PAGE = '<main><section id="pairs"></section></main>'


def test_the_panel_lists_errors_first_and_escapes_them():
    findings = na.check([("a", "b"), ("", ""), ("it &apos;s", "c"), ("d &apos;s", "e")])
    page = add_findings(PAGE, findings)
    panel, _, rest = page.partition('<section id="pairs"')
    assert rest == "></section></main>"
    assert "What is wrong with this text" in panel
    assert "2 errors and 1 hint" in panel
    assert panel.index("error: Moses escapes such as &amp;apos;: 2 (lines 3, 4)") < panel.index(
        "hint: pairs without"
    )


def test_without_findings_there_is_no_panel():
    assert add_findings(PAGE, None) == PAGE
    assert add_findings(PAGE, na.check([("a", "b")])) == PAGE


def test_other_tables_are_refused():
    with pytest.raises(na.UsageError, match="expected `findings` as"):
        add_findings(PAGE, pd.DataFrame({"a": [1]}))


def test_a_report_has_the_panel_only_if_something_is_wrong(tmp_path):
    report = tmp_path / "report.html"
    assert run("report", *write(tmp_path, ["the house"], ["la maison"]), "-o", report) == 0
    assert "What is wrong with this text" not in report.read_text(encoding="utf-8")
    assert run("report", *write(tmp_path, ["the\thouse"], ["la maison"]), "-o", report) == 0
    assert "tabs inside lines: 1 (lines 1)" in report.read_text(encoding="utf-8")
