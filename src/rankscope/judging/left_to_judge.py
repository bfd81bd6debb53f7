"""Who has judged what of a task, and whether anybody is left for what is open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rankscope.judging.records import Task, TaskRater
from rankscope.judging.session import states_of_raters
from rankscope.judging.settling_state import SettlingState
from rankscope.printable import counted
from rankscope.store import Store

JudgedBy: TypeAlias = tuple[str, str, str]
"""Query, doc and rater."""


def judged_by(store: Store, task: Task) -> list[JudgedBy]:
    """Return query, doc and rater of all that is judged, what is shown a second time left out; lists have no doc."""
    if task.plan.mode == "docs":
        return [(each.query, each.doc, each.rater) for each in store.saves.judged(task) if each.done]
    states, keys = states_of_raters(store, task), {rater.number: rater.key for rater in store.raters.list(task)}
    done = [(item, keys[rater]) for rater, state in states.items() for item in state.items if item.done]
    return [(item.query, "", rater) for item, rater in done if not item.again]


def nobody_words(task: Task, state: SettlingState, raters: Sequence[TaskRater], judged: Iterable[JudgedBy]) -> str:
    """Say that docs are left and nobody is to judge them, or too few are, once anybody was invited.

    A doc goes to raters who have said nothing of it yet, and whose invitation was not revoked.
    """
    if not state.n_open or not raters:
        return ""
    by: dict[tuple[str, str], set[str]] = {}
    for query, doc, rater in judged:
        by.setdefault((query, doc), set()).add(rater)
    active = {rater.key for rater in raters if rater.is_asked}
    free = {pair: len(active - by.get(pair, set())) for pair in state.order}
    invite = f"`rankscope judge invite {task.number} NAME` adds one."
    if not any(free.values()):
        them = "them" if state.look is None else counted(state.n_open, "open doc")
        return f"No rater is left to judge {them}: {invite}"
    overlap = task.plan.overlap
    n = sum(free[pair] < max(overlap - len(by.get(pair, ())), 1) for pair in state.order)
    return f"Too few raters are left for {n:,} of them, as {overlap:,} judge each doc: {invite}" if n else ""


def raters_words(n: int, n_revoked: int) -> str:
    """Count raters, and how many of them are revoked: what these have answered stays."""
    words = counted(n, "rater")
    if not n_revoked:
        return words
    return f"{words}, {'who is' if n == 1 else f'{n_revoked:,} of them'} revoked"
