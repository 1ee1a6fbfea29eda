"""The texts that a command reads: SOURCE and TARGET, or ``--pairs``, how words are cut, LINKS."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import nmtalign as na
from nmtalign.cli import declare
from nmtalign.cli.declare import INPUT, Option, OptionGroup, Values, Whole, argument, option
from nmtalign.errors import DataError, UsageError
from nmtalign.files import check_encoding, side_by_side
from nmtalign.names import PAIR_FORMATS, SIDES, TOKENIZERS, UNICODE_FORMS

if TYPE_CHECKING:
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings


class TwoNames(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """Two names like ``en,fr``, whatever `wanted` calls them."""

    name = "names"

    def __init__(self, wanted: str, *, distinct: bool = False) -> None:
        self._wanted, self._distinct = wanted, distinct

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> tuple[str, str]:
        names = [name.strip(" ") for name in str(value).split(",")]
        if len(names) != 2 or not all(names) or (self._distinct and names[0] == names[1]):
            option = "the value" if param is None else param.opts[0]
            raise UsageError(f"{option} wants {self._wanted}; found {value!r}")
        return names[0], names[1]


_SIDES = TwoNames("two names like 1,2 or en,fr")
LANGUAGES = TwoNames("two different languages like en,fr", distinct=True)
langs_option = option("--langs XX,YY", LANGUAGES, "Source and target language.  [where known]")
max_length_option = option("--max-length N", Whole(min=1), "Leave out pairs of more than N words on a side.")


def _keep_encoding(context: click.Context, parameter: click.Parameter, name: str) -> None:
    check_encoding(name)
    context.meta[__name__] = name


_ENCODING = "Encoding of every text file that is read."
_KEPT: Any = {"default": "utf-8", "expose_value": False, "callback": _keep_encoding}
encoding_option = option("--encoding NAME", str, _ENCODING, **_KEPT)


def _keep_any_encoding(context: click.Context, parameter: click.Parameter, name: str) -> None:
    context.meta[__name__] = name


_OF_VECTORS: Any = {**_KEPT, "callback": _keep_any_encoding}
#: Files of vectors may also have an encoding such as UTF-16; their reader checks the name.
vector_encoding_option = option("--encoding NAME", str, _ENCODING, **_OF_VECTORS)


def encoding() -> str:
    """Return the value of --encoding of the command that runs."""
    return str(click.get_current_context().meta.get(__name__, "utf-8"))


class PairsOptions(Values):
    """One file with both sides."""

    def open(self, on_error: Callable[[DataError], None] | None = None) -> Iterator[SentencePair] | None:
        """Yield the sentence pairs; None where no file was named."""
        if self.pairs is None:
            if self.sides is not None or self.pairs_format != "auto":
                raise UsageError("--sides and --pairs-format are for one file with both sides: --pairs FILE")
            return None
        reading: Any = {"format": self.pairs_format, "select": self.sides, "encoding": encoding()}
        return iter(na.read_bitext(self.pairs, on_error=on_error, **reading))


class BitextOptions(PairsOptions):
    """Two files, or one with both sides."""

    @property
    def files(self) -> list[str]:
        """The files that were named."""
        return [path for path in (self.source, self.target, self.pairs) if path is not None]

    def open(self, on_error: Callable[[DataError], None] | None = None) -> Iterator[SentencePair]:
        """Yield the sentence pairs of two files, or of one with both sides."""
        pairs = super().open(on_error)
        if pairs is not None and self.source is None:
            return pairs
        if pairs is not None or self.source is None or self.target is None:
            raise UsageError("expected SOURCE and TARGET, or --pairs FILE")
        for name in (self.source, self.target):
            if " " in name.strip() and not os.path.exists(name):
                found = f"expected the name of a file, found {name[:80]!r}, which is none"
                raise UsageError(f"{found}; `nmtalign heatmap` takes two sentences, other commands two files")
        return iter(na.read_bitext(self.source, self.target, on_error=on_error, encoding=encoding()))


_pairs = (
    "Input",
    option("--pairs", INPUT, "One file with both sides, instead of two texts."),
    option("--pairs-format", ("auto", *PAIR_FORMATS), "Format of --pairs.", default="auto"),
    option("--sides A,B", _SIDES, "Source and target in --pairs: columns, keys or languages."),
    encoding_option,
)
pairs_options = OptionGroup("bitext", _pairs, kind=PairsOptions)
bitext_options = OptionGroup(
    "bitext",
    argument("source", INPUT, required=False),
    argument("target", INPUT, required=False),
    _pairs,
    kind=BitextOptions,
)


class Tokenizer(click.Choice[str]):
    """The name of a tokenizer, with the files of its models where it has any."""

    def __init__(self) -> None:
        super().__init__(TOKENIZERS)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, files = value.partition(":")
        if kind != "sentencepiece" or not colon:
            return super().convert(value, param, ctx)
        declare.check_paths(files.split(","), INPUT, param, ctx)
        return value


class TextOptions(Values):
    """How lines become words, and the form in which these are looked up."""

    def settings(self, default: TextSettings | None = None) -> TextSettings:
        """Return the settings of the library; what was not given is that of `default`."""
        from nmtalign.text.tokenization import TextSettings

        names = {field.name for field in fields(TextSettings)}
        given = {name: value for name, value in self.given.items() if name in names}
        return replace(default or TextSettings(), **given)


def word_choices(lowercase: str, unicode: str) -> Option:
    """Return the options of the form of words; their defaults, as the help shows them."""
    return (
        option("--lowercase/--no-lowercase", bool, f"Take words in lower case.  {lowercase}"),
        option("--unicode", UNICODE_FORMS, f"Unicode normal form of the words.  {unicode}"),
    )


def text_choices(tokenizer: str, lowercase: str, unicode: str) -> Option:
    """Return the options of :class:`TextOptions`; their defaults, as the help shows them."""
    help = f"How lines become words.  {tokenizer}"
    return option("--tokenizer", Tokenizer(), help), word_choices(lowercase, unicode)


text_options = OptionGroup(
    "tokenization", "Input", text_choices("[space]", "[yes]", "[nfc]"), kind=TextOptions
)


def languages_of_files(source: str | None, target: str | None) -> tuple[str, str]:
    """Return ``en, fr`` for files like train.en.gz and train.fr.gz, else ``source, target``."""
    endings = [re.search(r"\.([a-z]{2,3})(\.(gz|bz2|xz|zst))?$", path or "") for path in (source, target)]
    names = [match.group(1) for match in endings if match]
    return (names[0], names[1]) if len(set(names)) == 2 else ("source", "target")


# --- words and their links ----------------------------------------------------------------------

ADVICE = "links count words between spaces: give the text that was aligned, or what align --tokens wrote"


class LinkedPair(NamedTuple):
    """A sentence pair as it stands in the files, its words, and their links."""

    pair: SentencePair
    source: list[str]
    target: list[str]
    links: na.Alignment


class LinkedOptions(TextOptions):
    """Two texts and the links of their words."""

    @property
    def files(self) -> list[str]:
        """The files that were named."""
        return [path for path in (self.source, self.target, self.links) if path is not None]

    @property
    def text(self) -> TextSettings:
        """What cuts the texts: at spaces, words as they stand, unless an option gives their form."""
        from nmtalign.text.tokenization import SPACES

        return self.settings(SPACES)

    def read(self) -> Iterator[LinkedPair]:
        """Yield the sentence pairs with their links, one for each line of all three files."""
        from nmtalign.links.formats import read_links

        if self.source is None or self.target is None or self.links is None:
            raise UsageError("expected three files: SOURCE TARGET LINKS")
        text, pairs = self.text, na.read_bitext(self.source, self.target, encoding=encoding())
        columns = pairs, read_links(self.links, encoding=encoding())
        for number, (pair, links) in enumerate(side_by_side(columns, (self.source, self.links)), 1):
            words = text.words_of_pair(pair)
            try:
                checked = na.Alignment(links, *map(len, words))
            except DataError as error:
                raise DataError(f"{error}; {ADVICE}").at(self.links, line=number) from None
            yield LinkedPair(pair, *words, checked)


_cut = ("Input", word_choices("[no]", "[none]"), encoding_option)
cut_options = OptionGroup("cut", _cut, kind=TextOptions)


def linked_options(*, required: bool = True) -> OptionGroup:
    """Return the arguments and options of a command; it may do without, if they are not `required`."""
    arguments = (argument(name, INPUT, required=required) for name in (*SIDES, "links"))
    return OptionGroup("linked", *arguments, _cut, kind=LinkedOptions)
