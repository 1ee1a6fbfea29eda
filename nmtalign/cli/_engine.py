"""The options that say where the work is done."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client

_NAMES = ("engine", "scheduler")
_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        default="local",
        help="dask: on a cluster, or as one on this machine.  [local]",
    ),
    click.option("--scheduler", metavar="ADDR", help="Of the dask cluster, like tcp://node1:8786."),
)


@dataclass(frozen=True)
class EngineOptions:
    """What the user chose."""

    engine: str
    scheduler: str | None

    def client(self, workers: int | None, stack: ExitStack) -> Client | None:
        """Connect to the cluster until the stack ends; None where the work is done by this program alone.

        Raises
        ------
        UsageError
            If the options contradict each other or the cluster cannot be reached.
        """
        if self.engine == "local":
            if self.scheduler is not None:
                raise UsageError("--scheduler goes with --engine dask; give it too")
            return None
        if self.scheduler is not None and workers is not None:
            raise UsageError("--workers counts processes of this machine; with --scheduler leave it out")
        from nmtalign.batch.cluster import connected
        from nmtalign.corpus.parallel import default_workers

        return stack.enter_context(connected(self.scheduler, workers or default_workers()))


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options of where to work; it receives them as ``engine: EngineOptions``."""

    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        return command(engine=EngineOptions(*(arguments.pop(name) for name in _NAMES)), **arguments)

    for option in reversed(_OPTIONS):
        collect = option(collect)
    return collect
