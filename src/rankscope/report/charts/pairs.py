"""Two systems query by query: their differences sorted, and the scores of one against those of the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, Self

from rankscope.comparison.records import Comparison, PairResult
from rankscope.data.texts import beginning
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, Scale, axis_name, draw_y_axis, linear_axis, plot_with_axes, write_below
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing
from rankscope.report.charts.palette import AXIS, BAD, BG, FG, GOOD, MUTED, marker
from rankscope.report.charts.sources import better_of, identifier, pair_scores
from rankscope.report.charts.svg import Attributes, element, group, number, rectangle, straight, tip
from rankscope.stats.units import paired_differences

MOST_BARS = 300  # beyond it bars are thinner than a pixel, and are merged into an outline of so many steps
MOST_POINTS = 300  # with more different points, those that lie close together are merged on a grid
GRID_CELLS = 24  # along each side
RADIUS, LARGEST_RADIUS = 4.0, 9.0
SMALLEST_RADIUS, GRID_RADIUS = 1.6, 8.5  # of points that were merged on the grid
NAMED_QUERIES = 3
HEIGHT = 150  # of the bars, low enough to be taken in at a glance

BetterSide = Literal["second", "equal", "first"]  # which system is better on a query
SIDE_LOOKS: dict[BetterSide, tuple[str, Attributes]] = {
    "second": ("disc", {"fill": GOOD, "stroke": GOOD, "stroke_width": 1.2}),
    "first": ("square", {"fill": BG, "stroke": BAD, "stroke_width": 1.2}),
    "equal": ("diamond", {"fill": MUTED, "stroke": MUTED, "stroke_width": 1.2}),
}
Difference = tuple[str, float]


class PairChart(Chart, kw_only=True):
    """What both charts share."""

    measure: str
    names: tuple[str, str] = ("A", "B")
    better: Better = "higher"

    @property
    def counts(self) -> dict[BetterSide, int]:
        raise NotImplementedError

    def side_of(self, difference: float) -> BetterSide:
        return "equal" if not difference else "second" if (difference > 0) == (self.better == "higher") else "first"

    @property
    def tally(self) -> str:
        """Who is ahead, in words: `dense is ahead of bm25 on 59 of 100 queries, behind on 27, equal on 14`."""
        (a, b), counts = self.names, self.counts
        second, first, equal = (f"{counts[side]:,}" for side in ("second", "first", "equal"))
        total = counted(sum(counts.values()), "query")
        return f"{b} is ahead of {a} on {second} of {total}, behind on {first}, equal on {equal}"

    @property
    def undefined(self) -> str:
        """How many queries have no place in the chart; nothing where all have."""
        n_undefined = len(self.records()) - sum(self.counts.values())
        return f"{counted(n_undefined, 'query')} undefined, not drawn" if n_undefined else ""


def pair_options(comparison: Comparison, pair: PairResult, kind: str) -> dict[str, Any]:
    return {
        "measure": pair.measure,
        "names": (pair.a, pair.b),
        "better": better_of(comparison.scores, pair.measure),
        "subtitle": pair.group or "",
        "prefix": identifier(kind, pair.group or "", pair.a, pair.b),
    }


class DifferencesChart(PairChart):
    """The differences of the queries, second system minus first, from the largest gain to the largest loss."""

    queries: Sequence[str]
    values: Sequence[float]
    texts: Mapping[str, str] = {}
    """What was asked, where that is known."""

    @classmethod
    def from_comparison(cls, comparison: Comparison, pair: PairResult | None = None) -> DifferencesChart:
        pair = pair or next(iter(comparison))
        queries, a, b = pair_scores(comparison, pair)
        title = f"{pair.b} minus {pair.a}, query by query"
        options = pair_options(comparison, pair, cls.kind)
        texts = {query: beginning(text, 60) for query in queries if (text := comparison.texts.query(query))}
        return cls(queries, paired_differences(a, b).tolist(), texts, title=title, **options)

    def checked(self) -> Self:
        n.require(self.queries, "queries")
        n.require_equal_lengths("queries and differences", self.queries, self.values)
        values = n.numbers(self.values, "differences")
        n.require_defined(values, "difference")
        return replace(self, values=values)

    @cached_property
    def sides(self) -> dict[BetterSide, list[Difference]]:
        """The defined differences: gains, the largest first; queries that are equal; losses, the largest last."""
        sides: dict[BetterSide, list[Difference]] = {"second": [], "equal": [], "first": []}
        known = [pair for pair in zip(self.queries, self.values, strict=True) if math.isfinite(pair[1])]
        for pair in sorted(known, key=lambda pair: -pair[1] if self.better == "higher" else pair[1]):
            sides[self.side_of(pair[1])].append(pair)
        return sides

    @property
    def counts(self) -> dict[BetterSide, int]:
        return {side: len(members) for side, members in self.sides.items()}

    def name_of(self, query: str) -> str:
        return f"“{self.texts[query]}”" if query in self.texts else f"query {query}"

    @property
    def extremes(self) -> str:
        gains, losses = self.sides["second"], self.sides["first"]
        gain = f"largest gain {n.signed(gains[0][1])} ({self.name_of(gains[0][0])})" if gains else "no gain"
        loss = f"largest loss {n.signed(losses[-1][1])} ({self.name_of(losses[-1][0])})" if losses else "no loss"
        return f"{gain}, {loss}"

    def records(self) -> list[dict[str, Any]]:
        return [{"query": query, "difference": value} for query, value in zip(self.queries, self.values, strict=True)]

    def alt(self) -> str:
        return f"In {self.measure} {'; '.join(filter(None, (self.tally, self.extremes, self.undefined)))}."

    def draw(self, drawing: Drawing) -> None:
        a, b = self.names
        gains, equal, losses = self.sides.values()
        ordered = [*gains, *equal, *losses]
        axis = linear_axis([0.0, *(value for _, value in ordered)], n_ticks=4)
        label = f"difference in {self.measure} ({b} {n.MINUS} {a})"
        box, scale = draw_y_axis(drawing, axis, label, height=HEIGHT)
        step = box.width / len(ordered)
        gap = min(step * 0.2, 4)
        first_loss = len(ordered) - len(losses)
        for side, start, fill, name in ((gains, 0, GOOD, "gains"), (losses, first_loss, BAD, "losses")):
            if len(ordered) > MOST_BARS and side:
                words = tip(f"{counted(len(side), 'query')}: {name}")
                drawing.add(element("path", words, d=outline(side, start, len(ordered), scale, box), fill=fill))
                continue
            bars = []
            for i, (query, value) in enumerate(side, start):
                top, bottom = sorted((scale(value), scale(0)))
                left = box.left + i * step + gap / 2
                bars.append(
                    rectangle(
                        left, top, left + step - gap, bottom, tip(f"{self.texts.get(query, query)}: {n.signed(value)}")
                    )
                )
            drawing.add(group(bars, fill=fill))
        drawing.add(straight(box.left, scale(0), box.right, scale(0), stroke=FG))
        drawing.y = box.bottom + 2
        counts = {
            f"{len(gains):,} better": len(gains) / 2,
            f"{len(losses):,} worse": len(ordered) - len(losses) / 2,
            f"{len(equal):,} equal": len(gains) + len(equal) / 2,
        }
        shown = [words for words, members in zip(counts, (gains, losses, equal), strict=True) if members]
        write_below(drawing, [box.left + counts[words] * step for words in shown], shown)
        axis_name(drawing, f"{counted(len(ordered), 'query')}, largest gain first", box)
        drawing.notes([self.extremes, self.undefined])


def outline(side: Sequence[Difference], start: int, n_drawn: int, scale: Scale, box: Box) -> str:
    """Return the steps from the first query of a side to its last; queries that share one show the largest of them."""
    zero = number(scale(0))
    path = f"M{number(box.left + start / n_drawn * box.width)} {zero}"
    for _, members in groupby(enumerate(side, start), key=lambda member: member[0] * MOST_BARS // n_drawn):
        shared = list(members)
        height = max((value for _, (_, value) in shared), key=abs)
        path += f"V{number(scale(height))}H{number(box.left + (shared[-1][0] + 1) / n_drawn * box.width)}"
    return f"{path}V{zero}Z"


class ScatterSpot(Record):
    """Queries at one place."""

    a: float
    b: float
    queries: tuple[str, ...]
    side: BetterSide


class ScatterChart(PairChart):
    """The scores of two systems on the same queries; larger points stand for several queries."""

    queries: Sequence[str]
    a: Sequence[float]
    b: Sequence[float]

    @classmethod
    def from_comparison(cls, comparison: Comparison, pair: PairResult | None = None) -> ScatterChart:
        pair = pair or next(iter(comparison))
        queries, a, b = pair_scores(comparison, pair)
        options = pair_options(comparison, pair, cls.kind)
        return cls(queries, a.tolist(), b.tolist(), title=f"{pair.b} against {pair.a}", **options)

    def checked(self) -> Self:
        n.require(self.queries, "queries")
        n.require_equal_lengths("queries and scores", self.queries, self.a, self.b)
        chart = replace(self, a=n.numbers(self.a, self.names[0]), b=n.numbers(self.b, self.names[1]))
        n.require_defined((spot.a for spot in chart.points), "pair of scores")
        return chart

    @cached_property
    def points(self) -> list[ScatterSpot]:
        return [
            ScatterSpot(a, b, (query,), self.side_of(b - a))
            for query, a, b in zip(self.queries, self.a, self.b, strict=True)
            if math.isfinite(a) and math.isfinite(b)
        ]

    @cached_property
    def counts(self) -> dict[BetterSide, int]:
        sides = [point.side for point in self.points]
        return {side: sides.count(side) for side in SIDE_LOOKS}

    def records(self) -> list[dict[str, Any]]:
        return [{"query": query, "a": a, "b": b} for query, a, b in zip(self.queries, self.a, self.b, strict=True)]

    def alt(self) -> str:
        return f"In {self.measure} {'; '.join(filter(None, (self.tally, self.undefined)))}."

    def draw(self, drawing: Drawing) -> None:
        a, b = self.names
        words = {"second": f"{b} better", "first": f"{a} better", "equal": "equal"}
        drawing.legend(
            [
                (marker(shape, SWATCH / 2, 0, RADIUS, **look), f"{words[side]}: {self.counts[side]:,}")
                for side, (shape, look) in SIDE_LOOKS.items()
                if self.counts[side]
            ]
        )
        axis = linear_axis(value for point in self.points for value in (point.a, point.b))
        edge = 400 if drawing.layout.is_wide else 280
        x_label, y_label = f"{self.measure} of {a}", f"{self.measure} of {b}"
        plot = plot_with_axes(drawing, axis, axis, x_label=x_label, y_label=y_label, height=edge, width=edge)
        box = plot.box
        drawing.add(straight(box.left, box.bottom, box.right, box.top, stroke=AXIS, stroke_dasharray="5 4"))
        spots = merge(self.points)
        if on_grid := len(spots) > MOST_POINTS:
            spots = merge(self.points, plot.x)
        largest = max(len(spot.queries) for spot in spots)
        for side, (_, look) in SIDE_LOOKS.items():
            markers = (spot_marker(spot, plot, largest, on_grid=on_grid) for spot in spots if spot.side == side)
            drawing.add(group(markers, **look, fill_opacity=0.75))
        near = "at or near the same place" if on_grid else "with the same scores"
        several = f"larger points: several queries {near}, up to {largest:,}" if largest > 1 else ""
        drawing.notes(["; ".join(filter(None, [counted(len(self.points), "query"), several, self.undefined]))])


def merge(points: Sequence[ScatterSpot], scale: Scale | None = None) -> list[ScatterSpot]:
    """Return one spot for all queries of a side with the same scores, or in the same cell of a grid over a scale."""

    def place(value: float) -> float:
        if scale is None:
            return value
        cell = min(int((value - scale.low) / (scale.high - scale.low) * GRID_CELLS), GRID_CELLS - 1)
        return scale.low + (cell + 0.5) / GRID_CELLS * (scale.high - scale.low)

    members: dict[tuple[float, float, BetterSide], list[str]] = {}
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
    more = f" and {count - NAMED_QUERIES} more" if count > NAMED_QUERIES else ""
    words = f"{', '.join(spot.queries[:NAMED_QUERIES])}{more}: {n.shown(spot.a)}, {n.shown(spot.b)}"
    return marker(SIDE_LOOKS[spot.side][0], plot.x(spot.a), plot.y(spot.b), radius, tip(words))
