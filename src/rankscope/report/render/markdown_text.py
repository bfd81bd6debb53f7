"""Text and tables in GitHub's flavour of Markdown: what could be taken for markup is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rankscope.report.render.texts import clean, cleaned
from rankscope.report.table import Cell, Table

BLOCK_START = re.compile(r"(?=[#>+=~-])|(?<=\d)(?=[.)])")
MARKUP = re.compile(r"[\\`*\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])")


def markdown_table(table: Table, answer: Sequence[str] = ()) -> str:
    """Return a table by itself, below its answer where there is one, above its notes; the best values are bold."""
    first, *others = map(inline, map(clean, answer)) if answer else [""]
    lead = [" ".join([f"**{first}**", *others])] if first else []
    return "\n\n".join([*lead, *table_parts(cleaned(table))]) + "\n"


def table_parts(table: Table) -> Iterator[str]:
    rules = [" --- " if i < table.n_name_columns else " ---: " for i in range(len(table.header))]
    cells = [map(inline, table.header), *(map(cell_text, row) for row in table.rows)]
    header, *rows = (f"| {' | '.join(row)} |" for row in cells)
    yield "\n".join([header, f"|{'|'.join(rules)}|", *rows])
    if table.notes:
        yield "\n".join(f"- {paragraph(note)}" for note in table.notes)


def cell_text(cell: Cell) -> str:
    return f"**{inline(cell.text)}**" if cell.best and cell.text.strip() else inline(cell.text)


def paragraph(text: str) -> str:
    """Return a text that is not taken for markup, not even for a heading or a list by how it begins."""
    escaped = inline(text)
    if re.match(r"#{1,6}(\s|$)|[-+](\s|$)|[=-]+\s*$|\d{1,9}[.)](\s|$)", escaped):
        return BLOCK_START.sub(r"\\", escaped, count=1)
    return escaped


def inline(text: str) -> str:
    """Return a text that is not taken for markup; an underscore inside a word is none."""
    return MARKUP.sub(r"\\\g<0>", text.strip())


def code(text: str) -> str:
    """Return a text as code, fenced by more backticks than stand in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    blank = " " if "`" in text or text[:1] == text[-1:] == " " else ""
    return f"{fence}{blank}{text}{blank}{fence}" if text.strip() else inline(text)
