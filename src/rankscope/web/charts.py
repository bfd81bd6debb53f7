"""Charts of pages, drawn from what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.errors import OptionError
from rankscope.records import Record, or_nan
from rankscope.report import document as doc
from rankscope.report.charts import figure_of
from rankscope.stats.interval import LEVEL, percent


class MappedSystem(Record):
    """Where a system stands by quality and latency."""

    name: str
    mean: float
    low: float | None
    high: float | None
    latency_ms: float
    """The median."""


def quality_latency_figure(
    systems: Sequence[MappedSystem], measure: str, *, lower_is_better: bool = False
) -> list[doc.Figure]:
    """Return the chart of quality and latency; none with fewer than two systems that were timed."""
    from rankscope.report.charts.maps import MapPoint, QualityLatencyChart

    if len(systems) < 2:
        return []
    points = [
        MapPoint(each.name, each.latency_ms, each.mean, y_low=or_nan(each.low), y_high=or_nan(each.high))
        for each in systems
    ]
    chart = QualityLatencyChart(
        points,
        measure,
        better="lower" if lower_is_better else "higher",
        title="Quality and latency",
        subtitle=f"with {percent(LEVEL)} intervals; the line joins systems that none beats in both",
    )
    try:
        return [figure_of(chart)]
    except OptionError:  # a latency of 0, as of a system that answers from memory, has no place on the axis
        return []
