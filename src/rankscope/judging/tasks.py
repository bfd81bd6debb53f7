"""Tasks: made from stored runs, labels or a file; extended, stopped, and raters invited to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rankscope.comparison.known_measures import check_within_range
from rankscope.data.judgments import as_text
from rankscope.errors import InputError, OptionError
from rankscope.io.numbers import grade_text
from rankscope.judging.audits import looks_reached, planned_looks
from rankscope.judging.guidelines import (
    check_readable,
    check_scale,
    check_some_not_relevant,
    default_guideline,
    parse_guideline,
)
from rankscope.judging.labels import stored_labels
from rankscope.judging.pools import (
    KnownLabels,
    answered_among,
    cut_of,
    gold_items,
    items_of_pairs,
    labels_of,
    lists_of,
    pool_of,
    pooled,
    rankings_of,
    runs_of,
    with_ranks,
)
from rankscope.judging.records import Task, TaskItem, TaskPlan
from rankscope.judging.settling import settle_items, settling_of
from rankscope.judging.settling_state import not_covered_words, read_words
from rankscope.judging.task_comparison import scale_of
from rankscope.measures.extras import Need
from rankscope.measures.parameters import DEEPEST_RANK
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted, listed
from rankscope.records import Record, replace
from rankscope.store import Store, StoredRun

MOST_ITEMS = 1_000_000
MOST_RATERS = 1000
"""Of one doc."""


class TaskExtension(Record):
    """What was added to a task."""

    task: Task
    items: int


def create_task(
    store: Store,
    name: str,
    plan: TaskPlan | None = None,
    *,
    runs: Sequence[str | int | StoredRun] = (),
    collection: str | None = None,
    guideline: str | None = None,
    pairs: Iterable[tuple[str, str]] = (),
    items: Iterable[TaskItem] | None = None,
    gold: Mapping[str, Mapping[str, float]] | None = None,
    who: str = "",
) -> Task:
    """Make a task and keep it.

    Parameters
    ----------
    store
        Keeps the runs, and the task.
    name
        Of the task; no other one has it.
    plan
        What the task is made of. Its `systems` and `runs` are filled in from the argument `runs`.
    runs
        As users name them: a tag, a system, a number or the beginning of a hash; the first is the baseline.
    collection
        Whose queries and docs are judged; by default that of the runs.
    guideline
        A text in Markdown with a scale, as `rankscope.judging.guidelines` reads it; by default one for the plan's mode.
    pairs
        With the pool `file`: queries and docs.
    items
        Instead of a pool: what is to be judged, with the places that it has.
    gold
        By query and doc, grades that are known, of docs to mix in; by default those of the plan's qrels.
    who
        Makes the task.

    Raises
    ------
    InputError
        There is nothing to judge, or the guideline has no scale, or one that the measure cannot read.
    OptionError
        The plan asks for what cannot be.

    Examples
    --------
    >>> import rankscope as rs
    >>> with rs.open_store("kept.db", create=True) as store:
    ...     plan = rs.TaskPlan(pool="file", overlap=2)
    ...     task = rs.create_task(store, "first", plan, collection="recipes", pairs=[("q1", "d1"), ("q1", "d2")])
    ...     rater, token = store.raters.invite(task, name="Ann")
    >>> task.number, task.state, rater.id
    (1, 'open', 'task 1 rater 1')
    """
    plan = plan or TaskPlan()
    guideline = as_text(default_guideline(plan.mode) if guideline is None else guideline)
    scale = [each.grade for each in parse_guideline(guideline).scale]
    check_scale(scale)
    plan, found = with_runs(store, checked_plan(plan), runs)
    check_size(plan)
    check_judge_labels(store, plan)
    check_measure(store, plan, scale)
    named = collection or (found[0].collection if found else "")
    if not named:
        raise OptionError("the task needs a collection", hint="name the runs whose docs are judged, or the collection")
    if strangers := sorted({run.collection for run in found} - {named}):
        raise OptionError(f"a run is of the collection {strangers[0]}, and the task of {named}")
    pairs = list(pairs)
    check_queries(store, named, pairs)
    chosen = items_of_plan(store, plan, found, pairs, scale=scale) if items is None else list(items)
    if not chosen:
        raise InputError("there is nothing to judge", hint=why_nothing(plan))
    if len(chosen) > MOST_ITEMS:
        raise InputError(
            f"the task would hold {len(chosen):,} docs, and at most {MOST_ITEMS:,} are possible",
            hint="take fewer of the first docs, or a sample",
        )
    if plan.gold_share:
        known = gold if gold is not None else labels_of(store, plan.qrels)
        shown = None if plan.blind or not found else ranks_to_show(store, plan, found, known)
        chosen += gold_items(plan, chosen, known, shown)
    sha256 = store.judgments.add_guideline(guideline)
    return store.tasks.add(name, collection=named, plan=plan, guideline=sha256, items=chosen, who=who)


def checked_plan(plan: TaskPlan) -> TaskPlan:
    """Return a plan, refusing what cannot be."""
    check_numbers(plan)
    if plan.mode == "lists" and plan.pool not in ("top", "sample"):
        raise OptionError(f"lists are judged whole, so that their docs do not come from the pool {plan.pool}")
    if plan.mode == "lists" and plan.gold_share:
        raise OptionError("lists have no known grade to mix in", hint="mix no gold docs in (--gold-share 0)")
    if plan.pool == "disagreements" and (plan.qrels is None or plan.judge_qrels is None):
        raise OptionError("disagreements need two qrels: those of people, and those of a judge")
    if plan.pool == "audit" and plan.judge_qrels is None:
        raise OptionError("an audit needs the qrels of the judge that is audited")
    if plan.pool == "audit" and plan.k < (cut_of(plan.measure) or 0):
        raise OptionError(
            f"k is {plan.k}, and {plan.measure} reads more docs of each list, which an audit of it has to hold",
            hint=f"take k={cut_of(plan.measure)}, or a measure with a smaller cut-off",
        )
    if plan.pool == "settle" and not plan.measure:
        raise OptionError("what is to be settled needs a measure, such as nDCG@10")
    if plan.rule == "trusted" and not plan.trusted:
        raise OptionError("the rule trusted needs the name of the rater whose grade counts")
    check_margin(plan.margin, plan.measure)
    return replace(plan, measure=parse_measure(plan.measure).name) if plan.measure else plan


def check_numbers(plan: TaskPlan) -> None:
    if plan.k < 1 or (plan.size is not None and plan.size < 1):
        size = "all" if plan.size is None else plan.size
        raise OptionError(f"k ({plan.k}) and the size ({size}) are 1 or more")
    for what, number in (("k", plan.k), ("the size", plan.size or 1)):
        if number > DEEPEST_RANK:
            raise OptionError(f"{what} ({number}) is at most {DEEPEST_RANK:,}")
    if not 1 <= plan.overlap <= MOST_RATERS:
        raise OptionError(f"the number of raters of each doc ({plan.overlap}) is from 1 to {MOST_RATERS:,}")
    if not 0 <= plan.gold_share <= 0.5 or not 0 <= plan.repeat_share <= 0.5:
        raise OptionError(
            f"the shares of gold docs ({plan.gold_share:g}) and of docs that come again ({plan.repeat_share:g}) are "
            "from 0 to 0.5"
        )


def check_size(plan: TaskPlan) -> None:
    """Refuse a number of docs beside docs that are named one by one: it would be kept, and nothing would follow it."""
    if plan.pool == "file" and plan.size is not None:
        raise OptionError(
            f"size is {plan.size}, and docs of a list are all judged", hint="leave the size out, or shorten the list"
        )


def check_queries(store: Store, collection: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse docs of queries that nobody knows, where the store knows the queries of a collection: raters saw an id."""
    unknown = dict.fromkeys(query for query, _ in pairs)
    runs = store.runs.list(collection=collection) if unknown else ()
    for sha256 in dict.fromkeys([*store.tasks.further_queries(collection), *(run.queries_sha256 for run in runs)]):
        for query in store.texts.query_ids(sha256):
            unknown.pop(query, None)
    for query in answered_among(store, collection, unknown):
        unknown.pop(query)
    if runs and unknown:
        noun = "the query" if len(unknown) == 1 else "the queries"
        raise InputError(
            f"{collection} does not have {noun} {listed(list(unknown))}",
            hint="correct the list",
        )


def check_margin(margin: float | None, measure: str) -> None:
    """Refuse a margin by which nothing can be compared: the task would be kept, and no page of it could be shown."""
    if margin is None:
        return
    if not 0 <= margin < math.inf:
        raise OptionError(
            f"margin = {margin:g} is not a number that is 0 or more", hint="give the smallest difference that matters"
        )
    if measure:
        check_within_range(margin, parse_measure(measure).name)


def check_measure(store: Store, plan: TaskPlan, scale: Sequence[float]) -> None:
    """Refuse a measure by which a task could never be compared: it would be kept, and there would be no verdict."""
    if not plan.measure or len(plan.runs) < 2 or plan.mode == "lists":
        return
    if lacking := sorted(parse_measure(plan.measure).spec.needs - {Need.LISTS, Need.TOP}):
        raise OptionError(
            f"{plan.measure} needs {listed(lacking)}, and a task compares by grades and ranks alone",
            hint="take a measure of relevance, such as nDCG@10",
        )
    check_readable(plan.measure, scale)
    check_some_not_relevant(plan.measure, scale)
    beside = plan.judge_qrels if plan.pool == "audit" else plan.qrels
    if beside is not None:
        stored = stored_labels(store, beside)
        grades = set(store.qrels.judgments(stored).rows.grade.tolist())
        check_readable(plan.measure, grades, f"the qrels {stored.name} ({stored.short}) have")


def check_judge_labels(store: Store, plan: TaskPlan) -> None:
    """Refuse labels of people, or clicks, as those of a model: what people make of a model would be about people."""
    if plan.judge_qrels is None:
        return
    stored = stored_labels(store, plan.judge_qrels)
    if stored.kind != "judge":
        raise OptionError(
            f"the qrels {stored.name} ({stored.short}) are of {stored.kind}, not of a model",
            hint="`rankscope judge import FILE` keeps judgments of a model as such; those of people are for --qrels",
        )


def with_runs(
    store: Store, plan: TaskPlan, runs: Sequence[str | int | StoredRun]
) -> tuple[TaskPlan, tuple[StoredRun, ...]]:
    """Return a plan with the names and numbers of its runs, and the runs."""
    found = tuple(each if isinstance(each, StoredRun) else found_run(store, each) for each in runs or plan.runs)
    if len({run.number for run in found}) < len(found):
        raise OptionError("a run is named twice", hint="name each system once")
    need = {"top": 1, "sample": 1, "audit": 1, "settle": 2}.get(plan.pool, 0)
    if len(found) < (2 if plan.mode == "lists" else need):
        what = "lists to compare" if plan.mode == "lists" else f"the pool {plan.pool}"
        raise OptionError(
            f"{what} need more runs than {len(found)}", hint="`rankscope history` lists the runs that are stored"
        )
    alone = {run.system for run in found}
    names = tuple(run.system if len(alone) == len(found) else f"{run.system} (run {run.number})" for run in found)
    return replace(plan, systems=names, runs=tuple(run.number for run in found)), found


def found_run(store: Store, named: str | int) -> StoredRun:
    return runs_of(store, [named])[0] if isinstance(named, int) else store.runs.find(named)


def items_of_plan(
    store: Store,
    plan: TaskPlan,
    runs: Sequence[StoredRun],
    pairs: Iterable[tuple[str, str]],
    *,
    scale: Sequence[float],
) -> list[TaskItem]:
    if plan.pool == "file":
        return with_ranks(store, plan, items_of_pairs(pairs))
    lists, known = lists_of(store, runs, plan.systems, plan.k), KnownLabels(store, plan)
    if plan.pool == "settle":
        rankings = rankings_of(store, plan, runs)
        return settle_items(plan, rankings, pooled(lists), known.people, scale=scale)
    return pool_of(plan, lists, known)


def ranks_to_show(
    store: Store, plan: TaskPlan, runs: Sequence[StoredRun], gold: Mapping[str, Mapping[str, float]]
) -> dict[tuple[str, str], dict[str, int]]:
    """Return the gold docs that raters who see ranks cannot tell from others, with the ranks that they see.

    These are the docs that have a rank where others have theirs: among the first k of a list, or of docs in a file
    anywhere in it. A gold doc without a rank would stand out.
    """
    if plan.pool == "file":
        pairs = [(query, doc) for query, docs in gold.items() for doc in docs]
        ranked = with_ranks(store, plan, items_of_pairs(pairs))
    else:
        ranked = pooled(lists_of(store, runs, plan.systems, plan.k))
    return {(item.query, item.doc): item.ranks for item in ranked if item.ranks}


def why_nothing(plan: TaskPlan) -> str:
    if plan.mode == "lists":
        return "all lists are the same for all queries"
    return {
        "file": "the file names no doc",
        "settle": "no grade of an unjudged doc that the measure reads of these runs can change the verdict",
        "disagreements": "people and the judge agree on all docs that both have graded",
        "audit": "the systems have the same first docs for all queries; changed_only=False takes these, too",
        "top": "all of these docs are judged in the qrels already, the runs are empty"
        + (f", or size={plan.size} is less than a query has: its docs are taken as a whole" if plan.size else ""),
    }.get(plan.pool, "all of these docs are judged in the qrels already, or the runs are empty")


def extend_task(
    store: Store,
    task: Task,
    *,
    k: int | None = None,
    size: int | None = None,
    overlap: int | None = None,
    pairs: Iterable[tuple[str, str]] = (),
    items: Iterable[TaskItem] = (),
) -> TaskExtension:
    """Add docs or raters of each doc to a task; nothing that it holds is taken away, or changes its place.

    An audit grows until its first planned look is reached; from then on its plan stays as it is.

    Parameters
    ----------
    store
        Keeps the task.
    task
        Which one.
    k
        So many of each system's first docs.
    size
        At most so many docs, of `top` those of whole queries; in audits and lists so many queries.
    overlap
        So many raters of each doc.
    pairs
        More queries and docs.
    items
        As `pairs`, with the places that they have.
    """
    plan = task.plan
    for what, new, old in (("k", k, plan.k), ("size", size, plan.size), ("overlap", overlap, plan.overlap)):
        if new is not None and old is not None and new < old:
            raise OptionError(f"{what} is {old} already", hint="a task can only grow")
    if size is not None and plan.size is None:
        if plan.pool == "audit":
            check_looks(store, task)
        what = "the docs of its list" if plan.pool == "file" else "all that its pool has"
        raise OptionError(
            f"size does nothing here: the task {task.name} was made of {what}", hint=f"{what_grows(plan)} can grow"
        )
    if plan.mode == "lists" and k not in (None, plan.k):
        raise OptionError(
            f"the lists of the task {task.name} are judged down to rank {plan.k}",
            hint="make another task for longer lists: what was said of shorter ones does not hold for them",
        )
    changed = replace(plan, k=k or plan.k, size=size or plan.size, overlap=overlap or plan.overlap)
    checked_plan(changed)
    pairs = list(pairs)
    check_queries(store, task.collection, pairs)
    more = [*with_ranks(store, plan, items_of_pairs(pairs)), *items]
    if plan.pool == "audit" and (changed != plan or any(item.purpose == "audit" for item in more)):
        check_looks(store, task)
    if (changed.k, changed.size) != (plan.k, plan.size):
        more += items_of_plan(store, changed, runs_of(store, plan.runs), (), scale=scale_of(store, task))
    added = store.tasks.extend(task, more, plan=changed)
    return TaskExtension(store.tasks.get(task.number), added)


def what_grows(plan: TaskPlan) -> str:
    """Say what of a task can grow that was made of all there is."""
    if plan.mode == "lists":
        return "the number of raters (--overlap)"
    if plan.pool in ("file", "disagreements"):
        return "the number of raters (--overlap) and the list of docs (--file)"
    return "the number of raters (--overlap) and k"


def check_looks(store: Store, task: Task) -> None:
    """Refuse to change an audit that was looked at: looks that are added afterwards are looks that nobody planned.

    More queries are more looks, and more docs or raters of the audited queries are the same looks once more.
    """
    reached = looks_reached(store, task)
    if not reached:
        return
    queries = {item.query for item in store.tasks.items(task) if item.purpose == "audit"}
    planned = planned_looks(task.plan.looks, len(queries))
    *before, last = planned[:reached]
    looks = listed([*map(str, before), counted(last, "query")])
    raise OptionError(
        f"the audit {task.name} was looked at after {looks}, so its plan stays as it is: each further look that was "
        "not planned finds differences that are none",
        hint="plan the looks beforehand: an audit of --size 80 is looked at after 20, 40 and 80 queries, together at "
        "95%; what this one found can be asked again of other queries",
    )


def docs_that_settle(store: Store, task: Task) -> list[TaskItem]:
    """Return the docs outside a task that can turn its verdict, with their ranks, as items to add."""
    if task.plan.mode == "lists":
        raise OptionError(
            f"{task.name} shows whole lists, which get no grades, so no doc settles it",
            hint=f"`rankscope judge flags {task.number}` says which lists raters prefer",
        )
    state = settling_of(store, task)
    outside = state.outside
    if state.stage == "nothing to settle":
        raise InputError(f"the task {task.name} settles nothing", hint=state.words)
    if not outside:
        which = f"that is {read_words(state)} can" if state.open_ideal else "can"
        left = f"`rankscope judge show {task.number}` says what is left"
        others = f"{not_covered_words(state)} `--file FILE` adds any docs." if state.open_ideal else ""
        raise InputError(
            f"no doc outside the task {task.name} {which} turn its verdict", hint=f"{left}. {others}".rstrip(". ")
        )
    return with_ranks(store, task.plan, items_of_pairs(outside))


def change_guideline(store: Store, task: Task, text: str) -> Task:
    """Let what is judged from now on follow another text; judgments keep the one that they followed.

    The scale stays the same: grades of two scales cannot be put together.
    """
    old, text = parse_guideline(store.tasks.guideline_text(task)), as_text(text)
    new = parse_guideline(text)
    if [each.grade for each in old.scale] != [each.grade for each in new.scale]:
        grades = ", ".join(grade_text(each.grade) for each in old.scale)
        raise OptionError(
            f"the scale of the task {task.name} has the grades {grades}",
            hint="words may change, the grades may not; make another task for another scale",
        )
    return store.tasks.set_guideline(task, store.judgments.add_guideline(text))
