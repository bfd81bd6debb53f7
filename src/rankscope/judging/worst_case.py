"""The worst case of a comparison: what open docs could still make of it, and which of them to judge first.

The interval of the mean at the worst: with every difference d within [l, h], its mean lies between those of l and h,
and its standard deviation differs from that of the middles by at most sqrt(sum ((h - l) / 2)^2 / (n - 1)), as the
lengths of vectors add up at most. The number of standard errors that decides is that of the comparison as it is now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged import PairBounds, pair_bounds_of
from rankscope.arrays import Bools, Floats, Ints
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.request import CompareRequest
from rankscope.comparison.verdict import MIN_UNITS, call
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.io.ids import byte_order
from rankscope.records import Record, or_nan
from rankscope.stats.rng import stream
from rankscope.store.labels import QueryDoc

N_DRAWS = 9
"""So many times the grades of open docs are drawn."""
ROUNDING = 1e-9


def common_queries(runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Return the queries that all runs were asked, in the order of their bytes."""
    asked = [frozenset(run.query_ids if run.asked is None else run.asked.queries) for run in runs.values()]
    return tuple(sorted(frozenset.intersection(*asked), key=byte_order)) if asked else ()


class ComparedRuns(Record, kw_only=True, eq=False):
    """What is compared: the runs of a task, the first is the baseline, and how."""

    runs: Mapping[str, Run]
    measure: str
    margin: float | None
    query_ids: tuple[str, ...]
    """All that count, judged or not."""
    scale: tuple[float, ...]
    seed: int = 0
    alpha: float = 0.05

    def request(self) -> CompareRequest:
        return CompareRequest(
            measures=[self.measure],
            margin=self.margin,
            seed=self.seed,
            alpha=self.alpha,
            unjudged="uncertain",
            order="given",
            anyway=True,
            problems={},
        )


class KnownGrades(Record, kw_only=True, eq=False):
    """The grade of each doc by the rule of a task, and which of them can still change."""

    grades: Mapping[str, Mapping[str, float]]
    unfinished: frozenset[QueryDoc] = frozenset()
    """Docs with fewer grades than the task asks for."""
    last_judgment: int = 0

    def qrels(self, query_ids: Sequence[str], *, finished: bool = False) -> Qrels | None:
        """Return them as qrels that also hold queries without a judgment; None where there is no grade at all."""
        held = {
            query: {
                doc: grade
                for doc, grade in self.grades.get(query, {}).items()
                if not (finished and (query, doc) in self.unfinished)
            }
            for query in query_ids
        }
        rows = [(query, doc, grade) for query, docs in held.items() for doc, grade in docs.items()]
        return Qrels(rows).with_queries(query_ids) if rows else None

    def is_finished(self, query: str, doc: str) -> bool:
        return doc in self.grades.get(query, {}) and (query, doc) not in self.unfinished

    def with_grades(self, more: Mapping[QueryDoc, float]) -> KnownGrades:
        """Return all of them with those of further docs."""
        grades = {query: dict(docs) for query, docs in self.grades.items()}
        for (query, doc), grade in more.items():
            grades.setdefault(query, {})[doc] = grade
        return KnownGrades(grades=grades, unfinished=self.unfinished - more.keys(), last_judgment=self.last_judgment)

    @property
    def n_finished(self) -> int:
        return sum(map(len, self.grades.values())) - len(self.unfinished)


class DifferenceBox(Record, eq=False):
    """Every query's difference lies somewhere between its ends."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, found: PairBounds) -> DifferenceBox:
        return cls(found.bounds.low[found.counted], found.bounds.high[found.counted])

    @property
    def means(self) -> tuple[float, float]:
        if not len(self.low):
            return math.nan, math.nan
        return float(self.low.mean()), float(self.high.mean())

    @property
    def is_closed(self) -> bool:
        return bool(np.all(self.high - self.low <= ROUNDING))

    @property
    def is_ahead(self) -> bool:
        """Whether the sign of the mean is certain."""
        low, high = self.means
        return low > ROUNDING or high < -ROUNDING or high - low <= ROUNDING

    def narrowed(self, rows: Ints, points: Floats) -> DifferenceBox:
        """Return the box after all docs of some queries were judged, which makes points of their differences."""
        low, high = self.low.copy(), self.high.copy()
        low[rows] = high[rows] = points[rows]
        return DifferenceBox(low, high)

    def code(self, pair: PairResult) -> Code | None:
        """Return the verdict that holds for every difference in the box; None where there may be several."""
        if self.is_closed:
            return call(pair)
        critical, narrow = or_nan(pair.mde.critical), or_nan(pair.critical_equivalence)
        n = len(self.low)
        if n < MIN_UNITS or math.isnan(critical) or math.isnan(narrow):
            return None
        (low, high), margin = self.means, pair.margin
        spread = float(((self.low + self.high) / 2).std(ddof=1))
        more = math.sqrt(float(np.square((self.high - self.low) / 2).sum()) / (n - 1))
        widest, narrowest = (spread + more) / math.sqrt(n), max(spread - more, 0.0) / math.sqrt(n)
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        can_be_same = margin > 0 and nearest + narrow * narrowest < margin
        if margin > 0 and max(abs(low), abs(high)) + narrow * widest < margin:
            return "same"
        if low - critical * widest > margin:
            return "better"
        if high + critical * widest < -margin:
            return "worse"
        if can_be_same:
            return None
        if low - critical * widest > 0 and high - critical * narrowest <= margin:
            return "probably_better"
        if high + critical * widest < 0 and low + critical * narrowest >= -margin:
            return "probably_worse"
        never_above, never_below = high - critical * narrowest <= 0, low + critical * narrowest >= 0
        return "cannot_tell" if never_above and never_below else None


def is_settled(pair: PairResult, box: DifferenceBox) -> bool:
    """Tell whether no grades of open docs change the verdict; of too few queries, who is ahead."""
    if box.is_closed:
        return True
    if pair.n_units < MIN_UNITS:
        return box.is_ahead
    return box.code(pair) is not None


def nothing_judged(query_ids: Sequence[str]) -> Qrels:
    """Return qrels with all queries and no grade: a grade below 0 says that nobody has judged a doc."""
    return Qrels([(query, "-", -1.0) for query in query_ids[:1]]).with_queries(query_ids)


def bounds_of_pairs(compared: ComparedRuns, qrels: Qrels, top: float) -> list[PairBounds]:
    """Bound every query's difference between the first system and each other."""
    scoring = compared.request().scoring()
    measure, policies = scoring.measures[0], scoring.policies
    aligned = [AlignedRun.of(qrels, run, policies) for run in compared.runs.values()]
    return [pair_bounds_of(qrels, aligned[0], other, measure, policies, top_grade=top) for other in aligned[1:]]


def open_of(found: PairBounds) -> list[QueryDoc]:
    """Return the open docs that can move a difference."""
    useful: Bools = found.bounds.matters & found.counted[found.pool.query]
    return [(found.query_ids[found.pool.query[i]], found.pool.docs[i]) for i in np.flatnonzero(useful).tolist()]


def left_to_judge(bounds: Sequence[PairBounds], settled: Sequence[bool]) -> tuple[QueryDoc, ...]:
    """Return the open docs of pairs that are not settled.

    First come the queries whose bounds a judgment narrows most, all docs of a query together: the docs that move a
    difference most are often those of one system, and who judges only these would help it.
    """
    width: dict[str, float] = {}
    moves: dict[QueryDoc, float] = {}
    for found, done in zip(bounds, settled, strict=True):
        if done:
            continue
        for query, size in zip(found.query_ids, (found.bounds.high - found.bounds.low).tolist(), strict=True):
            width[query] = width.get(query, 0.0) + size
        swings = np.maximum(found.bounds.rises, -found.bounds.falls)
        useful = np.flatnonzero(found.bounds.matters & found.counted[found.pool.query])
        for i in useful.tolist():
            pair = found.query_ids[found.pool.query[i]], found.pool.docs[i]
            moves[pair] = max(moves.get(pair, 0.0), float(swings[i]))
    n_docs: dict[str, int] = {}
    for query, _ in moves:
        n_docs[query] = n_docs.get(query, 0) + 1
    by_width = sorted(n_docs, key=lambda query: (-width[query] / n_docs[query], query))
    place = {query: i for i, query in enumerate(by_width)}
    return tuple(sorted(moves, key=lambda pair: (place[pair[0]], -moves[pair], pair[1])))


def about_how_many(
    compared: ComparedRuns,
    known: KnownGrades,
    pairs: Sequence[PairResult],
    bounds: Sequence[PairBounds],
    order: Sequence[QueryDoc],
) -> int:
    """Return how many docs of a queue it takes until all is settled, if they are graded like those so far.

    Grades are drawn from those that are final, query by query; the median over the draws is returned. What is
    settled is asked after whole queries, as that is how the queue goes.
    """
    top = max(compared.scale, default=0.0)
    final = np.array(
        [grade for query, docs in known.grades.items() for doc, grade in docs.items() if known.is_finished(query, doc)]
    )
    queue = list(dict.fromkeys(query for query, _ in order))
    n_until = np.cumsum([0, *(sum(query == each for query, _ in order) for each in queue)])
    boxes = [DifferenceBox.of(found) for found in bounds]
    rows = [np.array([row_of(found)[query] for query in queue], dtype=np.int64) for found in bounds]
    random = stream(compared.seed, "open docs")
    needed = []
    for _ in range(N_DRAWS):
        drawn = dict(zip(order, random.choice(final, len(order)).tolist(), strict=True))
        judged = known.with_grades(drawn).qrels(compared.query_ids)
        if judged is None:
            return len(order)
        points = [found.bounds.now[found.counted] for found in bounds_of_pairs(compared, judged, top)]

        def settled_after(n: int, points: list[Floats] = points) -> bool:
            return all(
                is_settled(pair, box.narrowed(row[:n], point))
                for pair, box, row, point in zip(pairs, boxes, rows, points, strict=True)
            )

        first, last = 0, len(queue)  # after all of them it is settled
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if settled_after(middle) else (middle + 1, last)
        needed.append(int(n_until[first]))
    return sorted(needed)[len(needed) // 2]


def row_of(found: PairBounds) -> dict[str, int]:
    """Return where each query that counts is in a box."""
    places = np.cumsum(found.counted) - 1
    return {query: int(place) for query, place in zip(found.query_ids, places, strict=True)}
