"""What the raters of a judging task flagged, would choose and prefer: by rank, system and note."""

from __future__ import annotations

from rankscope.data.tasks import Task
from rankscope.judging.agreement import preferences_sentence
from rankscope.judging.opinion_records import OpinionReport
from rankscope.judging.opinions import opinions_of
from rankscope.report.document import Report
from rankscope.report.opinions import opinions_report
from rankscope.web.library import Library
from rankscope.web.pages.agreement import agreement_in
from rankscope.web.pages.task_results import TaskResultOptions, TaskResultPage, known_of_task


class FlagsPage(TaskResultPage, kw_only=True):
    """What stands on the page of flags, choices and preferences."""

    opinions: OpinionReport | None = None


def flags_page(library: Library, asked: TaskResultOptions) -> FlagsPage:
    """Show what raters flagged, would choose and prefer, as `rankscope judge flags` does."""
    known = known_of_task(library, asked)
    task = known["task"]
    if task is None:
        return FlagsPage(**known)
    if task.plan.mode == "lists":
        said = agreement_in(library, task).preferences
        known["remark"] = "Raters judge whole lists here, which get no grades: there is no agreement on grades to show."
        if said is not None and said.twice.n:
            known["remark"] += f" {preferences_sentence(said)}"
    found = opinions_in(library, task)
    if not says_something(found):
        known["why_not"] = "Nothing is flagged, chosen or preferred yet."
        known["next_step"] = "Raters flag a doc with x, and mark the one that they would choose with b."
        return FlagsPage(**known)
    return FlagsPage(**known, opinions=found)


def opinions_in(library: Library, task: Task) -> OpinionReport:
    """Return what raters of a task flagged, would choose and prefer, from before where nothing was judged since."""
    return library.cached(("opinions", task.number), lambda: opinions_of(library.store, task))


def says_something(found: OpinionReport) -> bool:
    return bool(found.flags.share.n or found.choices.n or found.preferences.n)


def flags_report(page: FlagsPage) -> Report | None:
    return None if page.opinions is None else opinions_report(page.opinions)
