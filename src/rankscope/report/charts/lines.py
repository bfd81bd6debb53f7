"""Lines: a measure against its cut-off, and precision against recall."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
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
from rankscope.report.charts.svg import (
    Attribute,
    Attributes,
    element,
    group,
    one_line,
    polyline,
    straight,
    text_width,
    tip,
)
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

MOST_COLOURED = 4
"""Of more lines the best and the baseline are drawn strong; the others are thin and grey, named by tooltips."""
SAMPLE = 22  # length of the piece of a line beside its name
LEADER = SAMPLE + 12  # from the plot to a name
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
    def course(self) -> str:
        """Where it begins and where it ends."""
        known = [i for i, y in enumerate(self.y) if math.isfinite(y)]
        ends = dict.fromkeys([*known[:1], *known[-1:]])
        return " to ".join(map(self.point_words, ends)) or "undefined"

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
    """A measure against its cut-off, one line per system; of more than four the best and the baseline stand out."""

    lines: Sequence[ChartLine]
    measure: str
    x_label: str = "k"
    best: str | None = None
    """The system that is best by what decides; where nothing is said, the one that reaches highest."""
    baseline: str | None = None

    @classmethod
    def from_runs(cls, data: RunData) -> CurvesChart:
        cuts, scores = scores_by_cutoff(data.qrels, data.runs, data.primary, **data.options)
        lines = []
        for name in data.order:
            means = [mean_of(scores[name], at_cut) for at_cut in scores.measures]
            sides = [[mean.ends[side] for mean in means] for side in (0, 1)] if len(scores) == 1 else []
            lines.append(ChartLine(name, cuts, [mean.value for mean in means], *sides))
        base = data.primary.partition("@")[0]
        intervals = f"with {percent(LEVEL)} intervals" if len(scores) == 1 else ""
        subtitle = ", ".join(filter(None, (weighted_words(scores), intervals)))
        return cls(
            lines,
            title=f"{base}@k over k",
            measure=f"{base}@k",
            subtitle=subtitle,
            best=data.best,
        )

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

    @cached_property
    def strong(self) -> list[StrongLine]:
        """The lines that are drawn strong and named at their ends."""
        names = [line.name for line in self.lines]
        best = names.index(self.best) if self.best in names else highest_of(self.lines)
        baseline = names.index(self.baseline) if self.baseline in names else None
        return strong_lines(names, best, baseline)

    def alt(self) -> str:
        shown = "; ".join(f"{mine.label}: {self.lines[mine.index].course}" for mine in self.strong)
        n_others = len(self.lines) - len(self.strong)
        others = f"; {counted(n_others, 'other system')} in grey" if n_others else ""
        return f"{self.measure} by {self.x_label}, {shown}{others}."

    def draw(self, drawing: Drawing) -> None:
        strong = self.strong
        own_index = {mine.index for mine in strong}
        others = [line for i, line in enumerate(self.lines) if i not in own_index]
        if others:
            drawing.legend([(straight(0, 0, SWATCH, 0, stroke=AXIS), counted(len(others), "other system"))])
        free = names_width(drawing, strong) if len(self.lines) > 1 else 0
        height = 300 if drawing.layout.is_wide else 240
        x, y = self.axes()
        plot = axes.plot_with_axes(drawing, x, y, x_label=self.x_label, y_label=self.measure, height=height, free=free)
        drawing.add(*(path_of(line, plot, stroke=AXIS) for line in others))
        drawing.add(*(band_of(self.lines[mine.index], plot, mine.colour) for mine in strong))
        for mine in reversed(strong):
            line = self.lines[mine.index]
            drawing.add(path_of(line, plot, **mine.stroke))
            markers = (
                marker(
                    mine.shape, plot.x(line.x[j]), plot.y(line.y[j]), 3.8, tip(f"{line.name}: {line.point_words(j)}")
                )
                for stretch in line.stretches()
                for j in stretch
                if len(line.x) <= MOST_MARKED or len(stretch) == 1
            )
            drawing.add(group(markers, fill=mine.colour))
        if len(self.lines) > 1:
            name_ends(drawing, plot, strong, self.lines)


class PrecisionRecallChart(CurvesChart):
    """Precision (y) against recall (x), interpolated at 11 points or in full, one line per system."""

    measure: str = "precision"
    x_label: str = "recall"

    @classmethod
    def from_runs(cls, data: RunData) -> PrecisionRecallChart:
        scores = precision_by_recall(data.qrels, data.runs, **data.options)
        means = {name: [aggregate.value for aggregate in scores[name].mean().values()] for name in data.order}
        lines = [ChartLine(name, RECALLS, values) for name, values in means.items()]
        subtitle = ", ".join(filter(None, ("interpolated, mean over queries", weighted_words(scores))))
        title = "Precision over recall"
        return cls(lines, title=title, subtitle=subtitle, best=data.best)

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


class StrongLine(Record):
    """A line that stands out: which one, how it looks, and what is written at its end."""

    index: int
    style: int
    name: str
    role: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}, {self.role}" if self.role else self.name

    @property
    def colour(self) -> str:
        return SERIES[self.style]

    @property
    def shape(self) -> str:
        return MARKERS[self.style]

    @property
    def stroke(self) -> Attributes:
        dash = DASHES[self.style]
        return {"stroke": self.colour, "stroke_width": 2, "stroke_dasharray": dash, "stroke_linejoin": "round"}


def strong_lines(names: Sequence[str], best: int, baseline: int | None) -> list[StrongLine]:
    """Return the lines that stand out: all of them up to four, else the best and the baseline."""
    if len(names) <= MOST_COLOURED:
        return [StrongLine(i, i, name) for i, name in enumerate(names)]
    if baseline in (None, best):
        return [StrongLine(best, 0, names[best], "best" if baseline is None else "best and baseline")]
    return [StrongLine(best, 0, names[best], "best"), StrongLine(baseline, 1, names[baseline], "baseline")]


def highest_of(lines: Sequence[ChartLine]) -> int:
    """Return which line reaches highest."""
    return max(range(len(lines)), key=lambda i: max(n.finite(lines[i].y), default=-math.inf))


def names_width(drawing: Drawing, strong: Sequence[StrongLine]) -> float:
    layout = drawing.layout
    widest = max(text_width(one_line(mine.label), layout.size) for mine in strong)
    return min(widest, layout.inner * 0.3) + LEADER + 4


def name_ends(drawing: Drawing, plot: Plot, strong: Sequence[StrongLine], lines: Sequence[ChartLine]) -> None:
    """Write the names of lines beside their last points, apart from one another, each with a piece of its line."""
    layout, box = drawing.layout, plot.box
    ends = []
    for mine in strong:
        line = lines[mine.index]
        known = [i for i, y in enumerate(line.y) if math.isfinite(y)]
        if known:
            ends.append((plot.y(line.y[known[-1]]), mine))
    ends.sort(key=lambda end: end[0])
    below = box.top - layout.line
    places = []
    for y, _ in ends:
        below = max(y, below + layout.line)
        places.append(below)
    limit = box.bottom
    for i in reversed(range(len(places))):
        places[i] = limit = min(places[i], limit)
        limit -= layout.line
    for (_, mine), place in zip(ends, places, strict=True):
        start = box.right + LEADER
        drawing.add(straight(start - 4 - SAMPLE, place, start - 4, place, **mine.stroke))
        drawing.add(marker(mine.shape, start - 4 - SAMPLE / 2, place, 3.4, fill=mine.colour))
        room = layout.width - layout.margin - start
        drawing.text(start, drawing.middle(place), mine.label, width=room, fill=mine.colour)
