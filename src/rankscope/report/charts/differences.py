"""Differences query by query, sorted: how many were won and lost, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import groupby

from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import axis_name, draw_y_axis, plot_box
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, Key, drawn
from rankscope.report.charts.palette import AXIS, BAD, GOOD
from rankscope.report.charts.scale import Scale, linear_axis
from rankscope.report.charts.svg import element, number, rectangle, straight, tip

MOST_BARS = 300
"""Beyond it bars are thinner than a pixel, and are merged into an outline of so many steps."""

Difference = tuple[str, float]


def differences(
    queries: Sequence[str],
    values: Sequence[float],
    *,
    title: str,
    measure: str,
    names: tuple[str, str] = ("A", "B"),
    better: Better = "higher",
    subtitle: str = "",
    prefix: str = "differences",
) -> Chart:
    """Draw the differences of the queries, second system minus first, from the largest gain to the largest loss."""
    n.require(queries, "queries")
    n.require_equal_lengths("queries and differences", queries, values)
    pairs = list(zip(queries, n.numbers(values, "differences"), strict=True))
    n.require_defined((value for _, value in pairs), "difference")
    sign = 1 if better == "higher" else -1
    ordered = sorted((pair for pair in pairs if math.isfinite(pair[1])), key=lambda pair: -sign * pair[1])
    parts = Parts(ordered, sign=sign, n_undefined=len(pairs) - len(ordered))
    draw = partial(draw_differences, parts=parts, measure=measure, names=names)
    data = [{"query": query, "difference": n.json_ready(value)} for query, value in pairs]
    alt = parts.in_words(measure, names)
    return drawn("differences", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


class Parts:
    """The sorted differences: gains first, then queries that are equal, then losses."""

    def __init__(self, ordered: Sequence[Difference], *, sign: int, n_undefined: int) -> None:
        self.ordered = ordered
        self.gains = [pair for pair in ordered if sign * pair[1] > 0]
        self.losses = [pair for pair in ordered if sign * pair[1] < 0]
        self.n_equal = len(ordered) - len(self.gains) - len(self.losses)
        self.n_undefined = n_undefined

    def extremes(self) -> str:
        """Name the queries with the largest gain and the largest loss."""
        gain = f"largest gain {n.signed(self.gains[0][1])} (query {self.gains[0][0]})" if self.gains else "no gain"
        loss = f"largest loss {n.signed(self.losses[-1][1])} (query {self.losses[-1][0]})" if self.losses else "no loss"
        return f"{gain}, {loss}"

    def in_words(self, measure: str, names: tuple[str, str]) -> str:
        """Say what is to be seen."""
        undefined = n.undefined_words(self.n_undefined)
        return (
            f"Differences in {measure} by query, {names[1]} minus {names[0]}: {names[1]} is better "
            f"on {len(self.gains):,}, {names[0]} on {len(self.losses):,}, equal on {self.n_equal:,} "
            f"of {n.counted_queries(len(self.ordered))}; {self.extremes()}{f'; {undefined}' if undefined else ''}."
        )


def draw_differences(drawing: Drawing, *, parts: Parts, measure: str, names: tuple[str, str]) -> None:
    """Draw the legend with its counts, then the bars, or above some hundreds their outline."""
    hatch = drawing.hatched("loss", BAD)
    drawing.legend(
        [
            Key(rectangle(0, -6, SWATCH, 6, fill=GOOD), f"{names[1]} better: {len(parts.gains):,}"),
            Key(rectangle(0, -6, SWATCH, 6, fill=hatch), f"{names[0]} better: {len(parts.losses):,}"),
        ]
    )
    axis = linear_axis([0.0, *(value for _, value in parts.ordered)])
    label = f"difference in {measure} ({names[1]} {n.MINUS} {names[0]})"
    box = plot_box(drawing, axis, label, height=240 if drawing.layout.is_wide else 200)
    scale = axis.scale(box.bottom, box.top)
    draw_y_axis(drawing, axis, scale, box)
    bars = outline if len(parts.ordered) > MOST_BARS else single_bars
    drawing.add(*bars(parts, scale, box, hatch))
    drawing.add(straight(box.left, scale(0), box.right, scale(0), stroke=AXIS))
    drawing.y = box.bottom + 10
    axis_name(drawing, f"{n.counted_queries(len(parts.ordered))}, from the largest gain to the largest loss", box)
    equal = f"equal: {n.counted_queries(parts.n_equal)}" if parts.n_equal else ""
    drawing.notes([parts.extremes(), "; ".join(filter(None, [equal, n.undefined_words(parts.n_undefined)]))])


def single_bars(parts: Parts, scale: Scale, box: Box, hatch: str) -> list[str]:
    """Return one bar per query, with the query and its difference as a tooltip."""
    step = box.width / len(parts.ordered)
    gap = min(step * 0.2, 4)
    gains, losses = set(range(len(parts.gains))), range(len(parts.gains) + parts.n_equal, len(parts.ordered))
    bars = []
    for i in [*sorted(gains), *losses]:
        query, value = parts.ordered[i]
        top, bottom = sorted((scale(value), scale(0)))
        left = box.left + i * step + gap / 2
        fill = GOOD if i in gains else hatch
        bars.append(rectangle(left, top, left + step - gap, bottom, tip(f"{query}: {n.signed(value)}"), fill=fill))
    return bars


def outline(parts: Parts, scale: Scale, box: Box, hatch: str) -> list[str]:
    """Return gains and losses as two areas with steps; queries that share a step show the largest of them."""
    n_drawn = len(parts.ordered)
    losses_from = n_drawn - len(parts.losses)
    areas = [(parts.gains, 0, GOOD, "gains"), (parts.losses, losses_from, hatch, "losses")]
    return [
        element(
            "path",
            tip(f"{n.counted_queries(len(side))}: {words}"),
            d=steps(side, start, n_drawn, scale, box),
            fill=fill,
        )
        for side, start, fill, words in areas
        if side
    ]


def steps(side: Sequence[Difference], start: int, n_drawn: int, scale: Scale, box: Box) -> str:
    """Return the outline of one side from its first query to its last."""
    zero = scale(0)
    path = f"M{number(box.left + start / n_drawn * box.width)} {number(zero)}"
    places = ((start + i) * MOST_BARS // n_drawn for i in range(len(side)))
    for _, members in groupby(zip(places, enumerate(side), strict=True), key=lambda pair: pair[0]):
        shared = [member for _, member in members]
        height = max((value for _, (_, value) in shared), key=abs)
        right = box.left + (start + shared[-1][0] + 1) / n_drawn * box.width
        path += f"V{number(scale(height))}H{number(right)}"
    return f"{path}V{number(zero)}Z"
