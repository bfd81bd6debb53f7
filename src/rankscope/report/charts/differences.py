"""Differences query by query, sorted: how many were won and lost, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Self

from rankscope.comparison.records import Comparison, PairResult
from rankscope.records import replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import axis_name, draw_y_axis, plot_box
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, LegendKey
from rankscope.report.charts.palette import AXIS, BAD, GOOD
from rankscope.report.charts.scale import Scale, linear_axis
from rankscope.report.charts.sources import all_queries, better_of, differences_of, identifier
from rankscope.report.charts.svg import element, number, rectangle, straight, tip

MOST_BARS = 300
"""Beyond it bars are thinner than a pixel, and are merged into an outline of so many steps."""

Difference = tuple[str, float]


class DifferencesChart(Chart):
    """The differences of the queries, second system minus first, from the largest gain to the largest loss."""

    kind: ClassVar[str] = "differences"

    queries: Sequence[str]
    values: Sequence[float]
    measure: str
    names: tuple[str, str] = ("A", "B")
    better: Better = "higher"

    @classmethod
    def from_comparison(cls, comparison: Comparison, pair: PairResult | None = None) -> DifferencesChart:
        """Return the differences of a pair, by default the first."""
        pair = pair or next(iter(comparison))
        values = zip(all_queries(comparison.scores), differences_of(comparison, pair).tolist(), strict=True)
        known = [(query, value) for query, value in values if not math.isnan(value)]
        return cls(
            [query for query, _ in known],
            [value for _, value in known],
            title=f"{pair.b} minus {pair.a}, query by query",
            measure=pair.measure,
            names=(pair.a, pair.b),
            better=better_of(comparison.scores, pair.measure),
            subtitle=pair.group or "",
            prefix=identifier("differences", pair.group or "", pair.a, pair.b),
        )

    def checked(self) -> Self:
        n.require(self.queries, "queries")
        n.require_equal_lengths("queries and differences", self.queries, self.values)
        values = n.numbers(self.values, "differences")
        n.require_defined(values, "difference")
        return replace(self, values=values)

    @cached_property
    def ordered(self) -> list[Difference]:
        """The defined differences: gains first, then queries that are equal, then losses."""
        known = [pair for pair in zip(self.queries, self.values, strict=True) if math.isfinite(pair[1])]
        return sorted(known, key=lambda pair: -pair[1] if self.better == "higher" else pair[1])

    @cached_property
    def gains(self) -> list[Difference]:
        """The queries on which the second system is better, the largest gain first."""
        return [pair for pair in self.ordered if (pair[1] > 0 if self.better == "higher" else pair[1] < 0)]

    @cached_property
    def losses(self) -> list[Difference]:
        """The queries on which the first system is better, the largest loss last."""
        return [pair for pair in self.ordered if (pair[1] < 0 if self.better == "higher" else pair[1] > 0)]

    @property
    def n_equal(self) -> int:
        """The number of queries without a difference."""
        return len(self.ordered) - len(self.gains) - len(self.losses)

    @property
    def extremes(self) -> str:
        """The queries with the largest gain and the largest loss, in words."""
        gain, loss = "no gain", "no loss"
        if self.gains:
            gain = f"largest gain {n.signed(self.gains[0][1])} (query {self.gains[0][0]})"
        if self.losses:
            loss = f"largest loss {n.signed(self.losses[-1][1])} (query {self.losses[-1][0]})"
        return f"{gain}, {loss}"

    @property
    def undefined(self) -> str:
        """How many queries have no difference, in words."""
        return n.undefined_words(len(self.queries) - len(self.ordered))

    def records(self) -> list[dict[str, Any]]:
        pairs = zip(self.queries, self.values, strict=True)
        return [{"query": query, "difference": n.json_ready(value)} for query, value in pairs]

    def alt(self) -> str:
        a, b = self.names
        return (
            f"Differences in {self.measure} by query, {b} minus {a}: {b} is better on {len(self.gains):,}, "
            f"{a} on {len(self.losses):,}, equal on {self.n_equal:,} of {n.counted_queries(len(self.ordered))}; "
            f"{self.extremes}{f'; {self.undefined}' if self.undefined else ''}."
        )

    def draw(self, drawing: Drawing) -> None:
        """Draw the legend with its counts, then the bars, or above some hundreds their outline."""
        a, b = self.names
        hatch = drawing.hatched("loss", BAD)
        drawing.legend(
            [
                LegendKey(rectangle(0, -6, SWATCH, 6, fill=GOOD), f"{b} better: {len(self.gains):,}"),
                LegendKey(rectangle(0, -6, SWATCH, 6, fill=hatch), f"{a} better: {len(self.losses):,}"),
            ]
        )
        axis = linear_axis([0.0, *(value for _, value in self.ordered)])
        label = f"difference in {self.measure} ({b} {n.MINUS} {a})"
        box = plot_box(drawing, axis, label, height=240 if drawing.layout.is_wide else 200)
        scale = axis.scale(box.bottom, box.top)
        draw_y_axis(drawing, axis, scale, box)
        parts = self.outlines if len(self.ordered) > MOST_BARS else self.bars
        drawing.add(*parts(scale, box, hatch))
        drawing.add(straight(box.left, scale(0), box.right, scale(0), stroke=AXIS))
        drawing.y = box.bottom + 10
        axis_name(drawing, f"{n.counted_queries(len(self.ordered))}, from the largest gain to the largest loss", box)
        equal = f"equal: {n.counted_queries(self.n_equal)}" if self.n_equal else ""
        drawing.notes([self.extremes, "; ".join(filter(None, [equal, self.undefined]))])

    def bars(self, scale: Scale, box: Box, hatch: str) -> list[str]:
        """Return one bar per query, with the query and its difference as a tooltip."""
        step = box.width / len(self.ordered)
        gap = min(step * 0.2, 4)
        n_gains, bars = len(self.gains), []
        for i, (query, value) in enumerate(self.ordered):
            if n_gains <= i < n_gains + self.n_equal:
                continue
            top, bottom = sorted((scale(value), scale(0)))
            left = box.left + i * step + gap / 2
            fill = GOOD if i < n_gains else hatch
            bars.append(rectangle(left, top, left + step - gap, bottom, tip(f"{query}: {n.signed(value)}"), fill=fill))
        return bars

    def outlines(self, scale: Scale, box: Box, hatch: str) -> list[str]:
        """Return gains and losses as two areas with steps; queries that share a step show the largest of them."""
        n_drawn = len(self.ordered)
        sides = [(self.gains, 0, GOOD, "gains"), (self.losses, n_drawn - len(self.losses), hatch, "losses")]
        areas = []
        for side, start, fill, name in sides:
            if side:
                words = tip(f"{n.counted_queries(len(side))}: {name}")
                areas.append(element("path", words, d=steps(side, start, n_drawn, scale, box), fill=fill))
        return areas


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
