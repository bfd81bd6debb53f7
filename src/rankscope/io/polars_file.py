"""Parquet and Arrow IPC (also called Feather): tables with typed columns, read and written by Polars."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from rankscope.errors import FormatError, IdError
from rankscope.io.checks import check_encodable
from rankscope.io.ids import as_id
from rankscope.io.kinds import EXTRA_QRELS_COLUMNS, AnyRows, Collector, Kind, find_roles, table_columns
from rankscope.io.source import Reading

if TYPE_CHECKING:
    import polars as pl

STREAM_MAGIC = b"\xff\xff\xff\xff"


def read_parquet(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read Parquet."""
    import polars as pl

    return collect(reading, kind, load(reading.whole(), pl.read_parquet, name=reading.name))


def read_arrow(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read Arrow IPC, as a file or as a stream."""
    return collect(reading, kind, load(reading.whole(), read_ipc, name=reading.name))


def read_ipc(content: io.BytesIO) -> pl.DataFrame:
    """Read either layout of Arrow IPC."""
    import polars as pl

    return pl.read_ipc_stream(content) if is_stream(content) else pl.read_ipc(content)


def is_stream(content: io.BytesIO) -> bool:
    """Tell whether Arrow IPC is laid out as a stream."""
    return content.getbuffer()[: len(STREAM_MAGIC)] == STREAM_MAGIC


def load(content: bytes, read: Callable[[io.BytesIO], Any], *, name: str) -> Any:
    """Read a table or its schema, turning what Polars raises into an error of ours."""
    from polars.exceptions import PanicException, PolarsError

    try:
        return read(io.BytesIO(content))
    except (PolarsError, PanicException, OSError, ValueError) as error:
        raise FormatError(
            f"{name} cannot be read as a table: {str(error).partition(chr(10))[0]}",
            hint="it is damaged, cut off or in another format; without a format given, it is told from the content",
        ) from error


def column_names(content: bytes, name: str, *, is_arrow: bool) -> list[str]:
    """Return the names of the columns."""
    import polars as pl

    return list(load(content, read_ipc_schema if is_arrow else pl.read_parquet_schema, name=name))


def read_ipc_schema(content: io.BytesIO) -> dict[str, Any]:
    """Return the schema of either layout of Arrow IPC."""
    import polars as pl

    return dict(read_ipc(content).schema if is_stream(content) else pl.read_ipc_schema(content))


def collect(reading: Reading, kind: Kind[Any], table: pl.DataFrame) -> Collector:
    """Gather the columns of a table, noting the rows that lack an id or a number."""
    roles = find_roles(table.columns, kind, chosen=reading.columns, where=reading.name)
    table = table.select(*(table[name].alias(role) for role, name in roles.items()))
    table = table.with_columns(numbers(table, kind, name=roles[kind.value]))
    collector = Collector(
        integer_ids={role for role in ("query", "doc") if table.schema[role].is_integer()},
    )
    table = table.with_columns(id_column(table["query"]), id_column(table["doc"]))
    table = without_bad_rows(reading, kind, table)
    fill(collector, kind, table)
    return collector


def numbers(table: pl.DataFrame, kind: Kind[Any], *, name: str) -> pl.Series:
    """Return the column of scores or grades as floats, and refuse one that does not hold numbers."""
    import polars as pl

    column = table[kind.value]
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise FormatError(
            f"column {name!r} holds {column.dtype}, not numbers", hint=f"map the {kind.value}s with --columns"
        )
    return column.cast(pl.Float64)


def id_column(column: pl.Series) -> pl.Series:
    """Return a column of ids as text."""
    import polars as pl

    if not (column.dtype.is_integer() or column.dtype in {pl.String, pl.Categorical, pl.Enum, pl.Binary, pl.Null}):
        as_id(column.drop_nulls()[0], what=column.name)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise IdError(f"a {column.name} id holds bytes that are not UTF-8", hint="store ids as text") from error


def without_bad_rows(reading: Reading, kind: Kind[Any], table: pl.DataFrame) -> pl.DataFrame:
    """Note the rows that cannot be used, and return the others."""
    import polars as pl

    usable = pl.col("query", "doc").is_not_null() & (pl.col("query", "doc") != "")
    number = pl.col(kind.value)
    countable = number.is_not_nan() if kind.allows_infinity else number.is_finite()
    is_good = table.select(pl.all_horizontal(usable, countable.fill_null(value=False))).to_series()
    for place in (~is_good).arg_true():
        row = table.row(place, named=True)
        reading.reject(place + 1, f"row {place + 1}: {row}", row_problem(row, kind))
    return table.filter(is_good)


def row_problem(row: dict[str, Any], kind: Kind[Any]) -> str:
    """Say what a row lacks."""
    lacking = next((role for role in ("query", "doc") if not row[role]), None)
    return f"the {lacking} id is missing" if lacking else kind.not_a_number(row[kind.value])


def fill(collector: Collector, kind: Kind[Any], table: pl.DataFrame) -> None:
    """Move the columns of a checked table over."""
    collector.query, collector.doc = table["query"].to_list(), table["doc"].to_list()
    collector.value = array("d", table[kind.value].to_numpy().tobytes())
    collector.rank = ranks(table)
    collector.tag = (texts(table, "tag") or [""])[-1] or None
    for role in EXTRA_QRELS_COLUMNS:
        column = texts(table, role)
        if column is not None:
            collector.extras[role] = column


def ranks(table: pl.DataFrame) -> array[int] | None:
    """Return the ranks where every row has a whole number."""
    import polars as pl

    if "rank" not in table.columns or not table.schema["rank"].is_integer():
        return None
    column = table["rank"].cast(pl.Int64, strict=False)
    return None if column.null_count() else array("q", column.to_numpy().tobytes())


def texts(table: pl.DataFrame, role: str) -> list[str] | None:
    """Return an optional column as text, blank where it holds nothing."""
    import polars as pl

    return table[role].cast(pl.String).fill_null("").to_list() if role in table.columns else None


def write_parquet(rows: AnyRows, stream: BinaryIO) -> None:
    """Write Parquet."""
    content = io.BytesIO()
    table_of(rows).write_parquet(content)
    stream.write(content.getbuffer())


def write_arrow(rows: AnyRows, stream: BinaryIO) -> None:
    """Write Arrow IPC."""
    content = io.BytesIO()
    table_of(rows).write_ipc(content)
    stream.write(content.getbuffer())


def table_of(rows: AnyRows) -> pl.DataFrame:
    """Return rows as a table, after refusing text that is not Unicode."""
    import polars as pl

    columns = table_columns(rows)
    for name, column in columns.items():
        check_encodable((cell for cell in column if isinstance(cell, str)), what=name, errors="strict")
    return pl.DataFrame(columns)
