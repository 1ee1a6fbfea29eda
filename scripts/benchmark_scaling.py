"""For docs/explanation/figures.md: what it costs to learn from much text, and to spread work over processes.

    python scripts/benchmark_scaling.py growth WORK --data DATA [--sizes 125000,250000,...] [--memory 1500M]
        [--python PEERS_PYTHON [--most-of-peers 500000]] [--most-unbounded N]

Learn from more and more pairs, with all the memory that is needed and with `--memory`, beside eflomal and the
fast_align of `sil-machine[thot]` in both directions, where PEERS_PYTHON has them. The text is that of
benchmark_memory.py: real pairs, joined in another order in each round, with new endings of rare words, so
that the vocabulary keeps growing as Heaps' law says; its power is printed. The memory is the most that all
processes of a program had at a time. What WORK/scaling.json holds is not measured again.

    python scripts/benchmark_scaling.py rare DATA [--pairs 100000]

The error of links that are learned from Hansard, with all word pairs and without the rare ones that a larger
text does not count.

    python scripts/benchmark_scaling.py spread SOURCE TARGET [--model DIR] [--pairs 40000] [--workers 2]

SOURCE and TARGET are line-aligned text, perhaps .gz. The first table aligns the text in this process, by
forked processes, and on a dask cluster of this machine, with its scheduler in this process; the last row
gives the text out to a cluster that does nothing with it. CPU time stays true on a busy machine; pairs a
second and start-up do not. The second table works out from it what larger texts need. Set
OPENBLAS_NUM_THREADS=1.

    python scripts/benchmark_scaling.py cluster WORK --data DATA [--pairs 60000] [--workers 1,2,3,8]
        [--limit 300MB] [--cells N] [--no-kills]

Learn from a text as that of `growth`, in one process and on dask clusters of this machine, whose workers may
use LIMIT of memory each; then again on the largest cluster, with a worker killed in each phase: while the
text is sent, while ranges are made, in an E-step, in an M-step, and while the model is fetched. Are the files
of the model the same? Memory is the most that a process had: this process is the scheduler, another one
starts the training. The second table has CPU seconds, with those of starting the workers, and the bytes that
the starting program sent and fetched, and that workers sent each other.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import pickle
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import benchmark_aligners as programs
from _corpora import gold_pairs, hansard_pairs, lines_of, markdown, score, strip_accents
from benchmark_memory import describe, write_recycled

from nmtalign.aligner.opening import load
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train, train_aligner
from nmtalign.corpus import word_pairs as pairs_module
from nmtalign.links.formats import format_pharaoh_batch
from nmtalign.run.cluster import ClusterProcesses, ClusterStore, align_on_cluster, connected
from nmtalign.run.stream import AlignedChunk, align_chunks
from nmtalign.settings import TrainingSettings
from nmtalign.text.bitext import SentencePair, read_bitext
from nmtalign.text.chunks import iter_chunks
from nmtalign.training import encoded_bitext
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.training.encoded_bitext import CLUSTER_PART_CELLS
from nmtalign.training.result_store import Later

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
    for _ in cluster.in_order(nothing, chunks):
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


# --- the plan ------------------------------------------------------------------------------------


def plan_row(pairs: float, cores: int, work: float, giving: float) -> list[str]:
    """Return what it takes to align `pairs` pairs, from CPU seconds per pair."""
    return [
        f"{pairs:.0e}".replace("e+0", "e"),
        f"{pairs / 1e5:,.0f}",
        f"{max(work / cores, giving) * pairs / 3600:.1f}",
        f"{giving * pairs / 3600:.1f}",
        f"{2 * TEXT_BYTES * pairs / 1e9:,.1f} GB",
    ]


def spread_table(options: argparse.Namespace) -> None:
    """Print the tables of `spread`."""
    rows, work, giving = align_rows(options)
    head = ["align", "start-up, s", "pairs per second", "CPU here, us a pair", "CPU of others, us a pair"]
    head.append("peak of a worker")
    print(markdown([head, *rows]), "\n", flush=True)
    head = [
        "pairs",
        "shards of align",
        f"hours, {options.cores} cores",
        "of that giving out",
        "links on disk",
    ]
    plans = [plan_row(pairs, options.cores, work, giving) for pairs in (1e6, 1e7, 1e8, 1e9)]
    print(markdown([head, *plans]))


# --- training on a cluster -----------------------------------------------------------------------

# functions of which a call loses a worker, one after the other, and how often each was called until then
PHASES = (
    ("number_part", 1),  # the text is sent
    ("merge_slices", 1),  # ranges are made
    ("counts_of_part", 3),  # an E-step
    ("ratios_of_range", 4),  # an M-step
    ("linked_pairs_of_range", 1),  # the model is fetched
)
SECONDS_OF_PHASE = 0.3  # after so much of a call, a worker is killed
NO_LOGS = logging.CRITICAL + 1  # dask reports each loss


class MeasuredStore(ClusterStore):
    """Counts what this program sends and fetches, and kills a worker in each of some phases."""

    def __init__(self, client: Any, phases: Iterable[tuple[str, int]]) -> None:
        super().__init__(client)
        self.phases = deque(phases)
        self.calls: Counter[str] = Counter()
        self.tasks = self.sent = self.fetched = 0

    def submit(self, function: Callable[..., Any], calls: Any, paths: Any) -> Any:
        name = function.__name__
        self.calls[name] += 1
        self.tasks += len(calls) * (len(paths) + 1)
        if self.phases and self.phases[0][0] == name and self.calls[name] >= self.phases[0][1]:
            self.phases.popleft()
            threading.Timer(SECONDS_OF_PHASE, kill_worker, [self._client]).start()
        return super().submit(function, calls, paths)

    def share(self, value: Any) -> Any:
        self.sent += len(pickle.dumps(value, 5))
        return super().share(value)

    def read(self, handles: Iterable[Any]) -> Iterator[Any]:
        for handle in handles:
            (value,) = super().read([handle])
            if not isinstance(handle, Later):
                self.fetched += len(pickle.dumps(value, 5))
            yield value


def kill_worker(client: Any) -> None:
    """Kill the worker that keeps most results."""
    processes = client.run(os.getpid)
    kept = client.has_what()
    address = max(processes, key=lambda worker: len(kept.get(worker, ())))
    os.kill(processes[address], signal.SIGKILL)


def peak_megabytes() -> float:
    """Return the most memory that this process had, without that of the one that started it (Linux)."""
    (peak,) = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) / 1e3


def bytes_sent(dask_worker: Any) -> int:
    """Return how much a worker has sent; dask calls this in the worker."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def learn_on_cluster(options: argparse.Namespace) -> None:
    """Learn a model in this process, which starts the work of a cluster; print what it took."""
    encoded_bitext.CLUSTER_PART_CELLS = options.cells
    with connected(options.scheduler, 1) as client:
        store = MeasuredStore(client, PHASES if options.kill else ())
        hyperparameters = PRESET_HYPERPARAMETERS[options.preset]
        settings = TrainingJob(hyperparameters, settings=TrainingSettings(workers=1), store=store)
        start = time.process_time()
        result = train_aligner(read_bitext(options.source, options.target), settings)
        learned = peak_megabytes()
        result.aligner.save(options.model, overwrite=True)
        found = {
            "here": time.process_time() - start,
            "workers": sum(client.run(time.process_time).values()),
            "peak": learned,
            "worker": max(client.run(peak_megabytes).values()),
            "killed": len(PHASES) - len(store.phases) if options.kill else 0,
            "restarts": store.calls["number_part"] - 1,
            "tasks": store.tasks,
            "passes": hyperparameters.model1_iterations + hyperparameters.hmm_iterations,
            "sent": store.sent,
            "fetched": store.fetched,
            "between": sum(client.run(bytes_sent).values()) - store.fetched,
        }
    print(json.dumps(found))


def run_on_cluster(options: argparse.Namespace, workers: int, kill: bool) -> tuple[dict[str, float], Path]:
    """Learn on a cluster, perhaps with a worker killed in each phase; return what it took, and the model."""
    from distributed import LocalCluster

    text = options.work / "src", options.work / "tgt"
    model = options.work / f"model-{workers}{'-killed' * kill}"
    shutil.rmtree(model, ignore_errors=True)
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=options.limit,
        dashboard_address=":0",
        silence_logs=NO_LOGS,
    ) as cluster:
        arguments = ["learn", cluster.scheduler_address, *text, model]
        arguments += ["--preset", options.preset, "--cells", options.cells, *["--kill"] * kill]
        program = [sys.executable, __file__, *map(str, arguments)]
        run = subprocess.run(program, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout), model


def cluster_table(options: argparse.Namespace) -> None:
    """Print what learning on a cluster takes, undisturbed and with a worker killed in each phase."""
    options.work = options.work.absolute()
    with ProcessPoolExecutor(1) as other_process:  # so that this one, the scheduler, stays small
        write = partial(write_recycled, options.work, options.data, pairs=options.pairs, words=options.words)
        text = other_process.submit(write).result()
        described = other_process.submit(describe, text).result()
    print(f"{options.pairs:,} pairs: {described}\n", flush=True)
    alone = options.work / "model-alone"
    shutil.rmtree(alone, ignore_errors=True)
    learn = "train", *text, "-o", alone, "--preset", options.preset, "--memory", ENOUGH, "--workers", "1"
    cost = programs.measure((programs.nmtalign_program(), *learn), options.work / "log")
    wanted = files_of(alone)
    head = ["learning", "starting program", "scheduler", "largest worker", "restarts", "files"]
    rows = [head, ["one process", f"{cost.peak_mb:.0f} MB", "", "", "", ""]]
    head = ["workers", "CPU s of the starting program", "of the scheduler", "of workers", "tasks"]
    head += ["sent", "fetched", "between workers", "between workers per pass"]
    moved = [head, ["one process", f"{cost.cpu_seconds:.0f}", *[""] * 7]]
    runs = [(workers, False) for workers in options.workers]
    if not options.no_kills:
        runs.append((max(options.workers), True))
    for workers, kill in runs:
        start = time.process_time()
        found, model = run_on_cluster(options, workers, kill)
        scheduler = time.process_time() - start
        name = f"{workers} worker{'s' * (workers > 1)}" + f", {found['killed']:.0f} killed" * kill
        peaks = [f"{size:.0f} MB" for size in (found["peak"], peak_megabytes(), found["worker"])]
        same = "the same" if files_of(model) == wanted else "DIFFERENT"
        rows.append([name, *peaks, f"{found['restarts']:.0f}", same])
        print(*rows[-1], flush=True)
        if not kill:
            between = found["between"], found["between"] / found["passes"]
            sizes = [f"{size / 1e6:,.0f} MB" for size in (found["sent"], found["fetched"], *between)]
            seconds = [f"{found['here']:.0f}", f"{scheduler:.0f}", f"{found['workers']:.0f}"]
            moved.append([str(workers), *seconds, f"{found['tasks']:,.0f}", *sizes])
    print(f"\n{markdown(rows)}\n\n{markdown(moved)}")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# --- growth --------------------------------------------------------------------------------------


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

    found = {f"--memory {options.memory}": learn(options.memory)}
    if pairs <= options.most_unbounded:
        found["unbounded"] = learn(ENOUGH)
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
        if "unbounded" in names:
            models = folder / f"model-{ENOUGH}", folder / f"model-{options.memory}"
            same = files_of(models[0]) == files_of(models[1])
            result = "the same model" if same else "ANOTHER MODEL"
            print(f"{pairs:,} pairs: {result} with bounded memory", flush=True)
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


# --- rare word pairs -----------------------------------------------------------------------------


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
    grow.add_argument("--most-unbounded", type=int, default=10**9, help="Pairs with all memory")
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
    clusters = modes.add_parser("cluster", help="Learn on clusters whose workers have little memory.")
    clusters.set_defaults(run=cluster_table)
    clusters.add_argument("work", type=Path)
    clusters.add_argument("--data", type=Path, required=True)
    clusters.add_argument("--pairs", type=int, default=60_000)
    clusters.add_argument("--words", type=int, default=18)
    clusters.add_argument("--preset", default="default")
    counts = [1, 2, 3, 8]
    clusters.add_argument("--workers", type=lambda text: [int(n) for n in text.split(",")], default=counts)
    clusters.add_argument("--limit", default="300MB", help="Memory of a worker, which is ended above it.")
    clusters.add_argument("--cells", type=int, default=CLUSTER_PART_CELLS, help="Cells of a part.")
    clusters.add_argument("--no-kills", action="store_true")
    learn = modes.add_parser("learn", help="Start the training of `cluster`, which calls this.")
    learn.set_defaults(run=learn_on_cluster)
    learn.add_argument("scheduler")
    learn.add_argument("source", type=Path)
    learn.add_argument("target", type=Path)
    learn.add_argument("model", type=Path)
    learn.add_argument("--preset", required=True)
    learn.add_argument("--cells", type=int, required=True)
    learn.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
