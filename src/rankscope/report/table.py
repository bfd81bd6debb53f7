"""A table as data, and its renderings as text and CSV; `render` has those as Markdown and LaTeX."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, TextIO

from rankscope.light import LightRecord, field, replace
from rankscope.printable import printable

_GAP = "   "
BEST = "bold green"
MARKED = "marked"
"""How a note begins that says what is marked in its table, where that is not the best value alone."""


class Cell(LightRecord, many=True):
    """One cell: what a person reads, what a program reads, and whether it is the best of its column."""

    text: str
    raw: str = ""
    best: bool = False
    full: str = ""
    """The whole text, where `text` is shortened: a page shows it on hover, a file for programs holds it."""


class Table(LightRecord):
    """Rows under headings; the first columns are names, the others numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    n_name_columns: int = 1
    notes: Sequence[str] = field(default_factory=tuple)
    """What must be known to read the numbers."""
    optional: Sequence[str] = field(default_factory=tuple)
    """Headings of columns that a narrow terminal may leave out, the least important first."""
    keep: Sequence[str] = field(default_factory=tuple)
    """Headings of columns that stay on a phone, beside the first; by default the first that is no name."""

    def __post_init__(self) -> None:
        """Hold tuples, so that a table that was written and read back equals this one."""
        for name in ("header", "notes", "optional", "keep"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "rows", tuple(map(tuple, self.rows)))


def fitted(table: Table, width: int, *, folds: bool = False) -> Table:
    """Return the table without optional columns, as far as it takes to fit into a width; what is missing is noted.

    Where it folds, only when headings and words in several lines are not enough.
    """
    columns = zip(table.header, *([cell.text for cell in row] for row in table.rows), strict=True)
    widths = least_widths(table)[1] if folds else [max(map(width_of, column)) for column in columns]
    kept, dropped = list(range(len(widths))), []
    for heading in table.optional:
        if sum(widths[i] for i in kept) + len(_GAP) * (len(kept) - 1) <= width:
            break
        kept.remove(table.header.index(heading))
        dropped.append(heading)
    if not dropped:
        return table
    lacking = ", ".join(sorted(dropped, key=table.header.index))
    note = f"no room here for {lacking}: a wider terminal or a file (-o) has them"
    header, rows = [table.header[i] for i in kept], [[row[i] for i in kept] for row in table.rows]
    return Table(header, rows, table.n_name_columns, (*table.notes, note))


def transposed(table: Table, *, corner: str) -> Table:
    header = [corner, *(row[0].text for row in table.rows)]
    rows = [[Cell(name), *(row[i] for row in table.rows)] for i, name in enumerate(table.header) if i]
    return Table(header, rows, notes=table.notes)


def to_csv(table: Table) -> str:
    """Render as CSV, numbers at full precision; what a spreadsheet would take for a formula is marked as text."""
    from rankscope.io.formulas import as_csv, as_text_cell

    rows = ([cell.raw or as_text_cell(cell.full or cell.text) for cell in row] for row in table.rows)
    return as_csv([map(as_text_cell, table.header), *rows])


def print_table(table: Table, *, file: TextIO | None = None, answer: Sequence[str] = ()) -> None:
    """Draw the table: with colour where somebody looks at it in a terminal, else as plain text in one piece.

    The answer comes first for a person, and last in a text, which a program may read from its header on.
    """
    stream, table = file or sys.stdout, printable_table(table)
    if stream.isatty() or os.environ.get("FORCE_COLOR"):
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False, file=stream)
        table = fitted(table, console.width)
        for i, line in enumerate(map(printable, answer)):
            console.print(Text(line, style="" if i else "bold"), soft_wrap=True)
        if answer:
            console.print()
        console.print(rich_table(table))
        for note in shown_notes(table):
            console.print(Text(note, style="dim"), soft_wrap=True)
    else:
        rule = "─"
        try:
            rule.encode(stream.encoding or "utf-8")
        except UnicodeEncodeError:
            rule = "-"
        stream.write("".join(f"{line}\n" for line in (*plain_lines(table, rule=rule), *plain_answer(answer))))


def plain_answer(answer: Sequence[str]) -> list[str]:
    """Return the answer below a plain table; no line begins as the row of a run does, with its name."""
    first, *others = map(printable, answer or [""])
    return [f"answer: {first}", *others] if first else []


def printable_table(table: Table) -> Table:
    """Return the table with nothing in it that would command a terminal."""
    texts = {name: list(map(printable, getattr(table, name))) for name in ("header", "notes", "optional", "keep")}
    rows = [
        [cell if cell.text.isprintable() else Cell(printable(cell.text), cell.raw, cell.best) for cell in row]
        for row in table.rows
    ]
    return replace(table, rows=rows, **texts)


def plain_lines(table: Table, *, rule: str = "─") -> Iterator[str]:
    """Yield the lines of the table as plain text, then its notes."""
    yield from plain_rows(table, rule=rule)
    yield from shown_notes(table)


def plain_rows(table: Table, *, rule: str = "─", width: int | None = None) -> Iterator[str]:
    """Yield header and rows; where a width is given, texts go on in further lines, which the next row is not one of."""
    header, rows = with_marks(table)
    widths = [max(map(width_of, column)) for column in zip(header, *rows, strict=True)]
    if width is not None:
        widths = narrowed(table, widths, width)

    def aligned(cells: Sequence[str]) -> Iterator[str]:
        folded = [folded_text(cell, room) for cell, room in zip(cells, widths, strict=True)]
        for line in zip_longest(*folded, fillvalue=""):
            padded = []
            for i, (cell, room) in enumerate(zip(line, widths, strict=True)):
                blanks = " " * (room - width_of(cell))
                padded.append(cell + blanks if i < table.n_name_columns else blanks + cell)
            yield _GAP.join(padded).rstrip()

    yield from aligned(header)
    yield rule * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in rows:
        yield from aligned(row)


def narrowed(table: Table, widths: Sequence[int], width: int) -> list[int]:
    """Return widths of columns that fit, as far as they can: nothing is cut."""
    room, found = width - len(_GAP) * (len(widths) - 1), list(widths)
    for least in least_widths(table):
        while sum(found) > room and (wide := [i for i, n in enumerate(found) if n > least[i]]):
            found[max(wide, key=found.__getitem__)] -= 1
    return found


def least_widths(table: Table) -> list[list[int]]:
    """Return how narrow columns can be: where headings fold, where words do, and where all does that has blanks."""
    header, rows = with_marks(table)
    columns = [[row[i] for row in rows] for i in range(len(header))]
    whole = [max(map(width_of, column), default=0) for column in columns]
    words = [max(map(longest_word, column), default=0) for column in columns]
    has_numbers = [any(char.isdigit() for cell in column for char in cell) for column in columns]
    texts = [whole[i] if has_numbers[i] else words[i] for i in range(len(header))]
    headings = list(map(longest_word, header))
    return [[max(pair) for pair in zip(headings, cells, strict=True)] for cells in (whole, texts, words)]


def words_of(text: str) -> list[str]:
    """Return what stands between blanks; an interval in brackets is one word."""
    return re.findall(r"\[[^\]]*\]\S*|\S+", text)


def longest_word(text: str) -> int:
    return max(map(width_of, words_of(text)), default=0)


def folded_text(text: str, width: int) -> list[str]:
    """Return a text in lines of a width, broken at blanks only."""
    if width_of(text) <= width:
        return [text]
    lines: list[str] = []
    for word in words_of(text):
        if lines and width_of(lines[-1]) + 1 + width_of(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def width_of(text: str) -> int:
    """Return how many places a text takes in a terminal: Chinese or Japanese characters take two, accents none."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def shown_notes(table: Table) -> list[str]:
    """Return the notes, with what the mark means where there is one."""
    if not marked_columns(table):
        return list(table.notes)
    if any(note.startswith(MARKED) for note in table.notes):
        return [f"* {note}" if note.startswith(MARKED) else note for note in table.notes]
    return [*table.notes, "* the best value"]


def rich_table(table: Table) -> Any:
    """Return the table as rich draws it; cells fold where the terminal is narrow."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    header, rows = with_marks(table)
    for i, heading in enumerate(header):
        drawn.add_column(Text(heading), justify="left" if i < table.n_name_columns else "right", overflow="fold")
    for texts, row in zip(rows, table.rows, strict=True):
        drawn.add_row(*(Text(text, style=BEST if cell.best else "") for text, cell in zip(texts, row, strict=True)))
    return drawn


def with_marks(table: Table) -> tuple[list[str], list[list[str]]]:
    """Return the texts of header and rows; beside the mark of a best value the others need a blank as wide."""
    marked = marked_columns(table)
    header = [f"{heading} " if i in marked else heading for i, heading in enumerate(table.header)]
    blanks = [" " if i in marked else "" for i in range(len(header))]
    rows = [
        [cell.text + ("*" if cell.best else blank) for cell, blank in zip(row, blanks, strict=True)]
        for row in table.rows
    ]
    return header, rows


def marked_columns(table: Table) -> set[int]:
    return {i for row in table.rows for i, cell in enumerate(row) if cell.best and i >= table.n_name_columns}
