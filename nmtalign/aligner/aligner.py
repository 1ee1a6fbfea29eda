"""The aligner: scores of words, posteriors by a position model, links by an extraction.

Axes: T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import FrozenInstanceError, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from nmtalign.aligner.experts import MAX_TRUST_CELLS, Expert, estimate_trust, paired_with, with_expert_votes
from nmtalign.arrays import Reals
from nmtalign.corpus.coverage import Coverage, one_word_lines_warning
from nmtalign.corpus.parallel import default_workers, parallel_map
from nmtalign.corpus.regrouping import (
    BothPieceLines,
    BothRegroupings,
    into_pieces,
    of_sentence,
    regroup_pair,
    share_links,
)
from nmtalign.corpus.text import EncodedText, encode_lines, encode_text
from nmtalign.corpus.units import (
    TOKENS,
    WORDS,
    LinkUnit,
    link_unit,
)
from nmtalign.decoding.decoder import Decoder, ExtractedLinks
from nmtalign.decoding.extraction_methods import Extraction, make_extraction
from nmtalign.decoding.kept_posteriors import (
    CHEAP_METHODS,
    KEPT_METHODS,
    BucketCells,
    KeptPosteriors,
    cells_of_bucket,
    choose_from,
    keep_posteriors,
)
from nmtalign.decoding.probabilities import LinkProbabilities, TrainingSize
from nmtalign.display import short_repr, single_line, with_plural
from nmtalign.errors import UsageError, warn_caller
from nmtalign.files.paths import resolve_path
from nmtalign.links.alignments import AlignedBatch, AlignedPair, BothTexts, BothWords, UnknownWords
from nmtalign.links.inputs import LinksInput, iter_links
from nmtalign.names import CellValues, LinkUnitName, SubwordMarks
from nmtalign.positions.position_model import PositionModel, SoftmaxPositions, TextScores
from nmtalign.progress import ProgressInput, open_reporter
from nmtalign.results import TableResult
from nmtalign.scorers.dictionary_phrases import Phrases
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.scorer import Scorer
from nmtalign.settings import LinkSettings
from nmtalign.state import State, Stored, open_state, save_state
from nmtalign.text.bitext import (
    ColumnName,
    Pair,
    Pairs,
    Sentence,
    Sentences,
    check_pair,
    is_line_pair,
    read_pairs,
    tokens_of,
    words_between_spaces,
)
from nmtalign.text.chunks import MAX_MATRIX_CELLS
from nmtalign.text.tokenization import Languages, TextSettings, check_languages
from nmtalign.validation import check_bool, check_number, check_same_pairs, check_type, is_iterable

# module and class of each kind of part, which are imported when such a part is opened
PART_CLASSES: dict[str, tuple[str, str]] = {
    "mixture": ("nmtalign.scorers.mixture", "Mixture"),
    "lexicon": ("nmtalign.scorers.lexicon", "Lexicon"),
    "dense": ("nmtalign.scorers.dense", "DenseScorer"),
    "vectors": ("nmtalign.scorers.given_vectors", "VectorScorer"),
    "embeddings": ("nmtalign.vectors.embeddings", "Embeddings"),
    "encoded": ("nmtalign.external.word_encoders", "EncodedWords"),
    "static": ("nmtalign.vectors.subword_vectors", "StaticSubwords"),
    "dot": ("nmtalign.scorers.vector_scores", "DotScore"),
    "bahdanau": ("nmtalign.scorers.vector_scores", "BahdanauScore"),
    "projected-dot": ("nmtalign.scorers.vector_scores", "ProjectedDot"),
    "softmax": ("nmtalign.positions.position_model", "SoftmaxPositions"),
    "hmm": ("nmtalign.positions.hmm", "HiddenMarkov"),
    "rescored": ("nmtalign.rescoring.rescorer", "Rescored"),
    "extraction": ("nmtalign.decoding.extraction_methods", "Extraction"),
    "expert": ("nmtalign.aligner.experts", "Expert"),
}
MAX_PAIRS_CHECKED = 1_000  # the pairs that are searched for sentences in the place of words
OfBucket = TypeVar("OfBucket", ExtractedLinks, BucketCells)
PIPE_PAIRS = 1_000  # a chunk of `Aligner.pipe`
CELLS_PER_PART = 1 << 23  # about the number of cells that are scored at a time
# settings of `load`, which change an aligner in memory
_CHANGED_BY_LOAD = (
    "cache",
    "device",
    "encoder",
    "extract",
    "layer",
    "lowercase",
    "scorers",
    "symmetrize",
    "threshold",
    "tokenizer",
    "unicode",
)
# the members that the reference documents
_DOCUMENTED = (
    "align",
    "align_batch",
    "compare",
    "description",
    "lexicon",
    "pipe",
    "save",
    "table",
    "with_scorers",
)


@dataclass(frozen=True, eq=False, repr=False)
class Aligner(TableResult):
    """Aligns the words of sentence pairs.

    :func:`nmtalign.load` opens an aligner, :func:`nmtalign.train` learns one. An aligner never changes:
    its methods return results, or another aligner.

    Examples
    --------
    >>> import nmtalign as na
    >>> aligner = na.load()
    >>> aligner.align("the black cat", "le chat noir").links
    [Link(source=0, target=0), Link(source=1, target=2), Link(source=2, target=1)]
    >>> aligner.align_batch([("the cat", "le chat"), ("a dog", "un chien")])
    AlignedBatch of 2 pairs, 4 links
    """

    scorer: Scorer
    positions: PositionModel = field(default_factory=SoftmaxPositions)
    extraction: Extraction | None = None  # None: posterior decoding with a null word, else mutual argmax
    text_settings: TextSettings = field(default_factory=TextSettings)
    languages: Languages = (None, None)
    training: Mapping[str, Any] = field(default_factory=dict)  # settings and corpus it was learned with
    workers: int | None = None
    expert: Expert | None = None  # its links vote

    def __post_init__(self) -> None:
        check_type(self.scorer, Scorer, "a scorer (nmtalign.load opens a model)")
        check_type(self.positions, PositionModel, "a position model")
        check_type(self.extraction, (Extraction, type(None)), "an extraction, made by make_extraction")
        check_type(self.text_settings, TextSettings, "settings of the text, made by TextSettings")
        check_type(self.training, Mapping, "settings of the training as a dictionary")
        check_type(self.expert, (Expert, type(None)), "an expert, made by choose_expert")
        check_languages(self.languages)
        default_workers(self.workers)

    def __dir__(self) -> list[str]:
        """Return the documented members, which editors suggest; the others are for the package itself."""
        return sorted(_DOCUMENTED)

    def __eq__(self, other: object) -> bool:
        """Return whether another aligner has the same content, so that it gives the same links."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self.state().equals(other.state())

    def __hash__(self) -> int:
        return hash((self.description, tuple(self.languages)))

    def __repr__(self) -> str:
        name = "Aligner"
        if any(self.languages):
            source, target = self.languages
            name = f"Aligner {source or '?'}-{target or '?'}"
        parts = [name, f"scorers {'+'.join(self.scorer.names)}"]
        parts.append(self.positions.description.replace("=", " "))
        if self.expert is not None:
            parts.append(str(self.expert))
        if "corpus" in self.training:
            parts.append(f"learned from {with_plural(self.training['corpus'].get('pairs', 0), 'pair')}")
        # a scorer that knows all words has no size; the padding "" is not a word
        sides = [words for words in self.scorer.vocabularies if isinstance(words, Sized)]
        known = " and ".join(f"{len(words) - ('' in words):,}" for words in sides)
        return single_line(", ".join([*parts, *([f"{known} words known"] if known else [])]))

    def align(self, source: Sentence, target: Sentence) -> AlignedPair:
        """Align two sentences; the result contains links and attention weights.

        Parameters
        ----------
        source, target : str or sequence of str
            A line of text, or its words. Positions in a line count its tokens, which the matrix shows.

        Returns
        -------
        AlignedPair
            Links, their probabilities, and attention. A row of `forward` sums to 1, less the probability
            that its word has no partner; so does a column of `reverse`.

        Warns
        -----
        NmtalignWarning
            If few words are known, or the sides are swapped.
        """
        pair = check_pair(source, target)
        text = self.text_of_pairs([pair])
        self._warn_if_unreliable(text, [pair], aligned_unit="tokens")
        return self._pairs_with_attention(text, [pair], [self.tokens_of(pair)])[0]

    def align_batch(
        self,
        pairs: Pairs,
        targets: Sentences | None = None,
        *,
        source: ColumnName = None,
        target: ColumnName = None,
        expert: LinksInput | None = None,
        count: LinkUnitName | None = None,
        pieces: SubwordMarks | None = None,
        spm: str | Path | Sequence[str | Path] | None = None,
        spaces: str | None = None,
        posteriors: bool = False,
        workers: int | None = None,
        progress: ProgressInput = False,
    ) -> AlignedBatch:
        """Align many sentence pairs.

        If the pairs are lines, positions in links count the space-separated words, whichever tokenizer is
        used, unless `count` says otherwise. If the pairs are lists of words, positions count these words.

        Parameters
        ----------
        pairs : Bitext, iterable of (source, target), (list, list), table, or records
            Lines of text, or lists of their words; for tables and records see :func:`train`. The index of a
            DataFrame is kept: tables of the batch have it.
        targets : sequence, optional
            The target sentences, if `pairs` are the source sentences: ``align_batch(sources, targets)``.
        source, target : str or int, optional
            The columns of a table, or the keys of records. Default: they are found by their names.
        expert : path or iterable, optional
            Links of each pair, made by another system or a person: Pharaoh lines, or sets of
            (source, target). They vote on the links. An empty set says nothing about its pair. How much
            their votes count was learned by :func:`nmtalign.train`, or is estimated from these pairs.
        count : {"words", "tokens", "pieces"}, optional
            What positions count in lines: the space-separated words, the tokens of :attr:`text_settings`, or
            the sub-words of `pieces` or `spm`. A link of two words becomes a link of all their pieces.
            Positions in the links of an `expert` count the same; with `spm`, they count words.
        pieces : {"bpe", "sentencepiece"}, optional
            The lines consist of sub-words with these marks, which are joined into words before they are
            aligned.
        spm : path, or two of them, optional
            Sub-word models (sentencepiece, or ``tokenizer.json``) that split raw lines; positions count their
            pieces.
        spaces : str, optional
            A mark such as ``▁``: positions count tokens among which each space is a token of this mark.
            Nothing is omitted, so that a line can be restored from these tokens.
        posteriors : bool
            Keep the posteriors from which :meth:`AlignedBatch.choose` chooses other links, also after the
            batch is pickled or saved: some 300 bytes per pair of 13 words. Without them, the first call of
            ``choose`` computes them.
        workers : int, optional
            How many threads or processes work; the links do not depend on it.
        progress : bool or callable
            Show how many pairs are done, as a bar of tqdm in a notebook or on stderr. A function is called
            with a :class:`Progress` instead.

        Returns
        -------
        AlignedBatch
            One entry for each pair; the entry has no links if a side has no words. Its `tokens` are the
            words, tokens or pieces that positions count.

        Warns
        -----
        NmtalignWarning
            If few words of all pairs are known, or the sides are swapped.
        """
        check_bool(posteriors, "posteriors")
        reporter = open_reporter(progress, stage="aligning")
        checked = read_pairs(pairs, targets, source=source, target=target, languages=self.languages)
        listed = list(checked.pairs)
        reporter.expect(len(listed))
        aligner = self if workers is None else replace(self, workers=workers)
        unit = link_unit(count=count, pieces=pieces, spm=spm, spaces=spaces)
        if expert is not None:
            check_same_pairs(checked, expert, "pairs and `expert`")
            aligner = aligner.with_given_links()
            listed = list(paired_with(listed, iter_links(expert)))
        if not unit.is_plain:
            checked_lines = _checked_lines(listed)
            listed = list(unit.prepare_pairs(checked_lines, aligner.text_settings, aligner.languages))
        text = aligner.text_of_pairs(listed, aligned_unit=unit.aligned_unit)
        if aligner.needs_trust and expert is not None:
            aligner = aligner.with_trust_from(text)
        self._warn_if_unreliable(text, listed, aligned_unit=unit.aligned_unit)
        origin = AlignedTextOrigin(listed, unit, aligner.text_settings, aligner.languages, aligner)
        batch = origin.linked(text, reporter.advance, keeps_posteriors=posteriors)
        reporter.finish(f"{with_plural(len(batch), 'pair')} aligned")
        return replace(batch, frame_index=checked.frame_index)

    def pipe(
        self,
        pairs: Pairs,
        targets: Sentences | None = None,
        *,
        source: ColumnName = None,
        target: ColumnName = None,
        chunk_size: int = PIPE_PAIRS,
    ) -> Iterator[AlignedPair]:
        """Align a stream of sentence pairs: yield each aligned pair in order, while the stream is read.

        The pairs are those of :meth:`align_batch`. Memory depends on the chunk, not on the stream.

        Parameters
        ----------
        pairs : iterable of (source, target), (list, list), table, or records
            Lines of text, or lists of words, also from a generator, as for :meth:`align_batch`.
        targets : iterable, optional
            The target sentences, if `pairs` are the source sentences.
        source, target : str or int, optional
            The columns of a table, or the keys of records. Default: they are found by their names.
        chunk_size : int
            How many pairs are read and aligned at a time.

        Returns
        -------
        iterator of AlignedPair

        Examples
        --------
        >>> import nmtalign as na
        >>> stream = (line for line in [("the cat", "le chat"), ("a dog", "un chien")])
        >>> for pair in na.load().pipe(stream):
        ...     print(pair)
        the-le  cat-chat
        a-un  dog-chien
        """
        check_number(chunk_size, "a number of pairs as `chunk_size`", minimum=1, integer=True)
        checked = read_pairs(pairs, targets, source=source, target=target, languages=self.languages)
        return self._piped(checked.pairs, chunk_size)

    def _piped(self, pairs: Iterator[Pair], chunk_size: int) -> Iterator[AlignedPair]:
        is_first = True
        while chunk := list(islice(pairs, chunk_size)):
            text = self.text_of_pairs(chunk)
            if is_first:
                self._warn_if_unreliable(text, chunk, aligned_unit="words")
            is_first = False
            origin = AlignedTextOrigin(chunk, WORDS, self.text_settings, self.languages, self)
            yield from origin.linked(text)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save the aligner in a folder; :func:`nmtalign.load` opens it again.

        Parameters
        ----------
        folder : str or Path
            A new or an empty folder. It appears when the model is complete.
        overwrite : bool
            Replace an older model. Any other folder is still rejected.

        Raises
        ------
        UsageError
            If the folder contains anything else, or :func:`nmtalign.fit_to` has to fit the aligner first.
        """
        if self.needs_fitting:
            raise UsageError("this aligner has to be fitted first: aligner = fit_to(aligner, text)")
        save_state(self.state(), folder, overwrite=overwrite)

    @property
    def description(self) -> str:
        """The scorers, positions and extraction of the links, in one line."""
        parts = [self.scorer.description]
        if "corpus" in self.training:
            parts.append(f"pairs={self.training['corpus'].get('pairs', 0)}")
        parts += [self.positions.description, str(self.resolved_extraction)]
        if self.expert is not None:
            parts.append(str(self.expert))
        parts.append(f"text={self.text_settings}")
        return " ".join(parts)

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon of a learned aligner; an aligner over word vectors has none and raises UsageError."""
        lexicon = self.scorer.lexicon
        if lexicon is None:
            raise UsageError("an aligner over word vectors has no lexicon; learn an aligner from a bitext")
        return lexicon

    @property
    def needs_fitting(self) -> bool:
        """Whether the aligner must be fitted to a text before the text is aligned."""
        return self.positions.unfitted or self.needs_trust

    @property
    def needs_trust(self) -> bool:
        """Whether there is an expert whose trust must still be estimated from a text."""
        return self.expert is not None and self.expert.trust is None

    @property
    def allows_processes(self) -> bool:
        """Whether several processes may align at the same time; an encoder uses all cores alone."""
        return self.expert is None or self.expert.encoder is None

    @property
    def resolved_extraction(self) -> Extraction:
        """The extraction, or the default one of the position model."""
        return self.extraction or make_extraction(null=self.positions.has_null)

    def with_scorers(self, names: str | Iterable[str]) -> Aligner:
        """Return the aligner with only these of its scorers, without a rescorer and without an expert.

        Parameters
        ----------
        names : str or iterable of str
            One or several of ``lexicon``, ``spectral`` and ``vectors``, as the aligner has them.

        Raises
        ------
        UsageError
            If the aligner has no scorer of such a name.
        """
        if not is_iterable(names):
            raise UsageError(f"expected names of scorers, found {short_repr(names)}")
        scorer = self.scorer.only({names} if isinstance(names, str) else {str(name) for name in names})
        return replace(self, scorer=scorer, positions=self.positions.without_rescorer, expert=None)

    def with_given_links(self) -> Aligner:
        """Return an aligner for pairs that come with the links of an expert, which replaces an encoder."""
        if self.expert is not None and self.expert.encoder is None:
            return self
        return replace(self, expert=Expert())

    def with_trust_from(self, text: EncodedText) -> Aligner:
        """Return the aligner with a trust in its expert, estimated from its own posteriors of a text."""
        assert self.expert is not None
        period = max(1, math.ceil(text.cell_count / MAX_TRUST_CELLS))
        text = text.with_buckets(text.buckets[::period])  # every n-th bucket of a large text
        bucket_posteriors = self.positions.posteriors_of(self.scorer.score_text(text))
        trust = estimate_trust(bucket_posteriors, text, default_workers(self.workers))
        if trust.warning is not None:
            warn_caller(trust.warning)
        return replace(self, expert=replace(self.expert, trust=trust))

    def state(self) -> State:
        """Return the state of the aligner and its parts."""
        text_settings, files = self.text_settings.for_storage()
        values = {
            "text": text_settings.as_dict(),
            "languages": list(self.languages),
            "training": dict(self.training),
        }
        parts = {
            "scorer": self.scorer.state(),
            "positions": self.positions.state(),
            "extraction": self.resolved_extraction.state(),
        }
        if self.expert is not None:
            parts["expert"] = self.expert.state()
        return State("aligner", values, files=files, parts=parts)

    @classmethod
    def from_state(cls, stored: Stored) -> Aligner:
        """Return the aligner whose state was stored by :meth:`state`."""
        scorer = stored.open("scorer")
        numbers = ({}, {}) if scorer.lexicon is None else scorer.lexicon.numbers
        text_settings = TextSettings.opened(stored.value("text", dict), stored.file)
        languages = tuple(stored.value("languages", list))
        training_state = stored.section("training")
        training = {name: training_state.value(name, dict) for name in training_state.meta}
        if "corpus" in training:
            training_state.section("corpus").integer("pairs", minimum=0)
        positions, extraction = stored.open("positions", numbers), stored.open("extraction")
        expert = stored.open("expert") if "expert" in stored.parts() else None
        return cls(scorer, positions, extraction, text_settings, languages, training, expert=expert)

    def text_of_pairs(
        self, pairs: Sequence[Pair], *, aligned_unit: str = "words", first: int = 0
    ) -> EncodedText:
        """Return checked pairs, all lines or all words, as arrays, with the links of the expert.

        Positions in given links count words or tokens; `first` is the number of the first pair, for errors.
        """
        lines = [pair for pair in pairs if is_line_pair(pair)]
        sentences = [] if lines else [self.words_of(pair) for pair in pairs]
        text = self._text_of_lines(lines) if lines else encode_text(sentences)
        if self.expert is None:
            return text
        links = self.expert.links(pairs, self.tokens_of)
        if not len(links.source):
            return text
        words = None if self.expert.encoder or aligned_unit == "tokens" else text.line_words
        lengths = text.sections.source_lengths, text.sections.target_lengths
        return replace(text, expert_links=share_links(links, words, lengths, first=first))

    @property
    def default_values(self) -> str:
        """Which values of a pair are shown by default; see :class:`AlignedPair`."""
        return "combined" if self.positions.has_null else "forward"

    def align_one(self, pair: Pair) -> AlignedPair:
        """Align a checked pair as :meth:`align` does, without a warning."""
        return self._pairs_with_attention(self.text_of_pairs([pair]), [pair], [self.tokens_of(pair)])[0]

    def align_words_of_lines(self, pairs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        """Align pairs of lines; links and arrays are those of space-separated words, not of tokens."""
        text = self.text_of_pairs(pairs)
        if text.line_words is None:
            return self._pairs_with_attention(text, pairs, list(map(self.tokens_of, pairs)))
        sides = text.source, text.target
        tokens: Any = [tuple(tuple(side.sentence(n)) for side in sides) for n in range(len(pairs))]
        aligned_pairs = self._pairs_with_attention(text, pairs, tokens)
        for n, (aligned, lines) in enumerate(zip(aligned_pairs, pairs, strict=True)):
            to_words = of_sentence(text.line_words, n)
            words = words_between_spaces(lines)
            aligned_pairs[n] = regroup_pair(
                aligned, to_words, words, one_link=self.resolved_extraction.one_link
            )
        return aligned_pairs

    def _pairs_with_attention(
        self, text: EncodedText, pairs: Sequence[Pair], words: Sequence[BothWords]
    ) -> list[AlignedPair]:
        unknown: list[UnknownWords | None] = [None] * len(pairs)
        if self.scorer.word_forms(self.text_settings) is not None:  # the words have given vectors, or none
            unknown = [self.scorer.unknown(*self.words_of(pair)) for pair in pairs]
        return self.decoder_for_text(text).pairs_with_attention(
            words,
            self.description,
            unknown=unknown,
            default_values=self.default_values,
            caption=self.scorer.caption and f"{self.scorer.caption}, {self.positions.description}",
            languages=self.languages,
        )

    def _warn_if_unreliable(self, text: EncodedText, pairs: Sequence[Pair], *, aligned_unit: str) -> None:
        """Warn the caller of the package if the words of a text show that its links cannot be trusted."""
        if misread := _sentences_as_words(pairs):
            warn_caller(misread)
            return
        coverage = self.scorer.coverage_of(text.source, text.target, text.sections)
        if coverage.warning:
            warn_caller(coverage.warning)
        if aligned_unit == "words" and (spaceless := one_word_lines_warning(text)):
            warn_caller(spaceless)

    def link_text(self, text: EncodedText, done: Callable[[int], None] | None = None) -> AlignedBatch:
        """Align the tokens of a text; a worker scores about `CELLS_PER_PART` cells at a time.

        `done` is called with numbers of pairs that are aligned; a long pair counts with its first section.
        """
        [batch] = self.link_text_by(text, [self.resolved_extraction], done)
        return batch

    def link_text_by(
        self,
        text: EncodedText,
        extractions: Sequence[Extraction],
        done: Callable[[int], None] | None = None,
    ) -> list[AlignedBatch]:
        """Align the tokens of a text as :meth:`link_text` does, by each of several extractions."""
        extract = partial(Decoder.extracted_links, extractions=extractions)
        links_of_buckets = self._decoded(text, extract, done)
        return self.decoder_for_text(text.with_buckets([])).collect_extracted(extractions, links_of_buckets)

    def keep_posteriors(
        self,
        text: EncodedText,
        done: Callable[[int], None] | None = None,
        *,
        methods: Sequence[str],
        words: BothRegroupings | None = None,
        pieces: BothRegroupings | None = None,
    ) -> KeptPosteriors:
        """Compute the posteriors of a text, of which those are kept that links may be chosen from.

        `methods`, `words` and `pieces` are those of :class:`KeptPosteriors`; `done` is as for
        :meth:`link_text`.
        """
        all_links = make_extraction(LinkSettings(extract="posterior"))  # with second words and phrases
        finder = replace(self, extraction=all_links)
        cells = finder._decoded(text, partial(cells_of_bucket, methods=methods), done)
        return keep_posteriors(
            finder.decoder_for_text(text.with_buckets([])),
            cells,
            methods=methods,
            extraction=self.resolved_extraction,
            words=words,
            pieces=pieces,
        )

    def _decoded(
        self,
        text: EncodedText,
        decode: Callable[[Decoder, int], OfBucket],
        done: Callable[[int], None] | None,
    ) -> list[OfBucket]:
        """Return what `decode` returns for each bucket of a text, as :meth:`link_text` describes."""
        workers = default_workers(self.workers)
        parts = list(text.parts(CELLS_PER_PART))
        parts_of_buckets: Iterable[Iterable[OfBucket]]
        if len(parts) >= max(workers, 2):  # each part is read and decoded by one worker

            def decode_alone(part: EncodedText) -> list[OfBucket]:
                return list(self._decoded_part(part, decode, workers=1))

            parts_of_buckets = parallel_map(decode_alone, parts, workers, work=text.cell_count)
        else:
            parts_of_buckets = (self._decoded_part(part, decode, workers=workers) for part in parts)
        is_first_section = np.diff(text.sections.pair_of_section, prepend=-1) > 0
        of_buckets: list[OfBucket] = []
        for of_bucket in chain.from_iterable(parts_of_buckets):
            of_buckets.append(of_bucket)
            if done is not None:
                done(int(is_first_section[of_bucket.sections].sum()))
        return of_buckets

    def _decoded_part(
        self, part: EncodedText, decode: Callable[[Decoder, int], OfBucket], *, workers: int
    ) -> Iterator[OfBucket]:
        """Yield what `decode` returns for the buckets of a part of a text."""
        # the index of word pairs is kept with a text, so that of a copy is freed with the copy
        copy_of_part = part.with_buckets(list(part.buckets))  # buckets on disk are read once
        decoder = self.decoder_for_text(copy_of_part)
        buckets = range(len(copy_of_part.buckets))
        return parallel_map(partial(decode, decoder), buckets, workers, work=copy_of_part.cell_count)

    def decoder_for_text(self, text: EncodedText) -> Decoder:
        """Return the decoder of a text."""
        return self.decoder_for_scores(self.scorer.score_text(text))

    def decoder_for_scores(self, scores: TextScores) -> Decoder:
        """Return the decoder of a text from the scores of its word pairs.

        Raises UsageError if the aligner must be fitted first.
        """
        if self.needs_fitting and scores.text.buckets:
            raise UsageError("this aligner has to be fitted first: aligner = fit_to(aligner, text)")
        bucket_posteriors = self.positions.posteriors_of(scores)
        if self.expert is not None and self.expert.trust is not None:
            bucket_posteriors = with_expert_votes(bucket_posteriors, scores.text, self.expert.trust)
        size = TrainingSize.of(scores.training_words)
        probabilities = None
        if scores.vocabularies is not None:  # encoders and given vectors have no training text
            source_counts, target_counts = scores.training_counts
            probabilities = LinkProbabilities(
                known=(source_counts > 0, target_counts > 0),
                size=size.log_size,
                gold_log_odds=self.positions.gold_log_odds,
            )
        return Decoder(
            text=scores.text,
            bucket_posteriors=bucket_posteriors,
            extraction=self.resolved_extraction,
            linkable=scores.linkable,
            scores=scores,
            has_null=self.positions.has_null,
            size=size,
            probabilities=probabilities,
            phrases=self._phrases,
        )

    @property
    def _phrases(self) -> Phrases | None:
        """The phrases that complete links; None with a threshold, another extraction, or a rescorer."""
        has_second_words = self.resolved_extraction.min_second_posterior is not None
        is_rescored = self.positions.without_rescorer is not self.positions
        lexicon = self.scorer.lexicon
        return None if lexicon is None or not has_second_words or is_rescored else lexicon.phrases

    def measure_coverage(self, pairs: Sequence[tuple[str, str]]) -> Coverage:
        """Count how many words of pairs of lines are known."""
        text = self._text_of_lines(pairs)
        return self.scorer.coverage_of(text.source, text.target, text.sections)

    def _text_of_lines(self, pairs: Sequence[tuple[str, str]]) -> EncodedText:
        """Return pairs of lines as arrays."""
        forms = self.scorer.word_forms(self.text_settings)
        text_settings = self.text_settings if forms is None else self.text_settings.without_folding()
        return encode_lines(pairs, text_settings, self.languages, forms)

    def words_of(self, pair: Pair) -> tuple[list[str], list[str]]:
        """Return the words of both sides of a checked pair in the forms in which they are looked up."""
        forms = self.scorer.word_forms(self.text_settings)
        if forms is None:
            if is_line_pair(pair):
                return self.text_settings.words_of_pair(pair, self.languages)
            return self.text_settings.normalized(pair[0]), self.text_settings.normalized(pair[1])
        words: Any = pair
        if is_line_pair(pair):
            words = self.text_settings.without_folding().words_of_pair(pair, self.languages)
        return forms[0](words[0]), forms[1](words[1])

    def tokens_of(self, pair: Pair) -> BothWords:
        """Return the words of both sides of a checked pair as they were given."""
        return tokens_of(pair, self.text_settings, self.languages)


def _refuse_assignment(aligner: Aligner, name: str, value: object) -> NoReturn:
    """Raise the error of a frozen dataclass, which says how to get an aligner with another setting."""
    example = f"{name}={short_repr(value)}" if name in _CHANGED_BY_LOAD else "threshold=0.5"
    advice = f"nmtalign.load(aligner, {example}) returns one with another setting"
    raise FrozenInstanceError(f"cannot assign to {name!r}: an aligner never changes; {advice}")


setattr(Aligner, "__setattr__", _refuse_assignment)  # noqa: B010  # dataclass allows none in the class


@dataclass(frozen=True, eq=False, repr=False)
class AlignedTextOrigin:
    """The pairs that a batch was made of, their aligner, and the unit that positions count.

    Without the aligner, which is not pickled, the words of the pairs are known, but not their attention.
    """

    pairs: Sequence[Any]
    unit: LinkUnit
    text_settings: TextSettings
    languages: Languages
    given_aligner: Aligner | None
    posteriors: KeptPosteriors | None = None

    @property
    def aligner(self) -> Aligner:
        """The aligner of the batch; UsageError if the batch was pickled."""
        if self.given_aligner is None:
            found = "a pickled batch has the words and links of its pairs, but not its aligner"
            advice = "align the pairs again, or pickle the pairs of the batch, which keep their attention"
            raise UsageError(f"{found}, which computes attention; {advice}")
        return self.given_aligner

    def __reduce__(self) -> tuple[type[AlignedTextOrigin], tuple[Any, ...]]:
        """Pickle all but the aligner, which may have gigabytes."""
        values = self.pairs, self.unit, self.text_settings, self.languages, None, self.posteriors
        return AlignedTextOrigin, values

    def __deepcopy__(self, memo: object) -> AlignedTextOrigin:
        return self  # nothing in it changes

    def tokens(self, n: int) -> BothWords:
        """Return the words of pair n that positions count."""
        return self.unit.words_of(self.pairs[n], self.text_settings, self.languages)

    def texts(self, n: int) -> BothTexts | None:
        """Return the texts of pair n, and where its words are in them."""
        return self.unit.texts(self.pairs[n], self.text_settings, self.languages)

    @property
    def splitting(self) -> tuple[TextSettings, Languages] | None:
        """The settings and languages that split lines into tokens; None if links count something else."""
        if self.unit != TOKENS:
            return None
        return self.text_settings, self.languages

    @property
    def has_probabilities(self) -> bool:
        """Whether the numbers of links are probabilities, which need a null word."""
        if self.given_aligner is not None:
            return self.given_aligner.positions.has_null
        return self.posteriors is None or self.posteriors.has_null

    def aligned(self, n: int) -> AlignedPair:
        """Align pair n alone, with its attention."""
        pair = self.pairs[n]
        if self.unit.aligned_unit == "tokens" or not is_line_pair(pair):
            aligned = self.aligner.align_one(pair)
        else:
            aligned = self.aligner.align_words_of_lines([pair])[0]
        return self.unit.expanded(aligned, pair, self.text_settings, self.languages)

    def matrices(self, values: CellValues | None) -> Iterator[Reals]:
        """Yield values of each pair, bit-identical to those of :meth:`aligned`."""
        return self._iter_matrices(values or self.aligner.default_values)

    def _iter_matrices(self, values: str) -> Iterator[Reals]:
        for pairs in _chunks_of_cells(self.pairs):
            text = self.aligner.text_of_pairs(pairs, aligned_unit=self.unit.aligned_unit)
            _, arrays = self.aligner.decoder_for_text(text).links_and_values([values])
            for n, pair in enumerate(pairs):
                piece_lines = None
                if self.unit.expands and is_line_pair(pair):
                    piece_lines = self.unit.piece_lines(pair, self.text_settings, self.languages)
                matrix = self.unit.convert_values(
                    values, arrays[values][n], pair, text.line_words, piece_lines, n
                )
                matrix.flags.writeable = False
                yield matrix

    def chosen(self, numbers: Sequence[int]) -> AlignedTextOrigin:
        """Return the origin of the pairs with these numbers, in this order."""
        kept = None if self.posteriors is None else self.posteriors.chosen(numbers)
        return replace(self, pairs=[self.pairs[n] for n in numbers], posteriors=kept)

    def linked(
        self,
        text: EncodedText,
        done: Callable[[int], None] | None = None,
        *,
        keeps_posteriors: bool = False,
    ) -> AlignedBatch:
        """Align the pairs, which `text` has as arrays; links count the unit."""
        if keeps_posteriors:
            return self._with_posteriors(text, done, methods=KEPT_METHODS)._chosen(text)
        piece_lines = self._piece_lines()
        one_link = self.aligner.resolved_extraction.one_link
        batch = self.aligner.link_text(text, done)
        batch = self.unit.convert(batch, text.line_words, piece_lines, one_link=one_link)
        return replace(batch, origin=self, unit=self.unit.name)

    @property
    def link_settings(self) -> LinkSettings:
        """How the links were chosen."""
        if self.given_aligner is not None:
            return self.given_aligner.resolved_extraction.settings
        kept, _ = choose_from(self.posteriors, LinkSettings())
        return kept.extraction.settings

    def choose(self, links: LinkSettings) -> AlignedBatch:
        """Return the pairs with the links that other settings choose.

        Posteriors that are not kept are computed; where they do not suffice, the pairs are aligned again.
        """
        aligner = self.given_aligner
        if aligner is None:
            chosen, batch = choose_from(self.posteriors, links)
            return replace(batch, origin=replace(self, posteriors=chosen), unit=self.unit.name)
        if links.given:
            extraction = make_extraction(links, null=aligner.positions.has_null)
            aligner = replace(aligner, extraction=extraction)
        if self.posteriors is None:
            text = self._encoded()
            kept = self._with_posteriors(text, methods=CHEAP_METHODS).posteriors
            object.__setattr__(self, "posteriors", kept)  # for the next call
        return replace(self, given_aligner=aligner)._chosen()

    def _chosen(self, text: EncodedText | None = None) -> AlignedBatch:
        """Return the links of the aligner's method, from the kept posteriors if they suffice."""
        extraction = self.aligner.resolved_extraction
        kept = self.posteriors
        if kept is None or kept.refusal(extraction):
            return self.linked(self._encoded() if text is None else text)
        origin = replace(self, posteriors=replace(kept, extraction=extraction))
        return replace(kept.choose(extraction), origin=origin, unit=self.unit.name)

    def _with_posteriors(
        self, text: EncodedText, done: Callable[[int], None] | None = None, *, methods: Sequence[str]
    ) -> AlignedTextOrigin:
        kept = self.aligner.keep_posteriors(
            text,
            done,
            methods=methods,
            words=text.line_words if self.unit.aligned_unit == "words" else None,
            pieces=into_pieces(self._piece_lines()) if self.unit.expands else None,
        )
        return replace(self, posteriors=kept)

    def _encoded(self) -> EncodedText:
        return self.aligner.text_of_pairs(self.pairs, aligned_unit=self.unit.aligned_unit)

    def _piece_lines(self) -> list[BothPieceLines]:
        """Return the pieces of each pair, if links are expanded to these."""
        lines = self.pairs if self.unit.expands else []
        return [self.unit.piece_lines(pair, self.text_settings, self.languages) for pair in lines]


def _chunks_of_cells(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    """Yield consecutive pairs whose matrices together fit into memory."""
    chunk: list[Pair] = []
    cell_count = 0
    for pair in pairs:
        chunk.append(pair)
        source, target = pair[:2]  # of lines, characters are counted, which are more than words
        cell_count += len(source) * len(target)
        if cell_count > MAX_MATRIX_CELLS:
            yield chunk
            chunk = []
            cell_count = 0
    if chunk:
        yield chunk


def _checked_lines(pairs: Sequence[Any]) -> Sequence[Any]:
    """Return pairs of lines; a UsageError for lists of words, whose positions count these words."""
    if any(not is_line_pair(pair) for pair in pairs[:1]):
        found = "found lists of words, and positions count these words"
        raise UsageError(f"`count`, `pieces`, `spm` and `spaces` are for lines of text; {found}")
    return pairs


def _sentences_as_words(pairs: Sequence[Pair]) -> str:
    """Return a warning if most words of the first pairs contain a space; empty if not."""
    words = [
        word for pair in pairs[:MAX_PAIRS_CHECKED] if not is_line_pair(pair) for side in pair for word in side
    ]
    with_space = [word for word in words if " " in word]
    if 2 * len(with_space) <= len(words):
        return ""
    found = f"most words contain a space, such as {short_repr(with_space[0])}"
    advice = "pass one sentence as a list of words; for many sentences, call align_batch(sources, targets)"
    return f"{found}; {advice}"


def load_aligner(folder: str | Path) -> Aligner:
    """Open the folder of an aligner, or a bundled one by its name.

    Errors are those of :func:`nmtalign.state.open_state`.
    """
    aligner: Aligner = open_state(resolve_path(folder), Aligner.from_state, PART_CLASSES)
    return aligner
