"""A grid of shaded cells with text in them: the ground of every heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankscope.records import Record
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, LegendKey
from rankscope.report.charts.palette import AXIS, MUTED
from rankscope.report.charts.svg import element, escaped, group, number, one_line, rectangle, tip
from rankscope.report.charts.text import CENTRE, LINE, shortened, text_width, wrapped

LIGHTEST, DARKEST = 0.04, 0.48
"""Between them a cell's letters can be read on it, on light and on dark pages."""
PADDING = 6
USUAL_WIDTH = 110
SAMPLES = 5
DASH = "\N{EN DASH}"
"""In place of a value that is not there."""


class CellLook(Record):
    """How a cell looks: its lines of text, its colour and how much of it, and its tooltip."""

    lines: tuple[str, ...]
    fill: str
    shade: float
    """From 0 to 1."""
    words: str = ""
    bold: bool = False


def opacity(shade: float, *, darkest: float = DARKEST) -> float:
    """Return how much of its colour a cell has."""
    return LIGHTEST + shade * (darkest - LIGHTEST)


class CellGrid(Record):
    """Names of rows and columns, and a look for every pair; None where there is nothing to show."""

    rows: Sequence[str]
    columns: Sequence[str]
    looks: Sequence[Sequence[CellLook | None]]

    def transposed(self) -> CellGrid:
        """Return the grid with rows and columns exchanged."""
        return CellGrid(self.columns, self.rows, [list(column) for column in zip(*self.looks, strict=True)])

    def all_looks(self) -> list[CellLook]:
        """Return the cells that show something."""
        return [look for row in self.looks for look in row if look]


def draw_grid(drawing: Drawing, grid: CellGrid) -> None:
    """Draw a grid; columns that do not fit side by side follow below, and many columns of few rows become rows."""
    if len(grid.columns) > columns_that_fit(drawing, grid) and len(grid.rows) < len(grid.columns):
        grid = grid.transposed()
    n_blocks = math.ceil(len(grid.columns) / columns_that_fit(drawing, grid))
    per_block = math.ceil(len(grid.columns) / n_blocks)
    width = column_width(drawing, grid, per_block)
    for first in range(0, len(grid.columns), per_block):
        block = slice(first, first + per_block)
        draw_block(drawing, CellGrid(grid.rows, grid.columns[block], [row[block] for row in grid.looks]), width)
        drawing.space(14)


def row_label_width(drawing: Drawing, names: Sequence[str]) -> float:
    """Return the room for names beside their rows; in a narrow place they stand above them."""
    layout = drawing.layout
    if not layout.is_wide:
        return 0
    return min(max(text_width(one_line(name), layout.size) for name in names), layout.inner * 0.3) + 12


def needed_width(drawing: Drawing, grid: CellGrid) -> float:
    """Return the least width of a column."""
    size = drawing.layout.size
    lines = [text_width(line, size, bold=look.bold) for look in grid.all_looks() for line in look.lines]
    return max([*lines, 3 * size]) + 2 * PADDING


def columns_that_fit(drawing: Drawing, grid: CellGrid) -> int:
    """Return how many columns fit side by side."""
    room = drawing.layout.inner - row_label_width(drawing, grid.rows)
    return max(1, min(len(grid.columns), int(room // needed_width(drawing, grid))))


def column_width(drawing: Drawing, grid: CellGrid, n_columns: int) -> float:
    """Return the width of each of so many columns: what cells and heads ask for, as far as there is room."""
    room = drawing.layout.inner - row_label_width(drawing, grid.rows)
    heads = max(text_width(one_line(name), drawing.layout.size) for name in grid.columns) + PADDING + 2
    return min(room / n_columns, max(USUAL_WIDTH, heads, needed_width(drawing, grid)))


def draw_block(drawing: Drawing, grid: CellGrid, width: float) -> None:
    """Draw the heads of the columns, then the rows."""
    layout = drawing.layout
    label_width = row_label_width(drawing, grid.rows)
    left = layout.margin + label_width
    draw_heads(drawing, grid.columns, left, width)
    height = max((len(look.lines) for look in grid.all_looks()), default=1) * layout.line + 8
    for name, looks in zip(grid.rows, grid.looks, strict=True):
        if layout.is_wide:
            drawing.text(layout.margin, drawing.middle(drawing.y + height / 2), name, width=label_width - 12)
        else:
            drawing.text(layout.margin, drawing.y + layout.size + 6, name, width=layout.inner)
            drawing.space(layout.line + 6)
        places = (left + j * width for j in range(len(looks)))
        boxes = [Box(x, drawing.y, x + width, drawing.y + height) for x in places]
        cells = [cell(look, box, layout.size) for look, box in zip(looks, boxes, strict=True)]
        drawing.add(group(cells, text_anchor="middle"))
        drawing.space(height)


def draw_heads(drawing: Drawing, names: Sequence[str], left: float, width: float) -> None:
    """Write the names of the columns just above the cells: in two lines, or shortened where they have no words."""
    layout = drawing.layout
    room = width - PADDING, layout.size
    heads = [wrapped(name, *room, max_lines=2) for name in names]
    heads = [lines if len(lines) > 1 else [shortened(name, *room)] for name, lines in zip(names, heads, strict=True)]
    most = max(map(len, heads))
    for j, (name, lines) in enumerate(zip(names, heads, strict=True)):
        full = tip(name) if " ".join(lines) != one_line(name) else ""
        for i, line in enumerate(lines, most - len(lines)):
            place = {"x": left + (j + 0.5) * width, "y": drawing.y + i * layout.line + layout.size}
            drawing.add(element("text", full, escaped(line), **place, text_anchor="middle", fill=MUTED))
    drawing.space(most * layout.line + 4)


def cell(look: CellLook | None, box: Box, size: float) -> str:
    """Return one cell with its text."""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + CENTRE * size
    if look is None:
        return element("text", DASH, x=x, y=y, fill=MUTED)
    parts = [ground(box, look.fill, look.shade, look.words)]
    first = y - (len(look.lines) - 1) * size * LINE / 2
    for i, line in enumerate(look.lines):
        weight = "600" if look.bold and not i else None
        parts.append(element("text", escaped(line), x=x, y=first + i * size * LINE, font_weight=weight))
    return "".join(parts)


def ground(box: Box, fill: str, shade: float, words: str) -> str:
    """Return the coloured part of a cell."""
    sides = box.left + 1, box.top + 1, box.right - 1, box.bottom - 1
    return rectangle(*sides, tip(words), fill=fill, fill_opacity=opacity(shade))


def shade_key(colour: str, label: str, *, darkest: float = DARKEST) -> LegendKey:
    """Return the legend of shades, from the lightest to the darkest."""
    step = SWATCH / SAMPLES
    shades = [opacity(i / (SAMPLES - 1), darkest=darkest) for i in range(SAMPLES)]
    steps = [rectangle(i * step, -6, (i + 1) * step, 6, fill=colour, fill_opacity=s) for i, s in enumerate(shades)]
    frame = element("path", d=f"M0-6H{number(SWATCH)}V6H0Z", fill="none", stroke=AXIS, stroke_width=0.5)
    return LegendKey("".join([*steps, frame]), label)
