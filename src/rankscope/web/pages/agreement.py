"""How the raters of a judging task agree, and whether the verdict depends on whom one asks."""

from __future__ import annotations

from rankscope.data.tasks import Task
from rankscope.judging.agreement import AgreementReport, agreement_of
from rankscope.judging.guidelines import parse_guideline
from rankscope.records import Options, Record
from rankscope.report.agreement import agreement_report
from rankscope.report.document import Report
from rankscope.web.library import Library


class AgreementOptions(Options):
    """Of which task."""

    task: str | None = None
    """Its number or name; the newest where none is given."""


class AgreementPage(Record, kw_only=True):
    """What stands on the page of agreement."""

    tasks: tuple[tuple[int, str], ...]
    """Number and name of each, the newest first."""
    task: Task | None = None
    agreement: AgreementReport | None = None
    why_not: str = ""
    """Why there is nothing to say yet."""
    next_step: str = ""


def agreement_page(library: Library, asked: AgreementOptions) -> AgreementPage:
    """Show how much raters agree, and what each rater's grades make of the verdict."""
    known = tuple((task.number, task.name) for task in library.store.tasks.list()[::-1])
    task = asked_task(library, asked.task)
    if task is None:
        return AgreementPage(
            tasks=known,
            why_not="There is no task yet.",
            next_step="Tasks are made on the page Judge, or by `rankscope judge create`.",
        )
    found = agreement_in(library, task)
    if not found.n_grades:
        lists = task.plan.mode == "lists"
        return AgreementPage(
            tasks=known,
            task=task,
            why_not="Lists get no grades, so there are none to compare." if lists else "Nothing is graded yet.",
            next_step="The page Flags and choices says which list raters prefer, and what they flag."
            if lists
            else "As soon as two raters have graded the same docs, this page says how much they agree.",
        )
    return AgreementPage(tasks=known, task=task, agreement=found)


def agreement_in(library: Library, task: Task) -> AgreementReport:
    """Return how the raters of a task agree, from before where nothing was judged since."""

    def build() -> AgreementReport:
        text = library.store.judgments.guidelines()[task.guideline]
        return agreement_of(library.store, task, scale=parse_guideline(text).scale)

    raters = tuple(rater.name for rater in library.store.raters.list(task))
    return library.cached(("agreement", task.number, task.guideline, raters), build)


def page_report(page: AgreementPage) -> Report | None:
    return None if page.agreement is None else agreement_report(page.agreement)


def asked_task(library: Library, reference: str | None) -> Task | None:
    """Return the task that an address names; the newest where it names none, and None where there is no task."""
    if reference is not None:
        return library.store.tasks.get(reference)
    tasks = library.store.tasks.list()
    return tasks[-1] if tasks else None
