"""Heat maps, grids of shaded cells with numbers in them: strata by systems, systems by measures, pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

from msgspec.structs import asdict

from rankscope.analysis.overview import SEEN_DOCS, RunOverlap, run_overlap
from rankscope.comparison.records import Comparison
from rankscope.errors import OptionError
from rankscope.measures.scores import Scores, is_over_same_queries
from rankscope.printable import counted
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts import svg
from rankscope.report.charts.axes import BETWEEN_LABELS, write_below
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, LegendKey, swatch
from rankscope.report.charts.palette import AXIS, BAD, GOOD, GRID, MUTED, SERIES
from rankscope.report.charts.sources import RunData, better_of, identifier, weighted_words
from rankscope.report.evaluation import no_best_words
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

LIGHTEST, DARKEST = 0.04, 0.48  # between them a cell's letters can be read on it, on light and on dark pages
PADDING = 6
USUAL_WIDTH = 110
SAMPLES = 5
DASH = "\N{EN DASH}"  # in place of a value that is not there
UPPER, LOWER = SERIES[0], SERIES[4]
LEVELS = 10  # where cells have no room for numbers they are drawn in so many shades
Matrix = Sequence[Sequence[float]]


class HeatCell(Record):
    """A value in a row and a column, with its interval and the number of queries behind it."""

    row: str
    column: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    n: int | None = None


class HeatChart(Chart):
    """What both heat maps share: cells by row and column, both in the order in which they first appear."""

    with_sign: ClassVar[bool] = False
    cells: Sequence[HeatCell]

    def shade_of(self, cell: HeatCell) -> tuple[str, float, bool]:
        """Return the colour of a cell, how much of it from 0 to 1, and whether the value is bold."""
        raise NotImplementedError

    def checked(self) -> Self:
        n.require(self.cells, "cells")
        cells = [n.checked_estimate(cell, f"{cell.row}, {cell.column}") for cell in self.cells]
        n.require_defined((cell.value for cell in cells), "value")
        if len({(cell.row, cell.column) for cell in cells}) < len(cells):
            raise OptionError("a row and column appear twice", hint="give one value for each pair")
        return replace(self, cells=cells)

    @cached_property
    def extents(self) -> dict[str | None, tuple[float, float]]:
        """The least and the greatest value of every column, and of all of them under None."""
        names = {None, *(cell.column for cell in self.cells)}
        values = {name: n.finite(c.value for c in self.cells if name in {None, c.column}) for name in names}
        return {name: (min(known), max(known)) for name, known in values.items() if known}

    def records(self) -> list[dict[str, Any]]:
        return [asdict(cell) for cell in self.cells]

    def numbers(self, cell: HeatCell) -> str:
        return n.with_interval(cell.value, cell.low, cell.high, with_sign=self.with_sign)

    def words(self) -> str:
        return n.list_words(self.cells, lambda c: f"{c.row}, {c.column} {self.numbers(c)}", "more cell")

    def draw_cells(self, drawing: Drawing) -> None:
        looks = {}
        for cell in self.cells:
            value, _, interval = self.numbers(cell).partition(" ")
            lines = tuple(filter(None, (value, interval, f"n = {cell.n:,}" if cell.n is not None else "")))
            fill, shade, bold = (MUTED, 0.0, False) if math.isnan(cell.value) else self.shade_of(cell)
            words = f"{cell.row}, {cell.column}: {' '.join(lines)}"
            looks[cell.row, cell.column] = CellLook(lines, fill, shade, words, bold)
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*looks, strict=True))
        draw_grid(drawing, rows, columns, [[looks.get((row, column)) for column in columns] for row in rows])


class StrataChart(HeatChart):
    """Strata (rows) by systems (columns): their differences as gains and losses."""

    with_sign: ClassVar[bool] = True

    measure: str
    better: Better = "higher"

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> StrataChart:
        """Return each stratum's difference for every pair of the first group."""
        group, cells = comparison.groups[0], []
        for pair in group.compared:
            strata = pair.strata or ()
            requested = [part for part in strata if part.requested]
            for part in requested or strata:
                value, low, high = map(or_nan, (part.delta, part.ci.low, part.ci.high))
                cells.append(HeatCell(f"{part.attribute} {part.value}", pair.b, value, low, high, part.n_queries))
        level = f"{(1 - comparison.settings.alpha) * 100:.4g}% intervals, each one of its own"
        return cls(
            cells,
            title=f"Difference in {comparison.primary} by stratum",
            measure=comparison.primary,
            better=better_of(comparison.scores, comparison.primary),
            subtitle=", ".join(filter(None, (group.name, level))),
            prefix=identifier("strata", group.name or ""),
        )

    def alt(self) -> str:
        return f"Differences in {self.measure} by stratum and system: {self.words()}."

    def draw(self, drawing: Drawing) -> None:
        plain = swatch(fill=MUTED, fill_opacity=0.04)
        drawing.legend([shade_key(GOOD, "better"), shade_key(BAD, "worse"), (plain, "undefined or zero")])
        self.draw_cells(drawing)

    def shade_of(self, cell: HeatCell) -> tuple[str, float, bool]:
        is_gain = (cell.value > 0) == (self.better == "higher")
        fill = MUTED if cell.value == 0 else GOOD if is_gain else BAD
        return fill, abs(cell.value) / (max(map(abs, self.extents[None])) or 1), False


class SystemsChart(HeatChart):
    """Systems (rows) by measures (columns): stronger colour is better within a measure, its best value is bold."""

    better: Mapping[str, Better] = {}
    """By measure; higher where nothing is said."""
    without_best: Sequence[str] = ()
    """Measures whose means are not over the same queries: the system that finds less might look best."""

    @classmethod
    def from_scores(
        cls, scores: Scores, *, level: float = LEVEL, cluster_of: Mapping[str, str] | None = None
    ) -> SystemsChart:
        means = {
            (name, measure): mean_of(run, measure, level=level, cluster_of=cluster_of)
            for name, run in scores.items()
            for measure in run.measures
        }
        no_interval = any(mean.why_none for mean in means.values())
        lacking = "no interval where every query scores the same or too few count" if no_interval else ""
        return cls(
            [HeatCell(*place, mean.value, *mean.ends) for place, mean in means.items()],
            title=f"Systems by measure, with {percent(level)} intervals",
            subtitle="; ".join(filter(None, (weighted_words(scores), lacking))),
            better={measure: better_of(scores, measure) for measure in scores.measures},
            without_best=[measure for measure in scores.measures if not is_over_same_queries(scores, measure)],
        )

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> SystemsChart:
        """Return the systems of a comparison, with intervals at its level and by its clusters."""
        level = 1 - comparison.settings.alpha
        return cls.from_scores(comparison.scores, level=level, cluster_of=comparison.cluster_of)

    @classmethod
    def from_runs(cls, data: RunData) -> SystemsChart:
        return cls.from_scores(data.evaluate(data.measures))

    def alt(self) -> str:
        return f"Scores by system and measure: {self.words()}."

    def draw(self, drawing: Drawing) -> None:
        label = "the stronger the colour, the better within a measure; bold: its best value"
        drawing.legend([shade_key(GOOD, label)])
        self.draw_cells(drawing)
        if self.without_best:
            drawing.notes([no_best_words(self.without_best)])

    def shade_of(self, cell: HeatCell) -> tuple[str, float, bool]:
        if cell.column in self.without_best:
            return MUTED, 0.0, False
        worst, best = self.extents[cell.column]
        if self.better.get(cell.column) == "lower":
            worst, best = best, worst
        share = (cell.value - worst) / (best - worst) if best != worst else 0.5
        return GOOD, share, cell.value == best


class CellLook(Record):
    """How a cell looks: its lines of text, its colour and how much of it, and its tooltip."""

    lines: tuple[str, ...]
    fill: str
    shade: float
    """From 0 to 1."""
    words: str = ""
    bold: bool = False


Looks = Sequence[Sequence[CellLook | None]]  # by row and column; None where there is nothing to show


def opacity(shade: float, *, darkest: float = DARKEST) -> float:
    return LIGHTEST + shade * (darkest - LIGHTEST)


def draw_grid(drawing: Drawing, rows: Sequence[str], columns: Sequence[str], looks: Looks) -> None:
    """Draw a grid; columns that do not fit side by side follow below, and many columns of few rows become rows."""
    layout = drawing.layout
    known = [look for row in looks for look in row if look]
    texts = [svg.text_width(line, layout.size, bold=look.bold) for look in known for line in look.lines]
    needed = max([*texts, 3 * layout.size]) + 2 * PADDING
    left = row_label_width(drawing, rows)
    if len(columns) > (layout.inner - left) // needed and 1 < len(columns) > len(rows):
        rows, columns, looks = columns, rows, list(zip(*looks, strict=True))
        left = row_label_width(drawing, rows)
    n_fitting = max(1, min(len(columns), int((layout.inner - left) // needed)))
    per_block = math.ceil(len(columns) / math.ceil(len(columns) / n_fitting))
    heads = max(svg.text_width(svg.one_line(name), layout.size) for name in columns) + PADDING + 2
    width = min((layout.inner - left) / per_block, max(USUAL_WIDTH, heads, needed))
    for first in range(0, len(columns), per_block):
        block = slice(first, first + per_block)
        draw_heads(drawing, columns[block], layout.margin + left, width)
        draw_rows(drawing, rows, [row[block] for row in looks], left, width)
        drawing.space(14)


def draw_heads(drawing: Drawing, names: Sequence[str], left: float, width: float) -> None:
    """Write the names of the columns just above the cells: in two lines, or shortened where they have no words."""
    layout, room = drawing.layout, width - PADDING
    wrapped = [svg.wrapped(name, room, layout.size, max_lines=2) for name in names]
    most = max(1, *map(len, wrapped))
    for j, (name, lines) in enumerate(zip(names, wrapped, strict=True)):
        shown = lines if lines[1:] else [svg.shortened(name, room, layout.size)]
        full = name if " ".join(shown) != svg.one_line(name) else ""
        for i, line in enumerate(shown, most - len(shown)):
            x, y = left + (j + 0.5) * width, drawing.y + i * layout.line + layout.size
            drawing.text(x, y, line, full=full, text_anchor="middle", fill=MUTED)
    drawing.space(most * layout.line + 4)


def row_label_width(drawing: Drawing, names: Sequence[str]) -> float:
    """Return the room for names beside their rows; in a narrow place they stand above them."""
    layout = drawing.layout
    if not layout.is_wide:
        return 0
    return min(max(svg.text_width(svg.one_line(name), layout.size) for name in names), layout.inner * 0.3) + 12


def draw_rows(drawing: Drawing, names: Sequence[str], looks: Looks, label_width: float, width: float) -> None:
    layout = drawing.layout
    height = max((len(look.lines) for row in looks for look in row if look), default=1) * layout.line + 8
    for name, row in zip(names, looks, strict=True):
        if layout.is_wide:
            drawing.text(layout.margin, drawing.middle(drawing.y + height / 2), name, width=label_width - 12)
        else:
            drawing.text(layout.margin, drawing.y + layout.size + 6, name, width=layout.inner)
            drawing.space(layout.line + 6)
        cells = []
        for j, look in enumerate(row):
            x = layout.margin + label_width + j * width
            cells.append(cell(look, Box(x, drawing.y, x + width, drawing.y + height), layout.size))
        drawing.add(svg.group(cells, text_anchor="middle"))
        drawing.space(height)


def cell(look: CellLook | None, box: Box, size: float) -> str:
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + svg.CENTRE * size
    if look is None:
        return svg.element("text", DASH, x=x, y=y, fill=MUTED)
    sides = box.left + 1, box.top + 1, box.right - 1, box.bottom - 1
    parts = [svg.rectangle(*sides, svg.tip(look.words), fill=look.fill, fill_opacity=opacity(look.shade))]
    first = y - (len(look.lines) - 1) * size * svg.LINE / 2
    for i, line in enumerate(look.lines):
        weight = "600" if look.bold and not i else None
        parts.append(svg.element("text", svg.escaped(line), x=x, y=first + i * size * svg.LINE, font_weight=weight))
    return "".join(parts)


def shade_key(colour: str, label: str, *, darkest: float = DARKEST) -> LegendKey:
    """Return the legend of shades, from the lightest to the darkest."""
    step = SWATCH / SAMPLES
    shades = [opacity(i / (SAMPLES - 1), darkest=darkest) for i in range(SAMPLES)]
    steps = [svg.rectangle(i * step, -6, (i + 1) * step, 6, fill=colour, fill_opacity=s) for i, s in enumerate(shades)]
    frame = svg.element("path", d=f"M0-6H{svg.number(SWATCH)}V6H0Z", fill="none", stroke=AXIS, stroke_width=0.5)
    return "".join([*steps, frame]), label


MEANS_OVER = "Means over the queries that at least one of the two answers; 0 where only one does"


class OverlapChart(Chart):
    """Pairs of systems: above the diagonal docs in both of all in either, below it rank-biased overlap."""

    names: Sequence[str]
    shared: Matrix
    rbo: Matrix
    depth: int

    @classmethod
    def from_runs(cls, data: RunData) -> OverlapChart:
        if len(data.runs) < 2:
            raise OptionError("overlap needs at least two runs")
        depth = min(SEEN_DOCS, data.policies.depth or SEEN_DOCS)
        return cls.from_overlap(run_overlap(data.qrels, data.runs, data.policies, depth=depth))

    @classmethod
    def from_overlap(cls, found: RunOverlap) -> OverlapChart:
        matrices = found.shared.tolist(), found.rbo.tolist()
        return cls(found.names, *matrices, found.depth, title="What the systems have in common")

    def checked(self) -> Self:
        n.require(self.names, "systems")
        checked = {}
        for what, matrix in (("shared", self.shared), ("rbo", self.rbo)):
            n.require_equal_lengths(f"systems and rows of {what}", self.names, matrix)
            for row in matrix:
                n.require_equal_lengths(f"systems and columns of {what}", self.names, row)
            checked[what] = [n.numbers(row, what) for row in matrix]
            if not all(0 <= value <= 1 for row in checked[what] for value in n.finite(row)):
                raise OptionError(f"{what} has a value outside 0 to 1")
        return replace(self, **checked)

    @cached_property
    def cells(self) -> list[tuple[int, int, float]]:
        """All cells off the diagonal, row by row: row, column and value."""
        places = product(range(len(self.names)), repeat=2)
        return [(i, j, (self.shared if i < j else self.rbo)[i][j]) for i, j in places if i != j]

    def records(self) -> list[dict[str, Any]]:
        return [
            {"a": self.names[i], "b": self.names[j], "shared": value, "rbo": self.rbo[j][i]}
            for i, j, value in self.cells
            if i < j
        ]

    def alt(self) -> str:
        def words(pair: dict[str, Any]) -> str:
            return f"{pair['a']} and {pair['b']} share {n.shown(pair['shared'])}, RBO {n.shown(pair['rbo'])}"

        pairs = n.list_words(self.records(), words, "more pair") or "no pair"
        of_what = "docs in both, of all docs in either, and rank-biased overlap (RBO)"
        systems = counted(len(self.names), "system")
        return f"Overlap of the first {self.depth:,} docs between {systems}, {of_what}: {pairs}. {MEANS_OVER}."

    def draw(self, drawing: Drawing) -> None:
        """Draw the legend and the square; rows carry names and numbers, columns only the numbers."""
        layout, n_systems = drawing.layout, len(self.names)
        labels = [f"{i}  {name}" for i, name in enumerate(self.names, 1)]
        label_width = min(max(svg.text_width(label, layout.size) for label in labels), layout.inner * 0.32)
        left = layout.margin + label_width + 10
        width = min((layout.width - layout.margin - left) / n_systems, 64)
        has_room = width >= svg.text_width("0.00", layout.size) + 4
        darkest = DARKEST if has_room else 1
        upper = f"above the diagonal: docs in both, of all docs in either, first {self.depth:,}"
        lower = f"below: rank-biased overlap (RBO), first {self.depth:,}"
        drawing.legend([shade_key(UPPER, upper, darkest=darkest), shade_key(LOWER, lower, darkest=darkest)])
        needed = svg.text_width(str(n_systems), layout.size) + BETWEEN_LABELS
        stride = next((stride for stride in (1, 2, 5, 10, 20, 50) if stride * width >= needed), 100)
        numbered = range(stride, n_systems + 1, stride)
        write_below(drawing, [left + (j - 0.5) * width for j in numbered], map(str, numbered))
        top, height = drawing.y, min(max(width, layout.line), 36)
        for i, label in enumerate(labels):
            drawing.text(layout.margin, drawing.middle(top + (i + 0.5) * height), label, width=label_width)
        right, bottom = left + width * n_systems, top + height * n_systems
        drawing.add(svg.rectangle(left, top, right, bottom, fill="none", stroke=GRID))
        first = left, top, width, height
        drawing.add(self.written_cells(*first, layout.size) if has_room else self.shaded_cells(*first))
        drawing.y = bottom + 6
        drawing.notes([MEANS_OVER, "" if has_room else f"in {LEVELS} steps from 0 to 1"])

    def written_cells(self, left: float, top: float, width: float, height: float, size: float) -> str:
        parts = []
        for i, j, value in self.cells:
            x, y = left + j * width, top + i * height
            known = UPPER if i < j else LOWER, value, f"{value:.2f}"
            fill, shade, text = known if n.finite([value]) else (MUTED, 0, DASH)
            words = f"{self.names[i]}, {self.names[j]}: {n.shown(value)}"
            look = CellLook((text,), fill, shade, words)
            parts.append(cell(look, Box(x, y, x + width, y + height), size))
        return svg.group(parts, text_anchor="middle")

    def shaded_cells(self, left: float, top: float, width: float, height: float) -> str:
        """Return cells too small for numbers: one path per shade, since there may be thousands."""
        outlines: dict[tuple[str, int], str] = {}
        for i, j, value in self.cells:
            if n.finite([value]):
                look = UPPER if i < j else LOWER, round(value * LEVELS)
                corner = f"M{svg.number(left + j * width)} {svg.number(top + i * height + height / 2)}"
                outlines[look] = f"{outlines.get(look, '')}{corner}h{svg.number(width - 0.5)}"
        paths = (
            svg.element("path", d=outline, stroke=colour, stroke_opacity=opacity(level / LEVELS, darkest=1))
            for (colour, level), outline in sorted(outlines.items())
        )
        return svg.group(paths, stroke_width=height - 0.5)
