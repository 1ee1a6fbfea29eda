"""For docs/explanation/figures.md: how much text is enough? Errors of links learned from more and more pairs.

    python scripts/evaluate_sizes.py curve WORK --data DATA [--sets NAACL ...] [--presets fast default]

Learn from the gold text and 1,000, 2,000, 4,000 and more random pairs, and align the gold text. The texts:
NAACL (the development pairs; Hansard, followed by other text when there is no more of it), ALIBI (laws,
Tatoeba and talks), golden En-Fr (the same, for gold text of parliament), and De-En (parliament and captions).

    python scripts/evaluate_sizes.py samples WORK --data DATA [--sets NAACL ...]

Learn from a part of a text, without the gold text, and align the gold text: two random samples, and a sample
by coverage, which takes a pair if it has a word that few pairs of the sample have so far. "Few" is one pair,
then two, four and so on, until the sample is large enough. Words that are rare in the whole text may be
ignored.

The figures are AER, precision and recall in percent (Och and Ney, 2003), and the CPU seconds of learning.
What WORK/sizes.json contains is not measured again.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from _corpora import (
    Pairs,
    gold_pairs,
    hansard_pairs,
    lines_of,
    markdown,
    mixed_english_french,
    normalized,
    read_pairs,
    score,
    split_all,
    strip_accents,
    tokenize,
)

from nmtalign.aligner.training_steps import train
from nmtalign.errors import AdviceWarning
from nmtalign.links.formats import format_pharaoh_batch

MOST_PAIRS = 500_000
CURVE_SIZES = [1_000 * 2**step for step in range(9)]
SAMPLE_SIZES = (2_000, 10_000, 40_000)


class Text(NamedTuple):
    """Pairs in random order, and the gold text of a development set."""

    pairs: Pairs
    other_pairs: Pairs  # pairs of other kinds of text
    gold_text: Pairs
    gold: Path


@dataclass(frozen=True)
class Figures:
    """The errors of one model on the gold text, and what learning it took."""

    aer: float
    precision: float
    recall: float
    source_words: int
    cpu_seconds: float


def shuffled(pairs: Pairs) -> Pairs:
    pairs = list(pairs)
    random.Random(1).shuffle(pairs)
    return pairs


def read_naacl(data: Path) -> Text:
    other = normalized(mixed_english_french(data, ("laws", "tatoeba", "ted")), strip_accents)
    gold_text, gold = gold_pairs(data, "naacl2003_enfr_dev37", strip_accents)
    return Text(shuffled(hansard_pairs(data)), shuffled(other), gold_text, gold)


def read_alibi(data: Path) -> Text:
    pairs = mixed_english_french(data, ("laws", "tatoeba", "ted"))
    return Text(shuffled(pairs), [], *gold_pairs(data, "alibi_enfr_522"))


def read_golden(data: Path) -> Text:
    pairs = normalized(mixed_english_french(data, ("laws", "tatoeba", "ted")), split_all)
    return Text(shuffled(pairs), [], *gold_pairs(data, "golden_enfr_100"))


def read_german(data: Path) -> Text:
    parliament = read_pairs(data / "bitext" / "europarl_deen", "train", ("de", "en"))
    captions = read_pairs(data / "bitext" / "multi30k", "train", ("de", "en"))
    tokens = [(tokenize(source, "en"), tokenize(target, "en")) for source, target in captions]
    return Text(shuffled(normalized([*parliament, *tokens])), [], *gold_pairs(data, "bicici_deen_100"))


TEXTS: dict[str, Callable[[Path], Text]] = {
    "NAACL": read_naacl,
    "ALIBI": read_alibi,
    "golden En-Fr": read_golden,
    "De-En": read_german,
}


def measured(pairs: Pairs, text: Text, preset: str) -> Figures:
    """Learn from pairs, and return the errors of the links of the gold text."""
    start = time.process_time()
    aligner = train(pairs, preset=preset, workers=1)
    seconds = time.process_time() - start
    lines = "".join(format_pharaoh_batch(aligner.align_batch(text.gold_text))).splitlines()
    errors = score(lines, lines_of(text.gold))
    words = sum(len(source.split()) for source, _ in pairs)
    return Figures(errors.aer, errors.precision, errors.recall, words, round(seconds, 1))


def sample_by_coverage(pairs: Pairs, size: int, *, min_count: int) -> Pairs:
    """Return pairs that together have many words which occur at least `min_count` times in the whole text."""
    totals: Counter[tuple[int, str]] = Counter()
    words_of_pairs = []
    for pair in pairs:
        words = {(side, word) for side in (0, 1) for word in pair[side].split()}
        totals.update(words)
        words_of_pairs.append(words)
    found: Counter[tuple[int, str]] = Counter()
    chosen: list[int] = []
    remaining = list(range(len(pairs)))
    few = 1
    while len(chosen) < size and remaining:
        passed_over = []
        for number in remaining:
            words = words_of_pairs[number]
            if len(chosen) < size and any(found[word] < few and totals[word] >= min_count for word in words):
                chosen.append(number)
                found.update(words)
            else:
                passed_over.append(number)
        remaining = passed_over
        few *= 2
    return [pairs[number] for number in sorted(chosen)]


class Notes:
    """Figures that have been measured, in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._figures: dict[str, Figures] = {}
        if path.exists():
            self._figures = {key: Figures(**row) for key, row in json.loads(path.read_text()).items()}

    def get(self, key: str, measure: Callable[[], Figures]) -> Figures:
        """Return the figures of a key; they are measured if they are not there."""
        if key not in self._figures:
            self._figures[key] = measure()
            print(key, self._figures[key], flush=True)
            rows = {name: asdict(row) for name, row in self._figures.items()}
            self._path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
        return self._figures[key]


def cells_of(figures: Figures) -> list[str]:
    errors = figures.aer, figures.precision, figures.recall
    return [*(f"{value:.2f}" for value in errors), f"{figures.cpu_seconds:.0f}"]


def curve_rows(text: Text, name: str, presets: list[str], notes: Notes) -> Iterator[list[str]]:
    """Yield the rows of the learning curve of a text."""
    pairs = [*text.pairs, *text.other_pairs][:MOST_PAIRS]
    sizes = [size for size in CURVE_SIZES if size < len(pairs)]
    for preset in presets:
        before = None
        for size in [*sizes, len(pairs)]:
            measure = partial(measured, [*pairs[:size], *text.gold_text], text, preset)
            figures = notes.get(f"curve {name} {preset} {size}", measure)
            gain = "" if before is None else f"{before.aer - figures.aer:.2f}"
            yield [name, preset, f"{size:,}", *cells_of(figures), gain]
            before = figures


def sample_rows(text: Text, name: str, notes: Notes) -> Iterator[list[str]]:
    """Yield the rows of the samples of a text."""
    pairs = text.pairs
    for size in SAMPLE_SIZES:
        if 2 * size > len(pairs):
            continue
        ways: dict[str, Callable[[], Pairs]] = {
            "random": partial(pairs.__getitem__, slice(size)),
            "random, others": partial(pairs.__getitem__, slice(-size, None)),
            "by coverage": partial(sample_by_coverage, pairs, size, min_count=1),
            "by coverage, 3 times or more": partial(sample_by_coverage, pairs, size, min_count=3),
        }
        for way, sample in ways.items():

            def measure(sample: Callable[[], Pairs] = sample) -> Figures:
                return measured(sample(), text, "default")

            figures = notes.get(f"sample {name} {size} {way}", measure)
            yield [name, f"{size:,}", way, *cells_of(figures), f"{figures.source_words:,}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("curve", "samples"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=TEXTS, default=list(TEXTS))
    parser.add_argument("--presets", nargs="+", choices=("fast", "default"), default=["fast", "default"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", AdviceWarning)
    notes = Notes(options.work / "sizes.json")
    figures = ["AER", "precision", "recall", "CPU s"]
    if options.what == "curve":
        rows = [["text", "preset", "pairs", *figures, "gain"]]
    else:
        rows = [["text", "pairs", "sample", *figures, "source words"]]
    for name in options.sets:
        text = TEXTS[name](options.data)
        if options.what == "curve":
            rows += curve_rows(text, name, options.presets, notes)
        else:
            rows += sample_rows(text, name, notes)
    print(markdown(rows))


if __name__ == "__main__":
    main()
