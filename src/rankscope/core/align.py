"""Alignment: the one place where ids, ties, duplicates, missing queries and unjudged docs are decided.

This is the reference implementation: plain Python and NumPy, always there, and the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankscope.core.arrays import Bools, Floats, Ints, offsets_of
from rankscope.core.hits import Hits
from rankscope.core.policies import Policies
from rankscope.core.qrels import Qrels
from rankscope.core.ranking import ranks_of
from rankscope.core.run import Ranking, Run, require_rows
from rankscope.errors import MissingQueriesError, NoOverlapError, did_you_mean

_NOTHING: tuple[int, Ints, Floats] = (0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64))


def align(qrels: Qrels, run: Run, policies: Policies) -> Hits:
    """Find the judged docs of every query in the run, with their ranks."""
    require_rows(run)
    answered = np.array([query in run.rankings for query in qrels.query_ids], dtype=np.bool_)
    check_answered(qrels, run, answered, policies)
    per_query = [
        judged_hits(considered(run, query, policies), qrels.judged[query], policies) if is_answered else _NOTHING
        for query, is_answered in zip(qrels.query_ids, answered.tolist(), strict=True)
    ]
    hits = assemble(qrels, answered, per_query)
    if policies.judged_only:
        hits = hits.judged_only()
    return hits.select(answered) if policies.missing == "skip" else hits


def considered(run: Run, query: str, policies: Policies) -> Ranking:
    """Return what was retrieved for one query, less the query's own doc where the policy drops it."""
    ranking = run.rankings.ranking(query, duplicates=policies.duplicates)
    return ranking.without(query) if policies.self_match == "drop" else ranking


def check_answered(qrels: Qrels, run: Run, answered: Bools, policies: Policies) -> None:
    """Refuse a run that answers none of the judged queries, or not all where the policy asks for all."""
    if not answered.any():
        raise_no_overlap(qrels, run)
    if policies.missing == "error" and not answered.all():
        missing = [query for query, there in zip(qrels.query_ids, answered.tolist(), strict=True) if not there]
        raise MissingQueriesError(
            f"the run does not answer {len(missing)} of {len(answered)} queries: {', '.join(missing[:3])}"
            f"{', …' if len(missing) > 3 else ''}",  # noqa: PLR2004 (three are enough to recognise them)
            hint="add them, or choose missing='zero' (they count as empty) or missing='skip'",
        )


def raise_no_overlap(qrels: Qrels, run: Run) -> None:
    """Raise, showing what the ids of either side look like."""
    theirs = list(run.query_ids)
    raise NoOverlapError(
        "the run answers none of the queries of the qrels\n"
        f"  queries of the qrels: {', '.join(map(repr, qrels.query_ids[:3]))} ({len(qrels)} in all)\n"
        f"  queries of the run:   {', '.join(map(repr, theirs[:3]))} ({len(theirs)} in all)",
        hint=did_you_mean(qrels.query_ids[0], theirs[:1000])
        or "are the ids written the same way (prefixes, zero padding), and do both files belong together?",
    )


def judged_hits(ranking: Ranking, grade_of: Mapping[str, float], policies: Policies) -> tuple[int, Ints, Floats]:
    """Return how many docs one query retrieved, and the ranks and grades of the judged ones among them."""
    n_retrieved = len(ranking.scores) if policies.depth is None else min(len(ranking.scores), policies.depth)
    found = [doc for doc in grade_of if doc in ranking.score_of]
    if not found:
        return n_retrieved, _NOTHING[1], _NOTHING[2]
    ranks = ranks_of(found, ranking, policies)
    grades = np.array([grade_of[doc] for doc in found], dtype=np.float64)
    order = np.argsort(ranks)
    order = order[ranks[order] <= n_retrieved]
    return n_retrieved, ranks[order], grades[order]


def assemble(qrels: Qrels, answered: Bools, per_query: list[tuple[int, Ints, Floats]]) -> Hits:
    """Join the hits of all queries into flat arrays."""
    ideal_offsets, ideal_grades = qrels.ideal
    return Hits(
        query_ids=qrels.query_ids,
        answered=answered,
        n_retrieved=np.array([n for n, _, _ in per_query], dtype=np.int64),
        offsets=offsets_of([len(ranks) for _, ranks, _ in per_query]),
        ranks=np.concatenate([ranks for _, ranks, _ in per_query]).astype(np.int64),
        grades=np.concatenate([grades for _, _, grades in per_query]),
        ideal_offsets=ideal_offsets,
        ideal_grades=ideal_grades,
        max_grade=qrels.max_grade,
    )
