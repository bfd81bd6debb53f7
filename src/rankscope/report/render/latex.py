"""A report as LaTeX: a document that compiles by itself, with a part marked that can be taken into a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankscope.report.document import (
    Block,
    Bullets,
    Estimates,
    Figure,
    Paragraph,
    Report,
    Section,
    Signals,
    TableBlock,
    Verdict,
)
from rankscope.report.render.latex_text import FOREIGN, breakable, latex_text, latex_width
from rankscope.report.render.texts import TONE_WORDS, cleaned
from rankscope.report.table import Cell, Table

PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[margin=2.2cm]{geometry}
\usepackage{array,booktabs,iftex,longtable,textcomp}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\else
  \usepackage{fontspec}
\fi
\setlength{\LTcapwidth}{\textwidth}
\setlength{\emergencystretch}{3em}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}"""
BEGIN = """% ---- the report begins: what follows, down to its end, can be taken into a paper ----
% needs \\usepackage{array,booktabs,longtable,textcomp} and \\usepackage[T1]{fontenc}
% a table that runs over pages (longtable) needs a page of one column"""
END = "% ---- the report ends ----"

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


@dataclass(frozen=True, slots=True)
class Column:
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


def to_latex(report: Report) -> str:
    """Return the report as a document; charts are given in words, since LaTeX cannot take in SVG."""
    report = cleaned(report)
    parts = [
        PREAMBLE,
        r"\begin{document}",
        BEGIN,
        FOREIGN,
        rf"\section*{{{latex_text(report.title)}}}",
        *(part for block in report.first_screen for part in block_parts(block)),
        *(part for section in report.sections for part in section_parts(section)),
        *footer_parts(report.footer),
        END,
        r"\end{document}",
    ]
    return "\n\n".join(parts) + "\n"


def section_parts(section: Section) -> Iterator[str]:
    """Yield a section, paragraph by paragraph."""
    yield rf"\subsection*{{{latex_text(section.title)}}}"
    if section.intro:
        yield latex_text(section.intro)
    for block in section.blocks:
        yield from block_parts(block)


def block_parts(block: Block) -> Iterator[str]:
    """Yield a block, paragraph by paragraph."""
    if isinstance(block, Verdict):
        yield from verdict_parts(block)
    elif isinstance(block, Paragraph):
        yield latex_text(block.text)
    elif isinstance(block, Figure):
        where = "(A chart; it stands in the HTML report.)"
        yield rf"\paragraph{{{latex_text(block.title)}}} {where} {latex_text(block.alt)}"
    elif isinstance(block, TableBlock):
        yield from table_parts(block)
    else:
        yield list_part(block.title, list(list_items(block)))


def verdict_parts(verdict: Verdict) -> Iterator[str]:
    """Yield what it is about, the answer, and what limits it."""
    if verdict.subject:
        yield rf"\noindent\textit{{{latex_text(verdict.subject)}}}"
    yield rf"\paragraph{{Verdict.}} \textbf{{{latex_text(verdict.headline)}}} {latex_text(verdict.reason)}"
    for caution in verdict.cautions:
        yield rf"\paragraph{{Caution.}} {latex_text(caution)}"


def list_items(block: Bullets | Signals | Estimates) -> Iterator[str]:
    """Yield the items of a list."""
    if isinstance(block, Bullets):
        yield from map(latex_text, block.items)
    elif isinstance(block, Signals):
        for signal in block.signals:
            yield rf"\textbf{{{latex_text(signal.name)}}} ({TONE_WORDS[signal.tone]}): {latex_text(signal.words)}"
    else:
        for row in block.estimates:
            yield rf"\textbf{{{latex_text(row.name)}}}: {latex_text(row.words)}"


def list_part(title: str, items: Sequence[str]) -> str:
    """Return a list under its title."""
    heading = [rf"\paragraph{{{latex_text(title)}}}"] if title else []
    lines = [rf"  \item {item}" for item in items]
    return "\n".join([*heading, *([r"\begin{itemize}", *lines, r"\end{itemize}"] if lines else [])])


def table_parts(block: TableBlock) -> Iterator[str]:
    """Yield a table, in several pieces where it is too wide for a page, and its notes behind the last."""
    pieces = list(split_columns(block.table))
    for i, piece in enumerate(pieces, start=1):
        part = f" (part {i} of {len(pieces)})" if len(pieces) > 1 else ""
        notes = block.table.notes if i == len(pieces) else ()
        yield table_part(piece, f"{latex_text(block.title)}{part}", notes)


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


def columns_of(table: Table) -> list[Column]:
    """Return how each column is set."""
    texts = zip(table.header, *([cell.text for cell in row] for row in table.rows), strict=True)
    return [Column(max(map(latex_width, column)), i < table.n_name_columns) for i, column in enumerate(texts)]


def table_part(table: Table, title: str, notes: Sequence[str]) -> str:
    """Return a table: one that floats, or where it is long, one that runs over pages."""
    columns = columns_of(table)
    total = sum(column.taken for column in columns)
    size = next((name for name, room in SIZES.items() if total <= room), "scriptsize")
    types = "".join(column.type for column in columns)
    header, *rows = (row_part(row, columns) for row in [[Cell(text) for text in table.header], *table.rows])
    if len(rows) > LONGEST_FLOAT:
        lines = long_table(title, types, header, rows)
        return "\n".join([f"{{\\{size}", *lines, "}", *note_lines(notes)])
    return "\n".join(floating_table(title, types, header, rows, notes=note_lines(notes), size=size))


def row_part(row: Sequence[Cell], columns: Sequence[Column]) -> str:
    """Return one row."""
    return " & ".join(cell_part(cell, column.broken) for cell, column in zip(row, columns, strict=True)) + r" \\"


def cell_part(cell: Cell, is_broken: bool) -> str:
    """Return a cell, bold where it is the best of its column."""
    text = breakable(cell.text, LONGEST_WORD) if is_broken else latex_text(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def note_lines(notes: Sequence[str]) -> list[str]:
    """Return what must be known to read a table."""
    return [rf"\par\smallskip{{\footnotesize\raggedright {latex_text(note)}\par}}" for note in notes]


def floating_table(
    title: str, types: str, header: str, rows: Sequence[str], *, notes: Sequence[str], size: str
) -> list[str]:
    """Return a table that LaTeX places where there is room."""
    return [
        r"\begin{table}[htbp]",
        rf"\centering\{size}",
        rf"\caption{{{title}}}",
        rf"\begin{{tabular}}{{{types}}}",
        *(r"\toprule", header, r"\midrule", *rows, r"\bottomrule"),
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]


def long_table(title: str, types: str, header: str, rows: Sequence[str]) -> list[str]:
    """Return a table whose heading is repeated on every page."""
    return [
        rf"\begin{{longtable}}{{{types}}}",
        rf"\caption{{{title}}} \\",
        *(r"\toprule", header, r"\midrule", r"\endfirsthead"),
        *(r"\toprule", header, r"\midrule", r"\endhead"),
        *(r"\bottomrule", r"\endfoot"),
        *rows,
        r"\end{longtable}",
    ]


def footer_parts(footer: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield how the report is obtained again."""
    if footer:
        yield r"\subsection*{How to obtain this report again}"
        items = [f"{latex_text(name)}: {breakable(value, LONGEST_WORD)}" for name, value in footer]
        yield list_part("", items)
