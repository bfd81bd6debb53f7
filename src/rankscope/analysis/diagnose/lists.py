"""The lists of single queries: what stands in the top k with which grade, and what is missing there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankscope.align.policies import Policies
from rankscope.analysis.diagnose.records import ListedDoc, MissedDoc, QueryList
from rankscope.analysis.diagnose.thresholds import N_LISTS, N_MISSED
from rankscope.analysis.diagnose.view import RunView
from rankscope.analysis.explain import retrieved_docs
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run

PERFECT = 1 - 1e-9


def worst_queries(view: RunView) -> list[int]:
    """Return the queries (by position) with the lowest score, worst first; none that is perfect.

    Among equals those come first whose first relevant doc is not in the pool, or furthest down in it.
    """
    first = np.nan_to_num(view.first, nan=math.inf)
    order = np.lexsort((-view.n_relevant, -first, view.score))
    return [i for i in order.tolist() if view.score[i] < PERFECT][:N_LISTS]


def best_queries(view: RunView, *, but: Sequence[int]) -> list[int]:
    """Return the queries with the highest score, best first; among equals those with most relevant docs."""
    order = np.lexsort((-view.n_relevant, -view.score))
    return [i for i in order.tolist() if view.score[i] > 0 and i not in but][:N_LISTS]


def query_list(view: RunView, i: int, qrels: Qrels, run: Run, policies: Policies) -> QueryList:
    """Return one query with its docs."""
    query = view.hits.query_ids[i]
    grade_of = qrels.judged[query]
    docs = retrieved_docs(qrels, run, query, policies)
    if policies.judged_only:
        docs = [doc for doc in docs if grade_of.get(doc, -1) >= 0]
    rank_of = {doc: rank for rank, doc in enumerate(docs, 1)}
    missed = [
        MissedDoc(doc, grade, rank_of.get(doc))
        for doc, grade in grade_of.items()
        if grade >= view.rel and rank_of.get(doc, view.k + 1) > view.k
    ]
    missed.sort(key=lambda one: (-one.grade, one.rank is None, one.rank or 0, one.doc))
    return QueryList(
        query=query,
        score=float(view.score[i]),
        n_found=int(view.found(view.k)[i]),
        n_relevant=int(view.n_relevant[i]),
        docs=tuple(ListedDoc(rank, doc, judged_grade(grade_of.get(doc))) for rank, doc in enumerate(docs[: view.k], 1)),
        missed=tuple(missed[:N_MISSED]),
    )


def judged_grade(grade: float | None) -> float | None:
    """Return a grade, None also where it stands for pooled but unjudged."""
    return None if grade is None or grade < 0 else grade
