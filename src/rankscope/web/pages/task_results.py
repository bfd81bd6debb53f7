"""What the pages of a task's results have in common: which task is asked for, and why there is nothing to say yet."""

from __future__ import annotations

from typing import Any

from rankscope.data.tasks import Task
from rankscope.records import Options, Record
from rankscope.web.library import Library


class TaskResultOptions(Options):
    """Of which task."""

    task: str | None = None
    """Its number or name; the newest where none is given."""


class TaskResultPage(Record, kw_only=True):
    """What stands on every page of results."""

    tasks: tuple[tuple[int, str], ...]
    """Number and name of each, the newest first."""
    task: Task | None = None
    why_not: str = ""
    """Why there is nothing to say yet."""
    next_step: str = ""
    remark: str = ""
    """What must be known of the task before anything else."""


def known_of_task(library: Library, asked: TaskResultOptions) -> dict[str, Any]:
    """Return what all pages of results hold; without a task, also why there is nothing else."""
    known: dict[str, Any] = {
        "tasks": tuple((task.number, task.name) for task in library.store.tasks.list()[::-1]),
        "task": asked_task(library, asked.task),
    }
    if known["task"] is None:
        known["why_not"] = "There is no task yet."
        known["next_step"] = "Tasks are made on the page Judge, or by `rankscope judge create`."
    return known


def asked_task(library: Library, reference: str | None) -> Task | None:
    """Return the task that an address names; the newest where it names none, and None where there is no task."""
    if reference is not None:
        return library.store.tasks.get(reference)
    tasks = library.store.tasks.list()
    return tasks[-1] if tasks else None
