"""Tables in LaTeX: with booktabs rules, small where they are wide, over pages where they are long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.light import LightRecord
from rankscope.report.render.latex_text import FOREIGN, breakable, latex_text, latex_width
from rankscope.report.render.texts import cleaned
from rankscope.report.table import Cell, Table

SIZES = {"normalsize": 82, "small": 90, "footnotesize": 100, "scriptsize": 116}
"""How many characters of a table fit into a line, by the size of the letters."""
LONGEST_FLOAT = 30
"""A table with more rows than this runs over pages."""
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
        """The width from which on it is broken."""
        return LONGEST_NAME if self.is_name else LONGEST_NUMBER

    @property
    def broken(self) -> bool:
        """Whether its cells are broken into lines."""
        return self.width > self.longest

    @property
    def taken(self) -> int:
        """How many characters it takes in a line."""
        return min(self.width, self.longest) + GAP

    @property
    def type(self) -> str:
        """Its letter in LaTeX."""
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
    pieces = list(split_columns(table))
    for i, piece in enumerate(pieces, start=1):
        part = f" (part {i} of {len(pieces)})" if len(pieces) > 1 else ""
        yield table_part(piece, f"{latex_text(title)}{part}", table.notes if i == len(pieces) else ())


def split_columns(table: Table) -> Iterator[Table]:
    """Yield the table as pieces that fit into a line in the smallest letters; names stand in each of them."""
    widths = [column.taken for column in columns_of(table)]
    names = range(table.n_name_columns)
    room = SIZES["scriptsize"] - sum(widths[i] for i in names)
    piece: list[int] = []
    for i in range(table.n_name_columns, len(widths)):
        if piece and sum(widths[j] for j in [*piece, i]) > room:
            yield with_columns(table, [*names, *piece])
            piece = []
        piece.append(i)
    yield with_columns(table, [*names, *piece])


def with_columns(table: Table, columns: Sequence[int]) -> Table:
    """Return the table with some of its columns."""
    rows = [[row[i] for i in columns] for row in table.rows]
    return Table([table.header[i] for i in columns], rows, table.n_name_columns)


def columns_of(table: Table) -> list[LatexColumn]:
    texts = zip(table.header, *([cell.text for cell in row] for row in table.rows), strict=True)
    return [LatexColumn(max(map(latex_width, column)), i < table.n_name_columns) for i, column in enumerate(texts)]


def table_part(table: Table, title: str, notes: Sequence[str]) -> str:
    """Return a table: one that floats, or where it is long, one that runs over pages."""
    columns = columns_of(table)
    total = sum(column.taken for column in columns)
    size = next((name for name, room in SIZES.items() if total <= room), "scriptsize")
    rows = row_parts(table, columns)
    said = [rf"\par\smallskip{{\footnotesize\raggedright {latex_text(note)}\par}}" for note in notes]
    if len(table.rows) > LONGEST_FLOAT:
        return "\n".join([f"{{\\{size}", *long_table(title, columns, rows), "}", *said])
    opening = [r"\begin{table}[htbp]", rf"\centering\{size}", rf"\caption{{{title}}}"]
    return "\n".join([*opening, *tabular(columns, rows), *said, r"\end{table}"])


def row_parts(table: Table, columns: Sequence[LatexColumn]) -> list[str]:
    """Return the header and the rows."""
    rows = [[Cell(text) for text in table.header], *table.rows]
    return [" & ".join(map(cell_part, row, columns)) + r" \\" for row in rows]


def cell_part(cell: Cell, column: LatexColumn) -> str:
    """Return a cell, bold where it is the best of its column."""
    text = breakable(cell.text, LONGEST_WORD) if column.broken else latex_text(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def tabular(columns: Sequence[LatexColumn], rows: Sequence[str]) -> list[str]:
    """Return the rows, the first of which is the header, between rules."""
    types = "".join(column.type for column in columns)
    body = [r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule"]
    return [rf"\begin{{tabular}}{{{types}}}", *body, r"\end{tabular}"]


def long_table(title: str, columns: Sequence[LatexColumn], rows: Sequence[str]) -> list[str]:
    """Return a table whose heading, the first of the rows, is repeated on every page."""
    types = "".join(column.type for column in columns)
    heading = (r"\toprule", rows[0], r"\midrule")
    return [
        rf"\begin{{longtable}}{{{types}}}",
        rf"\caption{{{title}}} \\",
        *(*heading, r"\endfirsthead"),
        *(*heading, r"\endhead"),
        *(r"\bottomrule", r"\endfoot"),
        *rows[1:],
        r"\end{longtable}",
    ]
