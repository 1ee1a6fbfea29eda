"""The panel "What is wrong with this text" of a report, which needs no script."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from nmtalign.checks.checking import FINDING_COLUMNS
from nmtalign.checks.findings import KINDS
from nmtalign.display import with_plural
from nmtalign.errors import UsageError
from nmtalign.report.style import visible

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN_LINES_PER_KIND = 10
_PLACE = '<section id="pairs"'  # the panel comes before the pairs
_PANEL = """<details id="text-findings" open>
<summary><h2>What is wrong with this text</h2> <span>{headline}</span></summary>
<ul>
{items}
</ul>
</details>
"""


def add_findings(page: str, findings: pd.DataFrame | None) -> str:
    """Return a page with the panel of the findings of :func:`nmtalign.check`; unchanged if there are none."""
    if findings is None or len(findings) == 0:
        return page
    if not set(FINDING_COLUMNS) <= set(findings.columns):
        columns = ", ".join(map(str, findings.columns))
        raise UsageError(f"expected `findings` as nmtalign.check returns them, found the columns {columns}")
    before, place, after = page.partition(_PLACE)
    return f"{before}{_panel(findings)}{place}{after}"


def _panel(findings: pd.DataFrame) -> str:
    errors = int((findings["severity"] == "error").sum())
    headline = f"{with_plural(errors, 'error')} and {with_plural(len(findings) - errors, 'hint')}"
    groups = dict(list(findings.groupby("kind", sort=False)))
    known = [kind for kind in KINDS if kind in groups]
    known.sort(key=lambda kind: KINDS[kind].severity)  # errors before hints
    items = "\n".join(_item(kind, groups[kind]) for kind in known)
    return _PANEL.format(headline=headline, items=items)


def _item(kind: str, group: pd.DataFrame) -> str:
    """Return the item of a kind: the number of findings, their first lines, and what to do."""
    places = [f"{line:,}" for line in group["line"].head(MAX_SHOWN_LINES_PER_KIND)]
    lines = ", ".join(places) + (", ..." if len(group) > MAX_SHOWN_LINES_PER_KIND else "")
    what = KINDS[kind]
    text = f"{what.severity}: {what.plural}: {len(group):,} (lines {lines}); {what.advice.replace('`', '')}"
    return f"<li>{html.escape(visible(text))}</li>"
