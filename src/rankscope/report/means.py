"""The mean of one system by one measure with its interval, as tables and charts show it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from rankscope.comparison.known_measures import range_of
from rankscope.measures.scores import RunScores, Scores, show
from rankscope.records import Record
from rankscope.stats.interval import LEVEL, Interval, mean_interval, percent

METHODS = {
    "t": "Student's t",
    "cluster t": "t by cluster",
    "Wilson": "Wilson for scores of 0 and 1",
    "logit-t": "t on the logit scale where t would leave the range",
    "log-t": "t on the log scale where t would leave the range",
}
"""How an interval came about, by its method."""


class Mean(Record):
    """One number for all queries, with its interval where there is one."""

    value: float
    interval: Interval | None
    why_none: str = ""
    """Why there is no interval, where one would be expected."""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, NaN where there is none."""
        return (math.nan, math.nan) if self.interval is None else (self.interval.low, self.interval.high)


def mean_of(run: RunScores, measure: str, *, level: float = LEVEL, cluster_of: Mapping[str, str] | None = None) -> Mean:
    """Return the mean of a measure with its interval; sums, medians and the like have none.

    `cluster_of` names the cluster of each query, where queries are not independent.
    """
    value = run.aggregate_of(measure).value
    if run.aggregates[run.measures.index(measure)] != "mean":
        return Mean(value, None)
    column = run.column(measure)
    known = ~np.isnan(column)
    weights = None if run.weights is None else run.weights[known]
    clusters = None if cluster_of is None else np.array([cluster_of[query] for query in run.query_ids])[known]
    ends = range_of(measure, column)
    interval = mean_interval(column[known], level=level, range=ends, weights=weights, clusters=clusters)
    if interval:
        return Mean(value, interval)
    counted = column[known] if weights is None else column[known][weights > 0]
    if len(counted) < 2:
        return Mean(value, None, "only one query counts" if len(counted) else "no query counts")
    if counted.min() < counted.max():
        return Mean(value, None, "too few queries count for a measure without an upper end")
    return Mean(value, None, f"every query scores {show(counted[0]).rstrip('0').rstrip('.')}")


def interval_notes(scores: Scores) -> Iterator[str]:
    by_method: dict[str, dict[str, None]] = {}
    lacking: dict[tuple[str, str], list[str]] = {}
    for name, run in scores.items():
        for measure in run.measures:
            mean = mean_of(run, measure)
            if mean.interval is not None:
                by_method.setdefault(mean.interval.method, {})[measure] = None
            if mean.why_none:
                lacking.setdefault((name, mean.why_none), []).append(measure)
    ways = [
        METHODS[method] + (f" ({', '.join(measures)})" if len(by_method) > 1 else "")
        for method, measures in by_method.items()
    ]
    kind = "mean over queries" if scores.weighted_by is None else f"mean over queries, weighted by {scores.weighted_by}"
    yield f"{kind}; {percent(LEVEL)} intervals: {'; '.join(ways)}" if ways else kind
    for (name, why), measures in lacking.items():
        yield f"{name}: no interval of {', '.join(measures)}: {why}"
