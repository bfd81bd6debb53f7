"""How much slower one system is than another: the ratio of a high percentile of their times, with its interval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import OptionError
from rankscope.records import Record
from rankscope.stats.interval import N_RESAMPLES, Interval, bca_interval

PERCENTILE = 95


class LatencyRatio(Record):
    """The 95th percentiles of the times of two systems over the same queries, and their ratio."""

    n: int
    """Queries that are timed for both."""
    old_ms: float
    new_ms: float
    ratio: float
    interval: Interval | None
    """By the BCa bootstrap over queries; null for fewer than two of them."""


def latency_ratio(
    old: Mapping[str, float], new: Mapping[str, float], *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> LatencyRatio:
    """Return how the 95th percentile of latency changed, over the queries that both have; times in milliseconds.

    Queries are drawn as pairs: one that takes long takes long for both. Percentiles are interpolated linearly.
    """
    shared = [query for query in old if query in new]
    before, after = (np.array([times[query] for query in shared], dtype=np.float64) for times in (old, new))
    if not shared or not (before > 0).all() or not (after > 0).all():
        raise OptionError("latencies are times above 0 of queries that both systems have")

    def ratio_of(rows: Floats) -> Floats:
        drawn = rows.astype(np.int64)
        return np.asarray(np.percentile(after[drawn], PERCENTILE, axis=1)) / np.asarray(
            np.percentile(before[drawn], PERCENTILE, axis=1)
        )

    places = np.arange(len(shared), dtype=np.float64)
    interval = bca_interval(places, ratio_of, n_resamples=n_resamples, seed=seed) if len(shared) > 1 else None
    old_ms, new_ms = (float(np.percentile(times, PERCENTILE)) for times in (before, after))
    return LatencyRatio(len(shared), old_ms, new_ms, new_ms / old_ms, interval)
