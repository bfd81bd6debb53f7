"""Designs: how many queries a test collection needs, before any system is compared on it (Sakai 2016)."""

from __future__ import annotations

import math

from rankscope.errors import OptionError
from rankscope.stats.interval import LEVEL
from rankscope.stats.power import ALPHA, POWER, Plan, check, fewest


def range_power(
    min_range: float, spread: float, n_systems: int, n: int, *, alpha: float = ALPHA, one_way: bool = False
) -> float:
    """Return the chance that analysis of variance notices a range, in the case that is hardest to notice.

    That case has one system at each end of the range and all others halfway. Queries are blocks, so `spread` is the
    root of `residual_variance`. With `one_way` they are not, as in Sakai's tables; `spread` is then the standard
    deviation of scores within a system, and many more queries are needed.
    """
    from scipy.special import fdtri, ncfdtr

    check(n=n, alpha=alpha, spread=spread)
    if n_systems < 2:
        raise OptionError(f"a range needs at least two systems, not {n_systems}")
    between = n_systems - 1
    within = n_systems * (n - 1) if one_way else between * (n - 1)
    critical = float(fdtri(between, within, 1 - alpha))
    missed = float(ncfdtr(between, within, n * (min_range / spread) ** 2 / 2, critical))
    return 1 - (0.0 if math.isnan(missed) else missed)


def queries_for_range(
    min_range: float,
    spread: float,
    n_systems: int,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
    one_way: bool = False,
) -> Plan:
    """Return the smallest number of queries with which a range of this size among the systems is noticed."""
    check(alpha=alpha, power=power, difference=min_range)
    return fewest(lambda n: range_power(min_range, spread, n_systems, n, alpha=alpha, one_way=one_way) >= power)


def expected_half_width(spread: float, n: int, *, level: float = LEVEL) -> float:
    """Return how far the ends of the t interval of a mean difference are from it, on average over samples."""
    from scipy.special import gammaln, stdtrit

    check(n=n, alpha=1 - level, spread=spread)
    shrunk = math.exp(float(gammaln(n / 2) - gammaln((n - 1) / 2))) * math.sqrt(2 / (n - 1))
    return float(stdtrit(n - 1, (1 + level) / 2)) * shrunk * spread / math.sqrt(n)


def queries_for_width(half_width: float, spread: float, *, level: float = LEVEL) -> Plan:
    """Return the smallest number of queries with which the interval is expected to be no wider than wanted."""
    check(difference=half_width)
    return fewest(lambda n: expected_half_width(spread, n, level=level) <= half_width)
