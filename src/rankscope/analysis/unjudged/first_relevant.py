"""Measures that look at the first relevant doc alone: reciprocal rank and success.

Each system's score is the best value of a relevant doc. If several unjudged docs turn out relevant, the one that is
best for B decides B's score, and without the others A's score can only be lower. So the highest difference is reached
with at most one relevant doc among the unjudged ones, and trying each is exact; likewise the lowest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.unjudged.pool import UnjudgedPool
from rankscope.arrays import Bools, Floats, Ints, segment_max

VALUES: dict[str, Callable[[Ints], Floats]] = {
    "RR": lambda ranks: 1 / ranks,
    "Success": lambda ranks: np.ones(len(ranks)),
}
"""What a relevant doc at a rank is worth."""


class FirstRelevantBounds:
    """The differences of one such measure, for any grades of the unjudged docs."""

    exact = True

    def __init__(self, base: str, given: dict[str, Any], pool: UnjudgedPool, hits: tuple[Hits, Hits]) -> None:
        self.pool = pool
        value = VALUES[base]
        scores, rises = [], []
        for each, ranks in zip(hits, (pool.rank_a, pool.rank_b), strict=True):
            relevant = (each.grades >= given["rel"]) & each.within(given["k"])
            judged = segment_max(np.where(relevant, value(each.ranks), 0.0), each.segments, len(each))
            if_relevant = np.where(ranks > 0, value(np.maximum(ranks, 1)), 0.0)
            scores.append(judged)
            rises.append(np.maximum(if_relevant - judged[pool.query], 0.0))
        self.now, self.change = scores[1] - scores[0], rises[1] - rises[0]
        self.lifts_any = (rises[0] > 0) | (rises[1] > 0)

    def matters(self) -> Bools:
        return self.lifts_any

    def alone(self) -> tuple[Floats, Floats]:
        return np.minimum(self.change, 0.0), np.maximum(self.change, 0.0)

    def extremes(self) -> tuple[Floats, Floats]:
        query, n = self.pool.query, self.pool.n_queries
        return self.now - segment_max(-self.change, query, n), self.now + segment_max(self.change, query, n)
