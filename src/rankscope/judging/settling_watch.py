"""Where the tasks of a store stand, kept for a server whose raters do not wait for it."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from rankscope.data.tasks import Task
from rankscope.errors import RankscopeError
from rankscope.judging.settling import TaskSettling
from rankscope.judging.settling_state import SettlingState
from rankscope.records import to_json

if TYPE_CHECKING:
    from rankscope.store.store import Store

REST = 4
"""So many times longer than it works a server rests before it looks again."""
KEPT_TASKS = 8
"""Of so many tasks the runs are kept in memory."""


class SettlingWatch:
    """Where the tasks of a store stand, for a server: nobody who saves a judgment waits for it.

    `latest` returns the newest answer at once, and lets a thread of its own work out a newer one. Of a task there is
    one at a time, and where judgments come faster than answers, it rests longer than it works. `beside` returns where
    a task stands from another process, so that the threads of this one have their time for saves.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.monotonic,
        beside: Callable[[Task], SettlingState] | None = None,
    ) -> None:
        self.store, self.clock, self.beside = store, clock, beside
        self._tasks: OrderedDict[tuple[int, str], TaskSettling] = OrderedDict()
        self._states: dict[tuple[int, str], SettlingState] = {}
        self._not_before: dict[int, float] = {}
        self._lock = threading.Lock()

    def latest(self, task: Task) -> SettlingState | None:
        """Return the newest answer there is, None before the first."""
        with self._lock:
            known = self._states.get(key_of(task))
            starts = self.clock() >= self._not_before.get(task.number, 0.0)
            if starts:
                self._not_before[task.number] = math.inf
        if starts:
            threading.Thread(target=self._work, args=(task,), daemon=True, name=f"settling {task.number}").start()
        return known

    def is_newest(self, task: Task, state: SettlingState | None) -> bool:
        """Tell whether an answer knows the newest judgment."""
        return state is not None and state.last_judgment >= self.store.judgments.newest(str(task.number))

    def now(self, task: Task) -> SettlingState:
        """Return where a task stands by its newest judgment, and wait for it."""
        key = key_of(task)
        with self._lock:
            state = self._states.get(key)
        if not self.is_newest(task, state):
            state = self._here(task) if self.beside is None else self.beside(task)
            with self._lock:
                self._states.pop(key, None)
                self._states[key] = state
                while len(self._states) > KEPT_TASKS:
                    del self._states[next(iter(self._states))]
        return cast("SettlingState", state)

    def _here(self, task: Task) -> SettlingState:
        with self._lock:
            known = self._tasks.get(key_of(task))
        known = known or TaskSettling(self.store, task)
        state = known.state()
        with self._lock:
            self._tasks[key_of(task)] = known
            self._tasks.move_to_end(key_of(task))
            while len(self._tasks) > KEPT_TASKS:
                self._tasks.popitem(last=False)
        return state

    def _work(self, task: Task) -> None:
        started = self.clock()
        try:
            self.now(task)
        except RankscopeError:
            pass  # `now` raises it again for whoever asks
        finally:
            with self._lock:
                self._not_before[task.number] = self.clock() + REST * (self.clock() - started)


def key_of(task: Task) -> tuple[int, str]:
    """Return what stands for a task as it is planned: another plan has other docs."""
    return task.number, to_json(task.plan, indent=None)
