"""Parquet that is not on this machine: of its bytes only those of the columns that are needed are fetched.

They are put where they stand into a temporary file of the same size, of which nothing else takes room on the disk. So
what reads it, and what checks it before, is the same as for a file on this machine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import BinaryIO, cast

from rankscope.io.limits import cannot_write
from rankscope.io.remote import RemoteFile, remote_bytes, remote_open
from rankscope.io.table_check import check_table, column_places, columns_in, errors_of_headers, footer_of
from rankscope.light import LightRecord

_GAP_BYTES = 1 << 20
"""What lies between two parts that are needed is fetched with them, where it is less than this."""
_PART_BYTES = 8 << 20
_N_THREADS = 4


class FetchedColumns(LightRecord):
    """Columns of a Parquet file that are on this machine for a while."""

    path: str
    columns: tuple[str, ...]
    """Those that were fetched; the file says that it has others, too."""


@contextmanager
def fetched_columns(
    file: RemoteFile, choose: Callable[[list[str]], Collection[str]] | None = None
) -> Iterator[FetchedColumns]:
    """Fetch the columns that are chosen by their names, or all of them."""
    with remote_open(file) as stream, errors_of_headers(file.name, "parquet"):
        footer = footer_of(stream, file.size)
        names = columns_in(footer)
        chosen = tuple(names if choose is None else dict.fromkeys(choose(names)))
        places = list(column_places(footer, frozenset(chosen), file.size))
    n_footer = int.from_bytes(remote_bytes(file, file.size - 8, file.size - 4), "little") + 8
    places += [(0, 4), (file.size - n_footer, file.size)]
    with tempfile.NamedTemporaryFile(prefix="rankscope-", suffix=".parquet") as copy:
        try:
            copy.truncate(file.size)
            fetch(file, parts_of_places(places), copy.fileno())
        except OSError as error:
            raise cannot_write(f"a temporary copy of {file.name}", error) from None
        check_table(cast("BinaryIO", copy), "parquet", name=file.name, columns=frozenset(chosen))
        yield FetchedColumns(copy.name, chosen)


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
