"""Lines: a measure against its cut-off, and precision against recall, one line per system."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, plot_with_axes
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import SWATCH, Drawing, Key, drawn
from rankscope.report.charts.palette import AXIS, DASHES, MARKERS, SERIES, marker
from rankscope.report.charts.scale import Axis, fixed_axis, linear_axis, log_axis
from rankscope.report.charts.svg import Attribute, element, group, polyline, straight, tip

MOST_NAMED = len(SERIES)
"""More lines cannot be told apart; those behind them are thin and grey, with their name as a tooltip."""
MOST_MARKED = 16
WIDE_RANGE = 20
"""From this ratio on the cut-offs stand on a logarithmic axis."""
TENTHS = tuple(i / 10 for i in range(0, 11, 2))


@dataclass(frozen=True, slots=True)
class Line:
    """A system's line through (x, y), with an optional band from low to high; NaN leaves a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def runs(self) -> Iterator[list[int]]:
        """Yield the positions between gaps."""
        run: list[int] = []
        for i, y in enumerate(self.y):
            if math.isfinite(y):
                run.append(i)
            elif run:
                yield run
                run = []
        if run:
            yield run


def curves(
    lines: Sequence[Line], *, title: str, measure: str, x_label: str = "k", subtitle: str = "", prefix: str = "curves"
) -> Chart:
    """Draw a measure against its cut-off, one line per system in the order given; the first seven are named."""
    checked = checked_lines(lines)
    x_values = [x for line in checked for x in line.x]
    is_wide_range = min(x_values) > 0 and max(x_values) > WIDE_RANGE * min(x_values)
    x_axis = log_axis(x_values) if is_wide_range else linear_axis(x_values)
    heights = [y for line in checked for y in (*line.y, *(line.low or ()), *(line.high or ()))]
    y_axis = linear_axis(heights)
    draw = partial(draw_lines, lines=checked, axes=(x_axis, y_axis), labels=(x_label, measure))
    told = "; ".join(ends_in_words(line) for line in checked[:MOST_NAMED])
    alt = f"{measure} by {x_label}, one line per system: {told}{n.and_more(MOST_NAMED, len(checked), 'more system')}."
    data = records(checked)
    return drawn("curves", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def precision_recall(
    lines: Sequence[Line], *, title: str, subtitle: str = "", prefix: str = "precision_recall"
) -> Chart:
    """Draw precision (y) against recall (x), interpolated at 11 points or in full, one line per system."""
    checked = checked_lines(lines)
    for line in checked:
        if not all(0 <= value <= 1 for value in n.finite([*line.x, *line.y])):
            raise OptionError(f"{line.name} has a precision or recall outside 0 to 1")
    axis = fixed_axis(TENTHS)
    draw = partial(draw_lines, lines=checked, axes=(axis, axis), labels=("recall", "precision"))
    told = "; ".join(ends_in_words(line) for line in checked[:MOST_NAMED])
    alt = f"Precision by recall, one line per system: {told}{n.and_more(MOST_NAMED, len(checked), 'more system')}."
    data = records(checked)
    return drawn("precision_recall", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def checked_lines(lines: Sequence[Line]) -> list[Line]:
    """Return lines that can be drawn."""
    n.require(lines, "lines")
    checked = [checked_line(line) for line in lines]
    n.require_defined((y for line in checked for y in line.y), "point")
    return checked


def checked_line(line: Line) -> Line:
    """Return a line from left to right whose numbers belong together."""
    n.require(line.x, f"points of {line.name}")
    if (line.low is None) != (line.high is None):
        raise OptionError(f"{line.name} has one side of a band", hint="give low and high, or neither")
    none = [n.NAN] * len(line.x)
    low, high = (none if side is None else side for side in (line.low, line.high))
    n.require_equal_lengths(f"the numbers of {line.name}", line.x, line.y, low, high)
    x, y = n.numbers(line.x, line.name), n.numbers(line.y, line.name)
    if any(map(math.isnan, x)):
        raise OptionError(f"{line.name} has a point without a place (NaN)", hint="leave the point out")
    band = [n.checked_interval(*ends, line.name) for ends in zip(low, high, strict=True)]
    points = sorted(zip(x, y, band, strict=True), key=lambda point: point[0])
    lows, highs = ([ends[i] for _, _, ends in points] for i in (0, 1))
    has_band = line.low is not None
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    return Line(line.name, xs, ys, lows if has_band else None, highs if has_band else None)


def ends_in_words(line: Line) -> str:
    """Say where a line begins and ends."""
    known = [i for run in line.runs() for i in run]
    if not known:
        return f"{line.name}: undefined"
    first, last = known[0], known[-1]
    begin = f"{line.name}: {n.shown(line.y[first])} at {line.x[first]:g}"
    return begin if first == last else f"{begin}, {n.shown(line.y[last])} at {line.x[last]:g}"


def records(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return every point as JSON can hold it."""
    rows = []
    for line in lines:
        for i, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
            row: dict[str, Any] = {"system": line.name, "x": x, "y": n.json_ready(y)}
            if line.low is not None and line.high is not None:
                row |= {"low": n.json_ready(line.low[i]), "high": n.json_ready(line.high[i])}
            rows.append(row)
    return rows


def draw_lines(drawing: Drawing, *, lines: Sequence[Line], axes: tuple[Axis, Axis], labels: tuple[str, str]) -> None:
    """Draw the legend, the axes, then bands below lines, the first line on top."""
    named, others = lines[:MOST_NAMED], lines[MOST_NAMED:]
    keys = [Key(line_sample(i), line.name) for i, line in enumerate(named)] if len(lines) > 1 else []
    if others:
        keys.append(Key(straight(0, 0, SWATCH, 0, stroke=AXIS), n.counted(len(others), "other system")))
    drawing.legend(keys)
    height = 300 if drawing.layout.is_wide else 240
    plot = plot_with_axes(drawing, *axes, x_label=labels[0], y_label=labels[1], height=height)
    drawing.add(*(path_of(line, plot, stroke=AXIS) for line in others))
    drawing.add(*(band_of(line, plot, SERIES[i]) for i, line in enumerate(named)))
    for i, line in reversed(list(enumerate(named))):
        drawing.add(*named_line(line, plot, i))


def named_line(line: Line, plot: Plot, i: int) -> list[str]:
    """Return a line in its colour and dash, with markers where they have room; a lone point always has one."""
    path = path_of(line, plot, **stroke(i))
    marked = [j for run in line.runs() for j in run if len(line.x) <= MOST_MARKED or len(run) == 1]
    tips = (tip(f"{line.name}: {n.shown(line.y[j])} at {line.x[j]:g}") for j in marked)
    places = ((plot.x(line.x[j]), plot.y(line.y[j])) for j in marked)
    markers = (marker(MARKERS[i], x, y, 3.8, words) for (x, y), words in zip(places, tips, strict=True))
    return [path, group(markers, fill=SERIES[i])]


def path_of(line: Line, plot: Plot, **look: Attribute) -> str:
    """Return a line with its name as a tooltip, interrupted where it is undefined."""
    data = "".join(polyline([(plot.x(line.x[i]), plot.y(line.y[i])) for i in run]) for run in line.runs())
    return element("path", tip(line.name), d=data, fill="none", **look) if data else ""


def band_of(line: Line, plot: Plot, colour: str) -> str:
    """Return the band around a line, interrupted where there is none."""
    if line.low is None or line.high is None:
        return ""
    low, high = line.low, line.high
    with_band = Line(
        line.name, line.x, [y if math.isfinite(y) and not math.isnan(low[i]) else n.NAN for i, y in enumerate(line.y)]
    )
    outlines = []
    for run in with_band.runs():
        there = [(plot.x(line.x[i]), plot.y(low[i])) for i in run]
        back = [(plot.x(line.x[i]), plot.y(high[i])) for i in reversed(run)]
        outlines.append(f"{polyline([*there, *back])}Z")
    return element("path", d="".join(outlines), fill=colour, fill_opacity=0.14) if outlines else ""


def stroke(i: int) -> dict[str, Any]:
    """Return colour and dash of the i-th line."""
    return {"stroke": SERIES[i], "stroke_width": 2, "stroke_dasharray": DASHES[i], "stroke_linejoin": "round"}


def line_sample(i: int) -> str:
    """Return a sample of the i-th line for the legend."""
    return straight(0, 0, SWATCH, 0, **stroke(i)) + marker(MARKERS[i], SWATCH / 2, 0, 3.8, fill=SERIES[i])
