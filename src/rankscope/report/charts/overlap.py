"""How alike the rankings of systems are, pair by pair: docs they share, and rank-biased overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import BETWEEN_LABELS, write_below
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Box, Drawing, Key, drawn
from rankscope.report.charts.grid import DARKEST, DASH, ground, opacity, shade_key
from rankscope.report.charts.palette import GRID, MUTED, SERIES
from rankscope.report.charts.svg import element, escaped, group, number, rectangle
from rankscope.report.charts.text import CENTRE, text_width

UPPER, LOWER = SERIES[0], SERIES[4]
LEVELS = 10
"""Where cells have no room for numbers they are drawn in so many shades."""

Matrix = Sequence[Sequence[float]]


def overlap(
    names: Sequence[str],
    shared: Matrix,
    rbo: Matrix,
    *,
    title: str,
    depth: int,
    subtitle: str = "",
    prefix: str = "overlap",
) -> Chart:
    """Draw pairs of systems: above the diagonal the share of docs in common, below it rank-biased overlap."""
    n.require(names, "systems")
    values = [checked_matrix(matrix, names, what) for matrix, what in ((shared, "shared"), (rbo, "rbo"))]
    pairs = [Pair(i, j, values[i > j][i][j]) for i in range(len(names)) for j in range(len(names)) if i != j]
    draw = partial(draw_overlap, names=names, pairs=pairs, depth=depth)
    upper = [pair for pair in pairs if pair.i < pair.j]
    told = "; ".join(
        f"{names[p.i]} and {names[p.j]} share {n.shown(p.value)}, RBO {n.shown(values[1][p.j][p.i])}"
        for p in upper[: n.TOLD]
    )
    pairs_in_words = f"{told or 'no pair'}{n.and_more(n.TOLD, len(upper), 'more pair')}"
    alt = f"Overlap of the first {depth:,} docs between {n.counted(len(names), 'system')}: {pairs_in_words}."
    data: list[dict[str, Any]] = [
        {"a": names[p.i], "b": names[p.j], "shared": n.json_ready(p.value), "rbo": n.json_ready(values[1][p.j][p.i])}
        for p in upper
    ]
    return drawn("overlap", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


@dataclass(frozen=True, slots=True)
class Pair:
    """What stands in row i and column j."""

    i: int
    j: int
    value: float

    @property
    def colour(self) -> str:
        """The colour of its side of the diagonal."""
        return UPPER if self.i < self.j else LOWER


def checked_matrix(matrix: Matrix, names: Sequence[str], what: str) -> list[list[float]]:
    """Return a matrix with a row and a column for every system, of shares between 0 and 1."""
    n.require_equal_lengths(f"systems and rows of {what}", names, matrix)
    for row in matrix:
        n.require_equal_lengths(f"systems and columns of {what}", names, row)
    rows = [n.numbers(row, what) for row in matrix]
    if not all(0 <= value <= 1 for row in rows for value in n.finite(row)):
        raise OptionError(f"{what} has a value outside 0 to 1")
    return rows


def draw_overlap(drawing: Drawing, *, names: Sequence[str], pairs: Sequence[Pair], depth: int) -> None:
    """Draw the legend and the square; rows carry names and numbers, columns only the numbers."""
    layout = drawing.layout
    labels = [f"{i}  {name}" for i, name in enumerate(names, 1)]
    label_width = min(max(text_width(label, layout.size) for label in labels), layout.inner * 0.32)
    left = layout.margin + label_width + 10
    width = min((layout.width - layout.margin - left) / len(names), 64)
    has_room = width >= text_width("0.00", layout.size) + 4
    drawing.legend(keys(depth, darkest=DARKEST if has_room else 1))
    numbered = column_numbers(len(names), width, layout.size)
    write_below(drawing, [left + (j - 0.5) * width for j in numbered], list(map(str, numbered)))
    frame = Frame(left, drawing.y, width, min(max(width, layout.line), 36))
    for i, label in enumerate(labels):
        drawing.text(layout.margin, drawing.middle(frame.top + (i + 0.5) * frame.height), label, width=label_width)
    right, bottom = left + width * len(names), frame.top + frame.height * len(names)
    drawing.add(rectangle(left, frame.top, right, bottom, fill="none", stroke=GRID))
    drawing.add(written_cells(pairs, names, frame, layout.size) if has_room else shaded_cells(pairs, frame))
    drawing.y = bottom + 6
    drawing.notes([] if has_room else [f"in {LEVELS} steps from 0 to 1"])


def keys(depth: int, *, darkest: float) -> list[Key]:
    """Return the legend of both sides of the diagonal."""
    upper = f"above the diagonal: share of docs in common, first {depth:,}"
    lower = f"below: rank-biased overlap (RBO), first {depth:,}"
    return [shade_key(UPPER, upper, darkest=darkest), shade_key(LOWER, lower, darkest=darkest)]


def column_numbers(n_columns: int, width: float, size: float) -> list[int]:
    """Return which columns carry their number: all, or every second, fifth, tenth one."""
    needed = text_width(str(n_columns), size) + BETWEEN_LABELS
    stride = next((stride for stride in (1, 2, 5, 10, 20, 50) if stride * width >= needed), 100)
    return [j for j in range(1, n_columns + 1) if j % stride == 0]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the square begins, and how large its cells are."""

    left: float
    top: float
    width: float
    height: float

    def place(self, pair: Pair) -> tuple[float, float]:
        """Return the upper left corner of a cell."""
        return self.left + pair.j * self.width, self.top + pair.i * self.height


def written_cells(pairs: Sequence[Pair], names: Sequence[str], frame: Frame, size: float) -> str:
    """Return cells with their numbers, and with names as tooltips."""
    parts = []
    for pair in pairs:
        x, y = frame.place(pair)
        known = bool(n.finite([pair.value]))
        words = f"{names[pair.i]}, {names[pair.j]}: {n.shown(pair.value)}"
        box = Box(x, y, x + frame.width, y + frame.height)
        parts.append(ground(box, pair.colour if known else MUTED, pair.value if known else 0, words))
        text = f"{pair.value:.2f}" if known else DASH
        parts.append(element("text", escaped(text), x=x + frame.width / 2, y=y + frame.height / 2 + CENTRE * size))
    return group(parts, text_anchor="middle")


def shaded_cells(pairs: Sequence[Pair], frame: Frame) -> str:
    """Return cells too small for numbers: one path per shade, since there may be thousands."""
    by_look: dict[tuple[str, int], list[Pair]] = {}
    for pair in pairs:
        if n.finite([pair.value]):
            by_look.setdefault((pair.colour, round(pair.value * LEVELS)), []).append(pair)
    inner_width, middle = number(frame.width - 0.5), frame.height / 2
    paths = []
    for (colour, level), members in sorted(by_look.items()):
        corners = (frame.place(pair) for pair in members)
        outline = "".join(f"M{number(x)} {number(y + middle)}h{inner_width}" for x, y in corners)
        paths.append(element("path", d=outline, stroke=colour, stroke_opacity=opacity(level / LEVELS, darkest=1)))
    return group(paths, stroke_width=frame.height - 0.5)
