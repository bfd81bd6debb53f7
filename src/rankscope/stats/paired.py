"""Paired tests: could a difference between two systems on the same queries be chance?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.errors import OptionError
from rankscope.stats.rng import all_signs, random_signs

N_RESAMPLES = 9_999
MANY_RESAMPLES = 99_999


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
    sums = _units(differences, clusters)
    moved = sums[sums != 0]  # a difference of 0 is the same with either sign
    observed = abs(float(moved.sum()))
    threshold = observed - _tolerance(moved)
    if (1 << min(len(moved), 62)) <= n_resamples + 1:
        totals = np.abs(all_signs(len(moved)) @ moved)
        return Test(float((totals >= threshold).mean()), "exact sign-flip permutation")
    reached = sum(
        int(np.count_nonzero(np.abs(signs @ moved) >= threshold))
        for signs in random_signs(len(moved), n_resamples=n_resamples, seed=seed, purpose="sign flip")
    )
    return Test((reached + 1) / (n_resamples + 1), "sign-flip permutation", n_resamples)


def _units(differences: Floats, clusters: np.ndarray | None) -> Floats:
    """Return what is flipped as one: each query, or each cluster's sum."""
    if np.isnan(differences).any():
        raise OptionError("a paired test needs numbers; leave undefined scores out first")
    if clusters is None:
        return differences
    _, member = np.unique(clusters, return_inverse=True)
    return np.bincount(member, weights=differences).astype(np.float64)


def _tolerance(values: Floats) -> float:
    """Return how far two sums of the same numbers can differ by rounding alone."""
    return 1e-12 * float(np.abs(values).sum())


def paired_t_test(differences: Floats) -> Test:
    """Return Student's paired t test; p is 1 where nothing differs at all."""
    from scipy.special import stdtr

    n = len(differences)
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    mean = float(differences.mean()) if n else 0.0
    if spread == 0:
        caveat = "" if mean == 0 else "all differences are equal, so t is infinite"
        return Test(1.0 if mean == 0 or n < 2 else 0.0, "paired t", caveat=caveat)  # noqa: PLR2004
    t = mean / (spread / math.sqrt(n))
    return Test(float(2 * stdtr(n - 1, -abs(t))), "paired t")


SYMMETRY = "tests symmetry or the median, not the mean: unequal shapes look like a difference"


def wilcoxon_test(differences: Floats) -> Test:
    """Return Wilcoxon's signed-rank test, on request: it does not test the mean."""
    from scipy.stats import wilcoxon

    if not differences.any():
        return Test(1.0, "Wilcoxon signed-rank", caveat=SYMMETRY)
    return Test(float(wilcoxon(differences, zero_method="wilcox").pvalue), "Wilcoxon signed-rank", caveat=SYMMETRY)


def sign_test(differences: Floats) -> Test:
    """Return the sign test, on request: it only counts who won."""
    from scipy.stats import binomtest

    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return Test(p, "sign", caveat=SYMMETRY)


def mcnemar_test(differences: Floats) -> Test:
    """Return McNemar's exact test for measures that are 0 or 1 per query."""
    from scipy.stats import binomtest

    if not np.isin(differences, (-1.0, 0.0, 1.0)).all():
        raise OptionError("McNemar's test is for measures that are 0 or 1 per query, such as Success@k")
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return Test(float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0, "exact McNemar")


def skewness(differences: Floats) -> float:
    """Return the skewness of the differences, on which tests of symmetry stumble."""
    spread = differences - differences.mean()
    variance = float((spread**2).mean())
    return float((spread**3).mean()) / variance**1.5 if variance > 0 else 0.0
