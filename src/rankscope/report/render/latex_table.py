"""Tables in LaTeX: with booktabs rules, small where they are wide, over pages where they are long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.light import LightRecord
from rankscope.report.render.latex_text import FOREIGN, breakable, latex_text, latex_width
from rankscope.report.render.texts import cleaned
from rankscope.report.table import Cell, Table

SIZES = {"normalsize": 82, "small": 90, "footnotesize": 100, "scriptsize": 116}
"""How many characters of a table fit into a line, by the size of the letters."""
LONGEST_FLOAT = 30  # a table with more rows than this runs over pages
LONGEST_NAME, LONGEST_NUMBER = 30, 18
"""A column of names, or of numbers, that is wider than this is broken into lines."""
LONGEST_WORD = 8
PER_EM = 2
"""Characters to an em, the unit in which LaTeX takes the width of a column."""
GAP = 3


class LatexColumn(LightRecord):
    """How a column of a table is set: names to the left, numbers to the right, wide ones broken into lines."""

    width: int
    is_name: bool

    @property
    def longest(self) -> int:
        return LONGEST_NAME if self.is_name else LONGEST_NUMBER

    @property
    def broken(self) -> bool:
        return self.width > self.longest

    @property
    def taken(self) -> int:
        return min(self.width, self.longest) + GAP

    @property
    def type(self) -> str:
        if self.broken:
            side = "raggedright" if self.is_name else "raggedleft"
            return rf">{{\{side}\arraybackslash}}p{{{self.longest // PER_EM}em}}"
        return "l" if self.is_name else "r"


def latex_table(table: Table) -> str:
    """Return a table by itself, to be put into a float of one's own; its notes are comments."""
    table = cleaned(table)
    columns = [LatexColumn(0, i < table.n_name_columns) for i in range(len(table.header))]
    lines = tabular(columns, row_parts(table, columns))
    needed = [FOREIGN] if any(r"\rankscopeforeign" in line for line in lines) else []
    notes = [f"% {note}" for note in table.notes]
    return "\n".join(["% needs \\usepackage{booktabs}", *notes, *needed, *lines]) + "\n"


def floating_tables(table: Table, title: str) -> Iterator[str]:
    """Yield a table, in several pieces where it is too wide for a page, and its notes behind the last."""
    texts = zip(table.header, *([cell.text for cell in row] for row in table.rows), strict=True)
    columns = [LatexColumn(max(map(latex_width, column)), i < table.n_name_columns) for i, column in enumerate(texts)]
    names = range(table.n_name_columns)
    room = SIZES["scriptsize"] - sum(columns[i].taken for i in names)
    pieces: list[list[int]] = [[]]
    for i in range(table.n_name_columns, len(columns)):
        if pieces[-1] and sum(columns[j].taken for j in [*pieces[-1], i]) > room:
            pieces.append([])
        pieces[-1].append(i)
    for number, piece in enumerate(pieces, start=1):
        kept = [*names, *piece]
        header, rows = [table.header[i] for i in kept], [[row[i] for i in kept] for row in table.rows]
        part = f" (part {number} of {len(pieces)})" if len(pieces) > 1 else ""
        notes = table.notes if number == len(pieces) else ()
        shown = Table(header, rows, table.n_name_columns, notes)
        yield table_part(shown, [columns[i] for i in kept], f"{latex_text(title)}{part}")


def table_part(table: Table, columns: Sequence[LatexColumn], title: str) -> str:
    """Return a table: one that floats, or where it is long, one that runs over pages."""
    total = sum(column.taken for column in columns)
    size = next((name for name, room in SIZES.items() if total <= room), "scriptsize")
    rows = row_parts(table, columns)
    said = [rf"\par\smallskip{{\footnotesize\raggedright {latex_text(note)}\par}}" for note in table.notes]
    if len(table.rows) > LONGEST_FLOAT:
        heading = [r"\toprule", rows[0], r"\midrule"]  # repeated on every page
        opening = [rf"\begin{{longtable}}{{{''.join(column.type for column in columns)}}}", rf"\caption{{{title}}} \\"]
        opening += [*heading, r"\endfirsthead", *heading, r"\endhead", r"\bottomrule", r"\endfoot"]
        return "\n".join([f"{{\\{size}", *opening, *rows[1:], r"\end{longtable}", "}", *said])
    opening = [r"\begin{table}[htbp]", rf"\centering\{size}", rf"\caption{{{title}}}"]
    return "\n".join([*opening, *tabular(columns, rows), *said, r"\end{table}"])


def row_parts(table: Table, columns: Sequence[LatexColumn]) -> list[str]:
    """Return the header and the rows; the best of a column is bold."""

    def cell_part(cell: Cell, column: LatexColumn) -> str:
        text = breakable(cell.text, LONGEST_WORD) if column.broken else latex_text(cell.text)
        return rf"\textbf{{{text}}}" if cell.best else text

    rows = [[Cell(text) for text in table.header], *table.rows]
    return [" & ".join(map(cell_part, row, columns)) + r" \\" for row in rows]


def tabular(columns: Sequence[LatexColumn], rows: Sequence[str]) -> list[str]:
    """Return the rows, the first of which is the header, between rules."""
    types = "".join(column.type for column in columns)
    body = [r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule"]
    return [rf"\begin{{tabular}}{{{types}}}", *body, r"\end{tabular}"]
