"""Checks of a run against the qrels: queries and docs that only one of them has, and how much was judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rankscope.align.finding import Finding, count_of, first_ids, percent
from rankscope.align.near_ids import SPELLING_HINT, examples_of_both, find_near_match, only_on_one_side, unmatched_docs
from rankscope.analysis.validate.qrels import judges_only_relevant
from rankscope.analysis.validate.tables import JudgedRun
from rankscope.arrays import safe_divide, segment_sum

ENOUGH_JUDGED = 0.6


def queries_on_one_side(pair: JudgedRun) -> Iterator[Finding]:
    judged, retrieved = pair.qrels.queries.ids, pair.run.queries.ids
    unanswered, unjudged = only_on_one_side(judged, retrieved)
    if not pair.overlaps:
        yield Finding(
            "error",
            "no_overlap",
            pair.run.name,
            "run and qrels have no query in common",
            examples_of_both(unanswered, unjudged),
            "do both files belong together, and are their ids written the same way?",
        )
        return
    if unanswered:
        yield Finding(
            "warning",
            "queries_not_answered",
            pair.run.name,
            f"not answered: {count_of(len(unanswered), len(judged), 'queries of the qrels')}",
            first_ids(unanswered),
            "they score 0 and count; --missing skip leaves them out of the mean",
        )
    if unjudged:
        yield Finding(
            "remark",
            "queries_not_judged",
            pair.run.name,
            f"not in the qrels: {count_of(len(unjudged), len(retrieved), 'queries of the run')}",
            first_ids(unjudged),
            "they are left out",
        )


def nearly_matching_queries(pair: JudgedRun) -> Iterator[Finding]:
    """Find queries that would match if both sides wrote their ids the same way."""
    unanswered, unjudged = only_on_one_side(pair.qrels.queries.ids, pair.run.queries.ids)
    if near := find_near_match(unanswered, unjudged):
        yield Finding(
            "warning" if pair.overlaps else "error",
            "query_ids_nearly_match",
            pair.run.name,
            f"query ids differ only by {near.difference}: "
            f"{count_of(near.n_matched, len(unanswered), 'unanswered queries')} would match",
            near.examples,
            SPELLING_HINT,
        )


def nearly_matching_docs(pair: JudgedRun) -> Iterator[Finding]:
    if found := unmatched_docs(pair.run.name, pair.qrels.docs.ids, pair.run.docs.ids):
        yield found


def mixed_id_types(pair: JudgedRun) -> Iterator[Finding]:
    """Find ids that are numbers on one side and text on the other."""
    for kind in sorted(pair.qrels.rows.integer_ids ^ pair.run.rows.integer_ids):
        side, other = ("qrels", "run") if kind in pair.qrels.rows.integer_ids else ("run", "qrels")
        message = f"{kind} ids are whole numbers in the {side} and text in the {other}; they are matched as text"
        yield Finding("remark", "mixed_id_types", pair.run.name, message)


def share_judged(pair: JudgedRun) -> Iterator[Finding]:
    """Say how much of what is shown first anybody judged, and find runs that the qrels can hardly judge."""
    if not pair.overlaps:
        return
    shares = {k: judged_at(pair, k) for k in (10, 100)}
    is_low = shares[10] < ENOUGH_JUDGED
    message = "judged: " + ", ".join(f"{percent(share, 1)} of the first {k} docs" for k, share in shares.items())
    if judges_only_relevant(pair.qrels.rows):
        message += " (only relevant docs are judged, so this tells little)"
        is_low = False
    hint = "unjudged docs count as non-relevant, so the run may be better than it scores: judge more, or --judged-only"
    yield Finding("warning" if is_low else "remark", "share_judged", pair.run.name, message, (), hint if is_low else "")


def judged_at(pair: JudgedRun, k: int) -> float:
    """Return the mean of Judged@k over the shared queries that retrieve anything."""
    run = pair.run
    seen = (pair.grade >= 0) & (run.position < k)
    shares = safe_divide(segment_sum(seen, run.queries.codes, len(run.queries.ids)), np.minimum(run.n_docs, k))
    return float(np.nanmean(shares[pair.shared_queries])) if (run.n_docs[pair.shared_queries] > 0).any() else 0.0


PAIR_CHECKS: tuple[Callable[[JudgedRun], Iterator[Finding]], ...] = (
    queries_on_one_side,
    nearly_matching_queries,
    nearly_matching_docs,
    mixed_id_types,
    share_judged,
)
