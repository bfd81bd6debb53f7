"""Reading runs and qrels from files of any known format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from rankscope.errors import BadLine, BadLinesError, OptionError, did_you_mean
from rankscope.io.detection import empty, layout_of
from rankscope.io.formats import FORMATS, check_format
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import FileReading, PathLike, StoredFile, source_of
from rankscope.io.table import QRELS, RUN, Format, RowKind, Rows
from rankscope.light import LightRecord
from rankscope.progress import Progress

AnyRead = TypeVar("AnyRead")


class ReadFile(LightRecord, Generic[AnyRead], eq=False):
    """The rows of a file, and what is needed to say exactly which file that was."""

    rows: AnyRead
    path: str
    """The file that was read: "-" is standard input; of a BEIR folder it is the qrels file."""
    format: str
    compression: str | None
    sha256: str
    """The digest of the file as stored, before decompression."""
    bad_lines: tuple[BadLine, ...] = ()
    """The malformed lines that were left out, as `lenient` allows."""


def read_run(
    path: PathLike | StoredFile,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[RunRows]:
    """Read a run from a file, or from standard input where the path is "-".

    The format is detected from the content unless it is given. `columns` maps roles to the columns of a table, e.g.
    `{"score": "similarity"}`. Malformed lines are an error that lists them all; with `lenient` they are left out
    and returned as `bad_lines`. `progress` is called with the bytes read so far and the size of the file.
    """
    return read_file(path, RUN, format_name=format, columns=columns, lenient=lenient, progress=progress)


def read_qrels(
    path: PathLike | StoredFile,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[QrelsRows]:
    """Read qrels from a file, a BEIR folder, or standard input where the path is "-".

    The options are those of `read_run`.
    """
    return read_file(path, QRELS, format_name=format, columns=columns, lenient=lenient, progress=progress)


def sha256_of(path: PathLike) -> str:
    """Return the SHA-256 digest of a file as stored, in hexadecimal."""
    return source_of(path).sha256()


def read_file(
    path: PathLike | StoredFile,
    kind: RowKind[Rows],
    *,
    format_name: str | None = None,
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[Rows]:
    check_format(format_name)
    source = source_of(path)
    for role in columns or {}:
        if role not in kind.aliases:
            raise OptionError(
                f"{role!r} is no column of {kind.noun}; the columns are {', '.join(kind.aliases)}",
                hint=did_you_mean(role, kind.aliases),
            )
    found = layout_of(source, format_name=format_name, columns=columns)
    handler = FORMATS[found.format]
    with source.reading(progress=progress, columns=columns, strict=True) as reading:
        collected = handler.collect(reading, kind)
    check_collected(reading, len(collected), kind, handler=handler, lenient=lenient)
    return ReadFile(
        rows=kind.build(collected),
        path=source.name,
        format=found.format,
        compression=source.compression,
        sha256=source.sha256(),
        bad_lines=tuple(reading.bad_lines),
    )


def check_collected(reading: FileReading, n_good: int, kind: RowKind[Any], *, handler: Format, lenient: bool) -> None:
    """Raise what keeps rows from being used: malformed lines, unless they may be left out, or no rows at all."""
    if reading.bad_lines and not (lenient and n_good):
        raise BadLinesError(reading.bad_lines, hint=handler.explain(kind, reading.bad_lines, n_good))
    if not n_good:
        raise empty(reading.name)
