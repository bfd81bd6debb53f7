"""CSV and TSV: a header that names the columns, then one row a line; and BEIR qrels, a TSV with a header of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from itertools import chain
from typing import Any, BinaryIO

from rankscope.errors import FormatError
from rankscope.io.columns import first_names
from rankscope.io.numbers import grade_text
from rankscope.io.rows import AnyRows, QrelsRows
from rankscope.io.source import FileReading
from rankscope.io.table import Collector, Format, NumberedRow, RowKind, collect_rows, lowered, table_columns
from rankscope.io.write import check_encodable, refuse_extra_columns, write_lines

DELIMITERS = {"\t": "tsv", ",": "csv", ";": "csv"}
BEIR_HEADER = ("query-id", "corpus-id", "score")


def delimited_rows(reading: FileReading, delimiter: str | None = None) -> Iterator[NumberedRow]:
    """Yield the rows of a table of text cells; without a delimiter, whichever the header uses most."""
    records = records_of(reading, delimiter)
    _, header = next(records, (0, []))
    if not any(header):
        return
    if len(lowered(header)) < len(header):
        raise FormatError(
            f"{reading.name} has two columns of the same name: {first_names(header)}",
            hint="rename or remove one of them",
        )
    names = [name.strip() for name in header]
    reading.on_header(names)
    cells: list[str] = []
    reading.row_text = lambda: "\t".join(cells)
    for line, cells in records:
        if len(cells) == len(names):
            yield line, dict(zip(names, cells, strict=True))
        elif reading.ragged:
            yield line, dict(zip(names, cells + [""] * len(names), strict=False))
        else:
            reading.reject(line, "\t".join(cells), f"{len(cells)} cells where the header has {len(names)}")


def records_of(reading: FileReading, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line that has any, with the number of the line."""
    csv = unlimited_csv()
    lines = reading.lines()
    start, header = next(((number, text) for number, text in lines if text.strip()), (1, ""))
    # Strict: a quote that is never closed would otherwise swallow the rest of the file without a word.
    reader = csv.reader(
        chain([header], (text for _, text in lines)), delimiter=delimiter or delimiter_of(header), strict=True
    )
    try:
        for cells in reader:
            if cells:
                yield start - 1 + reader.line_num, cells
    except csv.Error as error:
        raise FormatError(
            f"{reading.name}:{start - 1 + reader.line_num}: {error}",
            hint='a cell that opens with a quote must close with one; a quote within it is written twice ("")',
        ) from error


@cache
def unlimited_csv() -> Any:
    """Return a csv module of our own that takes cells of any length, as docs may be longer than the usual 128 kB.

    The limit is one of the whole module: to lift it in the shared one would lift it for the rest of the program, which
    is done only in a Python that has no compiled `_csv` to be loaded once more.
    """
    try:
        spec: Any = find_spec("_csv")
        module: Any = module_from_spec(spec)
        spec.loader.exec_module(module)
    except (AttributeError, ImportError, ValueError):
        module = import_module("csv")
    module.field_size_limit((1 << 31) - 1)  # what a C long holds on every system
    return module


def delimiter_of(header: str) -> str:
    return max(",;\t", key=header.count)


def read_beir(reading: FileReading, kind: RowKind[Any]) -> Collector:
    if kind.name != "qrels":
        raise FormatError(
            f"{reading.name} holds BEIR qrels, not a run",
            hint='this looks like qrels; are the arguments swapped? If it is a run, say format="tsv"',
        )
    return collect_rows(reading, kind, delimited_rows(reading, "\t"))


def write_beir(rows: AnyRows, stream: BinaryIO) -> None:
    if not isinstance(rows, QrelsRows):
        raise FormatError("BEIR has no format for runs", hint="write trec, json, jsonl, csv, tsv, parquet or arrow")
    refuse_extra_columns(rows, "BEIR")
    write_table(rows, stream, delimiter="\t", header=BEIR_HEADER)


def write_table(rows: AnyRows, stream: BinaryIO, *, delimiter: str, header: Sequence[str] = ()) -> None:
    """Write a header and rows, with quotes only where a cell needs them."""
    columns = table_columns(rows)
    header = header or list(columns)

    def text(cell: Any) -> str:
        """Quote a text that needs it; the csv module of Python before 3.13 forgets the carriage return."""
        if not isinstance(cell, str):
            return repr(cell)
        is_plain = delimiter not in cell and not any(mark in cell for mark in '"\r\n')
        return cell if is_plain else '"' + cell.replace('"', '""') + '"'

    for name, column in zip(header, columns.values(), strict=True):
        check_encodable((cell for cell in column if isinstance(cell, str)), what=name)
    columns_of_text = [map(grade_text if name == "grade" else text, column) for name, column in columns.items()]
    lines = map(delimiter.join, zip(*columns_of_text, strict=True))
    write_lines((f"{line}\n" for line in chain([delimiter.join(header)], lines)), stream)


tsv_rows = partial(delimited_rows, delimiter="\t")

CSV = Format(rows=delimited_rows, write=partial(write_table, delimiter=","), has_text_cells=True)
TSV = Format(rows=tsv_rows, write=partial(write_table, delimiter="\t"), has_text_cells=True)
BEIR = Format(rows=tsv_rows, read=read_beir, write=write_beir, has_text_cells=True)
