"""Charts with a row per pair or system on one level axis: differences with intervals, and how scores are spread."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from rankscope.comparison.records import Comparison, PairResult, QueryGroup
from rankscope.comparison.verdict import TURNED, level_words, short_words
from rankscope.errors import OptionError
from rankscope.measures.scores import Scores
from rankscope.printable import counted
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import Axis, Scale, axis_name, draw_x_axis, linear_axis, write_ticks
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import Box, ChartLayout, Drawing, swatch
from rankscope.report.charts.marks import verdict_marker
from rankscope.report.charts.palette import BG, FG, GRID, MARK_COLOURS, MUTED, RAMP, marker
from rankscope.report.charts.sources import RunData, by_mean, identifier, shown_of
from rankscope.report.charts.svg import (
    Attributes,
    element,
    group,
    number,
    one_line,
    rectangle,
    straight,
    text_width,
    tip,
)
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import Mark
from rankscope.report.evaluation import primary_of
from rankscope.report.paper import scores_in_order

MARK = 3
"""From one mark of the strip to the next; scores nearer than that share one."""
BAND = 0.13  # opacity of the margin
GAP, GLYPH = 10, 16  # between columns of a forest; room for the mark beside a verdict
LEAST_TRACK = 210
LONG = 12  # with more rows an axis stands above them, too, and boxes are lower
MOST_PAIRS = 10  # of more pairs a forest shows the best system's alone: the matrix is the picture of all of them
SUMMARY = ("low", "q1", "median", "q3", "high")


class ForestRow(Record):
    """A comparison: who with whom, the difference with its interval, and the verdict in a word or two."""

    label: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    note: str = ""
    mark: Mark = "unsure"
    own: str = ""
    """Of the system that all are compared with: its mean in words; it has a row, but no difference."""

    @property
    def numbers(self) -> str:
        return self.own or n.with_interval(self.value, self.low, self.high, with_sign=True)


class ForestChart(Chart):
    """Differences with intervals, the zero line, and the band of differences too small to matter."""

    rows: Sequence[ForestRow]
    measure: str
    """Empty where the title says what differs, and which side is better."""
    better: Better = "higher"
    margin: float | None = None

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> ForestChart:
        """Return the differences from the baseline, or of all pairs; of many pairs those of the best system.

        Systems stand in the order of the leaderboard, and the one they are compared with has a row in its place.
        """
        group = comparison.groups[0]
        order = comparison.systems_in_order(group)
        zero = comparison.baseline
        if zero is None and len(group.compared) > MOST_PAIRS:
            zero = group.leaderboard[0].system if group.leaderboard else order[0]
        title = f"Difference in {comparison.primary}" + (f" from {zero}" if zero else "")
        names, shown = shown_of(order, keep=zero)
        queries = group.name or counted(len(group.query_ids), "query")
        return cls(
            list(forest_rows(group, names, zero, "baseline" if comparison.baseline else "the best")),
            title=title,
            subtitle=", ".join(filter(None, (queries, intervals_in_words(group), shown))),
            measure=comparison.primary,
            better="lower" if group.compared[0].lower_is_better else "higher",
            margin=comparison.settings.margin or None,
            prefix=identifier("forest", group.name or ""),
        )

    def checked(self) -> Self:
        n.require(self.rows, "comparisons")
        for row in self.rows:
            if row.mark not in MARK_COLOURS:
                raise OptionError(f"mark = {row.mark!r} is none of {', '.join(MARK_COLOURS)}")
        rows = [n.checked_estimate(row, row.label) for row in self.rows]
        n.require_defined((row.value for row in rows if not row.own), "difference")
        if self.margin is not None and not n.checked(self.margin, "margin") > 0:
            hint = "leave it out where every difference matters"
            raise OptionError(f"margin = {self.margin} is not above 0", hint=hint)
        return replace(self, rows=rows)

    def records(self) -> list[dict[str, Any]]:
        names = {"label": "label", "difference": "value", "low": "low", "high": "high", "verdict": "note"}
        return [{name: getattr(row, field) for name, field in names.items()} for row in self.rows]

    def alt(self) -> str:
        rows = [row for row in self.rows if not row.own]
        zero = "".join(f" from {row.label}" for row in self.rows if row.own)
        of_measure = f" in {self.measure}" if self.measure else ""
        counts = Counter(row.note for row in rows if row.note)
        verdicts = ", ".join(f"{count:,} {note}" for note, count in counts.items())
        known = [row for row in rows if math.isfinite(row.value)]
        if len(rows) == 1:
            return f"The difference{of_measure}{zero}, {rows[0].label}: {rows[0].numbers}, {rows[0].note}.".replace(
                ", .", "."
            )
        ends = [max(known, key=lambda row: row.value), min(known, key=lambda row: row.value)]
        highest, lowest = (f"{row.label} {row.numbers}" for row in ends)
        found = "; ".join(filter(None, (verdicts, f"highest {highest}, lowest {lowest}")))
        return f"{counted(len(rows), 'difference')}{of_measure}{zero}: {found}."

    def draw(self, drawing: Drawing) -> None:
        layout, rows, margin = drawing.layout, self.rows, self.margin
        if margin:
            drawing.legend([(swatch(fill=MUTED, fill_opacity=BAND), f"within ±{n.shown(margin)}: too small to matter")])
        edges = [edge for row in rows for edge in (row.value, row.low, row.high)]
        axis = linear_axis([*edges, *([0.0, margin, -margin] if margin else [0.0])], n_ticks=4)
        columns = ForestColumns.of(rows, layout)
        left, right, end = columns.left, columns.right, layout.width - layout.margin
        if len(rows) > LONG:
            write_ticks(drawing, axis, axis.scale(left, right), strong_zero=True)
        box = Box(left, drawing.y, right, drawing.y + len(rows) * columns.height)
        scale = axis.scale(left, right)
        tops = [box.top + i * columns.height for i in range(len(rows))]
        drawing.add(group((straight(layout.margin, y, end, y) for y in (*tops, box.bottom)), stroke=GRID))
        tracks = [(box.top, box.bottom)] if layout.is_wide else [(y + layout.line, y + columns.height) for y in tops]
        drawing.add(*forest_ground(axis, scale, tracks, margin))
        for row, top in zip(rows, tops, strict=True):
            columns.write(drawing, row, top)
            if not row.own:
                drawing.add(whisker(row, scale, top + columns.middle))
        drawing.y = box.bottom
        write_ticks(drawing, axis, scale, strong_zero=True)
        side = "right" if self.better == "higher" else "left"
        axis_name(
            drawing, f"difference in {self.measure} ({side} of zero: better)" if self.measure else "difference", box
        )


class ForestColumns(Record):
    """Where the parts of a row stand: name, track, numbers and verdict side by side, or in two lines."""

    left: float
    right: float
    """Of the track."""
    height: float
    middle: float
    """Of the track within a row."""
    names: float
    numbers: float
    notes: float
    """Widths of texts."""

    @classmethod
    def of(cls, rows: Sequence[ForestRow], layout: ChartLayout) -> ForestColumns:
        names, numbers, notes = (
            max(text_width(one_line(text), layout.size) for text in texts) + GAP
            for texts in zip(*((row.label, row.numbers, row.note) for row in rows), strict=True)
        )
        notes = min(notes + GLYPH, layout.inner * (0.23 if layout.is_wide else 0.45))
        end = layout.width - layout.margin
        if layout.is_wide:
            numbers = min(numbers, layout.inner * 0.3)
            names = min(names, max(layout.inner * 0.26, layout.inner - numbers - notes - LEAST_TRACK))
            left, right = layout.margin + names + 8, end - notes - numbers - 8
            return cls(left, right, 26.0, 13.0, names, numbers, notes)
        numbers = min(numbers, layout.inner * 0.6)
        height = layout.line + (21 if len(rows) <= LONG else 17)
        left, right, middle = layout.margin + 14, end - notes - 8, (layout.line + height) / 2
        return cls(left, right, height, middle, layout.inner - numbers, numbers, notes)

    def write(self, drawing: Drawing, row: ForestRow, top: float) -> None:
        """Write the name, the numbers and the verdict with its mark."""
        layout, centre = drawing.layout, top + self.middle
        end, word = layout.width - layout.margin, drawing.middle(centre)
        base = word if layout.is_wide else top + layout.size * 1.15
        drawing.text(layout.margin, base, row.label, width=self.names - GAP)
        place = end - self.notes - 8 if layout.is_wide else end
        drawing.text(place, base, row.numbers, width=self.numbers - GAP, text_anchor="end", fill=MUTED)
        if row.note and not row.own:
            drawing.add(verdict_marker(row.mark, end - self.notes + 6, centre, 4.4))
        colour = MUTED if row.own else MARK_COLOURS[row.mark]
        drawing.text(end - self.notes + GLYPH, word, row.note, width=self.notes - GLYPH, fill=colour)


def forest_ground(
    axis: Axis, scale: Scale, tracks: Sequence[tuple[float, float]], margin: float | None
) -> Iterator[str]:
    """Yield what lies below the intervals: the margin as a band, a thin line per tick, and zero in ink."""
    if margin:
        left, right = scale(-margin), scale(margin)
        bands = (rectangle(left, top, right, bottom) for top, bottom in tracks)
        yield group(bands, fill=MUTED, fill_opacity=BAND)
    for ticks, look in ((axis.ticks, {"stroke": GRID}), ((0.0,), {"stroke": FG, "stroke_width": 1.25})):
        lines = (f"M{number(scale(t))} {number(top)}V{number(bottom)}" for t in ticks for top, bottom in tracks)
        yield element("path", d="".join(lines), **look)


def forest_rows(group: QueryGroup, order: Sequence[str], zero: str | None, role: str) -> Iterator[ForestRow]:
    """Yield a row per pair, in the order of the systems; where all are compared with one, it has a row in its place."""
    place = {name: i for i, name in enumerate(order)}
    if zero is None:
        for pair in sorted(group.compared, key=lambda pair: sorted(place[name] for name in (pair.a, pair.b))):
            ahead, behind = sorted((pair.a, pair.b), key=place.__getitem__)
            yield forest_row(pair, f"{ahead} {n.MINUS} {behind}", turned=ahead == pair.a)
        return
    pairs = {pair.b if pair.a == zero else pair.a: pair for pair in group.compared if zero in (pair.a, pair.b)}
    means = {row.system: row.mean for row in group.leaderboard}
    for name in order:
        if name == zero:
            mean = f"{n.shown(means[zero])} \N{MIDDLE DOT} " if zero in means else ""
            yield ForestRow(zero, 0.0, note=role, mark="note", own=f"{mean}the zero line")
        elif name in pairs:
            yield forest_row(pairs[name], name, turned=pairs[name].a == name)


def forest_row(pair: PairResult, label: str, *, turned: bool) -> ForestRow:
    """Return the row of a pair, seen from the other system where it is turned."""
    code = pair.final_verdict.code
    value, low, high = map(or_nan, (pair.delta, pair.ci.low, pair.ci.high))
    if turned:
        value, low, high, code = -value, -high, -low, TURNED.get(code, code)
    return ForestRow(label, value, low, high, short_words(code, pair), VERDICT_MARKS[code])


def intervals_in_words(group: QueryGroup) -> str:
    return level_words(group.compared[0]).replace("CI", "intervals")


def whisker(row: ForestRow, scale: Scale, y: float) -> str:
    """Return the interval as a line in ink, and the difference as the mark of its verdict on it."""
    parts = []
    if not math.isnan(row.low):
        parts.append(straight(scale(row.low), y, scale(row.high), y))
        parts += [straight(scale(end), y - 3, scale(end), y + 3) for end in n.finite((row.low, row.high))]
    line = group(parts, stroke=FG, stroke_width=1.5)
    mark = verdict_marker(row.mark, scale(row.value), y, 4.6) if math.isfinite(row.value) else ""
    return group([tip(f"{row.label}: {row.numbers} {row.note}"), line, mark])


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
    def from_scores(
        cls, scores: Scores, measure: str | None = None, *, in_given_order: bool = False
    ) -> DistributionChart:
        measure = measure or primary_of(scores)
        names, shown = shown_of(list(scores) if in_given_order else by_mean(scores, measure))
        spreads = [
            ScoreSpread.of(name, run.column(measure).tolist(), mean=run.aggregate_of(measure, "mean").value)
            for name, run in ((name, scores[name]) for name in names)
        ]
        return cls(spreads, measure, title=f"{measure} over the queries", subtitle=shown)

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> DistributionChart:
        return cls.from_scores(scores_in_order(comparison), comparison.primary, in_given_order=True)

    @classmethod
    def from_runs(cls, data: RunData) -> DistributionChart:
        return cls.from_scores(data.evaluate(data.primary), data.primary, in_given_order=data.in_given_order)

    def checked(self) -> Self:
        n.require(self.spreads, "systems")
        return replace(self, spreads=[spread.checked() for spread in self.spreads])

    def records(self) -> list[dict[str, Any]]:
        return [
            {"system": s.name, "n": len(s.values), **{name: getattr(s, name) for name in (*SUMMARY, "mean")}}
            for s in self.spreads
        ]

    def alt(self) -> str:
        if len(self.spreads) == 1:
            return f"The scores of {self.measure} over queries, {self.spreads[0].words}."
        highest, lowest = (end(self.spreads, key=lambda spread: spread.median) for end in (max, min))
        systems = f"Of {len(self.spreads):,} systems"
        return (
            f"{systems} the median {self.measure} of a query is highest for {highest.words}; lowest for {lowest.words}."
        )

    def draw(self, drawing: Drawing) -> None:
        layout, spreads = drawing.layout, self.spreads
        axis = linear_axis(value for s in spreads for value in (*s.values, s.low, s.high, s.mean))
        label_width = min(max(text_width(s.name, layout.size) for s in spreads), layout.inner * 0.3)
        left = layout.margin + (label_width + 20 if layout.is_wide else 14)
        is_long = len(spreads) > LONG
        box_height, strip, air = (14, 10, 16) if not is_long else (10, 6, 8) if layout.is_wide else (8, 5, 4)
        row_height = box_height + strip + (air if layout.is_wide else air - 2 + layout.line)
        box = Box(left, drawing.y, layout.width - layout.margin - 14, drawing.y + len(spreads) * row_height)
        scale = axis.scale(box.left, box.right)
        drawing.add(group((straight(scale(t), box.top, scale(t), box.bottom) for t in axis.ticks), stroke=GRID))
        counts = [Counter(round(scale(value) / MARK) for value in spread.values) for spread in spreads]
        most = max(max(count.values(), default=1) for count in counts)
        for i, spread in enumerate(spreads):
            top = box.top + i * row_height
            if layout.is_wide:
                base = drawing.middle(top + (air + box_height) / 2)
                drawing.text(layout.margin, base, spread.name, width=label_width)
            else:
                drawing.text(layout.margin, top + layout.size * 1.1, spread.name, width=layout.inner)
            place = top + row_height - box_height - strip - air / 2
            drawing.add(box_and_strip(spread, counts[i], most, scale, (place, box_height, strip)))
        draw_x_axis(drawing, axis, scale, box, self.measure)
        mean = "; diamond: mean" if n.finite(spread.mean for spread in spreads) else ""
        scores = "; marks below: scores" + (", higher where more queries share one" if most > 1 else "")
        drawing.notes([f"box: middle half of the queries; bold line: median{mean}{scores}"])


def box_and_strip(
    spread: ScoreSpread, counts: Counter[int], most: int, scale: Scale, heights: tuple[float, float, float]
) -> str:
    """Return the box and the strip of one system: marks are the longer the more queries share the place."""
    top, height, strip = heights
    middle, bottom, colour = top + height / 2, top + height, MUTED
    parts = [
        tip(f"{spread.words}, mean {n.shown(spread.mean)}, {counted(len(spread.values), 'query')}"),
        straight(scale(spread.low), middle, scale(spread.q1), middle, stroke=colour),
        straight(scale(spread.q3), middle, scale(spread.high), middle, stroke=colour),
        rectangle(scale(spread.q1), top, scale(spread.q3), bottom, fill=RAMP[2], stroke=colour),
        straight(scale(spread.median), top, scale(spread.median), bottom, stroke=FG, stroke_width=2.5),
    ]
    marks = ""
    for place, count in sorted(counts.items()):
        marks += f"M{place * MARK} 0v{round(3 + (strip - 3) * (count - 1) / max(most - 1, 1))}"
    if marks:
        look: Attributes = {"stroke": colour, "stroke_width": 1.2, "stroke_opacity": 0.75}
        parts.append(element("path", d=marks, transform=f"translate(0 {number(bottom + 3)})", **look))
    if n.finite([spread.mean]):
        parts.append(marker("diamond", scale(spread.mean), middle, 3.2, fill=BG, stroke=FG))
    return group(parts)
