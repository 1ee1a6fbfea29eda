"""Tokenize and number a bitext, and warn where its sides seem not to be parallel."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, starmap
from typing import Any, cast

import numpy as np

from nmtalign.arrays import Doubles
from nmtalign.corpus.coverage import (
    MAX_PUNCTUATED_RATE,
    MIN_PAIRS,
    Coverage,
    count_copies,
    ends_in_punctuation,
    find_spaceless_letter,
)
from nmtalign.corpus.parallel import parallel_imap
from nmtalign.corpus.sides import EncodedSide, NumberedWords, side_encoders
from nmtalign.errors import DataError
from nmtalign.text.bitext import Chunk, Pair, Sentence, SentencePair, chunk_pairs
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
    source, target = side_encoders(text_settings, languages, in_memory=in_memory)
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
        copies = Coverage(pairs=pairs, copies=count_copies(source, target))
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
    advice = "pass space-separated words, or `tokenizer=icu`"
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
