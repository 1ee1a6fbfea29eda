"""The arguments SOURCE, TARGET and LINKS: links count the words between spaces of the texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from nmtalign.cli.options.bitext import TextOptions, encoding_option, text_encoding, word_choices
from nmtalign.cli.options.declare import INPUT, Decorator, option_group, section
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    from nmtalign.links.alignments import Alignment
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings

ADVICE = "links count words between spaces: give the text that was aligned, or what align --tokens wrote"


class LinkedPair(NamedTuple):
    """A sentence pair as it stands in the files, its words, and their links."""

    pair: SentencePair
    source: list[str]
    target: list[str]
    links: Alignment


class CutOptions(TextOptions):
    """The form of the words between spaces."""

    @property
    def text(self) -> TextSettings:
        """What cuts the texts: at spaces, words as they stand, unless an option gives their form."""
        from nmtalign.text.tokenization import SPACES

        return self.settings(SPACES)

    def words(self, source: str, target: str) -> Iterator[tuple[list[str], list[str]]]:
        """Yield the words of each pair of two texts."""
        from nmtalign.text.bitext import read_bitext

        text = self.text
        return (text.words_of_pair(pair) for pair in read_bitext(source, target, encoding=text_encoding()))


class LinkedOptions(CutOptions):
    """Two texts and the links of their words."""

    @property
    def files(self) -> list[str]:
        """The files that were named."""
        return [path for path in (self.source, self.target, self.links) if path is not None]

    def read(self) -> Iterator[LinkedPair]:
        """Yield the sentence pairs with their links, one for each line of all three files."""
        from nmtalign.files import side_by_side
        from nmtalign.links.alignments import Alignment
        from nmtalign.links.formats import read_links
        from nmtalign.text.bitext import read_bitext

        if self.source is None or self.target is None or self.links is None:
            raise UsageError("expected three files: SOURCE TARGET LINKS")
        text, encoding = self.text, text_encoding()
        pairs = read_bitext(self.source, self.target, encoding=encoding)
        columns = pairs, read_links(self.links, encoding=encoding)
        for number, (pair, links) in enumerate(side_by_side(columns, (self.source, self.links)), 1):
            words = text.words_of_pair(pair)
            try:
                checked = Alignment(links, *map(len, words))
            except DataError as error:
                raise DataError(f"{error}; {ADVICE}").at(self.links, line=number) from None
            yield LinkedPair(pair, *words, checked)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where the words of a source line begin and end."""
        return [(start, end) for _, start, end in self.text.tokens(line)]


_cut: tuple[Decorator, ...] = (
    section("Input"),
    *word_choices("Take words in lower case.  [no]", "Unicode normal form of words.  [none]"),
    encoding_option,
)
cut_options = option_group("cut", CutOptions, *_cut)


def linked_options(*, required: bool = True) -> Decorator:
    """Return the arguments and options of a command; it may do without, if they are not `required`."""
    names = ("source", "target", "links")
    arguments = (click.argument(name, type=INPUT, required=required) for name in names)
    return option_group("linked", LinkedOptions, *arguments, *_cut)
