"""Set & cut-off measures: how many of the docs shown are relevant, and how many of the relevant ones are shown."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Floats, safe_divide
from rankscope.measures.spec import MeasureExample, MeasureFamily, Workings, measure

_VAN_RIJSBERGEN = "van Rijsbergen, Information Retrieval, 2nd ed., 1979"
_TREC_EVAL = "Buckley & Voorhees, Retrieval System Evaluation, in TREC: Experiment and Evaluation, 2005"
_JUDGED = 0.0  # grades below 0 are of docs that were pooled but not judged
_measure = partial(measure, family=MeasureFamily.SET)


def n_found(hits: Hits, k: int | None, rel: float | None) -> Floats:
    """Count the relevant docs at rank k or better."""
    return hits.per_query(hits.relevant(rel, k))


def _precision_workings(hits: Hits, *, k: int, rel: float | None) -> Workings:
    terms = hits.relevant(rel, k).astype(np.float64)
    return Workings(terms, sum_name="relevant found", divisor_name="k", divisor=np.full(len(hits), float(k)))


def _recall_workings(hits: Hits, *, k: int | None, rel: float | None) -> Workings:
    terms = hits.relevant(rel, k).astype(np.float64)
    return Workings(terms, sum_name="relevant found", divisor_name="relevant docs", divisor=hits.n_relevant(rel))


@_measure(
    "P",
    "Precision",
    formula=r"|\{\text{relevant in top } k\}| / k",
    undefined="never; a list shorter than k counts as if filled up with non-relevant docs",
    cite=_VAN_RIJSBERGEN,
    aliases=("Precision", "Prec"),
    elsewhere={"trec_eval": "P_{k}", "ranx": "precision@{k}", "ir_measures": "P@{k}"},
    example=MeasureExample([1, 0, 2], [1, 2, 1, 0], 2 / 3, {"k": 3}, "2 of the first 3 docs are relevant: 2/3"),
    workings=_precision_workings,
)
def precision(hits: Hits, *, k: int, rel: float | None = None) -> Floats:
    """Answers: what share of the first k docs is relevant?

    The divisor is k even where fewer docs were retrieved; `P_ret` divides by what was retrieved.
    """
    return n_found(hits, k, rel) / k


@_measure(
    "P_ret",
    "Precision over what was retrieved",
    formula=r"|\{\text{relevant in top } k\}| / \min(k, \text{retrieved})",
    undefined="nothing was retrieved",
    cite="the convention of several RAG toolkits; P is the literature's",
    example=MeasureExample(
        [1, 0], [1, 2, 1, 0], 1 / 2, {"k": 10}, "1 of the 2 docs retrieved is relevant: 1/2, where P@10 is 1/10"
    ),
)
def precision_of_retrieved(hits: Hits, *, k: int, rel: float | None = None) -> Floats:
    """Answers: what share of the docs shown (at most k) is relevant, however few they are?"""
    return safe_divide(n_found(hits, k, rel), hits.n_shown(k))


@_measure(
    "R",
    "Recall",
    formula=r"|\{\text{relevant in top } k\}| / |\{\text{relevant}\}|",
    cite=_VAN_RIJSBERGEN,
    aliases=("Recall", "Rec"),
    elsewhere={"trec_eval": "recall_{k}", "ranx": "recall@{k}", "ir_measures": "R@{k}"},
    example=MeasureExample([1, 0, 2], [1, 2, 1, 0], 2 / 3, {"k": 3}, "2 of the 3 relevant docs are found: 2/3"),
    workings=_recall_workings,
)
def recall(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: what share of the relevant docs is among the first k?"""
    return safe_divide(n_found(hits, k, rel), hits.n_relevant(rel))


@_measure(
    "R_cap",
    "Capped recall",
    formula=r"|\{\text{relevant in top } k\}| / \min(k, |\{\text{relevant}\}|)",
    cite="Thakur et al., BEIR, NeurIPS 2021",
    aliases=("relative_P", "RelP", "RecallCap", "capped_recall"),
    elsewhere={"trec_eval": "relative_P_{k}", "BEIR": "R_cap@{k}"},
    example=MeasureExample([1, 0], [1, 2, 1, 0], 1 / 2, {"k": 2}, "1 found of the 2 that fit into 2 ranks: 1/2"),
)
def capped_recall(hits: Hits, *, k: int, rel: float | None = None) -> Floats:
    """Answers: of the relevant docs that could stand in the first k ranks, what share does?

    Unlike recall it can reach 1 where there are more relevant docs than ranks.
    """
    return safe_divide(n_found(hits, k, rel), np.minimum(hits.n_relevant(rel), k))


@_measure(
    "F",
    "F-measure",
    formula=r"(1+\beta^2) P R / (\beta^2 P + R)",
    cite=_VAN_RIJSBERGEN,
    aliases=("F1",),
    elsewhere={"ranx": "f1@{k}"},
    example=MeasureExample([1, 0], [1, 2, 0], 1 / 2, {"k": 2}, "precision 1/2, recall 1/2: 2·¼/1 = 1/2"),
)
def f_measure(hits: Hits, *, k: int, beta: float = 1.0, rel: float | None = None) -> Floats:
    """Answers: how good are precision and recall together, at k?

    Their harmonic mean; `beta` above 1 favours recall, below 1 precision.
    """
    return harmonic(precision(hits, k=k, rel=rel), recall(hits, k=k, rel=rel), beta)


def harmonic(precision: Floats, recall: Floats, beta: float) -> Floats:
    """Return the weighted harmonic mean, 0 where both are 0, undefined where recall is."""
    weight = beta * beta
    mean = safe_divide((1 + weight) * precision * recall, recall + weight * precision)
    return np.where(np.isnan(recall), math.nan, np.nan_to_num(mean))


@_measure(
    "Success",
    "Success, hit rate",
    formula=r"[\text{a relevant doc is in the top } k]",
    cite="Kantor & Voorhees, The TREC-5 Confusion Track, Information Retrieval, 2000",
    aliases=("HR", "Hit", "HitRate", "Hit_Rate", "Accuracy"),
    elsewhere={"trec_eval": "success_{k}", "ranx": "hit_rate@{k}", "ir_measures": "Success@{k}"},
    example=MeasureExample([0, 1], [1, 1, 0], 1, {"k": 2}, "a relevant doc stands at rank 2: 1"),
)
def success(hits: Hits, *, k: int, rel: float | None = None) -> Floats:
    """Answers: is there a relevant doc among the first k at all?"""
    return np.where(hits.n_relevant(rel) == 0, math.nan, n_found(hits, k, rel) > 0)


@_measure(
    "Rprec",
    "R-precision",
    formula=r"|\{\text{relevant in top } R\}| / R",
    cite=_TREC_EVAL,
    aliases=("R-Precision", "RPrecision", "R_prec"),
    elsewhere={"trec_eval": "Rprec, Rprec_mult_{mult}", "ranx": "r-precision", "ir_measures": "Rprec"},
    example=MeasureExample([1, 0, 2], [1, 2, 0], 1 / 2, {}, "2 docs are relevant and 1 of them is in the first 2: 1/2"),
)
def r_precision(hits: Hits, *, mult: float = 1.0, rel: float | None = None) -> Floats:
    """Answers: when as many docs are shown as there are relevant ones, what share of them is relevant?

    `mult` looks at that many times the number of relevant docs (trec_eval's Rprec_mult).
    """
    cut = counts_at(mult, hits.n_relevant(rel), "up")
    return safe_divide(hits.per_query(hits.relevant(rel) & (hits.ranks <= cut[hits.segments])), cut)


def counts_at(share: float, n_relevant: Floats, rounding: str) -> Floats:
    """Turn a share of the relevant docs into a count, as trec_eval does."""
    if rounding == "up":
        return np.trunc(share * n_relevant + 0.9)
    return np.floor(share * n_relevant + 0.5)


@_measure(
    "SetP",
    "Precision of the whole list",
    formula=r"|\{\text{relevant retrieved}\}| / |\{\text{retrieved}\}|",
    undefined="nothing was retrieved",
    cite=_VAN_RIJSBERGEN,
    aliases=("set_P",),
    elsewhere={"trec_eval": "set_P", "ir_measures": "SetP"},
    example=MeasureExample([1, 0, 0, 2], [1, 2, 1, 0, 0], 1 / 2, {}, "2 of the 4 docs retrieved are relevant: 1/2"),
)
def set_precision(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: what share of everything retrieved is relevant, order aside?"""
    return safe_divide(n_found(hits, None, rel), hits.n_retrieved)


@_measure(
    "SetR",
    "Recall of the whole list",
    formula=r"|\{\text{relevant retrieved}\}| / |\{\text{relevant}\}|",
    cite=_VAN_RIJSBERGEN,
    aliases=("set_recall",),
    elsewhere={"trec_eval": "set_recall", "ir_measures": "SetR"},
    example=MeasureExample([1, 0, 0, 2], [1, 2, 1, 0, 0], 2 / 3, {}, "2 of the 3 relevant docs are retrieved: 2/3"),
)
def set_recall(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: what share of the relevant docs was retrieved anywhere in the list?"""
    return recall(hits, k=None, rel=rel)


@_measure(
    "SetRelP",
    "Capped recall of the whole list",
    formula=r"|\{\text{relevant retrieved}\}| / \min(|\{\text{retrieved}\}|, |\{\text{relevant}\}|)",
    cite=_TREC_EVAL,
    aliases=("set_relative_P",),
    elsewhere={"trec_eval": "set_relative_P"},
    example=MeasureExample([1, 0], [1, 2, 1, 0], 1 / 2, {}, "1 found of the 2 that fit into 2 ranks: 1/2"),
)
def set_relative_precision(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: of the relevant docs that a list of this length could hold, what share does it hold?"""
    return safe_divide(n_found(hits, None, rel), np.minimum(hits.n_relevant(rel), hits.n_retrieved))


@_measure(
    "SetF",
    "F-measure of the whole list",
    formula=r"(1+\beta^2) P R / (\beta^2 P + R)",
    cite=_VAN_RIJSBERGEN,
    aliases=("set_F",),
    elsewhere={"trec_eval": "set_F_{beta squared}", "ir_measures": "SetF(beta={beta squared})"},
    example=MeasureExample([1, 0], [1, 2, 0], 1 / 2, {}, "precision 1/2, recall 1/2: 1/2"),
)
def set_f(hits: Hits, *, beta: float = 1.0, rel: float | None = None) -> Floats:
    """Answers: how good are precision and recall of the whole list together?"""
    return harmonic(np.nan_to_num(set_precision(hits, rel=rel)), set_recall(hits, rel=rel), beta)


@_measure(
    "SetAP",
    "Precision times recall of the whole list",
    formula=r"P \cdot R",
    cite=_TREC_EVAL,
    aliases=("set_map",),
    elsewhere={"trec_eval": "set_map", "ir_measures": "SetAP"},
    example=MeasureExample([1, 0], [1, 2, 0], 1 / 4, {}, "precision 1/2 times recall 1/2: 1/4"),
)
def set_average_precision(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: what would average precision be if the order of the list were unknown?"""
    found, n_relevant = n_found(hits, None, rel), hits.n_relevant(rel)
    product = safe_divide(found * found, hits.n_retrieved * n_relevant)
    return np.where(n_relevant > 0, np.nan_to_num(product), math.nan)


@_measure(
    "Judged",
    "Judged share",
    formula=r"|\{\text{judged in top } k\}| / \min(k, \text{retrieved})",
    undefined="nothing was retrieved",
    cite="Lu, Moffat & Culpepper, Information Retrieval Journal, 2016",
    about_relevance=False,
    monotone=False,
    elsewhere={"ir_measures": "Judged@{k}"},
    example=MeasureExample([1, None, 0], [1, 0], 2 / 3, {"k": 3}, "2 of the first 3 docs were judged: 2/3"),
)
def judged(hits: Hits, *, k: int | None = None) -> Floats:
    """Answers: what share of the first k docs did anybody judge?

    Low values mean that the other measures see holes: an unjudged doc counts as non-relevant there.
    """
    return safe_divide(n_found(hits, k, _JUDGED), hits.n_shown(k))


@_measure(
    "Unjudged",
    "Unjudged share",
    formula=r"|\{\text{unjudged in top } k\}| / k",
    better="lower",
    undefined="never",
    cite=_TREC_EVAL,
    about_relevance=False,
    monotone=False,
    aliases=("unj",),
    elsewhere={"trec_eval": "unj_{k}", "BEIR": "hole@{k}"},
    example=MeasureExample([1, None, 0], [1, 0], 1 / 3, {"k": 3}, "1 of the first 3 docs was not judged: 1/3"),
)
def unjudged(hits: Hits, *, k: int) -> Floats:
    """Answers: how much of the first k ranks is taken by docs that nobody judged?"""
    return (hits.n_shown(k) - n_found(hits, k, _JUDGED)) / k


_count = partial(
    _measure,
    range=(0, math.inf),
    undefined="never",
    cite=_TREC_EVAL,
    aggregate="sum",
    about_relevance=False,
    monotone=False,
)


@_count(
    "NumRet",
    "Docs retrieved",
    formula=r"|\{\text{retrieved}\}|",
    aliases=("num_ret",),
    elsewhere={"trec_eval": "num_ret", "ir_measures": "NumRet"},
    example=MeasureExample([1, None, 0], [1, 0], 3, {}, "3 docs"),
)
def n_retrieved(hits: Hits) -> Floats:
    """Answers: how many docs were retrieved?"""
    return hits.n_retrieved.astype(np.float64)


@_count(
    "NumRel",
    "Relevant docs judged",
    formula=r"|\{\text{relevant}\}|",
    aliases=("num_rel",),
    elsewhere={"trec_eval": "num_rel", "ir_measures": "NumRel"},
    example=MeasureExample([1, None, 0], [1, 2, 0], 2, {}, "2 of the judged docs are relevant"),
)
def n_relevant(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: how many docs are relevant, found or not?"""
    return hits.n_relevant(rel)


@_count(
    "NumRelRet",
    "Relevant docs found",
    formula=r"|\{\text{relevant in top } k\}|",
    aliases=("num_rel_ret", "Hits"),
    elsewhere={"trec_eval": "num_rel_ret", "ranx": "hits@{k}", "ir_measures": "NumRelRet"},
    monotone=True,
    example=MeasureExample([1, None, 2], [1, 2, 1], 2, {}, "2 relevant docs are in the list"),
)
def n_relevant_retrieved(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: how many relevant docs are among the first k (without k: in the whole list)?"""
    return n_found(hits, k, rel)


@_count(
    "NumNonrelRet",
    "Judged non-relevant docs retrieved",
    formula=r"|\{\text{judged non-relevant in top } k\}|",
    better="lower",
    aliases=("num_nonrel_judged_ret",),
    elsewhere={"trec_eval": "num_nonrel_judged_ret"},
    example=MeasureExample([1, None, 0], [1, 0], 1, {}, "1 retrieved doc was judged and found non-relevant"),
)
def n_nonrelevant_retrieved(hits: Hits, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: how many of the retrieved docs are judged not relevant?"""
    return hits.per_query(hits.relevant(_JUDGED, k) & ~hits.relevant(rel))
