"""The unit of links: what their positions count, for an aligner that links words or tokens.

An aligner links tokens. These become the space-separated words of a line (`line_words`), and here words
become the pieces of a translation program, or tokens become tokens with the spaces between them: each link is
expanded to all pieces of both words. Lines of sub-words are joined into words before they are aligned.

Axes: N sentence pairs, T target words, S source words.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Longs, Reals, offsets_of, positions_in_runs
from nmtalign.corpus.line_words import BothLineWords, links_of_words, merge_links, values_of_words
from nmtalign.errors import DataError, UsageError
from nmtalign.files.read_errors import unreadable_file_error
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    BothTexts,
    Link,
    WordsInText,
    links_inside,
)
from nmtalign.names import LINK_UNITS, SUBWORD_MARKS, LinkUnitName, SubwordMarks
from nmtalign.text.bitext import Pair, SentencePair
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

BothPieceLines = tuple[PieceLine, PieceLine]  # of the source and of the target


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
            expert_links = _links_of_words(expert_links, self.piece_lines(pair, text_settings, languages))
        if self.marks is None:
            return PairToAlign(pair[0], pair[1], expert_links=expert_links)
        return self._joined(pair, expert_links)

    def _joined(self, pair: tuple[str, str], expert_links: frozenset[Link] | None = None) -> PairToAlign:
        """Return a pair of lines of sub-words with their words."""
        assert self.marks is not None
        source, _ = join_marked(pair[0], self.marks)
        target, _ = join_marked(pair[1], self.marks)
        return PairToAlign(
            source, target, expert_links=expert_links, subword_lines=SentencePair(pair[0], pair[1])
        )

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
        line_words: BothLineWords | None,
        piece_lines: Sequence[BothPieceLines],
    ) -> AlignedBatch:
        """Return links of the unit from links of tokens: tokens become words, and these become pieces.

        `line_words` has the words of the tokens, None if each token is a word. `piece_lines` has the pieces
        of both lines of each pair; it is read only if links are expanded.
        """
        if self.aligned_unit == "words":
            batch = links_of_words(batch, line_words)
        return expand_to_pieces(batch, piece_lines) if self.expands else batch

    def convert_values(
        self,
        values: str,
        weights: AnyArray,
        pair: Pair,
        line_words: BothLineWords | None,
        piece_lines: BothPieceLines | None,
        n: int,
    ) -> AnyArray:
        """Return one kind of values of pair `n` of a text from the values of its tokens.

        `line_words` has the words of the tokens of the whole text. Without `piece_lines`, those of the pair,
        the values are not expanded to pieces.
        """
        if self.aligned_unit == "words":
            weights = values_of_words(values, weights, pair, line_words, n)
        return weights if piece_lines is None else expand_values(values, weights, *piece_lines)

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

    def tokens_for_translation(
        self, pair: tuple[str, str], text_settings: TextSettings, languages: Languages = (None, None)
    ) -> tuple[list[str], list[str]]:
        """Return what positions count in a pair as a translation program reads it.

        The pair may have been prepared, or may be as it was given.
        """
        if self.marks is not None and _subword_lines_of(pair) is None:
            pair = self._joined(pair)
        if self.expands:
            source, target = self.piece_lines(pair, text_settings, languages)
            return source.pieces, target.pieces
        settings = text_settings if self.name == "tokens" else SPACE_SETTINGS
        return settings.pieces_of_pair((pair[0], pair[1]), languages)


WORDS, TOKENS = LinkUnit(), LinkUnit("tokens")


def _links_of_words(links: Iterable[Link], piece_lines: BothPieceLines) -> frozenset[Link]:
    """Return the links of the words that linked pieces belong to."""
    source, target = (_words_of_pieces(line) for line in piece_lines)
    links_inside(links, len(source), len(target))
    return frozenset(Link(word, other) for s, t in links for word in source[s] for other in target[t])


def _words_of_pieces(line: PieceLine) -> list[list[int]]:
    """Return the words that each piece belongs to."""
    words: list[list[int]] = [[] for _ in line.pieces]
    for word, (first, stop) in enumerate(zip(line.first, line.stop, strict=True)):
        for piece in range(first, stop):
            words[piece].append(word)
    return words


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


# --- links, arrays and pairs of pieces ------------------------------------------------------------


class PieceRanges(NamedTuple):
    """Of one side of a text: which pieces of its line each word has."""

    word_offsets: Longs  # (N + 1,): words before each sentence
    first: Longs  # (words,): the first piece of each word, counted in its line
    stop: Longs  # (words,)

    @classmethod
    def from_lines(cls, lines: Iterable[PieceLine]) -> PieceRanges:
        """Return the ranges of the words of some lines."""
        arrays = _RangeArrays()
        for line in lines:
            arrays.add(line)
        return arrays.ranges()


class _RangeArrays:
    """The ranges of a side while its lines are read."""

    def __init__(self) -> None:
        self._sizes, self._first, self._stop = array("q"), array("q"), array("q")

    def add(self, line: PieceLine) -> None:
        self._sizes.append(len(line.first))
        self._first.extend(line.first)
        self._stop.extend(line.stop)

    def ranges(self) -> PieceRanges:
        first, stop = np.array(self._first, np.int64), np.array(self._stop, np.int64)
        return PieceRanges(offsets_of(np.array(self._sizes, np.int64)), first, stop)


class RangesOfText:
    """Collects the ranges of both sides while the pairs of a text are read."""

    def __init__(self, unit: LinkUnit, text_settings: TextSettings, languages: Languages) -> None:
        self._unit, self._text_settings, self._languages = unit, text_settings, languages
        self._source, self._target = _RangeArrays(), _RangeArrays()

    def collect(self, pairs: Iterable[Any]) -> Iterator[Any]:
        """Yield the pairs, and keep which pieces each of their words has, if links are expanded."""
        if not self._unit.expands:
            yield from pairs
            return
        for pair in pairs:
            source, target = self._unit.piece_lines(pair, self._text_settings, self._languages)
            self._source.add(source)
            self._target.add(target)
            yield pair

    def expand(self, batch: AlignedBatch) -> AlignedBatch:
        """Return the links of pieces, if links are expanded; see :func:`expand_links`."""
        if not self._unit.expands:
            return batch
        return expand_links(batch, self._source.ranges(), self._target.ranges())


def expand_to_pieces(batch: AlignedBatch, piece_lines: Sequence[BothPieceLines]) -> AlignedBatch:
    """Return the links of pieces, given the pieces of both lines of each pair (:func:`expand_links`)."""
    source = PieceRanges.from_lines(line for line, _ in piece_lines)
    target = PieceRanges.from_lines(line for _, line in piece_lines)
    return expand_links(batch, source, target)


def expand_links(batch: AlignedBatch, source: PieceRanges, target: PieceRanges) -> AlignedBatch:
    """Return the links of all pieces of linked words; each has the probability of its words.

    Links that coincide, because a piece is part of two words, become one with the greatest probability.
    """
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    s_word = source.word_offsets[pair] + batch.source
    t_word = target.word_offsets[pair] + batch.target
    s_count = source.stop[s_word] - source.first[s_word]
    t_count = target.stop[t_word] - target.first[t_word]
    counts = s_count * t_count
    row = np.repeat(np.arange(len(pair)), counts)
    if not len(row):
        empty = np.zeros(0, np.int32)
        none = np.zeros(len(batch) + 1, np.int64)
        return replace(batch, offsets=none, source=empty, target=empty, probability=empty.astype(np.float32))
    nth = positions_in_runs(counts)
    s_piece = source.first[s_word][row] + nth // t_count[row]
    t_piece = target.first[t_word][row] + nth % t_count[row]
    return merge_links(batch, pair[row], s_piece, t_piece, batch.probability[row])


def expand_values(values: str, weights: AnyArray, source: PieceLine, target: PieceLine) -> AnyArray:
    """Return one kind of values of the pieces of a pair from those of its words, of shape (T, S).

    `values` are "scores", "forward", "reverse" or "combined". Scores and combined weights of two pieces are
    those of their words. A word's attention is divided evenly among the pieces of the other word, and each
    of its own pieces attends as the word does, so weights of a direction sum to at most 1. A piece that
    belongs to no word has weights of 0, and scores of NaN.
    """
    if values == "reverse":
        return expand_values("forward", weights.T, target, source).T
    shape = len(target.pieces), len(source.pieces)
    s_word, s_piece = _memberships(source)
    t_word, t_piece = _memberships(target)
    if values != "forward":
        expanded = np.full(shape, np.nan if values == "scores" else 0, weights.dtype)
        np.fmax.at(expanded, np.ix_(t_piece, s_piece), weights[np.ix_(t_word, s_word)])
        return expanded
    sizes = np.bincount(s_word, minlength=len(source.first))
    shares = weights[np.ix_(t_word, s_word)] / sizes[s_word]
    total = np.zeros(shape, weights.dtype)
    np.add.at(total, np.ix_(t_piece, s_piece), shares.astype(weights.dtype))
    words_of_piece = np.bincount(t_piece, minlength=shape[0])
    total /= np.maximum(words_of_piece, 1).astype(weights.dtype)[:, None]
    return total


def _memberships(line: PieceLine) -> tuple[Longs, Longs]:
    """Return the word and the piece of each piece of a word."""
    first, stop = np.array(line.first, np.int64), np.array(line.stop, np.int64)
    counts = stop - first
    word = np.repeat(np.arange(len(first)), counts)
    nth = positions_in_runs(counts)
    return word, first[word] + nth


def expand_pair(pair: AlignedPair, source: PieceLine, target: PieceLine) -> AlignedPair:
    """Return an aligned pair with the pieces in place of its words; see :func:`expand_values`."""

    def of_pieces(values: str, weights: Reals) -> Any:
        return None if weights is None else expand_values(values, weights, source, target)

    probabilities: dict[Link, float] = {}
    for word_link, probability in pair.probabilities.items():
        for link in _piece_links([word_link], source, target):
            probabilities[link] = max(probability, probabilities.get(link, 0.0))
    unknown = pair.matrix.unknown
    if unknown is not None:
        unknown = _pieces_of_words(unknown[0], source), _pieces_of_words(unknown[1], target)
    links = _piece_links(pair.alignment.links, source, target)
    weights = of_pieces("combined", pair.matrix.weights)
    return replace(
        pair,
        alignment=Alignment(links, len(source.pieces), len(target.pieces)),
        matrix=AlignmentMatrix(weights, source.pieces, target.pieces, unknown, pair.matrix.caption),
        forward=of_pieces("forward", pair.forward),
        reverse=of_pieces("reverse", pair.reverse),
        probabilities=probabilities,
        scores=of_pieces("scores", pair.scores),
    )


def _piece_links(links: Iterable[Link], source: PieceLine, target: PieceLine) -> set[Link]:
    """Return the links of all pieces of linked words."""
    return {
        Link(s, t)
        for word, other in links
        for s in range(source.first[word], source.stop[word])
        for t in range(target.first[other], target.stop[other])
    }


def _pieces_of_words(words: Iterable[int], line: PieceLine) -> frozenset[int]:
    """Return the pieces of some words."""
    return frozenset(piece for word in words for piece in range(line.first[word], line.stop[word]))
