"""Where rows come from: a file, a BEIR folder, a pipe or standard input, opened and decompressed in one place."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from rankscope.errors import BadLine, FormatError, InputError, did_you_mean
from rankscope.io.compression import compression_of, decompressed
from rankscope.io.formats import COMPRESSIONS
from rankscope.light import LightRecord
from rankscope.progress import Progress

PathLike: TypeAlias = "str | os.PathLike[str]"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BLOCK_BYTES = 1 << 20


class StoredFile(LightRecord):
    """A file, or the bytes of something that can be read only once; it can be opened any number of times."""

    name: str
    content: bytes | None = None

    def open(self) -> BinaryIO:
        if self.content is not None:
            return io.BytesIO(self.content)
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
        with self.open() as raw, decompressed(raw, self.compression, name=self.name) as stream:
            n_bytes = Path(self.name).stat().st_size if self.content is None else len(self.content)
            tick = (lambda: progress(raw.tell(), n_bytes)) if progress else lambda: None
            path = self.name if self.content is None and self.compression is None else None
            yield FileReading(self.name, stream, tick=tick, path=path, **options)

    def head(self, n_bytes: int) -> bytes:
        with self.reading() as reading:
            return reading.stream.read(n_bytes)

    def read(self) -> bytes:
        """Return all that the file holds, decompressed and without a byte order mark."""
        with self.reading() as reading:
            return reading.whole().removeprefix(BYTE_ORDER_MARK)

    def sha256(self) -> str:
        with self.open() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def source_of(path: PathLike | StoredFile) -> StoredFile:
    """Return what a path names: a file, the qrels of a BEIR folder, a pipe, or standard input for "-"."""
    if isinstance(path, StoredFile):
        return path
    name = os.fspath(path)
    if name == "-":
        return StoredFile(name, read_to_end(sys.stdin.buffer))
    where = Path(name)
    if not where.exists():
        raise missing(where)
    if where.is_dir():
        return StoredFile(str(beir_qrels_in(where)))
    if where.is_file():
        return StoredFile(name)
    try:
        return StoredFile(name, where.read_bytes())  # a pipe, such as a shell's <(command), cannot be opened twice
    except OSError as error:
        raise cannot_read(name, error) from error


def cannot_read(name: str, error: OSError) -> InputError:
    return InputError(f"{name} cannot be read: {error.strerror or error}", hint="check its permissions")


@lru_cache(maxsize=1)
def read_to_end(stream: BinaryIO) -> bytes:
    """Read a stream once and for all, so that standard input can first be detected and then read."""
    return stream.read()


def missing(where: Path) -> InputError:
    if not where.parent.is_dir():
        return InputError(f"{where} does not exist, nor does its folder", hint="check the path")
    # by the name without its ending: that both end in .npy makes no file the one that was meant
    neighbours = [near.name for near in where.parent.iterdir() if did_you_mean(where.stem, [near.stem])]
    return InputError(f"{where} does not exist", hint=did_you_mean(where.name, neighbours) or "check the path")


def beir_qrels_in(folder: Path) -> Path:
    """Return the qrels file of a BEIR folder: qrels/test.tsv, or the only one there."""
    inside = folder / "qrels" if (folder / "qrels").is_dir() else folder
    tables = sorted(entry for entry in inside.iterdir() if is_tsv(entry.name))
    tests = [table for table in tables if table.name.partition(".")[0] == "test"]
    chosen = tests or tables
    if not chosen:
        raise FormatError(
            f"{folder} is a folder without BEIR qrels", hint="give a file, or a folder that holds qrels/test.tsv"
        )
    if len(chosen) > 1:
        names = ", ".join(table.name for table in chosen)
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
        ragged: bool = False,
        from_json: Callable[[Any], Iterator[Any]] | None = None,
        path: str | None = None,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.stream = stream
        self.columns = columns
        """Which column holds what, as the caller says."""
        self.strict = strict
        """Whether a key that an object has twice and NaN, which JSON does not know, are malformed."""
        self.ragged = ragged
        """Whether a line of a table may have fewer or more cells than its header."""
        self.from_json = from_json
        """Turns what a whole JSON file holds into rows, where it is more than a list of them."""
        self.path = path
        """The file, where it is a plain one that can be read by its path."""
        self.bad_lines: list[BadLine] = []
        self.on_header: Callable[[list[str]], Any] = lambda _: None
        """Called with the names of the columns, where a format has them before its rows."""
        self.row_text: Callable[[], str] = str
        """Returns the text of the row that was yielded last, for messages."""
        self.tick = tick
        """Reports how far the file has been read."""

    def blocks(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield about a megabyte of lines at a time, with the number of the first."""
        line = 1
        while lines := self.stream.readlines(_BLOCK_BYTES):
            if line == 1:
                lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
            yield line, lines
            line += len(lines)
            self.tick()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line with its number; bytes that are not UTF-8 survive as they do in ids."""
        for first, lines in self.blocks():
            for number, line in enumerate(lines, first):
                yield number, line.decode("utf-8", "surrogateescape")

    def whole(self) -> bytes:
        content = self.stream.read()
        self.tick()
        return content

    def reject(self, line: int, text: str, problem: str) -> None:
        self.bad_lines.append(BadLine(self.name, line, text.rstrip("\r\n"), problem))
