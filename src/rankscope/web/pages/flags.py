"""What the raters of a judging task flagged, would choose and prefer: by rank, system and note."""

from __future__ import annotations

from rankscope.data.tasks import Task
from rankscope.judging.opinions import OpinionReport, opinions_of
from rankscope.records import Options, Record
from rankscope.report.document import Report
from rankscope.report.opinions import opinions_report
from rankscope.web.library import Library
from rankscope.web.pages.agreement import asked_task


class FlagsOptions(Options):
    """Of which task."""

    task: str | None = None
    """Its number or name; the newest where none is given."""


class FlagsPage(Record, kw_only=True):
    """What stands on the page of flags, choices and preferences."""

    tasks: tuple[tuple[int, str], ...]
    """Number and name of each, the newest first."""
    task: Task | None = None
    opinions: OpinionReport | None = None
    why_not: str = ""
    """Why there is nothing to say yet."""
    next_step: str = ""


def flags_page(library: Library, asked: FlagsOptions) -> FlagsPage:
    """Show what raters flagged, would choose and prefer, as `rankscope judge flags` does."""
    known = tuple((task.number, task.name) for task in library.store.tasks.list()[::-1])
    task = asked_task(library, asked.task)
    if task is None:
        return FlagsPage(
            tasks=known,
            why_not="There is no task yet.",
            next_step="Tasks are made on the page Judge, or by `rankscope judge create`.",
        )
    found = opinions_in(library, task)
    if not says_something(found):
        return FlagsPage(
            tasks=known,
            task=task,
            why_not="Nothing is flagged, chosen or preferred yet.",
            next_step="Raters flag a doc with x, and mark the one that they would choose with b.",
        )
    return FlagsPage(tasks=known, task=task, opinions=found)


def opinions_in(library: Library, task: Task) -> OpinionReport:
    """Return what raters of a task flagged, would choose and prefer, from before where nothing was judged since."""
    return library.cached(("opinions", task.number), lambda: opinions_of(library.store, task))


def says_something(found: OpinionReport) -> bool:
    return bool(found.flags.share.n or found.choices.n or found.preferences.n)


def flags_report(page: FlagsPage) -> Report | None:
    return None if page.opinions is None else opinions_report(page.opinions)
