"""Maps of systems by two qualities: relevance against diversity, and quality against latency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankscope.errors import OptionError
from rankscope.measures.parse import parse_measure, parse_measures
from rankscope.measures.spec import MeasureFamily
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts import svg
from rankscope.report.charts.axes import Plot, linear_axis, log_axis, plot_with_axes
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing
from rankscope.report.charts.palette import AXIS, BG, FG, MUTED, marker
from rankscope.report.charts.sources import RunData, better_of, by_mean, weighted_words
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

if TYPE_CHECKING:
    from rankscope.experiment.results import CollectionResult
    from rankscope.measures.scores import Scores

FRONT: svg.Attributes = {"stroke": AXIS, "stroke_width": 1.25, "stroke_dasharray": "5 3"}
HALO: dict[str, Any] = {"stroke": BG, "stroke_width": 3, "paint_order": "stroke", "stroke_linejoin": "round"}
OF_DIVERSITY = (MeasureFamily.DIVERSITY, MeasureFamily.EMBEDDING, MeasureFamily.VARIETY)
MANY = 10
"""Of more systems those of the front and the ends of the axes are named; tooltips name the others."""
MOST_NAMED = 6  # names in the sentence that says what is to be seen
APART = 7
"""How near to a point nothing is written."""


class MapPoint(Record):
    """A system's place, with an interval in each direction where one is known."""

    name: str
    x: float
    y: float
    x_low: float = n.NAN
    x_high: float = n.NAN
    y_low: float = n.NAN
    y_high: float = n.NAN

    @property
    def words(self) -> str:
        x, y = n.with_interval(self.x, self.x_low, self.x_high), n.with_interval(self.y, self.y_low, self.y_high)
        return f"{self.name}: {x}; {y}"

    def checked(self) -> MapPoint:
        return MapPoint(
            self.name,
            n.checked(self.x, self.name),
            n.checked(self.y, self.name),
            *n.checked_interval(self.x_low, self.x_high, self.name),
            *n.checked_interval(self.y_low, self.y_high, self.name),
        )

    def cross(self, plot: Plot, half: float = 0) -> Iterator[Box]:
        """Yield the intervals as boxes, half as thick as said."""
        x, y = plot.x(self.x), plot.y(self.y)
        if not math.isnan(self.x_low):
            yield Box(plot.x(self.x_low), y - half, plot.x(self.x_high), y + half)
        if not math.isnan(self.y_low):
            yield Box(x - half, plot.y(self.y_high), x + half, plot.y(self.y_low))


class MapChart(Chart):
    """What both maps share: systems with a place, and the line of those that no other beats in both directions."""

    is_log: ClassVar[bool] = False
    """Whether the level axis is logarithmic."""

    points: Sequence[MapPoint]

    @property
    def axis_labels(self) -> tuple[str, str]:
        """What stands beside the level axis and the upright one."""
        raise NotImplementedError

    def checked(self) -> Self:
        n.require(self.points, "systems")
        chart = replace(self, points=[point.checked() for point in self.points])
        n.require_defined((point.x for point in chart.placed), "place")
        return chart

    @cached_property
    def placed(self) -> list[MapPoint]:
        return [point for point in self.points if math.isfinite(point.x) and math.isfinite(point.y)]

    @cached_property
    def front(self) -> list[int]:
        return front_of(self.placed, x_better="higher", y_better="higher")

    @cached_property
    def named(self) -> list[int]:
        """The points that are named and have their intervals: all of a few, of many the front and the ends of axes."""
        points = self.placed
        others = [i for i in range(len(points)) if i not in self.front]
        if len(points) > MANY:
            ends = (end(others, key=key, default=None) for end in (min, max) for key in (self.x_at, self.y_at))
            others = [i for i in dict.fromkeys(ends) if i is not None]
        return [*self.front, *others]

    def x_at(self, i: int) -> float:
        return self.placed[i].x

    def y_at(self, i: int) -> float:
        return self.placed[i].y

    def records(self) -> list[dict[str, Any]]:
        on_front = [self.placed[i] for i in self.front]
        names = ("x", "x_low", "x_high", "y", "y_low", "y_high")
        return [
            {"system": point.name, **{name: getattr(point, name) for name in names}, "on_front": point in on_front}
            for point in self.points
        ]

    def alt(self) -> str:
        x_label, y_label = self.axis_labels
        names = [self.placed[i].name for i in self.front]
        front = f"{', '.join(names[:MOST_NAMED])}{f' and {len(names) - MOST_NAMED} more' if names[MOST_NAMED:] else ''}"
        systems = counted(len(self.placed), "system")
        return f"Of {systems} by {x_label} and {y_label}, no other one is better in both than {front}."

    def draw(self, drawing: Drawing) -> None:
        """Draw crosses below the front, points above it, hollow behind it, and the names on top."""
        sample = svg.straight(0, 0, SWATCH, 0, **FRONT) + marker("disc", SWATCH / 2, 0, 5, fill=FG)
        keys = [(sample, "no other system is better in both")]
        if len(self.front) < len(self.placed):
            hollow = marker("disc", SWATCH / 2, 0, 4.5, fill=BG, stroke=MUTED, stroke_width=1.5)
            keys.append((hollow, "another system is better in both"))
        drawing.legend(keys)
        height = 400 if drawing.layout.is_wide else 320
        x_label, y_label = self.axis_labels
        x_ends = [end for point in self.placed for end in (point.x, point.x_low, point.x_high)]
        y_ends = [end for point in self.placed for end in (point.y, point.y_low, point.y_high)]
        x_axis = log_axis(end for end in x_ends if end > 0) if self.is_log else linear_axis(x_ends)
        plot = plot_with_axes(drawing, x_axis, linear_axis(y_ends), x_label=x_label, y_label=y_label, height=height)
        named = [self.placed[i] for i in self.named]
        crosses = (svg.straight(b.left, b.bottom, b.right, b.top) for point in named for b in point.cross(plot))
        drawing.add(svg.group(crosses, stroke=AXIS))
        corners = [(plot.x(self.placed[i].x), plot.y(self.placed[i].y)) for i in self.front]
        path = svg.polyline(corners[:1]) + "".join(f"V{svg.number(y)}H{svg.number(x)}" for x, y in corners[1:])
        drawing.add(svg.element("path", d=path, fill="none", **FRONT))
        sides: tuple[list[str], list[str]] = ([], [])
        for i, point in enumerate(self.placed):
            on_front = i in self.front
            place = plot.x(point.x), plot.y(point.y)
            sides[on_front].append(marker("disc", *place, 5 if on_front else 4.5, svg.tip(point.words)))
        drawing.add(svg.group(sides[0], fill=BG, stroke=MUTED, stroke_width=1.5), svg.group(sides[1], fill=FG))
        n_named = self.write_names(drawing, plot, corners)
        n_placed, n_undefined = len(self.placed), len(self.points) - len(self.placed)
        why = "; the others had no room" if len(self.named) == n_placed else ", with intervals: the front and the ends"
        unnamed = f"{n_named} of {n_placed} systems are named{why}" if n_named < n_placed else ""
        undefined = f"{counted(n_undefined, 'system')} undefined, not drawn" if n_undefined else ""
        drawing.notes([unnamed, undefined])

    def write_names(self, drawing: Drawing, plot: Plot, corners: Sequence[svg.Point]) -> int:
        """Write the names that have room beside other names and points, those of the front first; return how many."""
        size, box = drawing.layout.size, plot.box
        points = [self.placed[i] for i in self.named]
        # where possible, names cover no interval and no part of the front either
        avoided = [cross for point in points for cross in point.cross(plot, half=1)]
        for (x1, y1), (x2, y2) in pairwise(corners):
            avoided.append(Box(x1 - 1, min(y1, y2), x1 + 1, max(y1, y2)))
            avoided.append(Box(min(x1, x2), y2 - 1, max(x1, x2), y2 + 1))
        places = [(plot.x(point.x), plot.y(point.y)) for point in points]
        spots = [(plot.x(point.x), plot.y(point.y)) for point in self.placed]
        taken = [Box(x - APART, y - APART, x + APART, y + APART) for x, y in spots]
        left, top, right, bottom = box.left + 2, box.top + 1, drawing.layout.width - 4, box.bottom - 2
        n_named = 0
        for point, place in zip(points, places, strict=True):
            text = svg.shortened(point.name, box.width * 0.33, size)
            inside = [
                own
                for own in around(place, svg.text_width(text, size), size)
                if left <= own.left and own.right <= right and top <= own.top and own.bottom <= bottom
            ]
            free = [own for own in inside if not any(map(own.meets, taken))]
            if not free:
                continue
            best = next((own for own in free if not any(map(own.meets, avoided))), free[0])
            taken.append(best)
            full = point.name if text != point.name else ""
            drawing.text(best.left, best.top + 1.5 + svg.ASCENT * size, text, full=full, **HALO)
            n_named += 1
        return n_named


class RelevanceDiversityChart(MapChart):
    """Systems by relevance (x) and diversity (y), higher being better, and the line of those that none beats."""

    x_measure: str
    y_measure: str

    @classmethod
    def from_runs(cls, data: RunData) -> RelevanceDiversityChart:
        """Return the runs by a measure of relevance and one of diversity: the first of each kind among those given."""
        parsed = parse_measures(data.measures) if data.measures else ()
        diverse = next((m for m in parsed if m.spec.family in OF_DIVERSITY), None)
        relevant = next((m for m in parsed if m.spec.family not in OF_DIVERSITY), parse_measure("nDCG@10"))
        if diverse is None:
            hint = 'for example -m "nDCG@10 ILD@10"'
            raise OptionError("the map needs a measure of diversity beside one of relevance", hint=hint)
        scores = data.evaluate([relevant, diverse])
        return cls._by(scores, *scores.measures)

    @classmethod
    def from_scores(cls, scores: Scores, primary: str) -> RelevanceDiversityChart:
        """Return the systems by the primary measure, where it is one of relevance, and what was measured of diversity.

        Both are measures of which more is better; of several the first is taken, one by embeddings before others.
        """
        measures = [measure for measure in scores.measures if better_of(scores, measure) == "higher"]
        family_of = {measure: parse_measure(measure).spec.family for measure in measures}
        diverse = sorted(
            (measure for measure in measures if family_of[measure] in OF_DIVERSITY),
            key=lambda measure: family_of[measure] != MeasureFamily.EMBEDDING,
        )
        relevant = sorted((measure for measure in measures if measure not in diverse), key=primary.__ne__)
        if len(scores) < 2 or not diverse or not relevant:
            raise OptionError("the map needs two systems, and a measure of diversity beside one of relevance")
        return cls._by(scores, relevant[0], diverse[0])

    @classmethod
    def _by(cls, scores: Scores, relevant: str, diverse: str) -> RelevanceDiversityChart:
        points = []
        for name in by_mean(scores, relevant):
            x, y = (mean_of(scores[name], measure) for measure in (relevant, diverse))
            points.append(MapPoint(name, x.value, y.value, *x.ends, *y.ends))
        subtitle = ", ".join(filter(None, (weighted_words(scores), f"with {percent(LEVEL)} intervals")))
        return cls(points, relevant, diverse, title="Relevance and diversity", subtitle=subtitle)

    @property
    def axis_labels(self) -> tuple[str, str]:
        return self.x_measure, self.y_measure


class QualityLatencyChart(MapChart):
    """Systems by latency (x, logarithmic, lower is better) and quality (y), and those that none beats."""

    is_log: ClassVar[bool] = True

    measure: str
    better: Better = "higher"

    @classmethod
    def from_collection(cls, result: CollectionResult, measure: str) -> QualityLatencyChart:
        """Return the systems of a benchmark that were timed and scored, by median latency and a measure."""
        points, scores = [], result.scores
        better: Better = "higher"
        for system in result.systems:
            latency = system.costs.latency_ms
            if scores is not None and system.name in scores and latency is not None:
                mean = mean_of(scores[system.name], measure)
                points.append(MapPoint(system.name, latency.p50, mean.value, n.NAN, n.NAN, *mean.ends))
                better = better_of(scores, measure)
        subtitle = f"with {percent(LEVEL)} intervals; the line joins systems that none beats in both"
        return cls(points, measure, better=better, title="Quality and latency", subtitle=subtitle)

    def checked(self) -> Self:
        chart = super().checked()
        if any(point.x <= 0 for point in chart.placed):
            raise OptionError("a latency is not above 0", hint="use NaN where none was measured")
        return chart

    @cached_property
    def front(self) -> list[int]:
        return front_of(self.placed, x_better="lower", y_better=self.better)

    @property
    def axis_labels(self) -> tuple[str, str]:
        return "median latency (ms)", self.measure


def around(point: svg.Point, width: float, size: float) -> Iterator[Box]:
    """Yield places for a name: beside its point first, then above and below, then at its corners, then farther out."""
    height = (svg.ASCENT + svg.DESCENT) * size + 3  # names have a halo
    for distance in (APART + 1, 2.2 * APART):
        for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)):
            x = point[0] + right * (width / 2 + distance)
            y = point[1] + down * (height / 2 + distance)
            yield Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def front_of(points: Sequence[MapPoint], *, x_better: Better, y_better: Better) -> list[int]:
    """Return the points that no other beats in one direction without losing in the other, the best in x last."""
    x_sign, y_sign = (1 if better == "higher" else -1 for better in (x_better, y_better))
    by_x = sorted(range(len(points)), key=lambda i: (-x_sign * points[i].x, -y_sign * points[i].y))
    front: list[int] = []
    for i in by_x:
        last = points[front[-1]] if front else None
        is_twin = last is not None and (last.x, last.y) == (points[i].x, points[i].y)
        if last is None or is_twin or y_sign * points[i].y > y_sign * last.y:
            front.append(i)
    return front[::-1]
