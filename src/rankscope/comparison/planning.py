"""How many queries a difference needs, or which differences a number of queries can find."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankscope.arrays import Floats
from rankscope.checks import check_at_least, check_between, check_keywords, check_options
from rankscope.comparison.known_measures import range_of, refuse_lacking
from rankscope.errors import InputError, OptionError
from rankscope.evaluation import REQUEST_KEYS, EvaluateRequest, evaluate
from rankscope.measures.scores import Scores, position
from rankscope.records import Record, StoredRecord, or_none, replace
from rankscope.stats.design import queries_for_range, queries_for_width
from rankscope.stats.interval import bca_interval
from rankscope.stats.multiple import residual_variance
from rankscope.stats.power import ALPHA, POWER, minimal_detectable_effect, queries_needed
from rankscope.stats.units import NO_SPREAD, paired_differences
from rankscope.typing import MeasureLike, QrelsLike, RunsLike


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
    """The smallest true difference that the queries find; None where they find none, or none the measure can have."""
    queries_needed: int | None = None
    queries_needed_low: int | None = None
    """With `queries_needed_high`, how many would be needed at either end of the interval of `sd`."""
    queries_needed_high: int | None = None


class LeftOutSystem(Record):
    """A system that says nothing of the spread: its differences from the first one do not vary."""

    name: str
    difference: float
    """From the first system, on every query."""

    def how(self, measure: str, baseline: str) -> str:
        if self.difference == 0:
            return f"has the same {measure} as {baseline} on every query"
        return f"differs from {baseline} by the same {measure} on every query ({self.difference:+.4g})"


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


class QueryPlan(StoredRecord, kw_only=True):
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
    left_out_systems: tuple[LeftOutSystem, ...] = ()
    interval: IntervalPlan | None
    anova: AnovaPlan | None

    @property
    def decisive(self) -> PairPlan:
        """The pair that needs most queries."""
        return max(self.pairs, key=lambda pair: pair.sd)


def _check_sources(
    *, sd: float | None, scores: Scores | None, has_qrels: bool, has_runs: bool, options: Mapping[str, Any]
) -> None:
    """Refuse a plan that rests on nothing, on two things, or is given options about what it does not rest on."""
    if sd is not None and (has_qrels or scores is not None):
        raise OptionError(
            "--sd and files are given", hint="the files have a spread of their own: leave one of them out"
        )
    if sd is None and scores is None and not (has_qrels and has_runs):
        raise OptionError(
            "give the qrels and at least two runs, or a spread",
            hint="rankscope plan QRELS RUN RUN --detect 0.02, or rankscope plan --sd 0.15 --detect 0.02",
        )
    if options and (sd is not None or scores is not None):
        source = "sd" if sd is not None else "scores"
        raise OptionError(f"{next(iter(options))} is about runs, which {source} does not know", hint="leave it out")


def plan(
    qrels: QrelsLike | None = None,
    runs: RunsLike | None = None,
    measure: MeasureLike | None = None,
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
    given = {"scores": scores, "sd": sd, "detect": detect, "queries": queries, "systems": systems, "alpha": alpha}
    check_keywords("plan", options, [*plan.__annotations__, *REQUEST_KEYS])
    EvaluateRequest.decide(caller="plan", **options)  # checked, whether or not anything is evaluated
    check_options(plan.__annotations__, {**given, "power": power, "seed": seed})
    check_between(0, math.inf, sd=sd, detect=detect)
    check_between(0, 1, alpha=alpha, power=power)
    check_at_least(2, queries=queries, systems=systems)
    check_at_least(0, seed=seed)
    _check_sources(sd=sd, scores=scores, has_qrels=qrels is not None, has_runs=runs is not None, options=options)
    name, n_known, n_left_out = None if measure is None else str(measure), None, 0
    left_out: list[LeftOutSystem] = []
    matrix = None
    if sd is not None:
        # two systems that leave s unexplained each differ with √2 s
        spreads, residual_sd, n_systems = [PairPlan(a=None, b=None, sd=sd)], sd / math.sqrt(2), systems or 2
    else:
        if scores is None:
            decides = "nDCG@10" if measure is None else measure
            scores = evaluate(qrels, runs, decides, **options)  # type: ignore[arg-type]  # both are given
        name, matrix, n_left_out = _matrix_of(scores, measure)
        spreads, left_out = _spreads_of(list(scores), matrix, name, seed=seed)
        n_known, residual_sd, n_systems = len(matrix), math.sqrt(residual_variance(matrix)), systems or len(scores)
    n_queries = queries or n_known
    if detect is None and n_queries is None:
        raise OptionError("there is nothing to plan", hint="say --detect X, the smallest difference, or --queries N")
    alpha_each = alpha / (n_systems - 1)
    low, high = (-math.inf, math.inf) if name is None else range_of(name, matrix)

    def found(spread: float) -> float | None:
        if n_queries is None:
            return None
        smallest = minimal_detectable_effect(spread, n_queries, alpha=alpha_each, power=power)
        return smallest if math.isfinite(smallest) and smallest <= high - low else None

    def needed(spread: float | None) -> int | None:
        if detect is None or not spread:
            return None
        return queries_needed(detect, spread, alpha=alpha_each, power=power).n_queries

    pairs = tuple(
        replace(
            pair,
            mde=found(pair.sd),
            queries_needed=needed(pair.sd),
            queries_needed_low=needed(pair.sd_low),
            queries_needed_high=needed(pair.sd_high),
        )
        for pair in spreads
    )
    interval = anova = None
    if detect:
        width = queries_for_width(detect, max(pair.sd for pair in pairs), level=1 - alpha)
        interval = IntervalPlan(detect, round(1 - alpha, 12), width.n_queries)
    if detect and n_systems > 2:
        among_all = queries_for_range(detect, residual_sd, n_systems, alpha=alpha, power=power)
        anova = AnovaPlan(abs(detect), residual_sd, among_all.n_queries)
    return QueryPlan(
        measure=name,
        n_queries=n_queries,
        n_queries_of_files=n_known,
        n_left_out=n_left_out,
        systems=n_systems,
        alpha=alpha,
        alpha_per_comparison=alpha_each,
        power=power,
        detect=detect,
        pairs=pairs,
        left_out_systems=tuple(left_out),
        interval=interval,
        anova=anova,
    )


def _matrix_of(scores: Scores, measure: MeasureLike | None) -> tuple[str, Floats, int]:
    """Return the measure, scores (queries x systems) where every system has one, and how many queries are left out."""
    if len(scores) < 2:
        raise InputError(f"only {next(iter(scores))!r} is given", hint="the spread is that of two or more systems")
    if measure is not None and str(measure) not in scores.measures:
        refuse_lacking(str(measure), scores)
    only = measure is None or len(scores.measures) == 1
    name = scores.measures[0 if only else position(scores.measures, measure or "", "measure")]
    by_system = [dict(zip(run.query_ids, run.column(name).tolist(), strict=True)) for run in scores.values()]
    query_ids = list(dict.fromkeys(query for found in by_system for query in found))
    matrix = np.array([[found.get(query, math.nan) for found in by_system] for query in query_ids])
    whole = ~np.isnan(matrix).any(axis=1)
    if whole.sum() < 2:
        raise InputError(f"there are {whole.sum()} queries for which every system has a score; a spread needs two")
    return name, matrix[whole], int((~whole).sum())


def _spreads_of(
    systems: list[str], matrix: Floats, measure: str, *, seed: int
) -> tuple[list[PairPlan], list[LeftOutSystem]]:
    """Return the spread of every system's differences from the first, and the systems whose differences do not vary."""
    pairs, left_out = [], []
    for i, other in enumerate(systems[1:], 1):
        differences = paired_differences(matrix[:, 0], matrix[:, i])
        if np.ptp(differences) > NO_SPREAD * max(1.0, float(np.abs(matrix).max())):
            ends = bca_interval(differences, lambda rows: rows.std(axis=1, ddof=1), seed=seed)
            low, high = or_none(ends.low), or_none(ends.high)
            pairs.append(PairPlan(a=systems[0], b=other, sd=float(differences.std(ddof=1)), sd_low=low, sd_high=high))
        else:
            left_out.append(LeftOutSystem(other, float(differences.mean())))
    if not pairs:
        reason = "; ".join(f"{system.name} {system.how(measure, systems[0])}" for system in left_out)
        raise InputError(f"there is no spread to plan with: {reason}", hint="take systems that differ, or give --sd")
    return pairs, left_out
