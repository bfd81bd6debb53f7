"""TREC text as bytes, for the kernel, which reads them itself; and the errors for what it finds malformed."""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankscope.errors import BadLine, BadLinesError
from rankscope.io import trec
from rankscope.io.compression import decompressed
from rankscope.io.detect import layout_of
from rankscope.io.formats import check_format
from rankscope.io.kinds import RUN, Collector
from rankscope.io.read import Ticker
from rankscope.io.source import PathLike, Progress, Reading, Source, source_of

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TrecText:
    """A file of TREC text."""

    source: Source
    compression: str | None

    @property
    def name(self) -> str:
        """The file that is read: "-" is standard input."""
        return self.source.name

    def sha256(self) -> str:
        """Return the digest of the file as stored."""
        return self.source.sha256()

    def data(self) -> NDArray[np.uint8]:
        """Return the text as bytes: mapped into memory where it is a plain file, else decompressed."""
        if self.compression is None and self.source.content is None:
            with Path(self.source.name).open("rb") as file:
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
        return np.frombuffer(b"".join(self.chunks()), dtype=np.uint8)

    def chunks(self, progress: Progress | None = None) -> Iterator[bytes]:
        """Yield the text bit by bit as it is decompressed."""
        with self.source.open() as raw, decompressed(raw, self.compression, name=self.name) as stream:
            tick = Ticker(raw, self.source.n_bytes, progress)
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk
                tick()


def trec_text(path: PathLike, *, format_name: str | None, columns: Mapping[str, str] | None) -> TrecText | None:
    """Return a file as TREC text, or None where it is in another format."""
    check_format(format_name)
    if columns or format_name not in (None, "trec"):
        return None
    source = source_of(path)
    layout = layout_of(source, format_name=format_name)
    return TrecText(source, layout.compression) if layout.format == "trec" else None


def bad_run_lines(
    name: str, numbered: Sequence[tuple[int, bytes]], *, n_good: int, lenient: bool
) -> tuple[BadLine, ...]:
    """Let the reader of lines say what is wrong with each; raise it where that is not to be tolerated."""
    reading = Reading(name, io.BytesIO())
    trec.take_lines(reading, Collector(), RUN, numbered=numbered)
    if reading.bad_lines and not (lenient and n_good):
        raise BadLinesError(reading.bad_lines, hint=trec.explain(RUN, reading.bad_lines, n_good=n_good))
    return tuple(reading.bad_lines)
