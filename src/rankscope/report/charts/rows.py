"""Charts with a row per pair or system on one level axis: differences with intervals, and how scores are spread."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from rankscope.comparison.records import Comparison
from rankscope.comparison.verdict import level_words, short_words
from rankscope.errors import OptionError
from rankscope.measures.scores import Scores
from rankscope.printable import counted
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Scale, draw_x_axis, linear_axis
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import Box, Drawing, swatch
from rankscope.report.charts.palette import AXIS, FG, GRID, MARK_COLOURS, MARK_SHAPES, MUTED, SERIES, marker
from rankscope.report.charts.sources import RunData, better_of, identifier
from rankscope.report.charts.svg import Attributes, element, group, number, rectangle, straight, text_width, tip
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import Mark

BOX, STRIP = 14, 10  # heights of the box and of the strip below it
MARK = 3
"""From one mark of the strip to the next; scores nearer than that share one."""
SUMMARY = ("low", "q1", "median", "q3", "high")


class ForestRow(Record):
    """A comparison: who with whom, the difference with its interval, and the verdict in a word or two."""

    label: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    note: str = ""
    mark: Mark = "unsure"

    @property
    def numbers(self) -> str:
        return n.with_interval(self.value, self.low, self.high, with_sign=True)


class ForestChart(Chart):
    """Differences with intervals, the zero line, and the band of differences too small to matter."""

    rows: Sequence[ForestRow]
    measure: str
    better: Better = "higher"
    margin: float | None = None

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> ForestChart:
        group, rows = comparison.groups[0], []
        for pair in group.compared:
            name = pair.b if comparison.baseline else f"{pair.b} - {pair.a}"
            value, low, high = map(or_nan, (pair.delta, pair.ci.low, pair.ci.high))
            code = pair.final_verdict.code
            mark = VERDICT_MARKS[code]
            rows.append(ForestRow(name, value, low, high, short_words(code, pair), mark))
        against = f" against {comparison.baseline}" if comparison.baseline else ""
        intervals = level_words(group.compared[0]).replace("CI", "intervals")
        return cls(
            rows,
            title=f"Difference in {comparison.primary}{against}",
            subtitle=f"{group.name or counted(len(group.query_ids), 'query')}, {intervals}",
            measure=comparison.primary,
            better=better_of(comparison.scores, comparison.primary),
            margin=comparison.settings.margin or None,
            prefix=identifier("forest", group.name or ""),
        )

    def checked(self) -> Self:
        n.require(self.rows, "comparisons")
        for row in self.rows:
            if row.mark not in MARK_COLOURS:
                raise OptionError(f"mark = {row.mark!r} is none of {', '.join(MARK_COLOURS)}")
        rows = [n.checked_estimate(row, row.label) for row in self.rows]
        n.require_defined((row.value for row in rows), "difference")
        if self.margin is not None and not n.checked(self.margin, "margin") > 0:
            hint = "leave it out where every difference matters"
            raise OptionError(f"margin = {self.margin} is not above 0", hint=hint)
        return replace(self, rows=rows)

    def records(self) -> list[dict[str, Any]]:
        names = {"label": "label", "difference": "value", "low": "low", "high": "high", "verdict": "note"}
        return [{name: getattr(row, field) for name, field in names.items()} for row in self.rows]

    def alt(self) -> str:
        def words(row: ForestRow) -> str:
            return f"{row.label}: {row.numbers}{f' ({row.note})' if row.note else ''}"

        band = f" Differences within {n.shown(self.margin)} of zero are too small to matter." if self.margin else ""
        rows = n.list_words(self.rows, words, "more comparison")
        return f"Differences in {self.measure} with intervals: {rows}.{band}"

    def draw(self, drawing: Drawing) -> None:
        layout, rows, margin = drawing.layout, self.rows, self.margin
        if margin:
            band = swatch(fill=MUTED, fill_opacity=0.13)
            drawing.legend([(band, f"within ±{n.shown(margin)}: too small to matter")])
        edges = [edge for row in rows for edge in (row.value, row.low, row.high)]
        edges += [0.0, margin, -margin] if margin else [0.0]
        axis = linear_axis(edges, n_ticks=5 if layout.is_wide else 4)
        note_width = max(text_width(row.note, layout.size, bold=True) for row in rows)
        if layout.is_wide:
            note_width = min(note_width, layout.inner * 0.22)
            labels = max(text_width(text, layout.size) for row in rows for text in (row.label, row.numbers))
            label_width = min(labels, layout.inner * 0.34)
            left = layout.margin + label_width + 24
            right = layout.width - layout.margin - note_width - (16 if note_width else 12)
            height = 2 * layout.line + 8
        else:
            note_width = min(note_width, layout.inner * 0.45)
            label_width = layout.inner - note_width - 12
            left = layout.margin + 14
            right, height = layout.width - left, 3.6 * layout.line
        box = Box(left, drawing.y, right, drawing.y + len(rows) * height)
        scale = axis.scale(left, right)
        tops = [box.top + i * height for i in range(len(rows))]
        tracks = [
            (top, top + height) if layout.is_wide else (top + 2.1 * layout.line, top + height - 6) for top in tops
        ]
        for top, bottom in [(box.top, box.bottom)] if layout.is_wide else tracks:
            if margin:
                drawing.add(rectangle(scale(-margin), top, scale(margin), bottom, fill=MUTED, fill_opacity=0.13))
            drawing.add(group((straight(scale(t), top, scale(t), bottom) for t in axis.ticks), stroke=GRID))
            drawing.add(straight(scale(0), top, scale(0), bottom, stroke=AXIS, stroke_width=1.5))
        end = layout.width - layout.margin
        for row, row_top, (top, bottom) in zip(rows, tops, tracks, strict=True):
            base = row_top + (height / 2 - 4 if layout.is_wide else layout.size * 1.1)
            drawing.text(layout.margin, base, row.label, width=label_width)
            room = label_width if layout.is_wide else layout.inner
            drawing.text(layout.margin, base + layout.line, row.numbers, width=room, fill=MUTED)
            look: dict[str, Any] = {"width": note_width, "fill": MARK_COLOURS[row.mark], "font_weight": "600"}
            if row.note and layout.is_wide:
                drawing.text(end - note_width, drawing.middle(row_top + height / 2), row.note, **look)
            elif row.note:
                drawing.text(end, base, row.note, text_anchor="end", **look)
            drawing.add(whisker(row, scale, (top + bottom) / 2))
        side = "right" if self.better == "higher" else "left"
        draw_x_axis(drawing, axis, scale, box, f"difference in {self.measure} ({side} of zero: better)")


def whisker(row: ForestRow, scale: Scale, y: float) -> str:
    """Return the interval as a line with ends, and the difference as a marker on it; an endless side has no end."""
    parts = [tip(f"{row.label}: {row.numbers} {row.note}")]
    if not math.isnan(row.low):
        parts.append(straight(scale(row.low), y, scale(row.high), y))
        parts += [straight(scale(end), y - 4, scale(end), y + 4) for end in n.finite((row.low, row.high))]
    colour = MARK_COLOURS[row.mark]
    if math.isfinite(row.value):
        parts.append(marker(MARK_SHAPES[row.mark], scale(row.value), y, 4.5, fill=colour, stroke="none"))
    return group(parts, stroke=colour, stroke_width=2)


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

    spreads: Sequence[ScoreSpread]
    measure: str

    @classmethod
    def from_scores(cls, scores: Scores, measure: str | None = None) -> DistributionChart:
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
        layout, spreads = drawing.layout, self.spreads
        axis = linear_axis(value for s in spreads for value in (*s.values, s.low, s.high, s.mean))
        label_width = min(max(text_width(s.name, layout.size) for s in spreads), layout.inner * 0.3)
        left = layout.margin + (label_width + 20 if layout.is_wide else 14)
        row_height = BOX + STRIP + (16 if layout.is_wide else 14 + layout.line)
        box = Box(left, drawing.y, layout.width - layout.margin - 14, drawing.y + len(spreads) * row_height)
        scale = axis.scale(box.left, box.right)
        drawing.add(group((straight(scale(t), box.top, scale(t), box.bottom) for t in axis.ticks), stroke=GRID))
        counts = [Counter(round(scale(value) / MARK) for value in spread.values) for spread in spreads]
        most = max(max(count.values(), default=1) for count in counts)
        for i, spread in enumerate(spreads):
            top = box.top + i * row_height
            if layout.is_wide:
                drawing.text(layout.margin, drawing.middle(top + 8 + BOX / 2), spread.name, width=label_width)
            else:
                drawing.text(layout.margin, top + layout.size * 1.1, spread.name, width=layout.inner)
            drawing.add(box_and_strip(spread, counts[i], most, scale, top + row_height - BOX - STRIP - 8))
        draw_x_axis(drawing, axis, scale, box, self.measure)
        mean = "; diamond: mean" if n.finite(spread.mean for spread in spreads) else ""
        strip = "; marks below: scores" + (", higher where more queries share one" if most > 1 else "")
        drawing.notes([f"box: middle half of the queries; bold line: median{mean}{strip}"])


def box_and_strip(spread: ScoreSpread, counts: Counter[int], most: int, scale: Scale, top: float) -> str:
    """Return the box and the strip of one system: marks are the longer the more queries share the place."""
    middle, colour = top + BOX / 2, SERIES[0]
    parts = [
        tip(f"{spread.words}, mean {n.shown(spread.mean)}, {counted(len(spread.values), 'query')}"),
        straight(scale(spread.low), middle, scale(spread.q1), middle, stroke=colour),
        straight(scale(spread.q3), middle, scale(spread.high), middle, stroke=colour),
        rectangle(scale(spread.q1), top, scale(spread.q3), top + BOX, fill=colour, fill_opacity=0.2, stroke=colour),
        straight(scale(spread.median), top, scale(spread.median), top + BOX, stroke=FG, stroke_width=2.5),
    ]
    marks = ""
    for place, count in sorted(counts.items()):
        marks += f"M{place * MARK} 0v{round(3 + (STRIP - 3) * (count - 1) / max(most - 1, 1))}"
    if marks:
        look: Attributes = {"stroke": colour, "stroke_width": 1.2, "stroke_opacity": 0.75}
        parts.append(element("path", d=marks, transform=f"translate(0 {number(top + BOX + 3)})", **look))
    if n.finite([spread.mean]):
        parts.append(marker("diamond", scale(spread.mean), middle, 3.5, fill=SERIES[1]))
    return group(parts)
