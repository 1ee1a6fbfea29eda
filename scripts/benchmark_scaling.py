"""What it costs to learn from much text, to spread work over processes and machines, and to do both.

    python scripts/benchmark_scaling.py growth WORK --data DATA [--sizes 125000,250000,...] [--memory 1500M]
        [--python PEERS_PYTHON [--most-of-peers 500000]]

Learn from more and more pairs, with all the memory that is needed and with `--memory`, beside eflomal and the
fast_align of `sil-machine[thot]` in both directions, where PEERS_PYTHON has them. The text is that of
benchmark_memory.py: real pairs, joined in another order in each round, with new endings of rare words, so
that the vocabulary keeps growing as Heaps' law says; its power is printed. The memory is the most that all
processes of a program had at a time. What WORK/scaling.json holds is not measured again.

    python scripts/benchmark_scaling.py rare DATA [--pairs 100000]

The error of links that are learned from Hansard, with all word pairs and without the rare ones that a larger
text does not count.

    python scripts/benchmark_scaling.py spread SOURCE TARGET [--model DIR] [--pairs 40000] [--workers 2]
        [--prune]

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
import json
import math
import pickle
import resource
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import benchmark_aligners as programs
from _corpora import gold_pairs, hansard_pairs, lines_of, score, strip_accents
from benchmark_aligners import markdown
from benchmark_memory import write_recycled

from nmtalign.aligner.opening import load
from nmtalign.aligner.train import train
from nmtalign.batch.cluster import ClusterProcesses, align_on_cluster, connected
from nmtalign.batch.stream import AlignedChunk, align_chunks
from nmtalign.corpus import word_pairs as pairs_module
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.sections import whole_pairs
from nmtalign.corpus.sides import EncodedSide, encode_both_sides
from nmtalign.corpus.text import EncodedText
from nmtalign.links.formats import format_pharaoh_batch
from nmtalign.text.bitext import SentencePair, iter_chunks, read_bitext
from nmtalign.training.distributed import DistributedBackend, WorkerPart
from nmtalign.training.em import Estimator, preset_hyperparameters

ENOUGH = "1T"  # memory
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
    return encode_both_sides((source, target) for source, target in sides)


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


def spread_table(options: argparse.Namespace) -> None:
    """Print the tables of `spread`."""
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


# --- growth ----------------------------------------------------------------------------------------


def growth_programs(options: argparse.Namespace, pairs: int) -> dict[str, Callable[[Path], programs.Cost]]:
    """Return what measures each program on the text in a folder, by name."""

    def learn(memory: str) -> Callable[[Path], programs.Cost]:
        def measure_learning(folder: Path) -> programs.Cost:
            model = folder / f"model-{memory}"
            shutil.rmtree(model, ignore_errors=True)
            train = "train", folder / "src", folder / "tgt", "-o", model, "--preset", options.preset
            arguments = *train, "--memory", memory, "--workers", str(options.workers)
            return programs.measure((programs.nmtalign_program(), *arguments), folder / "log")

        return measure_learning

    def fast_align(folder: Path) -> programs.Cost:
        (folder / "gold").touch()
        return programs.cost_of_fast_align(folder, folder, options.python)

    def eflomal(folder: Path) -> programs.Cost:
        program = Path(options.python).with_name("eflomal-align")
        text = "-s", folder / "src", "-t", folder / "tgt"
        for name in ("forward", "reverse"):
            (folder / name).unlink(missing_ok=True)  # eflomal replaces no file
        links = "-f", folder / "forward", "-r", folder / "reverse"
        return programs.measure((program, *text, *links), folder / "log")

    found = {"unbounded": learn(ENOUGH), f"--memory {options.memory}": learn(options.memory)}
    if options.python is not None and pairs <= options.most_of_peers:
        found |= {"fast_align": fast_align, "eflomal": eflomal}
    return found


def growth_table(options: argparse.Namespace) -> None:
    """Print memory and time of each program for more and more pairs."""
    work = options.work.absolute()
    notes = work / "scaling.json"
    found: dict[str, dict[str, float]] = json.loads(notes.read_text()) if notes.exists() else {}
    for pairs in options.sizes:
        folder = work / str(pairs)
        names = growth_programs(options, pairs)
        if all(f"{pairs} {name}" in found for name in names):
            continue
        write_recycled(folder, options.data, pairs=pairs, words=options.words)
        found[f"{pairs} text"] = dict(zip(("tokens", "words"), words_of(folder / "src"), strict=True))
        for name, cost_of in names.items():
            found[f"{pairs} {name}"] = asdict(cost_of(folder))
            notes.write_text(json.dumps(found, indent=1), encoding="utf-8")
            print(f"{pairs:,} {name}: {found[f'{pairs} {name}']}", flush=True)
        models = folder / f"model-{ENOUGH}", folder / f"model-{options.memory}"
        same = (models[0] / "meta.json").read_bytes() == (models[1] / "meta.json").read_bytes()
        print(
            f"{pairs:,} pairs: {'the same model' if same else 'ANOTHER MODEL'} with bounded memory",
            flush=True,
        )
        shutil.rmtree(folder)
    rows = [["pairs", "program", "seconds", "CPU seconds", "CPU s per million pairs", "peak MB"]]
    for key, cost in found.items():
        pairs, _, name = key.partition(" ")
        if name != "text":
            per_million = cost["cpu_seconds"] * 1e6 / int(pairs)
            values = (cost["seconds"], cost["cpu_seconds"], per_million, cost["peak_mb"])
            rows.append([f"{int(pairs):,}", name, *(f"{value:,.0f}" for value in values)])
    print(markdown(rows))
    texts = sorted((text["tokens"], text["words"]) for key, text in found.items() if key.endswith(" text"))
    if len(texts) > 1:
        (tokens, words), (more_tokens, more_words) = texts[0], texts[-1]
        power = math.log(more_words / words) / math.log(more_tokens / tokens)
        print(
            f"\nThe vocabulary grows with the power {power:.2f} of the words, to {more_words:,} source words."
        )


def words_of(path: Path) -> tuple[int, int]:
    """Return the numbers of words, and of distinct words, of a text."""
    tokens = 0
    words = set[str]()
    with path.open(encoding="utf-8") as file:
        for line in file:
            of_line = line.split()
            tokens += len(of_line)
            words.update(of_line)
    return tokens, len(words)


# --- rare word pairs -------------------------------------------------------------------------------


def rare_table(options: argparse.Namespace) -> None:
    """Print the error of links with all word pairs, and without the rare ones."""
    gold_text, gold = gold_pairs(options.data, "naacl2003_enfr_dev37", strip_accents)
    text = [*hansard_pairs(options.data)[: options.pairs], *gold_text]
    rows = [["word pairs", "AER of the gold pairs", "differing links"]]
    links: list[list[str]] = []
    for name, cells in (("all", math.inf), ("without rare ones", 0)):
        pairs_module.MAX_UNSHARED_CELLS = cells  # type: ignore[assignment]
        aligner = train(text, preset=options.preset, workers=options.workers)
        aligned = aligner.align_batch(text)
        lines = "".join(format_pharaoh_batch(aligned)).splitlines()
        links.append(lines)
        error = score(lines[-len(gold_text) :], lines_of(gold)).aer
        changed = sum(a != b for a, b in zip(links[0], lines, strict=True))
        rows.append([name, f"{error:.2f}", f"{100 * changed / len(lines):.2f} % of the pairs"])
    print(markdown(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    modes = parser.add_subparsers(required=True)
    grow = modes.add_parser("growth", help="Learn from more and more pairs.")
    grow.set_defaults(run=growth_table)
    grow.add_argument("work", type=Path)
    grow.add_argument("--data", type=Path, required=True)
    sizes = [125_000, 250_000, 500_000, 1_000_000, 2_000_000]
    grow.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=sizes)
    grow.add_argument("--memory", default="1500M")
    grow.add_argument("--words", type=int, default=18, help="18 gives a mean of 20: long pairs stay long")
    grow.add_argument("--preset", default="default")
    grow.add_argument("--workers", type=int, default=2)
    grow.add_argument("--python", type=Path, help="Python that has eflomal and sil-machine[thot]")
    grow.add_argument("--most-of-peers", type=int, default=500_000, help="Pairs for the other programs")
    rare = modes.add_parser("rare", help="Learn with and without rare word pairs.")
    rare.set_defaults(run=rare_table)
    rare.add_argument("data", type=Path)
    rare.add_argument("--pairs", type=int, default=100_000)
    rare.add_argument("--preset", default="default")
    rare.add_argument("--workers", type=int, default=2)
    spreading = modes.add_parser("spread", help="Spread work over processes and machines.")
    spreading.set_defaults(run=spread_table)
    spreading.add_argument("source", type=Path)
    spreading.add_argument("target", type=Path)
    spreading.add_argument("--model", type=Path)
    spreading.add_argument("--pairs", type=int, default=40_000)
    spreading.add_argument("--chunk", type=int, default=2_000)
    spreading.add_argument("--workers", type=int, default=2)
    spreading.add_argument("--cores", type=int, default=64)
    spreading.add_argument("--prune", action="store_true", help="Drop word pairs as above 67 million cells.")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
