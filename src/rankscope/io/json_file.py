"""JSON: an object of queries, each with its docs (as ranx and pytrec_eval keep them), or a list of row objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from rankscope.errors import DuplicateError, FormatError, InputError, OptionError
from rankscope.io.checks import refuse_extra_columns
from rankscope.io.jsonl import KeyedRows, Pairs, parse
from rankscope.io.kinds import EXTRA_QRELS_COLUMNS, RUN, AnyRows, Collector, Kind, looks_like
from rankscope.io.numbers import grade_text, json_number, json_text
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import Reading

_PAIR = 2
_SHAPES = '{"query": {"doc": 1}}, {"query": ["doc"]} or [{"query": "…", "doc": "…", …}]'


def read(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read a JSON file of either shape."""
    content = parsed(reading)
    if isinstance(content, Pairs):
        return read_object(reading, kind, content)
    if isinstance(content, list):
        return read_list(reading, kind, content)
    raise FormatError(f"{reading.name} holds a single JSON value", hint=f"the shapes read are {_SHAPES}")


def parsed(reading: Reading) -> Any:
    """Return what the JSON says."""
    text = reading.whole().decode("utf-8-sig", "surrogateescape")
    try:
        return parse(text)
    except ValueError as error:
        raise FormatError(
            f"{reading.name} is not valid JSON: {error}", hint="one object a line is JSONL: say format='jsonl'"
        ) from error


def read_list(reading: Reading, kind: Kind[Any], content: list[Any]) -> Collector:
    """Read a list of row objects; a bad one is reported by its place in the list."""
    rows = KeyedRows(reading, kind)
    for number, row in enumerate(content, 1):
        rows.check_first(row)
        rows.add(number, row, f"item {number} of the list: {dict(row) if isinstance(row, Pairs) else row}")
    return rows.collector


def read_object(reading: Reading, kind: Kind[Any], content: Pairs) -> Collector:
    """Read an object of queries."""
    if reading.columns:
        raise OptionError(f"{reading.name} has no named columns", hint="leave out the mapping of columns")
    check_repeated(content, what="query", where=reading.name)
    collector = Collector()
    for query, docs in content:
        where = f"{reading.name}: query {query!r}"
        for doc, value in valued_docs(docs, kind, where=where):
            take_doc(collector, kind, {"query": query, "doc": doc, kind.value: value}, where=f"{where}, doc {doc!r}")
    return collector


def take_doc(collector: Collector, kind: Kind[Any], row: dict[str, Any], *, where: str) -> None:
    """Add a doc of a query, or say which one is wrong."""
    try:
        collector.add(row, kind)
    except InputError as error:
        raise type(error)(f"{where}: {error.message}", hint=error.hint) from error


def check_repeated(pairs: Pairs, *, what: str, where: str) -> None:
    """Refuse an object that has a key twice, of which JSON parsers keep one in silence."""
    repeated = pairs.repeated()
    if repeated is not None:
        raise DuplicateError(f"{where}: {what} {repeated!r} appears twice", hint="keep one of them")


def valued_docs(docs: Any, kind: Kind[Any], *, where: str) -> Iterable[tuple[Any, Any]]:
    """Return the docs of a query with their scores or grades."""
    if isinstance(docs, Pairs):
        check_repeated(docs, what="doc", where=where)
        return docs
    if not isinstance(docs, list):
        raise FormatError(f"{where} holds {docs!r} where its docs belong", hint=f"the shapes read are {_SHAPES}")
    if docs and all(isinstance(doc, list) and len(doc) == _PAIR for doc in docs):
        return scored_pairs(docs, kind, where=where)
    return listed_docs(docs, kind)


def scored_pairs(docs: list[Any], kind: Kind[Any], *, where: str) -> Iterator[tuple[Any, Any]]:
    """Return docs given as [doc, score], which only runs have."""
    if kind.name != "run":
        raise FormatError(f"{where} holds pairs of doc and score", hint=looks_like(RUN))
    return ((doc, score) for doc, score in docs)


def listed_docs(docs: list[Any], kind: Kind[Any]) -> Iterator[tuple[Any, float]]:
    """Return docs given without a number: in a run the order counts, in qrels each is relevant."""
    if kind.name == "run":
        return zip(docs, map(float, range(len(docs), 0, -1)), strict=True)
    return ((doc, 1.0) for doc in docs)


def write(rows: AnyRows, stream: BinaryIO) -> None:
    """Write an object of queries, each an object of docs."""
    if isinstance(rows, QrelsRows):
        refuse_extra_columns(rows, EXTRA_QRELS_COLUMNS, format_name="JSON")
    queries = docs_by_query(rows)
    lines = (f"{json_text(query)}: {{{', '.join(docs.values())}}}" for query, docs in queries.items())
    stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def docs_by_query(rows: AnyRows) -> dict[str, dict[str, str]]:
    """Return each query's docs as pieces of JSON."""
    queries: dict[str, dict[str, str]] = {}
    for query, doc, number in zip(rows.query, rows.doc, number_texts(rows), strict=True):
        docs = queries.setdefault(query, {})
        if doc in docs:
            raise FormatError(
                f"doc {doc!r} appears twice for query {query!r}, which JSON cannot hold",
                hint="write trec, csv, tsv, jsonl, parquet or arrow instead, or keep one of them",
            )
        docs[doc] = f"{json_text(doc)}: {json_number(number)}"
    return queries


def number_texts(rows: AnyRows) -> Iterator[str]:
    """Return the scores or grades as text."""
    return map(repr, rows.score.tolist()) if isinstance(rows, RunRows) else map(grade_text, rows.grade.tolist())
