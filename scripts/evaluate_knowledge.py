"""For docs/knowledge.md: what each source of knowledge besides the text is worth, as a table of errors.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_knowledge.py WORK --download FOLDER --experts DATA/encoder_links

WORK is the folder of ``benchmark_aligners.py corpora``; `--download` is that of ``evaluate_dictionaries.py``,
which fetches public dictionaries. The word encoder is `use`, and the vectors are those of its words. The
experts are links that a fine-tuned encoder made, where the folder `--experts` has them for a corpus. Gold
links are those of one half of the gold lines, and the error is that of the other half, both ways. Figures are
alignment error rates in percent (Och and Ney, 2003) of the preset `default`, and the CPU seconds of learning.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _corpora import lines_of, markdown, score
from evaluate_dictionaries import CORPORA, download

import nmtalign as na
from nmtalign.external.word_encoders import load_word_encoder
from nmtalign.links.formats import format_pharaoh

LANGUAGES = [name for name in CORPORA if name != "aall"]
ENCODER = "use"
MIN_GOLD_PAIRS = 50  # what `gold` needs


class Text(NamedTuple):
    """A corpus, whose last lines have gold links."""

    name: str
    source: list[str]
    target: list[str]
    gold: list[str]

    @classmethod
    def read(cls, folder: Path) -> Text:
        return cls(folder.name, *(lines_of(folder / name) for name in ("src", "tgt", "gold")))

    def links(self, **knowledge: Any) -> list[str]:
        """Return the links of the gold lines by a model that knows the text, and what is passed."""
        count = len(self.gold)
        knowledge.setdefault("languages", CORPORA[self.name].languages)
        aligner = na.train(self.source, self.target, workers=1, **knowledge)
        expert = knowledge.get("expert")
        batch = aligner.align_batch(
            self.source[-count:], self.target[-count:], expert=None if expert is None else expert[-count:]
        )
        return [format_pharaoh(batch.links(n)) for n in range(count)]

    def error(self, **knowledge: Any) -> float:
        return score(self.links(**knowledge), self.gold).aer

    def error_with_gold(self) -> float:
        """Return the error on each half of the gold lines with the links of the other half as gold links."""
        count = len(self.gold)
        found, expected = [], []
        for half in (0, 1):
            judged = [n for n in range(count) if n % 2 == half]
            given = [n for n in range(count) if n % 2 != half]
            order = [
                *range(len(self.source) - count),
                *(len(self.source) - count + n for n in judged + given),
            ]
            text = Text(
                self.name,
                [self.source[n] for n in order],
                [self.target[n] for n in order],
                [self.gold[n] for n in judged + given],
            )
            found += text.links(gold=[self.gold[n] for n in given])[: len(judged)]
            expected += [self.gold[n] for n in judged]
        return score(found, expected).aer


def vectors_of(lines: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the vector of each word of a text by the word encoder."""
    words = sorted({word.lower() for line in lines for word in line.split()})
    return dict(zip(words, load_word_encoder(ENCODER).encode(words), strict=True))


def sources(text: Text, dictionary: Path, experts: Path | None) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield the sources of knowledge that a corpus has, and a function that returns the error with each."""
    both: dict[str, Any] = {"prior": dictionary, "lemmas": True}
    yield "text alone", text.error
    yield "dictionary", lambda: text.error(prior=dictionary)
    yield "lemmas", lambda: text.error(lemmas=True)
    yield "word encoder", lambda: text.error(word_encoder=ENCODER)
    yield "dictionary, lemmas", lambda: text.error(**both)
    yield "dictionary, lemmas, word encoder", lambda: text.error(**both, word_encoder=ENCODER)
    yield "vectors", lambda: text.error(vectors=(vectors_of(text.source), vectors_of(text.target)))
    links = None if experts is None else experts / f"{text.name}.pharaoh"
    if links is not None and links.exists():
        unjudged = [""] * (len(text.source) - len(text.gold))
        yield "expert", lambda: text.error(expert=[*unjudged, *lines_of(links)])
    if len(text.gold) // 2 >= MIN_GOLD_PAIRS:
        yield "gold", text.error_with_gold


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--download", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--experts", type=Path, metavar="FOLDER")
    parser.add_argument("--sets", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--sources", nargs="+", help="only these columns")
    options = parser.parse_args()
    errors: dict[str, dict[str, float]] = {}
    seconds: dict[str, float] = {}
    for name in options.sets:
        text = Text.read(options.work / name)
        dictionary = download(CORPORA[name], options.download)
        for source, error in sources(text, dictionary, options.experts):
            if options.sources and source not in options.sources:
                continue
            start = time.process_time()
            errors.setdefault(source, {})[name] = error()
            seconds[source] = seconds.get(source, 0.0) + time.process_time() - start
            print(name, source, errors[source][name], file=sys.stderr, flush=True)
    head = ["corpus", *errors]
    rows = [[name, *(f"{of.get(name, np.nan):.2f}" for of in errors.values())] for name in options.sets]
    means = [f"{np.mean([*of.values()]):.2f}" for of in errors.values()]
    base = errors.get("text alone", {})
    losses = [max(error - base.get(name, np.inf) for name, error in of.items()) for of in errors.values()]
    rows.append(["mean", *means])
    rows.append(["worst change", *(f"{loss:+.2f}" for loss in losses)])
    rows.append(["CPU seconds", *(f"{seconds[source]:.0f}" for source in errors)])
    print(markdown([head, *rows]).replace("nan", ""))


if __name__ == "__main__":
    main()
