"""What whoever makes a task must know of it: queries that are left out, and docs that raters could not read."""

from __future__ import annotations

from rankscope.data.tasks import Task
from rankscope.io.numbers import grade_text
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.labels import known_labels, knows_relevance_only
from rankscope.judging.pools import queries_left_out
from rankscope.printable import counted, listed
from rankscope.store import Store, StoredDoc

SHOWN = 5
"""So many ids are named."""


def task_notes(store: Store, task: Task) -> tuple[str, ...]:
    """Return what is to be said of a new task, each in a sentence or two."""
    found = (left_out_words(store, task), without_text_words(store, task), known_grades_words(store, task))
    return tuple(words for words in found if words)


def left_out_words(store: Store, task: Task) -> str:
    """Say which queries of the runs do not count, as not all runs were asked them; empty where all of them count."""
    if task.plan.pool == "file" or len(task.plan.runs) < 2:
        return ""
    left_out = queries_left_out(store, task.plan)
    if not left_out:
        return ""
    which = listed(list(left_out), most=SHOWN)
    are, them = ("is", "it") if len(left_out) == 1 else ("are", "them")
    systems = listed(list(dict.fromkeys(name for names in left_out.values() for name in names)), last="or", most=SHOWN)
    return (
        f"{counted(len(left_out), 'query')} {are} left out ({which}): nothing says that {systems} was asked {them}, "
        f"and there is no answer. A list of docs (`--file`) can hold {them} all the same."
    )


def known_grades_words(store: Store, task: Task) -> str:
    """Say where known labels are 0 and 1 and raters have more grades, so that a 1 does not mean the same."""
    scale = [each.grade for each in parse_guideline(store.tasks.guideline_text(task)).scale]
    known = known_labels(store, task) if task.plan.pool != "audit" else None
    if not knows_relevance_only(known, scale):
        return ""
    has_gold = any(item.gold is not None for item in store.tasks.items(task))
    gold = "docs of a known grade are compared by whether they are relevant, and " if has_gold else ""
    return (
        f"The known labels are 0 and 1, and raters have grades up to {grade_text(max(scale))}: {gold}measures of "
        "graded gain, such as nDCG, take a known 1 for the lowest relevant grade."
    )


def without_text_words(store: Store, task: Task) -> str:
    """Say how many docs raters would see without a word; empty where the store knows something of all of them."""
    docs = list(dict.fromkeys(item.doc for item in store.tasks.items(task) if item.doc))
    known = store.texts.docs(task.collection, docs)
    n_without = sum(not has_words(known.get(doc)) for doc in docs)
    if not n_without:
        return ""
    has = "has" if n_without == 1 else "have"
    return (
        f"{n_without:,} of {counted(len(docs), 'doc')} {has} no text in the store: raters see their ids alone. "
        "`evaluate` and `compare` keep the words of docs with --docs FILE, also of runs that the store has already."
    )


def has_words(doc: StoredDoc | None) -> bool:
    return doc is not None and bool(doc.title or doc.text or doc.fields)
