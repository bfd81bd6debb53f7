"""Systems of a project that are asked at the same time, by processes of this machine or by the workers of a cluster.

Workers write every answer into the journals of the project, as a run in one process does; this process then reads the
rankings from there. So a run may be stopped, killed and gone on with in whatever way, and its files are the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import field

from rankscope.errors import InputError, RankscopeError, collect_notes, give_warning
from rankscope.executors import TaskExecutor, TaskFailure
from rankscope.executors.jobs import TaskJob, run_kept
from rankscope.experiment.answer_store import AnswerStore
from rankscope.experiment.project import RUN_FILE, Project
from rankscope.experiment.results import TrainTestSplit
from rankscope.experiment.run_files import run_rows
from rankscope.experiment.runner import (
    SYSTEMS_STEP,
    RetrievalTask,
    RunOptions,
    TaskResult,
    answer_store,
    execute_or_leave_out,
    left_out,
    open_session,
    tag_of,
)
from rankscope.experiment.session import CollectionSession
from rankscope.experiment.toml_file import read_text
from rankscope.io.rows import RunRows
from rankscope.records import Record, replace

Begun = tuple[Sequence[RetrievalTask], CollectionSession]
"""What is to be done on a collection, and the collection itself."""


class TaskGroup(Record):
    """Tasks that one worker executes one after the other, as they share requests; mostly a single one."""

    tasks: tuple[RetrievalTask, ...]
    started: str
    """When the run began: what was answered later is not from an earlier one, also where a worker was lost."""
    beside: int
    """How many other workers work at the same time, at most."""
    stops_at_failure: bool

    @property
    def name(self) -> str:
        return " and ".join(f"{task.collection} · {task.system}" for task in self.tasks)


class GroupResult(Record, eq=False):
    """What a worker returns: all but the rankings, which are in the journals."""

    results: tuple[TaskResult, ...] = ()
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The options that systems, and what they are made of, were searched with; parts come first."""
    notes: tuple[str, ...] = ()
    """The first failure of each system."""
    warnings: tuple[str, ...] = ()
    error: RankscopeError | None = None
    """Why the run has to end."""


def execute_group(group: TaskGroup) -> GroupResult:
    """Execute tasks in a worker; what must end the run is returned, as trying again would ask for no reason."""
    first, notes = group.tasks[0], list[str]()
    with collect_notes() as warned:
        try:
            session = open_session(first)
            session.store = replace(answer_store(first.project, first.collection), beside=group.beside, waits=True)
            session.started, session.on_note = group.started, notes.append
            session.stops_at_failure = group.stops_at_failure
            session.running = {task.system: task.repeat for task in group.tasks}
            results = [without_rows(execute_or_leave_out(task, session)) for task in group.tasks]
        except RankscopeError as error:
            return GroupResult(notes=tuple(notes), warnings=tuple(warned), error=error)
    options = {name: dict(configured.options) for name, configured in session.configured.items()}
    return GroupResult(tuple(results), options, tuple(notes), tuple(warned))


def without_rows(result: TaskResult) -> TaskResult:
    """Return a result without its rankings, which may be large."""
    return replace(result, rows=no_rows(result.system.name), further=())


def no_rows(tag: str) -> RunRows:
    return RunRows([], [], np.empty(0), np.empty(0, dtype=np.int64), tag)


def groups_of(tasks: Sequence[RetrievalTask]) -> Iterator[tuple[RetrievalTask, ...]]:
    """Yield the tasks of one collection that workers execute; systems of type http at one address stay together.

    They may be answered by the same requests. What needs a run that exists already is not among them: its file may be
    on this machine only, and reading it is all there is to do.
    """
    groups: dict[str, list[RetrievalTask]] = {}
    for task in tasks:
        entry = task.project.systems[task.system]
        if any(task.project.systems[part].type == RUN_FILE for part in task.project.with_parts([task.system])):
            continue
        address = f"http {entry.options.get('url')}" if entry.type == "http" else f"system {task.system}"
        groups.setdefault(address, []).append(task)
    yield from map(tuple, groups.values())


def see_project(file: str, sha256: str, output: str) -> None:
    """Raise where a worker does not see the project as it is here, or cannot write answers down."""
    if hashlib.sha256(read_text(Path(file)).encode("utf-8", "surrogateescape")).hexdigest() != sha256:
        raise InputError(f"{file} is another one there")
    if not os.access(output, os.W_OK):
        raise InputError(f"{output} cannot be written to there")


def ask_in_parallel(
    executor: TaskExecutor,
    project: Project,
    options: RunOptions,
    begun: Sequence[Begun],
    *,
    on_note: Callable[[str], object],
) -> dict[tuple[str, str], TaskResult]:
    """Let workers ask all systems on all collections, and return what is known but the rankings, by their names."""
    sessions = {session.collection.name: session for _, session in begun}
    found = [group for tasks, _ in begun for group in groups_of(tasks)]
    beside = max(min(executor.n_workers, len(found)) - 1, 0)
    stops = options.on_failure == "stop"
    groups = [TaskGroup(each, sessions[each[0].collection].started, beside, stops) for each in found]
    n_tasks = {name: sum(each[0].collection == name for each in found) for name in sessions}
    n_done = dict.fromkeys(sessions, 0)
    results: dict[tuple[str, str], TaskResult] = {}

    def take(position: int, group: GroupResult) -> None:
        name = groups[position].tasks[0].collection
        for note in group.notes:
            on_note(note)
        give_warning(*group.warnings)
        if group.error is not None:
            raise group.error
        for result in configured_as_there(sessions[name], group):
            results[name, result.system.name] = result
        say_done(name)

    def leave_out(position: int, failure: TaskFailure) -> None:
        for task in groups[position].tasks:
            hint = failure.error.hint or "run again: what was answered is kept"
            results[task.collection, task.system] = left_out(task, failure.error.message, hint=hint)
        say_done(groups[position].tasks[0].collection)

    def say_done(name: str) -> None:
        n_done[name] += 1
        sessions[name].say(SYSTEMS_STEP, n_done[name], n_tasks[name])

    for name, session in sessions.items():
        session.say(SYSTEMS_STEP, 0, n_tasks[name])
    job = TaskJob(
        execute_group,
        groups,
        name_of=lambda group: group.name,
        sizes=[1] * len(groups),
        batch_size=1,
        can_read=partial(see_project, str(project.file), project.sha256, str(project.output))
        if project.file.is_file()
        else None,
        noun="system",
    )
    run_kept(executor, job, take, on_failed=leave_out)
    return results


def configured_as_there(session: CollectionSession, group: GroupResult) -> Iterator[TaskResult]:
    """Make the systems that a worker has asked, with the options that it has found, and yield its results.

    Nothing is indexed or asked for that. It is noted where the code here is not that of the worker.
    """
    for name, options in group.options.items():
        if name not in session.configured:
            session.configured[name] = session.build(session.project.systems[name], options)
    for result in group.results:
        name, fingerprint = result.system.name, result.system.fingerprint
        here = session.configured.get(name)
        if here is None or not fingerprint or here.fingerprint == fingerprint:
            yield result
        else:
            note = f"{name} was asked by workers whose code, packages or files are not those of this process."
            yield replace(result, notes=(*result.notes, note))


def in_order(
    tasks: Sequence[RetrievalTask], session: CollectionSession, done: dict[tuple[str, str], TaskResult]
) -> Iterator[TaskResult]:
    """Yield the results of a collection in the order of its tasks, with rankings; what workers left is done here."""
    for task in tasks:
        result = done.pop((task.collection, task.system), None)
        yield execute_or_leave_out(task, session) if result is None else with_rows(result, task, session.store)


def with_rows(result: TaskResult, task: RetrievalTask, store: AnswerStore) -> TaskResult:
    """Return a result with its rankings, as they stand in the journals."""
    fingerprint, split = result.system.fingerprint, task.split
    if not fingerprint:  # it could not be asked
        return result
    rows = [rows_in(store, task.system, fingerprint, repetition, split) for repetition in range(1, task.repeat + 1)]
    return replace(result, rows=rows[0], further=tuple(rows[1:]))


def rows_in(store: AnswerStore, system: str, fingerprint: str, repetition: int, split: TrainTestSplit) -> RunRows:
    with store.open(system, fingerprint, repetition) as log:
        return run_rows(log, split.measured, tag=tag_of(system, fingerprint))
