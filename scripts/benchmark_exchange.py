"""How the parts of a text can send their counts to the ranges of the word pairs, on a dask cluster.

    python scripts/benchmark_exchange.py [--parts 16] [--pairs 640000] [--workers 8]

Each of PARTS parts has counts of PAIRS word pairs, and there are as many ranges, which sum the counts of all
parts. Three ways give the same sums: tasks, as :class:`~nmtalign.batch.cluster_store.ClusterStore` submits
them, the P2P shuffle of `dask.dataframe`, and actors, one for each range. The second table kills a worker
while the counts are being sent: is the result still found, and how often was a part counted? The workers are
processes of this machine, and this process is the scheduler.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmark_aligners import markdown
from benchmark_scaling import NO_LOGS, kill_worker, peak_megabytes

from nmtalign.arrays import AnyArray, Doubles, Longs
from nmtalign.batch.cluster_store import ClusterStore

MAX_KEY = 1 << 32
SECONDS_BEFORE_KILL = 0.5
SECONDS_OF_COUNTING = 0.3  # a part is counted for so long, so that a worker can be killed meanwhile


class Work(NamedTuple):
    """What is exchanged."""

    parts: int
    pairs: int  # of each part
    folder: Path  # a part appends a byte to a file of its own when it is counted

    def counted(self, part: int) -> tuple[Longs, Doubles]:
        """Return the sorted keys and the counts of a part."""
        with (self.folder / str(part)).open("ab") as file:
            file.write(b".")
        time.sleep(SECONDS_OF_COUNTING)
        generator = np.random.default_rng(part)
        keys = np.sort(generator.integers(0, MAX_KEY, self.pairs))
        return keys, generator.integers(1, 5, self.pairs).astype(np.float64)

    def slices(self, part: int) -> list[tuple[Longs, Doubles]]:
        """Return the keys and the counts of a part for each range."""
        keys, counts = self.counted(part)
        bounds = np.arange(1, self.parts) * (MAX_KEY // self.parts)
        cuts = np.searchsorted(keys, bounds)
        return list(zip(np.split(keys, cuts), np.split(counts, cuts), strict=True))

    def times_counted(self) -> int:
        """Return how often a part was counted."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def sum_slices(*slices: tuple[Longs, Doubles]) -> list[AnyArray]:
    """Return the sums of the counts of each key of a range."""
    keys, place = np.unique(np.concatenate([keys for keys, _ in slices]), return_inverse=True)
    return [np.bincount(place, np.concatenate([counts for _, counts in slices]), len(keys))]


# --- three ways ------------------------------------------------------------------------------------


def by_tasks(client: Any, work: Work) -> float:
    store = ClusterStore(client)
    slices = store.map(work.slices, [(part,) for part in range(work.parts)], items=work.parts)
    calls = [[of_part[r] for of_part in slices] for r in range(work.parts)]
    summed = store.map(sum_slices, calls, items=1)
    totals = store.map(total_of, [(of_range[0],) for of_range in summed], items=1)
    return float(sum(store.read([of_range[0] for of_range in totals])))


def total_of(sums: Doubles) -> list[float]:
    """Return the sum of the squares, which is that of exact sums only."""
    return [float((sums**2).sum())]


def by_shuffle(client: Any, work: Work) -> float:
    import dask
    import dask.dataframe
    import pandas as pd

    def frame_of(part: int) -> pd.DataFrame:
        keys, counts = work.counted(part)
        return pd.DataFrame({"range": keys // (MAX_KEY // work.parts), "key": keys, "count": counts})

    def total_of_frame(frame: pd.DataFrame) -> pd.Series[float]:
        return pd.Series([float((frame.groupby("key")["count"].sum() ** 2).sum())])

    empty = pd.DataFrame({"range": np.zeros(0, np.int64), "key": np.zeros(0, np.int64), "count": np.zeros(0)})
    with dask.config.set({"dataframe.shuffle.method": "p2p"}):
        frame = dask.dataframe.from_map(frame_of, range(work.parts), meta=empty)
        ranges = frame.shuffle(on="range", npartitions=work.parts)
        totals = ranges.map_partitions(total_of_frame, meta=pd.Series(np.zeros(0)))
        return float(client.compute(totals.sum()).result())


class RangeActor:
    """The counts of a range, which parts add to."""

    def __init__(self) -> None:
        self.slices: dict[int, tuple[Longs, Doubles]] = {}

    def add(self, part: int, of_part: tuple[Longs, Doubles]) -> None:
        """Keep the slice of a part."""
        self.slices[part] = of_part

    def total(self) -> float:
        """Return what :func:`total_of` does, of the slices in the order of the parts."""
        (sums,) = sum_slices(*(self.slices[part] for part in sorted(self.slices)))
        return total_of(sums)[0]


def by_actors(client: Any, work: Work) -> float:
    actors = [future.result() for future in client.map(_actor, range(work.parts), actor=True, pure=False)]

    def send(part: int, actors: list[Any]) -> None:
        answers = [actor.add(part, of_part) for actor, of_part in zip(actors, work.slices(part), strict=True)]
        for answer in answers:
            answer.result()

    sent = [client.submit(send, part, actors, pure=False) for part in range(work.parts)]
    client.gather(sent)
    return float(sum(actor.total().result() for actor in actors))


def _actor(number: int) -> RangeActor:
    return RangeActor()


WAYS: dict[str, Callable[[Any, Work], float]] = {
    "tasks": by_tasks,
    "P2P shuffle": by_shuffle,
    "actors": by_actors,
}


# --- measuring -------------------------------------------------------------------------------------


def measure(way: Callable[[Any, Work], float], options: argparse.Namespace, kill: bool) -> dict[str, Any]:
    """Return what a way takes on a cluster of its own, perhaps with a worker killed."""
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0", silence_logs=NO_LOGS
        ) as cluster,
        Client(cluster) as client,
    ):
        work = Work(options.parts, options.pairs, Path(folder))
        client.run(import_all)
        before = sum(client.run(time.process_time).values())
        here = time.process_time()
        start = time.perf_counter()
        if kill:
            threading.Timer(SECONDS_BEFORE_KILL, kill_worker, [client]).start()
        found: dict[str, Any] = {}
        try:
            found["total"] = way(client, work)
        except Exception as error:  # of any kind: what a way does is what is asked
            found["total"] = type(error).__name__
        found["seconds"] = time.perf_counter() - start
        found["here"] = time.process_time() - here
        found["counted"] = work.times_counted()
        if not kill:
            found["workers"] = sum(client.run(time.process_time).values()) - before
            found["peak"] = max(client.run(peak_megabytes).values())
        return found


def import_all() -> None:
    """Import what a way needs in a worker, which is not measured."""
    import dask.dataframe
    import pyarrow

    assert dask.dataframe
    assert pyarrow


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=640_000, help="Word pairs of a part.")
    parser.add_argument("--workers", type=int, default=8)
    options = parser.parse_args()
    head = ["exchange by", "seconds", "CPU s of workers", "of the scheduler", "largest worker"]
    rows = [head]
    killed = [["exchange by", "result", "parts counted", "seconds"]]
    totals = set()
    for name, way in WAYS.items():
        found = measure(way, options, kill=False)
        totals.add(found["total"])
        seconds = [f"{found[key]:.1f}" for key in ("seconds", "workers", "here")]
        rows.append([name, *seconds, f"{found['peak']:.0f} MB"])
        print(*rows[-1], flush=True)
        after = measure(way, options, kill=True)
        result = "the same" if after["total"] == found["total"] else str(after["total"])
        killed.append([name, result, f"{after['counted']}", f"{after['seconds']:.1f}"])
        print(*killed[-1], flush=True)
    print(f"\n{markdown(rows)}\n\n{markdown(killed)}")
    print(f"\nThe sums are {'equal' if len(totals) == 1 else f'DIFFERENT: {totals}'}.")


if __name__ == "__main__":
    main()
