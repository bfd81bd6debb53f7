"""A cluster of Dask: somebody has started its scheduler and workers, and gives a client of it or its address."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from rankscope.errors import OptionError, RankscopeError, UnfinishedError
from rankscope.executors.tasks import FEWER, TaskFailure, failure_of, outcome, pickled

CONNECT_S = 15.0
NO_WORKERS_S = 60.0
"""So long a cluster may be without any worker before that is taken for the end of it."""
AGAIN = "run again: with keep=FOLDER what is done is kept"
GO_ON = f"start the scheduler again, then {AGAIN}"


class DaskExecutor:
    """Runs a function on the workers of Dask, which replaces those that are lost by itself."""

    def __init__(self, on: Any) -> None:
        self.client, self.is_ours = connected(on)
        self._levels = silenced_logs()

    @property
    def n_workers(self) -> int:
        """How many threads all workers have together."""
        with errors_of_connection(self.client):
            n_threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(n_threads.values()))

    def run(
        self,
        function: Callable[[Any], Any],
        inputs: Sequence[Any],
        *,
        retries: int = 2,  # noqa: ARG002 (the scheduler's setting `allowed-failures` says how often)
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as they come.

        Dask counts a lost worker against all tasks that were given to it, so those that have had too many of them are
        tried again one by one, when nothing else can be to blame.
        """
        pickled(function)
        suspects = []
        with errors_of_connection(self.client):  # what a task raises is a result
            for position, result in self._together(function, inputs, range(len(inputs))):
                if isinstance(result, TaskFailure) and result.kind != "raised":
                    suspects.append(position)
                else:
                    yield position, result
            for position in suspects:
                yield from self._together(function, inputs, [position])

    def _together(
        self, function: Callable[[Any], Any], inputs: Sequence[Any], positions: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the results of some inputs; what is not done when nobody wants it any more is cancelled."""
        done: SimpleQueue[Any] = SimpleQueue()
        given = [inputs[position] for position in positions]
        futures = self.client.map(partial(outcome, function), positions, given, pure=False)
        position_of = {future.key: position for future, position in zip(futures, positions, strict=True)}
        for future in futures:
            future.add_done_callback(done.put)
        try:
            while position_of:
                future = self._next(done)
                if future.status in {"lost", "pending"}:  # its worker was lost with the result: it is made again
                    future.add_done_callback(done.put)
                    continue
                position = position_of.pop(future.key)
                yield position, result_of(future, position, self.client)
                future.release()
        finally:
            if self.client.status == "running":
                self.client.cancel([future for future in futures if not future.done()])

    def _next(self, done: SimpleQueue[Any]) -> Any:
        """Return what is done next; where there is nobody who could do anything, say so instead of waiting for ever."""
        last_seen = time.monotonic()
        while True:
            try:
                return done.get(timeout=2)
            except Empty:
                if self.client.status == "running" and self.client.nthreads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > NO_WORKERS_S:
                    raise nobody_left(self.client) from None

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Return what each worker says, by its address."""
        with errors_of_connection(self.client):
            return dict(self.client.run(function, *args, on_error="return"))

    def close(self) -> None:
        """Close the client, if it was opened here; the cluster goes on."""
        if self.is_ours:
            self.client.close()
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)


def silenced_logs() -> dict[str, int]:
    """Let Dask log nothing: what it would say of lost workers is an error here. Return the levels of its logs."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return levels


def connected(on: Any) -> tuple[Any, bool]:
    """Return a client that has workers, and whether it was opened here: for an address, or a cluster."""
    try:
        from distributed import Client
    except ImportError as error:
        raise OptionError("Dask is not installed", hint='pip install "rankscope[dask]"') from error
    address = tcp_address(on) if isinstance(on, str) else on
    open_client: Any = Client  # it has no types
    is_ours = not isinstance(on, Client)
    try:
        client = open_client(address, timeout=CONNECT_S, set_as_default=False) if is_ours else on
    except (OSError, ValueError) as error:
        port = f" --port {address.rpartition(':')[2]}" if isinstance(on, str) else ""
        hint = f"start both: `dask scheduler{port}`, and on each machine `dask worker {address}`"
        raise UnfinishedError(f"there is no scheduler of Dask at {on}: {error}", hint=hint) from error
    if client.asynchronous:
        raise OptionError("the client of Dask is an asynchronous one", hint="give the address of its scheduler")
    if client.status != "running":
        raise OptionError(f"the client of Dask is {client.status}", hint="give one that is open, or an address")
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except (OSError, TimeoutError) as error:
        address = client.scheduler_info()["address"]
        if is_ours:
            client.close()
        hint = f"start some: on each machine `dask worker {address}`"
        raise UnfinishedError(f"the scheduler of Dask at {address} has no workers", hint=hint) from error
    return client, is_ours


def tcp_address(address: str) -> str:
    """Return dask://host:8786 as Dask writes it; refuse what has no host and port, and what may hold a secret."""
    scheme, _, place = address.partition("://")
    host, _, port = place.rstrip("/").rpartition(":")
    if not host or not port.isdecimal() or "@" in host:
        raise OptionError(
            f"the address of the scheduler is {scheme}:// with something else behind it than a host and a port",
            hint="for example dask://host:8786; certificates come from the configuration of Dask",
        )
    return f"{'tcp' if scheme == 'dask' else scheme}://{host}:{port}"


@contextmanager
def errors_of_connection(client: Any) -> Iterator[None]:
    """Say that the scheduler is gone, whatever Dask raises then: futures are cancelled, connections closed."""
    try:
        yield
    except RankscopeError:
        raise
    except Exception as error:
        if client.status == "running" and not isinstance(error, OSError | CancelledError):
            raise
        raise UnfinishedError(f"the scheduler of Dask is gone ({error})", hint=GO_ON) from error


def fetched(future: Any, client: Any) -> Any:
    """Return the result of a task that is done, which is made again where its worker is lost before it was fetched."""
    while True:
        try:
            return future.result(timeout=NO_WORKERS_S)
        except TimeoutError:
            if client.status != "running" or not client.nthreads():
                raise nobody_left(client) from None


def nobody_left(client: Any) -> UnfinishedError:
    """Say that nobody is there who could go on, and how there will be."""
    if client.status != "running":
        return UnfinishedError("the scheduler of Dask is gone", hint=GO_ON)
    address = getattr(client.scheduler, "address", "tcp://SCHEDULER:8786")
    return UnfinishedError(
        "all workers of Dask are gone", hint=f"start some, on each machine `dask worker {address}`, then {AGAIN}"
    )


def result_of(future: Any, position: int, client: Any) -> Any:
    """Return what a task has returned, or what has become of its workers."""
    error = future.exception()
    if error is None:
        return fetched(future, client)
    if type(error).__name__ != "KilledWorker":
        return failure_of(error, position)
    restarts = {event["worker"] for _, event in client.get_events("worker-restart-memory")}
    if error.last_worker.address in restarts:
        lost = UnfinishedError("its workers had more memory than they may have, each time", hint=FEWER)
        return TaskFailure(position, lost, "memory")
    lost = UnfinishedError(f"{error.allowed_failures + 1} workers were lost while they worked on it", hint=AGAIN)
    return TaskFailure(position, lost, "lost")
