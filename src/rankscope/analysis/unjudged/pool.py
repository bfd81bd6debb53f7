"""The pool of unjudged docs: those in the first k ranks of either system that nobody judged, with both ranks.

Further docs may be in it that neither has there.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.light import replace
from rankscope.measures.spec import Measure


class UnjudgedPool(msgspec.Struct, frozen=True, eq=False):
    """One entry per query and unjudged doc, query by query."""

    n_queries: int
    query: Ints
    """The query, by position."""
    docs: Sequence[str]
    rank_a: Ints
    """The rank in the first system's list, 0 where it is not among the first k."""
    rank_b: Ints

    def __len__(self) -> int:
        return len(self.docs)

    @property
    def counts(self) -> Ints:
        return np.bincount(self.query, minlength=self.n_queries)


class DifferenceBounds(msgspec.Struct, frozen=True, eq=False):
    """How far unjudged docs can move the difference between two systems by one measure, whatever their grades."""

    now: Floats
    """The difference of each query if all unjudged docs get grade 0."""
    low: Floats
    """The lowest difference of each query."""
    high: Floats
    matters: Bools
    """Which docs of the pool can change the difference at all."""
    falls: Floats
    """How far each doc alone can lower the difference of its query, 0 or below."""
    rises: Floats
    exact: bool = True
    """Whether some grades really lead to `low` and `high`; else these are safe, but may be too far apart."""


def divide(numerator: Floats, divisor: Floats) -> Floats:
    """Divide; where there is nothing to gain, so that the divisor is 0, the result is 0."""
    return np.divide(numerator, divisor, out=np.zeros_like(numerator), where=divisor > 0)


def keeps_unjudged(measure: Measure, policies: Policies) -> bool:
    """Tell whether docs that nobody judged stay in the lists that a measure looks at."""
    over = measure.arguments(rel=policies.relevance_level).get("over")
    return not (policies.judged_only or measure.options.get("judged_only") or over == "judged")


def pool_of(
    qrels: Qrels,
    runs: tuple[AlignedRun, AlignedRun],
    *,
    k: int | None,
    more: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> UnjudgedPool:
    """Return the unjudged docs of two runs on the same queries; these are read only where the hits say so.

    `more` has further docs by query that may be judged, too: what a perfect list is depends on them as well.
    """
    hits_a, hits_b = (run.hits for run in runs)
    has_more = np.array([query in more for query in hits_a.query_ids], dtype=np.bool_)
    places = np.flatnonzero((n_unjudged(hits_a, k) > 0) | (n_unjudged(hits_b, k) > 0) | has_more).tolist()
    query_ids = [hits_a.query_ids[i] for i in places]
    lists: Sequence[tuple[tuple[str, ...], ...]] = ((), ())
    if query_ids:
        with ThreadPoolExecutor(len(runs)) as threads:
            lists = list(threads.map(lambda run: run.leading(query_ids, k), runs))
    docs: list[str] = []
    columns = (array("q"), array("q"), array("q"))
    for i, query, docs_a, docs_b in zip(places, query_ids, *lists, strict=True):
        grade_of = qrels.judged[query]
        in_a, in_b = (
            {doc: rank for rank, doc in enumerate(listed, 1) if grade_of.get(doc, -1) < 0}
            for listed in (docs_a, docs_b)
        )
        found = in_a | in_b | {doc: 0 for doc in more.get(query, ()) if grade_of.get(doc, -1) < 0}
        docs.extend(found)
        columns[0].extend([i] * len(found))
        columns[1].extend(in_a.get(doc, 0) for doc in found)
        columns[2].extend(in_b.get(doc, 0) for doc in found)
    queries, ranks_a, ranks_b = (np.array(column, dtype=np.int64) for column in columns)
    return UnjudgedPool(len(hits_a), queries, docs, ranks_a, ranks_b)


def n_unjudged(hits: Hits, k: int | None) -> Floats:
    shown = hits.n_retrieved if k is None else np.minimum(hits.n_retrieved, k)
    return shown - hits.per_query(hits.within(k) & (hits.grades >= 0))


def graded_hits(hits: Hits, pool: UnjudgedPool, ranks: Ints, *, grade: float, k: int | None) -> Hits:
    """Return the hits as if every unjudged doc had been judged, all with the same grade, the best there is."""
    listed = ranks > 0
    kept: Bools = ~((hits.grades < 0) & hits.within(k))  # docs that were pooled, but not judged, are in the pool
    segments = np.concatenate([hits.segments[kept], pool.query[listed]])
    all_ranks = np.concatenate([hits.ranks[kept], ranks[listed]])
    grades = np.concatenate([hits.grades[kept], np.full(int(listed.sum()), grade)])
    order = np.lexsort((all_ranks, segments))
    n_judged = np.diff(hits.ideal_offsets)
    first_of_all = np.repeat(hits.ideal_offsets[:-1], pool.counts)
    return replace(
        hits,
        offsets=offsets_of(np.bincount(segments, minlength=len(hits))),
        ranks=all_ranks[order],
        grades=grades[order],
        ideal_offsets=offsets_of(n_judged + pool.counts),
        ideal_grades=np.insert(hits.ideal_grades, first_of_all, grade),
        max_grade=max(hits.max_grade, grade),
    )
