"""A value over time or versions, with its intervals and the target it is held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from rankscope.comparison.known_measures import with_directions
from rankscope.errors import OptionError, did_you_mean
from rankscope.measures.score_files import read_scores
from rankscope.records import Record, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Plot, Scale, axis_name, draw_y_axis, linear_axis, write_below
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing
from rankscope.report.charts.lines import ChartLine, band_of, path_of
from rankscope.report.charts.palette import AXIS, BAD, BG, GOOD, SERIES, marker
from rankscope.report.charts.sources import better_of
from rankscope.report.charts.svg import Attributes, group, shortened, straight, tip
from rankscope.report.means import mean_of

TARGET: Attributes = {"stroke": SERIES[5], "stroke_dasharray": "7 4"}
MISSED: Attributes = {"fill": BG, "stroke": BAD, "stroke_width": 2}
MOST_MARKED = 120


class TrendPoint(Record):
    """A value at a time or version, called `label`; `at` is its place in time, in any unit."""

    label: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    at: float | None = None


class TrendChart(Chart):
    """A value over time with its band; values that miss the target are hollow squares."""

    kind: ClassVar[str] = "trend"

    points: Sequence[TrendPoint]
    measure: str
    target: float | None = None
    better: Better = "higher"
    x_label: str = ""

    @classmethod
    def from_score_files(
        cls,
        paths: Sequence[str],
        *,
        measure: str | None = None,
        system: str | None = None,
        target: float | None = None,
    ) -> TrendChart:
        """Return one system's mean in several files, each a point in time; the first system and measure by default."""
        points, name = [], measure
        better: Better = "higher"
        for path in paths:
            scores = with_directions(read_scores([path], measure=measure))
            name = name or scores.measures[0]
            better = better_of(scores, name)
            followed = system or next(iter(scores))
            if followed not in scores:
                hint = did_you_mean(followed, scores) or f"there are {', '.join(scores)}"
                raise OptionError(f"{path}: there is no system {followed!r}", hint=hint)
            mean = mean_of(scores[followed], name)
            points.append(TrendPoint(Path(path).stem, mean.value, *mean.ends))
        return cls(
            points, str(name), title=f"{name} over time", target=target, better=better, subtitle=str(system or "")
        )

    def checked(self) -> Self:
        n.require(self.points, "points")
        placed = [point.at is not None for point in self.points]
        if any(placed) != all(placed):
            hint = "give `at` for all or for none"
            raise OptionError("some points have a place in time and some have none", hint=hint)
        points = []
        for i, point in enumerate(self.points):
            at = n.checked(i if point.at is None else point.at, point.label)
            if math.isnan(at):
                raise OptionError("a point has no place in time (NaN)", hint="leave the point out")
            points.append(replace(n.checked_estimate(point, point.label), at=at))
        n.require_defined((point.value for point in points), "value")
        target = None if self.target is None else n.checked(self.target, "target")
        return replace(self, points=sorted(points, key=lambda point: point.at or 0), target=target)

    @cached_property
    def line(self) -> ChartLine:
        """The points in the order of time."""
        columns = [[getattr(point, name) for point in self.points] for name in ("at", "value", "low", "high")]
        return ChartLine("", *columns)

    def misses(self, value: float) -> bool:
        if self.target is None:
            return False
        return value < self.target if self.better == "higher" else value > self.target

    def records(self) -> list[dict[str, Any]]:
        return [{"label": p.label, "value": p.value, "low": p.low, "high": p.high} for p in self.points]

    def alt(self) -> str:
        known = [point for point in self.points if math.isfinite(point.value)]
        first, last = known[0], known[-1]
        goal = ""
        if self.target is not None:
            missed = sum(self.misses(point.value) for point in known)
            goal = f" {missed:,} of {len(known):,} miss the target of {n.shown(self.target)}."
        return (
            f"{self.measure} from {n.shown(first.value)} at {first.label} to {n.shown(last.value)} at {last.label}, "
            f"{n.counted(len(known), 'value')}.{goal}"
        )

    def draw(self, drawing: Drawing) -> None:
        """Draw axes, band, target, line and points; labels that have no room are left out, the latest is kept."""
        line, layout = self.line, drawing.layout
        covered = [*line.y, *(line.low or ()), *(line.high or ())]
        if self.target is not None:
            covered.append(self.target)
            words = "at least" if self.better == "higher" else "at most"
            keys = [(straight(0, 0, SWATCH, 0, **TARGET), f"target: {words} {n.shown(self.target)}")]
            if any(map(self.misses, line.y)):
                keys.append((marker("square", SWATCH / 2, 0, 4, **MISSED), "target missed"))
            drawing.legend(keys)
        height = 260 if layout.is_wide else 220
        box, scale = draw_y_axis(drawing, linear_axis(covered), self.measure, height=height)
        plot = Plot(box, time_scale(line.x, box.left + 10, box.right - 10), scale)
        if self.target is not None:
            drawing.add(straight(box.left, scale(self.target), box.right, scale(self.target), **TARGET))
        drawing.add(band_of(line, plot, GOOD))
        drawing.add(path_of(line, plot, stroke=GOOD, stroke_width=2))
        drawing.add(*self.markers(plot))
        drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
        drawing.y = box.bottom + 4
        labels = [shortened(point.label, layout.inner / 3, layout.size) for point in self.points]
        write_below(drawing, [plot.x(x) for x in reversed(line.x)], reversed(labels))
        axis_name(drawing, self.x_label, box)

    def markers(self, plot: Plot) -> list[str]:
        """Return a marker per value, as long as they have room; those that miss the target always have one."""
        reached, missed = [], []
        for x, point in zip(self.line.x, self.points, strict=True):
            if not math.isfinite(point.value):
                continue
            words = tip(f"{point.label}: {n.with_interval(point.value, point.low, point.high)}")
            place = plot.x(x), plot.y(point.value)
            if self.misses(point.value):
                missed.append(marker("square", *place, 4, words))
            elif len(self.points) <= MOST_MARKED:
                reached.append(marker("disc", *place, 3.8, words))
        return [group(reached, fill=GOOD), group(missed, **MISSED)]


def time_scale(x: Sequence[float], start: float, end: float) -> Scale:
    """Return the scale of time; a lone point stands in the middle."""
    if x[0] < x[-1]:
        return Scale(x[0], x[-1], start, end)
    return Scale(x[0] - 1 - abs(x[0]), x[0] + 1 + abs(x[0]), start, end)
