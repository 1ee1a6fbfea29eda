"""What it costs to spread work over processes and machines, and what a billion pairs would take.

    python scripts/benchmark_scaling.py SOURCE TARGET [--model DIR] [--pairs 40000] [--workers 2] [--prune]

SOURCE and TARGET are line-aligned text, perhaps .gz. The first table aligns the text in this process, by
forked processes, and on a dask cluster of this machine, with its scheduler in this process; the last row
gives the text out to a cluster that does nothing with it. CPU time stays true on a busy machine; pairs a
second and start-up do not. The second table makes the passes of training over parts that are given away
and taken back in this process, as a cluster would, and counts bytes and CPU seconds on either side, for a
quarter, half and all of the pairs. The third works out from both what larger corpora need: what grows with
the pairs in proportion, and word pairs with the power that the second table shows; memory here is twice the
arrays of word pairs, for what a pass makes of them, and three times the bitext. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import math
import pickle
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmark_aligners import markdown

from nmtalign.aligner.opening import load
from nmtalign.batch.cluster import ClusterProcesses, align_on_cluster, connected
from nmtalign.batch.stream import AlignedChunk, align_chunks
from nmtalign.corpus import word_pairs as pairs_module
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.sides import EncodedSide, encode_pairs
from nmtalign.corpus.text import EncodedText, whole_pairs
from nmtalign.links.formats import format_pharaoh_batch
from nmtalign.text.bitext import SentencePair, iter_chunks, read_bitext
from nmtalign.training.distributed import DistributedBackend, WorkerPart
from nmtalign.training.em import Estimator, preset_hyperparameters

TEXT_BYTES = 64  # of the links of a pair on disk, about; twice that with probabilities


class Cost(NamedTuple):
    """Seconds on the clock, CPU seconds of this process and of those that it started."""

    seconds: float
    own: float
    others: float


def measured(work: Callable[[], Any]) -> Cost:
    def children() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start, own, others = time.perf_counter(), time.process_time(), children()
    work()
    return Cost(time.perf_counter() - start, time.process_time() - own, children() - others)


# --- aligning ------------------------------------------------------------------------------------


def consume(chunks: Iterable[AlignedChunk]) -> None:
    for chunk in chunks:
        format_pharaoh_batch(chunk.batch)


def by_cluster(opened: Callable[[], Any], pairs: Iterator[SentencePair], workers: int, size: int) -> None:
    with connected(None, workers) as client:
        consume(align_on_cluster(client, opened(), iter_chunks(pairs, chunk_size=size)))


def by_processes(opened: Callable[[], Any], pairs: Iterator[SentencePair], workers: int, size: int) -> None:
    consume(align_chunks(opened(), iter_chunks(pairs, chunk_size=size), workers=workers))


def nothing(pickled: bytes) -> None:
    """Stand for the work on a chunk."""


def give_out(client: Any, pairs: Iterator[SentencePair], size: int) -> None:
    cluster, chunks = ClusterProcesses(client), iter_chunks(pairs, chunk_size=size)
    for _ in cluster.in_order(lambda chunk: cluster.keep(nothing, pickle.dumps(chunk)), chunks):
        pass


def align_rows(options: argparse.Namespace) -> tuple[list[list[str]], float, float]:
    """Rows of the first table; CPU seconds a pair of the work, and of the process that gives it out."""
    opened = partial(load, options.model)
    read = partial(read_bitext, options.source, options.target)
    ways = {
        "1 worker": (by_processes, 1),
        f"{options.workers} processes": (by_processes, options.workers),
        f"dask, {options.workers} processes": (by_cluster, options.workers),
    }
    rows, costs = [], []
    for name, (work, workers) in ways.items():
        start = measured(partial(work, opened, islice(read(), 8), workers, 1))
        whole = measured(partial(work, opened, islice(read(), options.pairs), workers, options.chunk))
        costs.append([1e6 * (a - b) / options.pairs for a, b in zip(whole, start, strict=True)])
        clock, here, others = costs[-1]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3  # of any child so far
        rows.append([name, f"{start.seconds:.1f}", f"{1e6 / clock:,.0f}", f"{here:.0f}", f"{others:.0f}"])
        rows[-1].append(f"{peak:.0f} MB" if others else "")
    with connected(None, 1) as client:
        given = measured(partial(give_out, client, islice(read(), options.pairs), options.chunk))
    giving = given.own / options.pairs
    rows.append(
        ["dask, nothing done", "", f"{options.pairs / given.seconds:,.0f}", f"{1e6 * giving:.0f}", "", ""]
    )
    return rows, costs[0][1] / 1e6, giving


# --- training ------------------------------------------------------------------------------------


class Kept(NamedTuple):
    thing: Any


class Counting:
    """Does here what others would do, and counts what would have been sent, and the time that it takes."""

    def __init__(self) -> None:
        self.sent = self.fetched = 0
        self.seconds = 0.0
        self.parts: list[int] = []

    def keep(self, function: Callable[..., Any], *given: Any) -> Kept:
        self.sent += sum(len(pickle.dumps(thing, 5)) for thing in given if not isinstance(thing, Kept))
        start = time.process_time()
        found = function(*(thing.thing if isinstance(thing, Kept) else thing for thing in given))
        self.seconds += time.process_time() - start
        if isinstance(found, WorkerPart):
            self.parts.append(len(pickle.dumps(found, 5)))
        return Kept(found)

    def in_order(self, submit: Callable[[Any], Kept], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            found = submit(item).thing
            self.fetched += len(pickle.dumps(found, 5))
            yield item, found


class Spread(NamedTuple):
    """What training on so many pairs took. Seconds are CPU seconds, of all passes together."""

    pairs: int
    word_pairs: int
    of_parts: int  # word pairs of all parts together
    parts: int
    setup: int  # bytes that are sent before the first pass
    sent: float  # bytes a pass
    fetched: float
    part: int  # bytes of the largest part where it is held
    held: int  # bytes of arrays that stay here, of word pairs alone
    there: float
    here: float


def spread(sides: tuple[EncodedSide, EncodedSide]) -> Spread:
    settings, processes = preset_hyperparameters("default"), Counting()
    start = time.process_time()
    text = EncodedText(*sides, whole_pairs(*sides), make_buckets(*sides))
    make_backend = partial(DistributedBackend, processes=processes)
    estimator = Estimator.prepare(text, settings, make_backend=make_backend)
    setup, parts = processes.sent, list(processes.parts)
    processes.sent = processes.fetched = 0
    estimator.run()
    passes = settings.model1_iterations + settings.hmm_iterations
    backend = estimator.backend
    assert isinstance(backend, DistributedBackend)
    return Spread(
        len(sides[0].lengths),
        len(estimator.word_pairs),
        sum(len(part.pairs) for part in backend.parts),
        len(backend.parts),
        setup,
        processes.sent / passes,
        processes.fetched / passes,
        max(parts),
        held_here(estimator, backend),
        processes.seconds,
        time.process_time() - start - processes.seconds,
    )


def held_here(estimator: Estimator, backend: DistributedBackend) -> int:
    arrays = [
        estimator.word_pairs.source,
        estimator.word_pairs.target,
        *(part.pairs for part in backend.parts),
    ]
    for pairs in estimator.form_pairs:
        arrays += [pairs.source, pairs.target, pairs.similar_pairs, pairs.spelling_counts]
        arrays += [] if pairs.pair is None else [pairs.pair]
    return sum(array.nbytes for array in {id(array): array for array in arrays}.values())


def encoded(pairs: Iterable[SentencePair]) -> tuple[EncodedSide, EncodedSide]:
    sides = ([[word for word in line.lower().split(" ") if word] for line in pair] for pair in pairs)
    return encode_pairs((source, target) for source, target in sides)


def spread_row(found: Spread) -> list[str]:
    return [
        f"{found.pairs:,}",
        f"{found.word_pairs / 1e6:.2f} M",
        str(found.parts),
        f"{found.of_parts / 1e6:.2f} M",
        f"{found.setup / 1e6:.0f} MB",
        f"{found.sent / 1e6:.0f} MB",
        f"{found.fetched / 1e6:.0f} MB",
        f"{found.part / 1e6:.0f} MB",
        f"{found.held / 1e6:.0f} MB",
        f"{found.there:.1f}",
        f"{found.here:.1f}",
    ]


# --- the plan ------------------------------------------------------------------------------------


def plan_row(pairs: float, cores: int, work: float, giving: float, small: Spread, large: Spread) -> list[str]:
    """What `pairs` pairs need, from CPU seconds a pair and the two measured trainings."""
    times = pairs / large.pairs
    power = math.log(large.word_pairs / small.word_pairs) / math.log(large.pairs / small.pairs)
    word_pairs = large.word_pairs * times**power
    network = (large.sent + large.fetched) * times
    return [
        f"{pairs:.0e}".replace("e+0", "e"),
        f"{pairs / 1e5:,.0f}",
        f"{max(work / cores, giving) * pairs / 3600:.1f}",
        f"{giving * pairs / 3600:.1f}",
        f"{2 * TEXT_BYTES * pairs / 1e9:,.1f} GB",
        f"{large.parts * times:,.0f}",
        f"{word_pairs / 1e6:,.0f} M",
        f"{network / 1e9:,.1f} GB",
        f"{large.there * times / cores / 3600:.2f}",
        f"{large.here * word_pairs / large.word_pairs / 3600:.2f}",
        f"{large.setup * times / 1e9:.1f} GB",
        f"{(2 * large.held * word_pairs / large.word_pairs + 3 * large.setup * times) / 1e9:.1f} GB",
        f"{large.part * large.parts * times / 1e9:.1f} GB",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--pairs", type=int, default=40_000)
    parser.add_argument("--chunk", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--prune", action="store_true", help="Drop word pairs as above 67 million cells.")
    options = parser.parse_args()
    rows, work, giving = align_rows(options)
    head = ["align", "start-up, s", "pairs per second", "CPU here, us a pair", "CPU of others, us a pair"]
    head.append("peak of a worker")
    print(markdown([head, *rows]), "\n", flush=True)
    if options.prune:
        pairs_module.MAX_UNSHARED_CELLS = 0
    read = partial(read_bitext, options.source, options.target)
    sizes = [options.pairs // 4, options.pairs // 2, options.pairs]
    trained = [spread(encoded(islice(read(), size))) for size in sizes]
    head = ["train: pairs", "word pairs", "parts", "word pairs of parts", "sent first", "sent a pass"]
    head += ["fetched a pass", "largest part", "held here", "CPU s there", "CPU s here"]
    print(markdown([head, *map(spread_row, trained)]), "\n", flush=True)
    head = [
        "pairs",
        "shards of align",
        f"hours, {options.cores} cores",
        "of that giving out",
        "links on disk",
    ]
    head += ["parts of train", "word pairs", "network a pass", f"hours, {options.cores} cores", "hours here"]
    head += ["bitext in scheduler", "memory here", "of all workers"]
    plans = [plan_row(n, options.cores, work, giving, trained[0], trained[-1]) for n in (1e6, 1e7, 1e8, 1e9)]
    print(markdown([head, *plans]))


if __name__ == "__main__":
    main()
