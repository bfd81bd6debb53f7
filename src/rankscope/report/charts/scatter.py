"""One system against another, query by query: above the diagonal the second one scores higher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from rankscope.comparison.records import Comparison, PairResult
from rankscope.records import Record, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, plot_with_axes
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing, LegendKey
from rankscope.report.charts.palette import AXIS, BAD, BG, GOOD, MUTED, marker
from rankscope.report.charts.scale import Scale, linear_axis
from rankscope.report.charts.sources import all_queries, better_of, column_of, differences_of, identifier
from rankscope.report.charts.svg import Attributes, group, straight, tip

MOST_POINTS = 300
"""With more different points, those that lie close together are merged on a grid."""
GRID_CELLS = 24
"""Along each side."""
RADIUS, LARGEST_RADIUS = 4.0, 9.0
SMALLEST_RADIUS, GRID_RADIUS = 1.6, 8.5
"""Of points that were merged on the grid."""
NAMED_QUERIES = 3
SIDE_MARKERS = {"second": "disc", "first": "square", "equal": "diamond"}
SIDE_LOOKS: dict[str, Attributes] = {
    "second": {"fill": GOOD, "stroke": GOOD, "stroke_width": 1.2},
    "first": {"fill": BG, "stroke": BAD, "stroke_width": 1.2},
    "equal": {"fill": MUTED, "stroke": MUTED, "stroke_width": 1.2},
}
"""By which system is better."""


class ScatterSpot(Record):
    """Queries at one place."""

    a: float
    b: float
    queries: tuple[str, ...]
    side: str

    @property
    def words(self) -> str:
        """The queries and their scores."""
        named = ", ".join(self.queries[:NAMED_QUERIES])
        rest = len(self.queries) - NAMED_QUERIES
        return f"{named}{f' and {rest} more' if rest > 0 else ''}: {n.shown(self.a)}, {n.shown(self.b)}"


class ScatterChart(Chart):
    """The scores of two systems on the same queries; larger points stand for several queries."""

    kind: ClassVar[str] = "scatter"

    queries: Sequence[str]
    a: Sequence[float]
    b: Sequence[float]
    measure: str
    names: tuple[str, str] = ("A", "B")
    better: Better = "higher"

    @classmethod
    def from_comparison(cls, comparison: Comparison, pair: PairResult | None = None) -> ScatterChart:
        """Return the scores of a pair, by default the first, on the queries that count."""
        pair = pair or next(iter(comparison))
        ids, known = all_queries(comparison.scores), ~np.isnan(differences_of(comparison, pair))
        a, b = (column_of(comparison.scores, name, pair.measure, ids)[known] for name in (pair.a, pair.b))
        return cls(
            [query for query, counts in zip(ids, known.tolist(), strict=True) if counts],
            a.tolist(),
            b.tolist(),
            title=f"{pair.b} against {pair.a}",
            measure=pair.measure,
            names=(pair.a, pair.b),
            better=better_of(comparison.scores, pair.measure),
            subtitle=pair.group or "",
            prefix=identifier("scatter", pair.group or "", pair.a, pair.b),
        )

    def checked(self) -> Self:
        n.require(self.queries, "queries")
        n.require_equal_lengths("queries and scores", self.queries, self.a, self.b)
        chart = replace(self, a=n.numbers(self.a, self.names[0]), b=n.numbers(self.b, self.names[1]))
        n.require_defined((spot.a for spot in chart.points), "pair of scores")
        return chart

    @cached_property
    def points(self) -> list[ScatterSpot]:
        """One point per query that both systems have a score for."""
        points = []
        for query, a, b in zip(self.queries, self.a, self.b, strict=True):
            if math.isfinite(a) and math.isfinite(b):
                side = "equal" if a == b else "second" if (b > a) == (self.better == "higher") else "first"
                points.append(ScatterSpot(a, b, (query,), side))
        return points

    @cached_property
    def n_points(self) -> dict[str, int]:
        """How many queries lie on each side."""
        sides = [point.side for point in self.points]
        return {side: sides.count(side) for side in SIDE_MARKERS}

    @property
    def undefined(self) -> str:
        """How many queries lack a score, in words."""
        return n.undefined_words(len(self.queries) - len(self.points))

    def records(self) -> list[dict[str, Any]]:
        rows = zip(self.queries, self.a, self.b, strict=True)
        return [{"query": query, "a": n.json_ready(a), "b": n.json_ready(b)} for query, a, b in rows]

    def alt(self) -> str:
        a, b = self.names
        return (
            f"{self.measure} of {b} against {a}, query by query: {b} is better on {self.n_points['second']:,}, "
            f"{a} on {self.n_points['first']:,}, equal on {self.n_points['equal']:,} "
            f"of {n.counted_queries(len(self.points))}{f'; {self.undefined}' if self.undefined else ''}."
        )

    def draw(self, drawing: Drawing) -> None:
        """Draw both axes alike, the diagonal, and the points."""
        a, b = self.names
        words = {"second": f"{b} better", "first": f"{a} better", "equal": "equal"}
        drawing.legend(
            [
                LegendKey(
                    marker(shape, SWATCH / 2, 0, RADIUS, **SIDE_LOOKS[side]), f"{words[side]}: {self.n_points[side]:,}"
                )
                for side, shape in SIDE_MARKERS.items()
                if self.n_points[side]
            ]
        )
        axis = linear_axis(value for point in self.points for value in (point.a, point.b))
        edge = 400 if drawing.layout.is_wide else 280
        labels = {"x_label": f"{self.measure} of {a}", "y_label": f"{self.measure} of {b}"}
        plot = plot_with_axes(drawing, axis, axis, **labels, height=edge, width=edge)
        box = plot.box
        drawing.add(straight(box.left, box.bottom, box.right, box.top, stroke=AXIS, stroke_dasharray="5 4"))
        spots, on_grid = merge(self.points), False
        if len(spots) > MOST_POINTS:
            spots, on_grid = merge(self.points, plot.x), True
        largest = max(len(spot.queries) for spot in spots)
        for side in SIDE_MARKERS:
            own = [spot for spot in spots if spot.side == side]
            markers = (spot_marker(spot, plot, largest, on_grid=on_grid) for spot in own)
            drawing.add(group(markers, **SIDE_LOOKS[side], fill_opacity=0.75))
        near = "at or near the same place" if on_grid else "with the same scores"
        several = f"larger points: several queries {near}, up to {largest:,}" if largest > 1 else ""
        drawing.notes(["; ".join(filter(None, [n.counted_queries(len(self.points)), several, self.undefined]))])


def merge(points: Sequence[ScatterSpot], scale: Scale | None = None) -> list[ScatterSpot]:
    """Return one spot for all queries of a side with the same scores, or in the same cell of a grid over a scale."""

    def place(value: float) -> float:
        if scale is None:
            return value
        cell = min(int((value - scale.low) / (scale.high - scale.low) * GRID_CELLS), GRID_CELLS - 1)
        return scale.low + (cell + 0.5) / GRID_CELLS * (scale.high - scale.low)

    members: dict[tuple[float, float, str], list[str]] = {}
    for point in points:
        members.setdefault((place(point.a), place(point.b), point.side), []).extend(point.queries)
    return [ScatterSpot(a, b, tuple(queries), side) for (a, b, side), queries in members.items()]


def spot_marker(spot: ScatterSpot, plot: Plot, largest: int, *, on_grid: bool) -> str:
    """Return a point whose area grows with the number of its queries, from a least size that can be seen."""
    count = len(spot.queries)
    if on_grid:
        radius = max(SMALLEST_RADIUS, GRID_RADIUS * math.sqrt(count / largest))
    else:
        share = (count - 1) / max(largest - 1, 1)
        radius = math.sqrt(RADIUS**2 + share * (LARGEST_RADIUS**2 - RADIUS**2))
    return marker(SIDE_MARKERS[spot.side], plot.x(spot.a), plot.y(spot.b), radius, tip(spot.words))
