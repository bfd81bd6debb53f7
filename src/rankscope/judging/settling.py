"""Is a verdict settled? What the docs that nobody has judged yet could still make of a comparison, at the worst.

Settled means: whatever grades of the scale the open docs get, the verdict stays the same word. That is read off the
worst-case bounds of every query's difference, never off the tipping point, which only says how likely a turn is.
Open are the docs of the task, and those among the first k of a compared system, that have no grade, or fewer grades
than the task asks for where further raters may change what the rule makes of them. Docs outside the task are known
as such: no rater will judge them, so where they can turn the verdict the task alone cannot settle it. No other docs are
covered. To most measures they are nothing; where a relevant one changes what a perfect list is (nDCG, R, AP), any doc
of the collection might, so that every sentence says of which docs it speaks.

Of some measures the worst case is not known. What they say now is shown, and it is settled once nothing is open.

How many more judgments that takes depends on what they will say. So there are two numbers: at most as many as the open
docs lack that can move a difference, and about as many as it takes when these docs are graded like those judged so far,
query by query in the order of the queue (the median over random draws). A doc that two raters are to judge lacks two.

Where the labels of a model are audited, nothing is settled by the docs judged so far: looking again and again until
it is would call differences that are none. There the looks are planned, each at a level of its own, and in between
it only says how far the next one is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs
from rankscope.analysis.unjudged import supports
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.known_measures import furthest_of
from rankscope.comparison.pairs import interval_around, within
from rankscope.comparison.records import PairResult
from rankscope.comparison.verdict import VerdictContext, verdict_of
from rankscope.data.run import Run
from rankscope.data.tasks import LabelRule, Task, TaskItem, TaskPlan
from rankscope.errors import GradeError, MeasureError
from rankscope.io.ids import byte_order
from rankscope.judging.audits import (
    JudgeLabels,
    audit_context,
    corrected_pairs,
    judge_labels,
    label_words,
    planned_looks,
)
from rankscope.judging.completions import CasesTried, DocLabels, outcomes_of, sharpened
from rankscope.judging.labels import (
    TaskGrades,
    grades_of_task,
    labels_by_rule,
    labels_to_come,
    trusted_key,
    with_known,
)
from rankscope.judging.pools import reading_of
from rankscope.judging.queue import unit_hash
from rankscope.judging.rater_verdicts import raters_own_verdicts
from rankscope.judging.settling_state import (
    FEWEST_GRADES,
    AuditLook,
    PairSettling,
    SettlingStage,
    SettlingState,
)
from rankscope.judging.task_comparison import compared_runs, why_not_compared
from rankscope.judging.worst_case import (
    ComparedRuns,
    DifferenceBox,
    KnownGrades,
    about_how_many,
    are_settled,
    bounds_of_pairs,
    common_queries,
    docs_read,
    has_open_ideal,
    left_to_judge,
    nothing_judged,
    open_of,
)
from rankscope.measures.parse import parse_measure
from rankscope.records import or_nan, or_none, replace
from rankscope.store.labels import QueryDoc

if TYPE_CHECKING:
    from rankscope.store.store import Store

LOOKS = (20, 40, 80)
"""After so many audited queries an audit is looked at, all looks together at level 1 - alpha."""
ALPHA = 0.05


def settle(compared: ComparedRuns, known: KnownGrades) -> SettlingState:
    """Tell what is settled by the grades there are, and which docs to judge next."""
    state = SettlingState(
        stage="nothing judged",
        last_judgment=known.last_judgment,
        n_judged=known.n_finished,
        n_open=0,
        n_about=None,
        n_untrusted=known.n_untrusted,
        overlap=known.overlap,
        n_queries=len(compared.query_ids),
        n_unjudged_queries=sum(not known.grades.get(query) for query in compared.query_ids),
    )
    request = compared.request()
    scoring = request.scoring()
    measure, policies = scoring.measures[0], scoring.policies
    arguments = measure.arguments(rel=policies.relevance_level)
    open_ideal = has_open_ideal(measure, policies, compared.scale)
    state = replace(state, measure=measure.name, depth=arguments.get("k"), open_ideal=open_ideal)
    labels = DocLabels(measure, policies, compared.scale)
    moving = labels.unsettled(known)
    qrels, top = known.qrels(compared.query_ids), max(compared.scale, default=0.0)
    finished = moving.qrels(compared.query_ids, finished=True) or nothing_judged(compared.query_ids)
    certain = float(finished.ideal[1].max(initial=0.0))
    by_highest = arguments.get("gain") != "binary" and arguments.get("max_grade", top) is None
    if not supports(measure, policies) or (by_highest and certain < top):
        return settle_without_bounds(state, compared, known, moving)
    bounds = bounds_of_pairs(compared, finished, (*compared.docs, *moving.unfinished))
    outcomes = outcomes_of(known, bounds, labels)
    bounds = sharpened(bounds, outcomes)
    if qrels is None or float(qrels.ideal[1].max(initial=0.0)) < policies.relevance_level:
        return to_judge(state, compared, known, left_to_judge(bounds, [False] * len(bounds)))
    pairs = compare_runs(qrels, dict(compared.runs), request, on_note=lambda _: None).groups[0].compared
    boxes = [DifferenceBox.of(each) for each in bounds]
    settled = are_settled(pairs, boxes, [each.counted for each in bounds], compared)
    lacking = lacking_for_labels(compared, known)
    if lacking or not all(box.is_closed for box in boxes):
        # docs that may make all scores 0, labels that other docs may change, and docs that nobody has judged
        is_safe = certain >= policies.relevance_level and not lacking
        safe = [is_safe and pair.final_verdict.because != "unjudged" for pair in pairs]
        tried = CasesTried(pairs, bounds, outcomes, compared).settled(
            boxes, [i for i, done in enumerate(settled) if safe[i] and not done]
        )
        settled = [safe[i] and (done or i in tried) for i, done in enumerate(settled)]
    order = left_to_judge(bounds, settled)
    found = tuple(
        pair_settling(pair, None if lacking else box, settled=done, open_docs=open_of(each), of_task=compared.docs)
        for pair, box, done, each in zip(pairs, boxes, settled, bounds, strict=True)
    )
    stage: SettlingStage = "settled" if all(settled) else "open"
    state = to_judge(
        replace(state, stage=stage, pairs=found), compared, known, tuple(dict.fromkeys((*order, *lacking)))
    )
    if not state.order or known.n_finished < FEWEST_GRADES or lacking or not state.can_be_settled:
        return state
    return replace(state, n_about=about_how_many(compared, known, pairs, bounds, order))


def lacking_for_labels(compared: ComparedRuns, known: KnownGrades) -> list[QueryDoc]:
    """Return the docs without all their grades where each grade can change the labels of other docs: all covered ones.

    A doc outside the task counts as well: once it is judged, those of the task may have other labels.
    """
    if not known.joint:
        return []
    return [pair for pair in sorted(compared.docs | known.unfinished | docs_read(compared)) if known.n_missing(pair)]


def settle_without_bounds(
    state: SettlingState, compared: ComparedRuns, known: KnownGrades, moving: KnownGrades
) -> SettlingState:
    """Tell what a measure says now whose worst case is not known: it is settled once no doc that it may read is open.

    `moving` has as unfinished only docs whose label can still change.
    """

    def is_open(query: str, doc: str) -> bool:
        unknown = known.grades.get(query, {}).get(doc, -1.0) < 0 or not moving.is_finished(query, doc)
        return unknown or (known.joint and known.n_missing((query, doc)) > 0)

    covered = sorted(compared.docs | known.unfinished | docs_read(compared))
    state = to_judge(state, compared, known, tuple(pair for pair in covered if is_open(*pair)))
    is_open_yet = bool(state.order or not state.can_be_settled)
    if is_open_yet:
        bounded = is_bounded(compared.measure)
        when = " before a doc has the highest grade of the scale" if bounded else ""
        why = f"What open docs could do to {state.measure} at the worst is not known{when}"
        state = replace(state, stage="cannot be bounded", why=why)
    qrels, request = known.qrels(compared.query_ids), compared.request()
    if qrels is None or float(qrels.ideal[1].max(initial=0.0)) < request.scoring().policies.relevance_level:
        return state
    found = compare_runs(qrels, dict(compared.runs), request, on_note=lambda _: None).groups[0].compared
    if is_open_yet:
        n_open = state.n_open + state.n_outside + state.n_untold
        now = (replace(pair_settling(pair), n_open=n_open, n_outside=state.n_outside) for pair in found)
        return replace(state, pairs=tuple(now))
    point = [replace(pair_settling(pair, settled=True), low=pair.delta, high=pair.delta, ahead=True) for pair in found]
    return replace(state, stage="settled", pairs=tuple(point))


def is_bounded(measure: str) -> bool:
    """Tell whether it is known what open docs could do to a measure at the worst, at least with all of the scale."""
    return supports(parse_measure(measure), Policies())


def to_judge(
    state: SettlingState, compared: ComparedRuns | None, known: KnownGrades, order: tuple[QueryDoc, ...]
) -> SettlingState:
    """Return where a task stands with the docs that are left to judge, and those that no rater will judge."""
    held = compared.docs if compared is not None else frozenset()
    asked = tuple(pair for pair in order if (not held or pair in held) and pair not in known.untold)
    return replace(
        state,
        n_open=len(asked),
        n_judgments=sum(map(known.n_missing, asked)),
        order=asked,
        outside=tuple(pair for pair in order if held and pair not in held),
        n_untold=sum(pair in known.untold for pair in order),
    )


def settle_audit(
    compared: ComparedRuns | None,
    known: KnownGrades,
    items: Iterable[TaskItem],
    *,
    looks: Sequence[int] = LOOKS,
    changed: tuple[int, int] = (0, 0),
    judge: JudgeLabels | None = None,
) -> SettlingState:
    """Tell how far an audit is; at a planned look also what the labels say: those of a model, corrected by people's.

    What counts are the queries at the beginning of the audit order: those alone were drawn at random. `changed` says
    for how many queries the systems have different docs, and of how many, where only these are audited. Without labels
    of a `judge`, and where a score is undefined, people's grades of the audited queries alone count.
    """
    docs_of: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: item.place):
        if item.purpose == "audit":
            docs_of.setdefault(item.query, []).append(item.doc)
    order = tuple((query, doc) for query, docs in docs_of.items() for doc in docs if not known.is_finished(query, doc))
    queries = list(docs_of)
    audited = queries[: queries.index(order[0][0])] if order else queries
    planned = planned_looks(looks, len(queries))
    untold = tuple(pair for pair in order if known.cannot_tell.get(pair, 0) >= known.n_missing(pair))
    left = {query for query, _ in order}
    after_untold = queries[queries.index(untold[0][0]) :] if untold else []
    look = AuditLook(
        n_audited=len(audited),
        n_queries=len(queries),
        look=sum(n <= len(audited) for n in planned),
        looks=planned,
        level=round(1 - ALPHA / len(planned), 6),
        n_changed=changed[0],
        n_all=changed[1],
        untold=untold,
        untold_by_several=tuple(pair for pair in untold if known.cannot_tell[pair] > 1),
        n_waiting=sum(query not in left for query in after_untold),
    )
    pairs: tuple[PairSettling, ...] = ()
    if compared is not None and queries and look.look:
        seen = tuple(audited[: planned[look.look - 1]])
        at_look = replace(compared, query_ids=seen, alpha=ALPHA / len(planned))
        by_people = people_say(at_look, known)
        if judge is not None:
            pairs = mixed_settling(by_people, at_look, known, judge, look)
        look = replace(look, mixed=bool(pairs))
        pairs = pairs or tuple(
            pair_settling(over_all(pair, look, audit_context(compared, is_sample=len(seen) < len(queries))))
            for pair in by_people
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
    return replace(to_judge(state, None, known, order), n_untold=len(untold))


def mixed_settling(
    by_people: Sequence[PairResult],
    at_look: ComparedRuns,
    known: KnownGrades,
    judge: JudgeLabels,
    look: AuditLook,
) -> tuple[PairSettling, ...]:
    """Return pairs as the labels of a model say it, corrected by people's; none where they cannot be mixed."""
    n_all = look.n_all or len(judge.grades)
    found = corrected_pairs(by_people, at_look, known, judge, n_all=n_all, level=look.level)
    settled = ((pair_settling(pair), label_words(mixed, pair, judge, n_all=n_all)) for pair, mixed in found)
    return tuple(replace(pair, reason=f"{pair.reason} {words}".strip()) for pair, words in settled)


def over_all(pair: PairResult, look: AuditLook, known: VerdictContext) -> PairResult:
    """Return a pair on audited queries as it is over all queries: where both have the same docs, nothing differs.

    With s the share of queries that have changed and M the number of all, the difference is s times that of the changed
    ones, and its squared standard error s^2 SE^2 + s (1 - s) d^2 / M: another set of queries has another share.
    """
    delta, error = pair.delta, pair.standard_error
    if delta is None or error is None or not pair.differs:
        return pair
    if not 0 < look.n_changed < look.n_all:
        return replace(pair, verdict=verdict_of(pair, known)) if known.min_units > pair.n_units else pair
    share = look.n_changed / look.n_all
    error = math.sqrt(share**2 * error**2 + share * (1 - share) * delta**2 / look.n_all)
    delta, critical, narrow = share * delta, or_nan(pair.mde.critical), or_nan(pair.critical_equivalence)
    small, furthest = pair.ci_equivalence, furthest_of(pair.measure)
    found = replace(
        pair,
        delta=delta,
        standard_error=error,
        ci=within(furthest, interval_around(delta, critical * error, pair.ci.level, pair.ci.method)),
        ci_equivalence=within(furthest, interval_around(delta, narrow * error, small.level, small.method)),
    )
    return replace(found, verdict=verdict_of(found, known))


def changed_queries(compared: ComparedRuns, k: int) -> tuple[int, int]:
    """Return for how many queries the measure reads different docs of the systems, and how many all were asked."""
    queries, policies = common_queries(compared.runs), compared.request().scoring().policies
    lists = [leading_docs(run, queries, policies, depth=k).docs for run in compared.runs.values()]
    reading = reading_of(compared.measure, k)
    return sum(len(set(map(reading.of, of_query))) > 1 for of_query in zip(*lists, strict=True)), len(queries)


def people_say(compared: ComparedRuns, known: KnownGrades) -> tuple[PairResult, ...]:
    """Return the pairs compared on audited queries; none where no doc of them is relevant."""
    qrels, request = known.qrels(compared.query_ids), compared.request()
    if qrels is None or qrels.ideal[1].max(initial=0.0) < request.scoring().policies.relevance_level:
        return ()
    return compare_runs(qrels, dict(compared.runs), request, on_note=lambda _: None).groups[0].compared


def pair_settling(
    pair: PairResult,
    box: DifferenceBox | None = None,
    *,
    settled: bool = False,
    open_docs: Sequence[QueryDoc] = (),
    of_task: Collection[QueryDoc] = (),
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
        n_open=len(open_docs),
        n_outside=sum(doc not in of_task for doc in open_docs) if of_task else 0,
        ahead=box is not None and box.is_ahead,
        settled=settled,
    )


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
        self.why = why_not_compared(store, task) if self.compared is None else ""
        self.latest: SettlingState | None = None
        self.judge = judge_labels(store, task) if task.plan.pool == "audit" else None

    def state(self) -> SettlingState:
        newest = self.store.judgments.newest(str(self.task.number))
        if self.latest is None or self.latest.last_judgment < newest:
            self.latest = self._state(newest)
        return self.latest

    def _state(self, newest: int) -> SettlingState:
        graded = grades_of_task(self.store, self.task)
        answered = Counter((each.query, each.doc) for each in self.store.saves.judged(self.task) if each.done)
        scale = self.compared.scale if self.compared is not None else ()
        known = known_grades(graded, newest, answered=answered, scale=scale)
        try:
            state = self._settled(graded, known)
        except (GradeError, MeasureError) as error:  # of a store from before such measures and labels were refused
            state = nothing_settled(known, f"There is no verdict: {error.message}.")
        return by_the_rule(replace(state, task=self.task.number), self.task.plan.rule, known.no_labels)

    def _settled(self, graded: TaskGrades, known: KnownGrades) -> SettlingState:
        plan, compared = self.task.plan, self.compared
        if plan.pool == "audit" and not self.why:
            changed = changed_queries(compared, plan.k) if compared is not None and plan.changed_only else (0, 0)
            return settle_audit(compared, known, graded.items, looks=plan.looks, changed=changed, judge=self.judge)
        if compared is None:
            return nothing_settled(known, self.why)
        return under_raters(settle(compared, known), graded, compared, are_open=known.are_asked(compared.docs))


def under_raters(state: SettlingState, graded: TaskGrades, compared: ComparedRuns, *, are_open: bool) -> SettlingState:
    """Return where a task stands with its verdicts lowered where raters' own grades show the opposite.

    What is settled stays what the labels settle; as long as docs are to be judged, raters' own verdicts can change.
    """
    if not any(pair.code in ("better", "worse") for pair in state.pairs):
        return state  # no other verdict is lowered
    verdicts = {(each.a, each.b): each.verdict for each in raters_own_verdicts(graded, compared)}
    several = graded.task.plan.overlap > 1 or len({key for given in graded.grades.values() for key in given}) > 1

    def lowered(pair: PairSettling) -> PairSettling:
        verdict = verdicts.get((pair.a, pair.b))
        if verdict is None or pair.code not in ("better", "worse"):
            return pair
        said = {"code": verdict.code, "text": verdict.text, "reason": verdict.reason}
        return replace(pair, raters_open=are_open and several, **said)

    return replace(state, pairs=tuple(map(lowered, state.pairs)))


def by_the_rule(state: SettlingState, rule: LabelRule, no_labels: str) -> SettlingState:
    """Return where a task stands whose labels may be lower medians, as its rule makes none: they settle nothing."""
    if not no_labels or state.stage == "nothing to settle":
        return state
    return replace(
        state,
        stage="no labels" if state.stage in ("open", "settled") else state.stage,
        rule=rule,
        no_labels=no_labels,
        n_about=None,
        pairs=tuple(replace(pair, low=None, high=None, ahead=False, settled=False) for pair in state.pairs),
    )


def nothing_settled(known: KnownGrades, why: str) -> SettlingState:
    return SettlingState(
        stage="nothing to settle",
        last_judgment=known.last_judgment,
        n_judged=known.n_finished,
        n_open=0,
        n_about=None,
        why=why,
    )


def known_grades(
    graded: TaskGrades, newest: int, *, answered: Mapping[QueryDoc, int], scale: Sequence[float]
) -> KnownGrades:
    """Return the label of each doc by the rule of a task; where that rule needs more grades, by the lower median.

    `answered` says how many raters graded each doc, or could not tell: but for audits, nobody is asked in their place.
    """
    plan, grades = graded.task.plan, dict[str, dict[str, float]]()
    labels, no_labels = labels_by_rule(graded) if graded.grades else (None, "")
    rule = plan.rule if labels is None else labels.rule
    # a grade below 0, of a scale from before these were refused, is a judgment: measures would take it for none
    chosen = {} if labels is None else {pair: max(grade, 0.0) for pair, grade in labels.grades.items()}
    n_untrusted = 0 if labels is None else labels.n_untrusted
    for (query, doc), grade in (with_known(graded, chosen, all_queries=plan.pool != "audit") | graded.gold).items():
        grades.setdefault(query, {})[doc] = grade
    asked = {(item.query, item.doc) for item in graded.items} if plan.pool != "audit" else set()
    n_grades = {pair: len(graded.grades.get(pair, ())) for pair in asked | graded.grades.keys()}
    n_said = n_grades if plan.pool == "audit" else {pair: max(n, answered.get(pair, 0)) for pair, n in n_grades.items()}
    few = {pair: n for pair, n in n_said.items() if n < plan.overlap and pair not in graded.gold}
    unfinished = frozenset(pair for pair in few if pair[1] in grades.get(pair[0], {}))
    trusted = trusted_key(graded, plan.trusted) if rule == "trusted" and labels is not None else ""
    steps = tuple(sorted({*scale, *graded.scale}))
    to_come = {
        pair: labels_to_come(graded.grades.get(pair, {}), plan.overlap - few[pair], rule, scale=steps, trusted=trusted)
        for pair in unfinished
    }
    return KnownGrades(
        grades=grades,
        unfinished=unfinished,
        last_judgment=newest,
        overlap=plan.overlap,
        n_grades=few,
        possible={pair: labels for pair, labels in to_come.items() if labels is not None},
        untold=frozenset(
            pair for pair, n in n_said.items() if n >= plan.overlap and pair[1] not in grades.get(pair[0], {})
        ),
        cannot_tell={pair: n - n_grades.get(pair, 0) for pair, n in answered.items() if n > n_grades.get(pair, 0)},
        n_untrusted=n_untrusted,
        joint=plan.rule == "dawid-skene" or bool(no_labels),
        no_labels=no_labels,
    )


def order_for(state: SettlingState | None, seed: int) -> tuple[QueryDoc, ...]:
    """Return the order of a rater's queue: queries by what moves the verdict most, their docs in the rater's own order.

    Docs by how far they move it would show which of them one system alone has.
    """
    if state is None or state.stage in ("audit", "cannot be bounded"):  # these follow a plan, or all matter alike
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
