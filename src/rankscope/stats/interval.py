"""Intervals: how far the truth may be from the number on these queries."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rankscope.arrays import Floats, Ints
from rankscope.errors import OptionError
from rankscope.records import Record
from rankscope.stats.rng import chunks, random_rows
from rankscope.stats.units import members_of, sums_by_member

LEVEL = 0.95
N_RESAMPLES = 9_999
_TIE = 1e-12
"""Scores that differ by less, relative to their size, are the same up to rounding."""
_SLACK = 1e-9
"""How far a score may lie beyond its range: sums of fractions do not always end at 1."""
_LARGEST_LOG = 700.0
"""Beyond it there is no number to write the end of an interval with."""
_LARGEST = sys.float_info.max
_LEAST_LOG_DF = 2
"""Fewer degrees of freedom, on the scale of logarithms, make any number the end of an interval."""

Statistic: TypeAlias = Callable[[Floats], Floats]
"""Takes resamples as rows and returns one number each."""


class Interval(Record):
    """A range that holds the truth with some confidence, and how it was computed."""

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def percent(level: float) -> str:
    return f"{100 * level:g}%"


def mean_interval(
    values: Floats,
    *,
    level: float = LEVEL,
    range: tuple[float, float] = (-math.inf, math.inf),  # noqa: A002 (as measures call it)
    clusters: np.ndarray | None = None,
    weights: Floats | None = None,
) -> Interval | None:
    """Return the interval of one system's mean, or None where the scores say nothing of how far it may be off.

    Scores of 0 and 1 have Wilson's interval, others Student's. Where that would leave the range of the measure it is
    computed on the scale of logits (or of logarithms, where the range has one end) and brought back, so that it never
    promises what cannot be. `clusters` are queries that are not independent; `weights` say how much each query counts,
    and those that count nothing have no part in it.

    There is none for fewer than two queries or clusters, nor where every query scores the same, as where the mean is at
    an end of its range: that there is no spread among these queries does not mean that there is none among others.
    Logarithms need three: of two, t is so large (12.7 at 95 %) that the other end would be any number at all.
    """
    values = np.asarray(values, dtype=np.float64)
    _check(values, level)
    if clusters is not None:
        members_of(clusters, len(values))
    if weights is not None:
        if len(weights) != len(values) or not np.isfinite(weights).all() or (weights < 0).any():
            raise OptionError(f"{len(values)} scores need as many weights, numbers from 0 up")
        counts = weights > 0
        values, weights, clusters = values[counts], weights[counts], None if clusters is None else clusters[counts]
    if len(values) < 2 or np.ptp(values) <= _TIE * max(1.0, float(np.abs(values).max())):
        return None
    if clusters is None and weights is None and range == (0.0, 1.0) and np.isin(values, (0.0, 1.0)).all():
        return wilson_interval(int(values.sum()), len(values), level=level)
    mean, error, df = mean_and_error(values, clusters, weights)
    if df < 1 or error <= _TIE * max(1.0, abs(mean)):
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + level) / 2)) * error
    outside = values.min() < range[0] - _SLACK or values.max() > range[1] + _SLACK  # the range cannot be the right one
    if outside or (range[0] <= mean - half and mean + half <= range[1]):
        return Interval(mean - half, mean + half, level, "t" if clusters is None else "cluster t")
    if df < _LEAST_LOG_DF and math.isinf(range[1] - range[0]):
        return None
    return inside_range(mean, half, range, level) if range[0] < mean < range[1] else None


def mean_and_error(values: Floats, clusters: np.ndarray | None, weights: Floats | None) -> tuple[float, float, int]:
    """Return the mean, its standard error and the degrees of freedom.

    The error is that of the linearised weighted mean, summed by unit: with u = w (s - mean), its square is
    C/(C-1) · Σ u² / (Σ w)². With equal weights and each query a unit of its own it is the usual one.
    """
    w = np.ones(len(values)) if weights is None else weights
    total = float(w.sum())
    mean = float((w * values).sum()) / total
    sums = w * (values - mean)
    if clusters is not None:
        sums = sums_by_member(sums, members_of(clusters, len(w)))
    n_units = len(sums)
    if n_units < 2:
        return mean, math.nan, 0
    return mean, math.sqrt(n_units / (n_units - 1) * float((sums**2).sum())) / total, n_units - 1


def inside_range(mean: float, half: float, ends: tuple[float, float], level: float) -> Interval:
    """Return the interval on the scale of logits, or of logarithms where the range has one end, brought back.

    `half` is the half-width of Student's interval; the delta method carries it over.
    """
    from scipy.special import expit

    low, high = ends
    if math.isinf(high) or math.isinf(low):
        away = mean - low if math.isinf(high) else high - mean
        near, far = (min(_LARGEST, away * math.exp(sign * min(half / away, _LARGEST_LOG))) for sign in (-1, 1))
        if math.isinf(high):
            return Interval(low + near, low + far, level, "log-t")
        return Interval(high - far, high - near, level, "log-t")
    share, width = (mean - low) / (high - low), high - low
    logit, half_logit = math.log((mean - low) / (high - mean)), half / width / (share * (1 - share))
    from_end, to_end = (low + float(expit(logit + sign * half_logit)) * width for sign in (-1, 1))
    return Interval(from_end, min(to_end, high), level, "logit-t")


def t_interval(values: Floats, *, level: float = LEVEL, clusters: np.ndarray | None = None) -> Interval:
    """Return Student's interval of the mean: deterministic, and as good as the bootstrap in simulation."""
    from scipy.special import stdtrit

    _check(values, level, at_least=2, clusters=clusters)
    mean, error, df = mean_and_error(values, clusters, None)
    half = float(stdtrit(df, (1 + level) / 2)) * error
    return Interval(mean - half, mean + half, level, "t" if clusters is None else "cluster t")


def cluster_t_interval(values: Floats, clusters: np.ndarray, *, level: float = LEVEL) -> Interval:
    """Return the interval of the mean where values come in groups that are not independent (Miller 2024)."""
    return t_interval(values, level=level, clusters=clusters)


def wilson_interval(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    from scipy.special import ndtri

    if not 0 <= successes <= n or n < 1:
        raise OptionError(f"{successes} of {n} is not a share")
    z = float(ndtri((1 + level) / 2))
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half
    return Interval(low, 1.0 if successes == n else centre + half, level, "Wilson")


def percentile_interval(
    values: Floats,
    statistic: Statistic | None = None,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> Interval:
    """Return the percentile bootstrap interval, which is too narrow for few queries: prefer t or BCa.

    With `clusters` whole groups of queries are drawn, not single ones.
    """
    _check(values, level, at_least=2, clusters=clusters)
    draws = bootstrap(values, statistic or row_means, n_resamples=n_resamples, seed=seed, clusters=clusters)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, f"{'' if clusters is None else 'cluster '}percentile bootstrap")


def bca_interval(
    values: Floats,
    statistic: Statistic | None = None,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval (Efron 1987), for any statistic of the queries.

    `statistic` takes resamples as rows and returns one number each; by default the mean. With `clusters` whole groups
    of queries are drawn, and left out, not single ones.
    """
    from scipy.special import ndtr, ndtri

    _check(values, level, at_least=2, clusters=clusters)
    statistic = statistic or row_means
    method = "BCa bootstrap" if clusters is None else "cluster BCa bootstrap"
    observed = float(statistic(values[None, :])[0])
    draws = bootstrap(values, statistic, n_resamples=n_resamples, seed=seed, clusters=clusters)
    if np.ptp(draws) == 0:
        return Interval(observed, observed, level, method)
    below = (np.count_nonzero(draws < observed) + np.count_nonzero(draws <= observed)) / (2 * len(draws))
    bias = float(ndtri(min(max(below, 1e-9), 1 - 1e-9)))
    left_out = jackknife(values, statistic, clusters=clusters)
    spread = left_out.mean() - left_out
    cubed, squared = float((spread**3).sum()), float((spread**2).sum())
    acceleration = cubed / (6 * squared**1.5) if squared > 0 else 0.0
    corrected = (bias + float(ndtri(share)) for share in ((1 - level) / 2, (1 + level) / 2))
    low, high = np.quantile(draws, [float(ndtr(bias + z / (1 - acceleration * z))) for z in corrected])
    return Interval(float(low), float(high), level, method)


def bootstrap(
    values: Floats, statistic: Statistic, *, n_resamples: int, seed: int, clusters: np.ndarray | None = None
) -> Floats:
    """Return the statistic of resamples of the queries, or of whole clusters of them, drawn with replacement."""
    of_rows, n_units = _by_unit(values, statistic, clusters)
    rows = random_rows(n_units, n_resamples=n_resamples, seed=seed, purpose="bootstrap")
    return np.concatenate([of_rows(drawn) for drawn in rows])


def jackknife(values: Floats, statistic: Statistic, *, clusters: np.ndarray | None = None) -> Floats:
    """Return the statistic with each query, or each cluster, left out in turn."""
    if statistic is row_means:
        sums, sizes = _sums_and_sizes(values, clusters)
        return np.asarray((sums.sum() - sums) / (sizes.sum() - sizes))
    of_rows, n_units = _by_unit(values, statistic, clusters)
    others = np.arange(n_units - 1)
    return np.concatenate(
        [of_rows(others + (others >= np.arange(*chunk)[:, None])) for chunk in chunks(n_units, n_units)]
    )


def row_means(resamples: Floats) -> Floats:
    return np.asarray(resamples.mean(axis=1))


def _by_unit(values: Floats, statistic: Statistic, clusters: np.ndarray | None) -> tuple[Callable[[Ints], Floats], int]:
    """Return a function from rows of unit numbers to the statistic of each, and how many units there are.

    A unit is what is drawn as one: a query, or a cluster of them.
    """
    if clusters is None:
        return lambda rows: statistic(values.take(rows)), len(values)
    if statistic is row_means:
        sums, sizes = _sums_and_sizes(values, clusters)
        return lambda rows: sums.take(rows).sum(axis=1) / sizes.take(rows).sum(axis=1), len(sums)
    member = members_of(clusters, len(values))
    groups = np.split(values[np.argsort(member, kind="stable")], np.cumsum(np.bincount(member))[:-1])

    def one_by_one(rows: Ints) -> Floats:
        # resamples of clusters differ in length, so each is a matrix of its own
        joined = (np.concatenate([groups[unit] for unit in row]) for row in rows.tolist())
        return np.concatenate([statistic(resample[None, :]) for resample in joined])

    return one_by_one, len(groups)


def _sums_and_sizes(values: Floats, clusters: np.ndarray | None) -> tuple[Floats, Floats]:
    if clusters is None:
        return values, np.ones(len(values))
    columns = np.column_stack([values, np.ones(len(values))])
    sums, sizes = sums_by_member(columns, members_of(clusters, len(values))).T
    return sums, sizes


def _check(values: Floats, level: float, *, at_least: int = 0, clusters: np.ndarray | None = None) -> None:
    if len(values) < at_least:
        raise OptionError(f"an interval needs at least two queries, not {len(values)}")
    if np.isnan(values).any():
        raise OptionError("an interval needs numbers; leave undefined scores out first")
    if not 0 < level < 1:
        raise OptionError(f"level = {level} is not between 0 and 1")
    if clusters is not None and members_of(clusters, len(values)).max() < 1:
        raise OptionError("an interval needs at least two clusters")
