"""Heat maps, grids of shaded cells with numbers in them: strata by systems, systems by measures, pairs of systems."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any, ClassVar, Self

from msgspec.structs import asdict

from rankscope.analysis.overview import SEEN_DOCS, RunOverlap, run_overlap
from rankscope.comparison.records import Code, Comparison, PairResult
from rankscope.errors import OptionError
from rankscope.measures.scores import Scores, is_over_same_queries
from rankscope.printable import counted
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts import svg
from rankscope.report.charts.axes import BETWEEN_LABELS, write_below
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, LegendKey, swatch
from rankscope.report.charts.palette import AXIS, BG, FG, GRID, MARK_COLOURS, MARK_TINTS, MUTED, ON_RAMP, RAMP, SUNK
from rankscope.report.charts.sources import (
    MOST_SYSTEMS,
    RunData,
    better_of,
    by_mean,
    identifier,
    shown_of,
    weighted_words,
)
from rankscope.report.document import Mark
from rankscope.report.evaluation import is_quality, no_best_words, primary_of
from rankscope.report.means import mean_of
from rankscope.report.paper import scores_in_order
from rankscope.stats.interval import LEVEL, percent

PADDING = 6
USUAL_WIDTH = 110
LONG = 12
"""Of more rows cells hold their value alone."""
SHORT = 10  # smaller values have three decimals
DASH = "\N{EN DASH}"  # in place of a value that is not there
DECIDED: tuple[Code, ...] = ("better", "probably_better", "worse", "probably_worse")
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
    """What both heat maps share: cells by row and column, both in the order in which they first appear.

    Cells are shaded by what their intervals can distinguish, never from the least value to the greatest.
    """

    with_sign: ClassVar[bool] = False
    cells: Sequence[HeatCell]

    def look_of(self, cell: HeatCell) -> CellShade:
        raise NotImplementedError

    def checked(self) -> Self:
        n.require(self.cells, "cells")
        cells = [n.checked_estimate(cell, f"{cell.row}, {cell.column}") for cell in self.cells]
        n.require_defined((cell.value for cell in cells), "value")
        if len({(cell.row, cell.column) for cell in cells}) < len(cells):
            raise OptionError("a row and column appear twice", hint="give one value for each pair")
        return replace(self, cells=cells)

    def records(self) -> list[dict[str, Any]]:
        return [asdict(cell) for cell in self.cells]

    def numbers(self, cell: HeatCell) -> str:
        return n.with_interval(cell.value, cell.low, cell.high, with_sign=self.with_sign)

    def draw_cells(self, drawing: Drawing) -> None:
        looks = {}
        for cell in self.cells:
            value, _, interval = self.numbers(cell).partition(" ")
            lines = tuple(filter(None, (value, interval, f"n = {cell.n:,}" if cell.n is not None else "")))
            shade = CellShade() if math.isnan(cell.value) else self.look_of(cell)
            words = f"{cell.row}, {cell.column}: {' '.join(lines)}"
            short = f"{'+' * (self.with_sign and cell.value > 0)}{n.fixed(cell.value, 3)}"
            short = short if abs(cell.value) < SHORT else value
            looks[cell.row, cell.column] = CellLook(lines, shade.fill, shade.ink, words, shade.bold, short)
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*looks, strict=True))
        draw_grid(drawing, rows, columns, [[looks.get((row, column)) for column in columns] for row in rows])
        where = "in tooltips" if drawing.layout.is_wide else "in a wider place"
        drawing.notes([f"intervals: {where}" if max(len(rows), len(columns)) > LONG else ""])


class CellShade(Record):
    """The ground of a cell, the ink on it, and whether its value is bold."""

    fill: str = SUNK
    ink: str = FG
    bold: bool = False


GAIN, LOSS = (CellShade(MARK_TINTS[mark], MARK_COLOURS[mark], bold=True) for mark in ("better", "worse"))
PLAIN = CellShade()


class StrataChart(HeatChart):
    """Strata (rows) by systems (columns): their differences, coloured where the interval says which way they go."""

    with_sign: ClassVar[bool] = True

    measure: str
    better: Better = "higher"

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> StrataChart:
        """Return each stratum's difference for every pair of the first group, systems in the order of the measure."""
        group, cells = comparison.groups[0], []
        names, shown = shown_of(comparison.systems_in_order(group), keep=comparison.baseline)
        for pair in comparison.pairs_in_order(group):
            if pair.a not in names or pair.b not in names:
                continue
            strata = pair.strata or ()
            requested = [part for part in strata if part.requested]
            name = pair.b if comparison.baseline else f"{pair.b} {n.MINUS} {pair.a}"
            for part in requested or strata:
                value, low, high = map(or_nan, (part.delta, part.ci.low, part.ci.high))
                cells.append(HeatCell(f"{part.attribute} {part.value}", name, value, low, high, part.n_queries))
        against = f" from {comparison.baseline}" if comparison.baseline else ""
        level = f"{(1 - comparison.settings.alpha) * 100:.4g}% intervals, each one of its own; exploratory"
        return cls(
            cells,
            title=f"Difference in {comparison.primary}{against} by stratum",
            measure=comparison.primary,
            better="lower" if group.compared[0].lower_is_better else "higher",
            subtitle=", ".join(filter(None, (group.name, shown, level))),
            prefix=identifier("strata", group.name or ""),
        )

    def alt(self) -> str:
        looks = [self.look_of(cell) for cell in self.cells]
        gains, losses = looks.count(GAIN), looks.count(LOSS)
        known = [cell for cell in self.cells if math.isfinite(cell.value)]
        largest = max(known, key=lambda cell: abs(cell.value))
        found = f"{gains:,} better, {losses:,} worse, {len(looks) - gains - losses:,} whose interval includes zero"
        where = f"the largest is {self.numbers(largest)} for {largest.column} in {largest.row}"
        return f"{counted(len(looks), 'difference')} in {self.measure} by stratum: {found}; {where}."

    def draw(self, drawing: Drawing) -> None:
        gain, loss = (swatch(fill=shade.fill, stroke=shade.ink) for shade in (GAIN, LOSS))
        drawing.legend(
            [
                (gain, "better: the interval leaves out zero"),
                (loss, "worse: the interval leaves out zero"),
                (swatch(fill=SUNK, stroke=GRID), "the interval includes zero"),
            ]
        )
        self.draw_cells(drawing)

    def look_of(self, cell: HeatCell) -> CellShade:
        low, high = (cell.low, cell.high) if self.better == "higher" else (-cell.high, -cell.low)
        return GAIN if low > 0 else LOSS if high < 0 else PLAIN


TiersByColumn = Mapping[str, Sequence[Sequence[str]]]


class SystemsChart(HeatChart):
    """Systems (rows) by measures (columns); a shade holds the systems that are not distinct from its best one."""

    better: Mapping[str, Better] = {}
    """By measure; higher where nothing is said."""
    without_best: Sequence[str] = ()
    """Measures whose means are not over the same queries: the system that finds less might look best."""
    tiers: TiersByColumn | None = None
    """By measure, systems that are not distinct from the best of them, the best ones first; of pairs compared."""
    baseline: str | None = None
    """The system that the others were compared with; cells are then coloured by what was found against it."""
    found: Mapping[str, Mapping[str, Mark]] = {}
    """By measure and system, better or worse than the baseline; those not distinct from it are left out.

    A measure in which nothing was compared is not there."""

    @classmethod
    def from_scores(
        cls,
        scores: Scores,
        *,
        level: float = LEVEL,
        cluster_of: Mapping[str, str] | None = None,
        in_given_order: bool = False,
    ) -> SystemsChart:
        """Return the systems by the primary measure, best first, with the intervals of their means."""
        names, shown = shown_of(list(scores) if in_given_order else by_mean(scores, primary_of(scores)))
        means = {
            (name, measure): mean_of(scores[name], measure, level=level, cluster_of=cluster_of)
            for name in names
            for measure in scores[name].measures
        }
        no_interval = any(mean.why_none for mean in means.values())
        lacking = "no interval where every query scores the same or too few count" if no_interval else ""
        return cls(
            [HeatCell(*place, mean.value, *mean.ends) for place, mean in means.items()],
            title="Systems by measure",
            subtitle="; ".join(filter(None, (shown, weighted_words(scores), f"{percent(level)} intervals", lacking))),
            better={measure: better_of(scores, measure) for measure in scores.measures},
            without_best=[measure for measure in scores.measures if not is_over_same_queries(scores, measure)],
        )

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> SystemsChart:
        """Return the systems of a comparison, with intervals at its level and by its clusters.

        What was compared decides, not the intervals of means: all pairs, or each system with the baseline.
        """
        level = 1 - comparison.settings.alpha
        scores = scores_in_order(comparison)
        chart = cls.from_scores(scores, level=level, cluster_of=comparison.cluster_of, in_given_order=True)
        if comparison.baseline is None:
            return replace(chart, tiers=tiers_by_pairs(comparison))
        marks: dict[str, dict[str, Mark]] = {}
        for pair in comparison.groups[0].comparisons:
            of_measure = marks.setdefault(pair.measure, {})
            if is_decided(pair):
                of_measure[pair.b] = "better" if pair.gain > 0 else "worse"
        return replace(chart, baseline=comparison.baseline, found=marks)

    @classmethod
    def from_runs(cls, data: RunData) -> SystemsChart:
        return cls.from_scores(data.evaluate(data.measures), in_given_order=data.in_given_order)

    @cached_property
    def tier_of(self) -> dict[tuple[str, str], int]:
        """How many better shades there are, by system and measure; a cell without an interval has none."""
        tiers = dict(self.tiers or {})
        for column in {cell.column for cell in self.cells}.difference(tiers):
            own = [cell for cell in self.cells if cell.column == column and not math.isnan(cell.low)]
            best_first = sorted(own, key=lambda cell: cell.value, reverse=self.better.get(column) != "lower")
            distinct = {frozenset((a.row, b.row)) for a, b in combinations(own, 2) if a.low > b.high or b.low > a.high}
            tiers[column] = tiers_among([cell.row for cell in best_first], distinct)
        return {
            (row, column): i
            for column, groups in tiers.items()
            if column not in self.without_best
            for i, members in enumerate(groups)
            for row in members
        }

    def alt(self) -> str:
        column = self.cells[0].column
        systems = counted(len({cell.row for cell in self.cells}), "system")
        known = [cell for cell in self.cells if cell.column == column and math.isfinite(cell.value)]
        if not known or column in self.without_best:
            return f"The scores of {systems} by measure, {counted(len(self.cells), 'value')}."
        pick = min if self.better.get(column) == "lower" else max
        best = pick(known, key=lambda cell: cell.value)
        if self.baseline is not None:
            ahead = sum(mark == "better" for mark in self.found.get(column, {}).values())
            better = f"{ahead:,} {'is' if ahead == 1 else 'are'} better than {self.baseline}"
            return f"Of {systems} {best.row} has the best {column}, {self.numbers(best)}, and {better}."
        alike = sum(self.tier_of.get((cell.row, column)) == 0 for cell in known) - 1
        others = "no other one is" if alike < 1 else f"{alike:,} other{'s are' if alike > 1 else ' is'}"
        tied = f", and {others} not distinguished from it" if len(known) > 1 and self.tier_of else ""
        return f"Of {systems} {best.row} has the best {column}, {self.numbers(best)}{tied}."

    def draw(self, drawing: Drawing) -> None:
        drawing.legend(list(self.legend_keys()))
        drawing.paragraph("Bold: the best value of its measure.")
        drawing.space(6)
        self.draw_cells(drawing)
        if self.without_best:
            drawing.notes([no_best_words(self.without_best)])

    def legend_keys(self) -> Iterator[LegendKey]:
        """Yield what the shades mean: against the baseline, or among all systems."""
        if self.baseline is not None:
            for shade, word in ((GAIN, "better"), (LOSS, "worse")):
                yield swatch(fill=shade.fill, stroke=shade.ink), f"{word} than {self.baseline}"
            yield swatch(fill=SUNK, stroke=GRID), f"not distinguished from {self.baseline}, or not safe to call"
            if any(cell.column not in self.found for cell in self.cells):
                yield swatch(fill=BG, stroke=GRID), "not compared in this measure"
            return
        used = sorted({self.shade_at(tier) for tier in self.tier_of.values()}, reverse=True)
        compared = ", ".join(self.tiers or ())
        by = f"by verdict in {compared}; in others, intervals that meet" if self.tiers else "their intervals meet"
        if self.tiers and len(self.tiers) == len({cell.column for cell in self.cells}):
            by = "by verdict, or by the interval of the difference"
        if used:
            sample = swatch(fill=RAMP[used[0]], stroke=AXIS)
            yield sample, f"the best of its measure, or not distinguished from it: {by}"
        if used[1:]:
            yield shade_key(used[1:]), "next fainter: not distinguished from the best of the rest, and so on"

    def shade_at(self, tier: int) -> int:
        """Return the shade of a group of systems; the fewer groups, the lighter the first, so that it is no alarm."""
        highest = min(max(*self.tier_of.values(), 2), len(RAMP) - 1)
        return max(highest - tier, 0)

    @cached_property
    def best_values(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for cell in self.cells:
            pick = min if self.better.get(cell.column) == "lower" else max
            if math.isfinite(cell.value) and cell.column not in self.without_best and is_quality(cell.column):
                found[cell.column] = pick(found.get(cell.column, cell.value), cell.value)
        return found

    def look_of(self, cell: HeatCell) -> CellShade:
        bold = cell.value == self.best_values.get(cell.column)
        if not is_quality(cell.column):
            return CellShade(BG)
        if self.baseline is not None:
            if cell.column not in self.found:
                return CellShade(BG, bold=bold)
            mark = self.found[cell.column].get(cell.row)
            return CellShade(MARK_TINTS[mark], FG, bold=bold) if mark else CellShade(bold=bold)
        tier = self.tier_of.get((cell.row, cell.column))
        if tier is None:
            return CellShade(bold=bold)
        shade = self.shade_at(tier)
        return CellShade(RAMP[shade], ON_RAMP[shade], bold=bold)


def tiers_among(best_first: Sequence[str], distinct: Collection[frozenset[str]]) -> list[list[str]]:
    """Return systems in groups: those not distinct from the best, then the same among the rest, and so on."""
    tiers, rest = [], list(best_first)
    while rest:
        tiers.append([name for name in rest if frozenset((rest[0], name)) not in distinct])
        rest = [name for name in rest if name not in tiers[-1]]
    return tiers


def is_decided(pair: PairResult) -> bool:
    """Tell whether one of two systems is better: by the verdict, or by the interval in a measure that has none."""
    if pair.verdict is not None:
        return pair.verdict.code in DECIDED
    return or_nan(pair.ci.low) > 0 or or_nan(pair.ci.high) < 0


def tiers_by_pairs(comparison: Comparison) -> dict[str, list[list[str]]]:
    """Return, by each measure in which pairs were compared, the systems in groups by what was found."""
    pairs_of: dict[str, list[PairResult]] = {}
    for pair in comparison.groups[0].comparisons:
        pairs_of.setdefault(pair.measure, []).append(pair)
    tiers = {}
    for measure, pairs in pairs_of.items():
        distinct = {frozenset((pair.a, pair.b)) for pair in pairs if is_decided(pair)}
        tiers[measure] = tiers_among(by_mean(comparison.scores, measure), distinct)
    return tiers


class CellLook(Record):
    """How a cell looks: its lines of text, its ground and the ink on it, and its tooltip."""

    lines: tuple[str, ...]
    fill: str
    ink: str = FG
    words: str = ""
    bold: bool = False
    short: str = ""
    """Its value alone, where there are many rows."""


Looks = Sequence[Sequence[CellLook | None]]  # by row and column; None where there is nothing to show


def draw_grid(drawing: Drawing, rows: Sequence[str], columns: Sequence[str], looks: Looks) -> None:
    """Draw a grid; columns that do not fit side by side follow below, and many columns of few rows become rows.

    Of many rows the cells hold their value alone, tooltips what belongs to it, and the narrow picture as many columns
    as it has room for.
    """
    layout = drawing.layout
    is_long = max(len(rows), len(columns)) > LONG
    if is_long:
        looks = [[look and replace(look, lines=(look.short or look.lines[0],)) for look in row] for row in looks]
    known = [look for row in looks for look in row if look]
    texts = [svg.text_width(line, layout.size, bold=look.bold) for look in known for line in look.lines]
    needed = max([*texts, 3 * layout.size]) + 2 * PADDING
    heads = max(svg.text_width(svg.one_line(name), layout.size) for name in columns) + PADDING + 2
    needed = max(needed, min(heads, 6 * layout.size))
    left = row_label_width(drawing, rows, is_long=is_long)
    if len(columns) > (layout.inner - left) // needed and 1 < len(columns) > len(rows):
        rows, columns, looks = columns, rows, list(zip(*looks, strict=True))
        left = row_label_width(drawing, rows, is_long=is_long)
    n_fitting = max(1, min(len(columns), int((layout.inner - left) // needed)))
    per_block = math.ceil(len(columns) / math.ceil(len(columns) / n_fitting))
    heads = max(svg.text_width(svg.one_line(name), layout.size) for name in columns) + PADDING + 2
    width = min((layout.inner - left) / per_block, max(USUAL_WIDTH, heads, needed))
    left_out = columns[per_block:] if is_long and not layout.is_wide else ()
    for first in range(0, len(columns) - len(left_out), per_block):
        block = slice(first, first + per_block)
        draw_heads(drawing, columns[block], layout.margin + left, width)
        draw_rows(drawing, rows, [row[block] for row in looks], left, width)
        drawing.space(14)
    if left_out:
        drawing.paragraph(f"In a wider place, too: {', '.join(left_out)}")


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


def row_label_width(drawing: Drawing, names: Sequence[str], *, is_long: bool) -> float:
    """Return the room for names beside their rows; in a narrow place they stand above them, unless there are many."""
    layout = drawing.layout
    if not layout.is_wide and not is_long:
        return 0
    return min(max(svg.text_width(svg.one_line(name), layout.size) for name in names), layout.inner * 0.3) + 12


def draw_rows(drawing: Drawing, names: Sequence[str], looks: Looks, label_width: float, width: float) -> None:
    layout = drawing.layout
    n_lines = max((len(look.lines) for row in looks for look in row if look), default=1)
    height = n_lines * layout.line + (8 if len(names) <= LONG else 4)
    for name, row in zip(names, looks, strict=True):
        if label_width:
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
    parts = [svg.rectangle(*sides, svg.tip(look.words), fill=look.fill)]
    first, ink = y - (len(look.lines) - 1) * size * svg.LINE / 2, None if look.ink == FG else look.ink
    for i, line in enumerate(look.lines):
        weight = "600" if look.bold and not i else None
        place: svg.Attributes = {"x": x, "y": first + i * size * svg.LINE}
        parts.append(svg.element("text", svg.escaped(line), **place, font_weight=weight, fill=ink))
    return "".join(parts)


def shade_key(shades: Sequence[int]) -> str:
    """Return shades of the ramp side by side, as a sample for a legend."""
    step = SWATCH / len(shades)
    parts = [svg.rectangle(i * step, -6, (i + 1) * step, 6, fill=RAMP[shade]) for i, shade in enumerate(shades)]
    frame = svg.element("path", d=f"M0-6H{svg.number(SWATCH)}V6H0Z", fill="none", stroke=AXIS, stroke_width=0.5)
    return "".join([*parts, frame])


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
        found = run_overlap(data.qrels, data.runs, data.policies, depth=depth)
        return cls.from_overlap(found, data.order)

    @classmethod
    def from_overlap(cls, found: RunOverlap, order: Sequence[str] | None = None) -> OverlapChart:
        """Return the chart with its systems in an order, by default that of what was found."""
        matrices = found.shared.tolist(), found.rbo.tolist()
        chart = cls(found.names, *matrices, found.depth, title="What the systems have in common")
        return chart.in_order(found.names if order is None else order)

    def in_order(self, order: Sequence[str]) -> Self:
        """Return the chart with its systems in an order, as many as have room."""
        place_of = {name: i for i, name in enumerate(order)}
        ordered = sorted(range(len(self.names)), key=lambda i: place_of.get(self.names[i], len(order)))
        places, shown = ordered[:MOST_SYSTEMS], shown_of(self.names)[1]
        shared, rbo = ([[matrix[i][j] for j in places] for i in places] for matrix in (self.shared, self.rbo))
        return replace(self, names=[self.names[i] for i in places], shared=shared, rbo=rbo, subtitle=shown)

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
        pairs = [pair for pair in self.records() if math.isfinite(pair["shared"])]
        systems, depth = counted(len(self.names), "system"), f"{self.depth:,}"
        if not pairs:
            return f"No two of {systems} can be compared by their first {depth} docs."
        most, least = (end(pairs, key=lambda pair: pair["shared"]) for end in (max, min))
        alike, unlike = (f"{pair['a']} and {pair['b']}, {n.shown(pair['shared'])}" for pair in (most, least))
        if len(pairs) == 1:
            rbo = n.shown(most["rbo"])
            return (
                f"{most['a']} and {most['b']} share {n.shown(most['shared'])} of their first {depth} docs, RBO {rbo}."
            )
        return f"Of {systems} those that share most of their first {depth} docs are {alike}; least {unlike}."

    def draw(self, drawing: Drawing) -> None:
        """Draw the legend and the square; rows carry names and numbers, columns only the numbers."""
        layout, n_systems = drawing.layout, len(self.names)
        labels = [f"{i}  {name}" for i, name in enumerate(self.names, 1)]
        label_width = min(max(svg.text_width(label, layout.size) for label in labels), layout.inner * 0.32)
        left = layout.margin + label_width + 10
        width = min((layout.width - layout.margin - left) / n_systems, 64)
        has_room = width >= svg.text_width("0.00", layout.size) + 4
        percents = [f"{100 * value:.0f}" for _, _, value in self.cells if n.finite([value])]
        fits = width >= max((svg.text_width(text, layout.size) for text in percents), default=0) + 3
        upper = f"above the diagonal: docs in both, of all docs in either, first {self.depth:,}"
        lower = f"below: rank-biased overlap (RBO), first {self.depth:,}"
        halves = [svg.element("path", d=d, fill=RAMP[3], stroke=AXIS) for d in ("M6-8H22V8Z", "M6-8V8H22Z")]
        drawing.legend(list(zip(halves, (upper, lower), strict=True)))
        scale_words = "shade, in fifths from 0 (nothing in common) to 1 (the same)"
        drawing.legend([(shade_key(range(len(RAMP))), scale_words)])
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
        if has_room:
            drawing.add(self.written_cells(*first, layout.size))
        else:
            drawing.add(self.shaded_cells(*first), self.percents(*first, layout.size) if fits else "")
        drawing.y = bottom + 6
        drawing.notes([MEANS_OVER, "" if has_room or not fits else "numbers in per cent"])

    def written_cells(self, left: float, top: float, width: float, height: float, size: float) -> str:
        parts = []
        for i, j, value in self.cells:
            x, y = left + j * width, top + i * height
            words = f"{self.names[i]}, {self.names[j]}: {n.shown(value)}"
            look = CellLook((DASH,), BG, MUTED, words)
            if n.finite([value]):
                shade = fifth_of(value)
                look = CellLook((f"{value:.2f}",), RAMP[shade], ON_RAMP[shade], words)
            parts.append(cell(look, Box(x, y, x + width, y + height), size))
        return svg.group(parts, text_anchor="middle")

    def percents(self, left: float, top: float, width: float, height: float, size: float) -> str:
        """Return the numbers of cells too small for decimals, grouped by the ink that can be read on their shade."""
        texts: dict[str, list[str]] = {}
        for i, j, value in self.cells:
            if n.finite([value]):
                x, y = left + (j + 0.5) * width, top + (i + 0.5) * height + svg.CENTRE * size
                text = svg.element("text", f"{100 * value:.0f}", x=round(x, 1), y=round(y, 1))
                texts.setdefault(ON_RAMP[fifth_of(value)], []).append(text)
        groups = (svg.group(parts, fill=ink) for ink, parts in sorted(texts.items()))
        return svg.group(groups, text_anchor="middle")

    def shaded_cells(self, left: float, top: float, width: float, height: float) -> str:
        """Return cells too small for numbers: one path per shade, since there may be thousands."""
        outlines: dict[int, str] = {}
        for i, j, value in self.cells:
            if n.finite([value]):
                shade = fifth_of(value)
                corner = f"M{svg.number(left + j * width)} {svg.number(top + i * height + height / 2)}"
                outlines[shade] = f"{outlines.get(shade, '')}{corner}h{svg.number(width - 0.5)}"
        paths = (svg.element("path", d=outline, stroke=RAMP[shade]) for shade, outline in sorted(outlines.items()))
        return svg.group(paths, stroke_width=height - 0.5)


def fifth_of(value: float) -> int:
    """Return which shade of the ramp a share from 0 to 1 has."""
    return min(int(value * len(RAMP)), len(RAMP) - 1)
