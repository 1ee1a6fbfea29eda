"""For docs/explanation/figures.md: word vectors: reading next to gensim, mapping next to TranslationMatrix.

    python scripts/benchmark_vectors.py read [--words 20000]
    python scripts/benchmark_vectors.py binary [--words 1000000]
    python scripts/benchmark_vectors.py map SOURCE TARGET SEEDS TEST [--strip-accents] [--limit N]
    python scripts/benchmark_vectors.py learned SOURCE TARGET SEEDS TEST [--strip-accents]
    python scripts/benchmark_vectors.py scale [--words 50000]

``read`` writes vectors of 300 random numbers in every format and reads them with nmtalign and with gensim.
``binary`` writes vectors of 100 numbers in the binary forms of word2vec and fastText (as many buckets of
sub-words as words), and prints seconds and the most memory of a process that reads each, on Linux.
``map`` maps two files of word vectors with a seed dictionary and prints precision on a test dictionary.
``learned`` learns vectors from a tokenized bitext in every way, and beside them trains both sides apart with
gensim and maps them by the seed dictionary, with gensim's TranslationMatrix and with nmtalign; it prints
precision on a test dictionary and CPU seconds.
``scale`` maps two spaces of 300 dimensions and many words, one the other turned, with noise.
The other times are wall-clock seconds; set OPENBLAS_NUM_THREADS to choose the threads.
"""

from __future__ import annotations

import argparse
import resource
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign.files.text_files import read_lines
from nmtalign.scorers.dense import count_embeddings
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import learn_lexicon
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.spaces import (
    MappedSpaces,
    identical_strings,
    map_spaces,
    nearest_words,
    read_seed_dictionary,
)
from nmtalign.vectors.storage import load_embeddings, save_embeddings

SAMPLE, MOST_CELLS = 5_000, 10**8  # of gensim's correction, which holds all cells in double precision
PLACES = {"folder": "own", "word2vec": "x.vec", "word2vec-binary": "x.bin", "word2int": "word2int_x.pkl"}


def main() -> None:
    """Run one of the measurements."""
    warnings.simplefilter("ignore")
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    commands = parser.add_subparsers(required=True)
    read = commands.add_parser("read")
    read.add_argument("--words", type=int, default=20_000)
    read.set_defaults(run=measure_reading)
    binary = commands.add_parser("binary")
    binary.add_argument("--words", type=int, default=1_000_000)
    binary.set_defaults(run=measure_binary)
    mapped = commands.add_parser("map")
    for name in ("source", "target", "seeds", "test"):
        mapped.add_argument(name)
    mapped.add_argument("--strip-accents", action="store_true", help="of the dictionaries")
    mapped.add_argument("--limit", type=int)
    mapped.set_defaults(run=measure_mapping)
    learned = commands.add_parser("learned")
    for name in ("source", "target", "seeds", "test"):
        learned.add_argument(name)
    learned.add_argument("--strip-accents", action="store_true", help="of the dictionaries")
    learned.set_defaults(run=measure_learning)
    scale = commands.add_parser("scale")
    scale.add_argument("--words", type=int, default=50_000)
    scale.set_defaults(run=measure_scale)
    arguments = parser.parse_args()
    arguments.run(arguments)


def timed(label: str, work: Callable[[], Any]) -> Any:
    """Do the work, print how long it took."""
    start = time.perf_counter()
    result = work()
    print(f"{label:<42}{time.perf_counter() - start:9.3f} s", flush=True)
    return result


def measure_reading(arguments: argparse.Namespace) -> None:
    """Read the same vectors with nmtalign and gensim."""
    import pandas  # noqa: F401  (imported before the clock starts)
    from gensim.models import KeyedVectors

    matrix = np.random.default_rng(0).standard_normal((arguments.words, 300)).round(6).astype(np.float32)
    words = Vocabulary.from_words([f"word{n}" for n in range(arguments.words)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for format_, place in PLACES.items():
            save_embeddings(Embeddings(words, matrix), folder / place, format=format_)
            timed(f"nmtalign {format_}", lambda path=folder / place: load_embeddings(path))
        load = KeyedVectors.load_word2vec_format
        vectors = timed("gensim word2vec", lambda: load(str(folder / "x.vec")))
        timed("gensim word2vec-binary", lambda: load(str(folder / "x.bin"), binary=True))
        vectors.save(str(folder / "x.kv"))
        timed("nmtalign gensim .kv", lambda: load_embeddings(folder / "x.kv"))
        timed("gensim .kv", lambda: KeyedVectors.load(str(folder / "x.kv")))


CHILD = """
import sys, time, warnings
warnings.simplefilter("ignore")
{imports}
start = time.perf_counter()
vectors = {read}
seconds = time.perf_counter() - start
most = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(f"{{seconds:9.1f}} s{{int(most) / 1024:9.0f}} MB")
"""
OURS = "from nmtalign.vectors.storage import load_embeddings", "load_embeddings(sys.argv[1])"
KEYED = "from gensim.models import KeyedVectors"
FACEBOOK = "from gensim.models.fasttext import load_facebook_vectors"
READERS = {
    "word2vec": (OURS, (KEYED, "KeyedVectors.load_word2vec_format(sys.argv[1], binary=True)")),
    "fastText": (OURS, (FACEBOOK, "load_facebook_vectors(sys.argv[1])")),
}


def measure_binary(arguments: argparse.Namespace) -> None:
    """Read binary files with nmtalign and gensim, each in a process of its own."""
    words, random = [f"word{n}" for n in range(arguments.words)], np.random.default_rng(0)
    rows = random.standard_normal((2 * len(words), 100), dtype=np.float32)
    with tempfile.TemporaryDirectory() as name:
        word2vec = Embeddings(Vocabulary.from_words(words), rows[: len(words)])
        save_embeddings(word2vec, Path(name, "word2vec"), format="word2vec-binary")
        write_fasttext(words, rows, Path(name, "fastText"))
        for place, readers in READERS.items():
            for who, (imports, read) in zip(("nmtalign", "gensim"), readers, strict=True):
                code = CHILD.format(imports=imports, read=read)
                printed = subprocess.check_output([sys.executable, "-c", code, Path(name, place)], text=True)
                print(f"{who} {place:<20}{printed}", end="", flush=True)


def write_fasttext(words: list[str], rows: np.ndarray, path: Path) -> None:
    """Write a model of fastText with n-grams of 3 to 6 characters; rows are of words, then of n-grams."""
    dimension, buckets = rows.shape[1], len(rows) - len(words)
    head = struct.pack("<14id", 793712314, 12, dimension, 5, 5, 1, 5, 1, 2, 1, buckets, 3, 6, 100, 1e-4)
    with open(path, "wb") as file:
        file.write(head + struct.pack("<3iqq", len(words), len(words), 0, len(words), -1))
        for word in words:
            file.write(word.encode() + b"\0" + struct.pack("<qb", 1, 0))
        file.write(b"\0" + struct.pack("<qq", *rows.shape) + rows.tobytes())
        file.write(b"\0" + struct.pack("<qq", len(words), dimension) + rows[: len(words)].tobytes())


def dictionaries(arguments: argparse.Namespace) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Read the seed and the test dictionary."""
    form = TextSettings(lowercase=False, unicode="strip-accents" if arguments.strip_accents else "none")
    seeds, test = (
        [(a, b) for a, b in (form.normalized(pair) for pair in read_seed_dictionary(path))]
        for path in (arguments.seeds, arguments.test)
    )
    return seeds, test


def measure_learning(arguments: argparse.Namespace) -> None:
    """Print precision of vectors learned from a bitext, together and apart."""
    seeds, test = dictionaries(arguments)
    sides = [
        [line.lower().split() for line in read_lines(path)] for path in (arguments.source, arguments.target)
    ]
    pairs = list(zip(*sides, strict=True))
    ways: dict[str, Callable[[], tuple[Embeddings, Embeddings]]] = {
        "counts, 128 dimensions": lambda: count_embeddings(learn_lexicon(pairs)),
        "counts, 300 dimensions": lambda: count_embeddings(learn_lexicon(pairs), dimension=300),
    }
    for label, learn in ways.items():
        report(label, learn, test)
    apart = report_seconds("gensim word2vec of each side", lambda: [train_apart(side) for side in sides])
    gensims_score(*apart, seeds, test)
    report("the same, mapped by nmtalign", lambda: as_pair(map_spaces(*apart, seeds)), test)


def train_apart(lines: list[list[str]]) -> Embeddings:
    """Train word2vec of one language: skip-gram, window 5, 300 dimensions."""
    from gensim.models import Word2Vec

    vectors = Word2Vec(lines, vector_size=300, sg=1, seed=1, workers=1).wv
    return Embeddings(Vocabulary.from_words(vectors.index_to_key), vectors.vectors)


def as_pair(mapped: MappedSpaces) -> tuple[Embeddings, Embeddings]:
    return mapped.source, mapped.target


def report_seconds(label: str, work: Callable[[], Any]) -> Any:
    """Do the work, print the CPU seconds it took."""
    start = cpu_seconds()
    result = work()
    print(f"{label:<42}{cpu_seconds() - start:9.1f} CPU s", flush=True)
    return result


def cpu_seconds() -> float:
    """Return what this process and those it has waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def precision(source: Embeddings, target: Embeddings, test: list[tuple[str, str]]) -> str:
    """Return the share of words with a translation among their nearest words, for 1, 5 and 10 of these."""
    gold: dict[str, set[str]] = {}
    for word, translation in test:
        if word in source.vocabulary and translation in target.vocabulary:
            gold.setdefault(word, set()).add(translation)
    nearest = nearest_words(source, target, list(gold))
    shares = []
    for k in (1, 5, 10):
        right = sum(any(near in gold[word] for near, _ in nearest[word][:k]) for word in gold)
        shares.append(f"P@{k} {100 * right / len(gold):.1f}")
    return f"{', '.join(shares)} ({len(gold):,} words covered)"


def report(
    label: str, learn: Callable[[], tuple[Embeddings, Embeddings]], test: list[tuple[str, str]]
) -> None:
    """Learn vectors and print their precision."""
    source, target = report_seconds(label, learn)
    print("   ", precision(source, target, test), flush=True)


def measure_mapping(arguments: argparse.Namespace) -> None:
    """Print precision of several maps and of gensim's."""
    seeds, test = dictionaries(arguments)
    source, target = (load_embeddings(p, limit=arguments.limit) for p in (arguments.source, arguments.target))
    strings = identical_strings(source.vocabulary, target.vocabulary)
    gensims_score(source, target, seeds, test)
    for label, pairs, options in (
        ("dictionary, Procrustes", seeds, {"refine": False}),
        ("dictionary, refined", seeds, {}),
        ("identical strings, Procrustes", strings, {"refine": False}),
        ("identical strings, refined", strings, {}),
    ):
        mapped = timed(label, lambda p=pairs, o=options: map_spaces(source, target, p, **o))
        print("   ", precision(mapped.source, mapped.target, test))


def gensims_score(source: Embeddings, target: Embeddings, seeds: list[Any], test: list[Any]) -> None:
    """Print P@1 of gensim's TranslationMatrix on the same words.

    Least squares pull the mapped words towards the mean of the seeds, and uncentered vectors share a large
    mean: a few targets are then nearest to nearly everything. So its own correction for such hubs (``gc``)
    is tried, and vectors that were centered first. Least squares by NumPy check that gensim is called well.
    """
    known = [(a, b) for a, b in seeds if a in source.vocabulary and b in target.vocabulary]
    gold: dict[str, set[str]] = {}
    for a, b in test:
        if a in source.vocabulary and b in target.vocabulary:
            gold.setdefault(a, set()).add(b)
    print(f"    {len(known)} seeds and {len(gold)} test words covered")
    for label, matrices in (
        ("as they are", [np.asarray(side.matrix, dtype=np.float32) for side in (source, target)]),
        ("centered", [centered(np.asarray(side.matrix)) for side in (source, target)]),
    ):
        words = source.vocabulary.words, target.vocabulary.words
        found = {"NumPy": nearest_by_least_squares(words, matrices, known, list(gold))}
        found |= translated_by_gensim(words, matrices, known, list(gold))
        for name, translations in found.items():
            right = sum(translations[word] in correct for word, correct in gold.items())
            print(
                f"    P@1 {100 * right / len(gold):.1f} ({name}, least squares, vectors {label})", flush=True
            )


def centered(matrix: np.ndarray) -> np.ndarray:
    """Return rows of length 1 around their mean."""
    unit = unit_rows(matrix)
    return unit_rows(unit - unit.mean(axis=0))


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)


def nearest_by_least_squares(
    words: tuple[list[str], list[str]], matrices: list[np.ndarray], known: list[Any], asked: list[str]
) -> dict[str, str]:
    """Return the nearest target word by cosine, after least squares between vectors of length 1."""
    place = [{word: n for n, word in enumerate(side)} for side in words]
    X, Y = (unit_rows(matrix) for matrix in matrices)
    seeds = X[[place[0][a] for a, _ in known]], Y[[place[1][b] for _, b in known]]
    mapped = X[[place[0][word] for word in asked]] @ np.linalg.lstsq(*seeds, rcond=None)[0]
    return dict(zip(asked, (words[1][n] for n in (mapped @ Y.T).argmax(axis=1)), strict=True))


def translated_by_gensim(
    words: tuple[list[str], list[str]], matrices: list[np.ndarray], known: list[Any], asked: list[str]
) -> dict[str, dict[str, str]]:
    """Return the first translation of gensim, by its nearest neighbors and corrected for hubs."""
    from gensim.models import KeyedVectors, TranslationMatrix

    spaces = []
    for names, matrix in zip(words, matrices, strict=True):
        vectors = KeyedVectors(matrix.shape[1])
        vectors.add_vectors(names, matrix)
        spaces.append(vectors)
    model = TranslationMatrix(*spaces, random_state=0)
    timed("gensim TranslationMatrix, training", lambda: model.train(known))
    ways: dict[str, dict[str, int]] = {"gensim": {}}
    if len(words[1]) * SAMPLE < MOST_CELLS:
        ways["gensim, gc=1"] = {"gc": 1, "sample_num": SAMPLE}
    found = {}
    for name, options in ways.items():
        by_word = timed(f"{name}, looking up", lambda o=options: model.translate(asked, topn=1, **o))
        found[name] = {word: translations[0] for word, translations in by_word.items()}
    return found


def measure_scale(arguments: argparse.Namespace) -> None:
    """Map two large spaces; 5,000 seeds."""
    random, size = np.random.default_rng(0), (arguments.words, 300)
    X = random.standard_normal(size, dtype=np.float32)
    turn = np.linalg.qr(random.standard_normal((300, 300)))[0].astype(np.float32)
    Y = X @ turn + 0.5 * random.standard_normal(size, dtype=np.float32)
    words = Vocabulary.from_words([f"word{n}" for n in range(arguments.words)])
    source, target = Embeddings(words, X), Embeddings(words, Y)
    seeds = [(f"word{n}", f"word{n}") for n in range(5_000)]
    print(timed(f"map 2 x {arguments.words} words", lambda: map_spaces(source, target, seeds)))


if __name__ == "__main__":
    main()
