"""What a stored task compares: its runs by its measure, on which queries; or why it compares nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.comparison.known_measures import range_of
from rankscope.data.tasks import Task, TaskPlan
from rankscope.errors import InputError
from rankscope.io.ids import byte_order
from rankscope.judging.guidelines import parse_guideline, unreadable_words
from rankscope.judging.labels import known_labels
from rankscope.judging.pools import rankings_of
from rankscope.judging.worst_case import ComparedRuns, common_queries

if TYPE_CHECKING:
    from rankscope.store.store import Store


def unusable_margin(plan: TaskPlan) -> str:
    """Return the margin of a stored plan by which nothing can be compared; empty where it is fine."""
    if plan.unusable_margin or plan.margin is None or not plan.measure:
        return plan.unusable_margin
    low, high = range_of(plan.measure)
    return f"{plan.margin:g}" if plan.margin >= high - low else ""


def no_margin_words(margin: str) -> str:
    """Say why nothing is settled by a plan whose margin is no number."""
    return (
        f"The margin of this task is {margin}, which no difference can be held against, so nothing is settled; "
        "make another task with a margin, or with none. Grades can be given and taken over as before."
    )


def scale_of(store: Store, task: Task) -> tuple[float, ...]:
    return tuple(each.grade for each in parse_guideline(store.tasks.guideline_text(task)).scale)


def why_not_compared(store: Store, task: Task) -> str:
    """Say why a stored task that names a measure compares nothing; empty where it names no runs."""
    plan = task.plan
    if unusable := unusable_margin(plan):
        return no_margin_words(unusable)
    if plan.mode == "lists":
        prefer = f"`rankscope judge flags {task.number}` says which ones raters prefer"
        return f"Lists get no grades, so nothing is settled by them; {prefer}."
    if len(plan.runs) == 1 and plan.measure and plan.pool != "audit":  # an audit of one system has its looks
        return "There is one system only, so there is nothing to compare."
    if unreadable := unreadable_words(plan.measure, scale_of(store, task)):
        return (
            f"There is no verdict: {unreadable}. Make another task whose measure says which grades are relevant, or "
            "with whole grades; grades of this one can be given and taken over as before."
        )
    return ""


def compared_runs(store: Store, task: Task) -> ComparedRuns | None:
    """Return the runs that a task compares; None where it compares none, or by grades that its measure cannot read."""
    plan = task.plan
    if not plan.measure or not plan.runs[1:] or plan.mode == "lists" or unusable_margin(plan):
        return None
    scale = scale_of(store, task)
    if unreadable_words(plan.measure, scale):
        return None
    known = {run.number: run for run in store.runs.list(collection=task.collection, repetitions=True)}
    if lost := [number for number in plan.runs if number not in known]:
        raise InputError(
            f"the store does not have run {lost[0]} any more, which the task {task.name} compares",
            hint="was it taken out? `rankscope history` lists the runs that are there",
        )
    stored = [known[number] for number in plan.runs]
    runs = rankings_of(store, plan, stored)
    before = None if plan.pool == "audit" else known_labels(store, task)
    items = store.tasks.items(task)
    queries = {item.query for item in items} | set(before or ())
    if plan.pool != "audit":  # queries of which nothing is to be judged count, too
        queries.update(common_queries(runs))
    return ComparedRuns(
        runs=runs,
        measure=plan.measure,
        margin=plan.margin,
        query_ids=tuple(sorted(queries, key=byte_order)),
        scale=scale,
        docs=frozenset((item.query, item.doc) for item in items),
        seed=plan.seed,
    )
