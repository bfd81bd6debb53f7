"""Charts as SVG: plain data in, a `Chart` out. Nothing is computed here, and no files are touched."""

from __future__ import annotations

__all__ = [
    "KINDS",
    "PAGE_CSS",
    "Better",
    "Chart",
    "Counts",
    "ForestRow",
    "HeatCell",
    "Line",
    "MapPoint",
    "Spread",
    "TrendPoint",
    "curves",
    "differences",
    "distribution",
    "forest",
    "overlap",
    "positions",
    "precision_recall",
    "quality_latency",
    "relevance_diversity",
    "scatter",
    "strata",
    "systems",
    "trend",
]

from rankscope.report.charts.chart import PAGE_CSS, Better, Chart
from rankscope.report.charts.differences import differences
from rankscope.report.charts.distribution import Spread, distribution
from rankscope.report.charts.forest import ForestRow, forest
from rankscope.report.charts.heat import HeatCell, strata, systems
from rankscope.report.charts.lines import Line, curves, precision_recall
from rankscope.report.charts.maps import MapPoint, quality_latency, relevance_diversity
from rankscope.report.charts.overlap import overlap
from rankscope.report.charts.positions import Counts, positions
from rankscope.report.charts.scatter import scatter
from rankscope.report.charts.trend import TrendPoint, trend

KINDS: dict[str, str] = {
    "forest": "differences with intervals, against zero and the margin that matters",
    "differences": "the differences of the queries, from the largest gain to the largest loss",
    "scatter": "one system against another, query by query",
    "curves": "a measure against its cut-off, one line per system",
    "precision_recall": "precision against recall, one line per system",
    "strata": "strata by systems, or by differences, as a heat map with numbers",
    "systems": "systems by measures as a heat map with numbers",
    "overlap": "how alike the rankings of systems are, pair by pair",
    "distribution": "how scores are spread over queries, one box per system",
    "positions": "at which rank the first relevant doc stands",
    "relevance_diversity": "systems by relevance and diversity, with those that none beats in both",
    "trend": "a value over time or versions, with its target",
    "quality_latency": "systems by latency and quality, with those that none beats in both",
}
"""Every kind of chart and what it shows; each is drawn by the function of the same name."""
