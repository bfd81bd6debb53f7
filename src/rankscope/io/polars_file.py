"""Parquet and Arrow IPC (also called Feather): tables with typed columns, read and written by Polars."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rankscope.errors import FormatError, IdError
from rankscope.io.columns import naming_hint
from rankscope.io.ids import as_id
from rankscope.io.limits import check_growth, check_room, size_of
from rankscope.io.rows import AnyRows
from rankscope.io.source import FileReading
from rankscope.io.table import Collector, Format, NumberedRow, RowKind, find_roles, table_columns
from rankscope.io.table_check import TABLE_GROWTH, check_table, errors_of_polars, without_panic_text
from rankscope.io.write import check_encodable

if TYPE_CHECKING:
    import polars as pl

    from rankscope.io.remote import RemoteFile
    from rankscope.io.remote_parquet import FetchedColumns

_STREAM_MAGIC = b"\xff\xff\xff\xff"
_ROWS_AT_ONCE = 20_000
_TEXT_BYTES = 80
"""What a text needs in Python besides its letters, and where it is."""


def load_table(reading: FileReading, layout: str) -> pl.DataFrame:
    """Read a table, turning what Polars raises into an error of ours; Arrow IPC may be laid out as a stream, too."""
    import polars as pl

    content = reading.whole()
    check_table(io.BytesIO(content), layout, name=reading.name)
    read: Callable[[io.BytesIO], pl.DataFrame] = pl.read_parquet
    if layout == "ipc":
        read = pl.read_ipc_stream if content.startswith(_STREAM_MAGIC) else pl.read_ipc
    with errors_of_polars(reading.name, layout):
        table = read(io.BytesIO(content))
        check_growth(reading.name, n_bytes_of(table), len(content), usual=TABLE_GROWTH)
    return table


def n_bytes_of(table: pl.DataFrame) -> int:
    """Return how many bytes the values of a table have, each text counted as often as it is there."""
    import polars as pl

    n_bytes = int(table.estimated_size())
    for column in table:
        if isinstance(column.dtype, pl.Categorical | pl.Enum):
            counts = column.alias("text").to_frame().group_by("text").agg(n_rows=pl.len())
            in_text = pl.col("text").cast(pl.String).str.len_bytes().cast(pl.Int64) * pl.col("n_rows")
            n_bytes += counts.select(in_text.sum()).item()
    return n_bytes


def parquet_rows(reading: FileReading) -> Iterator[NumberedRow]:
    """Yield the rows of Parquet; of a plain file some thousands at a time, so that they need not fit into memory."""
    import polars as pl

    remote = reading.remote
    path = reading.path
    if path is None and remote is None:
        yield from table_rows(reading, "parquet")
        return
    with errors_of_polars(reading.name, "parquet", yields=True), ExitStack() as stack:
        if remote is not None:
            path = stack.enter_context(fetched(remote)).path
        with Path(str(path)).open("rb") as file:
            check_table(file, "parquet", name=reading.name)
            n_stored = size_of(file)
        with without_panic_text():
            table = pl.scan_parquet(str(path), glob=False)
            names = table.collect_schema().names()
        reading.on_header(names)
        start = n_bytes = 0
        while True:
            with without_panic_text():
                block = table.slice(start, _ROWS_AT_ONCE).collect()
                n_bytes += n_bytes_of(block)
            if not len(block):
                return
            check_growth(reading.name, n_bytes, n_stored, usual=TABLE_GROWTH)
            yield from enumerate(block.iter_rows(named=True), start + 1)
            start += len(block)


def table_rows(reading: FileReading, layout: str) -> Iterator[NumberedRow]:
    with errors_of_polars(reading.name, layout, yields=True):
        table = load_table(reading, layout)
        reading.on_header(table.columns)
        yield from enumerate(table.iter_rows(named=True), 1)


def read_typed(reading: FileReading, kind: RowKind[Any], layout: str) -> pl.DataFrame:
    """Read the columns that runs or qrels have, by role and of their types; rows may still lack an id or a number."""
    with errors_of_polars(reading.name, layout):
        table = load_columns(reading, kind) if layout == "parquet" else load_table(reading, layout)
        return typed_columns(reading, kind, table)


def collect_typed(reading: FileReading, kind: RowKind[Any], table: pl.DataFrame, layout: str) -> Collector:
    """Gather the columns of a table, noting the rows that lack an id or a number."""
    with errors_of_polars(reading.name, layout):
        return collect_columns(reading, kind, table)


def fetched(
    file: RemoteFile, choose: Callable[[list[str]], Collection[str]] | None = None
) -> AbstractContextManager[FetchedColumns]:
    """Fetch columns of Parquet that is not on this machine."""
    from rankscope.io.remote_parquet import fetched_columns

    return fetched_columns(file, choose)


def load_columns(reading: FileReading, kind: RowKind[Any]) -> pl.DataFrame:
    """Read the columns of Parquet that runs or qrels have: no others are fetched, decoded or in memory."""
    import polars as pl

    def choose(names: list[str]) -> list[str]:
        return list(find_roles(names, kind, chosen=reading.columns, where=reading.name).values())

    if reading.remote is not None:
        with fetched(reading.remote, choose) as found:
            table = pl.read_parquet(found.path, columns=list(found.columns), glob=False)
            n_stored = Path(found.path).stat().st_size
    else:
        stored: Path | io.BytesIO = io.BytesIO(reading.whole()) if reading.path is None else Path(reading.path)
        with stored.open("rb") if isinstance(stored, Path) else nullcontext(stored) as file:
            check_table(file, "parquet", name=reading.name)
            n_stored = size_of(file)
        scanned = pl.scan_parquet(stored, glob=False)
        table = scanned.select(choose(scanned.collect_schema().names())).collect()
    check_growth(reading.name, n_bytes_of(table), n_stored, usual=TABLE_GROWTH)
    return table


def collect_table(reading: FileReading, kind: RowKind[Any], table: pl.DataFrame) -> Collector:
    return collect_columns(reading, kind, typed_columns(reading, kind, table))


def typed_columns(reading: FileReading, kind: RowKind[Any], table: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that runs or qrels have by role: scores and grades as floats, ids as text or whole numbers."""
    import polars as pl

    roles = find_roles(table.columns, kind, chosen=reading.columns, where=reading.name)
    table = table.select(*(table[name].alias(role) for role, name in roles.items()))
    numbers = table[kind.value]
    if not (numbers.dtype.is_numeric() or numbers.dtype == pl.Null):
        raise FormatError(
            f"column {roles[kind.value]!r} of {reading.name} holds {numbers.dtype}, not numbers",
            hint=naming_hint([kind.value], kind.aliases),
        )
    ids = (id_column(table[role], reading.name) for role in ("query", "doc") if not table.schema[role].is_integer())
    return table.with_columns(numbers.cast(pl.Float64), *ids)


def integer_ids_in(table: pl.DataFrame) -> frozenset[str]:
    """Return which ids are whole numbers."""
    return frozenset(role for role in ("query", "doc") if table.schema[role].is_integer())


def tag_in(table: pl.DataFrame) -> str | None:
    """Return the tag of the last row, where there is one."""
    import polars as pl

    return table["tag"].tail(1).cast(pl.String).item() or None if "tag" in table.columns and len(table) else None


def collect_columns(reading: FileReading, kind: RowKind[Any], table: pl.DataFrame) -> Collector:
    import polars as pl

    collector = Collector(integer_ids_in(table))
    table = without_bad_rows(reading, kind, table.with_columns(pl.col("query", "doc").cast(pl.String)))
    extras = [role for role in kind.extras if role in table.columns]
    check_room(reading.name, int(table.estimated_size()) + _TEXT_BYTES * len(table) * (2 + len(extras)))
    collector.query, collector.doc = table["query"].to_list(), table["doc"].to_list()
    collector.value = array("d", table[kind.value].to_numpy().tobytes())
    collector.rank = None
    if "rank" in table.columns and table.schema["rank"].is_integer():
        ranks = table["rank"].cast(pl.Int64, strict=False)
        collector.rank = None if ranks.null_count() else array("q", ranks.to_numpy().tobytes())
    collector.tag = tag_in(table)
    collector.extras = {role: table[role].cast(pl.String).fill_null("").to_list() for role in extras}
    return collector


def id_column(column: pl.Series, where: str) -> pl.Series:
    """Return a column of ids as text; `where` is the file that an error names."""
    import polars as pl

    if not (column.dtype.is_integer() or column.dtype in {pl.String, pl.Categorical, pl.Enum, pl.Binary, pl.Null}):
        for value in column.drop_nulls().head(1):  # there is none where every id is missing
            try:
                as_id(value, what=column.name)
            except IdError as error:
                raise IdError(f"{where}: {error.message}", hint=error.hint) from None
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        message = f"{where}: a {column.name} id holds bytes that are not UTF-8"
        raise IdError(message, hint="store ids as text") from error


def without_bad_rows(reading: FileReading, kind: RowKind[Any], table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    usable = pl.col("query", "doc").is_not_null() & (pl.col("query", "doc") != "")
    number = pl.col(kind.value)
    countable = number.is_not_nan() if kind.allows_infinity else number.is_finite()
    is_good = table.select(pl.all_horizontal(usable, countable.fill_null(value=False))).to_series()
    for place in (~is_good).arg_true():
        row = table.row(place, named=True)
        lacking = next((role for role in ("query", "doc") if not row[role]), None)
        problem = f"the {lacking} id is missing" if lacking else kind.not_a_number(row[kind.value])
        line = reading.first_row + place + 1
        reading.reject(line, f"row {line}: {row}", problem)
    return table.filter(is_good)


def write_table(rows: AnyRows, stream: BinaryIO, layout: str) -> None:
    import polars as pl

    columns = table_columns(rows)
    for name, column in columns.items():
        check_encodable((cell for cell in column if isinstance(cell, str)), what=name, errors="strict")
    content = io.BytesIO()
    getattr(pl.DataFrame(columns), f"write_{layout}")(content)
    stream.write(content.getbuffer())


PARQUET = Format(
    rows=parquet_rows,
    read_columns=partial(read_typed, layout="parquet"),
    collect_columns=partial(collect_typed, layout="parquet"),
    write=partial(write_table, layout="parquet"),
    magic=(b"PAR1",),
)
ARROW = Format(
    rows=partial(table_rows, layout="ipc"),
    read_columns=partial(read_typed, layout="ipc"),
    collect_columns=partial(collect_typed, layout="ipc"),
    write=partial(write_table, layout="ipc"),
    magic=(b"ARROW1\0\0", _STREAM_MAGIC),
)
