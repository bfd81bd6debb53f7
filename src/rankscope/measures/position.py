"""Position measures: at which ranks the relevant docs stand."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Floats, safe_divide
from rankscope.measures.rank import first_relevant_ranks
from rankscope.measures.sets import n_found
from rankscope.measures.spec import MeasureExample, MeasureFamily, measure

_CITE = "a plain description of the ranking; see Järvelin & Kekäläinen, TOIS 2002, on why one discounts it"
_UNDEFINED = "no relevant doc was found within k"
_measure = partial(
    measure, family=MeasureFamily.POSITION, range=(1, math.inf), better="lower", undefined=_UNDEFINED, cite=_CITE
)


@_measure(
    "FirstRel",
    "Rank of the first relevant doc",
    formula=r"\min \{r : \text{relevant at } r\}",
    aliases=("BestPos", "best_position", "first_relevant_rank"),
    example=MeasureExample([0, 1, 1], [1, 1], 2, {}, "the first relevant doc stands at rank 2"),
)
def first_relevant_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: at which rank does the first relevant doc stand?"""
    return first_relevant_ranks(hits, k, rel)


@_measure(
    "LastRel",
    "Rank of the last relevant doc found",
    formula=r"\max \{r : \text{relevant at } r\}",
    monotone=False,
    aliases=("WorstPos", "worst_position"),
    example=MeasureExample([0, 1, 1], [1, 1], 3, {}, "the last relevant doc stands at rank 3"),
)
def last_relevant_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: how far down does a reader go to see every relevant doc that was found?"""
    counted = hits.relevant(rel, k)
    ranks = np.zeros(len(hits))
    ranks[hits.segments[counted]] = hits.ranks[counted]  # ranks rise within a query, so the last one stays
    return np.where(ranks == 0, math.nan, ranks)


@_measure(
    "MeanRel",
    "Mean rank of the relevant docs found",
    formula=r"\text{mean} \{r : \text{relevant at } r\}",
    monotone=False,
    aliases=("AvgPos", "average_position", "mean_position"),
    example=MeasureExample([1, 0, 1, 0, 1], [1, 1, 1], 3, {}, "relevant docs stand at ranks 1, 3 and 5: 9/3"),
)
def mean_relevant_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: at which rank do the relevant docs that were found stand, on average?

    Docs that were not found do not count, so read it together with NumRelRet and NumRel.
    """
    return safe_divide(hits.per_query(np.where(hits.relevant(rel, k), hits.ranks, 0)), n_found(hits, k, rel))
