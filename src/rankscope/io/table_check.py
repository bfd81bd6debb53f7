"""A look at the sizes that a Parquet or Arrow file claims, before Polars believes them.

Polars sets memory aside for what a file says that it holds; where that is a lie, the system ends the whole process. So
the sizes are compared with that of the file first. Only headers are read: some bytes per page or message. A file that
is sound may still become thousands of times as large as it is, where all its rows are equal; that has a limit, too.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

from rankscope.errors import FormatError, RankscopeError
from rankscope.io.limits import SMALL_BYTES, cannot_read, check_growth, check_room, max_growth, out_of_memory

_GROWTH = 2_000
"""How many times larger than it is stored a part of a file may become."""
TABLE_GROWTH = 1_000
"""How many times larger a whole file may become. A run with the same docs and scores for 7,000 queries grows 450 times
in Parquet and 810 in Arrow, others less than 50."""
_WIDTHS = {0: 1, 1: 4, 3: 12, 4: 4, 6: 16, 7: 16}
"""The bytes that Polars needs for a value of a type of Parquet, by its number; 8 where it is not here."""
_DECODING = 2
"""How many times the bytes of its values Polars may take for a moment; where it gets less, it may end the process."""
_OUT_OF_MEMORY = ("memory", "alloc", "pointer is null", "capacity overflow", "spawn", "temporarily unavailable")
"""What is in the messages of Polars, and of what it is made with, where memory or threads lack."""
_ROWS_PER_BYTE = 1_000
"""Of a column that holds the same value everywhere."""
_FEW_ROWS = 1 << 24
_DEEPEST = 32
_LONGEST_HEADER = 1 << 24
_ASIDE = threading.Lock()
"""Held by the thread that has set standard error aside."""


class Damage(Exception):  # noqa: N818 (it says what is damaged, and never leaves this file)
    """Something that no sound file holds."""


def check_table(
    file: BinaryIO,
    layout: str,
    *,
    name: str,
    columns: Container[str] | None = None,
    rows: tuple[int, int] | None = None,
) -> None:
    """Refuse a file whose headers claim more than it can hold, or that would become far too large.

    Of Parquet only some columns and row groups may be looked at, where the others are not there to be read.
    """
    size = file.seek(0, 2)
    try:
        with errors_of_headers(name, layout):
            n_bytes = check_parquet(file, size, columns, rows) if layout == "parquet" else check_arrow(file, size)
    finally:
        file.seek(0)
    check_growth(name, n_bytes, size, usual=TABLE_GROWTH)
    check_room(name, _DECODING * n_bytes)


@contextmanager
def errors_of_headers(name: str, layout: str) -> Iterator[None]:
    """Say in words of ours that headers hold what no sound file does."""
    try:
        yield
    except RankscopeError:
        raise
    except (Damage, struct.error, LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, Damage) else "its headers cannot be read"
        raise not_readable(name, layout, reason) from error


@contextmanager
def errors_of_polars(name: str, layout: str, *, yields: bool = False) -> Iterator[None]:
    """Turn what Polars raises into an error of ours, also its panics, which are no exceptions of the usual kind.

    Code that yields rows in between says so, and sets aside what panics print by itself.
    """
    from polars.exceptions import PanicException, PolarsError

    try:
        with ExitStack() as stack:
            if not yields:
                stack.enter_context(without_panic_text())
            yield
    except RankscopeError:
        raise
    except (PolarsError, PanicException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise cannot_read(name, error) from error
        if any(word in str(error) for word in _OUT_OF_MEMORY):
            raise out_of_memory(name, 0) from error
        is_panic = isinstance(error, PanicException)  # its text is for those who write Polars
        reason = "its content is damaged" if is_panic else str(error).partition("\n")[0]
        raise not_readable(name, layout, reason) from error


@contextmanager
def without_panic_text() -> Iterator[None]:
    """Keep from the terminal what Polars prints where it panics: an error of ours says what is wrong.

    It is printed to the file descriptor of standard error, which is set aside for the while; what others print
    meanwhile is shown afterwards. Nothing is done where another thread has set it aside, or the system cannot.
    """
    if sys.platform != "linux" or not _ASIDE.acquire(blocking=False):
        yield
        return
    import fcntl

    try:
        with ExitStack() as stack:
            try:
                terminal = os.dup(2)
                stack.callback(os.close, terminal)
                if fcntl.fcntl(terminal, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                    raise OSError  # noqa: TRY301 (standard error was closed, and a file that is read has its number)
                aside = os.memfd_create("standard error")
                stack.callback(os.close, aside)
                os.dup2(aside, 2)
            except OSError:  # there is no standard error, or no descriptor is left
                yield
                return
            try:
                yield
            finally:
                os.dup2(terminal, 2)
                said = os.pread(aside, os.fstat(aside).st_size, 0)
                if said and b"panicked at" not in said:
                    os.write(terminal, said)
    finally:
        _ASIDE.release()


def not_readable(name: str, layout: str, reason: str) -> FormatError:
    return FormatError(
        f"{name} cannot be read as {'Parquet' if layout == 'parquet' else 'Arrow'}: {reason}",
        hint="it is damaged, cut off or in another format; without a format given, it is detected from the content",
    )


def read_at(file: BinaryIO, place: int, n_bytes: int, size: int) -> bytes:
    if place < 0 or n_bytes < 0 or place + n_bytes > size:
        raise Damage("a part of it lies beyond its end")
    file.seek(place)
    return file.read(n_bytes)


def check_part(n_bytes: int, n_stored: int) -> None:
    if not 0 <= n_bytes <= max(SMALL_BYTES, max(_GROWTH, max_growth(_GROWTH)) * n_stored):
        raise Damage(f"a part of {n_stored} bytes is said to become {n_bytes}")


def check_rows(n_rows: int, size: int) -> None:
    if not 0 <= n_rows <= max(_FEW_ROWS, _ROWS_PER_BYTE * size):
        raise Damage(f"it is said to hold {n_rows} rows, in {size} bytes")


class Compact:
    """Reads the compact protocol of Thrift, in which the headers of Parquet are written."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise Damage("a number has too many bytes")

    def integer(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, n_bytes: int) -> None:
        self.at += n_bytes
        if self.at > len(self.data):
            raise IndexError

    def value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise Damage("its headers are nested too deeply")
        if kind in {1, 2}:  # true and false, which have no bytes of their own in a struct
            return kind == 1
        if kind == 3:
            self.skip(1)
        elif kind in {4, 5, 6}:
            return self.integer()
        elif kind == 7:
            self.skip(8)
        elif kind == 8:
            n_bytes = self.varint()
            self.skip(n_bytes)
            return self.data[self.at - n_bytes : self.at]
        elif kind in {9, 10}:
            return self.items(depth)
        elif kind == 12:
            return self.struct(depth + 1)
        else:
            raise Damage("its headers hold an unknown type")
        return None

    def items(self, depth: int) -> list[Any]:
        head = self.data[self.at]
        self.at += 1
        n_items = self.varint() if head >> 4 == 15 else head >> 4
        kind = head & 15
        if n_items > len(self.data):
            raise Damage("a list is longer than the header it is in")
        if kind in {1, 2}:
            self.skip(n_items)
            return []
        return [self.value(kind, depth + 1) for _ in range(n_items)]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        field = 0
        while head := self.data[self.at]:
            self.at += 1
            field = field + (head >> 4) if head >> 4 else self.integer()
            fields[field] = self.value(head & 15, depth)
        self.at += 1
        return fields


def footer_of(file: BinaryIO, size: int) -> dict[int, Any]:
    """Return the header of a Parquet file, which stands at its end."""
    n_footer, magic = struct.unpack("<I4s", read_at(file, size - 8, 8, size))
    if magic != b"PAR1":
        raise Damage("it does not end as it should")
    return Compact(read_at(file, size - 8 - n_footer, n_footer, size)).struct()


def columns_in(footer: dict[int, Any]) -> list[str]:
    """Return the names of the columns, of those with parts only their own."""
    schema: list[dict[int, Any]] = footer[2]
    names, left = [], [schema[0].get(5, 0)]
    for element in schema[1:]:
        while left and not left[-1]:
            left.pop()
        if not left:
            raise Damage("it has more columns than it says")
        if len(left) == 1:
            names.append(element[4].decode("utf-8", "surrogateescape"))
        left[-1] -= 1
        left.append(element.get(5, 0))
    return names


def groups_with(footer: dict[int, Any], rows: tuple[int, int] | None) -> Iterator[dict[int, Any]]:
    """Yield the row groups that have rows between two numbers, or all of them."""
    start = 0
    for group in footer.get(4, []):
        end = start + group[3]
        if rows is None or (start < rows[1] and rows[0] < end):
            yield group
        start = end


def column_places(
    footer: dict[int, Any], columns: Container[str], size: int, rows: tuple[int, int] | None = None
) -> Iterator[tuple[int, int]]:
    """Yield where the values of some columns stand in a file: all of them, or those of the row groups of some rows."""
    for group in groups_with(footer, rows):
        for chunk in group[1]:
            column = chunk[3]
            if column_of(column) not in columns or is_empty(column):
                continue
            start = start_of(column)
            if start < 4 or column[7] < 0 or start + column[7] > size:
                raise Damage("a column lies beyond its end")
            yield start, start + column[7]


def is_empty(column: dict[int, Any]) -> bool:
    """Tell whether a column has neither values nor bytes; what it says of its place then means nothing."""
    return bool(column[5] == 0 and column[7] == 0)


def start_of(column: dict[int, Any]) -> int:
    """Return where a column begins: with its dictionary or its first page; one without values may lack the latter."""
    place: int = column[9]
    dictionary: int = column.get(11) or place
    return dictionary if column[5] == 0 == place else min(place, dictionary)


def column_of(chunk: dict[int, Any]) -> str:
    name: bytes = chunk[3][0]
    return name.decode("utf-8", "surrogateescape")


def check_parquet(
    file: BinaryIO, size: int, columns: Container[str] | None = None, rows: tuple[int, int] | None = None
) -> int:
    """Check all parts of a file, or of some of its columns and rows, and return how many bytes its values need."""
    footer = footer_of(file, size)
    n_rows = footer[3]
    check_rows(n_rows, size)
    groups = footer.get(4, [])
    if sum(group[3] for group in groups) != n_rows:
        raise Damage("its parts do not have as many rows as it has")
    n_bytes = 0
    for group in groups_with(footer, rows):
        check_rows(group[3], size)
        for chunk in group[1]:
            column = chunk[3]
            if columns is not None and column_of(column) not in columns:
                continue
            check_chunk(file, column, size)
            n_bytes += column[5] * _WIDTHS.get(column[1], 8)
    return n_bytes


def check_chunk(file: BinaryIO, column: dict[int, Any], size: int) -> None:
    """Check the pages of a column: each within the column, and none larger or with more values than can be."""
    n_values, n_stored = column[5], column[7]
    check_rows(n_values, size)
    check_part(column[6], n_stored)
    if is_empty(column):
        return
    at = start_of(column)
    if at < 4 or n_stored < 0 or at + n_stored > size:
        raise Damage("a column lies beyond its end")
    end = at + n_stored
    n_seen = 0
    while at < end and n_seen < n_values:
        header, n_header = page_header(file, at, end)
        n_page = header[3]
        if n_page < 0 or at + n_header + n_page > end:
            raise Damage("a page lies beyond the end of its column")
        check_part(header[2], n_page)
        own = header.get(5) or header.get(7) or header.get(8) or {}
        n_own = own.get(1, 0)
        if not 0 <= n_own <= max(n_values, header[2]):
            raise Damage(f"a page is said to hold {n_own} values, its column {n_values}")
        n_seen += 0 if 7 in header else n_own
        at += n_header + n_page
    if n_seen != n_values:
        raise Damage(f"the pages of a column hold {n_seen} values instead of {n_values}")


def page_header(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """Return the header of a page and its length; usually short, but it may hold the smallest and largest value."""
    n_bytes = 256
    while True:
        reader = Compact(read_at(file, at, min(n_bytes, end - at), end))
        try:
            return reader.struct(), reader.at
        except IndexError:
            if n_bytes >= min(end - at, _LONGEST_HEADER):
                raise
            n_bytes *= 16


class Flat:
    """A table of a FlatBuffer, in which the messages of Arrow are written."""

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self.data = data
        self.at = self.number("<I", 0) if at is None else at
        self.fields = self.at - self.number("<i", self.at)

    def number(self, form: str, at: int) -> int:
        if at < 0:
            raise Damage("its headers point outside of it")
        return int(struct.unpack_from(form, self.data, at)[0])

    def place(self, field: int) -> int | None:
        """Return where a field is, or None where it is not there."""
        entry = 4 + 2 * field
        if entry >= self.number("<H", self.fields):
            return None
        offset = self.number("<H", self.fields + entry)
        return self.at + offset if offset else None

    def integer(self, field: int, form: str = "<q") -> int:
        place = self.place(field)
        return 0 if place is None else self.number(form, place)

    def table(self, field: int) -> Flat | None:
        place = self.place(field)
        return None if place is None else Flat(self.data, place + self.number("<I", place))

    def structs(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        """Yield the entries of a list of numbers that stand side by side."""
        place = self.place(field)
        if place is None:
            return
        start = place + self.number("<I", place)
        n_items, width = self.number("<I", start), struct.calcsize(form)
        if n_items * width > len(self.data):
            raise Damage("a list is longer than the header it is in")
        for i in range(n_items):
            yield struct.unpack_from(form, self.data, start + 4 + i * width)


def check_arrow(file: BinaryIO, size: int) -> int:
    """Check the messages of a file, which its end lists, or of a stream, and return the bytes their values need."""
    n_bytes = 0
    start = read_at(file, 0, min(8, size), size)
    if not start.startswith(b"ARROW1"):
        at = 0
        while at + 8 <= size:
            n_used, n_own = check_message(file, at, size)
            if not n_used:
                break
            at += n_used
            n_bytes += n_own
        return n_bytes
    n_footer, magic = struct.unpack("<i6s", read_at(file, size - 10, 10, size))
    if magic != b"ARROW1":
        raise Damage("it does not end as it should")
    footer = Flat(read_at(file, size - 10 - n_footer, n_footer, size))
    for field in (2, 3):  # dictionaries, then batches of rows
        for place, n_header, _, n_body in footer.structs(field, "<qiiq"):
            if not (0 <= place <= size and 0 <= n_header <= size and 0 <= n_body <= size - place):
                raise Damage("a part of it lies beyond its end")
            n_bytes += check_message(file, place, size)[1]
    return n_bytes


def check_message(file: BinaryIO, at: int, size: int) -> tuple[int, int]:
    """Check one message and return its length, 0 at the end of a stream, and how many bytes its values need."""
    n_header: int
    mark, n_header = struct.unpack("<Ii", read_at(file, at, 8, size))
    n_before = 8
    if mark != 0xFFFFFFFF:  # as written before 2019
        n_before, n_header = 4, mark
    if n_header == 0:
        return 0, 0
    message = Flat(read_at(file, at + n_before, n_header, size))
    n_body = message.integer(3)
    body = at + n_before + n_header
    if not 0 <= n_body <= size - body:
        raise Damage("a part of it lies beyond its end")
    kind = message.integer(1, "<B")
    batch = message.table(2)
    if kind == 2 and batch is not None:  # a dictionary holds a batch
        batch = batch.table(1)
    n_bytes = 0
    if kind in {2, 3} and batch is not None:
        n_bytes = check_batch(file, batch, body, n_body, size)
    return n_before + n_header + n_body, n_bytes


def check_batch(file: BinaryIO, batch: Flat, body: int, n_body: int, size: int) -> int:
    check_rows(batch.integer(0), size)
    n_values = n_decoded = 0
    for n_rows, n_missing in batch.structs(1, "<qq"):
        check_rows(n_rows, size)
        if not -1 <= n_missing <= n_rows:
            raise Damage("more values are missing than there are")
        n_values += n_rows
    is_compressed = batch.place(3) is not None
    for offset, n_bytes in batch.structs(2, "<qq"):
        if not (0 <= offset <= n_body and 0 <= n_bytes <= n_body - offset):
            raise Damage("a part of it lies beyond its end")
        n_plain = n_bytes
        if is_compressed and n_bytes >= 8:
            n_said = struct.unpack("<q", read_at(file, body + offset, 8, size))[0]
            n_plain = n_bytes if n_said == -1 else n_said  # as it is where that is shorter
            check_part(n_plain, n_bytes)
        n_decoded += n_plain
    return max(n_decoded, 8 * n_values)


def row_group_sizes(file: BinaryIO, *, name: str) -> list[int]:
    """Return how many rows each row group of a Parquet file has; one that claims more than it can hold is refused."""
    check_table(file, "parquet", name=name)
    size = file.seek(0, 2)
    n_footer = struct.unpack("<I", read_at(file, size - 8, 4, size))[0]
    footer = Compact(read_at(file, size - 8 - n_footer, n_footer, size)).struct()
    return [group[3] for group in footer.get(4, [])]
