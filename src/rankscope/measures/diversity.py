"""Diversity by subtopic: how well a ranking serves the several things that a query may mean.

All of them are sums over docs and the subtopics that the docs are relevant to; the cascade measures (Clarke et al.
2011) weigh each by its rank, and by how often the subtopic has been served further up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from rankscope.align.hits import Hits, level_of
from rankscope.arrays import Floats, Ints, in_order_sum, log2, safe_divide
from rankscope.data.subtopics import Coverage, subtopics_of
from rankscope.errors import MeasureError
from rankscope.io.rows import QrelsRows
from rankscope.measures.extras import Extras, Need, example_extras
from rankscope.measures.spec import MeasureExample, MeasureFamily, measure

_CLARKE_2008 = (
    "Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher & MacKinnon, Novelty and Diversity in "
    "Information Retrieval Evaluation, SIGIR 2008"
)
_CLARKE_2011 = (
    "Clarke, Craswell, Soboroff & Ashkan, A Comparative Analysis of Cascade Measures for Novelty "
    "and Diversity, WSDM 2011"
)
_CHAPELLE = "Chapelle, Metzler, Zhang & Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009"
_AGRAWAL = "Agrawal, Gollapudi, Halverson & Ieong, Diversifying Search Results, WSDM 2009"

_TO_IDEAL = (0, math.e / (math.e - 1))
"""The ideal is greedy: a ranking can beat it, but by no more than this (Nemhauser, Wolsey & Fisher 1978)."""
_measure = partial(measure, family=MeasureFamily.DIVERSITY, needs=[Need.SUBTOPICS])

Weigh = Callable[[Ints], Floats]
"""How much each rank counts."""

_ROWS = QrelsRows(query=["example"] * 5, doc=list("abcdd"), subtopic=["1", "1", "2", "1", "2"], grade=np.ones(5))
_DATA = example_extras(_ROWS, "abc")
"""Of docs that add the same, the greedy ideal takes the last by id: d, c, b, a."""


def _example(score: float, params: dict[str, object], working: str) -> MeasureExample:
    docs = "a and b are about subtopic 1, c about 2, and d, which is not retrieved, about both"
    return MeasureExample([1, 1, 1], [1, 1, 1, 1], score, params, f"{docs}; {working}", _DATA)


def _spellings(name: str) -> tuple[str, ...]:
    """Return the ways in which people write alpha in front of a name."""
    greek = (f"\N{GREEK SMALL LETTER ALPHA}{joint}{name}" for joint in ("-", "_", ""))
    return (f"alpha-{name}", f"alpha{name}", *greek)


def covered(extras: Extras, k: int | None, rel: float | None) -> Coverage:
    """Return what the first k docs of each query cover."""
    return subtopics_of(extras.qrels, rel=level_of(rel)).coverage(extras.top.query_ids, extras.top.cut(k))


def cascade(coverage: Coverage, weigh: Weigh, alpha: float) -> Floats:
    """Sum the weights of the ranks, each lessened by 1 - alpha for every earlier doc on the same subtopic."""
    return coverage.per_query(np.power(1.0 - alpha, coverage.seen) * weigh(coverage.ranks))


def share_of_ideal(extras: Extras, weigh: Weigh, *, k: int | None, alpha: float, rel: float | None) -> Floats:
    """Return the cascade of each query as a share of that of its ideal ranking."""
    ideal = subtopics_of(extras.qrels, rel=level_of(rel)).ideal(extras.top.query_ids, alpha=alpha, k=k)
    return safe_divide(cascade(covered(extras, k, rel), weigh, alpha), cascade(ideal, weigh, alpha))


def conceivable(k: int, weigh: Weigh, alpha: float) -> float:
    """Return what a subtopic is worth to a ranking of k docs that are all relevant to it."""
    return in_order_sum(np.power(1.0 - alpha, np.arange(k)) * weigh(np.arange(1, k + 1)))


def log_discounts(ranks: Ints) -> Floats:
    return 1 / log2(ranks + 1)


def reciprocals(ranks: Ints) -> Floats:
    return 1 / ranks


def patience(beta: float) -> Weigh:
    """Return how likely a reader who goes on with chance beta comes to each rank."""
    if beta >= 1:
        raise MeasureError(f"NRBP: beta = {beta!r} is not valid; it is a chance, from 0 up and below 1")
    return lambda ranks: np.asarray(np.power(float(beta), ranks - 1.0))


@_measure(
    "alpha_DCG",
    "Discounted cumulative gain by subtopic",
    formula=r"\sum_{r \le k} \frac{1}{\log_2(r + 1)} \sum_{t} [\text{relevant to } t] (1 - \alpha)^{\text{seen}_t}",
    range=(0, math.inf),
    cite=_CLARKE_2008,
    aliases=_spellings("DCG"),
    elsewhere={"ndeval": "alpha-DCG@{k} (scale='best')", "ir_measures": "alpha_DCG@{k} (scale='best')"},
    example=_example(1 + 0.5 / math.log2(3) + 1 / 2, {"k": 3}, "1/log2(2) + ½/log2(3) + 1/log2(4)"),
)
def alpha_dcg(
    _hits: Hits, extras: Extras, *, k: int, alpha: float = 0.5, scale: str = "none", rel: float | None = None
) -> Floats:
    """Answers: what are the first k docs worth to readers who want different things, repetition counting less?

    A doc is worth 1 for every subtopic that it is relevant to, times 1 - alpha for every doc further up that served the
    same subtopic; alpha=0 does not mind repetition. `scale='best'` divides by what k docs about everything would be
    worth.
    """
    found = covered(extras, k, rel)
    sums = cascade(found, log_discounts, alpha)
    if scale == "best":
        return safe_divide(sums, found.n_subtopics) / conceivable(k, log_discounts, alpha)
    return np.where(found.n_subtopics == 0, math.nan, sums)


@_measure(
    "alpha_nDCG",
    "Normalised discounted cumulative gain by subtopic",
    formula=r"\alpha\text{-DCG}_k / \text{greedy ideal } \alpha\text{-DCG}_k",
    range=_TO_IDEAL,
    cite=_CLARKE_2008,
    aliases=_spellings("nDCG"),
    elsewhere={"ndeval": "alpha-nDCG@{k}", "ir_measures": "alpha_nDCG@{k}"},
    example=_example(
        (1 + 0.5 / math.log2(3) + 1 / 2) / (2 + 0.5 / math.log2(3) + 0.5 / 2),
        {"k": 3},
        "1 + ½/log2(3) + 1/2, over the ideal ranking d, c, b: 2 + ½/log2(3) + ½/2",
    ),
)
def alpha_ndcg(
    _hits: Hits, extras: Extras, *, k: int | None = None, alpha: float = 0.5, rel: float | None = None
) -> Floats:
    """Answers: how close does the ranking come to one that serves every meaning of the query early, without repetition?

    The ideal ranking is made from all judged docs, greedily: at each rank the doc that adds most, of equal ones the
    last by id. A ranking can be better than the greedy one, so that scores slightly above 1 are possible, though rare.
    """
    return share_of_ideal(extras, log_discounts, k=k, alpha=alpha, rel=rel)


@_measure(
    "ERR_IA",
    "Intent-aware expected reciprocal rank",
    formula=(
        r"\frac{1}{S} \sum_{r \le k} \frac{1}{r} \sum_{t} [\text{relevant to } t] (1 - "
        r"\alpha)^{\text{seen}_t} / \sum_{r \le k} \frac{(1 - \alpha)^{r - 1}}{r}"
    ),
    cite=f"{_CHAPELLE}; {_CLARKE_2011}",
    aliases=("ERR-IA", "ERRIA"),
    elsewhere={"ndeval": "ERR-IA@{k}", "ir_measures": "ERR_IA@{k}"},
    example=_example(
        (1 + 0.5 / 2 + 1 / 3) / 2 / (1 + 0.5 / 2 + 0.25 / 3), {"k": 3}, "½·(1 + ½/2 + 1/3), over 1 + ½/2 + ¼/3"
    ),
)
def err_ia(
    _hits: Hits, extras: Extras, *, k: int, alpha: float = 0.5, scale: str = "best", rel: float | None = None
) -> Floats:
    """Answers: how early are readers satisfied, each of whom wants another subtopic and stops at a good doc?

    A reader stops at a relevant doc with chance alpha. The score is divided by what a ranking would have whose every
    doc is relevant to every subtopic, whether or not there are such docs, as TREC reports it; `scale='none'` leaves it
    as the expected reciprocal rank itself, averaged over the subtopics.
    """
    found = covered(extras, k, rel)
    mean = safe_divide(cascade(found, reciprocals, alpha), found.n_subtopics)
    return mean / conceivable(k, reciprocals, alpha) if scale == "best" else alpha * mean


@_measure(
    "nERR_IA",
    "Normalised intent-aware expected reciprocal rank",
    formula=r"\text{ERR-IA}_k / \text{greedy ideal ERR-IA}_k",
    range=_TO_IDEAL,
    cite=_CLARKE_2011,
    aliases=("nERR-IA", "nERRIA"),
    elsewhere={"ndeval": "nERR-IA@{k}", "ir_measures": "nERR_IA@{k}"},
    example=_example(
        (1 + 0.5 / 2 + 1 / 3) / (2 + 0.5 / 2 + 0.5 / 3),
        {"k": 3},
        "1 + ½/2 + 1/3, over the ideal ranking d, c, b: 2 + ½/2 + ½/3",
    ),
)
def normalised_err_ia(
    _hits: Hits, extras: Extras, *, k: int | None = None, alpha: float = 0.5, rel: float | None = None
) -> Floats:
    """Answers: how close does the ranking come to the best ERR_IA that the judged docs allow?"""
    return share_of_ideal(extras, reciprocals, k=k, alpha=alpha, rel=rel)


@_measure(
    "NRBP",
    "Novelty- and rank-biased precision",
    formula=(
        r"\frac{1 - (1 - \alpha) \beta}{S} \sum_{r \le k} \beta^{r - 1} \sum_{t} [\text{relevant to } t] "
        r"(1 - \alpha)^{\text{seen}_t}"
    ),
    cite="Clarke, Kolla & Vechtomova, An Effectiveness Measure for Ambiguous and Underspecified Queries, ICTIR 2009",
    elsewhere={"ndeval": "NRBP", "ir_measures": "NRBP"},
    example=_example(0.75 / 2 * (1 + 0.5 * 0.5 + 0.25), {}, "(1 - ½·½)/2 · (1 + ½·½ + ¼·1)"),
)
def nrbp(
    _hits: Hits,
    extras: Extras,
    *,
    k: int | None = None,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: float | None = None,
) -> Floats:
    """Answers: how much do readers gain who want different things and go on to the next rank with chance beta?

    The factor in front makes it 1 for an endless ranking whose every doc is relevant to every subtopic.
    """
    found = covered(extras, k, rel)
    return (1 - (1 - alpha) * beta) * safe_divide(cascade(found, patience(beta), alpha), found.n_subtopics)


@_measure(
    "nNRBP",
    "Normalised novelty- and rank-biased precision",
    formula=r"\mathrm{NRBP}_k / \text{greedy ideal } \mathrm{NRBP}_k",
    range=_TO_IDEAL,
    cite=_CLARKE_2011,
    elsewhere={"ndeval": "nNRBP", "ir_measures": "nNRBP"},
    example=_example(
        (1 + 0.5 * 0.5 + 0.25) / (2 + 0.5 * 0.5 + 0.25 * 0.5),
        {"k": 3},
        "1 + ½·½ + ¼, over the ideal ranking d, c, b: 2 + ½·½ + ¼·½",
    ),
)
def normalised_nrbp(
    _hits: Hits,
    extras: Extras,
    *,
    k: int | None = None,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: float | None = None,
) -> Floats:
    """Answers: how close does the ranking come to the best NRBP that the judged docs allow?"""
    return share_of_ideal(extras, patience(beta), k=k, alpha=alpha, rel=rel)


@_measure(
    "StRecall",
    "Subtopic recall",
    formula=r"|\{\text{subtopics with a relevant doc in top } k\}| / S",
    cite="Zhai, Cohen & Lafferty, Beyond Independent Relevance, SIGIR 2003",
    aliases=("SRecall", "S-Recall", "S_Recall", "strec", "subtopic_recall", "subtopic-recall"),
    elsewhere={"ndeval": "strec@{k}", "ir_measures": "StRecall@{k}"},
    example=_example(1 / 2, {"k": 2}, "the first two docs cover 1 of 2 subtopics"),
)
def subtopic_recall(_hits: Hits, extras: Extras, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: what share of the query's subtopics do the first k docs cover?"""
    found = covered(extras, k, rel)
    return safe_divide(found.per_query(found.seen == 0), found.n_subtopics)


@_measure(
    "P_IA",
    "Intent-aware precision",
    formula=r"\frac{1}{S} \sum_{t} P_t@k",
    cite=_AGRAWAL,
    aliases=("P-IA", "Precision-IA", "Precision_IA"),
    elsewhere={"ndeval": "P-IA@{k}", "ir_measures": "P_IA@{k}"},
    example=_example((2 / 3 + 1 / 3) / 2, {"k": 3}, "precision is 2/3 for subtopic 1 and 1/3 for 2, ½ on average"),
)
def precision_ia(_hits: Hits, extras: Extras, *, k: int, rel: float | None = None) -> Floats:
    """Answers: what share of the first k docs is relevant to a subtopic, on average over the subtopics?"""
    found = covered(extras, k, rel)
    return safe_divide(found.per_query(np.ones(len(found.ranks))), found.n_subtopics) / k


@_measure(
    "AP_IA",
    "Intent-aware average precision",
    formula=r"\frac{1}{S} \sum_{t} \mathrm{AP}_t",
    cite=_AGRAWAL,
    aliases=("AP-IA", "MAP-IA", "MAP_IA"),
    elsewhere={"ndeval": "MAP-IA", "ir_measures": "AP_IA"},
    example=_example(
        ((1 + 2 / 2) / 3 + (1 / 3) / 2) / 2,
        {},
        "(1/1 + 2/2) over 3 docs for subtopic 1, (1/3) over 2 docs for 2, ½ of their sum",
    ),
)
def average_precision_ia(_hits: Hits, extras: Extras, *, k: int | None = None, rel: float | None = None) -> Floats:
    """Answers: what is average precision for a single subtopic, on average over the subtopics?"""
    found = covered(extras, k, rel)
    return safe_divide(found.per_query((found.seen + 1) / found.ranks / found.n_relevant), found.n_subtopics)
