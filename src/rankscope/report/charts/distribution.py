"""How the scores of each system are spread: a box, and below it every score as a mark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankscope.errors import OptionError
from rankscope.records import Record, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Scale, draw_x_axis, linear_axis
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Box, Drawing
from rankscope.report.charts.palette import FG, GRID, SERIES, marker
from rankscope.report.charts.svg import Attributes, element, group, number, rectangle, straight, text_width, tip

if TYPE_CHECKING:
    from rankscope.comparison.records import Comparison
    from rankscope.measures.scores import Scores
    from rankscope.report.charts.sources import RunData

BOX, STRIP = 14, 10  # heights of the box and of the strip below it
MARK = 3
"""From one mark of the strip to the next; scores nearer than that share one."""
SUMMARY = ("low", "q1", "median", "q3", "high")


class ScoreSpread(Record):
    """A system's scores and their summary: whiskers from low to high, box from q1 to q3, median and mean."""

    name: str
    values: Sequence[float]
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float = n.NAN

    @classmethod
    def of(cls, name: str, scores: Sequence[float], *, mean: float) -> ScoreSpread:
        """Return the spread of some scores, with whiskers at the last value within 1.5 boxes."""
        values = np.array([score for score in scores if not math.isnan(score)])
        if not len(values):
            return cls(name, (), *([math.nan] * 5))
        q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
        inside = values[(values >= q1 - 1.5 * (q3 - q1)) & (values <= q3 + 1.5 * (q3 - q1))]
        low, high = min(q1, float(inside.min())), max(q3, float(inside.max()))
        return cls(name, values.tolist(), low, q1, median, q3, high, mean=mean)

    @property
    def words(self) -> str:
        return f"{self.name}: median {n.shown(self.median)}, middle half {n.shown(self.q1)} to {n.shown(self.q3)}"

    def checked(self) -> ScoreSpread:
        """Return the scores without undefined ones, or raise where the summary is not in order."""
        summary = n.numbers((getattr(self, name) for name in SUMMARY), self.name)
        n.require_defined(summary[2:3], f"median of {self.name}")
        if not all(a <= b for a, b in pairwise(summary)):
            hint = "low <= q1 <= median <= q3 <= high"
            raise OptionError(f"the summary of {self.name} is not in order: {summary}", hint=hint)
        values, mean = n.finite(n.numbers(self.values, self.name)), n.checked(self.mean, self.name)
        return replace(self, values=values, mean=mean, **dict(zip(SUMMARY, summary, strict=True)))


class DistributionChart(Chart):
    """How scores are spread, one row per system: a box with median and mean, and a strip of all scores."""

    kind: ClassVar[str] = "distribution"

    spreads: Sequence[ScoreSpread]
    measure: str

    @classmethod
    def from_scores(cls, scores: Scores, measure: str | None = None) -> DistributionChart:
        """Return every system's scores by one measure, by default the first."""
        measure = measure or scores.measures[0]
        spreads = [
            ScoreSpread.of(name, run.column(measure).tolist(), mean=run.aggregate_of(measure, "mean").value)
            for name, run in scores.items()
        ]
        return cls(spreads, measure, title=f"{measure} over the queries")

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> DistributionChart:
        return cls.from_scores(comparison.scores, comparison.primary)

    @classmethod
    def from_runs(cls, data: RunData) -> DistributionChart:
        return cls.from_scores(data.evaluate(data.primary), data.primary)

    def checked(self) -> Self:
        n.require(self.spreads, "systems")
        return replace(self, spreads=[spread.checked() for spread in self.spreads])

    def records(self) -> list[dict[str, Any]]:
        return [
            {"system": s.name, "n": len(s.values), **{name: getattr(s, name) for name in (*SUMMARY, "mean")}}
            for s in self.spreads
        ]

    def alt(self) -> str:
        spreads = n.list_words(self.spreads, lambda spread: spread.words, "more system")
        return f"How {self.measure} is spread over queries. {spreads}."

    def draw(self, drawing: Drawing) -> None:
        """Draw rows below one another: beside their names where there is room, else below them."""
        layout, spreads = drawing.layout, self.spreads
        axis = linear_axis(value for s in spreads for value in (*s.values, s.low, s.high, s.mean))
        label_width = min(max(text_width(s.name, layout.size) for s in spreads), layout.inner * 0.3)
        left = layout.margin + (label_width + 20 if layout.is_wide else 14)
        row_height = BOX + STRIP + (16 if layout.is_wide else 14 + layout.line)
        box = Box(left, drawing.y, layout.width - layout.margin - 14, drawing.y + len(spreads) * row_height)
        scale = axis.scale(box.left, box.right)
        drawing.add(group((straight(scale(t), box.top, scale(t), box.bottom) for t in axis.ticks), stroke=GRID))
        most = max(max(strip_counts(spread, scale).values(), default=1) for spread in spreads)
        for i, spread in enumerate(spreads):
            top = box.top + i * row_height
            if layout.is_wide:
                drawing.text(layout.margin, drawing.middle(top + 8 + BOX / 2), spread.name, width=label_width)
            else:
                drawing.text(layout.margin, top + layout.size * 1.1, spread.name, width=layout.inner)
            drawing.add(box_and_strip(spread, scale, top + row_height - BOX - STRIP - 8, most))
        draw_x_axis(drawing, axis, scale, box, self.measure)
        mean = "; diamond: mean" if n.finite(spread.mean for spread in spreads) else ""
        strip = "; marks below: scores" + (", higher where more queries share one" if most > 1 else "")
        drawing.notes([f"box: middle half of the queries; bold line: median{mean}{strip}"])


def strip_counts(spread: ScoreSpread, scale: Scale) -> Counter[int]:
    return Counter(round(scale(value) / MARK) for value in spread.values)


def box_and_strip(spread: ScoreSpread, scale: Scale, top: float, most: int) -> str:
    """Return the box and the strip of one system: marks are the longer the more queries share the place."""
    middle, colour = top + BOX / 2, SERIES[0]
    parts = [
        tip(f"{spread.words}, mean {n.shown(spread.mean)}, {n.counted_queries(len(spread.values))}"),
        straight(scale(spread.low), middle, scale(spread.q1), middle, stroke=colour),
        straight(scale(spread.q3), middle, scale(spread.high), middle, stroke=colour),
        rectangle(scale(spread.q1), top, scale(spread.q3), top + BOX, fill=colour, fill_opacity=0.2, stroke=colour),
        straight(scale(spread.median), top, scale(spread.median), top + BOX, stroke=FG, stroke_width=2.5),
    ]
    marks = ""
    for place, count in sorted(strip_counts(spread, scale).items()):
        marks += f"M{place * MARK} 0v{round(3 + (STRIP - 3) * (count - 1) / max(most - 1, 1))}"
    if marks:
        look: Attributes = {"stroke": colour, "stroke_width": 1.2, "stroke_opacity": 0.75}
        parts.append(element("path", d=marks, transform=f"translate(0 {number(top + BOX + 3)})", **look))
    if n.finite([spread.mean]):
        parts.append(marker("diamond", scale(spread.mean), middle, 3.5, fill=SERIES[1]))
    return group(parts)
