"""Families of comparisons: p-values and intervals of several pairs that hold together, from the same sign flips.

If two systems were alike, each unit's difference could as well have had the other sign. So the signs of units are
flipped, the same for all pairs, and the largest t of the family is noted each time (max t; Westfall & Young 1993). The
quantile of these maxima is the one critical value from which verdict, interval and p-value of every pair follow. With a
single pair it is that pair's own permutation test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from rankscope.arrays import Floats
from rankscope.records import Record
from rankscope.registry import Entry, Registry
from rankscope.stats.rng import SignFlips, chunks
from rankscope.stats.units import NO_SPREAD, Moments, UnitSums, t_squared_of

SLACK = 1e-9
"""A t must exceed the critical value by this share, so that rounding decides nothing; a t below it is 0."""
COLUMNS_AT_ONCE = 256


class FamilyResult(Record, eq=False):
    """What a family's flips say of every pair."""

    p: Floats
    """Adjusted for the family."""
    p_alone: Floats
    """Of each pair's own flips."""
    critical: Floats
    """How many standard errors the interval reaches to either side; NaN where so few units allow none."""
    critical_equivalence: Floats
    """The same at level 1 - 2 alpha, by which a difference is shown to be small."""
    size: int
    """How many pairs take part: those that differ at all."""
    n_resamples: int
    is_exact: bool
    """Whether all flips were tried."""


def rank_of_critical(n_flips: int, alpha: float) -> int:
    """Return which of the sorted maxima, from 1 up, is the critical one; more than there are where none is.

    It is ceil((B + 1)(1 - alpha)), written so that rounding cannot add one.
    """
    return n_flips + 1 - math.floor(alpha * (n_flips + 1) + 1e-9)


def critical_value(sorted_maxima: Floats, alpha: float) -> float:
    """Return the critical t from sorted squares of maxima, NaN where there are too few flips for this alpha."""
    rank = rank_of_critical(len(sorted_maxima), alpha)
    if not 1 <= rank <= len(sorted_maxima) or math.isinf(sorted_maxima[rank - 1]):
        return math.nan
    return math.sqrt(float(sorted_maxima[rank - 1])) * (1 + SLACK)


def p_values(sorted_maxima: Floats, t_squared: Floats) -> Floats:
    """Return (1 + number of maxima that reach t) / (B + 1)."""
    reached = len(sorted_maxima) - np.searchsorted(sorted_maxima, t_squared / (1 + SLACK) ** 2 - SLACK**2, side="left")
    return np.asarray((1 + reached) / (len(sorted_maxima) + 1))


def joint_test(
    units: UnitSums, pairs: Moments | None = None, *, alpha: float, n_resamples: int, seed: int
) -> FamilyResult:
    """Return max t over all columns; with the moments of `pairs` columns are systems, the family all pairs of them.

    All systems must then have scores on the same units: one product of flips and systems serves all pairs.
    """
    taking_part = units.sizes.any(axis=1)
    units = UnitSums(units.sums[taking_part], units.sizes[taking_part], units.plain)
    moments = pairs or units.moments()
    flips = SignFlips(len(units.sums), n_resamples, seed)
    counts = np.unique(moments.n_units)
    n = counts[0] if units.plain and len(counts) == 1 and counts[0] > 1 else None
    statistic = t_squared_of if n is None else squared_by_squares
    observed = statistic(moments, moments.total, moments.cross)
    largest, reached = np.zeros(flips.n_flips), np.zeros(len(observed))
    for rows, columns, totals, cross in (flipped_pairs if pairs else flipped_columns)(units, flips):
        values = statistic(moments.of(columns), totals, cross)
        np.maximum(largest[rows], values.max(axis=1, initial=0.0), out=largest[rows])
        reached[columns] += np.count_nonzero(values >= observed[columns] * (1 - 2 * SLACK) - SLACK**2, axis=0)
    if n is not None:
        rest = 1 - largest / n
        with np.errstate(divide="ignore"):
            largest = largest * (n - 1) / n / np.where(rest > NO_SPREAD, rest, 0.0)
    largest.sort()
    return FamilyResult(
        p=np.where(moments.moves, p_values(largest, moments.t_squared), 1.0),
        p_alone=np.where(moments.moves, (1 + reached) / (flips.n_flips + 1), 1.0),
        critical=np.full(len(observed), critical_value(largest, alpha)),
        critical_equivalence=np.full(len(observed), critical_value(largest, 2 * alpha)),
        size=int(moments.moves.sum()),
        n_resamples=flips.n_flips,
        is_exact=flips.is_exact,
    )


def squared_by_squares(moments: Moments, total: Floats, _: Floats) -> Floats:
    """Return what puts flips of equally many units of size 1 into the order of t, and is quicker to compute."""
    inverse = np.divide(1.0, moments.squares, out=np.zeros_like(moments.squares), where=moments.squares > 0)
    return np.asarray(total * total * inverse)


Part: TypeAlias = tuple[slice, slice, Floats, Floats]
"""Which flips, which columns, and the totals and cross sums of these flips in these columns."""


def flipped_columns(units: UnitSums, flips: SignFlips) -> Iterator[Part]:
    """Yield the flipped sums of every column, some columns at a time."""
    for start in range(0, units.sums.shape[1], COLUMNS_AT_ONCE):
        columns = slice(start, min(start + COLUMNS_AT_ONCE, units.sums.shape[1]))
        sums = units.sums[:, columns]
        totals = flips.sums(sums)
        cross = totals if units.plain else flips.sums(sums * units.sizes[:, columns])
        yield slice(0, flips.n_flips), columns, totals, cross


def flipped_pairs(units: UnitSums, flips: SignFlips) -> Iterator[Part]:
    """Yield the flipped sums of all pairs of systems: differences of the systems' own flipped sums."""
    n_systems = units.sums.shape[1]
    totals = flips.sums(units.sums)
    cross = totals if units.plain else flips.sums(units.sums * units.sizes)
    for start, stop in chunks(flips.n_flips, n_systems):
        rows, first = slice(start, stop), 0
        for i in range(n_systems - 1):
            columns = slice(first, first + n_systems - 1 - i)
            difference = totals[rows, i + 1 :] - totals[rows, i : i + 1]
            crossed = difference if units.plain else cross[rows, i + 1 :] - cross[rows, i : i + 1]
            yield rows, columns, difference, crossed
            first = columns.stop


def separate_tests(units: UnitSums, *, alpha: float, n_resamples: int, seed: int) -> FamilyResult:
    """Return the test of each column by its own flips; columns with few units have all of theirs tried."""
    moments = units.moments()
    n_columns = units.sums.shape[1]
    p, critical, narrow = np.ones(n_columns), np.full(n_columns, math.nan), np.full(n_columns, math.nan)
    exact = np.array([SignFlips(int(n), n_resamples, seed).is_exact for n in moments.n_units.tolist()], dtype=np.bool_)
    for i in np.flatnonzero(exact & moments.moves).tolist():
        alone = joint_test(units.column(i), alpha=alpha, n_resamples=n_resamples, seed=seed)
        p[i], critical[i], narrow[i] = alone.p[0], alone.critical[0], alone.critical_equivalence[0]
    drawn = np.flatnonzero(~exact & moments.moves)
    random = units.columns(drawn)
    own = random.moments()
    observed = own.t_squared
    for _, columns, totals, cross in flipped_columns(random, SignFlips(len(random.sums), n_resamples, seed)):
        squared = np.sort(t_squared_of(own.of(columns), totals, cross), axis=0)
        for j, place in enumerate(range(columns.start, columns.stop)):
            i = drawn[place]
            p[i] = p_values(squared[:, j], observed[place : place + 1])[0]
            critical[i], narrow[i] = (critical_value(squared[:, j], level) for level in (alpha, 2 * alpha))
    return FamilyResult(p, p, critical, narrow, 1, n_resamples, is_exact=bool(exact.all()))


def bonferroni_tests(units: UnitSums, *, alpha: float, n_resamples: int, seed: int) -> FamilyResult:
    """Return Student's t of every column, alpha shared equally between those that differ at all."""
    from scipy.special import stdtr, stdtrit

    moments = units.moments()
    size = int(moments.moves.sum())
    df = np.maximum(moments.n_units - 1, 1)
    t = np.sqrt(moments.t_squared)
    p = np.minimum(1.0, size * 2 * stdtr(df, -t))
    with np.errstate(invalid="ignore"):
        critical, narrow = (
            np.where(moments.n_units > 1, stdtrit(df, 1 - level / (2 * max(size, 1))), math.nan)
            for level in (alpha, 2 * alpha)
        )
    alone = separate_tests(units, alpha=alpha, n_resamples=n_resamples, seed=seed)
    return FamilyResult(
        np.where(moments.moves, p, 1.0), alone.p, critical, narrow, size, alone.n_resamples, alone.is_exact
    )


class Correction(Record, eq=False):
    """A way to keep the error rate of several comparisons: what tests them, and what the results are called."""

    test: Callable[..., FamilyResult]
    """Takes a function that returns sums of differences by unit, a column per pair, as these are many; sums of scores
    by unit, a column per system, with the moments of the pairs, where these are all pairs of the systems on the same
    queries, else None; and alpha, n_resamples and seed by name."""
    interval_method: str
    p_method: str
    simultaneous: bool
    """Whether intervals are widened for the family, so that they hold together."""


MAX_T = Correction(
    lambda differences, systems, **options: joint_test(*(systems or [differences()]), **options),
    "max t by sign flips",
    "sign-flip permutation",
    simultaneous=True,
)
BONFERRONI = Correction(
    lambda differences, _, **options: bonferroni_tests(differences(), **options),
    "t, Bonferroni",
    "t",
    simultaneous=True,
)
NO_CORRECTION = Correction(
    lambda differences, _, **options: separate_tests(differences(), **options),
    "sign flips",
    "sign-flip permutation",
    simultaneous=False,
)
CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    {
        "maxt": Entry(
            "rankscope.stats.family:MAX_T", "the largest t of the family under joint sign flips (Westfall & Young)"
        ),
        "bonferroni": Entry("rankscope.stats.family:BONFERRONI", "Bonferroni's correction of Student's t"),
        "none": Entry("rankscope.stats.family:NO_CORRECTION", "no correction: each pair by its own sign flips"),
    },
)
"""To add a correction, write a `Correction` and one line here."""
