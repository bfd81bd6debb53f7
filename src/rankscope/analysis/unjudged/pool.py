"""The docs in doubt: those in the first k ranks of either system that nobody judged, with their ranks in both."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.light import replace
from rankscope.measures.spec import Measure


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
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
        """How many docs of each query are in doubt."""
        return np.bincount(self.query, minlength=self.n_queries)


def keeps_unjudged(measure: Measure, policies: Policies) -> bool:
    """Tell whether docs that nobody judged stay in the lists that a measure looks at."""
    over = measure.arguments(rel=policies.relevance_level).get("over")
    return not (policies.judged_only or measure.options.get("judged_only") or over == "judged")


def paired(hits_a: Hits, hits_b: Hits) -> tuple[Hits, Hits]:
    """Return the hits of the queries that both have."""
    if hits_a.query_ids == hits_b.query_ids:
        return hits_a, hits_b
    both = set(hits_a.query_ids) & set(hits_b.query_ids)
    a, b = (each.select(np.array([query in both for query in each.query_ids])) for each in (hits_a, hits_b))
    return a, b


def pool_of(qrels: Qrels, runs: tuple[AlignedRun, AlignedRun], hits: tuple[Hits, Hits], *, k: int | None) -> Pool:
    """Return the docs in doubt; the runs are read only where hits say that there are any."""
    in_doubt = np.flatnonzero((n_unjudged(hits[0], k) > 0) | (n_unjudged(hits[1], k) > 0)).tolist()
    query_ids = [hits[0].query_ids[i] for i in in_doubt]
    lists = leading_lists(runs, query_ids, k=k) if query_ids else ((), ())
    docs: list[str] = []
    columns = (array("q"), array("q"), array("q"))
    for i, query, docs_a, docs_b in zip(in_doubt, query_ids, *lists, strict=True):
        ranks = unjudged_ranks(qrels.judged[query], docs_a, docs_b)
        docs.extend(ranks)
        columns[0].extend([i] * len(ranks))
        columns[1].extend(rank for rank, _ in ranks.values())
        columns[2].extend(rank for _, rank in ranks.values())
    queries, ranks_a, ranks_b = (np.array(column, dtype=np.int64) for column in columns)
    return Pool(len(hits[0]), queries, docs, ranks_a, ranks_b)


def leading_lists(
    runs: tuple[AlignedRun, AlignedRun], query_ids: Sequence[str], *, k: int | None
) -> Sequence[tuple[tuple[str, ...], ...]]:
    """Return the first docs of both runs, which are read at the same time."""
    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(lambda run: run.leading(query_ids, k), runs))


def n_unjudged(hits: Hits, k: int | None) -> Floats:
    """Count the unjudged docs in the first k ranks of each query."""
    shown = hits.n_retrieved if k is None else np.minimum(hits.n_retrieved, k)
    return shown - hits.per_query(hits.within(k) & (hits.grades >= 0))


def unjudged_ranks(
    grade_of: Mapping[str, float], docs_a: Sequence[str], docs_b: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """Return the unjudged docs of one query with their ranks in both lists, 0 where a list does not have them."""
    in_a = {doc: rank for rank, doc in enumerate(docs_a, 1) if grade_of.get(doc, -1) < 0}
    in_b = {doc: rank for rank, doc in enumerate(docs_b, 1) if grade_of.get(doc, -1) < 0}
    return {doc: (in_a.get(doc, 0), in_b.get(doc, 0)) for doc in in_a | in_b}


def graded_hits(hits: Hits, pool: Pool, ranks: Ints, *, grade: float, k: int | None) -> Hits:
    """Return the hits as if every doc in doubt had been judged, all with the same grade, the best there is."""
    listed = ranks > 0
    kept: Bools = ~((hits.grades < 0) & hits.within(k))  # docs that were pooled, but not judged, are in doubt as well
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
