"""Many comparisons: p-values that stay honest when several systems are compared at once."""

from __future__ import annotations

import math

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.errors import OptionError
from rankscope.stats.paired import N_RESAMPLES
from rankscope.stats.rng import SignFlips, streams
from rankscope.stats.studentized_range import exceedance

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
    """Return Benjamini and Hochberg's adjusted p-values, which control the share of false discoveries.

    They hold where the tests are independent or move together, as measures on the same queries do.
    """
    return _false_discoveries(p_values, 1.0)


def benjamini_yekutieli(p_values: Floats) -> Floats:
    """Return Benjamini and Yekutieli's adjusted p-values: as the former, but however the tests depend on each other."""
    return _false_discoveries(p_values, float((1 / np.arange(1, len(p_values) + 1)).sum()))


def _false_discoveries(p_values: Floats, factor: float) -> Floats:
    """Return p-values times m / rank and a factor, none larger than that of any larger p."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")[::-1]
    stepped = np.minimum.accumulate(p[order] * factor * len(p) / np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def max_t(differences: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return p-values of several challengers against one baseline, adjusted by the maximum over all of them.

    `differences` is queries x challengers; the same queries are flipped for all, so that their correlation counts.
    """
    _check_matrix(differences)
    n = len(differences)
    squares = (differences**2).sum(axis=0)
    observed = _t_from(differences.mean(axis=0), squares, n)
    flips = SignFlips(n, n_resamples, seed, "max t")
    reached = np.zeros(differences.shape[1])
    for signs in flips.signs():
        largest = _t_from(signs @ differences / n, squares, n).max(axis=1)
        reached += (largest[:, None] >= observed * (1 - _SAME)).sum(axis=0)
    return flips.p_value(reached)


def _t_from(means: Floats, squares: Floats, n: int) -> Floats:
    """Return |t| of means whose sums of squares do not change when signs are flipped; 0 where nothing differs."""
    variance = np.maximum(squares - n * means**2, 0.0) / (n - 1) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs(means) / np.sqrt(variance), posinf=math.inf)


def all_pairs_sign_flip(scores: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return the sign-flip p-value of every pair of systems, not adjusted; `scores` is queries x systems.

    One matrix product serves all pairs, since the flipped sum of differences is the difference of flipped sums.
    """
    _check_matrix(scores)
    threshold = np.abs(_pair_gaps(scores.sum(axis=0))) - _SAME * float(np.abs(scores).sum())
    flips = SignFlips(len(scores), n_resamples, seed)
    reached = np.zeros_like(threshold)
    for signs in flips.signs():
        for sums in signs @ scores:
            reached += np.abs(_pair_gaps(sums)) >= threshold
    return flips.p_value(reached)


def _pair_gaps(values: Floats) -> Floats:
    return np.asarray(values[:, None] - values[None, :])


def randomised_tukey(scores: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0) -> Floats:
    """Return the adjusted p-value of every pair by the randomised Tukey HSD test (Carterette 2012).

    System labels are permuted within each query; p is how often the range of all means reaches the pair's difference.
    """
    ranges = np.sort(permuted_ranges(scores, n_resamples=n_resamples, seed=seed))
    gaps = np.abs(_pair_gaps(scores.mean(axis=0))) - _SAME
    reached = n_resamples - np.searchsorted(ranges, gaps, side="left")
    return np.asarray((reached + 1) / (n_resamples + 1))


def permuted_ranges(scores: Floats, *, n_resamples: int, seed: int) -> Floats:
    """Return the range of the systems' means after permuting their labels within every query."""
    _check_matrix(scores)
    return np.concatenate(
        [
            np.ptp(rng.permuted(np.broadcast_to(scores, (rows, *scores.shape)), axis=2).mean(axis=1), axis=1)
            for rng, rows in streams(seed, "randomised Tukey", n_resamples=n_resamples, width=scores.size)
        ]
    )


def block_tukey(scores: Floats) -> Floats:
    """Return the adjusted p-value of every pair by Tukey's test in a two-way layout, queries being the blocks."""
    _check_matrix(scores)
    n, m = scores.shape
    error = residual_variance(scores)
    means = scores.mean(axis=0)
    first, second = np.triu_indices(m, 1)
    gaps = np.abs(means[first] - means[second])
    p_values = np.ones((m, m))
    p_values[first, second] = p_values[second, first] = (
        exceedance(gaps / math.sqrt(error / n), m, (n - 1) * (m - 1)) if error > 0 else np.where(gaps > 0, 0.0, 1.0)
    )
    return p_values


def residual_variance(scores: Floats) -> float:
    """Return the variance left when the effects of systems and queries are taken out."""
    n, m = scores.shape
    left = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    return float((left**2).sum() / ((n - 1) * (m - 1)))


def _check_matrix(scores: Floats) -> None:
    """Refuse what systems cannot be compared by."""
    if scores.ndim != 2 or len(scores) < 2:  # noqa: PLR2004 (rows and columns; one query has no spread)
        raise OptionError(f"a matrix of at least two queries by systems is needed, not one of shape {scores.shape}")
    if np.isnan(scores).any():
        raise OptionError("systems are compared by numbers; leave queries with undefined scores out first")
