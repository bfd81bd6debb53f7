"""Alignment in plain Python and NumPy: always there, to be read, and the oracle of the tests.

A doc's rank follows from its score, and among equal scores from the policy on ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankscope.align.hits import KernelHits
from rankscope.align.policies import Policies
from rankscope.arrays import Bools, Floats, Ints
from rankscope.data.qrels import Qrels
from rankscope.data.run import ListedDocs, Ranking, Run, require_rows
from rankscope.io.ids import byte_order

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


def ranked_docs(ranking: Ranking | ListedDocs, policies: Policies, depth: int | None = None) -> list[str]:
    """Return the docs of one query, best first, cut at both depths; one that is listed twice stays so."""
    docs = list(ranking.score_of) if isinstance(ranking, Ranking) else ranking.docs
    scores, given = compared_scores(ranking.scores, policies), given_order(ranking)
    if depth and depth < len(docs):  # only those that may be among the first are put in order
        lowest = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        kept = np.flatnonzero(scores >= lowest)
        docs, scores, given = [docs[i] for i in kept.tolist()], scores[kept], given[kept]
    if policies.ties == "given":
        order = np.lexsort((given, -scores))
    else:
        order = best_first_order(docs, scores, descending_ids=policies.ties == "trec")
    return [docs[i] for i in order[: policies.depth][:depth].tolist()]


def best_first_order(docs: Sequence[str], scores: Floats, *, descending_ids: bool = True) -> Ints:
    """Return the positions of docs, best first; equal scores by the bytes of the ids, descending as in trec_eval."""
    if (scores[1:] < scores[:-1]).all():  # as most rankings are
        return np.arange(len(scores))
    order = np.argsort(-scores, kind="stable")
    is_tied = np.concatenate(([False], scores[order[1:]] == scores[order[:-1]], [False]))
    changes = np.diff(is_tied.astype(np.int8))
    starts, lasts = np.flatnonzero(changes == 1).tolist(), np.flatnonzero(changes == -1).tolist()
    positions = order.tolist()
    for start, last in zip(starts, lasts, strict=True):  # only where scores are equal, ids have a say
        tied = positions[start : last + 1]
        positions[start : last + 1] = sorted(tied, key=lambda i: byte_order(docs[i]), reverse=descending_ids)
    return np.array(positions, dtype=np.int64)


def ranks_of(found: list[str], ranking: Ranking, policies: Policies) -> Ints:
    """Return the 1-based rank of each found doc, without ordering the docs nobody asks about."""
    scores = compared_scores(ranking.scores, policies)
    wanted = compared_scores(np.array([ranking.score_of[doc] for doc in found], dtype=np.float64), policies)
    ascending = np.sort(scores)
    n_above = len(ascending) - np.searchsorted(ascending, wanted, side="right")
    n_tied = len(ascending) - np.searchsorted(ascending, wanted, side="left") - n_above
    ranks = n_above + 1
    is_tied = n_tied > 1
    if is_tied.any():
        docs = list(ranking.score_of)
        n_before: dict[str, int] = {}
        for value in set(wanted[is_tied].tolist()):
            tied = np.flatnonzero(scores == value)
            if policies.ties == "given":
                in_order = tied[np.argsort(given_order(ranking)[tied], kind="stable")].tolist()
            else:
                in_order = sorted(tied.tolist(), key=lambda i: byte_order(docs[i]), reverse=policies.ties == "trec")
            n_before.update((docs[i], n) for n, i in enumerate(in_order))
        ranks[is_tied] += [n_before[found[i]] for i in np.flatnonzero(is_tied).tolist()]
    return ranks


def compared_scores(scores: Floats, policies: Policies) -> Floats:
    """Return the scores as they are compared: as they are, or rounded to single precision."""
    if policies.precision == "double":
        return scores
    with np.errstate(over="ignore"):  # beyond the range of 32 bits a score is infinite, as in C
        return scores.astype(np.float32).astype(np.float64)


def given_order(ranking: Ranking | ListedDocs) -> Ints:
    """Return each doc's place as given: the rank column, else the order of the rows."""
    return np.arange(len(ranking.scores)) if ranking.given_ranks is None else ranking.given_ranks
