"""Charts as SVG, one kind per file: its numbers are collected, checked, told in words and drawn there.

To add a kind, write a file with a class derived from `chart.Chart` and one line below. A chart is imported when it is
asked for, so a text report loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rankscope.registry import Entry, Registry

if TYPE_CHECKING:
    from rankscope.report.charts.chart import Chart

__all__ = ["CHARTS", "ChartSource", "charts_from"]

CHARTS: Registry[type[Chart]] = Registry(
    "chart",
    {
        "forest": Entry(
            "rankscope.report.charts.forest:ForestChart",
            "differences with intervals, against zero and the margin that matters",
        ),
        "differences": Entry(
            "rankscope.report.charts.differences:DifferencesChart",
            "the differences of the queries, from the largest gain to the largest loss",
        ),
        "scatter": Entry("rankscope.report.charts.scatter:ScatterChart", "one system against another, query by query"),
        "curves": Entry(
            "rankscope.report.charts.lines:CurvesChart", "a measure against its cut-off, one line per system"
        ),
        "precision_recall": Entry(
            "rankscope.report.charts.lines:PrecisionRecallChart", "precision against recall, one line per system"
        ),
        "strata": Entry(
            "rankscope.report.charts.heat:StrataChart",
            "strata by systems, or by differences, as a heat map with numbers",
        ),
        "systems": Entry("rankscope.report.charts.heat:SystemsChart", "systems by measures as a heat map with numbers"),
        "distribution": Entry(
            "rankscope.report.charts.distribution:DistributionChart",
            "how scores are spread over queries, one box per system",
        ),
        "positions": Entry(
            "rankscope.report.charts.positions:PositionsChart", "at which rank the first relevant doc stands"
        ),
        "overlap": Entry(
            "rankscope.report.charts.overlap:OverlapChart", "how alike the rankings of systems are, pair by pair"
        ),
        "relevance_diversity": Entry(
            "rankscope.report.charts.maps:RelevanceDiversityChart",
            "systems by relevance and diversity, with those that none beats in both",
        ),
        "trend": Entry("rankscope.report.charts.trend:TrendChart", "a value over time or versions, with its target"),
        "quality_latency": Entry(
            "rankscope.report.charts.maps:QualityLatencyChart",
            "systems by latency and quality, with those that none beats in both",
        ),
    },
    entry_points="rankscope.charts",
)

ChartSource = Literal["comparison", "runs", "score_files"]


def charts_from(source: ChartSource) -> list[str]:
    """Return the kinds that can be drawn from a source: those with a class method `from_comparison`, say."""
    return [name for name in CHARTS if hasattr(CHARTS[name], f"from_{source}")]
