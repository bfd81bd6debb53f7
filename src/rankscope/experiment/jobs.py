"""Jobs of a project: queued in the store, and run one after the other by a worker, each in a process of its own.

A process of its own, so that the page never waits for it (scoring and indexing hold Python's lock for seconds), so that
a system that crashes or takes all memory ends its job and not the server, and so that a query that hangs can be ended
at all. `experiment/job_process.py` is what happens in it. It writes its heartbeat itself: where the server is killed, a
job goes on, and the next server finds it running; where the process is killed, it is taken up again, and asks only what
was not answered before.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rankscope.errors import RankscopeError
from rankscope.experiment.project import Project
from rankscope.experiment.runner import RunOptions, check_run_options
from rankscope.records import to_builtins
from rankscope.store import Store
from rankscope.store.jobs import Job
from rankscope.store_file import VARIABLE
from rankscope.systems.working_directory import working_directory

POLL_S = 1.0
"""How often a worker looks for jobs that others have queued."""
END_S = 15.0
"""How long the process of a job has to end after it was asked to."""
START = "import sys; from rankscope.experiment.job_process import main; sys.exit(main())"
RUNS_PROGRAMS = frozenset({"command", "python", "rerank"})
"""The types of systems that are made of a program or function of somebody's own."""
SENDS_REQUESTS = frozenset({"http", "elasticsearch", "opensearch", "run"})
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def queue_job(store: Store, project: Project, options: RunOptions, *, who: str) -> Job:
    """Queue a run of a project; options that it cannot be run with are refused at once."""
    check_run_options(project, options)
    return store.jobs.add(str(project.file), to_builtins(options), who=who)


def systems_with_code(project: Project, systems: Iterable[str] = ()) -> tuple[str, ...]:
    """Return those of some systems, or of all, that run a program, or code of the project, themselves or in a part."""
    found = []
    for name in systems or project.systems:
        with working_directory(project.folder):
            parts = project.with_parts([name])
        if any(runs_code(project.systems[part].type, project.systems[part].written) for part in parts):
            found.append(name)
    return tuple(found)


def runs_code(kind: str, written: Mapping[str, Any]) -> bool:
    """Tell whether a system of a type runs what somebody wrote: a program, a class, or a function that it names."""
    if kind in RUNS_PROGRAMS or ":" in kind:
        return True
    return kind not in SENDS_REQUESTS and any(_FUNCTION.fullmatch(text) for text in texts_in(written))


def texts_in(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


class JobWorker:
    """Runs the jobs of a project, one at a time, as long as it is started."""

    def __init__(self, store: Store, project: Path, *, poll_s: float = POLL_S, end_s: float = END_S) -> None:
        self.store = store
        self.project = project
        self.poll_s = poll_s
        self.end_s = end_s
        self.name = f"{platform.node() or 'unnamed'}-{os.getpid()}-{secrets.token_hex(3)}"
        self._n_claims = 0
        self._ending = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look for jobs from now on, in a thread of its own, which only waits."""
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look for jobs at once, as one was queued."""
        self._wake.set()

    def stop(self) -> None:
        """End the job that is being run, which the next worker goes on with, and look for no more."""
        self._ending.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._ending.is_set():
            has_run = False
            with suppress(RankscopeError):  # the store is locked, or its disk is full: it is tried again
                has_run = self.run_next()
            if not has_run:
                self._wake.wait(self.poll_s)
                self._wake.clear()

    def run_next(self) -> bool:
        """Take up the job that comes next and run it to its end; tell whether there was one."""
        self._n_claims += 1
        worker = f"{self.name}-{self._n_claims}"  # another name each time: an earlier process of ours is another worker
        job = self.store.jobs.claim(str(self.project), worker=worker)
        if job is None:
            return False
        code, was_ended = self._run_process(job, worker)
        why = "the server has ended" if was_ended else f"its process ended by {end_in_words(code)}"
        self.store.jobs.release(job.number, worker=worker, why=why, is_lost=not was_ended)
        return True

    def _run_process(self, job: Job, worker: str) -> tuple[int, bool]:
        """Run a job in a process of its own; return how that ended, and whether we have ended it."""
        location = self.store.location
        where = location.url if location.path is None else str(location.path)
        process = subprocess.Popen(  # noqa: S603 (the arguments are ours)
            [sys.executable, "-P", "-c", START, str(job.number), worker],
            # not as an argument, which others can see: it may hold a password; idle BLAS threads would only spin
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ, VARIABLE: where},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the server, which ends the job in its own way
        )
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(0.2), False
            if self._ending.is_set():
                process.terminate()
                try:
                    return process.wait(self.end_s), True
                except subprocess.TimeoutExpired:
                    process.kill()
                    return process.wait(), True


def end_in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
