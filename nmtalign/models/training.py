"""From a bitext on disk to a learned model: reading, checks, learning."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign.alignment.links import GoldAlignment
from nmtalign.errors import DataError, UsageError
from nmtalign.models.corpus import EncodedSide, SideEncoder
from nmtalign.models.estimation import PlaceBitext
from nmtalign.models.knowledge import Knowledge
from nmtalign.models.learned import Training, learn
from nmtalign.models.settings import PRESETS, Settings
from nmtalign.rescoring.training import FEWEST_GOLD, LONGEST
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import TextSettings

EVEN = 2.0  # standard deviation of lengths below which their correlation says nothing
FEWEST = 50  # pairs from which on statistics of lengths mean something


def train(
    pairs: Iterable[SentencePair | tuple[str, str]],
    *,
    settings: Settings | None = None,
    text: TextSettings | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    known: Knowledge | None = None,
    workers: int | None = None,
    report: Callable[[str], None] | None = None,
    warn: Callable[[str], None] | None = None,
    place: PlaceBitext | None = None,
    rescore: tuple[str, str] | None = None,
    gold: Sequence[GoldAlignment] = (),
    state: str | Path | None = None,
) -> Training:
    """Learn an alignment model from sentence pairs.

    Parameters
    ----------
    pairs : iterable of (source line, target line)
        Read once.
    settings : Settings, optional
        A preset of :data:`nmtalign.models.settings.PRESETS` or your own.
    text : TextSettings, optional
        How lines become words.
    languages : (str or None, str or None), optional
        For tokenisers.
    known : Knowledge, optional
        A bilingual word list, an older model, or both.
    workers : int, optional
        Threads; the model does not depend on it.
    report, warn : callable, optional
        Called with a line of text: progress, and what looks wrong with the bitext.
    state : optional
        As of :func:`nmtalign.models.learned.learn`.
    rescore : optional
        As of :func:`nmtalign.models.learned.learn`.
    gold : sequence of GoldAlignment
        Gold links of the last pairs, or of all, that teach a rescorer: :func:`gold_of_pairs`.
    place : callable, optional
        As of :class:`nmtalign.models.estimation.Estimator`: where passes over the bitext are made.

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
    if gold and rescore:
        raise UsageError("gold links teach a rescorer of their own; leave the other one out")
    taught = gold_of_pairs(gold, source, target) if gold else {}
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
        rescore=rescore,
        gold=taught,
        state=state,
    )


def gold_of_pairs(
    gold: Sequence[GoldAlignment], source: EncodedSide, target: EncodedSide
) -> dict[int, GoldAlignment]:
    """Return the gold links that teach, by number of their pair from 0.

    As many lines as pairs are one for each, an empty one where there is none; fewer are those of the last
    pairs.

    Raises
    ------
    DataError
        If there are more lines than pairs, a link lies outside of its pair, or fewer pairs than FEWEST_GOLD
        have links.
    """
    pairs = len(source.lengths)
    if len(gold) > pairs:
        raise DataError(f"expected gold links for at most {pairs:,} pairs, found {len(gold):,} lines")
    found = dict(enumerate(gold, pairs - len(gold)))
    for n, links in found.items():
        _check_inside(n, links, source, target)
    longest = np.maximum(source.lengths, target.lengths)
    found = {n: links for n, links in found.items() if links.possible and 0 < longest[n] <= LONGEST}
    if len(found) < FEWEST_GOLD:
        raise DataError(
            f"expected gold links of at least {FEWEST_GOLD} pairs of at most {LONGEST} words, found"
            f" {len(found)}; leave them out, or add hand-aligned pairs"
        )
    return found


def _check_inside(n: int, links: GoldAlignment, source: EncodedSide, target: EncodedSide) -> None:
    S, T = int(source.lengths[n]), int(target.lengths[n])
    for s, t in links.possible:
        if s >= S or t >= T:
            what = f"gold link {s}-{t} lies outside of a pair of {S} and {T} words, number {n + 1}"
            words = " ".join(source.sentence(n))[:60]
            raise DataError(f"{what}: {words!r}; was the text cut into words otherwise?")


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
