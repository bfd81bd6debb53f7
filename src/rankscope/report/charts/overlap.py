"""How alike the rankings of systems are, pair by pair: docs they share, and rank-biased overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from rankscope.analysis.overview import SEEN_DOCS, run_overlap
from rankscope.errors import OptionError
from rankscope.records import Record, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import BETWEEN_LABELS, write_below
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Box, Drawing
from rankscope.report.charts.grid import DARKEST, DASH, ground, opacity, shade_key
from rankscope.report.charts.palette import GRID, MUTED, SERIES
from rankscope.report.charts.sources import RunData
from rankscope.report.charts.svg import element, escaped, group, number, rectangle
from rankscope.report.charts.text import CENTRE, text_width

UPPER, LOWER = SERIES[0], SERIES[4]
LEVELS = 10
"""Where cells have no room for numbers they are drawn in so many shades."""

Matrix = Sequence[Sequence[float]]


class OverlapCell(Record):
    """What stands in row i and column j."""

    i: int
    j: int
    value: float

    @property
    def colour(self) -> str:
        """The colour of its side of the diagonal."""
        return UPPER if self.i < self.j else LOWER


class OverlapSquare(Record):
    """Where the square begins, and how large its cells are."""

    left: float
    top: float
    width: float
    height: float

    def place(self, cell: OverlapCell) -> tuple[float, float]:
        """Return the upper left corner of a cell."""
        return self.left + cell.j * self.width, self.top + cell.i * self.height


class OverlapChart(Chart):
    """Pairs of systems: above the diagonal the share of docs in common, below it rank-biased overlap."""

    kind: ClassVar[str] = "overlap"

    names: Sequence[str]
    shared: Matrix
    rbo: Matrix
    depth: int

    @classmethod
    def from_runs(cls, data: RunData) -> OverlapChart:
        """Return what every two runs have in common among their first ten docs, by the policies of the evaluation."""
        if len(data.runs) < 2:
            raise OptionError("overlap needs at least two runs")
        depth = min(SEEN_DOCS, data.policies.depth or SEEN_DOCS)
        found = run_overlap(data.qrels, data.runs, data.policies, depth=depth)
        matrices = found.shared.tolist(), found.rbo.tolist()
        return cls(found.names, *matrices, found.depth, title="What the systems have in common")

    def checked(self) -> Self:
        n.require(self.names, "systems")
        shared, rbo = checked_matrix(self.shared, self.names, "shared"), checked_matrix(self.rbo, self.names, "rbo")
        return replace(self, shared=shared, rbo=rbo)

    @cached_property
    def cells(self) -> list[OverlapCell]:
        """All cells off the diagonal, row by row."""
        places = range(len(self.names))
        return [OverlapCell(i, j, (self.shared if i < j else self.rbo)[i][j]) for i in places for j in places if i != j]

    @property
    def pairs(self) -> list[tuple[str, str, float, float]]:
        """Every two systems with the share of docs and the rank-biased overlap."""
        upper = [cell for cell in self.cells if cell.i < cell.j]
        return [(self.names[c.i], self.names[c.j], c.value, self.rbo[c.j][c.i]) for c in upper]

    def records(self) -> list[dict[str, Any]]:
        return [
            {"a": a, "b": b, "shared": n.json_ready(shared), "rbo": n.json_ready(rbo)}
            for a, b, shared, rbo in self.pairs
        ]

    def alt(self) -> str:
        def words(pair: tuple[str, str, float, float]) -> str:
            return f"{pair[0]} and {pair[1]} share {n.shown(pair[2])}, RBO {n.shown(pair[3])}"

        pairs = n.list_words(self.pairs, words, "more pair") or "no pair"
        return f"Overlap of the first {self.depth:,} docs between {n.counted(len(self.names), 'system')}: {pairs}."

    def draw(self, drawing: Drawing) -> None:
        """Draw the legend and the square; rows carry names and numbers, columns only the numbers."""
        layout, n_systems = drawing.layout, len(self.names)
        labels = [f"{i}  {name}" for i, name in enumerate(self.names, 1)]
        label_width = min(max(text_width(label, layout.size) for label in labels), layout.inner * 0.32)
        left = layout.margin + label_width + 10
        width = min((layout.width - layout.margin - left) / n_systems, 64)
        has_room = width >= text_width("0.00", layout.size) + 4
        darkest = DARKEST if has_room else 1
        upper = f"above the diagonal: share of docs in common, first {self.depth:,}"
        lower = f"below: rank-biased overlap (RBO), first {self.depth:,}"
        drawing.legend([shade_key(UPPER, upper, darkest=darkest), shade_key(LOWER, lower, darkest=darkest)])
        numbered = column_numbers(n_systems, width, layout.size)
        write_below(drawing, [left + (j - 0.5) * width for j in numbered], list(map(str, numbered)))
        square = OverlapSquare(left, drawing.y, width, min(max(width, layout.line), 36))
        for i, label in enumerate(labels):
            base = drawing.middle(square.top + (i + 0.5) * square.height)
            drawing.text(layout.margin, base, label, width=label_width)
        right, bottom = left + width * n_systems, square.top + square.height * n_systems
        drawing.add(rectangle(left, square.top, right, bottom, fill="none", stroke=GRID))
        drawing.add(self.written_cells(square, layout.size) if has_room else self.shaded_cells(square))
        drawing.y = bottom + 6
        drawing.notes([] if has_room else [f"in {LEVELS} steps from 0 to 1"])

    def written_cells(self, square: OverlapSquare, size: float) -> str:
        """Return cells with their numbers, and with names as tooltips."""
        parts = []
        for cell in self.cells:
            x, y = square.place(cell)
            is_known = bool(n.finite([cell.value]))
            fill, shade, text = (cell.colour, cell.value, f"{cell.value:.2f}") if is_known else (MUTED, 0, DASH)
            words = f"{self.names[cell.i]}, {self.names[cell.j]}: {n.shown(cell.value)}"
            parts.append(ground(Box(x, y, x + square.width, y + square.height), fill, shade, words))
            place = {"x": x + square.width / 2, "y": y + square.height / 2 + CENTRE * size}
            parts.append(element("text", escaped(text), **place))
        return group(parts, text_anchor="middle")

    def shaded_cells(self, square: OverlapSquare) -> str:
        """Return cells too small for numbers: one path per shade, since there may be thousands."""
        by_look: dict[tuple[str, int], list[OverlapCell]] = {}
        for cell in self.cells:
            if n.finite([cell.value]):
                by_look.setdefault((cell.colour, round(cell.value * LEVELS)), []).append(cell)
        inner_width, middle = number(square.width - 0.5), square.height / 2
        paths = []
        for (colour, level), members in sorted(by_look.items()):
            corners = map(square.place, members)
            outline = "".join(f"M{number(x)} {number(y + middle)}h{inner_width}" for x, y in corners)
            paths.append(element("path", d=outline, stroke=colour, stroke_opacity=opacity(level / LEVELS, darkest=1)))
        return group(paths, stroke_width=square.height - 0.5)


def checked_matrix(matrix: Matrix, names: Sequence[str], what: str) -> list[list[float]]:
    """Return a matrix with a row and a column for every system, of shares between 0 and 1."""
    n.require_equal_lengths(f"systems and rows of {what}", names, matrix)
    for row in matrix:
        n.require_equal_lengths(f"systems and columns of {what}", names, row)
    rows = [n.numbers(row, what) for row in matrix]
    if not all(0 <= value <= 1 for row in rows for value in n.finite(row)):
        raise OptionError(f"{what} has a value outside 0 to 1")
    return rows


def column_numbers(n_columns: int, width: float, size: float) -> list[int]:
    """Return which columns carry their number: all, or every second, fifth, tenth one."""
    needed = text_width(str(n_columns), size) + BETWEEN_LABELS
    stride = next((stride for stride in (1, 2, 5, 10, 20, 50) if stride * width >= needed), 100)
    return [j for j in range(1, n_columns + 1) if j % stride == 0]
