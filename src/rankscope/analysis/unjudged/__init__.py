"""Unjudged docs: how far they could change the difference between two systems, and which judgments would settle it.

A measure takes a doc that nobody judged for useless. If one system returns more such docs than the other, the comparison
may be unfair to it. Two things are told about that:

- `TippingTable` (see `tipping`): how often the unjudged docs of the system that is behind would have to be relevant to
  close the gap. This decides whether a verdict stands.
- `unjudged_effect`: bounds on the difference over all grades that the unjudged docs among the first k of either system
  could get, k being what the measure looks at, and the docs whose judgment would settle the sign. A doc that both systems
  return gets one grade for both. The bounds take the judgments that exist as they are, and leave out docs that neither
  system returns among its first k; relevant ones of these would change what a perfect list is, and so the difference.

Queries that do not count in the comparison now do not count here either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.first import VALUES, FirstProblem
from rankscope.analysis.unjudged.linear import FORMS, LinearProblem, has_own_scale, zero_is_worthless
from rankscope.analysis.unjudged.pool import Pool, graded_hits, keeps_unjudged, paired, pool_of
from rankscope.analysis.unjudged.precision import PrecisionProblem
from rankscope.analysis.unjudged.records import SameCheck, Sensitivity, SettleDoc, TippingCheck, Unjudged
from rankscope.analysis.unjudged.settle import Problem, n_to_settle, queue_of
from rankscope.analysis.unjudged.tipping import TippingTable, supports_tipping
from rankscope.arrays import Bools, Floats, in_order_sum
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import MeasureError
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure

__all__ = [
    "SUPPORTED",
    "SameCheck",
    "Sensitivity",
    "SettleDoc",
    "TippingCheck",
    "TippingTable",
    "Unjudged",
    "supports",
    "supports_tipping",
    "unjudged_effect",
    "unjudged_effect_of",
]

SUPPORTED = (*FORMS, *VALUES, "AP")
"""The measures whose difference can be bounded."""


def supports(measure: Measure, policies: Policies) -> bool:
    """Tell whether the effect of unjudged docs on a measure can be bounded.

    Not where they are removed from the lists, where scores are not averaged, where a doc of grade 0 is worth something,
    or where the scale of grades is each query's own.
    """
    given = measure.arguments(rel=policies.relevance_level)
    aggregate = measure.options.get("agg") or measure.spec.aggregate
    known = measure.base in SUPPORTED and aggregate == "mean"
    return known and keeps_unjudged(measure, policies) and not has_own_scale(given) and zero_is_worthless(given)


def unjudged_effect(
    qrels: Qrels,
    run_a: Run,
    run_b: Run,
    measure: Measure,
    policies: Policies,
) -> Unjudged:
    """Bound what unjudged docs among the first k could do to the difference of two systems, the second minus the first."""
    a, b = (AlignedRun.of(qrels, run, policies) for run in (run_a, run_b))
    return unjudged_effect_of(qrels, a, b, measure, policies)


def unjudged_effect_of(
    qrels: Qrels, run_a: AlignedRun, run_b: AlignedRun, measure: Measure, policies: Policies
) -> Unjudged:
    """Bound what unjudged docs could do to the difference of two runs that are aligned already."""
    if not supports(measure, policies):
        raise MeasureError(
            f"the effect of unjudged docs on {measure.name} cannot be bounded",
            hint=f"it can for {', '.join(SUPPORTED)}, averaged over queries, with unjudged docs left in the lists",
        )
    hits = paired(run_a.hits, run_b.hits)
    k = measure.arguments(rel=policies.relevance_level).get("k")
    pool = pool_of(qrels, (run_a, run_b), hits, k=k)
    counted = np.all([~np.isnan(scores_of(each, measure, policies)) for each in hits], axis=0)
    return effect_of(qrels, hits, pool, measure, policies, counted=counted)


def effect_of(
    qrels: Qrels, hits: tuple[Hits, Hits], pool: Pool, measure: Measure, policies: Policies, *, counted: Bools
) -> Unjudged:
    """Bound what the docs in doubt could do, over the queries that count."""
    given = measure.arguments(rel=policies.relevance_level)
    k, top = given.get("k"), top_grade(hits[0], given, policies)
    problem = problem_of(measure, given, pool, hits, top=top)
    low, high = problem.extremes(np.arange(len(pool)))
    queue = queue_of(problem, hits[0].query_ids, counted)
    judged = Measure.of(REGISTRY["Judged"], {} if k is None else {"k": k})
    # the share of nothing is undefined, so queries for which nothing was retrieved have no part in it
    judged_a, judged_b = (mean(scores_of(each, judged, policies)[counted & (each.n_retrieved > 0)]) for each in hits)
    perfect = [
        graded_hits(each, pool, ranks, grade=top, k=k)
        for each, ranks in zip(hits, (pool.rank_a, pool.rank_b), strict=True)
    ]
    n_needed = n_to_settle(problem, queue, counted, low, high) if counted.any() else 0
    return Unjudged(
        k=k,
        top_grade=top,
        n_unjudged=int(counted[pool.query].sum()),
        judged_a=judged_a,
        judged_b=judged_b,
        useless=mean(problem.now[counted]),
        perfect=difference(perfect, measure, policies, counted),
        low=mean(low[counted]),
        high=mean(high[counted]),
        exact=problem.exact,
        query_ids=hits[0].query_ids,
        query_low=np.where(counted, low, np.nan),
        query_high=np.where(counted, high, np.nan),
        n_to_settle=n_needed,
        n_certain=len(queue.order) if n_needed else 0,
        sensitivity=sensitivity_of(qrels, hits, measure, policies, counted),
        docs=queue.first,
    )


def top_grade(hits: Hits, given: dict[str, Any], policies: Policies) -> float:
    """Return the best grade there is; where no judged doc is relevant, the lowest relevant one."""
    lowest_relevant = float(given.get("rel") or policies.relevance_level)
    return max(hits.max_grade, lowest_relevant)


def problem_of(measure: Measure, given: dict[str, Any], pool: Pool, hits: tuple[Hits, Hits], *, top: float) -> Problem:
    """Return how the measure depends on the docs in doubt."""
    if measure.base in FORMS:
        return LinearProblem(FORMS[measure.base](given, top), pool, hits, top=top)
    if measure.base in VALUES:
        return FirstProblem(measure.base, given, pool, hits)
    return PrecisionProblem(given, pool, hits)


def sensitivity_of(
    qrels: Qrels, hits: tuple[Hits, Hits], measure: Measure, policies: Policies, counted: Bools
) -> Sensitivity:
    """Compare by other ways of dealing with unjudged docs."""
    residual = Measure.of(REGISTRY["RBP_resid"], {}).with_params(
        {name: value for name, value in measure.params if measure.base == "RBP" and name in ("k", "p")}
    )
    residual_a, residual_b = (mean(scores_of(each, residual, policies)[counted]) for each in hits)
    has_threshold = qrels.fractional_row is None or policies.min_rel is not None
    bpref = Measure.of(REGISTRY["Bpref"], {})
    return Sensitivity(
        judged_only=difference([each.judged_only() for each in hits], measure, policies, counted),
        bpref=difference(hits, bpref, policies, counted) if has_threshold else float("nan"),
        residual_a=residual_a,
        residual_b=residual_b,
    )


def scores_of(hits: Hits, measure: Measure, policies: Policies) -> Floats:
    """Return each query's score; NaN where the query does not count."""
    column: Floats = score_hits(hits, [measure], policies)[0][:, 0]
    return column


def difference(hits: Iterable[Hits], measure: Measure, policies: Policies, counted: Bools) -> float:
    """Return the mean difference, the second minus the first, over the queries that count."""
    a, b = (np.nan_to_num(scores_of(each, measure, policies)[counted]) for each in hits)
    return mean(b - a)


def mean(values: Floats) -> float:
    """Return the mean, NaN of nothing."""
    return in_order_sum(values) / len(values) if len(values) else float("nan")
