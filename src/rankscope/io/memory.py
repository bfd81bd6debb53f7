"""How much memory there is, how much this process has, how people say how much it may take, and what rows take of it.

The numbers of what rows take were measured as the largest memory of whole processes (docs/scale.md). Sizes are said in
units of 1,024 everywhere: 1 MB is 1,024 kB.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from rankscope.checks import is_number, is_whole
from rankscope.errors import OptionError, UnfinishedError
from rankscope.io.addresses import STORES, is_remote
from rankscope.light import LightRecord, replace
from rankscope.progress import Progress

_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE)
_CGROUP = "/sys/fs/cgroup"
_UNKNOWN = 16 << 30
"""Taken where a system does not say."""
LEAST_MEMORY = 64 << 20
"""What a process and the smallest parts take is about this much."""
_BLOCK_BYTES = 1 << 20
HEAD_BYTES = 4 << 20
"""So much of a stream is in memory before anybody looks at it, and at how much is free."""
OTHER_FOLDER = "set TMPDIR to a folder with more room"
PROCESS_BYTES = 46 << 20
"""What `rankscope evaluate` has before it reads a run, with some ten thousand judgments."""
TABLES_BYTES = 54 << 20
"""What the library takes that reads tables."""
TABLE_ROW_BYTES = 44
"""What a row of a table takes whose ids are short: they lie there beside their lengths."""
SHORT_ID = 12
"""Bytes of an id beyond these take room of their own."""
SCATTERED_ROW_BYTES = 43
"""What a row takes besides while it is put in order: all rows of a part, or a query's where these lie together."""
LONG_QUERY_ROW_BYTES = 29
"""What a row takes besides that, where a query goes on for long behind others: it is gathered before it is in order."""
LONG_SHARE = 16
"""A query that has more than one row in so many is a long one."""
REGROUPED_BYTES = 52 << 20
"""What it takes besides to deal out the rows of a table to files."""
TEXT_COLUMNS_BYTES = 24 << 20
"""What it takes besides to read the columns of text for that."""
STORE_CLIENT_BYTES = 56 << 20
"""What the library takes that reads object stores, with the blocks that it asks for ahead."""
WEB_CLIENT_BYTES = 12 << 20
"""What reading from a web server takes besides, likewise."""
PART_BYTES = 12 << 20
"""Rows that are regrouped are put into parts this small, where there is memory for more: rows in any order are looked
up in a processor's own memory."""
ASIDE_BYTES = 4 << 20
"""What is set aside for hits and for small things, in any case."""
DECOMPRESSING_BYTES = 8 << 20
"""What is held besides while text is decompressed piece by piece."""
STAYS_BYTES = 40 << 20
"""Up to so much of a part stays with the process while the next one is read."""
ROW_BYTES = 36
"""What a row of TREC text has on average, where that is not known."""
TEXT_ROW_BYTES = 250
"""What a row takes with texts of its own for query and doc."""
STORE_BYTES = 40 << 20
"""What the libraries of a store take."""
STORED_ROW_BYTES = {"trec": 180, "parquet": 270}
"""What a row takes besides while a run is kept in a store, by its format: texts of its own, and columns of them."""
STORED_TIMES = {"json": 2, "csv": 7, "tsv": 7, "jsonl": 3, "arrow": 6}
"""The same of files that can only be read as a whole, as so many times their size."""
GROWTH = 6
"""How much larger compressed text becomes, where that is not known."""
WHOLE_TIMES = {"json": 8, "csv": 7, "tsv": 7, "jsonl": 3, "arrow": 2}
"""How many times their size files take that can only be read as a whole; others as JSON does."""


class RowsLook(LightRecord, kw_only=True):
    """What a look at a few places of a file tells of all its rows."""

    format: str
    n_bytes: int
    """How many bytes it has once it is decompressed, about."""
    n_rows: int = 0
    row_bytes: int = TABLE_ROW_BYTES
    """What a row of a table takes."""
    beside_bytes: int = 0
    """What a row of a table takes besides where all columns of a run are read: its rank and its tag, if it has them."""
    rows_per_query: int = 0
    """How many rows of a query lie together, about; of the longest, where one is seen at several places."""
    scattered_query: str | None = None
    """A query that comes back after others: its rows do not lie together."""

    def bytes_taken(self, share: float = 1.0) -> int:
        """Return what a share of the rows takes while it is in memory, besides what the process has."""
        if self.format not in ("trec", "parquet"):
            return self.library_bytes + WHOLE_TIMES.get(self.format, 8) * self.n_bytes
        n_rows = round(self.n_rows * share)
        # rows that lie together are put in order query by query
        n_at_a_time = n_rows if self.scattered_query is not None else min(n_rows, self.rows_per_query)
        in_order = n_at_a_time * SCATTERED_ROW_BYTES
        if self.n_rows // LONG_SHARE < self.rows_per_query < self.n_rows:
            in_order += n_at_a_time * LONG_QUERY_ROW_BYTES
        if self.format == "trec":
            return round(self.n_bytes * share) + in_order
        return self.library_bytes + n_rows * self.row_bytes + in_order

    def bytes_in_turn(self, share: float, *, is_alone: bool = False) -> int:
        """Return what parts take that are read one after the other, each with such a share of the rows of its file."""
        taken = self.bytes_taken(share)
        if is_alone or self.format not in ("trec", "parquet"):
            return ASIDE_BYTES + taken
        is_table = self.format == "parquet"
        stays = taken - TABLES_BYTES if is_table else round(self.n_bytes * share)
        dealt_out = REGROUPED_BYTES if is_table and self.scattered_query is not None else 0
        return ASIDE_BYTES + taken + min(STAYS_BYTES, stays) + dealt_out

    @property
    def library_bytes(self) -> int:
        """What the library takes that reads such a file."""
        return TABLES_BYTES if self.format in ("parquet", "arrow") else 0

    @property
    def as_table(self) -> RowsLook:
        """The same rows of text as they are once they are dealt out together with tables."""
        longer = max(0, self.n_bytes // max(1, self.n_rows) - ROW_BYTES)
        return replace(self, format="parquet", row_bytes=TABLE_ROW_BYTES + longer)

    @property
    def bytes_to_store(self) -> int:
        """What rows take besides while they are kept in a store."""
        if self.format in STORED_ROW_BYTES:
            return self.n_rows * STORED_ROW_BYTES[self.format]
        return self.n_bytes * STORED_TIMES.get(self.format, 2)

    @property
    def bytes_at_once(self) -> int:
        """What a process takes that reads all rows at once, about."""
        return PROCESS_BYTES + self.bytes_taken() + self.n_rows * self.beside_bytes


def memory_of(given: str | int, *, option: str = "memory") -> int:
    """Return bytes from a number of them or a text such as "512MB" or "1.5 GB" (1 MB is 1,024 kB)."""
    n_bytes = -1
    if isinstance(given, str) and (found := _SIZE.fullmatch(given)):
        n_bytes = int(float(found[1]) * 1024 ** _UNITS[found[2].lower()])
    elif is_whole(given) or (is_number(given) and float(given).is_integer()):
        n_bytes = int(given)
    is_command = option.startswith("-")
    shown = f"{option} {given}" if is_command else f"{option} = {given!r}"
    example = f"{option} 512MB" if is_command else f'{option}="512MB"'
    if n_bytes < 0:
        raise OptionError(f"{shown} is no amount of memory", hint=f"for example {example}")
    if n_bytes < LEAST_MEMORY:
        unit = "; a number without a unit is one of bytes" if str(given).strip().isdecimal() else ""
        raise OptionError(
            f"{shown} is too little: Python and the smallest parts take about {LEAST_MEMORY >> 20} MB{unit}",
            hint=f"give {LEAST_MEMORY >> 20}MB or more, for example {example}",
        )
    return n_bytes


def client_bytes(path: str) -> int:
    """Return what a process takes besides that fetches a file from elsewhere; 0 for a file that is here."""
    if not is_remote(path):
        return 0
    return STORE_CLIENT_BYTES if path.partition("://")[0].lower() in STORES else WEB_CLIENT_BYTES


def resident_bytes() -> int:
    """Return how much memory this process has now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123 (pathlib takes long to load)
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def free_memory() -> int:
    """Return how much memory a process can still get: of the machine, and of the container that it may run in."""
    free = _UNKNOWN
    try:
        with open("/proc/meminfo", "rb") as stream:  # noqa: PTH123 (as above)
            lines = dict(line.split(b":", 1) for line in stream if b":" in line)
        free = int(lines[b"MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        pass
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, now = _number_in(f"{_CGROUP}/{limit}"), _number_in(f"{_CGROUP}/{used}")
        if most is not None and now is not None:
            free = min(free, max(0, most - now))
    return free


def _number_in(path: str) -> int | None:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 (as above)
            return int(stream.read(32))
    except (OSError, ValueError):  # there is none, or it says "max"
        return None


def take_stream(
    stream: BinaryIO,
    name: str,
    *,
    most_held: Callable[[bytes], int | None] | None,
    copy: Callable[[], str],
    progress: Progress | None = None,
) -> bytes | None:
    """Read what can be read only once: return it, or write it to the file that `copy` names and return None.

    It is copied where there is no `most_held`, or where it is longer than that says of its beginning.
    """
    from rankscope.io.limits import cannot_write, out_of_memory

    held = io.BytesIO()
    chunks = stream_chunks(stream, name, progress)
    try:
        if most_held is not None and is_held(held, chunks, name, most_held):
            return held.getvalue()
        path = copy()
        try:
            with open(path, "wb") as file:  # noqa: PTH123 (as above)
                file.write(held.getbuffer())
                held = io.BytesIO()  # gives its memory back
                copy_rest(file, chunks, name)
        except OSError as error:
            raise cannot_write(path, error, hint=OTHER_FOLDER) from error
    except MemoryError as error:
        raise out_of_memory(name, held.tell()) from error
    return None


def is_held(held: io.BytesIO, chunks: Iterator[bytes], name: str, most_held: Callable[[bytes], int | None]) -> bool:
    """Take chunks into memory; tell whether that were all of them, or whether they are too many."""
    from rankscope.io.source import does_not_end, memory_bytes

    most: int | None = HEAD_BYTES
    is_looked_at = False
    for chunk in chunks:
        held.write(chunk)
        if most is not None and held.tell() > most and not is_looked_at:
            is_looked_at, most = True, most_held(held.getbuffer()[:HEAD_BYTES].tobytes())
        if most is not None and held.tell() > most:
            return False
        if held.tell() > memory_bytes() // 2:
            raise does_not_end(name, held.tell(), "the memory")
    return True


def copy_rest(file: BinaryIO, chunks: Iterator[bytes], name: str) -> None:
    """Write chunks to a file; those of a stream that never ends do not fill the disk."""
    import shutil
    import tempfile

    from rankscope.io.limits import in_words

    folder = os.path.dirname(file.name)  # noqa: PTH120 (as above)
    free = shutil.disk_usage(folder).free
    most = file.tell() + free // 2
    for chunk in chunks:
        file.write(chunk)
        if file.tell() > most:
            raise UnfinishedError(
                f"{name} does not end, or is too long to be copied to {tempfile.gettempdir()}: {in_words(file.tell())} "
                f"have been read, and {in_words(free)} were free there, of which half is left alone",
                hint=f"{OTHER_FOLDER}, or write it to a file and give that",
            )


def stream_chunks(stream: BinaryIO, name: str, progress: Progress | None) -> Iterator[bytes]:
    """Yield about a megabyte at a time; text that is one line without an end is refused."""
    from rankscope.io.limits import cannot_read, line_too_long, max_line_bytes
    from rankscope.io.source import may_be_one_line

    n_bytes, max_line, is_one_line = 0, max_line_bytes(), True
    while True:
        try:
            chunk = stream.read(_BLOCK_BYTES)
        except OSError as error:
            raise cannot_read(name, error) from error
        if not chunk:
            break
        is_one_line = is_one_line and b"\n" not in chunk and (n_bytes > 0 or not may_be_one_line(chunk))
        n_bytes += len(chunk)
        if is_one_line and n_bytes > max_line:
            raise line_too_long(name, 1)
        yield chunk
        if progress is not None:
            progress(n_bytes, None)
    if progress is not None:
        progress(n_bytes, n_bytes)
