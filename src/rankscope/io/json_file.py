"""JSONL, one object a line; and JSON: a list of such objects, or for runs and qrels an object of queries.

The latter is how ranx and pytrec_eval keep them: {"query": {"doc": number}}, or {"query": ["doc", …]}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from rankscope.errors import DuplicateError, FormatError, InputError, OptionError
from rankscope.io.numbers import grade_text, json_number, json_text
from rankscope.io.rows import AnyRows, RunRows
from rankscope.io.source import FileReading
from rankscope.io.table import RUN, Collector, Format, NumberedRow, RowKind, collect_rows, looks_like, table_columns
from rankscope.io.write import refuse_extra_columns, write_lines

_SHAPES = '{"query": {"doc": 1}}, {"query": ["doc"]} or [{"query": "…", "doc": "…", …}]'


class Pairs(list[tuple[str, Any]]):
    """A JSON object that has a key twice, as its pairs, so that this is seen and nothing is dropped."""

    __slots__ = ()

    def repeated(self) -> str:
        seen: set[str] = set()
        return next(key for key, _ in self if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def parse(text: str, *, strict: bool) -> Any:
    """Parse JSON; when strict, an object that has a key twice stays `Pairs`, and NaN is refused."""

    def unique_keys(pairs: list[tuple[str, Any]]) -> Any:
        found = dict(pairs)
        return found if len(found) == len(pairs) else Pairs(pairs)

    def constant(word: str) -> float:
        if word == "NaN":
            raise ValueError("NaN is not a number")
        return float(word)  # infinity, which JSON does not have but many programs write

    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_constant=constant) if strict else json.loads(text)
    except RecursionError:
        raise ValueError("the values are nested too deeply") from None


def line_rows(reading: FileReading) -> Iterator[NumberedRow]:
    text = ""
    reading.row_text = lambda: text
    for number, text in reading.lines():
        if not text.strip():
            continue
        try:
            row = parse(text, strict=reading.strict)
        except ValueError as error:
            reading.reject(number, text, f"not valid JSON: {error}")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            reading.reject(number, text, not_an_object(row))


def not_an_object(row: Any) -> str:
    """Say what is wrong with a row that is no object, or one that has a key twice."""
    return f"the key {row.repeated()!r} is there twice" if isinstance(row, Pairs) else "this is not a JSON object"


def json_content(reading: FileReading, *, hint: str = "one object a line is JSONL: call the file .jsonl") -> Any:
    text = reading.whole().decode("utf-8-sig", "surrogateescape")
    try:
        return parse(text, strict=reading.strict)
    except ValueError as error:
        raise FormatError(f"{reading.name} is not valid JSON: {error}", hint=hint) from error


def json_rows(reading: FileReading) -> Iterator[NumberedRow]:
    content = json_content(reading)
    if reading.from_json is not None:
        yield from reading.from_json(content)
    elif isinstance(content, list):
        yield from enumerate(content, 1)
    else:
        raise FormatError(f"{reading.name} holds a single JSON value", hint="a list of objects is read: [{…}, {…}]")


def read_json(reading: FileReading, kind: RowKind[Any]) -> Collector:
    """Read a run or qrels: a list of row objects, or an object of queries."""
    content = json_content(reading, hint="one object a line is JSONL: say format='jsonl'")
    if isinstance(content, Pairs):
        raise DuplicateError(f"{reading.name}: query {content.repeated()!r} appears twice", hint="keep one of them")
    if isinstance(content, list):
        return collect_rows(reading, kind, list_rows(reading, content))
    if not isinstance(content, dict):
        raise FormatError(f"{reading.name} holds a single JSON value", hint=f"the shapes read are {_SHAPES}")
    if reading.columns:
        raise OptionError(f"{reading.name} has no named columns", hint="leave out the mapping of columns")
    collector = Collector()
    for query, docs in content.items():
        where = f"{reading.name}: query {query!r}"
        for doc, value in valued_docs(docs, kind, where=where):
            try:
                collector.add({"query": query, "doc": doc, kind.value: value}, kind)
            except InputError as error:
                raise type(error)(f"{where}, doc {doc!r}: {error.message}", hint=error.hint) from error
    return collector


def list_rows(reading: FileReading, content: list[Any]) -> Iterator[NumberedRow]:
    """Yield the row objects of a list; a bad one is reported by its place in the list."""
    number, row = 0, None
    reading.row_text = lambda: f"item {number} of the list: {dict(row) if isinstance(row, Pairs) else row}"
    for number, row in enumerate(content, 1):
        if isinstance(row, dict):
            yield number, row
        else:
            reading.reject(number, reading.row_text(), not_an_object(row))


def valued_docs(docs: Any, kind: RowKind[Any], *, where: str) -> Iterable[tuple[Any, Any]]:
    """Return the docs of a query with their scores or grades.

    Docs may come without a number: in a run their order counts, in qrels each is relevant.
    """
    if isinstance(docs, Pairs):
        raise DuplicateError(f"{where}: doc {docs.repeated()!r} appears twice", hint="keep one of them")
    if isinstance(docs, dict):
        return docs.items()
    if not isinstance(docs, list):
        raise FormatError(f"{where} holds {docs!r} where its docs belong", hint=f"the shapes read are {_SHAPES}")
    if docs and all(isinstance(doc, list) and len(doc) == 2 for doc in docs):
        if kind.name != "run":
            raise FormatError(f"{where} holds pairs of doc and score", hint=looks_like(RUN))
        return ((doc, score) for doc, score in docs)
    if kind.name == "run":
        return zip(docs, map(float, range(len(docs), 0, -1)), strict=True)
    return ((doc, 1.0) for doc in docs)


def write_json(rows: AnyRows, stream: BinaryIO) -> None:
    refuse_extra_columns(rows, "JSON")
    texts = map(repr, rows.score.tolist()) if isinstance(rows, RunRows) else map(grade_text, rows.grade.tolist())
    queries: dict[str, dict[str, str]] = {}
    for query, doc, number in zip(rows.query, rows.doc, texts, strict=True):
        docs = queries.setdefault(query, {})
        if doc in docs:
            raise FormatError(
                f"doc {doc!r} appears twice for query {query!r}, which JSON cannot hold",
                hint="write trec, csv, tsv, jsonl, parquet or arrow instead, or keep one of them",
            )
        docs[doc] = f"{json_text(doc)}: {json_number(number)}"
    lines = (f"{json_text(query)}: {{{', '.join(docs.values())}}}" for query, docs in queries.items())
    stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def write_jsonl(rows: AnyRows, stream: BinaryIO) -> None:
    def cells(name: str, column: list[Any]) -> Iterator[str]:
        if name == "grade":
            return (f'"grade": {grade_text(cell)}' for cell in column)
        if column and isinstance(column[0], str):
            return (f'"{name}": {json_text(cell)}' for cell in column)
        return (f'"{name}": {json_number(repr(cell))}' for cell in column)

    columns = (cells(name, column) for name, column in table_columns(rows).items())
    write_lines((f"{{{', '.join(row)}}}\n" for row in zip(*columns, strict=True)), stream)


JSON = Format(rows=json_rows, read=read_json, write=write_json)
JSONL = Format(rows=line_rows, write=write_jsonl)
