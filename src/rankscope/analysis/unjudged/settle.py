"""Which docs to judge: those that could most upset the order of two systems first.

A judgment concerns one query and one doc. Judged useless, a doc counts as it does now, and what the others could do
shrinks. The first n docs settle the sign if the bounds that the rest leaves have 0 neither between them nor on them.

What holds whatever the judgments turn out to be is another matter: grades can bring the difference as close to 0 as
they like, and then any doc that is left might decide. So to be certain beforehand, every doc that can change the
difference has to be judged. In practice one judges the first few and compares again.
"""

from __future__ import annotations

from typing import Protocol

import msgspec
import numpy as np

from rankscope.analysis.unjudged.pool import Pool
from rankscope.analysis.unjudged.records import SettleDoc, straddles_zero
from rankscope.arrays import Bools, Floats, Ints


class Problem(Protocol):
    """The difference of one measure between two systems, for any grades of the docs in doubt."""

    pool: Pool
    now: Floats
    """The difference of each query if all docs in doubt get grade 0."""
    exact: bool

    def matters(self) -> Bools:
        """Tell which docs in doubt can change the difference at all."""
        ...

    def alone(self) -> tuple[Floats, Floats]:
        """Return how far each doc alone can lower and raise the difference of its query."""
        ...

    def extremes(self, free: Ints) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query when only these docs are in doubt."""
        ...


class Queue(msgspec.Struct, frozen=True, eq=False):
    """The docs in doubt that can change the difference, the most important first."""

    query_ids: tuple[str, ...]
    pool: Pool
    order: Ints
    """Places in the pool."""
    swings: Floats
    """Of every doc of the pool."""

    def first(self, n: int | None = None) -> tuple[SettleDoc, ...]:
        """Return the n docs to judge first, by default all."""
        return tuple(map(self.doc, self.order[:n].tolist()))

    def doc(self, place: int) -> SettleDoc:
        """Return one doc of the pool as a record."""
        rank_a, rank_b = int(self.pool.rank_a[place]), int(self.pool.rank_b[place])
        return SettleDoc(
            query_id=self.query_ids[int(self.pool.query[place])],
            doc_id=self.pool.docs[place],
            swing=float(self.swings[place]),
            rank_a=rank_a or None,
            rank_b=rank_b or None,
        )


def queue_of(problem: Problem, query_ids: tuple[str, ...], counted: Bools) -> Queue:
    """Put the docs in order: those that speak against the present sign first, each part by how far they can swing."""
    low, high = problem.alone()
    against, along = (-low, high) if problem.now[counted].sum() >= 0 else (high, -low)
    useful = np.flatnonzero(problem.matters() & counted[problem.pool.query])
    order = useful[np.lexsort((-along[useful], -against[useful]))]
    swings = np.where(high >= -low, high, low) / max(int(counted.sum()), 1)
    return Queue(query_ids, problem.pool, order, swings)


def n_to_settle(problem: Problem, queue: Queue, counted: Bools, low: Floats, high: Floats) -> int:
    """Return how many docs at the front of the queue settle the sign if they turn out useless."""
    fewest, enough = 0, len(queue.order)
    if not straddles_zero(float(low[counted].mean()), float(high[counted].mean())):
        return 0
    least, most = low, high  # bounds with the first `fewest` docs judged; with `enough` of them it is settled
    while enough - fewest > 1:
        middle = (fewest + enough) // 2
        changed = np.zeros(len(low), dtype=np.bool_)
        changed[queue.pool.query[queue.order[fewest:middle]]] = True
        left = queue.order[middle:]
        new_low, new_high = problem.extremes(left[changed[queue.pool.query[left]]])
        low_now, high_now = np.where(changed, new_low, least), np.where(changed, new_high, most)
        if straddles_zero(float(low_now[counted].mean()), float(high_now[counted].mean())):
            fewest, least, most = middle, low_now, high_now
        else:
            enough = middle
    return enough
