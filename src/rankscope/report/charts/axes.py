"""Axes: thin lines, ticks at round numbers, and names that say what is measured."""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.records import Record
from rankscope.report.charts.drawing import Box, Drawing
from rankscope.report.charts.palette import AXIS, GRID, MUTED
from rankscope.report.charts.scale import Axis, Scale
from rankscope.report.charts.svg import group, one_line, straight
from rankscope.report.charts.text import CENTRE, text_width

GAP = 8
TICK = 4
BETWEEN_LABELS = 8


class Plot(Record):
    """Where data are drawn, and how their values become places."""

    box: Box
    x: Scale
    y: Scale


def plot_with_axes(
    drawing: Drawing,
    x: Axis,
    y: Axis,
    *,
    x_label: str,
    y_label: str,
    height: float,
    width: float | None = None,
) -> Plot:
    """Draw both axes below what stands already, and return the place between them; `width` is centred."""
    box = plot_box(drawing, y, y_label, height=height, width=width)
    scale_y = y.scale(box.bottom, box.top)
    draw_y_axis(drawing, y, scale_y, box)
    scale_x = x.scale(box.left, box.right)
    draw_x_axis(drawing, x, scale_x, box, x_label, grid=True)
    return Plot(box, scale_x, scale_y)


def plot_box(drawing: Drawing, y: Axis, y_label: str, *, height: float, width: float | None = None) -> Box:
    """Write the name of the upright axis above it, and return the place right of its ticks."""
    layout = drawing.layout
    left = layout.margin + max(text_width(label, layout.size) for label in y.labels) + GAP + TICK
    right = layout.width - layout.margin - 12
    if width is not None and right - left > width:
        left += (right - left - width) / 2
        right = left + width
    name_at = min(left, layout.margin) if width is None else left - GAP - TICK
    room = layout.width - layout.margin - name_at
    drawing.y += drawing.lines(name_at, drawing.y + 2, y_label, width=room, max_lines=2, fill=MUTED)
    drawing.space(layout.size)
    return Box(left, drawing.y, right, drawing.y + height)


def draw_y_axis(drawing: Drawing, axis: Axis, scale: Scale, box: Box) -> None:
    """Draw the ticks of an upright axis, with a thin line across the plot for each."""
    size = drawing.layout.size
    drawing.add(group((straight(box.left, scale(t), box.right, scale(t)) for t in axis.ticks), stroke=GRID))
    last = float("inf")
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        place = scale(tick)
        if last - place >= size * 1.25:
            drawing.text(box.left - GAP, place + CENTRE * size, label, anchor="end", fill=MUTED)
            last = place


def draw_x_axis(drawing: Drawing, axis: Axis, scale: Scale, box: Box, label: str, *, grid: bool = False) -> None:
    """Draw a level axis below the plot with its ticks and its name, and move below it."""
    places = [scale(tick) for tick in axis.ticks]
    if grid:
        drawing.add(group((straight(x, box.top, x, box.bottom) for x in places), stroke=GRID))
    drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
    ticks = (straight(x, box.bottom, x, box.bottom + TICK) for x in places)
    drawing.add(group(ticks, stroke=AXIS))
    drawing.y = box.bottom + TICK
    write_below(drawing, places, axis.labels)
    axis_name(drawing, label, box)


def write_below(
    drawing: Drawing, places: Sequence[float], labels: Sequence[str], *, from_the_right: bool = False
) -> None:
    """Write labels centred at their places, leaving out those that would touch the one before."""
    layout = drawing.layout
    base = drawing.y + layout.size * 1.1 + 4
    taken: list[tuple[float, float]] = []
    pairs = list(zip(places, labels, strict=True))
    for place, label in reversed(pairs) if from_the_right else pairs:
        half = text_width(label, layout.size) / 2
        centre = min(max(place, half + 2), layout.width - half - 2)
        left, right = centre - half - BETWEEN_LABELS / 2, centre + half + BETWEEN_LABELS / 2
        if all(right <= other_left or left >= other_right for other_left, other_right in taken):
            taken.append((left, right))
            drawing.text(centre, base, label, anchor="middle", fill=MUTED)
    drawing.space(layout.line + 6)


def axis_name(drawing: Drawing, label: str, box: Box) -> None:
    """Write the name of a level axis, centred below it, or across the whole width where it is long."""
    layout = drawing.layout
    centre, room = (box.left + box.right) / 2, box.width
    if text_width(one_line(label), layout.size) > room:
        centre, room = layout.width / 2, layout.inner
    drawing.y += drawing.lines(centre, drawing.y + 2, label, width=room, max_lines=2, anchor="middle", fill=MUTED)
    drawing.space(4)
