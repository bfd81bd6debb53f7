"""Executors of the standard library, and those of others that are like them: MPI, loky, a pool of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from typing import Any

from rankscope.errors import OptionError, UnfinishedError
from rankscope.executors.processes import GUARD
from rankscope.executors.tasks import TaskFailure, failure_of, outcome, pickled

NEW_POOL = "make a new pool, or give workers=N, which replaces processes that are lost"
SPAWNED = 'give ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")), or workers=2 in place of on'


class PoolExecutor:
    """Runs a function in somebody's pool; a pool that has lost a process is broken and cannot be made whole here."""

    def __init__(self, pool: Executor) -> None:
        context = getattr(pool, "_mp_context", None)
        if context is not None and context.get_start_method() == "fork":
            # a forked process lacks the threads of Polars, and would wait for them for ever
            raise OptionError("the processes of the pool are forked, which can hang where files are read", hint=SPAWNED)
        self.pool = pool
        self.n_workers = int(getattr(pool, "_max_workers", 1))

    def run(
        self,
        function: Callable[[Any], Any],
        inputs: Sequence[Any],
        *,
        retries: int = 2,  # noqa: ARG002 (a broken pool takes nothing more)
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as they come."""
        pickled(function)
        futures = {self._submit(outcome, function, i, given): i for i, given in enumerate(inputs)}
        try:
            for future in as_completed(futures):
                position, error = futures[future], future.exception()
                if isinstance(error, BrokenExecutor):
                    lost = UnfinishedError("the pool has lost a process", hint=NEW_POOL)
                    yield position, TaskFailure(position, lost, "lost")
                else:
                    yield position, future.result() if error is None else failure_of(error, position)
        finally:
            for future in futures:
                future.cancel()

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Return the answer of one worker, as a pool does not say which ones it has."""
        future = self._submit(function, *args)
        error = future.exception()
        if isinstance(error, BrokenExecutor):
            raise UnfinishedError("the processes of the pool end before they are ready", hint=f"{GUARD}; {NEW_POOL}")
        return {"of the pool": future.result() if error is None else error}

    def _submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        try:
            return self.pool.submit(function, *args)
        except RuntimeError as error:  # it is broken, or was shut down
            raise UnfinishedError(f"the pool takes no more tasks: {error}", hint=NEW_POOL) from error

    def close(self) -> None:
        """Leave the pool to whoever has made it."""
