"""Tokenize and number a bitext, and warn where its sides seem not to be parallel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, starmap
from typing import Any

import numpy as np

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

PAIRS_PER_NUMBERING = 5_000  # pairs numbered at a time
MAX_MEAN_LETTERS = 7.0  # mean letters of the words of such a script above which words seem to be phrases
MIN_LENGTH_DEVIATION = 2.0  # standard deviation of lengths below which the correlation says nothing


def encode_bitext(
    pairs: Iterable[Pair], text: TextSettings, languages: Languages, workers: int = 1
) -> tuple[EncodedSide, EncodedSide, str]:
    """Tokenize and number a streamed bitext; also return its SHA-256.

    Either all sentences are lines, or all are lists of words; the first pair decides.
    """
    digest, encoders, rest = hashlib.sha256(), side_encoders(text, languages), iter(pairs)
    first = list(islice(rest, 1))
    in_lines = all(isinstance(source, str) for source, _ in first)

    def numbered(sides: Any) -> list[NumberedWords]:
        part = side_encoders(text, languages)
        for encoder, sentences in zip(part, sides, strict=True):
            (encoder.add_lines if in_lines else encoder.add_words)(sentences)
        return [encoder.numbered() for encoder in part]

    chunks = chunk_pairs(starmap(SentencePair, chain(first, rest)), chunk_size=PAIRS_PER_NUMBERING)
    parts = _hash_chunks(chunks, digest, in_lines=in_lines)
    begin = list(islice(parts, 2))
    for part in parallel_imap(numbered, chain(begin, parts), workers if begin[1:] else 1):
        for encoder, side in zip(encoders, part, strict=True):
            encoder.merge(side)
    return encoders[0].finish(), encoders[1].finish(), digest.hexdigest()


def _hash_chunks(
    chunks: Iterable[Chunk], digest: hashlib._Hash, *, in_lines: bool
) -> Iterator[SentencesOfSides]:
    """Yield both sides of chunks, which pickle faster than pairs, and add the lines to a digest."""
    for first, pairs in chunks:
        rows = pairs if in_lines else [(" ".join(source), " ".join(target)) for source, target in pairs]
        lines = "".join([f"{source}\t{target}\n" for source, target in rows])
        if lines.count("\n") != len(pairs):
            broken = next(n for n, row in enumerate(rows, first) if "\n" in "".join(row))
            raise DataError(f"pair {broken}: expected one line a side, found a line break")
        digest.update(lines.encode("utf-8", "surrogatepass"))
        yield [pair.source for pair in pairs], [pair.target for pair in pairs]


def bitext_warnings(source: EncodedSide, target: EncodedSide) -> list[str]:
    """Return warnings about a bitext that looks wrong, one line each."""
    s, t = source.lengths, target.lengths
    n, warnings = len(s), []
    empty = int(((s == 0) | (t == 0)).sum())
    if empty >= n / 2:
        warnings.append(f"{empty:,} of {n:,} pairs have an empty side; is this the right pair of files?")
    elif n >= MIN_PAIRS:
        warnings += filter(None, [Coverage(pairs=n, copies=count_copies(source, target)).warning])
        warnings += _of_lengths(s.astype(float), t.astype(float))
    warnings += [warning for side in (source, target) for warning in _of_punctuation(side)][:1]
    return warnings + _unsegmented(source, "source") + _unsegmented(target, "target")


def _of_punctuation(side: EncodedSide) -> list[str]:
    """Warn where many words end in punctuation: the text is not tokenized yet."""
    punctuated = [k for k, word in enumerate(side.words) if ends_in_punctuation(word)]
    share = side.counts[punctuated].sum() / max(side.counts.sum(), 1)
    if share < MAX_PUNCTUATED_RATE:
        return []
    words = f"{100 * share:.0f} % of the words end in punctuation, like {side.words[punctuated[0]]!r}"
    return [f"{words}, which makes other words of them; cut raw text with the tokenizer simple"]


def _unsegmented(side: EncodedSide, name: str) -> list[str]:
    """Warn if a text in a script without spaces is not cut into words."""
    unspaced = [k for k, word in enumerate(side.words) if find_spaceless_letter(word)]
    if 2 * side.counts[unspaced].sum() < side.counts.sum():
        return []
    mean = np.average([len(side.words[k]) for k in unspaced], weights=side.counts[unspaced])
    how = "give words between spaces, or `tokenizer=icu`"
    if mean > MAX_MEAN_LETTERS:
        return [f"the {name} is written without spaces and not cut ({mean:.0f} letters a word); {how}"]
    return [f"the {name} is cut into single characters, and words align better; {how}"] if mean == 1 else []


def _correlation(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Return Pearson's correlation, 1 if a side is constant."""
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 1.0


def _of_lengths(s: np.ndarray[Any, Any], t: np.ndarray[Any, Any]) -> list[str]:
    """Warn if sentence lengths of the two sides do not correlate, or correlate only after a shift."""
    unshifted = _correlation(s, t)
    if unshifted > 0.3 or min(s.std(), t.std()) < MIN_LENGTH_DEVIATION:
        return []
    by_shift = {
        k: _correlation(s[max(0, -k) : len(s) - max(0, k)], t[max(0, k) : len(t) + min(0, k)])
        for k in (-2, -1, 1, 2)
    }
    best = max(by_shift, key=lambda k: by_shift[k])
    if by_shift[best] > max(0.5, unshifted + 0.2):
        moved = f"the lengths of the sides go together better when the target is moved by {best} lines"
        return [f"{moved}; is it shifted?"]
    return [f"the lengths of the two sides are hardly correlated ({unshifted:.2f}); are they translations?"]
