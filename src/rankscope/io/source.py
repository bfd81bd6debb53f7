"""Where rows come from: a file, a BEIR folder, a pipe or standard input, as one thing that can be opened repeatedly."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TypeAlias

from rankscope.errors import BadLine, FormatError, InputError, did_you_mean
from rankscope.io.compression import COMPRESSIONS

PathLike: TypeAlias = "str | os.PathLike[str]"

STDIN = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or the bytes of something that can be read only once."""

    name: str
    content: bytes | None = None

    def open(self) -> BinaryIO:
        """Open the bytes as stored."""
        if self.content is not None:
            return io.BytesIO(self.content)
        try:
            return Path(self.name).open("rb")
        except OSError as error:
            raise cannot_read(self.name, error) from error

    @property
    def n_bytes(self) -> int:
        """The size as stored."""
        return Path(self.name).stat().st_size if self.content is None else len(self.content)

    def sha256(self) -> str:
        """Return the digest of the bytes as stored."""
        with self.open() as stream:
            digest = hashlib.sha256()
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
            return digest.hexdigest()


def cannot_read(name: str, error: OSError) -> InputError:
    """Return the error for a file that the system does not let us read."""
    return InputError(f"{name} cannot be read: {error.strerror or error}", hint="check its permissions")


def source_of(path: PathLike | Source) -> Source:
    """Find what a path stands for; what was found before stays as it is."""
    if isinstance(path, Source):
        return path
    name = os.fspath(path)
    if name == STDIN:
        return Source(STDIN, read_to_end(sys.stdin.buffer))
    where = Path(name)
    if not where.exists():
        raise missing(where)
    if where.is_dir():
        return Source(str(beir_qrels_in(where)))
    return Source(name) if where.is_file() else Source(name, pipe_content(where))


@lru_cache(maxsize=1)
def read_to_end(stream: BinaryIO) -> bytes:
    """Read a stream once and for all, so that standard input can first be detected and then read."""
    return stream.read()


def pipe_content(where: Path) -> bytes:
    """Read a pipe, such as a shell's <(command), which cannot be opened twice."""
    try:
        return where.read_bytes()
    except OSError as error:
        raise cannot_read(str(where), error) from error


def missing(where: Path) -> InputError:
    """Return the error for a file that is not there, with the names in its folder that are close."""
    if not where.parent.is_dir():
        return InputError(f"{where} does not exist, nor does its folder", hint="check the path")
    neighbours = [neighbour.name for neighbour in where.parent.iterdir()]
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
    """Tell whether a file name is that of a TSV, compressed or not."""
    return name.endswith((".tsv", *(f".tsv.{compression}" for compression in COMPRESSIONS)))


@dataclass(frozen=True, slots=True)
class Reading:
    """One file being read: its decompressed bytes, and the lines of it that turn out to be malformed."""

    name: str
    stream: BinaryIO
    columns: Mapping[str, str] | None = None
    tick: Callable[[], None] = lambda: None
    bad_lines: list[BadLine] = field(default_factory=list)

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
        """Return everything the file holds."""
        content = self.stream.read()
        self.tick()
        return content

    def reject(self, line: int, text: str, problem: str) -> None:
        """Note a malformed line."""
        self.bad_lines.append(BadLine(self.name, line, text.rstrip("\r\n"), problem))
