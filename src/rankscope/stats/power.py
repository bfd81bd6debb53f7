"""Power: the smallest difference a set of queries can find, and how many queries a difference needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rankscope.errors import OptionError

POWER = 0.8
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """How many queries are needed to find a difference of some size."""

    n_queries: int
    difference: float
    spread: float
    """The standard deviation of the per-query differences."""
    alpha: float
    power: float


def power_of(difference: float, spread: float, n: int, *, alpha: float = ALPHA) -> float:
    """Return the chance that a two-sided paired t test finds a true difference."""
    from scipy.special import stdtrit
    from scipy.stats import nct

    df = n - 1
    critical = float(stdtrit(df, 1 - alpha / 2))
    shift = abs(difference) / (spread / math.sqrt(n))
    missed = float(nct.cdf(critical, df, shift))
    wrong_side = float(nct.cdf(-critical, df, shift))
    return 1 - (0.0 if math.isnan(missed) else missed) + (0.0 if math.isnan(wrong_side) else wrong_side)


def minimal_detectable_effect(spread: float, n: int, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the smallest true difference that is found with the given power."""
    check(n, alpha, power)
    if spread == 0:
        return 0.0
    low, high = 0.0, _first_guess(spread, n, alpha, power) * 4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if power_of(middle, spread, n, alpha=alpha) < power else (low, middle)
    return high


def _first_guess(spread: float, n: int, alpha: float, power: float) -> float:
    from scipy.special import stdtrit

    df = n - 1
    return float(stdtrit(df, 1 - alpha / 2) + stdtrit(df, power)) * spread / math.sqrt(n)


def queries_needed(difference: float, spread: float, *, alpha: float = ALPHA, power: float = POWER) -> Plan:
    """Return the smallest number of queries with which a difference of this size is found."""
    check(2, alpha, power)
    if difference == 0:
        raise OptionError("no number of queries finds a difference of 0", hint="name the smallest one that matters")
    low, high = 1, 2
    while power_of(difference, spread, high, alpha=alpha) < power:
        low, high = high, high * 2
        if high > 1 << 40:
            raise OptionError(f"a difference of {difference} is too small to be found with any real number of queries")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if power_of(difference, spread, middle, alpha=alpha) < power else (low, middle)
    return Plan(high, abs(difference), spread, alpha, power)


def check(n: int, alpha: float, power: float) -> None:
    """Refuse what cannot be planned with."""
    if n < 2:  # noqa: PLR2004 (one query has no spread)
        raise OptionError(f"power needs at least two queries, not {n}")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise OptionError(f"alpha = {alpha} and power = {power} are between 0 and 1")
