"""From the grades of a task to qrels: one label for each doc, beside what was known before.

The rule is the task's own (`TaskPlan.rule`), unless another one is asked for. A gold doc keeps the grade that is known
of it, whatever raters gave it. Labels of people that the task began with stay for docs that nobody graded in it; those
of models are never put together with grades of people.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from rankscope.data.qrels import Qrels
from rankscope.data.tasks import names_of_raters, raters_meant, shown_rater
from rankscope.errors import InputError
from rankscope.io.ids import byte_order
from rankscope.io.rows import QrelsRows
from rankscope.judging.records import LabelRule, Task, TaskItem, TaskRater
from rankscope.records import Record
from rankscope.store import Store
from rankscope.store.judgments import StoredJudgment, graded_by
from rankscope.store.labels import Labels, QueryDoc, grades_by_rater, label_docs
from rankscope.store.qrels import StoredQrels

MOST_SETS = 2000
"""So many sets of grades that may come are tried for one doc."""


class TaskGrades(Record, eq=False):
    """All grades of a task that hold now."""

    task: Task
    raters: tuple[TaskRater, ...]
    """As they were invited."""
    items: tuple[TaskItem, ...]
    graded: tuple[StoredJudgment, ...]
    """Those of people with a grade, in the order of their numbers."""
    grades: dict[QueryDoc, dict[str, float]]
    """By query and doc, the grade of each rater (`TaskRater.key`)."""
    scale: tuple[float, ...]
    """All grades that could be given, the lowest first, with any others that were given."""
    gold: dict[QueryDoc, float]
    known: Qrels | None = None
    """Labels of people that the task began with."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries of which a doc is graded."""
        return tuple(dict.fromkeys(query for query, _ in self.grades))

    def names(self) -> dict[str, str]:
        """Return what raters are called, by their keys: as they wrote it, else by their number."""
        own = {rater.key for rater in self.raters}
        others = {
            each.judgment.rater: each.judgment.source.id or "a person without a name"
            for each in self.graded
            if each.judgment.rater not in own
        }
        called = names_of_raters(self.raters, taken=others.values())
        return {rater.key: called[rater.id] for rater in self.raters} | others


def grades_of_task(store: Store, task: Task) -> TaskGrades:
    """Return the grades of a task as they hold now."""
    items = store.tasks.items(task)
    graded = tuple(graded_by("people", store.judgments.current(task.collection, task=str(task.number))))
    judgments = [each.judgment for each in graded]
    scale = {grade for each in judgments for grade in (*(each.scale or ()), each.grade) if grade is not None}
    return TaskGrades(
        task=task,
        raters=store.raters.list(task),
        items=items,
        graded=graded,
        grades=grades_by_rater(judgments),
        scale=tuple(sorted(scale)),
        gold={(item.query, item.doc): item.gold for item in items if item.gold is not None},
        known=known_labels(store, task),
    )


def known_labels(store: Store, task: Task) -> Qrels | None:
    """Return the labels of people that a task began with."""
    if task.plan.qrels is None:
        return None
    stored = stored_labels(store, task.plan.qrels)
    return store.qrels.judgments(stored) if stored.kind == "people" else None


RELEVANT = 1.0
"""The lowest relevant grade, where labels say no more than relevant or not."""


def knows_relevance_only(known: Qrels | None, scale: Sequence[float]) -> bool:
    """Tell whether known labels say relevant or not, 1 or 0, where raters have more grades than that."""
    if known is None:
        return False
    return bool(len(known.rows)) and set(known.rows.grade.tolist()) <= {0.0, 1.0} and max(scale, default=0.0) > RELEVANT


def stored_labels(store: Store, number: int) -> StoredQrels:
    """Return stored qrels by their number; a name may look like one."""
    for stored in store.qrels.list():
        if stored.number == number:
            return stored
    raise InputError(f"the store has no qrels {number}, which the task began with", hint="were they taken out of it?")


def labels_of(graded: TaskGrades, *, rule: LabelRule | None = None, trusted: str | None = None) -> Labels:
    """Return one label for each doc that is graded in a task."""
    plan = graded.task.plan
    rule = rule or plan.rule
    if not graded.grades and plan.mode == "lists":
        raise InputError(
            f"{graded.task.name} shows whole lists, which get no grades, so there is nothing to make labels of",
            hint=f"`rankscope judge flags {graded.task.number}` says which lists raters prefer",
        )
    if not graded.grades:
        raise InputError(
            f"nothing is graded in the task {graded.task.name} yet", hint="labels are made of the raters' grades"
        )
    key = trusted_key(graded, plan.trusted if trusted is None else trusted) if rule == "trusted" else ""
    return label_docs(graded.grades, rule, scale=graded.scale, trusted=key, names=graded.names())


def labels_by_rule(graded: TaskGrades) -> tuple[Labels, str]:
    """Return labels by the task's rule; where it makes none of these grades, by the lower median, and why."""
    try:
        return labels_of(graded), ""
    except InputError as error:
        return labels_of(graded, rule="lower median"), error.message


def stand_in_words(rule: LabelRule, why: str) -> str:
    """Say that a rule makes no labels, why, and what counts until it does."""
    return (
        f"The task's rule ({rule}) gives no labels yet: {why}. Until it does, the lower median stands in, by which "
        "nothing is settled."
    )


def trusted_key(graded: TaskGrades, name: str) -> str:
    """Return the key of the rater whose grade counts; it is an error where nobody of this name has graded."""
    key = rater_key(graded, name)
    names = graded.names()
    raters = {rater for given in graded.grades.values() for rater in given}
    if key not in raters:
        raise InputError(
            f"the trusted rater, {shown_rater(graded.raters, name)}, has no grade here"
            if name
            else "it is not said which rater is trusted",
            hint=f"there are {', '.join(sorted(names[rater] for rater in raters))}",
        )
    return key


def rater_key(graded: TaskGrades, name: str) -> str:
    """Return the key of a rater who is named by name, id or number; the name itself where there is none."""
    called = {shown: key for key, shown in graded.names().items()}
    found = raters_meant(graded.raters, name, taken=called)
    if len(found) > 1:
        ids = ", ".join(rater.id for rater in found)
        raise InputError(f"several raters of {graded.task.name} are called {name}", hint=f"say which one: {ids}")
    return found[0].key if found else called.get(name, name)


def with_known(
    graded: TaskGrades,
    chosen: Mapping[QueryDoc, float],
    *,
    all_queries: bool = False,
    also: Collection[str] = (),
    own_gold: bool = True,
) -> dict[QueryDoc, float]:
    """Return labels of a task's docs with those of other docs that were known before, and gold docs with their own.

    Docs that were known before are taken for queries of which a doc has a label now, and for those in `also`, or for
    `all_queries`; then gold docs are taken, too, that nobody has graded yet. Without `own_gold`, gold docs have the
    label that was chosen.
    """
    queries, grades = {*also, *(query for query, _ in chosen)}, dict[QueryDoc, float]()
    if graded.known is not None:
        for query, docs in graded.known.judged.items():
            if all_queries or query in queries:
                grades |= {(query, doc): grade for doc, grade in docs.items()}
    gold = {pair: grade for pair, grade in graded.gold.items() if all_queries or pair in chosen} if own_gold else {}
    return {**grades, **chosen, **gold}


def labels_to_come(
    given: Mapping[str, float], n_missing: int, rule: LabelRule, *, scale: Sequence[float], trusted: str = ""
) -> tuple[float, ...] | None:
    """Return all labels that a doc can have once up to so many more raters have graded it; None: any of the scale.

    A rater who is missing may also not tell, so that fewer grades come. Raters who grade again are not thought of.
    """
    n_sets = sum(math.comb(len(scale) + n - 1, n) for n in range(n_missing + 1)) if scale else 0
    if rule == "dawid-skene" or not given or not 0 < n_sets <= MOST_SETS:
        return None
    if rule == "trusted":
        return (given[trusted],) if trusted in given else None
    found = set()
    for n in range(n_missing + 1):
        for more in itertools.combinations_with_replacement(scale, n):
            together = {**given, **{f" {i}": grade for i, grade in enumerate(more)}}
            by = "lower median" if rule == "only" else rule  # what is refused counts by the lower median until then
            found.add(label_docs({("", ""): together}, by, scale=scale).grades["", ""])
    return tuple(sorted(found))


def qrels_of_pairs(grades: Mapping[QueryDoc, float]) -> Qrels:
    pairs = sorted(grades, key=lambda pair: tuple(map(byte_order, pair)))
    values = np.array([grades[pair] for pair in pairs], dtype=np.float64)
    return Qrels(QrelsRows([query for query, _ in pairs], [doc for _, doc in pairs], values))


def make_qrels(
    store: Store, task: Task, *, rule: LabelRule | None = None, trusted: str | None = None, name: str | None = None
) -> StoredQrels:
    """Make qrels of the grades of a task, and keep them as a snapshot with the rule.

    Parameters
    ----------
    store, task
        Where the grades are.
    rule, trusted
        How several grades of a doc become one, and the rater whose grade counts by `trusted`; by default as the task
        says.
    name
        Of the qrels; by default that of the task. Labels of people that it began with, of all queries, stay in them.
    """
    graded = grades_of_task(store, task)
    labels = labels_of(graded, rule=rule, trusted=trusted)
    grades = with_known(graded, labels.grades, all_queries=True)
    facts = {
        **labels.facts,
        "collection": task.collection,
        "task": str(task.number),
        "task_name": task.name,
        "n_known": len(grades) - len(labels.grades),
        "n_gold": sum(pair in labels.grades for pair in graded.gold),
        "last_judgment": max(each.number for each in graded.graded),
        "guidelines": sorted({each.judgment.guideline for each in graded.graded if each.judgment.guideline}),
    }
    return store.qrels.add(qrels_of_pairs(grades), name=name or task.name, kind="people", facts=facts)
