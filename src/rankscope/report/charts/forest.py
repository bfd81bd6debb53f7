"""Differences with their intervals, one row per comparison, against zero and the margin that matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import draw_x_axis
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, Key, drawn
from rankscope.report.charts.palette import AXIS, GRID, MUTED, TONE_MARKERS, TONES, marker
from rankscope.report.charts.scale import Axis, Scale, linear_axis
from rankscope.report.charts.svg import group, rectangle, straight, tip
from rankscope.report.charts.text import text_width

Tone = Literal["good", "caution", "bad", "neutral"]


@dataclass(frozen=True, slots=True)
class ForestRow:
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


def forest(
    rows: Sequence[ForestRow],
    *,
    title: str,
    measure: str,
    better: Better = "higher",
    margin: float | None = None,
    subtitle: str = "",
    prefix: str = "forest",
) -> Chart:
    """Draw differences with intervals, the zero line, and the band of differences too small to matter."""
    n.require(rows, "comparisons")
    checked = [checked_row(row) for row in rows]
    n.require_defined((row.value for row in checked), "difference")
    if margin is not None and not n.checked(margin, "margin") > 0:
        raise OptionError(f"margin = {margin} is not above 0", hint="leave it out where every difference matters")
    draw = partial(draw_forest, rows=checked, measure=measure, better=better, margin=margin)
    data = [row_record(row) for row in checked]
    alt = forest_alt(checked, measure, margin)
    return drawn("forest", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def checked_row(row: ForestRow) -> ForestRow:
    """Return a row whose numbers can be drawn."""
    if row.tone not in TONES:
        raise OptionError(f"tone = {row.tone!r} is none of {', '.join(TONES)}")
    low, high = n.checked_interval(row.low, row.high, row.label)
    return ForestRow(row.label, n.checked(row.value, row.label), low, high, row.note, row.tone)


def row_record(row: ForestRow) -> dict[str, object]:
    """Return a row as JSON can hold it."""
    value, low, high = map(n.json_ready, (row.value, row.low, row.high))
    return {"label": row.label, "difference": value, "low": low, "high": high, "verdict": row.note}


def forest_alt(rows: Sequence[ForestRow], measure: str, margin: float | None) -> str:
    """Say what is to be seen."""
    told = "; ".join(f"{row.label}: {row.numbers}{f' ({row.note})' if row.note else ''}" for row in rows[: n.TOLD])
    more = n.and_more(n.TOLD, len(rows), "more comparison")
    band = f" Differences within {n.shown(margin)} of zero are too small to matter." if margin else ""
    return f"Differences in {measure} with intervals: {told}{more}.{band}"


def draw_forest(
    drawing: Drawing, *, rows: Sequence[ForestRow], measure: str, better: Better, margin: float | None
) -> None:
    """Draw rows below one another: beside their names where there is room, else below them."""
    if margin:
        drawing.legend([Key(band_sample(), f"within ±{n.shown(margin)}: too small to matter")])
    known = [edge for row in rows for edge in (row.value, row.low, row.high)]
    edges = [margin, -margin] if margin else []
    axis = linear_axis([*known, 0.0, *edges], n_ticks=5 if drawing.layout.is_wide else 4)
    columns = Columns.of(drawing, rows)
    height = len(rows) * columns.row_height
    box = Box(columns.plot_left, drawing.y, columns.plot_right, drawing.y + height)
    scale = axis.scale(box.left, box.right)
    tops = [box.top + i * columns.row_height for i in range(len(rows))]
    for track in [box] if columns.beside else [columns.track(top) for top in tops]:
        draw_background(drawing, axis, scale, track, margin)
    for row, top in zip(rows, tops, strict=True):
        draw_row(drawing, row, scale, columns, top)
    side = "right" if better == "higher" else "left"
    draw_x_axis(drawing, axis, scale, box, f"difference in {measure} ({side} of zero: better)")


@dataclass(frozen=True, slots=True)
class Columns:
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

    @classmethod
    def of(cls, drawing: Drawing, rows: Sequence[ForestRow]) -> Columns:
        """Return the columns that suit the names and verdicts."""
        layout = drawing.layout
        labels = max(max(text_width(text, layout.size) for text in (row.label, row.numbers)) for row in rows)
        notes = max(text_width(row.note, layout.size, bold=True) for row in rows)
        if not layout.is_wide:
            half = min(notes, layout.inner * 0.45)
            edge = layout.margin + 14
            return cls(layout.inner - half - 12, half, edge, layout.width - edge, 3.6 * layout.line, 2.1 * layout.line)
        label_width, note_width = min(labels, layout.inner * 0.34), min(notes, layout.inner * 0.22)
        left = layout.margin + label_width + 24
        right = layout.width - layout.margin - note_width - (16 if note_width else 12)
        return cls(label_width, note_width, left, right, 2 * layout.line + 8, 0)


def draw_background(drawing: Drawing, axis: Axis, scale: Scale, box: Box, margin: float | None) -> None:
    """Draw the grid, the margin's band and the zero line."""
    if margin:
        drawing.add(rectangle(scale(-margin), box.top, scale(margin), box.bottom, fill=MUTED, fill_opacity=0.13))
    drawing.add(group((straight(scale(t), box.top, scale(t), box.bottom) for t in axis.ticks), stroke=GRID))
    drawing.add(straight(scale(0), box.top, scale(0), box.bottom, stroke=AXIS, stroke_width=1.5))


def draw_row(drawing: Drawing, row: ForestRow, scale: Scale, columns: Columns, top: float) -> None:
    """Draw one comparison."""
    layout, colour = drawing.layout, TONES[row.tone]
    label_base = top + (columns.row_height / 2 - 4 if columns.beside else layout.size * 1.1)
    numbers_base = label_base + layout.line
    note_base = drawing.middle(top + columns.row_height / 2) if columns.beside else label_base
    drawing.text(layout.margin, label_base, row.label, width=columns.label_width)
    wide_enough = columns.label_width if columns.beside else layout.inner
    drawing.text(layout.margin, numbers_base, row.numbers, fill=MUTED, width=wide_enough)
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


def band_sample() -> str:
    """Return a sample of the margin's band for the legend."""
    return rectangle(0, -6, SWATCH, 6, fill=MUTED, fill_opacity=0.13)
