"""Positions: where the relevant docs that were found stand, with found and total always side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.diagnose.records import PositionReport, Positions
from rankscope.arrays import Ints

TOPS = (3, 5, 10)


def position_report(hits: Hits, rel: float, *, tops: Sequence[int] = TOPS) -> PositionReport:
    """Return where the docs with at least grade `rel` stand, over all queries and by query."""
    relevant = hits.grades >= rel
    ranks, segments = hits.ranks[relevant], hits.segments[relevant]
    ends = np.cumsum(np.bincount(segments, minlength=len(hits)))
    totals = hits.n_relevant(rel).astype(np.int64).tolist()
    by_query = np.split(ranks, ends[:-1]) if len(hits) else []
    queries = {
        query: positions_of(mine, total, tops)
        for query, mine, total in zip(hits.query_ids, by_query, totals, strict=True)
    }
    return PositionReport(positions_of(ranks, sum(totals), tops), queries)


def positions_of(ranks: Ints, total: int, tops: Sequence[int]) -> Positions:
    """Summarise the ranks of relevant docs."""
    some = len(ranks) > 0
    return Positions(
        found=len(ranks),
        total=total,
        average=float(ranks.mean()) if some else None,
        best=int(ranks.min()) if some else None,
        worst=int(ranks.max()) if some else None,
        in_top={top: int((ranks <= top).sum()) for top in tops},
    )
