"""The pool of unjudged docs: those in the first k ranks of either system that nobody judged, with both ranks.

Further docs may be in it that neither has there.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.doc_lists import DocLists, PooledDocs, lists_of
from rankscope.analysis.unjudged.random_judgments import scramble, text_hashes
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.light import replace
from rankscope.measures.spec import Measure

if TYPE_CHECKING:
    from rankscope.analysis.unjudged.random_judgments import Keys


class UnjudgedPool(msgspec.Struct, frozen=True, eq=False):
    """One entry per query and unjudged doc, query by query."""

    n_queries: int
    query: Ints
    """The query, by position."""
    docs: PooledDocs
    rank_a: Ints
    """The rank in the first system's list, 0 where it is not among the first k."""
    rank_b: Ints

    @classmethod
    def without_docs(cls, n_queries: int) -> UnjudgedPool:
        none = np.empty(0, dtype=np.int64)
        return cls(n_queries, none, PooledDocs(None, (none, none), none, (none, none), {}), none, none)

    def __len__(self) -> int:
        return len(self.query)

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
    between: tuple[int, int] | None = None,
) -> UnjudgedPool:
    """Return the unjudged docs of two runs on the same queries; these are read only where the hits say so.

    `more` has further docs by query that may be judged, too: what a perfect list is depends on them as well. With
    `between`, the pool is that of the queries from one position up to another.
    """
    hits = tuple(each.hits if between is None else hits_between(each.hits, *between) for each in runs)
    query_ids = hits[0].query_ids
    has_more = np.array([query in more for query in query_ids], dtype=np.bool_)
    queries = np.flatnonzero((n_unjudged(hits[0], k) > 0) | (n_unjudged(hits[1], k) > 0) | has_more)
    if not len(queries):
        return UnjudgedPool.without_docs(len(query_ids))
    lists = both_lists(runs, k)
    places = [np.array([each.place_of[query] for query in query_ids], dtype=np.int64) for each in lists]
    salts = scramble(text_hashes(query_ids))
    sides = [unjudged_rows(*side, queries=queries, k=k, salts=salts) for side in zip(hits, lists, places, strict=True)]
    (query_a, ranks_a, keys_a), (query_b, ranks_b, keys_b) = sides
    in_b = positions_among(keys_b, keys_a)
    only_b = np.ones(len(keys_b), dtype=np.bool_)
    only_b[in_b[in_b >= 0]] = False
    own_b = np.append(ranks_b, 0)[in_b]  # of those that are not there, -1, the last
    query = np.concatenate([query_a, query_b[only_b]])
    rank_a = np.concatenate([ranks_a, np.zeros(int(only_b.sum()), dtype=np.int64)])
    rank_b = np.concatenate([own_b, ranks_b[only_b]])
    further, ids = more_docs(
        qrels, query_ids, queries[has_more[queries]], more, known=np.concatenate([keys_a, keys_b]), salts=salts
    )
    none = np.zeros(len(further), dtype=np.int64)
    query, rank_a, rank_b = (np.concatenate(both) for both in ((query, further), (rank_a, none), (rank_b, none)))
    order = np.argsort(query, kind="stable")  # of each query those of the first, those of the second alone, and more
    query, rank_a, rank_b = query[order], rank_a[order], rank_b[order]
    ids_at = dict(zip(np.flatnonzero(order >= len(order) - len(ids)).tolist(), ids, strict=True)) if ids else {}
    docs = PooledDocs(lists, (places[0], places[1]), query, (rank_a, rank_b), ids_at)
    return UnjudgedPool(len(query_ids), query, docs, rank_a, rank_b)


def both_lists(runs: tuple[AlignedRun, AlignedRun], k: int | None) -> tuple[DocLists, DocLists]:
    """Return the lists of two runs, which are read at the same time where memory is not bounded."""
    is_bounded = any(getattr(each.run.source, "is_sharded", False) for each in runs)
    if is_bounded or runs[0].lists is runs[1].lists:
        return lists_of(runs[0], k), lists_of(runs[1], k)
    with ThreadPoolExecutor(len(runs)) as threads:
        first, second = threads.map(lambda run: lists_of(run, k), runs)
    return first, second


def unjudged_rows(
    hits: Hits, lists: DocLists, places: Ints, *, queries: Ints, k: int | None, salts: Keys
) -> tuple[Ints, Ints, Keys]:
    """Return the unjudged docs of some queries, by rank: their queries, their ranks, and what each is known by."""
    n_shown = hits.n_shown(k)[queries]
    starts = offsets_of(n_shown)
    query = np.repeat(queries, n_shown)
    ranks = np.arange(len(query)) - np.repeat(starts[:-1], n_shown) + 1
    start_of = np.full(len(hits), -1, dtype=np.int64)
    start_of[queries] = starts[:-1]
    judged = (hits.grades >= 0) & hits.within(k) & (start_of[hits.segments] >= 0)
    unjudged = np.ones(len(query), dtype=np.bool_)
    unjudged[start_of[hits.segments[judged]] + hits.ranks[judged] - 1] = False
    hashes = lists.hashes(places[queries])
    query = query[unjudged]
    return query, ranks[unjudged], scramble(hashes[unjudged] + salts[query])


def positions_among(keys: Keys, wanted: Keys) -> Ints:
    """Return where each wanted key is among others; -1 where it is not there."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    order, in_turn = np.argsort(keys), np.argsort(wanted)  # to look for rising keys is twice as fast
    keys, wanted = keys[order], wanted[in_turn]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = np.empty(len(wanted), dtype=np.int64)
    found[in_turn] = np.where(keys[place] == wanted, order[place], -1)
    return found


def more_docs(
    qrels: Qrels,
    query_ids: Sequence[str],
    queries: Ints,
    more: Mapping[str, Iterable[str]],
    *,
    known: Keys,
    salts: Keys,
) -> tuple[Ints, list[str]]:
    """Return the further docs that may be judged and that neither run has: their queries, by position, and their ids."""
    of_query, ids = array("q"), list[str]()
    for i in queries.tolist():
        grade_of = qrels.judged[query_ids[i]]
        own = [doc for doc in dict.fromkeys(more[query_ids[i]]) if grade_of.get(doc, -1) < 0]
        of_query.extend([i] * len(own))
        ids.extend(own)
    query = np.array(of_query, dtype=np.int64)
    is_new = positions_among(known, scramble(text_hashes(ids) + salts[query])) < 0
    return query[is_new], list(compress(ids, is_new.tolist()))


def hits_between(hits: Hits, start: int, stop: int) -> Hits:
    """Return the hits of the queries from one position up to another."""
    mine = slice(hits.offsets[start], hits.offsets[stop])
    ideal = slice(hits.ideal_offsets[start], hits.ideal_offsets[stop])
    return replace(
        hits,
        query_ids=hits.query_ids[start:stop],
        answered=hits.answered[start:stop],
        n_retrieved=hits.n_retrieved[start:stop],
        offsets=hits.offsets[start : stop + 1] - hits.offsets[start],
        ranks=hits.ranks[mine],
        grades=hits.grades[mine],
        ideal_offsets=hits.ideal_offsets[start : stop + 1] - hits.ideal_offsets[start],
        ideal_grades=hits.ideal_grades[ideal],
    )


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
