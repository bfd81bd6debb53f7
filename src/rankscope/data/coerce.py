"""From whatever shape the caller's data is in, to rows: dicts, lists, arrays, tables, iterables of rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

import numpy as np

from rankscope.arrays import Floats, Ints
from rankscope.data.docs import is_missing
from rankscope.errors import GradeError, InputError, ScoreError
from rankscope.io.columns import QRELS_COLUMNS, RUN_COLUMNS, Aliases, find_columns
from rankscope.io.ids import as_id, as_ids
from rankscope.io.rows import EXTRA_QRELS_COLUMNS, QrelsRows, RunRows

RUN_SHAPES = (
    "a run is a path, {query: {doc: score}}, {query: [doc, …] best first}, a table with columns query, doc, score, "
    "or an iterable of (query, doc, score) rows"
)
QRELS_SHAPES = (
    "qrels are a path, {query: {doc: grade}}, {query: [relevant doc, …]}, a table with columns query, doc, grade, "
    "or an iterable of (query, doc, grade) rows"
)

Columns = dict[str, Any]


def run_rows(data: Any) -> RunRows:
    if isinstance(data, RunRows):
        return data
    columns = checked_columns(data, RUN_COLUMNS, shapes=RUN_SHAPES, error=ScoreError)
    tags = text_column(columns.pop("tag", None))
    rank = rank_column(columns.pop("rank", None))
    return RunRows(**columns, rank=rank, tag=tags[-1] if tags else None)  # the last tag, as trec_eval reports it


def qrels_rows(data: Any) -> QrelsRows:
    if isinstance(data, QrelsRows):
        return data
    columns = checked_columns(data, QRELS_COLUMNS, shapes=QRELS_SHAPES, error=GradeError)
    return QrelsRows(**columns | {role: text_column(columns.get(role)) for role in EXTRA_QRELS_COLUMNS})


def checked_columns(data: Any, aliases: Aliases, *, shapes: str, error: type[InputError]) -> Columns:
    """Return the columns of data by role, its ids as text and its numbers as floats, with what is known of the ids."""
    if isinstance(data, Mapping) and not all(isinstance(value, Sized) for value in data.values()):
        data = {  # generators are consumed, once
            key: value if isinstance(value, Sized) else list(listed_docs(key, value)) for key, value in data.items()
        }
    is_nested = isinstance(data, Mapping) and not are_columns(data, aliases)
    number = list(aliases)[2]
    columns = nested_columns(data, number) if is_nested else columns_of(data, aliases, shapes=shapes)
    query, queries_are_integers = as_ids(columns["query"], what="query id")
    doc, docs_are_integers = as_ids(columns["doc"], what="doc id")
    if len(query) != len(doc):
        raise InputError(f"the columns differ in length: {len(query)} query ids, {len(doc)} doc ids")
    integers = {"query": queries_are_integers, "doc": docs_are_integers}
    unanswered = [query for query, docs in data.items() if len(docs) == 0] if is_nested else []
    return columns | {
        "query": query,
        "doc": doc,
        number: number_column(columns[number], query, doc, what=number, error=error),
        "integer_ids": frozenset(role for role, is_integer in integers.items() if is_integer),
        "empty_queries": tuple(as_id(query, what="query id") for query in unanswered),
    }


def columns_of(data: Any, aliases: Aliases, *, shapes: str) -> Columns:
    """Return the columns of a table, or of rows: tuples in the order query, doc, number, or with named fields."""

    def pick(names: Iterable[str], take: Callable[[str], Any]) -> Columns:
        return {role: take(name) for role, name in find_columns(names, aliases).items()}

    if isinstance(data, Mapping):
        return pick(data, lambda name: data[name])
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas, whichever its string dtype
        return pick(list(data.columns), lambda name: data[name].to_numpy())
    if hasattr(data, "__arrow_c_stream__"):  # polars, pyarrow, duckdb and others
        import polars as pl

        frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data)
        return pick(frame.columns, lambda name: frame[name].to_list())
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise InputError(f"{type(data).__name__} is not a shape that can be read", hint=shapes)
    rows = list(data)
    if rows and isinstance(rows[0], Mapping):
        names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
        return pick(names, lambda name: [row.get(name) for row in rows])
    if rows and hasattr(rows[0], "_fields"):
        return pick(rows[0]._fields, lambda name: [getattr(row, name) for row in rows])
    roles = list(aliases)[:3]
    for number, row in enumerate(rows, 1):
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != len(roles):
            raise InputError(f"row {number} is {row!r}, not ({', '.join(roles)})", hint=shapes)
    return {role: [row[i] for row in rows] for i, role in enumerate(roles)}


def are_columns(data: Mapping[Any, Any], aliases: Aliases) -> bool:
    """Tell {column: values} from {query: docs} where all values are arrays: columns have names that are known."""
    if not data or not all(isinstance(value, np.ndarray) for value in data.values()):
        return False
    known = set(itertools.chain.from_iterable(aliases.values()))
    return any(isinstance(name, str) and name.strip().lower() in known for name in data)


def nested_columns(data: Mapping[Any, Any], value_role: str) -> Columns:
    """Flatten {query: {doc: value}}, or lists of docs: best first in a run, all of grade 1 in qrels."""
    if not all(isinstance(docs, Mapping) for docs in data.values()):
        if value_role == "score":
            return ranked_list_columns(data)
        pairs = [(query, doc) for query, listed in data.items() for doc in listed_docs(query, listed)]
        return {"query": [query for query, _ in pairs], "doc": [doc for _, doc in pairs], "grade": [1] * len(pairs)}
    return {
        "query": list(itertools.chain.from_iterable([query] * len(docs) for query, docs in data.items())),
        "doc": list(itertools.chain.from_iterable(data.values())),
        value_role: list(itertools.chain.from_iterable(docs.values() for docs in data.values())),
    }


def ranked_list_columns(data: Mapping[Any, Any]) -> Columns:
    """Flatten {query: [doc, …]} or {query: [(doc, score), …]}; without scores the order alone counts."""
    columns: Columns = {"query": [], "doc": [], "score": []}
    for query, ranked in data.items():
        if isinstance(ranked, AbstractSet):
            raise InputError(f"query {query!r} has a set of docs, which has no order", hint="give [doc, …] best first")
        docs = list(listed_docs(query, ranked))
        scores: Sequence[Any] = range(len(docs), 0, -1)
        if any(isinstance(entry, tuple | list) for entry in docs):
            if not all(isinstance(entry, tuple | list) and len(entry) == 2 for entry in docs):
                raise InputError(
                    f"query {query!r} mixes docs with and without scores",
                    hint="give [doc, …] best first, or [(doc, score), …]",
                )
            docs, scores = [doc for doc, _ in docs], [score for _, score in docs]
        columns["query"].extend([query] * len(docs))
        columns["doc"].extend(docs)
        columns["score"].extend(scores)
    return columns


def listed_docs(query: Any, listed: Any) -> Iterable[Any]:
    """Return the docs listed for one query, refusing a lone text that would be read letter by letter."""
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        raise InputError(f"query {query!r} has {listed!r} where its docs are expected", hint="give [doc, …]")
    return listed


def number_column(
    values: Any, query: Sequence[str], doc: Sequence[str], *, what: str, error: type[InputError]
) -> Floats:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(listed) != len(query):
        raise InputError(f"the columns differ in length: {len(query)} ids, {len(listed)} {what}s")
    column = None
    if not any(kind in {bool, str, bytes, type(None)} for kind in set(map(type, listed))):
        with suppress(TypeError, ValueError, OverflowError):
            column = np.array(listed, dtype=np.float64)
    if column is None:
        i = next(i for i, value in enumerate(listed) if not is_number(value))
    else:
        bad = np.flatnonzero(np.isnan(column) if what == "score" else ~np.isfinite(column))
        if not len(bad):
            return column
        i = int(bad[0])
    raise error(
        f"row {i + 1} (query {query[i]!r}, doc {doc[i]!r}): {what} {listed[i]!r} is not a number",
        hint=f"every row needs a {what} that is a number; remove or repair the row",
    )


def is_number(value: object) -> bool:
    """Tell whether a value is a number that can be ordered; text is none, however number-like it is."""
    try:
        return not isinstance(value, str | bytes | bool) and not math.isnan(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def rank_column(values: Any) -> Ints | None:
    """Return the rank column where it holds whole numbers throughout."""
    if values is None:
        return None
    try:
        column = np.asarray(values if isinstance(values, np.ndarray) else list(values))
        return column.astype(np.int64) if np.issubdtype(column.dtype, np.integer) else None
    except (OverflowError, ValueError):
        return None


def text_column(values: Any) -> list[str] | None:
    """Return an optional column as text, "" where it has no value."""
    if values is None:
        return None
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return ["" if is_missing(value) else str(value) for value in listed]
