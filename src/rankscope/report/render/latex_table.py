"""Text and tables in LaTeX.

Text is printed as it is: with commands for what is special, and a way out for letters that the fonts lack. Tables have
booktabs rules; they are small where they are wide, and run over pages where they are long.
"""
# ruff: noqa: RUF001 (letters that look alike)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.light import LightRecord
from rankscope.report.render.texts import DIGITS, SUPERSCRIPTS, clean, cleaned, pairs, with_minus
from rankscope.report.table import Cell, Table

if TYPE_CHECKING:
    from rankscope.report.paper import PaperTable

MATHS = pairs(r"""
    Δ \Delta Γ \Gamma Θ \Theta Λ \Lambda Σ \Sigma Φ \Phi Ω \Omega
    α \alpha β \beta γ \gamma δ \delta ε \varepsilon η \eta θ \theta κ \kappa λ \lambda μ \mu π \pi
    ρ \rho σ \sigma τ \tau φ \varphi χ \chi ψ \psi ω \omega
    − - ≤ \leq ≥ \geq ≠ \neq ≈ \approx ∞ \infty √ \surd ∩ \cap ∪ \cup ∈ \in ∑ \sum
    → \rightarrow ← \leftarrow ↑ \uparrow ↓ \downarrow ● \bullet ○ \circ
""")
"""Letters and signs that text fonts lack and mathematics has."""

# After the end of a row, a bracket or a star would be taken for an option of the line break.
SPECIAL = pairs(r"""
    & \& % \% $ \$ # \# _ \_ { \{ } \} \ \textbackslash{} ~ \textasciitilde{} ^ \textasciicircum{} | \textbar{}
    < \textless{} > \textgreater{} " \textquotedbl{} ' \textquotesingle{} ` \textasciigrave{} [ {[} ] {]} * {*}
""")
SPECIAL |= {"\xa0": "~", "\u2009": r"\,", "\u202f": r"\,", "\u200b": r"\hspace{0pt}", "\xad": r"\-"}
SPECIAL |= {char: rf"\ensuremath{{{command}}}" for char, command in MATHS.items()}
LATIN = "¡-·¹-ſ"
LATIN_LACKING = "ĦħĸĿŀŉŦŧſ"  # letters of that range that the usual fonts lack
TYPOGRAPHY = "ȘșȚț–—‘’‚“”„†‡•…‰‹›€™"

PIECES = re.compile(
    rf"(?P<marks>{SUPERSCRIPTS.pattern})"
    rf"|(?P<special>[{re.escape(''.join(SPECIAL))}])"
    r"|(?P<ligature>-(?=-)|,(?=,))"
    rf"|(?P<foreign>(?:(?![ -~{LATIN}{TYPOGRAPHY}{re.escape(''.join(SPECIAL))}⁰⁴-⁹])[\s\S]|[{LATIN_LACKING}])+)"
)

CODE_WIDTH = len("U+0000 ")

FOREIGN = r"""\ifdefined\rankscopeforeign\else
  % pdfLaTeX prints letters that its fonts lack as code points, XeLaTeX and LuaLaTeX in the font of the document.
  \protected\def\rankscopeforeign#1#2{\ifdefined\XeTeXversion#1\else\ifdefined\directlua#1\else\texttt{{[}#2{]}}\fi\fi}
\fi"""


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX prints it: `50%` as `50\%`, a hyphen before a number as a minus."""
    return PIECES.sub(latex_piece, with_minus(text.strip()))


def latex_piece(match: re.Match[str]) -> str:
    piece = match[0]
    if match["marks"]:
        return rf"\textsuperscript{{{piece.translate(DIGITS)}}}"
    if match["special"]:
        return SPECIAL[piece]
    if match["ligature"]:  # two of them in a row would be printed as one other sign
        return f"{piece}{{}}"
    codes = " ".join(f"U+{ord(char):04X}" for char in piece)
    return rf"\rankscopeforeign{{{piece}}}{{{codes}}}"


def breakable(text: str, longest: int) -> str:
    """Return a text as LaTeX prints it in a narrow column: a long word may be broken behind its signs, or anywhere."""
    pieces = re.findall(rf"[^-_./:,+ ]{{1,{longest}}}[-_./:,+]*|[-_./:,+]+|\s+", text.strip())
    return "".join(latex_text(piece) + r"\allowbreak{}" if piece.strip() else " " for piece in pieces)


def latex_width(text: str) -> int:
    """Return about how many characters are printed; a letter that the fonts lack takes as many as its code point."""
    return len(text) + sum((CODE_WIDTH - 1) * len(match["foreign"] or "") for match in PIECES.finditer(text))


SIZES = {"normalsize": 82, "small": 90, "footnotesize": 100, "scriptsize": 116}
"""How many characters of a table fit into a line, by the size of the letters."""
NARROWER = 1.6
"""The lines of a paper are so many times shorter than those of our own document."""
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
    is_whole: bool = False
    """Whether it is never broken."""
    is_raised: bool = False
    """Whether superscripts stand behind its numbers, which then begin, not end, below one another."""

    @property
    def longest(self) -> int:
        return LONGEST_NAME if self.is_name else LONGEST_NUMBER

    @property
    def broken(self) -> bool:
        return self.width > self.longest and not self.is_whole

    @property
    def taken(self) -> int:
        return (min(self.width, self.longest) if self.broken else self.width) + GAP

    @property
    def type(self) -> str:
        if self.broken:
            side = "raggedright" if self.is_name else "raggedleft"
            return rf">{{\{side}\arraybackslash}}p{{{self.longest // PER_EM}em}}"
        return "l" if self.is_name or self.is_raised else "r"


def latex_table(table: Table) -> str:
    """Return a table by itself, to be put into a float of one's own; its notes are comments."""
    table = cleaned(table)
    columns = [LatexColumn(0, i < table.n_name_columns) for i in range(len(table.header))]
    lines = tabular(columns, row_parts(table, columns))
    needed = [FOREIGN] if any(r"\rankscopeforeign" in line for line in lines) else []
    notes = [f"% {note}" for note in table.notes]
    return "\n".join(["% needs \\usepackage{booktabs}", *notes, *needed, *lines]) + "\n"


LONGEST_IN_PAPER = 50
"""A table with more rows than this does not fit on a page."""


def latex_paper_table(paper: PaperTable) -> str:
    """Return one table in a float with caption and label, to be pasted; what it needs stands in comments above it."""
    table = cleaned(paper.table)
    caption, *comments = map(clean, (paper.caption, *paper.comments))
    raised = {i for _, i in paper.superscripts}
    columns = []
    for i, heading in enumerate(table.header):
        texts = [row[i].text + paper.superscripts.get((j, i), "") for j, row in enumerate(table.rows)]
        width = max(map(latex_width, [heading, *texts]))
        is_name = i < table.n_name_columns
        columns.append(LatexColumn(width, is_name, is_whole=not is_name, is_raised=i in raised))
    rows = [" & ".join(map(cell_part, map(Cell, table.header), columns)) + r" \\"]
    for j, row in enumerate(table.rows):
        marks = (paper.superscripts.get((j, i), "") for i in range(len(row)))
        behind = (rf"\textsuperscript{{{latex_text(mark)}}}" if mark else "" for mark in marks)
        rows.append(" & ".join(map("".join, zip(map(cell_part, row, columns), behind, strict=True))) + r" \\")
    lines = float_lines(
        columns, rows, latex_text(caption), label=paper.label, longest=LONGEST_IN_PAPER, narrower=NARROWER
    )
    text = "\n".join(lines)
    packages = {"booktabs": True, "array": r"\arraybackslash" in text, "longtable": r"{longtable}" in text}
    needed = [rf"% needs \usepackage{{{','.join(name for name, used in packages.items() if used)}}}"]
    if re.search(r"\\textquotedbl|[Ā-ž]", text):
        needed.append(r"% and for its letters, with pdfLaTeX, \usepackage[T1]{fontenc}")
    needed += [f"% {comment}" for comment in comments]
    return "\n".join([*needed, *([FOREIGN] if r"\rankscopeforeign" in text else []), text]) + "\n"


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
    lines = float_lines(columns, row_parts(table, columns), title, longest=LONGEST_FLOAT)
    said = [rf"\par\smallskip{{\footnotesize\raggedright {latex_text(note)}\par}}" for note in table.notes]
    if len(table.rows) > LONGEST_FLOAT:
        return "\n".join([*lines, *said])
    return "\n".join([*lines[:-1], *said, lines[-1]])


def float_lines(
    columns: Sequence[LatexColumn],
    rows: Sequence[str],
    caption: str,
    *,
    longest: int,
    label: str = "",
    narrower: float = 1.0,
) -> list[str]:
    """Return the rows, the first of which is the header, as a float, or as a table over several pages."""
    total = sum(column.taken for column in columns) * narrower
    size = next((name for name, room in SIZES.items() if total <= room), "scriptsize")
    named = rf"\label{{{label}}}" if label else ""
    if len(rows) - 1 > longest:
        heading = [r"\toprule", rows[0], r"\midrule"]  # repeated on every page
        opening = [rf"\begin{{longtable}}{{{''.join(column.type for column in columns)}}}"]
        opening += [rf"\caption{{{caption}}}{named} \\", *heading, r"\endfirsthead", *heading, r"\endhead"]
        return [f"{{\\{size}", *opening, r"\bottomrule", r"\endfoot", *rows[1:], r"\end{longtable}", "}"]
    opening = [
        r"\begin{table}[htbp]",
        rf"\centering\{size}" + (r"\setlength{\tabcolsep}{2pt}" if total > SIZES["scriptsize"] else ""),
        rf"\caption{{{caption}}}",
        *filter(None, [named]),
        r"\smallskip",
    ]
    return [*opening, *tabular(columns, rows), r"\end{table}"]


def row_parts(table: Table, columns: Sequence[LatexColumn]) -> list[str]:
    """Return the header and the rows; the best of a column is bold."""
    rows = [[Cell(text) for text in table.header], *table.rows]
    return [" & ".join(map(cell_part, row, columns)) + r" \\" for row in rows]


def cell_part(cell: Cell, column: LatexColumn) -> str:
    text = breakable(cell.text, LONGEST_WORD) if column.broken else latex_text(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def tabular(columns: Sequence[LatexColumn], rows: Sequence[str]) -> list[str]:
    """Return the rows, the first of which is the header, between rules."""
    types = "".join(column.type for column in columns)
    body = [r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule"]
    return [rf"\begin{{tabular}}{{{types}}}", *body, r"\end{tabular}"]
