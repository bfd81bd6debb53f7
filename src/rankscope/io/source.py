"""Where rows come from: a file, a BEIR folder, a pipe or standard input, opened and decompressed in one place."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from rankscope.errors import BadLine, BadLinesError, FormatError, InputError, did_you_mean
from rankscope.io.addresses import address_in, is_remote, shown_url
from rankscope.io.compression import compression_of, decompressed
from rankscope.io.formats import COMPRESSIONS
from rankscope.io.limits import (
    cannot_read,
    check_size,
    in_words,
    line_too_long,
    max_line_bytes,
    out_of_memory,
    size_of,
)
from rankscope.io.remote import RemoteFile, is_pattern, is_prefix, remote_file, remote_list, remote_open
from rankscope.light import LightRecord
from rankscope.progress import Progress

PathLike: TypeAlias = "str | os.PathLike[str]"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BLOCK_BYTES = 1 << 20


class StoredFile(LightRecord):
    """A file, or the bytes of something that can be read only once; it can be opened any number of times."""

    name: str
    content: bytes | None = None
    remote: RemoteFile | None = None
    """What is known of a file that is not on this machine."""

    def open(self) -> BinaryIO:
        if self.content is not None:
            return io.BytesIO(self.content)
        if self.remote is not None:
            return remote_open(self.remote)
        try:
            return Path(self.name).open("rb")
        except OSError as error:
            raise cannot_read(self.name, error) from error

    @cached_property
    def compression(self) -> str | None:
        with self.open() as raw:
            return compression_of(raw.read(16))

    @contextmanager
    def reading(self, *, progress: Progress | None = None, **options: Any) -> Iterator[FileReading]:
        """Open what the file holds, decompressed; the options are those of `FileReading`."""
        with left_open_at_worst(self.open()) as raw:
            n_bytes = size_of(raw)
            tick = (lambda: progress(raw.tell(), n_bytes)) if progress else lambda: None
            is_plain = self.content is None and self.compression is None
            path = self.name if is_plain and self.remote is None else None
            options["remote"] = self.remote if is_plain else None
            try:
                with decompressed(raw, self.compression, name=self.name, n_bytes=n_bytes) as stream:
                    yield FileReading(self.name, stream, tick=tick, path=path, **options)
            except MemoryError as error:
                raise out_of_memory(self.name, n_bytes) from error
            check_size(self.name, raw, n_bytes)

    def head(self, n_bytes: int) -> bytes:
        with self.reading() as reading:
            return reading.read(n_bytes)

    def read(self) -> bytes:
        """Return all that the file holds, decompressed and without a byte order mark."""
        with self.reading() as reading:
            return reading.whole().removeprefix(BYTE_ORDER_MARK)

    def digest(self, format_name: str) -> str:
        """Return what stands for the content: its SHA-256; of remote Parquet, which is read in parts, its ETag."""
        if self.remote is not None and format_name == "parquet" and self.compression is None and self.remote.etag:
            return "etag:" + self.remote.etag.strip('"')
        return self.sha256()

    def sha256(self) -> str:
        if self.remote is not None and "sha256" in self.remote.digests:
            return self.remote.digests["sha256"]
        if self.content is not None:  # as a file its bytes would be copied first
            return hashlib.sha256(self.content).hexdigest()
        with self.open() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


@contextmanager
def left_open_at_worst(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Close a file that was read; where that fails, what was read is none the worse for it."""
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


def source_of(path: PathLike | StoredFile) -> StoredFile:
    """Return what a path names: a file, the qrels of a BEIR folder, a pipe, or standard input for "-"."""
    if isinstance(path, StoredFile):
        return path
    name = os.fspath(path)
    if name == "-":
        return StoredFile(name, read_to_end(sys.stdin.buffer))
    if is_remote(name):
        return remote_source(name)
    where = Path(name)
    if not os.path.exists(name):  # noqa: PTH110 (unlike pathlib's, it takes a name that no system would allow)
        raise missing(where, address_in(name) if isinstance(path, str) else None)
    if where.is_dir():
        return StoredFile(str(beir_qrels_in(where)))
    if is_stored(name):
        return StoredFile(name)
    try:
        with where.open("rb") as stream:
            kind = os.fstat(stream.fileno())
            is_device = stat.S_ISCHR(kind.st_mode) or stat.S_ISBLK(kind.st_mode)
            if is_device and not stream.isatty() and not os.path.samestat(kind, Path(os.devnull).stat()):
                raise InputError(f"{name} is a device, not a file", hint="give a file, a pipe, or - for standard input")
            return StoredFile(name, read_once(stream, name))
    except OSError as error:
        raise cannot_read(name, error) from error


def remote_source(url: str) -> StoredFile:
    """Return the file of an address; of a prefix that ends in a slash the qrels of the BEIR folder there."""
    if is_pattern(url) or not is_prefix(url):
        return StoredFile(shown_url(url), remote=remote_file(url))
    files = {file.name: file for file in remote_list(url)}
    inside = [name for name in files if name.startswith(f"{url}qrels/")] or [*files]
    folder = f"{url}qrels/" if inside != [*files] else url
    tables = [name for name in inside if "/" not in name.removeprefix(folder) and is_tsv(name)]
    name = only_qrels(shown_url(url), tables)
    return StoredFile(name, remote=remote_file(name))


def is_stored(path: PathLike) -> bool:
    """Tell whether a path is that of a file that can be opened again and again.

    A file without a size may be empty, or one of those that the system makes up when they are read, as in /proc.
    """
    return os.path.isfile(path) and os.path.getsize(path) > 0  # noqa: PTH113, PTH202 (pathlib takes long to load)


@lru_cache(maxsize=1)
def read_to_end(stream: BinaryIO) -> bytes:
    """Read a stream once and for all, so that standard input can first be detected and then read."""
    return read_once(stream, "standard input")


def read_once(stream: BinaryIO, name: str) -> bytes:
    """Read a pipe, such as a shell's <(command), which cannot be opened twice; one that never ends is refused."""
    most_bytes = memory_bytes() // 2
    max_line = max_line_bytes()
    held: list[bytes] = []
    n_bytes = 0
    is_one_line = True
    try:
        while chunk := stream.read(_BLOCK_BYTES):
            held.append(chunk)
            n_bytes += len(chunk)
            is_one_line = is_one_line and b"\n" not in chunk
            if is_one_line and n_bytes > max_line and not may_be_one_line(held[0]):
                raise line_too_long(name, 1)
            if n_bytes > most_bytes:
                raise does_not_end(name, n_bytes, "the memory")
        return b"".join(held)
    except MemoryError as error:
        held.clear()
        raise out_of_memory(name, n_bytes) from error


def does_not_end(name: str, n_bytes: int, of_what: str) -> InputError:
    return InputError(
        f"{name} does not end: {in_words(n_bytes)} have been read, half of {of_what}",
        hint="write it to a file, and give that",
    )


def may_be_one_line(start: bytes) -> bool:
    """Tell whether data begins like JSON, or is no text at all and has no lines."""
    is_binary = 0 in start and any(start)
    return is_binary or compression_of(start) is not None or start.lstrip()[:1] in {b"{", b"["}


def memory_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 16 << 30  # a system that does not say


def missing(where: Path, meant: str | None = None) -> InputError:
    """Return the error for a file that is not there; `meant` is the address that its path may have been meant as."""
    if meant is not None:
        shown = shown_url(meant)
        return InputError(f"{shown.replace('://', ':/', 1)} does not exist", hint=f"did you mean {shown}?")
    address = address_in(where)
    if address is not None:
        return InputError(f"{shown_url(address)} is an address, but this file is read from a disk", hint="copy it here")
    if not os.path.isdir(where.parent):  # noqa: PTH112 (as in source_of)
        return InputError(f"{where} does not exist, nor does its folder", hint="check the path")
    # by the name without its ending: that both end in .npy makes no file the one that was meant
    neighbours = [near.name for near in where.parent.iterdir() if did_you_mean(where.stem, [near.stem])]
    return InputError(f"{where} does not exist", hint=did_you_mean(where.name, neighbours) or "check the path")


def beir_qrels_in(folder: Path) -> Path:
    """Return the qrels file of a BEIR folder: qrels/test.tsv, or the only one there."""
    inside = folder / "qrels" if (folder / "qrels").is_dir() else folder
    tables = sorted(str(entry) for entry in inside.iterdir() if is_tsv(entry.name))
    return Path(only_qrels(str(folder), tables))


def only_qrels(folder: str, tables: Sequence[str]) -> str:
    """Return the one file of BEIR qrels among the tables of a folder: that of the test queries, or the only one."""
    name_of = {table: table.replace(os.sep, "/").rpartition("/")[2] for table in tables}
    chosen = [table for table in tables if name_of[table].partition(".")[0] == "test"] or list(tables)
    if not chosen:
        raise FormatError(
            f"{folder} is a folder without BEIR qrels", hint="give a file, or a folder that holds qrels/test.tsv"
        )
    if len(chosen) > 1:
        names = ", ".join(name_of[table] for table in chosen)
        raise FormatError(f"{folder} holds several qrels: {names}", hint=f"give one of them, e.g. {chosen[0]}")
    return chosen[0]


def is_tsv(name: str) -> bool:
    return name.endswith((".tsv", *(f".tsv.{compression}" for compression in COMPRESSIONS)))


class FileReading:
    """One file being read: its decompressed bytes, and the lines of it that turn out to be malformed."""

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        *,
        columns: Mapping[str, str] | None = None,
        strict: bool = False,
        lenient: bool = False,
        ragged: bool = False,
        from_json: Callable[[Any], Iterator[Any]] | None = None,
        path: str | None = None,
        remote: RemoteFile | None = None,
        first_row: int = 0,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.stream = stream
        self.columns = columns
        """Which column holds what, as the caller says."""
        self.strict = strict
        """Whether a key that an object has twice and NaN, which JSON does not know, are malformed."""
        self.lenient = lenient
        """Whether malformed lines may be left out, so that the file is read on however many there are."""
        self.ragged = ragged
        """Whether a line of a table may have fewer or more cells than its header."""
        self.from_json = from_json
        """Turns what a whole JSON file holds into rows, where it is more than a list of them."""
        self.path = path
        """The file, where it is a plain one that can be read by its path."""
        self.remote = remote
        """The file, where it is a plain one that is not on this machine and can be read in parts."""
        self.first_row = first_row
        """How many rows the file has before those of a table that are read."""
        self.bad_lines: list[BadLine] = []
        self.n_ungraded = 0
        """Rows of qrels that name a doc and have no grade yet, as of docs that wait to be judged."""
        self.on_header: Callable[[list[str]], Any] = lambda _: None
        """Called with the names of the columns, where a format has them before its rows."""
        self.row_text: Callable[[], str] = str
        """Returns the text of the row that was yielded last, for messages."""
        self.tick = tick
        """Reports how far the file has been read."""

    def blocks(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield about a megabyte of lines at a time, with the number of the first."""
        line = 1
        held: list[bytes] = []  # what has been read of a line that is not complete
        max_line = max_line_bytes()
        for chunk in chain(self.chunks(), [b""]):
            end = chunk.rfind(b"\n") + 1 if chunk else 0
            if end or not chunk:
                lines = io.BytesIO(b"".join([*held, chunk[:end]])).readlines()
                held = []
                if lines:
                    if len(max(lines, key=len)) > max_line:
                        raise line_too_long(self.name, line + [len(each) > max_line for each in lines].index(True))
                    if line == 1:
                        lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
                    yield line, lines
                    line += len(lines)
            held.append(chunk[end:])
            if sum(map(len, held)) > max_line:
                raise line_too_long(self.name, line)

    def chunks(self) -> Iterator[bytes]:
        """Yield about a megabyte at a time, wherever lines may end."""
        while chunk := self.read(_BLOCK_BYTES):
            yield chunk
            self.tick()

    def read(self, n_bytes: int) -> bytes:
        try:
            return self.stream.read(n_bytes)
        except OSError as error:
            if error.errno is None:
                raise  # about the data, not from the system
            raise cannot_read(self.name, error) from error

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line with its number; bytes that are not UTF-8 survive as they do in ids."""
        for first, lines in self.blocks():
            for number, line in enumerate(lines, first):
                yield number, line.decode("utf-8", "surrogateescape")

    def whole(self) -> bytes:
        return b"".join(self.chunks())

    def reject(self, line: int, text: str, problem: str) -> None:
        """Note a malformed line; of thousands the first and the last are kept, those between are only counted."""
        if len(self.bad_lines) == BadLinesError.MOST:
            if not self.lenient:
                raise BadLinesError(self.bad_lines, is_all=False, hint="correct these lines, or remove them")
            self._counted = BadLine(self.name, line, "", "this line or one after it is malformed")
        if len(self.bad_lines) > BadLinesError.MOST:
            self.bad_lines[-1] = self._counted
        self.bad_lines.append(BadLine(self.name, line, text.rstrip("\r\n"), problem))
