"""For docs/explanation/figures.md: do mapped word vectors help a small bitext? By their weight.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_vectors_head.py WORK a0 a1k golden_enfr_100+10k --data DATA [--kind fasttext]
    python scripts/evaluate_vectors_head.py WORK a0 --data DATA --vectors DIR

DATA is a folder with ``bitext/`` and ``dictionaries/``; WORK holds a folder for each corpus. The vectors are
trained by gensim on text of one language at a time that is no translation of the other: English lines of the
first halves of laws, tatoeba and ted, French lines of the second halves, without any line of a corpus that is
measured. For each corpus the script runs, as a user would,

    nmtalign vectors map KIND.en KIND.fr --dictionary en-fr.train.txt -o VECTORS
    nmtalign align (the gold lines) --vectors VECTORS [--positions none, diagonal or hmm] [--unknown zero]
    nmtalign train src tgt -o MODEL --vectors VECTORS [--vectors-weight X] --links links

and prints a markdown table of alignment error, precision and recall of the gold lines for each command; a
weight of 0 is a model without the head. The vectors and links stay in WORK/vectors-head. With `--vectors`
those of that folder are used, also a bundled one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from _corpora import Score, lines_of, nmtalign, read_pairs, score, tokenize

NAMES = ("laws", "tatoeba", "ted")
WEIGHTS = (0.0, 0.2, 0.45, 0.7, 0.85, 0.95)
PLAIN = "--unknown", "zero"
ALIGN_OPTIONS = {
    "align, softmax": ("--positions", "none", *PLAIN),
    "align, softmax with a diagonal": ("--positions", "diagonal", *PLAIN),
    "align, hidden Markov model": ("--positions", "hmm", *PLAIN),
    "align, the default: with back-off": (),
}


def letters(line: str) -> str:
    """Return a line without spaces, so that it is the same however it is cut into words."""
    return "".join(line.split())


def monolingual(data: Path, corpora: list[Path]) -> tuple[list[str], list[str]]:
    """Return English and French lines that are no translations of each other, and are in no corpus."""
    text: tuple[list[str], list[str]] = [], []
    for name in NAMES:
        pairs = read_pairs(data / "bitext" / name, "train", ("en", "fr"))
        halves = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
        for side, (lines, half) in enumerate(zip(text, halves, strict=True)):
            lines += [tokenize(pair[side], ("en", "fr")[side]) for pair in half]
    seen = ({letters(line) for c in corpora for line in lines_of(c / side)} for side in ("src", "tgt"))
    english, french = (
        [line for line in lines if line and letters(line) not in own]
        for lines, own in zip(text, seen, strict=True)
    )
    return english, french


def train_vectors(folder: Path, options: argparse.Namespace) -> Path:
    """Train and map vectors; return their folder."""
    from gensim.models import FastText, Word2Vec

    vectors, train = folder / options.kind, {"fasttext": FastText, "word2vec": Word2Vec}[options.kind]
    paths = [folder / f"{options.kind}.{language}" for language in ("en", "fr")]
    corpora = [options.work / name for name in options.corpora]
    for path, lines in zip(paths, monolingual(options.data, corpora), strict=True):
        sentences = [line.lower().split() for line in lines]
        train(sentences, vector_size=300, sg=1, seed=1, workers=1).wv.save(str(path))
    seeds = options.data / "dictionaries" / "muse_enfr" / "en-fr.train.txt"
    nmtalign("vectors", "map", *paths, "--langs", "en,fr", "--dictionary", seeds, "-o", vectors)
    return vectors


def error_of_align(corpus: Path, folder: Path, vectors: Path, options: tuple[str, ...]) -> Score:
    """Align the gold lines with the vectors alone, and score the links."""
    gold = lines_of(corpus / "gold")
    for side in ("src", "tgt"):
        lines = lines_of(corpus / side)[-len(gold) :]
        (folder / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    links = folder / f"{corpus.name}-{vectors.name}-align.links"
    nmtalign("align", folder / "src", folder / "tgt", "--vectors", vectors, *options, "-q", "-o", links)
    return score(lines_of(links), gold)


def error(corpus: Path, folder: Path, vectors: Path, weight: float | None, preset: str) -> Score:
    """Learn a model with the head and score the links of the gold lines; a weight of None is fitted."""
    links = folder / f"{corpus.name}-{vectors.name}-{preset}-{weight}.links"
    text = corpus / "src", corpus / "tgt", "-o", folder / "model", "--preset", preset, "-q", "--links", links
    given: tuple[object, ...] = () if weight == 0 else ("--vectors", vectors)
    if weight:
        given += ("--vectors-weight", weight)
    nmtalign("train", *text, "--force", *given)
    gold = lines_of(corpus / "gold")
    return score(lines_of(links)[-len(gold) :], gold)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kind", choices=("word2vec", "fasttext"), default="word2vec")
    parser.add_argument("--vectors", type=Path, help="use these, instead of training")
    parser.add_argument("--weights", nargs="+", type=float, default=WEIGHTS)
    parser.add_argument("--preset", choices=("fast", "default"), default="default")
    parser.add_argument("-o", "--output", type=Path, help="[WORK/vectors-head]")
    options = parser.parse_args()
    folder = options.output or options.work / "vectors-head"
    folder.mkdir(parents=True, exist_ok=True)
    vectors = options.vectors or train_vectors(folder, options)
    print("| corpus | links | AER | precision | recall |\n|---|---|---|---|---|", flush=True)
    for name in options.corpora:
        corpus = options.work / name
        for title, given in ALIGN_OPTIONS.items():
            print_row(name, title, error_of_align(corpus, folder, vectors, given))
        for weight in options.weights:
            found = error(corpus, folder, vectors, weight, options.preset)
            print_row(name, f"train, weight {weight}", found)
        print_row(name, "train, fitted weight", error(corpus, folder, vectors, None, options.preset))


def print_row(corpus: str, title: str, found: Score) -> None:
    """Print a line of the table."""
    figures = f"{found.aer:.2f} | {found.precision:.2f} | {found.recall:.2f}"
    print(f"| {corpus} | {title} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
