"""What moved a number from its first value to its last, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Self

from rankscope.errors import OptionError, did_you_mean
from rankscope.records import Record, replace
from rankscope.report.charts import axes
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import linear_axis
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Drawing
from rankscope.report.charts.palette import AXIS, FG, MARK_COLOURS, MUTED
from rankscope.report.charts.svg import one_line, rectangle, shortened, straight, text_width, tip

WIDEST = 460
"""Four bars across a whole page would be walls."""
THINNEST = 1.5
"""A part that is next to nothing is still drawn."""


class WaterfallPart(Record):
    """What moved the number, by how much, and how that is meant."""

    name: str
    value: float
    mark: str = "note"
    """One of a verdict or check, as `better` or `unsafe`: it gives the colour."""


class WaterfallChart(Chart):
    """A number as it was, the parts of its change, each from where the one before ended, and what it is now.

    The bars of the two ends begin at the foot of the chart, which is not zero: the steps between them are to be seen.
    """

    start: float
    parts: Sequence[WaterfallPart]
    measure: str
    start_label: str = "before"
    end_label: str = "after"

    def checked(self) -> Self:
        n.require(self.parts, "parts")
        values = [n.checked(self.start, "start"), *(n.checked(part.value, part.name) for part in self.parts)]
        if any(map(math.isnan, values)):
            raise OptionError(
                "there is nothing to draw: a part of the change is undefined (NaN)", hint="leave the chart out"
            )
        for part in self.parts:
            if part.mark not in MARK_COLOURS:
                raise OptionError(f"there is no mark {part.mark!r}", hint=did_you_mean(part.mark, MARK_COLOURS))
        parts = [replace(part, value=value) for part, value in zip(self.parts, values[1:], strict=True)]
        return replace(self, start=values[0], parts=parts)

    @property
    def levels(self) -> list[float]:
        """The number before the first part, and after each."""
        return list(accumulate((part.value for part in self.parts), initial=self.start))

    def records(self) -> list[dict[str, Any]]:
        parts = [{"part": part.name, "value": part.value} for part in self.parts]
        ends = [(self.start_label, self.start), (self.end_label, self.levels[-1])]
        first, last = ({"part": name, "value": value} for name, value in ends)
        return [first, *parts, last]

    def alt(self) -> str:
        parts = n.list_words(self.parts, lambda part: f"{part.name} {n.signed(part.value)}", "other part")
        ends = f"{self.start_label} {n.shown(self.start)}; {parts}; {self.end_label} {n.shown(self.levels[-1])}"
        return f"{self.measure}: {ends}."

    def draw(self, drawing: Drawing) -> None:
        layout, levels = drawing.layout, self.levels
        height = 200 if layout.is_wide else 170
        spread = max(levels) - min(levels)
        axis = linear_axis([min(levels) - 0.35 * spread, max(levels)], n_ticks=4)
        box, scale = axes.draw_y_axis(drawing, axis, self.measure, height=height, width=WIDEST)
        step = box.width / (len(self.parts) + 2)
        foot = axis.ticks[0]
        bars = [
            (self.start_label, foot, self.start, n.shown(self.start), MUTED),
            *(
                (part.name, level, level + part.value, n.signed(part.value), MARK_COLOURS[part.mark])
                for part, level in zip(self.parts, levels, strict=False)
            ),
            (self.end_label, foot, levels[-1], n.shown(levels[-1]), FG),
        ]
        for i, (name, begin, end, words, colour) in enumerate(bars):
            left, right = box.left + (i + 0.12) * step, box.left + (i + 0.88) * step
            top, bottom = sorted((scale(begin), scale(end)))
            if bottom - top < THINNEST:
                top, bottom = top - THINNEST / 2, top + THINNEST / 2
            drawing.add(rectangle(left, top, right, bottom, tip(f"{name}: {words}"), fill=colour))
            if i < len(bars) - 1:
                drawing.add(
                    straight(right, scale(end), right + 0.24 * step, scale(end), stroke=AXIS, stroke_dasharray="2 2")
                )
            if text_width(words, layout.size, bold=True) <= step:
                drawing.text((left + right) / 2, top - 5, words, text_anchor="middle", font_weight="600")
        drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
        drawing.y = box.bottom + 2
        centres = [box.left + (i + 0.5) * step for i in range(len(bars))]
        names = [shortened(one_line(name), step - axes.BETWEEN_LABELS, layout.size) for name, *_ in bars]
        axes.write_below(drawing, centres, names)
