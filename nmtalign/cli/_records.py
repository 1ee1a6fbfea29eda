"""The options of `heatmap` and `report` that choose pairs of a bitext and where their weights come from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import tee
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli._lines import parse_lines, pick
from nmtalign.cli._matrices import MatrixOptions, check_unused, inspect_by_options, matrix_options
from nmtalign.cli._model_options import ModelOptions, load_aligner, model_options
from nmtalign.cli._types import INPUT

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair


@dataclass(frozen=True)
class RecordOptions:
    """What the user chose; ``None`` means not said."""

    pairs: str | None
    format: str
    lines: str | None
    gold: str | None
    given: MatrixOptions
    options: ModelOptions

    def open(
        self,
        bitext: Iterator[SentencePair],
        others: Mapping[str, str] | None = None,
        *,
        fit: bool = True,
    ) -> tuple[Aligner | None, Iterator[Record]]:
        """Return the aligner, none for attention of other programs, and the records of a bitext.

        Parameters
        ----------
        bitext : iterator of SentencePair
        others : dict of str to path, optional
            Links of other systems.
        fit : bool
            Fit transitions to the bitext, where the aligner has some to fit.
        """
        from nmtalign.aligner.fitting import fit_text, with_fit
        from nmtalign.report.corpus import read_corpus

        check_unused(self.given)
        if self.given.matrices is not None:
            bitext, again = tee(bitext)
            aligned = inspect_by_options(self.given, self.options, again)
            return None, read_corpus(bitext, gold=self.gold, others=others, aligned=aligned)
        aligner = load_aligner(self.options)
        if fit:
            found, bitext = fit_text(aligner, bitext)
            aligner = with_fit(aligner, found)
        return aligner, read_corpus(bitext, gold=self.gold, others=others)

    def chosen(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records that --lines names; all where it is left out."""
        if self.lines is None:
            return records
        return (record for _, record in pick(records, parse_lines(self.lines)))


_OPTIONS = (
    click.option("--pairs", type=INPUT, help="Take pairs from one file with both sides."),
    click.option("--format", metavar="NAME", default="auto", help="Form of --pairs.  [by its ending]"),
    click.option("--lines", metavar="LIST", help="These pairs only, like 3,7-9."),
    click.option("--gold", type=INPUT, help="Gold links, one line for each pair."),
)
_NAMES = ("pairs", "format", "lines", "gold", "given", "options")


def record_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command all options of :class:`RecordOptions`; it receives them as ``chosen``."""

    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        chosen = RecordOptions(**{name: arguments.pop(name) for name in _NAMES})
        return command(chosen=chosen, **arguments)

    decorated: Callable[..., Any] = matrix_options(model_options(collect))
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
