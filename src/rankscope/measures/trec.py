"""Measures that only trec_eval has, kept so that all of its output can be reproduced."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Floats, Ints, log2, safe_divide
from rankscope.measures.gain import dcg, dcg_workings, gains_of, ideal_gains, ideal_terms, ndcg
from rankscope.measures.sets import n_found
from rankscope.measures.spec import MeasureExample, MeasureFamily, measure

_CITE = "Buckley, trec_eval 9 (measure documentation), 2008"
_measure = partial(measure, family=MeasureFamily.TREC)


@_measure(
    "Utility",
    "Linear utility",
    formula=r"a \cdot \text{relevant found} + b \cdot \text{others found} + c \cdot \text{relevant missed}",
    range=(-math.inf, math.inf),
    undefined="never",
    cite="Hull, The TREC-7 Filtering Track, 1998",
    aliases=("utility",),
    elsewhere={"trec_eval": "utility"},
    about_relevance=False,
    example=MeasureExample([1, 0, None], [1, 1, 0], -1, {}, "1 relevant minus 2 others"),
)
def utility(
    hits: Hits, *, found: float = 1.0, wrong: float = -1.0, missed: float = 0.0, rel: float | None = None
) -> Floats:
    """Answers: what is the list worth if every relevant doc earns a point and every other costs one?"""
    n = n_found(hits, None, rel)
    return found * n + wrong * (hits.n_retrieved - n) + missed * (hits.n_relevant(rel) - n)


@_measure(
    "BinG",
    "Binary G",
    formula=r"\frac{1}{R} \sum_r 1 / \log_2(2 + \text{non-relevant above } r)",
    cite=_CITE,
    aliases=("binG",),
    elsewhere={"trec_eval": "binG"},
    example=MeasureExample([0, 1], [1, 0], 1 / math.log2(3), {}, "one non-relevant doc above: 1/log2(3)"),
)
def binary_g(hits: Hits, *, rel: float | None = None) -> Floats:
    """Answers: how many non-relevant docs does a reader pass before each relevant one, discounted?"""
    relevant = hits.relevant(rel)
    passed = (hits.ranks - hits.so_far(relevant)).astype(np.int64)
    terms = np.where(relevant, 1 / log2(np.maximum(passed, 0) + 2), 0.0)
    return safe_divide(hits.per_query(terms), hits.n_relevant(rel))


@_measure(
    "G",
    "Normalised gain G",
    graded=True,
    formula=r"\sum_r g_r / \log_2(2 + cost_r - gained_r) \; / \; \sum g^*",
    undefined="no judged doc of the query has a gain above 0",
    cite=_CITE,
    elsewhere={"trec_eval": "G"},
    whole_grades=True,
    example=MeasureExample([0, 1], [1, 0], 1 / math.log2(3), {}, "at rank 2 the cost is 2 and 1 is gained: 1/log2(3)"),
)
def normalised_gain(hits: Hits, *, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: how much is gained, each doc judged by how much better the docs before it could have been?"""
    gains, ideal = gains_of(hits.grades, gain, rel), ideal_gains(hits, gain, rel)
    extra = np.concatenate(([0.0], np.cumsum(np.maximum(ideal, 1.0) - 1)))  # every rank costs 1, good ideal docs more
    starts = hits.ideal_offsets[:-1][hits.segments]
    ends = np.minimum(starts + hits.ranks, hits.ideal_offsets[1:][hits.segments])
    cost = hits.ranks + extra[ends] - extra[starts]
    depth = 2 + cost - hits.so_far(gains)
    discount = np.fromiter(map(math.log2, depth.tolist()), dtype=np.float64, count=len(depth))
    return safe_divide(hits.per_query(gains / discount), hits.per_ideal(ideal))


def ideal_dcg_at(hits: Hits, ranks: Ints, queries: Ints, gain: Any, rel: float | None) -> Floats:
    """Return the ideal DCG of some queries down to some ranks."""
    terms = ideal_terms(hits, None, gain, rel)
    starts, ends = hits.ideal_offsets[queries].tolist(), hits.ideal_offsets[queries + 1].tolist()
    bounds = zip(ranks.tolist(), starts, ends, strict=True)
    return np.array([math.fsum(terms[start : min(start + rank, end)]) for rank, start, end in bounds])


@_measure(
    "nDCG_rel",
    "nDCG averaged over relevant docs",
    graded=True,
    formula=r"\frac{1}{R} \sum_{\text{relevant } r} \mathrm{nDCG}@r",
    undefined="no judged doc of the query has a gain above 0",
    cite=_CITE,
    aliases=("ndcg_rel",),
    elsewhere={"trec_eval": "ndcg_rel"},
    monotone=False,
    whole_grades=True,
    example=MeasureExample(
        [0, 1], [1, 0], 1 / math.log2(3), {}, "nDCG at rank 2, where the only relevant doc is: 1/log2(3)"
    ),
)
def ndcg_at_relevant(hits: Hits, *, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: how close is the ranking to the best one at each relevant doc, on average?

    A relevant doc that was not found counts with the nDCG of the whole list.
    """
    gains, ideal = gains_of(hits.grades, gain, rel), ideal_gains(hits, gain, rel)
    reached = hits.so_far(dcg_workings(hits, k=None, gain=gain, rel=rel).terms)
    best = ideal_dcg_at(hits, hits.ranks, hits.segments, gain, rel)
    at_found = np.divide(reached, best, out=np.zeros_like(reached), where=(gains > 0) & (best > 0))
    n_gainful = hits.per_ideal(ideal > 0)
    missed = n_gainful - hits.per_query(gains > 0)
    whole = np.nan_to_num(ndcg(hits, gain=gain, rel=rel))
    return safe_divide(hits.per_query(at_found) + missed * whole, n_gainful)


@_measure(
    "Rndcg",
    "nDCG averaged over grade levels",
    formula=r"\text{mean of } \mathrm{nDCG}@R_g \text{ where } R_g \text{ docs have at least grade } g",
    cite=_CITE,
    elsewhere={"trec_eval": "Rndcg"},
    whole_grades=True,
    monotone=False,
    example=MeasureExample([0, 1], [1, 0], 0, {}, "one relevant doc, so nDCG@1 alone: 0"),
)
def ndcg_at_levels(hits: Hits, *, gain: Any = "linear", rel: float | None = None) -> Floats:
    """Answers: how close is the ranking to the best one where each grade's docs would end, on average?

    Where the list goes on for more than one rank beyond that, its end counts as a further point.
    """
    ideal = ideal_gains(hits, gain, None)
    last = np.append((ideal[1:] != ideal[:-1]) | (hits.ideal_segments[1:] != hits.ideal_segments[:-1]), True)
    boundary = np.flatnonzero(last[: len(ideal)] & (ideal > 0))
    queries, cuts = hits.ideal_segments[boundary], hits.ideal_ranks[boundary]
    best = ideal_dcg_at(hits, cuts, queries, gain, None)
    total, points = np.zeros(len(hits)), np.zeros(len(hits))
    for cut in np.unique(cuts).tolist():
        at_cut = cuts == cut
        np.add.at(total, queries[at_cut], dcg(hits, k=cut, gain=gain)[queries[at_cut]] / best[at_cut])
    np.add.at(points, queries, 1)
    goes_on = hits.n_retrieved > hits.per_ideal(ideal > 0) + 1
    total += np.where(goes_on, np.nan_to_num(ndcg(hits, gain=gain)), 0.0)
    scores = safe_divide(total, np.where(points > 0, points + goes_on, 0))
    return np.where(hits.n_relevant(rel) == 0, math.nan, scores)
