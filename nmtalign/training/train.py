"""From a bitext on disk to a learned model: reading, checks, learning."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign.aligner.learned import Training, learn
from nmtalign.corpus.sides import EncodedSide, SideEncoder
from nmtalign.errors import DataError
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import PlaceBitext
from nmtalign.training.prior import Prior
from nmtalign.training.settings import PRESETS, Settings

EVEN = 2.0  # standard deviation of lengths below which their correlation says nothing
FEWEST = 50  # pairs from which on statistics of lengths mean something


def train(
    pairs: Iterable[SentencePair | tuple[str, str]],
    *,
    settings: Settings | None = None,
    text: TextSettings | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    known: Prior | None = None,
    workers: int | None = None,
    report: Callable[[str], None] | None = None,
    warn: Callable[[str], None] | None = None,
    place: PlaceBitext | None = None,
    state: str | Path | None = None,
) -> Training:
    """Learn an alignment model from sentence pairs.

    Parameters
    ----------
    pairs : iterable of (source line, target line)
        Read once.
    settings : Settings, optional
        A preset of :data:`nmtalign.training.settings.PRESETS` or your own.
    text : TextSettings, optional
        How lines become words.
    languages : (str or None, str or None), optional
        For tokenisers.
    known : Prior, optional
        A bilingual word list, an older model, or both.
    workers : int, optional
        Threads; the model does not depend on it.
    report, warn : callable, optional
        Called with a line of text: progress, and what looks wrong with the bitext.
    state : optional
        As of :func:`nmtalign.aligner.learned.learn`.
    place : callable, optional
        As of :class:`nmtalign.training.em.Estimator`: where passes over the bitext are made.

    Returns
    -------
    Training
        ``.model`` is what was learned, ``.aligner`` aligns with it, ``.align(extraction)`` aligns the bitext
        itself.

    Raises
    ------
    DataError
        If no pair has words on both sides.

    Examples
    --------
    >>> bitext = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 5
    >>> aligner = train(bitext).aligner
    >>> list(aligner.align("the car", "la auto").alignment)
    [Link(source=0, target=0), Link(source=1, target=1)]
    """
    text = text or TextSettings()
    source, target, digest = _encoded(pairs, text, languages)
    if not ((source.lengths > 0) & (target.lengths > 0)).any():
        raise DataError("expected sentence pairs to learn from, found none with words on both sides")
    warnings = suspicions(source, target)
    settings = settings or PRESETS["default"]
    if known is not None and known.swapped(source, target):
        warnings.append("the sides look like those of the older model the other way round; are they swapped?")
    for warning in warnings:
        (warn or (lambda line: None))(warning)
    corpus: dict[str, Any] = {
        "pairs": len(source.lengths),
        "source_tokens": len(source.tokens),
        "target_tokens": len(target.tokens),
        "sha256": digest,
    }
    return learn(
        source,
        target,
        settings,
        text=text,
        languages=languages,
        corpus=corpus,
        known=known,
        workers=workers,
        report=report,
        place=place,
        state=state,
    )


def _encoded(
    pairs: Iterable[SentencePair | tuple[str, str]],
    text: TextSettings,
    languages: tuple[str | None, str | None],
) -> tuple[EncodedSide, EncodedSide, str]:
    """Tokenise and number a bitext as it streams by; also return its SHA-256."""
    encoders = SideEncoder(), SideEncoder()
    digest = hashlib.sha256()
    for number, (source, target) in enumerate(pairs, 1):
        if "\n" in source or "\n" in target:
            raise DataError(f"pair {number}: expected one line a side, found a line break")
        for encoder, words in zip(encoders, text.words_of_pair((source, target), languages), strict=True):
            encoder.add(words)
        digest.update(f"{source}\t{target}\n".encode("utf-8", "surrogatepass"))
    return encoders[0].finish(), encoders[1].finish(), digest.hexdigest()


def suspicions(source: EncodedSide, target: EncodedSide) -> list[str]:
    """Return a line of warning for each thing that looks wrong with a bitext."""
    s, t = source.lengths, target.lengths
    n = len(s)
    found = []
    empty = int(((s == 0) | (t == 0)).sum())
    if empty >= n / 2:
        found.append(f"{empty:,} of {n:,} pairs have an empty side; is this the right pair of files?")
    if n >= FEWEST and empty < n / 2:
        same = _same_sentences(source, target)
        if same > n / 2:
            found.append(
                f"{same:,} of {n:,} pairs have the same words on both sides; is one file given twice?"
            )
        found.extend(_of_lengths(s.astype(float), t.astype(float)))
    return found


def _same_sentences(source: EncodedSide, target: EncodedSide) -> int:
    """Count the pairs whose two sides are the same words."""
    place = {word: k for k, word in enumerate(target.words)}
    as_target = np.array([place.get(word, -1) for word in source.words])[source.tokens]
    equal = np.flatnonzero((source.lengths == target.lengths) & (source.lengths > 0))
    return sum(
        np.array_equal(
            as_target[source.offsets[k] : source.offsets[k + 1]],
            target.tokens[target.offsets[k] : target.offsets[k + 1]],
        )
        for k in equal.tolist()
    )


def _correlation(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Return Pearson's correlation, 1 where a side does not vary."""
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 1.0


def _of_lengths(s: np.ndarray[Any, Any], t: np.ndarray[Any, Any]) -> list[str]:
    """Warn where the lengths of the two sides do not go together, or do so only after a shift."""
    here = _correlation(s, t)
    if here > 0.3 or min(s.std(), t.std()) < EVEN:
        return []
    by_shift = {
        k: _correlation(s[max(0, -k) : len(s) - max(0, k)], t[max(0, k) : len(t) + min(0, k)])
        for k in (-2, -1, 1, 2)
    }
    best = max(by_shift, key=lambda k: by_shift[k])
    if by_shift[best] > max(0.5, here + 0.2):
        moved = f"the lengths of the sides go together better when the target is moved by {best} lines"
        return [f"{moved}; is it shifted?"]
    return [f"the lengths of the two sides are hardly correlated ({here:.2f}); are they translations?"]
