"""Robustness across queries: what the mean hides, in numbers for one run over all its queries.

Each function takes one score per query, higher being better, and gives one number.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rankscope.arrays import Floats
from rankscope.checks import check_at_least, check_options
from rankscope.errors import InputError, OptionError
from rankscope.measures.scores import Scores, summarise
from rankscope.records import StoredRecord, or_none
from rankscope.typing import MeasureLike

ABSTENTION_RATES = tuple(i / 10 for i in range(10))
"""The shares of queries that are dropped, one after another: 0, 10 %, …, 90 %."""


class Robustness(StoredRecord):
    """How evenly a run serves its queries."""

    n_queries: int
    mean: float
    zero_share: float
    """The share of queries that score 0, such as those that find nothing within the cut-off."""
    worst_decile: float
    """The mean over the worst tenth of the queries, at least one of them."""
    nauc: float | None = None
    """How well the confidence tells which queries go wrong: 0 not at all, 1 perfectly; None if none is given, or
    if all queries score the same."""
    urisk: float | None = None
    """The mean gain over the baseline, losses counting more; None if no baseline is given."""
    georisk: float | None = None
    """Effectiveness and risk in one number; None if no baseline is given."""


def robustness(
    scores: Scores, measure: MeasureLike, *, baseline: str | None = None, alpha: float = 1.0
) -> dict[str, Robustness]:
    """Return how evenly each run serves its queries by one measure, and how much it risks against a baseline run.

    Parameters
    ----------
    scores
        What `evaluate` returned.
    measure
        One of the measures of the scores.
    baseline
        The name of the run that the others are held against.
    alpha
        How much more a loss against the baseline counts than a gain.

    Returns
    -------
    dict of str to Robustness
        By the name of the run.

    Raises
    ------
    UnknownNameError
        The scores have no such measure, or no such run.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> runs = {"old": {"q1": ["a"], "q2": ["b"]}, "new": {"q1": ["a"], "q2": ["x", "b"]}}
    >>> found = rs.robustness(rs.evaluate(qrels, runs, rs.RR), rs.RR, baseline="old")["new"]
    >>> found.mean, found.worst_decile, found.urisk
    (0.75, 0.5, -0.5)

    """
    given = {"scores": scores, "baseline": baseline, "alpha": alpha}
    check_options(robustness.__annotations__, given)
    check_at_least(0, alpha=alpha)
    reference = None if baseline is None else scores[baseline].column(measure)
    return {
        name: robustness_of(run.column(measure), baseline=None if name == baseline else reference, alpha=alpha)
        for name, run in scores.items()
    }


def robustness_of(
    scores: ArrayLike, *, baseline: ArrayLike | None = None, confidence: ArrayLike | None = None, alpha: float = 1.0
) -> Robustness:
    """Return all that can be said of a run's robustness from its scores, one per query.

    `baseline` has the scores of another system on the same queries, `confidence` how sure the system was of each, and
    `alpha` says how much more a loss against the baseline counts than a gain.
    """
    checked = check_scores(scores)
    return Robustness(
        n_queries=len(checked),
        mean=summarise(checked, "mean"),
        zero_share=float(np.mean(checked == 0)),
        worst_decile=summarise(checked, "worst"),
        nauc=None if confidence is None else or_none(nauc(checked, confidence)),
        urisk=None if baseline is None else urisk(checked, baseline, alpha=alpha),
        georisk=None if baseline is None else georisk(checked, baseline, alpha=alpha),
    )


def check_scores(scores: ArrayLike, *, n_queries: int | None = None, what: str = "scores") -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise InputError(
            f"the {what} have the shape {values.shape}", hint="give one number per query, for at least one"
        )
    if n_queries not in (None, len(values)):
        raise InputError(
            f"there are {n_queries} scores, but {len(values)} {what}", hint="give both for the same queries"
        )
    if np.isnan(values).any():
        raise InputError(
            f"{int(np.isnan(values).sum())} of {len(values)} {what} are undefined",
            hint="leave those queries out, or count them as 0",
        )
    return values


def confidence_of(scores: ArrayLike, *, by: str = "max") -> float:
    """Return how sure a system seems of one query, from the scores it gave the docs it retrieved.

    `max` is the top score, `gap` the difference between the first and the second, `std` the standard deviation: the
    three that MTEB has as max, diff1 and std. A query for which nothing was retrieved is the least confident of all.
    """
    if by not in ("max", "gap", "std"):
        raise OptionError(f"by = {by!r} is not one of max, gap, std")
    best_first = np.sort(np.asarray(scores, dtype=np.float64))[::-1]
    if not len(best_first):
        return -math.inf
    if by == "gap":
        return float(best_first[0] - best_first[1]) if len(best_first) > 1 else 0.0
    return float(best_first[0] if by == "max" else np.std(best_first))


def abstention_curve(scores: Floats, confidence: Floats) -> Floats:
    """Return the mean score that is left when ever more queries are dropped, the least confident first."""
    by_confidence = scores[np.argsort(confidence, kind="stable")]
    dropped = [min(round(rate * len(scores)), len(scores) - 1) for rate in ABSTENTION_RATES]
    return np.array([by_confidence[n:].mean() for n in dropped])


def nauc(scores: ArrayLike, confidence: ArrayLike) -> float:
    """Return the normalised area under the abstention curve: does confidence tell which queries go well?

    The curve is the mean score over the queries that remain when the least confident 0, 10, …, 90 % of them are
    dropped (their number rounded to the nearest, half to even; one query always remains), its area taken by trapezoids.
    It is scaled so that 0 is the flat curve of a confidence that knows nothing and 1 that of an oracle that drops the
    lowest scores first; below 0, the system is most confident where it is wrong. NaN where the oracle gains nothing:
    all scores equal, or a single query. Gisserot-Boukhlef, Faysse, Malherbe, Hudelot & Colombo, Towards Trustworthy
    Reranking: A Simple yet Effective Abstention Mechanism, TMLR 2024, as MTEB computes it.
    """
    values = check_scores(scores)
    curve = abstention_curve(values, check_scores(confidence, n_queries=len(values), what="confidences"))
    if values.min() == values.max():
        return math.nan
    oracle = abstention_curve(values, values)
    gains = (one - oracle[0] for one in (curve, oracle))
    gained, possible = (float(np.sum(np.diff(ABSTENTION_RATES) * (y[1:] + y[:-1]) / 2)) for y in gains)
    return gained / possible


def weigh_losses(differences: Floats, alpha: float) -> Floats:
    if not alpha >= 0:
        raise OptionError(f"alpha = {alpha!r}: it says how much more a loss counts, so it is 0 or above")
    return np.where(differences < 0, (1 + alpha) * differences, differences)


def urisk(scores: ArrayLike, baseline: ArrayLike, *, alpha: float = 1.0) -> float:
    """Return the mean gain over a baseline, a loss on a query counting 1 + alpha times.

    Below 0, the system does more harm than good. Wang, Bennett & Collins-Thompson, Robust Ranking Models via
    Risk-Sensitive Optimization, SIGIR 2012; named URisk by Dinçer, Macdonald & Ounis, SIGIR 2014.
    """
    values = check_scores(scores)
    against = check_scores(baseline, n_queries=len(values), what="baseline scores")
    return summarise(weigh_losses(values - against, alpha), "mean")


def zrisk(scores: ArrayLike, baselines: ArrayLike, *, alpha: float = 1.0) -> float:
    """Return how far a system's scores lie above what is usual for each query, a shortfall counting 1 + alpha times.

    Usual is what a table of systems by queries gives from its margins alone, as in a chi-squared test: the system's sum
    times the query's, over the sum of all. Each difference is divided by the root of what is usual; queries on which
    every system scores 0 add nothing. `baselines` is one system's scores, or several, one row each. Dinçer, Macdonald &
    Ounis, Risk-Sensitive Evaluation and Learning to Rank using Multiple Baselines, SIGIR 2016.
    """
    values = check_scores(scores)
    others = [check_scores(row, n_queries=len(values), what="baseline scores") for row in np.atleast_2d(baselines)]
    table = np.vstack([values, *others])
    if (table < 0).any():
        raise InputError("a score is below 0", hint="ZRisk and GeoRisk are defined for scores from 0 up")
    total = table.sum()
    usual = values.sum() * table.sum(axis=0) / total if total else np.zeros(len(values))
    z = np.divide(values - usual, np.sqrt(usual), out=np.zeros(len(values)), where=usual > 0)
    return float(np.sum(weigh_losses(z, alpha)))


def georisk(scores: ArrayLike, baselines: ArrayLike, *, alpha: float = 1.0) -> float:
    """Return effectiveness and risk in one number: the geometric mean of the mean score and of the normal Φ(ZRisk / n).

    n is the number of queries. Of two systems with the same mean, the one that falls below its baselines less often and less
    deeply has the higher GeoRisk. Dinçer, Macdonald & Ounis, Risk-Sensitive Evaluation and Learning to Rank using Multiple
    Baselines, SIGIR 2016.
    """
    values = check_scores(scores)
    z = zrisk(values, baselines, alpha=alpha) / len(values)
    safety = (1 + math.erf(z / math.sqrt(2))) / 2  # Φ(z)
    return math.sqrt(summarise(values, "mean") * safety)
