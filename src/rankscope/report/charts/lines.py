"""Lines: a measure against its cut-off, precision against recall, and a value over time or versions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from rankscope.analysis.overview import RECALLS, precision_by_recall, scores_by_cutoff
from rankscope.comparison.known_measures import with_directions
from rankscope.errors import OptionError, did_you_mean
from rankscope.measures.score_files import read_scores
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.report.charts import axes
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Axis, Plot, Scale, fixed_axis, linear_axis, log_axis
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing
from rankscope.report.charts.palette import AXIS, BAD, BG, DASHES, GOOD, MARKERS, SERIES, marker
from rankscope.report.charts.sources import RunData, better_of, weighted_words
from rankscope.report.charts.svg import Attribute, Attributes, element, group, polyline, shortened, straight, tip
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

MOST_NAMED = len(SERIES)
"""More lines cannot be distinguished; those behind them are thin and grey, with their name as a tooltip."""
MOST_MARKED = 16  # points of a line with markers; a lone point always has one
WIDE_RANGE = 20  # from this ratio on the cut-offs stand on a logarithmic axis
TARGET: Attributes = {"stroke": SERIES[5], "stroke_dasharray": "7 4"}
MISSED: Attributes = {"fill": BG, "stroke": BAD, "stroke_width": 2}
MOST_MARKED_IN_TREND = 120
TENTHS = tuple(i / 10 for i in range(0, 11, 2))


class ChartLine(Record):
    """A system's line through (x, y), with an optional band from low to high; NaN leaves a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def stretches(self) -> Iterator[list[int]]:
        for is_defined, members in groupby(range(len(self.y)), key=lambda i: math.isfinite(self.y[i])):
            if is_defined:
                yield list(members)

    def point_words(self, i: int) -> str:
        return f"{n.shown(self.y[i])} at {self.x[i]:g}"

    @property
    def words(self) -> str:
        known = [i for i, y in enumerate(self.y) if math.isfinite(y)]
        ends = dict.fromkeys([*known[:1], *known[-1:]])
        return f"{self.name}: {', '.join(map(self.point_words, ends)) or 'undefined'}"

    def checked(self) -> ChartLine:
        """Return the line from left to right, or raise where its numbers do not belong together."""
        n.require(self.x, f"points of {self.name}")
        if (self.low is None) != (self.high is None):
            raise OptionError(f"{self.name} has one side of a band", hint="give low and high, or neither")
        none = [n.NAN] * len(self.x)
        low, high = (none if side is None else side for side in (self.low, self.high))
        n.require_equal_lengths(f"the numbers of {self.name}", self.x, self.y, low, high)
        x, y = n.numbers(self.x, self.name), n.numbers(self.y, self.name)
        if any(map(math.isnan, x)):
            raise OptionError(f"{self.name} has a point without a place (NaN)", hint="leave the point out")
        band = [n.checked_interval(*ends, self.name) for ends in zip(low, high, strict=True)]
        points = sorted(zip(x, y, band, strict=True), key=lambda point: point[0])
        sides = [] if self.low is None else [[ends[side] for _, _, ends in points] for side in (0, 1)]
        return ChartLine(self.name, [point[0] for point in points], [point[1] for point in points], *sides)


class CurvesChart(Chart):
    """A measure against its cut-off, one line per system in the order given; the first seven are named."""

    lines: Sequence[ChartLine]
    measure: str
    x_label: str = "k"

    @classmethod
    def from_runs(cls, data: RunData) -> CurvesChart:
        cuts, scores = scores_by_cutoff(data.qrels, data.runs, data.primary, **data.options)
        lines = []
        for name, run in scores.items():
            means = [mean_of(run, at_cut) for at_cut in scores.measures]
            sides = [[mean.ends[side] for mean in means] for side in (0, 1)] if len(scores) == 1 else []
            lines.append(ChartLine(name, cuts, [mean.value for mean in means], *sides))
        base = data.primary.partition("@")[0]
        intervals = f"with {percent(LEVEL)} intervals" if len(scores) == 1 else ""
        subtitle = ", ".join(filter(None, (weighted_words(scores), intervals)))
        return cls(lines, title=f"{base}@k over k", measure=f"{base}@k", subtitle=subtitle)

    def checked(self) -> Self:
        n.require(self.lines, "lines")
        lines = [line.checked() for line in self.lines]
        n.require_defined((y for line in lines for y in line.y), "point")
        return replace(self, lines=lines)

    def axes(self) -> tuple[Axis, Axis]:
        x_values = [x for line in self.lines for x in line.x]
        is_wide_range = min(x_values) > 0 and max(x_values) > WIDE_RANGE * min(x_values)
        heights = [y for line in self.lines for y in (*line.y, *(line.low or ()), *(line.high or ()))]
        return log_axis(x_values) if is_wide_range else linear_axis(x_values), linear_axis(heights)

    def records(self) -> list[dict[str, Any]]:
        names = ("x", "y", "low", "high")
        return [
            {"system": line.name, **{name: column[i] for name in names if (column := getattr(line, name)) is not None}}
            for line in self.lines
            for i in range(len(line.x))
        ]

    def alt(self) -> str:
        lines = n.list_words(self.lines, lambda line: line.words, "more system", most=MOST_NAMED)
        return f"{self.measure} by {self.x_label}, one line per system: {lines}."

    def draw(self, drawing: Drawing) -> None:
        named, others = self.lines[:MOST_NAMED], self.lines[MOST_NAMED:]
        keys = []
        for i, line in enumerate(named if len(self.lines) > 1 else ()):
            dot = marker(MARKERS[i], SWATCH / 2, 0, 3.8, fill=SERIES[i])
            keys.append((straight(0, 0, SWATCH, 0, **stroke_of(i)) + dot, line.name))
        if others:
            keys.append((straight(0, 0, SWATCH, 0, stroke=AXIS), counted(len(others), "other system")))
        drawing.legend(keys)
        height = 300 if drawing.layout.is_wide else 240
        plot = axes.plot_with_axes(drawing, *self.axes(), x_label=self.x_label, y_label=self.measure, height=height)
        drawing.add(*(path_of(line, plot, stroke=AXIS) for line in others))
        drawing.add(*(band_of(line, plot, SERIES[i]) for i, line in enumerate(named)))
        for i, line in reversed(list(enumerate(named))):
            drawing.add(path_of(line, plot, **stroke_of(i)))
            markers = (
                marker(
                    MARKERS[i], plot.x(line.x[j]), plot.y(line.y[j]), 3.8, tip(f"{line.name}: {line.point_words(j)}")
                )
                for stretch in line.stretches()
                for j in stretch
                if len(line.x) <= MOST_MARKED or len(stretch) == 1
            )
            drawing.add(group(markers, fill=SERIES[i]))


class PrecisionRecallChart(CurvesChart):
    """Precision (y) against recall (x), interpolated at 11 points or in full, one line per system."""

    measure: str = "precision"
    x_label: str = "recall"

    @classmethod
    def from_runs(cls, data: RunData) -> PrecisionRecallChart:
        scores = precision_by_recall(data.qrels, data.runs, **data.options)
        means = {name: [aggregate.value for aggregate in run.mean().values()] for name, run in scores.items()}
        lines = [ChartLine(name, RECALLS, values) for name, values in means.items()]
        subtitle = ", ".join(filter(None, ("interpolated, mean over queries", weighted_words(scores))))
        return cls(lines, title="Precision over recall", subtitle=subtitle)

    def checked(self) -> Self:
        chart = super().checked()
        for line in chart.lines:
            if not all(0 <= value <= 1 for value in n.finite([*line.x, *line.y])):
                raise OptionError(f"{line.name} has a precision or recall outside 0 to 1")
        return chart

    def axes(self) -> tuple[Axis, Axis]:
        return fixed_axis(TENTHS), fixed_axis(TENTHS)

    def alt(self) -> str:
        return super().alt().replace("precision", "Precision", 1)


def path_of(line: ChartLine, plot: Plot, **look: Attribute) -> str:
    """Return a line with its name as a tooltip, interrupted where it is undefined."""
    data = "".join(polyline([(plot.x(line.x[i]), plot.y(line.y[i])) for i in part]) for part in line.stretches())
    return element("path", tip(line.name), d=data, fill="none", **look) if data else ""


def band_of(line: ChartLine, plot: Plot, colour: str) -> str:
    """Return the band around a line, interrupted where there is none."""
    if line.low is None or line.high is None:
        return ""
    low, high = line.low, line.high
    heights = [y if math.isfinite(y) and not math.isnan(low[i]) else n.NAN for i, y in enumerate(line.y)]
    outlines = []
    for stretch in replace(line, y=heights).stretches():
        there = [(plot.x(line.x[i]), plot.y(low[i])) for i in stretch]
        back = [(plot.x(line.x[i]), plot.y(high[i])) for i in reversed(stretch)]
        outlines.append(f"{polyline([*there, *back])}Z")
    return element("path", d="".join(outlines), fill=colour, fill_opacity=0.14) if outlines else ""


def stroke_of(i: int) -> Attributes:
    return {"stroke": SERIES[i], "stroke_width": 2, "stroke_dasharray": DASHES[i], "stroke_linejoin": "round"}


class TrendPoint(Record):
    """A value at a time or version, called `label`; `at` is its place in time, in any unit."""

    label: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    at: float | None = None


class TrendChart(Chart):
    """A value over time with its band; values that miss the target are hollow squares."""

    points: Sequence[TrendPoint]
    measure: str
    target: float | None = None
    better: Better = "higher"
    x_label: str = ""

    @classmethod
    def from_score_files(
        cls, paths: Sequence[str], *, measure: str | None = None, system: str | None = None, target: float | None = None
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
            f"{counted(len(known), 'value')}.{goal}"
        )

    def draw(self, drawing: Drawing) -> None:
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
        box, scale = axes.draw_y_axis(drawing, linear_axis(covered), self.measure, height=height)
        first, last = line.x[0], line.x[-1]
        if first == last:  # a lone point stands in the middle
            first, last = first - 1 - abs(first), first + 1 + abs(first)
        plot = Plot(box, Scale(first, last, box.left + 10, box.right - 10), scale)
        if self.target is not None:
            drawing.add(straight(box.left, scale(self.target), box.right, scale(self.target), **TARGET))
        drawing.add(band_of(line, plot, GOOD))
        drawing.add(path_of(line, plot, stroke=GOOD, stroke_width=2))
        drawing.add(*self.markers(plot))
        drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
        drawing.y = box.bottom + 4
        labels = [shortened(point.label, layout.inner / 3, layout.size) for point in self.points]
        axes.write_below(drawing, [plot.x(x) for x in reversed(line.x)], reversed(labels))
        axes.axis_name(drawing, self.x_label, box)

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
            elif len(self.points) <= MOST_MARKED_IN_TREND:
                reached.append(marker("disc", *place, 3.8, words))
        return [group(reached, fill=GOOD), group(missed, **MISSED)]
