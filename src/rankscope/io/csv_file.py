"""CSV and TSV: a header that names the columns, then one row a line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO

from rankscope.errors import FormatError, InputError
from rankscope.io.checks import check_encodable
from rankscope.io.kinds import AnyRows, Collector, Kind, find_roles, lowered, table_columns
from rankscope.io.lines import write_lines
from rankscope.io.numbers import grade_text
from rankscope.io.source import Reading

_DELIMITERS = ",;\t"


def read_csv(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read CSV, whichever of comma, semicolon and tab its header uses."""
    return read_delimited(reading, kind, delimiter=None)


def read_tsv(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read TSV."""
    return read_delimited(reading, kind, delimiter="\t")


def read_delimited(reading: Reading, kind: Kind[Any], *, delimiter: str | None) -> Collector:
    """Read a table of text cells whose header names the columns."""
    collector = Collector()
    records = records_of(reading, delimiter)
    _, header = next(records, (0, []))
    check_header(header, reading.name)
    roles = find_roles(header, kind, chosen=reading.columns, where=reading.name)
    places = {role: header.index(name) for role, name in roles.items()}
    for line, cells in records:
        take_cells(reading, collector, kind, line=line, cells=cells, places=places, n_columns=len(header))
    return collector


def records_of(reading: Reading, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line that has any, with the number of the line."""
    lines = reading.lines()
    start, header = next(((number, text) for number, text in lines if text.strip()), (1, ""))
    rest = (text for _, text in lines)
    # Strict: a quote that is never closed would otherwise swallow the rest of the file without a word.
    reader = csv.reader(chain([header], rest), delimiter=delimiter or delimiter_of(header), strict=True)
    try:
        for cells in reader:
            if cells:
                yield start - 1 + reader.line_num, cells
    except csv.Error as error:
        raise FormatError(
            f"{reading.name}:{start - 1 + reader.line_num}: {error}",
            hint='a cell that opens with a quote must close with one; a quote within it is written twice ("")',
        ) from error


def delimiter_of(header: str) -> str:
    """Return the character that separates most cells of a header."""
    return max(_DELIMITERS, key=header.count)


def check_header(header: list[str], name: str) -> None:
    """Refuse a header in which two columns have one name."""
    repeated = next((column for column in header if header.count(column) > 1), None)
    if repeated is not None or len(lowered(header)) < len(header):
        raise FormatError(
            f"{name} has two columns of the same name: {', '.join(header)}", hint="rename or remove one of them"
        )


def take_cells(
    reading: Reading,
    collector: Collector,
    kind: Kind[Any],
    *,
    line: int,
    cells: list[str],
    places: Mapping[str, int],
    n_columns: int,
) -> None:
    """Add one row, or note what is wrong with it."""
    try:
        if len(cells) != n_columns:
            raise FormatError(f"{len(cells)} cells where the header has {n_columns}")
        collector.add({role: cells[place] for role, place in places.items()}, kind)
    except InputError as error:
        reading.reject(line, "\t".join(cells), error.message)


def write_csv(rows: AnyRows, stream: BinaryIO) -> None:
    """Write CSV."""
    write_delimited(table_columns(rows), stream, delimiter=",")


def write_tsv(rows: AnyRows, stream: BinaryIO) -> None:
    """Write TSV."""
    write_delimited(table_columns(rows), stream, delimiter="\t")


def write_delimited(columns: Mapping[str, list[Any]], stream: BinaryIO, *, delimiter: str) -> None:
    """Write a header and rows, with quotes only where a cell needs them."""
    for name, column in columns.items():
        check_encodable((cell for cell in column if isinstance(cell, str)), what=name)
    columns_of_text = [cell_texts(name, column, delimiter) for name, column in columns.items()]
    lines = map(delimiter.join, zip(*columns_of_text, strict=True))
    write_lines((f"{line}\n" for line in chain([delimiter.join(columns)], lines)), stream)


def cell_texts(name: str, column: list[Any], delimiter: str) -> Iterator[str]:
    """Return a column as the text of its cells."""
    if name == "grade":
        return map(grade_text, column)
    return (quoted(cell, delimiter) if isinstance(cell, str) else repr(cell) for cell in column)


def quoted(cell: str, delimiter: str) -> str:
    """Quote a cell that needs it; the csv module of Python before 3.13 forgets the carriage return."""
    if delimiter in cell or any(mark in cell for mark in '"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell
