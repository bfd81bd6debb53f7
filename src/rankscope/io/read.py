"""Reading runs and qrels from files of any known format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

from rankscope.errors import BadLinesError
from rankscope.io.compression import decompressed
from rankscope.io.detection import Layout, empty, layout_of
from rankscope.io.formats import HANDLERS, Format, check_format
from rankscope.io.kinds import QRELS, RUN, Collector, Kind, Rows, check_chosen
from rankscope.io.records import ReadFile
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import PathLike, Reading, Source, source_of
from rankscope.progress import Progress


def read_run(
    path: PathLike | Source,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[RunRows]:
    """Read a run from a file, or from standard input where the path is "-".

    The format is told from the content unless it is given. `columns` maps roles to the columns of a table, e.g.
    `{"score": "similarity"}`. Malformed lines are an error that lists them all; with `lenient` they are left out
    and returned as `bad_lines`. `progress` is called with the bytes read so far and the size of the file.
    """
    return _read(path, RUN, format_name=format, columns=columns, lenient=lenient, progress=progress)


def read_qrels(
    path: PathLike | Source,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[QrelsRows]:
    """Read qrels from a file, a BEIR folder, or standard input where the path is "-".

    The options are those of `read_run`.
    """
    return _read(path, QRELS, format_name=format, columns=columns, lenient=lenient, progress=progress)


def sha256_of(path: PathLike) -> str:
    """Return the SHA-256 digest of a file as stored, in hexadecimal."""
    return source_of(path).sha256()


def _read(
    path: PathLike | Source,
    kind: Kind[Rows],
    *,
    format_name: str | None,
    columns: Mapping[str, str] | None,
    lenient: bool,
    progress: Progress | None,
) -> ReadFile[Rows]:
    check_format(format_name)
    source = source_of(path)
    return read_source(source, kind, format_name=format_name, columns=columns, lenient=lenient, progress=progress)


def read_source(
    source: Source,
    kind: Kind[Rows],
    *,
    format_name: str | None = None,
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[Rows]:
    """Read what a source holds as the given kind."""
    check_chosen(columns, kind)
    found = layout_of(source, format_name=format_name, columns=columns)
    handler = HANDLERS[found.format]
    with source.open() as raw, decompressed(raw, found.compression, name=source.name) as stream:
        reading = Reading(source.name, stream, columns, Ticker(raw, source.n_bytes, progress))
        collected = handler.read(reading, kind)
    settle(reading, collected, kind, handler=handler, lenient=lenient)
    return read_file(source, found, kind.build(collected), reading)


class Ticker:
    """Reports how far the file as stored has been read; only that size is known before its end."""

    def __init__(self, raw: BinaryIO, n_bytes: int, progress: Progress | None) -> None:
        self._raw, self._n_bytes, self._progress = raw, n_bytes, progress

    def __call__(self) -> None:
        """Report to the caller."""
        if self._progress is not None:
            self._progress(self._raw.tell(), self._n_bytes)


def settle(reading: Reading, collected: Collector, kind: Kind[Rows], *, handler: Format, lenient: bool) -> None:
    """Raise what keeps the rows from being used: malformed lines, unless they may be left out, or no rows at all."""
    n_good = len(collected)
    if reading.bad_lines and not (lenient and n_good):
        raise BadLinesError(reading.bad_lines, hint=handler.explain(kind, reading.bad_lines, n_good=n_good))
    if not n_good:
        raise empty(reading.name)


def read_file(source: Source, found: Layout, rows: Rows, reading: Reading) -> ReadFile[Rows]:
    """Return the rows with what identifies the file."""
    return ReadFile(
        rows=rows,
        path=source.name,
        format=found.format,
        compression=found.compression,
        sha256=source.sha256(),
        bad_lines=tuple(reading.bad_lines),
    )
