"""A value over time or versions, with its intervals and the target it is held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, axis_name, draw_y_axis, plot_box, write_below
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing, Key, drawn
from rankscope.report.charts.lines import Line, band_of, path_of
from rankscope.report.charts.palette import AXIS, BAD, BG, GOOD, SERIES, marker
from rankscope.report.charts.scale import Scale, linear_axis
from rankscope.report.charts.svg import group, straight, tip
from rankscope.report.charts.text import shortened

TARGET = SERIES[5]
MOST_MARKED = 120


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A value at a time or version, called `label`; `at` is its place in time, in any unit."""

    label: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    at: float | None = None


def trend(
    points: Sequence[TrendPoint],
    *,
    title: str,
    measure: str,
    target: float | None = None,
    better: Better = "higher",
    x_label: str = "",
    subtitle: str = "",
    prefix: str = "trend",
) -> Chart:
    """Draw a value over time with its band; values that miss the target are hollow squares."""
    line = trend_line(points)
    goal = None if target is None else n.checked(target, "target")
    missed = [goal is not None and misses(value, goal, better) for value in line.y]
    labels = [point.label for point in sorted(points, key=lambda point: point.at or 0)]
    draw = partial(
        draw_trend,
        line=line,
        labels=labels,
        missed=missed,
        measure=measure,
        target=goal,
        better=better,
        x_label=x_label,
    )
    alt = trend_alt(line, labels, missed, measure, goal)
    data = trend_records(line, labels)
    return drawn("trend", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def trend_line(points: Sequence[TrendPoint]) -> Line:
    """Return the points in the order of time."""
    n.require(points, "points")
    placed = [point.at is not None for point in points]
    if any(placed) != all(placed):
        raise OptionError("some points have a place in time and some have none", hint="give `at` for all or for none")
    at = [n.checked(i if point.at is None else point.at, point.label) for i, point in enumerate(points)]
    if any(map(math.isnan, at)):
        raise OptionError("a point has no place in time (NaN)", hint="leave the point out")
    ends = [n.checked_interval(point.low, point.high, point.label) for point in points]
    values = n.numbers((point.value for point in points), "the trend")
    n.require_defined(values, "value")
    rows = sorted(zip(at, values, ends, strict=True), key=lambda row: row[0])
    return Line("", [x for x, _, _ in rows], [y for _, y, _ in rows], *([e[i] for _, _, e in rows] for i in (0, 1)))


def misses(value: float, target: float, better: Better) -> bool:
    """Tell whether a value misses the target."""
    return value < target if better == "higher" else value > target


def trend_alt(line: Line, labels: Sequence[str], missed: Sequence[bool], measure: str, target: float | None) -> str:
    """Say what is to be seen."""
    known = [i for i, value in enumerate(line.y) if math.isfinite(value)]
    first, last = known[0], known[-1]
    goal = f" {sum(missed):,} of {len(known):,} miss the target of {n.shown(target)}." if target is not None else ""
    return (
        f"{measure} from {n.shown(line.y[first])} at {labels[first]} to {n.shown(line.y[last])} at {labels[last]}, "
        f"{n.counted(len(known), 'value')}.{goal}"
    )


def trend_records(line: Line, labels: Sequence[str]) -> list[dict[str, object]]:
    """Return the points as JSON can hold them."""
    low, high = line.low or (), line.high or ()
    columns = zip(labels, line.y, low, high, strict=True)
    return [
        {"label": label, "value": n.json_ready(y), "low": n.json_ready(a), "high": n.json_ready(b)}
        for label, y, a, b in columns
    ]


def draw_trend(
    drawing: Drawing,
    *,
    line: Line,
    labels: Sequence[str],
    missed: Sequence[bool],
    measure: str,
    target: float | None,
    better: Better,
    x_label: str,
) -> None:
    """Draw axes, band, target, line and points; labels that have no room are left out, the latest is kept."""
    if target is not None:
        drawing.legend(target_keys(target, better, any_missed=any(missed)))
    heights = [*line.y, *(line.low or ()), *(line.high or ()), *([] if target is None else [target])]
    axis = linear_axis(heights)
    box = plot_box(drawing, axis, measure, height=260 if drawing.layout.is_wide else 220)
    scale = axis.scale(box.bottom, box.top)
    draw_y_axis(drawing, axis, scale, box)
    plot = Plot(box, time_scale(line.x, box.left + 10, box.right - 10), scale)
    if target is not None:
        drawing.add(straight(box.left, scale(target), box.right, scale(target), stroke=TARGET, stroke_dasharray="7 4"))
    drawing.add(band_of(line, plot, GOOD))
    drawing.add(path_of(line, plot, stroke=GOOD, stroke_width=2))
    drawing.add(*points_drawn(line, labels, missed, plot))
    drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
    drawing.y = box.bottom + 4
    write_below(drawing, [plot.x(x) for x in line.x], shown_labels(drawing, labels), from_the_right=True)
    axis_name(drawing, x_label, box)


def shown_labels(drawing: Drawing, labels: Sequence[str]) -> list[str]:
    """Return labels no longer than a third of the width."""
    return [shortened(label, drawing.layout.inner / 3, drawing.layout.size) for label in labels]


def time_scale(x: Sequence[float], start: float, end: float) -> Scale:
    """Return the scale of time; a lone point stands in the middle."""
    if x[0] < x[-1]:
        return Scale(x[0], x[-1], start, end)
    return Scale(x[0] - 1 - abs(x[0]), x[0] + 1 + abs(x[0]), start, end)


def target_keys(target: float, better: Better, *, any_missed: bool) -> list[Key]:
    """Return the legend of a trend with a target."""
    words = "at least" if better == "higher" else "at most"
    keys = [Key(straight(0, 0, SWATCH, 0, stroke=TARGET, stroke_dasharray="7 4"), f"target: {words} {n.shown(target)}")]
    sample = marker("square", SWATCH / 2, 0, 4, fill=BG, stroke=BAD, stroke_width=2)
    return [*keys, Key(sample, "target missed")] if any_missed else keys


def points_drawn(line: Line, labels: Sequence[str], missed: Sequence[bool], plot: Plot) -> list[str]:
    """Return a marker per value, as long as they have room; those that miss the target always have one."""
    low, high = line.low or (), line.high or ()
    reached, failed = [], []
    for i, y in enumerate(line.y):
        if not math.isfinite(y):
            continue
        words = tip(f"{labels[i]}: {n.with_interval(y, low[i], high[i])}")
        place = plot.x(line.x[i]), plot.y(y)
        if missed[i]:
            failed.append(marker("square", *place, 4, words))
        elif len(line.y) <= MOST_MARKED:
            reached.append(marker("disc", *place, 3.8, words))
    return [group(reached, fill=GOOD), group(failed, fill=BG, stroke=BAD, stroke_width=2)]
