"""Fields of docs, such as topic, source or date: from dicts, tables, or JSONL, JSON, CSV, TSV or Parquet files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from rankscope.data.doc_fields import ID_NAMES, DocTable, id_column, is_missing
from rankscope.errors import BadLinesError, DuplicateError, FormatError, InputError
from rankscope.io.compression import COMPRESSIONS, MAGIC_BYTES, compression_of, decompressed
from rankscope.io.csv_file import check_header, records_of
from rankscope.io.ids import as_id
from rankscope.io.polars_file import load
from rankscope.io.source import Reading, source_of

_SHAPES = (
    "give {doc: {field: value}}, rows with an id, a table, or a file in JSONL, JSON, CSV, TSV or Parquet; each doc "
    "once, with a list where a field has several values"
)
_BY_SUFFIX = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".pq": "parquet",
}  # fmt: skip

NumberedRow = tuple[int, Mapping[str, Any]]


def load_docs(data: Any) -> DocTable:
    """Return fields of docs from {doc: {field: value}}, rows, a table or a file."""
    if isinstance(data, DocTable):
        return data
    if isinstance(data, str | os.PathLike):
        return read_docs(os.fspath(data))
    if isinstance(data, Mapping):
        return table_of(rows_by_id(data, "the docs"), where="the docs")
    if hasattr(data, "iloc") and hasattr(data, "to_dict"):  # pandas
        return table_of(enumerate(data.to_dict("records"), 1), where="the docs")
    if hasattr(data, "__arrow_c_stream__"):
        import polars as pl

        return table_of(enumerate(pl.DataFrame(data).iter_rows(named=True), 1), where="the docs")
    if isinstance(data, Iterable):
        return table_of(enumerate(data, 1), where="the docs")
    raise InputError(f"{type(data).__name__} holds no docs that can be read", hint=_SHAPES)


def rows_by_id(docs: Mapping[Any, Any], where: str) -> Iterator[NumberedRow]:
    """Return {doc: {field: value}} as rows."""
    for number, (doc, fields) in enumerate(docs.items(), 1):
        if not isinstance(fields, Mapping):
            raise FormatError(f"{where}: doc {doc!r} holds {type(fields).__name__}, not its fields", hint=_SHAPES)
        own_id = {name for name in fields if str(name).lower() in ID_NAMES and str(fields[name]) == str(doc)}
        yield number, {"id": doc, **{name: value for name, value in fields.items() if name not in own_id}}


def table_of(rows: Iterable[NumberedRow], *, where: str) -> DocTable:
    """Gather the fields of all rows."""
    fields: dict[str, dict[str, Any]] = {}
    seen: dict[str, int] = {}
    keys: dict[tuple[str, ...], str] = {}
    for number, row in rows:
        if not isinstance(row, Mapping):
            raise FormatError(f"{where}: row {number} is {row!r}, not fields by name", hint=_SHAPES)
        names = tuple(row)
        key = keys[names] = keys.get(names) or id_column(names, where=f"{where}: row {number}" if keys else where)
        doc = as_id(row[key], what=f"doc id in row {number} of {where}")
        if doc in seen:
            raise DuplicateError(f"{where}: doc {doc!r} is there twice, in rows {seen[doc]} and {number}", hint=_SHAPES)
        seen[doc] = number
        for name, value in flat_fields(row, without=key):
            column = fields.setdefault(name, {})
            if not is_missing(value):
                column[doc] = value
    return DocTable(fields, frozenset(seen))


def flat_fields(row: Mapping[str, Any], *, without: str) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a row; those within a field have its name and a dot before their own."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", cell) for inner, cell in value.items())
        elif name != without:
            yield str(name), value


def read_docs(path: str) -> DocTable:
    """Return the fields of docs from a file, compressed or not."""
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder", hint="give the file of docs in it, such as corpus.jsonl")
    source = source_of(path)
    with source.open() as raw:
        compression = compression_of(raw.read(MAGIC_BYTES))
    with source.open() as raw, decompressed(raw, compression, name=source.name) as stream:
        reading = Reading(source.name, stream)
        kind = kind_in_name(path)
        if kind == "parquet":
            table = table_of(parquet_rows(reading), where=source.name)
        elif kind == "json":
            table = table_of(json_rows(reading), where=source.name)
        elif kind in {"csv", "tsv"}:
            table = table_of(cell_rows(reading, delimiter="\t" if kind == "tsv" else None), where=source.name)
        else:
            table = table_of(line_rows(reading), where=source.name)
    if reading.bad_lines:
        raise BadLinesError(reading.bad_lines, hint="correct these lines, or remove them")
    if not table.doc_ids:
        raise FormatError(f"{path} holds no docs", hint=_SHAPES)
    return table


def kind_in_name(path: str) -> str:
    """Return the format that a file's name stands for; compression is no part of it."""
    pure = PurePath(path)
    if pure.suffix.lower().removeprefix(".") in COMPRESSIONS:
        pure = pure.with_suffix("")
    kind = _BY_SUFFIX.get(pure.suffix.lower())
    if kind is None:
        raise FormatError(
            f"cannot tell the format of {path} from its name", hint=f"its name should end in {', '.join(_BY_SUFFIX)}"
        )
    return kind


def line_rows(reading: Reading) -> Iterator[NumberedRow]:
    """Yield the object on each line."""
    for number, text in reading.lines():
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError as error:
            reading.reject(number, text, f"not valid JSON: {error}")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            reading.reject(number, text, "this is not a JSON object")


def json_rows(reading: Reading) -> Iterator[NumberedRow]:
    """Yield the objects of a JSON list, or of an object of docs."""
    try:
        content = json.loads(reading.whole().decode("utf-8-sig", "surrogateescape"))
    except ValueError as error:
        raise FormatError(
            f"{reading.name} is not valid JSON: {error}", hint="one object a line is JSONL: call the file .jsonl"
        ) from error
    if isinstance(content, dict):
        yield from rows_by_id(content, reading.name)
    elif isinstance(content, list):
        yield from enumerate(content, 1)
    else:
        raise FormatError(f"{reading.name} holds a single JSON value", hint=_SHAPES)


def cell_rows(reading: Reading, *, delimiter: str | None) -> Iterator[NumberedRow]:
    """Yield the rows of a table of text; a cell may hold a JSON list."""
    records = records_of(reading, delimiter)
    _, header = next(records, (0, []))
    if not any(header):
        return
    check_header(header, reading.name)
    for line, cells in records:
        if len(cells) != len(header):
            reading.reject(line, "\t".join(cells), f"{len(cells)} cells where the header has {len(header)}")
        else:
            yield line, {name.strip(): cell_value(cell) for name, cell in zip(header, cells, strict=True)}


def cell_value(text: str) -> Any:
    """Return a cell: the items of a JSON list, or else the text."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


def parquet_rows(reading: Reading) -> Iterator[NumberedRow]:
    """Yield the rows of a Parquet table."""
    import polars as pl

    table = load(reading.whole(), pl.read_parquet, name=reading.name)
    yield from enumerate(table.iter_rows(named=True), 1)
