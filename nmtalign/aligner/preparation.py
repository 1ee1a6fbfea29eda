"""The preparation of a bitext for learning: its words are numbered, its dictionaries and gold links are read.

Axes: N sentence pairs.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.experts import PAIRS_PER_ENCODER_CALL, Expert
from nmtalign.aligner.training_job import BothVectors, TrainingJob, checked_against_corrections
from nmtalign.corpus.buckets import Bucket, make_buckets, store_buckets
from nmtalign.corpus.coverage import MIN_PAIRS
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.regrouping import share_links
from nmtalign.corpus.sections import split_long_pairs
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.text import EncodedText, line_words_of
from nmtalign.corpus.units import WORDS, LinkUnit
from nmtalign.errors import DataError
from nmtalign.external.word_encoders import WORDS_PER_BATCH, WordEncoder
from nmtalign.links.alignments import AlignedBatch, GoldAlignment, concatenate_batches
from nmtalign.names import BUNDLED_MODEL
from nmtalign.rescoring.rescorer import gold_of_pairs
from nmtalign.scorers.dense import check_vectors
from nmtalign.text.bitext import Pair, tokens_of
from nmtalign.text.chunks import LengthLimit
from nmtalign.text.languages import language_name
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.dictionary_prior import dictionary_pairs
from nmtalign.training.encoded_bitext import (
    bitext_warnings,
    cells_of_cluster_parts,
    cells_of_parts,
    encode_bitext,
    fits_in_memory,
    max_tokens_in_memory,
)
from nmtalign.training.prior import Prior, encoded_forms, is_large_text, similar_words_of_text, width_counts
from nmtalign.vectors.embeddings import Embeddings

# up to this many pairs, continuing a model of other text gives better links than the text alone, if the model
# knows at least MIN_KNOWN_SHARE of the words of both sides
MAX_SMALL_PAIRS = 2_000
MIN_KNOWN_SHARE = 0.8
WORDS_PER_MESSAGE = 20 * WORDS_PER_BATCH  # a message of progress for so many words that are encoded

Item = TypeVar("Item")


class PreparedBitext(NamedTuple):
    """A bitext whose words are numbered, with the prior of its word pairs and the links of an expert."""

    source: EncodedSide  # has the words of the prior, too
    target: EncodedSide
    # keys are numbers of pairs, counted from 0; positions count the words of lines
    gold: Mapping[int, GoldAlignment]
    corpus: Mapping[str, object]  # the facts about the bitext that the model folder records
    text: EncodedText  # both sides, with long pairs split into sections
    # links of an expert, or cells of graded similarities; their probabilities are prior counts
    prior_links: AlignedBatch | None
    prior: Prior | None  # the prior of the job, with the word pairs of dictionaries and of a word encoder
    word_encoder: Mapping[str, object] | None  # the facts about it that the model folder records
    word_vectors: BothVectors | None  # those of the word encoder, for the words of the text
    part_cells: int | None  # number of cells of the parts that are learned from; None: all are in memory


def training_pairs(
    pairs: Iterable[Any],
    job: TrainingJob,
    *,
    add_expert_links: Callable[[Iterable[Any]], Iterator[Any]] | None = None,
    unit: LinkUnit = WORDS,
    limit: LengthLimit | None = None,
    encoding: str = "utf-8",
) -> Iterator[Any]:
    """Yield the checked pairs of a bitext as they are learned from.

    This is the order of steps of :func:`~nmtalign.train` and of ``nmtalign train``. `add_expert_links`
    returns the pairs with the links of an expert, whose positions count what `unit` says. `limit` empties
    pairs that are too long. The file of gold links of the job has this `encoding`.
    A sample is drawn last, and its pairs keep their order.
    """
    text_settings = job.text_settings
    languages = job.settings.languages
    # the links of an expert are read line by line with the pairs, so nothing may change these before
    if add_expert_links is not None:
        pairs = add_expert_links(pairs)
    pairs = unit.prepare_pairs(pairs, text_settings, languages, first=1)
    pairs = checked_against_corrections(pairs, job.gold_file, encoding=encoding)
    # a length is a number of tokens that are aligned, so sub-words are joined before
    if limit is not None:
        pairs = limit.pairs(pairs, text_settings, languages)
    if job.settings.sample is not None:
        pairs = random_sample(pairs, job.settings.sample)
    yield from pairs


def prepare(pairs: Iterable[Pair], job: TrainingJob) -> PreparedBitext:
    """Number the words of a bitext, and warn if the bitext looks wrong."""
    workers = default_workers(job.settings.workers)
    expert_batches: list[tuple[AlignedBatch, ...]] = []
    if job.expert is not None:
        pairs = _collect_expert_links(pairs, job.expert, job, expert_batches)
    max_tokens = max_tokens_in_memory(job.memory)
    if job.store is not None:
        max_tokens = 0  # the text goes to the cluster, in parts
    source, target, digest = encode_bitext(
        pairs, job.text_settings, job.settings.languages, workers, in_memory=max_tokens
    )
    if not ((source.lengths > 0) & (target.lengths > 0)).any():
        raise DataError("expected sentence pairs to learn from, found none with words on both sides")
    corpus = {
        "pairs": len(source.lengths),
        "source_tokens": len(source.tokens),
        "target_tokens": len(target.tokens),
        "sha256": digest,
    }
    gold = _numbered_gold(job, source, target)
    prior = _with_dictionaries(job, source, target)
    _warn_about_bitext(source, target, prior, job)
    voting_links, prior_links = _links_of_expert(job, expert_batches, source, target)
    if prior is not None:
        source, target = prior.extend(source, target)
    if job.vectors is not None:
        check_vectors(job.vectors, (source.words, target.words), job.text_settings)
    in_parts = job.store is not None or not fits_in_memory(source, target, job.memory)
    if in_parts:
        source = source.on_disk()
        target = target.on_disk()
    source_sections, target_sections, sections = split_long_pairs(source, target)
    of_encoder = _with_word_encoder(job, prior, source_sections, target_sections)
    buckets: Sequence[Bucket]
    part_cells = None
    if not in_parts:
        buckets = make_buckets(source_sections, target_sections)
    else:
        source_sections = source_sections.on_disk()
        target_sections = target_sections.on_disk()
        sections = sections.on_disk()
        buckets = store_buckets(source_sections, target_sections)
        if job.store is None:
            part_cells = cells_of_parts(source, target, job.memory, workers)
        else:
            part_cells = cells_of_cluster_parts(sum(buckets.cell_counts))
    text = EncodedText(
        source=source_sections,
        target=target_sections,
        sections=sections,
        buckets=buckets,
        line_words=line_words_of(source, target),
        expert_links=voting_links,
    )
    return PreparedBitext(source, target, gold, corpus, text, prior_links, *of_encoder, part_cells)


def _links_of_expert(
    job: TrainingJob, batches: Sequence[tuple[AlignedBatch, ...]], source: EncodedSide, target: EncodedSide
) -> tuple[AlignedBatch | None, AlignedBatch | None]:
    """Return the links by which the expert votes, and those of its prior; None without an expert."""
    if job.expert is None:
        return None, None
    # an encoder links tokens; links that come with the pairs count the words of lines
    words = None if job.expert.encoder else line_words_of(source, target)
    lengths = source.lengths, target.lengths
    links_of_kinds = [
        share_links(concatenate_batches(batches_of_kind), words, lengths)
        for batches_of_kind in zip(*batches, strict=True)
    ]
    if not any(len(links.source) for links, *_ in batches):
        job.warn("the expert links no words of the bitext")
    # an encoder returns its links, and soft counts; other experts return their links only
    return links_of_kinds[0], links_of_kinds[-1]


def _with_dictionaries(job: TrainingJob, source: EncodedSide, target: EncodedSide) -> Prior | None:
    """Return the prior with the word pairs of the dictionaries that the text can have."""
    if not job.dictionaries:
        return job.prior
    pairs = dictionary_pairs(
        job.dictionaries,
        (source, target),
        job.text_settings,
        job.settings.languages,
        bridges=job.bridges,
        headwords=job.settings.headwords,
        lemmas=job.hyperparameters.lemmas,
        report=job.progress.note,
        warn=job.warn,
    )
    prior = job.prior or Prior()
    return replace(
        prior,
        dictionary_pairs=pairs.words,
        compound_pairs=pairs.compounds,
        phrases=pairs.phrases,
        jumps=width_counts(pairs.jumps),
    )


def _with_word_encoder(
    job: TrainingJob, prior: Prior | None, source: EncodedSide, target: EncodedSide
) -> tuple[Prior | None, Mapping[str, object] | None, BothVectors | None]:
    """Return the prior with word pairs that the encoder finds similar, what the model records, the vectors.

    The vectors are those of all words of a text that is not large, if the encoder is used.
    """
    encoder = job.word_encoder
    if encoder is None:
        return prior, None, None
    knows = _what_encoder_knows(encoder, job)
    forms = encoded_forms(source), encoded_forms(target)
    distinct = list(dict.fromkeys(form for form in chain(*forms) if form))

    def tell(done: int) -> None:
        if done % WORDS_PER_MESSAGE == 0:
            job.progress.note(f"word encoder: {done:,} of {len(distinct):,} words encoded")

    workers = default_workers(job.settings.workers)
    vectors = encoder.encode(distinct, tell, workers=workers)
    row_of_form = number_words(distinct)
    with_zeros = np.concatenate([vectors, np.zeros((1, vectors.shape[1]), np.float32)])
    source_vectors, target_vectors = (with_zeros[look_up(row_of_form, side_forms)] for side_forms in forms)
    del vectors, with_zeros
    similar = similar_words_of_text(source, target, (source_vectors, target_vectors), workers)
    entries = similar.pairs.entries(source, target, similar.scale)
    if not similar.scale:
        found = (
            "finds no more similar words in the sentence pairs than in sentences that do not belong together"
        )
        job.warn(f"the word encoder {encoder.name} {found}; it is not used")
    precision = f"{100 * similar.precision:.0f} % are right by estimate"
    job.progress.note(
        f"word encoder {encoder.name}: {len(entries):,} word pairs for this text, {precision}{knows}"
    )
    prior = prior or Prior()
    with_entries = replace(prior, dictionary_pairs=[*prior.dictionary_pairs, *entries])
    facts = {
        "name": encoder.name,
        "word_pairs": len(entries),
        "estimated_precision": round(similar.precision, 2),
    }
    if not similar.scale or is_large_text(source) or is_large_text(target):
        return with_entries, facts, None
    # word 0 is the padding
    of_source = Embeddings.of(source.words[1:], source_vectors[1:])
    of_target = Embeddings.of(target.words[1:], target_vectors[1:])
    return with_entries, facts, (of_source, of_target)


def _what_encoder_knows(encoder: WordEncoder, job: TrainingJob) -> str:
    """Return that the encoder knows the languages, if these are known; warn if it does not know them."""
    named = job.settings.languages if any(job.settings.languages) else job.languages_of_files
    languages = [language for language in named if language is not None]
    unknown = encoder.unknown_languages(languages)
    if unknown:
        gain = "only names, numbers and words that resemble those of other languages gain"
        job.warn(f"the word encoder {encoder.name} does not know {' and '.join(unknown)}; {gain}")
    if languages and all(map(encoder.knows, languages)):
        return f"; it knows {' and '.join(map(language_name, languages))}"
    return ""


def _warn_about_bitext(
    source: EncodedSide, target: EncodedSide, prior: Prior | None, job: TrainingJob
) -> None:
    """Warn if a bitext looks wrong, or if continuing a model would give better links."""
    for warning in bitext_warnings(source, target):
        job.warn(warning)
    advice = _advice_to_continue(source, target, job)
    if advice:
        job.advise(advice)
    if prior is not None and prior.swapped(source, target):
        job.warn("source and target seem swapped compared with `init`; exchange them")


def _numbered_gold(job: TrainingJob, source: EncodedSide, target: EncodedSide) -> dict[int, GoldAlignment]:
    """Return the gold links by number of the pair; errors name the file if the links were read from one."""
    try:
        if not job.gold:
            return {}
        return gold_of_pairs(job.gold, source, target, file=job.gold_file, on_error=job.on_bad_gold)
    except DataError as error:
        raise (error if job.gold_file is None else error.at(job.gold_file)) from None


def _collect_expert_links(
    pairs: Iterable[Pair], expert: Expert, job: TrainingJob, batches: list[tuple[AlignedBatch, ...]]
) -> Iterator[Pair]:
    """Yield the pairs; after the last one, `batches` contains the links of the expert."""
    tokens = partial(tokens_of, text_settings=job.text_settings, languages=job.settings.languages)
    remaining = iter(pairs)
    while part := list(islice(remaining, PAIRS_PER_ENCODER_CALL)):
        batches.append(expert.links_and_counts(part, tokens))
        yield from part


def _advice_to_continue(source: EncodedSide, target: EncodedSide, job: TrainingJob) -> str:
    """Return advice if a text is small and the bundled model knows its words; an empty text if not."""
    pairs = len(source.lengths)
    has_knowledge = job.prior is not None or job.dictionaries or job.word_encoder is not None
    if has_knowledge or not MIN_PAIRS <= pairs <= MAX_SMALL_PAIRS:
        return ""
    model = load_aligner(BUNDLED_MODEL)
    if job.text_settings not in (TextSettings(), model.text_settings):
        return ""  # the text settings were chosen, so `init` would be refused
    coverage = model.scorer.coverage_of(source, target)
    for side in (coverage.source, coverage.target):
        if side.total < pairs or side.rate < MIN_KNOWN_SHARE:
            return ""
    shares = f"{100 * coverage.source.rate:.0f} % and {100 * coverage.target.rate:.0f} %"
    found = f"the model {BUNDLED_MODEL} knows {shares} of the source and target words"
    return f"{found}; to continue it with this text instead of starting anew, pass `init={BUNDLED_MODEL!r}`"


class RandomSample(Generic[Item]):
    """Random items of a stream that passes through, in order; no more are kept in memory.

    Each item is in the sample with the same probability (Vitter 1985, algorithm R).
    """

    def __init__(self, size: int, *, seed: int = 1) -> None:
        self._size = size
        self._draw = random.Random(seed)
        self._kept: list[tuple[int, Item]] = []
        self.seen = 0  # how many items have passed through

    def watched(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items of a stream."""
        for item in items:
            number = self.seen
            self.seen += 1
            if number < self._size:
                self._kept.append((number, item))
            else:
                place = self._draw.randrange(self.seen)
                if place < self._size:
                    self._kept[place] = number, item
            yield item

    @property
    def items(self) -> list[Item]:
        """The items of the sample."""
        return [item for _, item in sorted(self._kept, key=itemgetter(0))]


def random_sample(items: Iterable[Item], size: int, *, seed: int = 1) -> list[Item]:
    """Return `size` random items of a stream, or all, in order; see :class:`RandomSample`.

    >>> random_sample(range(1_000), 5)
    [2, 128, 626, 677, 713]
    """
    sample: RandomSample[Item] = RandomSample(size, seed=seed)
    deque(sample.watched(items), maxlen=0)
    return sample.items
