"""Parquet that is not on this machine: of its bytes only those of the columns and rows that are needed are fetched.

They are put where they stand into a temporary file of the same size, of which nothing else takes room on the disk. So
what reads it, and what checks it before, is the same as for a file on this machine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from rankscope.io.limits import cannot_write
from rankscope.io.remote import RemoteFile, remote_bytes, remote_open
from rankscope.io.table_check import (
    check_table,
    column_places,
    columns_in,
    errors_of_headers,
    errors_of_polars,
    footer_of,
)
from rankscope.light import LightRecord

if TYPE_CHECKING:
    import polars as pl

_GAP_BYTES = 1 << 20
"""What lies between two parts that are needed is fetched with them, where it is less than this."""
_PART_BYTES = 8 << 20
_N_THREADS = 4


class FetchedColumns(LightRecord):
    """Columns of a Parquet file that are on this machine for a while."""

    path: str
    columns: tuple[str, ...]
    """Those that were fetched; the file says that it has others, too."""


class RemoteTable:
    """A Parquet file of which the footer has been read; its columns and row groups are fetched when they are needed."""

    def __init__(self, file: RemoteFile) -> None:
        self.file = file
        with remote_open(file) as stream, errors_of_headers(file.name, "parquet"):
            self._footer = footer_of(stream, file.size)
            self.names = columns_in(self._footer)
            self.group_sizes: list[int] = [group[3] for group in self._footer.get(4, [])]
        self._n_footer = int.from_bytes(remote_bytes(file, file.size - 8, file.size - 4), "little") + 8

    @property
    def n_rows(self) -> int:
        return sum(self.group_sizes)

    @contextmanager
    def fetched(self, columns: Collection[str], rows: tuple[int, int] | None = None) -> Iterator[str]:
        """Give the path of a copy that has these columns: of all rows, or of the row groups that these are in."""
        file, chosen = self.file, frozenset(columns)
        with errors_of_headers(file.name, "parquet"):
            places = list(column_places(self._footer, chosen, file.size, rows))
        places += [(0, 4), (file.size - self._n_footer, file.size)]
        with tempfile.NamedTemporaryFile(prefix="rankscope-", suffix=".parquet") as copy:
            try:
                copy.truncate(file.size)
                fetch(file, parts_of_places(places), copy.fileno())
            except OSError as error:
                raise cannot_write(f"a temporary copy of {file.name}", error) from None
            check_table(cast("BinaryIO", copy), "parquet", name=file.name, columns=chosen, rows=rows)
            yield copy.name

    def read(self, columns: Sequence[str], start: int, end: int) -> pl.DataFrame:
        """Return some columns of some rows."""
        import polars as pl

        with self.fetched(columns, (start, end)) as path, errors_of_polars(self.file.name, "parquet"):
            return pl.scan_parquet(path, glob=False).select(columns).slice(start, end - start).collect()


@contextmanager
def fetched_columns(
    file: RemoteFile, choose: Callable[[list[str]], Collection[str]] | None = None
) -> Iterator[FetchedColumns]:
    """Fetch the columns that are chosen by their names, or all of them."""
    table = RemoteTable(file)
    chosen = tuple(table.names if choose is None else dict.fromkeys(choose(table.names)))
    with table.fetched(chosen) as path:
        yield FetchedColumns(path, chosen)


def parts_of_places(places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield what is asked for at once: places that are near are joined, long ones are divided."""
    joined: list[list[int]] = []
    for start, end in sorted(places):
        if joined and start - joined[-1][1] < _GAP_BYTES:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    for start, end in joined:
        for part in range(start, end, _PART_BYTES):
            yield part, min(part + _PART_BYTES, end)


def fetch(file: RemoteFile, parts: Iterable[tuple[int, int]], target: int) -> None:
    """Write parts of a file into another one, each to where it stands."""

    def copy(part: tuple[int, int]) -> None:
        data = memoryview(remote_bytes(file, *part))
        at = part[0]
        while data:
            n_written = os.pwrite(target, data, at)
            data, at = data[n_written:], at + n_written

    with ThreadPoolExecutor(_N_THREADS, thread_name_prefix="rankscope-remote") as threads:
        for done in [threads.submit(copy, part) for part in parts]:
            done.result()
