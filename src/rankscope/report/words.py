"""Ids in words, in tables: what was asked and what a doc is called stand first, the ids in a column of their own."""

from __future__ import annotations

from rankscope.data.texts import beginning, one_line
from rankscope.light import replace
from rankscope.report.table import Cell, Table

QUERY_WIDTH = 60
TITLE_WIDTH = 40
"""Longer texts of queries, and titles, are shortened; a page shows them whole on hover."""
LONGEST_TEXT = 300
"""So much of a text is whole: a query may be a page of a document."""


def query_cells(query: str, text: str | None) -> list[Cell]:
    """Return what was asked and the query's id; the id and nothing where the text is not known."""
    return words_and_id(query, text, QUERY_WIDTH)


def text_cell(text: str) -> Cell:
    """Return what was asked, for a table that has the ids of queries already."""
    return shortened_cell(one_line(text), QUERY_WIDTH)


def doc_cells(doc: str, title: str | None) -> list[Cell]:
    """Return a doc's title and its id; the id and nothing where the title is not known."""
    return words_and_id(doc, title, TITLE_WIDTH)


def words_and_id(name: str, words: str | None, width: int) -> list[Cell]:
    line = one_line(words or "")
    return [shortened_cell(line, width), Cell(name)] if line else [Cell(name), Cell("")]


def shortened_cell(text: str, width: int) -> Cell:
    short = beginning(text, width)
    return Cell(short, full="" if short == text else beginning(text, LONGEST_TEXT))


def without_empty(table: Table, *headings: str) -> Table:
    """Return the table without those of its name columns that hold nothing: ids where no words are known."""
    empty = {
        i
        for i, heading in enumerate(table.header[: table.n_name_columns])
        if heading in headings and not any(row[i].text for row in table.rows)
    }
    kept = [i for i in range(len(table.header)) if i not in empty]
    return replace(
        table,
        header=[table.header[i] for i in kept],
        rows=[[row[i] for i in kept] for row in table.rows],
        n_name_columns=table.n_name_columns - len(empty),
        optional=[heading for heading in table.optional if heading in {table.header[i] for i in kept}],
    )
