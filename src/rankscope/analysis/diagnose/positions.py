"""Positions: where the relevant docs that were found stand, with found and total always side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Ints

TOPS = (3, 5, 10)


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of relevant docs: average, best and worst of those found, None where none was."""

    found: int
    total: int
    """Relevant docs there are, found or not."""
    average: float | None
    best: int | None
    worst: int | None
    in_top: Mapping[int, int]
    """How many stand in the top 3, 5 and 10."""


@dataclass(frozen=True, slots=True)
class PositionReport:
    """Positions over all relevant docs of all queries together, and by query."""

    overall: Positions
    queries: Mapping[str, Positions]


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
    there = len(ranks) > 0
    return Positions(
        found=len(ranks),
        total=total,
        average=float(ranks.mean()) if there else None,
        best=int(ranks.min()) if there else None,
        worst=int(ranks.max()) if there else None,
        in_top={top: int((ranks <= top).sum()) for top in tops},
    )
