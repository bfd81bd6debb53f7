"""Rank measures: how early the relevant docs come, and at which ranks they stand."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from rankscope.align.hits import Hits, level_of
from rankscope.arrays import Floats, safe_divide, segment_max
from rankscope.measures.sets import counts_at, n_found
from rankscope.measures.spec import MeasureExample, MeasureFamily, Workings, measure

_SMOOTHING = 0.00001  # trec_eval's epsilon in infAP
_SALTON = "Salton & McGill, Introduction to Modern Information Retrieval, 1983"
_measure = partial(measure, family=MeasureFamily.RANK)


def first_relevant_ranks(hits: Hits, k: int | None, rel: float | None) -> Floats:
    """Return the rank of the first relevant doc of each query, NaN where there is none."""
    relevant = np.flatnonzero(hits.relevant(rel, k))
    queries, first = np.unique(hits.segments[relevant], return_index=True)
    ranks = np.full(len(hits), math.nan)
    ranks[queries] = hits.ranks[relevant[first]]
    return ranks


def _rr_workings(hits: Hits, *, k: int | None, rel: float) -> Workings:
    first = first_relevant_ranks(hits, k, rel)[hits.segments] == hits.ranks
    return Workings(terms=np.where(first, 1 / hits.ranks, 0.0), sum_name="1 / rank of the first relevant doc")


@_measure(
    "RR",
    "Reciprocal rank",
    formula=r"1 / \text{rank of the first relevant doc}",
    cite="Kantor & Voorhees, The TREC-5 Confusion Track, Information Retrieval, 2000",
    aliases=("MRR", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    elsewhere={"trec_eval": "recip_rank (with -M k)", "ranx": "mrr@{k}", "ir_measures": "RR@{k}"},
    example=MeasureExample([0, 1, 1], [1, 1, 0], 1 / 2, {}, "the first relevant doc stands at rank 2: 1/2"),
    workings=_rr_workings,
)
def reciprocal_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: how early does the first relevant doc come?

    0 where none is found; the mean over queries is known as MRR.
    """
    scores = np.nan_to_num(1 / first_relevant_ranks(hits, k, rel))
    return np.where(hits.n_relevant(rel) == 0, math.nan, scores)


def precision_terms(hits: Hits, k: int | None, rel: float) -> Floats:
    """Return the precision at each relevant doc within k, 0 at other hits."""
    return _ap_workings(hits, k=k, norm="all", rel=rel).terms


def _ap_workings(hits: Hits, *, k: int | None, norm: str, rel: float | None) -> Workings:
    n_relevant, so_far = hits.n_relevant(rel), hits.so_far(hits.relevant(rel))
    return Workings(
        terms=np.where(hits.relevant(rel, k), so_far / hits.ranks, 0.0),
        columns={"relevant so far": so_far},
        sum_name="sum of precisions",
        divisor_name="relevant docs" if norm == "all" else "relevant docs, at most k",
        divisor=np.minimum(n_relevant, k) if norm == "min" and k is not None else n_relevant,
    )


@_measure(
    "AP",
    "Average precision",
    formula=r"\frac{1}{R} \sum_{r \le k} [\text{relevant at } r] \cdot P@r",
    cite="Buckley & Voorhees, Evaluating Evaluation Measure Stability, SIGIR 2000",
    aliases={"MAP": {}, "map_cut": {}, "average_precision": {}, "GMAP": {"agg": "gmean"}, "gm_map": {"agg": "gmean"}},
    elsewhere={"trec_eval": "map, map_cut_{k}", "ranx": "map@{k}", "ir_measures": "AP@{k}"},
    example=MeasureExample(
        [1, 0, 1], [1, 1, 1, 0], (1 + 2 / 3) / 3, {}, "relevant at ranks 1 and 3: (1/1 + 2/3) over 3 relevant docs"
    ),
    workings=_ap_workings,
)
def average_precision(hits: Hits, *, k: int | None = None, norm: str = "all", rel: float | None = None) -> Floats:
    """Answers: how pure is the list down to each relevant doc, on average over all relevant docs?

    A relevant doc that is not found adds 0. `norm='min'` divides by at most k, as recommenders and
    sentence-transformers do. The mean over queries is known as MAP, the geometric mean as GMAP.
    """
    return _ap_workings(hits, k=k, norm=norm, rel=rel).scores(hits)


@_measure(
    "IPrec",
    "Interpolated precision",
    formula=r"\max \{P@r : r \text{ from where recall reaches the level}\}",
    cite=_SALTON,
    aliases=("iprec_at_recall",),
    elsewhere={"trec_eval": "iprec_at_recall_{recall}", "ir_measures": "IPrec@{recall}"},
    example=MeasureExample(
        [0, 1, 1],
        [1, 1, 0],
        2 / 3,
        {"recall": 0.5},
        "recall 0.5 is reached at rank 2; the best precision from there is 2/3",
    ),
)
def interpolated_precision(hits: Hits, *, recall: float, rounding: str = "up", rel: float | None = None) -> Floats:
    """Answers: how pure can the list still be once this share of the relevant docs is found?

    0 where that recall is never reached. trec_eval 9 rounds the number of docs up, version 10 to the nearest.
    """
    n_relevant, relevant = hits.n_relevant(rel), hits.relevant(rel)
    found = hits.so_far(relevant)
    needed = counts_at(recall, n_relevant, rounding)[hits.segments]
    best = np.where(relevant & (found >= needed), found / hits.ranks, 0.0)
    return np.where(n_relevant == 0, math.nan, segment_max(best, hits.segments, len(hits)))


@_measure(
    "IPrec11",
    "11-point interpolated average precision",
    formula=r"\frac{1}{11} \sum_{i=0}^{10} \mathrm{IPrec}@(i/10)",
    cite=_SALTON,
    aliases=("11pt_avg", "11pt", "11_point", "IPrec11pt"),
    elsewhere={"trec_eval": "11pt_avg"},
    example=MeasureExample(
        [0, 1], [1, 0], 1 / 2, {}, "the only relevant doc is at rank 2, so precision is 1/2 at every level"
    ),
)
def eleven_point_average(hits: Hits, *, rounding: str = "up", rel: float | None = None) -> Floats:
    """Answers: how pure is the list over all levels of recall, from 0 to 1 in steps of 0.1?"""
    total = np.zeros(len(hits))
    for tenths in range(11):
        total += interpolated_precision(hits, recall=tenths / 10, rounding=rounding, rel=rel)
    return total / 11


@_measure(
    "Bpref",
    "Binary preference",
    formula=r"\frac{1}{R} \sum_r \left(1 - \frac{\min(\text{judged non-relevant above } r, R)}{\min(N, R)}\right)",
    cite="Buckley & Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004",
    aliases={"bpref": {}, "gm_bpref": {"agg": "gmean"}},
    elsewhere={"trec_eval": "bpref", "ranx": "bpref", "ir_measures": "Bpref"},
    example=MeasureExample(
        [0, 1, None, 1],
        [1, 1, 0, 0],
        1 / 2,
        {},
        "each relevant doc has 1 of the 2 judged non-relevant docs above it: ½·(½+½)",
    ),
)
def binary_preference(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: how often do relevant docs stand above docs that were judged non-relevant?

    Unjudged docs do not matter, so it is robust where judgments are incomplete.
    """
    n_relevant, relevant = hits.n_relevant(rel), hits.relevant(rel)
    n_wrong = hits.per_ideal(hits.ideal_grades < level_of(rel))
    wrong_above = hits.so_far((hits.grades >= 0) & ~relevant)
    bound = np.minimum(n_wrong, n_relevant)[hits.segments]
    capped = np.minimum(wrong_above, n_relevant[hits.segments])
    preferred = 1 - np.divide(capped, bound, out=np.zeros_like(capped), where=bound > 0)
    return safe_divide(hits.per_query(np.where(relevant, preferred, 0.0)), n_relevant)


@_measure(
    "infAP",
    "Inferred average precision",
    formula=(
        r"\frac{1}{R} \sum_r \left(\frac{1}{r} + \frac{r-1}{r} \cdot \frac{|pool|}{r-1} \cdot "
        r"\frac{rel+\epsilon}{rel+nonrel+2\epsilon}\right)"
    ),
    cite="Yilmaz & Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006",
    elsewhere={"trec_eval": "infAP", "ir_measures": "infAP"},
    monotone=False,
    example=MeasureExample(
        [1, 1],
        [1, 1],
        (1 + 1 / 2 + 1 / 2 * (1 + 1e-5) / (1 + 2e-5)) / 2,
        {},
        "rank 1 gives 1; rank 2 gives ½ + ½·(1+ε)/(1+2ε)",
    ),
)
def inferred_ap(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: what would average precision be, estimated from pools of which only a sample was judged?

    A grade below 0 marks a pooled doc that was not judged.
    """
    relevant = hits.relevant(rel)
    rel_above = hits.so_far(relevant) - relevant
    pooled_above = hits.so_far(np.ones(len(hits.ranks))) - 1
    wrong = (hits.grades >= 0) & ~relevant
    wrong_above = hits.so_far(wrong) - wrong
    share = (rel_above + _SMOOTHING) / (rel_above + wrong_above + 2 * _SMOOTHING)
    above = hits.ranks - 1
    pooled = np.divide(pooled_above, above, out=np.zeros(len(above)), where=above > 0)
    expected = 1 / hits.ranks + above / hits.ranks * pooled * share
    return safe_divide(hits.per_query(np.where(relevant, expected, 0.0)), hits.n_relevant(rel))


_position = partial(
    measure,
    family=MeasureFamily.POSITION,
    range=(1, math.inf),
    better="lower",
    undefined="no relevant doc was found within k",
    cite="a plain description of the ranking; see Järvelin & Kekäläinen, TOIS 2002, on why one discounts it",
)


@_position(
    "FirstRel",
    "Rank of the first relevant doc",
    formula=r"\min \{r : \text{relevant at } r\}",
    aliases=("BestPos", "best_position", "first_relevant_rank"),
    example=MeasureExample([0, 1, 1], [1, 1, 0], 2, {}, "the first relevant doc stands at rank 2"),
)
def first_relevant_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: at which rank does the first relevant doc stand?"""
    return first_relevant_ranks(hits, k, rel)


@_position(
    "LastRel",
    "Rank of the last relevant doc found",
    formula=r"\max \{r : \text{relevant at } r\}",
    monotone=False,
    aliases=("WorstPos", "worst_position"),
    example=MeasureExample([0, 1, 1], [1, 1, 0], 3, {}, "the last relevant doc stands at rank 3"),
)
def last_relevant_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: how far down does a reader go to see every relevant doc that was found?"""
    counted = hits.relevant(rel, k)
    ranks = np.zeros(len(hits))
    ranks[hits.segments[counted]] = hits.ranks[counted]  # ranks rise within a query, so the last one stays
    return np.where(ranks == 0, math.nan, ranks)


@_position(
    "MeanRel",
    "Mean rank of the relevant docs found",
    formula=r"\text{mean} \{r : \text{relevant at } r\}",
    monotone=False,
    aliases=("AvgPos", "average_position", "mean_position"),
    example=MeasureExample([1, 0, 1, 0, 1], [1, 1, 1, 0, 0], 3, {}, "relevant docs stand at ranks 1, 3 and 5: 9/3"),
)
def mean_relevant_rank(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: at which rank do the relevant docs that were found stand, on average?

    Docs that were not found do not count, so read it together with NumRelRet and NumRel.
    """
    return safe_divide(hits.per_query(np.where(hits.relevant(rel, k), hits.ranks, 0)), n_found(hits, k, rel))
