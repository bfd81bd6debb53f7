"""Intervals: how far the truth may be from the number on these queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.errors import OptionError
from rankscope.stats.rng import random_rows

LEVEL = 0.95
N_RESAMPLES = 9_999


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that holds the truth with some confidence, and how it was computed."""

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def t_interval(values: Floats, *, level: float = LEVEL) -> Interval:
    """Return Student's interval of the mean: deterministic, and as good as the bootstrap in simulation."""
    check(values, level)
    return _around(values, _standard_error(values), len(values) - 1, level, "t")


def cluster_t_interval(values: Floats, clusters: Floats | np.ndarray, *, level: float = LEVEL) -> Interval:
    """Return the interval of the mean where values come in groups that are not independent (Miller 2024)."""
    check(values, level)
    error, df = cluster_standard_error(values, clusters)
    return _around(values, error, df, level, "cluster t")


def cluster_standard_error(values: Floats, clusters: np.ndarray) -> tuple[float, int]:
    """Return the standard error of the mean by whole clusters, and its degrees of freedom."""
    _, member = np.unique(clusters, return_inverse=True)
    sums = np.bincount(member, weights=values - values.mean())
    n_clusters = len(sums)
    if n_clusters < 2:  # noqa: PLR2004 (one cluster says nothing about others)
        raise OptionError("an interval needs at least two clusters")
    return math.sqrt(n_clusters / (n_clusters - 1) * float((sums**2).sum())) / len(values), n_clusters - 1


def percentile_interval(
    values: Floats,
    statistic: Callable[[Floats], Floats] | None = None,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval, which is too narrow for few queries: prefer t or BCa."""
    check(values, level)
    draws = bootstrap(values, statistic or row_means, n_resamples=n_resamples, seed=seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, "percentile bootstrap")


def bca_interval(
    values: Floats,
    statistic: Callable[[Floats], Floats] | None = None,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the bias-corrected and accelerated bootstrap interval (Efron 1987), for any statistic of the queries.

    `statistic` takes resamples as rows and returns one number each; by default the mean.
    """
    check(values, level)
    statistic = statistic or row_means
    observed = float(statistic(values[None, :])[0])
    draws = bootstrap(values, statistic, n_resamples=n_resamples, seed=seed)
    if np.ptp(draws) == 0:
        return Interval(observed, observed, level, "BCa bootstrap")
    shares = _bca_shares(observed, draws, _jackknife(values, statistic), level)
    low, high = np.quantile(draws, shares)
    return Interval(float(low), float(high), level, "BCa bootstrap")


def _bca_shares(observed: float, draws: Floats, left_out: Floats, level: float) -> list[float]:
    """Return the quantiles of the draws that correct for bias and skewness."""
    from scipy.special import ndtr, ndtri

    below = (np.count_nonzero(draws < observed) + np.count_nonzero(draws <= observed)) / (2 * len(draws))
    bias = float(ndtri(min(max(below, 1e-9), 1 - 1e-9)))
    spread = left_out.mean() - left_out
    cubed, squared = float((spread**3).sum()), float((spread**2).sum())
    acceleration = cubed / (6 * squared**1.5) if squared > 0 else 0.0
    corrected = (bias + float(ndtri(share)) for share in ((1 - level) / 2, (1 + level) / 2))
    return [float(ndtr(bias + z / (1 - acceleration * z))) for z in corrected]


def _jackknife(values: Floats, statistic: Callable[[Floats], Floats]) -> Floats:
    """Return the statistic with each query left out in turn."""
    n = len(values)
    keep = ~np.eye(n, dtype=bool)
    return np.concatenate([statistic(values[keep[i]][None, :]) for i in range(n)])


def bootstrap(values: Floats, statistic: Callable[[Floats], Floats], *, n_resamples: int, seed: int) -> Floats:
    """Return the statistic of resamples of the queries, drawn with replacement."""
    rows = random_rows(len(values), n_resamples=n_resamples, seed=seed, purpose="bootstrap")
    return np.concatenate([statistic(values[drawn]) for drawn in rows])


def row_means(resamples: Floats) -> Floats:
    """Return the mean of each row."""
    return np.asarray(resamples.mean(axis=1))


def wilson_interval(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Return Wilson's interval of a share."""
    from scipy.special import ndtri

    if not 0 <= successes <= n or n < 1:
        raise OptionError(f"{successes} of {n} is not a share")
    z = float(ndtri((1 + level) / 2))
    share, square = successes / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half
    return Interval(low, 1.0 if successes == n else centre + half, level, "Wilson")


def check(values: Floats, level: float) -> None:
    """Refuse what no interval can be made of."""
    if len(values) < 2:  # noqa: PLR2004 (one value has no spread)
        raise OptionError(f"an interval needs at least two queries, not {len(values)}")
    if np.isnan(values).any():
        raise OptionError("an interval needs numbers; leave undefined scores out first")
    if not 0 < level < 1:
        raise OptionError(f"level = {level} is not between 0 and 1")


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def _around(values: Floats, error: float, df: int, level: float, method: str) -> Interval:
    from scipy.special import stdtrit

    mean, half = float(values.mean()), float(stdtrit(df, (1 + level) / 2)) * error
    return Interval(mean - half, mean + half, level, method)
