"""From posteriors to the links of a text, bucket by bucket, and to the score of each sentence pair.

Axes: B pairs of a bucket, T target words, S source words, L links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Flags, Floats, Ints, Longs, Reals, offsets_of
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.coverage import foreign_pairs, mean_by_pair
from nmtalign.corpus.parallel import parallel_map
from nmtalign.corpus.sections import Sections
from nmtalign.corpus.text import EncodedText
from nmtalign.decoding.extraction_methods import BucketAttention, Extraction
from nmtalign.decoding.probabilities import (
    MAX_COST,
    MIN_PROBABILITY,
    LinkProbabilities,
    PairEvidence,
    PairFeatures,
    TrainingSize,
    link_evidence,
    surprise_of_words,
)
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothWords,
    UnknownWords,
    make_alignment,
    make_matrix,
)
from nmtalign.links.selection import ANY_LINKS, OneLink, best_cells, best_of_words
from nmtalign.names import CELL_VALUES
from nmtalign.positions.position_model import CellIndices, PosteriorsAndRatios, TextScores
from nmtalign.scorers.dictionary_phrases import Phrases
from nmtalign.text.tokenization import Languages

NO_EVIDENCE: Doubles = np.zeros((0, len(PairEvidence._fields)))  # of no sections


class BucketLinks(NamedTuple):
    """Links of a bucket, each column (L,), and what makes the scores of its sections, (sections,)."""

    link_section: Ints  # number of the section of each link
    source: Ints
    target: Ints
    posterior: Reals  # joint
    probability: Reals
    sections: Longs  # numbers of the sections of the bucket
    evidence: Doubles  # of these sections, (sections, fields of PairEvidence)


class ExtractedLinks(NamedTuple):
    """The links of a bucket that each of several extractions has chosen from the same posteriors."""

    of_extractions: tuple[BucketLinks, ...]

    @property
    def sections(self) -> Longs:
        """Numbers of the sections of the bucket."""
        return self.of_extractions[0].sections


class ScoredLinks(NamedTuple):
    """Links of a bucket with their posterior (L,), and what all of its cells have."""

    cells: CellIndices
    posterior: Reals
    posteriors: BucketAttention
    cell_evidence: Floats | None  # (T, S, B)


class Decoder(NamedTuple):
    """Decodes the buckets of a text: posteriors, links and pair scores."""

    text: EncodedText
    bucket_posteriors: Callable[[int], PosteriorsAndRatios]  # returns the posteriors of bucket k
    extraction: Extraction
    # marks the cells (T, S, B) of bucket k that may have links, see :meth:`TextScores.linkable`
    linkable: Callable[[int, Floats | None], Flags]
    # the scores that the position model has read; links from another program have none
    scores: TextScores | None = None
    has_null: bool = False  # whether there is a null word
    size: TrainingSize = TrainingSize()  # size of the training text; scales pair scores
    probabilities: LinkProbabilities | None = None  # without them, posteriors are the probabilities
    phrases: Phrases | None = None  # complete the links

    @property
    def has_evidence(self) -> bool:
        """Whether the evidence of a pair is known, which is the case with scores and a null word."""
        return self.scores is not None and self.has_null

    def cell_evidence(self, k: int, ratios: Floats | None) -> Floats:
        """Return the evidence of the cells (T, S, B) of bucket k."""
        assert self.scores is not None
        assert ratios is not None
        return self.scores.evidence(k, ratios)

    def scored_links(self, k: int) -> ScoredLinks:
        """Return the links of bucket k, their posterior, and the posteriors and evidence of all cells."""
        bucket = self.text.buckets[k]
        posteriors, ratios = self.bucket_posteriors(k)
        (t, s, b), posterior = self.chosen_cells(posteriors, bucket)
        kept = self.linkable(k, ratios)[t, s, b]
        cells, posterior = (t[kept], s[kept], b[kept]), posterior[kept]
        if self.extraction.links_every_word:
            added = self._partners_of_unlinked(cells, posteriors, bucket)
            posterior = np.concatenate([posterior, posteriors.joint_at(added)])
            t, s, b = (np.concatenate(both) for both in zip(cells, added, strict=True))
            cells = t, s, b
        cell_evidence = self.cell_evidence(k, ratios) if self.has_evidence else None
        return ScoredLinks(cells, posterior, posteriors, cell_evidence)

    def _partners_of_unlinked(
        self, links: CellIndices, posteriors: BucketAttention, bucket: Bucket
    ) -> CellIndices:
        """Return the cells of the words without a link and of their best partners, in the core of a section.

        Of partners that are equally good, as if no word is known, the one nearest to the diagonal is taken.
        """
        core = self.text.sections.core(bucket)
        may_link = bucket.inside if core is None else core  # (T, S, B)
        is_linked = np.zeros(bucket.shape, bool)
        is_linked[links] = True
        is_linked &= may_link
        added = np.zeros(bucket.shape, bool)
        for axis, weights in enumerate((posteriors.reverse, posteriors.forward)):
            inner = np.where(may_link, weights, -np.inf)
            best = best_cells(inner, axis, bucket.source_lengths, bucket.target_lengths)
            added |= best & ~is_linked.any(axis=axis, keepdims=True)
        t, s, b = np.nonzero(added)
        return t, s, b

    def links_of_bucket(self, k: int) -> BucketLinks:
        """Compute the links of bucket k, their probability, and the sums of its pairs."""
        bucket = self.text.buckets[k]
        (t, s, b), posterior, posteriors, cell_evidence = self.scored_links(k)
        probability = posterior
        if cell_evidence is None:
            # without a null word, the sum of the posteriors of the links stands in for the evidence
            core = self.text.sections.core(bucket)  # sections overlap; only the links of their cores count
            weights = posterior if core is None else posterior * core[t, s, b]
            evidence = np.zeros((len(bucket.filled_columns), len(PairEvidence._fields)))
            evidence[:, 0] = np.bincount(b, weights, len(bucket.sections))[bucket.filled_columns]
        else:
            if self.probabilities is not None:
                probability = self.probabilities.of(bucket, b, posterior, cell_evidence[t, s, b])
            evidence = self.evidence_of_sections(bucket, posteriors, cell_evidence)
        return BucketLinks(
            link_section=bucket.sections[b].astype(np.int32),
            source=s.astype(np.int32),
            target=t.astype(np.int32),
            posterior=posterior,
            probability=probability,
            sections=bucket.sections[bucket.filled_columns],
            evidence=evidence,
        )

    def chosen_cells(self, posteriors: BucketAttention, bucket: Bucket) -> tuple[CellIndices, Reals]:
        """Choose links, complete phrases, and return the links with their posterior."""
        cells, posterior = self._likely_cells(posteriors, bucket)
        if self.phrases is None:
            return cells, posterior
        return self.phrases.complete(self.text, bucket, cells, posterior)

    def _likely_cells(self, posteriors: BucketAttention, bucket: Bucket) -> tuple[CellIndices, Reals]:
        """Choose links and return their posterior; punctuation never becomes a second word."""
        (t, s, b), posterior = self.extraction.links(posteriors, bucket)
        second = np.flatnonzero(self.extraction.are_second_words(posterior))
        if not len(second):
            return (t, s, b), posterior
        source_numbers = bucket.source[s[second], b[second]].tolist()
        target_numbers = bucket.target[t[second], b[second]].tolist()
        kept = np.ones(len(posterior), dtype=bool)
        for link, source_number, target_number in zip(second, source_numbers, target_numbers, strict=True):
            source_word = self.text.source.words[source_number]
            target_word = self.text.target.words[target_number]
            kept[link] = _has_word_characters(source_word) and _has_word_characters(target_word)
        return (t[kept], s[kept], b[kept]), posterior[kept]

    def all_links(self, workers: int) -> AlignedBatch:
        """Return the links of all pairs; they do not depend on the number of workers."""
        [batch] = self.links_by_extraction([self.extraction], workers)
        return batch

    def links_by_extraction(self, extractions: Sequence[Extraction], workers: int) -> list[AlignedBatch]:
        """Return the links of all pairs that each of several extractions chooses."""
        buckets = range(len(self.text.buckets))
        extract = partial(self.extracted_links, extractions=extractions)
        found = list(parallel_map(extract, buckets, workers, work=self.text.cell_count))
        return self.collect_extracted(extractions, found)

    def extracted_links(self, k: int, extractions: Sequence[Extraction]) -> ExtractedLinks:
        """Return the links of bucket k that each extraction chooses; posteriors are computed once."""
        of_bucket = self._replace(bucket_posteriors=lru_cache(1)(self.bucket_posteriors))
        found = [of_bucket.with_extraction(extraction).links_of_bucket(k) for extraction in extractions]
        return ExtractedLinks(tuple(found))

    def collect_extracted(
        self, extractions: Sequence[Extraction], links_of_buckets: Sequence[ExtractedLinks]
    ) -> list[AlignedBatch]:
        """Put the links that each extraction has chosen in all buckets into the order of the pairs."""
        batches: list[AlignedBatch] = []
        for number, extraction in enumerate(extractions):
            of_extraction = [links.of_extractions[number] for links in links_of_buckets]
            batches.append(self.with_extraction(extraction).collect_links(of_extraction))
        return batches

    def with_extraction(self, extraction: Extraction) -> Decoder:
        """Return the decoder with another extraction; only second words complete phrases."""
        phrases = None if extraction.min_second_posterior is None else self.phrases
        return self._replace(extraction=extraction, phrases=phrases)

    def collect_links(self, links_of_buckets: Iterable[BucketLinks]) -> AlignedBatch:
        """Put the links of all buckets into the order of the pairs."""
        all_sections = self.text.sections
        no_links = [*[np.zeros(0, np.int64)] * (len(BucketLinks._fields) - 1), NO_EVIDENCE]
        columns = [np.concatenate(column) for column in zip(no_links, *links_of_buckets, strict=True)]
        link_section, source, target, posterior, probability, sections, evidence = columns
        kept, pair, source, target = all_sections.links_in_cores(
            link_section.astype(np.int64), source, target
        )
        return links_in_order(
            (pair, source, target),
            posterior[kept],
            probability[kept],
            (all_sections.source_lengths, all_sections.target_lengths),
            # the sections of a long pair overlap, so a word may have a link in each of several sections
            one_link=self.extraction.one_link if all_sections.has_split_pairs else ANY_LINKS,
            scores=self.scores_of_sections(sections, evidence),
        )

    def evidence_of_sections(
        self, bucket: Bucket, posteriors: BucketAttention, cell_evidence: Floats
    ) -> Doubles:
        """Return the :class:`PairEvidence` of the sections of a bucket, (sections, fields).

        Sections overlap; only the words of their cores count.
        """
        assert self.scores is not None
        source_surprise, target_surprise = self.scores.null_surprise
        of_source = source_surprise[bucket.source]
        of_target = target_surprise[bucket.target]
        core_words = self.text.sections.core_words(bucket)
        if core_words is not None:
            is_core_source, is_core_target = core_words
            of_source = of_source * is_core_source
            of_target = of_target * is_core_target
            cell_evidence = cell_evidence * (is_core_target[:, None] & is_core_source)
        evidence = PairEvidence(
            forward=link_evidence(posteriors.forward, cell_evidence),
            reverse=link_evidence(posteriors.reverse, cell_evidence),
            source_surprise=surprise_of_words(posteriors.reverse.sum(axis=0), of_source),
            target_surprise=surprise_of_words(posteriors.forward.sum(axis=1), of_target),
        )
        return np.stack(evidence, axis=1)[bucket.filled_columns]

    def pair_features(self, section: Longs, evidence: Doubles) -> PairFeatures:
        """Return the features of all pairs, from the evidence of sections; `has_evidence` must be true."""
        assert self.scores is not None
        sections = self.text.sections
        order = np.argsort(section)  # so that a sum does not depend on the other pairs of the text
        section = section[order]
        columns = [sections.sum_by_pair(section, column) for column in evidence[order].T]
        source, target = self.text.source, self.text.target
        of_source, of_target = self.scores.foreignness
        return PairFeatures(
            evidence=PairEvidence(*columns),
            foreignness=(
                mean_by_pair(self.text, source, of_source),
                mean_by_pair(self.text, target, of_target),
            ),
            lengths=self._lengths,
            size=self.size,
        )

    def features_of_text(self) -> PairFeatures:
        """Return the features of all pairs; `has_evidence` must be true."""
        evidence: list[Doubles] = [NO_EVIDENCE]
        filled_sections: list[Longs] = [np.zeros(0, np.int64)]
        for k, bucket in enumerate(self.text.buckets):
            posteriors, ratios = self.bucket_posteriors(k)
            evidence.append(self.evidence_of_sections(bucket, posteriors, self.cell_evidence(k, ratios)))
            filled_sections.append(bucket.sections[bucket.filled_columns])
        return self.pair_features(np.concatenate(filled_sections), np.concatenate(evidence))

    @property
    def _lengths(self) -> tuple[Longs, Longs]:
        """Number of source words and of target words of each pair."""
        return self.text.sections.source_lengths, self.text.sections.target_lengths

    def scores_of_sections(self, section: Longs, evidence: Doubles) -> Doubles:
        """Return the score of each pair: the probability that it is parallel.

        The score is 0 if no word of a side is known. Without a null word, it is the sum of the link
        probabilities over the mean length of both sides, and the first column of `evidence` has these sums.
        """
        if not self.has_evidence:
            order = np.argsort(section)  # so that a sum does not depend on the other pairs of the text
            sums = self.text.sections.sum_by_pair(section[order], evidence[order, 0])
            return scores_without_evidence(sums, *self._lengths)
        assert self.scores is not None
        scores = self.pair_features(section, evidence).probability()
        if self.scores.vocabularies is not None:  # otherwise, all words are known
            scores[foreign_pairs(self.text, self.scores.vocabularies)] = 0
        return scores

    def pair_costs(self) -> Doubles:
        """Return two costs of each pair, of shape (N, 2); see :meth:`PairFeatures.costs`.

        Where there is no null word, both are ``-logit`` of the pair score.
        """
        if not self.has_evidence:
            least = np.exp(-MAX_COST)
            scores = np.clip(self.all_links(1).scores, least, 1 - MIN_PROBABILITY)
            cost = np.minimum(np.log(1 - scores) - np.log(scores), MAX_COST)
            return np.stack([cost, cost], axis=1)
        costs = self.features_of_text().costs()
        assert self.scores is not None
        if self.scores.vocabularies is not None:
            costs[foreign_pairs(self.text, self.scores.vocabularies)] = MAX_COST
        return costs

    def pairs_with_attention(
        self,
        words: Sequence[BothWords],
        description: str,
        *,
        unknown: Sequence[UnknownWords | None],
        default_values: str,
        caption: str = "",
        languages: Languages = (None, None),
    ) -> list[AlignedPair]:
        """Return the pairs of the text with their attention weights; `words` are those to show.

        The other arguments are those of :class:`AlignmentMatrix` and :class:`AlignedPair`.
        """
        names = [name for name in CELL_VALUES if name != "scores" or self.scores]
        batch, arrays = self.links_and_values(names)
        probabilities = np.split(batch.probability, batch.offsets[1:-1])
        pairs = []
        for n, sides in enumerate(words):
            links = batch.links(n)
            weights: dict[str, Any] = {name: of_pairs[n] for name, of_pairs in arrays.items()}
            pair = AlignedPair(
                make_alignment(frozenset(links), *map(len, sides)),
                make_matrix(weights.pop("combined"), *sides, unknown[n], caption),
                **weights,
                probabilities=dict(zip(links, probabilities[n].tolist(), strict=True)),
                score=float(batch.scores[n]),
                description=description,
                extraction=self.extraction.rule,
                threshold=self.extraction.effective_threshold,
                second=self.extraction.min_second_posterior,
                default_values=default_values,
                languages=languages,
            )
            pairs.append(pair)
        return pairs

    def links_and_values(self, names: Sequence[str]) -> tuple[AlignedBatch, dict[str, list[AnyArray]]]:
        """Return the links of the text, and the values (T, S) of each pair by their name in `CELL_VALUES`.

        ``combined`` are the weights that links are chosen from (with `symmetrize`, which chooses from both
        directions, the joint ones); ``linkable`` marks cells that may have a link.
        Scores are NaN in cells that no section of a long pair has.
        """
        # the posteriors of a bucket serve its arrays and its links
        cached_decoder = self._replace(bucket_posteriors=lru_cache(1)(self.bucket_posteriors))
        links: list[BucketLinks] = []
        arrays: dict[str, list[AnyArray]] = {}
        for k, bucket in enumerate(self.text.buckets):
            for name in names:
                values = cached_decoder._values(name, k)
                if name not in arrays:
                    arrays[name] = self._empty(name, values.dtype)
                self.text.sections.copy_cores_into(arrays[name], bucket, values)
            links.append(cached_decoder.links_of_bucket(k))
        for name in names:
            _normalize(arrays.setdefault(name, self._empty(name)), self.text.sections, name)
        return self.collect_links(links), arrays

    def _empty(self, name: str, dtype: Any = np.float32) -> list[AnyArray]:
        """Return an array (T, S) for each pair, with the value of the cells that no section has."""
        sections = self.text.sections
        sizes = zip(sections.target_lengths.tolist(), sections.source_lengths.tolist(), strict=True)
        fill_value = {"scores": np.nan, "linkable": True}.get(name, 0)
        return [np.full(size, fill_value, dtype) for size in sizes]

    def _values(self, name: str, k: int) -> AnyArray:
        """Return values (T, S, B) of bucket k."""
        if name == "scores":
            assert self.scores is not None
            return self.scores.shown_scores(k)
        posteriors, ratios = self.bucket_posteriors(k)
        if name == "linkable":
            return self.linkable(k, ratios)
        if name == "combined":
            return self.extraction.matrix(posteriors)
        return posteriors.forward if name == "forward" else posteriors.reverse


def links_in_order(
    links: tuple[Longs, Longs, Longs],
    posterior: Reals,
    probability: Reals,
    lengths: tuple[Longs, Longs],
    *,
    one_link: OneLink,
    scores: Doubles,
) -> AlignedBatch:
    """Return links, each (pair, source, target) of shape (L,), in the order of a batch.

    `lengths` (N,) are in source and target words. Links that `one_link` excludes are omitted: those with a
    lower posterior.
    """
    pair, source, target = links
    if any(one_link):
        S, T = lengths
        best = best_of_words(links, posterior, (S[pair], T[pair]), one_link)
        pair = pair[best]
        source = source[best]
        target = target[best]
        probability = probability[best]
    order = np.lexsort((target, source, pair))
    return AlignedBatch(
        offsets=offsets_of(np.bincount(pair, minlength=len(scores))),
        source=source[order].astype(np.int32),
        target=target[order].astype(np.int32),
        probability=probability[order].astype(np.float32),
        scores=scores,
    )


def scores_without_evidence(pair_sums: Doubles, source_lengths: Longs, target_lengths: Longs) -> Doubles:
    """Return the score of each pair from the sums of the posteriors of its links."""
    return np.asarray(2 * pair_sums / np.maximum(source_lengths + target_lengths, 1))


def _has_word_characters(token: str) -> bool:
    """Return whether a token has a letter or a digit, so that it is not punctuation."""
    return any(map(str.isalnum, token))


def _normalize(arrays: Sequence[Reals], sections: Sections, name: str) -> None:
    """Scale the rows of `forward`, or the columns of `reverse`, whose sum exceeds 1 to the sum 1, in place.

    A word of a long pair may be in several cores, and each of them has added posteriors.
    """
    axis = {"forward": 1, "reverse": 0}.get(name)
    if axis is None:
        return
    section_counts = np.bincount(sections.pair_of_section, minlength=sections.pair_count)
    for n in np.flatnonzero(section_counts > 1).tolist():
        sums = arrays[n].sum(axis=axis, keepdims=True)
        arrays[n] /= np.maximum(sums, 1)
