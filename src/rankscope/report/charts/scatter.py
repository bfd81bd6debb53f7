"""One system against another, query by query: above the diagonal the second one scores higher."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, plot_with_axes
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing, Key, drawn
from rankscope.report.charts.palette import AXIS, BAD, BG, GOOD, MUTED, marker
from rankscope.report.charts.scale import linear_axis
from rankscope.report.charts.svg import group, straight, tip

MOST_POINTS = 300
"""With more different points, those that lie close together are merged on a grid."""
GRID_CELLS = 24
"""Along each side."""
RADIUS, LARGEST_RADIUS = 4.0, 9.0
SMALLEST_RADIUS, GRID_RADIUS = 1.6, 8.5
"""Of points that were merged on the grid."""
NAMED_QUERIES = 3
SHAPES = {"second": ("disc", GOOD, GOOD), "first": ("square", BG, BAD), "equal": ("diamond", MUTED, MUTED)}
"""Marker, fill and outline by which system is better."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Queries at one place."""

    a: float
    b: float
    queries: tuple[str, ...]
    side: str

    def in_words(self) -> str:
        """Name the queries and their scores."""
        named = ", ".join(self.queries[:NAMED_QUERIES])
        rest = len(self.queries) - NAMED_QUERIES
        return f"{named}{f' and {rest} more' if rest > 0 else ''}: {n.shown(self.a)}, {n.shown(self.b)}"


def scatter(
    queries: Sequence[str],
    a: Sequence[float],
    b: Sequence[float],
    *,
    title: str,
    measure: str,
    names: tuple[str, str] = ("A", "B"),
    better: Better = "higher",
    subtitle: str = "",
    prefix: str = "scatter",
) -> Chart:
    """Draw the scores of two systems on the same queries; larger points stand for several queries."""
    n.require(queries, "queries")
    n.require_equal_lengths("queries and scores", queries, a, b)
    scores = list(zip(queries, n.numbers(a, names[0]), n.numbers(b, names[1]), strict=True))
    known = [(query, x, y) for query, x, y in scores if math.isfinite(x) and math.isfinite(y)]
    n.require_defined((x for _, x, _ in known), "pair of scores")
    sides = [side_of(x, y, better) for _, x, y in known]
    undefined = n.undefined_words(len(scores) - len(known))
    draw = partial(draw_scatter, known=known, sides=sides, measure=measure, names=names, undefined=undefined)
    data = [{"query": query, "a": n.json_ready(x), "b": n.json_ready(y)} for query, x, y in scores]
    alt = (
        f"{measure} of {names[1]} against {names[0]}, query by query: {names[1]} is better "
        f"on {sides.count('second'):,}, {names[0]} on {sides.count('first'):,}, equal on {sides.count('equal'):,} "
        f"of {n.counted_queries(len(known))}"
        f"{f'; {undefined}' if undefined else ''}."
    )
    return drawn("scatter", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def side_of(a: float, b: float, better: Better) -> str:
    """Return which system is better on a query."""
    if a == b:
        return "equal"
    return "second" if (b > a) == (better == "higher") else "first"


def draw_scatter(
    drawing: Drawing,
    *,
    known: Sequence[tuple[str, float, float]],
    sides: Sequence[str],
    measure: str,
    names: tuple[str, str],
    undefined: str,
) -> None:
    """Draw both axes alike, the diagonal, and the points."""
    words = {"second": f"{names[1]} better", "first": f"{names[0]} better", "equal": "equal"}
    keys = [(side, f"{words[side]}: {sides.count(side):,}") for side in SHAPES if side in sides]
    drawing.legend([Key(spot_marker(side, SWATCH / 2, 0, RADIUS), label) for side, label in keys])
    axis = linear_axis(value for _, x, y in known for value in (x, y))
    side = 400 if drawing.layout.is_wide else 280
    x_label, y_label = f"{measure} of {names[0]}", f"{measure} of {names[1]}"
    plot = plot_with_axes(drawing, axis, axis, x_label=x_label, y_label=y_label, height=side, width=side)
    box = plot.box
    drawing.add(straight(box.left, box.bottom, box.right, box.top, stroke=AXIS, stroke_dasharray="5 4"))
    spots, merged = spots_of(known, sides, plot)
    largest = max(len(spot.queries) for spot in spots)
    drawing.add(*(spots_drawn(side, spots, plot, merged=merged) for side in SHAPES))
    remarks = [n.counted_queries(len(known)), merged_note(largest, merged=merged), undefined]
    drawing.notes(["; ".join(filter(None, remarks))])


def merged_note(largest: int, *, merged: bool) -> str:
    """Say what a large point means, where there is one."""
    if largest == 1:
        return ""
    near = "at or near the same place" if merged else "with the same scores"
    return f"larger points: several queries {near}, up to {largest:,}"


def spots_of(known: Sequence[tuple[str, float, float]], sides: Sequence[str], plot: Plot) -> tuple[list[Spot], bool]:
    """Return the points with their queries: equal ones merged, and near ones too where there are very many."""
    spots = merged_spots(known, sides, [(a, b) for _, a, b in known])
    if len(spots) <= MOST_POINTS:
        return spots, False
    return merged_spots(known, sides, [(to_grid(a, plot), to_grid(b, plot)) for _, a, b in known]), True


def merged_spots(
    known: Sequence[tuple[str, float, float]], sides: Sequence[str], places: Sequence[tuple[float, float]]
) -> list[Spot]:
    """Return one spot for all queries at the same place and of the same side."""
    members: dict[tuple[float, float, str], list[str]] = {}
    for (query, _, _), side, place in zip(known, sides, places, strict=True):
        members.setdefault((*place, side), []).append(query)
    return [Spot(a, b, tuple(queries), side) for (a, b, side), queries in members.items()]


def to_grid(value: float, plot: Plot) -> float:
    """Return the middle of the grid cell that a value falls into."""
    low, high = plot.x.low, plot.x.high
    cell = min(int((value - low) / (high - low) * GRID_CELLS), GRID_CELLS - 1)
    return low + (cell + 0.5) / GRID_CELLS * (high - low)


def spots_drawn(side: str, spots: Sequence[Spot], plot: Plot, *, merged: bool) -> str:
    """Return the points of one side; their area grows with the number of queries."""
    return group(_spots(side, spots, plot, merged=merged), **look(side), fill_opacity=0.75)


def _spots(side: str, spots: Sequence[Spot], plot: Plot, *, merged: bool) -> Iterator[str]:
    largest = max(len(spot.queries) for spot in spots)
    for spot in spots:
        if spot.side == side:
            radius = radius_of(len(spot.queries), largest, merged=merged)
            yield marker(SHAPES[side][0], plot.x(spot.a), plot.y(spot.b), radius, tip(spot.in_words()))


def radius_of(count: int, largest: int, *, merged: bool) -> float:
    """Return the size of a point: its area grows with the number of queries, from a least size that can be seen."""
    if merged:
        return max(SMALLEST_RADIUS, GRID_RADIUS * math.sqrt(count / largest))
    share = (count - 1) / max(largest - 1, 1)
    return math.sqrt(RADIUS**2 + share * (LARGEST_RADIUS**2 - RADIUS**2))


def look(side: str) -> dict[str, str | float]:
    """Return how the points of one side are painted."""
    _, fill, outline = SHAPES[side]
    return {"fill": fill, "stroke": outline, "stroke_width": 1.2}


def spot_marker(side: str, x: float, y: float, radius: float) -> str:
    """Return one point as a sample."""
    return marker(SHAPES[side][0], x, y, radius, **look(side))
