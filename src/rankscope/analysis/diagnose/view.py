"""The view: all numbers per query that the diagnosis looks at, each computed once and in one place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.diagnose.records import Losses, PoolCut, PositionReport, Positions, RankBand, RankRow
from rankscope.analysis.diagnose.thresholds import SURE_TOP
from rankscope.arrays import Floats, Ints, positions_in_segment, safe_divide
from rankscope.light import replace
from rankscope.measures.gain import gains_of
from rankscope.measures.rank import first_relevant_ranks
from rankscope.measures.sets import n_found
from rankscope.measures.spec import Measure


class RunView:
    """A run's hits, for the queries that have relevant docs, seen at a cut-off and within a candidate pool.

    `measure` is nDCG at k, as the profile has it.
    """

    def __init__(self, hits: Hits, measure: Measure, *, rel: float, cuts: Sequence[int]) -> None:
        self.measure, self.rel, self.k = measure, rel, int(measure.options["k"])
        self.hits = hits.select(np.asarray(hits.n_relevant(rel) > 0))
        wanted = sorted({*cuts, self.k})
        self.depth = min(max(int(self.hits.n_retrieved.max(initial=0)), 1), wanted[-1])
        """How many docs of each query the pool has at most."""
        self.cuts = (*(cut for cut in wanted if cut < self.depth), self.depth)
        """Depths of the candidate pool, rising; none is beyond the longest list."""
        self.top = min(SURE_TOP, self.k)
        """How many docs make the very top, of which one says that it is right or bad."""
        self.repeated_share = np.zeros(len(self.hits))
        """The share of each query's top k that nearly repeats an earlier doc, 0 where that is not known."""

    def __len__(self) -> int:
        return len(self.hits)

    @cached_property
    def n_relevant(self) -> Ints:
        return self.hits.n_relevant(self.rel).astype(np.int64)

    def found(self, k: int) -> Ints:
        return n_found(self.hits, k, self.rel).astype(np.int64)

    @cached_property
    def n_below(self) -> Ints:
        """Relevant docs that are in the pool, but not in the top k."""
        return np.asarray(np.maximum(self.found(self.depth) - self.found(self.k), 0))

    @cached_property
    def n_movable(self) -> Ints:
        """Relevant docs of the pool for which there is room in the top k: other docs stand there."""
        room = np.minimum(self.n_relevant, self.k) - self.found(self.k)
        return np.minimum(room, self.n_below)

    @cached_property
    def first(self) -> Floats:
        """The rank of the first relevant doc, NaN where the pool has none."""
        return first_relevant_ranks(self.hits, self.depth, self.rel)

    @cached_property
    def next(self) -> Floats:
        """The rank of the first relevant doc of the pool below the top k, NaN where there is none."""
        below = (self.hits.grades >= self.rel) & ~self.hits.within(self.k) & self.hits.within(self.depth)
        ranks = np.full(len(self), math.nan)
        np.fmin.at(ranks, self.hits.segments[below], self.hits.ranks[below])
        return ranks

    def nonrelevant(self, k: int) -> Ints:
        """Count the docs in the top k that were judged and found non-relevant."""
        bad = (self.hits.grades >= 0) & (self.hits.grades < self.rel) & self.hits.within(k)
        return self.hits.per_query(bad).astype(np.int64)

    @cached_property
    def n_shown(self) -> Ints:
        return np.minimum(self.hits.n_retrieved, self.k)

    @cached_property
    def n_unjudged(self) -> Ints:
        judged = self.hits.per_query((self.hits.grades >= 0) & self.hits.within(self.k))
        return self.n_shown - judged.astype(np.int64)

    @cached_property
    def has_nonrelevant(self) -> bool:
        """Whether the qrels hold docs that were judged and found non-relevant, so that bad results can be seen."""
        return bool((self.hits.ideal_grades < self.rel).any())

    @cached_property
    def score(self) -> Floats:
        return np.nan_to_num(self.measure.score(self.hits, rel=self.rel))

    def best_score(self, depth: int) -> Floats:
        """NDCG at k of the best order of the first `depth` docs: what a perfect re-ranker of them would reach."""
        pool = self.hits.first(depth)
        arguments = self.measure.arguments(rel=self.rel)
        order = np.lexsort((-gains_of(pool.grades, arguments["gain"], arguments["rel"]), pool.segments))
        ranks = positions_in_segment(pool.segments, len(pool)) + 1
        return np.nan_to_num(self.measure.score(replace(pool, grades=pool.grades[order], ranks=ranks), rel=self.rel))

    @cached_property
    def reordered(self) -> Floats:
        """NDCG at k if the top k stood in their best order."""
        return self.best_score(self.k)

    @cached_property
    def ceiling(self) -> Floats:
        """NDCG at k if the whole pool stood in its best order."""
        return self.best_score(max(self.depth, self.k))

    @property
    def losses(self) -> Losses:
        score, reordered, ceiling = (float(part.mean()) for part in (self.score, self.reordered, self.ceiling))
        outside, answered = 1 - self.ceiling, self.hits.answered
        not_retrieved, not_answered = (float(np.where(part, outside, 0.0).mean()) for part in (answered, ~answered))
        return Losses(score, reordered - score, ceiling - reordered, not_retrieved, not_answered)

    @property
    def pool(self) -> Iterator[PoolCut]:
        for depth in self.cuts:
            found = self.found(depth)
            yield PoolCut(
                depth,
                recall=float((found / self.n_relevant).mean()),
                best_recall=float((np.minimum(found, self.k) / self.n_relevant).mean()),
                best_ndcg=float(self.best_score(depth).mean()),
            )

    @property
    def relevant_docs(self) -> Iterator[RankBand]:
        """Yield how many relevant docs stand in which ranks, those that were not retrieved last."""
        ranks = self.hits.ranks[self.hits.grades >= self.rel]
        total = int(self.n_relevant.sum())
        first = 1
        for last in self.cuts:
            n_docs = int(((ranks >= first) & (ranks <= last)).sum())
            yield RankBand(first, last, n_docs, n_docs / total)
            first = last + 1
        n_deeper = int((ranks >= first).sum())
        if n_deeper:
            yield RankBand(first, None, n_deeper, n_deeper / total)
        yield RankBand(None, None, total - len(ranks), (total - len(ranks)) / total)

    @property
    def ranks(self) -> Iterator[RankRow]:
        grades, at = self.hits.grades, self.hits.ranks
        for rank in range(1, self.k + 1):
            here = grades[at == rank]
            n_relevant, n_judged = int((here >= self.rel).sum()), int((here >= 0).sum())
            n_filled = int((self.hits.n_retrieved >= rank).sum())
            yield RankRow(rank, n_relevant, n_judged - n_relevant, n_filled - n_judged, len(self) - n_filled)

    @property
    def positions(self) -> PositionReport:
        """At which ranks the relevant docs stand, over all queries and by query."""
        relevant = self.hits.grades >= self.rel
        ranks = self.hits.ranks[relevant]
        ends = np.cumsum(self.hits.per_query(relevant).astype(np.int64))
        by_query = zip(self.hits.query_ids, np.split(ranks, ends[:-1]), self.n_relevant.tolist(), strict=True)
        queries = {query: positions_of(mine, total) for query, mine, total in by_query}
        return PositionReport(positions_of(ranks, int(self.n_relevant.sum())), queries)

    @property
    def unjudged_share(self) -> float | None:
        """The share of the docs in all tops that nobody judged; None where there are none."""
        n_shown = int(self.n_shown.sum())
        return int(self.n_unjudged.sum()) / n_shown if n_shown else None

    @cached_property
    def unjudged_shares(self) -> Floats:
        """The unjudged share of each query's top k, 0 where nothing was retrieved."""
        return np.nan_to_num(safe_divide(self.n_unjudged.astype(np.float64), self.n_shown))


def positions_of(ranks: Ints, total: int) -> Positions:
    some = len(ranks) > 0
    return Positions(
        found=len(ranks),
        total=total,
        average=float(ranks.mean()) if some else None,
        best=int(ranks.min()) if some else None,
        worst=int(ranks.max()) if some else None,
        in_top={top: int((ranks <= top).sum()) for top in (3, 5, 10)},
    )
