"""Explain: the arithmetic of one score, rank by rank, so that a person can check it by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankscope.core.align import align
from rankscope.core.hits import Hits
from rankscope.core.ids import byte_order
from rankscope.core.policies import Policies
from rankscope.core.qrels import Qrels
from rankscope.core.ranking import ranked_docs
from rankscope.core.reference import considered
from rankscope.core.run import Run
from rankscope.core.scores import none_if_nan
from rankscope.core.top import TopDocs
from rankscope.errors import InputError, did_you_mean
from rankscope.measures.evaluate import check_grades, score_hits
from rankscope.measures.extras import Extras, Need
from rankscope.measures.gain import gains_of
from rankscope.measures.spec import Measure, Workings


@dataclass(frozen=True, slots=True)
class Step:
    """One rank: which doc stands there, its grade, what its term is made of, and the term."""

    rank: int
    doc: str | None
    grade: float | None
    """None where nobody judged the doc."""
    parts: Mapping[str, float]
    term: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The arithmetic of one score: the terms of the ranking, of the ideal ranking, and how they are joined."""

    query: str
    measure: str
    formula: str
    score: float
    """NaN where the measure is undefined for the query."""
    undefined: str
    """When the measure is undefined."""
    n_retrieved: int
    steps: tuple[Step, ...]
    sum_name: str
    total: float
    divisor_name: str
    divisor: float | None
    ideal: tuple[Step, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the explanation as a record that JSON can hold."""
        steps = [
            {**dataclasses.asdict(step), "parts": {name: none_if_nan(value) for name, value in step.parts.items()}}
            for step in self.steps
        ]
        return {**dataclasses.asdict(self), "score": none_if_nan(self.score), "steps": steps}


def explain(
    qrels: Qrels,
    run: Run,
    query: str,
    measure: Measure,
    policies: Policies,
    *,
    side: Mapping[Need, Any] | None = None,
) -> Explanation:
    """Show how one query's score of one measure comes about; `side` is what the measure needs beyond grades."""
    check_grades(qrels, [measure], policies)
    hits = one_query(align(qrels, run, policies), query)
    docs = retrieved_docs(qrels, run, query, policies)
    if measure.options.get("judged_only") or policies.judged_only:
        hits, docs = hits.judged_only(), [doc for doc in docs if qrels.judged[query].get(doc, -1) >= 0]
    if measure.spec.needs:
        return explain_docs(qrels, hits, docs, measure, policies, side=side or {})
    values, _ = score_hits(hits, [measure], policies)
    workings = workings_of(measure, hits, policies)
    gain = measure.options.get("gain", "linear")
    divisor = None if workings.divisor is None else float(workings.divisor[0])
    return Explanation(
        query=query,
        measure=measure.name,
        formula=measure.spec.formula,
        score=float(values[0, 0]),
        undefined=measure.spec.undefined,
        n_retrieved=len(docs),
        steps=ranking_steps(hits, docs, workings, limit=measure.options.get("k")),
        sum_name=workings.sum_name,
        total=float(workings.terms.sum()),
        divisor_name=workings.divisor_name,
        divisor=divisor,
        ideal=ideal_steps(qrels.judged[query], workings, gain, limit=measure.options.get("k")),
    )


def explain_docs(
    qrels: Qrels, hits: Hits, docs: Sequence[str], measure: Measure, policies: Policies, *, side: Mapping[Need, Any]
) -> Explanation:
    """Show how the score of a measure that looks at the docs themselves changes from rank to rank."""
    query, grade_of = hits.query_ids[0], qrels.judged[hits.query_ids[0]]
    given = {str(need): data for need, data in side.items()}

    def score_of(n: int) -> float:
        extras = Extras(qrels, TopDocs((query,), (tuple(docs[:n]),)), **given)
        return float(score_hits(hits.first(n), [measure], policies, extras)[0][0, 0])

    shown = docs[: measure.arguments(rel=policies.relevance_level).get("k")]
    reached = [score_of(n) for n in range(len(shown) + 1)]
    down_to = f"{measure.name} down to here"
    steps = tuple(
        Step(
            rank,
            doc,
            grade_of.get(doc),
            {down_to: reached[rank]},
            float(np.nan_to_num(reached[rank]) - np.nan_to_num(reached[rank - 1])),
        )
        for rank, doc in enumerate(shown, 1)
    )
    score = score_of(len(docs))
    return Explanation(
        query=query,
        measure=measure.name,
        formula=measure.spec.formula,
        score=score,
        undefined=measure.spec.undefined,
        n_retrieved=len(docs),
        steps=steps,
        sum_name="sum of changes",
        total=float(np.nan_to_num(score)),
        divisor_name="",
        divisor=None,
        ideal=(),
    )


def one_query(hits: Hits, query: str) -> Hits:
    """Return the hits of one query."""
    if query not in hits.query_ids:
        raise InputError(
            f"there is no query {query!r} to explain",
            hint=did_you_mean(query, hits.query_ids) or f"queries are {', '.join(hits.query_ids[:3])}, …",
        )
    return hits.select(np.array([other == query for other in hits.query_ids]))


def retrieved_docs(qrels: Qrels, run: Run, query: str, policies: Policies) -> list[str]:
    """Return the docs of one query in the order in which they were scored."""
    if query not in run.rankings or query not in qrels.judged:
        return []
    return ranked_docs(considered(run, query, policies), policies)


def workings_of(measure: Measure, hits: Hits, policies: Policies) -> Workings:
    """Return the measure's own workings, or else how much the score rises with each judged doc."""
    arguments = measure.arguments(rel=policies.relevance_level)
    if measure.spec.workings is not None:
        return measure.spec.workings(hits, **arguments)
    reached = [float(np.nan_to_num(measure.spec.function(hits.first(n), **arguments)[0])) for n in hits.ranks.tolist()]
    return Workings(
        terms=np.diff(np.array([0.0, *reached])),
        columns={f"{measure.name} down to here": np.array(reached)},
        sum_name="sum of changes",
    )


def ranking_steps(hits: Hits, docs: Sequence[str], workings: Workings, *, limit: int | None) -> tuple[Step, ...]:
    """Return one step per rank, unjudged docs included."""
    hit_at = {rank: i for i, rank in enumerate(hits.ranks.tolist())}
    steps = []
    for rank, doc in enumerate(docs[:limit], 1):
        i = hit_at.get(rank)
        if i is None:
            steps.append(Step(rank, doc, None, {}, 0.0))
        else:
            parts = {name: float(column[i]) for name, column in workings.columns.items()}
            steps.append(Step(rank, doc, float(hits.grades[i]), parts, float(workings.terms[i])))
    return tuple(steps)


def ideal_steps(grade_of: Mapping[str, float], workings: Workings, gain: Any, *, limit: int | None) -> tuple[Step, ...]:
    """Return the steps of the ideal ranking, where the measure has one."""
    if workings.ideal_terms is None:
        return ()
    docs = ideal_docs(grade_of, gain)
    steps = []
    for i, (doc, term) in enumerate(zip(docs, workings.ideal_terms.tolist(), strict=True)):
        parts = {name: float(column[i]) for name, column in workings.ideal_columns.items()}
        steps.append(Step(i + 1, doc, grade_of[doc], parts, term))
    return tuple(step for step in steps[:limit] if step.term)


def ideal_docs(grade_of: Mapping[str, float], gain: Any) -> list[str]:
    """Return the judged docs of a query, the most gainful first."""
    docs = sorted((doc for doc, grade in grade_of.items() if grade >= 0), key=byte_order)
    docs.sort(key=lambda doc: -grade_of[doc])
    gains = gains_of(np.array([grade_of[doc] for doc in docs]), gain, None)
    return [docs[i] for i in np.argsort(-gains, kind="stable").tolist()]
