"""The check of all runs together: grades, or the scores of one run, that seem to run the wrong way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rankscope.align.finding import N_EXAMPLES, Finding, percent
from rankscope.analysis.validate.qrels import RELEVANT
from rankscope.analysis.validate.tables import JudgedRun
from rankscope.arrays import running_sum
from rankscope.io.rows import QrelsRows
from rankscope.records import Record

CLEARLY_INVERTED = 0.65
MIN_INVERTED_PAIRS = 100
GRADE_RANGES = {0.0: "differently graded docs", RELEVANT: "differently graded relevant docs"}
"""All grades; then the relevant ones alone, since many docs of grade 0 hide that the others are inverted."""


class OrderedPairs(Record):
    """Pairs of differently graded docs of one query, and how many of them are ranked the wrong way round."""

    n_wrong: int
    n_pairs: int

    def __add__(self, other: OrderedPairs) -> OrderedPairs:
        return OrderedPairs(self.n_wrong + other.n_wrong, self.n_pairs + other.n_pairs)

    def __str__(self) -> str:
        return f"{percent(self.n_wrong, self.n_pairs)} of {self.n_pairs:,} pairs"

    @property
    def look_inverted(self) -> bool:
        """Whether clearly more than half are the wrong way round, among enough to say so."""
        return self.n_pairs >= MIN_INVERTED_PAIRS and self.n_wrong >= CLEARLY_INVERTED * self.n_pairs

    @property
    def lean_inverted(self) -> bool:
        """Whether more than half are the wrong way round, by twice what chance would do to independent pairs."""
        return self.n_pairs >= MIN_INVERTED_PAIRS and self.n_wrong - self.n_pairs / 2 > math.sqrt(self.n_pairs)


def inverted_order(pairs: Sequence[JudgedRun]) -> Iterator[Finding]:
    """Find grades that look inverted, since the runs rank low grades first, or one run that does unlike the others."""
    suspicious = bool(pairs) and lowest_grade_is_rarest(pairs[0].qrels.rows)
    for lowest, what in GRADE_RANGES.items():
        by_run = {pair.run.name: ordered_pairs(pair, lowest=lowest) for pair in pairs}
        total = sum(by_run.values(), OrderedPairs(0, 0))
        if total.look_inverted or (suspicious and total.lean_inverted):
            aside = "; the lowest grade is the rarest, as the best usually is" if suspicious else ""
            yield Finding(
                "warning",
                "inverted_grades",
                pairs[0].qrels.name,
                f"grades look inverted (1 = best?): in {total} of {what} "
                f"the lower grade is ranked above the higher{aside}",
                tuple(f"{name}: {ordered}" for name, ordered in by_run.items() if ordered.n_pairs)[:N_EXAMPLES],
                "if low codes mean more relevant, turn them round; if the grades are right, are the scores distances?",
            )
            return
        if lowest < RELEVANT:
            hint = "other runs rank the other way: if these scores are distances, negate them"
            for name, ordered in by_run.items():
                if ordered.look_inverted:
                    message = f"scores look inverted: in {ordered} of {what} the lower grade is ranked above the higher"
                    yield Finding("warning", "inverted_scores", name, message, hint=hint)


def lowest_grade_is_rarest(rows: QrelsRows) -> bool:
    """Tell whether grades are distributed like codes that run from 1 = best: no 0, and fewest docs with the lowest."""
    levels, n_docs = np.unique(rows.grade[rows.grade >= 0], return_counts=True)
    return len(levels) >= 3 and bool(levels[0] >= RELEVANT) and bool(n_docs[0] < n_docs[1:].min())


def ordered_pairs(pair: JudgedRun, *, lowest: float) -> OrderedPairs:
    """Count pairs of docs with different grades from the lowest up; tied docs are left out, whose order is chance."""
    run = pair.run
    rows = run.order[((pair.grade >= lowest) & ~run.tied)[run.order]]
    grade, query, n_queries = pair.grade[rows], run.queries.codes[rows], len(run.queries.ids)
    n_wrong = n_right = 0
    for level in np.unique(grade):
        here = grade == level
        n_wrong += int(running_sum(grade < level, query, n_queries)[here].sum())
        n_right += int(running_sum(grade > level, query, n_queries)[here].sum())
    return OrderedPairs(n_wrong, n_wrong + n_right)
