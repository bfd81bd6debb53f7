"""Many comparisons: p-values that stay honest when several systems are compared at once."""

from __future__ import annotations

import math

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.stats.paired import N_RESAMPLES
from rankscope.stats.rng import blocks, random_signs, stream

_SAME = 1e-12


def holm(p_values: Floats) -> Floats:
    """Return Holm's adjusted p-values: the smallest counts m times, the next m-1 times, and so on."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values, which control the share of false discoveries."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")[::-1]
    stepped = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def max_t(differences: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return p-values of several challengers against one baseline, adjusted by the maximum over all of them.

    `differences` is queries x challengers; the same queries are flipped for all, so that their correlation counts.
    """
    observed = _t_values(differences.mean(axis=0), differences)
    squares = (differences**2).sum(axis=0)
    reached = np.zeros(differences.shape[1])
    for signs in random_signs(len(differences), n_resamples=n_resamples, seed=seed, purpose="max t"):
        means = signs @ differences / len(differences)
        largest = _t_from(means, squares, len(differences)).max(axis=1)
        reached += (largest[:, None] >= observed - _SAME).sum(axis=0)
    return (reached + 1) / (n_resamples + 1)


def _t_values(means: Floats, differences: Floats) -> Floats:
    return _t_from(means, (differences**2).sum(axis=0), len(differences))


def _t_from(means: Floats, squares: Floats, n: int) -> Floats:
    """Return |t| of means whose sums of squares do not change when signs are flipped."""
    variance = np.maximum(squares - n * means**2, 0.0) / (n - 1) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs(means) / np.sqrt(variance), posinf=math.inf)


def all_pairs_sign_flip(scores: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return the sign-flip p-value of every pair of systems, not adjusted; `scores` is queries x systems.

    One matrix product serves all pairs, since the flipped sum of differences is the difference of flipped sums.
    """
    n_systems = scores.shape[1]
    observed = _pair_gaps(scores.sum(axis=0))
    threshold = np.abs(observed) - _SAME * float(np.abs(scores).sum())
    reached = np.zeros((n_systems, n_systems))
    for signs in random_signs(len(scores), n_resamples=n_resamples, seed=seed, purpose="sign flip"):
        for sums in signs @ scores:
            reached += np.abs(_pair_gaps(sums)) >= threshold
    return (reached + 1) / (n_resamples + 1)


def _pair_gaps(values: Floats) -> Floats:
    return np.asarray(values[:, None] - values[None, :])


def randomised_tukey(scores: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return the adjusted p-value of every pair by the randomised Tukey HSD test (Carterette 2012).

    System labels are permuted within each query; p is how often the range of all means reaches the pair's difference.
    """
    means = scores.mean(axis=0)
    ranges = np.sort(permuted_ranges(scores, n_resamples=n_resamples, seed=seed))
    gaps = np.abs(_pair_gaps(means)) - _SAME
    reached = n_resamples - np.searchsorted(ranges, gaps, side="left")
    return np.asarray((reached + 1) / (n_resamples + 1))


def permuted_ranges(scores: Floats, *, n_resamples: int, seed: int) -> Floats:
    """Return the range of the systems' means after permuting their labels within every query."""
    found = []
    for block, size in blocks(n_resamples):
        rng = stream(seed, "randomised Tukey", block)
        for _ in range(size):
            means = rng.permuted(scores, axis=1).mean(axis=0)
            found.append(float(means.max() - means.min()))
    return np.array(found)


def block_tukey(scores: Floats) -> Floats:
    """Return the adjusted p-value of every pair by Tukey's test in a two-way layout, queries being the blocks."""
    from scipy.stats import studentized_range

    n, m = scores.shape
    error = residual_variance(scores)
    gaps = np.abs(_pair_gaps(scores.mean(axis=0)))
    if error == 0:
        return np.where(gaps > 0, 0.0, 1.0)
    return np.asarray(studentized_range.sf(gaps / math.sqrt(error / n), m, (n - 1) * (m - 1)))


def residual_variance(scores: Floats) -> float:
    """Return the variance left when the effects of systems and queries are taken out."""
    n, m = scores.shape
    left = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    return float((left**2).sum() / ((n - 1) * (m - 1)))
