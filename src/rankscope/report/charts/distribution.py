"""How the scores of each system are spread: a box, and below it every score as a mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import draw_x_axis
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Box, Drawing, drawn
from rankscope.report.charts.palette import FG, GRID, SERIES, marker
from rankscope.report.charts.scale import Scale, linear_axis
from rankscope.report.charts.svg import Attributes, element, group, number, rectangle, straight, tip
from rankscope.report.charts.text import text_width

BOX, STRIP = 14, 10
"""Heights of the box and of the strip below it."""
MARK = 3
"""From one mark of the strip to the next; scores nearer than that share one."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A system's scores and their summary: whiskers from low to high, box from q1 to q3, median and mean."""

    name: str
    values: Sequence[float]
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float = n.NAN

    def in_words(self) -> str:
        """Say the summary."""
        middle = f"median {n.shown(self.median)}, middle half {n.shown(self.q1)} to {n.shown(self.q3)}"
        return f"{self.name}: {middle}"


def distribution(
    spreads: Sequence[Spread], *, title: str, measure: str, subtitle: str = "", prefix: str = "distribution"
) -> Chart:
    """Draw how scores are spread, one row per system: a box with median and mean, and a strip of all scores."""
    n.require(spreads, "systems")
    checked = [checked_spread(spread) for spread in spreads]
    draw = partial(draw_distribution, spreads=checked, measure=measure)
    told = "; ".join(spread.in_words() for spread in checked[: n.TOLD])
    alt = f"How {measure} is spread over queries. {told}{n.and_more(n.TOLD, len(checked), 'more system')}."
    data = [record(spread) for spread in checked]
    return drawn("distribution", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def checked_spread(spread: Spread) -> Spread:
    """Return a system's scores without undefined ones, and its summary in order."""
    summary = n.numbers((spread.low, spread.q1, spread.median, spread.q3, spread.high), spread.name)
    n.require_defined(summary[2:3], f"median of {spread.name}")
    if not all(a <= b for a, b in pairwise(summary)):
        raise OptionError(
            f"the summary of {spread.name} is not in order: {summary}", hint="low <= q1 <= median <= q3 <= high"
        )
    values, mean = n.finite(n.numbers(spread.values, spread.name)), n.checked(spread.mean, spread.name)
    low, q1, median, q3, high = summary
    return Spread(spread.name, values, low, q1, median, q3, high, mean)


def record(spread: Spread) -> dict[str, Any]:
    """Return the summary as JSON can hold it."""
    summary = {"low": spread.low, "q1": spread.q1, "median": spread.median, "q3": spread.q3, "high": spread.high}
    return {"system": spread.name, "n": len(spread.values), **summary, "mean": n.json_ready(spread.mean)}


def draw_distribution(drawing: Drawing, *, spreads: Sequence[Spread], measure: str) -> None:
    """Draw rows below one another: beside their names where there is room, else below them."""
    layout = drawing.layout
    axis = linear_axis(value for s in spreads for value in (*s.values, s.low, s.high, s.mean))
    label_width = min(max(text_width(s.name, layout.size) for s in spreads), layout.inner * 0.3)
    left = layout.margin + (label_width + 20 if layout.is_wide else 14)
    row_height = BOX + STRIP + (16 if layout.is_wide else 14 + layout.line)
    box = Box(left, drawing.y, layout.width - layout.margin - 14, drawing.y + len(spreads) * row_height)
    scale = axis.scale(box.left, box.right)
    drawing.add(group((straight(scale(t), box.top, scale(t), box.bottom) for t in axis.ticks), stroke=GRID))
    most = max(max(strip_counts(spread, scale).values(), default=1) for spread in spreads)
    for i, spread in enumerate(spreads):
        top = box.top + i * row_height
        if layout.is_wide:
            drawing.text(layout.margin, drawing.middle(top + 8 + BOX / 2), spread.name, width=label_width)
        else:
            drawing.text(layout.margin, top + layout.size * 1.1, spread.name, width=layout.inner)
        drawing.add(spread_drawn(spread, scale, top + row_height - BOX - STRIP - 8, most))
    draw_x_axis(drawing, axis, scale, box, measure)
    drawing.notes([reading_help(spreads, most)])


def reading_help(spreads: Sequence[Spread], most: int) -> str:
    """Say what the marks mean."""
    mean = "; diamond: mean" if n.finite(spread.mean for spread in spreads) else ""
    strip = "; marks below: scores, higher where more queries share one" if most > 1 else "; marks below: scores"
    return f"box: middle half of the queries; bold line: median{mean}{strip}"


def strip_counts(spread: Spread, scale: Scale) -> Counter[int]:
    """Return how many scores fall on each place."""
    return Counter(round(scale(value) / MARK) for value in spread.values)


def spread_drawn(spread: Spread, scale: Scale, top: float, most: int) -> str:
    """Return the box, the strip and the tooltip of one system."""
    middle, colour = top + BOX / 2, SERIES[0]
    parts = [
        tip(f"{spread.in_words()}, mean {n.shown(spread.mean)}, {n.counted_queries(len(spread.values))}"),
        straight(scale(spread.low), middle, scale(spread.q1), middle, stroke=colour),
        straight(scale(spread.q3), middle, scale(spread.high), middle, stroke=colour),
        rectangle(scale(spread.q1), top, scale(spread.q3), top + BOX, fill=colour, fill_opacity=0.2, stroke=colour),
        straight(scale(spread.median), top, scale(spread.median), top + BOX, stroke=FG, stroke_width=2.5),
        strip(spread, scale, top + BOX + 3, most),
    ]
    if n.finite([spread.mean]):
        parts.append(marker("diamond", scale(spread.mean), middle, 3.5, fill=SERIES[1]))
    return group(parts)


def strip(spread: Spread, scale: Scale, top: float, most: int) -> str:
    """Return the scores as upright marks, the longer the more queries share the place."""
    counts = sorted(strip_counts(spread, scale).items())
    heights = ((place * MARK, round(3 + (STRIP - 3) * (count - 1) / max(most - 1, 1))) for place, count in counts)
    path = "".join(f"M{x} 0v{height}" for x, height in heights)
    look: Attributes = {"stroke": SERIES[0], "stroke_width": 1.2, "stroke_opacity": 0.75}
    return element("path", d=path, transform=f"translate(0 {number(top)})", **look) if path else ""
