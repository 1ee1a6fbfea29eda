"""Which head of attention aligns best: each head is scored against links of the same pairs.

Axes: T target, S source units of a pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nmtalign.arrays import AnyArray, as_real_array
from nmtalign.decoding.extraction_methods import attention_posteriors, make_extraction
from nmtalign.display import name_pair, short_repr, with_plural
from nmtalign.errors import DataError
from nmtalign.external.cross_attention import AttentionReduction
from nmtalign.external.links_from import PAIRS_IN_MEMORY, Linker, check_not_layers, matrices_were_read
from nmtalign.external.matrix_files import (
    PairMatrix,
    check_arrays,
    is_attention_archive,
    read_matrices,
    read_pairs_with_attention,
)
from nmtalign.files.paths import as_path
from nmtalign.links.alignments import AlignedBatch, BothWords, GoldAlignment, links_inside
from nmtalign.links.gold import known_gold
from nmtalign.links.inputs import GoldInput, as_gold_sequence, iter_links
from nmtalign.links.scoring import Counts
from nmtalign.results import table_of_rows
from nmtalign.settings import LinkSettings
from nmtalign.validation import check_bool, check_number, check_same_pairs

if TYPE_CHECKING:
    import pandas as pd

_LAYER_AND_HEAD = re.compile(r"(?:layer (\d+) )?head (\d+)")

Head = tuple[int, int] | str  # layer and head, from 0, or the name of the caller
HeadsInput = str | Path | Iterable[AnyArray | Mapping[str, AnyArray]]


def rank_heads(
    matrices: HeadsInput, links: AlignedBatch | GoldInput, *, shift: int = 0, normalize: bool = False
) -> pd.DataFrame:
    """Score each head of attention against links, the best head first.

    Parameters
    ----------
    matrices : path, or iterable of arrays or dictionaries
        The attention of each pair: an array of shape (layers, heads, T, S), or a dictionary from names of
        heads to arrays (T, S); or a file of such arrays, also one that ``links-from --attention`` wrote.
    links : AlignedBatch, path, or iterable
        Gold links, or other links, of the same pairs, as for :func:`nmtalign.evaluate`. With a batch, whose
        words are known, the arrays may have one more row or column, for the end of the sentence.
    shift : {-1, 0, 1}
        The weights of target word t are in row t + shift.
    normalize : bool
        Divide each row by its sum. Default: rows sum to 1, or to 0 where there is no attention.

    Returns
    -------
    pandas.DataFrame
        One row for each head: ``layer`` and ``head``, from 0 (or ``head`` with the name), then ``aer``,
        ``precision``, ``recall`` and ``f1`` of the links that :func:`nmtalign.links_from` chooses with
        ``layers=[layer], attention_heads=[head]``.

    Raises
    ------
    DataError
        If there are not as many arrays as pairs, a shape does not fit the words or the heads of the first
        pair, rows do not sum to 1, or links are outside of an array; the message names the pair.

    References
    ----------
    Garg et al. (2019), who align by the best layer.

    Examples
    --------
    >>> import numpy as np
    >>> flat, sharp = np.full((2, 2), 0.5), np.array([[0.1, 0.9], [0.8, 0.2]])
    >>> attention = np.array([[flat, sharp]])  # one layer with two heads
    >>> print(rank_heads([attention], ["0-1 1-0"]).to_string(index=False))
     layer  head  aer  precision  recall  f1
         0     1  0.0        1.0     1.0 1.0
         0     0  1.0        0.0     0.0 0.0
    """
    check_number(shift, "`shift` as -1, 0 or 1", minimum=-1, maximum=1, integer=True)
    check_bool(normalize, "normalize")
    reduction = AttentionReduction(shift=shift, normalize=normalize)
    extraction = make_extraction(LinkSettings(), null=False)
    linker = Linker("head", matrices_were_read, attention_posteriors, extraction)
    counts: dict[Head, Counts] = {}
    pairs = _checked_pairs(matrices, links, reduction)
    while chunk := list(islice(pairs, PAIRS_IN_MEMORY)):
        for head in chunk[0][0]:
            batch = linker.align([pair_matrices[head] for pair_matrices, _ in chunk])
            for n, (_, gold) in enumerate(chunk):
                counts[head] = counts.get(head, Counts()) + Counts.from_links(batch.links(n), gold)
    if not counts:
        raise DataError("expected attention and links of at least one pair, found none")
    return _ranking(counts)


def _ranking(counts: Mapping[Head, Counts]) -> pd.DataFrame:
    """Return a row for each head, the best one first; of equals, the first one."""
    metrics = ("aer", "precision", "recall", "f1")
    rows = []
    for head, counts_of_head in counts.items():
        place = (head,) if isinstance(head, str) else head
        rows.append((*place, *(counts_of_head.score(metric) for metric in metrics)))
    has_layers = not isinstance(next(iter(counts)), str)
    columns = ("layer", "head", *metrics) if has_layers else ("head", *metrics)
    table = table_of_rows(rows, columns, rows[0])
    return table.sort_values("aer", kind="stable", ignore_index=True)


def _checked_pairs(
    matrices: HeadsInput, links: AlignedBatch | GoldInput, reduction: AttentionReduction
) -> Iterator[tuple[Mapping[Head, PairMatrix], GoldAlignment]]:
    """Yield the weights of each head and the links of each pair; a DataError names the pair."""
    check_same_pairs(matrices, links, "`matrices` and links")
    golds = _as_golds(links)
    words_of_pairs = links.origin.tokens if isinstance(links, AlignedBatch) and links.origin else None
    heads_of_first: list[Head] = []
    both = zip_longest(_heads_of_pairs(matrices, len(golds)), golds)
    for n, (heads, gold) in enumerate(both):
        if heads is None or gold is None:
            lacking = "links" if gold is None else "attention"
            raise DataError(f"expected attention and links of each pair, found no {lacking} of pair {n:,}")
        if known_gold(golds, n) is None:
            continue
        try:
            words = None if words_of_pairs is None else words_of_pairs(n)
            pair = _pair_matrices(heads, words, gold, reduction)
            heads_of_first = heads_of_first or list(pair)
            if list(pair) != heads_of_first:
                expected = f"expected the {with_plural(len(heads_of_first), 'head')} of the pairs before"
                raise DataError(f"{expected}, found {short_repr(list(pair))}")
        except DataError as error:
            raise DataError(f"{name_pair(n, getattr(links, 'frame_index', None))}: {error}") from None
        yield pair, gold


def _as_golds(links: AlignedBatch | GoldInput) -> Sequence[GoldAlignment]:
    """Return links or gold links of each pair as gold links."""
    if isinstance(links, AlignedBatch):
        return [GoldAlignment(of_pair) for of_pair in iter_links(links)]
    golds = as_gold_sequence(links)
    return golds if isinstance(golds, Sequence) else list(golds)


def _heads_of_pairs(matrices: HeadsInput, pair_count: int) -> Iterator[Mapping[Head, AnyArray]]:
    """Yield the attention of each head of each pair."""
    if isinstance(matrices, str | Path):
        path = as_path(matrices)
        if is_attention_archive(path):
            for given in read_pairs_with_attention(path):
                heads = given.heads or {"head 0": given.pair.forward}
                yield {_parsed_head(name): weights for name, weights in heads.items()}
            return
        matrices = read_matrices(path)
    check_arrays(matrices, "matrices")
    check_not_layers(matrices, pair_count)
    for item in matrices:
        if isinstance(item, Mapping):
            yield {str(name): as_real_array(weights, "attention weights") for name, weights in item.items()}
            continue
        weights = as_real_array(item, "attention weights")
        if weights.ndim != 4:
            found = f"found shape {weights.shape}"
            raise DataError(f"expected attention of shape (layers, heads, T, S) for each pair, {found}")
        yield {head: weights[head] for head in np.ndindex(*weights.shape[:2])}


def _parsed_head(name: str) -> Head:
    """Return the layer and the head that an archive names."""
    match = _LAYER_AND_HEAD.fullmatch(name)
    return name if match is None else (int(match[1] or 0), int(match[2]))


def _pair_matrices(
    heads: Mapping[Head, AnyArray],
    words: BothWords | None,
    gold: GoldAlignment,
    reduction: AttentionReduction,
) -> dict[Head, PairMatrix]:
    """Return the weights of each head between the words of a pair; without words, these are numbered."""
    shapes = {weights.shape for weights in heads.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise DataError(f"expected heads of the same shape (T, S), found {short_repr(sorted(shapes))}")
    T, S = shapes.pop()
    source, target = ([""] * S, [""] * T) if words is None else words
    try:
        links_inside(gold.possible, len(source), len(target))
    except DataError as error:
        raise DataError(f"{error}; do links and attention count the same units?") from None
    pair = {}
    for head, weights in heads.items():
        try:
            pair[head] = PairMatrix((source, target), reduction.weights(weights, source, target))
        except DataError as error:
            name = head if isinstance(head, str) else "layer {}, head {}".format(*head)
            raise DataError(f"{name}: {error}") from None
    return pair
