"""How the raters of a judging task agree, and whether the verdict depends on whom one asks."""

from __future__ import annotations

from rankscope.data.tasks import Task
from rankscope.judging.agreement import AgreementReport, agreement_of
from rankscope.judging.guidelines import parse_guideline
from rankscope.report.agreement import agreement_report
from rankscope.report.document import Report
from rankscope.web.address import address
from rankscope.web.library import Library
from rankscope.web.pages.task_results import TaskResultOptions, TaskResultPage, asked_task, known_of_task

__all__ = ["AgreementPage", "agreement_in", "agreement_moved", "agreement_page", "asked_task", "page_report"]


class AgreementPage(TaskResultPage, kw_only=True):
    """What stands on the page of agreement."""

    agreement: AgreementReport | None = None


def agreement_page(library: Library, asked: TaskResultOptions) -> AgreementPage:
    """Show how much raters agree, and what each rater's grades make of the verdict; of lists there are no grades."""
    known = known_of_task(library, asked)
    task = known["task"]
    if task is None:
        return AgreementPage(**known)
    if task.plan.mode == "lists":
        known["why_not"] = "Lists get no grades, so there are none to compare."
        known["next_step"] = "Flags, choices and preferences says which list raters prefer, and what they flag."
        return AgreementPage(**known)
    found = agreement_in(library, task)
    if not found.n_grades:
        known["why_not"] = "No rater has graded yet."
        known["next_step"] = "As soon as two raters have graded the same docs, this page says how much they agree."
        return AgreementPage(**known)
    return AgreementPage(**known, agreement=found)


def agreement_moved(page: AgreementPage) -> str:
    """Return where a browser finds what raters of lists said; empty where they graded docs."""
    if page.task is None or page.task.plan.mode != "lists":
        return ""
    return address("/flags", task=page.task.number)


def agreement_in(library: Library, task: Task) -> AgreementReport:
    """Return how the raters of a task agree, from before where nothing was judged since."""

    def build() -> AgreementReport:
        text = library.store.judgments.guidelines()[task.guideline]
        return agreement_of(library.store, task, scale=parse_guideline(text).scale)

    raters = tuple(rater.name for rater in library.store.raters.list(task))
    return library.cached(("agreement", task.number, task.guideline, raters), build)


def page_report(page: AgreementPage) -> Report | None:
    return None if page.agreement is None else agreement_report(page.agreement)
