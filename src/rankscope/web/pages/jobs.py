"""Runs that were started from the page: what waits, what is being run, what came out, and a form to start one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from rankscope.errors import OptionError
from rankscope.experiment.jobs import queue_job, systems_with_code
from rankscope.experiment.project import Project
from rankscope.experiment.runner import RunOptions, select_names
from rankscope.printable import counted, without_paths
from rankscope.records import Options, Record, from_builtins, replace
from rankscope.report.document import Mark
from rankscope.store.jobs import ACTIVE, Job, JobEvent, JobState, JobStep
from rankscope.web.address import address
from rankscope.web.library import Library
from rankscope.web.security import Identity

MARKS: dict[JobState, Mark] = {
    "queued": "note",
    "running": "unsure",
    "cancelling": "look",
    "done": "fine",
    "failed": "fails",
    "cancelled": "look",
}
SHOWN_JOBS = 50


class JobsOptions(Options):
    """Which jobs are shown."""

    state: JobState | None = None
    """Only those in this state."""


class StartableSystem(Record):
    """A system that a job can be started with."""

    name: str
    type: str
    needs_owner: bool
    """It runs a program, or code of the project, which only owners may start."""


class JobLine(Record, kw_only=True):
    """A job in short."""

    number: int
    state: JobState
    mark: Mark
    words: str
    """What is so, in a sentence."""
    what: str
    """Which systems on which collections."""
    who: str
    created: str
    finished: str | None
    share: float | None
    """How much of it is done, from 0 to 1; None where it has not begun."""
    n_before: int | None
    """How many jobs wait before it, where it waits."""
    can_cancel: bool
    can_resume: bool
    needs_owner: bool


class JobsPage(Record, kw_only=True):
    """What stands on the page of the jobs."""

    answer: str
    project: str | None
    """The name of the project file; None where the page is about a store alone, and nothing can be started."""
    problem: str
    """Why the project file, which was changed, cannot be read; empty where it can."""
    systems: tuple[StartableSystem, ...]
    collections: tuple[str, ...]
    depth: int | None
    jobs: tuple[JobLine, ...]


def jobs_page(library: Library, asked: JobsOptions) -> JobsPage:
    """Show the runs that were started from the page, the newest first, and what can be started."""
    project = library.project
    jobs = () if project is None else library.store.jobs.list(project=str(project.file), limit=SHOWN_JOBS)
    queue = () if project is None else library.store.jobs.queue(str(project.file))
    with_code = () if project is None else systems_with_code(project)
    lines = tuple(line_of(job, queue, project) for job in jobs)
    return JobsPage(
        answer=answer_of(jobs),
        project=None if project is None else project.file.name,
        problem=library.project_problem,
        systems=()
        if project is None
        else tuple(StartableSystem(name, entry.type, name in with_code) for name, entry in project.systems.items()),
        collections=() if project is None else tuple(project.collections),
        depth=None if project is None else project.depth,
        jobs=tuple(line for line in lines if asked.state in (None, line.state)),
    )


def answer_of(jobs: tuple[Job, ...]) -> str:
    n_running = sum(job.state in ACTIVE for job in jobs)
    n_waiting = sum(job.state == "queued" for job in jobs)
    if n_running:
        rest = f"; {counted(n_waiting, 'run')} {'waits' if n_waiting == 1 else 'wait'}" if n_waiting else ""
        return f"One run is under way{rest}."
    if n_waiting:
        return f"{counted(n_waiting, 'run')} {'waits' if n_waiting == 1 else 'wait'}, and will be taken up in a moment."
    if not jobs:
        return "Nothing was started from here yet."
    return "Nothing is running."


def line_of(job: Job, queue: tuple[int, ...], project: Project | None) -> JobLine:
    return JobLine(
        number=job.number,
        state=job.state,
        mark=MARKS[job.state],
        words=words_of(job),
        what=what_of(job),
        who=job.who,
        created=job.created,
        finished=job.finished,
        share=share_of(job),
        n_before=queue.index(job.number) if job.number in queue else None,
        can_cancel=job.state in ("queued", "running"),
        can_resume=can_resume(job),
        needs_owner=project is not None and bool(code_in(project, job)),
    )


def what_of(job: Job) -> str:
    options = from_builtins(RunOptions, job.options)
    systems = ", ".join(options.only) or "all systems"
    return f"{systems} on {', '.join(options.collections) or 'all collections'}"


def words_of(job: Job) -> str:
    """Return what is so, in a sentence."""
    if job.state == "done" and job.result is not None:
        said = [f"{counted(len(job.result.runs), 'run')} stored"]
        if job.result.n_failed:
            said.append(f"{counted(job.result.n_failed, 'query')} failed")
        if job.result.left_out:
            said.append(f"{counted(len(job.result.left_out), 'system')} left out")
        return f"{', '.join(said)}."
    if job.state == "failed":
        return f"Failed: {without_paths(job.failure)}"
    if job.state in ACTIVE:
        now = f": {job.progress.steps[-1].what}" if job.progress.steps else ""
        return f"Is being cancelled{now}" if job.state == "cancelling" else f"Running{now}"
    return {"queued": "Waits for its turn.", "cancelled": "Cancelled; what was answered is kept."}[job.state]


def share_of(job: Job) -> float | None:
    """Return how much is done: the systems that have answered, and the part of the one that is being asked."""
    if job.state == "done":
        return 1.0
    if not job.progress.total:
        return None
    step = job.progress.steps[-1] if job.progress.steps else None
    part = step.done / step.total if step is not None and step.total and step.what.endswith("searching") else 0.0
    return min(1.0, (job.progress.done + min(part, 1.0)) / job.progress.total)


def can_resume(job: Job) -> bool:
    result = job.result
    is_incomplete = job.state == "done" and result is not None and bool(result.n_failed or result.left_out)
    return job.state in ("failed", "cancelled") or is_incomplete


def code_in(project: Project, job: Job) -> tuple[str, ...]:
    """Return the systems of a job that run a program or code, as far as the project still has them."""
    only = from_builtins(RunOptions, job.options).only
    known = [name for name in only if name in project.systems]
    return systems_with_code(project, known) if known or not only else ()


# One job


class JobOptions(Options):
    """Which job is shown."""

    number: int | None = None
    """Its number; the newest where none is given."""


class StoredJobRun(Record):
    """A stored run that came out of a job."""

    number: int
    system: str
    collection: str


class JobPage(Record, kw_only=True):
    """What stands on the page of a job; all of it is empty where there is no job yet."""

    line: JobLine | None = None
    progress_done: int = 0
    progress_total: int = 0
    steps: tuple[JobStep, ...] = ()
    events: tuple[JobEvent, ...] = ()
    """What happened, the newest first."""
    failure: str = ""
    runs: tuple[StoredJobRun, ...] = ()
    left_out: tuple[str, ...] = ()
    n_failed: int = 0
    manifest: str = ""
    attempts: int = 0
    options: RunOptions = RunOptions()


def job_page(library: Library, asked: JobOptions) -> JobPage:
    """Show one job: how far it is, what happened, and what came out."""
    store, project = library.store, library.project
    newest = () if asked.number is not None else store.jobs.list(limit=1)
    if asked.number is None and not newest:
        return JobPage()
    job = newest[0] if asked.number is None else store.jobs.get(asked.number)
    numbers = () if job.result is None else job.result.runs
    found = [store.runs.find(str(number)) for number in numbers]
    return JobPage(
        line=line_of(job, store.jobs.queue(job.project), project),
        progress_done=job.progress.done,
        progress_total=job.progress.total,
        steps=job.progress.steps,
        events=tuple(
            replace(event, text=without_paths(event.text)) for event in reversed(store.jobs.events(job.number))
        ),
        failure=without_paths(job.failure),
        runs=tuple(StoredJobRun(run.number, run.system, run.collection) for run in found),
        left_out=() if job.result is None else job.result.left_out,
        n_failed=0 if job.result is None else job.result.n_failed,
        manifest="" if job.result is None else job.result.manifest,
        attempts=job.attempts,
        options=from_builtins(RunOptions, job.options),
    )


# What can be done


class StartOptions(Options):
    """What is to be run."""

    system: tuple[str, ...] = ()
    """The systems; at least one."""
    collection: tuple[str, ...] = ()
    """The collections; all where none is named."""
    depth: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """How many docs are asked for, instead of what the project says."""
    repeat: Annotated[int, Meta(ge=1, le=100)] | None = None
    """How often each system is asked every query, instead of what the project says."""
    baseline: str | None = None
    """The system that others are compared with."""
    fresh: bool = False
    """Whether earlier answers are thrown away."""


class JobNumber(Options):
    """Which job it is about."""

    number: int


def project_of(library: Library) -> Project:
    if library.project is None:
        raise OptionError("there is no project whose systems could be run", hint="rankscope serve PROJECT")
    if library.project_problem:
        raise OptionError(library.project_problem, hint="correct the file; it is read again by itself")
    return library.project


def start_job(library: Library, identity: Identity, asked: StartOptions) -> str:
    """Queue a run; a system that runs a program or code of the project is for owners alone."""
    project = project_of(library)
    if not asked.system:
        raise OptionError("no system is chosen", hint="choose at least one")
    systems = select_names(asked.system, project.systems, "system", project)
    refuse_code(project, identity, systems)
    if asked.baseline is not None and asked.baseline not in systems:
        raise OptionError(
            f"{asked.baseline} is not among the systems that are run, so that nothing can be compared with it",
            hint="choose it, too, or compare with another one",
        )
    options = RunOptions(
        only=systems,
        collections=asked.collection,
        depth=asked.depth,
        repeat=asked.repeat,
        baseline=asked.baseline,
        fresh=asked.fresh,
    )
    job = queue_job(library.store, project, options, who=identity.name)
    library.wake_worker()
    return address("/job", number=job.number)


def refuse_code(project: Project, identity: Identity, systems: tuple[str, ...]) -> None:
    with_code = systems_with_code(project, systems)
    if with_code and not identity.may("owner"):
        raise OptionError(
            f"{', '.join(with_code)} {'runs' if len(with_code) == 1 else 'run'} a program, which only owners may start",
            hint=f"ask an owner, or leave {'it' if len(with_code) == 1 else 'them'} out",
        )


def cancel_job(library: Library, identity: Identity, asked: JobNumber) -> str:
    """Cancel a job."""
    library.store.jobs.cancel(asked.number, who=identity.name)
    return address("/job", number=asked.number)


def resume_job(library: Library, identity: Identity, asked: JobNumber) -> str:
    """Queue a job again that failed or was cancelled; only what was not answered is asked."""
    job = library.store.jobs.get(asked.number)
    project = project_of(library)
    if not identity.may("owner"):
        refuse_code(project, identity, code_in(project, job))
    library.store.jobs.resume(asked.number, who=identity.name)
    library.wake_worker()
    return address("/job", number=asked.number)
