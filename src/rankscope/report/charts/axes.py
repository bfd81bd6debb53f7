"""Axes: ticks at 1, 2 or 5 times a power of ten, thin lines, and names that say what is measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from rankscope.records import Record
from rankscope.report.charts.drawing import Box, Drawing
from rankscope.report.charts.numbers import LARGEST, MINUS, finite, fixed
from rankscope.report.charts.palette import AXIS, GRID, MUTED
from rankscope.report.charts.svg import CENTRE, group, one_line, straight, text_width

STEPS = (1, 2, 5, 10)
CONSTANT = 1e-9  # values closer than this, relative to their size, are one value for the eye
MOST_FINE_TICKS, MOST_LOG_TICKS = 10, 7
PLAIN_FROM, PLAIN_TO = 1e-4, 1e6
GAP = 8
TICK = 4
BETWEEN_LABELS = 8


class Scale(Record):
    """Turns values from `low` to `high` into places from `start` to `end`; `log` scales take positive values only."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value; what lies outside stands at the edge."""
        share = (self._level(value) - self._level(self.low)) / (self._level(self.high) - self._level(self.low))
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def _level(self, value: float) -> float:
        if not self.log or math.isinf(value):
            return value
        return math.log10(value) if value > 0 else -math.inf


class Axis(Record):
    """Ticks and what stands beside them."""

    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool = False

    def scale(self, start: float, end: float) -> Scale:
        return Scale(self.ticks[0], self.ticks[-1], start, end, log=self.log)


class Plot(Record):
    """Where data are drawn, and how their values become places."""

    box: Box
    x: Scale
    y: Scale


def linear_axis(values: Iterable[float], *, n_ticks: int = 5, whole: bool = False) -> Axis:
    """Return an axis whose ticks, about so many, reach from below the least value to above the greatest."""
    known = finite(values)
    low, high = min(known), max(known)
    size = max(abs(low), abs(high))
    if size < 1 / LARGEST:
        low, high = 0.0, 1.0
    elif high - low <= CONSTANT * size:
        low, high = low - size / 10, high + size / 10
    exponent = math.floor(math.log10((high - low) / n_ticks))
    unit = 10.0**exponent
    step = unit * next((step for step in STEPS if step * unit >= (high - low) / n_ticks * (1 - CONSTANT)), STEPS[-1])
    if whole and step < 1:
        step, exponent = 1.0, 0
    first, last = math.floor(low / step + CONSTANT), math.ceil(high / step - CONSTANT)
    return fixed_axis([tidy(i * step, exponent) for i in range(first, max(last, first + 1) + 1)])


def fixed_axis(ticks: Sequence[float]) -> Axis:
    """Return an axis with given ticks, written with as many digits as tell them apart."""
    step, size = ticks[1] - ticks[0], max(abs(ticks[0]), abs(ticks[-1]))
    if size < PLAIN_TO and step >= PLAIN_FROM / 10:
        decimals = max(0, -math.floor(math.log10(step) + CONSTANT))
        return Axis(tuple(ticks), tuple(fixed(tick, decimals) for tick in ticks))
    digits = max(1, math.ceil(math.log10(size / step) + 1))
    return Axis(tuple(ticks), tuple(short_power(f"{tick:.{digits - 1}e}") for tick in ticks))


def log_axis(values: Iterable[float]) -> Axis:
    """Return an axis at 1, 2 and 5 times the powers of ten around positive values; in wide ranges the powers alone."""
    known = finite(values)
    low, high = min(known), max(known)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    fine = [tidy(step * 10.0**power, power) for power in range(first - 1, last + 2) for step in STEPS[:-1]]
    begin = max(i for i, tick in enumerate(fine) if tick <= low * (1 + CONSTANT))
    end = min(i for i, tick in enumerate(fine) if tick >= high * (1 - CONSTANT))
    ticks = fine[begin : max(end, begin + 1) + 1]
    if end - begin >= MOST_FINE_TICKS:
        stride = math.ceil((last - first) / MOST_LOG_TICKS)
        powers = [tidy(10.0**power, power) for power in range(first, last + 1, stride)]
        ticks = [fine[begin], *(power for power in powers if fine[begin] < power < fine[end]), fine[end]]
    labels = []
    for tick in ticks:
        plain = f"{tick:,.0f}" if tick >= 1 else f"{tick:.4f}".rstrip("0")
        labels.append(plain if PLAIN_FROM <= tick < PLAIN_TO else short_power(f"{tick:.0e}"))
    return Axis(tuple(ticks), tuple(labels), log=True)


def tidy(value: float, exponent: int) -> float:
    """Return a tick without the dust of binary fractions: 0.3, not 0.30000000000000004."""
    return round(value, -exponent) if -300 < exponent < 0 else value


def short_power(text: str) -> str:
    mantissa, exponent = text.split("e")
    plain = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{plain}e{int(exponent)}".replace("-", MINUS) if float(mantissa) else "0"


def plot_with_axes(
    drawing: Drawing,
    x: Axis,
    y: Axis,
    *,
    x_label: str,
    y_label: str,
    height: float,
    width: float | None = None,
    free: float = 0,
) -> Plot:
    """Draw both axes below what stands already, and return the place between them; `width` is centred.

    So much is left free at the right, for names of lines.
    """
    box, scale_y = draw_y_axis(drawing, y, y_label, height=height, width=width, free=free)
    scale_x = x.scale(box.left, box.right)
    draw_x_axis(drawing, x, scale_x, box, x_label, grid=True)
    return Plot(box, scale_x, scale_y)


def draw_y_axis(
    drawing: Drawing, axis: Axis, label: str, *, height: float, width: float | None = None, free: float = 0
) -> tuple[Box, Scale]:
    """Draw an upright axis: its name above it, its ticks with a thin line each across the plot, which is returned."""
    layout = drawing.layout
    left = layout.margin + max(text_width(text, layout.size) for text in axis.labels) + GAP + TICK
    right = layout.width - layout.margin - max(free, 12)
    if width is not None and right - left > width:
        left += (right - left - width) / 2
        right = left + width
    name_at = min(left, layout.margin) if width is None else left - GAP - TICK
    room = layout.width - layout.margin - name_at
    drawing.y += drawing.lines(name_at, drawing.y + 2, label, width=room, max_lines=2, fill=MUTED)
    drawing.space(layout.size)
    box = Box(left, drawing.y, right, drawing.y + height)
    scale = axis.scale(box.bottom, box.top)
    drawing.add(group((straight(box.left, scale(t), box.right, scale(t)) for t in axis.ticks), stroke=GRID))
    last = math.inf
    for tick, text in zip(axis.ticks, axis.labels, strict=True):
        if last - scale(tick) >= layout.size * 1.25:
            last = scale(tick)
            drawing.text(box.left - GAP, last + CENTRE * layout.size, text, text_anchor="end", fill=MUTED)
    return box, scale


def draw_x_axis(drawing: Drawing, axis: Axis, scale: Scale, box: Box, label: str, *, grid: bool = False) -> None:
    """Draw a level axis below the plot with its ticks and its name, and move below it; its zero is always labelled."""
    places = [scale(tick) for tick in axis.ticks]
    if grid:
        drawing.add(group((straight(x, box.top, x, box.bottom) for x in places), stroke=GRID))
    drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
    drawing.add(group((straight(x, box.bottom, x, box.bottom + TICK) for x in places), stroke=AXIS))
    drawing.y = box.bottom + TICK
    write_ticks(drawing, axis, scale)
    axis_name(drawing, label, box)


def write_ticks(drawing: Drawing, axis: Axis, scale: Scale, *, strong_zero: bool = False) -> None:
    """Write the labels of a level axis: each, or every second and so on from zero, so that they are evenly apart.

    An axis without zero has the labels of both ends before others.
    """
    last = len(axis.ticks) - 1
    places = [scale(tick) for tick in axis.ticks]
    order = sorted(range(last + 1), key=lambda i: (i not in (0, last), i))
    if 0 in axis.ticks:
        zero = axis.ticks.index(0)
        halves = [text_width(text, drawing.layout.size, bold=strong_zero) / 2 for text in axis.labels]
        for stride in range(1, last + 2):
            order = sorted((i for i in range(last + 1) if (i - zero) % stride == 0), key=lambda i: i != zero)
            ends = sorted((places[i] - halves[i], places[i] + halves[i]) for i in order)
            if all(left + BETWEEN_LABELS <= right for (_, left), (right, _) in pairwise(ends)):
                break
    n_strong = int(strong_zero and 0 in axis.ticks)
    write_below(drawing, [places[i] for i in order], [axis.labels[i] for i in order], n_strong=n_strong)


def write_below(drawing: Drawing, places: Iterable[float], labels: Iterable[str], *, n_strong: int = 0) -> None:
    """Write labels centred at their places, the first ones first, leaving out those that would touch another."""
    layout = drawing.layout
    base = drawing.y + layout.size * 1.1 + 4
    taken: list[tuple[float, float]] = []
    for i, (place, label) in enumerate(zip(places, labels, strict=True)):
        look: dict[str, Any] = {"font_weight": "600"} if i < n_strong else {"fill": MUTED}
        half = text_width(label, layout.size, bold=i < n_strong) / 2
        centre = min(max(place, half + 2), layout.width - half - 2)
        left, right = centre - half - BETWEEN_LABELS / 2, centre + half + BETWEEN_LABELS / 2
        if all(right <= other_left or left >= other_right for other_left, other_right in taken):
            taken.append((left, right))
            drawing.text(centre, base, label, text_anchor="middle", **look)
    drawing.space(layout.line + 6)


def axis_name(drawing: Drawing, label: str, box: Box) -> None:
    """Write the name of a level axis, centred below it, or across the whole width where it is long."""
    layout = drawing.layout
    centre, room = (box.left + box.right) / 2, box.width
    if text_width(one_line(label), layout.size) > room:
        centre, room = layout.width / 2, layout.inner
    drawing.y += drawing.lines(centre, drawing.y + 2, label, width=room, max_lines=2, text_anchor="middle", fill=MUTED)
    drawing.space(4)
