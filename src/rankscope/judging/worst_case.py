"""The worst case of a comparison: what open docs could still make of it, and which of them to judge first.

The interval of the mean at the worst: with every difference d within [l, h], its mean lies between those of l and h,
and its standard deviation differs from that of the middles by at most sqrt(sum ((h - l) / 2)^2 / (n - 1)), as the
lengths of vectors add up at most.

The number of standard errors that decides changes with the differences as well, those of all pairs of the family. It
is a quantile of the largest t under flipped signs. For n queries t = sqrt(n - 1) u / sqrt(1 - u^2), u being the cosine
of the angle between the differences and the signs. So for every flip u is bounded, by the angle that the differences
can turn and by how far their sum and their length can change; the quantiles of the lowest and of the highest t bound
the one that decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged import PairBounds, pair_bounds_of
from rankscope.arrays import Bools, Floats, Ints
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.request import CompareRequest
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.io.ids import byte_order
from rankscope.judging.guidelines import lowest_relevant
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.stats.family import critical_value
from rankscope.stats.rng import SignFlips, stream
from rankscope.stats.units import NO_SPREAD
from rankscope.store.labels import QueryDoc

N_DRAWS = 9
"""So many times the grades of open docs are drawn."""
ROUNDING = 1e-9
EXACT = 1e-12
"""What sums of differences may be off by."""
INEXACT = 1e-8
"""What a cosine may be off by that is made of a sine, which is rough near 0."""


def asked_of(run: Run) -> Sequence[str]:
    """Return the queries that a run was asked; where nobody says so, those that it answers."""
    return run.query_ids if run.asked is None else run.asked.queries


def common_queries(runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Return the queries that all runs were asked, in the order of their bytes."""
    asked = [frozenset(asked_of(run)) for run in runs.values()]
    return tuple(sorted(frozenset.intersection(*asked), key=byte_order)) if asked else ()


class ComparedRuns(Record, kw_only=True, eq=False):
    """What is compared: the runs of a task, the first is the baseline, and how."""

    runs: Mapping[str, Run]
    measure: str
    margin: float | None
    query_ids: tuple[str, ...]
    """All that count, judged or not."""
    scale: tuple[float, ...]
    docs: frozenset[QueryDoc] = frozenset()
    """Those of the task: they may be judged though no run has them among its first k."""
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
            min_rel=lowest_relevant(self.scale),
            anyway=True,
            problems={},
        )


class KnownGrades(Record, kw_only=True, eq=False):
    """The grade of each doc by the rule of a task, and which of them can still change."""

    grades: Mapping[str, Mapping[str, float]]
    unfinished: frozenset[QueryDoc] = frozenset()
    """Docs with fewer grades than the task asks for."""
    last_judgment: int = 0
    overlap: int = 1
    """How many grades of each doc the task asks for."""
    n_grades: Mapping[QueryDoc, int] = MappingProxyType({})
    """How many raters have said something of a doc that lacks grades; 1 less than it takes where it is not said."""
    possible: Mapping[QueryDoc, tuple[float, ...]] = MappingProxyType({})
    """The labels that unfinished docs can still get by the rule; any of the scale where it is not said."""
    untold: frozenset[QueryDoc] = frozenset()
    """Docs without a grade that as many raters could not tell as are asked: nobody is asked any more."""
    cannot_tell: Mapping[QueryDoc, int] = MappingProxyType({})
    """How many raters have answered that they cannot tell a doc, where any has."""
    n_untrusted: int = 0
    """Docs that the trusted rater did not grade, where only this one's grades count: they have those of others."""
    joint: bool = False
    """Whether a grade of one doc can change the label of another."""
    no_labels: str = ""
    """Why the rule of the task makes no labels of the grades there are, so that these are lower medians."""

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
        return replace(self, grades=grades, unfinished=self.unfinished - more.keys())

    def n_missing(self, pair: QueryDoc) -> int:
        """Return how many grades a doc lacks."""
        if self.is_finished(*pair):
            return 0
        given = self.n_grades.get(pair, self.overlap - 1 if pair in self.unfinished else 0)
        return max(self.overlap - given, 1)

    def are_asked(self, docs: Iterable[QueryDoc]) -> bool:
        """Tell whether raters are asked for any of these docs."""
        return any(pair not in self.untold and self.n_missing(pair) for pair in docs)

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

    @property
    def errors(self) -> tuple[float, float]:
        """The lowest and the highest standard error of the mean."""
        n = len(self.low)
        spread = float(((self.low + self.high) / 2).std(ddof=1))
        more = math.sqrt(float(np.square((self.high - self.low) / 2).sum()) / (n - 1))
        return max(spread - more, 0.0) / math.sqrt(n), (spread + more) / math.sqrt(n)

    @property
    def is_zero(self) -> bool:
        """Whether no query differs, whatever the grades."""
        return bool(np.all(np.maximum(np.abs(self.low), np.abs(self.high)) <= ROUNDING))

    @property
    def certainly_differs(self) -> bool:
        return bool(np.any((self.low > ROUNDING) | (self.high < -ROUNDING)))

    def t_squares(self, totals: Floats) -> tuple[Floats, Floats]:
        """Bound the squares of t under flips of signs that make these totals of the middles."""
        n, middle, half = len(self.low), (self.low + self.high) / 2, (self.high - self.low) / 2
        length, radius, swing = float(np.linalg.norm(middle)), float(np.linalg.norm(half)), float(half.sum())
        if n < 2 or length + radius == 0:
            return np.zeros_like(totals), np.zeros_like(totals)
        sums, root = np.abs(totals), math.sqrt(n)
        shortest = float(np.linalg.norm(np.maximum(np.maximum(self.low, -self.high), 0.0)))
        longest = float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))
        least = np.maximum(sums - swing, 0.0) / (root * longest)
        most = (sums + swing) / (root * shortest) if shortest > 0 else np.ones_like(sums)
        if radius < length:
            turned = radius / length
            cosine, kept = np.minimum(sums / (root * length), 1.0), math.sqrt(1 - turned * turned)
            sine = np.sqrt(1 - cosine * cosine)
            rough = INEXACT if radius > 0 else 0.0
            least = np.maximum(least, cosine * kept - sine * turned - rough)
            most = np.minimum(most, np.where(cosine < kept, cosine * kept + sine * turned + rough, 1.0))
        return squared_t(least, n), squared_t(most, n)

    def code(self, pair: PairResult, critical: CriticalRange) -> Code | None:
        """Return the verdict that holds for every difference in the box; None where there may be several."""
        if len(self.low) < MIN_UNITS or pair.lower_is_better:
            return None
        (low, high), margin, (narrowest, widest) = self.means, pair.margin, self.errors
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        if margin > 0 and max(abs(low), abs(high)) + critical.narrow_high * widest < margin - EXACT:
            return "same"
        never_same = margin == 0 or nearest + critical.narrow_low * narrowest >= margin + EXACT
        t_low, t_high = (
            math.sqrt(float(each[0])) for each in self.t_squares(np.array([(self.low + self.high).sum() / 2]))
        )
        differs = t_low > critical.high * (1 + ROUNDING)
        lowest, highest = low - critical.high * widest, high + critical.high * widest
        if lowest > margin + EXACT or (margin == 0 and low > ROUNDING and differs):
            return "better"
        if highest < -margin - EXACT or (margin == 0 and high < -ROUNDING and differs):
            return "worse"
        if not (never_same and self.certainly_differs):
            return None
        up_to, down_to = high - critical.low * narrowest, low + critical.low * narrowest
        if low > ROUNDING and (lowest > EXACT or differs) and up_to <= margin - EXACT:
            return "probably_better"
        if high < -ROUNDING and (highest < -EXACT or differs) and down_to >= EXACT - margin:
            return "probably_worse"
        never_differs = t_high <= critical.low
        never_above, never_below = never_differs or up_to <= -EXACT, never_differs or down_to >= EXACT
        return "cannot_tell" if never_above and never_below else None


def squared_t(cosines: Floats, n: int) -> Floats:
    """Return the squares of t of differences that have these cosines of the angle to their signs."""
    squares = np.square(np.clip(cosines, 0.0, 1.0))
    rest = 1 - squares
    with np.errstate(divide="ignore"):
        return np.asarray((n - 1) * squares / np.where(rest > NO_SPREAD, rest, 0.0))


class CriticalRange(Record):
    """Between which ends the number of standard errors lies that decides, infinite where there may be none."""

    low: float
    high: float
    narrow_low: float
    """Of the number by which a difference is shown to be small."""
    narrow_high: float

    @classmethod
    def of(cls, boxes: Sequence[DifferenceBox], counted: Sequence[Bools], compared: ComparedRuns) -> CriticalRange:
        """Bound it over all differences in the boxes of a family; `counted` says which queries are in each of them."""
        settings = compared.request().settings(0.0)
        columns = np.zeros((len(counted[0]), len(boxes)))
        for i, (box, inside) in enumerate(zip(boxes, counted, strict=True)):
            columns[inside, i] = (box.low + box.high) / 2
        columns = columns[np.any(counted, axis=0)]
        flips = SignFlips(len(columns), settings.n_resamples, settings.seed)
        totals = flips.sums(columns)
        least, most = np.zeros(flips.n_flips), np.zeros(flips.n_flips)
        for i, box in enumerate(boxes):
            low, high = box.t_squares(totals[:, i])
            np.maximum(least, low, out=least)
            np.maximum(most, high, out=most)
        least.sort()
        most.sort()
        alpha = settings.alpha
        found = (critical_value(each, level) for level in (alpha, 2 * alpha) for each in (least, most))
        return cls(*(math.inf if math.isnan(each) else each for each in found))


def are_settled(
    pairs: Sequence[PairResult], boxes: Sequence[DifferenceBox], counted: Sequence[Bools], compared: ComparedRuns
) -> list[bool]:
    """Tell of each pair whether no grades of open docs change the verdict; of too few queries, nor who is ahead."""
    if all(box.is_closed for box in boxes):
        return [True] * len(boxes)
    same_queries = len({len(inside) for inside in counted}) == 1
    critical = CriticalRange.of(boxes, counted, compared) if same_queries else None
    settled = []
    for pair, box in zip(pairs, boxes, strict=True):
        if box.is_zero:
            settled.append(True)
        elif pair.n_units < MIN_UNITS:
            settled.append(box.is_ahead)
        else:
            settled.append(critical is not None and box.code(pair, critical) is not None)
    return settled


def queries_words(n_queries: int, n_unjudged: int) -> str:
    """Say on which queries systems are compared, and what becomes of those without a judged doc."""
    if not n_unjudged:
        return f"Compared on {counted(n_queries, 'query')}."
    have, count = ("has", "counts") if n_unjudged == 1 else ("have", "count")
    words = f"Compared on {counted(n_queries, 'query')}, of which {n_unjudged:,} {have} no judged doc"
    return f"{words} and {count} as no difference."


def nothing_judged(query_ids: Sequence[str]) -> Qrels:
    """Return qrels with all queries and no grade: a grade below 0 says that nobody has judged a doc."""
    return Qrels([(query, "-", -1.0) for query in query_ids[:1]]).with_queries(query_ids)


def bounds_of_pairs(compared: ComparedRuns, qrels: Qrels, more: Iterable[QueryDoc] = ()) -> list[PairBounds]:
    """Bound every query's difference between the first system and each other.

    All docs that may be judged can change what a perfect list is: those of the other systems, and `more`.
    """
    scoring = compared.request().scoring()
    measure, policies = scoring.measures[0], scoring.policies
    aligned = [AlignedRun.of(qrels, run, policies) for run in compared.runs.values()]
    docs: dict[str, dict[str, None]] = {}
    for query, doc in more:
        docs.setdefault(query, {})[doc] = None
    if len(aligned) > 2:
        k = measure.arguments(rel=policies.relevance_level).get("k")
        for run in aligned:
            for query, listed in zip(qrels.query_ids, run.leading(qrels.query_ids, k), strict=True):
                docs.setdefault(query, {}).update(dict.fromkeys(listed))
    return [
        pair_bounds_of(qrels, aligned[0], other, measure, policies, scale=compared.scale, more=docs)
        for other in aligned[1:]
    ]


def has_open_ideal(measure: Measure, policies: Policies, scale: Sequence[float]) -> bool:
    """Tell whether a relevant doc that no list holds changes a score, as it changes what a perfect list is.

    It is tried: a list of one relevant doc is scored with and without other docs of the highest grade that it lacks.
    Whatever docs are looked at, then, more of them may be judged some day, and no bound covers all.
    """
    if measure.spec.needs:
        return False
    grades = [grade for grade in scale if grade > 0] or [policies.relevance_level]
    run = Run({"q": ["found"]})

    def score(judged: Mapping[str, float]) -> float:
        qrels = Qrels({"q": judged, "other": {"best": max(grades)}})  # the highest grade is there in either case
        hits = AlignedRun.of(qrels, run, policies).hits
        return float(np.nan_to_num(score_hits(hits, [measure], policies)[0][hits.query_ids.index("q"), 0]))

    for own in grades:
        for n_lacking in (1, 100):
            lacking = dict.fromkeys(map(str, range(n_lacking)), max(grades))
            if abs(score({"found": own}) - score({"found": own, **lacking})) > ROUNDING:
                return True
    return False


def docs_read(compared: ComparedRuns) -> frozenset[QueryDoc]:
    """Return the docs that the measure reads of all lists."""
    scoring = compared.request().scoring()
    k = scoring.measures[0].arguments(rel=scoring.policies.relevance_level).get("k")
    lists = (leading_docs(run, compared.query_ids, scoring.policies, depth=k).docs for run in compared.runs.values())
    return frozenset(
        (query, doc) for of_run in lists for query, docs in zip(compared.query_ids, of_run, strict=True) for doc in docs
    )


def open_of(found: PairBounds) -> list[QueryDoc]:
    """Return the open docs that can move a difference."""
    useful: Bools = found.bounds.matters & found.counted[found.pool.query]
    return [(found.query_ids[found.pool.query[i]], found.pool.docs[i]) for i in np.flatnonzero(useful).tolist()]


def left_to_judge(bounds: Sequence[PairBounds], settled: Sequence[bool]) -> tuple[QueryDoc, ...]:
    """Return the open docs where a pair is not settled: its own ones, then those of pairs that are.

    A doc of another pair can change what decides of all pairs together, so to be certain it takes these as well.
    First come the queries whose bounds a judgment narrows most, all docs of a query together: the docs that move a
    difference most are often those of one system, and who judges only these would help it.
    """
    if all(settled):
        return ()
    first = docs_in_order([found for found, done in zip(bounds, settled, strict=True) if not done])
    return tuple(dict.fromkeys((*first, *docs_in_order(bounds))))


def docs_in_order(bounds: Sequence[PairBounds]) -> tuple[QueryDoc, ...]:
    """Return the open docs that can move a difference, by query."""
    width: dict[str, float] = {}
    moves: dict[QueryDoc, float] = {}
    for found in bounds:
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
    """Return how many judgments of a queue it takes until all is settled, if they are graded like those so far.

    Grades are drawn from those that are final, query by query; the median over the draws is returned. What is
    settled is asked after whole queries, as that is how the queue goes.
    """
    nearest = {pair: sorted(labels) for pair, labels in known.possible.items()}
    final = np.array(
        [grade for query, docs in known.grades.items() for doc, grade in docs.items() if known.is_finished(query, doc)]
    )
    n_of: dict[str, int] = {}
    for pair in order:
        n_of[pair[0]] = n_of.get(pair[0], 0) + known.n_missing(pair)
    queue, n_until = list(n_of), np.cumsum([0, *n_of.values()])
    boxes = [DifferenceBox.of(found) for found in bounds]
    rows = [np.array([row_of(found)[query] for query in queue], dtype=np.int64) for found in bounds]
    random = stream(compared.seed, "open docs")
    needed = []
    for _ in range(N_DRAWS):
        drawn = {
            pair: min(nearest.get(pair, [grade]), key=lambda label: abs(label - grade))
            for pair, grade in zip(order, random.choice(final, len(order)).tolist(), strict=True)
        }
        judged = known.with_grades(drawn).qrels(compared.query_ids)
        if judged is None:
            return int(n_until[-1])
        points = [found.bounds.now[found.counted] for found in bounds_of_pairs(compared, judged)]

        def settled_after(n: int, points: list[Floats] = points) -> bool:
            narrowed = [box.narrowed(row[:n], each) for box, row, each in zip(boxes, rows, points, strict=True)]
            return all(are_settled(pairs, narrowed, [found.counted for found in bounds], compared))

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
