"""Explain: the arithmetic of one score, rank by rank, so that a person can check it by hand.

The rows add up to the score: a doc that nobody judged has a term where it moves the score, and what an empty list
scores has a row of its own. A score that is no sum over the ranks of a query is said to be none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.matching import find_mismatch, find_swap, raise_or_warn
from rankscope.align.policies import Policies
from rankscope.align.top import TopDocs, listed_docs, top_docs
from rankscope.arrays import Ints
from rankscope.checks import check_keywords, check_options
from rankscope.data.loading import ReadOptions, load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.texts import Texts
from rankscope.errors import InputError, MeasureError, did_you_mean, give_warning
from rankscope.evaluation import (
    add_unjudged_queries,
    check_side_data,
    chosen_profile,
    decide_measures,
    decide_policies,
    load_side_data,
)
from rankscope.io.ids import as_id, byte_order
from rankscope.light import names_of
from rankscope.measures.extras import Extras, Need
from rankscope.measures.gain import gains_of
from rankscope.measures.scoring import check_grades, count, extras_for, lacks_relevant, score_hits
from rankscope.measures.spec import Measure, Workings
from rankscope.records import Record, StoredRecord, replace, to_builtins
from rankscope.shown import VIEWS, Plotted, Rendered, Tabular

if TYPE_CHECKING:
    from typing import Unpack

    from rankscope.data.shapes import QrelsLike, RunLike
    from rankscope.typing import MeasureLike, PolicyOptions


class Step(Record):
    """One row: a rank with its doc and grade, or what belongs to no rank; what its term is made of, and the term."""

    rank: int | None
    """None where the row belongs to no rank; its label then says what it stands for."""
    doc: str | None
    grade: float | None
    """None where nobody judged the doc; below 0 means pooled but unjudged."""
    parts: Mapping[str, float | None]
    """What the term is made of, by name; None where it is undefined."""
    term: float
    label: str = ""
    title: str = ""
    """What the doc is called; empty where docs are not given."""


class Explanation(Tabular, Rendered, Plotted, StoredRecord):
    """The arithmetic of one score: the terms of the ranking, of the ideal ranking, and how they are joined.

    The terms of the steps add up to `total`; `total`, over the divisor where there is one, is the score.
    """

    query: str
    measure: str
    formula: str
    score: float | None
    """None where there is none."""
    why_undefined: str
    """Why the measure is undefined for the query, so that it counts as 0 or has no score; empty where it is defined."""
    n_retrieved: int
    """How many docs were retrieved; with `judged_only`, how many judged ones."""
    judged_only: bool
    """Whether docs without a judgment were removed from the ranking."""
    steps: tuple[Step, ...] = ()
    term_name: str = "change"
    """What a term is: "adds", or "change" where it is what the doc does to the score of the list above it."""
    sum_name: str = "sum of changes"
    total: float | None = None
    """The sum of the terms; None where the score is one number for all queries, so no sum over the ranks of one."""
    divisor_name: str = ""
    divisor: float | None = None
    ideal: tuple[Step, ...] = ()
    """The terms of the ideal ranking, where the measure has one."""
    text: str = ""
    """What was asked; empty where queries are not given."""

    def with_texts(self, texts: Texts) -> Explanation:
        """Return the same with what was asked and what docs are called, as far as these are known."""
        steps, ideal = (
            tuple(replace(step, title="" if step.doc is None else texts.title(step.doc)) for step in listed)
            for listed in (self.steps, self.ideal)
        )
        return replace(self, text=texts.query(self.query), steps=steps, ideal=ideal)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON record whose schema is published."""
        record: dict[str, Any] = to_builtins(self)
        return record

    def __repr__(self) -> str:
        text: str = VIEWS["Explanation"].text(self)
        return text


def explain(
    qrels: QrelsLike,
    run: RunLike,
    query: Any,
    measure: MeasureLike,
    *,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    embeddings: Any = None,
    docs: Any = None,
    ontology: Any = None,
    queries: Any = None,
    **policies: Unpack[PolicyOptions],
) -> Explanation:
    """Return the arithmetic of one query's score, rank by rank.

    What `evaluate` would refuse, ids that match nothing or arguments that look swapped, is explained with a warning.

    Parameters
    ----------
    qrels, run
        The judgments and the run, in any form that `evaluate` takes.
    query
        The id of the query.
    measure
        One measure, such as nDCG@10.
    queries, docs
        Files, tables or dicts with the texts of queries, and with titles and texts of docs: words beside ids.
    profile, options, qrels_options, embeddings, docs, ontology, **policies
        As for `evaluate`.

    Returns
    -------
    Explanation
        The terms of the ranking and of the ideal ranking, and how they make the score.

    Raises
    ------
    InputError
        If the qrels have no such query.
    MeasureError
        If there is no such measure, if there are several, or if the measure lacks data.

    Examples
    --------
    >>> import rankscope as rs
    >>> explanation = rs.explain({"q": {"a": 1, "b": 2}}, {"q": ["x", "b", "a"]}, "q", rs.DCG @ 3)
    >>> for step in explanation.steps:
    ...     print(step.rank, step.doc, step.grade, round(step.term, 4))
    1 x None 0.0
    2 b 2.0 1.2619
    3 a 1.0 0.5
    >>> round(explanation.score, 4)
    1.7619

    """
    check_keywords("explain", policies, [*explain.__annotations__, *names_of(Policies)])
    check_options(explain.__annotations__, {"options": options, "qrels_options": qrels_options})
    chosen = chosen_profile(profile)
    decided = decide_policies(chosen, policies)
    wanted = decide_measures(chosen, measure)
    if len(wanted) != 1:
        raise MeasureError(f"one measure can be explained at a time, not {len(wanted)}", hint="for example nDCG@10")
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    fields = docs if Need.DOCS in wanted[0].spec.needs else None  # for words alone, only those shown are read
    side = load_side_data(embeddings=embeddings, docs=fields, ontology=ontology)
    check_side_data(wanted, judged, side)
    loaded = load_run(run, options=options)
    raise_or_warn(find_swap(judged, loaded, decided), anyway=True)
    if chosen is not None and chosen.unjudged_queries == "zero":
        judged, _ = add_unjudged_queries(judged, [loaded], None)
    hits = align(judged, loaded, decided)
    if wanted[0].spec.finds_judged_docs:
        raise_or_warn(find_mismatch(judged, loaded, count(hits, decided)), anyway=True)
    explanation = explain_score(judged, loaded, as_id(query), wanted[0], decided, hits=hits, side=side)
    if Need.ONTOLOGY in wanted[0].spec.needs:
        from rankscope.measures.ontology import ontology_notes

        extras = extras_for(judged, loaded, (explanation.query,), wanted, decided, side=side)
        give_warning(*ontology_notes(wanted, extras, rel=decided.relevance_level))
    if queries is None and docs is None:
        return explanation
    shown = [step.doc for step in (*explanation.steps, *explanation.ideal) if step.doc is not None]
    words = side.get(Need.DOCS, docs)
    texts = Texts.of(queries=queries, docs=words, only=shown, query_ids=judged.query_ids)
    give_warning(*texts.notes)
    return explanation.with_texts(texts)


def explain_score(
    qrels: Qrels, run: Run, query: str, measure: Measure, policies: Policies, *, hits: Hits, side: Mapping[Need, Any]
) -> Explanation:
    """Show how one query's score of one measure comes about.

    `hits` are those of all queries, `side` is what the measure needs beyond grades.
    """
    check_grades(qrels, [measure], policies)
    if query not in hits.query_ids:
        raise InputError(
            f"there is no query {query!r} to explain",
            hint=did_you_mean(query, hits.query_ids) or f"queries are {', '.join(hits.query_ids[:3])}, …",
        )
    all_hits, place = hits, hits.query_ids.index(query)
    hits = hits.select(np.arange(len(hits)) == place)
    docs_of = listed_docs if Need.LISTS in measure.spec.needs else top_docs
    docs = list(docs_of(run, [query], policies, depth=None).docs[0])
    if measure.options.get("judged_only") or policies.judged_only:
        hits, docs = hits.judged_only(), [doc for doc in docs if qrels.judged[query].get(doc, -1) >= 0]

    def extras(n: int) -> Extras:
        """Return what is at hand besides the hits where the list ends after n docs."""
        top = TopDocs((query,), (tuple(docs[:n]),))
        return Extras(qrels, top, **{str(need): data for need, data in side.items()})

    if measure.spec.over_all_queries:
        of_all = extras_for(qrels, run, all_hits.query_ids, [measure], policies, side=side)
        scored = score_hits(all_hits, [measure], policies, of_all)
    else:
        scored, place = score_hits(hits, [measure], policies, extras(len(docs))), 0
    score, is_undefined = float(scored[0][place, 0]), bool(scored[1][place, 0])
    why_undefined = measure.spec.undefined if is_undefined else ""
    may_be_left_out = measure.spec.about_relevance and policies.no_relevant == "exclude"
    if is_undefined and math.isnan(score) and may_be_left_out and lacks_relevant(hits, measure, policies).all():
        why_undefined = "the query has no relevant doc, and such queries are left out (no_relevant=exclude)"
    explanation = Explanation(
        query=query,
        measure=measure.name,
        formula=measure.spec.formula,
        score=None if math.isnan(score) else score,
        why_undefined=why_undefined,
        n_retrieved=len(docs),
        judged_only=hits.only_judged,
    )
    if measure.spec.over_all_queries:
        return explanation
    level, grade_of = policies.relevance_level, qrels.judged[query]
    arguments = measure.arguments(rel=level)
    docs = docs[: arguments.get("k")]
    if measure.spec.workings is not None and not measure.spec.needs:
        workings = measure.spec.workings(hits, **arguments)
        return with_terms(explanation, docs, grade_of, workings, ranks=hits.ranks, arguments=arguments)
    lists = ((hits.first(n), extras(n)) for n in range(len(docs) + 1))
    reached = [float(measure.score(first, rel=level, extras=extra)[0]) for first, extra in lists]
    return with_changes(explanation, docs, grade_of, reached)


def with_changes(
    explanation: Explanation, docs: Sequence[str], grade_of: Mapping[str, float], reached: Sequence[float]
) -> Explanation:
    """Add what every doc does to the score of the list above it, unjudged docs included.

    `reached` are the scores of the first 0, 1, 2, … docs. The changes add up to the score because each starts where the
    one before ends; what an empty list scores gets a row of its own where it is not 0. Undefined counts as 0.
    """
    counted = [0.0 if math.isnan(score) else score for score in reached]
    parts = [{f"{explanation.measure} down to here": None if math.isnan(score) else score} for score in reached]
    steps = [Step(None, None, None, parts[0], counted[0], label="empty list")] if counted[0] else []
    for rank, doc in enumerate(docs, 1):
        steps.append(Step(rank, doc, grade_of.get(doc), parts[rank], counted[rank] - counted[rank - 1]))
    return replace(explanation, steps=tuple(steps), total=math.fsum(step.term for step in steps))


def with_terms(
    explanation: Explanation,
    docs: Sequence[str],
    grade_of: Mapping[str, float],
    workings: Workings,
    *,
    ranks: Ints,
    arguments: Mapping[str, Any],
) -> Explanation:
    """Add the measure's own terms, which judged docs have at their ranks; unjudged docs have none."""
    hit_at = {rank: i for i, rank in enumerate(ranks.tolist())}
    steps = []
    for rank, doc in enumerate(docs, 1):
        i = hit_at.get(rank)
        parts = {} if i is None else {name: float(column[i]) for name, column in workings.columns.items()}
        steps.append(Step(rank, doc, grade_of.get(doc), parts, 0.0 if i is None else float(workings.terms[i])))
    ideal = []
    if workings.ideal_terms is not None:
        judged = sorted((doc for doc, grade in grade_of.items() if grade >= 0), key=byte_order)
        judged.sort(key=lambda doc: -grade_of[doc])
        grades = np.array([grade_of[doc] for doc in judged])
        gains = gains_of(grades, arguments.get("gain", "linear"), arguments.get("rel"))
        order = np.argsort(-gains, kind="stable").tolist()
        for i, (at, term) in enumerate(zip(order, workings.ideal_terms.tolist(), strict=True)):
            parts = {name: float(column[i]) for name, column in workings.ideal_columns.items()}
            ideal.append(Step(i + 1, judged[at], grade_of[judged[at]], parts, term))
    return replace(
        explanation,
        steps=tuple(steps),
        term_name="adds",
        sum_name=workings.sum_name,
        total=math.fsum(step.term for step in steps),
        divisor_name=workings.divisor_name,
        divisor=None if workings.divisor is None else float(workings.divisor[0]),
        ideal=tuple(step for step in ideal[: arguments.get("k")] if step.term),
    )
