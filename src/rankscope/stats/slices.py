"""Slices of the queries: does the difference between two systems sit in some of them?"""

from __future__ import annotations

import math

import numpy as np

from rankscope.core.arrays import Bools, Floats


def contrast_p(differences: Floats, members: Bools) -> float:
    """Return Welch's p-value that a slice's differences have another mean than those of all other queries.

    NaN where either side has fewer than two queries, or nothing varies.
    """
    from scipy.special import stdtr

    known = ~np.isnan(differences)
    inside, outside = differences[members & known], differences[~members & known]
    if min(len(inside), len(outside)) < 2:  # noqa: PLR2004 (one query has no spread)
        return math.nan
    parts = np.array([inside.var(ddof=1) / len(inside), outside.var(ddof=1) / len(outside)])
    if parts.sum() == 0:
        return math.nan
    df = parts.sum() ** 2 / (parts**2 / np.array([len(inside) - 1, len(outside) - 1])).sum()
    t = (inside.mean() - outside.mean()) / math.sqrt(parts.sum())
    return float(2 * stdtr(df, -abs(t)))


def counted_bins(values: Floats, edges: tuple[int, ...]) -> list[str]:
    """Return words for whole numbers by range: with edges 2, 5 these are `1`, `2-4` and `5+`."""
    lows = [1, *edges]
    names = [f"{low}" if low == high - 1 else f"{low}-{high - 1}" for low, high in zip(lows, edges, strict=False)]
    names.append(f"{edges[-1]}+")
    places = np.searchsorted(np.array(edges), values, side="right")
    return ["0" if value < 1 else names[place] for value, place in zip(values.tolist(), places.tolist(), strict=True)]
