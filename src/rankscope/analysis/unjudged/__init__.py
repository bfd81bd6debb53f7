"""Unjudged docs: how far they could change the difference between two systems, and which judgments would settle it.

A measure counts a doc that nobody judged as useless. If one system returns more such docs than the other, the comparison
may be unfair to it. Two things are worked out:

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
from rankscope.analysis.aligned import AlignedRun, on_shared_queries
from rankscope.analysis.unjudged.average_precision import AveragePrecisionBounds
from rankscope.analysis.unjudged.first_relevant import VALUES, FirstRelevantBounds
from rankscope.analysis.unjudged.judging_order import DifferenceBounds, judging_queue
from rankscope.analysis.unjudged.linear import FORMS, LinearBounds, has_own_scale, zero_is_worthless
from rankscope.analysis.unjudged.pool import UnjudgedPool, graded_hits, keeps_unjudged, pool_of
from rankscope.analysis.unjudged.records import (
    SameCheck,
    Sensitivity,
    SettleDoc,
    TippingCheck,
    UnjudgedEffect,
    straddles_zero,
)
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
    "UnjudgedEffect",
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


def unjudged_effect(qrels: Qrels, run_a: Run, run_b: Run, measure: Measure, policies: Policies) -> UnjudgedEffect:
    """Bound what unjudged docs among the first k could do to the difference of two systems, the second minus the first."""
    a, b = (AlignedRun.of(qrels, run, policies) for run in (run_a, run_b))
    return unjudged_effect_of(qrels, a, b, measure, policies)


def unjudged_effect_of(
    qrels: Qrels, run_a: AlignedRun, run_b: AlignedRun, measure: Measure, policies: Policies
) -> UnjudgedEffect:
    """Bound what unjudged docs could do to the difference of two runs that are aligned already."""
    if not supports(measure, policies):
        raise MeasureError(
            f"the effect of unjudged docs on {measure.name} cannot be bounded",
            hint=f"it can for {', '.join(SUPPORTED)}, averaged over queries, with unjudged docs left in the lists",
        )
    runs = on_shared_queries(run_a, run_b)
    hits = runs[0].hits, runs[1].hits
    arguments = measure.arguments(rel=policies.relevance_level)
    k = arguments.get("k")
    lowest_relevant = float(arguments.get("rel") or policies.relevance_level)
    top = max(hits[0].max_grade, lowest_relevant)  # where no judged doc is relevant, others may be
    pool = pool_of(qrels, runs, k=k)
    counted = np.all([~np.isnan(scores_of(each, measure, policies)) for each in hits], axis=0)
    bounds = difference_bounds(measure, arguments, pool, hits, top=top)
    low, high = bounds.extremes()
    queue = judging_queue(bounds, hits[0].query_ids, counted)
    perfect = [
        graded_hits(hits[0], pool, pool.rank_a, grade=top, k=k),
        graded_hits(hits[1], pool, pool.rank_b, grade=top, k=k),
    ]
    is_open = counted.any() and straddles_zero(float(low[counted].mean()), float(high[counted].mean()))
    return UnjudgedEffect(
        k=k,
        top_grade=top,
        n_unjudged=int(counted[pool.query].sum()),
        useless=mean(bounds.now[counted]),
        perfect=difference(perfect, measure, policies, counted),
        low=mean(low[counted]),
        high=mean(high[counted]),
        exact=bounds.exact,
        query_ids=hits[0].query_ids,
        query_low=np.where(counted, low, np.nan),
        query_high=np.where(counted, high, np.nan),
        n_certain=len(queue.order) if is_open else 0,
        sensitivity=sensitivity_of(qrels, hits, measure, policies, counted),
        docs=queue.first,
    )


def difference_bounds(
    measure: Measure, arguments: dict[str, Any], pool: UnjudgedPool, hits: tuple[Hits, Hits], *, top: float
) -> DifferenceBounds:
    """Return how the difference by a measure depends on the unjudged docs."""
    if measure.base in FORMS:
        return LinearBounds(FORMS[measure.base](arguments, top), pool, hits, top=top)
    if measure.base in VALUES:
        return FirstRelevantBounds(measure.base, arguments, pool, hits)
    return AveragePrecisionBounds(arguments, pool, hits)


def sensitivity_of(
    qrels: Qrels, hits: tuple[Hits, Hits], measure: Measure, policies: Policies, counted: Bools
) -> Sensitivity:
    """Compare by other ways of dealing with unjudged docs."""
    has_threshold = qrels.fractional_row is None or policies.min_rel is not None
    bpref = Measure.of(REGISTRY["Bpref"], {})
    return Sensitivity(
        judged_only=difference([each.judged_only() for each in hits], measure, policies, counted),
        bpref=difference(hits, bpref, policies, counted) if has_threshold else float("nan"),
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
