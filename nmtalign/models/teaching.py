"""How a learned aligner gets its second opinion, and the weights of its heads from hand-made links.

A second opinion learns from posteriors (distilled), or from the bitext itself by expectation-maximisation:
its attention is then the prior of a mixture, ``p(f_t) = sum over s of p(s|t) r(e_s, f_t)``, whose likelihood
ratios r are those of the other heads.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.evaluation import Counts
from nmtalign.alignment.links import GoldAlignment
from nmtalign.errors import DataError, UsageError
from nmtalign.models.additive import WordNetwork, initial_words
from nmtalign.models.attention_vectors import WordRows
from nmtalign.models.checkpoint import Checkpoint
from nmtalign.models.clues import ClueNetwork, initial_clues
from nmtalign.models.corpus import EncodedSide, encode
from nmtalign.models.distillation import Course, distil
from nmtalign.models.opinion import (
    Lesson,
    Network,
    Opinion,
    SecondOpinion,
    lessons,
    pairs_of_a_lesson,
    untold,
)
from nmtalign.models.parallel import default_workers, in_order
from nmtalign.models.projections import ProjectedNetwork, initial_projections
from nmtalign.models.seen_words import given_rows
from nmtalign.models.supervised import (
    HIDDEN,
    NETWORKS,
    Cells,
    GoldOpinion,
    LinkScorer,
    Taught,
    doubtful_cells,
    initial_scorer,
    learn_scorer,
    most_frequent,
)
from nmtalign.vectors.embeddings import Embeddings

if TYPE_CHECKING:
    from nmtalign.models.learned import Model, Prepared

Pairs = Sequence[tuple[Sequence[str], Sequence[str]]]

LONGEST = 128  # words of a side of the pairs that an opinion is learned from
FEW = 100  # pairs with which an opinion gets half of its share
FEWEST_GOLD = 50  # sentence pairs with gold links that teach a second opinion
FEW_GOLD = 10  # of them with which it gets half of the say
ENOUGH = 100  # sentence pairs with gold links that tell more about weights than the defaults do
WEIGHTS = (0.0, 0.15, 0.3, 0.45, 0.6)  # of vectors and of the spectral head
SURER = 2.0
SHARES = (0.0, 0.1, 0.2, 0.35, 0.5)


Rows = tuple[WordRows, WordRows]


def opinion_of(network: Network | LinkScorer, share: float) -> SecondOpinion:
    """Return the second opinion of a network."""
    return GoldOpinion(network, share) if isinstance(network, LinkScorer) else Opinion(network, share)


def first_scorer(model: Model) -> LinkScorer:
    """Return the scorer that learns from gold links, with weights as many as learned ones."""
    lexicon = model.lexicon
    return LinkScorer(
        initial_scorer(model.settings.seed, NETWORKS * HIDDEN),
        most_frequent(lexicon.source_words, lexicon.source_counts),
        most_frequent(lexicon.target_words, lexicon.target_counts),
    )


def first_network(model: Model, rows: Rows | None = None) -> tuple[Network, Course]:
    """Return the network of a second opinion as it starts, and how it is to learn.

    Parameters
    ----------
    model : Model
        Its settings say what the opinion looks at.
    rows : (WordRows, WordRows), optional
        Vectors of source and target words; left out, those of the vector head.
    """
    settings = model.settings
    if settings.opinion_inputs == "clues":
        return ClueNetwork(initial_clues(settings.seed)), Course()
    if rows is None and model.vectors is not None:
        rows = model.vectors.vectors.source_rows, model.vectors.vectors.target_rows
    if rows is None:
        raise UsageError("a second opinion that looks at words needs vectors: lexicon,vectors,bahdanau")
    D, course = rows[0].rows.shape[1], Course(0.003, 100_000, 30_000_000)
    if settings.opinion_inputs == "projections":
        projections = initial_projections(D, settings.opinion_heads, settings.seed)
        return ProjectedNetwork(projections, *rows), course
    return WordNetwork(initial_words(D, settings.seed), *rows), course


def untaught(model: Model, rows: Rows | None = None) -> Network | LinkScorer:
    """Return the network of a second opinion with weights as many as learned ones, for a model folder."""
    return first_scorer(model) if model.settings.opinion_teacher == "gold" else first_network(model, rows)[0]


def learn_opinion(
    model: Model,
    prepare: Callable[[Pairs], Prepared],
    source: EncodedSide,
    target: EncodedSide,
    *,
    given: tuple[Embeddings, Embeddings] | None = None,
    workers: int | None = None,
    report: Callable[[str], None] | None = None,
    reached: Callable[[int, int], None] | None = None,
    kept: Checkpoint | None = None,
) -> Opinion | None:
    """Learn a second opinion from some pairs of a bitext.

    Parameters
    ----------
    model : Model
        Without one; its settings say what the opinion looks at and learns from.
    prepare : callable
        Makes a text of pairs of words ready for attention.
    source, target : EncodedSide
    given : (Embeddings, Embeddings), optional
        Vectors for an opinion that looks at words; left out, those of the vector head.
    workers, report
        As of :func:`nmtalign.models.learned.learn`.
    reached, kept
        As of :func:`nmtalign.models.distillation.distil`.

    Returns
    -------
    Opinion or None
        None if no pair has words on both sides, and at most LONGEST of them.
    """
    settings = model.settings
    rows = given and (given_rows(source.words, given[0]), given_rows(target.words, given[1]))
    network, course = first_network(model, rows)
    cells = source.lengths * target.lengths
    usable = np.flatnonzero((cells > 0) & (np.maximum(source.lengths, target.lengths) <= LONGEST))
    chosen = np.random.default_rng(settings.seed).permutation(usable)[: course.pairs]
    chosen = chosen[: np.searchsorted(np.cumsum(cells[chosen]), course.cells // course.passes[0])]
    if not len(chosen):
        return None
    pairs = [(source.sentence(n), target.sentence(n)) for n in chosen.tolist()]
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    text, reader = prepare(pairs), network.reader(*sides, model.counts(*sides))
    found = in_order(
        lambda k: list(_lessons(text, k, reader, settings.opinion_teacher, pairs_of_a_lesson(len(pairs)))),
        range(len(text.buckets)),
        default_workers() if workers is None else workers,
    )
    network = distil(
        network,
        chain.from_iterable(found),
        seed=settings.seed,
        course=course,
        report=report,
        reached=reached,
        kept=kept,
    )
    n = len(usable)
    return Opinion(network, settings.opinion_weight * n / (n + FEW))


def _lessons(text: Prepared, k: int, reader: Any, teacher: str, size: int) -> Iterator[Lesson]:
    """Return what bucket k teaches, in lessons of so many pairs."""
    bucket = text.buckets[k]
    ratios = text.words.pairs.take(text.cells[k])
    seen = reader.read(bucket, ratios, text.words)
    if teacher == "bitext":
        return untold(bucket, seen, ratios, size)
    forward, reverse, _ = text.attend(k)
    return lessons(bucket, seen, forward, reverse, size)


def gold_of_pairs(
    gold: Sequence[GoldAlignment], source: EncodedSide, target: EncodedSide
) -> dict[int, GoldAlignment]:
    """Return the gold links of a bitext by number of the pair, from 0.

    As many lines as pairs are one for each, an empty one where there is none; fewer are those of the last
    pairs.

    Raises
    ------
    DataError
        If there are more lines than pairs, or a link lies outside of its pair.

    Examples
    --------
    >>> from nmtalign.alignment.formats import parse_gold
    >>> side = encode([["a", "b"]] * 3)
    >>> sorted(gold_of_pairs([parse_gold("0-0"), parse_gold("1-0")], side, side))
    [1, 2]
    >>> sorted(gold_of_pairs([parse_gold("0-0"), parse_gold(""), parse_gold("0-1")], side, side))
    [0, 2]
    """
    pairs = len(source.lengths)
    if len(gold) > pairs:
        raise DataError(f"expected gold links for at most {pairs:,} pairs, found {len(gold):,} lines")
    found = dict(enumerate(gold, pairs - len(gold)))
    if len(gold) == pairs:
        found = {n: links for n, links in found.items() if links.possible}
    for n, links in found.items():
        S, T = int(source.lengths[n]), int(target.lengths[n])
        for s, t in links.possible:
            if s >= S or t >= T:
                words = " ".join(source.sentence(n))[:60]
                what = f"gold link {s}-{t} lies outside of a pair of {S} and {T} words, number {n + 1}"
                raise DataError(f"{what}: {words!r}; was the text cut into words otherwise?")
    return found


def learn_from_gold(
    model: Model,
    prepare: Callable[[Model, Pairs], Prepared],
    pairs: Pairs,
    gold: Sequence[GoldAlignment],
) -> Model:
    """Return a model that hand-made links have taught: a second opinion if its settings say so, else weights.

    What would be gained by weights the second opinion learns by itself.

    Parameters
    ----------
    model, prepare, pairs, gold
        As of :func:`weigh_heads`.
    """
    if model.settings.opinion_teacher != "gold":
        return weigh_heads(model, prepare, pairs, gold)
    pairs, gold = _usable(pairs, gold)
    scorer = learn_scorer(first_scorer(model), _taught(model, prepare, pairs, gold), model.settings.seed)
    return model._replace(opinion=GoldOpinion(scorer, len(pairs) / (len(pairs) + FEW_GOLD)))


def _taught(
    model: Model,
    prepare: Callable[[Model, Pairs], Prepared],
    pairs: Pairs,
    gold: Sequence[GoldAlignment],
) -> Taught:
    """Return what gold links say of the doubtful cells of their pairs."""
    text = prepare(model, pairs)
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    reader = first_scorer(model).reader(*sides, model.counts(*sides))
    cells, links, numbers = [], [], []
    for k, bucket in enumerate(text.buckets):
        emission = text.words.pairs.take(text.cells[k])
        seen = reader.read(bucket, emission, text.words)
        doubtful, found = doubtful_cells(seen, *text.attend(k))
        wanted = np.zeros(doubtful.shape, np.float32)
        for column in np.flatnonzero(bucket.pairs >= 0).tolist():
            own = gold[int(bucket.pairs[column])]
            for places, value in ((own.possible, np.nan), (own.sure, 1)):
                for s, t in places:
                    wanted[t, s, column] = value
        chosen = np.flatnonzero(~np.isnan(wanted[doubtful]))
        cells.append(found.part(chosen))
        links.append(wanted[doubtful][chosen])
        numbers.append(bucket.pairs[np.nonzero(doubtful)[2]][chosen])
    inputs, source, target = zip(*cells, strict=True)
    joined = Cells(np.concatenate(inputs, axis=1), np.concatenate(source), np.concatenate(target))
    return Taught(joined, np.concatenate(links), np.concatenate(numbers))


def weigh_heads(
    model: Model,
    prepare: Callable[[Model, Pairs], Prepared],
    pairs: Pairs,
    gold: Sequence[GoldAlignment],
) -> Model:
    """Return a model whose heads have the weights with which gold links are found best.

    Parameters
    ----------
    model : Model
    prepare : callable
        Makes a text ready for the attention of a model.
    pairs : sequence of (source words, target words)
    gold : sequence of GoldAlignment
        Of each pair; no link lies outside of it.

    Notes
    -----
    All combinations of a few weights are tried. What counts is the alignment error rate (Och and Ney 2003).
    It often differs by a few links only, by chance: the weights of the model stay unless others are better
    by `SURER` standard errors of the difference over pairs.
    """
    pairs, gold = _usable(pairs, gold)
    own = tuple(head.weight if head else 0.0 for head in (model.vectors, model.spectral))
    shares = (model.opinion.share, *SHARES) if model.opinion else (0.0,)
    others = product(WEIGHTS if model.vectors else (0.0,), WEIGHTS if model.spectral else (0.0,))
    tried = []
    for weights in (own, *others):
        text = prepare(_weighed(model, *weights), pairs)
        tried += [(_right_and_all(text, share, gold), weights, share) for share in shares]
    right, total = tried[0][0]
    rate = right.sum() / max(total.sum(), 1)
    gains = [(found[0] - right) - rate * (found[1] - total) for found, _, _ in tried]  # 0 for the first
    k = int(np.argmax([gain.sum() for gain in gains]))
    best = tried[k if gains[k].sum() > SURER * gains[k].std() * len(gold) ** 0.5 else 0]
    weighed = _weighed(model, *best[1])
    return weighed._replace(opinion=model.opinion and replace(model.opinion, share=best[2]))


def _weighed(model: Model, weight: float, spectral: float) -> Model:
    """Return a model with other weights of the vectors and of the spectral head, where it has them."""
    return model._replace(
        vectors=model.vectors and replace(model.vectors, weight=weight),
        spectral=model.spectral and replace(model.spectral, weight=spectral),
    )


def _usable(pairs: Pairs, gold: Sequence[GoldAlignment]) -> tuple[Pairs, Sequence[GoldAlignment]]:
    """Return the pairs of at most LONGEST words a side, and their links."""
    kept = [(pair, links) for pair, links in zip(pairs, gold, strict=True) if max(map(len, pair)) <= LONGEST]
    return [pair for pair, _ in kept], [links for _, links in kept]


def _right_and_all(
    text: Prepared, share: float, gold: Sequence[GoldAlignment]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the error rate of each pair is made of, with a share of the second opinion.

    It is ``1 - right / all``: sure links that are found and found links that are possible, and found links
    and sure ones.
    """
    from nmtalign.models.decoding import Extraction
    from nmtalign.models.learned import align_prepared

    if text.second is not None:
        opinion = replace(text.second.opinion, share=share)
        text = text._replace(second=text.second._replace(opinion=opinion) if share else None)
    batch = align_prepared(text, Extraction(), 1)
    counts = [Counts.of(batch.links(n), links) for n, links in enumerate(gold)]
    right = np.array([own.in_sure + own.in_possible for own in counts], np.float64)
    total = np.array([own.links + own.sure for own in counts], np.float64)
    return right, total
