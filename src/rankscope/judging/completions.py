"""All that open docs could still be, tried one by one where that is little: exact where bounds are only safe.

For a query with few open docs every combination of the labels that they can still get is scored. That gives the exact
ends of its difference, which docs can move it at all, and all differences that are possible. Where few queries are
open, their differences are then tried case by case: a box that holds several verdicts is divided by the outcomes of one
query, and each part is looked at again, until all parts have the same verdict or two have different ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.unjudged import PairBounds
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.judging.worst_case import (
    ROUNDING,
    ComparedRuns,
    CriticalRange,
    DifferenceBox,
    KnownGrades,
    open_of,
    row_of,
)
from rankscope.light import replace as replace_hits
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.records import Record, replace
from rankscope.store.labels import QueryDoc

MOST_OF_QUERY = 4096
"""So many combinations of labels are tried of one query, and of all queries together `MOST_OF_ALL`."""
MOST_OF_ALL = 20_000
MOST_OPEN = 14
"""With more open queries cases are not tried: there are too many."""
MOST_PARTS = 300
"""Into so many parts a box is divided at most."""
BINARY = frozenset({"P", "P_ret", "SetP", "R", "SetR", "R_cap", "F", "AP", "RR", "Success"})
"""Measures that ask of a doc only whether it is relevant."""


class QueryOutcomes(Record, eq=False):
    """What the open docs of a query can lead to."""

    query: str
    differences: Floats
    """Each possible one once: a row has those of all pairs."""
    moves: dict[str, Bools]
    """Of each doc, which pairs it can move."""


class DocLabels(Record, eq=False):
    """The labels that docs can still get, as far as a measure tells them apart."""

    measure: Measure
    policies: Policies
    scale: tuple[float, ...]

    def of(self, known: KnownGrades, pair: QueryDoc) -> tuple[float, ...]:
        """Return them of an open doc; one that is never graded counts as 0."""
        labels = known.possible.get(pair)
        return self.distinct((0.0, *self.scale) if labels is None else labels)

    def distinct(self, labels: Iterable[float]) -> tuple[float, ...]:
        """Return one of the labels that are all the same to the measure."""
        arguments = self.measure.arguments(rel=self.policies.relevance_level)
        level = self.policies.relevance_level
        found = sorted({max(label, 0.0) for label in labels})
        if self.measure.base not in BINARY or arguments.get("gain", "binary") != "binary":
            return tuple(found)
        lowest = float(arguments.get("rel") or level)
        return tuple({(label >= lowest, label >= level): label for label in reversed(found)}.values())[::-1]

    def unsettled(self, known: KnownGrades) -> KnownGrades:
        """Return grades of which only those docs are unfinished whose label can still make a difference."""
        moving = frozenset(
            pair
            for pair in known.unfinished
            if pair not in known.possible or len(self.distinct(known.possible[pair])) > 1
        )
        return replace(known, unfinished=moving)


class QueryCases(Record, eq=False):
    """All combinations of labels of the open docs of one query."""

    query: str
    row: int
    docs: tuple[str, ...]
    shape: tuple[int, ...]
    grades: Floats
    """Combinations x docs."""


def outcomes_of(known: KnownGrades, bounds: Sequence[PairBounds], labels: DocLabels) -> list[QueryOutcomes]:
    """Return what is possible for queries with few open docs; nothing where pairs are compared on different queries."""
    if len({found.query_ids for found in bounds}) != 1 or not np.array_equal(*both_ends([f.counted for f in bounds])):
        return []
    open_docs: dict[str, dict[str, None]] = {}
    for found in bounds:
        for query, doc in open_of(found):
            open_docs.setdefault(query, {})[doc] = None
    cases = few_cases(known, open_docs, {query: i for i, query in enumerate(bounds[0].query_ids)}, labels)
    if not cases:
        return []
    columns = []
    for found in bounds:
        ranks = [ranks_of(found, each) for each in cases]
        a, b = (
            scores_of(hits, cases, [both[side] for both in ranks], found.top, labels)
            for side, hits in enumerate(found.hits)
        )
        columns.append(b - a)
    values, found_outcomes, start = np.stack(columns, axis=1), [], 0
    for each in cases:
        part = values[start : start + len(each.grades)]
        start += len(each.grades)
        grid = part.reshape(*each.shape, len(bounds))
        moves = {
            doc: np.any(np.ptp(grid, axis=axis) > ROUNDING, axis=tuple(range(len(each.shape) - 1)))
            for axis, doc in enumerate(each.docs)
        }
        found_outcomes.append(QueryOutcomes(each.query, np.unique(part.round(14), axis=0), moves))
    return found_outcomes


def both_ends(counted: Sequence[Bools]) -> tuple[Bools, Bools]:
    """Return which queries count for all pairs, and for any."""
    return np.all(counted, axis=0), np.any(counted, axis=0)


def few_cases(
    known: KnownGrades, open_docs: dict[str, dict[str, None]], row: dict[str, int], labels: DocLabels
) -> list[QueryCases]:
    """Return the combinations of queries with few of them, as many as fit."""
    options = {query: [labels.of(known, (query, doc)) for doc in docs] for query, docs in open_docs.items()}
    size = {query: math.prod(map(len, each)) for query, each in options.items()}
    cases, left = [], MOST_OF_ALL
    for query in sorted(size, key=lambda query: (size[query], query)):
        left -= size[query]
        if size[query] > MOST_OF_QUERY or left < 0:
            break
        grids = np.meshgrid(*options[query], indexing="ij")
        grades = np.stack([grid.ravel() for grid in grids], axis=1)
        cases.append(QueryCases(query, row[query], tuple(open_docs[query]), grids[0].shape, grades))
    return cases


def ranks_of(found: PairBounds, cases: QueryCases) -> tuple[Ints, Ints]:
    """Return the ranks of the docs in both lists, 0 where one is not among the first k."""
    places = {found.pool.docs[i]: i for i in np.flatnonzero(found.pool.query == cases.row).tolist()}
    where = np.array([places[doc] for doc in cases.docs], dtype=np.int64)
    return found.pool.rank_a[where], found.pool.rank_b[where]


def scores_of(hits: Hits, cases: Sequence[QueryCases], ranks: Sequence[Ints], top: float, labels: DocLabels) -> Floats:
    """Return the score of a system for every combination of every query, one after the other."""
    all_ranks, all_grades, all_ideal, n_hits, n_ideal = [], [], [], [], []
    for each, own in zip(cases, ranks, strict=True):
        n, (first, last) = len(each.grades), hits.offsets[each.row : each.row + 2]
        judged = hits.grades[first:last] >= 0
        listed = own > 0
        places = np.concatenate([hits.ranks[first:last][judged], own[listed]])
        grades = np.hstack([np.tile(hits.grades[first:last][judged], (n, 1)), each.grades[:, listed]])
        order = np.argsort(places, kind="stable")
        first, last = hits.ideal_offsets[each.row : each.row + 2]
        ideal = -np.sort(-np.hstack([np.tile(hits.ideal_grades[first:last], (n, 1)), each.grades]), axis=1)
        all_ranks.append(np.tile(places[order], n))
        all_grades.append(grades[:, order].ravel())
        all_ideal.append(ideal.ravel())
        n_hits += [len(places)] * n
        n_ideal += [ideal.shape[1]] * n
    rows = np.repeat([each.row for each in cases], [len(each.grades) for each in cases])
    tried = replace_hits(
        hits,
        query_ids=tuple(map(str, range(len(rows)))),
        answered=hits.answered[rows],
        n_retrieved=hits.n_retrieved[rows],
        offsets=offsets_of(np.array(n_hits, dtype=np.int64)),
        ranks=np.concatenate(all_ranks).astype(np.int64),
        grades=np.concatenate(all_grades),
        ideal_offsets=offsets_of(np.array(n_ideal, dtype=np.int64)),
        ideal_grades=np.concatenate(all_ideal),
        max_grade=max(hits.max_grade, top),
    )
    return np.nan_to_num(score_hits(tried, [labels.measure], labels.policies)[0][:, 0])


def sharpened(bounds: Sequence[PairBounds], outcomes: Sequence[QueryOutcomes]) -> list[PairBounds]:
    """Return bounds with exact ends, and only docs that can move a difference, where all outcomes are known."""
    exact = []
    for number, found in enumerate(bounds):
        low, high, matters = found.bounds.low.copy(), found.bounds.high.copy(), found.bounds.matters.copy()
        place = {query: i for i, query in enumerate(found.query_ids)}
        for each in outcomes:
            row = place[each.query]
            low[row], high[row] = each.differences[:, number].min(), each.differences[:, number].max()
            for i in np.flatnonzero(found.pool.query == row).tolist():
                matters[i] &= found.pool.docs[i] in each.moves and bool(each.moves[found.pool.docs[i]][number])
        ends = msgspec.structs.replace(found.bounds, low=low, high=high, matters=matters)
        exact.append(msgspec.structs.replace(found, bounds=ends))
    return exact


class CasesTried:
    """Divides the boxes of all pairs until the verdict of each part is known, or there are too many parts."""

    def __init__(
        self,
        pairs: Sequence[PairResult],
        bounds: Sequence[PairBounds],
        outcomes: Sequence[QueryOutcomes],
        compared: ComparedRuns,
    ) -> None:
        self.pairs, self.compared = pairs, compared
        self.counted = [found.counted for found in bounds]
        row = row_of(bounds[0])
        self.outcomes = {row[each.query]: each.differences for each in outcomes}
        self.left: set[int] = set()
        """The pairs of which all parts so far have the verdict of now."""
        self.n_parts = 0

    def settled(self, boxes: Sequence[DifferenceBox], open_pairs: Iterable[int]) -> set[int]:
        """Return those of the open pairs whose verdict no completion changes."""
        self.left = {i for i in open_pairs if self.pairs[i].n_units >= MIN_UNITS}
        rows = {int(i) for box in boxes for i in np.flatnonzero(box.high - box.low > ROUNDING)}
        if not self.left or len(rows) > MOST_OPEN:
            return set()
        if rows <= self.outcomes.keys():
            self._try_ends(boxes, sorted(rows))
        self._divide(list(boxes), sorted(rows & self.outcomes.keys(), key=lambda row: -self._width(boxes, row)))
        return self.left

    def _width(self, boxes: Sequence[DifferenceBox], row: int) -> float:
        return max((float(boxes[i].high[row] - boxes[i].low[row]) for i in self.left), default=0.0)

    def _try_ends(self, boxes: Sequence[DifferenceBox], rows: Sequence[int]) -> None:
        """Drop pairs whose verdict is another one where every query is at its lowest, or at its highest."""
        for i in sorted(self.left):
            for best in (np.argmin, np.argmax):
                ends = list(boxes)
                for row in rows:
                    ends = at_point(ends, row, self.outcomes[row][int(best(self.outcomes[row][:, i]))])
                if self._codes(ends)[i] != self.pairs[i].final_verdict.code:
                    self.left.discard(i)

    def _codes(self, boxes: Sequence[DifferenceBox]) -> list[Code | None]:
        critical = CriticalRange.of(boxes, self.counted, self.compared)
        return [
            "same" if box.is_zero else box.code(pair, critical) for pair, box in zip(self.pairs, boxes, strict=True)
        ]

    def _divide(self, boxes: list[DifferenceBox], rows: Sequence[int]) -> None:
        if not self.left:
            return
        self.n_parts += 1
        codes = self._codes(boxes)
        unknown = {i for i in self.left if codes[i] is None}
        self.left -= {i for i in self.left if codes[i] not in (None, self.pairs[i].final_verdict.code)}
        if not unknown:
            return
        if not rows or self.n_parts > MOST_PARTS:
            self.left -= unknown
            return
        for point in self.outcomes[rows[0]]:
            self._divide(at_point(boxes, rows[0], point), rows[1:])


def at_point(boxes: Sequence[DifferenceBox], row: int, point: Floats) -> list[DifferenceBox]:
    """Return boxes of which one query has this difference of each pair."""
    rows = np.array([row])
    return [box.narrowed(rows, np.full(len(box.low), float(value))) for box, value in zip(boxes, point, strict=True)]
