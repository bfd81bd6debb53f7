"""Worker processes on this machine: each has a pipe of its own, so that it is known what a lost one was working on."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from rankscope.errors import OptionError, UnfinishedError
from rankscope.executors.tasks import FEWER, TaskFailure, failure_of, outcome, pickled

NO_GUARD = 87
"""Exit code of a worker whose script starts workers when it is imported."""
GUARD = 'put what your script does under `if __name__ == "__main__":`, as every worker imports the script'
MOST_FAILED_STARTS = 3
"""After so many workers that end before they are ready, no more are started."""
KILLED = f"something kills them; where memory ran out, {FEWER}"
GRACE_S = 3.0
"""So long a worker may take to end when it is asked to."""


def serve(pipe: Connection) -> None:
    """Work on what comes through the pipe until it is closed, also where the process at its other end was killed."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches the whole group: whoever started this one ends it
    let_interrupt(signal.SIG_UNBLOCK)
    threading.Thread(target=end_with_parent, daemon=True).start()
    function: Callable[[Any], Any] = len
    with suppress(KeyboardInterrupt):  # also where it comes while the pipe is found to be closed
        signal.signal(signal.SIGTERM, stop)  # before this, and after the last line, it ends the process at once
        with suppress(EOFError, OSError):
            pipe.send("ready")
            while True:
                position, new_function, given = pickle.loads(pipe.recv_bytes())  # noqa: S301 (from who started us)
                if new_function is not None:
                    function = pickle.loads(new_function)  # noqa: S301
                result = outcome(function, position, given)
                try:
                    pipe.send(result)
                except (pickle.PicklingError, TypeError, AttributeError) as error:
                    pipe.send(failure_of(error, position))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def stop(*_: object) -> None:
    """End as Ctrl-C does, which alone is no failure of a system that is being asked; a second signal ends at once."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt


def let_interrupt(how: int) -> None:
    """Block Ctrl-C for this thread and the processes that it starts, or let it through."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        from multiprocessing import resource_tracker

        if how == signal.SIG_BLOCK:
            resource_tracker.ensure_running()  # it would let Ctrl-C through when it is started with the first worker
        signal.pthread_sigmask(how, {signal.SIGINT})


def end_with_parent() -> None:
    """End this process when the one that started it is gone, also in the midst of work that nobody waits for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_S)
        os._exit(143)


class Worker:
    """A process, its pipe, and what it is working on."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=serve, args=(theirs,), daemon=True)
        let_interrupt(signal.SIG_BLOCK)  # until it can take it, or it would complain of it
        try:
            self.process.start()
        finally:
            let_interrupt(signal.SIG_UNBLOCK)
        theirs.close()
        self.position: int | None = None
        self.is_ready = False
        self.function: bytes | None = None
        """What it was given last, which is sent once."""

    @property
    def is_idle(self) -> bool:
        """Whether it waits for something to do."""
        return self.is_ready and self.position is None

    def send(self, position: int, function: bytes, given: Any) -> None:
        """Give it an input; a worker that is gone is noticed when its answer is waited for."""
        self.position = position
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send((position, None if self.function is function else function, given))
        self.function = function

    def end(self, *, grace_s: float = 0) -> int | None:
        """Close its pipe, end it, and return its exit code."""
        self.pipe.close()
        self.process.join(grace_s)
        self.process.terminate()
        self.process.join(GRACE_S)
        self.process.kill()
        self.process.join()
        return self.process.exitcode


class LocalProcesses:
    """Runs a function in several processes of this machine; one that is lost is replaced."""

    def __init__(self, n_workers: int) -> None:
        if n_workers < 1:
            raise OptionError(f"workers is {n_workers}, but there has to be at least one")
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        if script is not None and not os.path.exists(script):  # noqa: PTH110 (`python -` calls its script <stdin>)
            raise OptionError(
                "a script from standard input cannot start worker processes, which import it",
                hint="save it as a file, or give on= an executor of your own, such as a ThreadPoolExecutor",
            )
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            sys.exit(NO_GUARD)  # a worker that imports the script: whoever started it says what to do
        self.n_workers = n_workers
        self.workers: list[Worker] = []
        self.n_failed_starts = 0

    def run(
        self, function: Callable[[Any], Any], inputs: Sequence[Any], *, retries: int = 2
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as they come; every worker has one input at a time."""
        sent, waiting, losses = pickled(function), deque(range(len(inputs))), Counter[int]()
        self._end(worker for worker in self.workers if worker.position is not None)  # for somebody who has left
        try:
            while waiting or any(worker.position is not None for worker in self.workers):
                self._give(waiting, sent, inputs)
                by_pipe = {worker.pipe: worker for worker in self.workers}
                for worker in (by_pipe[pipe] for pipe in wait(list(by_pipe)) if isinstance(pipe, Connection)):
                    position = worker.position
                    try:
                        result = worker.pipe.recv()
                    except (EOFError, OSError):
                        result = self._lost(worker)
                        losses.update([] if position is None else [position])
                        if position is not None and losses[position] <= retries:
                            waiting.appendleft(position)
                            continue
                    worker.is_ready, worker.position = True, None
                    if position is not None:
                        yield position, result
        finally:
            self._end(worker for worker in self.workers if worker.position is not None and worker.function is sent)

    def _give(self, waiting: deque[int], function: bytes, inputs: Sequence[Any]) -> None:
        """Start as many workers as are of use, and give each that is idle what is next."""
        n_wanted = min(self.n_workers, len(waiting) + len(self.workers))
        self.workers += [Worker() for _ in range(n_wanted - len(self.workers))]
        for worker in self.workers:
            if waiting and worker.is_idle:
                position = waiting.popleft()
                worker.send(position, function, inputs[position])

    def _lost(self, worker: Worker) -> TaskFailure:
        """Take a worker that is gone out, and return what becomes of its input if it is not tried again."""
        self.workers.remove(worker)
        code = worker.end(grace_s=GRACE_S)
        how = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        if not worker.is_ready:
            self.n_failed_starts += 1
            if code == NO_GUARD:
                raise OptionError("the script starts worker processes while they import it", hint=GUARD) from None
            if self.n_failed_starts > MOST_FAILED_STARTS:
                why = KILLED if code == -signal.SIGKILL else GUARD
                raise UnfinishedError(f"worker processes end before they are ready ({how})", hint=why) from None
        memory = f"; where memory ran out, {FEWER}" if code == -signal.SIGKILL else ""
        error = UnfinishedError(f"its worker process was lost each time ({how})", hint=f"run it again{memory}")
        return TaskFailure(worker.position or 0, error, "lost")

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Return nothing: the workers have the files, the Python and the packages of this process."""
        del function, args
        return {}

    def close(self) -> None:
        """End all workers, also those that are working."""
        self._end(self.workers)

    def _end(self, workers: Iterable[Worker]) -> None:
        ending = list(workers)
        for worker in ending:
            if worker.is_idle:
                worker.pipe.close()
            else:
                worker.process.terminate()
        for worker in ending:
            self.workers.remove(worker)
            # an idle one ends by itself and gives back what it has, such as semaphores, of which Python would warn
            worker.end(grace_s=GRACE_S if worker.is_idle else 0)
