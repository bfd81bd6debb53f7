"""Single queries: their docs in the top k, what is missing there, and at which ranks the relevant ones stand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.diagnose.records import ListedDoc, MissedDoc, PositionReport, Positions, QueryList
from rankscope.analysis.diagnose.thresholds import N_LISTS, N_MISSED
from rankscope.analysis.diagnose.view import RunView
from rankscope.arrays import Ints
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run


def worst_queries(view: RunView) -> list[int]:
    """Return the queries (by position) with the lowest score, worst first; none that is perfect.

    Among equals those come first whose first relevant doc is not in the pool, or furthest down in it.
    """
    first = np.nan_to_num(view.first, nan=math.inf)
    order = np.lexsort((-view.n_relevant, -first, view.score))
    return [i for i in order.tolist() if view.score[i] < 1 - 1e-9][:N_LISTS]


def best_queries(view: RunView, *, but: Sequence[int]) -> list[int]:
    """Return the queries with the highest score, best first; among equals those with most relevant docs."""
    order = np.lexsort((-view.n_relevant, -view.score))
    return [i for i in order.tolist() if view.score[i] > 0 and i not in but][:N_LISTS]


def query_list(view: RunView, i: int, qrels: Qrels, run: Run, policies: Policies) -> QueryList:
    query = view.hits.query_ids[i]
    judged = {doc: grade for doc, grade in qrels.judged[query].items() if grade >= 0}
    found = top_docs(run, [query], policies, depth=None).docs[0]
    docs = [doc for doc in found if doc in judged or not policies.judged_only]
    rank_of = {doc: rank for rank, doc in enumerate(docs, 1)}
    missed = [
        MissedDoc(doc, grade, rank_of.get(doc))
        for doc, grade in judged.items()
        if grade >= view.rel and rank_of.get(doc, view.k + 1) > view.k
    ]
    missed.sort(key=lambda one: (-one.grade, one.rank is None, one.rank or 0, one.doc))
    return QueryList(
        query=query,
        score=float(view.score[i]),
        n_found=int(view.found(view.k)[i]),
        n_relevant=int(view.n_relevant[i]),
        docs=tuple(ListedDoc(rank, doc, judged.get(doc)) for rank, doc in enumerate(docs[: view.k], 1)),
        missed=tuple(missed[:N_MISSED]),
    )


def position_report(hits: Hits, rel: float) -> PositionReport:
    """Return where the docs with at least grade `rel` stand, over all queries and by query."""
    relevant = hits.grades >= rel
    ranks, segments = hits.ranks[relevant], hits.segments[relevant]
    ends = np.cumsum(np.bincount(segments, minlength=len(hits)))
    totals = hits.n_relevant(rel).astype(np.int64).tolist()
    by_query = np.split(ranks, ends[:-1]) if len(hits) else []
    queries = {
        query: positions_of(mine, total) for query, mine, total in zip(hits.query_ids, by_query, totals, strict=True)
    }
    return PositionReport(positions_of(ranks, sum(totals)), queries)


def positions_of(ranks: Ints, total: int) -> Positions:
    some = len(ranks) > 0
    return Positions(
        found=len(ranks),
        total=total,
        average=float(ranks.mean()) if some else None,
        best=int(ranks.min()) if some else None,
        worst=int(ranks.max()) if some else None,
        in_top={top: int((ranks <= top).sum()) for top in (3, 5, 10)},
    )
