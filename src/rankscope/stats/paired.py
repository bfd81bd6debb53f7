"""Paired tests of one difference, and its chances. Comparisons are decided by `family.py`; these stand beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.errors import OptionError
from rankscope.records import Record
from rankscope.registry import Entry, Registry
from rankscope.stats.family import joint_test
from rankscope.stats.interval import N_RESAMPLES
from rankscope.stats.rng import random_rows, streams
from rankscope.stats.units import NO_SPREAD, Units, UnitSums

N_DRAWS = 4_000
SYMMETRY = "tests symmetry or the median, not the mean: unequal shapes look like a difference"
ANTI_CONSERVATIVE = "anti-conservative for few queries: its p-values are too small"
NO_WEIGHTS = "leave it out, or leave the weights out"
"""Clusters, whose sizes are whole numbers, are no weights."""


class Test(Record):
    """What a test says: the p-value, and how it was obtained."""

    __test__ = False  # pytest takes classes of this name for tests of its own

    p: float
    method: str
    n_resamples: int | None = None
    """None where nothing was drawn at random."""
    caveat: str = ""


def sign_flip_test(
    differences: Floats,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    clusters: np.ndarray | None = None,
    weights: Floats | None = None,
) -> Test:
    """Return the two-sided sign-flip permutation test of the mean difference: a family of one pair.

    Exact where all sign patterns can be tried; else p = (b + 1) / (B + 1), so that it is never 0 (Phipson & Smyth
    2010). With clusters whole groups of queries are flipped together. For 0/1 measures this is McNemar's exact test.
    """
    if not len(differences):
        raise OptionError("a paired test needs at least one query that both systems have a score for")
    if np.isnan(differences).any():
        raise OptionError("a paired test needs numbers; leave undefined scores out first")
    units = Units.of(len(differences), clusters, weights).sums(differences[:, None])
    result = joint_test(units, alpha=0.05, n_resamples=n_resamples, seed=seed)
    exact = "exact " if result.is_exact else ""
    return Test(float(result.p[0]), f"{exact}sign-flip permutation", None if exact else n_resamples)


def bootstrap_shift_test(units: UnitSums, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Test:
    """Return the paired bootstrap-shift test, on request: how far means of resampled, centred units stray."""
    sums, sizes = units.sums[:, 0], units.sizes[:, 0]
    observed = float(sums.sum() / sizes.sum())
    centred = sums - sizes * observed
    rows = random_rows(len(sums), n_resamples=n_resamples, seed=seed, purpose="bootstrap")
    means = np.concatenate([centred[drawn].sum(axis=1) / sizes[drawn].sum(axis=1) for drawn in rows])
    rounding = 1e-12 * float(np.abs(sums).sum() / sizes.sum())
    reached = int(np.count_nonzero(np.abs(means) >= abs(observed) - rounding))
    return Test((reached + 1) / (n_resamples + 1), "bootstrap shift", n_resamples, ANTI_CONSERVATIVE)


def wilcoxon_test(units: UnitSums, **_: int) -> Test:
    """Return Wilcoxon's signed-rank test of the units, on request: it does not test the mean."""
    from scipy.stats import wilcoxon

    values = units.sums[:, 0]
    if units.weighted:
        raise OptionError("Wilcoxon's test knows no weights", hint=NO_WEIGHTS)
    p = float(wilcoxon(values, zero_method="wilcox").pvalue) if values.any() else 1.0
    return Test(p, "Wilcoxon signed-rank", caveat=SYMMETRY)


def sign_test(units: UnitSums, **_: int) -> Test:
    """Return the sign test of the units, on request: it only counts who won."""
    if units.weighted:
        raise OptionError("the sign test knows no weights", hint=NO_WEIGHTS)
    return Test(sign_p(*wins_and_losses(units)), "sign", caveat=SYMMETRY)


def mcnemar_test(units: UnitSums, **_: int) -> Test:
    if not units.plain:
        raise OptionError(
            "McNemar's test is for queries that count alike, not for clusters or weights", hint="leave mcnemar out"
        )
    if not np.isin(units.sums, (-1.0, 0.0, 1.0)).all():
        raise OptionError("McNemar's test is for measures that are 0 or 1 per query, such as Success@k")
    return Test(sign_p(*wins_and_losses(units)), "exact McNemar")


def wins_and_losses(units: UnitSums) -> tuple[int, int]:
    values = units.sums[:, 0]
    return int((values > 0).sum()), int((values < 0).sum())


def sign_p(wins: int, losses: int) -> float:
    """Return the p-value of the exact sign test: how likely a fair coin is at least as one-sided; ties do not count."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def contrast_p(differences: Floats, members: Bools, units: Units) -> float:
    """Return the p-value of a test whether the mean difference of some queries is that of all other queries.

    Welch's test where each query is a unit of its own; where neither side varies, but they differ, the exact
    permutation test: no other choice of as many queries sets them so far apart. With clusters or weights the standard
    error comes from each unit's influence on the contrast, so that a cluster may lie on both sides. NaN where either
    side has fewer than two units, or nothing varies.
    """
    from scipy.special import stdtr

    sides = [units.sums(np.where(mask, differences, math.nan)[:, None]) for mask in (members, ~members)]
    moments = [side.moments() for side in sides]
    counts = [float(moment.n_units[0]) for moment in moments]
    if min(counts) < 2:
        return math.nan
    gap = float(moments[0].delta[0] - moments[1].delta[0])
    if units.are_plain:
        parts = np.array([float(moment.error[0]) ** 2 for moment in moments])
        variance = float(parts.sum())
        if variance == 0 and abs(gap) > NO_SPREAD * max(1.0, float(np.nanmax(np.abs(differences)))):
            n_inside, n_outside = map(int, counts)
            return (2 if n_inside == n_outside else 1) / math.comb(n_inside + n_outside, n_inside)
        df = variance**2 / float((parts**2 / (np.array(counts) - 1)).sum()) if variance else math.nan
    else:
        influence = [
            (side.sums - side.sizes * moment.delta)[:, 0] / float(moment.size[0])
            for side, moment in zip(sides, moments, strict=True)
        ]
        n = int(((sides[0].sizes + sides[1].sizes) > 0).sum())
        variance = n / (n - 1) * float(((influence[0] - influence[1]) ** 2).sum())
        df = min(counts) - 1
    return float(2 * stdtr(df, -abs(gap) / math.sqrt(variance))) if variance > 0 else math.nan


class Chances(Record):
    """How likely the mean gain is above the margin, within it, or below it."""

    better: float
    equivalent: float
    worse: float


def bayesian_bootstrap(units: UnitSums, margin: float, *, n_draws: int = N_DRAWS, seed: int = 0) -> Chances:
    """Return the chances, by the Bayesian bootstrap (Rubin 1981) of the mean gain over units of evidence."""
    return bayesian_bootstraps([units], margin, n_draws=n_draws, seed=seed)[0]


def bayesian_bootstraps(
    several: Sequence[UnitSums], margin: float, *, n_draws: int = N_DRAWS, seed: int = 0
) -> list[Chances]:
    """Do so for several gains; those over equally many units share the weights, which cost most of the time."""
    drawn = [np.empty(n_draws) for _ in several]
    by_size: dict[int, list[int]] = {}
    for i, units in enumerate(several):
        by_size.setdefault(len(units.sums), []).append(i)
    for n, members in by_size.items():
        done = 0
        for weights in exponential_weights(n, n_draws, seed):
            rows, totals = len(weights), dict[bytes, Floats]()
            for i in members:
                sizes = several[i].sizes[:, 0]
                key = sizes.tobytes()
                if key not in totals:
                    totals[key] = weights @ sizes
                drawn[i][done : done + rows] = (weights @ several[i].sums[:, 0]) / totals[key]
            done += rows
    found = []
    for means in drawn:
        better, worse = float((means > margin).mean()), float((means < -margin).mean())
        found.append(Chances(better, 1 - better - worse, worse))
    return found


HELD_WEIGHTS = 1 << 22
"""Weights of so many numbers are held for the next comparison, which needs the same ones: those of 1,000 queries."""


def exponential_weights(n: int, n_draws: int, seed: int) -> Iterable[Floats]:
    """Return random weights of n units, some draws at a time; they depend on nothing but what is given here."""
    return (held_weights if n * n_draws <= HELD_WEIGHTS else drawn_weights)(n, n_draws, seed)


@lru_cache(maxsize=1)
def held_weights(n: int, n_draws: int, seed: int) -> Iterable[Floats]:
    return tuple(drawn_weights(n, n_draws, seed))


def drawn_weights(n: int, n_draws: int, seed: int) -> Iterator[Floats]:
    for rng, rows in streams(seed, "Bayesian bootstrap", n_resamples=n_draws, width=n):
        yield rng.standard_exponential((rows, n))


ON_REQUEST: Registry[Callable[..., Test]] = Registry(
    "test",
    {
        "wilcoxon": Entry("rankscope.stats.paired:wilcoxon_test", "Wilcoxon's signed-rank test"),
        "sign": Entry("rankscope.stats.paired:sign_test", "the sign test: it only counts who won"),
        "bootstrap": Entry("rankscope.stats.paired:bootstrap_shift_test", "the paired bootstrap-shift test"),
        "mcnemar": Entry("rankscope.stats.paired:mcnemar_test", "McNemar's exact test, for measures of 0 and 1"),
    },
)
"""Tests that a comparison adds when asked to, on its units of evidence; none of them decides.

To add one, write a function of the units, with n_resamples and seed by name, and one line here.
"""
