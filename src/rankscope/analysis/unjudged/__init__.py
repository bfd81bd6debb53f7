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
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun, on_shared_queries
from rankscope.analysis.unjudged.average_precision import LONGEST_FOR_PAIRS, PrecisionDifferences, batch_widths
from rankscope.analysis.unjudged.doc_lists import PooledDocs
from rankscope.analysis.unjudged.linear import FORMS, LinearDifferences, has_plain_gains
from rankscope.analysis.unjudged.pool import (
    DifferenceBounds,
    UnjudgedPool,
    both_lists,
    graded_hits,
    hits_between,
    keeps_unjudged,
    n_unjudged,
    pool_of,
)
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


DOCS_AT_ONCE = 1 << 18
"""About how many unjudged docs are looked at together."""
PLACE, SIZE = np.dtype(np.int32), np.dtype(np.float64)
QUEUED = np.dtype(
    [("query", PLACE), ("rank_a", PLACE), ("rank_b", PLACE), ("against", SIZE), ("along", SIZE), ("swing", SIZE)]
)
"""What a queue keeps of a doc: where it is, and how far it could move the difference."""


class DocToJudge(Record, gc=False):
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
    n_useful: int
    """How many docs can change the difference, whether the sign is settled or not."""
    sensitivity: dict[str, float | None]
    """The difference by other ways of dealing with unjudged docs, in words; None where it is undefined."""
    docs: Callable[..., tuple[DocToJudge, ...]]
    """`docs(n)` returns the n docs to judge first, `docs()` all that can change the difference, or all that are kept."""


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
    work = BoundsWork(qrels, run_a, run_b, measure, policies, scale=scale)
    pool = pool_of(qrels, work.runs, k=work.k, more=more)
    return PairBounds(work.bounds(pool, work.hits), pool, work.hits, work.counted, work.top, work.k)


class BoundsWork:
    """Bounds the differences of two runs, of all queries or of some at a time."""

    def __init__(
        self,
        qrels: Qrels,
        run_a: AlignedRun,
        run_b: AlignedRun,
        measure: Measure,
        policies: Policies,
        *,
        scale: Sequence[float] = (),
    ) -> None:
        if not supports(measure, policies):
            raise MeasureError(
                f"the effect of unjudged docs on {measure.name} cannot be bounded",
                hint=f"it can for {', '.join(SUPPORTED)}, averaged over queries, with unjudged docs left in the lists",
            )
        self.qrels, self.measure = qrels, measure
        self.runs = on_shared_queries(run_a, run_b)
        self.hits = self.runs[0].hits, self.runs[1].hits
        self.arguments = measure.arguments(rel=policies.relevance_level)
        self.k: int | None = self.arguments.get("k")
        lowest_relevant = float(self.arguments.get("rel") or policies.relevance_level)
        # where no judged doc is relevant, others may be
        self.top = max(self.hits[0].max_grade, lowest_relevant, *scale)
        self.grades = np.unique(np.concatenate([self.hits[0].ideal_grades, scale]))
        """Those that docs have, and that they can get."""
        scores = (score_hits(each, [measure], policies)[0][:, 0] for each in self.hits)
        self.counted: Bools = np.all([~np.isnan(each) for each in scores], axis=0)

    def bounds(
        self, pool: UnjudgedPool, hits: tuple[Hits, Hits], *, first: int = 0, widths: Ints | None = None
    ) -> DifferenceBounds:
        """Bound the differences of the queries that a pool and hits have: those from the first on."""
        base, arguments = self.measure.base, self.arguments
        if base in FORMS:
            form = FORMS[base](arguments, self.top)
            return LinearDifferences(form, pool, hits, top=self.top, grades=self.grades).bounds()
        if base in VALUES:
            return first_relevant_bounds(VALUES[base], arguments, pool, hits)
        return PrecisionDifferences(arguments, pool, hits, widths=widths, whole=self.hits, first=first).bounds()

    def pool(self, block: tuple[int, int]) -> UnjudgedPool:
        return pool_of(self.qrels, self.runs, k=self.k, between=block)

    def blocks(self) -> list[tuple[int, int]]:
        """Return the queries in blocks that have few enough docs to be looked at together; nearly always one."""
        n_docs = n_unjudged(self.hits[0], self.k) + n_unjudged(self.hits[1], self.k)
        block = np.cumsum(n_docs) // DOCS_AT_ONCE
        starts = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(n_docs)]
        return list(pairwise(starts)) if n_docs.sum() > DOCS_AT_ONCE else [(0, len(n_docs))]

    def widths(self, blocks: Sequence[tuple[int, int]]) -> Ints | None:
        """Return the batches of average precision, which are those of all queries, where these are in several blocks.

        Where all lists are too long to look at pairs of docs, it does not matter which batch a query is in.
        """
        if len(blocks) == 1 or self.measure.base != "AP":
            return None
        n_least = np.maximum(n_unjudged(self.hits[0], self.k), n_unjudged(self.hits[1], self.k))
        if n_least[n_least > 0].min() > LONGEST_FOR_PAIRS:
            return None
        return batch_widths(np.concatenate([self.pool(block).counts for block in blocks]))


def unjudged_effect_of(
    qrels: Qrels,
    run_a: AlignedRun,
    run_b: AlignedRun,
    measure: Measure,
    policies: Policies,
    *,
    most_docs: int | None = None,
) -> UnjudgedEffect:
    """Bound what unjudged docs could do to the difference of two runs that are aligned already.

    Of the docs to judge, `most_docs` are kept at most, the first ones.
    """
    work = BoundsWork(qrels, run_a, run_b, measure, policies)
    hits, counted = work.hits, work.counted
    now = work.bounds(UnjudgedPool.without_docs(len(counted)), hits).now
    queue = JudgingQueue(work, leads=bool(now[counted].sum() >= 0), most=most_docs)
    blocks = work.blocks()
    widths = work.widths(blocks)
    low, high, n_unjudged_docs, is_exact = np.empty(len(now)), np.empty(len(now)), 0, True
    perfect = np.empty((2, len(now)))
    for start, stop in blocks:
        mine, here = slice(start, stop), (hits_between(hits[0], start, stop), hits_between(hits[1], start, stop))
        pool = work.pool((start, stop))
        bounds = work.bounds(pool, here, first=start, widths=None if widths is None else widths[mine])
        low[mine], high[mine], is_exact = bounds.low, bounds.high, is_exact and bounds.exact
        n_unjudged_docs += int(counted[mine][pool.query].sum())
        for system, ranks in enumerate((pool.rank_a, pool.rank_b)):
            graded = graded_hits(here[system], pool, ranks, grade=work.top, k=work.k)
            perfect[system, mine] = score_hits(graded, [measure], policies)[0][:, 0]
        queue.add(start, pool, bounds)
    condensed = [each.judged_only() for each in hits]
    has_threshold = qrels.fractional_row is None or policies.min_rel is not None
    bpref = Measure.of(REGISTRY["Bpref"], {})
    mean_low, mean_high = summarise(low[counted], "mean"), summarise(high[counted], "mean")
    return UnjudgedEffect(
        k=work.k,
        top_grade=work.top,
        n_unjudged=n_unjudged_docs,
        useless=summarise(now[counted], "mean"),
        perfect=summarise(np.subtract(*np.nan_to_num(perfect[::-1, counted])), "mean"),
        low=mean_low,
        high=mean_high,
        exact=is_exact,
        query_ids=hits[0].query_ids,
        query_low=np.where(counted, low, np.nan),
        query_high=np.where(counted, high, np.nan),
        n_certain=queue.n_docs if straddles_zero(mean_low, mean_high) else 0,
        n_useful=queue.n_docs,
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

    def __init__(self, work: BoundsWork, *, leads: bool, most: int | None) -> None:
        """Prepare an empty queue; `leads` says whether the second system is not behind, `most` how many docs are kept."""
        self.work, self.leads, self.most = work, leads, most
        self.n_docs = 0
        """How many docs can change the difference, kept or not."""
        self.docs = np.empty(0, dtype=QUEUED)

    def add(self, first_query: int, pool: UnjudgedPool, bounds: DifferenceBounds) -> None:
        """Take in the docs of some queries, of which this is the first."""
        low, high, counted = bounds.falls, bounds.rises, self.work.counted
        useful = bounds.matters & counted[first_query + pool.query]
        self.n_docs += int(useful.sum())
        against, along = (-low, high) if self.leads else (high, -low)
        if self.most is not None and len(self.docs) == self.most > 0:  # others are behind all that are kept
            useful &= against >= self.docs["against"][-1]
        at = np.flatnonzero(useful)
        docs = np.empty(len(at), dtype=QUEUED)
        docs["query"], docs["rank_a"], docs["rank_b"] = first_query + pool.query[at], pool.rank_a[at], pool.rank_b[at]
        docs["against"], docs["along"] = against[at], along[at]
        docs["swing"] = np.where(high >= -low, high, low)[at] / max(int(counted.sum()), 1)
        docs = np.concatenate([self.docs, docs])
        order = np.lexsort((-docs["along"], -docs["against"]))  # equal ones as they come
        self.docs = docs[order[: self.most]]

    def first(self, n: int | None = None) -> tuple[DocToJudge, ...]:
        docs = self.docs[:n]
        if not len(docs):
            return ()
        query_ids, lists = self.work.hits[0].query_ids, both_lists(self.work.runs, self.work.k)
        query, ranks = docs["query"], (docs["rank_a"].astype(np.int64), docs["rank_b"].astype(np.int64))
        places = [np.array([each.place_of[name] for name in query_ids], dtype=np.int64) for each in lists]
        ids = PooledDocs(lists, (places[0], places[1]), query, ranks, {}).chosen(np.arange(len(docs)))
        shared = [None, *range(1, int(max(ranks[0].max(), ranks[1].max())) + 1)]  # one number for all docs of a rank
        columns = (query.tolist(), ids, docs["swing"].tolist(), ranks[0].tolist(), ranks[1].tolist())
        return tuple(
            DocToJudge(query_ids[i], doc, or_none(swing), shared[rank_a], shared[rank_b])
            for i, doc, swing, rank_a, rank_b in zip(*columns, strict=True)
        )
