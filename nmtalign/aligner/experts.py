"""Experts: an encoder, or links that come with the pairs, and how far these links can be trusted.

An expert knows more than the text shows. An aligner that was learned without the expert estimates how far the
expert can be trusted, from the links of which the aligner is sure. The lexicon is then learned again with the
expert's links as prior counts of word pairs, and in decoding the links vote on the posteriors. Votes are for
what counts of word pairs cannot say: which of several occurrences of the same two words are linked. An expert
whose links depend on the two words alone repeats its errors: it does not vote, and counts a word pair once.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from nmtalign.arrays import Doubles, Flags, Longs, Reals
from nmtalign.corpus.parallel import parallel_map
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.unit_fit import LinksCheck
from nmtalign.corpus.units import PairToAlign, expert_links_of
from nmtalign.display import with_plural
from nmtalign.errors import DataError, OnBadPair, UsageError
from nmtalign.files.paths import expand_home
from nmtalign.links.alignments import AlignedBatch, Link, concatenate_batches
from nmtalign.links.inputs import batch_of_links
from nmtalign.names import DeviceName, LinkUnitName, MethodName
from nmtalign.positions.position_model import Posteriors, PosteriorsAndRatios
from nmtalign.settings import EncoderSettings, SourceEncoderSettings, SourceSettings
from nmtalign.state import State, Stored
from nmtalign.text.bitext import Pair, Words, words_between_spaces
from nmtalign.text.tokenization import MAX_TEXT_CHARS
from nmtalign.validation import check_type, quote_parameter

if TYPE_CHECKING:
    from nmtalign.external.links_from import Linker

ENCODER_METHOD: MethodName = "simalign-argmax"  # gives few links, most of them right
MAX_TRUST = 1 - 1e-12  # keeps the log odds of an expert that is always right finite
PAIRS_PER_ENCODER_CALL = 500
MIN_SOFT_COUNT = 0.01  # at 0.001, a prior has up to twice as many word pairs and is no better
MIN_SURE_POSTERIOR = 0.9  # the trust is estimated from the links above this posterior
PRECISION_EXPONENT = 4  # the weight of the expert's links as prior counts is the precision to this power
MIN_PRECISION_WITHOUT_WARNING = 0.5  # the estimate is too high: these experts are right less often
MAX_TRUST_CELLS = 1 << 22  # about the number of cells from which the trust in an expert is estimated
VOTE_SCALE = 1.5  # multiplies the log odds implied by the expert's precision and recall
# Votes, and counts of repeated links, are reduced where the context is lower than the second number. At the
# first, votes are 0, and each word pair counts once. On six texts, links by nearest words had a context of
# 0.1 to 0.4, those of an encoder that was not trained to align words 0.4 to 0.65 where it knew the language,
# and those of one that was, and gold links with errors, 0.6 to 1.
NO_CONTEXT, FULL_CONTEXT = 0.4, 0.7
# pseudo-observations: before any text is seen, an expert has a precision of 0.8 and a recall of 0.6, and its
# votes are not reduced
PSEUDO_LINKS = 5
PSEUDO_RIGHT = 4
PSEUDO_RECALLED = 3
PSEUDO_VARIANCE = 5  # of posteriors
# The more the expert's links vary, the more the posteriors have to say about them; if these do not vary, they
# cannot tell.
PSEUDO_VARIANCE_OF_LINK = 0.2


def paired_with(
    pairs: Iterable[Pair],
    links: Iterable[frozenset[Link]],
    *,
    on_error: OnBadPair | None = None,
    file: str | Path | None = None,
    words_of: Callable[[Pair], tuple[Words, Words]] = words_between_spaces,
    name: LinkUnitName = "words",
) -> Iterator[Any]:
    """Yield pairs with their links; raise DataError if there are fewer or more links than pairs.

    `file` is the file that contains the links; every link must then be inside the words that `words_of` finds
    in its pair, and a warning says where the links seem to count something else; `name` is that of these
    words. With `on_error`, an error of a link is passed on, with the number of the pair, and its links are
    omitted; so are those of a pair without any word, which stands for a bad record.
    """

    def error(text: str) -> DataError:
        return DataError(text) if file is None else DataError(text).at(file)

    remaining_links = iter(links)
    check = LinksCheck(file, name=name, on_error=on_error)
    number = 0
    for number, pair in enumerate(pairs, 1):
        links_of_pair = next(remaining_links, None)
        if links_of_pair is None:
            found = f"found links for only {with_plural(number - 1, 'pair')}, but the bitext has more"
            raise error(f"{found}; write one line per pair, empty where the expert has no opinion")
        source, target = cast(tuple[str, str], pair)  # or two lists of words
        if on_error is not None and not any(pair):
            links_of_pair = frozenset()  # the pair stands for a bad record
        # a pair that is too long is skipped, or rejected, elsewhere
        is_checked = file is not None and max(len(source), len(target)) <= MAX_TEXT_CHARS
        if is_checked and links_of_pair:
            links_of_pair = check.inside(number, links_of_pair, *words_of((source, target)))
        yield PairToAlign(source, target, expert_links=links_of_pair)
    if next(remaining_links, None) is not None:
        raise error(f"expected the links of the expert for {number:,} pairs, found more lines")
    check.finish()


@dataclass(frozen=True, eq=False, repr=False)
class EncoderLinks:
    """The links of an encoder, by a published method."""

    name: str  # name or folder of an encoder of the package transformers
    layer: int = 8  # its states are compared
    device: DeviceName | None = None
    cache: str | Path | None = None
    download: bool = True  # whether the encoder may be downloaded
    method: MethodName = ENCODER_METHOD

    @cached_property
    def _linker(self) -> Linker:
        from nmtalign.external.links_from import encoder_linker

        encoder = SourceEncoderSettings(
            encoder=self.name, layer=self.layer, device=self.device, cache=self.cache
        )
        return encoder_linker(SourceSettings(encoder=encoder, download=self.download, method=self.method))

    @property
    def resolved(self) -> str:
        """The name, or the absolute path of a folder."""
        return str(Path(self.name).resolve()) if Path(self.name).is_dir() else self.name

    def __repr__(self) -> str:
        return f"encoder={self.name} layer={self.layer} method={self.method}"

    def of(self, words: Iterable[tuple[Words, Words]]) -> AlignedBatch:
        """Return the links of pairs of words, each with probability 1."""
        empty = self._linker.align([])  # concatenate_batches needs a batch even if there are no pairs
        return _certain(concatenate_batches([empty, *self._linker.batches(words)]))

    def links_and_counts(self, words: Iterable[tuple[Words, Words]]) -> tuple[AlignedBatch, AlignedBatch]:
        """Return the links of pairs of words, and soft counts of cells, from the same similarities.

        The count of two words is the maximum of `soft_posteriors` over their sub-words.
        """
        from nmtalign.decoding.extraction_methods import Threshold, soft_posteriors

        similarities = list(self._linker.read(words))
        soft = replace(self._linker, posteriors=soft_posteriors, extraction=Threshold(MIN_SOFT_COUNT))
        return _certain(self._linker.align(similarities)), soft.align(similarities)


def _certain(batch: AlignedBatch) -> AlignedBatch:
    return replace(batch, probability=np.ones_like(batch.probability))


class Trust(NamedTuple):
    """What an aligner that was trained without an expert says about the expert's links.

    The references of precision and recall are the links that this aligner is confident about (posterior above
    `MIN_SURE_POSTERIOR`), which are easier than others. The trust determines how strongly the expert's links
    count as prior counts and as votes.
    """

    precision: float  # share of the expert's links that are right, where both words have a sure link
    recall: float  # share of the sure links that the expert has; below 1
    # how far a link depends on the sentences, and not on its two words alone: 0 if all or none of the
    # occurrences of two words are linked, 1 if those are linked that the aligner links
    context: float

    @property
    def independence(self) -> float:
        """How far the links of the same two words are evidence of their own each, from 0 to 1."""
        share = (self.context - NO_CONTEXT) / (FULL_CONTEXT - NO_CONTEXT)
        return min(max(share, 0.0), 1.0)

    @property
    def vote_scale(self) -> float:
        """The factor of the log odds of votes, from 0 to `VOTE_SCALE`."""
        return VOTE_SCALE * self.independence

    @property
    def linked_log_odds(self) -> float:
        """The term that a link of the expert adds to the log odds of a cell; at least 0."""
        return self.vote_scale * max(0.0, math.log(self.precision / (1 - self.precision)))

    @property
    def unlinked_log_odds(self) -> float:
        """The term that a missing link adds to the log odds of a cell; at most 0."""
        return self.vote_scale * math.log(1 - self.recall)

    @property
    def warning(self) -> str | None:
        """A warning if most of the links that the text can judge seem wrong, else None."""
        if self.precision >= MIN_PRECISION_WITHOUT_WARNING:
            return None
        share = f"{100 * self.precision:.0f} % of the expert's links agree"
        found = f"where the text tells which words are linked, {share}"
        return f"{found}; links of so poor an expert may do harm: check the file, or leave the expert out"

    @property
    def weight(self) -> float:
        """The prior count of a link; close to 0 for an expert that is mostly wrong."""
        return self.precision**PRECISION_EXPONENT


@dataclass(frozen=True, eq=False, repr=False)
class Expert:
    """An expert, and how far it can be trusted."""

    encoder: EncoderLinks | None = None  # links tokens; None if links of words come with the pairs
    trust: Trust | None = None  # None until it is estimated from a text

    def __repr__(self) -> str:
        trust = (
            "" if self.trust is None else " precision={:.3g} recall={:.3g} context={:.2g}".format(*self.trust)
        )
        return f"expert=({self.encoder or 'links'}{trust})"

    def links(self, pairs: Sequence[Pair], tokens_of: Callable[[Pair], tuple[Words, Words]]) -> AlignedBatch:
        """Return the links that came with the pairs, or those that the encoder makes of their tokens."""
        if self.encoder is None:
            return batch_of_links(expert_links_of(pair) or () for pair in pairs)
        return self.encoder.of([tokens_of(pair) for pair in pairs])

    def links_and_counts(
        self, pairs: Sequence[Pair], tokens_of: Callable[[Pair], tuple[Words, Words]]
    ) -> tuple[AlignedBatch, ...]:
        """Return the links of pairs; an encoder also returns the soft counts of their word pairs."""
        if self.encoder is None:
            return (self.links(pairs, tokens_of),)
        return self.encoder.links_and_counts(tokens_of(pair) for pair in pairs)

    def state(self) -> State:
        """Return the trust, and the encoder by its name."""
        assert self.trust is not None  # as a fitted aligner has
        values: dict[str, Any] = self.trust._asdict()
        if (encoder := self.encoder) is not None:
            values |= {"encoder": encoder.resolved, "layer": encoder.layer, "method": encoder.method}
        return State("expert", values)

    @classmethod
    def from_state(cls, stored: Stored) -> Expert:
        """Return the expert with a state; its encoder is opened when needed, and never downloaded."""
        trust = Trust(
            precision=stored.number("precision", minimum=0, maximum=MAX_TRUST),
            recall=stored.number("recall", minimum=0, maximum=MAX_TRUST),
            context=stored.number("context", minimum=0, maximum=1),
        )
        if "encoder" not in stored.meta:
            return cls(None, trust)
        encoder = EncoderLinks(
            name=stored.text("encoder"),
            layer=stored.integer("layer", minimum=0, maximum=1000),
            download=False,
            method=cast(MethodName, stored.text("method")),
        )
        return cls(encoder, trust)


def choose_expert(
    older: Expert | None = None,
    *,
    encoder: EncoderSettings = EncoderSettings(),
    has_links: bool = False,
) -> Expert | None:
    """Return the expert that the settings name.

    `has_links` says whether the pairs come with the links of an expert. `older` is the expert of the model:
    the same encoder keeps its trust, and without `encoder`, `device` and `cache` apply to the encoder of the
    model. Raises UsageError if both an encoder and links are given, or settings of an encoder without one.
    """
    if encoder.encoder is not None:
        if has_links:
            raise UsageError("`expert` and `encoder` cannot be combined; remove one")
        return _encoder_expert(older, encoder.encoder, encoder)
    if not encoder.given:
        return Expert() if has_links else older
    if older is None or older.encoder is None or encoder.layer is not None:
        requires = "requires" if len(encoder.given) == 1 else "require"
        names = ", ".join(map(quote_parameter, encoder.given))
        raise UsageError(f"{names} {requires} an encoder: pass `encoder=NAME`")
    stored = older.encoder
    encoder_of_model = replace(
        stored,
        device=encoder.device or stored.device,
        cache=stored.cache if encoder.cache is None else encoder.cache,
    )
    return Expert(encoder_of_model, older.trust)


def _encoder_expert(older: Expert | None, name: str | Path, settings: EncoderSettings) -> Expert:
    """Return an encoder as an expert; the encoder of the older expert keeps its trust."""
    check_type(name, (str, Path), "the name or folder of an encoder")
    new = EncoderLinks(
        name=expand_home(name),
        layer=EncoderLinks.layer if settings.layer is None else settings.layer,
        device=settings.device,
        cache=settings.cache,
    )
    new.of([(["a"], ["a"])])  # opens the encoder, or raises an error that says why this is not possible
    if older is None or str(older.encoder) != str(replace(new, name=new.resolved)):
        return Expert(new)
    return Expert(new, older.trust)


def estimate_trust(
    bucket_posteriors: Callable[[int], PosteriorsAndRatios], text: EncodedText, workers: int
) -> Trust:
    """Return the trust in the expert of a text, from the posteriors of its buckets without votes."""
    size = len(text.word_pairs)

    def agreement(k: int) -> tuple[Doubles, Longs, Doubles]:
        """Return counts of links, the numbers of word pairs (P,), and sums over their cells (6, P)."""
        weights, annotated = text.expert_cells(k)
        linked = weights > 0
        joint = bucket_posteriors(k).posteriors.joint
        sure = (joint > MIN_SURE_POSTERIOR) & annotated
        # links that can be judged: both words have a sure link, to each other or to other words
        comparable = linked & sure.any(axis=1, keepdims=True) & sure.any(axis=0)
        counts = np.array([(linked & sure).sum(), comparable.sum(), sure.sum()], float)

        column = np.nonzero(annotated)[2].astype(np.int64)
        keys = column * size + text.word_pairs.pair_numbers[k][annotated]
        distinct, index, cells = np.unique(keys, return_inverse=True, return_counts=True)
        x = linked[annotated].astype(float)  # 1 for a link of the expert
        p = joint[annotated].astype(float)
        sums = [np.bincount(index, values, len(distinct)) for values in (x, p, x * p, p * p)]
        repeats = cells > 1  # the two words have several cells in a sentence pair
        return counts, distinct % size, np.array([cells, *sums, repeats], float)

    counts = np.zeros(3)
    sums = np.zeros((6, size))
    buckets = range(len(text.buckets))
    for of_bucket in parallel_map(agreement, buckets, workers, work=text.cell_count):
        counts_of_bucket, word_pairs, sums_of_bucket = of_bucket
        counts += counts_of_bucket
        for total, values in zip(sums, sums_of_bucket, strict=True):
            np.add.at(total, word_pairs, values)
    right, comparable, sure = counts.tolist()
    precision = (right + PSEUDO_RIGHT) / (comparable + PSEUDO_LINKS)
    recall = (right + PSEUDO_RECALLED) / (sure + PSEUDO_LINKS)
    return Trust(precision, recall, _context(sums, recall))


def _context(sums: Doubles, recall: float) -> float:
    """Return the slope of the expert's links by the posteriors, among cells of the same words, by the recall.

    `sums` (6, P) are those of :func:`estimate_trust`. If all cells of two words are linked, they say nothing:
    this may be right, or an error that repeats. But if the words have several cells in a sentence pair, not
    all of these can be links.
    """
    some_are_linked = (sums[1] > 0) & (sums[1] < sums[0])
    cells, x, p, xp, pp, _ = sums[:, some_are_linked | (sums[5] > 0)]
    covariance = float((xp - x * p / cells).sum())
    variance = float((pp - p * p / cells).sum())
    variance_of_links = float((x - x * x / cells).sum())
    pseudo_variance = PSEUDO_VARIANCE + PSEUDO_VARIANCE_OF_LINK * variance_of_links
    slope = (covariance + pseudo_variance * FULL_CONTEXT * recall) / (variance + pseudo_variance)
    return min(max(slope / recall, 0.0), 1.0)


def expert_word_counts(
    links: AlignedBatch,
    source: EncodedSide,
    target: EncodedSide,
    trust: Trust,
    counted: Container[tuple[str, str]] = (),
) -> list[tuple[str, str, float]]:
    """Return the linked word pairs, each with its prior count.

    The count is the weight of the trust times n^independence, with the sum n of the probabilities of the
    links. So a word pair counts once, as an entry of a dictionary, if the expert knows only the two words.
    The word pairs of `counted` have a prior count already; theirs is multiplied by the independence, because
    the same knowledge, such as that of the same encoder, must not count twice.
    """
    pair_of_link = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    source_words = source.tokens[source.offsets[pair_of_link] + links.source].astype(np.int64)
    target_words = target.tokens[target.offsets[pair_of_link] + links.target]
    keys = source_words * len(target.words) + target_words
    distinct, rank = np.unique(keys, return_inverse=True)
    sums = np.bincount(rank.reshape(-1), links.probability, len(distinct))
    counts = trust.weight * np.where(sums > 1, sums**trust.independence, sums)
    word_counts = []
    for key, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        s, t = divmod(key, len(target.words))
        word_pair = source.words[s], target.words[t]
        if word_pair in counted:
            count *= trust.independence
        if count > 0:
            word_counts.append((*word_pair, count))
    return word_counts


def with_expert_votes(
    bucket_posteriors: Callable[[int], PosteriorsAndRatios], text: EncodedText, trust: Trust
) -> Callable[[int], PosteriorsAndRatios]:
    """Return a function that computes the posteriors of a bucket with the votes of the text's expert.

    A vote multiplies the odds of a cell by o: p' = p o / (1 - p + p o).
    """
    if text.expert_links is None:
        return bucket_posteriors

    def posteriors_with_votes(k: int) -> PosteriorsAndRatios:
        posteriors, ratios = bucket_posteriors(k)
        weights, annotated = text.expert_cells(k)
        log_odds = np.where(weights > 0, trust.linked_log_odds, trust.unlinked_log_odds)
        odds = np.exp(log_odds, dtype=np.float32)  # (T, S, B)
        p = posteriors.joint
        voted = np.asarray(p * odds / (1 - p + p * odds), p.dtype)
        with_votes = Posteriors(
            forward=_multiply_odds(posteriors.forward, odds, annotated, axis=1),
            reverse=_multiply_odds(posteriors.reverse, odds, annotated, axis=0),
            joint=np.where(annotated, voted, p),
        )
        return PosteriorsAndRatios(with_votes, ratios)

    return posteriors_with_votes


def _multiply_odds(p: Reals, odds: Reals, annotated: Flags, *, axis: int) -> Reals:
    """Multiply posteriors by `odds` in annotated cells, and normalize over the words of an axis and null."""
    weights = p * odds
    null = np.maximum(1 - p.sum(axis=axis, keepdims=True), 0)
    weights /= np.maximum(null + weights.sum(axis=axis, keepdims=True), 1e-30)
    return np.asarray(np.where(annotated, weights, p), p.dtype)
