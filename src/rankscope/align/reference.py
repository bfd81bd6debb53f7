"""Alignment in plain Python and NumPy: always there, to be read, and the oracle of the tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankscope.align.hits import KernelHits
from rankscope.align.policies import Policies
from rankscope.align.ranking import ranks_of
from rankscope.arrays import Bools, Floats, Ints
from rankscope.data.qrels import Qrels
from rankscope.data.run import Ranking, Run, require_rows

N_OTHERS_SHOWN = 1000

_NOTHING: tuple[int, Ints, Floats] = (0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64))


def answered_queries(qrels: Qrels, run: Run) -> Bools:
    require_rows(run)
    return np.array([query in run.rankings for query in qrels.query_ids], dtype=np.bool_)


def find_in_python(qrels: Qrels, run: Run, policies: Policies, answered: Bools) -> KernelHits:
    """Find the judged docs of every query in the run, with their ranks."""
    per_query = [
        judged_hits(considered(run, query, policies), qrels.judged[query], policies) if is_answered else _NOTHING
        for query, is_answered in zip(qrels.query_ids, answered.tolist(), strict=True)
    ]
    others = [query for query in run.rankings.query_ids() if query not in qrels.judged]
    return KernelHits(
        answered=answered,
        n_retrieved=np.array([n for n, _, _ in per_query], dtype=np.int64),
        n_hits=np.array([len(ranks) for _, ranks, _ in per_query], dtype=np.int64),
        ranks=np.concatenate([ranks for _, ranks, _ in per_query]).astype(np.int64),
        grades=np.concatenate([grades for _, _, grades in per_query]),
        n_other_queries=len(others),
        other_queries=others[:N_OTHERS_SHOWN],
    )


def considered(run: Run, query: str, policies: Policies) -> Ranking:
    """Return what was retrieved for one query, less the query's own doc where the policy drops it."""
    ranking = run.rankings.ranking(query, duplicates=policies.duplicates)
    return ranking.without(query) if policies.self_match == "drop" else ranking


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
