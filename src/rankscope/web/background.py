"""What takes long is computed in a process of its own, one thing after the other, once for all who wait for it.

Threads of the server would take its time from the pages of all others, and its memory for good. The process is less
important than the server to the system, ends when it has had nothing to do for a while, and is started again.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from rankscope.errors import UnfinishedError
from rankscope.store.engine import StoreLocation

START = "import sys; from rankscope.web.background_process import main; sys.exit(main())"
IDLE_S = 120.0
"""A process that has nothing to do for so long is ended."""
ABANDONED_S = 60.0
"""What nobody has asked for again for so long is not computed, and what was computed is not kept for them."""
MOST_WAITING = 100
"""Of more that is asked for, the one that was not asked for the longest goes."""
LOOK_S = 1.0
"""Who waits for a task looks so often whether the server is ending."""
_LENGTH = 8


class Computed(NamedTuple):
    """What came out, the notes on it, and how large it is."""

    value: Any
    notes: tuple[str, ...]
    n_bytes: int


class Computing:
    """Something that is computed, or waits for its turn."""

    def __init__(self, what: str, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.what, self.task, self.arguments = what, task, arguments
        self.since = datetime.now(UTC).isoformat(timespec="seconds")
        self.asked = time.monotonic()
        self.begun = False
        self.result: Future[Computed] = Future()


class StillComputingError(Exception):
    """What a page shows is not there yet: it is being computed, or waits until other things have been."""

    def __init__(self, computing: Computing, n_before: int) -> None:
        super().__init__(f"{computing.what} is being computed")
        self.what, self.since, self.n_before = computing.what, computing.since, n_before
        self._result = computing.result

    def wait(self, seconds: float) -> None:
        """Wait a moment: much is there soon."""
        with suppress(Exception):
            self._result.exception(timeout=seconds)


class Background:
    """Computes tasks on a store: functions of a module, with arguments that can be pickled."""

    def __init__(self, location: StoreLocation, *, read_only: bool, idle_s: float = IDLE_S) -> None:
        self.location, self.read_only, self.idle_s = location, read_only, idle_s
        self._waiting: OrderedDict[Hashable, Computing] = OrderedDict()
        self._changed = threading.Condition()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def result(self, key: Hashable, what: str, task: Callable[..., Any], arguments: tuple[Any, ...]) -> Computed:
        """Return what a task gave, once; until then it is begun and `StillComputingError` raised."""
        with self._changed:
            self._forget_abandoned()
            found = self._waiting.get(key)
            if found is None:
                found = self._waiting[key] = Computing(what, task, arguments)
                self._start_thread()
                self._changed.notify_all()
            found.asked = time.monotonic()
            if found.result.done():
                del self._waiting[key]
                return found.result.result()
            ahead = [one for one in self._waiting.values() if not one.result.done()]
            raise StillComputingError(found, ahead.index(found))

    def finished(self, key: Hashable, what: str, task: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what a task gives, and wait for it."""
        while not self._closed:
            try:
                return self.result(key, what, task, arguments).value
            except StillComputingError as computing:
                computing.wait(LOOK_S)
        raise UnfinishedError(f"{what} could not be computed: the server is ending")

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._process is not None:
            self._process.kill()
        if self._thread is not None:
            self._thread.join()

    def _forget_abandoned(self) -> None:
        now = time.monotonic()
        for key, one in list(self._waiting.items()):
            if (one.result.done() or not one.begun) and now - one.asked > ABANDONED_S:
                del self._waiting[key]
        idle = [key for key, one in self._waiting.items() if not one.begun]
        if len(idle) >= MOST_WAITING:
            del self._waiting[min(idle, key=lambda key: self._waiting[key].asked)]

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="background", daemon=True)
            self._thread.start()

    def _next(self) -> Computing | None:
        """Return what is computed next; None at the end."""
        while True:
            with self._changed:
                self._forget_abandoned()
                for one in self._waiting.values():
                    if not one.begun:
                        one.begun = True
                        return one
                if self._closed:
                    return None
                is_idle = not self._changed.wait(self.idle_s)
            if is_idle:
                self._end_process()

    def _work(self) -> None:
        while not self._closed and (one := self._next()) is not None:
            try:
                state, said, n_bytes = self._ask(one)
            except (OSError, EOFError, pickle.PickleError) as error:
                self._end_process()
                lost = UnfinishedError(
                    f"{one.what} could not be computed: its process has ended",
                    hint="open the page again to start another one; where it ends again, there is too little memory",
                )
                lost.__cause__ = error
                one.result.set_exception(lost)
                continue
            if state == "done":
                value, notes = said
                one.result.set_result(Computed(value, notes, n_bytes))
            else:
                one.result.set_exception(said)
        self._end_process()

    def _ask(self, one: Computing) -> tuple[str, Any, int]:
        if self._process is None or self._process.poll() is not None:
            self._end_process()
            self._process = self._start()
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise EOFError
        send(process.stdin, (one.task, one.arguments))
        answer = receive(process.stdout)
        state, said = pickle.loads(answer)  # noqa: S301 (our own process has written it)
        return state, said, len(answer)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 (the arguments are ours)
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # what ends the server by the keyboard is for the server to hear
        )
        if process.stdin is None:
            raise EOFError
        send(process.stdin, (self.location, self.read_only))  # no argument: others could see a password in it
        return process

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what was written last may not have gone out
                if stream is not None:
                    stream.close()


def send(stream: BinaryIO | Any, message: Any) -> None:
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(_LENGTH, "little") + data)
    stream.flush()


def receive(stream: BinaryIO | Any) -> bytes:
    """Return the next message.

    Raises
    ------
    EOFError
        There is none.
    """
    head = stream.read(_LENGTH)
    data: bytes = stream.read(int.from_bytes(head, "little"))
    if len(head) < _LENGTH or len(data) < int.from_bytes(head, "little"):
        raise EOFError
    return data
