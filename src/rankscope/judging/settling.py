"""Is a verdict settled? What the docs that nobody has judged yet could still make of a comparison, at the worst.

Settled means: whatever grades of the scale the open docs get, the verdict stays the same word. That is read off the
worst-case bounds of every query's difference, never off the tipping point, which only says how likely a turn is.
Open are the docs of the task, and those among the first k of a compared system, that have no grade, or fewer grades
than the task asks for, as further raters may change what the rule makes of them.

How many more judgments that takes depends on what they will say. So there are two numbers: at most as many as the open
docs lack that can move a difference, and about as many as it takes when these docs are graded like those judged so far,
query by query in the order of the queue (the median over random draws). A doc that two raters are to judge lacks two.

Where the labels of a model are audited, nothing is settled by the docs judged so far: looking again and again until
it is would call differences that are none. There the looks are planned, each at a level of its own, and in between
it only says how far the next one is.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rankscope.align.top import leading_docs
from rankscope.analysis.unjudged import supports
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.pairs import interval_around
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.verdict import VerdictContext, verdict_of
from rankscope.data.run import Run
from rankscope.data.tasks import Task, TaskItem, TaskPlan
from rankscope.errors import InputError, RankscopeError
from rankscope.io.ids import byte_order
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.labels import TaskGrades, grades_of_task, known_labels, labels_of, with_known
from rankscope.judging.queue import unit_hash
from rankscope.judging.worst_case import (
    ComparedRuns,
    DifferenceBox,
    KnownGrades,
    about_how_many,
    are_settled,
    bounds_of_pairs,
    common_queries,
    left_to_judge,
    nothing_judged,
    open_of,
)
from rankscope.printable import counted
from rankscope.records import Record, or_nan, or_none, replace, to_json
from rankscope.store.labels import QueryDoc

if TYPE_CHECKING:
    from rankscope.store.store import Store

FEWEST_GRADES = 10
"""With fewer docs judged so far, nothing is said of those to come."""
LOOKS = (20, 40, 80)
"""After so many audited queries an audit is looked at, all looks together at level 1 - alpha."""
ALPHA = 0.05
REST = 4
"""So many times longer than it works a server rests before it looks again."""
NONE_RELEVANT = "No doc is relevant, so no score differs."
KEPT_TASKS = 8
"""Of so many tasks the runs are kept in memory."""

SettlingStage = Literal["nothing to settle", "nothing judged", "cannot be bounded", "open", "settled", "audit"]


class PairSettling(Record, kw_only=True):
    """Where the comparison of two systems stands; differences are b minus a."""

    a: str
    b: str
    measure: str
    code: Code
    """The verdict on the judgments there are."""
    text: str
    reason: str
    delta: float | None
    low: float | None
    """The lowest difference that any grades of the open docs lead to; None where it is not known."""
    high: float | None
    tipping_point: float | None
    """How often the unjudged docs of the system behind would have to be relevant to close the gap; None: no share does,
    or nothing is claimed."""
    n_open: int
    """Open docs that can move the difference."""
    ahead: bool
    """Whether it is certain which system has the higher mean, or that both have the same."""
    settled: bool
    """Whether the verdict is the same one whatever the open docs are."""


class AuditLook(Record, kw_only=True):
    """Where an audit stands: between two planned looks, or at one."""

    n_audited: int
    """Queries at the beginning of the audit order whose docs are all judged."""
    n_queries: int
    look: int
    """How many looks have been reached; 0 before the first."""
    looks: tuple[int, ...]
    """After how many queries each is."""
    level: float
    """Of the intervals at each look."""
    n_changed: int = 0
    """Queries for which the systems have different docs, where only these are audited; 0 where all are."""
    n_all: int = 0
    """All queries that the systems were asked; 0 where all are audited."""

    @property
    def next_at(self) -> int | None:
        """After how many queries the next look is; None after the last."""
        return self.looks[self.look] if self.look < len(self.looks) else None


class SettlingState(Record, kw_only=True):
    """What is settled in a task after its newest judgment, and what is left to judge."""

    stage: SettlingStage
    """`nothing judged`: no doc is known to be relevant, so there is no verdict yet; `cannot be bounded`: the worst case
    of this measure is not known."""
    last_judgment: int
    """The number of the newest judgment that it knows."""
    n_judged: int
    """Docs that have as many grades as the task asks for."""
    n_open: int
    """Open docs that can still turn a verdict; judging all of them settles it for certain."""
    n_about: int | None
    """About how many judgments it takes if these docs are graded like those so far; None where too few are."""
    n_judgments: int = 0
    """How many judgments these docs lack: as many as raters are to judge each."""
    pairs: tuple[PairSettling, ...] = ()
    order: tuple[QueryDoc, ...] = ()
    """Open docs, those that move the verdict most first, and the docs of a query one after the other."""
    look: AuditLook | None = None

    @property
    def settled(self) -> bool:
        """Whether no grades of open docs can change the verdict."""
        return self.stage == "settled"

    @property
    def short(self) -> str:
        """A line for raters: it names no system and no verdict."""
        return rater_line(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """For those who may know the systems: what stands, what it would take, and what that assumes."""
        return tuple(line for line in (*map(pair_words, self.pairs), assumption_words(self)) if line)

    @property
    def words(self) -> str:
        """The lines as one text."""
        return " ".join(self.lines)


def settle(compared: ComparedRuns, known: KnownGrades) -> SettlingState:
    """Tell what is settled by the grades there are, and which docs to judge next."""
    state = SettlingState(
        stage="nothing judged", last_judgment=known.last_judgment, n_judged=known.n_finished, n_open=0, n_about=None
    )
    request = compared.request()
    scoring = request.scoring()
    measure, policies = scoring.measures[0], scoring.policies
    qrels, top = known.qrels(compared.query_ids), max(compared.scale, default=0.0)
    finished = known.qrels(compared.query_ids, finished=True) or nothing_judged(compared.query_ids)
    certain = float(finished.ideal[1].max(initial=0.0))
    by_highest = measure.arguments(rel=policies.relevance_level).get("max_grade", top) is None
    if not supports(measure, policies) or (by_highest and certain < top):
        return replace(state, stage="cannot be bounded")
    bounds = bounds_of_pairs(compared, finished, (*compared.docs, *known.unfinished))
    if qrels is None or float(qrels.ideal[1].max(initial=0.0)) < policies.relevance_level:
        return to_judge(state, known, left_to_judge(bounds, [False] * len(bounds)))
    pairs = compare_runs(qrels, dict(compared.runs), request, on_note=lambda _: None).groups[0].compared
    boxes = [DifferenceBox.of(each) for each in bounds]
    settled = are_settled(pairs, boxes, [each.counted for each in bounds], compared)
    lacking = [pair for pair in sorted(compared.docs | known.unfinished) if known.joint and known.n_missing(pair)]
    if lacking or not all(box.is_closed for box in boxes):
        # docs that may make all scores 0, labels that other docs may change, and docs that nobody has judged
        is_safe = certain >= policies.relevance_level and not lacking
        settled = [
            done and is_safe and pair.final_verdict.because != "unjudged"
            for pair, done in zip(pairs, settled, strict=True)
        ]
    order, about = left_to_judge(bounds, settled), None
    if order and known.n_finished >= FEWEST_GRADES and not lacking:
        about = about_how_many(compared, known, pairs, bounds, order)
    found = tuple(
        pair_settling(pair, None if lacking else box, settled=done, n_open=len(open_of(each)))
        for pair, box, done, each in zip(pairs, boxes, settled, bounds, strict=True)
    )
    stage: SettlingStage = "settled" if all(settled) else "open"
    order = tuple(dict.fromkeys((*order, *lacking)))
    return to_judge(replace(state, stage=stage, pairs=found, n_about=about), known, order)


def to_judge(state: SettlingState, known: KnownGrades, order: tuple[QueryDoc, ...]) -> SettlingState:
    """Return where a task stands with the docs that are left to judge."""
    return replace(state, n_open=len(order), n_judgments=sum(map(known.n_missing, order)), order=order)


def settle_audit(
    compared: ComparedRuns | None,
    known: KnownGrades,
    items: Iterable[TaskItem],
    *,
    looks: Sequence[int] = LOOKS,
    changed: tuple[int, int] = (0, 0),
) -> SettlingState:
    """Tell how far an audit is; at a planned look also what people's grades say of the queries audited by then.

    What counts are the queries at the beginning of the audit order: those alone were drawn at random. `changed` says
    for how many queries the systems have different docs, and of how many, where only these are audited.
    """
    docs_of: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: item.place):
        if item.purpose == "audit":
            docs_of.setdefault(item.query, []).append(item.doc)
    order = tuple((query, doc) for query, docs in docs_of.items() for doc in docs if not known.is_finished(query, doc))
    queries = list(docs_of)
    audited = queries[: queries.index(order[0][0])] if order else queries
    planned = tuple(sorted({min(n, len(queries)) for n in looks}))
    look = AuditLook(
        n_audited=len(audited),
        n_queries=len(queries),
        look=sum(n <= len(audited) for n in planned),
        looks=planned,
        level=round(1 - ALPHA / len(planned), 6),
        n_changed=changed[0],
        n_all=changed[1],
    )
    pairs: tuple[PairSettling, ...] = ()
    if compared is not None and queries and look.look:
        seen = tuple(audited[: planned[look.look - 1]])
        at_look = replace(compared, query_ids=seen, alpha=ALPHA / len(planned))
        margin_given = compared.margin is not None
        pairs = tuple(
            pair_settling(over_all(pair, look, margin_given=margin_given)) for pair in people_say(at_look, known)
        )
    state = SettlingState(
        stage="audit",
        last_judgment=known.last_judgment,
        n_judged=known.n_finished,
        n_open=0,
        n_about=None,
        pairs=pairs,
        look=look,
    )
    return to_judge(state, known, order)


def over_all(pair: PairResult, look: AuditLook, *, margin_given: bool) -> PairResult:
    """Return a pair on audited queries as it is over all queries: where both have the same docs, nothing differs.

    With s the share of queries that have changed and M the number of all, the difference is s times that of the changed
    ones, and its squared standard error s^2 SE^2 + s (1 - s) d^2 / M: another set of queries has another share.
    """
    delta, error = pair.delta, pair.standard_error
    if not 0 < look.n_changed < look.n_all or delta is None or error is None or not pair.differs:
        return pair
    share = look.n_changed / look.n_all
    error = math.sqrt(share**2 * error**2 + share * (1 - share) * delta**2 / look.n_all)
    delta, critical, narrow = share * delta, or_nan(pair.mde.critical), or_nan(pair.critical_equivalence)
    small = pair.ci_equivalence
    found = replace(
        pair,
        delta=delta,
        standard_error=error,
        ci=interval_around(delta, critical * error, pair.ci.level, pair.ci.method),
        ci_equivalence=interval_around(delta, narrow * error, small.level, small.method),
    )
    return replace(found, verdict=verdict_of(found, VerdictContext(margin_given=margin_given)))


def changed_queries(compared: ComparedRuns, k: int) -> tuple[int, int]:
    """Return for how many queries the systems differ in their first k docs, and how many all of them were asked."""
    queries, policies = common_queries(compared.runs), compared.request().scoring().policies
    lists = [leading_docs(run, queries, policies, depth=k).docs for run in compared.runs.values()]
    return sum(len(set(of_query)) > 1 for of_query in zip(*lists, strict=True)), len(queries)


def people_say(compared: ComparedRuns, known: KnownGrades) -> tuple[PairResult, ...]:
    """Return the pairs compared on audited queries; none where no doc of them is relevant."""
    qrels, request = known.qrels(compared.query_ids), compared.request()
    if qrels is None or qrels.ideal[1].max(initial=0.0) < request.scoring().policies.relevance_level:
        return ()
    return compare_runs(qrels, dict(compared.runs), request, on_note=lambda _: None).groups[0].compared


def pair_settling(
    pair: PairResult, box: DifferenceBox | None = None, *, settled: bool = False, n_open: int = 0
) -> PairSettling:
    verdict, check = pair.final_verdict, pair.unjudged
    low, high = (None, None) if box is None else map(or_none, box.means)
    return PairSettling(
        a=pair.a,
        b=pair.b,
        measure=pair.measure,
        code=verdict.code,
        text=verdict.text,
        reason=verdict.reason,
        delta=pair.delta,
        low=low,
        high=high,
        tipping_point=None if check is None else check.tipping_point,
        n_open=n_open,
        ahead=box is not None and box.is_ahead,
        settled=settled,
    )


def rater_line(state: SettlingState) -> str:
    """Say how far it is to a settled answer, to somebody who is not to know between which systems."""
    if state.stage == "settled":
        return "It is settled: no grade of the docs that are left can change the answer."
    if state.look is not None:
        return look_words(state.look)
    if state.stage in ("nothing to settle", "cannot be bounded"):
        return ""
    if not state.n_open:
        return NONE_RELEVANT
    docs = "" if state.n_judgments == state.n_open else f" (of {counted(state.n_open, 'doc')})"
    if state.n_about is None or state.n_about == state.n_judgments:
        return f"At most {more_judgments(state.n_judgments)}{docs} and it is settled."
    return f"About {more_judgments(state.n_about)} and it is settled, at most {state.n_judgments:,}{docs}."


def more_judgments(n: int) -> str:
    return f"{n:,} more judgment{'' if n == 1 else 's'}"


def look_words(look: AuditLook) -> str:
    done = f"{look.n_audited} of {counted(look.n_queries, 'query')} audited"
    if look.next_at is None:
        return f"{done}; all planned looks are reached."
    return f"{done}; look {look.look + 1} of {len(look.looks)} is after {look.next_at}."


def pair_words(pair: PairSettling) -> str:
    """Say what stands between two systems, and how far the open docs could move it."""
    against = f"{pair.b} against {pair.a}: {pair.text} {pair.reason}".rstrip()
    if pair.low is None or pair.high is None:
        return against
    if pair.settled:
        return f"{against} Settled: no grade of an open doc changes this."
    ends = f"{pair.low:+.3f} to {pair.high:+.3f}"
    ahead = " (who is ahead is certain)" if pair.ahead else ""
    return f"{against} Not settled: {counted(pair.n_open, 'open doc')} could make the difference {ends}{ahead}."


def assumption_words(state: SettlingState) -> str:
    """Say how many judgments are left, and what that number assumes."""
    if state.look is not None:
        level = f"{look_words(state.look)} Each look has a level of {state.look.level:.1%}."
        if not state.pairs:
            return level
        if state.look.n_changed < state.look.n_all:
            n_changed, n_all = state.look.n_changed, counted(state.look.n_all, "query")
            where = f"It is told of all {n_all}, of which {n_changed} have different docs and are audited"
            return f"{level} {where}; people's grades alone count."
        return f"{level} People's grades alone count."
    if state.stage == "nothing to settle":
        return "No measure is named, so nothing is to be settled."
    if state.stage == "cannot be bounded":
        return "What open docs could do to this measure at the worst is not known, so it is never called settled."
    if state.stage == "settled":
        return ""
    if not state.n_open:
        return NONE_RELEVANT
    each = "" if state.n_judgments == state.n_open else f" ({more_judgments(state.n_judgments)})"
    most = f"Judging all {counted(state.n_open, 'open doc')} that can move it{each} settles it for certain"
    if state.n_about is None:
        few = state.n_judged < FEWEST_GRADES
        return (
            f"{most}; {FEWEST_GRADES} docs have to be judged before there is a guess at fewer." if few else f"{most}."
        )
    about = counted(state.n_about, "judgment") if each else f"{state.n_about:,}"
    return f"{most}; about {about} do if they are graded like those so far."


def settling_of(store: Store, task: Task) -> SettlingState:
    """Return what is settled in a stored task by its newest judgments.

    Parameters
    ----------
    store
        Keeps the runs, and the judgments.
    task
        Which one.

    Returns
    -------
    SettlingState
        Whether the verdict can still change, by how much, and which docs to judge next.

    Examples
    --------
    >>> import rankscope as rs
    >>> with rs.open_store("kept.db", create=True) as store:
    ...     plan = rs.TaskPlan(pool="file")
    ...     task = rs.create_task(store, "first", plan, collection="recipes", pairs=[("q1", "d1")])
    ...     rs.settling_of(store, task).words
    'No measure is named, so nothing is to be settled.'
    """
    return TaskSettling(store, task).state()


class TaskSettling:
    """A task with the runs that it compares, read once; where it stands is worked out anew after new judgments."""

    def __init__(self, store: Store, task: Task) -> None:
        self.store, self.task = store, task
        self.compared = compared_runs(store, task)
        self.latest: SettlingState | None = None

    def state(self) -> SettlingState:
        newest = self.store.judgments.newest(str(self.task.number))
        if self.latest is None or self.latest.last_judgment < newest:
            self.latest = self._state(newest)
        return self.latest

    def _state(self, newest: int) -> SettlingState:
        graded = grades_of_task(self.store, self.task)
        known = known_grades(graded, newest)
        if self.task.plan.pool == "audit":
            plan, compared = self.task.plan, self.compared
            changed = changed_queries(compared, plan.k) if compared is not None and plan.changed_only else (0, 0)
            return settle_audit(compared, known, graded.items, looks=plan.looks, changed=changed)
        if self.compared is None:
            return SettlingState(
                stage="nothing to settle", last_judgment=newest, n_judged=known.n_finished, n_open=0, n_about=None
            )
        return settle(self.compared, known)


class SettlingWatch:
    """Where the tasks of a store stand, for a server: nobody who saves a judgment waits for it.

    `latest` returns the newest answer at once, and lets a thread of its own work out a newer one. Of a task there is
    one at a time, and where judgments come faster than answers, it rests longer than it works.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self._tasks: OrderedDict[tuple[int, str], TaskSettling] = OrderedDict()
        self._not_before: dict[int, float] = {}
        self._lock = threading.Lock()

    def latest(self, task: Task) -> SettlingState | None:
        """Return the newest answer there is, None before the first."""
        with self._lock:
            known = self._tasks.get(key_of(task))
            starts = self.clock() >= self._not_before.get(task.number, 0.0)
            if starts:
                self._not_before[task.number] = math.inf
        if starts:
            threading.Thread(target=self._work, args=(task,), daemon=True, name=f"settling {task.number}").start()
        return None if known is None else known.latest

    def is_newest(self, task: Task, state: SettlingState | None) -> bool:
        """Tell whether an answer knows the newest judgment."""
        return state is not None and state.last_judgment >= self.store.judgments.newest(str(task.number))

    def now(self, task: Task) -> SettlingState:
        """Return where a task stands by its newest judgment, and wait for it."""
        with self._lock:
            known = self._tasks.get(key_of(task))
        known = known or TaskSettling(self.store, task)
        state = known.state()
        with self._lock:
            self._tasks[key_of(task)] = known
            self._tasks.move_to_end(key_of(task))
            while len(self._tasks) > KEPT_TASKS:
                self._tasks.popitem(last=False)
        return state

    def _work(self, task: Task) -> None:
        started = self.clock()
        try:
            self.now(task)
        except RankscopeError:
            pass  # `now` raises it again for whoever asks
        finally:
            with self._lock:
                self._not_before[task.number] = self.clock() + REST * (self.clock() - started)


def key_of(task: Task) -> tuple[int, str]:
    """Return what stands for a task as it is planned: another plan has other docs."""
    return task.number, to_json(task.plan, indent=None)


def compared_runs(store: Store, task: Task) -> ComparedRuns | None:
    """Return the runs that a task compares; None where it compares none."""
    plan = task.plan
    if not plan.measure or not plan.runs[1:]:
        return None
    known = {run.number: run for run in store.runs.list(collection=task.collection, repetitions=True)}
    stored = [known[number] for number in plan.runs]
    names = plan.systems if len(plan.systems) == len(stored) else tuple(run.system for run in stored)
    runs = {name: store.runs.ranking(run) for name, run in zip(names, stored, strict=True)}
    before = None if plan.pool == "audit" else known_labels(store, task)
    items = store.tasks.items(task)
    queries = {item.query for item in items} | set(before or ())
    if plan.pool not in ("audit", "file"):  # queries of which nothing is to be judged count, too
        queries.update(common_queries(runs))
    guideline = parse_guideline(store.judgments.guidelines()[task.guideline])
    return ComparedRuns(
        runs=runs,
        measure=plan.measure,
        margin=plan.margin,
        query_ids=tuple(sorted(queries, key=byte_order)),
        scale=tuple(each.grade for each in guideline.scale),
        docs=frozenset((item.query, item.doc) for item in items),
        seed=plan.seed,
    )


def known_grades(graded: TaskGrades, newest: int) -> KnownGrades:
    """Return the label of each doc by the rule of a task; where that rule needs more grades, by the lower median."""
    plan, grades = graded.task.plan, dict[str, dict[str, float]]()
    joint = plan.rule == "dawid-skene"
    try:
        labels = labels_of(graded).grades if graded.grades else {}
    except InputError:
        labels, joint = labels_of(graded, rule="lower median").grades, True
    for (query, doc), grade in (with_known(graded, labels, all_queries=plan.pool != "audit") | graded.gold).items():
        grades.setdefault(query, {})[doc] = grade
    asked = {(item.query, item.doc) for item in graded.items} if plan.pool != "audit" else set()
    n_grades = {pair: len(graded.grades.get(pair, ())) for pair in asked | graded.grades.keys()}
    few = {pair: n for pair, n in n_grades.items() if n < plan.overlap and pair not in graded.gold}
    return KnownGrades(
        grades=grades,
        unfinished=frozenset(pair for pair in few if pair[1] in grades.get(pair[0], {})),
        last_judgment=newest,
        overlap=plan.overlap,
        n_grades=few,
        joint=joint,
    )


def order_for(state: SettlingState | None, seed: int) -> tuple[QueryDoc, ...]:
    """Return the order of a rater's queue: queries by what moves the verdict most, their docs in the rater's own order.

    Docs by how far they move it would show which of them one system alone has.
    """
    if state is None or state.stage == "audit":
        return ()
    place = {query: i for i, query in enumerate(dict.fromkeys(query for query, _ in state.order))}
    return tuple(sorted(state.order, key=lambda pair: (place[pair[0]], unit_hash(seed, *pair))))


def settle_items(
    plan: TaskPlan,
    runs: Mapping[str, Run],
    pooled: Iterable[TaskItem],
    known: Mapping[str, Mapping[str, float]],
    *,
    scale: Sequence[float],
) -> list[TaskItem]:
    """Return the docs whose grades settle a comparison; the place of a query is where the queue has it at first.

    All queries count that the runs were asked, also those whose difference no grade changes.
    """
    found = {(item.query, item.doc): item for item in pooled}
    queries = {*common_queries(runs), *known}
    compared = ComparedRuns(
        runs=runs,
        measure=plan.measure,
        margin=plan.margin,
        query_ids=tuple(sorted(queries, key=byte_order)),
        scale=tuple(scale),
        seed=plan.seed,
    )
    order = settle(compared, KnownGrades(grades=known)).order
    place = {query: i for i, query in enumerate(dict.fromkeys(query for query, _ in order))}
    return [
        TaskItem(
            number=0,
            query=query,
            doc=doc,
            place=place[query],
            ranks=found[query, doc].ranks if (query, doc) in found else {},
        )
        for query, doc in order[: plan.size]
    ]
