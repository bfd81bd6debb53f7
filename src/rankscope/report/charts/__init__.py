"""Charts as SVG, related kinds in one file: their numbers are collected, checked, put into words and drawn there.

To add a kind, write a file with a class derived from `chart.Chart` and one line below. A chart is imported when it is
asked for, so a text report loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from rankscope.errors import OptionError, give_warning
from rankscope.registry import Entry, Registry

if TYPE_CHECKING:
    from rankscope.report.charts.chart import Chart
    from rankscope.report.document import Figure

ChartSource = Literal["comparison", "runs", "score_files"]
OURS = (
    (
        "forest",
        "rows:ForestChart",
        "comparison",
        "differences with intervals, against zero and the margin that matters",
    ),
    ("matrix", "matrix:MatrixChart", "comparison", "who beats whom: the verdicts on all pairs of systems"),
    ("differences", "pairs:DifferencesChart", "comparison", "differences by query, from largest gain to largest loss"),
    ("scatter", "pairs:ScatterChart", "comparison", "one system against another, query by query"),
    ("curves", "lines:CurvesChart", "runs", "a measure against its cut-off, one line per system"),
    ("precision_recall", "lines:PrecisionRecallChart", "runs", "precision against recall, one line per system"),
    ("strata", "heat:StrataChart", "comparison", "strata by systems, or by differences, as a heat map with numbers"),
    ("systems", "heat:SystemsChart", "comparison runs", "systems by measures as a heat map with numbers"),
    (
        "distribution",
        "rows:DistributionChart",
        "comparison runs",
        "how scores are spread over queries, a box per system",
    ),
    ("positions", "positions:PositionsChart", "runs", "at which rank the first relevant doc stands"),
    ("overlap", "heat:OverlapChart", "runs", "how alike the rankings of systems are, pair by pair"),
    ("relevance_diversity", "maps:RelevanceDiversityChart", "runs", "systems by relevance and diversity, with a front"),
    ("trend", "trend:TrendChart", "score_files", "a value over time or versions, with its target"),
    ("quality_latency", "maps:QualityLatencyChart", "", "systems by latency and quality, with a front"),
    ("waterfall", "waterfall:WaterfallChart", "", "what moved a number from its first value to its last"),
)
"""Name, place, what commands draw it from, and summary of each kind: help need not load them."""
CHARTS: Registry[type[Chart]] = Registry(
    "chart",
    {name: Entry(f"rankscope.report.charts.{target}", summary) for name, target, _, summary in OURS},
    entry_points="rankscope.charts",
)


def charts_from(source: ChartSource) -> list[str]:
    """Return the kinds that can be drawn from a source: those with a class method `from_comparison`, say."""
    sources_of = {name: sources.split() for name, _, sources, _ in OURS}
    kinds = [name for name, sources in sources_of.items() if source in sources]
    for name in (name for name in CHARTS if name not in sources_of):
        try:
            if hasattr(CHARTS[name], f"from_{source}"):
                kinds.append(name)
        except OptionError as error:  # somebody else's chart that cannot be loaded: the others can
            give_warning(error.message)
    return kinds


def figure(kind: str, source: str, *data: Any, **options: Any) -> Figure:
    """Draw a chart for a report from its source, e.g. `figure("forest", "comparison", comparison)`."""
    return figure_of(getattr(CHARTS[kind], f"from_{source}")(*data, **options))


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
