"""The aligner: scores of word pairs, posteriors by a position model, links by an extraction.

Axes: T target words, S source words.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nmtalign.aligner.decoding import BucketLinks, Decoder
from nmtalign.aligner.extraction import Extraction
from nmtalign.aligner.model_folder import read_model, save_aligner
from nmtalign.aligner.pair_scores import TrainingSize
from nmtalign.contextual.encoder import EncoderSimilarities
from nmtalign.contextual.head import NAME, ContextualHead
from nmtalign.contextual.published import Published
from nmtalign.corpus.coverage import Coverage, coverage
from nmtalign.corpus.parallel import default_workers, in_order
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import UsageError
from nmtalign.heads.embeddings import EmbeddingHead
from nmtalign.heads.lexicon import Lexicon
from nmtalign.heads.mixture import Mixture
from nmtalign.links.alignments import AlignedBatch, AlignedPair
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.model import BucketPosteriors, Posteriors, TextScores
from nmtalign.positions.softmax import SoftmaxPositions
from nmtalign.rescoring.rescorer import Rescorer
from nmtalign.text.pairs import Pair, Pairs, Sentence, Words, checked_pair, checked_pairs
from nmtalign.text.tokenization import TextSettings
from nmtalign.views import Listed

CELLS = 1 << 23  # of the buckets of a text that are scored at a time

UnknownWords = tuple[frozenset[int], frozenset[int]]  # positions in source and target


@dataclass(frozen=True)
class Aligner(Listed):
    """Aligns the words of sentence pairs.

    Parameters
    ----------
    heads : Mixture, EmbeddingHead or ContextualHead
        Scores of word pairs.
    positions : SoftmaxPositions, HiddenMarkov or Published, optional
        Posteriors from scores; a softmax without a prior if left out.
    extraction : Extraction, optional
        How links are chosen.
    text : TextSettings, optional
        How lines become words.
    languages : (str or None, str or None), optional
        Source and target language, where known; tokenisers may use them.
    training : mapping, optional
        Settings and corpus it was learned with.
    rescorer : Rescorer, optional
        Rescores the posteriors.
    workers : int, optional
        Threads or processes; the links do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from nmtalign.heads.scoring import make_scorer
    >>> from nmtalign.text.vocabulary import Vocabulary
    >>> from nmtalign.vectors.embeddings import Embeddings
    >>> english = Embeddings(Vocabulary.from_words(["cat", "black"]), np.eye(2))
    >>> french = Embeddings(Vocabulary.from_words(["noir", "chat"]), np.eye(2)[::-1].copy())
    >>> aligner = Aligner(EmbeddingHead(english, french, make_scorer("cosine", 2)))
    >>> aligner.align("Black cat", "chat noir").links
    [Link(source=0, target=1), Link(source=1, target=0)]
    """

    heads: Mixture | EmbeddingHead | ContextualHead
    positions: SoftmaxPositions | HiddenMarkov | Published = field(default_factory=SoftmaxPositions)
    extraction: Extraction = field(default_factory=Extraction)
    text: TextSettings = field(default_factory=TextSettings)
    languages: tuple[str | None, str | None] = (None, None)
    training: Mapping[str, Any] = field(default_factory=dict)
    rescorer: Rescorer | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        default_workers(self.workers)

    @property
    def settings(self) -> str:
        """The settings that make the links, in one line."""
        learned = f" pairs={self.training['corpus'].get('pairs', 0)}" if "corpus" in self.training else ""
        parts = f"{self.head_settings}{learned} {self.positions.settings} {self.resolved_extraction}"
        return f"{parts} text={self.text}"

    @property
    def head_settings(self) -> str:
        """The heads of a learned aligner, the rescorer among them, and what else makes the scores."""
        if isinstance(self.heads, EmbeddingHead):
            return self.heads.settings
        return f"heads={','.join(self.head_names)} {self.heads.settings}"

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon of a learned aligner; UsageError over given vectors."""
        return self.mixture.lexicon

    @property
    def mixture(self) -> Mixture:
        """The heads of a learned aligner; errors as of :attr:`lexicon`."""
        learned = self._learned
        if learned is not None:
            return learned
        raise UsageError("word vectors have no lexicon; learn an aligner from a bitext")

    @property
    def _learned(self) -> Mixture | None:
        """The heads of a learned aligner, perhaps mixed with the contextual one; None if there are none."""
        heads = self.base.heads
        return heads if isinstance(heads, Mixture) else None

    @property
    def base(self) -> Aligner:
        """The aligner without the contextual head that is mixed with its own ones."""
        head = self.heads
        return replace(self, heads=head.base, text=head.text) if isinstance(head, ContextualHead) else self

    @property
    def encoder(self) -> EncoderSimilarities | None:
        """What reads the text by an encoder; None if nothing does."""
        source = self.heads.source if isinstance(self.heads, ContextualHead) else None
        return source if isinstance(source, EncoderSimilarities) else None

    @property
    def needs_fitting(self) -> bool:
        """Whether something is to be fitted to a text before it is aligned."""
        if isinstance(self.heads, ContextualHead):
            return self.heads.calibration is None and not isinstance(self.positions, Published)
        return isinstance(self.positions, HiddenMarkov) and self.positions.fitted == 0

    @property
    def resolved_extraction(self) -> Extraction:
        """The extraction, with the default method where none is named."""
        return self.extraction.resolved(null=self.positions.has_null)

    def with_heads(self, names: str | Iterable[str]) -> Aligner:
        """Return an aligner by one or some heads of a learned model; UsageError if one is missing."""
        wanted = {names} if isinstance(names, str) else {str(name) for name in names}
        if isinstance(self.heads, ContextualHead):
            return self._with_context(wanted, self.heads)
        if not isinstance(self.heads, Mixture):
            raise UsageError("word vectors are one head; only a learned model has several to choose from")
        missing = sorted(wanted - set(self.head_names))
        if missing or not wanted:
            found = f"this model has the heads {','.join(self.head_names)}, not {','.join(missing) or 'none'}"
            raise UsageError(found)
        if self.rescorer is None or self.rescorer.name not in wanted:
            return replace(self, heads=self.heads.chosen(wanted), rescorer=None)
        if wanted == {self.rescorer.name}:
            return replace(self, rescorer=self.rescorer.alone())
        if self.rescorer.needs_vectors and "spectral" not in wanted:
            name = self.rescorer.name
            raise UsageError(f"the rescorer {name} looks at the vectors of the head spectral; name it too")
        return replace(self, heads=self.heads.chosen(wanted - {self.rescorer.name}))

    def _with_context(self, wanted: set[str], head: ContextualHead) -> Aligner:
        """Return an aligner by some of the heads beside the contextual one, and perhaps this."""
        if wanted == {NAME}:
            return replace(self, heads=head.alone(), rescorer=None)
        base = self.base.with_heads(wanted - {NAME})
        return replace(base, heads=replace(head, base=base.heads), text=self.text) if NAME in wanted else base

    def at(self, number: int) -> Aligner:
        """Return the aligner for a text whose first pair has this number in the bitext, from 1."""
        if isinstance(self.heads, ContextualHead):
            return replace(self, heads=self.heads.at(number))
        return self

    @property
    def head_names(self) -> tuple[str, ...]:
        """Names of the heads, and of the rescorer after them."""
        if self.rescorer is None:
            return self.heads.names
        return (self.rescorer.name,) if self.rescorer.weight == 1 else (*self.heads.names, self.rescorer.name)

    def save(self, folder: str | Path) -> None:
        """Write a learned aligner into a folder; an older one there is replaced when the new one is whole."""
        save_aligner(self, folder)

    def align(self, source: Sentence, target: Sentence) -> AlignedPair:
        """Align two sentences, and return their attention weights, too.

        Parameters
        ----------
        source, target : str or sequence of str
            A line of text, or its words.

        Returns
        -------
        AlignedPair
            Rows of `forward` and columns of `reverse` sum to 1, less the probability of null where there is
            a null word. The matrix shows the words as they were given.

        Warns
        -----
        UserWarning
            If few words are known, or the sides are swapped.
        """
        pair = checked_pair(source, target)
        self._with_warning(encode_text([self.words_of(pair)]))
        return self.attend(*pair)

    def attend(self, source: Sentence, target: Sentence) -> AlignedPair:
        """Return what :meth:`align` does of two sentences that are checked, without a warning."""
        decoder = self._decoder_of(encode_text([self.words_of((source, target))]))
        return decoder.pair(self._shown((source, target)), self.settings)

    def align_batch(self, pairs: Pairs) -> AlignedBatch:
        """Align many sentence pairs: the same links as one by one.

        Parameters
        ----------
        pairs : iterable of (source, target), or (list, list), or DataFrame
            Lines of text, or their words, as of :func:`~nmtalign.text.pairs.checked_pairs`.

        Returns
        -------
        AlignedBatch
            One entry for each pair, empty where a side has no words.

        Warns
        -----
        UserWarning
            If few words of all pairs are known, or the sides are swapped.
        """
        words = [self.words_of(pair) for pair in checked_pairs(pairs)]
        return self.align_text(self._with_warning(encode_text(words)))

    def align_words(self, pairs: Iterable[tuple[Words, Words]]) -> AlignedBatch:
        """Align many pairs of words that are already normalised; warnings as of :meth:`align_batch`."""
        words = list(checked_pairs(pairs, lines=False))
        return self.align_text(self._with_warning(encode_text(words)))

    def _with_warning(self, text: EncodedText) -> EncodedText:
        """Return a text; warn the caller of the method if its words say that links are not to be trusted."""
        if why := coverage(text.source, text.target, self.heads.vocabularies).doubt:
            warnings.warn(why, stacklevel=3)
        return text

    def align_text(self, text: EncodedText) -> AlignedBatch:
        """Align an encoded text; memory depends on `CELLS`, the cells that a worker scores at a time."""
        workers, parts = default_workers(self.workers), list(text.parts(CELLS))
        if len(parts) >= max(workers, 2) and not isinstance(self.heads, ContextualHead):
            return self._align_parts(text, parts, workers)
        found = []
        for part in parts:
            decoder = self._decoder_of(replace(part))  # a copy: its index goes with it
            found += list(decoder.links_of_buckets(workers))
        return decoder.collected(found)

    def _align_parts(self, text: EncodedText, parts: Sequence[EncodedText], workers: int) -> AlignedBatch:
        """Align a text whose parts are each read and decoded by one worker."""

        def links(part: EncodedText) -> list[BucketLinks]:
            return list(self._decoder_of(replace(part)).links_of_buckets(1))

        found = chain.from_iterable(in_order(links, parts, workers, cells=text.cells))
        return self._decoder_of(replace(text, buckets=())).collected(list(found))

    def _decoder_of(self, text: EncodedText) -> Decoder:
        return self.decoder(self.heads.read(text))

    def covered(self, source: Sentence, target: Sentence) -> Coverage:
        """Count how many words of a sentence pair are known."""
        text = encode_text([self.words_of(checked_pair(source, target))])
        return coverage(text.source, text.target, self.heads.vocabularies)

    def unknown_words(self, source: Sentence, target: Sentence) -> UnknownWords | None:
        """Return the positions of source and target words without a vector, over given vectors."""
        if isinstance(self.heads, EmbeddingHead):
            return self.heads.unknown(*self.words_of(checked_pair(source, target)))
        return None

    def decoder(self, scores: TextScores) -> Decoder:
        """Return the decoder of a text from the scores of its word pairs; UsageError before a needed fit."""
        if self.needs_fitting and scores.text.buckets:
            raise UsageError(
                "positions hmm over given vectors are to be fitted: aligner = fit_to(aligner, text)"
            )
        attend = self._rescored(self._attending.over(scores), scores)
        evidence = scores.evidence if self.positions.has_null else None
        extraction, informed = self.resolved_extraction, scores.informed
        decoder = Decoder(scores.text, attend, extraction, evidence, informed=informed)
        if self._learned is not None:
            decoder = decoder._replace(size=TrainingSize.of(*self._learned.training_words))
        if isinstance(self.heads, Mixture):  # an encoder knows other words, too
            return decoder._replace(vocabularies=self.heads.vocabularies)
        return decoder

    @property
    def _attending(self) -> SoftmaxPositions | HiddenMarkov | Published:
        """The position model of the heads: a contextual one has the softmaxes of both directions in it."""
        fit = self.heads.calibration if isinstance(self.heads, ContextualHead) else None
        if isinstance(self.positions, HiddenMarkov) and fit is not None and fit.weight > 0:
            return replace(self.positions, agree=False)
        return self.positions

    def _rescored(
        self, attend: Callable[[int], BucketPosteriors], scores: TextScores
    ) -> Callable[[int], BucketPosteriors]:
        """Return `attend` followed by the rescorer, where there is one."""
        learned = self._learned
        if self.rescorer is None or learned is None:
            return attend
        text = scores.text
        vectors = learned.word_vectors(text.source.words, text.target.words)
        reader = self.rescorer.reader(text.source, text.target, learned.counts(text), vectors)

        def rescored(k: int) -> BucketPosteriors:
            found, ratios = attend(k)
            assert ratios is not None  # learned models have a null word
            posteriors = found.forward, found.reverse, found.joint
            again = reader.rescore(text.buckets[k], ratios, scores.null_ratios, *posteriors)
            return BucketPosteriors(Posteriors(*again), ratios)

        return rescored

    def words_of(self, pair: Pair) -> tuple[list[str], list[str]]:
        """Return the normalised words of both sides of a checked pair."""
        source, target = pair
        if isinstance(source, str) and isinstance(target, str):
            return self.text.words_of_pair((source, target), self.languages)
        return self.text.normalized(source), self.text.normalized(target)

    def _shown(self, pair: Pair) -> tuple[Words, Words]:
        """Return the words of both sides as they were given."""
        source, target = pair
        if isinstance(source, str) and isinstance(target, str):
            sides = self.text.tokens_of_pair((source, target), self.languages)
            return [token.text for token in sides[0]], [token.text for token in sides[1]]
        return source, target


def load_aligner(folder: str | Path) -> Aligner:
    """Open the folder of a learned aligner, without its encoder.

    Errors as of :func:`nmtalign.aligner.model_folder.read_model`.
    """
    return Aligner(**read_model(folder))

