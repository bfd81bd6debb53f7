"""How many queries a difference needs, or which differences a number of queries can find."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankscope.errors import InputError, OptionError
from rankscope.evaluation import evaluate
from rankscope.measures.scores import Scores, position
from rankscope.records import Record, or_none, replace
from rankscope.stats.design import queries_for_range, queries_for_width
from rankscope.stats.interval import bca_interval
from rankscope.stats.multiple import residual_variance
from rankscope.stats.power import ALPHA, POWER, minimal_detectable_effect, queries_needed


class PairPlan(Record, kw_only=True):
    """What two systems that differ this unevenly from query to query need; None where it was not asked for."""

    a: str | None
    b: str | None
    sd: float
    """The standard deviation of the differences per query."""
    sd_low: float | None = None
    """With `sd_high`, its 95 % interval; None where the standard deviation was given."""
    sd_high: float | None = None
    mde: float | None = None
    """The smallest true difference that the queries find."""
    queries_needed: int | None = None
    queries_needed_low: int | None = None
    """With `queries_needed_high`, how many would be needed at either end of the interval of `sd`."""
    queries_needed_high: int | None = None


class IntervalPlan(Record):
    """How many queries make the interval of a difference as narrow as the difference wanted."""

    half_width: float
    level: float
    queries_needed: int


class AnovaPlan(Record):
    """How many queries tell by analysis of variance that the best and the worst system differ."""

    range: float
    residual_sd: float
    queries_needed: int


class QueryPlan(Record, kw_only=True):
    """How many queries are needed, or what can be found with those there are."""

    measure: str | None
    n_queries: int | None
    """The number of queries planned with."""
    n_queries_of_files: int | None
    n_left_out: int
    """Queries without a score of every system."""
    systems: int
    alpha: float
    alpha_per_comparison: float
    """Alpha of each comparison with the baseline, where several share it."""
    power: float
    detect: float | None
    """The smallest difference that matters."""
    pairs: tuple[PairPlan, ...]
    interval: IntervalPlan | None
    anova: AnovaPlan | None

    @property
    def decisive(self) -> PairPlan:
        """The pair that needs most queries."""
        return max(self.pairs, key=lambda pair: pair.sd)


class _Spreads(Record):
    """How unevenly systems differ from query to query, and where that is known from."""

    measure: str | None
    n_queries: int | None
    n_left_out: int
    pairs: tuple[PairPlan, ...]
    residual_sd: float
    """The standard deviation of what systems and queries leave unexplained."""
    n_systems: int


def plan(
    qrels: Any = None,
    runs: Any = None,
    measure: Any = None,
    *,
    scores: Scores | None = None,
    sd: float | None = None,
    detect: float | None = None,
    queries: int | None = None,
    systems: int | None = None,
    alpha: float = ALPHA,
    power: float = POWER,
    seed: int = 0,
    **options: Any,
) -> QueryPlan:
    """Plan how many queries a comparison needs.

    That depends on how unevenly two systems differ from query to query. The spread is taken from `sd`, `scores`, or
    from `qrels` and two or more `runs`, of which the first is the baseline.

    Parameters
    ----------
    qrels, runs
        Judgments and two or more runs, as `evaluate` takes them.
    measure
        The measure that is to decide; nDCG@10 unless given.
    scores
        Scores of two or more systems, instead of qrels and runs.
    sd
        The standard deviation of the differences per query, instead of data.
    detect
        The smallest difference that matters, in points of the measure.
    queries
        Plan with this many queries; by default those of the data.
    systems
        How many systems will be compared, the baseline included; alpha is shared by the comparisons with it.
    alpha, power
        The chance of a false alarm, and the chance to find a difference that is there.
    seed
        Seed of the interval of the standard deviation.
    **options
        Further options of `evaluate`.

    Returns
    -------
    QueryPlan
        For every pair the queries needed and the smallest difference found, with intervals.

    Raises
    ------
    OptionError
        Where there is nothing to plan, or nothing to plan with.
    InputError
        Where the data has no spread.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.plan(sd=0.15, detect=0.02).decisive.queries_needed
    444
    """
    spreads = _spreads_from(qrels, runs, measure, scores=scores, sd=sd, seed=seed, options=options)
    n_queries = queries or spreads.n_queries
    if detect is None and n_queries is None:
        raise OptionError("there is nothing to plan", hint="say --detect X, the smallest difference, or --queries N")
    n_systems = systems or spreads.n_systems
    alpha_each = alpha / (n_systems - 1)

    def needed(spread: float | None) -> int | None:
        if detect is None or not spread:
            return None
        return queries_needed(detect, spread, alpha=alpha_each, power=power).n_queries

    pairs = tuple(
        replace(
            pair,
            mde=minimal_detectable_effect(pair.sd, n_queries, alpha=alpha_each, power=power) if n_queries else None,
            queries_needed=needed(pair.sd),
            queries_needed_low=needed(pair.sd_low),
            queries_needed_high=needed(pair.sd_high),
        )
        for pair in spreads.pairs
    )
    interval = anova = None
    if detect:
        width = queries_for_width(detect, max(pair.sd for pair in pairs), level=1 - alpha)
        interval = IntervalPlan(detect, 1 - alpha, width.n_queries)
    if detect and n_systems > 2:
        among_all = queries_for_range(detect, spreads.residual_sd, n_systems, alpha=alpha, power=power)
        anova = AnovaPlan(abs(detect), spreads.residual_sd, among_all.n_queries)
    return QueryPlan(
        measure=spreads.measure,
        n_queries=n_queries,
        n_queries_of_files=spreads.n_queries,
        n_left_out=spreads.n_left_out,
        systems=n_systems,
        alpha=alpha,
        alpha_per_comparison=alpha_each,
        power=power,
        detect=detect,
        pairs=pairs,
        interval=interval,
        anova=anova,
    )


def _spreads_from(
    qrels: Any, runs: Any, measure: Any, *, scores: Scores | None, sd: float | None, seed: int, options: dict[str, Any]
) -> _Spreads:
    """Return the spread that was given, or that of every system's differences from the first."""
    if sd is not None and (qrels is not None or scores is not None):
        raise OptionError(
            "--sd and files are given", hint="the files have a spread of their own: leave one of them out"
        )
    if sd is not None:
        # two systems that leave s unexplained each differ with √2 s
        return _Spreads(measure, None, 0, (PairPlan(a=None, b=None, sd=sd),), sd / math.sqrt(2), 2)
    if scores is None and (qrels is None or runs is None):
        raise OptionError(
            "give the qrels and at least two runs, or a spread",
            hint="rankscope plan QRELS RUN RUN --detect 0.02, or rankscope plan --sd 0.15 --detect 0.02",
        )
    if scores is None:
        scores = evaluate(qrels, runs, measure or "nDCG@10", **options)
    if len(scores) < 2:
        raise InputError(f"only {next(iter(scores))!r} is given", hint="the spread is that of two or more systems")
    only = measure is None or len(scores.measures) == 1
    name = scores.measures[0 if only else position(scores.measures, str(measure), "measure")]

    by_system = [dict(zip(run.query_ids, run.column(name).tolist(), strict=True)) for run in scores.values()]
    query_ids = list(dict.fromkeys(query for found in by_system for query in found))
    matrix = np.array([[found.get(query, math.nan) for found in by_system] for query in query_ids])
    whole = ~np.isnan(matrix).any(axis=1)
    matrix, n_left_out = matrix[whole], int((~whole).sum())
    if len(matrix) < 2:
        raise InputError(f"there are {len(matrix)} queries for which every system has a score; a spread needs two")

    pairs = []
    first, *others = scores
    for i, other in enumerate(others, 1):
        differences = matrix[:, i] - matrix[:, 0]
        if np.ptp(differences) > 0:
            ends = bca_interval(differences, lambda rows: rows.std(axis=1, ddof=1), seed=seed)
            sd, low, high = float(differences.std(ddof=1)), or_none(ends.low), or_none(ends.high)
            pairs.append(PairPlan(a=first, b=other, sd=sd, sd_low=low, sd_high=high))
    if not pairs:
        raise InputError(
            f"{name} differs by the same amount on every query", hint="take systems that differ, or give --sd"
        )
    return _Spreads(name, len(matrix), n_left_out, tuple(pairs), math.sqrt(residual_variance(matrix)), len(scores))
