"""Is the weight of an encoder beside a lexicon learned well? Alignment error with simulated encoders.

    python scripts/evaluate_weight.py --data DATA [SET ...]

DATA is a folder with ``bitext/`` and ``gold/``; sets are those of scripts/benchmark_aligners.py. The lexicon
is learned from the text of a set and its gold lines. The encoder is made of the gold links: linked words have
one random vector, to which noise is added until mutual argmax has a wanted error. The noise is of tokens, of
words (the same wherever they stand), of neighbors (whose vectors are mixed in) or of frequency (words about
as frequent have a part in common); families take turns with them.

Prints for each error of argmax the mean over families: encoder alone, lexicon alone, the learned mixture, and
the mixture with the best weight for each text; at the end the mixture by fixed weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from _corpora import (
    FAMILIES,
    Corpus,
    alibi_corpora,
    distant_corpora,
    europarl_corpora,
    hansard_corpora,
    lines_of,
    parse_links,
    score,
)
from numpy.typing import NDArray

import nmtalign
from nmtalign.aligner.aligner import Aligner
from nmtalign.batch.stream import align_stream
from nmtalign.encoders.files import cosines
from nmtalign.links.extraction import mutual_argmax
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import SPACES

NOISES, LEVELS, SIZE = ("tokens", "words", "neighbors", "frequency"), (10, 20, 30, 50), 128
SETS = ("a0", "a10k", "h0", "h10k", *(name for names in list(FAMILIES.values())[2:] for name in names))
ALONE = ("europarl_enes_200", "bicici_deen_100", "golden_enes_100", "golden_enfr_100")
WEIGHTS = np.round(np.arange(0, 1.01, 0.1), 1)
Vectors = NDArray[np.float64]


class Encoder:
    """Vectors of both sides of gold pairs, more alike the less noise there is."""

    def __init__(self, corpus: Corpus, noise: str, seed: int) -> None:
        self.words = [tuple(line.split() for line in pair) for pair in corpus.gold_text]
        self.gold, self.noise, self.seed = lines_of(corpus.gold), noise, seed

    def similarities(self, strength: float) -> list[NDArray[np.float32]]:
        rng, of_words = np.random.default_rng(self.seed), {}
        tokens = [[word for pair in self.words for word in pair[side]] for side in (0, 1)]
        counts = [dict(zip(*np.unique(side, return_counts=True), strict=True)) for side in tokens]
        bands, found = self._drawn(rng, 32), []
        for pair, line in zip(self.words, self.gold, strict=True):
            own = [self._drawn(rng, len(side)) for side in pair]
            sure, both = ({tuple(map(int, x.split("-"))) for x in links} for links in parse_links(line))
            table = np.zeros((len(pair[1]), len(pair[0])))
            for s, t in both:
                table[t, s] = 1 if (s, t) in sure else 0.5
            linked = table @ own[0]
            own[1] = np.where(table.any(axis=1)[:, None], linked / np.maximum(_lengths(linked), 1e-9), own[1])
            for side, words in enumerate(pair):
                disturbed = self._drawn(rng, len(words))
                if self.noise == "words":
                    disturbed = [
                        of_words.setdefault((side, w), v) for w, v in zip(words, disturbed, strict=True)
                    ]
                elif self.noise == "neighbors":
                    around = np.pad(own[side], ((1, 1), (0, 0)))
                    disturbed = (around[:-2] + around[2:]) / 2
                elif self.noise == "frequency":
                    disturbed = bands[[int(np.log2(counts[side][w])) for w in words]]
                own[side] = own[side] + strength * np.array(disturbed) + 0.3 * self._drawn(rng, len(words))
            found.append(cosines(*own))
        return found

    def with_error(self, wanted: float) -> list[NDArray[np.float32]]:
        """Return similarities whose mutual argmax has about this error, or the least there is."""
        low, high = 0.02, 16.0
        for _ in range(8):
            middle = float(np.sqrt(low * high))
            cells = [np.argwhere(mutual_argmax(own)) for own in self.similarities(middle)]
            error = score([" ".join(f"{s}-{t}" for t, s in own) for own in cells], self.gold).aer
            low, high = (middle, high) if error < wanted else (low, middle)
        return self.similarities(low)

    def _drawn(self, rng: np.random.Generator, count: int) -> Vectors:
        return rng.normal(size=(count, SIZE)) / np.sqrt(SIZE)


def _lengths(vectors: Vectors) -> Vectors:
    return np.linalg.norm(vectors, axis=1, keepdims=True)


def error(aligner: Aligner, corpus: Corpus) -> float:
    [chunk] = align_stream(aligner, [SentencePair(*pair) for pair in corpus.gold_text])
    links = [chunk.batch.links(n) for n in range(len(corpus.gold_text))]
    return score([" ".join(f"{s}-{t}" for s, t in own) for own in links], lines_of(corpus.gold)).aer


class Simulated:
    """Similarities of the pairs of a text, in the place of an encoder's."""

    settings = "simulated"

    def __init__(self, pairs: list[SentencePair], found: list[NDArray[np.float32]]) -> None:
        self._known = {self._key(SPACES.words_of_pair(p)): own for p, own in zip(pairs, found, strict=True)}

    def _key(self, words: tuple[Sequence[str], Sequence[str]]) -> tuple[tuple[str, ...], ...]:
        return tuple(map(tuple, words))

    def of(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[NDArray[np.float32]]:
        """Return the similarities (T, S) of each pair."""
        return [self._known[self._key(words)] for words in pairs]


def errors(corpus: Corpus, lexicon: Aligner, found: list[NDArray[np.float32]]) -> list[float]:
    """Return the error of encoder, lexicon, learned mixture, and of the mixture by fixed weights."""
    text = [SentencePair(*pair) for pair in corpus.gold_text]
    alone, mixed = (nmtalign.with_context(base, encoder="simulated") for base in (None, lexicon))
    alone, mixed = (
        nmtalign.fit_to(replace(own, scorer=replace(own.scorer, source=Simulated(text, found))), text)
        for own in (alone, mixed)
    )
    fixed = []
    for weight in WEIGHTS:
        calibration = mixed.scorer.calibration._replace(weight=float(weight))
        fixed.append(error(replace(mixed, scorer=replace(mixed.scorer, calibration=calibration)), corpus))
    return [*(error(aligner, corpus) for aligner in (alone, lexicon, mixed)), *fixed]


def corpora(data: Path, wanted: list[str]) -> Iterator[tuple[str, Corpus]]:
    """Yield the wanted sets with the name of their family."""
    families = {name: family for family, names in FAMILIES.items() for name in names}
    for every in (europarl_corpora, distant_corpora, alibi_corpora, hansard_corpora):
        for corpus in every(data):
            if corpus.name in wanted:
                known = [name for name in families if name.split("+")[0] == corpus.name.split("+")[0]]
                yield families.get(corpus.name) or (families[known[0]] if known else "NAACL"), corpus


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=[*SETS, *ALONE])
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    rows: dict[int, dict[str, list[list[float]]]] = {level: {} for level in LEVELS}
    for number, (family, corpus) in enumerate(corpora(options.data, options.sets)):
        pairs = [SentencePair(*pair) for pair in (*corpus.training, *corpus.gold_text)]
        lexicon = nmtalign.train(pairs)
        for k, level in enumerate(LEVELS):
            encoder = Encoder(corpus, NOISES[(number + k) % len(NOISES)], seed=number)
            found = errors(corpus, lexicon, encoder.with_error(level))
            rows[level].setdefault(family, []).append(found)
            print(f"{corpus.name:22} {level} {encoder.noise:10}", *(f"{e:5.1f}" for e in found), flush=True)
    print("\n| argmax | encoder | lexicon | mixture | best weight |\n|---|---|---|---|---|")
    table = np.array([[np.mean(own, axis=0) for own in families.values()] for families in rows.values()])
    best = [
        [np.mean([min(row[3:]) for row in own]) for own in families.values()] for families in rows.values()
    ]
    for level, own, least in zip(LEVELS, table.mean(axis=1), np.mean(best, axis=1), strict=True):
        print(f"| {level} | " + " | ".join(f"{e:.1f}" for e in (*own[:3], least)) + " |")
    fixed = zip(WEIGHTS, table.mean(axis=(0, 1))[3:], strict=True)
    print("\nmean by fixed weight:", ", ".join(f"{w} {e:.1f}" for w, e in fixed))
    print("mean of encoder, lexicon, mixture:", table.mean(axis=(0, 1))[:3].round(1))


if __name__ == "__main__":
    main()
