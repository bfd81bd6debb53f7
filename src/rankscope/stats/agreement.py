"""Agreement of rankings: of systems by two measures, or of docs by two systems."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import OptionError


def kendall_tau(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b: concordant minus discordant pairs, corrected for ties; NaN where all are tied."""
    x, y = _same_length(x, y)
    dx, dy = np.sign(x[:, None] - x[None, :]), np.sign(y[:, None] - y[None, :])
    scale = np.sqrt(float((dx != 0).sum()) * float((dy != 0).sum()))
    return float((dx * dy).sum() / scale) if scale else float("nan")


def tau_ap(truth: Floats, estimate: Floats) -> float:
    """Return the AP correlation of Yilmaz, Aslam & Robertson (2008): like tau, but the top of the estimate counts more.

    Both are scores of the same systems, higher being better; ties in the estimate are broken by their order.
    """
    truth, estimate = _same_length(truth, estimate)
    order = np.argsort(-estimate, kind="stable")
    ranked = truth[order]
    shares = [float((ranked[:i] > ranked[i]).mean()) for i in range(1, len(ranked))]
    return 2 * float(np.mean(shares)) - 1


def rbo(first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = 0.9) -> float:
    """Return extrapolated rank-biased overlap of two rankings without repeats (Webber, Moffat & Zobel 2010)."""
    if not 0 < p < 1:
        raise OptionError(f"p = {p} is not between 0 and 1")
    short, long = sorted((list(first), list(second)), key=len)
    if not short:
        return 1.0 if not long else 0.0
    seen_short: set[Hashable] = set()
    seen_long: set[Hashable] = set()
    overlaps = []
    for depth, doc in enumerate(long):
        seen_long.add(doc)
        if depth < len(short):
            seen_short.add(short[depth])
        overlaps.append(len(seen_short & seen_long))
    return _extrapolated(overlaps, len(short), len(long), p)


def _extrapolated(overlaps: list[int], s: int, length: int, p: float) -> float:
    """Return equation 32 of the paper: overlap so far, carried on beyond what both rankings show."""
    x_s, x_l = overlaps[s - 1], overlaps[-1]
    total = sum(x / d * p**d for d, x in enumerate(overlaps, 1))
    total += sum(x_s * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    return float((1 - p) / p * total + ((x_l - x_s) / length + x_s / s) * p**length)


def overlap_share(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return the share of the shorter list that is in the other: |A ∩ B| / min(|A|, |B|)."""
    a, b = set(first), set(second)
    return len(a & b) / min(len(a), len(b)) if a and b else float("nan")


def _same_length(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) != len(y) or len(x) < 2:
        raise OptionError(f"two rankings of the same {len(x)} and {len(y)} systems are needed, at least two of them")
    return x, y
