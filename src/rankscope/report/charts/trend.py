"""A value over time or versions, one line per system."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

from rankscope.errors import OptionError
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.report.charts import axes
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, Scale, linear_axis
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing
from rankscope.report.charts.lines import (
    MOST_COLOURED,
    ChartLine,
    StrongLine,
    band_of,
    name_ends,
    names_width,
    path_of,
    strong_lines,
)
from rankscope.report.charts.palette import AXIS, BAD, BG, FG, MUTED, marker
from rankscope.report.charts.svg import Attributes, element, group, shortened, straight, text_width, tip
from rankscope.report.over_time import OverTime, scores_over_time

TARGET: Attributes = {"stroke": MUTED, "stroke_dasharray": "7 4"}
MISSED: Attributes = {"fill": BG, "stroke": BAD, "stroke_width": 2}
THEN: Attributes = {"stroke": MUTED, "stroke_width": 1.5, "stroke_dasharray": "2 3"}
MOST_MARKED_IN_TREND = 120


class TrendPoint(Record):
    """A system's value at a time or version, called `label`; `at` is its place in time, in any unit."""

    label: str
    value: float
    """NaN leaves a gap."""
    low: float = n.NAN
    high: float = n.NAN
    at: float | None = None
    system: str = ""
    then: float = n.NAN
    """What was said at the time, where that was another number."""
    is_new: bool = False
    """Whether the line begins anew here, as what came before cannot be compared with it."""


class TrendEvent(Record):
    """Something that happened, such as other judgments."""

    at: float
    label: str


class TrendChart(Chart):
    """Values over time, one line per system, with the band of the main or only one; misses are hollow squares."""

    points: Sequence[TrendPoint]
    measure: str
    target: float | None = None
    better: Better = "higher"
    x_label: str = ""
    main: str | None = None
    """The system that the chart is about: its band is drawn, too."""
    events: Sequence[TrendEvent] = ()

    @classmethod
    def from_score_files(
        cls, paths: Sequence[str], *, measure: str | None = None, system: str | None = None, target: float | None = None
    ) -> TrendChart:
        """Return the systems' means in several files, each a point in time; by default of all, by the first measure."""
        return cls.from_over_time(scores_over_time(paths, measure=measure, system=system), target=target)

    @classmethod
    def from_over_time(cls, found: OverTime, *, target: float | None = None) -> TrendChart:
        points = []
        for system, means in found.means.items():
            for i, (label, mean) in enumerate(zip(found.labels, means, strict=True)):
                value, low, high = (n.NAN,) * 3 if mean is None else (mean.value, *mean.ends)
                points.append(TrendPoint(label, value, low, high, at=float(i), system=system))
        only = [*found.means] if len(found.means) == 1 else []
        return cls(
            points,
            found.measure,
            title=f"{found.measure} over time",
            subtitle="; ".join([*only, *found.cautions]),
            target=target,
            better=found.better,
        )

    def checked(self) -> Self:
        n.require(self.points, "points")
        placed = [point.at is not None for point in self.points]
        if any(placed) != all(placed):
            hint = "give `at` for all or for none"
            raise OptionError("some points have a place in time and some have none", hint=hint)
        points, n_before = [], Counter[str]()
        for point in self.points:
            at = n.checked(n_before[point.system] if point.at is None else point.at, point.label)
            n_before[point.system] += 1
            if math.isnan(at):
                raise OptionError("a point has no place in time (NaN)", hint="leave the point out")
            then = n.checked(point.then, point.label)
            points.append(replace(n.checked_estimate(point, point.label), at=at, then=then))
        n.require_defined((point.value for point in points), "value")
        target = None if self.target is None else n.checked(self.target, "target")
        return replace(self, points=sorted(points, key=lambda point: point.at or 0), target=target)

    @cached_property
    def by_system(self) -> dict[str, list[TrendPoint]]:
        found: dict[str, list[TrendPoint]] = {}
        for point in self.points:
            found.setdefault(point.system, []).append(point)
        return found

    @cached_property
    def lines(self) -> list[ChartLine]:
        return [
            ChartLine(system, *([getattr(point, name) for point in points] for name in ("at", "value", "low", "high")))
            for system, points in self.by_system.items()
        ]

    @property
    def has_then(self) -> bool:
        return any(math.isfinite(point.then) for point in self.points)

    def pieces(self, line: ChartLine) -> Iterator[ChartLine]:
        """Yield a line in pieces, one for each time that it begins anew."""
        starts = [i for i, point in enumerate(self.by_system[line.name]) if point.is_new or not i]
        for start, end in pairwise([*starts, len(line.x)]):
            sides = (None if side is None else side[start:end] for side in (line.low, line.high))
            yield ChartLine(line.name, line.x[start:end], line.y[start:end], *sides)

    def misses(self, value: float) -> bool:
        if self.target is None:
            return False
        return value < self.target if self.better == "higher" else value > self.target

    def records(self) -> list[dict[str, Any]]:
        names = ["system", "label", "value", "low", "high"][0 if len(self.by_system) > 1 else 1 :]
        if self.has_then:
            names.append("then")
        return [{name: getattr(point, name) for name in names} for point in self.points]

    def alt(self) -> str:
        known = [point for point in self.points if math.isfinite(point.value)]
        goal = ""
        if self.target is not None:
            missed = sum(self.misses(point.value) for point in known)
            goal = f"; {missed:,} of {len(known):,} miss the target of {n.shown(self.target)}"
        if self.has_then:
            said = [replace(point, value=point.then) for point in self.points if math.isfinite(point.then)]
            goal += f"; as scored then {course_words(said)}"
        if self.events:
            goal += f"; {counted(len(self.events), 'event')}: {', '.join(event.label for event in self.events)}"
        if len(self.by_system) == 1:
            return f"{self.measure} {course_words(self.points)}{goal}."
        strong = [mine.name for mine in self.strong]
        systems = "; ".join(f"{name} {course_words(self.by_system[name])}" for name in strong)
        n_others = len(self.by_system) - len(strong)
        others = f"; {counted(n_others, 'other system')} in grey" if n_others else ""
        return f"{self.measure} over time, {systems}{others}{goal}."

    @cached_property
    def strong(self) -> list[StrongLine]:
        """The lines that stand out: all of a few, of many the one that ends best."""
        sign = 1 if self.better == "higher" else -1
        last = [(n.finite(line.y) or [-sign * math.inf])[-1] for line in self.lines]
        best = max(range(len(last)), key=lambda i: sign * last[i])
        names = [line.name for line in self.lines]
        main = names.index(self.main) if self.main in names and len(names) > MOST_COLOURED else best
        return strong_lines(names, main, None)

    def draw(self, drawing: Drawing) -> None:
        layout, lines = drawing.layout, self.lines
        # bands of several lines are not drawn, but their height tells large steps from small ones
        covered = [value for line in lines for value in (*line.y, *(line.low or ()), *(line.high or ()))]
        covered += [point.then for point in self.points if math.isfinite(point.then)]
        keys = [(straight(0, 0, SWATCH, 0, **THEN), "as scored then")] if self.has_then else []
        strong = {mine.index: mine for mine in self.strong}
        if len(lines) > len(strong):
            keys.append((straight(0, 0, SWATCH, 0, stroke=AXIS), counted(len(lines) - len(strong), "other system")))
        if self.target is not None:
            covered.append(self.target)
            words = "at least" if self.better == "higher" else "at most"
            keys.append((straight(0, 0, SWATCH, 0, **TARGET), f"target: {words} {n.shown(self.target)}"))
            if any(self.misses(value) for line in lines for value in line.y):
                hollow = MISSED if len(lines) == 1 else MISSED | {"stroke": FG}
                keys.append((marker("square", SWATCH / 2, 0, 4, **hollow), "target missed"))
        drawing.legend(keys)
        height = 260 if layout.is_wide else 220
        free = names_width(drawing, self.strong) if len(lines) > 1 else 0
        box, scale = axes.draw_y_axis(drawing, linear_axis(covered), self.measure, height=height, free=free)
        label_at = {point.at or 0.0: point.label for point in self.points}
        first, last = min(label_at), max(label_at)
        if first == last:  # a lone point stands in the middle
            first, last = first - 1 - abs(first), first + 1 + abs(first)
        plot = Plot(box, Scale(first, last, box.left + 10, box.right - 10), scale)
        if self.target is not None:
            drawing.add(straight(box.left, scale(self.target), box.right, scale(self.target), **TARGET))
        for i, line in enumerate(lines):
            if i in strong and (len(lines) == 1 or line.name == self.main):
                drawing.add(*(band_of(piece, plot, strong[i].colour) for piece in self.pieces(line)))
        self.draw_events(drawing, plot)
        self.draw_then(drawing, plot)
        for i, line in sorted(enumerate(lines), key=lambda item: (item[0] in strong, -item[0])):
            look = strong[i].stroke if i in strong else {"stroke": AXIS}
            drawing.add(*(path_of(piece, plot, **look) for piece in self.pieces(line)))
            drawing.add(*self.markers(strong.get(i), line.name, plot))
        if len(lines) > 1:
            name_ends(drawing, plot, self.strong, lines)
        drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
        drawing.y = box.bottom + 4
        labels = [shortened(label, layout.inner / 3, layout.size) for label in label_at.values()]
        axes.write_below(drawing, [plot.x(x) for x in reversed(label_at)], reversed(labels))
        axes.axis_name(drawing, self.x_label, box)

    def draw_then(self, drawing: Drawing, plot: Plot) -> None:
        """Draw what was said at the time, as a dotted line below the others."""
        for system, points in self.by_system.items():
            if any(math.isfinite(point.then) for point in points):
                line = ChartLine(system, [point.at or 0.0 for point in points], [point.then for point in points])
                named = (replace(piece, name=f"{system}, as scored then") for piece in self.pieces(line))
                drawing.add(*(path_of(piece, plot, **THEN) for piece in named))

    def draw_events(self, drawing: Drawing, plot: Plot) -> None:
        """Draw a thin line where something happened, named at the top as far as there is room."""
        box, size, end = plot.box, drawing.layout.size, -math.inf
        for event in sorted(self.events, key=lambda event: event.at):
            x, width = plot.x(event.at), text_width(event.label, size)
            drawing.add(element("line", tip(event.label), x1=x, y1=box.top, x2=x, y2=box.bottom, stroke=AXIS))
            left = x + 4 if x + 4 + width <= box.right else x - 4 - width
            if left > end:
                drawing.text(left, box.top + size, event.label)
                end = left + width

    def markers(self, strong: StrongLine | None, system: str, plot: Plot) -> list[str]:
        """Return a marker per value, as long as they have room; those that miss the target always have one."""
        reached, missed = [], []
        shape, colour = (strong.shape, strong.colour) if strong else ("disc", AXIS)
        name = f"{system}, " if len(self.by_system) > 1 else ""
        for point in self.by_system[system]:
            if not math.isfinite(point.value):
                continue
            words = tip(f"{name}{point.label}: {n.with_interval(point.value, point.low, point.high)}")
            place = plot.x(point.at or 0), plot.y(point.value)
            if self.misses(point.value):
                missed.append(marker(shape if name else "square", *place, 4, words))
            elif len(self.points) <= MOST_MARKED_IN_TREND:
                reached.append(marker(shape, *place, 3.8 if strong else 2.2, words))
        return [group(reached, fill=colour), group(missed, **(MISSED | {"stroke": colour} if name else MISSED))]


def course_words(points: Sequence[TrendPoint]) -> str:
    """Say where a line begins and ends, how many values it has, and where it has none."""
    known = [point for point in points if math.isfinite(point.value)]
    if not known:
        return "has no value"
    first, last, gaps = known[0], known[-1], [point.label for point in points if not math.isfinite(point.value)]
    words = f"from {n.shown(first.value)} at {first.label} to {n.shown(last.value)} at {last.label}"
    return f"{words}, {counted(len(known), 'value')}" + (f", none at {', '.join(gaps)}" if gaps else "")
