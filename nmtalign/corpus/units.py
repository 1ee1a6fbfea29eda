"""The unit of links: what their positions count, for an aligner that links words or tokens.

An aligner links tokens. These become the space-separated words of a line (`EncodedText.line_words`), and here
words become the pieces of a translation program, or tokens become tokens with the spaces between them: each
link is expanded to all pieces of both words. Lines of sub-words are joined into words before the alignment.

Axes: N sentence pairs, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nmtalign.arrays import AnyArray
from nmtalign.corpus.regrouping import (
    BothPieceLines,
    BothRegroupings,
    into_pieces,
    of_sentence,
    regroup_batch,
    regroup_links,
    regroup_pair,
    regroup_values,
)
from nmtalign.errors import DataError, UsageError
from nmtalign.files.paths import unreadable_file_error
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothTexts,
    BothWords,
    Link,
    WordsInText,
    links_inside,
)
from nmtalign.links.selection import ANY_LINKS, OneLink
from nmtalign.names import LINK_UNITS, SUBWORD_MARKS, LinkUnitName, SubwordMarks
from nmtalign.text.bitext import Pair, SentencePair, is_line_pair, tokens_of
from nmtalign.text.containers import DocWords
from nmtalign.text.subwords import (
    PieceLine,
    check_space_mark,
    join_marked,
    load_segmenter,
    lossless_tokens,
    segment_line,
)
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings
from nmtalign.validation import check_choice, check_type


class PairToAlign(SentencePair):
    """A sentence pair on its way to the aligner, with what belongs to it.

    The pair is still a tuple of two lines, so that it can be read, split into tokens and sent to a worker
    like any other. The other parts are set when it is made, and do not change.
    """

    expert_links: frozenset[Link] | None = None  # the links of an expert, if there is one
    subword_lines: SentencePair | None = None  # the lines of sub-words that were joined into these lines

    def __new__(
        cls,
        source: Any,
        target: Any,
        *,
        expert_links: frozenset[Link] | None = None,
        subword_lines: SentencePair | None = None,
    ) -> PairToAlign:
        pair = super().__new__(cls, source, target)
        pair.expert_links = expert_links
        pair.subword_lines = subword_lines
        return pair

    def _replace(self, **sides: str) -> PairToAlign:
        """Return the pair with another line on a side, and with all that belongs to the pair."""
        source, target = super()._replace(**sides)
        return PairToAlign(source, target, expert_links=self.expert_links, subword_lines=self.subword_lines)


def expert_links_of(pair: object) -> frozenset[Link] | None:
    """Return the links of an expert that a pair carries; None without an expert."""
    return pair.expert_links if isinstance(pair, PairToAlign) else None


def _subword_lines_of(pair: tuple[str, str]) -> SentencePair | None:
    """Return the lines of sub-words that a pair was joined from; None for a pair that was not joined."""
    return pair.subword_lines if isinstance(pair, PairToAlign) else None


@dataclass(frozen=True)
class LinkUnit:
    """What positions count, and where the pieces of the words come from; made by :func:`link_unit`.

    ===========================  ================  =====================  =========================
    settings                     `name`            the aligner links      positions count
    ===========================  ================  =====================  =========================
    none                         ``words``         words                  words
    ``count=tokens``             ``tokens``        tokens                 tokens
    ``pieces=bpe``               ``words``         joined sub-words       joined sub-words
    ... with ``count=pieces``    ``pieces``        joined sub-words       sub-words of the lines
    ``spm=FILE``                 ``pieces``        words                  sub-words by the model
    ``spaces=MARK``              ``tokens``        tokens                 tokens and spaces
    ===========================  ================  =====================  =========================

    Words are separated by spaces; the text settings of the aligner split lines into tokens. An aligner always
    links tokens inside: "the aligner links words" means that the links of tokens become links of words.
    """

    name: LinkUnitName = "words"
    marks: SubwordMarks | None = None  # marks of lines that consist of sub-words
    models: tuple[str, str] | None = None  # sub-word models of source and target
    spaces: str | None = None  # the mark of spaces in lossless tokens

    @property
    def aligned_unit(self) -> Literal["words", "tokens"]:
        """What the aligner links, before the links are expanded."""
        return "tokens" if self.name == "tokens" else "words"

    @property
    def expands(self) -> bool:
        """Whether links are expanded to pieces, or to lossless tokens."""
        return self.name == "pieces" or self.spaces is not None

    @property
    def is_plain(self) -> bool:
        """Whether positions count the words of the lines as they were given."""
        return self == LinkUnit()

    def prepare_pairs(
        self,
        pairs: Iterable[Any],
        text_settings: TextSettings,
        languages: Languages = (None, None),
        *,
        first: int = 0,
    ) -> Iterator[Any]:
        """Yield the pairs to align: sub-words joined, and links of an expert as links of words or tokens.

        Positions in the links of an expert count what positions in the result count. If a model of sub-words
        splits raw lines (`spm`), they count the words of these lines. A DataError counts pairs from `first`.
        """
        for number, pair in enumerate(pairs, first):
            try:
                yield self._prepared(pair, text_settings, languages)
            except DataError as error:
                raise error.at(f"pair {number:,}") from None

    def _prepared(self, pair: Any, text_settings: TextSettings, languages: Languages) -> Any:
        expert_links = expert_links_of(pair)
        if self.marks is None and expert_links is None:
            return pair
        if expert_links and self.expands and self.models is None:
            expert_links = _from_pieces(expert_links, self.piece_lines(pair, text_settings, languages))
        if self.marks is None:
            return PairToAlign(pair[0], pair[1], expert_links=expert_links)
        return self._joined(pair, expert_links)

    def given_lines(self, pair: tuple[str, str]) -> tuple[str, str]:
        """Return the lines that a prepared pair was made of."""
        return _subword_lines_of(pair) or pair

    def _joined(self, pair: tuple[str, str], expert_links: frozenset[Link] | None = None) -> PairToAlign:
        """Return a pair of lines of sub-words with their words."""
        assert self.marks is not None
        source, target = (" ".join(join_marked(line, self.marks)[0]) for line in pair)
        subword_lines = SentencePair(pair[0], pair[1])
        return PairToAlign(source, target, expert_links=expert_links, subword_lines=subword_lines)

    @property
    def expert_unit(self) -> LinkUnitName:
        """What positions in the links of an expert count."""
        return "words" if self.models is not None else self.name

    def expert_words(
        self, pair: tuple[str, str], text_settings: TextSettings, languages: Languages = (None, None)
    ) -> tuple[list[str], list[str]]:
        """Return the words, tokens or pieces that an expert counts in a pair that is not prepared."""
        if self.models is not None:
            return SPACE_SETTINGS.words_of_pair(pair)
        return self.tokens_for_translation(pair, text_settings, languages)

    def convert(
        self,
        batch: AlignedBatch,
        line_words: BothRegroupings | None,
        piece_lines: Sequence[BothPieceLines],
        *,
        one_link: OneLink,
    ) -> AlignedBatch:
        """Return links of the unit from links of tokens: tokens become words, and these become pieces.

        `line_words` has the words of the tokens, None if each token is a word. `piece_lines` has the pieces
        of both lines of each pair; it is read only if links are expanded. `one_link` is that of the
        extraction; it holds for words, each of whose links becomes links of all of their pieces.
        """
        if self.aligned_unit == "words":
            batch = regroup_batch(batch, line_words, one_link=one_link)
        if not self.expands:
            return batch
        return regroup_batch(batch, into_pieces(piece_lines), one_link=ANY_LINKS)

    def convert_values(
        self,
        values: str,
        weights: AnyArray,
        pair: Pair,
        line_words: BothRegroupings | None,
        piece_lines: BothPieceLines | None,
        n: int,
    ) -> AnyArray:
        """Return one kind of values of pair `n` of a text from the values of its tokens.

        `line_words` has the words of the tokens of the whole text. Without `piece_lines`, those of the pair,
        the values are not expanded to pieces.
        """
        if self.aligned_unit == "words" and line_words is not None and is_line_pair(pair):
            source, target = SPACE_SETTINGS.words_of_pair(pair)
            shape = len(target), len(source)
            weights = regroup_values(values, weights, of_sentence(line_words, n), shape)
        if piece_lines is None:
            return weights
        shape = len(piece_lines[1].pieces), len(piece_lines[0].pieces)
        return regroup_values(values, weights, into_pieces([piece_lines]), shape)

    def expanded(
        self,
        aligned: AlignedPair,
        pair: Any,
        text_settings: TextSettings,
        languages: Languages = (None, None),
    ) -> AlignedPair:
        """Return an aligned pair of the words or tokens of a pair, expanded to pieces if links are."""
        if not self.expands:
            return aligned
        piece_lines = self.piece_lines(pair, text_settings, languages)
        pieces = tuple(piece_lines[0].pieces), tuple(piece_lines[1].pieces)
        return regroup_pair(aligned, into_pieces([piece_lines]), pieces, one_link=ANY_LINKS)

    def piece_lines(
        self, pair: tuple[str, str], text_settings: TextSettings, languages: Languages = (None, None)
    ) -> BothPieceLines:
        """Return the pieces of both lines of a pair, if links are expanded; see :meth:`piece_line`."""
        source = self.piece_line(pair, 0, text_settings, languages)
        target = self.piece_line(pair, 1, text_settings, languages)
        return source, target

    def piece_line(
        self, pair: tuple[str, str], side: int, text_settings: TextSettings, languages: Languages
    ) -> PieceLine:
        """Return the pieces that positions count in the line of a side (0 or 1), if links are expanded.

        `text_settings` splits the lines into the tokens that are aligned.
        """
        if self.spaces is not None:
            spans = text_settings.tokenizer_of(side, languages[side]).spans(pair[side])
            return lossless_tokens(pair[side], spans, self.spaces)
        if self.marks is not None:
            subword_lines = _subword_lines_of(pair) or pair
            return join_marked(subword_lines[side], self.marks)[1]
        assert self.models is not None
        return segment_line(pair[side], load_segmenter(self.models[side]))

    def texts(
        self, pair: Any, text_settings: TextSettings, languages: Languages = (None, None)
    ) -> BothTexts | None:
        """Return the texts of both sides, and where the words that links count are in them.

        None is returned for lists of words, which have no text, and for sub-words.
        """
        if self.expands or self.marks is not None:
            return None
        source, target = pair[0], pair[1]
        if isinstance(source, DocWords) and isinstance(target, DocWords):
            return WordsInText(source.text, source.spans), WordsInText(target.text, target.spans)
        if not (isinstance(source, str) and isinstance(target, str)):
            return None
        settings = text_settings if self.name == "tokens" else SPACE_SETTINGS
        source_tokens, target_tokens = settings.tokens_of_pair((source, target), languages)
        source_spans = [(token.start, token.end) for token in source_tokens]
        target_spans = [(token.start, token.end) for token in target_tokens]
        return WordsInText(source, source_spans), WordsInText(target, target_spans)

    def words_of(
        self, pair: Any, text_settings: TextSettings, languages: Languages = (None, None)
    ) -> BothWords:
        """Return the words, tokens or pieces that positions count in a prepared pair."""
        if self.expands:
            source, target = self.piece_lines(pair, text_settings, languages)
            return tuple(source.pieces), tuple(target.pieces)
        return tokens_of(pair, text_settings if self.name == "tokens" else SPACE_SETTINGS, languages)

    def tokens_for_translation(
        self, pair: tuple[str, str], text_settings: TextSettings, languages: Languages = (None, None)
    ) -> tuple[list[str], list[str]]:
        """Return what positions count in a pair as a translation program reads it.

        Tokens of sentencepiece keep the marks of their spaces. The pair may have been prepared, or may be as
        it was given.
        """
        source = self.side_for_translation(pair, 0, text_settings, languages)
        target = self.side_for_translation(pair, 1, text_settings, languages)
        return source, target

    def side_for_translation(
        self, pair: tuple[str, str], side: int, text_settings: TextSettings, languages: Languages
    ) -> list[str]:
        """Return one side (0 or 1) of :meth:`tokens_for_translation`."""
        if self.expands:
            return self.piece_line(pair, side, text_settings, languages).pieces
        if self.marks is not None and _subword_lines_of(pair) is None:
            pair = self._joined(pair)
        settings = text_settings if self.name == "tokens" else SPACE_SETTINGS
        return settings.tokens_of_lines([pair[side]], side, languages[side])[0]


WORDS, TOKENS = LinkUnit(), LinkUnit("tokens")


def _from_pieces(links: Iterable[Link], piece_lines: BothPieceLines) -> frozenset[Link]:
    """Return the links of the words that linked pieces belong to."""
    source, target = into_pieces([piece_lines])
    lengths = len(piece_lines[0].pieces), len(piece_lines[1].pieces)
    inside = links_inside(links, *lengths)
    return regroup_links(inside, (source.inverse(lengths[0]), target.inverse(lengths[1])))


def link_unit(
    *,
    count: LinkUnitName | None = None,
    pieces: SubwordMarks | None = None,
    spm: str | Path | Sequence[str | Path] | None = None,
    spaces: str | None = None,
    writes_tokens: bool = False,
) -> LinkUnit:
    """Return the unit that settings name; UsageError if they cannot be combined.

    `spm` is a file, two names with a comma between, or a pair of files. `writes_tokens` says that the tokens
    are written next to the links, whose positions then count tokens by default.
    """
    for value, choices, what in (
        (count, LINK_UNITS, "units of links"),
        (pieces, SUBWORD_MARKS, "marks of sub-words"),
    ):
        if value is not None:
            check_choice(value, choices, what)
    if spaces is not None:
        check_space_mark(spaces)
        if count in ("words", "pieces") or pieces is not None or spm is not None:
            raise UsageError("with `spaces`, positions count tokens; pass `count=tokens`, or omit it")
        return LinkUnit("tokens", spaces=spaces)
    if spm is not None:
        if pieces is not None:
            advice = "`spm` splits raw lines, `pieces` says that lines are split already"
            raise UsageError(f"`spm` and `pieces` cannot be combined; remove one: {advice}")
        if count not in (None, "pieces"):
            raise UsageError(f"with `spm`, positions count pieces, found `count={count}`; omit `count`")
        models = _both_models(spm)
        for file in models:
            try:
                load_segmenter(file)  # a damaged model is refused before any pair is read
            except FileNotFoundError as error:
                raise unreadable_file_error(error) from None
        return LinkUnit("pieces", models=models)
    if count == "pieces" and pieces is None:
        advice = "`pieces=bpe` or `pieces=sentencepiece` for lines of sub-words, `spm=FILE` for raw lines"
        raise UsageError(f"`count=pieces` needs to know the pieces; pass {advice}")
    default: LinkUnitName = "tokens" if writes_tokens and pieces is None else "words"
    return LinkUnit(count or default, pieces)


def _both_models(spm: Any) -> tuple[str, str]:
    """Return the models of both sides; one is for both."""
    if isinstance(spm, str | Path):
        files = str(spm).split(",")
    else:
        check_type(spm, (list, tuple), "a sub-word model, or one for each side, as `spm`")
        files = [str(file) for file in spm]
    if len(files) > 2 or not all(files):
        raise UsageError(f"expected a sub-word model, or one for each side, as `spm`, found {spm!r}")
    return files[0], files[-1]
