"""Slices of the queries: does the difference between two systems sit in some of them?"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.stats.units import Units


def contrast_p(differences: Floats, members: Bools, units: Units | None = None) -> float:
    """Return the p-value that a slice's mean difference is another one than that of all other queries.

    Welch's test where each query is a unit of its own. With clusters or weights the standard error comes from each
    unit's influence on the contrast, so that a cluster may lie on both sides. NaN where either side has fewer than two
    units, or nothing varies.
    """
    from scipy.special import stdtr

    units = units or Units.of(len(differences))
    sides = [units.sums(np.where(mask, differences, math.nan)[:, None]) for mask in (members, ~members)]
    moments = [side.moments() for side in sides]
    counts = [float(moment.n_units[0]) for moment in moments]
    if min(counts) < 2:
        return math.nan
    gap = float(moments[0].delta[0] - moments[1].delta[0])
    if units.are_plain:
        parts = np.array([float(moment.error[0]) ** 2 for moment in moments])
        variance = float(parts.sum())
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


def counted_bins(values: Iterable[int], edges: tuple[int, ...]) -> list[str]:
    """Return words for whole numbers by range: with edges 2, 5 these are `1`, `2-4` and `5+`."""
    lows = [1, *edges]
    names = [f"{low}" if low == high - 1 else f"{low}-{high - 1}" for low, high in zip(lows, edges, strict=False)]
    names.append(f"{edges[-1]}+")
    return ["0" if value < 1 else names[bisect_right(edges, value)] for value in values]
