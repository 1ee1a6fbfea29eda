"""What a dictionary knows of words that it lacks, in scripts without spaces: the translations of their parts.

A Chinese word such as 电脑公司 is often missing from a dictionary that has its parts, 电脑 and 公司.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_PART_CHARS = 6
MAX_WHOLE_CHARS = 30  # longer words are not split, so that their parts do not take much memory
PART_WEIGHT = 0.5  # multiplied by the part's share of the letters of the word

Translations = Mapping[str, Sequence[tuple[str, float]]]  # translations of each word, with their weights


def possible_parts(words: Iterable[str]) -> set[str]:
    """Return the parts that words may be split into.

    >>> sorted(possible_parts(["abc"]))
    ['a', 'ab', 'b', 'bc', 'c']
    """
    parts = set()
    for word in words:
        if len(word) > MAX_WHOLE_CHARS:
            continue
        for start in range(len(word)):
            for end in _ends_of_parts(word, start):
                parts.add(word[start:end])
    return parts


def _ends_of_parts(word: str, start: int) -> range:
    """Return the ends of the parts that begin at `start`, the farthest one first."""
    farthest = min(start + MAX_PART_CHARS, len(word) if start else len(word) - 1)
    return range(farthest, start, -1)


def known_parts(word: str, known: Translations) -> list[str]:
    """Return the parts of a word that have translations: from the left, the longest one each time.

    >>> known_parts("abcd", {"ab": [], "abcd": [], "bcd": [], "d": []})
    ['ab', 'd']
    """
    parts: list[str] = []
    start = 0
    if len(word) > MAX_WHOLE_CHARS:
        return parts
    while start < len(word):
        candidates = [word[start:end] for end in _ends_of_parts(word, start)]
        part = next((candidate for candidate in candidates if candidate in known), "")
        if part:
            parts.append(part)
        start += len(part) or 1
    return parts


def translations_of_parts(
    words: Iterable[str], translations: Translations
) -> Iterator[tuple[str, str, float]]:
    """Yield words with the translations of their parts, and weights.

    >>> list(translations_of_parts(["abc"], {"ab": [("x", 1.0)]}))
    [('abc', 'x', 0.3333333333333333)]
    """
    for word in words:
        for part in known_parts(word, translations):
            share = len(part) / len(word)
            for translation, weight in translations[part]:
                yield word, translation, PART_WEIGHT * share * weight
