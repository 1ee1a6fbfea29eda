"""Posteriors that are kept with links: other links are chosen from them without aligning the text again.

Of each section, the cells are kept from which a method may choose: those with a posterior of at least
`MIN_KEPT_POSTERIOR`, and those that a method chooses whatever their posterior. A bit of each cell says which
methods these are, found by the same code that chooses links, so the links are bit-identical to those of an
alignment with that method. There are few cells per word: the posteriors of a word sum to 1.

Axes: N sentence pairs, L kept cells, T target words, S source words, B pairs of a bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Flags, Ints, Longs, Reals, offsets_of, rows_of_runs
from nmtalign.corpus.regrouping import BothRegroupings, regroup_batch
from nmtalign.decoding.decoder import NO_EVIDENCE, Decoder, links_in_order, scores_without_evidence
from nmtalign.decoding.extraction_methods import (
    EXTRACTION_CLASSES,
    Argmax,
    ArgmaxReverse,
    Extraction,
    OneToOne,
    Symmetrized,
    Threshold,
    make_extraction,
)
from nmtalign.decoding.probabilities import PairEvidence
from nmtalign.errors import UsageError
from nmtalign.links.alignments import AlignedBatch
from nmtalign.links.selection import ANY_LINKS, symmetrize_cells
from nmtalign.names import Symmetrization
from nmtalign.settings import LinkSettings

MIN_KEPT_POSTERIOR = 0.01  # cells below it are kept only if a method chooses them without a threshold

_LIKELY = "likely"  # cells with a posterior of at least MIN_KEPT_POSTERIOR
_SECOND = "posterior"  # links of this method without a threshold, with second words and phrases
_DIRECTIONS = (Argmax.name, ArgmaxReverse.name)  # what is symmetrized
_LINKABLE = "linkable"  # cells whose words are known
_CORE = "core"  # cells in the core of their section
CHEAP_METHODS = (*_DIRECTIONS, "mutual")
KEPT_METHODS = (*CHEAP_METHODS, "itermax", "match")
BIT_NAMES = (_LIKELY, _SECOND, *KEPT_METHODS, _LINKABLE, _CORE)
_BITS = {name: np.uint16(1 << n) for n, name in enumerate(BIT_NAMES)}
ALL_BITS = sum(map(int, _BITS.values()))


class Cells(NamedTuple):
    """Kept cells, each column (L,)."""

    source: Ints  # position in the section
    target: Ints
    posterior: Reals  # joint
    probability: Reals  # calibrated, if the cell becomes a link
    flags: AnyArray  # uint16: a bit for each of `BIT_NAMES`

    def rows(self, selected: Longs | Flags) -> Cells:
        """Return some of the cells."""
        columns: Any = (column[selected] for column in self)
        return Cells(*columns)


class BucketCells(NamedTuple):
    """The kept cells of a bucket, and what makes the scores of its sections."""

    section: Ints  # number of the section of each cell
    cells: Cells
    sections: Longs  # numbers of the sections of the bucket
    evidence: Doubles  # see :meth:`Decoder.evidence_of_sections`; 0 where the links make the score


def cells_of_bucket(decoder: Decoder, k: int, methods: Sequence[str]) -> BucketCells:
    """Return the cells of bucket k that are kept for choosing links, by `methods` too.

    The extraction of the decoder is posterior decoding with second words, whose links are kept as well.
    """
    bucket = decoder.text.buckets[k]
    posteriors, ratios = decoder.bucket_posteriors(k)
    decoder = decoder._replace(bucket_posteriors=lambda _: (posteriors, ratios))  # type: ignore[arg-type, return-value]
    joint = posteriors.joint
    flags = np.zeros(bucket.shape, np.uint16)
    flags[(joint >= joint.dtype.type(MIN_KEPT_POSTERIOR)) & bucket.inside] |= _BITS[_LIKELY]
    for name in methods:
        flags[EXTRACTION_CLASSES[name]().mask(posteriors, bucket)] |= _BITS[name]

    chosen, chosen_posterior = decoder.chosen_cells(posteriors, bucket)
    # a word that completes a phrase has the posterior of another word, and so a cell of its own
    is_own = chosen_posterior == posteriors.joint_at(chosen)
    flags[tuple(axis[is_own] for axis in chosen)] |= _BITS[_SECOND]
    t, s, b = np.nonzero(flags)
    flags_of_cells = flags[t, s, b]
    posterior = posteriors.joint_at((t, s, b))
    of_phrases = [axis[~is_own] for axis in chosen]
    t, s, b = (np.concatenate(both) for both in zip((t, s, b), of_phrases, strict=True))
    phrase_flags = np.full(len(of_phrases[0]), _BITS[_SECOND])
    flags_of_cells = np.concatenate([flags_of_cells, phrase_flags])
    posterior = np.concatenate([posterior, chosen_posterior[~is_own]])

    core = decoder.text.sections.core(bucket)
    flags_of_cells[decoder.linkable(k, ratios)[t, s, b]] |= _BITS[_LINKABLE]
    flags_of_cells[... if core is None else core[t, s, b]] |= _BITS[_CORE]
    # a cell outside of the core, or of unknown words, is no link, but the symmetrized directions read it
    may_be_link = _BITS[_LINKABLE] | _BITS[_CORE]
    kept = (flags_of_cells & may_be_link) == may_be_link
    for name in _DIRECTIONS:
        kept |= (flags_of_cells & _BITS[name]) > 0
    t, s, b = t[kept], s[kept], b[kept]
    posterior = posterior[kept]
    flags_of_cells = flags_of_cells[kept]

    probability = posterior
    evidence = np.zeros((len(bucket.filled_columns), len(PairEvidence._fields)))
    if decoder.has_evidence:
        cell_evidence = decoder.cell_evidence(k, ratios)
        if decoder.probabilities is not None:
            probability = decoder.probabilities.of(bucket, b, posterior, cell_evidence[t, s, b])
        evidence = decoder.evidence_of_sections(bucket, posteriors, cell_evidence)
    return BucketCells(
        section=bucket.sections[b].astype(np.int32),
        cells=Cells(s.astype(np.int32), t.astype(np.int32), posterior, probability, flags_of_cells),
        sections=bucket.sections[bucket.filled_columns],
        evidence=evidence,
    )


@dataclass(frozen=True, eq=False, repr=False)
class KeptPosteriors:
    """The kept cells of N sentence pairs, section by section, by target and source word."""

    cells: Cells
    offsets: Longs  # (sections + 1,): the cells of each section
    pair_of_section: Longs  # (sections,), ascending
    start: Longs  # (2, sections): position of the first source and target word of each section in its pair
    source_lengths: Longs  # (N,): tokens of each pair
    target_lengths: Longs
    scores: Doubles | None  # (N,): pair scores; None if they depend on the links
    has_null: bool  # whether there is a null word, on which the default method depends
    methods: tuple[str, ...]  # the methods whose cells are kept
    extraction: Extraction  # the method that the aligner had
    words: BothRegroupings | None = None  # from tokens to the words that links count; None: they count tokens
    pieces: BothRegroupings | None = None  # from these to the pieces that links count

    def __len__(self) -> int:
        return len(self.source_lengths)

    @cached_property
    def section(self) -> Longs:
        """The section of each cell, (L,)."""
        return np.repeat(np.arange(len(self.pair_of_section)), np.diff(self.offsets))

    def _are(self, name: str) -> Flags:
        return np.asarray((self.cells.flags & _BITS[name]) > 0)

    def refusal(self, extraction: Extraction) -> str:
        """Return why the links of a method cannot be chosen from the kept cells; empty if they can."""
        name = _name_of_cells(extraction)
        if name not in (_LIKELY, _SECOND, Symmetrized.name, *self.methods):
            needs = f"`extract={extraction.name}` compares the posteriors of all cells, and few are kept"
            return f"{needs}; align the text again with this method"
        threshold = extraction.effective_threshold
        if name == _LIKELY and threshold is not None and threshold < MIN_KEPT_POSTERIOR:
            kept = f"posteriors are kept from {MIN_KEPT_POSTERIOR:g}, found `threshold={threshold:g}`"
            return f"{kept}; align the text again with this threshold"
        return ""

    def choosing_by(self, links: LinkSettings) -> KeptPosteriors:
        """Return the same posteriors with the method that settings name; without any, with their own."""
        if not links.given:
            return self
        return replace(self, extraction=make_extraction(links, null=self.has_null))

    def choose(self, extraction: Extraction) -> AlignedBatch:
        """Return the links that a method chooses, of the unit that links count; UsageError if it cannot."""
        if refusal := self.refusal(extraction):
            raise UsageError(refusal)
        chosen = self._chosen_by(extraction) & self._are(_LINKABLE) & self._are(_CORE)
        cells = np.flatnonzero(chosen)
        section = self.section[cells]
        posterior = self.cells.posterior[cells]
        pair = self.pair_of_section[section]
        scores = self.scores
        lengths = self.source_lengths, self.target_lengths
        if scores is None:
            section_sums = np.bincount(section, posterior, len(self.pair_of_section))
            pair_sums = np.bincount(self.pair_of_section, section_sums, len(self)).astype(np.float64)
            scores = scores_without_evidence(pair_sums, *lengths)
        source_start, target_start = self.start[:, section]
        links = pair, self.cells.source[cells] + source_start, self.cells.target[cells] + target_start
        has_split_pairs = len(self.pair_of_section) > len(self)
        batch = links_in_order(
            links,
            posterior,
            self.cells.probability[cells],
            lengths,
            one_link=extraction.one_link if has_split_pairs else ANY_LINKS,
            scores=scores,
        )
        batch = regroup_batch(batch, self.words, one_link=extraction.one_link)
        return regroup_batch(batch, self.pieces, one_link=ANY_LINKS)

    def _chosen_by(self, extraction: Extraction) -> Flags:
        """Return which cells a method chooses, among them those that cannot be links."""
        posterior = self.cells.posterior
        name = _name_of_cells(extraction)
        if name == _SECOND:
            return self._are(name)
        chosen = (
            self._symmetrized(extraction.method) if isinstance(extraction, Symmetrized) else self._are(name)
        )
        return np.asarray(chosen & (posterior >= posterior.dtype.type(extraction.effective_threshold or 0)))

    def _symmetrized(self, method: Symmetrization) -> Flags:
        """Return the cells of both directions' best choices, joined by a method."""
        rows = np.stack([self.section, self.cells.source, self.cells.target]).astype(np.int64)
        forward, reverse = (np.flatnonzero(self._are(name)) for name in _DIRECTIONS)
        return symmetrize_cells(rows, forward, reverse, len(self.pair_of_section), method)

    def chosen(self, numbers: Sequence[int]) -> KeptPosteriors:
        """Return the kept posteriors of the pairs with these numbers, in this order."""
        pairs = np.array(numbers, np.int64)
        sections_of_pairs = np.searchsorted(self.pair_of_section, np.arange(len(self) + 1))
        sections = rows_of_runs(sections_of_pairs, pairs)
        section_counts = np.diff(sections_of_pairs)[pairs]
        cells = rows_of_runs(self.offsets, sections)
        return replace(
            self,
            cells=self.cells.rows(cells),
            offsets=offsets_of(np.diff(self.offsets)[sections]),
            pair_of_section=np.repeat(np.arange(len(pairs)), section_counts),
            start=self.start[:, sections],
            source_lengths=self.source_lengths[pairs],
            target_lengths=self.target_lengths[pairs],
            scores=None if self.scores is None else self.scores[pairs],
            words=_of_pairs(self.words, pairs),
            pieces=_of_pairs(self.pieces, pairs),
        )


def choose_from(
    posteriors: KeptPosteriors | None, links: LinkSettings
) -> tuple[KeptPosteriors, AlignedBatch]:
    """Return posteriors with the method that settings name, and its links; UsageError if there are none."""
    if posteriors is None:
        found = "a pickled or saved batch has no aligner, and posteriors only if they were kept"
        raise UsageError(f"{found}; align the pairs again, with `posteriors=True` if the batch is to travel")
    kept = posteriors.choosing_by(links)
    return kept, kept.choose(kept.extraction)


def _of_pairs(regroupings: BothRegroupings | None, pairs: Longs) -> BothRegroupings | None:
    if regroupings is None:
        return None
    return regroupings[0].of_sentences(pairs), regroupings[1].of_sentences(pairs)


def _name_of_cells(extraction: Extraction) -> str:
    """Return the name of the cells among which a method chooses."""
    if isinstance(extraction, Threshold) and not extraction.links_every_word:
        return _LIKELY if extraction.min_second_posterior is None else _SECOND
    return "mutual" if isinstance(extraction, OneToOne) else extraction.name


def keep_posteriors(
    decoder: Decoder,
    cells_of_buckets: Iterable[BucketCells],
    *,
    methods: Sequence[str],
    extraction: Extraction,
    words: BothRegroupings | None,
    pieces: BothRegroupings | None,
) -> KeptPosteriors:
    """Put the cells of all buckets of a text into the order of its sections."""
    buckets = list(cells_of_buckets)
    sections = decoder.text.sections
    columns: Any
    if buckets:
        columns = [np.concatenate(column) for column in zip(*(one.cells for one in buckets), strict=True)]
        section = np.concatenate([one.section for one in buckets])
    else:
        columns = [np.zeros(0, kind) for kind in (np.int32, np.int32, np.float32, np.float32, np.uint16)]
        section = np.zeros(0, np.int32)
    cells = Cells(*columns)
    order = np.lexsort((cells.source, cells.target, section))
    scores = None
    if decoder.has_evidence:
        scores = decoder.scores_of_sections(
            np.concatenate([np.zeros(0, np.int64), *(one.sections for one in buckets)]),
            np.concatenate([NO_EVIDENCE, *(one.evidence for one in buckets)]),
        )
    section_count = len(sections.pair_of_section)
    return KeptPosteriors(
        cells=cells.rows(order),
        offsets=offsets_of(np.bincount(section, minlength=section_count)),
        pair_of_section=sections.pair_of_section,
        start=sections.start,
        source_lengths=sections.source_lengths,
        target_lengths=sections.target_lengths,
        scores=scores,
        has_null=decoder.has_null,
        methods=tuple(methods),
        extraction=extraction,
        words=words,
        pieces=pieces,
    )
