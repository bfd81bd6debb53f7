"""Many exploratory comparisons: p-values that control the share of false claims among all claims."""

from __future__ import annotations

import numpy as np

from rankscope.arrays import Floats


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values, which control the share of false discoveries.

    They hold where the tests are independent or move together, as measures on the same queries do.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")[::-1]
    stepped = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def residual_variance(scores: Floats) -> float:
    """Return the variance left when the effects of systems and queries are taken out."""
    n, m = scores.shape
    left = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True) + scores.mean()
    return float((left**2).sum() / ((n - 1) * (m - 1)))
