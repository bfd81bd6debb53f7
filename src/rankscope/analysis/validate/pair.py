"""Checks of runs against the qrels: queries and docs that only one of them has, and how much was judged.

Of all runs together: grades, or the scores of one run, that seem to run the wrong way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rankscope.align.finding import N_EXAMPLES, Finding, Level, count_of, first_ids, percent
from rankscope.align.near_ids import SPELLING_HINT, examples_of_both, find_near_match, only_on_one_side, unmatched_docs
from rankscope.analysis.validate.checks import RELEVANT, judges_only_relevant
from rankscope.analysis.validate.tables import JudgedRun
from rankscope.arrays import running_sum, safe_divide, segment_sum
from rankscope.records import Record

ENOUGH_JUDGED = 0.6
CLEARLY_INVERTED = 0.65
MIN_INVERTED_PAIRS = 100
GRADE_RANGES = {0.0: "differently graded docs", RELEVANT: "differently graded relevant docs"}
"""All grades; then the relevant ones alone, since many docs of grade 0 hide that the others are inverted."""


def unmatched_ids(pair: JudgedRun) -> Iterator[Finding]:
    """Find queries that only one side has, and ids of queries and docs that differ only in how they are written."""
    judged, retrieved = pair.qrels.queries.ids, pair.run.queries.ids
    unanswered, unjudged = only_on_one_side(judged, retrieved)
    where = pair.run.name
    if not pair.overlaps:
        message = "run and qrels have no query in common"
        hint = "do both files belong together, and are their ids written the same way?"
        yield Finding("error", "no_overlap", where, message, examples_of_both(unanswered, unjudged), hint)
    elif unanswered:
        message = f"not answered: {count_of(len(unanswered), len(judged), 'queries of the qrels')}"
        hint = "they score 0 and count; --missing skip leaves them out of the mean"
        yield Finding("warning", "queries_not_answered", where, message, first_ids(unanswered), hint)
    if pair.overlaps and unjudged:
        message = f"not in the qrels: {count_of(len(unjudged), len(retrieved), 'queries of the run')}"
        yield Finding("remark", "queries_not_judged", where, message, first_ids(unjudged), "they are left out")
    if near := find_near_match(unanswered, unjudged):
        level: Level = "warning" if pair.overlaps else "error"
        would_match = count_of(near.n_matched, len(unanswered), "unanswered queries")
        message = f"query ids differ only by {near.difference}: {would_match} would match"
        yield Finding(level, "query_ids_nearly_match", where, message, near.examples, SPELLING_HINT)
    if found := unmatched_docs(where, pair.qrels.docs.ids, pair.run.docs.ids):
        yield found


def mixed_id_types(pair: JudgedRun) -> Iterator[Finding]:
    for kind in sorted(pair.qrels.rows.integer_ids ^ pair.run.rows.integer_ids):
        side, other = ("qrels", "run") if kind in pair.qrels.rows.integer_ids else ("run", "qrels")
        message = f"{kind} ids are whole numbers in the {side} and text in the {other}; they are matched as text"
        yield Finding("remark", "mixed_id_types", pair.run.name, message)


def share_judged(pair: JudgedRun) -> Iterator[Finding]:
    """Say how much of what is shown first anybody judged, and find runs that the qrels can hardly judge."""
    if not pair.overlaps:
        return
    run, shares = pair.run, {}
    for k in (10, 100):  # the mean of Judged@k over the shared queries that retrieve anything
        seen = (pair.grade >= 0) & (run.position < k)
        by_query = safe_divide(segment_sum(seen, run.queries.codes, len(run.queries.ids)), np.minimum(run.n_docs, k))
        any_retrieved = (run.n_docs[pair.shared_queries] > 0).any()
        shares[k] = float(np.nanmean(by_query[pair.shared_queries])) if any_retrieved else 0.0
    is_low = shares[10] < ENOUGH_JUDGED
    message = "judged: " + ", ".join(f"{percent(share, 1)} of the first {k} docs" for k, share in shares.items())
    if judges_only_relevant(pair.qrels.rows):
        message += " (only relevant docs are judged, so this tells little)"
        is_low = False
    hint = "unjudged docs count as non-relevant, so the run may be better than it scores: judge more, or --judged-only"
    yield Finding("warning" if is_low else "remark", "share_judged", run.name, message, (), hint if is_low else "")


PAIR_CHECKS: tuple[Callable[[JudgedRun], Iterator[Finding]], ...] = (unmatched_ids, mixed_id_types, share_judged)


class OrderedPairs(Record):
    """Pairs of differently graded docs of one query, and how many of them are ranked the wrong way round."""

    n_wrong: int
    n_pairs: int

    def __str__(self) -> str:
        return f"{percent(self.n_wrong, self.n_pairs)} of {self.n_pairs:,} pairs"

    @property
    def look_inverted(self) -> bool:
        """Whether clearly more than half are the wrong way round, among enough to say so."""
        return self.n_pairs >= MIN_INVERTED_PAIRS and self.n_wrong >= CLEARLY_INVERTED * self.n_pairs


def inverted_order(pairs: Sequence[JudgedRun]) -> Iterator[Finding]:
    """Find grades that look inverted, since the runs rank low grades first, or one run that does unlike the others."""
    if not pairs:
        return
    grade = pairs[0].qrels.rows.grade
    levels, n_docs = np.unique(grade[grade >= 0], return_counts=True)
    # distributed like codes that run from 1 = best: no 0, and fewest docs with the lowest
    suspicious = len(levels) >= 3 and bool(levels[0] >= RELEVANT) and bool(n_docs[0] < n_docs[1:].min())
    for lowest, what in GRADE_RANGES.items():
        by_run = {pair.run.name: ordered_pairs(pair, lowest=lowest) for pair in pairs}
        total = OrderedPairs(sum(one.n_wrong for one in by_run.values()), sum(one.n_pairs for one in by_run.values()))
        # more than half are the wrong way round, by twice what chance would do to independent pairs
        leans = total.n_pairs >= MIN_INVERTED_PAIRS and total.n_wrong - total.n_pairs / 2 > math.sqrt(total.n_pairs)
        if total.look_inverted or (suspicious and leans):
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
