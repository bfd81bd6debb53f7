"""Charts by the names of their kinds, drawn at once: `forest(rows, ...)` is `ForestChart(rows, ...).render()`."""

from rankscope.report.charts import CHARTS
from rankscope.report.charts.heat import HeatCell
from rankscope.report.charts.lines import ChartLine
from rankscope.report.charts.maps import MapPoint
from rankscope.report.charts.matrix import MatrixCell
from rankscope.report.charts.palette import PAGE_CSS
from rankscope.report.charts.positions import BandCounts
from rankscope.report.charts.rows import ForestRow, ScoreSpread
from rankscope.report.charts.trend import TrendEvent, TrendPoint
from rankscope.report.charts.waterfall import WaterfallPart

__all__ = [
    "KINDS",
    "PAGE_CSS",
    "BandCounts",
    "ChartLine",
    "ForestRow",
    "HeatCell",
    "MapPoint",
    "MatrixCell",
    "ScoreSpread",
    "TrendEvent",
    "TrendPoint",
    "WaterfallPart",
]

KINDS = tuple(CHARTS)


def __getattr__(kind):
    if kind not in CHARTS:
        raise AttributeError(kind)
    return lambda *data, **options: CHARTS[kind](*data, **options).render()
