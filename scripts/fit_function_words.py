"""For docs/howtos/lexicon.md: fit the weights that tell function words in `lexicon --terms`.

Run: python scripts/fit_function_words.py ../shared/data/bitext     (2 minutes, 600 MB)

The texts are aligned by aligners that are learned from them. Words that occur `MIN_COUNT` times or more are
function words if they are among the stop words of spaCy. A logistic regression predicts this from the
features of `nmtalign.applications.terminology`; a word counts as the root of its frequency. Printed are
precision and recall of each side with weights that were fitted without texts of its language, then the
weights of all texts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import nmtalign as na
from nmtalign.applications.linked_pairs import read_linked_lines
from nmtalign.applications.terminology import TermText

TEXTS = {
    "tico19": ("en", "fr"),
    "laws": ("en", "fr"),
    "europarl_deen": ("de", "en"),
    "europarl_enes": ("en", "es"),
    "xlwa_enit": ("en", "it"),
    "xlwa_enhu": ("en", "hu"),
    "xlwa_enru": ("en", "ru"),
    "xlwa_enbg": ("en", "bg"),
}
MAX_PAIRS = 20_000
MIN_COUNT = 5
NEWTON_STEPS = 50
RIDGE = 1e-3  # keeps the Hessian invertible


class Side(NamedTuple):
    """The words of a side with at least `MIN_COUNT` occurrences."""

    text: str
    language: str
    features: NDArray[np.float64]
    is_function_word: NDArray[np.float64]
    weights: NDArray[np.float64]


def sides_of(folder: Path, languages: tuple[str, str]) -> Iterator[Side]:
    """Yield both sides of a text."""
    files = [str(folder / f"train.{language}.gz") for language in languages]
    pairs = list(islice(na.read_bitext(*files), MAX_PAIRS))
    aligner = na.train(pairs, tokenizer="simple", languages=languages)
    text = TermText()
    for lines in read_linked_lines(aligner.align_batch(pairs, count="tokens")):
        text.add(lines)
    for number, language in enumerate(languages):
        side = text.sides[number]
        stop_words = stop_words_of(language)
        words = side.vocabulary()
        has_letters = np.array([any(map(str.isalpha, word)) for word in words])
        chosen = has_letters & (side.counts() >= MIN_COUNT)
        is_function_word = np.array([word in stop_words for word in words], float)
        features = side.features(text.is_linked(number))
        weights = np.sqrt(side.counts())[chosen]
        yield Side(
            folder.name, language, features[chosen], is_function_word[chosen], weights / weights.mean()
        )


def stop_words_of(language: str) -> set[str]:
    """Return the stop words of spaCy."""
    words: set[str] = import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS
    return words


def fit(sides: Sequence[Side]) -> NDArray[np.float64]:
    """Return the weights of a logistic regression, by Newton's method; each side counts the same."""
    features = np.concatenate([side.features for side in sides])
    expected = np.concatenate([side.is_function_word for side in sides])
    weights = np.concatenate([side.weights / len(side.weights) for side in sides]) * 1000
    result = np.zeros(features.shape[1])
    for _ in range(NEWTON_STEPS):
        predicted = 1 / (1 + np.exp(-features @ result))
        gradient = features.T @ (weights * (predicted - expected)) + RIDGE * result
        curvature = weights * predicted * (1 - predicted)
        hessian = (features * curvature[:, None]).T @ features + RIDGE * np.eye(len(result))
        result -= np.linalg.solve(hessian, gradient)
    return result


def main(folder: Path) -> None:
    sides: list[Side] = []
    for name, languages in TEXTS.items():
        sides += sides_of(folder / name, languages)
    print("text           side  precision  recall")
    for side in sides:
        weights = fit([other for other in sides if other.language != side.language])
        found = side.weights * (side.features @ weights > 0)
        right = (found * side.is_function_word).sum()
        recall = right / (side.weights * side.is_function_word).sum()
        print(f"{side.text:14} {side.language:4} {right / found.sum():10.2f} {recall:7.2f}")
    print("FUNCTION_WORD_WEIGHTS =", tuple(round(float(weight), 2) for weight in fit(sides)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
