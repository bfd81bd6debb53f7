"""Charts as blocks of a report; a chart's module is loaded when one is drawn, so a text report loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankscope.errors import OptionError
from rankscope.report.charts import CHARTS
from rankscope.report.document import Figure

if TYPE_CHECKING:
    from rankscope.report.charts.chart import Chart


def figure(kind: str, source: str, *data: Any) -> Figure:
    """Draw a chart of the registry from its source, e.g. `figure("forest", "comparison", comparison)`."""
    return figure_of(getattr(CHARTS[kind], f"from_{source}")(*data))


def figure_of(chart: Chart) -> Figure:
    drawn = chart.render()
    return Figure(drawn.title, drawn.html, drawn.alt)


def figures(kind: str, source: str, *data: Any) -> list[Figure]:
    """Return a chart as a block, or no block where there is nothing to draw, as where a system has no score."""
    try:
        return [figure(kind, source, *data)]
    except OptionError:
        return []
