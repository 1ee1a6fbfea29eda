"""The pairs that a picture or a page shows, with their gold links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import model_options
from nmtalign.cli.messages import warn
from nmtalign.cli.outputs import refuse_unknown_text
from nmtalign.cli.parameter_types import NumberList
from nmtalign.declarations import Settings, setting
from nmtalign.display import short_repr
from nmtalign.errors import BadRecords, DataError
from nmtalign.names import SubwordMarks, UnicodeForm, UnknownPolicy
from nmtalign.settings import EncoderSettings, WordSettings
from nmtalign.text.bitext import SentencePair

if TYPE_CHECKING:
    from nmtalign.external.matrix_files import GivenPair
    from nmtalign.report.chosen_pairs import CorpusRecord

RECORDS_PER_CHUNK = 200  # records whose words are counted together


@dataclass(frozen=True, kw_only=True)
class NoEncoderOptions(EncoderSettings):
    """The encoder of a model, which no option changes."""

    encoder: str | Path | None = setting(None)
    layer: int | None = setting(None)


@dataclass(frozen=True)
class TokenizerOptions(WordSettings):
    """The tokenizer; the model decides about the form of words."""

    lowercase: bool | None = setting(None)
    unicode: UnicodeForm | None = setting(None)


@dataclass(frozen=True, kw_only=True)
class ShownVectorOptions(model_options.AlignerVectorOptions):
    """Word vectors whose weights are shown."""

    unknown: UnknownPolicy | None = setting(None)


@dataclass(frozen=True, kw_only=True)
class ShownModelOptions(model_options.ModelOptions):
    """The aligner whose weights are shown, as it is."""

    scorers: str | None = setting(None)
    vectors: ShownVectorOptions
    encoder: NoEncoderOptions
    text: TokenizerOptions


@dataclass(frozen=True, kw_only=True)
class RecordOptions(Settings):
    """Which pairs, their gold links, and what aligns them: an aligner, or an archive of attention."""

    section = "Input"

    lines: tuple[int, ...] | None = setting(
        None, "--lines", "Use only these pairs, such as 3,7-9.", type=NumberList(1)
    )
    gold: str | None = setting(None, "--gold FILE", "File of gold links, one line per pair.", kind="input")
    attention: str | None = setting(
        None,
        "--attention FILE",
        "Show the words, links and weights that `links-from --attention` has written for this text.",
        kind="input",
    )
    options: ShownModelOptions

    @property
    def pieces(self) -> SubwordMarks | None:
        """The marks of the sub-words that were joined into the words of the archive."""
        from nmtalign.external.matrix_files import read_pairs_with_attention

        if self.attention is None:
            return None
        with closing(read_pairs_with_attention(self.attention)) as archived:
            first = next(archived, None)
        return None if first is None else first.pieces

    def open(
        self,
        bitext: Iterator[SentencePair],
        encoding: str,
        bad: BadRecords,
        systems: Mapping[str, str] | None = None,
        *,
        files: tuple[str | None, str | None] = (None, None),
        typed: bool = False,
    ) -> tuple[na.Aligner | None, Iterator[CorpusRecord]]:
        """Return the records, and the aligner if there is one.

        `systems` are files of links by name. The names of `files` may tell the languages of the text. Pairs
        that are `typed` are the lines of no file.
        """
        from nmtalign.aligner.opening import fit_text
        from nmtalign.report.chosen_pairs import read_corpus

        read = partial(
            read_corpus,
            gold=self.gold,
            others=systems,
            encoding=encoding,
            typed=typed,
            on_error=bad.add_to if bad.are_marked else None,
        )
        if self.attention is not None:
            self.options.refuse_beside_attention()
            bitext, again = tee(bitext)
            return None, read(bitext, given=_pairs_of_archive(self.attention, again))
        first_lines = list(islice(bitext, self.options.judged_pairs))
        aligner = self.options.load_for(first_lines, files)
        aligner, bitext = fit_text(aligner, chain(first_lines, bitext))
        return aligner, read(bitext)


def _pairs_of_archive(path: str, bitext: Iterable[SentencePair]) -> Iterator[GivenPair]:
    """Yield the pairs of an archive of attention; DataError unless it is one of this text."""
    from nmtalign.external.matrix_files import read_pairs_with_attention

    archived = read_pairs_with_attention(path)
    for number, lines in enumerate(bitext, 1):
        given = next(archived, None)
        if given is None:
            raise DataError(f"expected the attention of each pair, found none for pair {number:,}").at(path)
        if given.lines != tuple(lines):
            side = next(side for side, other in zip(lines, given.lines, strict=True) if side != other)
            made = "the archive was made of another text; make it again with `nmtalign links-from`"
            raise DataError(f"expected the attention of pair {number:,}, {short_repr(side)}; {made}").at(path)
        yield given
    if next(archived, None) is not None:
        raise DataError("expected one pair for each of the text, found more").at(path)


def read_to_end(
    records: Iterable[CorpusRecord],
    pairs: Iterator[SentencePair],
    all_records: Iterator[CorpusRecord],
    *,
    has_links: bool,
) -> Iterator[CorpusRecord]:
    """Yield the records to show, and read the others, as files of different lengths are noticed at their end.

    Without files of links, the `pairs` that the records are made of are enough, and are read faster.
    """
    yield from records
    deque(all_records if has_links else pairs, maxlen=0)


def pick_lines(records: Iterable[CorpusRecord], lines: Sequence[int]) -> Iterator[CorpusRecord]:
    """Yield the records that `lines` (sorted, from 1) names; read no further than the last."""
    wanted = iter(lines)
    line = next(wanted)
    number = 0
    for number, record in enumerate(records, 1):
        if number < line:
            continue
        yield record
        following = next(wanted, None)
        if following is None:
            return
        line = following
    missing = line
    raise DataError(f"--lines: pair {missing:,} is out of range for {number:,} pairs")


def with_unknown_words_warning(
    records: Iterable[CorpusRecord], aligner: na.Aligner | None, *, is_model_implicit: bool
) -> Iterator[CorpusRecord]:
    """Yield records; warn at the end if too few of their words are known for links that can be trusted.

    If no option names the model, raise a DataError instead.
    """
    from nmtalign.corpus.coverage import Coverage

    records, known = iter(records), Coverage()
    while chunk := list(islice(records, RECORDS_PER_CHUNK)):
        if aligner is not None:
            known = known.joined(aligner.measure_coverage([record.pair for record in chunk]))
            if is_model_implicit:
                refuse_unknown_text(known)
        yield from chunk
    if why := known.warning:
        warn(why)
