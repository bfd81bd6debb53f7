"""Maps of systems by two qualities: relevance against diversity, and quality against latency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, plot_with_axes
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, Key, drawn
from rankscope.report.charts.labels import place_labels
from rankscope.report.charts.palette import BG, GOOD, MUTED, SERIES, marker
from rankscope.report.charts.scale import Axis, linear_axis, log_axis
from rankscope.report.charts.svg import Attributes, element, escaped, group, number, polyline, straight, tip
from rankscope.report.charts.text import shortened

FRONT: Attributes = {"stroke": SERIES[4], "stroke_width": 1.5, "stroke_dasharray": "6 3"}


HALO: Attributes = {"stroke": BG, "stroke_width": 3, "paint_order": "stroke", "stroke_linejoin": "round"}


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A system's place, with an interval in each direction where one is known."""

    name: str
    x: float
    y: float
    x_low: float = n.NAN
    x_high: float = n.NAN
    y_low: float = n.NAN
    y_high: float = n.NAN

    def in_words(self) -> str:
        """Name the system and its numbers."""
        x, y = n.with_interval(self.x, self.x_low, self.x_high), n.with_interval(self.y, self.y_low, self.y_high)
        return f"{self.name}: {x}; {y}"


def relevance_diversity(
    points: Sequence[MapPoint],
    *,
    title: str,
    x_measure: str,
    y_measure: str,
    subtitle: str = "",
    prefix: str = "relevance_diversity",
) -> Chart:
    """Draw systems by relevance (x) and diversity (y), higher being better, and the line of those that none beats."""
    systems = checked_points(points)
    known = defined(systems)
    place = SystemMap(
        known,
        front_of(known, x_better="higher", y_better="higher"),
        linear_axis(x_ends(known)),
        linear_axis(y_ends(known)),
        x_measure,
        y_measure,
        len(systems) - len(known),
    )
    return place.chart("relevance_diversity", systems, title=title, subtitle=subtitle, prefix=prefix)


def quality_latency(
    points: Sequence[MapPoint],
    *,
    title: str,
    measure: str,
    unit: str = "ms",
    better: Better = "higher",
    x_label: str = "latency",
    subtitle: str = "",
    prefix: str = "quality_latency",
) -> Chart:
    """Draw systems by latency (x, logarithmic, lower is better) and quality (y), and those that none beats."""
    systems = checked_points(points)
    known = defined(systems)
    if any(system.x <= 0 for system in known):
        raise OptionError("a latency is not above 0", hint="use NaN where none was measured")
    place = SystemMap(
        known,
        front_of(known, x_better="lower", y_better=better),
        log_axis(end for end in x_ends(known) if end > 0),
        linear_axis(y_ends(known)),
        f"{x_label} ({unit})",
        measure,
        len(systems) - len(known),
    )
    return place.chart("quality_latency", systems, title=title, subtitle=subtitle, prefix=prefix)


def checked_points(points: Sequence[MapPoint]) -> list[MapPoint]:
    """Return systems whose numbers can be drawn."""
    n.require(points, "systems")
    return [
        MapPoint(
            point.name,
            n.checked(point.x, point.name),
            n.checked(point.y, point.name),
            *n.checked_interval(point.x_low, point.x_high, point.name),
            *n.checked_interval(point.y_low, point.y_high, point.name),
        )
        for point in points
    ]


def defined(systems: Sequence[MapPoint]) -> list[MapPoint]:
    """Return the systems that have a place."""
    known = [system for system in systems if math.isfinite(system.x) and math.isfinite(system.y)]
    n.require_defined((system.x for system in known), "place")
    return known


def x_ends(systems: Sequence[MapPoint]) -> Iterator[float]:
    """Yield what the level axis must cover."""
    for system in systems:
        yield from (system.x, system.x_low, system.x_high)


def y_ends(systems: Sequence[MapPoint]) -> Iterator[float]:
    """Yield what the upright axis must cover."""
    for system in systems:
        yield from (system.y, system.y_low, system.y_high)


def front_of(systems: Sequence[MapPoint], *, x_better: Better, y_better: Better) -> list[int]:
    """Return the systems that no other beats in one direction without losing in the other, the best in x last."""
    x_sign, y_sign = (1 if better == "higher" else -1 for better in (x_better, y_better))
    by_x = sorted(range(len(systems)), key=lambda i: (-x_sign * systems[i].x, -y_sign * systems[i].y))
    front: list[int] = []
    for i in by_x:
        last = systems[front[-1]] if front else None
        twin = last is not None and (last.x, last.y) == (systems[i].x, systems[i].y)
        if last is None or twin or y_sign * systems[i].y > y_sign * last.y:
            front.append(i)
    return front[::-1]


@dataclass(frozen=True, slots=True)
class SystemMap:
    """Systems with a place, those of the front, and the axes."""

    systems: Sequence[MapPoint]
    front: Sequence[int]
    x_axis: Axis
    y_axis: Axis
    x_label: str
    y_label: str
    n_undefined: int

    def chart(self, kind: str, systems: Sequence[MapPoint], *, title: str, subtitle: str, prefix: str) -> Chart:
        """Return the chart of the map."""
        data = [self.record(system) for system in systems]
        return drawn(kind, self.draw, title=title, subtitle=subtitle, alt=self.alt(), data=data, prefix=prefix)

    def record(self, system: MapPoint) -> dict[str, Any]:
        """Return a system as JSON can hold it."""
        names = ("x", "x_low", "x_high", "y", "y_low", "y_high")
        numbers = {name: n.json_ready(getattr(system, name)) for name in names}
        on_front = any(self.systems[i] == system for i in self.front)
        return {"system": system.name, **numbers, "on_front": on_front}

    def alt(self) -> str:
        """Say what is to be seen."""
        front = "; ".join(self.systems[i].in_words() for i in self.front[: n.TOLD])
        more = n.and_more(n.TOLD, len(self.front), "more")
        return (
            f"{n.counted(len(self.systems), 'system')} by {self.x_label} and {self.y_label}. "
            f"No other system is better in both than {front}{more}."
        )

    def draw(self, drawing: Drawing) -> None:
        """Draw crosses below the front, points above it, and the names on top."""
        is_wide = drawing.layout.is_wide
        drawing.legend(self.keys())
        height = 400 if is_wide else 320
        plot = plot_with_axes(
            drawing, self.x_axis, self.y_axis, x_label=self.x_label, y_label=self.y_label, height=height
        )
        drawing.add(group(crosses(self.systems, plot), stroke=MUTED, stroke_opacity=0.7))
        drawing.add(self.front_line(plot))
        drawing.add(*self.points(plot))
        n_named = self.write_names(drawing, plot)
        drawing.notes([named_note(n_named, len(self.systems)), undefined_note(self.n_undefined)])

    def keys(self) -> list[Key]:
        """Return the legend."""
        sample = straight(0, 0, SWATCH, 0, **FRONT) + marker("disc", SWATCH / 2, 0, 5, fill=GOOD)
        keys = [Key(sample, "no other system is better in both")]
        if len(self.front) < len(self.systems):
            hollow = marker("disc", SWATCH / 2, 0, 4.5, fill=BG, stroke=MUTED, stroke_width=1.5)
            keys.append(Key(hollow, "another one is"))
        return keys

    def front_line(self, plot: Plot) -> str:
        """Return the edge of what the systems reach, in steps."""
        corners = [(plot.x(self.systems[i].x), plot.y(self.systems[i].y)) for i in self.front]
        path = polyline(corners[:1]) + "".join(f"V{number(y)}H{number(x)}" for x, y in corners[1:])
        return element("path", d=path, fill="none", **FRONT)

    def front_boxes(self, plot: Plot) -> Iterator[Box]:
        """Yield the steps of the front as places that names avoid."""
        corners = [(plot.x(self.systems[i].x), plot.y(self.systems[i].y)) for i in self.front]
        for (x1, y1), (x2, y2) in pairwise(corners):
            yield Box(x1 - 1, min(y1, y2), x1 + 1, max(y1, y2))
            yield Box(min(x1, x2), y2 - 1, max(x1, x2), y2 + 1)

    def points(self, plot: Plot) -> list[str]:
        """Return the systems' points: filled on the front, hollow behind it."""
        on_front = set(self.front)
        sides: tuple[list[str], list[str]] = ([], [])
        for i, system in enumerate(self.systems):
            radius = 5 if i in on_front else 4.5
            sides[i in on_front].append(
                marker("disc", plot.x(system.x), plot.y(system.y), radius, tip(system.in_words()))
            )
        return [group(sides[0], fill=BG, stroke=MUTED, stroke_width=1.5), group(sides[1], fill=GOOD)]

    def write_names(self, drawing: Drawing, plot: Plot) -> int:
        """Write the names that have room, those of the front first, and return how many."""
        size = drawing.layout.size
        order = [*self.front, *(i for i in range(len(self.systems)) if i not in set(self.front))]
        systems = [self.systems[i] for i in order]
        texts = [shortened(system.name, plot.box.width * 0.33, size) for system in systems]
        places = [(plot.x(system.x), plot.y(system.y)) for system in systems]
        room = Box(plot.box.left + 2, plot.box.top + 1, drawing.layout.width - 4, plot.box.bottom - 2)
        placed = place_labels(
            texts, places, size=size, within=room, soft=[*cross_boxes(systems, plot), *self.front_boxes(plot)]
        )
        for label in placed:
            name = systems[label.index].name
            full = tip(name) if label.text != name else ""
            drawing.add(element("text", full, escaped(label.text), x=label.x, y=label.y, **HALO))
        return len(placed)


def crosses(systems: Sequence[MapPoint], plot: Plot) -> Iterator[str]:
    """Yield the intervals as thin lines."""
    for system in systems:
        x, y = plot.x(system.x), plot.y(system.y)
        if not math.isnan(system.x_low):
            yield straight(plot.x(system.x_low), y, plot.x(system.x_high), y)
        if not math.isnan(system.y_low):
            yield straight(x, plot.y(system.y_low), x, plot.y(system.y_high))


def cross_boxes(systems: Sequence[MapPoint], plot: Plot) -> Iterator[Box]:
    """Yield the intervals as places that names avoid."""
    for system in systems:
        x, y = plot.x(system.x), plot.y(system.y)
        if not math.isnan(system.x_low):
            yield Box(plot.x(system.x_low), y - 1, plot.x(system.x_high), y + 1)
        if not math.isnan(system.y_low):
            yield Box(x - 1, plot.y(system.y_high), x + 1, plot.y(system.y_low))


def named_note(n_named: int, n_systems: int) -> str:
    """Say that some names had no room, where so."""
    return f"{n_named} of {n_systems} systems are named; the others had no room" if n_named < n_systems else ""


def undefined_note(n_undefined: int) -> str:
    """Say that some systems have no place, where so."""
    return f"{n.counted(n_undefined, 'system')} undefined, not drawn" if n_undefined else ""
