"""A grid of shaded cells with text in them: the ground of every heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankscope.records import Record
from rankscope.report.charts import svg
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, LegendKey
from rankscope.report.charts.palette import AXIS, MUTED

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


Looks = Sequence[Sequence[CellLook | None]]
"""By row and column; None where there is nothing to show."""


def opacity(shade: float, *, darkest: float = DARKEST) -> float:
    """Return how much of its colour a cell has."""
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
        draw_block(drawing, rows, columns[block], [row[block] for row in looks], width)
        drawing.space(14)


def row_label_width(drawing: Drawing, names: Sequence[str]) -> float:
    """Return the room for names beside their rows; in a narrow place they stand above them."""
    layout = drawing.layout
    if not layout.is_wide:
        return 0
    return min(max(svg.text_width(svg.one_line(name), layout.size) for name in names), layout.inner * 0.3) + 12


def draw_block(drawing: Drawing, rows: Sequence[str], columns: Sequence[str], looks: Looks, width: float) -> None:
    """Draw the heads of the columns, then the rows."""
    layout = drawing.layout
    label_width = row_label_width(drawing, rows)
    left = layout.margin + label_width
    draw_heads(drawing, columns, left, width)
    height = max((len(look.lines) for row in looks for look in row if look), default=1) * layout.line + 8
    for name, row in zip(rows, looks, strict=True):
        if layout.is_wide:
            drawing.text(layout.margin, drawing.middle(drawing.y + height / 2), name, width=label_width - 12)
        else:
            drawing.text(layout.margin, drawing.y + layout.size + 6, name, width=layout.inner)
            drawing.space(layout.line + 6)
        cells = []
        for j, look in enumerate(row):
            x = left + j * width
            cells.append(cell(look, Box(x, drawing.y, x + width, drawing.y + height), layout.size))
        drawing.add(svg.group(cells, text_anchor="middle"))
        drawing.space(height)


def draw_heads(drawing: Drawing, names: Sequence[str], left: float, width: float) -> None:
    """Write the names of the columns just above the cells: in two lines, or shortened where they have no words."""
    layout = drawing.layout
    room = width - PADDING, layout.size
    heads = [svg.wrapped(name, *room, max_lines=2) for name in names]
    heads = [
        lines if len(lines) > 1 else [svg.shortened(name, *room)] for name, lines in zip(names, heads, strict=True)
    ]
    most = max(map(len, heads))
    for j, (name, lines) in enumerate(zip(names, heads, strict=True)):
        full = name if " ".join(lines) != svg.one_line(name) else ""
        for i, line in enumerate(lines, most - len(lines)):
            x, y = left + (j + 0.5) * width, drawing.y + i * layout.line + layout.size
            drawing.text(x, y, line, full=full, text_anchor="middle", fill=MUTED)
    drawing.space(most * layout.line + 4)


def cell(look: CellLook | None, box: Box, size: float) -> str:
    """Return one cell with its text."""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + svg.CENTRE * size
    if look is None:
        return svg.element("text", DASH, x=x, y=y, fill=MUTED)
    parts = [ground(box, look.fill, look.shade, look.words)]
    first = y - (len(look.lines) - 1) * size * svg.LINE / 2
    for i, line in enumerate(look.lines):
        weight = "600" if look.bold and not i else None
        parts.append(svg.element("text", svg.escaped(line), x=x, y=first + i * size * svg.LINE, font_weight=weight))
    return "".join(parts)


def ground(box: Box, fill: str, shade: float, words: str) -> str:
    """Return the coloured part of a cell."""
    sides = box.left + 1, box.top + 1, box.right - 1, box.bottom - 1
    return svg.rectangle(*sides, svg.tip(words), fill=fill, fill_opacity=opacity(shade))


def shade_key(colour: str, label: str, *, darkest: float = DARKEST) -> LegendKey:
    """Return the legend of shades, from the lightest to the darkest."""
    step = SWATCH / SAMPLES
    shades = [opacity(i / (SAMPLES - 1), darkest=darkest) for i in range(SAMPLES)]
    steps = [svg.rectangle(i * step, -6, (i + 1) * step, 6, fill=colour, fill_opacity=s) for i, s in enumerate(shades)]
    frame = svg.element("path", d=f"M0-6H{svg.number(SWATCH)}V6H0Z", fill="none", stroke=AXIS, stroke_width=0.5)
    return "".join([*steps, frame]), label
