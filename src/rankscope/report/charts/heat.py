"""Heat maps of scores: strata by systems, and systems by measures, with the numbers written into the cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from rankscope.comparison.records import Comparison, QueryGroup
from rankscope.errors import OptionError
from rankscope.measures.scores import Scores
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing, LegendKey
from rankscope.report.charts.grid import CellGrid, CellLook, draw_grid, shade_key
from rankscope.report.charts.palette import BAD, GOOD, MUTED
from rankscope.report.charts.sources import RunData, better_of, identifier, weighted_words
from rankscope.report.charts.svg import rectangle
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

Extent = tuple[float, float]


class HeatCell(Record):
    """A value in a row and a column, with its interval and the number of queries behind it."""

    row: str
    column: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    n: int | None = None

    def words(self, *, with_sign: bool = False) -> str:
        """Return the value and its interval, as far as they are known."""
        return n.with_interval(self.value, self.low, self.high, with_sign=with_sign)


class HeatChart(Chart):
    """What both heat maps share: cells by row and column, both in the order in which they first appear."""

    cells: Sequence[HeatCell]

    @property
    def has_signs(self) -> bool:
        """Whether the values are differences."""
        return False

    def shade_of(self, cell: HeatCell) -> tuple[str, float, bool]:
        """Return the colour of a cell, how much of it from 0 to 1, and whether the value is bold."""
        raise NotImplementedError

    def legend_keys(self) -> list[LegendKey]:
        """Return what the colours mean."""
        raise NotImplementedError

    def what(self) -> str:
        """Return what the cells show."""
        raise NotImplementedError

    def checked(self) -> Self:
        n.require(self.cells, "cells")
        cells = [n.checked_estimate(cell, f"{cell.row}, {cell.column}") for cell in self.cells]
        n.require_defined((cell.value for cell in cells), "value")
        if len({(cell.row, cell.column) for cell in cells}) < len(cells):
            raise OptionError("a row and column appear twice", hint="give one value for each pair")
        return replace(self, cells=cells)

    def extent(self, column: str | None = None) -> Extent:
        """Return the least and the greatest value, of one column or of all; NaN where none is defined."""
        values = n.finite(cell.value for cell in self.cells if column in {None, cell.column})
        return (min(values), max(values)) if values else (n.NAN, n.NAN)

    def records(self) -> list[dict[str, Any]]:
        return [
            {"row": cell.row, "column": cell.column, **n.json_fields(cell, "value", "low", "high"), "n": cell.n}
            for cell in self.cells
        ]

    def alt(self) -> str:
        cells = n.list_words(
            self.cells,
            lambda cell: f"{cell.row}, {cell.column} {cell.words(with_sign=self.has_signs)}",
            "more cell",
        )
        return f"{self.what()}: {cells}."

    def draw(self, drawing: Drawing) -> None:
        """Draw the legend and the grid."""
        drawing.legend(self.legend_keys())
        rows, columns = (list(dict.fromkeys(getattr(c, name) for c in self.cells)) for name in ("row", "column"))
        looks = {(cell.row, cell.column): self.look_of(cell) for cell in self.cells}
        draw_grid(drawing, CellGrid(rows, columns, [[looks.get((row, column)) for column in columns] for row in rows]))

    def look_of(self, cell: HeatCell) -> CellLook:
        """Return how a cell looks: the value, its interval and the number of queries, as far as they are known."""
        value, _, interval = cell.words(with_sign=self.has_signs).partition(" ")
        lines = tuple(filter(None, (value, interval, f"n = {cell.n:,}" if cell.n is not None else "")))
        fill, shade, bold = (MUTED, 0.0, False) if math.isnan(cell.value) else self.shade_of(cell)
        return CellLook(lines, fill, shade, f"{cell.row}, {cell.column}: {' '.join(lines)}", bold)


class StrataChart(HeatChart):
    """Strata (rows) by systems (columns): stronger colour is better; or differences, as gains and losses."""

    kind: ClassVar[str] = "strata"

    measure: str
    better: Better = "higher"
    difference: bool = False

    @classmethod
    def from_comparison(cls, comparison: Comparison, group: QueryGroup | None = None) -> StrataChart:
        """Return each stratum's difference for every pair of a group, by default the first."""
        group = group or comparison.groups[0]
        cells = [
            HeatCell(
                f"{part.attribute} {part.value}",
                c.b,
                or_nan(part.delta),
                or_nan(part.ci.low),
                or_nan(part.ci.high),
                part.n_queries,
            )
            for c in group.compared
            for part in c.strata or ()
            if part.asked_for or not any(other.asked_for for other in c.strata or ())
        ]
        level = f"{(1 - comparison.settings.alpha) * 100:.4g}% intervals, each one of its own"
        return cls(
            cells,
            title=f"Difference in {comparison.primary} by stratum",
            measure=comparison.primary,
            better=better_of(comparison.scores, comparison.primary),
            difference=True,
            subtitle=", ".join(filter(None, (group.name, level))),
            prefix=identifier("strata", group.name or ""),
        )

    @property
    def has_signs(self) -> bool:
        return self.difference

    @cached_property
    def range(self) -> Extent:
        return self.extent()

    def what(self) -> str:
        return f"{'Differences in ' if self.difference else ''}{self.measure} by stratum and system"

    def shade_of(self, cell: HeatCell) -> tuple[str, float, bool]:
        low, high = self.range
        if not self.difference:
            return GOOD, share_of(cell.value, self.range, self.better), False
        is_gain = (cell.value > 0) == (self.better == "higher")
        fill = MUTED if cell.value == 0 else GOOD if is_gain else BAD
        return fill, abs(cell.value) / (max(abs(low), abs(high)) or 1), False

    def legend_keys(self) -> list[LegendKey]:
        if self.difference:
            plain = rectangle(0, -6, SWATCH, 6, fill=MUTED, fill_opacity=0.04)
            return [shade_key(GOOD, "better"), shade_key(BAD, "worse"), LegendKey(plain, "undefined or zero")]
        worst, best = self.range if self.better == "higher" else self.range[::-1]
        scale = f"{self.measure} from {n.shown(worst)} to {n.shown(best)}"
        return [shade_key(GOOD, f"{scale}: the stronger the colour, the better")]


class SystemsChart(HeatChart):
    """Systems (rows) by measures (columns): stronger colour is better within a measure, its best value is bold."""

    kind: ClassVar[str] = "systems"

    better: Better | Mapping[str, Better] = "higher"

    @classmethod
    def from_scores(
        cls, scores: Scores, *, level: float = LEVEL, cluster_of: Mapping[str, str] | None = None
    ) -> SystemsChart:
        """Return every system's mean of every measure with its interval."""
        means = {
            (name, measure): mean_of(run, measure, level=level, cluster_of=cluster_of)
            for name, run in scores.items()
            for measure in run.measures
        }
        no_interval = any(mean.why_none for mean in means.values())
        lacking = "no interval where every query scores the same" if no_interval else ""
        return cls(
            [HeatCell(*place, mean.value, *mean.ends) for place, mean in means.items()],
            title=f"Systems by measure, with {percent(level)} intervals",
            subtitle="; ".join(filter(None, (weighted_words(scores), lacking))),
            better={measure: better_of(scores, measure) for measure in scores.measures},
        )

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> SystemsChart:
        """Return the systems of a comparison, with intervals at its level and by its clusters."""
        level = 1 - comparison.settings.alpha
        return cls.from_scores(comparison.scores, level=level, cluster_of=comparison.cluster_of)

    @classmethod
    def from_runs(cls, data: RunData) -> SystemsChart:
        """Return every run's mean of every measure."""
        return cls.from_scores(data.evaluate(data.measures))

    @cached_property
    def extents(self) -> dict[str, Extent]:
        """The least and the greatest value of each measure."""
        return {column: self.extent(column) for column in {cell.column for cell in self.cells}}

    def what(self) -> str:
        return "Scores by system and measure"

    def shade_of(self, cell: HeatCell) -> tuple[str, float, bool]:
        better = self.better if isinstance(self.better, str) else self.better.get(cell.column, "higher")
        extent = self.extents[cell.column]
        is_best = cell.value == (extent[1] if better == "higher" else extent[0])
        return GOOD, share_of(cell.value, extent, better), is_best

    def legend_keys(self) -> list[LegendKey]:
        return [shade_key(GOOD, "the stronger the colour, the better within a measure; bold: its best value")]


def share_of(value: float, extent: Extent, better: Better) -> float:
    """Return how good a value is within an extent, from 0 to 1."""
    low, high = extent
    share = (value - low) / (high - low) if high > low else 0.5
    return share if better == "higher" else 1 - share
