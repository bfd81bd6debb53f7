"""At which rank the first relevant doc stands, as counts of queries per band of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Self

from rankscope.analysis.overview import RANK_BANDS, first_hit_bands
from rankscope.errors import OptionError
from rankscope.printable import counted
from rankscope.records import Record
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import axis_name, draw_x_axis, draw_y_axis, fixed_axis, linear_axis, write_below
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Box, Drawing, swatch
from rankscope.report.charts.palette import AXIS, BG, FG, MUTED, ON_RAMP, RAMP
from rankscope.report.charts.sources import RunData, shown_of
from rankscope.report.charts.svg import group, rectangle, shortened, straight, text_width, tip

MOST_SIDE_BY_SIDE = 3
"""More systems are drawn as one bar each, cut into its bands."""
LONG = 12
"""Bars of more systems are lower."""
LEAST_BAND = 3
"""A band less wide than so many letters has no room for a name of its own."""
PERCENT = tuple(range(0, 101, 20))
X_LABEL = "rank of the first relevant doc"


class BandCounts(Record):
    """A system's number of queries per band."""

    name: str
    counts: Sequence[int]

    @property
    def total(self) -> int:
        return sum(self.counts)

    def share(self, i: int) -> float:
        return self.counts[i] / self.total

    def tooltip(self, i: int, band: str) -> str:
        return tip(f"{self.name}, {band}: {counted(int(self.counts[i]), 'query')} ({self.share(i):.1%})")


class PositionsChart(Chart):
    """How many queries have their first relevant doc in each band of ranks, e.g. 1, 2-3, 4-10, not found."""

    bands: Sequence[str]
    systems: Sequence[BandCounts]

    @classmethod
    def from_runs(cls, data: RunData) -> PositionsChart:
        counts = first_hit_bands(data.qrels, data.runs, **data.options)
        names, shown = shown_of(data.order)
        systems = [BandCounts(name, counts[name]) for name in names]
        return cls(RANK_BANDS, systems, title="Where the first relevant doc stands", subtitle=shown)

    def checked(self) -> Self:
        n.require(self.bands, "bands")
        n.require(self.systems, "systems")
        for system in self.systems:
            name = system.name
            n.require_equal_lengths(f"bands and counts of {name}", self.bands, system.counts)
            if not all(count >= 0 and count.is_integer() for count in n.numbers(system.counts, name)):
                raise OptionError(f"{name} has counts that are none: {list(system.counts)}")
            if not system.total:
                raise OptionError(f"there is nothing to draw: {name} has no queries", hint="leave the system out")
        return self

    def records(self) -> list[dict[str, Any]]:
        return [
            {"system": system.name, "band": band, "queries": int(count)}
            for system in self.systems
            for band, count in zip(self.bands, system.counts, strict=True)
        ]

    def alt(self) -> str:
        def words(system: BandCounts) -> str:
            return f"{system.share(0):.0%} of {counted(system.total, 'query')} for {system.name}"

        first = self.systems[0]
        what = f"The first relevant doc stands at rank {self.bands[0]}" if self.bands[0].isdigit() else self.bands[0]
        if len(self.systems) == 1:
            return f"{what} in {words(first)}; {self.bands[-1]} in {first.share(len(self.bands) - 1):.0%}."
        most, least = (end(self.systems, key=lambda system: system.share(0)) for end in (max, min))
        return f"{what} in {words(most)}, the most of {len(self.systems):,} systems, and in {words(least)}, the fewest."

    def draw(self, drawing: Drawing) -> None:
        if len(self.systems) <= MOST_SIDE_BY_SIDE:
            self.draw_columns(drawing)
        else:
            self.draw_stacks(drawing)

    def draw_columns(self, drawing: Drawing) -> None:
        layout, systems = drawing.layout, self.systems
        fills = [RAMP[4], drawing.hatched("second", RAMP[4]), BG]
        looks = [{"fill": fill, "stroke": RAMP[4]} for fill in fills]
        if len(systems) > 1:
            drawing.legend([(swatch(**look), system.name) for look, system in zip(looks, systems, strict=False)])
        axis = linear_axis([0.0, *(count for system in systems for count in system.counts)], whole=True)
        box, scale = draw_y_axis(drawing, axis, "queries", height=240 if layout.is_wide else 200)
        for i, system in enumerate(systems):
            columns = []
            for j, (band, count) in enumerate(zip(self.bands, system.counts, strict=True)):
                left, right = self.column_place(box, i, j)
                if count:
                    columns.append(rectangle(left, scale(count), right, box.bottom, system.tooltip(j, band)))
            drawing.add(group(columns, **looks[i]))
        drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
        texts = [f"{int(count):,}" for system in systems for count in system.counts]
        left, right = self.column_place(box, 0, 0)
        if max(text_width(text, layout.size) for text in texts) <= (right - left) / 0.9:
            for i, system in enumerate(systems):
                for j, count in enumerate(system.counts):
                    left, right = self.column_place(box, i, j)
                    drawing.text((left + right) / 2, scale(count) - 4, f"{int(count):,}", text_anchor="middle")
        drawing.y = box.bottom + 4
        self.write_bands(drawing, box)
        axis_name(drawing, X_LABEL, box)

    def column_place(self, box: Box, system: int, band: int) -> tuple[float, float]:
        """Return left and right of a column: bands share the width, systems share four fifths of their band."""
        step = box.width / len(self.bands)
        width = min(step * 0.8 / len(self.systems), 64)
        left = box.left + (band + 0.5) * step + (system - len(self.systems) / 2) * width
        return left + width * 0.05, left + width * 0.95

    def write_bands(self, drawing: Drawing, box: Box) -> None:
        """Write the bands' names below their columns, in two lines where that helps; of very many, those that fit."""
        layout, step = drawing.layout, box.width / len(self.bands)
        centres = [box.left + (i + 0.5) * step for i in range(len(self.bands))]
        if step < LEAST_BAND * layout.size:
            write_below(drawing, centres, [shortened(band, layout.inner / 4, layout.size) for band in self.bands])
            return
        heights = [
            drawing.lines(centre, drawing.y + 4, band, width=step - 4, max_lines=2, text_anchor="middle", fill=MUTED)
            for centre, band in zip(centres, self.bands, strict=True)
        ]
        drawing.space(max(heights) + 6)

    def draw_stacks(self, drawing: Drawing) -> None:
        """Draw one bar per system, cut into its bands, the first one darkest; shares are written where they fit."""
        layout, systems = drawing.layout, self.systems
        shades = [round((len(RAMP) - 1) * (1 - i / max(len(self.bands) - 1, 1))) for i in range(len(self.bands))]
        looks = [(RAMP[shade], ON_RAMP[shade]) for shade in shades]
        if len(self.bands) > len(RAMP):  # the last ones, such as those that are not found, have no shade
            looks = [*zip(RAMP[::-1], ON_RAMP[::-1], strict=True), *[(BG, FG)] * (len(self.bands) - len(RAMP))]
        drawing.paragraph(X_LABEL)
        drawing.legend(
            [(swatch(fill=fill, stroke=AXIS), band) for band, (fill, _) in zip(self.bands, looks, strict=True)]
        )
        widest = max(text_width(s.name, layout.size) for s in systems)
        label_width = min(widest, layout.inner * (0.3 if layout.is_wide else 1))
        left = layout.margin + (label_width + 16 if layout.is_wide else 4)
        bar = 18 if len(systems) <= LONG else 14 if layout.is_wide else 13
        row_height = bar + (8 if layout.is_wide else 4 + layout.line)
        box = Box(left, drawing.y, layout.width - layout.margin - 12, drawing.y + row_height * len(systems))
        axis = fixed_axis(PERCENT)
        scale = axis.scale(box.left, box.right)
        for i, system in enumerate(systems):
            bottom = box.top + (i + 1) * row_height - 4
            base = drawing.middle(bottom - bar / 2) if layout.is_wide else bottom - bar - 3.5
            drawing.text(layout.margin, base, system.name, width=label_width)
            shares = [100 * system.share(j) for j in range(len(self.bands))]
            sides = [(scale(start), scale(end)) for start, end in pairwise(accumulate(shares, initial=0.0))]
            pieces = [
                rectangle(left, bottom - bar, right, bottom, system.tooltip(j, self.bands[j]), fill=looks[j][0])
                for j, (left, right) in enumerate(sides)
                if system.counts[j]
            ]
            drawing.add(group(pieces, stroke=AXIS, stroke_width=0.75))
            for share, (_, fill), (left, right) in zip(shares, looks, sides, strict=True):
                words = f"{share:.0f}"
                if text_width(words, layout.size) + 6 <= right - left:
                    place = (left + right) / 2, drawing.middle(bottom - bar / 2)
                    drawing.text(*place, words, text_anchor="middle", fill=fill)
        draw_x_axis(drawing, axis, scale, box, "% of queries")
