"""Heat maps of scores: strata by systems, and systems by measures, with the numbers written into the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.chart import Better, Chart
from rankscope.report.charts.drawing import SWATCH, Drawing, Key, drawn
from rankscope.report.charts.grid import Grid, Look, draw_grid, shade_key
from rankscope.report.charts.palette import BAD, GOOD, MUTED
from rankscope.report.charts.svg import rectangle

Extent = tuple[float, float]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A value in a row and a column, with its interval and the number of queries behind it."""

    row: str
    column: str
    value: float
    low: float = n.NAN
    high: float = n.NAN
    n: int | None = None


def strata(
    cells: Sequence[HeatCell],
    *,
    title: str,
    measure: str,
    better: Better = "higher",
    difference: bool = False,
    subtitle: str = "",
    prefix: str = "strata",
) -> Chart:
    """Draw strata (rows) by systems (columns): stronger colour is better; or differences, as gains and losses."""
    table = HeatTable.of(cells)
    extent = table.extent()
    looks = table.looks(
        lambda cell: difference_look(cell, extent, better) if difference else score_look(cell, extent, better)
    )
    keys = difference_keys if difference else partial(score_keys, extent=extent, measure=measure, better=better)
    draw = partial(draw_heat, grid=Grid(table.rows, table.columns, looks), keys=keys)
    words = f"{'Differences in ' if difference else ''}{measure} by stratum and system"
    alt = f"{words}: {told_cells(table, with_sign=difference)}."
    return drawn("strata", draw, title=title, subtitle=subtitle, alt=alt, data=table.records(), prefix=prefix)


def systems(
    cells: Sequence[HeatCell],
    *,
    title: str,
    better: Better | Mapping[str, Better] = "higher",
    subtitle: str = "",
    prefix: str = "systems",
) -> Chart:
    """Draw systems (rows) by measures (columns): stronger colour is better within a measure, its best value is bold."""
    table = HeatTable.of(cells)
    extents = {column: table.extent(column) for column in table.columns}
    directions = {column: direction_of(better, column) for column in table.columns}
    looks = table.looks(lambda cell: score_look(cell, extents[cell.column], directions[cell.column], mark_best=True))
    draw = partial(draw_heat, grid=Grid(table.rows, table.columns, looks), keys=measure_keys)
    alt = f"Scores by system and measure: {told_cells(table)}."
    return drawn("systems", draw, title=title, subtitle=subtitle, alt=alt, data=table.records(), prefix=prefix)


def direction_of(better: Better | Mapping[str, Better], column: str) -> Better:
    """Return which direction is better for one measure; higher where nothing is said."""
    return better if isinstance(better, str) else better.get(column, "higher")


@dataclass(frozen=True, slots=True)
class HeatTable:
    """Cells by row and column, both in the order in which they first appear."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], HeatCell]

    @classmethod
    def of(cls, cells: Sequence[HeatCell]) -> HeatTable:
        """Return the table of cells, none of them twice."""
        n.require(cells, "cells")
        checked = [checked_cell(cell) for cell in cells]
        n.require_defined((cell.value for cell in checked), "value")
        by_place = {(cell.row, cell.column): cell for cell in checked}
        if len(by_place) < len(checked):
            raise OptionError("a row and column appear twice", hint="give one value for each pair")
        rows, columns = (tuple(dict.fromkeys(place[i] for place in by_place)) for i in (0, 1))
        return cls(rows, columns, by_place)

    def extent(self, column: str | None = None) -> Extent:
        """Return the least and the greatest value, of one column or of all; NaN where none is defined."""
        values = n.finite(cell.value for cell in self.cells.values() if column in {None, cell.column})
        return (min(values), max(values)) if values else (n.NAN, n.NAN)

    def looks(self, look: Callable[[HeatCell], Look]) -> list[list[Look | None]]:
        """Return how every cell looks, None where there is no cell."""
        places = [[self.cells.get((row, column)) for column in self.columns] for row in self.rows]
        return [[look(cell) if cell else None for cell in row] for row in places]

    def records(self) -> list[dict[str, Any]]:
        """Return the cells as JSON can hold them."""
        return [
            {
                "row": cell.row,
                "column": cell.column,
                **{name: n.json_ready(getattr(cell, name)) for name in ("value", "low", "high")},
                "n": cell.n,
            }
            for cell in self.cells.values()
        ]


def checked_cell(cell: HeatCell) -> HeatCell:
    """Return a cell whose numbers can be shown."""
    where = f"{cell.row}, {cell.column}"
    low, high = n.checked_interval(cell.low, cell.high, where)
    return HeatCell(cell.row, cell.column, n.checked(cell.value, where), low, high, cell.n)


def told_cells(table: HeatTable, *, with_sign: bool = False) -> str:
    """Name the cells one by one, as far as a listener will follow."""
    cells = list(table.cells.values())
    told = (
        f"{cell.row}, {cell.column} {n.with_interval(cell.value, cell.low, cell.high, with_sign=with_sign)}"
        for cell in cells[: n.TOLD]
    )
    return "; ".join(told) + n.and_more(n.TOLD, len(cells), "more cell")


def cell_lines(cell: HeatCell, *, with_sign: bool = False) -> tuple[str, ...]:
    """Return the value, its interval and the number of queries, as far as they are known."""
    value, _, interval = n.with_interval(cell.value, cell.low, cell.high, with_sign=with_sign).partition(" ")
    size = f"n = {cell.n:,}" if cell.n is not None else ""
    return tuple(filter(None, (value, interval, size)))


def cell_words(cell: HeatCell, lines: Sequence[str]) -> str:
    """Return the tooltip of a cell."""
    return f"{cell.row}, {cell.column}: {' '.join(lines)}"


def score_look(cell: HeatCell, extent: Extent, better: Better, *, mark_best: bool = False) -> Look:
    """Return a cell whose colour is the stronger the better its value is within the extent."""
    lines = cell_lines(cell)
    words = cell_words(cell, lines)
    if math.isnan(cell.value):
        return Look(lines, MUTED, 0, words)
    low, high = extent
    share = (cell.value - low) / (high - low) if high > low else 0.5
    shade = share if better == "higher" else 1 - share
    is_best = cell.value == (high if better == "higher" else low)
    return Look(lines, GOOD, shade, words, bold=mark_best and is_best)


def difference_look(cell: HeatCell, extent: Extent, better: Better) -> Look:
    """Return a cell in the colour of its side, the stronger the larger the difference."""
    lines = cell_lines(cell, with_sign=True)
    words = cell_words(cell, lines)
    if math.isnan(cell.value):
        return Look(lines, MUTED, 0, words)
    largest = max(abs(extent[0]), abs(extent[1])) or 1
    is_gain = (cell.value > 0) == (better == "higher")
    return Look(lines, MUTED if cell.value == 0 else GOOD if is_gain else BAD, abs(cell.value) / largest, words)


def score_keys(*, extent: Extent, measure: str, better: Better) -> list[Key]:
    """Return the legend of one scale for all cells."""
    ends = extent if better == "higher" else extent[::-1]
    return [
        shade_key(GOOD, f"{measure} from {n.shown(ends[0])} to {n.shown(ends[1])}: the stronger the colour, the better")
    ]


def measure_keys() -> list[Key]:
    """Return the legend of one scale per measure."""
    return [shade_key(GOOD, "the stronger the colour, the better within a measure; bold: its best value")]


def difference_keys() -> list[Key]:
    """Return the legend of gains and losses."""
    plain = rectangle(0, -6, SWATCH, 6, fill=MUTED, fill_opacity=0.04)
    return [shade_key(GOOD, "better"), shade_key(BAD, "worse"), Key(plain, "undefined or zero")]


def draw_heat(drawing: Drawing, *, grid: Grid, keys: Callable[[], list[Key]]) -> None:
    """Draw the legend and the grid."""
    drawing.legend(keys())
    draw_grid(drawing, grid)
