"""How alike the rankings of systems are, pair by pair: docs they share, and rank-biased overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

from rankscope.analysis.overview import SEEN_DOCS, run_overlap
from rankscope.errors import OptionError
from rankscope.records import replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import BETWEEN_LABELS, write_below
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import Box, Drawing
from rankscope.report.charts.heat import DARKEST, DASH, ground, opacity, shade_key
from rankscope.report.charts.palette import GRID, MUTED, SERIES
from rankscope.report.charts.sources import RunData
from rankscope.report.charts.svg import CENTRE, element, escaped, group, number, rectangle, text_width

UPPER, LOWER = SERIES[0], SERIES[4]
LEVELS = 10  # where cells have no room for numbers they are drawn in so many shades

Matrix = Sequence[Sequence[float]]


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
        needed = text_width(str(n_systems), layout.size) + BETWEEN_LABELS
        stride = next((stride for stride in (1, 2, 5, 10, 20, 50) if stride * width >= needed), 100)
        numbered = range(stride, n_systems + 1, stride)
        write_below(drawing, [left + (j - 0.5) * width for j in numbered], map(str, numbered))
        top, height = drawing.y, min(max(width, layout.line), 36)
        for i, label in enumerate(labels):
            drawing.text(layout.margin, drawing.middle(top + (i + 0.5) * height), label, width=label_width)
        right, bottom = left + width * n_systems, top + height * n_systems
        drawing.add(rectangle(left, top, right, bottom, fill="none", stroke=GRID))
        first = left, top, width, height
        drawing.add(self.written_cells(*first, layout.size) if has_room else self.shaded_cells(*first))
        drawing.y = bottom + 6
        drawing.notes([] if has_room else [f"in {LEVELS} steps from 0 to 1"])

    def written_cells(self, left: float, top: float, width: float, height: float, size: float) -> str:
        """Return cells with their numbers, and with names as tooltips."""
        parts = []
        for i, j, value in self.cells:
            x, y = left + j * width, top + i * height
            known = UPPER if i < j else LOWER, value, f"{value:.2f}"
            fill, shade, text = known if n.finite([value]) else (MUTED, 0, DASH)
            words = f"{self.names[i]}, {self.names[j]}: {n.shown(value)}"
            parts.append(ground(Box(x, y, x + width, y + height), fill, shade, words))
            parts.append(element("text", escaped(text), x=x + width / 2, y=y + height / 2 + CENTRE * size))
        return group(parts, text_anchor="middle")

    def shaded_cells(self, left: float, top: float, width: float, height: float) -> str:
        """Return cells too small for numbers: one path per shade, since there may be thousands."""
        outlines: dict[tuple[str, int], str] = {}
        for i, j, value in self.cells:
            if n.finite([value]):
                look = UPPER if i < j else LOWER, round(value * LEVELS)
                corner = f"M{number(left + j * width)} {number(top + i * height + height / 2)}"
                outlines[look] = f"{outlines.get(look, '')}{corner}h{number(width - 0.5)}"
        paths = (
            element("path", d=outline, stroke=colour, stroke_opacity=opacity(level / LEVELS, darkest=1))
            for (colour, level), outline in sorted(outlines.items())
        )
        return group(paths, stroke_width=height - 0.5)


def checked_matrix(matrix: Matrix, names: Sequence[str], what: str) -> list[list[float]]:
    """Return a matrix with a row and a column for every system, of shares between 0 and 1."""
    n.require_equal_lengths(f"systems and rows of {what}", names, matrix)
    for row in matrix:
        n.require_equal_lengths(f"systems and columns of {what}", names, row)
    rows = [n.numbers(row, what) for row in matrix]
    if not all(0 <= value <= 1 for row in rows for value in n.finite(row)):
        raise OptionError(f"{what} has a value outside 0 to 1")
    return rows
