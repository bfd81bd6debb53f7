"""Who beats whom: the verdicts on all pairs of systems as half a square, both sides in the order of the measure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Self

from rankscope.comparison.records import Comparison, PairResult
from rankscope.comparison.verdict import TURNED, level_words, short_words
from rankscope.errors import OptionError
from rankscope.printable import counted
from rankscope.records import Record, or_nan, replace
from rankscope.report.charts import numbers as n
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing
from rankscope.report.charts.marks import form_of, half_of, look_of, outline_of, verdict_marker
from rankscope.report.charts.palette import GRID, MARK_COLOURS, MARK_TINTS, MUTED
from rankscope.report.charts.sources import identifier, shown_of
from rankscope.report.charts.svg import element, group, number, one_line, straight, text_width, tip
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import Mark

LEAST_CELL, LARGEST_CELL = 10.5, 24.0
ROW = 20.0
MOST_TIPS = {"narrow": 100, "wide": 800}
"""Of more pairs a picture has no tooltips; the narrow one is mostly seen without a pointer."""
MOST_NAMED = 300
"""Tooltips of more pairs have the systems' numbers in place of their names."""
ORDER: list[str] = list(MARK_COLOURS)
AHEAD: tuple[Mark, ...] = ("better", "probably_better")
BEHIND: tuple[Mark, ...] = ("worse", "probably_worse")


class MatrixCell(Record):
    """The verdict on a row's system against a column's, as a mark and in words, and the difference, if known."""

    row: str
    column: str
    mark: Mark
    verdict: str
    difference: float = n.NAN
    low: float = n.NAN
    high: float = n.NAN

    @property
    def words(self) -> str:
        numbers = n.with_interval(self.difference, self.low, self.high, with_sign=True)
        known = f", {numbers}" if math.isfinite(self.difference) else ""
        return f"{self.row} vs {self.column}: {self.verdict}{known}"


class MatrixChart(Chart):
    """The verdicts on all pairs: rows and columns in the order given, best first; each pair stands there once."""

    names: Sequence[str]
    cells: Sequence[MatrixCell]
    measure: str

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> MatrixChart:
        """Return the verdicts of a comparison of all pairs; of very many systems those on the first ones."""
        if comparison.baseline is not None:
            raise OptionError(
                f"the matrix shows all pairs, and this comparison is with {comparison.baseline} alone",
                hint="compare all pairs: --all-pairs, in Python all_pairs=True; or draw the forest",
            )
        of_group = comparison.groups[0]
        order = comparison.systems_in_order(of_group)
        names, shown = shown_of(order)
        place = {name: i for i, name in enumerate(names)}
        cells = [
            cell_of(pair, turned=place[pair.a] < place[pair.b])
            for pair in of_group.compared
            if pair.a in place and pair.b in place
        ]
        intervals = f"{level_words(of_group.compared[0]).replace('CI', 'intervals')} decide"
        return cls(
            names,
            cells,
            comparison.primary,
            title=f"Who beats whom in {comparison.primary}",
            subtitle=", ".join(filter(None, (of_group.name, shown, intervals))),
            prefix=identifier("matrix", of_group.name or ""),
        )

    def checked(self) -> Self:
        n.require(self.names, "systems")
        n.require(self.cells, "pairs")
        if len(set(self.names)) < len(self.names):
            raise OptionError("two systems have the same name", hint="give each its own")
        place = {name: i for i, name in enumerate(self.names)}
        cells, seen = [], set()
        for cell in self.cells:
            pair = f"{cell.row} and {cell.column}"
            if cell.mark not in MARK_COLOURS:
                raise OptionError(f"mark = {cell.mark!r} is none of {', '.join(MARK_COLOURS)}")
            if cell.row not in place or cell.column not in place:
                raise OptionError(f"{pair} are not both among the systems", hint="give the names of all systems")
            if place[cell.row] >= place[cell.column] or (cell.row, cell.column) in seen:
                hint = "give each pair once, the system that stands first as its row"
                raise OptionError(f"{pair} have no place in half a square", hint=hint)
            seen.add((cell.row, cell.column))
            low, high = n.checked_interval(cell.low, cell.high, pair)
            cells.append(replace(cell, difference=n.checked(cell.difference, pair), low=low, high=high))
        if len(cells) < len(place) * (len(place) - 1) // 2:
            raise OptionError(
                f"{counted(len(cells), 'verdict')} for {counted(len(place), 'system')}: the matrix shows all pairs",
                hint="compare all pairs",
            )
        return replace(self, cells=cells)

    def records(self) -> list[dict[str, Any]]:
        names = ("row", "column", "verdict", "difference", "low", "high")
        return [{name: getattr(cell, name) for name in names} for cell in self.cells]

    @cached_property
    def words_of(self) -> dict[Mark, str]:
        """What each mark is called that appears, in the order of marks."""
        found: dict[Mark, dict[str, None]] = {}
        for cell in self.cells:
            found.setdefault(cell.mark, {})[cell.verdict] = None
        return {
            mark: " or ".join(words) for mark, words in sorted(found.items(), key=lambda item: ORDER.index(item[0]))
        }

    @cached_property
    def place_of(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def tooltip(self, cell: MatrixCell, layout: str) -> str:
        if len(self.cells) > MOST_TIPS[layout]:
            return ""
        if len(self.cells) <= MOST_NAMED:
            return tip(cell.words)
        row, column = (str(self.place_of[name] + 1) for name in (cell.row, cell.column))
        return tip(replace(cell, row=row, column=column).words)

    def alt(self) -> str:
        decided = sum(cell.mark in (*AHEAD, *BEHIND) for cell in self.cells)
        first = self.names[0]
        beaten = sum(cell.mark in AHEAD for cell in self.cells if cell.row == first)
        found = f"{decided:,} of {counted(len(self.cells), 'pair')} are distinguished in {self.measure}"
        return (
            f"{found}; {first}, the first of {len(self.names):,} systems, is better or probably better than {beaten:,}."
        )

    def draw(self, drawing: Drawing) -> None:
        layout, names = drawing.layout, self.names
        labels = [f"{i}  {name}" for i, name in enumerate(names, 1)]
        wanted = max(text_width(one_line(label), layout.size) for label in labels) + 8
        label_width = min(wanted, layout.inner * (0.34 if layout.is_wide else 0.36))
        room = layout.inner - label_width
        n_columns = max(len(names) - 1, 1)
        n_blocks = math.ceil(n_columns * LEAST_CELL / room)
        per_block = math.ceil(n_columns / n_blocks)
        width = min(room / per_block, LARGEST_CELL)
        drawing.paragraph("Row against column:")
        counts = Counter(cell.mark for cell in self.cells)
        drawing.legend(
            [
                (verdict_marker(mark, SWATCH / 2, 0, 4.6), f"{words} ({counts[mark]:,})")
                for mark, words in self.words_of.items()
            ]
        )
        for first in range(1, len(names), per_block):
            last = min(first + per_block, len(names))
            self.draw_block(drawing, labels, range(first, last), (label_width, width))

    def draw_block(self, drawing: Drawing, labels: Sequence[str], columns: range, widths: tuple[float, float]) -> None:
        """Draw some columns, numbered above, with the rows that have a verdict in one of them."""
        layout, (label_width, width) = drawing.layout, widths
        left, height = layout.margin + label_width, min(ROW, max(width, layout.line))
        needed = text_width(str(columns[-1] + 1), layout.size) + 5
        stride = math.ceil(needed / width)
        base = drawing.y + layout.size
        for column in columns[::stride]:
            x = left + (column - columns[0] + 0.5) * width
            drawing.text(x, base, str(column + 1), text_anchor="middle", fill=MUTED)
        top = drawing.y + layout.line + 4
        place = self.place_of
        n_rows = columns[-1] + (columns[-1] == len(self.names) - 1)  # the last system has a name, and no row of its own
        for i, label in enumerate(labels[:n_rows]):
            drawing.text(layout.margin, drawing.middle(top + (i + 0.5) * height), label, width=label_width - 8)
        end = left + len(columns) * width
        lines = (straight(layout.margin, top + i * height, end, top + i * height) for i in range(n_rows + 1))
        drawing.add(group(lines, stroke=GRID))
        self.draw_tints(drawing, columns, Box(left, top, left + width, top + height))
        forms: dict[Mark, list[str]] = {}
        plain: dict[Mark, str] = {}
        halves = ""
        for cell in self.cells:
            row, column = place[cell.row], place[cell.column]
            if column not in columns:
                continue
            at = left + (column - columns[0] + 0.5) * width, top + (row + 0.5) * height, min(width * 0.32, 4.6)
            words = self.tooltip(cell, layout.name)
            if words or not (outline := outline_of(cell.mark, *at)):
                forms.setdefault(cell.mark, []).append(form_of(cell.mark, *at, words))
            else:
                plain[cell.mark] = plain.get(cell.mark, "") + outline
            halves += half_of(*at) if cell.mark == "unsafe" else ""
        for mark, outline in plain.items():
            forms.setdefault(mark, []).append(element("path", d=outline))
        for mark, drawn in forms.items():
            drawing.add(group(drawn, **look_of(mark)))
        drawing.add(element("path", d=halves, fill=MARK_COLOURS["unsafe"]) if halves else "")
        drawing.y = top + n_rows * height + 12

    def draw_tints(self, drawing: Drawing, columns: range, first: Box) -> None:
        """Draw the ground of the cells, as one path per mark; neighbours of a row with the same mark are one piece."""
        marks = {(self.place_of[cell.row], self.place_of[cell.column]): cell.mark for cell in self.cells}
        outlines: dict[Mark, str] = {}
        for row in range(columns[-1]):
            own = [(marks[row, column], column) for column in columns if (row, column) in marks]
            for mark, members in groupby(own, key=lambda item: item[0]):
                run = [column for _, column in members]
                x, y = first.left + (run[0] - columns[0]) * first.width, first.top + row * (first.bottom - first.top)
                width, height = len(run) * first.width, first.bottom - first.top - 1
                piece = f"M{number(x)} {number(y + 0.5)}h{number(width)}v{number(height)}h{number(-width)}Z"
                outlines[mark] = outlines.get(mark, "") + piece
        for mark, outline in outlines.items():
            if mark != "unsure":
                drawing.add(element("path", d=outline, fill=MARK_TINTS[mark]))


def cell_of(pair: PairResult, *, turned: bool) -> MatrixCell:
    """Return the verdict on a pair: on B against A, or the other way round."""
    code = pair.final_verdict.code
    value, low, high = map(or_nan, (pair.delta, pair.ci.low, pair.ci.high))
    row, column = pair.b, pair.a
    if turned:
        row, column, value, low, high, code = pair.a, pair.b, -value, -high, -low, TURNED.get(code, code)
    return MatrixCell(row, column, VERDICT_MARKS[code], short_words(code, pair), value, low, high)
