"""The options that choose where the work is done: processes of this machine, or a dask cluster."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from nmtalign.cli.options.groups import option_group, section
from nmtalign.cli.options.types import Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class EngineOptions:
    """The values of the options."""

    workers: int | None
    engine: str
    scheduler: str | None

    def client(self, stack: ExitStack) -> Client | None:
        """Connect to the cluster until the stack ends; None for the processes of this machine.

        Raises
        ------
        UsageError
            If the options contradict each other or the cluster cannot be reached.
        """
        if self.engine == "local":
            if self.scheduler is not None:
                raise UsageError("--scheduler goes with --engine dask; give it too")
            return None
        if self.scheduler is not None and self.workers is not None:
            raise UsageError("--workers counts processes of this machine; with --scheduler leave it out")
        from nmtalign.batch.cluster import connected
        from nmtalign.corpus.parallel import default_workers

        return stack.enter_context(connected(self.scheduler, default_workers(self.workers)))


engine_options = option_group(
    "engine",
    EngineOptions,
    section("Running"),
    click.option("--workers", type=Whole(min=1), help="Processes; the result is the same.  [cores]"),
    click.option(
        "--engine", type=click.Choice(["local", "dask"]), default="local", help="Processes or a cluster."
    ),
    click.option("--scheduler", metavar="ADDR", help="Of the dask cluster, like tcp://node1:8786."),
)


def one_blas_thread() -> None:
    """Keep BLAS to one thread, unless the user chose a number; works only before NumPy is imported.

    Many small products from several threads are many times slower when each of them asks for all cores.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
