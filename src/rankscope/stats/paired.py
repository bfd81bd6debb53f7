"""Paired tests: could a difference between two systems on the same queries be chance?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.errors import OptionError
from rankscope.stats.clusters import cluster_sums
from rankscope.stats.interval import bootstrap, row_means
from rankscope.stats.rng import SignFlips

N_RESAMPLES = 9_999
MANY_RESAMPLES = 99_999
MC_ERRORS = 3.0
"""How many Monte-Carlo standard errors a p-value may be from alpha before more resamples are drawn."""
SYMMETRY = "tests symmetry or the median, not the mean: unequal shapes look like a difference"
ANTI_CONSERVATIVE = "anti-conservative for few queries: its p-values are too small"


@dataclass(frozen=True, slots=True)
class Test:
    """What a test says: the p-value, and how it was obtained."""

    p: float
    method: str
    n_resamples: int | None = None
    """None where nothing was drawn at random."""
    caveat: str = ""


def sign_flip_test(
    differences: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0, clusters: np.ndarray | None = None
) -> Test:
    """Return the two-sided sign-flip permutation test of the mean difference.

    Exact where all sign patterns can be tried; else p = (b + 1) / (B + 1), so that it is never 0 (Phipson & Smyth
    2010). With clusters whole groups of queries are flipped together. For 0/1 measures this is McNemar's exact test.
    """
    check(differences)
    units = differences if clusters is None else cluster_sums(differences, clusters)
    moved = units[units != 0]  # a difference of 0 is the same with either sign, so patterns of the others suffice
    if SignFlips(len(moved), n_resamples, seed).is_exact:
        return Test(_sign_flip_p(moved, SignFlips(len(moved), n_resamples, seed)), "exact sign-flip permutation")
    return Test(_sign_flip_p(units, SignFlips(len(units), n_resamples, seed)), "sign-flip permutation", n_resamples)


def _sign_flip_p(units: Floats, flips: SignFlips) -> float:
    """Return how often flipped units add up to as much as they do unflipped."""
    rounding = 1e-12 * float(np.abs(units).sum())  # how far two sums of the same numbers can differ by their order
    threshold = abs(float(units.sum())) - rounding
    reached = sum(int(np.count_nonzero(np.abs(sums) >= threshold)) for sums in flips.sums(units))
    return float(flips.p_value(np.array(reached, dtype=np.float64)))


def refined_sign_flip(
    differences: Floats,
    *,
    alpha: float = 0.05,
    n_resamples: int = N_RESAMPLES,
    many_resamples: int = MANY_RESAMPLES,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> Test:
    """Return the sign-flip test, with more resamples where chance alone could put p on the other side of alpha."""
    test = sign_flip_test(differences, n_resamples=n_resamples, seed=seed, clusters=clusters)
    if not is_near(test, alpha):
        return test
    return sign_flip_test(differences, n_resamples=max(n_resamples, many_resamples), seed=seed, clusters=clusters)


def is_near(test: Test, alpha: float) -> bool:
    """Tell whether chance in the resampling could have put the p-value on the other side of alpha."""
    if test.n_resamples is None:
        return False
    return abs(test.p - alpha) <= MC_ERRORS * math.sqrt(test.p * (1 - test.p) / test.n_resamples)


def paired_t_test(differences: Floats) -> Test:
    """Return Student's paired t test; p is 1 where nothing differs at all, NaN where one query cannot tell."""
    from scipy.special import stdtr

    check(differences)
    n, mean = len(differences), float(differences.mean())
    if not differences.any():
        return Test(1.0, "paired t")
    if n < 2:  # noqa: PLR2004 (one query has no spread)
        return Test(math.nan, "paired t", caveat="one query has no spread to compare its difference with")
    spread = float(differences.std(ddof=1))
    if spread == 0:
        return Test(0.0, "paired t", caveat="all differences are equal, so t is infinite")
    return Test(float(2 * stdtr(n - 1, -abs(mean / (spread / math.sqrt(n))))), "paired t")


def bootstrap_shift_test(differences: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Test:
    """Return the paired bootstrap-shift test, on request: how far means of resampled, centred differences stray."""
    check(differences)
    observed = float(differences.mean())
    means = bootstrap(differences - observed, row_means, n_resamples=n_resamples, seed=seed)
    rounding = 1e-12 * float(np.abs(differences).mean())
    reached = int(np.count_nonzero(np.abs(means) >= abs(observed) - rounding))
    return Test((reached + 1) / (n_resamples + 1), "bootstrap shift", n_resamples, ANTI_CONSERVATIVE)


def wilcoxon_test(differences: Floats) -> Test:
    """Return Wilcoxon's signed-rank test, on request: it does not test the mean."""
    from scipy.stats import wilcoxon

    check(differences)
    if not differences.any():
        return Test(1.0, "Wilcoxon signed-rank", caveat=SYMMETRY)
    return Test(float(wilcoxon(differences, zero_method="wilcox").pvalue), "Wilcoxon signed-rank", caveat=SYMMETRY)


def sign_test(differences: Floats) -> Test:
    """Return the sign test, on request: it only counts who won."""
    check(differences)
    return Test(_coin_p(differences), "sign", caveat=SYMMETRY)


def mcnemar_test(differences: Floats) -> Test:
    """Return McNemar's exact test for measures that are 0 or 1 per query."""
    check(differences)
    if not np.isin(differences, (-1.0, 0.0, 1.0)).all():
        raise OptionError("McNemar's test is for measures that are 0 or 1 per query, such as Success@k")
    return Test(_coin_p(differences), "exact McNemar")


def _coin_p(differences: Floats) -> float:
    """Return how likely a fair coin is at least as one-sided as wins and losses are."""
    from scipy.special import bdtr

    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def skewness(differences: Floats) -> float:
    """Return the skewness of the differences, on which tests of symmetry stumble."""
    spread = differences - differences.mean()
    variance = float((spread**2).mean())
    return float((spread**3).mean()) / variance**1.5 if variance > 0 else 0.0


def check(differences: Floats) -> None:
    """Refuse what no test can be made of."""
    if not len(differences):
        raise OptionError("a paired test needs at least one query that both systems have a score for")
    if np.isnan(differences).any():
        raise OptionError("a paired test needs numbers; leave undefined scores out first")


ON_REQUEST: dict[str, Callable[[Floats], Test]] = {
    "wilcoxon": wilcoxon_test,
    "sign": sign_test,
    "bootstrap": bootstrap_shift_test,
    "mcnemar": mcnemar_test,
}
"""Tests that a comparison adds when asked to; none of them decides."""
