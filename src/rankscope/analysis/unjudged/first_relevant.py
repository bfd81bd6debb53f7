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
        value, k, rel = VALUES[base], given["k"], given["rel"]
        scores_a, scores_b = (judged_scores(value, each, k, rel) for each in hits)
        self.now = scores_b - scores_a
        rise_a = np.maximum(doc_values(value, pool.rank_a) - scores_a[pool.query], 0.0)
        rise_b = np.maximum(doc_values(value, pool.rank_b) - scores_b[pool.query], 0.0)
        self.change = rise_b - rise_a
        self.lifts_any = (rise_a > 0) | (rise_b > 0)

    def matters(self) -> Bools:
        """Tell which unjudged docs can change the difference at all."""
        return self.lifts_any

    def alone(self) -> tuple[Floats, Floats]:
        """Return how far each doc alone can lower and raise the difference of its query."""
        return np.minimum(self.change, 0.0), np.maximum(self.change, 0.0)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query."""
        query, n = self.pool.query, self.pool.n_queries
        return self.now - segment_max(-self.change, query, n), self.now + segment_max(self.change, query, n)


def judged_scores(value: Callable[[Ints], Floats], hits: Hits, k: int | None, rel: float) -> Floats:
    """Return each query's score by its judged docs."""
    relevant = (hits.grades >= rel) & hits.within(k)
    return segment_max(np.where(relevant, value(hits.ranks), 0.0), hits.segments, len(hits))


def doc_values(value: Callable[[Ints], Floats], ranks: Ints) -> Floats:
    """Return what each doc would be worth if it were relevant; nothing where it is not listed."""
    return np.where(ranks > 0, value(np.maximum(ranks, 1)), 0.0)
