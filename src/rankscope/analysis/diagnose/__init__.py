"""Diagnose: what a run does badly, in plain words with evidence, and what usually helps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.matching import find_mismatch, find_swap, raise_or_warn
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.diagnose.checks import findings_of
from rankscope.analysis.diagnose.lists import best_queries, query_list, worst_queries
from rankscope.analysis.diagnose.positions import PositionReport, Positions, position_report
from rankscope.analysis.diagnose.records import SEVERITIES, Diagnosis, Finding
from rankscope.analysis.diagnose.view import View, view_of
from rankscope.analysis.diagnose.words import summary_of
from rankscope.arrays import Floats
from rankscope.data.loading import ReadOptions, load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError, RankscopeWarning
from rankscope.evaluation import chosen_profile, decide_measures, decide_policies, id_notes, load_side_data
from rankscope.measures.extras import Extras
from rankscope.measures.parse import parse_measures
from rankscope.measures.scoring import check_grades, count
from rankscope.measures.spec import Measure

__all__ = [
    "SEVERITIES",
    "Diagnosis",
    "Finding",
    "PositionReport",
    "Positions",
    "check_cuts",
    "diagnose",
    "diagnose_run",
    "position_report",
]

SEEN_DOCS = 10
"""How many docs a reader is taken to see, where a diagnosis is not told otherwise."""
POOL_CUTS = (10, 50, 100, 1000)
"""The depths of the candidate pool that a diagnosis looks at."""


def diagnose_run(
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
    return parse_measures(f"Redundancy@{view.k}")[0].score(view.hits, extras=extras)


def without_relevant(hits: Hits, view: View) -> list[str]:
    """Return the queries that were left out of the view."""
    kept = set(view.hits.query_ids)
    return [query for query in hits.query_ids if query not in kept]


def check_cuts(cuts: Sequence[Any]) -> None:
    """Refuse cut-offs that do not count ranks."""
    for cut in cuts:
        if not isinstance(cut, int) or isinstance(cut, bool) or cut < 1:
            raise OptionError(f"{cut!r} is not a cut-off: it counts ranks, so it is a whole number from 1 up")


def diagnose(
    qrels: Any,
    run: Any,
    *,
    k: int = SEEN_DOCS,
    pool_cuts: Sequence[int] = POOL_CUTS,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    embeddings: Any = None,
    anyway: bool = False,
    **policies: Any,
) -> Diagnosis:
    """Explain a run in plain words: what it does badly, for which queries, and what usually helps.

    `k` is how many docs a reader sees, `pool_cuts` are depths of the candidate pool; `embeddings` show
    which results repeat one another; the other arguments are those of `evaluate`.
    """
    check_cuts([k, *pool_cuts])
    chosen = chosen_profile(profile)
    decided = decide_policies(chosen, policies)
    measure = decide_measures(chosen, f"nDCG@{k}")[0]
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    loaded = load_run(run, options=options)
    raise_or_warn(find_swap(judged, loaded, decided), anyway=anyway)
    vectors = next(iter(load_side_data(embeddings=embeddings, docs=None, ontology=None).values()), None)
    hits = align(judged, loaded, decided)
    raise_or_warn(find_mismatch(judged, loaded, count(hits, decided)), anyway=anyway)
    diagnosis = diagnose_run(judged, loaded, measure, decided, hits=hits, pool_cuts=pool_cuts, embeddings=vectors)
    for note in id_notes(judged, loaded):
        warnings.warn(note, RankscopeWarning, stacklevel=2)
    return diagnosis
