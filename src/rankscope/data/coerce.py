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
from rankscope.io.columns import QRELS_COLUMNS, QRELS_REQUIRED, RUN_COLUMNS, RUN_REQUIRED, find_columns
from rankscope.io.ids import as_id, as_ids
from rankscope.io.rows import QrelsRows, RunRows

RUN_SHAPES = (
    "a run is a path, {query: {doc: score}}, {query: [doc, …] best first}, a table with columns query, doc, score, "
    "or an iterable of (query, doc, score) rows"
)
QRELS_SHAPES = (
    "qrels are a path, {query: {doc: grade}}, {query: [relevant doc, …]}, a table with columns query, doc, grade, "
    "or an iterable of (query, doc, grade) rows"
)

Aliases = Mapping[str, tuple[str, ...]]
Columns = dict[str, Any]


def run_rows(data: Any) -> RunRows:
    if isinstance(data, RunRows):
        return data
    data = with_lengths(data)
    columns = columns_of(data, RUN_COLUMNS, RUN_REQUIRED, shapes=RUN_SHAPES)
    query, doc, integer_ids = id_columns(columns)
    tags = text_column(columns.get("tag"))
    return RunRows(
        empty_queries=empty_queries(data, RUN_COLUMNS),
        query=query,
        doc=doc,
        score=number_column(columns["score"], query, doc, what="score", error=ScoreError),
        rank=rank_column(columns.get("rank")),
        tag=tags[-1] if tags else None,  # the last one, as trec_eval reports it
        integer_ids=integer_ids,
    )


def qrels_rows(data: Any) -> QrelsRows:
    if isinstance(data, QrelsRows):
        return data
    data = with_lengths(data)
    columns = columns_of(data, QRELS_COLUMNS, QRELS_REQUIRED, shapes=QRELS_SHAPES)
    query, doc, integer_ids = id_columns(columns)
    return QrelsRows(
        empty_queries=empty_queries(data, QRELS_COLUMNS),
        query=query,
        doc=doc,
        grade=number_column(columns["grade"], query, doc, what="grade", error=GradeError),
        subtopic=text_column(columns.get("subtopic")),
        rater=text_column(columns.get("rater")),
        time=text_column(columns.get("time")),
        integer_ids=integer_ids,
    )


def columns_of(data: Any, aliases: Aliases, required: Sequence[str], *, shapes: str) -> Columns:
    def pick(names: Iterable[str], take: Callable[[str], Any]) -> Columns:
        return {role: take(name) for role, name in find_columns(names, aliases, required=required).items()}

    if isinstance(data, Mapping):
        if are_columns(data, aliases):
            return pick(data, lambda name: data[name])
        return nested_columns(data, required[-1])
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas, whichever its string dtype
        return pick(list(data.columns), lambda name: data[name].to_numpy())
    if hasattr(data, "__arrow_c_stream__"):  # polars, pyarrow, duckdb and others
        import polars as pl

        frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data)
        return pick(frame.columns, lambda name: frame[name].to_list())
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise InputError(f"{type(data).__name__} is not a shape that can be read", hint=shapes)
    return row_columns(list(data), required, pick, shapes=shapes)


def row_columns(
    rows: list[Any],
    required: Sequence[str],
    pick: Callable[[Iterable[str], Callable[[str], Any]], Columns],
    *,
    shapes: str,
) -> Columns:
    """Return the columns of rows: tuples in the order query, doc, value, or rows with named fields."""
    if rows and isinstance(rows[0], Mapping):
        names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
        return pick(names, lambda name: [row.get(name) for row in rows])
    if rows and hasattr(rows[0], "_fields"):
        return pick(rows[0]._fields, lambda name: [getattr(row, name) for row in rows])
    for number, row in enumerate(rows, 1):
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(row) != len(required):
            raise InputError(f"row {number} is {row!r}, not ({', '.join(required)})", hint=shapes)
    return {role: [row[i] for row in rows] for i, role in enumerate(required)}


def with_lengths(data: Any) -> Any:
    """Return a mapping whose values can be counted: generators are consumed, once; other data stays as it is."""
    if not isinstance(data, Mapping) or all(isinstance(value, Sized) for value in data.values()):
        return data
    return {key: value if isinstance(value, Sized) else list(listed_docs(key, value)) for key, value in data.items()}


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


def empty_queries(data: Any, aliases: Aliases) -> tuple[str, ...]:
    """Return the queries of a mapping that have no docs; they have no row, but they count."""
    if not isinstance(data, Mapping) or are_columns(data, aliases):
        return ()
    return tuple(as_id(query, what="query id") for query, docs in data.items() if len(docs) == 0)


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


def id_columns(columns: Columns) -> tuple[list[str], list[str], frozenset[str]]:
    query, queries_are_integers = as_ids(columns["query"], what="query id")
    doc, docs_are_integers = as_ids(columns["doc"], what="doc id")
    if len(query) != len(doc):
        raise InputError(f"the columns differ in length: {len(query)} query ids, {len(doc)} doc ids")
    kinds = {"query": queries_are_integers, "doc": docs_are_integers}
    return query, doc, frozenset(kind for kind, integers in kinds.items() if integers)


def number_column(
    values: Any, query: Sequence[str], doc: Sequence[str], *, what: str, error: type[InputError]
) -> Floats:
    """Return the values as 64-bit floats, or say which row holds something else."""
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
