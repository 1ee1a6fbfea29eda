"""Bilingual lexicon: which words are linked, how often, and the probabilities of both directions.

As in Moses, a word without a link counts as linked to the null word:

    p(t|s) = c(s, t) / (sum over t' of c(s, t') + c(s, null))        and p(s|t) in the same way

:func:`lexicon` returns the table. The command adds one pair after the other to :class:`LinkCounts`, which
grows with the number of different word pairs, not with the length of the bitext.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from math import log
from typing import TYPE_CHECKING, NamedTuple

from nmtalign.aligner.aligner import Aligner
from nmtalign.applications.linked_pairs import LinkedBitext, LinkedPair, read_linked_lines
from nmtalign.files.text_files import tsv_cell
from nmtalign.results import table_of_rows
from nmtalign.text.punctuation import without_edge_marks
from nmtalign.text.subwords import SPACE_MARK
from nmtalign.validation import check_number, check_type

if TYPE_CHECKING:
    import pandas as pd

NULL_WORD = "NULL"  # the null word in shortlists, as in Moses
MIN_PRIOR_COUNT = 0.0001  # smaller counts would be written as 0
TABLE_HEADER = "source\ttarget\tlinks\tp(target|source)\tp(source|target)\tassociation"
LEXICON_COLUMNS = (
    "source",
    "target",
    "count",
    "p_target_given_source",
    "p_source_given_target",
    "association",
)


class LexiconEntry(NamedTuple):
    """Two words that are linked somewhere."""

    source: str
    target: str
    links: float  # number of links between the two words; of a model, the expected number
    forward: float  # p(target|source)
    reverse: float  # p(source|target)
    association: float | None = None  # G², negative if linked less often than by chance; None of a model


# --- counting ------------------------------------------------------------------------------------


class LinkCounts:
    """Counts of linked words, added sentence pair by sentence pair."""

    def __init__(self) -> None:
        # None is the null word
        self._counts: Counter[tuple[str | None, str | None]] = Counter()

    def add(self, pair: LinkedPair) -> None:
        """Count the links of one sentence pair, and its words without a link."""
        linked_source: set[int] = set()
        linked_target: set[int] = set()
        word_pairs: list[tuple[str | None, str | None]] = []
        for s, t in pair.links.links:
            linked_source.add(s)
            linked_target.add(t)
            word_pairs.append((pair.source[s], pair.target[t]))
        for s, word in enumerate(pair.source):
            if s not in linked_source:
                word_pairs.append((word, None))
        for t, word in enumerate(pair.target):
            if t not in linked_target:
                word_pairs.append((None, word))
        self._counts.update(word_pairs)

    def add_without_marks(self, counts: LinkCounts) -> None:
        """Add the counts of words of lines, without the punctuation at the edges of the words.

        Sub-words, which have a mark of spaces or ``@@``, are added as they are.
        """
        bare = cache(_without_marks)
        for (source, target), links in counts._counts.items():
            self._counts[bare(source), bare(target)] += links

    def entries(self) -> list[LexiconEntry]:
        """Return the linked words by source word, the most frequent target first."""
        counts = self._counts
        source_total, target_total = self._totals()
        all_links = counts.total() - source_total[None] - target_total[None]
        entries: list[LexiconEntry] = []
        for (source, target), links in counts.items():
            if source is None or target is None:
                continue
            entry = LexiconEntry(
                source=source,
                target=target,
                links=links,
                forward=links / source_total[source],
                reverse=links / target_total[target],
                association=association(
                    links,
                    source_total[source] - counts[source, None],
                    target_total[target] - counts[None, target],
                    all_links,
                ),
            )
            entries.append(entry)
        return sorted(entries, key=lambda entry: (entry.source, -entry.links, entry.target))

    def null_entries(self) -> Iterator[LexiconEntry]:
        """Yield the words that are linked to the null word, which is called `NULL_WORD`."""
        source_total, target_total = self._totals()
        for (source, target), links in self._counts.items():
            if source is None or target is None:
                yield LexiconEntry(
                    source=NULL_WORD if source is None else source,
                    target=NULL_WORD if target is None else target,
                    links=links,
                    forward=links / source_total[source],
                    reverse=links / target_total[target],
                )

    def _totals(self) -> tuple[Counter[str | None], Counter[str | None]]:
        """Return the number of links of each source and each target word."""
        source_total: Counter[str | None] = Counter()
        target_total: Counter[str | None] = Counter()
        for (source, target), links in self._counts.items():
            source_total[source] += links
            target_total[target] += links
        return source_total, target_total


def _without_marks(word: str | None) -> str | None:
    if word is None or SPACE_MARK in word or word.endswith("@@"):
        return word
    return without_edge_marks(word)


def association(joint: int, source_links: int, target_links: int, all_links: int) -> float:
    """Return the log-likelihood ratio G² of two words from their numbers of links.

    ``G² = 2 sum of O log(O / E)`` over the four cells of a table: linked with the source word or not, linked
    with the target word or not (Dunning 1993, "Accurate methods for the statistics of surprise and
    coincidence"). It is negative if the two are linked less often than by chance.
    """
    other_source = all_links - source_links
    other_target = all_links - target_links
    observed = (
        joint,
        source_links - joint,
        target_links - joint,
        all_links - source_links - target_links + joint,
    )
    # expected counts, times all_links
    expected = (
        source_links * target_links,
        source_links * other_target,
        other_source * target_links,
        other_source * other_target,
    )
    terms = [o * log(o * all_links / e) for o, e in zip(observed, expected, strict=True) if o]
    ratio = 2 * sum(terms)
    is_attracted = joint * all_links >= source_links * target_links
    return ratio if is_attracted else -ratio


def entries_of_model(aligner: Aligner) -> Iterator[LexiconEntry]:
    """Yield the word pairs that a learned aligner has linked, by falling expected count."""
    for pair in aligner.lexicon.translations():
        yield LexiconEntry(*pair)


# --- choosing ------------------------------------------------------------------------------------


def choose_entries(
    entries: Iterable[LexiconEntry],
    *,
    min_links: float = 0,
    min_probability: float = 0.0,
    word: str | None = None,
) -> list[LexiconEntry]:
    """Return the entries with `min_links`, and with `min_probability` in either direction.

    With a `word`, only its entries are returned, in upper or lower case; if there are none, those of the word
    without the punctuation at its edges.
    """
    if word is not None:
        entries = list(entries)
        if not any(_has_word(entry, word) for entry in entries):
            word = without_edge_marks(word)
    chosen: list[LexiconEntry] = []
    for entry in entries:
        is_of_word = word is None or _has_word(entry, word)
        is_probable = max(entry.forward, entry.reverse) >= min_probability
        if is_of_word and is_probable and entry.links >= min_links:
            chosen.append(entry)
    return chosen


def most_frequent(entries: Iterable[LexiconEntry], limit: int) -> list[LexiconEntry]:
    """Return the `limit` entries with the most links; those with equal numbers keep their order."""
    return sorted(entries, key=lambda entry: -entry.links)[:limit]


# --- files ---------------------------------------------------------------------------------------


def format_priors(entries: Iterable[LexiconEntry]) -> Iterator[str]:
    """Yield links as priors that eflomal reads: ``LEX source target links``, separated by tabs."""
    for entry in entries:
        if entry.links >= MIN_PRIOR_COUNT:
            yield f"LEX\t{entry.source}\t{entry.target}\t{entry.links:.4f}\n"


def format_vocabulary_map(entries: Iterable[LexiconEntry], *, min_probability: float = 0.0) -> Iterator[str]:
    """Yield the lines of a ``vmap.txt`` of CTranslate2: a source word, a tab, and its target words.

    These have at least the probability `min_probability`, and the most probable ones come first.
    """
    rows = [
        (entry.source, -entry.forward, entry.target) for entry in entries if entry.forward >= min_probability
    ]
    for source, rows_of_word in groupby(sorted(rows), key=lambda row: row[0]):
        targets = [target for _, _, target in rows_of_word]
        yield f"{source}\t{' '.join(targets)}\n"


def format_shortlist(
    entries: Iterable[LexiconEntry], *, reverse: bool = False, min_probability: float = 0.0
) -> Iterator[str]:
    """Yield the lines of a Marian shortlist, ``target source p(target|source)``, the most probable first.

    With `reverse`, yield the lines of ``lex.t2s`` instead of ``lex.s2t``: ``source target p(source|target)``.
    Smaller probabilities than `min_probability` are left out.
    """
    if reverse:
        rows = [(entry.target, entry.source, entry.reverse) for entry in entries]
    else:
        rows = [(entry.source, entry.target, entry.forward) for entry in entries]
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    for word, translation, probability in rows:
        if probability >= min_probability:
            yield f"{translation} {word} {probability:.7f}\n"


def format_row(entry: LexiconEntry) -> str:
    """Return an entry as the cells of a TSV row under `TABLE_HEADER`, without a line end.

    Expected counts have two decimals.
    """
    cells = (
        tsv_cell(entry.source),
        tsv_cell(entry.target),
        f"{entry.links:.2f}".removesuffix(".00"),
        f"{entry.forward:.4f}",
        f"{entry.reverse:.4f}",
        "" if entry.association is None else f"{entry.association:.2f}",
    )
    return "\t".join(cells)


# --- the public function -------------------------------------------------------------------------


def lexicon(
    pairs: LinkedBitext | Aligner,
    *,
    min_links: float = 1,
    min_probability: float = 0.0,
    word: str | None = None,
) -> pd.DataFrame:
    """Return a bilingual lexicon: the words that are linked in a bitext, or that an aligner has learned.

    Words without a link count as linked to the null word, as in Moses, so the probabilities of a word may
    sum to less than 1. Space-separated words of lines count without the punctuation at their edges, so
    ``dog.`` counts as ``dog``; words in lists, sub-words (``▁dog``, ``do@@``), and the tokens of a batch
    count as they are.

    Parameters
    ----------
    pairs : AlignedBatch, iterable, table, or Aligner
        For each sentence pair an aligned pair, or a tuple (source, target, links). A sentence is a line,
        whose words are separated by spaces, or a list of words; links are (source, target) positions from 0,
        or a Pharaoh line. A table has these in columns, that of the links is named ``links``. Of a learned
        aligner, the word pairs that it has linked in training.
    min_links : float
        Minimum number of links between the two words.
    min_probability : float
        Minimum probability, in either direction.
    word : str, optional
        Only the translations of this word, of either language, in upper or lower case.

    Returns
    -------
    pandas.DataFrame
        One row per word pair, with the columns ``source`` and ``target`` (the words), ``count`` (the number
        of their links; of an aligner, the expected number), ``p_target_given_source``,
        ``p_source_given_target``, and ``association``: the log-likelihood ratio G² of the two words, which is
        negative if they are linked less often than by chance, and NaN for an aligner. The rows of a bitext
        are sorted by source word and falling count, those of an aligner by falling count.

    Raises
    ------
    DataError
        If a link is outside of its sentence pair.

    References
    ----------
    Dunning 1993, "Accurate methods for the statistics of surprise and coincidence".

    Examples
    --------
    >>> import nmtalign as na
    >>> table = na.lexicon([("the cat", "le chat", "0-0 1-1"), ("the", "la", "0-0")])
    >>> print(table.iloc[:, :4].to_string(index=False))
    source target  count  p_target_given_source
       cat   chat      1                    1.0
       the     la      1                    0.5
       the     le      1                    0.5
    """
    check_number(min_links, "`min_links`, a number of links")
    check_number(min_probability, "`min_probability`, a probability from 0 to 1", minimum=0, maximum=1)
    check_type(word, (str, type(None)), "a `word` as text")
    entries = entries_of_model(pairs) if isinstance(pairs, Aligner) else _count_words(pairs).entries()
    chosen = choose_entries(entries, min_links=min_links, min_probability=min_probability, word=word)
    links = 0.5 if isinstance(pairs, Aligner) else 1
    table = table_of_rows(chosen, LEXICON_COLUMNS, LexiconEntry("", "", links, 0.5, 0.5))
    return table.astype({"association": float})


def _has_word(entry: LexiconEntry, word: str) -> bool:
    """Return whether a word is one of the two of an entry; case makes no difference."""
    return word.casefold() in (entry.source.casefold(), entry.target.casefold())


def _count_words(pairs: LinkedBitext) -> LinkCounts:
    """Return the counts of linked words; words between spaces have no punctuation at their edges."""
    words = LinkCounts()
    words_of_lines = LinkCounts()
    for linked in read_linked_lines(pairs):
        counts = words_of_lines if linked.words_are_between_spaces else words
        counts.add(linked.pair)
    words.add_without_marks(words_of_lines)
    return words


# --- jumps and fertilities -----------------------------------------------------------------------


class JumpAndFertilityCounts:
    """Counts jumps and fertilities, pair by pair, as eflomal's own ``calculate_priors`` does.

    HMMF, HMMR   jumps between the source words of consecutive linked target words, and in the other direction
    FERF, FERR   how many links a linked source word has, and a linked target word

    References
    ----------
    Östling and Tiedemann (2016), "Efficient word alignment with Markov Chain Monte Carlo".
    """

    def __init__(self) -> None:
        self._forward_jumps: Counter[int] = Counter()
        self._reverse_jumps: Counter[int] = Counter()
        self._source_fertilities: Counter[tuple[str, int]] = Counter()
        self._target_fertilities: Counter[tuple[str, int]] = Counter()

    def add(self, pair: LinkedPair) -> None:
        """Count one sentence pair."""
        links = [(link.source, link.target) for link in pair.links]
        self._forward_jumps.update(_jumps(links, len(pair.source)))
        self._reverse_jumps.update(_jumps([(t, s) for s, t in links], len(pair.target)))
        for word, fertility in Counter(s for s, _ in links).items():
            self._source_fertilities[pair.source[word], fertility] += 1
        for word, fertility in Counter(t for _, t in links).items():
            self._target_fertilities[pair.target[word], fertility] += 1

    def lines(self) -> Iterator[str]:
        """Yield the lines of a file of priors, after those of the word pairs."""
        fertilities = ("FERF", self._source_fertilities), ("FERR", self._target_fertilities)
        for name, counts in fertilities:
            for (word, fertility), count in sorted(counts.items()):
                yield f"{name}\t{word}\t{fertility}\t{count}\n"
        yield from format_jumps(self._forward_jumps, self._reverse_jumps)


def format_jumps(forward: Mapping[int, float], reverse: Mapping[int, float]) -> Iterator[str]:
    """Yield the lines of jumps of both directions, by their widths.

    >>> list(format_jumps({1: 3}, {-1: 0.25}))
    ['HMMF\\t1\\t3\\n', 'HMMR\\t-1\\t0.25\\n']
    """
    for name, jumps in (("HMMF", forward), ("HMMR", reverse)):
        for jump, count in sorted(jumps.items()):
            yield f"{name}\t{jump}\t{count:.6g}\n"


def _jumps(links: Iterable[tuple[int, int]], length: int) -> Iterator[int]:
    """Yield the jumps between the source words of linked target words, from before the first to the end.

    `links` are (source, target). Where a target word has several links, the jump goes to the first one, and
    the next jump starts from the last one.
    """
    last_source = last_target = -1
    for source, target in sorted(links, key=lambda link: (link[1], link[0])):
        if target != last_target:
            yield source - last_source
        last_source, last_target = source, target
    yield length - last_source
