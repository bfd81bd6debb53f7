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
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs
from rankscope.analysis.unjudged import supports
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.known_measures import range_of
from rankscope.comparison.pairs import interval_around
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.verdict import VerdictContext, verdict_of
from rankscope.data.run import Run
from rankscope.data.tasks import Task, TaskItem, TaskPlan
from rankscope.errors import GradeError, InputError, MeasureError, RankscopeError
from rankscope.io.ids import byte_order
from rankscope.judging.audits import JudgeLabels, corrected_pairs, judge_labels, label_words, planned_looks
from rankscope.judging.completions import CasesTried, DocLabels, outcomes_of, sharpened
from rankscope.judging.guidelines import parse_guideline, unreadable_words
from rankscope.judging.labels import (
    TaskGrades,
    grades_of_task,
    known_labels,
    labels_of,
    labels_to_come,
    trusted_key,
    with_known,
)
from rankscope.judging.pools import reading_of
from rankscope.judging.queue import unit_hash
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
    queries_words,
)
from rankscope.measures.parse import parse_measure
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
    n_outside: int
    """Those of them that the task does not hold."""
    ahead: bool
    """Whether no grades of the open docs change which system has the higher mean, or that both have the same."""
    settled: bool
    """Whether the verdict is the same one whatever the open docs are: those of the task, and those that the measure
    reads of the lists. `SettlingState.open_ideal` says whether other docs could change it."""


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
    mixed: bool = False
    """Whether the labels of the model count, corrected by people's; else people's grades alone do."""

    @property
    def next_at(self) -> int | None:
        """After how many queries the next look is; None after the last."""
        return self.looks[self.look] if self.look < len(self.looks) else None


class SettlingState(Record, kw_only=True):
    """What is settled in a task after its newest judgment, and what is left to judge."""

    stage: SettlingStage
    """`nothing judged`: no doc is known to be relevant, so there is no verdict yet; `cannot be bounded`: the worst case
    of this measure is not known, and docs are open."""
    last_judgment: int
    """The number of the newest judgment that it knows."""
    n_judged: int
    """Docs that have as many grades as the task asks for."""
    n_open: int
    """Open docs of the task that can still turn a verdict, and that raters are asked for."""
    n_about: int | None
    """About how many judgments it takes if these docs are graded like those so far; None where too few are."""
    n_judgments: int = 0
    """How many judgments these docs lack: as many as raters are to judge each."""
    outside: tuple[QueryDoc, ...] = ()
    """Open docs that can turn a verdict and are not in the task: no rater will grade them."""
    n_untold: int = 0
    """Open docs of the task that can turn a verdict, and that all raters who were asked could not tell."""
    n_untrusted: int = 0
    """Docs that the trusted rater did not grade: the lower median of the others counts."""
    n_queries: int = 0
    """On so many queries systems are compared."""
    n_unjudged_queries: int = 0
    """Of these, queries without a judged doc; they count as no difference."""
    overlap: int = 1
    """How many raters judge each doc."""
    task: int | None = None
    """Its number."""
    why: str = ""
    """Why there is nothing to settle, where that is not for want of a measure; or why there are no bounds."""
    measure: str = ""
    depth: int | None = None
    """How many docs of each list the measure reads: these are covered, and the docs of the task; None: all."""
    open_ideal: bool = False
    """Whether a relevant doc that is not covered would change the ideal of the measure, and so could change what is
    called settled."""
    pairs: tuple[PairSettling, ...] = ()
    order: tuple[QueryDoc, ...] = ()
    """Open docs of the task, those that move the verdict most first, and the docs of a query one after the other."""
    look: AuditLook | None = None

    @property
    def n_outside(self) -> int:
        """How many docs outside the task can turn a verdict."""
        return len(self.outside)

    @property
    def can_be_settled(self) -> bool:
        """Whether it is settled for certain once the docs of the task are judged."""
        return not self.outside and not self.n_untold

    @property
    def settled(self) -> bool:
        """Whether no grades of open docs that are covered can change the verdict."""
        return self.stage == "settled"

    @property
    def short(self) -> str:
        """A line for raters: it names no system and no verdict."""
        return rater_line(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """For those who may know the systems: what stands, what it would take, and what that assumes."""
        pairs = (pair_words(pair, self) for pair in self.pairs)
        last = assumption_words(self), not_covered_words(self), untrusted_words(self)
        return tuple(line for line in (queries_line(self), *pairs, *last) if line)

    @property
    def words(self) -> str:
        """The lines as one text."""
        return " ".join(self.lines)


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
    lacking = [pair for pair in sorted(compared.docs | known.unfinished) if known.joint and known.n_missing(pair)]
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
        by_people = people_say(at_look, known)
        if judge is not None:
            pairs = mixed_settling(by_people, at_look, known, judge, look)
        look = replace(look, mixed=bool(pairs))
        pairs = pairs or tuple(
            pair_settling(over_all(pair, look, margin_given=compared.margin is not None)) for pair in by_people
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
    return to_judge(state, None, known, order)


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


def rater_line(state: SettlingState) -> str:
    """Say how far it is to a settled answer, to somebody who is not to know between which systems."""
    if state.stage == "settled":
        which = " as far as these docs go: no grade of those" if state.open_ideal else ": no grade of the docs"
        return f"It is settled{which} that are left can change the answer."
    if state.look is not None:
        return look_words(state.look)
    if state.stage == "nothing to settle":
        return ""
    if not state.n_open and state.can_be_settled:
        return NONE_RELEVANT
    docs = "" if state.n_judgments == state.n_open else f" (of {counted(state.n_open, 'doc')})"
    if not state.can_be_settled:
        if not state.n_open:
            return "No judgment of this task is left that can change the answer, which is not settled."
        left = counted(state.n_judgments, "judgment")
        others = "other docs can, too" if state.outside else "docs that nobody could tell can, too"
        return f"{left}{docs} of this task can change the answer; {others}."
    settled = "it is settled as far as these docs go" if state.open_ideal else "it is settled"
    if state.n_about is None or state.n_about == state.n_judgments:
        return f"At most {more_judgments(state.n_judgments)}{docs} and {settled}."
    return f"About {more_judgments(state.n_about)} and {settled}, at most {state.n_judgments:,}{docs}."


def more_judgments(n: int) -> str:
    return f"{n:,} more judgment{'' if n == 1 else 's'}"


def look_words(look: AuditLook) -> str:
    done = f"{look.n_audited:,} of {counted(look.n_queries, 'query')} audited"
    if look.next_at is None:
        return f"{done}; {'all planned looks are' if len(look.looks) > 1 else 'the only look is'} reached."
    which = f"look {look.look + 1} of {len(look.looks)}" if len(look.looks) > 1 else "the only look"
    return f"{done}; {which} is after {look.next_at:,}."


def pair_words(pair: PairSettling, state: SettlingState) -> str:
    """Say what stands between two systems, how far the open docs could move it, and which docs these are."""
    against = f"{pair.b} against {pair.a}: {pair.text} {pair.reason}".rstrip()
    if pair.settled:
        which = f" of the task, or {read_words(state)}," if state.open_ideal else ""
        return f"{against} Settled: no grade of an open doc{which} changes this."
    if pair.low is None or pair.high is None:
        return against
    ends = f"{pair.low:+.3f} to {pair.high:+.3f}"
    stays = "they do not change who is ahead" if state.open_ideal else "who is ahead is certain"
    ahead = f" ({stays})" if pair.ahead else ""
    outside = f" ({pair.n_outside:,} of them outside the task)" if pair.n_outside else ""
    return (
        f"{against} Not settled: {counted(pair.n_open, 'open doc')}{outside} could make the difference {ends}{ahead}."
    )


def read_words(state: SettlingState) -> str:
    """Say which docs of the lists a measure reads."""
    if state.depth is None:
        return "of a list"
    return "at rank 1 of a list" if state.depth == 1 else f"among the first {state.depth:,} of a list"


def not_covered_words(state: SettlingState) -> str:
    """Say which docs are not covered where these could change the verdict: it may be any relevant one of all docs."""
    if not state.open_ideal:
        return ""
    which = "that no list has" if state.depth is None else "further down, or in no list,"
    return f"Not covered: a relevant doc {which} would change the ideal of {state.measure}, and so could change this."


def audit_words(look: AuditLook, *, has_pairs: bool) -> str:
    """Say which look it is, how wide that makes intervals, and of which queries it is said."""
    several = len(look.looks) > 1
    words = f"{look_words(look)} {'Each look' if several else 'It'} has a level of {look.level:.1%}."
    if several and look.next_at is not None:
        words += " Intervals are wider, as there may be more looks."
    if not has_pairs or look.mixed:
        return words
    if look.n_changed < look.n_all:
        where = f"It is said of all {counted(look.n_all, 'query')}, of which {look.n_changed} have different docs"
        return f"{words} {where} and are audited; people's grades alone count."
    return f"{words} People's grades alone count."


def assumption_words(state: SettlingState) -> str:
    """Say how many judgments are left, and what that number assumes."""
    if state.look is not None:
        return audit_words(state.look, has_pairs=bool(state.pairs))
    if state.stage == "nothing to settle":
        return state.why or "No measure is named, so nothing is to be settled."
    if state.stage == "cannot be bounded":
        return unbounded_words(state)
    if state.stage == "settled":
        return ""
    return left_words(state)


def left_words(state: SettlingState) -> str:
    """Say how many docs are left of a task that is not settled, and whether they settle it."""
    if not state.n_open and state.can_be_settled:
        return NONE_RELEVANT
    each = "" if state.n_judgments == state.n_open else f" ({more_judgments(state.n_judgments)})"
    if not state.can_be_settled:
        left = f"{counted(state.n_open, 'open doc')} of the task can move it{each}. " if state.n_open else ""
        return left + " ".join(cannot_words(state))
    certain = "as far as these docs go" if state.open_ideal else "for certain"
    every = "the" if state.n_open == 1 else "all"
    most = f"Judging {every} {counted(state.n_open, 'open doc')} that can move it{each} settles it {certain}"
    if state.n_about is None:
        few, by = (
            state.n_judged < FEWEST_GRADES,
            f"judged by {state.overlap:,} raters" if state.overlap > 1 else "graded",
        )
        return f"{most}; {FEWEST_GRADES} docs have to be {by} before there is a guess at fewer." if few else f"{most}."
    about = counted(state.n_about, "judgment") if each else f"{state.n_about:,}"
    return f"{most}; about {about} do if they are graded like those so far."


def unbounded_words(state: SettlingState) -> str:
    """Say how many docs are left where nothing is known of what they could do."""
    each = "" if state.n_judgments == state.n_open else f" ({more_judgments(state.n_judgments)})"
    if state.can_be_settled:
        every, are = ("the", "is") if state.n_open == 1 else ("all", "are")
        return f"{state.why}: it is settled once {every} {counted(state.n_open, 'open doc')}{each} {are} judged."
    left = f" {counted(state.n_open, 'open doc')} of the task can be judged{each}." if state.n_open else ""
    return " ".join([f"{state.why}: it is not settled as long as docs are open.{left}", *cannot_words(state)])


def cannot_words(state: SettlingState) -> Iterator[str]:
    """Say why the task alone cannot settle it, and what adds what it lacks."""
    if state.outside:
        docs = counted(state.n_outside, "doc")
        them = "it" if state.n_outside == 1 else "them"
        add = "" if state.task is None else f"; `rankscope judge extend {state.task} --settle` adds {them}"
        yield f"The task alone cannot settle it for certain: {docs} outside it could turn it{add}."
    if state.n_untold:
        docs = counted(state.n_untold, "doc")
        add = "" if state.task is None else f" (`rankscope judge extend {state.task} --overlap N`)"
        turn = f"{docs} that raters could not tell could turn it"
        if state.n_open or state.outside:
            yield f"{turn}, too: other docs may settle it all the same; if not, more raters of each doc can{add}."
        else:
            yield f"{turn}: only more raters of each doc can settle that{add}."


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


def queries_line(state: SettlingState) -> str:
    """Say on which queries systems are compared, once there is a verdict."""
    return queries_words(state.n_queries, state.n_unjudged_queries) if state.pairs and state.look is None else ""


def untrusted_words(state: SettlingState) -> str:
    """Say of how many docs the label is not that of the trusted rater."""
    if not state.n_untrusted:
        return ""
    return (
        f"The trusted rater did not grade {counted(state.n_untrusted, 'doc')} of those graded: "
        "the lower median of the others counts there."
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
        return replace(state, task=self.task.number)

    def _settled(self, graded: TaskGrades, known: KnownGrades) -> SettlingState:
        plan, compared = self.task.plan, self.compared
        if plan.pool == "audit" and not self.why:
            changed = changed_queries(compared, plan.k) if compared is not None and plan.changed_only else (0, 0)
            return settle_audit(compared, known, graded.items, looks=plan.looks, changed=changed, judge=self.judge)
        return nothing_settled(known, self.why) if compared is None else settle(compared, known)


def nothing_settled(known: KnownGrades, why: str) -> SettlingState:
    return SettlingState(
        stage="nothing to settle",
        last_judgment=known.last_judgment,
        n_judged=known.n_finished,
        n_open=0,
        n_about=None,
        why=why,
    )


class SettlingWatch:
    """Where the tasks of a store stand, for a server: nobody who saves a judgment waits for it.

    `latest` returns the newest answer at once, and lets a thread of its own work out a newer one. Of a task there is
    one at a time, and where judgments come faster than answers, it rests longer than it works. `beside` returns where
    a task stands from another process, so that the threads of this one have their time for saves.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.monotonic,
        beside: Callable[[Task], SettlingState] | None = None,
    ) -> None:
        self.store, self.clock, self.beside = store, clock, beside
        self._tasks: OrderedDict[tuple[int, str], TaskSettling] = OrderedDict()
        self._states: dict[tuple[int, str], SettlingState] = {}
        self._not_before: dict[int, float] = {}
        self._lock = threading.Lock()

    def latest(self, task: Task) -> SettlingState | None:
        """Return the newest answer there is, None before the first."""
        with self._lock:
            known = self._states.get(key_of(task))
            starts = self.clock() >= self._not_before.get(task.number, 0.0)
            if starts:
                self._not_before[task.number] = math.inf
        if starts:
            threading.Thread(target=self._work, args=(task,), daemon=True, name=f"settling {task.number}").start()
        return known

    def is_newest(self, task: Task, state: SettlingState | None) -> bool:
        """Tell whether an answer knows the newest judgment."""
        return state is not None and state.last_judgment >= self.store.judgments.newest(str(task.number))

    def now(self, task: Task) -> SettlingState:
        """Return where a task stands by its newest judgment, and wait for it."""
        key = key_of(task)
        with self._lock:
            state = self._states.get(key)
        if not self.is_newest(task, state):
            state = self._here(task) if self.beside is None else self.beside(task)
            with self._lock:
                self._states.pop(key, None)
                self._states[key] = state
                while len(self._states) > KEPT_TASKS:
                    del self._states[next(iter(self._states))]
        return cast("SettlingState", state)

    def _here(self, task: Task) -> SettlingState:
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


def scale_of(store: Store, task: Task) -> tuple[float, ...]:
    return tuple(each.grade for each in parse_guideline(store.tasks.guideline_text(task)).scale)


def why_not_compared(store: Store, task: Task) -> str:
    """Say why a stored task that names a measure compares nothing, where that is not for want of runs."""
    plan = task.plan
    if unusable := unusable_margin(plan):
        return no_margin_words(unusable)
    if plan.mode == "lists":
        prefer = f"`rankscope judge flags {task.number}` says which ones raters prefer"
        return f"Lists get no grades, so nothing is settled by them; {prefer}."
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
    names = plan.systems if len(plan.systems) == len(stored) else tuple(run.system for run in stored)
    runs = {name: store.runs.ranking(run) for name, run in zip(names, stored, strict=True)}
    before = None if plan.pool == "audit" else known_labels(store, task)
    items = store.tasks.items(task)
    queries = {item.query for item in items} | set(before or ())
    if plan.pool not in ("audit", "file"):  # queries of which nothing is to be judged count, too
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


def known_grades(
    graded: TaskGrades, newest: int, *, answered: Mapping[QueryDoc, int], scale: Sequence[float]
) -> KnownGrades:
    """Return the label of each doc by the rule of a task; where that rule needs more grades, by the lower median.

    `answered` says how many raters graded each doc, or could not tell: but for audits, nobody is asked in their place.
    """
    plan, grades = graded.task.plan, dict[str, dict[str, float]]()
    joint, n_untrusted, rule = plan.rule == "dawid-skene", 0, plan.rule
    try:
        labels = labels_of(graded) if graded.grades else None
    except InputError:
        labels, joint, rule = labels_of(graded, rule="lower median"), True, "lower median"
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
        n_untrusted=n_untrusted,
        joint=joint,
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
