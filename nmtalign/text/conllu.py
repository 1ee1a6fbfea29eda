"""Sentences of CoNLL-U files: the words of each, with a space between, and its ``sent_id``.

Words are the rows with an integer. Rows of multiword tokens (``3-4``) and of empty nodes (``5.1``) are
skipped: treebanks annotate words. A space inside a word becomes a no-break space, so that it stays one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nmtalign.errors import DataError
from nmtalign.files.text_files import try_lines, zip_lines

_CONLLU_COLUMNS = 10
_find_sentence_id = re.compile(r"#\s*sent_id\s*=\s*(.+)").fullmatch
_is_word = re.compile(r"\d+").fullmatch
_is_left_out = re.compile(r"\d+-\d+|\d+\.\d+").fullmatch


class _Sentence(NamedTuple):
    """A sentence, or the error of its first bad row."""

    line: str | DataError
    sentence_id: str | None


def read_conllu_pairs(
    source: str | Path, target: str | Path, encoding: str
) -> Iterator[tuple[str, str] | DataError]:
    """Yield the sentence pairs of two files: sentence n of one is the translation of sentence n of the other.

    Where the first two have the same ``sent_id``, all pairs have to; a DataError names others.
    """
    sides = _iter_sentences(source, encoding), _iter_sentences(target, encoding)
    same_ids = False
    for number, (first, second) in enumerate(zip_lines(sides, (source, target)), 1):
        if number == 1:
            same_ids = first.sentence_id is not None and first.sentence_id == second.sentence_id
        if same_ids and first.sentence_id != second.sentence_id:
            expected = f"expected a sentence with the sent_id {first.sentence_id!r} as in {source}"
            raise DataError(f"{expected}, found {second.sentence_id!r}").at(f"{target}, sentence {number:,}")
        if isinstance(first.line, DataError):
            yield first.line
        elif isinstance(second.line, DataError):
            yield second.line
        else:
            yield first.line, second.line


def _iter_sentences(path: str | Path, encoding: str) -> Iterator[_Sentence]:
    words: list[str] = []
    sentence_id = None
    error: DataError | None = None
    is_open = False  # whether rows or comments of a sentence have been read
    for number, line in enumerate(try_lines(path, encoding=encoding), 1):
        if isinstance(line, DataError):
            error, is_open = error or line, True
        elif line.strip():
            is_open = True
            if found := _find_sentence_id(line.strip()):
                sentence_id = found[1]
            elif not line.startswith("#"):
                try:
                    words += _words_of_row(line)
                except DataError as problem:
                    error = error or problem.at(path, line=number)
        elif is_open:
            yield _Sentence(error or " ".join(words), sentence_id)
            words, sentence_id, error, is_open = [], None, None, False
    if is_open:
        yield _Sentence(error or " ".join(words), sentence_id)


def _words_of_row(line: str) -> list[str]:
    """Return the word of a row, none for a row that has no word of its own."""
    columns = line.rstrip("\r").split("\t")
    if len(columns) != _CONLLU_COLUMNS:
        raise DataError(f"expected {_CONLLU_COLUMNS} columns with tabs between, found {len(columns)}")
    if _is_left_out(columns[0]):
        return []
    if not _is_word(columns[0]) or not columns[1]:
        raise DataError(f"expected the number of a word and the word, found {line[:60]!r}")
    return [columns[1].replace(" ", "\u00a0")]
