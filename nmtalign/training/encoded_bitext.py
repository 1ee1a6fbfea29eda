"""Tokenize and number a bitext, warn where its sides seem not to be parallel, and say what fits in memory."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, cast

import numpy as np

from nmtalign.arrays import Doubles
from nmtalign.corpus.coverage import (
    MAX_PUNCTUATED_RATE,
    MIN_PAIRS,
    Coverage,
    are_copies,
    ends_in_punctuation,
    find_spaceless_letter,
)
from nmtalign.corpus.parallel import parallel_imap
from nmtalign.corpus.sides import EncodedSide, NumberedWords, side_encoders
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.text.bitext import Pair, Sentence, SentencePair
from nmtalign.text.chunks import Chunk, chunk_pairs
from nmtalign.text.tokenization import Languages, TextSettings

SentencesOfSides = tuple[Sequence[Sentence], Sequence[Sentence]]  # source and target sentences

PAIRS_PER_NUMBERING = 5_000
MAX_MEAN_LETTERS = 7.0  # longer words of a script without spaces are probably phrases
MIN_LENGTH_DEVIATION = 2.0  # sentence lengths that vary less say nothing by their correlation


def encode_bitext(
    pairs: Iterable[Pair],
    text_settings: TextSettings,
    languages: Languages,
    workers: int = 1,
    *,
    in_memory: float = math.inf,
) -> tuple[EncodedSide, EncodedSide, str]:
    """Tokenize and number a streamed bitext; return both sides and the SHA-256 of the text.

    Either all sentences are lines, or all are lists of words; the first pair decides. Tokens of a side beyond
    the first `in_memory` are on disk.
    """
    remaining = iter(pairs)
    first_pair = list(islice(remaining, 1))
    in_lines = all(isinstance(source, str) for source, _ in first_pair)

    def number_chunk(sides: SentencesOfSides) -> list[NumberedWords]:
        """Return the numbered words of both sides of a chunk."""
        encoders_of_chunk = side_encoders(text_settings, languages)
        for encoder, sentences in zip(encoders_of_chunk, sides, strict=True):
            if in_lines:
                encoder.add_lines(cast(Sequence[str], sentences))
            else:
                encoder.add_words(sentences)
        return [encoder.number_sentences() for encoder in encoders_of_chunk]

    all_pairs = starmap(SentencePair, chain(first_pair, remaining))
    chunks = chunk_pairs(all_pairs, chunk_size=PAIRS_PER_NUMBERING)
    digest = hashlib.sha256()
    sides_of_chunks = _hash_chunks(chunks, digest.update, in_lines=in_lines)
    first_chunks = list(islice(sides_of_chunks, 2))
    if len(first_chunks) < 2:
        workers = 1  # processes are not worth it for a single chunk
    source, target = side_encoders(text_settings, languages, in_memory)
    all_chunks = chain(first_chunks, sides_of_chunks)
    for source_words, target_words in parallel_imap(number_chunk, all_chunks, workers):
        source.merge(source_words)
        target.merge(target_words)
    return source.finish(), target.finish(), digest.hexdigest()


def _hash_chunks(
    chunks: Iterable[Chunk], update: Callable[[bytes], None], *, in_lines: bool
) -> Iterator[SentencesOfSides]:
    """Yield both sides of chunks, which pickle faster than pairs; pass the lines to `update` of a hash."""
    for first, pairs in chunks:
        rows: Iterable[tuple[Any, Any]] = pairs
        if not in_lines:
            rows = [(" ".join(source), " ".join(target)) for source, target in pairs]
        lines = "".join([f"{source}\t{target}\n" for source, target in rows])
        if lines.count("\n") != len(pairs):
            broken = next(n for n, row in enumerate(rows, first + 1) if "\n" in "".join(row))
            raise DataError(f"pair {broken}: expected one line per side, found a line break")
        update(lines.encode("utf-8", "surrogatepass"))
        yield [pair.source for pair in pairs], [pair.target for pair in pairs]


def bitext_warnings(source: EncodedSide, target: EncodedSide) -> list[str]:
    """Return warnings about a bitext that looks wrong, one line each."""
    pairs = len(source.lengths)
    warnings = []
    empty = int(((source.lengths == 0) | (target.lengths == 0)).sum())
    if empty >= pairs / 2:
        warnings.append(f"{empty:,} of {pairs:,} pairs have an empty side; is this the right pair of files?")
    elif pairs >= MIN_PAIRS:
        copies = Coverage(pairs=pairs, copies=int(are_copies(source, target).sum()))
        if copies.warning:
            warnings.append(copies.warning)
        warnings += _warn_of_lengths(source.lengths.astype(float), target.lengths.astype(float))
    # punctuation is mentioned for one side only
    warnings += _warn_of_punctuation(source) or _warn_of_punctuation(target)
    warnings += _warn_of_unsplit_text(source, "source")
    warnings += _warn_of_unsplit_text(target, "target")
    return warnings


def _warn_of_punctuation(side: EncodedSide) -> list[str]:
    """Warn if many words end in punctuation, because the text is not tokenized."""
    punctuated = [k for k, word in enumerate(side.words) if ends_in_punctuation(word)]
    share = side.counts[punctuated].sum() / max(side.counts.sum(), 1)
    if share < MAX_PUNCTUATED_RATE:
        return []
    words = f"{100 * share:.0f} % of the words end in punctuation, like {side.words[punctuated[0]]!r}"
    problem = "so they do not match the same words without punctuation"
    return [f"{words}, {problem}; tokenize the text with `tokenizer=simple`"]


def _warn_of_unsplit_text(side: EncodedSide, name: str) -> list[str]:
    """Warn if a text in a script without spaces is not split into words."""
    unspaced = [k for k, word in enumerate(side.words) if find_spaceless_letter(word)]
    if 2 * side.counts[unspaced].sum() < side.counts.sum():
        return []
    mean = np.average([len(side.words[k]) for k in unspaced], weights=side.counts[unspaced])
    advice = "pass space-separated words, or learn a model with the tokenizer icu"  # some commands lack it
    if mean > MAX_MEAN_LETTERS:
        return [f"the {name} is written without spaces and not split ({mean:.0f} letters per word); {advice}"]
    if mean == 1:
        return [f"the {name} is split into single characters, and words align better; {advice}"]
    return []


def _correlation(a: Doubles, b: Doubles) -> float:
    """Return Pearson's correlation, 1 if a side is constant."""
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 1.0


def _warn_of_lengths(s: Doubles, t: Doubles) -> list[str]:
    """Warn if sentence lengths of the two sides do not correlate, or correlate only after a shift."""
    unshifted = _correlation(s, t)
    if unshifted > 0.3 or min(s.std(), t.std()) < MIN_LENGTH_DEVIATION:
        return []
    by_shift = {}
    for k in (-2, -1, 1, 2):  # compares line n of the source with line n + k of the target
        source_part = s[max(0, -k) : len(s) - max(0, k)]
        target_part = t[max(0, k) : len(t) + min(0, k)]
        by_shift[k] = _correlation(source_part, target_part)
    best = max(by_shift, key=lambda k: by_shift[k])
    if by_shift[best] > max(0.5, unshifted + 0.2):
        other_line = f"line n {'+' if best > 0 else '-'} {abs(best)}"
        better = f"line n of the source is paired with {other_line} of the target"
        return [f"the sentence lengths fit better if {better}; are lines missing?"]
    return [f"the lengths of the two sides are hardly correlated ({unshifted:.2f}); are they translations?"]


# --- memory --------------------------------------------------------------------------------------
# How much learning may use, and how much it needs: numbers of bytes, rounded up from runs of
# `scripts/benchmark_scaling.py growth`.

SIZE_UNITS = ["", "K", "M", "G", "T"]  # powers of 1000, or of 1024
LOADED_BYTES = 100_000_000  # the program and its libraries, before it learns
PROGRAM_BYTES = 200_000_000  # the program while it learns in parts, whatever the text
BYTES_PER_TOKEN = 80  # tokens of both sides, if nothing is on disk
BYTES_PER_WORD = 600  # distinct words of both sides, on average, when the vectors of the model are learned
BYTES_PER_PAIR = 280  # while buckets are made
BYTES_PER_CELL = 48  # each worker has one part in memory; most while its pairs of forms are numbered
MIN_PART_CELLS = 1 << 18
MAX_PART_CELLS = 1 << 24
# Each part exchanges a slice with each range, so their number is bounded on a cluster, not their size.
CLUSTER_PART_CELLS = 1 << 22  # 10,000 to 30,000 sentence pairs
MAX_CLUSTER_PARTS = 128
CGROUP_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
_SIZE = r"\s*(\d{1,15}\.?\d{0,15}|\.\d{1,15})\s*+([kmgt]?)(i?)b?\s*"  # number, unit, and i of binary units


def memory_bytes(value: Any) -> int:
    """Return a number of bytes that is given as a number, or as text such as ``4G``.

    >>> memory_bytes("1500M"), memory_bytes("0.5 GB"), memory_bytes("1GiB"), memory_bytes(10**9)
    (1500000000, 500000000, 1073741824, 1000000000)
    """
    found = None
    if isinstance(value, str | int) and not isinstance(value, bool):
        found = re.fullmatch(_SIZE, str(value), re.IGNORECASE | re.ASCII)
    if found is None or (found[3] and not found[2]):
        expected = "expected a number of bytes as `memory`, such as 4G, 1500M or 0.5G"
        raise UsageError(f"{expected}; found {short_repr(value)}")
    base = 1024 if found[3] else 1000
    size = int(float(found[1]) * base ** SIZE_UNITS.index(found[2].upper()))
    if size < PROGRAM_BYTES:
        needed = f"{PROGRAM_BYTES // 10**6}M, which the program needs for any text"
        raise UsageError(f"`memory` must be at least {needed}; found {short_repr(value)}")
    return size


def default_memory() -> int | None:
    """Return half of the memory that this machine has, or that its container allows; None if unknown."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # "max", or no such limit
            continue
    return max(min(limits) // 2, PROGRAM_BYTES)


def max_tokens_in_memory(memory: int | None) -> float:
    """Return how many tokens of a side are kept in memory; with more, the text does not fit."""
    return math.inf if memory is None else memory / BYTES_PER_TOKEN


def fits_in_memory(source: EncodedSide, target: EncodedSide, memory: int | None) -> bool:
    """Return whether the tokens of a text stay in memory while an aligner is learned from it.

    The numbers of its word pairs may be in a temporary file even then, see
    :func:`~nmtalign.corpus.word_pairs.index_word_pairs`.
    """
    if memory is None:
        return True
    tokens = len(source.tokens) + len(target.tokens)
    return LOADED_BYTES + BYTES_PER_TOKEN * tokens <= memory


def cells_of_parts(source: EncodedSide, target: EncodedSide, memory: int | None, workers: int) -> int:
    """Return the number of cells of the parts of a text for which learning stays below the bound.

    Raises UsageError if no number is small enough, because of what is always in memory.
    """
    if memory is None:
        return MAX_PART_CELLS
    words = len(source.words) + len(target.words)
    pairs = len(source.offsets)
    # the bytes of pairs are free again when those of words are needed
    fixed = PROGRAM_BYTES + max(BYTES_PER_PAIR * pairs, BYTES_PER_WORD * words)
    needed = fixed + MIN_PART_CELLS * BYTES_PER_CELL * workers
    if needed > memory:
        found = f"{len(source.offsets) - 1:,} pairs of {words:,} distinct words need {needed / 1e6:,.0f}M"
        raise UsageError(f"`memory` is too small: {found}; pass more, or fewer `workers`")
    cells = (memory - fixed) // (BYTES_PER_CELL * workers)
    return min(cells, MAX_PART_CELLS)


def cells_of_cluster_parts(cells: int) -> int:
    """Return the number of cells of the parts of a text on a cluster, whatever its number of workers."""
    return max(CLUSTER_PART_CELLS, -(-cells // MAX_CLUSTER_PARTS))
