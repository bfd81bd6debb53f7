"""Where a doc stands: ranks by score, ties broken by the policy, computed once for all measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankscope.align.policies import Policies
from rankscope.arrays import Floats, Ints
from rankscope.data.run import Ranking
from rankscope.io.ids import byte_order


def ranked_docs(ranking: Ranking, policies: Policies) -> list[str]:
    """Return all docs of one query, best first, cut at the depth."""
    docs = list(ranking.score_of)
    scores = compared_scores(ranking.scores, policies)
    if policies.ties == "given":
        order = np.lexsort((given_order(ranking), -scores))
        return [docs[i] for i in order.tolist()][: policies.depth]
    order = best_first_order(docs, scores, descending_ids=policies.ties == "trec")
    return [docs[i] for i in order[: policies.depth].tolist()]


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
    asked = compared_scores(np.array([ranking.score_of[doc] for doc in found], dtype=np.float64), policies)
    ascending = np.sort(scores)
    n_above = len(ascending) - np.searchsorted(ascending, asked, side="right")
    n_tied = len(ascending) - np.searchsorted(ascending, asked, side="left") - n_above
    ranks = n_above + 1
    is_tied = n_tied > 1
    if is_tied.any():
        docs = list(ranking.score_of)
        n_before: dict[str, int] = {}
        for value in set(asked[is_tied].tolist()):
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


def given_order(ranking: Ranking) -> Ints:
    """Return each doc's place as given: the rank column, else the order of the rows."""
    if ranking.given_ranks is not None:
        return ranking.given_ranks
    return np.arange(len(ranking.scores), dtype=np.int64)
