"""A job: one function on many inputs, the finished ones kept, whatever happens to workers, network or this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from rankscope.errors import RankscopeError, UnfinishedError
from rankscope.executors.kept import Kept
from rankscope.executors.tasks import InThisProcess, TaskExecutor, TaskFailure, outcome
from rankscope.executors.workers import WorkerVersions, check_versions, check_workers, own_versions
from rankscope.progress import JobState, WatchJob, ignore_job
from rankscope.records import Record

TASKS_PER_WORKER = 64
"""Where there are more inputs, several are sent at a time."""
MOST_IN_A_BATCH = 100
SHOWN_FAILURES = 5
WRITERS = 8
"""So many results are written at the same time."""


class TaskJob(Record, eq=False):
    """What is to be done, and what is known of it by others than whoever does it."""

    function: Callable[[Any], Any]
    """Takes an input; can be pickled."""
    inputs: Sequence[Any]
    keys: Sequence[str] | None = None
    """Digests of all that a result depends on, one for each input; needed where results are kept."""
    encode: Callable[[Any], bytes | None] | None = None
    """Returns a result as bytes that are kept; None where it is not to be kept."""
    decode: Callable[[bytes], Any] | None = None
    """Returns the result that bytes hold; None where they hold none, and the work is to be done again."""
    name_of: Callable[[Any], str] = str
    """Returns what an input is called in errors."""
    sizes: Sequence[int] | None = None
    """How much work each input is, such as its rows; small ones are sent together."""
    batch_size: int = 1_000_000
    """How much of that is sent together."""
    rows_of: Callable[[Any], int] | None = None
    """Returns how many rows a result stands for, by which the speed is said."""
    can_read: Callable[[], object] | None = None
    """Is called on every worker before any work is done; raises where a worker does not see the files."""
    noun: str = "input"
    """What an input is called."""


def run_kept(
    executor: TaskExecutor,
    job: TaskJob,
    on_done: Callable[[int, Any], object],
    *,
    kept: Kept | None = None,
    progress: WatchJob = ignore_job,
    on_failed: Callable[[int, TaskFailure], object] | None = None,
    retries: int = 2,
) -> None:
    """Hand the result of every input to `on_done`, with the position of the input, in whatever order they come.

    What was kept is not done again. An error of what was given ends the job at once. Where workers were lost or files
    could not be read, the input is tried again; if that does not help, the others are finished first where results are
    kept, and then `UnfinishedError` says which ones are missing. With `on_failed`, that is called instead with the
    position of what could not be done, and the job goes on.
    """
    tally = _Tally(job, on_done, kept, progress, on_failed)
    missing = tally.take_kept()
    if not missing:
        return
    if not isinstance(executor, InThisProcess):
        check_workers(executor, job.can_read)
    batches = list(batches_of(missing, executor.n_workers, job))
    for attempt in range(retries + 1):
        batches = list(_run_batches(executor, tally, batches, retries=retries, is_last=attempt == retries))
        if not batches:
            break
        if not isinstance(executor, InThisProcess):
            time.sleep(0.1 * attempt)  # what failed for want of a connection may be there again
    tally.raise_failures()


def batches_of(positions: Sequence[int], n_workers: int, job: TaskJob) -> Iterator[list[int]]:
    """Yield the positions of inputs that are sent together, so that sending does not take longer than working."""
    if job.sizes is None:
        most = min(MOST_IN_A_BATCH, math.ceil(len(positions) / (TASKS_PER_WORKER * n_workers)))
        yield from ([*positions[i : i + most]] for i in range(0, len(positions), most))
        return
    fair = math.ceil(sum(job.sizes[position] for position in positions) / (4 * n_workers))  # all have something to do
    batch: list[int] = []
    size = 0
    for position in positions:
        if batch and (size + job.sizes[position] > min(job.batch_size, fair) or len(batch) == MOST_IN_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(position)
        size += job.sizes[position]
    yield batch


def _work(
    function: Callable[[Any], Any], versions: WorkerVersions, batch: Sequence[tuple[int, Any]]
) -> list[tuple[int, Any]]:
    """Return the results of several inputs, or why there is none; one that fails does not take others with it."""
    check_versions(versions)
    return [(position, outcome(function, position, given)) for position, given in batch]


def _run_batches(
    executor: TaskExecutor, tally: _Tally, batches: Sequence[Sequence[int]], *, retries: int, is_last: bool
) -> Iterator[list[int]]:
    """Do the work, and yield what has to be tried again, each on its own."""
    job = tally.job
    if isinstance(executor, InThisProcess):  # errors keep their tracebacks, and results are kept one by one
        batches = [[position] for batch in batches for position in batch]
        found = executor.run(job.function, [job.inputs[position] for (position,) in batches])
    else:
        sent = [[(position, job.inputs[position]) for position in batch] for batch in batches]
        found = executor.run(partial(_work, job.function, own_versions()), sent, retries=retries)
    try:
        for number, answer in found:
            batch = batches[number]
            if isinstance(answer, TaskFailure) and len(batch) > 1:
                yield from ([position] for position in batch)
                continue
            is_alone = isinstance(answer, TaskFailure) or isinstance(executor, InThisProcess)
            results = [(batch[0], answer)] if is_alone else answer
            tally.keep([(position, result) for position, result in results if not isinstance(result, TaskFailure)])
            for position, result in results:
                if not isinstance(result, TaskFailure):
                    tally.take(position, result)
                elif result.is_final or is_last:
                    tally.fail(position, result)
                else:
                    yield [position]
    finally:
        getattr(found, "close", int)()  # whatever is still worked on is given up now, not when memory is tidied up


class _Tally:
    """What is done of a job."""

    def __init__(
        self,
        job: TaskJob,
        on_done: Callable[[int, Any], object],
        kept: Kept | None,
        progress: WatchJob,
        on_failed: Callable[[int, TaskFailure], object] | None,
    ) -> None:
        self.job, self.on_done, self.kept, self.progress, self.on_failed = job, on_done, kept, progress, on_failed
        self.started = time.monotonic()
        self.n_kept = self.n_done = self.n_rows = 0
        self.failures: list[TaskFailure] = []

    def take_kept(self) -> list[int]:
        """Hand over what was kept, and return the positions of what is missing."""
        job, missing = self.job, []
        for position in range(len(job.inputs)):
            result = None
            if self.kept is not None and job.keys is not None and job.decode is not None:
                payload = self.kept.load(job.keys[position])
                result = None if payload is None else job.decode(payload)
            if result is None:
                missing.append(position)
                continue
            self.on_done(position, result)
            self.n_kept += 1
        self.started = time.monotonic()
        self.say()
        return missing

    def keep(self, results: Sequence[tuple[int, Any]]) -> None:
        """Write results into the folder, several at a time: a disk takes as long for a few as for one."""
        job, kept = self.job, self.kept
        if kept is None or job.keys is None or job.encode is None:
            return
        encoded = ((job.keys[position], job.encode(result)) for position, result in results)
        payloads = [(key, payload) for key, payload in encoded if payload is not None]
        if len(payloads) < 2:
            for each in payloads:
                kept.store(*each)
            return
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(lambda each: kept.store(*each), payloads))

    def take(self, position: int, result: Any) -> None:
        """Hand a result over, and say so."""
        job = self.job
        self.on_done(position, result)
        self.n_done += 1
        self.n_rows += 0 if job.rows_of is None else job.rows_of(result)
        self.say()

    def say(self) -> None:
        total, seconds = len(self.job.inputs), time.monotonic() - self.started
        self.progress(JobState(self.n_kept + self.n_done, total, self.n_kept, self.n_rows, seconds, self.job.noun))

    def fail(self, position: int, failure: TaskFailure) -> None:
        """Note what has failed for good; what was given is wrong, or nothing is kept: the job ends here."""
        numbered = TaskFailure(position, failure.error, failure.kind, is_final=failure.is_final)
        if failure.kind == "raised" and failure.is_final:
            raise failure.error
        if self.on_failed is not None:
            self.on_failed(position, numbered)
            self.n_done += 1
            self.say()
            return
        self.failures.append(numbered)
        if self.kept is None:
            self.raise_failures()

    def raise_failures(self) -> None:
        """Say which inputs have no result, if any."""
        n_missing = len(self.job.inputs) - self.n_kept - self.n_done
        if not self.failures and n_missing:
            raise UnfinishedError(f"the executor has returned nothing for {n_missing:,} inputs", hint="run it again")
        if not self.failures:
            return
        n, noun = len(self.failures), self.job.noun
        self.failures.sort(key=lambda failure: failure.position)  # they come in any order
        listed = [
            f"  {self.job.name_of(self.job.inputs[failure.position])}: {failure.error.message}"
            for failure in self.failures[:SHOWN_FAILURES]
        ]
        listed += [f"  and {n - SHOWN_FAILURES} more"] * (n > SHOWN_FAILURES)
        hints = dict.fromkeys(failure.error.hint for failure in self.failures if failure.error.hint)
        rest = "what is done is kept: run again to go on" if self.kept else "keep=FOLDER keeps what is done"
        many = f"1 {noun}" if n == 1 else f"{n:,} {noun}s"
        raise JobFailedError(
            "\n".join([f"{many} of {len(self.job.inputs):,} could not be done:", *listed]),
            hint="; ".join([*hints, rest]),
            failures=self.failures,
        )


class JobFailedError(UnfinishedError):
    """Some inputs of a job have no result, although each was tried several times."""

    def __init__(self, message: str, *, hint: str = "", failures: Sequence[TaskFailure] = ()) -> None:
        super().__init__(message, hint=hint)
        self.failures = tuple(failures)

    @property
    def causes(self) -> tuple[RankscopeError, ...]:
        """The errors of the inputs, in the order of the inputs."""
        return tuple(failure.error for failure in self.failures)
