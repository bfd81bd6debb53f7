"""Shards of a run: parts that can be scored on their own, since every query lies in one of them.

A shard only says where its rows are, so that it can be sent to another process or machine that sees the same paths.
Plain TREC text is cut where the query changes, by looking at a few lines around each cut; Parquet near the beginnings
of its row groups, likewise, also where it is not on this machine. Files in other formats, compressed ones, and text
that is elsewhere are shards as they are.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from rankscope.errors import FormatError, InputError
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.file_state import SizeAndTimes
from rankscope.io.limits import cannot_read, max_line_bytes
from rankscope.io.remote import RemoteFile, is_pattern, is_prefix, pattern_of, remote_bytes, remote_file, remote_list
from rankscope.io.source import BYTE_ORDER_MARK
from rankscope.io.text import is_plain
from rankscope.light import LightRecord, field, replace

if TYPE_CHECKING:
    import polars as pl

    from rankscope.io.remote_parquet import RemoteTable

USUAL_ROWS = 5_000_000
"""How many rows a shard has, where nobody says how many shards there are to be."""
ROW_BYTES = 36
"""What a row of TREC text has on average, by which rows are estimated before they are read."""
LEAST_ROW_BYTES = 3
"""What a row of Parquet takes where rows are not counted, at the least: smaller files are not looked at for cuts."""
WILD = frozenset("*?[")
WILDCARD = re.compile(r"[*?\[]")
_N_ASKED = 8
"""Of so many files elsewhere at a time it is asked what they are."""
_LOOK_AHEAD_ROWS = 65_536
COMPRESSED_NOTHING = 64
"""A compressed file without content may have so many bytes."""
_BLANK_BYTES = 1 << 20
"""So much of a file is looked through for a row; a larger one has some."""


class FileSeen(LightRecord):
    """What a file was when it was cut, and where: only some of it is the same on other machines."""

    host: str
    state: SizeAndTimes


class ByteRange(LightRecord):
    """Whole lines of a plain TREC file: those between two places in it."""

    is_shard = True

    path: str
    start: int
    end: int
    n_bytes: int | None = None
    """The size of the whole file when it was cut; one that has another by now is refused."""
    seen: FileSeen | None = field(default=None, repr=False, compare=False)
    """What else tells whether the file is still the one that was cut."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.path} (bytes {self.start} to {self.end})"


class WholeFile(LightRecord):
    """A file of any format and compression."""

    is_shard = True

    path: str
    n_bytes: int | None = None
    """Its size when it was listed."""
    version: str | None = None
    """What tells a file that is not on this machine from others in its place; another one is refused."""
    seen: FileSeen | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """How many bytes it has, as stored."""
        return self.n_bytes or 0

    def __str__(self) -> str:
        return shown_url(self.path)


class RowGroups(LightRecord):
    """Rows of a Parquet file: from near the beginning of a row group up to where a query ends."""

    is_shard = True

    path: str
    start: int
    """The first row, from 0."""
    end: int
    """The row after the last."""
    n_bytes: int | None = None
    """The size of the whole file when it was cut."""
    n_rows: int | None = None
    """How many rows the whole file has."""
    version: str | None = None
    """What tells a file that is not on this machine from others in its place; another one is refused."""
    seen: FileSeen | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """How many bytes its rows would have as text, about."""
        return (self.end - self.start) * ROW_BYTES

    def __str__(self) -> str:
        return f"{shown_url(self.path)} (rows {self.start + 1} to {self.end})"


class TableParts(LightRecord):
    """Rows that were regrouped: Parquet files that hold whole queries together."""

    path: str
    """Where the rows were before."""
    paths: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(map(os.path.getsize, self.paths))

    def __str__(self) -> str:
        return f"{self.path} (regrouped)"


Shard: TypeAlias = ByteRange | WholeFile | RowGroups


def is_many(path: str) -> bool:
    """Tell whether a path stands for several files: a folder, or a pattern such as part-*.parquet."""
    if is_remote(path):
        return is_prefix(path) or is_pattern(path)
    return os.path.isdir(path) or (not WILD.isdisjoint(path) and not os.path.exists(path))  # noqa: PTH110, PTH112 (pathlib takes long to load)


def files_of(path: str) -> list[str]:
    """Return the files that a folder or a pattern stands for, by name, without hidden ones such as Spark's _SUCCESS."""
    if is_remote(path):
        return list(remote_files(path))
    if os.path.isdir(path):  # noqa: PTH112 (as above)
        found = [os.path.join(path, name) for name in os.listdir(path) if name[0] not in "._"]  # noqa: PTH118, PTH208 (as above)
        what = f"{path} is a folder without files"
    else:
        found = [name for name in matching(path) if os.path.basename(name)[:1] not in "._"]  # noqa: PTH119 (as above)
        what = f"no file is called {path}"
    files = sorted(name for name in found if os.path.isfile(name) and not name.endswith(".queries.json"))  # noqa: PTH113 (as above)
    if not files:
        raise InputError(
            what, hint="give a file, a folder of files, or a pattern in quotes such as 'run/part-*.parquet'"
        )
    return files


def matching(pattern: str) -> list[str]:
    """Return what a pattern names; ** stands for any depth, as in a store, and follows no link, which may lead back."""
    if "**" not in pattern:
        return glob.glob(pattern)  # noqa: PTH207 (as above)
    pattern = os.path.normpath(pattern)
    root = os.path.dirname(WILDCARD.split(pattern, maxsplit=1)[0])  # noqa: PTH120 (as above)
    matches = pattern_of(pattern.replace(os.sep, "/")).fullmatch
    found: list[str] = []
    for folder, folders, names in os.walk(root or os.curdir):
        folders[:] = [name for name in folders if name[0] != "."]
        paths = (os.path.normpath(os.path.join(folder, name)) for name in names)  # noqa: PTH118 (as above)
        found += [path for path in paths if matches(path.replace(os.sep, "/"))]
    return found


def remote_files(path: str) -> dict[str, RemoteFile]:
    """Return the files of an address, which may be a prefix or a pattern of an object store, as if they were here."""
    if not (is_prefix(path) or is_pattern(path)):
        return {path: remote_file(path)}
    found = [
        file
        for file in remote_list(path)
        if file.url.rpartition("/")[2][:1] not in "._" and not file.url.endswith(".queries.json")
    ]
    if not is_pattern(path):
        found = [file for file in found if "/" not in file.url.removeprefix(path.rstrip("/") + "/")]
    if not found:
        raise InputError(
            f"there is no file of a run right below {path}", hint=f"{path.rstrip('/')}/** stands for files at any depth"
        )
    return {file.url: file if file.etag else remote_file(file.url) for file in found}


def cut_run(
    path: str, n: int | None = None, *, target_rows: int = USUAL_ROWS, columns: Mapping[str, str] | None = None
) -> list[Shard]:
    """Cut a run into about so many shards, or into shards of about so many rows; no file is read as a whole for it."""
    if is_remote(path):
        known = remote_files(path).values()
        tables = remote_tables(known)
        n_bytes = sum(file.size if file.url not in tables else tables[file.url].n_rows * ROW_BYTES for file in known)
        rows = target_rows if n is None else max(1, -(-n_bytes // n) // ROW_BYTES)
        return [shard for file in known for shard in cut_remote(file, tables.get(file.url), rows, columns=columns)]
    files = files_of(path) if is_many(path) else [path]
    sizes = [size_at(file) for file in files]
    target = target_rows * ROW_BYTES if n is None else max(1, -(-sum(map(text_size, files, sizes)) // n))
    return [
        shard
        for file, size in zip(files, sizes, strict=True)
        for shard in cut_file(file, size, target, columns=columns)
    ]


def remote_tables(files: Iterable[RemoteFile], *, target_rows: int = 0) -> dict[str, RemoteTable]:
    """Return, by their addresses, the files elsewhere that can be cut: Parquet that may have more than so many rows.

    A server that does not send parts of files has sent all of one already: nothing is left to be fetched in parts.
    """
    from concurrent.futures import ThreadPoolExecutor

    from rankscope.io.remote_parquet import RemoteTable

    def table_in(file: RemoteFile) -> RemoteTable | None:
        is_table = file.content is None and remote_bytes(file, 0, 4) == b"PAR1"
        return RemoteTable(file) if is_table else None

    asked = [file for file in files if file.size > target_rows * LEAST_ROW_BYTES]
    with ThreadPoolExecutor(_N_ASKED, thread_name_prefix="rankscope-remote") as pool:
        found = zip(asked, pool.map(table_in, asked), strict=True)
        return {file.url: table for file, table in found if table is not None}


def remote_roles(table: RemoteTable, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return which columns of a Parquet file that is not on this machine are what of a run."""
    from rankscope.io.table import RUN, find_roles

    return find_roles(table.names, RUN, chosen=columns, where=table.file.name)


def cut_remote(
    file: RemoteFile, table: RemoteTable | None, target_rows: int, *, columns: Mapping[str, str] | None = None
) -> Iterator[Shard]:
    """Yield the shards of a file that is not on this machine; as a table, cut as Parquet is here, of its version."""
    if table is None:
        yield WholeFile(file.url, file.size, file.version)
        return
    total = table.n_rows
    queries = in_windows(query_column_of(table, columns))
    for start, end in row_ranges(table.group_sizes, queries, target_rows):
        yield RowGroups(file.url, start, end, file.size, total, file.version)


def text_size(path: str, size: int) -> int:
    """Return how many bytes a file has, or, as Parquet is cut by its rows, what these would have as text, about."""
    if not is_parquet(path):
        return size
    from rankscope.io.table_check import row_group_sizes

    with open_file(path) as file:
        return sum(row_group_sizes(file, name=path)) * ROW_BYTES


def size_at(path: str) -> int:
    if is_remote(path):
        return remote_file(path).size
    try:
        return os.path.getsize(path)  # noqa: PTH202 (as above)
    except OSError as error:
        raise cannot_read(path, error) from error


def cut_file(
    path: str, size: int, target_bytes: int, *, table_share: float = 1.0, columns: Mapping[str, str] | None = None
) -> Iterator[Shard]:
    """Yield the shards of one file, each of about so many bytes of text; of a table, of this share of the rows."""
    if is_plain(path, "run"):
        yield from cut_text(path, size, target_bytes)
    elif is_parquet(path):
        yield from cut_parquet(path, size, max(1, int(target_bytes * table_share) // ROW_BYTES), columns)
    else:
        yield WholeFile(path, size)


def is_blank(shard: WholeFile) -> bool:
    """Tell whether a file has blank lines and comments alone, as a program leaves them that has found nothing.

    What is compressed is decompressed for it; of files elsewhere only those are fetched that are small enough.
    """
    most = COMPRESSED_NOTHING if is_remote(shard.path) else _BLANK_BYTES
    if shard.n_bytes is None or shard.n_bytes > most:
        return False
    if not shard.n_bytes:
        return True
    from rankscope.io.source import source_of

    with source_of(shard.path).reading() as reading:
        text = reading.read(_BLANK_BYTES)
        return not reading.read(1) and not any(map(query_in, text.removeprefix(BYTE_ORDER_MARK).splitlines()))


def is_parquet(path: str) -> bool:
    with open_file(path) as file:
        return file.read(4) == b"PAR1"


def open_file(path: str) -> BinaryIO:
    try:
        return open(path, "rb")  # noqa: PTH123 (as above)
    except OSError as error:
        raise cannot_read(path, error) from error


def cut_text(path: str, size: int, target_bytes: int) -> Iterator[ByteRange]:
    """Cut plain TREC text where the query changes, about every so many bytes."""
    start = 0
    with open_file(path) as file:
        while start < size:
            place = start + target_bytes
            end = query_start(file, place, size) if place < size else size
            yield ByteRange(path, start, end, size)
            start = end


def query_start(file: BinaryIO, place: int, size: int) -> int:
    """Return where the first query begins that does not begin before a place, or the end of the file."""
    max_line = max_line_bytes()
    file.seek(place - 1)
    file.readline(max_line)
    first, at = b"", file.tell()
    while at < size and (line := file.readline(max_line)):
        query = query_in(line)
        if query and first and query != first:
            return at
        first = first or query
        at += len(line)
    return size


def query_in(line: bytes) -> bytes:
    """Return the query of a line of TREC text; nothing where it is blank or a comment."""
    found = line.split(None, 1)
    return b"" if not found or found[0].startswith(b"#") else found[0]


def cut_parquet(path: str, size: int, target_rows: int, columns: Mapping[str, str] | None = None) -> Iterator[Shard]:
    """Cut Parquet where the query changes, behind the beginning of a row group where these are not too large."""
    from rankscope.io.table_check import row_group_sizes

    with open_file(path) as file:
        groups = row_group_sizes(file, name=path)
    total, queries = sum(groups), in_windows(query_column(path, columns))
    for start, end in row_ranges(groups, queries, target_rows):
        yield RowGroups(path, start, end, size, total)


def row_ranges(
    groups: Sequence[int], queries: Callable[[int, int], pl.Series], target_rows: int
) -> Iterator[tuple[int, int]]:
    """Yield where the rows of each shard begin and end, given the sizes of row groups."""
    start = n_rows = 0
    total = sum(groups)
    for n_in_group in groups:
        if n_rows - start >= target_rows and n_rows > start:
            end = next_query_row(queries, n_rows, total)
            if end > n_rows + n_in_group:  # a query that goes on for more than a row group
                n_rows += n_in_group
                continue
            yield start, end
            start = end
        n_rows += n_in_group
    if start < total or not total:
        yield start, total


def roles_of(path: str, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return which columns of a Parquet file are what of a run."""
    import polars as pl

    from rankscope.io.table import RUN, find_roles
    from rankscope.io.table_check import errors_of_polars

    with errors_of_polars(path, "parquet"):
        names = pl.scan_parquet(path, glob=False).collect_schema().names()
    return find_roles(names, RUN, chosen=columns, where=path)


def query_column(path: str, columns: Mapping[str, str] | None = None) -> Callable[[int, int], pl.Series]:
    """Return a function that reads the queries of some rows of a Parquet file."""
    import polars as pl

    from rankscope.io.table_check import errors_of_polars

    name = roles_of(path, columns)["query"]
    with errors_of_polars(path, "parquet"):
        table = pl.scan_parquet(path, glob=False)

    def read(start: int, n_rows: int) -> pl.Series:
        with errors_of_polars(path, "parquet"):
            return as_queries(table.select(name).slice(start, n_rows).collect().to_series(), path)

    return read


def query_column_of(table: RemoteTable, columns: Mapping[str, str] | None = None) -> Callable[[int, int], pl.Series]:
    """Return a function that reads the queries of some rows of a Parquet file that is not on this machine."""
    name, where = remote_roles(table, columns)["query"], table.file.name
    return lambda start, n_rows: as_queries(table.read([name], start, start + n_rows).to_series(), where)


def as_queries(column: pl.Series, where: str) -> pl.Series:
    """Return queries as they can be compared, which bytes, lists and the like cannot."""
    from rankscope.io.polars_file import id_column

    return column if column.dtype.is_integer() else id_column(column.alias("query"), where)


def in_windows(read: Callable[[int, int], pl.Series]) -> Callable[[int, int], pl.Series]:
    """Return a function that reads the same, more than is asked for, and gives later what it has read before.

    To read a few rows takes as long as a file has row groups, so that many small parts would take that many times.
    """
    first, known = 0, read(0, 0)

    def read_ahead(start: int, n_rows: int) -> pl.Series:
        nonlocal first, known
        if not first <= start <= start + n_rows <= first + len(known):
            first, known = start, read(start, max(n_rows, 2 * _LOOK_AHEAD_ROWS))
        return known[start - first : start - first + n_rows]

    return read_ahead


def next_query_row(queries: Callable[[int, int], pl.Series], row: int, total: int) -> int:
    """Return the first row, from this one on, whose query is not that of the rows before.

    A row without a query is malformed: it goes with the rows before it.
    """
    before = last_query(queries, row)
    while row < total:
        found = queries(row, min(_LOOK_AHEAD_ROWS, total - row))
        changes = found.is_not_null() if before is None else (found != before).fill_null(value=False)
        at = changes.arg_true()
        if len(at):
            return row + int(at[0])
        row += _LOOK_AHEAD_ROWS
    return total


def last_query(queries: Callable[[int, int], pl.Series], row: int) -> Any:
    """Return the query of the rows before this one; None where none of them has any."""
    n_rows = 1
    while row > 0:
        start = max(0, row - n_rows)
        known = queries(start, row - start).drop_nulls()
        if len(known):
            return known[-1]
        row, n_rows = start, _LOOK_AHEAD_ROWS
    return None


def smaller_shards(shard: Shard, target_bytes: int) -> Iterator[Shard]:
    """Yield parts of a shard, of about so many bytes each, in which rows of a query need not lie together."""
    if isinstance(shard, ByteRange):
        with open_file(shard.path) as file:
            start = shard.start
            while start < shard.end:
                end = min(shard.end, start + target_bytes)
                if end < shard.end:
                    file.seek(end - 1)
                    end = min(shard.end, end - 1 + len(file.readline(max_line_bytes())))
                yield ByteRange(shard.path, start, end, shard.n_bytes)
                start = end
    elif isinstance(shard, RowGroups):
        n_rows = max(1, target_bytes // ROW_BYTES)
        for start in range(shard.start, shard.end, n_rows):
            yield replace(shard, start=start, end=min(shard.end, start + n_rows))
    else:
        yield shard


def check_ends(shard: Shard) -> None:
    """Refuse a range that does not end behind its beginning, or begins before the file."""
    if not isinstance(shard, WholeFile) and not 0 <= shard.start <= shard.end:
        raise InputError(
            f"{shard!r} is no part of a file: it must begin at 0 or later, and end no earlier than it begins",
            hint="shards_of cuts a run into shards",
        )


def place_of(shard: Any) -> tuple[str, int]:
    """Return where a shard stands among others: the name of its file, and where it begins there."""
    return shard.path, getattr(shard, "start", 0)


def check_listed_once(shards: Sequence[Shard]) -> None:
    """Refuse shards that have rows in common: their queries would count twice."""
    if not shards:
        raise InputError("a list without shards is no run", hint="shards_of cuts a run into shards")
    for shard in shards:
        check_ends(shard)
    last: Shard | None = None
    for shard in sorted(shards, key=place_of):
        if last is not None and last.path == shard.path and getattr(last, "end", 0) >= 0:
            both_ranges = not isinstance(last, WholeFile) and type(last) is type(shard)
            if not both_ranges or shard.start < last.end:  # type: ignore[union-attr]
                raise InputError(
                    f"{shard} is listed twice" if shard == last else f"{shard} and {last} overlap",
                    hint="list each shard once",
                )
        last = shard


def digest_of_files(files: Iterable[tuple[str, int, str]]) -> str:
    """Return the digest of a run of several files: SHA-256 over the lines of names, sizes and digests of its files."""
    digest = hashlib.sha256()
    for name, size, content in files:
        digest.update(f"{name}\0{size}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def no_rows(where: str) -> FormatError:
    return FormatError(f"{where} is empty: it has no rows", hint="check that what wrote it came to its end")
