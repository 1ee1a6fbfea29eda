"""The errors of links against gold links, as a table.

Axes: T target words, S source words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedBatch, GoldAlignment, Link
from nmtalign.links.gold import GoldLinks
from nmtalign.links.inputs import GoldInput, as_gold_sequence, check_gold_inside, check_same_words
from nmtalign.results import table_of_rows, with_frame_index
from nmtalign.validation import check_same_pairs

if TYPE_CHECKING:
    import pandas as pd

ErrorClass = Literal["instead", "unlinked", "additional"]


class LinkError(NamedTuple):
    """A link that is wrong, or a sure gold link that is missing."""

    link: Link
    kind: Literal["missed", "wrong"]
    of_class: ErrorClass


def errors_of_links(links: Collection[Link], gold: GoldAlignment) -> list[LinkError]:
    """Return the errors of the links of one pair, in the order of their positions.

    Of each error, one side has a link that the other side lacks. The class says what the other side has in
    its place: it links one of the two words differently (``instead``), leaves one of them unlinked, or
    agrees on other links of both words (``additional``).
    """
    missed = gold.sure - set(links)
    wrong = set(links) - gold.possible
    errors = []
    for link in sorted(missed | wrong):
        is_missed = link in missed
        opposite, other_side = (wrong, links) if is_missed else (missed, gold.possible)
        of_class: ErrorClass = "additional"
        if any(s == link.source or t == link.target for s, t in opposite):
            of_class = "instead"
        elif not (_has(other_side, 0, link.source) and _has(other_side, 1, link.target)):
            of_class = "unlinked"
        errors.append(LinkError(link, "missed" if is_missed else "wrong", of_class))
    return errors


def _has(links: Iterable[Link], side: int, position: int) -> bool:
    """Return whether a word of one side has a link."""
    return any(link[side] == position for link in links)


ERROR_COLUMNS = (
    "pair",
    "source_position",
    "source_word",
    "target_position",
    "target_word",
    "kind",
    "class",
    "probability",
    "posterior",
    "doubt",
    "source_count",
    "target_count",
)
ERROR_EXAMPLE = (0, 0, "", 0, "", "", "", 0.5, 0.5, 0.5, 1, 1)


def error_table(batch: AlignedBatch, gold: GoldInput) -> pd.DataFrame:
    """Return a DataFrame with one row for each error of the links of a batch.

    See :meth:`nmtalign.AlignedBatch.compare`.
    """
    origin = batch.origin
    if origin is None:
        raise UsageError("this batch has links without words; align the pairs to list its errors")
    golds = as_gold_sequence(gold)
    golds = golds if isinstance(golds, Sequence) else list(golds)
    if len(golds) != len(batch):
        expected = f"expected gold links of {with_plural(len(batch), 'pair')}"
        raise DataError(f"{expected}, found {len(golds):,}")
    check_same_words(batch, golds)
    check_same_pairs(batch, gold, "links and gold links")
    reviewed = golds.reviewed if isinstance(golds, GoldLinks) else range(len(batch))
    golds = list(check_gold_inside(golds, batch))
    rows = []
    for n, matrix in zip(reviewed, _posteriors(batch[list(reviewed)]), strict=True):
        words = origin.tokens(n)
        of_pair = slice(batch.offsets[n], batch.offsets[n + 1])
        probabilities = dict(zip(batch.links(n), batch.probability[of_pair].tolist(), strict=True))
        for link, kind, of_class in errors_of_links(probabilities.keys(), golds[n]):
            s, t = link
            probability = probabilities.get(link, np.nan)
            posterior = np.nan if matrix is None else float(matrix[t, s])
            # a joint posterior is about the product of two directions, so its root is a probability of one
            doubt = probability if kind == "wrong" else 1 - np.sqrt(posterior)
            values = kind, of_class, probability, posterior, doubt
            rows.append((n, s, words[0][s], t, words[1][t], *values))
    counts = Counter[str](), Counter[str]()
    for n in range(len(batch)):
        for counter, side in zip(counts, origin.tokens(n), strict=True):
            counter.update(side)
    complete = [(*row, counts[0][row[2]], counts[1][row[4]]) for row in rows]
    table = table_of_rows(complete, ERROR_COLUMNS, ERROR_EXAMPLE)
    return with_frame_index(table, batch.frame_index)


def _posteriors(batch: AlignedBatch) -> Iterable[NDArray[np.floating] | None]:
    """Return the posteriors of each pair; None for all if the batch does not have them any more."""
    try:
        matrices = batch.matrices("combined")
        first = list(islice(matrices, 1))
    except UsageError:  # it was pickled, or saved without them
        return repeat(None, len(batch))
    return chain(first, matrices)
