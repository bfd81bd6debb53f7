"""The process of one job: runs the project, says how far it is, ends when it has to, and keeps what came out.

A thread writes heartbeat and progress once a second, and sees there whether the job was cancelled or lost. Then the run
ends between two queries; where a query takes too long for that, it is interrupted as by Ctrl-C, which also ends the
programs of systems; where even that does nothing, the process ends. Answers are in the journal in any case.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Literal

from rankscope.errors import RankscopeError, UnfinishedError
from rankscope.experiment.keep import KeptCollection, keep_benchmark
from rankscope.experiment.project import Project, load_project
from rankscope.experiment.results import Benchmark
from rankscope.experiment.run_files import MANIFEST
from rankscope.experiment.runner import SYSTEMS_STEP, RunOptions, forget_answers, run_project, select_names
from rankscope.experiment.session import CancelledRunError
from rankscope.experiment.targets import check_project
from rankscope.printable import counted, printable
from rankscope.records import from_builtins, replace
from rankscope.store import Store, open_store
from rankscope.store.jobs import Job, JobResult, JobStep
from rankscope.systems.answers import reason_of
from rankscope.systems.secrets import Secrets
from rankscope.systems.working_directory import process_of

BEAT_S = 1.0
INTERRUPT_S = 3.0
"""How long a query may go on after its job was to end."""
EXIT_S = 10.0
"""How long a system may take to clean up after it was interrupted."""
MOST_STEPS = 40
MOST_NOTES = 200
"""So many notes of a job are kept; a system that fails says so once, so these are many."""

StopReason = Literal["cancelled", "lost", "server"]


class JobProcess:
    """A job that is run by this process, which is the worker that has claimed it."""

    def __init__(self, store: Store, job: Job, *, worker: str) -> None:
        self.store = store
        self.job = job
        self.worker = worker
        self.secrets = Secrets()
        self.reason: StopReason | None = None
        """Why it is to stop."""
        self._progress = job.progress
        self._steps: dict[str, JobStep] = {}
        self._n_done: dict[str, int] = {}
        """How many systems have answered, by collection."""
        self._notes: list[str] = []
        self._n_notes = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def run(self) -> None:
        """Run the job and keep how it ended; nothing is kept where it was lost to another worker."""
        beating = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)
        beating.start()
        number, worker = self.job.number, self.worker
        try:
            result = self._run_project()
            self._ended.set()
            self._beat()  # a quick job ends before its first heartbeat, and has done all the same
            self.store.jobs.finish(number, worker=worker, result=result, events=self._taken_notes())
        except (CancelledRunError, KeyboardInterrupt):
            self._ended.set()
            self._keep_stop()
        except BaseException as error:  # noqa: BLE001 (a system may be anybody's code)
            self._ended.set()
            if not isinstance(error, RankscopeError):
                traceback.print_exc()
            with suppress(RankscopeError):
                self.store.jobs.beat(number, worker=worker, events=self._taken_notes())
            self.store.jobs.fail(number, worker=worker, why=self._in_words(error))

    def _run_project(self) -> JobResult:
        project = load_project(self.job.project)
        self.secrets = project.secrets
        asked = from_builtins(RunOptions, self.job.options)
        options = replace(asked, fresh=False, command=asked.command or f"job {self.job.number} of {self.job.who}")
        systems = select_names(options.only, project.systems, "system", project)
        collections = select_names(options.collections, project.collections, "collection", project)
        self._progress = replace(self._progress, done=0, total=len(systems) * len(collections))
        with process_of(project.folder):
            if asked.fresh and not self._progress.has_forgotten:
                forget_answers(project, asked)
                self._progress = replace(self._progress, has_forgotten=True)
                self._beat()
            benchmark = run_project(
                project, options, on_progress=self._on_progress, on_note=self._on_note, should_stop=self._should_stop
            )
        return self._keep(project, benchmark)

    def _keep(self, project: Project, benchmark: Benchmark) -> JobResult:
        kept = keep_benchmark(self.store, project, benchmark)
        runs = tuple(run.number for each in kept for run in each.runs)
        left_out = tuple(map(printable, left_out_in_words(benchmark)))
        if runs:
            self._check_targets(project, kept)
        if not runs:
            raise UnfinishedError(f"no system could be measured: {'; '.join(left_out) or 'all queries have failed'}")
        return JobResult(
            runs=runs,
            comparisons=tuple(each.comparison.number for each in kept if each.comparison is not None),
            n_failed=benchmark.n_failed,
            left_out=left_out,
            manifest=os.path.relpath(project.output / MANIFEST, project.folder),
        )

    def _check_targets(self, project: Project, kept: Sequence[KeptCollection]) -> None:
        """Check the project's targets on what was run; what cannot be checked is said, and ends no job."""
        if not project.targets and project.target_file is None:
            return
        systems = tuple(dict.fromkeys(run.system for each in kept for run in each.runs))
        collections = tuple(dict.fromkeys(run.collection for each in kept for run in each.runs))
        try:
            report = check_project(project, only=systems, collections=collections, store=self.store)
        except RankscopeError as error:
            self._on_note(f"The targets were not checked: {error.message}.")
            return
        n = report.counts.failed
        fails = f"{n} {'fails' if n == 1 else 'fail'}" if n else "none fails"
        self._on_note(f"{counted(len(report.results), 'check')} of targets on these runs: {fails}.")

    # How far it is

    def _on_progress(self, what: str, done: int, total: int | None, /) -> None:
        collection, _, step = what.rpartition(" · ")
        with self._lock:
            if step == SYSTEMS_STEP:
                self._n_done[collection] = done
            else:
                self._steps[what] = JobStep(printable(what), done, total)
            steps = tuple(self._steps.values())[-MOST_STEPS:]
            self._progress = replace(self._progress, done=sum(self._n_done.values()), steps=steps)

    def _on_note(self, note: str) -> None:
        with self._lock:
            self._n_notes += 1
            if self._n_notes <= MOST_NOTES:
                self._notes.append(printable(note))

    def _should_stop(self) -> bool:
        return self.reason is not None

    def _taken_notes(self) -> list[str]:
        with self._lock:
            notes, self._notes = self._notes, []
            return notes

    # Heartbeat, and what it brings back

    def _beat(self) -> None:
        notes = self._taken_notes()
        try:
            state = self.store.jobs.beat(self.job.number, worker=self.worker, progress=self._progress, events=notes)
        except RankscopeError:  # it is locked, or its disk is full: it is tried again
            with self._lock:
                self._notes = notes + self._notes
            return
        if state is None:
            self.reason = "lost"
        elif state == "cancelling":
            self.reason = "cancelled"

    def _beat_on(self) -> None:
        """Say that the job is alive until it has ended, and end it where it does not do so by itself."""
        stops_at: float | None = None
        is_interrupted = False
        while not self._ended.wait(BEAT_S if self.reason is None else BEAT_S / 5):
            self._beat()
            if self.reason is None:
                continue
            now = time.monotonic()
            stops_at = now if stops_at is None else stops_at
            if now - stops_at > INTERRUPT_S + EXIT_S:
                with suppress(RankscopeError):
                    self._keep_stop()
                os._exit(0)
            elif now - stops_at > INTERRUPT_S and not is_interrupted and not self._ended.is_set():
                is_interrupted = True
                interrupt_main()

    def end_with_server(self, _signal: int, _frame: FrameType | None) -> None:
        self.reason = self.reason or "server"

    def _keep_stop(self) -> None:
        number, worker = self.job.number, self.worker
        if self.reason == "cancelled":
            self.store.jobs.stop(number, worker=worker)
        elif self.reason == "server":
            self.store.jobs.release(number, worker=worker, why="the server has ended", is_lost=False)
        elif self.reason is None:
            self.store.jobs.fail(number, worker=worker, why="it was interrupted; what was answered is kept")

    def _in_words(self, error: BaseException) -> str:
        if isinstance(error, RankscopeError):
            said = f"{error.message}. {error.hint}" if error.hint else error.message
        else:
            said = reason_of(error)
        return printable(self.secrets.hide(said))


def left_out_in_words(benchmark: Benchmark) -> list[str]:
    found = []
    for result in benchmark.collections:
        for system in result.systems:
            if system.found_nothing:
                found.append(f"{system.name} on {result.name}: it has retrieved nothing at all")
            elif system.is_left_out and system.finding is not None:
                found.append(f"{system.name} on {result.name}: {system.finding.message}")
    return found


def interrupt_main() -> None:
    """Do to the main thread what Ctrl-C does, also while it waits for the system."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def main() -> int:
    """Run the job whose number, and whose worker, are the arguments; the store is the one of the environment."""
    number, worker = int(sys.argv[1]), sys.argv[2]
    with open_store() as store:
        process = JobProcess(store, store.jobs.get(number), worker=worker)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background ignores it
        signal.signal(signal.SIGTERM, process.end_with_server)
        process.run()
    return 0
