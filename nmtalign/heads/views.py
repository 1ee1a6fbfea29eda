"""Views of words: the word itself and its first letters, so that rare words share the counts of relatives.

Axes: P word pairs of a bitext, Q pairs of shortened words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import PairIndex, distinct, words_of

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]


def shorten(words: Sequence[str], letters: int) -> tuple[Ints, list[str]]:
    """Number the first `letters` letters of each word (0: whole words, negative: the last letters).

    Return the numbers, an int32 array of shape (len(words),), and the forms: ``forms[numbers[k]]`` is the
    shortened ``words[k]``; form 0 is the padding "".
    """
    cut = slice(letters, None) if letters < 0 else slice(0, letters or None)
    shortened = [word[cut] for word in words]
    forms = list(dict.fromkeys(["", *shortened]))
    number = number_words(forms)
    return np.fromiter(map(number.__getitem__, shortened), np.int32, len(words)), forms


@dataclass(frozen=True)
class View:
    """The word pairs of a bitext seen through shortened words."""

    letters: int  # as of :func:`shorten`
    source_forms: list[str]
    target_forms: list[str]
    # form of each source and target word
    source_number: Ints
    target_number: Ints
    pair: Ints | None  # (P,): number of the view's pair for each word pair; None where they are the same
    # (Q,): forms of the view's pairs
    source: Ints
    target: Ints
    prior: Floats  # (Q,): counts added beforehand

    def counts(self, counts: Doubles) -> Doubles:
        """Sum counts of word pairs (P,) into counts of the view's pairs (Q,)."""
        if self.pair is None:
            return counts
        return np.asarray(np.bincount(self.pair, counts, len(self.source)), dtype=np.float64)

    def spread(self, values: Floats) -> Floats:
        """Return values of the view's pairs (Q,) for each word pair (P,)."""
        return values if self.pair is None else values.take(self.pair)


def _distinctive(form: str) -> bool:
    """Tell whether two words with this spelling are likely to be translations."""
    return len(form) > 2 or any(c.isdigit() for c in form)


def make_view(
    source: EncodedSide,
    target: EncodedSide,
    pairs: PairIndex,
    letters: int,
    *,
    spelling: float,
    apart: bool = True,
) -> View:
    """Return the view of `pairs` through words of so many letters, as of :func:`shorten`.

    `spelling` is the prior count of two forms with one spelling. Only where the view's pairs are numbered
    `apart` can counts be summed; else there is one for each word pair.
    """
    s, s_forms = shorten(source.words, letters)
    t, t_forms = shorten(target.words, letters)
    of_pair, at_source, at_target = None, s[pairs.source], t[pairs.target]
    if apart and letters:
        keys, of_pair = distinct(at_source.astype(np.int64) * len(t_forms) + at_target)
        at_source, at_target = words_of(keys, len(t_forms))
    prior = np.float32(spelling) * _spelled_alike(s_forms, t_forms, at_source, at_target)
    return View(letters, s_forms, t_forms, s, t, of_pair, at_source, at_target, prior)


def _spelled_alike(source: Sequence[str], target: Sequence[str], at_source: Ints, at_target: Ints) -> Floats:
    """Return 1 for pairs of forms that are one string of three letters or more or with a digit, else 0."""
    same = look_up(number_words(target), [form if _distinctive(form) else "" for form in source])
    same[same == 0] = -1
    return np.asarray(same[at_source] == at_target, dtype=np.float32)
