"""CoNLL-U: parts of speech and features of source words, projected to target words.

A sentence is a block of lines: comments, and one row of ten columns per word. Lemmas, heads and relations
are not projected, as they seldom apply in the other language; their columns are unspecified (``_``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from nmtalign.applications.linked_pairs import LinkedLines
from nmtalign.errors import DataError

MAX_SENTENCE_CHARS = 4_194_304
_COLUMN_COUNT = 10
_FORM = 1
_PROJECTED = slice(3, 6)  # UPOS, XPOS and FEATS
_UNSPECIFIED = "_"
_NO_WORD = re.compile(r"\d+[-.]\d+\t")  # the row of a multiword token or of an empty node


def read_sentences(lines: Iterable[str], path: str) -> Iterator[str]:
    """Yield the blocks of the lines of a file, which are separated by empty lines.

    >>> list(read_sentences(["# text = a", "1\\ta", "", "", "1\\tb"], "sentences.conllu"))
    ['# text = a\\n1\\ta', '1\\tb']
    """
    block: list[str] = []
    length = 0
    for number, line in enumerate(lines, 1):
        if line:
            block.append(line)
            length += len(line) + 1
            if length > MAX_SENTENCE_CHARS:
                limit = f"at most {MAX_SENTENCE_CHARS:,} characters"
                raise DataError(f"expected sentences of {limit}").at(path, line=number)
        elif block:
            yield "\n".join(block)
            block = []
            length = 0
    if block:
        yield "\n".join(block)


def project_sentence(sentence: str, lines: LinkedLines) -> tuple[str, int]:
    """Return the sentence of the target, and the number of source words without a link.

    A target word gets the part of speech and the features of the first source word that it is linked to.
    """
    comments, rows = _parse_sentence(sentence)
    pair = lines.pair
    forms = [row[_FORM] for row in rows]
    if forms != list(pair.source):
        raise DataError(_different_form(pair.source, forms))
    if not pair.target:
        raise DataError("expected a target line with words; CoNLL-U has no sentence without words")
    source_of: dict[int, int] = {}
    for s, t in sorted(pair.links):
        source_of.setdefault(t, s)
    projected = [comment for comment in comments if not comment.startswith("# text")]
    projected.append(f"# text = {lines.target}")
    for t, word in enumerate(pair.target):
        if "\t" in word or "\n" in word:
            raise DataError(f"expected target words without tabs, found {word!r}")
        row = [str(t + 1), word, *[_UNSPECIFIED] * (_COLUMN_COUNT - 2)]
        if t in source_of:
            row[_PROJECTED] = rows[source_of[t]][_PROJECTED]
        projected.append("\t".join(row))
    linked = {s for s, _ in pair.links}
    return "\n".join(projected), len(rows) - len(linked)


def with_target_rows(projected: str, target: str) -> str:
    """Return a projected sentence with the rows of `target` that are no words, and with its text.

    These are the rows of multiword tokens (``3-4``), before their first word, and of empty nodes (``5.1``).
    """
    rows_before: dict[int, list[str]] = {}  # the number of a word, from 1
    text = ""
    for line in target.split("\n"):
        if line.startswith("# text ="):
            text = line
        elif _NO_WORD.match(line):
            columns = line.split("\t", 1)
            number, separator = re.findall(r"^\d+|[-.]", columns[0])[:2]
            rows_before.setdefault(int(number) + (separator == "."), []).append(line)
    lines: list[str] = []
    for line in projected.split("\n"):
        if line.startswith("#"):
            lines.append(text if text and line.startswith("# text =") else line)
        else:
            lines += [*rows_before.pop(int(line.split("\t", 1)[0]), ()), line]
    return "\n".join([*lines, *(line for rows in rows_before.values() for line in rows)])


def _parse_sentence(sentence: str) -> tuple[list[str], list[list[str]]]:
    """Return the comments of a sentence, and the columns of its words."""
    comments: list[str] = []
    rows: list[list[str]] = []
    for line in sentence.split("\n"):
        if line.startswith("#"):
            comments.append(line)
            continue
        if _NO_WORD.match(line):
            continue
        row = line.split("\t")
        if len(row) != _COLUMN_COUNT or row[0] != str(len(rows) + 1):
            expected = f"expected ten columns with tabs between them, beginning with {len(rows) + 1}"
            raise DataError(f"{expected}, found {line[:80]!r}")
        rows.append(row)
    return comments, rows


def _different_form(words: Sequence[str], forms: Sequence[str]) -> str:
    """Return a message about the first form that is not the source word."""
    if len(words) != len(forms):
        return f"expected the {len(words)} source words, found {len(forms)} words in CoNLL-U"
    position = next(n for n, (word, form) in enumerate(zip(words, forms, strict=True)) if word != form)
    return f"expected the source word {words[position]!r}, found {forms[position]!r} as word {position + 1}"
