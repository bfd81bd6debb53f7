"""Power: the smallest difference a set of queries can find, and how many queries a difference needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.errors import OptionError
from rankscope.records import Record

POWER = 0.8
ALPHA = 0.05
_TOO_MANY = 1 << 40


class Plan(Record):
    """How many queries are needed."""

    n_queries: int


def can_reach(n: int, alpha: float) -> bool:
    """Tell whether n queries can reach this level: where one system wins all of them, p is 2 of 2^n flips of signs."""
    return 2.0 ** (1 - n) <= alpha * (1 + 1e-9)


def power_of(difference: float, spread: float, n: int, *, alpha: float = ALPHA) -> float:
    """Return the chance that a two-sided paired t test finds a true difference."""
    from scipy.special import nctdtr, stdtrit

    check(n=n, alpha=alpha, spread=spread)
    df = n - 1
    critical = float(stdtrit(df, 1 - alpha / 2))
    shift = abs(difference) / (spread / math.sqrt(n))
    missed, wrong_side = float(nctdtr(df, shift, critical)), float(nctdtr(df, shift, -critical))
    # far out in the tail, where both are 0, some versions of scipy have no number
    return 1 - (0.0 if math.isnan(missed) else missed) + (0.0 if math.isnan(wrong_side) else wrong_side)


def minimal_detectable_effect(
    spread: float, n: int, *, alpha: float = ALPHA, power: float = POWER, by_flips: bool = True
) -> float:
    """Return the smallest true difference that is found with the given power; infinite where n queries find none.

    That is so where the flips of their signs are too few; Student's t asks for none.
    """
    check(n=n, alpha=alpha, power=power)
    if by_flips and not can_reach(n, alpha):
        return math.inf
    return spread * _detectable_at_spread_1(n, alpha, power) if spread else 0.0


@lru_cache(maxsize=128)
def _detectable_at_spread_1(n: int, alpha: float, power: float) -> float:
    from scipy.special import stdtrit

    guess = float(stdtrit(n - 1, 1 - alpha / 2) + max(stdtrit(n - 1, power), 0.0)) / math.sqrt(n)
    low, high = 0.0, guess * 4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if power_of(middle, 1.0, n, alpha=alpha) < power else (low, middle)
    return high


def queries_needed(difference: float, spread: float, *, alpha: float = ALPHA, power: float = POWER) -> Plan:
    """Return the smallest number of queries with which a difference of this size is found."""
    from scipy.special import ndtri

    check(alpha=alpha, power=power, difference=difference, spread=spread)
    by_normal = (float(ndtri(1 - alpha / 2) + max(ndtri(power), 0.0)) * spread / difference) ** 2
    return fewest(
        lambda n: can_reach(n, alpha) and power_of(difference, spread, n, alpha=alpha) >= power, near=by_normal
    )


def queries_needed_each(difference: float, spreads: Floats, *, alpha: float = ALPHA, power: float = POWER) -> Floats:
    """Return `queries_needed` of each of many spreads, found together; NaN where no real number of queries would do.

    It is undefined, too, where nothing varies.
    """
    from scipy.special import nctdtr, ndtri, stdtrit

    check(alpha=alpha, power=power, difference=difference)
    found = np.full(len(spreads), math.nan)
    places = np.flatnonzero(np.isfinite(spreads) & (spreads > 0))
    z = float(ndtri(1 - alpha / 2))
    # as of a normal distribution; that of t takes about z² / 2 more
    near = ((z + max(float(ndtri(power)), 0.0)) * spreads[places] / abs(difference)) ** 2 + z * z / 2
    places, near = places[near < _TOO_MANY], near[near < _TOO_MANY]

    def enough(n: Floats, spread: Floats) -> Bools:
        df, shift = n - 1, abs(difference) / (spread / np.sqrt(n))
        critical = stdtrit(df, 1 - alpha / 2)
        missed, wrong_side = (np.nan_to_num(nctdtr(df, shift, end)) for end in (critical, -critical))
        return np.asarray((np.exp2(1 - n) <= alpha * (1 + 1e-9)) & (1 - missed + wrong_side >= power))

    spread, high = spreads[places], np.maximum(2.0, np.ceil(near))
    low, step = high - 1, np.ones(len(places))
    lacking = np.flatnonzero(~enough(high, spread))
    while len(lacking):
        low[lacking], high[lacking] = high[lacking], high[lacking] + step[lacking]
        step[lacking] *= 2
        lacking = lacking[high[lacking] <= _TOO_MANY]
        lacking = lacking[~enough(high[lacking], spread[lacking])]
    down = np.flatnonzero((low >= 2) & (high <= _TOO_MANY))
    down = down[enough(low[down], spread[down])]
    while len(down):
        high[down], low[down] = low[down], np.maximum(1.0, low[down] - step[down])
        step[down] *= 2
        down = down[low[down] >= 2]
        down = down[enough(low[down], spread[down])]
    between = np.flatnonzero(high - low > 1)
    while len(between):
        middle = np.floor((low[between] + high[between]) / 2)
        yes = enough(middle, spread[between])
        high[between], low[between] = np.where(yes, middle, high[between]), np.where(yes, low[between], middle)
        between = between[high[between] - low[between] > 1]
    found[places] = np.where(high <= _TOO_MANY, high, math.nan)
    return found


def fewest(enough: Callable[[int], bool], *, near: float = 2) -> Plan:
    """Return the smallest number of queries, from 2 up, that is enough; more than enough must be enough too.

    The search begins at `near`, and is short where that is a good guess.
    """
    high = max(2, math.ceil(min(near, _TOO_MANY)))
    low, step = high - 1, 1
    while not enough(high):
        low, high, step = high, high + step, step * 2
        if high > _TOO_MANY:
            raise OptionError(
                "no real number of queries finds a difference this small",
                hint="name the smallest difference that matters",
            )
    while low >= 2 and enough(low):
        low, high, step = max(1, low - step), low, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Plan(high)


def check(
    *, n: int = 2, alpha: float = ALPHA, power: float = POWER, difference: float = 1.0, spread: float = 1.0
) -> None:
    if n < 2:
        raise OptionError(f"power needs at least two queries, not {n}")
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise OptionError(f"{name} = {value:g} is not between 0 and 1")
    if difference == 0 or not math.isfinite(difference):
        raise OptionError(
            f"no number of queries finds a difference of {difference:g}", hint="name the smallest one that matters"
        )
    if not (spread > 0 and math.isfinite(spread)):
        raise OptionError(
            f"a standard deviation of {spread:g} is nothing to plan with",
            hint="take that of the per-query differences of two systems which are not the same",
        )
