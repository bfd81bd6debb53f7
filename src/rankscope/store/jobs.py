"""Jobs: runs of a project that were asked for, by whom, how far they are, and what came out.

The row of a job is its state, which changes; what happened to it is in its events, which are only added. Whatever
takes a job up is a worker. It writes a heartbeat while it lives, and every change of a job names the worker that makes
it: one that has lost its job to another, as its heartbeat had stopped, changes nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from rankscope.errors import InputError, OptionError, UnknownNameError
from rankscope.records import Record, from_builtins, to_builtins
from rankscope.store.schema import job, job_event

if TYPE_CHECKING:
    from rankscope.store.store import Store

JobState = Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
ACTIVE = ("running", "cancelling")
"""The states in which a worker has the job."""
ENDED = ("done", "failed", "cancelled")
STALE_S = 60
"""A job whose heartbeat is older than this has lost its worker, and is taken up again."""
MOST_ATTEMPTS = 3
"""A job whose worker was lost this often has failed: what ends one may end all of them."""


class JobStep(Record):
    """A part of a job, such as one system that answers the queries of a collection."""

    what: str
    done: int
    total: int | None
    """None where it is not known."""


class JobProgress(Record):
    """How far a job is."""

    done: int = 0
    """How many systems have been asked everything, on all collections."""
    total: int = 0
    steps: tuple[JobStep, ...] = ()
    """What was done so far, and what is being done, the newest last."""
    has_forgotten: bool = False
    """Whether the earlier answers that a job does without are thrown away; that is done once, and not when it is taken
    up again."""


class JobResult(Record):
    """What came out of a job."""

    runs: tuple[int, ...]
    """The numbers of its stored runs."""
    comparisons: tuple[int, ...]
    """The numbers of its stored comparisons."""
    n_failed: int = 0
    """How many queries were not answered; resuming asks for these only."""
    left_out: tuple[str, ...] = ()
    """The systems that could not be measured, each with its reason."""
    manifest: str = ""
    """The file that says what was run."""


class Job(Record, kw_only=True):
    """A run of a project that was asked for."""

    number: int
    project: str
    """The project file."""
    options: dict[str, Any]
    """How it is to be run: the fields of `RunOptions`."""
    who: str
    """Who has asked for it."""
    state: JobState
    progress: JobProgress
    attempts: int
    """How often it was taken up since it was queued."""
    worker: str
    """Who has it; empty where nobody has."""
    created: str
    started: str | None
    """When it was taken up last."""
    heartbeat: str | None
    finished: str | None
    result: JobResult | None
    failure: str
    """Why it failed, in words."""

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


class JobEvent(Record):
    """Something that happened to a job."""

    sequence: int
    """Counted from 1 for each job."""
    text: str
    at: str


class JobTable:
    """The jobs of a store, as `store.jobs`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # What is asked

    def add(self, project: str, options: Mapping[str, Any], *, who: str) -> Job:
        """Queue a job."""
        with self.store.writing() as connection:
            now = self.store.clock()
            row = {
                "project": project,
                "options": dict(options),
                "who": who,
                "state": "queued",
                "progress": to_builtins(JobProgress()),
                "attempts": 0,
                "worker": "",
                "created": now,
                "failure": "",
            }
            connection.execute(sa.insert(job), row)
            number = int(connection.execute(sa.select(sa.func.max(job.c.id))).scalar_one())
            add_events(connection, number, [f"asked for by {who}"], now)
            return get_job(connection, number)

    def get(self, number: int) -> Job:
        with self.store.reading() as connection:
            return get_job(connection, number)

    def list(self, *, project: str | None = None, limit: int = 100) -> tuple[Job, ...]:
        """Return jobs, the newest first."""
        wanted = sa.select(job).order_by(job.c.id.desc()).limit(limit)
        if project is not None:
            wanted = wanted.where(job.c.project == project)
        with self.store.reading() as connection:
            return tuple(map(stored_job, connection.execute(wanted)))

    def queue(self, project: str) -> tuple[int, ...]:
        """Return the numbers of the jobs that wait, in the order in which they will be taken up."""
        waiting = sa.select(job.c.id).where(job.c.project == project, job.c.state == "queued").order_by(job.c.id)
        with self.store.reading() as connection:
            return tuple(connection.execute(waiting).scalars())

    def events(self, number: int, *, after: int = 0) -> tuple[JobEvent, ...]:
        """Return what happened to a job, in order; `after` leaves out what is known already."""
        wanted = sa.select(job_event.c.sequence, job_event.c.text, job_event.c.stored)
        wanted = wanted.where(job_event.c.job_id == number, job_event.c.sequence > after)
        with self.store.reading() as connection:
            return tuple(JobEvent(*row) for row in connection.execute(wanted.order_by(job_event.c.sequence)))

    def cancel(self, number: int, *, who: str) -> Job:
        """Cancel a job: at once where it waits, else as soon as its worker notices."""
        with self.store.writing() as connection:
            found = get_job(connection, number)
            if found.has_ended:
                raise OptionError(f"job {number} cannot be cancelled, as it is {found.state}")
            now = self.store.clock()
            is_queued = found.state == "queued"
            values = {"state": "cancelled", "finished": now} if is_queued else {"state": "cancelling"}
            if found.state != "cancelling":
                connection.execute(sa.update(job).where(job.c.id == number).values(values))
                add_events(connection, number, [f"cancelled by {who}"], now)
            return get_job(connection, number)

    def resume(self, number: int, *, who: str) -> Job:
        """Queue a job again that failed, was cancelled, or has queries that were not answered."""
        with self.store.writing() as connection:
            found = get_job(connection, number)
            is_incomplete = found.result is not None and bool(found.result.n_failed or found.result.left_out)
            if not found.has_ended or (found.state == "done" and not is_incomplete):
                raise OptionError(f"job {number} cannot be resumed, as it is {found.state}")
            values = {"state": "queued", "attempts": 0, "finished": None, "failure": "", "result": None}
            connection.execute(sa.update(job).where(job.c.id == number).values(values))
            add_events(connection, number, [f"resumed by {who}"], self.store.clock())
            return get_job(connection, number)

    # What workers do

    def claim(self, project: str, *, worker: str) -> Job | None:
        """Take up the job of a project that comes next; None where there is none, or where one is being run.

        A job whose worker has written no heartbeat for a minute comes first. Whoever writes to a store is alone, so two
        workers never claim the same job.
        """
        with self.store.writing() as connection:
            now = self.store.clock()
            of_project = sa.select(job).where(job.c.project == project)
            running = connection.execute(of_project.where(job.c.state.in_(ACTIVE)).order_by(job.c.id)).all()
            for lost in map(stored_job, running):
                if not is_stale(lost.heartbeat, now):
                    return None
                give_back(connection, lost, "its worker has stopped", now)
            waiting = of_project.where(job.c.state == "queued")
            # one that was taken up before goes on first
            row = connection.execute(waiting.order_by(job.c.attempts.desc(), job.c.id).limit(1)).first()
            if row is None:
                return None
            values = {
                "state": "running",
                "worker": worker,
                "attempts": row.attempts + 1,
                "started": now,
                "heartbeat": now,
            }
            connection.execute(sa.update(job).where(job.c.id == row.id).values(values))
            add_events(connection, row.id, [f"taken up by {worker}"], now)
            return get_job(connection, row.id)

    def beat(
        self, number: int, *, worker: str, progress: JobProgress | None = None, events: Iterable[str] = ()
    ) -> JobState | None:
        """Say that a worker lives, and how far it is; return the state of its job, None where it has lost it."""
        with self.store.writing() as connection:
            now = self.store.clock()
            values: dict[str, Any] = {"heartbeat": now}
            if progress is not None:
                values["progress"] = to_builtins(progress)
            if not self._change(connection, number, worker, values):
                return None
            add_events(connection, number, events, now)
            return get_job(connection, number).state

    def finish(self, number: int, *, worker: str, result: JobResult, events: Iterable[str] = ()) -> bool:
        """Keep what came out of a job; False where the worker has lost it."""
        return self._end(number, worker, "done", [*events, "done"], result=to_builtins(result))

    def fail(self, number: int, *, worker: str, why: str) -> bool:
        return self._end(number, worker, "failed", [f"failed: {why}"], failure=why)

    def stop(self, number: int, *, worker: str) -> bool:
        """Say that a worker has stopped, as it was asked to cancel its job."""
        return self._end(number, worker, "cancelled", ["stopped; what was answered is kept"])

    def _end(self, number: int, worker: str, state: JobState, events: Iterable[str], **values: Any) -> bool:
        with self.store.writing() as connection:
            now = self.store.clock()
            ended = {"state": state, "finished": now, "heartbeat": now, "worker": "", **values}
            has_changed = self._change(connection, number, worker, ended)
            if has_changed:
                add_events(connection, number, events, now)
            return has_changed

    def release(self, number: int, *, worker: str, why: str, is_lost: bool) -> Job:
        """Give a job back to the queue that its worker does not go on with; nothing where another one has it.

        A worker that was lost counts: after some attempts the job has failed. One that ends as its server does so,
        does not.
        """
        with self.store.writing() as connection:
            found = get_job(connection, number)
            if found.worker == worker and found.state in ACTIVE:
                give_back(connection, found, why, self.store.clock(), counts=is_lost)
            return get_job(connection, number)

    def _change(self, connection: sa.Connection, number: int, worker: str, values: Mapping[str, Any]) -> bool:
        """Change a job that a worker has; tell whether it still has it."""
        own = (job.c.id == number) & (job.c.worker == worker) & job.c.state.in_(ACTIVE)
        return connection.execute(sa.update(job).where(own).values(**values)).rowcount == 1


def is_stale(heartbeat: str | None, now: str) -> bool:
    if heartbeat is None:
        return True
    return datetime.fromisoformat(now) - datetime.fromisoformat(heartbeat) > timedelta(seconds=STALE_S)


def give_back(connection: sa.Connection, found: Job, why: str, now: str, *, counts: bool = True) -> None:
    """Let a job without a worker wait again, or end where it was to be cancelled, or was lost too often."""
    values: dict[str, Any] = {"worker": "", "state": "queued"}
    if not counts:
        values["attempts"] = found.attempts - 1
    if found.state == "cancelling":
        values |= {"state": "cancelled", "finished": now}
    elif counts and found.attempts >= MOST_ATTEMPTS:
        failure = f"{why}, and that {found.attempts} times in a row; what was answered is kept"
        values |= {"state": "failed", "finished": now, "failure": failure}
    connection.execute(sa.update(job).where(job.c.id == found.number).values(**values))
    add_events(connection, found.number, [why], now)


def add_events(connection: sa.Connection, number: int, texts: Iterable[str], now: str) -> None:
    last = sa.select(sa.func.max(job_event.c.sequence)).where(job_event.c.job_id == number)
    first = (connection.execute(last).scalar_one_or_none() or 0) + 1
    rows = [
        {"job_id": number, "sequence": sequence, "text": text, "stored": now}
        for sequence, text in enumerate(texts, first)
    ]
    if rows:
        connection.execute(sa.insert(job_event), rows)


def get_job(connection: sa.Connection, number: int) -> Job:
    row = connection.execute(sa.select(job).where(job.c.id == number)).first()
    if row is None:
        raise UnknownNameError(f"there is no job {number}", hint="the page /jobs lists them")
    return stored_job(row)


def stored_job(row: sa.Row[Any]) -> Job:
    values = {str(column.name): getattr(row, column.name) for column in job.c if column is not job.c.id}
    try:
        return from_builtins(Job, {"number": row.id, **values})
    except OptionError as error:
        raise InputError(f"the store is damaged: job {row.id} cannot be read ({error.message})") from error
