"""The arguments SOURCE and TARGET, or ``--pairs``: where the sentence pairs are."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli.options.declare import (
    INPUT,
    Decorator,
    Encoding,
    Values,
    Whole,
    check_paths,
    option,
    option_group,
    section,
)
from nmtalign.errors import DataError, UsageError
from nmtalign.names import PAIR_FORMATS, TOKENIZERS, UNICODE_FORMS

if TYPE_CHECKING:
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import TextSettings

Languages = tuple[str, str]


class TwoNames(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """Two names like ``en,fr``, whatever `wanted` calls them.

    Examples
    --------
    >>> TwoNames("two languages").convert("en, fr", None, None)
    ('en', 'fr')
    """

    name = "names"

    def __init__(self, wanted: str, *, distinct: bool = False) -> None:
        self._wanted, self._distinct = wanted, distinct

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Languages:
        names = [name.strip(" ") for name in str(value).split(",")]
        if len(names) != 2 or not all(names) or (self._distinct and names[0] == names[1]):
            option = "the value" if param is None else param.opts[0]
            raise UsageError(f"{option} wants {self._wanted}; found {value!r}")
        return names[0], names[1]


LANGUAGES = TwoNames("two different languages like en,fr", distinct=True)
langs_option = option("--langs", LANGUAGES, "Source and target language.  [where known]", metavar="XX,YY")

max_length_option = option(
    "--max-length", Whole(min=1), "Leave out pairs of more than N words on a side.", metavar="N"
)


encoding_option = option(
    "--encoding",
    Encoding(),
    "Encoding of every text file that is read.",
    default="utf-8",
    expose_value=False,
    callback=lambda context, parameter, value: context.meta.update({__name__: value}),
)


def text_encoding() -> str:
    """Return the value of --encoding of the command that runs."""
    return str(click.get_current_context().meta.get(__name__, "utf-8"))


class PairsOptions(Values):
    """One file with both sides."""

    def open(self, on_error: Callable[[DataError], None] | None = None) -> Iterator[SentencePair] | None:
        """Yield the sentence pairs; None where no file was named."""
        from nmtalign.text.bitext import read_bitext

        if self.pairs is None:
            if self.sides is not None or self.pairs_format != "auto":
                raise UsageError("--sides and --pairs-format are for one file with both sides: --pairs FILE")
            return None
        reading: Any = {"format": self.pairs_format, "select": self.sides, "encoding": text_encoding()}
        return iter(read_bitext(self.pairs, on_error=on_error, **reading))


class BitextOptions(PairsOptions):
    """Two files, or one with both sides."""

    @property
    def files(self) -> list[str]:
        """The files that were named."""
        return [path for path in (self.source, self.target, self.pairs) if path is not None]

    def open(self, on_error: Callable[[DataError], None] | None = None) -> Iterator[SentencePair]:
        """Yield the sentence pairs of two files, or of one with both sides."""
        from nmtalign.text.bitext import read_bitext

        pairs = super().open(on_error)
        if pairs is not None and self.source is None:
            return pairs
        if pairs is not None or self.source is None or self.target is None:
            raise UsageError("expected SOURCE and TARGET, or --pairs FILE")
        for name in (self.source, self.target):
            if " " in name.strip() and not os.path.exists(name):
                found = f"expected the name of a file, found {name[:80]!r}, which is none"
                raise UsageError(f"{found}; `nmtalign heatmap` takes two sentences, other commands two files")
        return iter(read_bitext(self.source, self.target, on_error=on_error, encoding=text_encoding()))


_pairs = (
    section("Input"),
    option("--pairs", INPUT, "One file with both sides, instead of two texts."),
    option("--pairs-format", ("auto", *PAIR_FORMATS), "Format of --pairs.", default="auto"),
    option(
        "--sides",
        TwoNames("two names like 1,2 or en,fr"),
        "Source and target in --pairs: columns, keys or languages.",
        metavar="A,B",
    ),
    encoding_option,
)
pairs_options = option_group("bitext", PairsOptions, *_pairs)
bitext_options = option_group(
    "bitext",
    BitextOptions,
    click.argument("source", type=INPUT, required=False),
    click.argument("target", type=INPUT, required=False),
    *_pairs,
)


class Tokenizer(click.Choice[str]):
    """The name of a tokenizer, with the files of its models where it has any."""

    def __init__(self) -> None:
        super().__init__(TOKENIZERS)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, files = value.partition(":")
        if kind != "sentencepiece" or not colon:
            return super().convert(value, param, ctx)
        check_paths(files.split(","), param, ctx)
        return value


class TextOptions(Values):
    """How lines become words, and the form in which these are looked up."""

    def settings(self, default: TextSettings | None = None) -> TextSettings:
        """Return the settings of the library; what was not given is that of `default`."""
        from nmtalign.text.tokenization import TextSettings

        names = {field.name for field in fields(TextSettings)}
        given = {name: value for name, value in self.given.items() if name in names}
        return replace(default or TextSettings(), **given)


def word_choices(lowercase: str, unicode: str) -> tuple[Decorator, ...]:
    """Return the options of the form of words with these lines of help."""
    return (
        option("--lowercase/--no-lowercase", bool, lowercase, default=None),
        option("--unicode", UNICODE_FORMS, unicode),
    )


def text_choices(tokenizer: str, lowercase: str, unicode: str) -> tuple[Decorator, ...]:
    """Return the options of :class:`TextOptions` with these lines of help."""
    return (option("--tokenizer", Tokenizer(), tokenizer), *word_choices(lowercase, unicode))


text_options = option_group(
    "tokenization",
    TextOptions,
    section("Input"),
    *text_choices(
        "How lines become words.  [space]",
        "Look words up in lower case.  [yes]",
        "Unicode normal form in which words are looked up.  [nfc]",
    ),
)


def languages_of_files(source: str | None, target: str | None) -> Languages:
    """Return ``en, fr`` for files like train.en.gz and train.fr.gz, else ``source, target``."""
    endings = [re.search(r"\.([a-z]{2,3})(\.(gz|bz2|xz|zst))?$", path or "") for path in (source, target)]
    names = [match.group(1) for match in endings if match]
    return (names[0], names[1]) if len(set(names)) == 2 else ("source", "target")
