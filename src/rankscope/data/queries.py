"""Queries with their texts and attributes (language, difficulty, ...): from files, tables or dicts.

Files may be JSONL, JSON, CSV, TSV, Parquet or Arrow, TREC topics (old SGML or XML), plain lines of id and text, a BEIR
folder, or test cases of earlier frameworks; compressed or not.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.arrays import Floats, read_only
from rankscope.data.docs import NumberedRow, doc_rows, is_missing, rows_of_table, whole_value
from rankscope.errors import BadLinesError, DuplicateError, FormatError, InputError, OptionError, did_you_mean
from rankscope.io.columns import QUERY_COLUMNS, first_names, match_columns
from rankscope.io.delimited import delimiter_of
from rankscope.io.formats import COMPRESSIONS, FORMATS
from rankscope.io.ids import as_id
from rankscope.io.numbers import number_in
from rankscope.io.source import BYTE_ORDER_MARK, FileReading, StoredFile, source_of
from rankscope.io.table import guess_format
from rankscope.light import LightRecord

LANGUAGE = ("language", "lang")
"""Attributes whose values are never pooled unless asked for."""
_SHAPES = (
    "give {query: text}, {query: {attribute: value}}, rows with an id, a table, or a file in JSONL, JSON, CSV, TSV, "
    "Parquet, Arrow or TREC topics; each query once"
)
_TOP = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
_TOPIC_FIELD = re.compile(r"<([a-z][\w-]*)>(.*?)(?=</?[a-z][\w-]*>|\Z)", re.IGNORECASE | re.DOTALL)
_SAID_AGAIN = re.compile(r"(number|topic|domain|description|narrative|summary|concept\(s\)):\s*", re.IGNORECASE)
"""What the first years wrote behind a tag: <num> Number: 051."""
_TOPIC_NAMES = {"num": "number", "desc": "description", "narr": "narrative", "dom": "domain", "con": "concepts"}
_TOPICS_START = re.compile(rb"\s*(<\?xml|<!doctype|<!--|<top(ics|ic)?\b|<[a-z][\w-]*>\s*<top)", re.IGNORECASE)


class QueryTable(LightRecord, eq=False):
    """Queries: their ids in the order given, their texts, and what else is known of each."""

    ids: tuple[str, ...]
    texts: Mapping[str, str] | None
    """What was searched for, by query; None where no query has a text."""
    attributes: Mapping[str, Mapping[str, Any]]
    """{attribute: {query: value}}; a query without a value is left out of the attribute."""
    nested: Mapping[str, Mapping[str, Any]] = {}
    """Objects and lists of objects, such as a conversation: systems get them, but nothing is broken down by them."""

    def __len__(self) -> int:
        return len(self.ids)

    def attribute(self, name: str) -> Mapping[str, Any]:
        if name in self.attributes:
            return self.attributes[name]
        known = ", ".join(self.attributes)
        raise InputError(
            f"the queries have no attribute {name!r}" + (f"; they have {known}" if known else ", nor any other"),
            hint=did_you_mean(name, self.attributes) or "attributes are further columns or keys of the queries",
        )

    @property
    def language(self) -> str | None:
        """The attribute that says in which language a query is."""
        return next((name for name in self.attributes if name.lower() in LANGUAGE), None)

    def strata(self, names: str | Sequence[str]) -> dict[str, tuple[Hashable, ...]]:
        """Return the stratum of each query: its values of the named attributes, None where it has none."""
        columns = [self.attribute(name) for name in ([names] if isinstance(names, str) else names)]
        return {query: tuple(whole_value(column.get(query)) for column in columns) for query in self.ids}

    def attributes_of(self, query: str) -> dict[str, Any]:
        """Return all that is known of a query, objects included."""
        parts = (self.nested, self.attributes)
        return {name: column[query] for part in parts for name, column in part.items() if query in column}


def load_queries(data: Any, *, columns: Mapping[str, str] | None = None, need_text: bool = False) -> QueryTable:
    """Return queries from a path, {query: text}, {query: {attribute: value}}, rows or a table.

    `columns` says which column holds what: {"id": ..., "text": ...}; any other key is the name of an attribute. With
    `need_text`, a query without a text is an error.
    """
    if isinstance(data, QueryTable):
        return data
    is_file = isinstance(data, str | os.PathLike)
    rows: Any = None
    if is_file:
        source = source_of(queries_in(Path(data)) if os.path.isdir(data) else data)  # noqa: PTH112 (any name at all)
    else:
        source = StoredFile("the queries", b"")
        rows = rows_by_query(data, source.name) if isinstance(data, Mapping) else rows_of_table(data)
        if rows is None:
            raise InputError(f"{type(data).__name__} holds no queries that can be read", hint=_SHAPES)
    with source.reading(from_json=lambda content: rows_of_json(content, source)) as reading:
        if is_file:
            rows = rows_of_file(reading, source.head(1 << 12), columns=columns or {})
        table = gather_queries(reading, rows, columns=columns or {}, need_text=need_text)
    if reading.bad_lines:
        mapped = " and a text; where names do not tell, map the columns: id=NAME, text=NAME" * need_text
        raise BadLinesError(reading.bad_lines, hint="every query needs an id of its own" + mapped)
    if is_file and not table.ids:
        raise FormatError(f"{source.name} holds no queries", hint=_SHAPES)
    return table


def query_weights(table: QueryTable, column: str, query_ids: Sequence[str]) -> Floats:
    """Return how much each query counts, from a column such as how often it is asked; the order is that of the ids.

    Weights are numbers from 0 up, not all of them 0; a query without one is an error.
    """
    given = table.attribute(column)
    if lacking := [query for query in query_ids if query not in given]:
        raise InputError(
            f"{len(lacking)} of {len(query_ids)} queries have no weight in column {column!r}: {few(lacking)}",
            hint="every judged query needs one; 0 leaves a query out of the means",
        )
    cells = (given[query] for query in query_ids)
    weights = [float(cell) if isinstance(cell, np.number) else number_in(cell) for cell in cells]
    wrong = [
        f"{query} has {given[query]!r}"
        for query, weight in zip(query_ids, weights, strict=True)
        if weight is None or not 0 <= weight < math.inf
    ]
    if wrong:
        raise InputError(
            f"column {column!r} has weights that are no numbers from 0 up: {few(wrong)}",
            hint="a weight says how much a query counts, e.g. how often it is asked",
        )
    if not any(weights):
        raise InputError(
            f"every weight in column {column!r} is 0, so that no query counts", hint="give at least one query more"
        )
    return read_only(np.array(weights, dtype=np.float64))


def few(items: Sequence[str]) -> str:
    return ", ".join(items[:3]) + (", …" if len(items) > 3 else "")


def rows_by_query(queries: Mapping[Any, Any], where: str) -> Iterator[NumberedRow]:
    id_names = QUERY_COLUMNS["id"]
    for number, (query, value) in enumerate(queries.items(), 1):
        if isinstance(value, str):
            yield number, {"_id": query, "text": value}
        elif isinstance(value, Mapping):
            own = {name for name in value if str(name).lower() in id_names and str(value[name]) == str(query)}
            yield number, {"_id": query, **{name: cell for name, cell in value.items() if name not in own}}
        else:
            raise FormatError(f"{where}: query {query!r} holds {type(value).__name__}", hint=_SHAPES)


def queries_in(folder: Path) -> Path:
    """Return the file of queries in a folder: queries.jsonl or queries in any other format, or the only one."""
    found = sorted(entry for entry in folder.iterdir() if entry.is_file() and "queries" in words_of(entry.name))
    chosen = [entry for entry in found if bare_stem(entry.name) == "queries"] or found
    if len(chosen) != 1:
        listed = ": " + ", ".join(entry.name for entry in chosen) if chosen else ""
        raise FormatError(
            f"{folder} holds {'several files of' if chosen else 'no'} queries{listed}",
            hint=f"give one of them, e.g. {chosen[0]}" if chosen else "a folder of a collection holds queries.jsonl",
        )
    return chosen[0]


def words_of(name: str) -> set[str]:
    return set(name.lower().replace("-", ".").replace("_", ".").split("."))


def bare_stem(name: str) -> str:
    parts = name.lower().split(".")
    return ".".join(parts[: -2 if parts[-1] in COMPRESSIONS else -1])


def rows_of_file(reading: FileReading, head: bytes, *, columns: Mapping[str, str]) -> Iterator[NumberedRow]:
    if _TOPICS_START.match(head.removeprefix(BYTE_ORDER_MARK)):
        return topic_rows(reading)
    format_name = guess_format(reading.name, head)
    if format_name is not None and not FORMATS[format_name].has_text_cells:
        return doc_rows(reading, format_name)
    first = head.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace").lstrip().partition("\n")[0].strip("\r")
    delimiter = "\t" if format_name == "tsv" else delimiter_of(first)
    if format_name is None or not has_id_column(first.split(delimiter), columns):
        return pair_rows(reading, delimiter=delimiter if delimiter in first else ":")
    return doc_rows(reading, format_name)


def has_id_column(header: list[str], columns: Mapping[str, str]) -> bool:
    lowered = {cell.strip().strip('"').lower() for cell in header}
    return bool(columns) or bool(lowered.intersection(QUERY_COLUMNS["id"]))


def topic_rows(reading: FileReading) -> Iterator[NumberedRow]:
    """Yield TREC topics, with their ids under the name that tables use."""
    text = reading.whole().decode("utf-8-sig", "surrogateescape")
    rows = sgml_rows if re.search(r"<top>", text, re.IGNORECASE) else xml_rows
    for line, row in rows(text, reading.name):
        tag = next((tag for tag in ("number", "num", "id", "identifier", "qid", "query_id") if tag in row), "")
        yield line, {"_id": row.get(tag), **{name: value for name, value in row.items() if name != tag}}


def sgml_rows(text: str, name: str) -> Iterator[NumberedRow]:
    """Yield topics whose tags need not be closed, such as <num> Number: 301 <title> Organized Crime."""
    found = list(_TOP.finditer(text))
    n_begun = len(re.findall(r"<top>", text, re.IGNORECASE))
    if len(found) < n_begun:
        raise FormatError(f"{name} begins {n_begun} topics and ends {len(found)}", hint="each ends with </top>")
    for match in found:
        line = text.count("\n", 0, match.start()) + 1
        row: dict[str, Any] = {}
        for tag, body in _TOPIC_FIELD.findall(match[1]):
            value = _SAID_AGAIN.sub("", " ".join(body.split()), count=1)
            row.setdefault(_TOPIC_NAMES.get(tag.lower(), tag.lower()), value)
        yield line, row


def xml_rows(text: str, name: str) -> Iterator[NumberedRow]:
    """Yield the topics of an XML file: the children of its root that share the most usual tag."""
    from xml.etree import ElementTree as ET

    if "<!ENTITY" in text:  # such a file can grow without bound
        raise FormatError(f"{name} defines entities, which is not read", hint="write their text out")
    try:
        root = ET.fromstring(text.encode("utf-8", "surrogateescape"))  # noqa: S314 (entities are refused above)
    except ET.ParseError as error:
        raise FormatError(f"{name} is not valid XML: {error}", hint="topics are XML, or <top> … </top>") from error
    tags = [child.tag for child in root]
    usual = max(tags, key=tags.count, default="")
    elements = [child for child in root if child.tag == usual]
    if not elements:
        raise FormatError(f"{name} is XML without topics", hint='a topic is <topic number="1"><title>…</title></topic>')
    starts = [match.start() for match in re.finditer(rf"<{re.escape(usual)}[\s>]", text)]
    for i, element in enumerate(elements):
        row: dict[str, Any] = dict(element.attrib)
        for child in element:
            if not len(child) and (child.text or "").strip():
                row.setdefault(child.tag.lower(), " ".join(str(child.text).split()))
        own = " ".join((element.text or "").split())
        # where a comment repeats the tag, its place among the topics instead of its line
        line = text.count("\n", 0, starts[i]) + 1 if len(starts) == len(elements) else i + 1
        yield line, {**row, **({"text": own} if own else {})}


def pair_rows(reading: FileReading, *, delimiter: str) -> Iterator[NumberedRow]:
    for number, line in reading.lines():
        if not line.strip():
            continue
        query, mark, text = line.rstrip("\r\n").partition(delimiter)
        if mark:
            yield number, {"_id": query.strip(), "text": text.strip()}
        else:
            reading.reject(number, line, f"there is no {'tab' if delimiter == chr(9) else repr(delimiter)} in it")


def rows_of_json(content: Any, source: StoredFile) -> Iterator[NumberedRow]:
    """Yield the queries of a JSON list, of an object of queries, or of test cases of an earlier framework."""
    if isinstance(content, list) and content and isinstance(content[0], dict) and has_id_column(list(content[0]), {}):
        return enumerate(content, 1)
    if isinstance(content, dict) and all(isinstance(value, str | dict) for value in content.values()):
        return rows_by_query(content, source.name)
    from rankscope.data.imported import import_collection

    queries = import_collection(source.name).queries
    return enumerate(({"_id": query.id, "text": query.text or None, **query.attributes} for query in queries), 1)


def gather_queries(
    reading: FileReading, rows: Iterable[NumberedRow], *, columns: Mapping[str, str], need_text: bool
) -> QueryTable:
    lines: dict[str, int] = {}
    texts: dict[str, str] = {}
    attributes: dict[str, dict[str, Any]] = {}
    nested: dict[str, dict[str, Any]] = {}
    roles_of: dict[tuple[str, ...], dict[str, str]] = {}
    for number, row in rows:
        if not isinstance(row, Mapping):
            raise FormatError(f"{reading.name}: row {number} is {row!r}, not values by name", hint=_SHAPES)
        names = tuple(map(str, row))
        if names not in roles_of:
            roles_of[names] = query_columns(names, columns, where=f"{reading.name}:{number}")
        roles = roles_of[names]
        cell, text = row[roles["id"]], row.get(roles.get("text", ""))
        if is_missing(cell) or not str(cell).strip():
            reading.reject(number, "", "the query has no id")
            continue
        query = as_id(cell, what=f"query id in row {number} of {reading.name}")
        if query in lines:
            raise DuplicateError(
                f"{reading.name}:{number}: query {query!r} is there already, at line {lines[query]}",
                hint="each query is given once",
            )
        lines[query] = number
        if not is_missing(text) and str(text).strip():
            texts[query] = str(text)
        elif need_text:
            why = "" if "text" in roles else f": the columns are {first_names(names)}"
            reading.reject(number, f"query {query!r}", f"the query has no text{why}")
        name_of = {column: role for role, column in roles.items() if role not in {"id", "text"}}
        for name, value in cells_of(row, without={roles["id"], roles.get("text")}):
            column = (nested if is_nested(value) else attributes).setdefault(name_of.get(name, name), {})
            if not is_missing(value):
                column[query] = value
    attributes = {name: column for name, column in attributes.items() if column or name not in nested}
    return QueryTable(tuple(lines), texts or None, attributes, nested)


def query_columns(names: Sequence[str], columns: Mapping[str, str], *, where: str) -> dict[str, str]:
    chosen = {role: name.lower() for role, name in columns.items()}
    found = match_columns(names, QUERY_COLUMNS, chosen=chosen, where=where, error=OptionError)
    if "id" not in found:
        raise FormatError(
            f"{where} has no column for the query id; its columns are {first_names(names)}",
            hint="call it _id, id or query_id, or map it: id=NAME",
        )
    return found


def cells_of(row: Mapping[str, Any], *, without: set[str | None]) -> Iterator[tuple[str, Any]]:
    """Yield the cells of a row; what an inner object such as BEIR's metadata holds counts as the query's own, too."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((str(inner), cell) for inner, cell in value.items() if inner not in row)
        if name not in without and not (isinstance(value, Mapping) and not value):
            yield str(name), value


def is_nested(cell: Any) -> bool:
    """Tell whether a cell is an object, or a list with objects or lists in it."""
    items = cell if isinstance(cell, list | tuple | set | frozenset) else ()
    return isinstance(cell, Mapping) or any(isinstance(item, Mapping | list | tuple) for item in items)
