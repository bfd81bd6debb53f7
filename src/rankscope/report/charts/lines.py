"""Lines: a measure against its cut-off, and precision against recall."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Self

from rankscope.analysis.overview import RECALLS, precision_by_recall, scores_by_cutoff
from rankscope.errors import OptionError
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.report.charts import axes
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Axis, Plot, fixed_axis, linear_axis, log_axis
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import SWATCH, Drawing
from rankscope.report.charts.palette import AXIS, DASHES, MARKERS, SERIES, marker
from rankscope.report.charts.sources import RunData, weighted_words
from rankscope.report.charts.svg import Attribute, Attributes, element, group, polyline, straight, tip
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

MOST_NAMED = len(SERIES)
"""More lines cannot be distinguished; those behind them are thin and grey, with their name as a tooltip."""
MOST_MARKED = 16  # points of a line with markers; a lone point always has one
WIDE_RANGE = 20  # from this ratio on the cut-offs stand on a logarithmic axis
TENTHS = tuple(i / 10 for i in range(0, 11, 2))


class ChartLine(Record):
    """A system's line through (x, y), with an optional band from low to high; NaN leaves a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def stretches(self) -> Iterator[list[int]]:
        for is_defined, members in groupby(range(len(self.y)), key=lambda i: math.isfinite(self.y[i])):
            if is_defined:
                yield list(members)

    def point_words(self, i: int) -> str:
        return f"{n.shown(self.y[i])} at {self.x[i]:g}"

    @property
    def words(self) -> str:
        known = [i for i, y in enumerate(self.y) if math.isfinite(y)]
        ends = dict.fromkeys([*known[:1], *known[-1:]])
        return f"{self.name}: {', '.join(map(self.point_words, ends)) or 'undefined'}"

    def checked(self) -> ChartLine:
        """Return the line from left to right, or raise where its numbers do not belong together."""
        n.require(self.x, f"points of {self.name}")
        if (self.low is None) != (self.high is None):
            raise OptionError(f"{self.name} has one side of a band", hint="give low and high, or neither")
        none = [n.NAN] * len(self.x)
        low, high = (none if side is None else side for side in (self.low, self.high))
        n.require_equal_lengths(f"the numbers of {self.name}", self.x, self.y, low, high)
        x, y = n.numbers(self.x, self.name), n.numbers(self.y, self.name)
        if any(map(math.isnan, x)):
            raise OptionError(f"{self.name} has a point without a place (NaN)", hint="leave the point out")
        band = [n.checked_interval(*ends, self.name) for ends in zip(low, high, strict=True)]
        points = sorted(zip(x, y, band, strict=True), key=lambda point: point[0])
        sides = [] if self.low is None else [[ends[side] for _, _, ends in points] for side in (0, 1)]
        return ChartLine(self.name, [point[0] for point in points], [point[1] for point in points], *sides)


class CurvesChart(Chart):
    """A measure against its cut-off, one line per system in the order given; the first seven are named."""

    lines: Sequence[ChartLine]
    measure: str
    x_label: str = "k"

    @classmethod
    def from_runs(cls, data: RunData) -> CurvesChart:
        cuts, scores = scores_by_cutoff(data.qrels, data.runs, data.primary, **data.options)
        lines = []
        for name, run in scores.items():
            means = [mean_of(run, at_cut) for at_cut in scores.measures]
            sides = [[mean.ends[side] for mean in means] for side in (0, 1)] if len(scores) == 1 else []
            lines.append(ChartLine(name, cuts, [mean.value for mean in means], *sides))
        base = data.primary.partition("@")[0]
        intervals = f"with {percent(LEVEL)} intervals" if len(scores) == 1 else ""
        subtitle = ", ".join(filter(None, (weighted_words(scores), intervals)))
        return cls(lines, title=f"{base}@k over k", measure=f"{base}@k", subtitle=subtitle)

    def checked(self) -> Self:
        n.require(self.lines, "lines")
        lines = [line.checked() for line in self.lines]
        n.require_defined((y for line in lines for y in line.y), "point")
        return replace(self, lines=lines)

    def axes(self) -> tuple[Axis, Axis]:
        x_values = [x for line in self.lines for x in line.x]
        is_wide_range = min(x_values) > 0 and max(x_values) > WIDE_RANGE * min(x_values)
        heights = [y for line in self.lines for y in (*line.y, *(line.low or ()), *(line.high or ()))]
        return log_axis(x_values) if is_wide_range else linear_axis(x_values), linear_axis(heights)

    def records(self) -> list[dict[str, Any]]:
        names = ("x", "y", "low", "high")
        return [
            {"system": line.name, **{name: column[i] for name in names if (column := getattr(line, name)) is not None}}
            for line in self.lines
            for i in range(len(line.x))
        ]

    def alt(self) -> str:
        lines = n.list_words(self.lines, lambda line: line.words, "more system", most=MOST_NAMED)
        return f"{self.measure} by {self.x_label}, one line per system: {lines}."

    def draw(self, drawing: Drawing) -> None:
        named, others = self.lines[:MOST_NAMED], self.lines[MOST_NAMED:]
        keys = []
        for i, line in enumerate(named if len(self.lines) > 1 else ()):
            dot = marker(MARKERS[i], SWATCH / 2, 0, 3.8, fill=SERIES[i])
            keys.append((straight(0, 0, SWATCH, 0, **stroke_of(i)) + dot, line.name))
        if others:
            keys.append((straight(0, 0, SWATCH, 0, stroke=AXIS), counted(len(others), "other system")))
        drawing.legend(keys)
        height = 300 if drawing.layout.is_wide else 240
        plot = axes.plot_with_axes(drawing, *self.axes(), x_label=self.x_label, y_label=self.measure, height=height)
        drawing.add(*(path_of(line, plot, stroke=AXIS) for line in others))
        drawing.add(*(band_of(line, plot, SERIES[i]) for i, line in enumerate(named)))
        for i, line in reversed(list(enumerate(named))):
            drawing.add(path_of(line, plot, **stroke_of(i)))
            markers = (
                marker(
                    MARKERS[i], plot.x(line.x[j]), plot.y(line.y[j]), 3.8, tip(f"{line.name}: {line.point_words(j)}")
                )
                for stretch in line.stretches()
                for j in stretch
                if len(line.x) <= MOST_MARKED or len(stretch) == 1
            )
            drawing.add(group(markers, fill=SERIES[i]))


class PrecisionRecallChart(CurvesChart):
    """Precision (y) against recall (x), interpolated at 11 points or in full, one line per system."""

    measure: str = "precision"
    x_label: str = "recall"

    @classmethod
    def from_runs(cls, data: RunData) -> PrecisionRecallChart:
        scores = precision_by_recall(data.qrels, data.runs, **data.options)
        means = {name: [aggregate.value for aggregate in run.mean().values()] for name, run in scores.items()}
        lines = [ChartLine(name, RECALLS, values) for name, values in means.items()]
        subtitle = ", ".join(filter(None, ("interpolated, mean over queries", weighted_words(scores))))
        return cls(lines, title="Precision over recall", subtitle=subtitle)

    def checked(self) -> Self:
        chart = super().checked()
        for line in chart.lines:
            if not all(0 <= value <= 1 for value in n.finite([*line.x, *line.y])):
                raise OptionError(f"{line.name} has a precision or recall outside 0 to 1")
        return chart

    def axes(self) -> tuple[Axis, Axis]:
        return fixed_axis(TENTHS), fixed_axis(TENTHS)

    def alt(self) -> str:
        return super().alt().replace("precision", "Precision", 1)


def path_of(line: ChartLine, plot: Plot, **look: Attribute) -> str:
    """Return a line with its name as a tooltip, interrupted where it is undefined."""
    data = "".join(polyline([(plot.x(line.x[i]), plot.y(line.y[i])) for i in part]) for part in line.stretches())
    return element("path", tip(line.name), d=data, fill="none", **look) if data else ""


def band_of(line: ChartLine, plot: Plot, colour: str) -> str:
    """Return the band around a line, interrupted where there is none."""
    if line.low is None or line.high is None:
        return ""
    low, high = line.low, line.high
    heights = [y if math.isfinite(y) and not math.isnan(low[i]) else n.NAN for i, y in enumerate(line.y)]
    outlines = []
    for stretch in replace(line, y=heights).stretches():
        there = [(plot.x(line.x[i]), plot.y(low[i])) for i in stretch]
        back = [(plot.x(line.x[i]), plot.y(high[i])) for i in reversed(stretch)]
        outlines.append(f"{polyline([*there, *back])}Z")
    return element("path", d="".join(outlines), fill=colour, fill_opacity=0.14) if outlines else ""


def stroke_of(i: int) -> Attributes:
    return {"stroke": SERIES[i], "stroke_width": 2, "stroke_dasharray": DASHES[i], "stroke_linejoin": "round"}
