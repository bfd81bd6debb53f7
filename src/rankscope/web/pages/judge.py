"""Judging tasks: which there are, how far each rater is, a form that makes one, and what can be done with it."""

from __future__ import annotations

import csv
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from rankscope.data.tasks import (
    Guideline,
    LabelRule,
    PoolKind,
    Task,
    TaskMode,
    TaskPlan,
    TaskRater,
    TaskState,
    names_of_raters,
    shown_rater,
)
from rankscope.errors import OptionError, RankscopeError, UnknownNameError
from rankscope.judging.agreement import AgreementReport
from rankscope.judging.guidelines import DEFAULT_GUIDELINE, default_guideline, parse_guideline
from rankscope.judging.left_to_judge import judged_by, nobody_words, raters_words
from rankscope.judging.pools import cut_of, n_added, n_known
from rankscope.judging.rater_view import RaterState
from rankscope.judging.session import TaskWork, states_of_raters
from rankscope.judging.settling_state import SettlingState
from rankscope.judging.task_notes import task_notes
from rankscope.judging.tasks import TaskExtension, change_guideline, check_margin, create_task, extend_task
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted
from rankscope.records import Options, Record
from rankscope.report.document import Mark
from rankscope.store import Store
from rankscope.store.qrels import StoredQrels
from rankscope.web.address import address
from rankscope.web.choices import USUAL, known_measures, newest_collection
from rankscope.web.library import Library
from rankscope.web.pages.agreement import agreement_in, asked_task
from rankscope.web.pages.flags import opinions_in, says_something
from rankscope.web.security import Identity


class JudgeOptions(Options):
    """Which tasks are shown."""

    collection: str | None = None
    """Only those of this collection."""


class TaskLine(Record, kw_only=True):
    """A task in short."""

    number: int
    name: str
    collection: str
    mode: TaskMode
    state: TaskState
    mark: Mark
    what: str
    """What is judged, in half a sentence."""
    words: str
    """How far it is."""
    share: float
    """How much is judged, from 0 to 1."""
    who: str
    created: str


class PoolRun(Record):
    """A stored run whose docs can be judged: the newest of a system."""

    number: int
    system: str
    started: str


class PoolQrels(Record):
    """Stored qrels that a task can begin with."""

    number: int
    stored: str
    kind: str
    """Who the labels come from."""
    name: str = ""


class KnownQrels(Record):
    """Stored labels of people, by any name, which a task takes as known already."""

    number: int
    name: str
    words: str
    """What tells them from others of the same name: the rule by which they were made, where it is known, and how many
    judgments they hold."""
    stored: str


class TaskForm(Record, kw_only=True):
    """What a new task can be made of."""

    collection: str
    runs: tuple[PoolRun, ...]
    """In the order of the project, others after them."""
    known: tuple[KnownQrels, ...]
    """The newest first."""
    qrels: tuple[PoolQrels, ...]
    """The newest first."""
    measures: tuple[str, ...]
    guideline: str
    """The text that the form begins with: that of the newest task, or the usual one."""


class JudgePage(Record, kw_only=True):
    """What stands on the page of the tasks."""

    answer: str
    collections: tuple[str, ...]
    """All that have runs, then those that only have tasks."""
    collection: str
    """Of which a new task would be; empty where it has no runs."""
    tasks: tuple[TaskLine, ...]
    form: TaskForm | None
    """None where there is no run whose docs could be judged."""
    with_runs: tuple[str, ...]
    """Collections of whose runs a task can be made."""


def judge_page(library: Library, asked: JudgeOptions) -> JudgePage:
    """List the judging tasks, the newest first, with what a new one can be made of.

    Where no collection is asked for, a new task is of the newest one that has runs: that of the newest task, if it can
    be. A task of a file may be the only thing that is known of its collection.
    """
    store = library.store
    with_runs = store.runs.collections()
    every = store.tasks.list()[::-1]
    tasks = [task for task in every if asked.collection in (None, task.collection)]
    of_tasks = list(dict.fromkeys(task.collection for task in every))
    usual = next((name for name in of_tasks if name in with_runs), None) or newest_collection(library)
    name = asked.collection or usual or ""
    lines = tuple(task_line(library, task) for task in tasks)
    return JudgePage(
        answer=answer_of(lines),
        collections=(*with_runs, *(each for each in of_tasks if each not in with_runs)),
        collection=name if name in with_runs else "",
        tasks=lines,
        form=task_form(library, name) if name in with_runs else None,
        with_runs=with_runs,
    )


def answer_of(lines: tuple[TaskLine, ...]) -> str:
    n_open = sum(line.state == "open" for line in lines)
    if not lines:
        return "Nothing is to be judged yet."
    return f"{counted(n_open, 'task')} {'is' if n_open == 1 else 'are'} open." if n_open else "No task is open."


def task_line(library: Library, task: Task) -> TaskLine:
    standing = standing_of(library, task)
    return TaskLine(
        number=task.number,
        name=task.name,
        collection=task.collection,
        mode=task.plan.mode,
        state=task.state,
        mark=mark_of(task, standing),
        what=what_of(task),
        words=standing.words,
        share=standing.share,
        who=task.who,
        created=task.created,
    )


def mark_of(task: Task, standing: TaskStanding) -> Mark:
    return "fine" if standing.share >= 1 else "look" if task.state == "stopped" else "unsure"


POOLS: dict[PoolKind, str] = {
    "top": "the first {docs} of each system",
    "settle": "docs that move the comparison most",
    "sample": "a random sample of docs",
    "disagreements": "docs on which a judge and people differ",
    "audit": "the order of an audit",
    "file": "docs of a list",
}
RULES: dict[LabelRule, str] = {
    "lower median": "the lower median of its grades",
    "majority": "the grade that most raters gave",
    "mean": "the mean of its grades, rounded to the scale",
    "max": "its highest grade",
    "trusted": "the grade of the trusted rater",
    "latest": "its latest grade",
    "dawid-skene": "the likeliest grade by Dawid and Skene",
    "only": "its only grade",
}


def what_of(task: Task) -> str:
    """Say in half a sentence what is judged."""
    plan = task.plan
    pool = "the first {docs} of each list" if plan.mode == "lists" else POOLS[plan.pool]
    of = f" of {', '.join(plan.systems)}" if plan.systems and plan.pool != "file" else ""
    kind = "lists side by side: " if plan.mode == "lists" else ""
    return f"{kind}{pool.format(docs='doc' if plan.k == 1 else counted(plan.k, 'doc'))}{of}"


def task_form(library: Library, name: str) -> TaskForm:
    runs: dict[str, PoolRun] = {}
    for run in library.store.runs.list(collection=name):
        runs[run.system] = PoolRun(run.number, run.system, run.started)
    project = library.project
    place_of = {system: place for place, system in enumerate(project.systems if project is not None else ())}
    in_order = sorted(runs.values(), key=lambda run: place_of.get(run.system, len(place_of)))
    tasks = [task for task in library.store.tasks.list() if task.collection == name]
    texts = library.store.judgments.guidelines() if tasks else {}
    return TaskForm(
        collection=name,
        runs=tuple(in_order),
        known=tuple(
            KnownQrels(each.number, each.name, known_qrels_words(each), each.stored)
            for each in library.store.qrels.list()[::-1]
            if each.kind != "judge"
        ),
        qrels=tuple(
            PoolQrels(qrels.number, qrels.stored, qrels.kind, qrels.name)
            for qrels in library.store.qrels.list()[::-1]
            if qrels.name == name or (qrels.kind == "judge" and qrels.facts.get("collection", name) == name)
        ),
        measures=known_measures(library, name, USUAL[0]),
        guideline=texts.get(tasks[-1].guideline, DEFAULT_GUIDELINE) if tasks else DEFAULT_GUIDELINE,
    )


def known_qrels_words(qrels: StoredQrels) -> str:
    """Return by which rule labels were made, where they were made of grades, and how many they are."""
    rule, n = qrels.facts.get("rule"), qrels.facts.get("n_judgments")
    return ", ".join([*([f"rule {rule}"] if rule else []), *([] if n is None else [counted(n, "judgment")])])


# How far a task is


class RaterLine(Record, kw_only=True):
    """A rater of a task, and how far they are."""

    number: int
    name: str
    done: int
    n: int
    pace_s: float | None
    flags: int
    cannot_tell: int
    choices: int
    again_done: int
    again_compared: int
    again_alike: int
    seen: str | None
    revoked: str | None
    remark: str
    mark: Mark


class TaskStanding(Record, kw_only=True):
    """How far a task is."""

    n: int
    """How many answers the plan asks for: of all raters together, and those that no rater is left for."""
    done: int
    share: float
    words: str
    raters: tuple[RaterLine, ...]


def standing_of(library: Library, task: Task, found: AgreementReport | None = None) -> TaskStanding:
    """Return how far a task is; with what is found on its agreement also how many answers are grades, and remarks."""
    store = library.store
    work = TaskWork(store, task)
    states = states_of_raters(store, task, work=work)
    known = [rater for rater in store.raters.list(task) if rater.number in states]  # one may be invited meanwhile
    names = names_of_raters(known)
    unusual = {} if found is None else {rater.id: rater.remarks for rater in found.raters}
    lines = tuple(
        rater_line(rater, states[rater.number], names[rater.id] if rater.name else "", unusual.get(rater.id, ()))
        for rater in known
    )
    counted_ = [line for line in lines if line.revoked is None or line.done]
    n, done = sum(line.n for line in lines) + work.shared.n_for_nobody, sum(line.done for line in lines)
    unit = "query" if task.plan.mode == "lists" else "doc"
    if not lines:
        items = len({item.query if task.plan.mode == "lists" else item.number for item in store.tasks.items(task)})
        words = f"{counted(items, unit)}; nobody is invited yet."
    else:
        raters = raters_words(len(counted_), sum(line.revoked is not None for line in counted_))
        n_gave = sum(line.done > 0 for line in counted_)
        by = f"{n_gave:,} of {raters}" if 0 < n_gave < len(counted_) else raters
        kinds = "" if found is None else kinds_of_answers(found, counted_)
        words = f"{done:,} of {n:,} answers are given{kinds}, by {by}." if n else f"{raters}, and nothing to judge."
    if lines and work.shared.n_for_nobody:
        words += f" No rater is left for {work.shared.n_for_nobody:,} of them: more can be invited."
    return TaskStanding(n=n, done=done, share=done / n if n else 0.0, words=words, raters=lines)


def kinds_of_answers(found: AgreementReport, lines: Sequence[RaterLine]) -> str:
    """Say how many answers are grades, which is what the page of agreement counts, and what the others are."""
    cannot_tell, again = sum(line.cannot_tell for line in lines), sum(line.again_done for line in lines)
    rest = sum(line.done for line in lines) - found.n_grades - cannot_tell - again
    kinds = {"cannot tell": cannot_tell, "shown a second time": again, "without a grade": rest}
    others = [f"{n:,} {words}" for words, n in kinds.items() if n > 0]
    return f" ({', '.join([counted(found.n_grades, 'grade'), *others])})" if others and found.n_grades else ""


def rater_line(rater: TaskRater, state: RaterState, name: str, unusual: Sequence[str]) -> RaterLine:
    mark, remark = rater_remark(rater, state, unusual)
    return RaterLine(
        number=rater.number,
        name=name,
        done=state.done,
        n=state.n,
        pace_s=state.pace_s,
        flags=state.flags,
        cannot_tell=state.cannot_tell,
        choices=state.choices,
        again_done=state.again_done,
        again_compared=state.again_compared,
        again_alike=state.again_alike,
        seen=rater.seen,
        revoked=rater.revoked,
        remark=remark,
        mark=mark,
    )


def rater_remark(rater: TaskRater, state: RaterState, unusual: Sequence[str]) -> tuple[Mark, str]:
    """Return where a rater stands, with what the page of agreement remarks on them."""
    mark, stands = where_stands(rater, state)
    return ("look", ", ".join([stands, *unusual])) if unusual else (mark, stands)


def where_stands(rater: TaskRater, state: RaterState) -> tuple[Mark, str]:
    if rater.revoked is not None:
        return "note", "revoked"
    if not rater.invited:
        return "note", "not invited"
    if not state.n:
        return "note", "nothing is left for them"
    if state.done >= state.n:
        return "fine", "done"
    return ("unsure", "at work") if state.done else ("note", "not begun")


# One task


class TaskOptions(Options):
    """Which task is shown."""

    task: str | None = None
    """Its number or name; the newest where none is given."""


class TaskPage(Record, kw_only=True):
    """What stands on the page of a task; all of it is empty where there is no task yet."""

    task: Task | None = None
    what: str = ""
    standing: TaskStanding | None = None
    settling: str = ""
    """What is settled between the systems, and what it would take."""
    settling_lines: tuple[str, ...] = ()
    """The same, what belongs to each pair of systems in a line of its own."""
    is_settled: bool = False
    agreement: str = ""
    """How much the raters agree, in a sentence; empty where no doc was graded twice."""
    flags: str = ""
    """What raters flag, would choose and prefer, in a sentence."""
    guideline: Guideline | None = None
    n_guidelines: int = 0
    """How many versions of the guideline judgments of this task followed, with the one that holds now."""
    n_items: int = 0
    n_gold: int = 0
    notes: tuple[str, ...] = ()
    """Queries that are left out, and docs without a text."""
    known: str = ""
    """What was left out as known already."""
    rule: str = ""
    trusted: str = ""
    """What the trusted rater is called, where the rule has one."""


def task_page(library: Library, asked: TaskOptions) -> TaskPage:
    """Show one task: how far each rater is, what is settled, and how much raters agree."""
    task = asked_task(library, asked.task)
    if task is None:
        return TaskPage()
    store = library.store
    items = store.tasks.items(task)
    settled = library.settling.now(task)
    found = agreement_in(library, task)
    return TaskPage(
        task=task,
        what=what_of(task) + added_words(library, task, len(items)),
        standing=standing_of(library, task, found),
        settling=settled.words if task.plan.measure else "",
        settling_lines=lines_of(store, task, settled) if task.plan.measure else (),
        is_settled=settled.settled,
        agreement=found.headline if found.twice.n else "",
        flags=flags_line(library, task),
        guideline=parse_guideline(store.judgments.guidelines()[task.guideline]),
        n_guidelines=found.n_guidelines,
        n_items=len({item.query for item in items}) if task.plan.mode == "lists" else len(items),
        n_gold=sum(item.gold is not None for item in items),
        notes=library.cached(("notes", task.number, task.plan.k, len(items)), lambda: task_notes(store, task)),
        known=library.cached(("known", task.number, task.plan.k, task.plan.size), lambda: known_words(library, task)),
        rule=RULES[task.plan.rule],
        trusted=shown_rater(store.raters.list(task), task.plan.trusted),
    )


def lines_of(store: Store, task: Task, settled: SettlingState) -> tuple[str, ...]:
    """Return what is settled line by line, and that nobody is left for what is open, where that is so."""
    nobody = nobody_words(task, settled, store.raters.list(task), judged_by(store, task))
    return (*settled.lines, nobody) if nobody else settled.lines


def added_words(library: Library, task: Task, n_items: int) -> str:
    """Say how many docs of a random sample were not drawn for it."""
    key = ("added", task.number, task.plan.k, task.plan.size, n_items)
    n = library.cached(key, lambda: n_added(library.store, task))
    return f", and {counted(n, 'doc')} added since" if n else ""


def known_words(library: Library, task: Task) -> str:
    """Say how many docs were left out, as their grades are known already."""
    plan = task.plan
    if plan.qrels is None or plan.mode == "lists" or plan.pool not in ("top", "sample", "settle"):
        return ""
    n = n_known(library.store, plan)
    return f"{counted(n, 'doc')} left out as known already (qrels {plan.qrels})"


def flags_line(library: Library, task: Task) -> str:
    """Say in a sentence what raters flag, would choose and prefer; nothing where they said nothing of the kind."""
    found = opinions_in(library, task)
    return found.headline if says_something(found) else ""


# What can be done


class TaskNumber(Options):
    """Which task it is about."""

    task: int


def page_of(number: int) -> str:
    return address("/judge/show", task=number)


class FormError(OptionError):
    """A field of a form cannot be as it is; the form is shown again, with this beside the field."""

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.field = field


FIELDS = {
    "name": "the name",
    "run": "the systems",
    "baseline": "the baseline",
    "pool": "which docs are judged",
    "k": "docs per query and system",
    "size": "at most, the number of docs",
    "measure": "what is to be settled",
    "margin": "the margin",
    "pairs": "queries and docs",
    "qrels": "what is known already",
    "judge_qrels": "the labels of a judge",
    "overlap": "raters per doc",
    "repeat": "the share that is shown twice",
    "gold": "the share of docs whose grade is known",
    "rule": "what a doc gets",
    "trusted": "the trusted rater",
    "guideline": "the guideline",
}
"""What fields of forms are called in sentences."""


class CreateOptions(Options):
    """What a new task is made of."""

    name: str
    collection: str
    run: tuple[int, ...] = ()
    """Numbers of stored runs."""
    baseline: int | None = None
    """The run with which the others are compared; the first of them where none is given."""
    mode: TaskMode = "docs"
    pool: PoolKind = "top"
    k: int = 10
    size: int | None = None
    """How many docs, or in lists how many queries, at most."""
    measure: str = ""
    margin: float | None = None
    """The smallest difference that matters; the project's where none is given."""
    pairs: str = ""
    """With the pool `file`: queries and docs, as lines of a table or of qrels."""
    qrels: int | None = None
    judge_qrels: int | None = None
    overlap: int = 1
    repeat: float = 0.05
    gold: float = 0.0
    rule: LabelRule = "lower median"
    trusted: str = ""
    """The name of the rater whose grade counts, with that rule."""
    ranks: bool = False
    """Whether raters see systems and ranks."""
    guideline: str = DEFAULT_GUIDELINE


def check_new_task(library: Library, asked: CreateOptions) -> None:
    """Refuse what cannot be, in the words of the form."""
    for field, is_wrong, words in (
        *names_and_numbers(library, asked),
        *pools_and_systems(asked),
        *checks_of_raters(asked),
    ):
        if is_wrong:
            raise FormError(field, words)
    if asked.measure.strip():
        with_field("measure", lambda: parse_measure(asked.measure.strip()))
        with_field("margin", lambda: check_margin(asked.margin, asked.measure.strip()))
    with_field("guideline", lambda: parse_guideline(asked.guideline.replace("\r\n", "\n")))


FormCheck: TypeAlias = tuple[str, bool, str]
"""The field, whether it is wrong, and what to say then."""


def names_and_numbers(library: Library, asked: CreateOptions) -> list[FormCheck]:
    name = asked.name.strip()
    taken = any(task.name == name for task in library.store.tasks.list())
    return [
        ("name", not name, "Give the task a name."),
        ("name", taken, f"There is a task {name} already: give this one another name."),
        ("k", not 1 <= asked.k <= 1000, "Take from 1 to 1,000 docs per query and system."),
        ("size", asked.size is not None and asked.size < 1, "At least one is needed; leave it empty for all of them."),
        ("overlap", not 1 <= asked.overlap <= 100, "From 1 to 100 raters can judge each doc."),
        ("margin", not 0 <= (asked.margin or 0.0) < math.inf, "A margin is a number, 0 or more."),
        (
            "margin",
            asked.margin is not None and not asked.measure.strip(),
            "A margin goes with a measure: say what is to be settled, or leave the margin empty.",
        ),
    ]


def pools_and_systems(asked: CreateOptions) -> list[FormCheck]:
    pool, n = asked.pool, len(asked.run)
    lists = asked.mode == "lists"
    return [
        ("run", not n and pool not in ("disagreements", "file"), "No system is chosen: choose at least one."),
        (
            "baseline",
            asked.baseline is not None and asked.baseline not in asked.run,
            "The baseline is not among the systems: choose it above, too, or take another one.",
        ),
        ("run", lists and n < 2, "Lists side by side need two systems or more."),
        (
            "pool",
            lists and pool not in ("top", "sample"),
            "Whole lists are shown as they are: take the first of each list, or a random sample of the queries.",
        ),
        ("run", pool == "settle" and n < 2, "A comparison needs two systems or more."),
        ("measure", pool == "settle" and not asked.measure.strip(), "Say which measure decides, such as nDCG@10."),
        (
            "measure",
            bool(asked.measure.strip()) and n < 2,
            "With fewer than two systems there is nothing to settle: choose another one, or leave this empty.",
        ),
        (
            "qrels",
            pool == "disagreements" and asked.qrels is None,
            "Choose what people have judged: the labels of the judge are compared with it.",
        ),
        (
            "judge_qrels",
            pool in ("disagreements", "audit") and asked.judge_qrels is None,
            "Choose the labels of the judge that people look at.",
        ),
        (
            "pairs",
            pool == "file" and not asked.pairs.strip(),
            "Write or paste the queries and docs, a pair in each line.",
        ),
        (
            "pairs",
            pool != "file" and bool(asked.pairs.strip()),
            "These are not used: choose the docs listed below, or empty this field.",
        ),
        (
            "size",
            pool == "file" and asked.size is not None,
            "Docs that are listed are all judged: leave this empty, or shorten the list.",
        ),
    ]


def checks_of_raters(asked: CreateOptions) -> list[FormCheck]:
    return [
        ("repeat", not 0 <= asked.repeat <= 0.5, "From nothing to a half can be shown twice."),
        ("gold", not 0 <= asked.gold <= 0.5, "From nothing to a half can be docs whose grade is known."),
        ("gold", asked.mode == "lists" and asked.gold > 0, "Lists have no known grade: choose none."),
        (
            "gold",
            asked.gold > 0 and asked.qrels is None,
            "Docs whose grade is known come from what is known already: choose qrels there, or none here.",
        ),
        ("trusted", asked.rule == "trusted" and not asked.trusted.strip(), "Name the rater whose grade counts."),
        (
            "trusted",
            asked.rule != "trusted" and bool(asked.trusted.strip()),
            "Nobody is trusted more by this rule: choose the grade of the trusted rater, or empty this field.",
        ),
    ]


def with_field(field: str, check: Callable[[], object]) -> None:
    """Say of which field an error is."""
    try:
        check()
    except RankscopeError as error:
        raise FormError(field, error.message, error.hint) from None


def field_of(message: str) -> str:
    """Return the field that an error of making a task is about; empty where it is about all of it."""
    for field, words in {
        "name": ("name of a task", "a task "),
        "gold": ("known grade",),
        "judge_qrels": ("not of a model",),
        "pairs": ("does not have the quer",),
        "pool": ("nothing to judge", "would hold"),
        "run": ("runs", "a run is"),
    }.items():
        if any(each in message for each in words):
            return field
    return ""


def pairs_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the queries and docs of lines: a table with the columns query and doc, two columns, or TREC qrels."""
    rows = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    separator = next((sign for sign in ("\t", ",", ";") if rows and sign in rows[0]), " ")
    cells = [row.split() if separator == " " else next(csv.reader([row], delimiter=separator)) for row in rows]
    head = [cell.strip().lower() for cell in cells[0]] if cells else []
    query, doc = (head.index("query"), head.index("doc")) if {"query", "doc"} <= set(head) else (0, 1)
    if {"query", "doc"} <= set(head):
        cells = cells[1:]
    elif head and len(head) == 4:
        doc = 2  # query, iteration, doc, grade
    for number, row in enumerate(cells, len(rows) - len(cells) + 1):
        if len(row) <= max(query, doc) or not row[query].strip() or not row[doc].strip():
            raise FormError("pairs", f"Line {number} of the docs does not name a query and a doc.")
        yield row[query].strip(), row[doc].strip()


def make_task(library: Library, identity: Identity, asked: CreateOptions) -> Task:
    """Make a judging task; raters are invited afterwards.

    Raises
    ------
    FormError
        A field cannot be as it is.
    """
    check_new_task(library, asked)
    plan = TaskPlan(
        mode=asked.mode,
        pool=asked.pool,
        k=(cut_of(asked.measure.strip()) or asked.k) if asked.pool == "audit" else asked.k,
        size=asked.size,
        measure=asked.measure.strip(),
        margin=asked.margin,
        qrels=asked.qrels,
        judge_qrels=asked.judge_qrels,
        overlap=asked.overlap,
        repeat_share=asked.repeat,
        gold_share=asked.gold,
        rule=asked.rule,
        trusted=asked.trusted.strip(),
        blind=not asked.ranks,
        seed=secrets.randbelow(2**31),
    )
    try:
        return create_task(
            library.store,
            asked.name.strip(),
            plan,
            runs=sorted(asked.run, key=lambda run: run != asked.baseline),
            collection=asked.collection,
            guideline=guideline_of(asked),
            pairs=pairs_of(asked.pairs) if asked.pool == "file" else (),
            who=identity.name,
        )
    except UnknownNameError:
        raise  # a run or qrels that are gone: no field of the form can be corrected
    except RankscopeError as error:
        raise FormError(field_of(error.message), error.message, error.hint) from None


def guideline_of(asked: CreateOptions) -> str:
    """Return the text of the form; one for docs that nobody changed makes place for the one for lists."""
    text = asked.guideline.replace("\r\n", "\n")
    return default_guideline(asked.mode) if text.strip() == DEFAULT_GUIDELINE.strip() else text


class ExtendOptions(TaskNumber):
    """What is added to a task."""

    k: int | None = None
    overlap: int | None = None
    size: int | None = None


def extend(library: Library, asked: ExtendOptions) -> TaskExtension:
    """Add docs, or raters of each doc, to a task; it is an error where nothing would be added."""
    task = library.store.tasks.get(asked.task)
    now = {"k": task.plan.k, "overlap": task.plan.overlap, "size": task.plan.size}
    wanted = {"k": asked.k, "overlap": asked.overlap, "size": asked.size}
    new = {name: value for name, value in wanted.items() if value is not None and value != now[name]}
    if not new:
        raise FormError(
            "extend", "Nothing would be added: these are the numbers that the task has.", "Make one larger."
        )
    for name, value in new.items():
        if (old := now[name]) is not None and value < old:
            words = f"{FIELDS[name].removeprefix('At most, ')} cannot become {value:,}: there are {old:,} already."
            raise FormError(name, words[:1].upper() + words[1:], "A task can only grow.")
    try:
        return extend_task(library.store, task, k=new.get("k"), size=new.get("size"), overlap=new.get("overlap"))
    except UnknownNameError:
        raise
    except RankscopeError as error:
        raise FormError("extend", error.message, error.hint) from None


def stop_task(library: Library, identity: Identity, asked: TaskNumber) -> str:  # noqa: ARG001 (the role was checked)
    """Let nothing more be judged in a task."""
    store = library.store
    store.tasks.stop(store.tasks.get(asked.task))
    return page_of(asked.task)


def reopen_task(library: Library, identity: Identity, asked: TaskNumber) -> str:  # noqa: ARG001 (as above)
    """Let raters of a stopped task go on."""
    store = library.store
    store.tasks.reopen(store.tasks.get(asked.task))
    return page_of(asked.task)


class RaterNumber(TaskNumber):
    """Which rater it is about."""

    rater: int


def revoke_rater(library: Library, identity: Identity, asked: RaterNumber) -> str:  # noqa: ARG001 (as above)
    """End an invitation; what was judged stays."""
    library.store.raters.revoke(rater_in(library, asked).number)
    return page_of(asked.task)


def forget_rater(library: Library, identity: Identity, asked: RaterNumber) -> str:  # noqa: ARG001 (as above)
    """End an invitation and take the name away; what was judged stays."""
    library.store.raters.forget(rater_in(library, asked).number)
    return page_of(asked.task)


class GuidelineOptions(TaskNumber):
    """The text that raters follow from now on."""

    guideline: str


def save_guideline(library: Library, identity: Identity, asked: GuidelineOptions) -> str:  # noqa: ARG001 (as above)
    """Let what is judged from now on follow another text of the same scale."""
    change_guideline(library.store, library.store.tasks.get(asked.task), asked.guideline.replace("\r\n", "\n"))
    return page_of(asked.task)


def rater_in(library: Library, asked: RaterNumber) -> TaskRater:
    """Return a rater of a task; one of another task is an error."""
    rater = library.store.raters.get(asked.rater)
    if rater.task != asked.task:
        raise OptionError(f"rater {asked.rater} belongs to another task", hint="load the page again")
    return rater


class InviteOptions(TaskNumber):
    """Who is invited."""

    name: str = ""
    """As the rater is called; they write it themselves where it is empty."""
