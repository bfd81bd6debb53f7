"""Average precision, where unjudged docs raise one another's value, so that bounds are safe rather than exact.

With z = 1/rank, or 0 for a doc that is not listed, the precisions at the relevant docs of a list add up to the sum of
min(z_d, z_e) over all pairs of relevant docs, each doc paired with itself as well. So for a set S of m unjudged docs that
turn out relevant, the difference of one query is (q + sum over S of a_u + sum over pairs in S of c_uv) / R(m), with
c_uv = min(z_u, z_v) in B less the same in A, and a_u what the doc adds by itself and with the judged docs. Which S is
best is hard to find, since pairs may pull either way. Two limits that no S of size m exceeds are easy:

- by pairs: half of each c_uv goes to either doc, and a doc's half cannot be more than that of all its positive pairs,
  nor than m - 1 times its best one. The m docs with the most then are the limit. This sees that a doc is the same in
  both lists, and takes quadratic room, so it is left out for long lists.
- by list: B as if the m docs highest in B were relevant, A as if the m docs lowest in A were.

The smaller of the two holds for every m, and the greatest over all m holds for all S.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.unjudged.pool import DifferenceBounds, UnjudgedPool, divide
from rankscope.arrays import Bools, Floats, Ints, offsets_of, segment_sum
from rankscope.measures.rank import precision_terms

LONGEST_FOR_PAIRS = 256
"""Limits by pairs are worked out for batches in which no query has more unjudged docs."""
_BATCH_CELLS = 1 << 21
"""Queries with about equally many docs make a batch, which has so many cells at most."""
_CELLS_AT_ONCE = 1 << 18
"""About how many numbers an array may hold; results do not depend on it."""


class PrecisionDifferences:
    """The differences of average precision, for any grades of the unjudged docs."""

    def __init__(
        self,
        given: dict[str, Any],
        pool: UnjudgedPool,
        hits: tuple[Hits, Hits],
        *,
        widths: Ints | None = None,
        whole: tuple[Hits, Hits] | None = None,
        first: int = 0,
    ) -> None:
        """Prepare the docs of a pool.

        Where it has the docs of some queries, `first` is the position of the first of them, `widths` are theirs among
        those of all, and `whole` are the hits of all: sums that begin with the first query differ in their last bits.
        """
        self.widths = batch_widths(pool.counts) if widths is None else widths
        k, rel = given["k"], float(given["rel"])
        self.pool, self.cap = pool, k if given["norm"] == "min" else None
        self.n_relevant = hits[0].n_relevant(rel)
        self.sums = [each.per_query(precision_terms(each, k, rel)) for each in hits]
        ranks = (pool.rank_a, pool.rank_b)
        self.closeness = [np.where(each > 0, 1 / np.maximum(each, 1), 0.0) for each in ranks]
        query = first + pool.query
        self.added = [
            own_parts(each, query, mine, k=k, rel=rel) for each, mine in zip(whole or hits, ranks, strict=True)
        ]

    def bounds(self) -> DifferenceBounds:
        query, n_queries = self.pool.query, self.pool.n_queries
        lead = self.sums[1] - self.sums[0]
        now = self.over_relevant(lead, 0, np.arange(n_queries))
        moved = self.pool.rank_a != self.pool.rank_b
        moves = segment_sum(moved, query, n_queries) + (lead != 0)
        change = self.over_relevant(lead[query] + self.added[1] - self.added[0], 1, query) - now[query]
        low, high = now.copy(), now.copy()
        for queries, docs in batches(query, self.widths):
            high[queries] = self.limit(queries, docs, better=1)
            low[queries] = -self.limit(queries, docs, better=0)
        return DifferenceBounds(
            now,
            low,
            high,
            matters=moved | (moves[query] > 0) | (self.added[0] != self.added[1]),
            falls=np.minimum(change, 0.0),
            rises=np.maximum(change, 0.0),
            exact=bool((self.pool.counts <= 1).all()),
        )

    def over_relevant(self, numerator: Floats, n_more: Floats | int, queries: Ints) -> Floats:
        """Divide by the number of relevant docs of each query: those judged relevant, and `n_more` unjudged ones."""
        known = self.n_relevant[queries] if numerator.ndim == 1 else self.n_relevant[queries, None]
        return divide(numerator, known + n_more if self.cap is None else np.minimum(known + n_more, self.cap))

    def limit(self, queries: Ints, docs: Ints, *, better: int) -> Floats:
        """Return what the lead of one system cannot exceed; `docs` has a row per query, filled up with -1."""
        worse, is_doc = 1 - better, docs >= 0
        z = [np.where(is_doc, self.closeness[system][docs], 0.0) for system in (better, worse)]
        added = [np.where(is_doc, self.added[system][docs], 0.0) for system in (better, worse)]
        rises = list_limits(z[0], added[0], z[1], added[1], is_doc)
        if docs.shape[1] <= LONGEST_FOR_PAIRS:
            rises = np.minimum(rises, pair_limits(z[0], z[1], added[0] - added[1], is_doc))
        lead = (self.sums[better] - self.sums[worse])[queries, None]
        n_more = np.arange(docs.shape[1] + 1.0)
        reached = self.over_relevant(np.concatenate([lead, lead + rises], axis=1), n_more, queries)
        possible = n_more <= is_doc.sum(axis=1)[:, None]
        return np.asarray(np.where(possible, reached, -np.inf).max(axis=1))


def own_parts(hits: Hits, query: Ints, ranks: Ints, *, k: int | None, rel: float) -> Floats:
    """Return what each unjudged doc would add to the precisions of a list, by itself and with the judged docs."""
    relevant = np.flatnonzero((hits.grades >= rel) & hits.within(k))
    segments, judged_ranks = hits.segments[relevant], hits.ranks[relevant]
    scale = int(max(judged_ranks.max(initial=0), ranks.max(initial=0))) + 1
    offsets = offsets_of(np.bincount(segments, minlength=len(hits)))
    place = np.searchsorted(segments * scale + judged_ranks, query * scale + ranks)
    before = np.concatenate(([0.0], np.cumsum(1 / judged_ranks)))
    n_above = place - offsets[:-1][query]
    below = before[offsets[1:][query]] - before[place]
    return np.where(ranks > 0, (1 + n_above) / np.maximum(ranks, 1) + below, 0.0)


def batch_widths(counts: Ints) -> Ints:
    """Return the most docs that a query has in the batch that each query with so many docs is in."""
    widths = np.zeros(len(counts), dtype=np.int64)
    waiting = np.argsort(counts, kind="stable")
    waiting = waiting[counts[waiting] > 0]
    while len(waiting):
        width = int(counts[waiting[-1]])
        n_rows = max(1, _BATCH_CELLS // cells_of(width))
        widths[waiting[-n_rows:]] = width
        waiting = waiting[:-n_rows]
    return widths


def cells_of(width: int) -> int:
    return width * width if width <= LONGEST_FOR_PAIRS else width


def batches(doc_query: Ints, widths: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield queries of a batch, some at a time, and their docs (by position) as rows, filled up with -1."""
    counts = np.bincount(doc_query, minlength=len(widths))
    in_order = np.argsort(doc_query, kind="stable")
    starts = offsets_of(counts)[:-1]
    for width in np.unique(widths[counts > 0])[::-1].tolist():
        waiting, column = np.flatnonzero((widths == width) & (counts > 0)), np.arange(width)
        n_rows = max(1, _CELLS_AT_ONCE // cells_of(width))
        for start in range(0, len(waiting), n_rows):
            queries = waiting[start : start + n_rows]
            rows = np.minimum(starts[queries][:, None] + column, len(in_order) - 1)
            yield queries, np.where(column < counts[queries][:, None], in_order[rows], -1)


def pair_limits(z_better: Floats, z_worse: Floats, added: Floats, is_doc: Bools) -> Floats:
    """Return, for m = 1, 2, …, what the lead cannot rise by when m docs are relevant, by pairs of docs."""
    n = z_better.shape[1]
    pairs = np.minimum(z_better[:, :, None], z_better[:, None, :])
    pairs -= np.minimum(z_worse[:, :, None], z_worse[:, None, :])
    pairs[:, np.arange(n), np.arange(n)] = 0.0
    np.maximum(pairs, 0.0, out=pairs)
    all_pairs, best_pair = pairs.sum(axis=2), pairs.max(axis=2)
    n_others = np.arange(n)[None, :, None]
    share = added[:, None, :] + np.minimum(n_others * best_pair[:, None, :], all_pairs[:, None, :]) / 2
    share = np.where(is_doc[:, None, :], share, -np.inf)
    best_first = -np.sort(-share, axis=2)
    return np.asarray(np.cumsum(best_first, axis=2)[:, np.arange(n), np.arange(n)])


def list_limits(z_better: Floats, added_better: Floats, z_worse: Floats, added_worse: Floats, is_doc: Bools) -> Floats:
    """Return, for m = 1, 2, …, what the lead cannot rise by when m docs are relevant, each list taken by itself."""
    highest_first = np.argsort(-z_better, axis=1, kind="stable")
    z, added = (np.take_along_axis(each, highest_first, axis=1) for each in (z_better, added_better))
    most = np.cumsum(added + np.arange(z.shape[1]) * z, axis=1)
    lowest_first = np.argsort(np.where(is_doc, z_worse, np.inf), axis=1, kind="stable")
    z, added = (np.take_along_axis(each, lowest_first, axis=1) for each in (z_worse, added_worse))
    least: Floats = np.cumsum(added + np.cumsum(z, axis=1) - z, axis=1)
    return most - least
