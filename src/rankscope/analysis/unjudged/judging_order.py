"""Which docs to judge: those that could most change the order of two systems first.

A judgment concerns one query and one doc. Grades can bring the difference as close to 0 as they like, and then any doc
that is left might decide. So to be certain beforehand, every doc that can change the difference has to be judged. In
practice one judges the first few and compares again.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rankscope.analysis.unjudged.pool import UnjudgedPool
from rankscope.analysis.unjudged.records import SettleDoc
from rankscope.arrays import Bools, Floats, Ints


class DifferenceBounds(Protocol):
    """The difference of one measure between two systems, for any grades of the unjudged docs."""

    pool: UnjudgedPool
    now: Floats
    """The difference of each query if all unjudged docs get grade 0."""
    exact: bool
    """Whether some grades really lead to the extremes; else these are safe, but may be too far apart."""

    def matters(self) -> Bools:
        """Tell which unjudged docs can change the difference at all."""
        ...

    def alone(self) -> tuple[Floats, Floats]:
        """Return how far each doc alone can lower and raise the difference of its query."""
        ...

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query."""
        ...


class JudgingQueue:
    """The unjudged docs that can change the difference: first those that could reverse its present sign.

    Each part is ordered by how far a doc can move the difference.
    """

    def __init__(self, bounds: DifferenceBounds, query_ids: tuple[str, ...], counted: Bools) -> None:
        self.query_ids, self.pool = query_ids, bounds.pool
        low, high = bounds.alone()
        against, along = (-low, high) if bounds.now[counted].sum() >= 0 else (high, -low)
        useful = np.flatnonzero(bounds.matters() & counted[bounds.pool.query])
        self.order: Ints = useful[np.lexsort((-along[useful], -against[useful]))]
        """Positions in the pool."""
        self.swings = np.where(high >= -low, high, low) / max(int(counted.sum()), 1)
        """How far each doc of the pool can move the mean difference."""

    def first(self, n: int | None = None) -> tuple[SettleDoc, ...]:
        """Return the n docs to judge first, by default all."""
        return tuple(
            SettleDoc(
                query_id=self.query_ids[int(self.pool.query[i])],
                doc_id=self.pool.docs[i],
                swing=float(self.swings[i]),
                rank_a=int(self.pool.rank_a[i]) or None,
                rank_b=int(self.pool.rank_b[i]) or None,
            )
            for i in self.order[:n].tolist()
        )
