"""Terminology: the terms of a linked bitext with their translations, for people.

A term is a sequence of words that is linked to a sequence of words, and to nothing else. Both begin and end
with content words, and have no punctuation inside. Function words are recognized without word lists: they are
frequent, often without a link, have various neighbors, and are short. The value of a word is

    w · (1, log2 of the frequency per 1,000 words, share without a link, variety of neighbors, length)

The variety is the entropy of the words before or of those after a word, the larger of the two, as a share of
its maximum; the length, in characters, is divided by the mean of the vocabulary. A linked word is a function
word if its value and the mean value of its partners have a sum above 0. The weights w are fitted to texts of
seven languages by ``scripts/fit_function_words.py``.

Terms are counted on arrays over the whole text, in linear time. Axes: P positions of the words of all
sentences of a side, one after the other; V words of its vocabulary.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from nmtalign.applications.bilingual_lexicon import LEXICON_COLUMNS, association
from nmtalign.applications.linked_pairs import LinkedBitext, LinkedLines, WordSpans, read_linked_lines
from nmtalign.arrays import Doubles, Flags, Ints, Longs
from nmtalign.errors import UsageError
from nmtalign.files.compressed import format_ending
from nmtalign.files.text_files import csv_cell, tsv_cell, without_formula
from nmtalign.results import table_of_rows
from nmtalign.text.punctuation import edge_marks
from nmtalign.validation import check_number

if TYPE_CHECKING:
    import pandas as pd

LanguageCodes = tuple[str | None, str | None]  # of source and target

MIN_TERM_LINKS = 3  # how often a term and its translation are linked at least
MAX_TERM_WORDS = 6  # longer sequences, of laws for example, are formulas rather than terms
MIN_TERM_PROBABILITY = 0.2  # in both directions: most translations below are errors of links
MAX_PART_SHARE = 0.7  # of the occurrences of a term that may be parts of one longer term
MIN_TEXT_WORDS = 100  # frequencies are not counted in fewer: a word of a text of one line is not frequent
PREFERRED_EXAMPLE_WORDS = 16
FUNCTION_WORD_WEIGHTS = (-0.99, 0.62, 3.59, 4.46, -4.57)  # w
CSV_MARK = "\ufeff"  # the byte order mark, by which spreadsheets know UTF-8
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Term(NamedTuple):
    """A term with its translation."""

    source: str
    target: str
    links: int  # how often the two are linked
    forward: float  # p(target|source)
    reverse: float  # p(source|target)
    association: float  # G²
    source_example: str
    target_example: str


TERM_COLUMNS = (*LEXICON_COLUMNS, "source_example", "target_example")


class TermPhrases(NamedTuple):
    """Linked phrases: one value per occurrence of a phrase and its translation."""

    source: Longs  # number of the source phrase
    target: Longs
    start: Longs  # position of its first word
    length: Longs
    target_start: Longs
    target_length: Longs

    def at(self, rows: Flags | Longs) -> TermPhrases:
        """Return some of the occurrences."""
        return TermPhrases(*(column[rows] for column in self))


class Sequences(NamedTuple):
    """The sequences of 1 to `MAX_TERM_WORDS` words of a side that occur often enough to be terms."""

    numbers: list[Ints]  # of the sequence of each length that begins at each position (P,); -1 for none
    counts: Longs  # how often each number occurs


LinkedRanges = tuple[Ints, Ints]  # first and last position that a sequence at each position is linked to (P,)


class SideText:
    """The words of all sentences of a side, one after the other."""

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}  # numbers of words in lower case
        self._spellings: dict[str, int] = {}
        self._words = array("i")
        self._spelled = array("i")
        self._pairs = array("i")  # number of the sentence pair
        self._opens = array("b")  # whether punctuation is before a word
        self._closes = array("b")  # or after it
        self._is_separate = array("b")  # whether a space is before a word

    def __len__(self) -> int:
        return len(self._words)

    def add(self, pair: int, words: Sequence[str], spans: WordSpans | None) -> None:
        """Add the words of a sentence, without the punctuation at their edges."""
        for position, word in enumerate(words):
            lead, trail = edge_marks(word)
            is_punctuation = lead == len(word)
            bare = word if is_punctuation else word[lead : len(word) - trail]
            self._words.append(self._vocabulary.setdefault(bare.lower(), len(self._vocabulary)))
            self._spelled.append(self._spellings.setdefault(bare, len(self._spellings)))
            self._pairs.append(pair)
            self._opens.append(lead > 0)
            self._closes.append(trail > 0 or is_punctuation)
            self._is_separate.append(
                spans is None or position == 0 or spans[position - 1][1] < spans[position][0]
            )

    def counts(self) -> Longs:
        """Return how often each word occurs (V,)."""
        return np.bincount(np.array(self._words, np.int64), minlength=len(self._vocabulary))

    def features(self, is_linked: Flags) -> Doubles:
        """Return the features (V, 5) by which function words are recognized; `is_linked` (P,)."""
        words = np.array(self._words, np.int64)
        counts = self.counts()
        size = len(counts)
        is_first = np.diff(np.array(self._pairs), prepend=-1) != 0
        before = np.where(is_first, size, np.roll(words, 1))
        after = np.where(np.roll(is_first, -1), size, np.roll(words, -1))
        variety = np.maximum(_entropies(words, before, size), _entropies(words, after, size))
        lengths = np.array([len(word) for word in self._vocabulary])
        columns = (
            np.ones(size),
            np.log2(1000 * counts / max(len(words), MIN_TEXT_WORDS)),
            np.bincount(words[~is_linked], minlength=size) / counts,
            variety / np.log2(counts + 1),
            lengths / max(lengths.mean(), 1) if size else lengths,
        )
        return np.column_stack(columns)

    def function_word_values(self, is_linked: Flags) -> Doubles:
        """Return the value of the word at each position (P,): of content words, it is below 0."""
        values = self.features(is_linked) @ FUNCTION_WORD_WEIGHTS
        return np.where(self.has_letters(), values[np.array(self._words, np.int64)], 0.0)

    def has_letters(self) -> Flags:
        """Return whether the word at each position (P,) contains a letter."""
        has_letter = np.array([any(map(str.isalpha, word)) for word in self._vocabulary], bool)
        return has_letter[np.array(self._words, np.int64)]

    def number_sequences(self, min_count: float) -> Sequences:
        """Number the sequences without punctuation inside that occur at least `min_count` times."""
        words = np.array(self._words, np.int64)
        pairs = np.array(self._pairs)
        # whether a word belongs together with the next one
        goes_on = np.zeros(len(words), bool)
        goes_on[:-1] = (pairs[1:] == pairs[:-1]) & (np.array(self._closes)[:-1] == 0)
        goes_on[:-1] &= np.array(self._opens)[1:] == 0
        numbers: list[Ints] = []
        counts: list[Longs] = []
        keys = words
        for length in range(1, MAX_TERM_WORDS + 1):
            # keys are -1 where no sequence begins; a part of a frequent sequence is frequent
            found, of_key, occurrences = np.unique(keys, return_inverse=True, return_counts=True)
            is_frequent = (found >= 0) & (occurrences >= min_count)
            number_of_key = np.where(is_frequent, np.cumsum(is_frequent) - 1 + sum(map(len, counts)), -1)
            numbers.append(number_of_key.astype(np.int32)[of_key])
            counts.append(occurrences[is_frequent])
            ends = np.arange(len(words)) + length  # of the sequences that are one word longer
            inside = np.minimum(ends, len(words) - 1)
            is_longer = (ends < len(words)) & (numbers[-1] >= 0) & goes_on[inside - 1]
            keys = np.where(
                is_longer, numbers[-1].astype(np.int64) * len(self._vocabulary) + words[inside], -1
            )
        return Sequences(numbers, np.concatenate(counts))

    def spelling(self, names: Sequence[str], start: int, length: int) -> str:
        """Return a sequence of words as it is written; `names` are :meth:`spellings`."""
        text = names[self._spelled[start]]
        for position in range(start + 1, start + length):
            text += " " * self._is_separate[position] + names[self._spelled[position]]
        return text

    def spellings(self) -> list[str]:
        """Return the spelling of each number."""
        return list(self._spellings)

    def vocabulary(self) -> list[str]:
        """Return the words in lower case, by their numbers."""
        return list(self._vocabulary)

    def pair_of(self, position: int) -> int:
        """Return the number of the sentence pair of a position."""
        return self._pairs[position]

    def sentence_lengths(self) -> Longs:
        """Return the length of the sentence of each position (P,)."""
        pairs = np.array(self._pairs, np.int64)
        return np.bincount(pairs)[pairs]


class TermText:
    """A linked bitext in memory, whose terms are found."""

    def __init__(self) -> None:
        self.sides = SideText(), SideText()
        self._links = array("i"), array("i")  # positions of the linked words of both sides
        self._lines: list[tuple[str, str]] = []

    def add(self, lines: LinkedLines) -> None:
        """Add a sentence pair."""
        for link in lines.pair.links.links:
            for side, ends in enumerate(self._links):
                ends.append(len(self.sides[side]) + link[side])
        both_words = lines.pair.source, lines.pair.target
        for text, words, spans in zip(self.sides, both_words, lines.word_spans, strict=True):
            text.add(len(self._lines), words, spans)
        self._lines.append((lines.source, lines.target))

    def terms(
        self, *, min_links: float = MIN_TERM_LINKS, min_probability: float = MIN_TERM_PROBABILITY
    ) -> list[Term]:
        """Return the terms by falling association; see :func:`terms`."""
        sequences = [side.number_sequences(min_links) for side in self.sides]
        phrases = self._phrases(sequences)
        keys = phrases.source * len(sequences[1].counts) + phrases.target
        _, first, pair_of_phrase, links = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        source, target = phrases.source[first], phrases.target[first]
        of_source, of_target = sequences[0].counts[source], sequences[1].counts[target]
        linked_source = np.bincount(phrases.source)
        linked_target = np.bincount(phrases.target)
        is_term = (links >= min_links) & (links >= min_probability * np.maximum(of_source, of_target))
        is_term &= ~_is_part(phrases, pair_of_phrase, links, is_term)
        examples = self._examples(phrases, pair_of_phrase, is_term)
        terms: list[Term] = []
        for pair, (source_text, target_text, number) in examples.items():
            count = int(links[pair])
            terms.append(
                Term(
                    source_text,
                    target_text,
                    count,
                    count / int(of_source[pair]),
                    count / int(of_target[pair]),
                    association(
                        count,
                        int(linked_source[source[pair]]),
                        int(linked_target[target[pair]]),
                        len(keys),
                    ),
                    *self._lines[number],
                )
            )
        return sorted(terms, key=lambda term: (-term.association, term.source, term.target))

    def is_linked(self, side: int) -> Flags:
        """Return whether the word at each position of a side has a link (P,)."""
        flags = np.zeros(len(self.sides[side]), bool)
        flags[np.array(self._links[side], np.int64)] = True
        return flags

    def _phrases(self, sequences: Sequence[Sequences]) -> TermPhrases:
        """Return the linked phrases that may be terms."""
        links = [np.array(ends, np.int64) for ends in self._links]
        values = [text.function_word_values(self.is_linked(side)) for side, text in enumerate(self.sides)]
        edges = [self._may_be_edge(side, links, values) for side in (0, 1)]
        source_ranges = _linked_ranges(links[0], links[1], len(self.sides[0]))
        target_ranges = list(_linked_ranges(links[1], links[0], len(self.sides[1])))
        found: list[TermPhrases] = []
        for length, (numbers, ranges) in enumerate(zip(sequences[0].numbers, source_ranges, strict=True), 1):
            starts = np.flatnonzero((numbers >= 0) & edges[0])
            starts = starts[edges[0][starts + length - 1]]
            first, last = ranges[0][starts], ranges[1][starts]
            for target_length, target_numbers in enumerate(sequences[1].numbers, 1):
                rows = np.flatnonzero(last - first + 1 == target_length)
                start, target_start = starts[rows], first[rows]
                low, high = (ends[target_start] for ends in target_ranges[target_length - 1])
                is_phrase = (low >= start) & (high < start + length) & (target_numbers[target_start] >= 0)
                is_phrase &= edges[1][target_start] & edges[1][last[rows]]
                start, target_start = start[is_phrase], target_start[is_phrase]
                found.append(
                    TermPhrases(
                        source=numbers[start].astype(np.int64),
                        target=target_numbers[target_start].astype(np.int64),
                        start=start,
                        length=np.full(len(start), length),
                        target_start=target_start.astype(np.int64),
                        target_length=np.full(len(start), target_length),
                    )
                )
        return TermPhrases(*map(np.concatenate, zip(*found, strict=True)))

    def _may_be_edge(self, side: int, links: Sequence[Longs], values: Sequence[Doubles]) -> Flags:
        """Return whether a term may begin or end at each position (P,): at a linked content word.

        Both languages decide: the value of a word counts as much as the mean of those that it is linked to.
        """
        size = len(self.sides[side])
        link_counts = np.bincount(links[side], minlength=size)
        partners = np.bincount(links[side], values[1 - side][links[1 - side]], size) / np.maximum(
            link_counts, 1
        )
        return (link_counts > 0) & (values[side] + partners <= 0) & self.sides[side].has_letters()

    def _examples(
        self, phrases: TermPhrases, pair_of_phrase: Longs, is_term: Flags
    ) -> dict[int, tuple[str, str, int]]:
        """Return the commonest spelling of both sides of each term, and the number of an example pair."""
        source, target = self.sides
        names = source.spellings(), target.spellings()
        distances = np.abs(source.sentence_lengths() - PREFERRED_EXAMPLE_WORDS)
        rows = np.flatnonzero(is_term[pair_of_phrase])
        # the occurrences of each term, the best example first
        rows = rows[np.lexsort((phrases.start[rows], distances[phrases.start[rows]], pair_of_phrase[rows]))]
        spellings: dict[int, Counter[tuple[str, str]]] = {}
        examples: dict[int, int] = {}
        columns = phrases.at(rows)[2:]
        for pair, start, length, target_start, target_length in zip(
            pair_of_phrase[rows].tolist(), *(column.tolist() for column in columns), strict=True
        ):
            spelling = (
                source.spelling(names[0], start, length),
                target.spelling(names[1], target_start, target_length),
            )
            spellings.setdefault(pair, Counter())[spelling] += 1
            examples.setdefault(pair, source.pair_of(start))
        # of spellings that are equally common, the one with fewer capitals
        return {
            pair: (*max(counts, key=lambda both: (counts[both], both)), examples[pair])
            for pair, counts in spellings.items()
        }


def _entropies(words: Longs, others: Longs, size: int) -> Doubles:
    """Return the entropy in bits of what each word (V,) occurs with; `words` and `others` are parallel."""
    keys, counts = np.unique(words * (size + 1) + others, return_counts=True)
    of_words = keys // (size + 1)
    shares = counts / np.bincount(words, minlength=size)[of_words]
    return np.bincount(of_words, -shares * np.log2(shares), size).astype(np.float64)


def _linked_ranges(own: Longs, others: Longs, size: int) -> Iterator[LinkedRanges]:
    """Yield the first and last position that sequences of 1, 2, ... words are linked to."""
    first = np.full(size, np.iinfo(np.int32).max, np.int32)
    last = np.full(size, -1, np.int32)
    np.minimum.at(first, own, others.astype(np.int32))
    np.maximum.at(last, own, others.astype(np.int32))
    yield first, last
    firsts, lasts = first, last
    for length in range(1, MAX_TERM_WORDS):
        ends = np.minimum(np.arange(size) + length, size - 1)
        firsts, lasts = np.minimum(firsts, first[ends]), np.maximum(lasts, last[ends])
        yield firsts, lasts


def _is_part(phrases: TermPhrases, pair_of_phrase: Longs, links: Longs, is_term: Flags) -> Flags:
    """Return which pairs of phrases are mostly parts of one longer term.

    A longer source phrase contains the translation of its parts as well.
    """
    rows = np.flatnonzero(is_term[pair_of_phrase])
    pairs, starts, lengths = pair_of_phrase[rows], phrases.start[rows], phrases.length[rows]
    size = int(starts.max(initial=0)) + MAX_TERM_WORDS
    pair_at = np.full((MAX_TERM_WORDS + 1, size), -1)  # the pair of each length that begins at a position
    pair_at[lengths, starts] = pairs
    parts: list[Longs] = []
    wholes: list[Longs] = []
    for length in range(1, MAX_TERM_WORDS + 1):
        for offset in range(length):
            whole_start = starts - offset
            whole = np.where(whole_start >= 0, pair_at[length, np.maximum(whole_start, 0)], -1)
            is_inside = (whole >= 0) & (lengths < length) & (offset + lengths <= length)
            parts.append(pairs[is_inside])
            wholes.append(whole[is_inside])
    keys, counts = np.unique(np.concatenate(parts) * len(links) + np.concatenate(wholes), return_counts=True)
    part = keys // max(len(links), 1)
    is_part = np.zeros(len(links), bool)
    is_part[part[counts > MAX_PART_SHARE * links[part]]] = True
    return is_part


def terms(
    pairs: LinkedBitext,
    *,
    min_links: float = MIN_TERM_LINKS,
    min_probability: float = MIN_TERM_PROBABILITY,
) -> pd.DataFrame:
    """Return the terms of a linked bitext and their translations, as ``nmtalign lexicon --terms`` lists them.

    A term is a content word, or several adjacent words that begin and end with content words and have no
    punctuation inside. It is linked to such words only, and they to it. Function words are recognized without
    word lists: they are frequent, short, often without a link, and have various neighbors. A term that
    occurs mostly as a part of one longer term is omitted.

    Parameters
    ----------
    pairs : AlignedBatch, iterable or table
        As for :func:`lexicon`. A batch of tokens, of ``align_batch(..., count="tokens")``, leads to the best
        terms.
    min_links : float
        Minimum number of times that a term and its translation are linked.
    min_probability : float
        Minimum probability, in both directions.

    Returns
    -------
    pandas.DataFrame
        One row per term and translation, sorted by falling association, with the columns of
        :func:`lexicon`: ``source`` and ``target`` in their commonest spelling, ``count`` (how often the two
        are linked; case makes no difference), ``p_target_given_source`` (the share of the occurrences of the
        source term that have this translation), ``p_source_given_target``, and ``association`` (G²). In
        addition, ``source_example`` and ``target_example`` are the lines of a pair with the term.

    Raises
    ------
    DataError
        If a link is outside of its sentence pair.

    Examples
    --------
    >>> import nmtalign as na
    >>> lines = [
    ...     ("the prime minister of Italy", "le premier ministre de Italie", "0-0 1-1 2-2 3-3 4-4"),
    ...     ("to the prime minister", "à le premier ministre", "0-0 1-1 2-2 3-3"),
    ...     ("the government of Italy", "le gouvernement de Italie", "0-0 1-1 2-2 3-3"),
    ... ]
    >>> print(na.terms(lines, min_links=2)[["source", "target", "count"]].to_string(index=False))
            source           target  count
             Italy           Italie      2
    prime minister premier ministre      2
    """
    check_number(min_links, "`min_links`, a number of links of at least 1", minimum=1)
    check_number(min_probability, "`min_probability`, a probability from 0 to 1", minimum=0, maximum=1)
    text = TermText()
    for lines in read_linked_lines(pairs):
        text.add(lines)
    found = text.terms(min_links=min_links, min_probability=min_probability)
    return table_of_rows(found, TERM_COLUMNS, Term("", "", 1, 0.5, 0.5, 0.5, "", ""))


# --- files ---------------------------------------------------------------------------------------


def terms_format(path: str) -> str:
    """Return the format of a file of terms, .csv, .tsv or .tbx; standard output gets .tsv."""
    kind = ".tsv" if path == "-" else format_ending(path)
    if kind not in (".csv", ".tsv", ".tbx"):
        raise UsageError(f"{path}: expected a file of terms ending in .csv, .tsv or .tbx")
    return kind


def format_terms(terms: Iterable[Term], kind: str, languages: LanguageCodes = (None, None)) -> Iterator[str]:
    """Yield the parts of a file of terms.

    CSV is for spreadsheets: it begins with a byte order mark, and formulas are escaped. TBX is for
    translation tools, and names the `languages`.
    """
    if kind == ".tbx":
        yield from _format_tbx(terms, languages)
        return
    is_csv = kind == ".csv"
    separator, cell = (",", csv_cell) if is_csv else ("\t", tsv_cell)
    yield (CSV_MARK if is_csv else "") + separator.join(TERM_COLUMNS) + "\n"
    for term in terms:
        texts = [term.source, term.target, term.source_example, term.target_example]
        if is_csv:
            texts = [without_formula(text) for text in texts]
        source, target, *examples = map(cell, texts)
        figures = f"{term.links}", f"{term.forward:.4f}", f"{term.reverse:.4f}", f"{term.association:.2f}"
        yield separator.join((source, target, *figures, *examples)) + "\n"


def _format_tbx(terms: Iterable[Term], languages: LanguageCodes) -> Iterator[str]:
    """Yield the parts of a file of TBX-Basic, second version: more programs read it than the third one."""
    source, target = map(quoteattr, map(str, languages))
    yield f"""<?xml version="1.0" encoding="UTF-8"?>
<martif type="TBX-Basic" xml:lang={source}>
<martifHeader>
<fileDesc><sourceDesc><p>Terms of a bitext, listed by nmtalign</p></sourceDesc></fileDesc>
<encodingDesc><p type="XCSURI">TBXBasicXCSV02.xcs</p></encodingDesc>
</martifHeader>
<text><body>
"""
    for number, term in enumerate(terms, 1):
        shares = f"{term.forward:.0%} of the source term, {term.reverse:.0%} of the target term"
        yield f'<termEntry id="t{number}"><note>linked {term.links} times: {shares}</note>\n'
        for language, text, example in (
            (source, term.source, term.source_example),
            (target, term.target, term.target_example),
        ):
            context = f'<descrip type="context">{_as_xml(example)}</descrip>'
            yield f"<langSet xml:lang={language}><tig><term>{_as_xml(text)}</term>{context}</tig></langSet>\n"
        yield "</termEntry>\n"
    yield "</body></text>\n</martif>\n"


def _as_xml(text: str) -> str:
    """Return a text as XML, with U+FFFD in the place of characters that XML cannot contain."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))
