"""What all pages read from: the store, the project where there is one, and results that were computed before."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sa

from rankscope.data.tasks import Task
from rankscope.errors import OptionError, collect_notes, give_warning
from rankscope.experiment.jobs import JobWorker
from rankscope.experiment.live import LiveAsker
from rankscope.experiment.project import Project
from rankscope.experiment.run_files import MANIFEST
from rankscope.judging.settling_state import SettlingState
from rankscope.judging.settling_watch import SettlingWatch
from rankscope.store import Store
from rankscope.store import schema as tables
from rankscope.systems.secrets import Secrets, secrets_in, secrets_of_environment
from rankscope.web.background import Background
from rankscope.web.served_project import ServedProject

Built = TypeVar("Built")
MOST_KEPT = 200
"""Results that are kept; the one that was not asked for the longest goes first."""
MOST_BYTES = 64 << 20
"""Of those that were computed in the background, as they came from there; as objects they take a few times that."""
AT_ONCE = 4_000
"""Scores of single queries that are looked at while a reader waits; more of them are computed in the background."""
WATCHED = ("run", "qrels", "tag", "target_result", "alert", "judgment", "preference", "collection_version")
"""Tables that are only added to: where none of them has grown, no page has changed.

Comparisons are not among them: pages make them, and each depends on nothing but what was compared.
"""


class Library:
    """The store and the project that the pages show; `cached` keeps what took long to compute."""

    def __init__(self, store: Store, project: Project | None = None) -> None:
        self.store = store
        self._served = ServedProject(project)
        self.worker: JobWorker | None = None
        """Runs jobs, where this server does so."""
        self.background: Background | None = None
        """Computes what takes long, where there is a server whose pages must not wait for it."""
        self.settler: Background | None = None
        """Works out how far judging tasks are, on a server where nobody who saves a judgment should feel it."""
        self._bytes: OrderedDict[Hashable, int] = OrderedDict()
        self._kept: OrderedDict[Hashable, tuple[dict[str, int | None] | None, Any]] = OrderedDict()
        self._building: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def project(self) -> Project | None:
        """The project as its file says it now; None where the pages are about a store alone."""
        if self._served.read_again():
            self.__dict__.pop("secrets", None)
            if (asker := self.__dict__.pop("asker", None)) is not None:  # its process has the systems of before
                asker.close()
        return self._served.project

    @property
    def project_problem(self) -> str:
        """Why the project file, which was changed, cannot be read; empty where it can."""
        self._served.read_again()
        return self._served.problem

    @cached_property
    def asker(self) -> LiveAsker:
        """Asks the systems of the project single queries; its process is started with the first one."""
        if self.project is None:
            raise OptionError("there is no project whose systems could be asked", hint="rankscope serve PROJECT")
        return LiveAsker(self.project.file)

    def close(self) -> None:
        """End what runs beside the server, and close the store."""
        if self.worker is not None:
            self.worker.stop()
        if self.background is not None:
            self.background.close()
        if self.settler is not None:
            self.settler.close()
        if "asker" in self.__dict__:
            self.asker.close()
        self.store.close()

    @cached_property
    def settling(self) -> SettlingWatch:
        """Knows how far judging tasks are from a settled answer."""
        settler = self.settler
        if settler is None:
            return SettlingWatch(self.store)

        def beside(task: Task) -> SettlingState:
            found: SettlingState = settler.finished(task.number, f"the standing of {task.name}", settled_now, (task,))
            return found

        return SettlingWatch(self.store, beside=beside)

    @cached_property
    def secrets(self) -> Secrets:
        """Values that no page and no log may show: those in options of systems, and in variables named as secrets."""
        options = (
            [(one.options, one.sweep) for one in self.project.systems.values()] if self.project is not None else []
        )
        of_project, named = secrets_in(*options), secrets_of_environment()
        return Secrets({**named.values, **of_project.values}, named.named | of_project.named)

    def wake_worker(self) -> None:
        """Let a job that was queued just now be taken up at once."""
        if self.worker is not None:
            self.worker.wake()

    def state(self) -> dict[str, int | None]:
        """Return the newest row of each table, so another value as soon as anything was added to the store.

        With a project, when its results were written is part of it: they say what the last run compared with.
        """
        newest = [sa.select(sa.func.max(tables.metadata.tables[name].c.id)).scalar_subquery() for name in WATCHED]
        with self.store.reading() as connection:
            found = dict(zip(WATCHED, connection.execute(sa.select(*newest)).one(), strict=True))
        return {**found, "results": self._results_written()}

    def _results_written(self) -> int | None:
        project = self._served.project
        if project is None:
            return None
        try:
            return (project.output / MANIFEST).stat().st_mtime_ns
        except OSError:  # there are none yet
            return None

    def cached(self, key: Hashable, build: Callable[[], Built], *, lasting: bool = False) -> Built:
        """Return what `build` returns, from before where the store has not changed since.

        `lasting` is for what depends on nothing but its key, whatever is added to the store. Two readers who ask for
        the same at the same time wait for one calculation.
        """
        state = None if lasting else self.state()
        with self._lock:
            turn = self._building.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                found = self._kept.get(key)
            if found is None or found[0] != state:
                with collect_notes() as notes:
                    built = build()
                found = state, (built, tuple(notes))
            with self._lock:
                self._keep(key, found)
        kept: Built
        kept, noted = found[1]
        give_warning(*noted)
        return kept

    def large(self, key: Hashable, task: Callable[..., Built], *arguments: Any, n_scores: int, what: str) -> Built:
        """Return what `task(library, *arguments)` returns, which depends on nothing but its key, from before or now.

        Where it looks at very many scores of queries, it is computed in the background, and `StillComputingError` says
        so until it is there: no reader waits for it, and none sees something else in its place. `task` is a function
        of a module, and what it takes and returns can be pickled. `what` says on pages what is computed.
        """
        if self.background is None or n_scores <= AT_ONCE:
            return self.cached(key, lambda: task(self, *arguments), lasting=True)
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            computed = self.background.result(key, what, task, arguments)
            found = None, (computed.value, computed.notes)
            with self._lock:
                self._bytes[key] = computed.n_bytes
        with self._lock:
            self._keep(key, found)
        kept: Built
        kept, noted = found[1]
        give_warning(*noted)
        return kept

    def _keep(self, key: Hashable, found: tuple[dict[str, int | None] | None, Any]) -> None:
        self._kept[key] = found
        self._kept.move_to_end(key)
        if key in self._bytes:
            self._bytes.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._drop(next(iter(self._kept)))
        while len(self._bytes) > 1 and sum(self._bytes.values()) > MOST_BYTES:
            self._drop(next(iter(self._bytes)))

    def _drop(self, key: Hashable) -> None:
        for kept in (self._kept, self._building, self._bytes):
            kept.pop(key, None)


def settled_now(library: Library, task: Task) -> SettlingState:
    """Return where a task stands; a process beside the server keeps what it has read for the next time."""
    return library.settling.now(task)
