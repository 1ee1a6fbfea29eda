"""What a report says without scripts: a summary as text, and what is wrong with the text."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nmtalign.checks.checking import FINDING_COLUMNS
from nmtalign.checks.findings import KINDS
from nmtalign.display import with_plural
from nmtalign.errors import UsageError
from nmtalign.report.sample import Figure, SamplePair
from nmtalign.report.style import visible

if TYPE_CHECKING:
    import pandas as pd

MAX_SHOWN_LINES_PER_KIND = 10
MAX_PAIRS_AS_TEXT = 3
MAX_WORDS_AS_TEXT = 40  # of a sentence, and links of a pair
_PANEL = """<details id="text-findings" open>
<summary><h2>What is wrong with this text</h2> <span>{headline}</span></summary>
<ul>
{items}
</ul>
</details>
"""


# --- summary -------------------------------------------------------------------------------------


def text_summary(pairs: Sequence[SamplePair], figures: Sequence[Figure], data: Mapping[str, Any]) -> str:
    """Return what a mail preview, or a browser without scripts, shows of a report; the script removes it.

    It has the figures, the settings, and the first pairs with their links in words.
    """
    told = [
        f"{figure.name}: {figure.value}" + (f" ({figure.note})" if figure.note else "") for figure in figures
    ]
    first = sorted(pairs, key=lambda pair: pair.line != data["example"])[:MAX_PAIRS_AS_TEXT]
    sides = " → ".join(data["names"]) if all(data["languages"]) else ""
    parts = [
        *([f"<p>{_escaped(sides)}</p>"] if sides else []),
        f"<ul>{''.join(f'<li>{_escaped(text)}</li>' for text in told)}</ul>",
        f"<p>Settings: {_escaped(data['settings'] or 'not recorded')}</p>",
        *map(_pair_as_text, first),
    ]
    return "\n".join(parts)


def _pair_as_text(pair: SamplePair) -> str:
    """Return the two sentences of a pair and its links, in words."""
    sides = pair.aligned.tokens
    sentences = [f'<p dir="auto">{_escaped(" ".join(_first_words(words)))}</p>' for words in sides]
    links = [f"{sides[0][s]} – {sides[1][t]}" for s, t in sorted(pair.aligned.links)]
    linked = _escaped(", ".join(_first_words(links)) or "no links")
    return f"<h3>Pair {pair.line}</h3>{''.join(sentences)}<p>{linked}</p>"


def _first_words(words: Sequence[str]) -> list[str]:
    return [*words[:MAX_WORDS_AS_TEXT], *(["…"] if len(words) > MAX_WORDS_AS_TEXT else [])]


def _escaped(text: str) -> str:
    return html.escape(visible(text))


# --- findings ------------------------------------------------------------------------------------


def findings_panel(findings: pd.DataFrame | None) -> str:
    """Return the panel of the findings of :func:`nmtalign.check`; empty if there are none."""
    if findings is None or len(findings) == 0:
        return ""
    if not set(FINDING_COLUMNS) <= set(findings.columns):
        columns = ", ".join(map(str, findings.columns))
        raise UsageError(f"expected `findings` as nmtalign.check returns them, found the columns {columns}")
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
    return f"<li>{_escaped(text)}</li>"
