"""Read the pairs of a corpus with links of other systems, choose the worst, and align them for a page."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus.regrouping import regroup_batch
from nmtalign.corpus.unit_fit import LinksCheck
from nmtalign.errors import DataError, OnBadPair, UsageError, warn_caller
from nmtalign.external.matrix_files import GivenPair
from nmtalign.files.text_files import unequal_lines_error, zip_lines
from nmtalign.links.alignments import AlignedPair, Alignment, GoldAlignment, Link
from nmtalign.links.evaluation import Evaluation, evaluate
from nmtalign.links.formats import check_unit, read_link_records, read_links, with_numbered_errors
from nmtalign.links.gold import are_corrections, known_gold, read_gold
from nmtalign.links.scoring import Counts
from nmtalign.report.page_content import EMPTY_PAIR, OWN_LINKS, SamplePair, alignment_inside
from nmtalign.text.bitext import SentencePair, words_between_spaces
from nmtalign.text.chunks import MAX_MATRIX_CELLS

PAIRS_PER_SCORING_CALL = 10_000  # buckets of many pairs are aligned faster
# A report shows the weights of each scorer for its first pairs only, so that the file stays below 3 MB.
MAX_PAIRS_WITH_PARTS = 300
MAX_PART_WEIGHTS = 1_500_000
PAIRS_PER_PARTS_CALL = 100

PartWeights = dict[str, NDArray[np.floating]]  # weights (T, S) of each scorer or attention head by itself
PartResults = tuple[PartWeights, dict[str, Alignment]]  # weights and links of each scorer by its name


class CorpusRecord(NamedTuple):
    """One line of a corpus.

    Attributes
    ----------
    number : int
        Line of the pair, from 1.
    pair : SentencePair
    gold : GoldAlignment or None
    others : dict of str to frozenset of Link
        Links of other systems by their names.
    given : GivenPair, optional
        The attention of the pair, if another program computed it; otherwise an aligner does.
    files : mapping of str to path
        The files that the links come from: under "gold", and under the names of the systems.
    typed : bool
        Whether a person typed the pair. Then its tokens are shown; for lines of files, the space-separated
        words are shown.
    """

    number: int
    pair: SentencePair
    gold: GoldAlignment | None
    others: dict[str, frozenset[Link]]
    given: GivenPair | None = None
    files: Mapping[str, str | Path] = MappingProxyType({})
    typed: bool = False


def read_corpus(
    pairs: Iterable[SentencePair],
    *,
    gold: str | Path | None = None,
    others: Mapping[str, str | Path] | None = None,
    given: Iterable[GivenPair] | None = None,
    encoding: str = "utf-8",
    typed: bool = False,
    on_error: OnBadPair | None = None,
) -> Iterator[CorpusRecord]:
    """Yield sentence pairs with their gold links and the links of other systems, from Pharaoh files.

    `given` has the attention that another program computed for each pair. A warning says where positions seem
    not to count the words of the pairs. DataError if a link is outside its pair; those of `typed` pairs,
    which are the lines of no file and have the number 0, count tokens, and are checked where they are shown.
    With `on_error`, the errors of bad lines of links are passed on, with the number of the pair, and the pair
    becomes an empty one.
    """
    systems = others or {}
    files = {**systems} if gold is None else {**systems, "gold": gold}
    if given is None and not typed:  # so positions count words
        for path in files.values():
            check_unit(path, encoding=encoding)
    bad_numbers: set[int] = set()

    def add_bad(number: int, error: DataError) -> None:
        assert on_error is not None
        bad_numbers.add(number)
        on_error(number, error)

    note = None if on_error is None else add_bad
    columns: list[Iterable[Any]] = [pairs]
    for path in systems.values():
        columns.append(with_numbered_errors(partial(read_links, path, encoding=encoding), note))
    rows = zip_lines(columns, ["the bitext", *systems.values()])
    golds = None if gold is None else _read_golds(gold, encoding, note)
    attention = None if given is None else iter(given)
    checks = {} if typed else {name: LinksCheck(file, on_error=note) for name, file in files.items()}
    number = 0
    for number, (pair, *links) in enumerate(rows, 1):
        if golds is not None and number > len(golds):
            number += sum(1 for _ in rows)
            break
        record = CorpusRecord(
            number=0 if typed else number,
            pair=pair,
            gold=None if golds is None else known_gold(golds, number - 1),
            others=dict(zip(systems, links, strict=True)),
            given=None if attention is None else next(attention),
            files=files,
            typed=typed,
        )
        _check_record(record, checks)
        yield _emptied(record) if number in bad_numbers else record
    if golds is not None and number != len(golds):
        raise unequal_lines_error([number, len(golds)], ["the bitext", str(gold)])
    if attention is not None:
        next(attention, None)  # raises an error if attention of further pairs follows
    for check in checks.values():
        check.finish()


def _read_golds(path: str | Path, encoding: str, on_error: OnBadPair | None) -> Sequence[GoldAlignment]:
    if are_corrections(path):
        return read_gold(path, encoding=encoding)
    records = with_numbered_errors(partial(read_link_records, path, encoding=encoding), on_error)
    return [record.gold for record in records]


def _check_record(record: CorpusRecord, checks: Mapping[str, LinksCheck]) -> None:
    """Check the gold links and those of other systems, each by the check of its file."""
    given = record.given
    words = words_between_spaces(record.pair) if given is None else given.pair.tokens
    links_by_name = dict(record.others)
    if record.gold is not None:
        links_by_name["gold"] = record.gold.possible
    for name, check in checks.items():
        if name in links_by_name:  # nobody may have looked at the gold links of the pair
            check.inside(record.number, links_by_name[name], *words)


def _emptied(record: CorpusRecord) -> CorpusRecord:
    """Return the record of an empty pair in the place of a bad one."""
    return record._replace(
        pair=SentencePair("", ""),
        gold=None if record.gold is None else GoldAlignment((), ()),
        others=dict.fromkeys(record.others, frozenset()),
        given=None if record.given is None else GivenPair(("", ""), EMPTY_PAIR, {}),
    )


class WorstSample(NamedTuple):
    """The worst records, worst first, and evaluations of the whole corpus."""

    records: list[CorpusRecord]
    size: int  # the number of pairs in the whole corpus
    evaluations: dict[str, Evaluation]  # one per system, over the pairs with gold links


def worst_sample(
    records: Iterable[CorpusRecord], size: int, aligner: Aligner | None, *, by: str = "score"
) -> WorstSample:
    """Align a corpus and return the `size` worst pairs; equally bad ones in the order of the corpus.

    By ``score``: the lowest pair score; by ``gold``: the highest AER; by the name of another system: the
    lowest F1 against its links. Without an aligner the records have attention of their own.
    """
    heap: list[tuple[float, int, CorpusRecord]] = []
    systems: dict[str, list[frozenset[Link]]] = defaultdict(list)
    golds: list[GoldAlignment] = []
    count = 0
    for record, ours, score in _align_corpus(records, aligner):
        count += 1
        # the heap contains the worst records so far, and pops the best of them: the later of two equals
        entry = (_measure_badness(record, ours, score, by), -record.number, record)
        if len(heap) < size:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
        if record.gold is not None:
            for name, links in {OWN_LINKS: ours, **record.others}.items():
                systems[name].append(links)
            golds.append(record.gold)
    worst_first = [record for _, _, record in sorted(heap, reverse=True)]
    evaluations = {name: evaluate(links, golds) for name, links in systems.items()}
    return WorstSample(records=worst_first, size=count, evaluations=evaluations)


def _align_corpus(
    records: Iterable[CorpusRecord], aligner: Aligner | None
) -> Iterator[tuple[CorpusRecord, frozenset[Link], float]]:
    """Yield each record with its links and its pair score."""
    if aligner is None:
        for record in records:
            pair = align_record(record, aligner)
            yield record, pair.alignment.links, pair.score or 0.0
        return
    records = iter(records)
    while chunk := list(islice(records, PAIRS_PER_SCORING_CALL)):
        text = aligner.text_of_pairs([record.pair for record in chunk])
        one_link = aligner.resolved_extraction.one_link
        batch = regroup_batch(aligner.link_text(text), text.line_words, one_link=one_link)
        for n, record in enumerate(chunk):
            yield record, frozenset(batch.links(n)), float(batch.scores[n])


def _measure_badness(record: CorpusRecord, links: frozenset[Link], score: float, by: str) -> float:
    """Return how bad a pair is: the larger, the worse."""
    if by == "score":
        return -score
    if by == "gold" and "gold" in record.files:
        rate = math.nan if record.gold is None else Counts.from_links(links, record.gold).aer
        return 0.0 if math.isnan(rate) else rate
    if by not in record.others:
        needed = "`gold`" if by == "gold" else f"`compare={by}=LINKS`"
        raise UsageError(f"sorting by {by!r} requires {needed}")
    theirs = record.others[by]
    size = len(links) + len(theirs)
    return 1 - 2 * len(links & theirs) / size if size else 0.0


def count_cells(record: CorpusRecord, aligner: Aligner | None) -> int:
    """Return how many weights a record has."""
    if record.given is not None:
        return record.given.pair.matrix.weights.size
    assert aligner is not None  # of records without attention
    return math.prod(map(len, aligner.text_settings.words_of_pair(record.pair, aligner.languages)))


def align_record(record: CorpusRecord, aligner: Aligner | None) -> AlignedPair:
    """Return the attention of a record, or else of the aligner; DataError above `MAX_MATRIX_CELLS`."""
    cell_count = count_cells(record, aligner)
    if cell_count > MAX_MATRIX_CELLS and record.given is None:
        expected = f"expected at most {MAX_MATRIX_CELLS:,} weights (target by source words)"
        found = f"found {cell_count:,}; `nmtalign align` writes the links alone"
        raise DataError(f"pair {record.number}: {expected}, {found}")
    return _align_records([record], aligner)[0]


def _align_records(records: Sequence[CorpusRecord], aligner: Aligner | None) -> list[AlignedPair]:
    """Return the attention of records; that of the lines of files is computed together."""
    given = [record.given.pair for record in records if record.given is not None]
    if aligner is None or given:
        return given
    if any(record.typed for record in records):
        return [aligner.align_one(record.pair) for record in records]
    return aligner.align_words_of_lines([record.pair for record in records])


def weights_of_parts(record: CorpusRecord, aligner: Aligner | None) -> PartWeights:
    """Return the weights (T, S) of each scorer, or attention head, by itself; none where there is one."""
    return _results_of_parts([record], aligner)[0][0]


def _results_of_parts(records: Sequence[CorpusRecord], aligner: Aligner | None) -> list[PartResults]:
    """Return for each record what each scorer, or each attention head, gives by itself."""
    if aligner is None:
        return [({} if record.given is None else dict(record.given.heads), {}) for record in records]
    names = aligner.scorer.names if len(aligner.scorer.names) > 1 else ()
    alone: list[PartResults] = [({}, {}) for _ in records]
    for name in names:
        aligned = _align_records(records, aligner.with_scorers([name]))
        for (parts, choices), pair in zip(alone, aligned, strict=True):
            parts[name], choices[name] = pair.matrix.weights, pair.alignment
    return alone


def align_for_report(records: Iterable[CorpusRecord], aligner: Aligner | None = None) -> list[SamplePair]:
    """Align records for a report and keep their weights.

    The first `MAX_PAIRS_WITH_PARTS` pairs also get the weights of each scorer by itself, until these are
    `MAX_PART_WEIGHTS` weights. A page has room for `MAX_MATRIX_CELLS` weights: a warning names the pairs
    that do not fit, a DataError says that none does.
    """
    pairs: list[SamplePair] = []
    left_out: list[int] = []
    fitting = _records_that_fit(records, aligner, left_out)
    weights_left = MAX_PART_WEIGHTS
    while True:
        with_parts = max(0, MAX_PAIRS_WITH_PARTS - len(pairs))
        size = min(PAIRS_PER_PARTS_CALL, with_parts) or PAIRS_PER_SCORING_CALL
        chunk = list(islice(fitting, size))
        if not chunk:
            break
        results_of_parts: list[PartResults] = [({}, {}) for _ in chunk]
        if with_parts and weights_left > 0:
            results_of_parts = _results_of_parts(chunk, aligner)
        aligned = _align_records(chunk, aligner)
        for record, pair, (parts, choices) in zip(chunk, aligned, results_of_parts, strict=True):
            if weights_left <= 0:
                parts = {}
                choices = {}
            weights_left -= sum(weights.size for weights in parts.values())
            T, S = pair.matrix.weights.shape
            pairs.append(
                SamplePair(
                    line=record.number,
                    aligned=pair,
                    gold=record.gold,
                    others=other_alignments(record, S, T),
                    parts=parts,
                    choices=choices,
                )
            )
    if left_out:
        more = f" and {len(left_out) - 1:,} others" if len(left_out) > 1 else ""
        limit = f"a page has room for {MAX_MATRIX_CELLS:,} weights (target by source words)"
        text = f"pair {left_out[0]}{more}: omitted, because {limit}"
        if not pairs:
            raise DataError(f"{text}; `nmtalign align` writes the links without a page")
        warn_caller(text)
    return pairs


def other_alignments(record: CorpusRecord, S: int, T: int) -> dict[str, Alignment]:
    """Return the links of other systems; raise DataError with the file if links or gold are outside."""
    if record.gold is not None:
        alignment_inside(record.gold.possible, S, T, record.number or 1, record.files.get("gold"))
    return {
        name: alignment_inside(links, S, T, record.number, record.files.get(name))
        for name, links in record.others.items()
    }


def _records_that_fit(
    records: Iterable[CorpusRecord], aligner: Aligner | None, left_out: list[int]
) -> Iterator[CorpusRecord]:
    """Yield the records that a page has room for, and note the numbers of the others."""
    cell_count = 0
    for record in records:
        record_cells = count_cells(record, aligner)
        if cell_count + record_cells > MAX_MATRIX_CELLS:
            left_out.append(record.number)
            continue
        cell_count += record_cells
        yield record
