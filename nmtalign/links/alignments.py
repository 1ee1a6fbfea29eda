"""Links, gold links, attention matrices, and batches of alignments as arrays.

Axes: T target words, S source words. Matrices are ``weights[t, s]`` (a row is a query = one target word);
links are ``(source, target)``, 0-based. Only this folder converts between them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtalign.arrays import as_real_array, in_word_order, offsets_of
from nmtalign.display import short_repr, single_line, with_plural
from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.names import CELL_VALUES, CellValues, ExtractionName, LinkUnitName, Symmetrization
from nmtalign.results import FIRST_AND_SECOND, Attended, Listed, Viewable, ViewableBatch
from nmtalign.settings import LinkSettings
from nmtalign.validation import check_choice, normalize_index, selected_indices

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from nmtalign.links.inputs import GoldInput

BothWords = tuple[tuple[str, ...], tuple[str, ...]]


class WordsInText(NamedTuple):
    """A text as the caller gave it, and the start and the end of each linked word in it, in characters."""

    text: str
    spans: Sequence[tuple[int, int]]


BothTexts = tuple[WordsInText, WordsInText]  # of source and target
UnknownWords = tuple[frozenset[int], frozenset[int]]  # positions in source and target


class Link(NamedTuple):
    """A link between the source position ``source`` and the target position ``target``, both from 0."""

    source: int
    target: int


def as_links(links: Any) -> frozenset[Link]:
    """Return pairs of positions as a set of links; raise DataError if they are not pairs of integers."""
    return frozenset(Link(s, t) for s, t in _as_pairs(links))


def links_inside(links: Any, source_length: int, target_length: int) -> list[tuple[int, int]]:
    """Return pairs of positions unchanged; raise DataError if one is outside of the sentence pair."""
    pairs = _as_pairs(links)
    for s, t in pairs:
        if not (0 <= s < source_length and 0 <= t < target_length):
            pair = f"a pair of {source_length} source and {target_length} target words"
            raise DataError(f"link {s}-{t} is outside {pair}")
    return pairs


def _as_pairs(links: Any) -> list[tuple[int, int]]:
    try:
        return [(_as_position(s), _as_position(t)) for s, t in links]
    except (TypeError, ValueError):
        expected = "expected links as pairs (source, target) of integers"
        is_pair = isinstance(links, tuple) and len(links) == 2
        is_single_link = is_pair and all(isinstance(n, Integral) for n in links)
        advice = "; links go in a list: [(source, target)]" if is_single_link else ""
        raise DataError(f"{expected}, found {short_repr(links)}{advice}") from None


def _as_position(n: Any) -> int:
    if isinstance(n, bool):
        raise TypeError
    return index(n)


def _read_only(array: ArrayLike) -> NDArray[Any]:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _field_values(result: Any, kind: Any) -> tuple[Any, ...]:
    """Return the values of the fields of a dataclass, to construct it again."""
    values = (getattr(result, one.name) for one in fields(kind) if one.init)
    return tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)


class _NotARow:
    """A field whose value nobody may read: pandas, polars and ``asdict`` read all fields of a dataclass.

    Arrays and dictionaries in the cells of a table, computed pair by pair, are not what a caller wants.
    """

    def __get__(self, pair: object, kind: object = None) -> Any:
        if pair is None:
            return self
        advice = "write batch.table() for a table of links, or pair.table() for one pair"
        raise UsageError(f"an aligned pair is not a row of a table; {advice}")


def _check_unknown(unknown: Any, source_length: int, target_length: int) -> None:
    """Raise DataError unless `unknown` is None, or has positions of words of both sides."""
    if unknown is None:
        return
    wanted = "expected unknown words as positions of both sides, (source, target)"
    sides = unknown if isinstance(unknown, tuple | list) else ()
    if len(sides) != 2 or not all(isinstance(side, Collection) for side in sides):
        raise DataError(f"{wanted}, found {short_repr(unknown)}")
    for side, length in zip(sides, (source_length, target_length), strict=True):
        for n in side:
            if not isinstance(n, int | np.integer) or not 0 <= n < length:
                raise DataError(f"{wanted}, found {short_repr(n)} in a side of {length} words")


@dataclass(frozen=True, repr=False, init=False)
class Alignment(Viewable):
    """The links of one sentence pair.

    Parameters
    ----------
    links : iterable of (int, int)
        ``(source, target)`` positions from 0; kept as a frozenset, so ``a.links & b.links`` reads like
        the formulas.
    source_length, target_length : int
        Number of words S and T.

    Raises
    ------
    DataError
        If a link lies outside the sentence pair.

    Examples
    --------
    >>> a = Alignment({(0, 0), (1, 2)}, 2, 3)
    >>> sorted(a.reversed().links)
    [Link(source=0, target=0), Link(source=2, target=1)]
    """

    links: frozenset[Link]
    source_length: int
    target_length: int

    def __init__(self, links: Iterable[tuple[int, int]], source_length: int, target_length: int) -> None:
        for length in (source_length, target_length):
            if not isinstance(length, Integral) or isinstance(length, bool) or length < 0:
                raise DataError(f"expected a number of words, found {short_repr(length)}")
        positions = links_inside(links, source_length, target_length)
        own_links = frozenset(Link(s, t) for s, t in positions)
        _set_fields(self, links=own_links, source_length=source_length, target_length=target_length)

    def __repr__(self) -> str:
        links = " ".join(f"{s}-{t}" for s, t in self)
        return single_line(f"Alignment of {self.source_length} and {self.target_length} words: {links}")

    def __iter__(self) -> Iterator[Link]:
        return iter(sorted(self.links))

    def __len__(self) -> int:
        return len(self.links)

    def reversed(self) -> Alignment:
        """Return the alignment with source and target swapped."""
        links = frozenset(Link(t, s) for s, t in self.links)
        return make_alignment(links, self.target_length, self.source_length)

    def to_matrix(self) -> NDArray[np.bool_]:
        """Return the links as a boolean matrix of shape (T, S)."""
        matrix = np.zeros((self.target_length, self.source_length), dtype=bool)  # (T, S)
        for s, t in self.links:
            matrix[t, s] = True
        return matrix

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Alignment:
        """Return the alignment of a (T, S) matrix of bools, or of zeros and ones."""
        cells = np.asarray(matrix)
        if cells.ndim != 2 or not np.isin(cells, (0, 1)).all():
            expected = "expected a matrix (T, S) of bools, such as `posterior > 0.5`"
            raise DataError(f"{expected}, found {short_repr(matrix)}; weights are not links")
        target, source = np.nonzero(cells)
        return cls(zip(source, target, strict=True), cells.shape[1], cells.shape[0])


@dataclass(frozen=True, repr=False, init=False)
class GoldAlignment(Listed):
    """Gold links of one sentence pair: `sure` ones are a subset of `possible` ones (Och and Ney, 2003).

    Parameters
    ----------
    sure, possible : iterable of (int, int)
        ``(source, target)`` positions from 0; kept as frozensets. Without `possible` these are the sure ones.

    Raises
    ------
    DataError
        If a sure link is not possible, or a position is negative.

    Examples
    --------
    >>> GoldAlignment({(0, 0)}, {(0, 0), (1, 1)})
    GoldAlignment: 0-0 1p1
    """

    sure: frozenset[Link]
    possible: frozenset[Link]

    def __init__(
        self, sure: Iterable[tuple[int, int]], possible: Iterable[tuple[int, int]] | None = None
    ) -> None:
        sure_links = as_links(sure)
        possible_links = sure_links if possible is None else as_links(possible)
        impossible = sure_links - possible_links
        if impossible:
            s, t = min(impossible)
            raise DataError(
                f"sure link {s}-{t} is not among the possible links; sure links are possible ones"
            )
        if any(s < 0 or t < 0 for s, t in possible_links):
            raise DataError("a gold link has a negative position; positions count from 0")
        _set_fields(self, sure=sure_links, possible=possible_links)

    def __repr__(self) -> str:
        links = []
        for link in sorted(self.possible):
            kind = "-" if link in self.sure else "p"
            links.append(f"{link.source}{kind}{link.target}")
        return single_line(f"GoldAlignment: {' '.join(links)}")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class AlignmentMatrix(Viewable):
    """Attention weights of one sentence pair, read-only and finite; ``matrix.T`` swaps source and target.

    ``np.asarray(matrix)`` returns the weights.

    Parameters
    ----------
    weights : array of shape (T, S)
        ``weights[t, s]``: how much target word t attends to source word s.
    source_tokens, target_tokens : sequence of str
        The S and T words.
    unknown : (frozenset of int, frozenset of int), optional
        Positions of source and target words without a vector, whose weights are meaningless; None if the
        weights do not come from vectors.
    caption : str
        For pictures: the attention score and the positions that gave the weights; empty without a score.
    """

    weights: NDArray[np.floating]
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    unknown: UnknownWords | None
    caption: str

    def __init__(
        self,
        weights: ArrayLike,
        source_tokens: Sequence[str],
        target_tokens: Sequence[str],
        unknown: UnknownWords | None = None,
        caption: str = "",
    ) -> None:
        for side in (source_tokens, target_tokens):
            is_list = isinstance(side, Iterable) and not isinstance(side, Iterator | str)
            if not is_list or not all(isinstance(word, str) for word in side):
                raise DataError(f"expected two lists of words, found {short_repr(side)}")
        in_order = in_word_order(weights, list(target_tokens), list(source_tokens))
        real_weights = as_real_array(in_order, "weights")
        cells = np.array(real_weights, dtype=np.result_type(real_weights, np.float32))  # (T, S)
        expected = (len(target_tokens), len(source_tokens))
        if cells.shape != expected:
            raise DataError(f"expected weights of shape (T, S) = {expected}, found {cells.shape}")
        if not np.isfinite(cells).all():
            raise DataError("the weights contain NaN or infinity")
        _check_unknown(unknown, len(source_tokens), len(target_tokens))
        cells.flags.writeable = False
        words = {"source_tokens": tuple(source_tokens), "target_tokens": tuple(target_tokens)}
        _set_fields(self, weights=cells, **words, unknown=unknown, caption=caption)

    def __reduce__(self) -> tuple[type[AlignmentMatrix], tuple[Any, ...]]:
        """Pickle the arguments: an array that is unpickled could be written to."""
        return AlignmentMatrix, _field_values(self, AlignmentMatrix)

    def __eq__(self, other: object) -> bool:
        """Return whether another matrix has the same weights, words, unknown words and caption."""
        if not isinstance(other, AlignmentMatrix):
            return NotImplemented
        ours, theirs = (
            (one.source_tokens, one.target_tokens, one.unknown, one.caption) for one in (self, other)
        )
        return ours == theirs and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.source_tokens, self.target_tokens, self.weights.tobytes()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the weights, for functions of NumPy."""
        return np.array(self.weights, dtype) if copy else np.asarray(self.weights, dtype)

    def __repr__(self) -> str:
        return "AlignmentMatrix of {} target and {} source words".format(*self.weights.shape)

    def compare(  # type: ignore[override]
        self, other: AlignmentMatrix, *, names: tuple[str, str] = FIRST_AND_SECOND
    ) -> Figure:
        """Draw this matrix and another one with the same color scale, and return the figure of matplotlib.

        `names` are the titles of both.
        """
        figure: Any = super().compare(other, names=names)
        return cast("Figure", figure)

    @property
    def T(self) -> AlignmentMatrix:
        """The matrix with source and target swapped."""
        swapped = None if self.unknown is None else self.unknown[::-1]
        return make_matrix(self.weights.T, self.target_tokens, self.source_tokens, swapped, self.caption)


def _set_fields(result: object, **values: Any) -> None:
    """Set the fields of a frozen object that is being constructed."""
    for name, value in values.items():
        object.__setattr__(result, name, value)


# Values of a caller are checked by the constructors; the package makes its own results with these functions.


def make_alignment(links: frozenset[Link], source_length: int, target_length: int) -> Alignment:
    """Return an alignment of links that are known to be inside."""
    alignment = object.__new__(Alignment)
    _set_fields(alignment, links=links, source_length=source_length, target_length=target_length)
    return alignment


def make_gold(sure: frozenset[Link], possible: frozenset[Link]) -> GoldAlignment:
    """Return gold links whose sure ones are known to be possible."""
    gold = object.__new__(GoldAlignment)
    _set_fields(gold, sure=sure, possible=possible)
    return gold


def make_matrix(
    weights: NDArray[np.floating],
    source_tokens: tuple[str, ...],
    target_tokens: tuple[str, ...],
    unknown: UnknownWords | None = None,
    caption: str = "",
) -> AlignmentMatrix:
    """Return a matrix over finite weights of the shape of the words, which become read-only."""
    matrix = object.__new__(AlignmentMatrix)
    words = {"source_tokens": source_tokens, "target_tokens": target_tokens}
    _set_fields(matrix, weights=_read_only(weights), **words, unknown=unknown, caption=caption)
    return matrix


@dataclass(frozen=True, eq=False, repr=False)
class AlignedPair(Viewable, Attended):
    """One aligned sentence pair: links, attention of both directions, pair score. Its arrays are read-only.

    ``pair.score`` is the pair score, a single number; ``pair.scores`` are the scores of the cells. Aligners
    make these pairs; nothing is checked when one is constructed.

    Attributes
    ----------
    alignment : Alignment
        The chosen links.
    matrix : AlignmentMatrix
        The weights from which the links were chosen, shape (T, S): both directions combined, or one of them
        where the method is ``argmax`` or ``argmax-reverse``.
    forward : array of shape (T, S)
        Attention of target words to source words: rows sum to at most 1, the remainder belongs to the null
        word. None if the pair is only a picture of one matrix.
    reverse : array of shape (T, S)
        Attention of source words to target words: columns sum to at most 1.
    probabilities : mapping of Link to float
        Probability of each chosen link; read-only, ``dict(pair.probabilities)`` is a copy.
    score : float, optional
        Pair score: the probability that the two sides are translations, if the model has a null word. It is
        the item of ``batch.scores``, and the column ``pair_score`` of tables.
    description : str
        One line about the aligner and the settings that gave the links.
    extraction : str
        Name of the method that chose the links.
    threshold : float, optional
        Minimum posterior of a link (``transport``: share of the plan), if a threshold was given or the
        method has one.
    second : float, optional
        Minimum probability of a second word in its direction, if the method looks for second words.
    default_values : str
        Which values a picture shows by default: ``forward`` if they are a softmax of scores without a null
        word, else ``combined``.
    scores : array of shape (T, S)
        Scores of the cells before position model and softmax, log likelihood ratios of a learned model. Cells
        far from the path of a pair that was split into sections are NaN. None if the attention was given.
    languages : (str, str)
        ISO 639 codes of source and target, if they are known; a browser uses them to choose glyphs.
    texts : optional
        Both texts and the characters of their words, for a pair of a batch; None if they are not known.

    Examples
    --------
    >>> import nmtalign
    >>> pair = nmtalign.load().align("the black cat", "le chat noir")
    >>> pair
    the-le  black-noir  cat-chat
    >>> [source for source, target, probability in pair.words if probability > 0.5]
    ['the', 'black', 'cat']
    """

    _row: Any = field(init=False, default=_NotARow())  # first, so that nothing is read before it
    alignment: Alignment
    matrix: AlignmentMatrix
    forward: NDArray[np.floating] = None  # type: ignore[assignment]
    reverse: NDArray[np.floating] = None  # type: ignore[assignment]
    probabilities: Mapping[Link, float] = field(default_factory=dict)
    score: float | None = None
    description: str = ""
    extraction: str = ""
    threshold: float | None = None
    second: float | None = None
    default_values: str = "combined"
    scores: NDArray[np.floating] = None  # type: ignore[assignment]
    languages: tuple[str | None, str | None] = (None, None)
    texts: BothTexts | None = None

    def __post_init__(self) -> None:
        for name in ("forward", "reverse", "scores"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, _read_only(values))
        object.__setattr__(self, "probabilities", MappingProxyType(dict(self.probabilities)))

    def __reduce__(self) -> tuple[type[AlignedPair], tuple[Any, ...]]:
        """Pickle the arguments: arrays that are unpickled could be written to."""
        return AlignedPair, _field_values(self, AlignedPair)

    def __repr__(self) -> str:
        linked_words = [f"{source}-{target}" for source, target, _ in self.words]
        return single_line("  ".join(linked_words) or "no links")

    def __eq__(self, other: object) -> bool:
        """Return whether another pair has the same words, links, probabilities, pair score and weights.

        The weights come last, because those of a pair of a batch have to be computed.
        """
        if not isinstance(other, AlignedPair):
            return NotImplemented
        return (
            self.tokens == other.tokens
            and self.alignment == other.alignment
            and self.probabilities == other.probabilities
            and self.score == other.score
            and _are_equal_if_known(self, other)
        )

    def __hash__(self) -> int:
        return hash((self.tokens, self.alignment))

    @property
    def links(self) -> list[Link]:
        """The chosen links in order."""
        return list(self.alignment)

    @property
    def tokens(self) -> BothWords:
        """All source words and all target words."""
        return self.matrix.source_tokens, self.matrix.target_tokens

    @property
    def words(self) -> list[tuple[str, str, float]]:
        """Source word, target word and probability of each link."""
        source, target = self.tokens
        return [(source[link.source], target[link.target], self.probability(link)) for link in self.links]

    def probability(self, link: tuple[int, int]) -> float:
        """Return the calibrated probability of a chosen link; of another cell, its posterior."""
        (cell,) = as_links([link])
        if cell in self.probabilities:
            return self.probabilities[cell]
        weights = self.matrix.weights
        links_inside([cell], *weights.shape[::-1])
        return float(weights[cell.target, cell.source])

    @property
    def posterior(self) -> NDArray[np.floating]:
        """Posterior of each cell, shape (T, S); :meth:`probability` of a link is calibrated, often lower.

        It is the joint posterior of both directions; with ``argmax`` it is p(s|t), with ``argmax-reverse``
        p(t|s).
        """
        return self.matrix.weights

    @property
    def target_null(self) -> NDArray[np.floating] | None:
        """Probability that each target word has no source word, shape (T,)."""
        if self.forward is None:
            return None
        return np.asarray(np.clip(1.0 - self.forward.sum(axis=1), 0.0, 1.0))

    @property
    def source_null(self) -> NDArray[np.floating] | None:
        """Probability that each source word has no target word, shape (S,)."""
        if self.reverse is None:
            return None
        return np.asarray(np.clip(1.0 - self.reverse.sum(axis=0), 0.0, 1.0))


def _are_equal_if_known(first: AlignedPair, second: AlignedPair) -> bool:
    """Return whether two pairs have the same weights; those of a pickled batch are not known."""
    try:
        return np.array_equal(first.matrix.weights, second.matrix.weights)
    except UsageError:
        return True


class Origin(Protocol):
    """The text and the aligner that a batch came from."""

    def tokens(self, n: int) -> BothWords:
        """Return the words of pair n."""

    def texts(self, n: int) -> BothTexts | None:
        """Return the texts of pair n and where its words are in them; None if that is not known."""

    @property
    def splitting(self) -> tuple[Any, tuple[str | None, str | None]] | None:
        """The settings and languages that split lines into what links count; None for given words."""

    @property
    def has_probabilities(self) -> bool:
        """Whether the numbers of links are probabilities, which an aligner with a null word computes."""

    def aligned(self, n: int) -> AlignedPair:
        """Align pair n alone, with its attention: bit-identical to the batch."""

    def matrices(self, values: CellValues | None) -> Iterator[NDArray[np.floating]]:
        """Yield the values (T, S) of each pair, computed for many pairs at a time."""

    def chosen(self, numbers: Sequence[int]) -> Origin:
        """Return the origin of a part of the batch."""

    @property
    def link_settings(self) -> LinkSettings:
        """How the links were chosen."""

    def choose(self, links: LinkSettings) -> AlignedBatch:
        """Return the pairs with the links that other settings choose."""


_WITHOUT_WORDS = "this batch has links without words"
Chosen = list[int] | list[bool] | NDArray[np.bool_] | NDArray[np.integer]  # numbers of pairs, or a mask


@dataclass(frozen=True, eq=False, repr=False)
class AlignedBatch(Collection[AlignedPair], ViewableBatch, Attended):
    """The links of N sentence pairs as flat arrays, and a sequence of the pairs. The arrays are read-only.

    Aligners make these batches; nothing is checked when one is constructed.

    ``batch[n]`` is an aligned pair, and ``batch[2:5]`` a batch. Its attention is computed when it is
    first used: the pair is aligned again alone, which gives bit-identical results. ``batch[mask]`` are the
    pairs for which a mask has True. If the batch has a `frame_index`, a Series of pandas is matched by index,
    and an Index of pandas selects the pairs with its labels.

    A pickled batch is small: it has the links and the words, but not the aligner, and so no attention. A
    pickled pair, ``batch[n]``, keeps its attention.

    ``batch.table()`` makes a DataFrame of pandas, one row for each link; ``pl.DataFrame(batch)``,
    ``pd.DataFrame.from_arrow(batch)`` and other readers of Arrow take the same table from the batch (extra
    ``parquet``). A pair is not a row, so a batch is not a `collections.abc.Sequence`, whose items pandas and
    polars would take for rows.

    What the batch has in flat arrays, a pair has by link: ``batch.links(n)`` are ``batch[n].links``, and
    ``batch.probability`` has what ``batch[n].probability(link)`` returns. ``batch.scores`` are pair scores,
    ``batch[n].score``; the scores of cells are ``batch[n].scores``, and those of all pairs
    ``batch.matrices("scores")``.

    Attributes
    ----------
    offsets : int64 array of shape (N + 1,)
        The links of pair n are rows ``offsets[n]:offsets[n + 1]``, sorted by source, then target.
    source : int32 array of shape (L,)
        Position of the source word of each of the L links, from 0.
    target : int32 array of shape (L,)
        Position of its target word.
    probability : float32 array of shape (L,)
        Probability of each link.
    scores : float64 array of shape (N,)
        Pair score of each pair, which is the column ``pair_score`` of tables; NaN where it is unknown.
    origin : optional
        The text and its aligner. Without it, for example in a batch of links from a file, ``links(n)`` works,
        but ``batch[n]`` does not.
    frame_index : pandas.Index, optional
        The index of the DataFrame that the pairs come from; a part of the batch has the same part of it.
    unit : {"words", "tokens", "pieces"}, optional
        What the positions count; None if that is not known.

    Examples
    --------
    >>> import nmtalign
    >>> batch = nmtalign.load().align_batch([("the cat", "le chat"), ("a dog", "un chien")])
    >>> batch
    AlignedBatch of 2 pairs, 4 links
    >>> batch[-1], batch[1:].links(0)
    (a-un  dog-chien, [Link(source=0, target=0), Link(source=1, target=1)])
    """

    offsets: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    probability: NDArray[np.float32]
    scores: NDArray[np.float64]
    origin: Origin | None = None
    frame_index: pd.Index | None = None
    unit: LinkUnitName | None = None

    def __post_init__(self) -> None:
        for name in ("offsets", "source", "target", "probability", "scores"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))

    def __reduce__(self) -> tuple[type[AlignedBatch], tuple[Any, ...]]:
        """Pickle the arguments: arrays that are unpickled could be written to."""
        return AlignedBatch, _field_values(self, AlignedBatch)

    def __repr__(self) -> str:
        of_unit = "" if self.unit in (None, "words") else f" of {self.unit}"
        counts = f"{with_plural(len(self), 'pair')}, {with_plural(len(self.source), 'link')}"
        without_scores = ", without pair scores" if len(self) and np.isnan(self.scores).all() else ""
        return f"AlignedBatch of {counts}{of_unit}{without_scores}"

    def __eq__(self, other: object) -> bool:
        """Return whether another batch has the same links, probabilities, pair scores and words."""
        if not isinstance(other, AlignedBatch):
            return NotImplemented
        for name in ("offsets", "source", "target", "probability"):
            if not np.array_equal(getattr(self, name), getattr(other, name)):
                return False
        if not np.array_equal(self.scores, other.scores, equal_nan=True):
            return False
        if self.origin is None or other.origin is None:
            return self.origin is other.origin
        words, other_words = self.origin.tokens, other.origin.tokens
        return all(words(n) == other_words(n) for n in range(len(self)))

    def __hash__(self) -> int:
        return hash((self.offsets.tobytes(), self.source.tobytes(), self.target.tobytes()))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[AlignedPair]:
        return map(self.__getitem__, range(len(self)))

    def __contains__(self, pair: object) -> bool:
        return any(pair == own for own in self)

    def index(self, pair: AlignedPair) -> int:
        """Return the number of the first pair that is equal to `pair`; ValueError if there is none."""
        return list(self).index(pair)

    def count(self, pair: AlignedPair) -> int:
        """Return how many pairs are equal to `pair`."""
        return list(self).count(pair)

    @overload
    def __getitem__(self, n: int) -> AlignedPair: ...

    @overload
    def __getitem__(self, n: slice | Chosen) -> AlignedBatch: ...

    def __getitem__(self, n: int | slice | Chosen) -> AlignedPair | AlignedBatch:
        numbers = selected_indices(n, len(self), self.frame_index)
        if numbers is None:
            return _PairOfBatch.of(self, normalize_index(n, len(self)))
        self._warn_of_unknown_scores(n, numbers)
        rows_of_pairs = [np.arange(self.offsets[k], self.offsets[k + 1]) for k in numbers]
        rows = np.concatenate([np.arange(0), *rows_of_pairs])
        return AlignedBatch(
            offsets_of(np.diff(self.offsets)[numbers]),
            self.source[rows],
            self.target[rows],
            self.probability[rows],
            self.scores[numbers],
            self.origin and self.origin.chosen(numbers),
            unit=self.unit,
            frame_index=None if self.frame_index is None else self.frame_index[list(numbers)],
        )

    def _warn_of_unknown_scores(self, selection: Any, numbers: Sequence[int]) -> None:
        """Warn if a mask drops all pairs whose score is unknown: ``batch.scores > 0.5`` is False for NaN."""
        is_unknown = np.isnan(self.scores)
        if not is_unknown.any() or is_unknown[list(numbers)].any():
            return
        is_mask = not isinstance(selection, slice) and np.asarray(selection).dtype == bool
        if is_mask:
            pairs = with_plural(int(is_unknown.sum()), "pair")
            why = "a comparison with NaN is False, whether or not the sides are translations"
            found = f"the mask drops all {pairs} whose pair score is unknown (NaN)"
            warn_caller(f"{found}; {why}")

    def links(self, n: int) -> list[Link]:
        """Return the links of pair `n`. Pairs count from 0; a negative `n` counts from the end."""
        n = normalize_index(n, len(self))
        rows = slice(self.offsets[n], self.offsets[n + 1])
        return list(map(Link, self.source[rows].tolist(), self.target[rows].tolist()))

    def compare(
        self, other: AlignedBatch | GoldInput, *, names: tuple[str, str] = FIRST_AND_SECOND
    ) -> pd.DataFrame:
        """Compare the links with those of another batch of the same pairs, or with gold links.

        Parameters
        ----------
        other : AlignedBatch, or gold links
            Gold links as for :func:`nmtalign.evaluate`.
        names : (str, str)
            What the table calls the two batches.

        Returns
        -------
        pandas.DataFrame
            Of two batches, one row for each link, with the column ``found``: ``both``, ``first`` or
            ``second``.

            Of a batch and gold links, one row for each error, pair by pair. ``kind`` is ``wrong`` for a link
            that is not in the gold, and ``missed`` for a sure gold link without a link. ``class`` is what the
            other side has in its place: it links a word of the two to another word (``instead``), leaves one
            of them ``unlinked``, or agrees on other links of both (``additional``). ``probability`` is that
            of a wrong link, ``posterior`` that of the cell; ``source_count`` and ``target_count`` are how
            often the words occur in the batch.

            ``doubt`` says how sure the model is, from 0 to 1, that the gold is wrong: the probability of a
            wrong link, and 1 minus the square root of the posterior of a missed one. Look at the rows with
            the most doubt: people may be wrong there.

        Raises
        ------
        DataError
            If there are not as many pairs, or gold links are outside of a pair or count other units.

        Examples
        --------
        >>> import nmtalign
        >>> batch = nmtalign.load().align_batch([("the cat", "le chat"), ("a dog", "un chien")])
        >>> errors = batch.compare(["0-0 1-1", "0-0 0-1"]).sort_values("doubt", ascending=False)
        >>> print(errors[["pair", "source_word", "target_word", "kind", "class"]].to_string(index=False))
         pair source_word target_word   kind   class
            1         dog       chien  wrong instead
            1           a       chien missed instead
        """
        return super().compare(other, names=names)  # type: ignore[arg-type]

    def matrices(self, values: CellValues | None = None) -> Iterator[NDArray[np.floating]]:
        """Return an iterator over the attention of all pairs, which is computed for many pairs at a time.

        It yields the same arrays as a loop over ``batch[n].forward``, many times faster. Memory depends on
        the length of the pairs, not on their number.

        Parameters
        ----------
        values : {"forward", "reverse", "combined", "scores"}, optional
            Which values of :class:`AlignedPair` are yielded; ``combined`` are the weights that links are
            chosen from. Default: ``forward`` where the weights are a softmax over vectors, else
            ``combined``.

        Returns
        -------
        iterator of arrays of shape (T, S)
            One array for each pair, in order.

        Raises
        ------
        UsageError
            If the batch has no text, or its links came without attention.

        Examples
        --------
        >>> import nmtalign as na
        >>> batch = na.load().align_batch([("the cat", "le chat"), ("a black dog", "un chien noir")])
        >>> [matrix.shape for matrix in batch.matrices("forward")]
        [(2, 2), (3, 3)]
        """
        if values is not None:
            check_choice(values, CELL_VALUES, "values")
        if self.origin is None:
            raise UsageError(f"{_WITHOUT_WORDS}, and no attention")
        return self.origin.matrices(values)

    def choose(
        self,
        *,
        extract: ExtractionName | None = None,
        threshold: float | None = None,
        symmetrize: Symmetrization | None = None,
    ) -> AlignedBatch:
        """Choose the links again by another method or threshold, from the posteriors of the same pairs.

        The links, probabilities and pair scores are bit-identical to those of
        ``na.load(aligner, extract=..., threshold=...).align_batch(pairs)``, or of :func:`links_from` with
        these settings. The first call computes the posteriors, and keeps those of at least 0.01 and the best
        of each word; ``align_batch(pairs, posteriors=True)`` keeps them from the beginning. Each further call
        takes a hundredth of the time of an alignment. ``transport``, ``itermax``, ``match`` and thresholds
        below 0.01 compare all cells: the pairs are aligned again (``posteriors=True`` keeps the links of
        ``itermax`` and ``match``).

        Parameters
        ----------
        extract, threshold, symmetrize : optional
            How links are chosen, as in :func:`load`; a setting that is omitted has its default, whatever the
            links of this batch were chosen by. With none of them, the links stay the same.

        Returns
        -------
        AlignedBatch
            The same pairs, with their index and unit.

        Raises
        ------
        UsageError
            If a setting is invalid, or the batch was pickled or saved without the posteriors that it needs.

        Examples
        --------
        >>> import nmtalign as na
        >>> batch = na.load().align_batch([("the black cat", "le chat noir")])
        >>> batch, batch.choose(threshold=0.99)
        (AlignedBatch of 1 pair, 3 links, AlignedBatch of 1 pair, 2 links)
        >>> batch.choose(extract="argmax").links(0)
        [Link(source=0, target=0), Link(source=1, target=2), Link(source=2, target=1)]
        """
        settings = LinkSettings(extract, threshold, symmetrize)
        if self.origin is None:
            raise UsageError(f"{_WITHOUT_WORDS}, and no posteriors; align the pairs")
        return replace(self.origin.choose(settings), frame_index=self.frame_index, unit=self.unit)


class _PairOfBatch(AlignedPair):
    """A pair of a batch: links are taken from the batch, all else is computed when it is first used.

    A pair that `dataclasses.replace` makes of it has values of its own in all fields, and no batch.
    """

    _origin: Origin | None = None
    _n: int = 0

    @classmethod
    def of(cls, batch: AlignedBatch, n: int) -> AlignedPair:
        """Return pair n of a batch."""
        if batch.origin is None:
            raise UsageError(f"{_WITHOUT_WORDS}; batch.links(n) returns the links of pair n")
        probabilities = batch.probability[batch.offsets[n] : batch.offsets[n + 1]].tolist()
        score = float(batch.scores[n])
        pair = object.__new__(cls)
        _set_fields(
            pair,
            _origin=batch.origin,
            _n=n,
            probabilities=MappingProxyType(dict(zip(batch.links(n), probabilities, strict=True))),
            score=None if math.isnan(score) else score,
        )
        return pair

    def __eq__(self, other: object) -> bool:
        """Return whether another pair is equal; the same pair of the same batch needs no comparison."""
        if self._origin is None or not isinstance(other, _PairOfBatch):
            return super().__eq__(other)
        if other._origin is self._origin and other._n == self._n:
            return self.probabilities == other.probabilities
        return super().__eq__(other)

    __hash__ = AlignedPair.__hash__

    @cached_property
    def tokens(self) -> BothWords:
        """All source words and all target words."""
        return super().tokens if self._origin is None else self._origin.tokens(self._n)

    @cached_property
    def texts(self) -> BothTexts | None:
        assert self._origin is not None
        return self._origin.texts(self._n)

    @cached_property
    def alignment(self) -> Alignment:
        source, target = self.tokens
        return make_alignment(frozenset(self.probabilities), len(source), len(target))

    @cached_property
    def _aligned(self) -> AlignedPair:
        assert self._origin is not None
        return self._origin.aligned(self._n)

    @cached_property
    def matrix(self) -> AlignmentMatrix:
        return self._aligned.matrix

    @cached_property
    def forward(self) -> NDArray[np.floating]:
        return self._aligned.forward

    @cached_property
    def reverse(self) -> NDArray[np.floating]:
        return self._aligned.reverse

    @cached_property
    def scores(self) -> NDArray[np.floating]:
        return self._aligned.scores

    @cached_property
    def default_values(self) -> str:
        return self._aligned.default_values

    @cached_property
    def description(self) -> str:
        return self._aligned.description

    @cached_property
    def extraction(self) -> str:
        return self._aligned.extraction

    @cached_property
    def threshold(self) -> float | None:
        return self._aligned.threshold

    @cached_property
    def second(self) -> float | None:
        return self._aligned.second

    @cached_property
    def languages(self) -> tuple[str | None, str | None]:
        return self._aligned.languages


def concatenate_batches(batches: Sequence[AlignedBatch]) -> AlignedBatch:
    """Return one batch with the links of the pairs of all batches, in order.

    It has their unit if all have the same one, and neither an origin nor an index.
    """
    units = {batch.unit for batch in batches}
    return AlignedBatch(
        offsets_of(np.concatenate([np.diff(batch.offsets) for batch in batches])),
        np.concatenate([batch.source for batch in batches]),
        np.concatenate([batch.target for batch in batches]),
        np.concatenate([batch.probability for batch in batches]),
        np.concatenate([batch.scores for batch in batches]),
        unit=units.pop() if len(units) == 1 else None,
    )
