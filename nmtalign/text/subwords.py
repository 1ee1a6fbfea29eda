"""Sub-words (pieces) of words, and lossless tokens: which of them each word of a line has.

A piece belongs to a word if they overlap in the line, as in the retokenizer of OpusTrainer: a piece that is
only the space before a word belongs to no word. Of the pieces of one byte each that stand for a character,
the last one has the character; the others have no length, and belong to a word if they are inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError, class_and_error_text, require_extra
from nmtalign.files.paths import FileVersion, expand_home, file_version, reraise_as_data_error
from nmtalign.files.text_files import read_utf8
from nmtalign.names import SubwordMarks
from nmtalign.text.tokenization import SentencePieceModel, Span, load_tokenizer

SPACE_MARK = "▁"  # the character that sentencepiece writes for a space
MAX_CHARACTER_BYTES = 4  # the longest character in UTF-8
_BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")


class PieceLine(NamedTuple):
    """The pieces of a line, and which of them each of its words has.

    Word w has the pieces ``pieces[first[w]:stop[w]]``.
    """

    pieces: list[str]
    first: list[int]
    stop: list[int]


def locate_pieces(
    pieces: Sequence[str], piece_spans: Sequence[Span], word_spans: Iterable[Span]
) -> PieceLine:
    """Return the pieces that overlap each word; spans are in characters, in the order of the line.

    >>> locate_pieces(["▁l'", "eau", "▁", "x"], [(0, 2), (2, 5), (5, 6), (6, 7)], [(0, 5), (6, 7)])
    PieceLine(pieces=["▁l'", 'eau', '▁', 'x'], first=[0, 3], stop=[2, 4])
    """
    firsts: list[int] = []
    stops: list[int] = []
    first = stop = 0
    for word_start, word_stop in word_spans:
        while first < len(piece_spans) and piece_spans[first][1] <= word_start:
            first += 1
        stop = max(stop, first)
        while stop < len(piece_spans) and piece_spans[stop][0] < word_stop:
            stop += 1
        firsts.append(first)
        stops.append(stop)
    return PieceLine(list(pieces), firsts, stops)


# --- lines of marked sub-words -------------------------------------------------------------------


def join_marked(line: str | Sequence[str], marks: SubwordMarks) -> tuple[list[str], PieceLine]:
    """Return the words of a line of sub-words, or of a list of them, and the pieces of each word.

    >>> join_marked("un@@ happ@@ y cat", "bpe")
    (['unhappy', 'cat'], PieceLine(pieces=['un@@', 'happ@@', 'y', 'cat'], first=[0, 3], stop=[3, 4]))
    >>> join_marked("▁un happy ▁ ( cat", "sentencepiece")
    (['unhappy', '(cat'], PieceLine(pieces=['▁un', 'happy', '▁', '(', 'cat'], first=[0, 3], stop=[2, 5]))
    """
    pieces = load_tokenizer("space").split(line) if isinstance(line, str) else list(line)
    texts = _bpe_texts(pieces) if marks == "bpe" else _sentencepiece_texts(pieces)
    spans: list[Span] = []
    position = 0
    for text in texts:
        spans.append((position, position + len(text)))
        position += len(text)
    words = list(re.finditer("[^ ]+", "".join(texts)))
    located = locate_pieces(pieces, spans, [word.span() for word in words])
    return [word.group() for word in words], located


def _bpe_texts(pieces: Sequence[str]) -> list[str]:
    """Return the text that each piece covers in the line, with the space after a word."""
    return [piece[:-2] if piece.endswith("@@") else f"{piece} " for piece in pieces]


def _sentencepiece_texts(pieces: Sequence[str]) -> list[str]:
    """Return the text that each piece covers in the line; the last byte of a character covers all of it."""
    texts = [piece.replace(SPACE_MARK, " ") for piece in pieces]
    matches = [_BYTE_PIECE.fullmatch(piece) for piece in pieces]
    n = 0
    while n < len(pieces):
        if matches[n] is None:
            n += 1
            continue
        character, length = _character_of_bytes(matches[n : n + MAX_CHARACTER_BYTES])
        if character:
            texts[n : n + length] = [""] * (length - 1) + [character]
        n += length
    return texts


def _character_of_bytes(matches: Sequence[re.Match[str] | None]) -> tuple[str, int]:
    """Return the character that at most four byte pieces begin with, and the number of its pieces.

    The character is empty if there is none, or if it would end a word or a line; then one piece is passed.
    """
    data = b""
    for match in matches:
        if match is None:
            break
        data += bytes([int(match[1], 16)])
        try:
            character = data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if character.isspace() or not character.isprintable():
            break
        return character, len(data)
    return "", 1


# --- raw lines split by a sub-word model ---------------------------------------------------------


class Segmenter(Protocol):
    """Splits a raw line into the pieces that a translation model reads."""

    def encode(self, line: str) -> tuple[list[str], list[Span]]:
        """Return the pieces, and where each of them is in the line, in characters."""
        ...


def hugging_face_tokenizer(content: str) -> Any:
    """Return the tokenizer of a ``tokenizer.json``, which neither truncates nor pads."""
    with require_extra("tokenizers", "a tokenizer.json needs the package tokenizers"):
        from tokenizers import Tokenizer
    try:
        tokenizer = Tokenizer.from_str(content)
    except Exception as error:  # the package raises Exception itself
        message = class_and_error_text(error).replace("`", "'")
        raise DataError(f"expected a tokenizer.json of Hugging Face ({message})") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class _TokenizersSegmenter:
    """A ``tokenizer.json`` of Hugging Face, without the special tokens that a model adds."""

    def __init__(self, file: str) -> None:
        path = Path(file)
        with reraise_as_data_error(path):
            self._tokenizer = hugging_face_tokenizer(read_utf8(path))

    def encode(self, line: str) -> tuple[list[str], list[Span]]:
        encoded = self._tokenizer.encode(line, add_special_tokens=False)
        return list(encoded.tokens), list(encoded.offsets)


def load_segmenter(file: str) -> Segmenter:
    """Open a sub-word model: of sentencepiece, or a ``tokenizer.json`` of Hugging Face.

    It is opened once, and again if the file has changed; an OSError if there is no such file.
    """
    path = expand_home(file)
    return _open_segmenter(path, file_version(path))


@lru_cache(maxsize=8)
def _open_segmenter(path: str, version: FileVersion) -> Segmenter:
    if path.endswith(".json"):
        return _TokenizersSegmenter(path)
    return SentencePieceModel(path, expected="a sentencepiece model or a tokenizer.json")


def segment_line(line: str, segmenter: Segmenter) -> PieceLine:
    """Return the pieces of a raw line, and those of each space-separated word."""
    pieces, spans = segmenter.encode(line)
    return locate_pieces(pieces, spans, load_tokenizer("space").spans(line))


# --- lossless tokens -----------------------------------------------------------------------------


def check_space_mark(mark: str) -> None:
    """Raise UsageError unless a mark can stand for a space in a file of tokens."""
    if not isinstance(mark, str) or len(mark) != 1 or mark.isspace() or not mark.isprintable():
        expected = f"expected one visible character as the mark of spaces, such as {SPACE_MARK}"
        raise UsageError(f"{expected}, found {short_repr(mark)}")


def lossless_tokens(line: str, spans: Sequence[Span], mark: str = SPACE_MARK) -> PieceLine:
    """Return tokens that are the whole line: each space is a token `mark`, nothing is omitted.

    `spans` are those of the tokens that are aligned; the words of the result are these. Other white space and
    invisible characters, at which a tokenizer splits, go to the end of the token before: a program that
    splits at all white space then counts the same tokens. Raises DataError if the line has the mark itself.

    >>> lossless_tokens("a  b.", [(0, 1), (3, 4), (4, 5)])
    PieceLine(pieces=['a', '▁', '▁', 'b', '.'], first=[0, 3, 4], stop=[1, 4, 5])
    """
    if mark in line:
        advice = "choose another mark of spaces: `spaces=CHARACTER`"
        raise DataError(f"the line has {mark!r}, which would become a space; {advice}")
    starts = sorted({0, *(start for start, _ in spans), *_starts_at_spaces(line)})
    starts = _joined_to_text(line, starts)
    stops = [*starts[1:], len(line)]
    token_spans = [(start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop]
    tokens = [line[start:stop].replace(" ", mark) for start, stop in token_spans]
    return locate_pieces(tokens, token_spans, spans)


def _starts_at_spaces(line: str) -> list[int]:
    """Return where tokens begin at white space: at each space, and after each run of white space."""
    starts = [n for n, character in enumerate(line) if character == " "]
    return [*starts, *(match.end() for match in re.finditer(r"\s+", line) if match.end() < len(line))]


def _joined_to_text(line: str, starts: list[int]) -> list[int]:
    """Return the starts of tokens, without those of tokens of white space other than spaces.

    Such white space becomes the end of the token before it; at the beginning of a line, it becomes the
    beginning of the token after it.
    """
    kept: list[int] = []
    is_pending = False  # whether the token so far is white space at the beginning of the line
    for start, stop in zip(starts, [*starts[1:], len(line)], strict=True):
        text = line[start:stop]
        is_gap = text.isspace() and " " not in text
        if not kept:
            kept.append(start)
            is_pending = is_gap
        elif is_pending:
            is_pending = is_gap
        elif not is_gap:
            kept.append(start)
    return kept
