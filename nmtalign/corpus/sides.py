"""One side of a bitext as numbers: each distinct word has a number, the most frequent ones first.

Word number 0 is padding; real words count from 1.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, islice, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import Integers, Ints, Longs, offsets_of
from nmtalign.corpus.line_words import number_line_words
from nmtalign.text.tokenization import SPACE_SETTINGS, TextSettings

Computed = TypeVar("Computed")

PAIRS_PER_BLOCK = 200  # pairs tokenized at a time; larger blocks do not fit the CPU cache


@dataclass(frozen=True, eq=False, repr=False)
class EncodedSide:
    """One side of a bitext."""

    words: list[str]  # ``words[k]`` is the word with number k; ``words[0]`` is the padding
    tokens: Ints  # word numbers of all sentences, one after the other
    offsets: Longs  # (N + 1,): sentence n is ``tokens[offsets[n]:offsets[n + 1]]``
    counts: Longs  # (V + 1,): how often each word occurs
    line_words: Integers | None = None  # the word between spaces that each token begins in; None: each is one

    @cached_property
    def lengths(self) -> Longs:
        """Number of words of each sentence, shape (N,)."""
        return np.diff(self.offsets)

    @cached_property
    def _memory(self) -> dict[Hashable, Any]:
        return {}

    def memo(self, key: Hashable, compute: Callable[[], Computed]) -> Computed:
        """Return what the first call with `key` computed; parts of a large text share the results."""
        if key not in self._memory:
            self._memory[key] = compute()
        value: Computed = self._memory[key]
        return value

    def size(self, n: int) -> int:
        """Words between spaces of the line that sentence n was cut from, as far as they have tokens."""
        if self.line_words is None:
            return int(self.lengths[n])
        words = self.line_words[self.offsets[n] : self.offsets[n + 1]]
        return int(words[-1]) + 1 if len(words) else 0

    def sentence(self, n: int) -> list[str]:
        """The words of sentence n."""
        return [self.words[k] for k in self.tokens[self.offsets[n] : self.offsets[n + 1]]]


class NumberedWords(NamedTuple):
    """Sentences of one side, with words numbered in the order of their first occurrence."""

    words: list[str]
    tokens: Ints
    lengths: Longs
    line_words: Integers | None


WordForms = Callable[[Sequence[str]], list[str]]  # gives the forms in which words are looked up


class SideEncoder:
    """Numbers the words of one side (0 or 1) of a bitext; `text` cuts lines into words.

    With `forms`, words are numbered by the forms that it gives: different words may have the same form.
    """

    def __init__(
        self, text: TextSettings, side: int, language: str | None, forms: WordForms | None = None
    ) -> None:
        self._text, self._side, self._language = text, side, language
        self._forms = forms
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__
        self._done = [np.zeros(0, np.int32)]
        self._lengths = array("q")
        self._line_words: list[Integers] = []

    def add_lines(self, lines: Sequence[str]) -> None:
        """Add the sentences of lines."""
        for begin in range(0, len(lines), PAIRS_PER_BLOCK):
            block = lines[begin : begin + PAIRS_PER_BLOCK]
            if self._text.cuts_at_spaces and not any("\n" in line for line in block):
                self._add_folded(self._text.folded("".join([f"{line}\n" for line in block])))
                continue
            tokens, lengths = self._text.tokens_of_lines(block, self._side, self._language)
            if self._text.tokenizer != SPACE_SETTINGS.tokenizer:
                spans = self._text.tokenizer_of(self._side, self._language).spans
                self._line_words.append(number_line_words(block, tokens, lengths, spans))
            self._add_tokens(tokens, lengths)

    def add_words(self, sentences: Sequence[Sequence[str]]) -> None:
        """Add sentences as lists of words."""
        for begin in range(0, len(sentences), PAIRS_PER_BLOCK):
            block = sentences[begin : begin + PAIRS_PER_BLOCK]
            self._add_tokens([*chain.from_iterable(block)], map(len, block))

    def _add_folded(self, lines: str) -> None:
        """Add the sentences of lines in the form that is looked up; each line has an end."""
        words = lines.replace("\n", " \n ").split(" ")
        numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))
        numbers = numbers[numbers != self._numbers[""]]
        inside = numbers != self._numbers["\n"]
        self._lengths.extend((np.diff(np.flatnonzero(~inside), prepend=-1) - 1).tolist())
        self._done.append(numbers[inside])

    def _add_tokens(self, tokens: Sequence[str], lengths: Iterable[int]) -> None:
        words = self._text.normalized(tokens)
        self._done.append(np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words)))
        self._lengths.extend(lengths)

    def numbered(self) -> NumberedWords:
        """Return the sentences so far, for :meth:`merge` of another encoder."""
        lengths = np.array(self._lengths, np.int64)
        line_words = np.concatenate(self._line_words) if self._line_words else None
        return NumberedWords([*self._numbers], np.concatenate(self._done), lengths, line_words)

    def merge(self, other: NumberedWords) -> None:
        """Add the sentences of another encoder."""
        numbers = np.fromiter(map(self._numbers.__getitem__, other.words), np.int32, len(other.words))
        self._done.append(numbers.take(other.tokens))
        self._lengths.extend(other.lengths.tolist())
        self._line_words += [] if other.line_words is None else [other.line_words]

    def finish(self) -> EncodedSide:
        """Return the side, with words numbered by falling frequency, ties by first occurrence."""
        spelling, tokens, lengths, line_words = self.numbered()
        if self._forms is not None:
            spelling, tokens = _merge_words_of_form(self._forms(spelling), tokens)
        counts = np.bincount(tokens, minlength=len(spelling))
        order = np.argsort(-counts, kind="stable")  # order[rank] = number by first occurrence
        order = order[: np.count_nonzero(counts)]  # without "" and "\n", which only cutting made
        rank = np.zeros(len(counts), dtype=np.int32)
        rank[order] = np.arange(1, len(order) + 1, dtype=np.int32)
        return EncodedSide(
            ["", *(spelling[k] for k in order)],
            rank[tokens] if len(tokens) else tokens,
            offsets_of(lengths),
            np.concatenate([np.zeros(1, np.int64), counts[order].astype(np.int64)]),
            line_words,
        )


def _merge_words_of_form(forms: Sequence[str], tokens: Ints) -> tuple[list[str], Ints]:
    """Return the different forms of words, in order, and tokens as numbers of these instead of words."""
    distinct = list(dict.fromkeys(forms))
    number = number_words(distinct)
    form_of_word = np.array([number[form] for form in forms], np.int32)
    return distinct, form_of_word[tokens]


def side_encoders(
    text: TextSettings,
    languages: tuple[str | None, str | None],
    forms: tuple[WordForms, WordForms] | None = None,
) -> tuple[SideEncoder, SideEncoder]:
    """Return what numbers the words of the source, and of the target."""
    of_source, of_target = forms or (None, None)
    source = SideEncoder(text, 0, languages[0], of_source)
    return source, SideEncoder(text, 1, languages[1], of_target)


def encode(sentences: Iterable[Sequence[str]]) -> EncodedSide:
    """Number the words of one side."""
    return encode_pairs((words, ()) for words in sentences)[0]


def encode_pairs(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> tuple[EncodedSide, EncodedSide]:
    """Number the words of both sides of a bitext, reading it once."""
    encoders, rest = side_encoders(SPACE_SETTINGS, (None, None)), iter(pairs)
    while block := list(islice(rest, PAIRS_PER_BLOCK)):
        for encoder, sentences in zip(encoders, zip(*block, strict=True), strict=True):
            encoder.add_words(sentences)
    return encoders[0].finish(), encoders[1].finish()


def number_words(words: Iterable[str]) -> dict[str, int]:
    """Return the index of each word."""
    return dict(zip(words, count(), strict=False))


def look_up(numbers: Mapping[str, int], words: Iterable[str], missing: int = -1) -> Longs:
    """Return the number of each word, `missing` for unknown ones."""
    return np.fromiter(map(numbers.get, words, repeat(missing)), np.int64)
