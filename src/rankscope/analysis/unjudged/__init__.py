"""Unjudged docs: how far they could change the difference between two systems, and which judgments would settle it.

A measure counts a doc that nobody judged as useless. If one system returns more such docs than the other, the comparison
may be unfair to it. Two things are worked out:

- `TippingTable` (see `tipping`): how often the unjudged docs of the system that is behind would have to be relevant to
  close the gap. This decides whether a verdict stands.
- `unjudged_effect_of`: bounds on the difference over all grades that the unjudged docs among the first k of either system
  could get, k being what the measure looks at, and the docs whose judgment would settle the sign. A doc that both systems
  return gets one grade for both. The bounds take the judgments that exist as they are, and leave out docs that neither
  system returns among its first k; relevant ones of these would change what a perfect list is, and so the difference.

Queries that do not count in the comparison now do not count here either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun, on_shared_queries
from rankscope.analysis.unjudged.average_precision import PrecisionDifferences
from rankscope.analysis.unjudged.linear import FORMS, LinearDifferences, has_plain_gains
from rankscope.analysis.unjudged.pool import DifferenceBounds, UnjudgedPool, graded_hits, keeps_unjudged, pool_of
from rankscope.arrays import Bools, Floats, Ints, segment_max
from rankscope.data.qrels import Qrels
from rankscope.errors import MeasureError
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scores import summarise
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.records import Record, or_none

__all__ = ["DocToJudge", "UnjudgedEffect", "supports", "unjudged_effect_of"]

VALUES: dict[str, Callable[[Ints], Floats]] = {
    "RR": lambda ranks: 1 / ranks,
    "Success": lambda ranks: np.ones(len(ranks)),
}
"""What a relevant doc at a rank is worth, for measures that look at the first relevant doc alone."""
SUPPORTED = (*FORMS, *VALUES, "AP")
"""The measures whose difference can be bounded."""
NEARLY_ZERO = 1e-9
"""What rounding alone may make of a difference of 0."""


class DocToJudge(Record):
    """A doc whose judgment would help to settle which system is ahead."""

    query: str
    doc: str
    swing: float | None
    """How far this doc alone can move the mean difference, and to which side."""
    # above 0 it favours the second system; a rank is None where the measure does not look at the doc
    rank_a: int | None
    rank_b: int | None
    text: str | None = None
    """What was asked, where the queries are given."""
    title: str | None = None
    """What the doc is called, where the docs are given."""


class UnjudgedEffect(msgspec.Struct, frozen=True, eq=False):
    """What unjudged docs among the first k could do to the difference between two systems, the second minus the first.

    All numbers are means over the queries that count in the comparison. Only docs in the first k ranks of either
    system are looked at; a doc that both have is one doc and gets one grade. `low` and `high` hold for every way to
    grade these docs from 0 to the top grade, not for judgments of other docs, nor for other judgments of judged ones.
    """

    k: int | None
    """How many ranks the measure looks at; None is all of them."""
    top_grade: float
    """The best grade that an unjudged doc may turn out to have."""
    n_unjudged: int
    """Pairs of query and doc in the first k ranks of either system that nobody judged."""
    useless: float
    """The difference if every unjudged doc gets grade 0; that is how most measures count them."""
    perfect: float
    """The difference if every unjudged doc gets the top grade."""
    low: float
    high: float
    exact: bool
    """Whether some grades really lead to `low` and `high`; else they may be further out than any grades lead."""
    query_ids: tuple[str, ...]
    query_low: Floats
    """The same by query; NaN where a query does not count."""
    query_high: Floats
    n_certain: int
    """How many docs to judge until the sign is settled whatever their grades: all that can change the difference,
    0 where it is settled."""
    sensitivity: dict[str, float | None]
    """The difference by other ways of dealing with unjudged docs, in words; None where it is undefined."""
    docs: Callable[..., tuple[DocToJudge, ...]]
    """`docs(n)` returns the n docs to judge first, `docs()` all that can change the difference."""


def supports(measure: Measure, policies: Policies) -> bool:
    """Tell whether the effect of unjudged docs on a measure can be bounded.

    Not where they are removed from the lists, where scores are not averaged, where a doc of grade 0 is worth something,
    or where the scale of grades is each query's own.
    """
    given = measure.arguments(rel=policies.relevance_level)
    aggregate = measure.options.get("agg") or measure.spec.aggregate
    known = measure.base in SUPPORTED and aggregate == "mean"
    return known and keeps_unjudged(measure, policies) and has_plain_gains(given)


class PairBounds(msgspec.Struct, frozen=True, eq=False):
    """What the unjudged docs of two systems could do to each query's difference, and what that was worked out from."""

    bounds: DifferenceBounds
    pool: UnjudgedPool
    hits: tuple[Hits, Hits]
    """Of the queries that both systems have."""
    counted: Bools
    """Which of these queries count in the comparison."""
    top: float
    """The best grade that an unjudged doc may turn out to have."""
    k: int | None

    @property
    def query_ids(self) -> tuple[str, ...]:
        return self.hits[0].query_ids


def pair_bounds_of(
    qrels: Qrels,
    run_a: AlignedRun,
    run_b: AlignedRun,
    measure: Measure,
    policies: Policies,
    *,
    scale: Sequence[float] = (),
    more: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> PairBounds:
    """Bound each query's difference of two runs that are aligned already.

    `scale` has the grades that can be given, where they are known: nobody may have given some of them so far. `more`
    has docs of queries that may be judged though neither run has them among its first k.
    """
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
    top = max(hits[0].max_grade, lowest_relevant, *scale)  # where no judged doc is relevant, others may be
    pool = pool_of(qrels, runs, k=k, more=more)
    counted = np.all([~np.isnan(score_hits(each, [measure], policies)[0][:, 0]) for each in hits], axis=0)
    if measure.base in FORMS:
        bounds = LinearDifferences(FORMS[measure.base](arguments, top), pool, hits, top=top, scale=scale).bounds()
    elif measure.base in VALUES:
        bounds = first_relevant_bounds(VALUES[measure.base], arguments, pool, hits)
    else:
        bounds = PrecisionDifferences(arguments, pool, hits).bounds()
    return PairBounds(bounds, pool, hits, counted, top, k)


def unjudged_effect_of(
    qrels: Qrels, run_a: AlignedRun, run_b: AlignedRun, measure: Measure, policies: Policies
) -> UnjudgedEffect:
    """Bound what unjudged docs could do to the difference of two runs that are aligned already."""
    found = pair_bounds_of(qrels, run_a, run_b, measure, policies)
    bounds, pool, hits, counted, top, k = found.bounds, found.pool, found.hits, found.counted, found.top, found.k
    now, low, high = (summarise(each[counted], "mean") for each in (bounds.now, bounds.low, bounds.high))
    queue = JudgingQueue(bounds, pool, hits[0].query_ids, counted)
    sides = zip(hits, (pool.rank_a, pool.rank_b), strict=True)
    perfect = [graded_hits(each, pool, ranks, grade=top, k=k) for each, ranks in sides]
    condensed = [each.judged_only() for each in hits]
    has_threshold = qrels.fractional_row is None or policies.min_rel is not None
    bpref = Measure.of(REGISTRY["Bpref"], {})
    return UnjudgedEffect(
        k=k,
        top_grade=top,
        n_unjudged=int(counted[pool.query].sum()),
        useless=now,
        perfect=difference(perfect, measure, policies, counted),
        low=low,
        high=high,
        exact=bounds.exact,
        query_ids=hits[0].query_ids,
        query_low=np.where(counted, bounds.low, np.nan),
        query_high=np.where(counted, bounds.high, np.nan),
        n_certain=len(queue.order) if straddles_zero(low, high) else 0,
        sensitivity={
            "unjudged docs are removed (condensed lists)": or_none(difference(condensed, measure, policies, counted)),
            "bpref instead": or_none(difference(hits, bpref, policies, counted)) if has_threshold else None,
        },
        docs=queue.first,
    )


def difference(hits: Iterable[Hits], measure: Measure, policies: Policies, counted: Bools) -> float:
    """Return the mean difference, the second minus the first, over the queries that count."""
    a, b = (np.nan_to_num(score_hits(each, [measure], policies)[0][counted, 0]) for each in hits)
    return summarise(b - a, "mean")


def first_relevant_bounds(
    value: Callable[[Ints], Floats], given: dict[str, Any], pool: UnjudgedPool, hits: tuple[Hits, Hits]
) -> DifferenceBounds:
    """Bound the differences by a measure that is the best value of a relevant doc.

    If several unjudged docs turn out relevant, the one that is best for B decides B's score, and without the others A's
    score can only be lower. So the highest difference is reached with at most one relevant doc among the unjudged ones,
    and trying each is exact; likewise the lowest.
    """
    scores, lifts = [], []
    for each, ranks in zip(hits, (pool.rank_a, pool.rank_b), strict=True):
        relevant = (each.grades >= given["rel"]) & each.within(given["k"])
        judged = segment_max(np.where(relevant, value(each.ranks), 0.0), each.segments, len(each))
        if_relevant = np.where(ranks > 0, value(np.maximum(ranks, 1)), 0.0)
        scores.append(judged)
        lifts.append(np.maximum(if_relevant - judged[pool.query], 0.0))
    now, change = scores[1] - scores[0], lifts[1] - lifts[0]
    low = now - segment_max(-change, pool.query, pool.n_queries)
    high = now + segment_max(change, pool.query, pool.n_queries)
    matters = (lifts[0] > 0) | (lifts[1] > 0)
    return DifferenceBounds(now, low, high, matters, np.minimum(change, 0.0), np.maximum(change, 0.0))


def straddles_zero(low: float, high: float) -> bool:
    """Tell whether 0 lies within bounds or on one of them, rounding errors aside; bounds that coincide are certain."""
    return low <= NEARLY_ZERO and high >= -NEARLY_ZERO and high - low > NEARLY_ZERO


class JudgingQueue:
    """The unjudged docs that can change the difference: first those that could reverse its present sign.

    Each part is ordered by how far a doc can move the difference. Grades can bring that as close to 0 as they like, and
    then any doc that is left might decide. So to be certain beforehand, all of these docs have to be judged; in practice
    one judges the first few and compares again.
    """

    def __init__(
        self, bounds: DifferenceBounds, pool: UnjudgedPool, query_ids: tuple[str, ...], counted: Bools
    ) -> None:
        self.query_ids, self.pool = query_ids, pool
        low, high = bounds.falls, bounds.rises
        against, along = (-low, high) if bounds.now[counted].sum() >= 0 else (high, -low)
        useful = np.flatnonzero(bounds.matters & counted[pool.query])
        self.order: Ints = useful[np.lexsort((-along[useful], -against[useful]))]
        """Positions in the pool."""
        self.swings = np.where(high >= -low, high, low) / max(int(counted.sum()), 1)
        """How far each doc of the pool can move the mean difference."""

    def first(self, n: int | None = None) -> tuple[DocToJudge, ...]:
        return tuple(
            DocToJudge(
                query=self.query_ids[int(self.pool.query[i])],
                doc=self.pool.docs[i],
                swing=or_none(float(self.swings[i])),
                rank_a=int(self.pool.rank_a[i]) or None,
                rank_b=int(self.pool.rank_b[i]) or None,
            )
            for i in self.order[:n].tolist()
        )
