"""Gain measures: what the docs are worth to a reader, rank by rank."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from rankscope.align.hits import Hits, level_of
from rankscope.arrays import (
    Floats,
    Ints,
    log2,
    running_sum,
    safe_divide,
    segment_max,
    segment_sum,
)
from rankscope.errors import GradeError
from rankscope.light import replace
from rankscope.measures.sets import n_found
from rankscope.measures.spec import MeasureExample, MeasureFamily, Workings, measure

_JK = "Järvelin & Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 2002"
_COMPAT_DEPTH = 1000
_MAX_EXP2_GRADE = 1000
_ALMOST_SURE = 1 - 2.0**-53
_NOTHING_TO_GAIN = "no judged doc of the query has a gain above 0"
_measure = partial(measure, family=MeasureFamily.GAIN)


def gains_of(grades: Floats, gain: Any, rel: float | None) -> Floats:
    """Return what each grade is worth; grades below 0, and below `rel` where it is given, are worth nothing."""
    known = grades >= (0 if rel is None else rel)
    if gain == "exp2":
        if len(grades) and grades.max() > _MAX_EXP2_GRADE:
            raise GradeError(
                f"a grade of {grades.max():g} is too high for gain='exp2'",
                hint="2^grade is not a number any more; use gain='linear', or a map of gains",
            )
        return np.where(known, np.exp2(np.maximum(grades, 0.0)) - 1, 0.0)
    if gain == "binary":
        return (grades >= level_of(rel)).astype(np.float64)
    worth = np.where(known, grades, 0.0)
    if gain != "linear":
        for grade, value in gain:
            worth[known & (grades == grade)] = value
    return worth


def ideal_gains(hits: Hits, gain: Any, rel: float | None) -> Floats:
    """Return the gains of the judged docs of each query, best first; only gains above 0 count."""
    gains = np.maximum(gains_of(hits.ideal_grades, gain, rel), 0.0)
    if isinstance(gain, tuple):  # a map may rank grades otherwise than they are numbered
        return gains[np.lexsort((-gains, hits.ideal_segments))]
    return gains


def ideal_terms(hits: Hits, k: int | None, gain: Any, rel: float | None) -> Floats:
    """Return the discounted gains of the ideal ranking, 0 beyond k."""
    return hits.cut_ideal(ideal_gains(hits, gain, rel), k) / log2(hits.ideal_ranks + 1)


def dcg_workings(hits: Hits, *, k: int | None, gain: Any, rel: float | None) -> Workings:
    gains, discounts = gains_of(hits.grades, gain, rel), log2(hits.ranks + 1)
    return Workings(hits.cut(gains, k) / discounts, {"gain": gains, "discount": discounts}, "DCG")


def _ndcg_workings(hits: Hits, *, k: int | None, gain: Any, rel: float | None) -> Workings:
    terms = ideal_terms(hits, k, gain, rel)
    return replace(
        dcg_workings(hits, k=k, gain=gain, rel=rel),
        divisor_name="ideal DCG",
        divisor=hits.per_ideal(terms),
        ideal_terms=terms,
        ideal_columns={"gain": ideal_gains(hits, gain, rel), "discount": log2(hits.ideal_ranks + 1)},
    )


@_measure(
    "CG",
    "Cumulative gain",
    graded=True,
    formula=r"\sum_{r \le k} g_r",
    range=(0, math.inf),
    undefined="never",
    cite=_JK,
    example=MeasureExample([2, None, 1], [2, 1, 1], 3, {"k": 3}, "2 + 0 + 1"),
)
def cumulative_gain(hits: Hits, *, k: int | None = None, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: what are the first k docs worth together, whatever their order?"""
    return hits.per_query(hits.cut(gains_of(hits.grades, gain, rel), k))


@_measure(
    "NCG",
    "Normalised cumulative gain",
    graded=True,
    formula=r"\mathrm{CG}_k / \mathrm{ICG}_k",
    undefined=_NOTHING_TO_GAIN,
    cite="Rosset et al., Optimizing Query Evaluations using Reinforcement Learning, SIGIR 2018",
    example=MeasureExample([2, None, 1], [2, 2, 1], 3 / 5, {"k": 3}, "(2 + 0 + 1) of the best (2 + 2 + 1)"),
)
def normalised_cg(hits: Hits, *, k: int | None = None, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: what share of the gain that k docs could bring do the first k bring, whatever their order?"""
    ideal = hits.per_ideal(hits.cut_ideal(ideal_gains(hits, gain, rel), k))
    return safe_divide(cumulative_gain(hits, k=k, gain=gain, rel=rel), ideal)


@_measure(
    "DCG",
    "Discounted cumulative gain",
    graded=True,
    formula=r"\sum_{r \le k} g_r / \log_2(r + 1)",
    range=(0, math.inf),
    undefined="never",
    cite=_JK,
    aliases={"dcg": {}, "dcg_burges": {"gain": "exp2"}},
    elsewhere={"ranx": "dcg@{k}", "trec_eval": "dcg"},
    example=MeasureExample([2, None, 1], [2, 1], 2.5, {"k": 3}, "2/log2(2) + 1/log2(4) = 2 + 0.5"),
    workings=dcg_workings,
)
def dcg(hits: Hits, *, k: int | None = None, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: what are the first k docs worth to a reader who looks ever less closely further down?"""
    return dcg_workings(hits, k=k, gain=gain, rel=rel).scores(hits)


@_measure(
    "nDCG",
    "Normalised discounted cumulative gain",
    graded=True,
    formula=r"\mathrm{DCG}_k / \mathrm{IDCG}_k",
    undefined=_NOTHING_TO_GAIN,
    cite=_JK,
    aliases={"NDCG": {}, "ndcg_cut": {}, "ndcg_burges": {"gain": "exp2"}, "nDCG_exp": {"gain": "exp2"}},
    elsewhere={"trec_eval": "ndcg, ndcg_cut_{k}", "ranx": "ndcg@{k}", "ir_measures": "nDCG@{k}"},
    example=MeasureExample(
        [0, 1, 2],
        [2, 1, 0],
        (1 / math.log2(3) + 1) / (2 + 1 / math.log2(3)),
        {"k": 3},
        "(1/log2(3) + 2/log2(4)) / (2/log2(2) + 1/log2(3)) = 1.6309 / 2.6309",
    ),
    workings=_ndcg_workings,
)
def ndcg(hits: Hits, *, k: int | None = None, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: how close is the ranking to the best possible one, early ranks counting most?

    The ideal is made from all judged docs, retrieved or not. The gain is the grade itself; `gain='exp2'` is the
    form of Burges et al. 2005, `gain='binary'` counts grades from `rel` up as 1.
    """
    found = dcg(hits, k=k, gain=gain, rel=rel)
    if k is None or isinstance(gain, tuple):  # a map may rank grades otherwise than they are numbered
        return safe_divide(found, hits.per_ideal(ideal_terms(hits, k, gain, rel)))
    places, ranks = hits.ideal_within(k)
    gains = np.maximum(gains_of(hits.ideal_grades[places], gain, rel), 0.0)
    return safe_divide(found, segment_sum(gains / log2(ranks + 1), hits.ideal_segments[places], len(hits)))


def scale_top(hits: Hits, max_grade: Any) -> Floats:
    if max_grade == "query":
        return segment_max(hits.ideal_grades, hits.ideal_segments, len(hits))
    return np.full(len(hits), hits.max_grade if max_grade is None else float(max_grade))


def check_scale(hits: Hits, max_grade: Any) -> None:
    if isinstance(max_grade, int | float) and hits.max_grade > max_grade:
        raise GradeError(
            f"the qrels have grade {hits.max_grade:g}, above max_grade={max_grade:g}",
            hint="raise max_grade, or leave it out: the highest grade in the qrels is taken then",
        )


def stop_chances(grades: Floats, top: Floats) -> Floats:
    """Return how likely a doc of each grade satisfies the reader."""
    return np.exp2(np.maximum(grades, 0.0) - top) - np.exp2(-top)  # (2^grade - 1) / 2^top, for any scale


def cascade_terms(chances: Floats, ranks: Ints, segments: Ints, n_segments: int) -> Floats:
    """Return the chance that the reader stops at each doc, over its rank."""
    onward = np.log1p(-np.minimum(chances, _ALMOST_SURE))  # log(0) would be infinite, and spoil the running sum
    arrives = np.exp(running_sum(onward, segments, n_segments) - onward)
    return arrives * chances / ranks


def _err_workings(hits: Hits, *, k: int | None, max_grade: Any) -> Workings:
    chances = stop_chances(hits.grades, scale_top(hits, max_grade)[hits.segments])
    terms = cascade_terms(hits.cut(chances, k), hits.ranks, hits.segments, len(hits))
    return Workings(terms, {"stops here": chances}, "ERR")


@_measure(
    "ERR",
    "Expected reciprocal rank",
    formula=r"\sum_{r \le k} \frac{R_r}{r} \prod_{i<r} (1 - R_i), \quad R = \frac{2^g - 1}{2^{g_{max}}}",
    undefined="never",
    cite="Chapelle et al., Expected Reciprocal Rank for Graded Relevance, CIKM 2009",
    elsewhere={"gdeval": "err@{k} (max_grade=4)", "ir_measures": "ERR@{k} (max_grade=4)"},
    example=MeasureExample(
        [1, 2], [2, 1, 0], 0.25 + 0.75 * 0.75 / 2, {}, "grades up to 2: ¼ stop at rank 1, ¾ of the other ¾ at rank 2"
    ),
    workings=_err_workings,
)
def expected_reciprocal_rank(hits: Hits, *, k: int | None = None, max_grade: Any = None) -> Floats:
    """Answers: how early is a reader satisfied who stops at a good doc and then looks no further?"""
    check_scale(hits, max_grade)
    return _err_workings(hits, k=k, max_grade=max_grade).scores(hits)


@_measure(
    "nERR",
    "Normalised expected reciprocal rank",
    formula=r"\mathrm{ERR}_k / \text{ideal ERR}_k",
    undefined=_NOTHING_TO_GAIN,
    cite="Sakai, Metrics, Statistics, Tests, PROMISE Winter School 2013",
    example=MeasureExample(
        [1, 2],
        [2, 1, 0],
        (0.25 + 0.75 * 0.75 / 2) / (0.75 + 0.25 * 0.25 / 2),
        {},
        "0.53125 of the best order's 0.78125",
    ),
)
def normalised_err(hits: Hits, *, k: int | None = None, max_grade: Any = None) -> Floats:
    """Answers: how close does the ranking come to the best possible expected reciprocal rank?"""
    chances = stop_chances(hits.ideal_grades, scale_top(hits, max_grade)[hits.ideal_segments])
    terms = cascade_terms(hits.cut_ideal(chances, k), hits.ideal_ranks, hits.ideal_segments, len(hits))
    return safe_divide(expected_reciprocal_rank(hits, k=k, max_grade=max_grade), hits.per_ideal(terms))


def scaled_gains(hits: Hits, gain: Any, max_grade: Any, rel: float | None) -> Floats:
    """Return gains between 0 and 1: relevant or not, or what the grade is worth as a share of the most on the scale."""
    if gain == "binary":
        return gains_of(hits.grades, "binary", rel)
    check_scale(hits, max_grade)
    tops = scale_top(hits, max_grade)
    most = gains_of(tops, gain, None)
    if isinstance(gain, tuple):  # a map may rank grades in any way
        worth = gains_of(np.arange(int(tops.max(initial=0)) + 1.0), gain, None)
        most = np.maximum.accumulate(worth)[tops.astype(np.int64)]
    top = most[hits.segments]
    return np.divide(gains_of(hits.grades, gain, rel), top, out=np.zeros_like(hits.grades), where=top > 0)


def _rbp_workings(hits: Hits, *, k: int | None, p: float, gain: Any, max_grade: Any, rel: float | None) -> Workings:
    gains, weights = scaled_gains(hits, gain, max_grade, rel), np.power(p, hits.ranks - 1.0)
    columns = {"gain": gains, "weight": (1 - p) * weights}
    return Workings(hits.cut(gains * weights, k) * (1 - p), columns, "RBP")


@_measure(
    "RBP",
    "Rank-biased precision",
    graded=True,
    formula=r"(1-p) \sum_{r \le k} g_r\, p^{r-1}",
    undefined="never",
    cite="Moffat & Zobel, Rank-Biased Precision, TOIS 2008",
    aliases=("rank_biased_precision",),
    elsewhere={
        "ranx": "rbp.{p} (grades not divided by max_grade)",
        "trec_eval": "rbp (version 10)",
        "ir_measures": "RBP(p={p}, rel={rel})",
    },
    example=MeasureExample([1, 0, 1], [1, 1, 0], 0.2 * (1 + 0.64), {"p": 0.8}, "(1 - 0.8)·(1 + 0.8²)"),
    workings=_rbp_workings,
)
def rank_biased_precision(
    hits: Hits,
    *,
    k: int | None = None,
    p: float = 0.8,
    gain: Any = "binary",
    max_grade: Any = None,
    rel: float | None = None,
) -> Floats:
    """Answers: how much does a reader, who goes on to the next rank with chance p, gain per doc?

    Its uncertainty, what unjudged and unretrieved docs could still add, is RBP_resid. Gains are binary, or with
    `gain='linear'` the grade as a share of `max_grade`.
    """
    return _rbp_workings(hits, k=k, p=p, gain=gain, max_grade=max_grade, rel=rel).scores(hits)


@_measure(
    "RBP_resid",
    "Residual of rank-biased precision",
    formula=r"p^{n} + (1-p) \sum_{\text{unjudged } r} p^{r-1}",
    better="lower",
    undefined="never",
    cite="Moffat & Zobel, Rank-Biased Precision, TOIS 2008",
    about_relevance=False,
    monotone=False,
    elsewhere={"trec_eval": "rbp_resid (version 10)"},
    example=MeasureExample(
        [1, None], [1], 0.64 + 0.2 * 0.8, {"p": 0.8}, "0.8² for what follows the list, 0.2·0.8 for rank 2"
    ),
)
def rbp_residual(hits: Hits, *, k: int | None = None, p: float = 0.8) -> Floats:
    """Answers: how much could rank-biased precision still rise if every unseen or unjudged doc were perfect?"""
    judged = hits.per_query(np.where(hits.relevant(0, k), np.power(p, hits.ranks - 1.0), 0.0))
    beyond = np.power(p, hits.n_shown(k).astype(np.float64))
    return beyond + np.maximum(1 - beyond - (1 - p) * judged, 0.0)


def trigamma(x: float) -> float:
    """Return the sum of 1/(x+i)² over all i from 0 up, for x above 0."""
    shift = 12
    total = sum(1 / ((x + i) * (x + i)) for i in range(shift))
    y = x + shift
    inverse = 1 / (y * y)
    # the asymptotic series; from y = 12 on, what is left out stays below 1e-15
    series = 1 / 6 - inverse * (1 / 30 - inverse * (1 / 42 - inverse * (1 / 30 - inverse * 5 / 66)))
    return total + 1 / y + inverse / 2 + series * inverse / y


def inst_of_query(ranks: list[int], gains: list[float], hope: float) -> float:
    """Return INST of one ranking.

    Between hits the hope is constant, so the weights from rank a on are W_a·(x/(x+j))² with x = a - 1 + T + T_a, and
    their sum down to infinity is a trigamma function: no need to cut the ranking anywhere.
    """
    rank, weight, target = 1, 1.0, 2 * hope
    gained = mass = 0.0
    for hit_rank, gain in zip(ranks, gains, strict=True):
        x, y = rank - 1 + target, hit_rank - 1 + target
        if hit_rank > rank:
            mass += weight * (1 + x * x * (trigamma(x + 1) - trigamma(y)))
            weight *= (x / y) ** 2
        rank, target = hit_rank, target - gain
        gained += weight * gain
    x = rank - 1 + target
    return gained / (mass + weight * (1 + x * x * trigamma(x + 1)))


@_measure(
    "INST",
    "INST",
    graded=True,
    formula=(
        r"\sum_r W_r g_r, \quad W_{r+1}/W_r = \left(\frac{r + T + T_r - 1}{r + T + T_r}\right)^2,\; T_r = "
        r"T - \sum_{i \le r} g_i"
    ),
    undefined="never",
    monotone=False,
    cite="Moffat, Bailey, Scholer & Thomas, Incorporating User Expectations and Behavior, TOIS 2017",
    elsewhere={"ir_measures": "INST(T={T}, max_rel={max_grade}) (gain='linear')"},
    example=MeasureExample(
        [1], [1], 6 / math.pi**2, {"T": 1}, "after the hit T_1 = 0, so weights fall as 1/r² and W_1 = 6/π²"
    ),
)
def inst(
    hits: Hits,
    *,
    T: float = 1.0,  # noqa: N803 (the name it has in the paper)
    gain: Any = "binary",
    max_grade: Any = None,
    rel: float | None = None,
) -> Floats:
    """Answers: how much does a reader gain per doc who hopes for T relevant docs and adapts as they are found?"""
    gains = scaled_gains(hits, gain, max_grade, rel)
    bounds = zip(hits.offsets[:-1].tolist(), hits.offsets[1:].tolist(), strict=True)
    return np.array([inst_of_query(hits.ranks[a:b].tolist(), gains[a:b].tolist(), T) for a, b in bounds])


@_measure(
    "MeanGain",
    "Mean gain, relevance score",
    formula=r"\frac{1}{n} \sum_{r \le k} g_r / g_{max}",
    undefined="nothing was retrieved, or with over='judged' none of it judged",
    if_undefined="policy",
    cite="Järvelin & Kekäläinen, TOIS 2002 (cumulated gain per rank)",
    aliases=("relevance_score",),
    example=MeasureExample([3, None], [3, 1], 1 / 2, {"max_grade": 3}, "(3/3 + 0) over 2 docs"),
    monotone=False,
)
def mean_gain(hits: Hits, *, k: int | None = None, max_grade: Any = None, over: str = "retrieved") -> Floats:
    """Answers: how good is a doc of the list on average, as a share of the best grade?

    Unjudged docs count 0; `over='judged'` leaves them out.
    """
    gained = hits.per_query(hits.cut(scaled_gains(hits, "linear", max_grade, None), k))
    return safe_divide(gained, hits.n_shown(k) if over == "retrieved" else n_found(hits, k, 0))


def ideal_positions(hits: Hits) -> Ints:
    """Return where each relevant hit stands in the ideal ranking that is kindest to the run."""
    span = max(hits.max_grade, 1.0) * 2 + 2
    judged = hits.ideal_segments * span - hits.ideal_grades  # rises from query to query, and from the best grade down
    found = hits.segments * span - np.maximum(hits.grades, -0.5)
    n_better = np.searchsorted(judged, found) - hits.ideal_offsets[hits.segments]
    order = np.argsort(found, kind="stable")  # of docs of the same grade, those found come first, in order
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(1, len(order) + 1) - np.searchsorted(found[order], found[order])
    return n_better + place


@_measure(
    "Compat",
    "Compatibility with the ideal ranking",
    formula=r"\max_I \mathrm{RBO}(ranking, I) / \mathrm{RBO}(I, I)",
    undefined=_NOTHING_TO_GAIN,
    cite="Clarke, Vtyurina & Smucker, Assessing Top-k Preferences, TOIS 2021",
    aliases=("Compatibility",),
    elsewhere={"ir_measures": "Compat(p={p}) (it stops at the end of the list)"},
    example=MeasureExample([2, 1], [2, 1, 0], 1, {}, "the ranking is the ideal one"),
)
def compatibility(hits: Hits, *, p: float = 0.95) -> Floats:
    """Answers: how similar is the ranking to the most similar ideal one, by rank-biased overlap?

    Overlap is summed down to rank 1000, as in the authors' program, however long the lists are. ir_measures stops at
    the end of the longer one, the ranking or the relevant docs, so its values are other ones: the only relevant doc at
    rank 2 of 2 is worth 0.32 there and 0.68 here.
    """
    depths = np.arange(1, _COMPAT_DEPTH + 1)
    tails = np.cumsum((np.power(p, depths - 1.0) / depths)[::-1])[::-1]
    weights = np.concatenate(([0.0], tails, [0.0]))  # of a doc that both rankings have from depth d on (index d)
    beyond = _COMPAT_DEPTH + 1
    meets = np.minimum(np.maximum(hits.ranks, ideal_positions(hits)), beyond)
    overlap = hits.per_query(np.where(hits.grades > 0, weights[meets], 0.0))
    best = hits.per_ideal(np.where(hits.ideal_grades > 0, weights[np.minimum(hits.ideal_ranks, beyond)], 0.0))
    return safe_divide(overlap, best)


@_measure(
    "Q",
    "Q-measure",
    formula=r"\frac{1}{R} \sum_r [\text{relevant at } r] \frac{rel_r + \beta\, cg_r}{r + \beta\, cg^*_r}",
    cite="Sakai, New Performance Metrics Based on Multigrade Relevance, NTCIR-4, 2004",
    aliases=("Q_measure", "QMeasure"),
    example=MeasureExample(
        [0, 2], [2, 1, 0], (1 + 2) / (2 + 3) / 2, {}, "at rank 2: (1 + 2)/(2 + 3), over 2 relevant docs"
    ),
)
def q_measure(hits: Hits, *, beta: float = 1.0, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: what is average precision when grades count, blending gain with precision?"""
    level, relevant = level_of(rel), hits.relevant(rel)
    blended = hits.so_far(relevant) + beta * hits.so_far(np.where(relevant, gains_of(hits.grades, gain, level), 0.0))
    gained = np.where(hits.ideal_grades >= level, ideal_gains(hits, gain, level), 0.0)
    total = np.concatenate(([0.0], np.cumsum(gained)))
    starts = hits.ideal_offsets[:-1][hits.segments]
    ends = np.minimum(starts + hits.ranks, hits.ideal_offsets[1:][hits.segments])
    ideal = total[ends] - total[starts]  # what the ideal ranking has collected down to each hit's rank
    terms = np.where(relevant, blended / (hits.ranks + beta * ideal), 0.0)
    return safe_divide(hits.per_query(terms), hits.n_relevant(level))
