"""Differences with their intervals, one row per comparison, against zero and the margin that matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from rankscope.comparison.records import Comparison, QueryGroup
from rankscope.comparison.verdict import level_words, short_words
from rankscope.errors import OptionError
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import draw_x_axis
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, ChartLayout, Drawing, LegendKey
from rankscope.report.charts.palette import AXIS, GRID, MUTED, TONE_MARKERS, TONES, marker
from rankscope.report.charts.scale import Scale, linear_axis
from rankscope.report.charts.sources import better_of, identifier
from rankscope.report.charts.svg import group, rectangle, straight, tip
from rankscope.report.charts.text import text_width
from rankscope.report.comparison_pair import TONES as VERDICT_TONES
from rankscope.report.document import Tone


class ForestRow(Record):
    """A comparison: who with whom, the difference with its interval, and the verdict in a word or two."""

    label: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    note: str = ""
    tone: Tone = "neutral"

    @property
    def numbers(self) -> str:
        """The difference and its interval."""
        return n.with_interval(self.value, self.low, self.high, with_sign=True)


class ForestChart(Chart):
    """Differences with intervals, the zero line, and the band of differences too small to matter."""

    kind: ClassVar[str] = "forest"

    rows: Sequence[ForestRow]
    measure: str
    better: Better = "higher"
    margin: float | None = None

    @classmethod
    def from_comparison(cls, comparison: Comparison, group: QueryGroup | None = None) -> ForestChart:
        """Return every pair of a group, by default the first, with its difference."""
        group = group or comparison.groups[0]
        rows = [
            ForestRow(
                c.b if comparison.baseline else f"{c.b} - {c.a}",
                or_nan(c.delta),
                or_nan(c.ci.low),
                or_nan(c.ci.high),
                note=short_words(c.final_verdict.code, c),
                tone=VERDICT_TONES.get(c.final_verdict.code, "neutral"),
            )
            for c in group.compared
        ]
        against = f" against {comparison.baseline}" if comparison.baseline else ""
        intervals = level_words(group.compared[0]).replace("CI", "intervals")
        return cls(
            rows,
            title=f"Difference in {comparison.primary}{against}",
            subtitle=f"{group.name or f'{len(group.query_ids)} queries'}, {intervals}",
            measure=comparison.primary,
            better=better_of(comparison.scores, comparison.primary),
            margin=comparison.settings.margin or None,
            prefix=identifier("forest", group.name or ""),
        )

    def checked(self) -> Self:
        n.require(self.rows, "comparisons")
        for row in self.rows:
            if row.tone not in TONES:
                raise OptionError(f"tone = {row.tone!r} is none of {', '.join(TONES)}")
        rows = [n.checked_estimate(row, row.label) for row in self.rows]
        n.require_defined((row.value for row in rows), "difference")
        if self.margin is not None and not n.checked(self.margin, "margin") > 0:
            hint = "leave it out where every difference matters"
            raise OptionError(f"margin = {self.margin} is not above 0", hint=hint)
        return replace(self, rows=rows)

    def records(self) -> list[dict[str, Any]]:
        names = ("low", "high")
        return [
            {
                "label": row.label,
                "difference": n.json_ready(row.value),
                **n.json_fields(row, *names),
                "verdict": row.note,
            }
            for row in self.rows
        ]

    def alt(self) -> str:
        rows = n.list_words(
            self.rows,
            lambda row: f"{row.label}: {row.numbers}{f' ({row.note})' if row.note else ''}",
            "more comparison",
        )
        band = f" Differences within {n.shown(self.margin)} of zero are too small to matter." if self.margin else ""
        return f"Differences in {self.measure} with intervals: {rows}.{band}"

    def draw(self, drawing: Drawing) -> None:
        """Draw rows below one another: beside their names where there is room, else below them."""
        rows, margin = self.rows, self.margin
        if margin:
            band = rectangle(0, -6, SWATCH, 6, fill=MUTED, fill_opacity=0.13)
            drawing.legend([LegendKey(band, f"within ±{n.shown(margin)}: too small to matter")])
        known = [edge for row in rows for edge in (row.value, row.low, row.high)]
        edges = [margin, -margin] if margin else []
        axis = linear_axis([*known, 0.0, *edges], n_ticks=5 if drawing.layout.is_wide else 4)
        columns = columns_for(rows, drawing.layout)
        box = Box(columns.plot_left, drawing.y, columns.plot_right, drawing.y + len(rows) * columns.row_height)
        scale = axis.scale(box.left, box.right)
        tops = [box.top + i * columns.row_height for i in range(len(rows))]
        for track in [box] if columns.beside else [columns.track(top) for top in tops]:
            if margin:
                sides = scale(-margin), track.top, scale(margin), track.bottom
                drawing.add(rectangle(*sides, fill=MUTED, fill_opacity=0.13))
            ticks = (straight(scale(t), track.top, scale(t), track.bottom) for t in axis.ticks)
            drawing.add(group(ticks, stroke=GRID))
            drawing.add(straight(scale(0), track.top, scale(0), track.bottom, stroke=AXIS, stroke_width=1.5))
        for row, top in zip(rows, tops, strict=True):
            draw_row(drawing, row, scale, columns, top)
        side = "right" if self.better == "higher" else "left"
        draw_x_axis(drawing, axis, scale, box, f"difference in {self.measure} ({side} of zero: better)")


class ForestColumns(Record):
    """Where names, plot and verdicts stand, and how high a row is."""

    label_width: float
    note_width: float
    plot_left: float
    plot_right: float
    row_height: float
    track_from: float
    """Where the plot begins within a row: below the text where this is not beside it."""

    @property
    def beside(self) -> bool:
        """Whether names stand beside the plot."""
        return not self.track_from

    def track(self, top: float) -> Box:
        """Return the part of a row in which data are drawn."""
        below = 0 if self.beside else 6
        return Box(self.plot_left, top + self.track_from, self.plot_right, top + self.row_height - below)


def columns_for(rows: Sequence[ForestRow], layout: ChartLayout) -> ForestColumns:
    """Return the columns that suit the names and verdicts."""
    labels = max(max(text_width(text, layout.size) for text in (row.label, row.numbers)) for row in rows)
    notes = max(text_width(row.note, layout.size, bold=True) for row in rows)
    if not layout.is_wide:
        half = min(notes, layout.inner * 0.45)
        edge = layout.margin + 14
        right, heights = layout.width - edge, (3.6 * layout.line, 2.1 * layout.line)
        return ForestColumns(layout.inner - half - 12, half, edge, right, *heights)
    label_width, note_width = min(labels, layout.inner * 0.34), min(notes, layout.inner * 0.22)
    left = layout.margin + label_width + 24
    right = layout.width - layout.margin - note_width - (16 if note_width else 12)
    return ForestColumns(label_width, note_width, left, right, 2 * layout.line + 8, 0)


def draw_row(drawing: Drawing, row: ForestRow, scale: Scale, columns: ForestColumns, top: float) -> None:
    """Draw one comparison: its name, its numbers, its verdict and its interval."""
    layout, colour = drawing.layout, TONES[row.tone]
    label_base = top + (columns.row_height / 2 - 4 if columns.beside else layout.size * 1.1)
    note_base = drawing.middle(top + columns.row_height / 2) if columns.beside else label_base
    drawing.text(layout.margin, label_base, row.label, width=columns.label_width)
    wide_enough = columns.label_width if columns.beside else layout.inner
    drawing.text(layout.margin, label_base + layout.line, row.numbers, fill=MUTED, width=wide_enough)
    if row.note:
        end = layout.width - layout.margin
        x, anchor = (end - columns.note_width, None) if columns.beside else (end, "end")
        drawing.text(x, note_base, row.note, anchor=anchor, fill=colour, width=columns.note_width, bold=True)
    track = columns.track(top)
    drawing.add(whisker(row, scale, (track.top + track.bottom) / 2))


def whisker(row: ForestRow, scale: Scale, y: float) -> str:
    """Return the interval as a line with ends, and the difference as a marker on it; an endless side has no end."""
    parts = [tip(f"{row.label}: {row.numbers} {row.note}")]
    if not math.isnan(row.low):
        parts.append(straight(scale(row.low), y, scale(row.high), y))
        ends = (end for end in (row.low, row.high) if math.isfinite(end))
        parts.extend(straight(scale(end), y - 4, scale(end), y + 4) for end in ends)
    colour = TONES[row.tone]
    if math.isfinite(row.value):
        parts.append(marker(TONE_MARKERS[row.tone], scale(row.value), y, 4.5, fill=colour, stroke="none"))
    return group(parts, stroke=colour, stroke_width=2)
