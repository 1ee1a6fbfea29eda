"""Messages about the findings of a text: one line for each kind that occurs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nmtalign.cli.messages import log
from nmtalign.cli.texts import BitextOptions
from nmtalign.display import with_plural

if TYPE_CHECKING:
    from nmtalign.checks.counting import KindCount


def files_of_sides(bitext: BitextOptions) -> dict[str, str]:
    """Return the files of both sides, in whose lines findings are; nothing for one file with both sides."""
    if bitext.source is None or bitext.target is None:
        return {}
    return {"source": bitext.source, "target": bitext.target}


def unlinked_clause(count: int) -> str:
    """Return the clause of a closing line that counts the pairs without links."""
    return f"{with_plural(count, 'pair')} without links"


def log_findings(counts: Iterable[KindCount], bitext: BitextOptions) -> None:
    """Log one line for each kind of findings: the number, the first line, and what to do."""
    for count in counts:
        log(
            count.describe(files_of_sides(bitext)),
            event="finding",
            kind=count.kind,
            severity=count.severity,
            count=count.count,
            line=count.first.line + 1,
        )
