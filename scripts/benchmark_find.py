"""For docs/explanation/figures.md: size and build time of an index, and the time of a search.

The corpus is Hansard, laws and talks, aligned by the shipped model, as often as it takes; in each copy the
rare words are others, as in a corpus that grows.

    python scripts/benchmark_find.py --pairs 1000000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from _corpora import TEXTS, read_pairs

import nmtalign
from nmtalign.applications.concordance import search
from nmtalign.corpus.bitext_index import open_index, write_index_file
from nmtalign.text.tokenization import TextSettings

RARE = 3  # occurrences in one copy
Linked = tuple[list[str], list[str], list[tuple[int, int]]]


def copies(pairs: list[Linked]) -> Iterator[Linked]:
    """Yield the pairs again and again, each time with other rare words."""
    common = [
        {word for word, n in Counter(word for pair in pairs for word in pair[side]).items() if n > RARE}
        for side in (0, 1)
    ]
    for copy in count():
        for *sides, links in pairs:
            source, target = (
                [word if word in known else f"{word}{copy}" for word in side]
                for side, known in zip(sides, common, strict=True)
            )
            yield source, target, links


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result, seconds by the clock, and seconds of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    return work(), time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options = parser.parse_args()
    lines = [read_pairs(options.data / "bitext" / name, "train", ("en", "fr")) for name in TEXTS]
    text_settings = TextSettings("simple")
    words = [
        text_settings.pieces_of_pair(pair, ("en", "fr")) for pair in islice(chain(*lines), options.pairs)
    ]
    batch = nmtalign.load().align_batch(words)
    linked = [(*pair, batch.links(n)) for n, pair in enumerate(words)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "corpus.db")
        pairs = islice(copies(linked), options.pairs)
        made, wall, cpu = timed(lambda: write_index_file(path, pairs, text_settings))
        size = sum(len(f"{' '.join(s)}\n{' '.join(t)}\n".encode()) for s, t, _ in linked) / len(linked) * made
        print(f"{made:,} pairs: {path.stat().st_size / 1e6:,.0f} MB of {size / 1e6:,.0f} MB text, built in")
        print(f"{wall:,.0f} s, {cpu:,.0f} CPU seconds, some of which make the copies")
        index, opened, _ = timed(lambda: open_index(path))
        print(f"opened in {opened:.2f} s\n{'query':<24} {'places':>10} {'seconds':>8} {'CPU s':>8}")
        for query in ("the", "of the", "house", "house of commons", "prime minister", "fisheries"):
            found, wall, cpu = timed(partial(search, index, query, "source", max_translations=12))
            print(f"{query:<24} {found.occurrence_count:>10,} {wall:>8.3f} {cpu:>8.3f}")


if __name__ == "__main__":
    main()
