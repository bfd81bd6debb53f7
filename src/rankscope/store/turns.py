"""Writers wait in line: threads of a process, and processes that write to one file, in the order in which they came.

SQLite lets a writer that waits sleep for up to 100 ms, and then try its luck, so that some wait for seconds while
others write again and again. Here whoever is next is woken at once.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import sqlalchemy as sa

from rankscope.errors import InputError

if TYPE_CHECKING:
    from rankscope.store.store import Store

Item = TypeVar("Item")
Answer = TypeVar("Answer")
LARGEST_GROUP = 100
"""How many waiting writes go into one transaction."""


class FairLock:
    """A lock that threads get in the order in which they asked for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_held = False

    def acquire(self, timeout_s: float) -> bool:
        """Wait for the lock; return whether it came in time."""
        with self._guard:
            if not self._is_held:
                self._is_held = True
                return True
            called = threading.Lock()
            called.acquire()
            self._waiting.append(called)
        got = False
        try:
            got = called.acquire(timeout=timeout_s)
        finally:
            if not got:  # too late, or interrupted
                self._leave(called)
        return got

    def _leave(self, called: threading.Lock) -> None:
        with self._guard:
            if called in self._waiting:
                self._waiting.remove(called)
                return
        self.release()  # it was called at the last moment: the next one is

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()  # the lock stays held, by that one
            else:
                self._is_held = False


@contextmanager
def turn_among_processes(folder: Path, timeout_s: float) -> Iterator[None]:
    """Wait until the processes that came before have written to the store in a folder, or for as long as is allowed.

    The kernel keeps the line. It is for order and speed only: what keeps writers apart is the lock of the database, and
    whoever has waited in vain asks that one.
    """
    descriptor, waiting = None, None
    try:
        with suppress(OSError, ImportError):  # no such locks on Windows, and on some file systems
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # such a wait has no end of its own, so another thread waits, which can be left behind
                waiting = threading.Thread(target=wait_for_lock, args=(os.dup(descriptor),), daemon=True)
                waiting.start()
                waiting.join(timeout_s)
        yield
    finally:
        if descriptor is not None:
            if waiting is None or not waiting.is_alive():
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process that was forked meanwhile has the descriptor, too
            os.close(descriptor)


def wait_for_lock(descriptor: int) -> None:
    """Wait for a lock of the kernel, which stays as long as somebody else has the file open, too."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


class WaitingWrite(Generic[Item, Answer]):
    """What a thread wants to be kept, and what became of it."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.answer: Answer | None = None
        self.error: Exception | None = None


class GroupCommit(Generic[Item, Answer]):
    """Keeps what many threads add one by one: whoever comes first in line writes what all of them wait for.

    A disk that takes 2 ms to say that a transaction is safe lets 500 of them through in a second, however many wait.
    `add` returns only after the transaction that an item is in has ended.
    """

    def __init__(self, store: Store, write: Callable[[sa.Connection, Sequence[Item]], Sequence[Answer]]) -> None:
        self.store = store
        self.write = write
        """Writes items, and returns an answer to each; an InputError is about one of them."""
        self._guard = threading.Lock()
        self._waiting: list[WaitingWrite[Item, Answer]] = []

    def add(self, item: Item) -> Answer:
        """Write an item, alone or with those of other threads; return when it is kept."""
        mine = WaitingWrite[Item, Answer](item)
        with self._guard:
            self._waiting.append(mine)
        try:
            with self.store.turn():
                while mine in self._waiting:  # otherwise a thread that came before has written it
                    self._write_group(self._waiting[:LARGEST_GROUP])
        finally:
            self._remove([mine])
        if mine.error is not None:
            raise mine.error
        return cast("Answer", mine.answer)

    def _write_group(self, group: list[WaitingWrite[Item, Answer]]) -> None:
        """Write items in one transaction; where one of them is wrong, each in its own, so that the others are kept."""
        try:
            with self.store.transaction() as connection:
                answers = self.write(connection, [each.item for each in group])
            for each, answer in zip(group, answers, strict=True):
                each.answer = answer
        except InputError as error:
            if len(group) > 1:
                for each in group:
                    self._write_group([each])
                return
            group[0].error = error
        except Exception as error:  # noqa: BLE001 (it is raised again, by whoever waits)
            for each in group:
                each.error = error
        self._remove(group)

    def _remove(self, group: list[WaitingWrite[Item, Answer]]) -> None:
        with self._guard:
            self._waiting = [each for each in self._waiting if each not in group]
