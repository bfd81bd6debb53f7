"""Families of comparisons: p-values and intervals of several pairs that hold together, from the same sign flips.

If two systems were alike, each unit's difference could as well have had the other sign. So the signs of units are
flipped, the same for all pairs, and the largest t of the family is noted each time (max t; Westfall & Young 1993). The
quantile of these maxima is the one critical value from which verdict, interval and p-value of every pair follow. With a
single pair it is that pair's own permutation test.

Flips are tried some at a time, by as many threads as there are cores; units lie in blocks whose sums are added in their
order (`rng.py`). So the numbers are the same for any number of threads, and neither the flips of all units nor those of
all pairs are ever held together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.native import n_threads
from rankscope.records import Record
from rankscope.registry import Entry, Registry
from rankscope.stats.rng import SignFlips
from rankscope.stats.units import COLUMNS_AT_ONCE, NO_SPREAD, AnyColumns, Moments, UnitSums, t_squared_of

SLACK = 1e-9
"""A t must exceed the critical value by this share, so that rounding decides nothing; a t below it is 0."""
WORTH_A_THREAD = 1 << 22
"""Fewer sums under flips than this are found sooner by one thread."""
Given = TypeVar("Given")
Found = TypeVar("Found")


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
    units: AnyColumns,
    pairs: Moments | None = None,
    *,
    alpha: float,
    n_resamples: int,
    seed: int,
    threads: int | None = None,
) -> FamilyResult:
    """Return max t over all columns; with the moments of `pairs` columns are systems, the family all pairs of them.

    All systems must then have scores on the same units: one product of flips and systems serves all pairs. The numbers
    do not depend on `threads`, by default one per core.
    """
    moments = pairs or units.moments()
    taking_part = units_taking_part(units)
    flips = SignFlips(int(taking_part.sum()), n_resamples, seed)
    counts = np.unique(moments.n_units)
    observed = t_squared_of(moments, moments.total, moments.cross)
    largest, reached = np.zeros(flips.n_flips), np.zeros(len(moments.total))
    n = None
    whole: Iterable[tuple[slice, AnyColumns]] = [(slice(0, len(observed)), units)]
    for some, part in units.parts(COLUMNS_AT_ONCE) if pairs is None else whole:
        inside = part_of(part, taking_part)
        n = counts[0] if inside.plain and len(counts) == 1 and counts[0] > 1 else None
        trial = FlipTrial(inside, moments.of(some), flips, is_of_systems=pairs is not None, n_equal=n)
        tasks = flips.chunks(inside.n_columns)
        n_sums = flips.n_flips * len(trial.moments.total)
        for patterns, (maxima, counted) in zip(tasks, spread_out(trial.run, tasks, n_sums, threads), strict=True):
            np.maximum(largest[patterns], maxima, out=largest[patterns])
            reached[some] += counted
    if n is not None:
        rest = 1 - largest / n
        with np.errstate(divide="ignore"):
            largest = largest * (n - 1) / n / np.where(rest > NO_SPREAD, rest, 0.0)
    largest.sort()
    return FamilyResult(
        p=np.where(moments.moves, p_values(largest, observed), 1.0),
        p_alone=np.where(moments.moves, (1 + reached) / (flips.n_flips + 1), 1.0),
        critical=np.full(len(observed), critical_value(largest, alpha)),
        critical_equivalence=np.full(len(observed), critical_value(largest, 2 * alpha)),
        size=int(moments.moves.sum()),
        n_resamples=flips.n_flips,
        is_exact=flips.is_exact,
    )


def units_taking_part(units: AnyColumns) -> Bools:
    """Tell which units any column has."""
    parts = [part.sizes.any(axis=1) for _, part in units.parts(COLUMNS_AT_ONCE)]
    return np.logical_or.reduce(parts) if parts else np.zeros(0, dtype=np.bool_)


def part_of(units: AnyColumns, taking_part: Bools) -> UnitSums:
    """Return columns on the units that take part, in the layout in which they are multiplied."""
    part = units.columns(slice(0, units.n_columns))
    sums, sizes = (np.ascontiguousarray(values[taking_part]) for values in (part.sums, part.sizes))
    return UnitSums(sums, sizes, part.plain)


def spread_out(
    work: Callable[[Given], Found], tasks: Iterable[Given], n_sums: int, threads: int | None
) -> Iterator[Found]:
    """Yield what is found of every task, in their order, by several threads where that is worth it."""
    at_once = n_threads(threads) if threads or n_sums >= WORTH_A_THREAD else 1
    if at_once == 1:
        yield from map(work, tasks)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(work, tasks)


class FlipTrial(Record, eq=False):
    """What some flips do to columns, or to all pairs of them: pure, so that any thread may find it."""

    units: UnitSums
    moments: Moments
    flips: SignFlips
    is_of_systems: bool
    n_equal: float | None
    """How many units of size 1 every column has, where all have as many."""

    def run(self, patterns: slice) -> tuple[Floats, Floats]:
        """Return the largest square of t of each flip, and in how many flips each column reaches what is observed.

        With `n_equal` it is not the square of t, but what puts flips into the same order and is quicker to compute.
        """
        statistic = t_squared_of if self.n_equal is None else squared_by_squares
        observed = statistic(self.moments, self.moments.total, self.moments.cross)
        least = observed * (1 - 2 * SLACK) - SLACK**2
        largest, reached = np.zeros(patterns.stop - patterns.start), np.zeros(len(observed))
        for columns, totals, cross in self.parts(patterns):
            values = statistic(self.moments.of(columns), totals, cross)
            np.maximum(largest, values.max(axis=1, initial=0.0), out=largest)
            reached[columns] = np.count_nonzero(values >= least[columns], axis=0)
        return largest, reached

    def parts(self, patterns: slice) -> Iterator[Part]:
        units, flips = self.units, self.flips
        totals = flips.sums(units.sums, patterns)
        cross = totals if units.plain else flips.sums(units.sums * units.sizes, patterns)
        return all_pairs_of(totals, cross) if self.is_of_systems else iter([(slice(0, totals.shape[1]), totals, cross)])


def squared_by_squares(moments: Moments, total: Floats, _: Floats) -> Floats:
    """Return what puts flips of equally many units of size 1 into the order of t, and is quicker to compute."""
    inverse = np.divide(1.0, moments.squares, out=np.zeros_like(moments.squares), where=moments.squares > 0)
    return np.asarray(total * total * inverse)


Part: TypeAlias = tuple[slice, Floats, Floats]
"""Which columns, and the totals and cross sums of some flips in them."""


def all_pairs_of(totals: Floats, cross: Floats) -> Iterator[Part]:
    """Yield the flipped sums of all pairs of systems: differences of the systems' own flipped sums."""
    n_systems, first = totals.shape[1], 0
    for i in range(n_systems - 1):
        columns = slice(first, first + n_systems - 1 - i)
        difference = totals[:, i + 1 :] - totals[:, i : i + 1]
        crossed = difference if cross is totals else cross[:, i + 1 :] - cross[:, i : i + 1]
        yield columns, difference, crossed
        first = columns.stop


def separate_tests(units: AnyColumns, *, alpha: float, n_resamples: int, seed: int) -> FamilyResult:
    """Return the test of each column by its own flips; columns with few units have all of theirs tried."""
    moments = units.moments()
    p, critical, narrow = (np.full(units.n_columns, value) for value in (1.0, math.nan, math.nan))
    exact = np.array([SignFlips(int(n), n_resamples, seed).is_exact for n in moments.n_units.tolist()], dtype=np.bool_)
    for i in np.flatnonzero(exact & moments.moves).tolist():
        alone = joint_test(units.column(i), alpha=alpha, n_resamples=n_resamples, seed=seed)
        p[i], critical[i], narrow[i] = alone.p[0], alone.critical[0], alone.critical_equivalence[0]
    drawn = np.flatnonzero(~exact & moments.moves)
    for start in range(0, len(drawn), COLUMNS_AT_ONCE):
        chosen = drawn[start : start + COLUMNS_AT_ONCE]
        some = units.columns(chosen)
        own, flips = some.moments(), SignFlips(len(some.sums), n_resamples, seed)
        totals = flips.sums(some.sums)
        cross = totals if some.plain else flips.sums(some.sums * some.sizes)
        squared = np.sort(t_squared_of(own, totals, cross), axis=0)
        for j, i in enumerate(chosen.tolist()):
            p[i] = p_values(squared[:, j], own.t_squared[j : j + 1])[0]
            critical[i], narrow[i] = (critical_value(squared[:, j], level) for level in (alpha, 2 * alpha))
    return FamilyResult(p, p, critical, narrow, 1, n_resamples, is_exact=bool(exact.all()))


def bonferroni_tests(units: AnyColumns, *, alpha: float, n_resamples: int, seed: int) -> FamilyResult:
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
    """Takes a function that returns sums of differences by unit, a column per pair, made when they are needed, as these
    are many; sums of scores by unit, a column per system, with the moments of the pairs, where these are all pairs of
    the systems on the same queries, else None; and alpha, n_resamples and seed by name."""
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
