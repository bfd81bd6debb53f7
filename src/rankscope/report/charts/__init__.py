"""Charts as SVG, one kind per file: its numbers are collected, checked, put into words and drawn there.

To add a kind, write a file with a class derived from `chart.Chart` and one line below. A chart is imported when it is
asked for, so a text report loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from rankscope.errors import OptionError
from rankscope.registry import Entry, Registry

if TYPE_CHECKING:
    from rankscope.report.charts.chart import Chart
    from rankscope.report.document import Figure

CHARTS: Registry[type[Chart]] = Registry(
    "chart",
    {
        name: Entry(f"rankscope.report.charts.{target}", summary)
        for name, target, summary in (
            ("forest", "rows:ForestChart", "differences with intervals, against zero and the margin that matters"),
            ("differences", "pairs:DifferencesChart", "differences by query, from largest gain to largest loss"),
            ("scatter", "pairs:ScatterChart", "one system against another, query by query"),
            ("curves", "lines:CurvesChart", "a measure against its cut-off, one line per system"),
            ("precision_recall", "lines:PrecisionRecallChart", "precision against recall, one line per system"),
            ("strata", "heat:StrataChart", "strata by systems, or by differences, as a heat map with numbers"),
            ("systems", "heat:SystemsChart", "systems by measures as a heat map with numbers"),
            ("distribution", "rows:DistributionChart", "how scores are spread over queries, a box per system"),
            ("positions", "positions:PositionsChart", "at which rank the first relevant doc stands"),
            ("overlap", "heat:OverlapChart", "how alike the rankings of systems are, pair by pair"),
            ("relevance_diversity", "maps:RelevanceDiversityChart", "systems by relevance and diversity, with a front"),
            ("trend", "lines:TrendChart", "a value over time or versions, with its target"),
            ("quality_latency", "maps:QualityLatencyChart", "systems by latency and quality, with a front"),
        )
    },
    entry_points="rankscope.charts",
)

ChartSource = Literal["comparison", "runs", "score_files"]
DRAWN_FROM: dict[ChartSource, tuple[str, ...]] = {
    "comparison": ("forest", "differences", "scatter", "strata", "systems", "distribution"),
    "runs": (
        "curves",
        "precision_recall",
        "systems",
        "distribution",
        "positions",
        "overlap",
        "relevance_diversity",
    ),
    "score_files": ("trend",),
}
"""Our own charts by what commands draw them from, so that help need not load them."""


def charts_from(source: ChartSource) -> list[str]:
    """Return the kinds that can be drawn from a source: those with a class method `from_comparison`, say."""
    ours = DRAWN_FROM[source]
    others = [name for name in CHARTS if not CHARTS.entries[name].target.startswith("rankscope.report.charts.")]
    return [*ours, *(name for name in others if hasattr(CHARTS[name], f"from_{source}"))]


def figure(kind: str, source: str, *data: Any) -> Figure:
    """Draw a chart for a report from its source, e.g. `figure("forest", "comparison", comparison)`."""
    return figure_of(getattr(CHARTS[kind], f"from_{source}")(*data))


def figure_of(chart: Chart) -> Figure:
    from rankscope.report.document import Figure

    drawn = chart.render()
    return Figure(drawn.title, drawn.html, drawn.alt)


def figures(kind: str, source: str, *data: Any) -> list[Figure]:
    """Return a chart as a block, or no block where there is nothing to draw, as where a system has no score."""
    try:
        return [figure(kind, source, *data)]
    except OptionError:
        return []
