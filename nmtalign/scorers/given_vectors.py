"""Given word vectors as the only scorer of an aligner: attention scores of the words of a sentence pair.

Dot products do not depend on the order of their sums (:func:`nmtalign.scorers.vector_scores.exact_rows`), so
equal words get equal scores, and the scores of a pair do not depend on its bucket. Vectors in single
precision are rounded to 26 bits of their length; vectors in double precision keep all their bits.

Axes: B pairs of a bucket, T target words, S source words, N words, V words of a vocabulary, with the
padding as word 0, D size of a prepared vector, P word pairs. A vector may be prepared in parts
(:func:`nmtalign.scorers.vector_scores.exact_parts`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Flags, Floats, Reals, block_slices
from nmtalign.corpus.buckets import PADDING_SCORE
from nmtalign.corpus.coverage import Coverage, SideCoverage, measure_coverage
from nmtalign.corpus.sections import Sections
from nmtalign.corpus.sides import EncodedSide, WordForms
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import DataError
from nmtalign.names import SIDES
from nmtalign.positions.e_step import fit_jump_models
from nmtalign.positions.hmm import DEFAULT_NULL, HiddenMarkov
from nmtalign.positions.jumps import BothJumpModels
from nmtalign.positions.position_model import MAX_SCORE, TextScores
from nmtalign.scorers.dense import fit_temperature
from nmtalign.scorers.scorer import Scorer, TokenizedPairs
from nmtalign.scorers.vector_scores import VectorScore, exact_parts, products_of_parts
from nmtalign.state import State, Stored
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings

NUMBERS_PER_GATHER = 1 << 16  # gathered vectors then fit the second-level cache
MAX_REFERENCE_WORDS, MAX_COSTLY_REFERENCE_WORDS = 1024, 128  # log Z sums over so many frequent words
MIN_REFERENCE_SHARE = 1e-15  # every reference word of a model occurs
WORDS_PER_NORM_BLOCK = 4096


class Reference(NamedTuple):
    """Frequent words that log Z sums over, and their shares, which sum to 1."""

    words: Sequence[str]
    share: Doubles

    @classmethod
    def from_counts(cls, words: Sequence[str], counts: Doubles) -> Reference:
        """Return words with their shares of the sum of their counts."""
        return cls(words, counts / max(counts.sum(), 1e-9))

    def first(self, limit: int) -> Reference:
        """Return the first of the words, which are the most frequent ones."""
        return Reference.from_counts(self.words[:limit], self.share[:limit])


@dataclass(frozen=True, eq=False, repr=False)
class VectorScorer(Scorer):
    """Word vectors of two languages in one space, and the attention score that compares them."""

    # vectors of equal norm
    source: Embeddings
    target: Embeddings
    score: VectorScore
    # frequent source and target words of the fitted text; None takes the first words of the vectors
    references: tuple[Reference, ...] | None = None
    fits_temperature: bool = False  # whether to fit the temperature to a text
    # (D,): the product of the vector of a word and this one, times the scale of the score, is log Z without a
    # text; with references as well, log Z is the mean of both
    background: Floats | None = None

    names: ClassVar[tuple[str, ...]] = ("embeddings",)

    @property
    def description(self) -> str:
        return f"{self.score.description} unknown={self.source.unknown}"

    @property
    def caption(self) -> str:
        return self.score.caption

    def state(self) -> State:
        shares: dict[str, AnyArray] = {}
        words = {}
        if self.background is not None:
            shares["background"] = self.background
        if self.references is not None:
            for side, reference in zip(SIDES, self.references, strict=True):
                shares[f"{side}_share"] = reference.share
                words[f"{side}_reference"] = reference.words
        parts = {"source": self.source.state(), "target": self.target.state(), "score": self.score.state()}
        values = {"tune": self.fits_temperature, "background": self.background is not None}
        return State("vectors", values=values, arrays=shares, words=words, parts=parts)

    @classmethod
    def from_state(cls, stored: Stored) -> VectorScorer:
        source, target = stored.open("source"), stored.open("target")
        references = []
        for side in SIDES if stored.meta["lists"] else ():
            words = stored.words(f"{side}_reference")
            share = stored.array(f"{side}_share", "f", (len(words),), minimum=MIN_REFERENCE_SHARE, maximum=1)
            references.append(Reference(words, share))
        score = stored.open("score", source.dimension)
        background = None
        if stored.value("background", bool):
            background = stored.array("background", "f", (source.dimension,))
        return cls(source, target, score, tuple(references) or None, stored.value("tune", bool), background)

    def with_back_off(self) -> VectorScorer:
        """Return the scorer with vectors for unknown words, on sides that have none for these."""
        return replace(self, source=self.source.with_back_off(), target=self.target.with_back_off())

    def fitted(
        self, pairs: TokenizedPairs, workers: int, jump_models: BothJumpModels
    ) -> tuple[Scorer, HiddenMarkov]:
        """Fit the temperature, if `fits_temperature` is set, and the jump models of the HMM."""

        def table(text: EncodedText) -> Floats:
            """Return the scores of all source words with all target words of a text."""
            keys, queries = self._prepared(*self._vectors(text.source.words, text.target.words))
            return np.asarray(self.score(queries, keys), dtype=np.float32).T

        scale = self.score.scale
        if self.fits_temperature:
            factor, jump_models = fit_temperature(pairs, table, workers)
            scale *= factor
        text = encode_text(pairs)
        references = _reference_of(text.source), _reference_of(text.target)
        score = replace(self.score, scale=scale)
        scorer = replace(self, score=score, references=references)
        jump_models = fit_jump_models(scorer.score_text(text), jump_models, workers)
        null = DEFAULT_NULL if self.score.null is None else self.score.null
        return scorer, HiddenMarkov(jump_models, ({}, {}), null, fitted_pairs=len(pairs))

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        return self.source.own_words, self.target.own_words

    def coverage_of(
        self, source: EncodedSide, target: EncodedSide, sections: Sections | None = None
    ) -> Coverage:
        """Count the words that have a vector of their own; no other word can be linked.

        If all words have one, none is counted.
        """
        coverage = measure_coverage(source, target, self.vocabularies, sections, every_word=True)
        if _knows_all_words(self.source):
            coverage = coverage._replace(source=SideCoverage())
        if _knows_all_words(self.target):
            coverage = coverage._replace(target=SideCoverage())
        return coverage

    def word_forms(self, text_settings: TextSettings) -> tuple[WordForms, WordForms]:
        return partial(self.source.forms, text_settings=text_settings), partial(
            self.target.forms, text_settings=text_settings
        )

    def unknown(self, source: Sequence[str], target: Sequence[str]) -> tuple[frozenset[int], frozenset[int]]:
        source_known, target_known = _known(*self._vectors(source, target))
        unknown_source = frozenset(np.flatnonzero(~source_known).tolist())
        unknown_target = frozenset(np.flatnonzero(~target_known).tolist())
        return unknown_source, unknown_target

    def score_text(self, text: EncodedText) -> CellScores:
        source, target = self._vectors(text.source.words, text.target.words)
        source_known, target_known = _known(source, target)
        # the padding is spelled like the empty word, which may have a vector
        source_known[0] = False
        target_known[0] = False
        keys, queries = self._prepared(source, target)
        return CellScores(text, keys, queries, scorer=self, known=(source_known, target_known))

    def _vectors(self, source: Sequence[str], target: Sequence[str]) -> tuple[Floats, Floats]:
        vectors = self.source.vectors(source), self.target.vectors(target)
        for name, side, words in zip(SIDES, vectors, (source, target), strict=True):
            wrong = np.flatnonzero(~np.isfinite(side).all(axis=1))
            if len(wrong):
                raise DataError(f"the vector of the {name} word {words[wrong[0]]!r} contains NaN or infinity")
        return vectors

    def _prepared(self, source: Floats, target: Floats) -> tuple[Doubles, Doubles]:
        """Return the prepared vectors of source and target words, each (N, D) or (N, parts, D)."""
        precision = np.result_type(source, target)
        keys = self.score.keys(source.astype(precision, copy=False))
        queries = self.score.queries(target.astype(precision, copy=False))
        return np.asarray(keys, np.float64), np.asarray(queries, np.float64)

    @cached_property
    def reference_vectors_and_shares(self) -> tuple[tuple[Doubles, Doubles], tuple[Doubles, Doubles]]:
        """Prepared vectors of the reference words of both sides, and the shares of the words.

        The references are by default the first words of the vectors, with equal shares.
        """
        limit = MAX_COSTLY_REFERENCE_WORDS if self.score.is_costly else MAX_REFERENCE_WORDS
        if self.references is None:
            source = _first_words(self.source, limit)
            target = _first_words(self.target, limit)
        else:
            source = self.references[0].first(limit)
            target = self.references[1].first(limit)
        prepared = self._prepared(*self._vectors(source.words, target.words))
        return prepared, (source.share, target.share)


def _knows_all_words(embeddings: Embeddings) -> bool:
    return embeddings.subwords is not None and embeddings.subwords.know_all_words


def _first_words(vectors: Embeddings, limit: int) -> Reference:
    """Return the first words of vectors, with equal shares."""
    words = vectors.first(limit).vocabulary.words
    return Reference.from_counts(words, np.ones(len(words)))


def _reference_of(side: EncodedSide) -> Reference:
    """Return the most frequent words of a side of a text; word 0 is the padding."""
    words = side.words[1 : MAX_REFERENCE_WORDS + 1]
    counts = side.counts[1 : MAX_REFERENCE_WORDS + 1]
    return Reference.from_counts(words, counts.astype(np.float64))


def _known(source: Floats, target: Floats) -> tuple[Flags, Flags]:
    """Mark the words whose vector is not zero."""
    return np.any(source != 0, axis=1), np.any(target != 0, axis=1)


def _log_mean(scores: Reals, share: Doubles) -> Floats:
    """Return the logarithm of the mean of exp(scores) over the last axis, row by row."""
    likelihood = np.ascontiguousarray(np.clip(scores, -MAX_SCORE, MAX_SCORE))
    np.exp(likelihood, out=likelihood)
    likelihood *= share
    return np.asarray(np.log(likelihood.sum(axis=1)), dtype=np.float32)


@dataclass(frozen=True, eq=False, repr=False)
class CellScores(TextScores):
    """Scores of a text by word vectors: `keys` of source words, `queries` of target words, (V, D) each.

    Dot products have vectors in parts, (V, parts, D).
    """

    text: EncodedText
    keys: Doubles
    queries: Doubles
    scorer: VectorScorer
    known: tuple[Flags, Flags]  # source and target words with a vector, each (V,)

    def prepare(self, *, ratios: bool) -> None:
        if ratios:
            _ = self._log_norms  # computed before processes are forked
        if self.scorer.score.is_costly:
            _ = self._score_of_word_pair

    def scores(self, k: int) -> Doubles:
        bucket = self.text.buckets[k]
        if self.scorer.score.is_costly:
            scores = self._score_of_word_pair.take(self.text.word_pairs.pair_numbers[k])
            return np.where(bucket.inside, scores, PADDING_SCORE)
        T, S, B = bucket.shape
        scores = np.empty((T, S, B))
        columns_per_block = max(1, NUMBERS_PER_GATHER // ((T + S) * self.keys[0].size))
        for columns in block_slices(B, columns_per_block):
            queries = self.queries[bucket.target[:, columns].T]  # (B, T, D) or (B, T, parts, D)
            keys = self.keys[bucket.source[:, columns].T]
            scores[..., columns] = self.scorer.score(queries, keys).transpose(1, 2, 0)
        np.clip(scores, PADDING_SCORE / 10, -PADDING_SCORE / 10, out=scores)  # the padding scores lowest
        scores[~bucket.inside] = PADDING_SCORE
        return scores

    def shown_scores(self, k: int) -> Reals:
        """Return the scores of bucket k in single precision if each vector is one part.

        The grid that makes dot products exact then has 26 bits of the length of a vector.
        """
        scores = self.scores(k)
        has_one_part = self.keys.ndim == 3 and self.keys.shape[1] == 1
        return scores.astype(np.float32) if has_one_part else scores

    def ratios(self, k: int) -> Floats:
        bucket = self.text.buckets[k]
        of_source, of_target = self._log_norms
        logits = np.clip(self.scores(k), -MAX_SCORE, MAX_SCORE).astype(np.float32)
        logits -= (of_source[bucket.source] + of_target[bucket.target][:, None]) / 2
        return np.asarray(np.exp(logits, out=logits) * bucket.inside)

    def linkable(self, k: int, ratios: Floats | None) -> Flags:
        """Mark the cells (T, S, B) of bucket k that may have links.

        Without ratios both words have a vector. A hidden Markov model gives ratios, and its neighbors place a
        word without a vector: one of both has a vector then, in pairs with known words on both sides.
        """
        bucket = self.text.buckets[k]
        source, target = self.known[0][bucket.source], self.known[1][bucket.target]
        if ratios is None:
            return np.asarray(target[:, None] & source)
        return np.asarray((target[:, None] | source) & (source.any(axis=0) & target.any(axis=0)))

    @cached_property
    def _score_of_word_pair(self) -> Doubles:
        """Score of each word pair (P,), computed once because the score is costly."""
        word_pairs = self.text.word_pairs
        scores = np.empty(len(word_pairs))
        pairs_per_block = max(1, NUMBERS_PER_GATHER // self.keys[0].size)
        for block in block_slices(len(word_pairs), pairs_per_block):
            queries = self.queries[word_pairs.target[block]]
            keys = self.keys[word_pairs.source[block]]
            scores[block] = self.scorer.score(queries[:, None], keys[:, None])[:, 0, 0]
        return scores

    @cached_property
    def _log_norms(self) -> tuple[Floats, Floats]:
        """log Z of source and of target words."""
        background = self.scorer.background
        if background is None:
            return self._log_norms_of_references
        scale = self.scorer.score.scale
        vector = exact_parts(background[None].astype(np.float64), 1)  # (1, 1, D)
        of_source = scale * products_of_parts(vector, self.keys)[0]  # (V,)
        of_target = scale * products_of_parts(vector, self.queries)[0]
        if self.scorer.references is not None:
            source_norms, target_norms = self._log_norms_of_references
            of_source = (of_source + source_norms) / 2
            of_target = (of_target + target_norms) / 2
        return of_source.astype(np.float32), of_target.astype(np.float32)

    @cached_property
    def _log_norms_of_references(self) -> tuple[Floats, Floats]:
        """log Z of source and of target words, as sums over the reference words."""
        score = self.scorer.score
        (reference_keys, reference_queries), (source_shares, target_shares) = (
            self.scorer.reference_vectors_and_shares
        )
        source_norms = np.empty(len(self.keys), np.float32)
        for block in block_slices(len(self.keys), WORDS_PER_NORM_BLOCK):
            source_norms[block] = _log_mean(score(reference_queries, self.keys[block]).T, target_shares)
        target_norms = np.empty(len(self.queries), np.float32)
        for block in block_slices(len(self.queries), WORDS_PER_NORM_BLOCK):
            target_norms[block] = _log_mean(score(self.queries[block], reference_keys), source_shares)
        return source_norms, target_norms
