"""Diagnose: what a run does badly, in plain words with evidence, and what usually helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.diagnose.checks import findings_of
from rankscope.analysis.diagnose.lists import best_queries, query_list, worst_queries
from rankscope.analysis.diagnose.positions import PositionReport, Positions, position_report
from rankscope.analysis.diagnose.records import SEVERITIES, Diagnosis, Finding
from rankscope.analysis.diagnose.view import View, view_of
from rankscope.analysis.diagnose.words import summary_of
from rankscope.arrays import Floats
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError
from rankscope.measures.evaluate import check_grades
from rankscope.measures.extras import Extras
from rankscope.measures.parse import parse_measures
from rankscope.measures.spec import Measure

__all__ = [
    "SEVERITIES",
    "Diagnosis",
    "Finding",
    "PositionReport",
    "Positions",
    "check_cuts",
    "diagnose",
    "position_report",
]


def diagnose(
    qrels: Qrels,
    run: Run,
    measure: Measure,
    policies: Policies,
    *,
    hits: Hits,
    pool_cuts: Sequence[int],
    embeddings: Any = None,
) -> Diagnosis:
    """Explain a run from its hits; `measure` is an nDCG with a cut-off, `pool_cuts` are depths of the candidate pool."""
    k = int(measure.options["k"])
    check_cuts([k, *pool_cuts])
    check_grades(qrels, parse_measures(f"R@{k}"), policies)
    view = view_of(hits, measure, k=k, rel=policies.relevance_level, cuts=pool_cuts)
    if not len(view):
        raise InputError(
            f"no query has a doc of grade {view.rel:g} or better, so there is nothing to find",
            hint="lower --min-rel, or check the grades with `rankscope validate`",
        )
    if embeddings is not None:
        view = replace(view, redundancy=redundancy_of(view, qrels, run, policies, embeddings))
    worst = worst_queries(view)
    best = best_queries(view, but=worst)
    findings = findings_of(view, without_relevant(hits, view))
    return Diagnosis(
        run=run.name or "run",
        measure=measure.name,
        k=k,
        min_rel=view.rel,
        n_queries=len(view),
        n_other_queries=len(hits) - len(view),
        recall=view.recall,
        unjudged_share=view.unjudged_share,
        summary=summary_of(view, findings),
        losses=view.losses,
        findings=findings,
        pool=tuple(view.pool),
        relevant_docs=tuple(view.relevant_docs),
        ranks=tuple(view.ranks),
        positions=position_report(view.hits, view.rel),
        worst=tuple(query_list(view, i, qrels, run, policies) for i in worst),
        best=tuple(query_list(view, i, qrels, run, policies) for i in best),
    )


def redundancy_of(view: View, qrels: Qrels, run: Run, policies: Policies, embeddings: Any) -> Floats:
    """Return the share of the top k that nearly repeats an earlier doc, for each query of the view."""
    extras = Extras(qrels, top_docs(run, view.hits.query_ids, policies, depth=view.k), embeddings=embeddings)
    return parse_measures(f"Redundancy@{view.k}")[0](view.hits, extras=extras)


def without_relevant(hits: Hits, view: View) -> list[str]:
    """Return the queries that were left out of the view."""
    kept = set(view.hits.query_ids)
    return [query for query in hits.query_ids if query not in kept]


def check_cuts(cuts: Sequence[Any]) -> None:
    """Refuse cut-offs that do not count ranks."""
    for cut in cuts:
        if not isinstance(cut, int) or isinstance(cut, bool) or cut < 1:
            raise OptionError(f"{cut!r} is not a cut-off: it counts ranks, so it is a whole number from 1 up")
