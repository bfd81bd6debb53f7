"""Tables of a page: the first column stays, a shade says that there is more on the right, a phone sees what counts.

Rows are written without the end tags that HTML lets one leave out: about ten bytes a score, so that 50 systems on 1,000
queries stay below one megabyte.
"""

from __future__ import annotations

import re
from html import escape

from rankscope.report import document as doc
from rankscope.report.render.page import Page, heading, labelled, verdict_words
from rankscope.report.render.texts import DIGITS, SUPERSCRIPTS, with_minus
from rankscope.report.render.texts import SHAPES as SHAPE_SIGNS
from rankscope.report.table import Cell, Table
from rankscope.report.tokens import tone

PAPER_ROWS, PAPER_COLUMNS = 60, 12  # a folded table with more rows or columns than this is not printed
LONG_HEADING = 20
LONG_CELL = 32  # a cell of a number column that is longer than this is prose, and is broken into lines
PHONE_WIDTH = 46  # a table of so many characters is shown whole everywhere
LONGEST_NAME, LONGEST_HEADING = 18, 10  # what is longer is broken into lines

VERDICTS: dict[str, doc.Mark] = {
    "better": "better",
    "probably better": "probably_better",
    "worse": "worse",
    "probably worse": "probably_worse",
    "practically the same": "same",
    "identical": "same",
    "no score differs": "same",
    "cannot tell": "unsure",
    "too few queries": "unsure",
    "not safe to call": "unsafe",
    "not comparable": "fails",
    "labels, not quality": "unsafe",
}
SIGNS = {sign: mark for mark, sign in SHAPE_SIGNS.items() if sign in "▲△▼▽○◆"}


def table_block(block: doc.TableBlock, page: Page, level: int) -> str:
    name = page.new_id("table", block.title)
    notes = "".join(f'<p class="cap">{page.prose(note)}</p>' for note in block.table.notes)
    shown = table_part(block.table, labelled(block.title, name), page, is_detail=block.folded) + notes
    if not block.folded:
        return f'<div class="block">{heading(block.title, level, name=name)}{shown}</div>'
    n_rows = len(block.table.rows)
    size = ' class="large"' if n_rows > PAPER_ROWS or len(block.table.header) > PAPER_COLUMNS else ""
    title = f'<span id="{name}">{escape(block.title)}</span> ' if block.title else ""
    return f"<details{size}><summary>{title}<small>{n_rows:,} rows</small></summary>{shown}</details>"


def table_part(table: Table, label: str, page: Page, *, is_detail: bool) -> str:
    """Return a table in a box of its own, which scrolls where the table is wider than the page."""
    verdicts = {i for i, text in enumerate(table.header) if "verdict" in text.lower()}
    header = "".join(
        f'<th scope="col"{" class=n" if i < table.n_name_columns else " class=vd" if i in verdicts else ""}>'
        f"{breakable(text, page)}"
        for i, text in enumerate(table.header)
    )
    n_names = table.n_name_columns
    rows = "\n".join(
        "<tr>" + "".join(cell_part(cell, i, n_names, page, is_verdict=i in verdicts) for i, cell in enumerate(row))
        for row in table.rows
    )
    kept = range(len(table.header)) if is_detail else columns_on_phone(table)
    fold, choice = "", ""
    if len(kept) < len(table.header):
        page.kept_columns |= set(kept)
        fold = "".join(f" k{i}" for i in kept)
        n_columns = len(table.header)
        choice = f'<label class="all-columns"><input type="checkbox">Show all {n_columns} columns</label>'
    return (
        f'<div class="wide{" fold" if fold else ""}{fold}">{choice}'
        f'<div class="scroll" role="group" tabindex="0" {label}><table {label}>'
        f"<thead><tr>{header}<tbody>\n{rows}</table></div></div>"
    )


def columns_on_phone(table: Table) -> list[int]:
    """Return the columns that a phone shows: the name, and those that the table keeps or else its first number."""
    every = range(len(table.header))
    if table.n_name_columns >= len(table.header) or width_on_phone(table) <= PHONE_WIDTH:
        return list(every)
    kept = [i for i in every[1:] if table.header[i] in table.keep]
    return [0, *(kept or [max(table.n_name_columns, 1)])]


def width_on_phone(table: Table) -> int:
    """Return about how many characters a table is wide where names and headings are broken into lines."""
    total = 0
    for i, text in enumerate(table.header):
        longest = max((len(row[i].text) for row in table.rows), default=0)
        total += 2 + max(min(len(text), LONGEST_HEADING), longest if i else min(longest, LONGEST_NAME))
    return total


def breakable(text: str, page: Page) -> str:
    """Return a heading; one that is long may be broken behind its signs, or anywhere."""
    if len(text) <= LONG_HEADING:
        return page.label(text)
    return "<wbr>".join(escape(piece) for piece in re.findall(r"[^-_./:+]{1,10}[-_./:+]*|[-_./:+]{1,10}", text))


def cell_part(cell: Cell, i: int, n_names: int, page: Page, *, is_verdict: bool) -> str:
    """Return one cell, without its end tag, as HTML allows; the first is the name of its row."""
    whole = f' title="{escape(cell.full)}"' if cell.full and cell.full != cell.text else ""
    if i == 0 and n_names:
        return f"<th scope=row{whole}>{page.named(cell.full or cell.text, cell.text)}"
    if is_verdict and cell.text in VERDICTS:
        return f"<td class=vd>{verdict_words(VERDICTS[cell.text], cell.text)}"
    kind = "vd" if is_verdict else "n" if i < n_names else "w" if len(cell.text) > LONG_CELL else ""
    text = escape(cell.text if i < n_names else with_minus(cell.text))
    if not text.isascii():
        text = SUPERSCRIPTS.sub(lambda marks: f"<sup>{marks[0].translate(DIGITS)}</sup>", text)
        if cell.text in SIGNS:
            kind = f"s {tone(SIGNS[cell.text])}"
    attribute = f' class="{kind}"' if " " in kind else f" class={kind}" if kind else ""
    return f"<td{attribute}{whole}><b>{text}</b>" if cell.best else f"<td{attribute}{whole}>{text}"
