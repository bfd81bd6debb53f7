"""Texts in tables for spreadsheets: one that a spreadsheet would take for a formula gets an apostrophe before it.

What already has apostrophes there gets one more, so that the text can be restored exactly. Numbers stay as they are.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankscope.io.table import NumberedRow

SETTLING_COLUMN = "swing"
"""Tells a table of docs to judge, which we wrote with such marks, from qrels of others, which are left alone."""
_FORMULA = re.compile(r"(?P<marks>'*)\s*[=+\-@＝＋－＠]")  # noqa: RUF001 (spreadsheets know wide signs, too)
_HARMLESS = re.compile(r"-|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""Numbers, and the sign that stands where there is none."""


def as_text_cell(text: str) -> str:
    """Return a text as it is safe in a spreadsheet."""
    return f"'{text}" if _FORMULA.match(text) and not _HARMLESS.fullmatch(text) else text


def as_csv(rows: Iterable[Iterable[str]]) -> str:
    """Return rows as CSV; a cell with a lone carriage return is quoted, as readers take that for the end of a line."""
    import csv

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")  # of what ends a line, all is quoted
    lines = []
    for row in rows:
        writer.writerow(row)
        lines.append(stream.getvalue().removesuffix("\r\n"))
        stream.seek(0)
        stream.truncate()
    return "".join(f"{line}\n" for line in lines)


def from_text_cell(cell: str) -> str:
    """Return the text that `as_text_cell` was given."""
    found = _FORMULA.match(cell)
    return cell[1:] if found and found["marks"] else cell


def restored_rows(rows: Iterable[NumberedRow]) -> list[NumberedRow]:
    """Return the rows of a CSV with the texts as they were, where we wrote it: then no formula stands there as such."""
    listed = list(rows)
    texts = [text for _, row in listed for cell in row.items() for text in cell if isinstance(text, str)]
    is_marked = any(text.startswith("'") for text in texts)
    if not is_marked or any(as_text_cell(text) != text for text in texts if not text.startswith("'")):
        return listed
    return [
        (number, {from_text_cell(name): from_text_cell(v) if isinstance(v, str) else v for name, v in row.items()})
        for number, row in listed
    ]
