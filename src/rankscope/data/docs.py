"""Fields of docs besides their relevance, such as topic, source or date: from dicts, tables or files of any format."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from rankscope.errors import BadLinesError, DuplicateError, FormatError, InputError, did_you_mean
from rankscope.io.columns import DOC_COLUMNS, first_names, match_columns
from rankscope.io.ids import as_id
from rankscope.light import LightRecord

_SHAPES = (
    "give {doc: {field: value}}, rows with an id, a table, or a file in JSONL, JSON, CSV, TSV, Parquet or Arrow; each "
    "doc once, with a list where a field has several values"
)

NumberedRow = tuple[int, Mapping[str, Any]]


class DocTable(LightRecord, eq=False):
    """Fields of docs: {field: {doc: value}}; a doc without a value is left out of its field."""

    fields: Mapping[str, Mapping[str, Any]]
    doc_ids: frozenset[str]
    """All docs of the table, also those without any field."""

    def field(self, name: str) -> Mapping[str, Any]:
        if name in self.fields:
            return self.fields[name]
        if name == "id":  # every table has it
            return {doc: doc for doc in self.doc_ids}
        known = ", ".join(self.fields)
        raise InputError(
            f"the docs have no field {name!r}" + (f"; they have {known}" if known else ", nor any other"),
            hint=did_you_mean(name, self.fields) or "name one of them: field='…'",
        )


def load_docs(data: Any, *, only: AbstractSet[str] | None = None) -> DocTable:
    """Return the fields of docs; where `only` some are needed, those of the others are not kept."""
    if isinstance(data, DocTable):
        return data
    if not isinstance(data, str | os.PathLike):
        rows = rows_by_id(data, "the docs") if isinstance(data, Mapping) else rows_of_table(data)
        if rows is None:
            raise InputError(f"{type(data).__name__} holds no docs that can be read", hint=_SHAPES)
        return table_of(rows, where="the docs", only=only)
    from rankscope.io.source import source_of
    from rankscope.io.table import format_of

    if os.path.isdir(data):  # noqa: PTH112 (pathlib takes longer to load than a small evaluation)
        raise InputError(f"{os.fspath(data)} is a folder", hint="give the file of docs in it, such as corpus.jsonl")
    source = source_of(data)
    with source.reading(from_json=lambda content: rows_of_json(content, source.name)) as reading:
        table = table_of(doc_rows(reading, format_of(source)), where=source.name, only=only)
    if reading.bad_lines:
        raise BadLinesError(reading.bad_lines, hint="correct these lines, or remove them")
    if not table.doc_ids:
        raise FormatError(f"{source.name} holds no docs", hint=_SHAPES)
    return table


def rows_of_table(data: Any) -> Iterable[NumberedRow] | None:
    """Return the rows of a table or iterable in memory, or None where it is neither."""
    if hasattr(data, "iloc") and hasattr(data, "to_dict"):  # pandas
        return enumerate(data.to_dict("records"), 1)
    if hasattr(data, "__arrow_c_stream__"):
        import polars as pl

        return enumerate(pl.DataFrame(data).iter_rows(named=True), 1)
    return enumerate(data, 1) if isinstance(data, Iterable) and not isinstance(data, bytes) else None


def rows_by_id(docs: Mapping[Any, Any], where: str) -> Iterator[NumberedRow]:
    for number, (doc, fields) in enumerate(docs.items(), 1):
        if not isinstance(fields, Mapping):
            raise FormatError(f"{where}: doc {doc!r} holds {type(fields).__name__}, not its fields", hint=_SHAPES)
        own_id = {name for name in fields if str(name).lower() in DOC_COLUMNS["id"] and str(fields[name]) == str(doc)}
        yield number, {"id": doc, **{name: value for name, value in fields.items() if name not in own_id}}


def table_of(rows: Iterable[NumberedRow], *, where: str, only: AbstractSet[str] | None = None) -> DocTable:
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
        if only is not None and doc not in only:
            continue
        for name, value in flat_fields(row, without=key):
            column = fields.setdefault(name, {})
            if not is_missing(value):
                column[doc] = value
    return DocTable(fields, frozenset(seen))


def id_column(names: Iterable[Any], *, where: str) -> str:
    listed = list(map(str, names))
    found = match_columns(listed, {"id": DOC_COLUMNS["id"]})
    if "id" not in found:
        raise FormatError(
            f"{where} has no column for the doc id; its columns are {first_names(listed)}",
            hint="call it id, doc_id, docno or _id",
        )
    return found["id"]


def flat_fields(row: Mapping[str, Any], *, without: str) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a row; those within a field have its name and a dot before their own."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", cell) for inner, cell in value.items())
        elif name != without:
            yield str(name), value


def doc_rows(reading: Any, format_name: str) -> Iterator[NumberedRow]:
    """Yield the rows of a file of docs or queries; where cells are text, one may hold a JSON list."""
    from rankscope.io.formats import FORMATS
    from rankscope.io.table import rows_in

    rows = rows_in(reading, format_name)
    if not FORMATS[format_name].has_text_cells:
        return rows
    return ((line, {name: cell_value(cell) for name, cell in row.items()}) for line, row in rows)


def rows_of_json(content: Any, where: str) -> Iterator[NumberedRow]:
    if isinstance(content, dict):
        return rows_by_id(content, where)
    if isinstance(content, list):
        return enumerate(content, 1)
    raise FormatError(f"{where} holds a single JSON value", hint=_SHAPES)


def cell_value(text: str) -> Any:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        import json

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def values_in(cell: Any) -> tuple[Hashable, ...]:
    """Return the values that a field holds for one doc: those of a list or set, else the one value."""
    if isinstance(cell, list | tuple | AbstractSet):
        return tuple(whole_value(item) for item in cell)
    return (whole_value(cell),)


def whole_value(cell: Any) -> Hashable:
    """Return what a field holds for one doc as one value that can be compared; the order of a list does not count."""
    if isinstance(cell, list | tuple | AbstractSet):
        return frozenset(map(whole_value, cell))
    return cell if isinstance(cell, Hashable) else repr(cell)


def is_missing(cell: Any) -> bool:
    """Tell whether a field holds nothing for a doc: None, NaN, an empty text or an empty list."""
    if cell is None or (isinstance(cell, str | list | tuple | AbstractSet) and not cell):
        return True
    return not isinstance(cell, str | list | tuple | AbstractSet) and str(cell) in {"nan", "NaN", "NaT", "<NA>"}
