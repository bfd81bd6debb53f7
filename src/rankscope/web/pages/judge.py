"""Judging tasks: which there are, how far each rater is, a form that makes one, and what can be done with it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Literal

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
)
from rankscope.errors import OptionError
from rankscope.judging.agreement import AgreementReport
from rankscope.judging.guidelines import DEFAULT_GUIDELINE, parse_guideline
from rankscope.judging.rater_view import RaterState
from rankscope.judging.session import states_of_raters
from rankscope.judging.tasks import change_guideline, create_task, extend_task
from rankscope.printable import counted
from rankscope.records import Options, Record
from rankscope.report.document import Mark
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


class TaskForm(Record, kw_only=True):
    """What a new task can be made of."""

    collection: str
    runs: tuple[PoolRun, ...]
    qrels: tuple[PoolQrels, ...]
    """The newest first."""
    measures: tuple[str, ...]
    guideline: str
    """The text that the form begins with: that of the newest task, or the usual one."""


class JudgePage(Record, kw_only=True):
    """What stands on the page of the tasks."""

    answer: str
    collections: tuple[str, ...]
    collection: str
    tasks: tuple[TaskLine, ...]
    form: TaskForm | None
    """None where there is no run whose docs could be judged."""


def judge_page(library: Library, asked: JudgeOptions) -> JudgePage:
    """List the judging tasks, the newest first, with what a new one can be made of."""
    store = library.store
    names = store.runs.collections()
    tasks = [task for task in store.tasks.list() if asked.collection in (None, task.collection)][::-1]
    name = asked.collection or (tasks[0].collection if tasks else newest_collection(library)) or ""
    lines = tuple(task_line(library, task) for task in tasks)
    return JudgePage(
        answer=answer_of(lines),
        collections=names,
        collection=name,
        tasks=lines,
        form=task_form(library, name) if name in names else None,
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
    "top": "the first {k} docs of each system",
    "settle": "docs that move the comparison most",
    "sample": "a random sample of docs",
    "disagreements": "docs on which a judge and people differ",
    "audit": "the order of an audit",
    "file": "docs of a file",
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
    pool = "the first {k} docs of each list" if plan.mode == "lists" else POOLS[plan.pool]
    of = f" of {', '.join(plan.systems)}" if plan.systems else ""
    kind = "lists side by side: " if plan.mode == "lists" else ""
    return f"{kind}{pool.format(k=plan.k)}{of}"


def task_form(library: Library, name: str) -> TaskForm:
    runs: dict[str, PoolRun] = {}
    for run in library.store.runs.list(collection=name):
        runs[run.system] = PoolRun(run.number, run.system, run.started)
    tasks = [task for task in library.store.tasks.list() if task.collection == name]
    texts = library.store.judgments.guidelines() if tasks else {}
    return TaskForm(
        collection=name,
        runs=tuple(sorted(runs.values(), key=lambda run: run.system)),
        qrels=tuple(PoolQrels(qrels.number, qrels.stored) for qrels in library.store.qrels.list(name=name)[::-1]),
        measures=known_measures(library, name, USUAL[0]),
        guideline=texts.get(tasks[-1].guideline, DEFAULT_GUIDELINE) if tasks else DEFAULT_GUIDELINE,
    )


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
    again_alike: int
    seen: str | None
    revoked: str | None
    remark: str
    mark: Mark


class TaskStanding(Record, kw_only=True):
    """How far a task is."""

    n: int
    """What is to be judged, of all raters together."""
    done: int
    share: float
    words: str
    raters: tuple[RaterLine, ...]


def standing_of(library: Library, task: Task, found: AgreementReport | None = None) -> TaskStanding:
    """Return how far a task is; with what is found on its agreement also how many answers are grades, and remarks."""
    store = library.store
    states = states_of_raters(store, task)
    known = [rater for rater in store.raters.list(task) if rater.number in states]  # one may be invited meanwhile
    names = names_of_raters(known)
    unusual = {} if found is None else {rater.id: rater.remarks for rater in found.raters}
    lines = tuple(
        rater_line(rater, states[rater.number], names[rater.id] if rater.name else "", unusual.get(rater.id, ()))
        for rater in known
    )
    counted_ = [line for line in lines if line.revoked is None or line.done]
    n, done = sum(line.n for line in counted_), sum(line.done for line in counted_)
    unit = "query" if task.plan.mode == "lists" else "doc"
    if not lines:
        items = len({item.query if task.plan.mode == "lists" else item.number for item in store.tasks.items(task)})
        words = f"{counted(items, unit)}; nobody is invited yet."
    else:
        active = [line for line in lines if line.revoked is None]
        raters = counted(len(active), "rater")
        kinds = "" if found is None else kinds_of_answers(found, counted_)
        words = f"{done:,} of {n:,} answers are given{kinds}, by {raters}." if n else f"{raters}, and nothing to judge."
    share, missing = done / n if n else 0.0, task.plan.overlap - len(counted_)
    if lines and missing > 0:
        share *= len(counted_) / task.plan.overlap
        words += f" {task.plan.overlap} raters are to judge each {unit}: {missing} more can be invited."
    return TaskStanding(n=n, done=done, share=share, words=words, raters=lines)


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
    is_settled: bool = False
    agreement: str = ""
    """How much the raters agree, in a sentence; empty where no doc was graded twice."""
    flags: str = ""
    """What raters flag, would choose and prefer, in a sentence."""
    guideline: Guideline | None = None
    n_guidelines: int = 0
    """How many versions of the guideline judgments of this task followed."""
    n_items: int = 0
    n_gold: int = 0
    rule: str = ""


def task_page(library: Library, asked: TaskOptions) -> TaskPage:
    """Show one task: how far each rater is, what is settled, and how much raters agree."""
    task = asked_task(library, asked.task)
    if task is None:
        return TaskPage()
    store = library.store
    items = store.tasks.items(task)
    followed = {stored.judgment.guideline for stored in store.judgments.list(task.collection, task=str(task.number))}
    settled = library.settling.now(task)
    found = agreement_in(library, task)
    return TaskPage(
        task=task,
        what=what_of(task),
        standing=standing_of(library, task, found),
        settling=settled.words if task.plan.measure else "",
        is_settled=settled.settled,
        agreement=found.headline if found.twice.n else "",
        flags=flags_line(library, task),
        guideline=parse_guideline(store.judgments.guidelines()[task.guideline]),
        n_guidelines=len(followed | {task.guideline}),
        n_items=len(items),
        n_gold=sum(item.gold is not None for item in items),
        rule=RULES[task.plan.rule],
    )


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


class CreateOptions(Options):
    """What a new task is made of."""

    name: str
    collection: str
    run: tuple[int, ...] = ()
    """Numbers of stored runs; the first is the baseline."""
    mode: TaskMode = "docs"
    pool: Literal["top", "settle", "sample", "disagreements"] = "top"
    k: int = 10
    size: int | None = None
    """How many docs, or in lists how many queries, at most."""
    measure: str = ""
    qrels: int | None = None
    judge_qrels: int | None = None
    overlap: int = 1
    repeat: float = 0.05
    gold: float = 0.0
    rule: LabelRule = "lower median"
    ranks: bool = False
    """Whether raters see systems and ranks."""
    guideline: str = DEFAULT_GUIDELINE


def make_task(library: Library, identity: Identity, asked: CreateOptions) -> str:
    """Make a judging task; raters are invited afterwards."""
    if not asked.run and asked.pool != "disagreements":
        raise OptionError("no system is chosen", hint="choose at least one; lists, and what is to be settled, need two")
    plan = TaskPlan(
        mode=asked.mode,
        pool=asked.pool,
        k=asked.k,
        size=asked.size,
        measure=asked.measure if len(asked.run) > 1 else "",
        qrels=asked.qrels,
        judge_qrels=asked.judge_qrels,
        overlap=asked.overlap,
        repeat_share=asked.repeat,
        gold_share=asked.gold,
        rule=asked.rule,
        blind=not asked.ranks,
        seed=secrets.randbelow(2**31),
    )
    made = create_task(
        library.store,
        asked.name.strip(),
        plan,
        runs=asked.run,
        collection=asked.collection,
        guideline=asked.guideline.replace("\r\n", "\n"),
        who=identity.name,
    )
    return page_of(made.number)


class ExtendOptions(TaskNumber):
    """What is added to a task."""

    k: int | None = None
    overlap: int | None = None


def extend(library: Library, identity: Identity, asked: ExtendOptions) -> str:  # noqa: ARG001 (the role was checked)
    """Add docs, or raters of each doc, to a task."""
    task = library.store.tasks.get(asked.task)
    k = asked.k if asked.k != task.plan.k else None
    overlap = asked.overlap if asked.overlap != task.plan.overlap else None
    if k is not None or overlap is not None:
        extend_task(library.store, task, k=k, overlap=overlap)
    return page_of(asked.task)


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
