"""What an audit says at a look: the labels of a model on all queries, corrected by people's on those that were drawn.

People's scores and the model's are made of the same docs of a query, those that a complete audit of it holds, so that
both measure against the same perfect list. What the model has not graded among them counts as 0, and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankscope.arrays import Floats
from rankscope.comparison.known_measures import furthest_of
from rankscope.comparison.pairs import interval_around, within
from rankscope.comparison.records import DetectableDifference, PairResult
from rankscope.comparison.verdict import MIN_UNITS, VerdictContext, verdict_of
from rankscope.data.qrels import Qrels
from rankscope.data.tasks import Task
from rankscope.evaluation import evaluate_request
from rankscope.judging.pools import audit, labels_of, lists_of, runs_of
from rankscope.judging.worst_case import ComparedRuns, KnownGrades
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.stats.mixed import MixedMean, mixed_mean, over_all_queries
from rankscope.store.judgments import graded_by

if TYPE_CHECKING:
    from rankscope.store.store import Store

FEW_AUDITED = 20
LUMPY_MEASURES = ("RR", "Success")
"""Measures that one doc decides: intervals from fewer audited queries than FEW_AUDITED say too much of them."""
FEW_DIFFER = 15
"""Where fewer audited queries differ at all, a handful of them decides."""
USEFUL, LITTLE = 0.5, 0.1
"""From these weights on a model counts, or helps a little."""


class JudgeLabels(Record, kw_only=True, eq=False):
    """The labels of a model: for every query that may be audited the docs that an audit of it holds."""

    name: str
    grades: Mapping[str, Mapping[str, float]]
    n_missing: int = 0
    """Docs among them that the model has not graded; they count as 0."""


def planned_looks(looks: Sequence[int], n_queries: int) -> tuple[int, ...]:
    """Return after how many queries an audit is looked at: where it has fewer queries than planned, after all."""
    return tuple(sorted({min(n, n_queries) if n_queries else n for n in looks}))


def looks_reached(store: Store, task: Task) -> int:
    """Return how many planned looks of an audit were reached at any time, also where a grade was taken back since.

    What was seen at a look stays seen.
    """
    raters: dict[tuple[str, str], set[str]] = {}
    for stored in graded_by("people", store.judgments.list(task.collection, task=str(task.number))):
        each = stored.judgment
        raters.setdefault((each.query, each.doc), set()).add(each.rater)
    docs_of: dict[str, list[str]] = {}
    for item in sorted(store.tasks.items(task), key=lambda item: item.place):
        if item.purpose == "audit":
            docs_of.setdefault(item.query, []).append(item.doc)
    n_audited = 0
    for query, docs in docs_of.items():
        if any(len(raters.get((query, doc), ())) < task.plan.overlap for doc in docs):
            break
        n_audited += 1
    return sum(n <= n_audited for n in planned_looks(task.plan.looks, len(docs_of)))


def judge_labels(store: Store, task: Task) -> JudgeLabels | None:
    """Return what a model says of all queries of an audit, also of those that it leaves for later; None without one."""
    plan = task.plan
    if plan.judge_qrels is None or not plan.runs:
        return None
    given = labels_of(store, plan.judge_qrels)
    name = next(each.name for each in store.qrels.list() if each.number == plan.judge_qrels)
    lists = lists_of(store, runs_of(store, plan.runs), plan.systems, plan.k)
    grades: dict[str, dict[str, float]] = {}
    n_missing = 0
    held = [item for item in store.tasks.items(task) if item.purpose == "audit"]
    pairs = dict.fromkeys((item.query, item.doc) for item in [*audit(replace(plan, size=None), lists, given), *held])
    for query, doc in pairs:
        grade = given.get(query, {}).get(doc)
        n_missing += grade is None
        grades.setdefault(query, {})[doc] = 0.0 if grade is None else max(0.0, grade)
    return JudgeLabels(name=name, grades=grades, n_missing=n_missing)


def corrected_pairs(
    pairs: Sequence[PairResult],
    compared: ComparedRuns,
    known: KnownGrades,
    judge: JudgeLabels,
    *,
    n_all: int,
    level: float,
) -> tuple[tuple[PairResult, MixedMean], ...]:
    """Return pairs that people's grades of the audited queries give, as all labels together say it of all queries.

    `compared` has the audited queries. Where a score is undefined, or one query alone is audited, there is nothing to
    mix, and no pair is returned.
    """
    audited = compared.query_ids
    if len(audited) < 2:
        return ()
    others = tuple(query for query in judge.grades if query not in set(audited))
    people = scores_of(compared, {query: known.grades.get(query, {}) for query in audited}, audited)
    model = scores_of(compared, judge.grades, (*audited, *others))
    found = []
    for pair in pairs:
        y = people[pair.b] - people[pair.a]
        f = model[pair.b] - model[pair.a]
        if not (np.isfinite(y).all() and np.isfinite(f).all()):
            return ()
        mixed = mixed_mean(y, f[: len(y)], f[len(y) :])
        mixed = over_all_queries(mixed, len(judge.grades), n_all)
        context = audit_context(compared, is_sample=bool(others))
        found.append((corrected(pair, mixed, level, len(pairs), context), mixed))
    return tuple(found)


def audit_context(compared: ComparedRuns, *, is_sample: bool) -> VerdictContext:
    """Return how many audited queries a verdict takes; where all are audited, so many as in any comparison."""
    is_lumpy = parse_measure(compared.measure).base in LUMPY_MEASURES
    least = FEW_AUDITED if is_sample and is_lumpy else MIN_UNITS
    return VerdictContext(margin_given=compared.margin is not None, min_units=least)


def scores_of(
    compared: ComparedRuns, grades: Mapping[str, Mapping[str, float]], queries: Sequence[str]
) -> dict[str, Floats]:
    """Return the score of every query by some labels, for each system."""
    rows = [(query, doc, grade) for query in queries for doc, grade in grades[query].items()]
    scoring = compared.request().scoring()
    scores = evaluate_request(scoring, Qrels(rows).with_queries(queries), dict(compared.runs))
    found = {}
    for name in compared.runs:
        of = scores.runs[list(compared.runs).index(name)]
        by_query = dict(zip(of.query_ids, of.values[:, 0].tolist(), strict=True))
        found[name] = np.array([by_query.get(query, math.nan) for query in queries])
    return found


def corrected(pair: PairResult, mixed: MixedMean, level: float, n_pairs: int, known: VerdictContext) -> PairResult:
    """Return a pair with the difference, the interval and the verdict of the mixed estimate.

    With several pairs each has its share of what is left of 1 at this level. An interval ends where a difference can.
    """
    if not pair.differs or not mixed.standard_error:
        return pair
    from scipy.special import stdtr, stdtrit

    df, alpha = mixed.n - 1, (1 - level) / n_pairs
    critical, narrow = (float(stdtrit(df, 1 - tail)) for tail in (alpha / 2, alpha))
    error, furthest = mixed.standard_error, furthest_of(pair.measure)
    p = 2 * float(stdtr(df, -abs(mixed.mean) / error))
    found = replace(
        pair,
        delta=mixed.mean,
        standard_error=error,
        ci=within(furthest, interval_around(mixed.mean, critical * error, level, "t")),
        ci_equivalence=within(furthest, interval_around(mixed.mean, narrow * error, round(2 * level - 1, 12), "t")),
        critical_equivalence=narrow,
        mde=DetectableDifference(pair.mde.power, critical, (critical + float(stdtrit(df, pair.mde.power))) * error),
        n_needed=None,
        p=replace(pair.p, adjusted=min(1.0, n_pairs * p), method="t", alone_permutation=None, alone_t=p),
    )
    return replace(found, verdict=verdict_of(found, known))


def label_words(mixed: MixedMean, pair: PairResult, judge: JudgeLabels, *, n_all: int) -> str:
    """Say whose labels these are, how many queries are audited of how many, and what the model was worth."""
    n_changed = len(judge.grades)
    of = f" of all {counted(n_all, 'query')}" if n_changed < n_all else ""
    which = f"the {n_changed:,} changed ones{of}" if of else f"all {counted(n_changed, 'query')}"
    if not mixed.n_others:
        not_needed = f"Labels: people judged {which}, so those of {judge.name} are not needed."
        return " ".join([not_needed, *few_audited_words(mixed, pair)])
    audited = f"{mixed.n:,} of them, drawn at random, were judged by people, who correct the model"
    labels = f"Labels: {judge.name} on {which}; {audited}."
    return " ".join([labels, share_words(mixed), *caution_words(mixed, pair, judge)])


def share_words(mixed: MixedMean) -> str:
    if mixed.weight < LITTLE:
        return "The model was not useful here: this is practically the people's result."
    more = round(mixed.worth - mixed.n)
    worth = f"; it was worth about {more:,} more audited {'query' if more == 1 else 'queries'}" if more > 0 else ""
    counts = f"counted for {mixed.weight:.0%}"
    return f"The model {counts if mixed.weight >= USEFUL else f'helped a little ({counts})'}{worth}."


def caution_words(mixed: MixedMean, pair: PairResult, judge: JudgeLabels) -> list[str]:
    """Say what limits the estimate: favour for a system on audited queries, few of them, labels that are missing."""
    from scipy.special import stdtrit

    found = []
    half = float(stdtrit(mixed.n - 1, 0.975)) * mixed.favour_error
    if abs(mixed.favour) > half > 0:
        way = "higher" if mixed.favour > 0 else "lower"
        ends = f"{mixed.favour - half:+.3f} to {mixed.favour + half:+.3f}"
        found.append(
            f"On the audited queries the model scored {pair.b} {abs(mixed.favour):.3f} {way} against {pair.a} than "
            f"people did (95% CI {ends}); the result is corrected for it."
        )
    found += few_audited_words(mixed, pair)
    if judge.n_missing:
        counts = "counts" if judge.n_missing == 1 else "count"
        found.append(f"{counted(judge.n_missing, 'doc')} without a label of the model {counts} as 0 for it.")
    return found


def few_audited_words(mixed: MixedMean, pair: PairResult) -> list[str]:
    found, n_differ = [], pair.wins + pair.losses
    if mixed.n < FEW_AUDITED:
        found.append(f"Strong caution: only {counted(mixed.n, 'query')} are audited.")
    if n_differ < FEW_DIFFER:
        found.append(f"Strong caution: few queries decide this, as {n_differ:,} of {mixed.n:,} audited ones differ.")
    return found
