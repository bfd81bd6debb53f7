"""One function on many inputs: here, in processes of this machine, or on a cluster that somebody else has started.

    with executor_from(workers=4) as executor:
        for position, result in executor.run(function, inputs):
            ...

`jobs.run_kept` is what shards and runs of systems go through: it keeps results, retries, batches and reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

from rankscope.errors import OptionError
from rankscope.executors.tasks import InThisProcess, TaskExecutor, TaskFailure

__all__ = ["TaskExecutor", "TaskFailure", "executor_from"]

PLACES = 'an address such as "dask://host:8786", a client of Dask, the module ray, or an executor of concurrent.futures'


@contextmanager
def executor_from(on: Any = None, workers: int | None = None) -> Iterator[TaskExecutor]:
    """Give what runs tasks, and end afterwards what was started for it; what others have started goes on.

    Without both arguments it works in this process, with `workers` alone in so many processes of this machine.
    """
    executor = _chosen(on, workers)
    try:
        yield executor
    finally:
        executor.close()


def _chosen(on: Any, workers: int | None) -> TaskExecutor:
    if on is not None and workers is not None:
        raise OptionError(
            "both workers and on are given",
            hint="a cluster has the workers that it was started with: leave workers out",
        )
    if workers is not None:
        from rankscope.executors.processes import LocalProcesses

        return LocalProcesses(workers)
    if on is None:
        return InThisProcess()
    if isinstance(on, futures.Executor):
        from rankscope.executors.pools import PoolExecutor

        return PoolExecutor(on)
    package = type(on).__module__.partition(".")[0]
    scheme = on.partition("://")[0] if isinstance(on, str) else ""
    if scheme in {"dask", "tcp", "tls"} or package in {"distributed", "dask"}:
        from rankscope.executors.dask_cluster import DaskExecutor

        return DaskExecutor(on)
    if getattr(on, "__name__", "") == "ray":
        from rankscope.executors.ray_cluster import RayExecutor

        return RayExecutor(on)
    if scheme == "ray":
        raise OptionError(f"{on} is an address of Ray", hint="in Python: ray.init(address), then on=ray")
    if all(hasattr(on, name) for name in ("run", "everywhere", "close", "n_workers")):
        return _Borrowed(on)
    raise OptionError(f"nothing is known of {on!r} as a place to run tasks on", hint=f"give {PLACES}")


class _Borrowed:
    """An executor that somebody else closes."""

    def __init__(self, executor: TaskExecutor) -> None:
        self.n_workers, self.run, self.everywhere = executor.n_workers, executor.run, executor.everywhere

    def close(self) -> None:
        """Leave it open."""
